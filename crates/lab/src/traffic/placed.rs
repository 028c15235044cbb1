//! The common part of the kinds of traffic with dependencies: a workload in terms of ranks, on hosts.

use std::collections::BTreeSet;

use incast_units::Time;

use super::hosts::Hosts;
use super::work::Made;
use super::{Draft, Faults, Reach, Setting};
use crate::problem::fault;
use crate::workload::{Message, Workload};

/// A workload and the host of each rank.
pub(super) struct Placed {
    work: Workload,
    hosts: Vec<u32>,
}

impl Placed {
    /// Puts rank i on the host i of a list, by default of all hosts.
    pub(super) fn new(work: Workload, hosts: Option<&Hosts>, setting: &Setting<'_>) -> Result<Self, Faults> {
        let all = Hosts::all();
        let found =
            hosts.unwrap_or(&all).resolve(setting.world).map_err(|problem| vec![fault("hosts", problem)])?;
        let ranks = work.ranks as usize;
        // A larger network than needed is no mistake; a longer list is one.
        if found.len() < ranks || hosts.is_some() && found.len() != ranks {
            let (key, what) = if hosts.is_some() { ("hosts", "names") } else { ("file", "the network has") };
            let message =
                format!("{what} {} hosts for the {ranks} ranks of the file; each needs a host", found.len());
            return Err(vec![fault(key, message)]);
        }
        Ok(Self { work, hosts: found })
    }

    fn host(&self, rank: u32) -> u32 {
        self.hosts[rank as usize]
    }

    /// Returns the pairs of hosts that exchange data.
    pub(super) fn reach(&self) -> Reach {
        let pairs: BTreeSet<(u32, u32)> = self
            .work
            .flows
            .iter()
            .map(|flow| (self.host(flow.source), self.host(flow.destination)))
            .collect();
        Reach::Pairs(pairs.into_iter().collect())
    }

    /// The flows and operations, which are one job.
    pub(super) fn made(self) -> Made {
        let draft = |(index, flow): (u64, &Message)| Draft {
            index,
            source: self.host(flow.source),
            destination: self.host(flow.destination),
            size: flow.size,
            start: flow.start,
            stop: Time::NEVER,
        };
        let flows = (0_u64..).zip(&self.work.flows).map(draft).collect();
        let Self { mut work, hosts } = self;
        for operation in &mut work.operations {
            operation.host = hosts[operation.host as usize];
        }
        let jobs = if work.operations.is_empty() { Vec::new() } else { vec![String::new()] };
        Made { flows, operations: work.operations, jobs, ..Made::default() }
    }
}
