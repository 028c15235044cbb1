//! The result of a run at its end.

use incast_units::Time;

use super::flow::FlowRecord;
use super::limits::LimitRecord;
use super::operation::OperationRecord;
use super::reuse::Reused;
use super::totals::PortTotals;
use crate::describe::network::{NodeId, PortId};

/// Reason for which a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Every flow that counts finished and every operation ended; open-ended flows lasted until the time limit.
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
    /// Flows that count and are done.
    pub flows_finished: u64,
    /// Packet-hops: one hop is one packet that left one port.
    pub hops: u64,
    /// Data packets that left senders.
    pub sent: u64,
    /// Data packets that arrived at receivers.
    pub delivered: u64,
    /// Data packets dropped.
    pub dropped: u64,
    /// Packets of any kind dropped at a tie: another one that arrived at the same picosecond had taken the place in the
    /// queue, since it came through a port with a lower number.
    pub tied: u64,
    /// Packets of any kind dropped from queues that PFC keeps lossless: a violation, unless the headroom given is too small,
    /// their link had failed before, or a watchdog ignores pauses.
    pub lossless: u64,
    /// Data packets lost on links that failed or corrupted them, or for which there was no route.
    pub lost: u64,
    /// Of these the ones that were corrupted.
    pub corrupted: u64,
    /// Data packets whose payload switches removed.
    pub trimmed: u64,
    /// Data packets whose acknowledgement was held for longer than its round trip took, while their sender's window
    /// was full.
    pub held_up: u64,
    /// Data packets still in flight or queued at the end.
    pub in_flight: u64,
    /// Totals of each port, sorted by (node, port).
    pub ports: Vec<PortTotals>,
    /// Flows that had not finished, with their state at the end, sorted by flow.
    pub unfinished: Vec<FlowRecord>,
    /// Their divided times up to the end, sorted by flow.
    pub limits: Vec<LimitRecord>,
    /// A cycle of ports that wait for each other because of pauses (PFC deadlock) at the end: each is paused by
    /// the next one's node, the last by the first's. Empty when there is none.
    pub deadlock: Vec<(NodeId, PortId)>,
    /// Operations that have ended.
    pub operations_ended: u64,
    /// Operations that had started and not ended, sorted by operation.
    pub unfinished_operations: Vec<OperationRecord>,
    /// For each job how long it takes at least; `None` for one that neither sends nor computes.
    pub bounds: Vec<Option<Time>>,
    /// Findings about repetition, if what repeats itself was to be reused. No part of the results.
    pub reuse: Option<Reused>,
    /// A hash of all results of the run. Equal fingerprints mean equal results.
    pub fingerprint: u64,
    /// Violated invariants; empty in a correct run.
    pub violations: Vec<String>,
}
