//! The header is what the source says. `UPDATE_HEADER=1` writes it.

use std::fs;
use std::path::Path;

/// The header, made from the modules in the order in which `lib.rs` declares what C sees.
fn generated() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    // What comes first in a program comes first in the header.
    let modules = ["types", "status", "list", "params", "flow"];
    let library = fs::read_to_string(root.join("src/lib.rs")).unwrap();
    let declared: Vec<_> = library.lines().filter_map(|line| line.strip_prefix("pub mod ")).collect();
    assert_eq!(declared.len(), modules.len(), "{declared:?}");
    let builder = cbindgen::Builder::new().with_config(config);
    let builder = modules.iter().fold(builder, |builder, module| {
        assert!(declared.contains(&format!("{module};").as_str()), "{module}");
        builder.with_src(root.join(format!("src/{module}.rs")))
    });
    // What a library with plugins has is read by another crate, and lies there.
    let builder = builder.with_src(root.join("../plugin/src/abi.rs"));
    let mut header = Vec::new();
    builder.generate().unwrap().write(&mut header);
    shortened(&String::from_utf8(header).unwrap())
}

/// A comment of one line on one line.
fn shortened(header: &str) -> String {
    let lines: Vec<_> = header.lines().collect();
    let (mut short, mut at) = (String::new(), 0);
    while at < lines.len() {
        let line = lines[at];
        let comment = match lines[at..] {
            [first, text, last, ..] if first.trim() == "/**" && last.trim() == "*/" => {
                text.trim().strip_prefix("* ").map(|text| line.replace("/**", &format!("/** {text} */")))
            }
            _ => None,
        };
        at += if comment.is_some() { 3 } else { 1 };
        short.push_str(comment.as_deref().unwrap_or(line));
        short.push('\n');
    }
    short
}

#[test]
fn the_header_is_that_of_the_source() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/incast_cc.h");
    let made = generated();
    if std::env::var_os("UPDATE_HEADER").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    let line = made.lines().zip(stored.lines()).position(|(made, stored)| made != stored);
    assert!(
        made == stored,
        "include/incast_cc.h differs from line {} on; run: UPDATE_HEADER=1 cargo test -p incast-capi --test header",
        line.unwrap_or_else(|| made.lines().count().min(stored.lines().count())) + 1,
    );
}
