//! The search for a state that comes again: a look at each instant at which the network is quiet.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use incast_engine::windows::Observer;
use incast_net::describe::Simulation;
use incast_net::describe::work::What;
use incast_net::record::PortTotals;
use incast_net::record::tally::Counts;
use incast_units::Time;

use super::plan::{Job, Jobs, Reached, Shift};
use crate::facts::Facts;
use crate::node::Behaviour;
use crate::relative::{Progress, State};
use crate::run::slot::Slot;

/// States that are kept whole, the last ones: a period has no more quiet instants than this.
const KEPT: usize = 16;

/// Share of what is left that a repetition must cover, as its reciprocal: for less the search continues.
const WORTH: u64 = 2;

/// Everything at one quiet instant.
#[derive(Debug)]
pub(super) struct Quiet {
    pub(super) state: State,
    digest: u64,
    pub(super) counts: Counts,
    /// By (node, port).
    pub(super) ports: Vec<PortTotals>,
    /// By job.
    pub(super) reached: Vec<Reached>,
    /// Number of messages that are left of each connection.
    left: BTreeMap<u32, u32>,
}

/// A state that has come again, and what follows from that.
#[derive(Clone, Debug)]
pub(super) struct Hit {
    /// Numbers of the quiet instants.
    pub(super) instants: [usize; 2],
    /// By job.
    pub(super) shifts: Vec<Shift>,
    /// Number of periods that follow and are the same.
    pub(super) copies: u32,
}

/// The aim of a search.
#[derive(Debug)]
pub(super) enum Goal<'a> {
    /// A state that comes again.
    Repetition,
    /// The state at a quiet instant, which must be this one.
    Confirmation(usize, &'a Quiet),
    /// Nothing more.
    Nothing,
}

/// The search.
pub(super) struct Search<'a> {
    pub(super) simulation: &'a Simulation,
    pub(super) facts: &'a Facts<'a>,
    pub(super) jobs: &'a Jobs,
    pub(super) goal: Goal<'a>,
    /// Flows that were done at the last instant.
    done: u64,
    /// The instants, of which the last ones are kept.
    pub(super) seen: usize,
    pub(super) kept: Vec<(usize, Quiet)>,
    pub(super) hit: Option<Hit>,
    /// Reason for which no instant repeats an earlier one: the least difference of one from the one before.
    pub(super) reason: Option<String>,
    /// Number of words of that difference.
    closest: Option<usize>,
    /// Whether the state to be confirmed was another one.
    pub(super) is_other: bool,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        simulation: &'a Simulation,
        facts: &'a Facts<'a>,
        jobs: &'a Jobs,
        goal: Goal<'a>,
    ) -> Self {
        Self {
            simulation,
            facts,
            jobs,
            goal,
            done: 0,
            seen: 0,
            kept: Vec::new(),
            hit: None,
            reason: None,
            closest: None,
            is_other: false,
        }
    }

    /// Takes the state of all nodes at `now`. (ps)
    fn look<'n>(&self, now: u64, counts: &Counts, nodes: impl Iterator<Item = &'n Slot>) -> Quiet {
        let mut nodes: Vec<&Slot> = nodes.collect();
        nodes.sort_unstable_by_key(|slot| slot.id);
        let mut state = State::new(now);
        let mut progress = Progress::of(self.simulation.operations.len());
        let mut ports = Vec::new();
        for Slot { node, .. } in &nodes {
            let inspected = node.inspect();
            let wires = (0..).map_while(|port| inspected.egress(port));
            state.sent.push(wires.map(|wire| wire.transmitted).collect());
        }
        for Slot { id, node, .. } in nodes {
            state.of_node(&self.simulation.network.nodes[*id as usize]);
            node.relate(self.facts, &mut state, &mut progress);
            let inspected = node.inspect();
            let wires = (0..).map_while(|port| Some((port, inspected.egress(port)?)));
            ports.extend(wires.map(|(port, wire)| wire.totals(now, *id, port)));
        }
        (state.sent, state.path) = (Vec::new(), None);
        let reached = self.workload(&progress, &mut state);
        Quiet { digest: state.digest(), state, counts: *counts, ports, reached, left: progress.left }
    }

    /// Passes on the state of operations, by their distance from the number of those that have ended of their job.
    fn workload(&self, progress: &Progress, state: &mut State) -> Vec<Reached> {
        let operations = &self.simulation.operations;
        let mut all: Vec<Reached> = Vec::new();
        for Job { operations: own, .. } in &self.jobs.jobs {
            let ended = &progress.ended[own.start as usize..own.end as usize];
            let is_sent =
                |index: usize| matches!(operations[own.start as usize + index].what, What::Send { .. });
            let numbers = || ended.iter().enumerate().filter(|(_, ended)| **ended).map(|(index, _)| index);
            let open = ended.iter().position(|ended| !ended).unwrap_or(ended.len());
            all.push(Reached {
                ended: numbers().count() as u32,
                done: numbers().filter(|index| is_sent(*index)).count() as u32,
                open: open as u32,
                touched: numbers().next_back().map_or(0, |last| last as u32 + 1),
            });
        }
        let job_of = |operation: u32| usize::from(operations[operation as usize].job);
        for touched in &progress.touched {
            let (job, first) =
                (job_of(touched.operation), self.jobs.jobs[job_of(touched.operation)].operations.start);
            all[job].touched = all[job].touched.max(touched.operation - first + 1);
        }
        let distance = |operation: u32| {
            let job = job_of(operation);
            let number = operation - self.jobs.jobs[job].operations.start;
            [job as u64, u64::from(number).wrapping_sub(u64::from(all[job].ended))]
        };
        let say = |state: &mut State, field, operation| {
            distance(operation).into_iter().for_each(|word| state.word(field, word));
        };
        state.of_node("the workload");
        for (Job { operations: own, .. }, Reached { ended, open, touched, .. }) in
            self.jobs.jobs.iter().zip(&all)
        {
            state.word("begun", *ended > 0);
            state.word("over", *open as usize == own.len());
            // Those that have ended behind one that has not.
            for operation in own.start + open.min(touched)..own.start + touched {
                if progress.ended[operation as usize] {
                    say(state, "operations that have ended", operation);
                }
            }
        }
        let mut touched = progress.touched.clone();
        touched.sort_unstable_by_key(|touched| touched.operation);
        state.word("number of operations under way", touched.len() as u64);
        for of in touched {
            say(state, "operations under way", of.operation);
            state.word("dependencies of operations", of.unmet);
            state.word("ready operations", of.ready);
            state.word("arrived flows", of.arrived);
            state.instant("starts of operations", of.start);
        }
        let mut due = progress.due.clone();
        due.sort_unstable();
        state.word("number of operations that are due", due.len() as u64);
        for (at, operation) in due {
            state.instant("times at which operations are due", at);
            say(state, "operations that are due", operation);
        }
        let mut queued = progress.queued.clone();
        queued.sort_unstable();
        state.word("number of operations that wait for a processor", queued.len() as u64);
        for ((host, processor), since, operation) in queued {
            state.word("hosts of processors", host);
            state.word("processors", processor);
            state.instant("times since which operations wait for a processor", since);
            say(state, "operations that wait for a processor", operation);
        }
        all
    }

    /// Returns how often what happened between two instants with the same state happens again.
    fn repetition(&self, earlier: &Quiet, later: &Quiet) -> Result<Hit, String> {
        let mut copies = u32::MAX;
        let mut shifts = Vec::new();
        let now = Time::from_ps(earlier.state.now);
        for (job, (before, after)) in earlier.reached.iter().zip(&later.reached).enumerate() {
            let of_job = self.jobs.copies(job, (*before, *after), now, (self.facts, self.simulation))?;
            copies = copies.min(of_job.unwrap_or(u32::MAX));
            shifts.push(Shift { operations: after.ended - before.ended, flows: after.done - before.done });
        }
        for (connection, left) in &later.left {
            let before = earlier.left.get(connection).copied().unwrap_or_default();
            // Its last message ends it: that happens once.
            if let Some(times) = (left - 1).checked_div(before.saturating_sub(*left)) {
                copies = copies.min(times);
            }
        }
        let period = later.state.now - earlier.state.now;
        let left = self.simulation.until.ps().saturating_sub(later.state.now);
        copies = copies.min(u32::try_from(left / period.max(1)).unwrap_or(u32::MAX));
        if copies == 0 || copies == u32::MAX {
            return Err("the state comes again, and the workload ends".to_owned());
        }
        Ok(Hit { instants: [0, 0], shifts, copies })
    }

    /// Looks for an earlier instant with this state.
    fn find(&mut self, number: usize, quiet: &Quiet) -> Option<Hit> {
        for (other, earlier) in self.kept.iter().rev() {
            if earlier.digest == quiet.digest && earlier.state.equals(&quiet.state) {
                match self.repetition(earlier, quiet) {
                    Ok(hit) => {
                        let flows = |quiet: &Quiet| quiet.counts.finished;
                        let again = (flows(quiet) - flows(earlier)) * u64::from(hit.copies);
                        let left = self.simulation.flows.len() as u64 - flows(quiet);
                        if again >= left / WORTH {
                            return Some(Hit { instants: [*other, number], ..hit });
                        }
                        self.reason =
                            Some(format!("what repeats is {again} of the {left} flows that are left"));
                    }
                    Err(reason) => self.reason = Some(reason),
                }
            }
        }
        if let Some((other, earlier)) = self.kept.last()
            && let Some((part, count)) = quiet.state.difference(&earlier.state)
            && self.closest.is_none_or(|closest| count <= closest)
        {
            self.closest = Some(count);
            self.reason = Some(match count {
                0 => part,
                _ => format!(
                    "quiet instant {number} differs from {other} by the {part} ({count} words differ)"
                ),
            });
        }
        None
    }
}

impl Observer<Slot> for Search<'_> {
    fn wants(&mut self, counts: &Counts) -> bool {
        !matches!(self.goal, Goal::Nothing) && counts.finished > self.done
    }

    fn see(&mut self, now: u64, counts: &Counts, nodes: &mut dyn Iterator<Item = &Slot>) -> ControlFlow<()> {
        if now == u64::MAX {
            return ControlFlow::Continue(());
        }
        let number = self.seen;
        (self.done, self.seen) = (counts.finished, self.seen + 1);
        match self.goal {
            Goal::Nothing => ControlFlow::Continue(()),
            Goal::Confirmation(at, _) if at != number => ControlFlow::Continue(()),
            Goal::Confirmation(_, expected) => {
                let quiet = self.look(now, counts, nodes);
                let same = quiet.state.equals(&expected.state) && quiet.state.now == expected.state.now;
                self.is_other = !(same && quiet.counts == expected.counts && quiet.ports == expected.ports);
                self.goal = Goal::Nothing;
                if self.is_other { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
            Goal::Repetition => {
                let quiet = self.look(now, counts, nodes);
                self.hit = self.find(number, &quiet);
                if self.kept.len() == KEPT {
                    self.kept.remove(0);
                }
                self.kept.push((number, quiet));
                if self.hit.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
        }
    }
}
