//! The computations and collectives of a workload of SimAI.
//!
//! Each GPU runs the layers forward, and backward from the last one: it computes and takes part in the collective of the
//! phase. It waits for the collectives of the forward pass and of the gradients of inputs at once, for the collective of a
//! layer's weights before it runs that layer in the next pass.

use std::collections::{BTreeMap, BTreeSet};

use incast_cc::Fixed;
use incast_units::{Bytes, Time};

use super::collective::{Ends, Operation, Plain};
use super::hosts::{End, Hosts};
use super::ranks::{Layout, Ranks, share};
use super::work::Made;
use super::{Faults, Reach, Setting, too_many};
use crate::formats::simai::{Exchange, Group, Operation as Written, SimAi};
use crate::grammar::foreign::Foreign;
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::problem::{Problem, fault};

section! {
    /// The computations and collectives of a workload of SimAI, which AICB writes: layer by layer, forward and backward.
    ///
    /// GPU i is host i; where hosts have several network cards it is card i of them, host by host, and GPUs exchange data
    /// within a host by the links of `[server]`, or at no cost. Groups are formed as SimAI forms them. Collectives are rings, all-to-alls direct, as by
    /// the traffic `collective`.
    pub(crate) struct SimAiFile {
        /// The file.
        file: Foreign<SimAi>,
        /// The hosts whose GPUs take part, in order; by default the first ones of the network.
        hosts: Option<Hosts> = None,
        /// GPUs: hosts, or all network cards of the hosts. By default cards where all hosts have equally many, two or more.
        ranks: Option<Ranks> = None,
        /// Number of passes, each forward and backward.
        passes: u32 = 1; Bound::Count(1, 1_000_000) => "SimAI: 1",
        /// Factor of all sizes of collectives, rounded down.
        size_factor: Fixed = Fixed::ONE; Bound::Positive,
        /// Factor of all times of computation; the file's unit is the nanosecond.
        compute_factor: Fixed = Fixed::ONE; Bound::Positive,
    }
}

/// A group with the places of its members.
struct Team {
    /// Each by its number in the whole workload.
    gpus: Vec<u32>,
    ends: Vec<End>,
    /// For each of its channels, the card of each host; empty: each member uses its own card.
    cards: Vec<BTreeMap<u32, End>>,
}

impl Team {
    fn new(gpus: Vec<u32>, all: &[End]) -> Self {
        let ends: Vec<End> = gpus.iter().map(|gpu| all[*gpu as usize]).collect();
        let mut on: BTreeMap<u32, Vec<End>> = BTreeMap::new();
        ends.iter().for_each(|end| on.entry(end.host).or_default().push(*end));
        let of_each = on.values().map(Vec::len).min().unwrap_or(1);
        let is_even = on.values().all(|ends| ends.len() == of_each);
        let channels = if is_even && of_each > 1 { of_each } else { 0 };
        let card = |channel: usize| on.iter().map(|(host, ends)| (*host, ends[channel])).collect();
        Self { gpus, ends, cards: (0..channels).map(card).collect() }
    }

    /// Number of channels of an operation: as many as a host has members.
    fn channels(&self, operation: Operation) -> u32 {
        if operation == Operation::AllToAll { 1 } else { self.cards.len().max(1) as u32 }
    }

    /// Returns the ends of a message of a channel of this operation.
    fn ends(&self, operation: Operation, channel: u32, pair: [u32; 2]) -> Option<[End; 2]> {
        let ends = pair.map(|rank| self.ends[rank as usize]);
        if ends[0].host == ends[1].host {
            return None;
        }
        match self.cards.get(channel as usize) {
            Some(cards) if operation != Operation::AllToAll => Some(ends.map(|end| cards[&end.host])),
            _ => Some(ends),
        }
    }
}

/// The workload with its GPUs on hosts.
struct Plan {
    ends: Vec<End>,
    /// Number of the GPUs of a host.
    of_host: u16,
    /// The groups of each kind that the file uses.
    teams: BTreeMap<Group, Vec<Team>>,
    /// The messages of each operation in each kind of groups.
    collectives: BTreeMap<(Written, Group), Plain>,
}

/// The operations of the GPUs while they are made.
struct Progress {
    job: u16,
    /// For each GPU, the operations after which it continues.
    ready: Vec<Vec<u32>>,
}

impl SimAiFile {
    /// Returns an exchange with its size scaled.
    fn scaled(&self, exchange: Exchange) -> Exchange {
        let size = Bytes::new(self.size_factor.scale(exchange.size.get()));
        Exchange { size, ..exchange }
    }

    /// Returns a time of computation scaled.
    fn time(&self, time: Time) -> Time {
        if self.compute_factor == Fixed::ONE {
            time
        } else {
            Time::from_ps(self.compute_factor.scale(time.ps()))
        }
    }

    /// Returns the hosts of the GPUs, and how GPUs are laid out on them.
    fn hosts(&self, setting: &Setting<'_>) -> Result<(Vec<u32>, Layout), Faults> {
        let work = self.file.content();
        let found = self.hosts.clone().unwrap_or_else(Hosts::all).resolve(setting.world);
        let mut hosts = found.map_err(|problem| vec![fault("hosts", problem)])?;
        let layout = Layout::of(setting, &hosts, self.ranks)?;
        let [own, gpus] = [layout.per_host(), work.gpus as usize];
        let have = hosts.len() * own;
        // A larger network than needed is no mistake; a longer list is one.
        if have < gpus || self.hosts.is_some() && have != gpus || !gpus.is_multiple_of(own) {
            let (key, names) =
                if self.hosts.is_some() { ("hosts", "names") } else { ("file", "the network has") };
            let each = match layout.ranks {
                Ranks::Hosts => "each is a host",
                Ranks::Cards => "each is a network card, and takes part with all others of its host",
            };
            let message =
                format!("{names} {} hosts with {have} GPUs for the {gpus} of the file; {each}", hosts.len());
            return Err(vec![fault(key, message)]);
        }
        hosts.truncate(gpus / own);
        Ok((hosts, layout))
    }

    fn plan(&self, setting: &Setting<'_>) -> Result<Plan, Faults> {
        let work = self.file.content();
        let (hosts, layout) = self.hosts(setting)?;
        let ends = layout.members(&hosts);
        let mut faults = Vec::new();
        let computes =
            work.computes() > Time::ZERO || work.layers.iter().any(|layer| layer.update > Time::ZERO);
        if self.compute_factor != Fixed::ONE && !computes {
            faults.push(fault("compute_factor", "has no effect: the file has no computation".to_owned()));
        }
        let mut plan = Plan {
            ends,
            of_host: layout.per_host() as u16,
            teams: BTreeMap::new(),
            collectives: BTreeMap::new(),
        };
        let mut messages = 0_u64;
        for exchange in work.exchanges().map(|exchange| self.scaled(exchange)) {
            let (group, ranks) = (exchange.group, work.size_of(exchange.group));
            if ranks < 2 {
                continue;
            }
            let operation = known(exchange.operation);
            let teams = plan.teams.entry(group).or_insert_with(|| {
                work.groups(group).into_iter().map(|gpus| Team::new(gpus, &plan.ends)).collect()
            });
            let channels = teams.first().map_or(1, |team| team.channels(operation));
            let least = Plain::least(operation, ranks).saturating_mul(channels.into());
            if exchange.size.get() < least {
                let (line, column) = exchange.place;
                let message = format!(
                    "{} cannot be divided into {least} parts, for {ranks} GPUs and {channels} channels",
                    exchange.size
                );
                let file = self.file.path();
                let problem =
                    Problem { line: Some(line), column: Some(column), ..Problem::new(message).in_file(file) };
                faults.push(problem);
                break;
            }
            let each = Plain::most_messages(operation, ranks).saturating_mul(channels.into());
            let own = if operation == Operation::AllToAll { 1 } else { u64::from(channels) };
            messages = messages.saturating_add((each / own).saturating_mul(teams.len() as u64));
        }
        faults.extend(too_many("file", messages.saturating_mul(self.passes.into())));
        if messages == 0 && faults.is_empty() {
            faults.push(fault("file", "has no collective of two GPUs or more: nothing is sent".to_owned()));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        for exchange in work.exchanges().filter(|exchange| work.size_of(exchange.group) > 1) {
            plan.collectives
                .entry((exchange.operation, exchange.group))
                .or_insert_with(|| Plain::new(known(exchange.operation), work.size_of(exchange.group)));
        }
        match plan.pairs().into_iter().find_map(|ends| setting.world.apart(ends)) {
            Some(problem) => {
                let hint = "ranks = \"hosts\" sends between whole hosts, by the cards that reach each other";
                Err(vec![fault("ranks", Problem::new(problem).with_hint(hint))])
            }
            None => Ok(plan),
        }
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        Ok(Reach::Pairs(self.plan(setting)?.pairs().into_iter().collect()))
    }

    pub(super) fn make(&self, setting: &Setting<'_>) -> Result<Made, Faults> {
        let plan = self.plan(setting)?;
        let layers = &self.file.content().layers;
        let mut made = Made { local: setting.local, ..Made::default() };
        let mut progress = Progress { job: made.job(""), ready: vec![Vec::new(); plan.ends.len()] };
        // For each layer and GPU, the operations after which it has the weights.
        let mut renewed = vec![Vec::new(); layers.len()];
        for _ in 0..self.passes {
            for (layer, renewed) in layers.iter().zip(&mut renewed) {
                for (ready, renewed) in progress.ready.iter_mut().zip(renewed.drain(..)) {
                    ready.extend::<Vec<u32>>(renewed);
                }
                plan.compute(&mut made, &mut progress, self.time(layer.forward.compute));
                self.blocking(&mut made, &plan, &mut progress, layer.forward.exchange);
            }
            for (layer, renewed) in layers.iter().zip(&mut renewed).rev() {
                plan.compute(&mut made, &mut progress, self.time(layer.input.compute));
                self.blocking(&mut made, &plan, &mut progress, layer.input.exchange);
                plan.compute(&mut made, &mut progress, self.time(layer.weight.compute));
                *renewed = self.exchange(&mut made, &plan, &progress, layer.weight.exchange);
                plan.update(&mut made, progress.job, self.time(layer.update), renewed);
            }
        }
        Ok(made)
    }

    /// Adds a collective, behind which the GPUs that take part go on.
    fn blocking(&self, made: &mut Made, plan: &Plan, progress: &mut Progress, exchange: Option<Exchange>) {
        let done = self.exchange(made, plan, progress, exchange);
        for (ready, done) in progress.ready.iter_mut().zip(done) {
            ready.extend(done);
        }
    }

    /// Adds a collective; returns what each GPU waits for at its end.
    fn exchange(
        &self,
        made: &mut Made,
        plan: &Plan,
        progress: &Progress,
        exchange: Option<Exchange>,
    ) -> Vec<Vec<u32>> {
        let mut all = vec![Vec::new(); plan.ends.len()];
        let Some(exchange) = exchange.map(|exchange| self.scaled(exchange)) else { return all };
        let Some(collective) = plan.collectives.get(&(exchange.operation, exchange.group)) else {
            return all;
        };
        let operation = known(exchange.operation);
        for team in plan.teams.get(&exchange.group).into_iter().flatten() {
            let before: Vec<Vec<u32>> =
                team.gpus.iter().map(|gpu| progress.ready[*gpu as usize].clone()).collect();
            let mut done = vec![Vec::new(); team.gpus.len()];
            let channels = team.channels(operation);
            for channel in 0..channels {
                // Each kind of groups has connections of its own.
                let of_kind = exchange.group as u32;
                let ends = |pair| -> Ends { team.ends(operation, channel, pair).map(|ends| (ends, of_kind)) };
                let bytes = share(exchange.size, channels, channel);
                collective.pass(made, (progress.job, bytes, &team.ends), ends, &before, &mut done);
            }
            for (gpu, mut done) in team.gpus.iter().zip(done) {
                done.sort_unstable();
                done.dedup();
                all[*gpu as usize] = done;
            }
        }
        all
    }
}

/// Returns the operation of the traffic `collective`.
const fn known(operation: Written) -> Operation {
    match operation {
        Written::AllReduce => Operation::AllReduce,
        Written::AllGather => Operation::AllGather,
        Written::ReduceScatter => Operation::ReduceScatter,
        Written::AllToAll => Operation::AllToAll,
    }
}

impl Plan {
    /// Returns the pairs of hosts, or cards, that exchange data.
    fn pairs(&self) -> BTreeSet<[End; 2]> {
        let mut pairs = BTreeSet::new();
        for ((operation, group), collective) in &self.collectives {
            let operation = known(*operation);
            let ranks: BTreeSet<[u32; 2]> = collective.pairs().collect();
            for team in self.teams.get(group).into_iter().flatten() {
                for channel in 0..team.channels(operation) {
                    pairs.extend(ranks.iter().filter_map(|pair| team.ends(operation, channel, *pair)));
                }
            }
        }
        pairs
    }

    /// Lets each GPU compute. Without a time it is what the next sends wait for together.
    fn compute(&self, made: &mut Made, progress: &mut Progress, time: Time) {
        for (ready, end) in progress.ready.iter_mut().zip(&self.ends) {
            if time > Time::ZERO || ready.len() > 1 {
                let after = std::mem::take(ready);
                *ready = vec![made.compute(progress.job, end.host, time, end.card.unwrap_or(0), after)];
            }
        }
    }

    /// Lets each GPU renew weights, beside what it computes, when it has the collective of their gradient.
    fn update(&self, made: &mut Made, job: u16, time: Time, done: &mut [Vec<u32>]) {
        for (done, end) in done.iter_mut().zip(&self.ends) {
            if !done.is_empty() {
                let after = std::mem::take(done);
                let processor = self.of_host + end.card.unwrap_or(0);
                *done = vec![made.compute(job, end.host, time, processor, after)];
            }
        }
    }
}
