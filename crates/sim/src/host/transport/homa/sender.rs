//! The sending side: the messages from one host, of which the one with the fewest bytes left is sent first.

use incast_engine::event::{Effects, Event};
use incast_net::describe::network::PortId;
use incast_net::packet::{Kind, Packet};
use incast_net::queue_set::QueueSet;
use incast_net::record::{Division, FlowRecord, FlowSample, Limit};
use incast_units::{Bytes, Rate, Time};

use super::line::Line;
use super::priorities::{Priorities, TOP};
use super::ranges::Ranges;
use super::wire::{Control, Data, GRANT};
use crate::balancing;
use crate::balancing::policy::Entropies;
use crate::facts::flows::{FlowFacts, Way};
use crate::host::nic::{Nic, Source};
use crate::host::program::Step;
use crate::host::transport::account::Account;
use crate::host::transport::context::Context;
use crate::node::FlowView;
use crate::rank;

/// A time that is never reached.
const NEVER: u64 = u64::MAX;
/// Marks a message that is not being sent.
const NOWHERE: u32 = u32::MAX;

/// The messages from one host.
#[derive(Debug, Default)]
pub(super) struct Senders {
    messages: Vec<Message>,
    free: Vec<u32>,
    /// Position of each message by its index, while it is being sent.
    places: Vec<u32>,
    /// Data that waits for each network card.
    outboxes: Vec<Outbox>,
}

/// Messages that have something to send through one network card.
///
/// The card chooses among sources, and its far end may pause queues. So each priority level at which something
/// waits is a source of its own, in the queue of its level; whichever is served, the message with the fewest
/// bytes left is sent whose queue is not paused.
#[derive(Debug, Default)]
struct Outbox {
    /// By bytes left, index, and position.
    waiting: Line<(u64, u32, u32)>,
    /// Number of them that wait at each level.
    count: Vec<u32>,
    /// Levels that are in the card's list of ready sources.
    ready: QueueSet,
    /// Position of the message whose packet was sent last.
    leaving: u32,
}

impl Outbox {
    /// Makes a level a source of its card.
    fn ready(&mut self, level: u8, port: PortId, nic: &mut Nic) {
        if !self.ready.contains(level) {
            self.ready.insert(level);
            nic.push(level, source(port, level));
        }
    }
}

/// Returns the source of a level of a network card.
fn source(port: PortId, level: u8) -> Source {
    u32::from(port) << 8 | u32::from(level)
}

/// The sending side of one message.
#[derive(Debug)]
struct Message {
    /// Whether the place is in use.
    active: bool,
    flow: u32,
    /// Index among the host's flows.
    index: u32,
    /// The receiver's index of it.
    peer: u32,
    destination: u32,
    hash: u32,
    port: PortId,
    /// Bits of its packets' flags about load balancing.
    policy_flags: u8,
    /// The choice of entropies; `None`: its packets have none.
    entropies: Option<Box<dyn Entropies>>,
    size: u64,
    /// Payload of a full packet.
    payload: u64,
    packets: u32,
    /// The first packet that was not yet sent.
    next: u32,
    /// Packets below this number are sent without a grant.
    unscheduled: u32,
    /// Those from this number on have the level of unscheduled packets too.
    last: u32,
    /// Packets below this number may be sent.
    limit: u32,
    /// Level of its unscheduled packets, and the level that the last grant gave to the others.
    unscheduled_level: u8,
    level: u8,
    /// Packets to be sent again, and their payload.
    again: Ranges,
    again_bytes: u64,
    /// Its bytes left and its level, if it has something waiting.
    offered: Option<(u64, u8)>,
    /// Whether its receiver is known to know it.
    heard: bool,
    /// Packets that the receiver had when it last said so.
    arrived: u32,
    /// Time at which a packet of it was last sent or came from its receiver.
    touched: u64,
    /// Time of the valid pending [`rank::RETRANSMIT`].
    timer: u64,
    /// Timeouts since its receiver was last heard.
    tries: u32,
    start: u64,
    sent: u64,
    resent: u64,
    timeouts: u32,
    account: Account,
}

impl Message {
    fn new<E>(now: u64, index: u32, step: Step, priorities: &Priorities, cx: &Context<'_, E>) -> Self {
        let facts = cx.facts;
        let flow = &facts.flows[step.flow as usize];
        let hash = facts.hashes(step.flow).0;
        let (size, payload) = (flow.size.get(), facts.sizes(flow.algorithm).payload);
        let packets = size.div_ceil(payload) as u32;
        let unscheduled = packets.min(priorities.rtt_packets(step.flow));
        Self {
            active: true,
            flow: step.flow,
            index,
            peer: step.peer,
            destination: facts.address(step.flow, Way::Forth),
            hash,
            port: cx.nic_for(step.flow, Way::Forth, || hash),
            policy_flags: Packet::policy_flags(balancing::policy_id(flow.balancing)),
            entropies: balancing::start(flow.balancing, &facts.balancing, facts.seed, flow.key),
            size,
            payload,
            packets,
            next: 0,
            unscheduled,
            last: packets.saturating_sub(priorities.last_packets(step.flow)),
            limit: unscheduled,
            unscheduled_level: priorities.unscheduled_level(size),
            level: priorities.levels - 1,
            again: Ranges::default(),
            again_bytes: 0,
            offered: None,
            heard: false,
            arrived: 0,
            touched: now,
            timer: NEVER,
            tries: 0,
            start: now,
            sent: 0,
            resent: 0,
            timeouts: 0,
            account: Account::new(now),
        }
    }

    /// Payload of the packets `from..to`.
    fn bytes(&self, from: u32, to: u32) -> u64 {
        let position = |packet| (u64::from(packet) * self.payload).min(self.size);
        position(to) - position(from)
    }

    /// The bytes that it has still to send, and the level of its next packet; `None` if it may send none.
    fn offer(&self) -> Option<(u64, u8)> {
        let level = if !self.again.is_empty() {
            TOP
        } else if self.next >= self.limit {
            return None;
        } else if self.next < self.unscheduled || self.next >= self.last {
            self.unscheduled_level
        } else {
            self.level
        };
        Some((self.bytes(self.next, self.packets) + self.again_bytes, level))
    }

    /// Returns what keeps its next packet back, apart from a packet of it that leaves.
    fn limit(&self) -> Limit {
        if self.offered.is_some() {
            Limit::Card
        } else if self.next < self.packets {
            Limit::Credit
        } else {
            self.account.nothing_to_send()
        }
    }

    /// Returns for how long what it offers has been paused at its network card. (ps)
    fn paused_for(&self, now: u64, nics: &[Nic]) -> u64 {
        let paused =
            |(_, level)| nics[usize::from(self.port)].paused_for(level, source(self.port, level), now);
        self.offered.map_or(0, paused)
    }

    /// Names what keeps its next packet back from now on.
    #[inline]
    fn turn(&mut self, now: u64, nics: &[Nic]) {
        let (limit, paused) = (self.limit(), self.paused_for(now, nics));
        self.account.turn(now, limit, || 0, || paused);
    }

    /// Returns the division of its time, which an acknowledgement may end that queues have delayed by `late` (ps).
    fn division(&self, now: u64, late: u64, nics: &[Nic]) -> Division {
        self.account.division(now, late, || self.paused_for(now, nics))
    }

    /// A request or a timer that follows something at `before` made it send packets again, if there are more bytes to
    /// send again than `bytes`.
    fn expired(&mut self, now: u64, before: u64, bytes: u64) {
        if self.again_bytes > bytes {
            self.account.expired(now, before);
        }
    }

    /// Adds the packets in `from..to` that were sent to those to be sent again.
    fn send_again(&mut self, from: u32, to: u32) {
        for packet in from..to.min(self.next) {
            if self.again.add(packet, packet + 1) == 1 {
                self.again_bytes += self.bytes(packet, packet + 1);
            }
        }
    }

    /// The next packet.
    fn take(&mut self, now: u64, level: u8, facts: &FlowFacts) -> Packet {
        self.account.packet(!self.again.is_empty());
        let packet = match self.again.take_first() {
            Some(packet) => {
                self.again_bytes -= self.bytes(packet, packet + 1);
                self.resent += 1;
                packet
            }
            None => {
                self.next += 1;
                self.next - 1
            }
        };
        self.sent += 1;
        self.touched = now;
        let payload = self.bytes(packet, packet + 1);
        let data = Data {
            sequence: u64::from(packet) * self.payload,
            sent: now,
            slot: self.peer,
            size: self.size,
            payload: payload as u16,
        };
        let entropy = self.entropies.as_mut().map_or(0, |entropies| entropies.choose(now));
        let sizes = facts.sizes(facts.flows[self.flow as usize].algorithm);
        Packet {
            destination: self.destination,
            hash: self.hash ^ u32::from(entropy),
            size: sizes.data(payload) as u16,
            queue: level,
            flags: self.policy_flags,
            body: data.body(),
            ..Packet::blank(Kind::Data)
        }
    }

    /// Whether it is the sender that finds out if nothing of it gets through. While the receiver knows it and
    /// has not granted all of it, that is the receiver's task.
    fn is_watched(&self) -> bool {
        self.offered.is_none() && (!self.heard || self.next == self.packets)
    }

    /// Ensures that an event is pending no later than the end of its timeout.
    fn arm<E: Effects>(&mut self, priorities: &Priorities, effects: &mut E) {
        let due = self.touched.saturating_add(priorities.sender_timeout());
        if self.is_watched() && self.tries < priorities.resend_tries && due < self.timer {
            self.timer = due;
            effects.schedule(Event::new(due, rank::RETRANSMIT, self.index));
        }
    }

    fn arrived_bytes(&self) -> u64 {
        self.bytes(0, self.arrived)
    }

    fn record(&self, finish: Time, delivered: Time, bytes: u64, facts: &FlowFacts) -> FlowRecord {
        let start = Time::from_ps(self.start);
        FlowRecord {
            delivered,
            packets: self.sent,
            resent: self.resent,
            timeouts: self.timeouts,
            ..facts.record(self.flow, start, finish, bytes)
        }
    }

    /// Describes the event for which it waits.
    fn waits_for(&self, nics: &[Nic]) -> String {
        let reason = match self.offered {
            Some((_, level)) if nics[usize::from(self.port)].wire.is_paused(level) => {
                "its host's link is paused"
            }
            Some(_) => "its turn on its host's link",
            None if self.next == self.packets => "the acknowledgement of its receiver",
            None => "grants of its receiver",
        };
        let (sent, arrived) = (Bytes::new(self.bytes(0, self.next)), Bytes::new(self.arrived_bytes()));
        let size = Bytes::new(self.size);
        format!(
            "waits for {reason} ({sent} of {size} sent, {arrived} known to have arrived, {} timeouts)",
            self.timeouts
        )
    }
}

impl Senders {
    fn place(&self, index: u32) -> Option<u32> {
        self.places.get(index as usize).copied().filter(|place| *place != NOWHERE)
    }

    /// A message starts.
    pub(super) fn start<E: Effects>(
        &mut self,
        now: u64,
        index: u32,
        step: Step,
        priorities: &Priorities,
        cx: &mut Context<'_, E>,
    ) {
        let message = Message::new(now, index, step, priorities, cx);
        let place = self.free.pop().unwrap_or(self.messages.len() as u32);
        if let Some(free) = self.messages.get_mut(place as usize) {
            *free = message;
        } else {
            self.messages.push(message);
        }
        if self.places.len() <= index as usize {
            self.places.resize(index as usize + 1, NOWHERE);
        }
        self.places[index as usize] = place;
        self.settle(now, place, priorities, cx);
    }

    /// The outbox of a network card.
    #[inline]
    fn outbox(&mut self, port: PortId, levels: u8) -> &mut Outbox {
        let port = usize::from(port);
        if self.outboxes.len() <= port {
            self.add_outboxes(port, levels);
        }
        &mut self.outboxes[port]
    }

    /// Makes the outboxes up to the one of this card.
    #[cold]
    fn add_outboxes(&mut self, port: usize, levels: u8) {
        self.outboxes.resize_with(port + 1, || {
            let count = vec![0; usize::from(levels)];
            Outbox { count, leaving: NOWHERE, ..Outbox::default() }
        });
    }

    /// A message has changed: updates what it has waiting, and its timer.
    fn settle<E: Effects>(&mut self, now: u64, place: u32, priorities: &Priorities, cx: &mut Context<'_, E>) {
        let message = &mut self.messages[place as usize];
        let (port, index) = (message.port, message.index);
        let offer = if message.active { message.offer() } else { None };
        let level = |offer: Option<(u64, u8)>| offer.map(|(_, level)| level);
        if level(offer) != level(message.offered) {
            let paused = message.paused_for(now, &cx.home.nics);
            message.account.settle(now, || paused);
        }
        let before = std::mem::replace(&mut message.offered, offer);
        message.turn(now, &cx.home.nics);
        if offer.is_none() && message.active {
            message.arm(priorities, cx.effects);
        }
        let outbox = self.outbox(port, priorities.levels);
        if before != offer {
            let waits = |(left, _)| (left, index, place);
            outbox.waiting.replace(before.map(waits), offer.map(waits));
            if let Some((_, level)) = before {
                outbox.count[usize::from(level)] -= 1;
            }
            if let Some((_, level)) = offer {
                outbox.count[usize::from(level)] += 1;
            }
        }
        if let Some((_, level)) = offer {
            outbox.ready(level, port, &mut cx.home.nics[usize::from(port)]);
        }
    }

    /// A level of a network card is served: the next packet of the message with the fewest bytes left whose
    /// queue is not paused.
    pub(super) fn poll_send<E: Effects>(
        &mut self,
        now: u64,
        source: Source,
        priorities: &Priorities,
        cx: &mut Context<'_, E>,
    ) -> Option<Packet> {
        let (port, level) = ((source >> 8) as PortId, source as u8);
        let outbox = &mut self.outboxes[usize::from(port)];
        outbox.ready.remove(level);
        let wire = &cx.home.nics[usize::from(port)].wire;
        let messages = &self.messages;
        let level_of = |place: u32| messages[place as usize].offered.map(|(_, level)| level);
        let (place, of_packet) = outbox
            .waiting
            .iter()
            .filter_map(|&(_, _, place)| Some((place, level_of(place)?)))
            .find(|&(_, level)| !wire.is_paused(level))?;
        let message = &mut self.messages[place as usize];
        let paused = message.paused_for(now, &cx.home.nics);
        message.account.settle(now, || paused);
        let packet = message.take(now, of_packet, cx.facts);
        self.settle(now, place, priorities, cx);
        let outbox = &mut self.outboxes[usize::from(port)];
        outbox.leaving = place;
        if outbox.count[usize::from(level)] > 0 {
            outbox.ready(level, port, &mut cx.home.nics[usize::from(port)]);
        }
        Some(packet)
    }

    /// Transmission of the packet that was taken last for this source has begun; it ends at `done`.
    pub(super) fn sent(&mut self, source: Source, done: u64) {
        let place = self.outboxes[(source >> 8) as usize].leaving;
        self.messages[place as usize].account.sent(done);
    }

    /// The last bit of that packet has left: its message waits for its card from now on, if it has more to send.
    pub(super) fn departed<E>(&mut self, now: u64, source: Source, cx: &Context<'_, E>) {
        let place = self.outboxes[(source >> 8) as usize].leaving;
        if let Some(message) = self.messages.get_mut(place as usize).filter(|message| message.active) {
            message.turn(now, &cx.home.nics);
        }
    }

    /// A grant, or a request to send packets again, has arrived.
    pub(super) fn on_control<E: Effects>(
        &mut self,
        now: u64,
        packet: &Packet,
        priorities: &Priorities,
        cx: &mut Context<'_, E>,
    ) {
        let control = Control::of(&packet.body);
        let Some(place) = self.place(control.slot) else { return };
        let message = &mut self.messages[place as usize];
        let (touched, again) = (message.touched, message.again_bytes);
        (message.heard, message.touched, message.tries) = (true, now, 0);
        message.arrived = message.arrived.max(control.arrived);
        message.limit = message.limit.max(control.limit);
        if packet.op() == Some(GRANT) {
            message.level = control.level;
        } else {
            message.send_again(control.first, control.limit);
            message.expired(now, touched, again);
        }
        self.settle(now, place, priorities, cx);
    }

    /// The acknowledgement of a message has arrived: it is done.
    pub(super) fn on_ack<E: Effects>(
        &mut self,
        now: u64,
        packet: &Packet,
        priorities: &Priorities,
        cx: &mut Context<'_, E>,
    ) {
        let ack = packet.ack(now);
        let Some(place) = self.place(ack.slot) else { return };
        let message = &mut self.messages[place as usize];
        let delivered = Time::from_ps(ack.received);
        let record = message.record(Time::from_ps(now), delivered, message.size, cx.facts);
        let late = (now - ack.sent).saturating_sub(record.base_rtt.ps());
        let division = message.division(now, late, &cx.home.nics);
        message.active = false;
        self.places[message.index as usize] = NOWHERE;
        self.free.push(place);
        self.settle(now, place, priorities, cx);
        cx.finished(now, record, division);
    }

    /// The timer of a message: if nothing was sent or heard for the timeout, its first packet is sent again.
    pub(super) fn on_timer<E: Effects>(
        &mut self,
        now: u64,
        index: u32,
        priorities: &Priorities,
        cx: &mut Context<'_, E>,
    ) {
        let Some(place) = self.place(index) else { return };
        let message = &mut self.messages[place as usize];
        if message.timer != now {
            return;
        }
        message.timer = NEVER;
        let due = message.touched.saturating_add(priorities.sender_timeout()) <= now;
        if due && message.is_watched() && message.tries < priorities.resend_tries {
            message.tries += 1;
            message.timeouts += 1;
            let again = message.again_bytes;
            message.send_again(0, 1);
            message.expired(now, message.touched, again);
        }
        self.settle(now, place, priorities, cx);
    }

    /// The network cards of messages may have changed.
    pub(super) fn rerouted<E: Effects>(
        &mut self,
        now: u64,
        priorities: &Priorities,
        cx: &mut Context<'_, E>,
    ) {
        for place in 0..self.messages.len() as u32 {
            let message = &mut self.messages[place as usize];
            let port = cx.nic_for(message.flow, Way::Forth, || message.hash);
            if !message.active || port == message.port {
                continue;
            }
            // What it has waiting moves from one card to the other.
            message.active = false;
            self.settle(now, place, priorities, cx);
            let message = &mut self.messages[place as usize];
            message.account.cut(now);
            (message.active, message.port) = (true, port);
            self.settle(now, place, priorities, cx);
        }
    }

    /// Passes each message to `see`.
    pub(super) fn each_flow(&self, nics: &[Nic], facts: &FlowFacts, see: &mut dyn FnMut(&dyn FlowView)) {
        for message in self.messages.iter().filter(|message| message.active) {
            see(&View { message, nics, facts });
        }
    }
}

/// The view of one message.
struct View<'a> {
    message: &'a Message,
    nics: &'a [Nic],
    facts: &'a FlowFacts<'a>,
}

impl FlowView for View<'_> {
    fn flow(&self) -> u32 {
        self.message.flow
    }

    fn record(&self) -> FlowRecord {
        self.message.record(Time::NEVER, Time::NEVER, self.message.arrived_bytes(), self.facts)
    }

    fn division(&self, now: u64) -> Division {
        self.message.division(now, 0, self.nics)
    }

    fn sample(&self, time: Time) -> FlowSample {
        let message = self.message;
        FlowSample {
            time,
            flow: message.flow,
            window: Bytes::new(message.bytes(message.arrived, message.limit.max(message.arrived))),
            rate: Rate::ZERO,
            rtt: Time::ZERO,
            inflight: Bytes::new(message.bytes(message.arrived, message.next.max(message.arrived))),
            acked: Bytes::new(message.arrived_bytes()),
            samples: 1,
        }
    }

    fn waits_for(&self) -> String {
        self.message.waits_for(self.nics)
    }
}
