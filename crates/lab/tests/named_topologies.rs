//! Topologies by name: the papers' numbers come out of them.

use incast_lab::Scenario;
use incast_lab::scenario::catalogue;

/// A scenario with one packet from the first host to `to` in this topology.
fn scenario(topology: &str, to: &str) -> Scenario {
    let text = format!(
        "topology = {topology}\n[cc]\nalgorithm = \"constant\"\n[[traffic]]\nkind = \"flows\"\nfrom = \"h0\"\n\
         to = \"{to}\"\nsize = \"1000B\"\n"
    );
    Scenario::from_toml(&text, "test.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Summary of the network, and the base RTT from the first host to `to`. (ps)
fn measured(topology: &str, to: &str) -> (String, u64) {
    let built = scenario(topology, to).build().unwrap();
    let records = incast_sim::not_started(&built.simulation, &[0]).unwrap();
    (built.fabric.summary(), records[0].base_rtt.ps())
}

#[test]
fn names_have_the_numbers_of_their_papers() {
    let of = |name: &str| format!("{{ kind = \"{name}\" }}");
    for (name, to, summary, from, until) in [
        // Median paper, IV-A: 128 hosts, 32 + 32 + 16 switches, non-blocking; 6 us and packets.
        ("fat-tree-128", "h127", "128 hosts, 80 switches, 384 links, edge 102.4Tbps", 6_000_000, 6_100_000),
        // CCC, 6.1: 20 us over six hops.
        ("fat-tree-250", "h249", "250 hosts, 125 switches, 750 links, edge 6.25Tbps", 19_990_000, 20_010_000),
        // PowerTCP, 4.1: 4 to 1 at the ToRs; its artifact's largest base RTT is 28.96 us, with telemetry.
        ("fat-tree-256", "h255", "256 hosts, 18 switches, 288 links, edge 6.4Tbps", 28_900_000, 29_100_000),
        // OSCAR's artifact, public-artifacts: 12.5 us between pods.
        ("fat-tree-320", "h319", "320 hosts, 56 switches, 480 links, edge 32Tbps", 12_200_000, 12_500_000),
        // The same for its training set-up: 8.2 us.
        ("oscar-training", "h63", "64 hosts, 18 switches, 96 links, leaf 12.8Tbps", 8_150_000, 8_250_000),
        ("oscar-fig14", "h7", "8 hosts, 6 switches, 16 links, leaf 800Gbps", 8_300_000, 8_400_000),
        ("ccc-leaf-spine", "h127", "128 hosts, 12 switches, 160 links, leaf 3.2Tbps", 13_000_000, 13_600_000),
        ("bfc-128", "h127", "128 hosts, 16 switches, 192 links, leaf 12.8Tbps", 8_300_000, 8_400_000),
    ] {
        let (found, base_rtt) = measured(&of(name), to);
        assert!(found.starts_with(summary), "{name}: {found}");
        assert!((from..until).contains(&base_rtt), "{name}: {base_rtt}");
    }
    assert!(measured(&of("fat-tree-128"), "h1").0.ends_with("agg 102.4Tbps down 102.4Tbps up (1:1)"));
    assert!(measured(&of("fat-tree-256"), "h1").0.contains("edge 6.4Tbps down 1.6Tbps up (4:1)"));
    assert!(measured(&of("oscar-training"), "h4").0.ends_with("(2:1)"));
    // Stars of any size: 12.18, 13.5, 20 and about 5 us.
    for (name, from, until) in [
        ("oscar-star", 12_170_000, 12_190_000),
        ("oscar-testbed", 13_490_000, 13_510_000),
        ("ccc-star", 19_990_000, 20_010_000),
        ("sqcc-star", 4_900_000, 5_100_000),
    ] {
        let (summary, base_rtt) = measured(&format!("{{ kind = \"{name}\", hosts = 9 }}"), "h8");
        assert_eq!(summary, "9 hosts, 1 switch, 9 links", "{name}");
        assert!((from..until).contains(&base_rtt), "{name}: {base_rtt}");
    }
    let (summary, _) = measured("{ kind = \"sqcc-dumbbell\", left = 40 }", "h40");
    assert!(summary.starts_with("41 hosts, 2 switches, 42 links"), "{summary}");
}

#[test]
fn every_name_is_listed_and_builds() {
    let entries = catalogue::topologies();
    let named: Vec<_> = entries.iter().filter(|entry| entry.summary.contains("whose keys are set")).collect();
    assert_eq!(named.len(), 13);
    for entry in named {
        let missing = entry.keys.iter().filter(|key| key.fallback == incast_lab::grammar::Fallback::Required);
        let rest: String = missing.map(|key| format!(", {} = 20", key.name)).collect();
        let scenario = scenario(&format!("{{ kind = \"{}\"{rest} }}", entry.name), "h1");
        // What is written out is the kind with all its keys, and the same scenario.
        let written = scenario.effective_toml();
        assert!(!written.contains(&entry.name), "{written}");
        assert_eq!(Scenario::from_toml(&written, "again.toml", &[]).unwrap(), scenario);
    }
}

#[test]
fn a_key_beside_a_name_replaces_the_papers() {
    let (summary, _) = measured("{ kind = \"fat-tree-320\", hosts = 8 }", "h159");
    assert!(summary.starts_with("160 hosts, 56 switches"), "{summary}");
    let faster = scenario("{ kind = \"oscar-star\", hosts = 3, rate = \"400Gbps\" }", "h2");
    assert!(
        faster.effective_toml().contains("rate = \"400Gbps\"\ndelay = \"3us\""),
        "{}",
        faster.effective_toml()
    );
    let text = "topology = { kind = \"star\", hosts = 9, rate = \"1Gbps\", delay = \"1us\" }\ncc = \"constant\"\n\
                [[traffic]]\nkind = \"permutation\"\nsize = \"1KB\"\n";
    let overridden = Scenario::from_toml(text, "t.toml", &["topology.kind=ccc-star".to_owned()]).unwrap();
    assert!(overridden.effective_toml().contains("rate = \"1Gbps\""));
    // The effective kind explains what is wrong.
    let bad =
        text.replace("\"star\", hosts = 9", "\"fat-tree-128\", pods = 3").replace(", rate = \"1Gbps\"", "");
    let problems = Scenario::from_toml(&bad, "t.toml", &[]).unwrap_err().to_string();
    assert!(problems.contains("topology.pods: is already determined by k = 8"), "{problems}");
}

#[test]
fn every_card_of_a_server_has_a_rail() {
    let text = "{ kind = \"rail-optimized\", servers = 4, rails = 8, groups = 2, spines = 3, rate = \"400Gbps\", delay = \"1us\" }";
    let fabric = scenario(text, "h7").build().unwrap().fabric;
    assert_eq!(fabric.summary(), "8 hosts, 19 switches, 112 links, rail 25.6Tbps down 19.2Tbps up (1.33:1)");
    let name = |node: u32| fabric.network.nodes[node as usize].as_str();
    let rails = |host: u32| fabric.ports(host).iter().map(|port| name(port.0)).collect::<Vec<_>>();
    assert_eq!(rails(3), (0..8).map(|i| format!("rail{i}")).collect::<Vec<_>>());
    assert_eq!(rails(4), (8..16).map(|i| format!("rail{i}")).collect::<Vec<_>>());
    // Two links to a server of the same group, four to one of another.
    assert_eq!((fabric.distances(0)[3], fabric.distances(0)[7]), (2, 4));
    let problems = |text: &str| {
        let text = format!(
            "topology = {text}\ncc = \"swift\"\n[[traffic]]\nkind = \"permutation\"\nsize = \"1KB\"\n"
        );
        Scenario::from_toml(&text, "t.toml", &[]).unwrap_err().to_string()
    };
    let without = problems(&text.replace("spines = 3", "spines = 0"));
    assert!(without.contains("topology.spines: 2 groups need at least one spine"), "{without}");
}
