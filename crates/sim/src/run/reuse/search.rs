//! The search for a state that comes again: a look at each instant at which the network is quiet.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use incast_engine::windows::Observer;
use incast_net::describe::Simulation;
use incast_net::describe::network::{Detection, Network};
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

/// Share of what is left that a repetition must cover, as its reciprocal; or the packet-hops in the copies, as a multiple of
/// what must be simulated once more. For less the search continues.
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
    /// Time of the next operation that begins by itself, at a time of its own. (ps)
    next_input: u64,
}

/// A state that has come again, and what follows from that.
#[derive(Debug)]
pub(super) struct Hit {
    /// Numbers of the quiet instants.
    pub(super) instants: [usize; 2],
    /// By job.
    pub(super) shifts: Vec<Shift>,
    /// Number of periods that follow and are the same.
    pub(super) copies: u32,
    /// The simulation without them, and its jobs.
    pub(super) without: Option<(Simulation, Jobs)>,
}

/// The aim of a search.
#[derive(Debug)]
pub(super) enum Goal<'a> {
    /// A state that comes again.
    Repetition,
    /// The state at a quiet instant, which must be this one; then a state that comes again.
    Confirmation(&'a Quiet),
}

/// The search.
pub(super) struct Search<'a> {
    pub(super) simulation: &'a Simulation,
    pub(super) facts: &'a Facts<'a>,
    pub(super) jobs: &'a Jobs,
    pub(super) goal: Goal<'a>,
    /// Flows that were done at the last instant.
    done: u64,
    /// Whether something was in the way there that passes by itself.
    again: bool,
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
        seen: usize,
    ) -> Self {
        Self {
            simulation,
            facts,
            jobs,
            goal,
            done: 0,
            again: false,
            seen,
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
        let (left, next_input) = (progress.left, progress.next_input);
        Quiet { digest: state.digest(), state, counts: *counts, ports, reached, left, next_input }
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
        let within = |time: u64| {
            u32::try_from(time.saturating_sub(later.state.now) / period.max(1)).unwrap_or(u32::MAX)
        };
        copies = copies.min(within(self.simulation.until.ps()));
        if copies == 0 || copies == u32::MAX {
            return Err("the state comes again, and the workload ends".to_owned());
        }
        // What comes from outside ends the copies before it.
        let next = self.next_change([earlier, later])?.min(later.next_input);
        copies = copies.min(within(next.saturating_sub(1)));
        if copies == 0 {
            return Err(format!(
                "the state comes again, and at {} a link changes or an operation begins by itself",
                Time::from_ps(next)
            ));
        }
        let reached = (&earlier.reached[..], &later.reached[..]);
        let left_out = Time::from_ps(period).times(copies.into());
        let at = (Time::from_ps(later.state.now), left_out);
        let simulation = self.jobs.without(self.simulation, reached, at, (&shifts, copies))?;
        let jobs = Jobs::new(&simulation)?;
        Ok(Hit { instants: [0, 0], shifts, copies, without: Some((simulation, jobs)) })
    }

    /// Returns when the next link changes after the later of two instants (ps); [`u64::MAX`] for never.
    ///
    /// # Errors
    /// A link changed between them, or nodes had not noticed that yet.
    fn next_change(&self, [earlier, later]: [&Quiet; 2]) -> Result<u64, String> {
        let Network { changes, detection: Detection { switches, hosts }, .. } = &self.simulation.network;
        let delay = switches.max(hosts).ps();
        let past = changes.partition_point(|change| change.time.ps() <= later.state.now);
        if let Some(last) = past.checked_sub(1).map(|last| changes[last].time)
            && last.ps().saturating_add(delay) >= earlier.state.now
        {
            return Err(format!("a link changed at {last}"));
        }
        Ok(changes.get(past).map_or(u64::MAX, |next| next.time.ps()))
    }

    /// Looks for an earlier instant with this state.
    fn find(&mut self, number: usize, quiet: &Quiet) -> Option<Hit> {
        for (other, earlier) in self.kept.iter().rev() {
            if earlier.digest == quiet.digest && earlier.state.equals(&quiet.state) {
                match self.repetition(earlier, quiet) {
                    Ok(hit) => {
                        let flows = |quiet: &Quiet| quiet.counts.finished;
                        let copies = u64::from(hit.copies);
                        let again = (flows(quiet) - flows(earlier)) * copies;
                        let left = self.simulation.flows.len() as u64 - flows(quiet);
                        let saved = (quiet.counts.hops - earlier.counts.hops) * copies;
                        if again >= left / WORTH || saved >= quiet.counts.hops * WORTH {
                            return Some(Hit { instants: [*other, number], ..hit });
                        }
                        self.reason =
                            Some(format!("what repeats is {again} of the {left} flows that are left"));
                    }
                    Err(reason) => self.reason = Some(reason),
                }
            }
        }
        let differs = self.kept.last().and_then(|(other, earlier)| {
            let (part, count) = quiet.state.difference(&earlier.state)?;
            Some((*other, part, count))
        });
        if let Some((other, part, count)) = differs
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
        match self.goal {
            Goal::Repetition => {
                counts.finished > self.done || self.again && counts.started == counts.finished
            }
            Goal::Confirmation(expected) => counts.finished >= expected.counts.finished,
        }
    }

    fn see(&mut self, now: u64, counts: &Counts, nodes: &mut dyn Iterator<Item = &Slot>) -> ControlFlow<()> {
        if now == u64::MAX {
            return ControlFlow::Continue(());
        }
        if let Goal::Confirmation(expected) = self.goal {
            if now < expected.state.now {
                return ControlFlow::Continue(());
            }
            let quiet = self.look(now, counts, nodes);
            let same = quiet.state.equals(&expected.state) && now == expected.state.now;
            self.is_other = !(same && quiet.counts == expected.counts && quiet.ports == expected.ports);
            self.goal = Goal::Repetition;
            self.done = counts.finished;
            self.kept.push((self.seen.saturating_sub(1), quiet));
            return if self.is_other { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        }
        let number = self.seen;
        (self.done, self.seen) = (counts.finished, self.seen + 1);
        let quiet = self.look(now, counts, nodes);
        self.again = quiet.state.passes();
        if self.again {
            if self.closest.is_none_or(|closest| closest > 1) {
                self.closest = Some(1);
                self.reason = quiet.state.difference(&quiet.state).map(|(part, _)| part);
            }
            return ControlFlow::Continue(());
        }
        self.hit = self.find(number, &quiet);
        if self.kept.len() == KEPT {
            self.kept.remove(0);
        }
        self.kept.push((number, quiet));
        if self.hit.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
