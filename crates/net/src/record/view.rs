//! The view of a run that records have.

use super::packet::PacketRecord;
use crate::describe::network::{NodeId, PortId};
use crate::describe::probe::Probes;
use crate::packet::Packet;

/// All that records may ask of a run.
pub trait View {
    /// Returns what is recorded.
    fn probes(&self) -> &Probes;

    /// Explains a captured packet.
    fn packet(&self, captured: &Captured) -> PacketRecord;
}

/// A packet when its transmission began at a captured port.
#[derive(Clone, Copy, Debug)]
pub struct Captured {
    /// Time at which its first bit left. (ps)
    pub time: u64,
    /// The node.
    pub node: NodeId,
    /// Its port.
    pub port: PortId,
    /// Time at which its last bit leaves. (ps)
    pub gone: u64,
    /// Delay of the link then. (ps)
    pub delay: u64,
    /// Whether the link loses it.
    pub lost: bool,
    /// The packet; its time is its arrival at the far end.
    pub packet: Packet,
}
