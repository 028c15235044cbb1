//! The run: windows, threads, flushing and termination.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use incast_net::describe::network::NodeId;
use incast_net::record::tally::Counts;
use incast_net::record::{Flusher, Sink};
use incast_units::Time;

use super::balance::{Balance, Work};
use super::crew::Crew;
use super::deal::Deal;
use super::exchange::{Exchange, Memory, Report};
use super::hand::{Hand, Visited};
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

    /// The end of the next window, or why and when the run has ended, from what all threads know together.
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

/// Additional tasks of the first thread: it passes progress and records to the sink, and decides when partitions are dealt
/// again.
struct Reporter<'a, 'o, N> {
    flusher: &'a mut Flusher,
    sink: &'a mut dyn Sink,
    last: Instant,
    /// Requests to the other threads at the next exchange.
    flush: bool,
    interrupted: bool,
    /// Records before this time were handed over and must be gathered. (ps)
    handed_over: Option<u64>,
    balance: Balance,
    /// The beginning of the run.
    began: Instant,
    /// Request to deal the partitions at the next exchange, among this many threads; none for zero.
    deal: usize,
    /// The visits of each window, if they are recorded.
    trace: Option<&'a mut Vec<Vec<Visited>>>,
    /// Sees the nodes of a run in one partition.
    observer: Option<&'o mut dyn Observer<N>>,
}

impl<N> Reporter<'_, '_, N> {
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

    /// Shows the nodes of the only partition to the observer, if there is one that wants to see them and no packet is on
    /// its way.
    fn observe(&mut self, all: &Report, partition: &Mutex<Partition<N>>) -> ControlFlow<()> {
        let Some(observer) = &mut self.observer else { return ControlFlow::Continue(()) };
        if !observer.wants(&all.counts) {
            return ControlFlow::Continue(());
        }
        let partition = lock(partition);
        if !partition.has_no_packets() {
            return ControlFlow::Continue(());
        }
        observer.see(all.next, &all.counts, &mut partition.nodes())
    }

    /// Decides whether the partitions are to be dealt again.
    fn balance(&mut self, work: &Work) {
        let began = self.began;
        if let Some(threads) = self.balance.note(work, || began.elapsed().as_nanos() as u64) {
            self.deal = threads;
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

/// Runs a model on up to `threads` threads; returns why it ended, when, and what is left.
pub fn run<M: Model>(
    model: &M,
    limits: Limits,
    threads: usize,
    nodes: Vec<M::Node>,
    flusher: &mut Flusher,
    sink: &mut dyn Sink,
) -> (Cause, u64, RunState<M::Node>) {
    run_balanced(Balance::new, model, limits, threads, nodes, (flusher, sink))
}

/// Runs a model on up to `threads` threads; how many take part is for this balance to decide.
fn run_balanced<M: Model>(
    balance: impl FnOnce(usize) -> Balance,
    model: &M,
    limits: Limits,
    threads: usize,
    nodes: Vec<M::Node>,
    out: (&mut Flusher, &mut dyn Sink),
) -> (Cause, u64, RunState<M::Node>) {
    let layout = Layout::new(model);
    let sizes = layout.sizes(threads);
    run_as(model, limits, (&layout, sizes, balance(sizes.1)), nodes, out, None, None)
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
    let layout = (&Layout::new(model), (1, 1), Balance::new(1));
    run_as(model, limits, layout, nodes, (flusher, sink), None, Some(observer))
}

/// Runs a model as [`run`] does, but deals partitions after every few windows, among any number of threads: a test of all
/// that may happen.
pub fn run_restless<M: Model>(
    model: &M,
    limits: Limits,
    threads: usize,
    nodes: Vec<M::Node>,
    flusher: &mut Flusher,
    sink: &mut dyn Sink,
) -> (Cause, u64, RunState<M::Node>) {
    run_balanced(Balance::restless, model, limits, threads, nodes, (flusher, sink))
}

/// Runs a model as [`run`] does, on one thread, in the partitions that `threads` threads would have.
pub fn run_alone<M: Model>(
    model: &M,
    limits: Limits,
    threads: usize,
    nodes: Vec<M::Node>,
    flusher: &mut Flusher,
    sink: &mut dyn Sink,
) -> (Cause, u64, RunState<M::Node>) {
    let layout = Layout::new(model);
    let (count, _) = layout.sizes(threads);
    run_as(model, limits, (&layout, (count, 1), Balance::new(1)), nodes, (flusher, sink), None, None)
}

/// All that the threads of a run have in common.
struct Common<'a, M: Model> {
    judge: Judge<'a, M>,
    partitions: Vec<Mutex<Partition<M::Node>>>,
    memory: Memory,
}

/// A thread's part in the run.
struct Share {
    hand: Hand,
    /// The time of its next search for deadlocks. (ps)
    check_at: u64,
    deal: Arc<Deal>,
    stop: Stop,
}

/// The reason for which a thread gives back its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// The run has ended, then. (ps)
    Ended(Cause, u64),
    /// The partitions are dealt among this many threads.
    Deal(usize),
}

/// Runs a model in this many partitions on up to this many threads. In one partition the visits of each window can be
/// recorded, and an observer sees all nodes.
pub(super) fn run_as<M: Model>(
    model: &M,
    limits: Limits,
    (layout, (count, threads), balance): (&Layout, (usize, usize), Balance),
    nodes: Vec<M::Node>,
    (flusher, sink): (&mut Flusher, &mut dyn Sink),
    trace: Option<&mut Vec<Vec<Visited>>>,
    observer: Option<&mut dyn Observer<M::Node>>,
) -> (Cause, u64, RunState<M::Node>) {
    let partitions: Vec<_> = layout.partitions(nodes, model, count).into_iter().map(Mutex::new).collect();
    let memory = Memory::new(threads, partitions.iter().map(|partition| lock(partition).next()));
    let common = Common { judge: Judge::new(model, limits, layout.lookahead), partitions, memory };
    let now = Instant::now();
    let mut reporter = Reporter {
        flusher,
        sink,
        last: now,
        flush: false,
        interrupted: false,
        handed_over: None,
        balance,
        began: now,
        deal: 0,
        trace,
        observer,
    };
    let mut hands: Vec<Hand> = (0..threads).map(|_| Hand::new(count)).collect();
    hands[0].visits = reporter.trace.is_some().then(Vec::new);
    let (cause, now, hands) = run_threads(&common, hands, &mut reporter);
    let mut state = RunState::new();
    for Hand { mut tally, .. } in hands {
        state.tally.counts.join(&tally.counts);
        state.tally.records.take(&mut tally.records);
    }
    common.memory.end(0).gather(|records| state.tally.records.take(records));
    state.packets = common.memory.packets();
    for partition in common.partitions {
        let mut partition = partition.into_inner().unwrap_or_else(PoisonError::into_inner);
        partition.end_samples(now, model, &mut state.tally);
        state.add(partition.into_state());
    }
    (cause, now, state)
}

/// Runs windows on as many threads as are worth it; returns why and when the run has ended.
fn run_threads<M: Model>(
    common: &Common<'_, M>,
    mut hands: Vec<Hand>,
    reporter: &mut Reporter<'_, '_, M::Node>,
) -> (Cause, u64, Vec<Hand>) {
    let threads = hands.len();
    let crew = Crew::new(threads);
    std::thread::scope(|scope| {
        // However this ends, the others must know: they wait for it.
        let _first = crew.member(0);
        for thread in 1..threads {
            let crew = &crew;
            scope.spawn(move || {
                let _member = crew.member(thread);
                while let Some(share) = crew.take(thread) {
                    crew.give_back(thread, run_share(share, thread, common, None));
                }
            });
        }
        let mut check_at = common.judge.limits.deadlock_after;
        let mut among = threads;
        loop {
            let loads: Vec<u64> = common.partitions.iter().map(|p| lock(p).take_load()).collect();
            let deal = Arc::new(Deal::new(&loads, among));
            common.memory.resize(among);
            let share = |hand| Share { hand, check_at, deal: deal.clone(), stop: Stop::Deal(among) };
            let resting = hands.split_off(among);
            let mut shares = hands.into_iter().map(share);
            let Some(first) = shares.next() else { unreachable!("there is always a first thread") };
            crew.give(shares);
            let first = run_share(first, 0, common, Some(reporter));
            let stop = first.stop;
            check_at = first.check_at;
            let others = crew.gather(among - 1);
            hands = std::iter::once(first).chain(others).map(|share| share.hand).chain(resting).collect();
            match stop {
                Stop::Ended(cause, now) => return (cause, now, hands),
                Stop::Deal(threads) => among = threads,
            }
            // Those who rest report nothing.
            if let [first, others @ ..] = &mut hands[..] {
                others.iter_mut().for_each(|other| first.take_over(other));
            }
        }
    })
}

/// One thread's part of the run: windows, until all threads decide that it has ended or that partitions are dealt again.
fn run_share<M: Model>(
    mut share: Share,
    thread: usize,
    common: &Common<'_, M>,
    mut reporter: Option<&mut Reporter<'_, '_, M::Node>>,
) -> Share {
    let Common { judge, partitions, memory } = common;
    let Judge { model, limits, .. } = *judge;
    let Share { hand, check_at, deal, .. } = &mut share;
    let mut exchange = memory.end(thread);
    let several = exchange.threads() > 1;
    let mut next = deal.of(thread).iter().map(|partition| exchange.due(*partition)).min().unwrap_or(u64::MAX);
    let mut work = Work::NONE;
    for window in 0_u64.. {
        let mut mine = Report { work, ..Report::new(hand.last, next, &hand.tally) };
        if let Some(reporter) = &reporter {
            (mine.flush, mine.interrupted) = (reporter.flush, reporter.interrupted);
            mine.deal = reporter.deal;
        }
        let begun = several.then(Instant::now);
        // Everybody gets the same, and so decides the same.
        let all = exchange.reduce(mine);
        work = Work { waited: begun.map_or(0, |begun| begun.elapsed().as_nanos() as u64), ..Work::NONE };
        let end = match judge.decide(&all) {
            Ok(end) => end,
            Err((cause, now)) => {
                share.stop = Stop::Ended(cause, now);
                return share;
            }
        };
        if let Some(reporter) = &mut reporter
            && !model.is_active(&all.counts)
            && reporter.observe(&all, &partitions[0]).is_break()
        {
            share.stop = Stop::Ended(Cause::Interrupted, all.next);
            return share;
        }
        if all.deal > 0 {
            if let Some(reporter) = &mut reporter {
                reporter.deal = 0;
            }
            share.stop = Stop::Deal(all.deal);
            return share;
        }
        if let Some(at) = limits.deadlock_check(all.next, check_at) {
            let mine = deal.of(thread).iter().map(|partition| lock(&partitions[*partition]));
            let holds = mine.flat_map(|partition| holds(partition.nodes(), at - limits.deadlock_after));
            if model.is_deadlock(exchange.share(holds.collect())) {
                share.stop = Stop::Ended(Cause::Stalled, at);
                return share;
            }
        }
        if let Some(reporter) = &mut reporter {
            // Reading the clock costs as much as a packet: not in every short window.
            reporter.report(&all, window.is_multiple_of(16), &mut exchange, model);
            reporter.balance(&all.work);
        }
        let end = end.min(*check_at);
        let before = hand.load;
        next = u64::MAX;
        for (number, foreign) in deal.take(thread, window) {
            let due = exchange.due(number);
            if due >= end && !all.flush {
                next = next.min(due);
                continue;
            }
            let mut partition = lock(&partitions[number]);
            let before = hand.load;
            if all.flush {
                partition.catch_up(all.next, model, &mut hand.tally);
            }
            exchange.begin(number, |mail| partition.deliver(mail));
            partition.process(end, model, hand);
            exchange.finish(number, partition.next());
            next = next.min(partition.next());
            work.foreign += if foreign { hand.load - before } else { 0 };
        }
        work.load = hand.load - before;
        hand.outbox.empty(|to, mail| {
            next = next.min(mail.earliest);
            exchange.post(to, mail);
        });
        if all.flush {
            exchange.hand_over(&mut hand.tally.records);
        }
        let trace = reporter.as_mut().and_then(|reporter| reporter.trace.as_mut());
        if let (Some(trace), Some(visits)) = (trace, &mut hand.visits) {
            trace.push(std::mem::take(visits));
        }
    }
    unreachable!("the windows only end from within")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Only a panic poisons a lock, and that ends the run anyway.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
