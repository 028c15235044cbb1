//! Every host sends to one other, and receives from one other.

use incast_units::{Bytes, Time};

use super::hosts::Hosts;
use super::stream::Stream;
use super::{Draft, Faults, Reach, Setting};
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::problem::fault;

section! {
    /// Every host sends one flow to another and receives one: a random permutation in which nobody sends
    /// to itself, or with `shift` the i-th host to the one `shift` places further.
    pub(crate) struct Permutation {
        /// The hosts that take part.
        hosts: Hosts = Hosts::all(),
        /// Payload of each flow.
        size: Bytes; Bound::Positive,
        /// Distance from sender to receiver in the list of hosts.
        shift: Option<u32> = None; Bound::Count(1, 65_535),
        /// Start of the flows.
        start: Time = Time::ZERO,
        /// Each flow is delayed by a random time, uniform from zero to this.
        jitter: Time = Time::ZERO,
    }
}

impl Permutation {
    fn hosts(&self, setting: &Setting<'_>) -> Result<Vec<u32>, Faults> {
        let hosts = self.hosts.resolve(setting.world).map_err(|message| vec![fault("hosts", message)])?;
        if hosts.len() < 2 {
            return Err(vec![fault("hosts", "a permutation needs at least two hosts".to_owned())]);
        }
        if let Some(shift) = self.shift
            && (shift as usize).is_multiple_of(hosts.len())
        {
            let message = format!("with {} hosts, {shift} places further is the host itself", hosts.len());
            return Err(vec![fault("shift", message)]);
        }
        Ok(hosts)
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        let hosts = self.hosts(setting)?;
        let shifted = |shift: u32| {
            let n = hosts.len();
            Reach::Pairs((0..n).map(|i| (hosts[i], hosts[(i + shift as usize) % n])).collect())
        };
        Ok(self.shift.map_or_else(|| Reach::Any(hosts.clone(), hosts.clone()), shifted))
    }

    pub(super) fn make(&self, setting: &Setting<'_>, seed: u64, name: &str) -> Result<Vec<Draft>, Faults> {
        let hosts = self.hosts(setting)?;
        let n = hosts.len();
        let mut targets: Vec<usize> = (0..n).collect();
        match self.shift {
            Some(shift) => targets.rotate_left(shift as usize % n),
            None => {
                let mut stream = Stream::new(seed, name, 0);
                // A random permutation has no fixed point with probability 1/e, whatever its length
                // (1/2 for two hosts), so that drawing again until there is none is quick and uniform.
                while targets.iter().enumerate().any(|(i, &target)| i == target) {
                    stream.shuffle(&mut targets);
                }
            }
        }
        let mut jitter = Stream::new(seed, name, 1);
        Ok((0_u64..)
            .zip(targets)
            .map(|(index, target)| Draft {
                index,
                source: hosts[index as usize],
                destination: hosts[target],
                cards: [None; 2],
                channel: 0,
                size: self.size,
                start: self.start + Time::from_ps(jitter.below(self.jitter.ps())),
                stop: Time::NEVER,
            })
            .collect())
    }
}
