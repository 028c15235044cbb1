//! Schedulers: which queue of a port is served next.
//!
//! To add a scheduler: write its module, and add one line to the `schedulers!` list below. Its name can
//! then be used in scenario files.

mod drr;
mod headers_first;
mod round_robin;
mod strict_priority;
mod wrr;

use super::queues::Queues;
use crate::describe::switch::Switch as Description;
use crate::queue_set::QueueSet;

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

macro_rules! schedulers {
    ($($variant:ident = $name:literal, $state:ty, $meaning:literal;)+) => {
        /// The order in which a port serves its queues. Paused queues are skipped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Scheduler {
            $(#[doc = $meaning] $variant,)+
        }

        impl Scheduler {
            /// Each with its name in scenario files and its description.
            pub const ALL: &[(Self, &'static str, &'static str)] =
                &[$((Self::$variant, $name, $meaning)),+];
        }

        /// The state of one port's scheduler.
        #[derive(Debug)]
        pub(crate) enum Any {
            $($variant($state),)+
            /// Scheduler of ports that trim; it cannot be chosen for others.
            HeadersFirst(headers_first::HeadersFirst),
        }

        impl Any {
            fn new(description: &Description) -> Self {
                match description.scheduler {
                    _ if description.trimming.is_some() => Self::HeadersFirst(Schedule::new(description)),
                    $(Scheduler::$variant => Self::$variant(Schedule::new(description)),)+
                }
            }

            #[inline(always)]
            fn choose(&mut self, ready: QueueSet, queues: &Queues) -> u8 {
                match self {
                    $(Self::$variant(scheduler) => scheduler.choose(ready, queues),)+
                    Self::HeadersFirst(scheduler) => scheduler.choose(ready, queues),
                }
            }

            #[inline(always)]
            fn passed(&mut self, queue: u8, queues: &Queues) {
                match self {
                    $(Self::$variant(scheduler) => scheduler.passed(queue, queues),)+
                    Self::HeadersFirst(scheduler) => scheduler.passed(queue, queues),
                }
            }
        }
    };
}

schedulers! {
    StrictPriority = "strict-priority", strict_priority::StrictPriority,
        "the lowest-numbered queue that holds a packet";
    RoundRobin = "round-robin", round_robin::RoundRobin,
        "one packet from each queue in turn";
    Drr = "drr", Box<drr::DeficitRoundRobin>,
        "deficit round robin: each queue in turn its quantum of bytes, whatever the size of its packets";
    Wrr = "wrr", Box<wrr::WeightedRoundRobin>,
        "weighted round robin: each queue in turn as many packets as its weight";
}

/// The order of service at one port.
#[derive(Debug)]
pub(crate) enum State {
    /// The scheduler serves all queues.
    Plain(Any),
    /// Some queues are served by strict priority before the scheduler serves the others.
    Mixed(Box<Mixed>),
}

/// The queues below `strict` by strict priority, the others by the scheduler.
#[derive(Debug)]
pub(crate) struct Mixed {
    strict: u8,
    scheduler: Any,
}

impl State {
    pub(crate) fn new(description: &Description) -> Self {
        let scheduler = Any::new(description);
        match description.strict {
            strict if strict > 0 && description.trimming.is_none() => {
                Self::Mixed(Box::new(Mixed { strict, scheduler }))
            }
            _ => Self::Plain(scheduler),
        }
    }

    /// See [`Schedule::choose`].
    #[inline(always)]
    pub(crate) fn choose(&mut self, ready: QueueSet, queues: &Queues) -> u8 {
        match self {
            Self::Plain(scheduler) => scheduler.choose(ready, queues),
            Self::Mixed(mixed) => match ready.first() {
                Some(first) if first < mixed.strict => first,
                _ => mixed.scheduler.choose(ready, queues),
            },
        }
    }

    /// See [`Schedule::passed`].
    #[inline(always)]
    pub(crate) fn passed(&mut self, queue: u8, queues: &Queues) {
        match self {
            Self::Plain(scheduler) => scheduler.passed(queue, queues),
            Self::Mixed(mixed) if queue < mixed.strict => {}
            Self::Mixed(mixed) => mixed.scheduler.passed(queue, queues),
        }
    }
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
