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
}
