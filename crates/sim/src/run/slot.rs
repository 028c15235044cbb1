//! A node with its samples and with what changes at it.

use incast_engine::event::{Effects, Event};
use incast_engine::model::{self, Arrival, Departures, Handler, Hold, Visit};
use incast_net::describe::network::{NodeId, PortId};
use incast_net::describe::probe::Probes;
use incast_net::record::tally::Tally;
use incast_net::routing::forwarding::Table;
use incast_net::routing::timeline::LinkState;

use super::sampler::Sampler;
use crate::facts::Facts;
use crate::node::Behaviour;
use crate::nodes::Node;
use crate::rank;

/// A node with its sampler.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(super) id: NodeId,
    pub(super) node: Node,
    sampler: Sampler,
    /// Changes here, each with its time. (ps)
    changes: Vec<(u64, Change)>,
}

/// Change at a node.
#[derive(Debug)]
pub(super) enum Change {
    /// The link of a port.
    Link(PortId, LinkEvent),
    /// The forwarding table.
    Routes(Table),
}

/// Change of the link of a port.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkEvent {
    /// Its new state, if that changes.
    pub(super) state: Option<LinkState>,
    /// Whether it returns or fails.
    pub(super) turns: Option<bool>,
    /// Whether the node notices that it works or does not.
    pub(super) noticed: Option<bool>,
}

impl Slot {
    /// Returns a node that takes no samples.
    pub(super) fn new(id: NodeId, node: Node, changes: Vec<(u64, Change)>) -> Self {
        Self { id, node, sampler: Sampler::none(), changes }
    }

    /// Takes the samples from now on that these probes ask for.
    pub(super) fn sample(&mut self, probes: &Probes) {
        self.sampler = Sampler::new(probes, self.id, self.node.inspect());
        if !self.is_watched() {
            self.node.depart_late();
        }
    }

    /// Whether samples are taken of it, or something changes at it.
    fn is_watched(&self) -> bool {
        !self.changes.is_empty() || self.sampler.next() != u64::MAX
    }

    fn change_event(&self, index: u32) -> Option<Event> {
        let (time, _) = self.changes.get(index as usize)?;
        Some(Event::new(*time, rank::CHANGE, index))
    }

    /// A link or the routes change.
    fn change(&mut self, now: u64, index: u32, facts: &Facts, effects: &mut impl Effects) {
        if let Some(next) = self.change_event(index + 1) {
            effects.schedule(next);
        }
        match &self.changes[index as usize].1 {
            &Change::Link(port, LinkEvent { state, turns, noticed }) => {
                let timeline = facts.fabric().routes.timeline.of(self.id, port);
                if let (Some(wire), Some(timeline)) = (self.node.egress_mut(port), timeline) {
                    if let Some(state) = &state {
                        wire.change(now, state, timeline);
                    }
                    if let Some(up) = noticed {
                        wire.notice(now, port, up, effects);
                    }
                }
                if let Some(LinkState { rate, .. }) = state {
                    self.node.link_changed(port, rate, facts.fabric().rate_index(rate));
                }
                if let Some(up) = turns {
                    self.node.link_turned(now, port, up, facts, effects);
                }
                if let Some(up) = noticed {
                    self.node.link_noticed(now, port, up, facts, effects);
                }
            }
            Change::Routes(table) => self.node.reroute(now, table.clone(), facts, effects),
        }
    }
}

/// A node that takes samples, or at which something changes.
struct Watched<'a> {
    slot: &'a mut Slot,
    facts: &'a Facts<'a>,
}

impl Handler for Watched<'_> {
    #[inline]
    fn arrive<E: Effects>(&mut self, arrival: Arrival, effects: &mut E) {
        model::Node::arrive(self.slot, arrival, self.facts, effects);
    }

    #[inline]
    fn handle<E: Effects>(&mut self, event: Event, effects: &mut E) {
        model::Node::handle(self.slot, event, self.facts, effects);
    }
}

impl model::Node<Facts<'_>> for Slot {
    fn id(&self) -> NodeId {
        self.id
    }

    fn first_events(&self, facts: &Facts) -> Vec<Event> {
        self.change_event(0).into_iter().chain(self.node.first_events(facts)).collect()
    }

    #[inline(always)]
    fn arrive<E: Effects>(&mut self, arrival: Arrival, facts: &Facts, effects: &mut E) {
        self.catch_up(arrival.now, facts, effects.tally());
        self.node.arrive(arrival, facts, effects);
    }

    #[inline(always)]
    fn handle<E: Effects>(&mut self, event: Event, facts: &Facts, effects: &mut E) {
        self.catch_up(event.time(), facts, effects.tally());
        if event.rank() == rank::CHANGE {
            return self.change(event.time(), event.entity(), facts, effects);
        }
        self.node.handle(event, facts, effects);
    }

    #[inline]
    fn visit(&mut self, visit: impl Visit, facts: &Facts) {
        if self.is_watched() {
            visit.run(&mut Watched { slot: self, facts });
        } else {
            self.node.visit(visit, facts);
        }
    }

    #[inline]
    fn depart<E: Effects>(&mut self, before: u64, facts: &Facts, effects: &mut E) -> Departures {
        self.node.depart(before, facts, effects)
    }

    fn takes_samples(&self) -> bool {
        self.sampler.next() != u64::MAX
    }

    #[inline]
    fn catch_up(&mut self, time: u64, facts: &Facts, tally: &mut Tally) {
        if self.sampler.next() < time {
            self.sampler.run(self.id, self.node.inspect(), time, facts, tally);
        }
    }

    fn end_samples(&mut self, now: u64, facts: &Facts, tally: &mut Tally) {
        self.catch_up(now.saturating_add(1), facts, tally);
        self.sampler.end(tally);
    }

    fn holds(&self, before: u64) -> Vec<Hold> {
        self.node.inspect().holds(before)
    }
}
