//! Swift in fixed point against a twin in f64, in packets and µs as in the paper's listing.

mod signals;

use incast_cc::params::Described;
use incast_cc::swift::{Swift, SwiftParams, Unit};
use incast_cc::{Ack, CongestionControl, Fixed, IntStack, Loss, LossKind, Path, Setup};
use incast_units::{Bytes, Rate, Time};

fn f(value: Fixed) -> f64 {
    value.bits() as f64 / 4_294_967_296.0
}

fn us(time: Time) -> f64 {
    time.ps() as f64 / 1e6
}

/// Algorithm 1 of the paper; windows in packets.
struct Twin {
    p: SwiftParams,
    path: Path,
    /// Packets per unit of the parameters.
    unit: f64,
    cwnd: f64,
    t_last_decrease: f64,
    rtt: f64,
    retransmit_cnt: u64,
    measured: bool,
    /// Increases, decreases, decreases that had to wait, resets to the smallest window, and windows
    /// that were not used and did not grow.
    met: [u32; 5],
}

impl Twin {
    fn new(p: SwiftParams, path: &Path) -> Self {
        let packet = path.packet.get() as f64;
        let bdp = us(path.base_rtt) * path.line_rate.bps() as f64 / 8e6 / packet;
        let unit = if p.unit == Unit::Packet { 1.0 } else { (bdp * packet).floor() / packet };
        let cwnd = (bdp * packet).floor() / packet;
        let rtt = us(path.base_rtt);
        Self {
            p,
            path: *path,
            unit,
            cwnd,
            t_last_decrease: 0.0,
            rtt,
            retransmit_cnt: 0,
            measured: false,
            met: [0; 5],
        }
    }

    fn target(&self) -> f64 {
        let (range, low, high) = (us(self.p.fs_range), f(self.p.fs_min), f(self.p.fs_max));
        let alpha = range / (1.0 / low.sqrt() - 1.0 / high.sqrt());
        let beta = -alpha / high.sqrt();
        us(self.p.base_target)
            + f(self.p.base_rtt_share) * us(self.path.base_rtt)
            + f64::from(self.path.hops) * us(self.p.hop)
            + (alpha / (self.scaled() / self.unit).sqrt() + beta).min(range).max(0.0)
    }

    /// The window that flow scaling goes by. Whole packets are those of whole bytes, as a window may lie
    /// on either side of a packet's border by a rounding.
    fn scaled(&self) -> f64 {
        let packet = self.path.packet.get() as f64;
        if self.p.whole_packets { ((self.cwnd * packet + 1e-6) / packet).floor() } else { self.cwnd }
    }

    fn decrease(&mut self, factor: f64, now: f64) {
        if now - self.t_last_decrease >= self.rtt - 1e-9 {
            self.cwnd *= factor;
            self.met[1] += 1;
        } else {
            self.met[2] += 1;
        }
    }

    fn settle(&mut self, before: f64, now: f64) {
        let least = (f(self.p.min_cwnd) * self.unit).max(1.0 / self.path.packet.get() as f64);
        self.cwnd = self.cwnd.clamp(least, f(self.p.max_cwnd) * self.unit);
        if self.cwnd < before {
            self.t_last_decrease = now;
        }
    }

    fn ack(&mut self, ack: &Ack) {
        let (before, delay, target) = (self.cwnd, us(ack.rtt()), self.target());
        self.rtt =
            if self.p.smoothed_rtt && self.measured { self.rtt * 7.0 / 8.0 + delay / 8.0 } else { delay };
        self.measured = true;
        self.retransmit_cnt = 0;
        let acked = ack.acked.get() as f64 / self.path.packet.get() as f64;
        if delay < target {
            let ai = f(self.p.ai) * self.unit;
            let packet = self.path.packet.get() as f64;
            let used = (ack.inflight_now.get() + ack.acked.get()) as f64 / packet + 1.0;
            if used + 1e-9 >= self.cwnd || self.p.grow_unused {
                let by_window = self.cwnd >= 1.0 || self.p.ai_below_packet;
                self.cwnd += if by_window { ai / self.cwnd * acked } else { ai * acked };
                self.met[0] += 1;
            } else {
                self.met[4] += 1;
            }
        } else {
            let factor = 1.0 - f(self.p.beta) * (delay - target) / delay;
            self.decrease(factor.max(1.0 - f(self.p.max_mdf)), us(ack.now));
        }
        self.settle(before, us(ack.now));
    }

    fn loss(&mut self, loss: &Loss) {
        let before = self.cwnd;
        self.retransmit_cnt = if loss.kind == LossKind::Timeout { self.retransmit_cnt + 1 } else { 0 };
        if self.retransmit_cnt >= self.p.retx_reset {
            self.cwnd = 0.0;
            self.met[3] += 1;
        } else {
            self.decrease(1.0 - f(self.p.max_mdf), us(loss.now));
        }
        self.settle(before, us(loss.now));
    }
}

/// Both sides agree to 1e-6 of the window, over a run of 60 000 acknowledgements and its losses.
/// Each step rounds to 2^-32, the roots and quotients of the target to some 1e-9 of it; a decrease
/// passes on what the steps before it had gathered, and halves it.
#[test]
fn agrees_with_its_twin() {
    for preset in SwiftParams::PRESETS {
        for (seed, gbps) in [(1, 10), (2, 100), (3, 400)] {
            let params = (preset.params)();
            let path = Path {
                base_rtt: Time::from_us(12),
                base_owd: Time::from_us(7),
                line_rate: Rate::from_gbps(gbps),
                packet: Bytes::new(1054),
                payload: Bytes::new(1000),
                hops: 4,
            };
            let (mut flow, mut twin) =
                (Swift::new(&Setup::new(params, path), Time::ZERO), Twin::new(params, &path));
            let mut random = signals::Random::new(seed);
            let mut worst = 0.0_f64;
            for ack in signals::acks(seed, &path, Time::from_us(200), 60_000) {
                flow.on_ack(&Setup::new(params, path), &ack, &IntStack::EMPTY);
                twin.ack(&ack);
                if random.below(500) == 0 {
                    let kind = if random.below(2) == 0 { LossKind::Hole } else { LossKind::Timeout };
                    let times = if random.below(4) == 0 { 6 } else { 1 };
                    for _ in 0..times {
                        let loss = Loss {
                            now: ack.now,
                            kind,
                            bytes: Bytes::ZERO,
                            sent: Time::ZERO,
                            sequence: 0,
                            next_sequence: 0,
                        };
                        flow.on_loss(&Setup::new(params, path), &loss);
                        twin.loss(&loss);
                    }
                }
                let allowance = flow.allowance(&Setup::new(params, path));
                let bytes = twin.cwnd * path.packet.get() as f64;
                worst = worst.max((f(flow.window()) - bytes).abs() / bytes);
                assert_eq!(allowance.window.get(), f(flow.window()).floor() as u64);
                // Below one packet the rate is the window over the RTT, in 2^-16 of a byte.
                let rate = if twin.cwnd < 1.0 { bytes / twin.rtt * 8e6 } else { f64::INFINITY };
                let rate = rate.min(path.line_rate.bps() as f64);
                assert!((allowance.rate.bps() as f64 - rate).abs() <= 1.0 + 1e-4 * rate);
            }
            println!("{} at {}: {worst:.1e} {:?}", preset.name, path.line_rate, twin.met);
            assert!(worst < 1e-6, "{} at {}: {worst}", preset.name, path.line_rate);
            let unused = usize::from(!params.grow_unused);
            assert!(
                twin.met[..4 + unused].iter().all(|n| *n > 10),
                "the signals leave something out: {:?}",
                twin.met
            );
        }
    }
}
