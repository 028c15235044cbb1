//! Scenarios: from a description on disk to a checked one, and from that to a simulation.
//!
//! A scenario is a TOML file in which every quantity has its unit. It is checked completely before anything
//! runs: an unknown key, a missing unit, an impossible combination, or a setting that cannot have any
//! effect is a [`Problem`] with file, line and key, and all of them are reported together.
//!
//! ```
//! use incast_lab::Scenario;
//! let text = r#"
//!     topology = { kind = "star", hosts = 4, rate = "100Gbps", delay = "3us" }
//!     cc = { algorithm = "constant" }
//!     [[traffic]]
//!     kind = "incast"
//!     to = "h3"
//!     size = "450KB"
//! "#;
//! let scenario = Scenario::from_toml(text, "quick.toml", &["traffic.incast.size=1MB".to_owned()]).unwrap();
//! assert_eq!(scenario.build().unwrap().simulation.flows.len(), 3);
//! let problems = Scenario::from_toml(&text.replace("3us", "3"), "quick.toml", &[]).unwrap_err();
//! assert!(problems.to_string().contains("topology.delay: \"3\": a time needs its unit"));
//! ```

mod build;
pub mod catalogue;
mod check;
pub mod contestant;
mod relative;
mod sections;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use incast_cc::AnyParams;
use incast_sim::describe::network::Clock;
use incast_units::Bytes;

use crate::cc::Cc;
use crate::files;
use crate::formats::describe::Format;
use crate::grammar::reading::{Places, Reading, TableReader};
use crate::grammar::section::Section;
use crate::grammar::setting::Setting;
use crate::grammar::tree::{self, Node, Place, Sources, Table, Value};
use crate::grammar::write;
use crate::problem::{Problem, Problems};
use crate::topology::{Fabric, named};
use crate::traffic;
use check::Checked;
use contestant::Choice;
use sections::Root;

pub use build::Built;
pub(crate) use sections::transport::name_of as transport_name;

/// A checked scenario. Two scenarios are equal when they describe the same runs.
#[derive(Clone, Debug)]
pub struct Scenario {
    root: Root,
    name: String,
    checked: Arc<Checked>,
    sources: Sources,
    places: Places,
    files: Vec<PathBuf>,
    folder: PathBuf,
    /// Keys that have no effect with the contestant that was chosen.
    dropped: Vec<Problem>,
    /// The contestants that its file defines.
    own: Vec<String>,
    /// Its text with every value explicit, once it was asked for.
    effective: OnceLock<Arc<str>>,
}

impl PartialEq for Scenario {
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root
    }
}

impl Scenario {
    /// Reads and checks a scenario.
    ///
    /// `file_name` is for messages; other files that the scenario names are found from its folder, and
    /// its stem is the scenario's name if the text gives none. `overrides` are texts like
    /// `topology.rate=400Gbps` or `traffic.background.load=0.8`, applied in order before anything is
    /// checked.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn from_toml(text: &str, file_name: &str, overrides: &[String]) -> Result<Self, Problems> {
        let mut sources =
            Sources { file: file_name.to_owned(), overrides: overrides.to_vec(), ..Sources::default() };
        let mut table = tree::parse(files::without_mark(text), &sources).map_err(Problems)?;
        let choice = contestant::choose(&mut table, overrides)
            .map_err(|problems| Problems(contestant::located(problems, &sources)))?;
        let Choice { chosen, own, applied } = choice;
        sources.contestant = chosen.as_ref().map(|chosen| chosen.name.clone());
        let others = overrides.iter().enumerate().filter(|(i, _)| !applied.contains(i));
        let wrong: Vec<Problem> = others
            .filter_map(|(i, text)| {
                forget_parameters(&mut table, text);
                tree::apply_override(&mut table, text, i).err()
            })
            .collect();
        if !wrong.is_empty() {
            return Err(Problems(wrong));
        }
        named::expand(&mut table);
        let path = Path::new(file_name);
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let aside = Reading::new(sources.clone(), folder.clone(), catalogue::owner);
        let unclear = relative::resolve(&mut table, &sources, &aside);
        let mut dropped = Vec::new();
        let (root, mut reading) = loop {
            let (root, reading) = read(&table, sources.clone(), folder.clone());
            // What is removed may be what gave another key an effect.
            let idle = match (&chosen, &root) {
                (Some(chosen), Some(root)) if reading.is_sound() => chosen.idle(root, &reading),
                _ => Vec::new(),
            };
            let removed = idle.into_iter().filter(|(key, _)| table.forget(key));
            let removed: Vec<_> = removed.map(|(key, reason)| reading.located(&key, reason)).collect();
            if removed.is_empty() {
                break (root, reading);
            }
            dropped.extend(removed);
        };
        unclear.into_iter().for_each(|(place, problem)| reading.report(place, problem));
        let stem = path.file_stem().map_or("scenario".into(), |stem| stem.to_string_lossy());
        Ok(Self { dropped, own, ..Self::checked(root, &stem, reading)? })
    }

    /// Reads and checks the scenario in a file. See [`from_toml`](Self::from_toml).
    ///
    /// # Errors
    /// When the file cannot be read or is no text, and everything that is wrong with the scenario.
    pub fn load(path: impl AsRef<Path>, overrides: &[String]) -> Result<Self, Problems> {
        let path = path.as_ref();
        let file = path.display().to_string();
        let problem = |message: String| Problem::new(message).in_file(&file);
        if path.is_dir() {
            return Err(problem("this is a folder; name a scenario file in it".to_owned()).into());
        }
        let no_scenario = |format: Format| {
            let message = format!("this is no scenario, but looks like {}", format.noun());
            let hint =
                "`incast validate FILE` checks such a file, `incast convert` makes a scenario that names it";
            Problems::from(problem(message).with_hint(hint))
        };
        let bytes = files::read_bytes(path, files::MAX_TEXT)?;
        if let Some(format) = Format::of_binary(&bytes) {
            return Err(no_scenario(format));
        }
        let text = files::text_of(bytes, &file)?;
        let is_toml = || tree::parse(&text, &Sources { file: file.clone(), ..Sources::default() }).is_ok();
        if let Some(format) = Format::of(&text)
            && !is_toml()
        {
            return Err(no_scenario(format));
        }
        Self::from_toml(&text, &file, overrides)
    }

    /// Checks what was read as a whole.
    fn checked(root: Option<Root>, stem: &str, mut reading: Reading) -> Result<Self, Problems> {
        let Some(mut root) = root.filter(|_| reading.is_sound()) else {
            return Err(reading.into_problems());
        };
        let checked = check::check(&root, &mut reading);
        match checked {
            Some(checked) if reading.is_sound() => {
                let name = root.name.get_or_insert_with(|| stem.to_owned()).clone();
                Ok(Self {
                    root,
                    name,
                    checked: Arc::new(checked),
                    sources: reading.sources,
                    places: reading.places,
                    files: reading.files,
                    folder: reading.folder,
                    dropped: Vec::new(),
                    own: Vec::new(),
                    effective: OnceLock::new(),
                })
            }
            _ => Err(reading.into_problems()),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Seed of its random draws.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.root.seed
    }

    /// Returns the scenario's algorithm with its preset, like `oscar:paper`; `None` if every traffic block
    /// has its own. A transport without congestion control takes the place of an algorithm.
    #[must_use]
    pub fn algorithm(&self) -> Option<String> {
        self.uncontrolled().or_else(|| self.root.cc.as_ref().map(Cc::label))
    }

    /// The parameters of that algorithm; `None` where there is none, and for a registered one.
    #[must_use]
    pub fn parameters(&self) -> Option<AnyParams> {
        self.root.cc.as_ref().and_then(Cc::parameters)
    }

    /// The algorithms in use, each with its preset, or the transport if it has no congestion control.
    #[must_use]
    pub fn algorithms(&self) -> Vec<String> {
        let controlled = self.checked.algorithms.iter().map(Cc::label);
        self.uncontrolled().into_iter().chain(controlled).collect()
    }

    /// The name of the transport if it has no congestion control.
    fn uncontrolled(&self) -> Option<String> {
        let kind = self.root.transport.kind;
        (!kind.is_controlled()).then(|| sections::transport::name_of(kind).to_owned())
    }

    /// Names of the traffic blocks.
    #[must_use]
    pub fn groups(&self) -> Vec<&str> {
        self.root.traffic.iter().map(traffic::Block::name).collect()
    }

    /// Warnings: what is possible but probably not intended, like a link that the traffic overloads.
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.checked.warnings
    }

    /// Keys that were written and have no effect with the settings of the contestant that was chosen, each with the
    /// reason. They were removed.
    #[must_use]
    pub fn dropped(&self) -> &[Problem] {
        &self.dropped
    }

    /// The contestant that was chosen, with its preset if one was named.
    #[must_use]
    pub fn contestant(&self) -> Option<&str> {
        self.sources.contestant.as_deref()
    }

    /// The names of the contestants that its file and its overrides define.
    #[must_use]
    pub fn own_contestants(&self) -> &[String] {
        &self.own
    }

    /// A problem of a key of the file, with its place: what something that uses the scenario cannot do.
    #[must_use]
    pub fn problem(&self, key: &str, problem: Problem) -> Problem {
        let mut reading = self.resume();
        reading.wrong_key(key, problem.clone());
        reading.into_problems().0.into_iter().next().unwrap_or(problem)
    }

    /// The files in the format of another program that it names; the effective scenario names them too.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Payload of a full data packet.
    #[must_use]
    pub fn payload(&self) -> Bytes {
        self.root.transport.payload
    }

    /// Whether each node has a clock of its own, because the scenario says so or by default.
    #[must_use]
    pub fn has_own_clocks(&self) -> bool {
        let scope = self.checked.scope(&self.root);
        sections::run::settings(&self.root.run, &scope.sections).2 == Clock::Free
    }

    /// Its network.
    #[must_use]
    pub fn fabric(&self) -> &Fabric {
        &self.checked.fabric
    }

    /// The scenario with every value explicit. It reads back as an equal scenario.
    #[must_use]
    pub fn effective_toml(&self) -> String {
        self.effective().to_string()
    }

    /// Returns the text of [`effective_toml`](Self::effective_toml), which is made once.
    fn effective(&self) -> &Arc<str> {
        self.effective.get_or_init(|| write::document(&self.entries()).into())
    }

    /// Returns its keys with their values, except those without effect.
    pub(crate) fn entries(&self) -> Vec<(String, write::Out)> {
        let idle = check::idle(&self.root);
        let mut entries = Vec::new();
        self.root.write_fields(&mut entries);
        prune(&mut entries, "", &idle);
        entries
    }

    /// Returns its sections.
    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// Returns the algorithms in use; a flow's `algorithm` is an index into them.
    pub(crate) fn controls(&self) -> &[Cc] {
        &self.checked.algorithms
    }

    /// Continues its reading, so that problems of its keys have their places.
    pub(crate) fn resume(&self) -> Reading {
        Reading::resume(self.sources.clone(), self.folder.clone(), self.places.clone())
    }

    /// Returns the scenario with another algorithm: `name` or `name:preset`, and parameters like `eta=0.95`.
    /// The parameters of the old one are dropped. Traffic blocks with an algorithm of their own keep it.
    ///
    /// # Errors
    /// When there is no such algorithm, preset or parameter, or it does not fit the scenario.
    pub fn with_algorithm(&self, algorithm: &str, parameters: &[String]) -> Result<Self, Problems> {
        let sources =
            Sources { file: algorithm.to_owned(), overrides: parameters.to_vec(), ..Sources::default() };
        let (name, preset) = match algorithm.split_once(':') {
            Some((name, preset)) => (name, Some(preset)),
            None => (algorithm, None),
        };
        let place = Place::default();
        let text = |text: &str| Node { place, value: Value::Text(text.to_owned()) };
        let mut table = Table(vec![("algorithm".to_owned(), place, text(name))]);
        if let Some(preset) = preset {
            table.0.push(("preset".to_owned(), place, text(preset)));
        }
        let wrong: Vec<Problem> = parameters
            .iter()
            .enumerate()
            .filter_map(|(i, text)| tree::apply_override(&mut table, text, i).err())
            .collect();
        if !wrong.is_empty() {
            return Err(Problems(wrong));
        }
        let mut reading = Reading::new(sources, self.folder.clone(), catalogue::owner);
        let cc = Cc::read(&Node { place, value: Value::Table(table) }, "cc", &mut reading);
        let Some(cc) = cc.filter(|_| reading.is_sound()) else { return Err(reading.into_problems()) };
        let root = Root { cc: Some(cc), ..self.root.clone() };
        let mut places = self.places.clone();
        places.retain(|key, _| key != "cc" && !key.starts_with("cc."));
        places.insert("cc".to_owned(), place);
        let mut reading = Reading::resume(self.sources.clone(), self.folder.clone(), places);
        reading.files.clone_from(&self.files);
        let (dropped, own) = (self.dropped.clone(), self.own.clone());
        Ok(Self { dropped, own, ..Self::checked(Some(root), &self.name, reading)? })
    }

    /// Returns the scenario with another seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        // A sweep has thousands of seeds of one scenario, whose texts differ in one line.
        let text = reseeded(self.effective(), self.root.seed, seed);
        let effective = text.map_or_else(OnceLock::new, |text| OnceLock::from(Arc::from(text)));
        Self { root: Root { seed, ..self.root.clone() }, effective, ..self.clone() }
    }
}

/// Returns the text of a scenario with another seed; `None` where the line of its seed is not found.
fn reseeded(text: &str, old: u64, new: u64) -> Option<String> {
    let line = |seed: u64| format!("seed = {seed}\n");
    let old = line(old);
    // Keys at the top come before the first section.
    let end = text.find("\n[").map_or(text.len(), |end| end + 1);
    let top = &text[..end];
    let place = if top.starts_with(&old) { 0 } else { top.find(&format!("\n{old}"))? + 1 };
    Some(format!("{}{}{}", &text[..place], line(new), &text[place + old.len()..]))
}

/// Reads the sections of a scenario.
fn read(table: &Table, sources: Sources, folder: PathBuf) -> (Option<Root>, Reading) {
    let mut reading = Reading::new(sources, folder, catalogue::owner);
    let mut reader = TableReader::new(table, Place::default(), "", &mut reading);
    let mut root = Root::fields(&mut reader);
    reader.finish();
    if let Some(root) = &mut root {
        root.imply(&reading);
    }
    (root, reading)
}

/// Removes preset and parameters of an algorithm that an override replaces by another one.
fn forget_parameters(table: &mut Table, text: &str) {
    let Some((path, value)) = text.split_once('=') else { return };
    let Some(Node { value: Value::Table(cc), .. }) = table.get_mut("cc") else { return };
    let other = |node: &Node| node.value.shown() != tree::parse_value(value, 0).value.shown();
    if path.trim() == "cc.algorithm" && cc.get("algorithm").is_some_and(other) {
        cc.0.clear();
    }
}

/// Removes the keys that have no effect.
fn prune(entries: &mut Vec<(String, write::Out)>, path: &str, idle: &[(String, String)]) {
    entries.retain_mut(|(key, value)| {
        let full = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if let write::Out::Table(inner) = value {
            prune(inner, &full, idle);
        }
        !idle.iter().any(|(idle, _)| *idle == full)
    });
}
