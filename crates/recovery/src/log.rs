//! The records that a sender keeps of packets in flight.

/// The record of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentPacket {
    /// Time at which it was last sent. (ps)
    pub sent: u64,
    /// The tag of the congestion control (`CongestionControl::tag` of `incast_cc`).
    pub tag: u32,
    /// Bytes in flight when it was sent, itself included.
    pub inflight: u32,
}

/// The records of the packets in flight, by their number: a ring that grows to the largest flight.
#[derive(Debug)]
pub struct Log<T = SentPacket> {
    ring: Vec<T>,
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self { ring: Vec::new() }
    }
}

impl<T: Copy + Default> Log<T> {
    /// The smallest ring.
    const LEAST: usize = 16;

    /// Writes the record of packet `number`; records from packet `oldest` on are kept.
    #[inline(always)]
    pub fn write(&mut self, oldest: u64, number: u64, record: T) {
        if number - oldest >= self.ring.len() as u64 {
            self.grow(oldest, number);
        }
        let place = number as usize & (self.ring.len() - 1);
        self.ring[place] = record;
    }

    /// The record of packet `number`, which must lie between the oldest one kept and the last one written.
    #[inline(always)]
    pub fn read(&self, number: u64) -> Option<T> {
        let place = number as usize & self.ring.len().wrapping_sub(1);
        self.ring.get(place).copied()
    }

    /// The record of such a packet, to change it.
    #[inline]
    pub fn entry(&mut self, number: u64) -> Option<&mut T> {
        let place = number as usize & self.ring.len().wrapping_sub(1);
        self.ring.get_mut(place)
    }

    #[cold]
    fn grow(&mut self, oldest: u64, number: u64) {
        let size = ((number - oldest + 1) as usize).next_power_of_two().max(Self::LEAST);
        let mut larger = vec![T::default(); size];
        if !self.ring.is_empty() {
            let first = number.saturating_sub(self.ring.len() as u64).max(oldest);
            for kept in first..number {
                larger[kept as usize & (size - 1)] = self.ring[kept as usize & (self.ring.len() - 1)];
            }
        }
        self.ring = larger;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::draw;

    #[test]
    fn records_are_found_again_while_in_flight() {
        let mut log: Log = Log::default();
        assert_eq!(log.read(0), None);
        let (mut oldest, mut next) = (0_u64, 0_u64);
        for step in 0..2000_u64 {
            for _ in 0..draw(1, step) % 40 {
                log.write(oldest, next, SentPacket { sent: 7 * next, tag: next as u32, inflight: 1 });
                next += 1;
            }
            for number in oldest..next {
                assert_eq!(log.read(number).map(|r| r.sent), Some(7 * number));
            }
            oldest = next.min(oldest + draw(2, step) % 41);
        }
    }
}
