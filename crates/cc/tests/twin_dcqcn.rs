//! DCQCN against an f64 twin that makes every tick of α's timer.

mod bottleneck;
mod floats;

use bottleneck::{Host, LINE, Script, Twin, agree, every_option_matters, path, run, script};
use floats::real;
use incast_cc::dcqcn::{Dcqcn, DcqcnParams, Feedback, Flavour};
use incast_cc::limits::RateWindow;
use incast_cc::params::{Presets, Value};
use incast_cc::{Ack, Fixed, IntStack, Path, Sent};
use incast_units::{Bytes, Rate, Time};

/// DCQCN, SIGCOMM 2015, section 3.1 (`paper`), and the ConnectX flavour of HPCC's public artifact
/// (`mellanox`). Rates in bit/s; α is updated tick by tick.
struct DcqcnTwin {
    p: DcqcnParams,
    line: f64,
    bdp: f64,
    rc: f64,
    rt: f64,
    alpha: f64,
    t: u64,
    bc: u64,
    sent: u64,
    started: bool,
    alpha_tick: Time,
    cut_tick: Time,
    increase_at: Option<Time>,
    seen_for_alpha: bool,
    seen_for_cut: bool,
}

impl DcqcnTwin {
    fn new(p: DcqcnParams, path: Path) -> Self {
        let line = path.line_rate.bps() as f64;
        Self {
            p,
            line,
            bdp: path.bdp().get() as f64,
            rc: line,
            rt: line,
            alpha: real(p.alpha_init),
            t: 0,
            bc: 0,
            sent: 0,
            started: false,
            alpha_tick: Time::ZERO,
            cut_tick: Time::ZERO,
            increase_at: None,
            seen_for_alpha: false,
            seen_for_cut: false,
        }
    }

    /// Makes the ticks of α's timer that have come.
    fn advance(&mut self, now: Time) {
        while self.started && self.alpha_tick + self.p.alpha_timer <= now {
            self.alpha_tick += self.p.alpha_timer;
            let g = real(self.p.g);
            self.alpha *= 1.0 - g;
            if self.seen_for_alpha {
                self.alpha += g;
                self.seen_for_alpha = false;
            }
        }
    }

    fn cut(&mut self, now: Time) {
        self.rc = (self.rc * (1.0 - self.alpha / 2.0))
            .max(real(self.p.floor) * self.line + self.p.floor_rate.bps() as f64);
        (self.t, self.bc, self.sent) = (0, 0, 0);
        self.increase_at = Some(now + self.p.rate_timer);
    }

    fn notified(&mut self, now: Time) {
        self.advance(now);
        if self.p.flavour == Flavour::Paper {
            self.rt = self.rc;
            self.cut(now);
            self.alpha = (1.0 - real(self.p.g)) * self.alpha + real(self.p.g);
            (self.started, self.alpha_tick) = (true, now);
        } else if self.started {
            // Checks that found nothing have passed meanwhile.
            while !self.seen_for_cut && self.cut_tick + self.p.cut_interval <= now {
                self.cut_tick += self.p.cut_interval;
            }
            (self.seen_for_alpha, self.seen_for_cut) = (true, true);
        } else {
            (self.started, self.alpha_tick, self.cut_tick) = (true, now, now);
            self.seen_for_cut = true;
        }
    }

    fn increase(&mut self) {
        let (ai, hai, f) = (real(self.p.r_ai) * self.line, real(self.p.r_hai) * self.line, self.p.recovery);
        if self.p.flavour == Flavour::Mellanox {
            // Stages are counted from zero there.
            let stage = self.t - 1;
            if stage == f {
                self.rt += ai;
            } else if stage > f {
                self.rt += hai;
            }
        } else if self.t > f && self.bc > f {
            let i = if self.p.hyper_growing { self.t.min(self.bc) - f } else { 1 };
            self.rt += i as f64 * hai;
        } else if self.t > f || self.bc > f {
            self.rt += ai;
        }
        self.rt = self.rt.min(self.line);
        self.rc = (self.rt + self.rc) / 2.0;
    }
}

impl Twin for DcqcnTwin {
    fn ack(&mut self, ack: &Ack, _int: &IntStack) {
        if self.p.feedback == Feedback::Ack && ack.marked > 0 {
            self.notified(ack.now);
        }
    }

    fn cnp(&mut self, now: Time) {
        if self.p.feedback == Feedback::Cnp {
            self.notified(now);
        }
    }

    fn sent(&mut self, sent: &Sent) {
        // Until the rate is cut the counters have nothing to raise.
        if self.p.flavour == Flavour::Paper && self.started {
            self.sent += sent.bytes.get();
            if self.sent >= self.p.byte_counter.get() {
                self.sent -= self.p.byte_counter.get();
                self.bc += 1;
                self.increase();
            }
        }
    }

    fn timer(&mut self, now: Time) {
        while self.p.flavour == Flavour::Mellanox
            && self.started
            && self.cut_tick + self.p.cut_interval <= now
        {
            self.cut_tick += self.p.cut_interval;
            if self.seen_for_cut {
                assert_eq!(self.cut_tick, now, "a cut that was due has been missed");
                self.advance(now);
                if self.p.clamp_target || self.t > 0 {
                    self.rt = self.rc;
                }
                self.cut(now);
                self.seen_for_cut = false;
            }
        }
        if self.increase_at.is_some_and(|at| at <= now) {
            self.increase_at = Some(now + self.p.rate_timer);
            self.t += 1;
            self.increase();
        }
    }

    fn allowance(&self) -> (f64, f64) {
        let window = match self.p.window {
            RateWindow::None => f64::INFINITY,
            RateWindow::Bdp => self.bdp,
            RateWindow::Rate => self.bdp * self.rc / self.line,
        };
        (window, self.rc)
    }
}

fn sometimes_congested(seed: u64) -> Script {
    script(seed, 12, Time::from_ms(8))
}

/// The bound: a rate is at least 1/1000 of the line's and resolved to 2^-32 of it, 2.3e-7; roundings
/// of increases in a row do not add up, as each halves what was.
#[test]
fn agrees_with_its_twin() {
    let windowed =
        DcqcnParams { window: RateWindow::Bdp, byte_counter: Bytes::new(200_000), ..DcqcnParams::default() };
    let presets = DcqcnParams::PRESETS.iter().map(|p| (p.name, (p.params)()));
    let follows = DcqcnParams { window: RateWindow::Rate, ..DcqcnParams::default() };
    let more = [("windowed, small byte counter", windowed), ("window follows the rate", follows)];
    for (name, params) in presets.chain(more) {
        for seed in 1..=3 {
            let script = sometimes_congested(seed);
            let outcome = agree::<Dcqcn, _>(name, params, &script, DcqcnTwin::new);
            assert!(outcome.acks > 30_000 && outcome.notifications > 100);
        }
    }
}

/// After the congestion ends the rate comes back to the line's and the timers rest.
#[test]
fn recovers_and_rests() {
    for preset in DcqcnParams::PRESETS {
        let params = (preset.params)();
        let script = sometimes_congested(1);
        let path = path(0);
        let mut host = bottleneck::Alone::<Dcqcn>::new(params, path, 12);
        run(&mut host, path, &script);
        let before = host.allowance(0).rate;
        assert!(before < LINE);
        let mut ticks = 0;
        while host.deadline(0) != Time::NEVER {
            host.timer(0, host.deadline(0));
            ticks += 1;
            assert!(ticks < 10_000, "{}: from {before} to {}", preset.name, host.allowance(0).rate);
        }
        assert_eq!(host.allowance(0).rate, LINE, "{}", preset.name);
    }
}

#[test]
fn every_option_changes_something() {
    let paper = DcqcnParams::default();
    let quick =
        DcqcnParams { recovery: 1, byte_counter: Bytes::new(50_000), rate_timer: Time::from_us(20), ..paper };
    let high = DcqcnParams { floor: Fixed::ratio(1, 5), ..paper };
    let mellanox = DcqcnParams::preset("mellanox").expect("a preset");
    let cases = [
        (paper, "flavour", Value::Choice(1)),
        (paper, "feedback", Value::Choice(1)),
        (paper, "g", Value::Ratio(Fixed::ratio(1, 16))),
        (paper, "alpha_init", Value::Ratio(Fixed::ratio(1, 2))),
        (paper, "alpha_timer", Value::Time(Time::from_us(10))),
        (paper, "rate_timer", Value::Time(Time::from_us(30))),
        (paper, "byte_counter", Value::Bytes(Bytes::new(50_000))),
        (quick, "recovery", Value::Count(3)),
        (quick, "r_ai", Value::Ratio(Fixed::ratio(1, 100))),
        (quick, "r_hai", Value::Ratio(Fixed::ratio(1, 100))),
        (quick, "hyper_growing", Value::Flag(false)),
        (mellanox, "cut_interval", Value::Time(Time::from_us(8))),
        (mellanox, "clamp_target", Value::Flag(true)),
        (paper, "window", Value::Choice(1)),
        (paper, "window", Value::Choice(2)),
        (paper, "floor_rate", Value::Rate(Rate::from_gbps(20))),
        (high, "floor", Value::Ratio(Fixed::ratio(1, 1000))),
    ];
    every_option_matters::<Dcqcn>(&script(1, 12, Time::from_ms(1)), &cases);
}
