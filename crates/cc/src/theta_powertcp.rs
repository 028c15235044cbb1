//! θ-PowerTCP (Addanki, Michel and Schmid, NSDI'22), Appendix D, Algorithm 2: PowerTCP's law from
//! round-trip times alone.
//!
//! With the port's output rate taken to be its link rate, normalised power is (θ̇ + 1)·θ/τ
//! (Equation 8). The gradient θ̇ is the difference of two round-trip times over the time between
//! their acknowledgements. Power is smoothed with every acknowledgement, the window moves once per
//! round trip.
//!
//! Where the paper is silent: the first acknowledgement only records its times (prevRTT is not
//! defined before); Δt counts at most τ; θ̇ + 1, which is negative where two packets left further
//! apart than twice the spacing of their acknowledgements, counts at least 0 (see `negative_power`);
//! the window is at most one base BDP, as in both public artifacts. Two acknowledgements
//! at the same instant have no gradient: the second leaves prevRTT and t_c as they are, so that
//! the next one is measured against the first over the whole span, and nothing is divided by zero.
//!
//! With the update once per round trip the acknowledged packet left just after the last update, so
//! cwnd_old is cwnd; they differ only with `update = "ack"`.

use incast_units::{Bytes, Rate, Time};

use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Overhead, Setup, Signals, derived,
};
use crate::limits::{Update, floor_param, least_share};
use crate::params::{About, Described, Family, Kernel, Param, Value, param, presets};
use crate::powertcp::{Pacing, limited, shared_param};
use crate::relative::relate;
use crate::tracked::TrackedRtt;
use crate::{Divisor, Fixed, Path};

/// Parameters of [`ThetaPowerTcp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ThetaPowerTcpParams {
    /// Weight γ of a new window.
    pub gamma: Fixed,
    /// N: flows expected to share the sender's link; β = HostBw·τ/N.
    pub flows: Fixed,
    /// Power is divided by this before it is smoothed.
    pub margin: Fixed,
    /// Least θ̇ + 1.
    pub gradient_floor: Fixed,
    /// Whether θ̇ + 1 has no least value and power may be negative.
    pub negative_power: bool,
    /// Time at which the window moves.
    pub update: Update,
    /// Whether a round trip ends beyond the position sent at the last update, not when it is reached.
    pub update_beyond: bool,
    /// Whether τ is the smallest round-trip time when that is below the base RTT.
    pub track_base_rtt: bool,
    /// Whether that smallest RTT is forgotten in time.
    pub forget_base_rtt: bool,
    /// Spacing of packets.
    pub pacing: Pacing,
    /// Largest window, as a multiple of the base BDP.
    pub window_cap: Fixed,
    /// The part of the smallest window and rate that is a fraction of base BDP and line rate.
    pub floor: Fixed,
    /// The part of the smallest rate that is absolute.
    pub floor_rate: Rate,
}

presets! {
    impl ThetaPowerTcpParams {
        "scaled": "ours: as artifact, with a smallest rate of a thousandth of the line's, and a smallest RTT that is forgotten",
        fn scaled() -> Self {
            Self {
                forget_base_rtt: true,
                floor: Fixed::ratio(1, 1000),
                floor_rate: Rate::ZERO,
                ..Self::artifact()
            }
        }

        "artifact": "the authors' public artifact: gamma 0.7, power/1.05, gradient + 1 at least 0.5",
        fn artifact() -> Self {
            Self {
                gamma: Fixed::ratio(7, 10),
                margin: Fixed::ratio(105, 100),
                gradient_floor: Fixed::ratio(1, 2),
                update: Update::Ack,
                update_beyond: true,
                track_base_rtt: true,
                forget_base_rtt: false,
                floor: Fixed::ZERO,
                floor_rate: Rate::from_mbps(100),
                ..Self::paper()
            }
        }

        "paper": "PowerTCP, NSDI'22, Appendix D, Algorithm 2",
        fn paper() -> Self {
            Self {
                gamma: Fixed::ratio(9, 10),
                flows: Fixed::ratio(1000, 6),
                margin: Fixed::ONE,
                gradient_floor: Fixed::ZERO,
                negative_power: false,
                update: Update::Rtt,
                update_beyond: false,
                track_base_rtt: false,
                forget_base_rtt: true,
                pacing: Pacing::Window,
                window_cap: Fixed::ONE,
                floor: Fixed::ratio(1, 1000),
                floor_rate: Rate::ZERO,
            }
        }

        "oscar": "OSCAR's public artifact: window only, power may be negative, the window then the largest",
        fn oscar() -> Self {
            Self { negative_power: true, update_beyond: true, pacing: Pacing::Line, ..Self::paper() }
        }
    }
}

derived! {
    /// Quantities that θ-PowerTCP derives once from its parameters and a path.
    pub struct ThetaPowerTcpDerived of ThetaPowerTcpParams, |params, path| {
        /// Smallest window and rate, as a share of base BDP and line rate.
        pub floor: Fixed = least_share(params.floor, params.floor_rate, path),
        /// β = HostBw·τ/N, as a ratio to the base BDP.
        pub beta: Fixed = Fixed::ONE / params.flows,
        /// Division by the base RTT,
        pub base_rtt: Divisor = Divisor::new(path.base_rtt.ps()),
        /// and by the margin.
        pub margin: Divisor = Divisor::of(params.margin),
    }
}

impl Described for ThetaPowerTcpParams {
    const ABOUT: About = About {
        name: "theta-powertcp",
        title: "θ-PowerTCP",
        summary: "divides the window by the power estimated from round-trip times",
        family: Family::Delay,
        needs: "send times and round-trip times from timestamps of network cards (2015); nothing from switches",
    };
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Ratio "gamma",
            gamma,
            Fixed::ratio(1, 1000),
            Fixed::ONE,
            "weight of a newly computed window",
            Artifact,
            "PowerTCP section 4.1: 0.9; its public artifact: 0.7"
        ),
        shared_param!(flows),
        param!(
            Ratio "margin",
            margin,
            Fixed::ratio(1, 10),
            Fixed::whole(10),
            "power is divided by this before it is smoothed: queueing that is tolerated",
            Artifact,
            "PowerTCP Algorithm 2: 1; its public artifact: 1.05"
        ),
        param!(
            Ratio "gradient_floor",
            gradient_floor,
            Fixed::ZERO,
            Fixed::ONE,
            "least value of the RTT gradient + 1",
            Artifact,
            "PowerTCP Algorithm 2 states none, a negative power is none: 0; its public artifact: 0.5"
        ),
        param!(
            Flag "negative_power",
            negative_power,
            "whether the RTT gradient + 1 has no least value; a negative window is then the largest",
            Derived,
            "PowerTCP Algorithm 2 does not foresee it: false; OSCAR's public artifact: true"
        ),
        param!(
            choice "update",
            update,
            Update,
            "the window moves once per RTT, or with every ack from a reference renewed once per RTT",
            Artifact,
            "PowerTCP Algorithm 2 line 17: rtt; its public artifact: ack"
        ),
        param!(
            Flag "update_beyond",
            update_beyond,
            "whether an RTT ends with an ack beyond the position sent at the last update, not one that reaches it",
            Artifact,
            "PowerTCP Algorithm 2 line 17: false; the public artifacts of PowerTCP and OSCAR: true"
        ),
        param!(
            Flag "track_base_rtt",
            track_base_rtt,
            "whether the smallest RTT serves as base RTT when it is below the configured one",
            Artifact,
            "PowerTCP section 3.3 names it as an alternative; its public artifact: true"
        ),
        param!(
            Flag "forget_base_rtt",
            forget_base_rtt,
            "whether that smallest RTT is forgotten after 12 to 24 base RTTs: one wrong sample otherwise counts for ever",
            Ours,
            "ours; PowerTCP's public artifact: false"
        ),
        shared_param!(pacing, "PowerTCP Algorithm 2 line 6: window; OSCAR's public artifact: line"),
        shared_param!(
            window_cap,
            "PowerTCP Algorithm 2 line 6, rate = cwnd/base RTT at most the line's: 1; its and OSCAR's public artifacts: 1"
        ),
        floor_param!(floor, Artifact, "PowerTCP states none; OSCAR's public artifact: 0.001"),
        floor_param!(floor_rate, Artifact, "OSCAR's public artifact: none; PowerTCP's: 100Mbps"),
    ];
    const KERNEL: Option<Kernel> = Some(Kernel::new("incast_theta", Signals::NONE));

    fn window_limit(&self, path: &Path) -> Option<(Bytes, &'static str)> {
        Some((Bytes::new(self.window_cap.scale(path.bdp().get())), "window_cap"))
    }
}

/// The state of one flow under θ-PowerTCP: 80 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ThetaPowerTcp {
    /// Round-trip time of the last measured acknowledgement (prevRTT).
    previous_rtt: Time,
    /// Time of its arrival (t_c of that acknowledgement); [`Time::NEVER`] before the first.
    previous_at: Time,
    /// τ: the base RTT, or the smallest of late.
    base_rtt: TrackedRtt,
    /// θ̇ + 1, as measured last: the deduced arrival rate at the bottleneck, over its rate. No step reads it.
    arrival: Fixed,
    /// Smoothed normalised power (Γ_smooth).
    power: Fixed,
    /// Window, as a ratio to the base BDP (cwnd).
    window: Fixed,
    /// Window of one round trip ago (cwnd_old).
    old: Fixed,
    /// An acknowledgement from this position on ends a round trip (lastUpdated).
    last_update: u64,
}

impl ThetaPowerTcp {
    /// NORMPOWER of Algorithm 2.
    fn measure(&mut self, setup: &Setup<ThetaPowerTcpParams>, now: Time, rtt: Time) {
        let Setup { params, path, derived, .. } = setup;
        let dt = now - self.previous_at;
        if dt == Time::ZERO {
            return;
        }
        // (θ̇ + 1)·dt = dt + RTT − prevRTT.
        let (grown, previous) = (dt + rtt, self.previous_rtt);
        let gradient = if grown < previous {
            -Fixed::ratio((previous - grown).ps(), dt.ps())
        } else {
            Fixed::ratio((grown - previous).ps(), dt.ps())
        };
        self.arrival = gradient;
        let gradient = if params.negative_power { gradient } else { gradient.max(params.gradient_floor) };
        let tau = self.base_rtt.get();
        let round_trips = |time: Time| {
            if tau == path.base_rtt {
                derived.base_rtt.ratio(time.ps())
            } else {
                Fixed::ratio(time.ps(), tau.ps())
            }
        };
        let power = derived.margin.divide(gradient * round_trips(rtt));
        let weight = if dt >= tau { Fixed::ONE } else { round_trips(dt) };
        self.power += weight * (power - self.power);
        self.previous_rtt = rtt;
        self.previous_at = now;
    }
}

impl CongestionControl for ThetaPowerTcp {
    type Params = ThetaPowerTcpParams;

    const HEARS_SENT: bool = false;

    fn signals(_params: &ThetaPowerTcpParams) -> Signals {
        Signals::NONE
    }

    fn overhead(_params: &ThetaPowerTcpParams) -> Overhead {
        Overhead::default()
    }

    fn new(setup: &Setup<ThetaPowerTcpParams>, now: Time) -> Self {
        let Setup { params, path, .. } = setup;
        let window = Fixed::ONE.min(params.window_cap);
        Self {
            previous_rtt: Time::ZERO,
            previous_at: Time::NEVER,
            base_rtt: TrackedRtt::new(path, now),
            arrival: Fixed::ONE,
            power: Fixed::ONE,
            window,
            old: window,
            last_update: 0,
        }
    }

    relate! { |setup|
        value(): [previous_rtt, power, window, old],
        instant(): [previous_at],
        unread(): [arrival],
        path(&setup.path): [base_rtt],
        ahead(): [last_update],
    }

    fn on_ack(&mut self, setup: &Setup<ThetaPowerTcpParams>, ack: &Ack, _int: &IntStack) {
        let Setup { params, path, derived, .. } = setup;
        let rtt = ack.rtt();
        if params.track_base_rtt {
            self.base_rtt.see(path, ack.now, rtt, params.forget_base_rtt);
        }
        if self.previous_at == Time::NEVER {
            (self.previous_rtt, self.previous_at) = (rtt, ack.now);
            self.last_update = ack.next_sequence;
            return;
        }
        self.measure(setup, ack.now, rtt);
        let round_trip_over =
            ack.sequence > self.last_update || (ack.sequence == self.last_update && !params.update_beyond);
        if params.update == Update::Ack || round_trip_over {
            let window = params.gamma * (self.old / self.power + derived.beta)
                + (Fixed::ONE - params.gamma) * self.old;
            self.window = limited(window, derived.floor, params.window_cap);
        }
        if round_trip_over {
            self.old = self.window;
            self.last_update = ack.next_sequence;
        }
    }

    fn allowance(&self, setup: &Setup<ThetaPowerTcpParams>) -> Allowance {
        let Setup { params, path, bdp, .. } = setup;
        let bdp = if params.track_base_rtt { path.line_rate.bytes_in(self.base_rtt.get()) } else { *bdp };
        params.pacing.allowance(self.window, path, bdp)
    }

    const INTERNALS: &'static [Internal] = &[
        Internal { name: "power", meaning: "smoothed normalised power (Gamma_smooth)" },
        Internal { name: "cwnd_old", meaning: "window of one round trip ago (cwnd_old)" },
        Internal { name: "base_rtt", meaning: "base RTT in use (tau)" },
        Internal { name: "deduced_inflight", meaning: "inflight deduced from the RTT: line rate x RTT" },
        Internal {
            name: "deduced_arrival",
            meaning: "arrival rate over link rate deduced from the RTT: gradient + 1",
        },
    ];

    fn probe(&self, setup: &Setup<ThetaPowerTcpParams>, place: usize) -> Option<Value> {
        match place {
            0 => Some(Value::Ratio(self.power)),
            1 => Some(Value::Bytes(Bytes::new(self.old.scale(setup.bdp.get())))),
            2 => Some(Value::Time(self.base_rtt.get())),
            3 if self.previous_at != Time::NEVER => {
                Some(Value::Bytes(setup.path.line_rate.bytes_in(self.previous_rtt)))
            }
            4 if self.previous_at != Time::NEVER => Some(Value::Ratio(self.arrival)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, PATH, ack, close, us};

    fn acked(flow: &mut ThetaPowerTcp, params: &ThetaPowerTcpParams, ack: &Ack) {
        flow.on_ack(&Setup::new(*params, PATH), ack, &IntStack::EMPTY);
    }

    /// A flow after its first acknowledgement at `us(12)`, which ends its first window at 150 KB.
    fn started(params: &ThetaPowerTcpParams) -> ThetaPowerTcp {
        testing::started(params, &IntStack::EMPTY)
    }

    #[test]
    fn starts_at_line_rate_and_the_first_ack_only_records() {
        let params = ThetaPowerTcpParams::paper();
        let flow = started(&params);
        close(flow.power, 1.0);
        let line = Allowance { window: Bytes::new(150_000), rate: Rate::from_gbps(100) };
        assert_eq!(flow.allowance(&Setup::new(params, PATH)), line);
        // Where the largest window is less than that, with the largest window.
        for (cap, window) in [(Fixed::ratio(1, 2), 75_000), (Fixed::whole(2), 150_000)] {
            let params = ThetaPowerTcpParams { window_cap: cap, ..params };
            let flow = started(&params);
            assert_eq!(flow.allowance(&Setup::new(params, PATH)).window, Bytes::new(window));
        }
        assert_eq!(ThetaPowerTcp::signals(&params), Signals::NONE);
        assert_eq!(ThetaPowerTcp::overhead(&params), Overhead::default());
        assert_eq!(size_of::<ThetaPowerTcp>(), 80);
    }

    #[test]
    fn power_by_hand_and_one_update_per_round_trip() {
        // After 1 us the RTT is 13 us: θ̇ = 1, Γ_norm = 2 · 13/12 = 13/6 (lines 12, 13);
        // Γ_smooth = 1 + (13/6 − 1)/12 = 79/72 (line 14). No update before 150 KB are acknowledged.
        let params = ThetaPowerTcpParams::paper();
        let mut flow = started(&params);
        acked(&mut flow, &params, &ack(us(13), us(13), 2000, 160_000));
        close(flow.power, 79.0 / 72.0);
        close(flow.window, 1.0);
        // What it deduces: 13 us at 100 Gbps in flight, and twice the link's rate arriving.
        let setup = Setup::new(params, PATH);
        assert_eq!(flow.probe(&setup, 3), Some(Value::Bytes(Bytes::new(162_500))));
        assert_eq!(flow.probe(&setup, 4), Some(Value::Ratio(Fixed::whole(2))));
        // 1 us later the RTT is the same: Γ_norm = 13/12, Γ_smooth = 79/72 + (13/12 − 79/72)/12
        // = 79/72 − 1/864 = 947/864. cwnd = 0.9 · (864/947 + 0.006) + 0.1 = 0.926520 (line 20).
        acked(&mut flow, &params, &ack(us(14), us(13), 150_000, 170_000));
        close(flow.power, 947.0 / 864.0);
        close(flow.window, 0.926_519_324);
        assert_eq!((flow.old, flow.last_update), (flow.window, 170_000));
        let window = flow.window;
        acked(&mut flow, &params, &ack(us(15), us(13), 169_999, 180_000));
        assert_eq!(flow.window, window);
    }

    #[test]
    fn the_artifact_moves_with_every_ack() {
        // RTT back from 13 us to 12 us within 1 us: θ̇ + 1 = 0, at least 0.5. Γ_norm = 0.5/1.05 = 10/21.
        // First Γ = 1 + (2 · 13/12/1.05 − 1)/12 = 1.088624339; cwnd = 0.7 · (1/Γ + 0.006) + 0.3.
        let params = ThetaPowerTcpParams::artifact();
        let mut flow = started(&params);
        acked(&mut flow, &params, &ack(us(13), us(13), 2000, 160_000));
        close(flow.power, 1.088_624_339);
        close(flow.window, 0.947_213_366);
        close(flow.old, 1.0);
        acked(&mut flow, &params, &ack(us(14), us(12), 3000, 160_000));
        // Γ = 1.088624339 · 11/12 + 10/21/12; from cwnd_old, not from the window just set.
        close(flow.power, 1.037_588_183);
        close(flow.window, 0.978_841_453);
    }

    #[test]
    fn two_acks_at_the_same_instant_are_harmless() {
        // The second has no gradient. The third is measured against the first: (14 − 12)/2 = 1.
        let params = ThetaPowerTcpParams::paper();
        let mut flow = ThetaPowerTcp::new(&Setup::new(params, PATH), Time::ZERO);
        acked(&mut flow, &params, &ack(us(40), us(12), 1000, 150_000));
        acked(&mut flow, &params, &ack(us(40), us(13), 2000, 160_000));
        assert_eq!((flow.previous_rtt, flow.previous_at), (us(12), us(40)));
        close(flow.power, 1.0);
        acked(&mut flow, &params, &ack(us(42), us(14), 3000, 160_000));
        // Γ_norm = 2 · 14/12, weight 2/12: 1 + (7/3 − 1)/6 = 11/9.
        close(flow.power, 11.0 / 9.0);
    }

    #[test]
    fn a_gradient_below_minus_one_is_no_negative_power() {
        // RTT from 40 us to 12 us within 1 us: θ̇ + 1 = −27 by the letter.
        let params = ThetaPowerTcpParams::paper();
        let mut flow = ThetaPowerTcp::new(&Setup::new(params, PATH), Time::ZERO);
        acked(&mut flow, &params, &ack(us(40), us(40), 1000, 150_000));
        acked(&mut flow, &params, &ack(us(41), us(12), 2000, 150_000));
        close(flow.power, 11.0 / 12.0);
    }

    #[test]
    fn in_oscars_artifact_a_negative_power_gives_the_largest_window() {
        // The same there: Γ_norm = −27 · 12/12, Γ_smooth = (11 − 27)/12 = −4/3. At the end of the round
        // trip cwnd = 0.9 · (0.25/(−4/3) + 0.006) + 0.1 · 0.25 = −0.138: one base BDP, not the floor.
        let params = ThetaPowerTcpParams::oscar();
        let mut flow = ThetaPowerTcp::new(&Setup::new(params, PATH), Time::ZERO);
        acked(&mut flow, &params, &ack(us(40), us(40), 1000, 150_000));
        (flow.old, flow.window) = (Fixed::ratio(1, 4), Fixed::ratio(1, 4));
        let mut before = flow;
        acked(&mut flow, &params, &ack(us(41), us(12), 150_001, 160_000));
        close(flow.power, -4.0 / 3.0);
        close(flow.window, 1.0);
        // With an ack that only reaches what was sent, the round trip is not over.
        acked(&mut before, &params, &ack(us(41), us(12), 150_000, 160_000));
        close(before.power, -4.0 / 3.0);
        close(before.window, 0.25);
    }

    #[test]
    fn where_power_may_be_negative_the_gradient_has_no_floor() {
        // RTT from 13 us to 12.25 us within 1 us: θ̇ + 1 = 1/4, Γ_norm = 1/4 · 12.25/12. With a floor of
        // 1/2 twice as much, unless power may be negative: then the floor does not count at all.
        for (negative_power, gradient) in [(false, 0.5), (true, 0.25)] {
            let params = ThetaPowerTcpParams {
                gradient_floor: Fixed::ratio(1, 2),
                negative_power,
                ..ThetaPowerTcpParams::paper()
            };
            let mut flow = ThetaPowerTcp::new(&Setup::new(params, PATH), Time::ZERO);
            acked(&mut flow, &params, &ack(us(40), us(13), 1000, 150_000));
            acked(&mut flow, &params, &ack(us(41), Time::from_ns(12_250), 2000, 150_000));
            close(flow.power, 1.0 + (gradient * 12.25 / 12.0 - 1.0) / 12.0);
        }
    }

    #[test]
    fn the_smallest_rtt_may_serve_as_base() {
        let params = ThetaPowerTcpParams { track_base_rtt: true, ..ThetaPowerTcpParams::paper() };
        let mut flow = started(&params);
        acked(&mut flow, &params, &ack(us(20), us(6), 2000, 150_000));
        assert_eq!(flow.base_rtt.get(), us(6));
        // θ̇ + 1 = 1 − 6/8 = 1/4; RTT/τ = 1; Δt = 8 us counts 6: Γ = 1/4.
        close(flow.power, 0.25);
        // An RTT of zero, as a hold time as long as the whole RTT makes it, is no base RTT.
        acked(&mut flow, &params, &ack(us(21), Time::ZERO, 3000, 150_000));
        assert_eq!(flow.base_rtt.get(), us(6));
        // Without the option the base RTT stays as it was told: Γ_norm = 1/4 · 6/12, weight 8/12.
        let params = ThetaPowerTcpParams::paper();
        let mut flow = started(&params);
        acked(&mut flow, &params, &ack(us(20), us(6), 2000, 150_000));
        assert_eq!(flow.base_rtt.get(), us(12));
        close(flow.power, 1.0 + (0.125 - 1.0) * 8.0 / 12.0);
    }
}
