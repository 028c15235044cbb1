//! The section that CONTRIBUTING.md shows is a part of the program, and so is its line of registration.

const PAGE: &str = include_str!("../../../CONTRIBUTING.md");

#[test]
fn the_section_shown_is_that_of_the_files() {
    let chapter = PAGE.split("## Adding a section").nth(1).and_then(|rest| rest.split("\n## ").next());
    let blocks = chapter.into_iter().flat_map(|text| text.split("```rust\n").skip(1));
    let shown: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    let files =
        [include_str!("../src/scenario/sections/run.rs"), include_str!("../src/scenario/sections/mod.rs")];
    assert_eq!(shown.len(), files.len());
    for (block, file) in shown.iter().zip(files) {
        assert!(file.contains(block), "no file has this block of CONTRIBUTING.md:\n{block}");
    }
    // The whole file but its own comment, and a line that registers the type that it declares.
    assert!(shown[0].contains("pub(crate) struct Run {") && shown[0].contains("impl Effect for Run"));
    assert!(shown[1].contains(": Run = "));
}
