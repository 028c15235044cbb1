//! Bounds for flows whose packets take different paths: the links that they may take, the fastest way through
//! them and the smallest cut.

use std::collections::{BTreeMap, VecDeque};
use std::slice;

use incast_units::{Bytes, Rate, Time};

use super::forwarding::Tables;
use super::route::{Address, Ends, Routes, Sizes};
use crate::describe::network::{NodeId, Out, PortId};

/// A link that packets from one host to another may take, or several equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    /// The nodes at its ends, by their places in the order in which they are reached.
    from: usize,
    to: usize,
    /// Number of links before it.
    level: usize,
    rate: Rate,
    delay: Time,
    /// Whether it begins to send a packet when the whole packet is there.
    stores: bool,
    /// Number of links.
    width: u64,
}

impl Link {
    /// The time for which it is busy with a packet.
    fn sending(&self, size: u64) -> Time {
        if self.stores { self.rate.time_for(Bytes::new(size)) } else { Time::ZERO }
    }

    /// Returns the time that a packet takes from its one end to its other end.
    fn takes(&self, size: u64) -> Time {
        self.delay + self.sending(size)
    }

    /// Whether both are of the same kind.
    fn equals(&self, other: &Self) -> bool {
        (self.rate, self.delay, self.stores) == (other.rate, other.delay, other.stores)
    }
}

/// The paths from a first link to a destination, by what distinguishes them while no link changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ways {
    first: (NodeId, Rate, Time),
    /// The place of the destination, with its link if it has only one, or with its number.
    last: (u16, Result<(Rate, Time), Address>),
}

/// All shortest paths from one host to another that begin with a certain link.
#[derive(Clone, Debug)]
pub struct Spread {
    /// By level.
    links: Vec<Link>,
    nodes: usize,
    /// The place of the destination.
    end: usize,
    /// Links that every packet crosses exactly one of, by their numbers: the links of one level, or a smallest cut.
    cuts: Vec<Vec<usize>>,
}

/// Times of a packet of one size without queues.
struct Times {
    /// From its start until it has arrived at each node.
    to: Vec<Time>,
    /// From its arrival at each node until it has arrived at the destination.
    from: Vec<Time>,
}

impl Routes {
    /// The links that packets from one host to another may take at `time` if they leave by this port and each node
    /// chooses any of its equal-cost ports. If there is no path then, those at the beginning.
    pub fn spread(&self, ends: (NodeId, Address), port: PortId, time: Time) -> Spread {
        let time = time.ps();
        let now = self.spread_by(self.tables_at(time), ends, port, time);
        if now.links.is_empty() { self.spread_by(&self.tables, ends, port, time) } else { now }
    }

    /// Returns what [`spread`](Self::spread) depends on; `None` if it depends on the time.
    pub fn ways(&self, (host, destination): (NodeId, Address), port: PortId) -> Option<Ways> {
        if !self.timeline.is_empty() {
            return None;
        }
        let first = &self.ports[host as usize][usize::from(port)];
        let last = match self.ports_at(destination) {
            [only] => Ok((only.rate, only.delay)),
            _ => Err(destination),
        };
        let (place, _) = self.attachment[destination as usize];
        Some(Ways { first: (first.node, first.rate, first.delay), last: (place, last) })
    }

    /// The ports by which a path may begin at `time`: the one that its ends name, or all of equal cost.
    pub fn first_ports<'a>(&'a self, ends: &'a Ends, time: Time) -> &'a [PortId] {
        match &ends.by {
            Some(port) => slice::from_ref(port),
            None => self.next_ports(self.tables_at(time.ps()), ends.from, ends.to),
        }
    }

    fn spread_by(
        &self,
        tables: &Tables,
        (source, destination): (NodeId, Address),
        port: PortId,
        time: u64,
    ) -> Spread {
        let end = self.host_of(destination);
        let mut places = BTreeMap::from([(source, 0)]);
        let mut line = VecDeque::from([(source, 0)]);
        let mut links: Vec<Link> = Vec::new();
        while let Some((node, level)) = line.pop_front() {
            let from = places[&node];
            let stores = self.stores(node);
            let next =
                if level == 0 { slice::from_ref(&port) } else { self.next_ports(tables, node, destination) };
            for port in next {
                let out = self.ports[node as usize][usize::from(*port)];
                let Out { node: far, rate, delay, .. } = self.timeline.out_at(node, *port, out, time);
                let known = places.len();
                let to = *places.entry(far).or_insert(known);
                if to == known && far != end {
                    line.push_back((far, level + 1));
                }
                links.push(Link { from, to, level, rate, delay, stores, width: 1 });
            }
        }
        Spread::new(links, places.len(), places.get(&end).copied())
    }
}

impl Spread {
    /// The paths over these links, which are sorted by level and begin at node 0.
    fn new(mut links: Vec<Link>, nodes: usize, end: Option<usize>) -> Self {
        let Some(end) = end else { return Self { links: Vec::new(), nodes, end: 0, cuts: Vec::new() } };
        let mut leads = vec![false; nodes];
        leads[end] = true;
        for link in links.iter().rev() {
            leads[link.from] |= leads[link.to];
        }
        links.retain(|link| leads[link.to]);
        let levels = links.last().map_or(0, |link| link.level + 1);
        let mut cuts: Vec<Vec<usize>> = vec![Vec::new(); levels];
        for (number, link) in links.iter().enumerate() {
            cuts[link.level].push(number);
        }
        let mut this = Self { links, nodes, end, cuts };
        if !this.is_even() {
            let smallest = this.smallest_cut();
            this.cuts.push(smallest);
        } else if this.cuts.iter().all(|cut| cut.iter().all(|n| this.links[*n].equals(&this.links[cut[0]]))) {
            this = this.merged();
        }
        this
    }

    /// The paths as one of links, each of which is all links of a level, which are equal.
    fn merged(&self) -> Self {
        let level = |(level, cut): (usize, &Vec<usize>)| {
            let width = cut.len() as u64;
            Link { from: level, to: level + 1, width, ..self.links[cut[0]] }
        };
        let links: Vec<Link> = self.cuts.iter().enumerate().map(level).collect();
        let (end, cuts) = (links.len(), (0..links.len()).map(|level| vec![level]).collect());
        Self { links, nodes: end + 1, end, cuts }
    }

    /// Whether there is only one path.
    pub fn is_one_path(&self) -> bool {
        self.links.iter().all(|link| link.width == 1) && self.cuts.iter().all(|cut| cut.len() == 1)
    }

    /// Whether packets spread evenly fill the links of each level evenly: then no cut is smaller than the smallest
    /// level.
    fn is_even(&self) -> bool {
        let (mut into, mut out) = (vec![0_usize; self.nodes], vec![0_usize; self.nodes]);
        for link in &self.links {
            out[link.from] += 1;
            into[link.to] += 1;
        }
        let levels = self.cuts.iter().filter_map(|cut| Some((cut, self.links[*cut.first()?])));
        levels.into_iter().all(|(cut, first)| {
            cut.iter().map(|number| &self.links[*number]).all(|link| {
                link.rate == first.rate
                    && out[link.from] == out[first.from]
                    && into[link.to] == into[first.to]
            })
        })
    }

    /// The links of a cut with the smallest sum of rates, by the largest flow (Edmonds and Karp).
    fn smallest_cut(&self) -> Vec<usize> {
        let mut at: Vec<Vec<(usize, bool)>> = vec![Vec::new(); self.nodes];
        for (number, link) in self.links.iter().enumerate() {
            at[link.from].push((number, true));
            at[link.to].push((number, false));
        }
        // What each link can still take along and against its direction.
        let mut left: Vec<[u64; 2]> = self
            .links
            .iter()
            .map(|link| [if link.stores { link.rate.bps() } else { u64::MAX / 2 }, 0])
            .collect();
        loop {
            let mut by: Vec<Option<(usize, bool)>> = vec![None; self.nodes];
            let mut line = VecDeque::from([0]);
            while let Some(node) = line.pop_front() {
                for &(number, along) in &at[node] {
                    let link = &self.links[number];
                    let far = if along { link.to } else { link.from };
                    if left[number][usize::from(!along)] > 0 && far != 0 && by[far].is_none() {
                        by[far] = Some((number, along));
                        line.push_back(far);
                    }
                }
            }
            let reached = |node: usize| node == 0 || by[node].is_some();
            if !reached(self.end) {
                let links = self.links.iter().enumerate();
                let cut = links.filter(|(_, link)| reached(link.from) && !reached(link.to));
                return cut.map(|(number, _)| number).collect();
            }
            let mut way = Vec::new();
            let mut node = self.end;
            while let Some((number, along)) = by[node] {
                way.push((number, along));
                node = if along { self.links[number].from } else { self.links[number].to };
            }
            let most = way.iter().map(|(number, along)| left[*number][usize::from(!along)]).min();
            for (number, along) in way {
                let most = most.unwrap_or(0);
                left[number][usize::from(!along)] -= most;
                left[number][usize::from(along)] = left[number][usize::from(along)].saturating_add(most);
            }
        }
    }

    fn times(&self, size: u64) -> Times {
        let (mut to, mut from) = (vec![Time::NEVER; self.nodes], vec![Time::NEVER; self.nodes]);
        to[0] = Time::ZERO;
        for link in &self.links {
            to[link.to] = to[link.to].min(to[link.from] + link.takes(size));
        }
        from[self.end] = Time::ZERO;
        for link in self.links.iter().rev() {
            from[link.from] = from[link.from].min(from[link.to] + link.takes(size));
        }
        Times { to, from }
    }

    /// Returns the shortest time that a packet takes.
    pub fn one_way(&self, size: u64) -> Time {
        self.times(size).to[self.end]
    }

    /// Returns a lower bound of the time until the last bit of `size` payload bytes has arrived, if all packets leave
    /// by one link, in order, and may overtake each other after it. It is reached if links are equal and no packet
    /// waits for another one, up to the short one for the one before it on a link that both must take.
    ///
    /// Each packet crosses one link of each cut. The first one reaches it by the fastest way; the links of the cut
    /// together need at least all bytes at the sum of their rates; and the last one to cross it needs the fastest
    /// way to the end, be it the short one or the last full one.
    pub fn arrival(&self, sizes: &Sizes, size: u64) -> Time {
        let (packets, full, last) = (sizes.packets(size), sizes.data(sizes.payload), sizes.last(size));
        let short = self.times(last);
        if packets == 1 {
            return short.to[self.end];
        }
        let long = self.times(full);
        let spacing = self.links.first().map_or(Time::ZERO, |link| link.sending(full));
        let (long_after, short_after) = (spacing.times(packets - 2), spacing.times(packets - 1));
        let mut bound = Time::ZERO;
        for cut in &self.cuts {
            let links = || cut.iter().map(|number| &self.links[*number]);
            let soonest = |time: &dyn Fn(&Link) -> Time| links().map(time).min().unwrap_or(Time::ZERO);
            if links().any(|link| !link.stores) {
                continue;
            }
            let begin = soonest(&|link| match link.from {
                0 => Time::ZERO,
                node => long.to[node].min(short_after + short.to[node]),
            });
            let [after_long, after_short] =
                [&long, &short].map(|times| soonest(&|link| link.delay + times.from[link.to]));
            let only = links().next().filter(|link| cut.len() == 1 && link.width == 1);
            let busy = |extra: u64| match only {
                Some(only) => {
                    let last = if extra > 0 { only.sending(extra) } else { Time::ZERO };
                    only.sending(full).times(packets - 1) + last
                }
                None => {
                    let rate: Rate = links().map(|link| link.rate.times(link.width)).sum();
                    rate.time_for(Bytes::new(full.saturating_mul(packets - 1).saturating_add(extra)))
                }
            };
            bound = bound.max(begin + busy(0) + after_long).max(begin + busy(last) + after_short);
            // The last two meet on a link that both must take.
            if let Some(link) = only.filter(|link| link.from != 0) {
                let begin = (long_after + long.to[link.from]).min(short_after + short.to[link.from]);
                bound = bound.max(begin + link.sending(full) + link.sending(last) + after_short);
            }
        }
        bound
    }

    /// Returns the shortest time from the end of the last packet on the first link until it has arrived.
    pub fn after_leaving(&self, sizes: &Sizes, size: u64) -> Time {
        let times = self.times(sizes.last(size));
        let first = self.links.iter().filter(|link| link.from == 0);
        first.map(|link| link.delay + times.from[link.to]).min().unwrap_or(Time::ZERO)
    }

    /// Returns the shortest time until a packet has reached the last link, and the shortest delay of that link.
    pub fn around_arriving(&self, sizes: &Sizes, size: u64) -> [Time; 2] {
        let (packets, full) = (sizes.packets(size), sizes.data(sizes.payload));
        let (long, short) = (self.times(full), self.times(sizes.last(size)));
        let spacing = self.links.first().map_or(Time::ZERO, |link| link.sending(full)).times(packets - 1);
        let before = |link: &Link| match packets {
            1 => short.to[link.from],
            _ => long.to[link.from].min(spacing + short.to[link.from]),
        };
        let ends = || self.links.iter().filter(|link| link.to == self.end);
        let least = |time: &dyn Fn(&Link) -> Time| ends().map(time).min().unwrap_or(Time::ZERO);
        [least(&before), least(&|link| link.delay)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::network::Network;
    use crate::random::draw;

    const SIZES: Sizes = Sizes { payload: 1000, header: 54, counts_payload: false, ack: 64, smallest: 64 };

    fn gbps(rates: impl IntoIterator<Item = u64>) -> Rate {
        rates.into_iter().map(Rate::from_gbps).sum()
    }

    /// Two hosts with links of this rate at two leaves, which spines join by a link up and a link down of these
    /// rates. (Gbps, each link 1 us)
    fn spines(host: u64, rates: &[[u64; 2]]) -> Network {
        let mut network = Network::with_hosts(2);
        let leaves = ["leaf0", "leaf1"].map(|name| network.add_switch(name));
        let link = |network: &mut Network, a, b, rate| {
            network.add_link(a, b, Rate::from_gbps(rate), Time::from_us(1));
        };
        link(&mut network, 0, leaves[0], host);
        link(&mut network, 1, leaves[1], host);
        for (number, [up, down]) in rates.iter().enumerate() {
            let spine = network.add_switch(format!("spine{number}"));
            link(&mut network, leaves[0], spine, *up);
            link(&mut network, leaves[1], spine, *down);
        }
        network
    }

    fn spread(network: &Network) -> Spread {
        Routes::new(network).unwrap().spread((0, 1), 0, Time::ZERO)
    }

    fn rate(spread: &Spread, cut: &[usize]) -> Rate {
        cut.iter().map(|number| &spread.links[*number]).map(|link| link.rate.times(link.width)).sum()
    }

    #[test]
    fn the_smallest_cut_is_smaller_than_each_level() {
        // One spine is slow on the one side, one on the other: each level has 125 Gbps, the cut through the slow
        // links 50. The first of 1000 packets is at the first leaf after 1 us and 1054 B at 400 Gbps. All take
        // 168.64 us at 50 Gbps, and the last has two links and 1054 B at 400 Gbps before it.
        let spread = spread(&spines(400, &[[100, 25], [25, 100]]));
        let cut = spread.smallest_cut();
        assert_eq!(rate(&spread, &cut), gbps([50]));
        let by_hand = 1_021_080 + 1000 * 168_640 + 2_021_080;
        assert_eq!(spread.arrival(&SIZES, 1_000_000), Time::from_ps(by_hand));
    }

    #[test]
    fn equal_links_count_as_one_of_their_sum() {
        let spread = spread(&spines(400, &[[25, 25]; 4]));
        assert_eq!(spread.links.iter().map(|link| link.width).collect::<Vec<_>>(), [1, 4, 4, 1]);
        // 1.02108 us until the leaf, 1000 packets at 100 Gbps, then 25 Gbps and 400 Gbps and three links.
        let by_hand = 1_021_080 + 1000 * 84_320 + 1_000_000 + 337_280 + 2_021_080;
        assert_eq!(spread.arrival(&SIZES, 1_000_000), Time::from_ps(by_hand));
        // Written out link by link it is the same.
        let mut apart = spread.clone();
        let ends = [(0, 1), (1, 6), (1, 2), (1, 3), (1, 4), (6, 5), (2, 5), (3, 5), (4, 5), (5, 7)];
        apart.nodes = 8;
        apart.end = 7;
        let of = [0, 1, 1, 1, 1, 2, 2, 2, 2, 3];
        let link =
            |((from, to), level): ((usize, usize), usize)| Link { from, to, width: 1, ..spread.links[level] };
        apart.links = ends.into_iter().zip(of).map(link).collect();
        apart.cuts = vec![vec![0], vec![1, 2, 3, 4], vec![5, 6, 7, 8], vec![9]];
        for size in [1, 999, 1000, 1001, 123_456] {
            assert_eq!(apart.arrival(&SIZES, size), spread.arrival(&SIZES, size), "{size}");
            assert_eq!(apart.one_way(size), spread.one_way(size));
            assert_eq!(apart.after_leaving(&SIZES, size), spread.after_leaving(&SIZES, size));
            assert_eq!(apart.around_arriving(&SIZES, size), spread.around_arriving(&SIZES, size));
        }
    }

    /// Three tiers of random links between two hosts: a leaf, `width` switches, `width` switches, a leaf.
    fn tiers(seed: u64) -> Network {
        let mut drawn = 0;
        let mut next = |n: u64| {
            drawn += 1;
            draw(seed, drawn) % n
        };
        let mut network = Network::with_hosts(2);
        let (first, last) = (network.add_switch("first"), network.add_switch("last"));
        let width = 1 + next(3);
        let mut rows = Vec::new();
        for row in ["a", "b"] {
            rows.push((0..width).map(|i| network.add_switch(format!("{row}{i}"))).collect::<Vec<_>>());
        }
        let mut link = |network: &mut Network, a, b| {
            let rate = Rate::from_gbps([10, 25, 40, 100][next(4) as usize]);
            network.add_link(a, b, rate, Time::from_us(1));
        };
        link(&mut network, 0, first);
        link(&mut network, 1, last);
        for a in &rows[0] {
            link(&mut network, first, *a);
            for b in &rows[1] {
                link(&mut network, *a, *b);
            }
        }
        for b in &rows[1] {
            link(&mut network, *b, last);
        }
        network
    }

    #[test]
    fn no_set_of_nodes_has_a_smaller_cut() {
        let mut inner = 0;
        for seed in 0..1_000 {
            let spread = spread(&tiers(seed));
            let found = rate(&spread, &spread.smallest_cut());
            let best = (0..1_u32 << spread.nodes).filter(|set| set & 1 == 1 && set >> spread.end & 1 == 0);
            let through = |set: u32| {
                let leaves = |link: &&Link| set >> link.from & 1 == 1 && set >> link.to & 1 == 0;
                spread.links.iter().filter(leaves).map(|link| link.rate.times(link.width)).sum::<Rate>()
            };
            assert_eq!(Some(found), best.map(through).min(), "seed {seed}");
            let level = spread.cuts.iter().take(5).map(|cut| rate(&spread, cut)).min().unwrap();
            inner += u32::from(found < level);
        }
        assert!(inner > 5, "{inner}");
    }
}
