//! Two tiers, every leaf connected to every spine.

use incast_sim::Network;
use incast_units::{Rate, Time};

use super::fabric::too_many;
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::limits::MAX_HOSTS;
use crate::problem::{Problem, fault};

section! {
    /// Leaf switches with hosts, each connected to every spine.
    ///
    /// Host `h` is connected to leaf `h / hosts`.
    pub(crate) struct LeafSpine {
        /// Number of leaves.
        leaves: u32; Bound::Count(1, 4096),
        /// Number of spines.
        spines: u32; Bound::Count(1, 4096),
        /// Number of hosts on each leaf.
        hosts: u32; Bound::Count(1, 4096),
        /// Rate of the hosts' links.
        rate: Rate; Bound::Positive,
        /// One-way delay of the hosts' links.
        delay: Time; Bound::Positive,
        /// Rate of the links between leaves and spines.
        fabric_rate: Rate = rate?; Bound::Positive,
        /// One-way delay of the links between leaves and spines.
        fabric_delay: Time = delay?; Bound::Positive,
    }
}

impl LeafSpine {
    pub(super) fn build(&self) -> Result<Network, Vec<Problem>> {
        let hosts = self.leaves * self.hosts;
        let links = u64::from(self.leaves) * u64::from(self.spines);
        let problems: Vec<_> = [
            too_many("hosts", "hosts", u64::from(hosts), MAX_HOSTS),
            too_many("spines", "links in the fabric", links, 1 << 20),
            (hosts < 2).then(|| fault("hosts", "there must be at least two hosts".to_owned())),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut network = Network::with_hosts(hosts);
        let leaves: Vec<_> = (0..self.leaves).map(|i| network.add_switch(format!("leaf{i}"))).collect();
        let spines: Vec<_> = (0..self.spines).map(|i| network.add_switch(format!("spine{i}"))).collect();
        for host in 0..hosts {
            network.add_link(host, leaves[(host / self.hosts) as usize], self.rate, self.delay);
        }
        for &leaf in &leaves {
            for &spine in &spines {
                network.add_link(leaf, spine, self.fabric_rate, self.fabric_delay);
            }
        }
        Ok(network)
    }
}
