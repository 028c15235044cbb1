//! The retransmission timeout (RFC 6298). The simulator's hosts have a constant one, because their paths are known;
//! here it follows the round trips that are measured.

/// The shortest timeout. (ns) An idle machine answers in microseconds; a busy one takes a processor away for tens of
/// milliseconds.
const SHORTEST: u64 = 50_000_000;
/// The longest timeout, also after several expiries. (ns)
const LONGEST: u64 = 1_000_000_000;
/// The timeout before the first sample. (ns) RFC 6298 has one second, which is for the Internet.
const INITIAL: u64 = 200_000_000;
/// Maximum number of doublings.
const LARGEST_BACKOFF: u32 = 6;

/// The estimate of one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rto {
    /// Smoothed round trip and its mean deviation; zero before the first sample. (ns)
    smoothed: u64,
    deviation: u64,
    backoff: u32,
}

impl Rto {
    /// A round trip of this many nanoseconds.
    pub(crate) fn sample(&mut self, rtt: u64) {
        // No round trip takes a minute; more would overflow below.
        let rtt = rtt.clamp(1, 60_000_000_000);
        if self.smoothed == 0 {
            (self.smoothed, self.deviation) = (rtt, rtt / 2);
        } else {
            self.deviation = (3 * self.deviation + self.smoothed.abs_diff(rtt)) / 4;
            self.smoothed = (7 * self.smoothed + rtt) / 8;
        }
    }

    /// The timer has expired: the timeout doubles.
    pub(crate) fn expired(&mut self) {
        self.backoff = (self.backoff + 1).min(LARGEST_BACKOFF);
    }

    /// New data was acknowledged: the doublings end.
    pub(crate) fn progress(&mut self) {
        self.backoff = 0;
    }

    /// The timeout. (ns)
    pub(crate) fn timeout(&self) -> u64 {
        let base = if self.smoothed == 0 { INITIAL } else { self.smoothed + 4 * self.deviation };
        (base.clamp(SHORTEST, LONGEST) << self.backoff).min(LONGEST)
    }

    /// The smoothed round trip; zero before the first sample. (ns)
    pub(crate) const fn smoothed(&self) -> u64 {
        self.smoothed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let mut rto = Rto::default();
        assert_eq!(rto.timeout(), 200_000_000);
        // RFC 6298, section 2: SRTT = 40 ms, RTTVAR = 20 ms, RTO = 40 + 4 * 20.
        rto.sample(40_000_000);
        assert_eq!((rto.smoothed(), rto.timeout()), (40_000_000, 120_000_000));
        // RTTVAR = 3/4 * 20 + 1/4 * |40 - 80| = 25, SRTT = 7/8 * 40 + 1/8 * 80 = 45.
        rto.sample(80_000_000);
        assert_eq!((rto.smoothed(), rto.timeout()), (45_000_000, 145_000_000));
        rto.expired();
        rto.expired();
        assert_eq!(rto.timeout(), 580_000_000);
        (0..10).for_each(|_| rto.expired());
        assert_eq!(rto.timeout(), LONGEST);
        rto.progress();
        assert_eq!(rto.timeout(), 145_000_000);
        let mut short = Rto::default();
        (0..99).for_each(|_| short.sample(10_000));
        assert_eq!(short.timeout(), SHORTEST);
    }
}
