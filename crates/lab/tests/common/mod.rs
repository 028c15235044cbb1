//! Runs of scenarios, for the tests.
#![allow(unreachable_pub, reason = "each test file has it as a module")]

use std::ops::ControlFlow;

use incast_lab::Built;
use incast_lab::run::{RunOptions, RunResult, run};

/// Runs what a scenario describes.
pub fn go(name: &str, scenario: &str, built: &Built, options: &RunOptions) -> RunResult {
    let job = built.job(name, scenario);
    run(&job, options, &mut |_| ControlFlow::Continue(())).unwrap()
}
