//! Counts and records of the nodes of one thread.

use super::Records;

/// The counters and records of the nodes of one thread.
#[derive(Debug, Default)]
pub struct Tally {
    /// The counters.
    pub counts: Counts,
    /// Records since the last flush.
    pub records: Records,
}

/// Counts during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Packets that left a port.
    pub hops: u64,
    /// Data packets that left senders.
    pub sent: u64,
    /// Data packets that arrived at receivers.
    pub delivered: u64,
    /// Data packets dropped.
    pub dropped: u64,
    /// Packets dropped after another one that arrived at the same instant had taken the place in the queue.
    pub tied: u64,
    /// Packets of lossless queues dropped, violations or not.
    pub lossless: u64,
    /// Data packets lost on links that failed or corrupted them, or without a route.
    pub lost: u64,
    /// Of these the ones that were corrupted.
    pub corrupted: u64,
    /// Data packets whose payload was removed.
    pub trimmed: u64,
    /// Data packets whose acknowledgement was held for longer than its round trip took, while their sender's window
    /// was full.
    pub held_up: u64,
    /// Flows that have started.
    pub started: u64,
    /// Flows that are done.
    pub finished: u64,
    /// Flows that count and are done.
    pub counted: u64,
    /// Distant flows that have started: those that count and are done one window or more after their last byte has arrived.
    pub distant_started: u64,
    /// Distant flows whose last byte has arrived.
    pub distant_arrived: u64,
    /// Other flows that count whose last byte has arrived.
    pub near_arrived: u64,
    /// Operations that have ended.
    pub ended: u64,
    /// Flows that are left out.
    pub flows_left_out: u64,
    /// Operations that are left out.
    pub operations_left_out: u64,
    /// Time at which a flow last started or a receiver last received something new, or until which a sender waits for the
    /// time of its next packet at its rate. (ps)
    pub progress: u64,
    /// Time at which the last flow was done, or the last operation ended or was left out. (ps)
    pub last_finish: u64,
}

impl Counts {
    /// Nothing counted.
    pub const NOTHING: Self = Self {
        hops: 0,
        sent: 0,
        delivered: 0,
        dropped: 0,
        tied: 0,
        lossless: 0,
        lost: 0,
        corrupted: 0,
        trimmed: 0,
        held_up: 0,
        started: 0,
        finished: 0,
        counted: 0,
        distant_started: 0,
        distant_arrived: 0,
        near_arrived: 0,
        ended: 0,
        flows_left_out: 0,
        operations_left_out: 0,
        progress: 0,
        last_finish: 0,
    };

    /// Adds the counts of other nodes.
    pub fn join(&mut self, other: &Self) {
        let Self {
            hops,
            sent,
            delivered,
            dropped,
            tied,
            lossless,
            lost,
            corrupted,
            trimmed,
            held_up,
            started,
            finished,
            counted,
            distant_started,
            distant_arrived,
            near_arrived,
            ended,
            flows_left_out,
            operations_left_out,
            progress,
            last_finish,
        } = other;
        self.hops += hops;
        self.sent += sent;
        self.delivered += delivered;
        self.dropped += dropped;
        self.tied += tied;
        self.lossless += lossless;
        self.lost += lost;
        self.corrupted += corrupted;
        self.trimmed += trimmed;
        self.held_up += held_up;
        self.started += started;
        self.finished += finished;
        self.counted += counted;
        self.distant_started += distant_started;
        self.distant_arrived += distant_arrived;
        self.near_arrived += near_arrived;
        self.ended += ended;
        self.flows_left_out += flows_left_out;
        self.operations_left_out += operations_left_out;
        self.progress = self.progress.max(*progress);
        self.last_finish = self.last_finish.max(*last_finish);
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self::NOTHING
    }
}
