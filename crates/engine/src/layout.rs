//! The layout of a run: nodes that are processed together, the length of a window, and the threads.

use std::collections::BTreeMap;

use incast_net::describe::network::Out;

use super::mail::LinkTo;
use super::model::Model;
use super::partition::{Partition, UnitOfNodes};

/// Groups of nodes that are processed together, each with its thread.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Nodes of every unit.
    units: Vec<Vec<usize>>,
    /// Shortest link inside each unit. (ps)
    inner: Vec<u64>,
    /// Length of a window: the shortest link between units. (ps)
    pub(crate) lookahead: u64,
}

impl Layout {
    /// Groups the ends of links that are much shorter than the rest, so that they do not shorten all
    /// windows: shorter than an eighth of the median, unless that would put more than a quarter of the
    /// nodes into one group.
    pub(crate) fn new(model: &impl Model) -> Self {
        let ports = model.ports();
        // The shortest delay that each link ever has.
        let shortest = |(node, outs): (usize, &Vec<Out>)| -> Vec<u64> {
            let outs = outs.iter().enumerate();
            outs.map(|(port, out)| model.shortest_delay(node as u32, port as u16, out).ps()).collect()
        };
        let delay: Vec<Vec<u64>> = ports.iter().enumerate().map(shortest).collect();
        let mut delays: Vec<u64> = delay.iter().flatten().copied().collect();
        delays.sort_unstable();
        let median = delays.get(delays.len() / 2).copied().unwrap_or(1);
        let join_below = median / 8;
        let mut leader: Vec<usize> = (0..ports.len()).collect();
        fn find(leader: &mut [usize], mut node: usize) -> usize {
            while leader[node] != node {
                leader[node] = leader[leader[node]];
                node = leader[node];
            }
            node
        }
        for (node, outs) in ports.iter().enumerate() {
            for (out, _) in outs.iter().zip(&delay[node]).filter(|(_, delay)| **delay < join_below) {
                let (a, b) = (find(&mut leader, node), find(&mut leader, out.node as usize));
                leader[a.max(b)] = a.min(b);
            }
        }
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for node in 0..ports.len() {
            groups.entry(find(&mut leader, node)).or_default().push(node);
        }
        let largest = groups.values().map(Vec::len).max().unwrap_or(1);
        if largest > 1 && largest > ports.len() / 4 {
            leader = (0..ports.len()).collect();
            groups = leader.iter().map(|n| (*n, vec![*n])).collect();
        }
        let leader: Vec<usize> = (0..ports.len()).map(|n| find(&mut leader, n)).collect();
        // The shortest link inside each unit, and between units.
        let (mut inner, mut lookahead) = (BTreeMap::<usize, u64>::new(), u64::MAX);
        for (node, outs) in ports.iter().enumerate() {
            for (out, delay) in outs.iter().zip(&delay[node]) {
                let shortest = if leader[node] == leader[out.node as usize] {
                    inner.entry(leader[node]).or_insert(u64::MAX)
                } else {
                    &mut lookahead
                };
                *shortest = (*delay).min(*shortest);
            }
        }
        let inner = groups.keys().map(|unit| inner.get(unit).copied().unwrap_or(u64::MAX)).collect();
        // A network that is one unit has no link between units: any window will do.
        let lookahead = lookahead.min(1 << 40);
        Self { units: groups.into_values().collect(), inner, lookahead }
    }

    /// The unit of every node.
    pub(crate) fn units_of_nodes(&self) -> Vec<u32> {
        let mut units = vec![0; self.units.iter().map(Vec::len).sum()];
        for (unit, nodes) in (0..).zip(&self.units) {
            nodes.iter().for_each(|node| units[*node] = unit);
        }
        units
    }

    /// The partition of every unit: each tier of the network (hosts, then switches by their distance
    /// from hosts) is distributed evenly, neighbours together.
    fn assign(&self, model: &impl Model, partitions: usize) -> Vec<u16> {
        let ports = model.ports();
        let hosts = model.hosts();
        let mut tier = vec![u32::MAX; ports.len()];
        let mut line: Vec<usize> = (0..hosts).collect();
        line.iter().for_each(|h| tier[*h] = 0);
        let mut order = Vec::with_capacity(ports.len());
        while !line.is_empty() {
            let mut next = Vec::new();
            for &node in &line {
                order.push(node);
                for out in &ports[node] {
                    let far = out.node as usize;
                    if tier[far] == u32::MAX {
                        tier[far] = tier[node] + 1;
                        next.push(far);
                    }
                }
            }
            line = next;
        }
        let unit_of = self.units_of_nodes();
        let mut assigned = vec![u16::MAX; self.units.len()];
        let mut seen = vec![false; self.units.len()];
        // `order` goes tier by tier.
        for nodes in order.chunk_by(|a, b| tier[*a] == tier[*b]) {
            let units = nodes.iter().map(|node| unit_of[*node] as usize);
            let here: Vec<usize> = units.filter(|unit| !std::mem::replace(&mut seen[*unit], true)).collect();
            let n = here.len();
            for (i, unit) in here.into_iter().enumerate() {
                assigned[unit] = (i * partitions / n) as u16;
            }
        }
        // Switches that no host reaches never see a packet.
        assigned.iter().map(|p| if *p == u16::MAX { 0 } else { *p }).collect()
    }

    /// The partitions of a run on `threads` threads, with their nodes.
    pub(crate) fn partitions<M: Model>(
        &self,
        nodes: Vec<M::Node>,
        model: &M,
        threads: usize,
    ) -> Vec<Partition<M::Node>> {
        let threads = threads.clamp(1, self.units.len().clamp(1, usize::from(u16::MAX)));
        let assigned = self.assign(model, threads);
        // Of every node the partition, its index there, and the index of its first ring.
        let mut at = vec![(0_u16, 0_u32, 0_u32); nodes.len()];
        let mut counts = vec![(0_u32, 0_u32); threads];
        for (unit, nodes) in self.units.iter().enumerate() {
            for &node in nodes {
                let (count, rings) = &mut counts[usize::from(assigned[unit])];
                at[node] = (assigned[unit], *count, *rings);
                *count += 1;
                *rings += model.ports()[node].len() as u32;
            }
        }
        let mut left: Vec<Option<M::Node>> = nodes.into_iter().map(Some).collect();
        let mut shares: Vec<Vec<UnitOfNodes<M::Node>>> = (0..threads).map(|_| Vec::new()).collect();
        for (unit, nodes) in self.units.iter().enumerate() {
            let with_links = nodes.iter().filter_map(|&node| {
                let links = model.ports()[node].iter().map(|out| {
                    let (partition, place, first) = at[out.node as usize];
                    LinkTo { partition, place, port: out.port, ring: first + u32::from(out.port) }
                });
                left[node].take().map(|node| (node, links.collect()))
            });
            let unit_of_nodes = UnitOfNodes { nodes: with_links.collect(), lookahead: self.inner[unit] };
            shares[usize::from(assigned[unit])].push(unit_of_nodes);
        }
        let shares = shares.into_iter().enumerate();
        shares.map(|(index, units)| Partition::new(index as u16, threads, units, model)).collect()
    }
}
