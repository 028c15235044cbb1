//! TIMELY in fixed point against a twin in f64, written from the paper's listing (the gradient's
//! average in µs, normalised when it is used).

mod floats;
mod signals;

use floats::{real, us};
use incast_cc::limits::RateWindow;
use incast_cc::params::Presets;
use incast_cc::timely::{Timely, TimelyParams, Update};
use incast_cc::{Ack, CongestionControl, Fixed, IntStack, Path, Setup};
use incast_units::{Bytes, Time};

struct Twin {
    p: TimelyParams,
    low: f64,
    high: f64,
    min_rtt: f64,
    line: f64,
    rate: f64,
    previous: Option<f64>,
    rtt_diff: f64,
    acked: u64,
    mark: u64,
    row: u64,
    /// Steps below T_low, above T_high, by negative gradient, by positive gradient, and hyper.
    met: [u32; 5],
}

impl Twin {
    fn new(p: TimelyParams, path: &Path) -> Self {
        let line = path.line_rate.bps() as f64;
        // In units of the path where there are such.
        let (rtt, [low, high, min_rtt]) =
            (us(path.base_rtt), [p.scale.low, p.scale.high, p.scale.min_rtt].map(real));
        let or = |constant: Time, scaled: f64| if constant > Time::ZERO { us(constant) } else { scaled };
        Self {
            p,
            low: or(p.t_low, rtt + low * rtt),
            high: or(p.t_high, rtt + high * rtt),
            min_rtt: or(p.min_rtt, min_rtt * rtt),
            line,
            rate: line,
            previous: None,
            rtt_diff: 0.0,
            acked: 0,
            mark: 0,
            row: 0,
            met: [0; 5],
        }
    }

    fn ack(&mut self, ack: &Ack) {
        self.acked += ack.acked.get();
        let complete = match self.p.update {
            Update::Segment => self.acked >= self.p.segment.get(),
            Update::RoundTrip => ack.sequence > self.mark,
        };
        if !complete {
            return;
        }
        (self.acked, self.mark) = (0, ack.next_sequence);
        let rtt = us(ack.rtt());
        let Some(previous) = self.previous.replace(rtt) else { return };
        let alpha = real(self.p.alpha);
        self.rtt_diff = (1.0 - alpha) * self.rtt_diff + alpha * (rtt - previous);
        let gradient = self.rtt_diff / self.min_rtt;
        let delta = self.p.delta.bps() as f64 + real(self.p.delta_share) * self.line;
        let (low, high) = (self.low, self.high);
        if rtt < low || (rtt <= high && gradient <= 0.0) {
            self.met[if rtt < low { 0 } else { 2 }] += 1;
            let mut n = 1.0;
            if rtt >= low || self.p.hai_below_low {
                self.row += 1;
                if self.row >= self.p.hai_from {
                    n = self.p.hai_steps as f64;
                    self.met[4] += 1;
                }
            }
            self.rate += n * delta;
        } else {
            self.row = 0;
            let factor = if rtt > high {
                self.met[1] += 1;
                1.0 - real(self.p.beta) * (1.0 - high / rtt)
            } else {
                self.met[3] += 1;
                1.0 - real(self.p.beta) * gradient
            };
            self.rate *= factor.max(0.0);
        }
        let floor = real(self.p.floor) * self.line + self.p.floor_rate.bps() as f64;
        self.rate = self.rate.clamp(floor, self.line);
    }
}

/// Both sides agree to 1e-6 of the rate. The rate is a whole number of bits per second, at least
/// 10 000 000 of them here; a step loses less than one.
#[test]
fn agrees_with_its_twin() {
    for preset in TimelyParams::PRESETS {
        for (seed, gbps) in [(1, 10), (2, 25), (3, 100)] {
            for window in [RateWindow::None, RateWindow::Bdp, RateWindow::Rate] {
                // Segments of 16 KB, TIMELY's smallest, give more updates.
                let segment = Bytes::new(16_000);
                let path = signals::path(gbps);
                let mut params = TimelyParams { window, segment, ..(preset.params)() };
                if params.t_low == Time::ZERO {
                    // 50 and 490 us, between which the signals have all cases.
                    (params.scale.low, params.scale.high) = (Fixed::ratio(30, 20), Fixed::ratio(470, 20));
                    // Once per RTT there are few rows of increases; the preset hpcc has them.
                    params.update = Update::Segment;
                }
                let (mut flow, mut twin) =
                    (Timely::new(&Setup::new(params, path), Time::ZERO), Twin::new(params, &path));
                let mut worst = 0.0_f64;
                for ack in signals::acks(seed, &path, Time::from_us(900), 200_000) {
                    flow.on_ack(&Setup::new(params, path), &ack, &IntStack::EMPTY);
                    twin.ack(&ack);
                    let allowance = flow.allowance(&Setup::new(params, path));
                    worst = worst.max((allowance.rate.bps() as f64 - twin.rate).abs() / twin.rate);
                    let bdp = path.bdp();
                    match window {
                        RateWindow::None => assert_eq!(allowance.window, Bytes::UNLIMITED),
                        RateWindow::Bdp => assert_eq!(allowance.window, bdp),
                        RateWindow::Rate => {
                            let by_rate = bdp.get() as f64 * twin.rate / path.line_rate.bps() as f64;
                            assert!((allowance.window.get() as f64 - by_rate).abs() <= 1.0 + 1e-6 * by_rate);
                        }
                    }
                }
                println!("{} at {}: {worst:.1e} {:?}", preset.name, path.line_rate, twin.met);
                assert!(worst < 1e-6, "{} at {}: {worst}", preset.name, path.line_rate);
                assert!(twin.met.iter().all(|n| *n > 10), "the signals leave something out: {:?}", twin.met);
            }
        }
    }
}
