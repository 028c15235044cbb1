//! Nodes and links.

use incast_units::{Rate, Time};

use super::circuits::Circuits;
use super::named::named;

/// A host or a switch, by its index in [`Network::nodes`]. Hosts come first: node `i` below
/// [`Network::hosts`] is host `i`.
pub type NodeId = u32;

/// A node's port, by the order in which its links were added.
pub type PortId = u16;

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Sends and receives flows, never forwards.
    Host,
    /// A host that takes packets slower than its links bring them.
    SlowHost,
    /// Stores and forwards packets.
    Switch,
    /// A switch with backpressure flow control.
    BackpressureSwitch,
    /// A switch whose PFC has a watchdog.
    WatchedSwitch,
    /// Passes packets on by a schedule of circuits.
    OpticalSwitch,
    /// The switch of a rack in a network with circuits.
    Tor,
    /// An example.
    #[cfg(feature = "examples")]
    Repeater,
}

impl NodeKind {
    /// Whether a node of this kind stores a packet and forwards it when the last bit has arrived. One that does not
    /// passes each bit on as it comes, at the rate at which it comes: it adds nothing to the time that a packet takes.
    #[must_use]
    pub const fn stores(self) -> bool {
        match self {
            Self::Host | Self::SlowHost => true,
            Self::Switch | Self::BackpressureSwitch | Self::WatchedSwitch | Self::Tor => true,
            Self::OpticalSwitch => false,
            #[cfg(feature = "examples")]
            Self::Repeater => false,
        }
    }
}

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

/// One direction of a link: out of a port.
#[derive(Clone, Copy, Debug)]
pub struct Out {
    /// The node at the far end.
    pub node: NodeId,
    /// Its port.
    pub port: PortId,
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Time,
}

/// A change of a link at some time, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// New rate, for packets whose transmission begins after the change. ECN thresholds that scale with the
    /// rate follow it.
    Rate(Rate),
    /// New propagation delay, for packets whose transmission begins after the change. Packets are not
    /// reordered: each arrives no earlier than the one before it.
    Delay(Time),
    /// The link fails: packets on it are lost, and packets queued for it stay queued. Routes avoid it.
    Down,
    /// The link returns.
    Up,
}

/// A change of a link while a simulation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Time of the change. At the same instant it comes after the end of a transmission and before packet
    /// arrivals.
    pub time: Time,
    /// The link, an index into [`Network::links`].
    pub link: u32,
    /// The change.
    pub what: LinkChange,
}

/// Delay until nodes notice that a link has failed or returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detection {
    /// Of switches: until then their ports send into a dead link, and their routes are those from before.
    pub switches: Time,
    /// Of hosts: the same, and for the choice among several ports.
    pub hosts: Time,
}

named! {
    /// The clocks of hosts and switches.
    pub enum Clock {
        "exact" => Exact: "every node has the same clock, without error",
        "100ppm" => Free: "each node has a clock of its own: up to 200 ppm slow (100 ppm to either side of a clock that is 100 ppm slow), drawn by the seed; and a packet that leaves a node waits for its next cycle, for 0 to 1 ns",
    }
}

/// The nodes, their names, the links between them, and the changes of links over time.
///
/// Every host has one or more links, to switches. Routes are the shortest by number of links; where several
/// ports of a switch or a host have equal cost, each flow takes one by its hash (ECMP). Routes follow links
/// that fail and return.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Number of hosts.
    pub hosts: u32,
    /// Names of all nodes, hosts first.
    pub nodes: Vec<String>,
    /// The links, as they are at the beginning.
    pub links: Vec<Link>,
    /// Their changes, sorted by time; of changes at the same time the later one in the list applies.
    pub changes: Vec<Change>,
    /// The schedule of the optical switch, in a network with one.
    pub circuits: Option<Circuits>,
    /// The clocks of the nodes.
    pub clock: Clock,
    /// The delay until failures are noticed.
    pub detection: Detection,
    /// The kind of each node, and its number of ports.
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
            circuits: None,
            clock: Clock::Exact,
            detection: Detection::default(),
            kinds: vec![(NodeKind::Host, 0); hosts as usize],
        }
    }

    /// Adds a switch and returns its node.
    pub fn add_switch(&mut self, name: impl Into<String>) -> NodeId {
        self.add_node(name, NodeKind::Switch)
    }

    /// Adds a node of any kind except a host, and returns it.
    pub fn add_node(&mut self, name: impl Into<String>, kind: NodeKind) -> NodeId {
        self.nodes.push(name.into());
        self.kinds.push((kind, 0));
        self.nodes.len() as NodeId - 1
    }

    /// Connects two nodes by a link on the next free port of each.
    pub fn add_link(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Time) {
        let (a, b) = (self.next_port(a), self.next_port(b));
        self.links.push(Link { a, b, rate, delay });
    }

    fn next_port(&mut self, node: NodeId) -> (NodeId, PortId) {
        let (_, degree) = &mut self.kinds[node as usize];
        *degree += 1;
        (node, *degree - 1)
    }

    /// Number of ports of a node.
    #[must_use]
    pub fn ports(&self, node: NodeId) -> PortId {
        self.kinds.get(node as usize).map_or(0, |(_, ports)| *ports)
    }

    /// Returns the kind of a node: a host if its number is below the number of hosts, else the kind with
    /// which it was added.
    #[must_use]
    pub fn kind(&self, node: NodeId) -> NodeKind {
        let added = self.kinds.get(node as usize).map_or(NodeKind::Switch, |(kind, _)| *kind);
        if self.is_host(node) { NodeKind::Host } else { added }
    }

    /// Whether a node is a host.
    #[must_use]
    pub fn is_host(&self, node: NodeId) -> bool {
        node < self.hosts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_are_named_directly_are_switches() {
        let mut network =
            Network { hosts: 2, nodes: vec!["a".into(), "b".into(), "c".into()], ..Network::default() };
        assert_eq!(
            [0, 1, 2].map(|node| network.kind(node)),
            [NodeKind::Host, NodeKind::Host, NodeKind::Switch]
        );
        assert_eq!((network.ports(0), network.ports(2)), (0, 0));
        network = Network::with_hosts(1);
        let switch = network.add_switch("s0");
        assert_eq!([0, switch].map(|node| network.kind(node)), [NodeKind::Host, NodeKind::Switch]);
    }
}
