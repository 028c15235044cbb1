//! The division of flows' times, by hand, against pauses and packets on the wire, and in closed form.
//!
//! 100 Gbps and 1 us everywhere: a full packet of 1054 B takes P = 84,320 ps, an acknowledgement 5,120 ps. The base RTT
//! through a switch is 4 us + 2 P + 2 * 5,120 ps = 4,178,880 ps; from the last bit of a packet to its answer it is
//! A = 4,094,560 ps.

mod common;

use std::collections::BTreeMap;

use common::*;
use incast_cc::AnyParams;
use incast_cc::params::Value;
use incast_sim::describe::bfc::Bfc;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::network::{Change, LinkChange};
use incast_sim::describe::switch::{Buffer, Pfc, Scheduler, Switch};
use incast_sim::describe::transport::{AckEvery, FirstWindow, Kind, RttBytes};
use incast_sim::random::draw;
use incast_sim::record::{Division, End, FlowRecord, Limit, LimitRecord, PacketKind};
use incast_sim::{Network, Simulation};
use incast_units::{Bytes, Time};

const P: u64 = 84_320;
const A: u64 = 4_094_560;

/// Returns the divided times of the flows that are done, in the order of the flows.
fn limits(sim: &Simulation) -> Vec<LimitRecord> {
    let (outcome, mut kept) = run_everywhere(sim);
    assert_eq!((outcome.end, outcome.limits), (End::Finished, Vec::new()));
    kept.limits.sort_by_key(|record| record.flow);
    kept.limits
}

/// Asserts that a flow was divided into these parts (ps) and nothing else, and that no queue added to them.
fn assert_parts(record: &LimitRecord, parts: &[(Limit, u64)]) {
    assert_queued(record, parts, [0, 0]);
}

/// Asserts that a flow was divided into these parts (ps) and nothing else, and that queues added so much to its windows
/// and answers.
fn assert_queued(record: &LimitRecord, parts: &[(Limit, u64)], [window, answer]: [u64; 2]) {
    let mut expected = Division::ZERO;
    parts.iter().for_each(|(limit, time)| expected.add(*limit, Time::from_ps(*time)));
    expected.add_queued(Time::from_ps(window), Time::from_ps(answer));
    assert_eq!(record.division, expected, "flow {}", record.flow);
    assert_eq!(record.division.total(), record.end - record.start);
}

/// Flows from host 0 of a star under an algorithm: for each its receiver, its number of full packets, its start (ps).
fn flows(of: &[(u32, u64, u64)], algorithm: AnyParams) -> Simulation {
    let flows = of.iter().map(|&(to, packets, start)| flow(0, to, packets * 1000, Time::from_ps(start)));
    simulation(star(3, gbps(100), us(1)), vec![algorithm], flows.collect())
}

#[test]
fn every_limit_has_its_place_and_name() {
    for (place, limit) in Limit::ALL.iter().enumerate() {
        assert_eq!(*limit as usize, place);
    }
    let names = Limit::ALL.map(Limit::name);
    assert_eq!(names[..5], ["sending", "answer", "window", "pacing", "credit"]);
    assert_eq!(names[5..], ["card", "paused", "repair", "connection"]);
}

#[test]
fn a_lone_flow_sends_and_waits_for_its_answer() {
    let sim = flows(&[(1, 10, 0)], window(u64::MAX));
    assert_parts(&limits(&sim)[0], &[(Limit::Sending, 843_200), (Limit::Answer, A)]);
}

#[test]
fn a_window_of_two_packets() {
    // Two packets leave by 2 P = 168,640, the first answer comes at P + A = 4,178,880; the other two leave back to back
    // after it, since the answers come with the same distance.
    let sim = flows(&[(1, 4, 0)], window(2108));
    let window = P + A - 2 * P;
    assert_eq!(window, 4_010_240);
    assert_parts(&limits(&sim)[0], &[(Limit::Sending, 4 * P), (Limit::Answer, A), (Limit::Window, window)]);
}

/// Flows of the first two hosts to the last one, all at once: for each its number of full packets.
fn two_to_one(packets: [u64; 2], algorithm: AnyParams) -> Simulation {
    let of = |(host, packets)| flow(host, 2, packets * 1000, Time::ZERO);
    simulation(star(3, gbps(100), us(1)), vec![algorithm], (0..).zip(packets).map(of).collect())
}

#[test]
fn what_queues_add() {
    // Two packets meet at the switch, and the second one waits P: its answer takes that longer.
    for kind in [Kind::Window, Kind::Ndp, Kind::Homa] {
        let mut sim = two_to_one([1, 1], window(u64::MAX));
        sim.transport.kind = kind;
        sim.switch.trimming = (kind == Kind::Ndp).then(Default::default);
        sim.switch.queues = if kind == Kind::Homa { 8 } else { 1 };
        let records = limits(&sim);
        assert_queued(&records[0], &[(Limit::Sending, P), (Limit::Answer, A)], [0, 0]);
        assert_queued(&records[1], &[(Limit::Sending, P), (Limit::Answer, A + P)], [0, P]);
    }
    // At the switch packets of both take turns as long as there are two: of the second flow, with a window of two, the
    // first packet waits P and the second one 2 P. The answers come after 2 P + A and 4 P + A. The third packet leaves
    // from 2 P + A to 3 P + A; the fourth waits for the second answer, P, which is less than the 2 P by which that
    // is late. Until the third packet gets there all others have left.
    let mut sim = two_to_one([10, 4], window(2108));
    let long = sim.flows[0];
    sim.algorithms.push(window(u64::MAX).into());
    sim.flows[0] = Flow { algorithm: 1, ..long };
    let records = limits(&sim);
    let parts = [(Limit::Sending, 4 * P), (Limit::Window, A + P), (Limit::Answer, A)];
    assert_queued(&records[1], &parts, [2 * P, 0]);
    // The same packets as messages of a connection: the first one has been sent when its answer is waited for.
    let mut sim = two_to_one([10, 1], window(u64::MAX));
    let second = Flow { key: 7, connection: Some(0), ..sim.flows[1] };
    sim.flows.truncate(1);
    sim.flows.extend([second, second]);
    let records = limits(&sim);
    assert_queued(&records[1], &[(Limit::Sending, P), (Limit::Answer, A + P)], [0, P]);
    let parts = [(Limit::Connection, P), (Limit::Sending, P), (Limit::Answer, A + 2 * P)];
    assert_queued(&records[2], &parts, [0, 2 * P]);
    // An acknowledgement that the receiver holds is no queue.
    let mut sim = flows(&[(1, 2, 0)], window(1054));
    sim.transport.ack_every = AckEvery::Packets(2);
    sim.transport.ack_delay = Some(us(3));
    let parts = [(Limit::Sending, 2 * P), (Limit::Window, A + 3_000_000), (Limit::Answer, A)];
    assert_parts(&limits(&sim)[0], &parts);
}

/// Returns the counts of a run by their time (ps) and limit.
fn counts(sim: &Simulation) -> Vec<(u64, Limit, u32)> {
    let (_, kept) = run_everywhere(sim);
    kept.counts.iter().map(|count| (count.time.ps(), count.limit, count.flows)).collect()
}

#[test]
fn limits_over_time() {
    // The flow with a window of two packets: the window holds from 2 P = 168,640 to P + A = 4,178,880 ps, two packets
    // leave until 3 P + A = 4,347,520 ps, and the last answer comes at 3 P + 2 A = 8,442,080 ps.
    let mut sim = flows(&[(1, 4, 0)], window(2108));
    sim.probes.limits = Some(us(1));
    let mut expected = vec![(0, Limit::Sending, 1)];
    expected.extend((1..5).map(|time| (time * 1_000_000, Limit::Window, 1)));
    expected.extend((5..9).map(|time| (time * 1_000_000, Limit::Answer, 1)));
    assert_eq!(counts(&sim), expected);
    // Fifty nanoseconds are within the first packet, and 4.2 us within the third.
    sim.probes.from = Time::from_ps(50_000);
    sim.probes.limits = Some(Time::from_ps(4_150_000));
    sim.probes.until = us(5);
    assert_eq!(counts(&sim), [(50_000, Limit::Sending, 1), (4_200_000, Limit::Sending, 1)]);
    // Two flows of a card: at 10 ns the first one's packet leaves, and the second one waits; at 100 ns the reverse.
    let mut sim = flows(&[(1, 2, 0), (2, 2, 1)], window(u64::MAX));
    sim.probes.from = Time::from_ps(10_000);
    sim.probes.limits = Some(Time::from_ps(90_000));
    sim.probes.until = Time::from_ps(100_000);
    let both = |time| [(time, Limit::Sending, 1), (time, Limit::Card, 1)];
    assert_eq!(counts(&sim), [both(10_000), both(100_000)].concat());
    // Messages of a connection: the second one's turn comes when the first packet has left.
    let mut sim = flows(&[(1, 1, 0), (1, 1, 0)], window(u64::MAX));
    connected(&mut sim);
    sim.probes.limits = Some(Time::from_ps(P));
    sim.probes.until = Time::from_ps(2 * P);
    let expected = [
        (0, Limit::Sending, 1),
        (0, Limit::Connection, 1),
        (P, Limit::Sending, 1),
        (P, Limit::Answer, 1),
        (2 * P, Limit::Answer, 2),
    ];
    assert_eq!(counts(&sim), expected);
}

#[test]
fn every_open_flow_is_counted_once_and_as_its_time_is_divided() {
    for (name, seed) in [("swift", 0), ("dcqcn", 1), ("hpcc", 2)] {
        let mut sim = random(seed, algorithm(name, &[]));
        sim.probes.limits = Some(Time::from_ps(10_000));
        let (_, kept) = run_everywhere(&sim);
        let mut open: BTreeMap<Time, u32> = BTreeMap::new();
        let mut by_limit = [0_u64; Limit::ALL.len()];
        for count in &kept.counts {
            *open.entry(count.time).or_default() += count.flows;
            by_limit[count.limit as usize] += u64::from(count.flows);
        }
        for (time, flows) in &open {
            let is_open = |flow: &&FlowRecord| flow.start <= *time && *time < flow.finish;
            assert_eq!(*flows as usize, kept.flows.iter().filter(is_open).count(), "{name} at {time}");
        }
        // A sum every 10 ns approximates the divided times: each piece is off by less than one step. Only hindsight
        // tells some waits from repair.
        let waits = [Limit::Answer, Limit::Window, Limit::Credit, Limit::Repair];
        let others = Limit::ALL.into_iter().filter(|limit| !waits.contains(limit)).map(|limit| vec![limit]);
        let total: u64 = kept.limits.iter().map(|record| record.division.total().ps()).sum();
        for limits in others.chain([waits.to_vec()]) {
            let of = |record: &LimitRecord| -> u64 {
                limits.iter().map(|limit| record.division.of(*limit).ps()).sum()
            };
            let divided: u64 = kept.limits.iter().map(of).sum();
            let counted = limits.iter().map(|limit| by_limit[*limit as usize] * 10_000).sum();
            assert!(divided.abs_diff(counted) < total / 100, "{name} {limits:?}: {counted} of {divided}");
        }
    }
}

#[test]
fn half_the_rate() {
    let sim = flows(&[(1, 4, 0)], paced(gbps(50)));
    assert_parts(&limits(&sim)[0], &[(Limit::Sending, 4 * P), (Limit::Pacing, 3 * P), (Limit::Answer, A)]);
}

#[test]
fn two_flows_share_a_card() {
    // The second flow waits P - 1 for the first packet, and P for the third; the first flow waits P for the second.
    let records = limits(&flows(&[(1, 2, 0), (2, 2, 1)], window(u64::MAX)));
    assert_parts(&records[0], &[(Limit::Sending, 2 * P), (Limit::Card, P), (Limit::Answer, A)]);
    assert_parts(&records[1], &[(Limit::Sending, 2 * P), (Limit::Card, 2 * P - 1), (Limit::Answer, A)]);
}

#[test]
fn a_lost_packet_is_repaired_by_the_timer() {
    // Sent at 0, when the timer is set; lost on the receiver's link, where it is from 1,084,320 ps on; sent again at 1 ms.
    let mut sim = flows(&[(1, 1, 0)], window(u64::MAX));
    sim.transport.rto = Time::from_ms(1);
    let change = |time, what| Change { time, link: 1, what };
    sim.network.changes = vec![change(us(2), LinkChange::Down), change(us(100), LinkChange::Up)];
    assert_parts(&limits(&sim)[0], &[(Limit::Sending, P), (Limit::Repair, 1_000_000_000 + A)]);
}

#[test]
fn a_new_card_does_not_divide_a_wait() {
    // Two switches, and a card of both hosts at each. The card of the packet fails before it has arrived at its switch; it
    // leaves by the other one at 1 ms. Nothing happens if the other card fails.
    for kind in [Kind::Window, Kind::Ndp, Kind::Homa] {
        let mut found = Vec::new();
        for card in [0, 1] {
            let mut network = Network::with_hosts(2);
            let rails = ["rail0", "rail1"].map(|name| network.add_switch(name));
            for (host, rail) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                network.add_link(host, rails[rail], gbps(100), us(1));
            }
            network.changes = vec![Change { time: us(1), link: card, what: LinkChange::Down }];
            let mut sim = simulation(network, vec![window(u64::MAX)], vec![flow(0, 1, 1000, Time::ZERO)]);
            sim.transport.kind = kind;
            sim.transport.rto = Time::from_ms(1);
            sim.transport.ndp.rto = Time::from_ms(1);
            sim.transport.homa.resend_timeout = us(500);
            sim.switch.trimming = (kind == Kind::Ndp).then(Default::default);
            sim.switch.queues = if kind == Kind::Homa { 8 } else { 1 };
            found.push(limits(&sim)[0]);
        }
        found.sort_by_key(|record| record.end);
        assert_parts(&found[0], &[(Limit::Sending, P), (Limit::Answer, A)]);
        assert_parts(&found[1], &[(Limit::Sending, P), (Limit::Repair, 1_000_000_000 + A)]);
    }
}

#[test]
fn pulls_and_grants() {
    // A packet for each answer: three packets, two waits for credit, the last answer.
    let parts = [(Limit::Sending, 3 * P), (Limit::Credit, 2 * A), (Limit::Answer, A)];
    let mut ndp = flows(&[(1, 3, 0)], window(u64::MAX));
    ndp.transport.kind = Kind::Ndp;
    ndp.transport.ndp.first_window = FirstWindow::Packets(1);
    ndp.switch.trimming = Some(Default::default());
    assert_parts(&limits(&ndp)[0], &parts);
    let mut homa = flows(&[(1, 3, 0)], window(u64::MAX));
    homa.transport.kind = Kind::Homa;
    homa.transport.homa.rtt_bytes = RttBytes::Value(Bytes::new(1000));
    homa.switch.queues = 8;
    assert_parts(&limits(&homa)[0], &parts);
}

#[test]
fn the_example_of_a_transport() {
    // Eight packets go at once; the first one that arrives, at 2 us + 2 P, asks for credit, which comes at once and back
    // in 2,010,240 ps: at P + A, when 8 P are over. The next credit leaves P later: the ten packets leave back to back.
    let mut sim = flows(&[(1, 10, 0)], window(u64::MAX));
    sim.transport.kind = Kind::Credits;
    let credit = P + A - 8 * P;
    assert_parts(&limits(&sim)[0], &[(Limit::Sending, 10 * P), (Limit::Credit, credit), (Limit::Answer, A)]);
}

/// Makes all flows messages of one connection.
fn connected(sim: &mut Simulation) {
    for flow in &mut sim.flows {
        *flow = Flow { key: 7, connection: Some(0), ..*flow };
    }
}

#[test]
fn messages_of_a_connection() {
    let with_window = |window: AnyParams| {
        let mut sim = flows(&[(1, 1, 0), (1, 1, 0)], window);
        connected(&mut sim);
        limits(&sim)
    };
    let records = with_window(window(u64::MAX));
    assert_parts(&records[0], &[(Limit::Sending, P), (Limit::Answer, A)]);
    assert_parts(&records[1], &[(Limit::Connection, P), (Limit::Sending, P), (Limit::Answer, A)]);
    // One packet at a time: the window is the second message's, from its turn on.
    let records = with_window(window(1054));
    assert_parts(&records[0], &[(Limit::Sending, P), (Limit::Answer, A)]);
    let parts = [(Limit::Connection, P), (Limit::Window, A), (Limit::Sending, P), (Limit::Answer, A)];
    assert_parts(&records[1], &parts);
}

#[test]
fn an_idle_connection_begins_again() {
    // The second message starts 10 us after the first one, which is done by then.
    let mut sim = flows(&[(1, 1, 0), (1, 2, 10_000_000)], window(1054));
    connected(&mut sim);
    let records = limits(&sim);
    assert_parts(&records[0], &[(Limit::Sending, P), (Limit::Answer, A)]);
    assert_parts(&records[1], &[(Limit::Sending, 2 * P), (Limit::Window, A), (Limit::Answer, A)]);
    // It starts 1 us after the first one: nothing of that is still to be sent, so that its turn begins at once.
    sim.flows[1].start = us(1);
    let parts = [(Limit::Window, P + A - 1_000_000 + A), (Limit::Sending, 2 * P), (Limit::Answer, A)];
    assert_parts(&limits(&sim)[1], &parts);
}

#[test]
fn an_open_flow_is_divided_up_to_the_end() {
    // In the second packet: what is left of that is taken back.
    let mut sim = flows(&[(1, 10, 0)], window(u64::MAX));
    sim.until = Time::from_ps(100_000);
    let (outcome, kept) = run_everywhere(&sim);
    assert_eq!((outcome.end, kept.limits.len(), outcome.limits.len()), (End::TimeLimit, 0, 1));
    assert_parts(&outcome.limits[0], &[(Limit::Sending, 100_000)]);
}

/// Eight hosts each send host 0 a megabyte without windows; all packets of the senders and all pauses are recorded.
fn paused(switch: Switch) -> Simulation {
    let flows = (1..9).map(|host| flow(host, 0, 1_000_000, Time::from_ps(u64::from(host))));
    let mut sim = simulation(star(9, gbps(100), us(1)), vec![window(u64::MAX)], flows.collect());
    sim.switch = switch;
    sim.probes.pauses = true;
    sim.probes.captures = (1..9).map(|host| (host, 0)).collect();
    sim
}

/// Asserts that the paused time of each flow is the overlap of its host's pauses with the gaps between its packets.
fn assert_pauses(sim: &Simulation) {
    let (outcome, kept) = run_everywhere(sim);
    assert_eq!((outcome.end, outcome.dropped), (End::Finished, 0));
    let mut pauses = 0;
    for record in &kept.limits {
        let host = sim.flows[record.flow as usize].source;
        let mut intervals = Vec::new();
        let mut since = None;
        for pause in kept.pauses.iter().filter(|pause| pause.node == host) {
            pauses += u64::from(pause.paused);
            match (pause.paused, since) {
                (true, None) => since = Some(pause.time),
                (false, Some(from)) => {
                    intervals.push((from, pause.time));
                    since = None;
                }
                _ => {}
            }
        }
        let sent: Vec<Time> = kept.packets.iter().filter(|p| p.node == host).map(|p| p.time).collect();
        assert_eq!(sent.len(), 1000);
        let gaps = sent.windows(2).map(|two| (two[0] + Time::from_ps(P), two[1]));
        let overlap = |(from, to): (Time, Time)| {
            let of = |&(since, until): &(Time, Time)| {
                let (from, to) = (from.max(since), to.min(until));
                if to > from { to - from } else { Time::ZERO }
            };
            intervals.iter().map(of).fold(Time::ZERO, |sum, part| sum + part)
        };
        let expected = gaps.map(overlap).fold(Time::ZERO, |sum, part| sum + part);
        assert_eq!(record.division.of(Limit::Paused), expected, "flow {}", record.flow);
        assert!(expected > us(100), "flow {} was paused for {expected}", record.flow);
        assert_eq!(record.division.of(Limit::Card), Time::ZERO);
    }
    assert!(pauses >= 100, "{pauses} pauses");
}

#[test]
fn pauses_by_pfc_and_by_bfc() {
    let pfc = Pfc { xoff: Some(Bytes::new(10_000)), ..Pfc::default() };
    assert_pauses(&paused(Switch { pfc: Some(pfc), ..shared(4_000_000) }));
    let bfc = Switch {
        buffer: lossless_switch().buffer,
        bfc: Some(Bfc::default()),
        scheduler: Scheduler::RoundRobin,
        ..Switch::default()
    };
    assert_pauses(&paused(bfc));
}

/// Flows at random times and of random sizes between random hosts of a small fat-tree.
fn random(seed: u64, algorithm: AnyParams) -> Simulation {
    let of = |number, range| draw(seed, number) % range;
    let flows = (0..20).map(|i| {
        let (from, step) = (of(4 * i, 16) as u32, 1 + of(4 * i + 1, 15) as u32);
        let start = Time::from_ns(of(4 * i + 2, 20_000));
        let size = 1 + of(4 * i + 3, 1 << (4 + of(99 + i, 15)));
        let whole = size.next_multiple_of(1000);
        flow(from, (from + step) % 16, if i % 2 == 0 { whole } else { size }, start)
    });
    let mut sim = simulation(fat_tree(4, gbps(100), us(1)), vec![algorithm], flows.collect::<Vec<Flow>>());
    sim.switch.buffer = Buffer::PerPort(Bytes::new(8_000));
    sim.switch.ecn = lossless_switch().ecn;
    sim.transport.rto = us(200);
    sim.seed = seed;
    sim.probes.captures = (0..16).map(|host| (host, 0)).collect();
    sim
}

#[test]
fn sending_is_the_serialisation_of_every_packet_once() {
    let (mut ideal, mut repaired) = (0, 0);
    for name in incast_cc::any::CATALOGUE.iter().map(|info| info.name) {
        let algorithm = if name == "constant" {
            algorithm(name, &[("rate", Value::Rate(gbps(60)))])
        } else {
            algorithm(name, &[])
        };
        for seed in 0..3 {
            let sim = random(seed, algorithm);
            let (_, kept) = run(&sim);
            assert_eq!(kept.flows.len(), 20, "{name}");
            let mut sizes: BTreeMap<(u32, u64), u64> = BTreeMap::new();
            for packet in kept.packets.iter().filter(|packet| packet.kind == PacketKind::Data) {
                sizes.insert((packet.flow.unwrap(), packet.sequence), packet.size.get());
            }
            for (record, flow) in kept.limits.iter().zip(&kept.flows) {
                assert_eq!((record.flow, record.start, record.end), (flow.flow, flow.start, flow.finish));
                let bytes: u64 = sizes.range((flow.flow, 0)..(flow.flow + 1, 0)).map(|(_, size)| size).sum();
                let of = |limit| record.division.of(limit);
                for limit in [Limit::Window, Limit::Answer] {
                    assert!(record.division.queued(limit) <= of(limit), "{name} {seed}: {flow:?}");
                }
                assert_eq!(
                    of(Limit::Sending),
                    gbps(100).time_for(Bytes::new(bytes)),
                    "{name} {seed}: {flow:?}"
                );
                repaired += u64::from(of(Limit::Repair) > Time::ZERO);
                // The last packet of others may catch up, as it is smaller.
                if record.end - record.start == flow.ideal && flow.bytes.get().is_multiple_of(1000) {
                    assert_eq!(of(Limit::Sending) + of(Limit::Answer), flow.ideal, "{name} {seed}: {flow:?}");
                    ideal += 1;
                }
            }
        }
    }
    assert!(ideal > 20 && repaired > 20, "{ideal} at their ideal, {repaired} repaired");
}
