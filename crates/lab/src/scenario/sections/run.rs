//! `[run]`: when the run ends.

use incast_sim::Simulation;
use incast_units::Time;

use super::{Effect, Scope};
use crate::grammar::reading::Reading;
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

impl Effect for Run {
    fn apply(&self, _: &Scope<'_>, simulation: &mut Simulation, _: &mut Reading) {
        simulation.until = self.until.unwrap_or(Time::NEVER);
        simulation.stall_after = self.stall_after;
    }
}
