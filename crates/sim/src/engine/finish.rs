//! Computes the last records and the outcome of a run from the state of its nodes.

use incast_units::{Bytes, Time};

use super::node::Behaviour;
use super::windows::Cause;
use super::world::{Slot, World};
use super::{deadlock, stall};
use crate::describe::Simulation;
use crate::packet::{Data, Kind, Packet, flag};
use crate::record::channel::{Digest, Record};
use crate::record::tally::{Counts, Tally};
use crate::record::view::Captured;
use crate::record::{
    End, FlowRecord, Flusher, OperationRecord, Outcome, PacketKind, PacketRecord, PortTotals, Records, Sink,
};

pub(super) fn packet_record(captured: &Captured, world: &World<'_>) -> PacketRecord {
    let packet = &captured.packet;
    let flow = world.flow_of(packet);
    let far = world.routes.ports[captured.node as usize][usize::from(captured.port)].node;
    let (source, destination) = match flow {
        None => (captured.node, far),
        Some(flow) => {
            let flow = &world.flows[flow as usize];
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
            let sequence = flow.map_or(0, |flow| world.position(flow, ack.expected));
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

/// The state of a run after its last window.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    slots: Vec<Slot>,
    /// Data packets on links.
    on_links: u64,
    counts: Counts,
    records: Records,
}

impl Remains {
    /// Adds the final state of one thread.
    pub(crate) fn add(&mut self, slots: Vec<Slot>, packets: Vec<Packet>, mut tally: Tally) {
        self.slots.extend(slots);
        self.on_links += packets.iter().filter(|p| p.kind == Kind::Data).count() as u64;
        self.counts.join(&tally.counts);
        self.records.take(&mut tally.records);
    }

    /// Adds records that were handed over and not flushed.
    pub(crate) fn add_records(&mut self, records: &mut Records) {
        self.records.take(records);
    }

    /// Adds data packets that were on their way from one thread to another.
    pub(crate) fn add_on_links(&mut self, packets: u64) {
        self.on_links += packets;
    }

    /// The outcome of the run; passes the last records to the sink.
    pub(crate) fn outcome(
        mut self,
        cause: Cause,
        now: u64,
        simulation: &Simulation,
        world: &World,
        mut flusher: Flusher,
        sink: &mut dyn Sink,
    ) -> Outcome {
        flusher.take(&mut self.records);
        flusher.finish(Time::from_ps(now), world, sink);
        self.slots.sort_unstable_by_key(|s| s.id);
        let mut ports = Vec::new();
        let mut unfinished: Vec<FlowRecord> = Vec::new();
        let mut unfinished_operations = Vec::new();
        let mut violations = Vec::new();
        let mut queued = 0;
        let largest = world.largest_packet().get();
        for slot in &self.slots {
            let first = ports.len();
            let name = &simulation.network.nodes[slot.id as usize];
            for (port, wire) in slot.node.wires() {
                ports.push(wire.totals(now, slot.id, port));
                let problem = wire.violation(now, largest);
                violations.extend(
                    problem.map(|p| format!("port {port} of {name} {p}, more than its link carries")),
                );
            }
            queued += slot.node.held_data();
            unfinished.extend(slot.node.unfinished(world));
            unfinished_operations.extend(slot.node.unfinished_operations());
            let drops = ports[first..].iter().map(|p| p.drops).sum();
            violations.extend(slot.node.violations(drops).into_iter().map(|v| format!("{name} {v}")));
        }
        unfinished.sort_unstable_by_key(|f| f.flow);
        unfinished_operations.sort_unstable_by_key(|o: &OperationRecord| o.operation);
        let in_flight = self.on_links + queued;
        if self.counts.sent
            != self.counts.delivered
                + self.counts.dropped
                + self.counts.lost
                + self.counts.trimmed
                + in_flight
        {
            violations.push(format!(
                "{} data packets sent, but {} delivered + {} dropped + {} lost on links + {} trimmed + {in_flight} in flight",
                self.counts.sent, self.counts.delivered, self.counts.dropped, self.counts.lost, self.counts.trimmed
            ));
        }
        let settled = now.saturating_sub(deadlock::settles_in(world, &simulation.switch).ps());
        let cycle_of = |before| deadlock::find(deadlock::holds(self.slots.iter(), before), &world.routes);
        let deadlock = match (cause, cycle_of(settled)) {
            // Nothing moves any more.
            (Cause::Stalled, cycle) if cycle.is_empty() => cycle_of(u64::MAX),
            (_, cycle) => cycle,
        };
        let end = match cause {
            Cause::Finished => End::Finished,
            Cause::TimeLimit => {
                let open_ended =
                    world.flows.iter().filter(|f| f.is_open_ended() && f.start.ps() <= now).count();
                let all = self.counts.finished + self.counts.flows_left_out + open_ended as u64
                    == world.flows.len() as u64
                    && self.counts.ended + self.counts.operations_left_out == world.operations.len() as u64;
                if all { End::Finished } else { End::TimeLimit }
            }
            Cause::Interrupted => End::Interrupted,
            Cause::Stalled => End::Stalled(stall::diagnose(&self.slots, world)),
        };
        let fingerprint = fingerprint(&flusher, &ports, &unfinished, &unfinished_operations, now);
        Outcome {
            end,
            now: Time::from_ps(now),
            flows_finished: self.counts.finished,
            hops: self.counts.hops,
            sent: self.counts.sent,
            delivered: self.counts.delivered,
            dropped: self.counts.dropped,
            lost: self.counts.lost,
            trimmed: self.counts.trimmed,
            in_flight,
            ports,
            unfinished,
            deadlock,
            operations_ended: self.counts.ended,
            unfinished_operations,
            fingerprint,
            violations,
        }
    }
}

fn fingerprint(
    flusher: &Flusher,
    ports: &[PortTotals],
    unfinished: &[FlowRecord],
    operations: &[OperationRecord],
    now: u64,
) -> u64 {
    let mut digest = Digest::default();
    digest.add(&flusher.digests());
    for port in ports {
        port.digest(&mut digest);
    }
    for flow in unfinished {
        flow.digest(&mut digest);
    }
    for operation in operations {
        operation.digest(&mut digest);
    }
    digest.add(&[now]);
    digest.value()
}
