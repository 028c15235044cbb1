//! Declarations of tables: one file each, with its records, its columns and their contents.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use incast_sim::Simulation;

use super::Labels;

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name, which ends in its unit.
    pub name: &'static str,
    /// Its type.
    pub kind: DataType,
    /// The unit of its values; empty: none.
    pub unit: &'static str,
    /// Whether values can be missing.
    pub nullable: bool,
    /// Its meaning.
    pub meaning: String,
    /// The value of every row in results of earlier versions, which lack the column; `None`: they have it.
    pub(super) earlier: Option<Earlier>,
}

/// The value of every row of a column that results of earlier versions lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Earlier {
    /// Missing.
    Null,
    /// A number, or for a Boolean 0 or 1.
    Is(i64),
}

impl Column {
    /// Returns its field in Arrow, with unit and meaning as metadata.
    pub(super) fn field(&self) -> Field {
        let mut metadata = HashMap::from([("description".to_owned(), self.meaning.clone())]);
        if !self.unit.is_empty() {
            metadata.insert("unit".to_owned(), self.unit.to_owned());
        }
        Field::new(self.name, self.kind.clone(), self.nullable).with_metadata(metadata)
    }
}

/// A table, as [`table!`] declares it.
pub(crate) trait Rows {
    /// The record that a row is made of.
    type Record: Copy;
    /// Whether only some results have the table.
    const OPTIONAL: bool;

    /// Describes the rows.
    fn meaning() -> String;

    /// Describes the columns, in order.
    fn columns() -> Vec<Column>;

    /// Returns whether a result of this simulation has the table even if it has no rows: "there was nothing" differs
    /// from "it was not recorded".
    fn is_wanted(simulation: &Simulation) -> bool;

    /// Makes rows of records.
    fn rows(schema: SchemaRef, records: &[Self::Record], labels: &Labels<'_>) -> RecordBatch;
}

/// Makes the schema of columns.
pub(super) fn schema(columns: &[Column]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>()))
}

/// Declares a table: the records of its rows, and for each column its meaning, its name, the type of its cells
/// ([`Cell`](super::cell::Cell)) and its value.
///
/// `from RECORDS` names the method of [`Sink`](incast_sim::Sink) that receives the records of a table that grows during a
/// run. `if |simulation| …` makes the table optional: only some results have it. `; earlier VALUE` after a column gives
/// its value in results of earlier versions, which lack it, `null` where it is not known.
macro_rules! table {
    (
        $(#[doc = $doc:literal])+
        struct $table:ident $(from $records:ident)? $(, if |$simulation:ident| $wanted:expr)?;

        |$record:ident: &$type:ty, $labels:ident| {
            $(
                $(#[doc = $meaning:literal])+
                $column:ident: $cell:ty = $value:expr $(; earlier $earlier:tt)?,
            )+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $table;

        impl $crate::results::tables::declare::Rows for $table {
            type Record = $type;
            const OPTIONAL: bool = $crate::results::tables::declare::table!(@optional $($simulation)?);

            fn meaning() -> String {
                $crate::grammar::section::joined(&[$($doc),+])
            }

            fn columns() -> Vec<$crate::results::tables::declare::Column> {
                use $crate::results::tables::cell::Cell;
                vec![$($crate::results::tables::declare::Column {
                    name: stringify!($column),
                    kind: <$cell as Cell>::TYPE,
                    unit: <$cell as Cell>::UNIT,
                    nullable: <$cell as Cell>::NULLABLE,
                    meaning: $crate::grammar::section::joined(&[$($meaning),+]),
                    earlier: $crate::results::tables::declare::table!(@earlier $($earlier)?),
                },)+]
            }

            fn is_wanted(_simulation: &incast_sim::Simulation) -> bool {
                $crate::results::tables::declare::table!(@wanted _simulation $(, $simulation, $wanted)?)
            }

            fn rows(
                schema: arrow_schema::SchemaRef,
                records: &[$type],
                $labels: &$crate::results::tables::Labels<'_>,
            ) -> arrow_array::RecordBatch {
                use $crate::results::tables::cell::Cell;
                // Not every table has columns with labels.
                let _ = $labels;
                let columns =
                    vec![$(<$cell as Cell>::array(records.iter().map(|$record| -> $cell { $value })),)+];
                arrow_array::RecordBatch::try_new(schema, columns).expect("the columns are those of the schema")
            }
        }
    };

    (@optional) => { false };
    (@optional $simulation:ident) => { true };

    (@wanted $given:ident) => { true };
    (@wanted $given:ident, $simulation:ident, $wanted:expr) => {{
        let $simulation = $given;
        $wanted
    }};

    (@earlier) => { None };
    (@earlier null) => { Some($crate::results::tables::declare::Earlier::Null) };
    (@earlier $earlier:literal) => { Some($crate::results::tables::declare::Earlier::Is($earlier)) };
}

pub(crate) use table;
