//! What a scenario can say: sections, topologies, traffic, distributions, algorithms, with their keys.
//!
//! Everything here comes from the declarations that scenarios are read with.

use super::cc::{self, Cc};
use super::section::{Entry, Section};
use super::sections::{Ecn, Pfc, Probe, Root, Run, Switch, Transport};
use crate::sizes::BUILT_IN;
use crate::topology::Topology;
use crate::traffic::Block;

/// The sections with their keys, in the order of a file. The first, without a name, is the top of the
/// file.
#[must_use]
pub fn sections() -> Vec<Entry> {
    fn entry<S: Section>(name: &str) -> Entry {
        Entry { name: name.to_owned(), summary: S::summary(), keys: S::keys() }
    }
    vec![
        entry::<Root>(""),
        entry::<Topology>("topology"),
        entry::<Switch>("switch"),
        entry::<Pfc>("switch.pfc"),
        entry::<Ecn>("switch.ecn"),
        entry::<Transport>("transport"),
        entry::<Cc>("cc"),
        entry::<Block>("traffic"),
        entry::<Probe>("probe"),
        entry::<Run>("run"),
    ]
}

/// The kinds of topology.
#[must_use]
pub fn topologies() -> Vec<Entry> {
    Topology::entries()
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
            keys: Vec::new(),
        })
        .collect()
}

/// The algorithms with their parameters, defaults those of the first preset.
#[must_use]
pub fn algorithms() -> Vec<Entry> {
    incast_cc::any::CATALOGUE.iter().filter_map(|info| cc::entry(info.name)).collect()
}

/// What has a key called `name`, when the table at `path` does not.
pub(crate) fn owner(name: &str, path: &str) -> Option<String> {
    let holds = |entries: Vec<Entry>| {
        entries
            .into_iter()
            .find(|entry| entry.keys.iter().any(|key| key.name == name))
            .map(|entry| entry.name)
    };
    let elsewhere = || holds(sections()).filter(|found| found != path);
    let section = |found: String| {
        if found.is_empty() { "the top of the file".to_owned() } else { format!("[{found}]") }
    };
    if path == "cc" || path.ends_with(".cc") {
        return holds(algorithms());
    }
    let kind = match path.split('.').next() {
        Some("topology") => holds(topologies()).map(|kind| format!("a {kind} topology")),
        Some("traffic") => holds(traffic()).map(|kind| format!("{kind} traffic")),
        _ => None,
    };
    kind.or_else(|| elsewhere().map(section))
}

#[cfg(test)]
mod tests {
    use super::super::section::Fallback;
    use super::super::setting::Shape;
    use super::*;

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
