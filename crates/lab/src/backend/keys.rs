//! A walk over a scenario beside the declarations of its keys, for those that are set away from their defaults.

use crate::grammar::section::{Fallback, KeyInfo, Section};
use crate::grammar::setting::Shape;
use crate::grammar::write::Out;
use crate::scenario::catalogue;
use crate::traffic::Common;

/// A key that is set away from its default.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Set {
    /// Its path in the file: `traffic.background.queue`.
    pub(super) key: String,
    /// Its path in the declarations: `traffic.queue`.
    pub(super) declared: String,
    /// Its value, unless that is a table, a list, or nothing but true or false.
    pub(super) value: Option<String>,
    /// Its default.
    pub(super) fallback: Fallback,
}

/// Returns the keys of a scenario that are set away from their defaults and are not among those that are honoured.
pub(super) fn unhonoured(entries: &[(String, Out)], honours: &[&str]) -> Vec<Set> {
    let mut walk = Walk { honours, found: Vec::new() };
    let top = Path { key: String::new(), declared: String::new() };
    walk.table(&top, &top_level(), entries, str::to_owned);
    walk.found
}

/// Returns the keys at the top of a scenario.
fn top_level() -> Vec<KeyInfo> {
    catalogue::sections().into_iter().next().map(|top| top.keys).unwrap_or_default()
}

/// A place in the file and in the declarations.
struct Path {
    key: String,
    declared: String,
}

impl Path {
    fn join(&self, key: &str, declared: &str) -> Self {
        Self { key: joined(&self.key, key), declared: joined(&self.declared, declared) }
    }
}

fn joined(path: &str, step: &str) -> String {
    if path.is_empty() { step.to_owned() } else { format!("{path}.{step}") }
}

struct Walk<'a> {
    honours: &'a [&'a str],
    found: Vec<Set>,
}

impl Walk<'_> {
    /// Visits the keys of a table. `declared` gives the name of each in the declarations.
    fn table(
        &mut self,
        path: &Path,
        keys: &[KeyInfo],
        entries: &[(String, Out)],
        declared: impl Fn(&str) -> String,
    ) {
        let value = |name: &str| entries.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        for info in keys {
            let Some(written) = value(info.name) else { continue };
            let is_default = match &info.fallback {
                Fallback::Value(default) => written.inline() == *default,
                Fallback::From(other) => value(other) == Some(written),
                Fallback::Required | Fallback::Nothing => false,
            };
            if !is_default {
                self.key(&path.join(info.name, &declared(info.name)), info, &info.shape, written);
            }
        }
    }

    /// Visits a key that is set away from its default, or an element of its list.
    fn key(&mut self, path: &Path, info: &KeyInfo, shape: &Shape, written: &Out) {
        if self.honours.iter().any(|honoured| covers(honoured, &path.declared)) {
            return;
        }
        if self.honours.iter().any(|honoured| is_within(honoured, &path.declared)) {
            match (shape, written) {
                (Shape::Table(keys), Out::Table(entries)) => {
                    return self.table(path, keys, entries, str::to_owned);
                }
                (Shape::List(of), Out::List(items)) => {
                    for (i, item) in items.iter().enumerate() {
                        let step = name_of(item).unwrap_or_else(|| i.to_string());
                        let element = Path { key: joined(&path.key, &step), declared: path.declared.clone() };
                        self.key(&element, info, of, item);
                    }
                    return;
                }
                (Shape::Variants(selector, variants), Out::Table(entries)) => {
                    let kind = entries.iter().find(|(key, _)| key == selector);
                    let Some((_, Out::Text(kind))) = kind else { return };
                    let within = joined(&path.declared, kind);
                    if !self.honours.iter().any(|honoured| is_within(honoured, &within)) {
                        let (key, declared) = (joined(&path.key, selector), joined(&path.declared, selector));
                        let value = Some(kind.clone());
                        return self.found.push(Set { key, declared, value, fallback: Fallback::Required });
                    }
                    let keys = variants.iter().find(|entry| entry.name == *kind);
                    let keys = keys.map_or(&[][..], |entry| entry.keys.as_slice());
                    return self.table(path, keys, entries, |key| of_kind(&path.declared, kind, key));
                }
                // A section that is written as one value: it is refused as a whole.
                _ => {}
            }
        }
        let value = match written {
            _ if *shape == Shape::Flag => None,
            Out::Plain(text) | Out::Text(text) => Some(text.clone()),
            Out::List(_) | Out::Table(_) => None,
        };
        self.found.push(Set {
            key: path.key.clone(),
            declared: path.declared.clone(),
            value,
            fallback: info.fallback.clone(),
        });
    }
}

/// Returns the name in the declarations of a key of a kind of topology or traffic: with that kind before it, unless
/// every block of traffic has the key.
fn of_kind(path: &str, kind: &str, key: &str) -> String {
    let shared = path == TRAFFIC && Common::keys().iter().any(|info| info.name == key);
    if shared { key.to_owned() } else { joined(kind, key) }
}

const TRAFFIC: &str = "traffic";

fn name_of(item: &Out) -> Option<String> {
    let Out::Table(entries) = item else { return None };
    entries.iter().find_map(|(key, value)| match value {
        Out::Text(text) if key == "name" => Some(text.clone()),
        _ => None,
    })
}

/// Whether an entry of a list of honoured keys is this key.
fn covers(honoured: &str, key: &str) -> bool {
    let (mut steps, mut names) = (honoured.split('.'), key.split('.'));
    loop {
        match (steps.next(), names.next()) {
            (None, None) => return true,
            (Some(step), Some(name)) if step == "*" || step == name => {}
            _ => return false,
        }
    }
}

/// Whether an entry of a list of honoured keys is a key within this section.
fn is_within(honoured: &str, section: &str) -> bool {
    let mut steps = honoured.split('.');
    section.split('.').all(|name| steps.next().is_some_and(|step| step == "*" || step == name))
        && steps.next().is_some()
}
