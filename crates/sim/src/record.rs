//! The output of a run: records while it runs, an outcome at its end.

mod internals;
mod operation;

use core::ops::ControlFlow;

use incast_units::{Bytes, Rate, Time};

use crate::describe::network::{NodeId, PortId};
use crate::engine::channel::{Digest, Record, records, take_before};
use crate::engine::sampler::{self, sample};
use crate::engine::world::World;

pub use internals::InternalSample;
pub use operation::OperationRecord;

/// A flow that is done (or was unfinished at the end of the run).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// Index into the simulation's flows.
    pub flow: u32,
    /// Time of its start; for a flow that had not started, the earliest time at which it would have.
    pub start: Time,
    /// Time at which its last byte was acknowledged at the sender; [`Time::NEVER`] if it never was.
    pub finish: Time,
    /// Time at which its last byte arrived at the receiver; [`Time::NEVER`] if it never did.
    pub delivered: Time,
    /// Payload acknowledged.
    pub bytes: Bytes,
    /// Data packets sent, including retransmissions.
    pub packets: u64,
    /// Data packets retransmitted.
    pub resent: u64,
    /// Acknowledged packets that carried an ECN mark.
    pub marked: u64,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Round-trip time of its path without queues.
    pub base_rtt: Time,
    /// Completion time on the idle path, to the picosecond (`finish - start` of a flow that is alone and
    /// not limited by its window).
    pub ideal: Time,
    /// The ideal without the header bytes that the flow's algorithm adds (in-band telemetry): within reach of
    /// any algorithm.
    pub ideal_plain: Time,
}

/// A sample of a port. It has a record if it differs from the sample before or after it: of equal samples
/// that follow each other only the first and the last have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSample {
    /// Time of the sample.
    pub time: Time,
    /// The node.
    pub node: NodeId,
    /// Its port.
    pub port: PortId,
    /// Bytes in its queues.
    pub queue: Bytes,
    /// Bytes transmitted since the start.
    pub transmitted: Bytes,
    /// Bytes dropped since the start.
    pub dropped: Bytes,
    /// Packets marked since the start.
    pub marked: u64,
    /// Whether the far end has it paused (any priority).
    pub paused: bool,
    /// Number of samples that the record covers: this one and the equal ones directly before it that have
    /// none.
    pub samples: u64,
}

sample!(PortSample, PortId, |sample| sample.port);

/// A sample of a flow at its sender, recorded as [`PortSample`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSample {
    /// Time of the sample.
    pub time: Time,
    /// Index into the simulation's flows.
    pub flow: u32,
    /// Its window.
    pub window: Bytes,
    /// Its rate.
    pub rate: Rate,
    /// The last measured round-trip time; zero before the first.
    pub rtt: Time,
    /// Bytes in flight.
    pub inflight: Bytes,
    /// Payload acknowledged since its start.
    pub acked: Bytes,
    /// Number of samples that the record covers: this one and the equal ones directly before it that have
    /// none.
    pub samples: u64,
}

sample!(FlowSample, u32, |sample| sample.flow);

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
}

/// A port was paused or resumed by the node at its far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseRecord {
    /// Time of the event.
    pub time: Time,
    /// The node that is paused or resumed.
    pub node: NodeId,
    /// Its port.
    pub port: PortId,
    /// The queue (priority); for a host with backpressure flow control the number of the paused flow.
    pub queue: u16,
    /// Whether it was paused, not resumed.
    pub paused: bool,
}

/// Totals of a port over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortTotals {
    /// The node.
    pub node: NodeId,
    /// Its port.
    pub port: PortId,
    /// Bytes transmitted, all packets.
    pub transmitted: Bytes,
    /// Packets transmitted.
    pub packets: u64,
    /// Packets dropped on admission to this port's queues.
    pub drops: u64,
    /// Bytes dropped on admission to this port's queues.
    pub dropped: Bytes,
    /// Packets marked.
    pub marked: u64,
    /// Packets whose payload was removed because this port's data queue was full.
    pub trimmed: u64,
    /// Longest queue.
    pub peak_queue: Bytes,
    /// Time spent paused by the far end.
    pub paused: Time,
    /// Pause frames sent to the far end.
    pub pauses_sent: u64,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time reached.
    pub now: Time,
    /// Flows finished.
    pub flows_finished: u64,
    /// Total number of flows.
    pub flows: u64,
    /// Packet-hops so far: one hop is one packet that left one port.
    pub hops: u64,
}

records! {
    /// Flows finished, sorted by (finish, flow).
    flows: FlowRecord,
    /// Port samples, sorted by (time, node, port).
    port_samples: PortSample,
    /// Flow samples, sorted by (time, flow).
    flow_samples: FlowSample,
    /// Captured packets, sorted by (time, node, port).
    packets: PacketRecord,
    /// Pauses, sorted by (time, node, port, queue).
    pauses: PauseRecord,
    /// Samples of internal quantities of congestion control, sorted by (time, flow, quantity).
    internals: InternalSample,
    /// Operations that have ended, sorted by (end, operation).
    operations: OperationRecord,
}

impl Record for FlowRecord {
    const HASHED_WITHOUT_RECORDS: bool = true;

    type Kept = Self;
    type Key = (Time, u32);

    fn key(kept: &Self) -> Self::Key {
        (kept.finish, kept.flow)
    }

    fn time(kept: &Self) -> Time {
        kept.finish
    }

    fn told(kept: Self, _: &World) -> Self {
        kept
    }

    fn digest(&self, digest: &mut Digest) {
        digest.add(&[u64::from(self.flow), self.start.ps(), self.finish.ps(), self.delivered.ps()]);
        digest.add(&[self.bytes.get(), self.packets, self.resent, self.marked, u64::from(self.timeouts)]);
        digest.add(&[self.base_rtt.ps(), self.ideal.ps(), self.ideal_plain.ps()]);
    }
}

impl Record for PortSample {
    const HASHED_WITHOUT_RECORDS: bool = true;

    type Kept = Self;
    type Key = (Time, NodeId, PortId);

    fn key(kept: &Self) -> Self::Key {
        (kept.time, kept.node, kept.port)
    }

    fn time(kept: &Self) -> Time {
        kept.time
    }

    fn told(kept: Self, _: &World) -> Self {
        kept
    }

    fn delay(world: &World) -> Time {
        world.probes.port_interval
    }

    fn until(kept: Self, end: Time, world: &World) -> Option<Self> {
        sampler::until(kept, end, world.probes.port_interval)
    }

    fn digest(&self, digest: &mut Digest) {
        digest.add(&[self.time.ps(), at(self.node, self.port), self.queue.get()]);
        digest.add(&[self.transmitted.get(), self.dropped.get(), self.marked, u64::from(self.paused)]);
    }
}

impl Record for FlowSample {
    const HASHED_WITHOUT_RECORDS: bool = true;

    type Kept = Self;
    type Key = (Time, u32);

    fn key(kept: &Self) -> Self::Key {
        (kept.time, kept.flow)
    }

    fn time(kept: &Self) -> Time {
        kept.time
    }

    fn told(kept: Self, _: &World) -> Self {
        kept
    }

    fn delay(world: &World) -> Time {
        world.probes.flow_interval
    }

    fn until(kept: Self, end: Time, world: &World) -> Option<Self> {
        sampler::until(kept, end, world.probes.flow_interval)
    }

    fn digest(&self, digest: &mut Digest) {
        digest.add(&[self.time.ps(), u64::from(self.flow), self.window.get(), self.rate.bps()]);
        digest.add(&[self.rtt.ps(), self.inflight.get(), self.acked.get()]);
    }
}

impl Record for PauseRecord {
    const HASHED_WITHOUT_RECORDS: bool = true;

    type Kept = Self;
    type Key = (Time, NodeId, PortId, u16);

    fn key(kept: &Self) -> Self::Key {
        (kept.time, kept.node, kept.port, kept.queue)
    }

    fn time(kept: &Self) -> Time {
        kept.time
    }

    fn told(kept: Self, _: &World) -> Self {
        kept
    }

    fn digest(&self, digest: &mut Digest) {
        digest.add(&[self.time.ps(), at(self.node, self.port), u64::from(self.queue)]);
        digest.add(&[u64::from(self.paused)]);
    }
}

/// A node and its port in one word.
pub(crate) fn at(node: NodeId, port: PortId) -> u64 {
    u64::from(node) << 16 | u64::from(port)
}

/// Reason for which a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Every flow finished and every operation ended; open-ended flows lasted until the time limit.
    Finished,
    /// The time limit was reached first.
    TimeLimit,
    /// The sink requested a stop.
    Interrupted,
    /// There was no more progress, or a PFC deadlock was found.
    Stalled(Stall),
}

/// Diagnosis of a stalled run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// Flows that are not done, with what each waits for. At most 20.
    pub flows: Vec<(u32, String)>,
    /// Number of flows that are not done.
    pub unfinished: u64,
    /// Operations that have started and not ended, with what each waits for; others wait for these. At most
    /// 20.
    pub operations: Vec<(u32, String)>,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Reason for which it ended.
    pub end: End,
    /// Simulated time at the end.
    pub now: Time,
    /// Flows finished.
    pub flows_finished: u64,
    /// Packet-hops: one hop is one packet that left one port.
    pub hops: u64,
    /// Data packets that left senders.
    pub sent: u64,
    /// Data packets that arrived at receivers.
    pub delivered: u64,
    /// Data packets dropped.
    pub dropped: u64,
    /// Data packets lost on links that failed, or for which there was no route.
    pub lost: u64,
    /// Data packets whose payload switches removed.
    pub trimmed: u64,
    /// Data packets still in flight or queued at the end.
    pub in_flight: u64,
    /// Totals of each port, sorted by (node, port).
    pub ports: Vec<PortTotals>,
    /// Flows that had not finished, with their state at the end, sorted by flow.
    pub unfinished: Vec<FlowRecord>,
    /// A cycle of ports that wait for each other because of pauses (PFC deadlock) at the end: each is paused by
    /// the next one's node, the last by the first's. Empty when there is none.
    pub deadlock: Vec<(NodeId, PortId)>,
    /// Operations that have ended.
    pub operations_ended: u64,
    /// Operations that had started and not ended, sorted by operation.
    pub unfinished_operations: Vec<OperationRecord>,
    /// A hash of all results of the run. Equal fingerprints mean equal results.
    pub fingerprint: u64,
    /// Violated invariants; empty in a correct run.
    pub violations: Vec<String>,
}
