//! Deadlock: pauses that can never end, because each waits for another one.
//!
//! With PFC a switch that has asked the far end of a port to pause asks it to resume when enough packets that came
//! from there have left. If all of them wait at ports that are paused themselves, by nodes of which the same is true,
//! none of these pauses ends, whatever happens elsewhere. With backpressure flow control a pause ends when each packet
//! that asked for it has left, so that one that cannot is enough. [`find`] computes the set of such pauses: it begins
//! with all of them and removes those that can end until nothing changes.

use incast_engine::model::Hold;
use incast_net::describe::network::{NodeId, PortId};
use incast_net::describe::switch::Switch;
use incast_net::packet::PFC_FRAME;
use incast_net::pause_map::MAP_BITS;
use incast_net::routing::route::Routes;
use incast_units::{Bytes, Time};

use crate::facts::fabric::Fabric;

/// A port of a node.
pub(crate) type At = (NodeId, PortId);

/// Returns the time from the request of a pause until no packet that was sent before it took effect is still
/// on its link: the pause waits for its time, for one packet and for the other frames, and travels, and so
/// does the last packet that was begun before it came.
pub(crate) fn settles_in(fabric: &Fabric, switch: &Switch) -> Time {
    let routes = &fabric.routes;
    let links = (0..routes.ports.len() as NodeId).flat_map(|node| routes.largest_ports(node));
    let longest = links.map(|out| out.delay).max().unwrap_or_default();
    let slowest = fabric.rates.first().copied().unwrap_or_default();
    let frame = Bytes::new(u64::from(PFC_FRAME));
    let packet = slowest.time_for(fabric.largest_packet.max(frame));
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
