//! The headers of a packet as on the wire: Ethernet, IPv4, UDP and RoCEv2, or a PFC frame. The simulator's
//! packets have no bytes; the headers are constructed from the recorded fields.

use incast_sim::record::{OwnPacket, PacketKind, PacketRecord};

use super::address;

/// A port's MAC address: locally administered, the number of the port and of its node.
pub(super) fn mac(node: u32, port: u16) -> [u8; 6] {
    let ([high, low], [_, a, b, c]) = (port.to_be_bytes(), node.to_be_bytes());
    [0x02, high, low, a, b, c]
}

/// Header fields of a packet that are not in its record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    /// MAC address of the port at the far end.
    pub(super) to: [u8; 6],
    /// Payload of a full data packet, by which packet numbers count; at least 1.
    pub(super) payload: u64,
    /// Payload of the whole flow; `None` when it is open-ended.
    pub(super) flow_size: Option<u64>,
    /// Smallest packet on the wire.
    pub(super) smallest: u64,
}

/// The UDP port of RoCEv2 (InfiniBand Architecture 1.2.1, annex A17).
const ROCE_PORT: u16 = 4791;
/// Queue pair numbers start here: the first ones have other meanings in InfiniBand.
const FIRST_QP: u32 = 16;

/// Operations of the base transport header (InfiniBand Architecture 1.2.1, section 9.2; CNP: annex A17).
mod opcode {
    pub(super) const SEND_FIRST: u8 = 0x00;
    pub(super) const SEND_MIDDLE: u8 = 0x01;
    pub(super) const SEND_LAST: u8 = 0x02;
    pub(super) const SEND_ONLY: u8 = 0x04;
    pub(super) const ACKNOWLEDGE: u8 = 0x11;
    pub(super) const CNP: u8 = 0x81;
}

/// The first bytes of the packet, up to where its payload begins.
pub(super) fn frame(record: &PacketRecord, context: &Context) -> Vec<u8> {
    let mut out = Vec::with_capacity(80);
    let Some(flow) = record.flow else {
        match record.kind {
            PacketKind::PauseMap => pause_map(&mut out, record),
            _ => pfc(&mut out, record),
        }
        return out;
    };
    out.extend(context.to);
    out.extend(mac(record.node, record.port));
    out.extend(0x0800_u16.to_be_bytes());

    let is_data = record.kind == PacketKind::Data;
    let extension: &[u8] = &match record.kind {
        // A header without its payload, also on its way back, is the header of its packet.
        PacketKind::Data | PacketKind::Header | PacketKind::Returned => Vec::new(),
        // A CNP's 16 reserved bytes, as many of them as the simulated packet has room for.
        PacketKind::Cnp => vec![0; record.size.get().saturating_sub(54).min(16) as usize],
        _ => acknowledgement(record, context).to_vec(),
    };
    // A packet below the smallest size is padded behind the end of its IP packet.
    let inside = 20 + 8 + 12 + extension.len() as u64;
    let length = record.size.get().saturating_sub(14);
    let length = if !is_data && record.size.get() <= context.smallest { inside } else { length.max(inside) };
    let length = u16::try_from(length).unwrap_or(u16::MAX);

    // Congestion experienced, or capable of it (RFC 3168); only data can be marked.
    let ecn = match (is_data, record.marked) {
        (true, true) => 0b11,
        (true, false) => 0b10,
        (false, _) => 0b00,
    };
    let start = out.len();
    out.extend([0x45, (record.queue << 5) as u8 | ecn]);
    out.extend(length.to_be_bytes());
    // No identification, not to be fragmented; 64 hops; UDP; the checksum comes below.
    out.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    out.extend(address(record.source).to_be_bytes());
    out.extend(address(record.destination).to_be_bytes());
    let sum = checksum(&out[start..]);
    out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());

    // The source port distinguishes flows for ECMP; RoCEv2 sends a zero UDP checksum.
    out.extend((0xc000 | (flow & 0x3fff) as u16).to_be_bytes());
    out.extend(ROCE_PORT.to_be_bytes());
    out.extend((length - 20).to_be_bytes());
    out.extend([0, 0]);

    base_transport_header(&mut out, record, context, flow);
    out.extend(extension);
    out
}

fn base_transport_header(out: &mut Vec<u8>, record: &PacketRecord, context: &Context, flow: u32) {
    let end = record.sequence.saturating_add(record.payload.get());
    let opcode = match record.kind {
        PacketKind::Data => match (record.sequence == 0, context.flow_size == Some(end)) {
            (true, true) => opcode::SEND_ONLY,
            (true, false) => opcode::SEND_FIRST,
            (false, true) => opcode::SEND_LAST,
            (false, false) => opcode::SEND_MIDDLE,
        },
        PacketKind::Header | PacketKind::Returned => opcode::SEND_MIDDLE,
        PacketKind::Cnp => opcode::CNP,
        _ => opcode::ACKNOWLEDGE,
    };
    // Data packets are numbered from 0. An acknowledgement names the last one that came in order, a
    // NACK the one that is missing.
    let number = match record.kind {
        PacketKind::Data | PacketKind::Header | PacketKind::Returned | PacketKind::Nack => {
            record.sequence / context.payload
        }
        PacketKind::Ack | PacketKind::Own(OwnPacket { cumulative: true, .. }) => {
            record.sequence.div_ceil(context.payload).wrapping_sub(1)
        }
        _ => 0,
    };
    // BECN on an acknowledgement that reports a mark, and on every CNP.
    let becn = u8::from(record.kind == PacketKind::Cnp || record.kind == PacketKind::Ack && record.marked);
    out.extend([opcode, 0]);
    out.extend(0xffff_u16.to_be_bytes());
    out.push(becn << 6);
    out.extend(&flow.wrapping_add(FIRST_QP).to_be_bytes()[1..]);
    out.push(0);
    out.extend(&(number as u32).to_be_bytes()[1..]);
}

/// The extended header of acknowledgements (InfiniBand Architecture 1.2.1, section 9.3.5): positive, or
/// "PSN sequence error"; and how many messages, here flows, are done.
fn acknowledgement(record: &PacketRecord, context: &Context) -> [u8; 4] {
    let syndrome = if record.kind == PacketKind::Nack { 0x60 } else { 0x1f };
    let done = record.kind == PacketKind::Ack && context.flow_size == Some(record.sequence);
    [syndrome, 0, 0, u8::from(done)]
}

/// A PFC frame (IEEE 802.1Qbb; 802.3 annex 31D): the longest pause, since the simulator's pauses last until
/// a resume, or zero.
fn pfc(out: &mut Vec<u8>, record: &PacketRecord) {
    out.extend([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);
    out.extend(mac(record.node, record.port));
    out.extend(0x8808_u16.to_be_bytes());
    out.extend(0x0101_u16.to_be_bytes());
    out.extend([0, 1_u8.checked_shl(u32::from(record.queue)).unwrap_or(0)]);
    for queue in 0..8 {
        let paused = record.kind == PacketKind::Pause && queue == record.queue;
        out.extend(if paused { [0xff, 0xff] } else { [0, 0] });
    }
    // Filled up to the frame without its check sequence, which the size counts.
    out.resize(60, 0);
}

/// A frame of backpressure flow control, for which there is no standard: an Ethernet header with the first of the
/// types for local experiments (IEEE 802).
fn pause_map(out: &mut Vec<u8>, record: &PacketRecord) {
    out.extend([0xff; 6]);
    out.extend(mac(record.node, record.port));
    out.extend(0x88b5_u16.to_be_bytes());
}

/// The internet checksum (RFC 1071) of a header whose checksum field is zero.
fn checksum(header: &[u8]) -> u16 {
    let mut sum: u32 =
        header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        // The example of Wikipedia's article on the IPv4 header checksum, a well-known one.
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0x00, 0x01, 0xc0,
            0xa8, 0x00, 0xc7,
        ];
        assert_eq!(checksum(&header), 0xb861);
    }
}
