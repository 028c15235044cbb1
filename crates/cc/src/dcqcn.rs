//! DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015), the
//! reaction point, in two flavours.
//!
//! **paper**: a congestion notification cuts the rate by α/2 and raises α. After it, a timer and a
//! byte counter each count their expiries; every expiry raises the rate: F times by half the way back
//! to the rate before the cut (fast recovery), then with a target that moves by R_AI (additive
//! increase), and once both have counted past F by a multiple of R_HAI (hyper increase).
//!
//! **mellanox**: the ConnectX flavour of the HPCC repository: notifications are only remembered. A
//! timer folds "one was seen" into α; another cuts the rate, at most once per interval; there is no
//! byte counter; one additive step comes between fast recovery and hyper increase.
//!
//! The paper counts "F iterations" of fast recovery and compares with max(T, BC) < F: here, as in the
//! public artifacts, the counter is advanced first and F of its values are fast recovery.
//!
//! α only matters at a cut, so its timer needs no events: the decays that it would have made are
//! applied at once when α is next needed. The rate timer rests once the rate is back at the line's.
//! Rates are kept as a ratio to the line rate.

use incast_units::{Bytes, Rate, Time};

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Overhead, Sent, Setup, Signals, derived,
};
use crate::limits::{RateWindow, least_share};
use crate::params::{About, Described, Family, Param, Value, choice, param, presets};
use crate::relative::relate;

choice! {
    /// Variant of the reaction point.
    Flavour {
        /// As published.
        Paper = "paper",
        /// As in the HPCC repository, after ConnectX.
        Mellanox = "mellanox",
    }
}

choice! {
    /// Signal that counts as a congestion notification.
    Feedback {
        /// A congestion notification packet of the receiver.
        Cnp = "cnp",
        /// An acknowledgement of a marked packet.
        Ack = "ack",
    }
}

/// Parameters of [`Dcqcn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DcqcnParams {
    /// Variant of the reaction point.
    pub flavour: Flavour,
    /// Signal that counts as a congestion notification.
    pub feedback: Feedback,
    /// Gain g of α.
    pub g: Fixed,
    /// First α.
    pub alpha_init: Fixed,
    /// α decays when this passes without a notification.
    pub alpha_timer: Time,
    /// Time between two rate increases.
    pub rate_timer: Time,
    /// Bytes between two rate increases; [`Bytes::UNLIMITED`] for none. Paper flavour only.
    pub byte_counter: Bytes,
    /// F: increases of fast recovery.
    pub recovery: u64,
    /// R_AI, as a fraction of the line rate.
    pub r_ai: Fixed,
    /// R_HAI, as a fraction of the line rate.
    pub r_hai: Fixed,
    /// Whether the n-th hyper increase is n times R_HAI. Paper flavour only.
    pub hyper_growing: bool,
    /// Shortest time between two cuts. Mellanox flavour only.
    pub cut_interval: Time,
    /// Whether a cut sets the target to the rate even before any increase. Mellanox flavour only.
    pub clamp_target: bool,
    /// Limit of the bytes in flight, beside the rate.
    pub window: RateWindow,
    /// The part of the smallest rate that is a fraction of the line rate.
    pub floor: Fixed,
    /// The part of it that is absolute.
    pub floor_rate: Rate,
}

presets! {
    impl DcqcnParams {
        "paper": "DCQCN, SIGCOMM 2015",
        fn paper() -> Self {
            Self {
                flavour: Flavour::Paper,
                feedback: Feedback::Cnp,
                g: Fixed::ratio(1, 256),
                alpha_init: Fixed::ONE,
                alpha_timer: Time::from_us(55),
                rate_timer: Time::from_us(55),
                byte_counter: Bytes::new(10_000_000),
                recovery: 5,
                r_ai: Fixed::ratio(1, 1000),
                r_hai: Fixed::ratio(5, 1000),
                hyper_growing: true,
                cut_interval: Time::from_us(4),
                clamp_target: false,
                window: RateWindow::None,
                floor: Fixed::ratio(1, 1000),
                floor_rate: Rate::ZERO,
            }
        }

        "mellanox": "the ConnectX flavour of HPCC's public artifact, with its run script's timers; with window = rate its dcqcn_vwin",
        fn mellanox() -> Self {
            Self {
                flavour: Flavour::Mellanox,
                feedback: Feedback::Ack,
                alpha_timer: Time::from_us(1),
                rate_timer: Time::from_us(300),
                recovery: 1,
                r_ai: Fixed::ratio(2, 10_000),
                r_hai: Fixed::ratio(2, 1000),
                floor: Fixed::ZERO,
                floor_rate: Rate::from_gbps(1),
                ..Self::paper()
            }
        }

        "oscar": "OSCAR's public artifact: byte counter 10MiB, hyper increase of fixed size",
        fn oscar() -> Self {
            Self {
                byte_counter: Bytes::new(10 << 20),
                r_hai: Fixed::ratio(1, 100),
                hyper_growing: false,
                ..Self::paper()
            }
        }
    }
}

derived! {
    /// Quantities that DCQCN derives once from its parameters and a path.
    pub struct DcqcnDerived of DcqcnParams, |params, path| {
        /// Smallest rate, as a share of the line rate.
        pub floor: Fixed = least_share(params.floor, params.floor_rate, path),
    }
}

impl Described for DcqcnParams {
    const ABOUT: About = About {
        name: "dcqcn",
        title: "DCQCN",
        summary: "cuts the rate by the marked share, recovers by timer and byte counter",
        family: Family::Ecn,
        needs: "switches that mark by a RED curve (ECN: 2001); network cards that answer marks with notifications (RDMA cards: 2015)",
    };
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            choice "flavour",
            flavour,
            Flavour,
            "the reaction point as published, or as in the HPCC repository",
            Printed,
            "DCQCN section 3.1; HPCC's public artifact"
        ),
        param!(
            choice "feedback",
            feedback,
            Feedback,
            "what cuts the rate: the receiver's notification packets, or acks of marked packets",
            Printed,
            "DCQCN section 3.1: cnp; HPCC's public artifact: ack"
        ),
        param!(
            Ratio "g",
            g,
            Fixed::ratio(1, 65_536),
            Fixed::ONE,
            "gain of the estimate alpha",
            Printed,
            "DCQCN section 5: 1/256"
        ),
        param!(
            Ratio "alpha_init",
            alpha_init,
            Fixed::ZERO,
            Fixed::ONE,
            "first value of alpha",
            Printed,
            "DCQCN section 3.1: 1; OSCAR's public artifact uses 0.5 for its Figure 1"
        ),
        param!(
            Time "alpha_timer",
            alpha_timer,
            Time::from_ns(100),
            Time::from_ms(100),
            "alpha decays each time this passes without a notification",
            Printed,
            "DCQCN section 5: 55us; HPCC's public artifact: 1us"
        ),
        param!(
            Time "rate_timer",
            rate_timer,
            Time::from_ns(100),
            Time::from_ms(100),
            "time between two rate increases",
            Printed,
            "DCQCN section 5: 55us; HPCC's public artifact: 300us"
        ),
        param!(
            Bytes "byte_counter",
            byte_counter,
            Bytes::new(1000),
            Bytes::UNLIMITED,
            "bytes sent between two rate increases (paper flavour)",
            Printed,
            "DCQCN section 5: 10MB; OSCAR's public artifact: 10MiB"
        ),
        param!(
            Count "recovery",
            recovery,
            0,
            1000,
            "F, rate increases of fast recovery",
            Printed,
            "DCQCN section 3.1: 5; HPCC's public artifact: 1"
        ),
        param!(
            Ratio "r_ai",
            r_ai,
            Fixed::ZERO,
            Fixed::ONE,
            "step of the target rate in additive increase, as a fraction of the line rate",
            Derived,
            "DCQCN section 3.1: 40Mbps at 40Gbps; HPCC's public artifact: 5Mbps at 25Gbps"
        ),
        param!(
            Ratio "r_hai",
            r_hai,
            Fixed::ZERO,
            Fixed::ONE,
            "step of the target rate in hyper increase, as a fraction of the line rate",
            Artifact,
            "DCQCN states none; public artifacts: its 200Mbps at 40Gbps, HPCC's 50Mbps at 25Gbps, OSCAR's 0.01"
        ),
        param!(
            Flag "hyper_growing",
            hyper_growing,
            "whether the n-th hyper increase is n steps (paper flavour)",
            Printed,
            "DCQCN section 3.1: true; OSCAR's public artifact: false"
        ),
        param!(
            Time "cut_interval",
            cut_interval,
            Time::from_ns(100),
            Time::from_ms(100),
            "shortest time between two cuts (mellanox flavour)",
            Artifact,
            "HPCC's public artifact: 4us"
        ),
        param!(
            Flag "clamp_target",
            clamp_target,
            "whether a cut lowers the target to the rate even before any increase (mellanox flavour)",
            Artifact,
            "HPCC's public artifact: false"
        ),
        param!(
            choice "window",
            window,
            RateWindow,
            "limit of the bytes in flight: none, one base BDP, or the base BDP in proportion to the rate",
            Printed,
            "DCQCN: none; OSCAR, NSDI'26, Appendix C.6: bdp; HPCC's public artifact with VAR_WIN: rate"
        ),
        param!(
            Ratio "floor",
            floor,
            Fixed::ZERO,
            Fixed::ONE,
            "smallest rate as a fraction of the line rate, to which floor_rate is added",
            Artifact,
            "OSCAR's public artifact: 0.001"
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
    ];
}

/// The state of one flow under DCQCN: 80 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Dcqcn {
    /// Rate, as a ratio to the line rate (R_C).
    rate: Fixed,
    /// Target rate, as a ratio to the line rate (R_T).
    target: Fixed,
    /// Estimate of the marked share (α), with every decay up to `alpha_at`.
    alpha: Fixed,
    /// The last tick of α's timer that is in `alpha`; [`Time::NEVER`] before the first notification.
    alpha_at: Time,
    /// Next increase by time; [`Time::NEVER`] when resting.
    rate_due: Time,
    /// Next cut (mellanox flavour); [`Time::NEVER`] when there is none to make.
    cut_due: Time,
    /// The first notification, from which cuts are spaced (mellanox flavour); [`Time::NEVER`] before.
    cut_origin: Time,
    /// Bytes sent since the byte counter last expired.
    bytes: u64,
    /// Expiries of the rate timer since the last cut (T), or increases (mellanox flavour).
    by_time: u32,
    /// Expiries of the byte counter since the last cut (BC).
    by_bytes: u32,
    /// Whether a notification came since the last tick of α's timer (mellanox flavour).
    seen: bool,
}

/// `base` to the power of `exponent`, for a base in [0, 1].
#[cfg_attr(target_arch = "bpf", inline(never))] // bpf/compile.sh has it verified alone
fn power(base: Fixed, exponent: u64) -> Fixed {
    let (mut result, mut square, mut rest) = (Fixed::ONE, base, exponent);
    for _ in 0..u64::BITS {
        if rest == 0 {
            break;
        }
        if rest & 1 == 1 {
            result = result * square;
        }
        square = square * square;
        rest >>= 1;
    }
    result
}

impl Dcqcn {
    /// Applies the ticks of α's timer up to `now`.
    fn settle(&mut self, params: &DcqcnParams, now: Time) {
        // Before the first notification this is zero.
        let passed = now - self.alpha_at;
        if passed < params.alpha_timer {
            return;
        }
        let ticks = passed.ps().checked_div(params.alpha_timer.ps()).unwrap_or(0);
        if ticks == 0 {
            return;
        }
        self.alpha = power(Fixed::ONE - params.g, ticks) * self.alpha;
        if self.seen {
            // The notification belongs to the first of these ticks; the others made it decay.
            self.alpha += params.g * power(Fixed::ONE - params.g, ticks - 1);
            self.seen = false;
        }
        self.alpha_at += params.alpha_timer.times(ticks);
    }

    fn cut(&mut self, setup: &Setup<DcqcnParams>, now: Time) {
        let keep = Fixed::ONE - self.alpha * Fixed::ratio(1, 2);
        self.rate = (self.rate * keep).max(setup.derived.floor);
        (self.by_time, self.by_bytes, self.bytes) = (0, 0, 0);
        self.rate_due = now + setup.params.rate_timer;
    }

    fn notified(&mut self, setup: &Setup<DcqcnParams>, now: Time) {
        let params = &setup.params;
        match params.flavour {
            Flavour::Paper => {
                self.settle(params, now);
                self.target = self.rate;
                self.cut(setup, now);
                self.alpha = (Fixed::ONE - params.g) * self.alpha + params.g;
                self.alpha_at = now;
            }
            Flavour::Mellanox => {
                if self.cut_origin == Time::NEVER {
                    self.cut_origin = now;
                    self.alpha_at = now;
                } else {
                    self.settle(params, now);
                    self.seen = true;
                }
                if self.cut_due == Time::NEVER {
                    let passed =
                        (now - self.cut_origin).ps().checked_div(params.cut_interval.ps()).unwrap_or(0);
                    self.cut_due = self.cut_origin + params.cut_interval.times(passed.saturating_add(1));
                }
            }
        }
    }

    fn increase(&mut self, params: &DcqcnParams) {
        let (by_time, by_bytes) = (u64::from(self.by_time), u64::from(self.by_bytes));
        let step = match params.flavour {
            Flavour::Paper => {
                if by_time.max(by_bytes) <= params.recovery {
                    Fixed::ZERO
                } else if by_time.min(by_bytes) > params.recovery {
                    let past = by_time.min(by_bytes) - params.recovery;
                    if params.hyper_growing { Fixed::whole(past) * params.r_hai } else { params.r_hai }
                } else {
                    params.r_ai
                }
            }
            // The count includes this increase: F of fast recovery, one additive, then hyper.
            Flavour::Mellanox if by_time <= params.recovery => Fixed::ZERO,
            Flavour::Mellanox if by_time - 1 == params.recovery => params.r_ai,
            Flavour::Mellanox => params.r_hai,
        };
        self.target = (self.target + step).min(Fixed::ONE);
        // Rounding the difference down lets the rate reach its target.
        self.rate = self.target - (self.target - self.rate) * Fixed::ratio(1, 2);
        if self.rate == Fixed::ONE {
            self.rate_due = Time::NEVER;
        }
    }
}

impl CongestionControl for Dcqcn {
    type Params = DcqcnParams;

    fn signals(params: &DcqcnParams) -> Signals {
        match params.feedback {
            Feedback::Cnp => Signals::CNP.and(Signals::ECN),
            Feedback::Ack => Signals::ECN,
        }
    }

    fn overhead(_params: &DcqcnParams) -> Overhead {
        Overhead::default()
    }

    fn new(setup: &Setup<DcqcnParams>, _now: Time) -> Self {
        let Setup { params, .. } = setup;
        Self {
            rate: Fixed::ONE,
            target: Fixed::ONE,
            alpha: params.alpha_init,
            alpha_at: Time::NEVER,
            rate_due: Time::NEVER,
            cut_due: Time::NEVER,
            cut_origin: Time::NEVER,
            bytes: 0,
            by_time: 0,
            by_bytes: 0,
            seen: false,
        }
    }

    relate! { |setup|
        value(): [rate, target, alpha, by_time, by_bytes, seen],
        // Without a byte counter no number of bytes is enough.
        only(setup.params.byte_counter != Bytes::UNLIMITED): [bytes],
        instant(): [alpha_at, rate_due, cut_due],
        phase(setup.params.cut_interval): [cut_origin],
    }

    fn on_ack(&mut self, setup: &Setup<DcqcnParams>, ack: &Ack, _int: &IntStack) {
        if setup.params.feedback == Feedback::Ack && ack.marked > 0 {
            self.notified(setup, ack.now);
        }
    }

    fn on_cnp(&mut self, setup: &Setup<DcqcnParams>, now: Time) {
        if setup.params.feedback == Feedback::Cnp {
            self.notified(setup, now);
        }
    }

    fn on_sent(&mut self, setup: &Setup<DcqcnParams>, sent: &Sent) {
        let Setup { params, .. } = setup;
        if params.flavour == Flavour::Mellanox || self.rate_due == Time::NEVER {
            return;
        }
        self.bytes = self.bytes.saturating_add(sent.bytes.get());
        if self.bytes >= params.byte_counter.get() {
            self.bytes -= params.byte_counter.get();
            self.by_bytes = self.by_bytes.saturating_add(1);
            self.increase(params);
        }
    }

    fn on_timer(&mut self, setup: &Setup<DcqcnParams>, now: Time) {
        let params = &setup.params;
        if now >= self.cut_due {
            self.settle(params, now);
            if params.clamp_target || self.by_time > 0 {
                self.target = self.rate;
            }
            self.cut(setup, now);
            self.cut_due = Time::NEVER;
        }
        if now >= self.rate_due {
            self.rate_due = now + params.rate_timer;
            self.by_time = self.by_time.saturating_add(1);
            self.increase(params);
        }
    }

    fn deadline(&self) -> Time {
        self.rate_due.min(self.cut_due)
    }

    fn allowance(&self, setup: &Setup<DcqcnParams>) -> Allowance {
        let Setup { params, path, .. } = setup;
        Allowance {
            window: params.window.window(setup.bdp, self.rate),
            rate: Rate::from_bps(self.rate.scale(path.line_rate.bps())).max(Rate::from_bps(1)),
        }
    }

    const INTERNALS: &'static [Internal] = &[
        Internal { name: "alpha", meaning: "estimate of the marked share when it was last used (alpha)" },
        Internal { name: "target_rate", meaning: "target rate (R_T)" },
        Internal { name: "current_rate", meaning: "current rate (R_C)" },
    ];

    fn probe(&self, setup: &Setup<DcqcnParams>, place: usize) -> Option<Value> {
        let rate = |share: Fixed| Value::Rate(Rate::from_bps(share.scale(setup.path.line_rate.bps())));
        match place {
            0 => Some(Value::Ratio(self.alpha)),
            1 => Some(rate(self.target)),
            2 => Some(rate(self.rate)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PATH, ack, close, flow, us};

    /// Sends `bytes` at once; one packet of any size is one call.
    fn send(flow: &mut Dcqcn, params: &DcqcnParams, bytes: u64) {
        let sent = Sent { now: us(0), bytes: Bytes::new(bytes), inflight: Bytes::new(bytes) };
        flow.on_sent(&Setup::new(*params, PATH), &sent);
    }

    #[test]
    fn runs_at_line_rate_without_timers_until_the_first_notification() {
        let params = DcqcnParams::default();
        let mut flow = flow::<Dcqcn>(&params);
        assert_eq!(flow.deadline(), Time::NEVER);
        send(&mut flow, &params, 20_000_000);
        assert_eq!((flow.bytes, flow.by_bytes), (0, 0));
        let free = Allowance { window: Bytes::UNLIMITED, rate: Rate::from_gbps(100) };
        assert_eq!(flow.allowance(&Setup::new(params, PATH)), free);
        let windowed = DcqcnParams { window: RateWindow::Bdp, ..params };
        assert_eq!(flow.allowance(&Setup::new(windowed, PATH)).window, Bytes::new(150_000));
        // In proportion to the rate: 150 KB, after a cut to a quarter 37.5 KB; at least one byte.
        let follows = DcqcnParams { window: RateWindow::Rate, ..params };
        assert_eq!(flow.allowance(&Setup::new(follows, PATH)).window, Bytes::new(150_000));
        flow.rate = Fixed::ratio(1, 4);
        assert_eq!(flow.allowance(&Setup::new(follows, PATH)).window, Bytes::new(37_500));
        assert_eq!(flow.allowance(&Setup::new(windowed, PATH)).window, Bytes::new(150_000));
        flow.rate = Fixed::from_bits(1);
        assert_eq!(flow.allowance(&Setup::new(follows, PATH)).window, Bytes::new(1));
        flow.rate = Fixed::ZERO;
        assert_eq!(flow.allowance(&Setup::new(params, PATH)).rate, Rate::from_bps(1));
        assert_eq!(Dcqcn::signals(&params), Signals::CNP.and(Signals::ECN));
        assert_eq!(Dcqcn::signals(&DcqcnParams::mellanox()), Signals::ECN);
        assert_eq!(size_of::<Dcqcn>(), 80);
    }

    #[test]
    fn a_cut_and_the_way_back_by_hand() {
        // α = 1 however late the first notification comes. R_T = 1, R_C = 1 · (1 − 1/2) = 0.5,
        // α = 255/256 + 1/256 = 1 (section 3.1, Equation 1).
        let params = DcqcnParams { r_ai: Fixed::ratio(1, 100), ..DcqcnParams::default() };
        let mut flow = flow::<Dcqcn>(&params);
        flow.on_cnp(&Setup::new(params, PATH), us(10_000));
        close(flow.rate, 0.5);
        close(flow.target, 1.0);
        close(flow.alpha, 1.0);
        let setup = Setup::new(params, PATH);
        assert_eq!(flow.probe(&setup, 1), Some(Value::Rate(Rate::from_gbps(100))));
        assert_eq!(flow.probe(&setup, 2), Some(Value::Rate(Rate::from_gbps(50))));
        // A second one 120 us later: two ticks of 55 us: α = (255/256)^2 = 0.992202759, used before it
        // rises. In between two increases of fast recovery: 0.75, 0.875.
        for (at, rate) in [(10_055, 0.75), (10_110, 0.875)] {
            assert_eq!(flow.deadline(), us(at));
            flow.on_timer(&Setup::new(params, PATH), us(at));
            close(flow.rate, rate);
        }
        flow.on_cnp(&Setup::new(params, PATH), us(10_120));
        // 0.875 · (1 − 0.992202759/2) = 0.440911293; α = 0.992202759 · 255/256 + 1/256 = 0.992233217.
        close(flow.rate, 0.440_911_293);
        close(flow.target, 0.875);
        close(flow.alpha, 0.992_233_217);
        // Five of fast recovery halve the distance, 0.434088707, to a 32nd of it: 0.861434728.
        for n in 1..=5 {
            flow.on_timer(&Setup::new(params, PATH), us(10_120 + 55 * n));
        }
        close(flow.rate, 0.861_434_728);
        // The sixth is additive: the target moves by R_AI = 0.01 to 0.885, the rate half way to it.
        flow.on_timer(&Setup::new(params, PATH), us(10_450));
        close(flow.target, 0.885);
        close(flow.rate, 0.873_217_364);
    }

    #[test]
    fn hyper_increase_needs_both_counters_past_recovery() {
        let params = DcqcnParams {
            r_ai: Fixed::ratio(1, 1000),
            r_hai: Fixed::ratio(1, 100),
            recovery: 1,
            ..DcqcnParams::default()
        };
        let mut flow = flow::<Dcqcn>(&params);
        flow.on_cnp(&Setup::new(params, PATH), us(100));
        flow.target = Fixed::ratio(1, 2);
        flow.rate = Fixed::ratio(1, 2);
        let mut at = 100;
        let mut step = |flow: &mut Dcqcn, by_time: bool, target: f64| {
            if by_time {
                at += 55;
                flow.on_timer(&Setup::new(params, PATH), us(at));
            } else {
                send(flow, &params, 10_000_000);
            }
            close(flow.target, target);
        };
        step(&mut flow, true, 0.5); // T = 1: fast recovery
        step(&mut flow, true, 0.501); // T = 2, BC = 0: additive
        step(&mut flow, false, 0.502); // T = 2, BC = 1: additive
        step(&mut flow, false, 0.512); // T = 2, BC = 2: hyper, i = 1
        step(&mut flow, true, 0.522); // T = 3, BC = 2: i = 1
        step(&mut flow, false, 0.542); // T = 3, BC = 3: i = 2
        let fixed = DcqcnParams { hyper_growing: false, ..params };
        flow.increase(&fixed);
        close(flow.target, 0.552);
    }

    #[test]
    fn the_byte_counter_keeps_its_remainder_and_a_cut_clears_it() {
        let params = DcqcnParams::default();
        let mut flow = flow::<Dcqcn>(&params);
        flow.on_cnp(&Setup::new(params, PATH), us(100));
        send(&mut flow, &params, 9_999_000);
        assert_eq!(flow.by_bytes, 0);
        send(&mut flow, &params, 1500);
        assert_eq!((flow.by_bytes, flow.bytes), (1, 500));
        close(flow.rate, 0.75);
        flow.on_cnp(&Setup::new(params, PATH), us(150));
        assert_eq!((flow.by_bytes, flow.bytes, flow.by_time), (0, 0, 0));
        assert_eq!(flow.deadline(), us(205));
    }

    #[test]
    fn the_timer_rests_at_line_rate() {
        let params = DcqcnParams::default();
        let mut flow = flow::<Dcqcn>(&params);
        flow.on_cnp(&Setup::new(params, PATH), us(0));
        let mut ticks = 0;
        while flow.deadline() != Time::NEVER {
            flow.on_timer(&Setup::new(params, PATH), flow.deadline());
            ticks += 1;
            assert!(ticks <= 33, "a half is 32 halvings above the resolution");
        }
        assert_eq!(flow.rate, Fixed::ONE);
    }

    #[test]
    fn never_below_the_floor() {
        let params = DcqcnParams::default();
        let mut flow = flow::<Dcqcn>(&params);
        for n in 0..20 {
            flow.on_cnp(&Setup::new(params, PATH), us(50 * n));
        }
        close(flow.rate, 0.001);
        // HPCC's artifact: 1 Gbps, 0.01 of this line.
        let params = DcqcnParams { flavour: Flavour::Paper, ..DcqcnParams::mellanox() };
        for n in 20..40 {
            flow.notified(&Setup::new(params, PATH), us(50 * n));
        }
        close(flow.rate, 0.01);
        // More than the line is the line.
        let params = DcqcnParams { floor_rate: Rate::from_gbps(100), floor: Fixed::ONE, ..params };
        flow.notified(&Setup::new(params, PATH), us(2000));
        close(flow.rate, 1.0);
    }

    #[test]
    fn powers_by_hand() {
        close(power(Fixed::ratio(1, 2), 0), 1.0);
        close(power(Fixed::ratio(3, 4), 5), 0.237_304_687_5);
        close(power(Fixed::ratio(255, 256), 1000), 0.019_962_509);
        assert_eq!(power(Fixed::ratio(255, 256), u64::MAX), Fixed::ZERO);
        assert_eq!(power(Fixed::ONE, u64::MAX), Fixed::ONE);
    }

    #[test]
    fn mellanox_remembers_and_cuts_on_its_grid() {
        // Marks at 100 us and 101.5 us; α's ticks at 101, 102, ...; cuts at 104, 108, ... us.
        let params = DcqcnParams::mellanox();
        let mut flow = flow::<Dcqcn>(&params);
        let marked = |at: Time| Ack { marked: 1, ..ack(at, us(12), 1000, 2000) };
        flow.on_ack(&Setup::new(params, PATH), &marked(us(100)), &IntStack::EMPTY);
        close(flow.rate, 1.0);
        assert_eq!(flow.deadline(), us(104));
        flow.on_ack(&Setup::new(params, PATH), &marked(Time::from_ns(101_500)), &IntStack::EMPTY);
        // At 101: nothing seen since the first, α = 255/256. At 102: seen, 255/256 · α + 1/256. At 103
        // and 104 nothing: 0.988342107. The target stays, no increase having happened yet.
        flow.on_timer(&Setup::new(params, PATH), us(104));
        let g = 1.0 / 256.0;
        let alpha = ((1.0 - g) * (1.0 - g) + g) * (1.0 - g) * (1.0 - g);
        close(flow.alpha, alpha);
        close(flow.rate, 1.0 - alpha / 2.0);
        close(flow.target, 1.0);
        // No mark, no cut; the next increase is 300 us after the cut.
        assert_eq!(flow.deadline(), us(404));
        // A mark at 109.2 us is acted on at 112 us.
        flow.on_ack(&Setup::new(params, PATH), &marked(Time::from_ns(109_200)), &IntStack::EMPTY);
        assert_eq!(flow.deadline(), us(112));
        // The five ticks since the cut saw nothing: α only decays.
        close(flow.alpha, alpha * (1.0 - g) * (1.0 - g) * (1.0 - g) * (1.0 - g) * (1.0 - g));
        // Notification packets and unmarked acknowledgements are nothing to this flavour.
        let before = flow;
        flow.on_cnp(&Setup::new(params, PATH), us(110));
        flow.on_ack(&Setup::new(params, PATH), &ack(us(110), us(12), 1000, 2000), &IntStack::EMPTY);
        assert_eq!(flow, before);
        // No increase has happened since the first cut, so that the second leaves the target at the
        // line's rate too; with `clamp_target`, or after one increase, it is the rate before the second.
        let cut = 1.0 - alpha / 2.0;
        for (clamp_target, by_time, target) in [(false, 0, 1.0), (true, 0, cut), (false, 1, cut)] {
            let params = DcqcnParams { clamp_target, ..params };
            let mut flow = Dcqcn { by_time, ..before };
            flow.on_timer(&Setup::new(params, PATH), us(112));
            assert!(flow.rate < before.rate);
            close(flow.target, target);
        }
    }

    #[test]
    fn mellanox_recovers_once_adds_once_then_hyper() {
        // F = 1, R_AI = 0.0002, R_HAI = 0.002.
        let params = DcqcnParams::mellanox();
        let mut flow = flow::<Dcqcn>(&params);
        let marked = Ack { marked: 1, ..ack(us(100), us(12), 1000, 2000) };
        flow.on_ack(&Setup::new(params, PATH), &marked, &IntStack::EMPTY);
        flow.on_timer(&Setup::new(params, PATH), us(104));
        (flow.rate, flow.target) = (Fixed::ratio(1, 4), Fixed::ratio(1, 2));
        for (at, rate, target) in
            [(404, 0.375, 0.5), (704, 0.4376, 0.5002), (1004, 0.4699, 0.5022), (1304, 0.48705, 0.5042)]
        {
            assert_eq!(flow.deadline(), us(at));
            flow.on_timer(&Setup::new(params, PATH), us(at));
            close(flow.target, target);
            close(flow.rate, rate);
        }
        // After an increase a cut sets the target to the rate.
        flow.on_ack(&Setup::new(params, PATH), &Ack { now: us(1305), ..marked }, &IntStack::EMPTY);
        flow.on_timer(&Setup::new(params, PATH), us(1308));
        close(flow.target, 0.487_05);
        assert_eq!(flow.by_time, 0);
    }
}
