//! Long flows that join and leave one after the other.

use incast_units::{Bytes, Time};

use super::hosts::Hosts;
use super::{Draft, Faults, Reach, Setting, pairs};
use crate::grammar::section::{choice, section};
use crate::grammar::setting::Bound;
use crate::problem::fault;

/// The order in which flows end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// The first to come is the first to go.
    FirstInFirstOut,
    /// The first to come is the last to go.
    LastInFirstOut,
}

choice! {
    Leave {
        "first-in-first-out" => FirstInFirstOut: "every flow stays as long as the first",
        "last-in-first-out" => LastInFirstOut: "the flows leave in the reverse order, as far apart as they came",
    }
}

section! {
    /// Long flows that start one after the other, `interval` apart, and end one after the other.
    pub(crate) struct Staggered {
        /// Senders.
        from: Hosts,
        /// Receivers: one for all, or one for each sender.
        to: Hosts,
        /// Start of the first flow.
        start: Time = Time::ZERO,
        /// Time between the starts of successive flows.
        interval: Time; Bound::Positive,
        /// Duration of the first flow.
        duration: Time; Bound::Positive,
        /// The order in which they end.
        leave: Leave = Leave::FirstInFirstOut,
    }
}

impl Staggered {
    /// Returns the time at which flow number `i` stops.
    fn stop(&self, i: u64) -> Time {
        match self.leave {
            Leave::FirstInFirstOut => self.start + self.interval.times(i) + self.duration,
            Leave::LastInFirstOut => self.start + (self.duration - self.interval.times(i)),
        }
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        let pairs = pairs(setting.world, &self.from, &self.to)?;
        let last = pairs.len() as u64 - 1;
        let joins = self.start + self.interval.times(last);
        if self.stop(last) <= joins {
            let message = format!(
                "{} is too short: the last of {} flows would stop at {}, not after its start at {joins}",
                self.duration,
                pairs.len(),
                self.stop(last)
            );
            return Err(vec![fault("duration", message)]);
        }
        Ok(Reach::Pairs(pairs))
    }

    pub(super) fn make(&self, setting: &Setting<'_>) -> Result<Vec<Draft>, Faults> {
        let pairs = pairs(setting.world, &self.from, &self.to)?;
        Ok((0_u64..)
            .zip(pairs)
            .map(|(index, ends)| {
                let start = self.start + self.interval.times(index);
                Draft { stop: self.stop(index), ..Draft::new(index, ends, Bytes::UNLIMITED, start) }
            })
            .collect())
    }
}
