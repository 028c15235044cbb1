//! Why nothing moves: PFC deadlock, or what the flows wait for.

use super::world::{Node, Slot, World};
use crate::describe::network::{NodeId, PortId};
use crate::record::Stall;
use crate::route::Routes;

/// A port of a node.
type At = (NodeId, PortId);

/// Most flows named in a diagnosis.
const NAMED: usize = 20;

/// Finds out what waits on what. `slots` are sorted by node.
pub(crate) fn diagnose(slots: &[Slot], world: &World) -> Stall {
    let mut stall = Stall { deadlock: deadlock(slots, &world.routes), ..Stall::default() };
    for slot in slots {
        let Node::Host(host) = &slot.node else { continue };
        for waiting in host.waits(world) {
            stall.unfinished += 1;
            stall.flows.push(waiting);
        }
    }
    stall.flows.sort_unstable();
    stall.flows.truncate(NAMED);
    stall
}

/// A cycle of paused ports: port A is paused because the node at its far end holds packets that came
/// from A and wait in a port B that is paused itself, and so on back to A.
fn deadlock(slots: &[Slot], routes: &Routes) -> Vec<At> {
    let waits_on = |(node, port): At| -> Vec<At> {
        let far = routes.ports[node as usize][usize::from(port)];
        let Some(Node::Switch(switch)) = slots.get(far.node as usize).map(|s| &s.node) else {
            return Vec::new();
        };
        let holds = |egress: &crate::switch::Egress| {
            egress.queues.iter().any(|(q, p)| p.ingress == far.port && egress.wire.is_paused(q))
        };
        let ports = switch.ports.iter().enumerate();
        ports
            .filter(|(_, e)| e.wire.is_paused_at_all() && holds(e))
            .map(|(i, _)| (far.node, i as PortId))
            .collect()
    };
    let mut paused: Vec<At> = Vec::new();
    for slot in slots {
        if let Node::Switch(switch) = &slot.node {
            let ports = switch.ports.iter().enumerate().filter(|(_, e)| e.wire.is_paused_at_all());
            paused.extend(ports.map(|(i, _)| (slot.id, i as PortId)));
        }
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
