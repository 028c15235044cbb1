//! Exact 64-bit multiply-and-divide without 128-bit integers.
//!
//! The congestion control core must compile to kernel BPF, where a 128-bit multiplication or
//! division does not link. These functions compute the same bits on every target, from 32-bit limbs.
//! The standard library's `checked_mul` and `saturating_mul` of 64-bit numbers are such multiplications
//! there too; the core uses [`saturating_mul`] and [`signed_saturating_mul`] of this module instead.
//!
//! The divisions are calls there, which the kernel's verifier looks at once (`alone` in bpf/compile.sh) and not with
//! every path that leads to one.

/// `a * b / c`, exact, rounded down; saturates at `u64::MAX`, also for `c == 0`.
#[cfg_attr(not(target_arch = "bpf"), inline)]
#[cfg_attr(target_arch = "bpf", inline(never))]
#[must_use]
pub const fn mul_div(a: u64, b: u64, c: u64) -> u64 {
    if c == 0 {
        return u64::MAX;
    }
    match checked_mul(a, b) {
        Some(product) => product / c,
        None => {
            let (high, low) = mul_wide(a, b);
            div_wide(high, low, c)
        }
    }
}

/// `a * 2^32 / c`, exact, rounded down; saturates at `u64::MAX`, also for `c == 0`. The same as
/// [`mul_div`] with `2^32`, with one division where that needs two.
#[cfg_attr(not(target_arch = "bpf"), inline)]
#[cfg_attr(target_arch = "bpf", inline(never))]
#[must_use]
pub const fn shift_div(a: u64, c: u64) -> u64 {
    if c == 0 {
        u64::MAX
    } else if a >> 32 == 0 {
        (a << 32) / c
    } else {
        long_shift_div(a, c)
    }
}

/// [`shift_div`] where `a · 2^32` may need more than 64 bits: the whole part of the quotient, which is
/// often 0 or 1, then 32 bits of its fraction.
const fn long_shift_div(a: u64, c: u64) -> u64 {
    if c == 0 {
        return u64::MAX;
    }
    let (whole, rest) = if a < c {
        (0, a)
    } else if a - c < c {
        (1, a - c)
    } else {
        (a / c, a % c)
    };
    if whole >> 32 != 0 {
        return u64::MAX;
    }
    whole << 32 | fraction(rest, c)
}

/// `rest · 2^32 / divisor`, rounded down, for a `rest` below the divisor.
const fn fraction(rest: u64, divisor: u64) -> u64 {
    if rest >> 32 == 0 {
        // Zero does not divide: nothing is below it.
        return match (rest << 32).checked_div(divisor) {
            Some(quotient) => quotient,
            None => 0,
        };
    }
    let zeros = divisor.leading_zeros();
    if zeros < 2 {
        return div_wide(rest >> 32, rest << 32, divisor);
    }
    // The divisor gets its highest bit at place 61, so that four times of it fit. Its leading 32 bits,
    // rounded up, are D > divisor/2^30: the estimate is not above the quotient, and less than
    // quotient/D + 1 < 3 below it. (The bit at place 31 is set already, which shows the compiler that D
    // is not zero.)
    let (rest, divisor) = (rest << (zeros - 2), divisor << (zeros - 2));
    let mut quotient = (rest << 2) / ((divisor >> 30 | 1 << 31) + 1);
    let mut left = (rest << 32).wrapping_sub(quotient.wrapping_mul(divisor));
    if left >= 2 * divisor {
        quotient += 2;
        left -= 2 * divisor;
    }
    if left >= divisor {
        quotient += 1;
    }
    quotient
}

/// `a * b`, saturating at `u64::MAX`.
#[inline]
#[must_use]
pub const fn saturating_mul(a: u64, b: u64) -> u64 {
    match checked_mul(a, b) {
        Some(product) => product,
        None => u64::MAX,
    }
}

/// `a * b`, saturating at both ends of the range.
#[inline]
#[must_use]
pub const fn signed_saturating_mul(a: i64, b: i64) -> i64 {
    #[cfg(not(target_arch = "bpf"))]
    return a.saturating_mul(b);
    #[cfg(target_arch = "bpf")]
    return limbs::signed_saturating_mul(a, b);
}

/// `a * b`, or `None` when it does not fit.
#[inline]
const fn checked_mul(a: u64, b: u64) -> Option<u64> {
    #[cfg(not(target_arch = "bpf"))]
    return a.checked_mul(b);
    #[cfg(target_arch = "bpf")]
    return limbs::checked_mul(a, b);
}

/// Products for BPF, where the standard library's products are 128-bit multiplications. Elsewhere only the
/// tests use them, to check that they agree.
#[cfg(any(test, target_arch = "bpf"))]
mod limbs {
    use super::mul_wide;

    pub(super) const fn checked_mul(a: u64, b: u64) -> Option<u64> {
        match mul_wide(a, b) {
            (0, product) => Some(product),
            _ => None,
        }
    }

    pub(super) const fn signed_saturating_mul(a: i64, b: i64) -> i64 {
        let (magnitude, negative) = (checked_mul(a.unsigned_abs(), b.unsigned_abs()), (a < 0) != (b < 0));
        match magnitude {
            Some(magnitude) if magnitude <= i64::MAX as u64 && negative => -(magnitude as i64),
            Some(magnitude) if magnitude <= i64::MAX as u64 => magnitude as i64,
            _ if negative => i64::MIN,
            _ => i64::MAX,
        }
    }
}

/// The 128-bit product of `a` and `b` as (high, low) halves.
#[must_use]
pub const fn mul_wide(a: u64, b: u64) -> (u64, u64) {
    const LOW: u64 = 0xffff_ffff;
    let (a1, a0) = (a >> 32, a & LOW);
    let (b1, b0) = (b >> 32, b & LOW);
    let low = a0 * b0;
    // Neither sum can overflow: (2^32 - 1)^2 + 2^32 - 1 < 2^64.
    let middle = keep_apart(a1 * b0 + (low >> 32));
    let other = a0 * b1 + (middle & LOW);
    (a1 * b1 + (middle >> 32) + (other >> 32), a.wrapping_mul(b))
}

/// `value`. The optimiser recognises the limbs of [`mul_wide`] as one 128-bit multiplication, which is
/// a single instruction where there is one and a call of the compiler's run-time library on BPF, where
/// that does not link; there it must not see through the middle sum.
#[inline]
const fn keep_apart(value: u64) -> u64 {
    if cfg!(target_arch = "bpf") { core::hint::black_box(value) } else { value }
}

/// The 128-bit value `high · 2^64 + low` divided by `divisor`, rounded down; `u64::MAX` when the
/// quotient does not fit or the divisor is zero.
///
/// Schoolbook long division with two 32-bit quotient digits, each estimated from the divisor's
/// leading digit and corrected at most twice (Knuth, TAOCP vol. 2, section 4.3.1, algorithm D).
#[cfg_attr(target_arch = "bpf", inline(never))]
#[must_use]
pub const fn div_wide(high: u64, low: u64, divisor: u64) -> u64 {
    if high >= divisor {
        return u64::MAX;
    }
    if high == 0 {
        return low / divisor;
    }
    const LOW: u64 = 0xffff_ffff;
    // Normalise: the divisor's top bit set makes the digit estimates good.
    let shift = divisor.leading_zeros();
    let divisor = divisor << shift;
    let high = if shift == 0 { high } else { (high << shift) | (low >> (64 - shift)) };
    let low = low << shift;
    // The top bit is set already; saying so lets the compiler see that it never divides by zero.
    let (d1, d0) = (divisor >> 32 | 1 << 31, divisor & LOW);

    let first = digit(high, low >> 32, d1, d0);
    // The remainder after the first digit fits in 64 bits, so wrapping arithmetic is exact.
    let rest = (high << 32 | low >> 32).wrapping_sub(first.wrapping_mul(divisor));
    let second = digit(rest, low & LOW, d1, d0);
    (first << 32) | second
}

/// One 32-bit quotient digit of `(rest · 2^32 + next) / (d1 · 2^32 + d0)`, where `rest` is smaller
/// than the divisor.
const fn digit(rest: u64, next: u64, d1: u64, d0: u64) -> u64 {
    let mut q = rest / d1;
    let mut r = rest % d1;
    let mut corrections = 0;
    while corrections < 2 && (q >> 32 != 0 || q * d0 > ((r << 32) | next)) {
        q -= 1;
        r += d1;
        corrections += 1;
        if r >> 32 != 0 {
            break;
        }
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 64-bit values with every length of bits, from a fixed linear congruential generator.
    fn values() -> impl Iterator<Item = u64> {
        let mut x = 0x9e37_79b9_7f4a_7c15_u64;
        (0..400).map(move |i| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            x >> (i % 64)
        })
    }

    #[test]
    fn signed_products_saturate_at_both_ends() {
        for (a, b, product) in [
            (i64::MIN, 1, i64::MIN),
            (i64::MIN, -1, i64::MAX),
            (1 << 32, -(1 << 31), i64::MIN),
            (-(1 << 32), -(1 << 31), i64::MAX),
            ((1 << 32) + 1, -(1 << 31), i64::MIN),
            (i64::MAX, -1, -i64::MAX),
            (i64::MIN, 0, 0),
        ] {
            for signed in [signed_saturating_mul, limbs::signed_saturating_mul] {
                assert_eq!((signed(a, b), signed(b, a)), (product, product), "{a} * {b}");
            }
        }
    }

    #[test]
    fn divides_two_halves() {
        // (5 · 2^64 + 6)/7: 5 · 2^64 = 7 · 13176245766935394011 + 3, and 3 + 6 = 7 + 2.
        assert_eq!(div_wide(5, 6, 7), 13_176_245_766_935_394_012);
        // A high half of zero is a plain division; one from the divisor on does not fit.
        assert_eq!((div_wide(0, 100, 7), div_wide(0, 6, 7)), (14, 0));
        assert_eq!((div_wide(6, u64::MAX, 7), div_wide(7, 0, 7)), (u64::MAX, u64::MAX));
        assert_eq!((div_wide(0, 5, 0), div_wide(1, 5, 0)), (u64::MAX, u64::MAX));
    }

    /// Around the bounds of its cases, where an estimate of the quotient could be one too far.
    #[test]
    fn divides_a_shifted_number_exactly() {
        let mut x = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            x ^ x >> 29
        };
        let check = |a: u64, c: u64| {
            let exact = (u128::from(a) << 32).checked_div(u128::from(c)).unwrap_or(u128::MAX);
            assert_eq!(shift_div(a, c), u64::try_from(exact).unwrap_or(u64::MAX), "{a} << 32 / {c}");
        };
        for bits in 0..64 {
            for near in 0..200 {
                let c = (1_u64 << bits).wrapping_add(near).wrapping_sub(100);
                for times in [0, 1, 2, 3, 1 << 31, 1 << 32, u64::MAX / c.max(1)] {
                    for beside in [0, 1, 2, c / 2, c.wrapping_sub(1)] {
                        check(c.wrapping_mul(times).wrapping_add(beside), c);
                        check(c.wrapping_mul(times).wrapping_sub(beside), c);
                    }
                }
            }
        }
        for _ in 0..300_000 {
            let (a, c) = (random() >> (random() % 64), random() >> (random() % 64));
            check(a, c);
            // A dividend whose quotient is a number of 32 bits, exactly or but for one.
            let a = ((u128::from(c) * u128::from(random() >> 32)) >> 32) as u64;
            check(a, c);
            check(a.wrapping_add(1), c);
        }
    }

    #[test]
    fn agrees_with_128_bit_arithmetic() {
        for a in values().chain([0, 1, u64::MAX, u64::MAX - 1, 1 << 32]) {
            for b in values().step_by(7).chain([0, 1, u64::MAX]) {
                let exact = u128::from(a) * u128::from(b);
                let (high, low) = mul_wide(a, b);
                assert_eq!(u128::from(high) << 64 | u128::from(low), exact);
                assert_eq!(saturating_mul(a, b), a.saturating_mul(b), "{a} * {b}");
                assert_eq!(limbs::checked_mul(a, b), a.checked_mul(b), "{a} * {b}");
                for (a, b) in [(a, b), (a.wrapping_neg(), b), (a, b.wrapping_neg())] {
                    let (a, b) = (a as i64, b as i64);
                    assert_eq!(signed_saturating_mul(a, b), a.saturating_mul(b), "{a} * {b}");
                    assert_eq!(limbs::signed_saturating_mul(a, b), a.saturating_mul(b), "{a} * {b}");
                }
                let shifted = (u128::from(a) << 32).checked_div(u128::from(b)).unwrap_or(u128::MAX);
                assert_eq!(shift_div(a, b), u64::try_from(shifted).unwrap_or(u64::MAX), "{a} << 32 / {b}");
                for c in values().step_by(31).chain([1, 3, u64::MAX, 1 << 63, (1 << 32) - 1]) {
                    if c == 0 {
                        assert_eq!(mul_div(a, b, c), u64::MAX);
                        continue;
                    }
                    let quotient = u64::try_from(exact / u128::from(c)).unwrap_or(u64::MAX);
                    assert_eq!(mul_div(a, b, c), quotient, "{a} * {b} / {c}");
                }
            }
        }
    }
}
