//! NSCC, the network-signal congestion control of Ultra Ethernet (specification 1.0, 2025), as in the
//! simulator uet-htsim of the Ultra Ethernet Consortium, with its "UEC 1.0" defaults.
//!
//! The mark and the queueing delay of each acknowledgement are two bits that choose among four answers:
//!
//! | | delay below the target | at the target or above |
//! | --- | --- | --- |
//! | no mark | proportional increase, or fast increase near zero delay | fair increase |
//! | mark | nothing (the load balancer changes the path) | multiplicative decrease by the average delay |
//!
//! Increases are collected and added every few packets. "Quick adapt" cuts the window to what arrived within
//! one window of time after heavy congestion. [`mnscc`](crate::mnscc) puts a filter between the measured delay
//! and this law, so the law is generic over the [`Filter`].
//!
//! What is chosen here:
//! * Bytes are those on the wire, of packets and windows alike: b is [`Ack::acked`], the MTU a full packet. The
//!   gains count in MSS, the payload of a full packet.
//! * The network base RTT R of uet-htsim is the base RTT of the path that the transport gives.
//! * Nothing is known of trimming here, so its target of 0.75 R with trimming and R without is a parameter.
//! * Times since "the last" count from the flow's start, not from time zero.
//! * A timeout takes one packet from the window, as an expiry of one packet's timer in uet-htsim. A reported
//!   hole takes nothing, as with its loss recovery (SLEEK), unless `hole_is_nack`.
//! * Pending increases count in bytes · bytes / BDP, so that nothing saturates: in uet-htsim they count in
//!   bytes · bytes, which reach 8·10⁷ with one packet at 100 Gbps.

use core::fmt::Debug;

use incast_units::{Bytes, Rate, Time};

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Loss, LossKind, Overhead, Sent, Setup, Signals,
};
use crate::median::{Filtered, Signal};
use crate::order::Sample;
use crate::params::{About, Described, Family, Param, Value, param, presets};
use crate::relative::{Relate, relate};
use crate::tracked::TrackedRtt;

pub(crate) use params::parameters;
use params::us;
pub use params::{LawDerived, LawParams};

/// Filter between the measured queueing delays and the law.
pub trait Filter: Copy + Debug + PartialEq + Eq + Send + Sync + 'static {
    /// State of the filter for a flow.
    type State: Relate + Copy + Debug + Default + PartialEq + Eq + Send + Sync + 'static;

    /// The delay that the law goes by, after the newest sample (none without a valid one), at a window of
    /// `window` packets; none if there is nothing to go by.
    fn delay(&self, state: &mut Self::State, sample: Option<Time>, window: Fixed) -> Option<Time>;

    /// Whether the average is over what [`delay`](Self::delay) gives, and not over the samples.
    fn averages_filtered(&self) -> bool;
}

/// NSCC's own: the latest sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latest;

impl Filter for Latest {
    type State = ();

    fn delay(&self, _state: &mut (), sample: Option<Time>, _window: Fixed) -> Option<Time> {
        sample
    }

    fn averages_filtered(&self) -> bool {
        false
    }
}

/// Parameters of [`Nscc`].
pub type NsccParams = LawParams<Latest>;

/// NSCC, the state of one flow: 128 bytes.
pub type Nscc = Law<Latest>;

presets! {
    impl NsccParams {
        "scaled" acknowledging UEC: "ours: as uec, with a smallest RTT that is forgotten",
        fn scaled() -> Self {
            Self { forget_base_rtt: true, ..Self::without_trimming() }
        }

        "uec" acknowledging UEC: "the UEC 1.0 defaults of uet-htsim, in a network without trimming",
        fn without_trimming() -> Self {
            Self::uec(Latest)
        }

        "trimming" acknowledging UEC: "the UEC 1.0 defaults of uet-htsim, in a network with trimming",
        fn trimming() -> Self {
            Self { target_share: Fixed::ratio(3, 4), ..Self::uec(Latest) }
        }

        "median": "as compared with in the median paper (arXiv 2509.07907): target 1us, fast increase below half of it, first window 1 BDP",
        fn of_median_paper() -> Self {
            Self::median(Latest)
        }
    }
}

impl Described for NsccParams {
    const ABOUT: About = About {
        name: "nscc",
        title: "NSCC",
        summary: "Ultra Ethernet's answer to mark and delay of each sprayed packet",
        family: Family::Spraying,
        needs: "Ultra Ethernet network cards (1.0: 2025), switches that mark above a threshold (ECN: 2001)",
    };
    const PARAMS: &'static [Param<Self>] = parameters!();
}

/// The state of one flow: 128 bytes, and the state of the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Law<F: Filter> {
    /// Congestion window in bytes (cwnd).
    cwnd: Fixed,
    /// Largest window in bytes, by the base RTT.
    max_cwnd: Fixed,
    /// Base RTT of this flow.
    base_rtt: TrackedRtt,
    /// Average delay in µs.
    average: Fixed,
    /// Increase that is not yet in the window, in bytes · bytes / BDP.
    pending: Fixed,
    /// Bytes that arrived since increases were last added.
    received: Bytes,
    /// Bytes that arrived in this window of quick adapt.
    achieved: Bytes,
    /// Bytes in flight at the last quick adapt that have not come back; their marks are ignored.
    to_ignore: Bytes,
    /// Bytes in flight.
    inflight: Bytes,
    /// Bytes that arrived with a delay near zero.
    near_zero: Bytes,
    /// End of this window of quick adapt; zero before the first.
    window_end: Time,
    /// Time at which η was last added.
    last_eta: Time,
    /// Time at which the window was last multiplied.
    last_decrease: Time,
    /// Whether fast increase is on.
    fast: bool,
    /// Whether a NACK waits for quick adapt.
    triggered: bool,
    filter: F::State,
}

impl<F: Filter> Law<F> {
    /// The window in bytes, with its fraction.
    #[must_use]
    pub const fn window(&self) -> Fixed {
        self.cwnd
    }

    /// Sets the largest window by the base RTT.
    fn base(&mut self, setup: &Setup<LawParams<F>>) {
        let Setup { params, path, derived, .. } = setup;
        let bdp = Fixed::whole(path.line_rate.bytes_in(self.base_rtt.get()).get());
        self.max_cwnd = (params.max_cwnd * bdp).max(derived.min_cwnd);
    }

    /// Follows the smallest RTT.
    fn follow(&mut self, setup: &Setup<LawParams<F>>, now: Time, rtt: Time) {
        if setup.params.track_base_rtt {
            let before = self.base_rtt.get();
            self.base_rtt.see(&setup.path, now, rtt, setup.params.forget_base_rtt);
            if self.base_rtt.get() != before {
                self.base(setup);
            }
        }
    }

    /// The queueing delay of this acknowledgement, if it has one.
    fn sample(&mut self, setup: &Setup<LawParams<F>>, ack: &Ack) -> Option<Time> {
        let rtt = ack.rtt();
        if ack.acked == Bytes::ZERO || rtt == Time::ZERO {
            return None;
        }
        self.follow(setup, ack.now, rtt);
        rtt.checked_sub(self.base_rtt.get())
    }

    /// Adds a delay to the average.
    fn learn(&mut self, setup: &Setup<LawParams<F>>, delay: Time, marked: bool) {
        let Setup { params, derived, .. } = setup;
        let sample = if !marked && delay > derived.target {
            params.average_pull * us(self.base_rtt.get())
        } else {
            us(delay)
        };
        let weight = params.average_weight;
        self.average = weight * sample + (Fixed::ONE - weight) * self.average;
    }

    /// Quick adapt. Returns whether the acknowledgement or NACK is thereby dealt with.
    fn adapts(&mut self, setup: &Setup<LawParams<F>>, now: Time, marked: bool, heavy: bool) -> bool {
        let Setup { params, derived, .. } = setup;
        if !params.quick_adapt {
            return false;
        }
        let mut dealt_with = marked && self.to_ignore > Bytes::ZERO;
        if !dealt_with && now > self.window_end {
            let arrived = Fixed::whole(self.achieved.get());
            dealt_with = self.window_end != Time::ZERO
                && (heavy || self.triggered)
                && arrived < self.max_cwnd * derived.qa_share;
            if dealt_with {
                self.cwnd = arrived.max(derived.min_cwnd);
                self.to_ignore = self.inflight.min(derived.most_ignored);
                self.triggered = false;
            }
            self.achieved = Bytes::ZERO;
            self.window_end = now + self.base_rtt.get() + derived.target;
        }
        if dealt_with {
            (self.pending, self.received) = (Fixed::ZERO, Bytes::ZERO);
        }
        dealt_with
    }

    /// Unmarked, below the target.
    fn increase(&mut self, setup: &Setup<LawParams<F>>, acked: Bytes, delay: Time) {
        let Setup { params, derived, .. } = setup;
        let bytes = Fixed::whole(acked.get());
        if delay < derived.fast_below {
            self.near_zero += acked;
            self.fast |= Fixed::whole(self.near_zero.get()) > self.cwnd;
        } else {
            (self.near_zero, self.fast) = (Bytes::ZERO, false);
        }
        if self.fast {
            self.cwnd += derived.fast * bytes;
        } else {
            let below = Fixed::ratio((derived.target - delay).ps(), params.reference_rtt.ps());
            self.pending += derived.proportional * below * bytes;
        }
    }

    /// Marked, at the target or above.
    fn decrease(&mut self, setup: &Setup<LawParams<F>>, now: Time) {
        let Setup { params, derived, .. } = setup;
        (self.near_zero, self.fast) = (Bytes::ZERO, false);
        if self.average > derived.target_us && now - self.last_decrease > self.base_rtt.get() {
            let excess = (self.average - derived.target_us) / self.average;
            let factor = Fixed::ONE - (params.gamma * excess).min(params.max_decrease);
            self.cwnd = (self.cwnd * factor).max(derived.min_cwnd);
            self.last_decrease = now;
        }
    }

    fn limit(&mut self, setup: &Setup<LawParams<F>>) {
        self.cwnd = self.cwnd.clamp_to(setup.derived.min_cwnd, self.max_cwnd);
    }

    /// Adds the collected increases, and η once per network base RTT.
    fn fulfil(&mut self, setup: &Setup<LawParams<F>>, now: Time) {
        let Setup { path, derived, .. } = setup;
        self.cwnd += self.pending * (derived.bdp / self.cwnd);
        if now - self.last_eta >= path.base_rtt {
            self.cwnd += derived.eta;
            self.last_eta = now;
        }
        (self.pending, self.received) = (Fixed::ZERO, Bytes::ZERO);
    }

    /// An acknowledgement: the delay that enters the average, the one that the law goes by, and whether it is marked.
    fn acknowledged(
        &mut self,
        setup: &Setup<LawParams<F>>,
        ack: &Ack,
        averaged: Option<Time>,
        filtered: Option<Time>,
        marked: bool,
    ) {
        let Setup { path, derived, .. } = setup;
        self.inflight = ack.inflight_now;
        self.achieved += ack.acked;
        self.received += ack.acked;
        self.to_ignore -= ack.acked;
        if let Some(delay) = averaged {
            self.learn(setup, delay, marked);
        }
        let delay = filtered.unwrap_or(Time::from_ps(self.average.scale(1_000_000)));
        if self.adapts(setup, ack.now, marked, delay > derived.qa_threshold) {
            return;
        }
        match (marked, delay >= derived.target) {
            (false, true) => self.pending += derived.fair * Fixed::whole(ack.acked.get()),
            (false, false) => self.increase(setup, ack.acked, delay),
            (true, true) => self.decrease(setup, ack.now),
            (true, false) => {}
        }
        self.limit(setup);
        if self.received > derived.adjust || ack.now - self.last_eta > path.base_rtt {
            self.fulfil(setup, ack.now);
        }
        self.limit(setup);
    }

    /// A NACK: a header without payload came back.
    fn nack(&mut self, setup: &Setup<LawParams<F>>, loss: &Loss) {
        self.to_ignore -= loss.bytes;
        self.learn(setup, setup.path.base_rtt, true);
        self.triggered = true;
        if !self.adapts(setup, loss.now, true, true) {
            self.cwnd -= Fixed::whole(loss.bytes.get());
            self.limit(setup);
        }
    }
}

impl<F: Filter> CongestionControl for Law<F> {
    type Params = LawParams<F>;

    fn signals(_params: &LawParams<F>) -> Signals {
        Signals::ECN
    }

    fn overhead(_params: &LawParams<F>) -> Overhead {
        Overhead::default()
    }

    fn new(setup: &Setup<LawParams<F>>, now: Time) -> Self {
        let mut flow = Self {
            cwnd: setup.params.initial_cwnd * setup.derived.bdp,
            max_cwnd: Fixed::ZERO,
            base_rtt: TrackedRtt::new(&setup.path, now),
            average: Fixed::ZERO,
            pending: Fixed::ZERO,
            received: Bytes::ZERO,
            achieved: Bytes::ZERO,
            to_ignore: Bytes::ZERO,
            inflight: Bytes::ZERO,
            near_zero: Bytes::ZERO,
            window_end: Time::ZERO,
            last_eta: now,
            last_decrease: now,
            fast: false,
            triggered: false,
            filter: F::State::default(),
        };
        flow.base(setup);
        flow.limit(setup);
        flow
    }

    relate! { |setup|
        value(): [cwnd, max_cwnd, average, pending, received, to_ignore, inflight, fast],
        // Quick adapt alone reads them.
        only(setup.params.quick_adapt): [achieved, triggered],
        // Both begin again together.
        only(!*fast): [near_zero],
        path(&setup.path): [base_rtt],
        since(if setup.params.quick_adapt { Time::NEVER } else { Time::ZERO }): [window_end],
        // Compared with the base RTT, which is not above that of the path.
        since(setup.path.base_rtt + Time::from_ps(1)): [last_eta, last_decrease],
        part(): [filter],
    }

    fn on_ack(&mut self, setup: &Setup<LawParams<F>>, ack: &Ack, _int: &IntStack) {
        let filter = &setup.params.filter;
        let window = self.cwnd / setup.derived.packet;
        let sample = self.sample(setup, ack);
        let filtered = filter.delay(&mut self.filter, sample, window);
        let averaged = if filter.averages_filtered() { sample.and(filtered) } else { sample };
        self.acknowledged(setup, ack, averaged, filtered, ack.marked > 0);
    }

    fn on_loss(&mut self, setup: &Setup<LawParams<F>>, loss: &Loss) {
        match loss.kind {
            LossKind::Trim => {
                if setup.params.track_nacks && loss.now > loss.sent {
                    self.follow(setup, loss.now, loss.now - loss.sent);
                }
                self.nack(setup, loss);
            }
            LossKind::Hole if setup.params.hole_is_nack => self.nack(setup, loss),
            LossKind::Hole => {}
            LossKind::Timeout => {
                self.cwnd -= setup.derived.packet;
                self.limit(setup);
            }
        }
        self.inflight -= loss.bytes;
    }

    fn on_sent(&mut self, _setup: &Setup<LawParams<F>>, sent: &Sent) {
        self.inflight = sent.inflight;
    }

    fn allowance(&self, setup: &Setup<LawParams<F>>) -> Allowance {
        Allowance { window: Bytes::new(self.cwnd.floor()).max(Bytes::new(1)), rate: setup.path.line_rate }
    }

    const INTERNALS: &'static [Internal] = &[
        Internal { name: "average_delay", meaning: "average queueing delay (avg_delay)" },
        Internal { name: "base_rtt", meaning: "smallest RTT of late, from which delays count" },
        Internal { name: "max_cwnd", meaning: "largest window, by base_rtt" },
        Internal { name: "fast_increase", meaning: "whether fast increase is on" },
    ];

    fn probe(&self, _setup: &Setup<LawParams<F>>, place: usize) -> Option<Value> {
        match place {
            0 => Some(Value::Time(Time::from_ps(self.average.scale(1_000_000)))),
            1 => Some(Value::Time(self.base_rtt.get())),
            2 => Some(Value::Bytes(Bytes::new(self.max_cwnd.floor()))),
            3 => Some(Value::Flag(self.fast)),
            _ => None,
        }
    }
}

impl Filtered for Nscc {
    const SIGNAL: Signal = Signal::DelayAndMarks;

    fn sample(&mut self, setup: &Setup<NsccParams>, ack: &Ack) -> Option<Sample> {
        Self::sample(self, setup, ack).map(Sample::delay)
    }

    /// The average goes by the delay as measured, as in MNSCC.
    fn step(&mut self, setup: &Setup<NsccParams>, ack: &Ack, filtered: Option<Sample>, marked: u32) {
        let measured = Self::sample(self, setup, ack);
        self.acknowledged(setup, ack, measured, filtered.map(Sample::time), marked > 0);
    }
}

mod params;
#[cfg(test)]
mod tests;
