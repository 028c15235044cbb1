//! PowerTCP against an f64 twin, and the equilibrium of its Theorem 1.

mod bottleneck;
mod floats;

use bottleneck::{Alone, Script, Twin, agree, every_option_matters, path, run, script, seconds};
use floats::real;
use incast_cc::params::{Presets, Value};
use incast_cc::powertcp::{LastTerm, Pacing, PowerTcp, PowerTcpParams};
use incast_cc::{Ack, CongestionControl, Fixed, IntStack, Path};
use incast_units::{Rate, Time};

/// PowerTCP, NSDI'22, Algorithm 1 with windows in bytes; numbers are lines.
struct PowerTcpTwin {
    p: PowerTcpParams,
    packet: f64,
    host_bw: f64,
    tau: f64,
    prev_int: Option<IntStack>,
    smooth: f64,
    cwnd: f64,
    cwnd_old: f64,
    last: u64,
}

impl PowerTcpTwin {
    fn new(p: PowerTcpParams, path: Path) -> Self {
        let (tau, host_bw) = (seconds(path.base_rtt), path.line_rate.bps() as f64 / 8.0);
        let cwnd = host_bw * tau;
        let packet = path.packet.get() as f64;
        Self { p, packet, host_bw, tau, prev_int: None, smooth: 1.0, cwnd, cwnd_old: cwnd, last: 0 }
    }

    fn norm_power(&mut self, prev: &IntStack, ack: &IntStack) {
        let (mut norm, mut delta) = (f64::NEG_INFINITY, 0.0);
        for i in 0..ack.count as usize {
            let (h, before) = (&ack.hops[i], &prev.hops[i]);
            let dt = (h.at - before.at).ps() as f64; // 11, in ps
            let b = h.rate.bps() as f64;
            let q_dot = (h.queue.get() as f64 - before.queue.get() as f64) * 8e12 / dt; // 12
            let mu = (h.transmitted.get() as f64 - before.transmitted.get() as f64) * 8e12 / dt; // 13
            // 14 to 19, with current and voltage normalised before they are multiplied: two ports of
            // equal power are then exactly equal, and the first of them counts on both sides.
            let current = ((q_dot + mu) / b).max(real(self.p.arrival_floor));
            let power = current * (1.0 + h.queue.get() as f64 * 8.0 / (b * self.tau));
            if power > norm {
                (norm, delta) = (power, dt * 1e-12); // 20, 21, repaired
            }
        }
        let delta = if self.p.bounded_dt { delta.min(self.tau) } else { delta };
        self.smooth = (self.smooth * (self.tau - delta) + norm * delta) / self.tau; // 24
    }
}

impl Twin for PowerTcpTwin {
    fn ack(&mut self, ack: &Ack, int: &IntStack) {
        let Some(prev) = self.prev_int.replace(*int) else {
            self.last = ack.next_sequence;
            return;
        };
        self.norm_power(&prev, int);
        let (gamma, bdp) = (real(self.p.gamma), self.host_bw * self.tau);
        let beta = bdp / real(self.p.flows);
        let power = self.smooth / real(self.p.target);
        let kept = if self.p.last_term == LastTerm::Current { self.cwnd } else { self.cwnd_old };
        let cwnd = gamma * (self.cwnd_old / power + beta) + (1.0 - gamma) * kept; // 27
        let floor = real(self.p.floor) * bdp + self.p.floor_rate.bps() as f64 / 8.0 * self.tau;
        let cap = real(self.p.window_cap) * bdp;
        self.cwnd = if cwnd < 0.0 { cap } else { cwnd.clamp(floor, cap) };
        if ack.sequence > self.last {
            (self.cwnd_old, self.last) = (self.cwnd, ack.next_sequence); // 7
        }
    }

    fn allowance(&self) -> (f64, f64) {
        let full = self.p.pacing == Pacing::Line && self.cwnd >= self.packet;
        let rate = if full { self.host_bw } else { (self.cwnd / self.tau).min(self.host_bw) }; // 6
        (self.cwnd, rate * 8.0)
    }
}

/// The bound: a window is at least 1/1000 BDP and resolved to 2^-32 of it, 2.3e-7; power is off by
/// what its average ignores (2^-32 over its smallest weight, 22 ns of 12 us: 1.3e-7), and divides.
#[test]
fn agrees_with_its_twin() {
    for preset in PowerTcpParams::PRESETS {
        for seed in 1..=3 {
            let script = script(seed, 12, Time::from_ms(4));
            let outcome = agree::<PowerTcp, _>(preset.name, (preset.params)(), &script, PowerTcpTwin::new);
            assert!(outcome.acks > 30_000, "only {} acknowledgements", outcome.acks);
        }
    }
}

/// Theorem 1: the queue settles at the sum of all β, here 4 · 2 % of a BDP.
#[test]
fn settles_where_theorem_1_says() {
    let params = PowerTcpParams { flows: Fixed::whole(50), ..PowerTcpParams::default() };
    let until = Time::from_ms(2);
    let active = vec![vec![(Time::ZERO, until)]; 4];
    let script = Script { until, active, ..script(1, 0, Time::ZERO) };
    let path = path(PowerTcp::overhead(&params).data);
    let outcome = run(&mut Alone::<PowerTcp>::new(params, path, 4), path, &script);
    let late: Vec<u64> = outcome.queue.iter().filter(|q| q.0 >= Time::from_ms(1)).map(|q| q.1).collect();
    let mean = late.iter().sum::<u64>() as f64 / late.len() as f64;
    assert!((mean / path.bdp().get() as f64 - 0.08).abs() < 0.02, "mean queue {mean} B");
}

#[test]
fn every_option_changes_something() {
    let paper = PowerTcpParams::default();
    let high = PowerTcpParams { floor: Fixed::ratio(1, 5), ..paper };
    let cases = [
        (paper, "gamma", Value::Ratio(Fixed::ratio(1, 2))),
        (paper, "flows", Value::Ratio(Fixed::whole(10))),
        (paper, "target", Value::Ratio(Fixed::ratio(95, 100))),
        (paper, "arrival_floor", Value::Ratio(Fixed::ratio(1, 2))),
        (paper, "last_term", Value::Choice(1)),
        (paper, "pacing", Value::Choice(1)),
        (paper, "bounded_dt", Value::Flag(false)),
        (paper, "window_cap", Value::Ratio(Fixed::whole(2))),
        (paper, "floor_rate", Value::Rate(Rate::from_gbps(20))),
        (high, "floor", Value::Ratio(Fixed::ratio(1, 1000))),
    ];
    every_option_matters::<PowerTcp>(&script(1, 12, Time::from_ms(1)), &cases);
}
