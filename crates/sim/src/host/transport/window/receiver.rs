//! The receiving side of the flows to one host: in-order delivery, acknowledgements, NACKs and CNPs.

mod answers;
mod order;

use std::collections::BTreeMap;

use incast_cc::receiver::{Arrival, OpenFlows, Receiver as Rules, ReceiverRules};
use incast_cc::relative::{Origin, Relate};
use incast_engine::event::{Effects, Event};
use incast_net::packet::{Ack, Data, IntRecords, Kind, NO_INT, Packet, flag};
use incast_units::Time;

use answers::{
    acknowledgement, arrival, bitmap_flag, blank_reply, echo_of, reply_of, reply_to, send_answer,
    send_notification, spread_reply,
};
use order::Order;

use crate::facts::flows::FlowFacts;
use crate::host::transport::context::Context;
use crate::host::transport::incoming::{Incoming, NOWHERE};
use crate::host::transport::reply::{send_back, without_entropy};
use crate::host::transport::spare::push_sparely;
use crate::rank;
use crate::recovery::{Verdict, keeps};
use crate::relative::State as Relative;

/// The flows to one host.
#[derive(Debug)]
pub(super) struct Receivers {
    rules: ReceiverRules,
    incoming: Vec<Incoming>,
    /// State of the flows that have begun to arrive and have not yet arrived completely.
    states: Vec<State>,
    free: Vec<u32>,
    /// Position of the state of each connection that has begun to arrive and has messages left, by its number.
    connections: BTreeMap<u32, u32>,
    /// Number of packets of each connection that has none left.
    ended: BTreeMap<u32, u64>,
    open: OpenFlows,
}

/// A time that is never reached.
const NEVER: u64 = u64::MAX;

/// The messages of a connection.
#[derive(Debug)]
struct Messages {
    /// Those whose last packets have arrived before others: one past that packet, and the index of the message.
    ends: BTreeMap<u64, u32>,
    /// Number of those that have not arrived completely.
    left: u32,
    /// Indices of messages that have begun to arrive.
    begun: Vec<u32>,
}

/// The receiving side of one flow while it arrives, or of one connection.
#[derive(Debug)]
struct State {
    order: Order,
    /// Of a connection.
    messages: Option<Box<Messages>>,
    control: Rules,
    /// Whether it counts among the open flows.
    open: bool,
    /// Whether a packet has arrived.
    begun: bool,
    /// Whether a packet has arrived whose sender waits for an acknowledgement, while earlier ones are missing.
    asked: bool,
    /// The packets that it sends back, without what is their own: acknowledgements, with the hash of all replies.
    reply: Packet,
    /// Whether its packets are spread: then replies have hashes and flags of their own.
    spreads: bool,
    /// The hash of its packets without their entropy, if they have one.
    forth: Option<u32>,
    /// Whether each packet has an acknowledgement at once, and marks are reported by nothing else. Never of a connection.
    is_plain: bool,
    /// Longest time for which an acknowledgement is held, where that is not the host's; else zero.
    ack_delay: Time,
    /// Time of the pending event at which a held acknowledgement may be due. (ps)
    due: u64,
    /// The last acknowledgement that was held; it is held as long as `control` says so.
    held: Option<Box<Held>>,
}

impl State {
    fn new(order: Order, messages: Option<Box<Messages>>, reply: Packet, spreads: bool) -> Self {
        let control = Rules::NEW;
        Self {
            order,
            messages,
            control,
            open: true,
            begun: false,
            asked: false,
            reply,
            spreads,
            forth: None,
            is_plain: false,
            ack_delay: Time::ZERO,
            due: NEVER,
            held: None,
        }
    }

    /// Passes on what counts of a connection all of whose messages so far have arrived.
    fn relate(&self, state: &mut Relative) {
        let Self {
            order,
            messages,
            control,
            open,
            begun,
            asked,
            reply,
            // They follow from the flow.
            spreads: _,
            forth: _,
            is_plain: _,
            ack_delay,
            due,
            // What `control` says is held.
            held: _,
        } = self;
        let now = state.now;
        let see = &mut |field, word: Option<u64>| match word {
            Some(word) => state.word(field, word),
            None => state.unless(true, field),
        };
        match order {
            Order::InOrder(order) => order.relate(now, see),
            Order::Any(order) => order.relate(see),
        }
        let ends = messages.as_ref().map_or(0, |messages| messages.ends.len());
        state.word("messages that have not arrived", ends as u64);
        state.until_over(control.is_holding(), "an acknowledgement that is held");
        // Its event is of the message for which it was set, and arms the next one for that: of two acknowledgements that
        // are due at one instant it decides which is first.
        state.until_over(*due != NEVER, "a timer of acknowledgements that has not expired");
        let origin = Origin { now: Time::from_ps(now), position: 0 };
        control.relate(&origin, state);
        state.word("open", *open);
        state.word("begun", *begun);
        state.word("asked", *asked);
        state.word("hash of replies", reply.hash);
        state.word("ack delay", ack_delay.ps());
    }

    /// Holds this acknowledgement, after the ones that are held: it says all that they say.
    fn hold<E: Effects>(&mut self, slot: u32, acknowledgement: &Held, effects: &mut E) {
        if let Some(held) = &mut self.held {
            **held = *acknowledgement;
        } else {
            self.held = Some(Box::new(*acknowledgement));
        }
        self.arm(slot, effects);
    }

    /// Ensures that an event is pending no later than the held acknowledgement is due.
    #[inline]
    fn arm<E: Effects>(&mut self, slot: u32, effects: &mut E) {
        let due = self.control.deadline().ps();
        if due < self.due {
            self.due = due;
            effects.schedule(Event::new(due, rank::RECEIVER, slot));
        }
    }

    /// Whether the acknowledgement of a packet with this verdict may not be held, besides marks: `asks` says that its
    /// sender waits for it, or that it completes its flow.
    #[inline(always)]
    fn is_urgent(&mut self, verdict: Verdict, asks: bool) -> bool {
        let closed = match self.order {
            Order::InOrder(_) => return asks || verdict != Verdict::Next,
            Order::Any(ref order) => !order.has_kept(),
        };
        let first = !std::mem::replace(&mut self.begun, true);
        let asked = self.asked;
        self.asked = !closed && (asked || asks);
        match verdict {
            Verdict::Next | Verdict::Kept => asks || first,
            Verdict::Fills => asks || closed && asked,
            Verdict::Duplicate | Verdict::Early { .. } => true,
        }
    }
}

/// An acknowledgement that waits for more packets.
#[derive(Clone, Copy, Debug)]
struct Held {
    packet: Packet,
    ack: Ack,
    /// Telemetry of the packet that causes it.
    int: IntRecords,
}

impl State {
    /// Packet `number` of the message `slot` has arrived, `is_last` if it is the last one of its message; the next packet expected is
    /// `expected`. Returns whether messages have arrived completely.
    #[inline(never)]
    fn take_message(
        &mut self,
        verdict: Verdict,
        is_last: bool,
        (number, slot): (u32, u32),
        expected: u64,
        open: &mut OpenFlows,
    ) -> bool {
        let Some(messages) = &mut self.messages else { return false };
        if !matches!(verdict, Verdict::Next | Verdict::Fills | Verdict::Kept) {
            return false;
        }
        if is_last {
            // Numbers travel modulo 2^32.
            let ahead = number.wrapping_sub(expected as u32) as i32;
            messages.ends.insert(expected.wrapping_add_signed(i64::from(ahead)) + 1, slot);
        }
        if !std::mem::replace(&mut self.open, true) {
            open.open();
        }
        messages.ends.first_key_value().is_some_and(|(end, _)| *end <= expected)
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
        let Some(Messages { ends, left, .. }) = self.messages.as_deref_mut() else { return };
        while let Some(message) = ends.first_entry().filter(|message| *message.key() <= expected) {
            *left = left.saturating_sub(1);
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
                ack_on_mark: transport.ack_on_mark,
                ack_delay: transport.ack_delay.unwrap_or_default(),
                cnp_interval: transport.cnp_interval,
            },
            incoming: Vec::new(),
            states: Vec::new(),
            free: Vec::new(),
            connections: BTreeMap::new(),
            ended: BTreeMap::new(),
            open: OpenFlows::default(),
        }
    }

    /// Passes on what counts of them while every flow that has started is done. Flows that are done are met again by no
    /// packet, and those to come are a matter of the workload.
    pub(super) fn relate(&self, state: &mut Relative) {
        let Self { rules: _, incoming: _, states, free, connections, ended: _, open } = self;
        state.word("open flows", open.count());
        state.word("receiving places", states.len() as u64);
        free.iter().for_each(|place| state.word("free receiving place", *place));
        for (number, place) in connections {
            state.part(|host| format!("connection {number} to {host}"));
            state.word("receiving place", *place);
            if let Some(of) = states.get(*place as usize) {
                of.relate(state);
            }
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
        let incoming = &self.incoming[data.slot as usize];
        if E::DEPARTURES_WAIT
            && let Some(state) = self.states.get_mut(incoming.place as usize)
            && state.is_plain
            && !packet.is(flag::LAST | flag::CIRCUIT)
            && let Some(progress) = state.order.take_plainly(data.number)
        {
            return state.answer(
                now,
                &data,
                (incoming.flow, incoming.peer),
                progress,
                self.open.count(),
                packet,
                int,
                cx,
            );
        }
        self.take(now, packet, int, cx);
    }

    /// A data packet has arrived, in whatever way.
    #[inline(never)]
    fn take<E: Effects>(&mut self, now: u64, packet: &Packet, int: &IntRecords, cx: &mut Context<'_, E>) {
        let data = Data::of(&packet.body);
        let incoming = &self.incoming[data.slot as usize];
        let (flow, peer) = (incoming.flow, incoming.peer);
        if incoming.is_complete() {
            return self.answer_duplicate(now, packet, int, cx);
        }
        let place = match incoming.place {
            NOWHERE => match self.begin(now, data.slot, cx) {
                Ok(place) => place,
                Err(expected) => return self.answer_late(now, packet, expected, int, cx),
            },
            place => place,
        };
        let state = &mut self.states[place as usize];
        let verdict = state.order.take(now, data.number, cx.facts);
        let progress = state.order.progress(data.number);
        let mut last = match verdict {
            Verdict::Next => packet.is(flag::LAST),
            Verdict::Fills => progress.0 == cx.facts.packets(flow),
            Verdict::Kept | Verdict::Duplicate | Verdict::Early { .. } => false,
        };
        if state.messages.is_some() {
            last = state.take_message(
                verdict,
                packet.is(flag::LAST),
                (data.number, data.slot),
                progress.0,
                &mut self.open,
            );
        }
        let marked = packet.is(flag::MARKED);
        let notify = marked && cx.facts.notifies(flow);
        let urgent = state.is_urgent(verdict, last || packet.is(flag::ASKS));
        if verdict != (Verdict::Early { report: false }) {
            if matches!(verdict, Verdict::Next | Verdict::Fills | Verdict::Kept) {
                let tally = cx.effects.tally();
                tally.counts.progress = tally.counts.progress.max(now);
            }
            if last && state.messages.is_some() {
                state.end_messages(now, progress.0, &self.incoming, &mut self.open, cx);
            } else if last {
                self.incoming[data.slot as usize].completed = now;
                if std::mem::replace(&mut state.open, false) {
                    self.open.close();
                }
                cx.arrived(now, flow);
            }
        }
        if notify || verdict == (Verdict::Early { report: false }) {
            let arrival = Arrival { notify, ..arrival(now, &data, marked, urgent) };
            if state.control.notify(&self.rules, &arrival) {
                send_notification(now, flow, peer, &state.reply, int, cx);
            }
            if verdict == (Verdict::Early { report: false }) {
                return;
            }
        }
        let kind = if matches!(verdict, Verdict::Early { .. }) { Kind::Nack } else { Kind::Ack };
        let mut reply = reply_to(kind, packet, &state.reply);
        if state.spreads {
            spread_reply(&mut reply, packet, state.forth, cx.facts);
        }
        let ack = acknowledgement(now, &data, peer, progress);
        if state.control.answers_at_once(&self.rules, urgent, marked) {
            let flows = u16::try_from(self.open.count()).unwrap_or(u16::MAX);
            reply.set_ack(&Ack { flows, marked: u8::from(marked), ..ack });
            send_back(now, flow, &mut reply, int, cx);
        } else {
            let arrival = arrival(now, &data, marked, urgent);
            let held = Held { packet: reply, ack, int: *int };
            self.answer_later(place, data.slot, flow, &arrival, held, cx);
        }
        if last {
            self.end(data.slot, progress.0, cx.facts);
        }
    }

    /// Reports exactly this packet to the sender: its header has arrived without its payload.
    pub(super) fn on_header<E: Effects>(&mut self, now: u64, packet: &Packet, cx: &mut Context<'_, E>) {
        let data = Data::of(&packet.body);
        self.release(now, data.slot, cx);
        let Incoming { flow, peer, .. } = self.incoming[data.slot as usize];
        // Nothing is said of other packets: acknowledgements do that.
        let progress = (u64::from(data.number), Some(0));
        let mut nack = reply_of(Kind::Nack, packet, flow, flag::BITMAP, cx.facts);
        nack.set_ack(&Ack { packets: 0, ..acknowledgement(now, &data, peer, progress) });
        send_back(now, flow, &mut nack, &NO_INT, cx);
    }

    /// A timer of the flow `slot` has expired: a held acknowledgement is due, or the flow has stopped.
    pub(super) fn on_timer<E: Effects>(&mut self, now: u64, slot: u32, cx: &mut Context<'_, E>) {
        let incoming = self.incoming[slot as usize];
        let Some(state) = self.states.get_mut(incoming.place as usize) else { return };
        if state.open && cx.facts.flows[incoming.flow as usize].stop.ps() <= now {
            state.open = false;
            self.open.close();
        }
        if state.due == now {
            state.due = NEVER;
        }
        if state.control.deadline().ps() <= now {
            self.release(now, slot, cx);
        } else {
            state.arm(slot, cx.effects);
        }
    }

    /// A packet has arrived whose acknowledgement is held, or says what held ones say: its own would say what `held` says.
    #[inline(never)]
    fn answer_later<E: Effects>(
        &mut self,
        place: u32,
        slot: u32,
        flow: u32,
        arrival: &Arrival,
        mut held: Held,
        cx: &mut Context<'_, E>,
    ) {
        let state = &mut self.states[place as usize];
        let mut rules = self.rules;
        if state.ack_delay != Time::ZERO {
            rules.ack_delay = state.ack_delay;
        }
        match state.control.on_data(&rules, arrival).ack {
            Some(echo) => {
                let Held { packet, ack, int } = &mut held;
                let flows = self.open.count();
                send_answer(arrival.now.ps(), flow, packet, *ack, &echo, flows, int, cx);
            }
            None => state.hold(slot, &held, cx.effects),
        }
    }

    /// Sends the held acknowledgement of the flow `slot`, if one is held.
    fn release<E: Effects>(&mut self, now: u64, slot: u32, cx: &mut Context<'_, E>) {
        let Incoming { flow, place, .. } = self.incoming[slot as usize];
        let Some(state) = self.states.get_mut(place as usize) else { return };
        let Some(echo) = state.control.release(Time::from_ps(now)) else { return };
        let Some(Held { mut packet, ack, int }) = state.held.as_deref().copied() else { return };
        send_answer(now, flow, &mut packet, ack, &echo, self.open.count(), &int, cx);
    }

    /// The first packet of a flow has arrived: allocates its state.
    ///
    /// # Errors
    /// Returns the number of packets of the flow's connection if all messages of the connection have arrived.
    fn begin<E: Effects>(&mut self, now: u64, slot: u32, cx: &mut Context<'_, E>) -> Result<u32, u64> {
        let incoming = &mut self.incoming[slot as usize];
        let connection = cx.facts.connection(incoming.flow);
        if let Some(packets) = connection.and_then(|(number, _)| self.ended.get(&number)) {
            return Err(*packets);
        }
        if let Some(place) = connection.and_then(|(number, _)| self.connections.get(&number)) {
            incoming.place = *place;
            if let Some(messages) = &mut self.states[*place as usize].messages {
                messages.begun.push(slot);
            }
            return Ok(*place);
        }
        let flow = &cx.facts.flows[incoming.flow as usize];
        let messages =
            connection.map(|(_, left)| Box::new(Messages { ends: BTreeMap::new(), left, begun: vec![slot] }));
        let (order, spreads) = (Order::new(cx.facts), flow.balancing.spreads());
        let reply = blank_reply(incoming.flow, bitmap_flag(cx.facts), cx.facts);
        let answers_alone = self.rules.ack_every.is_each() && !cx.facts.notifies(incoming.flow);
        let is_plain = answers_alone && messages.is_none();
        let forth = without_entropy(incoming.flow, cx.facts);
        let mut state = State { forth, is_plain, ..State::new(order, messages, reply, spreads) };
        if !self.rules.ack_every.is_each() && cx.facts.transport.ack_delay.is_none() {
            let base_rtt = || cx.facts.path(incoming.flow, Time::from_ps(now)).base_rtt;
            state.ack_delay = cx.facts.transport.ack_delay(base_rtt).max(Time::from_ps(1));
        }
        let place = self.free.pop().unwrap_or(self.states.len() as u32);
        if let Some(free) = self.states.get_mut(place as usize) {
            *free = state;
        } else {
            push_sparely(&mut self.states, state);
        }
        incoming.place = place;
        if let Some((number, _)) = connection {
            self.connections.insert(number, place);
        }
        self.open.open();
        if flow.stop != Time::NEVER {
            // Nothing in the packets says that a flow has stopped; it counts as open until then.
            cx.effects.schedule(Event::new(flow.stop.ps(), rank::RECEIVER, slot));
        }
        Ok(place)
    }

    /// A flow has arrived completely, or messages of a connection, whose packets up to this number have arrived. The state of
    /// a connection remains while it has messages left.
    fn end(&mut self, slot: u32, packets: u64, facts: &FlowFacts) {
        let incoming = &mut self.incoming[slot as usize];
        let place = incoming.place;
        if incoming.is_complete() {
            incoming.place = NOWHERE;
            self.free.push(place);
            return;
        }
        let flow = incoming.flow;
        let state = &mut self.states[place as usize];
        let Some(messages) = state.messages.take_if(|messages| messages.left == 0) else { return };
        for begun in messages.begun {
            self.incoming[begun as usize].place = NOWHERE;
        }
        state.held = None;
        if let Some((number, _)) = facts.connection(flow) {
            self.connections.remove(&number);
            self.ended.insert(number, packets);
        }
        self.free.push(place);
    }

    /// A packet of a connection of which all has arrived, as many packets as this: an acknowledgement was lost.
    #[cold]
    #[inline(never)]
    fn answer_late<E: Effects>(
        &mut self,
        now: u64,
        packet: &Packet,
        packets: u64,
        int: &IntRecords,
        cx: &mut Context<'_, E>,
    ) {
        let data = &Data::of(&packet.body);
        let Incoming { flow, peer, .. } = self.incoming[data.slot as usize];
        let bitmap = keeps(cx.facts.transport.recovery).then_some(0);
        let ack = acknowledgement(now, data, peer, (packets, bitmap));
        let mut reply = reply_of(Kind::Ack, packet, flow, bitmap_flag(cx.facts), cx.facts);
        send_answer(now, flow, &mut reply, ack, &echo_of(packet, data), self.open.count(), int, cx);
    }

    /// A packet of a flow that has arrived completely: its last acknowledgement was lost.
    #[cold]
    #[inline(never)]
    fn answer_duplicate<E: Effects>(
        &mut self,
        now: u64,
        packet: &Packet,
        int: &IntRecords,
        cx: &mut Context<'_, E>,
    ) {
        let data = &Data::of(&packet.body);
        let Incoming { flow, peer, completed, .. } = self.incoming[data.slot as usize];
        let bitmap = keeps(cx.facts.transport.recovery).then_some(0);
        // The sender takes the time of delivery from the acknowledgement that ends the flow: that of
        // the first copy, not of this one.
        let data = Data { sent: completed, ..*data };
        let ack = acknowledgement(completed, &data, peer, (cx.facts.packets(flow), bitmap));
        let mut reply = reply_of(Kind::Ack, packet, flow, bitmap_flag(cx.facts), cx.facts);
        send_answer(now, flow, &mut reply, ack, &echo_of(packet, &data), self.open.count(), int, cx);
    }
}

#[cfg(test)]
mod tests {
    use incast_cc::receiver::AckEvery;
    use incast_units::Bytes;

    use super::*;
    use crate::recovery::{AnyOrder, InOrder};

    const FOUR: ReceiverRules = ReceiverRules {
        ack_every: AckEvery::Packets(4),
        ack_on_mark: true,
        ack_delay: Time::from_us(50),
        cnp_interval: Time::from_us(50),
    };

    /// The packets of a flow of `packets`, by their numbers in the order of their arrival: `asks` and `marked` are
    /// numbers of those that ask and that are marked. Returns for each of them how many packets the acknowledgement
    /// covers that leaves at once; 0: none does.
    fn covered(order: Order, packets: u64, arrivals: &[u32], asks: &[u32], marked: &[u32]) -> Vec<u32> {
        let mut state = State::new(order, None, Packet::blank(Kind::Ack), false);
        let mut answers = Vec::new();
        for number in arrivals {
            let verdict = match &mut state.order {
                Order::InOrder(order) => order.take(0, *number, 0),
                Order::Any(order) => order.take(*number),
            };
            let last = state.order.progress(*number).0 == packets;
            let arrival = Arrival {
                now: Time::ZERO,
                inflight: Bytes::ZERO,
                payload: Bytes::new(1000),
                marked: marked.contains(number),
                notify: false,
                urgent: state.is_urgent(verdict, asks.contains(number) || last),
            };
            answers.push(state.control.on_data(&FOUR, &arrival).ack.map_or(0, |echo| echo.packets));
        }
        answers
    }

    fn any() -> Order {
        Order::Any(AnyOrder::NEW)
    }

    #[test]
    fn four_packets_share_an_acknowledgement_but_the_first_and_the_last_have_one_at_once() {
        let arrivals = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        assert_eq!(covered(any(), 10, &arrivals, &[], &[]), [1, 0, 0, 0, 4, 0, 0, 0, 4, 1]);
        // With go-back-N the first one waits too.
        let in_order = Order::InOrder(InOrder::NEW);
        assert_eq!(covered(in_order, 10, &arrivals, &[], &[]), [0, 0, 0, 4, 0, 0, 0, 4, 0, 2]);
    }

    #[test]
    fn packets_count_in_any_order() {
        assert_eq!(covered(any(), 99, &[0, 2, 1, 4, 3, 6, 5, 8], &[], &[]), [1, 0, 0, 0, 4, 0, 0, 0]);
        // The last one to arrive completes the flow whatever its number.
        assert_eq!(covered(any(), 4, &[0, 3, 2, 1], &[], &[]), [1, 0, 0, 3]);
        // With go-back-N, 2 is discarded after 1 is missing, which is reported at once.
        assert_eq!(covered(Order::InOrder(InOrder::NEW), 99, &[0, 2], &[], &[]), [0, 2]);
    }

    #[test]
    fn duplicates_and_marks_release_what_is_held() {
        assert_eq!(covered(any(), 99, &[0, 1, 1, 3, 3, 2], &[], &[]), [1, 0, 2, 0, 2, 0]);
        assert_eq!(covered(any(), 99, &[0, 2, 5, 4, 1], &[], &[4]), [1, 0, 0, 3, 0]);
    }

    #[test]
    fn who_waits_is_answered_at_once_and_when_the_last_hole_has_closed() {
        // 3 is the last packet that the window admits. 2 does not close the hole, 1 does; 4 waits for others again.
        assert_eq!(covered(any(), 99, &[0, 3, 2, 1, 4], &[3], &[]), [1, 1, 0, 2, 0]);
        // Without holes its own acknowledgement is all; nobody has asked for the hole that is closed by 5.
        assert_eq!(covered(any(), 99, &[0, 1, 2, 3, 4, 6, 5], &[3], &[]), [1, 0, 0, 3, 0, 0, 0]);
    }
}
