//! Files of other programs.

use std::path::{Path, PathBuf};

use incast_lab::files;
use incast_lab::formats::convert::{self, Named};
use incast_lab::formats::hpcc_flows::HpccFlows;
use incast_lab::formats::hpcc_topology::HpccTopology;
use incast_lab::formats::{describe, export};
use incast_lab::results::ResultFolder;
use incast_lab::{Problem, Problems};
use pyo3::prelude::*;

use crate::error::{self, ResultError};

/// Format, rows of names and texts, notes on what is dropped.
type Description = (String, Vec<(String, String)>, Vec<String>);

/// Checks a file of another program and says what it comes to.
#[pyfunction]
pub(crate) fn describe_file(py: Python<'_>, path: PathBuf) -> PyResult<Description> {
    let found = py.detach(|| describe::describe(&path)).map_err(error::problems)?;
    Ok((found.format, found.rows, found.notes))
}

fn read(path: &Path) -> Result<String, Problems> {
    let file = path.display().to_string();
    let bytes = files::read(path, files::MAX_LIST)
        .map_err(|error| Problem::new(format!("cannot be read: {error}")).in_file(&file))?;
    String::from_utf8(bytes)
        .map_err(|_| Problem::new("this is not a text file (not UTF-8)").in_file(file).into())
}

/// The text of a scenario that names a `topology.txt` and a `flow.txt`, each a path and the name that
/// the scenario gives it, and notes on what is dropped.
#[pyfunction]
pub(crate) fn scenario_of_files(
    py: Python<'_>,
    topology: (PathBuf, String),
    flows: (PathBuf, String),
    cc: String,
) -> PyResult<(String, Vec<String>)> {
    py.detach(|| {
        let network = HpccTopology::parse(&read(&topology.0)?, &topology.0.display().to_string())?;
        let list = HpccFlows::parse(&read(&flows.0)?, &flows.0.display().to_string())?;
        let text = convert::scenario(
            Named { path: &topology.1, content: &network },
            Named { path: &flows.1, content: &list },
            &cc,
        );
        Ok((text, [network.notes(), list.notes()].concat()))
    })
    .map_err(error::problems)
}

fn problem(problem: Problem) -> PyErr {
    ResultError::new_err(problem.to_string())
}

/// Writes the finished flows of a saved result as an `fct.txt`. Returns how many there are, and how
/// many flows have no place there.
#[pyfunction]
pub(crate) fn write_fct(
    py: Python<'_>,
    folder: PathBuf,
    path: PathBuf,
    replace: bool,
) -> PyResult<(usize, usize)> {
    let result = ResultFolder::open(folder).map_err(error::result)?;
    let written = py.detach(|| export::fct(&result, &path, replace)).map_err(problem)?;
    Ok((written.flows, written.left_out))
}

/// Writes a saved result as a Perfetto trace. Returns how many flows, pauses and samples of ports it
/// holds.
#[pyfunction]
pub(crate) fn write_trace(
    py: Python<'_>,
    folder: PathBuf,
    path: PathBuf,
    replace: bool,
) -> PyResult<(usize, usize, usize)> {
    let result = ResultFolder::open(folder).map_err(error::result)?;
    let written = py.detach(|| export::trace(&result, &path, replace)).map_err(problem)?;
    Ok((written.flows, written.pauses, written.samples))
}
