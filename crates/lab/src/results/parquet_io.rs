//! Batches to and from Parquet files.
//!
//! Snappy is the one compression that every reader of Parquet has, also those in a browser. Page
//! indexes are left out: row groups are small enough to be the unit of skipping.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::{ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves};
use parquet::arrow::{ArrowWriter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::{Compression, Encoding};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::ChunkReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use super::ResultError;

/// Maximum number of rows of a row group.
pub(crate) const GROUP_ROWS: usize = 64 << 10;

/// The origin recorded in every file: `incast.scenario_digest`, `incast.seed`, …
pub(super) type Origin = Vec<(&'static str, String)>;

/// Schemas whose encoding is kept at most. The tables of results have some, which stay the same; others come and go.
const MOST_SCHEMAS: usize = 64;

/// Returns an Arrow schema as a Parquet file keeps it. It is encoded once: that takes as long as the rows of a short run.
fn encoded(schema: &SchemaRef) -> Option<KeyValue> {
    static ENCODED: Mutex<Vec<(SchemaRef, Option<KeyValue>)>> = Mutex::new(Vec::new());
    let mut known = ENCODED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, pair)) = known.iter().find(|(one, _)| Arc::ptr_eq(one, schema)) {
        return pair.clone();
    }
    let mut properties = WriterProperties::new();
    add_encoded_arrow_schema_to_metadata(schema, &mut properties);
    let pair = properties.key_value_metadata().and_then(|pairs| pairs.first().cloned());
    if known.len() < MOST_SCHEMAS {
        known.push((schema.clone(), pair.clone()));
    }
    pair
}

/// Begins a Parquet file.
fn writer<W: Write + Send>(
    out: W,
    schema: SchemaRef,
    origin: &Origin,
) -> Result<ArrowWriter<W>, ParquetError> {
    let properties = properties(&schema, origin);
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    ArrowWriter::try_new_with_options(out, schema, options)
}

fn properties(schema: &SchemaRef, origin: &Origin) -> WriterProperties {
    let pairs = origin.iter().map(|(key, value)| KeyValue::new(format!("incast.{key}"), value.clone()));
    let pairs = pairs.chain(encoded(schema));
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("Incast ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_key_value_metadata(Some(pairs.collect()));
    // Numbers hardly ever repeat, so a dictionary of them only costs. Integers (times, counters,
    // queues) change little from row to row: differences take well under half the space.
    for field in schema.fields() {
        let column = ColumnPath::from(field.name().as_str());
        if matches!(field.data_type(), DataType::Int64 | DataType::UInt32 | DataType::Float64) {
            properties = properties.set_column_dictionary_enabled(column.clone(), false);
        }
        if matches!(field.data_type(), DataType::Int64 | DataType::UInt32) {
            properties = properties.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}

/// Writes a whole Parquet file.
pub(super) fn write(
    out: impl Write + Send,
    schema: SchemaRef,
    batches: &[RecordBatch],
    origin: &Origin,
) -> io::Result<()> {
    write_each(out, schema, batches.iter().cloned().map(Ok), origin)?
}

/// Writes a whole Parquet file from batches of which one is in memory at a time.
///
/// # Errors
/// With `Ok(Err(…))` when there is no next batch for this reason, with `Err(…)` when `out` cannot be written.
pub(super) fn write_each<E>(
    out: impl Write + Send,
    schema: SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, E>>,
    origin: &Origin,
) -> io::Result<Result<(), E>> {
    let mut writer = writer(out, schema, origin).map_err(io_error)?;
    for batch in batches {
        match batch {
            Ok(batch) => writer.write(&batch).map_err(io_error)?,
            Err(error) => return Ok(Err(error)),
        }
    }
    writer.close().map_err(io_error)?;
    Ok(Ok(()))
}

/// Some rows of a table.
#[derive(Debug)]
pub(super) enum Part {
    /// They are in this file.
    File(PathBuf),
    /// They are in memory.
    Rows(RecordBatch),
}

/// Whether a part with this number of rows keeps its row group when parts are merged.
pub(super) const fn is_copied(rows: usize) -> bool {
    rows >= GROUP_ROWS / 2
}

/// Merges the parts of one table, in order, into one file. Row groups are copied as they are, except that small
/// neighbours are rewritten as one, so that a slow run's many small parts do not make a slow file.
///
/// # Errors
/// With `Ok(Err(…))` when a part cannot be read, with `Err(…)` when `out` cannot be written.
pub(super) fn merge(
    out: impl Write + Send,
    schema: SchemaRef,
    parts: &[Part],
    origin: &Origin,
) -> io::Result<Result<(), ResultError>> {
    let writer = writer(out, schema, origin);
    let (writer, factory) = writer.and_then(ArrowWriter::into_serialized_writer).map_err(io_error)?;
    let mut merged = Merged { writer, factory, groups: 0, small: Vec::new(), small_rows: 0 };
    for part in parts {
        let path = match part {
            Part::File(path) => path,
            // It would be a row group without rows.
            Part::Rows(rows) if rows.num_rows() == 0 => continue,
            Part::Rows(rows) => {
                merged.add_small(rows.num_rows(), vec![rows.clone()]).map_err(io_error)?;
                continue;
            }
        };
        let (file, metadata) = match open(path) {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        let rows = usize::try_from(metadata.file_metadata().num_rows()).unwrap_or(usize::MAX);
        if is_copied(rows) {
            merged.write_small().and_then(|()| merged.copy(&file, &metadata)).map_err(io_error)?;
            continue;
        }
        match read_file(file, path) {
            Ok((_, batches)) => merged.add_small(rows, batches).map_err(io_error)?,
            Err(error) => return Ok(Err(error)),
        }
    }
    merged.write_small().and_then(|()| merged.writer.close()).map_err(io_error)?;
    Ok(Ok(()))
}

/// A merged file under construction.
struct Merged<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    factory: ArrowRowGroupWriterFactory,
    groups: usize,
    /// Rows of small parts that will make one row group together.
    small: Vec<RecordBatch>,
    small_rows: usize,
}

impl<W: Write + Send> Merged<W> {
    /// Adds a small part.
    fn add_small(&mut self, rows: usize, batches: Vec<RecordBatch>) -> Result<(), ParquetError> {
        if self.small_rows + rows > GROUP_ROWS {
            self.write_small()?;
        }
        self.small.extend(batches);
        self.small_rows += rows;
        Ok(())
    }

    /// Writes the small parts that came so far as one row group.
    fn write_small(&mut self) -> Result<(), ParquetError> {
        self.small_rows = 0;
        let batches = core::mem::take(&mut self.small);
        if batches.is_empty() {
            return Ok(());
        }
        let mut columns = self.factory.create_column_writers(self.groups)?;
        for batch in &batches {
            let fields = batch.schema_ref().fields();
            for ((field, array), column) in fields.iter().zip(batch.columns()).zip(&mut columns) {
                // The tables have flat columns: one leaf each.
                compute_leaves(field, array)?.iter().try_for_each(|leaf| column.write(leaf))?;
            }
        }
        let mut group = self.writer.next_row_group()?;
        columns.into_iter().try_for_each(|column| column.close()?.append_to_row_group(&mut group))?;
        group.close()?;
        self.groups += 1;
        Ok(())
    }

    /// Copies the row groups of a file without decoding them.
    fn copy(&mut self, file: &File, metadata: &ParquetMetaData) -> Result<(), ParquetError> {
        for from in metadata.row_groups() {
            let mut group = self.writer.next_row_group()?;
            for column in from.columns() {
                let closed = ColumnCloseResult {
                    bytes_written: column.compressed_size() as u64,
                    rows_written: from.num_rows() as u64,
                    metadata: column.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                group.append_column(file, closed)?;
            }
            group.close()?;
            self.groups += 1;
        }
        Ok(())
    }
}

fn open(path: &Path) -> Result<(File, ParquetMetaData), ResultError> {
    let file = File::open(path).map_err(ResultError::io("read", path))?;
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file);
    Ok((file, metadata.map_err(|e| read_error(e, path))?))
}

/// The rows of a file, as its own schema without the schema's metadata (the columns keep theirs).
pub(super) fn read(path: &Path) -> Result<(SchemaRef, Vec<RecordBatch>), ResultError> {
    read_file(File::open(path).map_err(ResultError::io("read", path))?, path)
}

/// The rows of a file in memory; `path` is what messages call it.
pub(super) fn read_bytes(bytes: Vec<u8>, path: &Path) -> Result<(SchemaRef, Vec<RecordBatch>), ResultError> {
    read_file(Bytes::from(bytes), path)
}

/// Function that processes each batch of a table; it returns an error if the batch's columns are wrong.
pub(crate) type EachBatch<'a> = dyn FnMut(&RecordBatch) -> Result<(), String> + 'a;

/// Iterates over the batches of a file.
pub(super) fn read_each(path: &Path, each: &mut EachBatch<'_>) -> Result<(), ResultError> {
    let file = File::open(path).map_err(ResultError::io("read", path))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| read_error(e, path))?;
    let reader = builder.with_batch_size(GROUP_ROWS).build().map_err(|e| read_error(e, path))?;
    for batch in reader {
        let batch = batch.map_err(|e| ResultError::damaged(path, e))?;
        each(&batch).map_err(|e| ResultError::damaged(path, e))?;
    }
    Ok(())
}

fn read_file(
    file: impl ChunkReader + 'static,
    path: &Path,
) -> Result<(SchemaRef, Vec<RecordBatch>), ResultError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| read_error(e, path))?;
    let schema = Arc::new(Schema::new(builder.schema().fields().clone()));
    let reader = builder.with_batch_size(GROUP_ROWS).build().map_err(|e| read_error(e, path))?;
    let batch = |b: Result<RecordBatch, _>| b.and_then(|b| b.with_schema(schema.clone()));
    let batches = reader.map(batch).collect::<Result<_, _>>();
    Ok((schema.clone(), batches.map_err(|e| ResultError::damaged(path, e))?))
}

/// The keys and values in a file's metadata that say where it comes from, without `incast.`.
pub(super) fn origin(path: &Path) -> Result<Vec<(String, String)>, ResultError> {
    let (_, metadata) = open(path)?;
    let pairs = metadata.file_metadata().key_value_metadata().map_or(&[][..], Vec::as_slice);
    let ours = |pair: &KeyValue| Some((pair.key.strip_prefix("incast.")?.to_owned(), pair.value.clone()?));
    Ok(pairs.iter().filter_map(ours).collect())
}

/// The error of the operating system inside, if it is one.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(inner) => *inner,
            Err(inner) => io::Error::other(inner),
        },
        other => io::Error::other(other),
    }
}

fn read_error(error: ParquetError, path: &Path) -> ResultError {
    match error {
        ParquetError::External(inner) if inner.is::<io::Error>() => {
            ResultError::io("read", path)(io_error(ParquetError::External(inner)))
        }
        other => ResultError::damaged(path, other),
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::Field;

    use super::*;

    /// A file is as the library for Parquet writes it by itself: what is encoded once is no other than what it encodes.
    #[test]
    fn a_schema_that_is_encoded_once_makes_no_other_file() {
        let origin = vec![("name", "one".to_owned())];
        let kinds = [DataType::Int64, DataType::UInt32, DataType::Float64, DataType::Boolean, DataType::Utf8];
        // More than are kept.
        for n in 0..=MOST_SCHEMAS {
            let column = |kind: &DataType| Field::new(format!("{kind} {n}"), kind.clone(), n % 2 == 0);
            let schema = Arc::new(Schema::new(kinds.iter().map(column).collect::<Vec<_>>()));
            let (mut ours, mut again, mut its) = (Vec::new(), Vec::new(), Vec::new());
            write(&mut ours, schema.clone(), &[], &origin).unwrap();
            // The second one has what was kept.
            write(&mut again, schema.clone(), &[], &origin).unwrap();
            let pairs = vec![KeyValue::new("incast.name".to_owned(), "one".to_owned())];
            let properties = properties(&schema, &origin).into_builder();
            let properties = properties.set_key_value_metadata(Some(pairs)).build();
            ArrowWriter::try_new(&mut its, schema, Some(properties)).unwrap().close().unwrap();
            assert_eq!(ours, its, "{n}");
            assert_eq!(again, its, "{n}");
        }
    }
}
