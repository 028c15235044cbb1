//! Patched TIMELY (Zhu, Ghobadi, Misra and Padhye, "ECN or Delay: Lessons Learnt from Analysis of DCQCN and
//! TIMELY", CoNEXT 2016), numbered as Algorithm 2 of the SQCC paper, which reprints it.
//!
//! Between two thresholds the rate follows the RTT itself and not its gradient, which only weighs increase
//! against decrease. So there is one fixed point, with equal rates: a queue that grows with the number of flows.
//!
//! [`crate::sqcc`] is the same with another error function, and with T_low and δ by the number of flows; what
//! both share is here.
//!
//! Where the papers leave something open:
//! * α is the weight of the **new** difference (0.875), as in [`crate::timely`].
//! * At RTT = T_high the rule for longer RTTs applies, since SQCC's error function has its pole there.
//! * The factor of a decrease between the thresholds has a least value (eRPC bounds a step by one half too), and
//!   the rate has a floor.
//! * The first completion only records its RTT. There is no hyper increase: "ECN or Delay" leaves it out.

use incast_units::{Bytes, Rate, Time};

use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Overhead, Parameters, Path, Setup, Signals,
    derived,
};
use crate::estimator::ewma;
use crate::limits::RateWindow;
use crate::params::{About, Described, Family, Value, presets};
use crate::relative::{Relate, relate};
use crate::scale::{Scale, Thresholds};
use crate::{Divisor, Fixed};

/// Parameters of [`PatchedTimely`], all of which [`crate::sqcc::Sqcc`] has too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PatchedTimelyParams {
    /// Weight of the new RTT difference, α.
    pub alpha: Fixed,
    /// Multiplicative decrease β.
    pub beta: Fixed,
    /// RTT below which the rate always grows, T_low; also the RTT that errors refer to.
    pub t_low: Time,
    /// RTT from which on it always shrinks, T_high.
    pub t_high: Time,
    /// Divisor that normalises the gradient, D_minRTT.
    pub min_rtt: Time,
    /// The additive step δ.
    pub delta: Rate,
    /// Length of a segment, in bytes on the wire.
    pub segment: Bytes,
    /// The least factor of a decrease between the thresholds.
    pub min_factor: Fixed,
    /// Smallest rate.
    pub floor_rate: Rate,
    /// The part of it that is a share of the line rate.
    pub floor: Fixed,
    /// The rate of a new flow, as a share of the line rate.
    pub start: Fixed,
    /// T_low, T_high, D_minRTT, δ and the segment by the path, each where it is 0.
    pub scale: Scale,
    /// Limit of the bytes in flight, beside the rate.
    pub window: RateWindow,
}

presets! {
    impl PatchedTimelyParams {
        "scaled": "ours: thresholds over the base RTT, steps and segments by the line rate and the base BDP, beta 0.05, a window \
                   in proportion to the rate",
        /// Returns the parameters for any rate and base RTT.
        pub fn scaled() -> Self {
            Self {
                beta: Fixed::ratio(5, 100),
                t_low: Time::ZERO,
                t_high: Time::ZERO,
                min_rtt: Time::ZERO,
                delta: Rate::ZERO,
                segment: Bytes::ZERO,
                floor: Fixed::ratio(1, 1000),
                scale: Scale { high: Fixed::ONE, ..Scale::OURS },
                window: RateWindow::Rate,
                ..Self::paper()
            }
        }

        "paper": "ECN or Delay, CoNEXT 2016: segments of 16KB, at 10Gbps",
        /// Returns the parameters of the paper.
        pub fn paper() -> Self {
            Self {
                alpha: Fixed::ratio(7, 8),
                beta: Fixed::ratio(8, 1000),
                t_low: Time::from_us(50),
                t_high: Time::from_us(500),
                min_rtt: Time::from_us(20),
                delta: Rate::from_mbps(10),
                segment: Bytes::new(16_000),
                min_factor: Fixed::ratio(1, 2),
                floor_rate: Rate::from_bps(100_000),
                floor: Fixed::ZERO,
                start: Fixed::ONE,
                scale: Scale::OURS,
                window: RateWindow::None,
            }
        }

        "sqcc": "the baseline of the SQCC paper: segments of 64KB, a delay of 5us",
        /// As in the runs of the SQCC paper.
        pub fn sqcc() -> Self {
            Self { min_rtt: Time::from_us(5), segment: Bytes::new(64_000), ..Self::paper() }
        }
    }
}

/// The averaged gradient, as a probe shows it.
pub(crate) const GRADIENT: Internal =
    Internal { name: "gradient", meaning: "averaged RTT difference over D_minRTT (rttGradient)" };
/// The RTT before, as a probe shows it.
pub(crate) const PREVIOUS_RTT: Internal =
    Internal { name: "previous_rtt", meaning: "RTT of the last completion (prevRTT)" };

/// Bits behind the point of the rates kept here: a slow flow takes small steps, and what each of them is rounded
/// by adds up over a thousand.
const RATE_BITS: u32 = 16;

/// A rate in units of 2⁻¹⁶ bps.
pub(crate) const fn fine(rate: Rate) -> u64 {
    let (bps, largest) = (rate.bps(), u64::MAX >> RATE_BITS);
    (if bps > largest { largest } else { bps }) << RATE_BITS
}

/// A rate in units of 2⁻¹⁶ bps, rounded down to whole bps.
pub(crate) const fn coarse(rate: u64) -> Rate {
    Rate::from_bps(rate >> RATE_BITS)
}

derived! {
    /// Quantities that patched TIMELY derives once from its parameters and a path: rates in units of 2⁻¹⁶ bps.
    pub struct PatchedTimelyDerived of PatchedTimelyParams, |params, path|
    let line = fine(path.line_rate);
    let scale = params.scale;
    let own = scale.thresholds(path, [params.t_low, params.t_high]);
    let delta = scale.step(path, params.delta);
    let floor = fine(params.floor_rate).saturating_add(params.floor.scale(line)).min(line);
    let start = params.start.scale(line).max(floor).min(line);
    {
        /// The line rate, the largest.
        line: u64 = line,
        /// The smallest rate.
        floor: u64 = floor,
        /// The rate of a new flow.
        start: u64 = start,
        /// The additive step δ.
        pub(crate) delta: u64 = fine(delta),
        /// T_low and T_high.
        pub(crate) thresholds: Thresholds = own,
        /// D_minRTT.
        min_rtt: Time = scale.min_rtt(path, params.min_rtt),
        /// Length of a segment.
        segment: Bytes = scale.segment(path, params.segment),
        /// Division by the line rate.
        per_line: Divisor = Divisor::new(path.line_rate.bps()),
    }
}

/// The [`Param`](crate::params::Param)s of [`PatchedTimelyParams`] in a field called `$own`, and others after them.
macro_rules! with_common_params {
    ([$($own:ident)?] $($other:expr,)*) => {
        &[
            $crate::params::param!(
                Ratio "alpha",
                $($own.)? alpha,
                $crate::Fixed::ZERO,
                $crate::Fixed::ONE,
                "weight of the new RTT difference in the average",
                Printed,
                "ECN or Delay; SQCC section IV: 0.875"
            ),
            $crate::params::param!(
                Ratio "beta",
                $($own.)? beta,
                $crate::Fixed::ZERO,
                $crate::Fixed::ONE,
                "multiplicative decrease per unit of error",
                Measured,
                "ECN or Delay; SQCC section IV: 0.008; chosen here by measurement: 0.05"
            ),
            $crate::params::param!(
                Time "t_low",
                $($own.)? t_low,
                incast_units::Time::ZERO,
                incast_units::Time::from_ms(100),
                "RTT below which the rate always grows, and to which the error refers; 0: by queue_low",
                Ours,
                "ECN or Delay; SQCC section IV: 50us; 0 is ours"
            ),
            $crate::params::param!(
                Time "t_high",
                $($own.)? t_high,
                incast_units::Time::ZERO,
                incast_units::Time::from_ms(1000),
                "RTT from which on the rate always shrinks; 0: by queue_high",
                Ours,
                "ECN or Delay; SQCC section IV: 500us; 0 is ours"
            ),
            $crate::params::param!(
                Time "min_rtt",
                $($own.)? min_rtt,
                incast_units::Time::ZERO,
                incast_units::Time::from_ms(100),
                "RTT by which the gradient is normalised, D_minRTT; 0: by min_rtts",
                Ours,
                "ECN or Delay: 20us; SQCC does not print it: 5us, its delay D, chosen here; 0 is ours"
            ),
            $crate::params::param!(
                Rate "delta",
                $($own.)? delta,
                incast_units::Rate::ZERO,
                incast_units::Rate::from_gbps(100),
                "additive step; where it adapts, its largest value; 0: by delta_share",
                Ours,
                "ECN or Delay; SQCC section IV: 10Mbps; 0 is ours"
            ),
            $crate::params::param!(
                Bytes "segment",
                $($own.)? segment,
                incast_units::Bytes::ZERO,
                incast_units::Bytes::new(1_000_000_000),
                "bytes acknowledged (on the wire) that complete a segment; 0: by segment_share",
                Ours,
                "ECN or Delay: 16KB for the patched algorithm; SQCC: T_low = seg/C = 50us at 10Gbps, 64KB; 0 is ours"
            ),
            $crate::params::param!(
                Ratio "min_factor",
                $($own.)? min_factor,
                $crate::Fixed::ZERO,
                $crate::Fixed::ONE,
                "least factor of a decrease between t_low and t_high",
                Ours,
                "chosen here: 0.5, as eRPC bounds a step; the papers have none"
            ),
            $crate::params::param!(
                Rate "floor_rate",
                $($own.)? floor_rate,
                incast_units::Rate::from_bps(1),
                incast_units::Rate::from_gbps(100),
                "smallest rate, to which floor is added",
                Ours,
                "chosen here: 100kbps, well below the share of one of 1000 flows at 10Gbps"
            ),
            $crate::params::param!(
                Ratio "floor",
                $($own.)? floor,
                $crate::Fixed::ZERO,
                $crate::Fixed::ONE,
                "added to the smallest rate: a share of the line rate",
                Ours,
                "chosen here: 0.001, the share of TIMELY; at less a flow waits long for the next sample"
            ),
            $crate::params::param!(
                Ratio "start",
                $($own.)? start,
                $crate::Fixed::ZERO,
                $crate::Fixed::ONE,
                "rate of a new flow as a share of the line rate, at least the smallest rate",
                Printed,
                "ECN or Delay: 1 for the first flow of a sender; 1/N in its validation with N flows; SQCC does not say"
            ),
            $crate::scale::scale_param!(queue_low, $($own.)? scale.low),
            $crate::scale::scale_param!(queue_high, $($own.)? scale.high),
            $crate::scale::scale_param!(min_rtts, $($own.)? scale.min_rtt),
            $crate::scale::scale_param!(delta_share, $($own.)? scale.delta),
            $crate::scale::scale_param!(segment_share, $($own.)? scale.segment),
            $crate::params::param!(
                choice "window",
                $($own.)? window,
                $crate::limits::RateWindow,
                "limit of the bytes in flight: none, one base BDP, or the base BDP in proportion to the rate",
                Artifact,
                "the papers: none; scaled: rate, as HPCC's public artifact has it for TIMELY"
            ),
            $($other,)*
        ]
    };
}
pub(crate) use with_common_params;

impl Described for PatchedTimelyParams {
    const ABOUT: About = About {
        name: "patched-timely",
        title: "Patched TIMELY",
        summary: "rate control by the RTT between two thresholds, weighed by its gradient",
        family: Family::Delay,
        needs: "timestamps of network cards, acknowledgements by segment (RDMA cards: 2015)",
    };
    const PARAMS: &'static [crate::params::Param<Self>] = with_common_params!([]);

    /// Without a gradient the rate still shrinks in proportion to the excess over the low threshold.
    fn delay_limit(&self, path: &Path) -> Option<(Time, &'static str)> {
        Some((
            self.derive(path).thresholds.low(1),
            if self.t_low == Time::ZERO { "queue_low" } else { "t_low" },
        ))
    }
}

/// By how much an RTT between the thresholds exceeds T_low.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorFunction {
    /// Algorithm 2, line 17: (RTT − T_low)/T_low.
    Patched,
    /// SQCC, Equation 16: T_high·(RTT − T_low)/(T_low·(T_high − RTT)).
    Sqcc,
}

impl ErrorFunction {
    /// The error at an RTT from `low` on and below `high`.
    fn at(self, rtt: Time, low: Time, high: Time) -> Fixed {
        let relative = Fixed::ratio((rtt - low).ps(), low.ps());
        match self {
            Self::Patched => relative,
            Self::Sqcc => relative * Fixed::ratio(high.ps(), (high - rtt).ps()),
        }
    }
}

/// Result of a completed segment about the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    /// The RTT of its last packet.
    rtt: Time,
    /// The weight of the decrease, 0 to 1.
    weight: Fixed,
}

/// Law by which a completion is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    /// T_low.
    pub(crate) low: Time,
    /// δ, in units of 2⁻¹⁶ bps.
    pub(crate) delta: u64,
    /// The error between T_low and T_high.
    pub(crate) error: ErrorFunction,
}

/// The state of one flow. Size: 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PatchedTimely {
    /// In units of 2⁻¹⁶ bps.
    rate: u64,
    /// RTT of the last completion; [`Time::NEVER`] before the first.
    previous: Time,
    /// Averaged RTT difference over D_minRTT.
    gradient: Fixed,
    /// Bytes acknowledged since the last completion.
    acked: Bytes,
}

impl PatchedTimely {
    pub(crate) fn start(derived: &PatchedTimelyDerived) -> Self {
        Self { rate: derived.start, previous: Time::NEVER, gradient: Fixed::ZERO, acked: Bytes::ZERO }
    }

    /// The rate, in units of 2⁻¹⁶ bps.
    pub(crate) fn rate(&self) -> u64 {
        self.rate
    }

    pub(crate) fn previous(&self) -> Option<Time> {
        (self.previous != Time::NEVER).then_some(self.previous)
    }

    pub(crate) fn gradient(&self) -> Fixed {
        self.gradient
    }

    /// Counts an acknowledgement, which may complete a segment. The first one only records its RTT.
    pub(crate) fn complete(
        &mut self,
        params: &PatchedTimelyParams,
        derived: &PatchedTimelyDerived,
        ack: &Ack,
    ) -> Option<Completion> {
        self.acked += ack.acked;
        if self.acked < derived.segment {
            return None;
        }
        self.acked = Bytes::ZERO;
        let (rtt, previous) = (ack.rtt(), self.previous);
        self.previous = rtt;
        if previous == Time::NEVER {
            return None;
        }
        // Lines 1, 3, 4: averaging the normalised difference is the same as normalising the average.
        self.gradient = ewma(self.gradient, change(previous, rtt, derived.min_rtt), params.alpha);
        // Lines 10 to 16.
        let weight = self.gradient + self.gradient + Fixed::ratio(1, 2);
        Some(Completion { rtt, weight: weight.clamp_to(Fixed::ZERO, Fixed::ONE) })
    }

    /// The new rate after a completion. (By reference, because BPF functions have at most five words of arguments.)
    pub(crate) fn adjust(
        &mut self,
        params: &PatchedTimelyParams,
        derived: &PatchedTimelyDerived,
        completion: &Completion,
        law: &Law,
    ) {
        let Completion { rtt, weight } = *completion;
        let rate = if rtt < law.low {
            // Line 6.
            self.rate.saturating_add(law.delta)
        } else if rtt >= derived.thresholds.high {
            // Line 8.
            let excess = Fixed::ratio((rtt - derived.thresholds.high).ps(), rtt.ps());
            (Fixed::ONE - params.beta * excess).scale(self.rate)
        } else {
            // Line 18. Weight and error first: β is small, and its product would keep fewer digits.
            let error = law.error.at(rtt, law.low, derived.thresholds.high);
            let factor = (Fixed::ONE - params.beta * (weight * error)).max(params.min_factor);
            factor.scale(self.rate).saturating_add((Fixed::ONE - weight).scale(law.delta))
        };
        self.rate = rate.max(derived.floor).min(derived.line);
    }

    pub(crate) fn allow(
        &self,
        params: &PatchedTimelyParams,
        derived: &PatchedTimelyDerived,
        bdp: Bytes,
    ) -> Allowance {
        let rate = coarse(self.rate);
        Allowance { window: params.window.window(bdp, derived.per_line.ratio(rate.bps())), rate }
    }
}

/// `to − from` over `unit`.
fn change(from: Time, to: Time, unit: Time) -> Fixed {
    if to >= from {
        Fixed::ratio((to - from).ps(), unit.ps())
    } else {
        -Fixed::ratio((from - to).ps(), unit.ps())
    }
}

impl Relate for PatchedTimely {
    relate! {
        value(): [rate, previous, gradient, acked],
    }
}

impl CongestionControl for PatchedTimely {
    type Params = PatchedTimelyParams;

    const HEARS_SENT: bool = false;

    fn signals(_params: &PatchedTimelyParams) -> Signals {
        Signals::NONE
    }

    fn overhead(_params: &PatchedTimelyParams) -> Overhead {
        Overhead::default()
    }

    fn new(setup: &Setup<PatchedTimelyParams>, _now: Time) -> Self {
        Self::start(&setup.derived)
    }

    relate! { as a part }

    fn on_ack(&mut self, setup: &Setup<PatchedTimelyParams>, ack: &Ack, _int: &IntStack) {
        let Setup { params, derived, .. } = setup;
        if let Some(completion) = self.complete(params, derived, ack) {
            let law =
                Law { low: derived.thresholds.low(1), delta: derived.delta, error: ErrorFunction::Patched };
            self.adjust(params, derived, &completion, &law);
        }
    }

    fn allowance(&self, setup: &Setup<PatchedTimelyParams>) -> Allowance {
        self.allow(&setup.params, &setup.derived, setup.bdp)
    }

    const INTERNALS: &'static [Internal] = &[GRADIENT, PREVIOUS_RTT];

    fn probe(&self, _setup: &Setup<PatchedTimelyParams>, place: usize) -> Option<Value> {
        match place {
            0 => Some(Value::Ratio(self.gradient)),
            1 => self.previous().map(Value::Time),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PATH_10G as PATH, close, float};

    fn ns(time: u64) -> Time {
        Time::from_ns(time)
    }

    /// The acknowledgement of `acked` bytes whose packet took `rtt`.
    fn ack(rtt: Time, acked: u64) -> Ack {
        Ack { acked: Bytes::new(acked), ..crate::testing::ack(Time::from_us(5000), rtt, 0, 0) }
    }

    /// A flow at `rate` whose last segment took `rtt`, with an average difference of zero.
    fn after(params: &PatchedTimelyParams, rate: Rate, rtt: Time) -> PatchedTimely {
        let setup = Setup::new(*params, PATH);
        let mut flow = PatchedTimely { rate: fine(rate), ..PatchedTimely::new(&setup, Time::ZERO) };
        flow.on_ack(&setup, &ack(rtt, 64_000), &IntStack::EMPTY);
        assert_eq!(coarse(flow.rate), rate, "the first completion only records");
        flow
    }

    /// The rate in Mbps after a segment that took `rtt`.
    fn complete(flow: &mut PatchedTimely, params: &PatchedTimelyParams, rtt: Time) -> f64 {
        flow.on_ack(&Setup::new(*params, PATH), &ack(rtt, 64_000), &IntStack::EMPTY);
        flow.rate as f64 / 65_536e6
    }

    /// `before` to `rtt`, in ns: from `from` Mbps to `to`.
    #[track_caller]
    fn step(before: u64, rtt: u64, from: u64, to: f64) {
        let params = PatchedTimelyParams::sqcc();
        let mut flow = after(&params, Rate::from_mbps(from), ns(before));
        let got = complete(&mut flow, &params, ns(rtt));
        assert!((got - to).abs() < 1e-6 * to, "{got} is not {to}");
    }

    #[test]
    fn state_is_as_large_as_documented() {
        assert_eq!(size_of::<PatchedTimely>(), 32);
    }

    #[test]
    fn starts_at_its_share_of_the_line_without_a_window() {
        for (start, rate) in [
            (Fixed::ONE, PATH.line_rate),
            (Fixed::ratio(1, 4), Rate::from_mbps(2500)),
            (Fixed::ZERO, Rate::from_bps(100_000)),
        ] {
            let setup = Setup::new(PatchedTimelyParams { start, ..PatchedTimelyParams::paper() }, PATH);
            let flow = PatchedTimely::new(&setup, Time::ZERO);
            assert_eq!(flow.allowance(&setup), Allowance { window: Bytes::UNLIMITED, rate });
        }
    }

    #[test]
    fn errors_are_those_of_the_formulas() {
        // T_low 50 µs, T_high 500 µs; at 75 µs 25/50, and 500 · 25/(50 · 425) = 10/17; and so on.
        let (low, high) = (Time::from_us(50), Time::from_us(500));
        for (rtt, patched, sqcc) in
            [(50, 0.0, 0.0), (75, 0.5, 10.0 / 17.0), (250, 4.0, 8.0), (450, 8.0, 80.0), (499, 8.98, 4490.0)]
        {
            let rtt = Time::from_us(rtt);
            close(ErrorFunction::Patched.at(rtt, low, high), patched);
            let got = float(ErrorFunction::Sqcc.at(rtt, low, high));
            assert!((got - sqcc).abs() < 1e-6, "{got} is not {sqcc}");
        }
        // A picosecond below the pole 9 · 500 000 000 is more than numbers hold.
        let edge = ErrorFunction::Sqcc.at(high - Time::from_ps(1), low, high);
        assert_eq!(edge, Fixed::MAX);
    }

    #[test]
    fn steps_between_the_thresholds_by_hand() {
        // 100 → 100.5 µs: diff 0.875 · 0.5 = 0.4375 µs, gradient 0.0875, weight 0.675; error 1.01:
        // 10 · 0.325 + 1000 · (1 − 0.008 · 1.01 · 0.675) = 3.25 + 994.546 = 997.796 Mbps.
        step(100_000, 100_500, 1000, 997.796);
        // 100 → 99: gradient −0.175, weight 0.15; 8.5 + 1000 · (1 − 0.008 · 0.98 · 0.15) = 1007.324.
        step(100_000, 99_000, 1000, 1007.324);
        // 100 → 102: gradient 0.35, weight 1; 1000 · (1 − 0.008 · 1.04) = 991.68.
        step(100_000, 102_000, 1000, 991.68);
        // 100 → 98: gradient −0.35, weight 0: a whole step.
        step(100_000, 98_000, 1000, 1010.0);
        // 600 → 600 at 200 Mbps: above T_high, 200 · (1 − 0.008 · (1 − 500/600)).
        step(600_000, 600_000, 200, 199.733_333_333);
        // Below T_low a whole step, whatever the gradient.
        step(20_000, 49_999, 1000, 1010.0);
        // At T_low the error is zero: 10 · 0 + 1000, with weight 1.
        step(20_000, 50_000, 1000, 1000.0);
    }

    #[test]
    fn differences_are_averaged() {
        // 100, 102, 102 µs: diff 1.75, then 0.125 · 1.75 = 0.21875 µs; gradient 0.04375, weight 0.5875, error
        // 1.04: 991.68 · (1 − 0.008 · 1.04 · 0.5875) + 10 · 0.4125 = 986.832668 + 4.125 = 990.957668.
        let params = PatchedTimelyParams::sqcc();
        let setup = Setup::new(params, PATH);
        let mut flow = after(&params, Rate::from_gbps(1), ns(100_000));
        assert_eq!(flow.probe(&setup, 1), Some(Value::Time(ns(100_000))));
        complete(&mut flow, &params, ns(102_000));
        let got = complete(&mut flow, &params, ns(102_000));
        let by_hand = 991.68 * (1.0 - 0.008 * 1.04 * 0.5875) + 4.125;
        assert!((got - by_hand).abs() < 1e-5, "{got} is not {by_hand}");
        close(flow.gradient, 0.04375);
        assert_eq!(flow.probe(&setup, 0), Some(Value::Ratio(flow.gradient)));
    }

    #[test]
    fn at_the_high_threshold_the_rule_of_longer_rtts_applies() {
        // 500 → 500 µs: 1 − 0.008 · (1 − 1) leaves the rate alone; the rule below it would give
        // 5 + 1000 · (1 − 0.008 · 9 · 0.5) = 969.
        step(500_000, 500_000, 1000, 1000.0);
        // Just below: 10 · 0.5 + 1000 · (1 − 0.008 · 8.99998 · 0.5).
        step(499_999, 499_999, 1000, 969.000_08);
    }

    #[test]
    fn a_decrease_has_a_least_factor_and_the_rate_a_floor() {
        // β = 1 and an error of 4.2 at 260 µs, weight 1: 1 − 4.2 counts as one half.
        let params = PatchedTimelyParams { beta: Fixed::ONE, ..PatchedTimelyParams::sqcc() };
        let mut flow = after(&params, Rate::from_gbps(1), ns(250_000));
        let got = complete(&mut flow, &params, ns(260_000));
        assert!((got - 500.0).abs() < 1e-5, "{got}");
        // Without one, the floor.
        let params = PatchedTimelyParams { min_factor: Fixed::ZERO, ..params };
        let mut flow = after(&params, Rate::from_gbps(1), ns(250_000));
        assert_eq!(complete(&mut flow, &params, ns(260_000)), 0.1);
        // A thousandth of the line is added to it.
        let params = PatchedTimelyParams { floor: Fixed::ratio(1, 1000), ..params };
        let mut flow = after(&params, Rate::from_gbps(1), ns(250_000));
        let got = complete(&mut flow, &params, ns(260_000));
        assert!((got - 10.1).abs() < 1e-5, "{got}");
        // The line is the largest: 9995 + 10 Mbps.
        step(20_000, 20_000, 9995, 10_000.0);
    }

    #[test]
    fn segments_complete_with_their_last_packet() {
        // 64 packets of 1000 B. The RTT is the last one's; the others' do not matter.
        let params = PatchedTimelyParams::sqcc();
        let setup = Setup::new(params, PATH);
        let mut flow =
            PatchedTimely { rate: fine(Rate::from_gbps(1)), ..PatchedTimely::new(&setup, Time::ZERO) };
        for segment in 0..2 {
            for packet in 0..64 {
                let rtt = ns(if packet == 63 { 40_000 } else { 900_000 });
                flow.on_ack(&setup, &ack(rtt, 1000), &IntStack::EMPTY);
                let completed = segment + usize::from(packet == 63);
                assert_eq!(flow.previous().is_some(), completed > 0, "{segment}, {packet}");
                let rate = Rate::from_mbps(if completed == 2 { 1010 } else { 1000 });
                assert_eq!(flow.allowance(&setup).rate, rate, "{segment}, {packet}");
            }
        }
        assert_eq!(flow.previous, ns(40_000));
    }

    #[test]
    fn rates_rest_at_the_fixed_point_until_it_reaches_t_high() {
        // RTT* = T_low·(1 + x), x = N·δ/(β·C) = N/8 (SQCC paper, Equation 6, of RTTs and not of queues).
        let params = PatchedTimelyParams::sqcc();
        for (flows, rtt_us) in [(2, 62.5), (10, 112.5), (20, 175.0), (40, 300.0), (60, 425.0)] {
            let share = 10_000.0 / f64::from(flows);
            for (away, sign) in [(1.0, 0.0), (0.99, 1.0), (1.01, -1.0)] {
                let rtt = Time::from_ps((rtt_us * away * 1e6) as u64);
                let mut flow = after(&params, Rate::from_bps((share * 1e6) as u64), rtt);
                let change = complete(&mut flow, &params, rtt) - share;
                let as_expected =
                    if sign == 0.0 { change.abs() < 1e-6 * share } else { change * sign > 1e-3 };
                assert!(as_expected, "{flows} flows, {away}: {change} Mbps");
            }
        }
        // At 72 flows RTT* is T_high itself, and beyond it there is none: at every RTT below T_high rates grow.
        for flows in [72, 80, 100] {
            let share = Rate::from_bps(10_000_000_000 / flows);
            for rtt in [50_000, 300_000, 499_999] {
                let mut flow = after(&params, share, ns(rtt));
                assert!(complete(&mut flow, &params, ns(rtt)) > share.bps() as f64 / 1e6, "{flows}, {rtt}");
            }
        }
    }
}
