//! The simulation as plain data: network, switches, transport, flows, probes.

pub mod algorithm;
pub mod balancing;
pub mod bfc;
pub mod circuits;
pub mod control;
pub mod fault;
pub mod flow;
pub mod network;
pub mod probe;
pub mod switch;
pub mod transport;
pub mod work;

use incast_units::Time;

/// A choice by name: each value with its name in scenario files and its meaning, the default first.
pub trait Named: Copy + PartialEq + 'static {
    /// Every value, its name, and what it means.
    const ALL: &'static [(Self, &'static str, &'static str)];
}

/// An enum with [`Named`]; the first value is the default.
macro_rules! named {
    (
        $(#[$doc:meta])*
        pub enum $enum:ident {
            $($(#[cfg($cfg:meta)])? $name:literal => $variant:ident: $meaning:literal,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $enum {
            $($(#[cfg($cfg)])? #[doc = $meaning] $variant,)+
        }

        impl $crate::describe::Named for $enum {
            const ALL: &'static [(Self, &'static str, &'static str)] =
                &[$($(#[cfg($cfg)])? (Self::$variant, $name, $meaning),)+];
        }

        impl Default for $enum {
            fn default() -> Self {
                <Self as $crate::describe::Named>::ALL[0].0
            }
        }
    };
}
pub(crate) use named;

/// Everything that a run needs.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// Nodes and links.
    pub network: network::Network,
    /// Behaviour of every switch.
    pub switch: switch::Switch,
    /// Behaviour of every host.
    pub transport: transport::Transport,
    /// Settings of load balancing; flows name their policy.
    pub balancing: balancing::Settings,
    /// The congestion control algorithms in use, with their parameters; flows name one by index.
    pub algorithms: Vec<algorithm::Algorithm>,
    /// The flows, sorted by start time.
    pub flows: Vec<flow::Flow>,
    /// Order of the hosts' operations, if flows depend on each other.
    pub operations: Vec<work::Operation>,
    /// Records to write.
    pub probes: probe::Probes,
    /// Seed of every random stream.
    pub seed: u64,
    /// Simulated time at which the run ends even if flows are unfinished.
    pub until: Time,
    /// The run ends as stalled when no flow has received anything new for this long while flows are
    /// unfinished.
    pub stall_after: Time,
    /// Number of threads. The results do not depend on it.
    pub threads: usize,
}

impl Simulation {
    /// Returns the kind of a node; with [`switch::Switch::bfc`] every switch is one with backpressure flow
    /// control.
    pub(crate) fn kind(&self, node: network::NodeId) -> network::NodeKind {
        match self.network.kind(node) {
            network::NodeKind::Switch if self.switch.bfc.is_some() => network::NodeKind::BackpressureSwitch,
            kind => kind,
        }
    }
}
