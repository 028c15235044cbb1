//! A complete description of a run.

use incast_units::Time;

use super::{algorithm, balancing, flow, impairments, network, probe, reuse, switch, transport, work};

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
    /// The flows, sorted by start time. A flow's number is its index here.
    pub flows: Vec<flow::Flow>,
    /// Order of service: hosts take up flows that start together in this order, or by number if
    /// it is empty. It has each number once, is sorted by start time, and keeps flows that operations send in the
    /// order of their numbers.
    pub order: Vec<u32>,
    /// Order of the hosts' operations, if flows depend on each other.
    pub operations: Vec<work::Operation>,
    /// Records to write.
    pub probes: probe::Probes,
    /// Faults of clocks, links and knowledge.
    pub impairments: impairments::Impairments,
    /// Seed of every random stream.
    pub seed: u64,
    /// Simulated time at which the run ends even if flows are unfinished.
    pub until: Time,
    /// The run ends as stalled when no flow has received anything new for this long while flows are
    /// unfinished.
    pub stall_after: Time,
    /// Whether parts that repeat themselves are simulated again. The results do not depend on it.
    pub reuse: reuse::Reuse,
    /// The random draws about packets.
    pub draws: reuse::Draws,
    /// Number of threads. The results do not depend on it.
    pub threads: usize,
}

impl Simulation {
    /// Returns the flows with their numbers, in the order of service.
    pub fn served(&self) -> impl Iterator<Item = (u32, &flow::Flow)> {
        (0..self.flows.len()).filter_map(|place| {
            let number = self.order.get(place).copied().unwrap_or(place as u32);
            Some((number, self.flows.get(number as usize)?))
        })
    }

    /// Returns the kind of a node; with [`switch::Switch::bfc`] every switch is one with backpressure flow
    /// control, with a watchdog of PFC one that has it, and hosts of [`impairments::Impairments::receivers`] are slow.
    pub fn kind(&self, node: network::NodeId) -> network::NodeKind {
        match self.network.kind(node) {
            network::NodeKind::Switch if self.switch.bfc.is_some() => network::NodeKind::BackpressureSwitch,
            network::NodeKind::Switch if self.switch.watchdog().is_some() => network::NodeKind::WatchedSwitch,
            network::NodeKind::Host if self.impairments.receiver(node).is_some() => {
                network::NodeKind::SlowHost
            }
            kind => kind,
        }
    }
}
