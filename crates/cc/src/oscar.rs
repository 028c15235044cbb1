//! OSCAR (Zhang et al., "OSCAR: O(1)-Step Convergence And Readily-deployable Congestion Control",
//! NSDI 2026), Algorithms 1 and 2.
//!
//! A batch of acknowledgements says what delay and delay gradient its packets met, and how many
//! bytes were in flight and how fast they were sent then. Delay measures the total window, the
//! gradient measures the total rate; each gives a multiplicative step from the state that caused it.
//! Below the target delay the larger of both steps counts, above it the smaller. One ratio `u` sets
//! both window and rate.
//!
//! Where the paper leaves something open or its letter cannot be meant:
//! * Algorithm 2 line 12 prints `max(u·D_target·µ, BDP_base)`; the text beside it ("does not set the
//!   window above the base BDP") and the public artifact take the **minimum**. So do we.
//! * Line 4 compares with RTT_base; section 4.2 adds an ε without a value. See `epsilon`.
//! * A gradient below −1 counts as −1 and gives the largest rate step: `1 + g` is the arrival rate,
//!   which cannot be negative.
//! * `u` is at most 1, which nothing sees: beyond it window and rate are at their largest already.
//! * Batches that closed before are not repaired when packets arrive out of order; a packet sent
//!   before the batch's start joins it at a negative time.
//! * Losses are left to the transport (Appendix A.1).
//!
//! Rules that only the public artifact has are options, off in the preset `paper`: the end of the
//! rate loop in wide batches (`wide_batch`), the steepest fall that counts (`steepest_fall`), the
//! smallest `u` (`floor`), the dead band, batches that start with the next packet.

use incast_units::{Bytes, Rate, Time};

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Overhead, Parameters, Path, Setup, Signals,
};
use crate::estimator::{BatchRules, BatchedEstimator, Estimate, Sample};
use crate::params::{Described, Family, Param, Preset, Value, param};

/// Parameters of [`Oscar`].
///
/// Where a length of time has two parameters, one relative to the base RTT and one absolute, it is
/// their **sum**.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct OscarParams {
    /// The part of the target delay D_target that is a multiple of the base RTT.
    pub target: Fixed,
    /// The part of the target delay that is a queue, drained at the line rate.
    pub target_queue: Bytes,
    /// The part of the period τ that is a multiple of the base RTT.
    pub tau: Fixed,
    /// The part of the period τ that is absolute.
    pub tau_time: Time,
    /// Hyper increase U_HAI, as a ratio to the line rate.
    pub u_hai: Fixed,
    /// Additive increase U_AI, as a ratio to the line rate.
    pub u_ai: Fixed,
    /// The part of ε that is a multiple of the base RTT.
    pub epsilon: Fixed,
    /// The part of ε that is absolute.
    pub epsilon_time: Time,
    /// How far below the target delay the accelerating branch ends.
    pub dead_band: Time,
    /// A batch that spans more periods than this carries no rate and no gradient; zero for no limit.
    pub wide_batch: Fixed,
    /// The gradient counts as at least minus this.
    pub steepest_fall: Fixed,
    /// Smallest `u`.
    pub floor: Fixed,
    /// Whether a batch starts with the next acknowledged packet instead of the closing one.
    pub start_with_next: bool,
    /// Whether the delay is one-way delay plus the base delay of the way back, instead of RTT.
    pub one_way_delay: bool,
    /// Whether only three acknowledgements of a batch feed the gradient.
    pub three_points: bool,
    /// Whether acknowledgements are batched at all.
    pub batched: bool,
}

impl OscarParams {
    fn paper() -> Self {
        Self {
            target: Fixed::ratio(3, 2),
            target_queue: Bytes::ZERO,
            tau: Fixed::ratio(1, 2),
            tau_time: Time::ZERO,
            u_hai: Fixed::ratio(1, 100),
            u_ai: Fixed::ratio(1, 1000),
            epsilon: Fixed::ratio(8, 100),
            epsilon_time: Time::ZERO,
            dead_band: Time::ZERO,
            wide_batch: Fixed::ZERO,
            steepest_fall: Fixed::ONE,
            floor: Fixed::ZERO,
            start_with_next: false,
            one_way_delay: false,
            three_points: false,
            batched: true,
        }
    }

    fn artifact() -> Self {
        Self {
            target: Fixed::ONE,
            target_queue: Bytes::new(75_000),
            tau: Fixed::ZERO,
            tau_time: Time::from_us(5),
            epsilon: Fixed::ZERO,
            epsilon_time: Time::from_us(1),
            dead_band: Time::from_ns(500),
            wide_batch: Fixed::whole(3),
            steepest_fall: Fixed::ratio(9, 10),
            floor: Fixed::ratio(1, 1000),
            start_with_next: true,
            ..Self::paper()
        }
    }

    fn artifact_hai() -> Self {
        Self { u_hai: Fixed::ratio(1, 4), ..Self::artifact() }
    }

    fn owd() -> Self {
        Self { one_way_delay: true, ..Self::paper() }
    }

    fn ackc() -> Self {
        Self { three_points: true, ..Self::paper() }
    }

    fn unbatched() -> Self {
        Self { batched: false, ..Self::paper() }
    }

    /// D_target on this path.
    #[must_use]
    pub fn target_delay(&self, path: &Path) -> Time {
        share(self.target, path.base_rtt) + path.line_rate.time_for(self.target_queue)
    }

    /// τ on this path.
    #[must_use]
    pub fn period(&self, path: &Path) -> Time {
        share(self.tau, path.base_rtt) + self.tau_time
    }
}

impl Default for OscarParams {
    fn default() -> Self {
        Self::paper()
    }
}

fn share(ratio: Fixed, time: Time) -> Time {
    Time::from_ps(ratio.scale(time.ps()))
}

/// What OSCAR derives once from its parameters and a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct OscarDerived {
    /// D_target.
    pub target_delay: Time,
    /// A delay up to this means an empty queue: RTT_base + ε (Algorithm 2 line 4).
    pub empty: Time,
    /// A batch that spans more than this carries no rate and no gradient.
    pub widest: Time,
    /// Time for a byte at the line rate where that is whole picoseconds, to multiply instead of divide; else zero.
    pub byte: Time,
    /// How the estimator works.
    pub rules: BatchRules,
}

impl OscarDerived {
    /// How long the line takes for this.
    fn line_time(&self, path: &Path, bytes: Bytes) -> Time {
        if self.byte == Time::ZERO { path.line_rate.time_for(bytes) } else { self.byte.times(bytes.get()) }
    }
}

impl Parameters for OscarParams {
    type Derived = OscarDerived;

    fn derive(&self, path: &Path) -> OscarDerived {
        let period = self.period(path);
        OscarDerived {
            target_delay: self.target_delay(path),
            empty: path.base_rtt + share(self.epsilon, path.base_rtt) + self.epsilon_time,
            widest: share(self.wide_batch, period),
            byte: Time::from_ps(path.line_rate.whole_ps_per_byte().unwrap_or(0)),
            rules: BatchRules {
                period,
                base_delay: path.base_rtt,
                start_with_next: self.start_with_next,
                three_points: self.three_points,
            },
        }
    }
}

impl Described for OscarParams {
    const NAME: &'static str = "oscar";
    const TITLE: &'static str = "OSCAR";
    const SUMMARY: &'static str =
        "multiplicative steps from batched delay and delay gradient to a target delay";
    const FAMILY: Family = Family::Delay;
    const NEEDS: &'static str = "send times echoed in acknowledgements: software on DPDK, or timestamps of network cards (2015); nothing from switches";
    const PRESETS: &'static [Preset<Self>] = &[
        Preset { name: "paper", meaning: "OSCAR, NSDI'26, section 4.4", params: Self::paper },
        Preset {
            name: "artifact",
            meaning: "the public artifact: target base RTT plus 75KB of queue, batches of 5us; its figures set u_ai themselves",
            params: Self::artifact,
        },
        Preset {
            name: "owd",
            meaning: "OSCAR-OWD, Appendix C.6: one-way delay instead of RTT",
            params: Self::owd,
        },
        Preset {
            name: "ackc",
            meaning: "OSCAR-ACKC, Appendices A.1, C.5: the gradient from three acknowledgements a batch",
            params: Self::ackc,
        },
        Preset {
            name: "unbatched",
            meaning: "OSCAR (w/o BE) of Table 2, without batched estimator: an update with every acknowledgement",
            params: Self::unbatched,
        },
        Preset {
            name: "artifact-hai",
            meaning: "the public artifact with the hyper increase of its class, which its shipped files override",
            params: Self::artifact_hai,
        },
    ];
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Ratio "target",
            target,
            Fixed::ONE,
            Fixed::whole(100),
            "target delay as a multiple of the base RTT, to which target_queue is added",
            "OSCAR section 4.4: 1.5; its public artifact: 1"
        ),
        param!(
            Bytes "target_queue",
            target_queue,
            Bytes::ZERO,
            Bytes::new(1_000_000_000),
            "added to the target delay: the time in which the line drains this queue",
            "OSCAR's public artifact: 75KB"
        ),
        param!(
            Ratio "tau",
            tau,
            Fixed::ZERO,
            Fixed::whole(4),
            "period of the batched estimator as a multiple of the base RTT, to which tau_time is added",
            "OSCAR section 4.1.1: 0.5; its public artifact: 0"
        ),
        param!(
            Time "tau_time",
            tau_time,
            Time::ZERO,
            Time::from_ms(10),
            "added to the period of the batched estimator",
            "OSCAR's public artifact: 5us"
        ),
        param!(
            Ratio "u_hai",
            u_hai,
            Fixed::ZERO,
            Fixed::ONE,
            "hyper increase of a batch that met no queue, as a ratio to the line rate",
            "OSCAR section 4.4: 0.01; default of its public artifact's class: 0.25"
        ),
        param!(
            Ratio "u_ai",
            u_ai,
            Fixed::ZERO,
            Fixed::ONE,
            "additive increase after each multiplicative step, as a ratio to the line rate",
            "OSCAR section 4.4: 0.001; Figure 9 in its public artifact: 0.0012"
        ),
        param!(
            Ratio "epsilon",
            epsilon,
            Fixed::ZERO,
            Fixed::whole(10),
            "a delay up to base RTT plus this multiple of it (plus epsilon_time) means an empty queue",
            "OSCAR section 4.2 without a value; 0.08 is the public artifact's 1us at 12us"
        ),
        param!(
            Time "epsilon_time",
            epsilon_time,
            Time::ZERO,
            Time::from_ms(10),
            "added to the delay up to which the queue counts as empty",
            "OSCAR's public artifact: 1us"
        ),
        param!(
            Time "dead_band",
            dead_band,
            Time::ZERO,
            Time::from_ms(10),
            "how far below the target delay the flow stops taking the larger step",
            "OSCAR Algorithm 2 line 9: none; its public artifact: 0.5us"
        ),
        param!(
            Ratio "wide_batch",
            wide_batch,
            Fixed::ZERO,
            Fixed::whole(1000),
            "batches spanning more periods than this (an idle flow) move by the window loop alone; 0: none",
            "OSCAR Algorithm 2: none; its public artifact: 3"
        ),
        param!(
            Ratio "steepest_fall",
            steepest_fall,
            Fixed::ZERO,
            Fixed::ONE,
            "the gradient counts as at least minus this",
            "OSCAR Algorithm 2 states none, 1 is the physical limit; its public artifact: 0.9"
        ),
        param!(
            Ratio "floor",
            floor,
            Fixed::ZERO,
            Fixed::ONE,
            "smallest ratio of window and rate",
            "OSCAR states none (an update adds u_ai or u_hai); its public artifact: 0.001"
        ),
        param!(
            Flag "start_with_next",
            start_with_next,
            "whether a batch starts with the next acknowledged packet, not the one that closed the last, and closes only beyond its period",
            "OSCAR Algorithm 1 line 12: false; its public artifact: true"
        ),
        param!(
            Flag "one_way_delay",
            one_way_delay,
            "whether to use one-way delay, plus the base delay of the way back, as the delay",
            "OSCAR Appendix A.2: OSCAR-OWD"
        ),
        param!(
            Flag "three_points",
            three_points,
            "whether only the first, middle and last acknowledgement of a batch feed the gradient",
            "OSCAR Appendix A.1: OSCAR-ACKC"
        ),
        param!(
            Flag "batched",
            batched,
            "whether to batch; if not, every acknowledgement is an update with the difference quotient",
            "OSCAR Table 2: without BE"
        ),
    ];
}

/// The state of one flow. Size: 104 bytes.
///
/// The paper counts seven variables in 36 bytes: two of 8 bytes and five of 4. Ours are all of 8
/// bytes, because a tick is finer than the paper's nanosecond and inflight sums of a 1.6 Tbps flow do
/// not fit in 4; and there are six more: the sum of delays apart from that of the gradient (which
/// OSCAR-ACKC feeds separately), its number of points, the length of a tick, `u`, which the
/// paper's count leaves to the transport, and the window and the rate that follow from it, which change
/// with a batch and are asked for with every packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Oscar {
    estimator: BatchedEstimator,
    u: Fixed,
    allowance: Allowance,
}

impl Oscar {
    /// The unified ratio `u` of window and rate.
    #[must_use]
    pub const fn ratio(&self) -> Fixed {
        self.u
    }

    /// Algorithm 2, lines 4 to 11.
    fn update(&mut self, setup: &Setup<OscarParams>, estimate: &Estimate) {
        let Setup { params, derived, .. } = setup;
        let u = if estimate.delay <= derived.empty {
            self.u + params.u_hai
        } else {
            let u_w = window_ratio(setup, estimate);
            let idle = params.wide_batch > Fixed::ZERO && estimate.span > derived.widest;
            let u_r = if estimate.span == Time::ZERO || idle { u_w } else { rate_ratio(setup, estimate) };
            let multiplied = if estimate.delay + params.dead_band < derived.target_delay {
                u_w.max(u_r)
            } else {
                u_w.min(u_r)
            };
            multiplied + params.u_ai
        };
        self.u = u.clamp_to(params.floor, Fixed::ONE);
        self.allowance = allowance(setup, self.u);
    }
}

/// Algorithm 2, lines 12 and 13.
fn allowance(setup: &Setup<OscarParams>, u: Fixed) -> Allowance {
    let Setup { path, bdp, derived, .. } = setup;
    let window = path.line_rate.bytes_in(share(u, derived.target_delay)).min(*bdp);
    Allowance {
        window: window.max(Bytes::new(1)),
        rate: Rate::from_bps(u.scale(path.line_rate.bps()).max(1)),
    }
}

/// u_w = inflight / (delay · µ) (Algorithm 2 line 7), as the time that the line needs for the
/// inflight over the delay.
fn window_ratio(setup: &Setup<OscarParams>, estimate: &Estimate) -> Fixed {
    let inflight = setup.derived.line_time(&setup.path, estimate.inflight_sum);
    Fixed::ratio(inflight.ps(), estimate.delay.times(estimate.packets).ps())
}

/// u_r = rate / ((1 + gradient) · µ) (Algorithm 2 line 8), as the time that the line needs for the
/// batch over the time in which it was sent.
fn rate_ratio(setup: &Setup<OscarParams>, estimate: &Estimate) -> Fixed {
    let Setup { params, path, derived, .. } = setup;
    let batch = derived.line_time(path, path.packet.times(estimate.packets));
    let gradient = estimate.gradient.max(-params.steepest_fall);
    Fixed::ratio(batch.ps(), estimate.span.ps()) / (Fixed::ONE + gradient)
}

impl CongestionControl for Oscar {
    type Params = OscarParams;

    fn signals(params: &OscarParams) -> Signals {
        if params.one_way_delay { Signals::ONE_WAY_DELAY } else { Signals::NONE }
    }

    /// 4 B of send time and 2 B of inflight, echoed (section 4.1); the receive time that OSCAR-OWD
    /// needs takes 4 B more in the acknowledgement (public artifact).
    fn overhead(params: &OscarParams) -> Overhead {
        Overhead { data: 6, ack: if params.one_way_delay { 10 } else { 6 } }
    }

    fn new(setup: &Setup<OscarParams>, now: Time) -> Self {
        Self {
            estimator: BatchedEstimator::new(&setup.path, setup.derived.rules.period, now),
            u: Fixed::ONE,
            allowance: allowance(setup, Fixed::ONE),
        }
    }

    fn on_ack(&mut self, setup: &Setup<OscarParams>, ack: &Ack, _int: &IntStack) {
        let Setup { params, path, derived, .. } = setup;
        let delay =
            if params.one_way_delay { ack.owd() + (path.base_rtt - path.base_owd) } else { ack.rtt() };
        let sample = Sample { sent: ack.sent, delay, packets: ack.packets, inflight: ack.inflight };
        let estimate = if params.batched {
            self.estimator.add(&sample, &derived.rules)
        } else {
            self.estimator.add_alone(&sample)
        };
        if let Some(estimate) = estimate {
            self.update(setup, &estimate);
        }
    }

    fn allowance(&self, _setup: &Setup<OscarParams>) -> Allowance {
        self.allowance
    }

    const INTERNALS: &'static [Internal] =
        &[Internal { name: "u", meaning: "unified ratio u of window and rate (Algorithm 2)" }];

    fn probe(&self, _setup: &Setup<OscarParams>, place: usize) -> Option<Value> {
        (place == 0).then_some(Value::Ratio(self.u))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::IntStack;

    /// 100 Gbps, base RTT 12 µs of which 7 µs forward, 1000 B packets: base BDP 150 KB.
    const PATH: Path = Path {
        base_rtt: Time::from_us(12),
        base_owd: Time::from_us(7),
        line_rate: Rate::from_gbps(100),
        packet: Bytes::new(1000),
        payload: Bytes::new(940),
        hops: 2,
    };

    fn ack(sent: Time, rtt: Time, inflight: u64) -> Ack {
        Ack {
            now: sent + rtt,
            sent,
            received: sent + rtt - Time::from_us(5),
            held: Time::ZERO,
            packet: 0,
            acked: Bytes::new(1000),
            sequence: 0,
            next_sequence: 0,
            inflight: Bytes::new(inflight),
            inflight_now: Bytes::new(inflight),
            packets: 1,
            marked: 0,
            hop_delay: Time::ZERO,
            receiver_flows: 0,
            tag: 0,
            delayed_run: 0,
            hole: false,
            circuit: false,
        }
    }

    /// Sends packets `gap_ns` apart from time zero until a batch closes, with a delay of `rtt_ns` at
    /// time zero that changes by `slope` in 1000 and a constant inflight.
    fn batch(params: &OscarParams, gap_ns: u64, rtt_ns: u64, slope: i64, inflight: u64) -> Oscar {
        let mut flow = Oscar::new(&Setup::new(*params, PATH), Time::ZERO);
        let mut sent = 0;
        while sent * 1000 < params.period(&PATH).ps() {
            sent += gap_ns;
            let rtt = rtt_ns.wrapping_add_signed(sent as i64 * slope / 1000);
            let ack = ack(Time::from_ns(sent), Time::from_ns(rtt), inflight);
            flow.on_ack(&Setup::new(*params, PATH), &ack, &IntStack::EMPTY);
        }
        flow
    }

    fn is_near(u: Fixed, expected: f64) -> bool {
        (u.bits() as f64 / 4_294_967_296.0 - expected).abs() < 1e-4 * expected
    }

    #[test]
    fn state_is_as_large_as_documented() {
        assert_eq!(size_of::<Oscar>(), 104);
    }

    #[test]
    fn starts_at_line_rate_with_one_base_bdp() {
        let params = OscarParams::default();
        let allowance =
            Oscar::new(&Setup::new(params, PATH), Time::ZERO).allowance(&Setup::new(params, PATH));
        // Line 12 with the minimum: min(1 · 18 µs · 100 Gbps = 225 KB, 150 KB).
        assert_eq!(allowance, Allowance { window: Bytes::new(150_000), rate: PATH.line_rate });
    }

    #[test]
    fn window_loop_decelerates() {
        // Delay 36 µs, constant: above the target of 18 µs, so the smaller step. 150 KB are 12 µs of
        // the line: u_w = 12/36 = 1/3. Packets of 80 ns every 100 ns: u_r = 0.8/(1 + 0) = 0.8.
        // Line 10: min = 1/3; line 11: + 0.001.
        let params = OscarParams::default();
        let flow = batch(&params, 100, 36_000, 0, 150_000);
        assert!(is_near(flow.u, 1.0 / 3.0 + 0.001), "{}", flow.u);
        // Lines 12, 13: w = 0.334333 · 225 KB = 75 225 B, r = 33.4333 Gbps.
        let allowance = flow.allowance(&Setup::new(params, PATH));
        assert!(allowance.window.get().abs_diff(75_225) < 10, "{allowance:?}");
        assert!(allowance.rate.bps().abs_diff(33_433_333_333) < 4_000_000, "{allowance:?}");
    }

    #[test]
    fn rate_loop_decelerates_faster_while_the_queue_grows() {
        // Ten flows at line rate: the delay grows 9 in 1. Packets every 80 ns, u_r = 1/(1 + 9) = 0.1.
        // 75 packets make the 6 µs batch, their mean send time is 38 · 80 ns = 3.04 µs, their mean
        // delay 18 + 9 · 3.04 = 45.36 µs: u_w = 12/45.36 = 0.26455. min = 0.1, + 0.001.
        let flow = batch(&OscarParams::default(), 80, 18_000, 9000, 150_000);
        assert!(is_near(flow.u, 0.101), "{}", flow.u);
    }

    #[test]
    fn takes_the_larger_step_below_the_target() {
        // Delay falls from 17 µs by 0.5 in 1, sent at 8 ns of line time every 40 ns (1000 B in
        // 400 ns): 15 packets, mean send time 8 · 400 ns = 3.2 µs, mean delay 15.4 µs. Between
        // empty (12.96) and target (18). u_w = (30 KB: 2.4)/15.4 = 0.15584; u_r = 0.2/0.5 = 0.4.
        // Line 9: max = 0.4, + 0.001.
        let flow = batch(&OscarParams::default(), 400, 17_000, -500, 30_000);
        assert!(is_near(flow.u, 0.401), "{}", flow.u);
    }

    #[test]
    fn the_steepest_fall_that_counts_is_an_option() {
        // Falling 0.95 in 1 from 20 µs, 1000 B in 2 µs: 3 packets, mean send time 4 µs, mean delay
        // 16.2 µs, u_w = (1000 B: 0.08)/16.2 = 0.005; u_r = 0.04/(1 − 0.95) = 0.8, + 0.001. Limited to
        // −0.9, as in the artifact: 0.04/(1 − 0.9) = 0.4.
        let paper = OscarParams::default();
        let flow = batch(&paper, 2000, 20_000, -950, 1000);
        assert!(is_near(flow.u, 0.801), "{}", flow.u);
        let limited = OscarParams { steepest_fall: OscarParams::artifact().steepest_fall, ..paper };
        let flow = batch(&limited, 2000, 20_000, -950, 1000);
        assert!(is_near(flow.u, 0.401), "{}", flow.u);
        // Falling faster than time passes: nothing arrived at the bottleneck, the largest step.
        let flow = batch(&paper, 2000, 20_000, -1050, 1000);
        assert_eq!(flow.u, Fixed::ONE);
    }

    #[test]
    fn hyper_increase_on_an_empty_queue() {
        // 12.9 µs is within 12 · 1.08 = 12.96 µs: u + 0.01, without line 11's term.
        let params = OscarParams::default();
        let mut flow = batch(&params, 100, 36_000, 0, 150_000);
        let before = flow.u;
        for i in 1..=60 {
            let ack = ack(Time::from_ns(6_000 + 100 * i), Time::from_ns(12_900), 50_000);
            flow.on_ack(&Setup::new(params, PATH), &ack, &IntStack::EMPTY);
        }
        assert_eq!(flow.u, before + params.u_hai);
        // Line 4 of the paper with equality, at ε = 0.
        let exact = OscarParams { epsilon: Fixed::ZERO, ..params };
        let flow = batch(&exact, 100, 12_000, 0, 50_000);
        assert_eq!(flow.u, Fixed::ONE); // capped
    }

    /// Three packets, the first sent at `first_us` and the others as far apart, with the given delays.
    fn three(params: &OscarParams, first_us: u64, delays_ns: [u64; 3]) -> Oscar {
        let mut flow = Oscar::new(&Setup::new(*params, PATH), Time::ZERO);
        for (i, rtt) in (1..).zip(delays_ns) {
            let ack = ack(Time::from_us(first_us * i), Time::from_ns(rtt), 150_000);
            flow.on_ack(&Setup::new(*params, PATH), &ack, &IntStack::EMPTY);
        }
        flow
    }

    #[test]
    fn a_wide_batch_may_move_by_the_window_loop_alone() {
        // Three packets 7 µs apart span 21 µs > 3 · 6 µs. Above the target the smaller step counts.
        // Delay 36 µs: u_w = 12/36; the rate of three packets in 21 µs is u_r = 0.24/21 = 0.0114.
        // The listing has no exception for it, the artifact has.
        let paper = OscarParams::default();
        let flow = three(&paper, 7, [36_000; 3]);
        assert!(is_near(flow.u, 0.24 / 21.0 + 0.001), "{}", flow.u);
        let guarded = OscarParams { wide_batch: Fixed::whole(3), ..paper };
        let flow = three(&guarded, 7, [36_000; 3]);
        assert!(is_near(flow.u, 1.0 / 3.0 + 0.001), "{}", flow.u);
        // Delay falling by 0.2 in 1 to a mean of 16 µs, below the target, where the larger counts:
        // u_w = 12/16 = 0.75, with and without.
        for params in [paper, guarded] {
            let flow = three(&params, 7, [17_400, 16_000, 14_600]);
            assert!(is_near(flow.u, 0.751), "{}", flow.u);
        }
        // So does a batch that spans more than one period, where one is the limit.
        let narrow = OscarParams { wide_batch: Fixed::ONE, ..paper };
        let flow = three(&narrow, 7, [36_000; 3]);
        assert!(is_near(flow.u, 1.0 / 3.0 + 0.001), "{}", flow.u);
        // Six µs apart they span three periods, not more: no exception.
        let flow = three(&guarded, 6, [36_000; 3]);
        assert!(is_near(flow.u, 0.24 / 18.0 + 0.001), "{}", flow.u);
    }

    #[test]
    fn the_gradient_of_a_wide_batch_is_right() {
        // Three packets 100 µs apart (80 ns of line each), delays rising by 0.1 in 1 to 40, 50 and
        // 60 µs: u_r = (0.24/300)/1.1 = 0.000727, u_w = 12/50. In ticks of 16 ps the last packet lies
        // 18.75 million from the start, fifty periods.
        let flow = three(&OscarParams::default(), 100, [40_000, 50_000, 60_000]);
        assert!(is_near(flow.u, 0.24 / 300.0 / 1.1 + 0.001), "{}", flow.u);
    }

    #[test]
    fn ratio_stays_between_floor_and_one() {
        // 1 s of delay: u_w = 8.48e-8, floor 0.001.
        let floor = OscarParams::artifact().floor;
        let params = OscarParams { u_ai: Fixed::ZERO, floor, ..OscarParams::default() };
        let flow = batch(&params, 1000, 1_000_000_000, 0, 1060);
        assert_eq!(flow.u, floor);
        let allowance = flow.allowance(&Setup::new(params, PATH));
        // 0.001 · 225 KB = 225 B (the floor is rounded to 2^-32, so a byte less), 100 Mbps.
        assert!(allowance.window.get().abs_diff(225) <= 1);
        assert!(allowance.rate.bps().abs_diff(100_000_000) < 100);
        // Without a floor, as in the paper, what is left is U_AI, and something may always be sent.
        let flow = batch(&OscarParams::default(), 1000, 1_000_000_000, 0, 1060);
        assert!(is_near(flow.u, 0.001_000_085), "{}", flow.u);
        let none = OscarParams { floor: Fixed::ZERO, ..params };
        let flow = batch(&none, 1000, 4_000_000_000_000, 0, 1);
        assert_eq!(flow.u, Fixed::ZERO);
        let least = Allowance { window: Bytes::new(1), rate: Rate::from_bps(1) };
        assert_eq!(flow.allowance(&Setup::new(none, PATH)), least);
        // 1.5 MB in flight at 13 µs: u_w = 120/13, capped.
        assert_eq!(batch(&params, 1000, 13_000, 0, 1_500_000).u, Fixed::ONE);
    }

    #[test]
    fn artifact_target_is_a_queue() {
        // Base RTT + 75 KB / 100 Gbps = 12 + 6 µs, whatever the RTT; τ = 5 µs.
        let params = OscarParams::artifact();
        assert_eq!(params.target_delay(&PATH), Time::from_us(18));
        assert_eq!(params.period(&PATH), Time::from_us(5));
        let near = Path { base_rtt: Time::from_us(4), ..PATH };
        assert_eq!(params.target_delay(&near), Time::from_us(10));
        assert_eq!(params.period(&near), Time::from_us(5));
    }

    #[test]
    fn the_hyper_increase_of_the_artifacts_class_takes_four_batches() {
        // Three packets at the base RTT, sent over 6 us, three times: u from 0.1 to 0.1 + 3 · 0.25, then to 1; with
        // the files' 0.01 to 0.14.
        for (params, ends) in [
            (OscarParams::artifact_hai(), [0.35, 0.6, 0.85, 1.0]),
            (OscarParams::artifact(), [0.11, 0.12, 0.13, 0.14]),
        ] {
            let setup = Setup::new(params, PATH);
            let mut flow = Oscar { u: Fixed::ratio(1, 10), ..Oscar::new(&setup, Time::ZERO) };
            for (batch, end) in (0..).zip(ends) {
                for packet in 0..3 {
                    let sent = Time::from_us(100 + 9 * batch + 3 * packet);
                    flow.on_ack(&setup, &ack(sent, PATH.base_rtt, 1000), &IntStack::EMPTY);
                }
                assert!(is_near(flow.u, end), "batch {batch}: {}", flow.u);
            }
        }
    }

    #[test]
    fn dead_band_ends_the_accelerating_branch_early() {
        // Delay 17.7 µs lies within 0.5 µs of the target of 18 µs: the paper takes the larger step,
        // u_r = 0.8, the dead band the smaller, u_w = (75 KB: 6)/17.7 = 0.33898.
        let paper = OscarParams::default();
        assert!(is_near(batch(&paper, 100, 17_700, 0, 75_000).u, 0.801));
        let band = OscarParams { dead_band: Time::from_ns(500), ..paper };
        assert!(is_near(batch(&band, 100, 17_700, 0, 75_000).u, 6.0 / 17.7 + 0.001));
        // A delay at the target is not below it (line 9): the smaller step, 6/18. So is one that the
        // dead band just reaches.
        assert!(is_near(batch(&paper, 100, 18_000, 0, 75_000).u, 6.0 / 18.0 + 0.001));
        assert!(is_near(batch(&band, 100, 17_500, 0, 75_000).u, 6.0 / 17.5 + 0.001));
    }

    #[test]
    fn both_parts_of_the_tolerance_count_as_an_empty_queue() {
        // ε = 12 µs/16 + 0.5 µs: a delay of 13.25 µs is an empty queue, u = 1/3 + 0.001 grows by
        // U_HAI; one of 13.26 µs is none: u_w = (75 KB: 6)/13.26, u_r = 0.8, the larger, + U_AI.
        let params = OscarParams {
            epsilon: Fixed::ratio(1, 16),
            epsilon_time: Time::from_ns(500),
            ..OscarParams::default()
        };
        for (delay, next) in [(13_250, 1.0 / 3.0 + 0.011), (13_260, 0.801)] {
            let mut flow = batch(&params, 100, 36_000, 0, 150_000);
            for i in 1..=60 {
                let ack = ack(Time::from_ns(6_000 + 100 * i), Time::from_ns(delay), 75_000);
                flow.on_ack(&Setup::new(params, PATH), &ack, &IntStack::EMPTY);
            }
            assert!(is_near(flow.u, next), "{delay}: {}", flow.u);
        }
    }

    #[test]
    fn one_way_delay_ignores_the_way_back() {
        // The way back takes 5 µs without queues (12 − 7) and 15 µs now. RTT 46, one-way delay 31 µs:
        // u_w = 12/(31 + 5) instead of 12/46.
        let owd = OscarParams::owd();
        for (params, delay) in [(owd, 36.0), (OscarParams::paper(), 46.0)] {
            let mut flow = Oscar::new(&Setup::new(params, PATH), Time::ZERO);
            for i in 1..=60 {
                let ack = Ack {
                    received: Time::from_ns(100 * i) + Time::from_us(31),
                    ..ack(Time::from_ns(100 * i), Time::from_us(46), 150_000)
                };
                flow.on_ack(&Setup::new(params, PATH), &ack, &IntStack::EMPTY);
            }
            assert!(is_near(flow.u, 12.0 / delay + 0.001), "{}", flow.u);
        }
        assert_eq!(Oscar::signals(&owd), Signals::ONE_WAY_DELAY);
        assert_eq!(Oscar::overhead(&owd), Overhead { data: 6, ack: 10 });
        assert_eq!(Oscar::overhead(&OscarParams::paper()), Overhead { data: 6, ack: 6 });
    }

    #[test]
    fn coalesced_acknowledgements_count_for_all_their_packets() {
        // Six acknowledgements, 1 µs apart, each for 10 packets of 1000 B: u_r = 60 · 80 ns / 6 µs =
        // 0.8; u_w = (75 KB: 6)/16 = 0.375. Below the target: 0.8 + 0.001.
        let params = OscarParams::ackc();
        let mut flow = Oscar::new(&Setup::new(params, PATH), Time::ZERO);
        for i in 1..=6 {
            let ack = Ack { packets: 10, ..ack(Time::from_us(i), Time::from_us(16), 75_000) };
            flow.on_ack(&Setup::new(params, PATH), &ack, &IntStack::EMPTY);
        }
        assert!(is_near(flow.u, 0.801), "{}", flow.u);
    }

    #[test]
    fn unbatched_updates_with_every_acknowledgement() {
        // The second packet, 100 ns later, met 20 ns more: gradient 0.2, u_r = 0.8/1.2 = 2/3.
        // Delay 36 µs: u_w = 12/36.02 = 0.33315 is the smaller.
        let params = OscarParams::unbatched();
        let mut flow = Oscar::new(&Setup::new(params, PATH), Time::ZERO);
        flow.on_ack(
            &Setup::new(params, PATH),
            &ack(Time::from_ns(100), Time::from_ns(36_000), 150_000),
            &IntStack::EMPTY,
        );
        assert_eq!(flow.u, Fixed::ONE);
        flow.on_ack(
            &Setup::new(params, PATH),
            &ack(Time::from_ns(200), Time::from_ns(36_020), 150_000),
            &IntStack::EMPTY,
        );
        assert!(is_near(flow.u, 12.0 / 36.02 + 0.001), "{}", flow.u);
        // 100 ns later again, 16 µs (below the target), 20 ns less than its predecessor at 16.02.
        flow.on_ack(
            &Setup::new(params, PATH),
            &ack(Time::from_ns(300), Time::from_ns(16_020), 30_000),
            &IntStack::EMPTY,
        );
        flow.on_ack(
            &Setup::new(params, PATH),
            &ack(Time::from_ns(400), Time::from_ns(16_000), 30_000),
            &IntStack::EMPTY,
        );
        // u_w = 2.4/16 = 0.15, u_r = 0.8/0.8 = 1: the larger, capped at 1.
        assert_eq!(flow.u, Fixed::ONE);
        // Sent at the same time: there is no rate, and the window loop alone counts.
        flow.on_ack(
            &Setup::new(params, PATH),
            &ack(Time::from_ns(400), Time::from_ns(16_000), 30_000),
            &IntStack::EMPTY,
        );
        assert!(is_near(flow.u, 0.151), "{}", flow.u);
    }
}
