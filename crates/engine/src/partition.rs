//! Nodes that one thread processes at a time: their rings, event queues and the windows in which they are processed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use incast_net::describe::network::PortId;
use incast_net::packet::{IntRecords, Packet, flag};
use incast_net::record::tally::Tally;

use super::coming::{self, Coming, Key};
use super::event::{Effects, Event};
use super::hand::{Hand, Scratch};
use super::mail::{LinkTo, Mail, Outbox};
use super::model::{Arrival, Handler, Model, Node, RunState, Visit};
use super::ready::Ready;
use super::rings::{Ring, RingPool};

/// A node with its event queue.
#[derive(Debug)]
struct Agenda<N> {
    node: N,
    events: BinaryHeap<Reverse<Event>>,
    /// The cost of a packet that arrives at it. (ns)
    arrival: u32,
}

/// The cost of a visit of a node without its events: about, on the machine of `docs/dev/threads.md`. (ns)
const VISIT: u32 = 60;
/// The cost of an event that is no arrival. (ns)
const EVENT: u32 = 40;
/// The cost of an arrival at a host. (ns)
const AT_HOST: u32 = 130;
/// The cost of an arrival at a switch. (ns)
const AT_SWITCH: u32 = 60;

impl<N> Agenda<N> {
    /// The time of its next event. (ps)
    fn next(&self) -> u64 {
        self.events.peek().map_or(u64::MAX, |event| event.0.time())
    }
}

/// Nodes that are processed together because the links between them are short; most hold one.
#[derive(Debug)]
struct Unit {
    first: u32,
    /// For a unit with several nodes: the time of the next event of each.
    inside: Option<Inside>,
}

/// Scheduling state of a unit with several nodes.
#[derive(Debug)]
struct Inside {
    /// No link inside is shorter. (ps)
    lookahead: u64,
    ready: Ready,
}

/// The incoming side of one node: its rings, and its index in the search for nodes with pending events.
#[derive(Debug)]
struct Inbox {
    /// First of its links in [`Fabric::links`], and of its rings in [`Fabric::rings`].
    base: u32,
    unit: u32,
    /// Ports whose rings are not empty.
    active: Vec<PortId>,
}

/// The links of a partition's nodes, and the packets in flight on those that lead here.
#[derive(Debug)]
struct Fabric {
    index: u16,
    links: Vec<LinkTo>,
    /// One ring for each port of each node, with the packets that will arrive there.
    rings: Vec<Ring>,
    pool: RingPool,
    /// One for every node here.
    inboxes: Vec<Inbox>,
    units: Vec<Unit>,
    /// The time of the next event of each unit; exact between windows.
    ready: Ready,
}

/// A part of the network, which one thread processes at a time.
#[derive(Debug)]
pub(crate) struct Partition<N> {
    agendas: Vec<Agenda<N>>,
    fabric: Fabric,
    /// Nodes that take samples.
    sampled: Vec<u32>,
    /// Its cost since this was asked last. (ns)
    load: u64,
}

impl Fabric {
    /// Puts a packet into the ring of its link.
    #[inline]
    fn deliver(&mut self, to: LinkTo, packet: &Packet, int: Option<&IntRecords>) {
        let is_first = self.rings[to.ring as usize].push(packet, int, &mut self.pool);
        if is_first {
            self.wake(to, packet.time);
        }
    }

    /// A packet will arrive at `time` on this link from here, which was empty.
    #[inline(never)]
    fn wake_at(&mut self, link: usize, time: u64) {
        self.wake(self.links[link], time);
    }

    /// A packet will arrive at `time` on a link that was empty.
    #[inline]
    fn wake(&mut self, to: LinkTo, time: u64) {
        let place = to.place as usize;
        let inbox = &mut self.inboxes[place];
        inbox.active.push(to.port);
        self.ready.lower(inbox.unit as usize, time);
        let unit = &mut self.units[inbox.unit as usize];
        if let Some(inside) = &mut unit.inside {
            inside.ready.lower(place - unit.first as usize, time);
        }
    }

    /// Has the first packets that will arrive at a unit of one node brought into the cache: it is the next one.
    #[inline]
    fn prefetch(&self, unit: usize) {
        let Inbox { base, active, .. } = &self.inboxes[self.units[unit].first as usize];
        for &port in active {
            self.rings[*base as usize + usize::from(port)].prefetch(&self.pool);
        }
    }
}

/// The effects available to the current node.
struct NodeEffects<'a> {
    fabric: &'a mut Fabric,
    outbox: &'a mut Outbox,
    tally: &'a mut Tally,
    events: &'a mut BinaryHeap<Reverse<Event>>,
    base: u32,
    /// The window. (ps)
    start: u64,
    end: u64,
    /// The first of the events.
    due: Key,
    /// Whether the first event of the queue is being handled: the next one that is scheduled takes its place there.
    is_handled: bool,
}

impl Effects for NodeEffects<'_> {
    const DEPARTURES_WAIT: bool = true;

    #[inline(always)]
    fn transmit(&mut self, port: PortId, packet: &Packet, int: &IntRecords) {
        let link = self.base as usize + usize::from(port);
        let Fabric { index, links, rings, pool, .. } = &mut *self.fabric;
        let to = &links[link];
        let int = packet.is(flag::INT).then_some(int);
        if to.partition == *index {
            let is_first = rings[to.ring as usize].push(packet, int, pool);
            if is_first {
                self.fabric.wake_at(link, packet.time);
            }
        } else {
            self.mail(link, packet, int);
        }
    }

    #[inline]
    fn schedule(&mut self, event: Event) {
        if std::mem::take(&mut self.is_handled)
            && let Some(mut first) = self.events.peek_mut()
        {
            *first = Reverse(event);
            return;
        }
        self.events.push(Reverse(event));
        self.due = self.due.min(Key::of_event(event, self.start, self.end));
    }

    #[inline]
    fn tally(&mut self) -> &mut Tally {
        self.tally
    }
}

/// The events of the current node in a window.
struct NodeVisit<'a, 'b> {
    /// Its arrivals, in order.
    coming: &'a [Coming],
    effects: &'a mut NodeEffects<'b>,
    /// The time of the last other event. (ps)
    last: &'a mut u64,
    /// The number of other events.
    others: &'a mut u32,
}

impl Visit for NodeVisit<'_, '_> {
    #[inline(always)]
    fn run<H: Handler>(self, handler: &mut H) {
        let Self { mut coming, effects, last, others } = self;
        let mut int = IntRecords::default();
        loop {
            while let [first, rest @ ..] = coming
                && first.key() < effects.due
            {
                let (key, place) = (first.key(), first.place());
                coming = rest;
                let port = key.port();
                let mut packet = *effects.fabric.pool.packet(place);
                if packet.is(flag::INT) {
                    let fabric = &mut *effects.fabric;
                    let ring = &mut fabric.rings[effects.base as usize + usize::from(port)];
                    ring.pop_stack(&mut int, &mut fabric.pool);
                }
                let now = effects.start + key.since();
                handler.arrive(Arrival { now, port, packet: &mut packet, int: &mut int }, effects);
            }
            if effects.due == Key::NEVER {
                return;
            }
            let Some(&Reverse(event)) = effects.events.peek() else { return };
            *last = event.time();
            *others += 1;
            // Most events are followed by another one: one change of the queue instead of two.
            effects.is_handled = true;
            handler.handle(event, effects);
            if std::mem::take(&mut effects.is_handled) {
                effects.events.pop();
            }
            effects.find_due();
        }
    }
}

impl NodeEffects<'_> {
    /// Puts a packet on a link to another partition.
    #[inline(never)]
    fn mail(&mut self, link: usize, packet: &Packet, int: Option<&IntRecords>) {
        self.outbox.add(self.fabric.links[link], packet, int);
    }

    /// Finds the first of the events.
    #[inline]
    fn find_due(&mut self) {
        let (start, end) = (self.start, self.end);
        self.due = self.events.peek().map_or(Key::NEVER, |event| Key::of_event(event.0, start, end));
    }
}

/// Nodes that are processed together.
#[derive(Debug)]
pub(crate) struct UnitOfNodes<N> {
    /// The nodes, each with where its links lead.
    pub(crate) nodes: Vec<(N, Vec<LinkTo>)>,
    /// No link between them is shorter. (ps)
    pub(crate) lookahead: u64,
}

impl<N> Partition<N> {
    /// Partition number `index`, with these nodes.
    pub(crate) fn new<M>(index: u16, units: Vec<UnitOfNodes<N>>, model: &M) -> Self
    where
        M: Model<Node = N>,
        N: Node<M>,
    {
        let mut fabric = Fabric {
            index,
            links: Vec::new(),
            rings: Vec::new(),
            pool: RingPool::default(),
            inboxes: Vec::new(),
            units: Vec::with_capacity(units.len()),
            ready: Ready::new(&[]),
        };
        let mut agendas = Vec::with_capacity(units.iter().map(|unit| unit.nodes.len()).sum());
        let (mut sampled, mut earliest) = (Vec::new(), Vec::new());
        for (number, UnitOfNodes { nodes, lookahead }) in units.into_iter().enumerate() {
            let first = agendas.len() as u32;
            for (node, links) in nodes {
                let base = fabric.links.len() as u32;
                fabric.inboxes.push(Inbox { base, unit: number as u32, active: Vec::new() });
                fabric.rings.extend(links.iter().map(|_| Ring::default()));
                fabric.links.extend(links);
                let events: BinaryHeap<_> = node.first_events(model).into_iter().map(Reverse).collect();
                if node.takes_samples() {
                    sampled.push(agendas.len() as u32);
                }
                let arrival = if (node.id() as usize) < model.hosts() { AT_HOST } else { AT_SWITCH };
                agendas.push(Agenda { node, events, arrival });
            }
            let times = agendas[first as usize..].iter().map(Agenda::next);
            earliest.push(times.clone().min().unwrap_or(u64::MAX));
            // Most units hold one node, and memory for each of them would be asked for in vain.
            let inside = (times.len() > 1)
                .then(|| Inside { lookahead, ready: Ready::new(&times.collect::<Vec<_>>()) });
            fabric.units.push(Unit { first, inside });
        }
        fabric.ready = Ready::new(&earliest);
        Self { agendas, fabric, sampled, load: 0 }
    }

    /// The time of the next event here. (ps)
    pub(crate) fn next(&self) -> u64 {
        self.fabric.ready.earliest()
    }

    /// Returns what the nodes have cost since this was asked last. (ns)
    pub(crate) fn take_load(&mut self) -> u64 {
        std::mem::take(&mut self.load)
    }

    /// Handles every event before `end`, given that nothing sent from now on arrives before it.
    pub(crate) fn process<M>(&mut self, end: u64, model: &M, hand: &mut Hand)
    where
        M: Model<Node = N>,
        N: Node<M>,
    {
        let before = hand.load;
        for index in 0..self.fabric.ready.find(end) {
            let Some(unit) = self.fabric.ready.place(index) else { break };
            let visit = hand.visits.is_some().then(|| (hand.load, Instant::now()));
            let next = if self.fabric.units[unit].inside.is_none() {
                let node = self.fabric.units[unit].first as usize;
                let start = self.fabric.ready.time(unit);
                if let Some(following) = self.fabric.ready.place(index + 1) {
                    self.fabric.prefetch(following);
                }
                self.process_node(node, start, end, model, hand)
            } else {
                self.process_unit(unit, end, model, hand)
            };
            self.fabric.ready.set(unit, next);
            if let Some((load, began)) = visit {
                hand.record(unit, load, began);
            }
        }
        self.fabric.ready.finish();
        self.load += hand.load - before;
    }

    /// Handles every event before `end` in a unit of several nodes, in windows within the window. Returns
    /// the time of the next event.
    fn process_unit<M>(&mut self, unit: usize, end: u64, model: &M, hand: &mut Hand) -> u64
    where
        M: Model<Node = N>,
        N: Node<M>,
    {
        fn inside<N>(partition: &mut Partition<N>, unit: usize) -> Option<&mut Inside> {
            partition.fabric.units[unit].inside.as_mut()
        }
        let first = self.fabric.units[unit].first as usize;
        loop {
            let Some(Inside { lookahead, ready }) = inside(self, unit) else { return u64::MAX };
            let start = ready.earliest();
            if start >= end {
                return start;
            }
            let window = end.min(start.saturating_add(*lookahead));
            for index in 0..ready.find(window) {
                let Some(node) = inside(self, unit).and_then(|i| i.ready.place(index)) else { break };
                let next = self.process_node(first + node, start, window, model, hand);
                if let Some(Inside { ready, .. }) = inside(self, unit) {
                    ready.set(node, next);
                }
            }
            if let Some(Inside { ready, .. }) = inside(self, unit) {
                ready.finish();
            }
        }
    }

    /// Handles the events of a node from `start` until before `end`. Returns the time of its next one.
    fn process_node<M>(&mut self, index: usize, start: u64, end: u64, model: &M, hand: &mut Hand) -> u64
    where
        M: Model<Node = N>,
        N: Node<M>,
    {
        let Self { agendas, fabric, .. } = self;
        let Hand { scratch: Scratch { coming, spent }, outbox, tally, .. } = hand;
        let Agenda { node, events, arrival } = &mut agendas[index];
        let Fabric { inboxes, rings, pool, .. } = fabric;
        let Inbox { base, active, .. } = &mut inboxes[index];
        let base = *base;
        coming.clear();
        let (mut next, mut highest) = (u64::MAX, Key::LOWEST);
        let several = active.len() > 1;
        let mut at = 0;
        while let Some(&port) = active.get(at) {
            let ring = &mut rings[base as usize + usize::from(port)];
            let before = coming.len();
            let later = ring.take(port, (start, end), coming, spent, pool);
            ring.prefetch_stacks(coming.len() - before, pool);
            next = next.min(later);
            // The packets of a ring are in order.
            highest = coming.as_slice().last().map_or(highest, |last| last.key().max(highest));
            if ring.is_empty() {
                active.swap_remove(at);
            } else {
                at += 1;
            }
        }
        if several {
            coming::sort(coming, highest);
        }
        let due = events.peek().map_or(Key::NEVER, |event| Key::of_event(event.0, start, end));
        let (mut last, mut others) = (0, 0);
        let mut effects =
            NodeEffects { fabric, outbox, tally, events, base, start, end, due, is_handled: false };
        let visit = NodeVisit {
            coming: coming.as_slice(),
            effects: &mut effects,
            last: &mut last,
            others: &mut others,
        };
        node.visit(visit, model);
        let departures = node.depart(end, model, &mut effects);
        // Only now: until then the packets above are read there.
        fabric.pool.free(spent);
        next = next.min(departures.next).min(events.peek().map_or(u64::MAX, |event| event.0.time()));
        if next == u64::MAX {
            let last_arrival = coming.as_slice().last().map_or(0, |last| start + last.key().since());
            hand.last = hand.last.max(last).max(last_arrival).max(departures.last);
        }
        hand.load += u64::from(VISIT + EVENT * others) + u64::from(*arrival) * coming.len() as u64;
        next
    }

    /// Receives packets from other partitions.
    pub(crate) fn deliver(&mut self, mail: &mut Mail) {
        let mut stacks = mail.stacks.iter();
        for (to, packet) in &mail.packets {
            let int = if packet.is(flag::INT) { stacks.next() } else { None };
            self.fabric.deliver(*to, packet, int);
        }
        mail.packets.clear();
        mail.stacks.clear();
        mail.earliest = u64::MAX;
    }

    /// Takes all samples due before `time`.
    pub(crate) fn catch_up<M>(&mut self, time: u64, model: &M, tally: &mut Tally)
    where
        N: Node<M>,
    {
        for &place in &self.sampled {
            self.agendas[place as usize].node.catch_up(time, model, tally);
        }
    }

    /// Takes the last samples of a run that has ended at `now`.
    pub(crate) fn end_samples<M>(&mut self, now: u64, model: &M, tally: &mut Tally)
    where
        N: Node<M>,
    {
        for &place in &self.sampled {
            self.agendas[place as usize].node.end_samples(now, model, tally);
        }
    }

    /// Whether no packet is on a link that leads here.
    pub(crate) fn has_no_packets(&self) -> bool {
        self.fabric.inboxes.iter().all(|inbox| inbox.active.is_empty())
    }

    /// The nodes.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &N> {
        self.agendas.iter().map(|agenda| &agenda.node)
    }

    /// Ends the run: the nodes, and the packets that were on their way.
    pub(crate) fn into_state(self) -> RunState<N> {
        let Fabric { rings, pool, .. } = self.fabric;
        let packets = rings.iter().flat_map(|r| r.iter(&pool)).copied().collect();
        let nodes = self.agendas.into_iter().map(|agenda| agenda.node).collect();
        RunState { nodes, packets, tally: Tally::default() }
    }
}
