//! A congestion control algorithm from outside the catalogue: a window that follows the round-trip
//! time to a target.
//!
//! With every acknowledgement the window changes by `gain · acked · (target − rtt) / rtt`: in one
//! round trip by `gain` times the relative error.

use incast_cc::{Ack, Allowance, CongestionControl, IntStack, Overhead, Parameters, Path, Setup, Signals};
use incast_units::{Bytes, Time};

/// Parameters of [`Target`], shared by all flows that use it. Ratios are in 1/256, so that all
/// arithmetic is in whole numbers and the same on every machine. Laid out as in C, for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
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
#[repr(C)]
pub struct Target {
    window: Bytes,
}

impl Parameters for TargetParams {
    /// The target on a path.
    type Derived = Time;

    fn derive(&self, path: &Path) -> Time {
        path.base_rtt.times_ratio(self.target, 256)
    }
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

    fn new(setup: &Setup<TargetParams>, _: Time) -> Self {
        Self { window: setup.bdp }
    }

    fn on_ack(&mut self, setup: &Setup<TargetParams>, ack: &Ack, _: &IntStack) {
        let (target, rtt) = (setup.derived, ack.rtt());
        let error = if rtt > target { rtt - target } else { target - rtt };
        let gain = ack.acked.times_ratio(setup.params.gain, 256);
        let change = gain.times_ratio(error.ps(), rtt.ps().max(1));
        // Subtraction ends at zero.
        let window = if rtt > target { self.window - change } else { self.window + change };
        self.window = window.max(setup.path.packet).min(setup.bdp.times(2));
    }

    fn allowance(&self, setup: &Setup<TargetParams>) -> Allowance {
        Allowance { window: self.window, rate: setup.path.line_rate }
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
        let setup = Setup::new(TargetParams::default(), path);
        let mut flow = Target::new(&setup, Time::ZERO);
        assert_eq!(flow.window, Bytes::new(150_000));
        // Target 18 us; measured 36: error 18/36 = 1/2, gain 1/2, a quarter of 8000 acknowledged bytes.
        let ack = Ack {
            now: Time::from_us(36),
            received: Time::from_us(30),
            acked: Bytes::new(8000),
            inflight: Bytes::new(150_000),
            inflight_now: Bytes::new(142_000),
            packets: 8,
            ..Ack::BLANK
        };
        flow.on_ack(&setup, &ack, &IntStack::EMPTY);
        assert_eq!(flow.window, Bytes::new(148_000));
    }
}
