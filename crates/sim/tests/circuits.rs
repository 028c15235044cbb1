//! Circuits through an optical switch, against times and bounds worked by hand (PowerTCP, NSDI 2022, section 5).
//!
//! Unless a test says something else: 25 Gbps (320 ps a byte) and 1 us between hosts and ToRs, 25 Gbps and
//! 4.64224 us between ToRs and the packet network, 100 Gbps (80 ps a byte) and 4.64224 us between ToRs and
//! the optical switch. Data packets have 1054 B: 337,280 ps at 25 Gbps, 84,320 ps at 100 Gbps.
//! Acknowledgements have 64 B: 20,480 ps.

mod common;

use std::ops::ControlFlow;

use common::*;
use incast_cc::Fixed;
use incast_cc::params::Value;
use incast_sim::describe::bfc::Bfc;
use incast_sim::describe::circuits::VoqLimits;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::network::{Change, LinkChange, NodeId, NodeKind, PortId};
use incast_sim::describe::switch::{Buffer, Ecn, MarkingPoint, Scheduler, Trimming};
use incast_sim::describe::transport::{BaseRtt, Recovery};
use incast_sim::record::{FlowRecord, FlowSample, PacketKind, PacketRecord, PortSample, Progress};
use incast_sim::{Network, Simulation, Sink};
use incast_units::{Bytes, Time};

/// 25 Gbps and 100 Gbps.
const SLOW: u64 = 337_280;
const FAST: u64 = 84_320;
/// Both links to a switch between ToRs.
const MIDDLE: u64 = 2 * 4_642_240;
/// The links of two hosts.
const EDGE: u64 = 2 * 1_000_000;
const SLOT: u64 = 245_000_000;
const DAY: u64 = 225_000_000;
/// Time that an acknowledgement takes back through the packet network.
const BACK: u64 = EDGE + MIDDLE + 4 * 20_480;

fn ps(time: u64) -> Time {
    Time::from_ps(time)
}

/// Keeps captured packets and samples of ports.
#[derive(Default)]
struct Packets {
    packets: Vec<PacketRecord>,
    ports: Vec<PortSample>,
}

impl Sink for Packets {
    fn flows(&mut self, _: &[FlowRecord]) {}
    fn port_samples(&mut self, samples: &[PortSample]) {
        self.ports.extend_from_slice(samples);
    }
    fn flow_samples(&mut self, _: &[FlowSample]) {}
    fn packets(&mut self, records: &[PacketRecord]) {
        self.packets.extend_from_slice(records);
    }
    fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn captured(sim: &Simulation) -> Packets {
    let mut packets = Packets::default();
    let outcome = incast_sim::run(sim, &mut packets).unwrap();
    assert_eq!(outcome.violations, Vec::<String>::new());
    packets
}

/// The ToR of a rack, and its ports to the packet network and to the optical switch.
fn tor(network: &Network, rack: u32) -> (NodeId, PortId, PortId) {
    let name = format!("tor{rack}");
    let node = network.nodes.iter().position(|node| *node == name).unwrap() as NodeId;
    (node, network.ports(node) - 2, network.ports(node) - 1)
}

/// One packet in a network of five racks, and how long it took to be acknowledged.
fn one_packet(source: u32, destination: u32, start: u64) -> FlowRecord {
    let sim =
        simulation(rotor(5, 2), vec![window(u64::MAX)], vec![flow(source, destination, 1000, ps(start))]);
    run_everywhere(&sim).1.flows[0]
}

#[test]
fn a_packet_passes_the_optical_switch_without_a_store() {
    // h0 of rack 0 to h2 of rack 1 in the first day: 1 us, the ToR stores it, 2 · 4.64224 us, the ToR stores it,
    // 1 us. Back through the packet network.
    let record = one_packet(0, 2, 0);
    let there = 2 * SLOW + FAST + EDGE + MIDDLE;
    assert_eq!(record.finish, ps(there + BACK));
    assert_eq!(there + BACK, 23_409_760);
}

#[test]
fn other_pairs_take_the_packet_network_and_24_us() {
    // Rack 0 to rack 2 in the first day; rack 0 to rack 1 in the first night: four stores each way.
    let rtt = 4 * SLOW + EDGE + MIDDLE + BACK;
    assert_eq!(rtt, 24_000_000);
    for (destination, start) in [(4, 0), (2, DAY + 1_000_000)] {
        let record = one_packet(0, destination, start);
        assert_eq!(record.finish, ps(start + rtt));
        assert_eq!(record.base_rtt, ps(rtt));
    }
    // The circuit is in no path that an algorithm is told, and the largest is that of the packet network.
    let mut sim = simulation(rotor(5, 2), vec![algorithm("dctcp", &[])], vec![flow(0, 2, 1000, us(0))]);
    sim.transport.base_rtt = BaseRtt::Network;
    sim.probes.flows = vec![0];
    let (_, kept) = run(&sim);
    // DCTCP begins with one base BDP: 24 us · 25 Gbps.
    assert_eq!(kept.samples[0].window, Bytes::new(75_000));
}

#[test]
fn each_matching_has_its_day_in_every_week() {
    // Five racks: day m of week w begins at (4 w + m - 1) · 245 us. In it rack i reaches rack (i + m) mod 5, and
    // no other, by the circuit.
    for (week, matching) in [(0, 1), (0, 4), (1, 1), (1, 2), (3, 3)] {
        let begin = (4 * week + matching - 1) * SLOT;
        for to in [0, 1, 2, 4] {
            let record = one_packet(2 * 3, 2 * to, begin + 100_000_000);
            let by_circuit = u64::from((3 + matching as u32) % 5 == to);
            // The acknowledgement of 64 B too, where its pair has its day.
            let back = u64::from((to + matching as u32) % 5 == 3) * (2 * 20_480 - 5_120);
            let rtt = 24_000_000 - by_circuit * (2 * SLOW - FAST) - back;
            assert_eq!(record.finish - record.start, ps(rtt), "week {week}, matching {matching}, to {to}");
        }
    }
}

#[test]
fn a_packet_that_does_not_fit_into_the_day_waits_for_the_night() {
    // From h0 it is in ToR 0 after 337,280 ps + 1 us.
    let way = SLOW + 1_000_000;
    let rtt = |spare: u64| {
        let record = one_packet(0, 2, DAY - spare - way);
        (record.finish - record.start).ps()
    };
    // Just in time: the last bit leaves at the last instant of the day.
    assert_eq!(rtt(FAST), 24_000_000 - (2 * SLOW - FAST));
    // A picosecond less: it waits, and takes the packet network as the day is over.
    assert_eq!(rtt(FAST - 1), 24_000_000 + FAST - 1);
    assert_eq!(rtt(1), 24_000_001);
    // As it comes when the day ends, it waits no more.
    assert_eq!(rtt(0), 24_000_000);
    // At the first instant of the next day of the pair the circuit is there; just before it the uplink is.
    let begin = 4 * SLOT - way;
    let taken = |start| (one_packet(0, 2, start).finish - ps(start)).ps();
    assert_eq!(taken(begin), 24_000_000 - (2 * SLOW - FAST));
    assert_eq!(taken(begin - 1), 24_000_000);
}

/// Ten flows from rack 0 to rack 1 with windows of `packets` packets, until the end of the first day of week
/// 1, in a network of five racks.
fn ten_flows(packets: u64) -> Simulation {
    let until = ps(4 * SLOT + DAY + 1_000_000);
    let flows = (0..10).map(|host| long(host, 10 + host, us(0), until)).collect();
    let mut sim = simulation(rotor(5, 10), vec![window(packets * 1054 - 1053)], flows);
    // Packets by the circuit overtake those in the packet network.
    sim.transport.recovery = Recovery::Selective;
    sim.transport.repair_threshold = 1000;
    sim.until = until;
    let (tor, uplink, circuit) = tor(&sim.network, 0);
    sim.probes.ports = vec![(tor, uplink), (tor, circuit)];
    sim.probes.captures = vec![(tor, uplink), (tor, circuit)];
    sim.probes.port_interval = us(5);
    sim
}

/// The bytes on the circuit of rack 0 in its days to rack 1, of weeks 0 and 1.
fn per_day(sim: &Simulation) -> [u64; 2] {
    let (_, kept) = run(sim);
    let (tor, _, circuit) = tor(&sim.network, 0);
    let samples = every_sample(&kept.ports, us(5));
    let sent = |time: u64| {
        let at = samples.iter().find(|s| (s.node, s.port, s.time) == (tor, circuit, ps(time)));
        at.unwrap().transmitted.get()
    };
    // A sample at the begin of a day has the first packet already; in the night before it nothing leaves.
    [sent(DAY), sent(4 * SLOT + DAY) - sent(4 * SLOT - 5_000_000)]
}

#[test]
fn a_window_of_the_circuits_bdp_fills_the_day() {
    // 28 packets in each of ten windows: 295,120 B, within a packet each of 300 KB, the circuit's BDP at 24 us. The
    // day carries 2,812,500 B; the first round trip of the first one is lost at most: 1 - 24/225 = 0.893.
    let [first, second] = per_day(&ten_flows(28));
    assert!(first <= 2_812_500 && second <= 2_812_500, "{first} {second}");
    assert!(first as f64 / 2_812_500.0 >= 0.893, "{first}");
    // In the next week the day begins with a full VOQ: as many packets leave as fit, 2668.
    assert_eq!(second, 2668 * 1054);
    // 7 packets each: 73,780 B in a round trip of 23.41 us are a quarter of 12.5 GB/s.
    let [first, second] = per_day(&ten_flows(7));
    for day in [first, second] {
        let share = day as f64 / 2_812_500.0;
        assert!((0.2..=0.27).contains(&share), "{share}");
    }
}

#[test]
fn nothing_leaves_on_a_dark_circuit() {
    let mut sim = ten_flows(28);
    // Other pairs too, as many as there are.
    for to in 1..5 {
        let more = (0..10).map(|host| flow(host, to * 10 + (host + 3) % 10, 400_000, us(30)));
        sim.flows.extend(more);
    }
    sim.flows.sort_by_key(|flow| (flow.start, flow.key));
    sim.transport.rto = Time::from_ms(50);
    let (_, uplink, circuit) = tor(&sim.network, 0);
    let Packets { packets, .. } = captured(&sim);
    let (mut by_circuit, mut by_uplink) = (0, 0);
    let mut in_day = [0; 10];
    for packet in &packets {
        let begin = packet.time.ps();
        let (slot, into) = (begin / SLOT, begin % SLOT);
        let rack = packet.destination / 10;
        let matched = (slot % 4 + 1) as u32;
        if packet.port == circuit {
            by_circuit += 1;
            assert_eq!(rack, matched, "{packet:?}");
            assert!(into + packet.size.get() * 80 <= DAY, "{packet:?}");
            in_day[slot as usize] += packet.size.get();
        } else {
            assert_eq!(packet.port, uplink);
            by_uplink += 1;
            assert!(into >= DAY || rack != matched, "{packet:?}");
        }
    }
    assert!(by_circuit > 5_000 && by_uplink > 2_000, "{by_circuit} {by_uplink}");
    assert!(in_day.iter().all(|bytes| *bytes <= 2_812_500), "{in_day:?}");
}

#[test]
fn a_queue_for_one_rack_does_not_hold_up_another() {
    // In the third day rack 0 has a circuit to rack 3. Nine hosts fill the VOQ of rack 1; a packet for rack 2 waits
    // in its ToR for one of theirs at most.
    let start = 2 * SLOT + 10_000_000;
    let mut flows: Vec<Flow> = (1..10).map(|host| flow(host, 10 + host, 100_000, ps(start))).collect();
    flows.push(flow(0, 20, 1000, ps(start + 60_000_000)));
    let sim = simulation(rotor(5, 10), vec![window(u64::MAX)], flows);
    let (outcome, kept) = run_everywhere(&sim);
    let (tor, uplink, _) = tor(&sim.network, 0);
    let port = outcome.ports.iter().find(|p| (p.node, p.port) == (tor, uplink)).unwrap();
    assert!(port.peak_queue > Bytes::new(500_000), "{}", port.peak_queue);
    let alone = kept.flows.iter().find(|record| sim.flows[record.flow as usize].source == 0).unwrap();
    let waited = (alone.finish - alone.start).ps() - 24_000_000;
    assert!(waited <= SLOW, "{waited}");
}

#[test]
fn queues_for_other_racks_are_served_in_turn() {
    // Two hosts send a packet train each to racks 1 and 2 in the third day: their packets leave in turn.
    let start = ps(2 * SLOT + 1_000_000);
    let flows = vec![flow(0, 2, 20_000, start), flow(1, 4, 20_000, start)];
    let mut sim = simulation(rotor(5, 2), vec![window(u64::MAX)], flows);
    let (node, uplink, _) = tor(&sim.network, 0);
    sim.probes.captures = vec![(node, uplink)];
    let Packets { packets, .. } = captured(&sim);
    let data = packets.iter().filter(|packet| packet.kind == PacketKind::Data);
    let racks: Vec<u32> = data.map(|packet| packet.destination / 2).collect();
    assert_eq!(racks, [1, 2].repeat(20));
}

#[test]
fn a_blocked_circuit_lets_the_uplink_work() {
    // In the last 84 ns of the day no packet for rack 1 can leave; one for rack 2 does.
    let start = DAY - 50_000 - SLOW - 1_000_000;
    let flows = vec![flow(0, 2, 1000, ps(start)), flow(1, 4, 1000, ps(start))];
    let sim = simulation(rotor(5, 2), vec![window(u64::MAX)], flows);
    let (_, kept) = run_everywhere(&sim);
    let took = |source: u32| {
        let record =
            kept.flows.iter().find(|record| sim.flows[record.flow as usize].source == source).unwrap();
        (record.finish - record.start).ps()
    };
    // Both are in the ToR 50 ns before the night. The other one leaves then; the first when it has left.
    assert_eq!([took(0), took(1)].map(|time| time - 24_000_000), [SLOW, 0]);
}

#[test]
fn small_queues_drop_and_a_day_admits_more() {
    // In the third day 30 packets for rack 1 come at once from three hosts, at 75 Gbps, and leave at 25 Gbps. Ten
    // fit into the VOQ.
    let burst = |start: u64| {
        let flows = (0..3).map(|host| flow(host, 3 + host, 10_000, ps(start))).collect();
        let mut sim = simulation(rotor(5, 3), vec![window(u64::MAX)], flows);
        sim.transport.rto = Time::from_ms(1);
        let circuits = sim.network.circuits.as_mut().unwrap();
        circuits.voq = Some(VoqLimits { small: Bytes::new(10 * 1054), large: Bytes::new(20 * 1054) });
        circuits.prebuffer = us(100);
        sim
    };
    let drops = |start: u64| {
        let sim = burst(start);
        let (outcome, _) = run_everywhere(&sim);
        let (tor, uplink, circuit) = tor(&sim.network, 0);
        let of = |port| outcome.ports.iter().find(|p| (p.node, p.port) == (tor, port)).unwrap();
        (of(uplink).drops, of(uplink).peak_queue.get(), of(circuit).drops, outcome.dropped)
    };
    // The three packets of an instant wait for none, one and two others. Each 337,280 ps one leaves before three
    // come: the first is on the wire, 2 wait; then 4, 6, 8; then 3 of 2 + 1 ... up to ten wait.
    let (dropped, peak, by_circuit, all) = drops(2 * SLOT);
    assert_eq!((peak, by_circuit), (10 * 1054, 0));
    // After arrivals n = 1, 2, ...: 2 n wait up to 10 at n = 5; of the 15 that come after, one of each three fits.
    assert_eq!((dropped, all), (10, 10));
    // 100 us before the day (4 · 245 us) the VOQ holds 20: 2 n up to 18 at n = 9 and 20 at n = 10.
    assert_eq!(drops(4 * SLOT - 100_000_000).0, 0);
    assert!(drops(4 * SLOT - 110_000_000).0 > 0);
    // In the day 75 Gbps leave as they come.
    assert_eq!(drops(4 * SLOT).3, 0);
}

#[test]
fn marks_and_the_shared_buffer_work_on_both_ports() {
    let mut sim = ten_flows(60);
    sim.switch.ecn = Some(Ecn {
        kmin: Bytes::new(20_000),
        kmax: Bytes::new(80_000),
        pmax: Fixed::ratio(1, 5),
        reference: Some(gbps(25)),
        at: MarkingPoint::Dequeue,
    });
    sim.switch.buffer = Buffer::Shared(Bytes::new(500_000));
    sim.switch.reserve = Bytes::ZERO;
    sim.switch.ingress_alpha = Fixed::ONE;
    sim.switch.egress_alpha = Fixed::ONE;
    sim.switch.queues = 2;
    sim.switch.scheduler = Scheduler::Drr;
    sim.transport.ack_queue = Some(1);
    sim.transport.rto = us(500);
    for (flow, queue) in sim.flows.iter_mut().zip([0, 1].into_iter().cycle()) {
        flow.queue = queue;
    }
    sim.until = ps(SLOT + DAY);
    sim.flows.iter_mut().for_each(|flow| flow.stop = sim.until);
    let (outcome, _) = run_everywhere(&sim);
    let (tor, uplink, circuit) = tor(&sim.network, 0);
    let of = |port| outcome.ports.iter().find(|p| (p.node, p.port) == (tor, port)).unwrap();
    // Two queues of a VOQ, each at most as long as what is left free: 2/3 of the buffer, and a packet.
    assert!(of(uplink).peak_queue <= Bytes::new(333_333 + 1054), "{}", of(uplink).peak_queue);
    assert!(of(uplink).marked > 0 && of(uplink).drops > 0, "{outcome:?}");
    // The thresholds of the circuit are four times as high.
    sim.switch.buffer = Buffer::Unlimited;
    let (outcome, _) = run(&sim);
    let of = |port| outcome.ports.iter().find(|p| (p.node, p.port) == (tor, port)).unwrap();
    assert!(of(circuit).marked > 0);
}

#[test]
fn retcp_jumps_with_the_circuits() {
    let end = ps(4 * SLOT + DAY);
    let retcp = algorithm("retcp", &[("increase", Value::Ratio(Fixed::ZERO))]);
    let mut sim = simulation(rotor(5, 2), vec![retcp], vec![long(0, 2, us(0), end)]);
    sim.transport.recovery = Recovery::Selective;
    sim.transport.repair_threshold = 1000;
    sim.until = end;
    sim.probes.flows = vec![0];
    sim.probes.flow_interval = Time::from_ns(1);
    // When the window has changed, and to how much.
    let changes = |sim: &Simulation| {
        let (_, kept) = run_everywhere(sim);
        let mut changes: Vec<(u64, u64)> = Vec::new();
        for sample in &kept.samples {
            let window = sample.window.get();
            if changes.last().is_none_or(|last| last.1 != window) {
                changes.push((sample.time.ps(), window));
            }
        }
        changes
    };
    // One base BDP, until the first acknowledgement says that there is a circuit; four of them until one says that
    // there is none. Packet 663 comes to the ToR at 224.95392 us, too late for the circuit, and leaves by the uplink
    // when the day ends.
    let (first, last) = (2 * SLOW + FAST + EDGE + MIDDLE + BACK, DAY + 3 * SLOW + MIDDLE + 1_000_000 + BACK);
    let to_ns = |time: u64| time.div_ceil(1000) * 1000;
    let seen = changes(&sim);
    assert_eq!(seen[..3], [(0, 75_000), (to_ns(first), 300_000), (to_ns(last), 75_000)]);
    // In the next week it takes a round trip from the begin of the day on. The ToR
    // has a packet at least each 337.28 ns, which may wait for another one at the last port.
    let day = 4 * SLOT;
    let within = |time: u64, earliest: u64| (earliest..=earliest + 2 * SLOW + 1000).contains(&time);
    let by_circuit = FAST + MIDDLE + SLOW + 1_000_000 + BACK;
    assert!(within(seen[3].0, day + by_circuit), "{seen:?}");
    // The first packets by the circuit overtake the last ones in the packet network, which say that there is none.
    assert_eq!(seen[3..].iter().map(|change| change.1).collect::<Vec<_>>(), [300_000, 75_000, 300_000]);
    assert!(seen[5].0 < day + by_circuit + 4 * SLOW, "{seen:?}");
    // 100 us earlier if the ToR announces it so early, by packets in the packet network.
    sim.network.circuits.as_mut().unwrap().prebuffer = us(100);
    let seen = changes(&sim);
    let by_uplink = 3 * SLOW + MIDDLE + 1_000_000 + BACK;
    assert!(within(seen[3].0, day - 100_000_000 + by_uplink), "{seen:?}");
    assert_eq!((seen[3].1, seen.len()), (300_000, 4));
}

#[test]
fn descriptions_that_do_not_fit_are_refused() {
    let refusal = |change: &dyn Fn(&mut Simulation)| {
        let mut sim = simulation(rotor(3, 2), vec![window(u64::MAX)], vec![flow(0, 2, 1000, us(0))]);
        change(&mut sim);
        incast_sim::run(&sim, &mut Kept::default()).unwrap_err().to_string()
    };
    assert_eq!(refusal(&|s| s.network.circuits = None), "optical needs a schedule of circuits");
    let change = Change { time: us(1), link: 0, what: LinkChange::Rate(gbps(1)) };
    assert_eq!(
        refusal(&|s| s.network.changes.push(change)),
        "links of a network with circuits cannot change"
    );
    for refused in [
        refusal(&|s| s.switch.pfc = lossless_switch().pfc),
        refusal(&|s| {
            s.switch.trimming = Some(Trimming::default());
            s.transport.recovery = Recovery::Selective;
        }),
        refusal(&|s| {
            s.switch.bfc = Some(Bfc::default());
            s.switch.scheduler = Scheduler::RoundRobin;
        }),
    ] {
        assert!(refused.starts_with("circuits are possible only without PFC and BFC"), "{refused}");
    }
    let night = |s: &mut Simulation| s.network.circuits.as_mut().unwrap().night = Time::ZERO;
    assert_eq!(refusal(&night), "days and nights must be longer than zero");
    // Three racks: a week of 490 us.
    let long = |s: &mut Simulation| s.network.circuits.as_mut().unwrap().prebuffer = us(266);
    assert_eq!(refusal(&long), "266us before a day, the last day of the same pair is not over");
    let limits = VoqLimits { small: Bytes::new(2), large: Bytes::new(1) };
    let inverted = |s: &mut Simulation| s.network.circuits.as_mut().unwrap().voq = Some(limits);
    assert_eq!(refusal(&inverted), "the large limit of a queue (1B) is below the small one (2B)");
    let second = |s: &mut Simulation| _ = s.network.add_node("other", NodeKind::OpticalSwitch);
    assert_eq!(refusal(&second), "optical and other are optical switches: only one is possible");
    let slower = |s: &mut Simulation| s.network.links.last_mut().unwrap().rate = gbps(50);
    assert_eq!(refusal(&slower), "the links of optical have one rate and one delay, but not that of tor2");
    let uplinks = |s: &mut Simulation| s.network.add_link(6, 9, gbps(25), us(1));
    assert_eq!(
        refusal(&uplinks),
        "tor0 has 1 links to the optical switch and 2 to other switches, not one of each"
    );
    let cards = |s: &mut Simulation| s.network.add_link(0, 7, gbps(25), us(1));
    assert_eq!(refusal(&cards), "h0 needs one link, to a ToR");
    // Without a packet network there is no route at night.
    let mut network = Network::with_hosts(2);
    let tors = [0, 1].map(|i| network.add_node(format!("tor{i}"), NodeKind::Tor));
    let optical = network.add_node("optical", NodeKind::OpticalSwitch);
    for (host, tor) in tors.into_iter().enumerate() {
        network.add_link(host as NodeId, tor, gbps(25), us(1));
        network.add_link(tor, optical, gbps(100), us(1));
    }
    network.circuits = rotor(2, 1).circuits;
    let lone = simulation(network, vec![window(1)], vec![flow(0, 1, 1000, us(0))]);
    let error = incast_sim::run(&lone, &mut Kept::default()).unwrap_err().to_string();
    assert_eq!(error, "no path between tor0 and tor1");
}
