//! What came of a run.

use std::path::PathBuf;

use incast_lab::results as lab;
use incast_lab::results::extract::{PortKey, port_points, port_rates};
use incast_lab::results::{ResultFolder, ResultInfo, State, TableName};
use incast_lab::run::RunResult;
use incast_lab::summary::{
    Interval, PortPoint, Tolerance, lost_utilisation, queue, settling_time, steady_queue,
};
use incast_units::{Rate, Time};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;
use crate::table::Table;

/// `result.json`, state, folder, and the tables as Parquet files.
type Parts = (String, String, Option<PathBuf>, Vec<Py<PyBytes>>);

/// What came of a run: its tables, and `result.json`.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct Result {
    /// The text of `result.json`.
    info: String,
    /// `complete`, `running` or `incomplete`.
    state: &'static str,
    /// Where it is saved.
    folder: Option<PathBuf>,
    /// What the user should be told, like what was cleared away.
    notices: Vec<String>,
    /// One row per flow.
    flows: Py<Table>,
    /// Totals, one row per port.
    ports: Py<Table>,
    /// Samples of the probed ports.
    port_series: Py<Table>,
    /// Samples of the probed flows.
    flow_series: Py<Table>,
    /// Pauses and resumes of ports, if they were recorded.
    pauses: Py<Table>,
}

/// How a probed port took what happened in an interval.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct Response {
    /// Mean queue over the last quarter of the interval, in bytes.
    steady_bytes: f64,
    /// Smallest queue in that quarter, in bytes.
    steady_low_bytes: u64,
    /// Largest queue in that quarter, in bytes.
    steady_high_bytes: u64,
    /// Longest queue in the interval, in bytes, as sampled.
    peak_bytes: u64,
    /// Time until the queue stays within 10 % (or 10 KB) of its steady value, in picoseconds; none if
    /// it does not before the interval's last quarter.
    settling_ps: Option<u64>,
    /// Bytes that the link could have carried in the interval and did not.
    lost_bytes: Option<u64>,
    /// Their share of what it could have carried.
    lost_share: Option<f64>,
}

impl Result {
    pub(crate) fn of(py: Python<'_>, run: RunResult) -> PyResult<Self> {
        Ok(Self {
            info: text(&run.info)?,
            state: "complete",
            folder: run.folder,
            notices: run.notices,
            flows: Py::new(py, Table(run.flows))?,
            ports: Py::new(py, Table(run.ports))?,
            port_series: Py::new(py, Table(run.port_series))?,
            flow_series: Py::new(py, Table(run.flow_series))?,
            pauses: Py::new(py, Table(run.pauses))?,
        })
    }
}

#[pymethods]
impl Result {
    /// Reads a saved result, also that of a run that was killed, as far as it came.
    #[staticmethod]
    fn open(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        let (opened, tables) = py
            .detach(|| {
                let opened = ResultFolder::open(&folder)?;
                let tables = TableName::ALL.map(|name| opened.table(name));
                Ok((opened, tables))
            })
            .map_err(error::result)?;
        let mut tables = tables.into_iter().map(|t| Py::new(py, Table(t.map_err(error::result)?)));
        let mut next = || tables.next().unwrap_or_else(|| Err(PyValueError::new_err("a table is missing")));
        Ok(Self {
            info: text(opened.info())?,
            state: match opened.state() {
                State::Complete => "complete",
                State::Running => "running",
                State::Incomplete => "incomplete",
            },
            flows: next()?,
            ports: next()?,
            port_series: next()?,
            flow_series: next()?,
            pauses: next()?,
            folder: Some(folder),
            notices: Vec::new(),
        })
    }

    /// What makes it again in another process: `result.json`, state, folder, and the tables as Parquet.
    fn parts(&self, py: Python<'_>) -> PyResult<Parts> {
        let tables = [&self.flows, &self.ports, &self.port_series, &self.flow_series, &self.pauses];
        let tables = tables.map(|table| table.get().0.to_parquet());
        let mut bytes = Vec::new();
        for table in tables {
            bytes.push(PyBytes::new(py, &table?).unbind());
        }
        Ok((self.info.clone(), self.state.to_owned(), self.folder.clone(), bytes))
    }

    /// The result with these parts.
    #[staticmethod]
    fn from_parts(py: Python<'_>, parts: Parts) -> PyResult<Self> {
        let (info, state, folder, tables) = parts;
        let mut tables = tables.iter().map(|bytes| {
            let table = lab::Table::from_parquet(bytes.as_bytes(py).to_vec()).map_err(error::result)?;
            Py::new(py, Table(table))
        });
        let mut next = || tables.next().unwrap_or_else(|| Err(PyValueError::new_err("a table is missing")));
        Ok(Self {
            info,
            state: ["complete", "running"].into_iter().find(|known| *known == state).unwrap_or("incomplete"),
            flows: next()?,
            ports: next()?,
            port_series: next()?,
            flow_series: next()?,
            pauses: next()?,
            folder,
            notices: Vec::new(),
        })
    }

    /// How a probed port took what happened from `from_ps` to `until_ps` (none: its last sample).
    #[pyo3(signature = (node, port, from_ps, until_ps=None))]
    fn response(&self, node: String, port: u16, from_ps: u64, until_ps: Option<u64>) -> PyResult<Response> {
        let key: PortKey = (node, port);
        let series = port_points(&self.port_series.get().0).map_err(PyValueError::new_err)?;
        let rates = port_rates(&self.ports.get().0).map_err(PyValueError::new_err)?;
        let rate = rates.get(&key).copied();
        let interval = Interval::new(Time::from_ps(from_ps), until_ps.map_or(Time::NEVER, Time::from_ps));
        series.get(&key).and_then(|samples| respond(samples, interval, rate)).ok_or_else(|| {
            PyKeyError::new_err(format!("no samples of port {port} of {} in this interval", key.0))
        })
    }
}

fn respond(samples: &[PortPoint], interval: Interval, rate: Option<Rate>) -> Option<Response> {
    let rest = Interval::new(interval.from, interval.until.min(samples.last()?.time));
    if rest.until < rest.from {
        return None;
    }
    let steady = steady_queue(samples, rest)?;
    let lost = rate.and_then(|rate| lost_utilisation(samples, rate, rest));
    Some(Response {
        steady_bytes: steady.mean_bytes,
        steady_low_bytes: steady.min_bytes,
        steady_high_bytes: steady.max_bytes,
        peak_bytes: queue(samples, rest)?.max_bytes,
        settling_ps: settling_time(samples, rest, Tolerance::default()).map(Time::ps),
        lost_bytes: lost.map(|l| l.lost_bytes),
        lost_share: lost.map(|l| l.lost_share),
    })
}

fn text(info: &ResultInfo) -> PyResult<String> {
    serde_json::to_string(info).map_err(|e| PyValueError::new_err(e.to_string()))
}
