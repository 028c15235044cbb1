//! The reference engine: one heap of events for the whole network, handled one at a time.
//!
//! It shares the nodes with the windowed engine, but none of its code for ordering, batching and
//! transporting events. Every scenario of the tests must have the same fingerprint on both.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use incast_units::Time;

use super::deadlock;
use super::event::{Effects, Event, Kind};
use super::exchange::Report;
use super::finish::Remains;
use super::layout::Layout;
use super::windows::{Cause, Limits};
use super::world::{Slot, World};
use crate::describe::Simulation;
use crate::describe::network::{NodeId, PortId};
use crate::packet::{IntRecords, Packet};
use crate::record::tally::Tally;
use crate::record::{Progress, Sink};

/// An event somewhere in the network.
#[derive(Debug)]
struct Due {
    event: Event,
    node: NodeId,
    /// Packets that arrive at the same instant on one link keep their order.
    sequence: u64,
    /// The arriving packet, for [`Kind::Arrival`].
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

struct NodeEffects<'a, 'b> {
    node: NodeId,
    world: &'a World<'b>,
    heap: &'a mut BinaryHeap<Reverse<Due>>,
    /// Packets sent so far.
    sequence: &'a mut u64,
    tally: &'a mut Tally,
}

impl Effects for NodeEffects<'_, '_> {
    fn transmit(&mut self, port: PortId, packet: &Packet, int: &IntRecords) {
        let out = &self.world.routes.ports[self.node as usize][usize::from(port)];
        let event = Event::new(packet.time, Kind::Arrival, u32::from(out.port));
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

/// Runs a simulation; returns why it ended, when, and what is left.
pub(crate) fn run(
    simulation: &Simulation,
    world: &World,
    mut slots: Vec<Slot>,
    sink: &mut dyn Sink,
) -> (Cause, u64, Remains) {
    let limits = Limits::new(simulation, world, Layout::new(world).lookahead);
    let mut tally = Tally::default();
    let mut heap: BinaryHeap<Reverse<Due>> = slots
        .iter()
        .flat_map(|s| s.first_events(world).into_iter().map(|event| (s.id, event)))
        .map(|(node, event)| Reverse(Due { event, node, sequence: 0, packet: None }))
        .collect();
    let mut sequence = 0;
    let mut interrupted = false;
    let mut last = Instant::now();
    let (mut last_end, mut end) = (0, 0);
    let mut check_at = limits.deadlock_after;
    let (cause, now) = loop {
        let next = heap.peek().map_or(u64::MAX, |d| d.0.event.time());
        if next >= end {
            // Between two windows, as the other engine counts them, it is decided whether to go on.
            let report = Report { interrupted, ..Report::new(next, &tally) };
            match limits.decide(&report) {
                Ok(window) => end = window,
                Err(Cause::Finished) => break (Cause::Finished, tally.counts.last_finish),
                Err(Cause::TimeLimit) => break (Cause::TimeLimit, simulation.until.ps()),
                Err(cause) => break (cause, end),
            }
            if next >= check_at {
                let holds = deadlock::holds(slots.iter(), next - limits.deadlock_after);
                if !deadlock::find(holds, &world.routes).is_empty() {
                    break (Cause::Stalled, last_end);
                }
                check_at = next.saturating_add(limits.deadlock_after);
            }
            last_end = end;
            if last.elapsed() > Duration::from_millis(100) {
                last = Instant::now();
                let progress = Progress {
                    now: Time::from_ps(next),
                    flows_finished: tally.counts.finished,
                    flows: simulation.flows.len() as u64,
                    hops: tally.counts.hops,
                };
                interrupted = sink.progress(&progress) == ControlFlow::Break(());
            }
        }
        let Some(Reverse(due)) = heap.pop() else { continue };
        let mut effects = NodeEffects {
            node: due.node,
            world,
            heap: &mut heap,
            sequence: &mut sequence,
            tally: &mut tally,
        };
        let slot = &mut slots[due.node as usize];
        match due.packet {
            Some(mut packet) => {
                let (time, port) = (due.event.time(), due.event.entity() as PortId);
                let (packet, int) = &mut *packet;
                slot.arrive(time, port, packet, int, world, &mut effects);
            }
            None => slot.handle(due.event, world, &mut effects),
        }
    };
    for slot in &mut slots {
        slot.end_samples(now, world, &mut tally);
    }
    let packets = heap.into_iter().filter_map(|d| d.0.packet.map(|p| p.0)).collect();
    let mut remains = Remains::default();
    remains.add(slots, packets, tally);
    (cause, now, remains)
}
