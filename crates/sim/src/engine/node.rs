//! Kinds of nodes: what the engine asks of a node, whatever it is.
//!
//! A new kind of node is a file with [`Behaviour`] for it and a line in `nodes!` below; a network names it with
//! [`add_node`](crate::Network::add_node). Every kind has ports: the sending side of each of its links is a
//! [`Port`], and what leaves through one arrives at the far end. `Repeater` in `example/node.rs` is a small one.

use incast_units::{Rate, Time};

use super::deadlock::Hold;
use super::event::{Effects, Event};
use super::world::World;
use crate::describe::Simulation;
use crate::describe::network::{NodeId, PortId};
use crate::forwarding::Table;
use crate::host::Host;
use crate::packet::{IntRecords, Packet};
use crate::port::Port;
use crate::record::{FlowRecord, FlowSample, InternalSample, OperationRecord};
use crate::switch::Switch;
use crate::switch::bfc::BackpressureSwitch;

/// Interface of a node to the engine, which calls the node for each of its events, in order.
pub(crate) trait Behaviour: Sized {
    /// Whether it stores a packet and forwards it when the last bit has arrived. One that does not passes
    /// each bit on as it comes, at the rate at which it comes: it adds nothing to the time that a packet takes.
    const STORES: bool = true;

    /// The node with this number.
    ///
    /// # Errors
    /// When its description contradicts itself: what to say.
    fn new(id: NodeId, world: &World, simulation: &Simulation) -> Result<Self, String>;

    /// The events that get it going.
    fn first_events(&self, _world: &World) -> Vec<Event> {
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
        world: &World,
        effects: &mut E,
    );

    /// Another event: one that it asked for.
    fn handle<E: Effects>(&mut self, event: Event, world: &World, effects: &mut E);

    /// The routes change: another forwarding table holds from now on.
    fn reroute<E: Effects>(&mut self, now: u64, table: Table, world: &World, effects: &mut E);

    /// The link of a port has another rate from now on, which has this index in the table of rates.
    fn rate_changed(&mut self, _port: PortId, _rate: Rate, _index: u32) {}

    /// The sending side of a port, by number; `None` beyond the last one.
    fn wire(&self, port: PortId) -> Option<&Port>;

    /// Borrows the port to change it.
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

    /// Samples the open flows that are to be sampled.
    fn sample_flows(&self, _time: Time, _samples: &mut Vec<FlowSample>, _world: &World) {}

    /// Samples the internal quantities of those flows' congestion controls.
    fn sample_internals(&self, _time: Time, _samples: &mut Vec<InternalSample>) {}

    /// Returns the records of the open flows from here, with their progress so far.
    fn unfinished(&self, _world: &World) -> Vec<FlowRecord> {
        Vec::new()
    }

    /// Returns the open flows from here, with the reason for which each waits.
    fn waits(&self, _world: &World) -> Vec<(u32, String)> {
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

    /// Returns the rules that it violates at the end of the run, given the number of packets that it dropped.
    fn violations(&self, _drops: u64) -> Vec<String> {
        Vec::new()
    }
}

macro_rules! nodes {
    ($($(#[cfg($cfg:meta)])? $variant:ident($node:ty): $meaning:literal;)+) => {
        /// A node's body, of whichever kind.
        #[derive(Debug)]
        pub(crate) enum Node {
            $($(#[cfg($cfg)])? #[doc = $meaning] $variant(Box<$node>),)+
        }

        /// Kind of a node.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum NodeKind {
            $($(#[cfg($cfg)])? #[doc = $meaning] $variant,)+
        }

        impl NodeKind {
            /// Whether a node of this kind stores packets and forwards them.
            pub(crate) const fn stores(self) -> bool {
                match self { $($(#[cfg($cfg)])? Self::$variant => <$node>::STORES,)+ }
            }
        }

        impl Behaviour for Node {
            fn new(id: NodeId, world: &World, simulation: &Simulation) -> Result<Self, String> {
                Ok(match simulation.kind(id) {
                    $($(#[cfg($cfg)])? NodeKind::$variant => Self::$variant(Box::new(<$node>::new(id, world, simulation)?)),)+
                })
            }
            fn first_events(&self, world: &World) -> Vec<Event> {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.first_events(world),)+ }
            }
            #[inline(always)]
            fn arrive<E: Effects>(
                &mut self,
                now: u64,
                port: PortId,
                packet: &mut Packet,
                int: &IntRecords,
                world: &World,
                effects: &mut E,
            ) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.arrive(now, port, packet, int, world, effects),)+ }
            }
            #[inline(always)]
            fn handle<E: Effects>(&mut self, event: Event, world: &World, effects: &mut E) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.handle(event, world, effects),)+ }
            }
            fn reroute<E: Effects>(&mut self, now: u64, table: Table, world: &World, effects: &mut E) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.reroute(now, table, world, effects),)+ }
            }
            fn rate_changed(&mut self, port: PortId, rate: Rate, index: u32) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.rate_changed(port, rate, index),)+ }
            }
            fn wire(&self, port: PortId) -> Option<&Port> {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.wire(port),)+ }
            }
            fn wire_mut(&mut self, port: PortId) -> Option<&mut Port> {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.wire_mut(port),)+ }
            }
            fn queued(&self, port: PortId) -> u64 {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.queued(port),)+ }
            }
            fn held_data(&self) -> u64 {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.held_data(),)+ }
            }
            fn has_samples(&self) -> bool {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.has_samples(),)+ }
            }
            fn sample_flows(&self, time: Time, samples: &mut Vec<FlowSample>, world: &World) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.sample_flows(time, samples, world),)+ }
            }
            fn sample_internals(&self, time: Time, samples: &mut Vec<InternalSample>) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.sample_internals(time, samples),)+ }
            }
            fn unfinished(&self, world: &World) -> Vec<FlowRecord> {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.unfinished(world),)+ }
            }
            fn waits(&self, world: &World) -> Vec<(u32, String)> {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.waits(world),)+ }
            }
            fn unfinished_operations(&self) -> Vec<OperationRecord> {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.unfinished_operations(),)+ }
            }
            fn operation_waits(&self) -> Vec<(u32, String)> {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.operation_waits(),)+ }
            }
            fn holds(&self, before: u64) -> Vec<Hold> {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.holds(before),)+ }
            }
            fn violations(&self, drops: u64) -> Vec<String> {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.violations(drops),)+ }
            }
        }
    };
}

impl Node {
    /// The sending sides of all its ports.
    pub(crate) fn wires(&self) -> impl Iterator<Item = (PortId, &Port)> {
        (0..).map_while(|port| Some((port, self.wire(port)?)))
    }

    /// The node if it is a host.
    pub(crate) fn host(&mut self) -> Option<&mut Host> {
        match self {
            Self::Host(host) => Some(host),
            _ => None,
        }
    }
}

nodes! {
    Host(Host): "Sends and receives flows, never forwards.";
    Switch(Switch): "Stores and forwards packets.";
    BackpressureSwitch(BackpressureSwitch): "Stores and forwards packets with backpressure flow control.";
    OpticalSwitch(crate::circuits::optical::OpticalSwitch): "Passes packets on by a schedule of circuits.";
    Tor(crate::switch::tor::Tor): "The switch of a rack in a network with circuits.";
    #[cfg(test)] Repeater(crate::example::node::Repeater): "An example.";
}
