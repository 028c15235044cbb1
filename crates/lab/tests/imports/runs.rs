//! Imported workloads run.

use std::fs;

use incast_lab::run::{RunOptions, RunResult};

use super::*;

/// Runs a scenario on `threads` threads.
pub(super) fn go(scenario: &Scenario, threads: usize) -> RunResult {
    let options = RunOptions { threads: Some(threads), ..RunOptions::default() };
    common::go(scenario.name(), &scenario.effective_toml(), &scenario.build().unwrap(), &options)
}

/// Two hosts at a switch, 100 Gbit/s, 1 us. A packet of 1000 B has 1054 B on the wire, 84.32 ns on each of two
/// links; an acknowledgement of 64 B takes 5.12 ns on each.
pub(super) const STAR: &str = "cc = { algorithm = \"constant\" }\n\
                    topology = { kind = \"star\", hosts = 2, rate = \"100Gbps\", delay = \"1us\" }\n[[traffic]]\n";
const DATA: u64 = 2 * (84_320 + 1_000_000);
const ACK: u64 = 2 * (5_120 + 1_000_000);

fn end(scratch: &Scratch, traffic: &str) -> u64 {
    let scenario = scratch.scenario(&format!("{STAR}{traffic}")).unwrap();
    go(&scenario, 1).outcome.now.ps()
}

#[test]
fn a_schedule_takes_as_long_as_it_should() {
    let scratch = Scratch::new("imports-goal-run");
    scratch.write(
        "a.goal",
        "num_ranks 2\nrank 0 {\nc: calc 1000\ns: send 1000b to 1\ns requires c\nr: recv 1000b from 1\nd: calc 5000\n\
         d requires r\n}\nrank 1 {\nr: recv 1000b from 0\nc: calc 500\ns: send 1000b to 0\nc requires r\ns requires c\n}\n",
    );
    let traffic = "kind = \"goal-file\"\nfile = \"a.goal\"\n";
    // There, 500 ns, and back; then 5 us.
    assert_eq!(end(&scratch, traffic), 1_000_000 + DATA + 500_000 + DATA + 5_000_000);
    let slower = format!("{traffic}compute_factor = 2\n");
    assert_eq!(end(&scratch, &slower), 2_000_000 + DATA + 1_000_000 + DATA + 10_000_000);
    // Behind the first computation instead, and done long before the last acknowledgement.
    scratch.write(
        "a.goal",
        fs::read_to_string(scratch.0.join("a.goal")).unwrap().replace("d requires", "d irequires"),
    );
    assert_eq!(end(&scratch, traffic), 1_000_000 + DATA + 500_000 + DATA + ACK);
}

#[test]
fn triggers_act_at_either_end() {
    let scratch = Scratch::new("imports-cm-run");
    let text = "Nodes 2\nConnections 2\nTriggers 1\n0->1 id 1 start 3 size 1000 send_done_trigger 1\n\
                0->1 id 2 trigger 1 size 1000\ntrigger id 1 oneshot\n";
    let traffic = "kind = \"htsim-connections\"\nfile = \"a.cm\"\nstart_unit = \"1us\"\n";
    scratch.write("a.cm", text);
    // One after the other, each until its acknowledgement.
    assert_eq!(end(&scratch, traffic), 3_000_000 + 2 * (DATA + ACK));
    // Back, as soon as node 1 has received; the acknowledgement of the first is sent before it.
    let back = text.replace("send_done", "recv_done").replace("0->1 id 2", "1->0 id 2");
    scratch.write("a.cm", &back);
    let first = 3_000_000 + DATA;
    let behind_ack = 5_120;
    assert_eq!(end(&scratch, traffic), first + behind_ack + DATA + ACK);
    // The same as htsim's rings have it.
    scratch.write("a.cm", back.replace("recv_done", "send_done"));
    assert_eq!(end(&scratch, &format!("{traffic}nearest_end = true\n")), first + behind_ack + DATA + ACK);
}

/// The samples, and traces with an all-reduce, all at once on the sample's topology.
#[test]
fn samples_run_to_their_end_on_any_number_of_threads() {
    let scratch = Scratch::with_samples("imports-samples-run", 100_000);
    let text = with(
        "kind = \"goal-file\"\nfile = \"ring.goal\"\nhosts = \"h8-h15\"\n\
         [[traffic]]\nkind = \"htsim-connections\"\nfile = \"c.cm\"\nstart_unit = \"1us\"\nsize_factor = 0.1\nhosts = \"h16-h31\"\n\
         [[traffic]]\nkind = \"chakra-trace\"\nfile = \"t.*.et\"\n",
    );
    let scenario = scratch.scenario(&text).unwrap();
    let built = scenario.build().unwrap();
    let first = go(&scenario, 1).outcome;
    assert_eq!(first.flows_finished, 112 + 39 + 24);
    assert_eq!(first.operations_ended, built.simulation.operations.len() as u64);
    assert!(first.unfinished_operations.is_empty() && first.violations.is_empty());
    for threads in [2, 3, 4, 7] {
        assert_eq!(go(&scenario, threads).outcome.fingerprint, first.fingerprint, "{threads} threads");
    }
}
