//! What to simulate, as plain data: network, switches, transport, flows, probes.

pub mod algorithm;
pub mod flow;
pub mod network;
pub mod probe;
pub mod switch;
pub mod transport;

use incast_units::Time;

/// Everything that a run needs.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// Nodes and links.
    pub network: network::Network,
    /// What every switch does.
    pub switch: switch::Switch,
    /// What every host does.
    pub transport: transport::Transport,
    /// The congestion control algorithms in use, with their parameters; flows name one by index.
    pub algorithms: Vec<algorithm::Algorithm>,
    /// The flows, sorted by start time.
    pub flows: Vec<flow::Flow>,
    /// What to measure.
    pub probes: probe::Probes,
    /// Seed of every random stream.
    pub seed: u64,
    /// Simulated time at which the run ends even when flows are left.
    pub until: Time,
    /// Give up when no flow has received anything new for this long while flows are unfinished.
    pub stall_after: Time,
    /// Threads to run on. The results do not depend on it.
    pub threads: usize,
}
