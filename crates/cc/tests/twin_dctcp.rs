//! DCTCP against an f64 twin, with losses and timeouts thrown in.

mod bottleneck;
mod floats;

use bottleneck::{Script, Twin, agree, every_option_matters, script, seconds};
use floats::real;
use incast_cc::dctcp::{Dctcp, DctcpParams};
use incast_cc::params::Value;
use incast_cc::{Ack, Fixed, IntStack, Loss, LossKind, Path};
use incast_units::{Bytes, Time};

/// RFC 8257, section 3.3, over the congestion avoidance of RFC 5681; in packets.
struct DctcpTwin {
    p: DctcpParams,
    path: Path,
    cwnd: f64,
    ssthresh: f64,
    alpha: f64,
    window_end: u64,
    /// Until when a reduction lasts.
    recover: Option<u64>,
    timed_out: Option<u64>,
    acked: f64,
    marked: f64,
    rtt: f64,
}

impl DctcpTwin {
    fn new(p: DctcpParams, path: Path) -> Self {
        let bdp = path.bdp().get() as f64 / path.packet.get() as f64;
        let (cwnd, ssthresh) =
            if p.slow_start { (p.initial_window as f64, f64::INFINITY) } else { (bdp, 0.0) };
        Self {
            p,
            path,
            cwnd: cwnd.max(real(p.min_window)),
            ssthresh,
            alpha: real(p.alpha_init),
            window_end: 0,
            recover: None,
            timed_out: None,
            acked: 0.0,
            marked: 0.0,
            rtt: seconds(path.base_rtt),
        }
    }

    fn reduce(&mut self, keep: f64, until: u64) {
        self.cwnd = (self.cwnd * keep).max(real(self.p.min_window));
        self.ssthresh = self.cwnd;
        self.recover = Some(until);
    }
}

impl Twin for DctcpTwin {
    fn ack(&mut self, ack: &Ack, _int: &IntStack) {
        let packet = self.path.packet.get() as f64;
        self.rtt = seconds(ack.rtt());
        self.acked += f64::from(ack.packets);
        self.marked += f64::from(ack.marked);
        if ack.sequence > self.window_end {
            let g = real(self.p.g);
            self.alpha = (1.0 - g) * self.alpha + g * self.marked / self.acked;
            (self.acked, self.marked) = (0.0, 0.0);
            self.window_end = ack.next_sequence;
        }
        if self.recover.is_some_and(|until| ack.sequence <= until) {
            return;
        }
        self.recover = None;
        if ack.marked > 0 {
            self.reduce(1.0 - self.alpha / 2.0, ack.next_sequence);
            return;
        }
        let newly = ack.acked.get() as f64 / packet;
        let used = ack.inflight_now.get() as f64 / packet + newly + 1.0;
        // Whether a window is used turns on less than a byte; both sides count bytes alike.
        if used + 1e-9 < self.cwnd {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd += newly;
        } else {
            self.cwnd += real(self.p.increase) * newly / self.cwnd.max(1.0);
        }
    }

    fn loss(&mut self, loss: &Loss) {
        match loss.kind {
            LossKind::Hole | LossKind::Trim if self.recover.is_some_and(|until| loss.sequence < until) => {}
            LossKind::Hole if real(self.p.hole_cut) == 0.0 => {}
            LossKind::Hole => self.reduce(1.0 - real(self.p.hole_cut), loss.next_sequence),
            LossKind::Trim => self.reduce(0.5, loss.next_sequence),
            LossKind::Timeout => {
                if self.timed_out.replace(loss.sequence) != Some(loss.sequence) {
                    // RFC 5681, Equation 4, in packets of the wire; whole bytes as the contract's.
                    let (packet, payload) = (self.path.packet.get(), self.path.payload.get());
                    let flight = (loss.next_sequence - loss.sequence) * packet / payload;
                    self.ssthresh = (flight as f64 / packet as f64 / 2.0).max(2.0);
                }
                self.cwnd = real(self.p.min_window).max(1.0);
                self.recover = None;
            }
        }
    }

    fn allowance(&self) -> (f64, f64) {
        let window = self.cwnd * self.path.packet.get() as f64;
        let line = self.path.line_rate.bps() as f64;
        // The window is whole bytes before it is compared with a packet or spread over an RTT.
        let rate = if (window + 1e-6).floor() >= self.path.packet.get() as f64 {
            line
        } else {
            (window + 1e-6).floor() * 8.0 / self.rtt
        };
        (window, rate.min(line))
    }
}

fn lossy(seed: u64) -> Script {
    Script { loss_every: 700, ..script(seed, 12, Time::from_ms(4)) }
}

/// Returns a script with many flows and early marks, so that windows come down to a packet and less.
fn crowded() -> Script {
    let (until, mark_from) = (Time::from_ms(8), Bytes::new(1000));
    let active = vec![vec![(Time::ZERO, until)]; 100];
    Script { until, active, mark_from, loss_every: 2000, ..script(1, 0, Time::ZERO) }
}

/// The bound is the whole byte, or bit/s, to which an allowance is cut, and 1e-6 for windows of under
/// a packet: a step is resolved to 2^-32 of a packet, and at most some hundred lie between two cuts.
#[test]
fn agrees_with_its_twin() {
    let paper = DctcpParams::default();
    let slow = DctcpParams { slow_start: true, ..paper };
    let small = DctcpParams { min_window: Fixed::ratio(1, 4), ..paper };
    for (name, params, script) in [
        ("paper 1", paper, lossy(1)),
        ("paper 2", paper, lossy(2)),
        ("slow start", slow, lossy(3)),
        ("crowded", paper, crowded()),
        ("a quarter for a hole", DctcpParams { hole_cut: Fixed::ratio(1, 4), ..paper }, lossy(4)),
        ("deaf to holes", DctcpParams { hole_cut: Fixed::ZERO, ..paper }, lossy(5)),
        ("below a packet", small, crowded()),
    ] {
        let outcome = agree::<Dctcp, _>(name, params, &script, DctcpTwin::new);
        assert!(outcome.acks > 30_000 && outcome.marks > 1000 && outcome.losses > 15);
    }
}

#[test]
fn every_option_changes_something() {
    let paper = DctcpParams::default();
    let slow = DctcpParams { slow_start: true, ..paper };
    let cases = [
        (paper, "g", Value::Ratio(Fixed::ratio(1, 256))),
        (paper, "alpha_init", Value::Ratio(Fixed::ZERO)),
        (paper, "increase", Value::Ratio(Fixed::whole(3))),
        (paper, "slow_start", Value::Flag(true)),
        (slow, "initial_window", Value::Count(2)),
        (paper, "min_window", Value::Ratio(Fixed::ratio(1, 2))),
        (paper, "hole_cut", Value::Ratio(Fixed::ZERO)),
    ];
    every_option_matters::<Dctcp>(&crowded(), &cases);
}
