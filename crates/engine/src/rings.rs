//! FIFO queues that share their memory.
//!
//! A network has many links, and few are full at the same time. A separate buffer for each would keep its
//! maximum size for ever; queues that allocate small chunks from a common pool and return them use no more
//! memory than the packets in flight need, and a chunk that is reused is likely still in the cache.

use incast_net::describe::network::PortId;
use incast_net::packet::{IntRecords, Packet};

use super::coming::{Coming, Key};
use super::prefetch::prefetch;

/// Marks the end of a chain of chunks.
const NONE: u32 = u32::MAX;

/// Chunks of `N` items each, in use by a queue or free.
#[derive(Debug)]
struct Pool<T, const N: usize> {
    pieces: Vec<[T; N]>,
    /// The successor of each chunk, in its queue or in the chain of free ones.
    next: Vec<u32>,
    free: u32,
}

impl<T, const N: usize> Default for Pool<T, N> {
    fn default() -> Self {
        Self { pieces: Vec::new(), next: Vec::new(), free: NONE }
    }
}

impl<T: Copy, const N: usize> Pool<T, N> {
    /// A chunk that begins with `item`. Rare enough for a call, and what it needs would burden its callers.
    #[inline(never)]
    fn take(&mut self, item: &T) -> u32 {
        let piece = self.free;
        if let Some(slots) = self.pieces.get_mut(piece as usize) {
            slots[0] = *item;
            self.free = self.next[piece as usize];
            return piece;
        }
        self.pieces.push([*item; N]);
        self.next.push(NONE);
        self.pieces.len() as u32 - 1
    }

    /// Frees a chunk; returns its successor.
    #[inline]
    fn give_back(&mut self, piece: u32) -> u32 {
        std::mem::replace(&mut self.next[piece as usize], std::mem::replace(&mut self.free, piece))
    }
}

/// A queue of items in chunks of a pool.
#[derive(Clone, Copy, Debug, Default)]
struct Line<const N: usize> {
    /// First and last chunk; meaningless while the queue is empty.
    first: u32,
    last: u32,
    /// Position of the first item in its chunk.
    begin: u32,
    len: u32,
}

impl<const N: usize> Line<N> {
    #[inline(always)]
    fn push<T: Copy>(&mut self, item: &T, pool: &mut Pool<T, N>) {
        let at = (self.begin + self.len) as usize % N;
        if at == 0 {
            let piece = pool.take(item);
            if self.len == 0 {
                self.first = piece;
            } else {
                pool.next[self.last as usize] = piece;
            }
            self.last = piece;
        } else {
            pool.pieces[self.last as usize][at] = *item;
        }
        self.len += 1;
    }

    #[inline]
    fn front<'a, T>(&self, pool: &'a Pool<T, N>) -> Option<&'a T> {
        (self.len != 0).then(|| &pool.pieces[self.first as usize][self.begin as usize % N])
    }

    /// Removes the first `count` items, which are there.
    #[inline]
    fn advance<T: Copy>(&mut self, count: u32, pool: &mut Pool<T, N>) {
        self.begin += count;
        self.len -= count;
        while self.begin as usize >= N {
            self.first = pool.give_back(self.first);
            self.begin -= N as u32;
        }
        if self.len == 0 && self.begin != 0 {
            self.first = pool.give_back(self.first);
            self.begin = 0;
        }
    }

    /// Moves the first item to `item`; returns whether there was one.
    #[inline]
    fn pop<T: Copy>(&mut self, item: &mut T, pool: &mut Pool<T, N>) -> bool {
        let Some(first) = self.front(pool) else { return false };
        *item = *first;
        self.begin += 1;
        self.len -= 1;
        if self.begin as usize == N || self.len == 0 {
            self.first = pool.give_back(self.first);
            self.begin = 0;
        }
        true
    }

    /// The items, from the first.
    fn iter<'a, T>(&self, pool: &'a Pool<T, N>) -> impl Iterator<Item = &'a T> + use<'a, T, N> {
        let Self { first, begin, len, .. } = *self;
        let (mut piece, mut at) = (first, begin as usize);
        (0..len).map(move |_| {
            if at == N {
                piece = pool.next[piece as usize];
                at = 0;
            }
            at += 1;
            &pool.pieces[piece as usize][at - 1]
        })
    }
}

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
    /// The packet at a place that [`Ring::look`] has told and that is still in its ring.
    #[inline]
    pub(crate) fn packet(&self, place: u32) -> &Packet {
        &self.packets.pieces[place as usize / PACKETS][place as usize % PACKETS]
    }
}

impl Ring {
    #[inline]
    pub(crate) fn push(&mut self, packet: &Packet, int: Option<&IntRecords>, pool: &mut RingPool) {
        if let Some(int) = int {
            self.stacks.push(int, &mut pool.stacks);
        }
        self.packets.push(packet, &mut pool.packets);
    }

    /// Appends the packets that arrive before `end` to `coming`. Returns their number, and when the next one arrives:
    /// [`u64::MAX`] if there is none. (ps)
    #[inline]
    pub(crate) fn look(
        &self,
        port: PortId,
        start: u64,
        end: u64,
        coming: &mut Vec<Coming>,
        pool: &RingPool,
    ) -> (u32, u64) {
        let Line { first, begin, len, .. } = self.packets;
        let (mut piece, mut at, mut left) = (first, begin as usize, len as usize);
        while left > 0 {
            let chunk = &pool.packets.pieces[piece as usize];
            let chunk = &chunk[at..at + left.min(PACKETS - at)];
            let arriving = chunk.iter().take_while(|packet| packet.time < end).count();
            let places = piece * PACKETS as u32 + at as u32..;
            coming.extend(
                chunk[..arriving]
                    .iter()
                    .zip(places)
                    .map(|(packet, place)| Coming { key: Key::of_arrival(packet.time - start, port), place }),
            );
            left -= arriving;
            if let Some(later) = chunk.get(arriving) {
                return (len - left as u32, later.time);
            }
            (piece, at) = (pool.packets.next[piece as usize], 0);
        }
        (len, u64::MAX)
    }

    /// Moves the first INT stack to `int`.
    #[inline]
    pub(crate) fn pop_stack(&mut self, int: &mut IntRecords, pool: &mut RingPool) {
        self.stacks.pop(int, &mut pool.stacks);
    }

    /// Removes the first packets, this many, but not their INT stacks.
    #[inline]
    pub(crate) fn advance(&mut self, packets: u32, pool: &mut RingPool) {
        self.packets.advance(packets, &mut pool.packets);
    }

    /// Has the first packet brought into the cache: it will be read soon.
    #[inline]
    pub(crate) fn prefetch(&self, pool: &RingPool) {
        self.packets.front(&pool.packets).inspect(|packet| prefetch(*packet));
    }

    /// Prefetches the INT stacks of the first `packets` packets.
    #[inline]
    pub(crate) fn prefetch_stacks(&self, packets: usize, pool: &RingPool) {
        self.stacks.iter(&pool.stacks).take(packets).for_each(prefetch);
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
                lines[which].push(&(i << 8 | j), &mut pool);
                plain[which].push_back(i << 8 | j);
            }
            most = most.max(plain.iter().map(|p| p.len() / 4 + 2).sum());
            for _ in 0..incast_net::random::draw(2, i) % 41 {
                let mut item = 0;
                let found = lines[which].pop(&mut item, &mut pool);
                assert_eq!(found.then_some(item), plain[which].pop_front());
            }
            // Several at once, up to all that are there.
            let several = incast_net::random::draw(3, i) % 20 % (plain[which].len() as u64 + 1);
            lines[which].advance(several as u32, &mut pool);
            plain[which].drain(..several as usize);
            for (line, plain) in lines.iter().zip(&plain) {
                assert!(line.iter(&pool).eq(plain), "line {which} after round {i}");
                assert_eq!(line.front(&pool), plain.front());
            }
        }
        // A line of n items takes at most n / 4 + 2 pieces.
        assert!(pool.pieces.len() <= most, "{} pieces for at most {most}", pool.pieces.len());
    }
}
