//! Queues of packets with their INT stacks.

use incast_net::packet::{IntRecords, Packet, flag};

/// A FIFO queue that stays at the beginning of its memory.
///
/// A ring buffer cycles through all the memory of its maximum length, which with thousands of queues exceeds the
/// cache. This one moves the remaining items to the front once as many items have been removed as are left,
/// which costs at most one additional copy per item.
#[derive(Debug)]
struct Line<T> {
    items: Vec<T>,
    head: usize,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { items: Vec::new(), head: 0 }
    }
}

impl<T: Copy> Line<T> {
    /// Minimum number of removed items before the rest is moved.
    const SLACK: usize = 16;

    #[inline]
    fn push(&mut self, item: T) {
        self.items.push(item);
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        let item = *self.items.get(self.head)?;
        self.remove_first();
        Some(item)
    }

    /// Removes the first item, which there is.
    #[inline]
    fn remove_first(&mut self) {
        self.head += 1;
        let left = self.items.len() - self.head;
        if left == 0 {
            self.items.clear();
            self.head = 0;
        } else if self.head >= Self::SLACK && self.head >= left {
            self.items.copy_within(self.head.., 0);
            self.items.truncate(left);
            self.head = 0;
        }
    }

    #[inline]
    fn first_mut(&mut self) -> Option<&mut T> {
        self.items.get_mut(self.head)
    }

    fn pop_last(&mut self) -> Option<T> {
        if self.waiting().is_empty() { None } else { self.items.pop() }
    }

    #[inline]
    fn waiting(&self) -> &[T] {
        self.items.get(self.head..).unwrap_or_default()
    }
}

/// A FIFO queue of packets with the INT stacks of those that have one.
#[derive(Debug, Default)]
pub(crate) struct PacketQueue {
    packets: Line<Packet>,
    stacks: Line<IntRecords>,
}

impl PacketQueue {
    #[inline]
    pub(crate) fn push(&mut self, packet: Packet, int: Option<&IntRecords>) {
        if let Some(int) = int {
            self.stacks.push(*int);
        }
        self.packets.push(packet);
    }

    /// Takes the first packet; its INT stack, if it has one, is written to `int`.
    #[inline]
    pub(crate) fn pop(&mut self, int: &mut IntRecords) -> Option<Packet> {
        let packet = self.packets.pop()?;
        if packet.is(flag::INT)
            && let Some(stack) = self.stacks.pop()
        {
            *int = stack;
        }
        Some(packet)
    }

    /// The first packet, and its INT stack if it has one, where they are.
    #[inline(always)]
    pub(crate) fn first_mut(&mut self) -> Option<(&mut Packet, Option<&mut IntRecords>)> {
        let packet = self.packets.first_mut()?;
        let int = if packet.is(flag::INT) { self.stacks.first_mut() } else { None };
        Some((packet, int))
    }

    /// Removes the first packet, and its INT stack if it has one.
    #[inline(always)]
    pub(crate) fn remove_first(&mut self, has_int: bool) {
        self.packets.remove_first();
        if has_int {
            self.stacks.remove_first();
        }
    }

    /// Takes the last packet; its INT stack, if it has one, is dropped.
    pub(crate) fn pop_last(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_last()?;
        if packet.is(flag::INT) {
            self.stacks.pop_last();
        }
        Some(packet)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.waiting().is_empty()
    }

    /// The packets, from the first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Packet> {
        self.packets.waiting().iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_back_what_went_in_in_order() {
        // Against a deque, through growth, emptiness and moves to the front.
        let mut line = Line::default();
        let mut plain = std::collections::VecDeque::new();
        for i in 0..5000_u64 {
            let burst = incast_net::random::draw(1, i) % 40;
            for j in 0..burst {
                line.push(i << 8 | j);
                plain.push_back(i << 8 | j);
            }
            for _ in 0..incast_net::random::draw(2, i) % 41 {
                assert_eq!(line.pop(), plain.pop_front());
            }
            if i % 3 == 0 {
                assert_eq!(line.pop_last(), plain.pop_back());
            }
            assert_eq!(line.waiting(), plain.iter().copied().collect::<Vec<_>>());
        }
        assert!(line.items.len() <= 2 * plain.len() + Line::<u64>::SLACK);
    }
}
