//! Loss recovery: which packet a flow sends next, and which packets an acknowledgement covers or reports lost.
//!
//! To add one, write its file here and a line in `recoveries!` below.

mod go_back_n;
mod log;
mod selective;

pub(crate) use go_back_n::{GoBackN, InOrder};
pub(crate) use log::{Log, Record};
pub(crate) use selective::{AnyOrder, Selective};

use incast_units::Time;

use crate::describe::named;
use crate::describe::transport::{Repair, Transport};
use crate::packet::Ack;

/// The settings of loss recoveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) repair: Repair,
    pub(crate) repair_threshold: u32,
    pub(crate) repair_delay: Time,
    /// Whether runs of delayed packets are counted.
    pub(crate) delayed_run: bool,
}

impl Settings {
    /// The settings for a flow whose path has this base RTT.
    pub(crate) fn new(transport: &Transport, base_rtt: impl FnOnce() -> Time) -> Self {
        Self {
            repair: transport.repair,
            repair_threshold: transport.repair_threshold,
            repair_delay: match (transport.repair, transport.repair_delay) {
                (Repair::Lazy, None) => base_rtt(),
                (_, delay) => delay.unwrap_or_default(),
            },
            delayed_run: false,
        }
    }
}

#[cfg(test)]
impl Default for Settings {
    fn default() -> Self {
        Self::new(&Transport::default(), || Time::from_us(10))
    }
}

/// How a receiver classifies a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The expected packet.
    Next,
    /// The expected packet, while others are kept: those directly after it are now in order too.
    Fills,
    /// A packet after a hole that is kept.
    Kept,
    /// A duplicate.
    Duplicate,
    /// A packet after a hole that is not kept; whether to report the hole to the sender.
    Early { report: bool },
}

/// How the data of a flow is divided into packets, in the bytes that count against its window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// Number of packets; [`u64::MAX`] for an open-ended flow.
    pub(crate) packets: u64,
    /// Bytes of a full packet.
    pub(crate) full: u64,
    /// Bytes of the last packet.
    pub(crate) last: u64,
}

impl Cut {
    /// No packets from number `packets` on, which has not been sent; those before it are full.
    pub(crate) fn end_at(&mut self, packets: u64) {
        if packets < self.packets {
            *self = Self { packets, last: self.full, ..*self };
        }
    }

    /// Bytes of the packets from `from` up to, and without, `to`.
    #[inline]
    pub(crate) fn bytes(&self, from: u64, to: u64) -> u64 {
        let all = (to - from) * self.full;
        if to == self.packets && to > from { all - self.full + self.last } else { all }
    }
}

/// Packets that the transport considers lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    /// Their bytes.
    pub(crate) bytes: u64,
    /// When the first of them was last sent. (ps)
    pub(crate) sent: u64,
}

/// The effect of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    /// Bytes newly acknowledged.
    pub(crate) bytes: u64,
    /// Whether the cumulative acknowledgement advanced.
    pub(crate) advanced: bool,
    /// Whether it shows that packets are lost.
    pub(crate) hole: bool,
    /// Number of the packet that caused it.
    pub(crate) packet: u64,
    /// The record of that packet; `None` if it is no longer kept.
    pub(crate) record: Option<Record>,
    /// Bytes in flight when that packet was sent, itself included.
    pub(crate) inflight: u64,
}

/// The sender's half of a loss recovery. Packets are numbered from 0.
pub(crate) trait Recovery {
    /// Whether the receiver keeps packets that arrive out of order ([`AnyOrder`]) or drops them ([`InOrder`]).
    const KEEPS: bool = false;

    /// The state of a flow that has sent nothing.
    fn new(cut: Cut, settings: &Settings) -> Self;
    /// The number of the packet to send next; `None` when there is none.
    fn next(&self) -> Option<u64>;
    /// The packet [`next`](Self::next) is sent. Returns whether it was sent before.
    fn on_sent(&mut self, record: Record) -> bool;
    /// An acknowledgement arrived; `nack` when it reports a hole.
    fn on_ack(&mut self, ack: &Ack, nack: bool) -> Acknowledged;
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
    /// Bytes in flight.
    fn inflight(&self) -> u64;
    /// Number of packets that are cumulatively acknowledged.
    fn acknowledged(&self) -> u64;
    /// One past the last new packet that the flow is about to send or has sent (snd_nxt).
    fn position(&self) -> u64;
    /// Whether everything was acknowledged.
    fn is_done(&self) -> bool;
}

macro_rules! recoveries {
    ($($(#[cfg($cfg:meta)])? $name:literal => $variant:ident($recovery:ty): $meaning:literal;)+) => {
        named! {
            /// The loss recovery.
            pub enum Kind {
                $($(#[cfg($cfg)])? $name => $variant: $meaning,)+
            }
        }

        impl Kind {
            /// Whether the receiver keeps packets that arrive out of order.
            pub(crate) const fn keeps(self) -> bool {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant => <$recovery as Recovery>::KEEPS,)+
                }
            }
        }

        /// A flow's loss recovery, of any kind.
        #[derive(Debug)]
        pub(crate) enum AnyRecovery {
            $($(#[cfg($cfg)])? #[doc = $meaning] $variant($recovery),)+
        }

        impl AnyRecovery {
            pub(crate) fn new(kind: Kind, cut: Cut, settings: &Settings) -> Self {
                match kind {
                    $($(#[cfg($cfg)])? Kind::$variant => Self::$variant(<$recovery>::new(cut, settings)),)+
                }
            }
            #[inline]
            pub(crate) fn next(&self) -> Option<u64> {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.next(),)+ }
            }
            #[inline]
            pub(crate) fn on_sent(&mut self, record: Record) -> bool {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.on_sent(record),)+ }
            }
            #[inline]
            pub(crate) fn on_ack(&mut self, ack: &Ack, nack: bool) -> Acknowledged {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.on_ack(ack, nack),)+ }
            }
            #[inline]
            pub(crate) fn delayed_run(&self) -> u32 {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.delayed_run(),)+ }
            }
            pub(crate) fn on_hole(&mut self) -> Lost {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.on_hole(),)+ }
            }
            pub(crate) fn on_trim(&mut self, number: u32, sent: u64) -> Option<Lost> {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.on_trim(number, sent),)+ }
            }
            pub(crate) fn on_timeout(&mut self) -> Lost {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.on_timeout(),)+ }
            }
            pub(crate) fn stop(&mut self) {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.stop(),)+ }
            }
            #[inline]
            pub(crate) fn inflight(&self) -> u64 {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.inflight(),)+ }
            }
            #[inline]
            pub(crate) fn acknowledged(&self) -> u64 {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.acknowledged(),)+ }
            }
            #[inline]
            pub(crate) fn position(&self) -> u64 {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.position(),)+ }
            }
            #[inline]
            pub(crate) fn is_done(&self) -> bool {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.is_done(),)+ }
            }
        }
    };
}

recoveries! {
    "go-back-n" => GoBackN(GoBackN): "everything from the lost packet on is sent again";
    "selective" => Selective(Selective): "only lost packets are sent again; the receiver keeps those that arrive out of order";
    #[cfg(test)] "resend-oldest" => ResendOldest(crate::example::recovery::ResendOldest): "an example";
}
