//! Flows listed by their ends.

use incast_units::{Bytes, Time};

use super::hosts::Hosts;
use super::{Draft, Faults, Reach, Setting, pairs};
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::limits::MAX_FLOWS;
use crate::problem::fault;

section! {
    /// Flows listed by their ends: one sender to each receiver, each sender to one receiver, or one to
    /// one when both lists are equally long.
    ///
    /// A flow without size and stop lasts until the end of the run.
    pub(crate) struct Flows {
        /// Senders, hosts or network cards of hosts: `"h0.3"` is card 3 of h0, `"h0-h7.3"` card 3 of each of eight
        /// hosts. Without a card the flow's hash chooses one.
        from: Hosts,
        /// Receivers, hosts or network cards of hosts.
        to: Hosts,
        /// Payload per flow.
        size: Option<Bytes> = None; Bound::Positive,
        /// Start of the first flow.
        start: Time = Time::ZERO,
        /// Time at which the flows stop sending new data.
        stop: Option<Time> = None,
        /// Number of flows for each pair of hosts.
        count: u32 = 1; Bound::Count(1, 1_000_000),
        /// Time between the starts of successive flows.
        stagger: Time = Time::ZERO,
    }
}

impl Flows {
    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        let pairs = pairs(setting.world, &self.from, &self.to)?;
        let number = pairs.len() as u64 * u64::from(self.count);
        let mut faults = Vec::new();
        if number > MAX_FLOWS {
            faults.push(fault("count", format!("makes {number} flows; at most {MAX_FLOWS} are possible")));
        }
        let last = self.start + self.stagger.times(number - 1);
        if let Some(stop) = self.stop
            && stop <= last
        {
            let message = match number {
                1 => format!("stops at {stop}, not after its start at {last}"),
                _ => format!("stops at {stop}, not after the start of its last flow at {last}"),
            };
            faults.push(fault("stop", message));
        }
        if self.size.is_none() && self.stop.is_none() && setting.until.is_none() {
            let message = "is missing; a flow without size and stop lasts until the end of the run, and run.until is not set";
            faults.push(fault("size", message.to_owned()));
        }
        if faults.is_empty() { Ok(Reach::Pairs(pairs)) } else { Err(faults) }
    }

    pub(super) fn at_once(&self, reach: &Reach) -> u64 {
        let is_together = self.stagger == Time::ZERO || self.size.is_none();
        if is_together { reach.senders() * u64::from(self.count) } else { 1 }
    }

    pub(super) fn make(&self, setting: &Setting<'_>) -> Result<Vec<Draft>, Faults> {
        let pairs = pairs(setting.world, &self.from, &self.to)?;
        let all = (0..self.count).flat_map(|_| pairs.iter().copied());
        Ok((0_u64..)
            .zip(all)
            .map(|(index, ends)| {
                let size = self.size.unwrap_or(Bytes::UNLIMITED);
                let draft = Draft::new(index, ends, size, self.start + self.stagger.times(index));
                Draft { stop: self.stop.unwrap_or(Time::NEVER), ..draft }
            })
            .collect())
    }
}
