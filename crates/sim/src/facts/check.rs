//! Checks of a description before it runs.

use incast_cc::Fixed;
use incast_net::describe::Simulation;
use incast_net::describe::flow::Flow;
use incast_net::describe::network::{Clock, NodeId, NodeKind, PortId};
use incast_net::describe::transport::{AckEvery, BaseRtt, FirstWindow, Kind as TransportKind};
use incast_net::describe::work::What;
use incast_net::packet::{LARGEST_ORIGIN, LARGEST_SLOT};
use incast_units::{Bytes, Rate, Time};

use super::fabric::Fabric;
use super::flows::{FlowFacts, Way};
use crate::recovery::keeps;

/// End of the time that is simulated, 2⁶³ ps or 106 days: with what a packet takes beyond it, a time is still counted.
pub(crate) const HORIZON: Time = Time::from_ps(1 << 63);

/// Checks what does not follow from the facts alone.
///
/// # Errors
/// When the description contradicts itself: what to say.
pub(super) fn check(simulation: &Simulation, facts: &FlowFacts) -> Result<(), String> {
    let fail = |text: String| Err(text);
    let network = &simulation.network;
    if simulation.transport.payload == Bytes::ZERO {
        return fail("the payload of a packet must be above zero".into());
    }
    if facts.fabric.largest_packet > Bytes::new(u64::from(u16::MAX)) {
        return fail(format!("a packet of {} is larger than 65535 B", facts.fabric.largest_packet));
    }
    match simulation.transport.ack_every {
        AckEvery::Packets(packets) if !(1..=AckEvery::MOST_COVERED).contains(&packets) => {
            return fail(format!("an acknowledgement covers 1 to 255 packets, not {packets}"));
        }
        AckEvery::Bytes(Bytes::ZERO) => return fail("an acknowledgement covers more than 0 B".into()),
        AckEvery::Packets(_) | AckEvery::Bytes(_) => {}
    }
    if keeps(simulation.transport.recovery) && simulation.flows.len() > LARGEST_SLOT as usize {
        return fail(format!("selective repeat is possible with at most {LARGEST_SLOT} flows"));
    }
    let ndp = &simulation.transport.ndp;
    if ndp.first_window == FirstWindow::Packets(0) || ndp.pull_rate <= Fixed::ZERO || ndp.rto == Time::ZERO {
        return fail("the first window, the pull rate and the timeout of NDP must be above zero".into());
    }
    if simulation.transport.repair_threshold == 0 {
        return fail("a packet is lost after 1 or more later ones have arrived, not 0".into());
    }
    if let Some(problem) = simulation.switch.problem() {
        return fail(problem);
    }
    if simulation.switch.trimming.is_some() {
        if simulation.transport.kind == TransportKind::Window && !keeps(simulation.transport.recovery) {
            return fail(
                "trimming needs selective repeat: go-back-N discards what arrives after a hole".into(),
            );
        }
        let ends = facts.fabric.routes.attachment.len();
        if simulation.flows.len().max(ends) > LARGEST_ORIGIN as usize {
            return fail(format!(
                "trimming is possible with at most {LARGEST_ORIGIN} hosts, their cards and flows"
            ));
        }
    }
    let receivers = &simulation.impairments.receivers;
    for (i, receiver) in receivers.iter().enumerate() {
        if receiver.host >= network.hosts || receiver.rate == Rate::ZERO {
            return fail(format!("node {} takes packets at {}", receiver.host, receiver.rate));
        }
        if receivers[..i].iter().any(|other| other.host == receiver.host) {
            return fail(format!("host {} takes packets in two ways", receiver.host));
        }
    }
    let flow_control = simulation.switch.pfc.is_some() || simulation.switch.bfc.is_some();
    if network.clock == Clock::Free && (flow_control || network.circuits.is_some()) {
        return fail("nodes have clocks of their own only without PFC, BFC and circuits".into());
    }
    let switch = &simulation.switch;
    if facts.fabric.circuits.is_some()
        && (switch.pfc.is_some() || switch.bfc.is_some() || switch.trimming.is_some())
    {
        return fail(
                "circuits are possible only without PFC and BFC, whose frames an optical switch does not read, and \
                 without trimming".into(),
            );
    }
    let own = simulation.switch.buffers.iter().flat_map(|own| &own.switches);
    let is_switch = |node: NodeId| matches!(network.kind(node), NodeKind::Switch | NodeKind::Tor);
    if let Some(node) = own.copied().find(|n| *n as usize >= network.nodes.len() || !is_switch(*n)) {
        return fail(format!("a buffer is given for node {node}, which is no switch"));
    }
    if !simulation.flows.is_sorted_by_key(|f| f.start) {
        return fail("flows must be sorted by their start".into());
    }
    if let Some(problem) = beyond_horizon(simulation, facts) {
        return fail(problem);
    }
    if let Some(problem) = out_of_order(simulation) {
        return fail(problem);
    }
    if simulation.transport.ack_size == Some(Bytes::ZERO) {
        return fail("the size of an acknowledgement must be above zero".into());
    }
    if simulation.probes.port_interval.min(simulation.probes.flow_interval) == Time::ZERO {
        return fail("the time between two samples must be above zero".into());
    }
    if simulation.transport.base_rtt == BaseRtt::Value(Time::ZERO) {
        return fail("the base RTT given to algorithms must be above zero".into());
    }
    for (i, flow) in simulation.flows.iter().enumerate() {
        let hosts = simulation.network.hosts;
        if flow.source >= hosts || flow.destination >= hosts || flow.source == flow.destination {
            return fail(format!("flow {i} goes from host {} to {}", flow.source, flow.destination));
        }
        if let Some(problem) = cards(i as u32, simulation, facts) {
            return fail(format!("flow {i} {problem}"));
        }
        if facts.transport.kind.is_controlled() && usize::from(flow.algorithm) >= facts.algorithms.len() {
            return fail(format!("flow {i} names algorithm {}", flow.algorithm));
        }
        if let Some(problem) = simulation.balancing.problem(flow.balancing, simulation.switch.path) {
            return fail(format!("flow {i}: {problem}"));
        }
        if flow.queue >= simulation.switch.queues {
            return fail(format!("flow {i} names queue {}", flow.queue));
        }
        if flow.size == Bytes::ZERO {
            return fail(format!("flow {i} has nothing to send"));
        }
        if flow.is_open_ended() && simulation.until == Time::NEVER {
            return fail(format!("flow {i} would never end: it has neither a size nor a stop, nor the run"));
        }
    }
    Ok(())
}

/// Says what is wrong with the cards that a flow names, if anything is.
fn cards(index: u32, Simulation { network, flows, .. }: &Simulation, facts: &FlowFacts) -> Option<String> {
    let Flow { source, destination, cards, .. } = flows[index as usize];
    let Fabric { routes, paths, .. } = &facts.fabric;
    let name = |(host, card): (NodeId, Option<PortId>)| {
        let name = &network.nodes[host as usize];
        card.map_or_else(|| name.clone(), |card| format!("card {card} of {name}"))
    };
    let ends = [(source, cards[0]), (destination, cards[1])];
    let ports = |host: NodeId| routes.ports[host as usize].len();
    if let Some(end) =
        ends.iter().find(|(host, card)| card.is_some_and(|card| usize::from(card) >= ports(*host)))
    {
        return Some(format!("names {}, which has {} cards", name(*end), ports(end.0)));
    }
    let reaches = cards == [None; 2] || routes.reaches(paths, facts.ends(index, Way::Forth));
    (!reaches).then(|| format!("has no path from {} to {}", name(ends[0]), name(ends[1])))
}

/// Says what would take longer than can be simulated, if anything does.
fn beyond_horizon(simulation: &Simulation, facts: &FlowFacts) -> Option<String> {
    const LIMIT: &str = "the end of the time that can be simulated, 2^63 ps (106 days)";
    let Simulation { network, flows, until, .. } = simulation;
    let (routes, packet) = (&facts.fabric.routes, facts.fabric.largest_packet);
    if *until != Time::NEVER && *until > HORIZON {
        return Some(format!("the run would end at {until}, after {LIMIT}"));
    }
    let most = Time::from_ps(HORIZON.ps() / 2);
    let states = |node: NodeId| {
        let later = routes.timeline.ports_of(node).flat_map(|(_, link)| link.states());
        let later = later.map(|(_, state)| (state.rate, state.delay));
        routes.ports[node as usize].iter().map(|out| (out.rate, out.delay)).chain(later)
    };
    for (node, name) in (0..).zip(&network.nodes) {
        if let Some((rate, delay)) = states(node).find(|(rate, delay)| rate.time_for(packet) + *delay > most)
        {
            return Some(format!(
                "a packet of {packet} takes longer than {most} on a link of {name} ({rate}, {delay}), half of the time \
                 that can be simulated"
            ));
        }
    }
    let fastest: Vec<Rate> =
        (0..network.hosts).map(|host| states(host).map(|(rate, _)| rate).max().unwrap_or_default()).collect();
    flows.iter().enumerate().find_map(|(i, flow)| {
        if flow.start > HORIZON {
            return Some(format!("flow {i} would start at {}, after {LIMIT}", flow.start));
        }
        // Flows between hosts that do not exist are refused below.
        let rate = fastest.get(flow.source as usize).copied()?;
        let alone = flow.start + rate.time_for(flow.size);
        let is_late = *until == Time::NEVER && flow.has_known_end() && alone > HORIZON;
        is_late.then(|| {
            format!(
                "flow {i} has {} and would not have left at {rate} before {LIMIT}; run.until ends the run before it",
                flow.size
            )
        })
    })
}

/// Says what is wrong with the order of service, if anything is.
fn out_of_order(simulation: &Simulation) -> Option<String> {
    let Simulation { flows, order, operations, .. } = simulation;
    if order.is_empty() {
        return None;
    }
    let mut seen = vec![false; flows.len()];
    let mut is_new =
        |number: &u32| seen.get_mut(*number as usize).is_some_and(|seen| !core::mem::replace(seen, true));
    if order.len() != flows.len() || !order.iter().all(&mut is_new) {
        return Some("the order of service must have every flow once".into());
    }
    if !simulation.served().is_sorted_by_key(|(_, flow)| flow.start) {
        return Some("the order of service must be sorted by start".into());
    }
    let mut sent = vec![false; flows.len()];
    for operation in operations {
        if let What::Send { flow } = operation.what {
            sent[flow as usize] = true;
        }
    }
    let kept = order.iter().filter(|number| sent[**number as usize]).is_sorted();
    (!kept).then(|| "flows that operations send must keep the order of their numbers".into())
}
