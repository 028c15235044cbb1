//! Closed loops: a new flow when one ends.

use incast_units::Time;

use super::hosts::Hosts;
use super::sizes::Sizes;
use super::stream::Stream;
use super::work::Made;
use super::{Faults, Reach, Setting, both, too_many};
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::problem::fault;

section! {
    /// Closed loops: every sender always has as many flows as `parallel`, and starts a new one when one is done.
    ///
    /// Each flow goes to a random receiver. The loops end after `flows` flows each.
    pub(crate) struct ClosedLoop {
        /// Senders.
        from: Hosts = Hosts::all(),
        /// Receivers; each is equally likely.
        to: Hosts = Hosts::all(),
        /// Flow sizes: a distribution, a file, or one size.
        sizes: Sizes,
        /// Flows of a sender at the same time: so many loops.
        parallel: u32 = 1; Bound::Count(1, 65_536),
        /// Number of flows of each loop, one after the other.
        flows: u32; Bound::Count(1, 10_000_000),
        /// Time from the end of a flow to the start of the next one.
        think: Time = Time::ZERO,
        /// Start of the first flows.
        start: Time = Time::ZERO,
    }
}

impl ClosedLoop {
    fn hosts(&self, setting: &Setting<'_>) -> Result<(Vec<u32>, Vec<u32>), Faults> {
        let (from, to) = both(setting.world, &self.from, &self.to)?;
        let mut faults = Vec::new();
        if let [only] = to.as_slice()
            && from.contains(only)
        {
            let name = &setting.world.fabric.network.nodes[*only as usize];
            faults.push(fault("to", format!("{name} would send to itself")));
        }
        if self.think > Time::ZERO && self.flows == 1 {
            faults.push(fault("think", "has no effect: each loop has a single flow".to_owned()));
        }
        let flows = from.len() as u64 * u64::from(self.parallel);
        faults.extend(too_many("flows", flows.saturating_mul(u64::from(self.flows))));
        if faults.is_empty() { Ok((from, to)) } else { Err(faults) }
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        self.hosts(setting).map(|(from, to)| Reach::Any(from, to))
    }

    pub(super) fn make(&self, setting: &Setting<'_>, seed: u64, name: &str) -> Result<Made, Faults> {
        let (from, to) = self.hosts(setting)?;
        let mut made = Made::default();
        let job = made.job("");
        for (loops, sender) in (0_u64..).zip(&from) {
            let others: Vec<u32> = to.iter().copied().filter(|host| host != sender).collect();
            for slot in 0..self.parallel {
                let mut stream = Stream::new(seed, name, loops << 32 | u64::from(slot));
                let mut last = None;
                for _ in 0..self.flows {
                    let receiver = others[stream.below(others.len() as u64) as usize];
                    let size = self.sizes.draw(stream.next());
                    if let Some(before) = last
                        && self.think > Time::ZERO
                    {
                        last = Some(made.compute(job, *sender, self.think, slot as u16, vec![before]));
                    }
                    let transfer = made.transfer(job, [*sender, receiver], size, self.start);
                    made.wait(transfer.send, last.as_slice());
                    last = Some(transfer.send);
                }
            }
        }
        Ok(made)
    }
}
