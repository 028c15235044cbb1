//! Transports: how the data of a flow gets from host to host.
//!
//! A host has one transport, which manages all flows from it and to it. The host's network cards request
//! packets from it when a source of data is scheduled, and deliver arriving packets and timers to it. To
//! add a transport, write its file here and a line in `transports!` below.

mod homa;
mod ndp;
mod window;

use incast_cc::params::Value;
use incast_units::Time;

use super::nic::{Nic, Source};
use super::program::Step;
use super::work::Work;
use crate::describe::control::OwnControl;
use crate::describe::named;
use crate::describe::network::{NodeId, PortId};
use crate::engine::event::{Effects, Event};
use crate::engine::world::World;
use crate::forwarding::Table;
use crate::packet::{IntRecords, Packet};
use crate::record::{FlowRecord, FlowSample};
pub(crate) use homa::Priorities;

/// The interface of a transport to a host and its network cards.
///
/// A transport makes a source ready with [`Nic::push`], once until it is served; then
/// [`poll_send`](Self::poll_send) is called, and [`sent`](Self::sent) if it returned a packet. After a packet of
/// the source has left, if that event was requested ([`Nic::call_when_free`]), [`departed`](Self::departed) is
/// called.
pub(crate) trait Transport {
    /// Its own congestion control; `None` if an algorithm at the sender controls it.
    const OWN_CONTROL: Option<OwnControl> = None;

    /// The transport of one host, without flows.
    fn new(world: &World) -> Self;

    /// Registers a flow to this host; returns the index by which its packets refer to it.
    fn add_incoming(&mut self, flow: u32, peer: u32) -> u32;

    /// The flow `step`, with index `index` here, starts.
    fn start<E: Effects>(&mut self, now: u64, index: u32, step: Step, cx: &mut Context<'_, E>);

    /// The flow stops sending new data.
    fn stop<E: Effects>(&mut self, now: u64, index: u32, cx: &mut Context<'_, E>);

    /// A source is served: its next packet, if it may send one.
    fn poll_send<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>) -> Option<Packet>;

    /// Transmission of that packet has begun; it ends at `done`.
    fn sent<E: Effects>(&mut self, source: Source, done: u64, cx: &mut Context<'_, E>);

    /// The last bit of a packet of this source has left.
    fn departed<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>);

    /// A packet's last bit has arrived.
    fn on_packet<E: Effects>(&mut self, now: u64, packet: &Packet, int: &IntRecords, cx: &mut Context<'_, E>);

    /// In a host with several ports: the result of [`Context::card`] has changed.
    fn rerouted<E: Effects>(&mut self, now: u64, cx: &mut Context<'_, E>);

    /// A timer that it scheduled.
    fn on_timer<E: Effects>(&mut self, event: Event, cx: &mut Context<'_, E>);

    /// The state of an active flow from this host.
    fn sample(&self, time: Time, index: u32, world: &World) -> Option<FlowSample>;

    /// Returns the internal quantities of the congestion control of an active flow from this host, each with
    /// its index in the algorithm's list; none for a transport without congestion control.
    fn internals(&self, _index: u32) -> Vec<(u16, Value)> {
        Vec::new()
    }

    /// The records of active flows from this host so far.
    fn unfinished(&self, world: &World) -> Vec<FlowRecord>;

    /// The active flows from this host, with what each waits for.
    fn waits(&self, nics: &[Nic], world: &World) -> Vec<(u32, String)>;
}

/// The environment of a call to a transport.
pub(crate) struct Context<'a, E> {
    pub(crate) world: &'a World<'a>,
    /// Its host.
    pub(crate) host: NodeId,
    /// The forwarding table of the host, if it has several ports.
    pub(crate) table: Option<&'a Table>,
    /// The network cards of its host.
    pub(crate) nics: &'a mut [Nic],
    /// The operations of its host, if there are any.
    pub(crate) work: &'a mut Option<Box<Work>>,
    pub(crate) effects: &'a mut E,
}

impl<E: Effects> Context<'_, E> {
    /// A flow from this host is done.
    pub(crate) fn finished(&mut self, now: u64, record: FlowRecord) {
        let flow = record.flow;
        let tally = self.effects.tally();
        tally.finished += 1;
        tally.last_finish = tally.last_finish.max(now);
        tally.records.flows.push(record);
        if let Some(work) = &mut self.work {
            work.sent(now, flow, self.world, self.effects);
        }
    }

    /// Reports to the operations that the last missing byte of a flow to this host has arrived.
    pub(crate) fn arrived(&mut self, now: u64, flow: u32) {
        if let Some(work) = &mut self.work {
            work.received(now, flow, self.world, self.effects);
        }
    }

    /// The next flow that an operation of the host starts now.
    pub(super) fn next_flow(&mut self, now: u64) -> Option<u32> {
        self.work.as_mut()?.advance(now, self.world, self.effects)
    }
}

impl<E> Context<'_, E> {
    /// The network card for packets with this hash to another host.
    #[inline]
    pub(crate) fn card(&self, destination: u32, hash: u32) -> PortId {
        self.table.map_or(0, |table| self.world.card(self.host, table, destination, hash))
    }
}

macro_rules! transports {
    ($($(#[cfg($cfg:meta)])? $name:literal => $variant:ident($transport:ty): $meaning:literal;)+) => {
        named! {
            /// The transport of the hosts.
            pub enum Kind {
                $($(#[cfg($cfg)])? $name => $variant: $meaning,)+
            }
        }

        impl Kind {
            /// Whether flows have a congestion control at the sender.
            #[must_use]
            pub const fn is_controlled(self) -> bool {
                self.own_control().is_none()
            }

            /// Returns its own congestion control; `None` if an algorithm at the sender controls it.
            #[must_use]
            pub const fn own_control(self) -> Option<OwnControl> {
                match self { $($(#[cfg($cfg)])? Self::$variant => <$transport as Transport>::OWN_CONTROL,)+ }
            }
        }

        /// A host's transport, of any kind.
        #[derive(Debug)]
        pub(crate) enum AnyTransport {
            $($(#[cfg($cfg)])? #[doc = $meaning] $variant(Box<$transport>),)+
        }

        impl AnyTransport {
            pub(crate) fn new(world: &World) -> Self {
                match world.transport.kind {
                    $($(#[cfg($cfg)])? Kind::$variant => {
                        Self::$variant(Box::new(<$transport>::new(world)))
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
            pub(crate) fn sample(&self, time: Time, index: u32, world: &World) -> Option<FlowSample> {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.sample(time, index, world),)+ }
            }
            pub(crate) fn internals(&self, index: u32) -> Vec<(u16, Value)> {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.internals(index),)+ }
            }
            pub(crate) fn unfinished(&self, world: &World) -> Vec<FlowRecord> {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.unfinished(world),)+ }
            }
            pub(crate) fn waits(&self, nics: &[Nic], world: &World) -> Vec<(u32, String)> {
                match self { $($(#[cfg($cfg)])? Self::$variant(t) => t.waits(nics, world),)+ }
            }
        }
    };
}

transports! {
    "window" => Window(window::Window): "windows and rates set by a congestion control at the sender";
    "ndp" => Ndp(ndp::Ndp): "a first window at line rate, then packets that the receiver pulls; for switches that trim";
    "homa" => Homa(homa::Homa): "messages granted by their receiver, the shortest first, with priorities (Homa)";
    #[cfg(test)] "datagrams" => Datagrams(crate::example::transport::Datagrams): "an example";
}
