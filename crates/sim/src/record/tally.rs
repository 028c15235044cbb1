//! What the nodes of one thread count and record.

use super::Records;

/// The counters and records of the nodes of one thread.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// The counters.
    pub(crate) counts: Counts,
    /// Records since the last flush.
    pub(crate) records: Records,
}

/// What is counted while a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Packets that left a port.
    pub(crate) hops: u64,
    /// Data packets that left senders.
    pub(crate) sent: u64,
    /// Data packets that arrived at receivers.
    pub(crate) delivered: u64,
    /// Data packets dropped.
    pub(crate) dropped: u64,
    /// Data packets lost on links that failed.
    pub(crate) lost: u64,
    /// Data packets whose payload was removed.
    pub(crate) trimmed: u64,
    /// Flows that have started.
    pub(crate) started: u64,
    /// Flows that are done.
    pub(crate) finished: u64,
    /// Operations that have ended.
    pub(crate) ended: u64,
    /// Flows that are left out.
    pub(crate) flows_left_out: u64,
    /// Operations that are left out.
    pub(crate) operations_left_out: u64,
    /// Time at which a flow last started or a receiver last received something new. (ps)
    pub(crate) progress: u64,
    /// Time at which the last flow was done or the last operation ended. (ps)
    pub(crate) last_finish: u64,
}

impl Counts {
    /// Nothing counted.
    pub(crate) const NOTHING: Self = Self {
        hops: 0,
        sent: 0,
        delivered: 0,
        dropped: 0,
        lost: 0,
        trimmed: 0,
        started: 0,
        finished: 0,
        ended: 0,
        flows_left_out: 0,
        operations_left_out: 0,
        progress: 0,
        last_finish: 0,
    };

    /// Adds the counts of other nodes.
    pub(crate) fn join(&mut self, other: &Self) {
        let Self {
            hops,
            sent,
            delivered,
            dropped,
            lost,
            trimmed,
            started,
            finished,
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
        self.lost += lost;
        self.trimmed += trimmed;
        self.started += started;
        self.finished += finished;
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
