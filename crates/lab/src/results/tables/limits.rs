//! The table `limits`.

use incast_sim::record::{Limit, LimitRecord};
use incast_units::Time;

use super::declare::table;

table! {
    /// One row per flow, as in `flows`: its time by what kept its next packet back. The parts add up to the whole. Runs on a
    /// testbed have none.
    struct Limits from limits, if |simulation| !simulation.flows.is_empty();

    |record: &LimitRecord, _labels| {
        /// number of the flow
        flow: u32 = record.flow,
        /// from its start to its finish or the end of the run
        time_ps: Time = record.end - record.start,
        /// a packet of it leaves its card for the first time
        sending_ps: Time = record.division.of(Limit::Sending),
        /// nothing to send, it waits for acknowledgements
        answer_ps: Time = record.division.of(Limit::Answer),
        /// it has data, and as many bytes in flight as its window allows
        window_ps: Time = record.division.of(Limit::Window),
        /// its rate makes the next packet wait
        pacing_ps: Time = record.division.of(Limit::Pacing),
        /// it has data, and no pull (NDP) or grant (Homa) to send it
        credit_ps: Time = record.division.of(Limit::Credit),
        /// its card sends other flows' packets or acknowledgements, or its link is down
        card_ps: Time = record.division.of(Limit::Card),
        /// its queue is paused, or the flow itself
        paused_ps: Time = record.division.of(Limit::Paused),
        /// a packet leaves again, or it waits for a loss to be repaired
        repair_ps: Time = record.division.of(Limit::Repair),
        /// messages before it on its connection have yet to be sent
        connection_ps: Time = record.division.of(Limit::Connection),
        /// part of `window_ps` that queues added: by which they delayed the acknowledgements that ended its waits
        window_queued_ps: Option<Time> = Some(record.division.queued(Limit::Window)); earlier null,
        /// part of `answer_ps` that queues added, in the same way
        answer_queued_ps: Option<Time> = Some(record.division.queued(Limit::Answer)); earlier null,
    }
}
