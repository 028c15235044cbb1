//! Parameters in units of a path, for algorithms whose papers give the constants of one network.
//!
//! [`Scale`] gives thresholds as the base RTT and a queue above it, an additive step as a share of the line rate, and a
//! segment as a share of the base BDP. A constant that is not zero takes their place.

use incast_units::{Bytes, Rate, Time};

use crate::Fixed;
use crate::contract::Path;

/// Values in units of a path, each used where the constant is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Scale {
    /// T_low less the base RTT, in base RTTs.
    pub low: Fixed,
    /// T_high less the base RTT, in base RTTs.
    pub high: Fixed,
    /// D_minRTT, in base RTTs.
    pub min_rtt: Fixed,
    /// δ as a share of the line rate.
    pub delta: Fixed,
    /// A segment as a share of the base BDP.
    pub segment: Fixed,
}

/// T_low and T_high of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Thresholds {
    /// The part of T_low that is the same for any number of flows.
    base: Time,
    /// The part of it that is not.
    queue: Time,
    /// T_high.
    pub(crate) high: Time,
}

impl Thresholds {
    /// T_low with `k` times the queue of one.
    pub(crate) const fn low(&self, k: u64) -> Time {
        Time::from_ps(self.base.ps().saturating_add(self.queue.times(k).ps()))
    }
}

impl Scale {
    /// The values of all presets that have no others.
    pub(crate) const OURS: Self = Self {
        low: Fixed::ratio(1, 4),
        high: Fixed::ratio(1, 2),
        min_rtt: Fixed::ONE,
        delta: Fixed::ratio(5, 1000),
        segment: Fixed::ratio(1, 16),
    };

    /// Returns the thresholds of these constants.
    pub(crate) fn thresholds(&self, path: &Path, [low, high]: [Time; 2]) -> Thresholds {
        let rtt = path.base_rtt;
        let (base, queue) = if low == Time::ZERO { (rtt, of(self.low, rtt)) } else { (Time::ZERO, low) };
        let high = if high == Time::ZERO { rtt + of(self.high, rtt) } else { high };
        Thresholds { base, queue, high }
    }

    /// Returns D_minRTT of this constant.
    pub(crate) fn min_rtt(&self, path: &Path, constant: Time) -> Time {
        if constant == Time::ZERO { of(self.min_rtt, path.base_rtt).max(Time::from_ps(1)) } else { constant }
    }

    /// Returns δ of this constant.
    pub(crate) fn step(&self, path: &Path, constant: Rate) -> Rate {
        if constant == Rate::ZERO { Rate::from_bps(self.delta.scale(path.line_rate.bps())) } else { constant }
    }

    /// Returns the length of a segment of this constant.
    pub(crate) fn segment(&self, path: &Path, constant: Bytes) -> Bytes {
        if constant == Bytes::ZERO {
            Bytes::new(self.segment.scale(path.bdp().get()).max(1))
        } else {
            constant
        }
    }
}

/// A multiple of a time.
fn of(share: Fixed, time: Time) -> Time {
    Time::from_ps(share.scale(time.ps()))
}

/// The [`Param`](crate::params::Param) of a unit of a path, which belongs to a field of a [`Scale`].
macro_rules! scale_param {
    (queue_low, $($field:ident).+) => {
        $crate::scale::scale_param!(@ "queue_low", $($field).+, 1000,
            "t_low less the base RTT, in base RTTs, if t_low is 0",
            Measured, "chosen here by measurement")
    };
    (queue_high, $($field:ident).+) => {
        $crate::scale::scale_param!(@ "queue_high", $($field).+, 1000,
            "t_high less the base RTT, in base RTTs, if t_high is 0",
            Measured, "chosen here by measurement")
    };
    (min_rtts, $($field:ident).+) => {
        $crate::scale::scale_param!(@ "min_rtts", $($field).+, 1000,
            "min_rtt in base RTTs, if min_rtt is 0",
            Derived, "D_minRTT is the RTT without queues")
    };
    (delta_share, $($field:ident).+) => {
        $crate::scale::scale_param!(@ "delta_share", $($field).+, 1,
            "delta as a share of the line rate, if delta is 0",
            Measured, "chosen here by measurement; the papers have 0.001, 10Mbps of 10Gbps")
    };
    (segment_share, $($field:ident).+) => {
        $crate::scale::scale_param!(@ "segment_share", $($field).+, 1000,
            "segment as a share of the base BDP, if segment is 0",
            Measured, "chosen here by measurement")
    };
    (@ $name:literal, $($field:ident).+, $most:literal, $meaning:expr, $evidence:ident, $source:expr) => {
        $crate::params::param!(
            Ratio $name,
            $($field).+,
            $crate::Fixed::ZERO,
            $crate::Fixed::whole($most),
            $meaning,
            $evidence,
            $source
        )
    };
}
pub(crate) use scale_param;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::PATH_10G;

    #[test]
    fn values_of_a_path_by_hand() {
        let path = Path { base_rtt: Time::from_us(12), line_rate: Rate::from_gbps(100), ..PATH_10G };
        // 12 us and a quarter, or three of them, of 12 us of queue; 12 us and a half; 150 KB / 16; 500 Mbps.
        let scaled = Scale::OURS.thresholds(&path, [Time::ZERO; 2]);
        assert_eq!([scaled.low(1), scaled.low(3), scaled.high], [15, 21, 18].map(Time::from_us));
        assert_eq!(Scale::OURS.min_rtt(&path, Time::ZERO), Time::from_us(12));
        assert_eq!(Scale::OURS.segment(&path, Bytes::ZERO), Bytes::new(9_375));
        // 0.005 is rounded down to 2^-32.
        let step = Scale::OURS.step(&path, Rate::ZERO);
        assert!(step <= Rate::from_mbps(500) && step.bps() > 499_999_900, "{step}");
        // Constants are kept, each by itself.
        let kept = Scale::OURS.thresholds(&path, [Time::from_us(50), Time::from_us(500)]);
        assert_eq!([kept.low(1), kept.low(3), kept.high], [50, 150, 500].map(Time::from_us));
        let half = Scale::OURS.thresholds(&path, [Time::from_us(13), Time::ZERO]);
        assert_eq!([half.low(1), half.low(2), half.high], [13, 26, 18].map(Time::from_us));
        assert_eq!(Scale::OURS.min_rtt(&path, Time::from_us(20)), Time::from_us(20));
        assert_eq!(Scale::OURS.segment(&path, Bytes::new(64_000)), Bytes::new(64_000));
        assert_eq!(Scale::OURS.step(&path, Rate::from_mbps(10)), Rate::from_mbps(10));
    }
}
