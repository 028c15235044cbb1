//! The sections of a scenario.
//!
//! A section is one file: its keys, declared once with [`section!`], and its [`Effect`], the checks against
//! other sections. It is registered by its line in [`Root`], from which reading, writing, lists, schema,
//! documentation and the checks follow. Its keys are the fields of a type of the simulator; where they are not,
//! the file has a function that makes that type from all of them.

pub(super) mod balancing;
mod bfc;
pub(super) mod change;
mod homa;
pub(super) mod impairments;
mod load;
mod paths;
pub(super) mod probe;
pub(super) mod run;
pub(super) mod scope;
mod server;
pub(super) mod switch;
mod topology;
mod traffic;
pub(super) mod transport;

use incast_sim::describe::balancing::Balancing as Policy;
use incast_sim::describe::switch::Switch;
use incast_sim::describe::transport::Transport;

use crate::cc::Cc;
use crate::grammar::reading::Reading;
use crate::grammar::section::{defaults, section};
use crate::topology::Topology;
use crate::traffic::Block;

use balancing::Balancing;
use change::Change;
use impairments::Impairments;
use probe::Probe;
use run::Run;
use scope::{Effect, Sections};
use server::Server;

/// Declares [`Root`]: single keys, then sections.
macro_rules! root {
    (
        $(#[doc = $doc:literal])+
        keys { $($keys:tt)* }
        sections {
            $($(#[doc = $meaning:literal])+ $name:ident: $type:ty $(= $default:expr)?,)+
        }
    ) => {
        section! {
            $(#[doc = $doc])+
            pub(crate) struct Root {
                $($keys)*
                $($(#[doc = $meaning])+ $name: $type $(= $default)?,)+
            }
        }

        impl Root {
            /// Every section.
            pub(super) fn effects(&self) -> Vec<&dyn Effect> {
                vec![$(&self.$name),+]
            }
        }
    };
}

root! {
    /// A scenario: everything that determines the result of a run.
    keys {
        /// Its name; by default the name of the file.
        name: Option<String> = None,
        /// Seed of every random draw.
        seed: u64 = 1,
    }
    sections {
        /// The network.
        topology: Topology,
        /// Changes of links during the run.
        change: Vec<Change> = Vec::new(),
        /// Departures from the ideal: clocks that are not exact, links that corrupt packets, hosts that take packets slowly,
        /// failures that are noticed late.
        impairments: Option<Impairments> = None,
        /// Links inside of hosts with several GPUs.
        server: Option<Server> = None,
        /// Behaviour of every switch.
        switch: Switch<String> = defaults()?,
        /// Behaviour of every host.
        transport: Transport = defaults()?,
        /// Load balancing: how the packets of a flow are spread over equal paths.
        balancing: Balancing = defaults()?,
        /// The congestion control algorithm.
        cc: Option<Cc> = None,
        /// The flows.
        traffic: Vec<Block>,
        /// Records to write in addition to totals and flow completions.
        probe: Probe = defaults()?,
        /// End of the run.
        run: Run = defaults()?,
    }
}

impl Root {
    /// Sets defaults that follow from other sections, where their keys are not written.
    pub(super) fn imply(&mut self, reading: &Reading) {
        if self.sections().policies().any(Policy::spreads) {
            balancing::imply_recovery(&mut self.transport, reading);
        }
        let blocks = self.traffic.iter();
        let used = blocks.filter_map(|block| block.common.cc.as_ref().or(self.cc.as_ref()));
        transport::imply_acknowledging(&mut self.transport, used, reading);
        run::imply_patience(&mut self.run, &self.transport, reading);
    }

    /// The parts on which sections other than their own depend.
    pub(super) fn sections(&self) -> Sections<'_> {
        Sections {
            seed: self.seed,
            topology: &self.topology,
            has_changes: !self.change.is_empty(),
            has_outages: self.change.iter().any(|change| change.state.is_some()),
            quickest: change::quickest(&self.change),
            switch: &self.switch,
            transport: &self.transport,
            policy: self.balancing.policy,
            cc: self.cc.as_ref(),
            traffic: &self.traffic,
            local: self.server.as_ref().map(Server::local),
            until: self.run.until,
        }
    }
}
