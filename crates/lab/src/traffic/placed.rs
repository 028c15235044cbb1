//! The common part of the kinds of traffic with dependencies: a workload in terms of ranks, on hosts.

use std::collections::{BTreeMap, BTreeSet};

use incast_sim::describe::work::{BESIDE, What};
use incast_units::Time;

use super::hosts::{End, Hosts};
use super::ranks::Ranks;
use super::work::Made;
use super::{Draft, Faults, Local, Reach, Setting};
use crate::problem::fault;
use crate::workload::{Message, Workload};

/// A workload and the place of each rank.
pub(super) struct Placed {
    work: Workload,
    ends: Vec<End>,
    local: Option<Local>,
}

impl Placed {
    /// Puts rank i on the host, or network card, i of a list, by default of all hosts.
    pub(super) fn new(work: Workload, hosts: Option<&Hosts>, setting: &Setting<'_>) -> Result<Self, Faults> {
        let all = Hosts::all();
        let ends =
            hosts.unwrap_or(&all).ends(setting.world).map_err(|problem| vec![fault("hosts", problem)])?;
        let placed = Self::on(work, ends, hosts.is_some(), "hosts")?.connected(setting, "hosts")?;
        match placed.work.flows.iter().find(|flow| placed.is_inside(flow)) {
            Some(flow) => {
                let [from, to] = placed.ends_of(flow).map(|end| setting.world.name(end));
                let message = format!(
                    "puts nodes that exchange data on {from} and {to}, cards of one host: no link joins them"
                );
                Err(vec![fault("hosts", message)])
            }
            None => Ok(placed),
        }
    }

    /// Puts rank i on the host i of a list, or on the network card i of these hosts, host by host.
    pub(super) fn ranked(
        work: Workload,
        hosts: Option<&Hosts>,
        ranks: Option<Ranks>,
        setting: &Setting<'_>,
    ) -> Result<Self, Faults> {
        let (world, all) = (setting.world, Hosts::all());
        let found = hosts.unwrap_or(&all).ends(world).map_err(|problem| vec![fault("hosts", problem)])?;
        if found.iter().any(|end| end.card.is_some()) {
            if ranks.is_some() {
                return Err(vec![fault("ranks", "has no effect: hosts names network cards".to_owned())]);
            }
            return Self::on(work, found, true, "cards")?.connected(setting, "hosts");
        }
        let ports = |end: &End| world.fabric.ports(end.host).len() as u16;
        let cards = || -> Vec<End> {
            let of = |end: &End| {
                let host = end.host;
                (0..ports(end)).map(move |card| End { host, card: Some(card) }).collect::<Vec<_>>()
            };
            found.iter().flat_map(of).collect()
        };
        let several = found.iter().any(|end| ports(end) > 1);
        let ranks = match ranks {
            Some(Ranks::Cards) if !several => {
                let message = "= \"cards\" has no effect: each host has one card".to_owned();
                return Err(vec![fault("ranks", message)]);
            }
            Some(ranks) => ranks,
            None if !several => Ranks::Hosts,
            None if cards().len() == work.ranks as usize => Ranks::Cards,
            None => {
                let message = format!(
                    "is missing: the file has {} ranks for {} hosts with {} network cards; write \"hosts\" or \"cards\"",
                    work.ranks,
                    found.len(),
                    cards().len()
                );
                return Err(vec![fault("ranks", message)]);
            }
        };
        match ranks {
            Ranks::Hosts => Self::on(work, found, hosts.is_some(), "hosts"),
            Ranks::Cards => Self::on(work, cards(), hosts.is_some(), "cards")?.connected(setting, "ranks"),
        }
    }

    /// Puts rank i on the place i of these: a key lists all of them, or they are the network's.
    fn on(work: Workload, ends: Vec<End>, are_listed: bool, what: &str) -> Result<Self, Faults> {
        let ranks = work.ranks as usize;
        // A larger network than needed is no mistake; a longer list is one.
        if ends.len() < ranks || are_listed && ends.len() != ranks {
            let (key, names) = if are_listed { ("hosts", "names") } else { ("file", "the network has") };
            let each = if what == "hosts" { "a host" } else { "a card" };
            let message =
                format!("{names} {} {what} for the {ranks} ranks of the file; each needs {each}", ends.len());
            return Err(vec![fault(key, message)]);
        }
        Ok(Self { work, ends, local: None })
    }

    /// Refuses messages between cards that have no path between them.
    fn connected(self, setting: &Setting<'_>, key: &str) -> Result<Self, Faults> {
        let pairs: BTreeSet<[End; 2]> = self.work.flows.iter().map(|flow| self.ends_of(flow)).collect();
        let apart =
            pairs.iter().filter(|[a, b]| a.host != b.host).find_map(|ends| setting.world.apart(*ends));
        match apart {
            Some(problem) => Err(vec![fault(key, problem)]),
            None => Ok(Self { local: setting.local, ..self }),
        }
    }

    fn ends_of(&self, message: &Message) -> [End; 2] {
        [message.source, message.destination].map(|rank| self.ends[rank as usize])
    }

    /// Whether a message stays within a host.
    fn is_inside(&self, message: &Message) -> bool {
        let [from, to] = self.ends_of(message);
        from.host == to.host
    }

    /// Returns the pairs of hosts, or cards, that exchange data.
    pub(super) fn reach(&self) -> Reach {
        let flows = self.work.flows.iter().filter(|flow| !self.is_inside(flow));
        let pairs: BTreeSet<[End; 2]> = flows.map(|flow| self.ends_of(flow)).collect();
        Reach::Pairs(pairs.into_iter().collect())
    }

    /// The flows and operations, which are one job.
    pub(super) fn made(mut self) -> Made {
        let mut flows = Vec::new();
        // The flow of each message, unless it stays within a host.
        let mut numbers: Vec<Option<u32>> = Vec::with_capacity(self.work.flows.len());
        for flow in &self.work.flows {
            if self.is_inside(flow) {
                numbers.push(None);
                continue;
            }
            numbers.push(Some(flows.len() as u32));
            flows.push(Draft::new(flows.len() as u64, self.ends_of(flow), flow.size, flow.start));
        }
        self.place_operations(&numbers);
        let Self { work, .. } = self;
        let jobs = if work.operations.is_empty() { Vec::new() } else { vec![String::new()] };
        Made { flows, operations: work.operations, jobs, ..Made::default() }
    }

    /// Gives the operations of each rank to its host. A send and a receive within a host take the time of the links there,
    /// or none, and the receive waits for the send. The processors of ranks that share a host are different ones.
    fn place_operations(&mut self, numbers: &[Option<u32>]) {
        let mut on_host: BTreeMap<u32, u32> = BTreeMap::new();
        self.ends.iter().for_each(|end| *on_host.entry(end.host).or_default() += 1);
        let mut processors: BTreeMap<(u32, u32, u16), u16> = BTreeMap::new();
        let mut used: BTreeMap<u32, u16> = BTreeMap::new();
        let mut senders: BTreeMap<u32, u32> = BTreeMap::new();
        for (index, operation) in (0_u32..).zip(&self.work.operations) {
            if let What::Send { flow } = operation.what {
                senders.insert(flow, index);
            }
        }
        let inside = |time| What::Compute { time, processor: BESIDE };
        let ends = self.ends.clone();
        for operation in &mut self.work.operations {
            let rank = operation.host;
            operation.host = self.ends[rank as usize].host;
            match &mut operation.what {
                What::Compute { processor, .. } if on_host[&operation.host] > 1 => {
                    let next = used.entry(operation.host).or_default();
                    *processor = *processors.entry((operation.host, rank, *processor)).or_insert_with(|| {
                        *next += 1;
                        *next - 1
                    });
                }
                What::Compute { .. } => {}
                What::Send { flow } => match numbers[*flow as usize] {
                    Some(number) => *flow = number,
                    None => {
                        let message = &self.work.flows[*flow as usize];
                        let processor = Local::processor(ends[rank as usize].card);
                        operation.earliest = message.start;
                        operation.what = self.local.map_or(inside(Time::ZERO), |local| What::Compute {
                            time: local.rate.time_for(message.size),
                            processor,
                        });
                    }
                },
                What::Receive { flow } => match numbers[*flow as usize] {
                    Some(number) => *flow = number,
                    None => {
                        operation.after.extend(senders.get(flow));
                        operation.what = inside(self.local.map_or(Time::ZERO, |local| local.delay));
                    }
                },
            }
        }
    }
}
