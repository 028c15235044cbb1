//! The transports. To add one, write its file here and a line in `transports!` below; its name is in
//! [`Kind`].

use incast_cc::params::Value;
use incast_engine::event::{Effects, Event};
use incast_net::describe::Simulation;
use incast_net::describe::transport::Kind;
use incast_net::packet::{IntRecords, Packet};
use incast_net::record::{FlowRecord, FlowSample};
use incast_units::Time;

use super::context::{Context, Transport};
use super::homa::Homa;
use super::ndp::Ndp;
use super::window::Window;
use crate::facts::Facts;
use crate::host::nic::{Nic, Source};
use crate::host::program::Step;

macro_rules! transports {
    ($($(#[cfg($cfg:meta)])? $variant:ident($transport:ty);)+) => {
        /// What the transports of all hosts share, of any kind.
        #[derive(Debug)]
        pub(crate) enum Shared {
            $($(#[cfg($cfg)])? $variant(<$transport as Transport>::Shared),)+
        }

        impl Shared {
            /// Computes it for the transport of a description. See [`Transport::prepare`].
            pub(crate) fn prepare(simulation: &Simulation, facts: &Facts) -> Result<Self, String> {
                Ok(match simulation.transport.kind {
                    $($(#[cfg($cfg)])? Kind::$variant => {
                        Self::$variant(<$transport>::prepare(simulation, facts)?)
                    })+
                })
            }
        }

        /// A host's transport, of any kind.
        #[derive(Debug)]
        pub(crate) enum AnyTransport {
            $($(#[cfg($cfg)])? $variant(Box<$transport>),)+
        }

        impl AnyTransport {
            pub(crate) fn new(shared: &Shared, facts: &Facts) -> Self {
                match shared {
                    $($(#[cfg($cfg)])? Shared::$variant(shared) => {
                        Self::$variant(Box::new(<$transport>::new(shared, facts)))
                    })+
                }
            }
            pub(crate) fn add_incoming(&mut self, flow: u32, peer: u32) -> u32 {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.add_incoming(flow, peer),)+ }
            }
            pub(crate) fn start<E: Effects>(&mut self, now: u64, index: u32, step: Step, cx: &mut Context<'_, E>) {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.start(now, index, step, cx),)+ }
            }
            pub(crate) fn stop<E: Effects>(&mut self, now: u64, index: u32, cx: &mut Context<'_, E>) {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.stop(now, index, cx),)+ }
            }
            #[inline(always)]
            pub(crate) fn poll_send<E: Effects>(
                &mut self, now: u64, source: Source, cx: &mut Context<'_, E>,
            ) -> Option<Packet> {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.poll_send(now, source, cx),)+ }
            }
            #[inline(always)]
            pub(crate) fn sent<E: Effects>(&mut self, source: Source, done: u64, cx: &mut Context<'_, E>) {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.sent(source, done, cx),)+ }
            }
            #[inline(always)]
            pub(crate) fn departed<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>) {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.departed(now, source, cx),)+ }
            }
            #[inline(always)]
            pub(crate) fn on_packet<E: Effects>(
                &mut self, now: u64, packet: &Packet, int: &IntRecords, cx: &mut Context<'_, E>,
            ) {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.on_packet(now, packet, int, cx),)+ }
            }
            pub(crate) fn rerouted<E: Effects>(&mut self, now: u64, cx: &mut Context<'_, E>) {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.rerouted(now, cx),)+ }
            }
            #[inline]
            pub(crate) fn on_timer<E: Effects>(&mut self, event: Event, cx: &mut Context<'_, E>) {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.on_timer(event, cx),)+ }
            }
            pub(crate) fn sample(&self, time: Time, index: u32, facts: &Facts) -> Option<FlowSample> {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.sample(time, index, facts),)+ }
            }
            pub(crate) fn internals(&self, index: u32) -> Vec<(u16, Value)> {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.internals(index),)+ }
            }
            pub(crate) fn unfinished(&self, facts: &Facts) -> Vec<FlowRecord> {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.unfinished(facts),)+ }
            }
            pub(crate) fn waits(&self, nics: &[Nic], facts: &Facts) -> Vec<(u32, String)> {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.waits(nics, facts),)+ }
            }
        }
    };
}

transports! {
    Window(Window);
    Ndp(Ndp);
    Homa(Homa);
    #[cfg(feature = "examples")] Datagrams(crate::example::transport::Datagrams);
}
