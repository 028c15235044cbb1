//! Topologies of papers, by name: a kind with its keys set.
//!
//! A key that is written beside the name replaces the one here. To add one, write a line in [`NAMED`].

use crate::grammar::Entry;
use crate::grammar::section::Fallback;
use crate::grammar::tree::{Node, Place, Sources, Table, Value, parse};

/// A topology that has a name.
struct Named {
    name: &'static str,
    /// Its kind and keys, as a scenario file has them.
    keys: &'static str,
    /// Its description, a sentence without its full stop.
    meaning: &'static str,
    /// Its source.
    source: &'static str,
}

const NAMED: &[Named] = &[
    Named {
        name: "fat-tree-128",
        keys: r#"kind = "fat-tree"
            k = 8
            rate = "800Gbps"
            delay = "500ns""#,
        meaning: "128 hosts at 800Gbps in three non-blocking tiers",
        source: "the median paper, section IV-A",
    },
    Named {
        name: "fat-tree-250",
        keys: r#"kind = "fat-tree"
            k = 10
            rate = "25Gbps"
            delay = "1577ns"
            fabric_rate = "100Gbps""#,
        meaning: "250 hosts at 25Gbps, 100Gbps between switches, base RTT 20us over six hops",
        source: "CCC, section 6.1; delay computed here for packets of 1054B",
    },
    Named {
        name: "fat-tree-256",
        keys: r#"kind = "fat-tree"
            pods = 4
            edge = 2
            agg = 2
            core = 2
            hosts = 32
            core_links = "all"
            rate = "25Gbps"
            delay = "1us"
            fabric_rate = "100Gbps"
            core_delay = "5us""#,
        meaning: "256 hosts at 25Gbps, 100Gbps between switches, oversubscribed 4 to 1 at the edge",
        source: "PowerTCP, section 4.1; every aggregation switch to both cores: chosen here",
    },
    Named {
        name: "fat-tree-320",
        keys: r#"kind = "fat-tree"
            pods = 5
            edge = 4
            agg = 4
            core = 16
            hosts = 16
            rate = "100Gbps"
            delay = "1us"
            fabric_rate = "400Gbps""#,
        meaning: "320 hosts at 100Gbps, 400Gbps between switches",
        source: "OSCAR, section 6.1; its and HPCC's public artifacts",
    },
    Named {
        name: "oscar-training",
        keys: r#"kind = "leaf-spine"
            leaves = 16
            spines = 2
            hosts = 4
            rate = "200Gbps"
            delay = "1us""#,
        meaning: "64 hosts at 200Gbps on 16 leaves, oversubscribed 2 to 1",
        source: "OSCAR, section 6.1",
    },
    Named {
        name: "oscar-fig14",
        keys: r#"kind = "leaf-spine"
            leaves = 2
            spines = 4
            hosts = 4
            rate = "100Gbps"
            delay = "1us""#,
        meaning: "Two leaves of four hosts under four spines, whose links can lose half of their rate",
        source: "OSCAR, Figure 14",
    },
    Named {
        name: "oscar-star",
        keys: r#"kind = "star"
            rate = "100Gbps"
            delay = "3us""#,
        meaning: "Any number of hosts at 100Gbps around one switch, base RTT 12us",
        source: "OSCAR's micro-benchmarks",
    },
    Named {
        name: "oscar-testbed",
        keys: r#"kind = "star"
            rate = "40Gbps"
            delay = "3262600ps""#,
        meaning: "Any number of hosts at 40Gbps around one switch, base RTT 13.5us",
        source: "OSCAR's testbed; delay computed here for packets of 1054B",
    },
    Named {
        name: "ccc-star",
        keys: r#"kind = "star"
            rate = "25Gbps"
            delay = "4821ns""#,
        meaning: "Any number of hosts at 25Gbps around one switch, base RTT 20us",
        source: "CCC, section 6.1; delay computed here for packets of 1054B",
    },
    Named {
        name: "ccc-leaf-spine",
        keys: r#"kind = "leaf-spine"
            leaves = 8
            spines = 4
            hosts = 16
            rate = "25Gbps"
            delay = "1577ns"
            fabric_rate = "100Gbps""#,
        meaning: "128 hosts at 25Gbps on eight leaves, 100Gbps to four spines",
        source: "CCC, Figure 12, which says leaf-spine and 128; the rest is chosen here",
    },
    Named {
        name: "sqcc-star",
        keys: r#"kind = "star"
            rate = "10Gbps"
            delay = "800ns""#,
        meaning: "Any number of hosts at 10Gbps around one switch, base RTT about 5us",
        source: "SQCC, section IV; the paper's links of 1us give 5.7us",
    },
    Named {
        name: "sqcc-dumbbell",
        keys: r#"kind = "dumbbell"
            right = 1
            rate = "10Gbps"
            delay = "1us""#,
        meaning: "Any number of hosts at 10Gbps that share one link to one receiver",
        source: "SQCC, section IV",
    },
    Named {
        name: "bfc-128",
        keys: r#"kind = "leaf-spine"
            leaves = 8
            spines = 8
            hosts = 16
            rate = "100Gbps"
            delay = "1us""#,
        meaning: "128 hosts at 100Gbps on eight leaves, oversubscribed 2 to 1",
        source: "the authors' code of BFC, Figures 10 and 11 of their paper",
    },
];

impl Named {
    /// Its kind and keys; all places are `place`.
    fn table(&self, place: Place) -> Table {
        let sources = Sources { file: self.name.to_owned(), ..Sources::default() };
        let mut table = parse(self.keys, &sources).unwrap_or_default();
        for (_, key, node) in &mut table.0 {
            (*key, node.place) = (place, place);
        }
        table
    }
}

/// Replaces the name of a topology by its kind, and by the kind's keys that are not written.
pub(crate) fn expand(table: &mut Table) {
    let Some(Node { value: Value::Table(topology), .. }) = table.get_mut("topology") else { return };
    let Some(Node { value: Value::Text(kind), place }) = topology.get("kind") else { return };
    let Some(named) = NAMED.iter().find(|named| named.name == kind) else { return };
    let place = *place;
    for (key, at, node) in named.table(place).0 {
        match topology.get_mut(&key) {
            Some(kind) if key == "kind" => *kind = node,
            Some(_) => {}
            None => topology.0.push((key, at, node)),
        }
    }
}

/// The names in the list of kinds.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    NAMED.iter().map(|named| named.name)
}

/// A topology of a paper, as a kind with some of its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTopology {
    /// Its name.
    pub name: &'static str,
    /// Its description, a sentence without its full stop.
    pub meaning: &'static str,
    /// Its source.
    pub source: &'static str,
    /// The kind.
    pub kind: String,
    /// The keys that it sets, each with its value as a scenario file has it.
    pub keys: Vec<(String, String)>,
}

/// The topologies of papers.
pub(crate) fn all() -> Vec<NamedTopology> {
    let describe = |named: &Named| {
        let mut kind = String::new();
        let mut keys = Vec::new();
        for (key, _, node) in named.table(Place::default()).0 {
            match node.value {
                Value::Text(text) if key == "kind" => kind = text,
                value => keys.push((key, value.shown())),
            }
        }
        NamedTopology { name: named.name, meaning: named.meaning, source: named.source, kind, keys }
    };
    NAMED.iter().map(describe).collect()
}

/// Returns the description of each, made from the description of its kind.
pub(crate) fn entries(kinds: &[Entry]) -> Vec<Entry> {
    let entry = |named: &Named| {
        let keys = named.table(Place::default());
        let text = |key: &str| {
            keys.get(key).map(|node| match &node.value {
                Value::List(_) | Value::Table(_) => String::new(),
                value => value.shown(),
            })
        };
        let kind = kinds.iter().find(|entry| text("kind") == Some(format!("{:?}", entry.name)))?;
        let mut keys = kind.keys.clone();
        for key in &mut keys {
            if let Some(value) = text(key.name) {
                key.fallback = Fallback::Value(value);
                key.source = None;
            }
        }
        // What its own numbers exclude cannot be written.
        keys.retain(|key| key.fallback != Fallback::Nothing);
        Some(Entry {
            name: named.name.to_owned(),
            summary: format!("{} ({}). A {} whose keys are set.", named.meaning, named.source, kind.name),
            brief: named.meaning.to_owned(),
            keys,
        })
    };
    NAMED.iter().filter_map(entry).collect()
}
