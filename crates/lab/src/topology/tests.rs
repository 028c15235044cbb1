use std::collections::BTreeMap;

use incast_units::{Rate, Time};

use super::*;
use crate::grammar::reading::Reading;
use crate::grammar::section::Section;
use crate::grammar::setting::Setting;
use crate::grammar::tree::{Sources, parse_value};

/// The fabric of a topology written as an inline table.
fn fabric(text: &str) -> Fabric {
    let sources = Sources { file: "test".to_owned(), ..Sources::default() };
    let mut reading = Reading::new(sources, std::path::PathBuf::new(), |_, _| None);
    let topology = Topology::read(&parse_value(text, 0), "topology", &mut reading);
    topology.unwrap_or_else(|| panic!("{}", reading.into_problems())).build().unwrap()
}

fn problems(text: &str) -> Vec<(String, String)> {
    let sources = Sources { file: "test".to_owned(), ..Sources::default() };
    let mut reading = Reading::new(sources, std::path::PathBuf::new(), |_, _| None);
    Topology::read(&parse_value(text, 0), "topology", &mut reading)
        .unwrap()
        .build()
        .unwrap_err()
        .into_iter()
        .map(|fault| (fault.key.unwrap(), fault.problem))
        .collect()
}

/// Checks what must hold of every topology, and the counts given.
fn sound(fabric: &Fabric, hosts: u32, switches: usize, links: usize) {
    let network = &fabric.network;
    assert_eq!((network.hosts, network.nodes.len()), (hosts, hosts as usize + switches));
    assert_eq!(network.links.len(), links);
    for host in 0..hosts {
        assert_eq!(network.ports(host), 1, "host {host}");
        assert!(!network.is_host(fabric.switch_of(host)));
        assert_eq!(network.nodes[host as usize], format!("h{host}"));
    }
    assert!(fabric.distances(0).iter().all(|&d| d != u32::MAX));
    let mut names = network.nodes.clone();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), network.nodes.len());
    for (node, ports) in (0..).zip(&fabric.ports) {
        assert_eq!(usize::from(network.ports(node)), ports.len());
    }
}

/// Counts the hosts at each distance from host 0.
fn census(fabric: &Fabric) -> Vec<(u32, usize)> {
    let mut counts = BTreeMap::new();
    for &d in &fabric.distances(0)[1..fabric.network.hosts as usize] {
        *counts.entry(d).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

#[test]
fn star() {
    let fabric = fabric(r#"{ kind = "star", hosts = 16, rate = "100Gbps", delay = "3us" }"#);
    sound(&fabric, 16, 1, 16);
    assert_eq!(census(&fabric), [(2, 15)]);
    assert_eq!(fabric.port_name(16, 15), "s0->h15");
    assert_eq!(fabric.summary(), "16 hosts, 1 switch, 16 links");
}

#[test]
fn dumbbell() {
    let fabric = fabric(
        r#"{ kind = "dumbbell", left = 3, right = 1, rate = "10Gbps", delay = "1us", bottleneck_rate = "5Gbps" }"#,
    );
    sound(&fabric, 4, 2, 5);
    assert_eq!(census(&fabric), [(2, 2), (3, 1)]);
    assert_eq!(fabric.network.links[4].rate, Rate::from_gbps(5));
    assert_eq!(fabric.network.links[4].delay, Time::from_us(1));
}

#[test]
fn parking_lot() {
    let fabric = fabric(r#"{ kind = "parking-lot", rate = "100Gbps", delay = "1us" }"#);
    sound(&fabric, 6, 3, 8);
    assert_eq!(fabric.distances(0)[..6], [0, 2, 3, 3, 4, 4]);
}

#[test]
fn leaf_spine_of_the_training_set_up() {
    // OSCAR section 6.3, training: 2 spines, 16 leaves, 4 hosts each, all 200 Gbps.
    let fabric = fabric(
        r#"{ kind = "leaf-spine", leaves = 16, spines = 2, hosts = 4, rate = "200Gbps", delay = "1us" }"#,
    );
    sound(&fabric, 64, 18, 96);
    assert_eq!(census(&fabric), [(2, 3), (4, 60)]);
    assert_eq!(
        fabric.tiers(),
        [Tier {
            name: "leaf".to_owned(),
            switches: 16,
            down: Rate::from_gbps(12_800),
            up: Rate::from_gbps(6_400)
        }]
    );
    assert!(fabric.summary().ends_with("leaf 12.8Tbps down 6.4Tbps up (2:1)"), "{}", fabric.summary());
}

#[test]
fn fat_tree_of_the_large_set_up() {
    // OSCAR section 6.1: 320 hosts, 5 pods of 4 edge and 4 aggregation switches, 16 cores.
    let fabric = fabric(
        r#"{ kind = "fat-tree", pods = 5, edge = 4, agg = 4, core = 16, hosts = 16, rate = "100Gbps",
            delay = "1us", fabric_rate = "400Gbps" }"#,
    );
    sound(&fabric, 320, 56, 480);
    assert_eq!(census(&fabric), [(2, 15), (4, 48), (6, 256)]);
    // Not oversubscribed: 32 Tbps from the hosts, through the edge, through the aggregation layer.
    for (tier, name) in fabric.tiers().iter().zip(["edge", "agg"]) {
        let expected = Tier {
            name: name.to_owned(),
            switches: 20,
            down: Rate::from_gbps(32_000),
            up: Rate::from_gbps(32_000),
        };
        assert_eq!(*tier, expected);
    }
    // Every core has one link into every pod.
    for core in 360..376 {
        assert_eq!(fabric.ports(core).len(), 5);
        let mut pods: Vec<u32> = fabric.ports(core).iter().map(|p| (p.0 - 340) / 4).collect();
        pods.sort_unstable();
        assert_eq!(pods, [0, 1, 2, 3, 4]);
    }
}

#[test]
fn fat_tree_of_powertcp() {
    // PowerTCP section 4.1: 256 hosts, 4 pods of 2 + 2 switches, 2 cores, 4:1, slow links to the cores.
    let fabric = fabric(
        r#"{ kind = "fat-tree", pods = 4, edge = 2, agg = 2, core = 2, hosts = 32, core_links = "all",
            rate = "25Gbps", delay = "1us", fabric_rate = "100Gbps", core_delay = "5us" }"#,
    );
    sound(&fabric, 256, 18, 256 + 16 + 16);
    assert_eq!(census(&fabric), [(2, 31), (4, 32), (6, 192)]);
    assert!(
        fabric.summary().ends_with("edge 6.4Tbps down 1.6Tbps up (4:1), agg 1.6Tbps down 1.6Tbps up (1:1)"),
        "{}",
        fabric.summary()
    );
    assert_eq!(fabric.network.links.last().unwrap().delay, Time::from_us(5));
}

#[test]
fn a_full_fat_tree_has_full_bisection() {
    for k in [2_u32, 4, 8] {
        let fabric =
            fabric(&format!("{{ kind = \"fat-tree\", k = {k}, rate = \"1Gbps\", delay = \"1us\" }}"));
        sound(&fabric, k * k * k / 4, (5 * k * k / 4) as usize, (3 * k * k * k / 4) as usize);
        // Al-Fares et al.: any half of the pods can send all it has to the other half.
        let half = Rate::from_gbps(u64::from(k * k * k / 8));
        let first_core = k * k * k / 4 + k * k;
        let crossing: Rate = fabric
            .network
            .links
            .iter()
            .filter(|link| link.b.0 >= first_core && (link.a.0 - k * k * k / 4 - k * k / 2) / (k / 2) < k / 2)
            .map(|link| link.rate)
            .sum();
        assert_eq!(crossing, half);
    }
}

#[test]
fn graph() {
    let fabric = fabric(
        r#"{ kind = "graph", hosts = ["h0-h2", "h3"], switches = ["a", "b"], rate = "100Gbps", delay = "1us",
            links = [ { between = ["h0-h2", "a"] }, { between = ["h3", "b"], rate = "10Gbps" },
                      { between = ["a", "b"], parallel = 2, delay = "9us" } ] }"#,
    );
    sound(&fabric, 4, 2, 6);
    assert_eq!(fabric.host_rate(3), Rate::from_gbps(10));
    assert_eq!(fabric.network.links[5].delay, Time::from_us(9));
}

#[test]
fn what_does_not_fit_together_is_named() {
    let message =
        |text: &str| problems(text).into_iter().map(|(k, m)| format!("{k}: {m}")).collect::<Vec<_>>();
    let link = r#"rate = "1Gbps", delay = "1us""#;
    assert!(message(&format!("{{ kind = \"fat-tree\", k = 3, {link} }}"))[0].contains("odd"));
    assert!(
        message(&format!("{{ kind = \"fat-tree\", k = 4, pods = 4, {link} }}"))[0]
            .contains("already determined")
    );
    assert!(message(&format!("{{ kind = \"fat-tree\", pods = 4, {link} }}"))[0].contains("absent: edge"));
    assert!(
        message(&format!("{{ kind = \"leaf-spine\", leaves = 4096, spines = 1, hosts = 4096, {link} }}"))[0]
            .contains("at most 65536")
    );
    let graph = |links: &str| {
        message(&format!(
            "{{ kind = \"graph\", hosts = [\"h0-h1\"], switches = [\"s0\", \"s1\"], {link}, links = [{links}] }}"
        ))
        .join("\n")
    };
    let pair = |a: &str, b: &str| format!("{{ between = [\"{a}\", \"{b}\"] }},");
    assert!(graph(&(pair("h0", "s0") + &pair("h1", "s1"))).contains("no path from h0 to h1"));
    assert!(graph(&pair("h0", "h1")).contains("connects two hosts"));
    assert!(graph(&pair("h0", "s9")).contains("no node \"s9\""));
    assert!(graph(&(pair("h0", "s0") + &pair("s0", "h0"))).contains("already connected"));
    // h0 is at both switches, and hosts do not forward.
    let three = |links: &str| {
        let text = format!(
            "{{ kind = \"graph\", hosts = [\"h0-h2\"], switches = [\"s0\", \"s1\"], {link}, links = [{links}] }}"
        );
        message(&text).join("\n")
    };
    let bridged = pair("h0-h1", "s0") + &pair("h0", "s1") + &pair("h2", "s1");
    assert!(three(&bridged).contains("no path from h1 to h2"), "{}", three(&bridged));
    assert!(graph(&pair("h0", "s0")).contains("host h1 has no link"));
    assert!(graph(&pair("h1-h0", "s0")).contains("backward"));
    assert!(!Topology::summary().is_empty() && Topology::keys().len() == 1);
}

#[test]
fn hosts_with_several_links() {
    // Two rails; h0 and h1 at both, with two links to the second; h2 at the first one.
    let fabric = fabric(
        r#"{ kind = "graph", hosts = ["h0-h2"], switches = ["r0", "r1"], rate = "100Gbps", delay = "1us",
            links = [{ between = ["h0-h2", "r0"] },
                     { between = ["h0-h1", "r1"], parallel = 2, rate = "50Gbps" }] }"#,
    );
    assert_eq!([0, 1, 2].map(|host| fabric.network.ports(host)), [3, 3, 1]);
    assert_eq!(fabric.switches_of(0), [3, 4, 4]);
    assert_eq!(fabric.switch_of(0), 3);
    assert_eq!([0, 2].map(|host| fabric.host_rate(host)), [200, 100].map(Rate::from_gbps));
    assert_eq!([0, 1, 2].map(|port| fabric.port_name(0, port)), ["h0->r0", "h0->r1", "h0->r1"]);
    assert_eq!(census(&fabric), [(2, 2)]);
    assert_eq!(fabric.unreachable(), None);
}

#[test]
fn rotor_of_powertcp() {
    // PowerTCP section 5: 25 ToRs of 10 hosts, each with a link to the packet switch and to the optical switch.
    let fabric = fabric(r#"{ kind = "rotor" }"#);
    sound(&fabric, 250, 27, 300);
    let network = &fabric.network;
    let (tor, packet, optical) = (250, 275, 276);
    assert_eq!((network.ports(tor), network.ports(packet), network.ports(optical)), (12, 25, 25));
    assert_eq!([fabric.port_name(tor, 10), fabric.port_name(tor, 11)], ["tor0->packet", "tor0->optical"]);
    let rate = |port: usize| fabric.ports(tor)[port].1;
    assert_eq!([9, 10, 11].map(rate), [25, 25, 100].map(Rate::from_gbps));
    // The largest base RTT: four links of 1 us, four of 4.64224 us, 1054 B and 64 B at 25 Gbps (320 ps a byte) on
    // four links each.
    let delay = |port: usize| fabric.ports(tor)[port].2;
    assert_eq!(delay(10), delay(11));
    let rtt = delay(9).times(4) + delay(10).times(4) + Time::from_ps(4 * (1054 + 64) * 320);
    assert_eq!(rtt, Time::from_us(24));
    let circuits = network.circuits.unwrap();
    assert_eq!((circuits.day, circuits.night), (Time::from_us(225), Time::from_us(20)));
    assert_eq!((circuits.prebuffer, circuits.voq), (Time::ZERO, None));
}

#[test]
fn rotor_queues_and_what_it_refuses() {
    let circuits = |more: &str| fabric(&format!("{{ kind = \"rotor\", {more} }}")).network.circuits.unwrap();
    let limits = |more: &str| {
        let voq = circuits(more).voq.unwrap();
        (voq.small.get(), voq.large.get())
    };
    // Four times 75 KB, and 600 us at 25 Gbps: 300 KB + 1.875 MB.
    assert_eq!(limits(r#"voq = "75KB", prebuffer = "600us""#), (75_000, 300_000 + 1_875_000));
    assert_eq!(limits(r#"voq = "75KB", voq_large = "80KB""#), (75_000, 80_000));
    let message = |more: &str| problems(&format!("{{ kind = \"rotor\", {more} }}"));
    let about = |key: &str, text: &str| vec![(key.to_owned(), text.to_owned())];
    assert_eq!(
        message(r#"voq_large = "1MB""#),
        about("voq_large", "has no effect without voq, the limit at other times")
    );
    assert_eq!(
        message(r#"voq = "2MB", voq_large = "1MB""#),
        about("voq_large", "is below voq = 2MB, the limit at other times")
    );
    // Three racks: a week of 490 us, of which 225 us are the pair's day.
    let racks = |prebuffer| format!("racks = 3, prebuffer = \"{prebuffer}\"");
    assert_eq!(
        message(&racks("266us")),
        about("prebuffer", "is longer than the 265us from a day of a pair to its next one")
    );
    assert_eq!(circuits(&racks("265us")).prebuffer, Time::from_us(265));
    assert_eq!(message("racks = 128, hosts = 4096")[0].0, "hosts");
}
