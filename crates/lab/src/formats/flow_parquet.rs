//! A table of flows as Parquet, which data frames write.
//!
//! A cell becomes the text that CSV has for it, and is read like that: a table in either form has the same flows.

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Once;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;

use super::fields::{Field, Found};
use super::flow_table::{Column, FlowTable, header};
use crate::problem::{Problem, Problems};

/// First bytes of a file.
const MAGIC: &[u8] = b"PAR1";
/// Rows that are read at a time.
const BATCH: usize = 8192;

/// Whether a file is Parquet, or the beginning of one.
pub(super) fn is_parquet(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads a file; `file` is its name for messages.
pub(super) fn parse(bytes: Vec<u8>, file: &str) -> Result<FlowTable, Problems> {
    let contradicts = || Err(damaged("its parts contradict each other").in_file(file).into());
    without_panics(|| table(bytes, file)).unwrap_or_else(contradicts)
}

thread_local! {
    /// Whether this thread reads a file.
    static READS: Cell<bool> = const { Cell::new(false) };
    /// Whether a panic in it came from this crate.
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// Returns what `read` returns, and `None` where an assertion of the library fails, which a damaged file can cause. Such an
/// assertion is not printed: the problem of the file says it. All other panics, those of this crate included, are printed and
/// passed on.
fn without_panics<T>(read: impl FnOnce() -> T) -> Option<T> {
    static QUIET: Once = Once::new();
    // The library has no other way to report them, and a hook is for the whole process: this one asks which thread it is.
    QUIET.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let crate_files = file!().strip_suffix("formats/flow_parquet.rs").unwrap_or_default();
            let is_own = panic.location().is_some_and(|place| place.file().starts_with(crate_files));
            IS_OWN.set(is_own);
            if is_own || !READS.get() {
                usual(panic);
            }
        }));
    });
    READS.set(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    READS.set(false);
    match read {
        Ok(read) => Some(read),
        Err(panic) if IS_OWN.get() => resume_unwind(panic),
        Err(_) => None,
    }
}

fn table(bytes: Vec<u8>, file: &str) -> Result<FlowTable, Problems> {
    let mut found = Found::of_rows(file);
    let Some((columns, others, reader)) = found.check(open(bytes)) else {
        return found.into_result(FlowTable::empty(Vec::new(), true));
    };
    let mut table = FlowTable::empty(others, true);
    if let Err(problem) = rows(&mut table, &columns, reader, &mut found) {
        found.add(problem);
    }
    if table.flows().is_empty() && found.is_empty() {
        found.add(Problem::new("there is no flow in this file"));
    }
    found.into_result(table)
}

/// A problem of a file that the library cannot read.
fn damaged(error: impl core::fmt::Display) -> Problem {
    Problem::new(format!("cannot be read as Parquet: {error}")).with_hint("is the file truncated or damaged?")
}

/// A column of a file that is read.
struct Wanted {
    column: Column,
    name: &'static str,
    title: String,
}

type Opened = ([Wanted; 4], Vec<String>, ParquetRecordBatchReader);

fn open(bytes: Vec<u8>) -> Result<Opened, Problem> {
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).map_err(damaged)?.with_batch_size(BATCH);
    let fields = builder.schema().fields().clone();
    let titles: Vec<Field<'_>> =
        fields.iter().map(|field| Field { text: field.name(), line: 0, column: 0 }).collect();
    let (columns, others) = header(&titles).map_err(|problem| {
        let hint = "columns are called source, destination, size [B] and start [us], with the units of numbers; a \
                    column of texts may have them in its cells, like 30KB";
        Problem { line: None, column: None, ..problem }.with_hint(hint)
    })?;
    let names = ["source", "destination", "size", "start"];
    let mut wanted = Vec::new();
    for (name, mut column) in names.into_iter().zip(columns) {
        let field = &fields[column.place];
        let title = field.name().clone();
        let wrong = |message: String| Problem::new(format!("column {title:?}: {message}")).about(name);
        let unit = type_unit(name, field.data_type()).map_err(wrong)?;
        match (&column.unit, unit) {
            (Some(own), Some(unit)) => {
                return Err(wrong(format!("its name gives the unit {own}, and its type {unit}")));
            }
            (None, Some(unit)) => column.unit = Some(unit.to_owned()),
            (_, None) => {}
        }
        // A column of nested values would have leaves of its own.
        for group in builder.metadata().row_groups() {
            let chunk = group.columns().iter().find(|chunk| chunk.column_path().parts() == [title.as_str()]);
            match chunk.map(ColumnChunkMetaData::compression) {
                Some(Compression::UNCOMPRESSED | Compression::SNAPPY) | None => {}
                Some(other) => {
                    return Err(wrong(format!("compressed with {other}, which is not read"))
                        .with_hint("write the file with compression=\"snappy\" or without"));
                }
            }
        }
        wanted.push(Wanted { column, name, title: title.clone() });
    }
    let mask =
        ProjectionMask::roots(builder.parquet_schema(), wanted.iter().map(|wanted| wanted.column.place));
    // The columns that are read have the order of the file.
    let mut order: Vec<usize> = wanted.iter().map(|wanted| wanted.column.place).collect();
    order.sort_unstable();
    for wanted in &mut wanted {
        wanted.column.place = order.iter().position(|place| *place == wanted.column.place).unwrap_or(0);
    }
    let reader = builder.with_projection(mask).build().map_err(damaged)?;
    let wanted = wanted.try_into().map_err(|_| damaged("columns are missing"))?;
    Ok((wanted, others, reader))
}

/// The unit that the type of a column gives its numbers, if any.
fn type_unit(name: &str, data: &DataType) -> Result<Option<&'static str>, String> {
    let is_end = matches!(name, "source" | "destination");
    match data {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(None),
        DataType::Dictionary(_, values) => type_unit(name, values),
        data if data.is_integer() => Ok(None),
        DataType::Float32 | DataType::Float64 if !is_end => Ok(None),
        DataType::Duration(unit) if name == "start" => Ok(Some(match unit {
            TimeUnit::Second => "s",
            TimeUnit::Millisecond => "ms",
            TimeUnit::Microsecond => "us",
            TimeUnit::Nanosecond => "ns",
        })),
        other if is_end => Err(format!("its type is {other}; expected texts or whole numbers")),
        other => Err(format!("its type is {other}; expected numbers or texts, or durations for the start")),
    }
}

/// Reads the flows.
fn rows(
    table: &mut FlowTable,
    wanted: &[Wanted; 4],
    reader: ParquetRecordBatchReader,
    found: &mut Found<'_>,
) -> Result<(), Problem> {
    let mut known = HashMap::new();
    let columns = wanted.each_ref().map(|wanted| wanted.column.clone());
    let mut row = 0;
    for batch in reader {
        let batch = batch.map_err(damaged)?;
        let mut texts = Vec::new();
        for array in batch.columns() {
            texts.push(cells(array)?);
        }
        for i in 0..batch.num_rows() {
            if found.is_full() {
                return Ok(());
            }
            row += 1;
            let empty = wanted
                .iter()
                .find(|wanted| texts.get(wanted.column.place).is_none_or(|column| column[i].is_none()));
            if let Some(Wanted { name, title, .. }) = empty {
                let message = format!("column {title:?}: the cell is empty");
                found.add(Problem::new(message).about(*name).on_line(row));
                continue;
            }
            let cell =
                |(column, texts): (u32, &Vec<Option<String>>)| (texts[i].clone().unwrap_or_default(), column);
            let cells: Vec<(String, u32)> = (1_u32..).zip(&texts).map(cell).collect();
            let fields: Vec<Field<'_>> =
                cells.iter().map(|(text, column)| Field { text, line: row, column: *column }).collect();
            if !table.add(&fields, &columns, &mut known, found) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The cells of a column as CSV has them; `None` if a cell is empty.
fn cells(array: &ArrayRef) -> Result<Vec<Option<String>>, Problem> {
    macro_rules! numbers {
        ($kind:ty) => {
            array.as_primitive::<$kind>().iter().map(|value| value.map(|value| value.to_string())).collect()
        };
    }
    let owned = |text: Option<&str>| text.map(str::to_owned);
    Ok(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().map(owned).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(owned).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(owned).collect(),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let values = cells(dictionary.values())?;
            let keys = cells(&array_of(dictionary.keys()))?;
            let value = |key: Option<String>| values.get(key?.parse::<usize>().ok()?).cloned().flatten();
            keys.into_iter().map(value).collect()
        }
        DataType::Int8 => numbers!(Int8Type),
        DataType::Int16 => numbers!(Int16Type),
        DataType::Int32 => numbers!(Int32Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::UInt8 => numbers!(UInt8Type),
        DataType::UInt16 => numbers!(UInt16Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::UInt64 => numbers!(UInt64Type),
        DataType::Float32 => numbers!(Float32Type),
        DataType::Float64 => numbers!(Float64Type),
        DataType::Duration(TimeUnit::Second) => numbers!(DurationSecondType),
        DataType::Duration(TimeUnit::Millisecond) => numbers!(DurationMillisecondType),
        DataType::Duration(TimeUnit::Microsecond) => numbers!(DurationMicrosecondType),
        DataType::Duration(TimeUnit::Nanosecond) => numbers!(DurationNanosecondType),
        other => return Err(damaged(format!("a column of {other}"))),
    })
}

/// Shares an array.
fn array_of(array: &dyn Array) -> ArrayRef {
    array.slice(0, array.len())
}
