//! Messages of a connection at its sender, in the order in which they started.
//!
//! A flow without a connection is the only message of its sender. The messages of a connection follow one another in
//! one sequence of packets: the first packet of a message has the number after the last one of the message before,
//! so that losses, windows and pacing know no borders between them. In positions in bytes every packet counts as full.

use std::collections::VecDeque;

use incast_net::packet::Origin;

/// One flow at its sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) flow: u32,
    /// Index among the host's flows.
    pub(super) index: u32,
    /// The receiver's index of it.
    pub(super) peer: u32,
    pub(super) origin: Origin,
    /// One past its last packet; [`u64::MAX`] for an open-ended flow.
    pub(super) end: u64,
    /// Position of its first byte, and one past its last.
    pub(super) begin: u64,
    pub(super) limit: u64,
    /// (ps)
    pub(super) start: u64,
    pub(super) packets: u64,
    pub(super) resent: u64,
    pub(super) marked: u64,
    pub(super) timeouts: u32,
}

impl Message {
    /// Returns its acknowledged payload, when everything before `position` is acknowledged.
    pub(super) fn acknowledged(&self, position: u64) -> u64 {
        position.min(self.limit).saturating_sub(self.begin)
    }
}

/// The messages of a connection besides the one that its sender has.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) number: u32,
    /// Messages that have started, behind the first one that is not done.
    later: VecDeque<Message>,
    /// Whether the message of the sender is done, and none has started after it.
    pub(super) is_idle: bool,
    /// Number of messages that are not done, whether started or not.
    left: u32,
    /// Indices of the messages that have started.
    started: Vec<u32>,
}

impl Connection {
    /// A connection with this number of messages, the first of which starts.
    pub(super) fn new(number: u32, messages: u32, first: u32) -> Box<Self> {
        let started = vec![first];
        Box::new(Self { number, later: VecDeque::new(), is_idle: false, left: messages, started })
    }

    /// Another message starts; returns the one that the sender has from now on if it had none.
    pub(super) fn add(&mut self, message: Message) -> Option<Message> {
        self.started.push(message.index);
        if std::mem::take(&mut self.is_idle) {
            return Some(message);
        }
        self.later.push_back(message);
        None
    }

    /// The message of the sender is done; returns the next one.
    pub(super) fn advance(&mut self) -> Option<Message> {
        self.left -= 1;
        let next = self.later.pop_front();
        self.is_idle = next.is_none();
        next
    }

    /// Whether all of its messages are done.
    pub(super) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Indices of the messages that have started.
    pub(super) fn started(&self) -> &[u32] {
        &self.started
    }

    /// The messages behind the one of the sender.
    pub(super) fn later(&self) -> impl Iterator<Item = &Message> {
        self.later.iter()
    }

    /// The one of them that packet `number` is of.
    pub(super) fn with_packet(&mut self, number: u64) -> Option<&mut Message> {
        let place = self.later.partition_point(|message| message.end <= number);
        self.later.get_mut(place)
    }

    /// The one of them with this index.
    pub(super) fn with_index(&mut self, index: u32) -> Option<&mut Message> {
        self.later.iter_mut().find(|message| message.index == index)
    }
}
