//! The table `pauses`.

use incast_sim::record::PauseRecord;
use incast_units::Time;

use super::declare::table;

table! {
    /// Every pause and resume of a port, by time; only with `probe.pauses`.
    struct Pauses from pauses, if |simulation| simulation.probes.pauses;

    |record: &PauseRecord, labels| {
        /// when
        time_ps: Time = record.time,
        /// name of the node that is paused or resumed
        node: &str = labels.node(record.node),
        /// number of the node
        node_id: u32 = record.node,
        /// number of the port at its node
        port: u16 = record.port,
        /// number of the queue (priority)
        queue: u16 = record.queue,
        /// true for a pause, false for a resume
        paused: bool = record.paused,
    }
}
