//! Two groups of hosts with one link between them.

use incast_sim::Network;
use incast_units::{Rate, Time};

use crate::grammar::section::section;
use crate::grammar::setting::Bound;

section! {
    /// Two switches with one link between them: the first `left` hosts on `s0`, the other `right` hosts
    /// on `s1`.
    pub(crate) struct Dumbbell {
        /// Hosts on `s0`.
        left: u32; Bound::Count(1, 32_768),
        /// Hosts on `s1`.
        right: u32; Bound::Count(1, 32_768),
        /// Rate of the hosts' links.
        rate: Rate; Bound::Positive,
        /// One-way delay of the hosts' links.
        delay: Time; Bound::Positive,
        /// Rate of the link between the switches.
        bottleneck_rate: Rate = rate?; Bound::Positive,
        /// One-way delay of the link between the switches.
        bottleneck_delay: Time = delay?; Bound::Positive,
    }
}

impl Dumbbell {
    pub(super) fn build(&self) -> Network {
        let mut network = Network::with_hosts(self.left + self.right);
        let (left, right) = (network.add_switch("s0"), network.add_switch("s1"));
        for host in 0..self.left + self.right {
            let switch = if host < self.left { left } else { right };
            network.add_link(host, switch, self.rate, self.delay);
        }
        network.add_link(left, right, self.bottleneck_rate, self.bottleneck_delay);
        network
    }
}
