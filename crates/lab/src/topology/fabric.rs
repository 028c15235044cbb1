//! A network and the questions that the lab asks about it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use incast_sim::Network;
use incast_sim::describe::network::{NodeId, PortId};
use incast_units::{Rate, Time};

use crate::grammar::suggest::unknown;
use crate::problem::{Problem, fault};

/// A network with the properties that the lab needs.
#[derive(Clone, Debug)]
pub struct Fabric {
    /// Nodes and links.
    pub network: Network,
    /// For every node, its ports in order: the far end, rate and delay.
    pub(super) ports: Vec<Vec<(NodeId, Rate, Time)>>,
}

/// The downlink and uplink capacity of one tier of switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tier {
    /// Common name of its switches: `edge`.
    pub name: String,
    /// Number of switches.
    pub switches: u32,
    /// Rate of all links to the tier below (hosts are the lowest).
    pub down: Rate,
    /// Rate of all links to the tier above.
    pub up: Rate,
}

impl Fabric {
    pub(super) fn new(network: Network) -> Self {
        let mut ports = vec![Vec::new(); network.nodes.len()];
        for link in &network.links {
            // Links are in the order of their ports on either side.
            ports[link.a.0 as usize].push((link.b.0, link.rate, link.delay));
            ports[link.b.0 as usize].push((link.a.0, link.rate, link.delay));
        }
        Self { network, ports }
    }

    /// The node called `name`.
    ///
    /// # Errors
    /// When there is none, with a suggestion.
    pub(crate) fn node(&self, name: &str) -> Result<NodeId, Problem> {
        let nodes = &self.network.nodes;
        let found = nodes.iter().position(|known| known == name);
        found.map(|node| node as NodeId).ok_or_else(|| {
            unknown(format!("there is no node {name:?}"), name, nodes.iter().map(String::as_str))
        })
    }

    /// A node's ports in order: the far end, rate and delay.
    #[must_use]
    pub fn ports(&self, node: NodeId) -> &[(NodeId, Rate, Time)] {
        self.ports.get(node as usize).map_or(&[], Vec::as_slice)
    }

    /// The switch at the far end of a host's first link: its rack.
    #[must_use]
    pub fn switch_of(&self, host: u32) -> NodeId {
        self.ports(host).first().map_or(host, |port| port.0)
    }

    /// The switches that a host is connected to, sorted: one for each of its links.
    #[must_use]
    pub fn switches_of(&self, host: u32) -> Vec<NodeId> {
        let mut switches: Vec<NodeId> = self.ports(host).iter().map(|port| port.0).collect();
        switches.sort_unstable();
        switches
    }

    /// The rate of all links of a host together.
    #[must_use]
    pub fn host_rate(&self, host: u32) -> Rate {
        self.ports(host).iter().map(|port| port.1).sum()
    }

    /// Returns the part of the network that each switch is in: one of its switches. Paths do not lead through hosts.
    pub(crate) fn parts(&self) -> Vec<NodeId> {
        let hosts = self.network.hosts;
        let mut part = vec![NodeId::MAX; self.ports.len()];
        for first in hosts..self.ports.len() as NodeId {
            let mut queue = VecDeque::from([first]);
            while let Some(node) = queue.pop_front() {
                if part[node as usize] == NodeId::MAX {
                    part[node as usize] = first;
                    queue.extend(self.ports(node).iter().map(|port| port.0).filter(|far| *far >= hosts));
                }
            }
        }
        part
    }

    /// A host with no path to some other hosts, and these hosts.
    pub(crate) fn unreachable(&self) -> Option<(u32, Vec<u32>)> {
        let (hosts, part) = (self.network.hosts, self.parts());
        let parts_of = |host: u32| -> BTreeSet<NodeId> {
            self.ports(host).iter().map(|port| part[port.0 as usize]).collect()
        };
        let mut different: BTreeMap<BTreeSet<NodeId>, u32> = BTreeMap::new();
        (0..hosts).for_each(|host| {
            different.entry(parts_of(host)).or_insert(host);
        });
        let mut first: Vec<(u32, &BTreeSet<NodeId>)> = different.iter().map(|(p, host)| (*host, p)).collect();
        first.sort_unstable();
        let lost = |parts: &BTreeSet<NodeId>| -> Vec<u32> {
            (0..hosts).filter(|host| parts_of(*host).is_disjoint(parts)).collect()
        };
        let apart = first.iter().find(|(_, a)| first.iter().any(|(_, b)| a.is_disjoint(b)));
        apart.map(|(host, parts)| (*host, lost(parts)))
    }

    /// The name of a port: `s0->h15`.
    #[must_use]
    pub fn port_name(&self, node: NodeId, port: PortId) -> String {
        let name = |node: NodeId| self.network.nodes.get(node as usize).map_or("?", String::as_str);
        let far = self.ports(node).get(usize::from(port)).map_or(node, |port| port.0);
        format!("{}->{}", name(node), name(far))
    }

    /// Links on the shortest path from `from` to every node; `u32::MAX` where there is none. Paths do
    /// not lead through hosts.
    #[must_use]
    pub fn distances(&self, from: NodeId) -> Vec<u32> {
        self.distances_from(&[from])
    }

    /// Returns the distances from the nearest of several nodes.
    #[must_use]
    pub fn distances_from(&self, from: &[NodeId]) -> Vec<u32> {
        let mut distances = vec![u32::MAX; self.ports.len()];
        let mut queue: VecDeque<NodeId> = from.iter().copied().collect();
        queue.iter().for_each(|&node| distances[node as usize] = 0);
        while let Some(node) = queue.pop_front() {
            if self.network.is_host(node) && distances[node as usize] > 0 {
                continue;
            }
            for &(far, _, _) in self.ports(node) {
                if distances[far as usize] == u32::MAX {
                    distances[far as usize] = distances[node as usize] + 1;
                    queue.push_back(far);
                }
            }
        }
        distances
    }

    /// The tiers of switches that have a tier above them, lowest first. The tier of a switch is its
    /// distance to the nearest host.
    #[must_use]
    pub fn tiers(&self) -> Vec<Tier> {
        let mut level = vec![u32::MAX; self.ports.len()];
        let mut queue: VecDeque<NodeId> = (0..self.network.hosts).collect();
        queue.iter().for_each(|&host| level[host as usize] = 0);
        while let Some(node) = queue.pop_front() {
            for &(far, _, _) in self.ports(node) {
                if level[far as usize] == u32::MAX {
                    level[far as usize] = level[node as usize] + 1;
                    queue.push_back(far);
                }
            }
        }
        let top = level.iter().copied().filter(|&l| l != u32::MAX).max().unwrap_or(0);
        (1..top)
            .map(|tier| {
                let members: Vec<usize> = (0..level.len()).filter(|&node| level[node] == tier).collect();
                let rate = |node: usize, other: u32| -> Rate {
                    self.ports[node].iter().filter(|p| level[p.0 as usize] == other).map(|p| p.1).sum()
                };
                let name = members.first().map_or("", |&node| self.network.nodes[node].as_str());
                Tier {
                    name: name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned(),
                    switches: members.len() as u32,
                    down: members.iter().map(|&node| rate(node, tier - 1)).sum(),
                    up: members.iter().map(|&node| rate(node, tier + 1)).sum(),
                }
            })
            .collect()
    }

    /// A summary in one line: counts, and the oversubscription of each tier.
    #[must_use]
    pub fn summary(&self) -> String {
        let network = &self.network;
        let switches = network.nodes.len() - network.hosts as usize;
        let word = if switches == 1 { "switch" } else { "switches" };
        let mut text = format!("{} hosts, {switches} {word}, {} links", network.hosts, network.links.len());
        for tier in self.tiers() {
            let hundredths = tier.down.times_ratio(100, tier.up.bps()).bps();
            let (whole, part) = (hundredths / 100, hundredths % 100);
            let ratio = if part == 0 { whole.to_string() } else { format!("{whole}.{part:02}") };
            text += &format!(", {} {} down {} up ({ratio}:1)", tier.name, tier.down, tier.up);
        }
        text
    }
}

/// `name` with a number of nodes that would be too many, if it is.
pub(super) fn too_many(key: &str, what: &str, number: u64, most: u64) -> Option<Problem> {
    (number > most).then(|| fault(key, format!("makes {number} {what}; at most {most} are possible")))
}
