//! The table `load_series`.

use incast_units::{Bytes, Time};

use super::declare::table;
use crate::load::Progress;

table! {
    /// Bytes that each traffic block with a load has offered, and those acknowledged, by time. At the multiples of
    /// `probe.load_interval` up to the end of its arrivals, and at the end of the run; only with that key.
    // Every series has a row at the end of the run, so no table is empty.
    struct LoadSeries, if |_simulation| false;

    |record: &Progress, labels| {
        /// when
        time_ps: Time = record.time,
        /// name of the traffic block
        group: &str = labels.block(record.group),
        /// size of its flows that have started, whether they count or not
        started_bytes: Bytes = record.started,
        /// payload of these that is acknowledged
        acked_bytes: Bytes = record.acked,
    }
}
