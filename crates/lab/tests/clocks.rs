//! Clocks of a scenario that names none: of their own where an algorithm that decides by losses may lose packets to a full
//! queue, exact everywhere else.

mod common;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use incast_lab::Scenario;
use incast_lab::results::TableName;
use incast_lab::run::RunOptions;
use incast_sim::describe::network::Clock;

/// Six senders of a dumbbell with equal rates on all links and 150 KB at each port.
const DUMBBELL: &str = r#"
[topology]
kind = "dumbbell"
left = 6
right = 6
rate = "10Gbps"
delay = "5us"
[switch]
buffer = { per_port = "150KB" }
[transport]
recovery = "selective"
payload = "1460B"
rto = "5ms"
[cc]
algorithm = "newreno"
[[traffic]]
name = "long"
kind = "flows"
from = "h0-h5"
to = "h6-h11"
[run]
until = "100ms"
"#;

/// A block with the scenario's algorithm, and one with New Reno.
const BLOCKS: &str = "traffic=[{ name = \"a\", kind = \"flows\", from = \"h0\", to = \"h6\" }, \
    { name = \"b\", kind = \"flows\", from = \"h1\", to = \"h7\", cc = { algorithm = \"newreno\" } }]";

fn read(overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    Scenario::from_toml(DUMBBELL, "test.toml", &overrides).unwrap_or_else(|problems| panic!("{problems}"))
}

fn clock(overrides: &[&str]) -> Clock {
    let scenario = read(overrides);
    let clock = scenario.build().unwrap_or_else(|problems| panic!("{problems}")).simulation.network.clock;
    assert_eq!(scenario.has_own_clocks(), clock == Clock::Free, "{overrides:?}");
    clock
}

#[test]
fn clocks_differ_where_losses_decide() {
    let own: [&[&str]; 5] = [
        &[],
        &["switch.buffer=\"1MB\""],
        // Marks are no signal for it.
        &["switch.ecn={ kmin = \"10KB\", kmax = \"10KB\", pmax = 1.0 }"],
        &["switch.buffer=\"unlimited\"", "switch.buffers=[{ switches = [\"s1\"], buffer = \"1MB\" }]"],
        // One block of two.
        &["cc.algorithm=oscar", BLOCKS],
    ];
    for overrides in own {
        assert_eq!(clock(overrides), Clock::Free, "{overrides:?}");
    }
    let exact: [&[&str]; 6] = [
        &["run.clock=exact"],
        &["switch.buffer=\"unlimited\""],
        &["switch.pfc={}", "switch.buffer=\"1MB\""],
        &["cc.algorithm=oscar"],
        &["cc.algorithm=constant"],
        &["cc.algorithm=dctcp", "switch.ecn={ kmin = \"10KB\", kmax = \"10KB\", pmax = 1.0 }"],
    ];
    for overrides in exact {
        assert_eq!(clock(overrides), Clock::Exact, "{overrides:?}");
    }
    let trimmed = DUMBBELL.replace("buffer = { per_port = \"150KB\" }", "trimming = { data = \"80KB\" }");
    let built = Scenario::from_toml(&trimmed, "test.toml", &[]).unwrap().build().unwrap();
    assert_eq!(built.simulation.network.clock, Clock::Exact);
}

#[test]
fn another_algorithm_has_the_clocks_that_it_would_have_in_the_file() {
    let of = |scenario: &Scenario| scenario.build().unwrap().simulation.network.clock;
    let oscar = read(&[]).with_algorithm("oscar", &[]).unwrap();
    assert_eq!(of(&oscar), Clock::Exact);
    assert_eq!(of(&oscar.with_algorithm("newreno", &[]).unwrap()), Clock::Free);
    // Written, it stays.
    assert_eq!(of(&read(&["run.clock=100ppm"]).with_algorithm("oscar", &[]).unwrap()), Clock::Free);
    assert_eq!(
        of(&read(&["run.clock=exact", "cc.algorithm=oscar"]).with_algorithm("newreno", &[]).unwrap()),
        Clock::Exact
    );
}

#[test]
fn six_flows_of_new_reno_share_a_link_of_the_rate_of_their_own_links() {
    // Six alike flows with the same round-trip time should have a sixth each: an index of 1. With exact clocks one of them
    // is never dropped (Floyd and Jacobson 1992); if it had everything the index would be 1/6.
    let index = |overrides: &[&str]| {
        let built = read(overrides).build().unwrap();
        let ran = common::go("clocks", DUMBBELL, &built, &RunOptions::default());
        let table = ran.table(TableName::Flows).unwrap();
        let bytes: Vec<f64> = table
            .batches
            .iter()
            .flat_map(|batch| {
                batch.column_by_name("acked_bytes").unwrap().as_primitive::<Int64Type>().values()
            })
            .map(|bytes| *bytes as f64)
            .collect();
        assert_eq!(bytes.len(), 6);
        let (sum, squares) = (bytes.iter().sum::<f64>(), bytes.iter().map(|b| b * b).sum::<f64>());
        sum * sum / (6.0 * squares)
    };
    for seed in 1..=3 {
        let found = index(&[&format!("seed={seed}")]);
        println!("seed {seed}: {found:.3}");
        assert!(found >= 0.9, "seed {seed}: {found}");
    }
    let locked = index(&["run.clock=exact"]);
    println!("exact clocks: {locked:.3}");
    assert!(locked < 0.6, "{locked}");
}

/// Eight hosts at line rate to one, under PFC. With the computed headroom nothing is lost. With none, what comes after a
/// pause is, and the advice on ties is one that PFC permits.
#[test]
fn losses_under_pfc_are_warned_of_and_ties_there_need_another_remedy() {
    let said = |pfc: &str| {
        let text = format!(
            "topology = {{ kind = \"star\", hosts = 9, rate = \"100Gbps\", delay = \"5us\" }}\n\
             switch = {{ buffer = \"8MB\", pfc = {{ xoff = \"30KB\"{pfc} }} }}\ncc = {{ algorithm = \"constant\" }}\n\
             [[traffic]]\nkind = \"incast\"\nto = \"h0\"\nsize = \"300KB\"\n"
        );
        let scenario =
            Scenario::from_toml(&text, "pfc.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let built = scenario.build().unwrap_or_else(|problems| panic!("{problems}"));
        let ran = common::go("clocks", &text, &built, &RunOptions::default());
        let drops = ran.info.outcome.as_ref().unwrap().packets_dropped;
        let warnings: Vec<String> = ran.info.warnings.iter().map(|warning| format!("{warning:?}")).collect();
        (drops, warnings)
    };
    assert_eq!(said(""), (0, Vec::new()));
    for key in ["headroom = \"0B\"", "headroom_factor = 1"] {
        let (drops, warnings) = said(&format!(", {key}"));
        assert!(drops > 100, "{key}: {drops}");
        let lost = warnings.iter().find(|text| text.contains("packets of lossless queues were dropped"));
        let lost = lost.unwrap_or_else(|| panic!("{key}: {warnings:?}"));
        assert!(lost.contains(&format!("{drops} packets of lossless queues")), "{lost}");
        assert!(lost.contains(key.split(' ').next().unwrap()), "{lost}");
        assert!(warnings.iter().all(|text| !text.contains("100ppm")), "{warnings:?}");
    }
}
