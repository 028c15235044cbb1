//! Sets of packets of one message.

/// Packet numbers, as ranges `from..to` in order that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    /// Adds the packets `from..to`. Returns how many of them are new.
    pub(super) fn add(&mut self, from: u32, to: u32) -> u32 {
        if from >= to {
            return 0;
        }
        if let Some(last) = self.0.last_mut()
            && last.1 == from
        {
            // The usual case: the next packet in order.
            last.1 = to;
            return to - from;
        }
        let first = self.0.partition_point(|range| range.1 < from);
        let end = self.0.partition_point(|range| range.0 <= to);
        let (mut joined, mut known) = ((from, to), 0);
        for range in &self.0[first..end] {
            known += range.1.min(to).saturating_sub(range.0.max(from));
            joined = (joined.0.min(range.0), joined.1.max(range.1));
        }
        self.0.splice(first..end, [joined]);
        to - from - known
    }

    /// Removes and returns the lowest packet.
    pub(super) fn take_first(&mut self) -> Option<u32> {
        let first = self.0.first_mut()?;
        let packet = first.0;
        first.0 += 1;
        if first.0 == first.1 {
            self.0.remove(0);
        }
        Some(packet)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ranges of packets below `end` that are missing, in order.
    pub(super) fn gaps(&self, end: u32) -> impl Iterator<Item = (u32, u32)> {
        let befores = std::iter::once(0).chain(self.0.iter().map(|range| range.1));
        let afters = self.0.iter().map(|range| range.0).chain([end]);
        befores.zip(afters).map(move |(from, to)| (from, to.min(end))).filter(|(from, to)| from < to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_net::random::draw;

    #[test]
    fn the_same_as_a_plain_set() {
        for case in 0..300 {
            let mut ranges = Ranges::default();
            let mut plain = [false; 40];
            for step in 0..30 {
                let random = draw(case, step);
                let from = (random % 40) as u32;
                let to = (from + (random >> 8) as u32 % 8).min(40);
                let new = plain[from as usize..to as usize].iter().filter(|known| !**known).count();
                plain[from as usize..to as usize].fill(true);
                assert_eq!(ranges.add(from, to), new as u32);
                if (random >> 16).is_multiple_of(3) {
                    let first = plain.iter().position(|known| *known);
                    assert_eq!(ranges.take_first(), first.map(|first| first as u32));
                    first.inspect(|first| plain[*first] = false);
                }
                assert_eq!(ranges.is_empty(), !plain.contains(&true));
                for end in [0, 1, 17, 40] {
                    let missing: Vec<u32> = (0..end).filter(|packet| !plain[*packet as usize]).collect();
                    let told: Vec<u32> = ranges.gaps(end).flat_map(|(from, to)| from..to).collect();
                    assert_eq!(told, missing);
                }
                // They neither overlap nor touch.
                assert!(ranges.0.windows(2).all(|two| two[0].1 < two[1].0));
            }
        }
    }
}
