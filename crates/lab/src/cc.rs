//! The `[cc]` section: an algorithm, a preset, and any of its parameters by name.

use std::sync::Arc;

use incast_cc::any::{CATALOGUE, ParamInfo};
use incast_cc::params::{Family, Kind, Value};
use incast_cc::receiver::Acknowledging;
use incast_cc::{AnyParams, Fixed, Overhead, Path, Signals};
use incast_sim::describe::algorithm::Algorithm;
use incast_units::{Bytes, Rate, Time};

use crate::grammar::reading::{Reading, TableReader, read_section};
use crate::grammar::section::{Entry, Fallback, KeyInfo, Section};
use crate::grammar::setting::{Bound, Setting, Shape, write_decimal};
use crate::grammar::suggest::unknown;
use crate::grammar::tree::{Node, Table, Value as Written};
use crate::grammar::write::Out;
use crate::plugin::{self, Parameters, Plain, Plugin};

/// Advice on an algorithm that is not built in.
pub(crate) const OWN: &str = "An algorithm of your own is a file: compare --cc mine.py, --plugin mine.py, or \
                              incast.load_plugin(\"mine.py\"); compiled, mine.so.";

/// An algorithm with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cc {
    /// A built-in algorithm.
    Known { params: AnyParams, preset: &'static str },
    /// A registered algorithm.
    Plugin(Registered),
}

/// A registered algorithm with its parameters, as they were when the scenario was read.
#[derive(Clone, Debug)]
pub(crate) struct Registered {
    name: &'static str,
    code: Option<String>,
    parameters: Parameters,
    algorithm: Algorithm,
}

impl PartialEq for Registered {
    fn eq(&self, other: &Self) -> bool {
        (self.name, &self.code, &self.parameters) == (other.name, &other.code, &other.parameters)
    }
}

impl Cc {
    /// The algorithm and its preset: `oscar:paper`.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Known { params, preset } => format!("{}:{preset}", params.info().name),
            Self::Plugin(other) => other.name.to_owned(),
        }
    }

    /// The name of the algorithm.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Known { params, .. } => params.info().name,
            Self::Plugin(other) => other.name,
        }
    }

    /// The parameters, of an algorithm that is built in.
    pub(crate) fn parameters(&self) -> Option<AnyParams> {
        match self {
            Self::Known { params, .. } => Some(*params),
            Self::Plugin(_) => None,
        }
    }

    pub(crate) fn signals(&self) -> Signals {
        match self {
            Self::Known { params, .. } => params.signals(),
            Self::Plugin(other) => other.algorithm.signals(),
        }
    }

    /// Whether it belongs to the algorithms for packets that are spread over paths.
    pub(crate) fn is_for_spraying(&self) -> bool {
        self.family() == Some(Family::Spraying)
    }

    /// Whether it belongs to the algorithms that decide by losses.
    pub(crate) fn decides_by_losses(&self) -> bool {
        self.family() == Some(Family::Loss)
    }

    /// Its group, if it is built in.
    fn family(&self) -> Option<Family> {
        self.parameters().map(|params| params.info().family)
    }

    /// Whether a flow that starts on this path has a window. A plugin's is not known.
    pub(crate) fn has_window(&self, path: &Path) -> bool {
        let window =
            |params: AnyParams| Algorithm::from(params).controllers().start(path, Time::ZERO).1.window;
        self.parameters().is_some_and(|params| window(params) != Bytes::UNLIMITED.get())
    }

    /// The acknowledgements with which its preset is used.
    pub(crate) fn acknowledging(&self) -> Acknowledging {
        match self {
            Self::Known { params, preset } => params.acknowledging(preset).unwrap_or(Acknowledging::EACH),
            Self::Plugin(_) => Acknowledging::EACH,
        }
    }

    pub(crate) fn overhead(&self) -> Overhead {
        match self {
            Self::Known { params, .. } => params.overhead(),
            Self::Plugin(other) => other.algorithm.overhead(),
        }
    }

    /// Returns the keys and values of its section.
    pub(crate) fn written(&self) -> Vec<(String, Out)> {
        let mut out = Vec::new();
        self.write_fields(&mut out);
        out
    }

    /// Describes the algorithm for the simulator.
    pub(crate) fn describe(&self) -> Algorithm {
        match self {
            Self::Known { params, .. } => (*params).into(),
            Self::Plugin(other) => other.algorithm.clone(),
        }
    }
}

impl Registered {
    /// Reads all keys other than `algorithm`; the algorithm interprets them.
    fn fields(
        name: &'static str,
        algorithm: &Arc<dyn Plugin>,
        table: &mut TableReader<'_, '_>,
    ) -> Option<Self> {
        let code = algorithm.code();
        let written: Option<String> = table.read("code", Bound::Any, Some(|| None));
        if written.is_some() && written != code {
            let (path, now) = (table.path("code"), code.as_deref().unwrap_or("unknown"));
            let message = format!(
                "the code of {name} has the hash {now:?}, not the one in this scenario; remove the line to run the current code"
            );
            table.reading.wrong_key(&path, message);
            return None;
        }
        let (parameters, values) = match algorithm.parameters() {
            Some(known) => declared(name, known, table)?,
            None => {
                let rest = table.rest().into_iter().map(|(key, node)| (key, plain(&node.value)));
                let parameters: Parameters = rest.collect();
                (parameters.clone(), parameters)
            }
        };
        match algorithm.make(&values) {
            Ok(algorithm) => Some(Self { name, code, parameters, algorithm }),
            Err(message) => {
                let path = table.path("");
                table.reading.wrong_key(path.trim_end_matches('.'), format!("{name}: {message}"));
                None
            }
        }
    }

    fn write_fields(&self, out: &mut Vec<(String, Out)>) {
        out.push(("algorithm".to_owned(), Out::text(&self.name)));
        out.extend(self.code.as_ref().map(|code| ("code".to_owned(), Out::text(code))));
        out.extend(self.parameters.iter().map(|(key, value)| (key.clone(), out_of(value))));
    }
}

/// Reads the parameters that a plugin has declared: as they are written, and as numbers.
fn declared(
    name: &str,
    known: &[ParamInfo],
    table: &mut TableReader<'_, '_>,
) -> Option<(Parameters, Parameters)> {
    table.entitle(format!("cc with {name}"));
    let (mut written, mut values) = (Parameters::new(), Parameters::new());
    let mut sound = true;
    for info in known {
        if let Some(value) = parameter(table, info, &mut sound) {
            written.extend(table.written(info.name).map(|value| (info.name.to_owned(), plain(value))));
            values.push((info.name.to_owned(), plugin::number_of(value)));
        }
    }
    sound.then_some((written, values))
}

fn plain(value: &Written) -> Plain {
    match value {
        Written::Text(text) | Written::Date(text) => Plain::Text(text.clone()),
        Written::Integer(number) => Plain::Integer(*number),
        Written::Decimal(text) => Plain::Decimal(text.clone()),
        Written::Flag(flag) => Plain::Flag(*flag),
        Written::List(items) => Plain::List(items.iter().map(|item| plain(&item.value)).collect()),
        Written::Table(table) => {
            Plain::Table(table.0.iter().map(|(key, _, node)| (key.clone(), plain(&node.value))).collect())
        }
    }
}

fn out_of(value: &Plain) -> Out {
    match value {
        Plain::Flag(flag) => Out::plain(flag),
        Plain::Integer(number) => Out::plain(number),
        Plain::Decimal(text) => Out::plain(text),
        Plain::Text(text) => Out::text(text),
        Plain::List(items) => Out::List(items.iter().map(out_of).collect()),
        Plain::Table(entries) => {
            Out::Table(entries.iter().map(|(key, value)| (key.clone(), out_of(value))).collect())
        }
    }
}

impl Section for Cc {
    fn summary() -> String {
        "The congestion control algorithm, its preset, and any of its parameters by name.".to_owned()
    }

    fn keys() -> Vec<KeyInfo> {
        let words = CATALOGUE.iter().map(|info| (info.name, info.summary)).collect();
        vec![
            KeyInfo {
                name: "algorithm",
                meaning: "The algorithm.".to_owned(),
                shape: Shape::Choice(words),
                bound: Bound::Any,
                fallback: Fallback::Required,
                evidence: None,
                source: None,
                section: None,
            },
            KeyInfo {
                name: "preset",
                meaning: "The set of parameters to start from.".to_owned(),
                shape: Shape::Text("a preset of the algorithm"),
                bound: Bound::Any,
                fallback: Fallback::From("the algorithm's first preset".to_owned()),
                evidence: None,
                source: None,
                section: None,
            },
        ]
    }

    fn fields(table: &mut TableReader<'_, '_>) -> Option<Self> {
        let names = CATALOGUE.iter().map(|info| info.name);
        let names: Vec<_> = names.chain(plugin::registered().into_iter().map(|(name, _)| name)).collect();
        let name = table.word("algorithm", &names, "algorithm", Some(OWN))?;
        if let Some(other) = plugin::find(name) {
            return Registered::fields(name, &other, table).map(Self::Plugin);
        }
        let mut params = AnyParams::named(name, None)?;
        table.entitle(format!("cc with {name}"));
        let mut presets = Vec::new();
        params.presets(|preset, _| presets.push(preset));
        let mut preset = presets.first().copied();
        if table.has("preset") {
            preset = table.word("preset", &presets, &format!("preset of {name}"), None);
            if let Some(named) = AnyParams::named(name, preset) {
                params = named;
            }
        } else {
            table.allow("preset");
        }
        let mut infos = Vec::new();
        params.params(|info, _| infos.push(info));
        let mut sound = true;
        for info in infos {
            if let Some(value) = parameter(table, &info, &mut sound) {
                params.set(info.name, value);
            }
        }
        Some(Self::Known { params, preset: preset? }).filter(|_| sound)
    }

    fn write_fields(&self, out: &mut Vec<(String, Out)>) {
        match self {
            Self::Known { params, preset } => {
                out.push(("algorithm".to_owned(), Out::text(&params.info().name)));
                out.push(("preset".to_owned(), Out::text(preset)));
                params.params(|info, value| out.push((info.name.to_owned(), written(&info.kind, value))));
            }
            Self::Plugin(other) => other.write_fields(out),
        }
    }
}

impl Setting for Cc {
    fn shape() -> Shape {
        Shape::Algorithm
    }

    fn section() -> Option<(String, Vec<KeyInfo>)> {
        Some((<Self as Section>::summary(), <Self as Section>::keys()))
    }

    /// A table or, as a short form, the name of an algorithm with or without a preset: `"oscar:artifact"`.
    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        let Written::Text(text) = &node.value else { return read_section(node, key, reading) };
        let (name, preset) = match text.split_once(':') {
            Some((name, preset)) => (name, Some(preset)),
            None => (text.as_str(), None),
        };
        let word = |text: &str| Node { place: node.place, value: Written::Text(text.to_owned()) };
        let named = |(key, text): (&str, &str)| (key.to_owned(), node.place, word(text));
        let keys = [Some(("algorithm", name)), preset.map(|preset| ("preset", preset))];
        let table = Table(keys.into_iter().flatten().map(named).collect());
        read_section(&Node { place: node.place, value: Written::Table(table) }, key, reading)
    }

    fn write(&self) -> Option<Out> {
        Some(Out::Table(self.written()))
    }
}

/// Reads a parameter where it is written. Clears `sound` after a problem.
fn parameter(table: &mut TableReader<'_, '_>, info: &ParamInfo, sound: &mut bool) -> Option<Value> {
    fn read<T: Setting>(table: &mut TableReader<'_, '_>, name: &'static str) -> Option<T> {
        table.read(name, Bound::Any, Some(|| None))
    }
    let written = table.has(info.name);
    let name = info.name;
    let value = match info.kind {
        Kind::Time(_, high) if high == Time::NEVER => read(table, name).map(|OrUnlimited(v)| Value::Time(v)),
        Kind::Time(..) => read(table, name).map(Value::Time),
        Kind::Bytes(_, high) if high == Bytes::UNLIMITED => {
            read(table, name).map(|OrUnlimited(v)| Value::Bytes(v))
        }
        Kind::Bytes(..) => read(table, name).map(Value::Bytes),
        Kind::Rate(_, high) if high == <Rate as End>::END => {
            read(table, name).map(|OrUnlimited(v)| Value::Rate(v))
        }
        Kind::Rate(..) => read(table, name).map(Value::Rate),
        Kind::Ratio(..) => read(table, name).map(Value::Ratio),
        Kind::Count(..) => read(table, name).map(Value::Count),
        Kind::Flag => read(table, name).map(Value::Flag),
        Kind::Choice(words) => read::<String>(table, name).and_then(|word| {
            let place = words.iter().position(|known| *known == word);
            if place.is_none() {
                let path = table.path(name);
                let message = format!("{word:?} is not one of: {}", words.join(", "));
                table.reading.wrong_key(&path, unknown(message, &word, words.iter().copied()));
            }
            place.map(Value::Choice)
        }),
    };
    let Some(value) = value else {
        *sound &= !written;
        return None;
    };
    if info.kind.admits(value) {
        return Some(value);
    }
    *sound = false;
    let path = table.path(name);
    let shown = self::written(&info.kind, value).inline();
    let message = format!("{shown} is out of range: allowed is {}", range(&info.kind));
    table.reading.wrong_key(&path, message);
    None
}

/// The range of a parameter, for people.
fn range(kind: &Kind) -> String {
    let top = |text: String, end: bool| if end { "no limit".to_owned() } else { text };
    match kind {
        Kind::Time(low, high) => format!("{low} to {}", top(high.to_string(), *high == Time::NEVER)),
        Kind::Bytes(low, high) => format!("{low} to {}", top(high.to_string(), *high == Bytes::UNLIMITED)),
        Kind::Rate(low, high) => format!("{low} to {}", top(high.to_string(), *high == <Rate as End>::END)),
        Kind::Ratio(low, high) => {
            format!("{} to {}", write_decimal(*low), top(write_decimal(*high), *high == Fixed::MAX))
        }
        Kind::Count(low, high) => format!("{low} to {}", top(high.to_string(), *high == u64::MAX)),
        Kind::Flag => "true or false".to_owned(),
        Kind::Choice(words) => words.join(", "),
    }
}

fn written(kind: &Kind, value: Value) -> Out {
    let out = match value {
        Value::Time(v) => OrUnlimited(v).write(),
        Value::Bytes(v) => OrUnlimited(v).write(),
        Value::Rate(v) => OrUnlimited(v).write(),
        Value::Ratio(v) => v.write(),
        Value::Count(v) => v.write(),
        Value::Flag(v) => v.write(),
        Value::Choice(i) => match kind {
            Kind::Choice(words) => words.get(i).map(|word| Out::text(word)),
            _ => None,
        },
    };
    out.unwrap_or_else(|| Out::plain(&0))
}

/// A quantity whose largest value means no limit.
trait End: Setting + PartialEq + Copy {
    const END: Self;
    const WORD: &'static str;
}

impl End for Time {
    const END: Self = Self::NEVER;
    const WORD: &'static str = "never";
}

impl End for Bytes {
    const END: Self = Self::UNLIMITED;
    const WORD: &'static str = "unlimited";
}

impl End for Rate {
    const END: Self = Self::from_bps(u64::MAX);
    const WORD: &'static str = "unlimited";
}

/// A quantity that may be written as the word for no limit.
struct OrUnlimited<T>(T);

impl<T: End> Setting for OrUnlimited<T> {
    fn shape() -> Shape {
        Shape::Either(vec![T::shape(), Shape::Choice(vec![(T::WORD, "no limit")])])
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        match &node.value {
            Written::Text(text) if text == T::WORD => Some(Self(T::END)),
            _ => T::read(node, key, reading).map(Self),
        }
    }

    fn write(&self) -> Option<Out> {
        if self.0 == T::END { Some(Out::text(&T::WORD)) } else { self.0.write() }
    }
}

/// An algorithm as lists describe it: its parameters with their kinds, ranges and defaults.
pub(crate) fn entry(name: &str) -> Option<Entry> {
    let params = AnyParams::named(name, None)?;
    let mut keys = Vec::new();
    params.params(|info, value| {
        let (shape, bound) = match info.kind {
            Kind::Time(_, Time::NEVER) => (OrUnlimited::<Time>::shape(), Bound::Any),
            Kind::Time(..) => (Time::shape(), Bound::Any),
            Kind::Bytes(_, Bytes::UNLIMITED) => (OrUnlimited::<Bytes>::shape(), Bound::Any),
            Kind::Bytes(..) => (Bytes::shape(), Bound::Any),
            Kind::Rate(_, high) if high == <Rate as End>::END => (OrUnlimited::<Rate>::shape(), Bound::Any),
            Kind::Rate(..) => (Rate::shape(), Bound::Any),
            Kind::Ratio(low, high) => (Fixed::shape(), Bound::Ratio(low, high)),
            Kind::Count(low, high) => (Shape::Count, Bound::Count(low, high)),
            Kind::Flag => (Shape::Flag, Bound::Any),
            Kind::Choice(words) => (Shape::Choice(words.iter().map(|w| (*w, "")).collect()), Bound::Any),
        };
        keys.push(KeyInfo {
            name: info.name,
            meaning: info.meaning.to_owned(),
            shape,
            bound,
            fallback: Fallback::Value(written(&info.kind, value).inline()),
            evidence: Some(info.evidence),
            source: Some(info.source),
            section: None,
        });
    });
    let summary = params.info().summary.to_owned();
    Some(Entry { name: name.to_owned(), brief: summary.clone(), summary, keys })
}
