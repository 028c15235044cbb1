//! Verdicts on a run: warnings that are known only at its end. They follow those about the scenario in the
//! list of the result.

use incast_sim::Simulation;
use incast_sim::describe::switch::Pfc;
use incast_sim::describe::transport::{Kind, Recovery};
use incast_sim::record::{Outcome, PortTotals};

use super::marks::{KMIN, Missing, Readers};
use super::recorder::{Control, Output};
use crate::load::Load;
use crate::problem::Problem;

/// Everything from which a verdict can be reached.
pub(super) struct Ended<'a> {
    /// The simulation that ran.
    pub(super) simulation: &'a Simulation,
    /// Its outcome.
    pub(super) outcome: &'a Outcome,
    /// Its tables.
    pub(super) output: &'a Output,
    /// The measured loads of its traffic blocks.
    pub(super) loads: &'a [Load],
    /// Data packets that were sent again.
    pub(super) resent: u64,
    /// Whether the time of flows was divided.
    pub(super) is_divided: bool,
    /// The part of congestion control in the times of flows.
    pub(super) control: Control,
    /// The flows to which marks alone report congestion.
    pub(super) readers: &'a Readers,
    /// The warnings about the scenario.
    pub(super) warnings: &'a [Problem],
}

/// A verdict: the things to say, if there are any.
type Verdict = fn(&Ended<'_>) -> Vec<Problem>;

/// All verdicts, in the order of the list. A new one is a function and a line here.
const VERDICTS: &[Verdict] = &[
    lost_captures,
    unsteady_loads,
    unmarked,
    never_held_back,
    lossless_drops,
    tied_drops,
    held_up_windows,
    needless_repairs,
    storms,
];

/// Returns the verdicts on a run.
pub(super) fn verdicts(ended: &Ended<'_>) -> Vec<Problem> {
    VERDICTS.iter().flat_map(|verdict| verdict(ended)).collect()
}

/// Captured packets exist only in a file.
fn lost_captures(ended: &Ended<'_>) -> Vec<Problem> {
    let probes = &ended.simulation.probes;
    let is_lost = !probes.captures.is_empty() && !probes.packets && !ended.output.is_on_disk();
    let problem = || {
        Problem::new("captured packets are not kept: they go to a file, and this run has no folder")
            .about("probe.captures")
            .with_hint("give the run a folder for its result, or set probe.packets")
    };
    is_lost.then(problem).into_iter().collect()
}

/// Numbers from a load that is not steady describe a transient.
fn unsteady_loads(ended: &Ended<'_>) -> Vec<Problem> {
    let unsteady = ended.loads.iter().filter(|load| !load.steady);
    let problem = |load: &Load| {
        let hint = if load.tail {
            "a longer warmup or duration, or less load, may make it steady"
        } else {
            "with warmup and duration, flows arrive before and after those that count"
        };
        Problem::new(format!("the load of {} is {load}", load.group))
            .about(format!("traffic.{}.load", load.group))
            .with_hint(hint)
    };
    unsteady.map(problem).collect()
}

/// Returns the queue for which marks were missing. Kernels add to every round trip, so there is none on a testbed.
fn missing<'a>(ended: &Ended<'a>) -> Option<Missing<'a>> {
    let Ended { simulation, outcome, readers, is_divided, .. } = *ended;
    Missing::of(simulation, &outcome.ports, readers).filter(|_| is_divided)
}

/// Algorithms that read marks had none, although a queue was longer than a port sends in one base RTT: none of them
/// means to leave such a queue, and a comparison of them compares nothing. Where the scenario has a warning about its
/// thresholds already, that was the reason.
fn unmarked(ended: &Ended<'_>) -> Vec<Problem> {
    let is_warned = ended.warnings.iter().any(|warning| warning.key.as_deref() == Some(KMIN));
    missing(ended)
        .filter(|_| !is_warned)
        .map(|missing| missing.problem(ended.simulation))
        .into_iter()
        .collect()
}

/// An algorithm has decided nothing where no flow was held back although one in ten was slow, of this number of flows
/// at least.
const SLOW: (u64, u64) = (10, 10);

/// Results that do not depend on the algorithm tell nothing about it. Where marks are missing, that is the reason.
fn never_held_back(ended: &Ended<'_>) -> Vec<Problem> {
    let Control { held_back, finished, slow } = ended.control;
    let problem = || {
        Problem::new(format!(
            "no flow was held back by its algorithm: windows and rates took at most 1 % of any flow's time, and {slow} \
             of {finished} flows needed more than 1.1 times their ideal time"
        ))
        .about("cc.algorithm")
        .with_hint(
            "flows below the first window leave an algorithm nothing to decide; larger flows tell algorithms apart",
        )
    };
    let (one_in, least) = SLOW;
    let decides = held_back > 0 || finished < least || slow * one_in < finished;
    (!decides && ended.is_divided && missing(ended).is_none()).then(problem).into_iter().collect()
}

/// PFC has lost packets, and that is no violation: whoever reads the result takes its network for lossless.
fn lossless_drops(ended: &Ended<'_>) -> Vec<Problem> {
    let drops = ended.outcome.lossless;
    let by_factor = |pfc: &Pfc| pfc.headroom.is_none() && pfc.headroom_factor.is_some();
    let key = if ended.simulation.switch.pfc.as_ref().is_some_and(by_factor) {
        "switch.pfc.headroom_factor"
    } else {
        "switch.pfc.headroom"
    };
    let problem = || {
        Problem::new(format!(
            "{drops} packets of lossless queues were dropped: the headroom that the scenario gives is less than packets need \
             that arrive after a pause, or a link had failed"
        ))
        .about(key)
        .with_hint("headroom = \"auto\" drops nothing, but on links that fail")
    };
    (drops > 0 && ended.outcome.violations.is_empty()).then(problem).into_iter().collect()
}

/// Ties decide from this share of the drops on, one in ten, and from this number on.
const TIES: (u64, u64) = (10, 100);

/// The order of ports decides who is dropped, which no real network has: see the page of the engine.
fn tied_drops(ended: &Ended<'_>) -> Vec<Problem> {
    let tied = ended.outcome.tied;
    let drops: u64 = ended.outcome.ports.iter().map(|port| port.drops).sum();
    let (one_in, least) = TIES;
    let Simulation { network, switch, .. } = ended.simulation;
    let hint = if switch.pfc.is_some() || switch.bfc.is_some() || network.circuits.is_some() {
        "clocks must be exact here: starts that differ (jitter) and links of unequal rates move ties; else compare sums"
    } else {
        "run.clock = \"100ppm\" gives every host and switch a clock of its own, as real ones have"
    };
    let problem = || {
        let percent = tied * 100 / drops.max(1);
        Problem::new(format!(
            "{percent} % of {drops} drops were decided by a tie: packets arrived at the same picosecond, and the port \
             with the lower number won each time"
        ))
        .about("run.clock")
        .with_hint(hint)
    };
    (tied >= least && tied * one_in >= drops).then(problem).into_iter().collect()
}

/// Ports that are named in a verdict.
const NAMED: usize = 8;

/// The watchdog of PFC has ended pauses: of a deadlock, or of a port that was held for longer than it waits.
fn storms(ended: &Ended<'_>) -> Vec<Problem> {
    let ports = &ended.outcome.ports;
    let storms: u64 = ports.iter().map(|port| port.storms).sum();
    let drops: u64 = ports.iter().map(|port| port.storm_drops).sum();
    let network = &ended.simulation.network;
    let found = ports.iter().filter(|port| port.storms > 0);
    let name = |port: &PortTotals| format!("{} port {}", network.nodes[port.node as usize], port.port);
    let mut names: Vec<String> = found.map(name).collect();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let problem = || {
        Problem::new(format!(
            "the PFC watchdog acted {storms} times, at {}{more}: it broke a deadlock, or pauses that lasted too long, and \
             dropped {drops} packets",
            names.join(", ")
        ))
        .about("switch.pfc.watchdog")
        .with_hint("without [switch.pfc.watchdog] a deadlock ends the run, and names the ports that wait on each other")
    };
    (storms > 0).then(problem).into_iter().collect()
}

/// Held acknowledgements decide from this share of the packets on, one in ten, and from this number on.
const HELD_UP: (u64, u64) = (10, 100);

/// Windows below what one acknowledgement covers are emptied once in `ack_delay`, whatever the network admits.
fn held_up_windows(ended: &Ended<'_>) -> Vec<Problem> {
    let (held_up, delivered) = (ended.outcome.held_up, ended.outcome.delivered);
    let (one_in, least) = HELD_UP;
    let problem = || {
        let percent = held_up * 100 / delivered.max(1);
        Problem::new(format!(
            "{percent} % of {delivered} packets waited in a full window for an acknowledgement that the receiver held, \
             for longer than the rest of its round trip took"
        ))
        .about("transport.ack_delay")
        .with_hint(
            "a smaller transport.ack_every or transport.ack_delay, or transport.recovery = \"selective\", whose \
             senders ask for the acknowledgement of a full window",
        )
    };
    (held_up >= least && held_up * one_in >= delivered).then(problem).into_iter().collect()
}

/// Packets that were sent again without a loss decide from this share of all that were sent on, one in ten, and from this
/// number on.
const NEEDLESS: (u64, u64) = (10, 100);

/// A receiver that keeps what arrives out of order needs no packet twice, and with go-back-N none is needed twice where
/// nothing is lost. Where packets overtake each other by more than the loss recovery waits for, or a timer expires before
/// they are answered, what is sent again is load of its own making.
fn needless_repairs(ended: &Ended<'_>) -> Vec<Problem> {
    let Outcome { sent, dropped, lost, trimmed, ref ports, .. } = *ended.outcome;
    let transport = &ended.simulation.transport;
    // Acknowledgements, too.
    let lossless = lost + dropped == 0 && ports.iter().all(|port| port.drops == 0 && port.corrupted == 0);
    // Who never sends anything again does not do so needlessly.
    let Some((timer, _)) = transport.timeout() else { return Vec::new() };
    let (key, hint, counts) = match (transport.kind, transport.recovery) {
        (Kind::Window, Recovery::Selective) => (
            "transport.repair",
            "transport.repair = \"lazy\" with a repair_delay above the difference between the queues of two paths takes \
             fewer for lost",
            true,
        ),
        (Kind::Window, _) => (
            timer,
            "a transport.rto above the longest round trip with its queues; where packets overtake each other, \
             transport.recovery = \"selective\"",
            lossless,
        ),
        (Kind::Ndp, _) => (timer, "a longer rto, above the longest wait for a pull", true),
        _ => (timer, "a longer resend_timeout, above the longest wait of a message behind better ones", true),
    };
    let needless = ended.resent.saturating_sub(dropped + lost + trimmed);
    let (one_in, least) = NEEDLESS;
    let problem = || {
        let percent = needless * 100 / sent.max(1);
        Problem::new(format!(
            "{percent} % of {sent} packets were sent again although they were not lost: others overtook them, or their \
             acknowledgements came too late"
        ))
        .about(key)
        .with_hint(hint)
    };
    (counts && needless >= least && needless * one_in >= sent).then(problem).into_iter().collect()
}
