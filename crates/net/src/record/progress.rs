//! Progress of a run.

use incast_units::Time;

/// Progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time reached.
    pub now: Time,
    /// Flows that count and are done.
    pub flows_finished: u64,
    /// Number of flows that count.
    pub flows: u64,
    /// Packet-hops so far: one hop is one packet that left one port.
    pub hops: u64,
}
