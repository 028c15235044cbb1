//! Pacing: packets leave at the rate of the algorithm, in bursts.
//!
//! A thread that sleeps wakes up 20 to 100 microseconds late, so one packet for each sleep would not reach the
//! rate. Packets of [`BURST`] leave together, and what a late wake-up missed, up to [`CREDIT`], is made up for.

use incast_units::math::mul_div;
use incast_units::{Bytes, Rate};

/// Packets of so much time leave together. (ps)
pub(crate) const BURST: u64 = 50_000_000;
/// At most so much time is made up for. (ps)
pub(crate) const CREDIT: u64 = 1_000_000_000;

/// The schedule of one sender. Times are picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    rate: Rate,
    /// Time at which the next packet is due.
    next: u64,
    /// Packets that are due before this leave now.
    until: u64,
}

impl Pace {
    pub(crate) const fn new(now: u64, rate: Rate) -> Self {
        Self { rate, next: now, until: now }
    }

    /// From now on this rate. What was already sent ahead is paid back at the new rate.
    pub(crate) fn set(&mut self, now: u64, rate: Rate) {
        if rate == self.rate {
            return;
        }
        if self.next > now {
            self.next = now.saturating_add(mul_div(self.next - now, self.rate.bps(), rate.bps()));
        }
        self.rate = rate;
    }

    /// Whether a packet may leave.
    pub(crate) fn is_ready(&mut self, now: u64) -> bool {
        if now >= self.next {
            self.next = self.next.max(now.saturating_sub(CREDIT));
            self.until = now.saturating_add(BURST);
        }
        self.next < self.until
    }

    /// A packet leaves.
    pub(crate) fn on_sent(&mut self, bytes: u64) {
        self.next = self.next.saturating_add(self.rate.time_for(Bytes::new(bytes)).ps());
    }

    /// Returns the time from which a packet may leave.
    pub(crate) const fn due(&self) -> u64 {
        if self.next < self.until { 0 } else { self.next }
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    /// Sends what may be sent; says how many packets of 1250 B.
    fn burst(pace: &mut Pace, now: u64) -> u32 {
        let mut sent = 0;
        while pace.is_ready(now) {
            pace.on_sent(1250);
            sent += 1;
        }
        sent
    }

    #[test]
    fn bursts_keep_the_rate_to_the_packet() {
        // 1 Gbps: 10 us for each packet.
        let mut pace = Pace::new(0, Rate::from_gbps(1));
        let (mut now, mut sent) = (0, 0);
        for _ in 0..1000 {
            let count = burst(&mut pace, now);
            assert_eq!(count, 5);
            sent += count;
            now = pace.due();
        }
        assert_eq!((sent, now), (5000, 50_000 * US));
        // Woken up 400 us late: those packets leave too. After ten seconds only those of a millisecond do.
        assert_eq!(burst(&mut pace, now + 400 * US), 45);
        now = pace.due() + 10_000_000 * US;
        assert_eq!(burst(&mut pace, now), 105);
    }

    #[test]
    fn a_packet_longer_than_a_burst_leaves_alone() {
        // 10 Mbps: 1 ms for each packet.
        let mut pace = Pace::new(0, Rate::from_mbps(10));
        for n in 0..10 {
            assert_eq!((burst(&mut pace, n * 1000 * US), pace.due()), (1, (n + 1) * 1000 * US));
        }
    }

    #[test]
    fn another_rate_counts_at_once() {
        let mut pace = Pace::new(0, Rate::from_mbps(10));
        assert_eq!(burst(&mut pace, 0), 1);
        // Of 1 ms half is over; the other half takes a tenth.
        pace.set(500 * US, Rate::from_mbps(100));
        assert_eq!(pace.due(), 550 * US);
        pace.set(500 * US, Rate::ZERO);
        assert_eq!(pace.due(), u64::MAX);
    }
}
