//! The sections of a scenario.
//!
//! A section is one file: its keys, declared once with [`section!`], and its [`Effect`]: its checks against
//! other sections, and its effect on the simulation. It is registered by its line in [`Root`], from which
//! reading, writing, lists, schema, documentation and the checks follow.

mod balancing;
mod bfc;
pub(super) mod change;
mod homa;
mod load;
mod probe;
mod run;
mod switch;
mod traffic;
pub(super) mod transport;

use incast_sim::Simulation;
use incast_sim::describe::transport::{Recovery, Transport};
use incast_units::Bytes;

use crate::cc::Cc;
use crate::grammar::reading::Reading;
use crate::grammar::section::{defaults, section};
use crate::problem::{Problem, fault};
use crate::topology::{Fabric, Topology};
use crate::traffic::Block;

use balancing::Balancing;
use change::Change;
use probe::Probe;
use run::Run;
use switch::Switch;

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
            pub(super) fn sections(&self) -> Vec<&dyn Effect> {
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
        /// Behaviour of every switch.
        switch: Switch = defaults()?,
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

/// The behaviour of a section beyond being read and written; by default none.
pub(crate) trait Effect {
    /// Records the section's keys that have no effect with the other settings, each with the reason.
    /// Writing one of them is an error; the effective scenario leaves them out.
    fn idle(&self, _root: &Root, _idle: &mut Idle) {}

    /// Checks the section against the others and the network.
    fn check(&self, _scope: &Scope<'_>, _reading: &mut Reading) {}

    /// Applies the section to the simulation, whose network, algorithms and flows exist already.
    fn apply(&self, _scope: &Scope<'_>, _simulation: &mut Simulation, _reading: &mut Reading) {}
}

impl Effect for Topology {
    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        let Self::Rotor(_) = self else { return };
        let switch = &scope.root.switch;
        let impossible = [
            ("switch.pfc", switch.pfc.is_some(), "the optical switch reads no PFC frames"),
            ("switch.bfc", switch.bfc.is_some(), "the optical switch reads no frames of BFC"),
            ("switch.trimming", switch.trimming.is_some(), "racks have queues by destination"),
        ];
        for (section, _, reason) in impossible.into_iter().filter(|(_, written, _)| *written) {
            let message = format!("is not possible with circuits: {reason}");
            reading.fault(section, Problem::new(message).with_hint("remove the section"));
        }
        if !scope.root.change.is_empty() {
            reading.wrong_key("change", "links of a network with circuits cannot change");
        }
        let transport = &scope.root.transport;
        if transport.kind.is_controlled() && transport.recovery == Recovery::GoBackN {
            let message = "is \"go-back-n\", which treats every overtaken packet as lost, and \
                           packets by a circuit overtake those in the packet network";
            let hint = "transport.recovery = \"selective\" keeps packets that arrive out of order";
            reading.warn("transport", fault("recovery", message).with_hint(hint));
        }
    }
}

impl<T: Effect> Effect for Option<T> {
    fn idle(&self, root: &Root, idle: &mut Idle) {
        self.iter().for_each(|section| section.idle(root, idle));
    }

    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        self.iter().for_each(|section| section.check(scope, reading));
    }

    fn apply(&self, scope: &Scope<'_>, simulation: &mut Simulation, reading: &mut Reading) {
        self.iter().for_each(|section| section.apply(scope, simulation, reading));
    }
}

/// Keys without effect, each with the reason.
#[derive(Default)]
pub(crate) struct Idle(pub(super) Vec<(String, String)>);

impl Idle {
    /// Notes a key, and why it has no effect.
    pub(super) fn add(&mut self, key: &str, reason: &str) {
        self.0.push((key.to_owned(), reason.to_owned()));
    }
}

/// Context against which a section is checked.
pub(crate) struct Scope<'a> {
    pub(super) root: &'a Root,
    /// The network, where it could be built.
    pub(super) fabric: Option<&'a Fabric>,
    /// The algorithms in use.
    pub(super) algorithms: &'a [Cc],
    /// For every traffic block its algorithm, an index into `algorithms`.
    pub(super) uses: &'a [u16],
}

impl Scope<'_> {
    /// The largest packet on the wire, with what the algorithms add.
    pub(super) fn largest_packet(&self) -> Bytes {
        let added = self.algorithms.iter().map(|cc| cc.overhead().data).max().unwrap_or(0);
        let transport = &self.root.transport;
        let packet = transport.payload + transport.header + Bytes::new(u64::from(added));
        packet.max(transport.smallest)
    }
}

/// Checks that the switches have a queue of this number.
fn check_queue(key: &str, queue: u8, scope: &Scope<'_>, reading: &mut Reading) {
    let queues = scope.root.switch.queues;
    if queue < queues {
        return;
    }
    let message = match queues {
        1 if scope.root.switch.bfc.is_some() => {
            format!("there is no queue {queue}: with [switch.bfc] switches assign packets to queues")
        }
        1 => format!("there is no queue {queue}; switch.queues = 1, so the only one is 0"),
        _ => format!("there is no queue {queue}; switch.queues = {queues}, so they are 0 to {}", queues - 1),
    };
    reading.wrong_key(key, message);
}
