//! Packets from a receiver to the sender of a flow.

use incast_engine::event::Effects;
use incast_net::describe::balancing::Acknowledgements;
use incast_net::packet::{IntRecords, ONE_PATH, Packet};

use super::context::Context;
use crate::facts::flows::{FlowFacts, Way};

/// Queues a packet to the sender of a flow at the network card of its route.
#[inline(always)]
pub(super) fn send_back<E: Effects>(
    now: u64,
    flow: u32,
    packet: &mut Packet,
    int: &IntRecords,
    cx: &mut Context<'_, E>,
) {
    let card = cx.nic_for(flow, Way::Back, || packet.path_hash());
    cx.nics[usize::from(card)].reply(now, packet, int, cx.effects);
}

/// Returns, for a flow that is spread, the hash of the acknowledgement of a packet, with the packet's
/// entropy, and the bits of its flags by which switches handle it. `hash` is the hash of acknowledgements
/// without entropy.
#[inline(never)]
pub(super) fn path_back(packet: &Packet, flow: u32, hash: u32, facts: &FlowFacts) -> (u32, u8) {
    let has_entropies = facts.flows[flow as usize].balancing.has_entropies();
    let policy = match facts.balancing.acknowledgements {
        Acknowledgements::Balanced => packet.policy(),
        Acknowledgements::OnePath if has_entropies => ONE_PATH,
        Acknowledgements::OnePath => 0,
    };
    let entropy = if has_entropies { packet.hash ^ facts.hashes(flow).0 } else { 0 };
    (hash ^ entropy, Packet::policy_flags(policy))
}
