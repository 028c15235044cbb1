//! File requests: a host asks another rack for a file, of which several hosts there send a part each.

use std::collections::BTreeMap;

use incast_units::{Bytes, Time};

use super::hosts::Hosts;
use super::stream::Stream;
use super::work::Made;
use super::{Faults, MAX_GAP, Offered, Reach, Setting, both};
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::limits::MAX_FLOWS;
use crate::problem::fault;

section! {
    /// File requests: every host of `to` asks at random times for a file, of which hosts of a random other rack send
    /// equal parts at once.
    ///
    /// The times of each host are a Poisson process, which ends after `requests`, after `duration`, or with the run.
    /// Each request is a job.
    pub(crate) struct FileRequests {
        /// Hosts that can send.
        from: Hosts = Hosts::all(),
        /// Hosts that ask.
        to: Hosts = Hosts::all(),
        /// Payload of a file.
        size: Bytes; Bound::Positive,
        /// Number of hosts that send a part of a file.
        responders: u32 = 5; Bound::Count(1, 65_535) => "PowerTCP artifact",
        /// Mean time between two requests of a host.
        interval: Time; Bound::Positive,
        /// Number of requests of each host.
        requests: Option<u64> = None; Bound::Count(1, 65_535),
        /// Start of the requests.
        start: Time = Time::ZERO,
        /// Duration of the requests.
        duration: Option<Time> = None; Bound::Positive,
    }
}

/// The pattern with its hosts resolved.
struct Plan {
    to: Vec<u32>,
    /// The hosts of `from` by their switch, of switches with enough of them.
    racks: BTreeMap<u32, Vec<u32>>,
    /// Mean gap between two requests of a host in 2^-32 ps.
    gap: u128,
    end: Time,
}

impl FileRequests {
    fn plan(&self, setting: &Setting<'_>) -> Result<Plan, Faults> {
        let world = setting.world;
        let (from, to) = both(world, &self.from, &self.to)?;
        let mut racks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for host in from {
            racks.entry(world.fabric.switch_of(host)).or_default().push(host);
        }
        racks.retain(|_, hosts| hosts.len() >= self.responders as usize);
        let mut faults = Vec::new();
        let alone = |host: &&u32| !racks.keys().any(|rack| *rack != world.fabric.switch_of(**host));
        if let Some(host) = to.iter().find(alone) {
            let name = &world.fabric.network.nodes[*host as usize];
            let message =
                format!("no rack other than the one of {name} has {} of the hosts in from", self.responders);
            faults.push(fault("responders", message));
        }
        if self.size.get() < u64::from(self.responders) {
            let message = format!("{} cannot be divided into {} parts", self.size, self.responders);
            faults.push(fault("size", message));
        }
        let ends = [self.duration.map(|duration| self.start + duration), setting.until];
        let end = ends.into_iter().flatten().min().unwrap_or(Time::NEVER);
        if end == Time::NEVER && self.requests.is_none() {
            let message = "is missing; without requests, duration and run.until the requests never end";
            faults.push(fault("duration", message.to_owned()));
        }
        if end <= self.start {
            let message = format!("starts at {}, not before the end of the run ({end})", self.start);
            faults.push(fault("start", message));
        }
        let gap = (u128::from(self.interval.ps()) << 32).min(MAX_GAP);
        if faults.is_empty() { Ok(Plan { to, racks, gap, end }) } else { Err(faults) }
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        let plan = self.plan(setting)?;
        Ok(Reach::Any(plan.racks.into_values().flatten().collect(), plan.to))
    }

    pub(super) fn offered(&self, setting: &Setting<'_>) -> Option<Offered> {
        let plan = self.plan(setting).ok()?;
        let from: Vec<u32> = plan.racks.into_values().flatten().collect();
        let all = 8e12 * self.size.get() as f64 * plan.to.len() as f64 / self.interval.ps() as f64;
        let each = all / from.len() as f64;
        Some(Offered { from: from.into_iter().map(|host| (host, each)).collect(), to: plan.to })
    }

    pub(super) fn make(&self, setting: &Setting<'_>, seed: u64, name: &str) -> Result<Made, Faults> {
        let plan = self.plan(setting)?;
        let most = usize::from(u16::MAX);
        let mut requests: Vec<(Time, u32, Vec<u32>)> = Vec::new();
        for (place, &host) in (0_u64..).zip(&plan.to) {
            let own = setting.world.fabric.switch_of(host);
            let racks: Vec<&Vec<u32>> =
                plan.racks.iter().filter(|(rack, _)| **rack != own).map(|(_, hosts)| hosts).collect();
            let mut stream = Stream::new(seed, name, place);
            let mut time = self.start;
            for _ in 0..self.requests.unwrap_or(MAX_FLOWS) {
                time += stream.exponential(plan.gap);
                if time >= plan.end || requests.len() > most {
                    break;
                }
                let rack = racks[stream.below(racks.len() as u64) as usize];
                let senders = stream.sample(rack.len() as u64, u64::from(self.responders));
                requests.push((time, host, senders.into_iter().map(|nth| rack[nth as usize]).collect()));
            }
        }
        if requests.len() > most {
            let message = format!("makes more than {most} requests, as many as are possible");
            return Err(vec![fault("interval", message)]);
        }
        requests.sort_by_key(|(time, host, _)| (*time, *host));
        let mut made = Made::default();
        let parts = u64::from(self.responders);
        for (number, (time, host, senders)) in requests.iter().enumerate() {
            let job = made.job(format!("request{number}"));
            for (part, sender) in (0..parts).zip(senders) {
                let bytes = self.size.get() / parts + u64::from(part < self.size.get() % parts);
                made.transfer(job, [*sender, *host], Bytes::new(bytes), *time);
            }
        }
        Ok(made)
    }
}
