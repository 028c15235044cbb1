//! The table `port_series`.

use incast_sim::record::PortSample;
use incast_units::{Bytes, Time};

use super::cell::{Packets, Samples};
use super::declare::table;

table! {
    /// Samples of the probed ports, by time. Of equal ones that follow each other only the first and the last have a
    /// row.
    struct PortSeries from port_samples;

    |record: &PortSample, labels| {
        /// when
        time_ps: Time = record.time,
        /// name of the node
        node: &str = labels.node(record.node),
        /// number of the node
        node_id: u32 = record.node,
        /// number of the port at its node
        port: u16 = record.port,
        /// bytes in the port's queues
        queue_bytes: Bytes = record.queue,
        /// bytes transmitted since the start of the run
        transmitted_bytes: Bytes = record.transmitted,
        /// bytes dropped since the start of the run
        dropped_bytes: Bytes = record.dropped,
        /// packets marked since the start of the run
        marked_packets: Packets = Packets(record.marked),
        /// whether the far end has the port paused
        paused: bool = record.paused,
        /// how many samples the row stands for: this one and the equal ones directly before it that have no row
        samples: Samples = Samples(record.samples); earlier 1,
    }
}
