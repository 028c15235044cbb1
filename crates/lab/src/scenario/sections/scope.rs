//! The behaviour of a section, and what it sees of the others. Sections import this file, and not the scenario
//! that consists of them.

use incast_sim::describe::balancing::Balancing as Policy;
use incast_sim::describe::switch::Switch;
use incast_sim::describe::transport::Transport;
use incast_units::{Bytes, Rate, Time};

use crate::cc::Cc;
use crate::grammar::reading::Reading;
use crate::topology::{Fabric, Topology};
use crate::traffic::{Block, Local};

/// The behaviour of a section beyond being read and written; by default none.
pub(crate) trait Effect {
    /// Records the section's keys that have no effect with the other settings, each with the reason.
    /// Writing one of them is an error; the effective scenario leaves them out.
    fn idle(&self, _sections: &Sections<'_>, _idle: &mut Idle) {}

    /// Checks the section against the others and the network.
    fn check(&self, _scope: &Scope<'_>, _reading: &mut Reading) {}
}

impl<T: Effect> Effect for Option<T> {
    fn idle(&self, sections: &Sections<'_>, idle: &mut Idle) {
        self.iter().for_each(|section| section.idle(sections, idle));
    }

    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        self.iter().for_each(|section| section.check(scope, reading));
    }
}

/// Keys without effect, each with the reason.
#[derive(Default)]
pub(crate) struct Idle(pub(crate) Vec<(String, String)>);

impl Idle {
    /// Notes a key, and why it has no effect.
    pub(super) fn add(&mut self, key: &str, reason: &str) {
        self.0.push((key.to_owned(), reason.to_owned()));
    }
}

/// The parts of a scenario on which sections other than their own depend.
#[derive(Clone, Copy)]
pub(crate) struct Sections<'a> {
    pub(super) seed: u64,
    pub(super) topology: &'a Topology,
    /// Whether links change during the run.
    pub(super) has_changes: bool,
    /// Whether one of them is that a link fails or returns.
    pub(super) has_outages: bool,
    /// The highest rate and the shortest delay to which a link changes.
    pub(super) quickest: (Rate, Time),
    pub(super) switch: &'a Switch<String>,
    pub(super) transport: &'a Transport,
    /// The policy of flows whose traffic block has none of its own.
    pub(super) policy: Policy,
    pub(super) cc: Option<&'a Cc>,
    pub(super) traffic: &'a [Block],
    /// The links inside of hosts, if there are any.
    pub(crate) local: Option<Local>,
    /// Time at which the run ends even if flows are unfinished.
    pub(super) until: Option<Time>,
}

impl Sections<'_> {
    /// The policy of every traffic block.
    pub(super) fn policies(&self) -> impl Iterator<Item = Policy> {
        self.traffic.iter().map(|block| block.common.balancing.unwrap_or(self.policy))
    }

    /// The algorithm of every traffic block; none without congestion control.
    pub(super) fn controls(&self) -> impl Iterator<Item = &Cc> {
        let controlled = self.transport.kind.is_controlled();
        self.traffic
            .iter()
            .filter(move |_| controlled)
            .filter_map(|block| block.common.cc.as_ref().or(self.cc))
    }

    /// The names of the traffic blocks.
    pub(super) fn groups(&self) -> Vec<&str> {
        self.traffic.iter().map(Block::name).collect()
    }
}

/// Context against which a section is checked.
pub(crate) struct Scope<'a> {
    pub(crate) sections: Sections<'a>,
    /// The network, where it could be built.
    pub(crate) fabric: Option<&'a Fabric>,
    /// The algorithms in use.
    pub(crate) algorithms: &'a [Cc],
    /// For every traffic block its algorithm, an index into `algorithms`.
    pub(crate) uses: &'a [u16],
}

impl Scope<'_> {
    /// The largest packet on the wire, with what the algorithms add.
    pub(super) fn largest_packet(&self) -> Bytes {
        let added = self.algorithms.iter().map(|cc| cc.overhead().data).max().unwrap_or(0);
        let transport = self.sections.transport;
        let packet = transport.payload + transport.header + Bytes::new(u64::from(added));
        packet.max(transport.smallest)
    }

    /// Checks that the switches have a queue of this number.
    pub(super) fn check_queue(&self, key: &str, queue: u8, reading: &mut Reading) {
        let switch = self.sections.switch;
        let queues = switch.queues;
        if queue < queues {
            return;
        }
        let message = match queues {
            1 if switch.bfc.is_some() => {
                format!("there is no queue {queue}: with [switch.bfc] switches assign packets to queues")
            }
            1 => format!("there is no queue {queue}; switch.queues = 1, so the only one is 0"),
            _ => format!(
                "there is no queue {queue}; switch.queues = {queues}, so they are 0 to {}",
                queues - 1
            ),
        };
        reading.wrong_key(key, message);
    }
}
