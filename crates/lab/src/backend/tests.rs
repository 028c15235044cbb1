use std::collections::BTreeSet;

use super::testbed::Testbed;
use super::*;
use crate::grammar::section::{KeyInfo, Section};
use crate::grammar::setting::Shape;
use crate::grammar::write::Out;
use crate::scenario::catalogue;
use crate::traffic::Common;

/// Returns every key of the schema by its name in the declarations, with the smallest scenario in which it is set to a
/// value that it never has by itself.
fn every_key() -> Vec<(String, Vec<(String, Out)>)> {
    let mut found = Vec::new();
    below(&catalogue::sections()[0].keys, "", &|entries| entries, &mut found);
    found
}

type Entries = Vec<(String, Out)>;

fn below(
    keys: &[KeyInfo],
    path: &str,
    within: &dyn Fn(Entries) -> Entries,
    found: &mut Vec<(String, Entries)>,
) {
    for info in keys {
        let name = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let holding = |value: Out| within(vec![(info.name.to_owned(), value)]);
        let (shape, listed) = match &info.shape {
            Shape::List(of) => (&**of, true),
            other => (other, false),
        };
        let as_written = |table: Entries| {
            let table = Out::Table(table);
            holding(if listed { Out::List(vec![table]) } else { table })
        };
        match shape {
            Shape::Table(inner) => below(inner, &name(info.name), &as_written, found),
            Shape::Variants(selector, variants) => {
                for variant in variants {
                    let of_kind = |mut table: Entries| {
                        table.push(((*selector).to_owned(), Out::text(&variant.name)));
                        as_written(table)
                    };
                    let (shared, own): (Vec<KeyInfo>, Vec<KeyInfo>) =
                        variant.keys.iter().cloned().partition(|key| {
                            info.name == "traffic"
                                && Common::keys().iter().any(|common| common.name == key.name)
                        });
                    below(&own, &format!("{}.{}", name(info.name), variant.name), &of_kind, found);
                    below(&shared, &name(info.name), &of_kind, found);
                }
            }
            _ => found.push((name(info.name), holding(Out::text(&"a value that is no default")))),
        }
    }
}

/// Whether a list of honoured keys has this one, read independently of the walk.
fn is_listed(honours: &[&str], key: &str) -> bool {
    honours.iter().any(|honoured| {
        let (a, b): (Vec<&str>, Vec<&str>) = (honoured.split('.').collect(), key.split('.').collect());
        a.len() <= b.len() && a.iter().zip(&b).all(|(step, name)| step == name || *step == "*")
    })
}

#[test]
fn every_key_of_the_schema_is_honoured_or_refused_by_a_testbed() {
    let keys = every_key();
    assert!(keys.len() > 250, "{}", keys.len());
    let mut unhonoured = 0;
    for (key, entries) in keys {
        let found = keys::unhonoured(&entries, Testbed::HONOURS);
        if is_listed(Testbed::HONOURS, &key) {
            assert!(found.is_empty(), "{key}: {found:?}");
            continue;
        }
        unhonoured += 1;
        // A section, or a kind of topology, of which nothing is honoured is refused as a whole.
        let within = |set: &keys::Set| {
            set.declared == "topology.kind" && key.starts_with("topology.")
                || key == set.declared
                || key.starts_with(&format!("{}.", set.declared))
        };
        assert!(matches!(&found[..], [set] if within(set)), "{key}: {found:?}");
        assert!(keys::unhonoured(&entries, Simulator::HONOURS).is_empty(), "{key}");
    }
    assert!(unhonoured > 80, "{unhonoured}");
}

#[test]
fn a_testbed_honours_no_key_that_is_not_there() {
    let keys: BTreeSet<String> = every_key().into_iter().map(|(key, _)| key).collect();
    for honoured in Testbed::HONOURS {
        assert!(keys.iter().any(|key| is_listed(&[honoured], key)), "{honoured} is no key of the schema");
        let others: Vec<&str> = Testbed::HONOURS.iter().filter(|other| *other != honoured).copied().collect();
        assert!(!is_listed(&others, honoured), "{honoured} is in the list twice");
    }
}

#[test]
fn the_reasons_are_of_keys_that_are_not_honoured() {
    let mut known = 0;
    for (key, _) in every_key() {
        if Testbed::default().reason(&key).is_some() {
            known += 1;
            assert!(!is_listed(Testbed::HONOURS, &key), "{key}");
        }
    }
    assert!(known > 20, "{known}");
}

const STAR: &str = r#"
topology = { kind = "star", hosts = 3, rate = "100Mbps", delay = "5us" }
switch = { buffer = "1MB", pfc = {}, ecn = { kmin = "30KB", kmax = "60KB", pmax = 1 } }
cc = { algorithm = "dctcp" }
transport = { recovery = "selective" }
traffic = [{ name = "two", kind = "flows", from = ["h0", "h1"], to = "h2", size = "1MB" }]
probe = { ports = ["to h2"], flows = ["two"], captures = ["h0"] }
run = { until = "10s" }
"#;

/// Returns values of a key, as an override has them.
fn values(shape: &Shape) -> Vec<String> {
    let texts = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    match shape {
        Shape::Flag => texts(&["true", "false"]),
        Shape::Count => texts(&["0", "1", "2", "3"]),
        Shape::Ratio => texts(&["0.5", "0.25", "1"]),
        Shape::Quantity(quantity) => {
            let unit = quantity.units()[0].0;
            let example = quantity.example();
            vec![format!("\"{example}\""), format!("\"7{unit}\""), format!("\"30000{unit}\"")]
        }
        Shape::Choice(words) => words.iter().map(|(word, _)| format!("{word:?}")).collect(),
        Shape::Either(shapes) => shapes.iter().flat_map(values).collect(),
        Shape::List(of) => values(of).into_iter().map(|value| format!("[{value}]")).collect(),
        Shape::Text(_) => texts(&["\"two\"", "\"s0->h1\""]),
        Shape::Table(_) => texts(&["true"]),
        Shape::Variants(..) | Shape::Algorithm => Vec::new(),
    }
}

#[test]
fn settings_of_a_file_are_honoured_or_refused_with_their_keys() {
    let (mut honoured, mut unhonoured, mut idle) = (0, 0, 0);
    let sections = ["switch", "switch.pfc", "switch.ecn", "transport", "balancing", "probe", "run"];
    for section in catalogue::sections().into_iter().filter(|entry| sections.contains(&&*entry.name)) {
        for info in section.keys {
            let key = format!("{}.{}", section.name, info.name);
            for value in values(&info.shape) {
                let shown = format!("{key}={value}");
                let is_default = match &info.fallback {
                    Fallback::Value(default) => *default == value,
                    Fallback::Nothing => value == "false",
                    _ => false,
                };
                let read = Scenario::from_toml(STAR, "star.toml", std::slice::from_ref(&shown));
                let (scenario, built) = match read.and_then(|read| read.build().map(|built| (read, built))) {
                    Ok(both) if !is_default => both,
                    Ok(_) => continue,
                    Err(problems) => {
                        // It has no effect with the other settings, or is out of range.
                        idle += usize::from(problems.iter().any(|p| p.key.as_deref() == Some(&*key)));
                        continue;
                    }
                };
                let problems = refused_by_testbed(&scenario, &built);
                let named = problems.iter().filter(|problem| {
                    problem
                        .key
                        .as_deref()
                        .is_some_and(|named| named == key || named.starts_with(&format!("{key}.")))
                });
                match (is_listed(Testbed::HONOURS, &key), named.count()) {
                    // An honoured key can have values that are impossible.
                    (true, _) => honoured += 1,
                    // Nothing is set by it, or keys below it are judged one by one.
                    (false, 0) => assert!(
                        scenario.entries() == Scenario::from_toml(STAR, "star.toml", &[]).unwrap().entries()
                            || Testbed::HONOURS.iter().any(|h| h.starts_with(&format!("{key}."))),
                        "{shown} is ignored"
                    ),
                    (false, _) => unhonoured += 1,
                }
            }
        }
    }
    assert!(honoured >= 40 && unhonoured >= 25 && idle >= 20, "{honoured} {unhonoured} {idle}");
}

fn refused_by_testbed(scenario: &Scenario, built: &Built) -> Problems {
    refused(&Testbed::default(), scenario, built)
}

#[test]
fn a_refusal_has_place_reason_and_remedy() {
    let text = STAR.replace("transport = {", "transport = { ack_size = \"70B\",").replace("pfc = {}, ", "");
    let text = text.replace("kmax = \"60KB\"", "kmax = \"30KB\"");
    let scenario = Scenario::from_toml(&text, "star.toml", &[]).unwrap();
    let problems = refused_by_testbed(&scenario, &scenario.build().unwrap());
    let expected = "star.toml:5:26: transport.ack_size: 70B: acknowledgements of a testbed are TCP segments without \
                    payload\n    help: leave it out";
    assert_eq!(problems.to_string(), expected);
    assert!(refused(&Simulator, &scenario, &scenario.build().unwrap()).is_empty());
}

#[test]
fn a_testbed_refuses_impairments_as_a_whole() {
    let text = format!("impairments = {{ base_rtt_error = \"-20%\" }}\n{STAR}");
    let scenario = Scenario::from_toml(&text, "star.toml", &[]).unwrap();
    let problems = refused_by_testbed(&scenario, &scenario.build().unwrap());
    let expected = "star.toml:1:1: impairments: clocks, links and paths of a testbed are what they are\n    help: leave it out";
    assert_eq!(problems.to_string(), expected);
}
