//! The things that a thread has for itself while it processes one partition after another.

use std::time::Instant;

use incast_net::record::tally::Tally;

use super::coming::List;
use super::mail::Outbox;
use super::rings::Spent;

/// The counts, the mail and the scratch memory of a thread.
#[derive(Debug)]
pub(crate) struct Hand {
    pub(crate) tally: Tally,
    /// The latest event after which a node had none left. (ps)
    pub(crate) last: u64,
    /// The cost of all that it has processed, by count. (ns)
    pub(crate) load: u64,
    pub(crate) outbox: Outbox,
    pub(crate) scratch: Scratch,
    /// The visits of the last window, if they are recorded.
    pub(crate) visits: Option<Vec<Visited>>,
}

/// Memory for one visit of a node.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// The packets that arrive.
    pub(crate) coming: List,
    /// Their chunks.
    pub(crate) spent: Spent,
}

/// A visit of a unit in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Visited {
    pub(crate) unit: u32,
    /// Its cost by count. (ns)
    pub(crate) load: u32,
    /// Its cost by the clock. (ns)
    pub(crate) time: u32,
}

impl Hand {
    /// The hand of a thread in a run with this many partitions.
    pub(crate) fn new(partitions: usize) -> Self {
        Self {
            tally: Tally::default(),
            last: 0,
            load: 0,
            outbox: Outbox::new(partitions),
            scratch: Scratch::default(),
            visits: None,
        }
    }

    /// Takes over the counts of another thread, which rests from now on.
    pub(crate) fn take_over(&mut self, other: &mut Self) {
        let Tally { counts, mut records } = std::mem::take(&mut other.tally);
        self.tally.counts.join(&counts);
        self.tally.records.take(&mut records);
        self.last = self.last.max(other.last);
    }

    /// Records a visit of a unit that began with this load at this instant.
    #[inline(never)]
    pub(crate) fn record(&mut self, unit: usize, load: u64, began: Instant) {
        let (load, time) = ((self.load - load) as u32, began.elapsed().as_nanos() as u32);
        self.visits.get_or_insert_default().push(Visited { unit: unit as u32, load, time });
    }
}
