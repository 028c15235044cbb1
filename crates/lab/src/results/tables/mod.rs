//! The tables of a result. Each is declared in one file: its columns with their types, units, meanings and contents. A
//! file of this folder with a `table!` needs no line elsewhere (`build.rs`).
//!
//! A column's name ends in its unit (`_ps`, `_bytes`, `_bps`), and its Arrow field carries the unit
//! and a sentence of meaning in its metadata. Quantities are signed 64-bit integers, because the
//! difference of two unsigned ones wraps around in most data frame libraries. A missing value (the finish
//! time of an unfinished flow, an unlimited window) is null.

pub(crate) mod cell;
pub(crate) mod declare;
mod labels;

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, new_null_array};
use arrow_schema::{DataType, Schema, SchemaRef};
use arrow_select::interleave::interleave_record_batch;
use incast_sim::Simulation;

use super::{EachBatch, GROUP_ROWS, ResultError, ResultFolder};

pub use declare::Column;
use declare::Earlier;
pub(crate) use declare::Rows;
pub use labels::Labels;

// The modules of the tables, and `each_table!`, which calls a macro with every table: its file, its type, and for one that
// grows during a run the method of `Sink` that receives its records.
include!(concat!(env!("OUT_DIR"), "/tables.rs"));

pub(crate) use each_table;

/// Declares [`TableName`].
macro_rules! names {
    ($($file:ident::$table:ident $(from $records:ident)?,)+) => {
        /// Number of tables.
        pub const TABLES: usize = [$(stringify!($file)),+].len();

        /// One of the tables.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum TableName {
            $(#[doc = concat!("The table `", stringify!($file), "`.")] $table,)+
        }

        impl TableName {
            /// All of them.
            pub const ALL: [Self; TABLES] = [$(Self::$table),+];

            /// The name, as in `flows.parquet`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$table => stringify!($file),)+
                }
            }

            /// Whether only some results have the table: the scenario must ask for it, or have its subject.
            #[must_use]
            pub const fn is_optional(self) -> bool {
                match self {
                    $(Self::$table => $file::$table::OPTIONAL,)+
                }
            }

            /// Describes its rows.
            #[must_use]
            pub fn meaning(self) -> String {
                match self {
                    $(Self::$table => $file::$table::meaning(),)+
                }
            }

            /// Returns whether a result of this simulation has the table even if it has no rows.
            pub(crate) fn is_wanted(self, simulation: &Simulation) -> bool {
                match self {
                    $(Self::$table => $file::$table::is_wanted(simulation),)+
                }
            }

            /// The table's columns.
            #[must_use]
            pub fn columns(self) -> &'static [Column] {
                static COLUMNS: LazyLock<[Vec<Column>; TABLES]> =
                    LazyLock::new(|| [$($file::$table::columns()),+]);
                &COLUMNS[self as usize]
            }
        }

        $(impl Named for $file::$table {
            const NAME: TableName = TableName::$table;
        })+
    };
}

/// A table with its name.
pub(crate) trait Named: Rows {
    /// Its name.
    const NAME: TableName;

    /// Makes rows of records.
    fn batch(records: &[Self::Record], labels: &Labels<'_>) -> RecordBatch {
        Self::rows(Self::NAME.schema(), records, labels)
    }
}

each_table!(names);

impl TableName {
    /// The column of whole numbers by which the rows of a result are sorted at its end. The rows of other tables come
    /// in their order.
    pub(crate) fn sorted_by(self) -> Option<&'static str> {
        matches!(self, Self::Flows | Self::Limits).then_some("flow")
    }

    /// The table's columns as a schema of Arrow.
    #[must_use]
    pub fn schema(self) -> SchemaRef {
        static SCHEMAS: LazyLock<[SchemaRef; TABLES]> =
            LazyLock::new(|| TableName::ALL.map(|name| declare::schema(name.columns())));
        SCHEMAS[self as usize].clone()
    }
}

/// A table in memory, as Arrow record batches of one schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The columns.
    pub schema: SchemaRef,
    /// The rows, in order; perhaps none.
    pub batches: Vec<RecordBatch>,
}

impl Table {
    /// The table without rows.
    #[must_use]
    pub fn empty(name: TableName) -> Self {
        Self { schema: name.schema(), batches: Vec::new() }
    }

    /// The table with its rows sorted by a column of whole numbers.
    ///
    /// # Errors
    /// When there is no such column.
    pub(crate) fn sorted(self, column: &str) -> Result<Self, ResultError> {
        let batches = self.groups_by(column)?.collect::<Result<_, _>>()?;
        Ok(Self { schema: self.schema, batches })
    }

    /// Its rows sorted by a column of whole numbers, in batches that are made one at a time.
    ///
    /// # Errors
    /// When there is no such column.
    pub(crate) fn groups_by(
        &self,
        column: &str,
    ) -> Result<impl Iterator<Item = Result<RecordBatch, ResultError>>, ResultError> {
        let wrong = |reason: String| ResultError::damaged(std::path::Path::new("a table in memory"), reason);
        let mut keys: Vec<(u32, u32, u32)> = Vec::with_capacity(self.rows());
        for (number, batch) in (0..).zip(&self.batches) {
            let found =
                batch.column_by_name(column).and_then(|values| values.as_primitive_opt::<UInt32Type>());
            let values = found.ok_or_else(|| wrong(format!("no column {column}")))?;
            keys.extend((0..).zip(values.values()).map(|(row, key)| (*key, number, row)));
        }
        keys.sort_unstable();
        let parts: Vec<&RecordBatch> = self.batches.iter().collect();
        let groups = keys.len().div_ceil(GROUP_ROWS);
        Ok((0..groups).map(move |group| {
            let rows = keys.iter().skip(group * GROUP_ROWS).take(GROUP_ROWS);
            let places: Vec<_> = rows.map(|(_, batch, row)| (*batch as usize, *row as usize)).collect();
            interleave_record_batch(&parts, &places).map_err(|error| wrong(error.to_string()))
        }))
    }

    /// The table as a Parquet file in memory.
    ///
    /// # Errors
    /// When it does not fit into memory once more.
    pub fn to_parquet(&self) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        super::parquet_io::write(&mut bytes, self.schema.clone(), &self.batches, &Vec::new())?;
        Ok(bytes)
    }

    /// The table that [`to_parquet`](Self::to_parquet) gave.
    ///
    /// # Errors
    /// When the bytes are not a Parquet file.
    pub fn from_parquet(bytes: Vec<u8>) -> Result<Self, ResultError> {
        let name = std::path::Path::new("a table in memory");
        let (schema, batches) = super::parquet_io::read_bytes(bytes, name)?;
        Ok(Self { schema, batches })
    }

    /// Adds the columns that results of earlier versions lack.
    pub(super) fn completed(self, name: TableName) -> Self {
        name.columns().iter().fold(self, |table, column| match column.earlier {
            Some(value) if table.schema.column_with_name(column.name).is_none() => {
                table.with_column(column, value)
            }
            _ => table,
        })
    }

    /// Adds a column in which every row has the same value.
    fn with_column(self, column: &Column, value: Earlier) -> Self {
        let fields = self.schema.fields().iter().cloned().chain([Arc::new(column.field())]);
        let schema =
            Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), self.schema.metadata.clone()));
        let extended = |batch: &RecordBatch| {
            let rows = batch.num_rows();
            let values: ArrayRef = match (&column.kind, value) {
                (kind, Earlier::Null) => new_null_array(kind, rows),
                (DataType::Boolean, Earlier::Is(value)) => {
                    Arc::new(BooleanArray::from(vec![value != 0; rows]))
                }
                (_, Earlier::Is(value)) => Arc::new(Int64Array::from_value(value, rows)),
            };
            let columns = batch.columns().iter().cloned().chain([values]).collect();
            RecordBatch::try_new(schema.clone(), columns).expect("the columns are those of the schema")
        };
        let batches = self.batches.iter().map(extended).collect();
        Self { schema, batches }
    }

    /// Iterates over the batches.
    pub(crate) fn each(&self, each: &mut EachBatch<'_>) -> Result<(), ResultError> {
        let name = std::path::Path::new("a table in memory");
        self.batches.iter().try_for_each(each).map_err(|reason| ResultError::damaged(name, reason))
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// The tables of a run that has ended: in memory, or in the folder of its result, from which they are read
/// on demand.
#[derive(Clone, Debug)]
pub enum Tables {
    /// In the order of [`TableName::ALL`].
    Memory(Box<[Table; TABLES]>),
    /// On disk.
    Disk(Box<ResultFolder>),
}

impl Tables {
    /// One of them.
    ///
    /// # Errors
    /// When it is on disk and cannot be read, or is not the one that was written.
    pub fn get(&self, table: TableName) -> Result<Table, ResultError> {
        match self {
            Self::Memory(tables) => Ok(tables[table as usize].clone()),
            Self::Disk(folder) => folder.table(table),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use arrow_array::RecordBatchOptions;

    use super::*;

    #[test]
    fn columns_that_earlier_versions_lack_have_their_type_and_value() {
        let schema = Arc::new(Schema::empty());
        let options = RecordBatchOptions::new().with_row_count(Some(2));
        let batch = RecordBatch::try_new_with_options(schema.clone(), Vec::new(), &options).unwrap();
        let table = Table { schema, batches: vec![batch] };
        let mut nulls = Vec::new();
        for name in TableName::ALL {
            let batch = &table.clone().completed(name).batches[0];
            for column in name.columns().iter().filter(|column| column.earlier.is_some()) {
                let values = batch.column_by_name(column.name).unwrap();
                assert_eq!((values.data_type(), values.len()), (&column.kind, 2), "{}", column.name);
                if values.null_count() > 0 {
                    assert_eq!(values.null_count(), 2);
                    nulls.push(column.name);
                }
            }
        }
        let mut wanted =
            vec!["source_card", "destination_card", "peer_port", "delay_ps", "algbw_bps", "busbw_bps"];
        wanted.extend([
            "window_queued_ps",
            "answer_queued_ps",
            "serialisation_ps",
            "propagation_ps",
            "arrives_ps",
        ]);
        assert_eq!(nulls, wanted);
    }

    #[test]
    fn names_of_columns_end_in_their_units() {
        let endings = [("ps", "_ps"), ("B", "_bytes"), ("bit/s", "_bps")];
        for name in TableName::ALL {
            let columns = name.columns();
            let distinct: BTreeSet<_> = columns.iter().map(|column| column.name).collect();
            assert_eq!(distinct.len(), columns.len(), "{}", name.as_str());
            for column in columns {
                for (unit, ending) in endings {
                    assert_eq!(column.unit == unit, column.name.ends_with(ending), "{}", column.name);
                }
                assert!(!column.meaning.is_empty() && !column.meaning.ends_with('.'), "{}", column.name);
            }
        }
    }
}
