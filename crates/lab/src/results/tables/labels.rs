//! The contents of rows that are not in records.

use std::collections::HashMap;

use incast_sim::Simulation;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::network::{NodeId, PortId};
use incast_sim::describe::work::Operation;
use incast_sim::record::{FlowRecord, OperationRecord};
use incast_units::{Rate, Time};

/// The rate and delay of a link, and the port at its far end.
type Link = ((Rate, Time), (NodeId, PortId));

/// Names, and the description of the simulation.
#[derive(Debug)]
pub struct Labels<'a> {
    pub(super) simulation: &'a Simulation,
    groups: &'a [String],
    algorithms: &'a [String],
    jobs: &'a [String],
    /// The rate and delay of each port's link, and its far end.
    links: HashMap<(NodeId, PortId), Link>,
}

impl<'a> Labels<'a> {
    /// Makes the labels of a simulation whose flows' groups, algorithms and operations' jobs have these names.
    #[must_use]
    pub fn new(
        simulation: &'a Simulation,
        groups: &'a [String],
        algorithms: &'a [String],
        jobs: &'a [String],
    ) -> Self {
        let links = simulation.network.links.iter();
        let links =
            links.flat_map(|l| [(l.a, ((l.rate, l.delay), l.b)), (l.b, ((l.rate, l.delay), l.a))]).collect();
        Self { simulation, groups, algorithms, jobs, links }
    }

    /// Returns the name of a node.
    pub(super) fn node(&self, id: NodeId) -> &str {
        self.simulation.network.nodes.get(id as usize).map_or("", String::as_str)
    }

    /// Returns the rate and delay of a port's link, and the port at its far end.
    pub(super) fn link(&self, node: NodeId, port: PortId) -> Option<Link> {
        self.links.get(&(node, port)).copied()
    }

    /// Returns the flow of a record, which must be one of the simulation's.
    pub(super) fn flow(&self, record: &FlowRecord) -> &Flow {
        &self.simulation.flows[record.flow as usize]
    }

    /// Returns the name of a flow's traffic block.
    pub(super) fn group(&self, flow: &Flow) -> &str {
        self.block(flow.group)
    }

    /// Returns the name of a traffic block.
    pub(super) fn block(&self, group: u16) -> &str {
        name(self.groups, group)
    }

    /// Returns the name of a flow's algorithm, with its preset.
    pub(super) fn algorithm(&self, flow: &Flow) -> &str {
        name(self.algorithms, flow.algorithm)
    }

    /// Returns the operation of a record, which must be one of the simulation's.
    pub(super) fn operation(&self, record: &OperationRecord) -> &Operation {
        &self.simulation.operations[record.operation as usize]
    }

    /// Returns the name of a job.
    pub(super) fn job(&self, job: u16) -> &str {
        name(self.jobs, job)
    }
}

fn name(names: &[String], index: u16) -> &str {
    names.get(usize::from(index)).map_or("", String::as_str)
}
