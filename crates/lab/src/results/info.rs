//! `result.json`: the origin of a result, how the run ended, and its summary.

use std::collections::BTreeMap;

use incast_sim::Simulation;
use incast_sim::record::{End, Outcome, Repetition, Reused};
use incast_units::Time;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::summary::Summary;

/// The value of `format` in every `result.json`.
pub const FORMAT: &str = "incast-result";
/// Incremented when a column or key is added that readers need, changes its meaning or is removed.
pub const FORMAT_VERSION: u32 = 6;

/// The content of `result.json`. Keys end in their unit: `_ps`, `_bytes`, `_bps`, `_s`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultInfo {
    /// [`FORMAT`].
    pub format: String,
    /// [`FORMAT_VERSION`] of the program that wrote it.
    pub format_version: u32,
    /// Version of Incast that made the result.
    pub incast_version: String,
    /// The build of Incast that made the result, if the caller names it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub build: Option<String>,
    /// `running` until a clean end, then `complete`.
    pub state: Written,
    /// Name of the scenario.
    pub name: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// The congestion control algorithms in use, with their presets.
    pub algorithms: Vec<String>,
    /// Number of hosts: the nodes with the lowest numbers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hosts: Option<u32>,
    /// Equipment on which the result was measured; absent from a result that was simulated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub testbed: Option<TestbedInfo>,
    /// Number of threads. The results do not depend on it.
    pub threads: usize,
    /// Time at which the run began, in seconds since 1970 (UTC).
    pub started_unix_s: u64,
    /// Settings of the scenario that are possible but hardly intended and, from the end of the run on, the verdicts
    /// on it. Results before version 5 have none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<Warning>,
    /// Meaning of the endings of keys and columns.
    pub units: BTreeMap<String, String>,
    /// Outcome of the run; absent until its end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome: Option<OutcomeInfo>,
    /// Slowdowns by size and statistics of the sampled ports; absent until the end of the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub summary: Option<Summary>,
    /// Digests of the result's other files by their names, by which damage is detected; until the end of the
    /// run only the scenario's. Parts of tables have digests in their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub files: BTreeMap<String, String>,
    /// The digest of all of the above.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub digest: Option<String>,
}

/// A warning about a scenario or its run. It has no file or line: the same scenario gives the same result from any
/// place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Key of the scenario, with dots.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<String>,
    /// The problem in words.
    pub problem: String,
    /// Advice on what would be right.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hint: Option<String>,
}

impl From<&Problem> for Warning {
    fn from(warning: &Problem) -> Self {
        let Problem { file: _, line: _, column: _, key, problem, hint } = warning.clone();
        Self { key, problem, hint }
    }
}

/// The testbed on which a result was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TestbedInfo {
    /// Switch that forwarded packets: `kernel` or `user`.
    pub switch: String,
    /// The release of the kernel that sent and received.
    pub kernel: String,
    /// The kernel's congestion control in place of each algorithm.
    pub controls: BTreeMap<String, String>,
    /// Deviations from the scenario, and things that went wrong, in sentences.
    pub notes: Vec<String>,
    /// Wall time from the start of the scenario to its end.
    pub wall_s: f64,
    /// Start of the scenario by the machine's monotonic clock, which telemetry uses too.
    #[serde(default)]
    pub clock_ns: u64,
}

/// Progress of writing a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Written {
    /// The run is in progress, or was killed.
    Running,
    /// The result is complete.
    Complete,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeInfo {
    /// `finished`, `time limit`, `interrupted` or `stalled`.
    pub end: String,
    /// The reason in a sentence.
    pub why: String,
    /// Ports that wait for each other in a cycle of pauses, each for the next: `leaf0 port 3`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub deadlock: Vec<String>,
    /// Some of the flows that could not go on, with what each waits for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub waiting: Vec<Waiting>,
    /// Some of the operations that had started and could not go on, with what each waits for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub waiting_operations: Vec<WaitingOperation>,
    /// A hash of all results of the run, in hexadecimal. Equal fingerprints mean equal results.
    pub fingerprint: String,
    /// Simulated time at the end.
    pub now_ps: u64,
    /// Number of flows that count.
    pub flows: u64,
    /// Flows that finished, of those.
    pub flows_finished: u64,
    /// Flows that had not started when the run ended, of those.
    #[serde(default)]
    pub flows_not_started: u64,
    /// Flows that started and do not count, before and after the measured windows of their traffic blocks.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub flows_uncounted: u64,
    /// Total number of operations.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub operations: u64,
    /// Operations that ended.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub operations_ended: u64,
    /// Packet-hops: one hop is one packet that left one port.
    pub hops: u64,
    /// Data packets that left senders.
    pub packets_sent: u64,
    /// Data packets that arrived at receivers.
    pub packets_delivered: u64,
    /// Data packets dropped.
    pub packets_dropped: u64,
    /// Packets of any kind dropped at a tie: another one that arrived at the same picosecond had taken the place.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub packets_dropped_at_ties: u64,
    /// Data packets lost on links that failed or corrupted them, or for which there was no route.
    #[serde(default)]
    pub packets_lost: u64,
    /// Of these the ones that were corrupted.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub packets_corrupted: u64,
    /// Data packets whose payload switches removed.
    #[serde(default)]
    pub packets_trimmed: u64,
    /// Data packets whose acknowledgement was held (`transport.ack_delay`) for longer than its round trip took, while
    /// their sender's window was full.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub packets_held_up: u64,
    /// Data packets that senders sent again; absent before version 5.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub packets_resent: Option<u64>,
    /// Data packets still in flight or queued at the end.
    pub packets_in_flight: u64,
    /// Violated invariants; empty in a correct run.
    pub violations: Vec<String>,
    /// Of a run that was to reuse what repeats itself: what was found.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reuse: Option<ReuseInfo>,
    /// Wall time of the simulation.
    pub wall_s: f64,
    /// Packet-hops per second of wall time.
    pub hops_per_s: f64,
}

/// Repetition in a run, and its reuse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReuseInfo {
    /// A sentence on what was found.
    pub said: String,
    /// Number of instants at which the network was quiet, whose states were compared.
    pub quiet_instants: u64,
    /// Packet-hops that were simulated; the others were written from these.
    pub simulated_hops: u64,
    /// Number of copies that were not simulated, of all parts that repeat themselves.
    pub copies: u64,
    /// The parts that repeat themselves, by time.
    #[serde(default)]
    pub repetitions: Vec<RepetitionInfo>,
    /// The copies that were counted and not written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unwritten: Option<Unwritten>,
}

/// A part of a run that repeats itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepetitionInfo {
    /// Its begin.
    pub from_ps: u64,
    /// Its length.
    pub period_ps: u64,
    /// Number of its copies, which follow it.
    pub copies: u32,
    /// Number of flows in it.
    pub flows: u64,
    /// Packet-hops in it.
    pub hops: u64,
}

/// Copies of flows and operations that have no rows in the tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwritten {
    /// A sentence on them.
    pub said: String,
    /// Number of flows.
    pub flows: u64,
    /// Number of operations.
    pub operations: u64,
}

impl From<&Reused> for ReuseInfo {
    fn from(reused: &Reused) -> Self {
        let Reused { instants, repetitions, reason, simulated_hops } = reused;
        let each = repetitions.iter().map(|Repetition { from, period, copies, flows, hops, .. }| {
            format!(
                "from {from} on the state repeats itself every {period} ({flows} flows, {hops} hops): {copies} \
                 copies were not simulated"
            )
        });
        let said = match (repetitions.as_slice(), reason) {
            ([], Some(reason)) => format!("nothing was reused: {reason}"),
            ([], None) => "nothing was reused: the state did not come again".to_owned(),
            _ => each.collect::<Vec<_>>().join("; "),
        };
        let told = |of: &Repetition| RepetitionInfo {
            from_ps: of.from.ps(),
            period_ps: of.period.ps(),
            copies: of.copies,
            flows: of.flows,
            hops: of.hops,
        };
        Self {
            said,
            quiet_instants: *instants,
            simulated_hops: *simulated_hops,
            copies: repetitions.iter().map(|of| u64::from(of.copies)).sum(),
            repetitions: repetitions.iter().map(told).collect(),
            unwritten: None,
        }
    }
}

/// A flow that could not go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Its number.
    pub flow: u32,
    /// Event that it waits for.
    pub waits_for: String,
}

/// An operation that could not go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingOperation {
    /// Its number.
    pub operation: u32,
    /// Event that it waits for.
    pub waits_for: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl ResultInfo {
    /// For a run of `simulation`, whose algorithms have these names, that begins now.
    #[must_use]
    pub fn begin(name: &str, simulation: &Simulation, algorithms: &[String]) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let units = [
            ("_ps", "picoseconds of simulated time"),
            ("_bytes", "bytes"),
            ("_bps", "bits per second"),
            ("_s", "seconds of wall time"),
        ];
        Self {
            format: FORMAT.into(),
            format_version: FORMAT_VERSION,
            incast_version: env!("CARGO_PKG_VERSION").into(),
            build: None,
            state: Written::Running,
            name: name.into(),
            seed: simulation.seed,
            algorithms: algorithms.to_vec(),
            hosts: Some(simulation.network.hosts),
            testbed: None,
            threads: simulation.threads,
            started_unix_s: now.map_or(0, |d| d.as_secs()),
            warnings: Vec::new(),
            units: units.map(|(ending, unit)| (ending.into(), unit.into())).into(),
            outcome: None,
            summary: None,
            files: BTreeMap::new(),
            digest: None,
        }
    }

    /// The content of `result.json` without its own digest.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub(super) fn text(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec_pretty(&Self { digest: None, ..self.clone() })
    }

    /// Whether `result.json` of this version must have its own digest.
    pub(super) fn has_own_digest(&self) -> bool {
        self.format_version >= 3 || self.has_digests()
    }

    /// Whether a table or the scenario of this version must have its digest.
    pub(super) fn has_digests(&self) -> bool {
        self.format_version >= 2 && self.state == Written::Complete
    }
}

impl OutcomeInfo {
    /// The outcome of a run of `simulation` that took `wall_s` seconds and ended before the start of `not_started`
    /// flows that count; `uncounted` others started.
    #[must_use]
    pub fn new(
        simulation: &Simulation,
        outcome: &Outcome,
        left_out: (u64, u64),
        [not_started, uncounted]: [u64; 2],
        wall_s: f64,
    ) -> Self {
        let flows = simulation.flows.iter().filter(|flow| flow.counted).count() as u64 - left_out.0;
        let node = |id: u32| simulation.network.nodes.get(id as usize).map_or("?", String::as_str);
        let mut info = Self {
            end: String::new(),
            why: String::new(),
            deadlock: outcome
                .deadlock
                .iter()
                .map(|&(id, port)| format!("{} port {port}", node(id)))
                .collect(),
            waiting: Vec::new(),
            waiting_operations: Vec::new(),
            fingerprint: format!("{:016x}", outcome.fingerprint),
            now_ps: outcome.now.ps(),
            flows,
            flows_finished: outcome.flows_finished,
            flows_not_started: not_started,
            flows_uncounted: uncounted,
            operations: simulation.operations.len() as u64 - left_out.1,
            operations_ended: outcome.operations_ended,
            hops: outcome.hops,
            packets_sent: outcome.sent,
            packets_delivered: outcome.delivered,
            packets_dropped: outcome.dropped,
            packets_dropped_at_ties: outcome.tied,
            packets_lost: outcome.lost,
            packets_corrupted: outcome.corrupted,
            packets_trimmed: outcome.trimmed,
            packets_held_up: outcome.held_up,
            packets_resent: None,
            packets_in_flight: outcome.in_flight,
            violations: outcome.violations.clone(),
            reuse: outcome.reuse.as_ref().map(ReuseInfo::from),
            wall_s,
            hops_per_s: if wall_s > 0.0 { outcome.hops as f64 / wall_s } else { 0.0 },
        };
        let left = flows - outcome.flows_finished.min(flows);
        let at = Time::to_string(&outcome.now);
        let (end, why) = match &outcome.end {
            // What is left then has no end of its own.
            End::Finished if left > 0 => {
                let done = outcome.flows_finished;
                (
                    "finished",
                    format!("{done} flows finished; {left} open-ended until the end of the run at {at}"),
                )
            }
            End::Finished => ("finished", format!("all {flows} flows finished by {at}")),
            End::TimeLimit => ("time limit", format!("time limit {at} reached with {left} flows unfinished")),
            End::Interrupted => {
                ("interrupted", format!("stopped on request at {at} with {left} flows unfinished"))
            }
            End::Stalled(stall) => {
                let waiting = stall.flows.iter().cloned();
                info.waiting = waiting.map(|(flow, waits_for)| Waiting { flow, waits_for }).collect();
                let of = |(operation, waits_for)| WaitingOperation { operation, waits_for };
                info.waiting_operations = stall.operations.iter().cloned().map(of).collect();
                let since = if info.deadlock.is_empty() { "no progress since" } else { "stopped at" };
                ("stalled", format!("{since} {at}, with {} flows unfinished", stall.unfinished))
            }
        };
        let why = match info.deadlock.as_slice() {
            [] => why,
            ports => format!("{why}: PFC deadlock, {} wait on each other", ports.join(", ")),
        };
        let why = match not_started {
            0 => why,
            n => format!("{why}, {n} of them not started"),
        };
        let why = match uncounted {
            0 => why,
            n => format!("{why}; {n} more made load and do not count"),
        };
        let why = match info.operations - info.operations_ended.min(info.operations) {
            0 => why,
            n => format!("{why}; {n} of {} operations had not ended", info.operations),
        };
        (info.end, info.why) = (end.into(), why);
        info
    }
}
