//! Deadlock: pauses that can never end, because each waits for another one.
//!
//! With PFC a switch that has asked the far end of a port to pause asks it to resume when enough packets that came
//! from there have left. If all of them wait at ports that are paused themselves, by nodes of which the same is true,
//! none of these pauses ends, whatever happens elsewhere. With backpressure flow control a pause ends when each packet
//! that asked for it has left, so that one that cannot is enough. [`find`] computes the set of such pauses: it begins
//! with all of them and removes those that can end until nothing changes.

use incast_units::{Bytes, Time};

use super::node::Behaviour;
use super::world::{Slot, World};
use crate::describe::network::{NodeId, PortId};
use crate::describe::switch::Switch;
use crate::packet::PFC_FRAME;
use crate::pause_map::MAP_BITS;
use crate::route::Routes;

/// A port of a node.
pub(crate) type At = (NodeId, PortId);

/// A pause that a node has asked of a queue at the far end of one of its ports, and that ends only if pauses of its
/// own queues do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    /// The port through which the packets came.
    pub(crate) port: PortId,
    /// The queue at the far end.
    pub(crate) queue: u16,
    /// The paused ports and queues at which they wait.
    pub(crate) waits_at: Vec<(PortId, u16)>,
    /// Whether all of these must stay paused for this pause to stay; if not, one is enough.
    pub(crate) all: bool,
}

/// The holds of these nodes whose pauses were asked for by `before`.
pub(crate) fn holds<'a>(slots: impl Iterator<Item = &'a Slot>, before: u64) -> Vec<(NodeId, Hold)> {
    slots.flat_map(|slot| slot.node.holds(before).into_iter().map(|hold| (slot.id, hold))).collect()
}

/// Returns the time from the request of a pause until no packet that was sent before it took effect is still
/// on its link: the pause waits for its time, for one packet and for the other frames, and travels, and so
/// does the last packet that was begun before it came.
pub(crate) fn settles_in(world: &World, switch: &Switch) -> Time {
    let routes = &world.routes;
    let links = (0..routes.ports.len() as NodeId).flat_map(|node| routes.largest_ports(node));
    let longest = links.map(|out| out.delay).max().unwrap_or_default();
    let slowest = world.rates.first().copied().unwrap_or_default();
    let frame = Bytes::new(u64::from(PFC_FRAME));
    let packet = slowest.time_for(world.largest_packet().max(frame));
    let (frames, interval) = match &switch.bfc {
        Some(bfc) => (u64::from(MAP_BITS), bfc.interval.unwrap_or(longest)),
        None => (u64::from(switch.queues), Time::ZERO),
    };
    (longest + packet).times(2) + packet + slowest.time_for(frame).times(frames) + interval
}

/// A cycle of ports that wait for each other among these holds; empty if there is none. Each port is paused
/// by the node of the next one.
pub(crate) fn find(mut holds: Vec<(NodeId, Hold)>, routes: &Routes) -> Vec<At> {
    let key = |(node, hold): &(NodeId, Hold)| (*node, hold.port, hold.queue);
    holds.sort_unstable_by_key(key);
    // The hold of the node that has paused this queue of a port.
    let pausing = |holds: &[(NodeId, Hold)], node: NodeId, (port, queue): (PortId, u16)| {
        let far = routes.ports[node as usize][usize::from(port)];
        holds.binary_search_by_key(&(far.node, far.port, queue), key)
    };
    loop {
        let stays = |(node, hold): &(NodeId, Hold)| {
            let mut stay = hold.waits_at.iter().map(|at| pausing(&holds, *node, *at).is_ok());
            if hold.all { stay.all(|stays| stays) } else { stay.any(|stays| stays) }
        };
        let left: Vec<_> = holds.iter().filter(|hold| stays(hold)).cloned().collect();
        if left.len() == holds.len() {
            break;
        }
        holds = left;
    }
    // Every hold that is left leads to another one, so that the way from any of them ends in a cycle.
    let mut way: Vec<(usize, At)> = Vec::new();
    let mut at = (!holds.is_empty()).then_some(0);
    while let Some(index) = at {
        if let Some(first) = way.iter().position(|(met, _)| *met == index) {
            return way[first..].iter().map(|(_, port)| *port).collect();
        }
        let (node, hold) = &holds[index];
        let next = hold.waits_at.iter().find_map(|at| Some((at.0, pausing(&holds, *node, *at).ok()?)));
        at = next.map(|(port, next)| {
            way.push((index, (*node, port)));
            next
        });
    }
    Vec::new()
}
