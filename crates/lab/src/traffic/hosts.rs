//! Hosts of a traffic block.

use std::collections::{BTreeMap, BTreeSet};

use incast_sim::describe::network::NodeId;
use incast_units::{Rate, Time};

use crate::grammar::reading::Reading;
use crate::grammar::setting::{Setting, Shape, wrong_type};
use crate::grammar::suggest::unknown;
use crate::grammar::tree::{Node, Value};
use crate::grammar::write::Out;
use crate::problem::Problem;
use crate::topology::{Fabric, graph::expand};

/// Hosts by name: `"h3"`, `"h1-h9"`, `"all"`, or a list of such texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hosts(Vec<String>);

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
        let mut hosts = Vec::new();
        let mut seen = BTreeSet::new();
        // Each is looked at when it is named: a short text can name some hosts very often.
        let mut add = |host: u32| {
            hosts.push(host);
            match seen.insert(host) {
                true => Ok(()),
                false => Err(format!("{} is listed twice", world.fabric.network.nodes[host as usize])),
            }
        };
        for text in &self.0 {
            if text == "all" {
                (0..world.fabric.network.hosts).try_for_each(&mut add)?;
                continue;
            }
            for name in expand(text)?.iter() {
                add(world.host(&name)?)?;
            }
        }
        if hosts.is_empty() { Err("names no host".into()) } else { Ok(hosts) }
    }
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
}

impl<'a> World<'a> {
    pub(crate) fn new(fabric: &'a Fabric) -> Self {
        let hosts = &fabric.network.nodes[..fabric.network.hosts as usize];
        Self { fabric, names: (0..).zip(hosts).map(|(i, name)| (name.as_str(), i)).collect() }
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
