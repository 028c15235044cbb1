//! The kinds of nodes.
//!
//! A new kind is a file with [`Behaviour`] for it, a line in `nodes!` below, and its name in
//! [`NodeKind`](incast_net::describe::network::NodeKind), by which [`add_node`](crate::Network::add_node) adds such nodes.

use incast_engine::event::{Effects, Event};
use incast_engine::model::Hold;
use incast_net::describe::Simulation;
use incast_net::describe::network::{NodeId, NodeKind, PortId};
use incast_net::packet::{IntRecords, Packet};
use incast_net::record::{FlowRecord, FlowSample, InternalSample, OperationRecord};
use incast_net::routing::forwarding::Table;
use incast_units::{Rate, Time};

use crate::facts::Facts;
use crate::host::Host;
use crate::host::transport::any::Shared;
use crate::node::Behaviour;
use crate::port::Port;
use crate::switch::Switch;
use crate::switch::bfc::BackpressureSwitch;
use crate::switch::optical::OpticalSwitch;
use crate::switch::tor::Tor;

/// How a node of some kind is made.
type New<N> = fn(NodeId, &Facts<'_>, &Simulation, &Shared) -> Result<N, String>;

macro_rules! nodes {
    ($($(#[cfg($cfg:meta)])? $variant:ident($node:ty) by $new:expr;)+) => {
        /// A node's body, of whichever kind.
        #[derive(Debug)]
        pub(crate) enum Node {
            $($(#[cfg($cfg)])? $variant(Box<$node>),)+
        }

        impl Node {
            /// Makes the node with this number.
            ///
            /// # Errors
            /// When its description contradicts itself: what to say.
            pub(crate) fn new(
                id: NodeId,
                facts: &Facts,
                simulation: &Simulation,
                transports: &Shared,
            ) -> Result<Self, String> {
                Ok(match simulation.kind(id) {
                    $($(#[cfg($cfg)])? NodeKind::$variant => {
                        let new: New<$node> = $new;
                        Self::$variant(Box::new(new(id, facts, simulation, transports)?))
                    })+
                })
            }
        }

        impl Behaviour for Node {
            fn first_events(&self, facts: &Facts) -> Vec<Event> {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.first_events(facts),)+ }
            }
            #[inline(always)]
            fn arrive<E: Effects>(
                &mut self,
                now: u64,
                port: PortId,
                packet: &mut Packet,
                int: &IntRecords,
                facts: &Facts,
                effects: &mut E,
            ) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.arrive(now, port, packet, int, facts, effects),)+ }
            }
            #[inline(always)]
            fn handle<E: Effects>(&mut self, event: Event, facts: &Facts, effects: &mut E) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.handle(event, facts, effects),)+ }
            }
            fn reroute<E: Effects>(&mut self, now: u64, table: Table, facts: &Facts, effects: &mut E) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.reroute(now, table, facts, effects),)+ }
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
            fn sample_flows(&self, time: Time, samples: &mut Vec<FlowSample>, facts: &Facts) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.sample_flows(time, samples, facts),)+ }
            }
            fn sample_internals(&self, time: Time, samples: &mut Vec<InternalSample>) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.sample_internals(time, samples),)+ }
            }
            fn unfinished(&self, facts: &Facts) -> Vec<FlowRecord> {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.unfinished(facts),)+ }
            }
            fn waits(&self, facts: &Facts) -> Vec<(u32, String)> {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.waits(facts),)+ }
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
    Host(Host) by Host::new;
    Switch(Switch) by |id, facts, simulation, _| Switch::new(id, facts, simulation);
    BackpressureSwitch(BackpressureSwitch) by
        |id, facts, simulation, _| BackpressureSwitch::new(id, facts, simulation);
    OpticalSwitch(OpticalSwitch) by |id, facts, _, _| Ok(OpticalSwitch::new(id, facts));
    Tor(Tor) by |id, facts, simulation, _| Tor::new(id, facts, simulation);
    #[cfg(feature = "examples")] Repeater(crate::example::node::Repeater) by |id, facts, _, _| crate::example::node::Repeater::new(id, facts);
}
