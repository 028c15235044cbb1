//! Notices flows and jobs that were faster than is possible, and flows whose limits do not add up to their time.

use std::ops::ControlFlow;

use incast_net::describe::Simulation;
use incast_net::describe::work::{Operation, What};
use incast_net::record::{FlowRecord, LimitRecord, OperationRecord, Progress, Sink};
use incast_units::{Bytes, Time};

use crate::facts::Facts;

/// Violations that are written out; more are counted.
const SHOWN: usize = 10;

/// A job so far.
#[derive(Clone, Copy, Debug)]
struct Job {
    /// The first start of its sends and computations.
    start: Time,
    /// The last end of its operations.
    end: Time,
    /// Number of its operations that have not ended.
    left: u64,
}

/// Compares the times of flows and jobs with their bounds.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    operations: &'a [Operation],
    /// Whether paths can become faster after the start of a flow, so that nothing is bounded.
    changes: bool,
    jobs: Vec<Job>,
    /// Violations, each in words.
    shown: Vec<String>,
    /// Number of others.
    more: u64,
}

impl<'a> Watch<'a> {
    pub(super) fn new(simulation: &'a Simulation, facts: &Facts<'_>) -> Self {
        let changes = !simulation.network.changes.is_empty() || facts.fabric().circuits.is_some();
        Self::of(&simulation.operations, changes)
    }

    fn of(operations: &'a [Operation], changes: bool) -> Self {
        let mut jobs: Vec<Job> = Vec::new();
        for operation in operations {
            let number = usize::from(operation.job);
            if jobs.len() <= number {
                jobs.resize(number + 1, Job { start: Time::NEVER, end: Time::ZERO, left: 0 });
            }
            jobs[number].left += 1;
        }
        Self { operations, changes, jobs, shown: Vec::new(), more: 0 }
    }

    fn check(&mut self, name: impl FnOnce() -> String, took: Time, bound: Time) {
        if !self.changes && took < bound {
            self.note(|| format!("{} took {took}, less than is possible: {bound}", name()));
        }
    }

    fn note(&mut self, violation: impl FnOnce() -> String) {
        if self.shown.len() == SHOWN {
            self.more += 1;
        } else {
            self.shown.push(violation());
        }
    }

    /// Returns the violations at the end of the run, given the bounds of jobs.
    pub(super) fn violations(mut self, bounds: &[Option<Time>]) -> Vec<String> {
        let jobs = std::mem::take(&mut self.jobs);
        for (number, (job, bound)) in jobs.iter().zip(bounds).enumerate() {
            if let (Some(bound), true) = (bound, job.left == 0 && job.start != Time::NEVER) {
                self.check(|| format!("job {number}"), job.end - job.start, *bound);
            }
        }
        if self.more > 0 {
            self.shown.push(format!("{} more such violations", self.more));
        }
        self.shown
    }
}

impl Sink for Watch<'_> {
    fn flows(&mut self, records: &[FlowRecord]) {
        // A flow that is stopped before it has sent anything ends at once.
        for record in records.iter().filter(|r| r.finish != Time::NEVER && r.bytes > Bytes::ZERO) {
            self.check(|| format!("flow {}", record.flow), record.finish - record.start, record.ideal);
        }
    }

    fn limits(&mut self, records: &[LimitRecord]) {
        for LimitRecord { flow, start, end, division } in records {
            let (sum, took) = (division.total(), *end - *start);
            if sum != took {
                self.note(|| format!("flow {flow}: its limits add up to {sum}, and it took {took}"));
            }
        }
    }

    fn operations(&mut self, records: &[OperationRecord]) {
        for record in records.iter().filter(|record| record.end != Time::NEVER) {
            let Some(operation) = self.operations.get(record.operation as usize) else { continue };
            let job = &mut self.jobs[usize::from(operation.job)];
            if !matches!(operation.what, What::Receive { .. }) {
                job.start = job.start.min(record.start);
            }
            job.end = job.end.max(record.end);
            job.left -= 1;
        }
    }

    fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use incast_net::record::{Division, Limit};

    use super::*;

    fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    /// Returns the violations of a flow of 5 us, number 7, and of a job of 9 us with these bounds.
    fn violations(ideal: Time, bound: Option<Time>, flows: usize, changes: bool) -> Vec<String> {
        let operation = |what| Operation {
            host: 0,
            what,
            after: Vec::new(),
            after_start: Vec::new(),
            start_before: Time::NEVER,
            earliest: Time::ZERO,
            job: 0,
        };
        // The job starts with its computation, at 2 us, and not with its receive.
        let compute = What::Compute { time: us(1), processor: 0 };
        let operations = [operation(What::Receive { flow: 7 }), operation(compute)];
        let mut watch = Watch::of(&operations, changes);
        let bytes = Bytes::new(1000);
        let flow = FlowRecord { flow: 7, start: us(1), finish: us(6), bytes, ideal, ..FlowRecord::BLANK };
        watch.flows(&vec![flow; flows]);
        watch.operations(&[
            OperationRecord { operation: 1, start: us(2), end: us(3) },
            OperationRecord { operation: 0, start: Time::ZERO, end: us(11) },
        ]);
        watch.violations(&[bound])
    }

    #[test]
    fn less_than_the_bound_is_a_violation() {
        assert_eq!(violations(us(5), Some(us(9)), 1, false), [""; 0]);
        let above = |time| time + Time::from_ps(1);
        assert_eq!(
            violations(above(us(5)), None, 1, false),
            ["flow 7 took 5us, less than is possible: 5.000001us"]
        );
        assert_eq!(
            violations(us(5), Some(above(us(9))), 1, false),
            ["job 0 took 9us, less than is possible: 9.000001us"]
        );
        // Where links become faster nothing is bounded.
        assert_eq!(violations(us(6), Some(us(10)), 1, true), [""; 0]);
    }

    #[test]
    fn limits_that_do_not_add_up_are_a_violation() {
        let mut watch = Watch::of(&[], true);
        let mut division = Division::ZERO;
        division.add(Limit::Window, us(3));
        let record = LimitRecord { flow: 7, start: us(1), end: us(4), division };
        watch.limits(&[record, LimitRecord { end: us(5), ..record }]);
        assert_eq!(watch.violations(&[]), ["flow 7: its limits add up to 3us, and it took 4us"]);
    }

    #[test]
    fn ten_violations_are_written_out() {
        let all = violations(us(6), None, 25, false);
        assert_eq!((all.len(), all[10].as_str()), (11, "15 more such violations"));
    }
}
