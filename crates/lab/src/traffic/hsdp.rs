//! A step of hybrid sharded data parallelism: a ring for every GPU of a server.

use incast_units::{Bytes, Time};

use super::hosts::Hosts;
use super::stream::Stream;
use super::work::Made;
use super::{Faults, Reach, Setting};
use crate::grammar::section::{choice, section};
use crate::grammar::setting::Bound;
use crate::problem::fault;

/// Placement of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// In a random order.
    Random,
    /// In the order of the list.
    InOrder,
}

choice! {
    Placement {
        "random" => Random: "each on a random block of hosts that follow each other",
        "in-order" => InOrder: "in the order of the hosts",
    }
}

section! {
    /// One step of the rings of hybrid sharded data parallelism: GPU j of every server sends to GPU j of the next
    /// server.
    ///
    /// Every host is a GPU; a server is a block of hosts that follow each other.
    pub(crate) struct Hsdp {
        /// The GPUs.
        hosts: Hosts = Hosts::all(),
        /// GPUs of each server, which is also the number of rings.
        gpus: u32 = 8; Bound::Count(1, 65_536) => "median paper, section IV-A: 8 rings",
        /// Payload of each flow.
        size: Bytes = Bytes::new(13_376_000); Bound::Positive => "median paper, section IV-A: 3,344 packets of 4,000 B",
        /// Placement of servers.
        placement: Placement = Placement::Random,
        /// Start of the flows.
        start: Time = Time::ZERO,
    }
}

impl Hsdp {
    fn hosts(&self, setting: &Setting<'_>) -> Result<Vec<u32>, Faults> {
        let hosts = self.hosts.resolve(setting.world).map_err(|message| vec![fault("hosts", message)])?;
        if !hosts.len().is_multiple_of(self.gpus as usize) || hosts.len() < 2 * self.gpus as usize {
            let message =
                format!("{} hosts do not make two or more servers of {} GPUs", hosts.len(), self.gpus);
            return Err(vec![fault("gpus", message)]);
        }
        Ok(hosts)
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        self.hosts(setting).map(|hosts| Reach::Any(hosts.clone(), hosts))
    }

    pub(super) fn make(&self, setting: &Setting<'_>, seed: u64, name: &str) -> Result<Made, Faults> {
        let hosts = self.hosts(setting)?;
        let mut blocks: Vec<&[u32]> = hosts.chunks(self.gpus as usize).collect();
        if self.placement == Placement::Random {
            Stream::new(seed, name, 0).shuffle(&mut blocks);
        }
        let mut made = Made::default();
        let job = made.job("");
        for (server, block) in blocks.iter().enumerate() {
            let next = blocks[(server + 1) % blocks.len()];
            for (from, to) in block.iter().zip(next) {
                made.transfer(job, [*from, *to], self.size, self.start);
            }
        }
        Ok(made)
    }
}
