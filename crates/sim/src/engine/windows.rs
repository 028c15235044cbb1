//! The run: windows, threads, flushing, and why it ends.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use incast_units::Time;

use super::event::Tally;
use super::finish::{Flusher, Remains};
use super::partition::{LinkTo, Mail, Partition};
use super::world::{Slot, World};
use crate::describe::Simulation;
use crate::record::{Progress, Sink};

/// How often a run tells its sink what happened.
const FLUSH_EVERY: Duration = Duration::from_millis(100);

/// Why the windows end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Finished,
    TimeLimit,
    Interrupted,
    Stalled,
}

/// What to do next, from what all partitions together know between two windows. Both engines ask
/// this, so that they end at the same event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Situation {
    /// The earliest event. (ps)
    pub(crate) next: u64,
    pub(crate) started: u64,
    pub(crate) finished: u64,
    /// When something last came forward. (ps)
    pub(crate) progress: u64,
    pub(crate) interrupted: bool,
}

/// What the windows obey.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    flows: u64,
    until: u64,
    stall_after: u64,
    /// Length of a window. (ps)
    lookahead: u64,
}

impl Limits {
    pub(crate) fn new(simulation: &Simulation, lookahead: u64) -> Self {
        Self {
            flows: simulation.flows.len() as u64,
            until: simulation.until.ps(),
            stall_after: simulation.stall_after.ps(),
            lookahead,
        }
    }

    /// The end of the next window, or why there is none.
    pub(crate) fn decide(&self, s: &Situation) -> Result<u64, Cause> {
        if s.finished == self.flows {
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

/// Which nodes are processed together and on which thread.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Nodes of every unit.
    units: Vec<Vec<usize>>,
    /// Shortest link inside each unit. (ps)
    inner: Vec<u64>,
    /// Length of a window: the shortest link between units. (ps)
    pub(crate) lookahead: u64,
}

impl Layout {
    /// Joins the ends of links that are much shorter than the rest, so that they do not shorten the
    /// windows of all: shorter than an eighth of the median, unless that would join more than a
    /// quarter of the nodes into one.
    pub(crate) fn new(world: &World) -> Self {
        let ports = &world.routes.ports;
        let mut delays: Vec<u64> = ports.iter().flatten().map(|o| o.delay.ps()).collect();
        delays.sort_unstable();
        let median = delays.get(delays.len() / 2).copied().unwrap_or(1);
        let join_below = median / 8;
        let mut leader: Vec<usize> = (0..ports.len()).collect();
        fn find(leader: &mut [usize], mut node: usize) -> usize {
            while leader[node] != node {
                leader[node] = leader[leader[node]];
                node = leader[node];
            }
            node
        }
        for (node, outs) in ports.iter().enumerate() {
            for out in outs.iter().filter(|o| o.delay.ps() < join_below) {
                let (a, b) = (find(&mut leader, node), find(&mut leader, out.node as usize));
                leader[a.max(b)] = a.min(b);
            }
        }
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for node in 0..ports.len() {
            groups.entry(find(&mut leader, node)).or_default().push(node);
        }
        let largest = groups.values().map(Vec::len).max().unwrap_or(1);
        if largest > 1 && largest > ports.len() / 4 {
            leader = (0..ports.len()).collect();
            groups = leader.iter().map(|n| (*n, vec![*n])).collect();
        }
        let leader: Vec<usize> = (0..ports.len()).map(|n| find(&mut leader, n)).collect();
        let shortest = |inside: bool, unit: Option<usize>| {
            let links = ports.iter().enumerate().flat_map(|(n, outs)| outs.iter().map(move |o| (n, o)));
            links
                .filter(|(n, o)| (leader[*n] == leader[o.node as usize]) == inside)
                .filter(|(n, _)| unit.is_none_or(|u| leader[*n] == u))
                .map(|(_, o)| o.delay.ps())
                .min()
                .unwrap_or(u64::MAX)
        };
        let inner =
            groups.iter().map(|(u, nodes)| if nodes.len() > 1 { shortest(true, Some(*u)) } else { 1 });
        let inner = inner.collect();
        // A network that is one unit has no link between units: any window will do.
        let lookahead = shortest(false, None).min(1 << 40);
        Self { units: groups.into_values().collect(), inner, lookahead }
    }

    /// The partition of every unit: each tier of the network (hosts, then switches by their distance
    /// from hosts) is dealt out evenly, neighbours together.
    fn deal(&self, world: &World, partitions: usize) -> Vec<u16> {
        let ports = &world.routes.ports;
        let hosts = world.routes.attachment.len();
        let mut tier = vec![u32::MAX; ports.len()];
        let mut line: Vec<usize> = (0..hosts).collect();
        line.iter().for_each(|h| tier[*h] = 0);
        let mut order = Vec::with_capacity(ports.len());
        while !line.is_empty() {
            let mut next = Vec::new();
            for &node in &line {
                order.push(node);
                for out in &ports[node] {
                    let far = out.node as usize;
                    if tier[far] == u32::MAX {
                        tier[far] = tier[node] + 1;
                        next.push(far);
                    }
                }
            }
            line = next;
        }
        let mut unit_of = vec![0; ports.len()];
        for (unit, nodes) in self.units.iter().enumerate() {
            nodes.iter().for_each(|n| unit_of[*n] = unit);
        }
        let mut dealt = vec![u16::MAX; self.units.len()];
        let mut seen = vec![false; self.units.len()];
        // `order` goes tier by tier.
        for nodes in order.chunk_by(|a, b| tier[*a] == tier[*b]) {
            let units = nodes.iter().map(|node| unit_of[*node]);
            let here: Vec<usize> = units.filter(|unit| !std::mem::replace(&mut seen[*unit], true)).collect();
            let n = here.len();
            for (i, unit) in here.into_iter().enumerate() {
                dealt[unit] = (i * partitions / n) as u16;
            }
        }
        // Switches that no host reaches never see a packet.
        dealt.iter().map(|p| if *p == u16::MAX { 0 } else { *p }).collect()
    }

    fn partitions(&self, slots: Vec<Slot>, world: &World, threads: usize) -> Vec<Partition> {
        let threads = threads.clamp(1, self.units.len().clamp(1, usize::from(u16::MAX)));
        let dealt = self.deal(world, threads);
        let mut at = vec![(0_u16, 0_u32); slots.len()];
        let mut counts = vec![0_u32; threads];
        for (unit, nodes) in self.units.iter().enumerate() {
            for &node in nodes {
                let count = &mut counts[usize::from(dealt[unit])];
                at[node] = (dealt[unit], *count);
                *count += 1;
            }
        }
        let mut slots: Vec<Option<Slot>> = slots.into_iter().map(Some).collect();
        let mut partitions: Vec<Partition> =
            (0..threads).map(|i| Partition::new(i as u16, threads)).collect();
        for (unit, nodes) in self.units.iter().enumerate() {
            let with_links = nodes.iter().filter_map(|&node| {
                let links = world.routes.ports[node].iter().map(|out| {
                    let (partition, place) = at[out.node as usize];
                    LinkTo { partition, place, port: out.port }
                });
                slots[node].take().map(|slot| (slot, links.collect()))
            });
            let nodes = with_links.collect();
            partitions[usize::from(dealt[unit])].add_unit(nodes, self.inner[unit], world);
        }
        partitions
    }
}

/// A barrier that spins a little and then yields: windows are short.
#[derive(Debug)]
struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// A thread panicked: nobody may wait for it.
    broken: AtomicBool,
}

impl Barrier {
    fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    fn wait(&self) {
        if self.threads == 1 {
            return;
        }
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Release);
            self.round.fetch_add(1, Ordering::AcqRel);
            return;
        }
        let mut spins = 0_u32;
        while self.round.load(Ordering::Acquire) == round {
            assert!(!self.broken.load(Ordering::Acquire), "another thread of the run panicked");
            spins += 1;
            if spins < 2000 {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

/// Breaks the barrier when its thread panics.
struct BreakOnPanic<'a>(&'a Barrier);

impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
        }
    }
}

/// What the partitions tell each other between two windows.
#[derive(Debug, Default)]
struct Board {
    next: AtomicU64,
    started: AtomicU64,
    finished: AtomicU64,
    progress: AtomicU64,
    hops: AtomicU64,
}

impl Board {
    fn clear(&self) {
        self.next.store(u64::MAX, Ordering::Relaxed);
        self.started.store(0, Ordering::Relaxed);
        self.finished.store(0, Ordering::Relaxed);
        self.progress.store(0, Ordering::Relaxed);
        self.hops.store(0, Ordering::Relaxed);
    }

    fn add(&self, partition: &mut Partition) {
        self.next.fetch_min(partition.next(), Ordering::Relaxed);
        let tally = partition.tally();
        self.started.fetch_add(tally.started, Ordering::Relaxed);
        self.finished.fetch_add(tally.finished, Ordering::Relaxed);
        self.progress.fetch_max(tally.progress, Ordering::Relaxed);
        self.hops.fetch_add(tally.hops, Ordering::Relaxed);
    }

    fn read(&self, interrupted: bool) -> Situation {
        Situation {
            next: self.next.load(Ordering::Relaxed),
            started: self.started.load(Ordering::Relaxed),
            finished: self.finished.load(Ordering::Relaxed),
            progress: self.progress.load(Ordering::Relaxed),
            interrupted,
        }
    }
}

struct Shared {
    barrier: Barrier,
    /// Used in turn, so that one can be cleared while another is in use.
    boards: [Board; 3],
    /// `mail[from][to]`.
    mail: Vec<Vec<Mutex<Mail>>>,
    interrupted: AtomicBool,
    flush: AtomicBool,
    /// What the partitions hand over at a flush.
    tallies: Vec<Mutex<Tally>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Only a panic poisons a lock, and that ends the run anyway.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What the first thread does besides: it talks to the sink.
struct Speaker<'a> {
    flusher: &'a mut Flusher,
    sink: &'a mut dyn Sink,
    last: Instant,
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
    let limits = Limits::new(simulation, layout.lookahead);
    let mut partitions = layout.partitions(slots, world, simulation.threads);
    let n = partitions.len();
    let shared = Shared {
        barrier: Barrier::new(n),
        boards: Default::default(),
        mail: (0..n).map(|_| (0..n).map(|_| Mutex::default()).collect()).collect(),
        interrupted: AtomicBool::new(false),
        flush: AtomicBool::new(false),
        tallies: (0..n).map(|_| Mutex::default()).collect(),
    };
    shared.boards[0].clear();
    let speaker = Speaker { flusher: &mut *flusher, sink: &mut *sink, last: Instant::now() };
    let first = partitions.remove(0);
    let (cause, now, parts) = std::thread::scope(|scope| {
        let others: Vec<_> = partitions
            .into_iter()
            .enumerate()
            .map(|(i, partition)| {
                let shared = &shared;
                scope.spawn(move || turn(i + 1, partition, world, &limits, shared, None))
            })
            .collect();
        let (cause, now, partition) = turn(0, first, world, &limits, &shared, Some(speaker));
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
        partition.catch_up(now.saturating_add(1));
        let (slots, packets, tally) = partition.into_parts();
        remains.add(slots, packets, tally);
    }
    for mail in shared.mail.into_iter().flatten() {
        remains.in_mail(&lock(&mail));
    }
    (cause, now, remains)
}

/// One thread's part of the run.
fn turn(
    index: usize,
    mut partition: Partition,
    world: &World,
    limits: &Limits,
    shared: &Shared,
    mut speaker: Option<Speaker<'_>>,
) -> (Cause, u64, Partition) {
    let _guard = BreakOnPanic(&shared.barrier);
    let partitions = shared.mail.len();
    let mut last_end = 0;
    for round in 0_usize.. {
        for from in 0..partitions {
            if from != index {
                partition.collect(&mut lock(&shared.mail[from][index]));
            }
        }
        let board = &shared.boards[round % 3];
        board.add(&mut partition);
        shared.barrier.wait();
        // Everybody reads the same board and flags, and so decides the same.
        let situation = board.read(shared.interrupted.load(Ordering::Relaxed));
        if index == 0 {
            shared.boards[(round + 1) % 3].clear();
        }
        let end = match limits.decide(&situation) {
            Ok(end) => end,
            Err(cause) => {
                let now = match cause {
                    Cause::Finished => last_finish(shared, index, &mut partition),
                    Cause::TimeLimit => limits.until,
                    Cause::Interrupted | Cause::Stalled => last_end,
                };
                return (cause, now, partition);
            }
        };
        let flushing = shared.flush.load(Ordering::Relaxed);
        if flushing {
            partition.catch_up(situation.next);
            lock(&shared.tallies[index]).take_records(partition.tally());
        }
        partition.process(end, world);
        last_end = end;
        for to in 0..partitions {
            if to != index {
                partition.post(to, &mut lock(&shared.mail[index][to]));
            }
        }
        shared.barrier.wait();
        if let Some(speaker) = &mut speaker {
            if flushing {
                shared.flush.store(false, Ordering::Relaxed);
                for tally in &shared.tallies {
                    speaker.flusher.take(&mut lock(tally));
                }
                speaker.flusher.flush(situation.next, world, speaker.sink);
            }
            // Reading the clock costs as much as a packet: not in every short window.
            if round % 16 == 0 && speaker.last.elapsed() >= FLUSH_EVERY {
                speaker.last = Instant::now();
                shared.flush.store(true, Ordering::Relaxed);
                let progress = Progress {
                    now: Time::from_ps(situation.next),
                    flows_finished: situation.finished,
                    flows: limits.flows,
                    hops: board.hops.load(Ordering::Relaxed),
                };
                if speaker.sink.progress(&progress) == ControlFlow::Break(()) {
                    shared.interrupted.store(true, Ordering::Relaxed);
                }
            }
        }
    }
    unreachable!("the rounds only end from within")
}

/// When the last flow was done, over all partitions.
fn last_finish(shared: &Shared, index: usize, partition: &mut Partition) -> u64 {
    let last = &shared.boards[0].progress;
    // Nobody decides any more: the boards are free for this.
    shared.barrier.wait();
    if index == 0 {
        last.store(0, Ordering::Relaxed);
    }
    shared.barrier.wait();
    last.fetch_max(partition.tally().last_finish, Ordering::Relaxed);
    shared.barrier.wait();
    last.load(Ordering::Relaxed)
}
