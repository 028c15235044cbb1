//! Foreign files: what is read of them, which scenarios and runs come of them, and what is written.

mod common;

use std::fs;
use std::path::Path;

use common::Scratch;
use incast_lab::Scenario;
use incast_lab::formats::hpcc_flows::{Extra, HpccFlows};
use incast_lab::formats::hpcc_topology::{Header, HpccTopology, Speed};
use incast_lab::formats::{convert, describe, hpcc_fct};
use incast_lab::run::{RunOptions, RunResult};
use incast_sim::describe::impairments::{ErrorRate, Share};
use incast_units::{Bytes, Rate, Time};

/// Four hosts, two switches, two links between them.
const TOPOLOGY: &str = "6 2 6\n4 5\n0 4 100Gbps 1us 0\n1 4 100Gbps 1000ns 0.000000\n2 5 100Gbps 0.001ms 0\n\
                        3 5 100Gbps 1us 0\n4 5 400Gbps 1us 0\n4 5 400Gbps 1us 0\n\nA comment of the maker.\n";
const FLOWS: &str = "3\n0 3 3 100 450000 2.0\n1 3 3 200 20000 2.000001\n2 0 3 100 1000 2.0005000021";

fn topology(text: &str) -> HpccTopology {
    HpccTopology::parse(text, "topology.txt").unwrap()
}

fn go(scenario: &Scenario, out: Option<&Path>) -> RunResult {
    let options = RunOptions { out: out.map(Path::to_owned), ..RunOptions::default() };
    common::go(scenario.name(), &scenario.effective_toml(), &scenario.build().unwrap(), &options)
}

#[test]
fn hosts_may_have_several_links() {
    // Host 0 hangs on both switches, which nothing else joins but the other hosts.
    let text = "6 2 7\n4 5\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 5 100Gbps 1us 0\n3 5 100Gbps 1us 0\n\
                0 5 40Gbps 2us 0\n1 5 100Gbps 1us 0\n3 4 100Gbps 1us 0\n";
    let scratch = Scratch::new("formats-rails");
    scratch.write("topology.txt", text);
    let scenario = |flows: &str| {
        let text = format!(
            "topology = {{ kind = \"hpcc-file\", file = \"topology.txt\" }}\ncc = {{ algorithm = \"constant\" }}\n\
             [[traffic]]\nkind = \"flows\"\nsize = \"1KB\"\n{flows}"
        );
        let path = scratch.write("rails.toml", &text);
        Scenario::load(path, &[])
    };
    // h2 is at switch 5 alone: h0 takes its link there. A packet of 1054 B takes 210.8 and 84.32 ns, the
    // acknowledgement of 64 B 5.12 and 12.8 ns, and the delays are 3 us each way.
    let built = scenario("from = \"h0\"\nto = \"h2\"\n").unwrap();
    assert_eq!(built.fabric().network.ports(0), 2);
    let result = go(&built, None);
    assert_eq!(result.info.outcome.unwrap().now_ps, 210_800 + 84_320 + 5_120 + 12_800 + 6_000_000);
    // Without its second link host 1 has no way to host 2, although both are joined to host 0.
    scratch.write("topology.txt", text.replace("1 5 100Gbps 1us 0\n", "").replace("6 2 7", "6 2 6"));
    let apart = scenario("from = \"h0\"\nto = \"h2\"\n").unwrap_err().to_string();
    assert!(apart.contains("the network is not connected: there is no path from h1 to h2"), "{apart}");
}

#[test]
fn every_header_is_read() {
    let plain = topology(TOPOLOGY);
    assert_eq!(plain.header, Header::Hpcc);
    assert_eq!((plain.hosts.as_slice(), plain.switches.as_slice()), (&[0, 1, 2, 3][..], &[4, 5][..]));
    assert_eq!(plain.links.len(), 6);
    assert_eq!(plain.lines_behind, 1);
    for link in &plain.links[..4] {
        assert_eq!(link.speed, Speed::Given(Rate::from_gbps(100), Time::from_us(1), Share::ZERO));
    }
    // ns3-datacenter: a fourth number, rates as bare numbers; the same with two rates behind.
    let links = "0 4 25000000000.0 1us 0\n1 4 25000000000 1us 0\n2 5 25Gb/s 1us 0\n3 5 3125000000Bps 1us 0\n4 5 0.1Tbps 5us 0\n";
    for header in ["6 2 2 5", "6 2 2 5 25 100"] {
        let datacenter = topology(&format!("{header}\n4 5\n{links}"));
        assert_eq!(datacenter.header, Header::Datacenter);
        for link in &datacenter.links[..4] {
            assert_eq!(link.speed, Speed::Given(Rate::from_gbps(25), Time::from_us(1), Share::ZERO));
        }
        assert_eq!(
            datacenter.links[4].speed,
            Speed::Given(Rate::from_gbps(100), Time::from_us(5), Share::ZERO)
        );
    }
    // SimAI: four GPUs in two servers with an NVSwitch each, and a switch; ids on one line or on two.
    let links = "0 4 2880Gbps 0.000025ms 0\n1 4 2880Gbps 0.000025ms 0\n2 5 2880Gbps 0.000025ms 0\n\
                 3 5 2880Gbps 0.000025ms 0\n0 6 100Gbps 0.0005ms 0\n1 6 100Gbps 0.0005ms 0\n\
                 2 6 100Gbps 0.0005ms 0\n3 6 100Gbps 0.0005ms 0\n";
    for head in
        ["7 2 2 1 8 A100\n4 5 6", "7 2 2 1 8 A100\n4 5\n6", "7 2 2 1 8 H100 2\n4 5 6", "7 2 2 1 8 3 2\n4 5 6"]
    {
        let simai = topology(&format!("{head}\n{links}"));
        assert_eq!(simai.header, Header::Simai);
        assert_eq!(
            (simai.hosts.len(), simai.nvswitches.as_slice(), simai.switches.as_slice()),
            (4, &[4, 5][..], &[6][..])
        );
        assert_eq!((simai.links.len(), simai.server_links), (4, 4));
        assert!(simai.notes().iter().any(|note| note.contains("2 NVSwitches and 4 links inside servers")));
    }
    // Switches may come before hosts.
    assert_eq!(topology("3 1 2\n0\n1 0 1Gbps 1us 0\n2 0 1Gbps 1us 0\n").hosts, [1, 2]);
}

#[test]
fn both_forms_of_flows_are_read() {
    let flows = HpccFlows::parse(FLOWS, "flow.txt").unwrap();
    let last = flows.flows()[2];
    assert_eq!((last.source, last.destination, last.pg, last.dport, last.line), (2, 0, 3, Some(100), 4));
    assert_eq!((last.size, last.start), (Bytes::new(1000), Time::from_ps(2_000_500_002_100)));
    assert_eq!(flows.first_start(), Time::from_s(2));
    assert_eq!(flows.kinds().into_iter().collect::<Vec<_>>(), [((3, Some(100)), 2), ((3, Some(200)), 1)]);
    let short = HpccFlows::parse("1\n0 1 3 5000000000 1e-3\n", "flow.txt").unwrap();
    assert_eq!((short.flows()[0].dport, short.flows()[0].start), (None, Time::from_ms(1)));
    assert_eq!(short.flows()[0].size, Bytes::new(5_000_000_000));
}

/// Five numbers are a flow without its start to one program and without its port to another. A size is
/// at least one byte and a whole number; a fraction or a 0 can only be a start.
#[test]
fn five_fields_are_read_if_the_last_can_only_be_a_start() {
    let read = |text: &str| HpccFlows::parse(text, "flow.txt").map(|flows| flows.flows()[1].start);
    let refused = read("2\n0 1 3 100 150\n1 0 3 100 200\n").unwrap_err().0;
    let [problem] = refused.as_slice() else { panic!("{refused:?}") };
    assert_eq!((problem.line, problem.column, problem.key.as_deref()), (Some(2), Some(11), Some("start")));
    assert_eq!(read("2\n0 1 3 100 2.5\n1 0 3 100 3\n"), Ok(Time::from_s(3)));
    assert_eq!(read("2\n0 1 3 100 0\n1 0 3 100 3\n"), Ok(Time::from_s(3)));
}

/// ns-3's simulators read as many flows as the first line says, whatever follows.
#[test]
fn lines_beyond_the_number_of_flows_are_left_out_on_request() {
    let scratch = Scratch::new("extra");
    let flows = HpccFlows::parse("1\n0 1 3 100 1000 0.0\n1 0 3 100\nend\n", "flow.txt").unwrap();
    assert_eq!((flows.flows().len(), flows.extra()), (1, Some(Extra { line: 3, lines: 2 })));
    let scenario = |text: &str, key: &str| {
        scratch.write("flow.txt", text);
        let text = format!(
            "topology = {{ kind = \"star\", hosts = 2, rate = \"100Gbps\", delay = \"1us\" }}\ncc.algorithm = \
             \"constant\"\n[[traffic]]\nkind = \"hpcc-file\"\nfile = \"flow.txt\"\n{key}"
        );
        let name = scratch.0.join("s.toml").display().to_string();
        Scenario::from_toml(&text, &name, &[])
            .map(|scenario| scenario.build().unwrap().simulation.flows.len())
    };
    let more = "1\n0 1 3 100 1000 0.0\n1 0 3 100 1000 0.0\n";
    let refused = scenario(more, "").unwrap_err().to_string();
    assert!(refused.contains("flow.txt:3: ") && refused.contains("ignore_extra = true"), "{refused}");
    assert_eq!(scenario(more, "ignore_extra = true"), Ok(1));
    let idle = scenario(&more.replacen('1', "2", 1), "ignore_extra = true").unwrap_err().to_string();
    assert!(idle.contains("ignore_extra: has no effect"), "{idle}");
}

/// The data-mining distribution of the packet simulators counts packets. Its mean by the trapezoid rule:
/// .5 · 1 + .1 · 1.5 + .1 · 2.5 + .1 · 5 + .1 · 137 + .05 · 1,187 + .04 · 34,387 + .01 · 366,667 = 5,116.6 packets,
/// which are 7.47 MB of 1,460 B each.
#[test]
fn sizes_that_may_count_packets_need_their_unit() {
    let scratch = Scratch::new("packets");
    let text = "\u{feff}1 0\n1 0.5\n2 0.6\n3 0.7\n7 0.8\n267 0.9\n2107 0.95\n66667 0.99\n666667 1\n";
    scratch.write("mining.cdf", text);
    let scenario = |sizes: &str| {
        let text = format!(
            "topology = {{ kind = \"star\", hosts = 2, rate = \"100Gbps\", delay = \"1us\" }}\ncc.algorithm = \
             \"constant\"\n[[traffic]]\nkind = \"poisson\"\nload = 0.5\nload_of = \"receivers\"\nflows = 4000\nsizes = {sizes}\n"
        );
        Scenario::from_toml(&text, &scratch.0.join("s.toml").display().to_string(), &[])
    };
    let refused = scenario("\"mining.cdf\"").unwrap_err().to_string();
    assert!(refused.contains("sizes: half of the flows would have at most 1B"), "{refused}");
    assert!(refused.contains("a mean of 7470236 B"), "{refused}");
    let most = |scenario: &Scenario| {
        let built = scenario.build().unwrap();
        let sizes = || built.simulation.flows.iter().map(|flow| flow.size.get());
        (sizes().min().unwrap(), sizes().max().unwrap())
    };
    let packets = scenario("{ file = \"mining.cdf\", unit = \"1460B\" }").unwrap();
    assert_eq!(most(&packets).0, 1460);
    assert!((66_667 * 1460..=666_667 * 1460).contains(&most(&packets).1));
    // As bytes on request; the effective scenario reads back with its unit.
    let bytes = scenario("{ file = \"mining.cdf\", unit = \"1B\" }").unwrap();
    assert_eq!(most(&bytes).0, 1);
    for scenario in [packets, bytes] {
        assert_eq!(Scenario::from_toml(&scenario.effective_toml(), "again.toml", &[]).unwrap(), scenario);
    }
    let both = scenario("{ file = \"mining.cdf\", cdf = \"0 0\" }").unwrap_err().to_string();
    assert!(both.contains("has one of cdf"), "{both}");
}

#[test]
fn flows_that_never_end_are_noted() {
    let note = |size: &str| {
        let flows = HpccFlows::parse(&format!("1\n0 1 3 100 {size} 0.0\n"), "flow.txt").unwrap();
        flows.notes().into_iter().find(|note| note.contains("run.until"))
    };
    assert!(note("1000000000000").is_some_and(|note| note.starts_with("1 flow of 1TB or more")));
    assert_eq!(note("999999999999"), None);
}

#[test]
fn a_scenario_names_the_files_and_runs() {
    let scratch = Scratch::new("formats-names");
    let path = scratch.write("net.txt", TOPOLOGY);
    let flows = scratch.write("flow.txt", FLOWS);
    // The order of the two does not matter.
    let files = [(flows, "flow.txt".to_owned()), (path.clone(), "net.txt".to_owned())];
    let (topology, work) = convert::read_all(&files).unwrap();
    let text =
        convert::scenario(topology.as_ref(), &work, convert::Choices { cc: "hpcc:paper", start_unit: None })
            .unwrap();
    let file = scratch.write("made.toml", &text);
    let scenario = Scenario::load(&file, &[]).unwrap();
    assert_eq!(scenario.groups(), ["pg3-port100", "pg3-port200"]);
    let built = scenario.build().unwrap();
    let starts: Vec<Time> = built.simulation.flows.iter().map(|flow| flow.start).collect();
    assert_eq!(starts, [Time::ZERO, Time::from_us(1), Time::from_ps(500_002_100)]);
    assert_eq!(built.simulation.network.nodes, ["h0", "h1", "h2", "h3", "s4", "s5"]);

    // The effective scenario finds the files from anywhere, and is held to what was in them.
    let effective = scenario.effective_toml();
    let again = Scenario::from_toml(&effective, "elsewhere/x.toml", &[]).unwrap();
    assert_eq!(again, scenario);
    assert_eq!(again.effective_toml(), effective);
    fs::write(&path, TOPOLOGY.replace("400Gbps", "200Gbps")).unwrap();
    let changed = Scenario::from_toml(&effective, "x.toml", &[]).unwrap_err().to_string();
    assert!(changed.contains("has changed since this scenario was made"), "{changed}");
    assert_ne!(Scenario::load(&file, &[]).unwrap(), scenario);
    fs::write(&path, TOPOLOGY).unwrap();

    let result = go(&scenario, None);
    assert_eq!(result.outcome.flows_finished, 3);
    let mut list = Vec::new();
    let port = |group: &str| if group.ends_with("port200") { 200 } else { 100 };
    let written =
        hpcc_fct::write(&result.table(incast_lab::results::TableName::Flows).unwrap(), &port, &mut list)
            .unwrap();
    assert_eq!((written.flows, written.left_out), (3, 0));
    let list = String::from_utf8(list).unwrap();
    let lines: Vec<Vec<&str>> = list.lines().map(|line| line.split(' ').collect()).collect();
    let last = lines.iter().find(|fields| fields[3] == "200").unwrap();
    assert_eq!(last[..6], ["0b000101", "0b000301", "10000", "200", "20000", "1000"]);
    // 1 KB alone on the way, computed here from the links: three hops of 1 us each way; a packet of
    // 1000 + 54 + 42 bytes at 100, 400 and 100 Gbit/s, an acknowledgement of 58 + 42 bytes at the same
    // rates. The ideal time is without the 42 bytes of telemetry, as HPCC's simulator has it ("with header
    // but no INT"): 1054 bytes there, and back the smallest packet, 64.
    let single = lines.iter().find(|fields| fields[4] == "1000").unwrap();
    let nanoseconds = 6000.0 + (1096.0 + 100.0) * 8.0 * (0.01 + 0.0025 + 0.01);
    let ideal = 6000.0 + (1054.0 + 64.0) * 8.0 * (0.01 + 0.0025 + 0.01);
    assert_eq!(single[6..], [&format!("{nanoseconds:.0}"), &format!("{ideal:.0}")]);
}

#[test]
fn types_of_links_come_from_the_scenario() {
    let scratch = Scratch::new("formats-types");
    scratch.write("t.txt", "3 1 2\n2\n0 2 host\n1 2 host\n");
    let text = |more: &str| {
        format!(
            "topology = {{ kind = \"hpcc-file\", file = \"t.txt\"{more} }}\ncc = {{ algorithm = \"constant\" }}\n\
             [[traffic]]\nkind = \"flows\"\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1KB\"\n"
        )
    };
    let name = scratch.0.join("s.toml").display().to_string();
    let read = |more: &str| Scenario::from_toml(&text(more), &name, &[]);
    let fine = read(", types = [{ name = \"host\", rate = \"25Gbps\", delay = \"2us\" }]").unwrap();
    assert_eq!(fine.fabric().host_rate(1), Rate::from_gbps(25));
    assert!(
        read("")
            .unwrap_err()
            .to_string()
            .contains("t.txt:3: topology.file: links of type \"host\" have no rate")
    );
    let idle = read(
        ", types = [{ name = \"host\", rate = \"1Gbps\", delay = \"2us\" }, { name = \"x\", rate = \"1Gbps\", delay = \"2us\" }]",
    );
    assert!(idle.unwrap_err().to_string().contains("no link of the file is of type \"x\""));
}

#[test]
fn flows_are_chosen_by_priority_group_and_port() {
    let scratch = Scratch::new("formats-choice");
    scratch.write("f.txt", "3\n0 1 3 100 1000 1\n1 2 4 100 1000 1.5\n2 0 3 200 1000 2\n");
    let name = scratch.0.join("s.toml").display().to_string();
    let read = |more: &str| {
        let text = format!(
            "topology = {{ kind = \"star\", hosts = 3, rate = \"10Gbps\", delay = \"1us\" }}\n\
             cc = {{ algorithm = \"constant\" }}\n[[traffic]]\nkind = \"hpcc-file\"\nfile = \"f.txt\"\n{more}"
        );
        Scenario::from_toml(&text, &name, &[]).map(|scenario| {
            let flows = scenario.build().unwrap().simulation.flows;
            flows.iter().map(|flow| (flow.source, flow.start)).collect::<Vec<_>>()
        })
    };
    let s = Time::from_s;
    assert_eq!(read("").unwrap(), [(0, s(1)), (1, Time::from_ms(1500)), (2, s(2))]);
    assert_eq!(read("pg = 3\n").unwrap(), [(0, s(1)), (2, s(2))]);
    assert_eq!(read("dport = 200\nfirst = \"0s\"\n").unwrap(), [(2, s(1))]);
    assert!(read("pg = 3\ndport = 7\n").unwrap_err().to_string().contains("has no flow of this UDP port"));
    let late = read("[run]\nuntil = \"1s\"\n").unwrap_err().to_string();
    assert!(
        late.contains("the first flow starts at 1s, not before the end of the run (run.until is 1s)"),
        "{late}"
    );
}

#[test]
fn files_are_told_by_their_first_line() {
    let scratch = Scratch::new("formats-told");
    let format =
        |text: &str| describe::describe(&scratch.write("file", text)).map(|found| (found.format, found.rows));
    assert_eq!(format(TOPOLOGY).unwrap().0, "HPCC topology");
    assert_eq!(format(FLOWS).unwrap().0, "HPCC flows");
    let shares = |text: &str| format(text).unwrap().1[0].1.clone();
    assert_eq!(shares("0 0\n10 100\n"), "percentages (the last is 100)");
    assert_eq!(shares("# sizes\n0,0\n10,1\n"), "fractions (the last is 1)");
    for text in ["", "hello\n", "a b c\n", "1 2 3 4 5 6 7 8 9\n"] {
        assert!(format(text).unwrap_err().to_string().contains("no known format"), "{text:?}");
    }
}

/// Twenty-odd files that are wrong, and what is said of each.
#[test]
fn bad_files_get_good_messages() {
    use std::fmt::Write as _;

    let spoilt = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    let flows = |from: &str, to: &str| spoilt(FLOWS, from, to);
    let net = |from: &str, to: &str| spoilt(TOPOLOGY, from, to);
    let simai =
        "5 2 1 1 4 A100\n2 3\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n4 2 100Gbps 1us 0\n0 3 100Gbps 1us 0\n";
    let cases: Vec<(&str, String, bool)> = vec![
        ("flows: empty", String::new(), true),
        ("flows: no count", flows("3\n", ""), true),
        ("flows: a unit", flows("450000", "450KB"), true),
        ("flows: a negative size", flows("450000", "-1"), true),
        ("flows: no byte", flows("450000", "0"), true),
        ("flows: a size beyond all", flows("450000", "99999999999999999999"), true),
        ("flows: a start that is none", flows("2.000001", "soon"), true),
        ("flows: a negative start", flows("2.000001", "-2"), true),
        ("flows: to itself", flows("0 3 3 100 450000", "3 3 3 100 450000"), true),
        ("flows: a field too few", flows("1 3 3 200 20000 2.000001", "1 3 20000 2"), true),
        ("flows: columns that change", flows("1 3 3 200 20000", "1 3 3 20000"), true),
        ("flows: cut off", flows("3\n", "4\n"), true),
        ("flows: five fields, without start", "2\n0 1 3 100 150\n1 0 3 100 200\n".to_owned(), true),
        ("flows: a port too large", flows(" 200 ", " 70000 "), true),
        ("topology: empty", "\n \n".to_owned(), false),
        ("topology: five numbers", net("6 2 6", "6 2 6 1 1"), false),
        ("topology: more switches than nodes", net("6 2 6", "1 2 6"), false),
        ("topology: a switch too many", net("4 5\n", "4 5 3\n"), false),
        ("topology: a switch twice", net("4 5\n", "4 4\n"), false),
        ("topology: a node that is not there", net("3 5 100Gbps", "3 9 100Gbps"), false),
        ("topology: no rate", net("100Gbps 1us", "fast 1us"), false),
        ("topology: an odd unit", net("100Gbps 1us", "100Gbits 1us"), false),
        ("topology: no speed", net("100Gbps 1us", "0Gbps 1us"), false),
        ("topology: a delay without unit", net("100Gbps 1us", "100Gbps 1"), false),
        ("topology: no delay", net("100Gbps 1us", "100Gbps 0us"), false),
        ("topology: a probability below zero", net("100Gbps 1us 0", "100Gbps 1us -1"), false),
        ("topology: two hosts joined", net("0 4 100Gbps", "0 1 100Gbps"), false),
        ("topology: a node joined to itself", net("4 5 400Gbps", "4 4 400Gbps"), false),
        ("topology: a host without link", net("3 5 100Gbps 1us 0\n", "").replace("6 2 6", "6 2 5"), false),
        ("topology: cut off", net("6 2 6", "6 2 7").replace("\n\nA comment of the maker.\n", ""), false),
        ("topology: one link more", net("6 2 6", "6 2 5"), false),
        ("topology: a comment among links", net("1 4 100Gbps", "# 1 4 100Gbps"), false),
        ("topology: SimAI, a GPU only inside of its server", simai.to_owned(), false),
    ];
    let mut seen = String::new();
    for (what, text, is_flows) in cases {
        let problems = match is_flows {
            true => HpccFlows::parse(&text, "flow.txt").map(|_| ()),
            false => HpccTopology::parse(&text, "topology.txt").map(|_| ()),
        };
        let problems = problems.expect_err(what);
        assert!(!problems.is_empty());
        for problem in problems.iter() {
            assert!(problem.file.is_some());
        }
        let _ = write!(seen, "{what}\n{problems}\n\n");
    }
    insta::assert_snapshot!(seen);
}

/// Bad files in scenarios: the message also gives the place where the file is named.
/// As in HPCC's simulator: a share of the packets, whatever their size, in each direction. By the binomial distribution
/// 100 of 10,000 packets are lost on the second link, and 10 more or less are a standard deviation.
#[test]
fn links_lose_the_share_of_packets_that_the_file_says() {
    let scratch = Scratch::new("formats-loss");
    scratch.write("net.txt", TOPOLOGY.replace("0.000000", "0.01"));
    let read = |topology: &str, more: &str| {
        let text = format!(
            "topology = {{ kind = \"hpcc-file\", file = \"net.txt\"{topology} }}\ncc = {{ algorithm = \"constant\" }}\n\
             switch = {{ buffer = \"unlimited\" }}\ntransport = {{ recovery = \"selective\" }}\n{more}\n\
             [[traffic]]\nkind = \"flows\"\nfrom = \"h1\"\nto = \"h0\"\nsize = \"10MB\"\n"
        );
        Scenario::from_toml(&text, &scratch.0.join("s.toml").display().to_string(), &[]).unwrap()
    };
    let rates = |scenario: &Scenario| -> Vec<(u32, ErrorRate)> {
        let errors = scenario.build().unwrap().simulation.impairments.errors;
        errors.into_iter().map(|errors| (errors.link, errors.rate)).collect()
    };
    let percent = ErrorRate::Packet(Share::of_attos(10_000_000_000_000_000));
    let lossy = read("", "");
    assert_eq!(rates(&lossy), [(1, percent)]);
    assert_eq!(rates(&read("", "impairments = { clock_drift = \"1ppm\" }")), [(1, percent)]);
    let own = "impairments = { errors = [{ between = [\"h1\", \"s4\"], bit_error_rate = 1e-9 }] }";
    assert_eq!(rates(&read("", own)), [(1, ErrorRate::Bit(Share::of_attos(1_000_000_000)))]);
    assert_eq!(rates(&read(", ignore_loss = true", "")), []);
    let corrupted = |scenario: &Scenario| go(scenario, None).info.outcome.unwrap().packets_corrupted;
    let lost = corrupted(&lossy);
    assert!((60..=140).contains(&lost), "{lost}");
    assert_eq!(corrupted(&read(", ignore_loss = true", "")), 0);
}

#[test]
fn bad_files_in_scenarios_say_who_names_them() {
    let scratch = Scratch::new("formats-bad");
    let read = |net: &str, flow: &str| {
        scratch.write("net.txt", net);
        scratch.write("flow.txt", flow);
        let text = "topology = { kind = \"hpcc-file\", file = \"net.txt\" }\ncc = { algorithm = \"constant\" }\n\
                    [[traffic]]\nkind = \"hpcc-file\"\nfile = \"flow.txt\"\n";
        let name = scratch.0.join("s.toml").display().to_string();
        let error = Scenario::from_toml(text, &name, &[]).unwrap_err().to_string();
        error.replace(&format!("{}/", scratch.0.display()), "")
    };
    let cases = [
        read(TOPOLOGY, &FLOWS.replace("450000", "450KB")),
        read(&TOPOLOGY.replace("0.000000", "1.01"), FLOWS),
        read(TOPOLOGY, &FLOWS.replace("1 3 3", "1 77 3")),
        read(TOPOLOGY, &FLOWS.replace("1 3 3", "5 3 3")),
        read("5 2 3\n3 4\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 4 1Gbps 1us 0\n", "1\n0 1 3 100 1 1"),
        {
            fs::write(scratch.0.join("net.txt"), [0xff, 0xfe, 0]).unwrap();
            let text = "[topology]\nkind = \"hpcc-file\"\nfile = \"net.txt\"\n[[traffic]]\nkind = \"hpcc-file\"\nfile = \"none.txt\"\n";
            let name = scratch.0.join("s.toml").display().to_string();
            let error = Scenario::from_toml(text, &name, &[]).unwrap_err().to_string();
            error.replace(&format!("{}/", scratch.0.display()), "")
        },
    ];
    insta::assert_snapshot!(cases.join("\n\n"));
}

mod mutated {
    use super::*;
    use proptest::prelude::*;

    /// Part of a file replaced by something from elsewhere.
    fn spoilt(text: &str, at: usize, length: usize, with: &str) -> String {
        let chars: Vec<char> = text.chars().collect();
        let at = at % (chars.len() + 1);
        let end = (at + length).min(chars.len());
        chars[..at].iter().copied().chain(with.chars()).chain(chars[end..].iter().copied()).collect()
    }

    fn pieces() -> impl Strategy<Value = String> {
        prop_oneof![
            Just(String::new()),
            Just("\n".to_owned()),
            Just("-".to_owned()),
            Just("99999999999999999999999".to_owned()),
            Just("1e400".to_owned()),
            Just("0 4 100Gbps 1us 0\n".to_owned()),
            "[0-9a-zA-Z. \n\u{e9}]{0,12}",
            any::<String>(),
        ]
    }

    fn read_all(text: &str) {
        let limit = text.lines().count() as u32 + 1;
        let check = |problems: &incast_lab::Problems| {
            assert!(!problems.is_empty() && problems.len() <= 21);
            assert!(problems.iter().all(|problem| problem.line.is_none_or(|line| line <= limit)));
            assert!(!problems.to_string().is_empty());
        };
        match HpccTopology::parse(text, "t") {
            Ok(topology) => assert!(topology.hosts.len() >= 2 && topology.notes().len() < 9),
            Err(problems) => check(&problems),
        }
        match HpccFlows::parse(text, "f") {
            Ok(flows) => assert!(!flows.flows().is_empty() && !flows.kinds().is_empty()),
            Err(problems) => check(&problems),
        }
        let _ = describe::Format::of(text);
        let _ = incast_lab::sizes::SizeDistribution::from_text(text, "s");
        let _ = hpcc_fct::ports(text);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn files_never_panic(
            which in 0_usize..4,
            changes in prop::collection::vec((any::<usize>(), 0_usize..8, pieces()), 1..4),
        ) {
            let simai = "7 2 2 1 8 A100\n4 5 6\n0 4 2Tbps 0.000025ms 0\n1 4 2Tbps 25ns 0\n2 5 2Tbps 25ns 0\n\
                         3 5 2Tbps 25ns 0\n0 6 100Gbps 1us 0\n1 6 100Gbps 1us 0\n2 6 100Gbps 1us 0\n3 6 100Gbps 1us 0\n";
            let mut text = [TOPOLOGY, FLOWS, simai, "0 0\n1000 50\n30000 100\n"][which].to_owned();
            for (at, length, with) in changes {
                text = spoilt(&text, at, length, &with);
            }
            read_all(&text);
        }

        #[test]
        fn anything_at_all_never_panics(text in any::<String>()) {
            read_all(&text);
        }

        /// A flow that is written reads back as the same flow.
        #[test]
        fn flows_read_back(
            source in 0_u32..1000, hop in 1_u32..1000, pg in 0_u16..8, dport in any::<u16>(),
            size in 1_u64..1 << 40, start in 0_u64..1 << 45,
        ) {
            let destination = source + hop;
            let (s, ps) = (start / 1_000_000_000_000, start % 1_000_000_000_000);
            let text = format!("1\n{source} {destination} {pg} {dport} {size} {s}.{ps:012}\n");
            let flow = HpccFlows::parse(&text, "f").unwrap().flows()[0];
            prop_assert_eq!((flow.source, flow.destination, flow.pg, flow.dport), (source, destination, pg, Some(dport)));
            prop_assert_eq!((flow.size, flow.start), (Bytes::new(size), Time::from_ps(start)));
        }
    }
}
