//! The Python face of Incast: conversions between Python and the lab, and nothing else.

mod algorithms;

use pyo3::prelude::*;

/// The compiled core of the Python package `incast`.
#[pymodule]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use crate::algorithms::{Algorithm, Parameter, algorithm, algorithms};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
