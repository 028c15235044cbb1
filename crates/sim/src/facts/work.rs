//! Facts of the operations of workloads with dependencies.

use incast_net::describe::Simulation;
use incast_net::describe::flow::Flow;
use incast_net::describe::work::{Operation, What};
use incast_units::Time;

use super::graph::Graph;

/// The operations of all hosts, constant over the run.
#[derive(Debug)]
pub(crate) struct WorkFacts<'a> {
    pub(crate) operations: &'a [Operation],
    pub(crate) graph: Graph,
    flows: &'a [Flow],
}

impl<'a> WorkFacts<'a> {
    /// The operations of a description.
    ///
    /// # Errors
    /// When an operation contradicts another one or a flow: what to say.
    pub(super) fn new(simulation: &'a Simulation) -> Result<Self, String> {
        let graph = Graph::new(simulation)?;
        for (number, operation) in simulation.operations.iter().enumerate() {
            if let What::Send { flow } = operation.what
                && !simulation.flows[flow as usize].counted
            {
                return Err(format!("operation {number} sends flow {flow}, for which the run does not wait"));
            }
        }
        Ok(Self { operations: &simulation.operations, graph, flows: &simulation.flows })
    }

    /// Returns the earliest start of a flow.
    pub(crate) fn start(&self, flow: u32) -> Time {
        self.flows[flow as usize].start
    }
}
