//! PowerTCP (Addanki, Michel and Schmid, NSDI'22), Algorithm 1.
//!
//! Power is current (what arrives at a port) times voltage (its queue and BDP). It equals the
//! aggregate window times the port's rate (Property 1), so that dividing by it steps at once to the
//! window that just fills the port.
//!
//! Algorithm 1 as it is read here: line 20 compares Γ′ with Γ_norm, and line 21 assigns it, where the
//! normalised power Γ′_norm of line 19 is meant; the first acknowledgement only records its
//! telemetry (prevInt is not defined before), and so does one with another number of hops; Δt counts
//! at most τ, so that the weight of line 24 stays within 1; cwnd_old is renewed once per round trip,
//! with the window just computed (line 7).
//!
//! Windows are kept as a ratio to the base BDP; as rate = cwnd/τ (line 6), that is also the ratio of
//! the rate to the line rate.
//!
//! The public artifact of the authors takes the arrival rate from a counter of enqueued bytes. The
//! telemetry here has no such counter and lines 12 to 14 say how to do without; where nothing is
//! dropped the two are the same.

use incast_units::{Bytes, Rate, Time};

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntHop, IntStack, Overhead, Parameters, Path, Setup, Signals,
};
use crate::params::{Described, Param, Preset, choice, param};

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
    /// How packets are spaced.
    Pacing {
        /// At cwnd/τ (line 6).
        Window = "window",
        /// At line rate while the window holds a packet, at cwnd/τ below.
        Line = "line",
    }
}

impl Pacing {
    /// What a window of `ratio` base BDP allows.
    pub(crate) fn allowance(self, ratio: Fixed, path: &Path) -> Allowance {
        let window = Bytes::new(ratio.scale(path.bdp().get())).max(Bytes::new(1));
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
    /// The window in the last term of the update.
    pub last_term: LastTerm,
    /// How packets are spaced.
    pub pacing: Pacing,
    /// Largest window, as a multiple of the base BDP.
    pub window_cap: Fixed,
    /// Smallest window and rate, as a fraction of base BDP and line rate.
    pub floor: Fixed,
}

impl PowerTcpParams {
    fn paper() -> Self {
        Self {
            gamma: Fixed::ratio(9, 10),
            flows: Fixed::ratio(1000, 6),
            target: Fixed::ONE,
            arrival_floor: Fixed::ZERO,
            last_term: LastTerm::Current,
            pacing: Pacing::Window,
            window_cap: Fixed::whole(2),
            floor: Fixed::ratio(1, 1000),
        }
    }

    fn artifact() -> Self {
        Self {
            target: Fixed::ratio(95, 100),
            arrival_floor: Fixed::ratio(1, 2),
            last_term: LastTerm::Old,
            window_cap: Fixed::ONE,
            ..Self::paper()
        }
    }

    fn oscar() -> Self {
        Self {
            target: Fixed::ratio(95, 100),
            last_term: LastTerm::Old,
            pacing: Pacing::Line,
            window_cap: Fixed::ONE,
            ..Self::paper()
        }
    }
}

impl Default for PowerTcpParams {
    fn default() -> Self {
        Self::paper()
    }
}

impl Parameters for PowerTcpParams {
    type Derived = ();

    fn derive(&self, _path: &Path) {}
}

impl Described for PowerTcpParams {
    const NAME: &'static str = "powertcp";
    const TITLE: &'static str = "PowerTCP";
    const SUMMARY: &'static str = "divides the window by the power measured by in-band telemetry";
    const PRESETS: &'static [Preset<Self>] = &[
        Preset { name: "paper", meaning: "PowerTCP, NSDI'22, Algorithm 1", params: Self::paper },
        Preset {
            name: "artifact",
            meaning: "the authors' public artifact: power/0.95, arrival rate at least half the port's",
            params: Self::artifact,
        },
        Preset {
            name: "oscar",
            meaning: "OSCAR's public artifact: power/0.95, window only, at most one base BDP",
            params: Self::oscar,
        },
    ];
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Ratio "gamma",
            gamma,
            Fixed::ratio(1, 1000),
            Fixed::ONE,
            "weight of a newly computed window",
            "PowerTCP section 3.3: 0.9"
        ),
        param!(
            Ratio "flows",
            flows,
            Fixed::ONE,
            Fixed::whole(1_000_000),
            "N, the flows expected to share the sender's link: an update adds 1/N of the base BDP",
            "PowerTCP section 3.3 leaves N open; both public artifacts add 0.006 of the BDP: N = 166.7"
        ),
        param!(
            Ratio "target",
            target,
            Fixed::ratio(1, 10),
            Fixed::whole(10),
            "power is divided by this before it is used: a target utilisation",
            "PowerTCP Algorithm 1: 1; the public artifacts of PowerTCP and OSCAR: 0.95"
        ),
        param!(
            Ratio "arrival_floor",
            arrival_floor,
            Fixed::ZERO,
            Fixed::ONE,
            "least arrival rate of a port that is believed, as a fraction of its rate",
            "PowerTCP Algorithm 1: none; its public artifact: 0.5; OSCAR's: off"
        ),
        param!(
            choice "last_term",
            last_term,
            LastTerm,
            "whether the part of the window that is kept is that of now or that of one RTT ago",
            "PowerTCP Algorithm 1 line 27: current; the public artifacts of PowerTCP and OSCAR: old"
        ),
        param!(
            choice "pacing",
            pacing,
            Pacing,
            "packets leave at window/base RTT, or at line rate while the window holds a packet",
            "PowerTCP Algorithm 1 line 6: window; OSCAR's public artifact: line"
        ),
        param!(
            Ratio "window_cap",
            window_cap,
            Fixed::ratio(1, 10),
            Fixed::whole(1000),
            "largest window as a multiple of the base BDP",
            "PowerTCP states none, its equilibrium is BDP + beta: 2; its and OSCAR's public artifacts: 1"
        ),
        param!(
            Ratio "floor",
            floor,
            Fixed::ratio(1, 10_000),
            Fixed::ONE,
            "smallest window and rate as a fraction of base BDP and line rate",
            "OSCAR's public artifact: 0.001"
        ),
    ];
}

/// The state of one flow under PowerTCP: 200 bytes, of which 168 are the telemetry of the last
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
    /// An acknowledgement beyond this position renews `old`.
    last_update: u64,
}

/// Normalised power of one port between two records of it (lines 11 to 19), and the time between
/// them. `None` when the second is not later than the first, or of another port because its counter
/// runs backwards: then it says nothing.
fn power(params: &PowerTcpParams, before: &IntHop, now: &IntHop, base_rtt: Time) -> Option<(Fixed, Time)> {
    let dt = now.at - before.at;
    if dt == Time::ZERO {
        return None;
    }
    // λ·dt = (q̇ + µ)·dt: what left plus what the queue grew by, that is, what arrived. It cannot be
    // negative, so the sum is taken before the difference.
    let arrived = (now.transmitted.checked_sub(before.transmitted)? + now.queue) - before.queue;
    let current = Fixed::ratio(Rate::of(arrived, dt).bps(), now.rate.bps()).max(params.arrival_floor);
    let voltage = Fixed::ONE + Fixed::ratio(now.queue.get(), now.rate.bytes_in(base_rtt).get());
    Some((current * voltage, dt))
}

impl PowerTcp {
    /// NORMPOWER of Algorithm 1. Says whether there was anything to measure.
    fn measure(&mut self, params: &PowerTcpParams, path: &Path, int: &IntStack) -> bool {
        let mut strongest: Option<(Fixed, Time)> = None;
        for ((_, before), (_, now)) in self.previous.iter().zip(int.iter()) {
            if let Some((power, dt)) = power(params, before, now, path.base_rtt)
                && strongest.is_none_or(|(largest, _)| power > largest)
            {
                strongest = Some((power, dt));
            }
        }
        let Some((power, dt)) = strongest else { return false };
        let weight =
            Fixed::ratio(dt.min(path.base_rtt).ps(), path.base_rtt.ps()).clamp_to(Fixed::ZERO, Fixed::ONE);
        self.power += weight * (power - self.power);
        true
    }
}

impl CongestionControl for PowerTcp {
    type Params = PowerTcpParams;

    fn signals(_params: &PowerTcpParams) -> Signals {
        Signals::INT
    }

    fn overhead(_params: &PowerTcpParams) -> Overhead {
        Overhead { data: 42, ack: 42 }
    }

    fn new(setup: &Setup<PowerTcpParams>, _now: Time) -> Self {
        let Setup { params, .. } = setup;
        let window = Fixed::ONE.min(params.window_cap);
        Self { previous: IntStack::EMPTY, power: Fixed::ONE, window, old: window, last_update: 0 }
    }

    fn on_ack(&mut self, setup: &Setup<PowerTcpParams>, ack: &Ack, int: &IntStack) {
        let Setup { params, path, .. } = setup;
        let (first, measured) = (self.previous.count != int.count, self.measure(params, path, int));
        self.previous = *int;
        if first {
            self.last_update = ack.next_sequence;
        }
        if first || !measured {
            return;
        }
        let kept = match params.last_term {
            LastTerm::Current => self.window,
            LastTerm::Old => self.old,
        };
        let beta = Fixed::ONE / params.flows;
        self.window = (params.gamma * (self.old / (self.power / params.target) + beta)
            + (Fixed::ONE - params.gamma) * kept)
            .clamp_to(params.floor, params.window_cap);
        if ack.sequence > self.last_update {
            self.old = self.window;
            self.last_update = ack.next_sequence;
        }
    }

    fn allowance(&self, setup: &Setup<PowerTcpParams>) -> Allowance {
        let Setup { params, path, .. } = setup;
        params.pacing.allowance(self.window, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PATH, ack, close, port, then};

    const RTT: Time = Time::from_us(12);

    fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    /// A flow after its first acknowledgement at `us(12)`, from a port with `queue` bytes.
    fn started(params: &PowerTcpParams, queue: u64) -> PowerTcp {
        let mut flow = PowerTcp::new(&Setup::new(*params, PATH), Time::ZERO);
        flow.on_ack(&Setup::new(*params, PATH), &ack(us(12), RTT, 1000, 150_000), &port(us(12), queue, 0));
        flow
    }

    #[test]
    fn starts_at_line_rate_and_the_first_ack_only_records() {
        let params = PowerTcpParams::default();
        let flow = started(&params, 99_000);
        close(flow.power, 1.0);
        let line = Allowance { window: Bytes::new(150_000), rate: Rate::from_gbps(100) };
        assert_eq!(flow.allowance(&Setup::new(params, PATH)), line);
        assert_eq!(PowerTcp::signals(&params), Signals::INT);
        assert_eq!(PowerTcp::overhead(&params), Overhead { data: 42, ack: 42 });
        assert_eq!(size_of::<PowerTcp>(), 200);
    }

    #[test]
    fn a_growing_queue_by_hand() {
        // In 1 us the port sent 12.5 KB (µ = B) and its queue grew from 0 to 12.5 KB (q̇ = B):
        // λ = 2B (lines 12 to 14). v = 12.5 KB + 150 KB = 13/12 BDP (line 16).
        // Γ_norm = 2 · 13/12 = 13/6 (line 19). Γ_smooth = 1 + (13/6 − 1)/12 = 79/72 (line 24).
        // cwnd = 0.9 · (72/79 + 0.006) + 0.1 = 0.925653165 (line 27).
        let params = PowerTcpParams::default();
        let mut flow = started(&params, 0);
        flow.on_ack(
            &Setup::new(params, PATH),
            &ack(us(13), RTT, 2000, 160_000),
            &port(us(13), 12_500, 12_500),
        );
        close(flow.power, 79.0 / 72.0);
        close(flow.window, 0.925_653_165);
        // rate = cwnd/τ (line 6).
        assert_eq!(flow.allowance(&Setup::new(params, PATH)).rate.bps() / 1000, 92_565_316);
    }

    #[test]
    fn a_draining_queue_is_less_power_than_its_length() {
        // The queue fell from 150 KB to 137.5 KB while 12.5 KB left: nothing arrived, λ = 0.
        // Γ_smooth = 11/12; cwnd = 0.9 · (12/11 + 0.006) + 0.1 = 1.087218182.
        let params = PowerTcpParams::default();
        let mut flow = started(&params, 150_000);
        flow.on_ack(
            &Setup::new(params, PATH),
            &ack(us(13), RTT, 2000, 160_000),
            &port(us(13), 137_500, 12_500),
        );
        close(flow.power, 11.0 / 12.0);
        close(flow.window, 1.087_218_182);
        // A rate is never above the line's, a window above one BDP may be.
        let allowance = flow.allowance(&Setup::new(params, PATH));
        assert_eq!((allowance.window.get(), allowance.rate), (163_082, Rate::from_gbps(100)));
        // With the arrival floor of the public artifact, λ = B/2 and v = 1 + 137.5/150:
        // Γ_norm = 23/24, Γ_smooth = 287/288; /0.95; cwnd = 0.9 · (0.95 · 288/287 + 0.006) + 0.1 =
        // 0.963379094.
        let params = PowerTcpParams::artifact();
        let mut flow = started(&params, 150_000);
        flow.on_ack(
            &Setup::new(params, PATH),
            &ack(us(13), RTT, 2000, 160_000),
            &port(us(13), 137_500, 12_500),
        );
        close(flow.power, 287.0 / 288.0);
        close(flow.window, 0.963_379_094);
    }

    #[test]
    fn the_old_window_is_that_of_one_round_trip_ago() {
        // Γ_norm = 2 with every ack: µ = B and a standing queue of one BDP. Δt of 12 us: no average.
        // From cwnd_old = 1: 0.9 · 0.5 + 0.1 · 1 = 0.55, then 0.9 · 0.5 + 0.1 · 0.55 = 0.505.
        let params = PowerTcpParams { flows: Fixed::MAX, ..PowerTcpParams::default() };
        let mut flow = started(&params, 150_000);
        for (n, sequence, window, old) in [
            (1, 2000, 0.55, 1.0),
            // This one acknowledges what was sent after the first: it renews cwnd_old.
            (2, 150_001, 0.505, 0.505),
            // 0.9 · 0.2525 + 0.1 · 0.505
            (3, 151_000, 0.277_75, 0.505),
        ] {
            let int = port(us(12 + 12 * n), 150_000, 150_000 * n);
            flow.on_ack(&Setup::new(params, PATH), &ack(us(12 + 12 * n), RTT, sequence, 200_000), &int);
            close(flow.power, 2.0);
            close(flow.window, window);
            close(flow.old, old);
        }
        // With last_term = old the second would have been 0.9 · 0.5 + 0.1 · 1 again.
        let params = PowerTcpParams { last_term: LastTerm::Old, ..params };
        let mut flow = started(&params, 150_000);
        for n in 1..3 {
            let int = port(us(12 + 12 * n), 150_000, 150_000 * n);
            flow.on_ack(&Setup::new(params, PATH), &ack(us(12 + 12 * n), RTT, 2000, 200_000), &int);
            close(flow.window, 0.55);
        }
    }

    #[test]
    fn a_long_silence_counts_as_one_round_trip() {
        // Δt = 120 us > τ: the average is the new value, not nine times beyond it.
        let params = PowerTcpParams::default();
        let mut flow = started(&params, 0);
        flow.on_ack(&Setup::new(params, PATH), &ack(us(132), RTT, 2000, 160_000), &port(us(132), 0, 750_000));
        close(flow.power, 0.5);
    }

    #[test]
    fn the_most_powerful_port_counts() {
        let params = PowerTcpParams::default();
        let mut flow = PowerTcp::new(&Setup::new(params, PATH), Time::ZERO);
        let first = then(port(us(10), 0, 0), &port(us(12), 0, 0));
        flow.on_ack(&Setup::new(params, PATH), &ack(us(18), RTT, 1000, 2000), &first);
        // 0.25 and 0.75 of the rate in 12 us.
        let second = then(port(us(22), 0, 37_500), &port(us(24), 0, 112_500));
        flow.on_ack(&Setup::new(params, PATH), &ack(us(30), RTT, 2000, 3000), &second);
        close(flow.power, 0.75);
    }

    #[test]
    fn records_that_say_nothing_change_nothing() {
        let params = PowerTcpParams::default();
        let mut flow = started(&params, 0);
        flow.on_ack(
            &Setup::new(params, PATH),
            &ack(us(13), RTT, 2000, 150_000),
            &port(us(13), 150_000, 12_500),
        );
        for int in [port(us(13), 900_000, 99_999), port(us(9), 900_000, 0), port(us(20), 900_000, 3)] {
            let mut later = flow;
            later.on_ack(&Setup::new(params, PATH), &ack(us(20), RTT, 3000, 150_000), &int);
            assert_eq!((later.window, later.power), (flow.window, flow.power));
        }
        let mut later = flow;
        let int = then(port(us(20), 900_000, 20_000), &port(us(21), 900_000, 20_000));
        later.on_ack(&Setup::new(params, PATH), &ack(us(27), RTT, 3000, 150_000), &int);
        assert_eq!((later.window, later.previous.count), (flow.window, 2));
    }

    #[test]
    fn pacing_and_limits() {
        // Window only: line rate while a packet (1000 B of 150 KB) fits, cwnd/τ below.
        let two = Pacing::Line.allowance(Fixed::ratio(2, 150), &PATH);
        assert_eq!((two.window.get(), two.rate), (1999, Rate::from_gbps(100)));
        let half = Pacing::Line.allowance(Fixed::ratio(1, 300), &PATH);
        assert_eq!(half, Pacing::Window.allowance(Fixed::ratio(1, 300), &PATH));
        assert_eq!(half.rate.bps() / 100_000, 3333);
        // Enormous power: the floor. None at all: the cap.
        let params = PowerTcpParams::default();
        let mut flow = started(&params, 0);
        flow.on_ack(
            &Setup::new(params, PATH),
            &ack(us(24), RTT, 2000, 3000),
            &port(us(24), u64::MAX / 2, u64::MAX),
        );
        close(flow.power, 2_147_483_647.999_999_9);
        assert!(flow.window <= Fixed::ratio(107, 1000));
        let mut flow = started(&params, 150_000);
        flow.on_ack(&Setup::new(params, PATH), &ack(us(24), RTT, 2000, 3000), &port(us(24), 0, 0));
        close(flow.window, 2.0);
    }
}
