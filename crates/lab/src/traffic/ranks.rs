//! Ranks of collectives: whole hosts, or the GPUs of hosts with several network cards, and the channels between them.

use incast_sim::describe::network::PortId;
use incast_units::Bytes;

use super::hosts::End;
use super::{Faults, Setting};
use crate::grammar::section::choice;
use crate::problem::fault;

/// Members of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ranks {
    /// A GPU for each network card of a host.
    Cards,
    /// Whole hosts.
    Hosts,
}

choice! {
    Ranks {
        "cards" => Cards: "GPUs, one for each network card of a host",
        "hosts" => Hosts: "whole hosts",
    }
}

/// The ranks on each host of a block of traffic, or of a group in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) ranks: Ranks,
    /// Number of network cards of each host; `None`: they differ.
    pub(super) cards: Option<PortId>,
    /// The card that is the only rank of each host; `None`: each host takes part whole.
    pub(super) rail: Option<PortId>,
}

impl Layout {
    /// Resolves the key `ranks` for these hosts. By default ranks are cards where all hosts have equally many, and more
    /// than one.
    pub(super) fn of(setting: &Setting<'_>, hosts: &[u32], ranks: Option<Ranks>) -> Result<Self, Faults> {
        let fabric = setting.world.fabric;
        let count = |host: u32| fabric.ports(host).len() as PortId;
        let first = hosts.first().map_or(1, |host| count(*host));
        let other = hosts.iter().find(|host| count(**host) != first);
        let cards = other.is_none().then_some(first);
        match (ranks, other) {
            (Some(Ranks::Cards), Some(other)) => {
                let name = |host: u32| &fabric.network.nodes[host as usize];
                let message = format!(
                    "= \"cards\" needs hosts with equally many cards: {} has {first}, {} has {}",
                    name(hosts[0]),
                    name(*other),
                    count(*other)
                );
                Err(vec![fault("ranks", message)])
            }
            (Some(Ranks::Cards), None) if first == 1 => {
                Err(vec![fault("ranks", "= \"cards\" has no effect: each host has one card".to_owned())])
            }
            (Some(ranks), _) => Ok(Self { ranks, cards, rail: None }),
            (None, _) => {
                let several = cards.is_some_and(|cards| cards > 1);
                let ranks = if several { Ranks::Cards } else { Ranks::Hosts };
                Ok(Self { ranks, cards, rail: None })
            }
        }
    }

    /// Returns the same with one card of each host as its only rank.
    pub(super) fn on_rail(self, card: PortId) -> Self {
        Self { rail: Some(card), ..self }
    }

    /// Number of ranks of a host.
    pub(super) fn per_host(&self) -> usize {
        match (self.ranks, self.rail) {
            (Ranks::Cards, None) => self.cards.map_or(1, usize::from),
            (Ranks::Cards, Some(_)) | (Ranks::Hosts, _) => 1,
        }
    }

    /// The ranks of these hosts, host by host, as ends of flows.
    pub(super) fn members(&self, hosts: &[u32]) -> Vec<End> {
        match self.ranks {
            Ranks::Hosts => hosts.iter().map(|host| End::from(*host)).collect(),
            Ranks::Cards => {
                let cards = self.rail.map_or(0..self.cards.unwrap_or(1), |card| card..card + 1);
                let of = |host: &u32| {
                    cards.clone().map(|card| End { host: *host, card: Some(card) }).collect::<Vec<_>>()
                };
                hosts.iter().flat_map(of).collect()
            }
        }
    }

    /// Number of cards of a host among which channels are divided.
    fn channel_cards(&self) -> u32 {
        if self.rail.is_some() { 1 } else { self.cards.map_or(1, u32::from) }
    }

    /// Number of channels, by default one for each card of a host that takes part.
    pub(super) fn channels(&self, channels: Option<u32>) -> u32 {
        channels.unwrap_or(self.channel_cards())
    }

    /// The number of a channel among those that use the same card.
    pub(super) fn channel_of_card(&self, channel: u32) -> u32 {
        channel / self.channel_cards()
    }

    /// The card at each host by which a channel leaves and enters; `None`: by the hash of each flow.
    pub(super) fn card_of(&self, channel: u32) -> Option<PortId> {
        if self.rail.is_some() {
            return self.rail;
        }
        self.cards.filter(|cards| *cards > 1).map(|cards| (channel % u32::from(cards)) as PortId)
    }
}

/// The part of some bytes that each of several channels carries: the first ones have one byte more if there is a rest.
pub(super) fn share(bytes: Bytes, channels: u32, channel: u32) -> u64 {
    let (bytes, channels, channel) = (bytes.get(), u64::from(channels), u64::from(channel));
    bytes / channels + u64::from(channel < bytes % channels)
}
