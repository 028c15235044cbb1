//! The model and the simulator are two programs that follow the same rules: what arrives when is the same in both, and
//! what each port has admitted, marked and paused.

#[path = "../../sim/tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;

use common::{Kept, flow, simulation, window};
use incast_cc::Fixed;
use incast_sim::describe::switch::{Buffer as Described, Ecn, MarkingPoint, Pfc};
use incast_sim::random::draw;
use incast_sim::record::{End, Outcome};
use incast_sim::{Network, Simulation};
use incast_softswitch::Model;
use incast_units::{Bytes, Rate, Time};

/// An acknowledgement of the simulator.
const ACK: usize = 64;

/// Hosts that send without control to others, through one to three switches, over links that differ.
fn network(case: u64) -> Simulation {
    let random = |stream: u64, below: u64| draw(stream, case) % below;
    let senders = 2 + random(1, 6) as u32;
    let receivers = 1 + random(2, 3) as u32;
    let hosts = senders + receivers;
    let rate = |stream| Rate::from_mbps([10, 25, 100, 200, 333][random(stream, 5) as usize]);
    let delay = |stream| Time::from_ps(1 + random(stream, 3_000_000_000));
    let mut network = Network::with_hosts(hosts);
    let switches: Vec<_> = (0..1 + random(3, 3)).map(|i| network.add_switch(format!("s{i}"))).collect();
    for host in 0..hosts {
        let stream = 100 + u64::from(host);
        let switch = switches[random(stream, switches.len() as u64) as usize];
        network.add_link(host, switch, rate(200 + stream), delay(300 + stream));
    }
    for (i, pair) in switches.windows(2).enumerate() {
        network.add_link(pair[0], pair[1], rate(600 + i as u64), delay(610 + i as u64));
    }
    let flows = (0..senders).map(|source| {
        let of = |stream: u64, below: u64| random(1000 * stream + u64::from(source), below);
        let destination = senders + of(1, u64::from(receivers)) as u32;
        flow(source, destination, 1 + of(2, 300_000), Time::from_ps(of(3, 20_000_000_000)))
    });
    let mut sim = simulation(network, vec![window(u64::MAX)], flows.collect());
    sim.transport.payload = Bytes::new(200 + random(4, 1246));
    sim.transport.rto = Time::from_s(1000);
    sim.stall_after = Time::from_s(3000);
    sim.until = Time::from_s(9000);
    let fixed = random(5, 2) == 0;
    sim.switch.pfc = Some(Pfc {
        xoff: fixed.then(|| Bytes::new(random(6, 40_000))),
        xon_offset: Bytes::new([0, 3072][random(7, 2) as usize]),
        queues: (random(12, 2) == 0).then(|| [0].into_iter().collect()),
        ..Pfc::default()
    });
    sim.switch.buffer = if fixed && random(8, 2) == 0 {
        Described::Unlimited
    } else {
        Described::Shared(Bytes::new(headroom(&sim) + 20_000 + random(9, 200_000)))
    };
    sim.switch.reserve = Bytes::new([0, 2000][random(10, 2) as usize]);
    sim.switch.ingress_alpha = [Fixed::ratio(1, 8), Fixed::ONE, Fixed::whole(4)][random(11, 3) as usize];
    sim.switch.egress_alpha = Fixed::ONE;
    sim
}

fn packet_of(sim: &Simulation) -> Bytes {
    sim.transport.payload + sim.transport.header
}

/// More than headroom and reserves of any switch.
fn headroom(sim: &Simulation) -> u64 {
    let of = |rate, delay| sim.switch.headroom(rate, delay, packet_of(sim)).get() + 2000;
    sim.network.links.iter().map(|link| of(link.rate, link.delay)).sum()
}

/// A node and its port there.
type Name = (u32, u16);

/// Builds the model of a simulation, with the names of its ports.
fn model_of(sim: &Simulation) -> (Model, Vec<Name>) {
    let model = Model::new(&sim.network, &sim.switch, packet_of(sim), false, 1).unwrap();
    let names = model.ports().collect();
    (model, names)
}

/// A frame to a host, with the number of its flow. Data may be marked, and acknowledgements may not, as in the
/// simulator.
fn frame(to: u32, size: usize, flow: usize, is_data: bool) -> Vec<u8> {
    let mut frame = vec![0; size];
    frame[12] = 8;
    frame[14] = 0x45;
    frame[15] = if is_data { 2 } else { 0 };
    frame[32..34].copy_from_slice(&(to as u16).to_be_bytes());
    frame[34..38].copy_from_slice(&(flow as u32).to_be_bytes());
    frame
}

/// Returns the time at which the last acknowledgement of each flow arrives, if every packet is acknowledged
/// at once. Nothing happens after `end`.
fn last_acknowledgements(sim: &Simulation, model: &mut Model, end: Time) -> Vec<u64> {
    let mut found = vec![0; sim.flows.len()];
    let mut starts: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (number, flow) in sim.flows.iter().enumerate() {
        starts.entry(flow.start.ps()).or_default().push(number);
    }
    let (header, payload) = (sim.transport.header.get(), sim.transport.payload.get());
    loop {
        let start = starts.keys().next().copied();
        let next = model.next().map(Time::ps).into_iter().chain(start).min();
        let Some(now) = next.filter(|now| *now <= end.ps()) else { return found };
        let time = Time::from_ps(now);
        let mut arrived = Vec::new();
        model.advance(time, &mut |_, host, frame| arrived.push((host, frame)));
        for (host, bytes) in arrived {
            let number = u32::from_be_bytes([bytes[34], bytes[35], bytes[36], bytes[37]]) as usize;
            let flow = &sim.flows[number];
            if host == flow.source {
                found[number] = now;
            } else {
                model.send(time, host, frame(flow.source, ACK, number, false));
            }
        }
        for number in starts.remove(&now).into_iter().flatten() {
            let flow = &sim.flows[number];
            let mut left = flow.size.get();
            while left > 0 {
                let part = left.min(payload);
                left -= part;
                let size = (part + header).max(sim.transport.smallest.get());
                model.send(time, flow.source, frame(flow.destination, size as usize, number, true));
            }
        }
    }
}

fn simulated(sim: &Simulation) -> (Outcome, Vec<u64>) {
    let mut kept = Kept::default();
    let outcome = incast_sim::run(sim, &mut kept).unwrap();
    assert_eq!((&outcome.end, outcome.dropped), (&End::Finished, 0));
    let mut ends = vec![0; sim.flows.len()];
    for record in &kept.flows {
        assert_eq!(record.resent, 0);
        ends[record.flow as usize] = record.finish.ps();
    }
    (outcome, ends)
}

#[test]
fn pauses_are_those_of_the_simulator() {
    let (mut pauses, mut times) = (0, Vec::new());
    for case in 0..150 {
        let sim = network(case);
        let (outcome, ends) = simulated(&sim);
        let (mut model, names) = model_of(&sim);
        let found = last_acknowledgements(&sim, &mut model, outcome.now);
        assert_eq!(found, ends, "case {case}");
        let totals = model.totals(outcome.now);
        for port in &outcome.ports {
            let place = names.iter().position(|name| *name == (port.node, port.port)).unwrap();
            let of = totals[place];
            let found = (of.transmitted, of.packets, of.drops, of.paused, of.pauses);
            let expected = (port.transmitted.get(), port.packets, port.drops, port.paused, port.pauses_sent);
            assert_eq!(found, expected, "case {case}, node {}, port {}", port.node, port.port);
            if port.node >= sim.network.hosts {
                assert_eq!(of.peak, port.peak_queue.get(), "case {case}, node {}", port.node);
            }
            pauses += of.pauses;
            times.extend((of.paused > Time::ZERO).then_some(of.paused));
        }
    }
    // They are there in most cases, and more than once.
    assert!(pauses > 1500 && times.len() > 250, "{pauses} pauses, at {} ports", times.len());
}

/// Returns the network of a case with a buffer that drops packets, and marks at one length, so that nothing is drawn.
/// Each flow is one packet, and the next of its host starts when that is sent: none waits at its host, where the
/// simulator would have an order of its own. None is sent again before the end.
fn lossy(case: u64) -> Simulation {
    let random = |stream: u64, below: u64| draw(stream, case) % below;
    let mut sim = network(case);
    sim.switch.pfc = None;
    let bytes = |stream, from, below| Bytes::new(from + random(stream, below));
    sim.switch.buffer = if random(20, 2) == 0 {
        Described::PerPort(bytes(21, 2_000, 20_000))
    } else {
        sim.switch.egress_alpha = [Fixed::ratio(1, 3), Fixed::ONE, Fixed::whole(4)][random(22, 3) as usize];
        Described::Shared(bytes(23, 6_000, 40_000))
    };
    let kmin = bytes(24, 0, 4_000);
    let at = [MarkingPoint::Dequeue, MarkingPoint::Enqueue][random(25, 2) as usize];
    let reference = [None, Some(Rate::from_mbps(100))][random(26, 2) as usize];
    sim.switch.ecn = Some(Ecn { kmin, kmax: kmin, pmax: Fixed::ONE, reference, at });
    let mut flows = Vec::new();
    for of in &sim.flows {
        let link = sim.network.links.iter().find(|link| link.a.0 == of.source).unwrap();
        let mut start = of.start;
        for place in 0..60 {
            let size =
                Bytes::new(1 + draw(30 + place, case ^ u64::from(of.source)) % sim.transport.payload.get());
            flows.push(flow(of.source, of.destination, size.get(), start));
            let sent = (size + sim.transport.header).max(sim.transport.smallest);
            start = start + link.rate.time_for(sent) + Time::from_ps(1);
        }
    }
    flows.sort_by_key(|flow| flow.start);
    sim.flows = flows;
    sim.until = Time::from_s(100);
    sim
}

#[test]
fn drops_and_marks_are_those_of_the_simulator() {
    let (mut drops, mut marks, mut with) = (0, 0, [0, 0]);
    for case in 0..150 {
        let sim = lossy(case);
        let outcome = incast_sim::run(&sim, &mut Kept::default()).unwrap();
        let (mut model, names) = model_of(&sim);
        last_acknowledgements(&sim, &mut model, outcome.now);
        let totals = model.totals(outcome.now);
        let one_switch = sim.network.nodes.len() == sim.network.hosts as usize + 1;
        let mut dropped = 0;
        for port in &outcome.ports {
            let place = names.iter().position(|name| *name == (port.node, port.port)).unwrap();
            let of = totals[place];
            let found = (of.transmitted, of.packets, of.drops, of.dropped);
            let expected = (port.transmitted.get(), port.packets, port.drops, port.dropped.get());
            assert_eq!(found, expected, "case {case}, node {}, port {}", port.node, port.port);
            // A second switch marks packets that are marked already: the simulator counts them again, the model does
            // not.
            let again = if one_switch { 0 } else { port.marked.saturating_sub(of.marked) };
            assert_eq!(of.marked + again, port.marked, "case {case}, node {}, port {}", port.node, port.port);
            if port.node >= sim.network.hosts {
                assert_eq!(of.peak, port.peak_queue.get(), "case {case}, node {}", port.node);
            }
            dropped += of.drops;
            marks += if one_switch { of.marked } else { 0 };
        }
        drops += dropped;
        with[usize::from(matches!(sim.switch.buffer, Described::Shared(_)))] += usize::from(dropped > 0);
    }
    // They are there with both kinds of buffers.
    assert!(drops > 2_000 && marks > 2_000, "{drops} drops, {marks} marks");
    assert!(with.iter().all(|cases| *cases > 20), "{with:?}");
}
