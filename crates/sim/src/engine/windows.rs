//! The run: windows, threads, flushing and termination.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use incast_units::Time;

use super::deadlock;
use super::exchange::{Exchange, Memory, Report};
use super::finish::Remains;
use super::layout::Layout;
use super::partition::Partition;
use super::world::{Slot, World};
use crate::describe::Simulation;
use crate::record::{Flusher, Progress, Sink};

/// Time between two flushes of records to the sink.
const FLUSH_EVERY: Duration = Duration::from_millis(100);

/// Number of records that is flushed without waiting for that time.
const MANY_RECORDS: u64 = 1 << 18;

/// Reason for which the windows end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Finished,
    TimeLimit,
    Interrupted,
    Stalled,
}

/// Parameters of the windows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    flows: u64,
    operations: u64,
    until: u64,
    stall_after: u64,
    /// Length of a window. (ps)
    lookahead: u64,
    /// Time between two searches for deadlocks; the pauses of a deadlock have lasted that long. (ps)
    pub(crate) deadlock_after: u64,
}

impl Limits {
    pub(crate) fn new(simulation: &Simulation, world: &World, lookahead: u64) -> Self {
        let settles_in = deadlock::settles_in(world, &simulation.switch);
        Self {
            flows: simulation.flows.len() as u64,
            operations: simulation.operations.len() as u64,
            until: simulation.until.ps(),
            stall_after: simulation.stall_after.ps(),
            lookahead,
            deadlock_after: if simulation.switch.pfc.is_some() || simulation.switch.bfc.is_some() {
                simulation.stall_after.max(settles_in).ps()
            } else {
                u64::MAX
            },
        }
    }

    /// The end of the next window, or why there is none, from what all partitions know together. Both
    /// engines ask this, so that they end at the same event.
    pub(crate) fn decide(&self, s: &Report) -> Result<u64, Cause> {
        if s.finished + s.flows_left_out == self.flows && s.ended + s.operations_left_out == self.operations {
            return Err(Cause::Finished);
        }
        if s.interrupted {
            return Err(Cause::Interrupted);
        }
        if s.next == u64::MAX {
            return Err(Cause::Stalled);
        }
        if s.next >= self.until {
            return Err(Cause::TimeLimit);
        }
        if s.started > s.finished && s.next.saturating_sub(s.progress) > self.stall_after {
            return Err(Cause::Stalled);
        }
        Ok(self.until.min(s.next.saturating_add(self.lookahead)))
    }
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
    fn report(&mut self, all: &Report, look: bool, flows: u64, exchange: &mut impl Exchange, world: &World) {
        if let Some(horizon) = self.handed_over.take() {
            exchange.gather(|records| self.flusher.take(records));
            self.flusher.flush(Time::from_ps(horizon), world, self.sink);
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
            let now = Time::from_ps(all.next);
            let progress = Progress { now, flows_finished: all.finished, flows, hops: all.hops };
            self.interrupted |= self.sink.progress(&progress) == ControlFlow::Break(());
        }
    }
}

/// Runs a simulation; returns why it ended, when, and what is left.
pub(crate) fn run(
    simulation: &Simulation,
    world: &World,
    slots: Vec<Slot>,
    flusher: &mut Flusher,
    sink: &mut dyn Sink,
) -> (Cause, u64, Remains) {
    let layout = Layout::new(world);
    let limits = Limits::new(simulation, world, layout.lookahead);
    let mut partitions = layout.partitions(slots, world, simulation.threads);
    let memory = Memory::new(partitions.len());
    let last = Instant::now();
    let reporter = Reporter { flusher, sink, last, flush: false, interrupted: false, handed_over: None };
    let first = partitions.remove(0);
    let (cause, now, parts) = std::thread::scope(|scope| {
        let others: Vec<_> = partitions
            .into_iter()
            .enumerate()
            .map(|(i, partition)| {
                let exchange = memory.end(i + 1);
                scope.spawn(move || run_partition(partition, exchange, world, &limits, None))
            })
            .collect();
        let (cause, now, partition) = run_partition(first, memory.end(0), world, &limits, Some(reporter));
        let mut parts = vec![partition];
        for other in others {
            match other.join() {
                Ok((_, _, partition)) => parts.push(partition),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        (cause, now, parts)
    });
    let mut remains = Remains::default();
    for mut partition in parts {
        partition.end_samples(now, world);
        let (slots, packets, tally) = partition.into_parts();
        remains.add(slots, packets, tally);
    }
    let mut others = memory.end(0);
    others.gather(|records| remains.add_records(records));
    remains.add_on_links(memory.data_packets());
    (cause, now, remains)
}

/// One thread's part of the run: windows, until all threads decide that it has ended.
fn run_partition(
    mut partition: Partition,
    mut exchange: impl Exchange,
    world: &World,
    limits: &Limits,
    mut reporter: Option<Reporter<'_>>,
) -> (Cause, u64, Partition) {
    let mut last_end = 0;
    let mut check_at = limits.deadlock_after;
    for round in 0_u64.. {
        let mut mine = partition.report();
        if let Some(reporter) = &reporter {
            (mine.flush, mine.interrupted) = (reporter.flush, reporter.interrupted);
        }
        // Everybody gets the same, and so decides the same.
        let all = exchange.reduce(mine);
        exchange.collect(|mail| partition.deliver(mail));
        let end = match limits.decide(&all) {
            Ok(end) => end,
            Err(cause) => {
                let now = match cause {
                    Cause::Finished => all.last_finish,
                    Cause::TimeLimit => limits.until,
                    Cause::Interrupted | Cause::Stalled => last_end,
                };
                return (cause, now, partition);
            }
        };
        if all.next >= check_at {
            let holds = deadlock::holds(partition.slots(), all.next - limits.deadlock_after);
            if !deadlock::find(exchange.share(holds), &world.routes).is_empty() {
                return (Cause::Stalled, last_end, partition);
            }
            check_at = all.next.saturating_add(limits.deadlock_after);
        }
        if let Some(reporter) = &mut reporter {
            // Reading the clock costs as much as a packet: not in every short window.
            let look = round.is_multiple_of(16);
            reporter.report(&all, look, limits.flows, &mut exchange, world);
        }
        if all.flush {
            partition.catch_up(all.next, world);
            exchange.hand_over(&mut partition.tally().records);
        }
        partition.process(end, world);
        last_end = end;
        partition.post(&mut exchange);
    }
    unreachable!("the rounds only end from within")
}
