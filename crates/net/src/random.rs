//! Stateless random draws: a hash of the drawing entity and the item.
//!
//! A draw for a packet depends only on the seed, the port and the packet's identity, so that adding a flow does
//! not change the draws of others.

/// A bijective mix of 64 bits (the finaliser of SplitMix64, Steele, Lea and Flood 2014).
#[must_use]
#[inline]
pub const fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A uniform 64-bit draw of the stream `stream` (a hash of seed and entity) for item `item`.
#[must_use]
#[inline]
pub const fn draw(stream: u64, item: u64) -> u64 {
    mix(stream ^ mix(item))
}

/// ln 2 in units of 2^-64.
pub const LN_2: u64 = 0xb172_17f7_d1cf_79ab;

/// Returns -ln(u / 2^64) for u > 0, in units of 2^-40, to an error below 2^-36.
///
/// The binary logarithm's fraction comes bit by bit from squaring the mantissa (Knuth, TAOCP vol. 1,
/// section 1.2.2, exercise 25 and its companions), then ln 2 scales it.
#[must_use]
pub fn minus_ln(u: u64) -> u64 {
    let zeros = u.leading_zeros();
    // The mantissa in [1, 2), in units of 2^-63.
    let mut mantissa = u << zeros;
    let mut fraction = 0_u64;
    for bit in (0..40).rev() {
        let square = (u128::from(mantissa) * u128::from(mantissa)) >> 63;
        if square >> 64 != 0 {
            fraction |= 1 << bit;
            mantissa = (square >> 1) as u64;
        } else {
            mantissa = square as u64;
        }
    }
    // log2(u / 2^64) = 63 - zeros + fraction - 64.
    let log = (u64::from(zeros) + 1) * (1 << 40) - fraction;
    ((u128::from(log) * u128::from(LN_2)) >> 64) as u64
}

/// Returns a normally distributed number with mean 0 and standard deviation 1, in units of 2^-32, from uniform draws
/// (Marsaglia and Bray's polar method; the second of its two values is not used).
pub fn normal(mut next: impl FnMut() -> u64) -> i64 {
    loop {
        // A point of the square from -1 to 1, in units of 2^-63, and the square of its distance from 0.
        let (x, y) = (next() as i64, next() as i64);
        let square = |v: i64| u128::from(v.unsigned_abs()).pow(2);
        let distance = (square(x) + square(y)) >> 62;
        if let Ok(distance @ 1..) = u64::try_from(distance) {
            // x · sqrt(-2 ln(distance) / distance); the root's units are 2^-28.
            let root = ((u128::from(minus_ln(distance)) << 81) / u128::from(distance)).isqrt();
            return ((i128::from(x) * root as i128) >> (63 + 28 - 32)) as i64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_uniform() {
        // 256 cells, 256_000 draws: chi-square with 255 degrees of freedom lies between 170 and 360
        // except with probability below 1e-5 at either end.
        let mut cells = [0_u32; 256];
        for item in 0..256_000 {
            cells[(draw(7, item) >> 56) as usize] += 1;
        }
        let chi: f64 = cells.iter().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
        assert!((170.0..360.0).contains(&chi), "{chi}");
    }
    #[test]
    fn the_logarithm_is_right() {
        for i in 0..20_000_u32 {
            let u = (draw(1, u64::from(i)) >> (i % 64)).max(1);
            let exact = -(u as f64 / 2_f64.powi(64)).ln();
            let ours = minus_ln(u) as f64 / 2_f64.powi(40);
            assert!((ours - exact).abs() < 2_f64.powi(-36) + exact * 1e-12, "{u}: {ours} {exact}");
        }
        assert!(minus_ln(u64::MAX) <= 1);
    }
}
