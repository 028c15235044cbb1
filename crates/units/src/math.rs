//! Exact 64-bit multiply-and-divide without 128-bit integers.
//!
//! The congestion control core must compile to kernel BPF, where a 128-bit multiplication or
//! division does not link. These functions compute the same bits on every target, from 32-bit limbs.

/// `a * b / c`, exact, rounded down; saturates at `u64::MAX`, also for `c == 0`.
#[inline]
#[must_use]
pub const fn mul_div(a: u64, b: u64, c: u64) -> u64 {
    if c == 0 {
        return u64::MAX;
    }
    match a.checked_mul(b) {
        Some(product) => product / c,
        None => {
            let (high, low) = mul_wide(a, b);
            div_wide(high, low, c)
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
    let middle = a1 * b0 + (low >> 32);
    let other = a0 * b1 + (middle & LOW);
    (a1 * b1 + (middle >> 32) + (other >> 32), a.wrapping_mul(b))
}

/// The 128-bit value `high · 2^64 + low` divided by `divisor`, rounded down; `u64::MAX` when the
/// quotient does not fit or the divisor is zero.
///
/// Schoolbook long division with two 32-bit quotient digits, each estimated from the divisor's
/// leading digit and corrected at most twice (Knuth, TAOCP vol. 2, section 4.3.1, algorithm D).
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
    fn agrees_with_128_bit_arithmetic() {
        for a in values().chain([0, 1, u64::MAX, u64::MAX - 1, 1 << 32]) {
            for b in values().step_by(7).chain([0, 1, u64::MAX]) {
                let exact = u128::from(a) * u128::from(b);
                let (high, low) = mul_wide(a, b);
                assert_eq!(u128::from(high) << 64 | u128::from(low), exact);
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
