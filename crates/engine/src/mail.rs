//! Packets on their way to a partition, and the far ends of links.

use incast_net::describe::network::PortId;
use incast_net::packet::{IntRecords, Packet};

/// Far end of a port's link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkTo {
    /// The partition of the node at the far end.
    pub(crate) partition: u16,
    /// The port there.
    pub(crate) port: PortId,
    /// The node's index in its partition.
    pub(crate) place: u32,
    /// The index of the link's ring there.
    pub(crate) ring: u32,
}

/// Packets for another partition.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(super) packets: Vec<(LinkTo, Packet)>,
    pub(super) stacks: Vec<IntRecords>,
}

impl Mail {
    /// Returns the packets.
    pub(super) fn packets(&self) -> impl Iterator<Item = Packet> {
        self.packets.iter().map(|(_, packet)| *packet)
    }
}
