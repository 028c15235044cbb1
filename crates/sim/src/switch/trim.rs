//! The way of a packet through a switch that trims.

use incast_engine::event::Effects;
use incast_net::describe::network::PortId;
use incast_net::packet::{IntRecords, Kind, Packet};

use super::Switch;
use super::trimming::{DATA, HEADERS, Trimming};
use crate::facts::fabric::Fabric;

impl Switch {
    /// A packet has arrived for port `to` of a switch that trims.
    #[inline(never)]
    #[allow(clippy::too_many_arguments, reason = "a packet and where it comes from and goes to")]
    pub(super) fn take_or_trim<E: Effects>(
        &mut self,
        now: u64,
        trimming: Trimming,
        (mut from, mut to): (PortId, PortId),
        packet: &mut Packet,
        int: &mut IntRecords,
        fabric: &Fabric,
        effects: &mut E,
    ) {
        if packet.kind == Kind::Data {
            let queues = &mut self.ports[usize::from(to)].queues;
            let (length, last) = (queues.length_of(DATA), queues.last_size(DATA));
            let size = u64::from(packet.size);
            if length + size <= trimming.data {
                return self.take(now, from, to, DATA, packet, int, effects);
            }
            // If the arriving packet has no room even in place of the last one, there is no choice.
            if length - last + size <= trimming.data
                && !trimming.trims_arriving(packet)
                && let Some(last) = queues.pop_last(DATA)
            {
                self.buffer.release(self.ingress(last.ingress, DATA), u64::from(last.size));
                self.take(now, from, to, DATA, packet, int, effects);
                (*packet, from) = (last, last.ingress);
            }
            trimming.trim(packet);
            self.ports[usize::from(to)].wire.trimmed += 1;
            effects.tally().counts.trimmed += 1;
        }
        let full = |switch: &Self, to: PortId, packet: &Packet| {
            let length = switch.ports[usize::from(to)].queues.length_of(HEADERS);
            length + u64::from(packet.size) > trimming.headers
        };
        if full(self, to, packet) && packet.kind == Kind::Header && trimming.return_to_sender {
            packet.kind = Kind::Returned;
            packet.destination = packet.origin().host();
            match self.route(now, packet, fabric) {
                Some(back) => {
                    self.settle(now, back, effects);
                    to = back;
                }
                None => return,
            }
        }
        if full(self, to, packet) {
            let wire = &mut self.ports[usize::from(to)].wire;
            wire.drops += 1;
            wire.dropped += u64::from(packet.size);
        } else {
            self.take(now, from, to, HEADERS, packet, int, effects);
        }
    }
}
