//! Swift (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
//! Datacenter", SIGCOMM 2020), Algorithm 1 and section 3.5.
//!
//! The window grows by a constant per RTT while the delay is below a target and shrinks in
//! proportion to the excess, at most once per RTT, while it is not. The target grows with the hops
//! of the path and with a small window (many flows). A window below one packet is paced.
//!
//! Where the paper leaves something open:
//! * It prints no values for most of its parameters; `paper` takes the values of the simulator csg-htsim,
//!   whose authors call several of them guesses. Each parameter names its source. `htsim` also follows
//!   csg-htsim where it deviates from the paper.
//! * The RTT of "at most once per RTT" and of the pacing is the latest measurement, so that a
//!   decrease needs the acknowledgement of a packet sent after the last one; csg-htsim smooths it.
//! * A window that is not used does not grow (as RFC 7661 says for TCP): a flow that its own link
//!   holds back would grow it for ever, and a newcomer would meet all of it as a queue.
//! * t_last_decrease moves when the window became smaller. (At "not larger", the letter of the
//!   listing, a window held at its limit would never be allowed to shrink.)
//! * What is a loss the transport says: with selective repeat, a packet that has not arrived while three later ones
//!   have. The window shrinks by `max_mdf` then, at most once per RTT together with the decreases by delay, and a
//!   packet that comes late after all does not undo it.
//! * Delay is the whole round trip: the contract does not divide it into fabric and endpoint.
//! * The flow starts with a window of one base BDP.
//!
//! The target must lie above the base RTT of every path, or a flow alone on its path cannot fill it:
//! on paths longer than some 25 µs raise `base_target`, or add to it with `base_rtt_share`.

use incast_units::{Bytes, Rate, Time};

use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Loss, LossKind, Overhead, Path, Setup, Signals,
    derived,
};
use crate::median::{Filtered, Signal};
use crate::order::{Sample, smoothed};
use crate::params::{About, Described, Family, Kernel, Param, Value, choice, param, presets};
use crate::relative::{Relate, relate};
use crate::{Divisor, Fixed};

choice! {
    /// Unit of the parameters that are windows.
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
    /// Unit of the windows above.
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

presets! {
    impl SwiftParams {
        "paper": "Swift, SIGCOMM 2020, with the values of the simulator csg-htsim where it prints none",
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

        "htsim": "as in csg-htsim: its hop term has no effect, a smoothed RTT guards decreases, unused windows grow",
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

        "oscar": "as compared with in OSCAR, NSDI'26 (public artifact): target 25us above the base RTT, window up to the base BDP",
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

        "bolt": "the ns-3 code beside Bolt, NSDI'23, marked as Google's: target 25us and 1us per hop, windows up to 256 packets",
        fn bolt() -> Self {
            Self {
                base_target: Time::from_us(25),
                hop: Time::from_us(1),
                fs_max: Fixed::whole(256),
                min_cwnd: Fixed::ratio(15, 1000),
                max_cwnd: Fixed::whole(256),
                ..Self::paper()
            }
        }

        "median": "for the fabric of the median paper (2026), which prints no values: target 1us above the base RTT",
        /// For the fabric of the median paper, also under LSwift and MSwift.
        pub(crate) fn median() -> Self {
            Self {
                base_target: Time::from_us(1),
                base_rtt_share: Fixed::ONE,
                hop: Time::ZERO,
                fs_range: Time::from_us(5),
                ..Self::paper()
            }
        }
    }
}

derived! {
    /// Quantities that Swift derives once from its parameters and a path; windows in bytes.
    pub struct SwiftDerived of SwiftParams, |params, path|
    let packet = Fixed::whole(path.packet.get());
    let unit = match params.unit {
        Unit::Packet => packet,
        Unit::Bdp => Fixed::whole(path.bdp().get()),
    };
    let (fs_alpha, fs_beta) = params.scaling();
    let unscaled_target = params.base_target
        + Time::from_ps(params.base_rtt_share.scale(path.base_rtt.ps()))
        + params.hop.times(u64::from(path.hops));
    let min_cwnd = (params.min_cwnd * unit).max(Fixed::ONE);
    {
        /// A full packet.
        pub packet: Fixed = packet,
        /// One `unit`.
        pub unit: Fixed = unit,
        /// Additive increase per RTT.
        pub ai: Fixed = params.ai * unit,
        /// Smallest window, at least one byte.
        pub min_cwnd: Fixed = min_cwnd,
        /// Largest window.
        pub max_cwnd: Fixed = (params.max_cwnd * unit).max(min_cwnd),
        /// α of flow scaling, for a range of one.
        pub fs_alpha: Fixed = fs_alpha,
        /// β of flow scaling, for a range of one.
        pub fs_beta: Fixed = fs_beta,
        /// Target delay without flow scaling.
        pub unscaled_target: Time = unscaled_target,
        /// Target delay with as much flow scaling as there can be.
        pub scaled_target: Time = unscaled_target + params.fs_range,
        /// On which side of the target a delay is.
        pub sides: sides::Sides = sides::Sides::new(params, unit, (fs_alpha, fs_beta)),
        /// Division by a packet,
        pub by_packet: Divisor = Divisor::of(packet),
        /// and by a `unit`.
        pub by_unit: Divisor = Divisor::of(unit),
        /// A packet in `unit`.
        pub packet_in_units: Fixed = packet / unit,
    }
}

/// The parameters of Swift's law, which LSwift and MSwift share, where they are in the parameters of an algorithm, and
/// what the algorithm has besides. In braces are the classes of the defaults that differ among them.
macro_rules! law {
    (
        [$($at:ident.)*],
        {
            base_target: $base_target:ident,
            base_rtt_share: $base_rtt_share:ident,
            hop: $hop:ident,
            fs_range: $fs_range:ident $(,)?
        }
        $(, $more:expr)* $(,)?
    ) => {
        &[
            param!(
                Time "base_target",
                $($at.)* base_target,
                Time::ZERO,
                Time::from_ms(100),
                "least target delay; with hops and base_rtt_share it must exceed the base RTT",
                $base_target,
                "csg-htsim: 20us; OSCAR's public artifact and Bolt's ns-3 code: 25us; the median paper: about 1us of queue"
            ),
            param!(
                Ratio "base_rtt_share",
                $($at.)* base_rtt_share,
                Fixed::ZERO,
                Fixed::whole(100),
                "multiple of the base RTT that is added to base_target",
                $base_rtt_share,
                "Swift: 0; OSCAR's public artifact and for the median paper: 1"
            ),
            param!(
                Time "hop",
                $($at.)* hop,
                Time::ZERO,
                Time::from_ms(1),
                "target delay per link from sender to receiver",
                $hop,
                "Swift section 3.5 without a value; csg-htsim: 20us/6.55, in effect none; OSCAR's public artifact: none; Bolt's ns-3 code: 1us"
            ),
            param!(
                Time "fs_range",
                $($at.)* fs_range,
                Time::ZERO,
                Time::from_ms(100),
                "most that flow scaling adds to the target delay",
                $fs_range,
                "csg-htsim: 5 times its base target; OSCAR's public artifact: 4 times its own; Bolt's ns-3 code: 100us; chosen here for the median paper: 5us"
            ),
            param!(
                Ratio "fs_min",
                $($at.)* fs_min,
                Fixed::ratio(1, 1_000_000),
                Fixed::whole(1_000_000),
                "window, in unit, at which flow scaling adds all of fs_range",
                Printed,
                "Swift section 3.5 and csg-htsim: 0.1 packets; OSCAR's public artifact: 0.1 base BDP"
            ),
            param!(
                Ratio "fs_max",
                $($at.)* fs_max,
                Fixed::ratio(1, 1_000_000),
                Fixed::whole(1_000_000),
                "window, in unit, at which flow scaling adds nothing",
                Artifact,
                "csg-htsim: 100 packets; Bolt's ns-3 code: 256; OSCAR's public artifact: 1 base BDP"
            ),
            param!(
                Ratio "ai",
                $($at.)* ai,
                Fixed::ZERO,
                Fixed::whole(1000),
                "additive increase per RTT, in unit",
                Artifact,
                "csg-htsim and Bolt's ns-3 code: 1 packet; OSCAR's public artifact: 0.001 base BDP"
            ),
            param!(
                Ratio "beta",
                $($at.)* beta,
                Fixed::ZERO,
                Fixed::ONE,
                "share of the relative excess delay by which the window shrinks",
                Artifact,
                "csg-htsim, OSCAR's public artifact and Bolt's ns-3 code: 0.8"
            ),
            param!(
                Ratio "max_mdf",
                $($at.)* max_mdf,
                Fixed::ZERO,
                Fixed::ratio(99, 100),
                "largest share of the window that one decrease takes",
                Artifact,
                "csg-htsim, OSCAR's public artifact and Bolt's ns-3 code: 0.5"
            ),
            param!(
                Ratio "min_cwnd",
                $($at.)* min_cwnd,
                Fixed::ratio(1, 1_000_000),
                Fixed::whole(1000),
                "smallest window, in unit",
                Artifact,
                "csg-htsim: 10 bytes, 0.01 of a packet of 1000 and 0.0025 of its own of 4000; Bolt's ns-3 code: 15 bytes; OSCAR's public artifact: 0.0001 base BDP"
            ),
            param!(
                Ratio "max_cwnd",
                $($at.)* max_cwnd,
                Fixed::ratio(1, 100),
                Fixed::whole(1_000_000_000),
                "largest window, in unit",
                Artifact,
                "Swift without a value; csg-htsim: 1000 packets; Bolt's ns-3 code: 256; OSCAR's public artifact: 1 base BDP"
            ),
            param!(
                Count "retx_reset",
                $($at.)* retx_reset,
                1,
                1000,
                "timeouts in a row after which the window is the smallest",
                Artifact,
                "Swift Algorithm 1, RETX_RESET_THRESHOLD; csg-htsim: 5"
            ),
            param!(
                choice "unit",
                $($at.)* unit,
                $crate::swift::Unit,
                "what fs_min, fs_max, ai, min_cwnd and max_cwnd count in: full packets or base BDPs",
                Printed,
                "Swift: packets; OSCAR's public artifact: base BDPs"
            ),
            param!(
                Flag "grow_unused",
                $($at.)* grow_unused,
                "whether a window grows that the bytes in flight do not fill",
                Ours,
                "chosen here, as RFC 7661 for TCP: false; Swift without a word; csg-htsim and OSCAR's public artifact: true"
            ),
            param!(
                Flag "ai_below_packet",
                $($at.)* ai_below_packet,
                "whether the step of an acknowledged packet is ai/window below one packet too, and not ai",
                Printed,
                "Swift Algorithm 1 and csg-htsim: false; OSCAR's public artifact: true"
            ),
            param!(
                Flag "smoothed_rtt",
                $($at.)* smoothed_rtt,
                "whether \"once per RTT\" and the pacing go by the RTT smoothed with 1/8, and not by the latest",
                Artifact,
                "Swift Algorithm 1 without a word; csg-htsim: true; Bolt's ns-3 code: false"
            ),
            param!(
                Flag "whole_packets",
                $($at.)* whole_packets,
                "whether flow scaling counts the whole packets of the window (below one it adds all of fs_range)",
                Printed,
                "Swift section 3.5: false; csg-htsim: true"
            ),
            $($more,)*
        ]
    };
}
pub(crate) use law;

impl Described for SwiftParams {
    const ABOUT: About = About {
        name: "swift",
        title: "Swift",
        summary: "additive increase, multiplicative decrease around a target delay",
        family: Family::Delay,
        needs: "timestamps of network cards at both ends, echoed in acknowledgements (2015); nothing from switches",
    };
    const PARAMS: &'static [Param<Self>] = law!(
        [],
        { base_target: Artifact, base_rtt_share: Printed, hop: Artifact, fs_range: Artifact }
    );

    fn delay_limit(&self, path: &Path) -> Option<(Time, &'static str)> {
        let setup = Setup::new(*self, *path);
        Some((Swift::start((&setup).into(), Time::ZERO).target_delay(&setup), "base_target"))
    }

    fn window_limit(&self, path: &Path) -> Option<(Bytes, &'static str)> {
        Some((Bytes::new(Setup::new(*self, *path).derived.max_cwnd.floor()), "max_cwnd"))
    }
    const KERNEL: Option<Kernel> = Some(Kernel::new("incast_swift", Signals::NONE));
}

/// Inputs of a step of Swift's law: the parameters of Swift inside an algorithm's, its path and the
/// quantities derived from them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law<'a> {
    pub(crate) params: &'a SwiftParams,
    pub(crate) path: &'a Path,
    pub(crate) derived: &'a SwiftDerived,
}

impl<'a> From<&'a Setup<SwiftParams>> for Law<'a> {
    fn from(setup: &'a Setup<SwiftParams>) -> Self {
        Self { params: &setup.params, path: &setup.path, derived: &setup.derived }
    }
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
        self.target(setup.into())
    }

    /// A flow that starts at `now`.
    pub(crate) fn start(law: Law<'_>, now: Time) -> Self {
        let cwnd = Fixed::whole(law.path.bdp().get());
        let mut flow =
            Self { cwnd, last_decrease: now, rtt: law.path.base_rtt, timeouts: 0, measured: false };
        flow.settle(law, cwnd, now);
        flow
    }

    pub(crate) fn target(&self, law: Law<'_>) -> Time {
        let Law { params, derived, .. } = law;
        let cwnd = if params.whole_packets {
            Fixed::whole(derived.by_packet.divide(self.cwnd).floor()) * derived.packet_in_units
        } else {
            derived.by_unit.divide(self.cwnd)
        };
        let share = (derived.fs_alpha / cwnd.sqrt() + derived.fs_beta).clamp_to(Fixed::ZERO, Fixed::ONE);
        derived.unscaled_target + Time::from_ps(share.scale(params.fs_range.ps()))
    }

    /// An acknowledgement has come after `rtt`.
    pub(crate) fn measure(&mut self, law: Law<'_>, rtt: Time) {
        self.rtt = if law.params.smoothed_rtt && self.measured { smoothed(self.rtt, rtt) } else { rtt };
        self.measured = true;
        self.timeouts = 0;
    }

    /// The law of Algorithm 1 by the delay that it decides on.
    pub(crate) fn follow(&mut self, law: Law<'_>, ack: &Ack, delay: Time) {
        let Law { params, derived, .. } = law;
        // Above the target nothing happens within a round trip of the last decrease, nor to the smallest window,
        // wherever the target is.
        let rests = ack.now - self.last_decrease < self.rtt || self.cwnd <= derived.min_cwnd;
        if delay >= derived.scaled_target && rests {
            return;
        }
        let (before, above) = (self.cwnd, delay - derived.unscaled_target);
        if delay < derived.unscaled_target || derived.sides.is_below(before, above) {
            self.increase(law, ack);
        } else if rests && derived.sides.is_above(before, above) {
            return;
        } else {
            let target = self.target(law);
            if delay < target {
                self.increase(law, ack);
            } else {
                let excess = Fixed::ratio((delay - target).ps(), delay.ps());
                let factor = (Fixed::ONE - params.beta * excess).max(Fixed::ONE - params.max_mdf);
                self.decrease(factor, ack.now);
            }
        }
        self.settle(law, before, ack.now);
    }

    /// Packets are lost, and not because the timer has expired.
    pub(crate) fn lose(&mut self, law: Law<'_>, now: Time) {
        let before = self.cwnd;
        self.decrease(Fixed::ONE - law.params.max_mdf, now);
        self.settle(law, before, now);
    }

    /// The transport's repair of a hole: the timeouts before it are no longer in a row.
    pub(crate) fn repaired(&mut self) {
        self.timeouts = 0;
    }

    /// Shrinks the window after the retransmission timer has expired.
    pub(crate) fn time_out(&mut self, law: Law<'_>, now: Time) {
        self.timeouts = self.timeouts.saturating_add(1);
        if u64::from(self.timeouts) < law.params.retx_reset {
            return self.lose(law, now);
        }
        let before = self.cwnd;
        self.cwnd = Fixed::ZERO; // settles at the smallest window
        self.settle(law, before, now);
    }

    /// Line rate with a window of a packet or more, else one packet per rtt · packet/cwnd.
    pub(crate) fn allow(&self, law: Law<'_>) -> Allowance {
        let line_rate = law.path.line_rate;
        let rate = if self.cwnd < law.derived.packet {
            // In 2^-16 of a byte, so that a window of a few bytes keeps its precision.
            let scaled = Rate::of(Bytes::new(self.cwnd.scale(1 << 16)), self.rtt);
            Rate::from_bps((scaled.bps() >> 16).max(1)).min(line_rate)
        } else {
            line_rate
        };
        Allowance { window: Bytes::new(self.cwnd.floor()), rate }
    }

    /// The internal quantities of [`INTERNALS`].
    pub(crate) fn show(&self, law: Law<'_>, place: usize) -> Option<Value> {
        match place {
            0 => Some(Value::Time(self.target(law))),
            1 => Some(Value::Bytes(Bytes::new(self.cwnd.floor()))),
            2 => Some(Value::Time(self.last_decrease)),
            _ => None,
        }
    }

    /// A decrease by `factor`, if the last one is a round trip ago.
    fn decrease(&mut self, factor: Fixed, now: Time) {
        if now - self.last_decrease >= self.rtt {
            self.cwnd = self.cwnd * factor;
        }
    }

    fn increase(&mut self, law: Law<'_>, ack: &Ack) {
        let Law { params, path, derived } = law;
        let before = Fixed::whole((ack.inflight_now + ack.acked + path.packet).get());
        if before < self.cwnd && !params.grow_unused {
            return;
        }
        let per = if params.ai_below_packet { self.cwnd } else { self.cwnd.max(derived.packet) };
        self.cwnd += derived.ai * (Fixed::whole(ack.acked.get()) / per);
    }

    /// The end of Algorithm 1: the window's limits, and when it last shrank.
    fn settle(&mut self, law: Law<'_>, before: Fixed, now: Time) {
        self.cwnd = self.cwnd.clamp_to(law.derived.min_cwnd, law.derived.max_cwnd);
        if self.cwnd < before {
            self.last_decrease = now;
        }
    }
}

/// Internal quantities of Swift's law.
pub(crate) const INTERNALS: [Internal; 3] = [
    Internal { name: "target_delay", meaning: "target delay at the window of now" },
    Internal { name: "cwnd", meaning: "window, also below one packet (cwnd)" },
    Internal { name: "last_decrease", meaning: "when the window last shrank (t_last_decrease)" },
];

impl Relate for Swift {
    relate! {
        value(): [cwnd, rtt, timeouts, measured],
        // Compared with `rtt`, or with one measured later, of a packet that leaves after this instant.
        since(*rtt): [last_decrease],
    }
}

impl CongestionControl for Swift {
    type Params = SwiftParams;

    const HEARS_SENT: bool = false;

    fn signals(_params: &SwiftParams) -> Signals {
        Signals::NONE
    }

    fn overhead(_params: &SwiftParams) -> Overhead {
        Overhead::default()
    }

    fn new(setup: &Setup<SwiftParams>, now: Time) -> Self {
        Self::start(setup.into(), now)
    }

    relate! { as a part }

    fn on_ack(&mut self, setup: &Setup<SwiftParams>, ack: &Ack, _int: &IntStack) {
        self.measure(setup.into(), ack.rtt());
        self.follow(setup.into(), ack, ack.rtt());
    }

    fn on_loss(&mut self, setup: &Setup<SwiftParams>, loss: &Loss) {
        match loss.kind {
            LossKind::Hole | LossKind::Trim => {
                self.repaired();
                self.lose(setup.into(), loss.now);
            }
            LossKind::Timeout => self.time_out(setup.into(), loss.now),
        }
    }

    fn allowance(&self, setup: &Setup<SwiftParams>) -> Allowance {
        self.allow(setup.into())
    }

    const INTERNALS: &'static [Internal] = &INTERNALS;

    fn probe(&self, setup: &Setup<SwiftParams>, place: usize) -> Option<Value> {
        self.show(setup.into(), place)
    }
}

impl Filtered for Swift {
    const SIGNAL: Signal = Signal::Delay;

    fn sample(&mut self, _setup: &Setup<SwiftParams>, ack: &Ack) -> Option<Sample> {
        Some(Sample::delay(ack.rtt()))
    }

    fn step(&mut self, setup: &Setup<SwiftParams>, ack: &Ack, filtered: Option<Sample>, _marked: u32) {
        self.measure(setup.into(), ack.rtt());
        self.follow(setup.into(), ack, filtered.map_or(ack.rtt(), Sample::time));
    }
}

mod sides;
#[cfg(test)]
mod tests;
