//! Nodes with pending events: a tree of minima over the times of their next events.
//!
//! Finding the earliest time takes constant time. Finding the nodes with events before a given time takes time
//! proportional to their number (and the depth of the tree), not to the number of all nodes: idle parts of a
//! network cost nothing.

/// Children of an inner node: eight times share a cache line.
const FAN: usize = 8;

/// The times of the next events of a number of nodes.
#[derive(Debug)]
pub(crate) struct Ready {
    /// Level by level from the leaves up, each padded to whole groups; the last one is the root alone.
    times: Vec<u64>,
    /// Start of each level.
    levels: Vec<usize>,
    /// Of each level the places that [`Self::find`] has found.
    found: Vec<Vec<u32>>,
}

impl Ready {
    /// The tree over these times. (ps)
    pub(crate) fn new(leaves: &[u64]) -> Self {
        let mut times = leaves.to_vec();
        let mut levels = vec![0];
        loop {
            let begin = levels[levels.len() - 1];
            let groups = (times.len() - begin).div_ceil(FAN).max(1);
            times.resize(begin + groups * FAN, u64::MAX);
            let next = times.len();
            let minimum = |group: usize| smallest(&times[begin + group * FAN..][..FAN]);
            let minima: Vec<u64> = (0..groups).map(minimum).collect();
            times.extend(minima);
            levels.push(next);
            if groups == 1 {
                let found = vec![Vec::new(); levels.len()];
                return Self { times, levels, found };
            }
        }
    }

    /// The earliest time of all. (ps)
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        self.times[self.times.len() - 1]
    }

    /// The time of one node. (ps)
    #[inline]
    pub(crate) fn time(&self, leaf: usize) -> u64 {
        self.times[leaf]
    }

    /// A node has an event at `time`, perhaps earlier than its others.
    #[inline]
    pub(crate) fn lower(&mut self, leaf: usize, time: u64) {
        let mut at = leaf;
        for begin in &self.levels {
            let here = &mut self.times[begin + at];
            if *here <= time {
                return;
            }
            *here = time;
            at /= FAN;
        }
    }

    /// Finds the nodes with an event before `end`, for [`Self::place`] to name in order. Returns their number.
    ///
    /// The minima above them stay as they are until [`Self::finish`]. Until then they are before `end`, so that
    /// [`Self::lower`] with a time from `end` on leaves them alone.
    pub(crate) fn find(&mut self, end: u64) -> usize {
        let Self { times, levels, found } = self;
        let top = found.len() - 1;
        found[top].clear();
        found[top].extend((times[times.len() - 1] < end).then_some(0));
        for level in (0..top).rev() {
            let (here, above) = found.split_at_mut(level + 1);
            let here = &mut here[level];
            here.clear();
            for &group in &above[0] {
                let children = &times[levels[level] + group as usize * FAN..][..FAN];
                let mut ready = 0_u32;
                for (place, time) in children.iter().enumerate() {
                    ready |= u32::from(*time < end) << place;
                }
                while ready != 0 {
                    here.push(group * FAN as u32 + ready.trailing_zeros());
                    ready &= ready - 1;
                }
            }
        }
        found[0].len()
    }

    /// The place of number `index` of the nodes that [`Self::find`] has found.
    #[inline]
    pub(crate) fn place(&self, index: usize) -> Option<usize> {
        self.found[0].get(index).map(|place| *place as usize)
    }

    /// Sets the time of a node that [`Self::find`] has found: not before its `end`.
    #[inline]
    pub(crate) fn set(&mut self, leaf: usize, time: u64) {
        self.times[leaf] = time;
    }

    /// All nodes that were found have their new times: brings the minima above them up to date.
    pub(crate) fn finish(&mut self) {
        let Self { times, levels, found } = self;
        for (level, groups) in found.iter().enumerate().skip(1) {
            for &group in groups {
                let children = &times[levels[level - 1] + group as usize * FAN..][..FAN];
                times[levels[level] + group as usize] = smallest(children);
            }
        }
    }
}

#[inline]
fn smallest(times: &[u64]) -> u64 {
    times.iter().copied().fold(u64::MAX, u64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_net::random::draw;

    #[test]
    fn finds_in_order_every_node_that_a_scan_finds() {
        for nodes in [1, 7, 8, 9, 64, 65, 513, 1000] {
            let mut plain: Vec<u64> = (0..nodes).map(|i| draw(nodes, i) % 1000).collect();
            let mut ready = Ready::new(&plain);
            for round in 0..200 {
                assert_eq!(ready.earliest(), plain.iter().copied().min().unwrap());
                let end = ready.earliest() + draw(1, round) % 200;
                let mut found = Vec::new();
                let expected: Vec<usize> = (0..plain.len()).filter(|i| plain[*i] < end).collect();
                for index in 0..ready.find(end) {
                    let node = ready.place(index).unwrap();
                    found.push(node);
                    // The node passes something to another one, after the end of the window.
                    let other = (draw(2, round * 1000 + node as u64) % nodes) as usize;
                    let arrival = end + draw(3, round * 1000 + node as u64) % 500;
                    plain[other] = plain[other].min(arrival);
                    ready.lower(other, arrival);
                    let own =
                        if draw(4, node as u64).is_multiple_of(3) { u64::MAX } else { end + arrival % 300 };
                    plain[node] = own.min(if other == node { arrival } else { u64::MAX });
                    ready.set(node, plain[node]);
                }
                ready.finish();
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn nothing_is_ready_among_no_nodes() {
        let mut ready = Ready::new(&[]);
        assert_eq!((ready.earliest(), ready.find(u64::MAX), ready.place(0)), (u64::MAX, 0, None));
    }
}
