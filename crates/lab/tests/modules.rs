//! The modules of the lab depend on each other one way: read from their `use` lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Every source file below a folder, except those that hold only tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The top-level modules that a text names after `crate::`, without its tests and comments.
fn named(text: &str) -> BTreeSet<String> {
    let code = text.split("\n#[cfg(test)]").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut modules = BTreeSet::new();
    for line in lines {
        for (at, _) in line.match_indices("crate::") {
            let rest = &line[at + "crate::".len()..];
            // `use crate::{a, b}` is not written in this crate: each module has its line.
            assert!(!rest.starts_with('{'), "{line}");
            let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap();
            modules.insert(name.to_owned());
        }
    }
    modules
}

/// For every top-level module those that it names.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let first = file.strip_prefix(&root).unwrap().components().next().unwrap();
        let module = first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned();
        if module != "lib" {
            graph.entry(module).or_default().extend(named(&fs::read_to_string(&file).unwrap()));
        }
    }
    for (module, names) in &mut graph {
        names.remove(module);
    }
    // What is re-exported at the root counts as the module that it comes from.
    let homes = [("Problem", "problem"), ("Problems", "problem"), ("Scenario", "scenario")];
    for names in graph.values_mut() {
        for (name, home) in homes {
            if names.remove(name) {
                names.insert(home.to_owned());
            }
        }
    }
    graph
}

#[test]
fn no_module_depends_on_itself_through_others() {
    let mut graph = dependencies();
    assert!(graph.len() > 10 && graph["scenario"].contains("grammar"), "{graph:?}");
    let mut order = Vec::new();
    while !graph.is_empty() {
        // A module whose dependencies are all placed comes next.
        let next = graph.iter().find(|(_, names)| names.iter().all(|name| order.contains(name)));
        let Some((module, _)) = next else { panic!("these modules depend on each other: {graph:#?}") };
        let module = module.clone();
        graph.remove(&module);
        order.push(module);
    }
}

#[test]
fn the_grammar_knows_no_section() {
    let graph = dependencies();
    for module in ["scenario", "formats", "topology", "traffic", "cc", "sizes", "schema"] {
        assert!(!graph["grammar"].contains(module), "grammar imports {module}");
    }
    for module in ["scenario", "topology", "traffic", "cc"] {
        assert!(graph[module].contains("grammar"), "{module} does not import grammar");
    }
}
