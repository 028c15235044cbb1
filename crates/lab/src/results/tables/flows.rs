//! The table `flows`.

use incast_sim::record::FlowRecord;
use incast_units::{Bytes, Time};

use super::cell::Packets;
use super::declare::table;

table! {
    /// One row per flow, in the order of their numbers. Flows that start together are numbered as the scenario lists them.
    struct Flows from flows;

    |record: &FlowRecord, labels| {
        /// number of the flow: in order of start, and of the scenario where flows start together
        flow: u32 = record.flow,
        /// name of the sending host
        source: &str = labels.node(labels.flow(record).source),
        /// name of the receiving host
        destination: &str = labels.node(labels.flow(record).destination),
        /// number of the sending host
        source_id: u32 = labels.flow(record).source,
        /// number of the receiving host
        destination_id: u32 = labels.flow(record).destination,
        /// network card by which its data leaves the sender when it starts; null: it has not started
        source_card: Option<u16> = record.cards[0]; earlier null,
        /// network card by which its data reaches the receiver then; null: it has not started, or its packets may take several
        destination_card: Option<u16> = record.cards[1]; earlier null,
        /// name of the flow's traffic block
        group: &str = labels.group(labels.flow(record)),
        /// its congestion control algorithm, with its preset
        algorithm: &str = labels.algorithm(labels.flow(record)),
        /// payload to transfer; null: sends until it is stopped
        size_bytes: Option<Bytes> = Some(labels.flow(record).size),
        /// payload acknowledged
        acked_bytes: Bytes = record.bytes,
        /// when it began to offer data
        start_ps: Time = record.start,
        /// when its last byte arrived at the receiver; null unless it finished
        delivered_ps: Option<Time> = Some(record.delivered),
        /// when its last byte was acknowledged at the sender
        finish_ps: Option<Time> = Some(record.finish),
        /// flow completion time: finish minus start
        fct_ps: Option<Time> = fct(record),
        /// completion time of its whole size alone on the idle path, without header bytes that the algorithm adds; of a flow
        /// that was stopped or has no size, of what is acknowledged
        ideal_fct_ps: Option<Time> = Some(record.ideal_plain),
        /// flow completion time divided by the ideal one; null unless the whole size was transferred
        slowdown: Option<f64> = slowdown(record, labels.flow(record).size, record.ideal_plain),
        /// the same with the header bytes that its algorithm adds
        own_ideal_fct_ps: Option<Time> = Some(record.ideal),
        /// flow completion time divided by its own ideal one; null unless the whole size was transferred
        own_slowdown: Option<f64> = slowdown(record, labels.flow(record).size, record.ideal),
        /// round-trip time of the path without queues
        base_rtt_ps: Time = record.base_rtt,
        /// data packets sent, including retransmissions
        packets: Packets = Packets(record.packets),
        /// data packets retransmitted
        resent_packets: Packets = Packets(record.resent),
        /// acknowledged packets that carried an ECN mark
        marked_packets: Packets = Packets(record.marked),
        /// retransmission timeouts
        timeouts: u32 = record.timeouts,
        /// whether it finished
        finished: bool = record.finish != Time::NEVER,
        // A flow that has started has an ideal time.
        /// whether it started before the run ended
        started: bool = record.ideal != Time::NEVER,
        /// whether it counts; others started before or after the measured window of their traffic block
        counted: bool = labels.flow(record).counted; earlier 1,
    }
}

/// Returns the completion time of a flow that finished.
fn fct(record: &FlowRecord) -> Option<Time> {
    (record.finish != Time::NEVER).then(|| record.finish - record.start)
}

/// Returns the completion time divided by an ideal one, for a flow that transferred all of its size and has an ideal
/// time.
fn slowdown(record: &FlowRecord, size: Bytes, ideal: Time) -> Option<f64> {
    let ideal = Some(ideal).filter(|&t| record.bytes == size && t != Time::ZERO && t != Time::NEVER)?;
    fct(record).map(|fct| fct.ps() as f64 / ideal.ps() as f64)
}
