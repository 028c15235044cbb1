//! SQCC (Tang et al., "SQCC: Stable Queue Congestion Control"), Algorithm 3: patched TIMELY with an error
//! function that diverges at T_high, and with T_low and the additive step set by the number of flows.
//!
//! N, the number of flows at the receiver, comes with each acknowledgement. With more flows each takes smaller
//! steps, and from a hundred on the queue is held higher, so that oscillations do not empty it.
//!
//! Where the paper leaves something open or contradicts itself:
//! * k is ⌊lg N⌋ in Algorithm 3 and ⌈lg N⌉ in Equations 23 and 25. Table II (k = 2 at N = 500) and Figure 2 (k = 1
//!   at 40 and 60) exclude the second; Figure 4, whose queues of 100 and 1000 flows are as long as the others,
//!   excludes the first. Both fit ⌈lg N⌉ − 1, at least 1: the floor, except at powers of ten.
//! * δ = k·C/N² is 2.5 Gbps for two flows. It is at most the δ of the unadapted algorithm: the paper speaks of
//!   adapting it from 40 flows on, where the formula gives less.
//! * C in δ is the sender's own line rate. T_low's unit is 50 µs, the value that is printed.
//! * Packets are paced one by one: the queues of the figures vary by less than one segment.

use incast_units::Time;
use incast_units::math::mul_div;

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Overhead, Path, Setup, Signals, derived,
};
use crate::params::{About, Described, Family, Kernel, Value, choice, param, presets};
use crate::patched_timely::{
    ErrorFunction, GRADIENT, Law, PREVIOUS_RTT, PatchedTimely, PatchedTimelyDerived, PatchedTimelyParams,
    coarse, fine, with_common_params,
};
use crate::relative::relate;
use crate::scale::Scale;

choice! {
    /// Part of SQCC that is used; section IV evaluates its parts one after another.
    Stage {
        /// The error function alone.
        Error = "error",
        /// The error function and δ by the number of flows, with k = 1.
        Delta = "delta",
        /// These and T_low by the number of flows.
        Full = "full",
    }
}

choice! {
    /// Source of the number of flows.
    Count {
        /// The receiver writes it into acknowledgements.
        Receiver = "receiver",
        /// From the flow's own rate: round(C/rate), 1 to 4096.
        Estimate = "estimate",
    }
}

choice! {
    /// Rounding of lg N to k; at least 1.
    Rounding {
        /// ⌈lg N⌉ − 1.
        Figures = "figures",
        /// ⌊lg N⌋.
        Floor = "floor",
        /// ⌈lg N⌉.
        Ceiling = "ceil",
    }
}

impl Rounding {
    /// k for `flows` flows, of which there is at least one.
    fn k(self, flows: u64) -> u64 {
        let k = match self {
            Self::Figures => lg_up(flows).saturating_sub(1),
            Self::Floor => lg_up(flows.saturating_add(1)).saturating_sub(1),
            Self::Ceiling => lg_up(flows),
        };
        k.max(1)
    }
}

/// ⌈lg number⌉, at most 10: how many powers of ten, from 1 on, are below it.
fn lg_up(number: u64) -> u64 {
    let (mut count, mut power) = (0, 1);
    while power < number && count < 10 {
        power *= 10;
        count += 1;
    }
    count
}

/// The largest number of flows that [`Count::Estimate`] finds.
const LARGEST_ESTIMATE: u64 = 4096;

/// Parameters of [`Sqcc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SqccParams {
    /// Parameters of patched TIMELY.
    pub common: PatchedTimelyParams,
    /// Part of SQCC that is used.
    pub stage: Stage,
    /// Source of the number of flows.
    pub count: Count,
    /// Rounding of lg N to k.
    pub rounding: Rounding,
    /// C in δ, as a share of the line rate.
    pub capacity: Fixed,
}

presets! {
    impl SqccParams {
        "scaled": "ours: as patched-timely:scaled with T_high at half an RTT of queue; T_low over the base RTT by \
                   the number of flows",
        /// Returns the parameters for any rate and base RTT.
        pub fn scaled() -> Self {
            let scaled = PatchedTimelyParams::scaled();
            let common = PatchedTimelyParams { scale: Scale::OURS, ..scaled };
            Self { common, ..Self::paper() }
        }

        "paper": "SQCC, section IV, at 10Gbps: error function, adaptive δ and T_low",
        /// Returns the parameters of the paper.
        pub fn paper() -> Self {
            Self {
                common: PatchedTimelyParams::sqcc(),
                stage: Stage::Full,
                count: Count::Receiver,
                rounding: Rounding::Figures,
                capacity: Fixed::ONE,
            }
        }
    }
}

derived! {
    /// Quantities that SQCC derives once from its parameters and a path.
    pub struct SqccDerived of SqccParams, |params, path|
    let capacity = params.capacity.scale(fine(path.line_rate));
    {
        common: PatchedTimelyDerived = params.common.derive(path),
        /// C, in units of 2⁻¹⁶ bps.
        capacity: u64 = capacity,
    }
}

impl Described for SqccParams {
    const ABOUT: About = About {
        name: "sqcc",
        title: "SQCC",
        summary: "rate control by the RTT, with thresholds and steps by the number of flows",
        family: Family::Delay,
        needs: "timestamps of network cards, receivers that write their number of flows into acknowledgements (simulations)",
    };
    const PARAMS: &'static [crate::params::Param<Self>] = with_common_params!(
        [common]
        param!(
            choice "stage",
            stage,
            Stage,
            "how much of SQCC is used: its error function, also the adaptive delta, also the adaptive t_low",
            Printed,
            "SQCC section IV: Figure 1 has error, Figure 2 delta, Figure 4 full"
        ),
        param!(
            choice "count",
            count,
            Count,
            "where the number of flows comes from: acknowledgements, or round(C/rate), 1 to 4096",
            Printed,
            "SQCC section III: receiver; that it can be estimated, without a formula: the formula is chosen here"
        ),
        param!(
            choice "rounding",
            rounding,
            Rounding,
            "k, at least 1: ceil(lg N) - 1 in figures, otherwise floor or ceil of lg N",
            Derived,
            "chosen here: the one that fits SQCC Table II and Figures 2 and 4; Algorithm 3: floor; Equation 25: ceil"
        ),
        param!(
            Ratio "capacity",
            capacity,
            Fixed::ratio(1, 1000),
            Fixed::whole(1000),
            "the bottleneck's rate C in delta = k C/N^2, as a share of the line rate",
            Ours,
            "chosen here: 1, a sender knows the rate of its own link"
        ),
    );
    const KERNEL: Option<Kernel> = Some(Kernel::new("incast_sqcc", Signals::NONE));

    fn delay_limit(&self, path: &Path) -> Option<(Time, &'static str)> {
        self.common.delay_limit(path)
    }
}

/// The state of one flow. Size: 40 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Sqcc {
    common: PatchedTimely,
    /// N at the last completion; 0 before, and where it is not used.
    flows: u64,
}

impl Sqcc {
    /// N at this acknowledgement, at least 1; 0 where it is not used.
    fn count(&self, setup: &Setup<SqccParams>, ack: &Ack) -> u64 {
        match (setup.params.stage, setup.params.count) {
            (Stage::Error, _) => 0,
            (_, Count::Receiver) => u64::from(ack.receiver_flows).max(1),
            (_, Count::Estimate) => {
                let rate = self.common.rate();
                let share = setup.derived.capacity.saturating_add(rate / 2).checked_div(rate);
                share.unwrap_or(LARGEST_ESTIMATE).clamp(1, LARGEST_ESTIMATE)
            }
        }
    }

    /// Algorithm 3, line 5, and Equation 25: T_low and δ for the number of flows.
    fn law(&self, setup: &Setup<SqccParams>) -> Law {
        let Setup { params, derived, .. } = setup;
        let k = if params.stage == Stage::Full { params.rounding.k(self.flows) } else { 1 };
        let step = match params.stage {
            Stage::Error => derived.common.delta,
            Stage::Delta | Stage::Full => mul_div(derived.capacity, k, self.flows * self.flows),
        };
        let delta = step.min(derived.common.delta);
        Law { low: derived.common.thresholds.low(k), delta, error: ErrorFunction::Sqcc }
    }
}

impl CongestionControl for Sqcc {
    type Params = SqccParams;

    const HEARS_SENT: bool = false;

    fn signals(params: &SqccParams) -> Signals {
        match (params.stage, params.count) {
            (Stage::Delta | Stage::Full, Count::Receiver) => Signals::RECEIVER_FLOWS,
            _ => Signals::NONE,
        }
    }

    /// Two bytes for the number of flows.
    fn overhead(params: &SqccParams) -> Overhead {
        let counted = Self::signals(params).contains(Signals::RECEIVER_FLOWS);
        Overhead { data: 0, ack: if counted { 2 } else { 0 } }
    }

    fn new(setup: &Setup<SqccParams>, _now: Time) -> Self {
        Self { common: PatchedTimely::start(&setup.derived.common), flows: 0 }
    }

    relate! { |setup|
        part(): [common],
        value(): [flows],
    }

    fn on_ack(&mut self, setup: &Setup<SqccParams>, ack: &Ack, _int: &IntStack) {
        let Setup { params, derived, .. } = setup;
        if let Some(completion) = self.common.complete(&params.common, &derived.common, ack) {
            self.flows = self.count(setup, ack);
            let law = self.law(setup);
            self.common.adjust(&params.common, &derived.common, &completion, &law);
        }
    }

    fn allowance(&self, setup: &Setup<SqccParams>) -> Allowance {
        self.common.allow(&setup.params.common, &setup.derived.common, setup.bdp)
    }

    const INTERNALS: &'static [Internal] = &[
        GRADIENT,
        PREVIOUS_RTT,
        Internal { name: "flows", meaning: "number of flows at the last update (N)" },
        Internal { name: "t_low", meaning: "low threshold at the last update (T_low)" },
        Internal { name: "delta", meaning: "additive step at the last update (δ)" },
    ];

    fn probe(&self, setup: &Setup<SqccParams>, place: usize) -> Option<Value> {
        let adapts = setup.params.stage == Stage::Error || self.flows > 0;
        match place {
            0 => Some(Value::Ratio(self.common.gradient())),
            1 => self.common.previous().map(Value::Time),
            2 => (self.flows > 0).then_some(Value::Count(self.flows)),
            3 => adapts.then(|| Value::Time(self.law(setup).low)),
            4 => adapts.then(|| Value::Rate(coarse(self.law(setup).delta))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use incast_units::{Bytes, Rate};

    use super::*;
    use crate::testing::PATH_10G as PATH;

    fn of(stage: Stage) -> SqccParams {
        SqccParams { stage, ..SqccParams::paper() }
    }

    /// A flow that starts at `mbps` completes segments of 64 KB with these RTTs, in ns, while the receiver has
    /// `flows`.
    fn completes(params: SqccParams, mbps: f64, rtts: &[u64], flows: u32) -> (Sqcc, Setup<SqccParams>) {
        let start = Fixed::from_bits((mbps / 10_000.0 * 4_294_967_296.0).round() as i64);
        let params = SqccParams { common: PatchedTimelyParams { start, ..params.common }, ..params };
        let setup = Setup::new(params, PATH);
        let mut flow = Sqcc::new(&setup, Time::ZERO);
        for rtt in rtts {
            let ack = Ack {
                acked: Bytes::new(64_000),
                receiver_flows: flows,
                ..crate::testing::ack(Time::from_us(5000), Time::from_ns(*rtt), 0, 0)
            };
            flow.on_ack(&setup, &ack, &IntStack::EMPTY);
        }
        (flow, setup)
    }

    fn mbps(flow: &Sqcc) -> f64 {
        flow.common.rate() as f64 / 65_536e6
    }

    /// The start is a share of 2⁻³² of 10 Gbps, 2.3 bps.
    #[track_caller]
    fn is(flow: &Sqcc, by_hand: f64) {
        assert!((mbps(flow) - by_hand).abs() < 2e-6 + 1e-8 * by_hand, "{} is not {by_hand}", mbps(flow));
    }

    #[test]
    fn state_is_as_large_as_documented() {
        assert_eq!(size_of::<Sqcc>(), 40);
    }

    #[test]
    fn asks_for_the_number_of_flows_where_it_uses_it() {
        for (stage, count, asks) in [
            (Stage::Full, Count::Receiver, true),
            (Stage::Delta, Count::Receiver, true),
            (Stage::Error, Count::Receiver, false),
            (Stage::Full, Count::Estimate, false),
        ] {
            let params = SqccParams { count, ..of(stage) };
            let (signals, bytes) = if asks { (Signals::RECEIVER_FLOWS, 2) } else { (Signals::NONE, 0) };
            assert_eq!(Sqcc::signals(&params), signals);
            assert_eq!(Sqcc::overhead(&params), Overhead { data: 0, ack: bytes });
        }
    }

    #[test]
    fn k_follows_the_logarithm() {
        for (flows, figures, floor, ceiling) in [
            (1, 1, 1, 1),
            (2, 1, 1, 1),
            (9, 1, 1, 1),
            (10, 1, 1, 1),
            (11, 1, 1, 2),
            (40, 1, 1, 2),
            (60, 1, 1, 2),
            (99, 1, 1, 2),
            (100, 1, 2, 2),
            (101, 2, 2, 3),
            (500, 2, 2, 3),
            (999, 2, 2, 3),
            (1000, 2, 3, 3),
            (1001, 3, 3, 4),
            (10_000, 3, 4, 4),
            (10_001, 4, 4, 5),
            (u64::from(u32::MAX), 9, 9, 10),
        ] {
            let got = [Rounding::Figures, Rounding::Floor, Rounding::Ceiling].map(|rule| rule.k(flows));
            assert_eq!(got, [figures, floor, ceiling], "{flows}");
        }
    }

    /// T_low in µs and δ in bps after a completion.
    fn law(params: SqccParams, flows: u32) -> (u64, u64) {
        let (flow, setup) = completes(params, 100.0, &[30_000, 30_000], flows);
        let (low, delta) = (flow.probe(&setup, 3), flow.probe(&setup, 4));
        let (Some(Value::Time(low)), Some(Value::Rate(delta))) = (low, delta) else { panic!("no law") };
        (low.ps() / 1_000_000, delta.bps())
    }

    #[test]
    fn threshold_and_step_follow_the_number_of_flows() {
        // Figure 2: 6.25 and 2.7 Mbps at 40 and 60; Table II: 50 µs and 0.04 Mbps, 100 µs and 0.08 at 500.
        assert_eq!(law(of(Stage::Error), 500), (50, 10_000_000));
        assert_eq!(law(of(Stage::Delta), 40), (50, 6_250_000));
        assert_eq!(law(of(Stage::Delta), 60), (50, 2_777_777));
        assert_eq!(law(of(Stage::Delta), 500), (50, 40_000));
        assert_eq!(law(of(Stage::Full), 100), (50, 1_000_000));
        assert_eq!(law(of(Stage::Full), 500), (100, 80_000));
        assert_eq!(law(of(Stage::Full), 1000), (100, 20_000));
        // With half of the line as C, half the step; with the floor of Algorithm 3, k = 3 at 1000.
        let half = SqccParams { capacity: Fixed::ratio(1, 2), ..of(Stage::Full) };
        assert_eq!(law(half, 500), (100, 40_000));
        let floor = SqccParams { rounding: Rounding::Floor, ..of(Stage::Full) };
        assert_eq!(law(floor, 1000), (150, 30_000));
        // k·C/N² overflows nothing, however many flows are said to be there.
        assert_eq!(law(of(Stage::Full), u32::MAX), (450, 0));
    }

    #[test]
    fn few_flows_take_no_larger_step_than_the_unadapted_algorithm() {
        // C/N² is 10 Gbps for one flow and 2.5 Gbps for two; from 32 on it is below 10 Mbps: 9.765625.
        for (flows, delta) in
            [(0, 10_000_000), (1, 10_000_000), (2, 10_000_000), (31, 10_000_000), (32, 9_765_625)]
        {
            assert_eq!(law(of(Stage::Full), flows), (50, delta), "{flows}");
        }
        let mut free = of(Stage::Full);
        free.common.delta = Rate::from_gbps(100);
        assert_eq!(law(free, 2), (50, 2_500_000_000));
        assert_eq!(law(free, 0), (50, 10_000_000_000));
    }

    #[test]
    fn steps_by_hand() {
        // 100 → 100.5 µs: weight 0.675, error 500 · 50.5/(50 · 399.5) = 1.264080:
        // 3.25 + 1000 · (1 − 0.008 · 1.264080 · 0.675) = 996.4240 Mbps.
        let (flow, _) = completes(of(Stage::Error), 1000.0, &[100_000, 100_500], 0);
        is(&flow, 3.25 + 1000.0 * (1.0 - 0.008 * 50.5 * 500.0 / (50.0 * 399.5) * 0.675));
        assert!((mbps(&flow) - 996.4240).abs() < 5e-5);
        // 600 → 600 at 200 Mbps as patched TIMELY: 200 · (1 − 0.008/6).
        let (flow, _) = completes(of(Stage::Error), 200.0, &[600_000, 600_000], 0);
        is(&flow, 199.733_333_333);
        // 500 flows, 20 Mbps, 130 → 130.2 µs: gradient 0.035, weight 0.57, T_low 100 µs, error
        // 500 · 30.2/(100 · 369.8) = 0.408329; 0.08 · 0.43 + 20 · (1 − 0.008 · 0.408329 · 0.57).
        let (flow, _) = completes(of(Stage::Full), 20.0, &[130_000, 130_200], 500);
        is(&flow, 0.0344 + 20.0 * (1.0 - 0.008 * 500.0 * 30.2 / (100.0 * 369.8) * 0.57));
        assert!((mbps(&flow) - 19.997_160).abs() < 5e-6);
        // Below 100 µs it grows there by a whole step, where 100 flows shrink: 99 → 99, weight ½, error
        // 500 · 49/(50 · 401): 0.5 + 20 · (1 − 0.004 · 1.221945).
        let (flow, _) = completes(of(Stage::Full), 20.0, &[99_000, 99_000], 500);
        is(&flow, 20.08);
        let (flow, _) = completes(of(Stage::Full), 20.0, &[99_000, 99_000], 100);
        is(&flow, 0.5 + 20.0 * (1.0 - 0.004 * 500.0 * 49.0 / (50.0 * 401.0)));
    }

    #[test]
    fn near_the_pole_a_step_halves_at_most() {
        // 400 → 499.9 µs: error 500 · 449.9/(50 · 0.1) = 44 990, weight 1.
        let (flow, _) = completes(of(Stage::Full), 1000.0, &[400_000, 499_900], 1);
        is(&flow, 500.0);
    }

    #[test]
    fn rates_rest_at_the_fixed_point() {
        // RTT* = T_low·T_high·(1 + x)/(x·T_low + T_high), x = N·δ/(β·C) (Equation 17, of RTTs and not of queues).
        let fixed_point = |flows: f64, delta: f64, low: f64| {
            let x = flows * delta / (0.008 * 10_000.0);
            low * 500.0 * (1.0 + x) / (x * low + 500.0)
        };
        for (stage, flows, delta, low, rtt_us) in [
            (Stage::Error, 2, 10.0, 50.0, 60.98),
            (Stage::Error, 10, 10.0, 50.0, 100.00),
            (Stage::Error, 20, 10.0, 50.0, 140.00),
            (Stage::Error, 40, 10.0, 50.0, 200.00),
            (Stage::Error, 60, 10.0, 50.0, 242.86),
            (Stage::Error, 72, 10.0, 50.0, 263.16),
            (Stage::Error, 80, 10.0, 50.0, 275.00),
            (Stage::Delta, 40, 6.25, 50.0, 157.14),
            (Stage::Delta, 60, 10_000.0 / 3600.0, 50.0, 127.59),
            (Stage::Full, 60, 10_000.0 / 3600.0, 50.0, 127.59),
            (Stage::Full, 100, 1.0, 50.0, 100.00),
            (Stage::Full, 500, 0.08, 100.0, 136.36),
            (Stage::Full, 1000, 0.02, 100.0, 119.05),
        ] {
            let rest = fixed_point(f64::from(flows), delta, low);
            assert!((rest - rtt_us).abs() < 0.005, "{flows}: {rest} is not {rtt_us}");
            let share = 10_000.0 / f64::from(flows);
            for (away, sign) in [(1.0, 0.0), (0.99, 1.0), (1.01, -1.0)] {
                let rtt = (rest * away * 1e3).round() as u64;
                let (flow, _) = completes(of(stage), share, &[rtt, rtt], flows);
                let change = mbps(&flow) - share;
                // The RTT is rounded to a ns, the start to 2.3 bps.
                let as_expected =
                    if sign == 0.0 { change.abs() < 1e-6 * share } else { change * sign > 1e-5 * share };
                assert!(as_expected, "{stage:?}, {flows} flows, {away}: {change} Mbps");
            }
        }
    }

    #[test]
    fn the_number_of_flows_can_be_estimated_from_the_rate() {
        let params = SqccParams { count: Count::Estimate, ..of(Stage::Full) };
        // round(10 000/rate); halves round up. What the receiver says does not count.
        for (rate, flows) in [
            (10_000.0, 1),
            (6667.0, 1),
            (6666.0, 2),
            (4001.0, 2),
            (3999.0, 3),
            (100.0, 100),
            (20.0, 500),
            (0.1, 4096),
        ] {
            let (flow, setup) = completes(params, rate, &[130_000, 130_000], 7);
            assert_eq!(flow.probe(&setup, 2), Some(Value::Count(flows)), "{rate}");
        }
        // At 20 Mbps the same as among 500 flows.
        let (estimating, _) = completes(params, 20.0, &[130_000, 130_200], 0);
        let (told, _) = completes(of(Stage::Full), 20.0, &[130_000, 130_200], 500);
        assert_eq!(estimating.common.rate(), told.common.rate());
    }

    #[test]
    fn shows_its_internals() {
        // The first completion records the RTT; the second reads N.
        let (flow, setup) = completes(of(Stage::Full), 100.0, &[100_000], 500);
        let shown = |flow: &Sqcc, setup| [0, 1, 2, 3, 4].map(|place| flow.probe(setup, place));
        let rtt = |ns| Some(Value::Time(Time::from_ns(ns)));
        assert_eq!(shown(&flow, &setup), [Some(Value::Ratio(Fixed::ZERO)), rtt(100_000), None, None, None]);
        // 100 → 90 µs: gradient −0.875 · 10/5.
        let (flow, setup) = completes(of(Stage::Full), 100.0, &[100_000, 90_000], 500);
        let delta = |bps| Some(Value::Rate(Rate::from_bps(bps)));
        let gradient = Some(Value::Ratio(-Fixed::ratio(7, 4)));
        let by_hand = [gradient, rtt(90_000), Some(Value::Count(500)), rtt(100_000), delta(80_000)];
        assert_eq!(shown(&flow, &setup), by_hand);
        let (flow, setup) = completes(of(Stage::Error), 100.0, &[100_000, 90_000], 500);
        assert_eq!(shown(&flow, &setup), [gradient, rtt(90_000), None, rtt(50_000), delta(10_000_000)]);
    }
}
