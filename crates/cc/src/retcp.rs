//! reTCP (Mukerjee et al., "Adapting TCP for Reconfigurable Datacenter Networks", NSDI 2020), the sender: New Reno,
//! with a window that is multiplied when the switch of its rack announces a circuit and divided when the circuit is
//! gone (explicit circuit notification).
//!
//! As in the authors' kernel module the order at an acknowledgement is: growth, then the jump; there is no jump while
//! a loss is repaired; and ssthresh does not jump. The module jumps by 2 in both directions. The default here is 4,
//! the ratio of a circuit of 100 Gbps to a packet network of 25 Gbps, as in PowerTCP (NSDI 2022), section 5.
//!
//! New Reno is implemented in [`crate::newreno`].

use incast_units::Time;

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Loss, Overhead, Parameters, Path, Setup, Signals,
};
use crate::newreno::{NewReno, NewRenoParams, SSTHRESH, reno};
use crate::params::{About, Described, Family, Param, Value, param, presets};
use crate::relative::relate;

/// Parameters of [`ReTcp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ReTcpParams {
    /// The window is multiplied by this when a circuit is announced.
    pub up: Fixed,
    /// The window is divided by this when no circuit is announced any more.
    pub down: Fixed,
    /// Parameters of New Reno.
    pub reno: NewRenoParams,
}

presets! {
    impl ReTcpParams {
        "powertcp": "for the network of PowerTCP, NSDI'22, section 5: circuits four times as fast",
        fn powertcp() -> Self {
            Self { up: Fixed::whole(4), down: Fixed::whole(4), reno: NewRenoParams::avoidance() }
        }

        "module": "the defaults of the kernel module of reTCP, NSDI'20: jumps by 2",
        fn module() -> Self {
            Self { up: Fixed::whole(2), down: Fixed::whole(2), ..Self::powertcp() }
        }
    }
}

impl Parameters for ReTcpParams {
    /// A full packet, in bytes.
    type Derived = Fixed;

    fn derive(&self, path: &Path) -> Fixed {
        self.reno.derive(path)
    }
}

impl Described for ReTcpParams {
    const ABOUT: About = About {
        name: "retcp",
        title: "reTCP",
        summary: "New Reno whose window jumps when a circuit comes and goes",
        family: Family::Loss,
        needs: "racks that announce circuits in packets (research emulator: 2020)",
    };
    const PARAMS: &'static [Param<Self>] = reno!(
        [reno.],
        { slow_start: Ours },
        param!(
            Ratio "up",
            up,
            Fixed::ONE,
            Fixed::whole(100),
            "the window is multiplied by this when a circuit is announced",
            Derived,
            "the ratio of the rates, 100Gbps to 25Gbps in PowerTCP section 5: 4; reTCP's kernel module (jump_up): 2"
        ),
        param!(
            Ratio "down",
            down,
            Fixed::ONE,
            Fixed::whole(100),
            "the window is divided by this when the circuit is gone",
            Derived,
            "as up: 4; reTCP's kernel module (jump_down): 2"
        ),
    );
}

/// The state of one flow under reTCP: 48 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ReTcp {
    reno: NewReno,
    /// Whether the window was multiplied.
    jumped: bool,
}

impl ReTcp {
    /// Multiplies or divides the window if a circuit has come or gone.
    fn jump(&mut self, setup: &Setup<ReTcpParams>, circuit: bool) {
        if circuit && !self.jumped {
            self.reno.window = self.reno.window * setup.params.up;
        } else if !circuit && self.jumped {
            self.reno.window = (self.reno.window / setup.params.down).max(setup.derived);
        }
        self.jumped = circuit;
    }
}

impl CongestionControl for ReTcp {
    type Params = ReTcpParams;

    const HEARS_SENT: bool = false;

    fn signals(_params: &ReTcpParams) -> Signals {
        Signals::CIRCUIT
    }

    fn overhead(_params: &ReTcpParams) -> Overhead {
        Overhead::default()
    }

    fn new(setup: &Setup<ReTcpParams>, _now: Time) -> Self {
        Self { reno: NewReno::start(&setup.params.reno, &setup.path), jumped: false }
    }

    relate! { |setup|
        part(): [reno],
        value(): [jumped],
    }

    fn on_ack(&mut self, setup: &Setup<ReTcpParams>, ack: &Ack, _int: &IntStack) {
        if self.reno.acknowledged(&setup.params.reno, &setup.path, ack) {
            self.jump(setup, ack.circuit);
        }
    }

    fn on_loss(&mut self, setup: &Setup<ReTcpParams>, loss: &Loss) {
        self.reno.lost(&setup.path, loss);
    }

    fn allowance(&self, setup: &Setup<ReTcpParams>) -> Allowance {
        self.reno.allow(&setup.path)
    }

    const INTERNALS: &'static [Internal] = &[
        SSTHRESH,
        Internal { name: "jumped", meaning: "whether the window is multiplied, because of a circuit" },
    ];

    fn probe(&self, _setup: &Setup<ReTcpParams>, place: usize) -> Option<Value> {
        match place {
            0 => self.reno.ssthresh(),
            1 => Some(Value::Flag(self.jumped)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use incast_units::Bytes;

    use super::*;
    use crate::contract::LossKind;
    use crate::testing::{PATH, ack, close, flow, lost, us};

    /// Without growth.
    fn still() -> ReTcpParams {
        let usual = ReTcpParams::default();
        ReTcpParams { reno: NewRenoParams { increase: Fixed::ZERO, ..usual.reno }, ..usual }
    }

    /// An acknowledgement up to `sequence` with `next_sequence` sent, of a packet with or without a circuit.
    fn acked(flow: &mut ReTcp, params: &ReTcpParams, sequence: u64, next_sequence: u64, circuit: bool) {
        let ack = Ack { circuit, ..ack(us(100), us(12), sequence, next_sequence) };
        flow.on_ack(&Setup::new(*params, PATH), &ack, &IntStack::EMPTY);
    }

    #[test]
    fn starts_with_one_bdp_at_line_rate() {
        let params = ReTcpParams::default();
        let full = Allowance { window: Bytes::new(150_000), rate: PATH.line_rate };
        assert_eq!(flow::<ReTcp>(&params).allowance(&Setup::new(params, PATH)), full);
        assert_eq!(ReTcp::signals(&params), Signals::CIRCUIT);
        assert_eq!(size_of::<ReTcp>(), 48);
        let slow = ReTcpParams { reno: NewRenoParams { slow_start: true, ..params.reno }, ..params };
        assert_eq!(flow::<ReTcp>(&slow).allowance(&Setup::new(slow, PATH)).window, Bytes::new(10_000));
        assert_eq!(flow::<ReTcp>(&slow).probe(&Setup::new(slow, PATH), 0), None);
    }

    #[test]
    fn the_window_jumps_when_a_circuit_comes_and_when_it_is_gone() {
        // An acknowledgement grows 150 KB by 1000 · 1000/150000 = 6.666667 B, then it jumps.
        let params = still();
        let mut by_4 = flow::<ReTcp>(&params);
        for (circuit, window) in [
            (false, 150_000.0),
            (true, 600_000.0),
            (true, 600_000.0),
            (false, 150_000.0),
            (false, 150_000.0),
            (true, 600_000.0),
        ] {
            acked(&mut by_4, &params, 1000, 100_000, circuit);
            close(by_4.reno.window, window);
            assert_eq!(by_4.probe(&Setup::new(params, PATH), 1), Some(Value::Flag(circuit)));
        }
        // By 2 as in the module; growth comes first: 2 · 150,006.666667.
        let params = ReTcpParams::module();
        let mut by_2 = flow::<ReTcp>(&params);
        acked(&mut by_2, &params, 1000, 100_000, true);
        let by_hand = 2.0 * 150_006.666_666_667;
        assert!((crate::testing::float(by_2.reno.window) - by_hand).abs() < 1e-5, "{}", by_2.reno.window);
    }

    #[test]
    fn a_loss_puts_a_jump_off_until_it_is_repaired() {
        let params = still();
        let mut flow = flow::<ReTcp>(&params);
        lost(&mut flow, &params, LossKind::Hole, 5000);
        close(flow.reno.window, 75_000.0);
        acked(&mut flow, &params, 299_999, 310_000, true);
        close(flow.reno.window, 75_000.0);
        // Everything sent before the hole was found has arrived.
        acked(&mut flow, &params, 300_000, 310_000, true);
        close(flow.reno.window, 300_000.0);
        // A duplicate acknowledgement changes nothing.
        let duplicate = Ack { acked: Bytes::ZERO, ..ack(us(100), us(12), 300_001, 310_000) };
        flow.on_ack(&Setup::new(params, PATH), &duplicate, &IntStack::EMPTY);
        close(flow.reno.window, 300_000.0);
        // ssthresh does not jump: with the circuit gone the window is below it.
        lost(&mut flow, &params, LossKind::Hole, 300_002);
        acked(&mut flow, &params, 400_000, 410_000, false);
        close(flow.reno.window, 37_500.0);
        close(flow.reno.threshold, 150_000.0);
    }

    #[test]
    fn a_packet_is_the_least_however_much_is_divided() {
        let params = ReTcpParams::default();
        let mut flow = ReTcp { jumped: true, ..flow::<ReTcp>(&params) };
        flow.reno.window = Fixed::whole(2000);
        acked(&mut flow, &params, 170_000, 171_000, false);
        close(flow.reno.window, 1000.0);
    }
}
