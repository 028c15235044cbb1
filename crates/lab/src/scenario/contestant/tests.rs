use super::*;
use crate::Scenario;

/// A star of 16 hosts with a shared buffer; these lines come before its traffic.
fn star(lines: &str, overrides: &[&str]) -> Result<Scenario, String> {
    let text = format!(
        "topology = {{ kind = \"star\", hosts = 16, rate = \"100Gbps\", delay = \"3us\" }}\n{lines}\n\
         [[traffic]]\nname = \"burst\"\nkind = \"incast\"\nto = \"h15\"\nsize = \"100KB\"\n"
    );
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    Scenario::from_toml(&text, "s.toml", &overrides).map_err(|problems| problems.to_string())
}

/// The line of a key in an effective scenario, in the table of this name.
fn line(scenario: &Scenario, section: &str, key: &str) -> String {
    let text = scenario.effective_toml();
    let mut at = String::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            line.trim_matches(['[', ']']).clone_into(&mut at);
        } else if at == section && line.split(" = ").next() == Some(key) {
            return line.to_owned();
        }
    }
    format!("no {key} in [{section}]")
}

fn reasons(scenario: &Scenario) -> Vec<String> {
    scenario.dropped().iter().map(ToString::to_string).collect()
}

#[test]
fn every_contestant_runs_on_a_star_and_reads_back_as_its_keys() {
    let names: Vec<String> =
        contestants().into_iter().filter(|one| one.role != Role::Base).map(|one| one.name).collect();
    assert_eq!(names.len(), 24);
    for name in &names {
        for lines in [
            "",
            "cc = \"swift\"\nswitch = { pfc = {}, ecn = { kmin = \"5KB\", kmax = \"9KB\", pmax = 0.1 } }",
        ] {
            let scenario = star(lines, &[&format!("contestant={name}")]).unwrap();
            assert_eq!(scenario.contestant(), Some(name.as_str()));
            assert!(scenario.build().is_ok(), "{name}");
            let again = Scenario::from_toml(&scenario.effective_toml(), "s.toml", &[]).unwrap();
            assert!(again == scenario, "{name}");
            assert!(again.contestant().is_none() && again.dropped().is_empty(), "{name}");
            let marked: Vec<String> = scenario.warnings().iter().map(ToString::to_string).collect();
            // A star has no circuits.
            let unserved = marked.iter().any(|warning| warning.contains("cc.algorithm"));
            assert_eq!(unserved, name == "retcp", "{name}: {marked:?}");
        }
    }
}

#[test]
fn the_table_is_as_the_pages_have_it() {
    let all = contestants();
    let count = |role| all.iter().filter(|one| one.role == role).count();
    assert_eq!((count(Role::Ranked), count(Role::Reference), count(Role::Base)), (21, 3, 4));
    // One for each algorithm, transport and network, under its name.
    let algorithms = CATALOGUE.iter().map(|info| info.name);
    let controls = catalogue::own_controls().into_iter().map(|control| control.name);
    let mut expected: Vec<&str> = algorithms.chain(controls).collect();
    let mut names: Vec<&str> =
        all.iter().filter(|one| one.role != Role::Base).map(|one| one.name.as_str()).collect();
    expected.sort_unstable();
    names.sort_unstable();
    assert_eq!(names, expected);
    for one in &all {
        assert!(!one.title.is_empty() && !one.what.is_empty(), "{}", one.name);
        assert_eq!(one.needs.is_empty(), one.role == Role::Base, "{}", one.name);
        for (key, value, source) in &one.settings {
            assert!(!value.is_empty() && !source.is_empty(), "{}: {key}", one.name);
        }
        // Each closes the fabric.
        for key in ["switch.pfc", "switch.trimming", "transport.kind", "balancing.policy"] {
            assert!(one.settings.iter().any(|(known, ..)| known == key), "{}: {key}", one.name);
        }
    }
    let nscc = all.iter().find(|one| one.name == "nscc").unwrap();
    assert_eq!((nscc.cc.as_str(), nscc.from.as_deref()), ("nscc:trimming", Some("trimming")));
    let find = |key: &str| nscc.settings.iter().find(|(known, ..)| known == key).unwrap();
    assert_eq!(find("balancing.paths").1, "64");
    assert_eq!(find("switch.ecn").1, "{ kmin = \"0.2 BDP\", kmax = \"0.8 BDP\", pmax = 1.0 }");
}

#[test]
fn a_contestant_replaces_what_is_its_own_and_leaves_the_rest() {
    let lines = "cc = { algorithm = \"swift\", beta = 0.5 }\n\
                 switch = { buffer = \"4MB\", egress_alpha = 2.0, ecn = { kmin = \"5KB\", kmax = \"9KB\", pmax = 0.1 } }\n\
                 transport = { payload = \"1500B\", base_rtt = \"9us\" }\nbalancing = { policy = \"ops\" }";
    let scenario = star(lines, &["contestant=nscc"]).unwrap();
    assert_eq!(scenario.algorithm().as_deref(), Some("nscc:trimming"));
    assert_eq!(line(&scenario, "cc", "forget_base_rtt"), "forget_base_rtt = true");
    assert_eq!(line(&scenario, "transport", "payload"), "payload = \"1.5KB\"");
    assert_eq!(line(&scenario, "transport", "base_rtt"), "base_rtt = \"path\"");
    assert_eq!(line(&scenario, "balancing", "freeze"), "freeze = \"10ms\"");
    // A fifth of 153236 B, which `relative.rs` works out.
    assert_eq!(line(&scenario, "switch.ecn", "kmin"), "kmin = \"30.647KB\"");
    assert_eq!(line(&scenario, "switch.ecn", "pmax"), "pmax = 1.0");
    // Under trimming the buffer has no effect: the file's two keys are dropped, each with its place and reason.
    let dropped = reasons(&scenario);
    assert_eq!(dropped.len(), 2, "{dropped:?}");
    assert!(
        dropped[0].starts_with("s.toml:3:") && dropped[0].contains("switch.buffer: has no effect"),
        "{dropped:?}"
    );
    assert!(dropped[1].contains("switch.egress_alpha: has no effect"), "{dropped:?}");
    // The marks of a contestant that reads none are the scenario's.
    let scenario = star(lines, &["contestant=swift"]).unwrap();
    assert_eq!(line(&scenario, "switch.ecn", "pmax"), "pmax = 0.1");
    assert_eq!(line(&scenario, "switch", "buffer"), "buffer = \"4MB\"");
    assert_eq!(reasons(&scenario), [""; 0]);
}

#[test]
fn overrides_are_the_last_word_wherever_they_stand() {
    for overrides in [
        ["contestant=dctcp", "switch.ecn.kmin=1KB", "cc.g=0.25"],
        ["switch.ecn.kmin=1KB", "cc.g=0.25", "contestant=dctcp"],
    ] {
        let scenario = star("cc = \"swift\"", &overrides).unwrap();
        assert_eq!(line(&scenario, "switch.ecn", "kmin"), "kmin = \"1KB\"");
        assert_eq!(line(&scenario, "cc", "g"), "g = 0.25");
        assert_eq!(scenario.algorithm().as_deref(), Some("dctcp:paper"));
    }
    // Of two choices the later one.
    let scenario = star("", &["contestant=dctcp", "contestant=hpcc"]).unwrap();
    assert_eq!(scenario.contestant(), Some("hpcc"));
    assert_eq!(line(&scenario, "transport", "base_rtt"), "base_rtt = \"network\"");
}

#[test]
fn the_same_override_without_effect_is_dropped_with_a_contestant_and_refused_without() {
    let scenario = star("", &["contestant=ndp", "transport.rto=5ms"]).unwrap();
    assert_eq!(
        reasons(&scenario),
        ["--set transport.rto=5ms: transport.rto: has no effect: transport.kind is \"ndp\""]
    );
    let problems = star("transport = { kind = \"ndp\" }\nswitch = { trimming = {} }", &["transport.rto=5ms"]);
    assert!(problems.unwrap_err().contains("transport.rto: has no effect"));
    // What a contestant sets without effect is an error.
    let problems = star("", &["contestant={name=\"x\", from=\"ndp\", transport={rto=\"5ms\"}}"]).unwrap_err();
    assert!(problems.contains("transport.rto: has no effect"), "{problems}");
}

#[test]
fn nothing_pauses_in_an_unlimited_buffer() {
    let scenario = star("switch = { buffer = \"unlimited\" }", &["contestant=oscar"]).unwrap();
    let dropped = reasons(&scenario);
    assert_eq!(dropped.len(), 1, "{dropped:?}");
    assert_eq!(dropped[0], "contestant oscar: switch.pfc: has no effect: the buffer is unlimited");
    assert_eq!(line(&scenario, "transport", "recovery"), "recovery = \"go-back-n\"");
}

#[test]
fn a_file_defines_contestants_from_others() {
    let lines = "[contestant.half]\nwhat = \"half\"\nfrom = \"nscc\"\ncc = { target_share = 0.5 }\n\
                 switch = { trimming = { data = \"2 BDP\" } }\nsources = { \"switch.trimming\" = \"chosen here\" }\n\
                 [contestant.more]\nfrom = \"half\"\ncc = { forget_base_rtt = false }\n\
                 [contestant.nscc]\nfrom = \"nscc\"\nbalancing = { policy = \"ops\" }\n\
                 [contestant.plain]\nfrom = \"dropping\"\ncc = \"swift:oscar\"\nswitch = { ecn = false }";
    assert_eq!(
        star(&format!("{lines}\n[cc]\nalgorithm = \"hpcc\""), &[]).unwrap().own_contestants().len(),
        4
    );
    let more = star(lines, &["contestant=more"]).unwrap();
    assert_eq!(line(&more, "cc", "target_share"), "target_share = 0.5");
    assert_eq!(line(&more, "cc", "forget_base_rtt"), "forget_base_rtt = false");
    assert_eq!(more.algorithm().as_deref(), Some("nscc:trimming"));
    // 2 × 152236 B, and the headers as large: the whole table was replaced.
    assert_eq!(line(&more, "switch.trimming", "data"), "data = \"304.472KB\"");
    assert_eq!(line(&more, "switch.trimming", "ratio"), "ratio = 10");
    // Both are built on the file's NSCC, which is Incast's with another balancing.
    assert_eq!(line(&more, "balancing", "policy"), "policy = \"ops\"");
    let plain = star(
        &format!("switch.ecn = {{ kmin = \"5KB\", kmax = \"9KB\", pmax = 0.1 }}\n{lines}"),
        &["contestant=plain"],
    );
    let plain = plain.unwrap();
    assert_eq!(plain.algorithm().as_deref(), Some("swift:oscar"));
    assert!(line(&plain, "switch.ecn", "kmin").starts_with("no kmin"));
    // An override defines or changes one.
    let with = star(lines, &["contestant.half.cc.target_share=0.75", "contestant=half"]).unwrap();
    assert_eq!(line(&with, "cc", "target_share"), "target_share = 0.75");
    // A preset replaces the algorithm's section.
    let uec = star("", &["contestant=nscc:uec"]).unwrap();
    assert_eq!(uec.algorithm().as_deref(), Some("nscc:uec"));
    assert_eq!(line(&uec, "cc", "forget_base_rtt"), "forget_base_rtt = false");
    // Without an algorithm of its own, keys are added to the scenario's.
    let keys = "[contestant.slow]\nfrom = \"lossless\"\ncc = { beta = 0.25 }\n[cc]\nalgorithm = \"swift\"";
    assert_eq!(line(&star(keys, &["contestant=slow"]).unwrap(), "cc", "beta"), "beta = 0.25");
}

#[test]
fn blocks_with_an_algorithm_of_their_own_keep_it() {
    let text = "topology = { kind = \"star\", hosts = 4, rate = \"100Gbps\", delay = \"3us\" }\n\
                [[traffic]]\nname = \"a\"\nkind = \"incast\"\nto = \"h3\"\nsize = \"1MB\"\n\
                [[traffic]]\nname = \"b\"\nkind = \"incast\"\nto = \"h2\"\nsize = \"1MB\"\ncc = \"swift\"\n";
    let scenario = Scenario::from_toml(text, "s.toml", &["contestant=dctcp".to_owned()]).unwrap();
    assert_eq!(scenario.algorithms(), ["dctcp:paper", "swift:paper"]);
}

#[test]
fn what_contestants_can_get_wrong() {
    let wrong = |lines: &str, overrides: &[&str]| star(lines, overrides).unwrap_err();
    let cases: [(&str, &[&str], &[&str]); 14] = [
        (
            "",
            &["contestant=nsc"],
            &[
                "--set contestant=nsc: \"nsc\" is no contestant of this file, and Incast has none of this name",
                "did you mean \"nscc\"? `incast list contestants` has all",
            ],
        ),
        (
            "[contestant.mine]\nfrom = \"nscc\"\n[contestant.mine.topology]\nhosts = 3",
            &[],
            &[
                "s.toml:4:",
                "contestant.mine.topology: a contestant sets cc, switch, transport and balancing; network and traffic are the scenario's",
            ],
        ),
        (
            "[contestant.mine]\nfrom = \"nscc\"\nsources = { \"switch.ecm\" = \"here\" }",
            &[],
            &["contestant.mine.sources: switch.ecm is no key that this contestant sets"],
        ),
        (
            "contestant = \"nscc\"",
            &[],
            &["contestant: \"nscc\" does not belong here: a file defines", "--set contestant=NAME"],
        ),
        (
            "[contestant.a]\nfrom = \"b\"\n[contestant.b]\nfrom = \"a\"",
            &[],
            &["contestant.b.from: \"a\" takes its settings"],
        ),
        (
            "[contestant.a]\nfrom = \"nsc\"",
            &[],
            &["s.toml:3:8: contestant.a.from: \"nsc\"", "did you mean \"nscc\"?"],
        ),
        (
            "[contestant.a]\nswitch = { ecm = {} }",
            &[],
            &["contestant.a.switch.ecm: unknown key of switch", "did you mean \"ecn\"?"],
        ),
        ("[contestant.a]\nfrm = \"nscc\"", &[], &["contestant.a.frm: unknown key", "did you mean \"from\"?"]),
        (
            "[contestant.a]\nbalancing = \"ops\"",
            &[],
            &["contestant.a.balancing: \"ops\" does not belong here; write a table"],
        ),
        ("", &["contestant=lossless"], &["\"lossless\" is what several contestants have in common"]),
        ("", &["contestant=ndp:fast"], &["ndp has no algorithm at the sender, and so no presets"]),
        (
            "",
            &["contestant=nscc:fast"],
            &["--set contestant=nscc:fast", "there is no preset of nscc \"fast\""],
        ),
        ("", &["contestant={from=\"nscc\"}"], &["a contestant in a table needs its name"]),
        (
            "switch = { buffer = { per_port = \"1MB\" } }",
            &["contestant=hpcc"],
            &["contestant hpcc: switch.pfc: needs a shared"],
        ),
    ];
    for (lines, overrides, parts) in cases {
        let problems = wrong(lines, overrides);
        for part in parts {
            assert!(problems.contains(part), "{lines} {overrides:?}: {part}\n{problems}");
        }
    }
}
