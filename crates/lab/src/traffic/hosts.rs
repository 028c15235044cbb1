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

impl End {
    /// Returns its name: of the host, and its card.
    pub(crate) fn name(self, fabric: &Fabric) -> String {
        let host = &fabric.network.nodes[self.host as usize];
        self.card.map_or_else(|| host.clone(), |card| format!("{host}.{card}"))
    }

    /// The links of the card, or of all cards of the host: the node at the far end, the rate, and the delay.
    pub(crate) fn links(self, fabric: &Fabric) -> &[(NodeId, Rate, Time)] {
        let all = fabric.ports(self.host);
        match self.card.map(usize::from) {
            Some(card) => all.get(card..=card).unwrap_or_default(),
            None => all,
        }
    }

    /// The switches at the far ends of its links, sorted: one for each.
    pub(crate) fn switches(self, fabric: &Fabric) -> Vec<NodeId> {
        let mut switches: Vec<NodeId> = self.links(fabric).iter().map(|link| link.0).collect();
        switches.sort_unstable();
        switches
    }

    /// The switch at the far end of its first link: its rack.
    pub(crate) fn switch(self, fabric: &Fabric) -> NodeId {
        self.links(fabric).first().map_or(self.host, |link| link.0)
    }
}

impl Hosts {
    /// Every host.
    pub(crate) fn all() -> Self {
        Self(vec!["all".to_owned()])
    }

    /// Returns the hosts of a collective in the order written, each once.
    ///
    /// # Errors
    /// When a name is no host, or there are none.
    pub(crate) fn resolve(&self, world: &World<'_>) -> Result<Vec<u32>, Problem> {
        let whole = |end: End| match end.card {
            None => Ok(end.host),
            Some(_) => {
                let problem = format!("{} is a network card; expected a host", world.name(end));
                Err(Problem::new(problem).with_hint("ranks = \"cards\" makes all cards of a host members"))
            }
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

impl Hosts {
    /// Returns the hosts and network cards in the order written, of which each sends or receives for itself.
    ///
    /// # Errors
    /// When a name is neither, there are none, or a host is listed both as a whole and by a card.
    pub(crate) fn members(&self, world: &World<'_>) -> Result<Vec<End>, Problem> {
        let ends = self.ends(world)?;
        let whole: BTreeSet<u32> = ends.iter().filter(|end| end.card.is_none()).map(|end| end.host).collect();
        match ends.iter().find(|end| end.card.is_some() && whole.contains(&end.host)) {
            Some(end) => {
                let [card, host] = [*end, end.host.into()].map(|end| world.name(end));
                Err(format!("{card} is listed beside {host}, which has it; name the host or its cards")
                    .into())
            }
            None => Ok(ends),
        }
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
        end.name(self.fabric)
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

    /// The parts of the network that an end is connected to, sorted.
    fn parts(&self, end: End) -> Vec<NodeId> {
        let links = end.links(self.fabric).iter();
        links.map(|link| self.parts[link.0 as usize]).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Says that two ends have no path between them, if that is so.
    pub(crate) fn apart(&self, [from, to]: [End; 2]) -> Option<String> {
        let parts = self.parts(to);
        let is_joined = self.parts(from).iter().any(|part| parts.contains(part));
        (!is_joined).then(|| format!("there is no path from {} to {}", self.name(from), self.name(to)))
    }

    /// Says that one of some ends has no path to one of others at another host, if that is so.
    pub(crate) fn any_apart(&self, from: &[End], to: &[End]) -> Option<String> {
        // Whole hosts reach each other.
        if from.iter().chain(to).all(|end| end.card.is_none()) {
            return None;
        }
        // Ends in the same parts are alike, and of these two at different hosts are enough.
        let alike = |ends: &[End]| {
            let mut alike: BTreeMap<Vec<NodeId>, Vec<End>> = BTreeMap::new();
            for end in ends {
                let known = alike.entry(self.parts(*end)).or_default();
                if known.len() < 2 && known.iter().all(|other| other.host != end.host) {
                    known.push(*end);
                }
            }
            alike.into_values().flatten().collect::<Vec<_>>()
        };
        let to = alike(to);
        let pairs = alike(from).into_iter().flat_map(|a| to.iter().map(move |b| [a, *b]));
        pairs.filter(|[a, b]| a.host != b.host).find_map(|ends| self.apart(ends))
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

    /// Sum of the rates of all links of these hosts or cards.
    pub(crate) fn capacity(&self, ends: &[End]) -> u128 {
        ends.iter().map(|end| self.rate(*end)).sum()
    }

    /// The rate of all links of a host or card together, in bit/s.
    pub(crate) fn rate(&self, end: End) -> u128 {
        end.links(self.fabric).iter().map(|link| u128::from(link.1.bps())).sum()
    }

    /// The share of a host or card in the links that lead from its switches to other switches, in bit/s: each switch's
    /// are shared by its links to hosts.
    pub(crate) fn uplink_share(&self, end: End) -> u128 {
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
        end.links(self.fabric).iter().map(share).sum()
    }
}
