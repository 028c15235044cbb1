//! The one number type of the algorithms.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use incast_units::math::{mul_div, mul_wide, shift_div};

/// A signed fixed-point number with 32 fractional bits.
///
/// Range −2³¹ to 2³¹ − 2⁻³², resolution 2⁻³² ≈ 2.3 · 10⁻¹⁰. Every operator saturates at the ends of
/// the range; products and quotients round toward zero; a division by zero gives the end of the
/// range on the side of the dividend (zero by zero gives the largest value).
///
/// Ratios, gains, utilisations and windows in bytes (up to 2 GB, with fractions of a byte) all live
/// in it. It is computed with 64-bit unsigned integers only, in sign and magnitude, because kernel
/// BPF has neither signed division nor 128-bit integers.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Fixed(i64);

const FRACTION_BITS: u32 = 32;
const ONE: u64 = 1 << FRACTION_BITS;
const LARGEST: u64 = i64::MAX as u64;

impl Fixed {
    /// 0.
    pub const ZERO: Self = Self(0);
    /// 1.
    pub const ONE: Self = Self(ONE as i64);
    /// The largest value, just under 2³¹.
    pub const MAX: Self = Self(i64::MAX);
    /// The smallest value, just over −2³¹.
    pub const MIN: Self = Self(-i64::MAX);

    /// A whole number, saturating.
    #[must_use]
    pub const fn whole(value: u64) -> Self {
        if value >= 1 << 31 { Self::MAX } else { Self((value << FRACTION_BITS) as i64) }
    }

    /// `numerator / denominator`, rounded toward zero and saturating.
    #[must_use]
    pub const fn ratio(numerator: u64, denominator: u64) -> Self {
        Self::positive(shift_div(numerator, denominator))
    }

    /// The raw bits: the value times 2³².
    #[must_use]
    pub const fn bits(self) -> i64 {
        self.0
    }

    /// The number whose raw bits these are.
    #[must_use]
    pub const fn from_bits(bits: i64) -> Self {
        Self(if bits == i64::MIN { -i64::MAX } else { bits })
    }

    /// `amount` times this number, rounded down; zero when this number is negative.
    ///
    /// The product is formed in full before it is shifted, so that `amount` may be any u64.
    #[must_use]
    pub const fn scale(self, amount: u64) -> u64 {
        if self.0 <= 0 {
            return 0;
        }
        let (high, low) = mul_wide(self.0 as u64, amount);
        if high >> FRACTION_BITS != 0 {
            return u64::MAX;
        }
        (high << (64 - FRACTION_BITS)) | (low >> FRACTION_BITS)
    }

    /// `amount` divided by this number, rounded down and saturating; `u64::MAX` when this number is
    /// zero or negative.
    #[must_use]
    pub const fn divide(self, amount: u64) -> u64 {
        if self.0 <= 0 { u64::MAX } else { shift_div(amount, self.0 as u64) }
    }

    /// The whole part, rounded down; zero when negative.
    #[must_use]
    pub const fn floor(self) -> u64 {
        if self.0 <= 0 { 0 } else { (self.0 as u64) >> FRACTION_BITS }
    }

    /// The magnitude.
    #[must_use]
    pub const fn abs(self) -> Self {
        Self(self.0.wrapping_abs())
    }

    /// Whether it is below zero.
    #[must_use]
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// Returns the square root, rounded down to the resolution; zero when negative.
    ///
    /// Newton's method for `1/√x` needs no division and no radicand of 96 bits; what it leaves is corrected by
    /// comparing squares.
    #[must_use]
    pub const fn sqrt(self) -> Self {
        if self.0 <= 0 {
            return Self::ZERO;
        }
        let value = self.0 as u64;
        // x = X · 2^62 with X from 1 to 4, an even number of places up.
        let shift = value.leading_zeros() & !1;
        let x = value << shift;
        let high = x >> 32;
        // y = Y · 2^31, where Y is 1/√X within 2.2 %: the best straight lines, from 1 to 2 and from 2 to 4.
        let (from, slope) = if x >> 63 == 0 {
            (2_714_681_667, 615_000_000) // 1.26412, 0.28638
        } else {
            (1_919_571_000, 217_432_000) // both over √2, and the slope over 2
        };
        let mut y: u64 = from - ((high * slope) >> 30);
        // Each step squares the error, times 3/2: 7e-4, 8e-7, then that of rounding, some 2^-30.
        let mut step = 0;
        while step < 3 {
            let off = (3 << 62) - high * ((y * y) >> 30); // (3 − X · Y²) · 2^62
            y = (y * (off >> 32)) >> 31;
            step += 1;
        }
        // √x within 2^-29, then 16 more bits: half of what is left over √x.
        let root = (high * y) >> 30;
        let left = x.wrapping_sub(root.wrapping_mul(root)) as i64;
        let root = ((root << 16) as i64 + (((left >> 6) * y as i64) >> 41)) as u64;
        // √(x · 2^32) is off by less than 2 now, and so is √(value · 2^32), in whole numbers.
        let mut root = root >> (shift / 2);
        let mut left = (value << FRACTION_BITS).wrapping_sub(root.wrapping_mul(root)) as i64;
        let mut step = 0;
        while step < 2 {
            if left < 0 {
                root -= 1;
                left += 2 * root as i64 + 1;
            } else if left > 2 * root as i64 {
                left -= 2 * root as i64 + 1;
                root += 1;
            }
            step += 1;
        }
        Self(root as i64)
    }

    /// The logarithm to base 2, rounded down to the resolution; [`MIN`](Self::MIN) when zero or negative.
    ///
    /// It is found bit by bit: squaring a number doubles its logarithm, so that the next bit is set where
    /// the square is 2 or more. Where the exact logarithm is less than 2⁻⁵⁶ above a multiple of the
    /// resolution, the result may be the one below.
    #[must_use]
    pub const fn log2(self) -> Self {
        if self.0 <= 0 {
            return Self::MIN;
        }
        let (exponent, mut mantissa) = self.normalised();
        let (mut fraction, mut place) = (0, FRACTION_BITS);
        while place > 0 {
            place -= 1;
            // In units of 2^-126, so that the upper half is in units of 2^-62. No branch: as often as not it would be
            // predicted wrongly.
            let (high, low) = mul_wide(mantissa, mantissa);
            let bit = high >> 63;
            fraction = fraction << 1 | bit;
            mantissa = high << (1 - bit) | (low >> 63) & (1 - bit);
        }
        Self((exponent << FRACTION_BITS) + fraction as i64)
    }

    /// The logarithm to base 2 as straight lines between the powers of two: `i + x/2^i − 1` for `x` from
    /// `2^i` to `2^(i+1)`, rounded down to the resolution; [`MIN`](Self::MIN) when zero or negative.
    ///
    /// It is exact at powers of two and up to 0.0861 too small between them.
    #[must_use]
    pub const fn log2_piecewise(self) -> Self {
        if self.0 <= 0 {
            return Self::MIN;
        }
        let (exponent, mantissa) = self.normalised();
        let fraction = (mantissa << 1) >> FRACTION_BITS;
        Self((exponent << FRACTION_BITS) + fraction as i64)
    }

    /// A positive number as `2^exponent · mantissa`, the mantissa from 1 to 2 in units of 2⁻⁶³.
    const fn normalised(self) -> (i64, u64) {
        let value = self.0 as u64;
        let zeros = value.leading_zeros();
        (63 - FRACTION_BITS as i64 - zeros as i64, value << zeros)
    }

    /// This number, but at least `low` and at most `high` (which wins if they cross).
    #[must_use]
    pub fn clamp_to(self, low: Self, high: Self) -> Self {
        self.max(low).min(high)
    }

    pub(crate) const fn positive(magnitude: u64) -> Self {
        Self(if magnitude > LARGEST { i64::MAX } else { magnitude as i64 })
    }

    const fn signed(negative: bool, magnitude: u64) -> Self {
        let Self(value) = Self::positive(magnitude);
        Self(if negative { -value } else { value })
    }
}

impl Add for Fixed {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self::from_bits(self.0.saturating_add(other.0))
    }
}

impl Sub for Fixed {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self::from_bits(self.0.saturating_sub(other.0))
    }
}

impl Neg for Fixed {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self(self.0.wrapping_neg())
    }
}

impl Mul for Fixed {
    type Output = Self;
    #[inline]
    fn mul(self, other: Self) -> Self {
        let (high, low) = mul_wide(self.0.unsigned_abs(), other.0.unsigned_abs());
        let magnitude = if high >> FRACTION_BITS != 0 {
            LARGEST
        } else {
            (high << (64 - FRACTION_BITS)) | (low >> FRACTION_BITS)
        };
        Self::signed((self.0 < 0) != (other.0 < 0), magnitude)
    }
}

impl Div for Fixed {
    type Output = Self;
    #[inline]
    fn div(self, other: Self) -> Self {
        let magnitude = shift_div(self.0.unsigned_abs(), other.0.unsigned_abs());
        Self::signed((self.0 < 0) != (other.0 < 0), magnitude)
    }
}

impl AddAssign for Fixed {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Fixed {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

/// Prints the exact value in decimal, cut after nine digits.
impl fmt::Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.unsigned_abs();
        let nano = mul_div(magnitude & (ONE - 1), 1_000_000_000, ONE);
        if self.0 < 0 {
            f.write_str("-")?;
        }
        write!(f, "{}", magnitude >> FRACTION_BITS)?;
        if nano == 0 {
            return Ok(());
        }
        let (mut digits, mut width) = (nano, 9);
        while digits.is_multiple_of(10) {
            digits /= 10;
            width -= 1;
        }
        write!(f, ".{digits:0width$}")
    }
}

impl fmt::Debug for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f(value: f64) -> Fixed {
        Fixed::from_bits((value * 4_294_967_296.0) as i64)
    }

    fn back(value: Fixed) -> f64 {
        value.bits() as f64 / 4_294_967_296.0
    }

    #[test]
    fn agrees_with_floating_point_to_its_resolution() {
        let values =
            [-70_000.5, -3.25, -1.0, -0.001, 0.0, 1e-9, 0.05, 0.95, 1.0, 1.5, 9.5, 1000.0, 20_000.125];
        for a in values {
            for b in values {
                let (x, y) = (f(a), f(b));
                assert!((back(x + y) - (a + b)).abs() < 1e-9);
                assert!((back(x - y) - (a - b)).abs() < 1e-9);
                assert!(
                    (a * b).abs() > 2e9 || (back(x * y) - a * b).abs() < 1e-9 * (1.0 + a.abs() + b.abs()),
                    "{a} * {b}"
                );
                if b != 0.0 && (a / b).abs() < 2e9 {
                    // Both operands carry a representation error of 2^-32.
                    let bound = 1e-9 * (1.0 + (1.0 + (a / b).abs()) / b.abs());
                    assert!((back(x / y) - a / b).abs() < bound, "{a} / {b}");
                }
            }
        }
    }

    #[test]
    fn saturates_and_never_panics_at_the_ends() {
        let ends = [Fixed::MIN, Fixed::MAX, Fixed::ZERO, Fixed::ONE, -Fixed::ONE, Fixed::from_bits(1)];
        for a in ends {
            for b in ends {
                for r in [a + b, a - b, a * b, a / b, -a, a.abs()] {
                    assert!(r >= Fixed::MIN && r <= Fixed::MAX);
                }
            }
        }
        assert_eq!(Fixed::MAX + Fixed::ONE, Fixed::MAX);
        assert_eq!(Fixed::MIN * Fixed::MAX, Fixed::MIN);
        assert_eq!(Fixed::ONE / Fixed::ZERO, Fixed::MAX);
        assert_eq!(-Fixed::ONE / Fixed::ZERO, Fixed::MIN);
        assert_eq!(Fixed::from_bits(i64::MIN), Fixed::MIN);
        assert_eq!(Fixed::whole((1 << 31) - 1).bits(), ((1 << 31) - 1) << 32);
        for above in [1 << 31, 1 << 32, u64::MAX] {
            assert_eq!(Fixed::whole(above), Fixed::MAX, "{above}");
        }
        assert_eq!(Fixed::ZERO / Fixed::ZERO, Fixed::MAX);
        assert_eq!(Fixed::ZERO / -Fixed::ONE, Fixed::ZERO);
        // Around 2^31: the largest product of whole numbers below it, and the first that is not; 2^32,
        // the first that needs more than 64 bits.
        assert_eq!(Fixed::whole(65_535) * Fixed::whole(32_768), Fixed::whole(2_147_450_880));
        for (a, b) in [(65_536, 32_768), (65_536, 65_536), (65_536, 65_537)] {
            let (a, b) = (Fixed::whole(a), Fixed::whole(b));
            assert_eq!((a * b, -a * b, -a * -b), (Fixed::MAX, Fixed::MIN, Fixed::MAX), "{a} * {b}");
        }
    }

    #[test]
    fn zero_has_no_sign() {
        assert!(!Fixed::ZERO.is_negative() && !(-Fixed::ZERO).is_negative());
        assert!(Fixed::from_bits(-1).is_negative() && !Fixed::from_bits(1).is_negative());
        assert_eq!((-Fixed::ONE * Fixed::ZERO, Fixed::ZERO * -Fixed::ONE), (Fixed::ZERO, Fixed::ZERO));
    }

    #[test]
    fn assignments_are_sum_and_difference() {
        let mut x = Fixed::ratio(3, 4);
        x += Fixed::ratio(3, 2);
        assert_eq!(x, Fixed::ratio(9, 4));
        x -= Fixed::whole(3);
        assert_eq!(x, -Fixed::ratio(3, 4));
        x -= Fixed::MAX;
        assert_eq!(x, Fixed::MIN);
    }

    #[test]
    fn scales_integers_exactly() {
        assert_eq!(Fixed::ratio(3, 2).scale(12_000_000), 18_000_000);
        assert_eq!(Fixed::ratio(1, 2).scale(u64::MAX), u64::MAX / 2);
        assert_eq!(Fixed::whole(3).scale(u64::MAX), u64::MAX);
        assert_eq!((-Fixed::ONE).scale(5), 0);
        // The smallest number above zero: (2^64 − 1)/2^32, rounded down.
        assert_eq!(Fixed::from_bits(1).scale(u64::MAX), (1 << 32) - 1);
        assert_eq!(Fixed::ratio(1, 4).divide(100), 400);
        assert_eq!(Fixed::ZERO.divide(100), u64::MAX);
        assert_eq!((Fixed::from_bits(1).divide(1), (-Fixed::ONE).divide(1)), (1 << 32, u64::MAX));
        assert_eq!((Fixed::whole(7).floor(), Fixed::ratio(15, 2).floor(), (-Fixed::ONE).floor()), (7, 7, 0));
    }

    #[test]
    fn square_root_is_exact() {
        extern crate std;
        let ends = [1, 2, 3, ONE - 1, ONE, ONE + 1, LARGEST - 1, LARGEST];
        let mut x = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move |i: u32| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            x >> (1 + i % 62)
        };
        // Numbers of every length, and around each power of two: there an estimate has another form.
        let mut values: std::vec::Vec<u64> = ends.into_iter().chain((0..200_000).map(&mut random)).collect();
        values.extend(
            (1..63).flat_map(|i| (0..64).flat_map(move |j| [(1 << i) + j, (1_u64 << i).saturating_sub(j)])),
        );
        // Squares, of which the root is a whole number of 2^-32, and their neighbours.
        for i in 0..50_000 {
            let root = u128::from(random(16 + i % 46));
            let square = (root * root) >> FRACTION_BITS;
            values.extend(
                [square.saturating_sub(1), square, square + 1].map(|v| v.min(u128::from(LARGEST)) as u64),
            );
        }
        values.retain(|&value| value > 0);
        for bits in values {
            let root = Fixed::from_bits(bits as i64).sqrt().bits() as u128;
            // The largest root whose square is not above the value, both in units of 2^-64.
            let square = u128::from(bits) << FRACTION_BITS;
            assert!(root * root <= square && (root + 1) * (root + 1) > square, "{bits}");
        }
        assert_eq!(Fixed::ratio(9, 4).sqrt(), Fixed::ratio(3, 2));
        assert_eq!(Fixed::ZERO.sqrt(), Fixed::ZERO);
        assert_eq!((-Fixed::ONE).sqrt(), Fixed::ZERO);
    }

    /// Numbers of every length of bits: all that are within three of a power of two, 4,096 mantissas evenly
    /// spaced over each octave that has as many, and random ones.
    fn of_every_length() -> impl Iterator<Item = u64> {
        let around =
            (0..63_u32).flat_map(|i| (0..7).map(move |d| (1_u64 << i) + d)).map(|x| x.saturating_sub(3));
        let even = (12..63_u32).flat_map(|i| (0..4096_u64).map(move |m| (4096 + m) << (i - 12)));
        let mut x = 0x9e37_79b9_7f4a_7c15_u64;
        let random = (0..100_000).map(move |i| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            x >> (1 + i % 63)
        });
        around.chain(even).chain(random).chain([LARGEST]).filter(|bits| (1..=LARGEST).contains(bits))
    }

    /// The bound: rounded down to 2⁻³², and the reference is off by a few 2⁻⁴⁸ at most (a double has 53 bits,
    /// five of them before the point of a logarithm up to 32; its argument is rounded to 53 bits too).
    #[test]
    fn logarithm_is_rounded_down_to_the_resolution() {
        let (resolution, slack) = (1.0 / 4_294_967_296.0, 1e-13);
        let mut count = 0;
        for bits in of_every_length() {
            let ours = back(Fixed::from_bits(bits as i64).log2());
            let exact = (bits as f64).log2() - 32.0;
            assert!(
                ours <= exact + slack && exact < ours + resolution + slack,
                "{bits}: {ours}, not {exact}"
            );
            count += 1;
        }
        assert!(count > 300_000, "{count}");
        // Exact at powers of two; never smaller for a larger number.
        for i in 0..63 {
            let power = Fixed::from_bits(1 << i);
            let exact = Fixed::from_bits((i64::from(i) - 32) << 32);
            assert_eq!((power.log2(), power.log2_piecewise()), (exact, exact));
        }
        for bits in (1..10_000_i64).chain((1 << 40) - 5_000..(1 << 40) + 5_000) {
            let (low, high) = (Fixed::from_bits(bits), Fixed::from_bits(bits + 1));
            assert!(low.log2() <= high.log2() && low.log2_piecewise() <= high.log2_piecewise(), "{bits}");
        }
        for none in [Fixed::ZERO, -Fixed::ONE, Fixed::MIN] {
            assert_eq!((none.log2(), none.log2_piecewise()), (Fixed::MIN, Fixed::MIN));
        }
    }

    /// log2(1 + u) − u is largest where its derivative 1/((1 + u)·ln 2) − 1 is zero: u = 1/ln 2 − 1 =
    /// 0.442695, where it is 0.0860713.
    #[test]
    fn the_piecewise_logarithm_is_at_most_0_0861_too_small() {
        let mut worst = 0.0_f64;
        for bits in of_every_length() {
            let x = Fixed::from_bits(bits as i64);
            let ours = back(x.log2_piecewise());
            let whole = bits.ilog2();
            let by_hand = f64::from(whole) + bits as f64 / f64::from(whole).exp2() - 1.0 - 32.0;
            assert!((ours - by_hand).abs() < 3e-10, "{bits}: {ours}, not {by_hand}");
            worst = worst.max(back(x.log2()) - ours);
        }
        assert!((worst - 0.086_071_3).abs() < 1e-6, "{worst}");
        // By hand: log2 of 5000 is 12.287712, of the line from 4096 to 8192 12 + 904/4096 = 12.220703.
        let x = Fixed::whole(5000);
        assert!((back(x.log2()) - 12.287_712_379_5).abs() < 1e-9);
        assert_eq!(x.log2_piecewise(), Fixed::ratio(12 * 4096 + 904, 4096));
    }

    #[test]
    fn prints_in_decimal() {
        extern crate std;
        use std::string::ToString;
        assert_eq!(Fixed::ratio(3, 2).to_string(), "1.5");
        assert_eq!((-Fixed::ratio(1, 4)).to_string(), "-0.25");
        assert_eq!(Fixed::whole(12).to_string(), "12");
        assert_eq!(Fixed::ZERO.to_string(), "0");
        // 1 − 2^-32 = 0.999999999767…, 5 · 2^-32 = 0.00000000116…
        assert_eq!(Fixed::from_bits(ONE as i64 - 1).to_string(), "0.999999999");
        assert_eq!(Fixed::from_bits(5).to_string(), "0.000000001");
    }
}
