//! Collectives by name and algorithm, from the scenario to their bandwidths.
#![allow(missing_docs, reason = "a test")]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use incast_lab::Scenario;
use incast_lab::results::TableName;
use incast_lab::run::{RunOptions, RunResult};
use incast_lab::scenario::Built;
use incast_sim::describe::work::What;

/// A star of hosts with links of 100 Gbps and 1 us, packets of 1000 B and 54 B of headers, no control.
fn star(hosts: u32) -> String {
    format!("topology = {{ kind = \"star\", hosts = {hosts}, rate = \"100Gbps\", delay = \"1us\" }}\n")
}

/// Servers with cards on separate rails.
fn rails(servers: u32, rails: u32, spines: u32) -> String {
    format!(
        "topology = {{ kind = \"rail-optimized\", servers = {servers}, rails = {rails}, spines = {spines}, \
         rate = \"100Gbps\", delay = \"1us\" }}\n"
    )
}

fn read(topology: &str, keys: &str) -> Result<Built, String> {
    let text = format!(
        "{topology}cc = {{ algorithm = \"constant\" }}\n[[traffic]]\nkind = \"collective\"\n{keys}\n"
    );
    let scenario = Scenario::from_toml(&text, "c.toml", &[]).map_err(|problems| problems.to_string())?;
    // What is written reads back as the same.
    let again = Scenario::from_toml(&scenario.effective_toml(), "c.toml", &[]);
    assert_eq!(again.as_ref(), Ok(&scenario));
    scenario.build().map_err(|problems| problems.to_string())
}

fn built(topology: &str, keys: &str) -> Built {
    read(topology, keys).unwrap()
}

fn refused(topology: &str, keys: &str) -> String {
    read(topology, keys).unwrap_err()
}

fn go(built: &Built) -> RunResult {
    common::go("collectives", "seed = 1\n", built, &RunOptions::default())
}

/// A column of the table of jobs; a missing value is -1.
fn column(result: &RunResult, name: &str) -> Vec<i64> {
    let table = result.table(TableName::Jobs).unwrap();
    let columns = table.batches.iter().map(|batch| batch.column_by_name(name).unwrap());
    columns
        .flat_map(|column| {
            column.as_primitive::<Int64Type>().iter().map(|v| v.unwrap_or(-1)).collect::<Vec<_>>()
        })
        .collect()
}

/// Every flow as `0>1 250`.
fn flows(built: &Built) -> Vec<String> {
    let flows = built.simulation.flows.iter();
    flows.map(|flow| format!("{}>{} {}", flow.source, flow.destination, flow.size.get())).collect()
}

fn payloads(built: &Built, of: impl Fn(u32) -> bool) -> BTreeSet<u64> {
    let flows = built.simulation.flows.iter().filter(|flow| of(flow.source));
    flows.map(|flow| flow.size.get()).collect()
}

/// For every operation the hosts whose beginning it has surely heard of: its own, and those that the flows which it or
/// those before it received come from.
fn heard(built: &Built) -> Vec<BTreeSet<u32>> {
    let operations = &built.simulation.operations;
    let senders: BTreeMap<u32, usize> = (0..)
        .zip(operations)
        .filter_map(|(number, operation)| match operation.what {
            What::Send { flow } => Some((flow, number)),
            _ => None,
        })
        .collect();
    let mut heard: Vec<BTreeSet<u32>> = Vec::new();
    for operation in operations {
        let mut of = BTreeSet::from([operation.host]);
        for other in &operation.after {
            assert_eq!(operations[*other as usize].host, operation.host);
            of.extend(&heard[*other as usize]);
        }
        if let What::Receive { flow } = operation.what {
            of.extend(&heard[senders[&flow]]);
        }
        heard.push(of);
    }
    heard
}

/// Hosts of whose beginning each host has heard when all that it received has arrived.
fn heard_of(built: &Built) -> Vec<BTreeSet<u32>> {
    let mut of = vec![BTreeSet::new(); built.simulation.network.hosts as usize];
    for (operation, heard) in built.simulation.operations.iter().zip(heard(built)) {
        of[operation.host as usize].extend(heard);
    }
    of
}

const COMBINATIONS: [(&str, &[&str]); 5] = [
    ("all-reduce", &["ring", "tree", "halving-doubling", "direct", "hierarchical"]),
    ("all-gather", &["ring", "halving-doubling", "direct", "hierarchical"]),
    ("reduce-scatter", &["ring", "halving-doubling", "direct", "hierarchical"]),
    ("broadcast", &["ring", "tree", "halving-doubling", "direct", "hierarchical"]),
    ("all-to-all", &["direct", "hierarchical"]),
];

/// Every combination on hosts, and on servers of two and of four GPUs: every host hears of all others, or of the root; the
/// run ends, and no job is faster than its bound.
#[test]
fn every_host_hears_of_all_others() {
    for (operation, algorithms) in COMBINATIONS {
        for algorithm in algorithms {
            for (topology, hosts, inner) in [
                (star(4), 4, "inner = 2"),
                (star(6), 6, "inner = 3"),
                (rails(3, 2, 1), 3, ""),
                (rails(4, 4, 1), 4, ""),
            ] {
                let inner = if *algorithm == "hierarchical" { inner } else { "" };
                let keys = format!(
                    "operation = \"{operation}\"\nalgorithm = \"{algorithm}\"\nsize = \"64KB\"\npasses = 2\n{inner}"
                );
                let built = built(&topology, &keys);
                let heard = heard_of(&built);
                let all: BTreeSet<u32> = (0..hosts).collect();
                for (host, heard) in (0..).zip(&heard) {
                    let of_root = operation == "broadcast" && heard.contains(&0);
                    assert!(of_root || *heard == all, "{keys}: {host} {heard:?}");
                }
                let result = go(&built);
                let [jct, bound] = ["jct_ps", "bound_ps"].map(|name| column(&result, name)[0]);
                assert!(jct >= bound && bound > 0, "{keys}: {jct} {bound}");
            }
        }
    }
}

/// 4,000 B on four hosts: three steps of a packet of 1054 B, each of which takes 84,320 ps on two links and 1 us on each.
/// The last one is acknowledged 2,010,240 ps after its arrival.
#[test]
fn an_all_gather_by_a_ring_to_the_picosecond() {
    let built = built(&star(4), "operation = \"all-gather\"\nsize = \"4000B\"");
    assert_eq!(flows(&built)[..5], ["0>1 1000", "1>2 1000", "2>3 1000", "3>0 1000", "0>1 1000"]);
    assert_eq!(built.simulation.flows.len(), 12);
    let result = go(&built);
    let step = 2 * 84_320 + 2_000_000;
    // A host acknowledges before it sends on, in 64 B of 5,120 ps, twice on the way of the step.
    let jct = column(&result, "jct_ps")[0];
    let least = 3 * step + 2_010_240;
    assert_eq!(column(&result, "bound_ps"), [least]);
    assert!((least..=least + 2 * 3 * 5_120).contains(&jct), "{jct} {least}");
    // size / time, and of that three quarters.
    assert_eq!(
        column(&result, "algbw_bps"),
        [i64::try_from(32_000_000_000_000_000_i128 / i128::from(jct)).unwrap()]
    );
    assert_eq!(
        column(&result, "busbw_bps"),
        [i64::try_from(24_000_000_000_000_000_i128 / i128::from(jct)).unwrap()]
    );
}

/// The root sends to three others at once: three packets one after the other on its link.
#[test]
fn a_direct_broadcast_to_the_picosecond() {
    let built =
        built(&star(4), "operation = \"broadcast\"\nalgorithm = \"direct\"\nsize = \"1000B\"\nroot = 2");
    assert_eq!(flows(&built), ["2>3 1000", "2>0 1000", "2>1 1000"]);
    let result = go(&built);
    let jct = 3 * 84_320 + 1_000_000 + 84_320 + 1_000_000 + 2_010_240;
    assert_eq!(column(&result, "jct_ps"), [jct]);
    assert_eq!(column(&result, "algbw_bps"), [8_000_000_000_000_000 / jct]);
    assert_eq!(column(&result, "busbw_bps"), column(&result, "algbw_bps"));
}

/// A chain of four hosts passes on three pieces: the last one leaves the root two packets later, and takes three hops.
#[test]
fn a_broadcast_by_a_chain_to_the_picosecond() {
    let keys = "operation = \"broadcast\"\nsize = \"3000B\"\nchunk = \"1000B\"";
    let built = built(&star(4), keys);
    assert_eq!(flows(&built)[..4], ["0>1 1000", "1>2 1000", "2>3 1000", "0>1 1000"]);
    let result = go(&built);
    let least = 2 * 84_320 + 3 * (2 * 84_320 + 2_000_000) + 2_010_240;
    let jct = column(&result, "jct_ps")[0];
    // Acknowledgements of 5,120 ps hold data up.
    assert!((least..least + 12 * 5_120).contains(&jct), "{jct} {least}");
}

/// Bytes of 840 B that each rank sends, by hand: n ranks send (n − 1) / n of them in each half of an all-reduce.
#[test]
fn flows_and_bytes_of_some_numbers_of_hosts() {
    for hosts in [2_u32, 3, 4, 5, 8] {
        let n = u64::from(hosts);
        for (operation, algorithm, number, size) in [
            ("all-reduce", "ring", 2 * n * (n - 1), 840 / n),
            ("all-gather", "ring", n * (n - 1), 840 / n),
            ("reduce-scatter", "ring", n * (n - 1), 840 / n),
            ("broadcast", "ring", n - 1, 840),
            ("all-reduce", "direct", 2 * n * (n - 1), 840 / n),
            ("all-gather", "direct", n * (n - 1), 840 / n),
            ("reduce-scatter", "direct", n * (n - 1), 840 / n),
            ("all-to-all", "direct", n * (n - 1), 840 / n),
            ("broadcast", "direct", n - 1, 840),
            ("broadcast", "tree", 2 * (n - 1), 420),
            ("all-reduce", "tree", 4 * (n - 1), 420),
        ] {
            let keys = format!("operation = \"{operation}\"\nalgorithm = \"{algorithm}\"\nsize = \"840B\"");
            let built = built(&star(hosts), &keys);
            assert_eq!(built.simulation.flows.len() as u64, number, "{keys}");
            assert_eq!(payloads(&built, |_| true), BTreeSet::from([size]), "{keys}");
        }
    }
    let halving = |operation: &str, hosts| {
        flows(&built(
            &star(hosts),
            &format!("operation = \"{operation}\"\nalgorithm = \"halving-doubling\"\nsize = \"840B\""),
        ))
        .join(" ")
    };
    assert_eq!(halving("all-reduce", 2), "0>1 420 1>0 420 0>1 420 1>0 420");
    assert_eq!(
        halving("reduce-scatter", 4),
        "0>2 420 1>3 420 2>0 420 3>1 420 0>1 210 1>0 210 2>3 210 3>2 210"
    );
    assert_eq!(halving("all-gather", 3), "0>1 280 1>2 560 2>1 280 1>0 560");
    assert_eq!(halving("all-reduce", 3), "0>1 840 1>2 420 2>1 420 1>2 420 2>1 420 1>0 840");
    assert_eq!(
        halving("broadcast", 4),
        "0>2 420 0>1 210 2>3 210 0>1 210 1>0 210 2>3 210 3>2 210 0>2 420 1>3 420 2>0 420 3>1 420"
    );
}

/// Two servers of two GPUs, in rails that nothing joins: each GPU exchanges half with its like, as in NCCL's algorithms.
#[test]
fn gpus_of_equal_number_exchange_their_part() {
    let hierarchical = |operation: &str| {
        built(
            &rails(2, 2, 0),
            &format!("operation = \"{operation}\"\nalgorithm = \"hierarchical\"\nsize = \"4000B\""),
        )
    };
    for (operation, number, size) in [
        ("all-reduce", 8, 1000),
        ("all-gather", 4, 1000),
        ("reduce-scatter", 4, 1000),
        ("all-to-all", 4, 2000),
    ] {
        let built = hierarchical(operation);
        assert_eq!(built.simulation.flows.len(), number, "{operation}");
        for flow in &built.simulation.flows {
            assert_eq!((flow.cards[0], flow.size.get()), (flow.cards[1], size), "{operation}");
            assert!(flow.cards[0].is_some());
        }
    }
    // Each to each needs spines.
    let direct = refused(&rails(2, 2, 0), "operation = \"all-to-all\"\nsize = \"4000B\"");
    assert!(direct.contains("there is no path from h0.0 to h1.1"), "{direct}");
    // A ring of four ranks has a channel for each card, and one edge between the servers in each direction: 3 / 4 of 2,000 B.
    let ring = built(&rails(2, 2, 0), "operation = \"all-gather\"\nsize = \"4000B\"");
    assert_eq!(ring.simulation.flows.len(), 2 * 2 * 3);
    assert!(
        ring.simulation.flows.iter().all(|flow| flow.size.get() == 500 && flow.cards[0] == flow.cards[1])
    );
    // Whole hosts: halves of the bytes on each of two cards.
    let hosts = built(&rails(2, 2, 0), "operation = \"all-gather\"\nsize = \"4000B\"\nranks = \"hosts\"");
    assert_eq!(flows(&hosts), ["0>1 1000", "1>0 1000", "0>1 1000", "1>0 1000"]);
}

/// Channels of the same cards have a connection each: two of two GPUs in both directions, or four of two cards.
#[test]
fn channels_have_connections_of_their_own() {
    for (keys, number) in [("algorithm = \"hierarchical\"\nchannels = 2", 8), ("channels = 4", 8)] {
        let built = built(&rails(2, 2, 0), &format!("operation = \"all-reduce\"\nsize = \"64KB\"\n{keys}"));
        let connections: BTreeSet<_> = built.simulation.flows.iter().map(|flow| flow.connection).collect();
        assert_eq!(connections.len(), number, "{keys}");
    }
}

/// Size, factor and time are as in nccl-tests for all operations.
#[test]
fn bandwidths_are_those_of_nccl_tests() {
    let of = |hosts, keys: &str| {
        let result = go(&built(&star(hosts), keys));
        let [jct, algbw, busbw] = ["jct_ps", "algbw_bps", "busbw_bps"].map(|name| column(&result, name)[0]);
        (i128::from(jct), i128::from(algbw), i128::from(busbw))
    };
    let rate = |bytes: i128, ps: i128| bytes * 8_000_000_000_000 / ps;
    for (operation, numerator, denominator) in [
        ("all-reduce", 6, 4),
        ("all-gather", 3, 4),
        ("reduce-scatter", 3, 4),
        ("broadcast", 1, 1),
        ("all-to-all", 3, 4),
    ] {
        let chunk = if operation == "broadcast" { "chunk = \"50KB\"" } else { "" };
        let (jct, algbw, busbw) = of(4, &format!("operation = \"{operation}\"\nsize = \"1MB\"\n{chunk}"));
        assert_eq!((algbw, busbw), (rate(1_000_000, jct), rate(1_000_000 * numerator / denominator, jct)));
        // Of a link of 100 Gbps, with headers and delays.
        assert!(busbw > 60_000_000_000 && busbw < 94_900_000_000, "{operation} {busbw}");
    }
    // Three passes of 300 KB with two computations of 50 us, which do not count.
    let (jct, algbw, _) =
        of(3, "operation = \"all-gather\"\nsize = \"300KB\"\npasses = 3\ncompute = \"50us\"");
    assert!(jct > 100_000_000);
    assert_eq!(algbw, rate(900_000, jct - 100_000_000));
    // The most that a host has to send or to receive: 1 + 2 + 3 KB for host 1, of which it keeps 2.
    let matrix = "[[\"0B\", \"1KB\", \"0B\"], [\"1KB\", \"2KB\", \"3KB\"], [\"0B\", \"1KB\", \"0B\"]]";
    let (jct, algbw, busbw) = of(3, &format!("operation = \"all-to-all\"\nmatrix = {matrix}"));
    assert_eq!((algbw, busbw), (rate(6_000, jct), rate(4_000, jct)));
}

/// The kinds that were there before.
#[test]
fn rings_and_all_to_all_have_bandwidths_too() {
    let of = |traffic: &str| {
        let text = format!("{}cc = {{ algorithm = \"constant\" }}\n[[traffic]]\n{traffic}\n", star(4));
        let result = go(&Scenario::from_toml(&text, "c.toml", &[]).unwrap().build().unwrap());
        ["jct_ps", "algbw_bps", "busbw_bps"].map(|name| i128::from(column(&result, name)[0]))
    };
    let rate = |bytes: i128, ps: i128| bytes * 8_000_000_000_000 / ps;
    for steps in [true, false] {
        let [jct, algbw, busbw] = of(&format!(
            "kind = \"ring-allreduce\"\nsize = \"400KB\"\npasses = 2\ncompute = \"9us\"\nsteps = {steps}"
        ));
        assert_eq!([algbw, busbw], [rate(800_000, jct - 9_000_000), rate(1_200_000, jct - 9_000_000)]);
    }
    // Each sends 100 KB to each of four, itself included.
    let [jct, algbw, busbw] = of("kind = \"all-to-all\"\nsize = \"100KB\"");
    assert_eq!([algbw, busbw], [rate(400_000, jct), rate(300_000, jct)]);
    let [_, algbw, busbw] = of("kind = \"all-to-all\"\nsize = \"100KB\"\nexperts = [0.1, 0.2, 0.3, 0.4]");
    assert_eq!([algbw, busbw], [-1, -1]);
    let [_, algbw, _] = of("kind = \"hsdp\"\nsize = \"100KB\"\ngpus = 2");
    assert_eq!(algbw, -1);
}

/// A host begins the second pass when it has received all of the first one, its own flows are acknowledged, and it has
/// computed.
#[test]
fn passes_follow_each_other() {
    let built =
        built(&star(3), "operation = \"all-gather\"\nsize = \"3000B\"\npasses = 2\ncompute = \"5us\"");
    let operations = &built.simulation.operations;
    let computations: Vec<_> =
        operations.iter().filter(|operation| matches!(operation.what, What::Compute { .. })).collect();
    assert_eq!(computations.len(), 3);
    // Two sends and two receives.
    assert!(computations.iter().all(|operation| operation.after.len() == 4));
    let result = go(&built);
    let one = 2 * (2 * 84_320 + 2_000_000) + 2_010_240;
    let jct = column(&result, "jct_ps")[0];
    assert!((2 * one + 5_000_000..=2 * one + 5_000_000 + 8 * 5_120).contains(&jct), "{jct}");
}

#[test]
fn matrices_may_be_in_files() {
    let folder = common::Scratch::new("collectives");
    let path = folder.write("m.csv", "# from each to each\n1KB, 2KB, 0B\n3KB, 1KB, 4KB\n\n0B; 0B; 9KB\n");
    let keys = format!("operation = \"all-to-all\"\nmatrix = {path:?}");
    assert_eq!(flows(&built(&star(3), &keys)), ["0>1 2000", "1>2 4000", "1>0 3000"]);
    let rails = |keys: &str| built(&rails(2, 2, 1), keys);
    // Ranks 0 and 1 on host 0: what they have for rank 2 crosses by card 0, that for rank 3 by card 1.
    let four = "[[\"0B\", \"0B\", \"1B\", \"2B\"], [\"0B\", \"0B\", \"4B\", \"8B\"], \
                [\"0B\", \"16B\", \"0B\", \"0B\"], [\"0B\", \"0B\", \"0B\", \"0B\"]]";
    let keys = format!("operation = \"all-to-all\"\nalgorithm = \"hierarchical\"\nmatrix = {four}");
    let sent: Vec<_> = rails(&keys)
        .simulation
        .flows
        .iter()
        .map(|flow| (flow.source, flow.destination, flow.cards[0], flow.size.get()))
        .collect();
    assert_eq!(sent, [(0, 1, Some(0), 5), (0, 1, Some(1), 10), (1, 0, Some(1), 16)]);
    let wrong = |text: &str| {
        let path = folder.write("w.csv", text);
        refused(&star(3), &format!("operation = \"all-to-all\"\nmatrix = {path:?}"))
    };
    assert!(wrong("1KB, 2KB\n3KB, 4KB\n").contains("has 2 rows for 3 ranks"));
    assert!(wrong("1KB, 2KB, 3KB\n1KB, 2KB\n1B,1B,1B").contains("w.csv:2: 2 cells in a matrix of 3 columns"));
    assert!(wrong("1KB, 2, 3KB\n").contains("w.csv:1:6: matrix: \"2\""));
}

#[test]
fn what_does_not_exist_is_refused() {
    let of = |keys: &str| refused(&star(6), keys);
    let cases = [
        (
            "operation = \"all-gather\"\nalgorithm = \"tree\"\nsize = \"1MB\"",
            "= \"tree\" does not exist for all-gather; write \"ring\" or \"halving-doubling\" or \"direct\" or \"hierarchical\"",
        ),
        (
            "operation = \"all-to-all\"\nalgorithm = \"ring\"\nsize = \"1MB\"",
            "write \"direct\" or \"hierarchical\"",
        ),
        ("operation = \"all-to-all\"", "size: is missing; write it, or a matrix"),
        ("operation = \"all-reduce\"", "size: is missing; write it"),
        ("operation = \"all-reduce\"\nsize = \"5B\"", "5B cannot be divided into 6 parts"),
        (
            "operation = \"all-reduce\"\nsize = \"1MB\"\nroot = 1",
            "root: has no effect: the operation has no root",
        ),
        ("operation = \"broadcast\"\nsize = \"1MB\"\nroot = 6", "there is no rank 6; the ranks are 0 to 5"),
        ("operation = \"all-reduce\"\nsize = \"1MB\"\nchunk = \"1KB\"", "chunk: has no effect"),
        ("operation = \"all-reduce\"\nsize = \"1MB\"\ninner = 2", "inner: has no effect"),
        ("operation = \"all-reduce\"\nsize = \"1MB\"\ncompute = \"1us\"", "compute: has no effect"),
        ("operation = \"all-reduce\"\nsize = \"1MB\"\nalgorithm = \"hierarchical\"", "inner: is missing"),
        (
            "operation = \"all-reduce\"\nsize = \"1MB\"\nalgorithm = \"hierarchical\"\ninner = 4",
            "6 ranks do not make two or more groups of 4",
        ),
        ("operation = \"all-reduce\"\nsize = \"1MB\"\nmatrix = [[\"1B\"]]", "matrix"),
        ("operation = \"all-to-all\"\nmatrix = [[\"1B\"]]", "has 1 row for 6 ranks"),
        ("operation = \"all-reduce\"\nsize = \"1GB\"\npasses = 1000000", "at most 20000000 are possible"),
        ("operation = \"broadcast\"\nsize = \"1000000GB\"\nchunk = \"1B\"", "at most 20000000 are possible"),
    ];
    for (keys, message) in cases {
        let said = of(keys);
        assert!(said.contains(message), "{keys}: {said}");
    }
}
