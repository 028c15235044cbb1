//! Good scenarios: they round-trip, their networks and flows are what they say.

mod common;

use common::{HEAD, all, flows, of_group, overridden, read, round_trip, star};
use incast_lab::Scenario;
use incast_lab::run::RunOptions;
use incast_sim::describe::flow::Flow;
use incast_units::{Bytes, Time};

fn example(name: &str) -> Scenario {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    Scenario::load(path, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn the_examples_round_trip() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let names =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".toml")).collect();
    names.sort_unstable();
    assert!(names.len() >= 6, "{names:?}");
    for name in names {
        round_trip(&example(&name));
    }
    assert_eq!(example("microburst.toml").name(), "microburst");
}

#[test]
fn the_examples_are_what_they_say() {
    let microburst = example("microburst.toml").build().unwrap();
    let flows = &microburst.simulation.flows;
    assert_eq!(flows.len(), 3);
    assert_eq!((flows[0].source, flows[0].destination, flows[0].size), (0, 15, Bytes::UNLIMITED));
    for flow in &flows[1..] {
        assert_eq!((flow.destination, flow.size, flow.start), (15, Bytes::new(600_000), Time::from_us(52)));
    }
    // The one switch is node 16, and its port 15 leads to h15.
    assert_eq!(microburst.simulation.probes.ports, [(16, 15)]);
    assert_eq!(microburst.fabric.port_name(16, 15), "s0->h15");
    assert_eq!(microburst.algorithms, ["oscar:fair"]);
    assert_eq!(microburst.groups, ["long", "burst"]);

    let websearch = example("websearch.toml").build().unwrap();
    assert!(websearch.fabric.summary().starts_with("32 hosts, 12 switches, 48 links"));
    // 32 hosts at 60 Gbps and 1.711 MB a flow: 5,610 in 40 ms, with a standard deviation of their root, 75.
    let counted = websearch.simulation.flows.iter().filter(|flow| flow.counted).count();
    assert!(counted.abs_diff(5610) < 3 * 75, "{counted}");
    assert_eq!(websearch.simulation.until, Time::NEVER);
}

#[test]
fn every_section_and_kind_round_trips() {
    let text = r#"
name = "everything"
seed = 7
[topology]
kind = "graph"
hosts = ["a0-a3", "b"]
switches = ["x", "y"]
rate = "100Gbps"
delay = "1.5us"
links = [
  { between = ["a0-a3", "x"] },
  { between = ["y", "b"], rate = "25Gbps" },
  { between = ["x", "y"], delay = "0.0375us", parallel = 2 },
]
[[change]]
at = "5us"
between = ["x", "y"]
number = 1
rate = "40Gbps"
delay = "1us"
until = "8us"
[switch]
buffer = "16MiB"
reserve = "1KiB"
ingress_alpha = 0.125
queues = 3
scheduler = "drr"
quanta = ["3KB", "1500B"]
path = "five-tuple"
next_hops = "descending"
packed_telemetry = 4
buffers = [{ switches = ["y"], buffer = "8MiB" }]
ingress_alpha_rate = "25Gbps"
egress_limit = true
[switch.pfc]
xoff = "100KB"
headroom = "50KB"
[switch.ecn]
kmin = "40KB"
kmax = "40KB"
pmax = 1
reference = "25Gbps"
[transport]
recovery = "selective"
repair = "lazy"
repair_delay = "20us"
payload = "4KB"
ack_every = 4
ack_queue = 0
[balancing]
policy = "adaptive"
acknowledgements = "one-path"
thresholds = ["10KB", "20KB", "30KB"]
interval = "200ns"
[cc]
algorithm = "constant"
window = "150KB"
[[traffic]]
kind = "flows"
from = ["a0", "a1"]
to = ["a1", "a0"]
size = "1GB"
stop = "8ms"
count = 2
stagger = "1us"
[[traffic]]
name = "one-size"
kind = "poisson"
sizes = "450KB"
load = 0.1
load_of = "uplinks"
queue = 2
from = "a0-a3"
to = "b"
[[traffic]]
name = "own-sizes"
kind = "poisson"
sizes = { name = "mine", cdf = "1 0\n1000 50\n2000 100\n" }
load = 0.1
load_of = "receivers"
duration = "1ms"
cc = { algorithm = "constant", rate = "5Gbps" }
[[traffic]]
kind = "incast"
size = "20KB"
fan_in = 2
spread = "one-other-rack"
to = "b"
load = 0.001
jitter = "1us"
[[traffic]]
kind = "permutation"
size = "8MB"
[[traffic]]
name = "ring"
kind = "permutation"
balancing = "random"
size = "8MB"
shift = 1
jitter = "5us"
[[traffic]]
kind = "staggered"
from = "a0-a3"
to = "b"
interval = "1ms"
duration = "7ms"
leave = "last-in-first-out"
[probe]
ports = ["x->y", "to b", "a0", "y:0", "all host ports"]
flows = ["ring", "permutation.2"]
captures = ["x->a0"]
pauses = true
flow_interval = "2us"
until = "5ms"
[run]
until = "10ms"
stall_after = "50ms"
"#;
    let scenario = read(text);
    round_trip(&scenario);
    let built = scenario.build().unwrap();
    assert_eq!(built.algorithms, ["constant:default", "constant:default"]);
    let probes = &built.simulation.probes;
    // Two parallel links x->y, one y->b, five hosts; y:0 is y->b.
    assert_eq!(probes.ports.len(), 2 + 1 + 5);
    assert_eq!(probes.flows.len(), 5 + 1);
    for buffer in ["buffer=unlimited", "buffer={ per_port = \"800KB\" }"] {
        let buffer = format!("switch.{buffer}");
        round_trip(&overridden(
            HEAD,
            &["switch.queues=2", &buffer, "traffic=[{kind=\"incast\", size=\"1KB\"}]"],
        ));
    }
}

#[test]
fn overrides_and_variants() {
    let text = format!(
        "{HEAD}[switch.pfc]\n[[traffic]]\nname = \"x\"\nkind = \"incast\"\nto = \"h15\"\nsize = \"450KB\"\n"
    );
    let scenario = overridden(&text, &["switch.pfc=false", "traffic.x.size=1MB", "seed=9", "cc.rate=1Gbps"]);
    assert_eq!(scenario.seed(), 9);
    let simulation = scenario.build().unwrap().simulation;
    assert!(simulation.switch.pfc.is_none());
    assert!(simulation.flows.iter().all(|flow| flow.size == Bytes::new(1_000_000)));
    assert_eq!(simulation.flows.len(), 15);

    // Another algorithm drops the parameters of the old one, another seed changes nothing else.
    let changed = scenario.with_algorithm("constant:default", &["window=10KB".to_owned()]).unwrap();
    assert!(changed.effective_toml().contains("window = \"10KB\"\nrate = \"unlimited\""));
    assert_eq!(changed.with_algorithm("constant", &["rate=1Gbps".to_owned()]).unwrap(), scenario);
    assert_eq!(scenario.with_seed(10).seed(), 10);
    assert_eq!(scenario.with_seed(10).with_seed(9), scenario);
    let problems = scenario.with_algorithm("constnt", &[]).unwrap_err().to_string();
    assert!(problems.contains("did you mean \"constant\""), "{problems}");
    let problems = scenario.with_algorithm("constant:best", &["rate=1".to_owned()]).unwrap_err().to_string();
    assert!(problems.contains("no preset of constant \"best\""), "{problems}");
    assert!(problems.contains("--set rate=1: cc.rate: 1: a rate needs its unit"), "{problems}");
}

#[test]
fn a_block_keeps_its_flows_whatever_the_others_do() {
    let poisson =
        "[[traffic]]\nname = \"a\"\nkind = \"poisson\"\nsizes = \"WebSearch\"\nload = 0.5\nflows = 200\n";
    let incast = "[[traffic]]\nname = \"b\"\nkind = \"incast\"\nfan_in = 8\nsize = \"1KB\"\ninterval = \"50us\"\nrequests = 20\n";
    let alone = of_group(&star(poisson), "a");
    let first = of_group(&star(&format!("{poisson}{incast}")), "a");
    let mut second = of_group(&star(&format!("{incast}{poisson}")), "a");
    assert_eq!(alone, first);
    second.iter_mut().for_each(|flow| flow.group = 0);
    assert_eq!(alone, second);
    // More flows in a block leave the first ones as they were.
    let more = of_group(&star(&poisson.replace("200", "300")), "a");
    assert_eq!(alone, more[..200]);
    // Another name or seed draws anew.
    let renamed = of_group(&star(&poisson.replace("\"a\"", "\"c\"")), "c");
    assert_ne!(alone[0].start, renamed[0].start);
    let reseeded = of_group(&star(poisson).with_seed(2), "a");
    assert_ne!(alone[0].start, reseeded[0].start);
    // Keys are the flows' identities.
    let all = flows(&star(&format!("{poisson}{incast}")));
    let mut keys: Vec<u64> = all.iter().map(|flow| flow.key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), all.len());
    assert!(all.is_sorted_by_key(|flow| (flow.start, flow.group)));
}

#[test]
fn draws_are_pinned() {
    // Results that were published depend on these values: a change here changes every one of them.
    let poisson =
        "[[traffic]]\nname = \"a\"\nkind = \"poisson\"\nsizes = \"WebSearch\"\nload = 0.5\nflows = 3\n";
    let drawn: Vec<String> = flows(&star(poisson))
        .iter()
        .map(|f| format!("{:016x} {}->{} {} at {}", f.key, f.source, f.destination, f.size.get(), f.start))
        .collect();
    insta::assert_debug_snapshot!(drawn);
}

#[test]
fn poisson_offers_its_load() {
    let text = "[[traffic]]\nname = \"a\"\nkind = \"poisson\"\nsizes = \"Hadoop\"\nload = 0.4\nduration = \"50ms\"\n";
    let flows = flows(&star(text));
    // 16 hosts at 40 Gbps, 120,421 B a flow: 664 a ms.
    let n = flows.len() as f64;
    assert!((n / (664.3 * 50.0) - 1.0).abs() < 0.03, "{n}");
    assert!(flows.iter().all(|flow| flow.source != flow.destination && flow.size > Bytes::ZERO));
    // Every ordered pair is equally likely: chi-square with 239 degrees of freedom.
    let mut counts = [[0_f64; 16]; 16];
    flows.iter().for_each(|flow| counts[flow.source as usize][flow.destination as usize] += 1.0);
    let expected = n / 240.0;
    let chi: f64 = (0..256)
        .filter(|i| i / 16 != i % 16)
        .map(|i| (counts[i / 16][i % 16] - expected).powi(2) / expected)
        .sum();
    assert!((160.0..340.0).contains(&chi), "{chi}");
    // One receiver: nobody sends to itself, and the load counts its link.
    let one = format!("{text}to = \"h3\"\nload_of = \"receivers\"\n");
    let flows = self::flows(&star(&one));
    assert!(flows.iter().all(|flow| flow.destination == 3 && flow.source != 3));
    assert!((flows.len() as f64 / (664.3 * 50.0 / 16.0) - 1.0).abs() < 0.1);
}

#[test]
fn flows_count_that_start_in_the_window() {
    let text =
        "[[traffic]]\nname = \"a\"\nkind = \"poisson\"\nsizes = \"1MB\"\nload = 0.4\ngaps = \"constant\"\n";
    // 16 hosts at 40 Gbps: 80 flows a ms, the first after 12.5 us.
    let of = |more: &str| all(&star(&format!("{text}{more}")));
    let starts = |flows: &[Flow], counted| {
        let some = flows.iter().filter(|flow| flow.counted == counted).map(|flow| flow.start);
        let some: Vec<Time> = some.collect();
        (some.len(), some.first().copied(), some.last().copied())
    };
    let at = |number: u64| Some(Time::from_ns(12_500 * number));
    // The window is from 1 to 3 ms, its end no part of it. After it flows arrive for 20 times the 86 us that one takes
    // alone at least (80 us for its payload, a delay of 3 us there and back), and for 0.3 ms: until 5.02 ms.
    let window = of("warmup = \"1ms\"\nduration = \"2ms\"\n");
    assert_eq!(starts(&window, true), (160, at(80), at(239)));
    assert_eq!(starts(&window, false), (79 + 162, at(1), at(401)));
    // The same flows without what follows.
    let short = of("warmup = \"1ms\"\nduration = \"2ms\"\ntail = false\n");
    assert_eq!(short, window[..239]);
    // A number of flows ends all, a run does so too.
    let number = of("warmup = \"1ms\"\nflows = 100\n");
    assert_eq!((starts(&number, true), starts(&number, false)), ((21, at(80), at(100)), (79, at(1), at(79))));
    let run = star(&format!("{text}warmup = \"1ms\"\nduration = \"2ms\"\n[run]\nuntil = \"3.1ms\"\n"));
    assert_eq!(all(&run), window[..247]);
    let run = star(&format!("{text}warmup = \"1ms\"\n[run]\nuntil = \"2ms\"\n"));
    assert_eq!(starts(&all(&run), true), (80, at(80), at(159)));
    // Requests count alike, a hundred a ms; of a single one all flows do.
    let incast = "[[traffic]]\nkind = \"incast\"\nfan_in = 2\nsize = \"1KB\"\ngaps = \"constant\"\ninterval = \"10us\"\nwarmup = \"100us\"\nduration = \"200us\"\n";
    let requests = all(&star(incast));
    assert_eq!(requests.iter().filter(|flow| flow.counted).count(), 2 * 20);
    assert!(requests.iter().any(|flow| flow.start > Time::from_us(300) && !flow.counted));
    let one = "[[traffic]]\nkind = \"incast\"\nto = \"h0\"\nsize = \"1KB\"\njitter = \"10us\"\n[run]\nuntil = \"1us\"\n";
    assert!(all(&star(one)).iter().all(|flow| flow.counted));
}

#[test]
fn load_of_the_uplinks() {
    // PowerTCP section 4.1: 4:1 oversubscription, so that full uplinks are a quarter of the hosts' rate.
    let text = r#"
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts = 32, rate = "25Gbps", delay = "1us", fabric_rate = "100Gbps" }
cc = { algorithm = "constant" }
[[traffic]]
kind = "poisson"
sizes = "100KB"
load = 0.8
load_of = "uplinks"
duration = "20ms"
"#;
    let scenario = read(text);
    assert!(scenario.fabric().summary().ends_with("(4:1)"));
    // 2 leaves × 200 Gbps × 0.8 / 0.8 Mbit = 400 flows a ms.
    let n = flows(&scenario).len() as f64;
    assert!((n / 8000.0 - 1.0).abs() < 0.06, "{n}");
}

#[test]
fn incast_requests() {
    let one = flows(&star(
        "[[traffic]]\nkind = \"incast\"\nto = \"h15\"\nsize = \"600KB\"\nstart = \"1us\"\njitter = \"12us\"\n",
    ));
    let mut senders: Vec<u32> = one.iter().map(|flow| flow.source).collect();
    senders.sort_unstable();
    assert_eq!(senders, (0..15).collect::<Vec<_>>());
    assert!(one.iter().all(|flow| flow.start >= Time::from_us(1) && flow.start < Time::from_us(13)));
    assert!(one.iter().any(|flow| flow.start > Time::from_us(2)));

    let many = flows(&star(
        "[[traffic]]\nkind = \"incast\"\nfan_in = 4\nsize = \"450KB\"\nload = 0.2\nduration = \"100ms\"\nstagger = \"1ns\"\n",
    ));
    // 16 × 20 Gbps in requests of 1.8 MB: 22.2 a ms.
    assert!((many.len() as f64 / 4.0 / 2222.0 - 1.0).abs() < 0.11, "{}", many.len());
    let mut receivers = [0; 16];
    many.iter().for_each(|flow| receivers[flow.destination as usize] += 1);
    assert!(receivers.iter().all(|&n| n > 300));

    let racks = read(
        r#"
topology = { kind = "leaf-spine", leaves = 4, spines = 1, hosts = 4, rate = "25Gbps", delay = "1us" }
cc = { algorithm = "constant" }
[[traffic]]
kind = "incast"
fan_in = 3
size = "1KB"
spread = "one-other-rack"
interval = "1ms"
requests = 100
"#,
    );
    let mut flows = flows(&racks);
    flows.sort_by_key(|flow| flow.start);
    for request in flows.chunks(3) {
        let rack = request[0].source / 4;
        assert!(
            request.iter().all(|flow| flow.source / 4 == rack && flow.destination == request[0].destination)
        );
        assert_ne!(rack, request[0].destination / 4);
    }
}

#[test]
fn permutations_have_no_fixed_point() {
    for seed in 1..50 {
        let flows = flows(&star("[[traffic]]\nkind = \"permutation\"\nsize = \"8MB\"\n").with_seed(seed));
        let mut to: Vec<u32> = flows.iter().map(|flow| flow.destination).collect();
        to.sort_unstable();
        assert_eq!(to, (0..16).collect::<Vec<_>>());
        assert!(flows.iter().all(|flow| flow.source != flow.destination));
    }
    let ring = flows(&star("[[traffic]]\nkind = \"permutation\"\nsize = \"8MB\"\nshift = 3\n"));
    assert!(ring.iter().all(|flow| flow.destination == (flow.source + 3) % 16));
    let two = flows(&star("[[traffic]]\nkind = \"permutation\"\nhosts = \"h4-h5\"\nsize = \"8MB\"\n"));
    assert_eq!(two.len(), 2);
}

#[test]
fn staggered_flows_join_and_leave() {
    let text = "[[traffic]]\nkind = \"staggered\"\nfrom = \"h0-h3\"\nto = \"h15\"\ninterval = \"5ms\"\nduration = \"40ms\"\n";
    let times = |scenario: &Scenario| -> Vec<(u64, u64)> {
        flows(scenario).iter().map(|f| (f.start.ns() / 1_000_000, f.stop.ns() / 1_000_000)).collect()
    };
    assert_eq!(times(&star(text)), [(0, 40), (5, 45), (10, 50), (15, 55)]);
    let lifo = format!("{text}leave = \"last-in-first-out\"\n");
    assert_eq!(times(&star(&lifo)), [(0, 40), (5, 35), (10, 30), (15, 25)]);
}

/// A window of two packets of 1054 B, of which four would be acknowledged at once: the first 198 of 200 packets wait for
/// `ack_delay`, and the last one of all is acknowledged when it arrives.
#[test]
fn windows_that_held_acknowledgements_keep_waiting_are_said() {
    let warnings = |more: &str| -> Vec<String> {
        let scenario = read(&format!(
            "topology = {{ kind = \"star\", hosts = 2, rate = \"100Gbps\", delay = \"1us\" }}\n\
             cc = {{ algorithm = \"constant\", window = \"2108B\" }}\ntransport = {{ ack_every = 4{more} }}\n\
             [[traffic]]\nkind = \"flows\"\nfrom = \"h0\"\nto = \"h1\"\nsize = \"200KB\"\n"
        ));
        let ran = common::go("held", "", &scenario.build().unwrap(), &RunOptions::default());
        let held_up = ran.info.outcome.as_ref().unwrap().packets_held_up;
        assert_eq!(held_up, if more == ", ack_delay = \"50us\"" { 198 } else { 0 });
        ran.info.warnings.iter().map(|warning| warning.problem.clone()).collect()
    };
    let [warning] = warnings(", ack_delay = \"50us\"").try_into().unwrap();
    assert!(warning.starts_with("99 % of 200 packets waited in a full window"), "{warning}");
    assert!(warnings(", ack_delay = \"1us\"").is_empty());
    // By default an eighth of the base RTT.
    assert!(warnings("").is_empty());
    assert!(warnings(", recovery = \"selective\"").is_empty());
}

/// Two hosts fill four links of 25 Gbps between them, and nothing is lost: a packet that is sent again was overtaken.
#[test]
fn packets_that_are_sent_again_without_a_loss_are_said() {
    let warnings = |delay: &str| -> Vec<String> {
        let scenario = read(&format!(
            "topology = {{ kind = \"leaf-spine\", leaves = 2, spines = 4, hosts = 2, rate = \"100Gbps\", \
             delay = \"1us\", fabric_rate = \"25Gbps\" }}\nswitch = {{ buffer = \"unlimited\" }}\n\
             balancing = {{ policy = \"ops-rounds\" }}\ncc = {{ algorithm = \"constant\" }}\n\
             transport = {{ recovery = \"selective\", repair = \"lazy\"{delay} }}\n\
             [[traffic]]\nkind = \"ring-allreduce\"\nhosts = [\"h0\", \"h2\"]\nsize = \"10MB\"\n"
        ));
        let ran = common::go("again", "", &scenario.build().unwrap(), &RunOptions::default());
        let outcome = ran.info.outcome.as_ref().unwrap();
        assert_eq!(outcome.packets_dropped + outcome.packets_lost, 0);
        let needless = outcome.packets_sent - 20_000;
        assert_eq!(outcome.packets_resent, Some(needless));
        assert_eq!(needless > 2_000, delay.is_empty());
        ran.info.warnings.iter().map(|warning| warning.problem.clone()).collect()
    };
    let [warning] = warnings("").try_into().unwrap();
    assert!(warning.contains("packets were sent again although they were not lost"), "{warning}");
    // Longer than the whole transfer takes.
    assert!(warnings(", repair_delay = \"2ms\"").is_empty());
}

#[test]
fn overload_is_said_with_its_number() {
    let warnings =
        |text: &str| -> Vec<String> { read(text).warnings().iter().map(ToString::to_string).collect() };
    // 32 hosts of 100 Gbps on each of 4 leaves, 4 uplinks of 100 Gbps: 8:1. At half load every leaf sends
    // 32 · 50 Gbps, of which 96/127 leaves it, in packets of 1054 B for 1000 B of payload:
    // 32 · 50 · 96/127 · 1.054 / 400 = 3.1869.
    let fabric = |load: &str| {
        format!(
            "topology = {{ kind = \"leaf-spine\", leaves = 4, spines = 4, hosts = 32, rate = \"100Gbps\", \
             delay = \"1us\" }}\ncc = {{ algorithm = \"constant\" }}\nrun = {{ until = \"1ms\" }}\n\
             [[traffic]]\nkind = \"poisson\"\nsizes = \"WebSearch\"\nload = {load}\n"
        )
    };
    let [warning] = warnings(&fabric("0.5")).try_into().unwrap();
    assert!(
        warning.contains("traffic.poisson: offers 319 % of the rate of the link leaf0->spine0"),
        "{warning}"
    );
    assert!(warning.contains("318.69Gbps of 100Gbps"), "{warning}");
    assert!(warning.contains("at most 0.31 times as much traffic fits"), "{warning}");
    // A load of 1/8 less what stays in the rack is below: 0.155 · 8 · 96/127 · 1.054 = 0.988.
    assert!(warnings(&fabric("0.155")).is_empty());
    // Both blocks together are more than their one receiver's link carries: 2 · 0.3 · 200 Gbps · 1.054.
    let block = |name: &str| {
        format!(
            "[[traffic]]\nname = \"{name}\"\nkind = \"poisson\"\nsizes = \"Hadoop\"\nload = 0.3\nflows = 9\n\
             from = \"h0-h1\"\nto = \"h3\"\n"
        )
    };
    let star = "topology = { kind = \"star\", hosts = 4, rate = \"100Gbps\", delay = \"1us\" }\n\
                cc = { algorithm = \"constant\" }\n";
    assert!(warnings(&format!("{star}{}", block("a"))).is_empty());
    let [warning] = warnings(&format!("{star}{}{}", block("a"), block("b"))).try_into().unwrap();
    assert!(warning.contains("traffic: offers 126 % of the rate of the link s0->h3"), "{warning}");
    // One request for all is no process: that its senders meet is what it is for.
    assert!(
        warnings(&format!("{star}[[traffic]]\nkind = \"incast\"\nto = \"h3\"\nsize = \"1MB\"\n")).is_empty()
    );
}

#[test]
fn loads_are_spread_over_the_links_of_hosts() {
    let warnings = |load: &str, to: &str| -> Vec<String> {
        let text = format!(
            "topology = {{ kind = \"graph\", hosts = [\"h0-h3\"], switches = [\"r0\", \"r1\"], rate = \"100Gbps\", \
             delay = \"1us\", links = [{{ between = [\"h0-h3\", \"r0\"] }}, {{ between = [\"h0-h2\", \"r1\"] }}] }}\n\
             cc = {{ algorithm = \"constant\" }}\n[[traffic]]\nkind = \"poisson\"\nsizes = \"WebSearch\"\n\
             load = {load}\nflows = 9\nfrom = \"h0-h1\"\nto = {to}\n"
        );
        read(&text).warnings().iter().map(ToString::to_string).collect()
    };
    // Two senders with 200 Gbps each at 45 % load a receiver with two links by 180 · 1.054 Gbps: 95 % of
    // either link. At 48 % it is 202.4 of 200.
    assert!(warnings("0.45", "\"h2\"").is_empty(), "{:?}", warnings("0.45", "\"h2\""));
    let [warning] = warnings("0.48", "\"h2\"").try_into().unwrap();
    assert!(warning.contains("offers 101 % of the rate of the link r0->h2 (101.184Gbps of"), "{warning}");
    // h3 has one link, by which all of its half of 40 % comes in: 80 · 1.054 Gbps. At 48 % it is 101.2 again,
    // and h2 gets as much over two links.
    assert!(warnings("0.4", "[\"h2\", \"h3\"]").is_empty());
    let [warning] = warnings("0.48", "[\"h2\", \"h3\"]").try_into().unwrap();
    assert!(warning.contains("offers 101 % of the rate of the link r0->h3 (101.184Gbps of"), "{warning}");
}

#[test]
fn samples_without_measure_are_refused() {
    let build = |interval: &str, until: &str, size: &str| {
        let text = format!(
            "topology = {{ kind = \"star\", hosts = 3, rate = \"100Gbps\", delay = \"1us\" }}\n\
             cc = {{ algorithm = \"constant\" }}\nprobe = {{ ports = [\"s0\"], interval = \"{interval}\" }}\n\
             run = {{ until = \"{until}\" }}\n[[traffic]]\nkind = \"incast\"\nto = \"h2\"\nsize = \"{size}\"\n"
        );
        read(&text).build().map(drop).map_err(|problems| problems.to_string())
    };
    // Two flows at 100 Gbps for 2 s are 2 · 25 · 10^6 packets of 1000 B, each of which makes up to 8 rows of
    // each of three ports: 1.2 · 10^9 rows of 64 B. Every 6 ns there are 10^9 samples, as many as may be.
    let refused = build("1ps", "2s", "50GB").unwrap_err();
    let text = "probe.interval: makes up to 1200000000 rows with samples of ports, about 76.8GB of them";
    assert!(refused.contains(text), "{refused}");
    assert!(refused.contains("an interval of 6ns or more"), "{refused}");
    assert!(build("5ns", "2s", "50GB").unwrap_err().contains("up to 1200000000 rows"));
    assert_eq!(build("6ns", "2s", "50GB"), Ok(()));
    // Where little happens, the samples are equal and have no rows.
    assert_eq!(build("1ps", "2s", "10KB"), Ok(()));
}

#[test]
fn no_run_ends_before_its_timers() {
    let run = |settings: &[&str]| {
        let all: Vec<String> = settings.iter().map(|s| (*s).to_owned()).collect();
        let text = format!("{HEAD}[[traffic]]\nkind = \"incast\"\nsize = \"1KB\"\n");
        Scenario::from_toml(&text, "x.toml", &all)
            .map(|scenario| scenario.build().unwrap().simulation.stall_after)
    };
    assert_eq!(run(&[]).unwrap(), Time::from_s(1));
    // The default follows a longer timer.
    assert_eq!(run(&["transport.rto=1.5s"]).unwrap(), Time::from_ms(1500));
    assert_eq!(run(&["transport.rto=1.5s", "run.stall_after=2s"]).unwrap(), Time::from_s(2));
    let shorter = run(&["run.stall_after=5ms"]).unwrap_err().to_string();
    assert!(shorter.contains("run.stall_after") && shorter.contains("transport.rto = \"10ms\""), "{shorter}");
}

/// Swift's lone flow over links of 3 us is answered after 12.18 us. A timer of 12 us expires for each packet; one of 13 us never
/// does.
#[test]
fn timers_that_expire_without_a_loss_are_said() {
    let warnings = |rto: &str| -> Vec<String> {
        let scenario = read(&format!(
            "topology = {{ kind = \"star\", hosts = 2, rate = \"100Gbps\", delay = \"3us\" }}\n\
             cc = {{ algorithm = \"swift\" }}\ntransport = {{ rto = \"{rto}\" }}\n\
             [[traffic]]\nkind = \"flows\"\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1MB\"\n"
        ));
        let ran = common::go("timers", "", &scenario.build().unwrap(), &RunOptions::default());
        ran.info.warnings.iter().map(|said| format!("{:?}: {}", said.key, said.problem)).collect()
    };
    let said = warnings("12us");
    // Before the run, and after it.
    let [before, after] = &said[..] else { panic!("{said:?}") };
    assert!(before.contains("the timer expires for packets that are not lost"), "{before}");
    let again = "Some(\"transport.rto\"): 50 % of 2000 packets were sent again although they were not lost";
    assert!(after.starts_with(again), "{after}");
    assert!(warnings("13us").is_empty());
}

/// Without headroom PFC pauses too late: what is on the link then is dropped. A scenario asks for that, so it is a result; but a
/// network that is called lossless has lost packets.
#[test]
fn losses_under_pfc_with_little_headroom_are_said() {
    let warnings = |headroom: &str| -> Vec<(Option<String>, String, Option<String>)> {
        let scenario = read(&format!(
            "topology = {{ kind = \"star\", hosts = 5, rate = \"100Gbps\", delay = \"1us\" }}\n\
             switch = {{ buffer = \"1MB\", pfc = {{ xoff = \"30KB\"{headroom} }} }}\ncc = {{ algorithm = \"constant\" }}\n\
             [[traffic]]\nkind = \"incast\"\nto = \"h4\"\nsize = \"300KB\"\n"
        ));
        let ran = common::go("pfc", "", &scenario.build().unwrap(), &RunOptions::default());
        assert!(ran.info.outcome.unwrap().violations.is_empty());
        ran.info
            .warnings
            .iter()
            .map(|said| (said.key.clone(), said.problem.clone(), said.hint.clone()))
            .collect()
    };
    let said = warnings(", headroom = \"0B\"");
    let keys: Vec<_> = said.iter().map(|(key, ..)| key.as_deref().unwrap()).collect();
    assert_eq!(keys[0], "switch.pfc.headroom", "{said:?}");
    assert!(said[0].1.contains("packets of lossless queues were dropped"), "{said:?}");
    // PFC does not admit other clocks, so no hint asks for them.
    assert!(said.iter().all(|(_, _, hint)| !hint.as_ref().unwrap().contains("100ppm")), "{said:?}");
    assert_eq!(warnings(""), []);
}
