//! Poseidon (Wang et al., "Poseidon: Efficient, Robust, and Practical Datacenter CC via Deployable INT",
//! NSDI 2023), Equations 3 and 4.
//!
//! A packet brings back the largest queueing delay of any one hop (MPD). Each flow has a target for it that is
//! the longer the lower its rate r is (Equation 3), and multiplies its window by a factor that moves ln r a share
//! m of the way to the rate r* whose target is that delay (Equation 4):
//!
//! * T(r) = p · ln(r_max/r)/α + k, with α = ln(r_max/r_min),
//! * U = exp((T(r) − MPD)/p · α · m), so that ln(r·U/r*) = (1 − m) · ln(r/r*).
//!
//! Flows through the same port have the same r*, so they are fair, and only the busiest hop decides.
//!
//! All of it is computed to base 2, which changes nothing: α cancels the base in Equation 3, and in Equation 4
//! exp(x · ln 2) is 2^x.
//!
//! Where the published text leaves something open, or sources differ:
//! * r is the window over the RTT of this acknowledgement, within r_min and r_max; r_max is the line.
//! * The factor of one RTT is limited to `min_md` and `max_md`: 0.4 and 2.5 in the first author's simulator.
//! * Above the target the window is multiplied by the factor once per RTT, that is when the acknowledged packet
//!   was sent after the last decrease, or a part of it with every acknowledgement, as below the target (`md`).
//! * An acknowledgement counts for at most one window, so that one of a packet larger than the window cannot
//!   multiply by more than the factor.
//! * The public artifact of OSCAR has the flow's own ln(r_max/r) in the place of α in Equation 4 (`alpha`). The
//!   factor of a flow at line rate is then 1, whatever the delay: it slows only because its RTT grows.
//! * Losses are left to the transport, as in both public simulators.

use incast_units::{Bytes, Rate, Time};

use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Overhead, Setup, Signals, derived,
};
use crate::median::{Filtered, Signal};
use crate::order::Sample;
use crate::params::{About, Described, Family, Param, Value, choice, param, presets};
use crate::relative::relate;
use crate::{Divisor, Fixed, Path};

choice! {
    /// Way in which a window above its target shrinks.
    Decrease {
        /// By the whole factor, once per round trip.
        PerRtt = "per_rtt",
        /// By a part of it with every acknowledgement, as a window below its target grows.
        PerAck = "per_ack",
    }
}

choice! {
    /// Value used for α in Equation 4.
    Alpha {
        /// ln(r_max/r_min), a constant.
        Range = "range",
        /// The flow's own ln(r_max/r).
        Flow = "flow",
    }
}

/// Parameters of [`Poseidon`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PoseidonParams {
    /// Span of target delays, p.
    pub p: Time,
    /// Target delay at line rate, k.
    pub k: Time,
    /// Share of the way in ln(r) that one round trip goes, m.
    pub m: Fixed,
    /// Lowest rate r_min, as a share of the line.
    pub r_min: Fixed,
    /// Smallest factor of a round trip.
    pub min_md: Fixed,
    /// Largest factor of a round trip.
    pub max_md: Fixed,
    /// Way in which a window shrinks.
    pub md: Decrease,
    /// Value used for α in Equation 4.
    pub alpha: Alpha,
    /// First window, in base BDPs.
    pub start: Fixed,
    /// Largest window, in base BDPs.
    pub max_cwnd: Fixed,
    /// Unit in which packets carry delays, in 16 bits.
    pub delay_unit: Time,
    /// Bytes that the measurement adds to each packet.
    pub header: u64,
}

presets! {
    impl PoseidonParams {
        "oscar": "Equations 3 and 4 with the values of OSCAR's runs (NSDI'26), limits of the first author's simulator",
        fn oscar() -> Self {
            Self {
                p: Time::from_us(40),
                k: Time::from_us(2),
                m: Fixed::ratio(1, 4),
                r_min: Fixed::ratio(1, 1000),
                min_md: Fixed::ratio(4, 10),
                max_md: Fixed::ratio(5, 2),
                md: Decrease::PerRtt,
                alpha: Alpha::Range,
                start: Fixed::ONE,
                max_cwnd: Fixed::ONE,
                delay_unit: Time::from_ns(16),
                header: 2,
            }
        }

        "author": "the values of the first author's simulator at 100Gbps, every step with an acknowledgement",
        fn author() -> Self {
            Self { p: Time::from_us(42), r_min: Fixed::ratio(1, 100), md: Decrease::PerAck, ..Self::oscar() }
        }

        "artifact": "as in OSCAR's public artifact: the flow's own ln(r_max/r) as α, so a flow at line rate has the factor 1; whole microseconds, 12B",
        fn artifact() -> Self {
            Self {
                min_md: Fixed::ZERO,
                max_md: Fixed::whole(100),
                alpha: Alpha::Flow,
                delay_unit: Time::from_us(1),
                header: 12,
                ..Self::oscar()
            }
        }
    }
}

derived! {
    /// Quantities that Poseidon derives once from its parameters and a path.
    pub struct PoseidonDerived of PoseidonParams, |params, path|
    let bdp = Fixed::whole(path.bdp().get());
    let min_cwnd = (params.r_min * bdp).max(Fixed::ONE);
    let range = -params.r_min.log2();
    {
        /// α to base 2: log₂(r_max/r_min).
        pub range: Fixed = range,
        /// Smallest window in bytes, at least one: r_min in an empty network.
        pub min_cwnd: Fixed = min_cwnd,
        /// Largest window in bytes.
        pub max_cwnd: Fixed = (params.max_cwnd * bdp).max(min_cwnd),
        /// Time that the line needs for a mebibyte.
        pub mebibyte: Time = path.line_rate.time_for(Bytes::new(1 << 20)),
        /// Division by `range`,
        pub by_range: Divisor = Divisor::of(range),
        /// by p,
        pub by_p: Divisor = Divisor::new(params.p.ps()),
        /// and by what a delay is a multiple of when it is carried.
        pub by_unit: Divisor = Divisor::new(params.delay_unit.ps()),
    }
}

impl Described for PoseidonParams {
    const ABOUT: About = About {
        name: "poseidon",
        title: "Poseidon",
        summary: "multiplicative steps to a delay of the busiest hop that depends on the flow's rate",
        family: Family::Telemetry,
        needs: "switches that write the largest queueing delay of a hop into 2 bytes (programmable switches: 2016)",
    };
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Time "p",
            p,
            Time::from_ns(1),
            Time::from_ms(10),
            "span of the target delays between the line's rate and r_min",
            Artifact,
            "Poseidon Equation 3; OSCAR's public artifact: 40us; the first author's simulator: 525 kB of queue, 42us at 100Gbps"
        ),
        param!(
            Time "k",
            k,
            Time::ZERO,
            Time::from_ms(10),
            "target delay of a flow at line rate",
            Artifact,
            "Poseidon Equation 3; OSCAR's public artifact: 2us; the first author's simulator: 25 kB of queue, 2us at 100Gbps"
        ),
        param!(
            Ratio "m",
            m,
            Fixed::ZERO,
            Fixed::ONE,
            "share of the way in ln(rate) to the rate that suits the delay that a round trip goes",
            Artifact,
            "Poseidon Equation 4; OSCAR's public artifact and the first author's runs: 0.25; Figure 1 of OSCAR: 0.05"
        ),
        param!(
            Ratio "r_min",
            r_min,
            Fixed::ratio(1, 1_000_000),
            Fixed::ratio(9, 10),
            "lowest rate, as a ratio to the line: its target delay is p + k, and its window in an empty network is the smallest",
            Artifact,
            "Poseidon Equation 3; OSCAR's public artifact: 0.001; the first author's runs: 1Gbps at 100Gbps"
        ),
        param!(
            Ratio "min_md",
            min_md,
            Fixed::ZERO,
            Fixed::ONE,
            "smallest factor of a round trip",
            Artifact,
            "OSCAR Table 5 names it, without a value; the first author's simulator: 0.4"
        ),
        param!(
            Ratio "max_md",
            max_md,
            Fixed::ONE,
            Fixed::whole(1000),
            "largest factor of a round trip",
            Artifact,
            "OSCAR Table 5 names it, without a value; the first author's simulator: 2.5"
        ),
        param!(
            choice "md",
            md,
            Decrease,
            "above the target: the whole factor once per round trip, or a part of it with every acknowledgement",
            Artifact,
            "per_rtt: OSCAR's public artifact; per_ack: the first author's simulator, in which per_rtt is switched off"
        ),
        param!(
            choice "alpha",
            alpha,
            Alpha,
            "what stands for α in Equation 4: ln(r_max/r_min), or the flow's own ln(r_max/r)",
            Printed,
            "range: Poseidon Equation 4 and the first author's simulator; flow: OSCAR's public artifact"
        ),
        param!(
            Ratio "start",
            start,
            Fixed::ratio(1, 1_000_000),
            Fixed::whole(100),
            "first window in base BDPs",
            Ours,
            "1: all algorithms start here with one base BDP; the first author's simulator: 0.01 from the second measurement on"
        ),
        param!(
            Ratio "max_cwnd",
            max_cwnd,
            Fixed::ratio(1, 100),
            Fixed::whole(100),
            "largest window in base BDPs",
            Artifact,
            "OSCAR Table 5 names it, without a value; OSCAR's public artifact: 1"
        ),
        param!(
            Time "delay_unit",
            delay_unit,
            Time::from_ps(1),
            Time::from_us(100),
            "unit in which packets carry the delay, rounded down, in 16 bits",
            Ours,
            "chosen here for the 2 bytes of the paper: 16ns, up to 1.05ms; OSCAR's public artifact: 1us"
        ),
        param!(
            Count "header",
            header,
            0,
            64,
            "bytes that the delay adds to a data packet and to an acknowledgement",
            Printed,
            "Poseidon, as OSCAR section 2 tells it: 2; OSCAR's public artifact: 12; the first author's simulator: HPCC's 42"
        ),
    ];

    fn window_limit(&self, path: &Path) -> Option<(Bytes, &'static str)> {
        Some((Bytes::new(self.max_cwnd.scale(path.bdp().get())), "max_cwnd"))
    }
}

/// The state of one flow. Size: 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Poseidon {
    /// The window in bytes.
    cwnd: Fixed,
    last_decrease: Time,
    /// Latest; the base RTT before the first measurement.
    rtt: Time,
    /// Largest delay of a hop (MPD) that the last step went by.
    hop_delay: Time,
}

impl Poseidon {
    /// The window in bytes, with its fraction.
    #[must_use]
    pub const fn window(&self) -> Fixed {
        self.cwnd
    }

    /// log₂(r_max/r).
    fn slowness(&self, setup: &Setup<PoseidonParams>) -> Fixed {
        let window = self.cwnd.scale(setup.derived.mebibyte.ps());
        let share = Fixed::ratio(window, self.rtt.times(1 << 20).ps());
        -share.clamp_to(setup.params.r_min, Fixed::ONE).log2()
    }

    /// Equation 3.
    fn target(setup: &Setup<PoseidonParams>, slowness: Fixed) -> Time {
        setup.params.k + Time::from_ps(setup.derived.by_range.divide(slowness).scale(setup.params.p.ps()))
    }

    /// Equation 4, within its limits.
    fn factor(setup: &Setup<PoseidonParams>, slowness: Fixed, target: Time, hop_delay: Time) -> Fixed {
        let Setup { params, derived, .. } = setup;
        let distance = if hop_delay > target {
            -derived.by_p.ratio((hop_delay - target).ps())
        } else {
            derived.by_p.ratio((target - hop_delay).ps())
        };
        let alpha = match params.alpha {
            Alpha::Range => derived.range,
            Alpha::Flow => slowness,
        };
        (distance * (alpha * params.m)).exp2().clamp_to(params.min_md, params.max_md)
    }

    /// An acknowledgement, whose largest delay of a hop counts as `hop_delay`.
    fn acknowledged(&mut self, setup: &Setup<PoseidonParams>, ack: &Ack, hop_delay: Time) {
        let Setup { params, derived, .. } = setup;
        self.rtt = ack.rtt();
        self.hop_delay = hop_delay;
        let slowness = self.slowness(setup);
        let target = Self::target(setup, slowness);
        let factor = Self::factor(setup, slowness, target, self.hop_delay);
        if self.hop_delay <= target || params.md == Decrease::PerAck {
            let acked = Fixed::whole(ack.acked.get()).min(self.cwnd);
            self.cwnd += (factor - Fixed::ONE) * acked;
        } else if ack.sent >= self.last_decrease {
            self.cwnd = self.cwnd * factor;
            self.last_decrease = ack.now;
        }
        self.cwnd = self.cwnd.clamp_to(derived.min_cwnd, derived.max_cwnd);
    }
}

/// A delay as two bytes carry it.
fn carried(setup: &Setup<PoseidonParams>, delay: Time) -> Time {
    let units = setup.derived.by_unit.ratio(delay.ps()).floor();
    setup.params.delay_unit.times(units.min(u64::from(u16::MAX)))
}

impl CongestionControl for Poseidon {
    type Params = PoseidonParams;

    const HEARS_SENT: bool = false;

    fn signals(_params: &PoseidonParams) -> Signals {
        Signals::HOP_DELAY
    }

    fn overhead(params: &PoseidonParams) -> Overhead {
        let bytes = u16::try_from(params.header).unwrap_or(u16::MAX);
        Overhead { data: bytes, ack: bytes }
    }

    fn new(setup: &Setup<PoseidonParams>, now: Time) -> Self {
        let Setup { params, path, derived, .. } = setup;
        let cwnd = params.start * Fixed::whole(setup.bdp.get());
        Self {
            cwnd: cwnd.clamp_to(derived.min_cwnd, derived.max_cwnd),
            last_decrease: now,
            rtt: path.base_rtt,
            hop_delay: Time::ZERO,
        }
    }

    relate! { |setup|
        value(): [cwnd, rtt, hop_delay],
        // Compared with the times at which later packets are sent.
        past(): [last_decrease],
    }

    fn on_ack(&mut self, setup: &Setup<PoseidonParams>, ack: &Ack, _int: &IntStack) {
        self.acknowledged(setup, ack, carried(setup, ack.hop_delay));
    }

    /// Window only; a window below one packet is paced at its own rate.
    fn allowance(&self, setup: &Setup<PoseidonParams>) -> Allowance {
        let line = setup.path.line_rate;
        let rate = if self.cwnd < Fixed::whole(setup.path.packet.get()) {
            // In 2^-16 of a byte, so that a window of a few bytes keeps its precision.
            let scaled = Rate::of(Bytes::new(self.cwnd.scale(1 << 16)), self.rtt);
            Rate::from_bps((scaled.bps() >> 16).max(1)).min(line)
        } else {
            line
        };
        Allowance { window: Bytes::new(self.cwnd.floor()), rate }
    }

    const INTERNALS: &'static [Internal] = &[
        Internal { name: "target_delay", meaning: "delay of the busiest hop that the flow aims at (T)" },
        Internal {
            name: "hop_delay",
            meaning: "largest delay of a hop, as the last packet carried it (MPD)",
        },
        Internal { name: "cwnd", meaning: "congestion window (cwnd)" },
    ];

    fn probe(&self, setup: &Setup<PoseidonParams>, place: usize) -> Option<Value> {
        match place {
            0 => Some(Value::Time(Self::target(setup, self.slowness(setup)))),
            1 => Some(Value::Time(self.hop_delay)),
            2 => Some(Value::Bytes(Bytes::new(self.cwnd.floor()))),
            _ => None,
        }
    }
}

impl Filtered for Poseidon {
    const SIGNAL: Signal = Signal::HopDelay;

    fn sample(&mut self, setup: &Setup<PoseidonParams>, ack: &Ack) -> Option<Sample> {
        Some(Sample::delay(carried(setup, ack.hop_delay)))
    }

    fn step(&mut self, setup: &Setup<PoseidonParams>, ack: &Ack, filtered: Option<Sample>, _marked: u32) {
        let hop_delay = filtered.map_or_else(|| carried(setup, ack.hop_delay), Sample::time);
        self.acknowledged(setup, ack, hop_delay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PATH, ack, float};

    const RTT: Time = Time::from_us(12);

    fn ps(us: f64) -> Time {
        Time::from_ps((us * 1e6).round() as u64)
    }

    /// With delays to the nanosecond, up to 65 us, so that the numbers of the equations come out.
    fn exact(params: PoseidonParams) -> Setup<PoseidonParams> {
        Setup::new(
            PoseidonParams { delay_unit: Time::from_ns(1), max_cwnd: Fixed::whole(100), ..params },
            PATH,
        )
    }

    /// A flow at this rate with an RTT of 12 us.
    fn at_gbps(setup: &Setup<PoseidonParams>, gbps: f64) -> Poseidon {
        let cwnd = Fixed::from_bits((gbps * 1500.0 * 4_294_967_296.0) as i64);
        Poseidon { cwnd, ..Poseidon::new(setup, Time::ZERO) }
    }

    fn gbps(flow: &Poseidon) -> f64 {
        float(flow.cwnd) / 1500.0
    }

    fn target(params: PoseidonParams, gbps: f64) -> f64 {
        let setup = exact(params);
        let slowness = at_gbps(&setup, gbps).slowness(&setup);
        Poseidon::target(&setup, slowness).ps() as f64 / 1e6
    }

    fn factor(params: PoseidonParams, gbps: f64, mpd_us: f64) -> f64 {
        let setup = exact(params);
        let slowness = at_gbps(&setup, gbps).slowness(&setup);
        float(Poseidon::factor(&setup, slowness, Poseidon::target(&setup, slowness), ps(mpd_us)))
    }

    /// An acknowledgement at `now_us` of a packet of `acked` bytes that took 12 us and met this delay.
    fn answer(flow: &mut Poseidon, setup: &Setup<PoseidonParams>, now_us: u64, mpd_us: f64, acked: u64) {
        let ack =
            Ack { hop_delay: ps(mpd_us), acked: Bytes::new(acked), ..ack(Time::from_us(now_us), RTT, 0, 0) };
        flow.on_ack(setup, &ack, &IntStack::EMPTY);
    }

    #[track_caller]
    fn near(value: f64, by_hand: f64, off: f64) {
        assert!((value - by_hand).abs() <= off, "{value} is not {by_hand}");
    }

    #[test]
    fn starts_with_one_base_bdp_at_line_rate() {
        for params in [PoseidonParams::oscar(), PoseidonParams::author(), PoseidonParams::artifact()] {
            let setup = Setup::new(params, PATH);
            let allowance = Poseidon::new(&setup, Time::ZERO).allowance(&setup);
            assert_eq!(allowance, Allowance { window: Bytes::new(150_000), rate: PATH.line_rate });
            assert_eq!(Poseidon::signals(&params), Signals::HOP_DELAY);
        }
        assert_eq!(size_of::<Poseidon>(), 32);
        assert_eq!(Poseidon::overhead(&PoseidonParams::oscar()), Overhead { data: 2, ack: 2 });
        assert_eq!(Poseidon::overhead(&PoseidonParams::artifact()), Overhead { data: 12, ack: 12 });
        // The first author's flows fall to a hundredth of the line.
        let slow =
            Setup::new(PoseidonParams { start: Fixed::ratio(1, 100), ..PoseidonParams::author() }, PATH);
        assert_eq!(Poseidon::new(&slow, Time::ZERO).allowance(&slow).window, Bytes::new(1499));
    }

    #[test]
    fn targets_by_hand() {
        // Equation 3, p 40 us, k 2 us, α = ln 1000 = 6.907755; at 50 Gbps 40 · 0.693147/6.907755 + 2.
        for (rate, us) in [(100.0, 2.0), (50.0, 6.0137), (10.0, 15.3333), (1.0, 28.6667), (0.1, 42.0)] {
            near(target(PoseidonParams::oscar(), rate), us, 5e-5);
        }
        // p 42 us, α = ln 100 = 4.605170.
        for (rate, us) in [(100.0, 2.0), (50.0, 8.3216), (10.0, 23.0), (1.0, 44.0)] {
            near(target(PoseidonParams::author(), rate), us, 5e-5);
        }
        // Beyond r_max and r_min it is that of r_max and r_min.
        near(target(PoseidonParams::oscar(), 1000.0), 2.0, 0.0);
        near(target(PoseidonParams::oscar(), 0.01), 42.0, 1e-4);
        near(target(PoseidonParams::author(), 0.1), 44.0, 1e-4);
    }

    #[test]
    fn factors_by_hand() {
        // Equation 4, m 0.25: at 10 Gbps exp((15.3333 − 10)/40 · 6.907755 · 0.25) = exp(0.230259).
        let free = |params| PoseidonParams { max_md: Fixed::whole(10), ..params };
        for (rate, mpd, u) in [
            (10.0, 10.0, 1.258_925),
            (10.0, 20.0, 0.817_523),
            (100.0, 46.0 / 3.0, 0.562_342),
            (1.0, 2.0, 3.162_278),
        ] {
            near(factor(free(PoseidonParams::oscar()), rate, mpd), u, 1e-6);
        }
        for (rate, mpd, u) in [
            (10.0, 10.0, 1.428_111),
            (10.0, 20.0, 1.085_711),
            (100.0, 46.0 / 3.0, 0.693_857),
            (1.0, 2.0, 3.162_278),
        ] {
            near(factor(free(PoseidonParams::author()), rate, mpd), u, 1e-6);
        }
        // Limits: 0.4 and 2.5.
        for params in [PoseidonParams::oscar(), PoseidonParams::author()] {
            near(factor(params, 1.0, 2.0), 2.5, 0.0);
            near(factor(params, 100.0, 100.0), 0.4, 1e-9);
            near(factor(params, 100.0, 1e9), 0.4, 1e-9);
        }
    }

    #[test]
    fn the_distance_to_the_fair_rate_shrinks_to_three_quarters_of_its_logarithm() {
        // 15.3333 us suit 10 Gbps. From the line: 100^0.75 · 10^0.25 = 56.234, and so on. In whole nanoseconds
        // 15.333 us suit 100/exp(13.333/40 · 6.907755) = 10.000576 Gbps.
        let (setup, fair) = (exact(PoseidonParams::oscar()), 10.000_576);
        let mut flow = at_gbps(&setup, 100.0);
        let mut within = None;
        for step in 1..=20_u64 {
            let before = (gbps(&flow) / fair).ln();
            answer(&mut flow, &setup, 12 * step, 15.333, 1000);
            near((gbps(&flow) / fair).ln(), 0.75 * before, 1e-6);
            if let Some(by_hand) = [56.234, 36.517, 26.416, 20.721, 17.270, 15.065].get(step as usize - 1) {
                near(gbps(&flow), *by_hand, 1.5e-3);
            }
            if within.is_none() && gbps(&flow) < 10.5 {
                within = Some(step);
            }
        }
        assert_eq!(within, Some(14));
        // With m = 1 a single step leads there, in both directions (a window's worth acknowledged at once).
        let free =
            PoseidonParams { min_md: Fixed::ZERO, max_md: Fixed::whole(100), ..PoseidonParams::oscar() };
        let setup = exact(PoseidonParams { m: Fixed::ONE, ..free });
        for rate in [100.0, 20.0, 5.0, 0.2] {
            let mut flow = at_gbps(&setup, rate);
            answer(&mut flow, &setup, 12, 15.333, 150_000);
            near(gbps(&flow), fair, 2e-5);
        }
    }

    #[test]
    fn a_window_of_acknowledgements_grows_by_the_factor() {
        // 10 Gbps, 15 packets of 1000 B, 10 us: one packet adds 0.258925 · 1000 B.
        let setup = exact(PoseidonParams::oscar());
        let mut flow = at_gbps(&setup, 10.0);
        answer(&mut flow, &setup, 12, 10.0, 1000);
        near(float(flow.cwnd), 15_258.925, 1e-3);
        // An acknowledgement of all 15 multiplies by the factor; one of more packets does not do more.
        for acked in [15_000, 100_000] {
            let mut flow = at_gbps(&setup, 10.0);
            answer(&mut flow, &setup, 12, 10.0, acked);
            near(gbps(&flow), 12.589_25, 2e-5);
        }
        // A duplicate adds nothing.
        let mut flow = at_gbps(&setup, 10.0);
        answer(&mut flow, &setup, 12, 10.0, 0);
        near(gbps(&flow), 10.0, 0.0);
    }

    #[test]
    fn above_the_target_once_per_round_trip_or_with_every_acknowledgement() {
        // 10 Gbps under 20 us: 0.817523. The second acknowledgement is of a packet sent before the decrease.
        let setup = exact(PoseidonParams::oscar());
        let mut flow = at_gbps(&setup, 10.0);
        answer(&mut flow, &setup, 100, 20.0, 1000);
        near(gbps(&flow), 8.175_23, 1e-5);
        answer(&mut flow, &setup, 111, 30.0, 1000);
        near(gbps(&flow), 8.175_23, 1e-5);
        answer(&mut flow, &setup, 112, 30.0, 1000);
        assert!(gbps(&flow) < 8.0);
        // Growth need not wait.
        let mut flow = at_gbps(&setup, 10.0);
        answer(&mut flow, &setup, 100, 20.0, 1000);
        answer(&mut flow, &setup, 101, 10.0, 1000);
        assert!(gbps(&flow) > 8.175_3);
        // With every acknowledgement: −0.182477 · 1000 B each time, whenever it was sent.
        let setup = exact(PoseidonParams { md: Decrease::PerAck, ..PoseidonParams::oscar() });
        let mut flow = at_gbps(&setup, 10.0);
        answer(&mut flow, &setup, 100, 20.0, 1000);
        near(float(flow.cwnd), 15_000.0 - 182.477, 1e-3);
        answer(&mut flow, &setup, 101, 20.0, 1000);
        assert!(float(flow.cwnd) < 14_660.0);
    }

    #[test]
    fn a_flow_at_line_rate_slows_unless_alpha_is_its_own() {
        // OSCAR's public artifact: ln(r_max/r) = 0 at line rate, so the factor is 1 under any delay.
        for mpd in [15.0, 100.0, 10_000.0] {
            near(factor(PoseidonParams::artifact(), 100.0, mpd), 1.0, 0.0);
            assert!(factor(PoseidonParams::oscar(), 100.0, mpd) < 0.571);
        }
        let setup = Setup::new(PoseidonParams::artifact(), PATH);
        let mut flow = Poseidon::new(&setup, Time::ZERO);
        for n in 1..100 {
            answer(&mut flow, &setup, 12 * n, 500.0, 1000);
            assert_eq!(flow.window(), Fixed::whole(150_000));
        }
        // At a tenth, under 20 us: exp((15.3333 − 20)/40 · 2.302585 · 0.25) = 0.935047.
        near(factor(PoseidonParams::artifact(), 10.0, 20.0), 0.935_047, 1e-6);
        // With a longer RTT it is no longer at line rate: 24 us make it 50 Gbps.
        let slower = Poseidon { rtt: Time::from_us(24), ..flow };
        let slowness = slower.slowness(&setup);
        near(float(slowness), 1.0, 1e-6);
    }

    #[test]
    fn two_bytes_carry_the_delay_in_units() {
        let in_bytes =
            |params: &PoseidonParams, ns| carried(&Setup::new(*params, PATH), Time::from_ns(ns)).ns();
        let params = PoseidonParams::oscar();
        assert_eq!([15, 16, 15_333, 2_000_000].map(|ns| in_bytes(&params, ns)), [0, 16, 15_328, 65_535 * 16]);
        let params = PoseidonParams::artifact();
        assert_eq!([999, 1000, 15_333].map(|ns| in_bytes(&params, ns)), [0, 1000, 15_000]);
        // What the flow heard is what it shows.
        let setup = Setup::new(params, PATH);
        let mut flow = Poseidon::new(&setup, Time::ZERO);
        answer(&mut flow, &setup, 12, 15.333, 1000);
        assert_eq!(flow.probe(&setup, 1), Some(Value::Time(Time::from_us(15))));
        assert_eq!(flow.probe(&setup, 0), Some(Value::Time(Time::from_us(2))));
    }

    #[test]
    fn the_window_keeps_its_limits_and_is_paced_below_a_packet() {
        // 0.001 of 150 KB is the least; at an RTT of 12 us it is 100 Mbps.
        let setup = Setup::new(PoseidonParams::oscar(), PATH);
        let mut flow = Poseidon::new(&setup, Time::ZERO);
        for n in 1..200 {
            answer(&mut flow, &setup, 12 * n, 1000.0, 1000);
        }
        let allowance = flow.allowance(&setup);
        near(float(flow.cwnd), 150.0, 1e-3);
        near(allowance.rate.bps() as f64, 1e8, 1e3);
        // One base BDP is the most.
        for n in 200..250 {
            answer(&mut flow, &setup, 12 * n, 0.0, 150_000);
        }
        let full = Allowance { window: Bytes::new(150_000), rate: PATH.line_rate };
        assert_eq!(flow.allowance(&setup), full);
    }
}
