//! The layout of a run: nodes that are processed together, the length of a window, and the threads.

use std::collections::BTreeMap;

use incast_net::describe::network::Out;

use super::mail::LinkTo;
use super::model::Model;
use super::partition::{Partition, UnitOfNodes};

/// Partitions for each of a few threads, and for each of many. What a thread takes from another one when it has nothing
/// left to do is a partition, and many of them make threads ready at the same time; but a packet between two of them costs
/// more than one within, and with few threads that is most of the loss.
const PARTITIONS: [usize; 2] = [2, 4];
/// The largest number of threads that are few.
const FEW: usize = 4;

/// Groups of nodes that are processed together.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Nodes of every unit.
    units: Vec<Vec<usize>>,
    /// Shortest link inside each unit. (ps)
    inner: Vec<u64>,
    /// The units tier by tier: hosts, then switches by their distance from hosts, neighbours together. Units of
    /// switches that no host reaches are in none: they never see a packet.
    tiers: Vec<Vec<u32>>,
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
        let units: Vec<Vec<usize>> = groups.into_values().collect();
        let tiers = tiers(model, &units_of_nodes(&units));
        Self { units, inner, tiers, lookahead }
    }

    /// The unit of every node.
    pub(crate) fn units_of_nodes(&self) -> Vec<u32> {
        units_of_nodes(&self.units)
    }

    /// The number of units.
    pub(crate) fn units(&self) -> usize {
        self.units.len()
    }

    /// The number of partitions of a run on this many threads, and of threads that it can use.
    pub(crate) fn sizes(&self, threads: usize) -> (usize, usize) {
        let most = self.units.len().clamp(1, usize::from(u16::MAX));
        let threads = threads.clamp(1, most);
        let each = match threads {
            1 => 1,
            2..=FEW => PARTITIONS[0],
            _ => PARTITIONS[1],
        };
        (threads.saturating_mul(each).min(most), threads)
    }

    /// Divides the units among `partitions`: of each tier of the network each gets the same share of the weight,
    /// neighbours together. What one has too much of in a tier, because units are whole, it gets less of in the next.
    pub(crate) fn assign(&self, weights: &[u64], partitions: usize) -> Vec<u16> {
        let mut assigned = vec![0; self.units.len()];
        // The weight of each partition, and of all so far.
        let mut have = vec![0_u64; partitions];
        let mut sum = 0;
        let weight = |unit: u32| weights[unit as usize].max(1);
        for tier in &self.tiers {
            let here: u64 = tier.iter().map(|unit| weight(*unit)).sum();
            sum += here;
            // What each lacks, up to and including it; then the tier is cut in this proportion.
            let mut lacks = Vec::with_capacity(partitions);
            let mut all = 0_u64;
            for have in &have {
                all += (sum / partitions as u64 + 1).saturating_sub(*have);
                lacks.push(all);
            }
            let (mut before, mut partition) = (0_u128, 0);
            for unit in tier {
                let weight = weight(*unit);
                // Each unit goes where its middle is.
                let middle = 2 * before + u128::from(weight);
                while partition + 1 < partitions
                    && middle * u128::from(all) > 2 * u128::from(lacks[partition]) * u128::from(here)
                {
                    partition += 1;
                }
                before += u128::from(weight);
                have[partition] += weight;
                assigned[*unit as usize] = partition as u16;
            }
        }
        assigned
    }

    /// The partitions of a run, `count` of them, with their nodes.
    pub(crate) fn partitions<M: Model>(
        &self,
        nodes: Vec<M::Node>,
        model: &M,
        count: usize,
    ) -> Vec<Partition<M::Node>> {
        let assigned = self.assign(&vec![1; self.units.len()], count);
        // Of every node the partition, its index there, and the index of its first ring.
        let mut at = vec![(0_u16, 0_u32, 0_u32); nodes.len()];
        let mut counts = vec![(0_u32, 0_u32); count];
        for (unit, nodes) in self.units.iter().enumerate() {
            for &node in nodes {
                let (count, rings) = &mut counts[usize::from(assigned[unit])];
                at[node] = (assigned[unit], *count, *rings);
                *count += 1;
                *rings += model.ports()[node].len() as u32;
            }
        }
        let mut left: Vec<Option<M::Node>> = nodes.into_iter().map(Some).collect();
        let mut shares: Vec<Vec<UnitOfNodes<M::Node>>> = (0..count).map(|_| Vec::new()).collect();
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
        shares.map(|(index, units)| Partition::new(index as u16, units, model)).collect()
    }
}

/// The unit of every node.
fn units_of_nodes(units: &[Vec<usize>]) -> Vec<u32> {
    let mut unit_of = vec![0; units.iter().map(Vec::len).sum()];
    for (unit, nodes) in (0..).zip(units) {
        nodes.iter().for_each(|node| unit_of[*node] = unit);
    }
    unit_of
}

/// The units tier by tier, each once.
fn tiers(model: &impl Model, unit_of: &[u32]) -> Vec<Vec<u32>> {
    let ports = model.ports();
    let mut reached = vec![false; ports.len()];
    let mut seen = vec![false; ports.len()];
    let mut line: Vec<usize> = (0..model.hosts()).collect();
    line.iter().for_each(|host| reached[*host] = true);
    let mut tiers = Vec::new();
    while !line.is_empty() {
        let units = line.iter().map(|node| unit_of[*node]);
        tiers.push(units.filter(|unit| !std::mem::replace(&mut seen[*unit as usize], true)).collect());
        let far = line.iter().flat_map(|node| &ports[*node]).map(|out| out.node as usize);
        line = far.filter(|node| !std::mem::replace(&mut reached[*node], true)).collect();
    }
    tiers
}
