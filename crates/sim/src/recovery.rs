//! Loss recovery: the choice of the packet that a flow sends next, and of the packets that an acknowledgement
//! covers or reports lost. The recoveries are implemented in [`incast_recovery`]; here a flow has one of them.
//!
//! To add one, write its file in `crates/recovery/src` and a line in `recoveries!` below.

use incast_net::describe::transport::{Recovery as Kind, Repair, Transport};
use incast_units::Time;

pub(crate) use incast_recovery::{
    Acknowledged, AnyOrder, Cut, GoBackN, InOrder, Log, Lost, Recovery, Report, See, Selective, SentPacket,
    Settings, Verdict,
};

/// The settings for a flow whose path has this base RTT.
pub(crate) fn settings(transport: &Transport, base_rtt: impl FnOnce() -> Time) -> Settings {
    Settings {
        repair: transport.repair,
        repair_threshold: transport.repair_threshold,
        repair_delay: match (transport.repair, transport.repair_delay) {
            (Repair::Lazy, None) => base_rtt(),
            (_, delay) => delay.unwrap_or_default(),
        },
        delayed_run: false,
        records: true,
    }
}

/// The state of a loss recovery after an acknowledgement: all that is asked then, so that its kind is asked for once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct After {
    pub(crate) acknowledged: u64,
    pub(crate) position: u64,
    pub(crate) inflight: u64,
    pub(crate) has_next: bool,
    pub(crate) is_done: bool,
    pub(crate) delayed_run: u32,
}

impl After {
    #[inline(always)]
    fn of(recovery: &impl Recovery) -> Self {
        Self {
            acknowledged: recovery.acknowledged(),
            position: recovery.position(),
            inflight: recovery.inflight(),
            has_next: recovery.next().is_some(),
            is_done: recovery.is_done(),
            delayed_run: recovery.delayed_run(),
        }
    }
}

macro_rules! recoveries {
    ($($(#[cfg($cfg:meta)])? $variant:ident($recovery:ty);)+) => {
        /// Whether the receiver keeps packets that arrive out of order.
        pub(crate) const fn keeps(kind: Kind) -> bool {
            match kind {
                $($(#[cfg($cfg)])? Kind::$variant => <$recovery as Recovery>::KEEPS,)+
            }
        }

        /// A flow's loss recovery, of any kind.
        #[derive(Debug)]
        pub(crate) enum AnyRecovery {
            $($(#[cfg($cfg)])? $variant($recovery),)+
        }

        impl AnyRecovery {
            pub(crate) fn new(kind: Kind, cut: Cut, settings: &Settings) -> Self {
                match kind {
                    $($(#[cfg($cfg)])? Kind::$variant => Self::$variant(<$recovery>::new(cut, settings)),)+
                }
            }
            pub(crate) fn relate(&self, see: See<'_>) {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.relate(see),)+ }
            }
            #[inline(always)]
            pub(crate) fn next(&self) -> Option<u64> {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.next(),)+ }
            }
            #[inline(always)]
            pub(crate) fn on_sent(&mut self, record: SentPacket) -> bool {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.on_sent(record),)+ }
            }
            /// Returns the effect of an acknowledgement, and the state afterwards.
            #[inline(always)]
            pub(crate) fn on_ack(&mut self, report: &Report, nack: bool) -> (Acknowledged, After) {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(r) => {
                        // Each kind has its own copy: one whose address goes to a call is in no register.
                        let report = *report;
                        (r.on_ack(&report, nack), After::of(r))
                    })+
                }
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
            pub(crate) fn extend(&mut self, packets: u64, last: u64) {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.extend(packets, last),)+ }
            }
            #[inline(always)]
            pub(crate) fn inflight(&self) -> u64 {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.inflight(),)+ }
            }
            #[inline(always)]
            pub(crate) fn acknowledged(&self) -> u64 {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.acknowledged(),)+ }
            }
            #[inline(always)]
            pub(crate) fn position(&self) -> u64 {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.position(),)+ }
            }
            #[inline(always)]
            pub(crate) fn is_done(&self) -> bool {
                match self { $($(#[cfg($cfg)])? Self::$variant(r) => r.is_done(),)+ }
            }
        }
    };
}

recoveries! {
    GoBackN(GoBackN);
    Selective(Selective);
    #[cfg(feature = "examples")] ResendOldest(crate::example::recovery::ResendOldest);
}
