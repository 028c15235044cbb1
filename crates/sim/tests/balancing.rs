//! Load balancing and selective repeat in whole networks.

mod common;

use std::sync::{Arc, Mutex};

use common::*;
use incast_cc::params::Value;
use incast_cc::{Ack, Allowance, CongestionControl, IntStack, Overhead, Parameters, Path, Setup, Signals};
use incast_sim::describe::Named;
use incast_sim::describe::algorithm::Algorithm;
use incast_sim::describe::balancing::{Acknowledgements, Balancing};
use incast_sim::describe::flow::Flow;
use incast_sim::describe::switch::Buffer;
use incast_sim::describe::transport::{AckEvery, Recovery, Repair, Sample};
use incast_sim::random::mix;
use incast_sim::{Network, Simulation};
use incast_units::{Bytes, Rate, Time};

/// Two leaves with `hosts` hosts each, joined by spines whose links to the second leaf have these delays.
/// Spine `i` is node `2 * hosts + i`; its port 0 leads to the first leaf, its port 1 to the second.
fn spines(hosts: u32, rate: Rate, delays: &[Time]) -> Network {
    let mut network = Network::with_hosts(2 * hosts);
    let tops: Vec<_> = (0..delays.len()).map(|i| network.add_switch(format!("spine{i}"))).collect();
    let leaves = ["leaf0", "leaf1"].map(|name| network.add_switch(name));
    for host in 0..2 * hosts {
        network.add_link(host, leaves[(host / hosts) as usize], rate, us(1));
    }
    for (top, delay) in tops.iter().zip(delays) {
        network.add_link(*top, leaves[0], rate, us(1));
        network.add_link(*top, leaves[1], rate, *delay);
    }
    network
}

fn balanced(flow: Flow, balancing: Balancing) -> Flow {
    Flow { balancing, ..flow }
}

fn spraying(network: Network, flows: Vec<Flow>) -> Simulation {
    let mut simulation = simulation(network, vec![window(40 * 1054)], flows);
    simulation.transport.recovery = Recovery::Selective;
    simulation.transport.repair = Repair::Never;
    simulation
}

/// Data packets that each of four spines sent down to the second leaf.
fn packets_down(simulation: &Simulation) -> [u64; 4] {
    let (outcome, _) = run_to_end(simulation);
    [2, 3, 4, 5].map(|spine| outcome.ports.iter().find(|p| (p.node, p.port) == (spine, 1)).unwrap().packets)
}

#[test]
fn a_flow_takes_one_path_or_all_of_them_evenly() {
    let network = spines(1, gbps(100), &[us(1); 4]);
    for &(policy, name, _) in Balancing::ALL {
        let simulation =
            spraying(network.clone(), vec![balanced(flow(0, 1, 16_000_000, Time::ZERO), policy)]);
        let packets = packets_down(&simulation);
        assert_eq!(packets.iter().sum::<u64>(), 16_000, "{name}");
        if policy == Balancing::Ecmp {
            assert_eq!(packets.iter().filter(|n| **n > 0).count(), 1);
            continue;
        }
        // REPS uses good paths again and is not uniform; rounds of 64 entropies over four ports are as uneven
        // as the hash of those 64 is. The others: chi-square with 3 degrees of freedom.
        let chi: f64 = packets.iter().map(|n| (*n as f64 - 4000.0).powi(2) / 4000.0).sum();
        match policy {
            Balancing::Reps | Balancing::OpsRounds => assert!(packets.iter().all(|n| *n > 1000), "{name}"),
            _ => assert!(chi < 25.0, "{name}: {packets:?}"),
        }
    }
}

#[test]
fn adaptive_routing_leaves_out_a_port_with_a_queue_and_ignores_small_packets() {
    // One sender at line rate, and one of four ports at 10 Gbps. It gets a quarter of the packets until its queue
    // has 40 KB; that is looked up every 100 ns, in which two packets may still come to it. Chosen at random it
    // gets a quarter of 12 MB, of which it can send 1.2 MB.
    let mut network = spines(1, gbps(100), &[us(1); 4]);
    let slow = network.links.iter_mut().find(|link| link.a.0 == 2 && link.b.0 == 6).unwrap();
    slow.rate = gbps(10);
    let slow_port = slow.b;
    let peak = |policy| {
        let mut sim = spraying(network.clone(), vec![balanced(flow(0, 1, 12_000_000, Time::ZERO), policy)]);
        sim.algorithms = vec![window(u64::MAX).into()];
        let (outcome, _) = run_everywhere(&sim);
        let port = outcome.ports.iter().find(|port| (port.node, port.port) == slow_port).unwrap();
        port.peak_queue.get()
    };
    let adaptive = peak(Balancing::Adaptive);
    assert!((40_000..40_000 + 2 * 1054).contains(&adaptive), "{adaptive}");
    assert!(peak(Balancing::Random) > 1_000_000);
    // Packets of 99 B go by their hash; those of 100 B take all ways.
    for (payload, ways) in [(45, 1), (46, 4)] {
        let mut sim = spraying(
            spines(1, gbps(100), &[us(1); 4]),
            vec![balanced(flow(0, 1, 20_000, Time::ZERO), Balancing::Adaptive)],
        );
        sim.transport.payload = Bytes::new(payload);
        assert_eq!(packets_down(&sim).iter().filter(|packets| **packets > 0).count(), ways);
    }
}

#[test]
fn choices_of_successive_switches_are_independent() {
    // In a fat-tree with k = 4 a flow between pods has four paths: two ports at the edge, two at the next
    // switch. Were the hashes of both switches alike, it would see only two.
    for policy in [Balancing::Ops, Balancing::Random] {
        let simulation = spraying(
            fat_tree(4, gbps(100), us(1)),
            vec![balanced(flow(0, 15, 8_000_000, Time::ZERO), policy)],
        );
        let (outcome, _) = run_to_end(&simulation);
        // The four core switches are those that forward a quarter each.
        let hosts = simulation.network.hosts;
        let cores = (hosts..simulation.network.nodes.len() as u32)
            .filter(|n| simulation.network.nodes[*n as usize].starts_with("core"));
        let counts: Vec<u64> = cores
            .map(|core| outcome.ports.iter().filter(|p| p.node == core).map(|p| p.packets).sum())
            .collect();
        assert_eq!(counts.len(), 4);
        // Data and acknowledgements: 8,000 packets each way.
        let chi: f64 = counts.iter().map(|n| (*n as f64 - 4000.0).powi(2) / 4000.0).sum();
        assert!(chi < 25.0, "{policy:?}: {counts:?}");
    }
}

/// With one slow path, the RTT of each acknowledgement is measured on the path of the packet that caused it.
/// Packets are sent every 500 ns, so that nothing queues but what arrives together with another: were an RTT
/// counted from another packet, it would be off by a multiple of that.
#[test]
fn the_rtt_is_that_of_the_packets_own_path() {
    for policy in [Balancing::Ops, Balancing::Random, Balancing::Reps, Balancing::OpsRounds] {
        let network = spines(1, gbps(100), &[us(1), us(1), us(1), us(9)]);
        // Packets of 1,054 B every 500 ns, many in flight on paths of 4 and 12 us.
        let rate = Rate::from_bps(1054 * 8 * 2_000_000);
        let mut simulation =
            simulation(network, vec![paced(rate)], vec![balanced(flow(0, 1, 2_000_000, Time::ZERO), policy)]);
        simulation.transport.recovery = Recovery::Selective;
        simulation.transport.repair = Repair::Never;
        // Acknowledgements by one path, which may be the slow one.
        simulation.balancing.acknowledgements = Acknowledgements::OnePath;
        simulation.probes.flows = vec![0];
        simulation.probes.flow_interval = Time::from_ns(250);
        let (_, kept) = run_everywhere(&simulation);
        // Four hops of 84.32 ns and four of 5.12 ns, 4 us and 4 us, and 8 us more on slow ways.
        let least = 4 * (84_320 + 5_120) + 8_000_000;
        let mut seen: Vec<u64> = kept.samples.iter().map(|s| s.rtt.ps()).filter(|rtt| *rtt > 0).collect();
        seen.sort_unstable();
        seen.dedup();
        // Packets that took the slow path can arrive together with others and wait for a transmission.
        let classes: Vec<u64> = seen.iter().map(|rtt| (rtt - least) / 8_000_000).collect();
        assert!(seen.iter().all(|rtt| (rtt - least) % 8_000_000 < 84_320 + 5_120), "{policy:?}: {seen:?}");
        assert!(
            classes.len() > 1 && classes.last().unwrap() > classes.first().unwrap(),
            "{policy:?}: {seen:?}"
        );
        // Nothing was sent twice, in whatever order it arrived.
        assert_eq!(kept.flows[0].resent, 0);
    }
}

/// Sends at a rate, and records its input from each acknowledgement.
struct Recorder;

#[derive(Clone, Debug)]
struct Recording {
    rate: Rate,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// The number of the packet that caused an acknowledgement, when that arrived, and its sample: when the packet was
/// sent, and the bytes that were in flight then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    packet: usize,
    now: Time,
    sent: Time,
    inflight: Bytes,
}

impl Parameters for Recording {
    type Derived = ();
    fn derive(&self, _: &Path) {}
}

impl CongestionControl for Recorder {
    type Params = Recording;

    fn signals(_: &Recording) -> Signals {
        Signals::NONE
    }
    fn overhead(_: &Recording) -> Overhead {
        Overhead::default()
    }
    fn new(_: &Setup<Recording>, _: Time) -> Self {
        Self
    }
    fn on_ack(&mut self, setup: &Setup<Recording>, ack: &Ack, _: &IntStack) {
        let packet = (ack.packet / 1000) as usize;
        let seen = Seen { packet, now: ack.now, sent: ack.sent, inflight: ack.inflight };
        setup.params.seen.lock().unwrap().push(seen);
    }
    fn allowance(&self, setup: &Setup<Recording>) -> Allowance {
        Allowance { window: Bytes::UNLIMITED, rate: setup.params.rate }
    }
}

/// Returns the content of the acknowledgements of 60 packets, sent every 500 ns over a path of 4 us and one
/// of 12.2 us, by the same way back: nothing ever queues.
fn acknowledgements_over_two_paths(key: u64, sample: Sample) -> Vec<Seen> {
    let recording = Recording { rate: Rate::from_bps(1054 * 8 * 2_000_000), seen: Arc::default() };
    let one = Flow { key, ..balanced(flow(0, 1, 60_000, Time::ZERO), Balancing::Ops) };
    let mut simulation = spraying(spines(1, gbps(100), &[us(1), us(9) + Time::from_ns(200)]), vec![one]);
    simulation.algorithms = vec![Algorithm::new::<Recorder>("recorder", recording.clone())];
    simulation.transport.sample = sample;
    simulation.balancing.acknowledgements = Acknowledgements::OnePath;
    run(&simulation);
    let seen = recording.seen.lock().unwrap();
    seen.clone()
}

/// Four hops of 84.32 ns and four of 5.12 ns, 4 us there and 4 us back.
const FAST: Time = Time::from_ps(8_357_760);

#[test]
fn by_the_cumulative_number_late_packets_make_samples_of_old_ones() {
    let of = |key, sample| acknowledgements_over_two_paths(key, sample);
    let rtt = |seen: &Seen| seen.now - seen.sent;
    // Of the first four packets only number 1 takes the slow path, and acknowledgements take the fast one.
    let key = (0..).find(|key| {
        let seen = of(*key, Sample::Packet);
        let first: Vec<_> = seen.iter().take(3).map(|seen| (seen.packet, rtt(seen))).collect();
        first == [(0, FAST), (2, FAST), (3, FAST)]
    });
    let seen = of(key.unwrap(), Sample::Cumulative);
    // Until packet 1 arrives, packet 0 is the last in order: packets 2 and 3, sent 1 us and 1.5 us later, are
    // samples of it.
    let first: Vec<_> = seen.iter().take(3).map(|seen| (seen.packet, seen.sent, rtt(seen))).collect();
    let [second, third] = [Time::from_ns(1_000), Time::from_ns(1_500)];
    assert_eq!(first, [(0, Time::ZERO, FAST), (2, Time::ZERO, FAST + second), (3, Time::ZERO, FAST + third)]);
}

/// The sample of every acknowledgement, found again in a second run, whose acknowledgements say when each
/// packet was sent, had arrived and how much was in flight.
#[test]
fn the_sample_by_the_cumulative_number_is_that_of_the_packet_before_the_expected_one() {
    let (mut without, mut shorter, mut longer) = (0, 0, 0);
    for key in 0..20 {
        let own = acknowledgements_over_two_paths(key, Sample::Packet);
        let of = |packet: usize| own.iter().find(|seen| seen.packet == packet);
        let mut arrived = [false; 60];
        let expected = own.iter().map(|seen| {
            arrived[seen.packet] = true;
            let expected = arrived.iter().position(|is| !is).unwrap();
            // None of it is in order: the artifact's record is empty; the sample is that of the packet itself.
            let Some(last) = expected.checked_sub(1) else {
                without += 1;
                return *seen;
            };
            let of = of(last).unwrap();
            longer += usize::from(of.sent < seen.sent);
            shorter += usize::from(of.sent > seen.sent);
            Seen { sent: of.sent, inflight: of.inflight, ..*seen }
        });
        let expected: Vec<_> = expected.collect();
        assert_eq!(acknowledgements_over_two_paths(key, Sample::Cumulative), expected, "key {key}");
    }
    assert!(without > 20 && shorter > 100 && longer > 300, "{without} {shorter} {longer}");
}

#[test]
fn both_samples_are_the_same_without_reordering() {
    for (recovery, ack_every) in [Recovery::GoBackN, Recovery::Selective]
        .map(|r| [(r, AckEvery::Packets(1)), (r, AckEvery::Packets(4))])
        .concat()
    {
        let algorithms = ["swift", "oscar", "timely", "hpcc"].map(|name| algorithm(name, &[])).to_vec();
        let flows = (0..8).map(|i| Flow { algorithm: i as u16 % 4, ..flow(i, 8, 300_000, Time::ZERO) });
        let mut simulation = simulation(star(9, gbps(100), us(1)), algorithms, flows.collect());
        (simulation.transport.recovery, simulation.transport.ack_every) = (recovery, ack_every);
        let own = run_to_end(&simulation);
        simulation.transport.sample = Sample::Cumulative;
        assert_eq!(run_to_end(&simulation), own, "{recovery:?}, {ack_every:?}");
    }
}

#[test]
fn the_sample_by_the_cumulative_number_misleads_those_who_measure_delay_alone() {
    // Targets near the base RTT of 8.5 us, so that delays matter.
    let short = Value::Time(us(9));
    for (algorithm, changes) in [
        (algorithm("swift", &[("base_target", short), ("hop", Value::Time(Time::ZERO))]), true),
        (letter("timely", &[("t_low", short)]), true),
        (algorithm("oscar", &[]), true),
        (algorithm("theta-powertcp", &[]), true),
        // The window when a packet was sent is on record at the sender.
        (algorithm("hpcc", &[("reference", Value::Choice(1))]), true),
        // Telemetry and marks travel in the acknowledgement.
        (algorithm("hpcc", &[]), false),
        (algorithm("powertcp", &[]), false),
        (algorithm("dctcp", &[]), false),
    ] {
        let flows = (0..4).map(|i| balanced(flow(i, 4 + i % 2, 400_000, Time::ZERO), Balancing::Random));
        let mut simulation = spraying(spines(4, gbps(100), &[us(1), us(2), us(1)]), flows.collect());
        simulation.switch.ecn = lossless_switch().ecn;
        simulation.algorithms = vec![algorithm.into()];
        let (_, own) = run_to_end(&simulation);
        simulation.transport.sample = Sample::Cumulative;
        let (_, cumulative) = run_everywhere(&simulation);
        assert_eq!(own.flows != cumulative.flows, changes, "{algorithm:?}");
        // With losses, packets that are sent again, and acknowledgements that stand for several.
        simulation.switch.buffer = Buffer::PerPort(Bytes::new(15_000));
        simulation.transport.rto = us(100);
        simulation.transport.ack_every = AckEvery::Packets(3);
        for recovery in [Recovery::Selective, Recovery::GoBackN] {
            simulation.transport.recovery = recovery;
            let (_, kept) = run_everywhere(&simulation);
            assert!(kept.flows.iter().any(|flow| flow.resent > 0), "{algorithm:?}");
        }
    }
}

#[test]
fn flows_of_different_policies_share_a_network() {
    let mut flows: Vec<Flow> = Vec::new();
    // A host on each leaf for every policy.
    let hosts = Balancing::ALL.len() as u32;
    for (i, &(policy, ..)) in Balancing::ALL.iter().enumerate() {
        let i = i as u32;
        let to = hosts + (i + 1) % hosts;
        let mut one = balanced(flow(i, to, 300_000, Time::from_ns(u64::from(i))), policy);
        one.key = mix(u64::from(i));
        flows.push(one);
    }
    let mut simulation = spraying(spines(hosts, gbps(100), &[us(1), us(2), us(1)]), flows);
    simulation.transport.repair = Repair::Threshold;
    simulation.switch.buffer = Buffer::PerPort(Bytes::new(30_000));
    simulation.transport.rto = us(100);
    for acknowledgements in [Acknowledgements::Balanced, Acknowledgements::OnePath] {
        simulation.balancing.acknowledgements = acknowledgements;
        simulation.balancing.freeze = Some(us(50));
        let (outcome, kept) = run_everywhere(&simulation);
        assert_eq!((kept.flows.len(), outcome.in_flight), (Balancing::ALL.len(), 0));
        assert!(kept.flows.iter().all(|flow| flow.bytes == Bytes::new(300_000)));
    }
}

#[test]
fn acknowledgements_take_one_path_if_asked() {
    let network = spines(1, gbps(100), &[us(1); 4]);
    let up = |simulation: &Simulation| {
        let (outcome, _) = run_to_end(simulation);
        let packets = |spine| outcome.ports.iter().find(|p| (p.node, p.port) == (spine, 0)).unwrap().packets;
        [2, 3, 4, 5].map(packets).iter().filter(|n| **n > 0).count()
    };
    for policy in [Balancing::Ops, Balancing::Reps, Balancing::Random] {
        let mut simulation =
            spraying(network.clone(), vec![balanced(flow(0, 1, 500_000, Time::ZERO), policy)]);
        assert_eq!(up(&simulation), 4, "{policy:?}");
        simulation.balancing.acknowledgements = Acknowledgements::OnePath;
        assert_eq!(up(&simulation), 1, "{policy:?}");
    }
}

#[test]
fn selective_repeat_sends_only_what_was_lost() {
    // Eight senders at line rate into one port with room for 30 packets.
    for repair in [Repair::Threshold, Repair::Lazy, Repair::Never] {
        let flows: Vec<_> = (1..9).map(|i| flow(i, 0, 400_000, Time::from_ns(u64::from(i)))).collect();
        let mut simulation = simulation(star(9, gbps(100), us(1)), vec![window(60_000)], flows);
        simulation.switch.buffer = Buffer::PerPort(Bytes::new(31_620));
        simulation.transport.rto = us(300);
        let (_, go_back) = run_to_end(&simulation);
        simulation.transport.recovery = Recovery::Selective;
        simulation.transport.repair = repair;
        let (outcome, kept) = run_everywhere(&simulation);
        let resent = |flows: &[incast_sim::record::FlowRecord]| flows.iter().map(|f| f.resent).sum::<u64>();
        assert!(outcome.dropped > 100);
        if repair == Repair::Threshold {
            // In a star packets keep their order: what is sent again for the first time was lost.
            assert!(resent(&kept.flows) <= 2 * outcome.dropped);
        }
        assert!(resent(&kept.flows) < resent(&go_back.flows));
        assert!(kept.flows.iter().all(|flow| flow.bytes == Bytes::new(400_000)));
    }
}
