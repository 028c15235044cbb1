//! The table `internals`.

use std::borrow::Cow;

use incast_cc::Fixed;
use incast_cc::params::Value;
use incast_sim::record::InternalSample;
use incast_units::Time;

use super::Labels;
use super::cell::Samples;
use super::declare::table;

table! {
    /// Samples of internal quantities of the probed flows' congestion control, by time. One row per quantity; only with
    /// `probe.internals`.
    struct Internals from internals, if |simulation| simulation.probes.internals;

    |record: &InternalSample, labels| {
        /// when
        time_ps: Time = record.time,
        /// number of the flow
        flow: u32 = record.flow,
        /// what is sampled; the name of a quantity ends in its unit
        name: Cow<'_, str> = with_unit(name(record, labels), record.value),
        /// its value in that unit
        value: f64 = number(record.value),
        /// how many samples the row stands for: this one and the equal ones directly before it that have no row
        samples: Samples = Samples(record.samples); earlier 1,
    }
}

/// Returns the name of a sampled quantity. The sample's flow must be one of the simulation's.
fn name<'a>(sample: &InternalSample, labels: &Labels<'a>) -> &'a str {
    let algorithm = labels.simulation.flows[sample.flow as usize].algorithm;
    let internals = labels.simulation.algorithms[usize::from(algorithm)].internals();
    internals.get(usize::from(sample.internal)).map_or("", |internal| internal.name)
}

/// Returns the name of a quantity in tables, with its unit.
fn with_unit(name: &str, value: Value) -> Cow<'_, str> {
    let unit = match value {
        Value::Time(_) => "_ps",
        Value::Bytes(_) => "_bytes",
        Value::Rate(_) => "_bps",
        Value::Ratio(_) | Value::Count(_) | Value::Flag(_) | Value::Choice(_) => return name.into(),
    };
    format!("{name}{unit}").into()
}

/// Returns a quantity as a number. Those that a run reaches are exact, as they are below 2^53.
fn number(value: Value) -> f64 {
    match value {
        Value::Time(time) => time.ps() as f64,
        Value::Bytes(bytes) => bytes.get() as f64,
        Value::Rate(rate) => rate.bps() as f64,
        Value::Ratio(ratio) => ratio.bits() as f64 / Fixed::ONE.bits() as f64,
        Value::Count(count) => count as f64,
        Value::Flag(flag) => f64::from(u8::from(flag)),
        Value::Choice(choice) => choice as f64,
    }
}
