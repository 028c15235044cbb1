//! The speed of a workload on many threads, computed from runs on one; `docs/dev/threads.md` says how and shows results.

use incast_sim::record::End;
use incast_sim::scaling::{Computed, Costs, Division};

use super::{Silence, workload};

/// Runs of which each visit's shortest time counts.
const TRACES: usize = 3;

/// The cost of threads: a meeting takes .3 us for 2 threads and 1.6 us for 16.
const COSTS: Costs = Costs { meeting: (100, 95), take: 100, post: 60, mail: 60 };

/// Prints a table of the speed on 2 to 32 threads, for each way to divide the nodes.
pub(crate) fn print(name: &str, overrides: &[&str]) -> Result<(), String> {
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    let mut simulation = workload(name, &overrides)?;
    simulation.threads = 1;
    let traced = || {
        let (outcome, trace) =
            incast_sim::run_traced(&simulation, &mut Silence).map_err(|e| e.to_string())?;
        match outcome.end {
            End::Finished => Ok(trace),
            end => Err(format!("{name}: {end:?}")),
        }
    };
    let mut trace = traced()?;
    for _ in 1..TRACES {
        trace.keep_shorter(&traced()?);
    }
    let (windows, visits, time) = (trace.windows(), trace.visits(), trace.time());
    println!(
        "{name}: {windows} windows of {:.1} us of work, {:.1} visits each; loads as counted are {:.2} of the time\n",
        time as f64 / windows as f64 / 1e3,
        visits as f64 / windows as f64,
        trace.load() as f64 / time as f64,
    );
    println!("threads   fixed   dealt  (deals, fewest threads, foreign)   nodes");
    for threads in [2, 4, 8, 16, 32] {
        let on = |division| trace.on(threads, division, COSTS);
        let gain = |computed: u64| time as f64 / computed as f64;
        let Computed { time, deals, fewest, foreign } = on(Division::Dealt);
        println!(
            "{threads:>7} {:>7.2} {:>7.2} {:>34} {:>7.2}",
            gain(on(Division::Fixed).time),
            gain(time),
            format!("({deals}, {fewest}, {:.1} %)", foreign as f64 / 10.0),
            gain(on(Division::Nodes).time),
        );
    }
    Ok(())
}

/// Runs a workload on one thread in the parts that `threads` threads would share; prints its hops.
pub(crate) fn alone(name: &str, threads: &str, overrides: &[&str]) -> Result<(), String> {
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    let threads = threads.parse().map_err(|e| format!("{threads}: {e}"))?;
    let simulation = workload(name, &overrides)?;
    let outcome = incast_sim::run_alone(&simulation, threads, &mut Silence).map_err(|e| e.to_string())?;
    println!("{} {:016x}", outcome.hops, outcome.fingerprint);
    Ok(())
}
