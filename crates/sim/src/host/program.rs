//! The flows that a host starts, in order.

use incast_engine::event::Event;

use crate::facts::work::WorkFacts;
use crate::rank;

/// The flows from one host, in the order of service. A flow's position here is the index by which its packets refer
/// to it.
#[derive(Debug, Default)]
pub(crate) struct Program {
    steps: Vec<Step>,
    /// The indices of the flows that operations send; their flows' numbers increase.
    sent: Vec<u32>,
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
    /// Adds a flow, with the next index; says whether an operation sends it.
    pub(crate) fn add(&mut self, step: Step, is_sent: bool) {
        if is_sent {
            self.sent.push(self.next_index());
        }
        self.steps.push(step);
    }

    /// The index that the next flow added will have.
    pub(crate) fn next_index(&self) -> u32 {
        self.steps.len() as u32
    }

    /// The flow with this index.
    pub(crate) fn step(&self, index: u32) -> Option<Step> {
        self.steps.get(index as usize).copied()
    }

    /// The index of a flow that an operation sends.
    pub(crate) fn index_of(&self, flow: u32) -> Option<u32> {
        let number = |index: &u32| self.steps[*index as usize].flow;
        self.sent.binary_search_by_key(&flow, number).ok().map(|place| self.sent[place])
    }

    /// The event that starts the flow with this index, or the next one that no operation sends. Each start
    /// schedules the next one, so that a host has one such event at a time.
    pub(crate) fn start_event(&self, index: u32, facts: &WorkFacts) -> Option<Event> {
        let mut rest = (index..).zip(self.steps.get(index as usize..)?);
        let (index, step) = rest.find(|(_, step)| facts.graph.sender(step.flow).is_none())?;
        Some(Event::new(facts.start(step.flow).ps(), rank::START, index))
    }
}
