//! Hosts with several ports: which card a flow takes, times worked by hand to the picosecond, and the same
//! bits on both engines and any number of threads.
//!
//! A full data packet has 1054 B: 84,320 ps at 100 Gbps; an acknowledgement 64 B: 5,120 ps.

mod common;

use common::*;
use incast_sim::describe::balancing::{Acknowledgements, Balancing};
use incast_sim::describe::network::{Change, LinkChange};
use incast_sim::describe::switch::{Buffer, Pfc};
use incast_sim::describe::transport::Recovery;
use incast_sim::random::{draw, mix};
use incast_sim::record::{End, Outcome, PauseRecord, Progress};
use incast_sim::{Network, Simulation, Sink};
use incast_units::{Bytes, Time};

fn ps(time: u64) -> Time {
    Time::from_ps(time)
}

/// Two hosts and two rails: links 0 and 1 lead from host 0 to the switches 2 and 3, links 2 and 3 from host 1.
/// The first rail has 100 Gbps and 1 us, the second 50 Gbps and 3 us.
fn rails() -> Network {
    let mut network = Network::with_hosts(2);
    let switches = [network.add_switch("rail0"), network.add_switch("rail1")];
    for host in 0..2 {
        network.add_link(host, switches[0], gbps(100), us(1));
        network.add_link(host, switches[1], gbps(50), us(3));
    }
    network
}

/// Returns the one of two cards that host `node` takes for packets with this hash, as docs/network/routing.md
/// says.
fn card(node: u64, hash: u64) -> usize {
    let mut h = (hash as u32) ^ (mix(node + 1) >> 32) as u32;
    for (shift, factor) in [(16, 0x85eb_ca6b_u32), (13, 0xc2b2_ae35)] {
        h = (h ^ (h >> shift)).wrapping_mul(factor);
    }
    (h ^ (h >> 16)) as usize >> 31
}

/// The cards of a flow from host 0 to host 1 with this key: of its data, and of the acknowledgements.
fn cards(key: u64) -> (usize, usize) {
    (card(0, mix(key) >> 32), card(1, mix(!key) >> 32))
}

/// The first key with these cards.
fn key_for(cards_wanted: (usize, usize)) -> u64 {
    (0..).find(|key| cards(*key) == cards_wanted).unwrap()
}

/// Packets that a port has sent.
fn packets(outcome: &Outcome, node: u32, port: u16) -> u64 {
    outcome.ports.iter().find(|p| (p.node, p.port) == (node, port)).map_or(0, |p| p.packets)
}

#[test]
fn a_flow_takes_one_card_by_its_hash_and_its_acknowledgements_one_of_the_receiver() {
    let forward = [2 * 84_320 + 2_000_000, 2 * 168_640 + 6_000_000];
    let back = [2 * 5_120 + 2_000_000, 2 * 10_240 + 6_000_000];
    for (out, home) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let mut sim = simulation(rails(), vec![window(u64::MAX)], vec![flow(0, 1, 1000, Time::ZERO)]);
        sim.flows[0].key = key_for((out, home));
        let (outcome, kept) = run_everywhere(&sim);
        assert_eq!(outcome.end, End::Finished);
        let record = &kept.flows[0];
        assert_eq!(record.delivered, ps(forward[out]), "{out} {home}");
        assert_eq!(record.finish, ps(forward[out] + back[home]), "{out} {home}");
        assert_eq!((record.base_rtt, record.ideal), (record.finish, record.finish));
        for port in 0..2 {
            assert_eq!(packets(&outcome, 0, port), u64::from(usize::from(port) == out));
            assert_eq!(packets(&outcome, 1, port), u64::from(usize::from(port) == home));
        }
    }
}

#[test]
fn acknowledgements_by_one_path_leave_by_one_card() {
    for (acknowledgements, cards) in [(Acknowledgements::Balanced, 2), (Acknowledgements::OnePath, 1)] {
        let mut one = flow(0, 1, 100_000, Time::ZERO);
        one.balancing = Balancing::Ops;
        let mut sim = simulation(rails(), vec![window(u64::MAX)], vec![one]);
        sim.transport.recovery = Recovery::Selective;
        sim.balancing.acknowledgements = acknowledgements;
        let (outcome, _) = run_everywhere(&sim);
        // Data leaves by the card of its flow whatever the entropy.
        assert_eq!((0..2).filter(|port| packets(&outcome, 0, *port) > 0).count(), 1);
        assert_eq!((0..2).filter(|port| packets(&outcome, 1, *port) > 0).count(), cards);
    }
}

#[test]
fn flows_share_the_cards_evenly_and_each_stays_on_its_own() {
    let flows = (0..2000).map(|key| {
        let mut flow = flow(0, 1, 3000, us(10 * key));
        flow.key = key;
        flow
    });
    let (outcome, _) = run_everywhere(&simulation(rails(), vec![window(u64::MAX)], flows.collect()));
    let first = (0..2000).filter(|key| cards(*key).0 == 0).count() as u64;
    // Three packets each.
    assert_eq!(packets(&outcome, 0, 0), 3 * first);
    assert_eq!(packets(&outcome, 0, 1), 3 * (2000 - first));
    // Binomial with n = 2000, p = 1/2: mean 1000, standard deviation 22.4; five of them.
    assert!((889..=1111).contains(&first), "{first}");
}

#[test]
fn flows_on_different_cards_do_not_meet() {
    let mut sim = simulation(rails(), vec![window(u64::MAX)], vec![flow(0, 1, 300_000, Time::ZERO); 2]);
    sim.flows[0].key = key_for((0, 0));
    sim.flows[1].key = key_for((1, 1));
    let (_, kept) = run_everywhere(&sim);
    assert!(kept.flows.iter().all(|flow| flow.finish == flow.ideal), "{:?}", kept.flows);
    // On the same card each gets half, and the last packet of both leaves 600 packets after the start.
    sim.flows[1].key = (sim.flows[0].key + 1..).find(|key| cards(*key) == (0, 0)).unwrap();
    let (_, kept) = run_everywhere(&sim);
    let last = kept.flows.iter().map(|flow| flow.delivered).max();
    assert_eq!(last, Some(ps(601 * 84_320 + 2_000_000)));
}

#[test]
fn two_links_to_the_same_switch_are_two_cards() {
    let mut network = Network::with_hosts(2);
    let switch = network.add_switch("s0");
    for host in [0, 0, 1, 1] {
        network.add_link(host, switch, gbps(100), us(1));
    }
    let flows = (0..400).map(|key| {
        let mut flow = flow(0, 1, 1000, us(10 * key));
        flow.key = key;
        flow
    });
    let (outcome, _) = run_everywhere(&simulation(network, vec![window(u64::MAX)], flows.collect()));
    let first = (0..400).filter(|key| cards(*key).0 == 0).count() as u64;
    assert_eq!((packets(&outcome, 0, 0), packets(&outcome, 0, 1)), (first, 400 - first));
    // The switch chooses among its ports to host 1, which are ports 2 and 3.
    let to_host_1 = [packets(&outcome, 2, 2), packets(&outcome, 2, 3)];
    assert_eq!(to_host_1[0] + to_host_1[1], 400);
    // Binomial with n = 400, p = 1/2: mean 200, standard deviation 10; five of them.
    assert!(to_host_1.iter().all(|n| (150..=250).contains(n)), "{to_host_1:?}");
}

/// Hosts 0 and 1 at two leaves each, hosts 2 to 4 at one each, a spine over the three leaves:
/// h0 at l0 and l1, h1 at l1 and l2, h2 at l0, h3 at l1, h4 at l2.
fn leaves() -> Network {
    let mut network = Network::with_hosts(5);
    let leaves = ["l0", "l1", "l2"].map(|name| network.add_switch(name));
    let spine = network.add_switch("spine");
    for (host, leaf) in [(0, 0), (0, 1), (1, 1), (1, 2), (2, 0), (3, 1), (4, 2)] {
        network.add_link(host, leaves[leaf], gbps(100), us(1));
    }
    leaves.iter().for_each(|leaf| network.add_link(*leaf, spine, gbps(100), us(1)));
    network
}

#[test]
fn only_the_shortest_ways_count() {
    // Twenty flows for each pair: the card that all packets leave by, or none where the hash decides, which is
    // where both are as far from the destination: over the spine.
    let cases = [
        // h0 and h1 both hang on l1; so does h3.
        (0, 1, Some(1)),
        (0, 3, Some(1)),
        (1, 0, Some(0)),
        (0, 4, None),
        (4, 1, Some(0)),
    ];
    for (source, destination, only) in cases {
        let flows = (0..20).map(|key| {
            let mut flow = flow(source, destination, 1000, us(20 * key));
            flow.key = key;
            flow
        });
        let (outcome, kept) = run_everywhere(&simulation(leaves(), vec![window(u64::MAX)], flows.collect()));
        let sent = [0, 1].map(|port| packets(&outcome, source, port));
        let by_hash = (0..20).filter(|key| card(u64::from(source), mix(*key) >> 32) == 0).count() as u64;
        let by_card = only.map_or([by_hash, 20 - by_hash], |card| if card == 0 { [20, 0] } else { [0, 20] });
        assert_eq!(sent, by_card, "{source} to {destination}");
        let spine: u64 = (0..3).map(|port| packets(&outcome, 8, port)).sum();
        assert_eq!(spine > 0, only.is_none(), "{source} to {destination}");
        assert!(kept.flows.iter().all(|flow| flow.finish - flow.start == flow.ideal));
    }
}

/// Keeps the records of pauses and the finish times.
#[derive(Default)]
struct Pauses(Vec<PauseRecord>, Vec<(u32, Time, Time)>);

impl Sink for Pauses {
    fn pauses(&mut self, records: &[PauseRecord]) {
        self.0.extend_from_slice(records);
    }
    fn flows(&mut self, records: &[incast_sim::record::FlowRecord]) {
        self.1.extend(records.iter().map(|r| (r.flow, r.finish, r.ideal)));
    }
    fn progress(&mut self, _: &Progress) -> core::ops::ControlFlow<()> {
        core::ops::ControlFlow::Continue(())
    }
}

#[test]
fn a_pause_holds_one_card_only() {
    // h0 and h2 send to a host at l0, which overloads the port there: l0 pauses h0's first card. Its flow to
    // h3 leaves by the other and is not held up.
    let mut network = Network::with_hosts(4);
    let [l0, l1] = ["l0", "l1"].map(|name| network.add_switch(name));
    for (host, leaf) in [(0, l0), (0, l1), (1, l0), (2, l0), (3, l1)] {
        network.add_link(host, leaf, gbps(100), us(1));
    }
    network.add_link(l0, l1, gbps(100), us(1));
    let flows = vec![
        flow(0, 1, 400_000, Time::ZERO),
        flow(2, 1, 400_000, Time::ZERO),
        flow(0, 3, 400_000, Time::ZERO),
    ];
    let mut sim = simulation(network, vec![window(u64::MAX)], flows);
    let to_h3 = sim.flows.iter().position(|flow| flow.destination == 3).unwrap() as u32;
    sim.switch.buffer = Buffer::Unlimited;
    let pfc = Pfc { xoff: Some(Bytes::new(20_000)), xon_offset: Bytes::new(3_000), ..Pfc::default() };
    sim.switch.pfc = Some(pfc);
    sim.probes.pauses = true;
    let mut seen = Pauses::default();
    let outcome = incast_sim::run(&sim, &mut seen).unwrap();
    assert_eq!((outcome.end, outcome.violations), (End::Finished, Vec::new()));
    let of_host = |port| seen.0.iter().filter(|p| (p.node, p.port) == (0, port) && p.paused).count();
    assert!(of_host(0) > 0);
    assert_eq!(of_host(1), 0);
    let (_, finish, ideal) = seen.1.iter().copied().find(|record| record.0 == to_h3).unwrap();
    assert_eq!(finish, ideal);
}

/// Thirty packets over equal rails of 100 Gbps and 1 us, by the card that is given, and what changes.
fn thirty_packets(card: usize, changes: &[(u64, u32, LinkChange)]) -> Simulation {
    let mut network = rails();
    for link in &mut network.links {
        (link.rate, link.delay) = (gbps(100), us(1));
    }
    let changes = changes.iter();
    network.changes = changes.map(|&(time, link, what)| Change { time: ps(time), link, what }).collect();
    let mut sim = simulation(network, vec![window(u64::MAX)], vec![flow(0, 1, 30_000, Time::ZERO)]);
    sim.flows[0].key = key_for((card, card));
    sim
}

#[test]
fn a_flow_leaves_by_another_card_when_the_link_of_its_own_fails() {
    for card in [0, 1] {
        // At 1 us packets 0 to 11 have begun to leave, the last at 927_520; none has arrived, for that takes
        // 1_084_320. All are lost. Packet 12 leaves by the other card when its turn at the flow's rate comes,
        // 12 * 84_320 after the start; it is at host 1 2 * 84_320 + 2_000_000 later and shows the hole; the
        // NACK, by the other card too, takes 2 * (5_120 + 1_000_000). All thirty are sent again then.
        let sim = thirty_packets(card, &[(1_000_000, card as u32, LinkChange::Down)]);
        let (outcome, kept) = run_everywhere(&sim);
        let again = 12 * 84_320 + 2 * 84_320 + 2_000_000 + 2 * 1_005_120;
        assert_eq!(kept.flows[0].delivered, ps(again + 31 * 84_320 + 2_000_000));
        assert_eq!((outcome.lost, kept.flows[0].timeouts, &outcome.end), (12, 0, &End::Finished));
        assert_eq!(packets(&outcome, 0, card as u16), 12);
        assert_eq!(packets(&outcome, 0, 1 - card as u16), 18 + 30);
        // When the link is back in time for the rest, the flow returns to its card: packets 12 to 17 have
        // begun to leave by the other one, the last at 17 * 84_320 = 1_433_440.
        let mut sim = sim;
        sim.network.changes.push(Change { time: ps(1_500_000), link: card as u32, what: LinkChange::Up });
        let (outcome, _) = run_everywhere(&sim);
        assert_eq!(packets(&outcome, 0, 1 - card as u16), 6);
    }
}

#[test]
fn the_network_finds_the_other_way_to_a_host_of_which_a_link_fails() {
    // The link from the rail's switch to host 1 fails at 1 us. Host 0 learns of it at once: packets 0 to 11
    // are on their way to that switch, from which there is no other; those behind take the other rail.
    let sim = thirty_packets(0, &[(1_000_000, 2, LinkChange::Down)]);
    let (outcome, kept) = run_everywhere(&sim);
    assert_eq!((outcome.lost, &outcome.end), (12, &End::Finished));
    assert_eq!((packets(&outcome, 0, 0), packets(&outcome, 0, 1)), (12, 18 + 30));
    assert_eq!(kept.flows[0].timeouts, 0);
    // With a link between the rails the twelve take it.
    let mut sim = sim;
    sim.network.add_link(2, 3, gbps(100), us(1));
    let (outcome, kept) = run_everywhere(&sim);
    assert_eq!((outcome.lost, packets(&outcome, 2, 2)), (0, 12));
    // They are overtaken by packet 12: one NACK.
    assert!(kept.flows[0].resent > 0);
}

#[test]
fn what_is_sent_to_a_host_without_links_waits_for_one() {
    // Both links of host 1 fail before anything arrives; the second one returns at 50 us. Nothing is lost but
    // what had begun to leave the switch, which is nothing: packets wait there.
    let changes = [(1_000_000, 2, LinkChange::Down), (1_000_000, 3, LinkChange::Down)];
    let mut sim = thirty_packets(0, &changes);
    sim.network.changes.push(Change { time: us(50), link: 2, what: LinkChange::Up });
    let (outcome, kept) = run_everywhere(&sim);
    assert_eq!((outcome.lost, kept.flows[0].resent), (0, 0));
    assert_eq!(kept.flows[0].delivered, ps(50_000_000 + 30 * 84_320 + 1_000_000));
}

#[test]
fn what_does_not_hang_together_does_not_run() {
    let refused = |links: &[(u32, u32)]| {
        let mut network = Network::with_hosts(2);
        let switches = [network.add_switch("s0"), network.add_switch("s1")];
        let node = |n: u32| if n < 2 { n } else { switches[n as usize - 2] };
        links.iter().for_each(|&(a, b)| network.add_link(node(a), node(b), gbps(100), us(1)));
        let sim = simulation(network, vec![window(u64::MAX)], vec![flow(0, 1, 1000, Time::ZERO)]);
        incast_sim::run(&sim, &mut Kept::default()).map_err(|error| error.to_string()).err()
    };
    assert_eq!(refused(&[(0, 2)]).unwrap(), "host h1 has no link");
    assert_eq!(refused(&[(0, 2), (0, 1)]).unwrap(), "host h0 is linked to a host");
    assert_eq!(refused(&[(0, 2), (1, 3)]).unwrap(), "no path between s0 and s1");
    assert_eq!(refused(&[(0, 2), (1, 3), (1, 2)]), None);
}

#[test]
fn both_engines_agree_on_random_outages_of_hosts_with_several_links() {
    let mut lost = 0;
    for seed in 0..20 {
        // Four leaves, two spines; hosts have one to three links, to leaves drawn at random.
        let random = |stream: u64, i: u64, below: u64| draw(mix(seed) ^ stream, i) % below;
        let mut network = Network::with_hosts(12);
        let leaves: Vec<_> = (0..4).map(|i| network.add_switch(format!("l{i}"))).collect();
        for host in 0..12 {
            for card in 0..1 + random(1, host, 3) {
                let leaf = leaves[random(2, 3 * host + card, 4) as usize];
                network.add_link(host as u32, leaf, gbps(100), us(1));
            }
        }
        for spine in 0..2 {
            let spine = network.add_switch(format!("spine{spine}"));
            leaves.iter().for_each(|leaf| network.add_link(*leaf, spine, gbps(100), us(1)));
        }
        let links = network.links.len() as u64;
        let mut changes: Vec<Change> = (0..40)
            .map(|i| {
                let what = match random(3, i, 6) {
                    0 | 1 => LinkChange::Down,
                    2 | 3 => LinkChange::Up,
                    4 => LinkChange::Delay(Time::from_ns(100 + random(4, i, 3000))),
                    _ => LinkChange::Rate(gbps([25, 40, 100, 400][random(5, i, 4) as usize])),
                };
                Change { time: ps(random(6, i, 300_000_000)), link: random(7, i, links) as u32, what }
            })
            .collect();
        changes.sort_by_key(|c| c.time);
        changes.extend((0..links as u32).map(|link| Change { time: us(300), link, what: LinkChange::Up }));
        network.changes = changes;
        let flows = (0..60).map(|i| {
            let (source, far) = (random(8, i, 12), 1 + random(9, i, 11));
            let mut flow = flow(
                source as u32,
                ((source + far) % 12) as u32,
                1 + random(10, i, 300_000),
                ps(random(11, i, 200_000_000)),
            );
            flow.key = mix(i);
            flow
        });
        lost += lost_in_outages(network, flows.collect(), seed);
    }
    assert!(lost > 100, "{lost} packets lost: there was hardly an outage");
}
