//! The flows that a host starts, in order.

use incast_engine::event::Event;

use crate::facts::work::WorkFacts;
use crate::rank;

/// The flows from one host, by start. A flow's position here is the index by which its packets refer to it.
#[derive(Debug, Default)]
pub(crate) struct Program {
    steps: Vec<Step>,
}

/// A flow to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Index into the simulation's flows.
    pub(crate) flow: u32,
    /// The receiver's index of it.
    pub(crate) peer: u32,
}

impl Program {
    /// Adds a flow, with the next index.
    pub(crate) fn add(&mut self, flow: u32, peer: u32) {
        self.steps.push(Step { flow, peer });
    }

    /// The index that the next flow added will have.
    pub(crate) fn next_index(&self) -> u32 {
        self.steps.len() as u32
    }

    /// The flow with this index.
    pub(crate) fn step(&self, index: u32) -> Option<Step> {
        self.steps.get(index as usize).copied()
    }

    /// The index of a flow. Flows are added in the order of the simulation's.
    pub(crate) fn index_of(&self, flow: u32) -> Option<u32> {
        self.steps.binary_search_by_key(&flow, |step| step.flow).ok().map(|index| index as u32)
    }

    /// The event that starts the flow with this index, or the next one that no operation sends. Each start
    /// schedules the next one, so that a host has one such event at a time.
    pub(crate) fn start_event(&self, index: u32, facts: &WorkFacts) -> Option<Event> {
        let mut rest = (index..).zip(self.steps.get(index as usize..)?);
        let (index, step) = rest.find(|(_, step)| facts.graph.sender(step.flow).is_none())?;
        Some(Event::new(facts.start(step.flow).ps(), rank::START, index))
    }
}
