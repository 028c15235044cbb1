//! An output-queued switch: it admits a packet to its buffer when the last bit has arrived, queues
//! it at the port of its route, and at dequeue marks it (ECN) and writes telemetry (INT).
//!
//! Each decision has its file: which port ([`incast_net::routing::path`]), who may stay and what is marked
//! ([`incast_net::rules`]), which packets wait ([`queues`]), which queue is next ([`scheduler`]), what is stamped
//! ([`telemetry`]), which PFC frames wait ([`pauses`]), and whose payload is removed ([`trimming`]). With backpressure
//! flow control the node is another one, of the same parts ([`bfc`]), and with a watchdog of PFC, too ([`watchdog`]).

pub(crate) mod bfc;
pub(crate) mod optical;
mod plain;
pub(crate) mod queues;
mod relative;
pub(crate) mod scheduler;
mod telemetry;
pub(crate) mod tor;
mod trim;
pub(crate) mod trimming;
pub(crate) mod watchdog;

use incast_engine::event::{Effects, Event};
use incast_engine::model::{Arrival, Departures, Hold};
use incast_net::canary::{self, Canary};
use incast_net::describe::Simulation;
use incast_net::describe::network::{NodeId, Out, PortId};
use incast_net::describe::reuse::Draws;
use incast_net::describe::switch::{Ecn, MarkingPoint, Switch as Description, Telemetry};
use incast_net::packet::{IntRecords, Kind, ONE_PATH, Packet, flag};
use incast_net::queue_set::QueueSet;
use incast_net::random::{draw, mix};
use incast_net::routing::forwarding::Table;
use incast_net::routing::path;
use incast_net::rules::{Admission, Buffer, Marking};
use incast_units::Rate;

use crate::pauses::PauseFrames;
use queues::Queues;
use telemetry::{Hop, stamp};
use trimming::Trimming;

use crate::balancing::SwitchPolicies;
use crate::balancing::policy::Lengths;
use crate::facts::fabric::Fabric;
use crate::node::{Behaviour, Inspect};
use crate::port::Port;
use crate::rank;
use crate::relative::{Progress, State};

/// A switch.
#[derive(Debug)]
pub(crate) struct Switch {
    table: Table,
    path: path::State,
    /// The choice for packets that leave it to the switch.
    hops: SwitchPolicies,
    ports: Vec<Egress>,
    buffer: Buffer,
    trimming: Option<Trimming>,
    queues: u8,
    ecn: Option<Ecn>,
    fields: Fields,
    /// Whether the random draws about marks can come again.
    draws_again: bool,
    /// Scratch for the INT stack of the packet in hand.
    int: IntRecords,
    /// Packets dropped that PFC should have kept: of lossless queues, not from links that have failed.
    failures: u64,
    /// Whether it is plain: see [`plain`].
    is_plain: bool,
    /// Whether its ports depart late.
    departs_late: bool,
    /// Ports from which something departs late.
    departing: Vec<PortId>,
    /// The time of the last late departure. (ps)
    last_departure: u64,
}

/// A port of a switch with its queues.
#[derive(Debug)]
pub(crate) struct Egress {
    pub(crate) wire: Port,
    pub(crate) queues: Queues,
    scheduler: scheduler::State,
    /// PFC frames that wait for the wire; nothing before the first.
    frames: Option<Box<PauseFrames>>,
    marking: Option<Marking>,
    /// Index of the port's rate in the table of rates.
    rate: u32,
    /// With PFC: whether its link has failed, after which more may come in than the headroom is made for.
    has_failed: bool,
}

/// The fields that a switch writes into the packets that it begins to send.
#[derive(Clone, Copy, Debug)]
struct Fields {
    /// Whether it marks them then, not as they come in.
    marks: bool,
    telemetry: Telemetry,
    /// Stream of the random draws about marks.
    stream: u64,
}

/// The sending side of a port, without its queues.
struct Sender<'a> {
    wire: &'a mut Port,
    marking: Option<&'a Marking>,
    rate: u32,
}

impl Sender<'_> {
    /// Begins to send a packet: marks it, stamps it and puts it on the wire. It leaves `length` bytes in its queue and `queued`
    /// in all queues.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "a packet, where it leaves, and what is written into it")]
    fn send(
        self,
        now: u64,
        index: PortId,
        (length, queued): (u64, u64),
        packet: &mut Packet,
        int: &mut IntRecords,
        fields: Fields,
        effects: &mut impl Effects,
    ) {
        if packet.kind == Kind::Data {
            if fields.marks
                && let Some(marking) = self.marking
            {
                mark(marking, self.wire, index, length, packet, fields.stream);
            }
            let hop = Hop { now, queued, transmitted: self.wire.transmitted, rate: self.rate };
            stamp(packet, int, fields.telemetry, &hop);
        }
        self.wire.send(now, index, packet, int, effects);
    }

    /// Begins to send a packet that has just arrived while nothing waits: no curve marks an empty queue.
    #[inline(always)]
    fn send_at_once(
        self,
        now: u64,
        index: PortId,
        packet: &mut Packet,
        int: &mut IntRecords,
        fields: Fields,
        effects: &mut impl Effects,
    ) {
        debug_assert_eq!(now, packet.time, "a packet that has waited");
        if packet.kind == Kind::Data && packet.is(flag::INT) {
            let hop = Hop { now, queued: 0, transmitted: self.wire.transmitted, rate: self.rate };
            stamp(packet, int, fields.telemetry, &hop);
        }
        self.wire.send(now, index, packet, int, effects);
    }
}

/// Marks a data packet (ECN) if the length of its queue, the packet not counted, asks for it.
#[inline(always)]
fn mark(marking: &Marking, wire: &mut Port, index: PortId, length: u64, packet: &mut Packet, stream: u64) {
    let entropy = || draw(stream ^ u64::from(packet.hash), packet.identity() ^ u64::from(index));
    if marking.marks(length, entropy) != canary::strikes(Canary::Mark) {
        packet.flags |= flag::MARKED;
        wire.marked += 1;
    }
}

impl Switch {
    /// The switch with this number and description.
    fn with(
        id: NodeId,
        fabric: &Fabric,
        simulation: &Simulation,
        description: &Description,
    ) -> Result<Self, String> {
        let table = fabric.routes.tables.of(id).cloned().ok_or("a switch without a forwarding table")?;
        // PFC headroom must suffice for the fastest and longest that a link ever is.
        let largest = fabric.routes.largest_ports(id);
        let buffer = Buffer::new(description, id, &largest, fabric.largest_packet)?;
        let queues = if description.trimming.is_some() { trimming::QUEUES } else { description.queues };
        let egress = |out: &Out| Egress {
            wire: Port::new(out),
            queues: Queues::new(queues),
            scheduler: scheduler::State::new(description),
            frames: None,
            marking: description.ecn.as_ref().map(|ecn| Marking::new(ecn, out.rate)),
            rate: fabric.rate_index(out.rate),
            has_failed: false,
        };
        Ok(Self {
            table,
            path: path::State::new(id, &fabric.paths),
            hops: SwitchPolicies::new(simulation, id),
            ports: fabric.routes.ports[id as usize].iter().map(egress).collect(),
            buffer,
            trimming: description.trimming.as_ref().map(|t| Trimming::new(t, simulation.seed, id)),
            queues,
            ecn: description.ecn,
            fields: Fields {
                marks: description.ecn.is_none_or(|ecn| ecn.at == MarkingPoint::Dequeue),
                telemetry: description.telemetry(),
                stream: mix(simulation.seed ^ mix(u64::from(id))),
            },
            draws_again: simulation.draws == Draws::PerPass,
            int: IntRecords::default(),
            failures: 0,
            is_plain: false,
            departs_late: false,
            departing: Vec::new(),
            last_departure: 0,
        })
    }

    /// The port by which a packet leaves; `None`: links on every way have failed.
    #[inline(always)]
    fn route(&mut self, now: u64, packet: &Packet, fabric: &Fabric) -> Option<PortId> {
        let (place, local) = fabric.routes.attachment[packet.destination as usize];
        if place == self.table.own {
            return Some(local);
        }
        let group = self.table.group(place, packet.destination);
        if packet.policy() == 0 {
            self.path.pick(packet.hash, group)
        } else {
            balanced(now, packet, group, &mut self.hops, &self.path, &self.ports)
        }
    }

    /// The account of what came in through `port` for `queue`.
    #[inline]
    fn ingress(&self, port: PortId, queue: u8) -> usize {
        usize::from(port) * usize::from(self.queues) + usize::from(queue)
    }

    /// A packet has arrived at `port` for `queue` of port `to`: sends or queues it, if there is room for it.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "a packet and where it comes from and goes to")]
    fn take<E: Effects>(
        &mut self,
        now: u64,
        port: PortId,
        to: PortId,
        queue: u8,
        packet: &mut Packet,
        int: &mut IntRecords,
        effects: &mut E,
    ) {
        let size = u64::from(packet.size);
        let ingress = self.ingress(port, queue);
        let egress = &mut self.ports[usize::from(to)];
        if E::DEPARTURES_WAIT
            && self.fields.marks
            && egress.passes_alone(now, queue)
            && self.buffer.pass(ingress, size)
        {
            packet.time = now;
            packet.ingress = port;
            egress.wire.peak = egress.wire.peak.max(size);
            egress.scheduler.passed(queue, &egress.queues);
            return egress.parts().1.send_at_once(now, to, packet, int, self.fields, effects);
        }
        match self.buffer.admit(ingress, egress.queues.length_of(queue), egress.queues.length(), size) {
            Admission::Stay => {}
            Admission::StayAndPause => self.signal(now, port, queue, true, effects),
            Admission::Drop => return self.drop(now, (port, queue), to, packet, effects),
        }
        let egress = &mut self.ports[usize::from(to)];
        if !self.fields.marks && packet.kind == Kind::Data {
            egress.mark(to, queue, packet, self.fields.stream);
        }
        packet.time = now;
        packet.ingress = port;
        egress.wire.peak = egress.wire.peak.max(egress.queues.length() + size);
        if egress.passes(now, queue) {
            egress.scheduler.passed(queue, &egress.queues);
            let left = (egress.queues.length_of(queue), egress.queues.length());
            // Nothing else that may be sent waits, so the port is not served again after this packet.
            egress.parts().1.send(now, to, left, packet, int, self.fields, effects);
            self.release(now, queue, (port, packet.size), effects);
        } else {
            egress.queues.push(queue, packet, int);
            self.serve(now, to, effects);
        }
    }

    /// A packet that has arrived at a port for a queue of port `to` is not admitted.
    #[inline(never)]
    fn drop(
        &mut self,
        now: u64,
        (port, queue): (PortId, u8),
        to: PortId,
        packet: &Packet,
        effects: &mut impl Effects,
    ) {
        self.ports[usize::from(to)].drop(now, packet, effects);
        let excused = self.ports[usize::from(port)].has_failed;
        let ingress = self.ingress(port, queue);
        self.failures += u64::from(self.buffer.is_lossless(ingress) && !excused);
        effects.tally().counts.lossless += u64::from(self.buffer.may_pause(ingress));
    }

    /// Sends a PFC frame through `port`, ahead of everything but the packet being sent.
    #[inline(never)]
    fn signal(&mut self, now: u64, port: PortId, queue: u8, pause: bool, effects: &mut impl Effects) {
        self.ports[usize::from(port)].frames.get_or_insert_default().ask(now, queue, pause);
        self.serve(now, port, effects);
    }

    /// Begins to send the next packet of a port, or requests a call for when the port is free.
    #[inline]
    fn serve(&mut self, now: u64, index: PortId, effects: &mut impl Effects) {
        let egress = &mut self.ports[usize::from(index)];
        if egress.wire.is_busy(now) {
            self.wait(index, effects);
        } else if egress.has_frames() {
            egress.send_frame(now, index, effects);
            self.wait(index, effects);
        } else {
            self.send_next(now, index, effects);
        }
    }

    /// Begins to send the next packet of a port that is not busy.
    #[inline]
    fn send_next(&mut self, now: u64, index: PortId, effects: &mut impl Effects) {
        let egress = &mut self.ports[usize::from(index)];
        let ready = egress.ready();
        if ready.is_empty() {
            return;
        }
        let queue = egress.scheduler.choose(ready, &egress.queues);
        let (queues, wire) = egress.parts();
        let fields = self.fields;
        let sent = queues.pass_first(queue, &mut self.int, |packet, int, left| {
            wire.send(now, index, left, packet, int, fields, effects);
            (packet.ingress, packet.size)
        });
        if let Some(packet) = sent {
            self.wait(index, effects);
            self.release(now, queue, packet, effects);
        }
    }

    /// Requests a departure for when a port becomes idle, if there is something that may be sent then.
    #[inline]
    fn wait(&mut self, index: PortId, effects: &mut impl Effects) {
        if self.ports[usize::from(index)].wait(index, effects) {
            self.departing.push(index);
        }
    }

    /// Sends what is due by `now` at a port that departs late. Before anything looks at the queues of such a port, this is
    /// to be called.
    #[inline(always)]
    fn settle(&mut self, now: u64, index: PortId, effects: &mut impl Effects) {
        if self.ports[usize::from(index)].wire.is_due(now) {
            self.send_due(now, index, effects);
        }
    }

    /// Sends what is due by `now` at a port that departs late, of which there is something.
    #[inline(never)]
    fn send_due(&mut self, now: u64, index: PortId, effects: &mut impl Effects) {
        if self.is_plain {
            return self.send_due_plainly(now, index, effects);
        }
        while let Some(due) = self.ports[usize::from(index)].wire.departure().filter(|due| *due <= now) {
            self.ports[usize::from(index)].wire.departed();
            self.last_departure = self.last_departure.max(due);
            self.serve(due, index, effects);
        }
    }

    /// Sends what is due by `now` at every port that departs late.
    #[inline(never)]
    fn settle_all(&mut self, now: u64, effects: &mut impl Effects) {
        for at in 0..self.departing.len() {
            self.settle(now, self.departing[at], effects);
        }
    }

    /// A packet that was admitted for `queue` has left: the port by which it had come, and its size.
    #[inline(always)]
    fn release(&mut self, now: u64, queue: u8, (ingress, size): (PortId, u16), effects: &mut impl Effects) {
        if self.buffer.release(self.ingress(ingress, queue), u64::from(size)) {
            self.signal(now, ingress, queue, false, effects);
        }
    }
}

impl Switch {
    /// A packet has arrived at a switch of any kind.
    #[inline(never)]
    fn arrive_at_any<E: Effects>(
        &mut self,
        now: u64,
        port: PortId,
        packet: &mut Packet,
        int: &mut IntRecords,
        fabric: &Fabric,
        effects: &mut E,
    ) {
        if matches!(packet.kind, Kind::Pause | Kind::Resume) {
            let wire = &mut self.ports[usize::from(port)].wire;
            debug_assert!(!wire.departs_late(), "a port that departs late is paused");
            wire.set_paused(now, port, packet.queue, packet.kind == Kind::Pause, effects);
            return self.serve(now, port, effects);
        }
        self.arrive_among_queues(now, port, packet, int, fabric, effects);
    }

    /// A packet that is no pause frame has arrived at a switch of any kind.
    #[inline(always)]
    fn arrive_among_queues<E: Effects>(
        &mut self,
        now: u64,
        port: PortId,
        packet: &mut Packet,
        int: &mut IntRecords,
        fabric: &Fabric,
        effects: &mut E,
    ) {
        if packet.policy() != 0 {
            // The choice of a port may look at the queues of all.
            self.settle_all(now, effects);
        }
        let Some(to) = self.route(now, packet, fabric) else {
            effects.tally().counts.lost += u64::from(packet.kind == Kind::Data);
            return;
        };
        self.settle(now, to, effects);
        if let Some(trimming) = self.trimming {
            return self.take_or_trim(now, trimming, (port, to), packet, int, fabric, effects);
        }
        let queue = packet.queue.min(self.queues - 1);
        self.take(now, port, to, queue, packet, int, effects);
    }

    /// Makes the node with this number.
    ///
    /// # Errors
    /// When its description contradicts itself: what to say.
    pub(crate) fn new(id: NodeId, fabric: &Fabric, simulation: &Simulation) -> Result<Self, String> {
        let mut switch = Self::with(id, fabric, simulation, &simulation.switch)?;
        switch.is_plain = switch.can_be_plain();
        Ok(switch)
    }
}

impl Behaviour for Switch {
    type Facts<'a> = Fabric;

    #[inline(always)]
    fn arrive<E: Effects>(&mut self, arrival: Arrival, fabric: &Fabric, effects: &mut E) {
        let Arrival { now, port, packet, int } = arrival;
        if E::DEPARTURES_WAIT && self.is_plain && self.departs_late {
            return self.arrive_plainly::<true, E>(now, port, packet, int, fabric, effects);
        }
        let is_frame = matches!(packet.kind, Kind::Pause | Kind::Resume);
        if !E::DEPARTURES_WAIT || is_frame || self.trimming.is_some() {
            self.arrive_at_any(now, port, packet, int, fabric, effects);
        } else if self.is_plain {
            self.arrive_plainly::<false, E>(now, port, packet, int, fabric, effects);
        } else {
            self.arrive_among_queues(now, port, packet, int, fabric, effects);
        }
    }

    #[inline(always)]
    fn handle<E: Effects>(&mut self, event: Event, _: &Fabric, effects: &mut E) {
        if event.rank() == rank::DEPARTED {
            let port = event.entity() as PortId;
            if E::DEPARTURES_WAIT && self.is_plain {
                return self.depart_plainly(event.time(), port, effects);
            }
            self.ports[usize::from(port)].wire.departed();
            self.serve(event.time(), port, effects);
        }
    }

    fn reroute<E: Effects>(&mut self, _: u64, table: Table, _: &Fabric, _: &mut E) {
        self.table = table;
    }

    /// Telemetry tells the new rate, and the thresholds of marks that scale with the rate follow it.
    fn link_changed(&mut self, port: PortId, rate: Rate, index: u32) {
        let egress = &mut self.ports[usize::from(port)];
        egress.rate = index;
        egress.marking = self.ecn.as_ref().map(|ecn| Marking::new(ecn, rate));
    }

    /// Both ends forget the pauses of the other one when a link fails. When it returns, each pause is asked for again that
    /// still holds.
    fn link_turned<E: Effects>(&mut self, now: u64, port: PortId, up: bool, _: &Fabric, effects: &mut E) {
        if !self.buffer.pauses() {
            return;
        }
        let egress = &mut self.ports[usize::from(port)];
        egress.has_failed = true;
        if !up {
            egress.wire.forget_pauses(now, port, effects);
        } else if let Some(frames) = &mut egress.frames {
            frames.renew();
        }
        self.serve(now, port, effects);
    }

    /// Departures of different ports must not concern each other: they do by a buffer that is shared, and by pauses.
    fn depart_late(&mut self) {
        if !self.buffer.is_shared() && !self.buffer.pauses() {
            self.departs_late = true;
            self.ports.iter_mut().for_each(|egress| egress.wire.depart_late());
        }
    }

    #[inline]
    fn depart<E: Effects>(&mut self, before: u64, _: &Fabric, effects: &mut E) -> Departures {
        let mut next = u64::MAX;
        let mut at = 0;
        while let Some(&port) = self.departing.get(at) {
            self.settle(before - 1, port, effects);
            let wire = &mut self.ports[usize::from(port)].wire;
            if let Some(due) = wire.departure() {
                next = next.min(due);
                at += 1;
            } else {
                wire.leave_list();
                self.departing.swap_remove(at);
            }
        }
        Departures { next, last: self.last_departure }
    }

    fn relate(&self, _: &Fabric, state: &mut State, _: &mut Progress) {
        self.related(state);
    }

    fn egress_mut(&mut self, port: PortId) -> Option<&mut Port> {
        self.ports.get_mut(usize::from(port)).map(|egress| &mut egress.wire)
    }
}

impl Inspect for Switch {
    fn egress(&self, port: PortId) -> Option<&Port> {
        self.ports.get(usize::from(port)).map(|egress| &egress.wire)
    }

    fn queued(&self, port: PortId) -> u64 {
        self.ports.get(usize::from(port)).map_or(0, |egress| egress.queues.length())
    }

    fn held_data(&self) -> u64 {
        let packets = self.ports.iter().flat_map(|egress| egress.queues.iter());
        packets.filter(|(_, packet)| packet.kind == Kind::Data).count() as u64
    }

    fn holds(&self, before: u64) -> Vec<Hold> {
        let mut holds = Vec::new();
        for (port, egress) in (0..).zip(&self.ports) {
            let asked = egress.frames.iter().flat_map(|frames| frames.asked());
            for (queue, _) in asked.filter(|(_, since)| *since < before) {
                let from_there = |(q, packet): (u8, &Packet)| q == queue && packet.ingress == port;
                let waits = (0..).zip(&self.ports).filter(|(_, at)| at.queues.iter().any(from_there));
                let waits: Vec<(PortId, bool)> =
                    waits.map(|(at, egress)| (at, egress.wire.is_paused(queue))).collect();
                if !waits.is_empty() && waits.iter().all(|(_, paused)| *paused) {
                    let waits_at = waits.into_iter().map(|(at, _)| (at, u16::from(queue))).collect();
                    holds.push(Hold { port, queue: u16::from(queue), waits_at, all: true });
                }
            }
        }
        holds
    }

    fn has_drawn(&self) -> bool {
        self.draws()
    }

    fn violations(&self) -> Vec<String> {
        let mut violations = Vec::new();
        let buffer = &self.buffer;
        let (peak, size) = (buffer.peak(), buffer.size());
        if peak > size {
            violations.push(format!("held {peak} in a buffer of {size}"));
        }
        if self.failures > 0 {
            violations
                .push(format!("dropped {} packets of lossless queues although PFC is on", self.failures));
        }
        violations
    }
}

/// The port for a packet that says how it is to be handled.
#[inline(never)]
fn balanced(
    now: u64,
    packet: &Packet,
    group: &[PortId],
    hops: &mut SwitchPolicies,
    path: &path::State,
    ports: &Vec<Egress>,
) -> Option<PortId> {
    let policy = packet.policy();
    if policy == ONE_PATH {
        return path.pick(packet.path_hash(), group);
    }
    hops.choose(now, policy, packet, group, ports).or_else(|| path.pick(packet.hash, group))
}

impl Lengths for Vec<Egress> {
    fn length(&self, port: PortId) -> u64 {
        self[usize::from(port)].queues.length()
    }
}

impl Egress {
    /// A packet is not admitted.
    #[inline]
    fn drop(&mut self, now: u64, packet: &Packet, effects: &mut impl Effects) {
        self.wire.drops += 1;
        self.wire.dropped += u64::from(packet.size);
        let counts = &mut effects.tally().counts;
        counts.dropped += u64::from(packet.kind == Kind::Data);
        counts.tied += u64::from(self.queues.took_one_at(now));
    }

    /// Its queues, and the rest of it.
    #[inline(always)]
    fn parts(&mut self) -> (&mut Queues, Sender<'_>) {
        let Self { wire, queues, marking, rate, .. } = self;
        (queues, Sender { wire, marking: marking.as_ref(), rate: *rate })
    }

    /// Marks a data packet (ECN) if the length of its queue, the packet not counted, asks for it.
    #[inline]
    fn mark(&mut self, index: PortId, queue: u8, packet: &mut Packet, stream: u64) {
        self.mark_at(index, self.queues.length_of(queue), packet, stream);
    }

    /// Marks a data packet if this length asks for it.
    #[inline]
    fn mark_at(&mut self, index: PortId, length: u64, packet: &mut Packet, stream: u64) {
        if let Some(marking) = &self.marking {
            mark(marking, &mut self.wire, index, length, packet, stream);
        }
    }

    /// Queues that hold a packet and are not paused.
    #[inline]
    fn ready(&self) -> QueueSet {
        self.queues.waiting().without(self.wire.paused)
    }

    #[inline]
    fn has_frames(&self) -> bool {
        self.frames.as_ref().is_some_and(|frames| !frames.is_empty())
    }

    /// Whether a packet that comes in for `queue` now is sent at once.
    #[inline]
    fn passes(&self, now: u64, queue: u8) -> bool {
        !self.wire.is_busy(now)
            && self.ready().is_empty()
            && !self.has_frames()
            && !self.wire.is_paused(queue)
    }

    /// Whether a packet that comes in for `queue` now is sent at once from a port with nothing in any queue.
    #[inline(always)]
    fn passes_alone(&self, now: u64, queue: u8) -> bool {
        self.queues.length() == 0
            && !self.wire.is_busy(now)
            && !self.wire.is_paused(queue)
            && !self.has_frames()
    }

    /// Requests a departure for when the port becomes idle, if there is something that may be sent then. Returns whether
    /// the port has to be listed as one of those from which something departs late.
    #[inline]
    fn wait<E: Effects>(&mut self, index: PortId, effects: &mut E) -> bool {
        if self.ready().is_empty() && !self.has_frames() {
            return false;
        }
        if E::DEPARTURES_WAIT && self.wire.departs_late() {
            return self.wire.request_late_departure();
        }
        self.wire.request_departure(index, effects);
        false
    }

    /// Begins to send the first of the PFC frames.
    fn send_frame(&mut self, now: u64, index: PortId, effects: &mut impl Effects) {
        if let Some(frames) = &mut self.frames {
            frames.send(now, index, &mut self.wire, effects);
        }
    }
}
