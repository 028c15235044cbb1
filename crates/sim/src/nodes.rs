//! The kinds of nodes.
//!
//! A new kind is a file with [`Behaviour`] for it, a line in `nodes!` below, and its name in
//! [`NodeKind`], by which [`add_node`](crate::Network::add_node) adds such nodes.

use incast_engine::event::{Effects, Event};
use incast_engine::model::{Arrival, Departures, Handler, Visit};
use incast_net::describe::Simulation;
use incast_net::describe::network::{NodeId, NodeKind, PortId};
use incast_net::routing::forwarding::Table;
use incast_units::Rate;

use crate::facts::Facts;
use crate::host::Host;
use crate::host::receiver::SlowHost;
use crate::host::transport::Shared;
use crate::node::{Behaviour, Inspect};
use crate::port::Port;
use crate::relative::{Progress, State};
use crate::switch::Switch;
use crate::switch::bfc::BackpressureSwitch;
use crate::switch::optical::OpticalSwitch;
use crate::switch::tor::Tor;
use crate::switch::watchdog::WatchedSwitch;

/// Constructor of a kind of node.
type New<N> = fn(NodeId, &Facts<'_>, &Simulation, &Shared) -> Result<N, String>;

/// A node of one kind, with the facts that it needs.
struct OfKind<'a, N: Behaviour> {
    node: &'a mut N,
    facts: &'a N::Facts<'a>,
}

impl<N: Behaviour> Handler for OfKind<'_, N> {
    #[inline(always)]
    fn arrive<E: Effects>(&mut self, arrival: Arrival, effects: &mut E) {
        self.node.arrive(arrival, self.facts, effects);
    }

    #[inline(always)]
    fn handle<E: Effects>(&mut self, event: Event, effects: &mut E) {
        self.node.handle(event, self.facts, effects);
    }
}

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

        impl Node {
            /// Handles the events of a window: which kind it is, is asked once.
            #[inline]
            pub(crate) fn visit(&mut self, visit: impl Visit, facts: &Facts) {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(node) => visit.run(&mut OfKind { node: &mut **node, facts: facts.as_ref() }),)+
                }
            }

            /// Returns what an observer sees of it.
            pub(crate) fn inspect(&self) -> &dyn Inspect {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => &**node,)+ }
            }
        }

        impl Behaviour for Node {
            type Facts<'a> = Facts<'a>;

            fn first_events(&self, facts: &Facts) -> Vec<Event> {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.first_events(facts.as_ref()),)+ }
            }
            #[inline(always)]
            fn arrive<E: Effects>(&mut self, arrival: Arrival, facts: &Facts, effects: &mut E) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.arrive(arrival, facts.as_ref(), effects),)+ }
            }
            #[inline(always)]
            fn handle<E: Effects>(&mut self, event: Event, facts: &Facts, effects: &mut E) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.handle(event, facts.as_ref(), effects),)+ }
            }
            fn depart_late(&mut self) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.depart_late(),)+ }
            }
            #[inline]
            fn depart<E: Effects>(&mut self, before: u64, facts: &Facts, effects: &mut E) -> Departures {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.depart(before, facts.as_ref(), effects),)+ }
            }
            fn reroute<E: Effects>(&mut self, now: u64, table: Table, facts: &Facts, effects: &mut E) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.reroute(now, table, facts.as_ref(), effects),)+ }
            }
            fn link_changed(&mut self, port: PortId, rate: Rate, index: u32) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.link_changed(port, rate, index),)+ }
            }
            fn link_turned<E: Effects>(&mut self, now: u64, port: PortId, up: bool, facts: &Facts, effects: &mut E) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.link_turned(now, port, up, facts.as_ref(), effects),)+ }
            }
            fn link_noticed<E: Effects>(&mut self, now: u64, port: PortId, up: bool, facts: &Facts, effects: &mut E) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.link_noticed(now, port, up, facts.as_ref(), effects),)+ }
            }
            fn relate(&self, facts: &Facts, state: &mut State, work: &mut Progress) {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.relate(facts.as_ref(), state, work),)+ }
            }
            fn egress_mut(&mut self, port: PortId) -> Option<&mut Port> {
                match self { $($(#[cfg($cfg)])? Self::$variant(node) => node.egress_mut(port),)+ }
            }
        }
    };
}

impl Node {
    /// The node if it is a host.
    pub(crate) fn host(&mut self) -> Option<&mut Host> {
        match self {
            Self::Host(host) => Some(host),
            Self::SlowHost(slow) => Some(slow.host()),
            _ => None,
        }
    }
}

nodes! {
    Host(Host) by |id, facts, simulation, transports| Host::new(id, &facts.hosts, simulation, transports);
    SlowHost(SlowHost) by |id, facts, simulation, transports| SlowHost::new(id, facts, simulation, transports);
    Switch(Switch) by |id, facts, simulation, _| Switch::new(id, facts.fabric(), simulation);
    BackpressureSwitch(BackpressureSwitch) by
        |id, facts, simulation, _| BackpressureSwitch::new(id, facts.fabric(), simulation);
    WatchedSwitch(WatchedSwitch) by |id, facts, simulation, _| WatchedSwitch::new(id, facts.fabric(), simulation);
    OpticalSwitch(OpticalSwitch) by |id, facts, _, _| Ok(OpticalSwitch::new(id, facts.fabric()));
    Tor(Tor) by |id, facts, simulation, _| Tor::new(id, facts.fabric(), simulation);
    #[cfg(feature = "examples")] Repeater(crate::example::node::Repeater) by |id, facts, _, _| crate::example::node::Repeater::new(id, facts.fabric());
}
