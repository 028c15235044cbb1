//! Names that scenario files can use: topologies, traffic, distributions of flow sizes.

use incast_lab::grammar::{self, Bound, Entry, Fallback, KeyInfo};
use incast_lab::scenario::catalogue;
use incast_lab::scenario::contestant::ContestantInfo;
use incast_lab::sizes::{BUILT_IN, SizeDistribution};
use pyo3::prelude::*;

/// A section of a scenario file, or a kind of topology or of traffic.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct Kind {
    /// Its name in scenario files.
    name: String,
    /// One or a few sentences.
    summary: String,
    /// The first of them, without its full stop.
    brief: String,
    /// Its keys.
    keys: Vec<Key>,
}

#[pymethods]
impl Kind {
    fn __repr__(&self) -> String {
        described("Kind", &self.name, &self.brief)
    }
}

/// A key of a scenario file.
#[pyclass(frozen, get_all, module = "incast")]
#[derive(Clone)]
pub(crate) struct Key {
    /// Its name.
    name: &'static str,
    /// Its meaning.
    meaning: String,
    /// Accepted values.
    values: String,
    /// Value when it is absent: `= "1us"`, `(as rate)`, `(required)` or `(optional)`.
    default: String,
    /// Source of the default, if it has one.
    source: Option<&'static str>,
}

#[pymethods]
impl Key {
    fn __repr__(&self) -> String {
        described("Key", self.name, &self.meaning)
    }
}

/// A topology of a paper: a kind with some of its keys.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct NamedTopology {
    /// Its name in scenario files.
    name: &'static str,
    /// Its description, a sentence without its full stop.
    meaning: &'static str,
    /// Its source.
    source: &'static str,
    /// The kind.
    kind: String,
    /// The keys that it sets, each with its value as a scenario file has it.
    keys: Vec<(String, String)>,
}

#[pymethods]
impl NamedTopology {
    fn __repr__(&self) -> String {
        described("NamedTopology", self.name, self.meaning)
    }
}

/// A contestant: an algorithm together with the switches, transport and balancing that it is made for.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct Contestant {
    /// Its name.
    name: String,
    /// The title of its algorithm, transport or network.
    title: String,
    /// One line.
    what: String,
    /// `ranked`, `reference`, or `base`: what several have in common, which cannot be chosen.
    role: &'static str,
    /// Needs from hosts and switches.
    needs: String,
    /// The algorithm with its preset, as it is written; empty if none is at the sender.
    cc: String,
    /// The contestant or base from which it takes what it does not set.
    base: Option<String>,
    /// All keys that it sets, each with its value as a scenario file has it, and the source of the value.
    settings: Vec<(String, String, String)>,
}

#[pymethods]
impl Contestant {
    fn __repr__(&self) -> String {
        described("Contestant", &self.name, &self.what)
    }
}

/// A built-in distribution of flow sizes.
#[pyclass(frozen, get_all, module = "incast")]
pub(crate) struct Distribution {
    /// Its name in scenario files.
    name: &'static str,
    /// One sentence of meaning.
    meaning: &'static str,
    /// Source of its points.
    source: &'static str,
    /// Its mean in bytes.
    mean_bytes: f64,
    /// Sizes in bytes, each with the share of flows that are no larger.
    points: Vec<(u64, f64)>,
}

#[pymethods]
impl Distribution {
    fn __repr__(&self) -> String {
        described("Distribution", self.name, self.meaning)
    }
}

/// The sections of a scenario file, in its order; the first, without a name, is the top of the file.
#[pyfunction]
pub(crate) fn sections() -> Vec<Kind> {
    catalogue::sections().into_iter().map(kind).collect()
}

/// The kinds of topology.
#[pyfunction]
pub(crate) fn topologies() -> Vec<Kind> {
    catalogue::topologies().into_iter().map(kind).collect()
}

/// The topologies of papers, each as a kind with some of its keys.
#[pyfunction]
pub(crate) fn named_topologies() -> Vec<NamedTopology> {
    let known = catalogue::named_topologies().into_iter();
    known
        .map(|named| NamedTopology {
            name: named.name,
            meaning: named.meaning,
            source: named.source,
            kind: named.kind,
            keys: named.keys,
        })
        .collect()
}

/// The contestants of Incast and their bases.
#[pyfunction]
pub(crate) fn contestants() -> Vec<Contestant> {
    let made = |info: ContestantInfo| Contestant {
        name: info.name,
        title: info.title,
        what: info.what,
        role: info.role.name(),
        needs: info.needs,
        cc: info.cc,
        base: info.from,
        settings: info.settings,
    };
    incast_lab::scenario::contestant::contestants().into_iter().map(made).collect()
}

/// The kinds of traffic.
#[pyfunction]
pub(crate) fn traffic() -> Vec<Kind> {
    catalogue::traffic().into_iter().map(kind).collect()
}

/// The built-in distributions of flow sizes.
#[pyfunction]
pub(crate) fn distributions() -> Vec<Distribution> {
    let known = BUILT_IN.iter().filter_map(|b| Some((b, SizeDistribution::named(b.name)?)));
    let entry = known.map(|(b, sizes)| Distribution {
        name: b.name,
        meaning: b.meaning,
        source: b.source,
        mean_bytes: sizes.mean(),
        points: sizes.points().map(|(size, share)| (size.get(), share)).collect(),
    });
    entry.collect()
}

/// Returns the short representation of an entry: its class, its name, and its description up to this many
/// letters. The top of a scenario file has no name.
pub(crate) fn described(class: &str, name: &str, text: &str) -> String {
    const LETTERS: usize = 60;
    let space = if name.is_empty() { "" } else { " " };
    let short: String = text.chars().take(LETTERS).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("<{class}{space}{name}: {}{more}>", short.trim_end())
}

fn kind(entry: Entry) -> Kind {
    let keys = entry.keys.into_iter().map(key).collect();
    Kind { name: entry.name, summary: entry.summary, brief: entry.brief, keys }
}

fn key(info: KeyInfo) -> Key {
    let noun = info.shape.noun();
    Key {
        name: info.name,
        meaning: info.meaning,
        values: if info.bound == Bound::Any { noun } else { format!("{noun}, {}", info.bound) },
        default: match info.fallback {
            Fallback::Required => "(required)".to_owned(),
            Fallback::Value(value) => format!("= {value}"),
            Fallback::From(key) => format!("(as {key})"),
            Fallback::Nothing => "(optional)".to_owned(),
        },
        source: info.source,
    }
}

/// Returns the known word that is most likely meant by another, if any is near enough.
#[pyfunction]
pub(crate) fn nearest(word: &str, known: &pyo3::Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let known: Vec<String> = known.try_iter()?.map(|one| one?.extract()).collect::<PyResult<_>>()?;
    Ok(grammar::nearest(word, known.iter().map(String::as_str)).map(str::to_owned))
}
