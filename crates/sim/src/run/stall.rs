//! Diagnosis of a stalled run: what the flows wait for.

use incast_net::record::Stall;

use super::slot::Slot;
use crate::facts::flows::FlowFacts;

/// Maximum number of flows, and of operations, in a diagnosis.
const NAMED: usize = 20;

/// Determines what waits for what. `slots` are sorted by node.
pub(crate) fn diagnose(slots: &[Slot], facts: &FlowFacts) -> Stall {
    let mut stall = Stall::default();
    for slot in slots {
        slot.node.inspect().each_flow(facts, &mut |flow| {
            stall.unfinished += 1;
            stall.flows.push((flow.flow(), flow.waits_for()));
        });
    }
    for slot in slots {
        stall.operations.extend(slot.node.inspect().operation_waits());
    }
    stall.operations.sort_unstable();
    stall.operations.truncate(NAMED);
    stall.flows.sort_unstable();
    stall.flows.truncate(NAMED);
    stall
}
