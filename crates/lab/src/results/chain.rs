//! The chain of operations that decides the end of a job, and what its time went into.
//!
//! It is walked back from the operation that ended last. Each of its pieces begins where the one before it in time
//! ends, so that they add up to the completion time.

use std::collections::{BTreeMap, BTreeSet};

use incast_sim::Simulation;
use incast_sim::describe::work::{BESIDE, What};
use incast_sim::record::{Division, Limit};
use incast_units::Time;

use super::JobRecord;

/// The divided time of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JobLimits {
    /// Its number.
    pub(crate) job: u16,
    /// Its completion time and the parts of that; `None` unless it ended.
    pub(crate) parts: Option<Parts>,
}

/// The parts of a job's completion time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Its completion time.
    pub(crate) time: Time,
    /// Computations.
    pub(crate) computing: Time,
    /// Waits for times that the workload sets.
    pub(crate) scheduled: Time,
    /// Flows, by what kept their next packets back.
    pub(crate) flows: Division,
}

/// The start and the end of an operation; [`Time::NEVER`] if there was none.
pub(crate) type Span = (Time, Time);

/// A piece of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Computing(Time),
    Scheduled(Time),
    /// A flow from its start to an instant; what of that is before the job's start does not count.
    Flow {
        flow: u32,
        start: Time,
        until: Time,
        before: Time,
    },
}

/// The chains of all jobs.
#[derive(Debug)]
pub(crate) struct Chains {
    jobs: Vec<(JobRecord, Vec<Piece>)>,
}

impl Chains {
    /// Walks back from the ends of jobs, whose operations took place at these times.
    pub(crate) fn new(simulation: &Simulation, spans: &[Span], jobs: &[JobRecord]) -> Self {
        let walk = Walk::new(simulation, spans);
        let chain = |job: &JobRecord| {
            let last = job.last.filter(|_| job.end != Time::NEVER);
            (*job, last.map_or_else(Vec::new, |(last, _)| walk.back(last, job.start, job.end)))
        };
        Self { jobs: jobs.iter().map(chain).collect() }
    }

    /// Returns the flows of the chains.
    pub(crate) fn flows(&self) -> BTreeSet<u32> {
        let pieces = self.jobs.iter().flat_map(|(_, pieces)| pieces);
        let flow = |piece: &Piece| if let Piece::Flow { flow, .. } = piece { Some(*flow) } else { None };
        pieces.filter_map(flow).collect()
    }

    /// Returns the divided times of the jobs, given the divisions of these flows.
    pub(crate) fn divided(&self, flows: &BTreeMap<u32, Division>) -> Vec<JobLimits> {
        let parts = |job: &JobRecord, pieces: &[Piece]| {
            let time = job.time().filter(|_| job.last.is_some())?;
            let mut parts =
                Parts { time, computing: Time::ZERO, scheduled: Time::ZERO, flows: Division::ZERO };
            for piece in pieces {
                match *piece {
                    Piece::Computing(time) => parts.computing += time,
                    Piece::Scheduled(time) => parts.scheduled += time,
                    Piece::Flow { flow, start, until, before } => {
                        let whole = flows.get(&flow).copied().unwrap_or(Division::ZERO);
                        let after = (start + whole.total()).checked_sub(until).unwrap_or_default();
                        let rest = without(without(whole, after, FROM_THE_END), before, FROM_THE_START);
                        for limit in Limit::ALL {
                            parts.flows.add(limit, rest.of(limit));
                        }
                    }
                }
            }
            Some(parts)
        };
        self.jobs.iter().map(|(job, pieces)| JobLimits { job: job.job, parts: parts(job, pieces) }).collect()
    }
}

/// The order in which the end of a flow is taken off its limits: after the last byte has arrived a flow mostly waits for
/// its answer, and sends last of all.
const FROM_THE_END: [Limit; 9] = [
    Limit::Answer,
    Limit::Repair,
    Limit::Window,
    Limit::Pacing,
    Limit::Card,
    Limit::Paused,
    Limit::Credit,
    Limit::Connection,
    Limit::Sending,
];

/// The order in which its begin is taken off.
const FROM_THE_START: [Limit; 9] = [
    Limit::Connection,
    Limit::Sending,
    Limit::Card,
    Limit::Paused,
    Limit::Credit,
    Limit::Pacing,
    Limit::Window,
    Limit::Repair,
    Limit::Answer,
];

/// Takes some time off a division, limit by limit.
fn without(division: Division, mut time: Time, order: [Limit; 9]) -> Division {
    let mut rest = Division::ZERO;
    for limit in order {
        let taken = division.of(limit).min(time);
        time -= taken;
        rest.add(limit, division.of(limit) - taken);
    }
    rest
}

/// The operations of a run, by what a walk looks for.
struct Walk<'a> {
    simulation: &'a Simulation,
    spans: &'a [Span],
    /// The operation that sends each flow.
    senders: BTreeMap<u32, u32>,
    /// Computations that took some time, by host, processor and end.
    computed: BTreeMap<(u32, u16, Time), u32>,
}

impl<'a> Walk<'a> {
    fn new(simulation: &'a Simulation, spans: &'a [Span]) -> Self {
        let (mut senders, mut computed) = (BTreeMap::new(), BTreeMap::new());
        for ((operation, span), index) in simulation.operations.iter().zip(spans).zip(0..) {
            match operation.what {
                What::Send { flow } => {
                    senders.insert(flow, index);
                }
                What::Compute { processor, .. } if processor != BESIDE && span.0 < span.1 => {
                    computed.entry((operation.host, processor, span.1)).or_insert(index);
                }
                _ => {}
            }
        }
        Self { simulation, spans, senders, computed }
    }

    /// Returns the chain of a job, from its last operation back to its start.
    fn back(&self, last: u32, job_start: Time, job_end: Time) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let (mut at, mut operation) = (job_end, last);
        while at > job_start {
            let (start, end) = self.spans[operation as usize];
            let from = start.max(job_start);
            match self.simulation.operations[operation as usize].what {
                What::Compute { .. } => {
                    pieces.push(Piece::Computing(at - from));
                    at = start;
                }
                What::Send { flow } => {
                    pieces.push(Piece::Flow { flow, start, until: at, before: from - start });
                    at = start;
                }
                // Its flow's delivery ended it.
                What::Receive { flow } if start < end && at == end => match self.senders.get(&flow) {
                    Some(send) => {
                        operation = *send;
                        continue;
                    }
                    None => {
                        let start = self.simulation.flows[flow as usize].start;
                        let from = start.max(job_start);
                        pieces.push(Piece::Flow { flow, start, until: at, before: from - start });
                        pieces.push(Piece::Scheduled(from - job_start));
                        return pieces;
                    }
                },
                What::Receive { .. } => at = start,
            }
            if at <= job_start {
                break;
            }
            let reason = self.reason(operation, at);
            let since = reason.map_or(job_start, |(since, _)| since);
            pieces.push(Piece::Scheduled(at - since.max(job_start).min(at)));
            let Some((since, next)) = reason else { break };
            (at, operation) = (since, next);
        }
        pieces
    }

    /// Returns when what an operation that started at `at` had waited for was there, and the operation whose end that
    /// was.
    fn reason(&self, operation: u32, mut at: Time) -> Option<(Time, u32)> {
        let mut current = operation;
        loop {
            let of = &self.simulation.operations[current as usize];
            let ended = of.after.iter().map(|&other| (self.spans[other as usize].1, other, true));
            let started = of.after_start.iter().map(|&other| (self.spans[other as usize].0, other, false));
            // The latest; of several an end rather than a start, and the lowest index.
            let latest = ended
                .chain(started)
                .max_by_key(|&(time, other, is_end)| (time, is_end, std::cmp::Reverse(other)));
            if let What::Compute { processor, .. } = of.what
                && latest.is_none_or(|(time, ..)| time < at)
                && let Some(before) = self.computed.get(&(of.host, processor, at))
                && *before != current
            {
                return Some((at, *before));
            }
            let (time, other, is_end) = latest?;
            at = time.min(at);
            if is_end {
                return Some((at, other));
            }
            current = other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_taken_off_in_order() {
        let us = Time::from_us;
        let mut division = Division::ZERO;
        [(Limit::Sending, 4), (Limit::Answer, 3), (Limit::Window, 2)]
            .into_iter()
            .for_each(|(limit, time)| division.add(limit, us(time)));
        let rest = without(division, us(4), FROM_THE_END);
        assert_eq!(rest.total(), us(5));
        assert_eq!((rest.of(Limit::Sending), rest.of(Limit::Window)), (us(4), us(1)));
        let rest = without(division, us(5), FROM_THE_START);
        assert_eq!((rest.of(Limit::Answer), rest.of(Limit::Window)), (us(3), us(1)));
    }
}
