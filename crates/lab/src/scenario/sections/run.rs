//! `[run]`: when the run ends, and the clocks of its nodes.

use incast_sim::describe::network::Clock;
use incast_sim::describe::transport::Transport;
use incast_units::Time;

use super::scope::{Effect, Scope};
use crate::grammar::reading::Reading;
use crate::grammar::section::{choice, section};
use crate::grammar::setting::Bound;
use crate::problem::fault;
use crate::topology::Topology;

choice!(Clock);

section! {
    /// End of the run, and clocks.
    pub(crate) struct Run {
        /// Simulated time at which the run ends even if flows are unfinished; by default it ends with the last
        /// flow.
        until: Option<Time> = None; Bound::Positive,
        /// The run is ended as stalled when no packet has arrived anywhere for this long while flows are
        /// unfinished, and no retransmission timer is to expire that has not been doubled as often as it can.
        stall_after: Time = Time::from_s(1); Bound::Positive,
        /// The clocks of hosts and switches.
        clock: Clock = Clock::Exact,
    }
}

impl Effect for Run {
    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        if let Some((key, timeout)) = scope.sections.transport.timeout()
            && self.stall_after < timeout
        {
            let message = format!(
                "is shorter than {key} = \"{timeout}\": after a loss nothing arrives for that long, and the run goes on"
            );
            let hint = format!("at least \"{timeout}\", or leave it out");
            reading.fault("run", fault("stall_after", message).with_hint(hint));
        }
        if self.clock == Clock::Exact {
            return;
        }
        let switch = scope.sections.switch;
        let reasons = [
            (switch.pfc.is_some(), "headroom of PFC is exact to the byte"),
            (switch.bfc.is_some(), "buffers under BFC are exact to the byte"),
            (matches!(scope.sections.topology, Topology::Rotor(_)), "all nodes know the days of circuits"),
        ];
        for (_, reason) in reasons.into_iter().filter(|(applies, _)| *applies) {
            let problem = fault("clock", format!("must be \"exact\" here: {reason}"));
            reading.fault("run", problem);
        }
    }
}

/// Gives a run with a long timeout as long a time after which it counts as stalled, unless the scenario has one.
pub(super) fn imply_patience(run: &mut Run, transport: &Transport, reading: &Reading) {
    if let Some((_, timeout)) = transport.timeout()
        && !reading.written("run.stall_after")
    {
        run.stall_after = run.stall_after.max(timeout);
    }
}

/// Returns the time limit of the run, the time after which it counts as stalled, and the clocks of its nodes.
pub(crate) fn settings(section: &Run) -> (Time, Time, Clock) {
    let Run { until, stall_after, clock } = section;
    (until.unwrap_or(Time::NEVER), *stall_after, *clock)
}
