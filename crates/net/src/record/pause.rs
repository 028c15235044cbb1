//! Pauses of ports.

use incast_units::Time;

use super::channel::{Digest, Record};
use super::place::at;
use super::view::View;
use crate::describe::network::{NodeId, PortId};

/// A port was paused or resumed by the node at its far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseRecord {
    /// When.
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

    type Pending = Self;
    type Key = (Time, NodeId, PortId, u16);

    fn key(pending: &Self) -> Self::Key {
        (pending.time, pending.node, pending.port, pending.queue)
    }

    fn time(pending: &Self) -> Time {
        pending.time
    }

    fn publish(pending: Self, _: &impl View) -> Self {
        pending
    }

    fn digest(&self, digest: &mut Digest) {
        let Self { time, node, port, queue, paused } = self;
        digest.add(&[time.ps(), at(*node, *port), u64::from(*queue)]);
        digest.add(&[u64::from(*paused)]);
    }
}
