//! The order of a node's events, and the effects that a node may cause in response to one.

use crate::describe::network::PortId;
use crate::packet::{IntRecords, Packet};
use crate::record::tally::Tally;

/// Kinds of events at a node. At the same instant they come in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A day of circuits begins or ends.
    Circuit,
    /// A port has sent its packet's last bit. Entity: the port.
    Departed,
    /// A link or the routes change. Entity: which of the node's changes.
    Change,
    /// A packet's last bit has arrived. Entity: the port.
    Arrival,
    /// A flow starts. Entity: the sender's index of the flow.
    Start,
    /// A flow stops sending new data. Entity: the sender's index of the flow.
    Stop,
    /// A paced flow may send again. Entity: the sender's place in its table.
    Paced,
    /// A retransmission timer. Entity: the sender's place in its table; under Homa the index of the message.
    Retransmit,
    /// A timer of the congestion control, entity: the sender's place in its table; or of the flow control,
    /// entity: the port.
    Control,
    /// A timer of a receiver: a held acknowledgement is due, or the flow stops. Entity: the receiver's
    /// index of the flow.
    Receiver,
    /// Operations of the host start or end. Entity: 0.
    Work,
}

impl Kind {
    const ALL: [Self; 11] = [
        Self::Circuit,
        Self::Departed,
        Self::Change,
        Self::Arrival,
        Self::Start,
        Self::Stop,
        Self::Paced,
        Self::Retransmit,
        Self::Control,
        Self::Receiver,
        Self::Work,
    ];
}

/// An event of one node: its time, kind and entity in one integer, which sorts in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event(u128);

impl Event {
    /// Later than all events.
    pub(crate) const NEVER: Self = Self(u128::MAX);

    #[inline]
    pub(crate) fn new(time: u64, kind: Kind, entity: u32) -> Self {
        Self(u128::from(time) << 64 | u128::from(kind as u8) << 32 | u128::from(entity))
    }

    #[inline]
    pub(crate) fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline]
    pub(crate) fn kind(self) -> Kind {
        Kind::ALL[((self.0 >> 32) as usize & 15).min(Kind::ALL.len() - 1)]
    }

    #[inline]
    pub(crate) fn entity(self) -> u32 {
        self.0 as u32
    }
}

/// The effects that a node may cause in response to an event. Each engine implements them.
pub(crate) trait Effects {
    /// Puts a packet on the link of `port`; `packet.time` says when its last bit arrives. `int` counts
    /// only for a packet with [`crate::packet::flag::INT`].
    fn transmit(&mut self, port: PortId, packet: &Packet, int: &IntRecords);

    /// Schedules an event at this node.
    fn schedule(&mut self, event: Event);

    /// The counters and records.
    fn tally(&mut self) -> &mut Tally;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_sort_by_time_kind_entity() {
        let mut events = [
            Event::new(5, Kind::Receiver, 0),
            Event::new(5, Kind::Arrival, 1),
            Event::new(5, Kind::Arrival, 0),
            Event::new(4, Kind::Control, 9),
            Event::new(5, Kind::Departed, 7),
        ];
        events.sort_unstable();
        let order: Vec<_> = events.iter().map(|e| (e.time(), e.kind(), e.entity())).collect();
        assert_eq!(
            order,
            [
                (4, Kind::Control, 9),
                (5, Kind::Departed, 7),
                (5, Kind::Arrival, 0),
                (5, Kind::Arrival, 1),
                (5, Kind::Receiver, 0)
            ]
        );
    }
}
