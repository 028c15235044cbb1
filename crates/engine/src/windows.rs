//! The run: windows, threads, flushing and termination.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use incast_net::describe::network::NodeId;
use incast_net::record::tally::Counts;
use incast_net::record::{Flusher, Sink};
use incast_units::Time;

use super::exchange::{Exchange, Memory, Report};
use super::layout::Layout;
use super::model::{Cause, Hold, Limits, Model, Node, RunState};
use super::partition::Partition;

/// Time between two flushes of records to the sink.
const FLUSH_EVERY: Duration = Duration::from_millis(100);

/// Number of records that is flushed without waiting for that time.
const MANY_RECORDS: u64 = 1 << 18;

/// Decides when a run ends.
#[derive(Debug)]
struct Judge<'a, M> {
    model: &'a M,
    limits: Limits,
    /// Length of a window. (ps)
    lookahead: u64,
}

impl<'a, M: Model> Judge<'a, M> {
    fn new(model: &'a M, limits: Limits, lookahead: u64) -> Self {
        Self { model, limits, lookahead }
    }

    /// The end of the next window, or why and when the run has ended, from what all partitions know together.
    ///
    /// A run ends at the same event whatever its windows are: no window goes beyond an instant at which the run may
    /// end. Of a run that finishes, every event of its last instant is part; of one that ends without that, every event
    /// before its end.
    fn decide(&self, s: &Report) -> Result<u64, (Cause, u64)> {
        let until = self.limits.until;
        if self.model.is_complete(&s.counts) && s.next > s.counts.last_finish {
            return Err((Cause::Finished, s.counts.last_finish));
        }
        if s.next == u64::MAX {
            return Err((Cause::Stalled, s.last));
        }
        if s.interrupted {
            return Err((Cause::Interrupted, s.next));
        }
        if s.next >= until {
            return Err((Cause::TimeLimit, until));
        }
        // What becomes active in this window makes progress then.
        let progress = if self.model.is_active(&s.counts) { s.counts.progress } else { s.next };
        let given_up = self.limits.given_up(progress);
        if s.next >= given_up {
            return Err((Cause::Stalled, given_up));
        }
        let earliest_end = self.model.earliest_end(&s.counts, s.next).max(s.next + 1);
        let end = s.next.saturating_add(self.lookahead).min(earliest_end);
        Ok(end.min(until).min(given_up))
    }
}

/// Returns for each node the number of the unit in which it is processed. A packet from one unit to another is on
/// links for the length of a window or longer.
pub fn units(model: &impl Model) -> Vec<u32> {
    Layout::new(model).units_of_nodes()
}

/// An observer of the instants at which nothing is active and no packet is on its way.
pub trait Observer<N> {
    /// Returns whether it wants to see the nodes, given what was counted.
    fn wants(&mut self, counts: &Counts) -> bool;

    /// Sees the nodes after every event before `now` (ps), the time of the next one. [`ControlFlow::Break`] ends the run
    /// there, as interrupted.
    fn see(&mut self, now: u64, counts: &Counts, nodes: &mut dyn Iterator<Item = &N>) -> ControlFlow<()>;
}

/// Additional task of the first thread: it passes progress and records to the sink.
struct Reporter<'a> {
    flusher: &'a mut Flusher,
    sink: &'a mut dyn Sink,
    last: Instant,
    /// Requests to the other threads at the next exchange.
    flush: bool,
    interrupted: bool,
    /// Records before this time were handed over and must be gathered. (ps)
    handed_over: Option<u64>,
}

impl Reporter<'_> {
    /// Between two windows: gathers records that were handed over, and requests the next flush when it is
    /// due. `look`: whether to read the clock.
    fn report(&mut self, all: &Report, look: bool, exchange: &mut impl Exchange, model: &impl Model) {
        if let Some(horizon) = self.handed_over.take() {
            exchange.gather(|records| self.flusher.take(records));
            self.flusher.flush(Time::from_ps(horizon), model, self.sink);
        }
        if all.flush {
            self.flush = false;
            self.handed_over = Some(all.next);
            return;
        }
        self.flush = all.records > MANY_RECORDS;
        if look && self.last.elapsed() >= FLUSH_EVERY {
            self.last = Instant::now();
            self.flush = true;
            let progress = model.progress(Time::from_ps(all.next), &all.counts);
            self.interrupted |= self.sink.progress(&progress) == ControlFlow::Break(());
        }
    }
}

/// Returns the holds of these nodes whose pauses were asked for by `before`.
pub(super) fn holds<'a, M, N: Node<M> + 'a>(
    nodes: impl Iterator<Item = &'a N>,
    before: u64,
) -> Vec<(NodeId, Hold)> {
    nodes.flat_map(|node| node.holds(before).into_iter().map(|hold| (node.id(), hold))).collect()
}

/// Runs a model on `threads` threads; returns why it ended, when, and what is left.
pub fn run<M: Model>(
    model: &M,
    limits: Limits,
    threads: usize,
    nodes: Vec<M::Node>,
    flusher: &mut Flusher,
    sink: &mut dyn Sink,
) -> (Cause, u64, RunState<M::Node>) {
    run_observed(model, limits, threads, nodes, flusher, sink, None)
}

/// Runs a model on one thread as [`run`] does, before the eyes of `observer`.
pub fn run_before<M: Model>(
    model: &M,
    limits: Limits,
    nodes: Vec<M::Node>,
    flusher: &mut Flusher,
    sink: &mut dyn Sink,
    observer: &mut dyn Observer<M::Node>,
) -> (Cause, u64, RunState<M::Node>) {
    run_observed(model, limits, 1, nodes, flusher, sink, Some(observer))
}

/// Runs a model; only on one thread an observer sees all nodes.
fn run_observed<M: Model>(
    model: &M,
    limits: Limits,
    threads: usize,
    nodes: Vec<M::Node>,
    flusher: &mut Flusher,
    sink: &mut dyn Sink,
    observer: Option<&mut dyn Observer<M::Node>>,
) -> (Cause, u64, RunState<M::Node>) {
    let layout = Layout::new(model);
    let judge = Judge::new(model, limits, layout.lookahead);
    let mut partitions = layout.partitions(nodes, model, threads);
    let memory = Memory::new(partitions.len());
    let last = Instant::now();
    let reporter = Reporter { flusher, sink, last, flush: false, interrupted: false, handed_over: None };
    let first = partitions.remove(0);
    let (cause, now, parts) = std::thread::scope(|scope| {
        let others: Vec<_> = partitions
            .into_iter()
            .enumerate()
            .map(|(i, partition)| {
                let (exchange, judge) = (memory.end(i + 1), &judge);
                scope.spawn(move || run_partition(partition, exchange, judge, None, None))
            })
            .collect();
        let (cause, now, partition) = run_partition(first, memory.end(0), &judge, Some(reporter), observer);
        let mut parts = vec![partition];
        for other in others {
            match other.join() {
                Ok((_, _, partition)) => parts.push(partition),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        (cause, now, parts)
    });
    let mut state = RunState::new();
    for mut partition in parts {
        partition.end_samples(now, model);
        state.add(partition.into_state());
    }
    let mut others = memory.end(0);
    others.gather(|records| state.tally.records.take(records));
    state.packets.extend(memory.packets());
    (cause, now, state)
}

/// One thread's part of the run: windows, until all threads decide that it has ended.
fn run_partition<M: Model>(
    mut partition: Partition<M::Node>,
    mut exchange: impl Exchange,
    judge: &Judge<'_, M>,
    mut reporter: Option<Reporter<'_>>,
    mut observer: Option<&mut dyn Observer<M::Node>>,
) -> (Cause, u64, Partition<M::Node>) {
    let Judge { model, limits, .. } = *judge;
    let mut check_at = limits.deadlock_after;
    for round in 0_u64.. {
        let mut mine = partition.report();
        if let Some(reporter) = &reporter {
            (mine.flush, mine.interrupted) = (reporter.flush, reporter.interrupted);
        }
        // Everybody gets the same, and so decides the same.
        let all = exchange.reduce(mine);
        exchange.collect(|mail| partition.deliver(mail));
        let end = match judge.decide(&all) {
            Ok(end) => end,
            Err((cause, now)) => return (cause, now, partition),
        };
        if let Some(observer) = &mut observer
            && !model.is_active(&all.counts)
            && observer.wants(&all.counts)
            && partition.has_no_packets()
            && observer.see(all.next, &all.counts, &mut partition.nodes()).is_break()
        {
            return (Cause::Interrupted, all.next, partition);
        }
        if let Some(at) = limits.deadlock_check(all.next, &mut check_at) {
            let holds = holds(partition.nodes(), at - limits.deadlock_after);
            if model.is_deadlock(exchange.share(holds)) {
                return (Cause::Stalled, at, partition);
            }
        }
        if let Some(reporter) = &mut reporter {
            // Reading the clock costs as much as a packet: not in every short window.
            reporter.report(&all, round.is_multiple_of(16), &mut exchange, model);
        }
        if all.flush {
            partition.catch_up(all.next, model);
            exchange.hand_over(&mut partition.tally().records);
        }
        partition.process(end.min(check_at), model);
        partition.post(&mut exchange);
    }
    unreachable!("the rounds only end from within")
}
