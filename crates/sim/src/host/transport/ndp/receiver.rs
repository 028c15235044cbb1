//! The receiving side of the flows to one host: answers to packets, and pulls at the pace of the link.

use std::collections::VecDeque;

use incast_engine::event::{Effects, Event};
use incast_net::packet::{Ack, Data, Kind, NO_INT, Packet, flag};
use incast_units::Bytes;

use crate::facts::flows::{FlowFacts, Way};
use crate::host::transport::context::Context;
use crate::host::transport::incoming::{Incoming, NOWHERE};
use crate::host::transport::reply::{path_back, send_back};
use crate::rank;
use crate::recovery::{AnyOrder, Verdict};

/// The flows to one host.
#[derive(Debug, Default)]
pub(super) struct Receivers {
    incoming: Vec<Incoming>,
    /// State of the flows that have begun to arrive and have not yet arrived completely.
    states: Vec<State>,
    free: Vec<u32>,
    pacer: Pacer,
}

/// The only own packet: a request of a receiver for packets.
const PULL: u8 = 0;

/// A time that is never reached.
const NEVER: u64 = u64::MAX;

/// The receiving side of one flow while it arrives.
#[derive(Debug)]
struct State {
    order: AnyOrder,
    /// Hash and flags about load balancing of its last answer, which pulls take too.
    path: (u32, u8),
    /// Pulls sent.
    pulls: u32,
    /// Pulls queued.
    owed: u32,
}

/// The pulls of one host, in turn for its flows.
#[derive(Debug)]
struct Pacer {
    /// The flows with a queued pull, each once, in the order of their turns.
    turns: VecDeque<u32>,
    /// Before this, no pull. (ps)
    next: u64,
    /// Time of the valid pending event.
    event: u64,
}

impl Default for Pacer {
    fn default() -> Self {
        Self { turns: VecDeque::new(), next: 0, event: NEVER }
    }
}

impl Pacer {
    /// Schedules the next pull.
    fn schedule<E: Effects>(&mut self, effects: &mut E) {
        if self.event == NEVER && !self.turns.is_empty() {
            self.event = self.next;
            effects.schedule(Event::new(self.next, rank::RECEIVER, 0));
        }
    }
}

impl Receivers {
    pub(super) fn add(&mut self, flow: u32, peer: u32) -> u32 {
        self.incoming.push(Incoming::new(flow, peer));
        self.incoming.len() as u32 - 1
    }

    /// A data packet, or its header without payload, has arrived.
    pub(super) fn on_data<E: Effects>(&mut self, now: u64, packet: &Packet, cx: &mut Context<'_, E>) {
        let data = Data::of(&packet.body);
        cx.effects.tally().counts.delivered += u64::from(packet.kind == Kind::Data);
        let incoming = self.incoming[data.slot as usize];
        let packets = cx.facts.packets(incoming.flow);
        if incoming.is_complete() {
            // The sender takes the time of delivery from the acknowledgement that ends the flow.
            let data = Data { sent: incoming.completed, ..data };
            let (mut answer, ack) =
                answer(Kind::Ack, incoming.completed, packet, &data, &incoming, packets, cx.facts);
            answer.set_ack(&ack);
            return send_back(now, incoming.flow, &mut answer, &NO_INT, cx);
        }
        let place = if incoming.place == NOWHERE { self.begin(data.slot) } else { incoming.place };
        let state = &mut self.states[place as usize];
        let kind = if packet.kind == Kind::Data {
            if state.order.take(data.number) != Verdict::Duplicate {
                let tally = cx.effects.tally();
                tally.counts.progress = tally.counts.progress.max(now);
            }
            Kind::Ack
        } else if state.order.contains(data.number) {
            Kind::Ack
        } else {
            Kind::Nack
        };
        let expected = state.order.expected;
        let (mut answer, ack) = answer(kind, now, packet, &data, &incoming, expected, cx.facts);
        state.path = (answer.hash, answer.flags);
        if expected == packets {
            self.end(now, data.slot);
            cx.arrived(now, incoming.flow);
        } else {
            self.ask(now, data.slot, place, cx);
        }
        answer.set_ack(&Ack { inflight: self.states[place as usize].pulls, ..ack });
        send_back(now, incoming.flow, &mut answer, &NO_INT, cx);
    }

    /// A packet of a flow has arrived, which is worth a pull: with its answer if no pull waits and none was sent
    /// for the time of a packet, or in turn.
    fn ask<E: Effects>(&mut self, now: u64, slot: u32, place: u32, cx: &mut Context<'_, E>) {
        let (state, pacer) = (&mut self.states[place as usize], &mut self.pacer);
        if pacer.turns.is_empty() && now >= pacer.next {
            state.pulls = state.pulls.wrapping_add(1);
            pacer.next = now.saturating_add(spacing(cx));
            return;
        }
        state.owed += 1;
        if state.owed == 1 {
            pacer.turns.push_back(slot);
        }
        pacer.schedule(cx.effects);
    }

    /// The time of a queued pull has come.
    pub(super) fn on_timer<E: Effects>(&mut self, now: u64, cx: &mut Context<'_, E>) {
        if self.pacer.event != now {
            return;
        }
        self.pacer.event = NEVER;
        if now >= self.pacer.next
            && let Some(slot) = self.pacer.turns.pop_front()
        {
            let incoming = self.incoming[slot as usize];
            let state = &mut self.states[incoming.place as usize];
            state.pulls = state.pulls.wrapping_add(1);
            state.owed -= 1;
            let mut pull = to_sender(Packet::own(PULL), &incoming, state.path, cx.facts);
            let expected = state.order.expected;
            pull.set_ack(&Ack { inflight: state.pulls, ..told(&incoming, now, now, expected) });
            if state.owed > 0 {
                self.pacer.turns.push_back(slot);
            }
            self.pacer.next = now.saturating_add(spacing(cx));
            send_back(now, incoming.flow, &mut pull, &NO_INT, cx);
        }
        self.pacer.schedule(cx.effects);
    }

    /// The first packet of a flow has arrived: allocates its state.
    fn begin(&mut self, slot: u32) -> u32 {
        let state = State { order: AnyOrder::NEW, path: (0, 0), pulls: 0, owed: 0 };
        let place = self.free.pop().unwrap_or(self.states.len() as u32);
        if let Some(free) = self.states.get_mut(place as usize) {
            *free = state;
        } else {
            self.states.push(state);
        }
        self.incoming[slot as usize].place = place;
        place
    }

    /// A flow has arrived completely: its queued pulls are not sent.
    fn end(&mut self, now: u64, slot: u32) {
        let incoming = &mut self.incoming[slot as usize];
        incoming.completed = now;
        self.free.push(incoming.place);
        if self.states[incoming.place as usize].owed > 0 {
            self.pacer.turns.retain(|turn| *turn != slot);
        }
        incoming.place = NOWHERE;
    }
}

/// Returns the time between two pulls: one full data packet at the pull rate. (ps)
fn spacing<E>(cx: &Context<'_, E>) -> u64 {
    let (facts, sizes) = (cx.facts, cx.facts.sizes(0));
    let line = facts.fabric.routes.ports[cx.home.node as usize][0].rate;
    let rate = incast_units::Rate::from_bps(facts.transport.ndp.pull_rate.scale(line.bps()).max(1));
    rate.time_for(Bytes::new(sizes.data(sizes.payload))).ps()
}

/// The answer to a packet, and what it says.
fn answer(
    kind: Kind,
    received: u64,
    packet: &Packet,
    data: &Data,
    incoming: &Incoming,
    expected: u64,
    facts: &FlowFacts,
) -> (Packet, Ack) {
    let hash = facts.hashes(incoming.flow).1;
    let spreads = facts.flows[incoming.flow as usize].balancing.spreads();
    let path = if spreads { path_back(packet, incoming.flow, hash, facts) } else { (hash, 0) };
    let mut reply = to_sender(Packet::blank(kind), incoming, path, facts);
    reply.hop_delay = packet.hop_delay;
    let offset = data.number.wrapping_sub(expected as u32) as i32;
    let ack = Ack {
        offset: offset.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16,
        packets: 1,
        marked: u8::from(packet.is(flag::MARKED)),
        ..told(incoming, data.sent, received, expected)
    };
    (reply, ack)
}

/// Completes a packet to the sender of a flow.
fn to_sender(blank: Packet, incoming: &Incoming, (hash, flags): (u32, u8), facts: &FlowFacts) -> Packet {
    let flow = &facts.flows[incoming.flow as usize];
    Packet {
        destination: facts.address(incoming.flow, Way::Back),
        hash,
        size: facts.sizes(flow.algorithm).ack as u16,
        queue: facts.transport.ack_queue.unwrap_or(flow.queue),
        flags,
        ..blank
    }
}

/// Returns the body of such a packet; the number of pulls has the place of the bytes in flight of the window
/// transport.
fn told(incoming: &Incoming, sent: u64, received: u64, expected: u64) -> Ack {
    Ack {
        sent,
        received,
        held: 0,
        slot: incoming.peer,
        inflight: 0,
        expected: expected as u32,
        offset: 0,
        flows: 0,
        packets: 0,
        marked: 0,
        bitmap: 0,
    }
}
