//! Loss recovery: the packets of a flow to send, and those that have arrived. This is the part of a reliable
//! transport that depends on neither clock nor network.
//!
//! The simulator's hosts and the transport for real packets both recover losses with it. Packets are numbered
//! from 0; times are picoseconds of the sender's clock.
//!
//! * [`Recovery`]: the sender's half. [`Selective`] sends again what is lost, [`GoBackN`] everything from there.
//! * [`AnyOrder`], [`InOrder`]: the receiver's half of each.
//! * [`Report`]: what an acknowledgement says to the one of the other.
//! * [`Log`]: the records that a sender keeps of packets in flight.

mod go_back_n;
mod log;
mod selective;
#[cfg(test)]
mod testing;

pub use go_back_n::{GoBackN, InOrder};
pub use log::{Log, SentPacket};
pub use selective::{AnyOrder, Selective, WINDOW};

use std::collections::VecDeque;

use incast_units::Time;

/// Event at which a sender takes a packet for lost before its retransmission timer expires, under selective
/// repeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repair {
    /// The arrival of [`Settings::repair_threshold`] packets with higher numbers.
    #[default]
    Threshold,
    /// The arrival of a packet that was sent [`Settings::repair_delay`] later.
    Lazy,
    /// Never.
    Never,
}

/// The settings of loss recoveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The rule.
    pub repair: Repair,
    /// Number of those packets with [`Repair::Threshold`]. Runs of delayed packets count from the same number
    /// on.
    pub repair_threshold: u32,
    /// With [`Repair::Lazy`]: so much.
    pub repair_delay: Time,
    /// Whether runs of delayed packets are counted.
    pub delayed_run: bool,
    /// Whether [`Acknowledged::record`] is asked for: without that a recovery may leave it out.
    pub records: bool,
}

/// TCP's three packets (RFC 6675, section 2).
impl Default for Settings {
    fn default() -> Self {
        Self {
            repair: Repair::Threshold,
            repair_threshold: 3,
            repair_delay: Time::ZERO,
            delayed_run: false,
            records: true,
        }
    }
}

/// Report of an acknowledgement about packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Time at which the packet that caused it was sent, echoed. (ps)
    pub sent: u64,
    /// Number of the packet that the receiver expects next, modulo 2^32.
    pub expected: u32,
    /// Distance of the number of the packet that caused it from `expected`; saturates.
    pub offset: i16,
    /// Bytes in flight when that packet was sent, echoed.
    pub inflight: u32,
    /// Bitmap of the packets after the expected one that have arrived: 64 from [`first_of_bitmap`] on, the
    /// first in the lowest bit.
    pub bitmap: u64,
}

/// The first packet in the bitmap of an acknowledgement: where possible the packet that caused it is in it.
#[must_use]
#[inline]
pub const fn first_of_bitmap(expected: u64, packet: u64) -> u64 {
    let (next, last) = (expected + 1, packet.saturating_sub(63));
    if last > next { last } else { next }
}

/// A receiver's classification of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The expected packet.
    Next,
    /// The expected packet, while others are kept: those directly after it are now in order too.
    Fills,
    /// A packet after a hole that is kept.
    Kept,
    /// A duplicate.
    Duplicate,
    /// A packet after a hole that is not kept; whether to report the hole to the sender.
    Early {
        /// Whether to.
        report: bool,
    },
}

/// Division of a flow's data into packets, in the bytes that count against its window.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Number of packets; [`u64::MAX`] for an open-ended flow.
    pub packets: u64,
    /// Bytes of a full packet.
    pub full: u64,
    /// Bytes of the last packet.
    pub last: u64,
    /// Of the messages of a connection before the last one: the packets that are not full. `None`: there are none.
    short: Option<Box<Short>>,
}

/// Packets that are not full, by number, with what each lacks.
type Short = VecDeque<(u64, u64)>;

impl Cut {
    /// A flow of `packets` packets, all but the last of which have `full` bytes.
    #[must_use]
    pub const fn new(packets: u64, full: u64, last: u64) -> Self {
        Self { packets, full, last, short: None }
    }

    /// No packets from number `packets` on, which has not been sent; those before it are full.
    pub fn end_at(&mut self, packets: u64) {
        if packets < self.packets {
            (self.packets, self.last) = (packets, self.full);
        }
    }

    /// Adds `packets` packets, the last of which has `last` bytes. Those before `acknowledged` are no longer asked
    /// for.
    pub fn extend(&mut self, packets: u64, last: u64, acknowledged: u64) {
        if self.last < self.full {
            let short = self.short.get_or_insert_default();
            while short.front().is_some_and(|(number, _)| *number < acknowledged) {
                short.pop_front();
            }
            short.push_back((self.packets - 1, self.full - self.last));
        }
        self.packets += packets;
        self.last = last;
    }

    /// Passes to `see` what can influence the future of a sender that has sent all packets before `next`, which are
    /// acknowledged.
    fn relate(&self, next: u64, see: See<'_>) {
        let Self { packets, full, last, short } = self;
        see("packets left", Some(packets - next));
        see("bytes of a full packet", Some(*full));
        see("bytes of the last packet", Some(*last));
        let later = short.iter().flat_map(|short| short.iter()).filter(|(number, _)| *number >= next);
        see("short packets", Some(later.count() as u64));
    }

    /// Bytes of one packet.
    #[inline(always)]
    pub fn bytes_of(&self, number: u64) -> u64 {
        let bytes = if number + 1 == self.packets { self.last } else { self.full };
        match &self.short {
            None => bytes,
            Some(short) => bytes - lacking(short, number, number + 1),
        }
    }

    /// Bytes of the packets from `from` up to, and without, `to`.
    #[inline(always)]
    pub fn bytes(&self, from: u64, to: u64) -> u64 {
        let all = (to - from) * self.full;
        let all = if to == self.packets && to > from { all - self.full + self.last } else { all };
        match &self.short {
            None => all,
            Some(short) => all - lacking(short, from, to),
        }
    }
}

/// Returns what the packets from `from` up to, and without, `to` lack.
#[inline(never)]
fn lacking(short: &Short, from: u64, to: u64) -> u64 {
    let first = short.partition_point(|(number, _)| *number < from);
    short.range(first..).take_while(|(number, _)| *number < to).map(|(_, lacks)| lacks).sum()
}

/// Packets that the transport considers lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Their bytes.
    pub bytes: u64,
    /// Time at which the first of them was last sent. (ps)
    pub sent: u64,
}

/// The effect of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// Bytes newly acknowledged.
    pub bytes: u64,
    /// Whether the cumulative acknowledgement advanced.
    pub advanced: bool,
    /// Whether it shows that packets are lost.
    pub hole: bool,
    /// Number of the packet that caused it.
    pub packet: u64,
    /// The record of that packet; `None` if it is no longer kept, or not [asked for](Settings::records).
    pub record: Option<SentPacket>,
    /// Bytes in flight when that packet was sent, itself included.
    pub inflight: u64,
}

/// A receiver of the words of a state, each with the name of its field; `None`: the state cannot be compared.
pub type See<'a> = &'a mut dyn FnMut(&'static str, Option<u64>);

/// The sender's half of a loss recovery. Packets are numbered from 0.
pub trait Recovery {
    /// Whether the receiver keeps packets that arrive out of order ([`AnyOrder`]) or drops them ([`InOrder`]).
    const KEEPS: bool = false;

    /// The state of a flow that has sent nothing.
    fn new(cut: Cut, settings: &Settings) -> Self;
    /// Passes to `see` what can influence the future of a sender all of whose packets are acknowledged, relative to the
    /// number of the next one. By default it cannot be compared.
    fn relate(&self, see: See<'_>) {
        see("recovery", None);
    }
    /// The number of the packet to send next; `None` when there is none.
    fn next(&self) -> Option<u64>;
    /// The packet [`next`](Self::next) is sent. Returns whether it was sent before.
    fn on_sent(&mut self, record: SentPacket) -> bool;
    /// An acknowledgement arrived that says this; `nack` when it reports a hole.
    fn on_ack(&mut self, report: &Report, nack: bool) -> Acknowledged;
    /// The longest run of packets, adjacent in number, that are delayed: not acknowledged while as many later ones
    /// are as make a packet lost by the threshold rule. Zero where that is not known or [`Settings`] do not ask.
    fn delayed_run(&self) -> u32 {
        0
    }
    /// Begins to recover the packets that the last [`on_ack`](Self::on_ack) showed to be lost.
    fn on_hole(&mut self) -> Lost;
    /// A header of packet `number` (modulo 2^32) without payload is reported: `None` if the copy that was sent at
    /// `sent` (ps) is no longer in flight.
    fn on_trim(&mut self, _number: u32, _sent: u64) -> Option<Lost> {
        None
    }
    /// The retransmission timer has expired.
    fn on_timeout(&mut self) -> Lost;
    /// From now on only packets that were sent before are sent.
    fn stop(&mut self);
    /// Another message of the connection follows: `packets` packets, full but for the last one, which has `last` bytes.
    fn extend(&mut self, packets: u64, last: u64);
    /// Bytes in flight.
    fn inflight(&self) -> u64;
    /// Number of packets that are cumulatively acknowledged.
    fn acknowledged(&self) -> u64;
    /// One past the last new packet that the flow is about to send or has sent (snd_nxt).
    fn position(&self) -> u64;
    /// Whether everything was acknowledged.
    fn is_done(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bitmap_begins_after_the_expected_packet_and_ends_no_earlier_than_the_cause() {
        assert_eq!(first_of_bitmap(10, 9), 11);
        assert_eq!(first_of_bitmap(10, 11), 11);
        assert_eq!(first_of_bitmap(10, 74), 11);
        assert_eq!(first_of_bitmap(10, 75), 12);
        assert_eq!(first_of_bitmap(0, 200), 137);
    }
}
