//! RFC 5681's congestion avoidance and slow start, and one reduction in a recovery (RFC 6582), in f64.

use incast_cc::newreno::NewRenoParams;
use incast_cc::{Ack, Loss, LossKind, Path};

use crate::floats::real;

/// The window of a flow, in packets.
pub(crate) struct Reno {
    path: Path,
    increase: f64,
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: f64,
    /// Until what is acknowledged a recovery lasts.
    recover: Option<u64>,
    timed_out: Option<u64>,
}

impl Reno {
    pub(crate) fn new(p: &NewRenoParams, path: Path) -> Self {
        let bdp = path.bdp().get() as f64 / path.packet.get() as f64;
        let (cwnd, ssthresh) =
            if p.slow_start { (p.initial_window as f64, f64::INFINITY) } else { (bdp, 0.0) };
        let (cwnd, increase) = (cwnd.max(1.0), real(p.increase));
        Self { path, increase, cwnd, ssthresh, recover: None, timed_out: None }
    }

    /// Whether a recovery goes beyond this acknowledgement; it ends if not.
    pub(crate) fn recovers(&mut self, ack: &Ack) -> bool {
        self.recover = self.recover.filter(|until| ack.sequence < *until);
        self.recover.is_some()
    }

    /// Grows by what is acknowledged, if the window is used.
    pub(crate) fn grow(&mut self, ack: &Ack) {
        let packet = self.path.packet.get() as f64;
        let newly = ack.acked.get() as f64 / packet;
        // Whether a window is used turns on less than a byte; both sides count bytes alike.
        if ack.inflight_now.get() as f64 / packet + newly + 1.0 + 1e-9 >= self.cwnd {
            self.cwnd += if self.cwnd < self.ssthresh { newly } else { self.increase * newly / self.cwnd };
        }
    }

    pub(crate) fn loss(&mut self, loss: &Loss) {
        if loss.kind == LossKind::Timeout {
            if self.timed_out.replace(loss.sequence) != Some(loss.sequence) {
                // RFC 5681, Equation 4, in packets of the wire; whole bytes as the contract's.
                let (packet, payload) = (self.path.packet.get(), self.path.payload.get());
                let flight = (loss.next_sequence - loss.sequence) * packet / payload;
                self.ssthresh = (flight as f64 / packet as f64 / 2.0).max(2.0);
            }
            (self.cwnd, self.recover) = (1.0, None);
        } else if self.recover.is_none_or(|until| loss.sequence >= until) {
            self.cwnd = (self.cwnd / 2.0).max(2.0);
            self.ssthresh = self.cwnd;
            self.recover = Some(loss.next_sequence);
        }
    }

    pub(crate) fn allowance(&self) -> (f64, f64) {
        (self.cwnd * self.path.packet.get() as f64, self.path.line_rate.bps() as f64)
    }
}
