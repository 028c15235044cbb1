//! Topologies: from a few numbers to nodes and links.
//!
//! Hosts are named `h0`, `h1`, …; switches by their role: `s0`, `leaf0`, `spine0`, `edge0`, `agg0`,
//! `core0`, `rail0`, `tor0`, counted over the whole network. A `graph` names its nodes itself; in an
//! `hpcc-file` hosts and switches (`s`) have the numbers of the file.

pub(crate) mod dumbbell;
mod fabric;
pub(crate) mod fat_tree;
pub(crate) mod graph;
pub(crate) mod hpcc_file;
pub(crate) mod htsim_file;
pub(crate) mod leaf_spine;
pub(crate) mod named;
pub(crate) mod parking_lot;
pub(crate) mod rail_optimized;
pub(crate) mod rotor;
pub(crate) mod star;

use incast_sim::describe::impairments::LinkErrors;

use crate::grammar::section::kinds;
use crate::problem::Problem;
pub use fabric::{Fabric, Tier};

kinds! {
    /// The network: its shape, its rates and its delays.
    pub(crate) enum Topology ("topology") {
        /// hosts around one switch.
        "star" => Star(star::Star),
        /// two groups of hosts with one link between them.
        "dumbbell" => Dumbbell(dumbbell::Dumbbell),
        /// hosts along a chain of switches.
        "parking-lot" => ParkingLot(parking_lot::ParkingLot),
        /// two tiers, every leaf connected to every spine.
        "leaf-spine" => LeafSpine(leaf_spine::LeafSpine),
        /// three tiers in pods.
        "fat-tree" => FatTree(fat_tree::FatTree),
        /// servers with several cards, each connected to a switch of its own.
        "rail-optimized" => RailOptimized(rail_optimized::RailOptimized),
        /// racks connected in pairs by an optical switch that rotates, and by a packet network.
        "rotor" => Rotor(rotor::Rotor),
        /// nodes and links listed individually.
        "graph" => Graph(graph::Graph),
        /// the network of an HPCC `topology.txt`.
        "hpcc-file" => HpccFile(hpcc_file::HpccFile),
        /// the fat-tree of an htsim `.topo` file.
        "htsim-file" => HtsimFile(htsim_file::HtsimFile),
    }
    named by named
}

impl Topology {
    /// Builds it.
    ///
    /// # Errors
    /// A list of (key within the section, message) for settings that contradict each other.
    pub(crate) fn build(&self) -> Result<Fabric, Vec<Problem>> {
        let network = match self {
            Self::Star(topology) => topology.build(),
            Self::Dumbbell(topology) => topology.build(),
            Self::ParkingLot(topology) => topology.build(),
            Self::LeafSpine(topology) => topology.build()?,
            Self::FatTree(topology) => topology.build()?,
            Self::RailOptimized(topology) => topology.build()?,
            Self::Rotor(topology) => topology.build()?,
            Self::Graph(topology) => topology.build()?,
            Self::HpccFile(topology) => topology.build()?,
            Self::HtsimFile(topology) => topology.build(),
        };
        Ok(Fabric::new(network))
    }

    /// Returns the errors of links that it has by itself.
    pub(crate) fn errors(&self) -> Vec<LinkErrors> {
        if let Self::HpccFile(topology) = self { topology.errors() } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests;
