//! Sets of the queues of a port.

/// Some of the queues of a port, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSet(u128);

/// Most members of a set.
pub const MAX_MEMBERS: usize = u128::BITS as usize;

impl QueueSet {
    /// Returns the queues 0 to `count` - 1.
    #[must_use]
    pub fn first_of(count: u8) -> Self {
        (0..count).collect()
    }

    /// Returns whether a queue is in the set.
    #[inline]
    pub fn contains(self, queue: u8) -> bool {
        self.0 >> queue & 1 != 0
    }

    /// Adds a queue.
    #[inline]
    pub fn insert(&mut self, queue: u8) {
        self.0 |= 1 << queue;
    }

    /// Removes a queue.
    #[inline]
    pub fn remove(&mut self, queue: u8) {
        self.0 &= !(1 << queue);
    }

    /// Returns whether there is no queue in the set.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the number of queues.
    #[inline]
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Those that are not in `other`.
    #[inline]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Those that are in `other` too.
    #[inline]
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The lowest-numbered one.
    #[inline]
    pub fn first(self) -> Option<u8> {
        (self.0 != 0).then(|| self.0.trailing_zeros() as u8)
    }

    /// The first one after `queue` in cyclic order, `queue` itself last.
    #[inline]
    pub fn after(self, queue: u8) -> Option<u8> {
        let higher = self.0 & (u128::MAX << queue << 1);
        Self(if higher != 0 { higher } else { self.0 }).first()
    }

    /// All of them, from the lowest number.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let queue = rest.first()?;
            rest.remove(queue);
            Some(queue)
        })
    }
}

impl FromIterator<u8> for QueueSet {
    fn from_iter<T: IntoIterator<Item = u8>>(queues: T) -> Self {
        let mut set = Self::default();
        queues.into_iter().for_each(|queue| set.insert(queue));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(queues: &[u8]) -> QueueSet {
        queues.iter().copied().collect()
    }

    #[test]
    fn holds_128_queues_apart() {
        let mut all = set(&[0, 7, 8, 64, 127]);
        assert!(all.contains(8) && all.contains(127) && !all.contains(15) && !all.contains(126));
        all.remove(8);
        assert_eq!(all, set(&[0, 7, 64, 127]));
        assert_eq!(all.without(set(&[0, 64])), set(&[7, 127]));
        assert_eq!(all.within(QueueSet::first_of(65)), set(&[0, 7, 64]));
        assert_eq!(QueueSet::first_of(128).len(), 128);
        assert_eq!(all.iter().collect::<Vec<_>>(), [0, 7, 64, 127]);
        assert_eq!((all.first(), QueueSet::default().first()), (Some(0), None));
    }

    #[test]
    fn the_next_one_is_found_in_a_circle() {
        let some = set(&[2, 5, 127]);
        assert_eq!([0, 2, 5, 126, 127].map(|q| some.after(q)), [2, 5, 127, 127, 2].map(Some));
        assert_eq!(set(&[3]).after(3), Some(3));
        assert_eq!(QueueSet::default().after(3), None);
    }
}
