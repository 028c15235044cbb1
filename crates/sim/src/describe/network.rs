//! Nodes and links.

use incast_units::{Rate, Time};

/// A host or a switch, by its place in [`Network::nodes`]. Hosts come first: node `i` below
/// [`Network::hosts`] is host `i`.
pub type NodeId = u32;

/// A node's port, by the order in which its links were added.
pub type PortId = u16;

/// A full-duplex link between two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: (NodeId, PortId),
    /// The other end.
    pub b: (NodeId, PortId),
    /// Rate in each direction.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Time,
}

/// The nodes, their names and the links between them.
///
/// Every host has exactly one link, to a switch. Routes are the shortest by number of links; where
/// several switches' ports are equally short, each flow takes one by its hash (ECMP).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// How many hosts there are.
    pub hosts: u32,
    /// Names of all nodes, hosts first.
    pub nodes: Vec<String>,
    /// The links.
    pub links: Vec<Link>,
}

impl Network {
    /// A network of `hosts` hosts, named `h0`, `h1`, …, without switches or links.
    #[must_use]
    pub fn with_hosts(hosts: u32) -> Self {
        Self { hosts, nodes: (0..hosts).map(|i| format!("h{i}")).collect(), links: Vec::new() }
    }

    /// Adds a switch and says which node it is.
    pub fn add_switch(&mut self, name: impl Into<String>) -> NodeId {
        self.nodes.push(name.into());
        self.nodes.len() as NodeId - 1
    }

    /// Joins two nodes by a link on the next free port of each.
    pub fn add_link(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Time) {
        let (a, b) = ((a, self.ports(a)), (b, self.ports(b)));
        self.links.push(Link { a, b, rate, delay });
    }

    /// How many ports a node has.
    #[must_use]
    pub fn ports(&self, node: NodeId) -> PortId {
        self.links.iter().map(|l| u16::from(l.a.0 == node) + u16::from(l.b.0 == node)).sum()
    }

    /// Whether a node is a host.
    #[must_use]
    pub fn is_host(&self, node: NodeId) -> bool {
        node < self.hosts
    }
}
