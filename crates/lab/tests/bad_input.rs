//! Bad scenarios: every one is refused with a message that says what, where, and what would be right.

use std::fmt::Write as _;
use std::path::PathBuf;

use incast_lab::Scenario;
use incast_lab::grammar::Entry;
use incast_lab::scenario::catalogue;

/// A good scenario, to be spoilt.
const GOOD: &str = r#"name = "good"
seed = 1

[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "3us"

[switch]
buffer = "32MB"

[cc]
algorithm = "hpcc"

[[traffic]]
name = "background"
kind = "poisson"
sizes = "WebSearch"
load = 0.5
flows = 10

[[traffic]]
name = "long"
kind = "flows"
from = "h0"
to = "h3"
size = "1MB"

[run]
until = "10ms"
"#;

fn problems(text: &str, overrides: &[&str]) -> String {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    match Scenario::from_toml(text, "bad.toml", &overrides) {
        Ok(_) => panic!("accepted:\n{text}{overrides:?}"),
        Err(problems) => {
            assert!(!problems.is_empty());
            // These lists grow.
            let names = |entries: Vec<Entry>| -> String {
                entries.into_iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
            };
            problems
                .to_string()
                .replace(&names(catalogue::algorithms()), "ALGORITHMS")
                .replace(&names(catalogue::topologies()), "TOPOLOGIES")
                .replace(&names(catalogue::distributions()), "DISTRIBUTIONS")
        }
    }
}

/// The good scenario with one text replaced by another.
fn spoilt(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    GOOD.replacen(from, to, 1)
}

#[test]
fn the_good_one_is_good() {
    Scenario::from_toml(GOOD, "good.toml", &[]).unwrap();
}

#[test]
fn what_a_file_can_get_wrong() {
    let fat_tree = "[topology]\nkind = \"fat-tree\"\nk = 4\nrate = \"100Gbps\"\ndelay = \"1us\"\n\n[switch]";
    let chain =
        "[topology]\nkind = \"parking-lot\"\nswitches = 6\nrate = \"100Gbps\"\ndelay = \"1us\"\n\n[switch]";
    let old = &GOOD[GOOD.find("[topology]").unwrap()..GOOD.find("[switch]").unwrap() + 8];
    let graph = |links: &str| {
        spoilt(
            old,
            &format!(
                "[topology]\nkind = \"graph\"\nhosts = [\"h0-h3\"]\nswitches = [\"s0\", \"s1\"]\nrate = \"100Gbps\"\n\
                 delay = \"1us\"\nlinks = [{links}]\n\n[switch]"
            ),
        )
    };
    let cases: Vec<(&str, String)> = vec![
        ("unknown key", spoilt("hosts = 4", "host = 4")),
        ("unknown key far from any", spoilt("seed = 1", "seed = 1\ncolour = \"red\"")),
        ("unknown section", spoilt("[run]", "[runs]")),
        ("missing key", spoilt("delay = \"3us\"\n", "")),
        ("missing section", spoilt(old, "[switch]")),
        ("no unit in a text", spoilt("\"100Gbps\"", "\"100\"")),
        ("no unit, a bare number", spoilt("\"100Gbps\"", "100")),
        ("unit of another quantity", spoilt("\"3us\"", "\"3KB\"")),
        ("misspelt unit", spoilt("\"100Gbps\"", "\"100gbps\"")),
        ("unknown unit", spoilt("\"3us\"", "\"3 parsecs\"")),
        ("negative time", spoilt("\"3us\"", "\"-3us\"")),
        ("negative count", spoilt("hosts = 4", "hosts = -4")),
        ("fraction of a host", spoilt("hosts = 4", "hosts = 4.5")),
        ("too many hosts", spoilt("hosts = 4", "hosts = 70000")),
        ("one host", spoilt("hosts = 4", "hosts = 1")),
        ("zero rate", spoilt("\"100Gbps\"", "\"0Gbps\"")),
        ("zero delay", spoilt("\"3us\"", "\"0us\"")),
        ("wrong type", spoilt("\"star\"", "[\"star\"]")),
        ("unknown topology", spoilt("\"star\"", "\"start\"")),
        ("key of another topology", spoilt("hosts = 4", "hosts = 4\nleaves = 2")),
        ("unknown algorithm", spoilt("\"hpcc\"", "\"hpc\"")),
        ("unknown algorithm far from any", spoilt("\"hpcc\"", "\"cubic\"")),
        ("unknown preset", spoilt("\"hpcc\"", "\"hpcc\"\npreset = \"papers\"")),
        ("option of another algorithm", spoilt("\"hpcc\"", "\"hpcc\"\nu_hai = 0.01")),
        ("parameter out of range", spoilt("\"hpcc\"", "\"hpcc\"\neta = -0.5")),
        ("parameter with a unit", spoilt("\"hpcc\"", "\"hpcc\"\neta = \"0.95\"")),
        ("no algorithm", spoilt("[cc]\nalgorithm = \"hpcc\"\n", "")),
        ("load of 1", spoilt("load = 0.5", "load = 1.0")),
        ("load as a percentage", spoilt("load = 0.5", "load = \"50%\"")),
        ("load that the receivers cannot take", spoilt("load = 0.5", "load = 0.5\nto = \"h1\"")),
        ("unknown distribution", spoilt("\"WebSearch\"", "\"WebSerach\"")),
        ("sizes in a file that is not there", spoilt("\"WebSearch\"", "\"no/such/file.cdf\"")),
        ("CDF not monotone", spoilt("\"WebSearch\"", "{ cdf = \"0 0\\n1000 60\\n2000 50\\n3000 100\" }")),
        ("flow to itself", spoilt("to = \"h3\"", "to = \"h0\"")),
        ("flow beyond the last host", spoilt("to = \"h3\"", "to = \"h4\"")),
        ("flow to a switch", spoilt("to = \"h3\"", "to = \"s0\"")),
        ("range that runs backward", spoilt("from = \"h0\"", "from = \"h2-h0\"")),
        (
            "two senders, three receivers",
            spoilt("from = \"h0\"\nto = \"h3\"", "from = \"h0-h1\"\nto = [\"h1\", \"h2\", \"h3\"]"),
        ),
        ("size of zero", spoilt("\"1MB\"", "\"0B\"")),
        ("stop before start", spoilt("\"1MB\"", "\"1MB\"\nstart = \"5ms\"\nstop = \"4ms\"")),
        ("flow without an end", spoilt("size = \"1MB\"\n\n[run]\nuntil = \"10ms\"\n", "")),
        ("queue that is not there", spoilt("\"1MB\"", "\"1MB\"\nqueue = 1")),
        ("two blocks with one name", spoilt("\"long\"", "\"background\"")),
        (
            "fan-in larger than the network",
            spoilt("kind = \"flows\"\nfrom = \"h0\"\nto", "kind = \"incast\"\nfan_in = 4\nto"),
        ),
        ("gaps of an unknown kind", spoilt("load = 0.5", "load = 0.5\ngaps = \"lognormel\"")),
        ("a deviation of gaps that have none", spoilt("load = 0.5", "load = 0.5\nsigma = 2")),
        ("a deviation out of range", spoilt("load = 0.5", "load = 0.5\ngaps = \"lognormal\"\nsigma = 4.5")),
        (
            "gaps of a single request",
            spoilt("kind = \"flows\"\nfrom = \"h0\"\nto", "kind = \"incast\"\ngaps = \"constant\"\nto"),
        ),
        (
            "staggered flows that end before they start",
            spoilt(
                "kind = \"flows\"\nfrom = \"h0\"\nto = \"h3\"\nsize = \"1MB\"",
                "kind = \"staggered\"\nfrom = \"h0-h2\"\nto = \"h3\"\ninterval = \"5ms\"\nduration = \"15ms\"\nleave = \"last-in-first-out\"",
            ),
        ),
        ("no traffic", spoilt(&GOOD[GOOD.find("[[traffic]]").unwrap()..GOOD.find("[run]").unwrap()], "")),
        (
            "topology that does not connect",
            graph("{ between = [\"h0-h1\", \"s0\"] }, { between = [\"h2-h3\", \"s1\"] }"),
        ),
        (
            "hosts at two switches that only another host joins",
            graph(
                "{ between = [\"h0-h1\", \"s0\"] }, { between = [\"h0\", \"s1\"] }, { between = [\"h2-h3\", \"s1\"] }",
            ),
        ),
        ("link to an unknown node", graph("{ between = [\"h0-h3\", \"s2\"] }")),
        ("duplicate link", graph("{ between = [\"h0-h3\", \"s0\"] }, { between = [\"s0\", \"h1\"] }")),
        ("fat-tree with odd k", spoilt(old, &fat_tree.replace("k = 4", "k = 5"))),
        ("INT over more than five hops", spoilt(old, chain)),
        ("marks needed, none set", spoilt("\"hpcc\"", "\"dcqcn\"")),
        (
            "kmin above kmax",
            spoilt("[cc]", "[switch.ecn]\nkmin = \"2MB\"\nkmax = \"1MB\"\npmax = 0.2\n\n[cc]"),
        ),
        (
            "probability above 1",
            spoilt("[cc]", "[switch.ecn]\nkmin = \"1MB\"\nkmax = \"2MB\"\npmax = 20\n\n[cc]"),
        ),
        ("alpha of zero", spoilt("\"32MB\"", "\"32MB\"\negress_alpha = 0")),
        ("alpha without a shared buffer", spoilt("\"32MB\"", "\"unlimited\"\negress_alpha = 0.5")),
        ("headroom larger than the buffer", spoilt("\"32MB\"", "\"32MB\"\npfc = { headroom = \"8MB\" }")),
        ("buffer smaller than the headroom needs", spoilt("\"32MB\"", "\"100KB\"\npfc = true")),
        ("buffer smaller than a packet", spoilt("\"32MB\"", "\"1KB\"")),
        ("PFC with a buffer per port", spoilt("\"32MB\"", "{ per_port = \"800KB\" }\npfc = true")),
        ("PFC and BFC", spoilt("\"32MB\"", "\"32MB\"\npfc = true\nbfc = true")),
        (
            "BFC with queues of flows",
            spoilt("\"32MB\"", "\"32MB\"\nbfc = true\nqueues = 4\nstrict = 1\nquanta = [\"1KB\"]")
                .replace("[cc]", "[transport]\nack_queue = 0\ncnp_queue = 0\n\n[cc]"),
        ),
        (
            "a queue of a flow with BFC",
            spoilt("\"32MB\"", "\"32MB\"\nbfc = true").replace("size = \"1MB\"", "size = \"1MB\"\nqueue = 1"),
        ),
        ("BFC by priority", spoilt("\"32MB\"", "\"32MB\"\nbfc = true\nscheduler = \"strict-priority\"")),
        ("BFC with a queue too many", spoilt("\"32MB\"", "\"32MB\"\nbfc = { queues = 128 }")),
        ("BFC without a threshold", spoilt("\"32MB\"", "\"32MB\"\nbfc = { factor = 0 }")),
        ("BFC without entries", spoilt("\"32MB\"", "\"32MB\"\nbfc = { entries = 0, sticky = -1 }")),
        ("an unknown signal of BFC", spoilt("\"32MB\"", "\"32MB\"\nbfc = { signal = \"atonce\" }")),
        (
            "maps that are not sent",
            spoilt("\"32MB\"", "\"32MB\"\nbfc = { signal = \"at-once\", interval = \"1us\" }"),
        ),
        ("maps that fill the link", spoilt("\"32MB\"", "\"32MB\"\nbfc = { interval = \"24ns\" }")),
        (
            "maps that fill a short link",
            spoilt("\"32MB\"", "\"32MB\"\nbfc = true").replace("delay = \"3us\"", "delay = \"20ns\""),
        ),
        ("PFC that never pauses", spoilt("\"32MB\"", "\"unlimited\"\npfc = true")),
        ("129 queues", spoilt("\"32MB\"", "\"32MB\"\nqueues = 129")),
        ("quanta without deficit round robin", spoilt("\"32MB\"", "\"32MB\"\nquanta = [\"3KB\"]")),
        (
            "more quanta than queues",
            spoilt("\"32MB\"", "\"32MB\"\nscheduler = \"drr\"\nquanta = [\"3KB\", \"1KB\"]"),
        ),
        ("repair with go-back-N", spoilt("[cc]", "[transport]\nrepair = \"lazy\"\n\n[cc]")),
        (
            "a threshold and NACKs where there are none",
            spoilt(
                "[cc]",
                "[transport]\nrecovery = \"selective\"\nrepair = \"never\"\nrepair_threshold = 2\nnack_interval = \"1us\"\n\n[cc]",
            ),
        ),
        ("an unknown sample", spoilt("[cc]", "[transport]\nsample = \"last\"\n\n[cc]")),
        (
            "a sample by the cumulative number without windows",
            spoilt("[cc]", "[transport]\nkind = \"ndp\"\nsample = \"cumulative\"\n\n[cc]"),
        ),
        (
            "no packet later",
            spoilt("[cc]", "[transport]\nrecovery = \"selective\"\nrepair_threshold = 0\n\n[cc]"),
        ),
        ("an unknown balancer", spoilt("[cc]", "[balancing]\npolicy = \"spray\"\n\n[cc]")),
        (
            "settings of other balancers",
            spoilt(
                "[cc]",
                "[balancing]\npaths = 32\nfreeze = \"10ms\"\nthresholds = [\"40KB\"]\nacknowledgements = \"one-path\"\n\n[cc]",
            ),
        ),
        ("rounds of 48", spoilt("[cc]", "[balancing]\npolicy = \"ops-rounds\"\npaths = 48\n\n[cc]")),
        (
            "adaptive routing without limits of ports",
            spoilt("size = \"1MB\"", "size = \"1MB\"\nbalancing = \"adaptive\""),
        ),
        (
            "two thresholds",
            spoilt("[cc]", "[balancing]\npolicy = \"adaptive\"\nthresholds = [\"40KB\", \"80KB\"]\n\n[cc]"),
        ),
        (
            "falling thresholds",
            spoilt(
                "[cc]",
                "[balancing]\npolicy = \"adaptive\"\nthresholds = [\"40KB\", \"80KB\", \"60KB\"]\n\n[cc]",
            ),
        ),
        (
            "entropies in a five-tuple",
            spoilt("\"32MB\"", "\"32MB\"\npath = \"five-tuple\"")
                .replace("size = \"1MB\"", "size = \"1MB\"\nbalancing = \"reps\""),
        ),
        ("weights without weighted round robin", spoilt("\"32MB\"", "\"32MB\"\nweights = [2]")),
        ("strict queues under strict priority", spoilt("\"32MB\"", "\"32MB\"\nstrict = 1")),
        (
            "more weights and strict queues than queues",
            spoilt("\"32MB\"", "\"32MB\"\nscheduler = \"wrr\"\nweights = [2, 1]\nstrict = 2"),
        ),
        ("a weight of nothing", spoilt("\"32MB\"", "\"32MB\"\nscheduler = \"wrr\"\nweights = [0]")),
        ("a quantum of nothing", spoilt("\"32MB\"", "\"32MB\"\nscheduler = \"drr\"\nquanta = [\"0B\"]")),
        (
            "a buffer for a switch that is not there",
            spoilt("\"32MB\"", "\"32MB\"\nbuffers = [{ switches = [\"core\"], buffer = \"8MB\" }]"),
        ),
        ("PFC on no queue", spoilt("[cc]", "[switch.pfc]\nqueues = []\n\n[cc]")),
        ("a lossless queue twice", spoilt("[cc]", "[switch.pfc]\nqueues = [0, 0]\n\n[cc]")),
        ("a lossless queue that is not there", spoilt("[cc]", "[switch.pfc]\nqueues = [0, 3]\n\n[cc]")),
        ("a lossless queue that no port has", spoilt("[cc]", "[switch.pfc]\nqueues = [128]\n\n[cc]")),
        (
            "a pool without room for lossy packets",
            spoilt("\"32MB\"", "\"330500B\"\nqueues = 2\npfc = { queues = [1] }"),
        ),
        ("an egress limit without PFC", spoilt("\"32MB\"", "\"32MB\"\negress_limit = true")),
        (
            "a schedule without a file",
            spoilt("[run]", "[[traffic]]\nkind = \"goal-file\"\nsize_factor = 0\nhosts = 3\n\n[run]"),
        ),
        (
            "connections with a unit that is no time",
            spoilt(
                "[run]",
                "[[traffic]]\nkind = \"htsim-connections\"\nfile = \"none.cm\"\nstart_unit = 1\n\n[run]",
            ),
        ),
        (
            "traces without the place of the rank",
            spoilt(
                "[run]",
                "[[traffic]]\nkind = \"chakra-trace\"\nfile = \"trace.et\"\nctrl_deps = 1\ncompute_factor = -1\n\n[run]",
            ),
        ),
        (
            "a tree without a file",
            spoilt("kind = \"star\"\nhosts = 4\nrate = \"100Gbps\"", "kind = \"htsim-file\"\nhosts = 4"),
        ),
        ("unknown scheduler", spoilt("\"32MB\"", "\"32MB\"\nscheduler = \"priority\"")),
        (
            "probe of a port that is not there",
            spoilt("[run]", "[probe]\nports = [\"s0:4\", \"to h9\", \"h0->h1\"]\n\n[run]"),
        ),
        ("probe of a block that is not there", spoilt("[run]", "[probe]\nflows = [\"short\"]\n\n[run]")),
        ("probe settings without a probe", spoilt("[run]", "[probe]\ninterval = \"2us\"\n\n[run]")),
        ("traffic that starts after the end", spoilt("load = 0.5", "load = 0.5\nstart = \"20ms\"")),
        ("text cut off", GOOD[..GOOD.len() - 4].to_owned()),
        ("table cut off", GOOD[..GOOD.find("\"star\"").unwrap()].to_owned()),
        ("the same key twice", spoilt("hosts = 4", "hosts = 4\nhosts = 5")),
        ("not TOML", "{ \"topology\": 1 }".to_owned()),
        ("empty", String::new()),
        (
            "several at once",
            spoilt("\"100Gbps\"", "\"100\"").replace("load = 0.5", "laod = 0.5").replace("\"h3\"", "3"),
        ),
    ];
    let mut seen = String::new();
    for (name, text) in cases {
        let _ = writeln!(seen, "# {name}\n{}\n", problems(&text, &[]));
    }
    insta::assert_snapshot!(seen);
}

/// The good scenario with a block `[[change]]`.
fn changed(text: &str) -> String {
    format!("{GOOD}\n[[change]]\n{text}\n")
}

#[test]
fn what_a_change_of_a_link_can_get_wrong() {
    let at = |rest: &str| changed(&format!("at = \"2ms\"\n{rest}"));
    let to_h3 = |rest: &str| at(&format!("between = [\"s0\", \"h3\"]\n{rest}"));
    let down = "state = \"down\"";
    let cases: Vec<(&str, String)> = vec![
        ("no time", changed(&format!("between = [\"s0\", \"h3\"]\n{down}"))),
        ("no link", at(down)),
        ("one end", at(&format!("between = [\"s0\"]\n{down}"))),
        ("an unknown node", at(&format!("between = [\"s0\", \"h4\"]\n{down}"))),
        ("nodes without a link", at(&format!("between = [\"h0\", \"h3\"]\n{down}"))),
        ("ranges without a link", at(&format!("between = [\"h0-h1\", \"h2-h3\"]\n{down}"))),
        ("a probability above one", to_h3(&format!("probability = 1.5\n{down}"))),
        ("a link that is not there", to_h3(&format!("number = 1\n{down}"))),
        ("nothing that changes", to_h3("")),
        ("a state that is none", to_h3("state = \"dwon\"")),
        ("no rate", to_h3("rate = \"0Gbps\"")),
        ("no delay", to_h3("delay = \"0us\"")),
        ("no unit", to_h3("delay = 3")),
        ("after the end of the run", to_h3(&format!("{down}\nuntil = \"10ms\"")).replace("2ms", "11ms")),
        ("an end before the beginning", to_h3(&format!("{down}\nuntil = \"1ms\""))),
        ("an end after that of the run", to_h3(&format!("{down}\nuntil = \"20ms\""))),
        ("an end of nothing", to_h3("state = \"up\"\nuntil = \"3ms\"")),
        ("up twice", to_h3("state = \"up\"")),
        ("down twice", to_h3(down) + &to_h3(down)[GOOD.len()..].replace("2ms", "3ms")),
        (
            "a link too long for the buffer",
            to_h3("delay = \"1.5ms\"\nuntil = \"3ms\"").replace("[cc]", "[switch.pfc]\n\n[cc]"),
        ),
        ("an unknown key", to_h3("loss = 0.1")),
    ];
    let mut seen = String::new();
    for (what, text) in cases {
        writeln!(seen, "# {what}\n{}\n", problems(&text, &[])).unwrap();
    }
    insta::assert_snapshot!(seen);
}

#[test]
fn what_trimming_and_ndp_can_get_wrong() {
    let trimming = |keys: &str| {
        spoilt(
            "buffer = \"32MB\"",
            &format!("[switch.trimming]\n{keys}\n\n[transport]\nrecovery = \"selective\""),
        )
    };
    let before =
        |text: String, rest: &str| text.replace("[switch.trimming]", &format!("{rest}\n[switch.trimming]"));
    let ndp = |keys: &str| {
        let text = trimming("").replace("recovery = \"selective\"", &format!("kind = \"ndp\"\n{keys}"));
        text.replace("[cc]\nalgorithm = \"hpcc\"\n", "")
    };
    let cases: Vec<(&str, String)> = vec![
        ("trimming with a buffer", before(trimming(""), "buffer = \"32MB\"\negress_alpha = 2.0")),
        (
            "trimming with other buffers",
            before(trimming(""), "[[switch.buffers]]\nswitches = [\"s0\"]\nbuffer = \"1MB\""),
        ),
        ("trimming with queues", before(trimming(""), "queues = 8\nscheduler = \"drr\"\nquanta = [\"3KB\"]")),
        ("trimming with PFC", before(trimming(""), "[switch.pfc]")),
        ("trimming with BFC", before(trimming(""), "[switch.bfc]")),
        ("trimming with go-back-N", trimming("").replace("recovery = \"selective\"", "")),
        ("no room for a packet", trimming("data = \"1000B\"")),
        ("no room for a header", trimming("headers = \"63B\"")),
        ("a header as large as a packet", trimming("size = \"9000B\"")),
        ("no header for a packet", trimming("ratio = 0")),
        ("a flag that is none", trimming("return_to_sender = \"yes\"")),
        ("NDP with an algorithm", ndp("").replace("[run]", "[cc]\nalgorithm = \"swift\"\n\n[run]")),
        (
            "NDP with an algorithm of a block",
            ndp("").replace("flows = 10", "flows = 10\ncc = { algorithm = \"swift\" }"),
        ),
        ("NDP with keys of windows", ndp("recovery = \"selective\"\nack_every = 4\nrto = \"1ms\"")),
        (
            "settings of NDP without it",
            trimming("").replace("[cc]", "[transport.ndp]\nfirst_window = 8\n\n[cc]"),
        ),
        ("pulls of nothing", ndp("ndp = { first_window = 0, pull_rate = 1.5, rto = \"0us\" }")),
        ("sections at the wrong place", ndp("").replace("[run]", "[bfc]\n\n[ndp]\n\n[switch.homa]\n\n[run]")),
        ("an unknown transport", ndp("").replace("\"ndp\"", "\"npd\"")),
    ];
    let mut seen = String::new();
    for (what, text) in cases {
        writeln!(seen, "# {what}\n{}\n", problems(&text, &[])).unwrap();
    }
    insta::assert_snapshot!(seen);
}

#[test]
fn what_homa_can_get_wrong() {
    let good = GOOD
        .replace("\"32MB\"", "\"32MB\"\nqueues = 8")
        .replace("[cc]\nalgorithm = \"hpcc\"\n", "[transport]\nkind = \"homa\"\n\n[transport.homa]\n");
    Scenario::from_toml(&good, "good.toml", &[]).unwrap();
    let homa = |keys: &str| good.replace("[transport.homa]\n", &format!("[transport.homa]\n{keys}\n"));
    let but = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replace(from, to)
    };
    let cases: Vec<(&str, String)> = vec![
        ("settings of Homa without Homa", spoilt("[cc]", "[transport.homa]\novercommitment = 2\n\n[cc]")),
        ("an algorithm", but("[run]", "[cc]\nalgorithm = \"hpcc\"\n\n[run]")),
        ("an algorithm of a block", but("size = \"1MB\"", "size = \"1MB\"\ncc = { algorithm = \"hpcc\" }")),
        (
            "keys of windows",
            but("\"homa\"", "\"homa\"\nrecovery = \"selective\"\nrto = \"1ms\"\nack_every = 2"),
        ),
        ("one queue", but("queues = 8", "queues = 1")),
        ("no queues at all", but("queues = 8\n", "")),
        ("no level left", homa("unscheduled = 8")),
        ("more levels than queues", homa("levels = 9")),
        ("fewer levels than unscheduled ones", homa("levels = 3\nunscheduled = 3")),
        ("no unscheduled level", homa("unscheduled = 0")),
        ("another rule", homa("unscheduled = \"rules\"")),
        ("one cut-off too many", homa("cutoffs = [\"1KB\", \"2KB\"]")),
        ("cut-offs by the rule", homa("unscheduled = \"rule\"\ncutoffs = [\"1KB\"]")),
        ("falling cut-offs", homa("unscheduled = 3\ncutoffs = [\"2KB\", \"1KB\"]")),
        ("a scheduler that is not strict", but("queues = 8", "queues = 8\nscheduler = \"round-robin\"")),
        ("too few strict queues", but("queues = 8", "queues = 8\nscheduler = \"drr\"\nstrict = 7")),
        ("no message granted", homa("overcommitment = 0")),
        ("too many messages granted", homa("overcommitment = 65")),
        ("RTTbytes of nothing", homa("rtt_bytes = \"0B\"")),
        ("RTTbytes as a time", homa("rtt_bytes = \"12us\"")),
        ("RTTbytes by another word", homa("rtt_bytes = \"path\"")),
        ("an unknown order", homa("scheduled = \"middle\"")),
        ("no timeout", homa("resend_timeout = \"0us\"")),
        ("no tries", homa("resend_tries = 0")),
        ("more than half for the oldest message", homa("oldest_share = 0.6")),
        ("a step for no share", homa("oldest_step = \"50KB\"")),
        ("another level for the end of messages", homa("last_rtt_bytes = \"highest\"")),
        ("a cap below a packet", homa("cap = \"999B\"")),
        ("a flow without a size", but("size = \"1MB\"\n", "")),
        ("a flow that stops", but("size = \"1MB\"", "size = \"1MB\"\nstop = \"5ms\"")),
        (
            "staggered flows",
            but(
                "kind = \"flows\"\nfrom = \"h0\"\nto = \"h3\"\nsize = \"1MB\"",
                "kind = \"staggered\"\nfrom = \"h0-h2\"\nto = \"h3\"\ninterval = \"1ms\"\nduration = \"5ms\"",
            ),
        ),
        ("a queue of a block", but("size = \"1MB\"", "size = \"1MB\"\nqueue = 3")),
        ("REPS", but("[run]", "[balancing]\npolicy = \"reps\"\n\n[run]")),
        ("REPS of a block", but("size = \"1MB\"", "size = \"1MB\"\nbalancing = \"reps\"")),
        (
            "a path of acknowledgements",
            but("[run]", "[balancing]\npolicy = \"ops\"\nacknowledgements = \"one-path\"\n\n[run]"),
        ),
        ("internal quantities", but("[run]", "[probe]\nflows = [\"long\"]\ninternals = true\n\n[run]")),
        ("an unknown key", homa("rttbytes = \"10KB\"")),
    ];
    let mut seen = String::new();
    for (what, text) in cases {
        writeln!(seen, "# {what}\n{}\n", problems(&text, &[])).unwrap();
    }
    insta::assert_snapshot!(seen);
}

#[test]
fn what_an_override_can_get_wrong() {
    let mut seen = String::new();
    for overrides in [
        &["topology.rate=100"][..],
        &["topology.raet=100Gbps"],
        &["traffic.background.load=2"],
        &["traffic.2.load=0.5"],
        &["traffic.short.load=0.5"],
        &["topology.rate.unit=Gbps"],
        &["topology.rate"],
        &["cc.algorithm=dctcp"],
        &["run.until="],
        &["seed=1", "topology.hosts=2", "..=3"],
    ] {
        let _ = writeln!(seen, "# {}\n{}\n", overrides.join(" "), problems(GOOD, overrides));
    }
    insta::assert_snapshot!(seen);
}

/// A folder that is gone when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("incast-bad-input-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_that_cannot_be_read() {
    let folder = Folder::new("files");
    let message = |name: &str, content: Option<&[u8]>| {
        let path = folder.0.join(name);
        if let Some(content) = content {
            std::fs::write(&path, content).unwrap();
        }
        let problems = Scenario::load(&path, &[]).unwrap_err().to_string();
        problems.replace(&folder.0.display().to_string(), "FOLDER")
    };
    assert_eq!(message("none.toml", None), "FOLDER/none.toml: there is no such file");
    assert_eq!(message("", None), "FOLDER/: this is a folder; name a scenario file in it");
    assert_eq!(
        message("latin.toml", Some(b"seed = 1\nname = \"caf\xe9\"\n")),
        "FOLDER/latin.toml:2: this is not a text file (not UTF-8)"
    );
    let cut = message("cut.toml", Some(b"[topology]\nkind = \"star"));
    assert!(cut.starts_with("FOLDER/cut.toml:2:") && cut.contains("truncated"), "{cut}");

    // A file of sizes is found beside the scenario, and named in its own problems.
    std::fs::write(folder.0.join("sizes.cdf"), "0 0\n1000 40\n900 100\n").unwrap();
    let text = GOOD.replace("\"WebSearch\"", "\"sizes.cdf\"");
    let cdf = message("own.toml", Some(text.as_bytes()));
    assert!(cdf.starts_with("sizes.cdf:3: traffic.background.sizes: "), "{cdf}");
    assert!(cdf.contains("named in FOLDER/own.toml:19"), "{cdf}");
    std::fs::write(folder.0.join("sizes.cdf"), "0 0\n1000 40\n9000 100\n").unwrap();
    let own = Scenario::load(folder.0.join("own.toml"), &[]).unwrap();
    // The effective scenario holds the distribution itself and needs no file beside it.
    let again = Scenario::from_toml(&own.effective_toml(), "elsewhere.toml", &[]).unwrap();
    assert_eq!(own, again);
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    /// A scenario with most sections, so that mutations reach them.
    const RICH: &str = concat!(
        "[topology]\nkind = \"fat-tree\"\nk = 4\nrate = \"100Gbps\"\ndelay = \"1us\"\n",
        "[switch]\nbuffer = \"32MB\"\nqueues = 2\n[switch.pfc]\nheadroom = \"auto\"\nqueues = [1]\n",
        "[switch.ecn]\nkmin = \"400KB\"\nkmax = \"1600KB\"\npmax = 0.2\n",
        "[transport]\npayload = \"1KB\"\nrto = \"1ms\"\n[cc]\nalgorithm = \"dcqcn\"\n",
        "[[traffic]]\nkind = \"poisson\"\nsizes = \"Hadoop\"\nload = 0.5\nflows = 100\n",
        "[[traffic]]\nkind = \"incast\"\nfan_in = 3\nsize = \"450KB\"\ninterval = \"10us\"\nrequests = 5\nqueue = 1\n",
        "[[traffic]]\nkind = \"permutation\"\nsize = \"8MB\"\ncc = { algorithm = \"hpcc\", eta = 0.9 }\n",
        "[[traffic]]\nkind = \"staggered\"\nfrom = \"h0-h2\"\nto = \"h3\"\ninterval = \"1ms\"\nduration = \"5ms\"\n",
        "[[traffic]]\nkind = \"flows\"\nfrom = \"h0\"\nto = [\"h1\", \"h2\"]\nsize = \"1MB\"\n",
        "[probe]\nports = [\"to h3\", \"edge0->agg0\"]\nflows = [\"incast.2\"]\n[run]\nuntil = \"10ms\"\n",
    );

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever happens to a file, reading it ends in a scenario or in problems; and a scenario that
        /// is accepted is written so that it reads back as the same.
        #[test]
        fn mutated_files_never_panic(
            cuts in prop::collection::vec((0..RICH.len(), 0..12_usize, "[ -~\\n]{0,6}"), 1..4),
        ) {
            let mut text = RICH.to_owned();
            for (at, length, insert) in cuts {
                let at = at.min(text.len());
                let end = (at + length).min(text.len());
                text.replace_range(at..end, &insert);
            }
            if let Ok(scenario) = Scenario::from_toml(&text, "mutated.toml", &[]) {
                let effective = scenario.effective_toml();
                let again = Scenario::from_toml(&effective, "mutated.toml", &[]);
                prop_assert!(again.as_ref() == Ok(&scenario), "{effective}\n{:?}", again.err());
            }
        }

        /// Digits that change sizes and counts reach the limits of every number.
        #[test]
        fn large_and_small_numbers_never_panic(
            at in 0..RICH.len(), digits in "[0-9]{1,20}", unit in prop::sample::select(vec!["", "e9", ".5", "e-9"]),
        ) {
            let number = RICH[at..].find(|c: char| c.is_ascii_digit()).map(|offset| at + offset);
            if let Some(number) = number {
                let mut text = RICH.to_owned();
                text.replace_range(number..=number, &format!("{digits}{unit}"));
                let _ = Scenario::from_toml(&text, "mutated.toml", &[]);
            }
        }

        /// Bytes that are no text at all.
        #[test]
        fn noise_never_panics(text in "\\PC{0,200}") {
            prop_assert!(Scenario::from_toml(&text, "noise.toml", std::slice::from_ref(&text)).is_err());
        }
    }
}

#[test]
fn what_traffic_with_dependencies_can_get_wrong() {
    let old = &GOOD[GOOD.find("kind = \"flows\"").unwrap()..GOOD.find("[run]").unwrap()];
    let block = |text: &str| spoilt(old, &format!("kind = {text}\n"));
    let ring = |text: &str| block(&format!("\"ring-allreduce\"\n{text}"));
    let all = |text: &str| block(&format!("\"all-to-all\"\n{text}"));
    let loops = |text: &str| block(&format!("\"closed-loop\"\nsizes = \"1KB\"\n{text}"));
    let servers = |text: &str| block(&format!("\"parameter-server\"\n{text}"));
    let files = |text: &str| block(&format!("\"file-requests\"\nsize = \"1KB\"\n{text}"));
    let on_off = |text: &str| block(&format!("\"on-off\"\nfrom = \"h0\"\nto = \"h1\"\n{text}"));
    let cases: Vec<(&str, String)> = vec![
        ("a ring without a size", ring("")),
        ("a ring of one", ring("size = \"1KB\"\nhosts = \"h1\"")),
        ("an unknown model", ring("model = \"resnet50\"")),
        ("a model without effect", ring("model = \"vgg\"\nsize = \"1KB\"\ncompute = \"1us\"\npasses = 2")),
        ("a computation after the only pass", ring("size = \"1KB\"\ncompute = \"1us\"")),
        ("a size too small for steps", ring("size = \"3B\"\nsteps = true")),
        ("groups that do not fit", ring("size = \"1KB\"\ngroups = \"consecutive\"\ngroup_size = 3")),
        ("groups without a size", ring("size = \"1KB\"\ngroups = \"consecutive\"")),
        ("a size of groups without groups", ring("size = \"1KB\"\ngroup_size = 2")),
        ("groups of one", block("\"ring-allreduce\"\nsize = \"1KB\"\ngroups = \"one-per-switch\"")),
        ("more flows than are possible", ring("size = \"1KB\"\nsteps = true\npasses = 1000000")),
        ("all-to-all without a size", all("")),
        ("experts for other groups", all("model = \"moe-16\"")),
        ("a single expert", all("size = \"1KB\"\nexperts = [0.0, 1.0, 0.0, 0.0]")),
        ("an expert chosen too often", all("size = \"1KB\"\nexperts = [0.0, 2.0, 0.5, 0.0]")),
        ("a limit for experts", all("size = \"1KB\"\nexperts = [0.1, 0.2, 0.3, 0.4]\nparallel = 2")),
        ("a barrier after the only pass", all("size = \"1KB\"\nbarrier = true")),
        ("a loop without flows", loops("")),
        ("a loop to itself", loops("flows = 2\nto = \"h1\"")),
        ("a pause after the only flow", loops("flows = 1\nthink = \"1us\"")),
        ("loops that end twice", loops("flows = 2\nuntil = \"1ms\"")),
        ("loops that end before they start", loops("start = \"2ms\"\nuntil = \"1ms\"")),
        ("servers without layers", servers("servers = \"h0\"")),
        ("no workers", servers("servers = \"all\"\nmodel = \"alexnet\"")),
        ("a worker that is a server", servers("servers = \"h0\"\nworkers = \"h0-h1\"\nmodel = \"alexnet\"")),
        ("a model and layers", servers("servers = \"h0\"\nmodel = \"alexnet\"\nlayers = [\"1KB\"]")),
        ("no layers", servers("servers = \"h0\"\nlayers = []")),
        ("an empty layer", servers("servers = \"h0\"\nlayers = [\"1KB\", \"0B\"]")),
        ("servers that do not fit", block("\"hsdp\"\ngpus = 3")),
        ("a single server", block("\"hsdp\"\ngpus = 4")),
        ("no other rack", files("interval = \"1ms\"\nresponders = 2")),
        ("a file too small", files("interval = \"1ms\"\nresponders = 2").replace("1KB", "1B")),
        ("no interval", files("responders = 2")),
        ("on and off without off", on_off("on = \"1us\"")),
        ("on and off after the end", on_off("on = \"1us\"\noff = \"1us\"\nstart = \"20ms\"")),
        (
            "on and off without an end",
            on_off("on = \"1us\"\noff = \"1us\"").replace("[run]\nuntil = \"10ms\"", ""),
        ),
    ];
    let mut seen = String::new();
    for (what, text) in cases {
        writeln!(seen, "# {what}\n{}\n", problems(&text, &[])).unwrap();
    }
    insta::assert_snapshot!(seen);
}

#[test]
fn what_a_network_with_circuits_can_get_wrong() {
    let star = "kind = \"star\"\nhosts = 4\nrate = \"100Gbps\"\ndelay = \"3us\"\n";
    let rotor = |keys: &str| spoilt(star, &format!("kind = \"rotor\"\nracks = 3\nhosts = 2\n{keys}\n"));
    Scenario::from_toml(&rotor("voq = \"75KB\"\nprebuffer = \"100us\""), "good.toml", &[]).unwrap();
    let cases: Vec<(&str, String)> = vec![
        ("one rack", rotor("").replace("racks = 3", "racks = 1")),
        ("more racks than an optical switch connects", rotor("").replace("racks = 3", "racks = 129")),
        ("too many hosts", rotor("").replace("racks = 3\nhosts = 2", "racks = 128\nhosts = 4096")),
        ("no day", rotor("day = \"0us\"")),
        ("days without end", rotor("day = \"1000000s\"")),
        ("no night", rotor("night = \"0us\"")),
        ("no circuit", rotor("circuit_rate = \"0Gbps\"")),
        ("an optical switch that is too near", rotor("circuit_delay = \"0us\"")),
        ("no unit", rotor("prebuffer = 600")),
        ("a circuit announced in the day before", rotor("prebuffer = \"600us\"")),
        ("a queue that holds nothing", rotor("voq = \"0KB\"")),
        ("a large limit without a small one", rotor("voq_large = \"300KB\"")),
        ("a large limit below the small one", rotor("voq = \"75KB\"\nvoq_large = \"50KB\"")),
        ("PFC", rotor("").replace("[cc]", "[switch.pfc]\n\n[cc]")),
        ("BFC", rotor("").replace("[cc]", "[switch.bfc]\n\n[cc]")),
        (
            "trimming",
            rotor("")
                .replace("buffer = \"32MB\"", "trimming = {}")
                .replace("[cc]", "[transport]\nrecovery = \"selective\"\n\n[cc]"),
        ),
        (
            "a link that changes",
            rotor("") + "[[change]]\nat = \"1ms\"\nbetween = [\"tor0\", \"optical\"]\nstate = \"down\"\n",
        ),
        ("circuits of another topology", spoilt("hosts = 4", "hosts = 4\nday = \"225us\"")),
    ];
    let mut seen = String::new();
    for (name, text) in cases {
        let _ = writeln!(seen, "# {name}\n{}\n", problems(&text, &[]));
    }
    insta::assert_snapshot!(seen);
}

/// 200 ranges of 65,001 names are 13,000,200 nodes, of which no more than the limit may be made.
#[test]
fn short_texts_that_name_many_nodes_are_counted_first() {
    let ranges: Vec<String> = (0..200).map(|i| format!("\"a{i}_0-a{i}_65000\"")).collect();
    let ranges = ranges.join(", ");
    for key in ["hosts", "switches"] {
        let other = if key == "hosts" { "switches" } else { "hosts" };
        let text = format!(
            "cc.algorithm = \"constant\"\n[topology]\nkind = \"graph\"\n{key} = [{ranges}]\n{other} = [\"x\", \"y\"]\n\
             links = [{{ between = [\"x\", \"y\"], rate = \"1Gbps\", delay = \"1us\" }}]\n[[traffic]]\nkind = \
             \"permutation\"\nsize = \"1KB\"\n"
        );
        let error = Scenario::from_toml(&text, "many.toml", &[]).unwrap_err().to_string();
        assert!(error.contains("13000200") && error.contains("at most 65536"), "{error}");
    }
    // Hosts that exist, named very often.
    let often = vec!["\"h0-h9\""; 1000].join(", ");
    let text = format!(
        "topology = {{ kind = \"star\", hosts = 10, rate = \"1Gbps\", delay = \"1us\" }}\ncc.algorithm = \"constant\"\n\
         [[traffic]]\nkind = \"permutation\"\nsize = \"1KB\"\nhosts = [{often}]\n"
    );
    let error = Scenario::from_toml(&text, "often.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("h0 is listed twice"), "{error}");
}
