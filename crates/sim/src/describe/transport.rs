//! What a host does: packet sizes, acknowledgements, loss recovery.

use incast_units::{Bytes, Time};

use super::named;

pub use crate::host::recovery::Kind as Recovery;
pub use crate::host::transport::Kind;

/// The base RTT that a flow's algorithm is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaseRtt {
    /// That of the flow's own path.
    #[default]
    Path,
    /// The largest of the network, for every flow, as in the evaluations of HPCC and PowerTCP
    /// (NSDI 2022, section 4.1: "the maximum RTT in our topology").
    Network,
    /// The same value for every flow.
    Value(Time),
}

named! {
    /// Which bytes of a packet count against a window.
    pub enum Counting {
        "wire" => Wire: "the size of a packet on the wire",
        "payload" => Payload: "its payload alone, as in HPCC's ns-3 tree",
    }
}

/// The behaviour that all hosts share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// Which transport.
    pub kind: Kind,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// The base RTT that algorithms are told.
    pub base_rtt: BaseRtt,
    /// Which bytes count against windows.
    pub counting: Counting,
    /// Size of an acknowledgement before what the algorithm adds; `None`: `header` and `ack_extra`.
    pub ack_size: Option<Bytes>,
    /// Payload of a full data packet.
    pub payload: Bytes,
    /// Header bytes of every packet before what the algorithm adds: Ethernet 14, IPv4 20, UDP 8,
    /// BTH 12.
    pub header: Bytes,
    /// What an acknowledgement carries beyond the header (AETH 4) before what the algorithm adds.
    pub ack_extra: Bytes,
    /// Smallest packet on the wire.
    pub smallest: Bytes,
    /// One acknowledgement for so many data packets (1: each; at most 255); the last of a flow is
    /// never held.
    pub ack_every: u32,
    /// A held acknowledgement leaves after this long at the latest.
    pub ack_delay: Time,
    /// Queue (priority) of acknowledgements in the switches; `None`: that of their flow.
    pub ack_queue: Option<u8>,
    /// Queue of congestion notification packets.
    pub cnp_queue: u8,
    /// Shortest time between two congestion notifications to one flow.
    pub cnp_interval: Time,
    /// Shortest time between two NACKs for the same missing packet.
    pub nack_interval: Time,
    /// Retransmission timer: nothing acknowledged for this long and everything unacknowledged is
    /// sent again. Doubles with each expiry in a row, up to 64 times.
    pub rto: Time,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            kind: Kind::Window,
            recovery: Recovery::GoBackN,
            base_rtt: BaseRtt::Path,
            counting: Counting::Wire,
            ack_size: None,
            payload: Bytes::new(1000),
            header: Bytes::new(54),
            ack_extra: Bytes::new(4),
            smallest: Bytes::new(64),
            ack_every: 1,
            ack_delay: Time::from_us(50),
            ack_queue: None,
            cnp_queue: 0,
            cnp_interval: Time::from_us(50),
            nack_interval: Time::from_us(500),
            rto: Time::from_ms(10),
        }
    }
}
