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
    /// How many ports each node has.
    degrees: Vec<PortId>,
}

impl Network {
    /// A network of `hosts` hosts, named `h0`, `h1`, …, without switches or links.
    #[must_use]
    pub fn with_hosts(hosts: u32) -> Self {
        Self {
            hosts,
            nodes: (0..hosts).map(|i| format!("h{i}")).collect(),
            links: Vec::new(),
            degrees: vec![0; hosts as usize],
        }
    }

    /// Adds a switch and says which node it is.
    pub fn add_switch(&mut self, name: impl Into<String>) -> NodeId {
        self.nodes.push(name.into());
        self.degrees.push(0);
        self.nodes.len() as NodeId - 1
    }

    /// Joins two nodes by a link on the next free port of each.
    pub fn add_link(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Time) {
        let (a, b) = (self.next_port(a), self.next_port(b));
        self.links.push(Link { a, b, rate, delay });
    }

    fn next_port(&mut self, node: NodeId) -> (NodeId, PortId) {
        let degree = &mut self.degrees[node as usize];
        *degree += 1;
        (node, *degree - 1)
    }

    /// How many ports a node has.
    #[must_use]
    pub fn ports(&self, node: NodeId) -> PortId {
        self.degrees[node as usize]
    }

    /// Whether a node is a host.
    #[must_use]
    pub fn is_host(&self, node: NodeId) -> bool {
        node < self.hosts
    }
}
