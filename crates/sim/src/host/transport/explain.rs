//! The content of packets, as captures show it.

use incast_net::packet::{Data, Kind, Packet, flag};
use incast_net::record::{OwnPacket, PacketKind};

/// The content of a packet of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Explained {
    pub(crate) kind: PacketKind,
    /// The index by which its destination knows the flow.
    pub(crate) slot: u32,
    /// Whether its destination is the flow's, not the flow's source.
    pub(crate) to_receiver: bool,
    pub(crate) sequence: Sequence,
    /// Payload bytes.
    pub(crate) payload: u16,
    /// Whether it reports a congestion mark.
    pub(crate) marked: bool,
}

/// A position in a flow, or in its connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sequence {
    /// In bytes of payload.
    Byte(u64),
    /// The first byte of the packet with this number, modulo 2^32.
    Packet(u32),
}

/// Explains a packet captured at `now` whose body has what captures show where the window transport has it: data the
/// position, the receiver's index and the payload; other packets the sender's index, the number of the packet expected
/// next and the marks. `own` are the own packets of the transport. Returns `None` for a frame of flow control.
pub(crate) fn explained(packet: &Packet, now: u64, own: &[OwnPacket]) -> Option<Explained> {
    let data = || Data::of(&packet.body);
    let whole = |kind, slot, to_receiver, payload| Explained {
        kind,
        slot,
        to_receiver,
        sequence: Sequence::Byte(data().sequence),
        payload,
        marked: packet.is(flag::MARKED),
    };
    let control = |kind| {
        let ack = packet.ack(now);
        Explained {
            kind,
            slot: ack.slot,
            to_receiver: false,
            sequence: Sequence::Packet(ack.expected),
            payload: 0,
            marked: packet.is(flag::MARKED) || ack.marked > 0,
        }
    };
    Some(match packet.kind {
        Kind::Data => whole(PacketKind::Data, data().slot, true, data().payload),
        Kind::Header => whole(PacketKind::Header, data().slot, true, 0),
        Kind::Returned => whole(PacketKind::Returned, packet.origin().index(), false, 0),
        Kind::Ack => control(PacketKind::Ack),
        Kind::Nack => control(PacketKind::Nack),
        Kind::Cnp => control(PacketKind::Cnp),
        Kind::Own => control(PacketKind::Own(*own.get(usize::from(packet.op()?))?)),
        Kind::Pause | Kind::Resume | Kind::PauseMap => return None,
    })
}
