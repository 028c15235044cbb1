//! `[run]`: when the run ends, and the clocks of its nodes.

use incast_sim::Simulation;
use incast_sim::describe::network::Clock;
use incast_sim::describe::reuse::{Draws, Reuse};
use incast_sim::describe::switch::Buffer;
use incast_sim::describe::transport::{Kind, Transport};
use incast_units::Time;

use super::scope::{Effect, Scope, Sections};
use super::switch;
use crate::cc::Cc;
use crate::grammar::reading::Reading;
use crate::grammar::section::{choice, section};
use crate::grammar::setting::Bound;
use crate::problem::fault;
use crate::topology::Topology;

choice!(Clock);
choice!(Reuse);
choice!(Draws);

section! {
    /// End of the run, and clocks.
    pub(crate) struct Run {
        /// Simulated time at which the run ends even if flows are unfinished; by default it ends with the last
        /// flow.
        until: Option<Time> = None; Bound::Positive,
        /// The run is ended as stalled when no packet has arrived anywhere for this long while flows are
        /// unfinished, and no retransmission timer is to expire that has not been doubled as often as it can.
        stall_after: Time = Time::from_s(1); Bound::Positive,
        /// The clocks of hosts and switches; by default "100ppm" where an algorithm of the group loss (New Reno) may
        /// lose packets to a full queue, and "exact" everywhere else.
        clock: Option<Clock> = None,
        /// Parts of the run that repeat an earlier part exactly, as the passes of a training job may.
        reuse: Reuse = Reuse::Off,
        /// Random draws about packets of connections: which ones are marked, and which paths they take.
        draws: Draws = Draws::PerPacket,
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
        if self.draws == Draws::PerPass && scope.sections.transport.kind != Kind::Window {
            let message = "has no effect: the transport keeps no connections from one message to the next";
            reading.fault("run", fault("draws", message.to_owned()));
        }
        if self.clock == Some(Clock::Free)
            && let Some(reason) = needs_exact_clocks(&scope.sections)
        {
            reading.fault("run", fault("clock", format!("must be \"exact\" here: {reason}")));
        }
    }
}

/// Says that captures do not go with draws that come again: the packets then have another number in the place of their
/// position.
pub(crate) fn check_captures(simulation: &Simulation, reading: &mut Reading) {
    if simulation.draws == Draws::PerPass && !simulation.probes.captures.is_empty() {
        let message = "must be \"per-packet\" where packets are captured (probe.captures)";
        reading.fault("run", fault("draws", message.to_owned()));
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

/// Returns why clocks must be exact here, if they must.
fn needs_exact_clocks(sections: &Sections<'_>) -> Option<&'static str> {
    let Sections { switch, topology, .. } = sections;
    let reasons = [
        (switch.pfc.is_some(), "headroom of PFC is exact to the byte"),
        (switch.bfc.is_some(), "buffers under BFC are exact to the byte"),
        (matches!(topology, Topology::Rotor(_)), "all nodes know the days of circuits"),
    ];
    reasons.into_iter().find(|(applies, _)| *applies).map(|(_, reason)| reason)
}

/// Returns the clocks of a run that names none. With exact ones a queue that is full drops the packets of the same port
/// again and again, and an algorithm that decides by losses is locked to it; other ones decide before a queue is full.
fn usual_clock(sections: &Sections<'_>) -> Clock {
    let drops = needs_exact_clocks(sections).is_none()
        && sections.switch.trimming.is_none()
        && switch::sizes(sections.switch).any(|(_, size)| size != Buffer::Unlimited);
    if drops && sections.controls().any(Cc::decides_by_losses) { Clock::Free } else { Clock::Exact }
}

/// Returns the time limit of the run, the time after which it counts as stalled, and the clocks of its nodes.
pub(crate) fn settings(section: &Run, sections: &Sections<'_>) -> (Time, Time, Clock) {
    let Run { until, stall_after, clock, reuse: _, draws: _ } = section;
    let clock = clock.unwrap_or_else(|| usual_clock(sections));
    (until.unwrap_or(Time::NEVER), *stall_after, clock)
}
