//! The table `operations`.

use incast_sim::describe::work::What;
use incast_sim::record::OperationRecord;
use incast_units::Time;

use super::declare::table;

table! {
    /// One row per operation of a workload with dependencies, in the order in which they ended. Only if the traffic has
    /// operations.
    struct Operations from operations, if |simulation| !simulation.operations.is_empty();

    |record: &OperationRecord, labels| {
        /// number of the operation
        operation: u32 = record.operation,
        /// name of its job
        job: &str = labels.job(labels.operation(record).job),
        /// name of its host
        host: &str = labels.node(labels.operation(record).host),
        /// number of its host
        host_id: u32 = labels.operation(record).host,
        /// send, receive or compute
        kind: &str = kind(labels.operation(record).what),
        /// number of the flow that it sends or receives
        flow: Option<u32> = flow(labels.operation(record).what),
        /// the processor of the host on which it computes
        processor: Option<u16> = processor(labels.operation(record).what),
        /// when it started; null if it did not
        start_ps: Option<Time> = Some(record.start),
        /// when it ended; null if it did not
        end_ps: Option<Time> = Some(record.end),
        /// end minus start
        duration_ps: Option<Time> = (record.end != Time::NEVER).then(|| record.end - record.start),
    }
}

fn kind(what: What) -> &'static str {
    match what {
        What::Send { .. } => "send",
        What::Receive { .. } => "receive",
        What::Compute { .. } => "compute",
    }
}

fn flow(what: What) -> Option<u32> {
    match what {
        What::Send { flow } | What::Receive { flow } => Some(flow),
        What::Compute { .. } => None,
    }
}

fn processor(what: What) -> Option<u16> {
    match what {
        What::Compute { processor, .. } => Some(processor),
        What::Send { .. } | What::Receive { .. } => None,
    }
}
