//! SMaRTT, also called FastFlow (Bonato et al., "FASTFLOW: Flexible Adaptive Congestion Control for
//! High-Performance Datacenters", arXiv 2404.01630), the ancestor of [NSCC](crate::nscc).
//!
//! The law is the one of the simulator uet-htsim (its EQDS transport with sender-based control), with the
//! gains that the median paper (arXiv 2509.07907, Appendix A, Theorem 4) quotes. Each acknowledged packet
//! moves the window at once:
//!
//! | | RTT below the target | at the target or above |
//! | --- | --- | --- |
//! | no mark | multiplicative and fair increase, or fast increase near the base RTT | fair increase |
//! | mark | fair decrease | multiplicative and fair decrease |
//!
//! What is chosen here:
//! * Bytes are those on the wire; the MTU is a full packet, and so is the least window.
//! * The base RTT is the path's; uet-htsim learns it as the smallest RTT.
//! * Fair decrease is relative to the base BDP as in the median paper; to the largest window, as in uet-htsim, is
//!   an option.
//! * "Wait to decrease" is off as in the median paper's model; the preset `fastflow` has it.
//! * After quick adapt the bytes then in flight are ignored, whether they come back as acknowledgements or NACKs.
//!   (uet-htsim never counts them: its window stays as it is from then on.)
//! * A timeout counts as the NACK of one packet, a reported hole as nothing: the median paper, section V, says that
//!   it takes only trimming and timeouts for losses.

use incast_units::{Bytes, Time};

use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Loss, LossKind, Overhead, Sent, Setup, Signals,
    derived,
};
use crate::median::{Filtered, Signal};
use crate::order::Sample;
use crate::params::{About, Described, Family, Param, Value, choice, param, presets};
use crate::relative::relate;
use crate::{Fixed, Path};

choice! {
    /// Reference of the fair decrease.
    Reference {
        /// The base BDP.
        Bdp = "bdp",
        /// The largest window.
        MaxCwnd = "max_cwnd",
    }
}

/// Parameters of [`Smartt`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SmarttParams {
    /// Target queueing delay; zero: `target_share` of the base RTT.
    pub target: Time,
    /// Target queueing delay in base RTTs, without `target`.
    pub target_share: Fixed,
    /// Multiplicative increase (mi).
    pub mi: Fixed,
    /// Multiplicative decrease (md).
    pub md: Fixed,
    /// Fair increase (fi).
    pub fi: Fixed,
    /// Fair decrease (fd).
    pub fd: Fixed,
    /// Reference of the fair decrease.
    pub fd_of: Reference,
    /// Fast increase of one acknowledgement, in packets.
    pub fast_increase: Fixed,
    /// Queueing delay below which it is possible.
    pub fast_increase_below: Time,
    /// Whether the window only shrinks while many packets are marked.
    pub wait_to_decrease: bool,
    /// Number of flows from which they are many.
    pub wait_threshold: Fixed,
    /// Weight of an acknowledgement in their average.
    pub mark_weight: Fixed,
    /// Whether NACKs cut the window to what arrived.
    pub quick_adapt: bool,
    /// Largest window in base BDPs.
    pub max_cwnd: Fixed,
    /// First window in base BDPs.
    pub initial_cwnd: Fixed,
}

presets! {
    impl SmarttParams {
        "median": "as modelled in the median paper (arXiv 2509.07907, Appendix A): target 1.5 base RTTs, no waiting to decrease",
        fn median() -> Self {
            Self {
                target: Time::ZERO,
                target_share: Fixed::ratio(1, 2),
                mi: Fixed::whole(2),
                md: Fixed::whole(2),
                fi: Fixed::ratio(1, 4),
                fd: Fixed::ratio(8, 10),
                fd_of: Reference::Bdp,
                fast_increase: Fixed::whole(4),
                fast_increase_below: Time::from_us(1),
                wait_to_decrease: false,
                wait_threshold: Fixed::ratio(1, 4),
                mark_weight: Fixed::ratio(5, 100),
                quick_adapt: true,
                max_cwnd: Fixed::ratio(5, 4),
                initial_cwnd: Fixed::ONE,
            }
        }

        "fastflow": "the same with wait to decrease, which FastFlow has: the window shrinks only while over a quarter is marked",
        fn fastflow() -> Self {
            Self { wait_to_decrease: true, ..Self::median() }
        }

        "htsim": "the defaults of uet-htsim's EQDS: target 7us, md 1, fair decrease relative to the largest window",
        fn htsim() -> Self {
            Self {
                target: Time::from_us(7),
                md: Fixed::ONE,
                fd_of: Reference::MaxCwnd,
                wait_threshold: Fixed::ratio(3, 10),
                initial_cwnd: Fixed::ratio(5, 4),
                ..Self::median()
            }
        }
    }
}

derived! {
    /// Quantities that SMaRTT derives once from its parameters and a path.
    pub struct SmarttDerived of SmarttParams, |params, path|
    let (packet, bdp) = (Fixed::whole(path.packet.get()), Fixed::whole(path.bdp().get()));
    let max_cwnd = (params.max_cwnd * bdp).max(packet);
    let target = if params.target == Time::ZERO {
        Time::from_ps(params.target_share.scale(path.base_rtt.ps()))
    } else {
        params.target
    };
    let fd_of = match params.fd_of {
        Reference::Bdp => bdp,
        Reference::MaxCwnd => max_cwnd,
    };
    {
        /// A full packet in bytes.
        pub packet: Fixed = packet,
        /// Base RTT and target queueing delay.
        pub target_rtt: Time = path.base_rtt + target,
        /// RTT below which fast increase is possible.
        pub fast_below: Time = path.base_rtt + params.fast_increase_below,
        /// Reference of the fair decrease, in bytes.
        pub fd_of: Fixed = fd_of.max(packet),
        /// Largest window in bytes.
        pub max_cwnd: Fixed = max_cwnd,
    }
}

impl Described for SmarttParams {
    const ABOUT: About = About {
        name: "smartt",
        title: "SMaRTT",
        summary: "moves the window with mark and RTT of each sprayed packet (FastFlow)",
        family: Family::Spraying,
        needs: "timestamps of network cards (2015), switches that mark above a threshold (ECN: 2001)",
    };
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Time "target",
            target,
            Time::ZERO,
            Time::from_ms(100),
            "target queueing delay; 0: target_share of the base RTT",
            Printed,
            "median paper, Appendix A: not given; uet-htsim: 7us"
        ),
        param!(
            Ratio "target_share",
            target_share,
            Fixed::ZERO,
            Fixed::whole(1000),
            "target queueing delay in base RTTs, without target",
            Printed,
            "median paper, Appendix A: targetRTT = 1.5 baseRTT, so 0.5"
        ),
        param!(
            Ratio "mi",
            mi,
            Fixed::ZERO,
            Fixed::whole(1000),
            "multiplicative increase per RTT in packets, times how far the target is above the RTT, in RTTs",
            Printed,
            "median paper, Appendix A, and uet-htsim: 2"
        ),
        param!(
            Ratio "md",
            md,
            Fixed::ZERO,
            Fixed::whole(1000),
            "multiplicative decrease per acknowledged byte, times how far the RTT is above the target, in RTTs",
            Printed,
            "median paper, Appendix A: 2; uet-htsim: 1"
        ),
        param!(
            Ratio "fi",
            fi,
            Fixed::ZERO,
            Fixed::whole(1000),
            "fair increase per RTT in packets",
            Printed,
            "median paper, Appendix A, and uet-htsim: 0.25"
        ),
        param!(
            Ratio "fd",
            fd,
            Fixed::ZERO,
            Fixed::ONE,
            "share of the window that fair decrease takes for fd_of marked bytes",
            Printed,
            "median paper, Appendix A, and uet-htsim: 0.8"
        ),
        param!(
            choice "fd_of",
            fd_of,
            Reference,
            "what fair decrease is relative to: the base BDP or the largest window",
            Printed,
            "median paper, Appendix A: the BDP; uet-htsim: the largest window"
        ),
        param!(
            Ratio "fast_increase",
            fast_increase,
            Fixed::ZERO,
            Fixed::whole(1000),
            "packets that an acknowledgement adds after a window of RTTs near the base RTT",
            Artifact,
            "uet-htsim: 4"
        ),
        param!(
            Time "fast_increase_below",
            fast_increase_below,
            Time::ZERO,
            Time::from_ms(100),
            "queueing delay below which fast increase is possible",
            Artifact,
            "uet-htsim: 1us"
        ),
        param!(
            Flag "wait_to_decrease",
            wait_to_decrease,
            "whether the window only shrinks while the average of marks is above wait_threshold",
            Printed,
            "median paper, Appendix A: false, though SMaRTT has it; uet-htsim: false"
        ),
        param!(
            Ratio "wait_threshold",
            wait_threshold,
            Fixed::ZERO,
            Fixed::ONE,
            "average of marks above which the window shrinks, with wait_to_decrease",
            Printed,
            "median paper, Appendix A: 0.25; uet-htsim: 0.3"
        ),
        param!(
            Ratio "mark_weight",
            mark_weight,
            Fixed::ZERO,
            Fixed::ONE,
            "weight of an acknowledgement in the average of marks",
            Artifact,
            "uet-htsim: 0.05"
        ),
        param!(
            Flag "quick_adapt",
            quick_adapt,
            "whether NACKs cut the window to what arrived within one target RTT",
            Artifact,
            "uet-htsim: true"
        ),
        param!(
            Ratio "max_cwnd",
            max_cwnd,
            Fixed::ratio(1, 100),
            Fixed::whole(1000),
            "largest window in base BDPs",
            Ours,
            "chosen here: 1.25; an argument of uet-htsim"
        ),
        param!(
            Ratio "initial_cwnd",
            initial_cwnd,
            Fixed::ratio(1, 1_000_000),
            Fixed::whole(1000),
            "first window in base BDPs, at most max_cwnd",
            Ours,
            "all algorithms start here with one base BDP; uet-htsim: max_cwnd"
        ),
    ];

    fn window_limit(&self, path: &Path) -> Option<(Bytes, &'static str)> {
        Some((Bytes::new(self.max_cwnd.scale(path.bdp().get())), "max_cwnd"))
    }
}

/// The state of one flow under SMaRTT: 72 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Smartt {
    /// Congestion window in bytes (cwnd).
    cwnd: Fixed,
    /// The window that must arrive near the base RTT before fast increase.
    near_base_of: Fixed,
    /// Bytes that arrived near the base RTT.
    near_base: Bytes,
    /// Average of marks.
    marks: Fixed,
    /// Bytes that arrived in this window of quick adapt.
    acked: Bytes,
    /// End of this window; zero before the first.
    window_end: Time,
    /// Bytes in flight at the last quick adapt that have not come back; they are ignored.
    to_ignore: Bytes,
    /// Bytes in flight.
    inflight: Bytes,
    /// Whether a NACK waits for quick adapt.
    due: bool,
}

impl Smartt {
    /// The window in bytes, with its fraction.
    #[must_use]
    pub const fn window(&self) -> Fixed {
        self.cwnd
    }

    /// At the end of a window of time: cuts cwnd to the bytes of it, if a NACK was among them.
    fn adapt(&mut self, setup: &Setup<SmarttParams>, now: Time) {
        let Setup { params, derived, .. } = setup;
        if !params.quick_adapt || now < self.window_end {
            return;
        }
        let (before, span) = (self.window_end, derived.target_rtt);
        let acked = core::mem::replace(&mut self.acked, Bytes::ZERO);
        self.window_end = now + span;
        if self.due && before != Time::ZERO {
            // The window of time is over when the next packet arrives, maybe long after its end.
            let acked = acked.times_ratio(span.ps(), (now - before + span).ps());
            self.cwnd = Fixed::whole(acked.get());
            self.limit(setup);
            // No more than the largest window can be in flight.
            self.to_ignore = self.inflight.min(Bytes::new(derived.max_cwnd.floor()));
            self.due = false;
        }
    }

    fn increase(&mut self, setup: &Setup<SmarttParams>, bytes: Fixed, rtt: Time) {
        let Setup { params, derived, .. } = setup;
        if rtt < derived.target_rtt {
            let below = Fixed::ratio((derived.target_rtt - rtt).ps(), rtt.ps());
            let step = params.mi * below * derived.packet * (bytes / self.cwnd);
            self.cwnd += step.min(bytes);
        }
        self.cwnd += params.fi * derived.packet * (bytes / self.cwnd);
    }

    fn decrease(&mut self, setup: &Setup<SmarttParams>, bytes: Fixed, rtt: Time) {
        let Setup { params, derived, .. } = setup;
        if params.wait_to_decrease && self.marks <= params.wait_threshold {
            return;
        }
        if rtt >= derived.target_rtt {
            let above = Fixed::ratio((rtt - derived.target_rtt).ps(), rtt.ps());
            self.cwnd -= (params.md * above * bytes).min(bytes);
        }
        self.cwnd -= self.cwnd * (params.fd * (bytes / derived.fd_of));
    }

    fn limit(&mut self, setup: &Setup<SmarttParams>) {
        self.cwnd = self.cwnd.clamp_to(setup.derived.packet, setup.derived.max_cwnd);
    }

    /// An acknowledgement, whose RTT and mark count as these.
    fn acknowledged(&mut self, setup: &Setup<SmarttParams>, ack: &Ack, rtt: Time, marked: bool) {
        let Setup { params, derived, .. } = setup;
        let bytes = Fixed::whole(ack.acked.get());
        self.inflight = ack.inflight_now;
        self.acked += ack.acked;
        let mark = if marked { params.mark_weight } else { Fixed::ZERO };
        self.marks = mark + (Fixed::ONE - params.mark_weight) * self.marks;
        self.to_ignore -= ack.acked;
        if self.to_ignore == Bytes::ZERO {
            self.adapt(setup, ack.now);
        }
        if self.to_ignore > Bytes::ZERO {
            return;
        }
        let near = rtt < derived.fast_below && !marked;
        if near {
            self.near_base += ack.acked;
        } else {
            (self.near_base, self.near_base_of) = (Bytes::ZERO, self.cwnd);
        }
        if near && Fixed::whole(self.near_base.get()) > self.near_base_of {
            self.cwnd += params.fast_increase * derived.packet;
        } else if marked {
            self.decrease(setup, bytes, rtt);
        } else {
            self.increase(setup, bytes, rtt);
        }
        self.limit(setup);
    }

    /// A packet was lost.
    fn nack(&mut self, setup: &Setup<SmarttParams>, bytes: Bytes, now: Time) {
        if self.to_ignore > Bytes::ZERO {
            self.to_ignore -= bytes;
            return;
        }
        self.cwnd -= Fixed::whole(bytes.get());
        self.due = true;
        self.adapt(setup, now);
        self.limit(setup);
    }
}

impl CongestionControl for Smartt {
    type Params = SmarttParams;

    fn signals(_params: &SmarttParams) -> Signals {
        Signals::ECN
    }

    fn overhead(_params: &SmarttParams) -> Overhead {
        Overhead::default()
    }

    fn new(setup: &Setup<SmarttParams>, _now: Time) -> Self {
        let mut flow = Self {
            cwnd: setup.params.initial_cwnd * Fixed::whole(setup.bdp.get()),
            near_base_of: Fixed::ZERO,
            near_base: Bytes::ZERO,
            marks: Fixed::ZERO,
            acked: Bytes::ZERO,
            window_end: Time::ZERO,
            to_ignore: Bytes::ZERO,
            inflight: Bytes::ZERO,
            due: false,
        };
        flow.limit(setup);
        flow.near_base_of = flow.cwnd;
        flow
    }

    relate! { |setup|
        value(): [cwnd, near_base_of, marks, to_ignore, inflight],
        // Quick adapt alone reads them.
        only(setup.params.quick_adapt): [acked, due],
        // Above `near_base_of` all numbers are alike; both begin again together.
        up_to(near_base_of.floor().saturating_add(1)): [near_base],
        since(if setup.params.quick_adapt { Time::NEVER } else { Time::ZERO }): [window_end],
    }

    fn on_ack(&mut self, setup: &Setup<SmarttParams>, ack: &Ack, _int: &IntStack) {
        self.acknowledged(setup, ack, ack.rtt(), ack.marked > 0);
    }

    fn on_loss(&mut self, setup: &Setup<SmarttParams>, loss: &Loss) {
        match loss.kind {
            LossKind::Hole => {}
            LossKind::Trim => self.nack(setup, loss.bytes, loss.now),
            LossKind::Timeout => self.nack(setup, setup.path.packet, loss.now),
        }
        self.inflight -= loss.bytes;
    }

    fn on_sent(&mut self, _setup: &Setup<SmarttParams>, sent: &Sent) {
        self.inflight = sent.inflight;
    }

    fn allowance(&self, setup: &Setup<SmarttParams>) -> Allowance {
        Allowance { window: Bytes::new(self.cwnd.floor()).max(Bytes::new(1)), rate: setup.path.line_rate }
    }

    const INTERNALS: &'static [Internal] = &[
        Internal { name: "marks", meaning: "average of marks (exp_avg_ecn)" },
        Internal { name: "to_ignore", meaning: "bytes in flight at quick adapt that have not come back" },
    ];

    fn probe(&self, _setup: &Setup<SmarttParams>, place: usize) -> Option<Value> {
        match place {
            0 => Some(Value::Ratio(self.marks)),
            1 => Some(Value::Bytes(self.to_ignore)),
            _ => None,
        }
    }
}

impl Filtered for Smartt {
    const SIGNAL: Signal = Signal::DelayAndMarks;

    fn sample(&mut self, _setup: &Setup<SmarttParams>, ack: &Ack) -> Option<Sample> {
        Some(Sample::delay(ack.rtt()))
    }

    fn step(&mut self, setup: &Setup<SmarttParams>, ack: &Ack, filtered: Option<Sample>, marked: u32) {
        self.acknowledged(setup, ack, filtered.map_or(ack.rtt(), Sample::time), marked > 0);
    }
}

#[cfg(test)]
mod tests;
