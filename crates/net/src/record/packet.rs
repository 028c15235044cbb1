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
    /// Permission of a receiver to send more of a message.
    Grant,
    /// Request of a receiver to send packets again.
    Resend,
    /// PFC frame that pauses a queue.
    Pause,
    /// PFC frame that resumes a queue.
    Resume,
    /// A data packet whose payload a switch has removed.
    Header,
    /// Such a header on its way back to the sender.
    Returned,
    /// A receiver's request for packets.
    Pull,
    /// Frame of backpressure flow control that says which queues are paused.
    PauseMap,
}

/// A packet when its transmission began at a captured port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// When its first bit left.
    pub time: Time,
    /// The node.
    pub node: NodeId,
    /// Its port.
    pub port: PortId,
    /// What it is.
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
        } = self;
        let kind = match kind {
            PacketKind::Data => 0,
            PacketKind::Ack => 1,
            PacketKind::Nack => 2,
            PacketKind::Cnp => 3,
            PacketKind::Pause => 4,
            PacketKind::Resume => 5,
            PacketKind::Header => 6,
            PacketKind::Returned => 7,
            PacketKind::Pull => 8,
            PacketKind::Grant => 9,
            PacketKind::Resend => 10,
            PacketKind::PauseMap => 11,
        };
        let flow = flow.map_or(u64::MAX, u64::from);
        let ends = u64::from(*source) << 32 | u64::from(*destination);
        digest.add(&[time.ps(), at(*node, *port), kind, flow, ends, *sequence]);
        digest.add(&[payload.get(), size.get(), u64::from(*queue), u64::from(*marked)]);
    }
}
