//! Pauses of ports.

use incast_units::Time;

use super::channel::{Digest, Record, kept_as_received};
use super::place::at;
use crate::describe::network::{NodeId, PortId};

/// A port was paused or resumed by the node at its far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseRecord {
    /// Time of the event.
    pub time: Time,
    /// The node that is paused or resumed.
    pub node: NodeId,
    /// Its port.
    pub port: PortId,
    /// The queue (priority); for a host with backpressure flow control the number of the paused flow.
    pub queue: u16,
    /// Whether it was paused, not resumed.
    pub paused: bool,
}

impl Record for PauseRecord {
    const HASHED_WITHOUT_RECORDS: bool = true;

    kept_as_received!((Time, NodeId, PortId, u16), |record| (
        record.time,
        record.node,
        record.port,
        record.queue
    ));

    fn digest(&self, digest: &mut Digest) {
        let Self { time, node, port, queue, paused } = self;
        digest.add(&[time.ps(), at(*node, *port), u64::from(*queue)]);
        digest.add(&[u64::from(*paused)]);
    }
}
