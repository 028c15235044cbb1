//! Messages in the order in which they are served.

/// Messages by their keys, of which the least is served first and lies at the end: as long as the key of that one only
/// falls, nothing moves.
#[derive(Debug)]
pub(super) struct Line<K>(Vec<K>);

impl<K> Default for Line<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord + Copy> Line<K> {
    /// The place of a key; if it is not here, where it would be.
    fn find(&self, key: K) -> Result<usize, usize> {
        match self.0.last() {
            Some(last) if *last == key => Ok(self.0.len() - 1),
            Some(last) if *last > key => Err(self.0.len()),
            _ => self.0.binary_search_by(|each| key.cmp(each)),
        }
    }

    /// Replaces a key by another, where either may be none. A key that is not here is none, too.
    pub(super) fn replace(&mut self, before: Option<K>, after: Option<K>) {
        if let Some(Ok(at)) = before.map(|before| self.find(before)) {
            if let Some(after) = after
                && self.0[..at].last().is_none_or(|more| *more > after)
                && self.0.get(at + 1).is_none_or(|less| *less < after)
            {
                self.0[at] = after;
                return;
            }
            self.0.remove(at);
        }
        if let Some(after) = after
            && let Err(at) = self.find(after)
        {
            self.0.insert(at, after);
        }
    }

    /// All keys, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &K> {
        self.0.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use incast_net::random::draw;

    use super::*;

    #[test]
    fn it_is_ordered_as_a_set_of_the_library_is() {
        let (mut line, mut set) = (Line::default(), BTreeSet::new());
        for step in 0..20_000 {
            let key = |stream| (draw(stream, step) % 60, draw(stream, step) % 7);
            // Often the first one, and with a lower key.
            let first = set.first().copied();
            let before = match draw(1, step) % 4 {
                0 => None,
                1 => Some(key(2)),
                _ => first,
            };
            let after = match draw(3, step) % 4 {
                0 => None,
                1 => before.map(|(more, less): (u64, u64)| (more.saturating_sub(1), less)),
                _ => Some(key(4)),
            };
            line.replace(before, after);
            before.map(|before| set.remove(&before));
            set.extend(after);
            assert!(line.iter().eq(&set), "{step}");
        }
        assert!(set.len() > 5, "{set:?}");
    }
}
