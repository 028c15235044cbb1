//! ECN: the packets that a port marks.

use incast_cc::Fixed;
use incast_units::{Bytes, Rate};

use crate::describe::switch::Ecn;

/// The RED curve at one port's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marking {
    kmin: u64,
    kmax: u64,
    /// Probability at `kmax`, out of 2^32.
    pmax: u64,
}

impl Marking {
    /// The curve of a port of this rate.
    #[must_use]
    pub fn new(ecn: &Ecn, rate: Rate) -> Self {
        let scale = |k: Bytes| match ecn.reference {
            Some(reference) => k.times_ratio(rate.bps(), reference.bps()).get(),
            None => k.get(),
        };
        let pmax = u64::try_from(ecn.pmax.bits()).unwrap_or(0);
        Self { kmin: scale(ecn.kmin), kmax: scale(ecn.kmax), pmax }
    }

    /// Returns the queue up to which nothing is marked.
    #[must_use]
    pub const fn kmin(&self) -> Bytes {
        Bytes::new(self.kmin)
    }

    /// Returns the queue from which on everything is marked.
    #[must_use]
    pub const fn kmax(&self) -> Bytes {
        Bytes::new(self.kmax)
    }

    /// Returns the probability of a mark just below [`kmax`](Self::kmax).
    #[must_use]
    pub fn pmax(&self) -> Fixed {
        Fixed::from_bits(i64::try_from(self.pmax).unwrap_or(i64::MAX))
    }

    /// Returns whether to mark a packet whose queue has `length` bytes, the packet not counted. `draw` is
    /// uniform.
    #[inline(always)]
    pub fn marks(&self, length: u64, draw: impl FnOnce() -> u64) -> bool {
        length > self.kmin && (length >= self.kmax || self.draws(length, draw()))
    }

    /// Whether it marks at a length between the two, by this draw.
    #[inline(never)]
    fn draws(&self, length: u64, draw: u64) -> bool {
        // P = pmax (length - kmin) / (kmax - kmin), out of 2^32.
        let probability =
            u128::from(self.pmax) * u128::from(length - self.kmin) / u128::from(self.kmax - self.kmin);
        u128::from(draw >> 32) < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::switch::MarkingPoint;
    use crate::random::draw;

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
        assert_eq!(marking.pmax(), ecn.pmax);
        let share = |length| (0..100_000).filter(|i| marking.marks(length, || draw(3, *i))).count();
        assert_eq!(share(1_600_000), 0);
        assert_eq!(share(6_400_000), 100_000);
        // Half way up the curve P = 0.1: mean 10_000, standard deviation 95; five of them.
        assert!((9_525..=10_475).contains(&share(4_000_000)), "{}", share(4_000_000));
    }

    #[test]
    fn without_a_reference_thresholds_hold_at_every_rate() {
        let bytes = Bytes::new;
        let (kmin, kmax, at) = (bytes(3), bytes(3), MarkingPoint::Enqueue);
        let ecn = Ecn { kmin, kmax, pmax: Fixed::ONE, reference: None, at };
        let marking = Marking::new(&ecn, Rate::from_mbps(1));
        assert_eq!((marking.kmin(), marking.kmax()), (bytes(3), bytes(3)));
        // With both alike there is no slope and no draw.
        let marks = |length| marking.marks(length, || unreachable!("a draw"));
        assert_eq!([2, 3, 4].map(marks), [false, false, true]);
    }
}
