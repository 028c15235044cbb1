//! The flows that a host starts, in order.

use crate::engine::event::{Event, Kind};
use crate::engine::world::World;

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
    /// Adds a flow; returns its index.
    pub(crate) fn add(&mut self, flow: u32, peer: u32) -> u32 {
        self.steps.push(Step { flow, peer });
        self.steps.len() as u32 - 1
    }

    /// The index that the next flow added will have.
    pub(crate) fn next_index(&self) -> u32 {
        self.steps.len() as u32
    }

    /// The flow with this index.
    pub(crate) fn step(&self, index: u32) -> Option<Step> {
        self.steps.get(index as usize).copied()
    }

    /// The event that starts the flow with this index. Each start schedules the next one, so that a host
    /// has one such event at a time.
    pub(crate) fn start_event(&self, index: u32, world: &World) -> Option<Event> {
        let step = self.step(index)?;
        let start = world.flows[step.flow as usize].start;
        Some(Event::new(start.ps(), Kind::Start, index))
    }
}
