//! The types of a table's cells, and how each becomes a column of Arrow.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt16Array, UInt32Array};
use arrow_schema::DataType;
use incast_units::{Bytes, Rate, Time};

/// A type of cells. An `Option` of it is a column in which values can be missing.
pub(crate) trait Cell: Sized {
    /// The column's type in Arrow.
    const TYPE: DataType;
    /// The unit of its values; empty: none.
    const UNIT: &'static str;
    /// Whether values can be missing.
    const NULLABLE: bool;

    /// Makes a column.
    fn array(values: impl Iterator<Item = Self>) -> ArrayRef;
}

/// A number of packets.
pub(crate) struct Packets(pub(crate) u64);

/// A number of samples.
pub(crate) struct Samples(pub(crate) u64);

/// Declares types of cells: array, type in Arrow, unit, the value of a cell that is always present, and that of one
/// that can be missing.
macro_rules! cells {
    ($($type:ty: $array:ident $data:ident $unit:literal, |$value:ident| $always:expr, $maybe:expr;)+) => {$(
        impl Cell for $type {
            const TYPE: DataType = DataType::$data;
            const UNIT: &'static str = $unit;
            const NULLABLE: bool = false;

            fn array(values: impl Iterator<Item = Self>) -> ArrayRef {
                Arc::new(values.map(|$value| Some($always)).collect::<$array>())
            }
        }

        impl Cell for Option<$type> {
            const TYPE: DataType = DataType::$data;
            const UNIT: &'static str = $unit;
            const NULLABLE: bool = true;

            fn array(values: impl Iterator<Item = Self>) -> ArrayRef {
                Arc::new(values.map(|value| value.and_then(|$value| $maybe)).collect::<$array>())
            }
        }
    )+};
}

cells! {
    u16: UInt16Array UInt16 "", |value| value, Some(value);
    u32: UInt32Array UInt32 "", |value| value, Some(value);
    f64: Float64Array Float64 "", |value| value, Some(value);
    bool: BooleanArray Boolean "", |value| value, Some(value);
    &str: StringArray Utf8 "", |value| value, Some(value);
    Cow<'_, str>: StringArray Utf8 "", |value| value, Some(value);
    u64: Int64Array Int64 "", |value| clamped(value), known(value);
    Time: Int64Array Int64 "ps", |value| clamped(value.ps()), known(value.ps());
    Bytes: Int64Array Int64 "B", |value| clamped(value.get()), known(value.get());
    Rate: Int64Array Int64 "bit/s", |value| clamped(value.bps()), known(value.bps());
    Packets: Int64Array Int64 "packets", |value| clamped(value.0), known(value.0);
    Samples: Int64Array Int64 "samples", |value| clamped(value.0), known(value.0);
}

/// Returns a quantity that is always present. A value beyond 63 bits becomes the largest.
fn clamped(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Returns a quantity that can be missing. A value beyond 63 bits means "never" or "no limit" and becomes null.
fn known(value: u64) -> Option<i64> {
    i64::try_from(value).ok()
}

const _: () = {
    // "Never" and "no limit" must be beyond 63 bits.
    assert!(Time::NEVER.ps() > i64::MAX as u64);
    assert!(Bytes::UNLIMITED.get() > i64::MAX as u64);
};
