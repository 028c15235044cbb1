//! OSCAR in fixed point against a twin in f64, written from the paper's listings with stored samples
//! instead of running sums.

mod floats;
mod signals;

use floats::{real, us};
use incast_cc::oscar::{Oscar, OscarParams};
use incast_cc::params::{Described, Presets, Value};
use incast_cc::{Ack, CongestionControl, Fixed, IntStack, Path, Setup};
use incast_units::{Bytes, Rate, Time};

/// Delay, inflight and send time of one acknowledgement, in µs and bytes.
#[derive(Clone, Copy)]
struct Point {
    sent: f64,
    delay: f64,
    inflight: f64,
    packets: f64,
}

/// Algorithms 1 and 2 in µs, bytes and bytes per µs.
struct Twin {
    p: OscarParams,
    base: f64,
    back: f64,
    mu: f64,
    mtu: f64,
    start: f64,
    batch: Vec<Point>,
    u: f64,
    /// 1 + gradient of the last batch that met a queue.
    arrival: f64,
}

impl Twin {
    fn new(p: OscarParams, path: &Path) -> Self {
        Self {
            p,
            base: us(path.base_rtt),
            back: us(path.base_rtt) - us(path.base_owd),
            mu: path.line_rate.bps() as f64 / 8e6,
            mtu: path.packet.get() as f64,
            start: 0.0,
            batch: Vec::new(),
            u: 1.0,
            arrival: f64::INFINITY,
        }
    }

    fn target(&self) -> f64 {
        real(self.p.target) * self.base + self.p.target_queue.get() as f64 / self.mu + us(self.p.target_time)
    }

    fn tau(&self) -> f64 {
        real(self.p.tau) * self.base + us(self.p.tau_time)
    }

    fn ack(&mut self, ack: &Ack) {
        let delay =
            if self.p.one_way_delay { us(ack.received) - us(ack.sent) + self.back } else { us(ack.rtt()) };
        self.batch.push(Point {
            sent: us(ack.sent),
            delay,
            inflight: ack.inflight.get() as f64,
            packets: f64::from(ack.packets),
        });
        let last = self.batch[self.batch.len() - 1];
        if !self.p.batched {
            if self.batch.len() == 2 {
                let first = self.batch.remove(0);
                let span = last.sent - first.sent;
                let gradient = (last.delay - first.delay) / span;
                self.update(last.delay, gradient, last.inflight, last.packets * self.mtu / span, span);
            }
            return;
        }
        if self.p.start_with_next && self.batch.len() == 1 {
            self.start = last.sent;
        }
        let span = last.sent - self.start;
        // The fixed-point side compares picoseconds; here a millionth of one makes up for rounding.
        let over = if self.p.start_with_next { span > self.tau() + 1e-9 } else { span > self.tau() - 1e-9 };
        if !over || self.batch.len() < 3 {
            return;
        }
        let points = std::mem::take(&mut self.batch);
        let n = points.len() as f64;
        let packets: f64 = points.iter().map(|p| p.packets).sum();
        let delay = points.iter().map(|p| p.delay).sum::<f64>() / n;
        let inflight = points.iter().map(|p| p.inflight * p.packets).sum::<f64>() / packets;
        let gradient = if self.p.three_points {
            let half = self.start + self.tau() / 2.0;
            let middle = points[1..points.len() - 1].iter().find(|p| p.sent >= half - 1e-9);
            slope(&[Some(&points[0]), middle, Some(&last)].into_iter().flatten().copied().collect::<Vec<_>>())
        } else {
            slope(&points)
        };
        self.start = last.sent;
        self.update(delay, gradient, inflight, packets * self.mtu / span, span);
    }

    fn update(&mut self, delay: f64, gradient: f64, inflight: f64, rate: f64, span: f64) {
        let u = if delay <= self.base * (1.0 + real(self.p.epsilon)) + us(self.p.epsilon_time) {
            self.u + real(self.p.u_hai)
        } else {
            self.arrival = 1.0 + gradient.max(-real(self.p.steepest_fall));
            let u_w = inflight / (delay * self.mu);
            let wide = real(self.p.wide_batch);
            let u_r =
                if wide > 0.0 && span > wide * self.tau() { u_w } else { rate / (self.arrival * self.mu) };
            let accelerate = delay < self.target() - us(self.p.dead_band);
            (if accelerate { u_w.max(u_r) } else { u_w.min(u_r) }) + real(self.p.u_ai)
        };
        self.u = u.clamp(real(self.p.floor), 1.0);
    }
}

/// Least squares about the means.
fn slope(points: &[Point]) -> f64 {
    let n = points.len() as f64;
    let (x, y) =
        (points.iter().map(|p| p.sent).sum::<f64>() / n, points.iter().map(|p| p.delay).sum::<f64>() / n);
    let common: f64 = points.iter().map(|p| (p.sent - x) * (p.delay - y)).sum();
    common / points.iter().map(|p| (p.sent - x).powi(2)).sum::<f64>()
}

fn paths() -> Vec<Path> {
    [(100, 12_180), (100, 4_200), (10, 20_000), (400, 8_200), (1600, 50_000)]
        .into_iter()
        .map(|(gbps, rtt)| Path {
            base_rtt: Time::from_ns(rtt),
            base_owd: Time::from_ns(rtt * 6 / 10),
            line_rate: Rate::from_gbps(gbps),
            packet: Bytes::new(1060),
            payload: Bytes::new(1000),
            hops: 4,
        })
        .collect()
}

/// The largest relative difference of `u` over a run, and how often each side of the target, the
/// empty queue and the floor were met.
fn largest_difference(params: &OscarParams, path: &Path, seed: u64) -> (f64, [u32; 4]) {
    let mut flow = Oscar::new(&Setup::new(*params, *path), Time::ZERO);
    let mut twin = Twin::new(*params, path);
    let (mut worst, mut met, mut before) = (0.0_f64, [0; 4], 0.0);
    for ack in signals::acks(seed, path, path.base_rtt.times(6), 60_000) {
        flow.on_ack(&Setup::new(*params, *path), &ack, &IntStack::EMPTY);
        twin.ack(&ack);
        // Where 1 + g is under 0.1 its error counts as much more than ten times.
        let scale = (twin.arrival / 0.1).clamp(0.0, 1.0);
        worst = worst.max(scale * (real(flow.ratio()) - twin.u).abs() / twin.u);
        let allowance = flow.allowance(&Setup::new(*params, *path));
        let bdp = path.bdp().get() as f64;
        let window = (twin.u * twin.target() * twin.mu).min(bdp);
        assert!(scale * (allowance.window.get() as f64 - window).abs() <= 1.0 + 1e-4 * window);
        let rate = twin.u * path.line_rate.bps() as f64;
        assert!(scale * (allowance.rate.bps() as f64 - rate).abs() <= 1.0 + 1e-4 * rate);
        if twin.u != before {
            let hyper = (twin.u - before - real(params.u_hai)).abs() < 1e-9;
            met[if hyper {
                0
            } else if twin.u > before {
                1
            } else {
                2
            }] += 1;
            met[3] += u32::from(twin.u >= 1.0);
            before = twin.u;
        }
    }
    (worst, met)
}

/// Both sides agree to 1e-4 of `u`. The coarsest input of the fixed-point side is the tick of its
/// gradient: a send time or delay is off by less than a tick, and a period has more than 90 000 ticks
/// on these paths, so the gradient of a batch of three packets may be off by 2/90 000, which counts
/// ten times where `1 + g` is 0.1, and more below, which the comparison takes into account. Both at
/// once would be 2e-4.
#[test]
fn agrees_with_its_twin() {
    for preset in OscarParams::PRESETS {
        for (i, path) in paths().iter().enumerate() {
            let (worst, met) = largest_difference(&(preset.params)(), path, 11 + i as u64);
            println!("{} at {} {}: {worst:.1e} {met:?}", preset.name, path.line_rate, path.base_rtt);
            assert!(worst < 1e-4, "{} at {} {}: {worst}", preset.name, path.line_rate, path.base_rtt);
            assert!(met.iter().all(|n| *n > 0), "{}: the signals leave something out: {met:?}", preset.name);
        }
    }
}

/// The parameters that no preset moves far, one by one.
#[test]
fn agrees_with_other_parameters() {
    let ratio = |n, d| Value::Ratio(Fixed::ratio(n, d));
    for (name, value) in [
        ("target", ratio(3, 1)),
        ("target_time", Value::Time(Time::from_us(3))),
        ("tau", ratio(2, 1)),
        ("u_hai", ratio(1, 4)),
        ("u_ai", ratio(5, 100)),
        ("epsilon", ratio(1, 2)),
        ("wide_batch", ratio(3, 1)),
        ("steepest_fall", ratio(1, 2)),
        ("floor", ratio(1, 10)),
        ("dead_band", Value::Time(Time::from_us(3))),
    ] {
        let mut params = OscarParams::paper();
        let param = OscarParams::PARAMS.iter().find(|p| p.name == name).unwrap();
        assert!(param.kind.admits(value));
        (param.set)(&mut params, value);
        assert_ne!(params, OscarParams::paper());
        for path in paths() {
            let (worst, _) = largest_difference(&params, &path, 5);
            assert!(worst < 1e-4, "{name} at {}: {worst}", path.line_rate);
        }
    }
}
