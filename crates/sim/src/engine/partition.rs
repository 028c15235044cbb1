//! The nodes of one thread: their rings, agendas and the windows they are processed in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::event::{Effects, Event, Kind, Tally};
use super::world::{Slot, World};
use crate::describe::network::PortId;
use crate::packet::{IntRecords, Packet, PacketQueue, flag};

/// Where a port's link leads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkTo {
    /// The partition of the node at the far end.
    pub(crate) partition: u16,
    /// The port there.
    pub(crate) port: PortId,
    /// The node's place in its partition.
    pub(crate) place: u32,
}

/// Packets for another partition.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    packets: Vec<(LinkTo, Packet)>,
    stacks: Vec<IntRecords>,
}

impl Mail {
    /// How many data packets there are.
    pub(crate) fn data_packets(&self) -> u64 {
        self.packets.iter().filter(|(_, p)| p.kind == crate::packet::Kind::Data).count() as u64
    }
}

/// A node with what the engine keeps for it.
#[derive(Debug)]
struct Place {
    slot: Slot,
    agenda: BinaryHeap<Reverse<Event>>,
    /// First of its links in [`Fabric::links`], and of its rings in [`Fabric::rings`].
    base: u32,
}

/// Nodes that are processed together because the links between them are short; most hold one.
#[derive(Clone, Copy, Debug)]
struct Unit {
    first: u32,
    len: u32,
    /// No link inside is shorter. (ps)
    lookahead: u64,
}

/// The links of a partition's nodes, and what is on its way on those that lead here.
#[derive(Debug, Default)]
struct Fabric {
    index: u16,
    links: Vec<LinkTo>,
    /// One ring for each port of each node here, holding what arrives there.
    rings: Vec<PacketQueue>,
    /// First ring of every node here.
    bases: Vec<u32>,
    /// Ports of every node here whose rings are not empty.
    active: Vec<Vec<PortId>>,
    /// A time before which nothing happens at each node here; exact between windows. (ps)
    next: Vec<u64>,
    outboxes: Vec<Mail>,
    tally: Tally,
}

/// One thread's share of the network.
#[derive(Debug)]
pub(crate) struct Partition {
    places: Vec<Place>,
    units: Vec<Unit>,
    fabric: Fabric,
    /// Scratch: the arrivals of the node in hand.
    arrivals: Vec<Event>,
}

impl Fabric {
    #[inline]
    fn deliver(&mut self, to: LinkTo, packet: Packet, int: Option<&IntRecords>) {
        let place = to.place as usize;
        let ring = &mut self.rings[self.bases[place] as usize + usize::from(to.port)];
        if ring.is_empty() {
            self.active[place].push(to.port);
        }
        self.next[place] = self.next[place].min(packet.time);
        ring.push(packet, int);
    }
}

/// What the node in hand may do.
struct Hands<'a> {
    fabric: &'a mut Fabric,
    agenda: &'a mut BinaryHeap<Reverse<Event>>,
    base: u32,
}

impl Effects for Hands<'_> {
    #[inline]
    fn transmit(&mut self, port: PortId, packet: Packet, int: &IntRecords) {
        let to = self.fabric.links[self.base as usize + usize::from(port)];
        let int = packet.is(flag::INT).then_some(int);
        if to.partition == self.fabric.index {
            self.fabric.deliver(to, packet, int);
        } else {
            let mail = &mut self.fabric.outboxes[usize::from(to.partition)];
            mail.packets.push((to, packet));
            mail.stacks.extend(int);
        }
    }

    #[inline]
    fn schedule(&mut self, event: Event) {
        self.agenda.push(Reverse(event));
    }

    #[inline]
    fn tally(&mut self) -> &mut Tally {
        &mut self.fabric.tally
    }
}

impl Partition {
    /// A partition without nodes, one of `partitions`.
    pub(crate) fn new(index: u16, partitions: usize) -> Self {
        let outboxes = (0..partitions).map(|_| Mail::default()).collect();
        Self {
            places: Vec::new(),
            units: Vec::new(),
            fabric: Fabric { index, outboxes, ..Fabric::default() },
            arrivals: Vec::new(),
        }
    }

    /// Adds nodes that are processed together, each with where its links lead.
    pub(crate) fn add_unit(&mut self, nodes: Vec<(Slot, Vec<LinkTo>)>, lookahead: u64, world: &World) {
        self.units.push(Unit { first: self.places.len() as u32, len: nodes.len() as u32, lookahead });
        for (slot, links) in nodes {
            let base = self.fabric.links.len() as u32;
            self.fabric.bases.push(base);
            self.fabric.rings.extend(links.iter().map(|_| PacketQueue::default()));
            self.fabric.active.push(Vec::new());
            let first = slot.first_event(world);
            self.fabric.next.push(first.map_or(u64::MAX, Event::time));
            self.fabric.links.extend(links);
            self.places.push(Place { slot, agenda: first.map(Reverse).into_iter().collect(), base });
        }
    }

    /// A time before which nothing happens here. (ps)
    pub(crate) fn next(&self) -> u64 {
        self.fabric.next.iter().copied().min().unwrap_or(u64::MAX)
    }

    /// Handles every event before `end`, given that nothing sent from now on arrives before it.
    pub(crate) fn process(&mut self, end: u64, world: &World) {
        for unit in 0..self.units.len() {
            let Unit { first, len, lookahead } = self.units[unit];
            let nodes = first as usize..(first + len) as usize;
            if len == 1 {
                if self.fabric.next[nodes.start] < end {
                    self.process_node(nodes.start, end, world);
                }
                continue;
            }
            // Short links inside: windows within the window.
            loop {
                let start = self.fabric.next[nodes.clone()].iter().copied().min().unwrap_or(u64::MAX);
                if start >= end {
                    break;
                }
                let inner = end.min(start.saturating_add(lookahead));
                for node in nodes.clone() {
                    if self.fabric.next[node] < inner {
                        self.process_node(node, inner, world);
                    }
                }
            }
        }
    }

    fn process_node(&mut self, index: usize, end: u64, world: &World) {
        let Self { places, fabric, arrivals, .. } = self;
        let Place { slot, agenda, base } = &mut places[index];
        let base = *base;
        // The arrivals of this window, in order. Each ring is in order already.
        arrivals.clear();
        for &port in &fabric.active[index] {
            let times = fabric.rings[base as usize + usize::from(port)].times_before(end);
            arrivals.extend(times.map(|t| Event::new(t, Kind::Arrival, u32::from(port))));
        }
        if fabric.active[index].len() > 1 {
            arrivals.sort_unstable();
        }
        let mut int = IntRecords::default();
        let mut arriving = arrivals.iter().copied();
        let mut arrival = arriving.next().unwrap_or(Event::NEVER);
        loop {
            let due = agenda.peek().map_or(Event::NEVER, |e| e.0);
            let event = arrival.min(due);
            if event.time() >= end {
                break;
            }
            if event == arrival {
                arrival = arriving.next().unwrap_or(Event::NEVER);
                let port = event.entity() as PortId;
                let ring = &mut fabric.rings[base as usize + usize::from(port)];
                let Some(packet) = ring.pop(&mut int) else { continue };
                let mut hands = Hands { fabric, agenda, base };
                slot.arrive(event.time(), port, packet, &int, world, &mut hands);
            } else {
                agenda.pop();
                let mut hands = Hands { fabric, agenda, base };
                slot.handle(event, world, &mut hands);
            }
        }
        let rings = &fabric.rings;
        let mut next = agenda.peek().map_or(u64::MAX, |e| e.0.time());
        fabric.active[index].retain(|&port| match rings[base as usize + usize::from(port)].front() {
            Some(packet) => {
                next = next.min(packet.time);
                true
            }
            None => false,
        });
        fabric.next[index] = next;
    }

    /// Exchanges the outbox for partition `to` with `slot`, which is empty.
    pub(crate) fn post(&mut self, to: usize, slot: &mut Mail) {
        std::mem::swap(&mut self.fabric.outboxes[to], slot);
    }

    /// Takes in what another partition sent.
    pub(crate) fn collect(&mut self, mail: &mut Mail) {
        let mut stacks = mail.stacks.drain(..);
        for (to, packet) in mail.packets.drain(..) {
            let int = if packet.is(flag::INT) { stacks.next() } else { None };
            self.fabric.deliver(to, packet, int.as_ref());
        }
    }

    /// Takes all samples due before `time`.
    pub(crate) fn catch_up(&mut self, time: u64) {
        for place in &mut self.places {
            place.slot.catch_up(time, &mut self.fabric.tally);
        }
    }

    pub(crate) fn tally(&mut self) -> &mut Tally {
        &mut self.fabric.tally
    }

    /// Ends the run: the nodes, and the packets that were on their way.
    pub(crate) fn into_parts(self) -> (Vec<Slot>, Vec<Packet>, Tally) {
        let on_links = self.fabric.rings.iter().flat_map(PacketQueue::iter).copied();
        let in_mail = self.fabric.outboxes.iter().flat_map(|m| m.packets.iter().map(|(_, p)| *p));
        let packets = on_links.chain(in_mail).collect();
        (self.places.into_iter().map(|p| p.slot).collect(), packets, self.fabric.tally)
    }
}
