//! From the names in `[probe]` to ports and flows.

use incast_sim::describe::flow::Flow;
use incast_sim::describe::network::{NodeId, PortId};
use incast_sim::describe::probe::Probes;
use incast_units::Time;

use super::check::Checked;
use super::reading::Reading;
use super::sections::Probe;
use super::suggest::nearest;
use crate::topology::Fabric;

/// The ports that a text names.
///
/// # Errors
/// When it names none.
pub(super) fn ports(text: &str, fabric: &Fabric) -> Result<Vec<(NodeId, PortId)>, String> {
    let network = &fabric.network;
    let nodes = network.nodes.len() as NodeId;
    let all = |node: NodeId| (0..network.ports(node)).map(move |port| (node, port));
    let node = |name: &str| -> Result<NodeId, String> {
        let name = name.trim();
        let found = network.nodes.iter().position(|known| known == name);
        found.map(|node| node as NodeId).ok_or_else(|| {
            let near = nearest(name, network.nodes.iter().map(String::as_str));
            let near = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
            format!("there is no node {name:?}{near}")
        })
    };
    let toward = |from: NodeId, to: NodeId| {
        let far = fabric.ports(from).iter().enumerate();
        far.filter(move |(_, port)| port.0 == to).map(move |(port, _)| (from, port as PortId))
    };
    match text {
        "all switch ports" => return Ok((network.hosts..nodes).flat_map(all).collect()),
        "all host ports" => return Ok((0..network.hosts).flat_map(all).collect()),
        _ => {}
    }
    if let Some(name) = text.strip_prefix("to ") {
        let to = node(name)?;
        return Ok(fabric.ports(to).iter().flat_map(|port| toward(port.0, to)).collect());
    }
    if let Some((from, to)) = text.split_once("->") {
        let (from, to) = (node(from)?, node(to)?);
        let found: Vec<_> = toward(from, to).collect();
        let [a, b] = [from, to].map(|node| &network.nodes[node as usize]);
        return if found.is_empty() { Err(format!("there is no link from {a} to {b}")) } else { Ok(found) };
    }
    if let Some((name, port)) = text.split_once(':') {
        let node = node(name)?;
        let count = network.ports(node);
        return match port.trim().parse::<PortId>() {
            Ok(port) if port < count => Ok(vec![(node, port)]),
            _ => Err(format!("{name} has no port {port:?}; its ports are 0 to {}", count.saturating_sub(1))),
        };
    }
    node(text).map(|node| all(node).collect()).map_err(|message| {
        format!(
            "{message} (ports are written \"s0->h15\", \"to h15\", \"s0:15\", \"h3\", \"all switch ports\")"
        )
    })
}

/// Checks that a text of `probe.flows` names a block.
///
/// # Errors
/// When it does not.
pub(super) fn check_flows(text: &str, groups: &[&str]) -> Result<(), String> {
    let name = text.rsplit_once('.').map_or(text, |(name, _)| name);
    if text == "all" || groups.contains(&name) {
        return Ok(());
    }
    Err(format!(
        "there is no traffic block {name:?}; write \"all\", a block ({}), or \"{}.0\" for its first flow",
        groups.join(", "),
        groups.first().unwrap_or(&"name")
    ))
}

/// What to measure, with the flows found by their names.
pub(super) fn probes(
    probe: &Probe,
    checked: &Checked,
    flows: &[Flow],
    groups: &[String],
    reading: &mut Reading,
) -> Probes {
    let mut chosen: Vec<u32> = Vec::new();
    for (i, text) in probe.flows.iter().enumerate() {
        let (name, number) = match text.rsplit_once('.') {
            Some((name, number)) => (name, number.parse::<usize>().ok()),
            None => (text.as_str(), None),
        };
        let members = (0_u32..).zip(flows).filter(|(_, flow)| {
            text == "all" || groups.get(usize::from(flow.group)).is_some_and(|group| group == name)
        });
        let members: Vec<u32> = members.map(|(index, _)| index).collect();
        match (text.contains('.'), number) {
            (false, _) => chosen.extend(members),
            (true, Some(number)) if number < members.len() => chosen.push(members[number]),
            (true, _) => {
                let message =
                    format!("{name} has {} flows, numbered from 0; there is no {text:?}", members.len());
                reading.wrong_key(&format!("probe.flows.{i}"), message);
            }
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    Probes {
        ports: checked.ports.clone(),
        port_interval: probe.interval,
        flows: chosen,
        flow_interval: probe.flow_interval,
        captures: checked.captures.clone(),
        pauses: probe.pauses,
        from: probe.from,
        until: probe.until.unwrap_or(Time::NEVER),
    }
}
