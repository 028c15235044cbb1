//! A switch with backpressure flow control (BFC; Goyal et al., NSDI 2022).
//!
//! Each port has one queue for control packets and some for data. The first packet of a flow takes an empty one,
//! and the flow keeps it ([`table`]). A packet that finds more than a share of HRTT × rate in its queue has the
//! queue paused that it left at the node before, until it leaves itself ([`signals`]). At a host that queue is a
//! single flow.
//!
//! It is a kind of node of its own, made of the parts of a [`Switch`], so that other switches do not ask for each
//! packet whether it is on.

mod signals;
mod table;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use incast_engine::event::{Effects, Event};
use incast_engine::model::{Arrival, Hold};
use incast_net::describe::Simulation;
use incast_net::describe::bfc::{Bfc, Resume};
use incast_net::describe::network::{NodeId, Out, PortId};
use incast_net::describe::switch::PathPolicy;
use incast_net::packet::{IntRecords, Kind, Packet};
use incast_net::pause_map::PauseMap;
use incast_net::random::{draw, mix};
use incast_net::routing::forwarding::Table;
use incast_net::rules::Admission;
use incast_units::Rate;

use signals::{Request, Signals};
use table::FlowTable;

use super::{Egress, Switch};
use crate::facts::fabric::Fabric;
use crate::node::{Behaviour, Inspect};
use crate::port::Port;
use crate::rank;

/// The queue of packets that carry no data. It is served first and never paused.
const CONTROL: u8 = 0;

/// Distinguishes the random draws of this module from others at the same switch.
const STREAM: u64 = 0x6266_635f_7175_6575;

/// A switch with backpressure flow control.
#[derive(Debug)]
pub(crate) struct BackpressureSwitch {
    switch: Switch,
    bfc: Bfc,
    /// State of each of the switch's ports.
    hops: Vec<Hop>,
    /// The bits of a packet's hash that name its flow: those that hold no entropy.
    flow_bits: u32,
    /// Stream of the hashes of flows: the same for every seed, like the stream of paths.
    hashes: u64,
    /// Stream of the random draws about queues.
    stream: u64,
}

/// State of a port besides its queues.
#[derive(Debug)]
struct Hop {
    /// As a port by which packets leave: the flows, and of the packets in each queue what is known of them.
    flows: FlowTable,
    notes: Box<[VecDeque<Note>]>,
    /// Number of packets in each queue that hold a queue paused.
    pausing: Box<[u32]>,
    /// Signals to the far end, for a port by which packets come.
    signals: Signals,
    /// Time between two maps. (ps)
    interval: u64,
}

/// Note about a data packet in a queue.
#[derive(Clone, Copy, Debug)]
struct Note {
    /// The entry of its flow.
    entry: u32,
    /// The queue that it left at the node before.
    number: u16,
    /// Whether it holds that queue paused.
    pauses: bool,
}

impl BackpressureSwitch {
    /// The entry of a packet's flow in the table of a port.
    fn entry(&self, packet: &Packet, to: PortId) -> u32 {
        let entries = self.hops[usize::from(to)].flows.len() as u64;
        let hash = draw(self.hashes, u64::from(packet.hash & self.flow_bits));
        (((hash >> 32) * entries) >> 32) as u32
    }

    /// A queue for a flow that has none: from a random one on the first that is empty and not paused, or that
    /// random one.
    fn choose(&self, packet: &Packet, egress: &Egress) -> u8 {
        let queues = self.bfc.queues;
        let item = packet.identity() ^ mix(packet.copy());
        let start = ((draw(self.stream ^ u64::from(packet.hash), item) >> 32) * u64::from(queues)) >> 32;
        let start = start as u8;
        let is_free = |queue: &u8| egress.queues.length_of(*queue) == 0 && !egress.wire.is_paused(*queue);
        let mut in_turn = (start..queues).chain(0..start).map(|i| CONTROL + 1 + i);
        in_turn.find(is_free).unwrap_or(CONTROL + 1 + start)
    }

    /// Whether a queue holds so much, with the packet that has come by port `from`, that the packet's senders are
    /// to be paused.
    fn is_above_threshold(&self, from: PortId, egress: &Egress, queue: u8) -> bool {
        let delay = self.switch.ports[usize::from(from)].wire.delay();
        let alone = self.bfc.threshold(egress.wire.rate(), delay).get();
        let mut active = egress.ready();
        active.remove(CONTROL);
        egress.queues.length_of(queue) * u64::from(active.len().max(1)) > alone
    }

    /// Does what a change of the paused queues at the far end of `port` asks for.
    fn tell(&mut self, now: u64, port: PortId, request: Request, effects: &mut impl Effects) {
        match request {
            Request::Nothing => {}
            Request::Serve => self.serve(now, port, effects),
            Request::Schedule => {
                let interval = self.hops[usize::from(port)].interval;
                let next = now.div_ceil(interval) * interval;
                effects.schedule(Event::new(next, rank::CONTROL, u32::from(port)));
            }
        }
    }

    /// The time of a regular map of a port has come.
    fn tick(&mut self, now: u64, port: PortId, effects: &mut impl Effects) {
        let hop = &mut self.hops[usize::from(port)];
        if hop.signals.tick() {
            effects.schedule(Event::new(now + hop.interval, rank::CONTROL, u32::from(port)));
            self.serve(now, port, effects);
        }
    }

    /// A frame of the far end has arrived.
    fn apply_frame(
        &mut self,
        now: u64,
        port: PortId,
        frame: &Packet,
        int: &IntRecords,
        effects: &mut impl Effects,
    ) {
        let wire = &mut self.switch.ports[usize::from(port)].wire;
        if frame.kind == Kind::PauseMap {
            let map = PauseMap::of(frame, int);
            for queue in CONTROL + 1..=self.bfc.queues {
                let paused = map.contains(u16::from(queue));
                if paused != wire.is_paused(queue) {
                    wire.set_paused(now, port, queue, paused, effects);
                }
            }
        } else {
            wire.set_paused(now, port, frame.ingress as u8, frame.kind == Kind::Pause, effects);
        }
        self.serve(now, port, effects);
    }

    /// A data packet that has come by port `from` joins the queue of its flow at port `to`.
    fn admit_data(
        &mut self,
        now: u64,
        (from, to): (PortId, PortId),
        packet: &mut Packet,
        int: &IntRecords,
        effects: &mut impl Effects,
    ) -> bool {
        let number = PauseMap::number(u32::from(packet.ingress));
        let entry = self.entry(packet, to);
        let sticky = self.switch.ports[usize::from(from)].wire.delay().times(2 * u64::from(self.bfc.sticky));
        let known = self.hops[usize::from(to)].flows.queue(entry, now, sticky.ps());
        let queue = known.unwrap_or_else(|| self.choose(packet, &self.switch.ports[usize::from(to)]));
        if !self.admit(now, (from, to), queue, packet, int, effects) {
            return false;
        }
        let packets = self.hops[usize::from(to)].flows.add(entry, now, queue);
        let egress = &self.switch.ports[usize::from(to)];
        let pauses = (packets > 1 || !self.bfc.single_packet) && self.is_above_threshold(from, egress, queue);
        self.hops[usize::from(to)].notes[usize::from(queue)].push_back(Note { entry, number, pauses });
        if pauses {
            self.hops[usize::from(to)].pausing[usize::from(queue)] += 1;
            let request = self.hops[usize::from(from)].signals.raise(now, number);
            self.tell(now, from, request, effects);
        }
        true
    }

    /// A packet joins a queue, if there is room for it.
    fn admit(
        &mut self,
        now: u64,
        (from, to): (PortId, PortId),
        queue: u8,
        packet: &mut Packet,
        int: &IntRecords,
        effects: &mut impl Effects,
    ) -> bool {
        let Switch { ports, buffer, fields, .. } = &mut self.switch;
        let (egress, size) = (&mut ports[usize::from(to)], u64::from(packet.size));
        let (length, port_length) = (egress.queues.length_of(queue), egress.queues.length());
        if buffer.admit(0, length, port_length, size) == Admission::Drop {
            egress.drop(now, packet, effects);
            return false;
        }
        if !fields.marks && packet.kind == Kind::Data {
            egress.mark(to, queue, packet, fields.stream);
        }
        packet.time = now;
        packet.ingress = from;
        egress.wire.peak = egress.wire.peak.max(port_length + size);
        egress.queues.push(queue, packet, int);
        true
    }

    /// Begins to send the next packet of a port, or has itself called when that is possible.
    fn serve(&mut self, now: u64, index: PortId, effects: &mut impl Effects) {
        let egress = &mut self.switch.ports[usize::from(index)];
        let signals = &mut self.hops[usize::from(index)].signals;
        if egress.wire.is_busy(now) {
            if signals.is_waiting() || !egress.ready().is_empty() {
                egress.wire.request_departure(index, effects);
            }
        } else if let Some(mut frame) = signals.next(&mut self.switch.int) {
            egress.wire.pauses_sent += u64::from(frame.kind != Kind::Resume);
            egress.wire.send(now, index, &mut frame, &self.switch.int, effects);
            self.serve(now, index, effects);
        } else {
            self.send_next(now, index, effects);
        }
    }

    /// Begins to send the next packet of a port that is not busy.
    fn send_next(&mut self, now: u64, index: PortId, effects: &mut impl Effects) {
        let egress = &mut self.switch.ports[usize::from(index)];
        let ready = egress.ready();
        if ready.is_empty() {
            return;
        }
        let queue = egress.scheduler.choose(ready, &egress.queues);
        let (fields, (queues, wire)) = (self.switch.fields, egress.parts());
        let sent = queues.pass_first(queue, &mut self.switch.int, |packet, int, left| {
            // The node after this one knows the packet by its queue here.
            let from = std::mem::replace(&mut packet.ingress, u16::from(queue));
            packet.queue = queue;
            wire.send(now, index, left, packet, int, fields, effects);
            (from, packet.size)
        });
        let Some((from, size)) = sent else { return };
        self.switch.wait(index, effects);
        self.switch.release(now, queue, (from, size), effects);
        let hop = &mut self.hops[usize::from(index)];
        let Some(note) = hop.notes[usize::from(queue)].pop_front() else { return };
        hop.flows.remove(note.entry, now);
        if note.pauses {
            hop.pausing[usize::from(queue)] -= 1;
            let request = self.hops[usize::from(from)].signals.lower(note.number);
            self.tell(now, from, request, effects);
        }
        self.ease(now, (from, index), queue, effects);
    }

    /// A packet that had come by port `from` has left a queue of port `to`: if the queue is short enough now, what is in
    /// it holds nothing paused, where that is asked for.
    fn ease(&mut self, now: u64, (from, to): (PortId, PortId), queue: u8, effects: &mut impl Effects) {
        let is_over = self.bfc.resume == Resume::Threshold
            && self.hops[usize::from(to)].pausing[usize::from(queue)] > 0
            && !self.is_above_threshold(from, &self.switch.ports[usize::from(to)], queue);
        if is_over {
            self.release(now, to, |at| at == queue, effects);
        }
    }

    /// Has those packets in the queues of a port that `ceases` names hold nothing paused any longer. Returns what they
    /// held: the port by which each had come, and the number.
    fn cease(egress: &Egress, hop: &mut Hop, ceases: impl Fn(u8, PortId) -> bool) -> Vec<(PortId, u16)> {
        let (mut places, mut held) = (vec![0; hop.notes.len()], Vec::new());
        for (queue, packet) in egress.queues.iter() {
            let at = usize::from(queue);
            let note = hop.notes[at].get_mut(places[at]);
            places[at] += 1;
            if let Some(note) = note.filter(|note| note.pauses && ceases(queue, packet.ingress)) {
                note.pauses = false;
                hop.pausing[at] -= 1;
                held.push((packet.ingress, note.number));
            }
        }
        held
    }

    /// The link of a port has failed: what came by it holds nothing at its far end paused any longer.
    fn forget(&mut self, failed: PortId) {
        self.hops[usize::from(failed)].signals.forget();
        for (egress, hop) in self.switch.ports.iter().zip(&mut self.hops) {
            Self::cease(egress, hop, |_, from| from == failed);
        }
    }

    /// Packets in some queues of a port hold nothing paused any longer.
    fn release(&mut self, now: u64, port: PortId, queues: impl Fn(u8) -> bool, effects: &mut impl Effects) {
        let place = usize::from(port);
        let held = Self::cease(&self.switch.ports[place], &mut self.hops[place], |queue, _| queues(queue));
        for (from, number) in held {
            let request = self.hops[usize::from(from)].signals.lower(number);
            self.tell(now, from, request, effects);
        }
    }

    /// The packets that hold queues at the far end of `ingress` paused: the port and the queue of each, and the queue
    /// that it holds.
    fn holding(&self, ingress: PortId) -> impl Iterator<Item = (PortId, u8, u16)> {
        let ports = (0..).zip(self.switch.ports.iter().zip(&self.hops));
        ports.flat_map(move |(port, (egress, hop))| {
            let mut places = vec![0; hop.notes.len()];
            egress.queues.iter().filter_map(move |(queue, packet)| {
                let place = &mut places[usize::from(queue)];
                *place += 1;
                let note = hop.notes[usize::from(queue)].get(*place - 1)?;
                (note.pauses && packet.ingress == ingress).then_some((port, queue, note.number))
            })
        })
    }
}

impl BackpressureSwitch {
    /// Makes the node with this number.
    ///
    /// # Errors
    /// When its description contradicts itself: what to say.
    pub(crate) fn new(id: NodeId, fabric: &Fabric, simulation: &Simulation) -> Result<Self, String> {
        let bfc = simulation.switch.bfc.ok_or("a switch with BFC of which there are no settings")?;
        let switch = Switch::with(id, fabric, simulation, &simulation.switch.with_queues_of(&bfc))?;
        let problem_at = |out: &Out| bfc.problem_at(out.rate, out.delay);
        if let Some(problem) = fabric.routes.ports[id as usize].iter().find_map(problem_at) {
            return Err(problem);
        }
        let queues = usize::from(bfc.queues);
        let hop = |egress: &Egress| Hop {
            flows: FlowTable::new(queues * bfc.entries as usize),
            notes: (0..=queues).map(|_| VecDeque::new()).collect(),
            pausing: vec![0; queues + 1].into(),
            signals: Signals::new(bfc.signal),
            interval: bfc.interval.unwrap_or(egress.wire.delay()).ps(),
        };
        let hops = switch.ports.iter().map(hop).collect();
        Ok(Self {
            switch,
            bfc,
            hops,
            flow_bits: if simulation.switch.path == PathPolicy::FiveTuple { !0 } else { !0xffff },
            hashes: mix(u64::from(id) ^ STREAM),
            stream: mix(simulation.seed ^ mix(u64::from(id) ^ STREAM)),
        })
    }
}

impl Behaviour for BackpressureSwitch {
    type Facts<'a> = Fabric;

    #[inline(never)]
    fn arrive<E: Effects>(&mut self, arrival: Arrival, fabric: &Fabric, effects: &mut E) {
        let Arrival { now, port, packet, int } = arrival;
        if matches!(packet.kind, Kind::Pause | Kind::Resume | Kind::PauseMap) {
            return self.apply_frame(now, port, packet, int, effects);
        }
        let Some(to) = self.switch.route(now, packet, fabric) else {
            effects.tally().counts.lost += u64::from(packet.kind == Kind::Data);
            return;
        };
        let admitted = if packet.kind == Kind::Data {
            self.admit_data(now, (port, to), packet, int, effects)
        } else {
            self.admit(now, (port, to), CONTROL, packet, int, effects)
        };
        if admitted {
            self.serve(now, to, effects);
        }
    }

    #[inline(never)]
    fn handle<E: Effects>(&mut self, event: Event, _: &Fabric, effects: &mut E) {
        let (now, port) = (event.time(), event.entity() as PortId);
        match event.rank() {
            rank::DEPARTED => {
                self.switch.ports[usize::from(port)].wire.departed();
                self.serve(now, port, effects);
            }
            rank::CONTROL => self.tick(now, port, effects),
            _ => {}
        }
    }

    fn reroute<E: Effects>(&mut self, now: u64, table: Table, fabric: &Fabric, effects: &mut E) {
        self.switch.reroute(now, table, fabric, effects);
    }

    fn link_changed(&mut self, port: PortId, rate: Rate, index: u32) {
        self.switch.link_changed(port, rate, index);
    }

    /// Both ends forget the pauses of the other one when a link fails. What comes after its return pauses again.
    fn link_turned<E: Effects>(&mut self, now: u64, port: PortId, up: bool, _: &Fabric, effects: &mut E) {
        if !up {
            self.switch.ports[usize::from(port)].wire.forget_pauses(now, port, effects);
            self.forget(port);
            self.serve(now, port, effects);
        }
    }

    /// Packets that wait for a link that has failed hold nothing paused: the nodes before may have another way.
    fn link_noticed<E: Effects>(&mut self, now: u64, port: PortId, up: bool, _: &Fabric, effects: &mut E) {
        if !up {
            self.release(now, port, |_| true, effects);
        }
    }

    fn egress_mut(&mut self, port: PortId) -> Option<&mut Port> {
        self.switch.egress_mut(port)
    }
}

impl Inspect for BackpressureSwitch {
    fn egress(&self, port: PortId) -> Option<&Port> {
        self.switch.egress(port)
    }

    fn queued(&self, port: PortId) -> u64 {
        self.switch.queued(port)
    }

    fn held_data(&self) -> u64 {
        self.switch.held_data()
    }

    fn holds(&self, before: u64) -> Vec<Hold> {
        let mut holds = Vec::new();
        for (port, hop) in (0..).zip(&self.hops) {
            let mut stuck: BTreeMap<u16, BTreeSet<(PortId, u16)>> = BTreeMap::new();
            for (at, queue, number) in self.holding(port) {
                if self.switch.ports[usize::from(at)].wire.is_paused(queue) {
                    stuck.entry(number).or_default().insert((at, u16::from(queue)));
                }
            }
            let lasting = stuck.into_iter().filter(|(number, _)| hop.signals.paused_before(*number, before));
            holds.extend(lasting.map(|(queue, waits_at)| {
                let waits_at = waits_at.into_iter().collect();
                Hold { port, queue, waits_at, all: false }
            }));
        }
        holds
    }

    fn violations(&self) -> Vec<String> {
        let mut violations = self.switch.violations();
        let known: u64 = self.hops.iter().map(|hop| hop.flows.packets()).sum();
        if known != self.held_data() {
            violations.push(format!("holds {} data packets, {known} by its flows", self.held_data()));
        }
        for (port, hop) in (0..).zip(&self.hops) {
            let (counted, holding) = (hop.signals.holding(), self.holding(port).count());
            if counted != holding as u64 {
                violations.push(format!(
                    "pauses by {counted} packets at the far end of port {port}, and holds {holding} of them"
                ));
            }
        }
        violations
    }
}
