//! MSwift in fixed point against a twin in f64, whose order statistic is a sort.

mod floats;
mod signals;
mod swift_law;

use std::collections::VecDeque;

use floats::{real, us};
use incast_cc::mswift::{MOST, MSwift, MSwiftParams};
use incast_cc::params::Presets;
use incast_cc::{Ack, CongestionControl, Fixed, IntStack, LossKind, Setup};
use incast_units::Time;
use swift_law::{Twin, difference, fabric, loss};

struct Median {
    swift: Twin,
    p: MSwiftParams,
    /// Delays of the last acknowledgements in steps of 64 ps, the unit in which they are kept, and when they came (ps).
    last: VecDeque<(u64, u64)>,
    srtt: f64,
    /// Numbers of times that the history grew, kept its size, lost one, and lost more; and most samples.
    met: [u32; 4],
    most: usize,
}

impl Median {
    fn new(p: MSwiftParams, path: &incast_cc::Path) -> Self {
        Self {
            swift: Twin::new(p.lswift.swift, path),
            p,
            last: VecDeque::new(),
            srtt: 0.0,
            met: [0; 4],
            most: 0,
        }
    }

    /// The order statistic with this delay, of max(⌊share · W⌋, 1) samples.
    fn delay(&mut self, ack: &Ack) -> f64 {
        let packet = self.swift.path.packet.get() as f64;
        // Whole bytes: a window may lie on either side of a border by a rounding.
        let window = (self.swift.cwnd * packet + 1e-4) / packet;
        let history = ((real(self.p.history) * window).floor() as usize).clamp(1, MOST);
        let before = self.last.len();
        self.last.push_back((ack.rtt().ps() / 64, ack.now.ps()));
        let gone = |last: &VecDeque<_>, before| usize::min(before + 1 - last.len(), 2);
        while self.last.len() > history {
            self.last.pop_front();
        }
        if self.p.age_limit > Fixed::ZERO {
            let limit = (real(self.p.age_limit) * self.srtt * 1e6 / 64.0) as u64;
            self.last.retain(|sample| ack.now.ps() / 64 - sample.1 / 64 <= limit);
        }
        let gone = gone(&self.last, before);
        self.met[if gone == 0 { 0 } else { gone + 1 }] += 1;
        self.most = self.most.max(self.last.len());
        let mut sorted: Vec<u64> = self.last.iter().map(|sample| sample.0).collect();
        sorted.sort_unstable();
        let rank = (self.p.percentile as usize * sorted.len()).div_ceil(100).max(1);
        (sorted[rank - 1] * 64) as f64 / 1e6
    }

    fn ack(&mut self, ack: &Ack) {
        let rtt = us(ack.rtt());
        self.srtt = if self.srtt == 0.0 { rtt } else { self.srtt * 7.0 / 8.0 + rtt / 8.0 };
        let delay = self.delay(ack);
        self.swift.ack(ack, delay);
        if u64::from(ack.delayed_run) >= self.p.lswift.trigger {
            self.swift.lose(ack.now);
        }
    }
}

/// Bound and reasons are the same as for Swift's twin: a median on which both sides agree brings in no other
/// error.
#[test]
fn agrees_with_its_twin() {
    let mut all: Vec<(String, MSwiftParams)> =
        MSwiftParams::PRESETS.iter().map(|preset| (preset.name.to_owned(), (preset.params)())).collect();
    let paper = MSwiftParams::default();
    all.push(("limited age".into(), MSwiftParams { age_limit: Fixed::whole(2), ..paper }));
    all.push(("a whole window".into(), MSwiftParams { history: Fixed::ONE, ..paper }));
    for (name, params) in all {
        for (seed, gbps) in [(1, 10), (2, 100), (3, 400)] {
            let path = fabric(gbps);
            let setup = Setup::new(params, path);
            let (mut flow, mut twin) = (MSwift::new(&setup, Time::ZERO), Median::new(params, &path));
            let (mut random, mut worst) = (signals::Random::new(seed), 0.0_f64);
            for ack in signals::acks(seed, &path, Time::from_us(30), 60_000) {
                // One packet in six comes by another path, 5 µs longer.
                let late = if random.below(6) == 0 { Time::from_us(5) } else { Time::ZERO };
                let run = if random.below(2000) == 0 { random.below(9) as u32 } else { 0 };
                let ack = Ack { sent: ack.sent - late, delayed_run: run, ..ack };
                flow.on_ack(&setup, &ack, &IntStack::EMPTY);
                twin.ack(&ack);
                if random.below(3000) == 0 {
                    (0..random.below(7)).for_each(|_| {
                        flow.on_loss(&setup, &loss(ack.now, LossKind::Timeout, 1));
                        twin.swift.time_out(ack.now);
                    });
                }
                worst = worst.max(difference(flow.window(), &twin.swift));
            }
            println!(
                "{name} at {}: {worst:.1e} {:?} {:?} up to {}",
                path.line_rate, twin.swift.met, twin.met, twin.most
            );
            assert!(worst < 1e-6, "{name} at {}: {worst}", path.line_rate);
            let used = [twin.met[0], twin.met[2], twin.met[3], twin.swift.met[0], twin.swift.met[1]];
            assert!(used.iter().all(|n| *n > 10), "{:?} {:?}", twin.met, twin.swift.met);
        }
    }
}

/// The example of a history of five delays, in the twin as in the fixed-point code (`mswift.rs` has that).
#[test]
fn the_twin_gives_the_example_too() {
    let delays = [10, 30, 12, 11, 40, 13, 9, 50];
    for (percentile, by_hand) in [
        (50, [10, 10, 12, 11, 12, 13, 12, 13]),
        (10, [10, 10, 10, 10, 10, 11, 9, 9]),
        (90, [10, 30, 30, 30, 40, 40, 40, 50]),
    ] {
        let path = fabric(100);
        let mut twin = Median::new(MSwiftParams { percentile, ..MSwiftParams::default() }, &path);
        twin.swift.cwnd = 10.0;
        for (i, (rtt, by_hand)) in delays.into_iter().zip(by_hand).enumerate() {
            let ack = signals::acks(1, &path, Time::ZERO, 1)[0];
            let now = Time::from_us(100 + i as u64);
            let ack = Ack { now, sent: now - Time::from_us(rtt), ..ack };
            assert!((twin.delay(&ack) - f64::from(by_hand)).abs() < 1e-4, "{percentile} {i}");
        }
    }
}
