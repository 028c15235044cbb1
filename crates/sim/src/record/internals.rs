//! Internal quantities of congestion control, sampled with their flows.

use incast_cc::params::Value;
use incast_units::Time;

use crate::engine::channel::{Digest, Record};
use crate::engine::sampler::{self, sample};
use crate::engine::world::World;

/// A sample of one internal quantity of a flow's congestion control
/// ([`CongestionControl::probe`](incast_cc::CongestionControl::probe)), recorded as
/// [`PortSample`](super::PortSample) is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InternalSample {
    /// Time of the sample.
    pub time: Time,
    /// Index into the simulation's flows.
    pub flow: u32,
    /// Index into the [`internals`](crate::describe::algorithm::Algorithm::internals) of the flow's
    /// algorithm.
    pub internal: u16,
    /// Its value.
    pub value: Value,
    /// Number of samples that the record covers: this one and the equal ones directly before it that have
    /// none.
    pub samples: u64,
}

sample!(InternalSample, (u32, u16), |sample| (sample.flow, sample.internal));

impl Record for InternalSample {
    type Kept = Self;
    type Key = (Time, u32, u16);

    fn key(kept: &Self) -> Self::Key {
        (kept.time, kept.flow, kept.internal)
    }

    fn time(kept: &Self) -> Time {
        kept.time
    }

    fn told(kept: Self, _: &World) -> Self {
        kept
    }

    fn delay(world: &World) -> Time {
        world.probes.flow_interval
    }

    fn until(kept: Self, end: Time, world: &World) -> Option<Self> {
        sampler::until(kept, end, world.probes.flow_interval)
    }

    fn digest(&self, digest: &mut Digest) {
        let (kind, value) = self.value.bits();
        let place = u64::from(self.flow) << 16 | u64::from(self.internal);
        digest.add(&[self.time.ps(), place, u64::from(kind), value]);
    }
}
