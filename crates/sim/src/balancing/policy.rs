//! The interfaces of load balancing policies, at a sender and at a switch.

use core::fmt::Debug;

use incast_net::describe::network::PortId;
use incast_net::packet::Packet;

use crate::relative::State;

/// Report of an acknowledgement about the path of its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feedback {
    /// Nothing against it.
    Good,
    /// The packet was marked (ECN), or the receiver reports a hole before it (NACK).
    Bad,
}

/// A sender's choice of the entropy of each packet.
pub(crate) trait Entropies: Debug + Send {
    /// The entropy of the packet that is sent now. (ps)
    fn choose(&mut self, now: u64) -> u16;

    /// An acknowledgement brings back the entropy of the packet that caused it.
    fn feedback(&mut self, _now: u64, _entropy: u16, _feedback: Feedback) {}

    /// The retransmission timer has expired.
    fn timeout(&mut self, _now: u64) {}

    /// Its draws begin again.
    fn draw_again(&mut self);

    /// Passes on what counts of it while nothing is in flight; `again`: its draws begin again with the next packet.
    fn relate(&self, state: &mut State, again: bool);
}

/// A switch's choice of the port of each packet.
pub(crate) trait PerHop: Debug + Send {
    /// The port for a packet that arrives now (ps), one of `group`: the ports of equal cost, at least two, by
    /// number. `queues` are the queues of all ports of the switch. `None`: by the packet's hash.
    fn choose(&mut self, now: u64, packet: &Packet, group: &[PortId], queues: &dyn Lengths)
    -> Option<PortId>;

    /// Passes on what counts of it while no packet is in the switch, apart from its draws about packets.
    fn relate(&self, state: &mut State);
}

/// The lengths of the queues of a switch.
pub(crate) trait Lengths {
    /// Returns the bytes in all queues of a port.
    fn length(&self, port: PortId) -> u64;
}
