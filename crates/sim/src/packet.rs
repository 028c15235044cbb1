//! Packets, by value: one cache line, and an INT stack beside it only where an algorithm needs it.

use incast_cc::{IntHop, IntStack};
use incast_units::{Bytes, Rate, Time};

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Payload from sender to receiver.
    Data,
    /// Acknowledgement from receiver to sender.
    Ack,
    /// A report that `sequence` is missing.
    Nack,
    /// Congestion notification from receiver to sender.
    Cnp,
    /// PFC frame: stop sending from queue `queue`.
    Pause,
    /// PFC frame: go on.
    Resume,
}

/// Size on the wire of a PFC frame.
pub(crate) const PFC_FRAME: u16 = 64;

/// Bits of [`Packet::flags`].
pub(crate) mod flag {
    /// Congestion experienced (ECN).
    pub(crate) const MARKED: u8 = 1;
    /// An INT stack travels beside this packet.
    pub(crate) const INT: u8 = 2;
    /// The last packet of its flow, whose acknowledgement is not held back.
    pub(crate) const LAST: u8 = 4;
    /// The sender's congestion control reads ECN marks through CNPs.
    pub(crate) const CNP: u8 = 8;
}

/// Picoseconds in one step of [`Packet::hop_delay`]: 32 bits of them span 275 ms.
const HOP_DELAY_STEP_SHIFT: u32 = 6;

/// A packet on a link or in a queue.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Packet {
    /// On a link: when its last bit arrives at the far end. In a queue: when it came in. (ps)
    pub(crate) time: u64,
    /// Data: when its first bit left the sender. Acknowledgement: the same, echoed. (ps)
    pub(crate) sent: u64,
    /// Acknowledgement: when the data packet arrived at the receiver. (ps)
    pub(crate) received: u64,
    /// Data: position of its first payload byte. Acknowledgement and NACK: position of the next byte
    /// that the receiver expects.
    pub(crate) sequence: u64,
    /// The host it goes to.
    pub(crate) destination: u32,
    /// Data: the receiver's index of the flow. Otherwise: the sender's.
    pub(crate) slot: u32,
    /// The flow's hash for ECMP.
    pub(crate) hash: u32,
    /// Bytes in flight when the data packet was sent, itself included; echoed.
    pub(crate) inflight: u32,
    /// Largest queueing delay of one hop so far, in steps of 64 ps; echoed.
    pub(crate) hop_delay: u32,
    /// The port of the present switch through which it came in.
    pub(crate) ingress: u16,
    /// Size on the wire.
    pub(crate) size: u16,
    /// Data: payload bytes. Acknowledgement: flows open at the receiver.
    pub(crate) payload: u16,
    /// Acknowledgement: data packets that it stands for.
    pub(crate) packets: u8,
    /// Acknowledgement: how many of them were marked.
    pub(crate) marked: u8,
    /// What it is.
    pub(crate) kind: Kind,
    /// Its queue (priority); for a PFC frame the queue that it is about.
    pub(crate) queue: u8,
    /// Bits of [`flag`].
    pub(crate) flags: u8,
    /// Records in its INT stack.
    pub(crate) hops: u8,
}

const _: () = assert!(size_of::<Packet>() == 64);

impl Packet {
    /// A packet with nothing in it but its kind.
    pub(crate) const fn blank(kind: Kind) -> Self {
        Self {
            time: 0,
            sent: 0,
            received: 0,
            sequence: 0,
            destination: 0,
            slot: 0,
            hash: 0,
            inflight: 0,
            hop_delay: 0,
            ingress: 0,
            size: 0,
            payload: 0,
            packets: 1,
            marked: 0,
            kind,
            queue: 0,
            flags: 0,
            hops: 0,
        }
    }

    pub(crate) const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Takes note of a queueing delay at one hop.
    pub(crate) fn note_hop_delay(&mut self, ps: u64) {
        let steps = u32::try_from(ps >> HOP_DELAY_STEP_SHIFT).unwrap_or(u32::MAX);
        self.hop_delay = self.hop_delay.max(steps);
    }

    /// Copies what an acknowledgement echoes of the data packet's way.
    pub(crate) fn echo(&mut self, data: &Self) {
        self.sent = data.sent;
        self.inflight = data.inflight;
        self.hop_delay = data.hop_delay;
    }

    /// The largest queueing delay of one hop.
    pub(crate) fn hop_delay(&self) -> Time {
        Time::from_ps(u64::from(self.hop_delay) << HOP_DELAY_STEP_SHIFT)
    }
}

/// What one switch port writes into a packet, in the simulator's compact form.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct IntRecord {
    /// When the packet was taken from the queue. (ps)
    pub(crate) at: u64,
    /// Bytes that the port had transmitted before.
    pub(crate) transmitted: u64,
    /// Bytes left in the port's queues.
    pub(crate) queue: u32,
    /// The port's rate, an index into the table of rates.
    pub(crate) rate: u32,
}

/// The INT stack of one packet; how many records are valid stands in [`Packet::hops`].
pub(crate) type IntRecords = [IntRecord; incast_cc::contract::MAX_INT_HOPS];

/// Writes the first `count` records in the algorithms' form.
pub(crate) fn read_int(records: &IntRecords, count: u8, rates: &[Rate], stack: &mut IntStack) {
    stack.count = u32::from(count);
    for (hop, record) in stack.hops.iter_mut().zip(records).take(usize::from(count)) {
        *hop = IntHop {
            at: Time::from_ps(record.at),
            queue: Bytes::new(u64::from(record.queue)),
            transmitted: Bytes::new(record.transmitted),
            rate: rates.get(record.rate as usize).copied().unwrap_or_default(),
        };
    }
}

/// A first-in first-out line that stays at the beginning of its memory.
///
/// A ring buffer walks through all the memory that its longest moment took; with thousands of lines
/// that is what falls out of the cache. This one moves what is left to the front once as much has been
/// taken out as is left, which costs at most one more copy of an item.
#[derive(Debug)]
struct Line<T> {
    items: Vec<T>,
    head: usize,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { items: Vec::new(), head: 0 }
    }
}

impl<T: Copy> Line<T> {
    /// Fewer items than this are not worth moving the rest for.
    const SLACK: usize = 16;

    #[inline]
    fn push(&mut self, item: T) {
        self.items.push(item);
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        let item = *self.items.get(self.head)?;
        self.head += 1;
        let left = self.items.len() - self.head;
        if left == 0 {
            self.items.clear();
            self.head = 0;
        } else if self.head >= Self::SLACK && self.head >= left {
            self.items.copy_within(self.head.., 0);
            self.items.truncate(left);
            self.head = 0;
        }
        Some(item)
    }

    #[inline]
    fn waiting(&self) -> &[T] {
        self.items.get(self.head..).unwrap_or_default()
    }
}

/// A first-in first-out line of packets with the INT stacks of those that have one.
#[derive(Debug, Default)]
pub(crate) struct PacketQueue {
    packets: Line<Packet>,
    stacks: Line<IntRecords>,
}

impl PacketQueue {
    #[inline]
    pub(crate) fn push(&mut self, packet: Packet, int: Option<&IntRecords>) {
        if let Some(int) = int {
            self.stacks.push(*int);
        }
        self.packets.push(packet);
    }

    /// Takes the first packet; its INT stack, if it has one, is written to `int`.
    #[inline]
    pub(crate) fn pop(&mut self, int: &mut IntRecords) -> Option<Packet> {
        let packet = self.packets.pop()?;
        if packet.is(flag::INT)
            && let Some(stack) = self.stacks.pop()
        {
            *int = stack;
        }
        Some(packet)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.waiting().is_empty()
    }

    /// Packets in line, from the first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.packets.waiting().iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_back_what_went_in_in_order() {
        // Against a deque, through growth, emptiness and moves to the front.
        let mut line = Line::default();
        let mut plain = std::collections::VecDeque::new();
        for i in 0..5000_u64 {
            let burst = crate::random::draw(1, i) % 40;
            for j in 0..burst {
                line.push(i << 8 | j);
                plain.push_back(i << 8 | j);
            }
            for _ in 0..crate::random::draw(2, i) % 41 {
                assert_eq!(line.pop(), plain.pop_front());
            }
            assert_eq!(line.waiting(), plain.iter().copied().collect::<Vec<_>>());
        }
        assert!(line.items.len() <= 2 * plain.len() + Line::<u64>::SLACK);
    }

    #[test]
    fn hop_delay_keeps_the_largest() {
        let mut packet = Packet::blank(Kind::Data);
        packet.note_hop_delay(6400);
        packet.note_hop_delay(640);
        assert_eq!(packet.hop_delay(), Time::from_ps(6400));
        packet.note_hop_delay(u64::MAX);
        assert_eq!(packet.hop_delay(), Time::from_ps(u64::from(u32::MAX) << 6));
    }
}
