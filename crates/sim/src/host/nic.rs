//! A network card: what leaves a host through one of its ports, and in which order.
//!
//! Acknowledgements and other replies go first, by queue. Data follows round robin: a source of data
//! that may send waits at the end of the line of ready sources, and one whose packet is leaving joins
//! it when the last bit has left, behind those that became ready meanwhile. A queue that the switch
//! has paused keeps its place and costs nothing.

use std::collections::VecDeque;

use crate::describe::network::PortId;
use crate::engine::event::Effects;
use crate::packet::{IntRecords, Packet, PacketQueue, flag};
use crate::port::Port;
use crate::route::Out;

/// Something that has data to send, by a number of its transport's own: mostly a flow.
pub(crate) type Source = u32;

/// No source.
const NONE: Source = Source::MAX;

/// One port of a host.
#[derive(Debug)]
pub(crate) struct Nic {
    pub(crate) wire: Port,
    index: PortId,
    /// Replies that wait for the wire, by queue.
    replies: Vec<PacketQueue>,
    pub(crate) replies_length: u64,
    /// Ready sources, by queue, with when they became ready.
    ready: Vec<VecDeque<(u64, Source)>>,
    /// How many sources are ready.
    ready_count: usize,
    /// Counts sources as they become ready.
    turn: u64,
    /// The source of the packet sent last.
    leaving: Source,
}

impl Nic {
    pub(crate) fn new(index: PortId, out: &Out, queues: u8) -> Self {
        Self {
            wire: Port::new(out),
            index,
            replies: (0..queues).map(|_| PacketQueue::default()).collect(),
            replies_length: 0,
            ready: (0..queues).map(|_| VecDeque::new()).collect(),
            ready_count: 0,
            turn: 0,
            leaving: NONE,
        }
    }

    /// A source whose packets go into `queue` may send.
    #[inline]
    pub(crate) fn push(&mut self, queue: u8, source: Source) {
        let queue = usize::from(queue).min(self.ready.len() - 1);
        self.ready[queue].push_back((self.turn, source));
        self.ready_count += 1;
        self.turn += 1;
    }

    /// A source is gone before its turn.
    pub(crate) fn remove(&mut self, queue: u8, source: Source) {
        let queue = usize::from(queue).min(self.ready.len() - 1);
        let before = self.ready[queue].len();
        self.ready[queue].retain(|(_, s)| *s != source);
        self.ready_count -= before - self.ready[queue].len();
    }

    /// Takes the source whose turn it is among the queues that are not paused.
    #[inline]
    pub(crate) fn next_source(&mut self) -> Option<Source> {
        if self.ready_count == 0 {
            return None;
        }
        let mut first: Option<(u64, usize)> = None;
        for (queue, line) in self.ready.iter().enumerate() {
            if let Some(&(turn, _)) = line.front()
                && first.is_none_or(|(earliest, _)| turn < earliest)
                && !self.wire.is_paused(queue as u8)
            {
                first = Some((turn, queue));
            }
        }
        let (_, source) = self.ready[first?.1].pop_front()?;
        self.ready_count -= 1;
        Some(source)
    }

    /// Sends a reply at once if the wire is free, or queues it.
    #[inline]
    pub(crate) fn reply(
        &mut self,
        now: u64,
        packet: &mut Packet,
        int: &IntRecords,
        effects: &mut impl Effects,
    ) {
        let length = self.replies_length + u64::from(packet.size);
        self.wire.peak = self.wire.peak.max(length);
        let queue = usize::from(packet.queue).min(self.replies.len() - 1);
        if self.replies_length == 0 && !self.wire.is_busy(now) && !self.wire.is_paused(queue as u8) {
            self.send(now, None, packet, int, effects);
            return;
        }
        self.replies_length = length;
        self.replies[queue].push(*packet, packet.is(flag::INT).then_some(int));
    }

    /// Whether a reply waits.
    #[inline]
    pub(crate) fn has_replies(&self) -> bool {
        self.replies_length > 0
    }

    /// Takes the reply that goes next.
    #[inline]
    pub(crate) fn next_reply(&mut self, int: &mut IntRecords) -> Option<Packet> {
        for queue in 0..self.replies.len() {
            if !self.wire.is_paused(queue as u8)
                && let Some(packet) = self.replies[queue].pop(int)
            {
                self.replies_length -= u64::from(packet.size);
                return Some(packet);
            }
        }
        None
    }

    /// Puts a packet of `source` (`None`: a reply) on the free wire. Says when its last bit will have
    /// left.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: u64,
        source: Option<Source>,
        packet: &mut Packet,
        int: &IntRecords,
        effects: &mut impl Effects,
    ) -> u64 {
        self.leaving = source.unwrap_or(NONE);
        self.wire.send(now, self.index, packet, int, effects)
    }

    /// Whether anything waits for the wire.
    #[inline]
    pub(crate) fn has_waiting(&self) -> bool {
        self.replies_length > 0 || self.ready_count > 0
    }

    /// Whether a packet of this source is leaving.
    #[inline]
    pub(crate) fn is_leaving(&self, now: u64, source: Source) -> bool {
        self.leaving == source && self.wire.is_busy(now)
    }

    /// Asks for an event when the busy wire falls free.
    #[inline]
    pub(crate) fn call_when_free(&mut self, effects: &mut impl Effects) {
        self.wire.call_when_free(self.index, effects);
    }

    /// The wire has fallen free. Says whose packet has left.
    #[inline]
    pub(crate) fn departed(&mut self) -> Option<Source> {
        self.wire.departed();
        let left = std::mem::replace(&mut self.leaving, NONE);
        (left != NONE).then_some(left)
    }

    /// Replies that wait for the wire.
    pub(crate) fn waiting_replies(&self) -> impl Iterator<Item = &Packet> {
        self.replies.iter().flat_map(PacketQueue::iter)
    }
}
