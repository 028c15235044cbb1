//! The network of a `topology.txt`.

use incast_sim::Network;
use incast_units::{Rate, Time};

use super::Fabric;
use crate::formats::foreign::Foreign;
use crate::formats::hpcc_topology::{HpccTopology, Speed};
use crate::scenario::section::section;
use crate::scenario::setting::Bound;

section! {
    /// The network of a `topology.txt`, as the simulators of HPCC, ns3-datacenter, OSCAR and SimAI
    /// read it. Hosts are named h and switches s, with their numbers in the file.
    pub(crate) struct HpccFile {
        /// The file.
        file: Foreign<HpccTopology>,
        /// Rate and delay of each type of links, for files that name types (OSCAR's artifact).
        types: Vec<LinkType> = Vec::new(),
        /// Take links that lose packets at random for links that do not. Without it such a file is
        /// refused.
        ignore_loss: bool = false,
    }
}

section! {
    /// A type of links.
    pub(crate) struct LinkType {
        /// Its name in the file.
        name: String,
        /// Rate in each direction.
        rate: Rate; Bound::Positive,
        /// One-way delay.
        delay: Time; Bound::Positive,
    }
}

impl HpccFile {
    pub(super) fn build(&self) -> Result<Network, Vec<(String, String)>> {
        let (topology, path) = (self.file.content(), self.file.path());
        let mut faults = Vec::new();
        let mut fault = |key: &str, message: String| faults.push((key.to_owned(), message));
        match topology.lossy() {
            Some(link) if !self.ignore_loss => {
                let message = format!(
                    "{path}:{}: the link loses packets at random, which Incast does not simulate; ignore_loss = \
                     true takes it for one that does not",
                    link.line
                );
                fault("file", message);
            }
            None if self.ignore_loss => {
                fault("ignore_loss", "has no effect: no link of the file loses packets".to_owned());
            }
            _ => {}
        }
        for (i, kind) in self.types.iter().enumerate() {
            let used = topology
                .links
                .iter()
                .any(|link| matches!(&link.speed, Speed::Type(name) if *name == kind.name));
            if !used {
                fault("types", format!("no link of the file is of type {:?}", kind.name));
            }
            if self.types[..i].iter().any(|other| other.name == kind.name) {
                fault("types", format!("type {:?} is described twice", kind.name));
            }
        }
        let types =
            |name: &str| self.types.iter().find(|kind| kind.name == name).map(|kind| (kind.rate, kind.delay));
        let network = match topology.network(&types) {
            Ok(network) => network,
            Err((line, message)) => {
                fault("file", format!("{path}:{line}: {message}"));
                return Err(faults);
            }
        };
        let distances = Fabric::new(network.clone()).distances(0);
        let lost = (0..network.hosts as usize).find(|&host| distances[host] == u32::MAX);
        if let Some(lost) = lost {
            let (from, to) = (&network.nodes[0], &network.nodes[lost]);
            fault("file", format!("{path}: the network falls apart: there is no way from {from} to {to}"));
        }
        if faults.is_empty() { Ok(network) } else { Err(faults) }
    }
}
