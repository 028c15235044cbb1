//! A host: a NIC that serves acknowledgements first and flows round robin, the senders and the
//! receivers of its flows.

pub(crate) mod receiver;
pub(crate) mod sender;

use std::collections::VecDeque;

use incast_cc::IntStack;
use incast_units::Time;
use receiver::Receiver;
use sender::{Sender, State};

use crate::describe::network::{NodeId, PortId};
use crate::engine::event::{Effects, Event, Kind as EventKind};
use crate::engine::world::World;
use crate::packet::{IntRecords, Kind, Packet, PacketQueue, flag, read_int};
use crate::port::Port;
use crate::record::{FlowSample, PortSample};
use crate::route::Out;

/// A host.
#[derive(Debug)]
pub(crate) struct Host {
    node: NodeId,
    pub(crate) wire: Port,
    /// Acknowledgements, NACKs and CNPs that wait for the wire, by queue.
    replies: Vec<PacketQueue>,
    replies_length: u64,
    /// Flows that may send, in the order of their turns.
    ready: VecDeque<u32>,
    /// Flows under way.
    pub(crate) senders: Vec<Sender>,
    free: Vec<u32>,
    /// All flows from here, by start.
    pub(crate) outgoing: Vec<Outgoing>,
    /// All flows to here.
    pub(crate) receivers: Vec<Receiver>,
    /// Flows open at this receiver.
    open: u16,
    /// Sampled flows, indices into `outgoing`.
    sampled: Vec<u32>,
    /// Scratch for the telemetry of the acknowledgement in hand.
    stack: IntStack,
}

/// A flow from this host, before, while and after it is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    /// Index into the simulation's flows.
    pub(crate) flow: u32,
    /// The receiver's index of it.
    pub(crate) peer: u32,
    /// Place among the senders while it is under way.
    pub(crate) slot: u32,
}

/// Marks a flow in [`Outgoing`] that is not under way.
pub(crate) const NOT_UNDER_WAY: u32 = u32::MAX;

impl Host {
    pub(crate) fn new(node: NodeId, out: &Out, queues: u8) -> Self {
        Self {
            node,
            wire: Port::new(out),
            replies: (0..queues).map(|_| PacketQueue::default()).collect(),
            replies_length: 0,
            ready: VecDeque::new(),
            senders: Vec::new(),
            free: Vec::new(),
            outgoing: Vec::new(),
            receivers: Vec::new(),
            open: 0,
            sampled: Vec::new(),
            stack: IntStack::EMPTY,
        }
    }

    /// Adds a flow from here; says its index.
    pub(crate) fn add_outgoing(&mut self, flow: u32, peer: u32, sampled: bool) {
        if sampled {
            self.sampled.push(self.outgoing.len() as u32);
        }
        self.outgoing.push(Outgoing { flow, peer, slot: NOT_UNDER_WAY });
    }

    /// The event that starts the first flow from here.
    pub(crate) fn first_event(&self, world: &World) -> Option<Event> {
        self.start_event(0, world)
    }

    fn start_event(&self, index: u32, world: &World) -> Option<Event> {
        let outgoing = self.outgoing.get(index as usize)?;
        let start = world.flows[outgoing.flow as usize].start;
        Some(Event::new(start.ps(), EventKind::Start, index))
    }

    /// Handles an event other than an arrival.
    #[inline]
    pub(crate) fn handle(&mut self, event: Event, world: &World, effects: &mut impl Effects) {
        let (now, entity) = (event.time(), event.entity());
        match event.kind() {
            EventKind::Departed => {
                self.wire.departed();
                self.serve(now, world, effects);
            }
            EventKind::Start => self.start(now, entity, world, effects),
            EventKind::Stop => self.stop(now, entity, world, effects),
            EventKind::Paced => {
                let Some(sender) = self.senders.get_mut(entity as usize) else { return };
                if sender.paced_until_now(now) {
                    self.ready.push_back(entity);
                    self.serve(now, world, effects);
                }
            }
            EventKind::Retransmit => {
                let Some(sender) = self.senders.get_mut(entity as usize) else { return };
                if sender.retransmit_timer(now, entity, world, effects) {
                    self.wake(now, entity, effects);
                    self.serve(now, world, effects);
                }
            }
            EventKind::Control => {
                let Some(sender) = self.senders.get_mut(entity as usize) else { return };
                if sender.control_timer(now, entity, world, effects) {
                    self.wake(now, entity, effects);
                    self.serve(now, world, effects);
                }
            }
            EventKind::HeldAck => {
                if let Some(ack) = self.receivers[entity as usize].held_ack(now) {
                    self.reply(now, ack, &IntRecords::default(), world, effects);
                }
            }
            EventKind::Arrival => {}
        }
    }

    /// A packet's last bit has arrived.
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        now: u64,
        packet: Packet,
        int: &IntRecords,
        world: &World,
        effects: &mut impl Effects,
    ) {
        match packet.kind {
            Kind::Data => self.receive(now, &packet, int, world, effects),
            Kind::Ack | Kind::Nack => self.acknowledged(now, &packet, int, world, effects),
            Kind::Cnp => {
                let slot = self.outgoing[packet.slot as usize].slot;
                if let Some(sender) = self.senders.get_mut(slot as usize) {
                    sender.congestion_notified(now, slot, world, effects);
                    self.wake(now, slot, effects);
                    self.serve(now, world, effects);
                }
            }
            Kind::Pause | Kind::Resume => {
                self.wire.set_paused(now, 0, packet.queue, packet.kind == Kind::Pause, effects);
                self.serve(now, world, effects);
            }
        }
    }

    fn start(&mut self, now: u64, index: u32, world: &World, effects: &mut impl Effects) {
        let Outgoing { flow, peer, .. } = self.outgoing[index as usize];
        let slot = self.free.pop().unwrap_or(self.senders.len() as u32);
        let sender = Sender::new(now, flow, index, peer, world);
        if let Some(place) = self.senders.get_mut(slot as usize) {
            *place = sender;
        } else {
            self.senders.push(sender);
        }
        self.outgoing[index as usize].slot = slot;
        let sender = &mut self.senders[slot as usize];
        sender.arm_control(now, slot, effects);
        if let Some(stop) = sender.stop_event(index, world) {
            effects.schedule(stop);
        }
        let tally = effects.tally();
        tally.started += 1;
        tally.progress = tally.progress.max(now);
        if let Some(next) = self.start_event(index + 1, world) {
            effects.schedule(next);
        }
        self.wake(now, slot, effects);
        self.serve(now, world, effects);
    }

    fn stop(&mut self, now: u64, index: u32, world: &World, effects: &mut impl Effects) {
        let slot = self.outgoing[index as usize].slot;
        if let Some(sender) = self.senders.get_mut(slot as usize)
            && sender.stop_offering()
        {
            self.finish(now, slot, Time::from_ps(now), world, effects);
        }
    }

    fn acknowledged(
        &mut self,
        now: u64,
        packet: &Packet,
        int: &IntRecords,
        world: &World,
        effects: &mut impl Effects,
    ) {
        let slot = self.outgoing[packet.slot as usize].slot;
        let Some(sender) = self.senders.get_mut(slot as usize) else { return };
        if packet.is(flag::INT) {
            read_int(int, packet.hops, &world.rates, &mut self.stack);
        } else {
            self.stack.count = 0;
        }
        if sender.acknowledged(now, slot, packet, &self.stack, world, effects) {
            self.finish(now, slot, Time::from_ps(packet.received), world, effects);
        } else {
            self.wake(now, slot, effects);
        }
        self.serve(now, world, effects);
    }

    /// A flow is done: record it and free its place.
    fn finish(&mut self, now: u64, slot: u32, delivered: Time, world: &World, effects: &mut impl Effects) {
        let sender = &mut self.senders[slot as usize];
        if sender.state == State::Ready {
            // Its place may be taken by another flow before its turn comes.
            self.ready.retain(|s| *s != slot);
        }
        sender.state = State::Done;
        let record = sender.record(Time::from_ps(now), delivered, world);
        self.outgoing[sender.index as usize].slot = NOT_UNDER_WAY;
        self.free.push(slot);
        let tally = effects.tally();
        tally.finished += 1;
        tally.last_finish = tally.last_finish.max(now);
        tally.records.flows.push(record);
    }

    /// Something about a flow has changed: give it its turn or its pacing timer if it may send.
    #[inline]
    fn wake(&mut self, now: u64, slot: u32, effects: &mut impl Effects) {
        let sender = &mut self.senders[slot as usize];
        let waits = match sender.state {
            State::Blocked => sender.may_send(),
            // A new rate may have brought the next packet forward.
            State::Paced => true,
            State::Ready | State::Done => false,
        };
        if !waits {
            return;
        }
        if sender.next_at <= now {
            sender.state = State::Ready;
            self.ready.push_back(slot);
        } else {
            sender.pace(slot, effects);
        }
    }

    /// Begins to send the next packet if the wire is free; has itself called when it falls free if
    /// something waits.
    #[inline]
    fn serve(&mut self, now: u64, world: &World, effects: &mut impl Effects) {
        if !self.wire.is_busy(now) {
            self.send_next(now, world, effects);
        }
        if self.wire.is_busy(now) && (self.replies_length > 0 || !self.ready.is_empty()) {
            self.wire.call_when_free(0, effects);
        }
    }

    /// Begins to send the next packet on the free wire, if there is one.
    fn send_next(&mut self, now: u64, world: &World, effects: &mut impl Effects) {
        if self.replies_length > 0 {
            for queue in 0..self.replies.len() {
                if self.wire.is_paused(queue as u8) {
                    continue;
                }
                let mut int = IntRecords::default();
                if let Some(packet) = self.replies[queue].pop(&mut int) {
                    self.replies_length -= u64::from(packet.size);
                    self.wire.send(now, 0, packet, &int, effects);
                    return;
                }
            }
        }
        for _ in 0..self.ready.len() {
            let Some(slot) = self.ready.pop_front() else { return };
            let sender = &mut self.senders[slot as usize];
            if sender.state != State::Ready {
                continue;
            }
            if self.wire.is_paused(sender.queue) {
                self.ready.push_back(slot);
                continue;
            }
            if !sender.may_send() {
                sender.state = State::Blocked;
                continue;
            }
            if sender.next_at > now {
                sender.state = State::Paced;
                sender.pace(slot, effects);
                continue;
            }
            let packet = sender.next_packet(now, world);
            effects.tally().sent += 1;
            let done = self.wire.send(now, 0, packet, &IntRecords::default(), effects);
            sender.sent(now, slot, u64::from(packet.size), world, effects);
            if !sender.may_send() {
                sender.state = State::Blocked;
            } else if sender.next_at <= done {
                self.ready.push_back(slot);
            } else {
                sender.state = State::Paced;
                sender.pace(slot, effects);
            }
            return;
        }
    }

    /// A data packet has arrived.
    fn receive(
        &mut self,
        now: u64,
        packet: &Packet,
        int: &IntRecords,
        world: &World,
        effects: &mut impl Effects,
    ) {
        let receiver = &mut self.receivers[packet.slot as usize];
        let answer = receiver.receive(now, packet, &mut self.open, world, effects);
        if let Some(cnp) = answer.cnp {
            self.reply(now, cnp, int, world, effects);
        }
        if let Some(ack) = answer.ack {
            self.reply(now, ack, int, world, effects);
        }
    }

    /// Queues an acknowledgement, NACK or CNP.
    fn reply(
        &mut self,
        now: u64,
        mut packet: Packet,
        int: &IntRecords,
        world: &World,
        effects: &mut impl Effects,
    ) {
        if packet.kind != Kind::Cnp {
            packet.payload = self.open;
        }
        self.replies_length += u64::from(packet.size);
        self.wire.peak = self.wire.peak.max(self.replies_length);
        let queue = usize::from(packet.queue).min(self.replies.len() - 1);
        self.replies[queue].push(packet, packet.is(flag::INT).then_some(int));
        self.serve(now, world, effects);
    }

    pub(crate) fn sample(&self, time: u64, port: PortId) -> PortSample {
        self.wire.sample(time, self.node, port, self.replies_length)
    }

    /// Samples the flows that are to be sampled and are under way.
    pub(crate) fn sample_flows(&self, time: u64, samples: &mut Vec<FlowSample>) {
        for &index in &self.sampled {
            let slot = self.outgoing[index as usize].slot;
            if let Some(sender) = self.senders.get(slot as usize) {
                samples.push(sender.sample(Time::from_ps(time)));
            }
        }
    }

    /// Whether there are flows to sample here.
    pub(crate) fn has_samples(&self) -> bool {
        !self.sampled.is_empty()
    }

    /// The host's replies that wait for the wire.
    pub(crate) fn waiting_replies(&self) -> impl Iterator<Item = &Packet> {
        self.replies.iter().flat_map(PacketQueue::iter)
    }
}
