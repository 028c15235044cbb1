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
    cx.home.nics[usize::from(card)].reply(now, packet, int, cx.effects);
}

/// Returns, for a flow that is spread, the hash of the acknowledgement of a packet, with the packet's
/// entropy, and the bits of its flags by which switches handle it. `hash` is the hash of acknowledgements
/// without entropy.
pub(super) fn path_back(packet: &Packet, flow: u32, hash: u32, facts: &FlowFacts) -> (u32, u8) {
    path_back_by(packet, without_entropy(flow, facts), hash, facts)
}

/// Returns the hash of a flow's packets without their entropy, if they have one.
pub(super) fn without_entropy(flow: u32, facts: &FlowFacts) -> Option<u32> {
    facts.flows[flow as usize].balancing.has_entropies().then(|| facts.hashes(flow).0)
}

/// Returns what [`path_back`] returns, given what [`without_entropy`] has returned.
#[inline]
pub(super) fn path_back_by(packet: &Packet, forth: Option<u32>, hash: u32, facts: &FlowFacts) -> (u32, u8) {
    let policy = match facts.balancing.acknowledgements {
        Acknowledgements::Balanced => packet.policy(),
        Acknowledgements::OnePath if forth.is_some() => ONE_PATH,
        Acknowledgements::OnePath => 0,
    };
    let entropy = forth.map_or(0, |forth| packet.hash ^ forth);
    (hash ^ entropy, Packet::policy_flags(policy))
}
