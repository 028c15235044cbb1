//! The table `ports`.

use incast_sim::record::PortTotals;
use incast_units::{Bytes, Rate, Time};

use super::cell::Packets;
use super::declare::table;

table! {
    /// One row per port: totals over the run.
    struct Ports;

    |record: &PortTotals, labels| {
        /// name of the node
        node: &str = labels.node(record.node),
        /// number of the node; hosts come first
        node_id: u32 = record.node,
        /// number of the port at its node
        port: u16 = record.port,
        /// name of the node at the far end
        peer: Option<&str> = labels.link(record.node, record.port).map(|(_, (peer, _))| labels.node(peer)),
        /// rate of the link
        rate_bps: Option<Rate> = labels.link(record.node, record.port).map(|((rate, _), _)| rate),
        /// bytes transmitted, all packets
        transmitted_bytes: Bytes = record.transmitted,
        /// packets transmitted
        transmitted_packets: Packets = Packets(record.packets),
        /// bytes dropped on admission to the port's queues
        dropped_bytes: Bytes = record.dropped,
        /// packets dropped on admission to the port's queues
        dropped_packets: Packets = Packets(record.drops),
        /// packets that got an ECN mark
        marked_packets: Packets = Packets(record.marked),
        /// longest queue
        peak_queue_bytes: Bytes = record.peak_queue,
        /// time spent paused by the far end
        paused_ps: Time = record.paused,
        /// pause frames sent to the far end
        pauses_sent: u64 = record.pauses_sent,
        /// packets whose payload was removed because the data queue was full
        trimmed_packets: Packets = Packets(record.trimmed); earlier 0,
        /// packets of any kind that the link corrupted
        corrupted_packets: Packets = Packets(record.corrupted); earlier 0,
        /// times at which the watchdog of PFC found a queue paused for too long
        storms: u64 = record.storms; earlier 0,
        /// packets, of those dropped, that this watchdog dropped
        storm_dropped_packets: Packets = Packets(record.storm_drops); earlier 0,
        /// packets, of those dropped, that came to this port of a host and found its receive buffer full
        receiver_dropped_packets: Packets = Packets(record.receiver_drops); earlier 0,
        /// number of the port at the far end
        peer_port: Option<u16> = labels.link(record.node, record.port).map(|(_, (_, port))| port); earlier null,
        /// one-way delay of the link
        delay_ps: Option<Time> = labels.link(record.node, record.port).map(|((_, delay), _)| delay); earlier null,
    }
}
