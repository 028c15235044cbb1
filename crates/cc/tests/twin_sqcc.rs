//! SQCC and patched TIMELY in fixed point against a twin in f64, written from the listings of the SQCC paper:
//! Algorithm 2 and Algorithm 3, in µs and Mbps, with k from the logarithm.

mod floats;
mod signals;

use floats::{real, us};
use incast_cc::limits::RateWindow;
use incast_cc::params::{Described, Presets};
use incast_cc::patched_timely::{PatchedTimely, PatchedTimelyParams};
use incast_cc::scale::Scale;
use incast_cc::sqcc::{Count, Rounding, Sqcc, SqccParams, Stage};
use incast_cc::{Ack, CongestionControl, Fixed, IntStack, Path, Setup};
use incast_units::{Bytes, Rate, Time};
use signals::Random;

fn mbps(rate: Rate) -> f64 {
    rate.bps() as f64 / 1e6
}

/// The parameters of the listings; `sqcc` is missing in patched TIMELY.
struct Twin {
    p: PatchedTimelyParams,
    sqcc: Option<SqccParams>,
    /// The part of T_low that does not grow with the number of flows, and the other one.
    low: [f64; 2],
    high: f64,
    min_rtt: f64,
    delta: f64,
    segment: u64,
    line: f64,
    floor: f64,
    rate: f64,
    prev_rtt: Option<f64>,
    rtt_diff: f64,
    acked: u64,
    /// Steps below T_low, above T_high, with weight 0, 1 and between, and with the least factor.
    met: [u32; 6],
}

impl Twin {
    fn new(p: PatchedTimelyParams, sqcc: Option<SqccParams>, path: &Path) -> Self {
        let line = mbps(path.line_rate);
        let floor = (mbps(p.floor_rate) + real(p.floor) * line).min(line);
        let rate = (real(p.start) * line).max(floor).min(line);
        // In units of the path where there are such.
        let (rtt, [low, high, min_rtt, delta, segment]) = (
            us(path.base_rtt),
            [p.scale.low, p.scale.high, p.scale.min_rtt, p.scale.delta, p.scale.segment].map(real),
        );
        let or = |constant: f64, scaled: f64| if constant > 0.0 { constant } else { scaled };
        Self {
            p,
            sqcc,
            low: if p.t_low == Time::ZERO { [rtt, low * rtt] } else { [0.0, us(p.t_low)] },
            high: or(us(p.t_high), rtt + high * rtt),
            min_rtt: or(us(p.min_rtt), min_rtt * rtt),
            delta: or(mbps(p.delta), delta * line),
            segment: or(p.segment.get() as f64, (segment * line * rtt / 8.0).floor()) as u64,
            line,
            floor,
            rate,
            prev_rtt: None,
            rtt_diff: 0.0,
            acked: 0,
            met: [0; 6],
        }
    }

    /// T_low and δ.
    fn law(&self, ack: &Ack) -> (f64, f64) {
        let ([base, queue], delta) = (self.low, self.delta);
        let Some(p) = self.sqcc.filter(|p| p.stage != Stage::Error) else { return (base + queue, delta) };
        let capacity = real(p.capacity) * self.line;
        let n = match p.count {
            Count::Receiver => f64::from(ack.receiver_flows.max(1)),
            Count::Estimate => (capacity / self.rate).round().clamp(1.0, 4096.0),
        };
        let lg = match p.rounding {
            Rounding::Figures => n.log10().ceil() - 1.0,
            Rounding::Floor => n.log10().floor(),
            Rounding::Ceiling => n.log10().ceil(),
        };
        let k = if p.stage == Stage::Full { lg.max(1.0) } else { 1.0 };
        (base + k * queue, delta.min(capacity / n * k / n))
    }

    fn ack(&mut self, ack: &Ack) {
        self.acked += ack.acked.get();
        if self.acked < self.segment {
            return;
        }
        self.acked = 0;
        let new_rtt = us(ack.rtt());
        let Some(prev_rtt) = self.prev_rtt.replace(new_rtt) else { return };
        let alpha = real(self.p.alpha);
        self.rtt_diff = (1.0 - alpha) * self.rtt_diff + alpha * (new_rtt - prev_rtt);
        let gradient = self.rtt_diff / self.min_rtt;
        let ((low, delta), high, beta) = (self.law(ack), self.high, real(self.p.beta));
        if new_rtt < low {
            self.met[0] += 1;
            self.rate += delta;
        } else if new_rtt >= high {
            self.met[1] += 1;
            self.rate *= 1.0 - beta * (1.0 - high / new_rtt);
        } else {
            let weight = if gradient <= -0.25 {
                self.met[2] += 1;
                0.0
            } else if gradient >= 0.25 {
                self.met[3] += 1;
                1.0
            } else {
                self.met[4] += 1;
                2.0 * gradient + 0.5
            };
            let error = match self.sqcc {
                None => (new_rtt - low) / low,
                Some(_) => high * (new_rtt - low) / (low * (high - new_rtt)),
            };
            let mut factor = 1.0 - beta * error * weight;
            if factor < real(self.p.min_factor) {
                self.met[5] += 1;
                factor = real(self.p.min_factor);
            }
            self.rate = delta * (1.0 - weight) + self.rate * factor;
        }
        self.rate = self.rate.clamp(self.floor, self.line);
    }
}

/// Acknowledgements whose RTT walks slowly between 20 and 560 us every second 20 000 times (with `signals`
/// alone few weights lie between 0 and 1), with a number of flows that changes now and then: a power of ten,
/// or up to 5000 with each number of digits as likely.
fn acks(seed: u64, path: &Path) -> Vec<Ack> {
    let mut random = Random::new(seed);
    let (mut rtt, mut flows) = (100_000_000, 0);
    let mut acks = signals::acks(seed, path, Time::from_us(900), 200_000);
    for (i, ack) in acks.iter_mut().enumerate() {
        if random.below(2_000) == 0 {
            let most = [3, 50, 500, 5000][random.below(4) as usize];
            flows =
                [10, 100, 1000].get(random.below(6) as usize).copied().unwrap_or(random.below(most) as u32);
        }
        ack.receiver_flows = flows;
        // In ps; some 15 packets are a segment, and its RTT a us or so off the last one's.
        rtt = (rtt + random.below(1_000_000)).saturating_sub(500_000).clamp(20_000_000, 560_000_000);
        if i / 20_000 % 2 == 1 {
            ack.sent = ack.now - Time::from_ps(rtt);
        }
    }
    acks
}

/// Shows both the same acknowledgements. The largest relative difference, and what the twin met.
fn deviation<C: CongestionControl>(
    params: C::Params,
    mut twin: Twin,
    path: Path,
    seed: u64,
) -> (f64, [u32; 6]) {
    let setup = Setup::new(params, path);
    let mut flow = C::new(&setup, Time::ZERO);
    let mut worst = 0.0_f64;
    for ack in acks(seed, &path) {
        flow.on_ack(&setup, &ack, &IntStack::EMPTY);
        twin.ack(&ack);
        let allowance = flow.allowance(&setup);
        match twin.p.window {
            RateWindow::None => assert_eq!(allowance.window, Bytes::UNLIMITED),
            RateWindow::Bdp => assert_eq!(allowance.window, path.bdp()),
            RateWindow::Rate => {
                let by_rate = path.bdp().get() as f64 * twin.rate / twin.line;
                assert!((allowance.window.get() as f64 - by_rate).abs() <= 1.0 + 1e-6 * by_rate);
            }
        }
        // Less the whole bps to which an allowance is cut.
        let difference = ((mbps(allowance.rate) - twin.rate).abs() - 1e-6).max(0.0);
        worst = worst.max(difference / twin.rate);
    }
    (worst, twin.met)
}

/// Segments of 16 KB give more updates; shares of the line from which rates go up and down.
fn common(preset: PatchedTimelyParams, start: Fixed) -> PatchedTimelyParams {
    PatchedTimelyParams { segment: Bytes::new(16_000), start, ..preset }
}

/// Thresholds in units of the path: from 60 us on and up to some 500, in which the signals have all cases.
fn wide(preset: PatchedTimelyParams, path: &Path) -> PatchedTimelyParams {
    if preset.t_low > Time::ZERO {
        return preset;
    }
    let rtts = |us: u64| Fixed::ratio(us, path.base_rtt.ps() / 1_000_000);
    let scale = Scale { low: rtts(30), high: rtts(470), segment: Fixed::ratio(1, 20), ..preset.scale };
    PatchedTimelyParams { scale, beta: Fixed::ratio(8, 1000), segment: Bytes::ZERO, ..preset }
}

/// The single steps that the fixed-point code is held to, in the twin: two segments of 64 KB at 10 Gbps.
#[test]
fn the_twin_steps_by_hand() {
    let us = |us: f64| Time::from_ps((us * 1e6).round() as u64);
    let any =
        Ack { now: Time::from_us(5000), ..signals::acks(1, &signals::path(10), Time::from_us(5), 1)[0] };
    let of = |stage| SqccParams { stage, ..SqccParams::paper() };
    let (error, full) = (Some(of(Stage::Error)), Some(of(Stage::Full)));
    for (sqcc, rate, flows, rtts, by_hand) in [
        (None, 1000.0, 0, (100.0, 100.5), 997.796),
        (error, 1000.0, 0, (100.0, 100.5), 996.423_967_459),
        (None, 1000.0, 0, (100.0, 99.0), 1007.324),
        (None, 1000.0, 0, (100.0, 102.0), 991.68),
        (None, 200.0, 0, (600.0, 600.0), 199.733_333_333),
        (error, 200.0, 0, (600.0, 600.0), 199.733_333_333),
        (full, 20.0, 500, (130.0, 130.2), 19.997_160_411),
    ] {
        let p = sqcc.unwrap_or(SqccParams::paper()).common;
        let mut twin = Twin { rate, ..Twin::new(p, sqcc, &signals::path(10)) };
        for rtt in [rtts.0, rtts.1] {
            let (acked, sent) = (Bytes::new(64_000), any.now - us(rtt));
            twin.ack(&Ack { acked, sent, receiver_flows: flows, ..any });
        }
        assert!((twin.rate - by_hand).abs() < 1e-9 * by_hand, "{} is not {by_hand}", twin.rate);
    }
}

#[test]
fn patched_timely_agrees_with_its_twin() {
    for preset in PatchedTimelyParams::PRESETS {
        for (seed, gbps, start) in
            [(1, 10, Fixed::ONE), (2, 25, Fixed::ratio(1, 10)), (3, 100, Fixed::ratio(1, 100))]
        {
            let path = signals::path(gbps);
            let params = wide(common((preset.params)(), start), &path);
            let twin = Twin::new(params, None, &path);
            let (worst, met) = deviation::<PatchedTimely>(params, twin, path, seed);
            println!("{} at {gbps} Gbps: {worst:.1e} {met:?}", preset.name);
            assert!(worst < 1e-6, "{} at {gbps} Gbps: {worst}", preset.name);
            // Its factor is at least 1 − 0.008 · 9.
            assert!(
                met[..5].iter().all(|n| *n > 10) && met[5] == 0,
                "the signals leave something out: {met:?}"
            );
        }
    }
}

#[test]
fn sqcc_agrees_with_its_twin() {
    let usual = SqccParams::paper();
    let (delta, error) =
        (SqccParams { stage: Stage::Delta, ..usual }, SqccParams { stage: Stage::Error, ..usual });
    for (name, params) in [
        ("error", error),
        ("delta", delta),
        ("full", usual),
        ("floor", SqccParams { rounding: Rounding::Floor, ..usual }),
        ("ceil", SqccParams { rounding: Rounding::Ceiling, ..usual }),
        ("estimate", SqccParams { count: Count::Estimate, ..usual }),
        ("estimate delta", SqccParams { count: Count::Estimate, ..delta }),
        ("half capacity", SqccParams { capacity: Fixed::ratio(1, 2), ..usual }),
        ("scaled", SqccParams::scaled()),
    ] {
        for (seed, gbps, start) in
            [(4, 10, Fixed::ONE), (5, 25, Fixed::ratio(1, 10)), (6, 100, Fixed::ratio(1, 100))]
        {
            let path = signals::path(gbps);
            let params = SqccParams { common: wide(common(params.common, start), &path), ..params };
            let (worst, met) =
                deviation::<Sqcc>(params, Twin::new(params.common, Some(params), &path), path, seed);
            println!("{name} at {gbps} Gbps: {worst:.1e} {met:?}");
            assert!(worst < 1e-6, "{name} at {gbps} Gbps: {worst}");
            assert!(met.iter().all(|n| *n > 10), "the signals leave something out: {met:?}");
        }
    }
}

/// Each option changes the rates of a run that uses it.
#[test]
fn every_option_changes_something() {
    let usual =
        SqccParams { common: common(SqccParams::paper().common, Fixed::ratio(1, 10)), ..SqccParams::paper() };
    let rates = |params: SqccParams| {
        let path = signals::path(10);
        let setup = Setup::new(params, path);
        let mut flow = Sqcc::new(&setup, Time::ZERO);
        let mut rates = Vec::new();
        for (i, ack) in signals::acks(7, &path, Time::from_us(900), 40_000).into_iter().enumerate() {
            let receiver_flows = [3, 60, 100, 400][i / 500 % 4];
            flow.on_ack(&setup, &Ack { receiver_flows, ..ack }, &IntStack::EMPTY);
            rates.push(flow.allowance(&setup));
        }
        rates
    };
    let before = rates(usual);
    let changed = |change: fn(&mut SqccParams)| {
        let mut params = usual;
        change(&mut params);
        rates(params) != before
    };
    assert!(!changed(|_| ()));
    for (name, change) in [
        ("alpha", (|p| p.common.alpha = Fixed::ratio(1, 2)) as fn(&mut SqccParams)),
        ("beta", |p| p.common.beta = Fixed::ratio(1, 100)),
        ("t_low", |p| p.common.t_low = Time::from_us(40)),
        ("t_high", |p| p.common.t_high = Time::from_us(400)),
        ("min_rtt", |p| p.common.min_rtt = Time::from_us(20)),
        ("delta", |p| p.common.delta = Rate::from_mbps(20)),
        ("segment", |p| p.common.segment = Bytes::new(64_000)),
        ("min_factor", |p| p.common.min_factor = Fixed::ratio(9, 10)),
        ("floor_rate", |p| p.common.floor_rate = Rate::from_gbps(2)),
        ("floor", |p| p.common.floor = Fixed::ratio(1, 5)),
        ("start", |p| p.common.start = Fixed::ONE),
        ("stage", |p| p.stage = Stage::Delta),
        ("count", |p| p.count = Count::Estimate),
        ("rounding", |p| p.rounding = Rounding::Floor),
        ("capacity", |p| p.capacity = Fixed::ratio(1, 2)),
        ("window", |p| p.common.window = RateWindow::Bdp),
    ] {
        assert!(changed(change), "{name}");
    }
    // Units of the path, where the constants are 0.
    let usual = SqccParams { common: wide(SqccParams::scaled().common, &signals::path(10)), ..usual };
    let before = rates(usual);
    for (name, change) in [
        ("queue_low", (|scale| scale.low = Fixed::ONE) as fn(&mut Scale)),
        ("queue_high", |scale| scale.high = Fixed::whole(9)),
        ("min_rtts", |scale| scale.min_rtt = Fixed::ratio(1, 2)),
        ("delta_share", |scale| scale.delta = Fixed::ratio(1, 1000)),
        ("segment_share", |scale| scale.segment = Fixed::ratio(1, 3)),
    ] {
        let mut params = usual;
        change(&mut params.common.scale);
        assert_ne!(rates(params), before, "{name}");
    }
    assert_eq!(SqccParams::PARAMS.len(), 21, "does a new option change something?");
}
