//! The packets that come to a node in a window, and their order.

use incast_net::describe::network::PortId;

use super::event::{Event, Rank};

/// The order of what happens at one node in one window, in one integer: the time since the window's start, then whether
/// it ranks before arrivals, is one, or ranks after them, then the port of an arrival.
///
/// Events that are not arrivals are in the order of their queue; a key decides only between them and arrivals. A window
/// is at most 2^40 ps long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u64);

impl Key {
    /// Later than all keys.
    pub(crate) const NEVER: Self = Self(u64::MAX);

    /// No event is before it.
    pub(crate) const LOWEST: Self = Self(0);
    /// The bits of a port, and two of the rank.
    const BELOW: u32 = 18;

    /// The key of an arrival so long after the window's start. (ps)
    #[inline(always)]
    pub(crate) fn of_arrival(since: u64, port: PortId) -> Self {
        Self(since << Self::BELOW | 1 << 16 | u64::from(port))
    }

    /// The key of another event in a window from `start` until before `end` (ps); [`Self::NEVER`] if it is later. A timer
    /// that is set for an instant that has passed comes before everything else.
    #[inline(always)]
    pub(crate) fn of_event(event: Event, start: u64, end: u64) -> Self {
        match event.time() {
            time if time >= end => Self::NEVER,
            time if time < start => Self(0),
            time => Self((time - start) << Self::BELOW | u64::from(event.rank() > Rank::ARRIVAL) << 17),
        }
    }

    /// The time since the window's start. (ps)
    #[inline(always)]
    pub(crate) fn since(self) -> u64 {
        self.0 >> Self::BELOW
    }

    /// The port of an arrival.
    #[inline(always)]
    pub(crate) fn port(self) -> PortId {
        self.0 as PortId
    }
}

/// A packet that arrives in this window: its key, and its place in the pool of rings. An array, so that it is moved as a
/// whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coming([u64; 2]);

impl Coming {
    #[inline(always)]
    pub(crate) fn new(key: Key, place: u32) -> Self {
        Self([key.0, u64::from(place)])
    }

    #[inline(always)]
    pub(crate) fn key(&self) -> Key {
        Key(self.0[0])
    }

    #[inline(always)]
    pub(crate) fn place(&self) -> u32 {
        self.0[1] as u32
    }
}

/// The packets that come to a node in a window. Its memory is kept from visit to visit.
#[derive(Debug, Default)]
pub(crate) struct List {
    /// Room for them, and more.
    slots: Vec<Coming>,
    /// Room for as many.
    spare: Vec<Coming>,
    len: usize,
}

impl List {
    /// Removes all.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Their number.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// All of them.
    #[inline]
    pub(crate) fn as_slice(&self) -> &[Coming] {
        self.slots.get(..self.len).unwrap_or_default()
    }

    /// Room behind them, for `count` or more.
    #[inline(always)]
    pub(crate) fn room(&mut self, count: usize) -> &mut [Coming] {
        if self.slots.len() - self.len < count {
            self.grow(count);
        }
        &mut self.slots[self.len..]
    }

    #[cold]
    fn grow(&mut self, count: usize) {
        self.slots.resize((2 * self.slots.len()).max(self.len + count), Coming::new(Key::NEVER, 0));
        self.spare.resize(self.slots.len(), Coming::new(Key::NEVER, 0));
    }

    /// Adds this many, which have been written to the room behind them.
    #[inline(always)]
    pub(crate) fn add(&mut self, count: usize) {
        self.len += count;
    }
}

/// Lists up to this length are sorted by insertion.
const SHORT: usize = 12;
/// Lists up to these lengths are sorted with this many buckets.
const MEDIUM: usize = 96;
const FEW: usize = 32;
const LONG: usize = 1024;
const SOME: usize = 128;
/// Longer ones with as many as this: when a thousand senders begin at once, tens of thousands of packets come.
const MANY: usize = 4096;
/// Steps of insertion for each packet beyond which the library sorts the rest.
const PATIENCE: usize = 8;

/// Sorts the packets that come to one node, the last of which has the key `highest`. Each port has its packets in order
/// already.
///
/// Arrivals are spread over the window about evenly, and so over buckets; within a bucket few have to change places,
/// also if many arrive at one instant, port by port.
pub(crate) fn sort(coming: &mut List, highest: Key) {
    if coming.len <= SHORT {
        insert(&mut coming.slots[..coming.len]);
    } else if coming.len <= MEDIUM {
        sort_by_buckets::<FEW>(coming, highest);
    } else if coming.len <= LONG {
        sort_by_buckets::<SOME>(coming, highest);
    } else {
        sort_by_buckets::<MANY>(coming, highest);
    }
}

#[inline(never)]
fn sort_by_buckets<const N: usize>(coming: &mut List, highest: Key) {
    let List { slots, spare, len } = coming;
    let shift = (u64::BITS - highest.0.leading_zeros()).saturating_sub(N.trailing_zeros());
    let bucket = |coming: &Coming| (coming.key().0 >> shift) as usize % N;
    let mut ends = [0_u32; N];
    for each in &slots[..*len] {
        ends[bucket(each)] += 1;
    }
    let mut sum = 0;
    for end in &mut ends {
        // Where the bucket begins; it becomes its end as packets are put there.
        sum += std::mem::replace(end, sum);
    }
    for each in &slots[..*len] {
        let end = &mut ends[bucket(each)];
        if let Some(slot) = spare.get_mut(*end as usize) {
            *slot = *each;
        }
        *end += 1;
    }
    std::mem::swap(slots, spare);
    insert(&mut slots[..*len]);
}

/// Sorts a list in which every packet is near its place. Packets with the same key stay in their order.
#[inline]
fn insert(coming: &mut [Coming]) {
    let mut steps = PATIENCE * coming.len();
    let mut highest = Key::LOWEST;
    for end in 0..coming.len() {
        let each = coming[end];
        if each.key() >= highest {
            highest = each.key();
            continue;
        }
        let mut at = end;
        while at > 0 && coming[at - 1].key() > each.key() {
            coming[at] = coming[at - 1];
            at -= 1;
        }
        coming[at] = each;
        match steps.checked_sub(end - at) {
            Some(left) => steps = left,
            None => return coming.sort_by_key(Coming::key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_net::random::draw;

    #[test]
    fn keys_have_the_order_of_events() {
        let (start, end) = (1_000, 9_000);
        let arrival = |time, port| {
            (Event::new(time, Rank::ARRIVAL, u32::from(port)), Key::of_arrival(time - start, port))
        };
        let other = |time, rank| {
            let event = Event::new(time, Rank(rank), 7);
            (event, Key::of_event(event, start, end))
        };
        let mut all = vec![other(8_999, 255), other(999, 255), other(2_000, 127), other(2_000, 129)];
        all.extend([arrival(1_000, 0), arrival(2_000, 5), arrival(2_000, PortId::MAX), arrival(8_999, 1)]);
        for (one, key_of_one) in &all {
            for (two, key_of_two) in &all {
                assert_eq!(one.cmp(two), key_of_one.cmp(key_of_two), "{one:?} {two:?}");
            }
        }
        assert_eq!(other(9_000, 0).1, Key::NEVER);
        let key = Key::of_arrival((1 << 40) - 1, PortId::MAX);
        assert!(key < Key::NEVER);
        assert_eq!((key.since(), key.port()), ((1 << 40) - 1, PortId::MAX));
    }

    #[test]
    fn lists_of_every_length_and_spread_are_sorted_as_the_library_sorts_them() {
        let mut list = List::default();
        for length in (0..400_u64).chain([1_024, 1_025, 30_000]) {
            // All at one instant, close together, over the longest window, and few values.
            for spread in [1, 3, 1_000, 1 << 40] {
                let coming = (0..length).map(|i| {
                    let since = draw(length << 3, i) % spread;
                    Coming::new(Key::of_arrival(since, (draw(spread, i) % 4) as PortId), i as u32)
                });
                let mut expected: Vec<Coming> = coming.collect();
                list.clear();
                for some in expected.chunks(7) {
                    list.room(7)[..some.len()].copy_from_slice(some);
                    list.add(some.len());
                }
                expected.sort_by_key(Coming::key);
                let highest = expected.last().map_or(Key::LOWEST, Coming::key);
                sort(&mut list, highest);
                assert_eq!(list.as_slice(), expected, "{length} in {spread} ps");
            }
        }
    }
}
