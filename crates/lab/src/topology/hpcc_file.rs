//! The network of a `topology.txt`.

use incast_sim::Network;
use incast_sim::describe::impairments::LinkErrors;
use incast_units::{Rate, Time};

use super::Fabric;
use crate::formats::hpcc_topology::{HpccTopology, Speed};
use crate::grammar::foreign::Foreign;
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::problem::{Problem, fault};

section! {
    /// The network of a `topology.txt`, as the simulators of HPCC, ns3-datacenter, OSCAR and SimAI
    /// read it.
    ///
    /// Hosts are named h and switches s, with their numbers in the file.
    pub(crate) struct HpccFile {
        /// The file.
        file: Foreign<HpccTopology>,
        /// Rate and delay of each type of links, for files that name types (OSCAR's artifact).
        types: Vec<LinkType> = Vec::new(),
        /// Treat links that lose packets at random as lossless.
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
    /// The errors of its links.
    pub(super) fn errors(&self) -> Vec<LinkErrors> {
        if self.ignore_loss { Vec::new() } else { self.file.content().errors().collect() }
    }

    pub(super) fn build(&self) -> Result<Network, Vec<Problem>> {
        let (topology, path) = (self.file.content(), self.file.path());
        let mut faults = Vec::new();
        if self.ignore_loss && topology.lossy().is_none() {
            faults.push(fault("ignore_loss", "has no effect: no link of the file loses packets"));
        }
        for (i, kind) in self.types.iter().enumerate() {
            let used = topology
                .links
                .iter()
                .any(|link| matches!(&link.speed, Speed::Type(name) if *name == kind.name));
            if !used {
                faults.push(fault("types", format!("no link of the file is of type {:?}", kind.name)));
            }
            if self.types[..i].iter().any(|other| other.name == kind.name) {
                faults.push(fault("types", format!("type {:?} is described twice", kind.name)));
            }
        }
        let types =
            |name: &str| self.types.iter().find(|kind| kind.name == name).map(|kind| (kind.rate, kind.delay));
        let network = match topology.network(&types) {
            Ok(network) => network,
            Err((line, message)) => {
                faults.push(fault("file", message).in_file(path).on_line(line));
                return Err(faults);
            }
        };
        let apart = Fabric::new(network.clone()).unreachable();
        if let Some((from, lost)) = apart {
            let [from, to] = [from, lost[0]].map(|host| &network.nodes[host as usize]);
            let message = format!("the network is not connected: there is no path from {from} to {to}");
            faults.push(fault("file", message).in_file(path));
        }
        if faults.is_empty() { Ok(network) } else { Err(faults) }
    }
}
