//! Samples of ports.

use incast_units::{Bytes, Time};

use super::channel::{Digest, Record, kept_as_received};
use super::place::at;
use super::sample::{self, sample};
use crate::describe::network::{NodeId, PortId};
use crate::describe::probe::Probes;

/// A sample of a port. It has a record if it differs from the sample before or after it: of equal samples
/// that follow each other only the first and the last have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSample {
    /// Time of the sample.
    pub time: Time,
    /// The node.
    pub node: NodeId,
    /// Its port.
    pub port: PortId,
    /// Bytes in its queues.
    pub queue: Bytes,
    /// Bytes transmitted since the start.
    pub transmitted: Bytes,
    /// Bytes dropped since the start.
    pub dropped: Bytes,
    /// Packets marked since the start.
    pub marked: u64,
    /// Whether the far end has it paused (any priority).
    pub paused: bool,
    /// Number of samples that the record covers: this one and the equal ones directly before it that have
    /// none.
    pub samples: u64,
}

sample!(PortSample, PortId, |sample| sample.port);

impl Record for PortSample {
    const HASHED_WITHOUT_RECORDS: bool = true;

    kept_as_received!((Time, NodeId, PortId), |record| (record.time, record.node, record.port));

    fn delay(probes: &Probes) -> Time {
        probes.port_interval
    }

    fn until(pending: Self, end: Time, probes: &Probes) -> Option<Self> {
        sample::until(pending, end, probes.port_interval)
    }

    fn digest(&self, digest: &mut Digest) {
        let Self { time, node, port, queue, transmitted, dropped, marked, paused, samples: _ } = self;
        digest.add(&[time.ps(), at(*node, *port), queue.get()]);
        digest.add(&[transmitted.get(), dropped.get(), *marked, u64::from(*paused)]);
    }
}
