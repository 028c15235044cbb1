//! NSCC and MNSCC against an f64 twin in bytes and microseconds, with marks, trimmed packets, holes and timeouts.

mod bottleneck;
mod floats;
mod nacks;
mod signals;
mod tracked;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use bottleneck::{Both, Script, Twin, path, run, script};
use floats::{real, us};
use incast_cc::mnscc::{Mnscc, MnsccParams};
use incast_cc::nscc::{Filter, Latest, Law, LawParams, Nscc, NsccParams};
use incast_cc::params::{Presets, Value};
use incast_cc::{Ack, Fixed, IntStack, Loss, LossKind, Path, Sent};
use incast_units::{Bytes, Rate, Time};
use nacks::{Nacks, every_option_matters};
use tracked::Tracked;

/// Number of times that each answer was given: proportional, fast and fair increase, decrease, quick adapt,
/// ignored, NACK.
type Met = Rc<RefCell<[u32; 7]>>;

/// uet-htsim's NSCC by its description in symbols; increases pend in bytes · bytes.
struct NsccTwin<F> {
    p: LawParams<F>,
    /// Most delays of the median, and whether the average is one of medians.
    median: Option<(f64, bool)>,
    path: Path,
    /// T_q in µs.
    tq: f64,
    a: f64,
    cwnd: f64,
    maxwnd: f64,
    rtt: Tracked,
    base: Time,
    avg: f64,
    inc: f64,
    received: u64,
    achieved: u64,
    ignored: u64,
    to_ignore: u64,
    in_flight: u64,
    fi_count: u64,
    increase: bool,
    qa_end: Option<Time>,
    last_adjust: Time,
    last_dec: Time,
    trigger: bool,
    delays: VecDeque<f64>,
    met: Met,
}

impl<F: Filter> NsccTwin<F> {
    fn new(p: LawParams<F>, median: Option<(f64, bool)>, path: Path, met: Met) -> Self {
        let bdp = path.bdp().get() as f64;
        let tq = if p.target == Time::ZERO { real(p.target_share) * us(path.base_rtt) } else { us(p.target) };
        // T_q is a whole number of picoseconds.
        let tq = (tq * 1e6 + 1e-6).floor() / 1e6;
        let reference = p.reference_rate.bps() as f64 / 8e6 * us(p.reference_rtt);
        let mut twin = Self {
            a: bdp / reference.floor(),
            cwnd: real(p.initial_cwnd) * bdp,
            p,
            median,
            path,
            tq,
            maxwnd: 0.0,
            base: path.base_rtt,
            rtt: Tracked::new(path.base_rtt),
            avg: 0.0,
            inc: 0.0,
            received: 0,
            achieved: 0,
            ignored: 0,
            to_ignore: 0,
            in_flight: 0,
            fi_count: 0,
            increase: false,
            qa_end: None,
            last_adjust: Time::ZERO,
            last_dec: Time::ZERO,
            trigger: false,
            delays: VecDeque::new(),
            met,
        };
        twin.base_rtt_is(path.base_rtt);
        twin.bound();
        twin
    }

    fn mtu(&self) -> f64 {
        self.path.packet.get() as f64
    }

    fn mss(&self) -> f64 {
        self.path.payload.get() as f64
    }

    fn base_rtt_is(&mut self, rtt: Time) {
        let bdp = (self.path.line_rate.bps() as f64 / 8e6 * us(rtt) + 1e-7).floor();
        (self.base, self.maxwnd) = (rtt, real(self.p.max_cwnd) * bdp);
    }

    fn bound(&mut self) {
        let least = real(self.p.min_cwnd) * self.mtu();
        self.cwnd = self.cwnd.min(self.maxwnd.max(least)).max(least);
    }

    fn average(&mut self, delay: f64, marked: bool) {
        let w = real(self.p.average_weight);
        let pulled = !marked && delay > self.tq;
        let sample = if pulled { real(self.p.average_pull) * us(self.base) } else { delay };
        self.avg = w * sample + (1.0 - w) * self.avg;
    }

    /// The delay by which MNSCC goes: the lower median of the last H.
    fn median_of(&mut self, sample: Option<f64>, most: f64) -> Option<f64> {
        let h = (self.cwnd / self.mtu() / 2.0).min(4.0).floor().min(most).max(1.0) as usize;
        self.delays.extend(sample);
        while self.delays.len() > h {
            self.delays.pop_front();
        }
        let mut sorted: Vec<f64> = self.delays.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len().div_ceil(2).wrapping_sub(1)).copied()
    }

    fn quick_adapt(&mut self, now: Time, skip: bool, is_loss: bool, delay: f64) -> bool {
        if !self.p.quick_adapt {
            return false;
        }
        let mut done = self.ignored < self.to_ignore && skip;
        if done {
            self.met.borrow_mut()[5] += 1;
        } else if self.qa_end.is_none_or(|end| now > end) {
            let reason = is_loss || self.trigger || delay > real(self.p.qa_threshold) * self.tq;
            let gate = self.maxwnd / 2.0_f64.powi(self.p.qa_gate as i32);
            if self.qa_end.is_some() && reason && (self.achieved as f64) < gate {
                self.cwnd = (self.achieved as f64).max(real(self.p.min_cwnd) * self.mtu());
                (self.to_ignore, self.ignored, self.trigger) = (self.in_flight, 0, false);
                done = true;
                self.met.borrow_mut()[4] += 1;
            }
            self.achieved = 0;
            self.qa_end = Some(now + self.base + Time::from_ps((self.tq * 1e6).round() as u64));
        }
        if done {
            (self.inc, self.received) = (0.0, 0);
        }
        done
    }

    fn unmarked(&mut self, bytes: f64, delay: f64) {
        if delay >= self.tq {
            self.inc += real(self.p.fair_increase) * self.mss() * self.a * bytes;
            self.met.borrow_mut()[2] += 1;
            return;
        }
        if delay < us(self.p.fast_increase_below).min(real(self.p.fast_increase_share) * self.tq) {
            self.fi_count += bytes as u64;
            if self.fi_count as f64 > self.cwnd || self.increase {
                self.cwnd += real(self.p.fast_increase) * self.a * bytes;
                self.increase = true;
                self.met.borrow_mut()[1] += 1;
                return;
            }
        } else {
            self.fi_count = 0;
        }
        self.increase = false;
        let alpha = real(self.p.proportional_increase) * self.mss() * self.a / us(self.p.reference_rtt);
        self.inc += alpha * bytes * (self.tq - delay);
        self.met.borrow_mut()[0] += 1;
    }

    fn decrease(&mut self, now: Time) {
        (self.increase, self.fi_count) = (false, 0);
        if self.avg > self.tq && now - self.last_dec > self.base {
            let factor = 1.0 - real(self.p.gamma) * (self.avg - self.tq) / self.avg;
            self.cwnd *= factor.max(1.0 - real(self.p.max_decrease));
            self.bound();
            self.last_dec = now;
            self.met.borrow_mut()[3] += 1;
        }
    }

    fn fulfil(&mut self, now: Time) {
        self.cwnd += self.inc / self.cwnd;
        if now - self.last_adjust >= self.path.base_rtt {
            self.cwnd += real(self.p.eta) * self.mss() * self.a;
            self.last_adjust = now;
        }
        (self.inc, self.received) = (0.0, 0);
    }

    fn nack(&mut self, loss: &Loss) {
        self.ignored += loss.bytes.get();
        self.average(us(self.path.base_rtt), true);
        self.trigger = true;
        self.met.borrow_mut()[6] += 1;
        if !self.quick_adapt(loss.now, true, true, 0.0) {
            self.cwnd -= loss.bytes.get() as f64;
            self.bound();
        }
    }
}

impl<F: Filter> Twin for NsccTwin<F> {
    fn ack(&mut self, ack: &Ack, _int: &IntStack) {
        let (bytes, marked) = (ack.acked.get(), ack.marked > 0);
        self.in_flight = ack.inflight_now.get();
        self.achieved += bytes;
        self.received += bytes;
        self.ignored += bytes;
        if self.p.track_base_rtt {
            self.rtt.see(ack.now, ack.rtt(), self.p.forget_base_rtt);
            self.base_rtt_is(self.rtt.get());
        }
        let sample = ack.rtt().checked_sub(self.base).map(us);
        let delay = match self.median {
            None => sample,
            Some((most, _)) => self.median_of(sample, most),
        };
        let of_medians = self.median.is_some_and(|median| median.1);
        if let Some(delay) = if of_medians { sample.and(delay) } else { sample } {
            self.average(delay, marked);
        }
        let delay = delay.unwrap_or(self.avg);
        if self.quick_adapt(ack.now, marked, false, delay) {
            return;
        }
        if !marked {
            self.unmarked(bytes as f64, delay);
        } else if delay >= self.tq {
            self.decrease(ack.now);
        }
        self.bound();
        let enough = self.received > self.p.adjust_packets * self.path.packet.get();
        if enough || ack.now - self.last_adjust > self.path.base_rtt {
            self.fulfil(ack.now);
        }
        self.bound();
    }

    fn loss(&mut self, loss: &Loss) {
        match loss.kind {
            LossKind::Timeout => {
                self.cwnd -= self.mtu();
                self.bound();
            }
            LossKind::Hole if !self.p.hole_is_nack => {}
            kind => {
                let follow = self.p.track_base_rtt && self.p.track_nacks && kind == LossKind::Trim;
                if follow {
                    self.rtt.see(loss.now, loss.now - loss.sent, self.p.forget_base_rtt);
                    self.base_rtt_is(self.rtt.get());
                }
                self.nack(loss);
            }
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
    Script { loss_every: 400, ..script(seed, flows, Time::from_ms(2)) }
}

/// The twin of a flow with `cwnd` in a network of `gbps` and this base RTT, packets of 4096 B and their headers, long
/// after its start.
fn by_hand(params: NsccParams, gbps: u64, base_rtt: Time, cwnd: f64) -> NsccTwin<Latest> {
    let path = Path {
        base_rtt,
        line_rate: Rate::from_gbps(gbps),
        packet: Bytes::new(4160),
        payload: Bytes::new(4096),
        ..path(0)
    };
    let fresh = NsccTwin::new(params, None, path, Met::default());
    NsccTwin { cwnd, last_adjust: NOW, qa_end: Some(Time::NEVER), ..fresh }
}

const NOW: Time = Time::from_us(1000);

/// 4096 B after a delay of this many us.
fn acked<F: Filter>(twin: &mut NsccTwin<F>, now: Time, delay: u64, marked: u32) {
    let any = signals::acks(1, &twin.path, Time::from_us(5), 1)[0];
    let sent = now - twin.base - Time::from_us(delay);
    twin.ack(&Ack { now, sent, acked: Bytes::new(4096), marked, ..any }, &IntStack::EMPTY);
}

#[track_caller]
fn is(ours: f64, by_hand: f64) {
    assert!((ours - by_hand).abs() < 1e-6 * by_hand, "{ours} is not {by_hand}");
}

/// The twin as the reference for the fixed-point code: the constants of both networks and the single steps.
#[test]
fn the_twin_steps_by_hand() {
    let reference = |cwnd| by_hand(at_6us(NsccParams::default()), 100, Time::from_us(12), cwnd);
    // 3 us below the target: 16,777,216 each, fulfilled at the ninth, without and with eta.
    for (age, window) in [(0, 101_509.949), (12, 102_124.349)] {
        let mut twin = reference(100_000.0);
        twin.last_adjust = NOW - Time::from_us(age);
        for n in 1..9 {
            acked(&mut twin, NOW, 3, 0);
            is(twin.inc, 16_777_216.0 * f64::from(n));
        }
        acked(&mut twin, NOW, 3, 0);
        is(twin.cwnd, window);
    }
    let mut twin = reference(100_000.0);
    is(twin.maxwnd, 225_000.0);
    acked(&mut twin, NOW, 6, 0);
    is(twin.inc, 83_886_080.0);
    // The marked sample of 8 us comes into the average first.
    for (average, window) in [(8.0, 80_000.0), (12.0, 60_000.0), (30.0, 50_000.0)] {
        let mut twin = reference(100_000.0);
        twin.avg = (average - 0.0125 * 8.0) / 0.9875;
        acked(&mut twin, NOW, 8, 1);
        is(twin.cwnd, window);
    }
    for (delay, marked, average) in [(7, 0, 4.975), (8, 1, 5.0375)] {
        let mut twin = reference(100_000.0);
        twin.avg = 5.0;
        acked(&mut twin, NOW, delay, marked);
        is(twin.avg, average);
    }
    // 20,000 B: the fifth acknowledgement without delay makes 20,480.
    let mut twin = reference(20_000.0);
    for _ in 0..5 {
        acked(&mut twin, NOW, 0, 0);
    }
    is(twin.cwnd, 21_024.0);

    // a = 625,344/150,000, target 1 us.
    let params = NsccParams::preset("median").expect("a preset");
    let mut twin = by_hand(params, 800, Time::from_ps(6_253_440), 300_000.0);
    is(twin.a, 4.168_96);
    is(twin.maxwnd, 938_016.0);
    acked(&mut twin, NOW, 1, 0);
    is(twin.inc, 85_380.3 * 4096.0);
    let before = twin.inc;
    let half = NsccParams { target: Time::from_us(2), ..params };
    let mut twin = by_hand(half, 800, Time::from_ps(6_253_440), 300_000.0);
    acked(&mut twin, NOW, 1, 0);
    is(twin.inc, 5692.02 * 4096.0);
    assert!(before > twin.inc);
}

/// At a target of 6 us, about the delay at which the port of the script marks.
fn at_6us<F>(params: LawParams<F>) -> LawParams<F> {
    LawParams { target: Time::from_us(6), ..params }
}

fn agrees<F: Filter>(name: &str, params: LawParams<F>, median: Option<(f64, bool)>) {
    let mut met = [0; 7];
    for (seed, flows) in [(1, 2), (2, 12), (3, 40)] {
        let (script, path) = (losses(seed, flows), path(0));
        let count = Met::default();
        let twin = || NsccTwin::new(params, median, path, count.clone());
        let mut host = Nacks(Both::<Law<F>, _>::new(params, path, flows, twin), 0);
        let outcome = run(&mut host, path, &script);
        let worst = host.0.worst;
        println!("{name}, {flows} flows: {worst:?} in {} acks, {:?}", outcome.acks, count.borrow());
        assert!(outcome.acks > 20_000, "{name}: {}", outcome.acks);
        assert!(worst.0 < 1e-6 && worst.1 < 1e-6, "{name}: {worst:?}");
        met.iter_mut().zip(count.borrow().iter()).for_each(|(all, one)| *all += one);
    }
    assert!(met.iter().all(|n| *n > 10), "{name}: the signals leave something out: {met:?}");
}

/// The bound is the whole byte to which an allowance is cut, and 1e-6.
#[test]
fn agrees_with_its_twin() {
    agrees("nscc", at_6us(NsccParams::default()), None);
    let parts = LawParams {
        gamma: Fixed::ratio(3, 2),
        max_decrease: Fixed::ratio(3, 4),
        qa_gate: 2,
        adjust_packets: 3,
        min_cwnd: Fixed::whole(2),
        track_base_rtt: false,
        hole_is_nack: true,
        ..NsccParams::default()
    };
    agrees("nscc with other values", at_6us(parts), None);
    let mnscc = at_6us(MnsccParams::default());
    agrees("mnscc", mnscc, Some((4.0, false)));
    let mut two = mnscc;
    (two.filter.history, two.filter.median_average) = (2, true);
    agrees("mnscc over two", two, Some((2.0, true)));
}

#[test]
fn every_option_of_nscc_changes_something() {
    let (usual, given) = (NsccParams::default(), at_6us(NsccParams::default()));
    let fixed = LawParams { track_base_rtt: false, ..given };
    let share = |n, of| Value::Ratio(Fixed::ratio(n, of));
    let cases = [
        (usual, "target", Value::Time(Time::from_us(6))),
        (usual, "target_share", share(3, 4)),
        (given, "reference_rate", Value::Rate(Rate::from_gbps(50))),
        (given, "reference_rtt", Value::Time(Time::from_us(6))),
        (given, "proportional_increase", share(2, 1)),
        (given, "fair_increase", share(2, 1)),
        (given, "eta", share(1, 1)),
        (given, "fast_increase", share(1, 2)),
        (given, "fast_increase_below", Value::Time(Time::from_ns(100))),
        (given, "fast_increase_share", share(1, 100)),
        (given, "gamma", share(1, 4)),
        (given, "max_decrease", share(1, 4)),
        (given, "average_weight", share(1, 10)),
        (given, "average_pull", share(1, 1)),
        (given, "quick_adapt", Value::Flag(false)),
        (given, "qa_threshold", share(1, 2)),
        (given, "qa_gate", Value::Count(6)),
        (given, "adjust_packets", Value::Count(1)),
        (given, "min_cwnd", share(4, 1)),
        (given, "max_cwnd", share(1, 1)),
        (given, "initial_cwnd", share(1, 1)),
        (given, "track_base_rtt", Value::Flag(false)),
        (given, "forget_base_rtt", Value::Flag(false)),
        (given, "track_nacks", Value::Flag(false)),
        (fixed, "hole_is_nack", Value::Flag(true)),
    ];
    every_option_matters::<Nscc>(&losses(1, 12), &cases);
}

#[test]
fn every_option_of_mnscc_changes_something() {
    let given = at_6us(MnsccParams::default());
    let of_nscc = [
        ("target", Value::Time(Time::from_us(4))),
        ("reference_rate", Value::Rate(Rate::from_gbps(50))),
        ("reference_rtt", Value::Time(Time::from_us(6))),
        ("proportional_increase", Value::Ratio(Fixed::whole(2))),
        ("fair_increase", Value::Ratio(Fixed::whole(2))),
        ("eta", Value::Ratio(Fixed::ONE)),
        ("fast_increase", Value::Ratio(Fixed::ratio(1, 2))),
        ("fast_increase_below", Value::Time(Time::from_ns(100))),
        ("fast_increase_share", Value::Ratio(Fixed::ratio(1, 100))),
        ("gamma", Value::Ratio(Fixed::ratio(1, 4))),
        ("max_decrease", Value::Ratio(Fixed::ratio(1, 4))),
        ("average_weight", Value::Ratio(Fixed::ratio(1, 10))),
        ("average_pull", Value::Ratio(Fixed::ONE)),
        ("quick_adapt", Value::Flag(false)),
        ("qa_threshold", Value::Ratio(Fixed::ratio(1, 2))),
        ("qa_gate", Value::Count(6)),
        ("adjust_packets", Value::Count(1)),
        ("min_cwnd", Value::Ratio(Fixed::whole(4))),
        ("max_cwnd", Value::Ratio(Fixed::ONE)),
        ("initial_cwnd", Value::Ratio(Fixed::ratio(1, 2))),
        ("track_base_rtt", Value::Flag(false)),
        ("forget_base_rtt", Value::Flag(false)),
        ("track_nacks", Value::Flag(false)),
        ("hole_is_nack", Value::Flag(true)),
        ("history", Value::Count(2)),
        ("median_average", Value::Flag(true)),
    ];
    let mut cases: Vec<_> = of_nscc.into_iter().map(|(name, value)| (given, name, value)).collect();
    let shared = LawParams { target: Time::ZERO, ..given };
    cases.push((shared, "target_share", Value::Ratio(Fixed::ratio(1, 2))));
    every_option_matters::<Mnscc>(&losses(1, 12), &cases);
}
