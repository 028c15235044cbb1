//! The interface between the engine and what it runs: a model, which all nodes share, and the nodes.

use core::fmt::Debug;

use incast_net::describe::network::{NodeId, Out, PortId};
use incast_net::packet::{IntRecords, Packet};
use incast_net::record::Progress;
use incast_net::record::tally::{Counts, Tally};
use incast_net::record::view::View;
use incast_units::Time;

use super::event::{Effects, Event};

/// Facts that all nodes share, constant over the run.
pub trait Model: View + Sync + Sized {
    /// A node with all that changes at it.
    type Node: Node<Self>;

    /// Returns the ports of every node, with where their links lead.
    fn ports(&self) -> &[Vec<Out>];

    /// Returns the number of hosts, which are the first nodes.
    fn hosts(&self) -> usize;

    /// Returns the smallest delay that the link of a port ever has.
    fn shortest_delay(&self, node: NodeId, port: PortId, out: &Out) -> Time;

    /// Returns whether everything has happened that the run waits for.
    fn is_complete(&self, counts: &Counts) -> bool;

    /// Returns a time before which the run will not be complete, given the counts of everything before `now`. From
    /// one window after `now` on all times are alike.
    fn earliest_end(&self, counts: &Counts, now: u64) -> u64;

    /// Returns whether something has begun that is to make progress.
    fn is_active(&self, counts: &Counts) -> bool;

    /// Returns what a sink learns of the run at `now`.
    fn progress(&self, now: Time, counts: &Counts) -> Progress;

    /// Returns whether some of these holds wait for each other.
    fn is_deadlock(&self, holds: Vec<(NodeId, Hold)>) -> bool;
}

/// A packet whose last bit has arrived at a node.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// The current time. (ps)
    pub now: u64,
    /// The port at which it has arrived.
    pub port: PortId,
    /// The packet itself, which the node may change.
    pub packet: &'a mut Packet,
    /// Its telemetry, which the node may change.
    pub int: &'a mut IntRecords,
}

/// A handler of the events of a node.
pub trait Handler {
    /// Handles the arrival of a packet.
    fn arrive<E: Effects>(&mut self, arrival: Arrival, effects: &mut E);

    /// Handles another event: one that the node scheduled.
    fn handle<E: Effects>(&mut self, event: Event, effects: &mut E);
}

/// The events of a node in a window.
pub trait Visit {
    /// Passes each of them, in order, to a handler.
    fn run<H: Handler>(self, handler: &mut H);
}

/// Departures of a node that are no events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departures {
    /// The time of the next one; [`u64::MAX`] for none. (ps)
    pub next: u64,
    /// The time of the last one. (ps)
    pub last: u64,
}

impl Departures {
    /// No departures.
    pub const NONE: Self = Self { next: u64::MAX, last: 0 };
}

/// A node as the engine sees it. It is called for each of its events, in order.
pub trait Node<M>: Debug + Send {
    /// Returns its number.
    fn id(&self) -> NodeId;

    /// Returns its initial events.
    fn first_events(&self, model: &M) -> Vec<Event>;

    /// Handles the arrival of a packet.
    fn arrive<E: Effects>(&mut self, arrival: Arrival, model: &M, effects: &mut E);

    /// Handles another event: one that it scheduled.
    fn handle<E: Effects>(&mut self, event: Event, model: &M, effects: &mut E);

    /// Passes the events of a window to a handler: what [`Self::arrive`] and [`Self::handle`] do, or the same with fewer
    /// steps. A node that has several kinds can choose its handler once for all events.
    fn visit(&mut self, visit: impl Visit, model: &M);

    /// Sends everything that departs before `before` and is no event. (ps)
    ///
    /// Called at the end of each visit, after all events before that time.
    fn depart<E: Effects>(&mut self, before: u64, model: &M, effects: &mut E) -> Departures;

    /// Returns whether it takes samples.
    fn takes_samples(&self) -> bool;

    /// Takes all samples due before `time`. The node has not changed since its last event, so they may be taken late.
    fn catch_up(&mut self, time: u64, model: &M, tally: &mut Tally);

    /// Takes the last samples of a run that has ended at `now`.
    fn end_samples(&mut self, now: u64, model: &M, tally: &mut Tally);

    /// Returns its pauses of others, asked for by `before`, which end only if a pause of its own ports does.
    fn holds(&self, before: u64) -> Vec<Hold>;
}

/// A pause that a node has asked of a queue at the far end of one of its ports, and that ends only if pauses of its
/// own queues do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The port through which the packets came.
    pub port: PortId,
    /// The queue at the far end.
    pub queue: u16,
    /// The paused ports and queues at which they wait.
    pub waits_at: Vec<(PortId, u16)>,
    /// Whether all of these must stay paused for this pause to stay; if not, one is enough.
    pub all: bool,
}

/// Latest end of a run. (ps)
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time limit.
    pub until: u64,
    /// Longest time without progress.
    pub stall_after: u64,
    /// Time between two searches for deadlocks; the pauses of a deadlock have lasted that long. [`u64::MAX`] for never.
    pub deadlock_after: u64,
}

impl Limits {
    /// Returns when the run is given up if there is no progress after `progress`. (ps)
    pub(super) fn given_up(&self, progress: u64) -> u64 {
        progress.saturating_add(self.stall_after.max(1))
    }

    /// Returns the time of the search for deadlocks that is due, if the next event is at `next`, and sets the time of
    /// the one after it. Searches are at multiples of [`Self::deadlock_after`].
    pub(super) fn deadlock_check(&self, next: u64, check_at: &mut u64) -> Option<u64> {
        if next < *check_at {
            return None;
        }
        let at = next - (next - *check_at) % self.deadlock_after.max(1);
        *check_at = at.saturating_add(self.deadlock_after.max(1));
        Some(at)
    }
}

/// Reason for which a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Everything has happened.
    Finished,
    /// The time limit was reached first.
    TimeLimit,
    /// The sink requested a stop.
    Interrupted,
    /// There was no more progress, or a deadlock was found.
    Stalled,
}

/// The state of a run after its last event.
#[derive(Debug)]
pub struct RunState<N> {
    /// The nodes, in no order.
    pub nodes: Vec<N>,
    /// The packets on links.
    pub packets: Vec<Packet>,
    /// Counts, and the records that were not flushed.
    pub tally: Tally,
}

impl<N> RunState<N> {
    /// Returns the state of no nodes.
    pub(super) fn new() -> Self {
        Self { nodes: Vec::new(), packets: Vec::new(), tally: Tally::default() }
    }

    /// Adds the final state of one thread.
    pub(super) fn add(&mut self, mut other: Self) {
        self.nodes.append(&mut other.nodes);
        self.packets.append(&mut other.packets);
        self.tally.counts.join(&other.tally.counts);
        self.tally.records.take(&mut other.tally.records);
    }
}
