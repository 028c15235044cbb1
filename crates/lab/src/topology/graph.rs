//! Nodes and links one by one.

use std::collections::{BTreeMap, BTreeSet};

use incast_sim::Network;
use incast_sim::describe::network::NodeId;
use incast_units::{Rate, Time};

use super::fabric::too_many;
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::grammar::suggest::unknown;
use crate::limits::{MAX_HOSTS, MAX_PORTS, MAX_SWITCHES};
use crate::problem::{Problem, fault};

section! {
    /// Any network: named hosts, named switches, and links between them.
    ///
    /// A host has one link or more, to switches. `"h0-h3"` means h0, h1, h2 and h3.
    pub(crate) struct Graph {
        /// Names of the hosts.
        hosts: Vec<String>,
        /// Names of the switches.
        switches: Vec<String>,
        /// Rate of links that do not give one.
        rate: Option<Rate> = None; Bound::Positive,
        /// One-way delay of links that do not give one.
        delay: Option<Time> = None; Bound::Positive,
        /// The links.
        links: Vec<GraphLink>,
    }
}

section! {
    /// A link, or one link from each of several nodes to another.
    pub(crate) struct GraphLink {
        /// The two ends, like `["h0-h3", "s0"]`.
        between: Vec<String>,
        /// Number of parallel links.
        parallel: u16 = 1; Bound::Count(1, 256),
        /// Rate in each direction.
        rate: Option<Rate> = None; Bound::Positive,
        /// One-way delay.
        delay: Option<Time> = None; Bound::Positive,
    }
}

/// Names of nodes as a text gives them: `"h0-h3"` for h0, h1, h2, h3. They are not made before they are asked for, so
/// that they can be counted first.
#[derive(Clone, Debug)]
pub(crate) enum Names<'a> {
    /// A text that is no range.
    One(&'a str),
    /// The common beginning, and the first and the last number.
    Range(&'a str, u64, u64),
}

impl Names<'_> {
    /// Number of names.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::One(_) => 1,
            Self::Range(_, from, to) => to - from + 1,
        }
    }

    /// The names in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = String> {
        let (stem, numbers) = match *self {
            Self::One(text) => (text, 0..=0),
            Self::Range(stem, from, to) => (stem, from..=to),
        };
        let is_range = matches!(self, Self::Range(..));
        numbers.map(move |number| if is_range { format!("{stem}{number}") } else { stem.to_owned() })
    }
}

/// Reads a range of nodes, or a name.
///
/// # Errors
/// When the range runs backward or is too long.
pub(crate) fn expand(text: &str) -> Result<Names<'_>, String> {
    let Some((first, last)) = text.split_once('-') else { return Ok(Names::One(text)) };
    let split = |name: &str| {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let number: Option<u64> = name[stem..].parse().ok();
        number.map(|number| (stem, number))
    };
    let (first, last) = (first.trim(), last.trim());
    match (split(first), split(last)) {
        (Some((stem, from)), Some((other, to))) if first[..stem] == last[..other] => {
            if from > to {
                let stem = &first[..stem];
                return Err(format!("{text:?} runs backward; write \"{stem}{to}-{stem}{from}\""));
            }
            if to - from >= MAX_HOSTS {
                return Err(format!("{text:?} names more than {MAX_HOSTS} nodes"));
            }
            Ok(Names::Range(&first[..stem], from, to))
        }
        _ => Err(format!("{text:?} is not a range of nodes; write one like \"h0-h3\"")),
    }
}

impl Graph {
    pub(super) fn build(&self) -> Result<Network, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut ids: BTreeMap<String, NodeId> = BTreeMap::new();
        let mut names =
            |texts: &[String], key: &str, most: u64, problems: &mut Vec<Problem>| -> Vec<String> {
                let place = |i: usize| format!("{key}.{i}");
                let mut ranges = Vec::new();
                for (i, text) in texts.iter().enumerate() {
                    match expand(text) {
                        Ok(names) => ranges.push((place(i), names)),
                        Err(message) => problems.push(fault(&place(i), message)),
                    }
                }
                // Before they are made: a short text can name more than the memory holds.
                if let Some(problem) =
                    too_many(key, key, ranges.iter().map(|(_, names)| names.len()).sum(), most)
                {
                    problems.push(problem);
                    return Vec::new();
                }
                let all: Vec<(String, String)> = ranges
                    .iter()
                    .flat_map(|(key, names)| names.iter().map(move |name| (key.clone(), name)))
                    .collect();
                for (key, name) in &all {
                    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
                    if name.is_empty() || !name.chars().all(plain) {
                        let message = format!("{name:?} is not a valid name; use letters, digits and _");
                        problems.push(fault(key, message));
                    }
                    let id = ids.len() as NodeId;
                    if ids.insert(name.clone(), id).is_some() {
                        problems.push(fault(key, format!("there are two nodes called {name:?}")));
                    }
                }
                all.into_iter().map(|(_, name)| name).collect()
            };
        let hosts = names(&self.hosts, "hosts", MAX_HOSTS, &mut problems);
        let switches = names(&self.switches, "switches", MAX_SWITCHES, &mut problems);
        if hosts.len() < 2 && problems.is_empty() {
            problems.push(fault("hosts", "there must be at least two hosts".to_owned()));
        }
        if !problems.is_empty() {
            return Err(problems);
        }

        let mut network = Network::with_hosts(hosts.len() as u32);
        network.nodes.clone_from_slice(&hosts);
        for name in &switches {
            network.add_switch(name);
        }
        let mut joined: BTreeSet<(NodeId, NodeId)> = BTreeSet::new();
        for (i, link) in self.links.iter().enumerate() {
            if let Err(message) = self.add(&mut network, &ids, &mut joined, link) {
                problems.push(fault(&format!("links.{i}"), message));
            }
        }
        for host in 0..network.hosts {
            let name = &network.nodes[host as usize];
            if network.ports(host) == 0 && problems.is_empty() {
                problems.push(fault("links", format!("host {name} has no link")));
            }
        }
        if problems.is_empty() {
            problems.extend(unreachable_node(&network));
        }
        if problems.is_empty() { Ok(network) } else { Err(problems) }
    }

    /// Adds the links that one entry of `links` describes.
    fn add(
        &self,
        network: &mut Network,
        ids: &BTreeMap<String, NodeId>,
        joined: &mut BTreeSet<(NodeId, NodeId)>,
        link: &GraphLink,
    ) -> Result<(), Problem> {
        let [a, b] = link.between.as_slice() else {
            return Err(format!(
                "between has {} entries; a link has two ends, like [\"h0\", \"s0\"]",
                link.between.len()
            )
            .into());
        };
        let rate = link.rate.or(self.rate).ok_or("has no rate, and topology.rate is not set")?;
        let delay = link.delay.or(self.delay).ok_or("has no delay, and topology.delay is not set")?;
        let (left, right) = (expand(a)?, expand(b)?);
        if left.len() > 1 && right.len() > 1 {
            return Err(format!("{a:?} and {b:?} are both ranges; only one end may be").into());
        }
        for a in &mut left.iter() {
            for b in &mut right.iter() {
                let id = |name: &String| {
                    ids.get(name).copied().ok_or_else(|| {
                        unknown(format!("there is no node {name:?}"), name, ids.keys().map(String::as_str))
                    })
                };
                let (x, y) = (id(&a)?, id(&b)?);
                if x == y {
                    return Err(format!("joins {a:?} to itself").into());
                }
                if network.is_host(x) && network.is_host(y) {
                    return Err(
                        format!("connects two hosts, {a} and {b}; hosts connect only to switches").into()
                    );
                }
                if !joined.insert((x.min(y), x.max(y))) {
                    return Err(format!(
                        "{a} and {b} are already connected; for several links write parallel = 2"
                    )
                    .into());
                }
                for _ in 0..link.parallel {
                    if u64::from(network.ports(x).max(network.ports(y))) >= MAX_PORTS {
                        return Err(format!("gives a node more than {MAX_PORTS} ports").into());
                    }
                    network.add_link(x, y, rate, delay);
                }
            }
        }
        Ok(())
    }
}

/// The error for hosts without a path between them.
fn unreachable_node(network: &Network) -> Option<Problem> {
    let (from, lost) = super::Fabric::new(network.clone()).unreachable()?;
    let more = if lost.len() > 1 { format!(", nor to {} more", lost.len() - 1) } else { String::new() };
    let [from, to] = [from, *lost.first()?].map(|host| &network.nodes[host as usize]);
    let message = format!("the network is not connected: there is no path from {from} to {to}{more}");
    Some(fault("links", message))
}
