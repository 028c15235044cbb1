//! What is asked of a node, of whichever kind.
//!
//! Every kind has ports: the sending side of each of its links is a [`Port`], and what leaves through one arrives at
//! the far end. `Repeater` in `example/node.rs` is a small one.

use incast_engine::event::{Effects, Event};
use incast_engine::model::Hold;
use incast_net::describe::network::PortId;
use incast_net::packet::{IntRecords, Packet};
use incast_net::record::{FlowRecord, FlowSample, InternalSample, OperationRecord};
use incast_net::routing::forwarding::Table;
use incast_units::{Rate, Time};

use crate::facts::Facts;
use crate::port::Port;

/// What the engine asks of a node. It calls the node for each of its events, in order.
pub(crate) trait Behaviour: Sized {
    /// The events that get it going.
    fn first_events(&self, _world: &Facts) -> Vec<Event> {
        Vec::new()
    }

    /// A packet's last bit has arrived at `port`.
    ///
    /// On the way of a packet this is the only call: it is never part of the loop over events, which then keeps its
    /// variables in registers, and all up to the ring of the next link is part of it (`inline(always)`).
    fn arrive<E: Effects>(
        &mut self,
        now: u64,
        port: PortId,
        packet: &mut Packet,
        int: &IntRecords,
        facts: &Facts,
        effects: &mut E,
    );

    /// Another event: one that it asked for.
    fn handle<E: Effects>(&mut self, event: Event, facts: &Facts, effects: &mut E);

    /// The routes change: another forwarding table holds from now on.
    fn reroute<E: Effects>(&mut self, now: u64, table: Table, facts: &Facts, effects: &mut E);

    /// The link of a port has another rate from now on, which has this index in the table of rates.
    fn rate_changed(&mut self, _port: PortId, _rate: Rate, _index: u32) {}

    /// The sending side of a port, by number; `None` beyond the last one.
    fn wire(&self, port: PortId) -> Option<&Port>;

    /// The same, to be changed.
    fn wire_mut(&mut self, port: PortId) -> Option<&mut Port>;

    /// Bytes that wait for a port.
    fn queued(&self, _port: PortId) -> u64 {
        0
    }

    /// Data packets that it holds.
    fn held_data(&self) -> u64 {
        0
    }

    /// Whether any of the flows from here is sampled.
    fn has_samples(&self) -> bool {
        false
    }

    /// Samples the flows that are to be sampled and are under way.
    fn sample_flows(&self, _time: Time, _samples: &mut Vec<FlowSample>, _world: &Facts) {}

    /// Samples the internal quantities of those flows' congestion controls.
    fn sample_internals(&self, _time: Time, _samples: &mut Vec<InternalSample>) {}

    /// The flows from here that are under way, as far as they have come.
    fn unfinished(&self, _world: &Facts) -> Vec<FlowRecord> {
        Vec::new()
    }

    /// The flows from here that are under way, with what each waits for.
    fn waits(&self, _world: &Facts) -> Vec<(u32, String)> {
        Vec::new()
    }

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

    /// What is wrong with it at the end of the run, given how many packets it dropped.
    fn violations(&self, _drops: u64) -> Vec<String> {
        Vec::new()
    }
}
