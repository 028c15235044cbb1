//! DCTCP (Alizadeh et al., "Data Center TCP", SIGCOMM 2010; RFC 8257), the sender.
//!
//! The marked share of each window of data feeds an average α; the first mark of a window cuts the
//! congestion window by α/2; without marks it grows by one packet per round trip.
//!
//! Where the paper leaves it to TCP: after a cut or a halving the window neither shrinks again nor
//! grows until everything sent before it is acknowledged (congestion window reduced, RFC 3168); a
//! hole halves the window, a timeout leaves one packet (RFC 5681); a window that is not used does
//! not grow (RFC 7661), which matters here because a flow alone on its path is held by its own
//! link's rate and would grow for ever.
//!
//! Like every algorithm here it starts with one base BDP, in congestion avoidance; slow start is an
//! option. The "hardware" DCTCP of the HPCC repository works on rates; its increase, 615 Mbps per
//! window at 100 Gbps, is one packet per round trip of 13 us, so that it needs no preset of its own.

use incast_units::{Bytes, Rate, Time};

use crate::Fixed;
use crate::contract::{Ack, Allowance, CongestionControl, IntStack, Loss, LossKind, Overhead, Path, Signals};
use crate::params::{Described, Param, Preset, param};

/// Parameters of [`Dctcp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DctcpParams {
    /// Gain g of α.
    pub g: Fixed,
    /// First α.
    pub alpha_init: Fixed,
    /// Packets that the window grows by in a round trip.
    pub increase: Fixed,
    /// Whether the flow starts with `initial_window` and doubles it each round trip.
    pub slow_start: bool,
    /// First window in packets, with slow start.
    pub initial_window: u64,
    /// Smallest window, in packets.
    pub min_window: Fixed,
}

impl Default for DctcpParams {
    fn default() -> Self {
        Self {
            g: Fixed::ratio(1, 16),
            alpha_init: Fixed::ONE,
            increase: Fixed::ONE,
            slow_start: false,
            initial_window: 10,
            min_window: Fixed::ONE,
        }
    }
}

impl Described for DctcpParams {
    const NAME: &'static str = "dctcp";
    const TITLE: &'static str = "DCTCP";
    const SUMMARY: &'static str = "cuts the window by the marked share, grows by a packet per round trip";
    const PRESETS: &'static [Preset<Self>] =
        &[Preset { name: "paper", meaning: "DCTCP, SIGCOMM 2010, and RFC 8257", params: Self::default }];
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Ratio "g",
            g,
            Fixed::ratio(1, 65_536),
            Fixed::ONE,
            "gain of the estimate alpha",
            "DCTCP section 3.1 and RFC 8257 section 4.2: 1/16"
        ),
        param!(
            Ratio "alpha_init",
            alpha_init,
            Fixed::ZERO,
            Fixed::ONE,
            "first value of alpha",
            "RFC 8257 section 4.2: 1"
        ),
        param!(
            Ratio "increase",
            increase,
            Fixed::ZERO,
            Fixed::whole(1000),
            "packets that the window grows by in a round trip",
            "DCTCP section 3.1, as TCP: 1"
        ),
        param!(
            Flag "slow_start",
            slow_start,
            "whether the flow starts with initial_window and doubles it each round trip",
            "false: all algorithms start here with one base BDP; RFC 5681: true"
        ),
        param!(
            Count "initial_window",
            initial_window,
            1,
            10_000,
            "first window in packets, with slow start",
            "RFC 6928: 10"
        ),
        param!(
            Ratio "min_window",
            min_window,
            Fixed::ratio(1, 100),
            Fixed::whole(100),
            "smallest window in packets; below 1 the packets are paced at window/RTT",
            "RFC 5681: 1"
        ),
    ];
}

/// The state of one flow under DCTCP: 72 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Dctcp {
    /// Congestion window in bytes (cwnd).
    window: Fixed,
    /// Slow start below this, in bytes (ssthresh).
    threshold: Fixed,
    /// Average marked share (α).
    alpha: Fixed,
    /// An acknowledgement beyond this position ends the window of observation.
    window_end: u64,
    /// An acknowledgement beyond this position ends the reduction; everything below was sent before.
    reduced_until: u64,
    /// Packets acknowledged in this window of observation.
    acked: u64,
    /// How many of them were marked.
    marked: u64,
    /// Last measured round trip.
    rtt: Time,
    /// Whether a reduction is going on.
    reducing: bool,
}

impl Dctcp {
    fn floor(params: &DctcpParams, path: &Path) -> Fixed {
        params.min_window * Fixed::whole(path.packet.get())
    }

    /// Multiplies the window by `keep`, once per window of data.
    fn reduce(&mut self, params: &DctcpParams, path: &Path, keep: Fixed, until: u64) {
        self.window = (self.window * keep).max(Self::floor(params, path));
        self.threshold = self.window;
        self.reducing = true;
        self.reduced_until = until;
    }

    fn grow(&mut self, params: &DctcpParams, path: &Path, ack: &Ack) {
        let (acked, packet) = (Fixed::whole(ack.acked.get()), Fixed::whole(path.packet.get()));
        let before = Fixed::whole((ack.inflight_now + ack.acked + path.packet).get());
        if before < self.window {
            return;
        }
        self.window += if self.window < self.threshold {
            acked
        } else {
            // Below one packet, one more for each acknowledged packet would not be one per RTT.
            params.increase * packet * (acked / self.window.max(packet))
        };
    }
}

impl CongestionControl for Dctcp {
    type Params = DctcpParams;

    fn signals(_params: &DctcpParams) -> Signals {
        Signals::ECN
    }

    fn overhead(_params: &DctcpParams) -> Overhead {
        Overhead::default()
    }

    fn new(params: &DctcpParams, path: &Path, _now: Time) -> Self {
        let (window, threshold) = if params.slow_start {
            (Fixed::whole(path.packet.times(params.initial_window).get()), Fixed::MAX)
        } else {
            (Fixed::whole(path.bdp().get()), Fixed::ZERO)
        };
        Self {
            window: window.max(Self::floor(params, path)),
            threshold,
            alpha: params.alpha_init,
            window_end: 0,
            reduced_until: 0,
            acked: 0,
            marked: 0,
            rtt: path.base_rtt,
            reducing: false,
        }
    }

    fn on_ack(&mut self, params: &DctcpParams, path: &Path, ack: &Ack, _int: &IntStack) {
        self.rtt = ack.rtt();
        self.acked = self.acked.saturating_add(u64::from(ack.packets));
        self.marked = self.marked.saturating_add(u64::from(ack.marked));
        if ack.sequence > self.window_end {
            // RFC 8257 section 3.3, steps 5 to 7.
            let share = Fixed::ratio(self.marked, self.acked).min(Fixed::ONE);
            self.alpha = (Fixed::ONE - params.g) * self.alpha + params.g * share;
            (self.acked, self.marked) = (0, 0);
            self.window_end = ack.next_sequence;
        }
        if self.reducing && ack.sequence > self.reduced_until {
            self.reducing = false;
        }
        if self.reducing {
            return;
        }
        if ack.marked > 0 {
            let keep = Fixed::ONE - self.alpha * Fixed::ratio(1, 2);
            self.reduce(params, path, keep, ack.next_sequence);
        } else {
            self.grow(params, path, ack);
        }
    }

    fn on_loss(&mut self, params: &DctcpParams, path: &Path, loss: &Loss) {
        match loss.kind {
            LossKind::Hole if self.reducing && loss.sequence < self.reduced_until => {}
            LossKind::Hole => self.reduce(params, path, Fixed::ratio(1, 2), loss.next_sequence),
            LossKind::Timeout => {
                let half = self.window * Fixed::ratio(1, 2);
                self.window = Fixed::whole(path.packet.get()).max(Self::floor(params, path));
                self.threshold = if params.slow_start { half } else { Fixed::ZERO };
                self.reducing = false;
            }
        }
    }

    fn allowance(&self, _params: &DctcpParams, path: &Path) -> Allowance {
        let window = Bytes::new(self.window.floor()).max(Bytes::new(1));
        let rate = if window >= path.packet {
            path.line_rate
        } else {
            Rate::of(window, self.rtt).min(path.line_rate).max(Rate::from_bps(1))
        };
        Allowance { window, rate }
    }
}
