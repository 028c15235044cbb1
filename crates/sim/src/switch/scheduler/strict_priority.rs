//! Strict priority: queue 0 before queue 1 before queue 2.

use incast_net::describe::switch::Switch as Description;
use incast_net::queue_set::QueueSet;

use super::schedule::Schedule;
use crate::switch::queues::Queues;

#[derive(Debug)]
pub(crate) struct StrictPriority;

impl Schedule for StrictPriority {
    fn new(_: &Description) -> Self {
        Self
    }

    #[inline]
    fn choose(&mut self, ready: QueueSet, _: &Queues) -> u8 {
        ready.first().unwrap_or_default()
    }

    #[inline]
    fn passed(&mut self, _: u8, _: &Queues) {}
}
