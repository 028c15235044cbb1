//! A step of hybrid sharded data parallelism: a ring for every GPU of a server.
//!
//! GPUs are hosts, of which some that follow each other are a server, or the network cards of hosts, which are servers.

use incast_units::{Bytes, Time};

use super::hosts::{End, Hosts};
use super::ranks::{Layout, Ranks};
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
    /// Where hosts have several network cards, each card is a GPU and a host is a server. Where they have one, a host is a
    /// GPU, and a server is a block of hosts that follow each other.
    pub(crate) struct Hsdp {
        /// The GPUs, or the servers.
        hosts: Hosts = Hosts::all(),
        /// GPUs; by default cards where all hosts have equally many, two or more.
        ranks: Option<Ranks> = None,
        /// GPUs of each server if these are hosts, which is also the number of rings; by default 8.
        gpus: Option<u32> = None; Bound::Count(1, 65_536) => "median paper, section IV-A: 8 rings",
        /// Payload per flow, of which each GPU sends one.
        size: Bytes = Bytes::new(13_376_000); Bound::Positive => "median paper, section IV-A: 3,344 packets of 4,000 B",
        /// Placement of servers.
        placement: Placement = Placement::Random,
        /// Start of the flows.
        start: Time = Time::ZERO,
    }
}

impl Hsdp {
    /// Returns the GPUs in order, and the number of GPUs of a server.
    fn gpus(&self, setting: &Setting<'_>) -> Result<(Vec<End>, usize), Faults> {
        let hosts = self.hosts.resolve(setting.world).map_err(|message| vec![fault("hosts", message)])?;
        let layout = Layout::of(setting, &hosts, self.ranks)?;
        let gpus = match layout.ranks {
            Ranks::Cards if self.gpus.is_some() => {
                let message = format!("has no effect: each host is a server of {} GPUs", layout.per_host());
                return Err(vec![fault("gpus", message)]);
            }
            Ranks::Cards => layout.per_host(),
            Ranks::Hosts => self.gpus.unwrap_or(8) as usize,
        };
        let ends = layout.members(&hosts);
        if !ends.len().is_multiple_of(gpus) || ends.len() < 2 * gpus {
            let message = format!("{} hosts do not make two or more servers of {gpus} GPUs", hosts.len());
            return Err(vec![fault("gpus", message)]);
        }
        Ok((ends, gpus))
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        let (ends, gpus) = self.gpus(setting)?;
        let ring = |number| ends.iter().copied().skip(number).step_by(gpus).collect();
        Ok(Reach::Groups((0..gpus).map(ring).collect()))
    }

    pub(super) fn make(&self, setting: &Setting<'_>, seed: u64, name: &str) -> Result<Made, Faults> {
        let (ends, gpus) = self.gpus(setting)?;
        let mut blocks: Vec<&[End]> = ends.chunks(gpus).collect();
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
