//! Bit errors: which packets a link corrupts.
//!
//! A packet of n bytes is corrupted with the probability 1 - (1 - p)^(8n) of an error in one of its bits, or with one
//! that does not depend on its size. Without bursts each packet has its own draw. With bursts a direction of a link is in
//! one of two states, as in the model of Gilbert and Elliott with no loss in one and certain loss in the other: a burst
//! ends with each packet with the probability 1 / (its mean length), and begins with the one that gives the rate.

use crate::describe::impairments::ErrorRate;
use crate::random::draw;

/// The errors of one direction of a link.
#[derive(Debug)]
pub struct Corruption {
    rate: ErrorRate,
    /// Stream of its draws.
    stream: u64,
    /// Mean length of a burst in packets, in units of 2^-32; `None`: errors are independent.
    burst: Option<u64>,
    /// Whether the last packet was part of a burst.
    in_burst: bool,
    /// Probabilities in units of 2^-64 of the sizes that have occurred.
    known: Vec<(u16, u64)>,
}

impl Corruption {
    /// The errors of a direction of a link that draws from this stream; bursts have this mean length in packets, in units
    /// of 2^-32.
    #[must_use]
    pub const fn new(rate: ErrorRate, burst: Option<u64>, stream: u64) -> Self {
        Self { rate, stream, burst, in_burst: false, known: Vec::new() }
    }

    /// Returns the probability that a packet of this size is corrupted, in units of 2^-64.
    fn of_size(&mut self, size: u16) -> u64 {
        if let Some((_, known)) = self.known.iter().find(|(of, _)| *of == size) {
            return *known;
        }
        let new = self.rate.of_packet(u64::from(size));
        self.known.push((size, new));
        new
    }

    /// Returns whether packet number `packet` of the direction, which has this size, is corrupted.
    pub fn corrupts(&mut self, packet: u64, size: u16) -> bool {
        let p = self.of_size(size);
        let drawn = draw(self.stream, packet);
        let Some(burst) = self.burst else { return drawn < p };
        // 2^-64 / 2^-32 are units of 2^-32, and the length is at least 2^32 of them.
        let ends = ((1_u128 << 96) / u128::from(burst.max(1 << 32))).min(u128::from(u64::MAX)) as u64;
        let threshold = if self.in_burst {
            ends
        } else {
            // p / (1 - p) / length begins as many bursts as the rate needs.
            let begins = (u128::from(p) * u128::from(ends)) / (u128::from(p.wrapping_neg()).max(1));
            if p == 0 { 0 } else { begins.min(u128::from(u64::MAX)) as u64 }
        };
        self.in_burst ^= drawn < threshold;
        self.in_burst
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::impairments::{Share, any_of, probability};

    fn attos(attos: i64) -> Share {
        Share::of_attos(attos)
    }

    #[test]
    fn probabilities_are_those_of_the_closed_form() {
        // Bit error rates from 1e-15 to 0.1, packets from 1 to 9000 bytes; -expm1(8n ln1p(-p)) has 15 digits. The bound is
        // what the function promises, and half a unit of p for each bit.
        for (of, rate) in
            [(1_000, 1e-15), (1_000_000, 1e-12), (1_000_000_000, 1e-9), (1 << 50, 1.125_899_906_842_624e-3)]
        {
            for size in [1_u16, 64, 1054, 1500, 9000] {
                let bits = f64::from(size) * 8.0;
                let exact = -f64::exp_m1(bits * f64::ln_1p(-rate));
                let found = any_of(probability(attos(of)), 8 * u64::from(size)) as f64 / 2_f64.powi(64);
                let bound = 2.5 * bits * 2_f64.powi(-64) + exact * 1e-13;
                assert!((found - exact).abs() < bound, "{rate} {size}: {found} {exact}");
            }
        }
        // By hand: one bit of two, twice, is three quarters.
        assert_eq!(any_of(1 << 63, 2), 3 << 62);
        assert_eq!((any_of(0, 100), probability(Share::ONE)), (0, u64::MAX));
    }

    #[test]
    fn independent_errors_have_their_rate() {
        // A million packets of 1054 B at 1e-6 a bit: 1 - (1 - 1e-6)^8432 = 0.0083965; the standard deviation of their
        // number is sqrt(n p (1 - p)) = 91. Five of them.
        let mut errors = Corruption::new(ErrorRate::Bit(attos(1_000_000_000_000)), None, 7);
        let n = (0..1_000_000).filter(|packet| errors.corrupts(*packet, 1054)).count() as f64;
        let p = -f64::exp_m1(8432.0 * f64::ln_1p(-1e-6));
        assert!((n - 1e6 * p).abs() < 5.0 * (1e6 * p * (1.0 - p)).sqrt(), "{n}");
    }

    #[test]
    fn bursts_have_their_rate_and_their_mean_length() {
        // One packet in a hundred, in bursts of 4: of two million packets 20,000 in 5,000 bursts. Lengths are geometric
        // with mean 4 and variance 12, so their mean has a standard error of sqrt(12 / 5000) = 0.049; the number of bursts
        // one of about sqrt(5000) = 71. Five of them.
        let burst = Some(4 << 32);
        let mut errors = Corruption::new(ErrorRate::Packet(attos(10_000_000_000_000_000)), burst, 9);
        let (mut lost, mut bursts, mut before) = (0_u32, 0_u32, false);
        for packet in 0..2_000_000 {
            let corrupted = errors.corrupts(packet, 1054);
            lost += u32::from(corrupted);
            bursts += u32::from(corrupted && !before);
            before = corrupted;
        }
        let length = f64::from(lost) / f64::from(bursts);
        assert!((length - 4.0).abs() < 0.25, "{length}");
        assert!(bursts.abs_diff(5000) < 355, "{bursts}");
    }

    #[test]
    fn nothing_and_everything() {
        for burst in [None, Some(3 << 32)] {
            let mut never = Corruption::new(ErrorRate::Packet(Share::ZERO), burst, 1);
            let mut always = Corruption::new(ErrorRate::Packet(Share::ONE), None, 1);
            assert!((0..10_000).all(|packet| !never.corrupts(packet, 64) && always.corrupts(packet, 64)));
        }
    }
}
