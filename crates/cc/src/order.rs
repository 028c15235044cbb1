//! Order statistics of the last samples of a signal, which the median-based algorithms share ("Congestion Control for
//! Spraying with Congested Paths", section III): the median, or another percentile, of the last H samples, where H
//! may be another number at each sample.
//!
//! The samples are kept twice: in a ring, by arrival, and as a list of places in the ring, by size. A sample that
//! comes while one goes moves the part of the list between the places of both; several that go at once are taken
//! from the list in one pass. So the answer is exact, and reading it costs one access.
//!
//! Delays are kept in steps of 64 ps, rounded down, up to 2^32 − 1 of them (275 ms; a longer one counts as that). As
//! rounding down keeps the order, the answer is the order statistic of the delays themselves, rounded down: no
//! decision is made on another sample.

use incast_units::Time;

use crate::relative::{Origin, See};

/// A sample of a signal as a whole number, in the order of what it says: a delay in steps of 64 ps, rounded down, or a
/// share of marked packets in steps of 2^-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Sample(u32);

impl Sample {
    /// The sample that no other is below.
    pub const LEAST: Self = Self(0);

    /// A delay; one of 2^32 steps (275 ms) or more counts as one step less.
    #[must_use]
    pub fn delay(delay: Time) -> Self {
        Self(u32::try_from(delay.ps() >> STEP).unwrap_or(u32::MAX))
    }

    /// The delay that it is.
    #[must_use]
    pub const fn time(self) -> Time {
        Time::from_ps((self.0 as u64) << STEP)
    }

    /// The share of `marked` packets among `packets`, at most 1.
    #[must_use]
    pub fn share(marked: u32, packets: u32) -> Self {
        Self(((u64::from(marked.min(packets)) << 16) / u64::from(packets.max(1))) as u32)
    }

    /// The number of marked packets among `packets` with this share, rounded up: of as many packets as it was made
    /// of, up to 65,536, the number that it was made of.
    #[must_use]
    pub const fn of(self, packets: u32) -> u32 {
        (self.0 as u64 * packets as u64).div_ceil(1 << 16) as u32
    }
}

/// The order statistic of up to `N` samples, a power of two. Size: 10 bytes for each, and 16.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Order<const N: usize> {
    /// Time at which the latest sample came.
    latest: Time,
    /// The place of the oldest in the ring.
    oldest: u16,
    /// Number of samples.
    count: u16,
    /// The ring.
    samples: [Sample; N],
    /// Times at which they came, in steps modulo 2^32.
    times: [u32; N],
    /// Their places in the ring, by size; of equal ones by arrival.
    ranks: [u16; N],
}

/// Returns the average of RTTs with the weight 1/8 of the latest (RFC 6298).
pub(crate) fn smoothed(average: Time, latest: Time) -> Time {
    average - average.times_ratio(1, 8) + latest.times_ratio(1, 8)
}

/// A step of 2^6 ps.
const STEP: u32 = 6;

/// The largest limit of the age: an older sample cannot be distinguished from one that is 2^32 steps younger.
const OLDEST: u64 = 1 << 30;

impl<const N: usize> Order<N> {
    const LAST: usize = {
        assert!(N.is_power_of_two() && N <= 1 << 15);
        N - 1
    };

    /// Without samples.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            latest: Time::ZERO,
            oldest: 0,
            count: 0,
            samples: [Sample::LEAST; N],
            times: [0; N],
            ranks: [0; N],
        }
    }

    /// Forgets all samples.
    pub fn clear(&mut self) {
        (self.latest, self.oldest, self.count) = (Time::ZERO, 0, 0);
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn count(&self) -> usize {
        usize::from(self.count).min(N)
    }

    /// Adds the sample `sample`, taken at `now`, and drops the oldest samples beyond `most` (clamped to 1..=`N`) and
    /// those older than `age` ([`Time::NEVER`], or a limit of more than 68 ms: no limit).
    pub fn push(&mut self, sample: Sample, now: Time, most: u64, age: Time) {
        let before = self.count();
        let leaving = self.leaving(before + 1, now, most, age);
        let (before, leaving) = (self.any(before), self.any(leaving));
        self.latest = now;
        let hole = match leaving {
            0 => before,
            1 => self.rank_of_oldest(before),
            _ => self.leave(before, leaving),
        };
        let kept = self.any(before - leaving);
        let oldest = (usize::from(self.oldest) + leaving) & Self::LAST;
        let place = (oldest + kept) & Self::LAST;
        self.oldest = oldest as u16;
        self.count = kept as u16 + 1;
        self.samples[place] = sample;
        self.times[place] = (now.ps() >> STEP) as u32;
        self.insert(hole, place, sample);
    }

    /// Drops what [`push`](Self::push) would drop, without a sample: the oldest beyond `most` and those older than `age`.
    pub fn drop_old(&mut self, now: Time, most: u64, age: Time) {
        let before = self.count();
        let leaving = self.leaving(before, now, most, age);
        let (before, leaving) = (self.any(before), self.any(leaving));
        if leaving > 0 {
            let kept = self.leave(before, leaving);
            self.oldest = ((usize::from(self.oldest) + leaving) & Self::LAST) as u16;
            self.count = kept as u16;
        }
    }

    /// Returns the number of samples that go: beyond `most` of `count`, or older than `age`.
    fn leaving(&self, count: usize, now: Time, most: u64, age: Time) -> usize {
        let most = usize::try_from(most).unwrap_or(N).clamp(1, N);
        let leaving = count.saturating_sub(most);
        if age == Time::NEVER { leaving } else { leaving.max(self.aged(now, age)) }
    }

    /// The sample of rank ⌈percent · count / 100⌉, the first at least: the nearest rank. Of an even number the
    /// median is the lower of the two in the middle. `None` without samples.
    #[must_use]
    pub fn percentile(&self, percent: u64) -> Option<Sample> {
        self.percentile_of(percent, 0)
    }

    /// The sample of rank ⌈percent · `of` / 100⌉ of `of` samples, of which those that there are not (yet) count as the least.
    #[must_use]
    pub fn percentile_of(&self, percent: u64, of: u64) -> Option<Sample> {
        let count = self.count() as u64;
        let of = of.max(count);
        let (rank, absent) = ((percent.min(100) * of).div_ceil(100).max(1), of - count);
        match rank.checked_sub(absent + 1) {
            _ if of == 0 => None,
            None => Some(Sample::LEAST),
            Some(rank) => Some(self.sample(rank as usize)),
        }
    }

    /// The sample of this rank, counted from 0.
    #[inline]
    fn sample(&self, rank: usize) -> Sample {
        self.samples[usize::from(self.ranks[rank & Self::LAST]) & Self::LAST]
    }

    /// Returns the number unchanged, which is at most `N`. The kernel's verifier, which follows every number
    /// that a loop can end with, takes it for any from here on: it then checks the code that follows once,
    /// and not once for each of `N` ends.
    #[inline]
    fn any(&self, number: usize) -> usize {
        if cfg!(target_arch = "bpf") {
            let other = usize::from(self.oldest) & Self::LAST;
            (core::hint::black_box(number ^ other) ^ other) & (2 * N - 1)
        } else {
            number
        }
    }

    /// Returns the number of samples older than `age`.
    fn aged(&self, now: Time, age: Time) -> usize {
        let age = (age.ps() >> STEP).min(OLDEST);
        if (now - self.latest).ps() >> STEP > age {
            return self.count();
        }
        // None was older than the largest limit when the latest came, and so none is twice as old now.
        let clock = (now.ps() >> STEP) as u32;
        let mut aged = 0;
        for _ in 0..N {
            let time = self.times[(usize::from(self.oldest) + aged) & Self::LAST];
            if aged == self.count() || u64::from(clock.wrapping_sub(time)) <= age {
                break;
            }
            aged += 1;
        }
        self.any(aged)
    }

    /// Returns the rank of the oldest of `count` samples: the lowest rank of its size, as it came before its equals.
    fn rank_of_oldest(&self, count: usize) -> usize {
        let sample = self.samples[usize::from(self.oldest) & Self::LAST];
        let mut below = 0;
        for bit in (0..N.trailing_zeros()).rev() {
            let more = below + (1 << bit);
            if more < count && self.sample(more - 1) < sample {
                below = more;
            }
        }
        self.any(below)
    }

    /// Takes the `leaving` oldest of `count` from the list. Returns how many are left.
    fn leave(&mut self, count: usize, leaving: usize) -> usize {
        let mut left = 0;
        for rank in 0..N {
            if rank == count {
                break;
            }
            let place = self.ranks[rank];
            if (usize::from(place) + N - (usize::from(self.oldest) & Self::LAST)) & Self::LAST >= leaving {
                self.ranks[left & Self::LAST] = place;
                left = self.any(left + 1);
            }
        }
        left
    }

    /// Puts the sample at `place` into the list, which has a hole at the rank `hole`.
    fn insert(&mut self, mut hole: usize, place: usize, sample: Sample) {
        for _ in 0..N {
            if hole == 0 || self.sample(hole - 1) <= sample {
                break;
            }
            self.ranks[hole & Self::LAST] = self.ranks[(hole - 1) & Self::LAST];
            hole = self.any(hole - 1);
        }
        hole = self.any(hole);
        for _ in 0..N {
            if hole + 1 >= self.count() || self.sample(hole + 1) > sample {
                break;
            }
            self.ranks[hole & Self::LAST] = self.ranks[(hole + 1) & Self::LAST];
            hole = self.any(hole + 1);
        }
        self.ranks[hole & Self::LAST] = place as u16;
    }
}

impl<const N: usize> Default for Order<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl Origin {
    /// The last samples of a signal; `ages`: whether old ones are dropped.
    pub(crate) const fn samples(&self, ages: bool) -> Samples<'_> {
        Samples { origin: self, ages }
    }
}

/// See [`Origin::samples`].
pub(crate) struct Samples<'a> {
    origin: &'a Origin,
    ages: bool,
}

impl Samples<'_> {
    pub(crate) fn note<const N: usize>(self, to: &mut dyn See, name: &'static str, order: &Order<N>) {
        // The list by size follows from the samples, and their places in the ring count only from the oldest on.
        let Order { latest, oldest, count, samples, times, ranks: _ } = order;
        to.see(name, u64::from(*count));
        let now = self.origin.now;
        if self.ages {
            self.origin.instant().note(to, name, latest);
            // Ages are whole steps by a clock that counts steps.
            to.see(name, now.ps() % (1 << STEP));
        }
        for place in (0..order.count()).map(|index| (usize::from(*oldest) + index) & Order::<N>::LAST) {
            to.see(name, u64::from(samples[place].0));
            if self.ages {
                to.see(name, u64::from(((now.ps() >> STEP) as u32).wrapping_sub(times[place])));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::*;

    const ALWAYS: Time = Time::NEVER;

    fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    /// The percentile as a delay.
    fn statistic<const N: usize>(order: &Order<N>, percent: u64) -> Option<Time> {
        order.percentile(percent).map(Sample::time)
    }

    /// Delays in µs, one each µs; the percentile after each.
    fn percentiles<const N: usize>(
        order: &mut Order<N>,
        delays: &[u64],
        most: u64,
        percent: u64,
    ) -> Vec<u64> {
        let at = |(i, delay): (usize, &u64)| {
            order.push(Sample::delay(us(*delay)), us(100 + i as u64), most, ALWAYS);
            // Rounded down by less than 64 ps.
            order.percentile(percent).unwrap().time().ps().div_ceil(1_000_000)
        };
        delays.iter().enumerate().map(at).collect()
    }

    #[test]
    fn size_is_as_documented() {
        assert_eq!((size_of::<Order<512>>(), size_of::<Order<4>>()), (5136, 56));
    }

    #[test]
    fn the_last_five_by_hand() {
        // Sorted from the fifth on: 10 11 12 30 40 · 11 12 13 30 40 · 9 11 12 13 40 · 9 11 13 40 50. The 10th
        // percentile of five is the first, ⌈0.5⌉, and the 90th the fifth, ⌈4.5⌉.
        let delays = [10, 30, 12, 11, 40, 13, 9, 50];
        for (percent, first, later) in [
            (50, [10, 10, 12, 11], [12, 13, 12, 13]),
            (10, [10, 10, 10, 10], [10, 11, 9, 9]),
            (90, [10, 30, 30, 30], [40, 40, 40, 50]),
        ] {
            let mut order = Order::<8>::new();
            assert_eq!(order.percentile(percent), None);
            let all = percentiles(&mut order, &delays, 5, percent);
            assert_eq!((&all[..4], &all[4..]), (&first[..], &later[..]), "{percent}");
        }
        // Then two: with 50 of before and 9 again the lower is 9.
        let mut order = Order::<8>::new();
        percentiles(&mut order, &delays[..7], 5, 50);
        assert_eq!(percentiles(&mut order, &[50], 2, 50), [9]);
        assert_eq!((order.count(), statistic(&order, 51)), (2, Some(us(50))));
        // More room than samples: those that there are. 9 50 20, and then 9 20 30 50.
        assert_eq!(percentiles(&mut order, &[20, 30], 5, 50), [20, 20]);
    }

    #[test]
    fn of_an_even_number_the_lower_of_the_middle() {
        // Two congested samples of four do not make the median congested; three do.
        let mut order = Order::<4>::new();
        assert_eq!(percentiles(&mut order, &[19, 10, 19, 10, 19, 19], 4, 50), [19, 10, 19, 10, 10, 19]);
        // With 0 the rank is still the first, above 100 the last.
        assert_eq!(
            (order.percentile(0), order.percentile(1000)),
            (order.percentile(1), order.percentile(100))
        );
    }

    /// Against a sort of the last samples, with another number of them at each step.
    fn is_exact<const N: usize>(seed: u64, largest: u64, range: u64) {
        let mut x = seed;
        let mut random = |below: u64| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 33) % below
        };
        let (mut order, mut all, mut kept) = (Order::<N>::new(), Vec::new(), 0);
        let mut most = 1 + random(largest);
        let mut sizes = [0_u32; 3];
        for step in 0..4000_u64 {
            most = match random(8) {
                0 => 1 + random(largest),
                1..4 => most + 1,
                4 => most.saturating_sub(1),
                _ => most,
            };
            let delay = random(range) * 40;
            all.push(delay);
            let before = kept;
            kept = (kept + 1).min(most.clamp(1, N as u64) as usize);
            sizes[usize::from(before + 1 > kept) + usize::from(before > kept)] += 1;
            order.push(Sample::delay(Time::from_ps(delay)), us(step), most, ALWAYS);
            let mut last: Vec<u64> =
                all[all.len() - kept..].iter().map(|delay| delay >> STEP << STEP).collect();
            last.sort_unstable();
            assert_eq!(order.count(), kept);
            for percent in [1, 10, 25, 50, 75, 90, 99, 100, random(100)] {
                let rank = (percent as usize * kept).div_ceil(100).max(1);
                assert_eq!(
                    statistic(&order, percent),
                    Some(Time::from_ps(last[rank - 1])),
                    "{step} {percent}"
                );
            }
        }
        // Growing, of the same size, shrinking by more than one.
        assert!(sizes.iter().all(|n| *n > 10) || N < 4, "{sizes:?}");
    }

    #[test]
    fn equals_a_sort_whatever_the_number_of_samples_does() {
        for seed in 0..8 {
            // Few distinct delays, so that many are equal, and many.
            for range in [3, 40, 1 << 30] {
                is_exact::<64>(seed, 20, range);
                is_exact::<64>(seed, 200, range);
                is_exact::<16>(seed, 17, range);
                is_exact::<1>(seed, 3, range);
                is_exact::<4>(seed, 6, range);
            }
        }
        is_exact::<512>(99, 600, 1000);
    }

    #[test]
    fn a_limit_of_the_age_drops_the_old_ones() {
        // Samples of 1, 2, 3 … µs at 100, 101, 102 … µs, at most 3 µs old: the last four.
        let mut order = Order::<16>::new();
        for i in 1..=8 {
            order.push(Sample::delay(us(i)), us(99 + i), 16, us(3));
            assert_eq!(order.count() as u64, i.min(4));
        }
        assert_eq!((statistic(&order, 1), statistic(&order, 100)), (Some(us(5)), Some(us(8))));
        // Just as old as the limit is not above it: 104 is 6 µs ago.
        order.push(Sample::delay(us(1)), us(110), 16, us(6));
        assert_eq!((order.count(), statistic(&order, 100)), (5, Some(us(8))));
        // A pause after which all are old, also one that the 32 bits cannot tell from none (2^38 ps).
        for pause in [us(7), Time::from_ps(1 << 38), Time::from_ps((1 << 38) + 64), Time::from_s(1000)] {
            let mut order = order;
            order.push(Sample::delay(us(2)), us(110) + pause, 16, us(6));
            assert_eq!((order.count(), statistic(&order, 50)), (1, Some(us(2))));
        }
        // Across the wrap of the 32 bits ages are right.
        let wrap = Time::from_ps((1 << 38) - 2_000_000);
        let mut order = Order::<16>::new();
        for i in 1..=8 {
            order.push(Sample::delay(us(i)), wrap + us(i), 16, us(3));
            assert_eq!(order.count() as u64, i.min(4), "{i}");
        }
        // The largest limit, 2^30 steps: a sample of that age stays, one step older goes.
        let most = Time::from_ps(1 << 36);
        let mut order = Order::<16>::new();
        order.push(Sample::delay(us(1)), Time::ZERO, 16, Time::from_s(1));
        order.push(Sample::delay(us(2)), most, 16, Time::from_s(1));
        assert_eq!(order.count(), 2);
        order.push(Sample::delay(us(3)), most + Time::from_ps(64), 16, Time::from_s(1));
        assert_eq!(order.count(), 2);
        // Equal samples of which the oldest go: those that stay are the later ones.
        let mut order = Order::<16>::new();
        (0..6).for_each(|i| order.push(Sample::delay(us(5)), us(i), 16, us(2)));
        assert_eq!(order.count(), 3);
    }

    #[test]
    fn long_delays_saturate_and_all_is_rounded_down() {
        let mut order = Order::<2>::new();
        order.push(Sample::delay(Time::from_s(3)), us(1), 2, ALWAYS);
        assert_eq!(statistic(&order, 50), Some(Time::from_ps(u64::from(u32::MAX) << 6)));
        order.push(Sample::delay(Time::from_ps(127)), us(2), 2, ALWAYS);
        assert_eq!(statistic(&order, 50), Some(Time::from_ps(64)));
        order.push(Sample::delay(Time::NEVER), Time::NEVER, u64::MAX, Time::ZERO);
        assert_eq!(order.count(), 1);
        order.push(Sample::delay(us(1)), Time::NEVER, 0, ALWAYS);
        assert_eq!((order.count(), statistic(&order, 50)), (1, Some(us(1))));
    }

    #[test]
    fn samples_that_there_are_not_count_as_the_least_by_hand() {
        // 30 and 20 us of five: 0 0 0 20 30, the third is the least. The fourth of four in five: 0 20 30 30 40: 30.
        let mut order = Order::<8>::new();
        assert_eq!((order.percentile_of(50, 0), order.percentile_of(50, 5)), (None, Some(Sample::LEAST)));
        percentiles(&mut order, &[30, 20], 5, 50);
        assert_eq!(order.percentile_of(50, 5), Some(Sample::LEAST));
        assert_eq!(order.percentile_of(80, 5), Some(Sample::delay(us(20))));
        percentiles(&mut order, &[30, 40], 5, 50);
        assert_eq!(order.percentile_of(50, 5), Some(Sample::delay(us(30))));
        // No fewer than there are.
        assert_eq!(order.percentile_of(50, 1), order.percentile(50));
    }

    #[test]
    fn old_samples_go_without_a_new_one_too() {
        // Of 10 30 12 11 the last two are 12 11; the one not older than 1 us at 104 is the last, from 103.
        let mut order = Order::<8>::new();
        percentiles(&mut order, &[10, 30, 12, 11], 5, 50);
        order.drop_old(us(104), 4, ALWAYS);
        assert_eq!(order.count(), 4);
        order.drop_old(us(104), 2, ALWAYS);
        assert_eq!(
            (order.count(), statistic(&order, 50), statistic(&order, 100)),
            (2, Some(us(11)), Some(us(12)))
        );
        order.drop_old(us(104), 2, us(1));
        assert_eq!((order.count(), statistic(&order, 100)), (1, Some(us(11))));
        order.drop_old(us(300), 2, us(1));
        assert_eq!((order.count(), order.percentile(50)), (0, None));
        // It is as empty as before: 9, and then 9 20.
        assert_eq!(percentiles(&mut order, &[9, 20], 5, 50), [9, 9]);
    }

    #[test]
    fn shares_of_marked_packets_come_back() {
        for packets in [1, 2, 3, 7, 64, 1000, 65_536] {
            for marked in [0, 1, packets / 3, packets - 1, packets] {
                assert_eq!(Sample::share(marked, packets).of(packets), marked, "{marked}/{packets}");
            }
        }
        // Half of the packets, of three: one and a half, rounded up. More marks than packets are all of them.
        assert_eq!(
            (Sample::share(1, 2).of(3), Sample::share(5, 2).of(4), Sample::share(0, 0).of(9)),
            (2, 4, 0)
        );
        assert!(Sample::LEAST == Sample::share(0, 4) && Sample::share(1, 4) < Sample::share(1, 3));
    }
}
