//! `[probe]`: what to measure, and from its names to ports and flows.

use std::collections::BTreeSet;

use incast_sim::Simulation;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::network::{NodeId, PortId};
use incast_sim::describe::probe::{Load, Probes};
use incast_sim::record::Limit;
use incast_units::{Bytes, Rate, Time};

use super::scope::{Effect, Idle, Scope, Sections};
use crate::grammar::reading::Reading;
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::load::Window;
use crate::problem::Problem;
use crate::topology::Fabric;

section! {
    /// Time series to record; totals and flow completions are always kept.
    pub(crate) struct Probe {
        /// Ports: `"s0->h15"`, `"to h15"`, `"s0:15"`, `"h3"`, `"s0"`, `"all switch ports"`,
        /// `"all host ports"`.
        ports: Vec<String> = Vec::new(),
        /// Flows: `"all"`, a block's name, or `"name.3"` for its fourth flow to start.
        flows: Vec<String> = Vec::new(),
        /// Time between two samples of a port.
        interval: Time = Time::from_us(1); Bound::Positive,
        /// Time between two samples of a flow.
        flow_interval: Time = interval?; Bound::Positive,
        /// Whether internal quantities of those flows' congestion control are sampled too.
        internals: bool = false,
        /// Ports whose packets are captured when their transmission begins; written like `ports`.
        captures: Vec<String> = Vec::new(),
        /// Whether these packets are rows of the table `packets` too, with times in picoseconds.
        packets: bool = false,
        /// Whether every pause and resume of a port is recorded.
        pauses: bool = false,
        /// Time between two counts of the open flows of each block by what keeps their next packets back, for
        /// `limit_series`; by default they are not counted.
        limits: Option<Time> = None; Bound::Positive,
        /// Time between two rows of `load_series`: bytes of each block with a load that have started, and that are
        /// acknowledged; by default there are none.
        load_interval: Option<Time> = None; Bound::Positive,
        /// Time of the first sample.
        from: Time = Time::ZERO,
        /// No sample after this.
        until: Option<Time> = None,
    }
}

impl Effect for Probe {
    fn idle(&self, sections: &Sections<'_>, idle: &mut Idle) {
        if self.ports.is_empty() && self.flows.is_empty() {
            let reason = "has no effect: neither probe.ports nor probe.flows names anything to sample";
            idle.add("probe.interval", reason);
            if self.captures.is_empty() && self.limits.is_none() {
                idle.add("probe.from", reason);
                idle.add("probe.until", reason);
            }
        }
        if self.captures.is_empty() && self.packets {
            idle.add("probe.packets", "has no effect: probe.captures names no port");
        }
        if self.flows.is_empty() {
            idle.add("probe.flow_interval", "has no effect: probe.flows names nothing to sample");
            if self.internals {
                idle.add("probe.internals", "has no effect: probe.flows names nothing to sample");
            }
        } else if self.internals && !sections.transport.kind.is_controlled() {
            idle.add(
                "probe.internals",
                "has no effect: the transport has no congestion control at the sender",
            );
        }
        if self.load_interval.is_some() && !sections.traffic.iter().any(|block| block.pattern.has_load()) {
            idle.add("probe.load_interval", "has no effect: no traffic block has a load");
        }
        if sections.switch.pfc.is_none() && sections.switch.bfc.is_none() && self.pauses {
            let reason = "has no effect: without [switch.pfc] or [switch.bfc] no port is ever paused";
            idle.add("probe.pauses", reason);
        }
    }

    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        if let Some(fabric) = scope.fabric {
            named("ports", &self.ports, fabric, reading);
            named("captures", &self.captures, fabric, reading);
        }
        let groups = scope.sections.groups();
        for (i, text) in self.flows.iter().enumerate() {
            if let Err(message) = check_flows(text, &groups) {
                reading.wrong_key(&format!("probe.flows.{i}"), message);
            }
        }
        if let Some(until) = self.until
            && until <= self.from
        {
            let message = format!("ends at {until}, not after it begins at {}", self.from);
            reading.wrong_key("probe.until", message);
        }
        if let Some(end) = scope.sections.until
            && self.from >= end
        {
            let message = format!("begins at {}, not before the end of the run ({end})", self.from);
            reading.wrong_key("probe.from", message);
        }
    }
}

/// Returns the probes of a run with these flows, and with these windows of measured loads.
pub(crate) fn probes(
    section: &Probe,
    sections: &Sections<'_>,
    fabric: &Fabric,
    (all, windows): (&[Flow], &[Window]),
    reading: &mut Reading,
) -> Probes {
    let Probe {
        ports,
        flows,
        interval,
        flow_interval,
        internals,
        captures,
        packets,
        pauses,
        limits,
        // It is part of the windows.
        load_interval: _,
        from,
        until,
    } = section;
    check_instants(windows, sections, reading);
    Probes {
        ports: named("ports", ports, fabric, reading),
        port_interval: *interval,
        flows: chosen(flows, all, &sections.groups(), reading),
        flow_interval: *flow_interval,
        internals: *internals,
        captures: named("captures", captures, fabric, reading),
        packets: *packets,
        pauses: *pauses,
        limits: *limits,
        loads: windows.iter().map(load).collect(),
        from: *from,
        until: until.unwrap_or(Time::NEVER),
    }
}

/// Returns the instants at which the progress of a block is summed up.
fn load(window: &Window) -> Load {
    let mut times: Vec<Time> = window.multiples().chain(window.instants()).collect();
    times.sort_unstable();
    times.dedup();
    Load { group: window.group, times }
}

/// Most instants of a series of loads; every host keeps them.
const MAX_INSTANTS: u64 = 1_000;

/// Refuses series of loads with too many instants.
fn check_instants(windows: &[Window], sections: &Sections<'_>, reading: &mut Reading) {
    for window in windows {
        let (Some(every), end) = (window.every, window.arrivals_end) else { continue };
        let instants = end.ps() / every.ps();
        if instants > MAX_INSTANTS {
            let name = sections.groups()[usize::from(window.group)];
            let wanted = Time::from_ps(end.ps().div_ceil(MAX_INSTANTS));
            let message = format!(
                "{every} to the end of the arrivals of {name} ({end}) are {instants} instants; at most \
                 {MAX_INSTANTS}: write {wanted} or more"
            );
            reading.wrong_key("probe.load_interval", message);
            return;
        }
    }
}

/// The flows that are named, as indices in rising order.
fn chosen(texts: &[String], flows: &[Flow], groups: &[&str], reading: &mut Reading) -> Vec<u32> {
    let mut chosen: Vec<u32> = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        let (name, number) = match text.rsplit_once('.') {
            Some((name, number)) => (name, number.parse::<usize>().ok()),
            None => (text.as_str(), None),
        };
        let members = (0_u32..).zip(flows).filter(|(_, flow)| {
            text == "all" || groups.get(usize::from(flow.group)).is_some_and(|group| *group == name)
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
    chosen
}

/// Most rows with samples of ports, of flows, and of their internal quantities, that a run may write.
const MAX_ROWS: u128 = 1_000_000_000;
/// About as much as one row takes before it is compressed.
const ROW_BYTES: u128 = 64;
/// Rows of a port for each data packet in the network: the packet and its acknowledgement, should both pass
/// through the port, change it twice each, when they come into a queue and when they begin to leave, and
/// with each change the sample before it and the one after it are recorded.
const PORT_ROWS: u128 = 8;
/// Rows of a flow for each of its packets: it changes the flow when it leaves and when it is acknowledged.
const FLOW_ROWS: u128 = 4;

/// Refuses samples without measure. Counted are all samples until the time limit, or until the last flow can
/// have finished at the earliest (of flows and limits: as long as these take at the rate of their link), but no more than
/// the packets can make different from each other: equal samples have no rows. What is sent again, or changed
/// by timers, is not counted.
pub(crate) fn check_rows(simulation: &Simulation, until: Option<Time>, reading: &mut Reading) {
    let (links, probes) = (&simulation.network.links, &simulation.probes);
    let fastest = links.iter().map(|link| link.rate).max().unwrap_or(Rate::ZERO).max(Rate::from_bps(1));
    let end_of = |flow: &Flow| match flow.size {
        Bytes::UNLIMITED => flow.stop,
        size => flow.start + fastest.time_for(size),
    };
    let last = match simulation.operations.as_slice() {
        [] => simulation.flows.iter().map(end_of).filter(|&end| end != Time::NEVER).max(),
        // Nobody knows when flows start that wait for others.
        _ => Some(Time::NEVER),
    };
    let end = until.or(last).unwrap_or(Time::ZERO).min(probes.until);
    let span = |from: Time, to: Time| u128::from((to.min(end) - from.max(probes.from)).ps());
    let payload = simulation.transport.payload.get().max(1);
    let packets = |flow: &Flow| {
        let most = fastest.bytes_in(flow.stop.min(end) - flow.start);
        u128::from(flow.size.min(most).get().div_ceil(payload))
    };
    let [ports, port_interval] = [probes.ports.len() as u128, u128::from(probes.port_interval.ps().max(1))];
    let all_packets: u128 = simulation.flows.iter().map(packets).sum();
    let of_ports = [span(Time::ZERO, end) / port_interval, PORT_ROWS * all_packets];
    let sampled = probes.flows.iter().filter_map(|&flow| simulation.flows.get(flow as usize));
    let quantities = |flow: &Flow| match simulation.algorithms.get(usize::from(flow.algorithm)) {
        Some(algorithm) if probes.internals => algorithm.internals().len() as u128,
        _ => 0,
    };
    let flow_interval = u128::from(probes.flow_interval.ps().max(1));
    let mut of_flows = [[0; 2]; 2];
    for flow in sampled {
        let rows = [span(flow.start, end_of(flow)) / flow_interval, FLOW_ROWS * packets(flow)];
        for (sum, series) in of_flows.iter_mut().zip([1, quantities(flow)]) {
            *sum = [sum[0] + series * rows[0], sum[1] + series * rows[0].min(rows[1])];
        }
    }
    let limits = probes.limits.map(|interval| {
        let step = u128::from(interval.ps());
        let groups: BTreeSet<u16> = simulation.flows.iter().map(|flow| flow.group).collect();
        let instants = span(Time::ZERO, end) / step;
        let open: u128 = simulation.flows.iter().map(|flow| span(flow.start, end_of(flow)) / step).sum();
        ("probe.limits", "limits", [instants * (groups.len() * Limit::ALL.len()) as u128, open], interval)
    });
    let sums = [
        ("probe.interval", "ports", of_ports.map(|rows| ports * rows), probes.port_interval),
        ("probe.flow_interval", "flows", of_flows[0], probes.flow_interval),
        ("probe.flow_interval", "internal quantities", of_flows[1], probes.flow_interval),
    ];
    for (key, what, [samples, at_most], interval) in sums.into_iter().chain(limits) {
        let rows = samples.min(at_most);
        if rows > MAX_ROWS {
            // So that there are no more samples than that, whatever they are.
            let wanted = samples.div_ceil(MAX_ROWS) * u128::from(interval.ps());
            let wanted = Time::from_ps(u64::try_from(wanted).unwrap_or(u64::MAX));
            let bytes = Bytes::new(u64::try_from(rows * ROW_BYTES).unwrap_or(u64::MAX));
            let message = format!(
                "makes up to {rows} rows with samples of {what}, about {bytes} of them; at most {MAX_ROWS} are \
                 possible: with this traffic an interval of {wanted} or more"
            );
            reading.wrong_key(key, message);
        }
    }
}

/// The ports that a list in `[probe]` names, each once.
fn named(key: &str, texts: &[String], fabric: &Fabric, reading: &mut Reading) -> Vec<(NodeId, PortId)> {
    let mut found = BTreeSet::new();
    for (i, text) in texts.iter().enumerate() {
        match ports(text, fabric) {
            Ok(ports) => found.extend(ports),
            Err(message) => reading.wrong_key(&format!("probe.{key}.{i}"), message),
        }
    }
    found.into_iter().collect()
}

/// The ports that a text names.
///
/// # Errors
/// When it names none.
fn ports(text: &str, fabric: &Fabric) -> Result<Vec<(NodeId, PortId)>, Problem> {
    let network = &fabric.network;
    let nodes = network.nodes.len() as NodeId;
    let all = |node: NodeId| (0..network.ports(node)).map(move |port| (node, port));
    let node = |name: &str| fabric.node(name.trim());
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
        return if found.is_empty() {
            Err(format!("there is no link from {a} to {b}").into())
        } else {
            Ok(found)
        };
    }
    if let Some((name, port)) = text.split_once(':') {
        let node = node(name)?;
        let count = network.ports(node);
        return match port.trim().parse::<PortId>() {
            Ok(port) if port < count => Ok(vec![(node, port)]),
            _ => {
                let last = count.saturating_sub(1);
                Err(format!("{name} has no port {port:?}; its ports are 0 to {last}").into())
            }
        };
    }
    node(text).map(|node| all(node).collect()).map_err(|mut problem| {
        problem.problem +=
            " (ports are written \"s0->h15\", \"to h15\", \"s0:15\", \"h3\", \"all switch ports\")";
        problem
    })
}

/// Checks that a text of `probe.flows` names a block.
///
/// # Errors
/// When it does not.
fn check_flows(text: &str, groups: &[&str]) -> Result<(), String> {
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
