//! What captured packets are.

use incast_net::describe::probe::Probes;
use incast_net::packet::{Data, Kind, Packet, flag};
use incast_net::record::view::{Captured, View};
use incast_net::record::{PacketKind, PacketRecord};
use incast_units::{Bytes, Time};

use super::Facts;

impl View for Facts<'_> {
    fn probes(&self) -> &Probes {
        self.probes
    }

    fn packet(&self, captured: &Captured) -> PacketRecord {
        packet_record(captured, self)
    }
}

impl Facts<'_> {
    /// The flow of a packet.
    fn flow_of(&self, packet: &Packet) -> Option<u32> {
        let [from, to] = self.by_host.get(packet.destination as usize)?;
        let (list, slot) = match packet.kind {
            Kind::Data | Kind::Header => (to, Data::of(&packet.body).slot),
            Kind::Returned => (from, packet.origin().index()),
            Kind::Ack | Kind::Nack | Kind::Cnp | Kind::Pull | Kind::Grant | Kind::Resend => {
                (from, packet.ack(packet.time).slot)
            }
            Kind::Pause | Kind::Resume | Kind::PauseMap => return None,
        };
        list.get(slot as usize).copied()
    }
}

fn packet_record(captured: &Captured, facts: &Facts<'_>) -> PacketRecord {
    let packet = &captured.packet;
    let flow = facts.flow_of(packet);
    let far = facts.routes.ports[captured.node as usize][usize::from(captured.port)].node;
    let (source, destination) = match flow {
        None => (captured.node, far),
        Some(flow) => {
            let flow = &facts.flows[flow as usize];
            let ends = (flow.source, flow.destination);
            if matches!(packet.kind, Kind::Data | Kind::Header) { ends } else { (ends.1, ends.0) }
        }
    };
    let (sequence, payload, marked) = match packet.kind {
        Kind::Data => {
            let data = Data::of(&packet.body);
            (data.sequence, u64::from(data.payload), 0)
        }
        Kind::Header | Kind::Returned => (Data::of(&packet.body).sequence, 0, 0),
        Kind::Ack | Kind::Nack | Kind::Cnp | Kind::Pull | Kind::Grant | Kind::Resend => {
            let ack = packet.ack(captured.time);
            let sequence = flow.map_or(0, |flow| facts.position(flow, ack.expected));
            (sequence, 0, ack.marked)
        }
        Kind::Pause | Kind::Resume | Kind::PauseMap => (0, 0, 0),
    };
    PacketRecord {
        time: Time::from_ps(captured.time),
        node: captured.node,
        port: captured.port,
        kind: match packet.kind {
            Kind::Data => PacketKind::Data,
            Kind::Ack => PacketKind::Ack,
            Kind::Nack => PacketKind::Nack,
            Kind::Cnp => PacketKind::Cnp,
            Kind::Grant => PacketKind::Grant,
            Kind::Resend => PacketKind::Resend,
            Kind::Pause => PacketKind::Pause,
            Kind::Resume => PacketKind::Resume,
            Kind::Header => PacketKind::Header,
            Kind::Returned => PacketKind::Returned,
            Kind::Pull => PacketKind::Pull,
            Kind::PauseMap => PacketKind::PauseMap,
        },
        flow,
        source,
        destination,
        sequence,
        payload: Bytes::new(payload),
        size: Bytes::new(u64::from(packet.size)),
        queue: match packet.kind {
            Kind::Pause | Kind::Resume => packet.ingress,
            _ => u16::from(packet.queue),
        },
        marked: packet.is(flag::MARKED) || marked > 0,
    }
}
