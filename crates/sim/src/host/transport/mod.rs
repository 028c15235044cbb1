//! Transports: how the data of a flow gets from host to host.
//!
//! A host has one transport, which manages all flows from it and to it. The host's network cards request
//! packets from it when a source of data is scheduled, and deliver arriving packets and timers to it.
//!
//! To add one, write its file or folder here, with a `mod` line and a line in `transports!` below; its name is in
//! [`Kind`].

pub(crate) mod account;
pub(crate) mod context;
pub(crate) mod explain;
mod homa;
mod incoming;
mod ndp;
mod reply;
mod spare;
mod window;

use std::collections::BTreeMap;

use incast_engine::event::{Effects, Event};
use incast_net::describe::Simulation;
use incast_net::describe::transport::Kind;
use incast_net::packet::{IntRecords, Packet};
#[cfg(test)]
use incast_net::record::OwnPacket;

use context::{Context, Transport};
use explain::Explained;
use homa::Homa;
use ndp::Ndp;
use window::Window;

use crate::facts::flows::FlowFacts;
use crate::host::nic::{Nic, Source};
use crate::host::program::Step;
use crate::node::FlowView;
use crate::relative::State;

macro_rules! transports {
    ($($(#[cfg($cfg:meta)])? $variant:ident($transport:ty);)+) => {
        /// State that the transports of all hosts share, for each kind of transport.
        #[derive(Debug)]
        pub(crate) enum Shared {
            $($(#[cfg($cfg)])? $variant(<$transport as Transport>::Shared),)+
        }

        impl Shared {
            /// Computes it for the transport of a description. See [`Transport::prepare`].
            pub(crate) fn prepare(simulation: &Simulation, facts: &FlowFacts) -> Result<Self, String> {
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
            pub(crate) fn new(shared: &Shared, facts: &FlowFacts) -> Self {
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
            pub(crate) fn serve<E: Effects>(
                &mut self, now: u64, port: usize, source: Source, cx: &mut Context<'_, E>,
            ) -> bool {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.serve(now, port, source, cx),)+ }
            }
            #[inline(always)]
            pub(crate) fn follow<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>) -> bool {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.follow(now, source, cx),)+ }
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
            pub(crate) fn relate(&self, facts: &FlowFacts, state: &mut State, left: &mut BTreeMap<u32, u32>) {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.relate(facts, state, left),)+ }
            }
            pub(crate) fn each_flow(&self, nics: &[Nic], facts: &FlowFacts, see: &mut dyn FnMut(&dyn FlowView)) {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.each_flow(nics, facts, see),)+ }
            }
        }

        /// Returns the explanation of packets of a kind of transport. See [`Transport::explain`].
        pub(crate) fn explainer(kind: Kind) -> fn(&Packet, u64) -> Option<Explained> {
            match kind { $($(#[cfg($cfg)])? Kind::$variant => <$transport>::explain,)+ }
        }

        /// Every transport's own packets.
        #[cfg(test)]
        const OWN: &[&[OwnPacket]] = &[$($(#[cfg($cfg)])? <$transport>::OWN,)+];
    };
}

transports! {
    Window(Window);
    Ndp(Ndp);
    Homa(Homa);
    #[cfg(feature = "examples")] Credits(crate::example::transport::Credits);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use incast_net::record::PacketKind;

    use super::*;

    #[test]
    fn no_two_kinds_of_packets_have_one_code_or_name() {
        let own = || OWN.iter().copied().flatten().map(|own| PacketKind::Own(*own));
        let all: Vec<_> = PacketKind::SHARED.into_iter().chain(own()).collect();
        let codes: BTreeSet<u8> = all.iter().map(|kind| kind.code()).collect();
        let names: BTreeSet<&str> = all.iter().map(|kind| kind.name()).collect();
        assert_eq!((codes.len(), names.len()), (all.len(), all.len()));
        // NDP's pull, Homa's two, and the example's.
        assert_eq!(own().map(PacketKind::code).collect::<Vec<_>>(), [8, 9, 10, 12]);
    }
}
