//! Round robin by packets (Nagle, RFC 970): each queue in turn sends one, whatever its size.

use incast_net::describe::switch::Switch as Description;
use incast_net::queue_set::QueueSet;

use super::schedule::Schedule;
use crate::switch::queues::Queues;

#[derive(Debug)]
pub(crate) struct RoundRobin {
    /// The queue served last.
    last: u8,
}

impl Schedule for RoundRobin {
    fn new(description: &Description) -> Self {
        // So that queue 0 is the first.
        Self { last: description.queues - 1 }
    }

    #[inline]
    fn choose(&mut self, ready: QueueSet, _: &Queues) -> u8 {
        self.last = ready.after(self.last).unwrap_or(self.last);
        self.last
    }

    #[inline]
    fn passed(&mut self, queue: u8, _: &Queues) {
        self.last = queue;
    }
}
