//! CCC against an f64 twin, and its two logarithms against each other.

mod bottleneck;
mod floats;
mod signals;

use std::collections::VecDeque;

use bottleneck::{Both, Twin, check_twin, every_option_matters, path, run, script};
use floats::{real, us};
use incast_cc::ccc::{Ccc, CccParams, Logarithm, Renewal, Window};
use incast_cc::params::{Presets, Value};
use incast_cc::{Ack, CongestionControl, Fixed, IntStack, Path, Setup};
use incast_units::{Bytes, Rate, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    H1i,
    H2i,
    H1d,
    H2d,
    Ai,
    Ad,
}

/// The paper's equations in µs and bit/s.
struct CccTwin {
    p: CccParams,
    rtt_min: f64,
    q_b: f64,
    r_l: f64,
    m: f64,
    r: f64,
    q: f64,
    q_v: f64,
    delta: f64,
    /// t(k − 1) and RTT(k − 1).
    last: Option<(Time, f64)>,
    /// The acknowledgement from which q_v is measured.
    from: Option<(Time, f64)>,
    /// Since when q has been close to zero.
    unused: Option<Time>,
    s: f64,
    records: VecDeque<f64>,
    at: Option<At>,
    /// Number of times that each region was met, and that S was renewed.
    met: [u32; 7],
}

impl CccTwin {
    fn new(p: CccParams, path: &Path) -> Self {
        let r_l = path.line_rate.bps() as f64;
        let r = real(p.initial_rate) * r_l;
        Self {
            p,
            rtt_min: us(path.base_rtt),
            q_b: if p.q_b == Time::ZERO { real(p.q_b_share) * us(path.base_rtt) } else { us(p.q_b) },
            r_l,
            m: path.packet.get() as f64 * 8.0,
            r,
            q: 0.0,
            q_v: 0.0,
            delta: 0.0,
            last: None,
            from: None,
            unused: None,
            s: if p.s_initial == Fixed::ZERO { r } else { real(p.s_initial) * r_l },
            records: VecDeque::new(),
            at: None,
            met: [0; 7],
        }
    }

    /// Equation 10 for the logarithm of a time, in ns.
    fn log(&self, us: f64) -> f64 {
        let ns = us * 1000.0;
        match self.p.log {
            Logarithm::Exact => ns.log2(),
            Logarithm::Piecewise | Logarithm::Printed => {
                let i = ns.log2().floor();
                i + (ns - i.exp2()) / i.exp2()
            }
        }
    }

    fn half_log_of_q_b_over(&self, q: f64) -> f64 {
        let q_b = match self.p.log {
            Logarithm::Printed => (self.q_b * 1000.0).log2(),
            Logarithm::Exact | Logarithm::Piecewise => self.log(self.q_b),
        };
        0.5 * (q_b - self.log(q.max((self.rtt_min / 4096.0).min(self.q_b / 4.0))))
    }

    fn region(&self) -> At {
        let (q, q_b, v, delta) = (self.q, self.q_b, self.used(), self.delta);
        match () {
            () if q < q_b && v < -real(self.p.epsilon) => At::H1i,
            () if q < q_b && delta > 0.0 => At::H2i,
            () if v > 0.0 && delta <= 0.0 => At::H1d,
            () if q > 4.0 * q_b => At::H2d,
            () if delta > 0.0 => At::Ai,
            () => At::Ad,
        }
    }

    /// Equation 1, with Equation 9 for f, after `n` round trips on an unused link.
    fn u(&self, at: At, irr: f64, n: f64, itv: f64) -> f64 {
        let v = self.used();
        let f = if (irr - self.r) * self.delta > 0.0 { 1.0 } else { 0.0 }; // (9)
        let smooth = (itv / self.rtt_min).min(1.0);
        if f == 0.0 && at != At::Ai {
            return real(self.p.w_fair) * self.r / self.r_l * (irr - self.r) * smooth;
        }
        match at {
            At::Ai => {
                let ahead = self.q + itv.min(self.rtt_min) * v;
                (self.half_log_of_q_b_over(ahead) - v) * self.m / self.rtt_min * 1e6
            }
            At::H1i => {
                let w_ai = real(self.p.w_1) * irr / self.r_l * (1.0 - 2.0 * self.r / self.r_l).max(0.0);
                self.s * w_ai * n.exp2() * f * smooth
            }
            At::H2i => self.s * real(self.p.w_2) * irr / self.r_l * n.exp2() * f * smooth,
            At::H1d | At::H2d | At::Ad => {
                let w_md = -real(self.p.w_md) * ((self.q - self.q_b).abs() / self.q_b).min(1.0);
                self.r * w_md * f * smooth
            }
        }
    }

    /// q_v as it is used.
    fn used(&self) -> f64 {
        if self.q_v.abs() < 1.0 / 1_048_576.0 { 0.0 } else { self.q_v.max(-1.0) }
    }
}

impl Twin for CccTwin {
    fn ack(&mut self, ack: &Ack, _int: &IntStack) {
        let rtt = us(ack.rtt());
        let Some((t, before)) = self.last.replace((ack.now, rtt)) else { return };
        if t == ack.now {
            self.from = self.from.map(|(t, r)| (t, if t == ack.now { rtt } else { r }));
            return;
        }
        let itv = us(ack.now - t); // (3)
        let gamma = real(self.p.gamma);
        self.q = (rtt - self.rtt_min).max(0.0); // (2)
        let (begin, then) = *self.from.get_or_insert((t, before));
        if (ack.now - begin).ps() as f64 >= (real(self.p.span) * self.rtt_min * 1e6).floor() {
            self.q_v = gamma * self.q_v + (1.0 - gamma) * (rtt - then) / us(ack.now - begin); // (4)
            self.from = Some((ack.now, rtt));
        }
        let v = self.used();
        self.delta = self.half_log_of_q_b_over(self.q) - v; // (5)
        let irr = (self.r_l - self.r_l / self.q_b * self.q).max(0.0); // (6)
        let n = if self.q < real(self.p.idle) * self.rtt_min {
            let since = *self.unused.get_or_insert(ack.now);
            (us(ack.now - since) / self.rtt_min).floor().min(self.p.max_doublings as f64)
        } else {
            self.unused = None;
            0.0
        };
        let at = self.region();
        self.met[at as usize] += 1;
        if v.abs() < real(self.p.calm) {
            self.records.push_back(self.r);
            if self.records.len() > 5 {
                self.records.pop_front();
            }
        }
        let to = match self.p.renewal {
            Renewal::Increase => matches!(at, At::H1i | At::H2i),
            Renewal::Any => !matches!(at, At::Ai | At::Ad),
        };
        let left_a = matches!(self.at, Some(At::Ai | At::Ad)) && to;
        if left_a && !self.records.is_empty() {
            self.s = self.records.iter().sum::<f64>() / self.records.len() as f64;
            self.met[6] += 1;
        }
        self.at = Some(at);
        self.r = (self.r + self.u(at, irr, n, itv)).clamp(real(self.p.floor) * self.r_l, self.r_l);
    }

    fn allowance(&self) -> (f64, f64) {
        let time = match self.p.window {
            Window::Headroom => self.rtt_min + self.q_b,
            Window::Letter => self.rtt_min,
            Window::None => f64::INFINITY,
        };
        ((self.r / 8e6 * time).max(self.m / 8.0), self.r)
    }
}

fn of_the_paper() -> Path {
    Path {
        base_rtt: Time::from_us(20),
        base_owd: Time::from_us(11),
        line_rate: Rate::from_gbps(25),
        packet: Bytes::new(1054),
        payload: Bytes::new(1000),
        hops: 4,
    }
}

/// Both logarithms, both delays, all windows.
fn variants() -> Vec<(String, CccParams)> {
    let mut all = Vec::new();
    for preset in CccParams::PRESETS {
        for log in [Logarithm::Exact, Logarithm::Piecewise, Logarithm::Printed] {
            all.push((format!("{} {log:?}", preset.name), CccParams { log, ..(preset.params)() }));
        }
    }
    let window = Window::None;
    all.push(("none".to_owned(), CccParams { window, ..CccParams::headroom() }));
    let epsilon = Fixed::ratio(1, 20);
    all.push(("epsilon".to_owned(), CccParams { epsilon, ..CccParams::headroom() }));
    all
}

/// The numbers of the unit tests of the fixed-point code, worked out by hand there.
#[test]
fn the_twin_has_the_numbers_by_hand() {
    let path = Path { packet: Bytes::new(1000), ..of_the_paper() };
    let mut twin = CccTwin::new(CccParams::headroom(), &path);
    let mut state = |q: f64, q_v: f64, r: f64, s: f64| {
        (twin.q, twin.q_v, twin.r, twin.s) = (q, q_v, r * 1e9, s * 1e9);
        twin.delta = twin.half_log_of_q_b_over(q) - twin.used();
        let irr = (25e9 * (1.0 - q / 5.0)).max(0.0);
        let at = twin.region();
        (at, twin.delta, [0.0, 2.0].map(|n| [0.32, 1.6].map(|itv| twin.u(at, irr, n, itv))))
    };
    for (q, q_v, delta) in [
        (1.25, 0.0, 1.0),
        (2.5, 0.5, 0.0),
        (7.0, -0.1, -0.142_713_4),
        (10.0, -0.6, 0.1),
        (10.0, -0.4, -0.1),
        (20.0, -1.0, 0.0),
        (30.0, -0.5, -0.792_481_3),
        (80.0, 0.2, -2.2),
    ] {
        assert!((state(q, q_v, 5.0, 5.0).1 - delta).abs() < 1e-7, "{q} {q_v}");
    }
    // Equation 10 as printed, with the exact logarithm of q_B, 5000 ns.
    let lines = CccTwin::new(CccParams { log: Logarithm::Piecewise, ..CccParams::headroom() }, &path);
    for (q, q_v, delta) in
        [(5.0, 0.0, 0.033_505), (10.0, -0.6, 0.133_505), (7.0, -0.1, -0.110_636), (30.0, -0.5, -0.771_671)]
    {
        let printed = 0.5 * (5000_f64.log2() - lines.log(q)) - q_v;
        assert!((printed - delta).abs() < 1e-6, "{q} {q_v}: {printed}");
    }
    // Region; q, q_v, r, S; round trips on an unused link, 0 or 2; Itv, 0.32 or 1.6 us.
    for (at, [q, q_v, r, s], rtts, itv, u) in [
        (At::Ai, [8.0, -0.6, 5.0, 5.0], 0, 1, 141_270_533.0),
        (At::Ai, [10.0, -0.7, 5.0, 5.0], 0, 1, 114_273_684.0),
        (At::Ai, [6.0, -0.3, 5.0, 5.0], 0, 0, 72_047_075.0),
        (At::Ad, [8.0, -0.2, 5.0, 5.0], 0, 1, -60e6),
        (At::H2d, [40.0, -0.2, 25.0, 25.0], 0, 0, -100e6),
        (At::Ad, [5.5, 0.0, 5.0, 5.0], 0, 1, -10e6),
        (At::H1i, [2.0, -0.5, 5.0, 5.0], 0, 1, 72e6),
        (At::H2i, [0.5, 0.0, 5.0, 5.0], 1, 1, 144e6),
        (At::H1i, [0.0, -0.5, 13.0, 5.0], 1, 1, 0.0),
        (At::H2i, [0.0, 0.0, 13.0, 5.0], 1, 0, 32e6),
        (At::H2i, [4.5, 0.0, 5.0, 5.0], 0, 1, 0.0),
    ] {
        let (found, _, by_rtts) = state(q, q_v, r, s);
        assert_eq!(found, at, "{q} {q_v}");
        let found: f64 = by_rtts[rtts][itv];
        assert!((found - u).abs() < 1.0, "{at:?} at {q} {q_v}: {found}, not {u}");
    }
}

/// Lets the twin see an acknowledgement `itv` us after the one before, with a queueing delay of `q` us.
fn acked(twin: &mut CccTwin, itv: f64, q: f64) {
    let now = twin.last.map_or(Time::from_ms(1), |(now, _)| now + Time::from_ps((itv * 1e6).round() as u64));
    let rtt = Time::from_ps(((twin.rtt_min + q) * 1e6).round() as u64);
    let path = of_the_paper();
    let [any] = signals::acks(1, &path, Time::from_us(1), 1).try_into().expect("one");
    twin.ack(&Ack { now, sent: now - rtt, held: Time::ZERO, ..any }, &IntStack::EMPTY);
}

/// Those that take several acknowledgements.
#[test]
fn the_twin_has_the_sequences_by_hand() {
    let path = Path { packet: Bytes::new(1000), ..of_the_paper() };
    let twin = |r: f64, q: f64| {
        let mut twin = CccTwin::new(CccParams::headroom(), &path);
        acked(&mut twin, 0.0, q);
        (twin.r, twin.s) = (r, r);
        twin
    };
    let near =
        |value: f64, by_hand: f64| assert!((value / by_hand - 1.0).abs() < 1e-6, "{value}, not {by_hand}");
    // 0.8 · 0.32/1.6 = 0.16, then 0.2 · 0.16; no change of the RTT in the third.
    let mut flow = twin(5e9, 10.0);
    for q_v in [0.16, 0.032] {
        acked(&mut flow, 1.6, 10.32);
        near(flow.q_v, q_v);
    }
    // A round trip of 25 acknowledgements: 0.99^25. One of 12.5: 0.98^12.5 = 0.7768299, so two of them its square.
    for (q, itv, by_hand) in [(10.0, 0.8, 0.777_821_4), (40.0, 0.8, 0.777_821_4), (10.0, 1.6, 0.603_464_7)] {
        let mut flow = twin(25e9, q);
        for _ in 0..25 {
            acked(&mut flow, itv, q);
        }
        near(flow.r, 25e9 * by_hand);
    }
    // Alone after a phase of five flows: whole round trips in H2i of 0.5 Gbps · 2^n.
    let mut flow = twin(5e9, 0.0);
    flow.unused = Some(Time::from_ms(1) + Time::from_us(20));
    for gbps in [5.5, 6.5, 8.5, 12.5, 20.5, 25.0] {
        acked(&mut flow, 20.0, 0.0);
        near(flow.r, gbps * 1e9);
        assert_eq!(flow.at, Some(At::H2i));
    }
    // Largest difference of both criteria: half of log2(1 + u) - u at u = 1/ln 2 - 1, with the exact logarithm of
    // q_B in both (Equation 10 as printed); with q_B through the same lines it is within 0.0431 on both sides.
    let lines = CccTwin::new(CccParams { log: Logarithm::Piecewise, ..CccParams::headroom() }, &path);
    let (mut printed, mut same) = (0.0_f64, 0.0_f64);
    for ns in 5..200_000 {
        let q = f64::from(ns) / 1000.0;
        let off = 0.5 * ((q * 1000.0).log2() - lines.log(q));
        printed = printed.max(off.abs());
        same = same.max((off - 0.5 * ((5000.0_f64).log2() - lines.log(5.0))).abs());
    }
    assert!((printed - 0.043_036).abs() < 1e-6 && same < 0.0431, "{printed} {same}");
}

/// In a closed loop. The bound: a rate is resolved to 2^-32 Mbps and its steps to 2^-32 of their factors, which
/// are hundredths; nothing divides by a small number.
#[test]
fn agrees_with_its_twin() {
    let mut met = [0; 7];
    for (name, params) in variants() {
        for seed in 1..=3 {
            let script = script(seed, 12, Time::from_ms(4));
            let path = path(0);
            let twin = || CccTwin::new(params, &path);
            let (outcome, twins) = check_twin::<Ccc, _>(&name, params, path, &script, twin);
            for twin in &twins {
                met.iter_mut().zip(twin.met).for_each(|(sum, n)| *sum += n);
            }
            assert!(outcome.acks > 30_000, "only {} acknowledgements", outcome.acks);
        }
    }
    println!("H1i, H2i, H1d, H2d, Ai, Ad, S: {met:?}");
    assert!(met.iter().all(|n| *n > 1000), "the world leaves something out: {met:?}");
}

/// Over long queues, at the path of the paper's simulations.
#[test]
fn agrees_with_its_twin_over_any_queue() {
    for (name, params) in variants() {
        for (seed, deepest) in [(1, 30), (2, 100), (3, 900)] {
            let (path, mut worst) = (of_the_paper(), 0.0_f64);
            let setup = Setup::new(params, path);
            let (mut flow, mut twin) = (Ccc::new(&setup, Time::ZERO), CccTwin::new(params, &path));
            for ack in signals::acks(seed, &path, Time::from_us(deepest), 200_000) {
                flow.on_ack(&setup, &ack, &IntStack::EMPTY);
                twin.ack(&ack, &IntStack::EMPTY);
                worst = worst.max((flow.allowance(&setup).rate.bps() as f64 - twin.r).abs() / twin.r);
            }
            println!("{name} {deepest}: {worst:.1e} {:?}", twin.met);
            assert!(worst < 1e-6, "{name} up to {deepest} us: {worst}");
        }
    }
}

/// With the same signals the exact and the piecewise logarithm are in the same region, except near δ = 0: there
/// they differ by 0.0431 at most.
#[test]
fn both_logarithms_see_the_same_regions() {
    let path = path(0);
    let script = script(5, 12, Time::from_ms(4));
    let exact = CccParams::headroom();
    let lines = CccParams { log: Logarithm::Piecewise, ..exact };
    let mut host = Both::<Ccc, _>::new(exact, path, 12, || Pair {
        exact: CccTwin::new(exact, &path),
        lines: CccTwin::new(lines, &path),
        same: 0,
        other: 0,
        near: 0,
    });
    run(&mut host, path, &script);
    let sum = |of: fn(&Pair) -> u32| host.twins.iter().map(of).sum::<u32>();
    let (same, other, near) = (sum(|p| p.same), sum(|p| p.other), sum(|p| p.near));
    println!("same {same}, other {other}, near the border {near}");
    assert_eq!(other, 0);
    assert!(near > 0 && f64::from(near) < 0.01 * f64::from(same), "{near} near the border, {same} the same");
}

/// The twin with both logarithms, for the same acknowledgements.
struct Pair {
    exact: CccTwin,
    lines: CccTwin,
    same: u32,
    /// Different, far from δ = 0 and near it.
    other: u32,
    near: u32,
}

impl Twin for Pair {
    fn ack(&mut self, ack: &Ack, int: &IntStack) {
        self.exact.ack(ack, int);
        self.lines.ack(ack, int);
        if self.exact.at == self.lines.at {
            self.same += 1;
        } else if self.exact.delta.abs() < 0.0431 {
            self.near += 1;
        } else {
            self.other += 1;
        }
    }

    fn allowance(&self) -> (f64, f64) {
        self.exact.allowance()
    }
}

#[test]
fn every_option_changes_something() {
    let paper = CccParams::headroom();
    let share = CccParams { q_b: Time::ZERO, ..paper };
    let slow = CccParams { floor: Fixed::ratio(1, 5), ..paper };
    let cases = [
        (paper, "q_b", Value::Time(Time::from_us(2))),
        (paper, "gamma", Value::Ratio(Fixed::ratio(1, 2))),
        (paper, "w_1", Value::Ratio(Fixed::ONE)),
        (paper, "w_2", Value::Ratio(Fixed::ratio(1, 5))),
        (paper, "w_md", Value::Ratio(Fixed::ratio(1, 2))),
        (paper, "idle", Value::Ratio(Fixed::ZERO)),
        (paper, "max_doublings", Value::Count(1)),
        (paper, "calm", Value::Ratio(Fixed::ratio(1, 4))),
        (paper, "epsilon", Value::Ratio(Fixed::ratio(1, 20))),
        (paper, "log", Value::Choice(1)),
        (paper, "log", Value::Choice(2)),
        (paper, "renewal", Value::Choice(0)),
        (paper, "stamp", Value::Bytes(Bytes::new(4))),
        (paper, "w_fair", Value::Ratio(Fixed::ratio(1, 20))),
        (paper, "span", Value::Ratio(Fixed::ratio(1, 4))),
        (share, "q_b_share", Value::Ratio(Fixed::ratio(1, 8))),
        (paper, "window", Value::Choice(1)),
        (paper, "window", Value::Choice(2)),
        (paper, "initial_rate", Value::Ratio(Fixed::ratio(1, 10))),
        (paper, "s_initial", Value::Ratio(Fixed::ratio(1, 10))),
        (slow, "floor", Value::Ratio(Fixed::ratio(1, 1000))),
    ];
    every_option_matters::<Ccc>(&script(1, 8, Time::from_ms(2)), &cases);
}
