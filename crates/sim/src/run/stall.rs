//! Diagnosis of a stalled run: what the flows wait for.

use incast_net::record::Stall;

use super::slot::Slot;
use crate::facts::Facts;
use crate::node::Behaviour;

/// Maximum number of flows, and of operations, in a diagnosis.
const NAMED: usize = 20;

/// Determines what waits for what. `slots` are sorted by node.
pub(crate) fn diagnose(slots: &[Slot], facts: &Facts) -> Stall {
    let mut stall = Stall::default();
    for slot in slots {
        for waiting in slot.node.waits(facts) {
            stall.unfinished += 1;
            stall.flows.push(waiting);
        }
    }
    for slot in slots {
        stall.operations.extend(slot.node.operation_waits());
    }
    stall.operations.sort_unstable();
    stall.operations.truncate(NAMED);
    stall.flows.sort_unstable();
    stall.flows.truncate(NAMED);
    stall
}
