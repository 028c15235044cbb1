//! The sending side of one flow, or of the messages of one connection: its window, pacing and timers.

mod limits;
mod packets;
mod relative;

use incast_cc::{Ack, IntStack, Loss, LossKind, Signals};
use incast_engine::event::{Effects, Event};
use incast_net::describe::algorithm::{Controllers, Directive};
use incast_net::describe::network::PortId;
use incast_net::describe::transport::LARGEST_BACKOFF;
use incast_net::packet::{self, Data, Kind, Packet, flag};
use incast_net::record::tally::Counts;
use incast_net::record::{FlowRecord, FlowSample};
use incast_units::{Bytes, Rate, Time};

use super::connection::{Connection, Message};
use packets::{body, message};

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
use crate::recovery::{self, AnyRecovery, Lost, Settings};

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
    /// A full packet of its message, without what is its own; with the bits of its flags about load balancing.
    pub(super) template: Packet,
    /// Of a full packet: its payload, its size on the wire, and its bytes that count against the window.
    payload: u64,
    size: u64,
    counted: u64,
    /// Whether its packets need nothing that few flows have: see [`Self::finish_packet`].
    is_plain: bool,
    /// Whether its congestion control hears of packets that are sent.
    tells_sent: bool,
    /// Whether its acknowledgements need nothing that few flows have: a connection, entropies, a history, or clocks that
    /// differ.
    pub(super) is_answered_plainly: bool,
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
    /// Whether it asks for an acknowledgement with the last packet that its window admits, and with packets that it
    /// sends again.
    asks: bool,
    /// The choice of entropies; `None`: its packets have none.
    entropies: Option<Box<dyn Entropies>>,
    /// Packets since the connection had nothing to send, sent again or not, while draws are of their number.
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
    /// A flow that starts on a path with this round-trip time, and whose congestion control hears of packets that are sent
    /// if it `tells_sent`.
    pub(super) fn new<E>(
        now: u64,
        index: u32,
        step: Step,
        base_rtt: Time,
        tells_sent: bool,
        cx: &Context<'_, E>,
    ) -> Self {
        let facts = cx.facts;
        let flow = &facts.flows[step.flow as usize];
        let hash = facts.hashes(step.flow).0;
        let (message, cut) = message(now, index, step, 0, facts);
        let connection =
            facts.connection(step.flow).map(|(number, messages)| Connection::new(number, messages, &message));
        let limit = if connection.is_some() { u64::MAX } else { message.limit };
        let transport = &facts.transport;
        let (sizes, entropies) = (
            facts.sizes(flow.algorithm),
            balancing::start(flow.balancing, &facts.balancing, facts.seed, flow.key),
        );
        let asks = recovery::keeps(transport.recovery) && !transport.ack_every.is_each();
        let history = History::new(transport);
        let is_special = connection.is_some() || entropies.is_some() || history.is_some();
        let size = sizes.data(sizes.payload);
        let template = Packet {
            destination: facts.address(step.flow, Way::Forth),
            hash,
            size: size as u16,
            queue: flow.queue,
            flags: facts.flags(flow.algorithm) | Packet::policy_flags(balancing::policy_id(flow.balancing)),
            body: body(&message, sizes.payload),
            ..Packet::blank(Kind::Data)
        };
        let settings = Settings {
            delayed_run: facts.signals(flow.algorithm).contains(Signals::DELAYED_RUN),
            // A record gives a tag, which only such a congestion control writes, or replaces a sample.
            records: tells_sent || history.is_some(),
            ..recovery::settings(transport, || base_rtt)
        };
        Self {
            template,
            payload: sizes.payload,
            size,
            counted: sizes.counted(sizes.payload),
            is_plain: !is_special && !asks && !facts.draws_again,
            tells_sent,
            is_answered_plainly: !is_special && facts.stamps.is_none(),
            state: State::Blocked,
            queue: flow.queue,
            backoff: 0,
            port: cx.nic_for(step.flow, Way::Forth, || hash),
            algorithm: flow.algorithm,
            account: Account::new(now),
            message,
            connection,
            asks,
            entropies,
            since_pause: 0,
            history,
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
        let (facts, nic) = (cx.facts, &cx.home.nics[usize::from(self.port)]);
        let connection = self.connection.as_deref_mut()?;
        if connection.is_closed() {
            self.account.settle(now, || nic.paused_for(self.queue, place, now));
        }
        let last = connection.later().last().unwrap_or(&self.message);
        let (message, cut) = message(now, index, step, last.end, facts);
        self.recovery.extend(cut.packets, cut.last);
        let message = connection.add(message, self.account.divided())?;
        self.take_message(message);
        self.since_pause = 0;
        if let Some(entropies) = self.entropies.as_mut().filter(|_| facts.draws_again) {
            entropies.draw_again();
        }
        Some(now - self.last_sent)
    }

    /// From now on this is its first message that is not done.
    fn take_message(&mut self, message: Message) {
        self.template.body = body(&message, self.payload);
        self.message = message;
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
        let (next, is_done) = (connection.advance(), connection.is_done());
        if let Some(next) = next {
            self.take_message(next);
        }
        (!is_done).then(|| self.has_ended())
    }

    /// Whether it waits for the next message of its connection.
    pub(super) fn is_idle(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.is_idle)
    }

    /// The network card of its packets, by the current routes.
    pub(super) fn nic_for<E>(&self, cx: &Context<'_, E>) -> PortId {
        cx.nic_for(self.message.flow, Way::Forth, || self.template.hash)
    }

    /// Its congestion control has started.
    pub(super) fn begin<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        controller: (u32, Directive),
        effects: &mut E,
    ) {
        self.controller = controller.0;
        self.apply_directive(now, place, controller.1, effects);
    }

    /// The event at which it stops sending new data, if it has a stop time.
    pub(super) fn stop_event(&self, facts: &FlowFacts) -> Option<Event> {
        let stop = facts.flows[self.message.flow as usize].stop;
        (stop != Time::NEVER).then(|| Event::new(stop.ps(), rank::STOP, self.message.index))
    }

    /// Whether its window has room. One packet may always be in flight.
    #[inline(always)]
    fn has_room(&self) -> bool {
        let inflight = self.recovery.inflight();
        inflight == 0 || inflight < self.window
    }

    /// The number of the packet that it may send: it has one to send and room in its window.
    #[inline(always)]
    pub(super) fn sendable(&self) -> Option<u64> {
        if self.has_room() { self.recovery.next() } else { None }
    }

    /// Whether it may send a packet.
    #[inline(always)]
    pub(super) fn may_send(&self) -> bool {
        self.sendable().is_some()
    }

    /// Whether it has a packet to send, and room for it.
    #[inline(always)]
    pub(super) fn prospect(&self) -> Prospect {
        Prospect { has_next: self.recovery.next().is_some(), has_room: self.has_room() }
    }

    /// An acknowledgement or a NACK has arrived, which says `body`. Returns whether it may send now; `None` when the flow, or
    /// the first message, is done. `PLAIN` says that the sender [is answered plainly](Self::is_answered_plainly).
    #[allow(clippy::too_many_arguments, reason = "a packet and where it comes to")]
    #[inline(always)]
    pub(super) fn acknowledged<const PLAIN: bool, E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        packet: &Packet,
        mut body: packet::Ack,
        int: &IntStack,
        controllers: &mut dyn Controllers,
        cx: &mut Context<'_, E>,
    ) -> Option<Prospect> {
        let facts = cx.facts;
        self.late = now.saturating_sub(body.sent + body.held).saturating_sub(self.base_rtt);
        if body.held > 0 {
            self.note_held(now, body.sent, body.held, body.packets, &mut cx.effects.tally().counts);
        }
        let is_nack = packet.kind == Kind::Nack;
        if !PLAIN && let Some(entropies) = &mut self.entropies {
            let feedback = if body.marked == 0 && !is_nack { Feedback::Good } else { Feedback::Bad };
            entropies.feedback(now, (packet.hash ^ facts.hashes(self.message.flow).1) as u16, feedback);
        }
        let (mut acknowledged, after) = self.recovery.on_ack(&body.report(), is_nack);
        if !PLAIN && let Some(history) = &self.history {
            // Of copies the address may be taken: the others stay in registers.
            let (mut of, mut sample) = (body, acknowledged);
            history.replace(after.acknowledged, &mut of, &mut sample);
            (body.sent, acknowledged) = (of.sent, sample);
        }
        if acknowledged.advanced {
            self.backoff = 0;
            self.restart_retransmit(now, place, after.inflight, facts, cx.effects);
        }
        if body.marked > 0 {
            self.count_marks(body.slot, u64::from(body.marked));
        }
        let (mut sent, mut received, mut held) = (body.sent, body.received, body.held);
        if !PLAIN && let Some(stamps) = &facts.stamps {
            let flow = &facts.flows[self.message.flow as usize];
            let exact = Times { sent, received, held };
            let measured = stamps.measured(now, flow.key, (flow.source, flow.destination), exact);
            (sent, received, held) = (measured.sent, measured.received, measured.held);
        }
        self.last_rtt = (now - sent).saturating_sub(held);
        // The congestion control of a connection lives on, and so learns of the last packet of a message too.
        let is_message = !PLAIN && self.connection.is_some();
        if after.is_done && !is_message {
            return None;
        }
        let payload = self.payload;
        let position = after.position * payload;
        let ack = Ack {
            now: Time::from_ps(now),
            sent: Time::from_ps(sent),
            received: Time::from_ps(received),
            held: Time::from_ps(held),
            acked: Bytes::new(acknowledged.bytes),
            packet: acknowledged.packet * payload,
            sequence: after.acknowledged * payload,
            next_sequence: position.min(self.limit),
            inflight: Bytes::new(acknowledged.inflight),
            inflight_now: Bytes::new(after.inflight),
            packets: u32::from(body.packets),
            marked: u32::from(body.marked),
            hop_delay: packet.hop_delay(),
            receiver_flows: u32::from(body.flows),
            tag: acknowledged.record.map_or(0, |r| r.tag),
            delayed_run: after.delayed_run,
            circuit: packet.is(flag::CIRCUIT_ECHO),
            hole: is_nack || body.offset > 0 || body.bitmap != 0,
        };
        let directive = controllers.on_ack(self.controller, &ack, int);
        if acknowledged.hole {
            return self.lose_hole(now, place, position, controllers, cx);
        }
        self.apply_directive(now, place, directive, cx.effects);
        if is_message && self.has_ended() {
            return None;
        }
        Some(Prospect {
            has_next: after.has_next,
            has_room: after.inflight == 0 || after.inflight < self.window,
        })
    }

    /// The acknowledgement that is handled shows that packets are lost. `position` and the result are as in
    /// [`Self::acknowledged`].
    #[inline(never)]
    fn lose_hole<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        position: u64,
        controllers: &mut dyn Controllers,
        cx: &mut Context<'_, E>,
    ) -> Option<Prospect> {
        let lost = self.recovery.on_hole();
        let directive = self.lost(now, LossKind::Hole, lost, position, controllers, cx.facts);
        self.apply_directive(now, place, directive, cx.effects);
        if self.connection.is_some() && self.has_ended() { None } else { Some(self.prospect()) }
    }

    /// An acknowledgement that the receiver has held arrives: counts what it covers if nothing else could be sent, for
    /// longer than the rest of the round trip took.
    #[cold]
    #[inline(never)]
    fn note_held(&self, now: u64, sent: u64, held: u64, packets: u8, counts: &mut Counts) {
        let is_full = !self.may_send() && self.recovery.next().is_some();
        let travelled = now.saturating_sub(sent).saturating_sub(held);
        if is_full && held > travelled {
            counts.held_up += u64::from(packets);
        }
    }

    /// The message behind the first one that packet `number` is of.
    #[inline(never)]
    fn later_with(&mut self, number: u64) -> Option<&mut Message> {
        self.connection.as_mut()?.with_packet(number)
    }

    /// These many packets of the flow with this index were marked.
    #[inline(never)]
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
        self.apply_directive(now, place, directive, effects);
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
        effects: &mut E,
    ) {
        let directive = controllers.on_cnp(self.controller, Time::from_ps(now));
        self.apply_directive(now, place, directive, effects);
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
        self.apply_directive(now, place, directive, effects);
        true
    }

    /// Handles the timer event of the congestion control. Returns whether it did anything.
    pub(super) fn control_timer<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        controllers: &mut dyn Controllers,
        effects: &mut E,
    ) -> bool {
        if self.control_event != now || self.state == State::Done {
            return false;
        }
        self.control_event = NEVER;
        let due = self.deadline <= now;
        if due {
            let directive = controllers.on_timer(self.controller, Time::from_ps(now));
            self.apply_directive(now, place, directive, effects);
        } else {
            self.arm_control(now, place, effects);
        }
        due
    }

    /// Schedules the congestion control's next timer if it is earlier than the pending one. A deadline that
    /// has passed is scheduled for the next instant, so that no algorithm can stop the simulated time from
    /// advancing.
    #[inline(never)]
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
            cx.home.nics[usize::from(self.port)].remove(self.queue, place);
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

    fn gap_for(&self, size: u64) -> u64 {
        if size == self.size { self.gap } else { self.rate.time_for(Bytes::new(size)).ps() }
    }

    /// It may send at another rate.
    #[inline(never)]
    fn change_rate(&mut self, rate: Rate) {
        self.rate = rate;
        self.gap = rate.time_for(Bytes::new(self.size)).ps();
        if self.last_size > 0 {
            self.next_at = self.paced_from.saturating_add(self.gap_for(self.last_size));
        }
    }

    /// Applies the allowance of its congestion control.
    #[inline(always)]
    fn apply_directive<E: Effects>(&mut self, now: u64, place: u32, directive: Directive, effects: &mut E) {
        self.window = directive.window;
        if directive.rate != self.rate {
            self.change_rate(directive.rate);
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

    /// Restarts the retransmission timer if this many bytes are in flight, more than none.
    #[inline(always)]
    fn restart_retransmit<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        inflight: u64,
        facts: &FlowFacts,
        effects: &mut E,
    ) {
        if inflight == 0 {
            self.retransmit_at = NEVER;
            return;
        }
        let timeout = facts.transport.rto.ps() << self.backoff;
        self.retransmit_at = now.saturating_add(timeout);
        self.arm_retransmit(place, effects);
    }

    /// Ensures that an event is pending no later than the expiry of the timer. One that comes too early is
    /// scheduled again; one that is superseded by an earlier one is ignored.
    #[inline(always)]
    fn arm_retransmit<E: Effects>(&mut self, place: u32, effects: &mut E) {
        if self.retransmit_at < self.retransmit_event {
            self.schedule_retransmit(place, effects);
        }
    }

    #[inline(never)]
    fn schedule_retransmit<E: Effects>(&mut self, place: u32, effects: &mut E) {
        self.retransmit_event = self.retransmit_at;
        effects.schedule(Event::new(self.retransmit_at, rank::RETRANSMIT, place));
    }
}

/// Whether a sender has a packet to send, and room for it in its window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prospect {
    pub(super) has_next: bool,
    pub(super) has_room: bool,
}

impl Prospect {
    /// Whether it may send the packet.
    #[inline(always)]
    pub(super) const fn may_send(self) -> bool {
        self.has_next && self.has_room
    }
}
