//! Errors of the lab as exceptions of the package.

use incast_lab::results::ResultError as LabResultError;
use incast_lab::run::RunError;
use incast_lab::{Problem, Problems};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    incast,
    ScenarioError,
    PyValueError,
    "A scenario is wrong. Its text names every problem: file, line, key, and what would be right."
);

pyo3::create_exception!(
    incast,
    ResultError,
    PyOSError,
    "A result cannot be written or read. Its text says where, why, and what helps."
);

pub(crate) fn problems(problems: Problems) -> PyErr {
    ScenarioError::new_err(problems.to_string())
}

pub(crate) fn result(error: LabResultError) -> PyErr {
    ResultError::new_err(error.to_string())
}

pub(crate) fn run(error: RunError) -> PyErr {
    match error {
        RunError::Result(error) => result(error),
        other => problems(Problem::new(other.to_string()).into()),
    }
}
