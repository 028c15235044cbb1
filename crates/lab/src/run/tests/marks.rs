//! Runs whose queues stay below the thresholds of marks.

use super::*;
use crate::Scenario;

/// A flow of DCQCN, which begins at the rate of its link and leaves it for a mark only, from h0 to h2, and a burst of
/// packets of 1054 B that h1 sends to h2 from the same instant on.
struct Burst<'a> {
    packets: u64,
    algorithm: &'a str,
    /// The first flow, beside its ends.
    long: &'a str,
    ecn: &'a str,
    /// Further settings.
    more: &'a str,
}

impl Burst<'_> {
    /// Returns the longest queue, in packets, and the warnings. `change` changes the outcome before there are any.
    fn said(&self, change: &dyn Fn(&mut Outcome)) -> (u64, Vec<Warning>) {
        let Self { packets, algorithm, long, ecn, more } = self;
        let (ran, _) = run_of(
            &format!(
                "cc = {{ algorithm = \"{algorithm}\" }}\nswitch.ecn = {{ {ecn} }}\n{more}\n\
                 [[traffic]]\nname = \"long\"\nkind = \"flows\"\nfrom = \"h0\"\nto = \"h2\"\n{long}\n\
                 [[traffic]]\nname = \"burst\"\nkind = \"flows\"\nfrom = \"h1\"\nto = \"h2\"\nsize = \"{packets}KB\"\n"
            ),
            change,
        );
        let ports = ran.outcome.ports.iter().filter(|port| port.node == HOSTS);
        (ports.map(|port| port.peak_queue.get()).max().unwrap() / 1054, ran.info.warnings)
    }

    fn warnings(&self) -> (u64, Vec<Warning>) {
        self.said(&|_| {})
    }
}

const HOSTS: u32 = 14;

/// Runs a star of hosts for 1 ms. Returns its result and the keys of its warnings.
fn run_of(lines: &str, change: &dyn Fn(&mut Outcome)) -> (RunResult, Vec<String>) {
    let text = format!(
        "topology = {{ kind = \"star\", hosts = {HOSTS}, rate = \"100Gbps\", delay = \"1us\" }}\n\
         run = {{ until = \"1ms\" }}\n{lines}"
    );
    let scenario =
        Scenario::from_toml(&text, "marks.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let built = scenario.build().unwrap();
    let engine = |simulation: &Simulation, sink: &mut dyn Sink| {
        let mut outcome = incast_sim::run(simulation, sink)?;
        change(&mut outcome);
        Ok(outcome)
    };
    let ran = run_on(&engine, &built.job("marks", &text), &RunOptions::default(), &mut go).unwrap();
    let keys = ran.info.warnings.iter().map(|warning| warning.key.clone().unwrap()).collect();
    (ran, keys)
}

const STEP: &str = "kmin = \"60KB\", kmax = \"60KB\", pmax = 1.0";

const BURST: Burst<'_> = Burst { packets: 50, algorithm: "dcqcn", long: "", ecn: STEP, more: "" };

/// By hand. Four links of 1 us, two packets of 84.32 ns and two acknowledgements of 5.12 ns: a base RTT of 4.17888 us, in
/// which 100 Gbps carry 52,236 B, 49.56 packets. Two packets come in the time of one, so the burst stays in the queue.
#[test]
fn a_queue_of_more_than_a_base_rtt_without_marks_is_said() {
    let (peak, said) = BURST.warnings();
    assert_eq!(peak, 50);
    let problem = "is 60KB, and no packet was marked: the queue at s0 port 2 grew to 52.7KB, which takes 1.0 base RTTs \
                   to drain, and no mark reported that to dcqcn";
    let hint = "a kmin below 51.646KB, the queue less a packet, marks such a queue; in one base RTT the port sends \
                52.236KB";
    let expected =
        Warning { key: Some("switch.ecn.kmin".into()), problem: problem.into(), hint: Some(hint.into()) };
    assert_eq!(said, [expected]);
    assert_eq!(Burst { packets: 49, ..BURST }.warnings(), (49, vec![]));
}

/// The queue without the packet has 49 packets, 51,646 B: that is not above a kmin of as much, and above one of a byte less.
#[test]
fn the_length_in_the_hint_is_the_one_that_decides() {
    let said = |kmin: &str| {
        let ecn = format!("kmin = \"{kmin}\", kmax = \"{kmin}\", pmax = 1.0");
        Burst { ecn: &ecn, ..BURST }.warnings()
    };
    let (peak, warnings) = said("51646B");
    assert_eq!((peak, warnings.len()), (50, 1), "{warnings:?}");
    assert!(warnings[0].problem.starts_with("is 51.646KB, and no packet was marked"), "{warnings:?}");
    assert_eq!(said("51645B"), (50, vec![]));
}

#[test]
fn nothing_is_said_where_a_packet_was_marked_or_trimmed_or_no_algorithm_needs_a_mark() {
    let marked = |outcome: &mut Outcome| outcome.ports.last_mut().unwrap().marked = 1;
    assert_eq!(BURST.said(&marked), (50, vec![]));
    let trimmed = |outcome: &mut Outcome| outcome.ports.last_mut().unwrap().trimmed = 1;
    assert_eq!(BURST.said(&trimmed), (50, vec![]));
    for algorithm in ["swift", "hpcc", "oscar", "constant"] {
        let (peak, said) = Burst { algorithm, ..BURST }.warnings();
        assert!(peak >= 49, "{algorithm}: {peak}");
        assert_eq!(said, [], "{algorithm}");
    }
}

/// In two base RTTs, 8.35776 us, 100 Gbps carry 104,472 B: of a flow of 104 KB everything is sent before a mark can be back.
#[test]
fn flows_that_end_before_a_mark_is_back_need_none() {
    assert_eq!(Burst { long: "size = \"104KB\"", ..BURST }.warnings(), (50, vec![]));
    let (peak, said) = Burst { long: "size = \"105KB\"", ..BURST }.warnings();
    assert_eq!((peak, said.len()), (50, 1), "{said:?}");
    // The queue is before h2, and the flow that could feel a mark goes to h3.
    let other = "to = \"h3\"\n[[traffic]]\nname = \"third\"\nkind = \"flows\"\nfrom = \"h4\"\nto = \"h2\"\nsize = \"104KB\"";
    let lines = format!(
        "cc = {{ algorithm = \"dcqcn\" }}\nswitch.ecn = {{ {STEP} }}\n\
         [[traffic]]\nname = \"first\"\nkind = \"flows\"\nfrom = \"h1\"\nto = \"h2\"\nsize = \"50KB\"\n\
         [[traffic]]\nname = \"second\"\nkind = \"flows\"\nfrom = \"h0\"\n{other}\n"
    );
    let (ran, keys) = run_of(&lines, &|_| {});
    assert_eq!(ran.outcome.ports.iter().map(|port| port.peak_queue.get()).max(), Some(50 * 1054));
    assert_eq!(keys, [""; 0]);
}

/// A queue above kmin without marks has another setting to thank for that: no chance of a mark, or other queues beside it.
#[test]
fn the_setting_that_leaves_a_queue_unmarked_is_named() {
    let never = "kmin = \"20KB\", kmax = \"1MB\", pmax = 0.0";
    let (_, said) = Burst { ecn: never, ..BURST }.warnings();
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0].key.as_deref(), Some("switch.ecn.pmax"));
    assert!(said[0].problem.starts_with("is 0, and no packet was marked"), "{said:?}");
    let hint = said[0].hint.as_deref().unwrap();
    assert!(hint.starts_with("between kmin, 20KB, and kmax, 1MB,") && hint.ends_with("51.646KB"), "{hint}");
    // At 100 Gbps the thresholds are four times those of 25 Gbps.
    let scaled = "kmin = \"15KB\", kmax = \"15KB\", pmax = 1.0, reference = \"25Gbps\"";
    let (_, said) = Burst { ecn: scaled, ..BURST }.warnings();
    assert!(said[0].problem.starts_with("is 60KB at 100Gbps, and no packet was marked"), "{said:?}");
}

/// One cause has one warning: that no queue can be longer than kmin is known before the run, and that flows were not held
/// back follows from marks that were missing. Flows of 50 KB are sent before any is back.
#[test]
fn one_cause_has_one_warning() {
    let (_, said) = Burst { more: "switch.buffer = { per_port = \"60KB\" }", ..BURST }.warnings();
    let keys: Vec<_> = said.iter().map(|warning| warning.key.as_deref().unwrap()).collect();
    assert_eq!(keys, ["switch.ecn.kmin"]);
    assert!(said[0].problem.contains("no queue grows longer"), "{said:?}");
    let incast = |size: &str, buffer: &str| {
        let ecn = "kmin = \"20MB\", kmax = \"20MB\", pmax = 1.0";
        let lines = format!(
            "cc = {{ algorithm = \"dcqcn\" }}\nswitch = {{ buffer = \"{buffer}\", ecn = {{ {ecn} }} }}\n\
             [[traffic]]\nkind = \"incast\"\nto = \"h0\"\nsize = \"{size}\"\n"
        );
        let (ran, keys) = run_of(&lines, &|_| {});
        (keys, ran.info.warnings.iter().any(|warning| warning.problem.contains("no queue grows longer")))
    };
    assert_eq!(incast("500KB", "unlimited"), (vec!["switch.ecn.kmin".to_owned()], false));
    assert_eq!(incast("500KB", "20MB"), (vec!["switch.ecn.kmin".to_owned()], true));
    assert_eq!(incast("50KB", "unlimited"), (vec!["cc.algorithm".to_owned()], false));
}
