//! Verdicts on a run: warnings that are known only at its end. They follow those about the scenario in the
//! list of the result.

use incast_sim::Simulation;

use super::recorder::Output;
use crate::problem::Problem;

/// Everything from which a verdict can be reached.
pub(super) struct Ended<'a> {
    /// The simulation that ran.
    pub(super) simulation: &'a Simulation,
    /// Its tables.
    pub(super) output: &'a Output,
}

/// A verdict, if there is something to say.
type Verdict = fn(&Ended<'_>) -> Option<Problem>;

/// All verdicts, in the order of the list. A new one is a function and a line here.
const VERDICTS: &[Verdict] = &[lost_captures];

/// Returns the verdicts on a run.
pub(super) fn verdicts(ended: &Ended<'_>) -> Vec<Problem> {
    VERDICTS.iter().filter_map(|verdict| verdict(ended)).collect()
}

/// Captured packets exist only in a file.
fn lost_captures(ended: &Ended<'_>) -> Option<Problem> {
    let is_lost = !ended.simulation.probes.captures.is_empty() && !ended.output.is_on_disk();
    is_lost.then(|| {
        Problem::new("captured packets are not kept: they go to a file, and this run has no folder")
            .about("probe.captures")
            .with_hint("give the run a folder for its result")
    })
}
