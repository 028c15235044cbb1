//! HPCC against an f64 twin, and the claims of OSCAR's Figures 2, 5 and 8 about it.

mod bottleneck;
mod floats;

use std::collections::HashMap;

use bottleneck::{
    Alone, LINE, Outcome, Script, Twin, agree, every_option_matters, path, run, script, seconds,
};
use floats::real;
use incast_cc::hpcc::{Hpcc, HpccParams, Reference};
use incast_cc::limits::Update;
use incast_cc::params::{Presets, Value};
use incast_cc::{Ack, CongestionControl, Fixed, IntStack, Path, Sent};
use incast_units::{Rate, Time};

/// HPCC, SIGCOMM 2019, Algorithm 1 with windows in bytes, as printed.
struct HpccTwin {
    p: HpccParams,
    base_rtt: f64,
    bdp: f64,
    links: Option<IntStack>,
    u: f64,
    w: f64,
    wc: f64,
    inc_stage: u64,
    last_update_seq: u64,
    /// Time at which each packet left, with its window.
    record: HashMap<Time, f64>,
}

impl HpccTwin {
    fn new(p: HpccParams, path: Path) -> Self {
        let base_rtt = seconds(path.base_rtt);
        let bdp = path.line_rate.bps() as f64 / 8.0 * base_rtt;
        Self {
            p,
            base_rtt,
            bdp,
            links: None,
            u: 1.0,
            w: bdp,
            wc: bdp,
            inc_stage: 0,
            last_update_seq: 0,
            record: HashMap::new(),
        }
    }

    fn measure_inflight(&mut self, before: &IntStack, now: &IntStack) -> f64 {
        let (mut u, mut tau) = (0.0, 0.0);
        for i in 0..now.count as usize {
            let (l, ack) = (&before.hops[i], &now.hops[i]);
            let ts = seconds(ack.at) - seconds(l.at);
            let tx_rate = (ack.transmitted.get() as f64 - l.transmitted.get() as f64) / ts;
            let b = ack.rate.bps() as f64 / 8.0;
            let u_i = ack.queue.min(l.queue).get() as f64 / (b * self.base_rtt) + tx_rate / b;
            if u_i > u {
                (u, tau) = (u_i, ts);
            }
        }
        let weight = if self.p.smoothing { tau.min(self.base_rtt) / self.base_rtt } else { 1.0 };
        self.u = (1.0 - weight) * self.u + weight * u;
        self.u
    }

    fn compute_wind(&mut self, u: f64, from: f64, update_wc: bool) -> f64 {
        let w_ai = real(self.p.w_ai) * self.bdp;
        let multiplicative = u >= real(self.p.eta) || self.inc_stage >= self.p.max_stage;
        let w = if multiplicative { from / (u / real(self.p.eta)) + w_ai } else { from + w_ai };
        let floor = real(self.p.floor) * self.bdp + self.p.floor_rate.bps() as f64 / 8.0 * self.base_rtt;
        let w = w.clamp(floor, self.bdp);
        if update_wc {
            self.inc_stage = if multiplicative { 0 } else { self.inc_stage + 1 };
            self.wc = w;
        }
        w
    }
}

impl Twin for HpccTwin {
    fn ack(&mut self, ack: &Ack, int: &IntStack) {
        let Some(before) = self.links.replace(*int) else {
            self.last_update_seq = ack.next_sequence;
            return;
        };
        let u = self.measure_inflight(&before, int);
        let update = ack.sequence > self.last_update_seq;
        let from = match self.p.reference {
            Reference::Original => self.wc,
            Reference::Synchronised => self.record[&ack.sent],
        };
        if update || self.p.update == Update::Ack {
            self.w = self.compute_wind(u, from, update);
        }
        if update {
            self.last_update_seq = ack.next_sequence;
        }
    }

    fn sent(&mut self, sent: &Sent) {
        self.record.insert(sent.now, self.w);
    }

    fn allowance(&self) -> (f64, f64) {
        (self.w, self.w / self.base_rtt * 8.0)
    }
}

fn presets() -> impl Iterator<Item = (&'static str, HpccParams)> {
    let synchronised = HpccParams { reference: Reference::Synchronised, ..HpccParams::default() };
    let once = HpccParams { update: Update::Rtt, ..HpccParams::default() };
    HpccParams::PRESETS
        .iter()
        .map(|p| (p.name, (p.params)()))
        .chain([("synchronised, smoothed", synchronised), ("update = rtt", once)])
}

fn named(name: &str) -> HpccParams {
    HpccParams::preset(name).expect("a preset")
}

/// The bound is 2^-32 of resolution times what the algorithm amplifies: a step divides by U, which
/// is not under 1/1000 here, and the rates of the ports are cut to whole bit/s.
#[test]
fn agrees_with_its_twin() {
    for (name, params) in presets() {
        for seed in 1..=3 {
            let script = script(seed, 12, Time::from_ms(4));
            let outcome = agree::<Hpcc, _>(name, params, &script, HpccTwin::new);
            assert!(outcome.acks > 30_000, "only {} acknowledgements", outcome.acks);
        }
    }
}

/// Two flows that start 2 us apart on a 100Gbps port, as in OSCAR's Figure 8.
fn figure_8(params: HpccParams, until: Time) -> Outcome {
    let active = vec![vec![(Time::ZERO, until)], vec![(Time::from_us(2), until)]];
    let script = Script { until, active, ..script(1, 0, Time::ZERO) };
    let path = path(Hpcc::overhead(&params).data);
    run(&mut Alone::<Hpcc>::new(params, path, 2), path, &script)
}

/// Mean rate of a flow from `from` on, as a share of the line.
fn mean_share(outcome: &Outcome, flow: usize, from: Time) -> f64 {
    let rates: Vec<f64> =
        outcome.rates[flow].iter().filter(|r| r.0 >= from).map(|r| r.1 as f64 / LINE.bps() as f64).collect();
    rates.iter().sum::<f64>() / rates.len() as f64
}

/// OSCAR Figure 8: without smoothing of U, the original reference leaves two flows apart, the
/// synchronised one brings them together.
#[test]
fn a_synchronised_reference_makes_two_flows_fair() {
    let shares = |preset| {
        let outcome = figure_8(named(preset), Time::from_us(300));
        [0, 1].map(|flow| mean_share(&outcome, flow, Time::from_us(100)))
    };
    let [a, b] = shares("unsmoothed");
    assert!(a.max(b) / a.min(b) > 1.8, "original: {a:.3}, {b:.3}");
    let [a, b] = shares("synchronised");
    assert!(a.max(b) / a.min(b) < 1.1, "synchronised: {a:.3}, {b:.3}");
}

/// OSCAR section 6.1: HPCC* holds a queue of about half a base BDP, HPCC none.
#[test]
fn the_star_preset_holds_half_a_bdp_of_queue() {
    let mean_queue = |params| {
        let outcome = figure_8(params, Time::from_us(600));
        let queue: Vec<u64> =
            outcome.queue.iter().filter(|q| q.0 >= Time::from_us(300)).map(|q| q.1).collect();
        queue.iter().sum::<u64>() as f64 / queue.len() as f64
    };
    let bdp = path(42).bdp().get() as f64;
    assert!(mean_queue(named("paper")) < 0.05 * bdp);
    assert!((mean_queue(named("star")) / bdp - 0.5).abs() < 0.1);
}

#[test]
fn every_option_changes_something() {
    let paper = HpccParams::default();
    // A floor matters only to flows that reach it.
    let high = HpccParams { floor: Fixed::ratio(1, 5), ..paper };
    let cases = [
        (paper, "eta", Value::Ratio(Fixed::ratio(9, 10))),
        (paper, "max_stage", Value::Count(1)),
        (paper, "w_ai", Value::Ratio(Fixed::ratio(1, 1000))),
        (paper, "reference", Value::Choice(1)),
        (paper, "update", Value::Choice(0)),
        (paper, "smoothing", Value::Flag(false)),
        (high, "floor", Value::Ratio(Fixed::ratio(1, 1000))),
        (paper, "floor_rate", Value::Rate(Rate::from_gbps(20))),
    ];
    every_option_matters::<Hpcc>(&script(1, 12, Time::from_ms(1)), &cases);
}
