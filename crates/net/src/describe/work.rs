//! Workloads with dependencies: what hosts send, wait for and compute, and in which order.

use incast_units::Time;

use super::network::NodeId;

/// One operation of a host in a workload with dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The host that performs it.
    pub host: NodeId,
    /// The work that it does.
    pub what: What,
    /// Operations of the same host, by index into [`super::Simulation::operations`], that must have *ended*
    /// before it starts.
    pub after: Vec<u32>,
    /// Operations of the same host that must have *started* before it starts (GOAL's `irequires`).
    pub after_start: Vec<u32>,
    /// If it could only start at this time or later, it is left out, and so is what depends on it. What is left
    /// out counts neither as ended nor as missing at the end of the run. [`Time::NEVER`] for no such limit. A flow
    /// that may be left out is received by no operation.
    pub start_before: Time,
    /// It starts at this time at the earliest, whatever it depends on. A send starts no earlier than its flow either.
    pub earliest: Time,
    /// The job, an index for the caller; results are given per job.
    pub job: u16,
}

/// Work of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Sends this flow (index into [`super::Simulation::flows`]; its source is the host); ends when the
    /// sender has had the acknowledgement of the last byte.
    Send {
        /// The flow.
        flow: u32,
    },
    /// Waits for this flow (its destination is the host); ends when it has started and the flow's last
    /// byte has arrived.
    Receive {
        /// The flow.
        flow: u32,
    },
    /// Computes for this long on one of the host's processors: operations of one processor run one after
    /// the other, in the order in which they became ready (ties by index); operations of [`BESIDE`] beside each other.
    Compute {
        /// Duration.
        time: Time,
        /// The processor, by number.
        processor: u16,
    },
}

/// A processor of which there are as many as there are operations: none waits for another.
pub const BESIDE: u16 = u16::MAX;
