//! Quantities with units: [`Time`] in picoseconds, [`Bytes`], and [`Rate`] in bits per second.
//!
//! No other crate of Incast uses a bare number for a quantity with a dimension. The three types are
//! integers, so that results are the same bits on every machine; their operators **saturate** (a time that
//! would overflow becomes [`Time::NEVER`], a difference below zero becomes zero), and `checked_*` methods
//! exist where overflow is an error of the user's.
//!
//! In text a quantity always carries its unit: `"12us"`, `"32MB"`, `"150KiB"`, `"100Gbps"`.
//! Decimal (`KB` = 1000 B) and binary (`KiB` = 1024 B) prefixes are different units.
//!
//! ```
//! use incast_units::{Bytes, Rate, Time};
//! let rate: Rate = "100Gbps".parse().unwrap();
//! let rtt: Time = "12us".parse().unwrap();
//! assert_eq!(rate.bytes_in(rtt), Bytes::new(150_000)); // the bandwidth-delay product
//! assert_eq!(rate.time_for(Bytes::new(1000)), Time::from_ns(80));
//! assert_eq!("1.5us".parse::<Time>().unwrap().to_string(), "1.5us");
//! assert!("12".parse::<Time>().is_err()); // a number without a unit is refused
//! ```
#![no_std]

pub mod math;
mod text;

pub use text::{ParseError, Quantity};

use core::ops::{Add, AddAssign, Sub, SubAssign};
use math::{mul_div, saturating_mul};

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(u64);

        impl $name {
            /// Nothing.
            pub const ZERO: Self = Self(0);

            /// The sum, or `None` when it does not fit.
            #[must_use]
            pub const fn checked_add(self, other: Self) -> Option<Self> {
                match self.0.checked_add(other.0) {
                    Some(sum) => Some(Self(sum)),
                    None => None,
                }
            }

            /// The difference, or `None` when it would be negative.
            #[must_use]
            pub const fn checked_sub(self, other: Self) -> Option<Self> {
                match self.0.checked_sub(other.0) {
                    Some(difference) => Some(Self(difference)),
                    None => None,
                }
            }

            /// This quantity `times` times over, saturating.
            #[must_use]
            pub const fn times(self, times: u64) -> Self {
                Self(saturating_mul(self.0, times))
            }

            /// Returns this quantity times `numerator / denominator`, rounded down and saturating.
            /// A zero denominator gives the largest value.
            #[must_use]
            pub const fn times_ratio(self, numerator: u64, denominator: u64) -> Self {
                Self(mul_div(self.0, numerator, denominator))
            }
        }

        impl Add for $name {
            type Output = Self;
            #[inline]
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl AddAssign for $name {
            #[inline]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sub for $name {
            type Output = Self;
            #[inline]
            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl SubAssign for $name {
            #[inline]
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl core::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self::ZERO, |a, b| a + b)
            }
        }
    };
}

quantity! {
    /// A point in simulated time or a span of it, in integer picoseconds.
    ///
    /// A u64 of picoseconds spans 213 days, and one byte takes a whole number of them at every
    /// standard link rate up to 1.6 Tbps (5 ps).
    Time
}

quantity! {
    /// An amount of data in bytes.
    Bytes
}

quantity! {
    /// A data rate in bits per second.
    Rate
}

/// Picoseconds in one second.
pub const PS_PER_SECOND: u64 = 1_000_000_000_000;
/// Bits in one byte times picoseconds in one second: `bytes * BIT_PS / rate` is a time.
const BIT_PS: u64 = 8 * PS_PER_SECOND;

impl Time {
    /// Later than all times: the deadline of a timer that is not set.
    pub const NEVER: Self = Self(u64::MAX);

    /// A time of `ps` picoseconds.
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A time of `ns` nanoseconds.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(saturating_mul(ns, 1_000))
    }

    /// A time of `us` microseconds.
    #[must_use]
    pub const fn from_us(us: u64) -> Self {
        Self(saturating_mul(us, 1_000_000))
    }

    /// A time of `ms` milliseconds.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(saturating_mul(ms, 1_000_000_000))
    }

    /// A time of `s` seconds.
    #[must_use]
    pub const fn from_s(s: u64) -> Self {
        Self(saturating_mul(s, PS_PER_SECOND))
    }

    /// Picoseconds.
    #[must_use]
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, rounded down.
    #[must_use]
    pub const fn ns(self) -> u64 {
        self.0 / 1_000
    }
}

impl Bytes {
    /// More than all amounts: a limit that is not set.
    pub const UNLIMITED: Self = Self(u64::MAX);

    /// `bytes` bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Rate {
    /// A rate of `bps` bits per second.
    #[must_use]
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// A rate of `mbps` megabits (10⁶ bits) per second.
    #[must_use]
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(saturating_mul(mbps, 1_000_000))
    }

    /// A rate of `gbps` gigabits (10⁹ bits) per second.
    #[must_use]
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(saturating_mul(gbps, 1_000_000_000))
    }

    /// Bits per second.
    #[must_use]
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// Returns the time that `bytes` take at this rate, rounded **up** to a picosecond. At a rate of zero:
    /// [`Time::NEVER`].
    #[inline]
    #[must_use]
    pub const fn time_for(self, bytes: Bytes) -> Time {
        if self.0 == 0 {
            return Time::NEVER;
        }
        let whole = mul_div(bytes.0, BIT_PS, self.0);
        // Rounding up needs the remainder; wrapping arithmetic gives it modulo 2^64, where it fits.
        let back = whole.wrapping_mul(self.0);
        let remainder = bytes.0.wrapping_mul(BIT_PS).wrapping_sub(back);
        Time(if remainder == 0 || whole == u64::MAX { whole } else { whole + 1 })
    }

    /// Returns the number of whole bytes that pass in `time` at this rate, rounded down.
    #[inline]
    #[must_use]
    pub const fn bytes_in(self, time: Time) -> Bytes {
        Bytes(mul_div(self.0, time.0, BIT_PS))
    }

    /// The rate at which `bytes` pass in `time`, rounded down. In no time: the largest rate.
    #[inline]
    #[must_use]
    pub const fn of(bytes: Bytes, time: Time) -> Self {
        Self(mul_div(bytes.0, BIT_PS, time.0))
    }

    /// Picoseconds for one byte where that is a whole number (at every standard link rate), so that
    /// a link can multiply instead of divide.
    #[must_use]
    pub const fn whole_ps_per_byte(self) -> Option<u64> {
        if self.0 != 0 && BIT_PS.is_multiple_of(self.0) { Some(BIT_PS / self.0) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_a_whole_number_of_picoseconds_at_every_standard_rate() {
        for (gbps, ps) in [
            (10, 800),
            (25, 320),
            (40, 200),
            (50, 160),
            (100, 80),
            (200, 40),
            (400, 20),
            (800, 10),
            (1600, 5),
        ] {
            assert_eq!(Rate::from_gbps(gbps).whole_ps_per_byte(), Some(ps));
            assert_eq!(Rate::from_gbps(gbps).time_for(Bytes::new(1060)), Time::from_ps(1060 * ps));
        }
        assert_eq!(Rate::from_gbps(3).whole_ps_per_byte(), None);
        // 1000 B at 3 Gbps: 8000 / 3 ns = 2666.67 ns, rounded up to 2_666_667 ps.
        assert_eq!(Rate::from_gbps(3).time_for(Bytes::new(1000)), Time::from_ps(2_666_667));
    }

    #[test]
    fn bandwidth_delay_product_of_the_oscar_paper() {
        // OSCAR section 6.3: 100 Gbps and 12 us give a base BDP of 150 KB.
        assert_eq!(Rate::from_gbps(100).bytes_in(Time::from_us(12)), Bytes::new(150_000));
        assert_eq!(Rate::of(Bytes::new(150_000), Time::from_us(12)), Rate::from_gbps(100));
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Time::from_ns(1) - Time::from_ns(2), Time::ZERO);
        assert_eq!(Time::NEVER + Time::from_ns(2), Time::NEVER);
        assert_eq!(Time::from_ns(1).checked_sub(Time::from_ns(2)), None);
        assert_eq!(Time::NEVER.checked_add(Time::from_ps(1)), None);
        assert_eq!(Rate::ZERO.time_for(Bytes::new(1)), Time::NEVER);
        assert_eq!(Rate::of(Bytes::new(1), Time::ZERO), Rate::from_bps(u64::MAX));
        assert_eq!(Time::from_us(12).times_ratio(3, 2), Time::from_us(18));
    }

    #[test]
    fn numbers_come_back_in_their_unit() {
        let time = Time::from_ps(12_345_999);
        assert_eq!((time.ps(), time.ns()), (12_345_999, 12_345));
        assert_eq!((Bytes::new(1060).get(), Rate::from_mbps(40).bps()), (1060, 40_000_000));
    }
}
