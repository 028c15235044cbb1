//! The state of one reading: the problems found, and where each key was written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::section::Section;
use super::setting::{Bound, Setting};
use super::suggest::unknown;
use super::tree::{Node, Place, Sources, Table, Value};
use crate::problem::{Problem, Problems};

/// Place of each key that was written, by its path; other keys are absent.
pub(crate) type Places = BTreeMap<String, Place>;

/// Says where a key of this name belongs, if it does not to the table at this path.
pub(crate) type Owner = fn(name: &str, path: &str) -> Option<String>;

/// One reading of one scenario.
pub(crate) struct Reading {
    /// Problems with their places, in the order found.
    problems: Vec<(Place, Problem)>,
    /// Warnings: what is possible but probably not intended.
    warnings: Vec<(Place, Problem)>,
    pub(crate) places: Places,
    /// Files that the scenario names and that were read.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) sources: Sources,
    /// Folder to which the paths of files in a scenario are relative.
    pub(crate) folder: PathBuf,
    /// For messages about keys in the wrong place.
    owner: Owner,
}

impl Reading {
    pub(crate) fn new(sources: Sources, folder: PathBuf, owner: Owner) -> Self {
        Self {
            problems: Vec::new(),
            warnings: Vec::new(),
            places: Places::new(),
            files: Vec::new(),
            sources,
            folder,
            owner,
        }
    }

    /// Continues an earlier reading: problems are located by its positions.
    pub(crate) fn resume(sources: Sources, folder: PathBuf, places: Places) -> Self {
        Self {
            problems: Vec::new(),
            warnings: Vec::new(),
            places,
            files: Vec::new(),
            sources,
            folder,
            owner: |_, _| None,
        }
    }

    /// Reports a problem of the value at `place`.
    pub(crate) fn wrong(&mut self, place: Place, key: &str, message: impl Into<Problem>) {
        self.report(place, message.into().about(key));
    }

    /// Reports a given problem at `place`.
    pub(crate) fn report(&mut self, place: Place, problem: Problem) {
        self.problems.push((place, problem));
    }

    /// Reports a problem about a key that was read before. Where the key was not written, it is
    /// placed at the nearest section around it that was.
    pub(crate) fn wrong_key(&mut self, key: &str, message: impl Into<Problem>) {
        let place = self.place_of(key);
        self.wrong(place, key, message);
    }

    /// Reports a problem of a section that was read before; its key is one of the section's.
    pub(crate) fn fault(&mut self, section: &str, problem: Problem) {
        let placed = self.placed(section, problem);
        self.problems.push(placed);
    }

    /// Records a warning about a section that was read before.
    pub(crate) fn warn(&mut self, section: &str, problem: Problem) {
        let placed = self.placed(section, problem);
        self.warnings.push(placed);
    }

    /// Records a warning about a key that was read before, like [`wrong_key`](Self::wrong_key).
    pub(crate) fn warn_key(&mut self, key: &str, message: impl Into<Problem>) {
        let place = self.place_of(key);
        self.warnings.push((place, message.into().about(key)));
    }

    fn placed(&self, section: &str, mut problem: Problem) -> (Place, Problem) {
        let key = match &problem.key {
            Some(key) => format!("{section}.{key}"),
            None => section.to_owned(),
        };
        let place = self.place_of(&key);
        problem.key = Some(key);
        (place, problem)
    }

    /// Takes the warnings, in the order of the file.
    pub(crate) fn take_warnings(&mut self) -> Vec<Problem> {
        let mut warnings = core::mem::take(&mut self.warnings);
        warnings.sort_by_key(|(place, _)| *place);
        warnings.into_iter().map(|(place, problem)| self.sources.locate(problem, place)).collect()
    }

    /// Returns the place of a key, or of the nearest section around it that was written.
    fn place_of(&self, key: &str) -> Place {
        let mut path = key;
        loop {
            if let Some(place) = self.places.get(path) {
                return *place;
            }
            match path.rsplit_once('.') {
                Some((section, _)) => path = section,
                None => return Place::default(),
            }
        }
    }

    /// Returns a problem of a key that was read before, with its place.
    pub(crate) fn located(&self, key: &str, message: impl Into<Problem>) -> Problem {
        self.sources.locate(message.into().about(key), self.place_of(key))
    }

    /// Returns the place of a key that was written.
    pub(crate) fn place(&self, key: &str) -> Option<Place> {
        self.places.get(key).copied()
    }

    /// Whether a key was written.
    pub(crate) fn written(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns the problems in the order of the file, and then the problems of overrides.
    pub(crate) fn into_problems(self) -> Problems {
        let mut problems = self.problems;
        problems.sort_by_key(|(place, _)| *place);
        Problems(problems.into_iter().map(|(place, problem)| self.sources.locate(problem, place)).collect())
    }
}

/// Reads the keys of one table, and keeps track of those that were not read.
pub(crate) struct TableReader<'a, 'r> {
    table: &'a Table,
    place: Place,
    path: String,
    known: Vec<&'static str>,
    /// Name of the table in messages.
    title: Option<String>,
    /// Whether the keys that the table may have are still known.
    clear: bool,
    pub(crate) reading: &'r mut Reading,
}

impl<'a, 'r> TableReader<'a, 'r> {
    pub(crate) fn new(table: &'a Table, place: Place, path: &str, reading: &'r mut Reading) -> Self {
        Self { table, place, path: path.to_owned(), known: Vec::new(), title: None, clear: true, reading }
    }

    /// The full path of a key of this table.
    pub(crate) fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Reads a key. `fallback` gives the value of a key that is absent; a key that has no fallback is
    /// required. A fallback of `None` depends on another key that has a problem itself.
    pub(crate) fn read<T: Setting>(
        &mut self,
        key: &'static str,
        bound: Bound,
        fallback: Option<impl FnOnce() -> Option<T>>,
    ) -> Option<T> {
        self.known.push(key);
        let path = self.path(key);
        let Some((_, name_place, node)) = self.table.0.iter().find(|(name, _, _)| name == key) else {
            if let Some(fallback) = fallback {
                return fallback();
            }
            self.reading.wrong(self.place, &path, format!("is missing; write {}", T::shape().wanted(&path)));
            return None;
        };
        let place = if matches!(node.value, Value::Table(_)) { *name_place } else { node.place };
        self.reading.places.insert(path.clone(), place);
        let node = Node { place, value: node.value.clone() };
        let value = T::read(&node, &path, self.reading)?;
        if value.within(bound) {
            return Some(value);
        }
        // Of a list the element that is meant.
        let (path, node) = match (value.first_outside(bound), node) {
            (Some(i), Node { value: Value::List(items), .. }) => (format!("{path}.{i}"), items[i].clone()),
            (_, node) => (path, node),
        };
        let negative = if bound == Bound::Positive { "must be" } else { "is out of range: allowed is" };
        self.reading.wrong(node.place, &path, format!("{} {negative} {bound}", node.value.shown()));
        None
    }

    /// The text of a key that determines which other keys are allowed, and its position.
    pub(crate) fn word(
        &mut self,
        key: &'static str,
        known: &[&'static str],
        what: &str,
        advice: Option<&str>,
    ) -> Option<&'static str> {
        self.known.push(key);
        let path = self.path(key);
        let list = known.join(", ");
        let Some(node) = self.table.get(key) else {
            self.clear = false;
            self.reading.wrong(self.place, &path, format!("is missing; write one of: {list}"));
            return None;
        };
        self.reading.places.insert(path.clone(), node.place);
        let Value::Text(text) = &node.value else {
            self.clear = false;
            let shown = node.value.shown();
            self.reading.wrong(
                node.place,
                &path,
                format!("{shown} does not belong here; write one of: {list}"),
            );
            return None;
        };
        if let Some(word) = known.iter().find(|word| *word == text) {
            return Some(word);
        }
        self.clear = false;
        let message = format!("there is no {what} {text:?}; known: {list}");
        let problem = unknown(message, text, known.iter().copied());
        let advised = advice.into_iter().fold(problem, Problem::with_further_hint);
        self.reading.wrong(node.place, &path, advised);
        None
    }

    /// Returns the value that is written at a key.
    pub(crate) fn written(&self, key: &str) -> Option<&'a Value> {
        self.table.get(key).map(|node| &node.value)
    }

    /// Counts a key among those that the table may have.
    pub(crate) fn allow(&mut self, key: &'static str) {
        self.known.push(key);
    }

    /// Whether a key is written.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    /// All keys that were not read so far; every key is allowed from now on.
    pub(crate) fn rest(&mut self) -> Vec<(String, Node)> {
        self.clear = false;
        let unasked = self.table.0.iter().filter(|(name, _, _)| !self.known.contains(&name.as_str()));
        unasked.map(|(name, _, node)| (name.clone(), node.clone())).collect()
    }

    /// Gives the table a name for messages.
    pub(crate) fn entitle(&mut self, title: String) {
        self.title = Some(title);
    }

    /// Reports every key that was not read as unknown.
    pub(crate) fn finish(self) {
        if !self.clear {
            return;
        }
        let root = if self.path.is_empty() { "a scenario" } else { &self.path };
        let title = self.title.as_deref().unwrap_or(root);
        let unasked = self.table.0.iter().filter(|(name, _, _)| !self.known.contains(&name.as_str()));
        for (name, place, _) in unasked {
            let keys = format!("the keys of {title} are {}", self.known.join(", "));
            let problem = match (self.reading.owner)(name, &self.path) {
                Some(owner) => format!("does not belong here: {owner}; {keys}").into(),
                None => unknown(format!("unknown key; {keys}"), name, self.known.iter().copied()),
            };
            self.reading.wrong(*place, &self.path(name), problem);
        }
    }
}

/// Reads a whole table as a section. `true` is a section with all its defaults.
pub(crate) fn read_section<S: Section + Setting>(node: &Node, key: &str, reading: &mut Reading) -> Option<S> {
    let empty = Table::default();
    let table = match &node.value {
        Value::Table(table) => table,
        Value::Flag(true) => &empty,
        _ => return super::setting::wrong_type(node, key, reading),
    };
    reading.places.entry(key.to_owned()).or_insert(node.place);
    let mut reader = TableReader::new(table, node.place, key, reading);
    let section = S::fields(&mut reader);
    reader.finish();
    section
}
