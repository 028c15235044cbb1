//! The reference engine: one heap of events for the whole network, handled one at a time.
//!
//! It shares the nodes with the windowed engine, but none of its code for ordering, batching and
//! transporting events, nor for finding the end of a run: it looks for that before every event. Every scenario of the
//! tests must have the same fingerprint on both.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use incast_net::describe::network::{NodeId, PortId};
use incast_net::packet::{IntRecords, Packet};
use incast_net::record::Sink;
use incast_net::record::tally::Tally;
use incast_units::Time;

use super::event::{Effects, Event, Rank};
use super::model::{Arrival, Cause, Limits, Model, Node, RunState};
use super::windows::holds;

/// Number of events between two looks at the clock.
const LOOK_EVERY: u64 = 1024;

/// An event somewhere in the network.
#[derive(Debug)]
struct Due {
    event: Event,
    node: NodeId,
    /// Packets that arrive at the same instant on one link keep their order.
    sequence: u64,
    /// The arriving packet, for [`Rank::ARRIVAL`].
    packet: Option<Box<(Packet, IntRecords)>>,
}

impl Due {
    fn key(&self) -> (u64, NodeId, Event, u64) {
        (self.event.time(), self.node, self.event, self.sequence)
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

struct NodeEffects<'a, M> {
    node: NodeId,
    model: &'a M,
    heap: &'a mut BinaryHeap<Reverse<Due>>,
    /// Packets sent so far.
    sequence: &'a mut u64,
    tally: &'a mut Tally,
}

impl<M: Model> Effects for NodeEffects<'_, M> {
    /// Every departure is an event.
    const DEPARTURES_WAIT: bool = false;

    fn transmit(&mut self, port: PortId, packet: &Packet, int: &IntRecords) {
        let out = &self.model.ports()[self.node as usize][usize::from(port)];
        let event = Event::new(packet.time, Rank::ARRIVAL, u32::from(out.port));
        let packet = Some(Box::new((*packet, *int)));
        *self.sequence += 1;
        self.heap.push(Reverse(Due { event, node: out.node, sequence: *self.sequence, packet }));
    }

    fn schedule(&mut self, event: Event) {
        self.heap.push(Reverse(Due { event, node: self.node, sequence: 0, packet: None }));
    }

    fn tally(&mut self) -> &mut Tally {
        self.tally
    }
}

/// Runs a model; returns why it ended, when, and what is left.
pub fn run<M: Model>(
    model: &M,
    limits: Limits,
    mut nodes: Vec<M::Node>,
    sink: &mut dyn Sink,
) -> (Cause, u64, RunState<M::Node>) {
    let mut tally = Tally::default();
    let mut heap: BinaryHeap<Reverse<Due>> = nodes
        .iter()
        .flat_map(|node| node.first_events(model).into_iter().map(|event| (node.id(), event)))
        .map(|(node, event)| Reverse(Due { event, node, sequence: 0, packet: None }))
        .collect();
    let mut sequence = 0;
    let mut interrupted = false;
    let mut last = Instant::now();
    let mut check_at = limits.deadlock_after;
    let (mut now, mut events) = (0, 0_u64);
    let (cause, now) = loop {
        let next = heap.peek().map_or(u64::MAX, |d| d.0.event.time());
        let counts = &tally.counts;
        let given_up = limits.given_up(counts.progress);
        // Every event of the instant at which the run is complete is part of it; of another end, those before it.
        if model.is_complete(counts) && next > counts.last_finish {
            break (Cause::Finished, counts.last_finish);
        } else if next == u64::MAX {
            break (Cause::Stalled, now);
        } else if interrupted {
            break (Cause::Interrupted, next);
        } else if next >= limits.until {
            break (Cause::TimeLimit, limits.until);
        } else if model.is_active(counts) && next >= given_up {
            break (Cause::Stalled, given_up);
        }
        if next >= check_at {
            let at = next / limits.deadlock_after * limits.deadlock_after;
            if model.is_deadlock(holds(nodes.iter(), at - limits.deadlock_after)) {
                break (Cause::Stalled, at);
            }
            check_at = at.saturating_add(limits.deadlock_after);
        }
        events += 1;
        if events.is_multiple_of(LOOK_EVERY) && last.elapsed() > Duration::from_millis(100) {
            last = Instant::now();
            let progress = model.progress(Time::from_ps(next), counts);
            interrupted = sink.progress(&progress) == ControlFlow::Break(());
        }
        now = next;
        let Some(Reverse(due)) = heap.pop() else { continue };
        let mut effects = NodeEffects {
            node: due.node,
            model,
            heap: &mut heap,
            sequence: &mut sequence,
            tally: &mut tally,
        };
        let node = &mut nodes[due.node as usize];
        match due.packet {
            Some(mut packet) => {
                let (now, port) = (due.event.time(), due.event.entity() as PortId);
                let (packet, int) = &mut *packet;
                node.arrive(Arrival { now, port, packet, int }, model, &mut effects);
            }
            None => node.handle(due.event, model, &mut effects),
        }
    };
    for node in &mut nodes {
        node.end_samples(now, model, &mut tally);
    }
    let packets = heap.into_iter().filter_map(|d| d.0.packet.map(|p| p.0)).collect();
    (cause, now, RunState { nodes, packets, tally })
}
