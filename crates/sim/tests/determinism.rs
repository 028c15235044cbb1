//! One description always gives the same bits: on 1, 2 and 4 threads, on the plain engine, again and again,
//! with and without optimisation; and an unrelated flow changes nobody else's draws.

mod common;

use std::fmt::Write as _;

use common::*;
use incast_cc::Fixed;
use incast_cc::params::Value;
use incast_sim::describe::balancing::Balancing;
use incast_sim::describe::switch::{Buffer, Ecn, MarkingPoint, Pfc, Scheduler};
use incast_sim::describe::transport::{AckEvery, Recovery, Repair};
use incast_sim::random::{draw, mix};
use incast_sim::{Network, Simulation};
use incast_units::{Bytes, Time};

/// Random flows between the hosts of a network, from a fixed stream.
fn random_flows(hosts: u32, count: u64, largest: u64, span: Time) -> Vec<incast_sim::describe::flow::Flow> {
    (0..count)
        .map(|i| {
            let source = (draw(1, i) % u64::from(hosts)) as u32;
            let other = (draw(2, i) % u64::from(hosts - 1)) as u32;
            let destination = if other >= source { other + 1 } else { other };
            let size = 1 + draw(3, i) % largest;
            incast_sim::describe::flow::Flow {
                key: mix(i),
                ..flow(source, destination, size, Time::from_ps(draw(4, i) % span.ps()))
            }
        })
        .collect()
}

/// Every scenario of these tests, by name.
fn scenarios() -> Vec<(String, Simulation)> {
    let mut all = Vec::new();
    // Every algorithm on a lossless fat-tree, with sampled ports and flows.
    for info in incast_cc::any::CATALOGUE {
        let network = fat_tree(4, gbps(100), us(1));
        let flows = random_flows(16, 60, 400_000, us(100));
        // No round trip here reaches TIMELY's published thresholds; the later two would hardly change their rates.
        let low = [("t_low", Value::Time(us(10))), ("t_high", Value::Time(us(60)))];
        let short =
            [low[0], low[1], ("beta", Value::Ratio(Fixed::ONE)), ("segment", Value::Bytes(Bytes::new(4000)))];
        let settings = match info.name {
            "timely" => &low[..],
            "patched-timely" | "sqcc" => &short[..],
            _ => &[],
        };
        let mut sim = simulation(
            network,
            vec![if settings.is_empty() { algorithm(info.name, &[]) } else { letter(info.name, settings) }],
            flows,
        );
        sim.switch = lossless_switch();
        sim.switch.buffer = Buffer::Shared(Bytes::new(1_000_000));
        if let Some(ecn) = &mut sim.switch.ecn {
            (ecn.kmin, ecn.kmax) = (Bytes::new(5_000), Bytes::new(100_000));
        }
        sim.probes.ports = vec![(16, 0), (24, 1), (32, 2), (3, 0)];
        sim.probes.flows = vec![0, 7, 59];
        all.push((info.name.to_owned(), sim));
    }
    // A lossy fabric: small buffers, go-back-N, timeouts, two queues in turn, several algorithms.
    let flows = random_flows(16, 80, 200_000, us(50));
    let names = ["swift", "dctcp", "oscar", "dcqcn"];
    let algorithms = names.iter().map(|n| algorithm(n, &[])).collect();
    let mut lossy = simulation(fat_tree(4, gbps(40), us(1)), algorithms, flows);
    for (i, flow) in lossy.flows.iter_mut().enumerate() {
        flow.algorithm = i as u16 % 4;
        flow.queue = (i % 2) as u8;
    }
    lossy.switch.queues = 2;
    lossy.switch.scheduler = Scheduler::RoundRobin;
    lossy.switch.buffer = Buffer::PerPort(Bytes::new(30_000));
    lossy.switch.ecn = Some(Ecn {
        kmin: Bytes::new(5_000),
        kmax: Bytes::new(20_000),
        pmax: Fixed::ratio(1, 2),
        reference: None,
        at: MarkingPoint::Dequeue,
    });
    lossy.transport.rto = us(200);
    lossy.transport.ack_queue = Some(1);
    all.push(("lossy".to_owned(), lossy));
    // Packets of a flow on all paths, repaired late, where there is room for few.
    let names = ["swift", "lswift", "mswift", "newreno"];
    let algorithms = names.iter().map(|n| algorithm(n, &[])).collect();
    let flows = random_flows(16, 60, 300_000, us(50));
    let mut spraying = simulation(fat_tree(4, gbps(100), us(1)), algorithms, flows);
    for (i, flow) in spraying.flows.iter_mut().enumerate() {
        flow.algorithm = i as u16 % 4;
        flow.balancing = Balancing::Random;
    }
    spraying.switch.buffer = Buffer::PerPort(Bytes::new(60_000));
    spraying.transport.recovery = Recovery::Selective;
    spraying.transport.repair = Repair::Lazy;
    spraying.transport.rto = us(200);
    all.push(("spraying".to_owned(), spraying));
    // Coalesced acknowledgements, an incast that pauses everybody, and links of very different delay:
    // two hosts are joined to their switch for the engine's purpose.
    let mut network = Network::with_hosts(12);
    let switches = [network.add_switch("near"), network.add_switch("far")];
    for host in 0..12 {
        let delay = if host < 2 { Time::from_ns(10) } else { us(1) };
        network.add_link(host, switches[(host % 2) as usize], gbps(100), delay);
    }
    network.add_link(switches[0], switches[1], gbps(100), us(2));
    let flows = (1..12).map(|i| flow(i, 0, 300_000, Time::from_ns(u64::from(i)))).collect();
    let mut incast = simulation(network, vec![letter("timely", &[])], flows);
    incast.switch = lossless_switch();
    incast.switch.pfc =
        Some(Pfc { xoff: Some(Bytes::new(50_000)), xon_offset: Bytes::new(5_000), ..Pfc::default() });
    incast.transport.ack_every = AckEvery::Packets(4);
    incast.transport.ack_delay = Some(us(5));
    all.push(("short-links".to_owned(), incast));
    all
}

#[test]
fn threads_repetition_and_engine_do_not_matter() {
    for (name, mut sim) in scenarios() {
        let (first, kept) = run_to_end(&sim);
        assert!(first.hops > 1000, "{name}");
        for threads in [1, 2, 4] {
            sim.threads = threads;
            assert_eq!(run_to_end(&sim), (first.clone(), kept.clone()), "{name} on {threads} threads");
        }
        let mut plain = Kept::default();
        let outcome = incast_sim::run_reference(&sim, &mut plain).unwrap();
        assert_eq!(outcome, first, "{name} on the plain engine");
        assert_eq!(plain, kept, "{name} on the plain engine");
    }
}

#[test]
fn fingerprints_are_the_recorded_ones() {
    // Recorded once; this test runs with and without optimisation, on every platform. A change that
    // alters results changes this file, and is announced in the changelog under "Changed behaviour".
    let mut text = String::new();
    for (name, sim) in scenarios() {
        let (outcome, _) = run_to_end(&sim);
        writeln!(text, "{name} {:016x} {} hops, {}", outcome.fingerprint, outcome.hops, outcome.now).unwrap();
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fingerprints.txt");
    if std::env::var_os("UPDATE_FINGERPRINTS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap_or_default(),
        text,
        "run with UPDATE_FINGERPRINTS=1 to record"
    );
}

#[test]
fn the_seed_changes_marks_and_nothing_else_does() {
    let (_, mut sim) = scenarios().into_iter().find(|(name, _)| name == "dctcp").unwrap();
    let before = run_to_end(&sim).0.fingerprint;
    sim.seed = 2;
    assert_ne!(run_to_end(&sim).0.fingerprint, before);
}

#[test]
fn an_unrelated_flow_leaves_the_others_alone() {
    // Pods 0 and 1 are busy, with random marks and ECMP; a new flow inside pod 3 shares no port with
    // them: every record of theirs stays the same, although all flow indices shift.
    let (_, sim) = scenarios().into_iter().find(|(name, _)| name == "dctcp").unwrap();
    let mut before = sim.clone();
    before.flows.retain(|f| f.source < 8 && f.destination < 8);
    before.probes = Default::default();
    let mut after = before.clone();
    after.flows.insert(0, flow(12, 15, 500_000, Time::ZERO));
    let facts = |sim: &Simulation| {
        let (_, kept) = run_to_end(sim);
        let mut facts: Vec<_> = kept
            .flows
            .iter()
            .map(|f| (sim.flows[f.flow as usize].key, f.finish, f.packets, f.marked, f.resent))
            .collect();
        facts.sort_unstable();
        facts
    };
    let (before, mut after) = (facts(&before), facts(&after));
    assert!(before.iter().any(|f| f.3 > 0), "no marks: nothing was drawn");
    after.retain(|f| before.iter().any(|b| b.0 == f.0));
    assert_eq!(before, after);
}
