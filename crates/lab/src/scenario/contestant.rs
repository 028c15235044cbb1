//! Contestants: an algorithm together with the switches, transport and balancing that it is made for.
//!
//! A choice is merged into the tree of a scenario before its sections are read, so that a scenario that was read
//! has only keys, and no contestant.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use incast_cc::Signals;
use incast_cc::any::CATALOGUE;
use incast_sim::describe::switch::Buffer;

use super::sections::{Root, switch};
use super::{catalogue, check};
use crate::cc::OWN;
use crate::grammar::Shape;
use crate::grammar::reading::Reading;
use crate::grammar::section::Section;
use crate::grammar::suggest::unknown;
use crate::grammar::tree::{self, Node, Place, Sources, Table, Value};
use crate::plugin;
use crate::problem::{Problem, fault};

/// The key of the definitions in a file, and of a choice.
const KEY: &str = "contestant";

/// The parts of a scenario that a contestant sets.
const PARTS: [&str; 4] = ["cc", "switch", "transport", "balancing"];

/// The standing of a contestant of Incast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is ranked with the others.
    Ranked,
    /// It is shown beside the others, and not ranked.
    Reference,
    /// Settings that several contestants have in common; it cannot be chosen.
    Base,
}

impl Role {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ranked => "ranked",
            Self::Reference => "reference",
            Self::Base => "base",
        }
    }
}

/// A contestant as it is written.
#[derive(Clone, Debug)]
struct Definition {
    name: String,
    what: String,
    role: Role,
    from: Option<(String, Place)>,
    table: Table,
    sources: Vec<(String, String)>,
}

/// The contestant that was chosen.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) name: String,
    /// The paths of the keys that it sets, or takes from others.
    keys: BTreeSet<String>,
    /// The overrides that define or choose it.
    overrides: BTreeSet<usize>,
}

impl Chosen {
    /// Returns the keys outside of it that were written and have no effect with its settings, each with the reason.
    pub(super) fn idle(&self, root: &Root, reading: &Reading) -> Vec<(String, String)> {
        let mut idle = check::idle(root);
        // Where nothing is dropped, nothing need be paused.
        let pauses = root.switch.pfc.as_ref().is_some_and(|pfc| pfc.xoff.is_none());
        let is_unlimited = |(_, size): (String, Buffer)| size == Buffer::Unlimited;
        if pauses && switch::sizes(&root.switch).all(is_unlimited) && self.keys.contains("switch.pfc") {
            let reason = "has no effect: the buffer is unlimited".to_owned();
            return vec![("switch.pfc".to_owned(), reason)];
        }
        idle.retain(|(key, _)| reading.place(key).is_some_and(|place| !self.sets(key, place)));
        idle
    }

    /// Whether it sets a key, or the section in which the key is, and no later override sets it again.
    pub(super) fn sets(&self, key: &str, place: Place) -> bool {
        let holds = |own: &String| {
            key == own || key.strip_prefix(own.as_str()).is_some_and(|rest| rest.starts_with('.'))
        };
        place.override_number().is_none_or(|number| self.overrides.contains(&number))
            && self.keys.iter().any(holds)
    }
}

/// A contestant of Incast, or what several have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContestantInfo {
    /// Its name.
    pub name: String,
    /// The title of its algorithm, transport or network; of a base its name.
    pub title: String,
    /// One line.
    pub what: String,
    /// Its standing.
    pub role: Role,
    /// Needs from hosts and switches; of a base nothing.
    pub needs: String,
    /// The algorithm with its preset, as it is written; nothing where none is at the sender.
    pub cc: String,
    /// The contestant or base from which it takes what it does not set.
    pub from: Option<String>,
    /// All keys that it sets, each with its value and the source of the value.
    pub settings: Vec<(String, String, String)>,
}

/// The definitions of Incast.
static BUILT_IN: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    let file = Sources { file: "contestants.toml".to_owned(), ..Sources::default() };
    let mut table = tree::parse(include_str!("contestants.toml"), &file).unwrap_or_default();
    place_in(&mut table, Place::CONTESTANT);
    let mut problems = Vec::new();
    let definitions = definitions(&table, true, &mut problems);
    debug_assert!(problems.is_empty(), "{problems:?}");
    definitions
});

/// Gives everything in a table the same place.
fn place_in(table: &mut Table, place: Place) {
    for (_, at, node) in &mut table.0 {
        *at = place;
        place_at(node, place);
    }
}

fn place_at(node: &mut Node, place: Place) {
    node.place = place;
    match &mut node.value {
        Value::Table(table) => place_in(table, place),
        Value::List(items) => items.iter_mut().for_each(|item| place_at(item, place)),
        _ => {}
    }
}

/// The contestants of Incast and their bases, in the order of lists.
#[must_use]
pub fn contestants() -> Vec<ContestantInfo> {
    BUILT_IN.iter().map(info).collect()
}

/// Takes the definitions of contestants and the choice of one out of a tree, and merges the choice in. The overrides
/// that define or choose one are applied here, and no others; their numbers are returned with the names of the file's
/// own contestants.
pub(super) fn choose(root: &mut Table, overrides: &[String]) -> Result<Choice, Vec<(Place, Problem)>> {
    let mut problems = Vec::new();
    let own = take_own(root, &mut problems);
    let mut definitions_table = own.unwrap_or_default();
    let (mut chosen, mut applied) = (None, BTreeSet::new());
    for (i, text) in overrides.iter().enumerate() {
        let Some((path, value)) = text.split_once('=') else { continue };
        let path = path.trim();
        if path == KEY {
            applied.insert(i);
            chosen = Some((i, tree::parse_value(value, i as u32 + 1)));
        } else if path.split('.').next().map(str::trim) == Some(KEY) {
            applied.insert(i);
            let mut whole = Table::default();
            let place = Place::of_override(i);
            whole.set(KEY, place, Node { place, value: Value::Table(definitions_table) });
            if let Err(problem) = tree::apply_override(&mut whole, text, i) {
                problems.push((place, problem));
            }
            definitions_table = match whole.0.pop() {
                Some((_, _, Node { value: Value::Table(table), .. })) => table,
                _ => Table::default(),
            };
        }
    }
    let mut whole = Table::default();
    whole.set(
        KEY,
        Place::default(),
        Node { place: Place::default(), value: Value::Table(definitions_table) },
    );
    let mut own = definitions(&whole, false, &mut problems);
    for definition in &own {
        if let Err(problem) = laid(&definition.name, &own) {
            problems.push(*problem);
        }
    }
    let names: Vec<String> = own.iter().map(|definition| definition.name.clone()).collect();
    let chosen = chosen.and_then(|(i, node)| pick(i, node, &mut own, &mut problems));
    if !problems.is_empty() {
        return Err(problems);
    }
    let chosen = chosen.map(|(name, table)| {
        let keys = merge(root, &table);
        Chosen { name, keys, overrides: applied.clone() }
    });
    Ok(Choice { chosen, own: names, applied })
}

/// The choice of a contestant.
#[derive(Debug, Default)]
pub(super) struct Choice {
    pub(super) chosen: Option<Chosen>,
    /// The contestants that the file defines.
    pub(super) own: Vec<String>,
    /// The overrides that are done with.
    pub(super) applied: BTreeSet<usize>,
}

/// Takes the table of definitions out of a file.
fn take_own(root: &mut Table, problems: &mut Vec<(Place, Problem)>) -> Option<Table> {
    let at = root.0.iter().position(|(name, ..)| name == KEY)?;
    let (_, place, node) = root.0.remove(at);
    if let Value::Table(table) = node.value {
        return Some(table);
    }
    let message = format!(
        "{} does not belong here: a file defines contestants as [contestant.NAME]",
        node.value.shown()
    );
    let hint = "an override chooses one: --set contestant=NAME";
    problems.push((place, fault(KEY, message).with_hint(hint)));
    None
}

/// Reads the definitions under `contestant`.
fn definitions(root: &Table, built_in: bool, problems: &mut Vec<(Place, Problem)>) -> Vec<Definition> {
    let Some(Node { value: Value::Table(table), .. }) = root.get(KEY) else { return Vec::new() };
    table
        .0
        .iter()
        .filter_map(|(name, place, node)| definition(name, (*place, node), built_in, problems))
        .collect()
}

/// Reads one definition.
fn definition(
    name: &str,
    (place, node): (Place, &Node),
    built_in: bool,
    problems: &mut Vec<(Place, Problem)>,
) -> Option<Definition> {
    let path = format!("{KEY}.{name}");
    let Value::Table(keys) = &node.value else {
        let message = format!("{} does not belong here; write a section [{path}]", node.value.shown());
        problems.push((node.place, fault(&path, message)));
        return None;
    };
    let before = problems.len();
    let mut made = Definition {
        name: name.to_owned(),
        what: String::new(),
        role: Role::Ranked,
        from: None,
        table: Table::default(),
        sources: Vec::new(),
    };
    for (key, at, node) in &keys.0 {
        let full = format!("{path}.{key}");
        let mut wrong =
            |place: Place, key: &str, message: Problem| problems.push((place, message.about(key)));
        match (key.as_str(), &node.value) {
            ("what", Value::Text(text)) => made.what.clone_from(text),
            ("from", Value::Text(text)) => made.from = Some((text.clone(), node.place)),
            ("role", Value::Text(text)) if built_in => {
                made.role = if text == Role::Base.name() { Role::Base } else { Role::Reference };
            }
            ("what" | "from", other) => {
                let message = format!("{} does not belong here; write a string", other.shown());
                wrong(node.place, &full, message.into());
            }
            ("sources", Value::Table(sources)) => {
                for (of, _, source) in &sources.0 {
                    match &source.value {
                        Value::Text(source) => made.sources.push((of.clone(), source.clone())),
                        other => {
                            let message = format!("{} does not belong here; write a string", other.shown());
                            wrong(source.place, &format!("{full}.{of}"), message.into());
                        }
                    }
                }
            }
            ("cc", Value::Text(label)) => {
                let node = Node { place: node.place, value: Value::Table(section_of(label, node.place)) };
                made.table.set(key, *at, node);
            }
            ("switch" | "transport", Value::Table(table)) => {
                check_keys(key, &full, table, problems);
                made.table.set(key, *at, node.clone());
            }
            ("cc", Value::Table(_)) | ("balancing", Value::Table(_) | Value::Flag(false)) => {
                made.table.set(key, *at, node.clone());
            }
            ("cc" | "switch" | "transport" | "balancing" | "sources", other) => {
                let message = format!("{} does not belong here; write a table", other.shown());
                wrong(node.place, &full, message.into());
            }
            _ => {
                let message = "a contestant sets cc, switch, transport and balancing";
                let is_scenario_s = Root::keys().iter().any(|known| known.name == key);
                let problem = if is_scenario_s {
                    format!("{message}; network and traffic are the scenario's").into()
                } else {
                    let known = PARTS.into_iter().chain(["what", "from", "sources"]);
                    unknown(format!("unknown key; {message}, and has what, from and sources"), key, known)
                };
                wrong(*at, &full, problem);
            }
        }
    }
    for (of, _) in &made.sources {
        let is_set = is_set(&made.table, of) || of == "from" && made.from.is_some();
        if !built_in && !is_set {
            let place = keys.get("sources").map_or(place, |node| node.place);
            let message = format!("{of} is no key that this contestant sets");
            problems.push((place, fault(&format!("{path}.sources"), message)));
        }
    }
    (problems.len() == before).then_some(made)
}

/// Whether a table has a path.
fn is_set(table: &Table, path: &str) -> bool {
    match path.split_once('.') {
        None => table.get(path).is_some(),
        Some((step, rest)) => match table.get(step).map(|node| &node.value) {
            Some(Value::Table(inner)) => is_set(inner, rest),
            _ => false,
        },
    }
}

/// Reports the keys of a section that the section has not.
fn check_keys(section: &str, path: &str, table: &Table, problems: &mut Vec<(Place, Problem)>) {
    let known = shapes(section);
    for (key, place, _) in &table.0 {
        if !known.contains_key(key.as_str()) {
            let problem = match catalogue::owner(key, section) {
                Some(owner) => format!("does not belong here: {owner}").into(),
                None => unknown(format!("unknown key of {section}"), key, known.keys().copied()),
            };
            problems.push((*place, problem.about(format!("{path}.{key}"))));
        }
    }
}

/// The keys of a section with what they accept.
fn shapes(section: &str) -> BTreeMap<&'static str, Shape> {
    let keys = Root::keys().into_iter().find(|key| key.name == section).and_then(|key| key.section);
    keys.into_iter().flat_map(|(_, keys)| keys).map(|key| (key.name, key.shape)).collect()
}

/// The section of an algorithm that is written as `name` or `name:preset`.
fn section_of(label: &str, place: Place) -> Table {
    let (name, preset) = label.split_once(':').map_or((label, None), |(name, preset)| (name, Some(preset)));
    let word = |text: &str| Node { place, value: Value::Text(text.to_owned()) };
    let mut table = Table::default();
    table.set("algorithm", place, word(name));
    if let Some(preset) = preset {
        table.set("preset", place, word(preset));
    }
    table
}

/// Returns the definition of a name: the file's, Incast's, or by rule the one of a registered algorithm.
fn find(name: &str, own: &[Definition]) -> Option<Definition> {
    let named = |of: &[Definition]| of.iter().find(|one| one.name == name).cloned();
    named(own).or_else(|| named(&BUILT_IN)).or_else(|| registered(name))
}

/// Returns the contestant of a registered algorithm without a definition.
fn registered(name: &str) -> Option<Definition> {
    let algorithm = plugin::find(name)?;
    let place = Place::CONTESTANT;
    let marked = algorithm.make(&Vec::new()).is_ok_and(|made| made.signals().contains(Signals::ECN));
    let mut table = Table::default();
    table.set("cc", place, Node { place, value: Value::Table(section_of(name, place)) });
    if marked {
        let text = |text: &str| Node { place, value: Value::Text(text.to_owned()) };
        let mut ecn = Table::default();
        ecn.set("kmin", place, text("0.2 BDP"));
        ecn.set("kmax", place, text("0.8 BDP"));
        ecn.set("pmax", place, Node { place, value: Value::Decimal("1.0".to_owned()) });
        table.section("switch", place).set("ecn", place, Node { place, value: Value::Table(ecn) });
    }
    Some(Definition {
        name: name.to_owned(),
        what: String::new(),
        role: Role::Ranked,
        from: Some(("lossless".to_owned(), place)),
        table,
        sources: Vec::new(),
    })
}

/// The names that can be chosen.
fn names(own: &[Definition]) -> Vec<String> {
    let built_in = BUILT_IN.iter().filter(|one| one.role != Role::Base);
    let names = own.iter().chain(built_in).map(|one| one.name.clone());
    names.chain(plugin::registered().into_iter().map(|(name, _)| name.to_owned())).collect()
}

/// Returns all that a contestant sets, with what it takes from others.
fn laid(name: &str, own: &[Definition]) -> Result<Table, Box<(Place, Problem)>> {
    let mut chain: Vec<Definition> = Vec::new();
    let mut next = find(name, own);
    while let Some(definition) = next {
        let from = definition.from.clone();
        let path = format!("{KEY}.{}.from", definition.name);
        let of = definition.name.clone();
        chain.push(definition);
        let Some((from, place)) = from else { break };
        // A contestant may change the one of Incast that has its name.
        let found = if from == of { find(&from, &[]) } else { find(&from, own) };
        let is_known = |one: &Definition| chain.iter().any(|other| other.name == one.name && one.name != of);
        next = match found {
            Some(one) if !is_known(&one) && chain.len() < 100 => Some(one),
            Some(_) => {
                let message = format!(
                    "{from:?} takes its settings from this contestant, which would take them from it"
                );
                return Err(Box::new((place, fault(&path, message))));
            }
            None => {
                let message =
                    format!("{from:?} is no contestant of this file, and Incast has none of this name");
                let known: Vec<String> =
                    names(own).into_iter().chain(BUILT_IN.iter().map(|one| one.name.clone())).collect();
                let problem = unknown(message, &from, known.iter().map(String::as_str));
                return Err(Box::new((place, problem.about(path))));
            }
        };
    }
    let mut table = Table::default();
    for definition in chain.iter().rev() {
        lay(&mut table, &definition.table);
    }
    Ok(table)
}

/// Lays one contestant over another: its algorithm and balancing replace the other ones, and so does each key of
/// switches and transport. An algorithm's keys without the algorithm are added.
fn lay(under: &mut Table, over: &Table) {
    for (part, place, node) in &over.0 {
        match (&node.value, part.as_str()) {
            (Value::Table(cc), "cc") if cc.get("algorithm").is_some() => {
                under.set(part, *place, node.clone());
            }
            (Value::Table(table), "cc" | "switch" | "transport") => {
                let section = under.section(part, *place);
                table.0.iter().for_each(|(key, place, node)| section.set(key, *place, node.clone()));
            }
            _ => under.set(part, *place, node.clone()),
        }
    }
}

/// Returns the contestant that an override names or defines.
fn pick(
    number: usize,
    node: Node,
    own: &mut Vec<Definition>,
    problems: &mut Vec<(Place, Problem)>,
) -> Option<(String, Table)> {
    let place = Place::of_override(number);
    let text = match node.value {
        Value::Text(text) => text,
        Value::Table(mut table) => {
            let Some(Node { value: Value::Text(name), .. }) = table.get("name").cloned() else {
                problems.push((
                    place,
                    Problem::new("a contestant in a table needs its name: {name=\"mine\", from=\"nscc\"}"),
                ));
                return None;
            };
            table.remove("name");
            let made =
                definition(&name, (place, &Node { place, value: Value::Table(table) }), false, problems)?;
            own.retain(|one| one.name != name);
            own.push(made);
            name
        }
        other => {
            problems.push((place, Problem::new(format!("{} is no name of a contestant", other.shown()))));
            return None;
        }
    };
    let (name, preset) = match text.split_once(':') {
        Some((name, preset)) => (name, Some(preset)),
        None => (text.as_str(), None),
    };
    let Some(found) = find(name, own) else {
        let message = format!("{name:?} is no contestant of this file, and Incast has none of this name");
        let known = names(own);
        let problem = unknown(message, name, known.iter().map(String::as_str));
        let all = "`incast list contestants` has all.";
        problems.push((place, problem.with_further_hint(all).with_further_hint(OWN)));
        return None;
    };
    if found.role == Role::Base {
        let message = format!("{name:?} is what several contestants have in common, and has no algorithm");
        let hint = format!("a contestant takes it: {KEY}={{name=\"mine\", from=\"{name}\", cc=\"swift\"}}");
        problems.push((place, Problem::new(message).with_hint(hint)));
        return None;
    }
    let mut table = match laid(name, own) {
        Ok(table) => table,
        Err(problem) => {
            problems.push(*problem);
            return None;
        }
    };
    if let Some(preset) = preset {
        let Some(algorithm) = algorithm_of(&table) else {
            let message = format!("{name} has no algorithm at the sender, and so no presets");
            problems.push((place, Problem::new(message)));
            return None;
        };
        let section = section_of(&format!("{algorithm}:{preset}"), place);
        table.set("cc", place, Node { place, value: Value::Table(section) });
    }
    Some((text, table))
}

/// The algorithm of a contestant.
fn algorithm_of(table: &Table) -> Option<String> {
    let Some(Node { value: Value::Table(cc), .. }) = table.get("cc") else { return None };
    match &cc.get("algorithm")?.value {
        Value::Text(name) => Some(name.clone()),
        _ => None,
    }
}

/// Merges a contestant into a scenario. Returns the paths that it sets.
fn merge(root: &mut Table, contestant: &Table) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for (part, place, node) in &contestant.0 {
        let section = match &node.value {
            Value::Flag(false) => {
                root.remove(part);
                continue;
            }
            Value::Table(table)
                if part != "balancing" && !(part == "cc" && table.get("algorithm").is_some()) =>
            {
                table
            }
            _ => {
                root.set(part, *place, node.clone());
                keys.insert(part.clone());
                continue;
            }
        };
        if let Some(Node { value: Value::Text(label), place }) = root.get(part).filter(|_| part == "cc") {
            let (table, place) = (section_of(label, *place), *place);
            root.set(part, place, Node { place, value: Value::Table(table) });
        }
        let shapes = if part == "cc" { BTreeMap::new() } else { shapes(part) };
        let at = root.section(part, *place);
        for (key, place, node) in &section.0 {
            let is_flag = part == "cc" || shapes.get(key.as_str()) == Some(&Shape::Flag);
            if matches!(node.value, Value::Flag(false)) && !is_flag {
                at.remove(key);
            } else {
                at.set(key, *place, node.clone());
                keys.insert(format!("{part}.{key}"));
            }
        }
    }
    keys
}

/// Describes a definition of Incast.
fn info(definition: &Definition) -> ContestantInfo {
    let table = laid(&definition.name, &[]).unwrap_or_default();
    let algorithm = algorithm_of(&table);
    let own = catalogue::own_controls().into_iter().find(|control| control.name == definition.name);
    let known = CATALOGUE.iter().find(|info| Some(info.name) == algorithm.as_deref());
    let (title, summary, needs) = match (&own, known) {
        (Some(own), _) => (own.control.title, own.summary, own.control.needs),
        (None, Some(info)) => (info.title, info.summary, info.needs),
        (None, None) => (definition.name.as_str(), "", ""),
    };
    let label = algorithm.map_or_else(String::new, |name| {
        let preset = match table.get("cc").map(|node| &node.value) {
            Some(Value::Table(cc)) => cc.get("preset").map(|node| &node.value),
            _ => None,
        };
        match preset {
            Some(Value::Text(preset)) => format!("{name}:{preset}"),
            _ => name,
        }
    });
    ContestantInfo {
        name: definition.name.clone(),
        title: title.to_owned(),
        what: if definition.what.is_empty() { summary.to_owned() } else { definition.what.clone() },
        role: definition.role,
        needs: needs.to_owned(),
        cc: label,
        from: definition.from.as_ref().map(|(from, _)| from.clone()),
        settings: settings(&definition.name, &table),
    }
}

/// The keys of a contestant of Incast, each with its value and its source.
fn settings(name: &str, table: &Table) -> Vec<(String, String, String)> {
    let mut settings = Vec::new();
    for (part, _, node) in &table.0 {
        match &node.value {
            Value::Table(inner) => {
                for (key, _, node) in &inner.0 {
                    let path = format!("{part}.{key}");
                    let source = source_of(name, &path);
                    settings.push((path, write(node), source));
                }
            }
            _ => settings.push((part.clone(), write(node), source_of(name, part))),
        }
    }
    settings
}

/// Returns the source of a key: the one that names most of its path, of the definition that sets it. What a base sets
/// has the source of the base, and beside it the reason for the base.
fn source_of(name: &str, path: &str) -> String {
    let mut next = find(name, &[]);
    let mut reason = None;
    while let Some(definition) = next {
        let of =
            |wanted: &str| definition.sources.iter().find(|(of, _)| of == wanted).map(|(_, s)| s.clone());
        if is_set(&definition.table, path) {
            let part = path.split('.').next().unwrap_or(path);
            if let Some(source) = of(path).or_else(|| of(part)) {
                return match reason {
                    Some(reason) if reason != source => format!("{source}; for it: {reason}"),
                    _ => source,
                };
            }
            return if part == "cc" { "the default preset".to_owned() } else { String::new() };
        }
        reason = reason.or_else(|| of("from"));
        next = definition.from.as_ref().and_then(|(from, _)| find(from, &[]));
    }
    String::new()
}

/// A value as a file has it.
fn write(node: &Node) -> String {
    match &node.value {
        Value::List(items) => format!("[{}]", items.iter().map(write).collect::<Vec<_>>().join(", ")),
        Value::Table(table) if table.0.is_empty() => "{}".to_owned(),
        Value::Table(table) => {
            let keys: Vec<String> =
                table.0.iter().map(|(key, _, node)| format!("{key} = {}", write(node))).collect();
            format!("{{ {} }}", keys.join(", "))
        }
        value => value.shown(),
    }
}

/// Reports the problems of contestants, each at its place.
pub(super) fn located(problems: Vec<(Place, Problem)>, sources: &Sources) -> Vec<Problem> {
    let mut reading = Reading::new(sources.clone(), std::path::PathBuf::new(), catalogue::owner);
    problems.into_iter().for_each(|(place, problem)| reading.report(place, problem));
    reading.into_problems().0
}

#[cfg(test)]
mod tests;
