//! The nodes of a description.

use std::collections::{BTreeMap, BTreeSet};

use incast_net::Invalid;
use incast_net::describe::Simulation;
use incast_net::describe::impairments::LinkErrors;
use incast_net::describe::network::{Clock, Detection, Link, NodeId, PortId};
use incast_net::random::mix;
use incast_net::rules::Corruption;
use incast_units::Time;

use super::slot::{Change, LinkEvent, Slot};
use crate::facts::Facts;
use crate::host::program::Step;
use crate::host::transport::Shared;
use crate::node::Behaviour;
use crate::nodes::Node;

/// Number in the streams of bit errors.
const OF_ERRORS: u64 = 0x6269_7465_7272_6f72;

/// Makes the nodes as they are at the beginning.
///
/// # Errors
/// When a part of the description does not fit its node.
pub(super) fn nodes(facts: &Facts, simulation: &Simulation) -> Result<Vec<Slot>, Invalid> {
    let network = &simulation.network;
    let transports = Shared::prepare(simulation, facts.flows()).map_err(Invalid)?;
    let mut slots = Vec::with_capacity(network.nodes.len());
    for id in 0..network.nodes.len() as NodeId {
        let body = Node::new(id, facts, simulation, &transports)
            .map_err(|problem| Invalid(format!("{}: {problem}", network.nodes[id as usize])))?;
        let Detection { switches, hosts } = network.detection;
        let delay = if network.is_host(id) { hosts } else { switches };
        slots.push(Slot::new(id, body, changes(facts, id, delay)));
    }
    let sampled: BTreeSet<u32> = simulation.probes.flows.iter().copied().collect();
    for (index, flow) in simulation.served() {
        let ends = two(&mut slots, flow.source, flow.destination).map(Node::host);
        let [Some(source), Some(destination)] = ends else {
            return Err(Invalid(format!("flow {index} does not join two hosts")));
        };
        let from = source.next_outgoing();
        let to = destination.add_incoming(index, from);
        let is_sent = facts.hosts.work.graph.sender(index).is_some();
        source.add_outgoing(Step { flow: index, peer: to }, is_sent, sampled.contains(&index));
    }
    for slot in slots.iter_mut().filter(|_| network.clock == Clock::Free) {
        for port in 0..network.ports(slot.id) {
            let id = slot.id;
            if let Some(wire) = slot.node.egress_mut(port) {
                wire.follow_own_clock(simulation.seed, id, port);
            }
        }
    }
    for LinkErrors { link, rate, burst } in &simulation.impairments.errors {
        let Some(&Link { a, b, .. }) = network.links.get(*link as usize) else {
            return Err(Invalid(format!("link {link} has errors, of {} links", network.links.len())));
        };
        for (node, port) in [a, b] {
            if let Some(wire) = slots[node as usize].node.egress_mut(port) {
                let stream =
                    mix(mix(mix(simulation.seed) ^ mix(OF_ERRORS ^ u64::from(node) << 16)) ^ u64::from(port));
                wire.corrupt(Corruption::new(*rate, *burst, stream));
            }
        }
    }
    for slot in &mut slots {
        for (port, timeline) in facts.fabric().routes.timeline.ports_of(slot.id) {
            if let Some(wire) = slot.node.egress_mut(port) {
                wire.expect(timeline);
            }
        }
    }
    let probes = &simulation.probes;
    for &(node, port) in &probes.captures {
        if let Some(wire) = slots.get_mut(node as usize).and_then(|s| s.node.egress_mut(port)) {
            wire.capture(node);
        }
    }
    for slot in slots.iter_mut().filter(|_| probes.pauses) {
        for port in 0..facts.fabric().routes.ports[slot.id as usize].len() {
            let node = slot.id;
            if let Some(wire) = slot.node.egress_mut(port as PortId) {
                wire.pauses_recorded = Some(node);
            }
        }
    }
    for slot in &mut slots {
        slot.sample(&simulation.probes);
    }
    Ok(slots)
}

/// Returns the changes at a node, which needs so long to notice a failure, in the order of time: its links, then its
/// routes.
fn changes(facts: &Facts, node: NodeId, delay: Time) -> Vec<(u64, Change)> {
    let timeline = &facts.fabric().routes.timeline;
    let mut changes: Vec<(u64, Change)> = Vec::new();
    for (port, link) in timeline.ports_of(node) {
        let mut of_link: BTreeMap<u64, LinkEvent> = BTreeMap::new();
        link.states().for_each(|(time, state)| of_link.entry(time).or_default().state = Some(state));
        link.noticed(0).into_iter().for_each(|(time, up)| of_link.entry(time).or_default().turns = Some(up));
        for (time, up) in link.noticed(delay.ps()) {
            of_link.entry(time).or_default().noticed = Some(up);
        }
        changes.extend(of_link.into_iter().map(|(time, event)| (time, Change::Link(port, event))));
    }
    if let Some(mut before) = facts.fabric().routes.tables.of(node) {
        let later = facts.fabric().routes.epochs.iter();
        for (time, table) in later.filter_map(|(time, tables)| Some((time, tables.of(node)?))) {
            if table != before {
                before = table;
                changes.push((*time, Change::Routes(table.clone())));
            }
        }
    }
    changes.sort_by_key(|(time, change)| (*time, matches!(change, Change::Routes(_))));
    changes
}

/// The bodies of two different nodes.
fn two(slots: &mut [Slot], a: NodeId, b: NodeId) -> [&mut Node; 2] {
    let (low, high) = (a.min(b) as usize, a.max(b) as usize);
    let (first, second) = slots.split_at_mut(high);
    let (low, high) = (&mut first[low].node, &mut second[0].node);
    if a < b { [low, high] } else { [high, low] }
}
