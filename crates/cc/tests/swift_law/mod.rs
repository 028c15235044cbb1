//! Swift's law in f64, in packets and µs as in the paper's listing, for the twins of Swift, LSwift and MSwift.
#![allow(dead_code, reason = "each test uses its part")]

use crate::floats::{real, us};
use incast_cc::swift::{SwiftParams, Unit};
use incast_cc::{Ack, Fixed, Loss, LossKind, Path};
use incast_units::{Bytes, Rate, Time};

/// Algorithm 1 of the paper; windows in packets.
pub(crate) struct Twin {
    pub(crate) p: SwiftParams,
    pub(crate) path: Path,
    /// Packets per unit of the parameters.
    unit: f64,
    pub(crate) cwnd: f64,
    t_last_decrease: f64,
    pub(crate) rtt: f64,
    retransmit_cnt: u64,
    measured: bool,
    /// Increases, decreases, decreases that had to wait, resets to the smallest window, and windows
    /// that were not used and did not grow.
    pub(crate) met: [u32; 5],
}

impl Twin {
    pub(crate) fn new(p: SwiftParams, path: &Path) -> Self {
        let packet = path.packet.get() as f64;
        let bdp = us(path.base_rtt) * path.line_rate.bps() as f64 / 8e6 / packet;
        let unit = if p.unit == Unit::Packet { 1.0 } else { (bdp * packet).floor() / packet };
        let cwnd = ((bdp * packet).floor() / packet).min(real(p.max_cwnd) * unit);
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

    pub(crate) fn target(&self) -> f64 {
        let (range, low, high) = (us(self.p.fs_range), real(self.p.fs_min), real(self.p.fs_max));
        let alpha = range / (1.0 / low.sqrt() - 1.0 / high.sqrt());
        let beta = -alpha / high.sqrt();
        us(self.p.base_target)
            + real(self.p.base_rtt_share) * us(self.path.base_rtt)
            + f64::from(self.path.hops) * us(self.p.hop)
            + (alpha / (self.scaled() / self.unit).sqrt() + beta).min(range).max(0.0)
    }

    /// Returns the window that flow scaling uses. Whole packets are counted in whole bytes, as a window may
    /// lie on either side of a packet's border by a rounding.
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
        let least = (real(self.p.min_cwnd) * self.unit).max(1.0 / self.path.packet.get() as f64);
        self.cwnd = self.cwnd.clamp(least, real(self.p.max_cwnd) * self.unit);
        if self.cwnd < before {
            self.t_last_decrease = now;
        }
    }

    /// An acknowledgement; the law goes by `delay` (µs).
    pub(crate) fn ack(&mut self, ack: &Ack, delay: f64) {
        let (before, rtt, target) = (self.cwnd, us(ack.rtt()), self.target());
        self.rtt = if self.p.smoothed_rtt && self.measured { self.rtt * 7.0 / 8.0 + rtt / 8.0 } else { rtt };
        self.measured = true;
        self.retransmit_cnt = 0;
        let acked = ack.acked.get() as f64 / self.path.packet.get() as f64;
        if delay < target {
            let ai = real(self.p.ai) * self.unit;
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
            let factor = 1.0 - real(self.p.beta) * (delay - target) / delay;
            self.decrease(factor.max(1.0 - real(self.p.max_mdf)), us(ack.now));
        }
        self.settle(before, us(ack.now));
    }

    /// A loss that was not found by the timer.
    pub(crate) fn lose(&mut self, now: Time) {
        let before = self.cwnd;
        self.decrease(1.0 - real(self.p.max_mdf), us(now));
        self.settle(before, us(now));
    }

    /// Notes a repair, after which the count of timeouts starts at zero.
    pub(crate) fn repaired(&mut self) {
        self.retransmit_cnt = 0;
    }

    pub(crate) fn time_out(&mut self, now: Time) {
        self.retransmit_cnt += 1;
        if self.retransmit_cnt < self.p.retx_reset {
            return self.lose(now);
        }
        let before = self.cwnd;
        self.cwnd = 0.0;
        self.met[3] += 1;
        self.settle(before, us(now));
    }
}

/// The difference of the fixed-point window from the twin's, in parts of it.
pub(crate) fn difference(window: Fixed, twin: &Twin) -> f64 {
    let bytes = twin.cwnd * twin.path.packet.get() as f64;
    (real(window) - bytes).abs() / bytes
}

/// Four links of a fabric with this line rate; packets of 1054 B.
pub(crate) fn fabric(gbps: u64) -> Path {
    Path {
        base_rtt: Time::from_us(12),
        base_owd: Time::from_us(7),
        line_rate: Rate::from_gbps(gbps),
        packet: Bytes::new(1054),
        payload: Bytes::new(1000),
        hops: 4,
    }
}

/// A hole, a trimmed packet or a timeout now.
pub(crate) fn loss(now: Time, kind: LossKind, packets: u64) -> Loss {
    let bytes = Bytes::new(1054 * packets);
    Loss { now, kind, bytes, ..Loss::BLANK }
}
