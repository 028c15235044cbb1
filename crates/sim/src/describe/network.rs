//! Nodes and links.

use incast_units::{Rate, Time};

pub use crate::engine::node::NodeKind;

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

/// What becomes of a link at some time, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// It has this rate for packets that begin to leave from then on. Thresholds of ECN that scale with the
    /// rate follow it.
    Rate(Rate),
    /// It has this propagation delay for packets that begin to leave from then on. None of them
    /// overtakes an earlier one: it arrives no earlier than the one before it.
    Delay(Time),
    /// It fails: what is on its way is lost, and what waits for it goes on waiting. Routes avoid it.
    Down,
    /// It works again.
    Up,
}

/// A change of a link while a simulation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When. At the same instant it comes after the last bit of a packet that leaves, and before
    /// packets that arrive.
    pub time: Time,
    /// The link, an index into [`Network::links`].
    pub link: u32,
    /// What becomes of it.
    pub what: LinkChange,
}

/// The nodes, their names, the links between them, and what becomes of those over time.
///
/// Every host has one or more links, to switches. Routes are the shortest by number of links; where
/// several ports of a switch or a host are equally short, each flow takes one by its hash (ECMP). They
/// follow links that fail and return.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// How many hosts there are.
    pub hosts: u32,
    /// Names of all nodes, hosts first.
    pub nodes: Vec<String>,
    /// The links, as they are at the beginning.
    pub links: Vec<Link>,
    /// What becomes of them, sorted by time; at the same time the later in the list counts.
    pub changes: Vec<Change>,
    /// What each node is, and how many ports it has.
    kinds: Vec<(NodeKind, PortId)>,
}

impl Network {
    /// A network of `hosts` hosts, named `h0`, `h1`, …, without switches or links.
    #[must_use]
    pub fn with_hosts(hosts: u32) -> Self {
        Self {
            hosts,
            nodes: (0..hosts).map(|i| format!("h{i}")).collect(),
            links: Vec::new(),
            changes: Vec::new(),
            kinds: vec![(NodeKind::Host, 0); hosts as usize],
        }
    }

    /// Adds a switch and says which node it is.
    pub fn add_switch(&mut self, name: impl Into<String>) -> NodeId {
        self.add_node(name, NodeKind::Switch)
    }

    /// Adds a node of any kind but hosts, and says which node it is.
    pub fn add_node(&mut self, name: impl Into<String>, kind: NodeKind) -> NodeId {
        self.nodes.push(name.into());
        self.kinds.push((kind, 0));
        self.nodes.len() as NodeId - 1
    }

    /// Joins two nodes by a link on the next free port of each.
    pub fn add_link(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Time) {
        let (a, b) = (self.next_port(a), self.next_port(b));
        self.links.push(Link { a, b, rate, delay });
    }

    fn next_port(&mut self, node: NodeId) -> (NodeId, PortId) {
        let (_, degree) = &mut self.kinds[node as usize];
        *degree += 1;
        (node, *degree - 1)
    }

    /// How many ports a node has.
    #[must_use]
    pub fn ports(&self, node: NodeId) -> PortId {
        self.kinds[node as usize].1
    }

    /// What a node is.
    #[must_use]
    pub fn kind(&self, node: NodeId) -> NodeKind {
        self.kinds[node as usize].0
    }

    /// Whether a node is a host.
    #[must_use]
    pub fn is_host(&self, node: NodeId) -> bool {
        node < self.hosts
    }
}
