//! The receiving side of one flow: in-order delivery, acknowledgements, NACKs and CNPs.

use crate::engine::event::{Effects, Event, Kind as EventKind};
use crate::engine::world::World;
use crate::packet::{Kind, Packet, flag};

/// The receiving side of one flow. It exists from the start of the run; kept small.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// Next payload byte expected.
    pub(crate) expected: u64,
    /// The sender's host, and its index of the flow.
    source: u32,
    peer: u32,
    /// Hash of what goes back.
    hash: u32,
    algorithm: u16,
    queue: u8,
    open: bool,
    /// No CNP before this. (ps)
    cnp_after: u64,
    /// The hole that was reported last, and no report of it again before this. (ps)
    nacked: u64,
    nack_after: u64,
    /// The acknowledgement being held back, with coalescing.
    held: Option<Box<Held>>,
}

/// An acknowledgement that waits for more packets to stand for.
#[derive(Debug)]
struct Held {
    ack: Packet,
    inflight: u64,
    /// Time of its pending [`EventKind::HeldAck`].
    until: u64,
}

/// What a data packet calls forth.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) ack: Option<Packet>,
    pub(crate) cnp: Option<Packet>,
}

impl Receiver {
    pub(crate) fn new(source: u32, peer: u32, hash: u32, algorithm: u16, queue: u8) -> Self {
        Self {
            expected: 0,
            source,
            peer,
            hash,
            algorithm,
            queue,
            open: false,
            cnp_after: 0,
            nacked: u64::MAX,
            nack_after: 0,
            held: None,
        }
    }

    /// A data packet has arrived; `open` counts the flows open at this host.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        now: u64,
        packet: &Packet,
        open: &mut u16,
        world: &World,
        effects: &mut impl Effects,
    ) -> Answer {
        let tally = effects.tally();
        tally.delivered += 1;
        let mut answer = Answer::default();
        if packet.is(flag::CNP) && packet.is(flag::MARKED) && now >= self.cnp_after {
            self.cnp_after = now.saturating_add(world.transport.cnp_interval.ps());
            let size = world.transport.header.get().max(world.transport.smallest.get());
            answer.cnp = Some(Packet {
                size: size as u16,
                queue: world.transport.cnp_queue,
                ..self.back(Kind::Cnp, now, packet, world)
            });
        }
        if packet.sequence > self.expected {
            // A hole: what came is of no use (go-back-N), but the sender must know.
            if self.nacked != self.expected || now >= self.nack_after {
                self.nacked = self.expected;
                self.nack_after = now.saturating_add(world.transport.nack_interval.ps());
                self.held = None;
                answer.ack = Some(self.back(Kind::Nack, now, packet, world));
            }
            return answer;
        }
        let fresh = packet.sequence == self.expected;
        if fresh {
            tally.progress = tally.progress.max(now);
            if self.expected == 0 && !self.open {
                self.open = true;
                *open = open.saturating_add(1);
            }
            self.expected += u64::from(packet.payload);
            if packet.is(flag::LAST) {
                self.open = false;
                *open = open.saturating_sub(1);
            }
        }
        let ack = self.back(Kind::Ack, now, packet, world);
        let every = world.transport.ack_every;
        answer.ack = if every <= 1 { Some(ack) } else { self.hold(now, ack, packet, fresh, world, effects) };
        answer
    }

    /// The held acknowledgement has waited long enough.
    pub(crate) fn held_ack(&mut self, now: u64) -> Option<Packet> {
        match &self.held {
            Some(held) if held.until == now => {
                let mut ack = self.held.take()?.finish();
                // Its telemetry was not kept.
                ack.flags &= !flag::INT;
                ack.hops = 0;
                Some(ack)
            }
            _ => None,
        }
    }

    fn hold(
        &mut self,
        now: u64,
        ack: Packet,
        data: &Packet,
        fresh: bool,
        world: &World,
        effects: &mut impl Effects,
    ) -> Option<Packet> {
        let transport = &world.transport;
        let mut held = match self.held.take() {
            Some(mut held) => {
                held.inflight += u64::from(ack.inflight);
                held.ack = Packet {
                    packets: held.ack.packets.saturating_add(1),
                    marked: held.ack.marked.saturating_add(ack.marked),
                    ..ack
                };
                held
            }
            None => {
                let until = now.saturating_add(transport.ack_delay.ps());
                effects.schedule(Event::new(until, EventKind::HeldAck, data.slot));
                Box::new(Held { ack, inflight: u64::from(ack.inflight), until })
            }
        };
        // A duplicate tells of a loss, the last packet of an end: neither waits.
        if u32::from(held.ack.packets) >= transport.ack_every || data.is(flag::LAST) || !fresh {
            held.until = u64::MAX;
            return Some(held.finish());
        }
        self.held = Some(held);
        None
    }

    /// A packet to the sender that echoes a data packet.
    #[inline]
    fn back(&self, kind: Kind, now: u64, data: &Packet, world: &World) -> Packet {
        let mut packet = Packet {
            received: now,
            sequence: self.expected,
            destination: self.source,
            slot: self.peer,
            hash: self.hash,
            size: world.sizes(self.algorithm).ack as u16,
            marked: u8::from(data.is(flag::MARKED)),
            queue: world.transport.ack_queue.unwrap_or(self.queue),
            flags: if kind == Kind::Cnp { 0 } else { data.flags & flag::INT },
            hops: data.hops,
            ..Packet::blank(kind)
        };
        packet.echo(data);
        packet
    }
}

impl Held {
    /// The acknowledgement for all that it stands for: bytes in flight are their mean.
    fn finish(&self) -> Packet {
        let mean = self.inflight / u64::from(self.ack.packets.max(1));
        Packet { inflight: u32::try_from(mean).unwrap_or(u32::MAX), ..self.ack }
    }
}
