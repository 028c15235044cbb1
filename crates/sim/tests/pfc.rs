//! The headroom that is computed suffices, and is no larger than it must be. Lossy queues beside lossless ones.

mod common;

use common::*;
use incast_cc::Fixed;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::impairments::Receiver;
use incast_sim::describe::switch::{Buffer, Pfc, Scheduler};
use incast_sim::describe::transport::AckEvery;
use incast_sim::queue_set::QueueSet;
use incast_sim::random::draw;
use incast_sim::record::{End, Outcome};
use incast_sim::{Network, Simulation};
use incast_units::{Bytes, Rate, Time};

#[test]
fn one_byte_less_of_headroom_would_drop() {
    // Packets of 1000 B take 80 ns at 100 Gbps, a PFC frame 5.12 ns, the links of hosts 0 and 1
    // 397.44 ns. Host 1 sends to host 2 without a gap; host 2's link is slow, so that the first packet
    // leaves the switch at once and no other does for 8 us. The second fills the threshold of 1000 B;
    // the third crosses it at t = 240 + 397.44 ns. At this very instant a packet from host 0 begins to
    // leave toward host 1: the pause waits for it and arrives at t + 80 + 5.12 + 397.44 = 1120 ns, as
    // host 1 begins its 15th packet. Packets 3 to 15 are in the headroom: 13 000 B.
    let delay = Time::from_ps(397_440);
    let mut network = Network::with_hosts(3);
    let switch = network.add_switch("s0");
    network.add_link(0, switch, gbps(100), delay);
    network.add_link(1, switch, gbps(100), delay);
    network.add_link(2, switch, gbps(1), us(1));
    let flows = vec![flow(1, 2, 40 * 946, Time::ZERO), flow(0, 1, 2 * 946, Time::from_ns(160))];
    let mut sim = simulation(network, vec![window(u64::MAX)], flows);
    sim.transport.payload = Bytes::new(946);
    // Host 1 acknowledges the second packet of host 0, after it was paused.
    sim.transport.ack_every = AckEvery::Packets(2);
    sim.switch = shared(1_000_000);
    let mut run_with = |headroom: Option<u64>, queues: Option<QueueSet>| {
        // The one lossless queue of three needs as much as a queue alone: other queues have no frames.
        sim.switch.queues = if queues.is_some() { 3 } else { 1 };
        sim.flows.iter_mut().for_each(|flow| flow.queue = queues.and_then(QueueSet::first).unwrap_or(0));
        sim.switch.pfc = Some(Pfc {
            queues,
            xoff: Some(Bytes::new(1000)),
            xon_offset: Bytes::ZERO,
            headroom: headroom.map(Bytes::new),
            ..Pfc::default()
        });
        incast_sim::run(&sim, &mut Kept::default()).unwrap().dropped
    };
    assert_eq!(Pfc::headroom_for(gbps(100), delay, Bytes::new(1000), 1), Bytes::new(13_000));
    for queues in [None, Some([1].into_iter().collect())] {
        assert_eq!(run_with(None, queues), 0);
        assert_eq!(run_with(Some(13_000), queues), 0);
        assert!(run_with(Some(12_999), queues) > 0);
    }
}

/// Hosts 1 to 8 send 100 packets each to host 0, in queue 1, which is lossy; queue 0 is lossless.
fn lossy_incast() -> Simulation {
    let flows = (1..9).map(|host| Flow { queue: 1, ..flow(host, 0, 100_000, Time::ZERO) });
    let mut sim = simulation(star(10, gbps(100), us(1)), vec![window(u64::MAX)], flows.collect());
    sim.switch = shared(1_000_000);
    sim.switch.reserve = Bytes::new(4096);
    sim.switch.queues = 2;
    sim.switch.pfc = Some(Pfc { queues: Some([0].into_iter().collect()), ..Pfc::default() });
    sim
}

#[test]
fn a_lossy_queue_grows_to_the_dynamic_threshold_and_pauses_nobody() {
    let mut sim = lossy_incast();
    // A headroom of 28 226 B (`headroom_by_hand`) and a reserve of 4096 B for the lossless queue of each of ten ports
    // leave a pool of 676 780 B. Packet n, of 1054 B, is let in if n · 1054 <= 676 780 - (n - 1) · 1054: the last is
    // packet 321.
    let (outcome, _) = run_everywhere(&sim);
    assert_eq!((outcome.violations.len(), &outcome.end), (0, &End::Finished));
    let port = |outcome: &Outcome| *outcome.ports.iter().find(|p| (p.node, p.port) == (10, 0)).unwrap();
    assert_eq!(port(&outcome).peak_queue, Bytes::new(321 * 1054));
    assert!(port(&outcome).drops > 0);
    assert_eq!(outcome.ports.iter().map(|port| port.pauses_sent).sum::<u64>(), 0);
    // With both queues lossless nothing is dropped, and everybody is paused.
    sim.switch.pfc = Some(Pfc::default());
    let (outcome, _) = run_everywhere(&sim);
    assert_eq!(outcome.dropped, 0);
    assert!(outcome.ports.iter().map(|port| port.pauses_sent).sum::<u64>() >= 8);
}

#[test]
fn a_lossless_flow_is_not_held_up_by_lossy_ones() {
    // Its queue is served first: at the switch it waits once for the packet in transmission, its acknowledgements at
    // host 0 for another one.
    let mut sim = lossy_incast();
    sim.flows.push(flow(9, 0, 300_000, us(3)));
    let (outcome, kept) = run_everywhere(&sim);
    assert!(outcome.dropped > 0 && outcome.violations.is_empty());
    let first = kept.flows.iter().find(|record| record.flow == 8).unwrap();
    let took = first.finish - first.start;
    assert!(took >= first.ideal && took <= first.ideal + Time::from_ps(84_320 + 5_120), "{took}");
    assert_eq!((first.resent, first.timeouts), (0, 0));
}

/// Uncontrolled traffic that fills every buffer: tiny packets, thresholds at which a port pauses and resumes
/// with each packet, up to eight queues, pauses that spread over several switches.
fn adversarial(case: u64) -> Simulation {
    let random = |stream: u64, below: u64| draw(stream, case) % below;
    let hosts = 3 + random(1, 6) as u32;
    let rates = [gbps(10), gbps(25), gbps(100), gbps(400), Rate::from_mbps(3_333)];
    let rate = |stream| rates[random(stream, 5) as usize];
    let delay = |stream| Time::from_ps(1 + random(stream, 3_000_000));
    let mut network = Network::with_hosts(hosts);
    let switches: Vec<_> = (0..1 + random(2, 3)).map(|i| network.add_switch(format!("s{i}"))).collect();
    for host in 0..hosts {
        let stream = 100 + u64::from(host);
        let switch = switches[random(stream, switches.len() as u64) as usize];
        network.add_link(host, switch, rate(200 + stream), delay(300 + stream));
    }
    for (i, pair) in switches.windows(2).enumerate() {
        network.add_link(pair[0], pair[1], rate(600 + i as u64), delay(610 + i as u64));
    }
    let queues = [1, 1, 2, 3, 8][random(3, 5) as usize];
    let payload = [1, 10, 64, 64, 200, 1000][random(4, 6) as usize];
    let mut flows: Vec<_> = (0..4 + random(5, 12))
        .map(|i| {
            let source = (draw(1000 + i, case) % u64::from(hosts)) as u32;
            let other =
                if draw(1100 + i, case).is_multiple_of(3) { (draw(1200 + i, case) % 8) as u32 } else { 0 };
            let destination = if other % hosts == source { (source + 1) % hosts } else { other % hosts };
            let size = payload * (1 + draw(1300 + i, case) % 300);
            let start = Time::from_ps(draw(1400 + i, case) % 5_000_000);
            let key = draw(1500 + i, case);
            let queue = (draw(1600 + i, case) % queues) as u8;
            Flow { key, queue, ..flow(source, destination, size, start) }
        })
        .collect();
    flows.sort_by_key(|f| (f.start, f.key));
    let mut sim = simulation(network, vec![window(u64::MAX)], flows);
    sim.transport.payload = Bytes::new(payload);
    sim.transport.ack_every = AckEvery::Packets([1, 1, 4][random(6, 3) as usize]);
    sim.switch = shared(1_000_000_000);
    sim.switch.queues = queues as u8;
    let schedulers = [Scheduler::StrictPriority, Scheduler::RoundRobin, Scheduler::Drr];
    sim.switch.scheduler = schedulers[random(7, 3) as usize];
    sim.switch.pfc = Some(Pfc {
        xoff: Some(Bytes::new([0, 64, 500, 3000][random(8, 4) as usize])),
        xon_offset: Bytes::new([0, 0, 64][random(9, 3) as usize]),
        ..Pfc::default()
    });
    sim
}

#[test]
fn lossless_queues_lose_nothing_beside_lossy_ones() {
    let (mut dropped, mut pauses, mut mixed) = (0, 0, 0);
    for case in 0..80 {
        let mut sim = adversarial(case);
        sim.switch.queues = sim.switch.queues.max(2);
        let all = QueueSet::first_of(sim.switch.queues);
        let lossless: QueueSet = all.iter().filter(|q| draw(2000 + u64::from(*q), case) & 1 == 0).collect();
        let lossless = if lossless.is_empty() { QueueSet::first_of(1) } else { lossless };
        sim.switch.pfc.as_mut().unwrap().queues = Some(lossless);
        // A lossy queue has some 10 KB, or no limit.
        let limited = !case.is_multiple_of(4);
        sim.switch.egress_alpha = if limited { Fixed::ratio(1, 100_000) } else { Fixed::ONE };
        if case.is_multiple_of(5) {
            sim.switch.buffer = Buffer::Unlimited;
        }
        for (flow, i) in sim.flows.iter_mut().zip(0..) {
            flow.queue = (draw(2200 + i, case) % u64::from(sim.switch.queues)) as u8;
        }
        sim.transport.rto = Time::from_ms(50);
        sim.stall_after = Time::from_s(20);
        sim.probes.pauses = true;
        let (outcome, kept) = if case < 10 { run_everywhere(&sim) } else { run(&sim) };
        assert_eq!((&outcome.end, &outcome.violations), (&End::Finished, &Vec::new()), "case {case}");
        let is_lossless = |flow: u32| lossless.contains(sim.flows[flow as usize].queue);
        let kept_whole = kept.flows.iter().filter(|record| is_lossless(record.flow));
        assert_eq!(kept_whole.map(|record| record.resent).sum::<u64>(), 0, "case {case}");
        assert!(kept.pauses.iter().all(|p| lossless.contains(p.queue as u8)), "case {case}");
        dropped += outcome.dropped;
        pauses += kept.pauses.len();
        mixed += u64::from(outcome.dropped > 0 && !kept.pauses.is_empty());
    }
    assert!(
        dropped > 5000 && pauses > 5000 && mixed > 20,
        "{dropped} dropped, {pauses} pauses, {mixed} both"
    );
}

#[test]
fn nothing_is_ever_dropped_with_the_computed_headroom() {
    let mut pauses = 0;
    for case in 0..60 {
        let (outcome, _) = run_to_end(&adversarial(case));
        assert_eq!(outcome.dropped, 0, "case {case}");
        pauses += outcome.ports.iter().map(|p| p.pauses_sent).sum::<u64>();
    }
    assert!(pauses > 6000, "{pauses} pauses in all");
}

/// Cases in which some hosts take packets slowly, too: their cards have the headroom and a little more.
#[test]
fn receivers_never_drop_with_the_computed_headroom() {
    let (mut slow, mut pauses) = (0, 0);
    for case in 0..60 {
        let mut sim = adversarial(case);
        let Simulation { network, switch, transport, .. } = &sim;
        let packet = transport.payload + transport.header;
        let packet = packet.max(transport.smallest);
        let hosts = (0..network.hosts).filter(|host| draw(3000 + u64::from(*host), case) & 1 == 0);
        let receiver = |host| {
            let link = network.links[host as usize];
            let headroom = Pfc::headroom_for(link.rate, link.delay, packet, switch.queues).get();
            let more = draw(3100 + u64::from(host), case) % 3000;
            let buffer = Bytes::new(headroom * u64::from(switch.queues) + packet.get() + more);
            let part = 1 + draw(3200 + u64::from(host), case) % 20;
            Receiver { host, rate: link.rate.times_ratio(1, part), buffer }
        };
        sim.impairments.receivers = hosts.map(receiver).collect();
        sim.stall_after = Time::from_s(20);
        let (outcome, _) = if case < 10 { run_everywhere(&sim) } else { run(&sim) };
        assert_eq!((outcome.dropped, &outcome.end), (0, &End::Finished), "case {case}");
        let cards = outcome.ports.iter().filter(|port| port.node < sim.network.hosts);
        let sent: u64 = cards.map(|port| port.pauses_sent).sum();
        slow += u64::from(sent > 0);
        pauses += sent;
    }
    assert!(slow > 30 && pauses > 1000, "{slow} cases, {pauses} pauses");
}
