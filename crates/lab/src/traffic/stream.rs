//! Random draws that are the same on every machine and independent of everything else in a scenario.
//!
//! A stream is named by the seed, the traffic block's name and an index within the block. Its n-th
//! draw is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) at counter n from a starting point hashed
//! from that name, so that no block's draws depend on another's. All of it is integer arithmetic;
//! there is no floating-point function whose last bit a platform could choose.

use incast_cc::Fixed;
use incast_sim::random::{LN_2, minus_ln, mix, normal};
use incast_units::Time;

use crate::hash::key;

/// The step of SplitMix64's counter: 2^64 divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random draws.
#[derive(Clone, Debug)]
pub(crate) struct Stream(u64);

impl Stream {
    /// The stream of this seed, block and index.
    pub(crate) fn new(seed: u64, block: &str, index: u64) -> Self {
        // A stream starts elsewhere than the key of the flow with the same index.
        Self(mix(key(seed, block, index) ^ GOLDEN))
    }

    /// Uniform over all 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        let draw = mix(self.0);
        self.0 = self.0.wrapping_add(GOLDEN);
        draw
    }

    /// Uniform in 0..n (0 for n = 0), with a bias below n / 2^64.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// Exponentially distributed with this mean, in 2^-32 ps; result in whole ps.
    pub(crate) fn exponential(&mut self, mean: u128) -> Time {
        // u in (0, 1]: the gap -ln(u) is finite and may be zero.
        let u = self.next().max(1);
        let gap = (mean * u128::from(minus_ln(u) >> 8)) >> (40 - 8 + 32);
        Time::from_ps(u64::try_from(gap).unwrap_or(u64::MAX))
    }

    /// Log-normally distributed with this mean, in 2^-32 ps, and this standard deviation of the natural logarithm;
    /// result in whole ps.
    pub(crate) fn lognormal(&mut self, mean: u128, sigma: Fixed) -> Time {
        // exp(σz - σ²/2) has the mean 1. The exponent is in units of 2^-64.
        let sigma = i128::from(sigma.bits());
        let exponent = sigma * i128::from(normal(|| self.next())) - sigma * sigma / 2;
        let doublings = exponent.div_euclid(i128::from(LN_2)) as i32;
        let factor = u128::from(exp(exponent.rem_euclid(i128::from(LN_2)) as u64) >> 31);
        let gap = (mean * factor).checked_shr((64 - doublings).max(0) as u32).unwrap_or(0);
        Time::from_ps(u64::try_from(gap).unwrap_or(u64::MAX))
    }

    /// Puts the items into a uniformly random order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }

    /// `count` distinct numbers of 0..n in random order (Floyd's sampling, then a shuffle).
    pub(crate) fn sample(&mut self, n: u64, count: u64) -> Vec<u64> {
        let mut chosen = std::collections::BTreeSet::new();
        let mut order = Vec::new();
        for last in n.saturating_sub(count)..n {
            let candidate = self.below(last + 1);
            let pick = if chosen.insert(candidate) { candidate } else { last };
            chosen.insert(pick);
            order.push(pick);
        }
        self.shuffle(&mut order);
        order
    }
}

/// exp(x) for x in [0, ln 2), in units of 2^-64; result in units of 2^-63, to an error below 2^-57 (its series).
fn exp(x: u64) -> u64 {
    let mut term = 1_u128 << 63;
    let mut sum = term;
    for n in 1_u64.. {
        term = ((term * u128::from(x)) >> 64) / u128::from(n);
        if term == 0 {
            break;
        }
        sum += term;
    }
    sum as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_exponential() {
        let mut stream = Stream::new(7, "gaps", 0);
        let n = 200_000;
        let gaps: Vec<f64> =
            (0..n).map(|_| stream.exponential(1_000_000_u128 << 32).ps() as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / f64::from(n);
        // The standard error of the mean is 1 / sqrt(n) = 0.0022; five of them.
        assert!((mean - 1.0).abs() < 0.0112, "{mean}");
        // Kolmogorov-Smirnov: 1.95 / sqrt(n) is exceeded with probability 0.001.
        let mut sorted = gaps;
        sorted.sort_by(f64::total_cmp);
        let worst = sorted
            .iter()
            .enumerate()
            .map(|(i, gap)| ((1.0 - (-gap).exp()) - i as f64 / f64::from(n)).abs())
            .fold(0.0, f64::max);
        assert!(worst < 1.95 / f64::from(n).sqrt(), "{worst}");
    }

    #[test]
    fn the_exponential_function_is_right() {
        let mut stream = Stream::new(1, "exp", 0);
        for _ in 0..20_000 {
            let x = stream.below(LN_2);
            let exact = (x as f64 / 2_f64.powi(64)).exp();
            let ours = exp(x) as f64 / 2_f64.powi(63);
            assert!((ours - exact).abs() < 1e-15, "{x}: {ours} {exact}");
        }
        assert_eq!(exp(0), 1 << 63);
        // The largest is just below 2, and fits.
        assert!(exp(LN_2 - 1) > u64::MAX - 128);
    }

    #[test]
    fn gaps_are_lognormal() {
        let n = 200_000;
        // Of σ² = ln 2 the gaps' variance is the square of their mean, that of an exponential distribution.
        for sigma in [Fixed::ratio(1, 2), Fixed::from_bits(0xd520_7dd1), Fixed::whole(2)] {
            let mut stream = Stream::new(7, "lognormal gaps", 0);
            let gaps: Vec<f64> =
                (0..n).map(|_| stream.lognormal(1_000_000_000_u128 << 32, sigma).ps() as f64 / 1e9).collect();
            let sigma = sigma.bits() as f64 / 2_f64.powi(32);
            // Their variance is exp(σ²) - 1. Five standard errors of the mean.
            let deviation = ((sigma * sigma).exp() - 1.0).sqrt();
            let mean = gaps.iter().sum::<f64>() / f64::from(n);
            assert!((mean - 1.0).abs() < 5.0 * deviation / f64::from(n).sqrt(), "{sigma}: {mean}");
            // (ln(gap) + σ²/2) / σ is a standard normal: mean and variance within five standard errors, and its
            // third and fourth moments, 0 and 3 with variances 15 and 96.
            let normal = gaps.iter().map(|gap| (gap.ln() + sigma * sigma / 2.0) / sigma).collect::<Vec<_>>();
            for (power, expected, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)]
            {
                let moment = normal.iter().map(|z| z.powi(power)).sum::<f64>() / f64::from(n);
                let error = (variance / f64::from(n)).sqrt();
                assert!((moment - expected).abs() < 5.0 * error, "{sigma}: moment {power} is {moment}");
            }
            // The median is exp(-σ²/2); its standard error is that of half the draws.
            let below = gaps.iter().filter(|&&gap| gap < (-sigma * sigma / 2.0).exp()).count() as f64;
            assert!((below / f64::from(n) - 0.5).abs() < 5.0 * 0.5 / f64::from(n).sqrt(), "{sigma}: {below}");
            if sigma < 1.0 {
                let squares = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / f64::from(n);
                assert!((squares / (deviation * deviation) - 1.0).abs() < 0.05, "{sigma}: {squares}");
            }
        }
        // Without deviation every gap is the mean; the longest mean does not run over.
        let mut stream = Stream::new(7, "lognormal gaps", 1);
        assert_eq!(stream.lognormal(5 << 32, Fixed::ZERO), Time::from_ps(5));
        let longest = (0..1000).map(|_| stream.lognormal(1 << 89, Fixed::whole(4))).max();
        assert!(longest > Some(Time::from_ps(1 << 57)), "{longest:?}");
    }

    #[test]
    fn samples_are_distinct_and_uniform() {
        let mut counts = [0_u32; 10];
        for i in 0..20_000 {
            let mut sample = Stream::new(3, "sample", i).sample(10, 4);
            counts[sample[0] as usize] += 1;
            sample.sort_unstable();
            sample.dedup();
            assert_eq!(sample.len(), 4);
            assert!(sample.iter().all(|&x| x < 10));
        }
        // Chi-square with 9 degrees of freedom stays below 33.7 with probability 0.9999.
        let chi: f64 = counts.iter().map(|&c| (f64::from(c) - 2000.0).powi(2) / 2000.0).sum();
        assert!(chi < 33.7, "{chi}");
        assert_eq!(Stream::new(3, "all", 0).sample(3, 3).len(), 3);
    }

    #[test]
    fn streams_are_named() {
        let first = |seed, block, index| Stream::new(seed, block, index).next();
        let all = [
            first(1, "a", 0),
            first(2, "a", 0),
            first(1, "b", 0),
            first(1, "a", 1),
            first(1, "a\0", 0),
            first(1, "", 0),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(!all[i + 1..].contains(a));
        }
        // Pinned: every result ever published rests on these values.
        assert_eq!(key(1, "background", 0), 0xf2ec_a8e0_9ef7_64e7);
        assert_eq!(first(1, "background", 0), 0x4ef2_2357_2bc5_19bd);
    }
}
