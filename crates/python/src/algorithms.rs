//! The catalogue of congestion control algorithms.

use incast_cc::Fixed;
use incast_cc::any::{AnyParams, CATALOGUE, ParamInfo};
use incast_cc::params::{self, Kind, Value};
use incast_lab::scenario::catalogue;
use incast_units::{Bytes, Rate, Time};
use pyo3::prelude::*;

use crate::catalogue::described;

/// An algorithm of the catalogue.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct Algorithm {
    /// Its name in scenario files.
    name: &'static str,
    /// Its name in text and pictures.
    title: &'static str,
    /// One line.
    summary: &'static str,
    /// The name of its group: what it decides by.
    family: &'static str,
    /// One line: what it needs from hosts and switches, and since when equipment has it.
    needs: &'static str,
    /// Size of one flow's state in bytes.
    state_bytes: usize,
    /// Names and meanings of its presets, the default first.
    presets: Vec<(&'static str, &'static str)>,
    /// Its parameters with the values of the chosen preset.
    parameters: Vec<Parameter>,
    /// The names of the signals that the chosen preset reads, beyond times and counts.
    signals: Vec<&'static str>,
    /// Its entry in the Linux kernel, if it runs there.
    kernel: Option<KernelEntry>,
}

#[pymethods]
impl Algorithm {
    fn __repr__(&self) -> String {
        described("Algorithm", self.name, self.summary)
    }
}

/// An algorithm in the Linux kernel.
#[pyclass(frozen, get_all, module = "incast")]
#[derive(Clone)]
pub(crate) struct KernelEntry {
    /// Its name in the kernel.
    name: &'static str,
    /// The names of the signals that it gets there.
    signals: Vec<&'static str>,
}

/// A parameter of an algorithm.
#[pyclass(frozen, get_all, module = "incast")]
#[derive(Clone)]
pub(crate) struct Parameter {
    /// Its name in scenario files.
    name: &'static str,
    /// Kind of value that it takes: `time`, `bytes`, `rate`, `ratio`, `count`, `flag` or `choice`.
    kind: &'static str,
    /// Its value, with unit, as a scenario file would have it.
    value: String,
    /// The values that it may take.
    range: String,
    /// One sentence of meaning.
    meaning: &'static str,
    /// Class of the evidence for its default, its value in the first preset: `printed`, `artifact`, `measured`, `derived`
    /// or `ours`.
    evidence: &'static str,
    /// Source of its default, and of the values of other presets.
    source: &'static str,
}

#[pymethods]
impl Parameter {
    fn __repr__(&self) -> String {
        described("Parameter", self.name, self.meaning)
    }
}

/// A class of the evidence for a parameter's default.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct Evidence {
    /// Its name.
    name: &'static str,
    /// Its meaning, in a few words.
    meaning: &'static str,
}

#[pymethods]
impl Evidence {
    fn __repr__(&self) -> String {
        described("Evidence", self.name, self.meaning)
    }
}

/// A group of algorithms, or of transports and networks that control congestion themselves.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct Family {
    /// Its name.
    name: &'static str,
    /// Controller and signal of the group, in a few words.
    meaning: &'static str,
}

#[pymethods]
impl Family {
    fn __repr__(&self) -> String {
        described("Family", self.name, self.meaning)
    }
}

/// A transport or a network that controls congestion without an algorithm at the sender.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct OwnControl {
    /// Its name in scenario files.
    name: &'static str,
    /// The key or section of a scenario that selects it.
    key: &'static str,
    /// Its name in text and pictures.
    title: &'static str,
    /// One line.
    summary: &'static str,
    /// The name of its group: who controls congestion.
    family: &'static str,
    /// One line: what it needs from hosts and switches, and since when equipment has it.
    needs: &'static str,
}

#[pymethods]
impl OwnControl {
    fn __repr__(&self) -> String {
        described("OwnControl", self.name, self.summary)
    }
}

/// Returns the groups of algorithms, and of transports and networks that control congestion themselves, in
/// the order of lists.
#[pyfunction]
pub(crate) fn families() -> Vec<Family> {
    let groups = catalogue::groups().into_iter();
    groups.map(|group| Family { name: group.name, meaning: group.meaning }).collect()
}

/// Returns the classes of the evidence for parameters' defaults, from the firmest on.
#[pyfunction]
pub(crate) fn evidence() -> Vec<Evidence> {
    let classes = params::Evidence::ALL.iter();
    classes.map(|class| Evidence { name: class.name(), meaning: class.meaning() }).collect()
}

/// Every transport and network that controls congestion without an algorithm at the sender.
#[pyfunction]
pub(crate) fn own_controls() -> Vec<OwnControl> {
    let others = catalogue::own_controls().into_iter();
    let known = others.map(|other| OwnControl {
        name: other.name,
        key: other.key,
        title: other.control.title,
        summary: other.summary,
        family: other.control.controller.name(),
        needs: other.control.needs,
    });
    known.collect()
}

/// Every algorithm with its default preset, in the order of the lists.
#[pyfunction]
pub(crate) fn algorithms() -> Vec<Algorithm> {
    CATALOGUE.iter().filter_map(|info| named(info.name, None)).collect()
}

/// The algorithm called `name` with the values of `preset` (none: its default preset), or nothing if
/// there is no such algorithm or preset.
#[pyfunction]
#[pyo3(signature = (name, preset=None))]
pub(crate) fn algorithm(name: &str, preset: Option<&str>) -> Option<Algorithm> {
    named(name, preset)
}

fn named(name: &str, preset: Option<&str>) -> Option<Algorithm> {
    let params = AnyParams::named(name, preset)?;
    let info = params.info();
    let mut presets = Vec::new();
    params.presets(|name, meaning| presets.push((name, meaning)));
    let mut parameters = Vec::new();
    params.params(|info, value| parameters.push(parameter(&info, value)));
    Some(Algorithm {
        name: info.name,
        title: info.title,
        summary: info.summary,
        family: info.family.name(),
        needs: info.needs,
        state_bytes: info.state_bytes,
        presets,
        parameters,
        signals: params.signals().names().collect(),
        kernel: info
            .kernel
            .map(|kernel| KernelEntry { name: kernel.name(), signals: kernel.signals().names().collect() }),
    })
}

/// The parameters that a registered algorithm has declared, with their initial values; nothing if it has declared none,
/// as those in Python.
#[pyfunction]
pub(crate) fn declared_parameters(name: &str) -> Option<Vec<Parameter>> {
    let plugin = incast_lab::plugin::find(name)?;
    let infos = plugin.parameters()?;
    Some(infos.iter().zip(plugin.initial()).map(|(info, value)| parameter(info, *value)).collect())
}

fn parameter(info: &ParamInfo, value: Value) -> Parameter {
    Parameter {
        name: info.name,
        kind: word(&info.kind),
        value: text(value, &info.kind),
        range: range(&info.kind),
        meaning: info.meaning,
        evidence: info.evidence.name(),
        source: info.source,
    }
}

fn word(kind: &Kind) -> &'static str {
    match kind {
        Kind::Time(..) => "time",
        Kind::Bytes(..) => "bytes",
        Kind::Rate(..) => "rate",
        Kind::Ratio(..) => "ratio",
        Kind::Count(..) => "count",
        Kind::Flag => "flag",
        Kind::Choice(_) => "choice",
    }
}

fn text(value: Value, kind: &Kind) -> String {
    const UNLIMITED: Rate = Rate::from_bps(u64::MAX);
    match value {
        Value::Time(Time::NEVER) => "never".into(),
        Value::Time(v) => v.to_string(),
        Value::Bytes(Bytes::UNLIMITED) => "unlimited".into(),
        Value::Bytes(v) => v.to_string(),
        Value::Rate(UNLIMITED) => "unlimited".into(),
        Value::Rate(v) => v.to_string(),
        Value::Ratio(v) => decimal(v),
        Value::Count(u64::MAX) => "unlimited".into(),
        Value::Count(v) => v.to_string(),
        Value::Flag(v) => v.to_string(),
        Value::Choice(v) => match kind {
            Kind::Choice(words) => words.get(v).copied().unwrap_or_default().into(),
            _ => String::new(),
        },
    }
}

/// A ratio as a person would write it: 0.1, although the nearest value in fixed point is a little less.
/// Its own text has nine decimals, cut off; eight, rounded, give back what has no more.
fn decimal(ratio: Fixed) -> String {
    let text = ratio.to_string();
    let Ok(value) = text.parse::<f64>() else { return text };
    let rounded = format!("{value:.8}");
    rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn range(kind: &Kind) -> String {
    let between = |low, high| format!("{} to {}", text(low, kind), text(high, kind));
    match *kind {
        Kind::Time(low, high) => between(Value::Time(low), Value::Time(high)),
        Kind::Bytes(low, high) => between(Value::Bytes(low), Value::Bytes(high)),
        Kind::Rate(low, high) => between(Value::Rate(low), Value::Rate(high)),
        Kind::Ratio(low, high) => between(Value::Ratio(low), Value::Ratio(high)),
        Kind::Count(low, high) => between(Value::Count(low), Value::Count(high)),
        Kind::Flag => "true or false".into(),
        Kind::Choice(words) => words.join(", "),
    }
}
