//! Division by a number that stays the same.

use incast_units::math::{div_wide, mul_wide};

use crate::Fixed;

/// A number by which many are divided, with its reciprocal: a quotient takes two multiplications and no
/// division, and is the same to the last bit. Size: 40 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Divisor {
    value: u64,
    /// `2^(63 + L) / value`, rounded down and at most 2^64 − 1, where L is the length of `value` in bits.
    inverse: u64,
    /// Numerators from this on are divided.
    limit: u64,
    /// A numerator is shifted up by this before the multiplication, its product down by the other after it.
    up: u32,
    down: u32,
    /// Leading zeros of `value`.
    zeros: u32,
}

impl Divisor {
    /// Division by `value`.
    #[must_use]
    pub const fn new(value: u64) -> Self {
        let zeros = value.leading_zeros();
        let length = 64 - zeros;
        if length == 0 || length == 64 {
            return Self { value, inverse: 0, limit: 0, up: 0, down: 0, zeros };
        }
        let inverse = div_wide(1 << (length - 1), 0, value);
        // 2^(31 + L): from there on a quotient is at least 2^31, the end of the range of `Fixed`.
        if length < 33 {
            Self { value, inverse, limit: 1 << (31 + length), up: 33 - length, down: 0, zeros }
        } else {
            Self { value, inverse, limit: u64::MAX, up: 0, down: length - 33, zeros }
        }
    }

    /// Division by `value`, which is not negative (else as by zero).
    #[must_use]
    pub const fn of(value: Fixed) -> Self {
        Self::new(if value.is_negative() { 0 } else { value.bits() as u64 })
    }

    /// [`Fixed::ratio`] of `numerator` and this number.
    #[inline]
    #[must_use]
    pub const fn ratio(&self, numerator: u64) -> Fixed {
        if numerator >= self.limit {
            return Fixed::ratio(numerator, self.value);
        }
        Fixed::positive(self.quotient(numerator))
    }

    /// [`Fixed::ratio`] of `numerator` and `divisor`, which is often this number or a power of two times it; then nothing
    /// is divided.
    #[inline]
    #[must_use]
    pub const fn ratio_by(&self, numerator: u64, divisor: u64) -> Fixed {
        let shift = self.zeros.wrapping_sub(divisor.leading_zeros());
        if numerator < self.limit && shift < 64 && self.value << shift == divisor {
            Fixed::positive(self.quotient(numerator) >> shift)
        } else {
            Fixed::ratio(numerator, divisor)
        }
    }

    /// `numerator · 2^32 / value`, rounded down, for a numerator below the limit.
    #[inline]
    const fn quotient(&self, numerator: u64) -> u64 {
        // With n = numerator and k = 31 + L, n · inverse/2^k is not above the quotient n · 2^32/value, and
        // less than n/2^k < 1 below it: rounded down, it is the quotient or one less. What is left then is
        // less than twice the divisor, which has at most 63 bits, so that wrapping arithmetic is exact.
        let (high, _) = mul_wide(numerator << self.up, self.inverse);
        let quotient = high >> self.down;
        let left = (numerator << 32).wrapping_sub(quotient.wrapping_mul(self.value));
        quotient + (left >= self.value) as u64
    }

    /// `dividend` divided by the number whose raw bits this is.
    #[inline]
    #[must_use]
    pub fn divide(&self, dividend: Fixed) -> Fixed {
        let magnitude = self.ratio(dividend.bits().unsigned_abs());
        if dividend.is_negative() { -magnitude } else { magnitude }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of every length of bits.
    fn numbers(seed: u64) -> impl Iterator<Item = u64> {
        let mut x = seed;
        (0..20_000).map(move |_| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x ^ x >> 31) >> (x >> 33 & 63)
        })
    }

    #[track_caller]
    fn same(numerator: u64, value: u64) {
        let by = Divisor::new(value);
        assert_eq!(by.ratio(numerator), Fixed::ratio(numerator, value), "{numerator}/{value}");
        let (dividend, divisor) = (Fixed::from_bits(numerator as i64), Fixed::from_bits(value as i64));
        if !divisor.is_negative() {
            assert_eq!(by.divide(dividend), dividend / divisor, "{dividend}/{divisor}");
        }
    }

    #[test]
    fn ratios_are_those_of_a_division() {
        // 100/3 = 33.333…: 33 · 2^32 + 1431655765 = 143165576533, by hand.
        assert_eq!(Divisor::new(3).ratio(100).bits(), 143_165_576_533);
        for (numerator, value) in numbers(1).zip(numbers(2)) {
            same(numerator, value);
        }
    }

    #[test]
    fn multiples_and_their_neighbours_fall_on_the_right_side() {
        for value in numbers(3).take(2_000).chain((0..64).flat_map(|i| [(1 << i) - 1, 1 << i, (1 << i) + 1]))
        {
            // A quotient of exactly `times`/2^32, and the numerators beside it.
            for times in [0, 1, 2, 3, 1 << 31, (1 << 32) - 1, 1 << 32, 3 << 32, 1 << 62] {
                let numerator = ((u128::from(value) * times) >> 32) as u64;
                for numerator in [numerator.wrapping_sub(1), numerator, numerator.wrapping_add(1)] {
                    same(numerator, value);
                }
            }
        }
    }

    #[test]
    fn ratios_by_a_power_of_two_times_the_number() {
        for (numerator, value) in numbers(5).zip(numbers(6)) {
            let by = Divisor::new(value);
            for divisor in
                [0, value / 2, value, value + 1, value << 1, (value << 2) + 1, value << 5, value << 63]
            {
                assert_eq!(
                    by.ratio_by(numerator, divisor),
                    Fixed::ratio(numerator, divisor),
                    "{numerator}/{divisor} by way of {value}"
                );
            }
        }
        // 400 Gbps by way of 100: 250/400 = 5/8. The largest quotient is halved before it saturates: 3 · 2^30.
        assert_eq!(Divisor::new(100).ratio_by(250, 400), Fixed::ratio(5, 8));
        assert_eq!(Divisor::new(1).ratio_by(3 << 30, 2).bits(), 3 << 61);
    }

    #[test]
    fn both_ends_of_the_range() {
        let ends = [0, 1, 2, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX / 2 + 2, u64::MAX - 1, u64::MAX];
        for value in ends.into_iter().chain(numbers(4).take(500)) {
            for numerator in ends.into_iter().chain([Divisor::new(value).limit]) {
                same(numerator, value);
                same(numerator.saturating_sub(1), value);
            }
        }
        assert_eq!(Divisor::new(0).ratio(0), Fixed::MAX);
        assert_eq!(Divisor::new(0).divide(-Fixed::ONE), Fixed::MIN);
        assert_eq!(size_of::<Divisor>(), 40);
    }
}
