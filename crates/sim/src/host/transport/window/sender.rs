//! The sending side of one flow, or of the messages of one connection: its window, pacing and timers.

mod limits;
mod relative;

use incast_cc::{Ack, IntStack, Loss, LossKind, Sent, Signals};
use incast_engine::event::{Effects, Event};
use incast_net::describe::algorithm::{Controllers, Directive};
use incast_net::describe::network::PortId;
use incast_net::describe::transport::{LARGEST_BACKOFF, Pacing};
use incast_net::packet::{self, Data, Kind, Origin, Packet, flag};
use incast_net::record::tally::Counts;
use incast_net::record::{FlowRecord, FlowSample};
use incast_units::{Bytes, Rate, Time};

use super::connection::{Connection, Message};

use crate::balancing;
use crate::balancing::policy::{Entropies, Feedback};
use crate::facts::flows::{FlowFacts, Way};
use crate::facts::stamps::Times;
use crate::host::nic::Nic;
use crate::host::program::Step;
use crate::host::transport::account::Account;
use crate::host::transport::context::Context;
use crate::host::transport::window::history::History;
use crate::rank;
use crate::recovery::{self, AnyRecovery, Cut, Lost, SentPacket, Settings};

/// Reason for which a flow waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Being served by its network card.
    Ready,
    /// The end of its current transmission; afterwards the same as blocked.
    Leaving,
    /// The time of its next packet.
    Paced,
    /// Room in its window, or data to send.
    Blocked,
    /// Nothing: it is done.
    Done,
}

/// A time that is never reached.
const NEVER: u64 = u64::MAX;

/// The sending side of one flow or one connection.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) state: State,
    pub(super) queue: u8,
    backoff: u8,
    pub(super) port: PortId,
    pub(super) algorithm: u16,
    /// Its time, or the time of all messages of its connection.
    pub(super) account: Account,
    /// The flow, or of a connection the first message that is not done.
    pub(super) message: Message,
    /// The rest of its connection, if it has one.
    pub(super) connection: Option<Box<Connection>>,
    destination: u32,
    hash: u32,
    /// Bits of its packets' flags about load balancing.
    policy_flags: u8,
    /// Whether it asks for an acknowledgement with the last packet that its window admits, and with packets that it
    /// sends again.
    asks: bool,
    /// The choice of entropies; `None`: its packets have none.
    entropies: Option<Box<dyn Entropies>>,
    /// Packets since the connection had nothing to send, sent again or not, where draws are of their number.
    since_pause: u64,
    /// With [`Sample::Cumulative`](incast_net::describe::transport::Sample::Cumulative).
    history: Option<Box<History>>,
    /// Index of its congestion control among the controllers of its algorithm.
    pub(super) controller: u32,
    recovery: AnyRecovery,
    /// One past the last position in bytes that it may reach.
    limit: u64,
    window: u64,
    rate: Rate,
    /// Time between two full packets at `rate`. (ps)
    gap: u64,
    /// Time at which the next packet may be sent. (ps)
    pub(super) next_at: u64,
    /// Time from which that is counted: the time between two packets before it. (ps)
    paced_from: u64,
    last_size: u64,
    /// Time at which the last packet was sent. (ps)
    last_sent: u64,
    /// Time of the valid pending [`rank::PACED`].
    paced_at: u64,
    /// Time at which the retransmission timer expires, and time of the valid pending
    /// [`rank::RETRANSMIT`], which is never later.
    retransmit_at: u64,
    retransmit_event: u64,
    /// Deadline of the congestion control, and time of the valid pending [`rank::CONTROL`].
    deadline: u64,
    control_event: u64,
    last_rtt: u64,
    /// Time by which queues delayed the last acknowledgement. (ps)
    late: u64,
    /// Round-trip time of its path at its start, without queues. (ps)
    base_rtt: u64,
}

impl Sender {
    /// A flow that starts on a path with this round-trip time.
    pub(super) fn new<E>(now: u64, index: u32, step: Step, base_rtt: Time, cx: &Context<'_, E>) -> Self {
        let facts = cx.facts;
        let flow = &facts.flows[step.flow as usize];
        let hash = facts.hashes(step.flow).0;
        let (message, cut) = message(now, index, step, 0, facts);
        let connection =
            facts.connection(step.flow).map(|(number, messages)| Connection::new(number, messages, &message));
        let limit = if connection.is_some() { u64::MAX } else { message.limit };
        let transport = &facts.transport;
        let settings = Settings {
            delayed_run: facts.signals(flow.algorithm).contains(Signals::DELAYED_RUN),
            ..recovery::settings(transport, || base_rtt)
        };
        Self {
            state: State::Blocked,
            queue: flow.queue,
            backoff: 0,
            port: cx.nic_for(step.flow, Way::Forth, hash),
            algorithm: flow.algorithm,
            account: Account::new(now),
            message,
            connection,
            destination: facts.address(step.flow, Way::Forth),
            hash,
            policy_flags: Packet::policy_flags(balancing::policy_id(flow.balancing)),
            asks: recovery::keeps(transport.recovery) && !transport.ack_every.is_each(),
            entropies: balancing::start(flow.balancing, &facts.balancing, facts.seed, flow.key),
            since_pause: 0,
            history: History::new(transport),
            controller: 0,
            recovery: AnyRecovery::new(transport.recovery, cut, &settings),
            limit,
            window: 0,
            rate: Rate::ZERO,
            gap: 0,
            next_at: now,
            paced_from: now,
            last_size: 0,
            last_sent: now,
            paced_at: NEVER,
            retransmit_at: NEVER,
            retransmit_event: NEVER,
            deadline: NEVER,
            control_event: NEVER,
            last_rtt: 0,
            late: 0,
            base_rtt: base_rtt.ps(),
        }
    }

    /// Another message of its connection starts. Returns for how long the connection had nothing to send and nothing
    /// in flight, counted from its last packet, if it has ended such a pause. (ps)
    pub(super) fn add<E>(
        &mut self,
        now: u64,
        place: u32,
        index: u32,
        step: Step,
        cx: &Context<'_, E>,
    ) -> Option<u64> {
        let (facts, nic) = (cx.facts, &cx.nics[usize::from(self.port)]);
        let connection = self.connection.as_deref_mut()?;
        if connection.is_closed() {
            self.account.settle(now, || nic.paused_for(self.queue, place, now));
        }
        let last = connection.later().last().unwrap_or(&self.message);
        let (message, cut) = message(now, index, step, last.end, facts);
        self.recovery.extend(cut.packets, cut.last);
        self.message = connection.add(message, self.account.divided())?;
        self.since_pause = 0;
        if let Some(entropies) = self.entropies.as_mut().filter(|_| facts.draws_again) {
            entropies.draw_again();
        }
        Some(now - self.last_sent)
    }

    /// The messages that are not done.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        let connection = self.connection.as_deref();
        let first = connection.is_none_or(|connection| !connection.is_idle).then_some(&self.message);
        first.into_iter().chain(connection.into_iter().flat_map(Connection::later))
    }

    /// Whether the first of its messages is done.
    fn has_ended(&self) -> bool {
        match &self.connection {
            None => self.recovery.is_done(),
            Some(connection) => !connection.is_idle && self.recovery.acknowledged() >= self.message.end,
        }
    }

    /// The first of its messages is done. Returns whether the next one is, too; `None` after the last of all.
    pub(super) fn advance(&mut self) -> Option<bool> {
        let connection = self.connection.as_deref_mut()?;
        if let Some(next) = connection.advance() {
            self.message = next;
        }
        let is_done = connection.is_done();
        (!is_done).then(|| self.has_ended())
    }

    /// Whether it waits for the next message of its connection.
    pub(super) fn is_idle(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.is_idle)
    }

    /// The network card of its packets, by the current routes.
    pub(super) fn nic_for<E>(&self, cx: &Context<'_, E>) -> PortId {
        cx.nic_for(self.message.flow, Way::Forth, self.hash)
    }

    /// Its congestion control has started.
    pub(super) fn begin<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        controller: (u32, Directive),
        facts: &FlowFacts,
        effects: &mut E,
    ) {
        self.controller = controller.0;
        self.apply_directive(now, place, controller.1, facts, effects);
    }

    /// The event at which it stops sending new data, if it has a stop time.
    pub(super) fn stop_event(&self, facts: &FlowFacts) -> Option<Event> {
        let stop = facts.flows[self.message.flow as usize].stop;
        (stop != Time::NEVER).then(|| Event::new(stop.ps(), rank::STOP, self.message.index))
    }

    /// Whether it has something to send and room in its window. One packet may always be in flight.
    #[inline]
    pub(super) fn may_send(&self) -> bool {
        let inflight = self.recovery.inflight();
        (inflight == 0 || inflight < self.window) && self.recovery.next().is_some()
    }

    /// Creates the next packet from the flow's data.
    #[inline]
    pub(super) fn next_packet<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        controllers: &mut dyn Controllers,
        facts: &FlowFacts,
        effects: &mut E,
    ) -> Option<Packet> {
        let number = self.recovery.next()?;
        let sizes = facts.sizes(self.algorithm);
        let is_later = number >= self.message.end;
        let Message { peer, origin, limit, .. } =
            if is_later { *self.later_with(number)? } else { self.message };
        let sequence = number * sizes.payload;
        let payload = sizes.payload.min(limit - sequence);
        let size = sizes.data(payload);
        let mut flags = facts.flags(self.algorithm) | self.policy_flags;
        if sequence + payload == limit {
            flags |= flag::LAST;
        }
        let counted = sizes.counted(payload);
        let inflight = self.recovery.inflight() + counted;
        let sent =
            Sent { now: Time::from_ps(now), bytes: Bytes::new(counted), inflight: Bytes::new(inflight) };
        let narrow = u32::try_from(inflight).unwrap_or(u32::MAX);
        let (directive, tag) = controllers.on_sent(self.controller, &sent);
        let record = SentPacket { sent: now, tag, inflight: narrow };
        if let Some(history) = &mut self.history {
            history.on_sent(number, self.recovery.acknowledged(), record);
        }
        let again = self.recovery.on_sent(record);
        self.account.packet(again);
        let message = if is_later { self.later_with(number)? } else { &mut self.message };
        message.resent += u64::from(again);
        message.packets += 1;
        if let Some(connection) = &mut self.connection {
            connection.on_sent(now, number, again, flags & flag::LAST != 0);
        }
        self.last_sent = now;
        self.paced_from = match facts.transport.pacing {
            Pacing::Restart => now,
            Pacing::Keep => self.next_at.clamp(now.saturating_sub(self.gap), now),
        };
        self.last_size = size;
        self.apply_directive(now, place, directive, facts, effects);
        self.next_at = self.paced_from.saturating_add(self.gap_for(size, facts));
        if self.retransmit_at == NEVER {
            self.restart_retransmit(now, place, facts, effects);
        }
        self.since_pause += 1;
        let data = Data {
            // Draws are of what is here: switches mark and spread by it.
            sequence: if facts.draws_again { self.since_pause } else { sequence },
            sent: now,
            slot: peer,
            inflight: narrow,
            number: number as u32,
            payload: payload as u16,
        };
        let entropy = self.entropies.as_mut().map_or(0, |entropies| entropies.choose(now));
        if self.asks && (again || flags & flag::LAST != 0 || !self.may_send()) {
            flags |= flag::ASKS;
        }
        Some(Packet {
            destination: self.destination,
            hash: self.hash ^ u32::from(entropy),
            size: size as u16,
            queue: self.queue,
            flags,
            body: data.body().from(origin),
            ..Packet::blank(Kind::Data)
        })
    }

    /// An acknowledgement or a NACK has arrived, which says `body`. Returns whether the flow, or the first message, is done.
    #[allow(clippy::too_many_arguments, reason = "a packet and where it comes to")]
    #[inline(always)]
    pub(super) fn acknowledged<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        packet: &Packet,
        mut body: packet::Ack,
        int: &IntStack,
        controllers: &mut dyn Controllers,
        cx: &mut Context<'_, E>,
    ) -> bool {
        let facts = cx.facts;
        self.late = now.saturating_sub(body.sent + body.held).saturating_sub(self.base_rtt);
        if body.held > 0 {
            self.note_held(now, &body, &mut cx.effects.tally().counts);
        }
        if let Some(entropies) = &mut self.entropies {
            let good = body.marked == 0 && packet.kind == Kind::Ack;
            let feedback = if good { Feedback::Good } else { Feedback::Bad };
            entropies.feedback(now, (packet.hash ^ facts.hashes(self.message.flow).1) as u16, feedback);
        }
        let mut acknowledged = self.recovery.on_ack(&body.report(), packet.kind == Kind::Nack);
        if let Some(history) = &self.history {
            history.replace(self.recovery.acknowledged(), &mut body, &mut acknowledged);
        }
        if acknowledged.advanced {
            self.backoff = 0;
            self.restart_retransmit(now, place, facts, cx.effects);
        }
        self.count_marks(body.slot, u64::from(body.marked));
        let mut times = Times { sent: body.sent, received: body.received, held: body.held };
        if let Some(stamps) = &facts.stamps {
            let flow = &facts.flows[self.message.flow as usize];
            times = stamps.measured(now, flow.key, (flow.source, flow.destination), times);
        }
        self.last_rtt = (now - times.sent).saturating_sub(times.held);
        // The congestion control of a connection lives on, and so learns of the last packet of a message too.
        if self.connection.is_none() && self.recovery.is_done() {
            return true;
        }
        let payload = facts.sizes(self.algorithm).payload;
        let position = self.recovery.position() * payload;
        let ack = Ack {
            now: Time::from_ps(now),
            sent: Time::from_ps(times.sent),
            received: Time::from_ps(times.received),
            held: Time::from_ps(times.held),
            acked: Bytes::new(acknowledged.bytes),
            packet: acknowledged.packet * payload,
            sequence: self.recovery.acknowledged() * payload,
            next_sequence: position.min(self.limit),
            inflight: Bytes::new(acknowledged.inflight),
            inflight_now: Bytes::new(self.recovery.inflight()),
            packets: u32::from(body.packets),
            marked: u32::from(body.marked),
            hop_delay: packet.hop_delay(),
            receiver_flows: u32::from(body.flows),
            tag: acknowledged.record.map_or(0, |r| r.tag),
            delayed_run: self.recovery.delayed_run(),
            circuit: packet.is(flag::CIRCUIT_ECHO),
            hole: packet.kind == Kind::Nack || body.offset > 0 || body.bitmap != 0,
        };
        let mut directive = controllers.on_ack(self.controller, &ack, int);
        if acknowledged.hole {
            let lost = self.recovery.on_hole();
            directive = self.lost(now, LossKind::Hole, lost, position, controllers, facts);
        }
        self.apply_directive(now, place, directive, facts, cx.effects);
        self.connection.is_some() && self.has_ended()
    }

    /// An acknowledgement that the receiver has held arrives: counts what it covers if nothing else could be sent, for
    /// longer than the rest of the round trip took.
    #[cold]
    #[inline(never)]
    fn note_held(&self, now: u64, ack: &packet::Ack, counts: &mut Counts) {
        let is_full = !self.may_send() && self.recovery.next().is_some();
        let travelled = now.saturating_sub(ack.sent).saturating_sub(ack.held);
        if is_full && ack.held > travelled {
            counts.held_up += u64::from(ack.packets);
        }
    }

    /// The message behind the first one that packet `number` is of.
    #[cold]
    #[inline(never)]
    fn later_with(&mut self, number: u64) -> Option<&mut Message> {
        self.connection.as_mut()?.with_packet(number)
    }

    /// These many packets of the flow with this index were marked.
    #[inline]
    fn count_marks(&mut self, index: u32, marked: u64) {
        if index == self.message.index {
            self.message.marked += marked;
        } else if let Some(message) = self.connection.as_mut().and_then(|others| others.with_index(index)) {
            message.marked += marked;
        }
    }

    /// The header of packet `number` (modulo 2^32) without payload is reported, of the copy that was sent at
    /// `sent` (ps) with this entropy.
    pub(super) fn trimmed<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        (number, sent, entropy): (u32, u64, u16),
        controllers: &mut dyn Controllers,
        facts: &FlowFacts,
        effects: &mut E,
    ) {
        if let Some(entropies) = &mut self.entropies {
            entropies.feedback(now, entropy, Feedback::Bad);
        }
        let Some(lost) = self.recovery.on_trim(number, sent) else { return };
        let position = self.recovery.position() * facts.sizes(self.algorithm).payload;
        let directive = self.lost(now, LossKind::Trim, lost, position, controllers, facts);
        self.apply_directive(now, place, directive, facts, effects);
    }

    /// Returns the arguments of [`trimmed`](Self::trimmed) for a NACK with a bitmap, or for a header that was
    /// returned.
    pub(super) fn trim_of(&self, now: u64, packet: &Packet, facts: &FlowFacts) -> (u32, u64, u16) {
        let (data, back) = facts.hashes(self.message.flow);
        if packet.kind == Kind::Returned {
            let of = Data::of(&packet.body);
            return (of.number, of.sent, (packet.hash ^ data) as u16);
        }
        let ack = packet.ack(now);
        let number = ack.expected.wrapping_add_signed(i32::from(ack.offset));
        (number, ack.sent, (packet.hash ^ back) as u16)
    }

    /// The receiver reports congestion.
    pub(super) fn congestion_notified<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        controllers: &mut dyn Controllers,
        facts: &FlowFacts,
        effects: &mut E,
    ) {
        let directive = controllers.on_cnp(self.controller, Time::from_ps(now));
        self.apply_directive(now, place, directive, facts, effects);
    }

    /// Handles the event of the retransmission timer. Returns whether anything must be retransmitted.
    pub(super) fn retransmit_timer<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        controllers: &mut dyn Controllers,
        facts: &FlowFacts,
        effects: &mut E,
    ) -> bool {
        if self.retransmit_event != now || self.state == State::Done {
            return false;
        }
        self.retransmit_event = NEVER;
        if self.retransmit_at > now {
            self.arm_retransmit(place, effects);
            return false;
        }
        self.retransmit_at = NEVER;
        if self.recovery.inflight() == 0 {
            return false;
        }
        // It was set so long ago, before the back-off grows.
        self.account.expired(now, now - (facts.transport.rto.ps() << self.backoff));
        self.message.timeouts += 1;
        if let Some(entropies) = &mut self.entropies {
            entropies.timeout(now);
        }
        self.backoff = (self.backoff + 1).min(LARGEST_BACKOFF);
        let position = self.recovery.position() * facts.sizes(self.algorithm).payload;
        let lost = self.recovery.on_timeout();
        let directive = self.lost(now, LossKind::Timeout, lost, position, controllers, facts);
        self.apply_directive(now, place, directive, facts, effects);
        true
    }

    /// Handles the timer event of the congestion control. Returns whether it did anything.
    pub(super) fn control_timer<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        controllers: &mut dyn Controllers,
        facts: &FlowFacts,
        effects: &mut E,
    ) -> bool {
        if self.control_event != now || self.state == State::Done {
            return false;
        }
        self.control_event = NEVER;
        let due = self.deadline <= now;
        if due {
            let directive = controllers.on_timer(self.controller, Time::from_ps(now));
            self.apply_directive(now, place, directive, facts, effects);
        } else {
            self.arm_control(now, place, effects);
        }
        due
    }

    /// Schedules the congestion control's next timer if it is earlier than the pending one. A deadline that
    /// has passed is scheduled for the next instant, so that no algorithm can stop the simulated time from
    /// advancing.
    #[inline]
    fn arm_control<E: Effects>(&mut self, now: u64, place: u32, effects: &mut E) {
        let deadline = self.deadline.max(now.saturating_add(1));
        if deadline < self.control_event {
            self.control_event = deadline;
            effects.schedule(Event::new(deadline, rank::CONTROL, place));
        }
    }

    /// Its turn at its card has come for nothing.
    #[cold]
    #[inline(never)]
    pub(super) fn miss_turn<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        nic: &Nic,
        facts: &FlowFacts,
        effects: &mut E,
    ) {
        self.turn(now, false, place, nic);
        if self.may_send() {
            // Its rate has fallen since it became ready.
            self.pace(now, place, facts, effects);
        } else {
            self.state = State::Blocked;
        }
    }

    /// Waits for the time of the next packet.
    pub(super) fn pace<E: Effects>(&mut self, now: u64, place: u32, facts: &FlowFacts, effects: &mut E) {
        self.state = State::Paced;
        if self.next_at < self.paced_at {
            self.paced_at = self.next_at;
            effects.schedule(Event::new(self.next_at, rank::PACED, place));
            if self.next_at - now > facts.long_wait && self.backoff == 0 {
                // It waits for its own clock, and not for a loss to be repaired: nothing has stalled before that.
                let counts = &mut effects.tally().counts;
                counts.progress = counts.progress.max(self.next_at);
            }
        }
    }

    /// Handles a pacing event. Returns whether the flow waited for it.
    pub(super) fn paced_until(&mut self, now: u64) -> bool {
        if self.paced_at != now {
            return false;
        }
        self.paced_at = NEVER;
        self.state == State::Paced
    }

    /// Gives up its turn and its next time, as it has nothing to send.
    pub(super) fn pause<E>(&mut self, place: u32, cx: &mut Context<'_, E>) {
        if self.state == State::Ready {
            // Its place may be taken by another flow before its turn comes.
            cx.nics[usize::from(self.port)].remove(self.queue, place);
        }
        if matches!(self.state, State::Ready | State::Paced) {
            self.state = State::Blocked;
        }
    }

    /// Stops sending new data. Returns whether the flow is done with that.
    pub(super) fn stop_offering(&mut self) -> bool {
        self.recovery.stop();
        self.state != State::Done && self.recovery.is_done()
    }

    /// The record of a message at its end, or so far.
    pub(super) fn record(
        &self,
        message: &Message,
        finish: Time,
        delivered: Time,
        facts: &FlowFacts,
    ) -> FlowRecord {
        let (start, bytes) = (Time::from_ps(message.start), self.acknowledged_of(message, facts));
        FlowRecord {
            delivered,
            packets: message.packets,
            resent: message.resent,
            marked: message.marked,
            timeouts: message.timeouts,
            ..facts.record(message.flow, start, finish, bytes)
        }
    }

    /// A sample of a message. Bytes in flight of its connection count for the first message that is not done.
    pub(super) fn sample(&self, message: &Message, time: Time, facts: &FlowFacts) -> FlowSample {
        let inflight = if self.is_first(message) { self.recovery.inflight() } else { 0 };
        FlowSample {
            time,
            flow: message.flow,
            window: Bytes::new(self.window),
            rate: self.rate,
            rtt: Time::from_ps(self.last_rtt),
            inflight: Bytes::new(inflight),
            acked: Bytes::new(self.acknowledged_of(message, facts)),
            samples: 1,
        }
    }

    /// Whether no other message that is not done has started before.
    fn is_first(&self, message: &Message) -> bool {
        message.index == self.message.index
    }

    /// Describes the event for which a message waits.
    pub(super) fn waits_for(&self, message: &Message, paused: bool, facts: &FlowFacts) -> String {
        let acknowledged = Bytes::new(self.acknowledged_of(message, facts));
        let sent = format!("{acknowledged} acknowledged, {} in flight", Bytes::new(self.recovery.inflight()));
        let reason = match self.state {
            _ if !self.is_first(message) => "the end of messages before it of its connection",
            State::Ready | State::Paced if paused => "its host's link is paused",
            State::Ready => "its turn on its host's link",
            State::Paced => "the time of its next packet at its rate",
            State::Blocked | State::Leaving if self.recovery.next().is_none() => {
                "acknowledgements of its last packets"
            }
            State::Blocked | State::Leaving => "room in its window",
            State::Done => "nothing",
        };
        format!("waits for {reason} ({sent}, {} timeouts)", message.timeouts)
    }

    /// Payload of a message that is acknowledged.
    fn acknowledged_of(&self, message: &Message, facts: &FlowFacts) -> u64 {
        let payload = facts.sizes(self.algorithm).payload;
        message.acknowledged(self.recovery.acknowledged().saturating_mul(payload))
    }

    /// Position in bytes up to which everything is acknowledged.
    fn acknowledged_bytes(&self, facts: &FlowFacts) -> u64 {
        let payload = facts.sizes(self.algorithm).payload;
        self.recovery.acknowledged().saturating_mul(payload).min(self.limit)
    }

    fn gap_for(&self, size: u64, facts: &FlowFacts) -> u64 {
        let sizes = facts.sizes(self.algorithm);
        if size == sizes.data(sizes.payload) { self.gap } else { self.rate.time_for(Bytes::new(size)).ps() }
    }

    /// Applies the allowance of its congestion control.
    #[inline]
    fn apply_directive<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        directive: Directive,
        facts: &FlowFacts,
        effects: &mut E,
    ) {
        self.window = directive.window;
        if directive.rate != self.rate {
            let sizes = facts.sizes(self.algorithm);
            self.rate = directive.rate;
            self.gap = self.rate.time_for(Bytes::new(sizes.data(sizes.payload))).ps();
            if self.last_size > 0 {
                self.next_at = self.paced_from.saturating_add(self.gap_for(self.last_size, facts));
            }
        }
        self.deadline = directive.deadline.ps();
        if self.deadline != NEVER {
            self.arm_control(now, place, effects);
        }
    }

    /// Reports a loss to the congestion control; `position` is how far the flow had sent before.
    fn lost(
        &self,
        now: u64,
        kind: LossKind,
        lost: Lost,
        position: u64,
        controllers: &mut dyn Controllers,
        facts: &FlowFacts,
    ) -> Directive {
        let loss = Loss {
            now: Time::from_ps(now),
            kind,
            bytes: Bytes::new(lost.bytes),
            sent: Time::from_ps(lost.sent),
            sequence: self.acknowledged_bytes(facts),
            next_sequence: position.min(self.limit),
        };
        controllers.on_loss(self.controller, &loss)
    }

    fn restart_retransmit<E: Effects>(&mut self, now: u64, place: u32, facts: &FlowFacts, effects: &mut E) {
        if self.recovery.inflight() == 0 {
            self.retransmit_at = NEVER;
            return;
        }
        let timeout = facts.transport.rto.ps() << self.backoff;
        self.retransmit_at = now.saturating_add(timeout);
        self.arm_retransmit(place, effects);
    }

    /// Ensures that an event is pending no later than the expiry of the timer. One that comes too early is
    /// scheduled again; one that is superseded by an earlier one is ignored.
    fn arm_retransmit<E: Effects>(&mut self, place: u32, effects: &mut E) {
        if self.retransmit_at < self.retransmit_event {
            self.retransmit_event = self.retransmit_at;
            effects.schedule(Event::new(self.retransmit_at, rank::RETRANSMIT, place));
        }
    }
}

/// A flow that starts, whose first packet has the number `first`, and its packets.
fn message(now: u64, index: u32, step: Step, first: u64, facts: &FlowFacts) -> (Message, Cut) {
    let flow = &facts.flows[step.flow as usize];
    let sizes = facts.sizes(flow.algorithm);
    let size = flow.size.get();
    let packets = facts.packets(step.flow);
    let full = sizes.counted(sizes.payload);
    let last = match size % sizes.payload {
        _ if packets == u64::MAX => full,
        0 => full,
        rest => sizes.counted(rest),
    };
    let begin = first * sizes.payload;
    let message = Message {
        flow: step.flow,
        index,
        peer: step.peer,
        origin: Origin::new(facts.address(step.flow, Way::Back), index),
        end: first.saturating_add(packets),
        begin,
        limit: begin.saturating_add(size),
        start: now,
        packets: 0,
        resent: 0,
        marked: 0,
        timeouts: 0,
    };
    (message, Cut::new(packets, full, last))
}
