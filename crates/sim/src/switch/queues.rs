//! The packets queued at a port of a switch, by queue.

use incast_net::canary::{self, Canary};
use incast_net::packet::{IntRecords, Packet, flag};
use incast_net::queue_set::QueueSet;

use crate::packet_queue::PacketQueue;

/// The queues of one port.
#[derive(Debug)]
pub(crate) struct Queues {
    queues: Box<[Queue]>,
    /// Those that hold a packet.
    waiting: QueueSet,
    /// Bytes in all of them.
    length: u64,
}

/// First in, first out.
#[derive(Debug, Default)]
struct Queue {
    packets: PacketQueue,
    /// Bytes in it.
    length: u64,
}

impl Queues {
    pub(crate) fn new(queues: u8) -> Self {
        let queues = (0..queues).map(|_| Queue::default()).collect();
        Self { queues, waiting: QueueSet::default(), length: 0 }
    }

    /// The queues that hold a packet.
    #[inline]
    pub(crate) fn waiting(&self) -> QueueSet {
        self.waiting
    }

    /// Bytes in all queues.
    #[inline]
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Bytes in one queue.
    #[inline]
    pub(crate) fn length_of(&self, queue: u8) -> u64 {
        self.queues[usize::from(queue)].length
    }

    /// Size of the first packet of a queue; 0 if it is empty.
    pub(crate) fn first_size(&self, queue: u8) -> u64 {
        self.queues[usize::from(queue)].packets.iter().next().map_or(0, |p| u64::from(p.size))
    }

    /// Time at which the first packet of a queue came in; `None` if it is empty. (ps)
    pub(crate) fn first_time(&self, queue: u8) -> Option<u64> {
        self.queues[usize::from(queue)].packets.iter().next().map(|packet| packet.time)
    }

    #[inline]
    pub(crate) fn push(&mut self, queue: u8, packet: &Packet, int: &IntRecords) {
        let size = u64::from(packet.size);
        let line = &mut self.queues[usize::from(queue)];
        line.length += size;
        line.packets.push(*packet, packet.is(flag::INT).then_some(int));
        self.length += size;
        self.waiting.insert(queue);
    }

    /// Takes the first packet of a queue; its INT stack, if it has one, is written to `int`.
    #[inline(always)]
    pub(crate) fn pop(&mut self, queue: u8, int: &mut IntRecords) -> Option<Packet> {
        let line = &mut self.queues[usize::from(queue)];
        let wrong = canary::is_on(Canary::Order)
            && line.packets.iter().nth(1).is_some()
            && canary::strikes(Canary::Order);
        let packet = if wrong { line.packets.pop_last() } else { line.packets.pop(int) }?;
        self.remove(queue, u64::from(packet.size));
        Some(packet)
    }

    /// Takes the first packet of a queue: passes it on, as it stands there, with its INT stack or, if it has none, with
    /// `int`, and with the bytes that are left in that queue and in all. Returns what comes back; `None` if the queue is
    /// empty.
    #[inline(always)]
    pub(crate) fn pass_first<R>(
        &mut self,
        queue: u8,
        int: &mut IntRecords,
        pass: impl FnOnce(&mut Packet, &mut IntRecords, (u64, u64)) -> R,
    ) -> Option<R> {
        if canary::is_on(Canary::Order) {
            let mut packet = self.pop(queue, int)?;
            return Some(pass(&mut packet, int, (self.length_of(queue), self.length)));
        }
        let line = &mut self.queues[usize::from(queue)];
        let (packet, stack) = line.packets.first_mut()?;
        let size = u64::from(packet.size);
        line.length -= size;
        self.length -= size;
        let has_int = stack.is_some();
        let passed = pass(packet, stack.unwrap_or(int), (line.length, self.length));
        line.packets.remove_first(has_int);
        if line.packets.is_empty() {
            self.waiting.remove(queue);
        }
        Some(passed)
    }

    /// Returns the size of the last packet of a queue; 0 if it is empty.
    pub(crate) fn last_size(&self, queue: u8) -> u64 {
        self.queues[usize::from(queue)].packets.iter().next_back().map_or(0, |p| u64::from(p.size))
    }

    /// Whether a packet that came in at `now` is the last one of its queue.
    pub(crate) fn took_one_at(&self, now: u64) -> bool {
        let mut last = self.queues.iter().filter_map(|line| line.packets.iter().next_back());
        last.any(|packet| packet.time == now)
    }

    /// Takes the last packet of a queue, without its INT stack.
    pub(crate) fn pop_last(&mut self, queue: u8) -> Option<Packet> {
        let line = &mut self.queues[usize::from(queue)];
        let packet = line.packets.pop_last()?;
        self.remove(queue, u64::from(packet.size));
        Some(packet)
    }

    /// A packet of this size has been taken out of a queue.
    #[inline(always)]
    fn remove(&mut self, queue: u8, size: u64) {
        let line = &mut self.queues[usize::from(queue)];
        line.length -= size;
        self.length -= size;
        if line.packets.is_empty() {
            self.waiting.remove(queue);
        }
    }

    /// All packets, with the queue of each.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u8, &Packet)> {
        self.queues.iter().enumerate().flat_map(|(q, line)| line.packets.iter().map(move |p| (q as u8, p)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_net::packet::Kind;

    #[test]
    fn bytes_are_counted_by_queue_and_together() {
        let mut queues = Queues::new(128);
        let mut int = IntRecords::default();
        for (queue, size) in [(0, 100), (8, 1000), (8, 64), (127, 1500)] {
            queues.push(queue, &Packet { size, ..Packet::blank(Kind::Data) }, &int);
        }
        assert_eq!((queues.length(), queues.length_of(8), queues.length_of(0)), (2664, 1064, 100));
        assert_eq!(queues.waiting().iter().collect::<Vec<_>>(), [0, 8, 127]);
        assert_eq!((queues.first_size(8), queues.first_size(1)), (1000, 0));
        assert_eq!(queues.pop(8, &mut int).map(|p| p.size), Some(1000));
        assert!(queues.waiting().contains(8));
        assert_eq!(queues.pop(8, &mut int).map(|p| p.size), Some(64));
        assert!(queues.pop(8, &mut int).is_none());
        assert_eq!((queues.length(), queues.length_of(8)), (1600, 0));
        assert_eq!(queues.waiting().iter().collect::<Vec<_>>(), [0, 127]);
        assert_eq!(queues.iter().map(|(q, p)| (q, p.size)).collect::<Vec<_>>(), [(0, 100), (127, 1500)]);
    }
}
