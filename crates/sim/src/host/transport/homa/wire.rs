//! The bodies of Homa's packets. Acknowledgements have the body [`Ack`](incast_net::packet::Ack).
//!
//! What captures read is where the bodies of the window transport have it: the position, the receiver's index
//! and the payload of data, the sender's index and the packet number of the others.

use incast_net::packet::{Body, high, joined, low};
use incast_net::record::OwnPacket;

/// Permission of a receiver to send more of a message.
pub(super) const GRANT: u8 = 0;
/// Request of a receiver to send packets again.
pub(super) const RESEND: u8 = 1;

/// The own packets.
pub(super) const OWN: [OwnPacket; 2] = [
    OwnPacket { name: "grant", code: 9, cumulative: false },
    OwnPacket { name: "resend", code: 10, cumulative: false },
];

/// The body of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Data {
    /// Position of its first payload byte.
    pub(super) sequence: u64,
    /// Time at which its first bit left the sender. (ps)
    pub(super) sent: u64,
    /// The receiver's index of the message.
    pub(super) slot: u32,
    /// Size of the message.
    pub(super) size: u64,
    /// Payload bytes.
    pub(super) payload: u16,
}

impl Data {
    pub(super) const fn body(&self) -> Body {
        Body([
            low(self.sequence),
            high(self.sequence),
            low(self.sent),
            high(self.sent),
            self.slot,
            low(self.size),
            high(self.size),
            self.payload as u32,
            0,
        ])
    }

    pub(super) const fn of(Body(w): &Body) -> Self {
        Self {
            sequence: joined(w[0], w[1]),
            sent: joined(w[2], w[3]),
            slot: w[4],
            size: joined(w[5], w[6]),
            payload: w[7] as u16,
        }
    }
}

/// The body of a grant or of a request to send packets again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Control {
    /// Time at which it was made. (ps)
    pub(super) sent: u64,
    /// The sender's index of the message.
    pub(super) slot: u32,
    /// All packets below this number may be sent. A request: the end of the packets to be sent again.
    pub(super) limit: u32,
    /// A request: the first packet to be sent again.
    pub(super) first: u32,
    /// Number of packets of the message that have arrived.
    pub(super) arrived: u32,
    /// A grant: the priority level of scheduled packets.
    pub(super) level: u8,
}

impl Control {
    pub(super) const fn body(&self) -> Body {
        let (sent_low, sent_high) = (low(self.sent), high(self.sent));
        Body([self.first, self.arrived, sent_low, sent_high, 0, self.slot, self.level as u32, self.limit, 0])
    }

    pub(super) const fn of(Body(w): &Body) -> Self {
        Self {
            sent: joined(w[2], w[3]),
            slot: w[5],
            limit: w[7],
            first: w[0],
            arrived: w[1],
            level: w[6] as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_net::packet::Packet;

    #[test]
    fn bodies_keep_what_they_are_given_where_captures_find_it() {
        let data = Data { sequence: 1 << 40, sent: 1 << 50 | 3, slot: 7, size: u64::MAX - 1, payload: 999 };
        assert_eq!(Data::of(&data.body()), data);
        let read = incast_net::packet::Data::of(&data.body());
        assert_eq!((read.sequence, read.slot, read.payload), (1 << 40, 7, 999));
        let control =
            Control { sent: 1 << 50 | 3, slot: 8, limit: u32::MAX - 1, first: 5, arrived: 6, level: 127 };
        assert_eq!(Control::of(&control.body()), control);
        let ack = Packet { body: control.body(), ..Packet::own(GRANT) }.ack(1 << 51);
        assert_eq!((ack.slot, ack.expected, ack.marked), (8, u32::MAX - 1, 0));
    }
}
