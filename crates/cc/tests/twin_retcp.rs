//! reTCP against an f64 twin, with circuits that come and go, losses and timeouts.

mod bottleneck;
mod floats;
mod reno;

use bottleneck::{Script, Twin, agree, every_option_matters, script};
use floats::real;
use incast_cc::newreno::NewRenoParams;
use incast_cc::params::Value;
use incast_cc::retcp::{ReTcp, ReTcpParams};
use incast_cc::{Ack, Fixed, IntStack, Loss, Path};
use incast_units::{Bytes, Time};
use reno::Reno;

/// New Reno, and the jumps; in packets.
struct ReTcpTwin {
    p: ReTcpParams,
    reno: Reno,
    has_circuit: bool,
}

impl ReTcpTwin {
    fn new(p: ReTcpParams, path: Path) -> Self {
        Self { reno: Reno::new(&p.reno, path), p, has_circuit: false }
    }
}

impl Twin for ReTcpTwin {
    fn ack(&mut self, ack: &Ack, _int: &IntStack) {
        if self.reno.recovers(ack) || ack.acked == Bytes::ZERO {
            return;
        }
        self.reno.grow(ack);
        let cwnd = &mut self.reno.cwnd;
        match (self.has_circuit, ack.circuit) {
            (false, true) => *cwnd *= real(self.p.up),
            (true, false) => *cwnd = (*cwnd / real(self.p.down)).max(1.0),
            _ => {}
        }
        self.has_circuit = ack.circuit;
    }

    fn loss(&mut self, loss: &Loss) {
        self.reno.loss(loss);
    }

    fn allowance(&self) -> (f64, f64) {
        self.reno.allowance()
    }
}

/// Circuits for 225 us, and none for as long.
fn circuits(seed: u64, flows: usize) -> Script {
    Script { loss_every: 700, circuit_every: Time::from_us(225), ..script(seed, flows, Time::from_ms(4)) }
}

/// The bound is the whole byte to which an allowance is cut, and 1e-6: a step is resolved to 2^-32 of a packet.
#[test]
fn agrees_with_its_twin() {
    let (usual, module) = (
        ReTcpParams::default(),
        ReTcpParams { up: Fixed::whole(2), down: Fixed::whole(2), ..ReTcpParams::default() },
    );
    let slow = ReTcpParams { reno: NewRenoParams { slow_start: true, ..usual.reno }, ..usual };
    let uneven = ReTcpParams { down: Fixed::ratio(7, 2), ..usual };
    for (name, params, script) in [
        ("by 4", usual, circuits(1, 12)),
        ("by 2", module, circuits(2, 12)),
        ("slow start", slow, circuits(3, 12)),
        ("up by 4, down by 3.5", uneven, circuits(4, 30)),
        ("few losses", usual, Script { loss_every: 20_000, ..circuits(5, 3) }),
    ] {
        let outcome = agree::<ReTcp, _>(name, params, &script, ReTcpTwin::new);
        assert!(outcome.acks > 20_000, "{name}: {}", outcome.acks);
    }
}

#[test]
fn every_option_changes_something() {
    let usual = ReTcpParams::default();
    let slow = ReTcpParams { reno: NewRenoParams { slow_start: true, ..usual.reno }, ..usual };
    let cases = [
        (usual, "up", Value::Ratio(Fixed::whole(2))),
        (usual, "down", Value::Ratio(Fixed::whole(2))),
        (usual, "increase", Value::Ratio(Fixed::whole(3))),
        (usual, "slow_start", Value::Flag(true)),
        (slow, "initial_window", Value::Count(2)),
    ];
    every_option_matters::<ReTcp>(&circuits(1, 12), &cases);
}
