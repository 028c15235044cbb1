//! A host that takes packets slower than its links bring them.
//!
//! Each of its network cards has a buffer, and hands the packets in it on to the host one after the other, at the rate of
//! the receiver. Where PFC is on, the card pauses the switch before the buffer is full; packets for which there is no room
//! are dropped.
//!
//! It is a kind of node of its own, made of a [`Host`], so that others do not ask for it with each packet.

use incast_engine::event::{Effects, Event};
use incast_engine::model::Arrival;
use incast_net::describe::Simulation;
use incast_net::describe::impairments::Receiver;
use incast_net::describe::network::{NodeId, Out, PortId};
use incast_net::describe::switch as describe;
use incast_net::packet::{IntRecords, Kind, Packet, flag};
use incast_net::record::OperationRecord;
use incast_net::routing::forwarding::Table;
use incast_net::rules::{Admission, Buffer};
use incast_units::{Bytes, Rate};

use super::Host;
use super::transport::Shared;
use crate::facts::Facts;
use crate::facts::flows::FlowFacts;
use crate::facts::hosts::HostFacts;
use crate::node::{Behaviour, FlowView, Inspect};
use crate::packet_queue::PacketQueue;
use crate::port::Port;
use crate::rank;

/// A host that takes packets slowly.
#[derive(Debug)]
pub(crate) struct SlowHost {
    host: Host,
    rate: Rate,
    cards: Vec<Card>,
    queues: u8,
    /// Scratch for the INT stack of the packet in hand.
    int: IntRecords,
    /// Packets dropped that PFC should have kept: of lossless queues, not from links that have failed.
    failures: u64,
}

/// The receiving side of a network card.
#[derive(Debug)]
struct Card {
    buffer: Buffer,
    /// Packets that have arrived, the one that is being taken first.
    waiting: PacketQueue,
    /// With PFC: whether its link has failed, after which more may come in than the headroom is made for.
    has_failed: bool,
}

impl SlowHost {
    /// Makes the node with this number.
    ///
    /// # Errors
    /// When its description contradicts itself: what to say.
    pub(crate) fn new(
        id: NodeId,
        facts: &Facts,
        simulation: &Simulation,
        transports: &Shared,
    ) -> Result<Self, String> {
        let receiver = simulation.impairments.receiver(id).ok_or("a slow host without a receiver")?;
        let largest = facts.fabric().largest_packet;
        let ports = facts.fabric().routes.largest_ports(id);
        let card = |out: &Out| {
            let buffer = buffer(receiver, &simulation.switch, out, largest)?;
            Ok(Card { buffer, waiting: PacketQueue::default(), has_failed: false })
        };
        Ok(Self {
            cards: ports.iter().map(card).collect::<Result<_, String>>()?,
            host: Host::new(id, &facts.hosts, simulation, transports)?,
            rate: receiver.rate,
            queues: simulation.switch.queues,
            int: IntRecords::default(),
            failures: 0,
        })
    }

    /// The host itself.
    pub(crate) fn host(&mut self) -> &mut Host {
        &mut self.host
    }

    /// Begins to take the first packet that waits at a port, if there is one.
    fn take_next(&self, now: u64, port: PortId, effects: &mut impl Effects) {
        if let Some(packet) = self.cards[usize::from(port)].waiting.iter().next() {
            let takes = self.rate.time_for(Bytes::new(u64::from(packet.size))).ps();
            effects.schedule(Event::new(now + takes, rank::TAKEN, u32::from(port)));
        }
    }

    /// A packet finds no room.
    fn drop(&mut self, port: PortId, packet: &Packet, effects: &mut impl Effects) {
        let wire = &mut self.host.home.nics[usize::from(port)].wire;
        wire.drops += 1;
        wire.dropped += u64::from(packet.size);
        wire.receiver_drops += 1;
        effects.tally().counts.dropped += u64::from(packet.kind == Kind::Data);
    }
}

/// The buffer of a card with this link: one queue for all packets, and where PFC is on the headroom of the link.
fn buffer(
    receiver: &Receiver,
    switch: &describe::Switch,
    out: &Out,
    largest: Bytes,
) -> Result<Buffer, String> {
    let size = receiver.buffer;
    if size < largest {
        return Err(format!("a receive buffer of {size} cannot hold a packet of {largest}"));
    }
    let pfc = switch.pfc.map(|pfc| {
        let headroom =
            switch.headroom(out.rate, out.delay, largest).get() * u64::from(switch.lossless().len());
        describe::Pfc { xoff: Some(Bytes::new(size.get().saturating_sub(headroom))), ..pfc }
    });
    let description = describe::Switch {
        buffer: describe::Buffer::Shared(size),
        reserve: Bytes::ZERO,
        queues: switch.queues,
        pfc,
        ..describe::Switch::default()
    };
    Buffer::new(&description, receiver.host, std::slice::from_ref(out), largest)
}

impl Behaviour for SlowHost {
    type Facts<'a> = HostFacts<'a>;

    fn first_events(&self, facts: &HostFacts) -> Vec<Event> {
        self.host.first_events(facts)
    }

    #[inline(never)]
    fn arrive<E: Effects>(&mut self, arrival: Arrival, facts: &HostFacts, effects: &mut E) {
        let Arrival { now, port, packet, int } = arrival;
        if matches!(packet.kind, Kind::Pause | Kind::Resume | Kind::PauseMap) {
            return self.host.arrive(Arrival { now, port, packet, int }, facts, effects);
        }
        let queue = packet.queue.min(self.queues - 1);
        let card = &mut self.cards[usize::from(port)];
        match card.buffer.admit(usize::from(queue), 0, 0, u64::from(packet.size)) {
            Admission::Stay => {}
            Admission::StayAndPause => self.host.home.nics[usize::from(port)].ask(now, queue, true),
            Admission::Drop => {
                self.failures += u64::from(card.buffer.is_lossless(usize::from(queue)) && !card.has_failed);
                effects.tally().counts.lossless += u64::from(card.buffer.may_pause(usize::from(queue)));
                return self.drop(port, packet, effects);
            }
        }
        let is_idle = card.waiting.iter().next().is_none();
        card.waiting.push(*packet, packet.is(flag::INT).then_some(int));
        if is_idle {
            self.take_next(now, port, effects);
        }
        self.host.serve(now, facts, effects);
    }

    fn handle<E: Effects>(&mut self, event: Event, facts: &HostFacts, effects: &mut E) {
        if event.rank() != rank::TAKEN {
            return self.host.handle(event, facts, effects);
        }
        let (now, port) = (event.time(), event.entity() as PortId);
        let card = &mut self.cards[usize::from(port)];
        let Some(mut packet) = card.waiting.pop(&mut self.int) else { return };
        let queue = packet.queue.min(self.queues - 1);
        if card.buffer.release(usize::from(queue), u64::from(packet.size)) {
            self.host.home.nics[usize::from(port)].ask(now, queue, false);
            self.host.serve(now, facts, effects);
        }
        self.take_next(now, port, effects);
        self.host.arrive(Arrival { now, port, packet: &mut packet, int: &mut self.int }, facts, effects);
    }

    fn reroute<E: Effects>(&mut self, now: u64, table: Table, facts: &HostFacts, effects: &mut E) {
        self.host.reroute(now, table, facts, effects);
    }

    /// Both ends forget the pauses of the other one when a link fails. When it returns, each pause is asked for again that
    /// still holds.
    fn link_turned<E: Effects>(
        &mut self,
        now: u64,
        port: PortId,
        up: bool,
        facts: &HostFacts,
        effects: &mut E,
    ) {
        self.cards[usize::from(port)].has_failed = true;
        if up {
            self.host.home.nics[usize::from(port)].renew_pauses();
            self.host.serve(now, facts, effects);
        }
        self.host.link_turned(now, port, up, facts, effects);
    }

    fn egress_mut(&mut self, port: PortId) -> Option<&mut Port> {
        self.host.egress_mut(port)
    }
}

impl Inspect for SlowHost {
    fn egress(&self, port: PortId) -> Option<&Port> {
        self.host.egress(port)
    }

    fn queued(&self, port: PortId) -> u64 {
        self.host.queued(port)
    }

    fn held_data(&self) -> u64 {
        let waiting = self.cards.iter().flat_map(|card| card.waiting.iter());
        self.host.held_data() + waiting.filter(|packet| packet.kind == Kind::Data).count() as u64
    }

    fn has_flows(&self) -> bool {
        self.host.has_flows()
    }

    fn has_samples(&self) -> bool {
        self.host.has_samples()
    }

    fn is_sampled(&self, flow: u32) -> bool {
        self.host.is_sampled(flow)
    }

    fn each_flow(&self, facts: &FlowFacts, see: &mut dyn FnMut(&dyn FlowView)) {
        self.host.each_flow(facts, see);
    }

    fn unfinished_operations(&self) -> Vec<OperationRecord> {
        self.host.unfinished_operations()
    }

    fn operation_waits(&self) -> Vec<(u32, String)> {
        self.host.operation_waits()
    }

    fn violations(&self) -> Vec<String> {
        let mut violations = Vec::new();
        for Card { buffer, .. } in self.cards.iter().filter(|card| card.buffer.peak() > card.buffer.size()) {
            let (peak, size) = (buffer.peak(), buffer.size());
            violations.push(format!("held {peak} in a receive buffer of {size}"));
        }
        if self.failures > 0 {
            let failures = self.failures;
            violations.push(format!("dropped {failures} packets of lossless queues although PFC is on"));
        }
        violations
    }
}
