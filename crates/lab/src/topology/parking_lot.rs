//! Hosts along a chain of switches.

use incast_sim::Network;
use incast_units::{Rate, Time};

use crate::grammar::section::section;
use crate::grammar::setting::Bound;

section! {
    /// A chain of switches `s0`, `s1`, …, each with the same number of hosts: `h0` and the next on `s0`,
    /// and so on.
    ///
    /// With three switches of two hosts, flows h0→h2, h3→h4 and h1→h5 make the parking lot of OSCAR,
    /// appendix A.2: the third shares one bottleneck with each of the others.
    pub(crate) struct ParkingLot {
        /// Number of switches.
        switches: u32 = 3; Bound::Count(2, 1024),
        /// Number of hosts on each switch.
        hosts: u32 = 2; Bound::Count(1, 64),
        /// Rate of the hosts' links.
        rate: Rate; Bound::Positive,
        /// One-way delay of the hosts' links.
        delay: Time; Bound::Positive,
        /// Rate of the links between the switches.
        bottleneck_rate: Rate = rate?; Bound::Positive,
        /// One-way delay of the links between the switches.
        bottleneck_delay: Time = delay?; Bound::Positive,
    }
}

impl ParkingLot {
    pub(super) fn build(&self) -> Network {
        let mut network = Network::with_hosts(self.switches * self.hosts);
        let switches: Vec<_> = (0..self.switches).map(|i| network.add_switch(format!("s{i}"))).collect();
        for host in 0..self.switches * self.hosts {
            network.add_link(host, switches[(host / self.hosts) as usize], self.rate, self.delay);
        }
        for pair in switches.windows(2) {
            network.add_link(pair[0], pair[1], self.bottleneck_rate, self.bottleneck_delay);
        }
        network
    }
}
