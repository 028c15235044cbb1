//! Packet trimming (NDP, SIGCOMM 2017, section 3.1): a port whose data queue is full removes the payload of a
//! packet and sends its header ahead of data.
//!
//! A port has two queues: one for data, one for headers and everything else that is not data. A header for which
//! its queue has no room goes back to its sender, once.

use super::Switch;
use crate::describe::network::{NodeId, PortId};
use crate::describe::switch::Trimming as Description;
use crate::engine::event::Effects;
use crate::engine::world::World;
use crate::packet::{IntRecords, Kind, Packet, flag};
use crate::random::{draw, mix};

/// The queue of headers and of everything else that is not data.
pub(crate) const HEADERS: u8 = 0;
/// The queue of data.
pub(crate) const DATA: u8 = 1;
/// The number of queues.
pub(crate) const QUEUES: u8 = 2;

/// Distinguishes the draws about trimming from others at the same switch.
const STREAM: u64 = 0x7472_696d_6d69_6e67;

/// A switch's settings of trimming.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trimming {
    data: u64,
    headers: u64,
    size: u16,
    return_to_sender: bool,
    /// Stream of the random draws.
    stream: u64,
}

impl Trimming {
    pub(super) fn new(description: &Description, seed: u64, node: NodeId) -> Self {
        Self {
            data: description.data.get(),
            headers: description.headers.unwrap_or(description.data).get(),
            size: u16::try_from(description.size.get()).unwrap_or(u16::MAX),
            return_to_sender: description.return_to_sender,
            stream: mix(seed ^ mix(u64::from(node) ^ STREAM)),
        }
    }

    /// Whether it is an arriving packet that is trimmed, not the last one in the queue: one time in two.
    fn trims_arriving(&self, packet: &Packet) -> bool {
        let item = packet.identity() ^ mix(packet.copy());
        draw(self.stream ^ u64::from(packet.hash), item) >> 63 == 0
    }

    /// Removes the payload of a packet.
    fn trim(&self, packet: &mut Packet) {
        packet.kind = Kind::Header;
        packet.size = packet.size.min(self.size);
        packet.flags &= !flag::INT;
        packet.hops = 0;
    }
}

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
        int: &IntRecords,
        world: &World,
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
            effects.tally().trimmed += 1;
        }
        let full = |switch: &Self, to: PortId, packet: &Packet| {
            let length = switch.ports[usize::from(to)].queues.length_of(HEADERS);
            length + u64::from(packet.size) > trimming.headers
        };
        if full(self, to, packet) && packet.kind == Kind::Header && trimming.return_to_sender {
            packet.kind = Kind::Returned;
            packet.destination = packet.origin().host();
            match self.route(now, packet, world) {
                Some(back) => to = back,
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
