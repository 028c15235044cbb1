//! Parameters of NSCC's law, and quantities derived from them.

use incast_units::{Bytes, Rate, Time};

use super::Filter;
use crate::Fixed;
use crate::contract::{Parameters, Path};

/// Parameters of [`Law`](super::Law).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct LawParams<F> {
    /// Target queueing delay; zero: `target_share` of the base RTT.
    pub target: Time,
    /// Target queueing delay in base RTTs, without `target`.
    pub target_share: Fixed,
    /// Rate of the network for which the gains are made.
    pub reference_rate: Rate,
    /// Base RTT of that network.
    pub reference_rtt: Time,
    /// Proportional increase per RTT, in MSS per `reference_rtt` below the target.
    pub proportional_increase: Fixed,
    /// Fair increase per RTT, in MSS.
    pub fair_increase: Fixed,
    /// Increase per RTT in any case, in MSS (η).
    pub eta: Fixed,
    /// Fast increase per acknowledged byte.
    pub fast_increase: Fixed,
    /// Fast increase needs delays below this.
    pub fast_increase_below: Time,
    /// And below this share of the target.
    pub fast_increase_share: Fixed,
    /// Gain γ of the multiplicative decrease.
    pub gamma: Fixed,
    /// Largest share of the window that one decrease takes.
    pub max_decrease: Fixed,
    /// Weight of a sample in the average delay.
    pub average_weight: Fixed,
    /// Value of an unmarked delay above the target in the average, in base RTTs.
    pub average_pull: Fixed,
    /// Whether quick adapt is on.
    pub quick_adapt: bool,
    /// Delay that makes it due, in targets.
    pub qa_threshold: Fixed,
    /// It is due when less than 2^-this of the largest window arrived.
    pub qa_gate: u64,
    /// Number of packets after which increases are added.
    pub adjust_packets: u64,
    /// Smallest window in packets.
    pub min_cwnd: Fixed,
    /// Largest window in base BDPs.
    pub max_cwnd: Fixed,
    /// First window in base BDPs.
    pub initial_cwnd: Fixed,
    /// Whether the base RTT follows the smallest RTT.
    pub track_base_rtt: bool,
    /// Whether that smallest RTT is forgotten in time.
    pub forget_base_rtt: bool,
    /// Whether it follows the delays of NACKs too.
    pub track_nacks: bool,
    /// Whether a hole that the receiver reports counts as a NACK.
    pub hole_is_nack: bool,
    /// The filter's own.
    pub filter: F,
}

impl<F> LawParams<F> {
    /// The defaults of uet-htsim for UEC 1.0, without trimming.
    pub(crate) fn uec(filter: F) -> Self {
        Self {
            target: Time::ZERO,
            target_share: Fixed::ONE,
            reference_rate: Rate::from_gbps(100),
            reference_rtt: Time::from_us(12),
            proportional_increase: Fixed::whole(4),
            fair_increase: Fixed::whole(5),
            eta: Fixed::ratio(15, 100),
            fast_increase: Fixed::ratio(1, 4),
            fast_increase_below: Time::from_us(1),
            fast_increase_share: Fixed::ONE,
            gamma: Fixed::ratio(8, 10),
            max_decrease: Fixed::ratio(1, 2),
            average_weight: Fixed::ratio(125, 10_000),
            average_pull: Fixed::ratio(1, 4),
            quick_adapt: true,
            qa_threshold: Fixed::whole(4),
            qa_gate: 3,
            adjust_packets: 8,
            min_cwnd: Fixed::ONE,
            max_cwnd: Fixed::ratio(3, 2),
            initial_cwnd: Fixed::ratio(3, 2),
            track_base_rtt: true,
            forget_base_rtt: false,
            track_nacks: true,
            hole_is_nack: false,
            filter,
        }
    }

    /// As in "Congestion Control for Spraying with Congested Paths", section IV-A.
    pub(crate) fn median(filter: F) -> Self {
        Self {
            target: Time::from_us(1),
            fast_increase_share: Fixed::ratio(1, 2),
            initial_cwnd: Fixed::ONE,
            ..Self::uec(filter)
        }
    }
}

/// Quantities that the law derives once from its parameters and a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct LawDerived {
    /// A full packet in bytes.
    pub packet: Fixed,
    /// The base BDP in bytes.
    pub bdp: Fixed,
    /// Target queueing delay T_q.
    pub target: Time,
    /// The target in µs.
    pub target_us: Fixed,
    /// Proportional increase for one byte and one `reference_rtt` below the target, in bytes · bytes / BDP.
    pub proportional: Fixed,
    /// Fair increase for one byte, in bytes · bytes / BDP.
    pub fair: Fixed,
    /// η in bytes.
    pub eta: Fixed,
    /// Fast increase for one byte, in bytes.
    pub fast: Fixed,
    /// Fast increase needs delays below this.
    pub fast_below: Time,
    /// Delay that makes quick adapt due.
    pub qa_threshold: Time,
    /// Quick adapt is due below this share of the largest window.
    pub qa_share: Fixed,
    /// Increases are added after more than this.
    pub adjust: Bytes,
    /// Smallest window in bytes.
    pub min_cwnd: Fixed,
    /// The most that is ignored after quick adapt: the largest window and a packet beyond it are in flight at most.
    pub most_ignored: Bytes,
}

impl<F: Filter> Parameters for LawParams<F> {
    type Derived = LawDerived;

    fn derive(&self, path: &Path) -> LawDerived {
        let (packet, mss) = (Fixed::whole(path.packet.get()), Fixed::whole(path.payload.get()));
        let bdp = path.bdp().get();
        let reference = self.reference_rate.bytes_in(self.reference_rtt).get().max(1);
        // The gains scale with a = BDP/reference; per BDP that is 1/reference, whatever the network.
        let (scale, per_bdp) = (Fixed::ratio(bdp, reference), mss / Fixed::whole(reference));
        let share = |share: Fixed, of: Time| Time::from_ps(share.scale(of.ps()));
        let target =
            if self.target == Time::ZERO { share(self.target_share, path.base_rtt) } else { self.target };
        let target = target.max(Time::from_ps(1));
        LawDerived {
            packet,
            bdp: Fixed::whole(bdp),
            target,
            target_us: us(target),
            proportional: self.proportional_increase * per_bdp,
            fair: self.fair_increase * per_bdp,
            eta: self.eta * mss * scale,
            fast: self.fast_increase * scale,
            fast_below: self.fast_increase_below.min(share(self.fast_increase_share, target)),
            qa_threshold: share(self.qa_threshold, target),
            qa_share: Fixed::ratio(1, 1_u64.checked_shl(self.qa_gate as u32).unwrap_or(u64::MAX)),
            adjust: path.packet.times(self.adjust_packets),
            min_cwnd: self.min_cwnd * packet,
            most_ignored: Bytes::new(
                ((self.max_cwnd * Fixed::whole(bdp)).max(self.min_cwnd * packet) + packet).floor(),
            ),
        }
    }
}

/// A time in µs.
pub(super) fn us(time: Time) -> Fixed {
    Fixed::ratio(time.ps(), 1_000_000)
}

/// Defines the parameters of the law and of a filter.
macro_rules! parameters {
    ($($more:expr,)*) => {
        &[
            param!(
                Time "target",
                target,
                Time::ZERO,
                Time::from_ms(100),
                "target queueing delay; 0: target_share of the base RTT",
                Artifact,
                "uet-htsim (-target_q_delay): not given; median paper section IV-A: about 1us"
            ),
            param!(
                Ratio "target_share",
                target_share,
                Fixed::ratio(1, 1000),
                Fixed::whole(1000),
                "target queueing delay in base RTTs, without target",
                Artifact,
                "uet-htsim: 1 without trimming, 0.75 with trimming"
            ),
            param!(
                Rate "reference_rate",
                reference_rate,
                Rate::from_mbps(1),
                Rate::from_gbps(100_000),
                "rate of the network for which the gains are made; they scale with the BDP over its BDP (a)",
                Artifact,
                "uet-htsim: 100Gbps"
            ),
            param!(
                Time "reference_rtt",
                reference_rtt,
                Time::from_ns(10),
                Time::from_ms(100),
                "base RTT of that network",
                Artifact,
                "uet-htsim: 12us"
            ),
            param!(
                Ratio "proportional_increase",
                proportional_increase,
                Fixed::ZERO,
                Fixed::whole(1000),
                "increase per RTT, unmarked, in MSS times a for each reference_rtt below the target (alpha)",
                Artifact,
                "uet-htsim: 4"
            ),
            param!(
                Ratio "fair_increase",
                fair_increase,
                Fixed::ZERO,
                Fixed::whole(1000),
                "increase per RTT, unmarked at or above the target, in MSS times a (fi)",
                Artifact,
                "uet-htsim: 5"
            ),
            param!(
                Ratio "eta",
                eta,
                Fixed::ZERO,
                Fixed::whole(1000),
                "increase per base RTT in any case, in MSS times a",
                Artifact,
                "uet-htsim: 0.15"
            ),
            param!(
                Ratio "fast_increase",
                fast_increase,
                Fixed::ZERO,
                Fixed::whole(1000),
                "increase per acknowledged byte after a window of delays near zero, times a (fi_scale)",
                Artifact,
                "uet-htsim: 0.25"
            ),
            param!(
                Time "fast_increase_below",
                fast_increase_below,
                Time::ZERO,
                Time::from_ms(100),
                "delay below which fast increase is possible",
                Artifact,
                "uet-htsim: 1us, at any target"
            ),
            param!(
                Ratio "fast_increase_share",
                fast_increase_share,
                Fixed::ZERO,
                Fixed::ONE,
                "delay below which fast increase is possible, in targets",
                Artifact,
                "uet-htsim: 1 in effect; for a target of 1us chosen here: 0.5, or there is no proportional increase"
            ),
            param!(
                Ratio "gamma",
                gamma,
                Fixed::ZERO,
                Fixed::whole(100),
                "share of the average delay's relative excess by which a decrease shrinks the window",
                Artifact,
                "uet-htsim: 0.8"
            ),
            param!(
                Ratio "max_decrease",
                max_decrease,
                Fixed::ZERO,
                Fixed::ratio(99, 100),
                "largest share of the window that one decrease takes",
                Artifact,
                "uet-htsim: 0.5"
            ),
            param!(
                Ratio "average_weight",
                average_weight,
                Fixed::ZERO,
                Fixed::ONE,
                "weight of a sample in the average delay",
                Artifact,
                "uet-htsim: 0.0125"
            ),
            param!(
                Ratio "average_pull",
                average_pull,
                Fixed::ZERO,
                Fixed::whole(100),
                "what a delay above the target counts as in the average, if unmarked, in base RTTs",
                Artifact,
                "uet-htsim: 0.25"
            ),
            param!(
                Flag "quick_adapt",
                quick_adapt,
                "whether the window is cut to what arrived, after heavy congestion",
                Artifact,
                "uet-htsim: true, unless -disable_quick_adapt"
            ),
            param!(
                Ratio "qa_threshold",
                qa_threshold,
                Fixed::ZERO,
                Fixed::whole(1000),
                "delay in targets above which quick adapt is due without a NACK",
                Artifact,
                "uet-htsim: 4"
            ),
            param!(
                Count "qa_gate",
                qa_gate,
                0,
                20,
                "quick adapt is due if less than 1/2^qa_gate of the largest window arrived",
                Artifact,
                "uet-htsim (-qa_gate): 3"
            ),
            param!(
                Count "adjust_packets",
                adjust_packets,
                0,
                10_000,
                "full packets after whose arrival the collected increases are added to the window",
                Artifact,
                "uet-htsim: 8"
            ),
            param!(
                Ratio "min_cwnd",
                min_cwnd,
                Fixed::ONE,
                Fixed::whole(1000),
                "smallest window in packets",
                Artifact,
                "uet-htsim: 1"
            ),
            param!(
                Ratio "max_cwnd",
                max_cwnd,
                Fixed::ratio(1, 100),
                Fixed::whole(1000),
                "largest window in BDPs of the flow's base RTT",
                Artifact,
                "uet-htsim: 1.5"
            ),
            param!(
                Ratio "initial_cwnd",
                initial_cwnd,
                Fixed::ratio(1, 1_000_000),
                Fixed::whole(1000),
                "first window in base BDPs, at most max_cwnd",
                Artifact,
                "uet-htsim: 1.5; median paper section IV-A: the ideal value, read as 1"
            ),
            param!(
                Flag "track_base_rtt",
                track_base_rtt,
                "whether the flow's base RTT follows the smallest RTT; else it is the transport's",
                Artifact,
                "uet-htsim: true"
            ),
            param!(
                Flag "forget_base_rtt",
                forget_base_rtt,
                "whether that smallest RTT is forgotten after 12 to 24 base RTTs: one wrong sample otherwise counts for ever",
                Ours,
                "ours; uet-htsim: false"
            ),
            param!(
                Flag "track_nacks",
                track_nacks,
                "whether it also follows the RTTs of trimmed packets",
                Artifact,
                "uet-htsim: true, unless -disable_base_rtt_update_on_nack"
            ),
            param!(
                Flag "hole_is_nack",
                hole_is_nack,
                "whether a hole that the receiver reports counts as a NACK; else it changes nothing",
                Artifact,
                "uet-htsim (SLEEK): false"
            ),
            $($more,)*
        ]
    };
}
pub(crate) use parameters;
