//! Files of other programs.

use std::path::PathBuf;

use incast_lab::Problem;
use incast_lab::formats::{convert, describe, export};
use incast_lab::results::ResultFolder;
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

/// The text of a scenario that names files of other programs, each a path and the name that the scenario gives it,
/// and notes on what is dropped.
#[pyfunction]
pub(crate) fn scenario_of_files(
    py: Python<'_>,
    files: Vec<(PathBuf, String)>,
    cc: String,
) -> PyResult<(String, Vec<String>)> {
    py.detach(|| {
        let (topology, work) = convert::read_all(&files)?;
        let text = convert::scenario(topology.as_ref(), &work, &cc)?;
        let notes = topology.map(|topology| topology.content.notes()).unwrap_or_default();
        Ok((text, [notes, work.content.notes()].concat()))
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
