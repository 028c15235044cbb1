//! Running a simulation: tables in memory or, if asked for, a result on disk that survives a kill up to its
//! last part.

mod copies;
mod counts;
mod loads;
mod marks;
mod measured;
mod recorder;
mod verdicts;

use core::cell::Cell;
use core::fmt;
use core::ops::ControlFlow;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use incast_sim::describe::algorithm::Algorithm;
use incast_sim::describe::fault::Fault;
use incast_sim::describe::reuse::Reuse;
use incast_sim::record::{Division, End, FlowRecord, LimitRecord, Outcome, Progress, Reused};
use incast_sim::{Invalid, PartTimes, Simulation, Sink};

use crate::formats::pcapng::{Capture, Frame};
use crate::load::Window;
use crate::problem::Problem;
use crate::results::extract::Repeated;
use crate::results::info::{OutcomeInfo, TestbedInfo, Warning, Written};
use crate::results::tables::{self, Labels};
use crate::results::writer::ResultWriter;
use crate::results::{ResultError, ResultInfo, Table, TableName, Tables, Volume};
use crate::summary::{SizeClass, Summary};
use recorder::{Notes, Recorder};
use verdicts::{Ended, verdicts};

pub use measured::{Measured, record};

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
    /// The bytes of jobs that are collectives, by job.
    pub volumes: &'a BTreeMap<u16, Volume>,
    /// The warnings about the scenario; they go into the result.
    pub warnings: &'a [Problem],
    /// The windows in which the loads of traffic blocks are measured.
    pub windows: &'a [Window],
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
    /// Whether to wait at the end until a result of less than two seconds is on disk. If not, the caller does that for
    /// several results at once.
    pub wait: bool,
    /// The build of Incast, for the result to name.
    pub build: Option<String>,
    /// The classes of flows in the summary.
    pub classes: Vec<SizeClass>,
    /// Called when the simulation has ended: whether something outside it failed during the run. The result
    /// then has the end `interrupted`.
    pub failed: Option<fn() -> bool>,
    /// Set if the run was measured on a testbed.
    pub testbed: Option<TestbedInfo>,
    /// Whether to measure the wall time of its parts, which takes a few percent of it.
    pub profile: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: None,
            out: None,
            replace: false,
            wait: true,
            build: None,
            classes: SizeClass::defaults(),
            failed: None,
            testbed: None,
            profile: false,
        }
    }
}

/// Wall time of the parts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTimes {
    /// Making of the folder.
    pub create: Duration,
    /// The parts of the simulation.
    pub simulation: PartTimes,
    /// All after the simulation: rows, summary, files.
    pub write: Duration,
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
    /// The wall time of its parts, if it was measured.
    pub times: Option<RunTimes>,
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
    if !options.profile {
        return run_on(&incast_sim::run, job, options, progress);
    }
    let begin = Instant::now();
    let (started, ended) = (Cell::new(begin), Cell::new(begin));
    let parts = Cell::default();
    let engine = |simulation: &Simulation, sink: &mut dyn Sink| {
        started.set(Instant::now());
        let (mut outcome, times) = incast_sim::run_timed(simulation, sink)?;
        if simulation.reuse != Reuse::Off {
            let reason = "the times of its parts were asked for, and all of it was simulated".to_owned();
            outcome.reuse =
                Some(Reused { reason: Some(reason), simulated_hops: outcome.hops, ..Reused::default() });
        }
        parts.set(times);
        ended.set(Instant::now());
        Ok(outcome)
    };
    let result = run_on(&engine, job, options, progress)?;
    let times =
        RunTimes { create: started.get() - begin, simulation: parts.get(), write: ended.get().elapsed() };
    Ok(RunResult { times: Some(times), ..result })
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
    info.warnings = job.warnings.iter().map(Warning::from).collect();
    let mut notices = Vec::new();
    let mut writer = None;
    if let Some(out) = &options.out {
        let (mut created, cleared) = ResultWriter::create(out, &info, job.scenario, options.replace)?;
        if !options.wait {
            created.leave_to_caller();
        }
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

    let labels = Labels::new(&simulation, job.groups, job.algorithms, job.jobs);
    let notes = Notes::new(&simulation, job.windows, info.testbed.is_some());
    let mut recorder = Recorder::new(labels, notes, writer, capture, progress);
    let begin = Instant::now();
    let mut outcome = match engine(&simulation, &mut recorder) {
        Ok(outcome) => outcome,
        Err(invalid) => {
            recorder.abandon()?;
            return Err(RunError::Invalid(invalid));
        }
    };
    let wall_s = options.testbed.as_ref().map_or_else(|| begin.elapsed().as_secs_f64(), |of| of.wall_s);
    let fault = fault_of(&simulation);
    if fault.is_some() || options.failed.is_some_and(|failed| failed()) {
        outcome.end = End::Interrupted;
    }

    recorder.flows(&outcome.unfinished);
    recorder.limits(&outcome.limits);
    recorder.operations(&outcome.unfinished_operations);
    recorder.notes.leave_out(outcome.now);
    let not_started = recorder.notes.flows_not_started();
    let records = incast_sim::not_started(&simulation, &not_started).map_err(RunError::Invalid)?;
    recorder.flows(&records);
    if info.testbed.is_none() {
        recorder.limits(&records.iter().map(not_divided).collect::<Vec<_>>());
    }
    recorder.operations(&recorder.notes.operations_not_started());
    recorder.add::<tables::ports::Ports>(&outcome.ports);
    let repeated = Repeated(outcome.reuse.as_ref().map_or(&[][..], |reused| &reused.repetitions));
    if !simulation.operations.is_empty() {
        let jobs = recorder.notes.finish_jobs(&outcome.bounds, job.volumes);
        recorder.add::<tables::jobs::Jobs>(&jobs);
        if info.testbed.is_none() {
            let divided = recorder.divide(&jobs, repeated)?;
            recorder.add::<tables::job_limits::JobLimits>(&divided);
        }
    }
    let series = recorder.notes.loads.series(&outcome, &simulation.flows);
    if !series.is_empty() && info.testbed.is_none() {
        recorder.add::<tables::load_series::LoadSeries>(&series);
    }
    let Notes { left_out, uncounted, resent, control, copies, .. } = recorder.notes;
    let loads = recorder.notes.loads.finish(&outcome, &simulation.flows, job.groups, info.testbed.is_some());
    let readers = std::mem::take(&mut recorder.notes.readers);
    let output = recorder.finish(seen)?;

    info.state = Written::Complete;
    let others = [not_started.len() as u64, uncounted];
    let mut ending = OutcomeInfo::new(&simulation, &outcome, left_out, others, wall_s);
    if let Some(reuse) = &mut ending.reuse {
        reuse.unwritten = copies.told();
    }
    info.outcome = Some(OutcomeInfo { packets_resent: Some(resent), ..ending });
    let is_divided = info.testbed.is_none();
    let ended = Ended {
        simulation: &simulation,
        outcome: &outcome,
        output: &output,
        loads: &loads,
        resent,
        is_divided,
        control,
        readers: &readers,
        warnings: job.warnings,
    };
    let said = verdicts(&ended);
    info.warnings.extend(said.iter().map(Warning::from));
    info.summary = Some(Summary { loads, ..output.summary(&options.classes, repeated)? });
    let (tables, info) = output.complete(info, outcome.fingerprint)?;
    Ok(RunResult { outcome, info, tables, folder: options.out.clone(), notices, fault, times: None })
}

/// Returns the divided time of a flow that has not started: none.
fn not_divided(record: &FlowRecord) -> LimitRecord {
    let FlowRecord { flow, start, .. } = *record;
    LimitRecord { flow, start, end: start, division: Division::ZERO }
}

/// Returns the error of the first algorithm that reports one.
fn fault_of(simulation: &Simulation) -> Option<String> {
    simulation.algorithms.iter().find_map(Algorithm::fault).and_then(Fault::message)
}

#[cfg(test)]
mod tests;
