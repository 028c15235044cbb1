//! The context in which every kind of traffic is checked and made.

use std::collections::BTreeMap;

use incast_sim::describe::network::PortId;
use incast_sim::describe::work::BESIDE;
use incast_units::{Bytes, Rate, Time};

use super::hosts::{End, Hosts, World};
use crate::limits::MAX_FLOWS;
use crate::problem::{Problem, fault};

/// A flow as its block makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draft {
    /// Its number within the block, which names it for random draws.
    pub(crate) index: u64,
    pub(crate) source: u32,
    pub(crate) destination: u32,
    /// The network card of each end, where the block names it.
    pub(crate) cards: [Option<PortId>; 2],
    /// Its channel among those that use the same two ends, each of which has a connection of its own.
    pub(crate) channel: u32,
    pub(crate) size: Bytes,
    pub(crate) start: Time,
    pub(crate) stop: Time,
}

impl Draft {
    /// A flow of this size with a number in its block, alone between its ends.
    pub(crate) fn new(index: u64, [from, to]: [End; 2], size: Bytes, start: Time) -> Self {
        Self {
            index,
            source: from.host,
            destination: to.host,
            cards: [from.card, to.card],
            channel: 0,
            size,
            start,
            stop: Time::NEVER,
        }
    }

    /// Returns its ends.
    pub(super) fn ends(&self) -> [End; 2] {
        let [from, to] = self.cards;
        [End { host: self.source, card: from }, End { host: self.destination, card: to }]
    }
}

/// Hosts, or network cards, that may exchange data in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Each of the first to any of the second.
    Any(Vec<End>, Vec<End>),
    /// The members of each group, any of them to any other.
    Groups(Vec<Vec<End>>),
    /// These pairs.
    Pairs(Vec<[End; 2]>),
}

impl Reach {
    /// Returns the number of flows to the host, or card, that receives most, if each pair has one.
    pub(super) fn senders(&self) -> u64 {
        let most = |from: &[End], to: &[End]| {
            let mut own: BTreeMap<u32, usize> = BTreeMap::new();
            from.iter().for_each(|end| *own.entry(end.host).or_default() += 1);
            let others = to.iter().map(|end| from.len() - own.get(&end.host).copied().unwrap_or(0));
            others.max().unwrap_or(0) as u64
        };
        match self {
            Self::Any(from, to) => most(from, to),
            Self::Groups(groups) => groups.iter().map(|group| most(group, group)).max().unwrap_or(0),
            Self::Pairs(pairs) => {
                let mut flows: BTreeMap<End, u64> = BTreeMap::new();
                pairs.iter().for_each(|[_, to]| *flows.entry(*to).or_default() += 1);
                flows.into_values().max().unwrap_or(0)
            }
        }
    }
}

/// The offered load of a block while it lasts, if it is a rate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offered {
    /// Payload rate of each of its senders, in bit/s.
    pub(crate) from: Vec<(End, f64)>,
    /// The receivers; every one at another host gets an equal part of it.
    pub(crate) to: Vec<End>,
}

/// The errors in a block, by its own keys.
pub(crate) type Faults = Vec<Problem>;

/// Context in which a block's pattern is checked and made.
pub(crate) struct Setting<'a> {
    pub(crate) world: &'a World<'a>,
    /// The end of the run, where it is given.
    pub(crate) until: Option<Time>,
    /// The highest rate and the shortest delay that a link is changed to.
    pub(crate) quickest: (Rate, Time),
    /// The links inside of hosts; `None`: data that stays within a host takes no time.
    pub(crate) local: Option<Local>,
}

/// The links inside of hosts, one out of each GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Local {
    /// The rate at which a GPU sends, one message after the other.
    pub(crate) rate: Rate,
    /// The time that a message needs after it has left.
    pub(crate) delay: Time,
}

impl Local {
    /// Returns the processor whose computations are the messages that a card's GPU sends within its host.
    pub(super) fn processor(card: Option<PortId>) -> u16 {
        BESIDE - 1 - card.unwrap_or(0)
    }
}

impl Setting<'_> {
    /// No flow of this size between these ends takes less.
    pub(super) fn shortest(&self, [source, destination]: [End; 2], size: Bytes) -> Time {
        let (changed_rate, changed_delay) = self.quickest;
        let ports = |end: End| end.links(self.world.fabric).iter();
        let rate: Rate = ports(source).map(|(_, rate, _)| (*rate).max(changed_rate)).sum();
        let delay = |host| ports(host).map(|(.., delay)| *delay).min().unwrap_or_default().min(changed_delay);
        // There, and back with the acknowledgement.
        rate.time_for(size) + delay(source).max(delay(destination)).times(2)
    }
}

/// Longest mean gap between two events, in 2^-32 ps: a day and a half.
pub(super) const MAX_GAP: u128 = 1 << 89;

/// The mean gap in 2^-32 ps when each event brings `bits` bit (times ps per second) and `offered` is
/// the rate in 2^-32 bit/s.
pub(super) fn mean_gap(bits: u128, offered: u128) -> u128 {
    let shift = bits.leading_zeros().min(64);
    let quotient = (bits << shift) / offered.max(1);
    quotient.checked_mul(1 << (64 - shift)).unwrap_or(MAX_GAP).clamp(1, MAX_GAP)
}

/// The fault of a block that makes too many flows, if it does.
pub(super) fn too_many(key: &str, flows: u64) -> Option<Problem> {
    (flows > MAX_FLOWS).then(|| fault(key, format!("makes {flows} flows; at most {MAX_FLOWS} are possible")))
}

/// The hosts or network cards of two keys together, each of the first with a path to each of the second, or the faults of
/// both.
pub(super) fn both(world: &World<'_>, from: &Hosts, to: &Hosts) -> Result<(Vec<End>, Vec<End>), Faults> {
    let (from, to) = of_both(from.members(world), to.members(world))?;
    match world.any_apart(&from, &to) {
        Some(problem) => Err(vec![fault("to", problem)]),
        None => Ok((from, to)),
    }
}

/// Returns the host of all of these ends, if it is one.
pub(super) fn only_host(ends: &[End]) -> Option<u32> {
    let first = ends.first()?.host;
    ends.iter().all(|end| end.host == first).then_some(first)
}

/// The values of the keys `from` and `to`, or the faults of both.
fn of_both<T>(from: Result<T, Problem>, to: Result<T, Problem>) -> Result<(T, T), Faults> {
    match (from, to) {
        (Ok(from), Ok(to)) => Ok((from, to)),
        (from, to) => Err([("from", from.err()), ("to", to.err())]
            .into_iter()
            .filter_map(|(key, message)| Some(fault(key, message?)))
            .collect()),
    }
}

/// Pairs made from two lists: one to one, all to one, or one to all.
pub(super) fn pairs(world: &World<'_>, from: &Hosts, to: &Hosts) -> Result<Vec<[End; 2]>, Faults> {
    let (from, to) = of_both(from.ends(world), to.ends(world))?;
    let pairs: Vec<[End; 2]> = match (from.len(), to.len()) {
        (a, b) if a == b => from.into_iter().zip(to).map(<[End; 2]>::from).collect(),
        (_, 1) => from.into_iter().map(|end| [end, to[0]]).collect(),
        (1, _) => to.into_iter().map(|end| [from[0], end]).collect(),
        (a, b) => {
            let message = format!("names {b} hosts for {a} senders; write one for all, or one for each");
            return Err(vec![fault("to", message)]);
        }
    };
    if let Some([end, _]) = pairs.iter().find(|[a, b]| a.host == b.host) {
        let name = &world.fabric.network.nodes[end.host as usize];
        return Err(vec![fault("to", format!("{name} would send to itself"))]);
    }
    match pairs.iter().find_map(|ends| world.apart(*ends)) {
        Some(problem) => Err(vec![fault("to", problem)]),
        None => Ok(pairs),
    }
}
