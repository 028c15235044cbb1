//! The table `job_limits`.

use incast_sim::record::Limit;
use incast_units::Time;

use super::declare::table;
use crate::results::chain::{JobLimits as Record, Parts};

table! {
    /// One row per job: its completion time, divided along the operations that decide its end. The parts add up to the whole.
    /// Only if the traffic has operations; runs on a testbed have none.
    struct JobLimits, if |simulation| !simulation.operations.is_empty();

    |record: &Record, labels| {
        /// name of the job
        job: &str = labels.job(record.job),
        /// its completion time; null unless it ended
        time_ps: Option<Time> = part(record, |parts| parts.time),
        /// an operation of the chain computes
        computing_ps: Option<Time> = part(record, |parts| parts.computing),
        /// the chain waits for a time that the workload sets
        scheduled_ps: Option<Time> = part(record, |parts| parts.scheduled),
        /// a packet of a flow of the chain leaves its card for the first time
        sending_ps: Option<Time> = limit(record, Limit::Sending),
        /// such a flow has nothing to send, it waits for acknowledgements or its packets travel
        answer_ps: Option<Time> = limit(record, Limit::Answer),
        /// it has data, and as many bytes in flight as its window allows
        window_ps: Option<Time> = limit(record, Limit::Window),
        /// its rate makes the next packet wait
        pacing_ps: Option<Time> = limit(record, Limit::Pacing),
        /// it has data, and no pull (NDP) or grant (Homa) to send it
        credit_ps: Option<Time> = limit(record, Limit::Credit),
        /// its card sends other flows' packets or acknowledgements, or its link is down
        card_ps: Option<Time> = limit(record, Limit::Card),
        /// its queue is paused, or the flow itself
        paused_ps: Option<Time> = limit(record, Limit::Paused),
        /// a packet leaves again, or it waits for a loss to be repaired
        repair_ps: Option<Time> = limit(record, Limit::Repair),
        /// messages before it on its connection have yet to be sent
        connection_ps: Option<Time> = limit(record, Limit::Connection),
    }
}

fn part(record: &Record, of: impl Fn(&Parts) -> Time) -> Option<Time> {
    record.parts.as_ref().map(of)
}

fn limit(record: &Record, limit: Limit) -> Option<Time> {
    part(record, |parts| parts.flows.of(limit))
}
