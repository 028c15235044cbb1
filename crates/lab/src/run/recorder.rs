//! The sink of every run: records become rows, in memory or on disk.

use core::ops::ControlFlow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_array::types::{Int64Type, UInt32Type};
use incast_sim::describe::work::What;
use incast_sim::record::{
    Division, FlowRecord, Limit, LimitRecord, LimitSample, LoadSample, OperationRecord, PacketRecord,
    Progress,
};
use incast_sim::{Simulation, Sink};
use incast_units::Time;

use super::RunError;
use super::copies::{Copies, Originals};
use super::counts::Counts;
use super::loads::Loads;
use super::marks::Readers;
use crate::formats::pcapng::{Capture, Frame};
use crate::load::Window;
use crate::results::chain::{Chains, JobLimits, Span};
use crate::results::extract::{Repeated, numbers};
use crate::results::jobs::{Jobs, Volume};
use crate::results::tables::limit_series::{Count, LimitSeries};
use crate::results::tables::packets::Packets;
use crate::results::tables::{self, Labels, Named, Rows, each_table};
use crate::results::writer::{Digested, ResultWriter};
use crate::results::{EachBatch, GROUP_ROWS, JobRecord, ResultError, ResultInfo, Table, TableName, Tables};
use crate::summary::{SizeClass, Summary};

/// A table on disk is never further behind than this, in wall time (give or take one call of progress).
pub(super) const FLUSH_EVERY: Duration = Duration::from_secs(2);

/// The sink of every run.
pub(super) struct Recorder<'a> {
    pending: Pending,
    /// Facts about the run that are not rows.
    pub(super) notes: Notes<'a>,
    capture: Option<Capture<'a, Digested>>,
    /// Captured packets that are not rows yet.
    captured: Vec<PacketRecord>,
    /// Numbers of open flows by limit, summed over the hosts, and those that are not rows yet.
    counts: Counts,
    counted: Vec<Count>,
    labels: Labels<'a>,
    output: Output,
    flushed: Instant,
    progress: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>,
}

/// Declares the parts of the recorder that have one entry for each table that grows during a run.
macro_rules! growing {
    ($($file:ident::$table:ident $(from $records:ident)?,)+) => {
        /// Records that are not rows yet, of each table that grows during a run.
        #[derive(Default)]
        struct Pending {
            $($($records: Vec<<tables::$file::$table as Rows>::Record>,)?)+
        }

        /// Sees the records of each such table; by default ignores them.
        trait Watch {
            $($(fn $records(&mut self, _records: &[<tables::$file::$table as Rows>::Record]) {})?)+
        }

        impl Recorder<'_> {
            /// Makes rows of all records that are pending.
            fn flush_rows(&mut self) {
                $($(flush::<tables::$file::$table>(&mut self.pending.$records, &self.labels, &mut self.output);)?)+
            }
        }

        impl Sink for Recorder<'_> {
            $($(fn $records(&mut self, records: &[<tables::$file::$table as Rows>::Record]) {
                self.notes.$records(records);
                if self.notes.copies.follow {
                    return;
                }
                let pending = &mut self.pending.$records;
                add::<tables::$file::$table>(pending, records, &self.labels, &mut self.output);
            })?)+

            fn packets(&mut self, records: &[PacketRecord]) {
                let probes = &self.notes.simulation.probes;
                if probes.packets {
                    // They come by time.
                    let first = records.partition_point(|record| record.time < probes.from);
                    let end = records.partition_point(|record| record.time <= probes.until);
                    let kept = &records[first.min(end)..end];
                    add::<Packets>(&mut self.captured, kept, &self.labels, &mut self.output);
                }
                if let (Some(capture), None) = (&mut self.capture, &self.output.error) {
                    let written = capture.packets(records);
                    self.output.check_capture(written);
                }
            }

            fn loads(&mut self, records: &[LoadSample]) {
                self.notes.loads.samples(records);
            }

            fn limit_samples(&mut self, records: &[LimitSample]) {
                let sums = self.counts.add(records);
                add::<LimitSeries>(&mut self.counted, &sums, &self.labels, &mut self.output);
            }

            fn copies(&mut self, are_only_counted: bool) {
                self.notes.copies.follow = are_only_counted;
            }

            fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
                self.report(progress)
            }
        }
    };
}

each_table!(growing);

/// Adds records to those that are pending, and makes rows of them where they fill a group.
fn add<T: Named>(
    pending: &mut Vec<T::Record>,
    mut records: &[T::Record],
    labels: &Labels<'_>,
    output: &mut Output,
) {
    while !records.is_empty() {
        let fit = records.len().min(GROUP_ROWS - pending.len());
        pending.extend_from_slice(&records[..fit]);
        records = &records[fit..];
        if pending.len() == GROUP_ROWS {
            flush::<T>(pending, labels, output);
        }
    }
}

/// Makes rows of the records that are pending.
fn flush<T: Named>(pending: &mut Vec<T::Record>, labels: &Labels<'_>, output: &mut Output) {
    if !pending.is_empty() {
        output.part(&T::batch(pending, labels), T::NAME);
        pending.clear();
    }
}

impl<'a> Recorder<'a> {
    pub(super) fn new(
        labels: Labels<'a>,
        notes: Notes<'a>,
        writer: Option<ResultWriter>,
        capture: Option<Capture<'a, Digested>>,
        progress: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Self {
        Self {
            pending: Pending::default(),
            notes,
            capture,
            captured: Vec::new(),
            counts: Counts::default(),
            counted: Vec::new(),
            labels,
            output: Output::new(writer),
            flushed: Instant::now(),
            progress,
        }
    }

    /// Adds a whole table, which is known at the end of the run.
    pub(super) fn add<T: Named>(&mut self, records: &[T::Record]) {
        self.output.part(&T::batch(records, &self.labels), T::NAME);
    }

    /// Returns the divided times of jobs, of a run with these repetitions.
    ///
    /// # Errors
    /// When the divided times of flows cannot be read.
    pub(super) fn divide(
        &mut self,
        jobs: &[JobRecord],
        repeated: Repeated<'_>,
    ) -> Result<Vec<JobLimits>, ResultError> {
        let chains = Chains::new(self.notes.simulation, &self.notes.spans, jobs);
        let mut found = BTreeMap::new();
        self.flush_rows();
        let mut originals = Originals::default();
        if self.notes.copies.flows > 0 {
            self.output.each(TableName::Flows, &mut |batch| originals.add(batch, repeated))?;
        }
        // Several copies may be copies of one flow.
        let mut wanted: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for flow in chains.flows() {
            wanted.entry(originals.of(flow, repeated)).or_default().push(flow);
        }
        self.output.each(TableName::Limits, &mut |batch| {
            let flow = numbers::<UInt32Type>(batch, "flow")?;
            let names = Limit::ALL.map(|limit| format!("{}_ps", limit.name()));
            let columns = names.iter().map(|name| numbers::<Int64Type>(batch, name));
            let mut columns: Vec<_> = columns.collect::<Result<_, _>>()?;
            for flow in flow {
                let mut division = Division::ZERO;
                for (column, limit) in columns.iter_mut().zip(Limit::ALL) {
                    let time = column.next().flatten().and_then(|time| u64::try_from(time).ok());
                    division.add(limit, Time::from_ps(time.unwrap_or_default()));
                }
                let flows = flow.and_then(|flow| wanted.get(&flow)).into_iter().flatten();
                found.extend(flows.map(|flow| (*flow, division)));
            }
            Ok(())
        })?;
        Ok(chains.divided(&found))
    }

    fn flush(&mut self) {
        self.flush_rows();
        flush::<Packets>(&mut self.captured, &self.labels, &mut self.output);
        flush::<LimitSeries>(&mut self.counted, &self.labels, &mut self.output);
        if let Some(capture) = &mut self.capture {
            let flushed = capture.flush();
            self.output.check_capture(flushed);
        }
        self.flushed = Instant::now();
    }

    fn report(&mut self, progress: &Progress) -> ControlFlow<()> {
        if self.output.is_on_disk() && self.flushed.elapsed() >= FLUSH_EVERY {
            self.output.keeps = false;
            self.flush();
        }
        let failed = self.notes.simulation.algorithms.iter().any(|algorithm| algorithm.fault().is_some());
        if failed || self.output.error.is_some() {
            return ControlFlow::Break(());
        }
        (self.progress)(progress)
    }

    /// Gives up before there is any row.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub(super) fn abandon(self) -> Result<(), ResultError> {
        match self.output.store {
            Store::Disk(writer) => writer.abandon(),
            Store::Memory(_) => Ok(()),
        }
    }

    /// Makes rows of everything that is left, and ends the file of captured packets with those that were seen beside
    /// the engine.
    ///
    /// # Errors
    /// When something could not be written.
    pub(super) fn finish(mut self, seen: &[Frame]) -> Result<Output, RunError> {
        let sums = self.counts.take();
        add::<LimitSeries>(&mut self.counted, &sums, &self.labels, &mut self.output);
        self.flush();
        for name in TableName::ALL {
            if !self.notes.lacks(name)
                && name.is_wanted(self.notes.simulation)
                && self.output.rows[name as usize] == 0
                && name.is_optional()
            {
                self.output.part(&RecordBatch::new_empty(name.schema()), name);
            }
        }
        if let Some(mut capture) = self.capture {
            self.output.check_capture(capture.frames(seen));
            self.output.end_capture(capture);
        }
        match self.output.error {
            Some(error) => Err(RunError::Result(error)),
            None => Ok(self.output),
        }
    }
}

/// The destination of rows.
enum Store {
    Memory(Box<[Table; tables::TABLES]>),
    Disk(Box<ResultWriter>),
}

/// The rows of a run.
pub(super) struct Output {
    store: Store,
    /// Number of rows of each table.
    rows: [usize; tables::TABLES],
    /// Whether the run is so young that a kill may cost its rows: they need no parts.
    pub(super) keeps: bool,
    /// The first failure to write; nothing is written after it.
    error: Option<ResultError>,
}

impl Output {
    /// The rows of a run that begins: in the folder of a writer, or in memory.
    pub(super) fn new(writer: Option<ResultWriter>) -> Self {
        let store = match writer {
            Some(writer) => Store::Disk(Box::new(writer)),
            None => Store::Memory(Box::new(TableName::ALL.map(Table::empty))),
        };
        Self { store, rows: [0; tables::TABLES], keeps: true, error: None }
    }

    /// Whether the rows are in a folder.
    pub(super) const fn is_on_disk(&self) -> bool {
        matches!(self.store, Store::Disk(_))
    }

    /// Adds rows to a table.
    pub(super) fn part(&mut self, batch: &RecordBatch, name: TableName) {
        self.rows[name as usize] += batch.num_rows();
        match &mut self.store {
            Store::Disk(writer) if self.error.is_none() => {
                let written = if self.keeps { writer.keep(name, batch) } else { writer.part(name, batch) };
                self.error = written.err();
            }
            Store::Memory(tables) if batch.num_rows() > 0 => {
                tables[name as usize].batches.push(batch.clone());
            }
            Store::Disk(_) | Store::Memory(_) => {}
        }
    }

    fn check_capture(&mut self, written: std::io::Result<()>) {
        if let (Err(error), Store::Disk(writer), None) = (written, &self.store, &self.error) {
            self.error = Some(writer.capture_error(error));
        }
    }

    /// Ends the file of captured packets.
    fn end_capture(&mut self, capture: Capture<'_, Digested>) {
        let file = capture.finish();
        let ended = match &mut self.store {
            Store::Disk(writer) => file.and_then(|file| writer.captured(file)),
            Store::Memory(_) => Ok(()),
        };
        self.check_capture(ended);
    }

    /// Iterates over the batches of a table.
    fn each(&self, name: TableName, each: &mut EachBatch<'_>) -> Result<(), ResultError> {
        match &self.store {
            Store::Disk(writer) => writer.each(name, each),
            Store::Memory(tables) => tables[name as usize].each(each),
        }
    }

    /// Returns a whole table.
    pub(super) fn table(&self, name: TableName) -> Result<Table, ResultError> {
        let mut table = Table::empty(name);
        self.each(name, &mut |batch| {
            table.batches.push(batch.clone());
            Ok(())
        })?;
        Ok(table)
    }

    /// Returns the summary of the run, which has these repetitions, with these classes of size.
    ///
    /// # Errors
    /// When a part cannot be read.
    pub(super) fn summary(
        &self,
        classes: &[SizeClass],
        repeated: Repeated<'_>,
    ) -> Result<Summary, ResultError> {
        let [flows, ports, jobs, limits] =
            [TableName::Flows, TableName::Ports, TableName::Jobs, TableName::Limits]
                .map(|name| self.table(name));
        let series = |each: &mut EachBatch<'_>| self.each(TableName::PortSeries, each);
        Summary::of(&flows?, &ports?, &jobs?, &limits?, &series, classes, repeated)
    }

    /// Completes the result. Returns its tables, and what `result.json` holds.
    ///
    /// # Errors
    /// When something cannot be written.
    pub(super) fn complete(
        self,
        info: ResultInfo,
        fingerprint: u64,
    ) -> Result<(Tables, ResultInfo), ResultError> {
        match self.store {
            Store::Memory(mut tables) => {
                for name in TableName::ALL {
                    if let Some(column) = name.sorted_by() {
                        let table = std::mem::replace(&mut tables[name as usize], Table::empty(name));
                        tables[name as usize] = table.sorted(column)?;
                    }
                }
                Ok((Tables::Memory(tables), info))
            }
            Store::Disk(writer) => {
                let folder = writer.finish(&info, fingerprint)?;
                let info = folder.info().clone();
                Ok((Tables::Disk(Box::new(folder)), info))
            }
        }
    }
}

/// Facts about a run that are not rows: which flows and operations were recorded, and how long jobs took.
pub(super) struct Notes<'a> {
    simulation: &'a Simulation,
    /// Whether it was measured on a testbed.
    is_measured: bool,
    jobs: Jobs,
    /// For every flow, whether it was recorded.
    seen: Vec<bool>,
    /// For every operation, whether it was recorded, and when it took place.
    seen_operations: Vec<bool>,
    spans: Vec<Span>,
    /// The copies that are counted and have no rows.
    pub(super) copies: Copies,
    /// Data packets that were sent again.
    pub(super) resent: u64,
    /// Number of flows and of operations that are left out.
    pub(super) left_out: (u64, u64),
    /// Number of flows that started and do not count.
    pub(super) uncounted: u64,
    /// The measured loads of traffic blocks.
    pub(super) loads: Loads<'a>,
    /// The part of congestion control in the times of flows.
    pub(super) control: Control,
    /// The flows to which marks alone report congestion.
    pub(super) readers: Readers,
}

/// The part of congestion control in the times of the flows that have any.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    /// Flows whose windows and rates took more than 1 % of their time.
    pub(super) held_back: u64,
    /// Flows that finished.
    pub(super) finished: u64,
    /// Flows of these that needed more than 1.1 times their ideal time.
    pub(super) slow: u64,
}

impl Watch for Notes<'_> {
    fn flows(&mut self, records: &[FlowRecord]) {
        self.copies.flows(records);
        for record in records {
            if let Some(seen) = self.seen.get_mut(record.flow as usize) {
                *seen = true;
            }
            self.resent += record.resent;
            if record.finish != Time::NEVER && self.is_controlled(record.flow) {
                let [took, ideal] = [record.finish - record.start, record.ideal].map(|t| u128::from(t.ps()));
                self.control.finished += 1;
                self.control.slow += u64::from(10 * took > 11 * ideal);
            }
        }
        self.readers.flows(records, self.simulation);
        self.loads.flows(records, &self.simulation.flows);
    }

    fn limits(&mut self, records: &[LimitRecord]) {
        for LimitRecord { flow, division, .. } in records {
            let control = division.of(Limit::Window) + division.of(Limit::Pacing);
            let is_held = control.ps() > division.total().ps() / 100;
            self.control.held_back += u64::from(is_held && self.is_controlled(*flow));
        }
    }

    fn operations(&mut self, records: &[OperationRecord]) {
        self.copies.operations(records);
        for record in records {
            if let Some(seen) = self.seen_operations.get_mut(record.operation as usize) {
                *seen = true;
                self.spans[record.operation as usize] = (record.start, record.end);
            }
        }
        self.jobs.add(records, self.simulation);
    }
}

impl<'a> Notes<'a> {
    pub(super) fn new(simulation: &'a Simulation, windows: &'a [Window], is_measured: bool) -> Self {
        Self {
            simulation,
            is_measured,
            jobs: Jobs::new(simulation),
            seen: vec![false; simulation.flows.len()],
            seen_operations: vec![false; simulation.operations.len()],
            spans: vec![(Time::NEVER, Time::NEVER); simulation.operations.len()],
            copies: Copies::default(),
            resent: 0,
            left_out: (0, 0),
            uncounted: 0,
            loads: Loads::new(windows),
            control: Control::default(),
            readers: Readers::new(simulation),
        }
    }

    /// Whether a flow has a congestion control that can hold it back.
    fn is_controlled(&self, flow: u32) -> bool {
        let Simulation { flows, algorithms, transport, .. } = self.simulation;
        let of = flows.get(flow as usize).and_then(|flow| algorithms.get(usize::from(flow.algorithm)));
        transport.kind.is_controlled() && of.is_some_and(|algorithm| algorithm.name() != "constant")
    }

    /// Leaves operations that could not start before their limit, which is past at the end of the run, out of the
    /// results, with their flows.
    /// Flows that do not count and have not started are left out too.
    pub(super) fn leave_out(&mut self, now: Time) {
        for (_, seen) in self.simulation.flows.iter().zip(&mut self.seen).filter(|(flow, _)| !flow.counted) {
            self.uncounted += u64::from(*seen);
            *seen = true;
        }
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

    /// Whether the run cannot have a table: nothing divides the time of flows on a testbed.
    fn lacks(&self, name: TableName) -> bool {
        self.is_measured && matches!(name, TableName::Limits | TableName::JobLimits)
    }

    /// Returns the flows that have no record.
    pub(super) fn flows_not_started(&self) -> Vec<u32> {
        (0_u32..).zip(&self.seen).filter(|(_, seen)| !**seen).map(|(flow, _)| flow).collect()
    }

    /// Returns records of the operations that have none.
    pub(super) fn operations_not_started(&self) -> Vec<OperationRecord> {
        let left = (0_u32..).zip(&self.seen_operations).filter(|(_, seen)| !**seen);
        left.map(|(operation, _)| OperationRecord { operation, start: Time::NEVER, end: Time::NEVER })
            .collect()
    }

    /// Returns the jobs at the end of the run, given their bounds and the bytes of collectives.
    pub(super) fn finish_jobs(
        &self,
        bounds: &[Option<Time>],
        volumes: &BTreeMap<u16, Volume>,
    ) -> Vec<JobRecord> {
        self.jobs.clone().finish(bounds, volumes)
    }
}
