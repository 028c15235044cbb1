//! Quantities with their units as texts.

use incast_units::{Bytes, Quantity, Rate, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

fn quantity(kind: &str) -> PyResult<Quantity> {
    match kind {
        "time" => Ok(Quantity::Time),
        "bytes" => Ok(Quantity::Bytes),
        "rate" => Ok(Quantity::Rate),
        other => Err(PyValueError::new_err(format!("{other:?} is not one of: time, bytes, rate"))),
    }
}

/// Reads a text like `12us` (`time`: ps), `32MB` (`bytes`) or `100Gbps` (`rate`: bit/s).
#[pyfunction]
pub(crate) fn read_quantity(kind: &str, text: &str) -> PyResult<u64> {
    let read = quantity(kind)?.read(text);
    read.map_err(|error| PyValueError::new_err(format!("{text:?}: {error}")))
}

/// Returns the shortest text that reads back as this number of ps (`time`), bytes (`bytes`) or bit/s
/// (`rate`).
#[pyfunction]
pub(crate) fn write_quantity(kind: &str, value: u64) -> PyResult<String> {
    Ok(match quantity(kind)? {
        Quantity::Time => Time::from_ps(value).to_string(),
        Quantity::Bytes => Bytes::new(value).to_string(),
        Quantity::Rate => Rate::from_bps(value).to_string(),
    })
}
