//! Closed loops: a new flow when one ends.

use std::collections::BTreeMap;

use incast_units::{Bytes, Time};

use super::hosts::{End, Hosts};
use super::sizes::Sizes;
use super::stream::Stream;
use super::work::Made;
use super::{Faults, Reach, Setting, both, only_host, too_many};
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::problem::fault;

section! {
    /// Closed loops: every sender always has as many flows as `parallel`, and starts a new one when one is done.
    ///
    /// Each flow goes to a random receiver. The loops end after `flows` flows each, or start no flow from the time
    /// `until` on.
    pub(crate) struct ClosedLoop {
        /// Senders, hosts or network cards.
        from: Hosts = Hosts::all(),
        /// Receivers, hosts or network cards; each at another host than the sender's is equally likely.
        to: Hosts = Hosts::all(),
        /// Payload per flow: a distribution, a file, or one size.
        sizes: Sizes,
        /// Flows of a sender at the same time: the number of loops.
        parallel: u32 = 1; Bound::Count(1, 65_536),
        /// Number of flows of each loop, one after the other.
        flows: Option<u32> = None; Bound::Count(1, 10_000_000),
        /// Time from which on no flow is started, instead of `flows`; those that have started go on.
        until: Option<Time> = None; Bound::Positive,
        /// Time from the end of a flow to the start of the next one.
        think: Time = Time::ZERO,
        /// Start of the first flows.
        start: Time = Time::ZERO,
    }
}

/// Largest number of loops of a host: each thinks on a processor of its own.
const PROCESSORS: u32 = 65_536;

/// Returns each end with its place among the ends of its host.
fn of_host(ends: &[End]) -> impl Iterator<Item = (End, u32)> {
    let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
    ends.iter().map(move |end| {
        let count = seen.entry(end.host).or_default();
        *count += 1;
        (*end, *count - 1)
    })
}

/// A flow of a loop.
struct Step {
    /// The loop's number at its host.
    slot: u16,
    /// Whether it is the loop's first.
    is_first: bool,
    ends: [End; 2],
    size: Bytes,
}

impl ClosedLoop {
    fn hosts(&self, setting: &Setting<'_>) -> Result<(Vec<End>, Vec<End>), Faults> {
        let (from, to) = both(setting.world, &self.from, &self.to)?;
        let mut faults = Vec::new();
        if let Some(only) = only_host(&to)
            && from.iter().any(|end| end.host == only)
        {
            let name = setting.world.name(only.into());
            faults.push(fault("to", format!("{name} would send to itself")));
        }
        let most = of_host(&from).map(|(_, nth)| nth + 1).max().unwrap_or(0);
        if most.saturating_mul(self.parallel) > PROCESSORS {
            let message = format!(
                "makes more than {PROCESSORS} loops at a host: {} for each of {most} cards",
                self.parallel
            );
            faults.push(fault("parallel", message));
        }
        if self.think > Time::ZERO && self.flows == Some(1) {
            faults.push(fault("think", "has no effect: each loop has a single flow".to_owned()));
        }
        let flows = from.len() as u64 * u64::from(self.parallel);
        match (self.flows, self.until) {
            (None, None) => {
                let message = "is missing: the number of flows of each loop, or until, the time from which on none starts";
                faults.push(fault("flows", message.to_owned()));
            }
            (Some(_), Some(_)) => {
                let message = "cannot be combined with flows: loops end after a number of flows or at a time";
                faults.push(fault("until", message.to_owned()));
            }
            (None, Some(until)) if until <= self.start => {
                let message = format!("{until} is not after the start, {}: no flow would start", self.start);
                faults.push(fault("until", message));
            }
            (None, Some(_)) => {}
            (Some(each), None) => faults.extend(too_many("flows", flows.saturating_mul(u64::from(each)))),
        }
        if faults.is_empty() { Ok((from, to)) } else { Err(faults) }
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        self.hosts(setting).map(|(from, to)| Reach::Any(from, to))
    }

    pub(super) fn make(&self, setting: &Setting<'_>, seed: u64, name: &str) -> Result<Made, Faults> {
        let ends = self.hosts(setting)?;
        if self.until.is_some() {
            // Counted before they are made: as many as a block may have take gigabytes.
            let mut flows = 0;
            self.draw(setting, &ends, (seed, name), &mut |_| {
                flows += 1;
                too_many("until", flows).map_or(Ok(()), |fault| Err(vec![fault]))
            })?;
        }
        let mut made = Made::default();
        let job = made.job("");
        let mut last = None;
        self.draw(setting, &ends, (seed, name), &mut |step| {
            let Step { slot, is_first, ends, size } = step;
            last = last.filter(|_| !is_first);
            if let Some(before) = last
                && self.think > Time::ZERO
            {
                last = Some(made.compute(job, ends[0].host, self.think, slot, vec![before]));
            }
            let send = self.send(&mut made, job, ends, size);
            made.wait(send, last.as_slice());
            last = Some(send);
            Ok(())
        })?;
        if let Some(until) = self.until {
            made.operations.iter_mut().for_each(|operation| operation.start_before = until);
        }
        Ok(made)
    }

    /// Draws the flows of every loop, one loop after the other; `each` gets them.
    fn draw(
        &self,
        setting: &Setting<'_>,
        (from, to): &(Vec<End>, Vec<End>),
        (seed, name): (u64, &str),
        each: &mut dyn FnMut(Step) -> Result<(), Faults>,
    ) -> Result<(), Faults> {
        for (loops, (sender, nth)) in (0_u64..).zip(of_host(from)) {
            let others: Vec<End> = to.iter().copied().filter(|end| end.host != sender.host).collect();
            for slot in 0..self.parallel {
                let mut stream = Stream::new(seed, name, loops << 32 | u64::from(slot));
                // When the next flow can start at the earliest.
                let mut earliest = self.start;
                for number in 0.. {
                    if self.flows.is_some_and(|flows| number == flows)
                        || self.until.is_some_and(|end| earliest >= end)
                    {
                        break;
                    }
                    let receiver = others[stream.below(others.len() as u64) as usize];
                    let (ends, size) = ([sender, receiver], self.sizes.draw(stream.next()));
                    let slot = (nth * self.parallel + slot) as u16;
                    each(Step { slot, is_first: number == 0, ends, size })?;
                    if self.until.is_some() {
                        earliest = earliest + setting.shortest(ends, size) + self.think;
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds a flow, and returns the operation that sends it. Without a number of flows it is not known whether it
    /// is sent, so that no operation waits for its arrival.
    fn send(&self, made: &mut Made, job: u16, ends: [End; 2], size: Bytes) -> u32 {
        match self.until {
            None => made.transfer(job, ends, size, self.start).send,
            Some(_) => made.send(job, ends, size, self.start),
        }
    }
}
