//! Every host sends to one other, and receives from one other.

use std::collections::BTreeMap;

use incast_units::{Bytes, Time};

use super::hosts::{End, Hosts};
use super::stream::Stream;
use super::{Draft, Faults, Reach, Setting};
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::problem::fault;

section! {
    /// Every host sends one flow to another and receives one: a random permutation in which nobody sends
    /// to itself, or with `shift` the i-th host to the one `shift` places further.
    pub(crate) struct Permutation {
        /// The hosts that take part, or network cards of hosts, one of each.
        hosts: Hosts = Hosts::all(),
        /// Payload per flow, of which each member sends one.
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
    fn hosts(&self, setting: &Setting<'_>) -> Result<Vec<End>, Faults> {
        let world = setting.world;
        let hosts = self.hosts.ends(world).map_err(|message| vec![fault("hosts", message)])?;
        let mut seen = BTreeMap::new();
        for end in &hosts {
            if let Some(other) = seen.insert(end.host, *end) {
                let message = format!(
                    "names {} and {}, of one host; write a block for each card",
                    world.name(other),
                    world.name(*end)
                );
                return Err(vec![fault("hosts", message)]);
            }
        }
        if let Some(problem) = world.any_apart(&hosts, &hosts) {
            return Err(vec![fault("hosts", problem)]);
        }
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
            Reach::Pairs((0..n).map(|i| [hosts[i], hosts[(i + shift as usize) % n]]).collect())
        };
        Ok(self.shift.map_or_else(|| Reach::Groups(vec![hosts.clone()]), shifted))
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
            .map(|(index, target)| {
                let start = self.start + Time::from_ps(jitter.below(self.jitter.ps()));
                Draft::new(index, [hosts[index as usize], hosts[target]], self.size, start)
            })
            .collect())
    }
}
