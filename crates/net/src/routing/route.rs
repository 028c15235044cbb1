//! Shortest-path routes, the path that a flow takes, its base RTT and its ideal time. The choice among
//! several equal-cost ports is made in [`super::path`].

use std::collections::BTreeMap;

use incast_cc::Path;
use incast_units::{Bytes, Rate, Time};

use super::forwarding::{Forwarding, Tables, distances, neighbours};
use super::path::Paths;
use super::timeline::Timeline;
use crate::describe::network::{Detection, Network, NodeId, NodeKind, Out, PortId};

/// Destination of a packet: a host by its number, or one card of a host with several, by [`Routes::address`].
pub type Address = u32;

/// The ends of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The host at which it begins.
    pub from: NodeId,
    /// The port by which it leaves that host; `None`: one of the nearest, by its hash.
    pub by: Option<PortId>,
    /// Its destination.
    pub to: Address,
}

impl From<(NodeId, Address)> for Ends {
    fn from((from, to): (NodeId, Address)) -> Self {
        Self { from, by: None, to }
    }
}

/// The ports of every node and the routes to every host.
#[derive(Debug)]
pub struct Routes {
    /// Ports of every node.
    pub ports: Vec<Vec<Out>>,
    /// For every address its place (see [`super::forwarding`]), and, unless it is a host with several ports, the port
    /// of its switch that leads to it. Hosts come first.
    pub attachment: Vec<(u16, PortId)>,
    /// Number of hosts.
    hosts: usize,
    /// The cards that have addresses of their own, in the order of these.
    cards: Vec<(NodeId, PortId)>,
    /// For every host the address of its first card; empty if no card has one.
    first_cards: Vec<Address>,
    /// The forwarding tables at the beginning.
    pub tables: Tables,
    /// The changes of the links.
    pub timeline: Timeline,
    /// The tables from each time on at which nodes notice that links fail or return. (ps)
    pub epochs: Vec<(u64, Tables)>,
    /// The optical switch, which no route passes: when it leads where is up to its schedule.
    pub off: Option<NodeId>,
    /// Nodes that forward without storing, sorted.
    passing: Vec<NodeId>,
}

impl Routes {
    /// Finds the routes of a network to its hosts.
    ///
    /// # Errors
    /// When a host has no link to a switch or one to a host, is not among the first nodes, or two hosts cannot reach each other.
    pub fn new(network: &Network) -> Result<Self, String> {
        Self::to_cards(network, false)
    }

    /// Finds the routes of a network to its hosts and, with `cards`, to each card of hosts that have several.
    ///
    /// # Errors
    /// As [`new`](Self::new). Two cards may be out of each other's reach.
    pub fn to_cards(network: &Network, cards: bool) -> Result<Self, String> {
        let nodes = network.nodes.len();
        let hosts = network.hosts as usize;
        if let Some(added) = (hosts..nodes).find(|node| network.kind(*node as NodeId) == NodeKind::Host) {
            return Err(format!(
                "{} was added as a host: hosts come first, by Network::with_hosts",
                network.nodes[added]
            ));
        }
        let mut ports: Vec<Vec<Out>> = vec![Vec::new(); nodes];
        for link in &network.links {
            for ((node, port), (far, far_port)) in [(link.a, link.b), (link.b, link.a)] {
                if node as usize >= nodes || far as usize >= nodes || node == far {
                    return Err(format!("a link joins nodes {node} and {far}, of {nodes}"));
                }
                if ports[node as usize].len() != usize::from(port) {
                    return Err(format!(
                        "ports of {} are not numbered in order",
                        network.nodes[node as usize]
                    ));
                }
                if link.delay == Time::ZERO || link.rate == Rate::ZERO {
                    return Err("every link needs a rate and a delay above zero".into());
                }
                ports[node as usize].push(Out {
                    node: far,
                    port: far_port,
                    rate: link.rate,
                    delay: link.delay,
                });
            }
        }
        for (host, outs) in ports.iter().enumerate().take(hosts) {
            if outs.is_empty() {
                return Err(format!("host {} has no link", network.nodes[host]));
            }
            if outs.iter().any(|out| network.is_host(out.node)) {
                return Err(format!("host {} is linked to a host", network.nodes[host]));
            }
        }
        let timeline = Timeline::new(network)?;
        let off = off_routes(network);
        let several = (0_u32..).zip(&ports).take(hosts).filter(|(_, outs)| cards && outs.len() > 1);
        let cards: Vec<(NodeId, PortId)> = several
            .flat_map(|(host, outs)| (0..outs.len() as PortId).map(move |card| (host, card)))
            .collect();
        let mut first_cards: Vec<Address> =
            if cards.is_empty() { Vec::new() } else { (0..hosts as Address).collect() };
        for (place, (host, _)) in cards.iter().enumerate().filter(|(_, (_, card))| *card == 0) {
            first_cards[*host as usize] = (hosts + place) as Address;
        }
        let Detection { switches: by_switches, hosts: by_hosts } = network.detection;
        let mut views = vec![timeline.seen_after(by_switches)];
        if by_hosts != by_switches {
            views.push(timeline.seen_after(by_hosts));
        }
        let forwarding = Forwarding::new(&ports, &views, hosts, off, &cards)?;
        let tables = forwarding.initial().map_err(|(a, b)| {
            format!("no path between {} and {}", network.nodes[a as usize], network.nodes[b as usize])
        })?;
        let epochs = forwarding.later(&tables);
        let attachment = forwarding.attachment;
        let passing = (0..nodes as NodeId).filter(|node| !network.kind(*node).stores()).collect();
        Ok(Self { ports, attachment, hosts, cards, first_cards, tables, timeline, epochs, off, passing })
    }

    /// Returns the number of hosts.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.hosts
    }

    /// Returns the address of a host, or of one of its cards if the host has several and their routes were asked for.
    #[inline]
    #[must_use]
    pub fn address(&self, host: NodeId, card: Option<PortId>) -> Address {
        match (card, self.first_cards.get(host as usize)) {
            (Some(card), Some(first)) => first + Address::from(card),
            _ => host,
        }
    }

    /// Returns the host at an address.
    #[must_use]
    pub fn host_of(&self, address: Address) -> NodeId {
        let card = (address as usize).checked_sub(self.hosts).and_then(|place| self.cards.get(place));
        card.map_or(address, |(host, _)| *host)
    }

    /// Returns the number of network cards of a host.
    #[must_use]
    pub fn cards_of(&self, host: NodeId) -> usize {
        self.ports[host as usize].len()
    }

    /// Returns the ports of a host by which packets to an address arrive.
    pub(super) fn ports_at(&self, address: Address) -> &[Out] {
        let card = (address as usize).checked_sub(self.hosts).and_then(|place| self.cards.get(place));
        match card {
            Some((host, card)) => std::slice::from_ref(&self.ports[*host as usize][usize::from(*card)]),
            None => &self.ports[address as usize],
        }
    }

    /// Whether a path exists between these ends at the beginning.
    #[must_use]
    pub fn reaches(&self, paths: &Paths, ends: Ends) -> bool {
        let path = self.path_by(&self.tables, paths, ends, 0, 0);
        path.last().is_some_and(|out| out.node == self.host_of(ends.to))
    }

    /// Whether a node stores packets before it forwards them.
    pub(super) fn stores(&self, node: NodeId) -> bool {
        self.passing.binary_search(&node).is_err()
    }

    /// The forwarding tables at `time`. (ps)
    pub(super) fn tables_at(&self, time: u64) -> &Tables {
        let before = self.epochs.partition_point(|(begin, _)| *begin <= time);
        before.checked_sub(1).map_or(&self.tables, |i| &self.epochs[i].1)
    }

    /// The ports of a node that lead to a host, of equal cost.
    pub(super) fn next_ports<'a>(
        &'a self,
        tables: &'a Tables,
        node: NodeId,
        destination: Address,
    ) -> &'a [PortId] {
        let (place, last_port) = &self.attachment[destination as usize];
        match tables.of(node) {
            // A host with one port.
            None => &[0],
            Some(table) if table.own == *place => std::slice::from_ref(last_port),
            Some(table) => table.group(*place, destination),
        }
    }

    /// A port with the largest rate and delay that its link ever has.
    pub fn largest_ports(&self, node: NodeId) -> Vec<Out> {
        let ports = self.ports[node as usize].iter().enumerate();
        ports.map(|(port, out)| self.timeline.largest(node, port as PortId, *out)).collect()
    }

    /// The links between two ends that packets with this hash take at `time`, first to last, in
    /// their state at that time. If there is no path then, those at the beginning. Links that are connected
    /// by a node which forwards without storing count as one, with the sum of their delays.
    pub fn path(&self, paths: &Paths, ends: impl Into<Ends>, hash: u32, time: Time) -> Vec<Out> {
        let (ends, time) = (ends.into(), time.ps());
        let path = self.path_by(self.tables_at(time), paths, ends, hash, time);
        let reached = path.last().is_some_and(|out| out.node == self.host_of(ends.to));
        if reached { path } else { self.path_by(&self.tables, paths, ends, hash, time) }
    }

    /// The path by these tables, as far as it exists.
    fn path_by(
        &self,
        tables: &Tables,
        paths: &Paths,
        Ends { from, by, to }: Ends,
        hash: u32,
        time: u64,
    ) -> Vec<Out> {
        let mut path: Vec<Out> = Vec::new();
        let (mut node, end) = (from, self.host_of(to));
        while node != end {
            let own = by.filter(|_| node == from);
            let Some(port) = own.or_else(|| paths.pick(node, hash, self.next_ports(tables, node, to))) else {
                break;
            };
            let out = self.ports[node as usize][usize::from(port)];
            let out = self.timeline.out_at(node, port, out, time);
            match path.last_mut() {
                Some(before) if !self.stores(node) => {
                    *before = Out { rate: before.rate, delay: before.delay + out.delay, ..out };
                }
                _ => path.push(out),
            }
            node = out.node;
        }
        path
    }
}

/// The optical switch of a network with circuits, which routes do not pass.
fn off_routes(network: &Network) -> Option<NodeId> {
    let mut nodes = network.hosts..network.nodes.len() as NodeId;
    nodes.find(|node| network.kind(*node) == NodeKind::OpticalSwitch)
}

/// The two slowest of several paths, with the different hosts at their ends.
type Slowest = [Option<(Time, u32)>; 2];

/// Takes another path into account.
fn note(slowest: &mut Slowest, new: (Time, u32)) {
    let [first, second] = slowest;
    match first {
        Some(first) if first.1 == new.1 => first.0 = first.0.max(new.0),
        _ if Some(new) > *first => *second = first.replace(new),
        _ => *second = (*second).max(Some(new)),
    }
}

impl Routes {
    /// The largest base RTT of the network: the longest delay of a data packet of `data` bytes between any
    /// two hosts, or cards with addresses of their own, plus the longest delay of an acknowledgement of `ack` bytes back.
    pub fn largest_round_trip(&self, data: u64, ack: u64) -> Time {
        let out = |_, out: &Out| *out;
        self.largest_one_way(data, out) + self.largest_one_way(ack, out)
    }

    /// The longest time without queues for a packet of `size` bytes between any two hosts and as large a one back, with
    /// each link as slow as it ever is, over the routes of the beginning.
    pub fn slowest_round_trip(&self, size: u64) -> Time {
        let slowest = |node, out: &Out| {
            // The far end of the far end.
            let port = self.ports[out.node as usize][usize::from(out.port)].port;
            self.timeline.slowest(node, port, *out)
        };
        self.largest_one_way(size, slowest).times(2)
    }

    /// The longest delay of a packet of `size` bytes between two hosts, over all equal-cost paths, with the links that `at`
    /// gives in place of theirs.
    fn largest_one_way(&self, size: u64, at: impl Fn(NodeId, &Out) -> Out) -> Time {
        let hosts = self.hosts;
        let cost = |node: NodeId, out: &Out| {
            let out = at(node, out);
            let sending = if self.stores(node) { out.rate.time_for(Bytes::new(size)) } else { Time::ZERO };
            out.delay + sending
        };
        let count = self.attachment.iter().map(|a| usize::from(a.0) + 1).max().unwrap_or(0);
        // For every place and each of its switches the two slowest links of hosts, up and down.
        let mut up: Vec<BTreeMap<NodeId, Slowest>> = vec![BTreeMap::new(); count];
        let mut down = up.clone();
        for (address, &(place, _)) in (0..).zip(&self.attachment) {
            let host = self.host_of(address);
            for out in self.ports_at(address) {
                let back = &self.ports[out.node as usize][usize::from(out.port)];
                note(up[usize::from(place)].entry(out.node).or_default(), (cost(host, out), host));
                note(down[usize::from(place)].entry(out.node).or_default(), (cost(out.node, back), host));
            }
        }
        let mut largest = Time::ZERO;
        let neighbours = neighbours(&self.ports, hosts, |node, port| {
            Some(self.ports[node][usize::from(port)].node) != self.off
        });
        for last in &down {
            // The longest ways from every switch to hosts of the place, nearest switches first.
            let nearest: Vec<NodeId> = last.keys().copied().collect();
            let mut distance = vec![u32::MAX; hosts];
            distance.extend(distances(&neighbours, hosts, &nearest));
            let mut order: Vec<usize> =
                (hosts..self.ports.len()).filter(|n| distance[*n] != u32::MAX).collect();
            order.sort_by_key(|n| distance[*n]);
            let mut ways: Vec<Slowest> = vec![Slowest::default(); self.ports.len()];
            for node in order {
                ways[node] = last.get(&(node as NodeId)).copied().unwrap_or_default();
                // An optical switch is at no distance.
                let nearer = |o: &&Out| distance[o.node as usize].checked_add(1) == Some(distance[node]);
                for out in self.ports[node].iter().filter(nearer) {
                    for (way, to) in ways[out.node as usize].into_iter().flatten() {
                        note(&mut ways[node], (cost(node as NodeId, out) + way, to));
                    }
                }
            }
            for first in &up {
                let nearest = first.keys().map(|switch| distance[*switch as usize]).min();
                for (switch, links) in first {
                    if Some(distance[*switch as usize]) != nearest {
                        continue;
                    }
                    for (a, from) in links.iter().flatten() {
                        for (b, to) in ways[*switch as usize].iter().flatten() {
                            if from != to {
                                largest = largest.max(*a + *b);
                            }
                        }
                    }
                }
            }
        }
        largest
    }
}

/// Sizes on the wire of a flow's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Payload of a full data packet.
    pub payload: u64,
    /// Header bytes of a data packet.
    pub header: u64,
    /// Whether windows count payload alone.
    pub counts_payload: bool,
    /// An acknowledgement.
    pub ack: u64,
    /// The smallest packet.
    pub smallest: u64,
}

impl Sizes {
    /// Size on the wire of a data packet.
    #[inline]
    pub fn data(&self, payload: u64) -> u64 {
        (payload + self.header).max(self.smallest)
    }

    /// Number of packets of a message with this payload.
    pub fn packets(&self, size: u64) -> u64 {
        size.div_ceil(self.payload).max(1)
    }

    /// Size on the wire of the last packet of a message with this payload.
    pub fn last(&self, size: u64) -> u64 {
        self.data(size - (self.packets(size) - 1) * self.payload)
    }

    /// The bytes of a data packet that count against a window.
    #[inline]
    pub fn counted(&self, payload: u64) -> u64 {
        if self.counts_payload { payload } else { self.data(payload) }
    }
}

/// Returns the time that a packet takes over idle links.
pub fn one_way(path: &[Out], size: u64) -> Time {
    path.iter().map(|o| o.delay + o.rate.time_for(Bytes::new(size))).sum()
}

/// The properties of a path that an algorithm is given.
pub fn describe_path(forward: &[Out], back: &[Out], sizes: &Sizes) -> Path {
    let packet = sizes.data(sizes.payload);
    let base_owd = one_way(forward, packet);
    Path {
        base_rtt: base_owd + one_way(back, sizes.ack),
        base_owd,
        line_rate: forward[0].rate,
        packet: Bytes::new(packet),
        payload: Bytes::new(sizes.payload),
        hops: forward.len() as u32,
    }
}

/// Completion time of `size` payload bytes on an idle path, from the first bit sent to the last
/// acknowledgement received, for a sender that is limited by neither window nor rate.
///
/// Full packets leave a path of store-and-forward links with serialization delays s₁…s_h spaced by the
/// largest s, so packet `k` (from 0) leaves link `i` at Σ_{j≤i} s_j + k·max_{j≤i} s_j (plus delays). The
/// last packet may be shorter and catch up with the one before it: it begins at each link when it has
/// arrived there and the one before has left.
pub fn ideal_time(forward: &[Out], back: &[Out], sizes: &Sizes, size: u64) -> Time {
    ideal_arrival(forward, sizes, size) + one_way(back, sizes.ack)
}

/// Returns the ideal time up to the arrival of the last bit at the receiver.
pub fn ideal_arrival(forward: &[Out], sizes: &Sizes, size: u64) -> Time {
    let (packets, last) = (sizes.packets(size), sizes.last(size));
    let full = Bytes::new(sizes.data(sizes.payload));
    let (mut sum, mut largest, mut delays) = (Time::ZERO, Time::ZERO, Time::ZERO);
    let mut arrival = Time::ZERO;
    for out in forward {
        let step = out.rate.time_for(full);
        sum += step;
        largest = largest.max(step);
        let before = match packets {
            1 => Time::ZERO,
            // When the packet before the last has left this link.
            n => delays + sum + largest.times(n - 2),
        };
        delays += out.delay;
        arrival = arrival.max(before) + out.rate.time_for(Bytes::new(last)) + out.delay;
    }
    arrival
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::network::{Change, LinkChange};
    use crate::routing::path::ecmp;

    fn out(rate: Rate) -> Out {
        Out { node: 0, port: 0, rate, delay: Time::from_us(1) }
    }

    const SIZES: Sizes = Sizes { payload: 1000, header: 54, counts_payload: false, ack: 64, smallest: 64 };

    #[test]
    fn base_rtt_of_the_oscar_star() {
        // Two hops of 3 us at 100 Gbps: 12 us of propagation, 2 * 1054 B * 80 ps forward and
        // 2 * 64 B * 80 ps back: 12_000_000 + 168_640 + 10_240 ps.
        let link = Out { delay: Time::from_us(3), ..out(Rate::from_gbps(100)) };
        let path = describe_path(&[link, link], &[link, link], &SIZES);
        assert_eq!(path.base_rtt, Time::from_ps(12_178_880));
        assert_eq!(path.base_owd, Time::from_ps(6_168_640));
        assert_eq!(path.packet, Bytes::new(1054));
    }

    #[test]
    fn ideal_time_by_hand() {
        let fast = out(Rate::from_gbps(100));
        let slow = out(Rate::from_gbps(50));
        // One packet of 500 B over two fast links: 2 * (554 * 80 ps + 1 us) + 2 * (64 * 80 ps + 1 us).
        assert_eq!(ideal_time(&[fast, fast], &[fast, fast], &SIZES, 500), Time::from_ps(4_098_880));
        // Three full packets over a fast then a slow link: the slow one spaces them by 168_640 ps:
        // first at 84_320 + 168_640 + 2 us, last 2 * 168_640 later, then the acknowledgement's
        // 5_120 + 10_240 ps + 2 us.
        assert_eq!(ideal_time(&[fast, slow], &[slow, fast], &SIZES, 3000), Time::from_ps(4_605_600));
        // A short last packet waits behind the full one at every link where it catches up:
        // sent 84_320 to 93_440 (114 B * 80 ps), it reaches the slow link at 1_093_440, which is busy with
        // the first until 1_252_960; 114 B take 18_240 there.
        let arrival = 1_252_960 + 18_240 + 1_000_000;
        let ack = 5_120 + 10_240 + 2_000_000;
        assert_eq!(ideal_time(&[fast, slow], &[slow, fast], &SIZES, 1060), Time::from_ps(arrival + ack));
    }

    #[test]
    fn finds_all_equal_paths_and_no_longer_one() {
        // Two leaves with two hosts each, three spines.
        let mut network = Network::with_hosts(4);
        let leaves = [network.add_switch("l0"), network.add_switch("l1")];
        let spines: Vec<_> = (0..3).map(|i| network.add_switch(format!("s{i}"))).collect();
        for host in 0..4 {
            network.add_link(host, leaves[host as usize / 2], Rate::from_gbps(100), Time::from_us(1));
        }
        for leaf in leaves {
            for &spine in &spines {
                network.add_link(leaf, spine, Rate::from_gbps(100), Time::from_us(1));
            }
        }
        let routes = Routes::new(&network).unwrap();
        let paths = Paths::new(&Default::default(), &[]);
        let mut seen = [0; 3];
        for key in 0..3000 {
            let path = routes.path(&paths, (0, 3), ecmp::hashes(key).0, Time::ZERO);
            assert_eq!(path.len(), 4);
            seen[(path[1].node - spines[0]) as usize] += 1;
        }
        // Binomial with n = 3000, p = 1/3: mean 1000, standard deviation 25.8; five of them.
        assert!(seen.iter().all(|n| (871..=1129).contains(n)), "{seen:?}");
        assert_eq!(routes.path(&paths, (0, 1), 7, Time::ZERO).len(), 2);
    }

    #[test]
    fn the_largest_round_trip_by_hand() {
        // Two leaves joined by a slow link: h0, h1 on one, h2 on the other; h1's link is the longest.
        let mut network = Network::with_hosts(3);
        let leaves = [network.add_switch("l0"), network.add_switch("l1")];
        let fast = Rate::from_gbps(100);
        network.add_link(0, leaves[0], fast, Time::from_us(1));
        network.add_link(1, leaves[0], fast, Time::from_us(5));
        network.add_link(2, leaves[1], fast, Time::from_us(2));
        network.add_link(leaves[0], leaves[1], Rate::from_gbps(50), Time::from_us(1));
        let routes = Routes::new(&network).unwrap();
        // h1 to h2 or back: 5 + 1 + 2 us each way; 1000 B take 80 ns, 160 ns and 80 ns, 100 B a tenth.
        let expected = Time::from_us(16) + Time::from_ns(320) + Time::from_ns(32);
        assert_eq!(routes.largest_round_trip(1000, 100), expected);
        // The link between the leaves has half of its rate for some time, and twice its delay at another: 5 + 2 + 2 us and
        // 80 + 320 + 80 ns each way.
        for (time, what) in [
            (1, LinkChange::Rate(Rate::from_gbps(25))),
            (2, LinkChange::Rate(fast)),
            (3, LinkChange::Delay(Time::from_us(2))),
        ] {
            network.changes.push(Change { time: Time::from_us(time), link: 3, what });
        }
        let routes = Routes::new(&network).unwrap();
        assert_eq!(routes.slowest_round_trip(1000), Time::from_ns(2 * 9_480));
        assert_eq!(routes.largest_round_trip(1000, 100), expected);
    }

    #[test]
    fn the_largest_round_trip_with_two_rails_by_hand() {
        // h0 and h1 at two rails, of which the second is slow; h2 at the first one.
        let mut network = Network::with_hosts(3);
        let rails = [network.add_switch("r0"), network.add_switch("r1")];
        for host in 0..2 {
            network.add_link(host, rails[0], Rate::from_gbps(100), Time::from_us(1));
            network.add_link(host, rails[1], Rate::from_gbps(50), Time::from_us(3));
        }
        network.add_link(2, rails[0], Rate::from_gbps(100), Time::from_us(4));
        let routes = Routes::new(&network).unwrap();
        // Between h0 and h1 on the slow rail: 6 us and 320 ns for 1000 B, 32 ns for 100 B. From h2 to either
        // on the other one it is 5 us and 160 ns: shorter, though no host has a longer link than h2.
        let expected = Time::from_us(12) + Time::from_ns(320) + Time::from_ns(32);
        assert_eq!(routes.largest_round_trip(1000, 100), expected);
        // With the slow rail at h1 alone nobody takes it: h2 to h0 and back.
        let mut network = Network::with_hosts(3);
        let rails = [network.add_switch("r0"), network.add_switch("r1")];
        network.add_link(0, rails[0], Rate::from_gbps(100), Time::from_us(1));
        network.add_link(1, rails[0], Rate::from_gbps(100), Time::from_us(1));
        network.add_link(1, rails[1], Rate::from_gbps(50), Time::from_us(30));
        network.add_link(2, rails[0], Rate::from_gbps(100), Time::from_us(4));
        network.add_link(rails[0], rails[1], Rate::from_gbps(100), Time::from_us(1));
        let routes = Routes::new(&network).unwrap();
        let expected = Time::from_us(10) + Time::from_ns(160) + Time::from_ns(16);
        assert_eq!(routes.largest_round_trip(1000, 100), expected);
    }

    #[test]
    fn tables_that_stay_the_same_share_their_memory() {
        use crate::describe::network::{Change, LinkChange};
        let mut network = Network::with_hosts(2);
        let [l0, l1] = ["l0", "l1"].map(|name| network.add_switch(name));
        network.add_link(0, l0, Rate::from_gbps(100), Time::from_us(1));
        network.add_link(1, l1, Rate::from_gbps(100), Time::from_us(1));
        for _ in 0..2 {
            network.add_link(l0, l1, Rate::from_gbps(100), Time::from_us(1));
        }
        let spare = network.add_switch("s");
        network.add_link(l0, spare, Rate::from_gbps(100), Time::from_us(1));
        network.changes = vec![Change { time: Time::from_us(1), link: 3, what: LinkChange::Down }];
        let routes = Routes::new(&network).unwrap();
        let (before, after) = (&routes.tables, &routes.epochs[0].1);
        let group = |tables: &Tables, node| tables.of(node).unwrap().group(1, 1).as_ptr();
        assert_eq!(group(before, spare), group(after, spare));
        assert_ne!(group(before, l0), group(after, l0));
        assert_eq!(after.of(l0).unwrap().group(1, 1), [1]);
    }

    #[test]
    fn a_network_in_two_parts_is_refused() {
        let mut network = Network::with_hosts(2);
        for host in 0..2 {
            let switch = network.add_switch(format!("s{host}"));
            network.add_link(host, switch, Rate::from_gbps(100), Time::from_us(1));
        }
        assert_eq!(Routes::new(&network).unwrap_err(), "no path between s0 and s1");
    }
}
