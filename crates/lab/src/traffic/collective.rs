//! Collectives by name and algorithm: a schedule of messages between ranks, put on hosts and their network cards.

mod algorithm;
mod halving;
mod matrix;
mod pass;
mod rings;
mod schedule;
mod steps;
mod trees;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use incast_units::{Bytes, Time};

pub(super) use self::algorithm::Operation;
use self::algorithm::{Algorithm, word};
use self::matrix::Matrix;
pub(super) use self::pass::{Ends, Plain};
use self::schedule::{Schedule, Shape, Sizes};
use self::steps::{blocks, most_messages, schedule};
use super::groups::{Group, Grouping, groups, job_name};
use super::hosts::{End, Hosts};
use super::ranks::{Layout, Ranks, share};
use super::work::{Made, Volume};
use super::{Faults, Reach, Setting, too_many};
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::problem::{Problem, fault};

section! {
    /// A collective operation by one of its algorithms, pass after pass.
    ///
    /// A rank sends a message when it has received what the message is made of. It begins the next pass when it has
    /// received all messages of this one to it, its own are acknowledged, and it has then computed. Where hosts have
    /// several network cards, each has as many GPUs, which are the ranks and exchange data within a host by the
    /// links of `[server]`, or at no cost.
    pub(crate) struct Collective {
        /// Operation.
        operation: Operation,
        /// Algorithm; by default "ring", for all-to-all "direct".
        algorithm: Option<Algorithm> = None => "NCCL: rings, and sends and receives of pairs",
        /// Payload per rank and pass, not per message or pair, as nccl-tests counts it. All-reduce, broadcast, reduce: the data
        /// of each rank. All-gather: all that a rank has at the end. Reduce-scatter, all-to-all: all that a rank has at the
        /// beginning, an n-th of it for each of the n ranks, itself included. Gather, scatter: all that the root has at the
        /// end, or at the beginning.
        size: Option<Bytes> = None; Bound::Positive,
        /// Of an all-to-all, instead of its size: the bytes of each rank for each rank, a row for each sender, or the file
        /// that has them. What a rank has for itself is not sent.
        matrix: Option<Matrix> = None,
        /// Rank of each group, from 0, that has the data of a broadcast or scatter, or the result of a reduce or gather; by
        /// default 0.
        root: Option<u32> = None,
        /// The hosts that take part, in the order of their ranks.
        hosts: Hosts = Hosts::all(),
        /// Division into groups, each with a collective of its own.
        groups: Grouping = Grouping::One,
        /// Number of hosts of each group.
        group_size: Option<u32> = None; Bound::Count(2, 65_536),
        /// Members of a group; by default cards where all hosts have equally many, two or more.
        ranks: Option<Ranks> = None,
        /// Number of channels, which divide the bytes and carry their parts beside each other. With rings and trees, and
        /// with ranks = "hosts", channel c takes card c of each host, modulo the number of cards, and there is one for
        /// each card by default. With other algorithms each GPU sends by its own card, and there is one by default.
        channels: Option<u32> = None; Bound::Count(1, 1024) => "NCCL: a channel for each card, NCCL_CROSS_NIC = 0",
        /// Of hierarchical algorithms: number of ranks that follow each other in each inner group; by default the GPUs of a
        /// host.
        inner: Option<u32> = None; Bound::Count(2, 65_536),
        /// Of trees, and of a broadcast or reduce by chains: maximum size of the pieces that a rank passes on one after the other; by
        /// default 524,288 B.
        chunk: Option<Bytes> = None; Bound::Positive => "NCCL: NCCL_BUFFSIZE = 4 MiB in 8 steps",
        /// Time that a rank computes between two passes.
        compute: Time = Time::ZERO,
        /// Number of passes.
        passes: u32 = 1; Bound::Count(1, 1_000_000),
        /// Start of the first pass.
        start: Time = Time::ZERO,
    }
}

/// Default of `chunk`.
const CHUNK: Bytes = Bytes::new(4 << 20 >> 3);

/// The collective with its hosts and defaults resolved.
struct Plan {
    groups: Vec<Group>,
    algorithm: Algorithm,
    channels: u32,
    /// The dimensions of each group.
    shapes: Vec<Shape>,
    /// The schedule of a group of as many ranks.
    schedules: BTreeMap<u32, Schedule>,
}

impl Plan {
    /// Returns the schedule of a group.
    fn schedule(&self, group: usize) -> &Schedule {
        &self.schedules[&self.shapes[group].ranks]
    }

    /// Returns the ends of a message of a channel, and the number of the channel among those that use the same ends;
    /// `None`: the message stays within a host.
    fn ends(
        &self,
        (members, layout): (&[End], &Layout),
        [from, to]: [u32; 2],
        channel: u32,
    ) -> Option<([End; 2], u32)> {
        let ends = [from, to].map(|rank| members[rank as usize]);
        let [a, b] = ends;
        if a.host == b.host {
            return None;
        }
        if !self.algorithm.has_channel_cards() && layout.ranks == Ranks::Cards {
            return Some((ends, channel));
        }
        let card = layout.card_of(channel);
        Some((ends.map(|end| End { card, ..end }), layout.channel_of_card(channel)))
    }
}

impl Collective {
    fn algorithm(&self) -> Algorithm {
        self.algorithm.unwrap_or(self.operation.algorithms()[0])
    }

    /// Returns the faults of keys that have no effect, or do not go with each other.
    fn faults(&self) -> Faults {
        let (operation, algorithm) = (self.operation, self.algorithm());
        let mut faults = Vec::new();
        let known = operation.algorithms();
        if !known.contains(&algorithm) {
            let names: Vec<String> = known.iter().map(|known| format!("\"{}\"", word(*known))).collect();
            let message = format!(
                "= \"{}\" does not exist for {}; write {}",
                word(algorithm),
                word(operation),
                names.join(" or ")
            );
            faults.push(fault("algorithm", message));
        }
        match (&self.size, &self.matrix) {
            (None, None) => {
                let other = if operation == Operation::AllToAll { ", or a matrix" } else { "" };
                faults.push(fault("size", format!("is missing; write it{other}")));
            }
            (Some(_), Some(_)) => faults.push(fault("size", "has no effect: there is a matrix".to_owned())),
            _ => {}
        }
        let is = |other| operation == other;
        let is_pipelined = algorithm.is_pipelined(operation);
        let unused = [
            ("matrix", self.matrix.is_some() && !is(Operation::AllToAll), "the operation is no all-to-all"),
            ("root", self.root.is_some() && !operation.has_root(), "the operation has no root"),
            (
                "inner",
                self.inner.is_some() && algorithm != Algorithm::Hierarchical,
                "the algorithm is not hierarchical",
            ),
            ("chunk", self.chunk.is_some() && !is_pipelined, "nothing is passed on in pieces"),
            ("compute", self.compute > Time::ZERO && self.passes == 1, "there is a single pass"),
        ];
        let unused = unused.into_iter().filter(|(_, unused, _)| *unused);
        faults.extend(unused.map(|(key, _, why)| fault(key, format!("has no effect: {why}"))));
        faults
    }

    /// Returns the dimensions of a group.
    fn shape(&self, group: &Group, channels: u32) -> Result<Shape, Problem> {
        let own = group.layout.per_host() as u32;
        let ranks = group.ranks() as u32;
        let inner = match (self.algorithm(), self.inner, own) {
            (Algorithm::Tree, ..) => own,
            (Algorithm::Hierarchical, Some(inner), _) => inner,
            (Algorithm::Hierarchical, None, 2..) => own,
            (Algorithm::Hierarchical, None, _) => {
                let message = "is missing: the number of ranks that follow each other in each inner group";
                return Err(fault("inner", message.to_owned()));
            }
            _ => 1,
        };
        if !ranks.is_multiple_of(inner) || ranks < 2 * inner && inner > 1 {
            let message = format!("{ranks} ranks do not make two or more groups of {inner}");
            return Err(fault("inner", message));
        }
        let root = self.root.unwrap_or(0);
        if root >= ranks {
            return Err(fault("root", format!("there is no rank {root}; the ranks are 0 to {}", ranks - 1)));
        }
        let algorithm = self.algorithm();
        let pieces = if algorithm.is_pipelined(self.operation) {
            let bytes = share(self.size.unwrap_or(Bytes::ZERO), channels, 0);
            let of_each = bytes.div_ceil(if algorithm == Algorithm::Tree { 2 } else { 1 });
            of_each.div_ceil(self.chunk.unwrap_or(CHUNK).get()).max(1)
        } else {
            1
        };
        // Far more than can be sent.
        let pieces = u32::try_from(pieces).unwrap_or(u32::MAX >> 1).min(u32::MAX >> 1);
        Ok(Shape { ranks, inner, root, pieces })
    }

    /// Returns the sizes of the blocks of a channel of a group.
    fn sizes(&self, shape: Shape, channels: u32, channel: u32) -> Sizes {
        let ranks = shape.ranks.into();
        let size = self.size.unwrap_or(Bytes::ZERO);
        match &self.matrix {
            Some(matrix) => {
                let rows = matrix.rows(shape.ranks as usize).unwrap_or_default();
                Sizes::Each(rows.iter().flatten().map(|bytes| share(*bytes, channels, channel)).collect())
            }
            None if self.operation == Operation::AllToAll => {
                Sizes::Rows { bytes: share(size, channels, channel), ranks }
            }
            None => Sizes::Even {
                bytes: share(size, channels, channel),
                blocks: blocks(self.operation, self.algorithm(), shape),
            },
        }
    }

    fn plan(&self, setting: &Setting<'_>) -> Result<Plan, Faults> {
        let algorithm = self.algorithm();
        let groups = groups(setting, &self.hosts, self.groups, self.group_size, self.ranks)?;
        // Groups differ in their cards only.
        let layout = groups[0].layout;
        let mut faults = self.faults();
        if !faults.is_empty() {
            return Err(faults);
        }
        let has_cards = algorithm.has_channel_cards() || layout.ranks == Ranks::Hosts;
        let channels = if has_cards { layout.channels(self.channels) } else { self.channels.unwrap_or(1) };
        let of_group = |group: &Group| self.shape(group, channels);
        let shapes =
            groups.iter().map(of_group).collect::<Result<Vec<Shape>, _>>().map_err(|fault| vec![fault])?;
        for shape in &shapes {
            faults.extend(self.fault_of_sizes(*shape, channels));
        }
        let messages = |shape: &Shape| most_messages(self.operation, algorithm, *shape);
        let all = shapes.iter().map(messages).fold(0, u64::saturating_add);
        let all = all.saturating_mul(channels.into()).saturating_mul(self.passes.into());
        // Of the ranks on a host only one sends over the network where channels have cards.
        let own = if has_cards { layout.per_host() as u64 } else { 1 };
        faults.extend(too_many("passes", all / own));
        faults.truncate(1);
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut schedules = BTreeMap::new();
        for shape in &shapes {
            let make = || schedule(self.operation, algorithm, *shape);
            schedules.entry(shape.ranks).or_insert_with(make);
        }
        let plan = Plan { groups, algorithm, channels, shapes, schedules };
        match self.apart(&plan, setting) {
            Some(problem) => {
                let hint = "ranks = \"hosts\" sends between whole hosts, by the cards that reach each other";
                Err(vec![fault("ranks", Problem::new(problem).with_hint(hint))])
            }
            None => Ok(plan),
        }
    }

    /// Returns the fault of a size that cannot be divided, or of a matrix of other dimensions.
    fn fault_of_sizes(&self, shape: Shape, channels: u32) -> Option<Problem> {
        let Some(matrix) = &self.matrix else {
            let size = self.size.unwrap_or(Bytes::ZERO);
            let blocks = match self.operation {
                Operation::AllToAll => shape.ranks.into(),
                operation => blocks(operation, self.algorithm(), shape),
            };
            let parts = blocks.saturating_mul(channels.into());
            return (size.get() < parts)
                .then(|| fault("size", format!("{size} cannot be divided into {parts} parts")));
        };
        let rows = match matrix.rows(shape.ranks as usize) {
            Ok(rows) => rows,
            Err(message) => return Some(fault("matrix", message)),
        };
        let total = |row: &Vec<Bytes>| row.iter().map(|bytes| u128::from(bytes.get())).sum::<u128>();
        if rows.iter().any(|row| total(row) > u128::from(u64::MAX >> 8)) {
            return Some(fault("matrix", "has a row whose sum is too large".to_owned()));
        }
        let is_sent = (0..).zip(rows).any(|(own, row)| {
            (0..).zip(row).any(|(other, bytes): (usize, _)| other != own && *bytes > Bytes::ZERO)
        });
        (!is_sent).then(|| fault("matrix", "has no bytes for another rank".to_owned()))
    }

    /// Returns the first message between two cards without a path, as text.
    fn apart(&self, plan: &Plan, setting: &Setting<'_>) -> Option<String> {
        plan.groups[0].layout.cards.filter(|cards| *cards > 1)?;
        let mut seen = BTreeSet::new();
        for (number, group) in plan.groups.iter().enumerate() {
            let members = group.members();
            for message in &plan.schedule(number).messages {
                for channel in 0..plan.channels {
                    if let Some((ends, _)) =
                        plan.ends((&members, &group.layout), [message.from, message.to], channel)
                        && seen.insert(ends)
                        && let Some(problem) = setting.world.apart(ends)
                    {
                        return Some(problem);
                    }
                }
            }
        }
        None
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        let plan = self.plan(setting)?;
        let mut pairs = BTreeSet::new();
        for (number, group) in plan.groups.iter().enumerate() {
            let members = group.members();
            for message in &plan.schedule(number).messages {
                let ends =
                    |channel| plan.ends((&members, &group.layout), [message.from, message.to], channel);
                pairs.extend((0..plan.channels).filter_map(|channel| Some(ends(channel)?.0)));
            }
        }
        Ok(Reach::Pairs(pairs.into_iter().collect()))
    }

    pub(super) fn make(&self, setting: &Setting<'_>) -> Result<Made, Faults> {
        let plan = self.plan(setting)?;
        let mut made = Made { local: setting.local, ..Made::default() };
        for (number, group) in plan.groups.iter().enumerate() {
            let job = made.job(job_name(plan.groups.len(), number));
            made.measure(job, self.volume(plan.shapes[number]));
            let members = group.members();
            // What each rank must have done before it sends.
            let mut before: Vec<Vec<u32>> = vec![Vec::new(); members.len()];
            for pass in 1..=self.passes {
                let mut done = vec![Vec::new(); members.len()];
                for channel in 0..plan.channels {
                    let sizes = self.sizes(plan.shapes[number], plan.channels, channel);
                    let ends = |ranks| plan.ends((&members, &group.layout), ranks, channel);
                    let messages = (plan.schedule(number), &sizes, members.as_slice());
                    pass::pass(&mut made, (job, self.start), messages, ends, &before, &mut done);
                }
                if pass == self.passes {
                    break;
                }
                for ((done, before), End { host, card }) in done.iter_mut().zip(&mut before).zip(&members) {
                    done.sort_unstable();
                    done.dedup();
                    // Of no duration it is what the sends of the next pass wait for together.
                    let after = std::mem::take(done);
                    *before = vec![made.compute(job, *host, self.compute, card.unwrap_or(0), after)];
                }
            }
        }
        Ok(made)
    }

    /// Returns what a group exchanges in all passes.
    fn volume(&self, shape: Shape) -> Volume {
        let passes = u128::from(self.passes);
        let (size, moved) = match &self.matrix {
            None => {
                let size = u128::from(self.size.unwrap_or(Bytes::ZERO).get()) * passes;
                (size, self.operation.moved(size, shape.ranks.into()))
            }
            Some(matrix) => {
                let rows = matrix.rows(shape.ranks as usize).unwrap_or_default();
                let cell = |from: usize, to: usize| u128::from(rows[from][to].get());
                let all = 0..rows.len();
                // The most that a rank has to send or to receive, with and without what it keeps.
                let most = |kept: bool| {
                    let sum = |own: usize, cell: &dyn Fn(usize) -> u128| -> u128 {
                        all.clone().filter(|other| kept || *other != own).map(cell).sum()
                    };
                    let of = |own: usize| {
                        sum(own, &|other| cell(own, other)).max(sum(own, &|other| cell(other, own)))
                    };
                    all.clone().map(of).max().unwrap_or(0) * passes
                };
                (most(true), most(false))
            }
        };
        Volume::new(size, moved, self.compute.times(u64::from(self.passes - 1)))
    }
}
