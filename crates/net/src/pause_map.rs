//! The pause map of backpressure flow control (BFC): which of the far end's queues are paused.

use crate::packet::{Body, IntRecords, Kind, Packet, flag};

/// Bits of a map, and so how many queues of the far end are told apart.
pub const MAP_BITS: u16 = 1024;

/// Size on the wire of a frame with a map: 128 B of bits, and as in the simulator of BFC's authors 6 B for a time
/// and a length, an IPv4 header, and 2 B of link header.
pub const MAP_FRAME: u16 = MAP_BITS / 8 + 6 + 20 + 2;

const WORDS: usize = MAP_BITS as usize / 64;

/// A set of queue numbers below [`MAP_BITS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseMap([u64; WORDS]);

impl PauseMap {
    /// The number by which a map knows a queue.
    #[inline]
    pub const fn number(queue: u32) -> u16 {
        (queue % MAP_BITS as u32) as u16
    }

    /// Returns whether a number is in the set.
    #[inline]
    pub fn contains(&self, number: u16) -> bool {
        self.0[usize::from(number) / 64] >> (number % 64) & 1 != 0
    }

    /// Adds or removes a number.
    #[inline]
    pub fn set(&mut self, number: u16, paused: bool) {
        let (word, bit) = (&mut self.0[usize::from(number) / 64], 1 << (number % 64));
        if paused {
            *word |= bit;
        } else {
            *word &= !bit;
        }
    }

    /// Returns whether no number is in the set.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// The numbers that are in one of the two and not in the other, ascending.
    pub fn changes(&self, other: &Self) -> impl Iterator<Item = u16> {
        let differences = Self(std::array::from_fn(|i| self.0[i] ^ other.0[i]));
        (0..MAP_BITS).filter(move |number| differences.contains(*number))
    }

    /// The frame that carries this map; what its body has no room for is written to `records`.
    pub fn frame(&self, records: &mut IntRecords) -> Packet {
        let (body, rest) = self.0.split_at(Body::WORDS);
        for (record, words) in records.iter_mut().zip(rest.chunks_exact(3)) {
            (record.at, record.transmitted) = (words[0], words[1]);
            (record.queue, record.rate) = (words[2] as u32, (words[2] >> 32) as u32);
        }
        let mut frame = Packet { size: MAP_FRAME, ..Packet::blank(Kind::PauseMap) };
        frame.body = Body::of_words(body);
        if rest.iter().any(|word| *word != 0) {
            frame.flags = flag::INT;
        }
        frame
    }

    /// The map that a frame carries.
    pub fn of(frame: &Packet, records: &IntRecords) -> Self {
        let mut map = Self::default();
        let (body, rest) = map.0.split_at_mut(Body::WORDS);
        body.copy_from_slice(&frame.body.words());
        if frame.is(flag::INT) {
            for (record, words) in records.iter().zip(rest.chunks_exact_mut(3)) {
                words.copy_from_slice(&[
                    record.at,
                    record.transmitted,
                    u64::from(record.rate) << 32 | u64::from(record.queue),
                ]);
            }
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(numbers: &[u16]) -> PauseMap {
        let mut map = PauseMap::default();
        numbers.iter().for_each(|number| map.set(*number, true));
        map
    }

    #[test]
    fn a_frame_carries_every_bit() {
        let mut records = IntRecords::default();
        for number in 0..MAP_BITS {
            let one = map(&[number]);
            let frame = one.frame(&mut records);
            assert_eq!(PauseMap::of(&frame, &records), one);
            // The first 256 need no records.
            assert_eq!(frame.is(flag::INT), number >= 256);
        }
        let all = map(&(0..MAP_BITS).collect::<Vec<_>>());
        assert_eq!(PauseMap::of(&all.frame(&mut records), &records), all);
        // Records of an earlier packet do not matter.
        assert_eq!(PauseMap::of(&map(&[7]).frame(&mut records.clone()), &records), map(&[7]));
        assert_eq!(MAP_FRAME, 156);
    }

    #[test]
    fn changes_are_what_differs() {
        let (a, b) = (map(&[0, 5, 1023]), map(&[5, 64]));
        assert_eq!(a.changes(&b).collect::<Vec<_>>(), [0, 64, 1023]);
        assert_eq!(a.changes(&a).count(), 0);
        assert!(map(&[]).is_empty() && !a.is_empty());
        assert_eq!([0, 1023, 1024, 1030].map(PauseMap::number), [0, 1023, 0, 6]);
    }
}
