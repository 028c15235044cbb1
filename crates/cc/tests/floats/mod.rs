//! Parameters and signals as floating point, for the twins.
#![allow(dead_code, reason = "each test uses its part")]

use incast_cc::Fixed;
use incast_units::Time;

/// Returns a ratio as a float.
pub(crate) fn real(value: Fixed) -> f64 {
    value.bits() as f64 / 4_294_967_296.0
}

/// Returns a time in microseconds.
pub(crate) fn us(time: Time) -> f64 {
    time.ps() as f64 / 1e6
}
