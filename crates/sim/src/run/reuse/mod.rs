//! Reuse of what repeats itself: a run simulates a period once, and writes its copies from that.
//!
//! The run is simulated until its state at a quiet instant is the state of an earlier one: the time between them is the period.
//! Everything that counts for the future is part of that state ([`relative`](crate::relative)), and the workload that follows
//! is the same ([`plan`]), so that the period happens again, as often as the workload has it. Then the simulation without
//! those periods is run: it is the same up to that instant, and continues with what follows the last copy. Its state
//! is compared once more on the way, whole.
//!
//! Results are the same as of a run that simulates everything, bit by bit. Whatever is not as expected makes the run simulate
//! everything.

mod plan;
mod search;

use std::ops::ControlFlow;

use incast_engine::model::Cause;
use incast_engine::windows;
use incast_net::Invalid;
use incast_net::describe::Simulation;
use incast_net::describe::work::Operation;
use incast_net::record::tally::Counts;
use incast_net::record::{
    FlowRecord, Flusher, LimitRecord, OperationRecord, Outcome, PortTotals, Progress, Records, Repetition,
    Reused, Sink, Watched,
};
use incast_units::{Bytes, Time};

use super::watch::Watch;
use super::{bound, build, limits, outcome, prepare};
use crate::facts::Facts;
use crate::host::work::waits_from_the_beginning;
use plan::{Job, Jobs, Shift};
use search::{Goal, Hit, Quiet, Search};

/// Runs a simulation as [`run`](super::run) does, and reuses what repeats itself.
///
/// # Errors
/// When the description is inconsistent; nothing has run then.
pub(super) fn run(simulation: &Simulation, sink: &mut dyn Sink) -> Result<Outcome, Invalid> {
    let facts = prepare(simulation)?;
    let jobs = match Jobs::new(simulation) {
        Ok(jobs) => jobs,
        Err(reason) => {
            let outcome = super::run_all(simulation, sink)?;
            let simulated_hops = outcome.hops;
            let reuse = Some(Reused { reason: Some(reason), simulated_hops, ..Reused::default() });
            return Ok(Outcome { reuse, ..outcome });
        }
    };
    let mut search = Search::new(simulation, &facts, &jobs, Goal::Repetition);
    let mut flusher = Flusher::default();
    let mut watched = Watched { watch: Watch::new(simulation, &facts), sink: &mut *sink };
    let nodes = build::nodes(&facts, simulation)?;
    let limits = limits(simulation, &facts);
    let ended = windows::run_before(&facts, limits, nodes, &mut flusher, &mut watched, &mut search);
    let Search { hit, mut kept, reason, seen, .. } = search;
    let Some(hit) = hit else {
        let outcome = outcome::outcome(ended, simulation, &facts, flusher, watched);
        let reason = reason.or_else(|| (seen < 2).then(|| few(seen)));
        let simulated_hops = outcome.hops;
        let reuse = Some(Reused { instants: seen as u64, reason, simulated_hops, repetition: None });
        return Ok(Outcome { reuse, ..outcome });
    };
    // Everything up to this instant has its place in the result.
    let (cause, now, mut state) = ended;
    flusher.take(&mut state.tally.records);
    flusher.flush(Time::from_ps(now), &facts, &mut watched);
    let [first, second] = hit.instants;
    let mut quiet = |number| {
        let place = kept.iter().position(|(other, _)| *other == number);
        place.map(|place| kept.swap_remove(place).1)
    };
    let (Some(earlier), Some(later)) = (quiet(first), quiet(second)) else {
        return Err(Invalid("a state that was found again is lost".to_owned()));
    };
    let simulated = later.counts.hops;
    let ended = (cause, now, state);
    let first = outcome::outcome(ended, simulation, &facts, Flusher::default(), watched);
    let (ports, operations) = (&first.ports, &first.unfinished_operations);
    let fingerprint = outcome::fingerprint(&flusher, ports, &first.unfinished, operations, now);
    let first = Outcome { fingerprint, ..first };
    let splice = Splice { simulation, facts: &facts, jobs: &jobs, hit, earlier, later };
    splice.run(first, (simulated, seen), flusher, sink)
}

/// Says that there are too few quiet instants to compare.
fn few(seen: usize) -> String {
    let count = if seen == 0 { "at no instant" } else { "at one instant only" };
    format!(
        "{count} before the end was the network quiet: no packet on its way and every flow that has started done"
    )
}

/// A run without what repeats itself, whose results become the results of the whole run.
struct Splice<'a> {
    simulation: &'a Simulation,
    facts: &'a Facts<'a>,
    jobs: &'a Jobs,
    hit: Hit,
    /// The two instants with the same state.
    earlier: Quiet,
    later: Quiet,
}

impl Splice<'_> {
    /// Runs what is left after the part with the outcome `first`, with the hops and quiet instants in it, and
    /// passes what is not in `flusher` on.
    fn run(
        self,
        first: Outcome,
        (simulated, seen): (u64, usize),
        flusher: Flusher,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, Invalid> {
        let Self { simulation, hit, earlier, later, .. } = &self;
        let period = later.state.now - earlier.state.now;
        let repetition = Repetition {
            from: Time::from_ps(earlier.state.now),
            period: Time::from_ps(period),
            copies: hit.copies,
            flows: later.counts.finished - earlier.counts.finished,
            hops: later.counts.hops - earlier.counts.hops,
        };
        let (end, number) = (later.state.now, hit.instants[1]);
        let reached = (&earlier.reached[..], &later.reached[..]);
        let short = match self.jobs.without(simulation, reached, &hit.shifts, hit.copies) {
            Ok(short) => short,
            Err(reason) => return self.all_again(simulated, seen, reason, end, sink),
        };
        let until = simulation.until;
        let left_out = Time::from_ps(period).times(hit.copies.into());
        let until = if until == Time::NEVER { until } else { until - left_out };
        let short = Simulation { until, ..short };
        let facts = prepare(&short)?;
        let jobs = match Jobs::new(&short) {
            Ok(jobs) => jobs,
            Err(reason) => return self.all_again(simulated, seen, reason, end, sink),
        };
        let mut search = Search::new(&short, &facts, &jobs, Goal::Confirmation(number, later));
        let mut own = Flusher::default();
        let mut rest = Rest { from: earlier.state.now, records: Records::default(), sink };
        let watch = Watch::new(&short, &facts);
        let nodes = build::nodes(&facts, &short)?;
        let limits = limits(&short, &facts);
        let (ended, has_drawn) = {
            let mut watched = Watched { watch, sink: &mut rest };
            let state = windows::run_before(&facts, limits, nodes, &mut own, &mut watched, &mut search);
            let has_drawn = state.2.nodes.iter().any(|slot| slot.node.inspect().has_drawn());
            (outcome_of(state, &short, &facts, own, watched), has_drawn)
        };
        let (cause, ended) = ended;
        let simulated = simulated + ended.hops;
        let Rest { records, sink, .. } = rest;
        let problem = match (&search.goal, cause) {
            _ if search.is_other => Some("the run without it is another one"),
            (Goal::Nothing, Cause::Finished | Cause::TimeLimit) if !has_drawn => None,
            (Goal::Nothing, Cause::Finished | Cause::TimeLimit) => {
                Some("what follows it draws about packets")
            }
            (Goal::Nothing, Cause::Interrupted) => None,
            (Goal::Nothing, Cause::Stalled) => Some("the run stalls after it"),
            // The sink has stopped the second run, which had not come to that instant again.
            (_, Cause::Interrupted) => {
                let reused = Reused { instants: seen as u64, simulated_hops: simulated, ..Reused::default() };
                return Ok(Outcome { reuse: Some(reused), ..first });
            }
            _ => Some("the run without it ends early"),
        };
        if let Some(problem) = problem {
            return self.all_again(simulated, seen, format!("a period was found, but {problem}"), end, sink);
        }
        let reused = Reused {
            instants: seen as u64,
            repetition: Some(repetition),
            reason: None,
            simulated_hops: simulated,
        };
        Ok(self.join(ended, reused, &jobs, records, flusher, sink))
    }

    /// Makes the outcome of the whole run from the outcome of the run without the copies, and passes the records of the copies and
    /// of what follows them to the sink.
    fn join(
        &self,
        ended: Outcome,
        reused: Reused,
        short: &Jobs,
        records: Records,
        mut flusher: Flusher,
        sink: &mut dyn Sink,
    ) -> Outcome {
        let Self { simulation, facts, hit, earlier, later, .. } = self;
        let end = later.state.now;
        let period = end - earlier.state.now;
        let copies = u64::from(hit.copies);
        let mut all = Watched { watch: Watch::new(simulation, facts), sink };
        let shifts = Shifts {
            whole: self.jobs,
            short,
            by_job: &hit.shifts,
            operations: &simulation.operations,
            period,
        };
        for copy in 1..=hit.copies {
            let mut shifted = shifts.of(&records, copy, |time| time < end);
            flusher.take(&mut shifted);
            flusher.flush(Time::from_ps(end + period * u64::from(copy)), *facts, &mut all);
        }
        let mut shifted = shifts.of(&records, hit.copies, |time| time >= end);
        flusher.take(&mut shifted);
        let now = ended.now + Time::from_ps(period).times(copies);
        flusher.finish(now, *facts, &mut all);
        let more = |of: fn(&Counts) -> u64| copies * (of(&later.counts) - of(&earlier.counts));
        let mut ports = ended.ports;
        for (port, (before, after)) in ports.iter_mut().zip(earlier.ports.iter().zip(&later.ports)) {
            add(port, before, after, copies);
        }
        let unfinished: Vec<FlowRecord> =
            ended.unfinished.iter().map(|record| shifts.flow(record, hit.copies)).collect();
        let limits: Vec<LimitRecord> =
            ended.limits.iter().map(|record| shifts.limit(record, hit.copies)).collect();
        let unfinished_operations: Vec<OperationRecord> =
            ended.unfinished_operations.iter().map(|record| shifts.operation(record, hit.copies)).collect();
        let fingerprint =
            outcome::fingerprint(&flusher, &ports, &unfinished, &unfinished_operations, now.ps());
        Outcome {
            end: ended.end,
            now,
            flows_finished: ended.flows_finished + more(|counts| counts.counted),
            hops: ended.hops + more(|counts| counts.hops),
            sent: ended.sent + more(|counts| counts.sent),
            delivered: ended.delivered + more(|counts| counts.delivered),
            dropped: ended.dropped + more(|counts| counts.dropped),
            tied: ended.tied + more(|counts| counts.tied),
            lossless: ended.lossless + more(|counts| counts.lossless),
            lost: ended.lost + more(|counts| counts.lost),
            corrupted: ended.corrupted + more(|counts| counts.corrupted),
            trimmed: ended.trimmed + more(|counts| counts.trimmed),
            held_up: ended.held_up + more(|counts| counts.held_up),
            in_flight: ended.in_flight,
            ports,
            unfinished,
            limits,
            deadlock: ended.deadlock,
            operations_ended: ended.operations_ended + more(|counts| counts.ended),
            unfinished_operations,
            bounds: bound::bounds(simulation, facts),
            reuse: Some(reused),
            fingerprint,
            violations: ended.violations,
        }
    }

    /// Simulates everything, of which the sink has had the records before `end` (ps).
    fn all_again(
        &self,
        simulated: u64,
        seen: usize,
        reason: String,
        end: u64,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, Invalid> {
        let mut late = Late { from: Time::from_ps(end), sink };
        let outcome = super::run_all(self.simulation, &mut late)?;
        let reused = Reused {
            instants: seen as u64,
            repetition: None,
            reason: Some(reason),
            simulated_hops: simulated + outcome.hops,
        };
        Ok(Outcome { reuse: Some(reused), ..outcome })
    }
}

/// Returns the reason for which a run ended, and its outcome.
fn outcome_of(
    state: (Cause, u64, incast_engine::model::RunState<super::slot::Slot>),
    simulation: &Simulation,
    facts: &Facts,
    flusher: Flusher,
    sink: Watched<'_, Watch<'_>>,
) -> (Cause, Outcome) {
    let cause = state.0;
    (cause, outcome::outcome(state, simulation, facts, flusher, sink))
}

/// Adds a multiple of what a port sent between two instants.
fn add(port: &mut PortTotals, before: &PortTotals, after: &PortTotals, times: u64) {
    let PortTotals {
        node: _,
        port: _,
        transmitted,
        packets,
        drops,
        dropped,
        marked,
        trimmed,
        corrupted,
        // The longest queue of a copy is that of the period.
        peak_queue: _,
        paused,
        pauses_sent,
        storms,
        storm_drops,
        receiver_drops,
    } = port;
    let bytes = |of: fn(&PortTotals) -> Bytes| Bytes::new((of(after).get() - of(before).get()) * times);
    let count = |of: fn(&PortTotals) -> u64| (of(after) - of(before)) * times;
    *transmitted += bytes(|of| of.transmitted);
    *packets += count(|of| of.packets);
    *drops += count(|of| of.drops);
    *dropped += bytes(|of| of.dropped);
    *marked += count(|of| of.marked);
    *trimmed += count(|of| of.trimmed);
    *corrupted += count(|of| of.corrupted);
    *paused += (after.paused - before.paused).times(times);
    *pauses_sent += count(|of| of.pauses_sent);
    *storms += count(|of| of.storms);
    *storm_drops += count(|of| of.storm_drops);
    *receiver_drops += count(|of| of.receiver_drops);
}

/// The shifts of records from the run without the copies to the whole run.
struct Shifts<'a> {
    whole: &'a Jobs,
    short: &'a Jobs,
    by_job: &'a [Shift],
    /// The operations of the whole run.
    operations: &'a [Operation],
    /// (ps)
    period: u64,
}

impl Shifts<'_> {
    /// Returns the records whose time is chosen, shifted by a number of periods.
    fn of(&self, records: &Records, periods: u32, chosen: impl Fn(u64) -> bool) -> Records {
        let chosen = |time: Time| chosen(time.ps());
        let flows = records.flows.iter().filter(|record| chosen(record.finish));
        let limits = records.limits.iter().filter(|record| chosen(record.end));
        let operations = records.operations.iter().filter(|record| chosen(record.end));
        Records {
            flows: flows.map(|record| self.flow(record, periods)).collect(),
            limits: limits.map(|record| self.limit(record, periods)).collect(),
            operations: operations.map(|record| self.operation(record, periods)).collect(),
            ..Records::default()
        }
    }

    fn time(&self, time: Time, periods: u32) -> Time {
        if time == Time::NEVER { time } else { time + Time::from_ps(self.period).times(periods.into()) }
    }

    /// The number that flow or operation `number` of a job has in the whole run.
    fn number_of_flow(&self, flow: u32, periods: u32) -> u32 {
        let job = self.short.of_flow(flow);
        let [from, to]: [&Job; 2] = [&self.short.jobs[job], &self.whole.jobs[job]];
        flow - from.flows.start + to.flows.start + self.by_job[job].times(periods).flows
    }

    fn number_of_operation(&self, operation: u32, periods: u32) -> u32 {
        let holds = |job: &&Job| operation >= job.operations.start;
        let job = self.short.jobs.iter().take_while(holds).count().saturating_sub(1);
        let [from, to]: [&Job; 2] = [&self.short.jobs[job], &self.whole.jobs[job]];
        operation - from.operations.start + to.operations.start + self.by_job[job].times(periods).operations
    }

    fn flow(&self, record: &FlowRecord, periods: u32) -> FlowRecord {
        FlowRecord {
            flow: self.number_of_flow(record.flow, periods),
            start: self.time(record.start, periods),
            finish: self.time(record.finish, periods),
            delivered: self.time(record.delivered, periods),
            ..*record
        }
    }

    fn limit(&self, record: &LimitRecord, periods: u32) -> LimitRecord {
        LimitRecord {
            flow: self.number_of_flow(record.flow, periods),
            start: self.time(record.start, periods),
            end: self.time(record.end, periods),
            ..*record
        }
    }

    fn operation(&self, record: &OperationRecord, periods: u32) -> OperationRecord {
        let operation = self.number_of_operation(record.operation, periods);
        // It has started before all periods, and not once in each.
        let began = waits_from_the_beginning(&self.operations[operation as usize]);
        OperationRecord {
            operation,
            start: if began { record.start } else { self.time(record.start, periods) },
            end: self.time(record.end, periods),
        }
    }
}

/// Keeps the records from an instant on; asks a sink whether to go on.
struct Rest<'a> {
    /// (ps)
    from: u64,
    records: Records,
    sink: &'a mut dyn Sink,
}

impl Sink for Rest<'_> {
    fn flows(&mut self, records: &[FlowRecord]) {
        let from = Time::from_ps(self.from);
        self.records.flows.extend(records.iter().filter(|record| record.finish >= from));
    }

    fn limits(&mut self, records: &[LimitRecord]) {
        let from = Time::from_ps(self.from);
        self.records.limits.extend(records.iter().filter(|record| record.end >= from));
    }

    fn operations(&mut self, records: &[OperationRecord]) {
        let from = Time::from_ps(self.from);
        self.records.operations.extend(records.iter().filter(|record| record.end >= from));
    }

    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.sink.progress(progress)
    }
}

/// Passes the records from an instant on to a sink that has had the earlier ones.
struct Late<'a> {
    from: Time,
    sink: &'a mut dyn Sink,
}

impl Sink for Late<'_> {
    fn flows(&mut self, records: &[FlowRecord]) {
        let first = records.partition_point(|record| record.finish < self.from);
        self.sink.flows(&records[first..]);
    }

    fn limits(&mut self, records: &[LimitRecord]) {
        let first = records.partition_point(|record| record.end < self.from);
        self.sink.limits(&records[first..]);
    }

    fn operations(&mut self, records: &[OperationRecord]) {
        let first = records.partition_point(|record| record.end < self.from);
        self.sink.operations(&records[first..]);
    }

    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.sink.progress(progress)
    }
}
