//! ECN: which packets a port marks.

use incast_net::describe::switch::Ecn;
use incast_units::{Bytes, Rate};

/// The RED curve at one port's rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marking {
    kmin: u64,
    kmax: u64,
    /// Probability at `kmax`, out of 2^32.
    pmax: u64,
}

impl Marking {
    pub(crate) fn new(ecn: &Ecn, rate: Rate) -> Self {
        let scale = |k: Bytes| match ecn.reference {
            Some(reference) => k.times_ratio(rate.bps(), reference.bps()).get(),
            None => k.get(),
        };
        let pmax = u64::try_from(ecn.pmax.bits()).unwrap_or(0);
        Self { kmin: scale(ecn.kmin), kmax: scale(ecn.kmax), pmax }
    }

    /// Returns whether to mark a packet whose queue has `length` bytes, the packet not counted. `draw` is
    /// uniform.
    #[inline]
    pub(crate) fn marks(&self, length: u64, draw: impl FnOnce() -> u64) -> bool {
        if length <= self.kmin {
            return false;
        }
        if length >= self.kmax {
            return true;
        }
        // P = pmax (length - kmin) / (kmax - kmin), out of 2^32.
        let probability =
            u128::from(self.pmax) * u128::from(length - self.kmin) / u128::from(self.kmax - self.kmin);
        u128::from(draw() >> 32) < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_cc::Fixed;
    use incast_net::describe::switch::MarkingPoint;
    use incast_net::random::draw;

    #[test]
    fn marks_follow_the_red_curve() {
        let ecn = Ecn {
            kmin: Bytes::new(400_000),
            kmax: Bytes::new(1_600_000),
            pmax: Fixed::ratio(1, 5),
            reference: Some(Rate::from_gbps(100)),
            at: MarkingPoint::Dequeue,
        };
        let marking = Marking::new(&ecn, Rate::from_gbps(400));
        assert_eq!((marking.kmin, marking.kmax), (1_600_000, 6_400_000));
        let share = |length| (0..100_000).filter(|i| marking.marks(length, || draw(3, *i))).count();
        assert_eq!(share(1_600_000), 0);
        assert_eq!(share(6_400_000), 100_000);
        // Half way up the curve P = 0.1: mean 10_000, standard deviation 95; five of them.
        assert!((9_525..=10_475).contains(&share(4_000_000)), "{}", share(4_000_000));
    }
}
