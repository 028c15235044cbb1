//! Links that change, fail and return: cases worked by hand to the picosecond, and the same bits on both
//! engines and any number of threads.
//!
//! A full data packet has 1054 B: 84,320 ps at 100 Gbps; an acknowledgement 64 B: 5,120 ps.

mod common;

use common::*;
use incast_sim::describe::network::{Change, LinkChange};
use incast_sim::describe::switch::{Ecn, MarkingPoint};
use incast_sim::random::{draw, mix};
use incast_sim::record::{End, Outcome};
use incast_sim::{Network, Simulation};
use incast_units::{Bytes, Time};

fn ps(time: u64) -> Time {
    Time::from_ps(time)
}

/// Two hosts at a switch; host 0 sends two full packets to host 1, whose link changes.
fn two_packets(changes: &[(u64, LinkChange)]) -> Simulation {
    let mut network = star(2, gbps(100), us(1));
    let changes = changes.iter();
    network.changes = changes.map(|&(time, what)| Change { time: ps(time), link: 1, what }).collect();
    simulation(network, vec![window(u64::MAX)], vec![flow(0, 1, 2000, Time::ZERO)])
}

#[test]
fn a_delay_that_shrinks_lets_no_packet_overtake_another() {
    // The first packet leaves the switch from 1_084_320 to 1_168_640 and arrives 1 us later. The second
    // leaves it until 1_252_960 and would arrive 10 ns later: it arrives with the first.
    let sim = two_packets(&[(1_100_000, LinkChange::Delay(Time::from_ns(10)))]);
    let (outcome, kept) = run_everywhere(&sim);
    assert_eq!(kept.flows[0].delivered, ps(2_168_640));
    // Both are acknowledged one behind the other: the second acknowledgement leaves host 1 until
    // 2_178_880, is at the switch 10 ns later, leaves it from 2_188_880, when the first one has left.
    assert_eq!(kept.flows[0].finish, ps(2_188_880 + 5_120 + 1_000_000));
    assert_eq!((outcome.lost, kept.flows[0].resent), (0, 0));
    // The flow's ideal time is that of the network in which it starts: two packets over two links, and
    // an acknowledgement.
    assert_eq!(kept.flows[0].ideal, ps(3 * 84_320 + 2_000_000 + 2 * 5_120 + 2_000_000));
}

#[test]
fn a_flow_is_told_of_the_links_as_they_are_when_it_starts() {
    let mut sim = two_packets(&[(1_000_000, LinkChange::Delay(us(3)))]);
    sim.flows[0].start = us(1);
    let (_, kept) = run_everywhere(&sim);
    assert_eq!(kept.flows[0].base_rtt, ps(84_320 * 2 + 5_120 * 2 + 8_000_000));
    assert_eq!(kept.flows[0].finish - kept.flows[0].start, kept.flows[0].ideal);
}

#[test]
fn a_rate_holds_for_packets_that_begin_to_leave_from_then_on() {
    // The second packet leaves the switch at 50 Gbps: from 1_168_640, for 168_640 ps.
    let sim = two_packets(&[(1_100_000, LinkChange::Rate(gbps(50)))]);
    let (_, kept) = run_everywhere(&sim);
    assert_eq!(kept.flows[0].delivered, ps(1_168_640 + 168_640 + 1_000_000));
    // Its acknowledgement takes 10_240 ps from host 1 and 5_120 ps from the switch.
    assert_eq!(kept.flows[0].finish, ps(2_337_280 + 10_240 + 1_000_000 + 5_120 + 1_000_000));
    // A change at the very instant at which that packet comes in holds for it already.
    let sim = two_packets(&[(1_168_640, LinkChange::Rate(gbps(50)))]);
    assert_eq!(run_everywhere(&sim).1, kept);
}

#[test]
fn thresholds_of_marks_that_scale_with_the_rate_follow_it() {
    // Thirty packets come in every 84_320 ps and leave at 50 Gbps, every 168_640 ps. When packet n begins to
    // leave, packets 0 to 2 n - 1 are in and n + 1 have left: n - 1 wait, and 29 - n when all are in, from
    // n = 15 on. Twenty packets at 100 Gbps are ten at 50: marked are those that leave more than ten behind,
    // n = 12 to 18.
    let mut sim = two_packets(&[(1, LinkChange::Rate(gbps(50)))]);
    sim.flows[0].size = Bytes::new(30_000);
    let threshold = Bytes::new(20 * 1054);
    let ecn = Ecn {
        kmin: threshold,
        kmax: threshold,
        pmax: incast_cc::Fixed::ONE,
        reference: Some(gbps(100)),
        at: MarkingPoint::Dequeue,
    };
    sim.switch.ecn = Some(ecn);
    assert_eq!(run_everywhere(&sim).1.flows[0].marked, 7);
    // Thresholds without a reference rate hold at every rate: no more than fourteen wait.
    sim.switch.ecn = Some(Ecn { reference: None, ..ecn });
    assert_eq!(run_everywhere(&sim).1.flows[0].marked, 0);
}

#[test]
fn what_is_on_a_link_that_fails_is_lost_and_what_waits_for_it_goes_on_waiting() {
    // The first packet leaves the switch from 1_084_320 on and is lost. The second is there at 1_168_640
    // and waits until the link returns.
    let sim = two_packets(&[(1_100_000, LinkChange::Down), (5_000_000, LinkChange::Up)]);
    let (outcome, kept) = run_everywhere(&sim);
    assert_eq!((outcome.lost, outcome.dropped, outcome.end), (1, 0, End::Finished));
    // At 6_084_320 it arrives and shows the hole; the NACK takes 2 * (5_120 ps + 1 us), and both packets
    // are sent again: the second has left host 0 after 168_640 ps, and takes 84_320 ps + 2 us more.
    let resent = 6_084_320 + 2 * 1_005_120;
    assert_eq!(kept.flows[0].delivered, ps(resent + 168_640 + 84_320 + 2_000_000));
    assert_eq!(kept.flows[0].resent, 2);
    // A link that fails at the instant at which the last bit arrives loses the packet; a picosecond
    // later it does not.
    for (failure, lost) in [(2_168_640, 2), (2_168_641, 1)] {
        let sim = two_packets(&[(failure, LinkChange::Down), (5_000_000, LinkChange::Up)]);
        assert_eq!(run_everywhere(&sim).0.lost, lost, "{failure}");
    }
}

/// Two leaves with a host each, joined by `spines` spines.
fn leaf_spine(spines: u32) -> Network {
    let mut network = Network::with_hosts(2);
    let leaves = [network.add_switch("l0"), network.add_switch("l1")];
    for host in 0..2 {
        network.add_link(host, leaves[host as usize], gbps(100), us(1));
    }
    for i in 0..spines {
        let spine = network.add_switch(format!("s{i}"));
        leaves.iter().for_each(|leaf| network.add_link(*leaf, spine, gbps(100), us(1)));
    }
    network
}

#[test]
fn routes_avoid_a_link_that_has_failed() {
    // 30 packets. Packet k (from 0) begins to leave the first leaf at 1 us + (k + 1) * 84_320 ps and is
    // at the spine 84_320 ps + 1 us later. The uplink fails at 2.3 us: packets 0 and 1 are through
    // (2_168_640, 2_252_960), packets 2 to 14 are on it (the last began at 2_264_800): 13. The others
    // take the other spine.
    let mut sim = simulation(leaf_spine(2), vec![window(u64::MAX)], vec![flow(0, 1, 30_000, Time::ZERO)]);
    let (whole, _) = run_everywhere(&sim);
    let packets = |outcome: &Outcome, port| {
        outcome.ports.iter().find(|p| (p.node, p.port) == (2, port)).map(|p| p.packets)
    };
    // Port 0 leads to the host, 1 and 2 to the spines; acknowledgements do not leave through these.
    let (used, other) = if packets(&whole, 1) == Some(30) { (1, 2) } else { (2, 1) };
    assert_eq!((packets(&whole, used), packets(&whole, other)), (Some(30), Some(0)));
    // Links 0 and 1 are the hosts', then each spine's to both leaves.
    let link = 2 + 2 * (u32::from(used) - 1);
    sim.network.changes = vec![Change { time: ps(2_300_000), link, what: LinkChange::Down }];
    let (outcome, kept) = run_everywhere(&sim);
    assert_eq!((outcome.lost, &outcome.end), (13, &End::Finished));
    assert_eq!(packets(&outcome, used), Some(15));
    assert_eq!(kept.flows[0].bytes, Bytes::new(30_000));
}

#[test]
fn packets_without_a_way_are_lost_until_there_is_one_again() {
    // The same with one spine: packets 15 to 29 find no way at the first leaf.
    let mut sim = simulation(leaf_spine(1), vec![window(u64::MAX)], vec![flow(0, 1, 30_000, Time::ZERO)]);
    sim.network.changes = [(ps(2_300_000), LinkChange::Down), (us(100), LinkChange::Up)]
        .map(|(time, what)| Change { time, link: 2, what })
        .to_vec();
    let (outcome, kept) = run_everywhere(&sim);
    assert_eq!((outcome.lost, outcome.end), (28, End::Finished));
    // Nobody tells the sender: its timer does, after the outage.
    assert_eq!(kept.flows[0].timeouts, 1);
}

#[test]
fn both_engines_agree_on_random_outages() {
    let mut lost = 0;
    for seed in 0..20 {
        let mut network = fat_tree(4, gbps(100), us(1));
        let links = network.links.len() as u64;
        let mut changes: Vec<Change> = (0..30)
            .map(|i| {
                let random = |stream: u64, below: u64| draw(mix(seed) ^ stream, i) % below;
                let what = match random(1, 6) {
                    0 | 1 => LinkChange::Down,
                    2 | 3 => LinkChange::Up,
                    4 => LinkChange::Delay(Time::from_ns(100 + random(2, 3000))),
                    _ => LinkChange::Rate(gbps([25, 40, 100, 400][random(3, 4) as usize])),
                };
                // Links of switches: those of hosts come first.
                let link = 16 + random(4, links - 16) as u32;
                Change { time: ps(random(5, 300_000_000)), link, what }
            })
            .collect();
        changes.sort_by_key(|c| c.time);
        // Everything works in the end.
        changes.extend((16..links as u32).map(|link| Change { time: us(300), link, what: LinkChange::Up }));
        network.changes = changes;
        let flows = (0..40).map(|i| {
            let (source, far) = (draw(seed, i) % 16, 1 + draw(seed + 1, i) % 15);
            let start = ps(draw(seed + 2, i) % 200_000_000);
            flow(source as u32, ((source + far) % 16) as u32, 1 + draw(seed + 3, i) % 300_000, start)
        });
        lost += lost_in_outages(network, flows.collect(), seed);
    }
    assert!(lost > 100, "{lost} packets lost: there was hardly an outage");
}

#[test]
fn timelines_that_contradict_themselves_do_not_run() {
    let refused = |changes: &[(u64, u32, LinkChange)]| {
        let mut sim = two_packets(&[]);
        let changes = changes.iter();
        sim.network.changes =
            changes.map(|&(time, link, what)| Change { time: ps(time), link, what }).collect();
        incast_sim::run(&sim, &mut Kept::default()).unwrap_err().to_string()
    };
    assert_eq!(refused(&[(5, 2, LinkChange::Up)]), "a change names link 2, of 2");
    assert_eq!(
        refused(&[(5, 0, LinkChange::Up), (4, 0, LinkChange::Down)]),
        "changes of links must be sorted by time"
    );
    assert_eq!(
        refused(&[(5, 0, LinkChange::Delay(Time::ZERO))]),
        "every link needs a rate and a delay above zero, at all times"
    );
    let mut sim = two_packets(&[(5, LinkChange::Down)]);
    sim.switch = lossless_switch();
    assert_eq!(
        incast_sim::run(&sim, &mut Kept::default()).unwrap_err().to_string(),
        "links can fail only without PFC, since an outage would lose PFC frames"
    );
}
