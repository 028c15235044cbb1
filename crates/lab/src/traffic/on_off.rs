//! Senders that send for some time, pause for some time, and so on.

use incast_units::{Bytes, Time};

use super::hosts::{End, Hosts};
use super::stream::Stream;
use super::{Draft, Faults, MAX_GAP, Reach, Setting, pairs};
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::limits::MAX_FLOWS;
use crate::problem::fault;

section! {
    /// On and off: every sender sends without end for some time, then nothing for some time, and so on.
    ///
    /// Each time that it sends is a flow of its own, and all of them count. It ends after `cycles`, after `duration`, or
    /// with the run.
    pub(crate) struct OnOff {
        /// Senders.
        from: Hosts,
        /// Receivers: one for all, or one for each sender.
        to: Hosts,
        /// Time for which it sends.
        on: Time; Bound::Positive,
        /// Time for which it pauses after that.
        off: Time; Bound::Positive,
        /// Whether both are random, with an exponential distribution whose means are these; then a sender begins with
        /// a pause.
        random: bool = false,
        /// Number of times that each sender sends.
        cycles: Option<u32> = None; Bound::Count(1, 10_000_000),
        /// Start of the first flows, or with `random` of the first pauses.
        start: Time = Time::ZERO,
        /// Duration of all: no flow starts later.
        duration: Option<Time> = None; Bound::Positive,
    }
}

impl OnOff {
    fn plan(&self, setting: &Setting<'_>) -> Result<(Vec<[End; 2]>, Time), Faults> {
        let pairs = pairs(setting.world, &self.from, &self.to)?;
        let ends = [self.duration.map(|duration| self.start + duration), setting.until];
        let end = ends.into_iter().flatten().min().unwrap_or(Time::NEVER);
        let mut faults = Vec::new();
        if end == Time::NEVER && self.cycles.is_none() {
            let message = "is missing; without cycles, duration and run.until the traffic never ends";
            faults.push(fault("duration", message.to_owned()));
        }
        if end <= self.start {
            let message = format!("starts at {}, not before the end of the run ({end})", self.start);
            faults.push(fault("start", message));
        }
        let cycles = ((end - self.start).ps() / (self.on + self.off).ps()).min(self.most());
        let flows = cycles.saturating_mul(pairs.len() as u64);
        if flows > MAX_FLOWS {
            let message = format!("makes about {flows} flows; at most {MAX_FLOWS} are possible");
            faults.push(fault("on", message));
        }
        if faults.is_empty() { Ok((pairs, end)) } else { Err(faults) }
    }

    fn most(&self) -> u64 {
        self.cycles.map_or(MAX_FLOWS, u64::from)
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        self.plan(setting).map(|(pairs, _)| Reach::Pairs(pairs))
    }

    pub(super) fn make(&self, setting: &Setting<'_>, seed: u64, name: &str) -> Result<Vec<Draft>, Faults> {
        let (pairs, end) = self.plan(setting)?;
        let mean = |time: Time| (u128::from(time.ps()) << 32).min(MAX_GAP);
        let mut flows = Vec::new();
        for (pair, ends) in (0_u64..).zip(pairs) {
            let mut stream = Stream::new(seed, name, pair);
            let mut draw = |time: Time| {
                let drawn = if self.random { stream.exponential(mean(time)) } else { time };
                drawn.max(Time::from_ps(1))
            };
            let mut start = self.start;
            if self.random {
                start += draw(self.off);
            }
            for cycle in 0..self.most() {
                if start >= end {
                    break;
                }
                let stop = start + draw(self.on);
                let index = pair << 32 | cycle;
                flows.push(Draft { stop, ..Draft::new(index, ends, Bytes::UNLIMITED, start) });
                start = stop + draw(self.off);
            }
        }
        Ok(flows)
    }
}
