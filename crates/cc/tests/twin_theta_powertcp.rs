//! θ-PowerTCP against an f64 twin.

mod bottleneck;
mod floats;
mod tracked;

use bottleneck::{Twin, check_twin, every_option_matters, longer, path, script, seconds};
use floats::real;
use incast_cc::limits::Update;
use incast_cc::params::{Presets, Value};
use incast_cc::powertcp::Pacing;
use incast_cc::theta_powertcp::{ThetaPowerTcp, ThetaPowerTcpParams};
use incast_cc::{Ack, CongestionControl, Fixed, IntStack, Path};
use incast_units::{Rate, Time};
use tracked::Tracked;

/// PowerTCP, NSDI'22, Algorithm 2 with windows in bytes; numbers are lines.
struct ThetaTwin {
    p: ThetaPowerTcpParams,
    packet: f64,
    host_bw: f64,
    bdp: f64,
    tau: f64,
    rtt: Tracked,
    /// prevRTT and the t_c of it.
    prev: Option<(f64, f64)>,
    smooth: f64,
    cwnd: f64,
    cwnd_old: f64,
    last_updated: u64,
}

impl ThetaTwin {
    fn new(p: ThetaPowerTcpParams, path: Path) -> Self {
        let (tau, host_bw) = (seconds(path.base_rtt), path.line_rate.bps() as f64 / 8.0);
        // The contract's base BDP is whole bytes.
        let bdp = path.bdp().get() as f64;
        Self {
            p,
            packet: path.packet.get() as f64,
            host_bw,
            bdp,
            tau,
            rtt: Tracked::new(path.base_rtt),
            prev: None,
            smooth: 1.0,
            cwnd: bdp,
            cwnd_old: bdp,
            last_updated: 0,
        }
    }
}

impl Twin for ThetaTwin {
    fn ack(&mut self, ack: &Ack, _int: &IntStack) {
        let (rtt, tc) = (seconds(ack.rtt()), seconds(ack.now));
        if self.p.track_base_rtt {
            // Windows are of BDPs of the τ in use.
            self.rtt.see(ack.now, ack.rtt(), self.p.forget_base_rtt);
            self.tau = seconds(self.rtt.get());
            let change = (self.host_bw * self.tau + 1e-6).floor() / self.bdp;
            self.bdp *= change;
            (self.cwnd, self.cwnd_old) = (self.cwnd * change, self.cwnd_old * change);
        }
        let Some((prev_rtt, prev_tc)) = self.prev else {
            self.prev = Some((rtt, tc));
            self.last_updated = ack.next_sequence;
            return;
        };
        let dt = tc - prev_tc; // 11
        if dt > 0.0 {
            let theta_dot = (rtt - prev_rtt) / dt; // 12
            let least = if self.p.negative_power { f64::NEG_INFINITY } else { real(self.p.gradient_floor) };
            let rising = (theta_dot + 1.0).max(least);
            let norm = rising * rtt / self.tau / real(self.p.margin); // 13
            let delta = dt.min(self.tau);
            self.smooth = (self.smooth * (self.tau - delta) + norm * delta) / self.tau; // 14
            self.prev = Some((rtt, tc)); // 7, 8
        }
        let due = ack.sequence >= self.last_updated + u64::from(self.p.update_beyond); // 17
        if due || self.p.update == Update::Ack {
            let (gamma, bdp) = (real(self.p.gamma), self.bdp);
            let beta = bdp / real(self.p.flows);
            let cwnd = gamma * (self.cwnd_old / self.smooth + beta) + (1.0 - gamma) * self.cwnd_old; // 20
            let floor = real(self.p.floor) * bdp + self.p.floor_rate.bps() as f64 / 8.0 / self.host_bw * bdp;
            let cap = real(self.p.window_cap) * bdp;
            self.cwnd = if cwnd < 0.0 { cap } else { cwnd.clamp(floor, cap) };
        }
        if due {
            (self.cwnd_old, self.last_updated) = (self.cwnd, ack.next_sequence); // 9, 23
        }
    }

    fn allowance(&self) -> (f64, f64) {
        let full = self.p.pacing == Pacing::Line && self.cwnd >= self.packet;
        let rate = if full { 1.0 } else { (self.cwnd / self.bdp).min(1.0) } * self.host_bw; // 6
        (self.cwnd, rate * 8.0)
    }
}

/// The bound: a window is at least 1/1000 BDP and resolved to 2^-32 of it, 2.3e-7; power is off by
/// what its average ignores (2^-32 over its smallest weight, 87 ns of 12 us: 3e-8), and divides.
#[test]
fn agrees_with_its_twin() {
    let mut all: Vec<_> = ThetaPowerTcpParams::PRESETS.iter().map(|of| (of.name, (of.params)())).collect();
    let artifact = ThetaPowerTcpParams::preset("artifact").expect("a preset");
    all.push(("forget_base_rtt = true", ThetaPowerTcpParams { forget_base_rtt: true, ..artifact }));
    for (name, params) in all {
        for seed in 1..=3 {
            let script = script(seed, 12, Time::from_ms(4));
            let path = path(ThetaPowerTcp::overhead(&params).data);
            let path = if params.track_base_rtt { longer(path) } else { path };
            let twin = || ThetaTwin::new(params, path);
            let (outcome, _) = check_twin::<ThetaPowerTcp, _>(name, params, path, &script, twin);
            assert!(outcome.acks > 30_000, "only {} acknowledgements", outcome.acks);
        }
    }
}

#[test]
fn every_option_changes_something() {
    let paper = ThetaPowerTcpParams::preset("paper").expect("a preset");
    let high = ThetaPowerTcpParams { floor: Fixed::ratio(1, 5), ..paper };
    let artifact = ThetaPowerTcpParams::preset("artifact").expect("a preset");
    let cases = [
        (paper, "gamma", Value::Ratio(Fixed::ratio(7, 10))),
        (paper, "flows", Value::Ratio(Fixed::whole(10))),
        (paper, "margin", Value::Ratio(Fixed::ratio(105, 100))),
        (paper, "gradient_floor", Value::Ratio(Fixed::ratio(1, 2))),
        (paper, "update", Value::Choice(1)),
        (artifact, "track_base_rtt", Value::Flag(false)),
        (artifact, "forget_base_rtt", Value::Flag(true)),
        (paper, "pacing", Value::Choice(1)),
        (paper, "negative_power", Value::Flag(true)),
        (paper, "update_beyond", Value::Flag(true)),
        (paper, "window_cap", Value::Ratio(Fixed::whole(2))),
        (paper, "floor_rate", Value::Rate(Rate::from_gbps(20))),
        (high, "floor", Value::Ratio(Fixed::ratio(1, 1000))),
    ];
    every_option_matters::<ThetaPowerTcp>(&script(1, 4, Time::from_ms(2)), &cases);
}
