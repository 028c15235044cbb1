//! Output of a traffic block: flows, and operations that send and receive some of them.

use core::ops::Range;
use std::collections::BTreeMap;

use incast_sim::describe::flow::Flow;
use incast_sim::describe::work::{BESIDE, Operation, What};
use incast_units::{Bytes, Time};

use super::Draft;
use super::hosts::End;
use super::setting::Local;
use crate::load::Window;
pub(crate) use crate::results::jobs::Volume;

/// The flows and operations of a block. Operations name flows, other operations and jobs by their index within
/// the block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Made {
    pub(crate) flows: Vec<Draft>,
    pub(crate) operations: Vec<Operation>,
    /// The names of its jobs, appended to the block's name; an empty one is the whole block.
    pub(crate) jobs: Vec<String>,
    /// The bytes that jobs exchange which are collectives, by job.
    pub(crate) volumes: BTreeMap<u16, Volume>,
    /// The times at which flows start that count; `None`: all of them count.
    pub(crate) counted: Option<Range<Time>>,
    /// Of a block with a load: the window in which it is measured.
    pub(crate) window: Option<Window>,
    /// The links inside of hosts; `None`: messages within a host take no time.
    pub(crate) local: Option<Local>,
}

/// The two operations of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) send: u32,
    pub(crate) receive: u32,
}

impl From<Vec<Draft>> for Made {
    fn from(flows: Vec<Draft>) -> Self {
        Self { flows, ..Self::default() }
    }
}

impl Made {
    /// Adds a job.
    pub(crate) fn job(&mut self, name: impl Into<String>) -> u16 {
        self.jobs.push(name.into());
        (self.jobs.len() - 1) as u16
    }

    /// Says what a job exchanges, which is a collective.
    pub(crate) fn measure(&mut self, job: u16, volume: Volume) {
        self.volumes.insert(job, volume);
    }

    /// Adds a flow with the operations that send and receive it: they depend on nothing yet.
    pub(crate) fn transfer(
        &mut self,
        job: u16,
        ends: [impl Into<End>; 2],
        size: Bytes,
        start: Time,
    ) -> Transfer {
        let ends = ends.map(Into::into);
        let send = self.send(job, ends, size, start);
        let flow = self.flows.len() as u32 - 1;
        let receive = self.operation(job, ends[1].host, What::Receive { flow }, Vec::new());
        Transfer { send, receive }
    }

    /// Adds a flow with the operation that sends it; none receives it.
    pub(crate) fn send(&mut self, job: u16, ends: [impl Into<End>; 2], size: Bytes, start: Time) -> u32 {
        let index = self.flows.len() as u64;
        let ends @ [from, _] = ends.map(Into::into);
        self.flows.push(Draft::new(index, ends, size, start));
        self.operation(job, from.host, What::Send { flow: index as u32 }, Vec::new())
    }

    /// Gives the last flow this channel, which has a connection of its own.
    pub(crate) fn on_channel(&mut self, channel: u32) {
        if let Some(flow) = self.flows.last_mut() {
            flow.channel = channel;
        }
    }

    /// Adds a computation.
    pub(crate) fn compute(
        &mut self,
        job: u16,
        host: u32,
        time: Time,
        processor: u16,
        after: Vec<u32>,
    ) -> u32 {
        self.operation(job, host, What::Compute { time, processor }, after)
    }

    /// Adds a message within a host, as the computations that take its time: on its way out of its GPU, and after that.
    /// Returns what its receiver waits for: what its sender waits for, if it takes no time.
    pub(crate) fn inside(
        &mut self,
        (job, from): (u16, End),
        size: Bytes,
        after: Vec<u32>,
        start: Time,
    ) -> Vec<u32> {
        let Some(local) = self.local else { return after };
        let processor = Local::processor(from.card);
        let leaves = self.compute(job, from.host, local.rate.time_for(size), processor, after);
        self.operations[leaves as usize].earliest = start;
        if local.delay == Time::ZERO {
            return vec![leaves];
        }
        vec![self.compute(job, from.host, local.delay, BESIDE, vec![leaves])]
    }

    /// Makes an operation depend on the end of others of its host.
    pub(crate) fn wait(&mut self, operation: u32, after: &[u32]) {
        if let Some(operation) = self.operations.get_mut(operation as usize) {
            operation.after.extend(after);
        }
    }

    fn operation(&mut self, job: u16, host: u32, what: What, after: Vec<u32>) -> u32 {
        self.operations.push(Operation {
            host,
            what,
            after,
            after_start: Vec::new(),
            start_before: Time::NEVER,
            earliest: Time::ZERO,
            job,
        });
        self.operations.len() as u32 - 1
    }
}

impl Made {
    /// Returns for each flow whether an operation sends it.
    pub(crate) fn sent(&self) -> Vec<bool> {
        let mut sent = vec![false; self.flows.len()];
        for operation in &self.operations {
            if let What::Send { flow } = operation.what {
                sent[flow as usize] = true;
            }
        }
        sent
    }
}

/// Shifts an operation of a block behind the flows, operations and jobs of the blocks before.
pub(crate) fn moved(operation: Operation, [flows, operations, jobs]: [usize; 3]) -> Operation {
    let shift = |others: Vec<u32>| others.into_iter().map(|other| other + operations as u32).collect();
    let mut what = operation.what;
    if let What::Send { flow } | What::Receive { flow } = &mut what {
        *flow += flows as u32;
    }
    Operation {
        host: operation.host,
        what,
        after: shift(operation.after),
        after_start: shift(operation.after_start),
        start_before: operation.start_before,
        earliest: operation.earliest,
        job: operation.job.wrapping_add(jobs as u16),
    }
}

/// Numbers flows: by start, and those that start together as the scenario lists them. The operations name them by
/// their numbers. Returns the flows by number, and the order of service ([`Simulation::order`]): flows that start together
/// are in the order of their keys, which are drawn; flows that operations send (marked) follow, by number.
///
/// [`Simulation::order`]: incast_sim::Simulation::order
pub(crate) fn numbered(flows: &[(bool, Flow)], operations: &mut [Operation]) -> (Vec<Flow>, Vec<u32>) {
    let mut listed: Vec<u32> = (0..flows.len() as u32).collect();
    listed.sort_by_key(|&place| flows[place as usize].1.start);
    let mut numbers = vec![0; if operations.is_empty() { 0 } else { flows.len() }];
    for (number, &place) in (0_u32..).zip(&listed) {
        if let Some(entry) = numbers.get_mut(place as usize) {
            *entry = number;
        }
    }
    for operation in operations {
        if let What::Send { flow } | What::Receive { flow } = &mut operation.what {
            *flow = numbers[*flow as usize];
        }
    }
    let at = |number: u32| flows[listed[number as usize] as usize];
    let mut order: Vec<u32> = (0..flows.len() as u32).collect();
    order.sort_by_key(|&number| {
        let (is_sent, flow) = at(number);
        (flow.start, is_sent, if is_sent { 0 } else { flow.key })
    });
    if order.is_sorted() {
        order.clear();
    }
    ((0..flows.len() as u32).map(|number| at(number).1).collect(), order)
}
