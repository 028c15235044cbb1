//! The model pages say what the code says.
//!
//! Each page of `docs/algorithms` holds two blocks that are made from the code: parameters with presets, and
//! state with signals. They are compared word for word; `UPDATE_DOCS=1` rewrites them. In the prose of these
//! pages and of `docs/network`, every test and every source file that is named must exist, and every link
//! must lead somewhere.

use std::fmt::Write as _;
use std::path::{Path as FilePath, PathBuf};

use incast_cc::any::{CATALOGUE, Info};
use incast_cc::params::{Kind, Value};
use incast_cc::{AnyParams, Fixed};
use incast_units::{Bytes, Rate};

fn root() -> PathBuf {
    FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages of a folder, by file name without its ending, sorted.
fn pages(folder: &str) -> Vec<(String, String)> {
    let folder = root().join(folder);
    let mut pages: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    pages.sort();
    pages
}

/// A number in the shortest decimal that reads back as the same value, as scenario files write it.
fn decimal(value: Fixed) -> String {
    let bits = u128::try_from(value.bits()).expect("no parameter is negative");
    for digits in 0..=10_u32 {
        let scale = 10_u128.pow(digits);
        let number = (bits * scale).div_ceil(1 << 32);
        if (number << 32) / scale == bits {
            let (whole, fraction) = (number / scale, number % scale);
            let width = digits as usize;
            return if digits == 0 { whole.to_string() } else { format!("{whole}.{fraction:0width$}") };
        }
    }
    unreachable!("ten digits are finer than 2^-32")
}

/// A value as scenario files write it.
fn text(kind: Kind, value: Value) -> String {
    match (kind, value) {
        (_, Value::Time(v)) => v.to_string(),
        (_, Value::Bytes(v)) if v == Bytes::UNLIMITED => "unlimited".to_owned(),
        (_, Value::Bytes(v)) => v.to_string(),
        (_, Value::Rate(v)) if v == Rate::from_bps(u64::MAX) => "unlimited".to_owned(),
        (_, Value::Rate(v)) => v.to_string(),
        (_, Value::Ratio(v)) => decimal(v),
        (_, Value::Count(v)) => v.to_string(),
        (_, Value::Flag(v)) => v.to_string(),
        (Kind::Choice(words), Value::Choice(place)) => words[place].to_owned(),
        (_, Value::Choice(_)) => unreachable!("a choice has words"),
    }
}

/// The kind of a parameter and its range, both in words.
fn kind_and_range(kind: Kind) -> (&'static str, String) {
    let between = |low, high| format!("{} to {}", text(kind, low), text(kind, high));
    match kind {
        Kind::Time(low, high) => ("time", between(Value::Time(low), Value::Time(high))),
        Kind::Bytes(low, high) => ("bytes", between(Value::Bytes(low), Value::Bytes(high))),
        Kind::Rate(low, high) => ("rate", between(Value::Rate(low), Value::Rate(high))),
        Kind::Ratio(low, high) => ("number", between(Value::Ratio(low), Value::Ratio(high))),
        Kind::Count(low, high) => ("count", between(Value::Count(low), Value::Count(high))),
        Kind::Flag => ("yes or no", "true, false".to_owned()),
        Kind::Choice(words) => ("choice", words.join(", ")),
    }
}

/// Every preset of an algorithm: name, meaning, parameters. The default is the first.
fn presets(info: &Info) -> Vec<(&'static str, &'static str, AnyParams)> {
    let mut presets = Vec::new();
    AnyParams::named(info.name, None).unwrap().presets(|name, meaning| {
        presets.push((name, meaning, AnyParams::named(info.name, Some(name)).unwrap()));
    });
    presets
}

/// Name, kind and value of every parameter.
fn values(params: &AnyParams) -> Vec<(&'static str, Kind, Value)> {
    let mut values = Vec::new();
    params.params(|info, value| values.push((info.name, info.kind, value)));
    values
}

/// The tables of parameters and presets.
fn parameters_block(info: &Info) -> String {
    let mut out = String::from(
        "| Parameter | Kind | Default | Evidence | Range | Meaning | Source |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let presets = presets(info);
    let default = presets[0].2;
    default.params(|parameter, value| {
        let (kind, range) = kind_and_range(parameter.kind);
        let value = text(parameter.kind, value);
        let (name, meaning, source) = (parameter.name, parameter.meaning, parameter.source);
        let evidence = parameter.evidence.name();
        writeln!(out, "| `{name}` | {kind} | `{value}` | {evidence} | {range} | {meaning} | {source} |")
            .unwrap();
    });
    out.push_str("\n| Preset | What it is | What it changes |\n| --- | --- | --- |\n");
    for (i, (name, meaning, params)) in presets.iter().enumerate() {
        let changes: Vec<String> = values(params)
            .into_iter()
            .zip(values(&default))
            .filter(|(now, before)| now.2 != before.2)
            .map(|((name, kind, value), _)| format!("`{name}` = `{}`", text(kind, value)))
            .collect();
        let changes = if i == 0 { "the defaults".to_owned() } else { changes.join(", ") };
        writeln!(out, "| `{name}` | {meaning} | {changes} |").unwrap();
    }
    out
}

/// The size of the state, and what each preset asks of the network.
fn state_block(info: &Info) -> String {
    let mut out = format!("The state of one flow takes **{} bytes**.\n\n", info.state_bytes);
    out.push_str("| Preset | Signals beyond times and counts | Added to a data packet | Added to an acknowledgement |\n");
    out.push_str("| --- | --- | --- | --- |\n");
    for (name, _, params) in presets(info) {
        let asked: Vec<_> = params.signals().words().collect();
        let asked = if asked.is_empty() { "none".to_owned() } else { asked.join(", ") };
        let overhead = params.overhead();
        writeln!(out, "| `{name}` | {asked} | {}B | {}B |", overhead.data, overhead.ack).unwrap();
    }
    out
}

/// A page with its block called `name` replaced.
fn with_block(page: &str, file: &str, name: &str, block: &str) -> String {
    let (begin, end) = (format!("<!-- {name}: from the code -->\n"), format!("<!-- {name}: end -->"));
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{file} has no line {begin:?}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{file} has no line {end:?}"));
    assert!(!after.contains(&begin), "{file} has the block {name} twice");
    format!("{before}{begin}\n{block}\n{end}{after}")
}

#[test]
fn every_algorithm_has_a_page_that_says_what_the_code_says() {
    let pages = pages("docs/algorithms");
    let mut stale = Vec::new();
    for info in CATALOGUE {
        let file = format!("docs/algorithms/{}.md", info.name);
        let (_, page) =
            pages.iter().find(|(name, _)| name == info.name).unwrap_or_else(|| panic!("{file} is missing"));
        let title = format!("# {}\n", info.title);
        assert!(page.starts_with(&title), "{file} should begin with {title:?}");
        let right = with_block(page, &file, "parameters", &parameters_block(info));
        let right = with_block(&right, &file, "state", &state_block(info));
        if *page == right {
            continue;
        }
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(root().join(&file), &right).unwrap();
            continue;
        }
        let wrong = page.lines().find(|line| line.starts_with('|') && !right.lines().any(|l| l == *line));
        let missing = right.lines().find(|line| !page.lines().any(|l| l == *line));
        stale.push(format!("{file}\n  says: {}\n  code: {}", wrong.unwrap_or("-"), missing.unwrap_or("-")));
    }
    assert!(stale.is_empty(), "UPDATE_DOCS=1 brings these pages up to date:\n{}", stale.join("\n"));
    for (name, _) in &pages {
        assert!(CATALOGUE.iter().any(|info| info.name == name), "there is no algorithm for {name}.md");
    }
}

/// The `spans` of a text between backticks.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// A page's prose: without the blocks made from the code and without fenced code.
fn prose(page: &str) -> String {
    let mut prose = String::new();
    let (mut made, mut fenced) = (false, false);
    for line in page.lines() {
        made = (made || line.ends_with(": from the code -->")) && !line.ends_with(": end -->");
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if !made && !fenced && !fence {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    prose
}

/// Paragraphs, and items of lists each on its own.
fn paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in text.lines() {
        if line.trim().is_empty() || line.starts_with("- ") || line.starts_with('#') {
            paragraphs.push(String::new());
        }
        let last = paragraphs.last_mut().unwrap();
        last.push_str(line);
        last.push('\n');
    }
    paragraphs
}

fn all_pages() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for folder in ["docs/algorithms", "docs/network"] {
        all.extend(pages(folder).into_iter().map(|(name, page)| (format!("{folder}/{name}.md"), page)));
    }
    let index = std::fs::read_to_string(root().join("docs/models.md")).expect("docs/models.md is there");
    all.push(("docs/models.md".to_owned(), index));
    all
}

#[test]
fn every_test_and_file_that_a_page_names_exists() {
    let is_name = |span: &&str| {
        span.contains('_') && span.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let mut named = 0;
    for (file, page) in all_pages() {
        let prose = prose(&page);
        for path in code_spans(&prose).filter(|s| s.starts_with("crates/")) {
            assert!(root().join(path).exists(), "{file} names {path}, which is not there");
        }
        if file.ends_with("models.md") {
            continue;
        }
        let (_, validation) = prose
            .split_once("\n## Validation\n")
            .unwrap_or_else(|| panic!("{file} has no section Validation"));
        let (validation, references) = validation
            .split_once("\n## References\n")
            .unwrap_or_else(|| panic!("{file} has no References after its Validation"));
        assert!(!references.trim().is_empty(), "{file}: no references");
        assert!(validation.contains("Not validated"), "{file} does not say what is not validated");
        for item in paragraphs(validation) {
            let sources: Vec<String> = code_spans(&item)
                .filter(|s| s.ends_with(".rs"))
                .map(|s| {
                    std::fs::read_to_string(root().join(s)).unwrap_or_else(|e| panic!("{file}: {s}: {e}"))
                })
                .collect();
            for name in code_spans(&item).filter(is_name).filter(|_| !sources.is_empty()) {
                let function = format!("fn {name}(");
                assert!(sources.iter().any(|s| s.contains(&function)), "{file}: no test {name} there");
                named += 1;
            }
        }
    }
    assert!(named > 100, "only {named} tests found in the pages: are they read as they are written?");
}

#[test]
fn every_parameter_in_the_prose_of_a_page_exists() {
    for info in CATALOGUE {
        let pages = pages("docs/algorithms");
        let Some((_, page)) = pages.iter().find(|(name, _)| name == info.name) else { continue };
        let parameters = values(&AnyParams::named(info.name, None).unwrap());
        let text = prose(page);
        let (text, _) = text.split_once("\n## Validation\n").unwrap_or((&text, ""));
        for span in code_spans(text) {
            // `name = value` speaks of a parameter; so does a word with an underscore.
            let (name, value) = span.split_once(" = ").map_or((span, None), |(n, v)| (n, Some(v)));
            let word = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            if word && (name.contains('_') || value.is_some()) {
                assert!(
                    parameters.iter().any(|p| p.0 == name),
                    "docs/algorithms/{}.md speaks of {name}, which is no parameter",
                    info.name
                );
            }
        }
    }
}

#[test]
fn every_link_leads_somewhere() {
    let mut links = 0;
    for (file, page) in all_pages() {
        let folder = root().join(&file);
        let folder = folder.parent().unwrap();
        for (_, rest) in page.match_indices("](").map(|(at, _)| page.split_at(at + 2)) {
            let target = rest.split(')').next().unwrap_or_default();
            if target.starts_with("http") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if path.is_empty() { root().join(&file) } else { folder.join(path) };
            assert!(path.exists(), "{file} links to {target}, which is not there");
            if !anchor.is_empty() {
                let page = std::fs::read_to_string(&path).unwrap();
                let headings = page.lines().filter(|l| l.starts_with('#'));
                let mut slugs = headings.map(|l| {
                    // A heading may name its own: `## Title { #name }`.
                    if let Some((_, name)) = l.split_once("{ #") {
                        return name.trim_end_matches(" }").to_owned();
                    }
                    let heading = l.trim_start_matches('#').trim().to_lowercase();
                    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
                    kept.collect::<String>().replace(' ', "-")
                });
                assert!(slugs.any(|slug| slug == anchor), "{file}: {target}: no such heading");
            }
            links += 1;
        }
    }
    assert!(links > 20, "only {links} links found: are they read as they are written?");
}

#[test]
fn the_index_names_every_page() {
    let index = std::fs::read_to_string(root().join("docs/models.md")).unwrap();
    for (file, _) in all_pages() {
        if file != "docs/models.md" {
            let link = format!("]({})", file.trim_start_matches("docs/"));
            assert!(index.contains(&link), "docs/models.md has no link to {file}");
        }
    }
}

#[test]
fn numbers_are_written_as_scenarios_write_them() {
    // The shortest decimal that reads back; by hand: 0.08 · 2^32 = 343597383.68, cut to …383, and
    // 0.08 is read as the same; 1000/6 needs ten digits.
    assert_eq!(decimal(Fixed::ratio(8, 100)), "0.08");
    assert_eq!(decimal(Fixed::ratio(3, 2)), "1.5");
    assert_eq!(decimal(Fixed::whole(100)), "100");
    assert_eq!(decimal(Fixed::ZERO), "0");
    assert!(decimal(Fixed::ratio(1000, 6)).starts_with("166.66666666"));
}
