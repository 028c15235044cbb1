//! Captured packets.

use incast_units::{Bytes, Time};

use super::channel::{Digest, Record};
use super::place::at;
use super::view::{Captured, View};
use crate::describe::network::{NodeId, PortId};

/// The kind of a captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// Payload from sender to receiver.
    Data,
    /// Acknowledgement.
    Ack,
    /// Report of a missing packet.
    Nack,
    /// Congestion notification.
    Cnp,
    /// PFC frame that pauses a queue.
    Pause,
    /// PFC frame that resumes a queue.
    Resume,
    /// A data packet whose payload a switch has removed.
    Header,
    /// Such a header on its way back to the sender.
    Returned,
    /// Frame of backpressure flow control that says which queues are paused.
    PauseMap,
    /// Control packet that only its transport has.
    Own(OwnPacket),
}

impl PacketKind {
    /// Every kind that does not belong to one transport alone.
    pub const SHARED: [Self; 9] = [
        Self::Data,
        Self::Ack,
        Self::Nack,
        Self::Cnp,
        Self::Pause,
        Self::Resume,
        Self::Header,
        Self::Returned,
        Self::PauseMap,
    ];

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.describe().0
    }

    /// Returns the number by which fingerprints know it.
    #[must_use]
    pub const fn code(self) -> u8 {
        self.describe().1
    }

    const fn describe(self) -> (&'static str, u8) {
        match self {
            Self::Data => ("data", 0),
            Self::Ack => ("ack", 1),
            Self::Nack => ("nack", 2),
            Self::Cnp => ("cnp", 3),
            Self::Pause => ("pause", 4),
            Self::Resume => ("resume", 5),
            Self::Header => ("header", 6),
            Self::Returned => ("returned", 7),
            Self::PauseMap => ("pause map", 11),
            Self::Own(own) => (own.name, own.code),
        }
    }
}

/// A kind of control packet that only one transport has, which declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnPacket {
    /// Its name.
    pub name: &'static str,
    /// The number by which fingerprints know it; no other kind has it.
    pub code: u8,
    /// Whether it says, as an acknowledgement does, that everything before its position has arrived.
    pub cumulative: bool,
}

/// A packet when its transmission began at a captured port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// Time at which its first bit left.
    pub time: Time,
    /// The node.
    pub node: NodeId,
    /// Its port.
    pub port: PortId,
    /// Its kind.
    pub kind: PacketKind,
    /// Index of its flow; `None` for a frame of flow control.
    pub flow: Option<u32>,
    /// Source host; for a frame of flow control the node that sends it.
    pub source: NodeId,
    /// Destination host; for a frame of flow control the node at the far end of the link.
    pub destination: NodeId,
    /// Data, also trimmed: position of its first payload byte. Others: position of the next byte expected.
    pub sequence: u64,
    /// Payload bytes of a data packet.
    pub payload: Bytes,
    /// Size on the wire.
    pub size: Bytes,
    /// Its queue (priority); for a frame that pauses or resumes one queue, that queue.
    pub queue: u16,
    /// Whether it carries a congestion mark.
    pub marked: bool,
    /// The hash by which switches choose among equal paths; 0 for a frame of flow control.
    pub hash: u32,
    /// Time between its first bit and its last one.
    pub serialisation: Time,
    /// Delay of the link as it left.
    pub propagation: Time,
    /// Time at which its last bit arrives at the far end; `None` if the link loses it.
    pub arrives: Option<Time>,
}

impl Record for PacketRecord {
    const HASHED_WITHOUT_RECORDS: bool = true;

    type Pending = Captured;
    type Key = (u64, NodeId, PortId);

    fn key(pending: &Captured) -> Self::Key {
        (pending.time, pending.node, pending.port)
    }

    fn time(pending: &Captured) -> Time {
        Time::from_ps(pending.time)
    }

    fn publish(pending: Captured, view: &impl View) -> Self {
        view.packet(&pending)
    }

    fn digest(&self, digest: &mut Digest) {
        let Self {
            time,
            node,
            port,
            kind,
            flow,
            source,
            destination,
            sequence,
            payload,
            size,
            queue,
            marked,
            // It follows from the flow, and shows in the ports that packets take.
            hash: _,
            // They follow from the link, and show in the packets that follow.
            serialisation: _,
            propagation: _,
            arrives: _,
        } = self;
        let flow = flow.map_or(u64::MAX, u64::from);
        let ends = u64::from(*source) << 32 | u64::from(*destination);
        digest.add(&[time.ps(), at(*node, *port), u64::from(kind.code()), flow, ends, *sequence]);
        digest.add(&[payload.get(), size.get(), u64::from(*queue), u64::from(*marked)]);
    }
}
