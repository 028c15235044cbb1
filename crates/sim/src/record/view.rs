//! What records may ask of a run.

use super::packet::PacketRecord;
use crate::describe::network::{NodeId, PortId};
use crate::describe::probe::Probes;
use crate::packet::Packet;

/// All that records may ask of a run.
pub(crate) trait View {
    /// Returns what is recorded.
    fn probes(&self) -> &Probes;

    /// Explains a captured packet.
    fn packet(&self, captured: &Captured) -> PacketRecord;
}

/// A packet when its transmission began at a captured port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Captured {
    pub(crate) time: u64,
    pub(crate) node: NodeId,
    pub(crate) port: PortId,
    pub(crate) packet: Packet,
}
