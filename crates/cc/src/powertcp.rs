//! PowerTCP (Addanki, Michel and Schmid, NSDI'22), Algorithm 1.
//!
//! Power is current (what arrives at a port) times voltage (its queue and BDP). It equals the
//! aggregate window times the port's rate (Property 1), so that dividing by it steps at once to the
//! window that just fills the port.
//!
//! Algorithm 1 as it is read here: line 20 compares Γ′ with Γ_norm, and line 21 assigns it, where the
//! normalised power Γ′_norm of line 19 is meant. The comparison is strict and begins at 0: where nothing arrived at
//! any port no power is above it, no Δt is assigned, and the average stays (`idle_sample`). The first
//! acknowledgement only records its telemetry (prevInt is not defined before), and so does one with another number
//! of hops; one without telemetry says nothing; Δt counts at most τ, so that the weight of line 24 stays within 1;
//! cwnd_old is renewed once per round trip, with the window just computed (line 7, section 3.3), not the window
//! at which the acknowledged packet left (Equation 7; `old_window`).
//!
//! The window is at most one base BDP, as in both public artifacts: without that limit, rate = cwnd/τ (line
//! 6) would exceed the line rate.
//!
//! Windows are kept as a ratio to the base BDP; as rate = cwnd/τ (line 6), that is also the ratio of
//! the rate to the line rate.
//!
//! The public artifact of the authors takes the arrival rate from a counter of enqueued bytes. The
//! telemetry here has no such counter and lines 12 to 14 say how to do without; where nothing is
//! dropped the two are the same.

use incast_units::{Bytes, Rate, Time};

use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Overhead, Path, Setup, Signals, derived,
};
use crate::limits::{Update, floor_param, least_share};
use crate::params::{About, Described, Family, Kernel, Param, Value, choice, param, presets};
use crate::ports::{Largest, Least, Port, Ports, stretched};
use crate::relative::relate;
use crate::tracked::TrackedRtt;
use crate::{Divisor, Fixed};

choice! {
    /// The window in the last term of line 27.
    LastTerm {
        /// The window of now, as printed.
        Current = "current",
        /// The window of one round trip ago, as in the first term.
        Old = "old",
    }
}

choice! {
    /// Use of a sample in which nothing arrived at any port: a power of zero.
    IdleSample {
        /// None: it is not above the zero that the largest power is compared with first (line 20).
        Skipped = "skipped",
        /// As any other: the average moves towards zero.
        Taken = "taken",
    }
}

choice! {
    /// The old window, cwnd_old of line 27.
    OldWindow {
        /// The window at the last of the updates that renew it, once per round trip (line 7, section 3.3).
        PerRtt = "per-rtt",
        /// The window at which the acknowledged packet left, w(t − θ) of Equation 7.
        PerPacket = "per-packet",
    }
}

choice! {
    /// Spacing of packets.
    Pacing {
        /// At cwnd/τ (line 6).
        Window = "window",
        /// At line rate while the window holds a packet, at cwnd/τ below.
        Line = "line",
    }
}

impl Pacing {
    /// Returns the allowance of a window of `ratio` base BDP.
    pub(crate) fn allowance(self, ratio: Fixed, path: &Path, bdp: Bytes) -> Allowance {
        let window = Bytes::new(ratio.scale(bdp.get())).max(Bytes::new(1));
        let share = match self {
            Self::Line if window >= path.packet => Fixed::ONE,
            Self::Line | Self::Window => ratio.min(Fixed::ONE),
        };
        let rate = Rate::from_bps(share.scale(path.line_rate.bps())).max(Rate::from_bps(1));
        Allowance { window, rate }
    }
}

/// Parameters of [`PowerTcp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PowerTcpParams {
    /// Weight γ of a new window.
    pub gamma: Fixed,
    /// N: flows expected to share the sender's link; β = HostBw·τ/N.
    pub flows: Fixed,
    /// Power is divided by this before use.
    pub target: Fixed,
    /// Least arrival rate of a port that is believed, as a fraction of its rate.
    pub arrival_floor: Fixed,
    /// Use of a sample in which nothing arrived.
    pub idle_sample: IdleSample,
    /// The old window.
    pub old_window: OldWindow,
    /// The window in the last term of the update.
    pub last_term: LastTerm,
    /// Time at which the window moves.
    pub update: Update,
    /// Whether τ is the smallest round-trip time when that is below the base RTT.
    pub track_base_rtt: bool,
    /// Whether that smallest RTT is forgotten in time.
    pub forget_base_rtt: bool,
    /// Spacing of packets.
    pub pacing: Pacing,
    /// Whether Δt counts at most τ in the average of the power.
    pub bounded_dt: bool,
    /// Largest window, as a multiple of the base BDP.
    pub window_cap: Fixed,
    /// The part of the smallest window and rate that is a fraction of base BDP and line rate.
    pub floor: Fixed,
    /// The part of the smallest rate that is absolute.
    pub floor_rate: Rate,
}

presets! {
    impl PowerTcpParams {
        "scaled": "ours: as artifact, with a smallest rate of a thousandth of the line's",
        fn scaled() -> Self {
            Self { floor: Fixed::ratio(1, 1000), floor_rate: Rate::ZERO, ..Self::artifact() }
        }

        "artifact": "the authors' public artifact: power/0.95, arrival rate at least half the port's",
        fn artifact() -> Self {
            Self {
                target: Fixed::ratio(95, 100),
                arrival_floor: Fixed::ratio(1, 2),
                last_term: LastTerm::Old,
                floor: Fixed::ZERO,
                floor_rate: Rate::from_mbps(100),
                ..Self::paper()
            }
        }

        "paper": "PowerTCP, NSDI'22, Algorithm 1",
        fn paper() -> Self {
            Self {
                gamma: Fixed::ratio(9, 10),
                flows: Fixed::ratio(1000, 6),
                target: Fixed::ONE,
                arrival_floor: Fixed::ZERO,
                idle_sample: IdleSample::Skipped,
                old_window: OldWindow::PerRtt,
                last_term: LastTerm::Current,
                update: Update::Ack,
                track_base_rtt: false,
                forget_base_rtt: true,
                pacing: Pacing::Window,
                bounded_dt: true,
                window_cap: Fixed::ONE,
                floor: Fixed::ratio(1, 1000),
                floor_rate: Rate::ZERO,
            }
        }

        "oscar": "OSCAR's public artifact: power/0.95, window only, at most one base BDP",
        fn oscar() -> Self {
            Self {
                target: Fixed::ratio(95, 100),
                idle_sample: IdleSample::Taken,
                last_term: LastTerm::Old,
                pacing: Pacing::Line,
                bounded_dt: false,
                ..Self::paper()
            }
        }
    }
}

derived! {
    /// Quantities that PowerTCP derives once from its parameters and a path.
    pub struct PowerTcpDerived of PowerTcpParams, |params, path| {
        /// Smallest window and rate, as a share of base BDP and line rate.
        pub floor: Fixed = least_share(params.floor, params.floor_rate, path),
        /// β = HostBw·τ/N, as a ratio to the base BDP.
        pub beta: Fixed = Fixed::ONE / params.flows,
        /// Division by rates, BDPs and the base RTT,
        pub ports: Ports = Ports::new(path),
        /// and by the target.
        pub target: Divisor = Divisor::of(params.target),
        /// Number of fractional bits of a window for which a packet's tag of 32 bits has no room.
        pub untagged: u32 = 32 - params.window_cap.bits().leading_zeros().min(32),
    }
}

/// The parameters that PowerTCP and θ-PowerTCP share, with the source of their values where these differ.
macro_rules! shared_param {
    (flows) => {
        $crate::params::param!(
            Ratio "flows",
            flows,
            $crate::Fixed::ONE,
            $crate::Fixed::whole(1_000_000),
            "N, the flows expected to share the sender's link: an update adds 1/N of the base BDP",
            Artifact,
            "PowerTCP section 3.3 leaves N open; both public artifacts add 0.006 of the BDP: N = 166.7"
        )
    };
    (pacing, $source:expr) => {
        $crate::params::param!(
            choice "pacing",
            pacing,
            $crate::powertcp::Pacing,
            "packets leave at window/base RTT, or at line rate while the window holds a packet",
            Printed,
            $source
        )
    };
    (window_cap, $source:expr) => {
        $crate::params::param!(
            Ratio "window_cap",
            window_cap,
            $crate::Fixed::ratio(1, 10),
            $crate::Fixed::whole(1000),
            "largest window as a multiple of the base BDP",
            Printed,
            $source
        )
    };
}
pub(crate) use shared_param;

impl Described for PowerTcpParams {
    const ABOUT: About = About {
        name: "powertcp",
        title: "PowerTCP",
        summary: "divides the window by the power measured by in-band telemetry",
        family: Family::Telemetry,
        needs: "switches that write telemetry into packets (programmable switches: 2017); hosts that read it and pace",
    };
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Ratio "gamma",
            gamma,
            Fixed::ratio(1, 1000),
            Fixed::ONE,
            "weight of a newly computed window",
            Printed,
            "PowerTCP section 3.3: 0.9"
        ),
        shared_param!(flows),
        param!(
            Ratio "target",
            target,
            Fixed::ratio(1, 10),
            Fixed::whole(10),
            "power is divided by this before it is used: a target utilisation",
            Artifact,
            "PowerTCP Algorithm 1: 1; the public artifacts of PowerTCP and OSCAR: 0.95"
        ),
        param!(
            Ratio "arrival_floor",
            arrival_floor,
            Fixed::ZERO,
            Fixed::ONE,
            "least arrival rate of a port that is believed, as a fraction of its rate",
            Artifact,
            "PowerTCP Algorithm 1: none; its public artifact: 0.5; OSCAR's: off"
        ),
        param!(
            choice "idle_sample",
            idle_sample,
            IdleSample,
            "a sample in which nothing arrived at any port counts as a power of zero (taken), or not at all (skipped)",
            Printed,
            "PowerTCP Algorithm 1 lines 9, 20: skipped; OSCAR's public artifact: taken; PowerTCP's has none (arrival_floor)"
        ),
        param!(
            choice "old_window",
            old_window,
            OldWindow,
            "the old window is remembered once per RTT, or is that at which the acknowledged packet left",
            Printed,
            "PowerTCP section 3.3 and line 7: per-rtt; its Equation 7: per-packet"
        ),
        param!(
            choice "last_term",
            last_term,
            LastTerm,
            "whether the part of the window that is kept is that of now or that of one RTT ago",
            Artifact,
            "PowerTCP Algorithm 1 line 27: current; the public artifacts of PowerTCP and OSCAR: old"
        ),
        param!(
            choice "update",
            update,
            Update,
            "the window moves with every ack from a reference renewed once per RTT, or once per RTT",
            Printed,
            "PowerTCP Algorithm 1: ack; its section 5 (Figure 8): rtt"
        ),
        param!(
            Flag "track_base_rtt",
            track_base_rtt,
            "whether the smallest RTT serves as base RTT when it is below the configured one",
            Printed,
            "PowerTCP section 3.3 names it as an alternative"
        ),
        param!(
            Flag "forget_base_rtt",
            forget_base_rtt,
            "whether that smallest RTT is forgotten after 12 to 24 base RTTs: one wrong sample otherwise counts for ever",
            Ours,
            "ours"
        ),
        shared_param!(pacing, "PowerTCP Algorithm 1 line 6: window; OSCAR's public artifact: line"),
        param!(
            Flag "bounded_dt",
            bounded_dt,
            "whether the time between two records counts at most one base RTT in the average of the power",
            Printed,
            "PowerTCP Algorithm 1 line 24, whose weight must be in [0, 1], and its public artifact: true; OSCAR's: false"
        ),
        shared_param!(
            window_cap,
            "PowerTCP Algorithm 1 line 6, rate = cwnd/base RTT at most the line's: 1; its and OSCAR's public artifacts: 1"
        ),
        floor_param!(floor, Artifact, "PowerTCP states none; OSCAR's public artifact: 0.001"),
        floor_param!(floor_rate, Artifact, "OSCAR's public artifact: none; PowerTCP's: 100Mbps"),
    ];
    const KERNEL: Option<Kernel> = Some(Kernel::new("incast_powertcp", Signals::INT));

    fn window_limit(&self, path: &Path) -> Option<(Bytes, &'static str)> {
        Some((Bytes::new(self.window_cap.scale(path.bdp().get())), "window_cap"))
    }
}

/// The state of one flow under PowerTCP: 232 bytes, of which 168 are the telemetry of the last
/// acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PowerTcp {
    /// Telemetry of the last acknowledgement (prevInt).
    previous: IntStack,
    /// Smoothed normalised power (Γ_smooth).
    power: Fixed,
    /// Window, as a ratio to the base BDP (cwnd).
    window: Fixed,
    /// Window of one round trip ago (cwnd_old).
    old: Fixed,
    /// τ, where it is tracked.
    base_rtt: TrackedRtt,
    /// An acknowledgement beyond this position renews `old`.
    last_update: u64,
    /// Place of the port with the largest power in the last acknowledgement.
    strongest: u32,
}

/// A computed window within its limits. A negative one, as a power that may be negative gives it
/// (OSCAR's public artifact), is the largest: there it becomes a huge unsigned number.
pub(crate) fn limited(window: Fixed, floor: Fixed, cap: Fixed) -> Fixed {
    if window.is_negative() { cap } else { window.clamp_to(floor, cap) }
}

impl PowerTcp {
    /// The path's base RTT over τ.
    fn stretch(&self, setup: &Setup<PowerTcpParams>) -> Fixed {
        let (base, tau) = (setup.path.base_rtt, self.base_rtt.get());
        if tau == base { Fixed::ONE } else { Fixed::ratio(base.ps(), tau.ps()) }
    }

    /// NORMPOWER of Algorithm 1. Says whether there was anything to measure.
    #[inline(never)] // so that it has a stack frame of its own
    fn measure(&mut self, setup: &Setup<PowerTcpParams>, int: &IntStack) -> bool {
        let Setup { params, derived, .. } = setup;
        let ports = &derived.ports;
        // With a smaller τ the same queue is more of the BDP, and the same time more of the base RTT.
        let factors = (params.arrival_floor, self.stretch(setup));
        // λ·dt = (q̇ + µ)·dt: what left plus what the queue grew by, that is, what arrived. It cannot be
        // negative, so the sum is taken before the difference (lines 12 to 14).
        let arrived = |port: &Port<'_>| (port.sent + port.now.queue) - port.before.queue;
        // Of no port is it known in advance that its power is small when τ is another than the path's base RTT.
        let least = Least::new(if params.track_base_rtt { Fixed::whole(2) } else { params.arrival_floor });
        let strongest = ports.largest(
            &self.previous,
            int,
            self.strongest,
            |port, limit| Ports::product_is_below(port, (port.now.queue, arrived(port)), least, limit),
            |port| ports.product(port, (port.now.queue, arrived(port)), &factors),
        );
        let Some(Largest { value: power, elapsed: dt, place }) = strongest else { return false };
        self.strongest = place;
        if power == Fixed::ZERO && params.idle_sample == IdleSample::Skipped {
            return true;
        }
        let weight = stretched(derived.ports.round_trips(dt), factors.1);
        let weight = if params.bounded_dt { weight.min(Fixed::ONE) } else { weight };
        self.power += weight * (power - self.power);
        true
    }

    /// UPDATEWINDOW of Algorithm 1, and UPDATEOLD. (In the kernel a function of its own: its stack frame is gone before
    /// the next call of [`Self::measure`].)
    #[cfg_attr(target_arch = "bpf", inline(never))]
    fn react(&mut self, setup: &Setup<PowerTcpParams>, ack: &Ack) {
        let Setup { params, derived, .. } = setup;
        let round_trip_over = ack.sequence > self.last_update;
        if params.update == Update::Ack || round_trip_over {
            let old = match params.old_window {
                // A packet of which no record is left brings no tag.
                OldWindow::PerPacket if ack.tag != 0 => {
                    Fixed::from_bits((u64::from(ack.tag) << derived.untagged).cast_signed())
                }
                OldWindow::PerPacket | OldWindow::PerRtt => self.old,
            };
            let kept = match params.last_term {
                LastTerm::Current => self.window,
                LastTerm::Old => old,
            };
            let window = params.gamma * (old / derived.target.divide(self.power) + derived.beta)
                + (Fixed::ONE - params.gamma) * kept;
            self.window = limited(window, derived.floor, params.window_cap);
        }
        if round_trip_over {
            self.old = self.window;
            self.last_update = ack.next_sequence;
        }
    }
}

impl CongestionControl for PowerTcp {
    type Params = PowerTcpParams;

    const HEARS_SENT: bool = false;

    fn signals(params: &PowerTcpParams) -> Signals {
        match params.old_window {
            OldWindow::PerRtt => Signals::INT,
            OldWindow::PerPacket => Signals::INT.and(Signals::PACKET_TAG),
        }
    }

    fn overhead(_params: &PowerTcpParams) -> Overhead {
        Overhead { data: 42, ack: 42 }
    }

    fn new(setup: &Setup<PowerTcpParams>, now: Time) -> Self {
        let Setup { params, path, .. } = setup;
        let window = Fixed::ONE.min(params.window_cap);
        Self {
            previous: IntStack::EMPTY,
            power: Fixed::ONE,
            window,
            old: window,
            base_rtt: TrackedRtt::new(path, now),
            last_update: 0,
            strongest: 0,
        }
    }

    relate! { |setup|
        telemetry(): [previous],
        value(): [power, window, old],
        path(&setup.path): [base_rtt],
        ahead(): [last_update],
        unread(): [strongest],
    }

    fn on_ack(&mut self, setup: &Setup<PowerTcpParams>, ack: &Ack, int: &IntStack) {
        let Setup { params, path, .. } = setup;
        if params.track_base_rtt {
            self.base_rtt.see(path, ack.now, ack.rtt(), params.forget_base_rtt);
        }
        if int.count == 0 {
            return;
        }
        let (first, measured) = (self.previous.count != int.count, self.measure(setup, int));
        self.previous.copy(int);
        if first {
            self.last_update = ack.next_sequence;
        }
        if first || !measured {
            return;
        }
        self.react(setup, ack);
    }

    /// The window in force, without its last bits.
    fn tag(&self, setup: &Setup<PowerTcpParams>) -> u32 {
        ((self.window.bits() >> setup.derived.untagged) as u32).max(1)
    }

    fn allowance(&self, setup: &Setup<PowerTcpParams>) -> Allowance {
        let Setup { params, path, bdp, .. } = setup;
        let bdp = if params.track_base_rtt { path.line_rate.bytes_in(self.base_rtt.get()) } else { *bdp };
        params.pacing.allowance(self.window, path, bdp)
    }

    const INTERNALS: &'static [Internal] = &[
        Internal { name: "power", meaning: "smoothed normalised power (Gamma_smooth)" },
        Internal { name: "cwnd_old", meaning: "window of one round trip ago (cwnd_old)" },
        Internal { name: "base_rtt", meaning: "base RTT in use (tau)" },
    ];

    fn probe(&self, setup: &Setup<PowerTcpParams>, place: usize) -> Option<Value> {
        match place {
            0 => Some(Value::Ratio(self.power)),
            1 => Some(Value::Bytes(Bytes::new(self.old.scale(setup.bdp.get())))),
            2 => Some(Value::Time(self.base_rtt.get())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
