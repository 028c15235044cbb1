//! The tables of a result: names, columns, units, and the conversion of records to rows.
//!
//! A column's name ends in its unit (`_ps`, `_bytes`, `_bps`), and its Arrow field carries the unit
//! and a sentence of meaning in its metadata. Quantities are signed 64-bit integers, because the
//! difference of two unsigned ones wraps around in most data frame libraries. A missing value (the finish
//! time of an unfinished flow, an unlimited window) is null.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt16Array, UInt32Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use incast_cc::Fixed;
use incast_cc::params::Value;
use incast_sim::Simulation;
use incast_sim::describe::network::{NodeId, PortId};
use incast_sim::describe::work::What;
use incast_sim::record::{
    FlowRecord, FlowSample, InternalSample, OperationRecord, PauseRecord, PortSample, PortTotals,
};
use incast_units::{Bytes, Rate, Time};

use super::jobs::JobRecord;
use super::{EachBatch, ResultError, ResultFolder};

/// One of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableName {
    /// One row per flow.
    Flows,
    /// One row per port: totals over the run.
    Ports,
    /// Samples of the probed ports, by time. Of equal ones that follow each other only the first and the
    /// last have a row, here and in the other tables of samples.
    PortSeries,
    /// Samples of the probed flows, by time.
    FlowSeries,
    /// Pauses and resumes of ports, by time. A result has it only where the scenario asks for it.
    Pauses,
    /// Samples of internal quantities of the probed flows' congestion control, by time. A result has it
    /// only if the scenario asks for it.
    Internals,
    /// One row per operation of a workload with dependencies, in the order in which they ended. A result has it
    /// only if the traffic has operations.
    Operations,
    /// One row per job of a workload with dependencies. A result has it only if the traffic has operations.
    Jobs,
}

/// Number of tables.
pub const TABLES: usize = TableName::ALL.len();

impl TableName {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Flows,
        Self::Ports,
        Self::PortSeries,
        Self::FlowSeries,
        Self::Pauses,
        Self::Internals,
        Self::Operations,
        Self::Jobs,
    ];

    /// The name, as in `flows.parquet`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Flows => "flows",
            Self::Ports => "ports",
            Self::PortSeries => "port_series",
            Self::FlowSeries => "flow_series",
            Self::Pauses => "pauses",
            Self::Internals => "internals",
            Self::Operations => "operations",
            Self::Jobs => "jobs",
        }
    }

    /// Whether a result has it only if the scenario asks for it, or has what it is about.
    #[must_use]
    pub const fn is_optional(self) -> bool {
        matches!(self, Self::Pauses | Self::Internals | Self::Operations | Self::Jobs)
    }

    /// The table's columns.
    #[must_use]
    pub fn schema(self) -> SchemaRef {
        static SCHEMAS: LazyLock<[SchemaRef; TABLES]> = LazyLock::new(|| {
            [FLOWS, PORTS, PORT_SERIES, FLOW_SERIES, PAUSES, INTERNALS, OPERATIONS, JOBS].map(schema)
        });
        SCHEMAS[self as usize].clone()
    }
}

/// A table in memory, as Arrow record batches of one schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The columns.
    pub schema: SchemaRef,
    /// The rows, in order; perhaps none.
    pub batches: Vec<RecordBatch>,
}

impl Table {
    /// The table without rows.
    #[must_use]
    pub fn empty(name: TableName) -> Self {
        Self { schema: name.schema(), batches: Vec::new() }
    }

    /// The table as a Parquet file in memory.
    ///
    /// # Errors
    /// When it does not fit into memory once more.
    pub fn to_parquet(&self) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        super::parquet_io::write(&mut bytes, self.schema.clone(), &self.batches, &Vec::new())?;
        Ok(bytes)
    }

    /// The table that [`to_parquet`](Self::to_parquet) gave.
    ///
    /// # Errors
    /// When the bytes are not a Parquet file.
    pub fn from_parquet(bytes: Vec<u8>) -> Result<Self, ResultError> {
        let name = std::path::Path::new("a table in memory");
        let (schema, batches) = super::parquet_io::read_bytes(bytes, name)?;
        Ok(Self { schema, batches })
    }

    /// The table with the columns that results of earlier versions have not: `samples`, where every sample had a
    /// row, and `trimmed_packets`, when nothing was trimmed.
    pub(super) fn completed(self, name: TableName) -> Self {
        [(SAMPLES.0, 1), (TRIMMED.0, 0)].into_iter().fold(self, |table, (column, value)| {
            let absent = table.schema.column_with_name(column).is_none();
            match name.schema().column_with_name(column) {
                Some((_, field)) if absent => table.with_column(field, value),
                _ => table,
            }
        })
    }

    /// The table with one more column, in which every row has the same value.
    fn with_column(self, field: &Field, value: i64) -> Self {
        let fields = self.schema.fields().iter().cloned().chain([Arc::new(field.clone())]);
        let schema =
            Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), self.schema.metadata.clone()));
        let extended = |batch: &RecordBatch| {
            let values: ArrayRef = Arc::new(Int64Array::from_value(value, batch.num_rows()));
            let columns = batch.columns().iter().cloned().chain([values]).collect();
            RecordBatch::try_new(schema.clone(), columns).expect("the columns are those of the schema")
        };
        let batches = self.batches.iter().map(extended).collect();
        Self { schema, batches }
    }

    /// Iterates over the batches.
    pub(crate) fn each(&self, each: &mut EachBatch<'_>) -> Result<(), ResultError> {
        let name = std::path::Path::new("a table in memory");
        self.batches.iter().try_for_each(each).map_err(|reason| ResultError::damaged(name, reason))
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// The tables of a run that has ended: in memory, or in the folder of its result, from which they are read
/// on demand.
#[derive(Clone, Debug)]
pub enum Tables {
    /// In the order of [`TableName::ALL`].
    Memory(Box<[Table; TABLES]>),
    /// On disk.
    Disk(Box<ResultFolder>),
}

impl Tables {
    /// One of them.
    ///
    /// # Errors
    /// When it is on disk and cannot be read, or is not the one that was written.
    pub fn get(&self, table: TableName) -> Result<Table, ResultError> {
        match self {
            Self::Memory(tables) => Ok(tables[table as usize].clone()),
            Self::Disk(folder) => folder.table(table),
        }
    }
}

/// A column: name, type, unit (empty: none), whether values can be missing, meaning.
struct Column(&'static str, DataType, &'static str, bool, &'static str);

const ALWAYS: bool = false;
const MAYBE: bool = true;
const INT: DataType = DataType::Int64;
const ID: DataType = DataType::UInt32;
const TEXT: DataType = DataType::Utf8;

const FLOWS: &[Column] = &[
    Column("flow", ID, "", ALWAYS, "number of the flow, in order of start"),
    Column("source", TEXT, "", ALWAYS, "name of the sending host"),
    Column("destination", TEXT, "", ALWAYS, "name of the receiving host"),
    Column("source_id", ID, "", ALWAYS, "number of the sending host"),
    Column("destination_id", ID, "", ALWAYS, "number of the receiving host"),
    Column("group", TEXT, "", ALWAYS, "name of the flow's traffic block"),
    Column("algorithm", TEXT, "", ALWAYS, "its congestion control algorithm, with its preset"),
    Column("size_bytes", INT, "B", MAYBE, "payload to transfer; null: sends until it is stopped"),
    Column("acked_bytes", INT, "B", ALWAYS, "payload acknowledged"),
    Column("start_ps", INT, "ps", ALWAYS, "when it began to offer data"),
    Column("delivered_ps", INT, "ps", MAYBE, "when its last byte arrived at the receiver"),
    Column("finish_ps", INT, "ps", MAYBE, "when its last byte was acknowledged at the sender"),
    Column("fct_ps", INT, "ps", MAYBE, "flow completion time: finish minus start"),
    Column(
        "ideal_fct_ps",
        INT,
        "ps",
        MAYBE,
        "flow completion time alone on the idle path, without header bytes that the algorithm adds",
    ),
    Column(
        "slowdown",
        DataType::Float64,
        "",
        MAYBE,
        "flow completion time divided by the ideal one; null unless the whole size was transferred",
    ),
    Column(
        "own_ideal_fct_ps",
        INT,
        "ps",
        MAYBE,
        "flow completion time alone on the idle path, with the header bytes that its algorithm adds",
    ),
    Column(
        "own_slowdown",
        DataType::Float64,
        "",
        MAYBE,
        "flow completion time divided by its own ideal one; null unless the whole size was transferred",
    ),
    Column("base_rtt_ps", INT, "ps", ALWAYS, "round-trip time of the path without queues"),
    Column("packets", INT, "packets", ALWAYS, "data packets sent, including retransmissions"),
    Column("resent_packets", INT, "packets", ALWAYS, "data packets retransmitted"),
    Column("marked_packets", INT, "packets", ALWAYS, "acknowledged packets that carried an ECN mark"),
    Column("timeouts", ID, "", ALWAYS, "retransmission timeouts"),
    Column("finished", DataType::Boolean, "", ALWAYS, "whether it finished"),
    Column("started", DataType::Boolean, "", ALWAYS, "whether it started before the run ended"),
];

const PORTS: &[Column] = &[
    Column("node", TEXT, "", ALWAYS, "name of the node"),
    Column("node_id", ID, "", ALWAYS, "number of the node; hosts come first"),
    Column("port", DataType::UInt16, "", ALWAYS, "number of the port at its node"),
    Column("peer", TEXT, "", MAYBE, "name of the node at the far end"),
    Column("rate_bps", INT, "bit/s", MAYBE, "rate of the link"),
    Column("transmitted_bytes", INT, "B", ALWAYS, "bytes transmitted, all packets"),
    Column("transmitted_packets", INT, "packets", ALWAYS, "packets transmitted"),
    Column("dropped_bytes", INT, "B", ALWAYS, "bytes dropped on admission to the port's queues"),
    Column("dropped_packets", INT, "packets", ALWAYS, "packets dropped on admission to the port's queues"),
    Column("marked_packets", INT, "packets", ALWAYS, "packets that got an ECN mark"),
    Column("peak_queue_bytes", INT, "B", ALWAYS, "longest queue"),
    Column("paused_ps", INT, "ps", ALWAYS, "time spent paused by the far end"),
    Column("pauses_sent", INT, "", ALWAYS, "pause frames sent to the far end"),
    TRIMMED,
];

const TRIMMED: Column = Column(
    "trimmed_packets",
    INT,
    "packets",
    ALWAYS,
    "packets whose payload was removed because the data queue was full",
);

const SAMPLES: Column = Column(
    "samples",
    INT,
    "samples",
    ALWAYS,
    "how many samples the row stands for: this one and the equal ones directly before it that have no row",
);

const PORT_SERIES: &[Column] = &[
    Column("time_ps", INT, "ps", ALWAYS, "when"),
    Column("node", TEXT, "", ALWAYS, "name of the node"),
    Column("node_id", ID, "", ALWAYS, "number of the node"),
    Column("port", DataType::UInt16, "", ALWAYS, "number of the port at its node"),
    Column("queue_bytes", INT, "B", ALWAYS, "bytes in the port's queues"),
    Column("transmitted_bytes", INT, "B", ALWAYS, "bytes transmitted since the start of the run"),
    Column("dropped_bytes", INT, "B", ALWAYS, "bytes dropped since the start of the run"),
    Column("marked_packets", INT, "packets", ALWAYS, "packets marked since the start of the run"),
    Column("paused", DataType::Boolean, "", ALWAYS, "whether the far end has the port paused"),
    SAMPLES,
];

const FLOW_SERIES: &[Column] = &[
    Column("time_ps", INT, "ps", ALWAYS, "when"),
    Column("flow", ID, "", ALWAYS, "number of the flow"),
    Column("window_bytes", INT, "B", MAYBE, "window; null: none"),
    Column("rate_bps", INT, "bit/s", MAYBE, "sending rate; null: limited only by line rate"),
    Column("rtt_ps", INT, "ps", MAYBE, "last measured round-trip time; null before the first"),
    Column("inflight_bytes", INT, "B", ALWAYS, "bytes in flight"),
    Column("acked_bytes", INT, "B", ALWAYS, "payload acknowledged since the flow's start"),
    SAMPLES,
];

const PAUSES: &[Column] = &[
    Column("time_ps", INT, "ps", ALWAYS, "when"),
    Column("node", TEXT, "", ALWAYS, "name of the node that is paused or resumed"),
    Column("node_id", ID, "", ALWAYS, "number of the node"),
    Column("port", DataType::UInt16, "", ALWAYS, "number of the port at its node"),
    Column("queue", DataType::UInt16, "", ALWAYS, "number of the queue (priority)"),
    Column("paused", DataType::Boolean, "", ALWAYS, "true for a pause, false for a resume"),
];

const INTERNALS: &[Column] = &[
    Column("time_ps", INT, "ps", ALWAYS, "when"),
    Column("flow", ID, "", ALWAYS, "number of the flow"),
    Column("name", TEXT, "", ALWAYS, "what is sampled; the name of a quantity ends in its unit"),
    Column("value", DataType::Float64, "", ALWAYS, "its value in that unit"),
    SAMPLES,
];

const OPERATIONS: &[Column] = &[
    Column("operation", ID, "", ALWAYS, "number of the operation"),
    Column("job", TEXT, "", ALWAYS, "name of its job"),
    Column("host", TEXT, "", ALWAYS, "name of its host"),
    Column("host_id", ID, "", ALWAYS, "number of its host"),
    Column("kind", TEXT, "", ALWAYS, "send, receive or compute"),
    Column("flow", ID, "", MAYBE, "number of the flow that it sends or receives"),
    Column("processor", DataType::UInt16, "", MAYBE, "the processor of the host on which it computes"),
    Column("start_ps", INT, "ps", MAYBE, "when it started; null if it did not"),
    Column("end_ps", INT, "ps", MAYBE, "when it ended; null if it did not"),
    Column("duration_ps", INT, "ps", MAYBE, "end minus start"),
];

const JOBS: &[Column] = &[
    Column("job", TEXT, "", ALWAYS, "name of the job: its traffic block, and its part of that"),
    Column("operations", INT, "", ALWAYS, "its operations"),
    Column("ended_operations", INT, "", ALWAYS, "its operations that have ended"),
    Column("flows", INT, "", ALWAYS, "flows that it sends"),
    Column("size_bytes", INT, "B", ALWAYS, "payload of these flows"),
    Column("start_ps", INT, "ps", MAYBE, "when the first of its sends and computations started"),
    Column("end_ps", INT, "ps", MAYBE, "when the last of its operations ended; null unless all have"),
    Column("jct_ps", INT, "ps", MAYBE, "job completion time: end minus start"),
    Column("straggler", ID, "", MAYBE, "number of the operation that ended last"),
    Column("straggler_host", TEXT, "", MAYBE, "name of the host of that operation"),
    Column("median_end_ps", INT, "ps", MAYBE, "when half of its hosts had ended their operations"),
    Column(
        "bound_ps",
        INT,
        "ps",
        MAYBE,
        "lower bound of its completion time with empty queues; null if it neither sends nor computes",
    ),
    Column("bound_ratio", DataType::Float64, "", MAYBE, "completion time divided by its lower bound"),
    Column("bound_increase", DataType::Float64, "", MAYBE, "that ratio minus one"),
    Column("no_bound", TEXT, "", MAYBE, "why it has no lower bound"),
];

fn schema(columns: &[Column]) -> SchemaRef {
    let field = |Column(name, kind, unit, nullable, meaning): &Column| {
        let mut metadata = HashMap::from([("description".to_owned(), (*meaning).to_owned())]);
        if !unit.is_empty() {
            metadata.insert("unit".to_owned(), (*unit).to_owned());
        }
        Field::new(*name, kind.clone(), *nullable).with_metadata(metadata)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// The contents of rows that are not in records: names, and the description of the simulation.
#[derive(Debug)]
pub struct Labels<'a> {
    simulation: &'a Simulation,
    groups: &'a [String],
    algorithms: &'a [String],
    jobs: &'a [String],
    /// The link's rate and the far end of each port.
    ports: HashMap<(NodeId, PortId), (Rate, NodeId)>,
}

impl<'a> Labels<'a> {
    /// For a simulation whose flows' groups and whose algorithms have these names.
    #[must_use]
    pub fn new(simulation: &'a Simulation, groups: &'a [String], algorithms: &'a [String]) -> Self {
        let links = simulation.network.links.iter();
        let ports = links.flat_map(|l| [(l.a, (l.rate, l.b.0)), (l.b, (l.rate, l.a.0))]).collect();
        Self { simulation, groups, algorithms, jobs: &[], ports }
    }

    /// Adds the names of the jobs of operations.
    #[must_use]
    pub fn with_jobs(self, jobs: &'a [String]) -> Self {
        Self { jobs, ..self }
    }

    fn node(&self, id: NodeId) -> &str {
        self.simulation.network.nodes.get(id as usize).map_or("", String::as_str)
    }

    /// Rows of [`TableName::Flows`]. Every record's flow must be one of the simulation's.
    #[must_use]
    pub fn flows(&self, records: &[FlowRecord]) -> RecordBatch {
        let flows: Vec<_> = records.iter().map(|r| self.simulation.flows[r.flow as usize]).collect();
        let both = || flows.iter().zip(records);
        let name = |names: &'a [String], i: u16| names.get(usize::from(i)).map_or("", String::as_str);
        let slowdown = |ideal: fn(&FlowRecord) -> Time| {
            let whole =
                both().map(move |(f, r)| (r.bytes == f.size).then(|| slowdown(r, ideal(r))).flatten());
            Arc::new(whole.collect::<Float64Array>())
        };
        rows(
            TableName::Flows,
            vec![
                Arc::new(UInt32Array::from_iter_values(records.iter().map(|r| r.flow))),
                text(flows.iter().map(|f| self.node(f.source))),
                text(flows.iter().map(|f| self.node(f.destination))),
                Arc::new(UInt32Array::from_iter_values(flows.iter().map(|f| f.source))),
                Arc::new(UInt32Array::from_iter_values(flows.iter().map(|f| f.destination))),
                text(flows.iter().map(|f| name(self.groups, f.group))),
                text(flows.iter().map(|f| name(self.algorithms, f.algorithm))),
                optional(flows.iter().map(|f| f.size.get())),
                count(records.iter().map(|r| r.bytes.get())),
                count(records.iter().map(|r| r.start.ps())),
                optional(records.iter().map(|r| r.delivered.ps())),
                optional(records.iter().map(|r| r.finish.ps())),
                optional(records.iter().map(|r| fct(r).unwrap_or(Time::NEVER).ps())),
                optional(records.iter().map(|r| r.ideal_plain.ps())),
                slowdown(|r| r.ideal_plain),
                optional(records.iter().map(|r| r.ideal.ps())),
                slowdown(|r| r.ideal),
                count(records.iter().map(|r| r.base_rtt.ps())),
                count(records.iter().map(|r| r.packets)),
                count(records.iter().map(|r| r.resent)),
                count(records.iter().map(|r| r.marked)),
                Arc::new(UInt32Array::from_iter_values(records.iter().map(|r| r.timeouts))),
                flags(records.iter().map(|r| r.finish != Time::NEVER)),
                // A flow that has started has an ideal time, be it for no byte.
                flags(records.iter().map(|r| r.ideal != Time::NEVER)),
            ],
        )
    }

    /// Rows of [`TableName::Ports`].
    #[must_use]
    pub fn ports(&self, totals: &[PortTotals]) -> RecordBatch {
        let link = |t: &PortTotals| self.ports.get(&(t.node, t.port)).copied();
        let peers = totals.iter().map(|t| link(t).map(|(_, peer)| self.node(peer)));
        rows(
            TableName::Ports,
            vec![
                text(totals.iter().map(|t| self.node(t.node))),
                Arc::new(UInt32Array::from_iter_values(totals.iter().map(|t| t.node))),
                Arc::new(UInt16Array::from_iter_values(totals.iter().map(|t| t.port))),
                Arc::new(peers.collect::<StringArray>()),
                optional(totals.iter().map(|t| link(t).map_or(u64::MAX, |(rate, _)| rate.bps()))),
                count(totals.iter().map(|t| t.transmitted.get())),
                count(totals.iter().map(|t| t.packets)),
                count(totals.iter().map(|t| t.dropped.get())),
                count(totals.iter().map(|t| t.drops)),
                count(totals.iter().map(|t| t.marked)),
                count(totals.iter().map(|t| t.peak_queue.get())),
                count(totals.iter().map(|t| t.paused.ps())),
                count(totals.iter().map(|t| t.pauses_sent)),
                count(totals.iter().map(|t| t.trimmed)),
            ],
        )
    }

    /// Rows of [`TableName::PortSeries`].
    #[must_use]
    pub fn port_series(&self, samples: &[PortSample]) -> RecordBatch {
        rows(
            TableName::PortSeries,
            vec![
                count(samples.iter().map(|s| s.time.ps())),
                text(samples.iter().map(|s| self.node(s.node))),
                Arc::new(UInt32Array::from_iter_values(samples.iter().map(|s| s.node))),
                Arc::new(UInt16Array::from_iter_values(samples.iter().map(|s| s.port))),
                count(samples.iter().map(|s| s.queue.get())),
                count(samples.iter().map(|s| s.transmitted.get())),
                count(samples.iter().map(|s| s.dropped.get())),
                count(samples.iter().map(|s| s.marked)),
                flags(samples.iter().map(|s| s.paused)),
                count(samples.iter().map(|s| s.samples)),
            ],
        )
    }

    /// Rows of [`TableName::FlowSeries`].
    #[must_use]
    pub fn flow_series(&self, samples: &[FlowSample]) -> RecordBatch {
        let rtt = |s: &FlowSample| if s.rtt == Time::ZERO { Time::NEVER } else { s.rtt };
        rows(
            TableName::FlowSeries,
            vec![
                count(samples.iter().map(|s| s.time.ps())),
                Arc::new(UInt32Array::from_iter_values(samples.iter().map(|s| s.flow))),
                optional(samples.iter().map(|s| s.window.get())),
                optional(samples.iter().map(|s| s.rate.bps())),
                optional(samples.iter().map(|s| rtt(s).ps())),
                count(samples.iter().map(|s| s.inflight.get())),
                count(samples.iter().map(|s| s.acked.get())),
                count(samples.iter().map(|s| s.samples)),
            ],
        )
    }

    /// Rows of [`TableName::Pauses`].
    #[must_use]
    pub fn pauses(&self, records: &[PauseRecord]) -> RecordBatch {
        rows(
            TableName::Pauses,
            vec![
                count(records.iter().map(|r| r.time.ps())),
                text(records.iter().map(|r| self.node(r.node))),
                Arc::new(UInt32Array::from_iter_values(records.iter().map(|r| r.node))),
                Arc::new(UInt16Array::from_iter_values(records.iter().map(|r| r.port))),
                Arc::new(UInt16Array::from_iter_values(records.iter().map(|r| r.queue))),
                flags(records.iter().map(|r| r.paused)),
            ],
        )
    }

    /// Rows of [`TableName::Internals`]. Every sample's flow must be one of the simulation's.
    #[must_use]
    pub fn internals(&self, samples: &[InternalSample]) -> RecordBatch {
        let name = |s: &InternalSample| {
            let algorithm = self.simulation.flows[s.flow as usize].algorithm;
            let internals = self.simulation.algorithms[usize::from(algorithm)].internals();
            internals.get(usize::from(s.internal)).map_or("", |internal| internal.name)
        };
        let names = samples.iter().map(|s| internal_name(name(s), s.value));
        rows(
            TableName::Internals,
            vec![
                count(samples.iter().map(|s| s.time.ps())),
                Arc::new(UInt32Array::from_iter_values(samples.iter().map(|s| s.flow))),
                Arc::new(StringArray::from_iter_values(names)),
                Arc::new(Float64Array::from_iter_values(samples.iter().map(|s| internal_number(s.value)))),
                count(samples.iter().map(|s| s.samples)),
            ],
        )
    }
}

impl Labels<'_> {
    fn job(&self, job: u16) -> &str {
        self.jobs.get(usize::from(job)).map_or("", String::as_str)
    }

    /// Rows of [`TableName::Operations`]. Every record's operation must be one of the simulation's.
    #[must_use]
    pub fn operations(&self, records: &[OperationRecord]) -> RecordBatch {
        let described = || records.iter().map(|r| &self.simulation.operations[r.operation as usize]);
        let kind = |what| match what {
            What::Send { .. } => "send",
            What::Receive { .. } => "receive",
            What::Compute { .. } => "compute",
        };
        let flow = |what| match what {
            What::Send { flow } | What::Receive { flow } => Some(flow),
            What::Compute { .. } => None,
        };
        let processor = |what| match what {
            What::Compute { processor, .. } => Some(processor),
            _ => None,
        };
        let ended = |r: &OperationRecord| r.end != Time::NEVER;
        let duration = |r: &OperationRecord| if ended(r) { r.end - r.start } else { Time::NEVER };
        rows(
            TableName::Operations,
            vec![
                Arc::new(UInt32Array::from_iter_values(records.iter().map(|r| r.operation))),
                text(described().map(|o| self.job(o.job))),
                text(described().map(|o| self.node(o.host))),
                Arc::new(UInt32Array::from_iter_values(described().map(|o| o.host))),
                text(described().map(|o| kind(o.what))),
                Arc::new(described().map(|o| flow(o.what)).collect::<UInt32Array>()),
                Arc::new(described().map(|o| processor(o.what)).collect::<UInt16Array>()),
                optional(records.iter().map(|r| r.start.ps())),
                optional(records.iter().map(|r| r.end.ps())),
                optional(records.iter().map(|r| duration(r).ps())),
            ],
        )
    }

    /// Rows of [`TableName::Jobs`].
    #[must_use]
    pub fn job_rows(&self, records: &[JobRecord]) -> RecordBatch {
        let time = |value: Option<Time>| value.unwrap_or(Time::NEVER).ps();
        let ratio = |r: &JobRecord| Some(r.time()?.ps() as f64 / r.bound?.ps() as f64);
        let hosts = records.iter().map(|r| r.last.map(|(_, host)| self.node(host)));
        let no_bound = |r: &JobRecord| r.bound.is_none().then_some("it neither sends nor computes");
        rows(
            TableName::Jobs,
            vec![
                text(records.iter().map(|r| self.job(r.job))),
                count(records.iter().map(|r| r.operations)),
                count(records.iter().map(|r| r.ended)),
                count(records.iter().map(|r| r.flows)),
                count(records.iter().map(|r| r.payload.get())),
                optional(records.iter().map(|r| r.start.ps())),
                optional(records.iter().map(|r| r.end.ps())),
                optional(records.iter().map(|r| time(r.time()))),
                Arc::new(records.iter().map(|r| r.last.map(|(last, _)| last)).collect::<UInt32Array>()),
                Arc::new(hosts.collect::<StringArray>()),
                optional(records.iter().map(|r| r.median_end.ps())),
                optional(records.iter().map(|r| time(r.bound))),
                Arc::new(records.iter().map(ratio).collect::<Float64Array>()),
                Arc::new(records.iter().map(|r| ratio(r).map(|x| x - 1.0)).collect::<Float64Array>()),
                Arc::new(records.iter().map(no_bound).collect::<StringArray>()),
            ],
        )
    }
}

/// The name of an internal quantity in tables, with its unit.
fn internal_name(name: &str, value: Value) -> Cow<'_, str> {
    let unit = match value {
        Value::Time(_) => "_ps",
        Value::Bytes(_) => "_bytes",
        Value::Rate(_) => "_bps",
        Value::Ratio(_) | Value::Count(_) | Value::Flag(_) | Value::Choice(_) => return name.into(),
    };
    format!("{name}{unit}").into()
}

/// The number of an internal quantity. Those that a run reaches are exact, as they are below 2^53.
fn internal_number(value: Value) -> f64 {
    match value {
        Value::Time(time) => time.ps() as f64,
        Value::Bytes(bytes) => bytes.get() as f64,
        Value::Rate(rate) => rate.bps() as f64,
        Value::Ratio(ratio) => ratio.bits() as f64 / Fixed::ONE.bits() as f64,
        Value::Count(count) => count as f64,
        Value::Flag(flag) => f64::from(u8::from(flag)),
        Value::Choice(choice) => choice as f64,
    }
}

/// The completion time of a flow that finished.
fn fct(record: &FlowRecord) -> Option<Time> {
    (record.finish != Time::NEVER).then(|| record.finish - record.start)
}

/// Completion time divided by the ideal one, for a flow that finished and has an ideal time.
fn slowdown(record: &FlowRecord, ideal: Time) -> Option<f64> {
    let ideal = Some(ideal).filter(|&t| t != Time::ZERO && t != Time::NEVER)?;
    fct(record).map(|fct| fct.ps() as f64 / ideal.ps() as f64)
}

fn rows(table: TableName, columns: Vec<ArrayRef>) -> RecordBatch {
    RecordBatch::try_new(table.schema(), columns).expect("the columns are those of the schema")
}

fn text<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn flags(values: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(values.map(Some).collect::<BooleanArray>())
}

/// Quantities that are always present. Values beyond 63 bits become the largest.
fn count(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values.map(|v| i64::try_from(v).unwrap_or(i64::MAX))))
}

/// Quantities whose values beyond 63 bits mean "never" or "no limit" and become null.
fn optional(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(values.map(|v| i64::try_from(v).ok()).collect::<Int64Array>())
}

const _: () = {
    // What "never" and "no limit" are must be beyond 63 bits.
    assert!(Time::NEVER.ps() > i64::MAX as u64);
    assert!(Bytes::UNLIMITED.get() > i64::MAX as u64);
};
