//! The receiving side of the flows to one host: in-order delivery, acknowledgements, NACKs and CNPs.

use std::collections::BTreeMap;

use incast_cc::receiver::{Arrival, Echo, OpenFlows, Receiver as Rules, ReceiverRules};
use incast_engine::event::{Effects, Event};
use incast_net::packet::{Ack, Data, IntRecords, Kind, NO_INT, Packet, flag};
use incast_units::{Bytes, Time};

use crate::facts::flows::{FlowFacts, Way};
use crate::host::transport::context::Context;
use crate::host::transport::incoming::{Incoming, NOWHERE};
use crate::host::transport::reply::{path_back, send_back};
use crate::rank;
use crate::recovery::{AnyOrder, InOrder, Verdict, keeps};

/// The flows to one host.
#[derive(Debug)]
pub(super) struct Receivers {
    rules: ReceiverRules,
    incoming: Vec<Incoming>,
    /// State of the flows that have begun to arrive and have not yet arrived completely.
    states: Vec<State>,
    free: Vec<u32>,
    /// Position of the state of each connection that has begun to arrive, by its number.
    connections: BTreeMap<u32, u32>,
    open: OpenFlows,
}

/// Record of the packets of a flow that have arrived.
#[derive(Debug)]
enum Order {
    InOrder(InOrder),
    Any(AnyOrder),
}

impl Order {
    fn new(facts: &FlowFacts) -> Self {
        if keeps(facts.transport.recovery) { Self::Any(AnyOrder::NEW) } else { Self::InOrder(InOrder::NEW) }
    }

    /// A packet has arrived.
    #[inline]
    fn take(&mut self, now: u64, number: u32, facts: &FlowFacts) -> Verdict {
        match self {
            Self::InOrder(order) => order.take(now, number, facts.transport.nack_interval.ps()),
            Self::Any(order) => order.take(number),
        }
    }

    /// The packet expected next, and with a receiver that keeps packets the bitmap of the others for the
    /// acknowledgement of packet `number`.
    #[inline]
    fn progress(&self, number: u32) -> (u64, Option<u64>) {
        match self {
            Self::InOrder(order) => (order.expected, None),
            Self::Any(order) => (order.expected, Some(order.bitmap(number))),
        }
    }
}

/// The messages of a connection whose last packets have arrived before others: one past that packet, and the index
/// of the message.
type Waiting = BTreeMap<u64, u32>;

/// The receiving side of one flow while it arrives, or of one connection.
#[derive(Debug)]
struct State {
    order: Order,
    /// Of a connection.
    waiting: Option<Box<Waiting>>,
    control: Rules,
    /// Whether it counts among the open flows.
    open: bool,
    /// Hash of the packets that it sends back.
    hash: u32,
    /// The held acknowledgement, with the telemetry of the packet that caused it.
    held: Option<Box<(Packet, Ack, IntRecords)>>,
}

impl State {
    /// A packet of a message has arrived, `is_last` if it is the last one of its message; the next packet expected is
    /// `expected`. Returns whether messages have arrived completely.
    #[inline(never)]
    fn take_message(
        &mut self,
        verdict: Verdict,
        is_last: bool,
        data: &Data,
        expected: u64,
        open: &mut OpenFlows,
    ) -> bool {
        let Some(waiting) = &mut self.waiting else { return false };
        if !matches!(verdict, Verdict::Next | Verdict::Fills | Verdict::Kept) {
            return false;
        }
        if is_last {
            // Numbers travel modulo 2^32.
            let ahead = data.number.wrapping_sub(expected as u32) as i32;
            waiting.insert(expected.wrapping_add_signed(i64::from(ahead)) + 1, data.slot);
        }
        if !std::mem::replace(&mut self.open, true) {
            open.open();
        }
        waiting.first_key_value().is_some_and(|(end, _)| *end <= expected)
    }

    /// The messages that end before packet `expected` have arrived.
    #[inline(never)]
    fn end_messages<E: Effects>(
        &mut self,
        now: u64,
        expected: u64,
        incoming: &[Incoming],
        open: &mut OpenFlows,
        cx: &mut Context<'_, E>,
    ) {
        let Some(waiting) = &mut self.waiting else { return };
        while let Some(message) = waiting.first_entry().filter(|message| *message.key() <= expected) {
            cx.arrived(now, incoming[message.remove() as usize].flow);
        }
        let has_begun = matches!(&self.order, Order::Any(order) if order.has_kept());
        if !has_begun && std::mem::replace(&mut self.open, false) {
            open.close();
        }
    }
}

impl Receivers {
    pub(super) fn new(facts: &FlowFacts) -> Self {
        let transport = &facts.transport;
        Self {
            rules: ReceiverRules {
                ack_every: transport.ack_every,
                ack_delay: transport.ack_delay,
                cnp_interval: transport.cnp_interval,
            },
            incoming: Vec::new(),
            states: Vec::new(),
            free: Vec::new(),
            connections: BTreeMap::new(),
            open: OpenFlows::default(),
        }
    }

    pub(super) fn add(&mut self, flow: u32, peer: u32) -> u32 {
        self.incoming.push(Incoming::new(flow, peer));
        self.incoming.len() as u32 - 1
    }

    /// A data packet has arrived.
    #[inline(always)]
    pub(super) fn on_data<E: Effects>(
        &mut self,
        now: u64,
        packet: &Packet,
        int: &IntRecords,
        cx: &mut Context<'_, E>,
    ) {
        cx.effects.tally().counts.delivered += 1;
        let data = Data::of(&packet.body);
        let incoming = self.incoming[data.slot as usize];
        if incoming.is_complete() {
            return self.answer_duplicate(now, packet, &data, int, cx);
        }
        let place = if incoming.place == NOWHERE { self.begin(data.slot, cx) } else { incoming.place };
        let state = &mut self.states[place as usize];
        let verdict = state.order.take(now, data.number, cx.facts);
        let progress = state.order.progress(data.number);
        let mut last = match verdict {
            Verdict::Next => packet.is(flag::LAST),
            Verdict::Fills => progress.0 == cx.facts.packets(incoming.flow),
            Verdict::Kept | Verdict::Duplicate | Verdict::Early { .. } => false,
        };
        if state.waiting.is_some() {
            last = state.take_message(verdict, packet.is(flag::LAST), &data, progress.0, &mut self.open);
        }
        let arrival = Arrival {
            now: Time::from_ps(now),
            inflight: Bytes::new(u64::from(data.inflight)),
            marked: packet.is(flag::MARKED),
            notify: packet.is(flag::CNP),
            urgent: last || verdict != Verdict::Next,
        };
        if verdict == (Verdict::Early { report: false }) {
            if state.control.notify(&self.rules, &arrival) {
                let cnp = congestion_notification(&incoming, state.hash, cx.facts);
                send_back(now, incoming.flow, cnp, int, cx);
            }
            return;
        }
        let response = state.control.on_data(&self.rules, &arrival);
        if matches!(verdict, Verdict::Next | Verdict::Fills | Verdict::Kept) {
            let tally = cx.effects.tally();
            tally.counts.progress = tally.counts.progress.max(now);
        }
        if last && state.waiting.is_some() {
            state.end_messages(now, progress.0, &self.incoming, &mut self.open, cx);
        } else if last {
            self.incoming[data.slot as usize].completed = now;
            if std::mem::replace(&mut state.open, false) {
                self.open.close();
            }
            cx.arrived(now, incoming.flow);
        }
        if response.notify {
            let cnp = congestion_notification(&incoming, state.hash, cx.facts);
            send_back(now, incoming.flow, cnp, int, cx);
        }
        let kind = if matches!(verdict, Verdict::Early { .. }) { Kind::Nack } else { Kind::Ack };
        let ack = acknowledgement(kind, now, packet, &data, &incoming, state.hash, progress, cx.facts);
        let Some(echo) = response.ack else {
            if let Some(held) = &mut state.held {
                **held = (ack.0, ack.1, *int);
            } else {
                let due = state.control.deadline().ps();
                state.held = Some(Box::new((ack.0, ack.1, *int)));
                cx.effects.schedule(Event::new(due, rank::RECEIVER, data.slot));
            }
            return;
        };
        state.held = None;
        self.reply(now, incoming.flow, ack, &echo, int, cx);
        if last {
            self.end(data.slot);
        }
    }

    /// Reports exactly this packet to the sender: its header has arrived without its payload.
    pub(super) fn on_header<E: Effects>(&mut self, now: u64, packet: &Packet, cx: &mut Context<'_, E>) {
        let data = Data::of(&packet.body);
        let incoming = &self.incoming[data.slot as usize];
        let hash = cx.facts.hashes(incoming.flow).1;
        // Nothing is said of other packets: held acknowledgements do that.
        let progress = (u64::from(data.number), Some(0));
        let (mut nack, body) =
            acknowledgement(Kind::Nack, now, packet, &data, incoming, hash, progress, cx.facts);
        nack.set_ack(&Ack { packets: 0, ..body });
        send_back(now, incoming.flow, nack, &NO_INT, cx);
    }

    /// A timer of the flow `slot` has expired: a held acknowledgement is due, or the flow has stopped.
    pub(super) fn on_timer<E: Effects>(&mut self, now: u64, slot: u32, cx: &mut Context<'_, E>) {
        let incoming = self.incoming[slot as usize];
        let Some(state) = self.states.get_mut(incoming.place as usize) else { return };
        if state.open && cx.facts.flows[incoming.flow as usize].stop.ps() <= now {
            state.open = false;
            self.open.close();
        }
        let Some(echo) = state.control.on_timer(Time::from_ps(now)) else { return };
        if let Some((packet, ack, int)) = state.held.take().map(|held| *held) {
            self.reply(now, incoming.flow, (packet, ack), &echo, &int, cx);
        }
    }

    /// The first packet of a flow has arrived: allocates its state.
    fn begin<E: Effects>(&mut self, slot: u32, cx: &mut Context<'_, E>) -> u32 {
        let incoming = &mut self.incoming[slot as usize];
        let connection = cx.facts.connection(incoming.flow).map(|(number, _)| number);
        if let Some(place) = connection.and_then(|number| self.connections.get(&number)) {
            incoming.place = *place;
            return *place;
        }
        let flow = &cx.facts.flows[incoming.flow as usize];
        let state = State {
            order: Order::new(cx.facts),
            waiting: connection.map(|_| Box::default()),
            control: Rules::NEW,
            open: true,
            hash: cx.facts.hashes(incoming.flow).1,
            held: None,
        };
        let place = self.free.pop().unwrap_or(self.states.len() as u32);
        if let Some(free) = self.states.get_mut(place as usize) {
            *free = state;
        } else {
            self.states.push(state);
        }
        incoming.place = place;
        if let Some(number) = connection {
            self.connections.insert(number, place);
        }
        self.open.open();
        if flow.stop != Time::NEVER {
            // Nothing in the packets says that a flow has stopped; it counts as open until then.
            cx.effects.schedule(Event::new(flow.stop.ps(), rank::RECEIVER, slot));
        }
        place
    }

    /// A flow has arrived completely. The state of a connection remains.
    fn end(&mut self, slot: u32) {
        let incoming = &mut self.incoming[slot as usize];
        if !incoming.is_complete() {
            return;
        }
        self.free.push(incoming.place);
        incoming.place = NOWHERE;
    }

    /// A packet of a flow that has arrived completely: its last acknowledgement was lost.
    fn answer_duplicate<E: Effects>(
        &mut self,
        now: u64,
        packet: &Packet,
        data: &Data,
        int: &IntRecords,
        cx: &mut Context<'_, E>,
    ) {
        let incoming = self.incoming[data.slot as usize];
        let hash = cx.facts.hashes(incoming.flow).1;
        let bitmap = keeps(cx.facts.transport.recovery).then_some(0);
        let progress = (cx.facts.packets(incoming.flow), bitmap);
        // The sender takes the time of delivery from the acknowledgement that ends the flow: that of
        // the first copy, not of this one.
        let data = Data { sent: incoming.completed, ..*data };
        let ack = acknowledgement(
            Kind::Ack,
            incoming.completed,
            packet,
            &data,
            &incoming,
            hash,
            progress,
            cx.facts,
        );
        let echo = Echo {
            packets: 1,
            marked: u32::from(packet.is(flag::MARKED)),
            inflight: Bytes::new(u64::from(data.inflight)),
            held: Time::ZERO,
        };
        self.reply(now, incoming.flow, ack, &echo, int, cx);
    }

    /// Queues an acknowledgement or a NACK, with the fields about the packets that it covers.
    #[inline(always)]
    fn reply<E: Effects>(
        &mut self,
        now: u64,
        flow: u32,
        (mut packet, ack): (Packet, Ack),
        echo: &Echo,
        int: &IntRecords,
        cx: &mut Context<'_, E>,
    ) {
        let ack = Ack {
            held: echo.held.ps(),
            inflight: u32::try_from(echo.inflight.get()).unwrap_or(u32::MAX),
            packets: u8::try_from(echo.packets).unwrap_or(u8::MAX),
            marked: u8::try_from(echo.marked).unwrap_or(u8::MAX),
            flows: u16::try_from(self.open.count()).unwrap_or(u16::MAX),
            ..ack
        };
        packet.set_ack(&ack);
        send_back(now, flow, packet, int, cx);
    }
}

/// A packet to the sender that echoes a data packet, and what will be written into it.
#[allow(clippy::too_many_arguments, reason = "each is a part of the acknowledgement")]
#[inline(always)]
fn acknowledgement(
    kind: Kind,
    now: u64,
    packet: &Packet,
    data: &Data,
    incoming: &Incoming,
    hash: u32,
    (expected, bitmap): (u64, Option<u64>),
    facts: &FlowFacts,
) -> (Packet, Ack) {
    let flow = &facts.flows[incoming.flow as usize];
    let (hash, policy_flags) =
        if flow.balancing.spreads() { path_back(packet, incoming.flow, hash, facts) } else { (hash, 0) };
    let offset = data.number.wrapping_sub(expected as u32) as i32;
    let ack = Ack {
        sent: data.sent,
        received: now,
        held: 0,
        slot: incoming.peer,
        inflight: data.inflight,
        expected: expected as u32,
        offset: offset.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16,
        flows: 0,
        packets: 1,
        marked: 0,
        bitmap: bitmap.unwrap_or_default(),
    };
    let with_bitmap = if bitmap.is_some() { flag::BITMAP } else { 0 };
    let circuit = if packet.is(flag::CIRCUIT) { flag::CIRCUIT_ECHO } else { 0 };
    let reply = Packet {
        destination: facts.address(incoming.flow, Way::Back),
        hash,
        hop_delay: packet.hop_delay,
        size: facts.sizes(flow.algorithm).ack as u16,
        queue: facts.transport.ack_queue.unwrap_or(flow.queue),
        flags: packet.flags & flag::INT | with_bitmap | circuit | policy_flags,
        hops: packet.hops,
        ..Packet::blank(kind)
    };
    (reply, ack)
}

/// A congestion notification packet to the sender.
fn congestion_notification(incoming: &Incoming, hash: u32, facts: &FlowFacts) -> Packet {
    let ack = Ack {
        sent: 0,
        received: 0,
        held: 0,
        slot: incoming.peer,
        inflight: 0,
        expected: 0,
        offset: 0,
        flows: 0,
        packets: 0,
        marked: 1,
        bitmap: 0,
    };
    let mut cnp = Packet {
        destination: facts.address(incoming.flow, Way::Back),
        hash,
        size: facts.transport.header.max(facts.transport.smallest).get() as u16,
        queue: facts.transport.cnp_queue,
        ..Packet::blank(Kind::Cnp)
    };
    cnp.set_ack(&ack);
    cnp
}
