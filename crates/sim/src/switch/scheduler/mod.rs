//! Schedulers: which queue of a port is served next.
//!
//! To add a scheduler: write its file here, its name in [`incast_net::describe::switch::Scheduler`], and one line in the
//! `schedulers!` list below.

mod drr;
mod headers_first;
mod round_robin;
mod schedule;
mod strict_priority;
mod wrr;

use incast_net::describe::switch::{Scheduler, Switch as Description};
use incast_net::queue_set::QueueSet;

use schedule::Schedule;

use super::queues::Queues;

macro_rules! schedulers {
    ($($variant:ident($state:ty);)+) => {
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
    StrictPriority(strict_priority::StrictPriority);
    RoundRobin(round_robin::RoundRobin);
    Drr(Box<drr::DeficitRoundRobin>);
    Wrr(Box<wrr::WeightedRoundRobin>);
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
