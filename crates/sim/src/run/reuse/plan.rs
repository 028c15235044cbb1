//! The part of a workload that repeats itself: its operations and flows, by job, compared with the ones a period later.

use std::ops::Range;

use incast_net::describe::Simulation;
use incast_net::describe::flow::Flow;
use incast_net::describe::switch::PathPolicy;
use incast_net::describe::work::{Operation, What};
use incast_net::describe::{impairments::Impairments, probe::Probes};
use incast_units::Time;

use crate::facts::Facts;

/// The operations and flows of one job, which follow each other in the lists of the simulation.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) operations: Range<u32>,
    pub(super) flows: Range<u32>,
}

/// The jobs of a simulation, by number, and of each flow its job.
#[derive(Clone, Debug)]
pub(super) struct Jobs {
    pub(super) jobs: Vec<Job>,
    of_flows: Vec<u16>,
}

/// Extends a range by the next number; `None`: others lie in between.
fn extend(range: &mut Range<u32>, number: u32) -> Option<()> {
    if range.start == range.end {
        *range = number..number;
    }
    (range.end == number).then(|| range.end += 1)
}

impl Jobs {
    /// The jobs of a simulation, of which parts may repeat.
    ///
    /// # Errors
    /// Nothing of it can be reused. Returns the reason.
    pub(super) fn new(simulation: &Simulation) -> Result<Self, String> {
        if let Some(reason) = unfit(simulation) {
            return Err(reason);
        }
        let Simulation { operations, flows, .. } = simulation;
        let count = operations.iter().map(|operation| usize::from(operation.job) + 1).max().unwrap_or(0);
        let mut jobs = vec![Job { operations: 0..0, flows: 0..0 }; count];
        let mut of_flows = vec![u16::MAX; flows.len()];
        for (number, operation) in (0..).zip(operations) {
            let mixed = || "the operations of jobs are mixed with each other".to_owned();
            extend(&mut jobs[usize::from(operation.job)].operations, number).ok_or_else(mixed)?;
            if let What::Send { flow } = operation.what {
                of_flows[flow as usize] = operation.job;
            }
        }
        for (number, job) in (0..).zip(&of_flows) {
            let Some(job) = jobs.get_mut(usize::from(*job)) else {
                return Err(format!("flow {number} starts by itself, and not by an operation of a job"));
            };
            let mixed = || "the flows of jobs are mixed with each other".to_owned();
            extend(&mut job.flows, number).ok_or_else(mixed)?;
        }
        let sent = |operation: &Operation| match operation.what {
            What::Send { flow } => Some(flow),
            What::Receive { .. } | What::Compute { .. } => None,
        };
        for Job { operations: own, .. } in &jobs {
            let own = &operations[own.start as usize..own.end as usize];
            if !own.iter().filter_map(sent).is_sorted() {
                return Err("a job does not send its flows in the order of their numbers".to_owned());
            }
        }
        for (number, Operation { what, job, .. }) in operations.iter().enumerate() {
            if let What::Receive { flow } = what
                && of_flows[*flow as usize] != *job
            {
                return Err(format!("operation {number} receives a flow of another job"));
            }
        }
        Ok(Self { jobs, of_flows })
    }

    /// The job of a flow.
    pub(super) fn of_flow(&self, flow: u32) -> usize {
        usize::from(self.of_flows[flow as usize])
    }
}

/// Returns why nothing of a simulation can be reused, if that is known before it runs.
fn unfit(simulation: &Simulation) -> Option<String> {
    let Simulation { network, switch, operations, order, probes, impairments, flows, .. } = simulation;
    let Probes { ports, flows: sampled, captures, limits, loads, pauses, .. } = probes;
    let samples = !ports.is_empty() || !sampled.is_empty() || limits.is_some() || !loads.is_empty();
    let stops = |flow: &Flow| flow.stop != Time::NEVER;
    let alone = |flow: &Flow| flow.connection.is_none();
    let reasons = [
        (operations.is_empty(), "there is no job: its flows start by themselves"),
        (samples, "samples are taken, at times that do not shift"),
        (!captures.is_empty() || *pauses, "packets or pauses are recorded"),
        (network.circuits.is_some(), "circuits change, at times that do not shift"),
        (*impairments != Impairments::default(), "impairments draw at random, or differ from time to time"),
        (switch.trimming.is_some(), "trimming draws at random about packets"),
        (switch.path == PathPolicy::FiveTuple, "paths follow from the numbers of flows"),
        (!order.is_empty(), "flows have an order of service of their own"),
        (flows.iter().any(stops), "flows stop at times that do not shift"),
        (flows.iter().any(alone), "flows have no connections: each has a path and a state of its own"),
    ];
    reasons.into_iter().find(|(applies, _)| *applies).map(|(_, reason)| reason.to_owned())
}

/// The progress of a job at an instant. Numbers of operations and flows count from the first of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    /// Number of operations that have ended, and of flows that are done.
    pub(super) ended: u32,
    pub(super) done: u32,
    /// The first operation that has not ended.
    pub(super) open: u32,
    /// One past the last one that is not as it was at the beginning.
    pub(super) touched: u32,
}

/// The shift of a job from one instant to a later one at which the state is the same: of its operations, and of its flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shift {
    pub(super) operations: u32,
    pub(super) flows: u32,
}

impl Shift {
    /// Returns its multiple.
    pub(super) fn times(self, times: u32) -> Self {
        Self { operations: self.operations * times, flows: self.flows * times }
    }
}

impl Jobs {
    /// Returns how often a job does again from `later` on what it did since `earlier`, which was at `now`: the operations
    /// that it comes to do are the same ones, shifted. `None`: as often as one likes, for it has nothing left to do.
    ///
    /// # Errors
    /// It does not do it at all. Returns the reason.
    pub(super) fn copies(
        &self,
        job: usize,
        (earlier, later): (Reached, Reached),
        now: Time,
        (facts, simulation): (&Facts<'_>, &Simulation),
    ) -> Result<Option<u32>, String> {
        let Job { operations, flows } = &self.jobs[job];
        let shift = Shift { operations: later.ended - earlier.ended, flows: later.done - earlier.done };
        let count = operations.len() as u32;
        if shift.operations == 0 {
            // It is over, or has not begun.
            let rests = later.ended == count || later.touched == 0;
            return if rests { Ok(None) } else { Err(format!("job {job} has not moved")) };
        }
        let own = &simulation.operations[operations.start as usize..operations.end as usize];
        let mut end = count;
        let mut difference = String::new();
        for number in earlier.open..count - shift.operations {
            let (one, other) = (&own[number as usize], &own[(number + shift.operations) as usize]);
            if let Some(what) = differs([one, other], shift, (facts, flows), now, simulation) {
                end = number + shift.operations;
                difference = format!(
                    "operation {} differs from operation {} by its {what}",
                    operations.start + end,
                    operations.start + number
                );
                break;
            }
        }
        let copies = end.saturating_sub(later.touched) / shift.operations;
        match (copies, difference.is_empty()) {
            (0, true) => Err(format!("job {job} ends before it repeats")),
            (0, false) => Err(difference),
            _ => Ok(Some(copies)),
        }
    }

    /// Returns a simulation without a number of periods of each job, which had reached this at the end of the first of them, at
    /// `now`, with the time that they take. What is left out begins with the first operation that was as at the beginning.
    /// What happens at a time of its own after that happens so much earlier.
    ///
    /// # Errors
    /// An operation behind it depends on one without a counterpart. Returns a sentence that names it.
    pub(super) fn without(
        &self,
        simulation: &Simulation,
        (earlier, later): (&[Reached], &[Reached]),
        (now, left_out): (Time, Time),
        (shifts, periods): (&[Shift], u32),
    ) -> Result<Simulation, String> {
        let moved = |time: Time| match time {
            Time::NEVER => time,
            time if time <= now => time,
            // What lies in the part that is left out has passed when that is over.
            time => time.max(now + left_out) - left_out,
        };
        let (mut operations, mut flows) = (Vec::new(), Vec::new());
        for (number, job) in self.jobs.iter().enumerate() {
            let fewer = shifts[number].times(periods);
            let (first, first_flow) = (operations.len() as u32, flows.len() as u32);
            let cut = job.operations.start + later[number].touched;
            let least = job.operations.start + earlier[number].open;
            let mut cut_flow = job.flows.start;
            for (index, operation) in job.operations.clone().map(|index| (index, index as usize)) {
                // Operations behind the part that is left out take the numbers of those in it.
                let back = match index {
                    index if index < cut => Shift { operations: 0, flows: 0 },
                    index if index < cut + fewer.operations => continue,
                    _ => fewer,
                };
                let mut operation = simulation.operations[operation].clone();
                operation.earliest = moved(operation.earliest);
                operation.start_before = moved(operation.start_before);
                for other in operation.after.iter_mut().chain(&mut operation.after_start) {
                    if back.operations > 0 && *other < least + back.operations {
                        return Err(format!("operation {index} depends on operation {other}, far before it"));
                    }
                    *other = *other - back.operations - job.operations.start + first;
                }
                if let What::Send { flow } = operation.what
                    && index < cut
                {
                    cut_flow = flow + 1;
                }
                if let What::Send { flow } | What::Receive { flow } = &mut operation.what {
                    if *flow < job.flows.start + back.flows {
                        return Err(format!("operation {index} is about flow {flow}, far before it"));
                    }
                    *flow = *flow - back.flows - job.flows.start + first_flow;
                }
                operations.push(operation);
            }
            let behind = cut_flow + fewer.flows;
            flows.extend_from_slice(&simulation.flows[job.flows.start as usize..cut_flow as usize]);
            flows.extend_from_slice(&simulation.flows[behind as usize..job.flows.end as usize]);
        }
        flows.iter_mut().for_each(|flow: &mut Flow| flow.start = moved(flow.start));
        let mut network = simulation.network.clone();
        network.changes.iter_mut().for_each(|change| change.time = moved(change.time));
        let until = if simulation.until == Time::NEVER { Time::NEVER } else { simulation.until - left_out };
        Ok(Simulation { operations, flows, network, until, ..simulation.clone() })
    }
}

/// Returns what an operation of a job differs in from the one that is shifted, if it does, when all that starts at a given
/// time must have reached it at `now`.
fn differs(
    [one, other]: [&Operation; 2],
    shift: Shift,
    (facts, flows): (&Facts<'_>, &Range<u32>),
    now: Time,
    simulation: &Simulation,
) -> Option<&'static str> {
    let Operation { host, what, after, after_start, start_before, earliest, job } = one;
    let shifted = |mine: &[u32], others: &[u32]| {
        mine.len() == others.len() && mine.iter().zip(others).all(|(a, b)| a + shift.operations == *b)
    };
    let same_flow = |a: u32, b: u32| {
        let [one, other] = [a, b].map(|flow| simulation.flows[flow as usize]);
        flows.contains(&b)
            && a + shift.flows == b
            && one == other
            && one.start <= now
            && facts.flows().hashes(a) == facts.flows().hashes(b)
    };
    let same_work = match (*what, other.what) {
        (What::Send { flow: a }, What::Send { flow: b }) => same_flow(a, b),
        (What::Receive { flow: a }, What::Receive { flow: b }) => same_flow(a, b),
        (a @ What::Compute { .. }, b) => a == b,
        _ => false,
    };
    let differences = [
        (*host != other.host, "host"),
        (!same_work, "work"),
        (!shifted(after, &other.after), "dependencies"),
        (!shifted(after_start, &other.after_start), "dependencies on starts"),
        (*start_before != Time::NEVER || other.start_before != Time::NEVER, "latest start"),
        (*earliest > now || other.earliest > now, "earliest start"),
        (*job != other.job, "job"),
    ];
    differences.into_iter().find_map(|(differs, what)| differs.then_some(what))
}
