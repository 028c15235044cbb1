//! Internal quantities of congestion control, sampled with their flows.

use incast_cc::params::Value;
use incast_units::Time;

use super::channel::{Digest, Record, kept_as_received};
use super::sample::{self, sample};
use crate::describe::probe::Probes;

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
    kept_as_received!((Time, u32, u16), |record| (record.time, record.flow, record.internal));

    fn delay(probes: &Probes) -> Time {
        probes.flow_interval
    }

    fn until(pending: Self, end: Time, probes: &Probes) -> Option<Self> {
        sample::until(pending, end, probes.flow_interval)
    }

    fn digest(&self, digest: &mut Digest) {
        let Self { time, flow, internal, value, samples: _ } = self;
        let (kind, value) = value.bits();
        let place = u64::from(*flow) << 16 | u64::from(*internal);
        digest.add(&[time.ps(), place, u64::from(kind), value]);
    }
}
