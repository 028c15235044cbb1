//! Captured packets as records.

use incast_net::describe::probe::Probes;
use incast_net::packet::{Kind, Packet, flag};
use incast_net::record::view::{Captured, View};
use incast_net::record::{PacketKind, PacketRecord};
use incast_units::{Bytes, Time};

use crate::facts::Facts;
use crate::host::transport::explain::{Explained, Sequence};
use crate::host::transport::explainer;

impl View for Facts<'_> {
    fn probes(&self) -> &Probes {
        self.probes
    }

    fn packet(&self, captured: &Captured) -> PacketRecord {
        match explainer(self.flows().transport.kind)(&captured.packet, captured.time) {
            Some(explained) => of_flow(captured, &explained, self),
            None => frame(captured, self),
        }
    }
}

/// Returns the record of a packet of a flow.
fn of_flow(captured: &Captured, explained: &Explained, facts: &Facts<'_>) -> PacketRecord {
    let Explained { kind, slot, to_receiver, sequence, payload, marked } = *explained;
    let packet = &captured.packet;
    let flow = flow_of(packet, slot, to_receiver, facts);
    let Some(number) = flow else { return PacketRecord { kind, marked, ..frame(captured, facts) } };
    let flow = &facts.flows().flows[number as usize];
    let (source, destination) =
        if to_receiver { (flow.source, flow.destination) } else { (flow.destination, flow.source) };
    PacketRecord {
        time: Time::from_ps(captured.time),
        node: captured.node,
        port: captured.port,
        kind,
        flow: Some(number),
        source,
        destination,
        sequence: match sequence {
            Sequence::Byte(position) => position,
            Sequence::Packet(packet) => facts.flows().position(number, packet),
        },
        payload: Bytes::new(u64::from(payload)),
        size: Bytes::new(u64::from(packet.size)),
        queue: u16::from(packet.queue),
        marked,
        hash: packet.hash,
        ..frame(captured, facts)
    }
}

/// Returns the flow that its destination knows by an index.
fn flow_of(packet: &Packet, slot: u32, to_receiver: bool, facts: &Facts<'_>) -> Option<u32> {
    let [from, to] = facts.by_host.get(facts.fabric().routes.host_of(packet.destination) as usize)?;
    let list = if to_receiver { to } else { from };
    list.get(slot as usize).copied()
}

/// Returns the record of a frame of flow control, which belongs to no flow.
fn frame(captured: &Captured, facts: &Facts<'_>) -> PacketRecord {
    let packet = &captured.packet;
    let far = facts.fabric().routes.ports[captured.node as usize][usize::from(captured.port)].node;
    PacketRecord {
        time: Time::from_ps(captured.time),
        node: captured.node,
        port: captured.port,
        kind: match packet.kind {
            Kind::Pause => PacketKind::Pause,
            Kind::Resume => PacketKind::Resume,
            _ => PacketKind::PauseMap,
        },
        flow: None,
        source: captured.node,
        destination: far,
        sequence: 0,
        payload: Bytes::ZERO,
        size: Bytes::new(u64::from(packet.size)),
        queue: match packet.kind {
            Kind::Pause | Kind::Resume => packet.ingress,
            _ => u16::from(packet.queue),
        },
        marked: packet.is(flag::MARKED),
        hash: 0,
        serialisation: Time::from_ps(captured.gone - captured.time),
        propagation: Time::from_ps(captured.delay),
        arrives: (!captured.lost).then(|| Time::from_ps(packet.time)),
    }
}
