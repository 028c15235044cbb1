//! The result of a run: tables in memory, and the same tables in a folder on disk.
//!
//! * [`tables`]: the tables, their columns and units.
//! * [`info`]: `result.json`, with the origin of the result and how the run ended.
//! * [`writer`]: the folder during the run.
//! * `jobs`: how long the jobs of a workload with dependencies took.
//! * `chain`: what the times of these jobs went into.
//! * [`extract`]: converts tables to the arguments of the summary functions.
//! * [`folder`]: the folder after the run, also after a run that was killed.
//!
//! A result is one folder:
//!
//! ```text
//! result.json          what made it, how it ended, totals, summary, digests of the other files; its state is
//!                      "complete" only at a clean end
//! scenario.toml        the effective scenario
//! flows.parquet        one row per flow, in the order in which they finished, unfinished ones last
//! ports.parquet        totals, one row per port
//! port_series.parquet  samples of the probed ports
//! flow_series.parquet  samples of the probed flows
//! pauses.parquet       pauses and resumes of ports, where the scenario asks for them
//! internals.parquet    samples of algorithms' internal quantities, where the scenario asks for them
//! operations.parquet   operations of a workload with dependencies, where the traffic has them
//! jobs.parquet         the jobs of these operations
//! limit_series.parquet  open flows by what keeps them back, where the scenario asks for it
//! load_series.parquet  offered and acknowledged bytes over time, where the scenario asks for them
//! limits.parquet       the divided times of the flows
//! job_limits.parquet   the divided times of the jobs
//! capture.pcapng       packets of captured ports, where the scenario asks for them
//! ```
//!
//! During a run, each growing table is a folder of numbered parts (`flows/part-00000.DIGEST.parquet`). A
//! part is a whole Parquet file of one row group, written under another name first, so that what has a
//! part's name is complete; its name carries its digest. A clean end merges the parts and writes
//! `result.json` last. A run of less than two seconds writes small tables once, at its end, without parts.

pub(crate) mod chain;
pub mod extract;
pub mod folder;
pub mod info;
pub(crate) mod jobs;
pub mod tables;
pub mod writer;

mod error;
mod parquet_io;

pub(crate) use parquet_io::{EachBatch, GROUP_ROWS};

pub use error::ResultError;
pub use folder::{ResultFolder, State};
pub use info::ResultInfo;
pub use jobs::{JobRecord, Volume};
pub use tables::{Table, TableName, Tables};
pub use writer::write_sheet;

/// Name of the file with captured packets.
pub const CAPTURE_FILE: &str = "capture.pcapng";
/// Name of the file with the origin and outcome of a result.
const INFO_FILE: &str = "result.json";
/// Name of the file with the effective scenario. The process that writes the result holds a lock on it.
const SCENARIO_FILE: &str = "scenario.toml";
