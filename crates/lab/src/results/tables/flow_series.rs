//! The table `flow_series`.

use incast_sim::record::FlowSample;
use incast_units::{Bytes, Rate, Time};

use super::cell::Samples;
use super::declare::table;

table! {
    /// Samples of the probed flows while they are active, by time. Of equal ones that follow each other only the first
    /// and the last have a row.
    struct FlowSeries from flow_samples;

    |record: &FlowSample, labels| {
        /// when
        time_ps: Time = record.time,
        /// number of the flow
        flow: u32 = record.flow,
        /// window; null: none
        window_bytes: Option<Bytes> = Some(record.window),
        /// sending rate; null: limited only by line rate
        rate_bps: Option<Rate> = Some(record.rate),
        /// last measured round-trip time; null before the first
        rtt_ps: Option<Time> = (record.rtt != Time::ZERO).then_some(record.rtt),
        /// bytes in flight
        inflight_bytes: Bytes = record.inflight,
        /// payload acknowledged since the flow's start
        acked_bytes: Bytes = record.acked,
        /// how many samples the row stands for: this one and the equal ones directly before it that have no row
        samples: Samples = Samples(record.samples); earlier 1,
    }
}
