//! The class of the evidence for a default agrees with the text of its source.
//!
//! A source is a list of clauses, `ORIGIN: VALUE; ORIGIN: VALUE`. The clause that has the default's value decides: it names
//! public code, or a paper, or says that the value was chosen here. A default that changes and keeps its class fails here.

use incast_cc::any::{CATALOGUE, ParamInfo};
use incast_cc::params::{Evidence, Kind, Value};
use incast_cc::{AnyParams, Fixed};

const PAPERS: [&str; 21] = [
    "section",
    "Appendix",
    "Algorithm",
    "Equation",
    "RFC",
    "Theorem",
    "Figure",
    "paper",
    "ECN or Delay",
    "CCC",
    "DCQCN",
    "DCTCP",
    "HPCC",
    "OSCAR",
    "Poseidon",
    "PowerTCP",
    "SQCC",
    "Swift",
    "TIMELY",
    "Lazy TCP",
    "Bolt",
];
const CODE: [&str; 5] = ["artifact", "htsim", "simulator", "code", "module"];
const MEASURED: [&str; 1] = ["chosen here by measurement"];
const OURS: [&str; 2] = ["ours", "here"];

fn has(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// The parameters of every algorithm with their defaults.
fn defaults() -> impl Iterator<Item = (&'static str, ParamInfo, Value)> {
    CATALOGUE.iter().flat_map(|info| {
        let mut found = Vec::new();
        AnyParams::named(info.name, None)
            .unwrap()
            .params(|parameter, value| found.push((info.name, parameter, value)));
        found
    })
}

/// Whether a text has this value as a word, a decimal or a fraction. A zero may also be called none, or not given.
fn mentions(text: &str, kind: Kind, value: Value) -> bool {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || ",:()".contains(c))
        .map(|word| word.trim_end_matches('.'))
        .collect();
    let zero = matches!(value, Value::Flag(_) | Value::Choice(_)) || value.bits().1 != 0;
    if !zero && (words.contains(&"none") || text.contains("not given")) {
        return true;
    }
    let written = match (kind, value) {
        (_, Value::Time(time)) => time.to_string(),
        (_, Value::Bytes(bytes)) => bytes.to_string(),
        (_, Value::Rate(rate)) => rate.to_string(),
        (_, Value::Flag(flag)) => flag.to_string(),
        (_, Value::Count(count)) => count.to_string(),
        (Kind::Choice(choices), Value::Choice(place)) => choices[place].to_owned(),
        (_, Value::Choice(_)) => unreachable!("a choice has words"),
        (_, Value::Ratio(ratio)) => {
            return words
                .iter()
                .any(|word| number(word).is_some_and(|n| n.bits().abs_diff(ratio.bits()) <= 1));
        }
    };
    words.contains(&written.as_str())
}

/// The number that a word is: `0.05`, `1/16`.
fn number(word: &str) -> Option<Fixed> {
    let whole = |text: &str| text.parse::<u32>().ok().map(u64::from);
    if let Some((above, below)) = word.split_once('/') {
        return whole(below)
            .filter(|&below| below > 0)
            .and_then(|below| Some(Fixed::ratio(whole(above)?, below)));
    }
    let (before, after) = word.split_once('.').unwrap_or((word, ""));
    let scale = 10_u64.checked_pow(u32::try_from(after.len()).ok()?).filter(|&scale| scale <= 1_000_000)?;
    let fraction = if after.is_empty() { 0 } else { whole(after)? };
    Some(Fixed::ratio(whole(before)? * scale + fraction, scale))
}

/// Whether a clause names public code and no paper beside it, as "OSCAR's public artifact".
fn only_code(clause: &str) -> bool {
    has(clause, &CODE)
        && !has(
            clause,
            &["section", "Appendix", "Algorithm", "Equation", "RFC", "Theorem", "Figure", "Table"],
        )
}

/// Whether a value that this clause names may have this class.
fn agrees(evidence: Evidence, clause: &str) -> bool {
    match evidence {
        Evidence::Printed => has(clause, &PAPERS) && !only_code(clause) && !has(clause, &MEASURED),
        Evidence::Artifact => has(clause, &CODE),
        Evidence::Measured => has(clause, &MEASURED),
        // It names what it is derived from, or says how.
        Evidence::Derived => {
            has(clause, &PAPERS) || has(clause, &CODE) || has(clause, &["is the", "as up", "epsilon"])
        }
        Evidence::Ours => has(clause, &OURS) && !has(clause, &MEASURED),
    }
}

/// Describes a class that its source does not support; `None` where it does.
fn flaw(info: &ParamInfo, value: Value) -> Option<String> {
    let clauses: Vec<&str> = info.source.split(';').collect();
    let about: Vec<&str> =
        clauses.iter().filter(|clause| mentions(clause, info.kind, value)).copied().collect();
    let looked = if about.is_empty() { clauses } else { about };
    let right = looked.iter().any(|clause| agrees(info.evidence, clause));
    (!right).then(|| format!("{} = {value:?} is {:?}: {}", info.name, info.evidence, looked.join(";")))
}

#[test]
fn the_class_of_evidence_is_that_of_the_clause_with_the_value() {
    let flaws: Vec<String> = defaults()
        .filter_map(|(name, info, value)| flaw(&info, value).map(|flaw| format!("{name}: {flaw}")))
        .collect();
    assert!(flaws.is_empty(), "{}", flaws.join("\n"));
    let of = |class| defaults().filter(|(_, info, _)| info.evidence == class).count();
    let counts = Evidence::ALL.map(of);
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
}

#[test]
fn another_default_or_another_class_is_noticed() {
    let source =
        "uet-htsim: 1 in effect; for a target of 1us chosen here: 0.5; median paper section IV-A: 1/4";
    let info = |evidence| ParamInfo {
        name: "share",
        kind: Kind::Ratio(Fixed::ZERO, Fixed::ONE),
        meaning: "a share",
        evidence,
        source,
    };
    for (above, right) in [(4, Evidence::Artifact), (2, Evidence::Ours), (1, Evidence::Printed)] {
        for class in [Evidence::Artifact, Evidence::Ours, Evidence::Printed, Evidence::Measured] {
            let found = flaw(&info(class), Value::Ratio(Fixed::ratio(above, 4)));
            assert_eq!(found.is_none(), class == right, "{above}/4 {class:?}: {found:?}");
        }
    }
}

#[test]
fn evidence_by_hand() {
    let of = |algorithm: &str, parameter: &str| {
        let mut all = defaults();
        let found = all.find(|(name, info, _)| *name == algorithm && info.name == parameter);
        found.unwrap_or_else(|| panic!("{algorithm} has no {parameter}")).1.evidence
    };
    // Laws that algorithms share have defaults of their own: the median paper's Swift has a target of about 1us, csg-htsim's
    // 20us.
    for (algorithm, parameter, class) in [
        ("dctcp", "g", Evidence::Printed),
        ("nscc", "gamma", Evidence::Artifact),
        ("nscc", "forget_base_rtt", Evidence::Ours),
        ("mnscc", "history", Evidence::Printed),
        ("swift", "base_target", Evidence::Artifact),
        ("lswift", "base_target", Evidence::Printed),
        ("mswift", "fs_range", Evidence::Ours),
        ("newreno", "slow_start", Evidence::Printed),
        ("retcp", "slow_start", Evidence::Ours),
        ("oscar", "target_time", Evidence::Measured),
        // 40Mbps at 40Gbps is a thousandth.
        ("dcqcn", "r_ai", Evidence::Derived),
    ] {
        assert_eq!(of(algorithm, parameter), class, "{algorithm}: {parameter}");
    }
}
