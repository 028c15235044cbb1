//! reTCP (Mukerjee et al., "Adapting TCP for Reconfigurable Datacenter Networks", NSDI 2020), the sender: New Reno,
//! with a window that is multiplied when the switch of its rack announces a circuit and divided when the circuit is
//! gone (explicit circuit notification).
//!
//! As in the authors' kernel module the order at an acknowledgement is: growth, then the jump; there is no jump while
//! a loss is repaired; and ssthresh does not jump. The module jumps by 2 in both directions. The default here is 4,
//! the ratio of a circuit of 100 Gbps to a packet network of 25 Gbps, as in PowerTCP (NSDI 2022), section 5.
//!
//! New Reno (RFC 6582) is what is left of it beside the transport, which sends again: a hole halves the window once
//! for everything sent before it was found, a timeout leaves one packet and slow start up to half of the data in
//! flight (RFC 5681). A window that is not used does not grow (RFC 7661).

use incast_units::{Bytes, Time};

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Loss, LossKind, Overhead, Parameters, Path, Setup,
    Signals,
};
use crate::params::{Described, Family, Param, Preset, Value, param};

/// Parameters of [`ReTcp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ReTcpParams {
    /// The window is multiplied by this when a circuit is announced.
    pub up: Fixed,
    /// The window is divided by this when no circuit is announced any more.
    pub down: Fixed,
    /// Packets that the window grows by in a round trip.
    pub increase: Fixed,
    /// Whether the flow starts with `initial_window` and doubles it each round trip.
    pub slow_start: bool,
    /// First window in packets, with slow start.
    pub initial_window: u64,
}

impl ReTcpParams {
    fn powertcp() -> Self {
        Self {
            up: Fixed::whole(4),
            down: Fixed::whole(4),
            increase: Fixed::ONE,
            slow_start: false,
            initial_window: 10,
        }
    }

    fn module() -> Self {
        Self { up: Fixed::whole(2), down: Fixed::whole(2), ..Self::powertcp() }
    }
}

impl Default for ReTcpParams {
    fn default() -> Self {
        Self::powertcp()
    }
}

impl Parameters for ReTcpParams {
    /// A full packet, in bytes.
    type Derived = Fixed;

    fn derive(&self, path: &Path) -> Fixed {
        Fixed::whole(path.packet.get())
    }
}

impl Described for ReTcpParams {
    const NAME: &'static str = "retcp";
    const TITLE: &'static str = "reTCP";
    const SUMMARY: &'static str = "New Reno whose window jumps when a circuit comes and goes";
    const FAMILY: Family = Family::Loss;
    const NEEDS: &'static str = "racks that announce circuits in packets (research emulator: 2020)";
    const PRESETS: &'static [Preset<Self>] = &[
        Preset {
            name: "powertcp",
            meaning: "for the network of PowerTCP, NSDI'22, section 5: circuits four times as fast",
            params: Self::powertcp,
        },
        Preset {
            name: "module",
            meaning: "the defaults of the kernel module of reTCP, NSDI'20: jumps by 2",
            params: Self::module,
        },
    ];
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Ratio "up",
            up,
            Fixed::ONE,
            Fixed::whole(100),
            "the window is multiplied by this when a circuit is announced",
            "the ratio of the rates, 100Gbps to 25Gbps in PowerTCP section 5: 4; reTCP's kernel module (jump_up): 2"
        ),
        param!(
            Ratio "down",
            down,
            Fixed::ONE,
            Fixed::whole(100),
            "the window is divided by this when the circuit is gone",
            "as up: 4; reTCP's kernel module (jump_down): 2"
        ),
        param!(
            Ratio "increase",
            increase,
            Fixed::ZERO,
            Fixed::whole(1000),
            "packets that the window grows by in a round trip",
            "RFC 5681 section 3.1: 1"
        ),
        param!(
            Flag "slow_start",
            slow_start,
            "whether the flow starts with initial_window and doubles it each round trip",
            "false: all algorithms start here with one base BDP; RFC 5681: true"
        ),
        param!(
            Count "initial_window",
            initial_window,
            1,
            10_000,
            "first window in packets, with slow start",
            "RFC 6928: 10"
        ),
    ];
}

/// The state of one flow under reTCP: 40 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ReTcp {
    /// Congestion window in bytes (cwnd).
    window: Fixed,
    /// Slow start below this, in bytes (ssthresh).
    threshold: Fixed,
    /// An acknowledgement beyond this position ends the repair of a loss; everything below was sent before.
    repaired_at: u64,
    /// Where the last timeout found the first unacknowledged byte; `u64::MAX` before the first.
    timed_out: u64,
    /// Whether a loss is being repaired.
    repairing: bool,
    /// Whether the window was multiplied.
    jumped: bool,
}

impl ReTcp {
    fn grow(&mut self, setup: &Setup<ReTcpParams>, ack: &Ack) {
        let acked = Fixed::whole(ack.acked.get());
        let before = Fixed::whole((ack.inflight_now + ack.acked + setup.path.packet).get());
        if before < self.window {
            return;
        }
        self.window += if self.window < self.threshold {
            acked
        } else {
            setup.params.increase * setup.derived * (acked / self.window)
        };
    }

    /// Multiplies or divides the window if a circuit has come or gone.
    fn jump(&mut self, setup: &Setup<ReTcpParams>, circuit: bool) {
        if circuit && !self.jumped {
            self.window = self.window * setup.params.up;
        } else if !circuit && self.jumped {
            self.window = (self.window / setup.params.down).max(setup.derived);
        }
        self.jumped = circuit;
    }
}

impl CongestionControl for ReTcp {
    type Params = ReTcpParams;

    fn signals(_params: &ReTcpParams) -> Signals {
        Signals::CIRCUIT
    }

    fn overhead(_params: &ReTcpParams) -> Overhead {
        Overhead::default()
    }

    fn new(setup: &Setup<ReTcpParams>, _now: Time) -> Self {
        let Setup { params, path, derived, .. } = setup;
        let (window, threshold) = if params.slow_start {
            (path.packet.times(params.initial_window), Fixed::MAX)
        } else {
            (setup.bdp, Fixed::ZERO)
        };
        Self {
            window: Fixed::whole(window.get()).max(*derived),
            threshold,
            repaired_at: 0,
            timed_out: u64::MAX,
            repairing: false,
            jumped: false,
        }
    }

    fn on_ack(&mut self, setup: &Setup<ReTcpParams>, ack: &Ack, _int: &IntStack) {
        if self.repairing && ack.sequence > self.repaired_at {
            self.repairing = false;
        }
        if self.repairing || ack.acked == Bytes::ZERO {
            return;
        }
        self.grow(setup, ack);
        self.jump(setup, ack.circuit);
    }

    fn on_loss(&mut self, setup: &Setup<ReTcpParams>, loss: &Loss) {
        let Setup { path, derived, .. } = setup;
        let half = Fixed::ratio(1, 2);
        let two = *derived + *derived;
        match loss.kind {
            LossKind::Hole | LossKind::Trim if self.repairing && loss.sequence < self.repaired_at => {}
            LossKind::Hole | LossKind::Trim => {
                self.threshold = (self.window * half).max(two);
                self.window = self.threshold;
                self.repairing = true;
                self.repaired_at = loss.next_sequence;
            }
            LossKind::Timeout => {
                // RFC 5681, Equation 4; a second timeout of the same segment leaves ssthresh alone.
                if loss.sequence != self.timed_out {
                    let flight = Bytes::new(loss.next_sequence.saturating_sub(loss.sequence));
                    let flight = flight.times_ratio(path.packet.get(), path.payload.get());
                    self.threshold = (Fixed::whole(flight.get()) * half).max(two);
                }
                self.timed_out = loss.sequence;
                self.window = *derived;
                self.repairing = false;
            }
        }
    }

    fn allowance(&self, setup: &Setup<ReTcpParams>) -> Allowance {
        Allowance { window: Bytes::new(self.window.floor()), rate: setup.path.line_rate }
    }

    const INTERNALS: &'static [Internal] = &[
        Internal {
            name: "ssthresh",
            meaning: "window up to which the flow doubles it each round trip (ssthresh)",
        },
        Internal { name: "jumped", meaning: "whether the window is multiplied, because of a circuit" },
    ];

    fn probe(&self, _setup: &Setup<ReTcpParams>, place: usize) -> Option<Value> {
        match place {
            0 if self.threshold == Fixed::MAX => None,
            0 => Some(Value::Bytes(Bytes::new(self.threshold.floor()))),
            1 => Some(Value::Flag(self.jumped)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PATH, ack, close};

    fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    fn flow(params: &ReTcpParams) -> ReTcp {
        ReTcp::new(&Setup::new(*params, PATH), Time::ZERO)
    }

    /// An acknowledgement up to `sequence` with `next_sequence` sent, of a packet with or without a circuit.
    fn acked(flow: &mut ReTcp, params: &ReTcpParams, sequence: u64, next_sequence: u64, circuit: bool) {
        let ack = Ack { circuit, ..ack(us(100), us(12), sequence, next_sequence) };
        flow.on_ack(&Setup::new(*params, PATH), &ack, &IntStack::EMPTY);
    }

    fn lost(flow: &mut ReTcp, params: &ReTcpParams, kind: LossKind, sequence: u64) {
        let loss = Loss {
            now: us(100),
            kind,
            bytes: Bytes::ZERO,
            sent: Time::ZERO,
            sequence,
            next_sequence: 300_000,
        };
        flow.on_loss(&Setup::new(*params, PATH), &loss);
    }

    #[test]
    fn starts_with_one_bdp_at_line_rate() {
        let params = ReTcpParams::default();
        let full = Allowance { window: Bytes::new(150_000), rate: PATH.line_rate };
        assert_eq!(flow(&params).allowance(&Setup::new(params, PATH)), full);
        assert_eq!(ReTcp::signals(&params), Signals::CIRCUIT);
        assert_eq!(size_of::<ReTcp>(), 40);
        let slow = ReTcpParams { slow_start: true, ..params };
        assert_eq!(flow(&slow).allowance(&Setup::new(slow, PATH)).window, Bytes::new(10_000));
        assert_eq!(flow(&slow).probe(&Setup::new(slow, PATH), 0), None);
    }

    #[test]
    fn the_window_jumps_when_a_circuit_comes_and_when_it_is_gone() {
        // An acknowledgement grows 150 KB by 1000 · 1000/150000 = 6.666667 B, then it jumps.
        let params = ReTcpParams { increase: Fixed::ZERO, ..ReTcpParams::default() };
        let mut by_4 = flow(&params);
        for (circuit, window) in [
            (false, 150_000.0),
            (true, 600_000.0),
            (true, 600_000.0),
            (false, 150_000.0),
            (false, 150_000.0),
            (true, 600_000.0),
        ] {
            acked(&mut by_4, &params, 1000, 100_000, circuit);
            close(by_4.window, window);
            assert_eq!(by_4.probe(&Setup::new(params, PATH), 1), Some(Value::Flag(circuit)));
        }
        // By 2 as in the module; growth comes first: 2 · 150,006.666667.
        let params = ReTcpParams::module();
        let mut by_2 = flow(&params);
        acked(&mut by_2, &params, 1000, 100_000, true);
        let by_hand = 2.0 * 150_006.666_666_667;
        assert!((crate::testing::float(by_2.window) - by_hand).abs() < 1e-5, "{}", by_2.window);
    }

    #[test]
    fn a_loss_puts_a_jump_off_until_it_is_repaired() {
        let params = ReTcpParams { increase: Fixed::ZERO, ..ReTcpParams::default() };
        let mut flow = flow(&params);
        lost(&mut flow, &params, LossKind::Hole, 5000);
        close(flow.window, 75_000.0);
        acked(&mut flow, &params, 300_000, 310_000, true);
        close(flow.window, 75_000.0);
        // Everything sent before the hole was found has arrived.
        acked(&mut flow, &params, 300_001, 310_000, true);
        close(flow.window, 300_000.0);
        // A duplicate acknowledgement changes nothing.
        let duplicate = Ack { acked: Bytes::ZERO, ..ack(us(100), us(12), 300_001, 310_000) };
        flow.on_ack(&Setup::new(params, PATH), &duplicate, &IntStack::EMPTY);
        close(flow.window, 300_000.0);
        // ssthresh does not jump: with the circuit gone the window is below it.
        lost(&mut flow, &params, LossKind::Hole, 300_002);
        acked(&mut flow, &params, 400_000, 410_000, false);
        close(flow.window, 37_500.0);
        close(flow.threshold, 150_000.0);
    }

    #[test]
    fn a_hole_halves_once_and_leaves_two_packets() {
        let params = ReTcpParams::default();
        let mut flow = flow(&params);
        lost(&mut flow, &params, LossKind::Hole, 5000);
        lost(&mut flow, &params, LossKind::Hole, 299_999);
        close(flow.window, 75_000.0);
        lost(&mut flow, &params, LossKind::Hole, 300_000);
        close(flow.window, 37_500.0);
        flow.window = Fixed::whole(3000);
        lost(&mut flow, &params, LossKind::Trim, 300_000);
        close(flow.window, 2000.0);
        assert_eq!(flow.probe(&Setup::new(params, PATH), 0), Some(Value::Bytes(Bytes::new(2000))));
    }

    #[test]
    fn a_timeout_leaves_one_packet_and_slow_start() {
        // 135,000 B of payload in flight, in packets of 900 in 1000 B: 150,000 B; half of them.
        let params = ReTcpParams::default();
        let mut flow = flow(&params);
        lost(&mut flow, &params, LossKind::Timeout, 165_000);
        close(flow.window, 1000.0);
        close(flow.threshold, 75_000.0);
        // Another one of the same segment leaves ssthresh alone.
        let again = Loss {
            now: us(200),
            kind: LossKind::Timeout,
            bytes: Bytes::ZERO,
            sent: Time::ZERO,
            sequence: 165_000,
            next_sequence: 165_900,
        };
        flow.on_loss(&Setup::new(params, PATH), &again);
        close(flow.threshold, 75_000.0);
        for n in 0..74 {
            acked(&mut flow, &params, 168_000 + n, 169_000 + n, false);
        }
        close(flow.window, 75_000.0);
        acked(&mut flow, &params, 169_000, 170_000, false);
        assert!(flow.window > Fixed::whole(75_013) && flow.window < Fixed::whole(75_014));
        // A packet is the least, however much is divided.
        let mut flow = ReTcp { jumped: true, window: Fixed::whole(2000), ..flow };
        acked(&mut flow, &params, 170_000, 171_000, false);
        close(flow.window, 1000.0);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let params = ReTcpParams::default();
        let idle = Ack { inflight_now: Bytes::new(147_999), ..ack(us(100), us(12), 1000, 41_000) };
        for (inflight_now, grows) in [(147_999, false), (148_000, true)] {
            let mut flow = flow(&params);
            let ack = Ack { inflight_now: Bytes::new(inflight_now), ..idle };
            flow.on_ack(&Setup::new(params, PATH), &ack, &IntStack::EMPTY);
            assert_eq!(flow.window > Fixed::whole(150_000), grows, "{inflight_now}");
        }
    }
}
