//! `[run]`: when the run ends.

use incast_units::Time;

use super::scope::Effect;
use crate::grammar::section::section;
use crate::grammar::setting::Bound;

section! {
    /// End of the run.
    pub(crate) struct Run {
        /// Simulated time at which the run ends even if flows are unfinished; by default it ends with the last
        /// flow.
        until: Option<Time> = None; Bound::Positive,
        /// The run is ended as stalled when no packet has arrived anywhere for this long while flows are
        /// unfinished.
        stall_after: Time = Time::from_s(1); Bound::Positive,
    }
}

impl Effect for Run {}

/// Returns the time limit of the run, and the time after which it counts as stalled.
pub(crate) fn ends(section: &Run) -> (Time, Time) {
    let Run { until, stall_after } = section;
    (until.unwrap_or(Time::NEVER), *stall_after)
}
