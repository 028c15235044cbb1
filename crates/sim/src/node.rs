//! The interfaces of a node of any kind.
//!
//! Every kind has ports: the sending side of each of its links is a [`Port`], and what leaves through one arrives at
//! the far end. `Repeater` in `example/node.rs` is a small one.

use incast_cc::params::Value;
use incast_engine::event::{Effects, Event};
use incast_engine::model::{Arrival, Departures, Hold};
use incast_net::describe::network::PortId;
use incast_net::record::{Division, FlowRecord, FlowSample, Limit, OperationRecord};
use incast_net::routing::forwarding::Table;
use incast_units::{Rate, Time};

use crate::facts::flows::FlowFacts;
use crate::port::Port;
use crate::relative::{Progress, State};

/// Interface of a node to the engine, which calls the node for each of its events, in order.
pub(crate) trait Behaviour: Sized {
    /// The facts that it needs.
    type Facts<'a>;

    /// Returns its initial events.
    fn first_events(&self, _facts: &Self::Facts<'_>) -> Vec<Event> {
        Vec::new()
    }

    /// A packet has arrived.
    ///
    /// On the way of a packet this is the only call: it is never part of the loop over events, which then keeps its
    /// variables in registers, and all up to the ring of the next link is part of it (`inline(always)`).
    fn arrive<E: Effects>(&mut self, arrival: Arrival, facts: &Self::Facts<'_>, effects: &mut E);

    /// Another event: one that it asked for.
    fn handle<E: Effects>(&mut self, event: Event, facts: &Self::Facts<'_>, effects: &mut E);

    /// Nothing changes at the node and nobody takes samples of it: it may leave departures to [`Self::depart`].
    fn depart_late(&mut self) {}

    /// Sends everything that departs before `before` and is no event. (ps)
    #[inline]
    fn depart<E: Effects>(&mut self, _before: u64, _facts: &Self::Facts<'_>, _effects: &mut E) -> Departures {
        Departures::NONE
    }

    /// The routes change: another forwarding table holds from now on.
    fn reroute<E: Effects>(&mut self, now: u64, table: Table, facts: &Self::Facts<'_>, effects: &mut E);

    /// The link of a port has another rate from now on, which has this index in the table of rates.
    fn link_changed(&mut self, _port: PortId, _rate: Rate, _index: u32) {}

    /// The link of a port has returned or failed.
    fn link_turned<E: Effects>(
        &mut self,
        _now: u64,
        _port: PortId,
        _up: bool,
        _facts: &Self::Facts<'_>,
        _effects: &mut E,
    ) {
    }

    /// The node notices that the link of a port has returned or failed.
    fn link_noticed<E: Effects>(
        &mut self,
        _now: u64,
        _port: PortId,
        _up: bool,
        _facts: &Self::Facts<'_>,
        _effects: &mut E,
    ) {
    }

    /// Passes on what counts of it while the network is quiet. See [`relative`](crate::relative). By default it cannot be
    /// compared.
    fn relate(&self, _facts: &Self::Facts<'_>, state: &mut State, _work: &mut Progress) {
        state.unless(true, "the kind");
    }

    /// Borrows the sending side of a port to change it.
    fn egress_mut(&mut self, port: PortId) -> Option<&mut Port>;
}

/// The view of a node for probes, diagnoses and the end of a run. No method is called with each packet.
pub(crate) trait Inspect {
    /// The sending side of a port, by number; `None` beyond the last one.
    fn egress(&self, port: PortId) -> Option<&Port>;

    /// Bytes that wait for a port.
    fn queued(&self, _port: PortId) -> u64 {
        0
    }

    /// Data packets that it holds.
    fn held_data(&self) -> u64 {
        0
    }

    /// Whether flows can start here.
    fn has_flows(&self) -> bool {
        false
    }

    /// Whether any of the flows from here is sampled.
    fn has_samples(&self) -> bool {
        false
    }

    /// Whether this flow from here is sampled.
    fn is_sampled(&self, _flow: u32) -> bool {
        false
    }

    /// Passes each open flow from here to `see`.
    fn each_flow(&self, _facts: &FlowFacts, _see: &mut dyn FnMut(&dyn FlowView)) {}

    /// Operations that have started and not ended.
    fn unfinished_operations(&self) -> Vec<OperationRecord> {
        Vec::new()
    }

    /// Operations that have started and not ended, with what each waits for.
    fn operation_waits(&self) -> Vec<(u32, String)> {
        Vec::new()
    }

    /// Its pauses of others, asked for by `before`, which end only if a pause of its own ports does.
    fn holds(&self, _before: u64) -> Vec<Hold> {
        Vec::new()
    }

    /// Whether it has drawn about packets: by their positions and times, so that the same draws never come again.
    fn has_drawn(&self) -> bool {
        false
    }

    /// Returns the rules that it violates at the end of the run.
    fn violations(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The view of an open flow at its sender.
pub(crate) trait FlowView {
    /// Returns its index among the simulation's flows.
    fn flow(&self) -> u32;

    /// Returns its record, with its progress so far.
    fn record(&self) -> FlowRecord;

    /// Returns its time since its start, divided by what kept its next packet back.
    fn division(&self, now: u64) -> Division;

    /// Returns what keeps its next packet back at `now`: the part that its time counts towards from then on.
    fn limit(&self, now: u64) -> Limit {
        let [before, after] = [now, now + 1].map(|time| self.division(time));
        let grows = |limit: &Limit| after.of(*limit) > before.of(*limit);
        Limit::ALL.into_iter().find(grows).unwrap_or(Limit::Answer)
    }

    /// Samples its state. A transport that has neither windows nor rates reports what is acknowledged.
    fn sample(&self, time: Time) -> FlowSample {
        FlowSample::of_progress(time, self.flow(), self.record().bytes)
    }

    /// Returns the internal quantities of its congestion control, each with its index in the algorithm's list;
    /// none without congestion control.
    fn internals(&self) -> Vec<(u16, Value)> {
        Vec::new()
    }

    /// Describes the event for which it waits.
    fn waits_for(&self) -> String;
}
