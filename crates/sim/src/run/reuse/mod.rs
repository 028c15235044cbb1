//! Reuse of what repeats itself: a run simulates a period once, and writes its copies from that.
//!
//! The run is simulated until its state at a quiet instant is the state of an earlier one: the time between them is the period.
//! Everything that counts for the future is part of that state ([`relative`](crate::relative)), and the workload that follows
//! is the same ([`plan`]), so that the period happens again, as often as the workload has it and until something else
//! happens: a link changes, another job begins. Then the simulation without those periods is run: it is the same up to that instant,
//! and continues with what follows the last copy. Its state is compared once more on the way, whole; from there on it may
//! repeat itself again, and so on.
//!
//! Results are the same as of a run that simulates everything, bit by bit. Whatever is not as expected makes the run simulate
//! everything.

mod plan;
mod records;
mod search;

use incast_engine::model::Cause;
use incast_engine::windows;
use incast_net::Invalid;
use incast_net::describe::Simulation;
use incast_net::describe::reuse::Reuse;
use incast_net::record::tally::Counts;
use incast_net::record::{
    FlowRecord, Flusher, LimitRecord, OperationRecord, Outcome, Records, Repetition, Reused, Shifted, Sink,
    Watched,
};
use incast_units::Time;

use super::watch::Watch;
use super::{bound, build, limits, outcome, prepare};
use crate::facts::Facts;
use plan::Jobs;
use records::{Late, Rest, Shifts, add};
use search::{Goal, Hit, Quiet, Search};

/// A repetition: the copies that are left out, and the simulation without them.
struct Level {
    hit: Hit,
    /// The two instants with the same state.
    earlier: Quiet,
    later: Quiet,
    /// The jobs with the copies.
    with: Jobs,
    /// The jobs without them.
    without: Jobs,
    /// The simulation without them.
    simulation: Simulation,
}

impl Level {
    fn new(mut hit: Hit, kept: Vec<(usize, Quiet)>, with: Jobs) -> Result<Self, Invalid> {
        let [mut earlier, mut later] = [None, None];
        for (number, quiet) in kept {
            match number {
                number if number == hit.instants[0] => earlier = Some(quiet),
                number if number == hit.instants[1] => later = Some(quiet),
                _ => {}
            }
        }
        match (earlier, later, hit.without.take()) {
            (Some(earlier), Some(later), Some((simulation, without))) => {
                Ok(Self { hit, earlier, later, with, without, simulation })
            }
            _ => Err(Invalid("a state that was found again is lost".to_owned())),
        }
    }

    fn period(&self) -> Time {
        Time::from_ps(self.later.state.now - self.earlier.state.now)
    }

    /// Returns what all copies together count.
    fn more(&self, of: fn(&Counts) -> u64) -> u64 {
        u64::from(self.hit.copies) * (of(&self.later.counts) - of(&self.earlier.counts))
    }

    /// Describes it, when it begins so much later in the whole run.
    fn repetition(&self, later: Time, are_written: bool) -> Repetition {
        let jobs = self.with.jobs.iter().zip(&self.hit.shifts);
        Repetition {
            from: Time::from_ps(self.earlier.state.now) + later,
            period: self.period(),
            copies: self.hit.copies,
            flows: self.later.counts.finished - self.earlier.counts.finished,
            hops: self.later.counts.hops - self.earlier.counts.hops,
            are_written,
            shifted: jobs.map(|(job, shift)| Shifted { flows: job.flows.clone(), by: shift.flows }).collect(),
        }
    }
}

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
    let mut search = Search::new(simulation, &facts, &jobs, Goal::Repetition, 0);
    let mut flusher = Flusher::default();
    let mut watched = Watched { watch: Watch::new(simulation, &facts), sink: &mut *sink };
    let nodes = build::nodes(&facts, simulation)?;
    let limits = limits(simulation, &facts);
    let ended = windows::run_before(&facts, limits, nodes, &mut flusher, &mut watched, &mut search);
    let Search { hit, kept, reason, seen, .. } = search;
    let Some(hit) = hit else {
        let outcome = outcome::outcome(ended, simulation, &facts, flusher, watched);
        let reason = reason.or_else(|| (seen < 2).then(|| few(seen)));
        let simulated_hops = outcome.hops;
        let reuse = Some(Reused { instants: seen as u64, reason, simulated_hops, ..Reused::default() });
        return Ok(Outcome { reuse, ..outcome });
    };
    // Everything up to this instant has its place in the result.
    let (cause, now, mut state) = ended;
    flusher.take(&mut state.tally.records);
    flusher.flush(Time::from_ps(now), &facts, &mut watched);
    let ended = (cause, now, state);
    let first = outcome::outcome(ended, simulation, &facts, Flusher::default(), watched);
    let (ports, operations) = (&first.ports, &first.unfinished_operations);
    let fingerprint = outcome::fingerprint(&flusher, ports, &first.unfinished, operations, now);
    let first = Outcome { fingerprint, ..first };
    let level = Level::new(hit, kept, jobs)?;
    let simulated = level.later.counts.hops;
    let splice = Splice { simulation, facts: &facts, levels: vec![level], simulated, seen };
    splice.run(first, flusher, sink)
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
    /// The repetitions so far, each of the run without the copies of those before.
    levels: Vec<Level>,
    /// Packet-hops that were simulated, and quiet instants that were seen.
    simulated: u64,
    seen: usize,
}

/// A run of the last level that has ended, and its records.
enum Ended {
    /// It repeats itself once more.
    Again(Box<Level>),
    /// It came to its end.
    Whole(Box<(Outcome, Records)>),
    /// The sink stopped it before the copies.
    Stopped,
    /// It is not as expected: the reason.
    Unfit(String),
}

impl Splice<'_> {
    /// Runs what is left after the part with the outcome `first`, and passes what is not in `flusher` on.
    fn run(mut self, first: Outcome, flusher: Flusher, sink: &mut dyn Sink) -> Result<Outcome, Invalid> {
        loop {
            match self.run_last(sink)? {
                Ended::Again(level) => self.levels.push(*level),
                Ended::Whole(whole) => return Ok(self.join(*whole, flusher, sink)),
                Ended::Stopped => return Ok(Outcome { reuse: Some(self.reused(None)), ..first }),
                Ended::Unfit(reason) => return self.all_again(reason, sink),
            }
        }
    }

    /// Returns the account of repetition, without any that was reused.
    fn reused(&self, reason: Option<String>) -> Reused {
        let (instants, simulated_hops) = (self.seen as u64, self.simulated);
        Reused { instants, simulated_hops, reason, ..Reused::default() }
    }

    /// Runs the simulation without the copies of all repetitions so far.
    fn run_last(&mut self, sink: &mut dyn Sink) -> Result<Ended, Invalid> {
        let (Some(first), Some(last)) = (self.levels.first(), self.levels.last()) else {
            return Err(Invalid("there is no repetition to leave out".to_owned()));
        };
        let Level { simulation, without, later, .. } = last;
        let facts = prepare(simulation)?;
        let mut search = Search::new(simulation, &facts, without, Goal::Confirmation(later), self.seen);
        let mut own = Flusher::default();
        let mut rest = Rest { from: first.earlier.state.now, records: Records::default(), sink };
        let mut watched = Watched { watch: Watch::new(simulation, &facts), sink: &mut rest };
        let nodes = build::nodes(&facts, simulation)?;
        let limits = limits(simulation, &facts);
        let state = windows::run_before(&facts, limits, nodes, &mut own, &mut watched, &mut search);
        let Search { hit, kept, goal, is_other, seen, .. } = search;
        self.seen = seen;
        if let Some(hit) = hit {
            let level = Level::new(hit, kept, without.clone())?;
            self.simulated += level.later.counts.hops;
            return Ok(Ended::Again(Box::new(level)));
        }
        let cause = state.0;
        let has_drawn = state.2.nodes.iter().any(|slot| slot.node.inspect().has_drawn());
        let ended = outcome::outcome(state, simulation, &facts, own, watched);
        self.simulated += ended.hops;
        let problem = match (goal, cause) {
            _ if is_other => "the run without it is another one",
            (Goal::Repetition, Cause::Finished | Cause::TimeLimit) if has_drawn => {
                "what follows it draws about packets"
            }
            (Goal::Repetition, Cause::Stalled) => "the run stalls after it",
            (Goal::Repetition, Cause::Finished | Cause::TimeLimit | Cause::Interrupted) => {
                return Ok(Ended::Whole(Box::new((ended, rest.records))));
            }
            // The sink has stopped the run, which had not come to that instant again.
            (Goal::Confirmation(_), Cause::Interrupted) => return Ok(Ended::Stopped),
            (Goal::Confirmation(_), _) => "the run without it ends early",
        };
        Ok(Ended::Unfit(format!("a period was found, but {problem}")))
    }

    /// Makes the outcome of the whole run from the outcome of the run without the copies, and passes the records of the copies and
    /// of what follows them to the sink.
    fn join(
        &self,
        (ended, records): (Outcome, Records),
        mut flusher: Flusher,
        sink: &mut dyn Sink,
    ) -> Outcome {
        let Self { simulation, facts, levels, .. } = self;
        let are_written = simulation.reuse != Reuse::Summary;
        let mut all = Watched { watch: Watch::new(simulation, facts), sink };
        let shifts = Shifts(levels);
        let mut repetitions = Vec::new();
        let mut left_out = Time::ZERO;
        for (number, level) in levels.iter().enumerate() {
            let (from, end) = (level.earlier.state.now, level.later.state.now);
            repetitions.push(level.repetition(left_out, are_written));
            all.copies(!are_written);
            for copy in 1..=level.hit.copies {
                let mut shifted = shifts.of(&records, number, copy, |time| (from..end).contains(&time));
                flusher.take(&mut shifted);
                left_out += level.period();
                flusher.flush(Time::from_ps(end) + left_out, *facts, &mut all);
            }
            all.copies(false);
            let next = levels.get(number + 1).map(|next| next.later.state.now);
            let is_here = |time| time >= end && next.is_none_or(|next| time < next);
            flusher.take(&mut shifts.of(&records, number + 1, 0, is_here));
            if let Some(next) = next {
                flusher.flush(Time::from_ps(next) + left_out, *facts, &mut all);
            }
        }
        let now = ended.now + left_out;
        flusher.finish(now, *facts, &mut all);
        let more = |of: fn(&Counts) -> u64| levels.iter().map(|level| level.more(of)).sum::<u64>();
        let mut ports = ended.ports;
        for level in levels {
            let both = level.earlier.ports.iter().zip(&level.later.ports);
            for (port, (before, after)) in ports.iter_mut().zip(both) {
                add(port, before, after, level.hit.copies.into());
            }
        }
        let unfinished: Vec<FlowRecord> = ended.unfinished.iter().map(|of| shifts.open_flow(of)).collect();
        let limits: Vec<LimitRecord> = ended.limits.iter().map(|of| shifts.open_limit(of)).collect();
        let unfinished_operations: Vec<OperationRecord> =
            ended.unfinished_operations.iter().map(|of| shifts.open_operation(of)).collect();
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
            reuse: Some(Reused { repetitions, ..self.reused(None) }),
            fingerprint,
            violations: ended.violations,
        }
    }

    /// Simulates everything, of which the sink has had the records before the first copy.
    fn all_again(&self, reason: String, sink: &mut dyn Sink) -> Result<Outcome, Invalid> {
        let end = self.levels.first().map_or(0, |level| level.later.state.now);
        let mut late = Late { from: Time::from_ps(end), sink };
        let outcome = super::run_all(self.simulation, &mut late)?;
        let reused = self.reused(Some(reason));
        let simulated_hops = reused.simulated_hops + outcome.hops;
        Ok(Outcome { reuse: Some(Reused { simulated_hops, ..reused }), ..outcome })
    }
}
