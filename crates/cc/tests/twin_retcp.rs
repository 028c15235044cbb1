//! reTCP against an f64 twin, with circuits that come and go, losses and timeouts.

mod bottleneck;
mod floats;

use bottleneck::{Script, Twin, agree, every_option_matters, script};
use floats::real;
use incast_cc::newreno::NewRenoParams;
use incast_cc::params::Value;
use incast_cc::retcp::{ReTcp, ReTcpParams};
use incast_cc::{Ack, Fixed, IntStack, Loss, LossKind, Path};
use incast_units::Time;

/// The congestion avoidance and slow start of RFC 5681, the one cut in a recovery of RFC 6582, and the jumps; in
/// packets.
struct ReTcpTwin {
    p: ReTcpParams,
    path: Path,
    cwnd: f64,
    ssthresh: f64,
    /// Until when a recovery lasts.
    recover: Option<u64>,
    timed_out: Option<u64>,
    has_circuit: bool,
}

impl ReTcpTwin {
    fn new(p: ReTcpParams, path: Path) -> Self {
        let bdp = path.bdp().get() as f64 / path.packet.get() as f64;
        let (cwnd, ssthresh) =
            if p.reno.slow_start { (p.reno.initial_window as f64, f64::INFINITY) } else { (bdp, 0.0) };
        Self { p, path, cwnd: cwnd.max(1.0), ssthresh, recover: None, timed_out: None, has_circuit: false }
    }
}

impl Twin for ReTcpTwin {
    fn ack(&mut self, ack: &Ack, _int: &IntStack) {
        if self.recover.is_some_and(|until| ack.sequence < until) {
            return;
        }
        self.recover = None;
        let packet = self.path.packet.get() as f64;
        let newly = ack.acked.get() as f64 / packet;
        if newly == 0.0 {
            return;
        }
        // Whether a window is used turns on less than a byte; both sides count bytes alike.
        if ack.inflight_now.get() as f64 / packet + newly + 1.0 + 1e-9 >= self.cwnd {
            self.cwnd += if self.cwnd < self.ssthresh {
                newly
            } else {
                real(self.p.reno.increase) * newly / self.cwnd
            };
        }
        match (self.has_circuit, ack.circuit) {
            (false, true) => self.cwnd *= real(self.p.up),
            (true, false) => self.cwnd = (self.cwnd / real(self.p.down)).max(1.0),
            _ => {}
        }
        self.has_circuit = ack.circuit;
    }

    fn loss(&mut self, loss: &Loss) {
        if loss.kind == LossKind::Timeout {
            if self.timed_out.replace(loss.sequence) != Some(loss.sequence) {
                // RFC 5681, Equation 4, in packets of the wire; whole bytes as the contract's.
                let (packet, payload) = (self.path.packet.get(), self.path.payload.get());
                let flight = (loss.next_sequence - loss.sequence) * packet / payload;
                self.ssthresh = (flight as f64 / packet as f64 / 2.0).max(2.0);
            }
            self.cwnd = 1.0;
            self.recover = None;
        } else if self.recover.is_none_or(|until| loss.sequence >= until) {
            self.cwnd = (self.cwnd / 2.0).max(2.0);
            self.ssthresh = self.cwnd;
            self.recover = Some(loss.next_sequence);
        }
    }

    fn allowance(&self) -> (f64, f64) {
        (self.cwnd * self.path.packet.get() as f64, self.path.line_rate.bps() as f64)
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
