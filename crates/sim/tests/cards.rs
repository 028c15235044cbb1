//! Flows that name the network card of each end: by which ports their packets leave and arrive, with times worked by
//! hand to the picosecond, on both engines and one to eight threads.
//!
//! 100 Gbps and 1 us everywhere: a data packet of 1054 B takes 84,320 ps, an acknowledgement of 64 B 5,120 ps.

mod common;

use common::*;
use incast_sim::Network;
use incast_sim::describe::Named;
use incast_sim::describe::balancing::{Acknowledgements, Balancing};
use incast_sim::describe::flow::Flow;
use incast_sim::describe::network::{Change, LinkChange, PortId};
use incast_sim::describe::switch::Trimming;
use incast_sim::describe::transport::{BaseRtt, Kind, Recovery};
use incast_sim::describe::work::{Operation, What};
use incast_sim::record::{End, Outcome};
use incast_units::{Bytes, Time};

/// `hosts` servers with a card at each of `rails` switches; with `spines` switches above these.
///
/// Switch r is node `hosts + r`, with the card r of host i at its port i.
fn rails(hosts: u32, rails: u32, spines: u32) -> Network {
    let mut network = Network::with_hosts(hosts);
    let leaves: Vec<_> = (0..rails).map(|r| network.add_switch(format!("rail{r}"))).collect();
    let spines: Vec<_> = (0..spines).map(|s| network.add_switch(format!("spine{s}"))).collect();
    for host in 0..hosts {
        leaves.iter().for_each(|leaf| network.add_link(host, *leaf, gbps(100), us(1)));
    }
    for leaf in leaves {
        spines.iter().for_each(|spine| network.add_link(leaf, *spine, gbps(100), us(1)));
    }
    network
}

fn on(cards: [PortId; 2], flow: Flow) -> Flow {
    Flow { cards: cards.map(Some), ..flow }
}

/// Packets that a port has sent.
fn packets(outcome: &Outcome, node: u32, port: PortId) -> u64 {
    outcome.ports.iter().find(|p| (p.node, p.port) == (node, port)).map_or(0, |p| p.packets)
}

/// One packet takes two links on a rail, four between rails, over the spine: on each its own time and 1 us. The
/// acknowledgement leaves by the card at which the data arrived, and comes back to the card by which it left.
#[test]
fn a_flow_leaves_and_arrives_by_the_cards_that_it_names() {
    for (out, into) in (0..3).flat_map(|out| (0..3).map(move |into| (out, into))) {
        for cards in [[Some(out), Some(into)], [Some(out), None], [None, Some(into)]] {
            // Where one end is named, the nearest card of the other is on the same rail.
            let (out, into) = (cards[0].or(cards[1]).unwrap(), cards[1].or(cards[0]).unwrap());
            let flow = Flow { cards, ..flow(0, 1, 1000, Time::ZERO) };
            let sim = simulation(rails(2, 3, 1), vec![window(u64::MAX)], vec![flow]);
            let (outcome, kept) = run_everywhere(&sim);
            let links = if out == into { 2 } else { 4 };
            let record = &kept.flows[0];
            assert_eq!(record.delivered, Time::from_ps(links * 1_084_320), "{cards:?}");
            assert_eq!(record.finish, Time::from_ps(links * (1_084_320 + 1_005_120)), "{cards:?}");
            assert_eq!((record.ideal, record.base_rtt), (record.finish, record.finish));
            for rail in 0..3 {
                let used = |wanted: PortId| u64::from(rail == wanted);
                assert_eq!((packets(&outcome, 0, rail), packets(&outcome, 1, rail)), (used(out), used(into)));
                // The switch of the rail to host 0 and to host 1.
                let switch = 2 + u32::from(rail);
                assert_eq!(
                    (packets(&outcome, switch, 0), packets(&outcome, switch, 1)),
                    (used(out), used(into))
                );
            }
        }
    }
}

#[test]
fn flows_on_cards_of_their_own_do_not_meet() {
    // Eight flows from each host to the next, one on each card: all take as long as one alone. By hash, some of eight
    // would have met with a probability of 1 - 8!/8^8 = 99.8 %.
    let flows = (0..4).flat_map(|host| {
        (0..8).map(move |card| Flow {
            key: u64::from(host * 8 + card),
            ..flow(host, (host + 1) % 4, 100_000, Time::ZERO)
        })
    });
    let flows: Vec<Flow> = flows.map(|flow| on([(flow.key % 8) as PortId; 2], flow)).collect();
    let (outcome, kept) = run_everywhere(&simulation(rails(4, 8, 0), vec![window(u64::MAX)], flows));
    assert_eq!(kept.flows.len(), 32);
    // The acknowledgements of the flow that arrives by a card are in the way of the data that leaves by it, and the
    // other way round: with each of 100 packets one of 64 B goes out.
    let alone = kept.flows[0].ideal.ps();
    assert!(kept.flows.iter().all(|flow| flow.finish.ps() < alone + 101 * 5_120), "{:?}", kept.flows);
    let sent: Vec<u64> = (0..8).map(|card| packets(&outcome, 0, card)).collect();
    assert_eq!(sent, [200; 8]);
}

#[test]
fn packets_that_are_spread_keep_to_the_cards_of_their_flow() {
    for balancing in [Balancing::Ops, Balancing::Reps, Balancing::Random, Balancing::Adaptive] {
        for acknowledgements in [Acknowledgements::Balanced, Acknowledgements::OnePath] {
            let flow = Flow { balancing, ..on([2, 0], flow(0, 1, 400_000, Time::ZERO)) };
            let mut sim = simulation(rails(2, 3, 4), vec![window(u64::MAX)], vec![flow]);
            sim.transport.recovery = Recovery::Selective;
            sim.balancing.acknowledgements = acknowledgements;
            let (outcome, _) = run_everywhere(&sim);
            assert_eq!(outcome.end, End::Finished);
            for rail in 0..3 {
                assert_eq!(packets(&outcome, 0, rail) > 0, rail == 2, "{balancing:?}");
                assert_eq!(packets(&outcome, 1, rail) > 0, rail == 0, "{balancing:?}");
            }
            // Over all four spines, from the switch of card 2.
            assert!((2..6).all(|port| packets(&outcome, 4, port) > 0), "{balancing:?}");
        }
    }
}

#[test]
fn every_transport_keeps_to_the_cards() {
    for (kind, name, _) in Kind::ALL {
        for trims in [false, true] {
            // From three hosts to one card, so that something is trimmed and returned.
            let flows =
                (0..3).map(|host| on([host as PortId, 1], flow(host, 3, 200_000, Time::ZERO))).collect();
            let algorithms = if kind.is_controlled() { vec![window(u64::MAX)] } else { Vec::new() };
            let mut sim = simulation(rails(4, 3, 2), algorithms, flows);
            sim.transport.kind = *kind;
            sim.switch.queues = 3;
            if trims && *kind != Kind::Homa {
                sim.transport.recovery = Recovery::Selective;
                sim.switch.queues = 1;
                sim.switch.trimming = Some(Trimming {
                    headers: Some(Bytes::new(200)),
                    return_to_sender: true,
                    ..Trimming::default()
                });
            }
            let (outcome, kept) = run_everywhere(&sim);
            assert_eq!((&outcome.end, kept.flows.len()), (&End::Finished, 3), "{name}");
            for (host, card) in (0..4).flat_map(|host| (0..3).map(move |card| (host, card))) {
                let own = if host == 3 { 1 } else { host as PortId };
                assert_eq!(packets(&outcome, host, card) > 0, card == own, "{name}: {host}.{card}");
                // The switch of each card.
                assert_eq!(packets(&outcome, 4 + u32::from(card), host as PortId) > 0, card == own, "{name}");
            }
        }
    }
}

/// At 1 us packets 0 to 11 have begun to leave and none has arrived: they are lost. The others wait for the link of
/// the card that the flow names, though the other rail leads to the host as well.
#[test]
fn a_flow_waits_for_the_link_of_its_card() {
    for link in [0, 2] {
        let mut network = rails(2, 2, 0);
        let change = |time, what| Change { time: us(time), link, what };
        network.changes = vec![change(1, LinkChange::Down), change(50, LinkChange::Up)];
        let flow = on([0, 0], flow(0, 1, 30_000, Time::ZERO));
        let (outcome, kept) = run_everywhere(&simulation(network, vec![window(u64::MAX)], vec![flow]));
        assert_eq!((packets(&outcome, 0, 1), packets(&outcome, 1, 1)), (0, 0));
        assert!(kept.flows[0].delivered > us(50));
        // On the first link twelve have begun to leave; on the second one none has, and they wait at the switch.
        assert_eq!((outcome.end, outcome.lost), (End::Finished, if link == 0 { 12 } else { 0 }));
    }
}

#[test]
fn cards_that_do_not_exist_or_do_not_reach_each_other_are_refused() {
    let refused = |cards: [PortId; 2], spines: u32| {
        let flows = vec![on(cards, flow(0, 1, 1000, Time::ZERO))];
        let sim = simulation(rails(2, 2, spines), vec![window(u64::MAX)], flows);
        incast_sim::run(&sim, &mut Kept::default()).map_err(|error| error.to_string()).err()
    };
    assert_eq!(refused([2, 0], 1).unwrap(), "flow 0 names card 2 of h0, which has 2 cards");
    assert_eq!(refused([0, 2], 1).unwrap(), "flow 0 names card 2 of h1, which has 2 cards");
    assert_eq!(refused([0, 1], 0).unwrap(), "flow 0 has no path from card 0 of h0 to card 1 of h1");
    assert_eq!((refused([0, 1], 1), refused([1, 1], 0)), (None, None));
    // A host with one card may name it.
    let mut network = rails(2, 1, 0);
    network.hosts = 2;
    let sim = simulation(network, vec![window(u64::MAX)], vec![on([0, 0], flow(0, 1, 1000, Time::ZERO))]);
    assert_eq!(run_everywhere(&sim).0.end, End::Finished);
}

/// The longest way between two cards leads over the spine: four links, 4 · 1,084,320 ps there and 4 · 1,005,120 ps
/// back. Between two hosts it is half of that.
#[test]
fn the_largest_round_trip_is_that_between_two_cards() {
    for (cards, links) in [([None; 2], 2), ([Some(0); 2], 4)] {
        let flow = Flow { cards, ..flow(0, 1, 1000, Time::ZERO) };
        let mut sim = simulation(rails(2, 2, 1), vec![window(u64::MAX)], vec![flow]);
        sim.transport.base_rtt = BaseRtt::Network;
        let paths = incast_sim::path_infos(&sim).unwrap();
        assert_eq!(paths[0].base_rtt, Time::from_ps(links * (1_084_320 + 1_005_120)));
    }
}

/// A job of flows from host 0 to host 1, of these numbers of packets on each card.
fn job(packets: [u64; 2]) -> incast_sim::Simulation {
    let flows: Vec<Flow> = [0, 1]
        .map(|card: PortId| Flow {
            key: u64::from(card),
            ..on([card; 2], flow(0, 1, packets[usize::from(card)] * 1000, Time::ZERO))
        })
        .to_vec();
    let mut sim = simulation(rails(2, 2, 0), vec![window(u64::MAX)], flows);
    sim.operations = [0, 1]
        .map(|flow| Operation {
            host: 0,
            what: What::Send { flow },
            after: Vec::new(),
            after_start: Vec::new(),
            start_before: Time::NEVER,
            earliest: Time::ZERO,
            job: 0,
        })
        .to_vec();
    sim
}

/// Two cards share the bytes as the flows say, so that 40 packets and 20 take as long as 40 on one link, and not as
/// 60 on two: 40 · 84,320 ps, and one packet more and 2 us to host 1, and 2 · 5,120 ps and 2 us back.
#[test]
fn bounds_of_jobs_count_each_card() {
    for (packets, most) in [([40, 20], 40), ([30, 30], 30), ([0, 25].map(|n| n.max(1)), 25)] {
        let sim = job(packets);
        let bound = Time::from_ps(most * 84_320 + 84_320 + 2_000_000 + 2_010_240);
        assert_eq!(incast_sim::job_bounds(&sim).unwrap(), [Some(bound)]);
        assert_eq!(run_everywhere(&sim).0.now, bound);
    }
    // Two flows of 20 packets on one card: 40.
    let mut sim = job([20, 20]);
    sim.flows[1].cards = [Some(0); 2];
    let bound = Time::from_ps(40 * 84_320 + 84_320 + 2_000_000 + 2_010_240);
    assert_eq!(incast_sim::job_bounds(&sim).unwrap(), [Some(bound)]);
}
