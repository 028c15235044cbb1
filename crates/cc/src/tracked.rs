//! A base RTT that an algorithm takes from its own measurements: the smallest round-trip time.
//!
//! A smallest time that is kept for ever lets one wrong sample decide the rest of a flow's life. So it can be forgotten
//! after 12 to 24 base RTTs of the path, unless it is seen again. It is never below an eighth of the path's base
//! RTT, nor above it.

use incast_units::Time;

use crate::contract::Path;
use crate::relative::{Origin, See};

/// Base RTTs of the path after which a span ends.
const SPAN: u64 = 12;
/// The path's base RTT over the smallest one that is believed.
const MOST: u64 = 8;

/// The smallest RTT of this span of 12 base RTTs and the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct TrackedRtt {
    /// The smallest of this span.
    least: Time,
    /// The smallest of the span before.
    earlier: Time,
    /// Start of this span.
    since: Time,
}

impl TrackedRtt {
    /// Starts with the base RTT of the path.
    pub(crate) const fn new(path: &Path, now: Time) -> Self {
        Self { least: path.base_rtt, earlier: path.base_rtt, since: now }
    }

    /// Takes an RTT into account; zero, as a hold time as long as the RTT makes it, is none. Whoever does not `forget`
    /// has one span.
    pub(crate) fn see(&mut self, path: &Path, now: Time, rtt: Time, forget: bool) {
        if rtt == Time::ZERO {
            return;
        }
        let (base, elapsed) = (path.base_rtt, now - self.since);
        if forget && elapsed >= base.times(SPAN) {
            self.earlier = if elapsed >= base.times(2 * SPAN) { base } else { self.least };
            (self.least, self.since) = (base, now);
        }
        self.least = self.least.min(rtt.max(Time::from_ps(base.ps() / MOST)));
    }

    /// The smallest RTT of both spans.
    pub(crate) fn get(&self) -> Time {
        self.least.min(self.earlier)
    }
}

impl Origin {
    /// A base RTT that is tracked on this path.
    pub(crate) const fn path<'a>(&'a self, path: &'a Path) -> OfPath<'a> {
        OfPath(self, path)
    }
}

/// See [`Origin::path`].
pub(crate) struct OfPath<'a>(&'a Origin, &'a Path);

impl OfPath<'_> {
    pub(crate) fn note(self, to: &mut dyn See, name: &'static str, rtt: &TrackedRtt) {
        let (Self(origin, path), TrackedRtt { least, earlier, since }) = (self, rtt);
        origin.value().note(to, name, least);
        origin.value().note(to, name, earlier);
        // After two spans both are forgotten; who does not forget reads no time.
        origin.since(path.base_rtt.times(2 * SPAN)).note(to, name, since);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PATH, us};

    #[test]
    fn a_smallest_time_counts_for_one_to_two_spans() {
        // Spans of 12 · 12 us = 144 us, from 0, 144 us, …
        let mut rtt = TrackedRtt::new(&PATH, Time::ZERO);
        assert_eq!(rtt.get(), us(12));
        for (now, sample, expected) in [
            (20, 13, 12),
            (30, 6, 6),
            (143, 20, 6),
            // The second span begins; the first one's smallest still counts.
            (144, 9, 6),
            (287, 20, 6),
            // The third: that of the second.
            (288, 11, 9),
            (400, 7, 7),
            // More than a span without a sample: the last one's smallest is too old.
            (288 + 2 * 144, 15, 12),
        ] {
            rtt.see(&PATH, us(now), us(sample), true);
            assert_eq!(rtt.get(), us(expected), "at {now} us");
        }
    }

    #[test]
    fn a_smallest_time_may_count_for_ever() {
        let mut rtt = TrackedRtt::new(&PATH, Time::ZERO);
        for (now, sample) in [(30, 6), (144, 9), (1000, 20), (5000, 15)] {
            rtt.see(&PATH, us(now), us(sample), false);
            assert_eq!(rtt.get(), us(6), "at {now} us");
        }
    }

    #[test]
    fn no_time_is_believed_that_is_below_an_eighth_of_the_base_rtt() {
        let mut rtt = TrackedRtt::new(&PATH, Time::ZERO);
        rtt.see(&PATH, us(1), Time::ZERO, true);
        assert_eq!(rtt.get(), us(12));
        rtt.see(&PATH, us(2), Time::from_ps(1), true);
        assert_eq!(rtt.get(), Time::from_ns(1500));
    }
}
