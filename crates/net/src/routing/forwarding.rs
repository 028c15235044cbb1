//! Forwarding tables: which ports lead to which hosts over the fewest links.
//!
//! Hosts that are attached in the same way share one *place*, and tables have one entry per place: hosts
//! with one link to the same switch, and hosts with several links whose switches are the same at all times.
//! Switches have a table, and so do hosts with several ports, which choose ports as switches do.
//!
//! Packets name their destination by an *address*: a host, or one card of a host with several. A card has the place of
//! the hosts with one link to its switch.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::timeline::Timeline;
use crate::describe::network::{NodeId, Out, PortId};

/// The forwarding table of one node. Clones share their memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The place of the hosts with one port at this switch; `u16::MAX` if there are none.
    pub own: u16,
    /// For every place: which of `groups` leads there, or [`HERE`].
    toward: Arc<[u16]>,
    /// The different sets of equal-cost ports.
    groups: Arc<[Box<[PortId]>]>,
    /// The hosts with several ports that are connected to this switch, sorted, each with its ports.
    local: Arc<[(NodeId, Box<[PortId]>)]>,
}

/// Instead of a group: this switch is connected to the hosts of the place, to each by separate ports.
const HERE: u16 = u16::MAX;

impl Table {
    /// The equal-cost ports toward a host at a place other than `own`, by number.
    #[inline]
    pub fn group(&self, place: u16, host: u32) -> &[PortId] {
        match self.toward.get(usize::from(place)) {
            Some(&HERE) => self.local(host),
            Some(&group) => self.groups.get(usize::from(group)).map_or(&[], |group| group),
            None => &[],
        }
    }

    /// The ports to a host with several ports that is connected to this switch.
    #[inline(never)]
    fn local(&self, host: u32) -> &[PortId] {
        let at = self.local.binary_search_by_key(&host, |entry| entry.0);
        at.ok().and_then(|at| self.local.get(at)).map_or(&[], |(_, ports)| ports)
    }
}

/// The tables of all nodes that have one.
#[derive(Clone, Debug)]
pub struct Tables {
    hosts: u32,
    /// Of the switches, by node minus the number of hosts.
    switches: Vec<Table>,
    /// Of the hosts with several ports.
    cards: BTreeMap<NodeId, Table>,
}

impl Tables {
    /// The table of a node; hosts with one port have none.
    pub fn of(&self, node: NodeId) -> Option<&Table> {
        match node.checked_sub(self.hosts) {
            Some(switch) => self.switches.get(switch as usize),
            None => self.cards.get(&node),
        }
    }

    /// Makes tables that are the same as before share their memory.
    fn share(&mut self, before: &Self) {
        let switches = self.switches.iter_mut().zip(&before.switches);
        let cards = self.cards.values_mut().zip(before.cards.values());
        for (table, before) in switches.chain(cards).filter(|(table, before)| *table == *before) {
            *table = before.clone();
        }
    }
}

/// A forwarding table under construction. Most nodes use few sets of ports for many places: each set is
/// stored once.
#[derive(Debug, Default)]
struct NewTable {
    toward: Vec<u16>,
    known: BTreeMap<Vec<PortId>, u16>,
    groups: Vec<Box<[PortId]>>,
    local: Vec<(NodeId, Vec<PortId>)>,
}

impl NewTable {
    /// Adds the equal-cost ports toward the next place.
    fn add(&mut self, ports: &[PortId]) {
        let Self { toward, known, groups, .. } = self;
        // There are no more groups than places, of which there are fewer than 65535.
        let group = known.get(ports).copied().unwrap_or_else(|| {
            groups.push(ports.into());
            let group = groups.len() as u16 - 1;
            known.insert(ports.to_vec(), group);
            group
        });
        toward.push(group);
    }

    /// Adds a port to a host with several; hosts come in order, and each one's ports.
    fn add_local(&mut self, host: NodeId, port: PortId) {
        match self.local.last_mut() {
            Some((last, ports)) if *last == host => ports.push(port),
            _ => self.local.push((host, vec![port])),
        }
    }

    fn finish(self, own: u16) -> Table {
        Table {
            own,
            toward: self.toward.into(),
            groups: self.groups.into(),
            local: self.local.into_iter().map(|(host, ports)| (host, ports.into())).collect(),
        }
    }
}

/// An attachment point of hosts.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Attachment {
    /// Whether its hosts have several ports.
    several: bool,
    /// For each view of the links the switches that they are connected to, sorted: at the beginning, and if that
    /// ever changes, after each change of the routes.
    switches: Vec<Vec<Vec<NodeId>>>,
}

impl Attachment {
    /// The switches in a view, after the given number of changes of the routes.
    fn after(&self, view: usize, changes: usize) -> &[NodeId] {
        let switches = &self.switches[view];
        switches.get(changes).or(switches.first()).map_or(&[], Vec::as_slice)
    }
}

/// Source of forwarding tables.
#[derive(Debug)]
pub struct Forwarding<'a> {
    ports: &'a [Vec<Out>],
    /// The links as switches see them, and as hosts do if that differs.
    views: &'a [Timeline],
    hosts: usize,
    /// A node that no route passes.
    off: Option<NodeId>,
    places: Vec<Attachment>,
    /// Number of the places at which hosts are; behind them come places that only cards have.
    host_places: usize,
    /// For every address its place, and the port of its switch that leads to it (not used for a host with
    /// several links).
    pub attachment: Vec<(u16, PortId)>,
}

impl<'a> Forwarding<'a> {
    /// Determines where the first `hosts` nodes are attached, and then these cards.
    ///
    /// # Errors
    /// When there are too many places.
    pub fn new(
        ports: &'a [Vec<Out>],
        views: &'a [Timeline],
        hosts: usize,
        off: Option<NodeId>,
        cards: &[(NodeId, PortId)],
    ) -> Result<Self, String> {
        let attachment = Vec::with_capacity(hosts + cards.len());
        let mut this = Self { ports, views, hosts, off, places: Vec::new(), host_places: 0, attachment };
        let mut known: BTreeMap<Attachment, u16> = BTreeMap::new();
        let of_hosts =
            (0..hosts).map(|host| (this.place_of(host), ports[host].first().map_or(0, |out| out.port)));
        let of_cards = cards.iter().map(|(host, card)| {
            let out = &ports[*host as usize][usize::from(*card)];
            (Attachment { several: false, switches: vec![vec![vec![out.node]]; views.len()] }, out.port)
        });
        let all: Vec<(Attachment, PortId)> = of_hosts.chain(of_cards).collect();
        for (number, (place, port)) in all.into_iter().enumerate() {
            if number == hosts {
                this.host_places = known.len();
            }
            let next = u16::try_from(known.len()).ok().filter(|next| *next != u16::MAX);
            let index = match (known.get(&place), next) {
                (Some(index), _) => *index,
                (None, Some(next)) => *known.entry(place).or_insert(next),
                (None, None) => return Err(format!("hosts are attached in more than {} ways", u16::MAX)),
            };
            this.attachment.push((index, port));
        }
        if cards.is_empty() {
            this.host_places = known.len();
        }
        let mut places: Vec<(Attachment, u16)> = known.into_iter().collect();
        places.sort_unstable_by_key(|(_, index)| *index);
        this.places = places.into_iter().map(|(place, _)| place).collect();
        Ok(this)
    }

    fn place_of(&self, host: usize) -> Attachment {
        let several = self.ports[host].len() > 1;
        let switches = self.views.iter().map(|view| {
            let mut switches = vec![self.switches_of(host, view, None)];
            let changes = |port| view.of(host as NodeId, port).is_some();
            if several && (0..self.ports[host].len() as PortId).any(changes) {
                let times = view.routes_change.iter();
                switches.extend(times.map(|time| self.switches_of(host, view, Some(*time))));
                if switches.iter().all(|after| *after == switches[0]) {
                    switches.truncate(1);
                }
            }
            switches
        });
        Attachment { several, switches: switches.collect() }
    }

    /// Whether routes take the link of a port at `time`: it is up in this view, as all are at the beginning (`None`).
    /// (ps)
    fn works(&self, node: usize, port: PortId, view: &Timeline, time: Option<u64>) -> bool {
        let passes = Some(self.ports[node][usize::from(port)].node) != self.off;
        passes && time.is_none_or(|time| view.is_up(node as NodeId, port, time))
    }

    /// The ports of a host whose links are up at `time`; all of them if none is, so that packets to it or
    /// from it wait for a link to return. (ps)
    fn usable(&self, host: usize, view: &Timeline, time: Option<u64>) -> Vec<(PortId, &'a Out)> {
        let all = || (0..).zip(&self.ports[host]);
        let working: Vec<_> = all().filter(|(port, _)| self.works(host, *port, view, time)).collect();
        if working.is_empty() { all().collect() } else { working }
    }

    /// The switches that a host is connected to at `time`, sorted. (ps)
    fn switches_of(&self, host: usize, view: &Timeline, time: Option<u64>) -> Vec<NodeId> {
        let mut switches: Vec<NodeId> =
            self.usable(host, view, time).iter().map(|(_, out)| out.node).collect();
        switches.sort_unstable();
        switches.dedup();
        switches
    }

    /// The tables at the beginning.
    ///
    /// # Errors
    /// Two switches with hosts that cannot reach each other.
    pub fn initial(&self) -> Result<Tables, (NodeId, NodeId)> {
        let works = |node, port| self.works(node, port, &self.views[0], None);
        let neighbours = neighbours(self.ports, self.hosts, works);
        let places = &self.places[..self.host_places];
        for to in places {
            let distance = distances(&neighbours, self.hosts, to.after(0, 0));
            let reaches = |switch: &NodeId| distance[*switch as usize - self.hosts] != u32::MAX;
            if let Some(lost) = places.iter().find(|from| !from.after(0, 0).iter().any(reaches)) {
                return Err((to.after(0, 0)[0], lost.after(0, 0)[0]));
            }
        }
        Ok(self.tables(0, 0, None))
    }

    /// The tables from each time on at which nodes notice that links fail or return. (ps)
    pub fn later(&self, initial: &Tables) -> Vec<(u64, Tables)> {
        let mut views = (0..self.views.len()).map(|view| self.later_in(view, initial));
        let by_switches = views.next().unwrap_or_default();
        let Some(by_hosts) = views.next() else { return by_switches };
        let mut times: Vec<u64> = by_switches.iter().chain(&by_hosts).map(|epoch| epoch.0).collect();
        times.sort_unstable();
        times.dedup();
        let at = |epochs: &[(u64, Tables)], time| {
            let before = epochs.partition_point(|(begin, _)| *begin <= time);
            before.checked_sub(1).map_or_else(|| initial.clone(), |i| epochs[i].1.clone())
        };
        let tables = |time| Tables { cards: at(&by_hosts, time).cards, ..at(&by_switches, time) };
        times.into_iter().map(|time| (time, tables(time))).collect()
    }

    /// The tables of all nodes by one view of the links.
    fn later_in(&self, view: usize, initial: &Tables) -> Vec<(u64, Tables)> {
        let mut epochs: Vec<(u64, Tables)> = Vec::new();
        for (changes, &time) in (1..).zip(&self.views[view].routes_change) {
            let mut tables = self.tables(view, changes, Some((time, initial)));
            tables.share(epochs.last().map_or(initial, |epoch| &epoch.1));
            epochs.push((time, tables));
        }
        epochs
    }

    /// The tables by a view of the links after the given number of changes, the last at the time that is given with the initial
    /// tables. A host with several ports that has no path to another keeps its initial entry: its packets
    /// wait, or are lost where there is no path. (ps)
    fn tables(&self, view: usize, changes: usize, last: Option<(u64, &Tables)>) -> Tables {
        let (hosts, time, links) = (self.hosts, last.map(|last| last.0), &self.views[view]);
        let neighbours = neighbours(self.ports, hosts, |node, port| self.works(node, port, links, time));
        let mut switches: Vec<NewTable> = neighbours.iter().map(|_| NewTable::default()).collect();
        let several = (0..hosts).filter(|host| self.ports[*host].len() > 1);
        let usable: Vec<(NodeId, Vec<(PortId, &Out)>)> =
            several.map(|host| (host as NodeId, self.usable(host, links, time))).collect();
        let mut cards: Vec<NewTable> = usable.iter().map(|_| NewTable::default()).collect();
        for (host, usable) in &usable {
            let mut local: Vec<(NodeId, PortId)> =
                usable.iter().map(|(_, out)| (out.node, out.port)).collect();
            local.sort_unstable();
            local
                .iter()
                .for_each(|(switch, port)| switches[*switch as usize - hosts].add_local(*host, *port));
        }
        let mut shortest = Vec::new();
        for (index, place) in (0..).zip(&self.places) {
            let distance = distances(&neighbours, hosts, place.after(view, changes));
            for (i, table) in switches.iter_mut().enumerate() {
                let here = distance[i];
                if here == 0 && place.several {
                    table.toward.push(HERE);
                    continue;
                }
                let nearer = |(_, far): &&(PortId, NodeId)| {
                    here != u32::MAX && here > 0 && distance[*far as usize - hosts] == here - 1
                };
                shortest.clear();
                shortest.extend(neighbours[i].iter().filter(nearer).map(|(port, _)| *port));
                table.add(&shortest);
            }
            for ((host, usable), table) in usable.iter().zip(&mut cards) {
                let from = |out: &Out| distance[out.node as usize - hosts];
                let nearest = usable.iter().map(|(_, out)| from(out)).min();
                let nearest = nearest.filter(|distance| *distance != u32::MAX);
                let ports = usable.iter().filter(|(_, out)| Some(from(out)) == nearest);
                shortest.clear();
                shortest.extend(ports.map(|(port, _)| *port));
                match last.and_then(|(_, initial)| initial.of(*host)) {
                    Some(initial) if shortest.is_empty() => table.add(initial.group(index, *host)),
                    _ => table.add(&shortest),
                }
            }
        }
        let mut own = vec![u16::MAX; switches.len()];
        for (index, place) in (0..).zip(&self.places).filter(|(_, place)| !place.several) {
            own[place.after(view, 0)[0] as usize - hosts] = index;
        }
        Tables {
            hosts: hosts as u32,
            switches: switches.into_iter().zip(own).map(|(table, own)| table.finish(own)).collect(),
            cards: usable
                .iter()
                .zip(cards)
                .map(|((host, _), table)| (*host, table.finish(u16::MAX)))
                .collect(),
        }
    }
}

/// The neighbours of every switch over links that are up, by node minus `hosts`. Hosts never forward.
pub fn neighbours(
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

/// Links between every switch and the nearest of `from`, given the neighbours of each switch, by node less
/// `hosts`.
pub fn distances(neighbours: &[Vec<(PortId, NodeId)>], hosts: usize, from: &[NodeId]) -> Vec<u32> {
    let mut distance = vec![u32::MAX; neighbours.len()];
    let mut line: VecDeque<usize> = from.iter().map(|switch| *switch as usize - hosts).collect();
    line.iter().for_each(|at| distance[*at] = 0);
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
