//! SMaRTT against an f64 twin in bytes and microseconds, with marks, trimmed packets, holes and timeouts.

mod bottleneck;
mod floats;
mod nacks;
mod signals;

use std::cell::RefCell;
use std::rc::Rc;

use bottleneck::{Both, Script, Twin, path, run, script};
use floats::{real, us};
use incast_cc::params::{Presets, Value};
use incast_cc::smartt::{Reference, Smartt, SmarttParams};
use incast_cc::{Ack, Fixed, IntStack, Loss, LossKind, Path, Sent};
use incast_units::{Bytes, Time};
use nacks::{Nacks, every_option_matters};

/// Numbers of answers: multiplicative increase, fair increase alone, multiplicative decrease, fair decrease
/// alone, fast increase, quick adapt, ignored, waited.
type Met = Rc<RefCell<[u32; 8]>>;

struct SmarttTwin {
    p: SmarttParams,
    path: Path,
    target_rtt: f64,
    cwnd: f64,
    max: f64,
    fi_count: f64,
    target_window: f64,
    exp_avg_ecn: f64,
    acked_bytes: u64,
    next_window_end: Option<Time>,
    ignore: u64,
    in_flight: u64,
    need_quick_adapt: bool,
    met: Met,
}

impl SmarttTwin {
    fn new(p: SmarttParams, path: Path, met: Met) -> Self {
        let bdp = path.bdp().get() as f64;
        let tq = if p.target == Time::ZERO { real(p.target_share) * us(path.base_rtt) } else { us(p.target) };
        let max = real(p.max_cwnd) * bdp;
        let cwnd = (real(p.initial_cwnd) * bdp).min(max);
        Self {
            p,
            path,
            // A whole number of picoseconds.
            target_rtt: us(path.base_rtt) + (tq * 1e6 + 1e-6).floor() / 1e6,
            cwnd,
            max,
            fi_count: 0.0,
            target_window: cwnd,
            exp_avg_ecn: 0.0,
            acked_bytes: 0,
            next_window_end: None,
            ignore: 0,
            in_flight: 0,
            need_quick_adapt: false,
            met,
        }
    }

    fn mtu(&self) -> f64 {
        self.path.packet.get() as f64
    }

    fn bound(&mut self) {
        self.cwnd = self.cwnd.min(self.max).max(self.mtu());
    }

    fn quick_adapt(&mut self, now: Time) {
        if !self.p.quick_adapt || self.next_window_end.is_some_and(|end| now < end) {
            return;
        }
        let span = Time::from_ps((self.target_rtt * 1e6).round() as u64);
        let before = self.next_window_end.replace(now + span);
        let saved = std::mem::take(&mut self.acked_bytes);
        if let (true, Some(before)) = (self.need_quick_adapt, before) {
            let share = self.target_rtt / (us(now - before) + self.target_rtt);
            // In whole bytes.
            self.cwnd = (saved as f64 * share + 1e-6).floor();
            self.bound();
            self.ignore = self.in_flight.min(self.max as u64);
            self.need_quick_adapt = false;
            self.met.borrow_mut()[5] += 1;
        }
    }

    fn unmarked(&mut self, bytes: f64, rtt: f64) {
        let met = usize::from(rtt >= self.target_rtt);
        self.met.borrow_mut()[met] += 1;
        if rtt < self.target_rtt {
            let step = real(self.p.mi) * self.mtu() * (self.target_rtt - rtt) / rtt * bytes / self.cwnd;
            self.cwnd += step.min(bytes);
        }
        self.cwnd += real(self.p.fi) * bytes * self.mtu() / self.cwnd;
    }

    fn marked(&mut self, bytes: f64, rtt: f64) {
        if self.p.wait_to_decrease && self.exp_avg_ecn <= real(self.p.wait_threshold) {
            self.met.borrow_mut()[7] += 1;
            return;
        }
        let met = if rtt >= self.target_rtt { 2 } else { 3 };
        self.met.borrow_mut()[met] += 1;
        if rtt >= self.target_rtt {
            self.cwnd -= bytes.min(real(self.p.md) * bytes * (rtt - self.target_rtt) / rtt);
        }
        let of = if self.p.fd_of == Reference::Bdp { self.path.bdp().get() as f64 } else { self.max };
        self.cwnd -= self.cwnd * real(self.p.fd) * bytes / of;
    }
}

impl Twin for SmarttTwin {
    fn ack(&mut self, ack: &Ack, _int: &IntStack) {
        let (bytes, rtt, skip) = (ack.acked.get(), us(ack.rtt()), ack.marked > 0);
        self.in_flight = ack.inflight_now.get();
        self.acked_bytes += bytes;
        let w = real(self.p.mark_weight);
        self.exp_avg_ecn = w * f64::from(u8::from(skip)) + (1.0 - w) * self.exp_avg_ecn;
        self.ignore = self.ignore.saturating_sub(bytes);
        if self.ignore == 0 {
            self.quick_adapt(ack.now);
        }
        if self.ignore > 0 {
            self.met.borrow_mut()[6] += 1;
            return;
        }
        let bytes = bytes as f64;
        if ack.rtt() < self.path.base_rtt + self.p.fast_increase_below && !skip {
            self.fi_count += bytes;
            if self.fi_count > self.target_window {
                self.cwnd += real(self.p.fast_increase) * self.mtu();
                self.met.borrow_mut()[4] += 1;
                self.bound();
                return;
            }
        } else {
            (self.fi_count, self.target_window) = (0.0, self.cwnd);
        }
        if skip {
            self.marked(bytes, rtt);
        } else {
            self.unmarked(bytes, rtt);
        }
        self.bound();
    }

    fn loss(&mut self, loss: &Loss) {
        let bytes = match loss.kind {
            LossKind::Hole => 0,
            LossKind::Trim => loss.bytes.get(),
            LossKind::Timeout => self.path.packet.get(),
        };
        if self.ignore > 0 {
            self.ignore = self.ignore.saturating_sub(bytes);
        } else if loss.kind != LossKind::Hole {
            self.cwnd -= bytes as f64;
            self.need_quick_adapt = true;
            self.quick_adapt(loss.now);
            self.bound();
        }
        self.in_flight = self.in_flight.saturating_sub(loss.bytes.get());
    }

    fn sent(&mut self, sent: &Sent) {
        self.in_flight = sent.inflight.get();
    }

    fn allowance(&self) -> (f64, f64) {
        (self.cwnd, self.path.line_rate.bps() as f64)
    }
}

fn losses(seed: u64, flows: usize) -> Script {
    Script { loss_every: 700, ..script(seed, flows, Time::from_ms(4)) }
}

/// The single steps that the fixed-point code is held to, in the twin: from 100,000 B at 100 Gbps and 12 us.
#[test]
fn the_twin_steps_by_hand() {
    let path = Path { base_rtt: Time::from_us(12), packet: Bytes::new(4096), ..path(0) };
    let any = signals::acks(1, &path, Time::from_us(5), 1)[0];
    let params = SmarttParams { fd_of: Reference::MaxCwnd, ..SmarttParams::default() };
    let weak = SmarttParams { md: Fixed::ONE, ..params };
    for (params, rtt, marked, by_hand) in [
        (params, 15, 0, 100_109.023_8),
        (params, 20, 0, 100_041.943_0),
        (params, 24, 1, 96_240.164_7),
        (weak, 24, 1, 97_246.269_0),
        (params, 15, 1, 98_252.373_3),
        (params, 40, 1, 94_227.956_1),
    ] {
        let mut twin = SmarttTwin { cwnd: 100_000.0, ..SmarttTwin::new(params, path, Met::default()) };
        let now = Time::from_us(1000);
        let (sent, acked) = (now - Time::from_us(rtt), Bytes::new(4096));
        twin.ack(&Ack { now, sent, acked, marked, ..any }, &IntStack::EMPTY);
        assert!((twin.cwnd - by_hand).abs() < 1e-9 * by_hand, "{} is not {by_hand}", twin.cwnd);
    }
}

/// The bound is the whole byte to which an allowance is cut, and 1e-6.
#[test]
fn agrees_with_its_twin() {
    for preset in SmarttParams::PRESETS {
        let params = (preset.params)();
        let mut met = [0; 8];
        for (seed, flows) in [(1, 2), (2, 12), (3, 40)] {
            let (script, path) = (losses(seed, flows), path(0));
            let count = Met::default();
            let twin = || SmarttTwin::new(params, path, count.clone());
            let mut host = Nacks(Both::<Smartt, _>::new(params, path, flows, twin), 0);
            let outcome = run(&mut host, path, &script);
            let (name, worst) = (preset.name, host.0.worst);
            println!("{name}, {flows} flows: {worst:?} in {} acks, {:?}", outcome.acks, count.borrow());
            assert!(outcome.acks > 20_000, "{name}: {}", outcome.acks);
            assert!(worst.0 < 1e-6 && worst.1 < 1e-6, "{name}: {worst:?}");
            met.iter_mut().zip(count.borrow().iter()).for_each(|(all, one)| *all += one);
        }
        let waits = usize::from(params.wait_to_decrease);
        assert!(met[..7 + waits].iter().all(|n| *n > 10), "the signals leave something out: {met:?}");
    }
}

#[test]
fn every_option_changes_something() {
    let usual = SmarttParams::default();
    let waiting = SmarttParams { wait_to_decrease: true, ..usual };
    let share = |n, of| Value::Ratio(Fixed::ratio(n, of));
    let cases = [
        (usual, "target", Value::Time(Time::from_us(7))),
        (usual, "target_share", share(3, 4)),
        (usual, "mi", share(1, 1)),
        (usual, "md", share(1, 1)),
        (usual, "fi", share(1, 1)),
        (usual, "fd", share(1, 2)),
        (usual, "fd_of", Value::Choice(1)),
        (usual, "fast_increase", share(1, 1)),
        (usual, "fast_increase_below", Value::Time(Time::from_us(3))),
        (usual, "wait_to_decrease", Value::Flag(true)),
        (waiting, "wait_threshold", share(1, 2)),
        (waiting, "mark_weight", share(1, 2)),
        (usual, "quick_adapt", Value::Flag(false)),
        (usual, "max_cwnd", share(1, 1)),
        (usual, "initial_cwnd", share(1, 2)),
    ];
    every_option_matters::<Smartt>(&losses(1, 12), &cases);
}
