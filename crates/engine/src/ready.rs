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
                return Self { times, levels };
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

    /// The first node with an event before `end`.
    #[inline]
    pub(crate) fn first(&self, end: u64) -> Option<usize> {
        (self.earliest() < end).then(|| self.descend(self.levels.len() - 1, 0, end))
    }

    /// Sets the time of a node found by [`Self::first`] or by this, and finds the next one with an event
    /// before `end`, in order.
    ///
    /// The minima above a node are brought up to date when the last node below them has been passed.
    /// Until then they are before `end`, so that [`Self::lower`] with a time from `end` on leaves them
    /// alone. The search must therefore be carried through to its end.
    #[inline]
    pub(crate) fn next(&mut self, leaf: usize, time: u64, end: u64) -> Option<usize> {
        self.times[leaf] = time;
        let mut at = leaf;
        for level in 0..self.levels.len() - 1 {
            let group = at / FAN;
            let siblings = &self.times[self.levels[level] + group * FAN..][..FAN];
            for (i, sibling) in siblings.iter().enumerate().skip(at % FAN + 1) {
                if *sibling < end {
                    return Some(self.descend(level, group * FAN + i, end));
                }
            }
            self.times[self.levels[level + 1] + group] = smallest(siblings);
            at = group;
        }
        None
    }

    /// The node that [`Self::next`] will find after this one if it is in the same group; `None` says nothing.
    #[inline]
    pub(crate) fn following(&self, leaf: usize, end: u64) -> Option<usize> {
        let group = leaf / FAN * FAN;
        let siblings = &self.times[group..][..FAN];
        siblings.iter().skip(leaf % FAN + 1).position(|time| *time < end).map(|i| leaf + 1 + i)
    }

    /// The first leaf before `end` below a node that is before `end`.
    #[inline]
    fn descend(&self, level: usize, mut at: usize, end: u64) -> usize {
        for &begin in self.levels[..level].iter().rev() {
            let children = &self.times[begin + at * FAN..][..FAN];
            at = at * FAN + children.iter().position(|t| *t < end).unwrap_or(0);
        }
        at
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
                let mut at = ready.first(end);
                let mut foretold = None;
                while let Some(node) = at {
                    assert!(foretold.is_none_or(|following| following == node));
                    foretold = ready.following(node, end);
                    found.push(node);
                    // The node passes something to another one, after the end of the window.
                    let other = (draw(2, round * 1000 + node as u64) % nodes) as usize;
                    let arrival = end + draw(3, round * 1000 + node as u64) % 500;
                    plain[other] = plain[other].min(arrival);
                    ready.lower(other, arrival);
                    let own =
                        if draw(4, node as u64).is_multiple_of(3) { u64::MAX } else { end + arrival % 300 };
                    plain[node] = own.min(if other == node { arrival } else { u64::MAX });
                    at = ready.next(node, plain[node], end);
                }
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn nothing_is_ready_among_no_nodes() {
        let ready = Ready::new(&[]);
        assert_eq!((ready.earliest(), ready.first(u64::MAX)), (u64::MAX, None));
    }
}
