//! Running a simulation: tables in memory or, if asked for, a result on disk that survives a kill up to its
//! last part.

mod measured;

use core::fmt;
use core::ops::ControlFlow;
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use incast_sim::describe::algorithm::Algorithm;
use incast_sim::describe::fault::Fault;
use incast_sim::describe::work::What;
use incast_sim::record::{
    End, FlowRecord, FlowSample, InternalSample, OperationRecord, Outcome, PacketRecord, PauseRecord,
    PortSample, Progress,
};
use incast_sim::{Invalid, Simulation, Sink};
use incast_units::Time;

use crate::formats::pcapng::{Capture, Frame};
use crate::results::info::{OutcomeInfo, TestbedInfo, Written};
use crate::results::jobs::Jobs;
use crate::results::tables::Labels;
use crate::results::writer::{Digested, ResultWriter};
use crate::results::{EachBatch, GROUP_ROWS, ResultError, ResultInfo, Table, TableName, Tables};
use crate::summary::{SizeClass, Summary};

pub use measured::{Measured, record};

/// A table on disk is never further behind than this, in wall time (give or take one call of progress).
const FLUSH_EVERY: Duration = Duration::from_secs(2);

/// A simulation to run, with its description for the result.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The simulation.
    pub simulation: &'a Simulation,
    /// Name of the scenario.
    pub name: &'a str,
    /// The effective scenario as text (TOML); goes into the result as it is.
    pub scenario: &'a str,
    /// Names of the traffic blocks, by the flows' group.
    pub groups: &'a [String],
    /// Names of the algorithms with their presets, like `oscar:paper`, by the flows' algorithm.
    pub algorithms: &'a [String],
    /// Names of the jobs, by the operations' job.
    pub jobs: &'a [String],
}

/// Options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Threads, if other than the simulation says. The results do not depend on it.
    pub threads: Option<usize>,
    /// Folder for the result; `None` keeps it in memory only.
    pub out: Option<PathBuf>,
    /// Whether a complete result in that folder may be replaced. It is gone as soon as the run begins.
    pub replace: bool,
    /// The build of Incast, for the result to name.
    pub build: Option<String>,
    /// The classes of flows in the summary.
    pub classes: Vec<SizeClass>,
    /// Called when the simulation has ended: whether something outside it failed during the run. The result
    /// then has the end `interrupted`.
    pub failed: Option<fn() -> bool>,
    /// The testbed on which it was measured, of a run that is none of the simulator.
    pub testbed: Option<TestbedInfo>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: None,
            out: None,
            replace: false,
            build: None,
            classes: SizeClass::defaults(),
            failed: None,
            testbed: None,
        }
    }
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The outcome from the simulator.
    pub outcome: Outcome,
    /// The contents of `result.json`: totals, how it ended and why, summary, speed.
    pub info: ResultInfo,
    /// Its tables: in memory, or on disk if it has a folder.
    pub tables: Tables,
    /// Its folder on disk.
    pub folder: Option<PathBuf>,
    /// Messages for the user, like what was removed.
    pub notices: Vec<String>,
    /// Error of an algorithm from outside, which stopped the run.
    pub fault: Option<String>,
}

impl RunResult {
    /// Returns one of the tables, from memory if the result has no folder, and if it has one, from there.
    ///
    /// # Errors
    /// When it cannot be read, or is not the one that was written.
    pub fn table(&self, table: TableName) -> Result<Table, ResultError> {
        self.tables.get(table)
    }
}

/// Reason for which there is no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// The simulation is inconsistent; nothing has run.
    Invalid(Invalid),
    /// The result's folder cannot be used or written.
    Result(ResultError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(error) => error.fmt(f),
            Self::Result(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RunError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Invalid(error) => Some(error),
            Self::Result(error) => Some(error),
        }
    }
}

impl From<ResultError> for RunError {
    fn from(error: ResultError) -> Self {
        Self::Result(error)
    }
}

/// Runs `job`. `progress` is called several times a second; when it breaks, the run stops cleanly and
/// its result is complete, with the end `interrupted`.
///
/// # Errors
/// When the simulation is invalid, or the result's folder cannot be used or written. A run whose disk fails is stopped; what was
/// written before can be read.
pub fn run(
    job: &Job<'_>,
    options: &RunOptions,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<RunResult, RunError> {
    run_on(&incast_sim::run, job, options, progress)
}

/// Replaces [`incast_sim::run`] in tests.
type Engine<'a> = &'a dyn Fn(&Simulation, &mut dyn Sink) -> Result<Outcome, Invalid>;

fn run_on(
    engine: Engine<'_>,
    job: &Job<'_>,
    options: &RunOptions,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<RunResult, RunError> {
    run_beside(engine, &[], job, options, progress)
}

/// Runs `job` on an engine, beside which packets of captured ports were seen.
fn run_beside(
    engine: Engine<'_>,
    seen: &[Frame],
    job: &Job<'_>,
    options: &RunOptions,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<RunResult, RunError> {
    let mut simulation = Cow::Borrowed(job.simulation);
    if let Some(threads) = options.threads.filter(|&threads| threads != simulation.threads) {
        simulation.to_mut().threads = threads;
    }
    let mut info = ResultInfo::begin(job.name, &simulation, job.algorithms);
    info.build.clone_from(&options.build);
    info.testbed.clone_from(&options.testbed);
    let mut notices = Vec::new();
    let mut writer = None;
    if let Some(out) = &options.out {
        let (created, cleared) = ResultWriter::create(out, &info, job.scenario, options.replace)?;
        writer = Some(created);
        notices.extend(cleared);
    }
    let capture = match &writer {
        Some(writer) if !simulation.probes.captures.is_empty() => {
            let begun = Capture::begin(writer.capture()?, &simulation, job.name, info.testbed.is_none());
            Some(begun.map_err(|error| writer.capture_error(error))?)
        }
        _ => None,
    };
    if capture.is_none() && !simulation.probes.captures.is_empty() {
        notices
            .push("captured packets are not kept: they go to a file, and this run has no folder".to_owned());
    }

    let mut recorder = Recorder {
        flows: Growing::new(TableName::Flows, Labels::flows),
        port_series: Growing::new(TableName::PortSeries, Labels::port_series),
        flow_series: Growing::new(TableName::FlowSeries, Labels::flow_series),
        pauses: Growing::new(TableName::Pauses, Labels::pauses),
        internals: Growing::new(TableName::Internals, Labels::internals),
        operations: Growing::new(TableName::Operations, Labels::operations),
        jobs: Jobs::new(&simulation),
        capture,
        seen: vec![false; simulation.flows.len()],
        seen_operations: vec![false; simulation.operations.len()],
        left_out: (0, 0),
        simulation: &simulation,
        output: Output {
            labels: Labels::new(&simulation, job.groups, job.algorithms).with_jobs(job.jobs),
            writer,
            error: None,
        },
        flushed: Instant::now(),
        progress,
    };
    let begin = Instant::now();
    let mut outcome = match engine(&simulation, &mut recorder) {
        Ok(outcome) => outcome,
        Err(invalid) => {
            recorder.output.writer.map(ResultWriter::abandon).transpose()?;
            return Err(RunError::Invalid(invalid));
        }
    };
    let wall_s = options.testbed.as_ref().map_or_else(|| begin.elapsed().as_secs_f64(), |of| of.wall_s);
    let fault = fault_of(&simulation);
    if fault.is_some() || options.failed.is_some_and(|failed| failed()) {
        outcome.end = End::Interrupted;
    }

    recorder.flows(&outcome.unfinished);
    recorder.operations(&outcome.unfinished_operations);
    recorder.leave_out(outcome.now);
    let not_started: Vec<u32> =
        (0_u32..).zip(&recorder.seen).filter(|(_, seen)| !**seen).map(|(flow, _)| flow).collect();
    let records = incast_sim::not_started(&simulation, &not_started).map_err(RunError::Invalid)?;
    recorder.flows(&records);
    recorder.operations(&recorder.operations_not_started());
    recorder.flush();
    let Recorder {
        flows,
        port_series,
        flow_series,
        pauses,
        internals,
        operations,
        jobs,
        capture,
        left_out,
        mut output,
        ..
    } = recorder;
    if simulation.probes.pauses && pauses.rows == 0 {
        // A table without rows means that there was no pause; no table, that pauses were not recorded.
        output.part(TableName::Pauses, &output.labels.pauses(&[]));
    }
    if simulation.probes.internals && internals.rows == 0 {
        output.part(TableName::Internals, &output.labels.internals(&[]));
    }
    if let Some(mut capture) = capture {
        output.check_capture(capture.frames(seen));
        output.end_capture(capture);
    }
    let ports = output.labels.ports(&outcome.ports);
    output.part(TableName::Ports, &ports);
    let ports = Table { schema: TableName::Ports.schema(), batches: vec![ports] };
    let mut jobs_table = Table::empty(TableName::Jobs);
    if !simulation.operations.is_empty() {
        let jobs = jobs.finish(&simulation).map_err(RunError::Invalid)?;
        let jobs = output.labels.job_rows(&jobs);
        output.part(TableName::Jobs, &jobs);
        jobs_table.batches.push(jobs);
    }
    if let Some(error) = output.error {
        return Err(RunError::Result(error));
    }

    info.state = Written::Complete;
    info.outcome = Some(OutcomeInfo::new(&simulation, &outcome, left_out, not_started.len() as u64, wall_s));
    let (tables, info) = match output.writer {
        None => {
            let tables = [flows.table, ports, port_series.table, flow_series.table, pauses.table];
            let [flows, ports, port_series, flow_series, pauses] = tables;
            let series = |each: &mut EachBatch<'_>| port_series.each(each);
            info.summary = Some(Summary::of(&flows, &ports, &jobs_table, &series, &options.classes)?);
            let tables = [
                flows,
                ports,
                port_series,
                flow_series,
                pauses,
                internals.table,
                operations.table,
                jobs_table,
            ];
            (Tables::Memory(Box::new(tables)), info)
        }
        Some(writer) => {
            let mut flows = Table::empty(TableName::Flows);
            writer.each(TableName::Flows, &mut |batch| {
                flows.batches.push(batch.clone());
                Ok(())
            })?;
            let series = |each: &mut EachBatch<'_>| writer.each(TableName::PortSeries, each);
            info.summary = Some(Summary::of(&flows, &ports, &jobs_table, &series, &options.classes)?);
            let folder = writer.finish(&info, outcome.fingerprint)?;
            let info = folder.info().clone();
            (Tables::Disk(Box::new(folder)), info)
        }
    };
    Ok(RunResult { outcome, info, tables, folder: options.out.clone(), notices, fault })
}

/// Returns the error of the first algorithm that reports one.
fn fault_of(simulation: &Simulation) -> Option<String> {
    simulation.algorithms.iter().find_map(Algorithm::fault).and_then(Fault::message)
}

/// The destination of rows: disk if requested, else memory.
struct Output<'a> {
    labels: Labels<'a>,
    writer: Option<ResultWriter>,
    /// The first failure to write; nothing is written after it.
    error: Option<ResultError>,
}

impl Output<'_> {
    /// All captured packets were written.
    fn end_capture(&mut self, capture: Capture<'_, Digested>) {
        let file = capture.finish();
        let ended = match &mut self.writer {
            Some(writer) => file.and_then(|file| writer.captured(file)),
            None => Ok(()),
        };
        self.check_capture(ended);
    }

    fn part(&mut self, table: TableName, batch: &RecordBatch) {
        if let (Some(writer), None) = (&mut self.writer, &self.error) {
            self.error = writer.part(table, batch).err();
        }
    }

    fn check_capture(&mut self, written: std::io::Result<()>) {
        if let (Err(error), Some(writer), None) = (written, &self.writer, &self.error) {
            self.error = Some(writer.capture_error(error));
        }
    }
}

/// A table that grows during a run.
struct Growing<'a, T> {
    name: TableName,
    /// Records that are not rows of the table yet.
    pending: Vec<T>,
    /// Number of records that have become rows.
    rows: usize,
    /// The rows, where they do not go to disk.
    table: Table,
    batch_of: fn(&Labels<'a>, &[T]) -> RecordBatch,
}

impl<'a, T: Copy> Growing<'a, T> {
    fn new(name: TableName, batch_of: fn(&Labels<'a>, &[T]) -> RecordBatch) -> Self {
        Self { name, pending: Vec::new(), rows: 0, table: Table::empty(name), batch_of }
    }

    fn add(&mut self, mut records: &[T], output: &mut Output<'a>) {
        while !records.is_empty() {
            let fit = records.len().min(GROUP_ROWS - self.pending.len());
            self.pending.extend_from_slice(&records[..fit]);
            records = &records[fit..];
            if self.pending.len() == GROUP_ROWS {
                self.flush(output);
            }
        }
    }

    fn flush(&mut self, output: &mut Output<'a>) {
        if self.pending.is_empty() {
            return;
        }
        let batch = (self.batch_of)(&output.labels, &self.pending);
        self.pending.clear();
        self.rows += batch.num_rows();
        output.part(self.name, &batch);
        if output.writer.is_none() {
            self.table.batches.push(batch);
        }
    }
}

/// The sink of every run.
struct Recorder<'a> {
    flows: Growing<'a, FlowRecord>,
    port_series: Growing<'a, PortSample>,
    flow_series: Growing<'a, FlowSample>,
    pauses: Growing<'a, PauseRecord>,
    internals: Growing<'a, InternalSample>,
    operations: Growing<'a, OperationRecord>,
    jobs: Jobs,
    capture: Option<Capture<'a, Digested>>,
    /// For every flow, whether it was recorded.
    seen: Vec<bool>,
    /// For every operation, whether it was recorded.
    seen_operations: Vec<bool>,
    /// Number of flows and of operations that are left out.
    left_out: (u64, u64),
    simulation: &'a Simulation,
    output: Output<'a>,
    flushed: Instant,
    progress: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>,
}

impl Recorder<'_> {
    fn flush(&mut self) {
        self.flows.flush(&mut self.output);
        self.port_series.flush(&mut self.output);
        self.flow_series.flush(&mut self.output);
        self.pauses.flush(&mut self.output);
        self.internals.flush(&mut self.output);
        self.operations.flush(&mut self.output);
        if let Some(capture) = &mut self.capture {
            let flushed = capture.flush();
            self.output.check_capture(flushed);
        }
        self.flushed = Instant::now();
    }

    /// Operations that could not start before their limit, which is past at the end of the run, are left out of the
    /// results, with their flows.
    fn leave_out(&mut self, now: Time) {
        for (operation, seen) in self.simulation.operations.iter().zip(&mut self.seen_operations) {
            if !*seen && operation.start_before <= now {
                *seen = true;
                self.jobs.leave_out(operation, self.simulation);
                self.left_out.1 += 1;
                if let What::Send { flow } = operation.what
                    && let Some(seen) = self.seen.get_mut(flow as usize)
                {
                    *seen = true;
                    self.left_out.0 += 1;
                }
            }
        }
    }

    /// The records of operations that have not started.
    fn operations_not_started(&self) -> Vec<OperationRecord> {
        let left = (0_u32..).zip(&self.seen_operations).filter(|(_, seen)| !**seen);
        left.map(|(operation, _)| OperationRecord { operation, start: Time::NEVER, end: Time::NEVER })
            .collect()
    }
}

impl Sink for Recorder<'_> {
    fn flows(&mut self, records: &[FlowRecord]) {
        for record in records {
            if let Some(seen) = self.seen.get_mut(record.flow as usize) {
                *seen = true;
            }
        }
        self.flows.add(records, &mut self.output);
    }

    fn port_samples(&mut self, samples: &[PortSample]) {
        self.port_series.add(samples, &mut self.output);
    }

    fn flow_samples(&mut self, samples: &[FlowSample]) {
        self.flow_series.add(samples, &mut self.output);
    }

    fn packets(&mut self, records: &[PacketRecord]) {
        if let (Some(capture), None) = (&mut self.capture, &self.output.error) {
            let written = capture.packets(records);
            self.output.check_capture(written);
        }
    }

    fn pauses(&mut self, records: &[PauseRecord]) {
        self.pauses.add(records, &mut self.output);
    }

    fn internals(&mut self, samples: &[InternalSample]) {
        self.internals.add(samples, &mut self.output);
    }

    fn operations(&mut self, records: &[OperationRecord]) {
        for record in records {
            if let Some(seen) = self.seen_operations.get_mut(record.operation as usize) {
                *seen = true;
            }
        }
        self.jobs.add(records, self.simulation);
        self.operations.add(records, &mut self.output);
    }

    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        if self.output.writer.is_some() && self.flushed.elapsed() >= FLUSH_EVERY {
            self.flush();
        }
        let failed = self.simulation.algorithms.iter().any(|algorithm| algorithm.fault().is_some());
        if failed || self.output.error.is_some() {
            return ControlFlow::Break(());
        }
        (self.progress)(progress)
    }
}

#[cfg(test)]
mod tests;
