//! Computes the last records and the outcome of a run from the state of its nodes.

use incast_units::{Bytes, Time};

use super::channel::{Digest, Record};
use super::event::{Captured, Tally};
use super::node::Behaviour;
use super::windows::Cause;
use super::world::{Slot, World};
use super::{deadlock, stall};
use crate::describe::Simulation;
use crate::describe::network::{NodeId, PortId};
use crate::packet::{Data, Kind, Packet, flag};
use crate::record::{
    End, FlowRecord, Flusher, OperationRecord, Outcome, PacketKind, PacketRecord, PortTotals, Records, Sink,
    at,
};

impl Record for PacketRecord {
    const HASHED_WITHOUT_RECORDS: bool = true;

    type Kept = Captured;
    type Key = (u64, NodeId, PortId);

    fn key(kept: &Captured) -> Self::Key {
        (kept.time, kept.node, kept.port)
    }

    fn time(kept: &Captured) -> Time {
        Time::from_ps(kept.time)
    }

    fn told(kept: Captured, world: &World) -> Self {
        packet_record(&kept, world)
    }

    fn digest(&self, digest: &mut Digest) {
        let kind = match self.kind {
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
        let flow = self.flow.map_or(u64::MAX, u64::from);
        let ends = u64::from(self.source) << 32 | u64::from(self.destination);
        digest.add(&[self.time.ps(), at(self.node, self.port), kind, flow, ends, self.sequence]);
        digest.add(&[self.payload.get(), self.size.get(), u64::from(self.queue), u64::from(self.marked)]);
    }
}

fn packet_record(captured: &Captured, world: &World) -> PacketRecord {
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
    hops: u64,
    sent: u64,
    delivered: u64,
    dropped: u64,
    lost: u64,
    trimmed: u64,
    finished: u64,
    ended: u64,
    /// Flows and operations that are left out.
    left_out: [u64; 2],
    records: Records,
}

impl Remains {
    /// Adds the final state of one thread.
    pub(crate) fn add(&mut self, slots: Vec<Slot>, packets: Vec<Packet>, mut tally: Tally) {
        self.slots.extend(slots);
        self.on_links += packets.iter().filter(|p| p.kind == Kind::Data).count() as u64;
        self.hops += tally.hops;
        self.sent += tally.sent;
        self.delivered += tally.delivered;
        self.dropped += tally.dropped;
        self.lost += tally.lost;
        self.trimmed += tally.trimmed;
        self.finished += tally.finished;
        self.ended += tally.ended;
        self.left_out[0] += tally.flows_left_out;
        self.left_out[1] += tally.operations_left_out;
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
        if self.sent != self.delivered + self.dropped + self.lost + self.trimmed + in_flight {
            violations.push(format!(
                "{} data packets sent, but {} delivered + {} dropped + {} lost on links + {} trimmed + {in_flight} in flight",
                self.sent, self.delivered, self.dropped, self.lost, self.trimmed
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
                let all = self.finished + self.left_out[0] + open_ended as u64 == world.flows.len() as u64
                    && self.ended + self.left_out[1] == world.operations.len() as u64;
                if all { End::Finished } else { End::TimeLimit }
            }
            Cause::Interrupted => End::Interrupted,
            Cause::Stalled => End::Stalled(stall::diagnose(&self.slots, world)),
        };
        let fingerprint = fingerprint(&flusher, &ports, &unfinished, &unfinished_operations, now);
        Outcome {
            end,
            now: Time::from_ps(now),
            flows_finished: self.finished,
            hops: self.hops,
            sent: self.sent,
            delivered: self.delivered,
            dropped: self.dropped,
            lost: self.lost,
            trimmed: self.trimmed,
            in_flight,
            ports,
            unfinished,
            deadlock,
            operations_ended: self.ended,
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
    for p in ports {
        digest.add(&[at(p.node, p.port), p.transmitted.get(), p.packets, p.drops, p.dropped.get(), p.marked]);
        digest.add(&[p.peak_queue.get(), p.paused.ps(), p.pauses_sent]);
        // Only where it happens: the fingerprints of other runs are those of before there was trimming.
        if p.trimmed > 0 {
            digest.add(&[p.trimmed]);
        }
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
