//! Loss recovery: which packet a flow sends next, and which packets an acknowledgement covers or reports lost.
//!
//! To add one, write its file here and a line in `recoveries!` below.

mod go_back_n;
mod log;

pub(crate) use go_back_n::{GoBackN, InOrder, Verdict};
pub(crate) use log::{Log, Record};

use crate::describe::named;
use crate::packet::Ack;

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
    /// Whether packets must be retransmitted because the receiver reports a hole.
    pub(crate) hole: bool,
    /// Number of the packet that caused it.
    pub(crate) packet: u64,
    /// The record of that packet; `None` if it is no longer kept.
    pub(crate) record: Option<Record>,
}

/// The sender's half of a loss recovery. Packets are numbered from 0.
pub(crate) trait Recovery {
    /// The state of a flow that has sent nothing.
    fn new(cut: Cut) -> Self;
    /// The number of the packet to send next; `None` when there is none.
    fn next(&self) -> Option<u64>;
    /// The packet [`next`](Self::next) is sent. Returns whether it was sent before.
    fn on_sent(&mut self, record: Record) -> bool;
    /// An acknowledgement arrived; `nack` when it reports a hole.
    fn on_ack(&mut self, ack: &Ack, nack: bool) -> Acknowledged;
    /// Begins to recover the hole that [`on_ack`](Self::on_ack) reported.
    fn on_hole(&mut self) -> Lost;
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

        /// A flow's loss recovery, of any kind.
        #[derive(Debug)]
        pub(crate) enum AnyRecovery {
            $($(#[cfg($cfg)])? #[doc = $meaning] $variant($recovery),)+
        }

        impl AnyRecovery {
            pub(crate) fn new(kind: Kind, cut: Cut) -> Self {
                match kind {
                    $($(#[cfg($cfg)])? Kind::$variant => Self::$variant(<$recovery>::new(cut)),)+
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
            pub(crate) fn on_hole(&mut self) -> Lost {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.on_hole(),)+ }
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
    #[cfg(test)] "resend-oldest" => ResendOldest(crate::example::recovery::ResendOldest): "an example";
}
