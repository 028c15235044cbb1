//! Files of other programs.

use std::path::PathBuf;

use incast_lab::formats::export::{Format, to_file};
use incast_lab::formats::{FORMATS, convert, describe};
use incast_lab::results::ResultFolder;
use incast_lab::{Problem, files};
use incast_units::Time;
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

/// The text of a scenario's file, without a byte order mark.
#[pyfunction]
pub(crate) fn read_text(path: PathBuf) -> PyResult<String> {
    files::read_text(&path, files::MAX_TEXT).map_err(|problem| error::problems(problem.into()))
}

/// The text of a scenario that names files of other programs, each a path and the name that the scenario gives it,
/// and notes on what is dropped.
#[pyfunction]
pub(crate) fn scenario_of_files(
    py: Python<'_>,
    files: Vec<(PathBuf, String)>,
    cc: String,
    start_unit: Option<String>,
) -> PyResult<(String, Vec<String>)> {
    let unit = |text: String| {
        // `ps` is one of them.
        let counted =
            if text.starts_with(|c: char| c.is_ascii_digit()) { text.clone() } else { format!("1{text}") };
        let unit = counted.parse().ok().filter(|&unit| unit > Time::ZERO);
        unit.ok_or_else(|| {
            Problem::new(format!("--start-unit {text}: expected a unit of time, like ps, 1ns or us"))
        })
    };
    py.detach(|| {
        let start_unit = start_unit.map(unit).transpose()?;
        let (topology, work) = convert::read_all(&files)?;
        let text = convert::scenario(topology.as_ref(), &work, convert::Choices { cc: &cc, start_unit })?;
        let notes = topology.map(|topology| topology.content.notes()).unwrap_or_default();
        Ok((text, [notes, work.content.notes()].concat()))
    })
    .map_err(error::problems)
}

/// A format of other programs in which a result can be written.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct ExportFormat {
    /// Extensions of its files, with their points.
    extensions: Vec<&'static str>,
    /// Name of a file.
    example: &'static str,
    /// Content of a file in a few words.
    summary: &'static str,
}

/// The formats in which a result can be written.
#[pyfunction]
pub(crate) fn export_formats() -> Vec<ExportFormat> {
    let format = |format: &Format| ExportFormat {
        extensions: format.extensions.to_vec(),
        example: format.example,
        summary: format.summary,
    };
    FORMATS.iter().map(format).collect()
}

/// Writes a saved result as a file of another program; the extension of `path` names the format. Returns what the
/// file holds, each as `2 flows`, and remarks on what it does not have.
#[pyfunction]
pub(crate) fn export(
    py: Python<'_>,
    folder: PathBuf,
    path: PathBuf,
    replace: bool,
) -> PyResult<(Vec<String>, Vec<String>)> {
    let result = ResultFolder::open(folder).map_err(error::result)?;
    let written = py.detach(|| to_file(FORMATS, &result, &path, replace));
    let written = written.map_err(|problem| ResultError::new_err(problem.to_string()))?;
    Ok((written.counts.iter().map(ToString::to_string).collect(), written.notes))
}
