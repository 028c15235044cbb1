//! Runs of scenarios, for the tests.
#![allow(unreachable_pub, reason = "each test file has it as a module")]

use std::ops::ControlFlow;

use incast_lab::Built;
use incast_lab::run::{Job, RunOptions, RunResult, run};

/// Runs what a scenario describes.
pub fn go(name: &str, scenario: &str, built: &Built, options: &RunOptions) -> RunResult {
    let job = Job {
        simulation: &built.simulation,
        name,
        scenario,
        groups: &built.groups,
        algorithms: &built.algorithms,
        jobs: &built.jobs,
    };
    run(&job, options, &mut |_| ControlFlow::Continue(())).unwrap()
}
