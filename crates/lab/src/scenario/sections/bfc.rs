//! `[switch.bfc]`: backpressure flow control.

use incast_cc::Fixed;
use incast_sim::describe::bfc::{Bfc, Resume, Signal};
use incast_sim::describe::switch::{MAX_QUEUES, Scheduler};
use incast_units::Time;

use super::scope::{Effect, Idle, Scope, Sections};
use crate::grammar::reading::Reading;
use crate::grammar::section::{choice, section};
use crate::grammar::setting::Bound;
use crate::problem::fault;

choice!(Resume);
choice!(Signal);

section! {
    /// Backpressure flow control (BFC): a switch pauses single queues of its neighbours and single flows of
    /// hosts.
    for Bfc with its defaults {
        /// Queues for data at each port of a switch; control packets have another one, which is served first.
        queues: u8; Bound::Count(1, MAX_QUEUES as u64 - 1) => "OSCAR's paper, BFC-32; the authors' simulator has 31",
        /// A queue is paused when it holds more than this times 2 × delay of the link by which the packet came ×
        /// rate of the port, divided by the number of queues with data that are not paused.
        factor: Fixed; Bound::Positive => "the authors' simulator; OSCAR's: 1",
        /// Time at which a packet that found more in its queue ceases to have the queue paused from which it came.
        resume: Resume => "chosen here; last-packet: the simulators of BFC's and of OSCAR's authors",
        /// Way to tell the far end of a link.
        signal: Signal => "the authors' simulator; OSCAR's: at-once",
        /// With signal = "map": time between two maps; by default the delay of the link.
        interval: Option<Time>; Bound::Positive,
        /// Entries of a port's table of flows for each queue. Flows with the same entry have the same queue.
        entries: u32; Bound::Count(1, 1_000_000) => "the authors' simulator; OSCAR's: 100",
        /// A flow without packets in the port keeps its queue for this times 2 × delay of the link by which its
        /// next packet comes.
        sticky: u32; Bound::Count(0, 1_000_000) => "the authors' simulator; OSCAR's: 2",
        /// Whether a packet causes no pause if its flow has no other in the port.
        single_packet: bool => "the authors' simulator; OSCAR's: false",
    }
}

/// The scheduler of switches that name none.
pub(super) fn usual_scheduler(bfc: Option<&Bfc>) -> Scheduler {
    if bfc.is_some() { Scheduler::RoundRobin } else { Scheduler::StrictPriority }
}

impl Effect for Bfc {
    fn idle(&self, sections: &Sections<'_>, idle: &mut Idle) {
        if self.signal != Signal::Map {
            idle.add("switch.bfc.interval", "has no effect: switch.bfc.signal is not \"map\"");
        }
        let reason = "has no effect: with [switch.bfc] its own number of queues applies";
        idle.add("switch.queues", reason);
        if sections.switch.scheduler == Scheduler::Drr {
            idle.add("switch.quanta", "has no effect: with [switch.bfc] all queues have the same quantum");
        }
        idle.add(
            "switch.strict",
            "has no effect: with [switch.bfc] only the queue of control packets is strict",
        );
        let reason = "has no effect: with [switch.bfc] switches assign packets to queues";
        idle.add("transport.ack_queue", reason);
        idle.add("transport.cnp_queue", reason);
    }

    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        let switch = scope.sections.switch;
        if switch.pfc.is_some() {
            reading
                .fault("switch", fault("bfc", "a fabric has either [switch.pfc] or [switch.bfc], not both"));
        }
        if !matches!(switch.scheduler, Scheduler::RoundRobin | Scheduler::Drr) {
            let message = "with [switch.bfc] queues are served by \"round-robin\" (the default) or \"drr\"";
            reading.wrong_key("switch.scheduler", message);
        }
        let links = scope.fabric.into_iter().flat_map(|fabric| &fabric.network.links);
        if let Some(problem) = links.into_iter().find_map(|link| self.problem_at(link.rate, link.delay)) {
            let message = fault("interval", problem).with_hint("give a longer switch.bfc.interval");
            reading.fault("switch.bfc", message);
        }
    }
}
