//! Packets, by value: one cache line, and a separate INT stack only if an algorithm needs it.

use incast_cc::{IntHop, IntStack};
use incast_recovery::Report;
use incast_units::{Bytes, Rate, Time};

/// Number in three bits of a packet by which switches handle it: 0 by its hash, or the number of a policy.
pub type PolicyId = u8;

/// The policy number of a packet that has an entropy which switches ignore.
pub const ONE_PATH: PolicyId = 7;

/// Returns the hash by which packets with [`ONE_PATH`] choose among equal paths, whatever their entropy.
#[inline]
pub const fn without_entropy(hash: u32) -> u32 {
    hash & !0xffff
}

/// The kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Payload from sender to receiver.
    Data,
    /// Acknowledgement from receiver to sender.
    Ack,
    /// A report that `sequence` is missing.
    Nack,
    /// Congestion notification from receiver to sender.
    Cnp,
    /// A control packet of a kind that only its transport knows: [`Packet::op`] says which.
    Own,
    /// PFC frame: stop sending from queue `queue`.
    Pause,
    /// PFC frame: resume.
    Resume,
    /// A data packet whose payload a switch has removed (packet trimming).
    Header,
    /// Such a header on its way back to the sender.
    Returned,
    /// Frame of backpressure flow control that says which queues are paused, in the format of
    /// [`PauseMap`](crate::pause_map::PauseMap).
    PauseMap,
}

/// Size on the wire of a PFC frame.
pub const PFC_FRAME: u16 = 64;

/// Bits of [`Packet::flags`].
pub mod flag {
    /// Congestion experienced (ECN).
    pub const MARKED: u8 = 1;
    /// An INT stack accompanies this packet.
    pub const INT: u8 = 2;
    /// The last packet of its flow: its acknowledgement is not held back.
    pub const LAST: u8 = 4;
    /// The sender waits for its acknowledgement, which is not held back.
    pub const ASKS: u8 = 8;
    /// An acknowledgement that has a bitmap.
    pub const BITMAP: u8 = 16;
    /// Of a data packet, for which the bit has no other meaning: a ToR announced a circuit to it.
    pub const CIRCUIT: u8 = BITMAP;
    /// Of an acknowledgement, for which the bit has no other meaning: so did the data packet.
    pub const CIRCUIT_ECHO: u8 = LAST;
    /// The place of the lowest bit of [`Packet::policy`](super::Packet::policy).
    pub(super) const POLICY_SHIFT: u32 = 5;
}

/// Picoseconds in one step of [`Packet::hop_delay`]: 32 bits of them span 275 ms.
const STEP_SHIFT: u32 = 6;

/// A packet on a link or in a queue: a header of 28 bytes that switches read and write, and a body of
/// 36 bytes that only hosts read, in the format of their transport ([`Data`], [`Ack`]).
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Packet {
    /// On a link: the time at which its last bit arrives at the far end. In a queue: its arrival time. (ps)
    pub time: u64,
    /// The destination host.
    pub destination: u32,
    /// The flow's hash for ECMP.
    pub hash: u32,
    /// Largest queueing delay of one hop so far, in steps of 64 ps; an acknowledgement echoes it.
    pub hop_delay: u32,
    /// Size on the wire.
    pub size: u16,
    /// In a switch, the ingress port. On a link, the number by which backpressure flow control knows the queue
    /// that the packet left, or that a frame pauses or resumes.
    pub ingress: u16,
    /// Its kind.
    pub kind: Kind,
    /// Its queue (priority); for a PFC frame the queue that it pauses or resumes.
    pub queue: u8,
    /// Bits of [`flag`].
    pub flags: u8,
    /// Records in its INT stack; of an own packet of a transport, which has none, its [`op`](Self::op).
    pub hops: u8,
    /// The part that only hosts read.
    pub body: Body,
}

const _: () = assert!(size_of::<Packet>() == 64);

/// The part of a packet that only hosts read, as words.
///
/// The first two words are the packet's identity: random draws about it depend on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Body(pub [u32; 9]);

impl Body {
    /// Adds this origin to the body of a data packet.
    #[inline]
    pub const fn from(mut self, origin: Origin) -> Self {
        self.0[7] |= (origin.index_high as u32) << 16;
        self.0[8] = origin.rest;
        self
    }

    /// Words of 64 bits that it holds.
    pub const WORDS: usize = 4;

    /// A body of these words.
    #[inline]
    pub fn of_words(words: &[u64]) -> Self {
        let mut body = Self::default();
        for (pair, word) in body.0.chunks_exact_mut(2).zip(words) {
            (pair[0], pair[1]) = (low(*word), high(*word));
        }
        body
    }

    /// The words.
    #[inline]
    pub fn words(&self) -> [u64; Self::WORDS] {
        std::array::from_fn(|i| joined(self.0[2 * i], self.0[2 * i + 1]))
    }
}

/// Returns the lower half of a word.
#[inline]
pub const fn low(x: u64) -> u32 {
    x as u32
}

/// Returns the upper half of a word.
#[inline]
pub const fn high(x: u64) -> u32 {
    (x >> 32) as u32
}

/// Returns the word of two halves.
#[inline]
pub const fn joined(low: u32, high: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

/// The body of a data packet of the window transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Position of its first payload byte.
    pub sequence: u64,
    /// Time at which its first bit left the sender. (ps)
    pub sent: u64,
    /// The receiver's index of the flow.
    pub slot: u32,
    /// Bytes in flight when it was sent, itself included.
    pub inflight: u32,
    /// Its number within the flow, modulo 2^32.
    pub number: u32,
    /// Payload bytes.
    pub payload: u16,
}

impl Data {
    /// Packs it.
    #[inline]
    pub const fn body(&self) -> Body {
        Body([
            low(self.sequence),
            high(self.sequence),
            low(self.sent),
            high(self.sent),
            self.slot,
            self.inflight,
            self.number,
            self.payload as u32,
            0,
        ])
    }

    /// Unpacks it.
    #[inline]
    pub const fn of(Body(w): &Body) -> Self {
        Self {
            sequence: joined(w[0], w[1]),
            sent: joined(w[2], w[3]),
            slot: w[4],
            inflight: w[5],
            number: w[6],
            payload: w[7] as u16,
        }
    }
}

/// Origin of a data packet, for headers that are returned: the source host and the sender's index of the
/// flow, of 24 bits each. It lies in the part of a body that [`Data`] leaves free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    index_high: u16,
    rest: u32,
}

/// The largest source host and the largest index of a flow that an [`Origin`] can name.
pub const LARGEST_ORIGIN: u32 = (1 << 24) - 1;

impl Origin {
    /// Names a host and the sender's index of a flow.
    #[inline]
    pub const fn new(host: u32, index: u32) -> Self {
        Self { index_high: (index >> 8) as u16, rest: host & LARGEST_ORIGIN | index << 24 }
    }

    /// Returns the source host.
    #[inline]
    pub const fn host(self) -> u32 {
        self.rest & LARGEST_ORIGIN
    }

    /// Returns the sender's index of the flow.
    #[inline]
    pub const fn index(self) -> u32 {
        (self.index_high as u32) << 8 | self.rest >> 24
    }
}

/// Longest one-way delay and holding time that an acknowledgement can carry: 40 bits of picoseconds, 1.1 s.
const LONGEST: u64 = (1 << 40) - 1;
/// The part of the send time that an acknowledgement with a bitmap echoes: 48 bits of picoseconds, 281 s.
const SENT: u64 = (1 << 48) - 1;
/// The largest index of a flow that an acknowledgement with a bitmap can carry.
pub const LARGEST_SLOT: u32 = (1 << 24) - 1;

/// The body of an acknowledgement, a NACK or a CNP of the window transport. An acknowledgement with a bitmap
/// ([`flag::BITMAP`]) has no room for `inflight`, echoes `sent` modulo 281 s, and tells `held` in steps of
/// 64 ps, at most 275 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Time at which the data packet's first bit left the sender, echoed. (ps)
    pub sent: u64,
    /// Time at which the data packet arrived at the receiver; at most 1.1 s after it was sent. (ps)
    pub received: u64,
    /// Time for which the acknowledgement was held back after that; at most 1.1 s. (ps)
    pub held: u64,
    /// The sender's index of the flow.
    pub slot: u32,
    /// Bytes in flight when the data packet was sent, echoed; the mean if it covers several packets.
    pub inflight: u32,
    /// Number of the packet that the receiver expects next, modulo 2^32.
    pub expected: u32,
    /// Distance of the number of the packet that caused this from `expected`; saturates.
    pub offset: i16,
    /// Flows open at the receiver.
    pub flows: u16,
    /// Data packets that it covers.
    pub packets: u8,
    /// Number of them that were marked.
    pub marked: u8,
    /// Bitmap of the packets after the expected one that have arrived: 64 from
    /// [`incast_recovery::first_of_bitmap`] on, the first in the lowest bit.
    pub bitmap: u64,
}

impl Ack {
    /// Returns its report about packets.
    #[inline(always)]
    pub const fn report(&self) -> Report {
        Report {
            sent: self.sent,
            expected: self.expected,
            offset: self.offset,
            inflight: self.inflight,
            bitmap: self.bitmap,
        }
    }

    #[inline(always)]
    fn body(&self) -> Body {
        let delay = self.received.saturating_sub(self.sent).min(LONGEST);
        let held = self.held.min(LONGEST);
        let offset = u32::from(self.offset as u16);
        Body([
            low(self.sent),
            high(self.sent),
            low(delay),
            low(held),
            high(delay) | high(held) << 8 | offset << 16,
            self.slot,
            self.inflight,
            self.expected,
            u32::from(self.flows) | u32::from(self.packets) << 16 | u32::from(self.marked) << 24,
        ])
    }

    #[inline(always)]
    const fn of(Body(w): &Body) -> Self {
        let sent = joined(w[0], w[1]);
        Self {
            sent,
            received: sent + joined(w[2], w[4] & 0xff),
            held: joined(w[3], w[4] >> 8 & 0xff),
            offset: (w[4] >> 16) as i16,
            slot: w[5],
            inflight: w[6],
            expected: w[7],
            flows: w[8] as u16,
            packets: (w[8] >> 16) as u8,
            marked: (w[8] >> 24) as u8,
            bitmap: 0,
        }
    }

    #[inline]
    fn body_with_bitmap(&self) -> Body {
        let delay = self.received.saturating_sub(self.sent).min(LONGEST);
        let held = u32::try_from(self.held >> STEP_SHIFT).unwrap_or(u32::MAX);
        let sent = self.sent & SENT;
        Body([
            low(sent),
            high(sent) | u32::from(self.offset as u16) << 16,
            low(delay),
            held,
            high(delay) | u32::from(self.marked) << 8 | u32::from(self.flows) << 16,
            self.slot | u32::from(self.packets) << 24,
            self.expected,
            low(self.bitmap),
            high(self.bitmap),
        ])
    }

    /// Reads it at `now`, at most 281 s after the data packet was sent.
    #[inline(always)]
    const fn with_bitmap(Body(w): &Body, now: u64) -> Self {
        let sent = now - (now.wrapping_sub(joined(w[0], w[1] & 0xffff)) & SENT);
        Self {
            sent,
            received: sent + joined(w[2], w[4] & 0xff),
            held: (w[3] as u64) << STEP_SHIFT,
            offset: (w[1] >> 16) as i16,
            slot: w[5] & LARGEST_SLOT,
            inflight: 0,
            expected: w[6],
            flows: (w[4] >> 16) as u16,
            packets: (w[5] >> 24) as u8,
            marked: (w[4] >> 8) as u8,
            bitmap: joined(w[7], w[8]),
        }
    }
}

impl Packet {
    /// A packet with only its kind set.
    #[inline]
    pub const fn blank(kind: Kind) -> Self {
        Self {
            time: 0,
            destination: 0,
            hash: 0,
            hop_delay: 0,
            size: 0,
            ingress: 0,
            kind,
            queue: 0,
            flags: 0,
            hops: 0,
            body: Body([0; 9]),
        }
    }

    /// A control packet that only its transport knows, by a number that the transport defines.
    #[inline]
    pub const fn own(op: u8) -> Self {
        Self { hops: op, ..Self::blank(Kind::Own) }
    }

    /// Returns the transport's number for an own packet of it; `None` for any other packet.
    #[inline]
    pub const fn op(&self) -> Option<u8> {
        match self.kind {
            Kind::Own => Some(self.hops),
            _ => None,
        }
    }

    /// Returns whether a bit of [`flag`] is set.
    #[inline]
    pub const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Returns the content of an acknowledgement, a NACK or a CNP, read at `now`.
    #[inline(always)]
    pub const fn ack(&self, now: u64) -> Ack {
        if self.is(flag::BITMAP) { Ack::with_bitmap(&self.body, now) } else { Ack::of(&self.body) }
    }

    /// Writes what an acknowledgement, a NACK or a CNP says.
    #[inline(always)]
    pub fn set_ack(&mut self, ack: &Ack) {
        self.body = if self.is(flag::BITMAP) { ack.body_with_bitmap() } else { ack.body() };
    }

    /// Writes what is a data packet's own to its body: the position of its first payload byte, the time at which its first
    /// bit leaves (ps), the bytes in flight with it, and its number. What all packets of a message share stays.
    #[inline(always)]
    pub fn set_data(&mut self, sequence: u64, sent: u64, inflight: u32, number: u32) {
        let Body(words) = &mut self.body;
        (words[0], words[1]) = (low(sequence), high(sequence));
        (words[2], words[3]) = (low(sent), high(sent));
        (words[5], words[6]) = (inflight, number);
    }

    /// Returns the origin of a data packet, or of a header that is left of one.
    #[inline]
    pub const fn origin(&self) -> Origin {
        Origin { index_high: (self.body.0[7] >> 16) as u16, rest: self.body.0[8] }
    }

    /// Returns a number for random draws that distinguishes this packet from the others of its flow.
    #[inline]
    pub const fn identity(&self) -> u64 {
        joined(self.body.0[0], self.body.0[1])
    }

    /// Returns a number for random draws that distinguishes this copy of the packet from other copies that
    /// were sent.
    #[inline]
    pub const fn copy(&self) -> u64 {
        joined(self.body.0[2], self.body.0[3])
    }

    /// The hash that chooses among equal paths, in switches and in hosts with several ports.
    #[inline]
    pub const fn path_hash(&self) -> u32 {
        if self.policy() == ONE_PATH { without_entropy(self.hash) } else { self.hash }
    }

    /// Returns the number by which switches choose among equal paths for it.
    #[inline]
    pub const fn policy(&self) -> PolicyId {
        self.flags >> flag::POLICY_SHIFT
    }

    /// The bits of its flags that say so.
    #[inline]
    pub const fn policy_flags(policy: PolicyId) -> u8 {
        policy << flag::POLICY_SHIFT
    }

    /// Records the queueing delay at one hop.
    #[inline]
    pub fn note_hop_delay(&mut self, ps: u64) {
        let steps = u32::try_from(ps >> STEP_SHIFT).unwrap_or(u32::MAX);
        self.hop_delay = self.hop_delay.max(steps);
    }

    /// The largest queueing delay of one hop.
    #[inline]
    pub fn hop_delay(&self) -> Time {
        Time::from_ps(u64::from(self.hop_delay) << STEP_SHIFT)
    }
}

/// The record that one switch port writes into a packet, in the simulator's compact format.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct IntRecord {
    /// Time at which the packet was taken from the queue. (ps)
    pub at: u64,
    /// Bytes that the port had transmitted before.
    pub transmitted: u64,
    /// Bytes left in the port's queues.
    pub queue: u32,
    /// The port's rate, an index into the table of rates.
    pub rate: u32,
}

/// The INT stack of one packet; [`Packet::hops`] is the number of valid records.
pub type IntRecords = [IntRecord; incast_cc::contract::MAX_INT_HOPS];

/// The stack of a packet that carries none.
pub static NO_INT: IntRecords =
    [IntRecord { at: 0, transmitted: 0, queue: 0, rate: 0 }; incast_cc::contract::MAX_INT_HOPS];

/// Writes the first `count` records in the format of the algorithms.
#[inline]
pub fn unpack_int(records: &IntRecords, count: u8, rates: &[Rate], stack: &mut IntStack) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_keep_what_they_are_given() {
        let data = Data {
            sequence: u64::MAX - 5,
            sent: 1 << 63 | 77,
            slot: u32::MAX - 1,
            inflight: u32::MAX - 2,
            number: u32::MAX - 3,
            payload: u16::MAX - 4,
        };
        assert_eq!(Data::of(&data.body()), data);
        assert_eq!(Packet { body: data.body(), ..Packet::blank(Kind::Data) }.identity(), u64::MAX - 5);
        let origin = Origin::new(LARGEST_ORIGIN - 6, LARGEST_ORIGIN - 7);
        let packet = Packet { body: data.body().from(origin), ..Packet::blank(Kind::Header) };
        assert_eq!(
            (packet.origin().host(), packet.origin().index()),
            (LARGEST_ORIGIN - 6, LARGEST_ORIGIN - 7)
        );
        assert_eq!(Data::of(&packet.body), data);
        let ack = Ack {
            sent: 1 << 62 | 5,
            received: (1 << 62 | 5) + LONGEST,
            held: LONGEST - 1,
            slot: u32::MAX - 1,
            inflight: u32::MAX - 2,
            expected: u32::MAX - 3,
            offset: -32_768,
            flows: u16::MAX - 4,
            packets: 255,
            marked: 254,
            bitmap: 0,
        };
        assert_eq!(Ack::of(&ack.body()), ack);
        // Longer values saturate.
        let longer = Ack { received: ack.received + 1, held: u64::MAX, ..ack };
        assert_eq!(Ack::of(&longer.body()), Ack { held: LONGEST, ..ack });
        // With a bitmap.
        let ack = Ack { held: 12_345 << 6, slot: LARGEST_SLOT - 1, inflight: 0, bitmap: 1 << 63 | 5, ..ack };
        let mut packet = Packet { flags: flag::BITMAP, ..Packet::blank(Kind::Ack) };
        packet.set_ack(&ack);
        for later in [0, 1, 280_000_000_000_000] {
            assert_eq!(packet.ack(ack.sent + later), ack);
        }
        // It tells the holding time to 64 ps.
        packet.set_ack(&Ack { held: 64 + 63, ..ack });
        assert_eq!(packet.ack(ack.sent).held, 64);
        packet.set_ack(&Ack { held: u64::MAX, ..ack });
        assert_eq!(packet.ack(ack.sent).held, u64::from(u32::MAX) << 6);
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
