//! A congestion control algorithm from outside the catalogue: a window that follows the round-trip
//! time to a target.
//!
//! With every acknowledgement the window changes by `gain · acked · (target − rtt) / rtt`: in one
//! round trip by `gain` times the relative error.

use incast_cc::{Ack, Allowance, CongestionControl, IntStack, Overhead, Path, Signals};
use incast_units::{Bytes, Time};

/// Parameters of [`Target`], shared by all flows that use it. Ratios are in 1/256, so that all
/// arithmetic is in whole numbers and the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetParams {
    /// Target of the round-trip time, in 1/256 of the base RTT.
    pub target: u64,
    /// Share of the relative error that one round trip corrects, in 1/256.
    pub gain: u64,
}

impl Default for TargetParams {
    fn default() -> Self {
        Self { target: 384, gain: 128 }
    }
}

/// The state of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    window: Bytes,
}

impl CongestionControl for Target {
    type Params = TargetParams;

    fn signals(_: &TargetParams) -> Signals {
        Signals::NONE
    }

    /// Send times are echoed: 4 bytes each way.
    fn overhead(_: &TargetParams) -> Overhead {
        Overhead { data: 4, ack: 4 }
    }

    fn new(_: &TargetParams, path: &Path, _: Time) -> Self {
        Self { window: path.bdp() }
    }

    fn on_ack(&mut self, params: &TargetParams, path: &Path, ack: &Ack, _: &IntStack) {
        let target = path.base_rtt.times_ratio(params.target, 256);
        let rtt = ack.rtt();
        let error = if rtt > target { rtt - target } else { target - rtt };
        let change = ack.acked.times_ratio(params.gain, 256).times_ratio(error.ps(), rtt.ps().max(1));
        // Subtraction ends at zero.
        let window = if rtt > target { self.window - change } else { self.window + change };
        self.window = window.max(path.packet).min(path.bdp().times(2));
    }

    fn allowance(&self, _: &TargetParams, path: &Path) -> Allowance {
        Allowance { window: self.window, rate: path.line_rate }
    }
}

#[cfg(test)]
mod tests {
    use incast_units::Rate;

    use super::*;

    #[test]
    fn the_window_moves_by_the_relative_error() {
        let path = Path {
            base_rtt: Time::from_us(12),
            base_owd: Time::from_us(6),
            line_rate: Rate::from_gbps(100),
            packet: Bytes::new(1000),
            payload: Bytes::new(940),
            hops: 2,
        };
        let mut flow = Target::new(&TargetParams::default(), &path, Time::ZERO);
        assert_eq!(flow.window, Bytes::new(150_000));
        // Target 18 us; measured 36: error 18/36 = 1/2, gain 1/2, a quarter of 8000 acknowledged bytes.
        let ack = Ack {
            now: Time::from_us(36),
            sent: Time::ZERO,
            received: Time::from_us(30),
            acked: Bytes::new(8000),
            sequence: 0,
            next_sequence: 0,
            inflight: Bytes::new(150_000),
            inflight_now: Bytes::new(142_000),
            packets: 8,
            marked: 0,
            hop_delay: Time::ZERO,
            receiver_flows: 0,
            hole: false,
        };
        flow.on_ack(&TargetParams::default(), &path, &ack, &IntStack::EMPTY);
        assert_eq!(flow.window, Bytes::new(148_000));
    }
}
