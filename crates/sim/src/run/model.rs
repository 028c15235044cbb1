//! The facts as the model that the engine runs.

use incast_engine::model::{Hold, Model};
use incast_net::describe::network::{NodeId, Out, PortId};
use incast_net::record::Progress;
use incast_net::record::tally::Counts;
use incast_units::Time;

use super::deadlock;
use super::slot::Slot;
use crate::facts::Facts;

impl Model for Facts<'_> {
    type Node = Slot;

    fn ports(&self) -> &[Vec<Out>] {
        &self.fabric().routes.ports
    }

    fn hosts(&self) -> usize {
        self.fabric().routes.hosts()
    }

    fn shortest_delay(&self, node: NodeId, port: PortId, out: &Out) -> Time {
        self.fabric().routes.timeline.shortest_delay(node, port, out)
    }

    fn is_complete(&self, counts: &Counts) -> bool {
        counts.counted + counts.flows_left_out == self.flows().counted
            && counts.ended + counts.operations_left_out == self.hosts.work.operations.len() as u64
    }

    fn earliest_end(&self, counts: &Counts, now: u64) -> u64 {
        self.flows().ending.earliest(counts, now)
    }

    fn is_active(&self, counts: &Counts) -> bool {
        counts.started > counts.finished
    }

    fn progress(&self, now: Time, counts: &Counts) -> Progress {
        Progress { now, flows_finished: counts.counted, flows: self.flows().counted, hops: counts.hops }
    }

    fn is_deadlock(&self, holds: Vec<(NodeId, Hold)>) -> bool {
        !deadlock::find(holds, &self.fabric().routes).is_empty()
    }
}
