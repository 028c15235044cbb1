//! The model with clocks: what the visits of its nodes take.
//!
//! Reading a clock takes as long as a packet-hop. So the clock is read in one visit of some, drawn at random, and
//! the engine runs this model only where somebody asked for the times.

use std::time::{Duration, Instant};

use incast_engine::event::{Effects, Event};
use incast_engine::model::{self, Arrival, Departures, Hold, Limits, Model, RunState, Visit};
use incast_engine::windows;
use incast_net::Invalid;
use incast_net::describe::Simulation;
use incast_net::describe::network::{NodeId, Out, PortId};
use incast_net::describe::probe::Probes;
use incast_net::random::draw;
use incast_net::record::tally::{Counts, Tally};
use incast_net::record::view::{Captured, View};
use incast_net::record::{Flusher, Outcome, PacketRecord, Progress, Sink, Watched};
use incast_units::Time;

use super::slot::Slot;
use super::watch::Watch;
use super::{build, limits, outcome, prepare};
use crate::facts::Facts;

/// Largest number of visits from one that is timed to the next one; half of it on average.
const GAP: u64 = 63;

/// Number of pairs of readings by which the time of a reading is found.
const READINGS: usize = 64;

/// Wall time of the parts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartTimes {
    /// Threads of the engine.
    pub threads: usize,
    /// Preparation of routes and nodes.
    pub prepare: Duration,
    /// The engine from its first window to its last, with the nodes, and with the records that were passed on then.
    pub engine: Duration,
    /// The visits of hosts, on all threads.
    pub hosts: Visits,
    /// The visits of switches, on all threads.
    pub switches: Visits,
    /// Sorting of records, and what the sink did with them, during the engine.
    pub records: Duration,
    /// All after the engine's last window: the last records, and the outcome.
    pub finish: Duration,
}

/// The visits of some nodes: in each, all events of a window are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visits {
    /// Their number.
    pub number: u64,
    /// Number of those that were timed.
    pub timed: u64,
    /// Time of those, without the time of reading the clock.
    pub took: Duration,
}

impl Visits {
    /// Returns the time of all visits, from those that were timed; zero if none was.
    #[must_use]
    pub fn total(&self) -> Duration {
        let nanos = self.took.as_nanos() * u128::from(self.number) / u128::from(self.timed.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn add(&mut self, other: &Self) {
        self.number += other.number;
        self.timed += other.timed;
        self.took += other.took;
    }
}

/// Runs a simulation as [`run`](super::run) does, with clocks. Returns the same outcome, and the times of its parts.
///
/// # Errors
/// When the description is inconsistent; nothing has run then.
pub fn run_timed(simulation: &Simulation, sink: &mut dyn Sink) -> Result<(Outcome, PartTimes), Invalid> {
    let begin = Instant::now();
    let facts = prepare(simulation)?;
    let nodes = build::nodes(&facts, simulation)?;
    let (limits, mut flusher): (Limits, _) = (limits(simulation, &facts), Flusher::default());
    let mut sink = Watched { watch: Watch::new(simulation, &facts), sink };
    let reading = reading();
    let nodes = nodes.into_iter().map(|slot| TimedSlot::new(slot, reading)).collect();
    let units = windows::units(&facts).into_iter().max().map_or(1, |last| last as usize + 1);
    let prepared = Instant::now();
    let (cause, now, state) =
        windows::run(&Timed(&facts), limits, simulation.threads, nodes, &mut flusher, &mut sink);
    let ended = Instant::now();
    let mut times = PartTimes {
        threads: simulation.threads.clamp(1, units),
        prepare: prepared - begin,
        engine: ended - prepared,
        records: flusher.spent(),
        ..PartTimes::default()
    };
    let RunState { nodes, packets, tally } = state;
    for TimedSlot { slot, visits, .. } in &nodes {
        let of = if (slot.id as usize) < facts.hosts() { &mut times.hosts } else { &mut times.switches };
        of.add(visits);
    }
    let nodes = nodes.into_iter().map(|timed| timed.slot).collect();
    let state = RunState { nodes, packets, tally };
    let outcome = outcome::outcome((cause, now, state), simulation, &facts, flusher, sink);
    times.finish = ended.elapsed();
    Ok((outcome, times))
}

/// Returns the time between two readings of the clock without anything between them.
fn reading() -> Duration {
    let pair = |_| {
        let begin = Instant::now();
        begin.elapsed()
    };
    (0..READINGS).map(pair).min().unwrap_or_default()
}

/// The facts of a run whose nodes are timed.
struct Timed<'a, 'b>(&'a Facts<'b>);

/// A node with the time of its visits.
#[derive(Debug)]
struct TimedSlot {
    slot: Slot,
    visits: Visits,
    /// Number of the visit that is timed next.
    next: u64,
    /// The begin of a visit that is timed.
    begin: Option<Instant>,
    /// The time of a reading of the clock.
    reading: Duration,
}

impl TimedSlot {
    fn new(slot: Slot, reading: Duration) -> Self {
        let mut timed = Self { slot, visits: Visits::default(), next: 0, begin: None, reading };
        timed.choose();
        timed
    }

    /// Chooses the next visit that is timed. Every node has numbers of its own: nodes take turns, and what they do may
    /// repeat itself.
    fn choose(&mut self) {
        self.next += 1 + draw(u64::from(self.slot.id), self.next) % GAP;
    }
}

impl View for Timed<'_, '_> {
    fn probes(&self) -> &Probes {
        self.0.probes()
    }

    fn packet(&self, captured: &Captured) -> PacketRecord {
        self.0.packet(captured)
    }
}

impl Model for Timed<'_, '_> {
    type Node = TimedSlot;

    fn ports(&self) -> &[Vec<Out>] {
        self.0.ports()
    }

    fn hosts(&self) -> usize {
        self.0.hosts()
    }

    fn shortest_delay(&self, node: NodeId, port: PortId, out: &Out) -> Time {
        self.0.shortest_delay(node, port, out)
    }

    fn is_complete(&self, counts: &Counts) -> bool {
        self.0.is_complete(counts)
    }

    fn earliest_end(&self, counts: &Counts, now: u64) -> u64 {
        self.0.earliest_end(counts, now)
    }

    fn is_active(&self, counts: &Counts) -> bool {
        self.0.is_active(counts)
    }

    fn progress(&self, now: Time, counts: &Counts) -> Progress {
        self.0.progress(now, counts)
    }

    fn is_deadlock(&self, holds: Vec<(NodeId, Hold)>) -> bool {
        self.0.is_deadlock(holds)
    }
}

impl model::Node<Timed<'_, '_>> for TimedSlot {
    fn id(&self) -> NodeId {
        self.slot.id
    }

    fn first_events(&self, model: &Timed<'_, '_>) -> Vec<Event> {
        self.slot.first_events(model.0)
    }

    #[inline(always)]
    fn arrive<E: Effects>(&mut self, arrival: Arrival, model: &Timed<'_, '_>, effects: &mut E) {
        model::Node::arrive(&mut self.slot, arrival, model.0, effects);
    }

    #[inline(always)]
    fn handle<E: Effects>(&mut self, event: Event, model: &Timed<'_, '_>, effects: &mut E) {
        model::Node::handle(&mut self.slot, event, model.0, effects);
    }

    #[inline]
    fn visit(&mut self, visit: impl Visit, model: &Timed<'_, '_>) {
        self.visits.number += 1;
        if self.visits.number == self.next {
            self.choose();
            self.begin = Some(Instant::now());
        }
        self.slot.visit(visit, model.0);
    }

    /// Ends the visit.
    #[inline]
    fn depart<E: Effects>(&mut self, before: u64, model: &Timed<'_, '_>, effects: &mut E) -> Departures {
        let departures = self.slot.depart(before, model.0, effects);
        if let Some(begin) = self.begin.take() {
            self.visits.timed += 1;
            self.visits.took += begin.elapsed().saturating_sub(self.reading);
        }
        departures
    }

    fn takes_samples(&self) -> bool {
        self.slot.takes_samples()
    }

    fn catch_up(&mut self, time: u64, model: &Timed<'_, '_>, tally: &mut Tally) {
        self.slot.catch_up(time, model.0, tally);
    }

    fn end_samples(&mut self, now: u64, model: &Timed<'_, '_>, tally: &mut Tally) {
        self.slot.end_samples(now, model.0, tally);
    }

    fn holds(&self, before: u64) -> Vec<Hold> {
        self.slot.holds(before)
    }
}
