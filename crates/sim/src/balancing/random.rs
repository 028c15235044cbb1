//! A uniformly random port for each packet at each switch, as OSCAR's evaluation sprays packets.

use incast_net::describe::network::PortId;
use incast_net::packet::Packet;
use incast_net::random::{draw, mix};

use super::policy::{Lengths, PerHop};
use crate::relative::State;

#[derive(Debug)]
pub(super) struct Random {
    stream: u64,
}

impl Random {
    pub(super) fn new(stream: u64) -> Self {
        Self { stream }
    }
}

impl PerHop for Random {
    fn choose(&mut self, _: u64, packet: &Packet, group: &[PortId], _: &dyn Lengths) -> Option<PortId> {
        Some(one_of(group, self.stream, packet))
    }

    fn relate(&self, _: &mut State) {}
}

/// One of the ports, all of them equally likely. The draw depends on the switch and on the copy of the packet.
pub(super) fn one_of(group: &[PortId], stream: u64, packet: &Packet) -> PortId {
    let draw = draw(stream ^ u64::from(packet.hash), packet.identity() ^ mix(packet.copy()));
    group[(((draw >> 32) * group.len() as u64) >> 32) as usize]
}
