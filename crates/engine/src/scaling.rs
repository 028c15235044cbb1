//! The time that a run would need on many threads, from what each node does in each window of a run on one.
//!
//! Partitions are made and dealt, and threads are chosen, by the code of the engine itself; only the time is computed
//! instead of measured: of each window it is what the thread that is ready last needs, and what it costs to meet.

use std::time::Instant;

use incast_net::record::{Flusher, Sink};

use super::balance::{Balance, Work};
use super::deal::Deal;
use super::hand::Visited;
use super::layout::Layout;
use super::model::{Cause, Limits, Model, RunState};
use super::windows;

/// The way in which nodes come to threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// One partition for each thread. The engine did this until November 2026.
    Fixed,
    /// Several partitions for each thread, which other threads take when they have nothing left to do, and no more threads
    /// than are worth it: what the engine does.
    Dealt,
    /// Node by node from a common list, the one with most to do first. The engine does not do this.
    Nodes,
}

/// The costs of threads beside the work. (ns)
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// A meeting of threads between two windows, and what each thread adds to it.
    pub meeting: (u64, u64),
    /// To take a partition, or a node from a common list.
    pub take: u64,
    /// To post mail to a partition, however many packets it has.
    pub post: u64,
    /// The growth of a node's time if all its links lead to nodes of other partitions, in thousandths.
    pub mail: u64,
}

/// The time of a run on a number of threads, computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Computed {
    /// The time. (ns)
    pub time: u64,
    /// The number of times at which partitions were dealt again.
    pub deals: usize,
    /// The fewest threads that took part.
    pub fewest: usize,
    /// The part of the load that threads took from others, in thousandths.
    pub foreign: u64,
}

/// The work of each unit of nodes in each window of a run.
#[derive(Debug)]
pub struct Trace {
    layout: Layout,
    windows: Vec<Vec<Visited>>,
    /// For every unit the units at the far ends of its links.
    far: Vec<Vec<u32>>,
}

/// Runs a model as [`windows::run`] does, on one thread; returns its trace, too.
pub fn run<M: Model>(
    model: &M,
    limits: Limits,
    nodes: Vec<M::Node>,
    flusher: &mut Flusher,
    sink: &mut dyn Sink,
) -> (Cause, u64, RunState<M::Node>, Trace) {
    let layout = Layout::new(model);
    let unit_of = layout.units_of_nodes();
    let mut far = vec![Vec::new(); layout.units()];
    for (unit, ports) in unit_of.iter().zip(model.ports()) {
        far[*unit as usize].extend(ports.iter().map(|out| unit_of[out.node as usize]));
    }
    let mut windows = Vec::new();
    let (cause, now, state) = windows::run_as(
        model,
        limits,
        (&layout, (1, 1), Balance::new(1)),
        nodes,
        (flusher, sink),
        Some(&mut windows),
        None,
    );
    let clock = clock();
    for visit in windows.iter_mut().flatten() {
        visit.time = visit.time.saturating_sub(clock);
    }
    (cause, now, state, Trace { layout, windows, far })
}

/// The cost of reading the clock before and after a visit. (ns)
fn clock() -> u32 {
    let costs = (0..1000).map(|_| Instant::now().elapsed().as_nanos() as u32);
    costs.min().unwrap_or(0)
}

impl Trace {
    /// Takes from another trace of the same run the times of the visits that were shorter there: what disturbed one run
    /// hardly disturbs the same visit of another.
    pub fn keep_shorter(&mut self, other: &Self) {
        for (mine, other) in self.windows.iter_mut().flatten().zip(other.windows.iter().flatten()) {
            mine.time = mine.time.min(other.time);
        }
    }

    /// Returns the number of windows in which something happens.
    pub fn windows(&self) -> usize {
        self.windows.len()
    }

    /// Returns the number of visits.
    pub fn visits(&self) -> usize {
        self.windows.iter().map(Vec::len).sum()
    }

    /// Returns the time of all visits. (ns)
    pub fn time(&self) -> u64 {
        self.windows.iter().flatten().map(|visit| u64::from(visit.time)).sum()
    }

    /// Returns the load of all visits, as the engine counts it. (ns)
    pub fn load(&self) -> u64 {
        self.windows.iter().flatten().map(|visit| u64::from(visit.load)).sum()
    }

    /// Returns the time that the run would need on this many threads.
    pub fn on(&self, threads: usize, division: Division, costs: Costs) -> Computed {
        match division {
            Division::Fixed => self.fixed(threads, costs),
            Division::Dealt => self.dealt(threads, costs),
            Division::Nodes => self.nodes(threads, costs),
        }
    }

    fn fixed(&self, threads: usize, costs: Costs) -> Computed {
        let parts = Parts::new(self, threads, costs);
        let longest = |window: &Vec<Visited>| parts.work(window).into_iter().map(|part| part.time).max();
        let time = self.windows.iter().map(|window| longest(window).unwrap_or(0) + costs.meet(threads)).sum();
        Computed { time, deals: 0, fewest: threads, foreign: 0 }
    }

    fn dealt(&self, threads: usize, costs: Costs) -> Computed {
        let (count, threads) = self.layout.sizes(threads);
        let parts = Parts::new(self, count, costs);
        let mut balance = Balance::new(threads);
        let mut loads = vec![0; count];
        let (mut among, mut deal) = (threads, Deal::new(&loads, threads));
        let mut computed = Computed { time: 0, deals: 0, fewest: threads, foreign: 0 };
        let mut all = Work::NONE;
        let mut next = None;
        for (number, window) in (0..).zip(&self.windows) {
            // What is decided in one window is done after it.
            if let Some(threads) = next.take() {
                (among, deal) = (threads, Deal::new(&loads, threads));
                loads.fill(0);
                computed.deals += 1;
                computed.fewest = computed.fewest.min(threads);
            }
            let work = parts.work(window);
            let start = |thread| (deal.take(thread, number), 0, Vec::<u16>::new());
            let mut threads: Vec<_> = (0..among).map(start).collect();
            let (mut busy, mut done) = (Vec::new(), Work::NONE);
            // Who is ready first takes next.
            while let Some(first) = (0..threads.len()).min_by_key(|thread| threads[*thread].1) {
                let (takes, time, posts) = &mut threads[first];
                match takes.next() {
                    Some((part, _)) if work[part].time == 0 => {}
                    Some((part, foreign)) => {
                        *time += work[part].time + costs.take;
                        posts.extend(&work[part].posts);
                        loads[part] += work[part].load;
                        done.load += work[part].load;
                        done.foreign += if foreign { work[part].load } else { 0 };
                    }
                    None => {
                        posts.sort_unstable();
                        posts.dedup();
                        busy.push(*time + costs.post * posts.len() as u64);
                        drop(threads.swap_remove(first));
                    }
                }
            }
            let time = busy.iter().max().copied().unwrap_or(0) + costs.meet(among);
            computed.time += time;
            done.waited = busy.iter().map(|busy| time - busy).sum();
            all.join(&done);
            next = balance.note(&done, || computed.time);
        }
        Computed { foreign: 1000 * all.foreign / all.load.max(1), ..computed }
    }

    fn nodes(&self, threads: usize, costs: Costs) -> Computed {
        let mut time = 0;
        for window in &self.windows {
            // All links lead to nodes that anybody may process.
            let cost = |visit: &Visited| costs.take + u64::from(visit.time) * (1000 + costs.mail) / 1000;
            let mut left: Vec<u64> = window.iter().map(cost).collect();
            left.sort_unstable_by(|a, b| b.cmp(a));
            let mut busy = vec![0; threads];
            for cost in left {
                if let Some(first) = busy.iter_mut().min() {
                    *first += cost;
                }
            }
            time += busy.into_iter().max().unwrap_or(0) + costs.meet(threads);
        }
        Computed { time, deals: 0, fewest: threads, foreign: 0 }
    }
}

impl Costs {
    /// A meeting of this many threads. (ns)
    fn meet(&self, threads: usize) -> u64 {
        if threads > 1 { self.meeting.0 + self.meeting.1 * threads as u64 } else { 0 }
    }
}

/// A division of units into partitions.
struct Parts {
    /// The partition of every unit.
    of: Vec<u16>,
    /// Of every unit the other partitions to which its links lead, each once.
    posts: Vec<Vec<u16>>,
    /// The growth of each unit's time because of these links, in thousandths.
    mail: Vec<u64>,
    count: usize,
}

/// The work of a partition in a window.
#[derive(Clone, Debug, Default)]
struct Part {
    time: u64,
    load: u64,
    /// The partitions that may get mail.
    posts: Vec<u16>,
}

impl Parts {
    fn new(trace: &Trace, count: usize, costs: Costs) -> Self {
        let of = trace.layout.assign(&vec![1; trace.far.len()], count);
        let mut parts = Self { of, posts: Vec::new(), mail: Vec::new(), count };
        for (unit, far) in trace.far.iter().enumerate() {
            let to = far.iter().map(|far| parts.of[*far as usize]);
            let mut posts: Vec<u16> = to.filter(|to| *to != parts.of[unit]).collect();
            parts.mail.push(costs.mail * posts.len() as u64 / far.len().max(1) as u64);
            posts.sort_unstable();
            posts.dedup();
            parts.posts.push(posts);
        }
        parts
    }

    /// The work of every partition in a window.
    fn work(&self, visits: &[Visited]) -> Vec<Part> {
        let mut work = vec![Part::default(); self.count];
        for Visited { unit, load, time } in visits {
            let unit = *unit as usize;
            let part = &mut work[usize::from(self.of[unit])];
            part.time += u64::from(*time) * (1000 + self.mail[unit]) / 1000;
            part.load += u64::from(*load);
            part.posts.extend(&self.posts[unit]);
        }
        work
    }
}
