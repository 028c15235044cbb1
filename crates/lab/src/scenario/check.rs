//! What can only be judged when all sections of a scenario are read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use incast_cc::Signals;
use incast_cc::contract::MAX_INT_HOPS;
use incast_sim::describe::network::{NodeId, PortId};
use incast_sim::describe::switch::Pfc;
use incast_units::Bytes;

use super::cc::Cc;
use super::probe;
use super::reading::Reading;
use super::sections::{BufferSize, Root};
use crate::topology::Fabric;
use crate::traffic::{Reach, Setting, hosts::World};

/// What the checks found out.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) fabric: Arc<Fabric>,
    /// The algorithms in use.
    pub(crate) algorithms: Vec<Cc>,
    /// For every traffic block its algorithm, an index into `algorithms`.
    pub(crate) uses: Vec<u16>,
    /// Ports to sample.
    pub(crate) ports: Vec<(NodeId, PortId)>,
    /// Ports to capture.
    pub(crate) captures: Vec<(NodeId, PortId)>,
}

/// Checks a scenario whose sections were read without problems. `None` when its network cannot be
/// built; otherwise whether the result holds is for `reading` to say.
pub(super) fn check(root: &Root, reading: &mut Reading) -> Option<Checked> {
    for (key, reason) in root.idle() {
        if reading.written(&key) {
            reading.wrong_key(&key, reason);
        }
    }
    switch(root, reading);
    queues(root, reading);
    let (algorithms, uses) = algorithms(root, reading);
    let fabric = match root.topology.build() {
        Ok(fabric) => Arc::new(fabric),
        Err(faults) => {
            for (key, message) in faults {
                reading.wrong_key(&format!("topology.{key}"), message);
            }
            return None;
        }
    };
    let reaches = traffic(root, &fabric, reading);
    for (cc, uses_it) in algorithms.iter().zip(users(&uses, algorithms.len())) {
        signals(root, cc, &uses_it, &reaches, &fabric, reading);
    }
    buffers(root, &algorithms, &fabric, reading);
    let ports = ports("ports", &root.probe.ports, &fabric, reading);
    let captures = self::ports("captures", &root.probe.captures, &fabric, reading);
    probes(root, reading);
    Some(Checked { fabric, algorithms, uses, ports, captures })
}

fn switch(root: &Root, reading: &mut Reading) {
    let switch = &root.switch;
    if let Some(pfc) = &switch.pfc {
        match switch.buffer {
            BufferSize::PerPort(_) => {
                let message =
                    "needs a shared or an unlimited buffer: PFC counts by ingress, per_port by egress";
                reading.wrong_key("switch.pfc", message);
            }
            BufferSize::Unlimited if pfc.xoff.0.is_none() => {
                let message = "never pauses: the buffer is unlimited, so that xoff must be a size";
                reading.wrong_key("switch.pfc.xoff", message);
            }
            _ => {}
        }
        if let Some(xoff) = pfc.xoff.0
            && pfc.xon_offset > xoff
        {
            let message =
                format!("{} is more than xoff, {xoff}: a paused port would never resume", pfc.xon_offset);
            reading.wrong_key("switch.pfc.xon_offset", message);
        }
    }
    if let Some(ecn) = &switch.ecn
        && ecn.kmin > ecn.kmax
    {
        let message = format!("{} is more than kmax, {}", ecn.kmin, ecn.kmax);
        reading.wrong_key("switch.ecn.kmin", message);
    }
}

fn queues(root: &Root, reading: &mut Reading) {
    let queues = root.switch.queues;
    let mut check = |key: &str, queue: u8| {
        if queue >= queues {
            let message = match queues {
                1 => format!("there is no queue {queue}; switch.queues = 1, so the only one is 0"),
                _ => format!(
                    "there is no queue {queue}; switch.queues = {queues}, so they are 0 to {}",
                    queues - 1
                ),
            };
            reading.wrong_key(key, message);
        }
    };
    for block in &root.traffic {
        check(&format!("traffic.{}.queue", block.name()), block.common.queue);
    }
    check("transport.cnp_queue", root.transport.cnp_queue);
    if let Some(queue) = root.transport.ack_queue {
        check("transport.ack_queue", queue);
    }
}

/// The algorithms in use, and for every block which one.
fn algorithms(root: &Root, reading: &mut Reading) -> (Vec<Cc>, Vec<u16>) {
    let mut algorithms: Vec<Cc> = Vec::new();
    let mut uses = Vec::new();
    let mut absent = false;
    for block in &root.traffic {
        let Some(cc) = block.common.cc.as_ref().or(root.cc.as_ref()) else {
            absent = true;
            uses.push(0);
            continue;
        };
        let known = algorithms.iter().position(|known| known == cc);
        let index = known.unwrap_or_else(|| {
            algorithms.push(cc.clone());
            algorithms.len() - 1
        });
        uses.push(index as u16);
    }
    if absent {
        reading.wrong_key("cc", "is missing; write a section [cc] with algorithm = \"…\"");
    }
    (algorithms, uses)
}

/// For every algorithm the blocks that use it.
fn users(uses: &[u16], algorithms: usize) -> Vec<Vec<usize>> {
    let mut users = vec![Vec::new(); algorithms];
    for (block, algorithm) in uses.iter().enumerate() {
        if let Some(users) = users.get_mut(usize::from(*algorithm)) {
            users.push(block);
        }
    }
    users
}

/// Checks every block against the network; says who may send to whom.
fn traffic(root: &Root, fabric: &Fabric, reading: &mut Reading) -> Vec<Option<Reach>> {
    if root.traffic.is_empty() {
        reading.wrong_key("traffic", "is empty; a scenario needs at least one block of traffic");
    }
    if root.traffic.len() > usize::from(u16::MAX) {
        reading
            .wrong_key("traffic", format!("has {} blocks; at most 65535 are possible", root.traffic.len()));
    }
    let world = World::new(fabric);
    let setting = Setting { world: &world, until: root.run.until };
    let mut names = BTreeSet::new();
    let mut reaches = Vec::new();
    for block in &root.traffic {
        let name = block.name();
        let key = format!("traffic.{name}");
        if !names.insert(name) {
            let message = format!("there are two blocks called {name:?}; give each its own name");
            reading.wrong_key(&format!("{key}.name"), message);
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty()
            || !name.chars().all(plain)
            || name.chars().all(|c| c.is_ascii_digit())
            || name == "all"
        {
            let message =
                format!("{name:?} is no name for a block; use letters, digits, - and _, not \"all\"");
            reading.wrong_key(&format!("{key}.name"), message);
        }
        reaches.push(match block.pattern.check(&setting) {
            Ok(reach) => Some(reach),
            Err(faults) => {
                for (fault, message) in faults {
                    reading.wrong_key(&format!("{key}.{fault}"), message);
                }
                None
            }
        });
    }
    reaches
}

/// Checks that the network gives an algorithm the signals it needs.
fn signals(
    root: &Root,
    cc: &Cc,
    blocks: &[usize],
    reaches: &[Option<Reach>],
    fabric: &Fabric,
    reading: &mut Reading,
) {
    let signals = cc.signals();
    let name = cc.name();
    // The place of the section that names the algorithm.
    let own = blocks.iter().map(|&block| &root.traffic[block]).find(|block| block.common.cc.is_some());
    let key = match own {
        Some(block) if root.cc.as_ref() != Some(cc) => format!("traffic.{}.cc.algorithm", block.name()),
        _ => "cc.algorithm".to_owned(),
    };
    let marks = [Signals::ECN, Signals::CNP].into_iter().any(|signal| signals.contains(signal));
    if marks && root.switch.ecn.is_none() {
        let message = format!(
            "{name} needs ECN marks, and the switches set none; add a section [switch.ecn] with kmin, kmax and pmax"
        );
        reading.wrong_key(&key, message);
    }
    if !signals.contains(Signals::INT) {
        return;
    }
    let mut distances: BTreeMap<NodeId, Vec<u32>> = BTreeMap::new();
    for &block in blocks {
        let Some(reach) = &reaches[block] else { continue };
        let at = |hosts: &[u32]| {
            hosts.iter().map(|&host| (fabric.switch_of(host), host)).collect::<BTreeMap<_, _>>()
        };
        let pairs: Vec<(u32, u32)> = match reach {
            // One host stands for all on its switch.
            Reach::Any(from, to) => {
                let to = at(to);
                at(from).values().flat_map(|&a| to.values().map(move |&b| (a, b))).collect()
            }
            Reach::Pairs(pairs) => pairs.clone(),
        };
        for (a, b) in pairs {
            let from =
                distances.entry(fabric.switch_of(a)).or_insert_with_key(|&switch| fabric.distances(switch));
            let hops = from[fabric.switch_of(b) as usize] as usize + 1;
            if hops > MAX_INT_HOPS {
                let node = |host: u32| &fabric.network.nodes[host as usize];
                let message = format!(
                    "{name} reads in-band telemetry of at most {MAX_INT_HOPS} switches; from {} to {} there are {hops}",
                    node(a),
                    node(b)
                );
                reading.wrong_key(&key, message);
                return;
            }
        }
    }
}

/// Checks that packets and headroom fit into the buffers.
fn buffers(root: &Root, algorithms: &[Cc], fabric: &Fabric, reading: &mut Reading) {
    let added = algorithms.iter().map(|cc| cc.overhead().data).max().unwrap_or(0);
    let packet = root.transport.payload + root.transport.header + Bytes::new(u64::from(added));
    let packet = packet.max(root.transport.smallest);
    let (BufferSize::Shared(size) | BufferSize::PerPort(size)) = root.switch.buffer else { return };
    if size < packet {
        reading.wrong_key("switch.buffer", format!("{size} is less than one packet ({packet})"));
        return;
    }
    let (Some(pfc), BufferSize::Shared(_)) = (&root.switch.pfc, root.switch.buffer) else { return };
    let queues = u64::from(root.switch.queues);
    for switch in fabric.network.hosts..fabric.network.nodes.len() as NodeId {
        let ports = fabric.ports(switch);
        let headroom: Bytes = ports
            .iter()
            .map(|&(_, rate, delay)| {
                let needed = Pfc::headroom_for(rate, delay, packet, root.switch.queues);
                pfc.headroom.0.unwrap_or(needed).times(queues)
            })
            .sum();
        let reserve = root.switch.reserve.times(queues * ports.len() as u64);
        if headroom + reserve >= size {
            let key = if pfc.headroom.0.is_some() { "switch.pfc.headroom" } else { "switch.buffer" };
            let message = format!(
                "leaves nothing to share: at {} the PFC headroom of {} ports (× {queues} for queues) takes {headroom} and \
                 the reserves {reserve}, of a buffer of {size}",
                fabric.network.nodes[switch as usize],
                ports.len()
            );
            reading.wrong_key(key, message);
            return;
        }
    }
}

/// The ports that a list in `[probe]` names, each once.
fn ports(key: &str, texts: &[String], fabric: &Fabric, reading: &mut Reading) -> Vec<(NodeId, PortId)> {
    let mut ports = BTreeSet::new();
    for (i, text) in texts.iter().enumerate() {
        match probe::ports(text, fabric) {
            Ok(found) => ports.extend(found),
            Err(message) => reading.wrong_key(&format!("probe.{key}.{i}"), message),
        }
    }
    ports.into_iter().collect()
}

fn probes(root: &Root, reading: &mut Reading) {
    let groups: Vec<&str> = root.traffic.iter().map(crate::traffic::Block::name).collect();
    for (i, text) in root.probe.flows.iter().enumerate() {
        if let Err(message) = probe::check_flows(text, &groups) {
            reading.wrong_key(&format!("probe.flows.{i}"), message);
        }
    }
    if let Some(until) = root.probe.until
        && until <= root.probe.from
    {
        let message = format!("ends at {until}, not after it begins at {}", root.probe.from);
        reading.wrong_key("probe.until", message);
    }
    if let Some(end) = root.run.until
        && root.probe.from >= end
    {
        let message = format!("begins at {}, when the run has ended ({end})", root.probe.from);
        reading.wrong_key("probe.from", message);
    }
}
