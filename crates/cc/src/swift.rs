//! Swift (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
//! Datacenter", SIGCOMM 2020), Algorithm 1 and section 3.5.
//!
//! The window grows by a constant per RTT while the delay is below a target and shrinks in
//! proportion to the excess, at most once per RTT, while it is not. The target grows with the hops
//! of the path and with a small window (many flows). A window below one packet is paced.
//!
//! Where the paper leaves something open:
//! * It prints no values for most of its parameters; `paper` takes those of the simulator csg-htsim,
//!   whose authors call several of them guesses. Each parameter names its source. `htsim` does also
//!   what csg-htsim does otherwise than the paper.
//! * The RTT of "at most once per RTT" and of the pacing is the latest measurement, so that a
//!   decrease needs the acknowledgement of a packet sent after the last one; csg-htsim smooths it.
//! * A window that is not used does not grow (as RFC 7661 says for TCP): a flow that its own link
//!   holds back would grow it for ever, and a newcomer would meet all of it as a queue.
//! * t_last_decrease moves when the window became smaller. (At "not larger", the letter of the
//!   listing, a window held at its limit would never be allowed to shrink.)
//! * Delay is the whole round trip: the contract does not divide it into fabric and endpoint.
//! * The flow starts with a window of one base BDP.
//!
//! The target must lie above the base RTT of every path, or a flow alone on its path cannot fill it:
//! on paths longer than some 25 µs raise `base_target`, or add to it with `base_rtt_share`.

use incast_units::{Bytes, Rate, Time};

use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Loss, LossKind, Overhead, Parameters, Path, Setup,
    Signals,
};
use crate::params::{Described, Family, Param, Preset, Value, choice, param};
use crate::{Divisor, Fixed};

choice! {
    /// What the parameters that are windows count in.
    Unit {
        /// Full packets, as in the paper.
        Packet = "packet",
        /// Base bandwidth-delay products.
        Bdp = "bdp",
    }
}

/// Parameters of [`Swift`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SwiftParams {
    /// Least target delay.
    pub base_target: Time,
    /// Multiple of the base RTT that is added to it.
    pub base_rtt_share: Fixed,
    /// Target delay per hop, ħ.
    pub hop: Time,
    /// Most that flow scaling adds to the target.
    pub fs_range: Time,
    /// Window at and below which flow scaling adds all of its range, in `unit`.
    pub fs_min: Fixed,
    /// Window at and above which it adds nothing, in `unit`.
    pub fs_max: Fixed,
    /// Additive increase per RTT, in `unit`.
    pub ai: Fixed,
    /// Multiplicative decrease β.
    pub beta: Fixed,
    /// Largest decrease of one step.
    pub max_mdf: Fixed,
    /// Smallest window, in `unit`.
    pub min_cwnd: Fixed,
    /// Largest window, in `unit`.
    pub max_cwnd: Fixed,
    /// Timeouts in a row that bring the window to its smallest.
    pub retx_reset: u64,
    /// What the windows above count in.
    pub unit: Unit,
    /// Whether a window grows that is not used.
    pub grow_unused: bool,
    /// Whether the additive step is in proportion to 1/window below one packet too.
    pub ai_below_packet: bool,
    /// Whether decreases and pacing go by the smoothed RTT instead of the latest.
    pub smoothed_rtt: bool,
    /// Whether flow scaling counts whole packets.
    pub whole_packets: bool,
}

impl SwiftParams {
    fn paper() -> Self {
        Self {
            base_target: Time::from_us(20),
            base_rtt_share: Fixed::ZERO,
            hop: Time::from_ns(3_050),
            fs_range: Time::from_us(100),
            fs_min: Fixed::ratio(1, 10),
            fs_max: Fixed::whole(100),
            ai: Fixed::ONE,
            beta: Fixed::ratio(8, 10),
            max_mdf: Fixed::ratio(1, 2),
            min_cwnd: Fixed::ratio(1, 100),
            max_cwnd: Fixed::whole(1000),
            retx_reset: 5,
            unit: Unit::Packet,
            grow_unused: false,
            ai_below_packet: false,
            smoothed_rtt: false,
            whole_packets: false,
        }
    }

    fn htsim() -> Self {
        Self {
            hop: Time::ZERO,
            min_cwnd: Fixed::ratio(1, 400),
            grow_unused: true,
            smoothed_rtt: true,
            whole_packets: true,
            ..Self::paper()
        }
    }

    fn oscar() -> Self {
        Self {
            base_target: Time::from_us(25),
            base_rtt_share: Fixed::ONE,
            hop: Time::ZERO,
            fs_max: Fixed::ONE,
            ai: Fixed::ratio(1, 1000),
            min_cwnd: Fixed::ratio(1, 10_000),
            max_cwnd: Fixed::ONE,
            unit: Unit::Bdp,
            grow_unused: true,
            ai_below_packet: true,
            ..Self::paper()
        }
    }

    /// α and β of flow scaling (section 3.5), for a range of one. Without a span between `fs_min`
    /// and `fs_max` there is no scaling.
    fn scaling(&self) -> (Fixed, Fixed) {
        let (low, high) = (Fixed::ONE / self.fs_max.sqrt(), Fixed::ONE / self.fs_min.sqrt());
        if high <= low {
            return (Fixed::ZERO, Fixed::ZERO);
        }
        let alpha = Fixed::ONE / (high - low);
        (alpha, -(alpha * low))
    }
}

impl Default for SwiftParams {
    fn default() -> Self {
        Self::paper()
    }
}

/// What Swift derives once from its parameters and a path; windows in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SwiftDerived {
    /// A full packet.
    pub packet: Fixed,
    /// One `unit`.
    pub unit: Fixed,
    /// Additive increase per RTT.
    pub ai: Fixed,
    /// Smallest window, at least one byte.
    pub min_cwnd: Fixed,
    /// Largest window.
    pub max_cwnd: Fixed,
    /// α of flow scaling, for a range of one.
    pub fs_alpha: Fixed,
    /// β of flow scaling, for a range of one.
    pub fs_beta: Fixed,
    /// Target delay without flow scaling.
    pub unscaled_target: Time,
    /// Target delay with as much flow scaling as there can be.
    pub scaled_target: Time,
    /// Division by a packet,
    pub by_packet: Divisor,
    /// and by a `unit`.
    pub by_unit: Divisor,
    /// A packet in `unit`.
    pub packet_in_units: Fixed,
}

impl Parameters for SwiftParams {
    type Derived = SwiftDerived;

    fn derive(&self, path: &Path) -> SwiftDerived {
        let packet = Fixed::whole(path.packet.get());
        let unit = match self.unit {
            Unit::Packet => packet,
            Unit::Bdp => Fixed::whole(path.bdp().get()),
        };
        let (fs_alpha, fs_beta) = self.scaling();
        let unscaled_target = self.base_target
            + Time::from_ps(self.base_rtt_share.scale(path.base_rtt.ps()))
            + self.hop.times(u64::from(path.hops));
        let min_cwnd = (self.min_cwnd * unit).max(Fixed::ONE);
        SwiftDerived {
            packet,
            unit,
            ai: self.ai * unit,
            min_cwnd,
            max_cwnd: (self.max_cwnd * unit).max(min_cwnd),
            fs_alpha,
            fs_beta,
            unscaled_target,
            scaled_target: unscaled_target + self.fs_range,
            by_packet: Divisor::of(packet),
            by_unit: Divisor::of(unit),
            packet_in_units: packet / unit,
        }
    }
}

impl Described for SwiftParams {
    const NAME: &'static str = "swift";
    const TITLE: &'static str = "Swift";
    const SUMMARY: &'static str = "additive increase, multiplicative decrease around a target delay";
    const FAMILY: Family = Family::Delay;
    const NEEDS: &'static str =
        "timestamps of network cards at both ends, echoed in acknowledgements (2015); nothing from switches";
    const PRESETS: &'static [Preset<Self>] = &[
        Preset {
            name: "paper",
            meaning: "Swift, SIGCOMM 2020, with the values of the simulator csg-htsim where it prints none",
            params: Self::paper,
        },
        Preset {
            name: "htsim",
            meaning: "as in csg-htsim: its hop term has no effect, a smoothed RTT guards decreases, unused windows grow",
            params: Self::htsim,
        },
        Preset {
            name: "oscar",
            meaning: "as compared with in OSCAR, NSDI'26 (public artifact): target 25us above the base RTT, window up to the base BDP",
            params: Self::oscar,
        },
    ];
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Time "base_target",
            base_target,
            Time::ZERO,
            Time::from_ms(100),
            "least target delay; with hops and base_rtt_share it must exceed the base RTT",
            "csg-htsim: 20us; OSCAR's public artifact: 25us"
        ),
        param!(
            Ratio "base_rtt_share",
            base_rtt_share,
            Fixed::ZERO,
            Fixed::whole(100),
            "multiple of the base RTT that is added to base_target",
            "Swift: 0; OSCAR's public artifact: 1"
        ),
        param!(
            Time "hop",
            hop,
            Time::ZERO,
            Time::from_ms(1),
            "target delay per link from sender to receiver",
            "Swift section 3.5 without a value; csg-htsim: 20us/6.55, in effect none; OSCAR's public artifact: none"
        ),
        param!(
            Time "fs_range",
            fs_range,
            Time::ZERO,
            Time::from_ms(100),
            "most that flow scaling adds to the target delay",
            "csg-htsim: 5 times its base target; OSCAR's public artifact: 4 times its own"
        ),
        param!(
            Ratio "fs_min",
            fs_min,
            Fixed::ratio(1, 1_000_000),
            Fixed::whole(1_000_000),
            "window, in unit, at which flow scaling adds all of fs_range",
            "Swift section 3.5 and csg-htsim: 0.1 packets; OSCAR's public artifact: 0.1 base BDP"
        ),
        param!(
            Ratio "fs_max",
            fs_max,
            Fixed::ratio(1, 1_000_000),
            Fixed::whole(1_000_000),
            "window, in unit, at which flow scaling adds nothing",
            "csg-htsim: 100 packets; OSCAR's public artifact: 1 base BDP"
        ),
        param!(
            Ratio "ai",
            ai,
            Fixed::ZERO,
            Fixed::whole(1000),
            "additive increase per RTT, in unit",
            "csg-htsim: 1 packet; OSCAR's public artifact: 0.001 base BDP"
        ),
        param!(
            Ratio "beta",
            beta,
            Fixed::ZERO,
            Fixed::ONE,
            "share of the relative excess delay by which the window shrinks",
            "csg-htsim and OSCAR's public artifact: 0.8"
        ),
        param!(
            Ratio "max_mdf",
            max_mdf,
            Fixed::ZERO,
            Fixed::ratio(99, 100),
            "largest share of the window that one decrease takes",
            "csg-htsim and OSCAR's public artifact: 0.5"
        ),
        param!(
            Ratio "min_cwnd",
            min_cwnd,
            Fixed::ratio(1, 1_000_000),
            Fixed::whole(1000),
            "smallest window, in unit",
            "csg-htsim: 10 bytes, 0.01 of a packet of 1000 and 0.0025 of its own of 4000; OSCAR's public artifact: 0.0001 base BDP"
        ),
        param!(
            Ratio "max_cwnd",
            max_cwnd,
            Fixed::ratio(1, 100),
            Fixed::whole(1_000_000_000),
            "largest window, in unit",
            "Swift without a value; csg-htsim: 1000 packets; OSCAR's public artifact: 1 base BDP"
        ),
        param!(
            Count "retx_reset",
            retx_reset,
            1,
            1000,
            "timeouts in a row after which the window is the smallest",
            "Swift Algorithm 1, RETX_RESET_THRESHOLD; csg-htsim: 5"
        ),
        param!(
            choice "unit",
            unit,
            Unit,
            "what fs_min, fs_max, ai, min_cwnd and max_cwnd count in: full packets or base BDPs",
            "Swift: packets; OSCAR's public artifact: base BDPs"
        ),
        param!(
            Flag "grow_unused",
            grow_unused,
            "whether a window grows that the bytes in flight do not fill",
            "Swift without a word; RFC 7661 for TCP: false; csg-htsim and OSCAR's public artifact: true"
        ),
        param!(
            Flag "ai_below_packet",
            ai_below_packet,
            "whether the step of an acknowledged packet is ai/window below one packet too, and not ai",
            "Swift Algorithm 1 and csg-htsim: false; OSCAR's public artifact: true"
        ),
        param!(
            Flag "smoothed_rtt",
            smoothed_rtt,
            "whether \"once per RTT\" and the pacing go by the RTT smoothed with 1/8, and not by the latest",
            "Swift Algorithm 1 without a word; csg-htsim: true"
        ),
        param!(
            Flag "whole_packets",
            whole_packets,
            "whether flow scaling counts the whole packets of the window (below one it adds all of fs_range)",
            "Swift section 3.5: false; csg-htsim: true"
        ),
    ];
}

/// The state of one flow. Size: 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Swift {
    /// The window in bytes.
    cwnd: Fixed,
    last_decrease: Time,
    /// Latest or smoothed; the base RTT before the first measurement.
    rtt: Time,
    /// Timeouts in a row.
    timeouts: u32,
    /// Whether an RTT was measured.
    measured: bool,
}

impl Swift {
    /// The window in bytes, with its fraction.
    #[must_use]
    pub const fn window(&self) -> Fixed {
        self.cwnd
    }

    /// Target delay (section 3.5): base, hops, and flow scaling clamp(α/√cwnd + β, 0, range).
    #[must_use]
    pub fn target_delay(&self, setup: &Setup<SwiftParams>) -> Time {
        let Setup { params, derived, .. } = setup;
        let cwnd = if params.whole_packets {
            Fixed::whole(derived.by_packet.divide(self.cwnd).floor()) * derived.packet_in_units
        } else {
            derived.by_unit.divide(self.cwnd)
        };
        let share = (derived.fs_alpha / cwnd.sqrt() + derived.fs_beta).clamp_to(Fixed::ZERO, Fixed::ONE);
        derived.unscaled_target + Time::from_ps(share.scale(params.fs_range.ps()))
    }

    /// A decrease by `factor`, if the last one is a round trip ago.
    fn decrease(&mut self, factor: Fixed, now: Time) {
        if now - self.last_decrease >= self.rtt {
            self.cwnd = self.cwnd * factor;
        }
    }

    fn increase(&mut self, setup: &Setup<SwiftParams>, ack: &Ack) {
        let Setup { params, path, derived, .. } = setup;
        let before = Fixed::whole((ack.inflight_now + ack.acked + path.packet).get());
        if before < self.cwnd && !params.grow_unused {
            return;
        }
        let per = if params.ai_below_packet { self.cwnd } else { self.cwnd.max(derived.packet) };
        self.cwnd += derived.ai * (Fixed::whole(ack.acked.get()) / per);
    }

    /// The end of Algorithm 1: the window's limits, and when it last shrank.
    fn settle(&mut self, setup: &Setup<SwiftParams>, before: Fixed, now: Time) {
        self.cwnd = self.cwnd.clamp_to(setup.derived.min_cwnd, setup.derived.max_cwnd);
        if self.cwnd < before {
            self.last_decrease = now;
        }
    }
}

impl CongestionControl for Swift {
    type Params = SwiftParams;

    fn signals(_params: &SwiftParams) -> Signals {
        Signals::NONE
    }

    fn overhead(_params: &SwiftParams) -> Overhead {
        Overhead::default()
    }

    fn new(setup: &Setup<SwiftParams>, now: Time) -> Self {
        let cwnd = Fixed::whole(setup.bdp.get());
        let rtt = setup.path.base_rtt;
        let mut flow = Self { cwnd, last_decrease: now, rtt, timeouts: 0, measured: false };
        flow.settle(setup, cwnd, now);
        flow
    }

    fn on_ack(&mut self, setup: &Setup<SwiftParams>, ack: &Ack, _int: &IntStack) {
        let Setup { params, derived, .. } = setup;
        let before = self.cwnd;
        let delay = ack.rtt();
        self.rtt = if params.smoothed_rtt && self.measured {
            self.rtt - self.rtt.times_ratio(1, 8) + delay.times_ratio(1, 8)
        } else {
            delay
        };
        self.measured = true;
        self.timeouts = 0;
        // Above all targets within a round trip of the last decrease: nothing happens, wherever the target is.
        if delay >= derived.scaled_target && ack.now - self.last_decrease < self.rtt {
            return;
        }
        // Below its least value the target needs no root.
        let least = derived.unscaled_target;
        let target = if delay < least { least } else { self.target_delay(setup) };
        if delay < target {
            self.increase(setup, ack);
        } else {
            let excess = Fixed::ratio((delay - target).ps(), delay.ps());
            let factor = (Fixed::ONE - params.beta * excess).max(Fixed::ONE - params.max_mdf);
            self.decrease(factor, ack.now);
        }
        self.settle(setup, before, ack.now);
    }

    fn on_loss(&mut self, setup: &Setup<SwiftParams>, loss: &Loss) {
        let before = self.cwnd;
        self.timeouts = match loss.kind {
            LossKind::Hole | LossKind::Trim => 0,
            LossKind::Timeout => self.timeouts.saturating_add(1),
        };
        if u64::from(self.timeouts) >= setup.params.retx_reset {
            self.cwnd = Fixed::ZERO; // settles at the smallest window
        } else {
            self.decrease(Fixed::ONE - setup.params.max_mdf, loss.now);
        }
        self.settle(setup, before, loss.now);
    }

    /// Line rate with a window of a packet or more, else one packet per rtt · packet/cwnd.
    fn allowance(&self, setup: &Setup<SwiftParams>) -> Allowance {
        let line_rate = setup.path.line_rate;
        let rate = if self.cwnd < setup.derived.packet {
            // In 2^-16 of a byte, so that a window of a few bytes keeps its precision.
            let scaled = Rate::of(Bytes::new(self.cwnd.scale(1 << 16)), self.rtt);
            Rate::from_bps((scaled.bps() >> 16).max(1)).min(line_rate)
        } else {
            line_rate
        };
        Allowance { window: Bytes::new(self.cwnd.floor()), rate }
    }

    const INTERNALS: &'static [Internal] = &[
        Internal { name: "target_delay", meaning: "target delay at the window of now" },
        Internal { name: "cwnd", meaning: "window, also below one packet (cwnd)" },
        Internal { name: "last_decrease", meaning: "when the window last shrank (t_last_decrease)" },
    ];

    fn probe(&self, setup: &Setup<SwiftParams>, place: usize) -> Option<Value> {
        match place {
            0 => Some(Value::Time(self.target_delay(setup))),
            1 => Some(Value::Bytes(Bytes::new(self.cwnd.floor()))),
            2 => Some(Value::Time(self.last_decrease)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, PATH, float as f};

    /// The acknowledgement of one packet at `now_us`, after `rtt_us`, with a full window in flight.
    fn ack(now_us: u64, rtt_us: u64) -> Ack {
        let ack = testing::ack(Time::from_us(now_us), Time::from_us(rtt_us), 0, 0);
        Ack { inflight_now: Bytes::new(1_000_000), ..ack }
    }

    fn with_window(params: &SwiftParams, bytes: u64) -> Swift {
        Swift { cwnd: Fixed::whole(bytes), ..Swift::new(&Setup::new(*params, PATH), Time::ZERO) }
    }

    fn lose(flow: &mut Swift, params: &SwiftParams, kind: LossKind, now_us: u64) {
        let loss = Loss {
            now: Time::from_us(now_us),
            kind,
            bytes: Bytes::ZERO,
            sent: Time::ZERO,
            sequence: 0,
            next_sequence: 0,
        };
        flow.on_loss(&Setup::new(*params, PATH), &loss);
    }

    #[test]
    fn state_is_as_large_as_documented() {
        assert_eq!(size_of::<Swift>(), 32);
    }

    #[test]
    fn starts_with_one_base_bdp_at_line_rate() {
        for params in [SwiftParams::paper(), SwiftParams::oscar()] {
            let allowance =
                Swift::new(&Setup::new(params, PATH), Time::ZERO).allowance(&Setup::new(params, PATH));
            assert_eq!(allowance, Allowance { window: Bytes::new(150_000), rate: PATH.line_rate });
        }
    }

    #[test]
    fn target_delay_worked_by_hand() {
        // Section 3.5 with fs_min 0.1, fs_max 100: α = 1/(1/√0.1 − 1/√100) = 1/(3.162278 − 0.1) =
        // 0.3265543, β = −0.0326554. Base 20 + 2 hops · 3.05 = 26.1 µs.
        let params = SwiftParams::paper();
        let target =
            |bytes| with_window(&params, bytes).target_delay(&Setup::new(params, PATH)).ps() as f64 / 1e6;
        // 100 packets and more: nothing.
        assert_eq!(target(100_000), 26.1);
        assert_eq!(target(1_000_000), 26.1);
        // One packet: 0.3265543 − 0.0326554 = 0.2938989 of 100 µs.
        assert!((target(1000) - (26.1 + 29.38989)).abs() < 1e-4, "{}", target(1000));
        // Four packets: 0.3265543/2 − 0.0326554 = 0.1306217.
        assert!((target(4000) - (26.1 + 13.06217)).abs() < 1e-4);
        // A tenth of a packet and less: all 100 µs.
        assert!((target(100) - 126.1).abs() < 1e-4);
        assert_eq!(target(10), 126.1);
        // Without a span between fs_min and fs_max there is no scaling.
        let flat = SwiftParams { fs_min: Fixed::whole(10), fs_max: Fixed::whole(10), ..params };
        for bytes in [100, 10_000, 100_000] {
            let flow = with_window(&flat, bytes);
            assert_eq!(flow.target_delay(&Setup::new(flat, PATH)), Time::from_ns(26_100), "{bytes}");
        }
    }

    #[test]
    fn target_delay_of_the_oscar_preset() {
        // r = cwnd/BDP; g = 1/(1/√0.1 − 1) = 0.462475; 25 + 12 + 100 · g(1/√r − 1) µs.
        let params = SwiftParams::oscar();
        let target =
            |bytes| with_window(&params, bytes).target_delay(&Setup::new(params, PATH)).ps() as f64 / 1e6;
        assert!((target(150_000) - 37.0).abs() < 1e-4);
        // r = 1/4: 37 + 46.2475.
        assert!((target(37_500) - 83.2475).abs() < 1e-3, "{}", target(37_500));
        assert!((target(15_000) - 137.0).abs() < 1e-3);
        assert_eq!(target(1500), 137.0);
    }

    #[test]
    fn additive_increase() {
        // cwnd ≥ 1: cwnd + ai/cwnd · num_acked = 10 000 + 1000 · 1000/10 000 = 10 100 B.
        let params = SwiftParams::paper();
        let mut flow = with_window(&params, 10_000);
        flow.on_ack(&Setup::new(params, PATH), &ack(100, 20), &IntStack::EMPTY);
        assert!((f(flow.cwnd) - 10_100.0).abs() < 1e-3);
        // cwnd < 1: cwnd + ai · num_acked = 500 + 1000 B.
        let mut flow = with_window(&params, 500);
        flow.on_ack(&Setup::new(params, PATH), &ack(100, 20), &IntStack::EMPTY);
        assert_eq!(flow.cwnd, Fixed::whole(1500));
        // A window that is not used does not grow: 7999 B in flight and this packet are less than
        // 10 000 B, with room for another. 8000 B fill it.
        let params = SwiftParams::paper();
        for (inflight, grown) in [(7999, 10_000.0), (8000, 10_100.0)] {
            let mut flow = with_window(&params, 10_000);
            let ack = Ack { inflight_now: Bytes::new(inflight), ..ack(100, 20) };
            flow.on_ack(&Setup::new(params, PATH), &ack, &IntStack::EMPTY);
            assert!((f(flow.cwnd) - grown).abs() < 1e-3, "{}", flow.cwnd);
            // csg-htsim does not ask.
            let params = SwiftParams::htsim();
            let mut flow = with_window(&params, 10_000);
            flow.on_ack(&Setup::new(params, PATH), &ack, &IntStack::EMPTY);
            assert!((f(flow.cwnd) - 10_100.0).abs() < 1e-3);
        }
        // The oscar preset: 0.001 · 150 KB · 1000/30 000 = 5 B.
        let params = SwiftParams::oscar();
        let mut flow = with_window(&params, 30_000);
        flow.on_ack(&Setup::new(params, PATH), &ack(100, 20), &IntStack::EMPTY);
        assert!((f(flow.cwnd) - 30_005.0).abs() < 1e-3, "{}", flow.cwnd);
        // Below one packet it is 0.001 BDP over the window in packets all the same: 150/0.25 = 600 B,
        // where the paper's rule gives 150.
        for (params, grown) in [(params, 850.0), (SwiftParams { ai_below_packet: false, ..params }, 400.0)] {
            let mut flow = with_window(&params, 250);
            flow.on_ack(&Setup::new(params, PATH), &ack(100, 20), &IntStack::EMPTY);
            assert!((f(flow.cwnd) - grown).abs() < 1e-3, "{}", flow.cwnd);
        }
    }

    #[test]
    fn the_first_decrease_waits_for_one_round_trip_of_the_flow() {
        // A flow that starts at 1000 µs; its first delay of 30 µs asks for a factor of 0.896. The last
        // decrease counts as made at its start: at 1029 µs it waits, at 1030 µs it happens.
        let params = SwiftParams::paper();
        let setup = Setup::new(params, PATH);
        let start = Swift { cwnd: Fixed::whole(200_000), ..Swift::new(&setup, Time::from_us(1000)) };
        let mut flow = start;
        flow.on_ack(&setup, &ack(1029, 30), &IntStack::EMPTY);
        assert_eq!(flow.cwnd, Fixed::whole(200_000));
        let mut flow = start;
        flow.on_ack(&setup, &ack(1030, 30), &IntStack::EMPTY);
        assert!((f(flow.cwnd) - 179_200.0).abs() < 1e-3, "{}", flow.cwnd);
        // A start cut to the largest window is no decrease of a window that was ever used.
        let small = SwiftParams { max_cwnd: Fixed::whole(100), ..params };
        let flow = Swift::new(&Setup::new(small, PATH), Time::from_us(1000));
        assert_eq!((flow.cwnd, flow.last_decrease), (Fixed::whole(100_000), Time::from_us(1000)));
    }

    #[test]
    fn a_smoothed_rtt_may_guard_decreases_and_pace() {
        // RTTs of 40 and 120 µs: 40 · 7/8 + 120/8 = 50 µs. The first decrease is at 100 µs; at 149 µs
        // it is too soon for the second, at 150 µs it is not (nor by the latest RTT, which is 120).
        let params = SwiftParams { smoothed_rtt: true, ..SwiftParams::paper() };
        let setup = Setup::new(params, PATH);
        let mut first = with_window(&params, 200_000);
        first.on_ack(&setup, &ack(100, 40), &IntStack::EMPTY);
        assert_eq!((first.rtt, first.last_decrease), (Time::from_us(40), Time::from_us(100)));
        for (now, decreases) in [(149, false), (150, true)] {
            let mut flow = first;
            flow.on_ack(&setup, &ack(now, 120), &IntStack::EMPTY);
            assert_eq!(flow.rtt, Time::from_us(50));
            assert_eq!(flow.cwnd < first.cwnd, decreases, "{now}");
        }
        let mut flow = first;
        flow.on_ack(&Setup::new(SwiftParams::paper(), PATH), &ack(219, 120), &IntStack::EMPTY);
        assert_eq!(flow.cwnd, first.cwnd);
        // Half a packet per 50 µs: 500 B / 50 µs = 80 Mbps.
        let mut flow = Swift { cwnd: Fixed::whole(500), last_decrease: Time::from_us(1000), ..first };
        flow.on_ack(&setup, &ack(1001, 120), &IntStack::EMPTY);
        assert_eq!(flow.allowance(&setup).rate, Rate::from_mbps(80));
    }

    #[test]
    fn flow_scaling_may_count_whole_packets() {
        // 1.9 packets are one, 0.9 none: with none the target is the largest.
        let params = SwiftParams { whole_packets: true, hop: Time::ZERO, ..SwiftParams::paper() };
        let target =
            |bytes| with_window(&params, bytes).target_delay(&Setup::new(params, PATH)).ps() as f64 / 1e6;
        assert_eq!(target(1900), target(1000));
        assert!((target(1000) - (20.0 + 29.38989)).abs() < 1e-4, "{}", target(1000));
        assert_eq!(target(900), 120.0);
        // In base BDPs of 150 packets: 24.9 packets are 24, 0.16 BDP; 1/√0.16 = 2.5, g = 0.4624753 as
        // above: 25 + 12 + 100 · g(2.5 − 1) µs.
        let params = SwiftParams { whole_packets: true, ..SwiftParams::oscar() };
        let scaled = with_window(&params, 24_900).target_delay(&Setup::new(params, PATH)).ps() as f64 / 1e6;
        assert!((scaled - 106.371_294).abs() < 1e-3, "{scaled}");
    }

    #[test]
    fn a_delay_of_just_the_least_target_is_below_that_of_a_small_window() {
        // One packet: flow scaling adds 29.4 µs to 20. A delay of 20 µs lies below: + 1000 B.
        let params = SwiftParams { hop: Time::ZERO, ..SwiftParams::paper() };
        let mut flow = with_window(&params, 1000);
        flow.on_ack(&Setup::new(params, PATH), &ack(100, 20), &IntStack::EMPTY);
        assert_eq!(flow.cwnd, Fixed::whole(2000));
        // 200 packets are beyond flow scaling: the delay is at the target, not below it, and none above.
        let mut flow = with_window(&params, 200_000);
        flow.on_ack(&Setup::new(params, PATH), &ack(100, 20), &IntStack::EMPTY);
        assert_eq!(flow.cwnd, Fixed::whole(200_000));
    }

    #[test]
    fn decrease_in_proportion_once_per_round_trip() {
        // 200 packets: target 26.1 µs. Delay 30 µs: 1 − 0.8 · 3.9/30 = 0.896.
        let params = SwiftParams::paper();
        let mut flow = with_window(&params, 200_000);
        flow.on_ack(&Setup::new(params, PATH), &ack(100, 30), &IntStack::EMPTY);
        assert!((f(flow.cwnd) - 179_200.0).abs() < 1e-3, "{}", flow.cwnd);
        // 29 µs later, a round trip of 30 µs is not over.
        flow.on_ack(&Setup::new(params, PATH), &ack(129, 30), &IntStack::EMPTY);
        assert!((f(flow.cwnd) - 179_200.0).abs() < 1e-3);
        // At 130 µs it is. Delay 130 µs would take 0.8 · 103.9/130 = 0.64: limited to max_mdf 0.5.
        flow.on_ack(&Setup::new(params, PATH), &ack(130, 30), &IntStack::EMPTY);
        assert!((f(flow.cwnd) - 179_200.0 * 0.896).abs() < 1e-3);
        flow.on_ack(&Setup::new(params, PATH), &ack(260, 130), &IntStack::EMPTY);
        assert!((f(flow.cwnd) - 179_200.0 * 0.896 * 0.5).abs() < 1e-3);
    }

    #[test]
    fn holes_halve_once_per_round_trip() {
        let params = SwiftParams::paper();
        let mut flow = with_window(&params, 100_000);
        lose(&mut flow, &params, LossKind::Hole, 50);
        assert_eq!(flow.cwnd, Fixed::whole(50_000));
        // RTT is 12 µs as long as none was measured.
        lose(&mut flow, &params, LossKind::Hole, 61);
        assert_eq!(flow.cwnd, Fixed::whole(50_000));
        lose(&mut flow, &params, LossKind::Hole, 62);
        assert_eq!(flow.cwnd, Fixed::whole(25_000));
    }

    #[test]
    fn five_timeouts_in_a_row_lead_to_the_smallest_window() {
        let params = SwiftParams::paper();
        let mut flow = with_window(&params, 160_000);
        for (i, expected) in [80_000, 40_000, 20_000, 10_000].into_iter().enumerate() {
            lose(&mut flow, &params, LossKind::Timeout, 1000 * (i as u64 + 1));
            assert_eq!(flow.cwnd, Fixed::whole(expected));
        }
        lose(&mut flow, &params, LossKind::Timeout, 5000);
        // 0.01 packets of 1000 B.
        assert_eq!(flow.allowance(&Setup::new(params, PATH)).window.get().max(10), 10);
        assert!((f(flow.cwnd) - 10.0).abs() < 1e-5);
        // A repaired hole between them starts the count again: 160 000/2^6.
        let mut flow = with_window(&params, 160_000);
        for i in 1..=4 {
            lose(&mut flow, &params, LossKind::Timeout, 1000 * i);
        }
        lose(&mut flow, &params, LossKind::Hole, 5000);
        lose(&mut flow, &params, LossKind::Timeout, 6000);
        assert_eq!(flow.cwnd, Fixed::whole(2500));
        // Three more and it is not yet the smallest: 160 000/2^9. The next is the fifth.
        for i in 7..=9 {
            lose(&mut flow, &params, LossKind::Timeout, 1000 * i);
        }
        assert_eq!(flow.cwnd, Fixed::ratio(625, 2));
        lose(&mut flow, &params, LossKind::Timeout, 10_000);
        assert!((f(flow.cwnd) - 10.0).abs() < 1e-5);
        // So does an acknowledgement.
        let mut flow = with_window(&params, 160_000);
        for i in 1..=4 {
            lose(&mut flow, &params, LossKind::Timeout, 1000 * i);
        }
        flow.on_ack(&Setup::new(params, PATH), &ack(4500, 12), &IntStack::EMPTY);
        let before = f(flow.cwnd);
        for i in 5..=8 {
            lose(&mut flow, &params, LossKind::Timeout, 1000 * i);
        }
        assert!((f(flow.cwnd) - before / 16.0).abs() < 1e-3);
    }

    #[test]
    fn a_window_below_one_packet_is_paced() {
        // A tenth of a packet, measured RTT 40 µs (above the target): 100 B per 40 µs = 20 Mbps, one
        // packet in 400 µs.
        let params = SwiftParams { ai: Fixed::ZERO, ..SwiftParams::paper() };
        let mut flow = with_window(&params, 100);
        flow.on_ack(&Setup::new(params, PATH), &ack(100, 40), &IntStack::EMPTY);
        let allowance = flow.allowance(&Setup::new(params, PATH));
        assert_eq!(allowance, Allowance { window: Bytes::new(100), rate: Rate::from_mbps(20) });
        let flow = with_window(&params, 1000);
        assert_eq!(flow.allowance(&Setup::new(params, PATH)).rate, PATH.line_rate);
        // The smallest window is a byte, the smallest rate 1 bps (here 8 bit in 100 s).
        let params = SwiftParams { min_cwnd: Fixed::ratio(1, 1_000_000), ..params };
        let setup = Setup::new(params, PATH);
        let flow = Swift { cwnd: setup.derived.min_cwnd, rtt: Time::from_s(100), ..flow };
        let least = Allowance { window: Bytes::new(1), rate: Rate::from_bps(1) };
        assert_eq!(flow.allowance(&setup), least);
    }

    #[test]
    fn window_stays_within_its_limits() {
        // The paper's, 1000 packets, as csg-htsim, however long it grows.
        for params in [SwiftParams::paper(), SwiftParams::htsim()] {
            let mut flow = with_window(&params, 999_000);
            for i in 1..2000 {
                flow.on_ack(&Setup::new(params, PATH), &ack(100 + i, 12), &IntStack::EMPTY);
            }
            assert_eq!(flow.cwnd, Fixed::whole(1_000_000));
        }
        // The oscar preset never exceeds one base BDP.
        let params = SwiftParams::oscar();
        let mut flow = Swift::new(&Setup::new(params, PATH), Time::ZERO);
        for i in 1..1000 {
            flow.on_ack(&Setup::new(params, PATH), &ack(100 + i, 12), &IntStack::EMPTY);
        }
        assert_eq!(flow.cwnd, Fixed::whole(150_000));
    }
}
