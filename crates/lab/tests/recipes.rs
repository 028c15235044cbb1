//! The code that pages of `docs/dev/extend` show is in the files that they describe.

/// Checks that every block of Rust in a page stands in a file.
fn check(page: &str, file: &str) {
    let blocks: Vec<&str> =
        page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).map(str::trim).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        assert!(file.contains(block), "the file does not have this block:\n{block}");
    }
}

#[test]
fn the_column_shown_is_one_of_flows() {
    check(include_str!("../../../docs/dev/extend/column.md"), include_str!("../src/results/tables/flows.rs"));
}
