//! Paths of flows, as algorithms see them.

use incast_units::{Bytes, Rate, Time};

/// Properties of a flow's path, known when the flow starts and constant for its lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Path {
    /// Round-trip time without queues: both directions' propagation plus the store-and-forward time
    /// of one full data packet forward and one acknowledgement back, at each hop's own rate.
    pub base_rtt: Time,
    /// The part of `base_rtt` that is spent on the way from sender to receiver.
    pub base_owd: Time,
    /// Rate of the sender's own link.
    pub line_rate: Rate,
    /// Size on the wire of a full data packet, with all headers.
    pub packet: Bytes,
    /// Payload of a full data packet.
    pub payload: Bytes,
    /// Links between sender and receiver.
    pub hops: u32,
}

impl Path {
    /// The base bandwidth-delay product, `line_rate · base_rtt`.
    #[must_use]
    pub const fn bdp(&self) -> Bytes {
        self.line_rate.bytes_in(self.base_rtt)
    }
}
