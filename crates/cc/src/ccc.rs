//! CCC (Jiang et al., "CCC: Re-architecting Delay-based Congestion Control in Datacenter Networks",
//! NSDI'26), Equations 1 to 10 and Algorithm 1.
//!
//! With every acknowledgement the state of the bottleneck, its queueing delay q and the change q_v of
//! that, lies in one of six regions. Where delays say little (no queue, a long one, one that grows fast)
//! the rate is moved by a weight, up or down as the criterion δ = ½·log2(q_B/q) − q_v says; where they can
//! be trusted, it is computed. The destination is a queueing delay of q_B that does not change.
//!
//! Where the paper leaves something open:
//! * Figure 4, the map of the regions, exists as a picture only; [`Region`] is the map that agrees with the
//!   text, Appendix A and Table 1. H1i needs a queue that shrinks: an idle link measures q = 0 and
//!   q_v = 0, and with H1i there, whose step is zero from half the line rate on, a flow that is alone
//!   would stay there for ever.
//! * S "is only updated and used in regions H1i and H2i", and takes its new value "when leaving A regions": it is renewed
//!   by an acknowledgement that leads from Ai or Ad to H1i or H2i (`renewal`).
//! * The sender's time stamp has no stated size; four bytes, as OSCAR's (`stamp`).
//! * q counts at least RTT_min/4096 in logarithms (and at most q_B/4 in place of that), q_v at least −1,
//!   and as zero when its magnitude is below 2⁻²⁰. What is averaged is not limited.
//! * v_ai is limited, since a flow that has nothing to send sees an idle link for as long.
//! * With the exact logarithm of q_B beside the piecewise one of q (Equation 10 as printed) δ is zero at up to
//!   1.06·q_B. `piecewise` takes q_B through the same lines as q.
//! * Algorithm 1, line 7 closes its bracket in the wrong place and omits M; Equation 8 is used.
//! * The first acknowledgement, and one at the same instant as the one before, are recorded only.
//!
//! Preset `fair` is ours. Where δ and Irr contradict each other f is 0, and the paper's flow stands still: shares stay as
//! they are while the queue is between q_B·(1 − r/R_l) and q_B. There `fair` moves the rate towards Irr by a small weight
//! (`w_fair`), so that flows come to rest where r = Irr, with equal shares at q_B·(1 − 1/N). It measures q_v over a part
//! of an RTT (`span`), which divides the noise of time stamps, and q_B is a share of RTT_min.

use incast_units::{Bytes, Rate, Time};

use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Overhead, Setup, Signals, derived,
};
use crate::estimator::ewma;
use crate::params::{About, Described, Family, Kernel, Param, Value, choice, param, presets};
use crate::relative::{Origin, See};
use crate::{Divisor, Fixed};

choice! {
    /// Method by which δ and the analytical step take a logarithm.
    Logarithm {
        /// As Equations 5 and 8 have it.
        Exact = "exact",
        /// As straight lines between powers of two of a nanosecond, for q and for q_B.
        Piecewise = "piecewise",
        /// As these lines for q, exactly for q_B (Equation 10 as printed).
        Printed = "equation-10",
    }
}

impl Logarithm {
    /// Returns the logarithm of a queueing delay.
    fn of(self, q: Fixed) -> Fixed {
        match self {
            Self::Exact => q.log2(),
            Self::Piecewise | Self::Printed => q.log2_piecewise(),
        }
    }

    /// Returns the logarithm of q_B.
    fn of_destination(self, q_b: Fixed) -> Fixed {
        match self {
            Self::Exact | Self::Printed => q_b.log2(),
            Self::Piecewise => q_b.log2_piecewise(),
        }
    }
}

choice! {
    /// Limit of the bytes in flight, beside the rate r.
    Window {
        /// r·(RTT_min + q_B): what r carries at the destination.
        Headroom = "headroom",
        /// r·RTT_min, as printed.
        Letter = "letter",
        /// Not at all.
        None = "none",
    }
}

choice! {
    /// Region to which a flow leaves Ai and Ad when S is renewed.
    Renewal {
        /// H1i or H2i.
        Increase = "increase",
        /// Any H region.
        Any = "any",
    }
}

/// Parameters of [`Ccc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CccParams {
    /// The queueing delay that is aimed at, q_B; zero for `q_b_share` of RTT_min.
    pub q_b: Time,
    /// q_B as a share of RTT_min.
    pub q_b_share: Fixed,
    /// Weight γ of the old value in the average of q_v.
    pub gamma: Fixed,
    /// Weight of an increase in H1i.
    pub w_1: Fixed,
    /// Weight of an increase in H2i.
    pub w_2: Fixed,
    /// Weight of a decrease.
    pub w_md: Fixed,
    /// The link counts as under-utilised while q is below this share of RTT_min.
    pub idle: Fixed,
    /// v_ai is at most two to the power of this.
    pub max_doublings: u64,
    /// A rate is recorded for S while |q_v| is below this.
    pub calm: Fixed,
    /// H1i begins below −ε.
    pub epsilon: Fixed,
    /// The logarithm.
    pub log: Logarithm,
    /// The limit of the bytes in flight.
    pub window: Window,
    /// Rate at which a flow starts, as a share of the line rate.
    pub initial_rate: Fixed,
    /// S of a new flow as a share of the line rate; zero for its initial rate.
    pub s_initial: Fixed,
    /// Smallest rate, as a share of the line rate.
    pub floor: Fixed,
    /// Region to which the analytical regions are left when S is renewed.
    pub renewal: Renewal,
    /// Weight of a step towards Irr where δ and Irr contradict each other.
    pub w_fair: Fixed,
    /// Least time over which a change of the RTT is measured, as a share of RTT_min; zero for every acknowledgement.
    pub span: Fixed,
    /// Bytes of the time stamp in a header.
    pub stamp: Bytes,
}

presets! {
    impl CccParams {
        "fair": "ours: steps towards the reference rate where the paper's flow stands still, q_v over a quarter of an RTT, \
                 q_B a quarter of it",
        /// Returns the parameters of `fair`.
        pub fn fair() -> Self {
            Self {
                q_b: Time::ZERO,
                w_fair: Fixed::ratio(1, 20),
                span: Fixed::ratio(1, 4),
                ..Self::paper()
            }
        }

        "paper": "CCC, NSDI'26, simulations",
        /// Returns the parameters of the paper's simulations.
        pub fn paper() -> Self {
            Self {
                q_b: Time::from_us(5),
                q_b_share: Fixed::ratio(1, 4),
                gamma: Fixed::ratio(2, 10),
                w_1: Fixed::ratio(1, 2),
                w_2: Fixed::ratio(1, 10),
                w_md: Fixed::ratio(1, 4),
                idle: Fixed::ratio(5, 100),
                max_doublings: 10,
                calm: Fixed::ratio(5, 100),
                epsilon: Fixed::ZERO,
                log: Logarithm::Exact,
                window: Window::Letter,
                initial_rate: Fixed::ONE,
                s_initial: Fixed::ZERO,
                floor: Fixed::ratio(1, 1000),
                renewal: Renewal::Increase,
                w_fair: Fixed::ZERO,
                span: Fixed::ZERO,
                stamp: Bytes::new(4),
            }
        }

        "testbed": "CCC on the paper's testbed: q_B 20us, Equation 10",
        fn testbed() -> Self {
            Self { q_b: Time::from_us(20), log: Logarithm::Printed, ..Self::paper() }
        }

        "headroom": "ours: room for q_B in the window; S renewed in any H region; no bytes for the time stamp",
        /// Returns the parameters of `headroom`.
        pub fn headroom() -> Self {
            Self {
                window: Window::Headroom,
                renewal: Renewal::Any,
                stamp: Bytes::ZERO,
                ..Self::paper()
            }
        }
    }
}

derived! {
    /// Quantities that CCC derives once from its parameters and a path. Rates are in Mbit/s, times in ns.
    pub struct CccDerived of CccParams, |params, path|
    let line = mbps(path.line_rate);
    let q_b = params.destination(path.base_rtt);
    {
        /// q_B.
        pub q_b: Time = q_b,
        /// R_l.
        pub line: Fixed = line,
        /// Smallest rate.
        pub floor: Fixed = line * params.floor,
        /// M/RTT_min: bits per µs.
        pub packet_per_rtt: Fixed = Fixed::ratio(path.packet.times(8 * 1_000_000).get(), path.base_rtt.ps()),
        /// Logarithm of q_B.
        pub log_q_b: Fixed = params.log.of_destination(ns(q_b)),
        /// Least q in a logarithm.
        pub least: Fixed = (ns(path.base_rtt) * Fixed::ratio(1, 4096)).min(ns(q_b) * Fixed::ratio(1, 4)),
        /// The link counts as under-utilised while q is below this.
        pub idle: Time = Time::from_ps(params.idle.scale(path.base_rtt.ps())),
        /// A change of the RTT is measured over this time at least.
        pub span: Time = Time::from_ps(params.span.scale(path.base_rtt.ps())),
        /// Division by R_l,
        pub by_line: Divisor = Divisor::of(line),
        /// by q_B,
        pub by_q_b: Divisor = Divisor::new(q_b.ps()),
        /// and by RTT_min.
        pub by_base_rtt: Divisor = Divisor::new(path.base_rtt.ps()),
    }
}

impl CccParams {
    /// Returns q_B on a path of this base RTT.
    fn destination(&self, base_rtt: Time) -> Time {
        if self.q_b == Time::ZERO { Time::from_ps(self.q_b_share.scale(base_rtt.ps())) } else { self.q_b }
    }
}

/// A rate in Mbit/s.
fn mbps(rate: Rate) -> Fixed {
    Fixed::ratio(rate.bps(), 1_000_000)
}

/// A time in ns.
fn ns(time: Time) -> Fixed {
    const NANOSECOND: Divisor = Divisor::new(1000);
    NANOSECOND.ratio(time.ps())
}

impl Described for CccParams {
    const ABOUT: About = About {
        name: "ccc",
        title: "CCC",
        summary: "rate by regions of queueing delay and its change: computed where delays can be trusted, else probed",
        family: Family::Delay,
        needs: "round-trip times to well below a microsecond: timestamps of network cards (RDMA cards: 2015)",
    };
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Time "q_b",
            q_b,
            Time::ZERO,
            Time::from_ms(100),
            "queueing delay that is aimed at, q_B; 0us for q_b_share of RTT_min",
            Ours,
            "CCC section 6.1: 5us of 20us; section 6.2, on the testbed: 20us; 0 is ours"
        ),
        param!(
            Ratio "q_b_share",
            q_b_share,
            Fixed::ratio(1, 1000),
            Fixed::whole(10),
            "q_B as a share of RTT_min, where q_b is 0us",
            Derived,
            "CCC section 6.1: 5us of an RTT of 20us"
        ),
        param!(
            Ratio "gamma",
            gamma,
            Fixed::ZERO,
            Fixed::ONE,
            "weight of the old value in the average of q_v",
            Printed,
            "CCC section 6.1: 0.2"
        ),
        param!(
            Ratio "w_1",
            w_1,
            Fixed::ZERO,
            Fixed::whole(10),
            "weight of an increase where the link is under-utilised and the queue shrinks (H1i)",
            Printed,
            "CCC section 4.3.4: 0.5"
        ),
        param!(
            Ratio "w_2",
            w_2,
            Fixed::ZERO,
            Fixed::whole(10),
            "weight of an increase where it is under-utilised and the queue does not shrink (H2i)",
            Printed,
            "CCC section 4.3.4: 0.1"
        ),
        param!(
            Ratio "w_md",
            w_md,
            Fixed::ZERO,
            Fixed::ONE,
            "weight of a decrease: the share of the rate that an RTT of it takes off at a queueing delay of 2 q_B",
            Printed,
            "CCC section 4.3.4: 0.25"
        ),
        param!(
            Ratio "idle",
            idle,
            Fixed::ZERO,
            Fixed::ONE,
            "the link counts as under-utilised for v_ai while q is below this share of RTT_min",
            Printed,
            "CCC section 4.3.4: 0.05"
        ),
        param!(
            Count "max_doublings",
            max_doublings,
            0,
            20,
            "v_ai doubles at most this often",
            Ours,
            "CCC states no limit; chosen here: 10"
        ),
        param!(
            Ratio "calm",
            calm,
            Fixed::ZERO,
            Fixed::ONE,
            "a rate is recorded for the basis S while the magnitude of q_v is below this",
            Printed,
            "CCC section 4.3.4: 0.05"
        ),
        param!(
            Ratio "epsilon",
            epsilon,
            Fixed::ZERO,
            Fixed::ONE,
            "H1i needs a q_v below minus this; above it the region is H2i",
            Ours,
            "CCC's Figure 4 is a picture only; chosen here: 0"
        ),
        param!(
            choice "log",
            log,
            Logarithm,
            "logarithm in the criterion and in the analytical step: exact, straight lines between powers of two, or these \
             for q beside the exact logarithm of q_B",
            Printed,
            "CCC Equations 5 and 8: exact; its implementation: equation-10"
        ),
        param!(
            choice "window",
            window,
            Window,
            "limit of the bytes in flight: r*(RTT_min + q_B), r*RTT_min, or none",
            Printed,
            "CCC section 5: letter"
        ),
        param!(
            Ratio "initial_rate",
            initial_rate,
            Fixed::ratio(1, 1000),
            Fixed::ONE,
            "rate at which a flow starts, as a share of the line rate",
            Artifact,
            "CCC states none; HPCC's public artifact, on which it builds: line rate"
        ),
        param!(
            Ratio "s_initial",
            s_initial,
            Fixed::ZERO,
            Fixed::ONE,
            "basis S of a new flow as a share of the line rate; 0 for its initial rate",
            Ours,
            "CCC has no value; chosen here: the initial rate"
        ),
        param!(
            Ratio "floor",
            floor,
            Fixed::ZERO,
            Fixed::ONE,
            "smallest rate as a share of the line rate",
            Artifact,
            "CCC states none; OSCAR's public artifact: 0.001 for all algorithms"
        ),
        param!(
            choice "renewal",
            renewal,
            Renewal,
            "S is renewed when Ai or Ad is left for H1i or H2i, or for any H region",
            Printed,
            "CCC section 4.3.4: increase"
        ),
        param!(
            Ratio "w_fair",
            w_fair,
            Fixed::ZERO,
            Fixed::ONE,
            "weight of a step towards Irr where f is 0: the share of the difference that an RTT takes off, times r/R_l",
            Ours,
            "chosen here; CCC: 0"
        ),
        param!(
            Ratio "span",
            span,
            Fixed::ZERO,
            Fixed::ONE,
            "q_v is measured over this share of RTT_min at least; 0 for every acknowledgement",
            Ours,
            "chosen here; CCC Equation 4: 0"
        ),
        param!(
            Bytes "stamp",
            stamp,
            Bytes::ZERO,
            Bytes::new(16),
            "bytes of the sender's time stamp in the header of a packet and of its acknowledgement",
            Printed,
            "CCC section 5 states no size; OSCAR section 4.1: 4B"
        ),
    ];
    const KERNEL: Option<Kernel> = Some(Kernel::new("incast_ccc", Signals::NONE));
}

/// A region of the plane of q and q_v (Figure 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Region {
    /// H1i: q < q_B, q_v < −ε. Probing increase, for flows below half the line rate.
    IncreaseFast,
    /// H2i: q < q_B, q_v ≥ −ε, δ > 0. Probing increase.
    IncreaseSlow,
    /// H1d: q_v > 0, δ ≤ 0. Probing decrease.
    DecreaseGrowing,
    /// H2d: q > 4·q_B, q_v ≤ 0. From there on δ = 0 lies below q_v = −1: no layover target. Probing decrease.
    DecreaseLong,
    /// Ai: q_B ≤ q ≤ 4·q_B, q_v ≤ 0, δ > 0. Analytical increase.
    AnalyticalIncrease,
    /// Ad: q_B ≤ q ≤ 4·q_B, q_v ≤ 0, δ ≤ 0. Decrease as in the probing regions.
    AnalyticalDecrease,
}

impl Region {
    const fn is_increase(self) -> bool {
        matches!(self, Self::IncreaseFast | Self::IncreaseSlow)
    }

    const fn is_analytical(self) -> bool {
        matches!(self, Self::AnalyticalIncrease | Self::AnalyticalDecrease)
    }
}

/// State of the bottleneck as an acknowledgement shows it.
#[derive(Clone, Copy, Debug)]
struct State {
    /// Queueing delay, q.
    q: Time,
    /// Its change, q_v.
    q_v: Fixed,
    /// The criterion, δ.
    delta: Fixed,
}

impl State {
    fn region(&self, params: &CccParams, q_b: Time) -> Region {
        if self.q_v > Fixed::ZERO && self.delta <= Fixed::ZERO {
            Region::DecreaseGrowing
        } else if self.q < q_b {
            // δ > 0: both of its terms are positive, or the first case above did not hold.
            if self.q_v < -params.epsilon { Region::IncreaseFast } else { Region::IncreaseSlow }
        } else if self.q > q_b.times(4) {
            Region::DecreaseLong
        } else if self.delta > Fixed::ZERO {
            Region::AnalyticalIncrease
        } else {
            Region::AnalyticalDecrease
        }
    }
}

const HALF: Fixed = Fixed::ratio(1, 2);

/// A smaller change of the queueing delay counts as none.
const NEGLIGIBLE: Fixed = Fixed::ratio(1, 1 << 20);

/// Rates of which S is the mean.
const RECORDED: usize = 5;

/// The state of one flow. Size: 112 bytes. Rates are in Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Ccc {
    /// r.
    rate: Fixed,
    /// Average of q_v, without limits.
    gradient: Fixed,
    /// RTT of the last acknowledgement.
    previous_rtt: Time,
    /// Time of its arrival; [`Time::NEVER`] before the first.
    previous_at: Time,
    /// RTT and time of the acknowledgement from which the change of the RTT is measured.
    reference_rtt: Time,
    reference_at: Time,
    /// Since when the link has been under-utilised; [`Time::NEVER`] while it is not.
    idle_since: Time,
    /// S.
    basis: Fixed,
    /// The last rates at a calm queue.
    recorded: [Fixed; RECORDED],
    /// The place of the next one.
    next: u8,
    /// Number of them.
    count: u8,
    /// Region of the last acknowledgement that moved the rate.
    region: Option<Region>,
}

impl Ccc {
    /// Equations 2, 4 and 5, with their limits.
    fn state(&self, setup: &Setup<CccParams>) -> State {
        let Setup { params, path, derived, .. } = setup;
        let q = self.previous_rtt - path.base_rtt;
        let q_v = if self.gradient.abs() < NEGLIGIBLE { Fixed::ZERO } else { self.gradient.max(-Fixed::ONE) };
        let log = params.log.of(ns(q).max(derived.least));
        State { q, q_v, delta: HALF * (derived.log_q_b - log) - q_v }
    }

    /// v_ai.
    fn acceleration(&self, setup: &Setup<CccParams>) -> u64 {
        if self.idle_since == Time::NEVER {
            return 1;
        }
        let idle = self.previous_at - self.idle_since;
        let rtts = idle.ps().checked_div(setup.path.base_rtt.ps()).unwrap_or(u64::MAX);
        1 << rtts.min(setup.params.max_doublings)
    }

    /// UPDATEBASIS of Algorithm 1: records the rate, and renews S when the analytical regions are left.
    fn update_basis(&mut self, params: &CccParams, q_v: Fixed, region: Region) {
        if q_v.abs() < params.calm
            && let Some(place) = self.recorded.get_mut(usize::from(self.next))
        {
            *place = self.rate;
            self.next = (self.next + 1) % RECORDED as u8;
            self.count = (self.count + 1).min(RECORDED as u8);
        }
        let leaves = self.region.is_some_and(Region::is_analytical)
            && !region.is_analytical()
            && (params.renewal == Renewal::Any || region.is_increase());
        if leaves && self.count > 0 {
            let sum = self.recorded.into_iter().fold(Fixed::ZERO, |sum, rate| sum + rate);
            self.basis = sum / Fixed::whole(u64::from(self.count));
        }
        self.region = Some(region);
    }

    /// The step u of Equation 1.
    fn step(&self, setup: &Setup<CccParams>, region: Region, state: &State, itv: Time) -> Fixed {
        let Setup { params, path, derived, .. } = setup;
        let itv = itv.min(path.base_rtt);
        if region == Region::AnalyticalIncrease {
            let ahead = (ns(state.q) + ns(itv) * state.q_v).max(derived.least);
            return (HALF * (derived.log_q_b - params.log.of(ahead)) - state.q_v) * derived.packet_per_rtt;
        }
        let filled = derived.by_q_b.ratio(state.q.ps());
        // Equation 6 as a share of R_l, and Equation 9; equality is no reason to move.
        let reference = (Fixed::ONE - filled).max(Fixed::ZERO);
        let irr = derived.line * reference;
        let fair = if state.delta > Fixed::ZERO { irr > self.rate } else { irr < self.rate };
        let elapsed = derived.by_base_rtt.ratio(itv.ps()).min(Fixed::ONE);
        if !fair || state.delta == Fixed::ZERO {
            if params.w_fair == Fixed::ZERO {
                return Fixed::ZERO;
            }
            return (irr - self.rate) * (params.w_fair * derived.by_line.divide(self.rate)) * elapsed;
        }
        let increase =
            |weight| self.basis * reference * weight * elapsed * Fixed::whole(self.acceleration(setup));
        match region {
            Region::IncreaseFast => {
                let share = derived.by_line.divide(self.rate);
                increase(params.w_1 * (Fixed::ONE - share - share).max(Fixed::ZERO))
            }
            Region::IncreaseSlow => increase(params.w_2),
            _ => {
                let excess = (filled - Fixed::ONE).abs().min(Fixed::ONE);
                -(self.rate * excess * params.w_md * elapsed)
            }
        }
    }
}

/// `to − from` over `span`.
fn slope(from: Time, to: Time, span: Time) -> Fixed {
    let magnitude = Fixed::ratio((to - from).ps().max((from - to).ps()), span.ps());
    if to < from { -magnitude } else { magnitude }
}

impl CongestionControl for Ccc {
    type Params = CccParams;

    const HEARS_SENT: bool = false;

    fn signals(_params: &CccParams) -> Signals {
        Signals::NONE
    }

    fn overhead(params: &CccParams) -> Overhead {
        let stamp = u16::try_from(params.stamp.get()).unwrap_or(u16::MAX);
        Overhead { data: stamp, ack: stamp }
    }

    fn new(setup: &Setup<CccParams>, _now: Time) -> Self {
        let Setup { params, derived, .. } = setup;
        let rate = (derived.line * params.initial_rate).max(derived.floor);
        let basis = if params.s_initial == Fixed::ZERO { rate } else { derived.line * params.s_initial };
        Self {
            rate,
            gradient: Fixed::ZERO,
            previous_rtt: Time::ZERO,
            previous_at: Time::NEVER,
            reference_rtt: Time::ZERO,
            reference_at: Time::NEVER,
            idle_since: Time::NEVER,
            basis,
            recorded: [Fixed::ZERO; RECORDED],
            next: 0,
            count: 0,
            region: None,
        }
    }

    fn relate(&self, setup: &Setup<CccParams>, origin: &Origin, see: &mut dyn See) {
        let Self {
            rate,
            gradient,
            previous_rtt,
            previous_at,
            reference_rtt,
            reference_at,
            idle_since,
            basis,
            recorded,
            next,
            count,
            region,
        } = self;
        for (name, value) in [("rate", rate), ("gradient", gradient), ("basis", basis)] {
            origin.value().note(see, name, value);
        }
        origin.value().note(see, "previous_rtt", previous_rtt);
        origin.value().note(see, "reference_rtt", reference_rtt);
        origin.instant().note(see, "previous_at", previous_at);
        origin.instant().note(see, "reference_at", reference_at);
        // As many base RTTs of it as there are doublings are enough.
        let most = setup.path.base_rtt.times(setup.params.max_doublings);
        origin.since(most).note(see, "idle_since", idle_since);
        // Their sum counts, and which one goes next: the oldest.
        let mut oldest_first = *recorded;
        oldest_first.rotate_left(usize::from(*next) % RECORDED);
        origin.value().note(see, "recorded", &oldest_first);
        origin.value().note(see, "count", count);
        origin.value().note(see, "region", &region.map(|region| region as u8));
    }

    /// Algorithm 1.
    fn on_ack(&mut self, setup: &Setup<CccParams>, ack: &Ack, _int: &IntStack) {
        let Setup { params, derived, .. } = setup;
        let (rtt, previous_rtt, previous_at) = (ack.rtt(), self.previous_rtt, self.previous_at);
        (self.previous_rtt, self.previous_at) = (rtt, ack.now);
        // Equation 3.
        let itv = ack.now - previous_at;
        if itv == Time::ZERO {
            if self.reference_at == ack.now {
                self.reference_rtt = rtt;
            }
            return;
        }
        if self.reference_at == Time::NEVER {
            (self.reference_rtt, self.reference_at) = (previous_rtt, previous_at);
        }
        let span = ack.now - self.reference_at;
        if span >= derived.span {
            self.gradient = ewma(slope(self.reference_rtt, rtt, span), self.gradient, params.gamma);
            (self.reference_rtt, self.reference_at) = (rtt, ack.now);
        }
        let state = self.state(setup);
        if state.q >= derived.idle {
            self.idle_since = Time::NEVER;
        } else if self.idle_since == Time::NEVER {
            self.idle_since = ack.now;
        }
        let region = state.region(params, derived.q_b);
        self.update_basis(params, state.q_v, region);
        self.rate += self.step(setup, region, &state, itv);
        self.rate = self.rate.clamp_to(derived.floor, derived.line);
    }

    fn allowance(&self, setup: &Setup<CccParams>) -> Allowance {
        let Setup { params, path, derived, .. } = setup;
        let rate = Rate::from_bps(self.rate.scale(1_000_000).max(1)).min(path.line_rate);
        let window = match params.window {
            Window::Headroom => rate.bytes_in(path.base_rtt + derived.q_b).max(path.packet),
            Window::Letter => rate.bytes_in(path.base_rtt).max(path.packet),
            Window::None => Bytes::UNLIMITED,
        };
        Allowance { window, rate }
    }

    const INTERNALS: &'static [Internal] = &[
        Internal { name: "q", meaning: "queueing delay (q)" },
        Internal { name: "q_v", meaning: "averaged change of the queueing delay, as used (q_v)" },
        Internal { name: "delta", meaning: "congestion criterion (delta)" },
        Internal { name: "region", meaning: "region: 0 H1i, 1 H2i, 2 H1d, 3 H2d, 4 Ai, 5 Ad" },
        Internal { name: "s", meaning: "basis of probing increases (S)" },
        Internal { name: "v_ai", meaning: "factor of probing increases on an under-utilised link (v_ai)" },
        Internal { name: "rate", meaning: "sending rate (r)" },
    ];

    fn probe(&self, setup: &Setup<CccParams>, place: usize) -> Option<Value> {
        let rate = |mbps: Fixed| Some(Value::Rate(Rate::from_bps(mbps.scale(1_000_000))));
        match place {
            0..=2 if self.previous_at == Time::NEVER => None,
            0 => Some(Value::Time(self.state(setup).q)),
            1 => Some(Value::Ratio(self.state(setup).q_v)),
            2 => Some(Value::Ratio(self.state(setup).delta)),
            3 => self.region.map(|region| Value::Count(region as u64)),
            4 => rate(self.basis),
            5 => Some(Value::Count(self.acceleration(setup))),
            6 => rate(self.rate),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
