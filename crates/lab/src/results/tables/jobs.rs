//! The table `jobs`.

use incast_units::{Bytes, Rate, Time};

use super::declare::table;
use crate::results::jobs::JobRecord;

table! {
    /// One row per job of a workload with dependencies. Its completion time, slowest operation and lower bound; only
    /// if the traffic has operations.
    struct Jobs, if |simulation| !simulation.operations.is_empty();

    |record: &JobRecord, labels| {
        /// name of the job: its traffic block, and its part of that
        job: &str = labels.job(record.job),
        /// its operations
        operations: u64 = record.operations,
        /// its operations that have ended
        ended_operations: u64 = record.ended,
        /// flows that it sends
        flows: u64 = record.flows,
        /// payload of these flows
        size_bytes: Bytes = record.payload,
        /// when the first of its sends and computations started
        start_ps: Option<Time> = Some(record.start),
        /// when the last of its operations ended; null unless all have
        end_ps: Option<Time> = Some(record.end),
        /// job completion time: end minus start
        jct_ps: Option<Time> = record.time(),
        /// number of the operation that ended last
        straggler: Option<u32> = record.last.map(|(operation, _)| operation),
        /// name of the host of that operation
        straggler_host: Option<&str> = record.last.map(|(_, host)| labels.node(host)),
        /// when half of its hosts had ended their operations
        median_end_ps: Option<Time> = Some(record.median_end),
        /// lower bound of its completion time with empty queues; null if it neither sends nor computes
        bound_ps: Option<Time> = record.bound,
        /// completion time divided by its lower bound
        bound_ratio: Option<f64> = ratio(record),
        /// that ratio minus one
        bound_increase: Option<f64> = ratio(record).map(|ratio| ratio - 1.0),
        /// why it has no lower bound
        no_bound: Option<&str> = record.bound.is_none().then_some("it neither sends nor computes"),
        /// algorithm bandwidth of a collective: size of its passes, by its completion time without the computations between
        /// them; null for other jobs
        algbw_bps: Option<Rate> = record.algorithm_bandwidth(); earlier null,
        /// bus bandwidth of a collective: bytes that each rank sends at least, by the same time; null for other jobs
        busbw_bps: Option<Rate> = record.bus_bandwidth(); earlier null,
    }
}

fn ratio(record: &JobRecord) -> Option<f64> {
    Some(record.time()?.ps() as f64 / record.bound?.ps() as f64)
}
