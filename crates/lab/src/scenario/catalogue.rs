//! The vocabulary of scenarios: sections, topologies, traffic, distributions, algorithms, with their keys.
//!
//! Everything here comes from the declarations by which scenarios are read.

use incast_cc::params::Family;
use incast_sim::describe::Named;
use incast_sim::describe::bfc::Bfc;
use incast_sim::describe::control::{Controller, OwnControl};
use incast_sim::describe::transport::Kind;

use super::sections::Root;
use crate::cc;
use crate::grammar::section::Section;
use crate::grammar::{Entry, KeyInfo, Shape};
use crate::sizes::BUILT_IN;
use crate::topology::{Topology, named};
use crate::traffic::Block;

pub use crate::topology::named::NamedTopology;

/// The sections with their keys, in the order of a file. The first, without a name, is the top of the
/// file.
#[must_use]
pub fn sections() -> Vec<Entry> {
    let keys = Root::keys();
    let (summary, brief) = (Root::summary(), Root::brief());
    let mut entries = vec![Entry { name: String::new(), summary, brief, keys: keys.clone() }];
    keys.iter().for_each(|key| add_section("", key, &mut entries));
    entries
}

/// Adds the section that a key holds, with the tables inside of it.
fn add_section(path: &str, key: &KeyInfo, entries: &mut Vec<Entry>) {
    let Some((summary, keys)) = &key.section else { return };
    let name = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
    let (summary, brief) = (summary.clone(), summary.clone());
    entries.push(Entry { name: name.clone(), summary, brief, keys: keys.clone() });
    for inner in keys.iter().filter(|inner| matches!(inner.shape, Shape::Table(_))) {
        add_section(&name, inner, entries);
    }
}

/// The kinds of topology.
#[must_use]
pub fn topologies() -> Vec<Entry> {
    Topology::entries()
}

/// The topologies of papers, which have names; [`topologies`] has them, too.
#[must_use]
pub fn named_topologies() -> Vec<NamedTopology> {
    named::all()
}

/// The kinds of traffic.
#[must_use]
pub fn traffic() -> Vec<Entry> {
    Block::entries()
}

/// The distributions of flow sizes; they have no keys.
#[must_use]
pub fn distributions() -> Vec<Entry> {
    BUILT_IN
        .iter()
        .map(|sizes| Entry {
            name: sizes.name.to_owned(),
            summary: format!("{} ({})", sizes.meaning, sizes.source),
            brief: sizes.meaning.to_owned(),
            keys: Vec::new(),
        })
        .collect()
}

/// Returns the algorithms with their parameters; defaults are taken from the first preset.
#[must_use]
pub fn algorithms() -> Vec<Entry> {
    incast_cc::any::CATALOGUE.iter().filter_map(|info| cc::entry(info.name)).collect()
}

/// A group of algorithms, or of transports and networks that control congestion themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name in lists.
    pub name: &'static str,
    /// Controller and signal of the group, in a few words.
    pub meaning: &'static str,
}

/// The groups of [`algorithms`] and [`own_controls`], in the order of lists.
#[must_use]
pub fn groups() -> Vec<Group> {
    let families = Family::ALL.into_iter().map(|family| (family.name(), family.meaning()));
    let others = Controller::ALL.into_iter().map(|other| (other.name(), other.meaning()));
    families.chain(others).map(|(name, meaning)| Group { name, meaning }).collect()
}

/// A transport or a network that controls congestion without an algorithm at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Other {
    /// Its name in scenario files.
    pub name: &'static str,
    /// The key or section of a scenario that selects it.
    pub key: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Its title, group and needs.
    pub control: OwnControl,
}

/// Every transport and network that controls congestion without an algorithm at the sender.
#[must_use]
pub fn own_controls() -> Vec<Other> {
    let transports = Kind::ALL.iter().filter_map(|&(kind, name, summary)| {
        kind.own_control().map(|control| Other { name, key: "transport.kind", summary, control })
    });
    let bfc = Other { name: "bfc", key: "switch.bfc", summary: Bfc::SUMMARY, control: Bfc::OWN_CONTROL };
    transports.chain([bfc]).collect()
}

/// Names the table to which a key called `name` belongs, if that is not the table at `path`: `it is a key of
/// [switch]`.
pub(crate) fn owner(name: &str, path: &str) -> Option<String> {
    let holder = |entries: Vec<Entry>| {
        let holds = |entry: &Entry| entry.keys.iter().any(|key| key.name == name);
        entries.into_iter().find(holds)
    };
    let is_key = |of: String| format!("it is a key of {of}");
    let elsewhere = || {
        let found = holder(sections()).filter(|found| found.name != path)?;
        let is_section = found.keys.iter().any(|key| key.name == name && key.section.is_some());
        Some(match found.name.as_str() {
            "" => is_key("the top of the file".to_owned()),
            section if is_section => format!("write [{section}.{name}]"),
            section => is_key(format!("[{section}]")),
        })
    };
    // Of a list of tables, as `impairments.errors`.
    let of_entries = |entry: &Entry| {
        let holds = |key: &&KeyInfo| matches!(&key.shape, Shape::List(of) if matches!(&**of, Shape::Table(keys) if keys.iter().any(|key| key.name == name)));
        let list = entry.keys.iter().find(holds)?.name;
        Some(format!("the entries of the list {}.{list}", entry.name))
    };
    let in_list = || sections().iter().filter(|entry| entry.name == path).find_map(of_entries);
    let kind_of = |entries: Vec<Entry>| holder(entries).map(|entry| entry.name);
    if path == "cc" || path.ends_with(".cc") {
        return kind_of(algorithms()).map(is_key);
    }
    let kind = match path.split('.').next() {
        Some("topology") => kind_of(topologies()).map(|kind| format!("a {kind} topology")),
        Some("traffic") => kind_of(traffic()).map(|kind| format!("{kind} traffic")),
        _ => None,
    };
    kind.or_else(in_list).map(is_key).or_else(elsewhere)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::Fallback;

    /// A key of a list's entries that stands beside the list, as users write who have one entry.
    #[test]
    fn keys_of_lists_say_where_they_belong() {
        for (name, path, list) in [
            ("bit_error_rate", "impairments", "impairments.errors"),
            ("switches", "switch", "switch.buffers"),
        ] {
            let expected = format!("it is a key of the entries of the list {list}");
            assert_eq!(owner(name, path), Some(expected));
        }
        assert_eq!(owner("bit_errors", "impairments"), None);
    }

    #[test]
    fn every_entry_says_what_it_is() {
        let all = [sections(), topologies(), traffic(), distributions(), algorithms()];
        assert!(all.iter().all(|entries| !entries.is_empty()));
        for entry in all.iter().flatten() {
            assert!(!entry.summary.is_empty(), "{}", entry.name);
            for key in &entry.keys {
                assert!(
                    !key.meaning.is_empty() && !key.shape.noun().is_empty(),
                    "{}.{}",
                    entry.name,
                    key.name
                );
            }
        }
    }

    #[test]
    fn every_algorithm_and_every_other_control_has_a_group_and_one_line_of_needs() {
        let groups: Vec<_> = groups().into_iter().map(|group| group.name).collect();
        let expected = [
            "delay",
            "ECN",
            "telemetry",
            "spraying",
            "loss",
            "fixed",
            "oracle",
            "receiver-driven",
            "in-network",
        ];
        assert_eq!(groups, expected);
        for info in incast_cc::any::CATALOGUE {
            assert!(groups.contains(&info.family.name()), "{}", info.name);
            assert!(!info.needs.is_empty() && !info.needs.contains('\n'), "{}", info.name);
        }
        let others = own_controls();
        // A name selects one thing, and what it selects is a value of its key, or its key itself.
        let mut names: Vec<_> = others.iter().map(|other| other.name).collect();
        names.extend(incast_cc::any::CATALOGUE.iter().map(|info| info.name));
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
        let sections = sections();
        for other in &others {
            let (section, name) = other.key.split_once('.').unwrap();
            let keys = &sections.iter().find(|entry| entry.name == section).unwrap().keys;
            let key = keys.iter().find(|key| key.name == name).unwrap();
            match &key.shape {
                Shape::Choice(values) => assert!(values.contains(&(other.name, other.summary))),
                _ => assert_eq!(other.name, name),
            }
        }
        let some =
            |wanted| others.iter().find(|other| other.name == wanted).map(|o| (o.control.title, o.key));
        assert_eq!(some("ndp"), Some(("NDP", "transport.kind")));
        assert_eq!(some("bfc"), Some(("BFC", "switch.bfc")));
        assert!(others.iter().all(|other| !other.summary.is_empty() && !other.control.needs.is_empty()));
        assert!(others.iter().all(|other| groups.contains(&other.control.controller.name())));
    }

    #[test]
    fn defaults_are_written_as_a_file_would_have_them() {
        let all = topologies();
        let dumbbell = all.iter().find(|entry| entry.name == "dumbbell").unwrap();
        let fallback = |key: &str| dumbbell.keys.iter().find(|k| k.name == key).unwrap().fallback.clone();
        assert_eq!(fallback("rate"), Fallback::Required);
        assert_eq!(fallback("bottleneck_rate"), Fallback::From("rate".to_owned()));
        let switch = sections().into_iter().find(|entry| entry.name == "switch").unwrap();
        let key = |name: &str| switch.keys.iter().find(|k| k.name == name).unwrap();
        assert_eq!(key("buffer").fallback, Fallback::Value("\"32MB\"".to_owned()));
        assert_eq!(key("reserve").fallback, Fallback::Value("\"4KiB\"".to_owned()));
        assert_eq!(key("ingress_alpha").fallback, Fallback::Value("0.25".to_owned()));
        assert_eq!(key("pfc").fallback, Fallback::Nothing);
        assert!(matches!(key("ecn").shape, Shape::Table(_)));
    }
}
