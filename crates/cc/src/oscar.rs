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
//! A flow's own base RTT is a part of the paper's target: where flows share a queue, the ones with the shortest paths yield
//! to the others. The default, `fair`, is an extension of ours that aims at one queueing delay on every path.
//!
//! Rules that only the public artifact has are options, off in the presets `fair` and `paper`: the end of the
//! rate loop in wide batches (`wide_batch`), the steepest fall that counts (`steepest_fall`), the
//! smallest `u` (`floor`), the dead band, batches that start with the next packet.

use incast_units::{Bytes, Rate, Time};

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Overhead, Path, Setup, Signals, derived,
};
use crate::estimator::{BatchRules, BatchedEstimator, Estimate, Sample};
use crate::params::{About, Described, Family, Kernel, Param, Value, param, presets};
use crate::relative::relate;

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
    /// The part of the target delay that is absolute.
    pub target_time: Time,
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
    /// Distance below the target delay at which the accelerating branch ends.
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
    /// D_target on this path.
    #[must_use]
    pub fn target_delay(&self, path: &Path) -> Time {
        share(self.target, path.base_rtt) + path.line_rate.time_for(self.target_queue) + self.target_time
    }

    /// τ on this path.
    #[must_use]
    pub fn period(&self, path: &Path) -> Time {
        share(self.tau, path.base_rtt) + self.tau_time
    }
}

presets! {
    impl OscarParams {
        "fair": "ours: the paper's law with a target of the base RTT plus 7us of queue, the same for all flows",
        /// Returns the parameters of `fair`.
        pub fn fair() -> Self {
            Self { target: Fixed::ONE, target_time: Time::from_us(7), ..Self::paper() }
        }

        "paper": "OSCAR, NSDI'26, section 4.4",
        /// Returns the parameters of the paper.
        pub fn paper() -> Self {
            Self {
                target: Fixed::ratio(3, 2),
                target_queue: Bytes::ZERO,
                target_time: Time::ZERO,
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

        "artifact": "the public artifact: target base RTT plus 75KB of queue, batches of 5us; its figures set u_ai themselves",
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

        "owd": "OSCAR-OWD, Appendix C.6: one-way delay instead of RTT",
        fn owd() -> Self {
            Self { one_way_delay: true, ..Self::paper() }
        }

        "ackc": "OSCAR-ACKC, Appendices A.1, C.5: the gradient from three acknowledgements a batch",
        fn ackc() -> Self {
            Self { three_points: true, ..Self::paper() }
        }

        "unbatched": "ours: without the batched estimator, an update with every acknowledgement",
        fn unbatched() -> Self {
            Self { batched: false, ..Self::paper() }
        }

        "artifact-hai": "the public artifact with the hyper increase of its class, which its shipped files override",
        fn artifact_hai() -> Self {
            Self { u_hai: Fixed::ratio(1, 4), ..Self::artifact() }
        }
    }
}

fn share(ratio: Fixed, time: Time) -> Time {
    Time::from_ps(ratio.scale(time.ps()))
}

derived! {
    /// Quantities that OSCAR derives once from its parameters and a path.
    pub struct OscarDerived of OscarParams, |params, path|
    let period = params.period(path);
    {
        /// D_target.
        pub target_delay: Time = params.target_delay(path),
        /// A delay up to this means an empty queue: RTT_base + ε (Algorithm 2 line 4).
        pub empty: Time = path.base_rtt + share(params.epsilon, path.base_rtt) + params.epsilon_time,
        /// A batch that spans more than this carries no rate and no gradient.
        pub widest: Time = share(params.wide_batch, period),
        /// Time for a byte at the line rate where that is whole picoseconds, to multiply instead of divide; else zero.
        pub byte: Time = Time::from_ps(path.line_rate.whole_ps_per_byte().unwrap_or(0)),
        /// Rules of the estimator.
        pub rules: BatchRules = BatchRules {
                    period,
                    base_delay: path.base_rtt,
                    start_with_next: params.start_with_next,
                    three_points: params.three_points,
                },
    }
}

impl OscarDerived {
    /// Returns the time that the line takes for this.
    fn line_time(&self, path: &Path, bytes: Bytes) -> Time {
        if self.byte == Time::ZERO { path.line_rate.time_for(bytes) } else { self.byte.times(bytes.get()) }
    }
}

impl Described for OscarParams {
    const ABOUT: About = About {
        name: "oscar",
        title: "OSCAR",
        summary: "multiplicative steps from batched delay and delay gradient to a target delay",
        family: Family::Delay,
        needs: "send times echoed in acknowledgements: software on DPDK, or timestamps of network cards (2015); nothing from switches",
    };
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Ratio "target",
            target,
            Fixed::ONE,
            Fixed::whole(100),
            "target delay as a multiple of the base RTT, to which target_queue and target_time are added",
            Artifact,
            "OSCAR section 4.4: 1.5; its public artifact: 1"
        ),
        param!(
            Bytes "target_queue",
            target_queue,
            Bytes::ZERO,
            Bytes::new(1_000_000_000),
            "added to the target delay: the time in which the line drains this queue",
            Printed,
            "OSCAR section 4.4: none; its public artifact: 75KB"
        ),
        param!(
            Time "target_time",
            target_time,
            Time::ZERO,
            Time::from_ms(10),
            "added to the target delay: a queueing delay that depends on neither the path nor its rate",
            Measured,
            "chosen here by measurement: 7us; OSCAR section 4.4: none"
        ),
        param!(
            Ratio "tau",
            tau,
            Fixed::ZERO,
            Fixed::whole(4),
            "period of the batched estimator as a multiple of the base RTT, to which tau_time is added",
            Printed,
            "OSCAR section 4.1.1: 0.5; its public artifact: 0"
        ),
        param!(
            Time "tau_time",
            tau_time,
            Time::ZERO,
            Time::from_ms(10),
            "added to the period of the batched estimator",
            Printed,
            "OSCAR section 4.1.1: none; its public artifact: 5us"
        ),
        param!(
            Ratio "u_hai",
            u_hai,
            Fixed::ZERO,
            Fixed::ONE,
            "hyper increase of a batch that met no queue, as a ratio to the line rate",
            Printed,
            "OSCAR section 4.4: 0.01; default of its public artifact's class: 0.25"
        ),
        param!(
            Ratio "u_ai",
            u_ai,
            Fixed::ZERO,
            Fixed::ONE,
            "additive increase after each multiplicative step, as a ratio to the line rate",
            Printed,
            "OSCAR section 4.4: 0.001; Figure 9 in its public artifact: 0.0012"
        ),
        param!(
            Ratio "epsilon",
            epsilon,
            Fixed::ZERO,
            Fixed::whole(10),
            "a delay up to base RTT plus this multiple of it (plus epsilon_time) means an empty queue",
            Derived,
            "OSCAR section 4.2 without a value; 0.08 is the public artifact's 1us at 12us"
        ),
        param!(
            Time "epsilon_time",
            epsilon_time,
            Time::ZERO,
            Time::from_ms(10),
            "added to the delay up to which the queue counts as empty",
            Derived,
            "none beside epsilon; OSCAR's public artifact: 1us"
        ),
        param!(
            Time "dead_band",
            dead_band,
            Time::ZERO,
            Time::from_ms(10),
            "how far below the target delay the flow stops taking the larger step",
            Printed,
            "OSCAR Algorithm 2 line 9: none; its public artifact: 0.5us"
        ),
        param!(
            Ratio "wide_batch",
            wide_batch,
            Fixed::ZERO,
            Fixed::whole(1000),
            "batches spanning more periods than this (an idle flow) move by the window loop alone; 0: none",
            Printed,
            "OSCAR Algorithm 2: none; its public artifact: 3"
        ),
        param!(
            Ratio "steepest_fall",
            steepest_fall,
            Fixed::ZERO,
            Fixed::ONE,
            "the gradient counts as at least minus this",
            Derived,
            "OSCAR Algorithm 2 states none, 1 is the physical limit; its public artifact: 0.9"
        ),
        param!(
            Ratio "floor",
            floor,
            Fixed::ZERO,
            Fixed::ONE,
            "smallest ratio of window and rate",
            Printed,
            "OSCAR states none (an update adds u_ai or u_hai); its public artifact: 0.001"
        ),
        param!(
            Flag "start_with_next",
            start_with_next,
            "whether a batch starts with the next acknowledged packet, not the one that closed the last, and closes only beyond its period",
            Printed,
            "OSCAR Algorithm 1 line 12: false; its public artifact: true"
        ),
        param!(
            Flag "one_way_delay",
            one_way_delay,
            "whether to use one-way delay, plus the base delay of the way back, as the delay",
            Printed,
            "OSCAR section 4.1: false; Appendix A.2, OSCAR-OWD: true"
        ),
        param!(
            Flag "three_points",
            three_points,
            "whether only the first, middle and last acknowledgement of a batch feed the gradient",
            Printed,
            "OSCAR Appendix A.1: OSCAR-ACKC"
        ),
        param!(
            Flag "batched",
            batched,
            "whether to batch; if not, every acknowledgement is an update with the difference quotient",
            Printed,
            "OSCAR Algorithm 1: true; false is ours"
        ),
    ];

    /// The target delay above the base RTT.
    fn target_queue(&self, path: &Path) -> Option<(Time, &'static str)> {
        Some((self.target_delay(path) - path.base_rtt, "target"))
    }

    const KERNEL: Option<Kernel> = Some(Kernel::new("incast_oscar", Signals::ONE_WAY_DELAY));
}

/// The state of one flow. Size: 104 bytes.
///
/// The paper counts seven variables in 36 bytes: two of 8 bytes and five of 4. Ours are all of 8 bytes,
/// because a tick is finer than the paper's nanosecond and inflight sums of a 1.6 Tbps flow do not fit in 4;
/// and there are six more: the sum of delays apart from the gradient's sum (which OSCAR-ACKC feeds
/// separately), its number of points, the length of a tick, `u`, which the paper's count leaves to the
/// transport, and the window and the rate that follow from it, which change with a batch and are asked for
/// with every packet.
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

    const HEARS_SENT: bool = false;

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

    relate! { |setup|
        part(): [estimator],
        value(): [u, allowance],
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
mod tests;
