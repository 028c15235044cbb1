//! The scenario of BFC's authors, `examples/bfc.toml`: its load, and its results on a quarter of the network.
#![allow(missing_docs, reason = "a test")]

mod common;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use incast_lab::Scenario;
use incast_lab::run::{RunOptions, RunResult};
use incast_lab::scenario::Built;
use incast_lab::summary::{Distribution, SizeClass};
use incast_sim::Sink;
use incast_sim::describe::flow::Flow;
use incast_sim::record::{PacketKind, PacketRecord, Progress};
use incast_units::{Bytes, Time};

fn example(overrides: &[&str]) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bfc.toml");
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    Scenario::load(path, &overrides).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn it_offers_what_the_authors_do() {
    let scenario = example(&["traffic.hadoop.duration=50ms", "traffic.incast.duration=50ms"]);
    assert_eq!(Scenario::from_toml(&scenario.effective_toml(), "bfc.toml", &[]).unwrap(), scenario);
    let built = scenario.build().unwrap();
    assert!(built.fabric.summary().ends_with("(2:1)"), "{}", built.fabric.summary());
    let (flows, groups) = (&built.simulation.flows, &built.groups);
    let is_of = |flow: &Flow, name| flow.counted && groups[usize::from(flow.group)] == name;
    let of_group = |name| flows.iter().filter(move |flow| is_of(flow, name));
    // 60 % of 6.4 Tbps in packets of 1000 B with 946 B of payload, in flows of 120,421 B: 3.7708 in a microsecond.
    // The standard deviation of log-normal gaps is sqrt(exp(4) - 1) = 7.32 of their mean.
    let expected = 0.5676 * 6.4e12 / 8.0 / 120_421.0 * 0.05;
    let count = of_group("hadoop").count() as f64;
    assert!((count / expected - 1.0).abs() < 4.0 * 7.32 / expected.sqrt(), "{count} of {expected}");
    let gaps: Vec<f64> = {
        let mut starts: Vec<f64> = of_group("hadoop").map(|flow| flow.start.ps() as f64).collect();
        starts.sort_by(f64::total_cmp);
        starts.windows(2).map(|two| two[1] - two[0]).collect()
    };
    // The mean of a gap is 0.26519 us, and its median exp(-2) of that: 35,890 ps.
    let below = gaps.iter().filter(|gap| **gap < 35_890.0).count() as f64 / gaps.len() as f64;
    assert!((below - 0.5).abs() < 0.01, "{below}");
    // A hundred senders each half millisecond, the first after the first one; the end does not count.
    let incast: Vec<_> = of_group("incast").collect();
    assert_eq!(incast.len(), 99 * 100);
    for flow in incast {
        assert!(flow.start.ps() % Time::from_us(500).ps() == 0 && flow.start > Time::ZERO);
        // 200 packets of 946 B.
        assert_eq!(flow.size, Bytes::new(200 * 946));
    }
}

/// Two leaves of 16 hosts, with one incast of 25 senders.
fn quarter(overrides: &[&str]) -> Built {
    let mut all = vec![
        "topology.leaves=2",
        "topology.spines=8",
        "traffic.hadoop.duration=1ms",
        "traffic.incast.duration=1ms",
        "traffic.incast.fan_in=25",
    ];
    all.extend(overrides);
    example(&all).build().unwrap()
}

fn go(built: &Built) -> RunResult {
    // The authors' first class: up to three packets.
    let small = SizeClass::new("small", None, Some(Bytes::new(3 * 946)));
    let classes = vec![small, SizeClass::new("all", None, None)];
    common::go("bfc", "seed = 1\n", built, &RunOptions { classes, ..RunOptions::default() })
}

/// The slowdown of a class of the flows that are not of an incast.
fn slowdown(result: &RunResult, class: &str) -> Distribution {
    let all = &result.info.summary.as_ref().unwrap().slowdowns;
    let found = all.iter().find(|one| one.class == class && one.group.as_deref() == Some("hadoop")).unwrap();
    assert_eq!(found.unfinished, 0);
    found.slowdown.unwrap()
}

#[test]
fn small_flows_are_nearly_ideal_and_nothing_is_dropped() {
    let bfc = go(&quarter(&[]));
    assert_eq!(bfc.outcome.dropped, 0);
    let dcqcn = go(&quarter(&[
        "cc.algorithm=dcqcn",
        "switch={buffer='32MB', pfc={}, ecn={kmin='400KB', kmax='1600KB', pmax=0.2}}",
    ]));
    assert_eq!(dcqcn.outcome.dropped, 0);
    let [small, rival] = [&bfc, &dcqcn].map(|result| slowdown(result, "small"));
    println!("{small:?}\n{rival:?}");
    assert!(small.p99 < 3.0 && small.p99 * 2.0 < rival.p99, "{} against {}", small.p99, rival.p99);
    assert!(small.p50 < 1.2, "{}", small.p50);
    let held = |result: &RunResult| {
        let ports = &result.outcome.ports;
        ports.iter().map(|port| port.peak_queue.get()).max().unwrap()
    };
    println!("{} {}", held(&bfc), held(&dcqcn));
    assert!(held(&bfc) * 2 < held(&dcqcn), "{} against {}", held(&bfc), held(&dcqcn));
}

/// Counts packets that leave a queue after one of another flow, although one of their own flow has left it in the last
/// 6 us, for which a flow keeps its queue: two flows have packets there at the same time.
#[derive(Default)]
struct Shared {
    /// By port and queue the flow of the last packet, and when the last packet of each flow left.
    last: BTreeMap<(u32, u16, u16), u32>,
    left: BTreeMap<(u32, u16, u16, u32), Time>,
    shared: u64,
    all: u64,
}

impl Sink for Shared {
    fn packets(&mut self, records: &[PacketRecord]) {
        for packet in records.iter().filter(|packet| packet.kind == PacketKind::Data) {
            let (queue, flow) = ((packet.node, packet.port, packet.queue), packet.flow.unwrap());
            let before = self.left.insert((queue.0, queue.1, queue.2, flow), packet.time);
            let other = self.last.insert(queue, flow).is_some_and(|last| last != flow);
            let recent = before.is_some_and(|before| packet.time - before <= Time::from_us(6));
            self.shared += u64::from(other && recent);
            self.all += 1;
        }
    }

    fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[test]
fn queues_are_hardly_shared_with_32_and_often_with_4() {
    // In percent of the packets that all switches send.
    let shared = |queues: &str, incast: &str| {
        let mut simulation = quarter(&[queues, incast]).simulation;
        let network = &simulation.network;
        let ports = |node| (0..network.ports(node)).map(move |port| (node, port));
        simulation.probes.captures = (network.hosts..network.nodes.len() as u32).flat_map(ports).collect();
        let mut shared = Shared::default();
        incast_sim::run(&simulation, &mut shared).unwrap();
        assert!(shared.all > 100_000, "{}", shared.all);
        shared.shared as f64 * 100.0 / shared.all as f64
    };
    let without = "traffic.incast.size=1B";
    let with = "traffic.incast.size=189200B";
    let [few, many] = ["switch.bfc.queues=32", "switch.bfc.queues=4"].map(|queues| shared(queues, without));
    println!("{few} {many} {}", shared("switch.bfc.queues=32", with));
    assert!(few < 1.0 && few * 10.0 < many, "{few} % and {many} %");
}
