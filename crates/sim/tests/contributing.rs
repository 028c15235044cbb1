//! The examples of CONTRIBUTING.md are parts of the program: what it shows compiles, and is tested there.

const PAGE: &str = include_str!("../../../CONTRIBUTING.md");

/// The Rust blocks of the page, with their indentation taken off.
fn blocks() -> Vec<String> {
    let rust = PAGE.split("   ```rust\n").skip(1);
    let text = rust.map(|rest| rest.split("   ```\n").next().unwrap_or_default());
    text.map(|block| {
        block.lines().map(|line| format!("{}\n", line.strip_prefix("   ").unwrap_or(line))).collect()
    })
    .collect()
}

#[test]
fn the_examples_are_those_files() {
    let files = [
        include_str!("../src/switch/scheduler/round_robin.rs"),
        include_str!("../../net/src/routing/path/ecmp.rs"),
        include_str!("../src/example/recovery.rs"),
        include_str!("../src/example/transport.rs"),
        include_str!("../src/example/node.rs"),
        include_str!("../../net/src/record/internals.rs"),
    ];
    for (i, file) in files.into_iter().enumerate() {
        let block = blocks().into_iter().find(|block| file.contains(block.as_str()));
        assert!(block.is_some_and(|block| block.len() > 300), "no block of CONTRIBUTING.md is in file {i}");
    }
}
