//! The packets of a sender.

use incast_cc::Sent;
use incast_engine::event::Effects;
use incast_net::describe::algorithm::Controllers;
use incast_net::describe::transport::Pacing;
use incast_net::packet::{Body, Data, Origin, Packet, flag};
use incast_units::{Bytes, Time};

use super::{NEVER, Sender};
use crate::facts::flows::{FlowFacts, Way};
use crate::host::program::Step;
use crate::host::transport::window::connection::Message;
use crate::recovery::{Cut, SentPacket};

impl Sender {
    /// Makes of a copy of the template packet `number`, which is the next one: it is sent.
    #[allow(clippy::too_many_arguments, reason = "a packet, and what it is made with")]
    #[inline(always)]
    pub(in super::super) fn next_packet<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        number: u64,
        packet: &mut Packet,
        controllers: &mut [Option<Box<dyn Controllers>>],
        facts: &FlowFacts,
        effects: &mut E,
    ) {
        let sequence = number * self.payload;
        let (mut size, mut counted) = (self.size, self.counted);
        if number + 1 >= self.message.end {
            (size, counted) = self.shape_packet(number, sequence, packet, facts);
        }
        let inflight = self.recovery.inflight() + counted;
        let narrow = u32::try_from(inflight).unwrap_or(u32::MAX);
        self.last_sent = now;
        self.paced_from = match facts.transport.pacing {
            Pacing::Restart => now,
            Pacing::Keep => self.next_at.clamp(now.saturating_sub(self.gap), now),
        };
        self.last_size = size;
        let mut tag = 0;
        if self.tells_sent
            && let Some(controllers) = &mut controllers[usize::from(self.algorithm)]
        {
            let sent =
                Sent { now: Time::from_ps(now), bytes: Bytes::new(counted), inflight: Bytes::new(inflight) };
            let (directive, of_packet) = controllers.on_sent(self.controller, &sent);
            tag = of_packet;
            self.apply_directive(now, place, directive, effects);
        }
        let gap = if size == self.size { self.gap } else { self.gap_for(size) };
        self.next_at = self.paced_from.saturating_add(gap);
        let record = SentPacket { sent: now, tag, inflight: narrow };
        let again = self.recovery.on_sent(record);
        self.account.packet(again);
        packet.set_data(sequence, now, narrow, number as u32);
        if self.is_plain {
            self.message.resent += u64::from(again);
            self.message.packets += 1;
        } else {
            self.finish_packet(now, number, again, record, packet, facts);
        }
        if self.retransmit_at == NEVER {
            self.restart_retransmit(now, place, self.recovery.inflight(), facts, effects);
        }
    }

    /// Changes packet `number`, the last one of its message or one of a later message, from a full one of the first
    /// message. Returns its size, and its bytes that count.
    #[inline(never)]
    fn shape_packet(
        &mut self,
        number: u64,
        sequence: u64,
        packet: &mut Packet,
        facts: &FlowFacts,
    ) -> (u64, u64) {
        let first = self.message;
        let later = if number >= first.end { self.later_with(number) } else { None };
        let message = later.map_or(first, |later| *later);
        let sizes = facts.sizes(self.algorithm);
        let payload = sizes.payload.min(message.limit - sequence);
        let size = sizes.data(payload);
        if sequence + payload == message.limit {
            packet.flags |= flag::LAST;
        }
        packet.size = size as u16;
        packet.body = body(&message, payload);
        (size, sizes.counted(payload))
    }

    /// Does for packet `number`, which is sent for the first time or `again`, what few flows need: messages of a
    /// connection, a history, entropies, draws of its own, and acknowledgements that it asks for.
    #[inline(never)]
    fn finish_packet(
        &mut self,
        now: u64,
        number: u64,
        again: bool,
        record: SentPacket,
        packet: &mut Packet,
        facts: &FlowFacts,
    ) {
        if let Some(history) = &mut self.history {
            history.on_sent(number, self.recovery.acknowledged(), record);
        }
        let later = if number >= self.message.end { self.later_with(number) } else { None };
        if let Some(message) = later {
            message.resent += u64::from(again);
            message.packets += 1;
        } else {
            self.message.resent += u64::from(again);
            self.message.packets += 1;
        }
        if let Some(connection) = &mut self.connection {
            connection.on_sent(now, number, again, packet.is(flag::LAST));
        }
        if facts.draws_again {
            // Draws are of what is here: switches mark and spread by it.
            self.since_pause += 1;
            packet.set_data(self.since_pause, now, record.inflight, number as u32);
        }
        if let Some(entropies) = &mut self.entropies {
            packet.hash ^= u32::from(entropies.choose(now));
        }
        if self.asks && (again || packet.is(flag::LAST) || !self.may_send()) {
            packet.flags |= flag::ASKS;
        }
    }
}

/// The body of packets of a message with this payload, without what is each packet's own.
pub(super) fn body(message: &Message, payload: u64) -> Body {
    let data =
        Data { sequence: 0, sent: 0, slot: message.peer, inflight: 0, number: 0, payload: payload as u16 };
    data.body().from(message.origin)
}

/// A flow that starts, whose first packet has the number `first`, and its packets.
pub(super) fn message(now: u64, index: u32, step: Step, first: u64, facts: &FlowFacts) -> (Message, Cut) {
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
