//! The way of a packet through a plain switch: one queue a port, nothing trimmed, marks at dequeue. It is what
//! [`Switch::take`] and [`Switch::serve`] do, without what cannot occur here; most packet-hops of most simulations are of
//! this kind. The reference engine does not take this way.

use incast_engine::event::Effects;
use incast_net::describe::network::PortId;
use incast_net::packet::{IntRecords, Kind, Packet};
use incast_net::rules::{Admission, Buffer};

use super::{Egress, Fields, Switch};
use crate::facts::fabric::Fabric;

/// The only queue.
const QUEUE: u8 = 0;

impl Switch {
    /// Whether it is plain.
    pub(super) fn can_be_plain(&self) -> bool {
        self.queues == 1 && self.trimming.is_none() && self.fields.marks
    }

    /// A packet that is no pause frame has arrived at a plain switch, whose ports depart late or do not: where they do,
    /// nothing is paused.
    #[inline(always)]
    pub(super) fn arrive_plainly<const LATE: bool, E: Effects>(
        &mut self,
        now: u64,
        port: PortId,
        packet: &mut Packet,
        int: &mut IntRecords,
        fabric: &Fabric,
        effects: &mut E,
    ) {
        if packet.policy() != 0 {
            self.settle_all(now, effects);
        }
        let Some(to) = self.route(now, packet, fabric) else {
            effects.tally().counts.lost += u64::from(packet.kind == Kind::Data);
            return;
        };
        if LATE {
            self.forward_late(now, port, to, packet, int, effects);
        } else {
            self.forward(now, port, to, packet, int, effects);
        }
    }

    /// A packet from `port` leaves by port `to`, where nothing is ever paused and departures are no events.
    #[inline(always)]
    fn forward_late<E: Effects>(
        &mut self,
        now: u64,
        port: PortId,
        to: PortId,
        packet: &mut Packet,
        int: &mut IntRecords,
        effects: &mut E,
    ) {
        let Self { ports, buffer, fields, departing, .. } = self;
        let mut egress = &mut ports[usize::from(to)];
        if egress.wire.is_due(now) {
            let last = egress.send_due_plainly(now, to, (&mut self.int, buffer, *fields), effects);
            self.last_departure = self.last_departure.max(last);
            egress = &mut ports[usize::from(to)];
        }
        let size = u64::from(packet.size);
        let waits = egress.wire.is_busy(now);
        // Where a port is idle nothing waits for it.
        let length = if waits { egress.queues.length() } else { 0 };
        let admission = if waits { buffer.admit_alone(length, size) } else { buffer.pass_alone(size) };
        if admission == Admission::Drop {
            return self.drop(now, (port, QUEUE), to, packet, effects);
        }
        packet.time = now;
        packet.ingress = port;
        egress.wire.peak = egress.wire.peak.max(length + size);
        if !waits {
            return egress.parts().1.send_at_once(now, to, packet, int, *fields, effects);
        }
        egress.queues.push(QUEUE, packet, int);
        if egress.wire.request_late_departure() {
            departing.push(to);
        }
    }

    /// A packet from `port` leaves by port `to`.
    #[inline(always)]
    fn forward<E: Effects>(
        &mut self,
        now: u64,
        port: PortId,
        to: PortId,
        packet: &mut Packet,
        int: &mut IntRecords,
        effects: &mut E,
    ) {
        let size = u64::from(packet.size);
        let ingress = self.ingress(port, QUEUE);
        let egress = &mut self.ports[usize::from(to)];
        let length = egress.queues.length();
        if egress.passes_alone(now, QUEUE) && self.buffer.pass(ingress, size) {
            packet.time = now;
            packet.ingress = port;
            egress.wire.peak = egress.wire.peak.max(size);
            return egress.parts().1.send_at_once(now, to, packet, int, self.fields, effects);
        }
        match self.buffer.admit(ingress, length, length, size) {
            Admission::Stay => {}
            Admission::StayAndPause => self.signal(now, port, QUEUE, true, effects),
            Admission::Drop => return self.drop(now, (port, QUEUE), to, packet, effects),
        }
        packet.time = now;
        packet.ingress = port;
        let egress = &mut self.ports[usize::from(to)];
        egress.wire.peak = egress.wire.peak.max(length + size);
        if egress.wire.is_busy(now) {
            egress.queues.push(QUEUE, packet, int);
            egress.expect_departure(to, effects);
        } else if length == 0 && !egress.wire.is_paused(QUEUE) && !egress.has_frames() {
            egress.parts().1.send_at_once(now, to, packet, int, self.fields, effects);
            self.release(now, QUEUE, (port, packet.size), effects);
        } else {
            egress.queues.push(QUEUE, packet, int);
            self.serve(now, to, effects);
        }
    }

    /// A port of a plain switch where departures are events has become idle.
    #[inline(always)]
    pub(super) fn depart_plainly<E: Effects>(&mut self, now: u64, index: PortId, effects: &mut E) {
        let egress = &mut self.ports[usize::from(index)];
        egress.wire.departed();
        if egress.wire.is_busy(now) || egress.wire.is_paused(QUEUE) || egress.has_frames() {
            return self.serve(now, index, effects);
        }
        let (fields, (queues, wire)) = (self.fields, egress.parts());
        let sent = queues.pass_first(QUEUE, &mut self.int, |packet, int, left| {
            wire.send(now, index, left, packet, int, fields, effects);
            (packet.ingress, packet.size)
        });
        if egress.queues.length() > 0 {
            egress.expect_departure(index, effects);
        }
        if let Some(packet) = sent {
            self.release(now, QUEUE, packet, effects);
        }
    }

    /// Sends what is due by `now` at a port of a plain switch that departs late, of which there is something.
    #[inline(never)]
    pub(super) fn send_due_plainly(&mut self, now: u64, index: PortId, effects: &mut impl Effects) {
        let Self { ports, buffer, fields, int, .. } = self;
        let last = ports[usize::from(index)].send_due_plainly(now, index, (int, buffer, *fields), effects);
        self.last_departure = self.last_departure.max(last);
    }
}

impl Egress {
    /// A packet waits while the port is busy: requests a departure, if the packet, or a frame, may be sent then.
    #[inline(always)]
    fn expect_departure<E: Effects>(&mut self, index: PortId, effects: &mut E) {
        if !self.wire.is_paused(QUEUE) || self.has_frames() {
            self.wire.request_departure(index, effects);
        }
    }

    /// Sends what is due by `now`, of which there is something, where departures are no events. Returns the time of the last
    /// departure. (ps)
    #[inline(never)]
    fn send_due_plainly(
        &mut self,
        now: u64,
        index: PortId,
        (int, buffer, fields): (&mut IntRecords, &mut Buffer, Fields),
        effects: &mut impl Effects,
    ) -> u64 {
        let mut last = 0;
        while let Some(due) = self.wire.departure().filter(|due| *due <= now) {
            last = due;
            self.wire.departed();
            let (queues, wire) = self.parts();
            let size = queues.pass_first(QUEUE, int, |packet, int, left| {
                wire.send(due, index, left, packet, int, fields, effects);
                packet.size
            });
            // Nothing is paused where ports depart late.
            buffer.release_alone(size.map_or(0, u64::from));
            if self.queues.length() > 0 {
                self.wire.request_late_departure();
            }
        }
        last
    }
}
