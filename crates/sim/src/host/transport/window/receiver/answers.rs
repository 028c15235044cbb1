//! The packets that a receiver sends back: acknowledgements, NACKs and CNPs.

use incast_cc::receiver::{Arrival, Echo};
use incast_engine::event::Effects;
use incast_net::packet::{Ack, Data, IntRecords, Kind, Packet, flag};
use incast_units::{Bytes, Time};

use super::State;
use super::order::{Progress, distance};
use crate::facts::flows::{FlowFacts, Way};
use crate::host::transport::context::Context;
use crate::host::transport::reply::{path_back_by, send_back, without_entropy};
use crate::recovery::keeps;

impl State {
    /// Answers a packet of a plain flow that [was taken plainly](Order::take_plainly) and is not its last one: what
    /// [`Receivers::take`] does, without what cannot occur here. The reference engine does not take this way.
    #[allow(clippy::too_many_arguments, reason = "a packet, and what its answer says")]
    #[inline(always)]
    pub(super) fn answer<E: Effects>(
        &self,
        now: u64,
        data: &Data,
        (flow, peer): (u32, u32),
        progress: Progress,
        flows: u32,
        packet: &Packet,
        int: &IntRecords,
        cx: &mut Context<'_, E>,
    ) {
        let counts = &mut cx.effects.tally().counts;
        counts.progress = counts.progress.max(now);
        let mut reply = self.reply;
        reply.hop_delay = packet.hop_delay;
        reply.hops = packet.hops;
        reply.flags |= packet.flags & flag::INT;
        if self.spreads {
            spread_reply(&mut reply, packet, self.forth, cx.facts);
        }
        let Progress { expected, offset, bitmap } = progress;
        reply.set_ack(&Ack {
            sent: data.sent,
            received: now,
            held: 0,
            slot: peer,
            inflight: data.inflight,
            expected,
            offset,
            flows: u16::try_from(flows).unwrap_or(u16::MAX),
            packets: 1,
            marked: u8::from(packet.is(flag::MARKED)),
            bitmap,
        });
        send_back(now, flow, &mut reply, int, cx);
    }
}

/// Sends an acknowledgement or a NACK, with the fields about the packets that it covers and the number of open flows.
#[allow(clippy::too_many_arguments, reason = "each is a part of the acknowledgement")]
#[inline(always)]
pub(super) fn send_answer<E: Effects>(
    now: u64,
    flow: u32,
    reply: &mut Packet,
    ack: Ack,
    echo: &Echo,
    flows: u32,
    int: &IntRecords,
    cx: &mut Context<'_, E>,
) {
    let ack = Ack {
        held: echo.held.ps(),
        inflight: u32::try_from(echo.inflight.get()).unwrap_or(u32::MAX),
        packets: u8::try_from(echo.packets).unwrap_or(u8::MAX),
        marked: u8::try_from(echo.marked).unwrap_or(u8::MAX),
        flows: u16::try_from(flows).unwrap_or(u16::MAX),
        ..ack
    };
    reply.set_ack(&ack);
    send_back(now, flow, reply, int, cx);
}

/// A packet that has arrived, for the rules of answers.
#[inline(always)]
pub(super) fn arrival(now: u64, data: &Data, marked: bool, urgent: bool) -> Arrival {
    Arrival {
        now: Time::from_ps(now),
        inflight: Bytes::new(u64::from(data.inflight)),
        payload: Bytes::new(u64::from(data.payload)),
        marked,
        notify: false,
        urgent,
    }
}

/// The fields of an acknowledgement that covers this packet alone and was not held.
pub(super) fn echo_of(packet: &Packet, data: &Data) -> Echo {
    Echo {
        packets: 1,
        marked: u32::from(packet.is(flag::MARKED)),
        inflight: Bytes::new(u64::from(data.inflight)),
        held: Time::ZERO,
    }
}

/// The bit of an acknowledgement's flags for a bitmap, which it has if the receiver keeps packets.
pub(super) fn bitmap_flag(facts: &FlowFacts) -> u8 {
    if keeps(facts.transport.recovery) { flag::BITMAP } else { 0 }
}

/// A packet to the sender of a flow with these flags, without what is its own.
pub(super) fn blank_reply(flow: u32, flags: u8, facts: &FlowFacts) -> Packet {
    let described = &facts.flows[flow as usize];
    Packet {
        destination: facts.address(flow, Way::Back),
        hash: facts.hashes(flow).1,
        size: facts.sizes(described.algorithm).ack as u16,
        queue: facts.transport.ack_queue.unwrap_or(described.queue),
        flags,
        ..Packet::blank(Kind::Ack)
    }
}

/// A packet to the sender that echoes a data packet, made of such a one.
#[inline(always)]
pub(super) fn reply_to(kind: Kind, packet: &Packet, blank: &Packet) -> Packet {
    let circuit = if packet.is(flag::CIRCUIT) { flag::CIRCUIT_ECHO } else { 0 };
    Packet {
        kind,
        hop_delay: packet.hop_delay,
        flags: blank.flags | packet.flags & flag::INT | circuit,
        hops: packet.hops,
        ..*blank
    }
}

/// Gives the reply to a packet of a flow that is spread its hash, and its flags about load balancing; `forth` is what
/// [`without_entropy`] says of the flow.
#[inline(never)]
pub(super) fn spread_reply(reply: &mut Packet, packet: &Packet, forth: Option<u32>, facts: &FlowFacts) {
    let (hash, flags) = path_back_by(packet, forth, reply.hash, facts);
    reply.hash = hash;
    reply.flags |= flags;
}

/// A packet to the sender of a flow that echoes a data packet, where no state of the flow has its parts.
#[inline(never)]
pub(super) fn reply_of(kind: Kind, packet: &Packet, flow: u32, flags: u8, facts: &FlowFacts) -> Packet {
    let mut reply = reply_to(kind, packet, &blank_reply(flow, flags, facts));
    if facts.flows[flow as usize].balancing.spreads() {
        spread_reply(&mut reply, packet, without_entropy(flow, facts), facts);
    }
    reply
}

/// The content of an acknowledgement of a data packet for the sender, which knows the flow as `peer`.
#[inline(always)]
pub(super) fn acknowledgement(
    now: u64,
    data: &Data,
    peer: u32,
    (expected, bitmap): (u64, Option<u64>),
) -> Ack {
    Ack {
        sent: data.sent,
        received: now,
        held: 0,
        slot: peer,
        inflight: data.inflight,
        expected: expected as u32,
        offset: distance(data.number, expected as u32),
        flows: 0,
        packets: 1,
        marked: 0,
        bitmap: bitmap.unwrap_or_default(),
    }
}

/// Sends a congestion notification packet to the sender of a flow, which knows it as `peer`; `blank` is a reply to it.
#[inline(never)]
pub(super) fn send_notification<E: Effects>(
    now: u64,
    flow: u32,
    peer: u32,
    blank: &Packet,
    int: &IntRecords,
    cx: &mut Context<'_, E>,
) {
    let transport = &cx.facts.transport;
    let ack = Ack {
        sent: 0,
        received: 0,
        held: 0,
        slot: peer,
        inflight: 0,
        expected: 0,
        offset: 0,
        flows: 0,
        packets: 0,
        marked: 1,
        bitmap: 0,
    };
    let mut cnp = Packet {
        destination: blank.destination,
        hash: blank.hash,
        size: transport.header.max(transport.smallest).get() as u16,
        queue: transport.cnp_queue,
        ..Packet::blank(Kind::Cnp)
    };
    cnp.set_ack(&ack);
    send_back(now, flow, &mut cnp, int, cx);
}
