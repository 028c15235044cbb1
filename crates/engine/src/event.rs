//! The order of a node's events, and the effects that a node may cause in response to one.

use incast_net::describe::network::PortId;
use incast_net::packet::{IntRecords, Packet};
use incast_net::record::tally::Tally;

/// The order of the kinds of events at a node: of events at the same instant the lower rank comes first.
///
/// The engine gives arrivals their rank; the nodes choose those of the events that they schedule, below it or above
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub u8);

impl Rank {
    /// A packet's last bit has arrived. Entity: the port.
    pub const ARRIVAL: Self = Self(128);
}

/// An event of one node: its time, rank and entity in one integer, which sorts in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event(u128);

impl Event {
    /// Later than all events.
    pub const NEVER: Self = Self(u128::MAX);

    /// Makes an event at `time` (ps); what the entity is depends on the rank.
    #[inline]
    pub fn new(time: u64, rank: Rank, entity: u32) -> Self {
        Self(u128::from(time) << 64 | u128::from(rank.0) << 32 | u128::from(entity))
    }

    /// Returns its time. (ps)
    #[inline]
    pub fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// Returns its rank.
    #[inline]
    pub fn rank(self) -> Rank {
        Rank((self.0 >> 32) as u8)
    }

    /// Returns its entity.
    #[inline]
    pub fn entity(self) -> u32 {
        self.0 as u32
    }
}

/// The effects that a node may cause in response to an event. Each engine implements them.
pub trait Effects {
    /// Whether a node may leave departures to [`Node::depart`](super::model::Node::depart) instead of scheduling them.
    const DEPARTURES_WAIT: bool;

    /// Puts a packet on the link of `port`; `packet.time` says when its last bit arrives. `int` counts
    /// only for a packet with [`incast_net::packet::flag::INT`].
    fn transmit(&mut self, port: PortId, packet: &Packet, int: &IntRecords);

    /// Schedules an event at this node.
    fn schedule(&mut self, event: Event);

    /// The counters and records.
    fn tally(&mut self) -> &mut Tally;
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: Rank = Rank(Rank::ARRIVAL.0 - 1);
    const AFTER: Rank = Rank(Rank::ARRIVAL.0 + 1);

    #[test]
    fn events_sort_by_time_rank_entity() {
        let mut events = [
            Event::new(5, AFTER, 0),
            Event::new(5, Rank::ARRIVAL, 1),
            Event::new(5, Rank::ARRIVAL, 0),
            Event::new(4, AFTER, 9),
            Event::new(5, BEFORE, 7),
        ];
        events.sort_unstable();
        let order: Vec<_> = events.iter().map(|e| (e.time(), e.rank(), e.entity())).collect();
        assert_eq!(
            order,
            [(4, AFTER, 9), (5, BEFORE, 7), (5, Rank::ARRIVAL, 0), (5, Rank::ARRIVAL, 1), (5, AFTER, 0)]
        );
    }
}
