//! Behaviour of a host: packet sizes, acknowledgements, loss recovery.

use incast_cc::Fixed;
use incast_units::{Bytes, Time};

use super::named;

pub use crate::host::recovery::Kind as Recovery;
pub use crate::host::transport::Kind;

/// The base RTT that a flow's algorithm is given.
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

named! {
    /// When a sender takes a packet for lost before its retransmission timer expires, under selective repeat.
    pub enum Repair {
        "threshold" => Threshold: "when repair_threshold packets with higher numbers have arrived",
        "lazy" => Lazy: "when a packet that was sent repair_delay later has arrived",
        "never" => Never: "never",
    }
}

/// Settings of [`Kind::Ndp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ndp {
    /// Packets that a flow sends without being pulled.
    pub first_window: u32,
    /// Rate of a receiver's pulls: this part of the rate of its first link, in full data packets.
    pub pull_rate: Fixed,
    /// A packet that was not answered for this long is sent again. Doubles with each consecutive expiry, up to 64
    /// times this.
    pub rto: Time,
}

impl Default for Ndp {
    fn default() -> Self {
        Self { first_window: 23, pull_rate: Fixed::ONE, rto: Time::from_ms(1) }
    }
}

/// The behaviour that all hosts share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// The transport protocol.
    pub kind: Kind,
    /// The loss recovery.
    pub recovery: Recovery,
    /// With [`Recovery::Selective`]: when a packet is lost.
    pub repair: Repair,
    /// With [`Repair::Threshold`]: how many packets with higher numbers must have arrived.
    pub repair_threshold: u32,
    /// With [`Repair::Lazy`]: how much later a packet must have been sent that has arrived; `None`: the base
    /// RTT of the flow's path.
    pub repair_delay: Option<Time>,
    /// The base RTT that algorithms are given.
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
    /// Additional bytes of an acknowledgement (AETH 4), before what the algorithm adds.
    pub ack_extra: Bytes,
    /// Smallest packet on the wire.
    pub smallest: Bytes,
    /// Number of data packets per acknowledgement (1: each; at most 255); that of a flow's last packet is
    /// never held.
    pub ack_every: u32,
    /// Longest time for which an acknowledgement is held.
    pub ack_delay: Time,
    /// Queue (priority) of acknowledgements in the switches; `None`: that of their flow.
    pub ack_queue: Option<u8>,
    /// Queue of congestion notification packets.
    pub cnp_queue: u8,
    /// Shortest time between two congestion notifications of one flow.
    pub cnp_interval: Time,
    /// Shortest time between two NACKs for the same missing packet.
    pub nack_interval: Time,
    /// Retransmission timeout: if the cumulative acknowledgement does not advance for this long, everything
    /// unacknowledged is retransmitted. Doubles with each consecutive expiry, up to 64 times this.
    pub rto: Time,
    /// Settings of [`Kind::Ndp`].
    pub ndp: Ndp,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            kind: Kind::Window,
            recovery: Recovery::GoBackN,
            repair: Repair::Threshold,
            repair_threshold: 3,
            repair_delay: None,
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
            ndp: Ndp::default(),
        }
    }
}
