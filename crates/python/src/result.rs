//! The result of a run.

use std::path::PathBuf;

use incast_lab::results as lab;
use incast_lab::results::extract::{PortKey, all_active, port_points, port_rates, sampled_ports};
use incast_lab::results::tables::TABLES;
use incast_lab::results::{ResultFolder, ResultInfo, State, TableName, Tables};
use incast_lab::run::{RunResult, RunTimes};
use incast_lab::summary::{
    Interval, PortPoint, Tolerance, count, lost_utilisation, queue, settling_time, steady_queue,
};
use incast_units::{Rate, Time};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;

use crate::error;
use crate::table::Table;

/// `result.json`, state, folder, and the tables as Parquet files.
type Parts = (String, String, Option<PathBuf>, Vec<Py<PyBytes>>);

/// The outcome of a run: its tables, and `result.json`. A table on disk is read when it is first asked for.
#[pyclass(frozen, module = "incast")]
pub(crate) struct Result {
    /// The text of `result.json`.
    #[pyo3(get)]
    info: String,
    /// `complete`, `running` or `incomplete`.
    #[pyo3(get)]
    state: &'static str,
    /// Folder in which it is saved.
    #[pyo3(get)]
    folder: Option<PathBuf>,
    /// Messages for the user, like what was removed.
    #[pyo3(get)]
    notices: Vec<String>,
    /// The wall time of the parts of its run, if it was measured.
    #[pyo3(get)]
    times: Option<PartTimes>,
    tables: Tables,
    /// A sentence on rows that its tables lack, of copies that were counted only.
    unwritten: Option<String>,
    /// The tables that were asked for, in the order of [`TableName::ALL`].
    opened: [PyOnceLock<Py<Table>>; TABLES],
}

/// Response of a probed port to the events of an interval.
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

/// Wall time of the parts of a run, in seconds. What has no other thread is in the thread that called.
#[pyclass(frozen, get_all, module = "incast")]
#[derive(Clone)]
pub(crate) struct PartTimes {
    /// Threads of the engine.
    threads: usize,
    /// Before the engine: routes, nodes, the folder of the result.
    prepare_s: f64,
    /// The engine with its nodes and with the records that it passed on.
    engine_s: f64,
    /// The visits of hosts, of all threads together.
    hosts_s: f64,
    /// Their number.
    host_visits: u64,
    /// The visits of switches, of all threads together.
    switches_s: f64,
    /// Their number.
    switch_visits: u64,
    /// Records that became rows during the engine.
    records_s: f64,
    /// After the engine: the last records, the summary, the files.
    write_s: f64,
}

impl From<RunTimes> for PartTimes {
    fn from(times: RunTimes) -> Self {
        let RunTimes { create, simulation, write } = times;
        Self {
            threads: simulation.threads,
            prepare_s: (create + simulation.prepare).as_secs_f64(),
            engine_s: simulation.engine.as_secs_f64(),
            hosts_s: simulation.hosts.total().as_secs_f64(),
            host_visits: simulation.hosts.number,
            switches_s: simulation.switches.total().as_secs_f64(),
            switch_visits: simulation.switches.number,
            records_s: simulation.records.as_secs_f64(),
            write_s: (simulation.finish + write).as_secs_f64(),
        }
    }
}

impl Result {
    pub(crate) fn of(run: RunResult) -> PyResult<Self> {
        Ok(Self {
            times: run.times.map(PartTimes::from),
            info: text(&run.info)?,
            state: "complete",
            folder: run.folder,
            notices: run.notices,
            unwritten: unwritten(&run.info),
            tables: run.tables,
            opened: core::array::from_fn(|_| PyOnceLock::new()),
        })
    }

    /// A table with all of its rows.
    fn get(&self, py: Python<'_>, name: TableName) -> PyResult<&Py<Table>> {
        let is_short = matches!(name, TableName::Flows | TableName::Limits | TableName::Operations);
        match &self.unwritten {
            Some(said) if is_short => Err(error::ResultError::new_err(format!(
                "{said}; run.reuse = \"exact\" writes them, and rows(\"{}\") has the rows that there are",
                name.as_str()
            ))),
            _ => self.read(py, name),
        }
    }

    /// A table with the rows that were written.
    fn read(&self, py: Python<'_>, name: TableName) -> PyResult<&Py<Table>> {
        self.opened[name as usize].get_or_try_init(py, || {
            let table = py.detach(|| self.tables.get(name)).map_err(error::result)?;
            Py::new(py, Table(table))
        })
    }
}

#[pymethods]
impl Result {
    /// Reads a saved result; if the run was killed, as much as it had written. The files of a complete result
    /// are checked now and read when they are asked for; the files of a run that continues or was killed are
    /// read now, as they may change.
    #[staticmethod]
    fn open(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| {
            let opened = ResultFolder::open(&folder)?;
            if opened.state() == State::Complete {
                opened.verify()?;
                return Ok((opened.clone(), Tables::Disk(Box::new(opened))));
            }
            let tables: Vec<_> = TableName::ALL
                .map(|name| opened.table(name))
                .into_iter()
                .collect::<core::result::Result<_, _>>()?;
            Ok((opened, Tables::Memory(all(tables))))
        });
        let (opened, tables) = opened.map_err(error::result)?;
        Ok(Self {
            info: text(opened.info())?,
            state: match opened.state() {
                State::Complete => "complete",
                State::Running => "running",
                State::Incomplete => "incomplete",
            },
            folder: Some(folder),
            notices: Vec::new(),
            times: None,
            unwritten: unwritten(opened.info()),
            tables,
            opened: core::array::from_fn(|_| PyOnceLock::new()),
        })
    }

    /// One of its tables.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<&Py<Table>> {
        self.get(py, known(name)?)
    }

    /// One of its tables, with the rows that were written.
    fn rows(&self, py: Python<'_>, name: &str) -> PyResult<&Py<Table>> {
        self.read(py, known(name)?)
    }

    /// Returns the parts from which another process makes it again: `result.json`, state, folder, and the
    /// tables as Parquet.
    fn parts(&self, py: Python<'_>) -> PyResult<Parts> {
        let mut tables = Vec::new();
        for name in TableName::ALL {
            let bytes = py.detach(|| Ok(self.tables.get(name)?.to_parquet()));
            tables.push(PyBytes::new(py, &bytes.map_err(error::result)??).unbind());
        }
        Ok((self.info.clone(), self.state.to_owned(), self.folder.clone(), tables))
    }

    /// The result with these parts.
    #[staticmethod]
    fn from_parts(py: Python<'_>, parts: Parts) -> PyResult<Self> {
        let (info, state, folder, tables) = parts;
        let table = |bytes: &Py<PyBytes>| lab::Table::from_parquet(bytes.as_bytes(py).to_vec());
        let tables = tables.iter().map(table).collect::<core::result::Result<Vec<_>, _>>();
        let lacks = serde_json::from_str(&info).ok().and_then(|info| unwritten(&info));
        Ok(Self {
            info,
            state: ["complete", "running"].into_iter().find(|known| *known == state).unwrap_or("incomplete"),
            folder,
            notices: Vec::new(),
            times: None,
            unwritten: lacks,
            tables: Tables::Memory(tables.map(all).map_err(error::result)?),
            opened: core::array::from_fn(|_| PyOnceLock::new()),
        })
    }

    /// The probed ports, each with the name of its node and its number there, in the order of their first samples.
    fn probed_ports(&self, py: Python<'_>) -> PyResult<Vec<PortKey>> {
        sampled_ports(&self.get(py, TableName::PortSeries)?.get().0).map_err(PyValueError::new_err)
    }

    /// The time from which on all flows are active, and a base RTT before the first one after it is delivered; none if
    /// that has not happened. In picoseconds.
    fn all_active(&self, py: Python<'_>) -> PyResult<(i64, Option<i64>)> {
        all_active(&self.get(py, TableName::Flows)?.get().0).map_err(PyValueError::new_err)
    }

    /// The number of samples of a port from one instant to another, both included, in picoseconds.
    fn samples_between(
        &self,
        py: Python<'_>,
        node: String,
        port: u16,
        from_ps: u64,
        until_ps: u64,
    ) -> PyResult<u64> {
        let series =
            port_points(&self.get(py, TableName::PortSeries)?.get().0).map_err(PyValueError::new_err)?;
        let interval = Interval::new(Time::from_ps(from_ps), Time::from_ps(until_ps));
        Ok(series.get(&(node, port)).map_or(0, |samples| count(samples, interval)))
    }

    /// Returns the response of a probed port to the events from `from_ps` to `until_ps` (none: its last
    /// sample).
    #[pyo3(signature = (node, port, from_ps, until_ps=None))]
    fn response(
        &self,
        py: Python<'_>,
        node: String,
        port: u16,
        from_ps: u64,
        until_ps: Option<u64>,
    ) -> PyResult<Response> {
        let key: PortKey = (node, port);
        let [series, ports] = [TableName::PortSeries, TableName::Ports].map(|name| self.get(py, name));
        let series = port_points(&series?.get().0).map_err(PyValueError::new_err)?;
        let rates = port_rates(&ports?.get().0).map_err(PyValueError::new_err)?;
        let rate = rates.get(&key).copied();
        let interval = Interval::new(Time::from_ps(from_ps), until_ps.map_or(Time::NEVER, Time::from_ps));
        series.get(&key).and_then(|samples| respond(samples, interval, rate)).ok_or_else(|| {
            PyKeyError::new_err(format!("no samples of port {port} of {} in this interval", key.0))
        })
    }
}

/// The table of this name.
fn known(name: &str) -> PyResult<TableName> {
    let known = TableName::ALL.into_iter().find(|table| table.as_str() == name);
    known.ok_or_else(|| PyKeyError::new_err(format!("no table is called {name:?}")))
}

/// Returns the sentence on copies that were counted and not written.
fn unwritten(info: &ResultInfo) -> Option<String> {
    Some(info.outcome.as_ref()?.reuse.as_ref()?.unwritten.as_ref()?.said.clone())
}

/// All tables, in the order of [`TableName::ALL`]; those that are missing at the end have no rows.
fn all(tables: Vec<lab::Table>) -> Box<[lab::Table; TABLES]> {
    let mut tables = tables.into_iter();
    Box::new(TableName::ALL.map(|name| tables.next().unwrap_or_else(|| lab::Table::empty(name))))
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
