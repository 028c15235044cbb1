//! The ranks of the events of hosts and switches: at the same instant they come in this order, arrivals between
//! [`TAKEN`] and [`START`].

use incast_engine::event::Rank;

/// A day of circuits begins or ends.
pub(crate) const CIRCUIT: Rank = before(4);
/// A port has sent its packet's last bit. Entity: the port.
pub(crate) const DEPARTED: Rank = before(3);
/// A link or the routes change. Entity: which of the node's changes.
pub(crate) const CHANGE: Rank = before(2);
/// A slow host has taken a packet. Entity: the port at which it arrived.
pub(crate) const TAKEN: Rank = before(1);
/// A flow starts. Entity: the sender's index of the flow.
pub(crate) const START: Rank = after(1);
/// A flow stops sending new data. Entity: the sender's index of the flow.
pub(crate) const STOP: Rank = after(2);
/// A paced flow may send again. Entity: the sender's place in its table.
pub(crate) const PACED: Rank = after(3);
/// A retransmission timer. Entity: the sender's place in its table; under Homa the index of the message.
pub(crate) const RETRANSMIT: Rank = after(4);
/// A timer of the congestion control, entity: the sender's place in its table; or of the flow control,
/// entity: the port, and with a watchdog of PFC the queue, too.
pub(crate) const CONTROL: Rank = after(5);
/// A timer of a receiver: a held acknowledgement is due, or the flow stops. Entity: the receiver's
/// index of the flow.
pub(crate) const RECEIVER: Rank = after(6);
/// Operations of the host start or end. Entity: 0.
pub(crate) const WORK: Rank = after(7);

/// Returns the rank `places` before the rank of arrivals.
const fn before(places: u8) -> Rank {
    Rank(Rank::ARRIVAL.0 - places)
}

/// Returns the rank `places` after the rank of arrivals.
const fn after(places: u8) -> Rank {
    Rank(Rank::ARRIVAL.0 + places)
}
