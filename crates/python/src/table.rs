//! Tables for Python: complete through the Arrow PyCapsule interface, or a column at a time as a NumPy
//! array.

use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt16Type, UInt32Type};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatchIterator};
use arrow_schema::{ArrowError, DataType, Field};
use incast_lab::grammar;
use incast_lab::results::TableName;
use incast_lab::results::tables::Column;
use pyo3::exceptions::{PyImportError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyIterator, PyList, PyString};

/// A table of results, as it is declared.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct TableInfo {
    /// Its name.
    name: &'static str,
    /// Its rows.
    meaning: String,
    /// Whether only some results have it.
    optional: bool,
    /// Its columns, in order.
    columns: Vec<ColumnInfo>,
}

/// A column of a table, as it is declared.
#[pyclass(frozen, get_all, from_py_object, module = "incast")]
#[derive(Clone)]
pub(crate) struct ColumnInfo {
    /// Its name.
    name: &'static str,
    /// The type of its values.
    kind: String,
    /// Their unit; empty: none.
    unit: &'static str,
    /// Whether values can be missing.
    nullable: bool,
    /// Its meaning.
    meaning: String,
}

/// Returns the tables that a result can have.
#[pyfunction]
pub(crate) fn tables() -> Vec<TableInfo> {
    let column = |column: &Column| ColumnInfo {
        name: column.name,
        kind: column.kind.to_string(),
        unit: column.unit,
        nullable: column.nullable,
        meaning: column.meaning.clone(),
    };
    let table = |table: TableName| TableInfo {
        name: table.as_str(),
        meaning: table.meaning(),
        optional: table.is_optional(),
        columns: table.columns().iter().map(column).collect(),
    };
    TableName::ALL.map(table).into()
}

/// A table of a result. Its items are columns, by their names; it is a sequence of rows, as structured arrays are in NumPy.
/// So `dict(table)` has all columns, and pandas makes a data frame of the rows.
#[pyclass(frozen, mapping, module = "incast")]
pub(crate) struct Table(pub(crate) incast_lab::results::Table);

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.0.rows()
    }

    fn __repr__(&self) -> String {
        let names: Vec<_> = self.0.schema.fields().iter().map(|f| f.name().as_str()).collect();
        format!("<Table of {} rows: {}>", self.0.rows(), names.join(", "))
    }

    /// The names of its columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.0.schema.fields().iter().map(|f| f.name().as_str()).collect()
    }

    /// Returns the names of its columns, as mappings do.
    fn keys(&self) -> Vec<&str> {
        self.columns()
    }

    /// Returns whether there is a column of a name.
    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<String>().is_ok_and(|name| self.0.schema.column_with_name(&name).is_some())
    }

    /// Goes through the rows, each a dictionary by the names of the columns.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Rows> {
        let columns = self.columns().into_iter().map(|name| {
            let values = self.to_list(py, name)?.try_iter()?;
            Ok((PyString::new(py, name).unbind(), values.unbind()))
        });
        Ok(Rows(columns.collect::<PyResult<_>>()?))
    }

    /// Returns the column of a name.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let name = name.extract::<String>().map_err(|_| {
            PyTypeError::new_err("a table is indexed by the name of a column, like table[\"fct_ps\"]")
        })?;
        self.column(py, &name)
    }

    /// Returns all columns as a data frame of pandas.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pandas = library(py, "pandas", "to_pandas")?;
        let columns = PyDict::new(py);
        for name in self.columns() {
            columns.set_item(name, self.column(py, name)?)?;
        }
        pandas.call_method1("DataFrame", (columns,))
    }

    /// Returns the table as a data frame of polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "polars", "to_polars")?.call_method1("DataFrame", (slf,))
    }

    /// Returns one column as a read-only array.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let (field, parts) = self.parts(name)?;
        match field.data_type() {
            DataType::UInt16 => primitive::<UInt16Type>(py, &parts, "u2", f64::from),
            DataType::UInt32 => primitive::<UInt32Type>(py, &parts, "u4", f64::from),
            DataType::Int64 => primitive::<Int64Type>(py, &parts, "i8", |v| v as f64),
            DataType::Float64 => primitive::<Float64Type>(py, &parts, "f8", f64::from),
            DataType::Boolean => {
                let flags = parts.iter().flat_map(|a| a.as_boolean().values().iter().map(u8::from));
                array(py, &flags.collect::<Vec<_>>(), "?")
            }
            DataType::Utf8 => {
                let texts: Vec<_> = parts.iter().flat_map(|a| a.as_string::<i32>().iter()).collect();
                py.import("numpy")?.call_method1("array", (texts, "O"))
            }
            other => Err(no_array(name, other)),
        }
    }

    /// Returns one column as a list: what `column(name).tolist()` gives, without NumPy.
    fn to_list<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let (field, parts) = self.parts(name)?;
        match field.data_type() {
            DataType::UInt16 => numbers::<UInt16Type>(py, &parts, f64::from),
            DataType::UInt32 => numbers::<UInt32Type>(py, &parts, f64::from),
            DataType::Int64 => numbers::<Int64Type>(py, &parts, |v| v as f64),
            DataType::Float64 => numbers::<Float64Type>(py, &parts, f64::from),
            DataType::Boolean => {
                let flags = parts.iter().flat_map(|a| a.as_boolean().values().iter());
                PyList::new(py, flags.collect::<Vec<_>>())
            }
            DataType::Utf8 => {
                let texts = parts.iter().flat_map(|a| a.as_string::<i32>().iter());
                PyList::new(py, texts.collect::<Vec<_>>())
            }
            other => Err(no_array(name, other)),
        }
    }

    /// The schema, as the Arrow PyCapsule interface hands it over.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema.as_ref()).map_err(arrow)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows, as the Arrow PyCapsule interface hands them over: without a copy. The interface lets
    /// a producer ignore the schema that is asked for, and this one does.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches: Vec<_> = self.0.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, self.0.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }
}

impl Table {
    /// Returns the declaration of a column, and its parts.
    fn parts(&self, name: &str) -> PyResult<(&Field, Vec<&dyn Array>)> {
        let (index, field) =
            self.0.schema.column_with_name(name).ok_or_else(|| unknown(name, &self.columns()))?;
        Ok((field, self.0.batches.iter().map(|b| b.column(index).as_ref()).collect()))
    }
}

/// Returns the error for a column of a type that no table of Incast has.
fn no_array(name: &str, kind: &DataType) -> PyErr {
    PyTypeError::new_err(format!("column {name:?} has type {kind}, which has no array"))
}

/// The rows of a table that are left: a name and the values of each column.
#[pyclass(frozen, module = "incast")]
struct Rows(Vec<(Py<PyString>, Py<PyIterator>)>);

#[pymethods]
impl Rows {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let row = PyDict::new(py);
        for (name, values) in &self.0 {
            let Some(value) = values.bind(py).clone().next() else { return Ok(None) };
            row.set_item(name, value?)?;
        }
        Ok(Some(row))
    }
}

/// Returns the error for a column that is not there, with the nearest name.
fn unknown(name: &str, known: &[&str]) -> PyErr {
    let near = grammar::nearest(name, known.iter().copied());
    let hint = near.map(|near| format!("did you mean {near:?}? ")).unwrap_or_default();
    PyKeyError::new_err(format!("no column {name:?}; {hint}there are {}", known.join(", ")))
}

/// Returns a module that `method` needs, or an error that says how to install it.
fn library<'py>(py: Python<'py>, name: &str, method: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| {
        let missing = PyImportError::new_err(format!("{method} needs {name}: pip install {name}"));
        missing.set_cause(py, Some(error));
        missing
    })
}

/// Numbers as they are; with values missing, as floating point with NaN in their place.
fn primitive<'py, T: ArrowPrimitiveType>(
    py: Python<'py>,
    parts: &[&dyn Array],
    dtype: &str,
    nearest: fn(T::Native) -> f64,
) -> PyResult<Bound<'py, PyAny>> {
    if parts.iter().all(|a| a.null_count() == 0) {
        let bytes: Vec<u8> = parts
            .iter()
            .flat_map(|a| a.as_primitive::<T>().values().inner().as_slice().iter().copied())
            .collect();
        return array(py, &bytes, dtype);
    }
    let values = parts.iter().flat_map(|a| a.as_primitive::<T>().iter());
    let bytes: Vec<u8> = values.flat_map(|v| v.map_or(f64::NAN, nearest).to_ne_bytes()).collect();
    array(py, &bytes, "f8")
}

/// A list of numbers as they are; with values missing, as floating point with NaN in their place.
fn numbers<'py, T: ArrowPrimitiveType>(
    py: Python<'py>,
    parts: &[&dyn Array],
    nearest: fn(T::Native) -> f64,
) -> PyResult<Bound<'py, PyList>>
where
    T::Native: IntoPyObject<'py>,
{
    let values = parts.iter().flat_map(|a| a.as_primitive::<T>().iter());
    if parts.iter().all(|a| a.null_count() == 0) {
        return PyList::new(py, values.flatten().collect::<Vec<_>>());
    }
    PyList::new(py, values.map(|v| v.map_or(f64::NAN, nearest)).collect::<Vec<_>>())
}

/// A NumPy array over a copy of `bytes`.
fn array<'py>(py: Python<'py>, bytes: &[u8], dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("numpy")?.call_method1("frombuffer", (PyBytes::new(py, bytes), dtype))
}

fn arrow(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
