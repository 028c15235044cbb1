//! Backpressure flow control: times by hand, queues of flows, what is held back and what is not.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::*;
use incast_cc::Fixed;
use incast_sim::describe::bfc::{Bfc, Resume, Signal};
use incast_sim::describe::flow::Flow;
use incast_sim::describe::network::{Change, LinkChange, NodeKind};
use incast_sim::describe::switch::{Buffer, Pfc, Scheduler, Switch};
use incast_sim::random::{draw, mix};
use incast_sim::record::{End, Outcome, PacketKind};
use incast_sim::{Network, Simulation};
use incast_units::{Bytes, Rate, Time};

/// A shared buffer of 32 MB, and BFC.
fn bfc_switch(bfc: Bfc) -> Switch {
    Switch {
        buffer: lossless_switch().buffer,
        bfc: Some(bfc),
        scheduler: Scheduler::RoundRobin,
        ..Switch::default()
    }
}

/// The simulator of its authors: a queue is resumed when the last packet has left that found too much in it.
fn authors() -> Bfc {
    Bfc { resume: Resume::LastPacket, ..Bfc::default() }
}

fn at_once() -> Bfc {
    Bfc { signal: Signal::AtOnce, ..authors() }
}

/// Flows without congestion control, in packets of 1000 B, all pauses recorded.
fn uncontrolled(network: Network, flows: Vec<Flow>, bfc: Bfc) -> Simulation {
    let mut sim = simulation(network, vec![window(u64::MAX)], flows);
    sim.transport.payload = Bytes::new(946);
    sim.switch = bfc_switch(bfc);
    sim.probes.pauses = true;
    sim
}

fn see(sim: &Simulation) -> (Outcome, Kept) {
    let mut seen = Kept::default();
    let outcome = incast_sim::run(sim, &mut seen).expect("a valid description");
    assert_eq!((&outcome.violations, &outcome.end), (&Vec::new(), &End::Finished));
    (outcome, seen)
}

fn ns(time: u64) -> Time {
    Time::from_ns(time)
}

fn ps(time: u64) -> Time {
    Time::from_ps(time)
}

/// Host 0 at 100 Gbps, host 1 at 10 Gbps, 1 us each.
fn slow_receiver() -> Network {
    let mut network = Network::with_hosts(2);
    let switch = network.add_switch("s0");
    network.add_link(0, switch, gbps(100), us(1));
    network.add_link(1, switch, gbps(10), us(1));
    network
}

/// The pauses of a node's port: when, which queue, and whether it was paused.
fn pauses(seen: &Kept, node: u32, port: u16) -> Vec<(Time, u16, bool)> {
    let of_port = seen.pauses.iter().filter(|p| (p.node, p.port) == (node, port));
    of_port.map(|p| (p.time, p.queue, p.paused)).collect()
}

#[test]
fn a_pause_at_once_by_hand() {
    // Packet k (from 0) of 40 arrives at the switch at 1080 + 80 k ns and begins to leave at 1080 + 800 k. The
    // threshold is 1.5 · 2 us · 10 Gbps = 3750 B. Packet 4 is the fourth in the queue at 1400 ns: the pause takes
    // 5.12 ns and 1 us, as packet 30 is being sent. All of 4 to 30 find more than 3750 B (k - floor(k/10) packets,
    // themselves included). Packet 30 begins to leave at 25 080: the resume is there at 26 085.12, and packets 31
    // to 39 follow. Packet 35 is the fourth of these in the queue, at 27 485.12; 39 begins to leave at
    // 27 165.12 + 8 · 800 and is there 1.8 us later.
    let sim = uncontrolled(slow_receiver(), vec![flow(0, 1, 40 * 946, Time::ZERO)], at_once());
    let (outcome, seen) = see(&sim);
    let expected = [
        (ps(2_405_120), 0, true),
        (ps(26_085_120), 0, false),
        (ps(28_490_240), 0, true),
        (ps(34_570_240), 0, false),
    ];
    assert_eq!(pauses(&seen, 0, 0), expected);
    assert_eq!(seen.flows[0].delivered, ps(35_365_120));
    assert_eq!(outcome.ports.iter().map(|p| p.pauses_sent).sum::<u64>(), 2);
    run_everywhere(&sim);
}

#[test]
fn a_queue_is_resumed_at_the_threshold_if_asked() {
    // The same run. When packet 27 begins to leave, at 22,680 ns, three are in the queue, 3000 B: the resume is there at
    // 23,685.12, and packets 31 to 39 arrive from 24,765.12 on, when 30 still waits. Packet 33 is the fourth in the queue,
    // at 24,925.12; with packet 36 three are left, at 29,880. The port never idles: packet 39 begins to leave at 32,280.
    let bfc = Bfc { resume: Resume::Threshold, ..at_once() };
    let sim = uncontrolled(slow_receiver(), vec![flow(0, 1, 40 * 946, Time::ZERO)], bfc);
    let (_, seen) = see(&sim);
    let expected = [
        (ps(2_405_120), 0, true),
        (ps(23_685_120), 0, false),
        (ps(25_930_240), 0, true),
        (ps(30_885_120), 0, false),
    ];
    assert_eq!(pauses(&seen, 0, 0), expected);
    assert_eq!(seen.flows[0].delivered, ns(34_080));
    run_everywhere(&sim);
}

#[test]
fn few_long_flows_use_the_whole_link_if_resumed_at_the_threshold() {
    // 2 to 4 flows of 4000 packets over links of 100 Gbps and 3 us: the closed form is the first packet's way and all
    // others one after the other. Resumed with the last packet the queues run empty for a round trip again and again.
    for senders in 2..=4 {
        let took = |resume| {
            let network = star(senders + 1, gbps(100), us(3));
            let mut sim = uncontrolled(network, to_one(senders, 4000 * 946), Bfc { resume, ..authors() });
            sim.probes.pauses = false;
            see(&sim).1.flows.iter().map(|record| record.delivered).max().unwrap()
        };
        let bound = ns(6_080 + 4000 * 80 * u64::from(senders));
        assert!(
            took(Resume::Threshold) < bound.times_ratio(102, 100),
            "{senders}: {}",
            took(Resume::Threshold)
        );
        assert!(
            took(Resume::LastPacket) > bound.times_ratio(102, 100),
            "{senders}: {}",
            took(Resume::LastPacket)
        );
    }
}

#[test]
fn a_link_that_fails_takes_its_pauses_with_it() {
    // The run of `a_pause_at_once_by_hand`. At 10 us, when the host is paused and has 31 to 39 to send, its link fails
    // for 2 us. Both ends forget the pause; a resume at 25 us would meet a host that has sent all. Packets 31 to 39
    // arrive from 13,080 ns on. Packet 15 begins to leave then, so 16 are in the queue, which is too many: the frame takes
    // 5.12 ns and 1 us. Packet 39 begins to leave at 1,080 + 39 · 800 = 32,280 ns and is there 1.8 us later.
    let mut sim = uncontrolled(slow_receiver(), vec![flow(0, 1, 40 * 946, Time::ZERO)], at_once());
    for (time, what) in [(us(10), LinkChange::Down), (us(12), LinkChange::Up)] {
        sim.network.changes.push(Change { time, link: 0, what });
    }
    let (outcome, seen) = see(&sim);
    let expected =
        [(ps(2_405_120), 0, true), (us(10), 0, false), (ps(14_085_120), 0, true), (ps(33_285_120), 0, false)];
    assert_eq!(pauses(&seen, 0, 0), expected);
    assert_eq!((seen.flows[0].delivered, seen.flows[0].resent), (ns(34_080), 0));
    assert_eq!(outcome.lost, 0);
    run_everywhere(&sim);
    // With maps the pause comes at 3,012.48 ns and packets 38 and 39 are left. The map of 9 us is lost on the way.
    // The map at 14 us carries the next pause, the resume comes when 39 leaves.
    sim.switch.bfc = Some(authors());
    let (_, seen) = see(&sim);
    let expected =
        [(ps(3_012_480), 0, true), (us(10), 0, false), (ps(15_012_480), 0, true), (ps(33_292_480), 0, false)];
    assert_eq!(pauses(&seen, 0, 0), expected);
    assert_eq!(seen.flows[0].delivered, ns(34_080));
    run_everywhere(&sim);
}

#[test]
fn what_waits_for_a_link_that_failed_holds_nothing_paused() {
    // Two leaves, two spines; from the spines to host 1's leaf there are 10 Gbps, so that the spine on the path pauses
    // the first leaf and this one host 0. At 20 us the spine's link fails for good.
    let mut network = Network::with_hosts(2);
    let leaves = ["l0", "l1"].map(|name| network.add_switch(name));
    let spines = ["s0", "s1"].map(|name| network.add_switch(name));
    for (host, leaf) in (0..).zip(leaves) {
        network.add_link(host, leaf, gbps(100), us(1));
    }
    for spine in spines {
        network.add_link(leaves[0], spine, gbps(100), us(1));
        network.add_link(leaves[1], spine, gbps(10), us(1));
    }
    for bfc in [at_once(), authors()] {
        let mut sim = uncontrolled(network.clone(), vec![flow(0, 1, 400 * 946, Time::ZERO)], bfc);
        sim.transport.rto = us(500);
        let paused_at = |sim: &Simulation| {
            let (_, seen) = see(sim);
            let ports = [1, 2].map(|port| pauses(&seen, leaves[0], port));
            ports.into_iter().position(|pauses| !pauses.is_empty()).unwrap()
        };
        let spine = paused_at(&sim);
        let link = 3 + 2 * spine as u32;
        sim.network.changes = vec![Change { time: us(20), link, what: LinkChange::Down }];
        let (outcome, seen) = see(&sim);
        // Packets wait at the spine for ever; the others take the other spine, and are sent again after the gap.
        assert!(outcome.lost < 5 && seen.flows[0].resent > 0, "{} lost, {:?}", outcome.lost, seen.flows[0]);
        let at_leaf = pauses(&seen, leaves[0], 1 + spine as u16);
        // The frame of 64 B or 156 B leaves at once and arrives 1 us later.
        let frame = if bfc.signal == Signal::AtOnce { 5_120 } else { 12_480 };
        assert_eq!(
            at_leaf.last().map(|(time, _, paused)| (*time, *paused)),
            Some((ps(21_000_000 + frame), false))
        );
        run_everywhere(&sim);
        // If switches notice it 30 us later, what the spine sends until then is lost.
        sim.network.detection.switches = us(30);
        let (outcome, seen) = see(&sim);
        assert!(outcome.lost > 30, "{} lost", outcome.lost);
        let at_leaf = pauses(&seen, leaves[0], 1 + spine as u16);
        assert!(at_leaf.last().is_some_and(|(time, _, paused)| *time <= us(52) && !paused), "{at_leaf:?}");
        run_everywhere(&sim);
    }
}

#[test]
fn a_map_by_hand() {
    // The same with maps of 156 B (12.48 ns) at whole microseconds: the first at 2000 ns arrives at 3012.48, as
    // packet 37 is being sent, which begins to leave the switch at 30 680. The map that resumes is sent then, and
    // packets 38 and 39 arrive at the switch at 32 772.48 and 32 852.48. Until then there are 29 regular maps, at
    // 2 to 30 us; nothing is paused afterwards and none is sent.
    let mut sim = uncontrolled(slow_receiver(), vec![flow(0, 1, 40 * 946, Time::ZERO)], authors());
    sim.probes.captures = vec![(2, 0)];
    let (_, seen) = see(&sim);
    assert_eq!(pauses(&seen, 0, 0), [(ps(3_012_480), 0, true), (ps(31_692_480), 0, false)]);
    assert_eq!(seen.flows[0].delivered, ps(32_772_480 + 2 * 800_000 + 1_000_000));
    let maps = seen.packets.iter().filter(|packet| packet.kind == PacketKind::PauseMap);
    let maps: Vec<_> = maps.map(|packet| (packet.time, packet.size)).collect();
    // An acknowledgement of 64 B never is in the way: they pass at 3931.2 + 800 k ns.
    let regular = (2..=30).map(|i| (us(i), Bytes::new(156)));
    assert_eq!(maps, regular.chain([(ns(30_680), Bytes::new(156))]).collect::<Vec<_>>());
    run_everywhere(&sim);
    // Every 3 us: at 3 us the first, which arrives when all packets have been sent (the last at 3120 to 3200 ns).
    sim.switch.bfc = Some(Bfc { interval: Some(us(3)), ..authors() });
    let (_, seen) = see(&sim);
    assert_eq!(pauses(&seen, 0, 0)[0], (ps(4_012_480), 0, true));
    assert_eq!(seen.flows[0].delivered, ns(1_080 + 40 * 800 + 1_000));
}

#[test]
fn a_flow_with_one_packet_pauses_nobody() {
    // Links of 10 ns: the threshold is 1.5 · 20 ns · 100 Gbps = 375 B, less than one packet. Packets of one flow
    // 100 ns apart never meet; with the rule off each pauses and resumes.
    let mut sim = uncontrolled(star(2, gbps(100), ns(10)), vec![flow(0, 1, 10 * 946, Time::ZERO)], at_once());
    sim.algorithms = vec![paced(gbps(80)).into()];
    assert_eq!(see(&sim).1.pauses, []);
    sim.switch.bfc = Some(Bfc { single_packet: false, ..at_once() });
    assert_eq!(see(&sim).1.pauses.len(), 20);
    run_everywhere(&sim);
}

/// Two switches; hosts 0 and 1 at the first one, 2 and 3 at the second, which is linked to host 3 at 10 Gbps.
fn two_switches() -> Network {
    let mut network = Network::with_hosts(4);
    let [a, b] = ["s0", "s1"].map(|name| network.add_switch(name));
    network.add_link(0, a, gbps(100), us(1));
    network.add_link(1, a, gbps(100), us(1));
    network.add_link(2, b, gbps(100), us(1));
    network.add_link(3, b, gbps(10), us(1));
    network.add_link(a, b, gbps(100), us(1));
    network
}

#[test]
fn a_paused_flow_does_not_hold_up_another_as_it_does_with_pfc() {
    // Host 0 sends to the slow host 3, host 1 to host 2 by the same link between the switches.
    let flows = vec![flow(0, 3, 946_000, Time::ZERO), flow(1, 2, 946_000, us(20))];
    for bfc in [authors(), at_once()] {
        let sim = uncontrolled(two_switches(), flows.clone(), bfc);
        let (outcome, seen) = see(&sim);
        assert_eq!(outcome.dropped, 0);
        let victim = seen.flows.iter().find(|record| record.start == us(20)).unwrap();
        // In an equal share of the link it would take twice the ideal time.
        let took = victim.finish - victim.start;
        assert!(took < victim.ideal.times_ratio(3, 2), "{took} of {}", victim.ideal);
        // One queue of the link between the switches is paused: the other flow has another.
        let between = pauses(&seen, 4, 2);
        assert!(between.len() > 10);
        assert_eq!(between.iter().map(|(_, queue, _)| queue).collect::<BTreeSet<_>>().len(), 1);
        run_everywhere(&sim);
    }
    let mut sim = uncontrolled(two_switches(), flows, authors());
    sim.switch = Switch {
        buffer: lossless_switch().buffer,
        pfc: Some(Pfc { xoff: Some(Bytes::new(37_500)), xon_offset: Bytes::new(2_000), ..Pfc::default() }),
        ..Switch::default()
    };
    let (_, seen) = see(&sim);
    let victim = seen.flows.iter().find(|record| record.start == us(20)).unwrap();
    assert!(victim.finish - victim.start > victim.ideal.times(4), "{victim:?}");
}

#[test]
fn a_host_holds_back_the_paused_flow_only() {
    // Both flows are of host 0; that to the slow host 3 started first and has number 0.
    let flows = vec![flow(0, 3, 946_000, Time::ZERO), flow(0, 2, 946_000, us(20))];
    for bfc in [authors(), at_once()] {
        let (_, seen) = see(&uncontrolled(two_switches(), flows.clone(), bfc));
        let second = seen.flows.iter().find(|record| record.start == us(20)).unwrap();
        let took = second.finish - second.start;
        assert!(took < second.ideal.times_ratio(3, 2), "{took} of {}", second.ideal);
        // How long each was paused while both were under way. The second is too when packets of the first that have
        // been held in the switch go on and take half of the link between the switches.
        let mut times = [Time::ZERO; 2];
        for number in [0, 1] {
            let mut since = None;
            for (time, _, paused) in pauses(&seen, 0, 0).into_iter().filter(|pause| pause.1 == number) {
                let time = time.max(second.start).min(second.finish);
                match (paused, since) {
                    (true, _) => since = Some(time),
                    (false, Some(since)) => {
                        let before = times[usize::from(number)];
                        times[usize::from(number)] = before + (time - since);
                    }
                    (false, None) => panic!("{number} is resumed at {time} and was not paused"),
                }
            }
        }
        assert!(times[0] > took.times_ratio(7, 10) && times[1].times(5) < times[0], "{times:?} of {took}");
    }
}

/// Returns the queues that the data packets of each flow had at a captured port.
fn queues_of_flows(seen: &Kept) -> BTreeMap<u32, BTreeSet<u16>> {
    let mut queues: BTreeMap<u32, BTreeSet<u16>> = BTreeMap::new();
    for packet in seen.packets.iter().filter(|packet| packet.kind == PacketKind::Data) {
        queues.entry(packet.flow.unwrap()).or_default().insert(packet.queue);
    }
    queues
}

/// A flow from each of `senders` hosts to the last one.
fn to_one(senders: u32, size: u64) -> Vec<Flow> {
    (0..senders).map(|host| flow(host, senders, size, Time::ZERO)).collect()
}

#[test]
fn one_queue_of_32_is_shared_by_33_flows() {
    // The first packets arrive at one instant; one leaves at once, 32 find an empty queue each, and the one whose
    // queue was empty again shares it. Nobody's queue changes while it holds packets.
    let mut sim = uncontrolled(star(34, gbps(100), us(1)), to_one(33, 40 * 946), at_once());
    sim.probes.captures = vec![(34, 33)];
    let (_, seen) = see(&sim);
    let queues = queues_of_flows(&seen);
    assert_eq!(queues.len(), 33);
    assert!(queues.values().all(|of_flow| of_flow.len() == 1), "{queues:?}");
    let used: BTreeSet<_> = queues.values().flatten().copied().collect();
    assert_eq!(used, (1..=32).collect());
    // Control packets have queue 0: host 33 sends nothing, so its switch's port to host 0 has the replies.
    sim.probes.captures = vec![(34, 0)];
    let replies = see(&sim).1.packets;
    let acks = replies.iter().filter(|packet| packet.kind == PacketKind::Ack);
    assert_eq!(acks.map(|packet| packet.queue).collect::<BTreeSet<_>>(), BTreeSet::from([0]));
}

#[test]
fn flows_that_hash_alike_share_a_queue() {
    // Four entries for four queues: 40 flows have at most four different queues at any time. No entry expires.
    let bfc = Bfc { queues: 4, entries: 1, sticky: 1_000_000, ..at_once() };
    let mut sim = uncontrolled(star(41, gbps(100), us(1)), to_one(40, 10 * 946), bfc);
    sim.probes.captures = vec![(41, 40)];
    let queues = queues_of_flows(&see(&sim).1);
    assert!(queues.values().all(|of_flow| of_flow.len() == 1), "{queues:?}");
    let entry = |flow: &Flow| {
        let hash = (mix(flow.key) >> 32) & 0xffff_0000;
        ((draw(mix(41 ^ 0x6266_635f_7175_6575), hash) >> 32) * 4) >> 32
    };
    let mut by_entry: BTreeMap<u64, BTreeSet<u16>> = BTreeMap::new();
    for (index, flow) in sim.flows.iter().enumerate() {
        by_entry.entry(entry(flow)).or_default().extend(&queues[&(index as u32)]);
    }
    assert_eq!(by_entry.len(), 4);
    assert!(by_entry.values().all(|queues| queues.len() == 1), "{by_entry:?}");
}

#[test]
fn a_flow_keeps_its_queue_for_three_hop_rtts() {
    // Packets of 750 B at 1 Gbps are 6 us apart: 3 · HRTT, no more. At 0.999 Gbps they are 6.006 us apart.
    let queues = |rate| {
        let mut sim =
            uncontrolled(star(2, gbps(100), us(1)), vec![flow(0, 1, 40 * 696, Time::ZERO)], at_once());
        sim.transport.payload = Bytes::new(696);
        sim.algorithms = vec![paced(rate).into()];
        sim.probes.captures = vec![(2, 1)];
        let packets = see(&sim).1.packets;
        let data = packets.into_iter().filter(|packet| packet.kind == PacketKind::Data);
        (sim.flows[0].key, data.map(|packet| packet.queue).collect::<Vec<_>>())
    };
    // All queues are empty: the random one at which the search starts.
    let first = |key: u64, packet: u64, sent: u64| {
        let hash = mix(key) >> 32;
        let stream = mix(1 ^ mix(2 ^ 0x6266_635f_7175_6575));
        let draw = draw(stream ^ hash, (packet * 696) ^ mix(sent)) >> 32;
        1 + ((draw * 32) >> 32) as u16
    };
    let (key, kept) = queues(gbps(1));
    assert_eq!(kept, [first(key, 0, 0); 40]);
    let rate = Rate::from_mbps(999);
    let (key, chosen) = queues(rate);
    let gap = rate.time_for(Bytes::new(750)).ps();
    assert_eq!(chosen, (0..40).map(|i| first(key, i, i * gap)).collect::<Vec<_>>());
    assert!(chosen.iter().collect::<BTreeSet<_>>().len() > 16);
}

#[test]
fn an_incast_drops_nothing_and_fills_no_more_than_pauses_take() {
    for (bfc, late) in [(authors(), us(1)), (at_once(), Time::ZERO)] {
        let sim = uncontrolled(star(65, gbps(100), us(1)), to_one(64, 300 * 946), bfc);
        let (outcome, seen) = see(&sim);
        assert_eq!(outcome.dropped, 0);
        // All send at line rate until the pause is there. The third packet of a flow at the latest is above the
        // threshold of 37 500 B / 32 (or the first one that finds another flow's packets), 240 ns after the first
        // began to arrive; then the wait for a map, its 12.48 ns or a frame's 5.12 ns behind an acknowledgement,
        // 2 us of delay, and one packet that is being sent.
        let span = ns(240) + late + ns(30) + us(2);
        let most = 64 * (gbps(100).bytes_in(span).get() + 1000);
        let peak = outcome.ports.iter().find(|p| (p.node, p.port) == (65, 64)).unwrap().peak_queue;
        assert!(peak.get() <= most, "{peak} of {most}");
        let last = seen.flows.iter().map(|record| record.delivered).max().unwrap();
        // 64 · 300 packets of 80 ns, and 2.08 us for the first.
        let least = ns(64 * 300 * 80 + 2_080);
        assert!(last >= least && last < least + us(40), "{last} of {least}");
        run_everywhere(&sim);
    }
}

#[test]
fn one_queue_holds_the_threshold_and_what_comes_within_a_round_trip() {
    // 100 Gbps into 50 Gbps over 1 us: 18,750 B, and a surplus of 50 Gbps for the 2.005 us until the pause is there:
    // 12,532 B. A packet more for each of three: the one above the threshold, the one being sent, the one that arrives.
    let mut network = Network::with_hosts(2);
    let switch = network.add_switch("s0");
    network.add_link(0, switch, gbps(100), us(1));
    network.add_link(1, switch, gbps(50), us(1));
    let (outcome, _) = see(&uncontrolled(network, vec![flow(0, 1, 2_000_000, Time::ZERO)], at_once()));
    let peak = outcome.ports.iter().find(|p| (p.node, p.port) == (2, 1)).unwrap().peak_queue.get();
    assert!((18_750 + 12_532..18_750 + 12_532 + 3_000).contains(&peak), "{peak}");
    // Of several queues each one overshoots by itself: senders know nothing of each other, and whoever is resumed
    // sends at the rate of its own link, not at its share of the port.
    let sim = uncontrolled(star(33, gbps(100), us(1)), to_one(32, 300 * 946), at_once());
    let (outcome, _) = see(&sim);
    let peak = outcome.ports.iter().find(|p| (p.node, p.port) == (33, 32)).unwrap().peak_queue.get();
    let shares = 37_500 + gbps(100).bytes_in(us(2)).get();
    assert!(peak > 10 * shares && peak < 37_500 + 32 * (25_000 + 3_000), "{peak}, {shares}");
}

#[test]
fn everything_is_resumed() {
    // A flow elsewhere lasts longer than the frames of the others.
    for bfc in [authors(), at_once(), Bfc { queues: 2, ..authors() }] {
        let mut network = fat_tree(4, gbps(100), us(1));
        network.links[3].rate = gbps(10);
        let mut flows: Vec<_> = (1..14).map(|i| flow(i, 0, 100_000, ns(100 * u64::from(i)))).collect();
        flows.extend((0..3).map(|i| flow(i + 4, 3, 50_000, Time::ZERO)));
        let mut sim = uncontrolled(network, flows, bfc);
        let (outcome, _) = see(&sim);
        sim.flows.push(flow(14, 15, 1000, outcome.now + us(100)));
        let (_, seen) = see(&sim);
        let mut paused = BTreeMap::new();
        for record in &seen.pauses {
            let before = paused.insert((record.node, record.port, record.queue), record.paused);
            assert_eq!(before.unwrap_or(false), !record.paused, "{record:?}");
        }
        assert!(paused.len() > 10, "{}", paused.len());
        assert!(paused.values().all(|is_paused| !is_paused), "{paused:?}");
    }
}

#[test]
fn a_sender_algorithm_runs_above_it() {
    let flows: Vec<_> = (0..40).map(|i| flow(i % 15, 15, 60_000, ns(200 * u64::from(i)))).collect();
    let pauses = |name: &str, bfc: Option<Bfc>| {
        let mut sim = simulation(fat_tree(4, gbps(100), us(1)), vec![algorithm(name, &[])], flows.clone());
        if let Some(bfc) = bfc {
            sim.switch = bfc_switch(bfc);
            sim.switch.ecn = lossless_switch().ecn;
        }
        let (outcome, _) = run_everywhere(&sim);
        assert_eq!((outcome.end, outcome.dropped), (End::Finished, 0), "{name}");
        outcome.ports.iter().map(|port| port.pauses_sent).sum::<u64>()
    };
    for name in ["swift", "hpcc", "dctcp"] {
        let alone = pauses("constant", Some(at_once()));
        let under = pauses(name, Some(at_once()));
        assert!(under > 0 && alone > 0, "{name}: {under} pauses of {alone}");
        assert_eq!(pauses(name, None), 0);
    }
}

#[test]
fn a_full_buffer_drops_and_the_run_goes_on() {
    let mut sim = uncontrolled(star(9, gbps(100), us(1)), to_one(8, 200 * 946), authors());
    sim.switch.buffer = Buffer::PerPort(Bytes::new(60_000));
    sim.transport.rto = us(200);
    let (outcome, _) = run_everywhere(&sim);
    assert_eq!(outcome.end, End::Finished);
    assert!(outcome.dropped > 0);
}

#[test]
fn deficit_round_robin_serves_the_queues_too() {
    // 1000 B are less than the quantum, 1518 B: every second turn of a queue sends two packets. Five flows from
    // the start to the end share the link: nobody is done before all are in their last hundred packets.
    let mut sim = uncontrolled(star(6, gbps(100), us(1)), to_one(5, 500 * 946), authors());
    sim.switch.scheduler = Scheduler::Drr;
    let (outcome, kept) = run_everywhere(&sim);
    assert_eq!((outcome.end, outcome.dropped), (End::Finished, 0));
    let first = kept.flows.iter().map(|record| record.delivered).min().unwrap();
    assert!(first > ns(5 * 400 * 80), "{first}");
}

#[test]
fn a_deadlock_is_found_and_its_cycle_named() {
    // One queue at each port: as with PFC, each flow takes two links of the ring, and all wait for each other.
    let flows = (0..5).map(|i| flow(i, (i + 2) % 5, 20_000_000, Time::ZERO)).collect();
    let mut sim = uncontrolled(ring(5), flows, Bfc { queues: 1, ..authors() });
    sim.transport.rto = Time::from_s(1);
    sim.stall_after = Time::from_ms(5);
    let (outcome, _) = run_everywhere(&sim);
    let End::Stalled(stall) = &outcome.end else { panic!("{:?}", outcome.end) };
    let mut nodes: Vec<_> = outcome.deadlock.iter().map(|(node, _)| *node).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, [5, 6, 7, 8, 9]);
    assert!(stall.flows[0].1.contains("paused"), "{stall:?}");
    // With 32 the flows do not meet in a queue, and all finish.
    sim.switch.bfc = Some(authors());
    assert_eq!(run(&sim).0.end, End::Finished);
}

#[test]
fn descriptions_that_contradict_themselves_do_not_run() {
    let error = |change: &dyn Fn(&mut Simulation)| {
        let mut sim = uncontrolled(star(2, gbps(100), us(1)), vec![flow(0, 1, 946, us(0))], authors());
        change(&mut sim);
        incast_sim::run(&sim, &mut Kept::default()).unwrap_err().to_string()
    };
    let bfc = |bfc: Bfc| error(&|sim| sim.switch.bfc = Some(bfc));
    assert!(error(&|sim| sim.switch.pfc = lossless_switch().pfc).contains("either PFC or BFC"));
    assert!(error(&|sim| sim.switch.scheduler = Scheduler::StrictPriority).contains("round robin"));
    assert!(error(&|sim| sim.switch.queues = 2).contains("no other queues"));
    assert!(bfc(Bfc { queues: 128, ..authors() }).contains("1 to 127 queues"));
    assert!(bfc(Bfc { queues: 0, ..authors() }).contains("1 to 127 queues"));
    assert!(bfc(Bfc { entries: 0, ..authors() }).contains("no entries"));
    assert!(bfc(Bfc { interval: Some(Time::ZERO), ..authors() }).contains("above zero"));
    // 156 B take 12.48 ns.
    assert!(bfc(Bfc { interval: Some(ns(24)), ..authors() }).contains("more than half"));
    let mut sim = simulation(Network::with_hosts(2), vec![window(1)], vec![flow(0, 1, 946, us(0))]);
    let switch = sim.network.add_node("s0", NodeKind::BackpressureSwitch);
    sim.network.add_link(0, switch, gbps(100), us(1));
    sim.network.add_link(1, switch, gbps(100), us(1));
    let error = incast_sim::run(&sim, &mut Kept::default()).unwrap_err().to_string();
    assert!(error.contains("no settings"), "{error}");
}

#[test]
fn oscars_threshold_pauses_earlier() {
    // Factor 1: 2500 B at 10 Gbps, so packet 3 is the first above it, at 1320 ns.
    let bfc = Bfc { factor: Fixed::ONE, ..at_once() };
    let sim = uncontrolled(slow_receiver(), vec![flow(0, 1, 40 * 946, Time::ZERO)], bfc);
    assert_eq!(pauses(&see(&sim).1, 0, 0)[0], (ps(1_320_000 + 1_005_120), 0, true));
}
