//! NSCC, the network-signal congestion control of Ultra Ethernet (specification 1.0, 2025), as in the
//! simulator uet-htsim of the Ultra Ethernet Consortium, with its "UEC 1.0" defaults.
//!
//! The mark and the queueing delay of each acknowledgement are two bits that choose among four answers:
//!
//! | | delay below the target | at the target or above |
//! | --- | --- | --- |
//! | no mark | proportional increase, or fast increase near zero delay | fair increase |
//! | mark | nothing (the load balancer changes the path) | multiplicative decrease by the average delay |
//!
//! Increases are collected and added every few packets. "Quick adapt" cuts the window to what arrived within
//! one window of time after heavy congestion. [`mnscc`](crate::mnscc) puts a filter between the measured delay
//! and this law, so the law is generic over the [`Filter`].
//!
//! What is chosen here:
//! * Bytes are those on the wire, of packets and windows alike: b is [`Ack::acked`], the MTU a full packet. The
//!   gains count in MSS, the payload of a full packet.
//! * The network base RTT R of uet-htsim is the base RTT of the path that the transport gives.
//! * Nothing is known of trimming here, so its target of 0.75 R with trimming and R without is a parameter.
//! * Times since "the last" count from the flow's start, not from time zero.
//! * A timeout takes one packet from the window, as an expiry of one packet's timer in uet-htsim. A reported
//!   hole takes nothing, as with its loss recovery (SLEEK), unless `hole_is_nack`.
//! * Pending increases count in bytes · bytes / BDP, so that nothing saturates: in uet-htsim they count in
//!   bytes · bytes, which reach 8·10⁷ with one packet at 100 Gbps.

use core::fmt::Debug;

use incast_units::{Bytes, Rate, Time};

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Loss, LossKind, Overhead, Parameters, Path, Sent,
    Setup, Signals,
};
use crate::median::{Filtered, Signal};
use crate::order::Sample;
use crate::params::{About, Described, Family, Param, Value, param, presets};
use crate::tracked::TrackedRtt;

/// Filter between the measured queueing delays and the law.
pub trait Filter: Copy + Debug + PartialEq + Eq + Send + Sync + 'static {
    /// State of the filter for a flow.
    type State: Copy + Debug + Default + PartialEq + Eq + Send + Sync + 'static;

    /// The delay that the law goes by, after the newest sample (none without a valid one), at a window of
    /// `window` packets; none if there is nothing to go by.
    fn delay(&self, state: &mut Self::State, sample: Option<Time>, window: Fixed) -> Option<Time>;

    /// Whether the average is over what [`delay`](Self::delay) gives, and not over the samples.
    fn averages_filtered(&self) -> bool;
}

/// NSCC's own: the latest sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latest;

impl Filter for Latest {
    type State = ();

    fn delay(&self, _state: &mut (), sample: Option<Time>, _window: Fixed) -> Option<Time> {
        sample
    }

    fn averages_filtered(&self) -> bool {
        false
    }
}

/// Parameters of [`Nscc`].
pub type NsccParams = LawParams<Latest>;

/// NSCC, the state of one flow: 128 bytes.
pub type Nscc = Law<Latest>;

/// Parameters of [`Law`].
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

presets! {
    impl NsccParams {
        "scaled" acknowledging UEC: "ours: as uec, with a smallest RTT that is forgotten",
        fn scaled() -> Self {
            Self { forget_base_rtt: true, ..Self::without_trimming() }
        }

        "uec" acknowledging UEC: "the UEC 1.0 defaults of uet-htsim, in a network without trimming",
        fn without_trimming() -> Self {
            Self::uec(Latest)
        }

        "trimming" acknowledging UEC: "the UEC 1.0 defaults of uet-htsim, in a network with trimming",
        fn trimming() -> Self {
            Self { target_share: Fixed::ratio(3, 4), ..Self::uec(Latest) }
        }

        "median": "as compared with in the median paper (arXiv 2509.07907): target 1us, fast increase below half of it, first window 1 BDP",
        fn of_median_paper() -> Self {
            Self::median(Latest)
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
fn us(time: Time) -> Fixed {
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

impl Described for NsccParams {
    const ABOUT: About = About {
        name: "nscc",
        title: "NSCC",
        summary: "Ultra Ethernet's answer to mark and delay of each sprayed packet",
        family: Family::Spraying,
        needs: "Ultra Ethernet network cards (1.0: 2025), switches that mark above a threshold (ECN: 2001)",
    };
    const PARAMS: &'static [Param<Self>] = parameters!();
}

/// The state of one flow: 128 bytes, and the state of the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Law<F: Filter> {
    /// Congestion window in bytes (cwnd).
    cwnd: Fixed,
    /// Largest window in bytes, by the base RTT.
    max_cwnd: Fixed,
    /// Base RTT of this flow.
    base_rtt: TrackedRtt,
    /// Average delay in µs.
    average: Fixed,
    /// Increase that is not yet in the window, in bytes · bytes / BDP.
    pending: Fixed,
    /// Bytes that arrived since increases were last added.
    received: Bytes,
    /// Bytes that arrived in this window of quick adapt.
    achieved: Bytes,
    /// Bytes in flight at the last quick adapt that have not come back; their marks are ignored.
    to_ignore: Bytes,
    /// Bytes in flight.
    inflight: Bytes,
    /// Bytes that arrived with a delay near zero.
    near_zero: Bytes,
    /// End of this window of quick adapt; zero before the first.
    window_end: Time,
    /// Time at which η was last added.
    last_eta: Time,
    /// Time at which the window was last multiplied.
    last_decrease: Time,
    /// Whether fast increase is on.
    fast: bool,
    /// Whether a NACK waits for quick adapt.
    triggered: bool,
    filter: F::State,
}

impl<F: Filter> Law<F> {
    /// The window in bytes, with its fraction.
    #[must_use]
    pub const fn window(&self) -> Fixed {
        self.cwnd
    }

    /// Sets the largest window by the base RTT.
    fn base(&mut self, setup: &Setup<LawParams<F>>) {
        let Setup { params, path, derived, .. } = setup;
        let bdp = Fixed::whole(path.line_rate.bytes_in(self.base_rtt.get()).get());
        self.max_cwnd = (params.max_cwnd * bdp).max(derived.min_cwnd);
    }

    /// Follows the smallest RTT.
    fn follow(&mut self, setup: &Setup<LawParams<F>>, now: Time, rtt: Time) {
        if setup.params.track_base_rtt {
            let before = self.base_rtt.get();
            self.base_rtt.see(&setup.path, now, rtt, setup.params.forget_base_rtt);
            if self.base_rtt.get() != before {
                self.base(setup);
            }
        }
    }

    /// The queueing delay of this acknowledgement, if it has one.
    fn sample(&mut self, setup: &Setup<LawParams<F>>, ack: &Ack) -> Option<Time> {
        let rtt = ack.rtt();
        if ack.acked == Bytes::ZERO || rtt == Time::ZERO {
            return None;
        }
        self.follow(setup, ack.now, rtt);
        rtt.checked_sub(self.base_rtt.get())
    }

    /// Adds a delay to the average.
    fn learn(&mut self, setup: &Setup<LawParams<F>>, delay: Time, marked: bool) {
        let Setup { params, derived, .. } = setup;
        let sample = if !marked && delay > derived.target {
            params.average_pull * us(self.base_rtt.get())
        } else {
            us(delay)
        };
        let weight = params.average_weight;
        self.average = weight * sample + (Fixed::ONE - weight) * self.average;
    }

    /// Quick adapt. Returns whether the acknowledgement or NACK is thereby dealt with.
    fn adapts(&mut self, setup: &Setup<LawParams<F>>, now: Time, marked: bool, heavy: bool) -> bool {
        let Setup { params, derived, .. } = setup;
        if !params.quick_adapt {
            return false;
        }
        let mut dealt_with = marked && self.to_ignore > Bytes::ZERO;
        if !dealt_with && now > self.window_end {
            let arrived = Fixed::whole(self.achieved.get());
            dealt_with = self.window_end != Time::ZERO
                && (heavy || self.triggered)
                && arrived < self.max_cwnd * derived.qa_share;
            if dealt_with {
                self.cwnd = arrived.max(derived.min_cwnd);
                self.to_ignore = self.inflight.min(derived.most_ignored);
                self.triggered = false;
            }
            self.achieved = Bytes::ZERO;
            self.window_end = now + self.base_rtt.get() + derived.target;
        }
        if dealt_with {
            (self.pending, self.received) = (Fixed::ZERO, Bytes::ZERO);
        }
        dealt_with
    }

    /// Unmarked, below the target.
    fn increase(&mut self, setup: &Setup<LawParams<F>>, acked: Bytes, delay: Time) {
        let Setup { params, derived, .. } = setup;
        let bytes = Fixed::whole(acked.get());
        if delay < derived.fast_below {
            self.near_zero += acked;
            self.fast |= Fixed::whole(self.near_zero.get()) > self.cwnd;
        } else {
            (self.near_zero, self.fast) = (Bytes::ZERO, false);
        }
        if self.fast {
            self.cwnd += derived.fast * bytes;
        } else {
            let below = Fixed::ratio((derived.target - delay).ps(), params.reference_rtt.ps());
            self.pending += derived.proportional * below * bytes;
        }
    }

    /// Marked, at the target or above.
    fn decrease(&mut self, setup: &Setup<LawParams<F>>, now: Time) {
        let Setup { params, derived, .. } = setup;
        (self.near_zero, self.fast) = (Bytes::ZERO, false);
        if self.average > derived.target_us && now - self.last_decrease > self.base_rtt.get() {
            let excess = (self.average - derived.target_us) / self.average;
            let factor = Fixed::ONE - (params.gamma * excess).min(params.max_decrease);
            self.cwnd = (self.cwnd * factor).max(derived.min_cwnd);
            self.last_decrease = now;
        }
    }

    fn limit(&mut self, setup: &Setup<LawParams<F>>) {
        self.cwnd = self.cwnd.clamp_to(setup.derived.min_cwnd, self.max_cwnd);
    }

    /// Adds the collected increases, and η once per network base RTT.
    fn fulfil(&mut self, setup: &Setup<LawParams<F>>, now: Time) {
        let Setup { path, derived, .. } = setup;
        self.cwnd += self.pending * (derived.bdp / self.cwnd);
        if now - self.last_eta >= path.base_rtt {
            self.cwnd += derived.eta;
            self.last_eta = now;
        }
        (self.pending, self.received) = (Fixed::ZERO, Bytes::ZERO);
    }

    /// An acknowledgement: the delay that enters the average, the one that the law goes by, and whether it is marked.
    fn acknowledged(
        &mut self,
        setup: &Setup<LawParams<F>>,
        ack: &Ack,
        averaged: Option<Time>,
        filtered: Option<Time>,
        marked: bool,
    ) {
        let Setup { path, derived, .. } = setup;
        self.inflight = ack.inflight_now;
        self.achieved += ack.acked;
        self.received += ack.acked;
        self.to_ignore -= ack.acked;
        if let Some(delay) = averaged {
            self.learn(setup, delay, marked);
        }
        let delay = filtered.unwrap_or(Time::from_ps(self.average.scale(1_000_000)));
        if self.adapts(setup, ack.now, marked, delay > derived.qa_threshold) {
            return;
        }
        match (marked, delay >= derived.target) {
            (false, true) => self.pending += derived.fair * Fixed::whole(ack.acked.get()),
            (false, false) => self.increase(setup, ack.acked, delay),
            (true, true) => self.decrease(setup, ack.now),
            (true, false) => {}
        }
        self.limit(setup);
        if self.received > derived.adjust || ack.now - self.last_eta > path.base_rtt {
            self.fulfil(setup, ack.now);
        }
        self.limit(setup);
    }

    /// A NACK: a header without payload came back.
    fn nack(&mut self, setup: &Setup<LawParams<F>>, loss: &Loss) {
        self.to_ignore -= loss.bytes;
        self.learn(setup, setup.path.base_rtt, true);
        self.triggered = true;
        if !self.adapts(setup, loss.now, true, true) {
            self.cwnd -= Fixed::whole(loss.bytes.get());
            self.limit(setup);
        }
    }
}

impl<F: Filter> CongestionControl for Law<F> {
    type Params = LawParams<F>;

    fn signals(_params: &LawParams<F>) -> Signals {
        Signals::ECN
    }

    fn overhead(_params: &LawParams<F>) -> Overhead {
        Overhead::default()
    }

    fn new(setup: &Setup<LawParams<F>>, now: Time) -> Self {
        let mut flow = Self {
            cwnd: setup.params.initial_cwnd * setup.derived.bdp,
            max_cwnd: Fixed::ZERO,
            base_rtt: TrackedRtt::new(&setup.path, now),
            average: Fixed::ZERO,
            pending: Fixed::ZERO,
            received: Bytes::ZERO,
            achieved: Bytes::ZERO,
            to_ignore: Bytes::ZERO,
            inflight: Bytes::ZERO,
            near_zero: Bytes::ZERO,
            window_end: Time::ZERO,
            last_eta: now,
            last_decrease: now,
            fast: false,
            triggered: false,
            filter: F::State::default(),
        };
        flow.base(setup);
        flow.limit(setup);
        flow
    }

    fn on_ack(&mut self, setup: &Setup<LawParams<F>>, ack: &Ack, _int: &IntStack) {
        let filter = &setup.params.filter;
        let window = self.cwnd / setup.derived.packet;
        let sample = self.sample(setup, ack);
        let filtered = filter.delay(&mut self.filter, sample, window);
        let averaged = if filter.averages_filtered() { sample.and(filtered) } else { sample };
        self.acknowledged(setup, ack, averaged, filtered, ack.marked > 0);
    }

    fn on_loss(&mut self, setup: &Setup<LawParams<F>>, loss: &Loss) {
        match loss.kind {
            LossKind::Trim => {
                if setup.params.track_nacks && loss.now > loss.sent {
                    self.follow(setup, loss.now, loss.now - loss.sent);
                }
                self.nack(setup, loss);
            }
            LossKind::Hole if setup.params.hole_is_nack => self.nack(setup, loss),
            LossKind::Hole => {}
            LossKind::Timeout => {
                self.cwnd -= setup.derived.packet;
                self.limit(setup);
            }
        }
        self.inflight -= loss.bytes;
    }

    fn on_sent(&mut self, _setup: &Setup<LawParams<F>>, sent: &Sent) {
        self.inflight = sent.inflight;
    }

    fn allowance(&self, setup: &Setup<LawParams<F>>) -> Allowance {
        Allowance { window: Bytes::new(self.cwnd.floor()).max(Bytes::new(1)), rate: setup.path.line_rate }
    }

    const INTERNALS: &'static [Internal] = &[
        Internal { name: "average_delay", meaning: "average queueing delay (avg_delay)" },
        Internal { name: "base_rtt", meaning: "smallest RTT of late, from which delays count" },
        Internal { name: "max_cwnd", meaning: "largest window, by base_rtt" },
        Internal { name: "fast_increase", meaning: "whether fast increase is on" },
    ];

    fn probe(&self, _setup: &Setup<LawParams<F>>, place: usize) -> Option<Value> {
        match place {
            0 => Some(Value::Time(Time::from_ps(self.average.scale(1_000_000)))),
            1 => Some(Value::Time(self.base_rtt.get())),
            2 => Some(Value::Bytes(Bytes::new(self.max_cwnd.floor()))),
            3 => Some(Value::Flag(self.fast)),
            _ => None,
        }
    }
}

impl Filtered for Nscc {
    const SIGNAL: Signal = Signal::DelayAndMarks;

    fn sample(&mut self, setup: &Setup<NsccParams>, ack: &Ack) -> Option<Sample> {
        Self::sample(self, setup, ack).map(Sample::delay)
    }

    /// The average goes by the delay as measured, as in MNSCC.
    fn step(&mut self, setup: &Setup<NsccParams>, ack: &Ack, filtered: Option<Sample>, marked: u32) {
        let measured = Self::sample(self, setup, ack);
        self.acknowledged(setup, ack, measured, filtered.map(Sample::time), marked > 0);
    }
}

#[cfg(test)]
mod tests;
