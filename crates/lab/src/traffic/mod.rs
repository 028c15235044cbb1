//! Traffic: from a few numbers to a list of flows.
//!
//! Every block of traffic has a name, and all its random draws come from streams named by the
//! scenario's seed and that name (`traffic/stream.rs`): adding, removing or changing a block does not
//! change the flows of others.

mod all_to_all;
mod chakra_trace;
mod closed_loop;
mod collective;
pub(crate) mod connections;
mod file_requests;
mod flow_table;
mod flows;
mod gaps;
mod goal_file;
mod groups;
pub(crate) mod hosts;
mod hpcc_file;
mod hsdp;
mod htsim_connections;
mod incast;
mod listed;
mod on_off;
mod parameter_server;
mod permutation;
mod placed;
mod poisson;
mod process;
mod ranks;
mod ring_all_reduce;
mod setting;
mod simai_file;
mod sizes;
mod staggered;
pub(crate) mod stream;
pub(crate) mod work;

use incast_sim::describe::balancing::Balancing;

use crate::cc::Cc;
use crate::grammar::reading::TableReader;
use crate::grammar::section::{Entry, KeyInfo, Section, kinds, section};
use connections::Connections;
use placed::Placed;
use work::Made;

pub(crate) use setting::{Draft, Faults, Local, Offered, Reach, Setting};
use setting::{MAX_GAP, both, mean_gap, only_host, pairs, too_many};

kinds! {
    /// Pattern of the traffic: senders, receivers, sizes and times.
    pub(crate) enum Pattern ("traffic") {
        /// flows listed by senders and receivers.
        "flows" => Flows(flows::Flows),
        /// flows of random sizes between random hosts, at random times.
        "poisson" => Poisson(poisson::Poisson),
        /// many hosts send to one at the same time, once or repeatedly.
        "incast" => Incast(incast::Incast),
        /// every host sends to one other host and receives from one.
        "permutation" => Permutation(permutation::Permutation),
        /// long flows that start and end one after the other.
        "staggered" => Staggered(staggered::Staggered),
        /// the flows of a table (CSV).
        "flow-table" => FlowTable(flow_table::FlowTable),
        /// the flows of an HPCC `flow.txt`.
        "hpcc-file" => HpccFile(hpcc_file::HpccFile),
        /// the schedule of a GOAL file.
        "goal-file" => GoalFile(goal_file::GoalFile),
        /// the connections of an htsim `.cm` file.
        "htsim-connections" => HtsimConnections(htsim_connections::HtsimConnections),
        /// the work of Chakra execution traces.
        "chakra-trace" => ChakraTrace(chakra_trace::ChakraTrace),
        /// the computations and collectives of a workload of SimAI, layer by layer.
        "simai-file" => SimAiFile(simai_file::SimAiFile),
        /// ring all-reduce, pass after pass.
        "ring-allreduce" => RingAllReduce(ring_all_reduce::RingAllReduce),
        /// every host sends to every other, or to random experts, pass after pass.
        "all-to-all" => AllToAll(all_to_all::AllToAll),
        /// a collective operation by one of its algorithms, pass after pass.
        "collective" => Collective(collective::Collective),
        /// a new flow when one ends.
        "closed-loop" => ClosedLoop(closed_loop::ClosedLoop),
        /// workers push the gradients of each layer to servers.
        "parameter-server" => ParameterServer(parameter_server::ParameterServer),
        /// a step of hybrid sharded data parallelism: a ring for every GPU of a server.
        "hsdp" => Hsdp(hsdp::Hsdp),
        /// files that several hosts of another rack send together.
        "file-requests" => FileRequests(file_requests::FileRequests),
        /// senders that send for some time, pause for some time, and so on.
        "on-off" => OnOff(on_off::OnOff),
    }
}

section! {
    /// Keys of every traffic block.
    pub(crate) struct Common {
        /// Name of the block in results and for its random draws; by default its kind.
        name: Option<String> = None,
        /// Queue (priority) of its flows in the switches.
        queue: u8 = 0,
        /// Policy by which the packets of its flows are spread over equal paths, instead of the scenario's
        /// policy.
        balancing: Option<Balancing> = None,
        /// Flows that share a connection, and with it a path, an order and a congestion state; by default "pair" over
        /// the window transport for ring-allreduce, all-to-all, collective, parameter-server, hsdp, goal-file,
        /// chakra-trace and simai-file, and "flow" for the others.
        connections: Option<Connections> = None,
        /// Algorithm of its flows, instead of the scenario's.
        cc: Option<Cc> = None,
    }
}

/// A block of traffic.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) common: Common,
    pub(crate) pattern: Pattern,
}

impl Block {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        self.common.name.as_deref().unwrap_or_else(|| self.pattern.kind())
    }
}

impl Section for Block {
    fn summary() -> String {
        "Traffic: any number of blocks, each with its kind.".to_owned()
    }

    fn keys() -> Vec<KeyInfo> {
        Pattern::keys().into_iter().chain(Common::keys()).collect()
    }

    fn fields(table: &mut TableReader<'_, '_>) -> Option<Self> {
        let pattern = Pattern::fields(table);
        let common = Common::fields(table);
        let (mut common, pattern) = (common?, pattern?);
        common.name.get_or_insert_with(|| pattern.kind().to_owned());
        Some(Self { common, pattern })
    }

    fn write_fields(&self, out: &mut Vec<(String, crate::grammar::write::Out)>) {
        // The name first, then what the block does.
        let mut common = Vec::new();
        self.common.write_fields(&mut common);
        let name = common.iter().position(|(key, _)| key == "name");
        out.extend(name.map(|name| common.remove(name)));
        self.pattern.write_fields(out);
        out.extend(common);
    }
}

crate::grammar::section::section!(@setting Block, crate::grammar::setting::Shape::Variants("kind", Block::entries()));

impl Block {
    /// Every kind of traffic with its keys, the common ones last.
    pub(crate) fn entries() -> Vec<Entry> {
        let mut entries = Pattern::entries();
        for entry in &mut entries {
            entry.keys.extend(Common::keys());
        }
        entries
    }
}

impl Pattern {
    /// Checks the pattern against the network.
    ///
    /// # Errors
    /// What does not fit.
    pub(crate) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        match self {
            Self::Flows(pattern) => pattern.check(setting),
            Self::Poisson(pattern) => pattern.check(setting),
            Self::Incast(pattern) => pattern.check(setting),
            Self::Permutation(pattern) => pattern.check(setting),
            Self::Staggered(pattern) => pattern.check(setting),
            Self::FlowTable(pattern) => pattern.check(setting),
            Self::HpccFile(pattern) => pattern.check(setting),
            Self::GoalFile(pattern) => pattern.placed(setting).map(|work| work.reach()),
            Self::HtsimConnections(pattern) => pattern.placed(setting).map(|work| work.reach()),
            Self::ChakraTrace(pattern) => pattern.placed(setting).map(|work| work.reach()),
            Self::SimAiFile(pattern) => pattern.check(setting),
            Self::RingAllReduce(pattern) => pattern.check(setting),
            Self::AllToAll(pattern) => pattern.check(setting),
            Self::Collective(pattern) => pattern.check(setting),
            Self::ClosedLoop(pattern) => pattern.check(setting),
            Self::ParameterServer(pattern) => pattern.check(setting),
            Self::Hsdp(pattern) => pattern.check(setting),
            Self::FileRequests(pattern) => pattern.check(setting),
            Self::OnOff(pattern) => pattern.check(setting),
        }
    }

    /// Returns the number of its flows that one host receives at the same time, where the pattern has one: 1 for all
    /// others. `reach` is its own.
    pub(crate) fn at_once(&self, reach: &Reach) -> u64 {
        match self {
            Self::Flows(pattern) => pattern.at_once(reach),
            Self::Staggered(_) => reach.senders(),
            Self::Incast(pattern) => pattern.at_once(reach),
            Self::AllToAll(pattern) => pattern.at_once(reach),
            Self::FileRequests(pattern) => u64::from(pattern.responders),
            _ => 1,
        }
    }

    /// Whether it may have messages between ranks of one host.
    pub(crate) fn has_local_messages(&self) -> bool {
        matches!(
            self,
            Self::GoalFile(_)
                | Self::ChakraTrace(_)
                | Self::SimAiFile(_)
                | Self::AllToAll(_)
                | Self::Collective(_)
        )
    }

    /// Whether it is a process with a load, which is measured.
    pub(crate) fn has_load(&self) -> bool {
        match self {
            Self::Poisson(_) => true,
            Self::Incast(pattern) => pattern.has_load(),
            _ => false,
        }
    }

    /// Its offered load, if it is a process with a rate and has no errors.
    pub(crate) fn offered(&self, setting: &Setting<'_>) -> Option<Offered> {
        match self {
            Self::Poisson(pattern) => pattern.offered(setting),
            Self::Incast(pattern) => pattern.offered(setting),
            Self::FileRequests(pattern) => pattern.offered(setting),
            _ => None,
        }
    }

    /// Makes the flows and operations of a block called `name`.
    ///
    /// # Errors
    /// Settings that contradict the network.
    pub(crate) fn make(&self, setting: &Setting<'_>, seed: u64, name: &str) -> Result<Made, Faults> {
        let flows = match self {
            Self::Flows(pattern) => pattern.make(setting),
            Self::Poisson(pattern) => return pattern.make(setting, seed, name),
            Self::Incast(pattern) => return pattern.make(setting, seed, name),
            Self::Permutation(pattern) => pattern.make(setting, seed, name),
            Self::Staggered(pattern) => pattern.make(setting),
            Self::FlowTable(pattern) => pattern.make(setting),
            Self::HpccFile(pattern) => pattern.make(setting),
            Self::GoalFile(pattern) => return pattern.placed(setting).map(Placed::made),
            Self::HtsimConnections(pattern) => return pattern.placed(setting).map(Placed::made),
            Self::ChakraTrace(pattern) => return pattern.placed(setting).map(Placed::made),
            Self::SimAiFile(pattern) => return pattern.make(setting),
            Self::RingAllReduce(pattern) => return pattern.make(setting),
            Self::AllToAll(pattern) => return pattern.make(setting, seed, name),
            Self::Collective(pattern) => return pattern.make(setting),
            Self::ClosedLoop(pattern) => return pattern.make(setting, seed, name),
            Self::ParameterServer(pattern) => return pattern.make(setting),
            Self::Hsdp(pattern) => return pattern.make(setting, seed, name),
            Self::FileRequests(pattern) => return pattern.make(setting, seed, name),
            Self::OnOff(pattern) => pattern.make(setting, seed, name),
        };
        flows.map(Made::from)
    }
}
