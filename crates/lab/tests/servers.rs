//! Links inside of servers, by hand: messages between GPUs of one host take their time and no network.
#![allow(missing_docs, reason = "a test")]

mod common;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use incast_lab::results::TableName;
use incast_lab::run::{RunOptions, RunResult};
use incast_lab::{Built, Scenario};

/// Two servers with four cards each of 100 Gbps and 1 us; a GPU sends 10 Gbps within its server (800 ps a byte) and what
/// it sends needs 500 ns.
fn text(rails: u32, server: &str, traffic: &str) -> String {
    format!(
        "topology = {{ kind = \"rail-optimized\", servers = 2, rails = {rails}, spines = 1, rate = \"100Gbps\", \
         delay = \"1us\" }}\ncc = {{ algorithm = \"constant\" }}\n{server}\n[[traffic]]\n{traffic}"
    )
}

const SERVER: &str = "server = { local_rate = \"10Gbps\", local_delay = \"500ns\" }";

fn built(traffic: &str) -> Built {
    Scenario::from_toml(&text(4, SERVER, traffic), "servers.toml", &[]).unwrap().build().unwrap()
}

fn go(built: &Built) -> RunResult {
    common::go("servers", "seed = 1\n", built, &RunOptions::default())
}

fn column(result: &RunResult, table: TableName, name: &str) -> Vec<i64> {
    let table = result.table(table).unwrap();
    let columns = table.batches.iter().map(|batch| batch.column_by_name(name).unwrap());
    columns.flat_map(|column| column.as_primitive::<Int64Type>().values().to_vec()).collect()
}

fn ratio(result: &RunResult) -> f64 {
    let table = result.table(TableName::Jobs).unwrap();
    table.batches[0].column_by_name("bound_ratio").unwrap().as_primitive::<Float64Type>().value(0)
}

/// Each of eight GPUs sends 1 MB to the three others of its server, one message after the other, each 800 us: the last has
/// left after 2,400 us and is there 500 ns later. The 4 MB to the other server leave its card within 340 us, beside that.
#[test]
fn a_gpu_sends_one_message_after_the_other_to_those_of_its_server() {
    let built = built("kind = \"all-to-all\"\nsize = \"1MB\"\n");
    // Nothing of it enters the network.
    assert!(built.simulation.flows.iter().all(|flow| flow.source != flow.destination));
    assert_eq!(built.simulation.flows.len(), 8 * 4);
    let result = go(&built);
    assert_eq!(column(&result, TableName::Jobs, "jct_ps"), [2_400_500_000]);
    // The bound has the time in which the messages leave.
    assert_eq!(column(&result, TableName::Jobs, "bound_ps"), [2_400_000_000]);
    assert!(ratio(&result) > 1.0);
}

/// A rank begins the second pass when it has all messages of the first one: 10 us + 2 · 2,400.5 us.
#[test]
fn a_pass_waits_for_the_messages_within_its_server() {
    let built = built(
        "kind = \"collective\"\noperation = \"all-to-all\"\nsize = \"8MB\"\npasses = 2\nstart = \"10us\"\n",
    );
    let result = go(&built);
    let ends = column(&result, TableName::Operations, "end_ps");
    assert_eq!(ends.last(), Some(&(10_000_000 + 2 * 2_400_500_000)));
    assert_eq!(column(&result, TableName::Jobs, "start_ps"), [10_000_000]);
    // Two messages that leave at once from different GPUs do not wait for each other: the first of each GPU has left at 810 us.
    let left = ends.iter().filter(|end| **end == 810_000_000).count();
    assert_eq!(left, 8);
}

/// Rank 0 sends 1,000,000 B to rank 1 of its server (800 us and 500 ns), which then computes 1 us and sends 1000 B to rank 4
/// on the other one, over a rail, a spine and another rail: 4 us, and 84,320 ps on each of four links.
#[test]
fn messages_of_a_trace_take_the_links_of_the_server() {
    let folder = common::Scratch::new("servers");
    let ranks: String =
        (2..8).filter(|rank| *rank != 4).map(|rank| format!("rank {rank} {{\n}}\n")).collect();
    let goal = format!(
        "num_ranks 8\nrank 0 {{\na: send 1000000b to 1 tag 1\n}}\nrank 1 {{\na: recv 1000000b from 0 tag 1\n\
         b: calc 1000\nb requires a\nc: send 1000b to 4 tag 2\nc requires b\n}}\n\
         rank 4 {{\na: recv 1000b from 1 tag 2\n}}\n{ranks}"
    );
    let path = folder.write("local.goal", goal);
    let result = go(&built(&format!("kind = \"goal-file\"\nfile = {path:?}\n")));
    let delivered = column(&result, TableName::Flows, "delivered_ps");
    assert_eq!(delivered, [800_500_000 + 1_000_000 + 4_000_000 + 4 * 84_320]);
    assert!((ratio(&result) - 1.0).abs() < 1e-12);
}

/// Without the section they take no time, as before.
#[test]
fn without_the_section_they_take_no_time() {
    let text = text(4, "", "kind = \"all-to-all\"\nsize = \"1MB\"\n");
    let built = Scenario::from_toml(&text, "servers.toml", &[]).unwrap().build().unwrap();
    assert_eq!(column(&go(&built), TableName::Operations, "end_ps").len(), 2 * 8 * 4);
}

#[test]
fn a_section_without_effect_is_refused() {
    let said = |rails, traffic| {
        let text = text(rails, SERVER, traffic);
        Scenario::from_toml(&text, "servers.toml", &[]).map(drop).unwrap_err().to_string()
    };
    let ring = said(4, "kind = \"ring-allreduce\"\nsize = \"1MB\"\n");
    assert!(ring.contains("server: has no effect: no block of traffic has messages within a host"), "{ring}");
    let single = said(1, "kind = \"all-to-all\"\nsize = \"1MB\"\n");
    assert!(single.contains("server: has no effect: each host has one network card"), "{single}");
}
