//! Errors of the lab as exceptions of the package.

use incast_lab::results::ResultError as LabResultError;
use incast_lab::run::RunError;
use incast_lab::{Problem, Problems};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

pyo3::create_exception!(
    incast,
    ScenarioError,
    PyValueError,
    "A scenario is wrong. Its text names every problem, and `problems` has them one by one."
);

pyo3::create_exception!(
    incast,
    ResultError,
    PyOSError,
    "A result cannot be written or read. Its text says where, why, and what helps."
);

pyo3::create_exception!(
    incast,
    PluginError,
    PyRuntimeError,
    "A plugin in a shared library did what it must not during a run. Its text names the plugin, its file, the \
     function and the simulated time."
);

pyo3::create_exception!(
    incast,
    WireError,
    PyOSError,
    "A file cannot be sent or received over the network. Its text says why, and what helps."
);

/// One thing that is wrong with something that a person wrote.
#[pyclass(frozen, get_all, eq, hash, from_py_object, module = "incast.errors", name = "Problem")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct PyProblem {
    /// The file as the user named it, or `--set key=value` for an override.
    file: Option<String>,
    /// Line in the file, from 1.
    line: Option<u32>,
    /// Column in the line in characters, from 1.
    column: Option<u32>,
    /// The key that is meant, with dots: `topology.rate`.
    key: Option<String>,
    /// The problem in words.
    problem: String,
    /// Advice on what would be right, where that is more than a few words.
    hint: Option<String>,
}

/// The arguments that reconstruct a problem.
type Fields = (String, Option<String>, Option<u32>, Option<u32>, Option<String>, Option<String>);

#[pymethods]
impl PyProblem {
    #[new]
    #[pyo3(signature = (problem, file=None, line=None, column=None, key=None, hint=None))]
    fn new(
        problem: String,
        file: Option<String>,
        line: Option<u32>,
        column: Option<u32>,
        key: Option<String>,
        hint: Option<String>,
    ) -> Self {
        Self { file, line, column, key, problem, hint }
    }

    fn __getnewargs__(&self) -> Fields {
        let Self { file, line, column, key, problem, hint } = self.clone();
        (problem, file, line, column, key, hint)
    }

    fn __str__(&self) -> String {
        Problem::from(self.clone()).to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Problem: {}>", self.__str__())
    }
}

impl From<Problem> for PyProblem {
    fn from(problem: Problem) -> Self {
        let Problem { file, line, column, key, problem, hint } = problem;
        Self { file, line, column, key, problem, hint }
    }
}

impl From<PyProblem> for Problem {
    fn from(problem: PyProblem) -> Self {
        let PyProblem { file, line, column, key, problem, hint } = problem;
        Self { file, line, column, key, problem, hint }
    }
}

/// The exception that says all of these.
#[pyfunction]
pub(crate) fn scenario_error(py: Python<'_>, problems: Vec<PyProblem>) -> PyResult<Py<PyAny>> {
    let error = self::problems(Problems(problems.into_iter().map(Problem::from).collect()));
    Ok(error.into_value(py).into_any())
}

pub(crate) fn problems(problems: Problems) -> PyErr {
    Python::attach(|py| {
        let error = ScenarioError::new_err(problems.to_string());
        let records = PyTuple::new(py, problems.0.into_iter().map(PyProblem::from));
        // The attribute is in the exception's own dictionary, and so goes along when it is pickled.
        match records.and_then(|records| error.value(py).setattr("problems", records)) {
            Ok(()) => error,
            Err(other) => other,
        }
    })
}

/// Adds the attributes to the classes, for exceptions that are constructed from a message alone.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    py.get_type::<ScenarioError>().setattr("problems", PyTuple::empty(py))?;
    py.get_type::<ResultError>().setattr("is_taken", false)
}

pub(crate) fn result(error: LabResultError) -> PyErr {
    let made = ResultError::new_err(error.to_string());
    if !matches!(error, LabResultError::Running(_) | LabResultError::Exists(_)) {
        return made;
    }
    Python::attach(|py| made.value(py).setattr("is_taken", true).err()).unwrap_or(made)
}

/// Converts the error of a run to the exception for Python.
pub(crate) fn run(error: RunError) -> PyErr {
    match error {
        RunError::Result(error) => result(error),
        other => problems(Problem::new(other.to_string()).into()),
    }
}
