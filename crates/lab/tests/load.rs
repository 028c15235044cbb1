//! Measured loads, and whether they are steady: against closed forms of queues.
#![allow(missing_docs, reason = "a test")]

mod common;

use incast_lab::Scenario;
use incast_lab::load::Load;
use incast_lab::run::{RunOptions, RunResult};

/// Runs a scenario with a seed; no invariant is violated.
fn run(text: &str, seed: u64) -> RunResult {
    let scenario =
        Scenario::from_toml(text, "load.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let scenario = scenario.with_seed(seed);
    let built = scenario.build().unwrap_or_else(|problems| panic!("{problems}"));
    let result = common::go("load", &scenario.effective_toml(), &built, &RunOptions::default());
    assert_eq!(result.outcome.violations, [""; 0]);
    result
}

fn load(result: &RunResult) -> &Load {
    let loads = &result.info.summary.as_ref().unwrap().loads;
    assert_eq!(loads.len(), 1);
    &loads[0]
}

/// One sender that serves its flows round robin at line rate, packet by packet.
fn sender(load: &str, more: &str) -> String {
    format!(
        "topology = {{ kind = \"star\", hosts = 2, rate = \"100Gbps\", delay = \"1ns\" }}\n\
         switch = {{ buffer = \"unlimited\" }}\ncc = {{ algorithm = \"constant\" }}\n\
         [[traffic]]\nkind = \"poisson\"\nfrom = \"h0\"\nto = \"h1\"\nload = {load}\n{more}"
    )
}

/// Round robin is processor sharing (M/D/1-PS): a flow that takes x alone takes x/(1 - rho) on average, where rho is the
/// load with headers. A flow of 20 packets takes 20 times 84,320 ps of the sender's link; what comes on top of that (the
/// switch, the delays, the acknowledgement) is the same with and without load.
#[test]
fn processor_sharing_at_a_steady_load() {
    for (share, rho) in [("0.5", 0.5 * 1.054), ("0.7", 0.7 * 1.054)] {
        let text = sender(share, "sizes = \"20KB\"\nwarmup = \"1ms\"\nduration = \"20ms\"\n");
        let alone = 20.0 * 84_320.0;
        // (20 + 1) packets there, two acknowledgements of 5,120 ps, four delays of 1 ns.
        let ideal = 21.0 * 84_320.0 + 2.0 * 5_120.0 + 4_000.0;
        let one = |seed| {
            let result = run(&text, seed);
            let load = load(&result);
            assert!(load.steady && load.tail, "{load:?}");
            assert!((load.offered - load.load).abs() < 0.1 * load.load, "{load:?}");
            // Offered less carried is the growth of the backlog, by definition.
            let carried = load.offered * (1.0 - load.growth.unwrap());
            assert!((load.carried.unwrap() - carried).abs() < 1e-9, "{load:?}");
            let slowdowns = &result.info.summary.as_ref().unwrap().slowdowns;
            let all = slowdowns.iter().find(|one| one.class == "all").unwrap();
            assert_eq!((all.flows, all.unfinished), (load.flows, 0));
            (all.slowdown.unwrap().mean * ideal - (ideal - alone)) / alone
        };
        let means: Vec<f64> = (1..=8).map(one).collect();
        let mean = means.iter().sum::<f64>() / 8.0;
        let variance = means.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 7.0;
        // With 7 degrees of freedom 99.9 % lie within 5.408 standard errors.
        let error = 5.408 * (variance / 8.0).sqrt();
        let theory = 1.0 / (1.0 - rho);
        assert!((mean - theory).abs() < error, "{share}: {mean} against {theory} +- {error}");
        assert!(error < 0.15 * theory, "the interval is too wide to prove anything: {error} of {theory}");
    }
}

/// Four hosts of a rack send 220 Gbps of payload to another rack over 200 Gbps, of which 200/1.054 are payload: of what is
/// offered 1 - 200/(220 * 1.054) = 13.75 % stay.
#[test]
fn an_overloaded_link_is_not_steady() {
    let text = "topology = { kind = \"leaf-spine\", leaves = 2, spines = 1, hosts = 4, rate = \"100Gbps\", delay = \"1us\", fabric_rate = \"200Gbps\" }\n\
                switch = { buffer = \"unlimited\" }\ncc = { algorithm = \"constant\" }\n\
                [[traffic]]\nkind = \"poisson\"\nsizes = \"20KB\"\nfrom = \"h0-h3\"\nto = \"h4-h7\"\nload = 0.55\n\
                warmup = \"1ms\"\nduration = \"4ms\"\n";
    for seed in 1..=3 {
        let result = run(text, seed);
        let load = load(&result);
        let growth = 1.0 - 200.0 / (load.offered * 400.0 * 1.054);
        assert!((load.growth.unwrap() - growth).abs() < 0.005, "{load:?} against {growth}");
        assert!((growth - 0.1375).abs() < 0.06, "{growth}");
        assert!((load.carried.unwrap() - 0.5 / 1.054).abs() < 0.001, "{load:?}");
        assert!(!load.steady && load.because[0].starts_with("its backlog grows by 1"), "{load:?}");
        let warning = result.info.warnings.last().unwrap();
        assert_eq!(warning.key.as_deref(), Some("traffic.poisson.load"));
        assert!(warning.problem.starts_with("the load of poisson is not steady because its backlog"));
    }
}

/// Some 73 flows a millisecond, of which the largest tenth has 2/3 of the bytes.
#[test]
fn a_short_window_with_heavy_tails_cannot_tell() {
    for seed in 1..=3 {
        let result =
            run(&sender("0.5", "sizes = \"WebSearch\"\nwarmup = \"5ms\"\nduration = \"10ms\"\n"), seed);
        let load = load(&result);
        assert!(load.growth_error.unwrap() > 0.1, "{load:?}");
        assert!(
            !load.steady && load.because.iter().any(|one| one.contains("is too short to tell")),
            "{load:?}"
        );
    }
}

/// A fixed number of flows has no load around it. With many of them hardly any notices.
#[test]
fn a_number_of_flows_is_steady_only_if_it_is_large() {
    let few = run(&sender("0.7", "sizes = \"20KB\"\nflows = 200\n"), 1);
    let text = load(&few).to_string();
    assert!(text.starts_with("not steady because its window of"), "{text}");
    assert_eq!((load(&few).flows, load(&few).uncounted, load(&few).tail), (200, 0, false));
    let many = run(&sender("0.7", "sizes = \"20KB\"\nflows = 20000\n"), 1);
    assert_eq!(load(&many).to_string(), "steady");
    assert_eq!(many.info.warnings, []);
}

/// Not all that counts is done when the run ends.
#[test]
fn a_run_that_ends_early_says_so() {
    let text = sender("0.9", "sizes = \"5MB\"\nwarmup = \"10ms\"\nduration = \"2ms\"\n")
        + "[run]\nuntil = \"12ms\"\n";
    let result = run(&text, 1);
    let reasons = &load(&result).because;
    assert!(reasons.iter().any(|one| one.starts_with("its arrivals end at 12ms with ")), "{reasons:?}");
    assert!(load(&result).carried.is_some());
    let outcome = result.info.outcome.as_ref().unwrap();
    assert!(
        outcome.flows_uncounted > 0 && outcome.why.ends_with("more made load and do not count"),
        "{outcome:?}"
    );
    assert_eq!(outcome.flows, load(&result).flows);
}
