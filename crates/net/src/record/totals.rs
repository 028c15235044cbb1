//! Totals of ports.

use incast_units::{Bytes, Time};

use super::channel::Digest;
use super::place::at;
use crate::describe::network::{NodeId, PortId};

/// Totals of a port over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortTotals {
    /// The node.
    pub node: NodeId,
    /// Its port.
    pub port: PortId,
    /// Bytes transmitted, all packets.
    pub transmitted: Bytes,
    /// Packets transmitted.
    pub packets: u64,
    /// Packets dropped on admission to this port's queues.
    pub drops: u64,
    /// Bytes dropped on admission to this port's queues.
    pub dropped: Bytes,
    /// Packets marked.
    pub marked: u64,
    /// Packets whose payload was removed because this port's data queue was full.
    pub trimmed: u64,
    /// Packets of any kind that the link corrupted.
    pub corrupted: u64,
    /// Longest queue.
    pub peak_queue: Bytes,
    /// Time spent paused by the far end.
    pub paused: Time,
    /// Pause frames sent to the far end.
    pub pauses_sent: u64,
    /// Times at which the watchdog of PFC found a queue paused for too long.
    pub storms: u64,
    /// Packets, of those dropped, that it dropped.
    pub storm_drops: u64,
    /// Packets, of those dropped, that came to this port of a host and found its receive buffer full.
    pub receiver_drops: u64,
}

impl PortTotals {
    /// Adds the totals to a hash.
    pub fn digest(&self, digest: &mut Digest) {
        let Self {
            node,
            port,
            transmitted,
            packets,
            drops,
            dropped,
            marked,
            trimmed,
            corrupted,
            peak_queue,
            paused,
            pauses_sent,
            storms,
            storm_drops,
            receiver_drops,
        } = self;
        digest.add(&[at(*node, *port), transmitted.get(), *packets, *drops, dropped.get(), *marked]);
        digest.add(&[peak_queue.get(), paused.ps(), *pauses_sent]);
        // Only where it happens: the fingerprints of other runs are those of before there was trimming.
        if *trimmed > 0 {
            digest.add(&[*trimmed]);
        }
        if *corrupted > 0 {
            digest.add(&[*corrupted]);
        }
        if *storms > 0 {
            digest.add(&[*storms, *storm_drops]);
        }
        if *receiver_drops > 0 {
            digest.add(&[*receiver_drops]);
        }
    }
}
