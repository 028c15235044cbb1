//! Ring all-reduce: each host sends to the next one of its ring.

use incast_units::{Bytes, Time};

use super::groups::{Grouping, groups, job_name};
use super::hosts::Hosts;
use super::work::Made;
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
    /// A host begins the next pass when it has received its part of this one and then computed.
    pub(crate) struct RingAllReduce {
        /// The hosts that take part, in the order of the ring.
        hosts: Hosts = Hosts::all(),
        /// Division into rings.
        groups: Grouping = Grouping::One,
        /// Number of hosts of each ring.
        group_size: Option<u32> = None; Bound::Count(2, 65_536),
        /// A neural network, which gives size and compute.
        model: Option<Model> = None,
        /// Bytes that are reduced in each pass.
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

    fn rings(&self, setting: &Setting<'_>) -> Result<Vec<Vec<u32>>, Faults> {
        let rings = groups(setting, &self.hosts, self.groups, self.group_size)?;
        let mut faults = Vec::new();
        let longest = rings.iter().map(Vec::len).max().unwrap_or(0) as u64;
        match self.size() {
            None => faults.push(fault("size", "is missing; write it, or a model that has one".to_owned())),
            Some(size) if self.steps && size.get() < longest => {
                faults.push(fault("size", format!("{size} cannot be divided into {longest} parts")));
            }
            Some(_) => {}
        }
        if self.model.is_some() && self.size.is_some() && self.compute.is_some() {
            faults.push(fault("model", "has no effect: size and compute are given".to_owned()));
        }
        if self.compute.is_some() && self.passes == 1 {
            faults.push(fault("compute", "has no effect: there is a single pass".to_owned()));
        }
        let steps = |ring: &Vec<u32>| if self.steps { 2 * (ring.len() as u64 - 1) } else { 1 };
        let flows: u64 = rings.iter().map(|ring| ring.len() as u64 * steps(ring)).sum();
        faults.extend(too_many("passes", flows * u64::from(self.passes)));
        if faults.is_empty() { Ok(rings) } else { Err(faults) }
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        let rings = self.rings(setting)?;
        let next = |ring: &Vec<u32>| {
            let after = ring.iter().skip(1).chain(ring).copied();
            ring.clone().into_iter().zip(after.collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        Ok(Reach::Pairs(rings.iter().flat_map(next).collect()))
    }

    pub(super) fn make(&self, setting: &Setting<'_>) -> Result<Made, Faults> {
        let rings = self.rings(setting)?;
        let size = self.size().unwrap_or(Bytes::ZERO).get();
        let compute = self.compute.or(self.model.map(Model::compute)).unwrap_or(Time::ZERO);
        let mut made = Made::default();
        for (number, ring) in rings.iter().enumerate() {
            let job = made.job(job_name(rings.len(), number));
            let n = ring.len();
            // What each host must have done before it sends next.
            let mut before: Vec<Option<u32>> = vec![None; n];
            for pass in 0..self.passes {
                if pass > 0 && compute > Time::ZERO {
                    for (before, host) in before.iter_mut().zip(ring) {
                        let after = before.iter().copied().collect();
                        *before = Some(made.compute(job, *host, compute, 0, after));
                    }
                }
                let parts = n as u64;
                for step in 0..if self.steps { 2 * (n - 1) } else { 1 } {
                    let mut received = vec![None; n];
                    for (place, host) in ring.iter().enumerate() {
                        let bytes = if self.steps {
                            // Host i begins with part i, and then passes on the part that came last.
                            let part = (place + n * 2 - step) as u64 % parts;
                            size / parts + u64::from(part < size % parts)
                        } else {
                            (2 * (parts - 1) * size).div_ceil(parts)
                        };
                        let next = (place + 1) % n;
                        let ends = [*host, ring[next]];
                        let transfer = made.transfer(job, ends, Bytes::new(bytes), self.start);
                        made.wait(transfer.send, before[place].as_slice());
                        received[next] = Some(transfer.receive);
                    }
                    before = received;
                }
            }
        }
        Ok(made)
    }
}
