//! What a scheduler is.

use incast_net::describe::switch::Switch as Description;
use incast_net::queue_set::QueueSet;

use crate::switch::queues::Queues;

/// A scheduler at one port: which queue sends the next packet.
pub(crate) trait Schedule {
    /// Its state before the first packet.
    fn new(description: &Description) -> Self;

    /// The queue whose first packet is sent now. `ready` is not empty: the queues that hold a packet
    /// and are not paused, a part of those in `queues`.
    fn choose(&mut self, ready: QueueSet, queues: &Queues) -> u8;

    /// A packet of `queue` is sent without having waited, because no queue was ready. The state
    /// becomes what it would be had this packet been queued and chosen.
    fn passed(&mut self, queue: u8, queues: &Queues);
}

impl<S: Schedule> Schedule for Box<S> {
    fn new(description: &Description) -> Self {
        Self::new(S::new(description))
    }

    fn choose(&mut self, ready: QueueSet, queues: &Queues) -> u8 {
        S::choose(self, ready, queues)
    }

    fn passed(&mut self, queue: u8, queues: &Queues) {
        S::passed(self, queue, queues);
    }
}
