//! Diagnosis of a stalled run: a PFC deadlock, or what the flows wait for.

use super::node::Behaviour;
use super::world::{Slot, World};
use crate::describe::network::{NodeId, PortId};
use crate::record::Stall;
use crate::route::Routes;

/// A port of a node.
type At = (NodeId, PortId);

/// Maximum number of flows, and of operations, in a diagnosis.
const NAMED: usize = 20;

/// Determines what waits for what. `slots` are sorted by node.
pub(crate) fn diagnose(slots: &[Slot], world: &World) -> Stall {
    let mut stall = Stall { deadlock: deadlock(slots, &world.routes), ..Stall::default() };
    for slot in slots {
        for waiting in slot.node.waits(world) {
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

/// A cycle of paused ports: port A is paused because the node at its far end holds packets that came
/// from A and are queued at a port B that is paused itself, and so on back to A.
fn deadlock(slots: &[Slot], routes: &Routes) -> Vec<At> {
    let waits_on = |(node, port): At| -> Vec<At> {
        let far = routes.ports[node as usize][usize::from(port)];
        let blocked = slots.get(far.node as usize).map(|slot| slot.node.blocks(far.port));
        blocked.unwrap_or_default().into_iter().map(|port| (far.node, port)).collect()
    };
    let mut paused: Vec<At> = Vec::new();
    for slot in slots.iter().filter(|slot| slot.node.spreads_pauses()) {
        let of_node = slot.node.wires().filter(|(_, wire)| wire.is_paused_at_all());
        paused.extend(of_node.map(|(port, _)| (slot.id, port)));
    }
    // Depth first from every paused port; a port met again on the way closes a cycle.
    let mut done: Vec<At> = Vec::new();
    for &start in &paused {
        let mut way: Vec<(At, Vec<At>)> = vec![(start, waits_on(start))];
        while let Some((at, rest)) = way.last_mut() {
            let at = *at;
            let Some(next) = rest.pop() else {
                done.push(at);
                way.pop();
                continue;
            };
            if let Some(first) = way.iter().position(|(p, _)| *p == next) {
                return way[first..].iter().map(|(p, _)| *p).collect();
            }
            if !done.contains(&next) {
                way.push((next, waits_on(next)));
            }
        }
    }
    Vec::new()
}
