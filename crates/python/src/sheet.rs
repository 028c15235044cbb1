//! Small tables that Python puts together, written as Parquet.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error;

/// A column: its name, its type (`text`, `integer`, `unsigned`, `number` or `flag`), its values with
/// `None` where one is missing.
type Column<'py> = (String, String, Bound<'py, PyAny>);

/// Writes columns of equal length as a Parquet file, which appears under its name only once it is whole.
#[pyfunction]
pub(crate) fn write_parquet(path: PathBuf, columns: Vec<Column<'_>>) -> PyResult<()> {
    let arrays: Vec<(String, ArrayRef)> = columns
        .into_iter()
        .map(|(name, kind, values)| array(&kind, &values).map(|array| (name, array)))
        .collect::<PyResult<_>>()?;
    // Every column may have gaps, so that a table has the same schema with and without them.
    let batch = RecordBatch::try_from_iter_with_nullable(arrays.into_iter().map(|(name, a)| (name, a, true)));
    let batch = batch.map_err(|e| PyValueError::new_err(e.to_string()))?;
    incast_lab::results::write_sheet(&path, &batch).map_err(error::result)
}

fn array(kind: &str, values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    Ok(match kind {
        "text" => Arc::new(StringArray::from(each::<String>(values)?)),
        "integer" => Arc::new(Int64Array::from(each::<i64>(values)?)),
        "unsigned" => Arc::new(UInt64Array::from(each::<u64>(values)?)),
        "number" => Arc::new(Float64Array::from(each::<f64>(values)?)),
        "flag" => Arc::new(BooleanArray::from(each::<bool>(values)?)),
        _ => return Err(PyValueError::new_err(format!("no column has the type {kind:?}"))),
    })
}

/// Reads the values one after the other: a column may make each when it is asked for.
fn each<'py, T: for<'a> FromPyObject<'a, 'py>>(values: &Bound<'py, PyAny>) -> PyResult<Vec<Option<T>>> {
    values.try_iter()?.map(|v| v?.extract::<Option<T>>().map_err(Into::into)).collect()
}
