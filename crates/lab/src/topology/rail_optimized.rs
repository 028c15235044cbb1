//! Servers whose network cards are each connected to a switch of their own.

use incast_sim::Network;
use incast_units::{Rate, Time};

use super::fabric::too_many;
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::limits::{MAX_HOSTS, MAX_SWITCHES};
use crate::problem::{Problem, fault};

section! {
    /// A rail-optimized fabric: card r of every server of a group is connected to rail switch r of the group.
    ///
    /// A host is a server with one port for each rail. In collectives each card belongs to a GPU; flows that name no card
    /// take one by hash. Server `h` is in group `h / servers`, whose rail switches are
    /// `rail(group · rails)` and those after it. Every rail switch is connected to every spine.
    pub(crate) struct RailOptimized {
        /// Number of servers in each group.
        servers: u32; Bound::Count(1, 4096),
        /// Network cards of each server, and rail switches of each group.
        rails: u32; Bound::Count(1, 64),
        /// Number of groups.
        groups: u32 = 1; Bound::Count(1, 1024),
        /// Number of spines; none are needed for one group.
        spines: u32; Bound::Count(0, 4096),
        /// Rate of each card's link.
        rate: Rate; Bound::Positive,
        /// One-way delay of the cards' links.
        delay: Time; Bound::Positive,
        /// Rate of the links between rail switches and spines.
        fabric_rate: Rate = rate?; Bound::Positive,
        /// One-way delay of the links between rail switches and spines.
        fabric_delay: Time = delay?; Bound::Positive,
    }
}

impl RailOptimized {
    pub(super) fn build(&self) -> Result<Network, Vec<Problem>> {
        let &Self { servers, rails, groups, spines, .. } = self;
        let hosts = u64::from(servers) * u64::from(groups);
        let switches = u64::from(rails) * u64::from(groups);
        let links = hosts * u64::from(rails) + switches * u64::from(spines);
        let problems: Vec<_> = [
            too_many("servers", "hosts", hosts, MAX_HOSTS),
            too_many("groups", "switches", switches + u64::from(spines), MAX_SWITCHES),
            too_many("rails", "links", links, 1 << 20),
            (hosts < 2).then(|| fault("servers", "there must be at least two servers".to_owned())),
            (groups > 1 && spines == 0)
                .then(|| fault("spines", format!("{groups} groups need at least one spine between them"))),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut network = Network::with_hosts(servers * groups);
        let switch = |network: &mut Network, name: &str, number: u32| -> Vec<u32> {
            (0..number).map(|i| network.add_switch(format!("{name}{i}"))).collect()
        };
        let leaves = switch(&mut network, "rail", rails * groups);
        let spines = switch(&mut network, "spine", spines);
        for host in 0..servers * groups {
            for rail in 0..rails {
                let leaf = leaves[(host / servers * rails + rail) as usize];
                network.add_link(host, leaf, self.rate, self.delay);
            }
        }
        for &leaf in &leaves {
            for &spine in &spines {
                network.add_link(leaf, spine, self.fabric_rate, self.fabric_delay);
            }
        }
        Ok(network)
    }
}
