//! An output-queued switch: it admits a packet to its buffer when the last bit has arrived, queues
//! it at the port of its route, and at dequeue marks it (ECN) and writes telemetry (INT).

pub(crate) mod buffer;

use std::collections::VecDeque;

use buffer::{Admission, Buffer};
use incast_units::Rate;

use crate::describe::network::{NodeId, PortId};
use crate::describe::switch::{Ecn, Scheduler, Switch as Description};
use crate::engine::event::{Effects, Event, Kind as EventKind};
use crate::packet::{IntRecord, IntRecords, Kind, PFC_FRAME, Packet, PacketQueue, flag};
use crate::port::Port;
use crate::random::{draw, mix};
use crate::record::PortSample;
use crate::route::{Out, Table};

/// A switch.
#[derive(Debug)]
pub(crate) struct Switch {
    node: NodeId,
    pub(crate) table: Table,
    pub(crate) ports: Vec<Egress>,
    pub(crate) buffer: Buffer,
    queues: usize,
    scheduler: Scheduler,
    /// Stream of the random draws about marks.
    stream: u64,
    /// Scratch for the INT stack of the packet in hand.
    int: IntRecords,
}

/// A port of a switch with its queues.
#[derive(Debug)]
pub(crate) struct Egress {
    pub(crate) wire: Port,
    queues: Vec<PacketQueue>,
    lengths: Vec<u64>,
    /// Bytes in all queues.
    pub(crate) length: u64,
    /// Queues that hold a packet, one bit each.
    waiting: u8,
    /// The queue after the last served one (round robin).
    turn: usize,
    /// PFC frames that wait for the wire.
    frames: VecDeque<(u8, bool)>,
    marking: Option<Marking>,
    /// Index of the port's rate in the table of rates.
    rate: u32,
}

/// The RED curve at one port's rate.
#[derive(Clone, Copy, Debug)]
struct Marking {
    kmin: u64,
    kmax: u64,
    /// Probability at `kmax`, out of 2^32.
    pmax: u64,
}

impl Marking {
    fn new(ecn: &Ecn, rate: Rate) -> Self {
        let scale = |k: incast_units::Bytes| match ecn.reference {
            Some(reference) => k.times_ratio(rate.bps(), reference.bps()).get(),
            None => k.get(),
        };
        let pmax = u64::try_from(ecn.pmax.bits()).unwrap_or(0);
        Self { kmin: scale(ecn.kmin), kmax: scale(ecn.kmax), pmax }
    }

    /// Whether to mark a packet that leaves a queue of `length` bytes behind. `draw` is uniform.
    #[inline]
    fn marks(&self, length: u64, draw: impl FnOnce() -> u64) -> bool {
        if length <= self.kmin {
            return false;
        }
        if length >= self.kmax {
            return true;
        }
        // P = pmax (length - kmin) / (kmax - kmin), out of 2^32.
        let probability =
            u128::from(self.pmax) * u128::from(length - self.kmin) / u128::from(self.kmax - self.kmin);
        u128::from(draw() >> 32) < probability
    }
}

impl Switch {
    pub(crate) fn new(
        node: NodeId,
        table: Table,
        ports: &[Out],
        description: &Description,
        buffer: Buffer,
        seed: u64,
        mut rate_index: impl FnMut(Rate) -> u32,
    ) -> Self {
        let queues = usize::from(description.queues);
        let egress = |out: &Out| Egress {
            wire: Port::new(out),
            queues: (0..queues).map(|_| PacketQueue::default()).collect(),
            lengths: vec![0; queues],
            length: 0,
            waiting: 0,
            turn: 0,
            frames: VecDeque::new(),
            marking: description.ecn.as_ref().map(|ecn| Marking::new(ecn, out.rate)),
            rate: rate_index(out.rate),
        };
        Self {
            node,
            table,
            ports: ports.iter().map(egress).collect(),
            buffer,
            queues,
            scheduler: description.scheduler,
            stream: mix(seed ^ mix(u64::from(node))),
            int: IntRecords::default(),
        }
    }

    /// A packet's last bit has arrived at `port`.
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        now: u64,
        port: PortId,
        mut packet: Packet,
        int: &IntRecords,
        attachment: &[(u16, PortId)],
        effects: &mut impl Effects,
    ) {
        if matches!(packet.kind, Kind::Pause | Kind::Resume) {
            let wire = &mut self.ports[usize::from(port)].wire;
            wire.set_paused(now, port, packet.queue, packet.kind == Kind::Pause, effects);
            return self.serve(now, port, effects);
        }
        let (leaf, local) = attachment[packet.destination as usize];
        let route = if leaf == self.table.own { Some(local) } else { self.table.port(leaf, packet.hash) };
        let Some(to) = route else {
            // Links on every way have failed.
            effects.tally().lost += u64::from(packet.kind == Kind::Data);
            return;
        };
        let queue = usize::from(packet.queue).min(self.queues - 1);
        let size = u64::from(packet.size);
        let ingress = usize::from(port) * self.queues + queue;
        let egress = &mut self.ports[usize::from(to)];
        match self.buffer.admit(ingress, egress.lengths[queue], egress.length, size) {
            Admission::Stay => {}
            Admission::StayAndPause => self.signal(now, port, queue as u8, true, effects),
            Admission::Drop => {
                egress.wire.drops += 1;
                egress.wire.dropped += size;
                if packet.kind == Kind::Data {
                    effects.tally().dropped += 1;
                }
                return;
            }
        }
        let egress = &mut self.ports[usize::from(to)];
        packet.time = now;
        packet.ingress = port;
        egress.lengths[queue] += size;
        egress.length += size;
        egress.wire.peak = egress.wire.peak.max(egress.length);
        egress.waiting |= 1 << queue;
        egress.queues[queue].push(packet, packet.is(flag::INT).then_some(int));
        self.serve(now, to, effects);
    }

    /// The port has sent its packet's last bit, and something waited for that.
    #[inline]
    pub(crate) fn departed(&mut self, now: u64, port: PortId, effects: &mut impl Effects) {
        self.ports[usize::from(port)].wire.departed();
        self.serve(now, port, effects);
    }

    /// Sends a PFC frame through `port`, ahead of everything but the packet being sent.
    fn signal(&mut self, now: u64, port: PortId, queue: u8, pause: bool, effects: &mut impl Effects) {
        let egress = &mut self.ports[usize::from(port)];
        egress.frames.push_back((queue, pause));
        egress.wire.pauses_sent += u64::from(pause);
        self.serve(now, port, effects);
    }

    /// Begins to send the next packet of a port, or has itself called when that is possible.
    #[inline]
    fn serve(&mut self, now: u64, index: PortId, effects: &mut impl Effects) {
        let egress = &mut self.ports[usize::from(index)];
        if egress.wire.is_busy(now) {
            egress.wait(index, effects);
        } else {
            self.send_next(now, index, effects);
        }
    }

    /// Begins to send the next packet of a port that is not busy.
    fn send_next(&mut self, now: u64, index: PortId, effects: &mut impl Effects) {
        let egress = &mut self.ports[usize::from(index)];
        if let Some((queue, pause)) = egress.frames.pop_front() {
            let kind = if pause { Kind::Pause } else { Kind::Resume };
            let frame = Packet { size: PFC_FRAME, queue, ..Packet::blank(kind) };
            egress.wire.send(now, index, frame, &self.int, effects);
            egress.wait(index, effects);
            return;
        }
        let Some(queue) = egress.choose(self.scheduler, self.queues) else { return };
        let Some(mut packet) = egress.queues[queue].pop(&mut self.int) else { return };
        let size = u64::from(packet.size);
        egress.lengths[queue] -= size;
        egress.length -= size;
        if egress.queues[queue].is_empty() {
            egress.waiting &= !(1 << queue);
        }
        if packet.kind == Kind::Data {
            packet.note_hop_delay(now - packet.time);
            let length = egress.lengths[queue];
            let entropy = || draw(self.stream ^ u64::from(packet.hash), packet.identity() ^ u64::from(index));
            if let Some(marking) = &egress.marking
                && marking.marks(length, entropy)
            {
                packet.flags |= flag::MARKED;
                egress.wire.marked += 1;
            }
            if packet.is(flag::INT)
                && let Some(record) = self.int.get_mut(usize::from(packet.hops))
            {
                *record = IntRecord {
                    at: now,
                    transmitted: egress.wire.transmitted,
                    queue: u32::try_from(egress.length).unwrap_or(u32::MAX),
                    rate: egress.rate,
                };
                packet.hops += 1;
            }
        }
        let (ingress, class) = (packet.ingress, queue);
        egress.wire.send(now, index, packet, &self.int, effects);
        egress.wait(index, effects);
        let resume = self.buffer.release(usize::from(ingress) * self.queues + class, size);
        if resume {
            self.signal(now, ingress, class as u8, false, effects);
        }
    }

    /// The link of a port has another rate from now on: the one with this index.
    pub(crate) fn set_rate(&mut self, port: PortId, rate: u32) {
        self.ports[usize::from(port)].rate = rate;
    }

    pub(crate) fn sample(&self, time: u64, port: PortId) -> Option<PortSample> {
        let egress = self.ports.get(usize::from(port))?;
        Some(egress.wire.sample(time, self.node, port, egress.length))
    }

    /// Handles an event other than an arrival.
    #[inline]
    pub(crate) fn handle(&mut self, event: Event, effects: &mut impl Effects) {
        if event.kind() == EventKind::Departed {
            self.departed(event.time(), event.entity() as PortId, effects);
        }
    }
}

impl Egress {
    /// Has the port called when its wire falls free, if there is something that may be sent then.
    #[inline]
    fn wait(&mut self, index: PortId, effects: &mut impl Effects) {
        if self.waiting & !self.wire.paused != 0 || !self.frames.is_empty() {
            self.wire.call_when_free(index, effects);
        }
    }

    /// The queue to serve next.
    #[inline]
    fn choose(&mut self, scheduler: Scheduler, queues: usize) -> Option<usize> {
        let ready = self.waiting & !self.wire.paused;
        if ready == 0 {
            return None;
        }
        match scheduler {
            Scheduler::StrictPriority => Some(ready.trailing_zeros() as usize),
            Scheduler::RoundRobin => {
                let queue = (0..queues).map(|i| (self.turn + i) % queues).find(|q| ready & (1 << q) != 0)?;
                self.turn = (queue + 1) % queues;
                Some(queue)
            }
        }
    }

    /// Packets in its queues, with the queue of each.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (u8, &Packet)> {
        self.queues.iter().enumerate().flat_map(|(q, line)| line.iter().map(move |p| (q as u8, p)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_cc::Fixed;
    use incast_units::Bytes;

    #[test]
    fn marks_follow_the_red_curve() {
        let ecn = Ecn {
            kmin: Bytes::new(400_000),
            kmax: Bytes::new(1_600_000),
            pmax: Fixed::ratio(1, 5),
            reference: Some(Rate::from_gbps(100)),
        };
        let marking = Marking::new(&ecn, Rate::from_gbps(400));
        assert_eq!((marking.kmin, marking.kmax), (1_600_000, 6_400_000));
        let share = |length| (0..100_000).filter(|i| marking.marks(length, || draw(3, *i))).count();
        assert_eq!(share(1_600_000), 0);
        assert_eq!(share(6_400_000), 100_000);
        // Half way up the curve P = 0.1: mean 10_000, standard deviation 95; five of them.
        assert!((9_525..=10_475).contains(&share(4_000_000)), "{}", share(4_000_000));
    }
}
