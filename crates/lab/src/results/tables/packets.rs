//! The table `packets`.

use incast_sim::record::PacketRecord;
use incast_units::{Bytes, Time};

use super::declare::table;

table! {
    /// Every captured packet when its transmission begins, by time; only with `probe.packets`.
    struct Packets, if |simulation| simulation.probes.packets;

    |record: &PacketRecord, labels| {
        /// when its first bit left
        time_ps: Time = record.time,
        /// name of the node that sent it
        node: &str = labels.node(record.node),
        /// number of the node
        node_id: u32 = record.node,
        /// number of the port at its node
        port: u16 = record.port,
        /// data, ack, nack, cnp, pause, resume, header (of a trimmed packet), returned (a header on its way back), pause
        /// map, or a kind that only its transport has
        kind: &str = record.kind.name(),
        /// number of the flow; null: a frame of flow control
        flow: Option<u32> = record.flow,
        /// number of the host that sent it, or of the node, if it is a frame of flow control
        source_id: u32 = record.source,
        /// number of the host, or of the node, to which it goes
        destination_id: u32 = record.destination,
        /// position in the flow: of data the first byte of its payload, of others the next byte expected
        position_bytes: Bytes = Bytes::new(record.sequence),
        /// payload
        payload_bytes: Bytes = record.payload,
        /// size on the wire
        size_bytes: Bytes = record.size,
        /// queue; of a frame that pauses or resumes one queue, that queue
        queue: u16 = record.queue,
        /// whether it carries a congestion mark
        marked: bool = record.marked,
        /// hash by which switches choose among equal paths; 0 for a frame of flow control
        hash: u32 = record.hash,
        /// time between its first bit and its last one, by the rate of the link then and the clock of the node
        serialisation_ps: Option<Time> = Some(record.serialisation); earlier null,
        /// delay of the link as it left
        propagation_ps: Option<Time> = Some(record.propagation); earlier null,
        /// when its last bit arrives at the far end, also after the end of the run; null: the link loses it
        arrives_ps: Option<Time> = record.arrives; earlier null,
    }
}
