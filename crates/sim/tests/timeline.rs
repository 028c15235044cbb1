//! Links that change, fail and return: cases worked by hand to the picosecond, and the same bits on both
//! engines and any number of threads.
//!
//! A full data packet has 1054 B: 84,320 ps at 100 Gbps; an acknowledgement 64 B: 5,120 ps.

mod common;

use common::*;
use incast_sim::describe::network::{Change, LinkChange};
use incast_sim::describe::switch::{Ecn, MarkingPoint, Pfc};
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
fn until_a_failure_is_noticed_packets_are_sent_into_the_dead_link() {
    // As above, and the first leaf notices after 500 ns: packets 15 (2_349_120) to 20 (2_770_720) are lost too, and packet
    // 21 (2_855_040) takes the other spine.
    let mut sim = simulation(leaf_spine(2), vec![window(u64::MAX)], vec![flow(0, 1, 30_000, Time::ZERO)]);
    let packets = |outcome: &Outcome, port| {
        outcome.ports.iter().find(|p| (p.node, p.port) == (2, port)).map_or(0, |p| p.packets)
    };
    let (whole, _) = run_everywhere(&sim);
    let used = if packets(&whole, 1) == 30 { 1 } else { 2 };
    let link = 2 + 2 * (u32::from(used) - 1);
    sim.network.changes = vec![Change { time: ps(2_300_000), link, what: LinkChange::Down }];
    sim.network.detection.switches = Time::from_ns(500);
    let (outcome, _) = run_everywhere(&sim);
    assert_eq!((outcome.lost, packets(&outcome, used), &outcome.end), (19, 21, &End::Finished));
    // The link returns before that: it is never noticed, and no packet takes the other spine. Lost are packets 2 to 16
    // (2_433_440); packet 17 leaves at 2_517_760.
    sim.network.changes.push(Change { time: ps(2_500_000), link, what: LinkChange::Up });
    let (outcome, _) = run_everywhere(&sim);
    assert_eq!((outcome.lost, packets(&outcome, 3 - used)), (15, 0));
}

/// Host 0 sends 1000 packets to host 1 from the beginning; its own link changes, and it notices after so long.
fn own_link(changes: &[(u64, LinkChange)], notices: Time) -> Outcome {
    let mut sim = two_packets(&[]);
    sim.flows[0].size = Bytes::new(1_000_000);
    let changes = changes.iter();
    sim.network.changes = changes.map(|&(time, what)| Change { time: us(time), link: 0, what }).collect();
    sim.network.detection.hosts = notices;
    sim.until = us(60);
    run_everywhere(&sim).0
}

#[test]
fn a_host_sends_into_its_dead_link_until_it_notices() {
    // Packet k begins to leave at k * 84_320 ps and arrives 1_084_320 ps later. The link fails at 20 us: packet 224 arrives
    // at 19_972_000, packet 225 not. The host notices 10 us later, while packet 355 (29_933_600) leaves: packets 225 to
    // 355 are lost, 131. (10 us at 100 Gbps are 118.6 packets, and 12.9 were on the link.)
    let down = [(20, LinkChange::Down)];
    assert_eq!(own_link(&down, us(10)).lost, 131);
    // Without delay packets 225 to 237 (19_983_840), which were on it.
    assert_eq!(own_link(&down, Time::ZERO).lost, 13);
    // It returns at 22 us. Packets that began to leave before are lost: up to 260 (21_923_200).
    let short = [(20, LinkChange::Down), (22, LinkChange::Up)];
    assert_eq!(own_link(&short, us(3)).lost, 36);
    // What is noticed late on return costs time and no packets: from 22 to 23 us nothing leaves. Packets 225 to 249
    // (20_995_680) are lost, that is up to 21 us.
    let late = own_link(&short, us(1));
    assert_eq!(late.lost, 25);
    let sent = |outcome: &Outcome| outcome.ports[0].packets;
    // Of 60 us two were without a packet (24 packets of 84,320 ps are 2.02 us, and packet 249 left until 21_080_000).
    assert!((686..=689).contains(&sent(&late)), "{}", sent(&late));
}

#[test]
fn switches_and_hosts_notice_in_their_own_time() {
    // The link from host 0 fails at 20 us. The switch has 200 acknowledgements for it, more or less, whatever the host
    // notices: it stops to send when it notices itself, and 84,320 ps is the time between two.
    let acknowledgements = |notices: Time| {
        let mut sim = two_packets(&[]);
        sim.flows[0].size = Bytes::new(1_000_000);
        sim.network.changes = vec![Change { time: us(20), link: 0, what: LinkChange::Down }];
        sim.network.detection.switches = notices;
        sim.until = us(30);
        let (outcome, _) = run_everywhere(&sim);
        assert_eq!(outcome.lost, 13);
        outcome.ports.iter().find(|p| (p.node, p.port) == (2, 0)).map_or(0, |p| p.packets)
    };
    // Acknowledgement k is at the switch at (k + 2) * 84_320 + 3_005_120 ps: 199 is there at 19_953_440, and the last one,
    // of packet 224, at 22_061_440.
    assert_eq!(acknowledgements(Time::ZERO), 200);
    // The first at or after 21 us is number 212 (21_049_600).
    assert_eq!(acknowledgements(us(1)), 212);
    assert_eq!(acknowledgements(us(9)), 225);
}

#[test]
fn links_may_fail_under_pfc() {
    // Host 0 sends at 100 Gbps over a switch to host 1 at 10 Gbps, until the switch pauses it. Its link fails 2 us later,
    // when nothing is on it, and returns after 5 us: the switch, from which a packet leaves each 843 ns, holds too many of
    // its packets still.
    // With a byte less of headroom than is proven to suffice, loss would be no violation; outages are the same.
    let headroom = Pfc::headroom_for(gbps(100), us(1), Bytes::new(1054), 1);
    [None, Some(headroom - Bytes::new(1))].into_iter().for_each(outage_under_pfc);
}

fn outage_under_pfc(headroom: Option<Bytes>) {
    let run_with = |changes: Vec<Change>| {
        let mut network = star(2, gbps(100), us(1));
        network.links[1].rate = gbps(10);
        network.changes = changes;
        let mut sim = simulation(network, vec![window(u64::MAX)], vec![flow(0, 1, 300_000, Time::ZERO)]);
        sim.switch = shared(1_000_000);
        sim.switch.pfc = Some(Pfc { xoff: Some(Bytes::new(10_000)), headroom, ..Pfc::default() });
        sim.probes.pauses = true;
        sim.probes.captures = vec![(0, 0)];
        let (outcome, kept) = run_everywhere(&sim);
        assert_eq!((&outcome.end, outcome.dropped), (&End::Finished, 0));
        let pauses: Vec<_> =
            kept.pauses.iter().filter(|p| p.node == 0).map(|p| (p.time.ps(), p.paused)).collect();
        let sent: Vec<u64> = kept.packets.iter().map(|packet| packet.time.ps()).collect();
        (outcome, pauses, sent)
    };
    let (whole, pauses, _) = run_with(Vec::new());
    assert_eq!((whole.lost, pauses[0].1, pauses[1].1), (0, true, false));
    let paused = pauses[0].0;
    let (fails, returns) = (paused + 2_000_000, paused + 7_000_000);
    assert!(returns < pauses[1].0, "it is paused for longer without the outage");
    let down_and_up = [(fails, LinkChange::Down), (returns, LinkChange::Up)];
    let changes = down_and_up.map(|(time, what)| Change { time: ps(time), link: 0, what });
    let (outcome, pauses, sent) = run_with(changes.to_vec());
    // Both ends forget the pause as the link fails. As it returns the switch asks again, with a frame of 64 B that takes
    // 5,120 ps and 1 us.
    let again = returns + 1_005_120;
    assert_eq!(pauses[..3], [(paused, true), (fails, false), (again, true)]);
    // Until then the host sends: a packet each 84,320 ps, 11.9 of them.
    let between = |from: u64, to: u64| sent.iter().filter(|time| (from..to).contains(time)).count();
    assert_eq!((between(paused, returns), between(returns, again)), (0, 12));
    assert_eq!(between(again, again + 1_000_000), 0);
    assert_eq!(outcome.lost, 0);
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
}
