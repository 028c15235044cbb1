//! The way of a packet through a plain switch: one queue a port, nothing trimmed, marks at dequeue. It is what
//! [`Switch::take`] and [`Switch::serve`] do, without what cannot occur here; most packet-hops of most simulations are of
//! this kind. The reference engine does not take this way.

use incast_engine::event::Effects;
use incast_engine::model::Arrival;
use incast_net::describe::network::PortId;
use incast_net::describe::switch::Telemetry;
use incast_net::packet::{IntRecords, Kind, Packet};
use incast_net::rules::Admission;

use super::telemetry::{Hop, stamp};
use super::{Egress, Switch};
use crate::facts::fabric::Fabric;

/// The only queue.
const QUEUE: u8 = 0;

impl Switch {
    /// Whether it is plain.
    pub(super) fn can_be_plain(&self) -> bool {
        self.queues == 1 && self.trimming.is_none() && !self.marks_at_enqueue
    }

    /// A packet that is no pause frame has arrived at a plain switch, whose ports depart late or do not: where they do,
    /// nothing is paused.
    #[inline(always)]
    pub(super) fn arrive_plainly<const LATE: bool, E: Effects>(
        &mut self,
        arrival: Arrival,
        fabric: &Fabric,
        effects: &mut E,
    ) {
        let Arrival { now, port, packet, int } = arrival;
        if packet.policy() != 0 {
            self.settle_all(now, effects);
        }
        let Some(to) = self.route(now, packet, fabric) else {
            effects.tally().counts.lost += u64::from(packet.kind == Kind::Data);
            return;
        };
        if LATE && self.ports[usize::from(to)].wire.is_due(now) {
            self.send_due_plainly(now, to, effects);
        }
        let (size, length) = (u64::from(packet.size), self.ports[usize::from(to)].queues.length());
        let admission = match LATE {
            true => self.buffer.admit_alone(length, size),
            false => self.buffer.admit(self.ingress(port, QUEUE), length, length, size),
        };
        match admission {
            Admission::Stay => {}
            Admission::StayAndPause => self.signal(now, port, QUEUE, true, effects),
            Admission::Drop => return self.drop(now, (port, QUEUE), to, packet, effects),
        }
        packet.time = now;
        packet.ingress = port;
        let egress = &mut self.ports[usize::from(to)];
        egress.wire.peak = egress.wire.peak.max(length + size);
        if egress.wire.is_busy(now) {
            egress.queues.push(QUEUE, *packet, int);
            if !LATE {
                self.wait(to, effects);
            } else if egress.wire.request_late_departure() {
                self.departing.push(to);
            }
        } else if LATE || length == 0 && !egress.wire.is_paused(QUEUE) && !egress.has_frames() {
            transmit(now, to, egress, packet, int, (self.telemetry, self.stream), effects);
            if LATE {
                self.buffer.release_alone(size);
            } else {
                self.release(now, QUEUE, packet, effects);
            }
        } else {
            egress.queues.push(QUEUE, *packet, int);
            self.serve(now, to, effects);
        }
    }

    /// Sends what is due by `now` at a port of a plain switch that departs late, of which there is something.
    #[inline(never)]
    pub(super) fn send_due_plainly(&mut self, now: u64, index: PortId, effects: &mut impl Effects) {
        loop {
            let Self { ports, telemetry, stream, int, .. } = self;
            let egress = &mut ports[usize::from(index)];
            let Some(due) = egress.wire.departure().filter(|due| *due <= now) else { return };
            egress.wire.departed();
            self.last_departure = self.last_departure.max(due);
            let Some(mut packet) = egress.queues.pop(QUEUE, int) else { return };
            transmit(due, index, egress, &mut packet, int, (*telemetry, *stream), effects);
            if egress.queues.length() > 0 {
                egress.wire.request_late_departure();
            }
            // Nothing is paused where ports depart late.
            self.buffer.release_alone(u64::from(packet.size));
        }
    }
}

/// Marks a packet, stamps it and puts it on the wire.
#[inline(always)]
fn transmit(
    now: u64,
    index: PortId,
    egress: &mut Egress,
    packet: &mut Packet,
    int: &mut IntRecords,
    (telemetry, stream): (Telemetry, u64),
    effects: &mut impl Effects,
) {
    if packet.kind == Kind::Data {
        egress.mark(index, QUEUE, packet, stream);
        let queued = egress.queues.length();
        let hop = Hop { now, queued, transmitted: egress.wire.transmitted, rate: egress.rate };
        stamp(packet, int, telemetry, &hop);
    }
    egress.wire.send(now, index, packet, int, effects);
}
