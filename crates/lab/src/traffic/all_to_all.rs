//! All-to-all: every host sends to every other, or to one that is drawn as an expert.

use incast_cc::Fixed;
use incast_units::{Bytes, Time};

use super::groups::{Group, Grouping, groups, job_name};
use super::hosts::{End, Hosts};
use super::ranks::Ranks;
use super::stream::Stream;
use super::work::{Made, Transfer, Volume};
use super::{Faults, Reach, Setting, too_many};
use crate::grammar::section::{choice, section};
use crate::grammar::setting::Bound;
use crate::problem::{Problem, fault};

/// A mixture of experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// 16 experts.
    Moe16,
}

choice! {
    Model {
        "moe-16" => Moe16: "16 experts, 8,000,000 B, 1 us, with barriers (OSCAR artifact)",
    }
}

/// Frequency of each of the 16 experts, in units of 10^-5 (OSCAR artifact).
const MOE_16: [u64; 16] =
    [202, 631, 5_678, 3_306, 353, 7_646, 17_588, 1_287, 22_382, 555, 353, 479, 707, 15_973, 20_187, 2_675];

/// Payload of a message of a barrier.
const MESSAGE: Bytes = Bytes::new(1);

section! {
    /// All-to-all: in each pass every host sends to every other host of its group, not to itself.
    ///
    /// With `experts` it sends to one of them only, drawn at random. A host begins the next pass when its flows of
    /// this one are acknowledged and those to it have arrived, with `barrier` when this holds for all hosts, and
    /// then has computed. Where hosts have several network cards, each has as many GPUs, and these are who sends, each
    /// by its own card; the GPUs of a host exchange their data by the links of
    /// `[server]`, or at no cost.
    pub(crate) struct AllToAll {
        /// The hosts that take part.
        hosts: Hosts = Hosts::all(),
        /// Division into groups.
        groups: Grouping = Grouping::One,
        /// Number of hosts of each group.
        group_size: Option<u32> = None; Bound::Count(2, 65_536),
        /// Members of a group; by default cards where all hosts have equally many, two or more. Flows between hosts take
        /// a card by their hash.
        ranks: Option<Ranks> = None,
        /// A mixture of experts, which gives experts, size, compute and barrier.
        model: Option<Model> = None,
        /// Payload per pair and pass, not per rank: each of n ranks sends n - 1 times as much in a pass, or with experts once as
        /// much. The operation all-to-all of a collective counts per rank: n times as much as this size.
        size: Option<Bytes> = None; Bound::Positive,
        /// Of each member of a group, how often it is chosen, relative to the others: each host then sends one flow in
        /// each pass, to a host drawn by these shares, and drawn again if it is the host itself.
        experts: Option<Vec<Fixed>> = None,
        /// Maximum number of flows of a host at the same time, in the order of the distance in the list; by default
        /// all.
        parallel: Option<u32> = None; Bound::Count(1, 65_536),
        /// Whether a pass begins at all hosts of a group only when all have ended the one before; by default as the
        /// model, or not.
        barrier: Option<bool> = None,
        /// Time that a host computes between two passes; by default as the model, or not at all.
        compute: Option<Time> = None,
        /// Number of passes.
        passes: u32 = 1; Bound::Count(1, 1_000_000),
        /// Start of the first pass.
        start: Time = Time::ZERO,
    }
}

/// The pattern with its hosts and its model resolved.
struct Plan {
    groups: Vec<Group>,
    size: Bytes,
    /// The weights of the hosts of a group, summed up; empty: every host sends to all others.
    experts: Vec<u64>,
    barrier: bool,
    compute: Time,
}

impl AllToAll {
    fn plan(&self, setting: &Setting<'_>) -> Result<Plan, Faults> {
        let groups = groups(setting, &self.hosts, self.groups, self.group_size, self.ranks)?;
        let mut faults = Vec::new();
        let mut members = groups.iter().map(Group::members);
        let apart = members.find_map(|members| setting.world.any_apart(&members, &members));
        if let Some(problem) = apart {
            let hint = "ranks = \"hosts\" sends between whole hosts, by the cards that reach each other";
            faults.push(fault("ranks", Problem::new(problem).with_hint(hint)));
        }
        let own = self.experts.as_ref();
        let weights: Vec<u64> = match (own, self.model) {
            (Some(shares), _) => shares.iter().map(|share| share.bits().unsigned_abs()).collect(),
            (None, Some(Model::Moe16)) => MOE_16.to_vec(),
            (None, None) => Vec::new(),
        };
        let key = if own.is_some() { "experts" } else { "model" };
        let is_share = |share: &Fixed| !share.is_negative() && *share <= Fixed::ONE;
        if own.is_some_and(|shares| !shares.iter().all(is_share)) {
            faults.push(fault("experts", "must be between 0 and 1 each".to_owned()));
        }
        let with_experts = own.is_some() || self.model.is_some();
        if let Some(group) = groups.iter().find(|group| with_experts && group.ranks() != weights.len()) {
            let what = if group.layout.ranks == Ranks::Cards { "cards" } else { "hosts" };
            let message = format!("has {} experts for groups of {} {what}", weights.len(), group.ranks());
            faults.push(fault(key, message));
        }
        if with_experts && weights.iter().filter(|weight| **weight > 0).count() < 2 {
            faults.push(fault(key, "must choose at least two hosts, as none sends to itself".to_owned()));
        }
        if with_experts && self.parallel.is_some() {
            faults.push(fault("parallel", "has no effect: each host sends one flow in each pass".to_owned()));
        }
        let size = self.size.or(self.model.map(|_| Bytes::new(8_000_000)));
        if size.is_none() {
            faults.push(fault("size", "is missing; write it, or a model that has one".to_owned()));
        }
        for (key, given) in [("barrier", self.barrier.is_some()), ("compute", self.compute.is_some())] {
            if given && self.passes == 1 {
                faults.push(fault(key, "has no effect: there is a single pass".to_owned()));
            }
        }
        let barrier = self.barrier.unwrap_or(self.model.is_some()) && self.passes > 1;
        let of_group = |group: &Group| {
            let [n, own] = [group.hosts.len() as u64, group.layout.per_host() as u64];
            let messages = if barrier { 2 * (n - 1) } else { 0 };
            messages + if with_experts { n * own } else { n * own * (n - 1) * own }
        };
        let flows: u64 = groups.iter().map(of_group).sum();
        faults.extend(too_many("passes", flows * u64::from(self.passes)));
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut sum = 0;
        let add = |weight: u64| {
            sum += weight;
            sum
        };
        Ok(Plan {
            groups,
            size: size.unwrap_or(Bytes::ZERO),
            experts: weights.into_iter().map(add).collect(),
            barrier,
            compute: self.compute.or(self.model.map(|_| Time::from_us(1))).unwrap_or(Time::ZERO),
        })
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        let plan = self.plan(setting)?;
        Ok(Reach::Groups(plan.groups.iter().map(Group::members).collect()))
    }

    pub(super) fn at_once(&self, reach: &Reach) -> u64 {
        // Each member chooses one expert in a pass: how many choose the same is random.
        let is_random = self.experts.is_some() || self.model.is_some();
        let most = if is_random { 1 } else { reach.senders() };
        self.parallel.map_or(most, |parallel| most.min(u64::from(parallel)))
    }

    pub(super) fn make(&self, setting: &Setting<'_>, seed: u64, name: &str) -> Result<Made, Faults> {
        let plan = self.plan(setting)?;
        let mut made = Made { local: setting.local, ..Made::default() };
        for (number, group) in plan.groups.iter().enumerate() {
            let job = made.job(job_name(plan.groups.len(), number));
            let members = group.members();
            let n = members.len();
            // With experts some exchange more than others, and there is no size of the operation.
            if plan.experts.is_empty() {
                let each = u128::from(plan.size.get()) * u128::from(self.passes);
                let computed = plan.compute.times(u64::from(self.passes - 1));
                made.measure(job, Volume::new(each * n as u128, each * (n as u128 - 1), computed));
            }
            // What each member must have done before it sends next.
            let mut before: Vec<Vec<u32>> = vec![Vec::new(); n];
            for pass in 0..self.passes {
                let mut stream = Stream::new(seed, name, u64::from(pass) << 32 | number as u64);
                let mut done: Vec<Vec<u32>> = vec![Vec::new(); n];
                for place in 0..n {
                    let to: Vec<usize> = match plan.experts.as_slice() {
                        [] => (1..n).map(|distance| (place + distance) % n).collect(),
                        experts => vec![expert(experts, place, &mut stream)],
                    };
                    let mut sent: Vec<u32> = Vec::new();
                    for to in to {
                        let ends = [members[place], members[to]];
                        if ends[0].host == ends[1].host {
                            let of = (job, members[place]);
                            let there = made.inside(of, plan.size, before[place].clone(), self.start);
                            if made.local.is_some() {
                                done[place].extend(&there);
                            }
                            done[to].extend(there);
                            continue;
                        }
                        let nth = sent.len();
                        let Transfer { send, receive } = made.transfer(job, ends, plan.size, self.start);
                        let earlier = self.parallel.and_then(|parallel| nth.checked_sub(parallel as usize));
                        match earlier {
                            Some(earlier) => made.wait(send, &[sent[earlier]]),
                            None => made.wait(send, &before[place]),
                        }
                        sent.push(send);
                        done[to].push(receive);
                    }
                    done[place].extend(sent);
                }
                if pass + 1 == self.passes {
                    break;
                }
                before = if plan.barrier { self.barrier(&mut made, job, group, &done) } else { done };
                // GPUs of a host compute beside each other. Without duration it is what the next sends wait for together.
                if plan.compute > Time::ZERO || group.layout.ranks == Ranks::Cards {
                    for (before, End { host, card }) in before.iter_mut().zip(&members) {
                        let after = std::mem::take(before);
                        before.push(made.compute(job, *host, plan.compute, card.unwrap_or(0), after));
                    }
                }
            }
        }
        Ok(made)
    }

    /// A barrier: every host tells the first one of its group that it is done, and the first one tells the others
    /// when all are. Returns what each member waits for.
    fn barrier(&self, made: &mut Made, job: u16, group: &Group, done: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let own = group.layout.per_host();
        let card = group.layout.rail.or((own > 1).then_some(0));
        let end = |host: u32| End { host, card };
        let first = end(group.hosts[0]);
        let mut all = done[..own].concat();
        for (host, done) in group.hosts.iter().zip(done.chunks(own)).skip(1) {
            let tells = made.transfer(job, [end(*host), first], MESSAGE, self.start);
            made.wait(tells.send, &done.concat());
            all.push(tells.receive);
        }
        let mut before = vec![all.clone(); own];
        for host in &group.hosts[1..] {
            let tells = made.transfer(job, [first, end(*host)], MESSAGE, self.start);
            made.wait(tells.send, &all);
            before.extend(vec![vec![tells.receive]; own]);
        }
        before
    }
}

/// A random host of a group by these weights, which are summed up, other than the host itself.
fn expert(experts: &[u64], own: usize, stream: &mut Stream) -> usize {
    let total = experts.last().copied().unwrap_or(0);
    loop {
        let point = stream.below(total);
        let chosen = experts.partition_point(|sum| *sum <= point);
        if chosen != own {
            return chosen;
        }
    }
}
