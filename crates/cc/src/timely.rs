//! TIMELY (Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015),
//! Algorithm 1, with hyper active increase.
//!
//! The rate follows the gradient of the RTT: up by a constant while the RTT does not grow, down in
//! proportion while it does. Below T_low it always grows, above T_high it always shrinks.
//!
//! Where the paper leaves something open:
//! * α is the weight of the **new** difference (0.875), as in both public implementations read.
//! * T_high's formula is `rate · (1 − β · (1 − T_high/RTT))`. (One public implementation has
//!   `1 − β · T_high/RTT`, which cuts less the longer the RTT is.)
//! * Values that the paper does not print are taken from "ECN or Delay" (Zhu et al., CoNEXT 2016).
//! * The first completion only records its RTT. A decrease always ends a row of increases.
//! * An averaged gradient smaller than 2⁻³² is zero: after some 16 equal RTTs the rate grows again,
//!   where real numbers would keep an ever smaller positive gradient for ever.
//! * A factor below zero counts as zero; the rate has a floor.

use incast_units::{Bytes, Rate, Time};

use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Overhead, Parameters, Path, Setup, Signals,
    derived,
};
use crate::estimator::ewma;
use crate::limits::RateWindow;
use crate::params::{About, Described, Family, Kernel, Param, Value, choice, param, presets};
use crate::relative::relate;
use crate::scale::{Scale, Thresholds, scale_param};
use crate::{Divisor, Fixed};

choice! {
    /// Time at which the rate is updated.
    Update {
        /// With every completed segment.
        Segment = "segment",
        /// Once per round trip: when a packet is acknowledged that was sent after the last update.
        RoundTrip = "rtt",
    }
}

/// Parameters of [`Timely`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct TimelyParams {
    /// Weight of the new RTT difference, α.
    pub alpha: Fixed,
    /// Multiplicative decrease β.
    pub beta: Fixed,
    /// RTT below which the rate always grows.
    pub t_low: Time,
    /// RTT above which it always shrinks.
    pub t_high: Time,
    /// Divisor that normalises the gradient, D_minRTT.
    pub min_rtt: Time,
    /// The part of the additive step δ that is absolute.
    pub delta: Rate,
    /// The part of δ that is a share of the line rate.
    pub delta_share: Fixed,
    /// The step is hyper from this many increases in a row on.
    pub hai_from: u64,
    /// Number of δ in a hyper step.
    pub hai_steps: u64,
    /// Whether increases below T_low count in the row and may be hyper too.
    pub hai_below_low: bool,
    /// Time at which the rate is updated.
    pub update: Update,
    /// Length of a segment, in bytes on the wire.
    pub segment: Bytes,
    /// The part of the smallest rate that is a share of the line rate.
    pub floor: Fixed,
    /// The part of it that is absolute.
    pub floor_rate: Rate,
    /// Limit of the bytes in flight, beside the rate.
    pub window: RateWindow,
    /// T_low, T_high and D_minRTT by the path, each where it is 0; the others are not used.
    pub scale: Scale,
}

presets! {
    impl TimelyParams {
        "scaled": "ours: thresholds over the base RTT, steps by the line rate, once per RTT, a window in proportion to the rate",
        /// Returns the parameters for any rate and base RTT.
        pub fn scaled() -> Self {
            Self {
                delta: Rate::ZERO,
                delta_share: Fixed::ratio(5, 1000),
                t_low: Time::ZERO,
                t_high: Time::ZERO,
                min_rtt: Time::ZERO,
                hai_below_low: true,
                update: Update::RoundTrip,
                window: RateWindow::Rate,
                ..Self::paper()
            }
        }

        "paper": "TIMELY, SIGCOMM 2015, at 10Gbps, with the values of ECN or Delay, CoNEXT 2016",
        /// Returns the parameters of the paper.
        pub fn paper() -> Self {
            Self {
                alpha: Fixed::ratio(7, 8),
                beta: Fixed::ratio(8, 10),
                t_low: Time::from_us(50),
                t_high: Time::from_us(500),
                min_rtt: Time::from_us(20),
                delta: Rate::from_mbps(10),
                delta_share: Fixed::ZERO,
                hai_from: 5,
                hai_steps: 5,
                hai_below_low: false,
                update: Update::Segment,
                segment: Bytes::new(64_000),
                floor: Fixed::ratio(1, 1000),
                floor_rate: Rate::ZERO,
                window: RateWindow::None,
                scale: Scale::OURS,
            }
        }

        "hpcc": "the run script of HPCC's public artifact: updates once per RTT, steps in proportion to the line rate, rates from 1Gbps on; with window = rate its timely_vwin",
        fn hpcc() -> Self {
            Self {
                delta: Rate::ZERO,
                delta_share: Fixed::ratio(1, 1000),
                hai_from: 6,
                hai_below_low: true,
                update: Update::RoundTrip,
                floor: Fixed::ZERO,
                floor_rate: Rate::from_gbps(1),
                ..Self::paper()
            }
        }
    }
}

derived! {
    /// Quantities that TIMELY derives once from its parameters and a path.
    pub struct TimelyDerived of TimelyParams, |params, path|
    let share = |share: Fixed| Rate::from_bps(share.scale(path.line_rate.bps()));
    let scale = params.scale;
    {
        /// The additive step δ.
        pub step: Rate = params.delta + share(params.delta_share),
        /// Smallest rate.
        pub floor: Rate = (params.floor_rate + share(params.floor)).min(path.line_rate).max(Rate::from_bps(1)),
        /// Division by the line rate,
        pub line: Divisor = Divisor::new(path.line_rate.bps()),
        /// and by D_minRTT.
        pub min_rtt: Divisor = Divisor::new(scale.min_rtt(path, params.min_rtt).ps()),
        /// T_low and T_high.
        pub(crate) thresholds: Thresholds = scale.thresholds(path, [params.t_low, params.t_high]),
    }
}

impl Described for TimelyParams {
    const ABOUT: About = About {
        name: "timely",
        title: "TIMELY",
        summary: "rate control by the gradient of the RTT between two thresholds",
        family: Family::Delay,
        needs: "round-trip times of segments from timestamps of network cards (2015); nothing from switches",
    };
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Ratio "alpha",
            alpha,
            Fixed::ZERO,
            Fixed::ONE,
            "weight of the new RTT difference in the average",
            Printed,
            "ECN or Delay: 0.875"
        ),
        param!(
            Ratio "beta",
            beta,
            Fixed::ZERO,
            Fixed::ONE,
            "multiplicative decrease per unit of gradient",
            Printed,
            "TIMELY section 4.3 and ECN or Delay: 0.8"
        ),
        param!(
            Time "t_low",
            t_low,
            Time::ZERO,
            Time::from_ms(100),
            "RTT below which the rate always grows; 0: by queue_low",
            Ours,
            "TIMELY section 5 and ECN or Delay: 50us; 0 is ours"
        ),
        param!(
            Time "t_high",
            t_high,
            Time::ZERO,
            Time::from_ms(1000),
            "RTT above which the rate always shrinks; 0: by queue_high",
            Ours,
            "TIMELY section 5 and ECN or Delay: 500us; 0 is ours"
        ),
        param!(
            Time "min_rtt",
            min_rtt,
            Time::ZERO,
            Time::from_ms(100),
            "RTT by which the gradient is normalised; 0: by min_rtts",
            Ours,
            "ECN or Delay and HPCC's public artifact: 20us; 0 is ours"
        ),
        param!(
            Rate "delta",
            delta,
            Rate::ZERO,
            Rate::from_gbps(100),
            "additive step, to which delta_share is added",
            Ours,
            "TIMELY section 4.3 and ECN or Delay: 10Mbps; 0 is ours"
        ),
        param!(
            Ratio "delta_share",
            delta_share,
            Fixed::ZERO,
            Fixed::ONE,
            "added to the additive step: a share of the line rate",
            Measured,
            "HPCC's public artifact: 10Mbps for each 10Gbps, 0.001; chosen here by measurement: 0.005"
        ),
        param!(
            Count "hai_from",
            hai_from,
            1,
            1_000_000_000,
            "the step is hyper from this many increases in a row on",
            Printed,
            "TIMELY Algorithm 1: five completions; HPCC's public artifact: after five steps"
        ),
        param!(
            Count "hai_steps",
            hai_steps,
            1,
            1000,
            "additive steps in a hyper one",
            Printed,
            "TIMELY Algorithm 1: 5; HPCC's public artifact: 50Mbps to 10Mbps"
        ),
        param!(
            Flag "hai_below_low",
            hai_below_low,
            "whether increases below t_low count in the row of increases and may be hyper",
            Artifact,
            "TIMELY Algorithm 1: false; HPCC's public artifact: true"
        ),
        param!(
            choice "update",
            update,
            Update,
            "when the rate is updated: with every completed segment or once per round trip",
            Artifact,
            "TIMELY section 4: segments; HPCC's public artifact: rtt"
        ),
        param!(
            Bytes "segment",
            segment,
            Bytes::new(1),
            Bytes::new(1_000_000_000),
            "bytes acknowledged (on the wire) that complete a segment",
            Printed,
            "TIMELY section 3: 16KB to 64KB; ECN or Delay: 64KB"
        ),
        param!(
            Ratio "floor",
            floor,
            Fixed::ZERO,
            Fixed::ONE,
            "smallest rate as a share of the line rate, to which floor_rate is added",
            Artifact,
            "TIMELY without a value; OSCAR's public artifact: 0.001 for all algorithms"
        ),
        param!(
            Rate "floor_rate",
            floor_rate,
            Rate::ZERO,
            Rate::from_gbps(100),
            "added to the smallest rate",
            Artifact,
            "OSCAR's public artifact: none; HPCC's: 1Gbps in its run script, 100Mbps in its sample configuration"
        ),
        param!(
            choice "window",
            window,
            RateWindow,
            "limit of the bytes in flight: none, one base BDP, or the base BDP in proportion to the rate",
            Artifact,
            "TIMELY: none; HPCC's public artifact with VAR_WIN and PowerTCP's burst runs: rate"
        ),
        scale_param!(queue_low, scale.low),
        scale_param!(queue_high, scale.high),
        scale_param!(min_rtts, scale.min_rtt),
    ];
    const KERNEL: Option<Kernel> = Some(Kernel::new("incast_timely", Signals::NONE));

    /// Between the thresholds only the gradient counts, which is zero here.
    fn delay_limit(&self, path: &Path) -> Option<(Time, &'static str)> {
        Some((
            self.derive(path).thresholds.high,
            if self.t_high == Time::ZERO { "queue_high" } else { "t_high" },
        ))
    }
}

/// The state of one flow. Size: 48 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Timely {
    rate: Rate,
    /// RTT of the last completion; [`Time::NEVER`] before the first.
    previous: Time,
    /// Averaged RTT difference over D_minRTT.
    gradient: Fixed,
    /// Bytes acknowledged since the last completion.
    acked: Bytes,
    /// Position from which on acknowledged bytes were sent after the last update.
    mark: u64,
    /// Increases in a row.
    increases: u64,
}

impl Timely {
    /// Whether this acknowledgement completes a segment, or a round trip.
    fn completes(&mut self, params: &TimelyParams, ack: &Ack) -> bool {
        self.acked += ack.acked;
        let complete = match params.update {
            Update::Segment => self.acked >= params.segment,
            Update::RoundTrip => ack.sequence > self.mark,
        };
        if complete {
            self.acked = Bytes::ZERO;
            self.mark = ack.next_sequence;
        }
        complete
    }

    fn increase(&mut self, setup: &Setup<TimelyParams>, in_row: bool) {
        let Setup { params, derived, .. } = setup;
        let mut steps = 1;
        if in_row {
            self.increases = self.increases.saturating_add(1);
            if self.increases >= params.hai_from {
                steps = params.hai_steps;
            }
        }
        self.rate += derived.step.times(steps);
    }

    fn decrease(&mut self, factor: Fixed) {
        self.increases = 0;
        self.rate = Rate::from_bps(factor.scale(self.rate.bps()));
    }
}

/// `to − from` over `unit`.
fn change(from: Time, to: Time, unit: &Divisor) -> Fixed {
    if to >= from { unit.ratio((to - from).ps()) } else { -unit.ratio((from - to).ps()) }
}

impl CongestionControl for Timely {
    type Params = TimelyParams;

    const HEARS_SENT: bool = false;

    fn signals(_params: &TimelyParams) -> Signals {
        Signals::NONE
    }

    fn overhead(_params: &TimelyParams) -> Overhead {
        Overhead::default()
    }

    fn new(setup: &Setup<TimelyParams>, _now: Time) -> Self {
        let Setup { path, .. } = setup;
        Self {
            rate: path.line_rate,
            previous: Time::NEVER,
            gradient: Fixed::ZERO,
            acked: Bytes::ZERO,
            mark: 0,
            increases: 0,
        }
    }

    relate! { |setup|
        value(): [rate, previous, gradient, acked],
        up_to(setup.params.hai_from): [increases],
        ahead(): [mark],
    }

    /// Algorithm 1 (numbered as in the SQCC paper's reprint), with hyper increase.
    fn on_ack(&mut self, setup: &Setup<TimelyParams>, ack: &Ack, _int: &IntStack) {
        let Setup { params, path, derived, .. } = setup;
        if !self.completes(params, ack) {
            return;
        }
        let (rtt, previous) = (ack.rtt(), self.previous);
        self.previous = rtt;
        if previous == Time::NEVER {
            return;
        }
        // Lines 1, 3, 4: averaging the normalised difference is the same as normalising the average.
        self.gradient = ewma(self.gradient, change(previous, rtt, &derived.min_rtt), params.alpha);
        let (low, high) = (derived.thresholds.low(1), derived.thresholds.high);
        if rtt < low {
            self.increase(setup, params.hai_below_low);
        } else if rtt > high {
            let excess = Fixed::ratio((rtt - high).ps(), rtt.ps());
            self.decrease(Fixed::ONE - params.beta * excess);
        } else if self.gradient <= Fixed::ZERO {
            self.increase(setup, true);
        } else {
            self.decrease(Fixed::ONE - params.beta * self.gradient);
        }
        self.rate = self.rate.max(derived.floor).min(path.line_rate);
    }

    fn allowance(&self, setup: &Setup<TimelyParams>) -> Allowance {
        let share = setup.derived.line.ratio(self.rate.bps());
        Allowance { window: setup.params.window.window(setup.bdp, share), rate: self.rate }
    }

    const INTERNALS: &'static [Internal] = &[
        Internal { name: "gradient", meaning: "averaged RTT difference over D_minRTT (normalized gradient)" },
        Internal { name: "previous_rtt", meaning: "RTT of the last completion (prev_rtt)" },
        Internal { name: "increases", meaning: "increases in a row" },
    ];

    fn probe(&self, _setup: &Setup<TimelyParams>, place: usize) -> Option<Value> {
        match place {
            0 => Some(Value::Ratio(self.gradient)),
            1 if self.previous == Time::NEVER => None,
            1 => Some(Value::Time(self.previous)),
            2 => Some(Value::Count(self.increases)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 Gbps, base RTT 20 µs: δ is 10 Mbps in both presets.
    const PATH: Path = Path {
        base_rtt: Time::from_us(20),
        base_owd: Time::from_us(11),
        line_rate: Rate::from_gbps(10),
        packet: Bytes::new(1000),
        payload: Bytes::new(946),
        hops: 2,
    };

    /// The acknowledgement of a whole segment after `rtt_us`; of position `sequence`, with twice as
    /// much sent.
    fn ack(rtt_us: u64, sequence: u64) -> Ack {
        Ack {
            now: Time::from_us(1000 + rtt_us),
            sent: Time::from_us(1000),
            received: Time::from_us(1000),
            acked: Bytes::new(64_000),
            sequence,
            next_sequence: 2 * sequence,
            packets: 64,
            ..Ack::BLANK
        }
    }

    /// A flow at 4 Gbps that has completed a segment after `rtt_us`.
    fn after(params: &TimelyParams, rtt_us: u64) -> Timely {
        let mut flow =
            Timely { rate: Rate::from_gbps(4), ..Timely::new(&Setup::new(*params, PATH), Time::ZERO) };
        flow.on_ack(&Setup::new(*params, PATH), &ack(rtt_us, 1), &IntStack::EMPTY);
        assert_eq!(flow.rate, Rate::from_gbps(4), "the first completion only records");
        flow
    }

    fn complete(flow: &mut Timely, params: &TimelyParams, rtt_us: u64) -> u64 {
        flow.on_ack(&Setup::new(*params, PATH), &ack(rtt_us, 1), &IntStack::EMPTY);
        flow.rate.bps()
    }

    #[test]
    fn state_is_as_large_as_documented() {
        assert_eq!(size_of::<Timely>(), 48);
    }

    #[test]
    fn starts_at_line_rate_without_a_window() {
        let params = TimelyParams::paper();
        let flow = Timely::new(&Setup::new(params, PATH), Time::ZERO);
        let allowance = Allowance { window: Bytes::UNLIMITED, rate: PATH.line_rate };
        assert_eq!(flow.allowance(&Setup::new(params, PATH)), allowance);
        // 10 Gbps · 20 µs = 25 KB.
        let windowed = TimelyParams { window: RateWindow::Bdp, ..params };
        assert_eq!(flow.allowance(&Setup::new(windowed, PATH)).window, Bytes::new(25_000));
    }

    #[test]
    fn decreases_with_a_growing_rtt() {
        // 100 µs, then 104: difference 0.875 · 4 = 3.5 µs, gradient 3.5/20 = 0.175,
        // line 12: 4 Gbps · (1 − 0.8 · 0.175) = 3.44 Gbps.
        let params = TimelyParams::paper();
        let mut flow = after(&params, 100);
        assert!(complete(&mut flow, &params, 104).abs_diff(3_440_000_000) <= 2);
        // Again 104: 0.125 · 3.5 + 0.875 · 0 = 0.4375 µs, gradient 0.021875:
        // 3.44 · (1 − 0.0175) = 3.3798 Gbps.
        assert!(complete(&mut flow, &params, 104).abs_diff(3_379_800_000) <= 4);
    }

    #[test]
    fn increases_with_a_falling_rtt_and_hyper_from_the_fifth_on() {
        // Line 10: + 10 Mbps four times, then + 5 · 10 Mbps.
        let params = TimelyParams::paper();
        let mut flow = after(&params, 200);
        for i in 1..=4 {
            assert_eq!(complete(&mut flow, &params, 200 - i), 4_000_000_000 + i * 10_000_000);
        }
        assert_eq!(complete(&mut flow, &params, 195), 4_090_000_000);
        assert_eq!(complete(&mut flow, &params, 194), 4_140_000_000);
        // A decrease ends the row; the next four increases are single steps again.
        let cut = complete(&mut flow, &params, 214);
        assert!(cut < 4_140_000_000);
        for i in 1..=4 {
            assert_eq!(complete(&mut flow, &params, 100 - i), cut + i * 10_000_000);
        }
        assert_eq!(complete(&mut flow, &params, 95), cut + 90_000_000);
    }

    #[test]
    fn increases_with_a_constant_rtt() {
        // Line 9: a gradient of zero is not positive.
        let params = TimelyParams::paper();
        let mut flow = after(&params, 100);
        assert_eq!(complete(&mut flow, &params, 100), 4_010_000_000);
    }

    #[test]
    fn increases_below_the_low_threshold_whatever_the_gradient() {
        // Line 6, gradient positive (20 → 49 µs); single steps, however many.
        let params = TimelyParams::paper();
        let mut flow = after(&params, 20);
        for i in 1..=9 {
            assert_eq!(complete(&mut flow, &params, 40 + i), 4_000_000_000 + i * 10_000_000);
        }
    }

    #[test]
    fn decreases_above_the_high_threshold_whatever_the_gradient() {
        // Line 8 at 1000 µs after 2000: 4 Gbps · (1 − 0.8 · (1 − 500/1000)) = 2.4 Gbps.
        let params = TimelyParams::paper();
        let mut flow = after(&params, 2000);
        assert!(complete(&mut flow, &params, 1000).abs_diff(2_400_000_000) <= 2);
    }

    #[test]
    fn at_the_thresholds_the_gradient_counts() {
        // Lines 5 and 7 ask for less than T_low and more than T_high. 40 → 50 µs: gradient 0.875 · 10/20 =
        // 0.4375, 4 Gbps · (1 − 0.35) = 2.6 Gbps. 499 → 500 µs: gradient 0.04375, 4 Gbps · 0.965.
        let params = TimelyParams::paper();
        for (before, rtt, rate) in [(40, 50, 2_600_000_000), (499, 500, 3_860_000_000_u64)] {
            let mut flow = after(&params, before);
            assert!(complete(&mut flow, &params, rtt).abs_diff(rate) <= 3, "{rtt}: {}", flow.rate);
        }
    }

    #[test]
    fn shows_its_internals() {
        // 100 → 90 µs: gradient −0.875 · 10/20, one increase.
        let params = TimelyParams::paper();
        let setup = Setup::new(params, PATH);
        let mut flow = after(&params, 100);
        assert_eq!(flow.probe(&setup, 1), Some(Value::Time(Time::from_us(100))));
        complete(&mut flow, &params, 90);
        assert_eq!(flow.probe(&setup, 0), Some(Value::Ratio(-Fixed::ratio(7, 16))));
        assert_eq!(flow.probe(&setup, 1), Some(Value::Time(Time::from_us(90))));
        assert_eq!(flow.probe(&setup, 2), Some(Value::Count(1)));
    }

    #[test]
    fn steep_gradients_lead_to_the_floor() {
        // 100 → 200 µs: gradient 0.875 · 100/20 = 4.375, factor below zero: the floor, 10 Mbps.
        let params = TimelyParams::paper();
        let mut flow = after(&params, 100);
        assert!(complete(&mut flow, &params, 200).abs_diff(10_000_000) <= 3);
        // Without a floor, 1 bps.
        let params = TimelyParams { floor: Fixed::ZERO, floor_rate: Rate::ZERO, ..params };
        let mut flow = after(&params, 100);
        assert_eq!(complete(&mut flow, &params, 200), 1);
    }

    #[test]
    fn segments_complete_with_their_last_byte() {
        let params = TimelyParams::paper();
        let setup = Setup::new(params, PATH);
        let mut flow = Timely { rate: Rate::from_gbps(4), ..Timely::new(&setup, Time::ZERO) };
        // The first completion records, the second increases.
        for (acked, previous, rate) in [
            (63_999, Time::NEVER, 4000),
            (1, Time::from_us(199), 4000),
            (63_999, Time::from_us(199), 4000),
            (1, Time::from_us(199), 4010),
        ] {
            let part = Ack { acked: Bytes::new(acked), ..ack(199, 1) };
            flow.on_ack(&setup, &part, &IntStack::EMPTY);
            assert_eq!((flow.previous, flow.rate), (previous, Rate::from_mbps(rate)));
        }
    }

    #[test]
    fn hpcc_preset_updates_once_per_round_trip_and_scales_its_step() {
        let params = TimelyParams::hpcc();
        let fast = Path { line_rate: Rate::from_gbps(100), ..PATH };
        let mut flow =
            Timely { rate: Rate::from_gbps(4), ..Timely::new(&Setup::new(params, fast), Time::ZERO) };
        // Acknowledges byte 100 of 200 sent: the round trip ends beyond 200.
        flow.on_ack(&Setup::new(params, fast), &ack(30, 100), &IntStack::EMPTY);
        flow.on_ack(&Setup::new(params, fast), &ack(30, 200), &IntStack::EMPTY);
        assert_eq!(flow.rate, Rate::from_gbps(4));
        // Below T_low: 0.001 of 100 Gbps five times, then five times as much.
        let (mut sequence, mut expected) = (201, 4_000_000_000);
        for i in 1..=7 {
            flow.on_ack(&Setup::new(params, fast), &ack(30, sequence), &IntStack::EMPTY);
            sequence = 2 * sequence + 1;
            expected += if i <= 5 { 100_000_000 } else { 500_000_000 };
            // 0.001 is rounded down to 2^-32: 23 bps of 100 Gbps.
            assert!(flow.rate.bps().abs_diff(expected) < 600, "{i}: {}", flow.rate);
        }
    }

    #[test]
    fn rate_stays_below_the_line() {
        let params = TimelyParams { delta: Rate::from_gbps(9), ..TimelyParams::paper() };
        let mut flow = after(&params, 200);
        assert_eq!(complete(&mut flow, &params, 199), 10_000_000_000);
    }
}
