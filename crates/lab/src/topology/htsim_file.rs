//! The network of an htsim topology file.

use incast_sim::Network;

use crate::formats::htsim_topology::HtsimTopology;
use crate::grammar::foreign::Foreign;
use crate::grammar::section::section;

section! {
    /// The fat-tree of an htsim topology file (`.topo`).
    ///
    /// Hosts are named h; switches tor, agg and core, counted over the whole network.
    pub(crate) struct HtsimFile {
        /// The file.
        file: Foreign<HtsimTopology>,
    }
}

impl HtsimFile {
    pub(super) fn build(&self) -> Network {
        self.file.content().network()
    }
}
