//! Comparisons with Swift's target delay.

use incast_units::Time;
use incast_units::math::mul_wide;

use super::SwiftParams;
use crate::Fixed;

/// Tells on which side of the target delay a delay is, mostly without the root and the division of flow scaling.
///
/// With R the range, u the unit and x the delay above the unscaled target, α/√(cwnd/u) + β > x/R is
/// (x - βR)² · cwnd < (αR)² · u. A margin on both sides covers what is rounded; within it nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Sides {
    /// Windows up to this are not judged: 2^-14 of u, or all.
    from: Fixed,
    /// R in picoseconds.
    range: u64,
    /// -βR.
    offset: u64,
    /// 1 ps, and R · 2^-15.
    margin: u64,
    /// (αR)² · u in 2^32 ps² bytes, rounded down,
    low: u64,
    /// and up.
    high: u64,
}

impl Sides {
    pub(super) fn new(params: &SwiftParams, unit: Fixed, (alpha, beta): (Fixed, Fixed)) -> Self {
        let range = params.fs_range.ps();
        let product = alpha.scale(range);
        // Squares fit in 64 bits.
        let fits = range >> 29 == 0 && product >> 31 == 0 && -beta <= Fixed::whole(3) && unit >= Fixed::ONE;
        let judged = fits && !params.whole_packets;
        let times_unit = |x: u64| mul_wide(x.wrapping_mul(x), unit.bits() as u64).0;
        Self {
            from: if judged { Fixed::from_bits((unit.bits() >> 14) + 1) } else { Fixed::MAX },
            range,
            offset: (-beta).scale(range),
            margin: (range >> 15) + 2,
            low: times_unit(product),
            high: times_unit(product.wrapping_add(1)).wrapping_add(1),
        }
    }

    #[inline]
    fn is_judged(&self, cwnd: Fixed, above: Time) -> bool {
        cwnd > self.from && above.ps() < self.range
    }

    /// `distance`² times the window in the unit of `low`, rounded down. (A distance is below 2^32.)
    #[inline]
    fn times_window(distance: u64, cwnd: Fixed) -> u64 {
        mul_wide(distance.wrapping_mul(distance), cwnd.bits() as u64).0
    }

    /// Whether a delay, so much above the unscaled target, is below the target for certain.
    ///
    /// What [`Swift::target_delay`](super::Swift::target_delay) computes is lower than α/√(cwnd/u) + β by at most 2^-32 of R and 1 ps.
    #[inline]
    pub(super) fn is_below(&self, cwnd: Fixed, above: Time) -> bool {
        let distance = above.ps().wrapping_add(self.offset).wrapping_add(self.margin).wrapping_add(1);
        self.is_judged(cwnd, above) && Self::times_window(distance, cwnd) < self.low
    }

    /// Whether it is not below the target for certain.
    ///
    /// From a window of 2^-14 of u on, cwnd/u and its root are rounded down by less than 2^-17.8 of the root, and where
    /// this says yes α/root is at most 4: what is computed is higher by less than 2^-15 of R.
    #[inline]
    pub(super) fn is_above(&self, cwnd: Fixed, above: Time) -> bool {
        let distance = above.ps().wrapping_add(self.offset).saturating_sub(self.margin);
        self.is_judged(cwnd, above) && Self::times_window(distance, cwnd) >= self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{CongestionControl, Setup};
    use crate::params::Presets;
    use crate::swift::Swift;
    use crate::testing::PATH;

    /// Delays of all sizes, and around the target, against the target itself.
    #[test]
    fn what_is_said_of_a_delay_is_so() {
        let mut x = 5_u64;
        let mut below = |n: u64| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 20) % n.max(1)
        };
        let (mut said, mut open) = (0_u32, 0_u32);
        for i in 0..400_000_u32 {
            let presets = SwiftParams::PRESETS;
            let mut params = (presets[i as usize % presets.len()].params)();
            let bits = [below(34), 20 + below(24), 24 + below(39)];
            if i % 3 == 0 {
                params.fs_range = Time::from_ps(below(1 << bits[0]));
                params.fs_min = Fixed::from_bits(below(1 << 34) as i64 + 4295);
                params.fs_max = params.fs_min + Fixed::from_bits(below(1 << bits[1]) as i64);
            }
            let setup = Setup::new(params, PATH);
            let mut flow = Swift::new(&setup, Time::ZERO);
            flow.cwnd = Fixed::from_bits(below(1 << bits[2]) as i64);
            let (sides, least) = (setup.derived.sides, setup.derived.unscaled_target);
            let target = flow.target_delay(&setup) - least;
            for delay in [
                below(params.fs_range.ps() + 2),
                target.ps() + below(9),
                target.ps().saturating_sub(below(9)),
            ]
            .into_iter()
            .chain((0..3).map(|_| (target.ps() + below(20_000)).saturating_sub(10_000)))
            {
                let delay = Time::from_ps(delay);
                let (is_below, is_above) =
                    (sides.is_below(flow.cwnd, delay), sides.is_above(flow.cwnd, delay));
                assert!(!is_below || delay < target, "{params:?} {flow:?} {delay:?} {target:?}");
                assert!(!is_above || delay >= target, "{params:?} {flow:?} {delay:?} {target:?}");
                said += u32::from(is_below || is_above);
                open += u32::from(!is_below && !is_above);
            }
        }
        assert!(said > 200_000 && open > 200_000, "{said} {open}: this test sees too little");
    }

    #[test]
    fn little_is_left_open_in_the_published_range() {
        // 100 us of scaling and a window of 10 packets: the root is needed within some 3 ns of the target.
        let setup = Setup::new(SwiftParams::default(), PATH);
        let mut flow = Swift::new(&setup, Time::ZERO);
        flow.cwnd = Fixed::whole(10 * PATH.packet.get());
        let sides = setup.derived.sides;
        let target = flow.target_delay(&setup) - setup.derived.unscaled_target;
        let far = Time::from_ns(5);
        assert!(sides.is_below(flow.cwnd, target - far) && !sides.is_above(flow.cwnd, target - far));
        assert!(sides.is_above(flow.cwnd, target + far) && !sides.is_below(flow.cwnd, target + far));
        assert!(!sides.is_below(flow.cwnd, target) && !sides.is_above(flow.cwnd, target));
        // Beyond the range nothing is said.
        assert!(!sides.is_above(flow.cwnd, SwiftParams::default().fs_range));
    }
}
