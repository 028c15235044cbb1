//! FIFO queues that share their memory.
//!
//! A network has many links, and few are full at the same time. A separate buffer for each would keep its
//! maximum size for ever; queues that allocate small chunks from a common pool and return them use no more
//! memory than the packets in flight need, and a chunk that is reused is likely still in the cache.

use incast_net::describe::network::PortId;
use incast_net::packet::{IntRecords, Packet};

use super::coming::{Coming, Key, List};
use super::prefetch::prefetch;

/// Marks the end of a chain of chunks.
const NONE: u32 = u32::MAX;

/// Chunks of `N` items each, in use by a queue or free.
#[derive(Debug)]
struct Pool<T, const N: usize> {
    /// Chunk after chunk.
    items: Vec<T>,
    /// The successor of each chunk, in its queue or in the chain of free ones.
    next: Vec<u32>,
    free: u32,
}

impl<T, const N: usize> Default for Pool<T, N> {
    fn default() -> Self {
        Self { items: Vec::new(), next: Vec::new(), free: NONE }
    }
}

impl<T: Copy, const N: usize> Pool<T, N> {
    /// The place of a chunk.
    #[inline]
    fn take(&mut self, any: &T) -> u32 {
        let piece = self.free;
        match self.next.get(piece as usize) {
            Some(next) => {
                self.free = *next;
                piece * N as u32
            }
            None => self.grow(any),
        }
    }

    /// The place of a new chunk, filled with whatever is at hand.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, any: &T) -> u32 {
        let place = self.items.len() as u32;
        self.items.extend([*any; N]);
        self.next.push(NONE);
        place
    }

    /// The place after `place`, which is the last one of its chunk.
    #[inline]
    fn after(&self, place: u32) -> u32 {
        self.next[place as usize / N] * N as u32
    }

    /// Frees the chunk of a place.
    #[inline]
    fn give_back(&mut self, place: u32) {
        let piece = place / N as u32;
        self.next[piece as usize] = std::mem::replace(&mut self.free, piece);
    }
}

/// A queue of items in chunks of a pool.
#[derive(Clone, Copy, Debug, Default)]
struct Line<const N: usize> {
    /// The place of the first item; meaningless while the queue is empty.
    head: u32,
    /// The place after the last item. It is a multiple of `N`, where no chunk is at hand, if the last chunk is full or the
    /// queue is empty.
    tail: u32,
    len: u32,
}

impl<const N: usize> Line<N> {
    /// Appends an item. Returns whether it is the only one.
    #[inline(always)]
    fn push<T: Copy>(&mut self, item: &T, pool: &mut Pool<T, N>) -> bool {
        if (self.tail as usize).is_multiple_of(N) {
            self.append_chunk(item, pool);
        }
        pool.items[self.tail as usize] = *item;
        self.tail += 1;
        self.len += 1;
        self.len == 1
    }

    /// Appends a chunk, the place of which is the tail then.
    #[inline(never)]
    fn append_chunk<T: Copy>(&mut self, any: &T, pool: &mut Pool<T, N>) {
        let place = pool.take(any);
        if self.len == 0 {
            self.head = place;
        } else {
            pool.next[(self.tail - 1) as usize / N] = place / N as u32;
        }
        self.tail = place;
    }

    #[inline]
    fn front<'a, T>(&self, pool: &'a Pool<T, N>) -> Option<&'a T> {
        (self.len != 0).then(|| &pool.items[self.head as usize])
    }

    /// Moves the first item to `item`; returns whether there was one.
    #[inline]
    fn pop<T: Copy>(&mut self, item: &mut T, pool: &mut Pool<T, N>) -> bool {
        let Some(first) = self.front(pool) else { return false };
        *item = *first;
        let place = self.head;
        self.head += 1;
        self.len -= 1;
        if self.len == 0 {
            self.tail = 0;
            pool.give_back(place);
        } else if (self.head as usize).is_multiple_of(N) {
            self.head = pool.after(place);
            pool.give_back(place);
        }
        true
    }

    /// Removes the items from the first on that `take` takes: of each slice that is passed to it, this many. The chunks
    /// that are used up stay as they are until they are freed, and are added to `spent`. Returns the first one that stays.
    #[inline(always)]
    fn take_while<'a, T: Copy>(
        &mut self,
        pool: &'a Pool<T, N>,
        spent: &mut Spent,
        mut take: impl FnMut(u32, &[T]) -> usize,
    ) -> Option<&'a T> {
        let Self { mut head, mut len, .. } = *self;
        let (first, mut last) = (head, NONE);
        let mut stays = None;
        while len > 0 {
            let room = N - head as usize % N;
            let items = &pool.items[head as usize..][..room.min(len as usize)];
            let taken = take(head, items);
            head += taken as u32;
            len -= taken as u32;
            stays = items.get(taken);
            if stays.is_some() {
                break;
            }
            last = head - 1;
            if len > 0 {
                head = pool.after(last);
            } else {
                self.tail = 0;
            }
        }
        if last != NONE {
            spent.0.push((first / N as u32, last / N as u32));
        }
        (self.head, self.len) = (head, len);
        stays
    }

    /// The items, from the first.
    fn iter<'a, T: Copy>(&self, pool: &'a Pool<T, N>) -> impl Iterator<Item = &'a T> + use<'a, T, N> {
        let Self { head, len, .. } = *self;
        let mut place = head;
        (0..len).map(move |index| {
            if index > 0 {
                place = if ((place + 1) as usize).is_multiple_of(N) { pool.after(place) } else { place + 1 };
            }
            &pool.items[place as usize]
        })
    }
}

/// Chains of chunks of packets that are used up, but not free yet: the first and the last one of each.
#[derive(Debug, Default)]
pub(crate) struct Spent(Vec<(u32, u32)>);

/// Packets in a chunk: half a kilobyte.
const PACKETS: usize = 8;
/// INT stacks in a chunk.
const STACKS: usize = 4;

/// The packets in flight on one link, in order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ring {
    packets: Line<PACKETS>,
    stacks: Line<STACKS>,
}

/// The memory of many rings.
#[derive(Debug, Default)]
pub(crate) struct RingPool {
    packets: Pool<Packet, PACKETS>,
    stacks: Pool<IntRecords, STACKS>,
}

impl RingPool {
    /// The packet at a place that [`Ring::take`] has told and that is not free yet.
    #[inline]
    pub(crate) fn packet(&self, place: u32) -> &Packet {
        &self.packets.items[place as usize]
    }

    /// Frees what is used up.
    #[inline]
    pub(crate) fn free(&mut self, spent: &mut Spent) {
        while let Some((first, last)) = spent.0.pop() {
            self.packets.next[last as usize] = std::mem::replace(&mut self.packets.free, first);
        }
    }
}

impl Ring {
    /// Appends a packet. Returns whether it is the only one.
    #[inline(always)]
    pub(crate) fn push(&mut self, packet: &Packet, int: Option<&IntRecords>, pool: &mut RingPool) -> bool {
        if let Some(int) = int {
            self.stacks.push(int, &mut pool.stacks);
        }
        self.packets.push(packet, &mut pool.packets)
    }

    /// Removes the packets that arrive before `end` and appends them to `coming`, without their INT stacks. Until what it
    /// has added to `spent` is free, they can be read at their places. Returns when the next one arrives: [`u64::MAX`] if
    /// there is none. (ps)
    #[inline]
    pub(crate) fn take(
        &mut self,
        port: PortId,
        (start, end): (u64, u64),
        coming: &mut List,
        spent: &mut Spent,
        pool: &RingPool,
    ) -> u64 {
        let later = self.packets.take_while(&pool.packets, spent, |place, packets| {
            let mut taken = 0;
            for (slot, (place, packet)) in coming.room(PACKETS).iter_mut().zip((place..).zip(packets)) {
                if packet.time >= end {
                    break;
                }
                *slot = Coming::new(Key::of_arrival(packet.time - start, port), place);
                taken += 1;
            }
            coming.add(taken);
            taken
        });
        later.map_or(u64::MAX, |packet| packet.time)
    }

    /// Moves the first INT stack to `int`.
    #[inline]
    pub(crate) fn pop_stack(&mut self, int: &mut IntRecords, pool: &mut RingPool) {
        self.stacks.pop(int, &mut pool.stacks);
    }

    /// Has the first packet brought into the cache: it will be read soon.
    #[inline]
    pub(crate) fn prefetch(&self, pool: &RingPool) {
        self.packets.front(&pool.packets).inspect(|packet| prefetch(*packet));
    }

    /// Prefetches the INT stacks of the first `packets` packets.
    #[inline]
    pub(crate) fn prefetch_stacks(&self, packets: usize, pool: &RingPool) {
        if self.stacks.len > 0 {
            self.stacks.iter(&pool.stacks).take(packets).for_each(prefetch);
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.len == 0
    }

    /// The packets on the link, from the first.
    #[inline]
    pub(crate) fn iter<'a>(&self, pool: &'a RingPool) -> impl Iterator<Item = &'a Packet> + use<'a> {
        self.packets.iter(&pool.packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_pool_give_back_what_went_in_in_order() {
        // Three lines against three deques, through growth and emptiness.
        let mut pool = Pool::<u64, 4>::default();
        let mut lines = [Line::<4>::default(); 3];
        let mut plain: [std::collections::VecDeque<u64>; 3] = Default::default();
        let mut most = 0;
        for i in 0..5000_u64 {
            let which = (incast_net::random::draw(0, i) % 3) as usize;
            for j in 0..incast_net::random::draw(1, i) % 40 {
                let is_first = lines[which].push(&(i << 8 | j), &mut pool);
                assert_eq!(is_first, plain[which].is_empty());
                plain[which].push_back(i << 8 | j);
            }
            most = most.max(plain.iter().map(|p| p.len() / 4 + 2).sum());
            for _ in 0..incast_net::random::draw(2, i) % 41 {
                let mut item = 0;
                let found = lines[which].pop(&mut item, &mut pool);
                assert_eq!(found.then_some(item), plain[which].pop_front());
            }
            // Several at once, up to all that are there; they stay where they were until they are free, whatever is
            // pushed meanwhile.
            let several = incast_net::random::draw(3, i) as usize % 20 % (plain[which].len() + 1);
            let mut places = Vec::new();
            let mut spent = Spent::default();
            let stays = lines[which].take_while(&pool, &mut spent, |place, items| {
                let taken = items.len().min(several - places.len());
                places.extend((place..).take(taken));
                taken
            });
            assert_eq!(stays, plain[which].get(several));
            let other = (which + 1) % 3;
            lines[other].push(&i, &mut pool);
            plain[other].push_back(i);
            let taken: Vec<u64> = places.iter().map(|place| pool.items[*place as usize]).collect();
            assert_eq!(taken, plain[which].drain(..several).collect::<Vec<_>>());
            for (first, last) in spent.0.drain(..) {
                pool.next[last as usize] = std::mem::replace(&mut pool.free, first);
            }
            for (line, plain) in lines.iter().zip(&plain) {
                assert!(line.iter(&pool).eq(plain), "line {which} after round {i}");
                assert_eq!(line.front(&pool), plain.front());
            }
        }
        // A line of n items takes at most n / 4 + 2 pieces, and what is spent a few until it is free.
        assert!(pool.next.len() <= most + 8, "{} pieces for at most {most}", pool.next.len());
    }
}
