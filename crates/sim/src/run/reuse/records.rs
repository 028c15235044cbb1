//! Records of a run without the copies, and what they become in the whole run.

use std::ops::ControlFlow;

use incast_net::record::{FlowRecord, LimitRecord, OperationRecord, PortTotals, Progress, Records, Sink};
use incast_units::{Bytes, Time};

use super::Level;
use super::plan::Job;
use crate::host::work::waits_from_the_beginning;

/// Adds a multiple of what a port sent between two instants.
pub(super) fn add(port: &mut PortTotals, before: &PortTotals, after: &PortTotals, times: u64) {
    let PortTotals {
        node: _,
        port: _,
        transmitted,
        packets,
        drops,
        dropped,
        marked,
        trimmed,
        corrupted,
        // The longest queue of a copy is that of the period.
        peak_queue: _,
        paused,
        pauses_sent,
        storms,
        storm_drops,
        receiver_drops,
    } = port;
    let bytes = |of: fn(&PortTotals) -> Bytes| Bytes::new((of(after).get() - of(before).get()) * times);
    let count = |of: fn(&PortTotals) -> u64| (of(after) - of(before)) * times;
    *transmitted += bytes(|of| of.transmitted);
    *packets += count(|of| of.packets);
    *drops += count(|of| of.drops);
    *dropped += bytes(|of| of.dropped);
    *marked += count(|of| of.marked);
    *trimmed += count(|of| of.trimmed);
    *corrupted += count(|of| of.corrupted);
    *paused += (after.paused - before.paused).times(times);
    *pauses_sent += count(|of| of.pauses_sent);
    *storms += count(|of| of.storms);
    *storm_drops += count(|of| of.storm_drops);
    *receiver_drops += count(|of| of.receiver_drops);
}

/// Every record from the run without any copies, in the whole run: each repetition shifts it.
pub(super) struct Shifts<'a>(pub(super) &'a [Level]);

impl Shifts<'_> {
    /// Returns the records whose times are chosen, as they are behind all copies of the first `behind` repetitions and
    /// `copies` of the next one.
    pub(super) fn of(
        &self,
        records: &Records,
        behind: usize,
        copies: u32,
        chosen: impl Fn(u64) -> bool,
    ) -> Records {
        let chosen = |time: Time| chosen(time.ps());
        let flows = records.flows.iter().filter(|record| chosen(record.finish));
        let limits = records.limits.iter().filter(|record| chosen(record.end));
        let operations = records.operations.iter().filter(|record| chosen(record.end));
        Records {
            flows: flows.map(|record| self.flow(record, behind, copies)).collect(),
            limits: limits.map(|record| self.limit(record, behind, copies)).collect(),
            operations: operations.map(|record| self.operation(record, behind, copies)).collect(),
            ..Records::default()
        }
    }

    /// The repetitions, the last one first, each with the number of its periods by which it shifts.
    fn each(&self, behind: usize, copies: u32) -> impl Iterator<Item = (&Level, u32)> {
        self.0.iter().enumerate().rev().map(move |(number, level)| {
            let periods = match number {
                number if number < behind => level.hit.copies,
                number if number == behind => copies,
                _ => 0,
            };
            (level, periods)
        })
    }

    /// Returns a flow that is open at the end.
    pub(super) fn open_flow(&self, record: &FlowRecord) -> FlowRecord {
        self.flow(record, self.0.len(), 0)
    }

    /// Returns the divided time of a flow that is open at the end.
    pub(super) fn open_limit(&self, record: &LimitRecord) -> LimitRecord {
        self.limit(record, self.0.len(), 0)
    }

    /// Returns an operation that is open at the end.
    pub(super) fn open_operation(&self, record: &OperationRecord) -> OperationRecord {
        self.operation(record, self.0.len(), 0)
    }

    fn flow(&self, record: &FlowRecord, behind: usize, copies: u32) -> FlowRecord {
        self.each(behind, copies).fold(*record, |record, (level, periods)| FlowRecord {
            flow: level.number_of_flow(record.flow, periods),
            start: level.time(record.start, periods),
            finish: level.time(record.finish, periods),
            delivered: level.time(record.delivered, periods),
            ..record
        })
    }

    fn limit(&self, record: &LimitRecord, behind: usize, copies: u32) -> LimitRecord {
        self.each(behind, copies).fold(*record, |record, (level, periods)| LimitRecord {
            flow: level.number_of_flow(record.flow, periods),
            start: level.time(record.start, periods),
            end: level.time(record.end, periods),
            ..record
        })
    }

    fn operation(&self, record: &OperationRecord, behind: usize, copies: u32) -> OperationRecord {
        self.each(behind, copies).fold(*record, |record, (level, periods)| {
            // It may have started before all periods, and not once in each.
            let operation = &level.simulation.operations[record.operation as usize];
            let start = if waits_from_the_beginning(operation) {
                record.start
            } else {
                level.time(record.start, periods)
            };
            OperationRecord {
                operation: level.number_of_operation(record.operation, periods),
                start,
                end: level.time(record.end, periods),
            }
        })
    }
}

impl Level {
    /// Returns a time behind a number of periods.
    fn time(&self, time: Time, periods: u32) -> Time {
        if time == Time::NEVER { time } else { time + self.period().times(periods.into()) }
    }

    /// The number that a flow of the run without the copies has in the run with them, behind a number of periods.
    fn number_of_flow(&self, flow: u32, periods: u32) -> u32 {
        let job = self.without.of_flow(flow);
        let [from, to]: [&Job; 2] = [&self.without.jobs[job], &self.with.jobs[job]];
        flow - from.flows.start + to.flows.start + self.hit.shifts[job].times(periods).flows
    }

    fn number_of_operation(&self, operation: u32, periods: u32) -> u32 {
        let holds = |job: &&Job| operation >= job.operations.start;
        let job = self.without.jobs.iter().take_while(holds).count().saturating_sub(1);
        let [from, to]: [&Job; 2] = [&self.without.jobs[job], &self.with.jobs[job]];
        operation - from.operations.start
            + to.operations.start
            + self.hit.shifts[job].times(periods).operations
    }
}

/// Keeps the records from an instant on; asks a sink whether to go on.
pub(super) struct Rest<'a> {
    /// (ps)
    pub(super) from: u64,
    pub(super) records: Records,
    pub(super) sink: &'a mut dyn Sink,
}

impl Sink for Rest<'_> {
    fn flows(&mut self, records: &[FlowRecord]) {
        let from = Time::from_ps(self.from);
        self.records.flows.extend(records.iter().filter(|record| record.finish >= from));
    }

    fn limits(&mut self, records: &[LimitRecord]) {
        let from = Time::from_ps(self.from);
        self.records.limits.extend(records.iter().filter(|record| record.end >= from));
    }

    fn operations(&mut self, records: &[OperationRecord]) {
        let from = Time::from_ps(self.from);
        self.records.operations.extend(records.iter().filter(|record| record.end >= from));
    }

    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.sink.progress(progress)
    }
}

/// Passes the records from an instant on to a sink that has had the earlier ones.
pub(super) struct Late<'a> {
    pub(super) from: Time,
    pub(super) sink: &'a mut dyn Sink,
}

impl Sink for Late<'_> {
    fn flows(&mut self, records: &[FlowRecord]) {
        let first = records.partition_point(|record| record.finish < self.from);
        self.sink.flows(&records[first..]);
    }

    fn limits(&mut self, records: &[LimitRecord]) {
        let first = records.partition_point(|record| record.end < self.from);
        self.sink.limits(&records[first..]);
    }

    fn operations(&mut self, records: &[OperationRecord]) {
        let first = records.partition_point(|record| record.end < self.from);
        self.sink.operations(&records[first..]);
    }

    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.sink.progress(progress)
    }
}
