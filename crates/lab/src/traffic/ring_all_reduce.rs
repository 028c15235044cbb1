//! Ring all-reduce: each host sends to the next one of its ring, over one channel or several.
//!
//! A ring of ranks that are the GPUs of hosts passes all GPUs of a host before it leaves for the next one, so that only
//! one edge in as many as a host has GPUs crosses the network. Each channel has a ring of its own, which leaves and
//! enters each host by the same card.

use std::collections::BTreeSet;

use incast_sim::describe::network::PortId;
use incast_units::{Bytes, Time};

use super::groups::{Group, Grouping, groups, job_name};
use super::hosts::{End, Hosts};
use super::ranks::{Ranks, share};
use super::work::{Made, Volume};
use super::{Faults, Reach, Setting, too_many};
use crate::grammar::section::{choice, section};
use crate::grammar::setting::Bound;
use crate::problem::fault;

/// A neural network whose gradients are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// ResNet.
    ResNet,
    /// VGG.
    Vgg,
}

choice! {
    Model {
        "resnet" => ResNet: "2,244,609 B, 93.5 us (OSCAR artifact)",
        "vgg" => Vgg: "9,439,232 B, 365.7 us (OSCAR artifact)",
    }
}

impl Model {
    fn size(self) -> Bytes {
        Bytes::new(match self {
            Self::ResNet => 2_244_609,
            Self::Vgg => 9_439_232,
        })
    }

    fn compute(self) -> Time {
        Time::from_ns(match self {
            Self::ResNet => 93_500,
            Self::Vgg => 365_700,
        })
    }
}

section! {
    /// Ring all-reduce: in each pass every host sends 2(n-1)/n of the size to the next host of its ring.
    ///
    /// A host begins the next pass when it has received its part of this one and then computed. Where hosts have several
    /// network cards, each has as many GPUs, which are the members of the ring: n is their number. A ring passes the GPUs
    /// of a host one after the other, at no cost. It has one channel for each card, which carries its share of the bytes
    /// from that card to the same card of the next host.
    pub(crate) struct RingAllReduce {
        /// The hosts that take part, in the order of the ring.
        hosts: Hosts = Hosts::all(),
        /// Division into rings.
        groups: Grouping = Grouping::One,
        /// Number of hosts of each ring.
        group_size: Option<u32> = None; Bound::Count(2, 65_536),
        /// Members of a ring; by default cards where all hosts have equally many, two or more.
        ranks: Option<Ranks> = None,
        /// Number of channels, which divide the bytes; channel c takes card c of each host, modulo the number of cards. By
        /// default one for each card.
        channels: Option<u32> = None; Bound::Count(1, 1024) => "NCCL: a channel for each card, NCCL_CROSS_NIC = 0",
        /// A neural network, which gives size and compute.
        model: Option<Model> = None,
        /// Payload per rank and pass, not per flow: all that is reduced. Each edge of the ring carries 2(n-1)/n times as much.
        size: Option<Bytes> = None; Bound::Positive,
        /// Time that a host computes between two passes; by default as the model, or not at all.
        compute: Option<Time> = None,
        /// Whether a pass is 2(n-1) steps, in each of which a host passes on what it received in the step
        /// before; if not, it is one flow of as many bytes.
        steps: bool = false,
        /// Number of passes.
        passes: u32 = 1; Bound::Count(1, 1_000_000),
        /// Start of the first pass.
        start: Time = Time::ZERO,
    }
}

impl RingAllReduce {
    fn size(&self) -> Option<Bytes> {
        self.size.or(self.model.map(Model::size))
    }

    fn rings(&self, setting: &Setting<'_>) -> Result<Vec<Group>, Faults> {
        let rings = groups(setting, &self.hosts, self.groups, self.group_size, self.ranks)?;
        let mut faults = Vec::new();
        let longest = rings.iter().map(Group::ranks).max().unwrap_or(0) as u64;
        // Rings differ in their cards only.
        let channels = u64::from(rings[0].layout.channels(self.channels));
        let parts = if self.steps { longest * channels } else { channels };
        match self.size() {
            None => faults.push(fault("size", "is missing; write it, or a model that has one".to_owned())),
            Some(size) if size.get() < parts => {
                faults.push(fault("size", format!("{size} cannot be divided into {parts} parts")));
            }
            Some(_) => {}
        }
        if self.model.is_some() && self.size.is_some() && self.compute.is_some() {
            faults.push(fault("model", "has no effect: size and compute are given".to_owned()));
        }
        if self.compute.is_some() && self.passes == 1 {
            faults.push(fault("compute", "has no effect: there is a single pass".to_owned()));
        }
        let steps = |ring: &Group| self.steps(ring.ranks()) as u64;
        let flows: u64 = rings.iter().map(|ring| ring.hosts.len() as u64 * steps(ring)).sum();
        faults.extend(too_many("passes", flows.saturating_mul(channels * u64::from(self.passes))));
        if faults.is_empty() { Ok(rings) } else { Err(faults) }
    }

    /// Number of flows from each host in a pass of a channel with this number of ranks.
    fn steps(&self, ranks: usize) -> usize {
        if self.steps { 2 * (ranks - 1) } else { 1 }
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        let rings = self.rings(setting)?;
        let next = |Group { hosts: ring, layout }: &Group| {
            let channels = 0..layout.channels(self.channels);
            let cards: BTreeSet<Option<PortId>> = channels.map(|channel| layout.card_of(channel)).collect();
            let hosts = ring.iter().zip(ring.iter().skip(1).chain(ring)).map(|(a, b)| [*a, *b]);
            let of =
                |hosts: [u32; 2]| cards.iter().map(move |card| hosts.map(|host| End { host, card: *card }));
            hosts.flat_map(of).collect::<Vec<_>>()
        };
        Ok(Reach::Pairs(rings.iter().flat_map(next).collect()))
    }

    pub(super) fn make(&self, setting: &Setting<'_>) -> Result<Made, Faults> {
        let rings = self.rings(setting)?;
        let compute = self.compute.or(self.model.map(Model::compute)).unwrap_or(Time::ZERO);
        let mut made = Made::default();
        for (number, ring) in rings.iter().enumerate() {
            let job = made.job(job_name(rings.len(), number));
            let ranks = ring.ranks() as u128;
            let size = u128::from(self.size().unwrap_or(Bytes::ZERO).get()) * u128::from(self.passes);
            let computed = compute.times(u64::from(self.passes - 1));
            made.measure(job, Volume::new(size, 2 * size * (ranks - 1) / ranks, computed));
            // What each host must have done before it sends next.
            let mut before: Vec<Vec<u32>> = vec![Vec::new(); ring.hosts.len()];
            for pass in 0..self.passes {
                if pass > 0 && compute > Time::ZERO {
                    for (before, host) in before.iter_mut().zip(&ring.hosts) {
                        let after = std::mem::take(before);
                        let processor = ring.layout.rail.unwrap_or(0);
                        before.push(made.compute(job, *host, compute, processor, after));
                    }
                }
                let mut received = vec![Vec::new(); ring.hosts.len()];
                for channel in 0..ring.layout.channels(self.channels) {
                    self.pass(&mut made, job, (ring, channel), &before, &mut received);
                }
                before = received;
            }
        }
        Ok(made)
    }

    /// One pass of a channel, in which each host begins after `before`. Adds the last things that each receives.
    fn pass(
        &self,
        made: &mut Made,
        job: u16,
        (Group { hosts: ring, layout }, channel): (&Group, u32),
        before: &[Vec<u32>],
        received: &mut [Vec<u32>],
    ) {
        let (n, own) = (ring.len(), layout.per_host());
        let ranks = (n * own) as u64;
        let size = share(self.size().unwrap_or(Bytes::ZERO), layout.channels(self.channels), channel);
        let card = layout.card_of(channel);
        let steps = self.steps(n * own);
        // Of each step, what each host received.
        let mut arrived: Vec<Vec<u32>> = Vec::with_capacity(steps);
        for step in 0..steps {
            let mut arrives = vec![0; n];
            for (place, host) in ring.iter().enumerate() {
                let bytes = if self.steps {
                    // The last rank of a host begins with its own part, and then passes on those of the ranks before it.
                    let last = place * own + own - 1;
                    let part = ((last + 2 * n * own - step) as u64) % ranks;
                    size / ranks + u64::from(part < size % ranks)
                } else {
                    (2 * u128::from(ranks - 1) * u128::from(size)).div_ceil(u128::from(ranks)) as u64
                };
                let next = (place + 1) % n;
                let ends = [*host, ring[next]].map(|host| End { host, card });
                let transfer = made.transfer(job, ends, Bytes::new(bytes), self.start);
                made.on_channel(layout.channel_of_card(channel));
                // All that it sends has its own share of the sum.
                made.wait(transfer.send, &before[place]);
                // A part takes as many steps through a host as it has ranks.
                if let Some(earlier) = step.checked_sub(own) {
                    made.wait(transfer.send, &[arrived[earlier][place]]);
                }
                arrives[next] = transfer.receive;
            }
            arrived.push(arrives);
        }
        for arrives in arrived.iter().rev().take(own) {
            received.iter_mut().zip(arrives).for_each(|(received, arrives)| received.push(*arrives));
        }
    }
}
