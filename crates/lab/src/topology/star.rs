//! Hosts around one switch.

use incast_sim::Network;
use incast_units::{Rate, Time};

use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::limits::MAX_PORTS;

section! {
    /// Hosts around one switch, `s0`.
    pub(crate) struct Star {
        /// Number of hosts.
        hosts: u32; Bound::Count(2, MAX_PORTS),
        /// Rate of every link.
        rate: Rate; Bound::Positive,
        /// One-way delay of every link.
        delay: Time; Bound::Positive,
    }
}

impl Star {
    pub(super) fn build(&self) -> Network {
        let mut network = Network::with_hosts(self.hosts);
        let switch = network.add_switch("s0");
        for host in 0..self.hosts {
            network.add_link(host, switch, self.rate, self.delay);
        }
        network
    }
}
