//! The table `limit_series`.

use incast_sim::record::Limit;
use incast_units::Time;

use super::declare::table;

/// The number of open flows of one group that a limit keeps back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) time: Time,
    /// The group of the flows.
    pub(crate) group: u16,
    pub(crate) limit: Limit,
    /// Their number.
    pub(crate) flows: u64,
}

table! {
    /// Open flows of each traffic block by what keeps their next packets back, by time. Every `probe.limits`, a row per
    /// limit that keeps any back; only with that key.
    struct LimitSeries, if |simulation| simulation.probes.limits.is_some();

    |record: &Count, labels| {
        /// when
        time_ps: Time = record.time,
        /// name of the traffic block
        group: &str = labels.block(record.group),
        /// what keeps the packets back: a part of `limits`
        limit: &str = record.limit.name(),
        /// number of flows
        flows: u64 = record.flows,
    }
}
