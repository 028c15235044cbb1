//! Shapes of the network of a random case.

use incast_sim::Network;
use incast_units::{Rate, Time};
use proptest::prelude::*;

use crate::common::{fat_tree, star};

/// The shape of a network without circuits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Star {
        hosts: u32,
    },
    /// Every leaf is joined to every spine.
    LeafSpine {
        leaves: u32,
        spines: u32,
        hosts: u32,
    },
    /// Three tiers of switches with four ports.
    FatTree,
    /// Switches in a ring, each with as many hosts: the one shape in which pauses can deadlock.
    Ring {
        switches: u32,
        hosts: u32,
    },
}

impl Shape {
    /// The network, with equal links.
    pub(crate) fn network(self) -> Network {
        let (rate, delay) = (Rate::from_gbps(100), Time::from_us(1));
        match self {
            Self::Star { hosts } => star(hosts, rate, delay),
            Self::FatTree => fat_tree(4, rate, delay),
            Self::LeafSpine { leaves, spines, hosts } => {
                let mut network = Network::with_hosts(leaves * hosts);
                let tops: Vec<_> = (0..spines).map(|i| network.add_switch(format!("spine{i}"))).collect();
                for leaf in 0..leaves {
                    let switch = network.add_switch(format!("leaf{leaf}"));
                    for host in leaf * hosts..(leaf + 1) * hosts {
                        network.add_link(host, switch, rate, delay);
                    }
                    for top in &tops {
                        network.add_link(switch, *top, rate, delay);
                    }
                }
                network
            }
            Self::Ring { switches, hosts } => {
                let mut network = Network::with_hosts(switches * hosts);
                let ring: Vec<_> = (0..switches).map(|i| network.add_switch(format!("s{i}"))).collect();
                for host in 0..switches * hosts {
                    network.add_link(host, ring[(host / hosts) as usize], rate, delay);
                }
                for (i, switch) in ring.iter().enumerate() {
                    network.add_link(*switch, ring[(i + 1) % ring.len()], rate, delay);
                }
                network
            }
        }
    }
}

/// Draws a shape.
pub(crate) fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![
        (2..10_u32).prop_map(|hosts| Shape::Star { hosts }),
        (2..4_u32, 1..4_u32, 1..5_u32).prop_map(|(leaves, spines, hosts)| Shape::LeafSpine {
            leaves,
            spines,
            hosts
        }),
        Just(Shape::FatTree),
        (3..6_u32, 1..3_u32).prop_map(|(switches, hosts)| Shape::Ring { switches, hosts }),
    ]
}
