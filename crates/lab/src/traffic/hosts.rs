//! Hosts of a traffic block.

use std::collections::{BTreeMap, BTreeSet};

use incast_sim::describe::network::{NodeId, PortId};
use incast_units::{Rate, Time};

use crate::grammar::reading::Reading;
use crate::grammar::setting::{Setting, Shape, wrong_type};
use crate::grammar::suggest::unknown;
use crate::grammar::tree::{Node, Value};
use crate::grammar::write::Out;
use crate::problem::Problem;
use crate::topology::{Fabric, graph::expand};

/// Hosts by name: `"h3"`, `"h1-h9"`, `"all"`, or a list of such texts; where a kind of traffic takes them also their
/// network cards: `"h3.0"`, `"h1-h9.0"`, `"h3.0-h3.7"`, `"all.0"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hosts(Vec<String>);

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End {
    pub(crate) host: u32,
    /// The network card, by its port; `None`: by the hash of the flow.
    pub(crate) card: Option<PortId>,
}

impl From<u32> for End {
    fn from(host: u32) -> Self {
        Self { host, card: None }
    }
}

impl Hosts {
    /// Every host.
    pub(crate) fn all() -> Self {
        Self(vec!["all".to_owned()])
    }

    /// Returns the hosts in the order written, each once.
    ///
    /// # Errors
    /// When a name is no host, or there are none.
    pub(crate) fn resolve(&self, world: &World<'_>) -> Result<Vec<u32>, Problem> {
        let whole = |end: End| match end.card {
            None => Ok(end.host),
            Some(_) => Err(format!("{} is a network card; expected a host", world.name(end)).into()),
        };
        self.ends(world)?.into_iter().map(whole).collect()
    }

    /// Returns the hosts and network cards in the order written, each once.
    ///
    /// # Errors
    /// When a name is neither, or there are none.
    pub(crate) fn ends(&self, world: &World<'_>) -> Result<Vec<End>, Problem> {
        let mut ends = Vec::new();
        let mut seen = BTreeSet::new();
        // Each is looked at when it is named: a short text can name some hosts very often.
        let mut add = |end: End| {
            ends.push(end);
            match seen.insert(end) {
                true => Ok(()),
                false => Err(format!("{} is listed twice", world.name(end))),
            }
        };
        for text in &self.0 {
            let (hosts, card) = match text.rsplit_once('.') {
                // A card of each host of a range, and not a range of cards.
                Some((hosts, card)) if is_number(card) && !hosts.contains('.') => (hosts, Some(card)),
                _ => (text.as_str(), None),
            };
            let of = |host: &str| card.map_or_else(|| host.to_owned(), |card| format!("{host}.{card}"));
            if hosts == "all" {
                let names = &world.fabric.network.nodes[..world.fabric.network.hosts as usize];
                names.iter().try_for_each(|name| Ok::<_, Problem>(add(world.end(&of(name))?)?))?;
                continue;
            }
            for name in expand(hosts)?.iter() {
                add(world.end(&of(&name))?)?;
            }
        }
        if ends.is_empty() { Err("names no host".into()) } else { Ok(ends) }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl Setting for Hosts {
    fn shape() -> Shape {
        Shape::Text("hosts like \"h3\", \"h1-h9\", \"all\" or a list of such")
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        match &node.value {
            Value::Text(text) => Some(Self(vec![text.clone()])),
            Value::List(_) => Vec::read(node, key, reading).map(Self),
            _ => wrong_type(node, key, reading),
        }
    }

    fn write(&self) -> Option<Out> {
        match self.0.as_slice() {
            [text] => Some(Out::text(text)),
            _ => self.0.write(),
        }
    }
}

/// The network that traffic runs on, with its hosts by name.
#[derive(Debug)]
pub(crate) struct World<'a> {
    pub(crate) fabric: &'a Fabric,
    names: BTreeMap<&'a str, u32>,
    /// For every switch the part of the network that it is in.
    parts: Vec<NodeId>,
}

impl<'a> World<'a> {
    pub(crate) fn new(fabric: &'a Fabric) -> Self {
        let hosts = &fabric.network.nodes[..fabric.network.hosts as usize];
        let names = (0..).zip(hosts).map(|(i, name)| (name.as_str(), i)).collect();
        Self { fabric, names, parts: fabric.parts() }
    }

    /// Returns the name of an end.
    pub(crate) fn name(&self, end: End) -> String {
        let host = &self.fabric.network.nodes[end.host as usize];
        end.card.map_or_else(|| host.clone(), |card| format!("{host}.{card}"))
    }

    /// The host called `name`, or the network card: `"h3.0"`.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn end(&self, name: &str) -> Result<End, Problem> {
        let (Some((host, card)), None) = (name.rsplit_once('.'), self.names.get(name)) else {
            return self.host(name).map(End::from);
        };
        let host = self.host(host)?;
        let cards = self.fabric.ports(host).len();
        match card.parse::<PortId>().ok().filter(|card| usize::from(*card) < cards) {
            Some(card) => Ok(End { host, card: Some(card) }),
            None => {
                let numbers =
                    if cards == 1 { "one card, 0".to_owned() } else { format!("cards 0 to {}", cards - 1) };
                let host = &self.fabric.network.nodes[host as usize];
                Err(format!("there is no card {card:?} of {host}, which has {numbers}").into())
            }
        }
    }

    /// Says that two ends have no path between them, if that is so.
    pub(crate) fn apart(&self, ends: [End; 2]) -> Option<String> {
        let parts = |end: End| -> Vec<u32> {
            let ports = self.fabric.ports(end.host).iter();
            let ports =
                ports.enumerate().filter(|(port, _)| end.card.is_none_or(|card| usize::from(card) == *port));
            ports.map(|(_, port)| self.parts[port.0 as usize]).collect()
        };
        let [from, to] = ends.map(parts);
        let [a, b] = ends.map(|end| self.name(end));
        (!from.iter().any(|part| to.contains(part))).then(|| format!("there is no path from {a} to {b}"))
    }

    /// The host called `name`.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn host(&self, name: &str) -> Result<u32, Problem> {
        if let Some(&host) = self.names.get(name) {
            return Ok(host);
        }
        if self.fabric.network.nodes.iter().any(|node| node == name) {
            return Err(format!("{name} is a switch; expected a host").into());
        }
        let nodes = &self.fabric.network.nodes;
        let count = self.fabric.network.hosts as usize;
        let range = format!("the hosts are {} to {}", nodes[0], nodes[count - 1]);
        let numbered = name.strip_prefix('h').is_some_and(|rest| rest.parse::<u64>().is_ok());
        let problem = format!("there is no host {name:?}; {range}");
        // A number beyond the last host is not a misspelt name.
        if numbered { Err(problem.into()) } else { Err(unknown(problem, name, self.names.keys().copied())) }
    }

    /// Sum of the rates of all links of these hosts.
    pub(crate) fn capacity(&self, hosts: &[u32]) -> u128 {
        hosts.iter().map(|&host| u128::from(self.fabric.host_rate(host).bps())).sum()
    }

    /// A host's share of the links that lead from its switches to other switches, in bit/s: each switch's
    /// are shared by its links to hosts.
    pub(crate) fn uplink_share(&self, host: u32) -> u128 {
        let share = |&(switch, ..): &(NodeId, Rate, Time)| {
            let (mut up, mut down) = (0_u128, 0_u128);
            for &(far, rate, _) in self.fabric.ports(switch) {
                if self.fabric.network.is_host(far) {
                    down += 1;
                } else {
                    up += u128::from(rate.bps());
                }
            }
            up / down.max(1)
        };
        self.fabric.ports(host).iter().map(share).sum()
    }
}
