//! Workloads and topologies of other programs: GOAL, htsim, Chakra.

use common::Scratch;
use incast_lab::formats::chakra::ChakraRank;
use incast_lab::formats::chakra_workload::ChakraTrace;
use incast_lab::formats::describe::describe;
use incast_lab::formats::goal::Goal;
use incast_lab::formats::htsim_connections::HtsimConnections;
use incast_lab::formats::htsim_topology::HtsimTopology;
use incast_lab::workload::Workload;
use incast_lab::{Problems, Scenario};
use incast_sim::describe::work::{Operation, What};
use incast_units::{Bytes, Rate, Time};

mod chakra;
mod chakra_json;
#[path = "../common/mod.rs"]
mod common;
mod goal;
mod goal_binary;
mod htsim;
mod mutated;
mod runs;
mod simai;

const GOAL: &str = include_str!("../../../../examples/workloads/allreduce_8.goal");
const CONNECTIONS: &str = include_str!("../../../../examples/workloads/collectives_16.cm");
const TOPOLOGY: &str = include_str!("../../../../examples/workloads/fat_tree_32.topo");

impl Scratch {
    /// A folder with the samples of other programs, and traces of an all-reduce of these bytes among four ranks.
    fn with_samples(test: &str, bytes: i64) -> Self {
        let scratch = Self::new(test);
        scratch.write("net.topo", TOPOLOGY);
        scratch.write("ring.goal", GOAL);
        scratch.write("c.cm", CONNECTIONS);
        for rank in 0..4 {
            scratch.write(&format!("t.{rank}.et"), chakra::encode::file(&chakra::all_reduce(0, bytes)));
        }
        scratch
    }

    /// A scenario beside the files.
    fn scenario(&self, text: &str) -> Result<Scenario, String> {
        let name = self.0.join("s.toml").display().to_string();
        let folder = format!("{}/", self.0.display());
        Scenario::from_toml(text, &name, &[]).map_err(|problems| problems.to_string().replace(&folder, ""))
    }
}

fn goal(text: &str) -> Result<Workload, Problems> {
    Goal::parse(text, "a.goal").map(|goal| goal.workload)
}

fn connections(text: &str) -> Result<HtsimConnections, Problems> {
    HtsimConnections::parse(text, "a.cm")
}

fn compute(time: Time, processor: u16) -> What {
    What::Compute { time, processor }
}

fn operation(host: u32, what: What, after: &[u32], after_start: &[u32]) -> Operation {
    Operation {
        host,
        what,
        after: after.to_vec(),
        after_start: after_start.to_vec(),
        start_before: Time::NEVER,
        earliest: Time::ZERO,
        job: 0,
    }
}

/// Source, destination, size, start of each message.
fn flows(work: &Workload) -> Vec<(u32, u32, u64, Time)> {
    work.flows.iter().map(|flow| (flow.source, flow.destination, flow.size.get(), flow.start)).collect()
}

/// All problems of files made from a good one by replacing something.
fn spoilt(good: &str, cases: &[(&str, &str)], parse: impl Fn(&str) -> Option<Problems>) -> String {
    let mut seen = Vec::new();
    for (from, to) in cases {
        assert!(good.contains(from), "{from}");
        let text = good.replacen(from, to, 1);
        let problems = parse(&text).unwrap_or_else(|| panic!("accepted: {from:?} as {to:?}"));
        seen.push(format!("{from:?} as {to:?}\n{problems}"));
    }
    seen.join("\n\n")
}

/// A file that ends too early is refused, with the place where it ends.
#[test]
fn files_that_are_cut_off_say_where() {
    let check = |text: &str, parse: &dyn Fn(&str) -> Option<Problems>| {
        assert!(parse(text).is_none());
        let lines: Vec<&str> = text.lines().collect();
        for kept in 0..lines.len() {
            let Some(problems) = parse(&lines[..kept].join("\n")) else {
                // What follows is no more than a blank line.
                assert!(lines[kept..].iter().all(|line| line.is_empty()), "{kept} lines");
                continue;
            };
            assert!(
                problems.iter().all(|problem| problem.line.is_some_and(|line| line as usize <= kept.max(1))),
                "{problems}"
            );
        }
    };
    check(GOAL, &|text| goal(text).err());
    check(CONNECTIONS, &|text| connections(text).err());
    check(TOPOLOGY, &|text| HtsimTopology::parse(text, "a.topo").err());
    let nodes = chakra::all_reduce(0, 1000);
    let trace = chakra::encode::file(&nodes);
    // Where records end, a shorter trace is a trace too, unless something that it depends on is missing.
    let ends: Vec<usize> = (0..=3).map(|number| chakra::encode::file(&nodes[..number]).len()).collect();
    for kept in 0..trace.len() {
        match ChakraRank::parse(&trace[..kept], "t.et") {
            Ok(_) => assert!(ends.contains(&kept), "{kept}"),
            Err(problems) => {
                assert!(!ends.contains(&kept), "{kept}");
                assert!(problems.to_string().contains("(byte "), "{problems}");
            }
        }
    }
}

/// Everything around the traffic.
const SCENARIO: &str =
    "cc = { algorithm = \"constant\" }\n[topology]\nkind = \"htsim-file\"\nfile = \"net.topo\"\n";

fn with(traffic: &str) -> String {
    format!("{SCENARIO}[[traffic]]\n{traffic}")
}

#[test]
fn scenarios_name_the_files() {
    let scratch = Scratch::with_samples("imports-names", 1000);
    // Ranks on hosts in the order of the list; half the sizes, twice the times.
    let text = with(
        "kind = \"goal-file\"\nfile = \"ring.goal\"\nhosts = [\"h31\", \"h0-h6\"]\nsize_factor = 0.5\ncompute_factor = 2\n\
         [[traffic]]\nkind = \"htsim-connections\"\nfile = \"c.cm\"\nstart_unit = \"1us\"\n\
         [[traffic]]\nkind = \"flows\"\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1KB\"\nstart = \"1us\"\n\
         [[traffic]]\nkind = \"chakra-trace\"\nfile = \"t.*.et\"\n",
    );
    let scenario = scratch.scenario(&text).unwrap();
    assert_eq!(scenario.files().len(), 1 + 1 + 1 + 4);
    let built = scenario.build().unwrap();
    let (flows, operations) = (&built.simulation.flows, &built.simulation.operations);
    let of = |group: u16| flows.iter().filter(move |flow| flow.group == group).count();
    // An all-reduce of 4 ranks has 6 steps.
    assert_eq!([of(0), of(1), of(2), of(3)], [112, 39, 1, 24]);
    assert_eq!(operations.len(), 240 + 39 + (2 + 2 * 6 + 1) * 4);
    assert_eq!(built.jobs, ["goal-file", "htsim-connections", "chakra-trace"]);
    // Operations name the flows of their own block, and each other, where these have come to lie.
    for operation in operations {
        let group = [0, 1, 3][usize::from(operation.job)];
        match operation.what {
            What::Send { flow } => {
                assert_eq!(
                    (flows[flow as usize].source, flows[flow as usize].group),
                    (operation.host, group)
                );
            }
            What::Receive { flow } => {
                assert_eq!(
                    (flows[flow as usize].destination, flows[flow as usize].group),
                    (operation.host, group)
                );
            }
            What::Compute { .. } => {}
        }
        for &other in operation.after.iter().chain(&operation.after_start) {
            let other = &operations[other as usize];
            assert_eq!((other.host, other.job), (operation.host, operation.job));
        }
    }
    assert_eq!(operations[0], operation(31, compute(Time::from_us(40), 0), &[], &[]));
    assert!(flows.iter().filter(|flow| flow.group == 0).all(|flow| flow.size == Bytes::new(65_536)));
    // Rank 0 is h31 and sends to rank 1, h0.
    assert!(flows.iter().any(|flow| flow.group == 0 && (flow.source, flow.destination) == (31, 0)));
    // The effective scenario finds the files from anywhere, and is held to what was in them.
    let effective = scenario.effective_toml();
    let again = Scenario::from_toml(&effective, "elsewhere/x.toml", &[]).unwrap();
    assert_eq!(again, scenario);
    scratch.write("t.3.et", chakra::encode::file(&chakra::all_reduce(0, 1001)));
    let changed = Scenario::from_toml(&effective, "x.toml", &[]).unwrap_err().to_string();
    assert!(changed.contains("t.*.et has changed since this scenario was made"), "{changed}");
}

#[test]
fn what_scenarios_can_get_wrong() {
    let scratch = Scratch::new("imports-wrong");
    scratch.write("net.topo", TOPOLOGY);
    scratch.write("ring.goal", GOAL);
    scratch.write("bad.goal", GOAL.replace("rank 3 {", "rank 2 {"));
    scratch.write("idle.goal", "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}\n");
    scratch.write(
        "large.goal",
        "num_ranks 33\n".to_owned() + &(0..33).map(|i| format!("rank {i} {{\n}}\n")).collect::<String>(),
    );
    scratch.write("c.cm", CONNECTIONS);
    scratch.write("zero.cm", CONNECTIONS.replace("start 16", "start 0"));
    scratch.write(
        "moved.cm",
        CONNECTIONS.replace("start 16", "start 0").replace("recv_done_trigger 17", "send_done_trigger 17"),
    );
    scratch.write("t.0.et", chakra::encode::file(&chakra::all_reduce(0, 1000)));
    scratch.write("t.1.et", chakra::encode::file(&chakra::all_reduce(0, 1001)));
    scratch.write("u.0.et", chakra::encode::file(&chakra::all_reduce(0, 1000)));
    scratch.write("u.2.et", chakra::encode::file(&chakra::all_reduce(0, 1000)));
    scratch.write("v.0.et", chakra::encode::file(&chakra::all_reduce(0, 1000)));
    scratch.write("v.1.et", [chakra::encode::file(&chakra::all_reduce(0, 1000)), vec![5]].concat());
    let goal = |rest: &str| format!("kind = \"goal-file\"\nfile = \"ring.goal\"\n{rest}\n");
    let cm = |file: &str, rest: &str| format!("kind = \"htsim-connections\"\nfile = \"{file}\"\n{rest}\n");
    let et = |file: &str, rest: &str| format!("kind = \"chakra-trace\"\nfile = \"{file}\"\n{rest}\n");
    let cases = [
        goal("hosts = \"h0-h6\""),
        goal("hosts = \"h0-h8\""),
        goal("hosts = \"h25-h32\""),
        goal("compute_factor = 0"),
        goal("size_factor = \"2\""),
        goal("start_unit = \"1us\""),
        goal("").replace("ring", "idle") + "compute_factor = 2",
        goal("").replace("ring", "large"),
        goal("").replace("ring", "bad"),
        goal("").replace("ring", "none"),
        cm("c.cm", ""),
        cm("c.cm", "start_unit = \"0us\""),
        cm("zero.cm", "start_unit = \"1us\""),
        cm("zero.cm", "nearest_end = true"),
        cm("moved.cm", ""),
        et("t.0.et", ""),
        et("none.*.et", ""),
        et("t.*.et", ""),
        et("u.*.et", ""),
        et("v.*.et", ""),
        et("v.*.et", "ctrl_deps = true"),
    ];
    let mut seen = Vec::new();
    for case in &cases {
        let problems = scratch.scenario(&with(case)).err().unwrap_or_else(|| panic!("accepted:\n{case}"));
        seen.push(format!("{}\n{problems}", case.trim().replace('\n', " ")));
    }
    let moved = scratch.scenario(&with(&cm("moved.cm", "nearest_end = true"))).unwrap();
    assert!(moved.build().is_ok());
    scratch.write("net.topo", TOPOLOGY.replace("Bundle 2", "Bundle 3"));
    seen.push(scratch.scenario(&with(&goal(""))).unwrap_err());
    insta::assert_snapshot!(seen.join("\n\n"));
}

#[test]
fn files_are_described() {
    let scratch = Scratch::new("imports-described");
    let mut seen = Vec::new();
    for (name, content) in [
        ("ring.goal", GOAL.as_bytes().to_vec()),
        ("c.cm", CONNECTIONS.as_bytes().to_vec()),
        ("net.topo", TOPOLOGY.as_bytes().to_vec()),
        ("moe.txt", simai::SAMPLE.as_bytes().to_vec()),
        ("t.0.et", chakra::encode::file(&chakra::all_reduce(0, 1000))),
    ] {
        let found = describe(&scratch.write(name, content)).unwrap();
        let rows: Vec<String> = found.rows.iter().map(|(name, text)| format!("  {name}: {text}")).collect();
        let notes: Vec<String> = found.notes.iter().map(|note| format!("  - {note}")).collect();
        seen.push([vec![found.format], rows, notes].concat().join("\n"));
    }
    insta::assert_snapshot!(seen.join("\n"));
    assert!(describe(&scratch.write("x.et", "num_ranks 1")).is_err());
}
