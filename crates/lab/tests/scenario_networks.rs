//! Good scenarios of networks: links that change and fail, spraying, circuits, buffers, trimming, Homa, backpressure.

mod common;

use common::{HEAD, overridden, read, round_trip};
use incast_cc::Fixed;
use incast_lab::Scenario;
use incast_sim::describe::bfc::Signal;
use incast_sim::describe::switch::Scheduler;
use incast_sim::describe::transport::FirstWindow;
use incast_units::{Bytes, Time};

#[test]
fn spraying_where_reordering_counts_as_loss_is_told() {
    let warnings = |recovery: &str, balancing: &str| -> Vec<String> {
        let text = format!(
            "topology = {{ kind = \"leaf-spine\", leaves = 2, spines = 2, hosts = 1, rate = \"100Gbps\", delay = \"1us\" }}\n\
             cc = {{ algorithm = \"constant\" }}\n[transport]\nrecovery = \"{recovery}\"\n[[traffic]]\n\
             kind = \"permutation\"\nsize = \"1MB\"\nbalancing = \"{balancing}\"\n"
        );
        read(&text).warnings().iter().map(ToString::to_string).collect()
    };
    let [warning] = warnings("go-back-n", "reps").try_into().unwrap();
    assert!(
        warning.contains("transport.recovery: is \"go-back-n\"") && warning.contains("\"reps\""),
        "{warning}"
    );
    let [warning] = warnings("selective", "reps").try_into().unwrap();
    assert!(warning.contains("transport.repair: is \"threshold\"") && warning.contains("lazy"), "{warning}");
    assert!(warnings("selective\"\nrepair = \"lazy", "reps").is_empty());
    assert!(warnings("go-back-n", "ecmp").is_empty());
    assert!(warnings("selective", "ecmp").is_empty());
}

#[test]
fn spread_packets_imply_selective_repeat_with_lazy_repair() {
    const FABRIC: &str = "topology = { kind = \"leaf-spine\", leaves = 2, spines = 2, hosts = 1, rate = \"100Gbps\", delay = \"1us\" }\n\
                          cc = { algorithm = \"constant\" }\n";
    let read = |middle: &str, sets: &[&str]| {
        let traffic = "[[traffic]]\nkind = \"incast\"\nto = \"h1\"\nsize = \"1MB\"\n";
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        Scenario::from_toml(&format!("{FABRIC}{middle}{traffic}"), "s.toml", &sets).unwrap()
    };
    let has =
        |scenario: &Scenario, line: &str| scenario.effective_toml().lines().any(|own| own.trim() == line);
    let reps = "[balancing]\npolicy = \"reps\"\n";
    for scenario in [
        read(reps, &[]),
        read("", &["balancing.policy=reps"]),
        read("", &["traffic.incast.balancing=reps"]),
        read(reps, &[]).with_algorithm("swift", &[]).unwrap(),
    ] {
        assert!(has(&scenario, "recovery = \"selective\"") && has(&scenario, "repair = \"lazy\""));
        assert!(scenario.warnings().is_empty(), "{:?}", scenario.warnings());
        let again = Scenario::from_toml(&scenario.effective_toml(), "s.toml", &[]).unwrap();
        assert!(again == scenario);
    }
    // What is written stays; one path needs nothing.
    let own = read(reps, &["transport.recovery=go-back-n"]);
    assert!(has(&own, "recovery = \"go-back-n\"") && own.warnings().len() == 1);
    let own = read(reps, &["transport.recovery=selective"]);
    assert!(has(&own, "repair = \"threshold\"") && own.warnings().len() == 1);
    let own = read(reps, &["transport.repair=never"]);
    assert!(has(&own, "recovery = \"selective\"") && has(&own, "repair = \"never\""));
    assert!(has(&read("", &[]), "recovery = \"go-back-n\""));
}

#[test]
fn circuits_that_overtake_are_told_where_that_counts_as_loss() {
    let warnings = |recovery: &str| -> Vec<String> {
        let text = format!(
            "topology = {{ kind = \"rotor\", racks = 3, hosts = 2 }}\ncc = {{ algorithm = \"retcp\" }}\n[transport]\n\
             recovery = \"{recovery}\"\n[[traffic]]\nkind = \"permutation\"\nsize = \"1MB\"\n"
        );
        read(&text).warnings().iter().map(ToString::to_string).collect()
    };
    let [warning] = warnings("go-back-n").try_into().unwrap();
    assert!(
        warning.contains("transport.recovery: is \"go-back-n\"") && warning.contains("circuit"),
        "{warning}"
    );
    assert!(warnings("selective").is_empty());
}

#[test]
fn links_fail_by_probability_and_seed() {
    use incast_sim::describe::network::LinkChange;
    // 16 leaves with 16 links each: which of the 256 links fail.
    let failed = |seed: u64, change: &str| {
        let text = format!(
            r#"
seed = {seed}
topology = {{ kind = "leaf-spine", leaves = 16, spines = 16, hosts = 1, rate = "100Gbps", delay = "1us" }}
cc = {{ algorithm = "constant" }}
[[traffic]]
kind = "permutation"
size = "1MB"
[[change]]
at = "10us"
between = ["leaf0-leaf15", "spine0-spine15"]
state = "down"
{change}
"#
        );
        let scenario = read(&text);
        round_trip(&scenario);
        let changes = scenario.build().unwrap().simulation.network.changes;
        assert!(changes.iter().all(|change| change.what == LinkChange::Down));
        changes.iter().map(|change| change.link).collect::<Vec<_>>()
    };
    let quarter = failed(1, "probability = 0.25");
    // 64 of 256 on average, with a standard deviation of 6.9.
    assert!((36..=92).contains(&quarter.len()), "{}", quarter.len());
    assert_eq!(quarter, failed(1, "probability = 0.25"));
    assert_ne!(quarter, failed(2, "probability = 0.25"));
    // What fails with a smaller probability fails with a larger one.
    let half = failed(1, "probability = 0.5");
    assert!(quarter.iter().all(|link| half.contains(link)));
    assert_eq!((failed(1, "probability = 0").len(), failed(1, "probability = 1").len()), (0, 256));
    assert_eq!(failed(1, "").len(), 256);
}

#[test]
fn changes_of_links_come_in_order_and_end() {
    use incast_sim::describe::network::{Change, LinkChange};
    let text = r#"
topology = { kind = "graph", hosts = ["h0-h2"], switches = ["s0", "s1"], rate = "100Gbps", delay = "1us", links = [
    { between = ["h0-h2", "s0"] }, { between = ["h0", "s1"] }, { between = ["s0", "s1"], parallel = 2 } ] }
cc = { algorithm = "constant" }
[[traffic]]
kind = "incast"
to = "h2"
size = "1MB"
[[change]]
at = "50us"
between = ["s1", "s0"]
number = 1
state = "down"
until = "70us"
[[change]]
at = "10us"
between = ["s0", "h0-h1"]
rate = "25Gbps"
delay = "3us"
until = "50us"
[[change]]
at = "50us"
between = ["s0", "h0"]
rate = "40Gbps"
[[change]]
at = "60us"
between = ["s0", "s1"]
delay = "2us"
"#;
    let scenario = read(text);
    round_trip(&scenario);
    let changes = scenario.build().unwrap().simulation.network.changes;
    let change = |at, link, what| Change { time: Time::from_us(at), link, what };
    let (rate, delay) = (
        |gbps| LinkChange::Rate(incast_units::Rate::from_gbps(gbps)),
        |us| LinkChange::Delay(Time::from_us(us)),
    );
    // Links 0 to 2 are the hosts' at s0, 3 is that of h0 to s1, 4 and 5 join the switches. What ends at
    // 50 us comes before what begins.
    let expected = [
        change(10, 0, rate(25)),
        change(10, 0, delay(3)),
        change(10, 1, rate(25)),
        change(10, 1, delay(3)),
        change(50, 0, rate(100)),
        change(50, 0, delay(1)),
        change(50, 1, rate(100)),
        change(50, 1, delay(1)),
        change(50, 5, LinkChange::Down),
        change(50, 0, rate(40)),
        change(60, 4, delay(2)),
        change(60, 5, delay(2)),
        change(70, 5, LinkChange::Up),
    ];
    assert_eq!(changes, expected);
    let moved = Scenario::from_toml(text, "s.toml", &["change.3.at=65us".to_owned()]).unwrap();
    assert_eq!(moved.build().unwrap().simulation.network.changes[10].time, Time::from_us(65));
}

#[test]
fn a_buffer_without_room_is_said_or_refused() {
    let with = |buffer: &str, more: &str| {
        Scenario::from_toml(
            &format!(
                "topology = {{ kind = \"star\", hosts = 3, rate = \"100Gbps\", delay = \"1us\" }}\n\
                 cc = {{ algorithm = \"constant\" }}\nswitch = {{ buffer = {buffer}{more} }}\n\
                 [[traffic]]\nkind = \"incast\"\nto = \"h2\"\nsize = \"10KB\"\n"
            ),
            "s.toml",
            &[],
        )
    };
    // A packet is 1054 B. With alpha = 1 the second one needs 2 · 1054 <= B - 1054.
    let said = |buffer: &str| with(buffer, "").unwrap().warnings().len();
    assert_eq!([said("\"3161B\""), said("\"3162B\"")], [1, 0]);
    assert_eq!([said("{ per_port = \"2107B\" }"), said("{ per_port = \"2108B\" }")], [1, 0]);
    // 0.01 · 100 KB are 1000 B: no packet ever gets in.
    let refused = with("\"100KB\"", ", egress_alpha = 0.01").unwrap_err().to_string();
    assert!(
        refused.contains("switch.egress_alpha: admits no packet: 0.01 times the buffer of 100KB is"),
        "{refused}"
    );
}

#[test]
fn trimming_and_ndp() {
    let network = HEAD.replace("[cc]\nalgorithm = \"constant\"\n", "");
    let rest = "[switch.trimming]\nheaders = \"144KB\"\nratio = 100000\n\
                [[traffic]]\nkind = \"incast\"\nto = \"h0\"\nsize = \"900KB\"\n";
    let ndp = format!(
        "{network}[transport]\nkind = \"ndp\"\npayload = \"8946B\"\nndp = {{ first_window = 19 }}\n{rest}"
    );
    let scenario = read(&ndp);
    assert!(scenario.warnings().is_empty());
    round_trip(&scenario);
    // It stands where an algorithm would, and needs none.
    assert_eq!((scenario.algorithm(), scenario.algorithms()), (Some("ndp".into()), vec!["ndp".into()]));
    let simulation = scenario.build().unwrap().simulation;
    assert!(simulation.algorithms.is_empty());
    let trimming = simulation.switch.trimming.unwrap();
    assert_eq!(
        (trimming.data.get(), trimming.headers.map(Bytes::get), trimming.ratio),
        (72_000, Some(144_000), 100_000)
    );
    assert_eq!(simulation.transport.ndp.first_window, FirstWindow::Packets(19));
    let refused = scenario.with_algorithm("swift", &[]).unwrap_err().to_string();
    assert!(refused.contains("has no congestion control"), "{refused}");
    // Without trimming it is possible, and told.
    let [warning] = read(&ndp.replace("[switch.trimming]\nheaders = \"144KB\"\nratio = 100000\n", ""))
        .warnings()
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    assert!(warning.contains("transport.kind: is \"ndp\""), "{warning}");
    // The window transport over switches that trim; ports have limits that adaptive routing knows.
    let window =
        format!("{HEAD}[transport]\nrecovery = \"selective\"\n[balancing]\npolicy = \"adaptive\"\n{rest}");
    let scenario = read(&window);
    round_trip(&scenario);
    let thresholds = scenario.build().unwrap().simulation.balancing.thresholds;
    assert_eq!(thresholds.map(Bytes::get), [3_600, 7_200, 14_400]);
}

#[test]
fn homa_needs_no_algorithm() {
    let text = r#"
        topology = { kind = "star", hosts = 5, rate = "100Gbps", delay = "1us" }
        switch = { queues = 8 }
        transport = { kind = "homa", homa = { overcommitment = 2, unscheduled = "rule", cap = "200KB" } }
        balancing = { policy = "ops" }
        [[traffic]]
        kind = "incast"
        to = "h4"
        size = "300KB"
    "#;
    let scenario = Scenario::from_toml(text, "homa.toml", &[]).unwrap();
    // Packets that overtake others are no losses here.
    assert!(scenario.warnings().is_empty());
    assert_eq!(scenario.algorithm().as_deref(), Some("homa"));
    assert_eq!(scenario.algorithms(), ["homa"]);
    let effective = scenario.effective_toml();
    assert!(!effective.contains("rto") && !effective.contains("[cc]"), "{effective}");
    assert_eq!(Scenario::from_toml(&effective, "homa.toml", &[]).unwrap(), scenario);
    let built = scenario.build().unwrap();
    assert!(built.simulation.algorithms.is_empty());
    assert_eq!(built.algorithms, ["homa"]);
    assert_eq!(built.simulation.transport.homa.overcommitment, Some(2));
    let refused = scenario.with_algorithm("hpcc", &[]).unwrap_err().to_string();
    assert!(refused.contains("has no congestion control at the sender"), "{refused}");
    // The settings of Homa are written only with Homa.
    let window = ["transport={ kind = \"window\" }".to_owned(), "cc=constant".to_owned()];
    let window = Scenario::from_toml(text, "homa.toml", &window).unwrap();
    assert!(!window.effective_toml().contains("transport.homa"));
}

#[test]
fn backpressure_has_its_scheduler_and_is_written_back() {
    let text = format!(
        "{HEAD}[switch.bfc]\nqueues = 127\nfactor = 1\nsignal = \"at-once\"\nsticky = 2\nsingle_packet = false\n\
         [[traffic]]\nname = \"x\"\nkind = \"incast\"\nto = \"h15\"\nsize = \"450KB\"\n"
    );
    let scenario = overridden(&text, &[]);
    let simulation = scenario.build().unwrap().simulation;
    let bfc = simulation.switch.bfc.unwrap();
    assert_eq!((bfc.queues, bfc.signal, bfc.sticky, bfc.single_packet), (127, Signal::AtOnce, 2, false));
    assert_eq!((bfc.factor, bfc.entries, bfc.interval), (Fixed::ONE, 200, None));
    assert_eq!((simulation.switch.scheduler, simulation.switch.queues), (Scheduler::RoundRobin, 1));
    let again = Scenario::from_toml(&scenario.effective_toml(), "again.toml", &[]).unwrap();
    assert!(again == scenario, "{}", scenario.effective_toml());
    // Without it the default is another one; with it another one may be written.
    let scheduler = |change| overridden(&text, &[change]).build().unwrap().simulation.switch.scheduler;
    assert_eq!(scheduler("switch.bfc=false"), Scheduler::StrictPriority);
    assert_eq!(scheduler("switch.scheduler=drr"), Scheduler::Drr);
}
