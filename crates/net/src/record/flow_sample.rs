//! Samples of flows.

use incast_units::{Bytes, Rate, Time};

use super::channel::{Digest, Record, kept_as_received};
use super::sample::{self, sample};
use crate::describe::probe::Probes;

/// A sample of a flow at its sender, recorded as [`PortSample`](super::PortSample) is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSample {
    /// Time of the sample.
    pub time: Time,
    /// Index into the simulation's flows.
    pub flow: u32,
    /// Its window.
    pub window: Bytes,
    /// Its rate.
    pub rate: Rate,
    /// The last measured round-trip time; zero before the first.
    pub rtt: Time,
    /// Bytes in flight.
    pub inflight: Bytes,
    /// Payload acknowledged since its start.
    pub acked: Bytes,
    /// Number of samples that the record covers: this one and the equal ones directly before it that have
    /// none.
    pub samples: u64,
}

impl FlowSample {
    /// One sample of a flow without a window, a rate or an RTT, of which this much is acknowledged.
    #[must_use]
    pub const fn of_progress(time: Time, flow: u32, acked: Bytes) -> Self {
        let (window, rate, rtt, inflight) = (Bytes::ZERO, Rate::ZERO, Time::ZERO, Bytes::ZERO);
        Self { time, flow, window, rate, rtt, inflight, acked, samples: 1 }
    }
}

sample!(FlowSample, u32, |sample| sample.flow);

impl Record for FlowSample {
    const HASHED_WITHOUT_RECORDS: bool = true;

    kept_as_received!((Time, u32), |record| (record.time, record.flow));

    fn delay(probes: &Probes) -> Time {
        probes.flow_interval
    }

    fn until(pending: Self, end: Time, probes: &Probes) -> Option<Self> {
        sample::until(pending, end, probes.flow_interval)
    }

    fn digest(&self, digest: &mut Digest) {
        let Self { time, flow, window, rate, rtt, inflight, acked, samples: _ } = self;
        digest.add(&[time.ps(), u64::from(*flow), window.get(), rate.bps()]);
        digest.add(&[rtt.ps(), inflight.get(), acked.get()]);
    }
}
