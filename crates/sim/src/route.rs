//! Shortest-path routes, the path that a flow takes, its base RTT and its ideal time. Which of several
//! equally short ports a packet takes is a matter of [`crate::switch::path`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use incast_cc::Path;
use incast_units::{Bytes, Rate, Time};

use crate::describe::network::{Network, NodeId, PortId};
use crate::switch::path::Paths;
use crate::timeline::Timeline;

/// One direction of a link: out of a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    /// The node at the far end.
    pub(crate) node: NodeId,
    /// Its port.
    pub(crate) port: PortId,
    pub(crate) rate: Rate,
    pub(crate) delay: Time,
}

/// The ports of every node and the routes to every host.
#[derive(Debug)]
pub(crate) struct Routes {
    /// Ports of every node.
    pub(crate) ports: Vec<Vec<Out>>,
    /// For every host: the index of its switch among the attachment switches, and its port there.
    pub(crate) attachment: Vec<(u16, PortId)>,
    /// Tables of the switches at the beginning, by node id less the number of hosts.
    pub(crate) tables: Vec<Table>,
    /// What becomes of the links.
    pub(crate) timeline: Timeline,
    /// The tables from each time on at which links fail or return. (ps)
    pub(crate) epochs: Vec<(u64, Vec<Table>)>,
    hosts: u32,
}

/// The forwarding table of one switch. Clones share their memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// This switch's index among the attachment switches; `u16::MAX` for a switch without hosts.
    pub(crate) own: u16,
    /// For every attachment switch: which of `groups` leads there.
    toward: Arc<[u16]>,
    /// The different sets of equally short ports: where each begins in `ports`, and their number.
    groups: Arc<[(u32, u32)]>,
    ports: Arc<[PortId]>,
}

impl Table {
    /// The equally short ports toward an attachment switch other than this one, by number.
    #[inline]
    pub(crate) fn group(&self, attachment: u16) -> &[PortId] {
        let group = self.toward.get(usize::from(attachment)).and_then(|g| self.groups.get(usize::from(*g)));
        group.and_then(|&(start, len)| self.ports.get(start as usize..(start + len) as usize)).unwrap_or(&[])
    }

    /// Whether no port leads to an attachment switch other than this one.
    fn is_lost(&self, attachment: u16) -> bool {
        self.group(attachment).is_empty()
    }
}

/// A forwarding table in the making. Most switches use few sets of ports for very many destinations:
/// each is kept once.
#[derive(Debug, Default)]
struct NewTable {
    toward: Vec<u16>,
    known: BTreeMap<Vec<PortId>, u16>,
    groups: Vec<(u32, u32)>,
    ports: Vec<PortId>,
}

impl NewTable {
    /// Adds the equally short ports toward the next attachment switch.
    fn add(&mut self, ports: &[PortId]) {
        let Self { toward, known, groups, ports: all } = self;
        // There are no more groups than attachment switches, of which there are fewer than 65535.
        let group = known.get(ports).copied().unwrap_or_else(|| {
            groups.push((all.len() as u32, ports.len() as u32));
            all.extend(ports);
            let group = groups.len() as u16 - 1;
            known.insert(ports.to_vec(), group);
            group
        });
        toward.push(group);
    }

    fn finish(self, own: u16) -> Table {
        Table { own, toward: self.toward.into(), groups: self.groups.into(), ports: self.ports.into() }
    }
}

impl Routes {
    /// Finds the routes of a network.
    ///
    /// # Errors
    /// When a host has not exactly one link to a switch, or two hosts cannot reach each other.
    pub(crate) fn new(network: &Network) -> Result<Self, String> {
        let nodes = network.nodes.len();
        let hosts = network.hosts as usize;
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
        let mut attachments: Vec<NodeId> = Vec::new();
        let mut index_of = vec![u16::MAX; nodes];
        let mut attachment = Vec::with_capacity(hosts);
        for (host, out) in ports.iter().enumerate().take(hosts) {
            let [out] = out[..] else {
                return Err(format!("host {} has {} links instead of one", network.nodes[host], out.len()));
            };
            if network.is_host(out.node) {
                return Err(format!("host {} is linked to a host", network.nodes[host]));
            }
            let index = &mut index_of[out.node as usize];
            if *index == u16::MAX {
                *index = u16::try_from(attachments.len())
                    .ok()
                    .filter(|i| *i != u16::MAX)
                    .ok_or_else(|| format!("hosts are linked to more than {} switches", u16::MAX))?;
                attachments.push(out.node);
            }
            attachment.push((*index, out.port));
        }
        let timeline = Timeline::new(network)?;
        let switches = Switches { ports: &ports, hosts, attachments: &attachments, index_of: &index_of };
        let tables = switches.tables(|_, _| true);
        for (&lost, switch) in attachments.iter().flat_map(|a| attachments.iter().map(move |b| (a, b))) {
            let table = &tables[lost as usize - hosts];
            if lost != *switch && table.is_lost(index_of[*switch as usize]) {
                return Err(format!(
                    "no path between {} and {}",
                    network.nodes[*switch as usize], network.nodes[lost as usize]
                ));
            }
        }
        let epoch =
            |&time: &u64| (time, switches.tables(|node, port| timeline.is_up(node as NodeId, port, time)));
        let epochs = timeline.routes_change.iter().map(epoch).collect();
        Ok(Self { ports, attachment, tables, timeline, epochs, hosts: network.hosts })
    }

    /// The tables of the switches at `time`. (ps)
    fn tables_at(&self, time: u64) -> &[Table] {
        let before = self.epochs.partition_point(|(begin, _)| *begin <= time);
        before.checked_sub(1).map_or(&self.tables, |i| &self.epochs[i].1)
    }

    /// A port with the largest rate and delay that its link ever has.
    pub(crate) fn largest_ports(&self, node: NodeId) -> Vec<Out> {
        let ports = self.ports[node as usize].iter().enumerate();
        ports.map(|(port, out)| self.timeline.largest(node, port as PortId, *out)).collect()
    }

    /// The links from one host to another that packets with this hash take at `time`, first to last, as
    /// they are then. Where there is no way then, those at the beginning.
    pub(crate) fn path(&self, paths: &Paths, ends: (u32, u32), hash: u32, time: Time) -> Vec<Out> {
        let time = time.ps();
        let path = self.path_by(self.tables_at(time), paths, ends, hash, time);
        let reached = path.last().is_some_and(|out| out.node == ends.1);
        if reached { path } else { self.path_by(&self.tables, paths, ends, hash, time) }
    }

    /// The path by these tables, as far as there is one.
    fn path_by(
        &self,
        tables: &[Table],
        paths: &Paths,
        (source, destination): (u32, u32),
        hash: u32,
        time: u64,
    ) -> Vec<Out> {
        let (attachment, last_port) = self.attachment[destination as usize];
        let out_at = |node: NodeId, port: PortId| {
            let out = self.ports[node as usize][usize::from(port)];
            self.timeline.out_at(node, port, out, time)
        };
        let mut path = vec![out_at(source, 0)];
        loop {
            let switch = path[path.len() - 1].node;
            let table = &tables[(switch - self.hosts) as usize];
            let port = if table.own == attachment {
                Some(last_port)
            } else {
                paths.usual(switch, hash, table.group(attachment))
            };
            let Some(port) = port else { return path };
            let out = out_at(switch, port);
            path.push(out);
            if out.node == destination {
                return path;
            }
        }
    }
}

impl Routes {
    /// The largest base round trip of the network: the longest way of a data packet of `data` bytes
    /// between any two hosts, with the longest way of an acknowledgement of `ack` bytes back.
    pub(crate) fn largest_round_trip(&self, data: u64, ack: u64) -> Time {
        self.largest_one_way(data) + self.largest_one_way(ack)
    }

    /// The longest way of a packet of `size` bytes between two hosts, over all equally short paths.
    fn largest_one_way(&self, size: u64) -> Time {
        let hosts = self.hosts as usize;
        let cost = |out: &Out| out.delay + out.rate.time_for(Bytes::new(size));
        let count = self.attachment.iter().map(|a| usize::from(a.0) + 1).max().unwrap_or(0);
        // The two slowest links between a switch and its hosts, up and down.
        let mut up = vec![[None::<(Time, usize)>; 2]; count];
        let mut down = up.clone();
        for (host, &(leaf, port)) in self.attachment.iter().enumerate() {
            let out = self.ports[host][0];
            let back = self.ports[out.node as usize][usize::from(port)];
            for (slowest, link) in [(&mut up, out), (&mut down, back)] {
                let two = &mut slowest[usize::from(leaf)];
                let new = Some((cost(&link), host));
                if new > two[0] {
                    *two = [new, two[0]];
                } else if new > two[1] {
                    two[1] = new;
                }
            }
        }
        let mut largest = Time::ZERO;
        let neighbours = neighbours(&self.ports, hosts, |_, _| true);
        for (destination, last) in down.iter().enumerate() {
            // The longest way from every switch to the destination's, nearest switches first.
            let leaf = self.tables.iter().position(|t| usize::from(t.own) == destination);
            let Some(leaf) = leaf else { continue };
            let mut distance = vec![u32::MAX; hosts];
            distance.extend(distances(&neighbours, hosts, (hosts + leaf) as NodeId));
            let mut order: Vec<usize> =
                (hosts..self.ports.len()).filter(|n| distance[*n] != u32::MAX).collect();
            order.sort_by_key(|n| distance[*n]);
            let mut way = vec![Time::ZERO; self.ports.len()];
            for node in order {
                let nearer =
                    |o: &&Out| o.node as usize >= hosts && distance[o.node as usize] + 1 == distance[node];
                let ways = self.ports[node].iter().filter(nearer);
                way[node] = ways.map(|o| cost(o) + way[o.node as usize]).max().unwrap_or(Time::ZERO);
            }
            for (table, node) in self.tables.iter().zip(hosts..) {
                let Some(first) = up.get(usize::from(table.own)) else { continue };
                for (a, from) in first.iter().flatten() {
                    for (b, to) in last.iter().flatten() {
                        if from != to && distance[node] != u32::MAX {
                            largest = largest.max(*a + way[node] + *b);
                        }
                    }
                }
            }
        }
        largest
    }
}

/// What forwarding tables are made from.
struct Switches<'a> {
    ports: &'a [Vec<Out>],
    hosts: usize,
    /// The switches with hosts, and their indices by node.
    attachments: &'a [NodeId],
    index_of: &'a [u16],
}

impl Switches<'_> {
    /// The tables over the links that work, as the port of either end says.
    fn tables(&self, works: impl Fn(usize, PortId) -> bool) -> Vec<Table> {
        let Self { ports, hosts, attachments, index_of } = *self;
        let neighbours = neighbours(ports, hosts, works);
        let mut tables: Vec<NewTable> = neighbours.iter().map(|_| NewTable::default()).collect();
        let mut shortest = Vec::new();
        for &switch in attachments {
            let distance = distances(&neighbours, hosts, switch);
            for (i, table) in tables.iter_mut().enumerate() {
                let here = distance[i];
                let nearer = |(_, far): &&(PortId, NodeId)| {
                    here != u32::MAX && here > 0 && distance[*far as usize - hosts] == here - 1
                };
                shortest.clear();
                shortest.extend(neighbours[i].iter().filter(nearer).map(|(port, _)| *port));
                table.add(&shortest);
            }
        }
        let tables = tables.into_iter().enumerate();
        tables.map(|(i, table)| table.finish(index_of[hosts + i])).collect()
    }
}

/// The neighbours of every switch over the links that work, by node less `hosts`. Hosts never forward.
fn neighbours(
    ports: &[Vec<Out>],
    hosts: usize,
    works: impl Fn(usize, PortId) -> bool,
) -> Vec<Vec<(PortId, NodeId)>> {
    let mut all: Vec<Vec<(PortId, NodeId)>> = vec![Vec::new(); ports.len() - hosts];
    for (node, outs) in ports.iter().enumerate().skip(hosts) {
        let outs = outs.iter().enumerate().map(|(port, out)| (port as PortId, out.node));
        let outs = outs.filter(|(port, far)| *far as usize >= hosts && works(node, *port));
        all[node - hosts].extend(outs);
    }
    all
}

/// Links between every switch and `from`, given the neighbours of each switch, by node less `hosts`.
fn distances(neighbours: &[Vec<(PortId, NodeId)>], hosts: usize, from: NodeId) -> Vec<u32> {
    let mut distance = vec![u32::MAX; neighbours.len()];
    distance[from as usize - hosts] = 0;
    let mut line = VecDeque::from([from as usize - hosts]);
    while let Some(at) = line.pop_front() {
        for &(_, far) in &neighbours[at] {
            let far = far as usize - hosts;
            if distance[far] == u32::MAX {
                distance[far] = distance[at] + 1;
                line.push_back(far);
            }
        }
    }
    distance
}

/// Sizes on the wire of a flow's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Payload of a full data packet.
    pub(crate) payload: u64,
    /// What a data packet is larger than its payload.
    pub(crate) header: u64,
    /// Whether windows count payload alone.
    pub(crate) counts_payload: bool,
    /// An acknowledgement.
    pub(crate) ack: u64,
    /// The smallest packet.
    pub(crate) smallest: u64,
}

impl Sizes {
    /// Size on the wire of a data packet.
    #[inline]
    pub(crate) fn data(&self, payload: u64) -> u64 {
        (payload + self.header).max(self.smallest)
    }

    /// What a data packet counts against a window.
    #[inline]
    pub(crate) fn counted(&self, payload: u64) -> u64 {
        if self.counts_payload { payload } else { self.data(payload) }
    }
}

fn one_way(path: &[Out], size: u64) -> Time {
    path.iter().map(|o| o.delay + o.rate.time_for(Bytes::new(size))).sum()
}

/// What an algorithm is told of a path.
pub(crate) fn describe_path(forward: &[Out], back: &[Out], sizes: &Sizes) -> Path {
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
/// acknowledgement received, for a sender that is never held back.
///
/// Full packets leave a row of store-and-forward links of times s₁…s_h spaced by the largest s, so
/// packet `k` (from 0) leaves link `i` at Σ_{j≤i} s_j + k·max_{j≤i} s_j (plus delays). The last packet
/// may be shorter and catch up with the one before it: it begins at each link when it has arrived
/// there and the one before has left.
pub(crate) fn ideal_time(forward: &[Out], back: &[Out], sizes: &Sizes, size: u64) -> Time {
    let packets = size.div_ceil(sizes.payload).max(1);
    let last = sizes.data(size - (packets - 1) * sizes.payload);
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
    arrival + one_way(back, sizes.ack)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switch::path::ecmp;

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
    }

    #[test]
    fn a_network_in_two_parts_is_refused() {
        let mut network = Network::with_hosts(2);
        for host in 0..2 {
            let switch = network.add_switch(format!("s{host}"));
            network.add_link(host, switch, Rate::from_gbps(100), Time::from_us(1));
        }
        assert_eq!(Routes::new(&network).unwrap_err(), "no path between s1 and s0");
    }
}
