//! The interface of a transport, and its view of the host.

use std::collections::BTreeMap;

use incast_engine::event::{Effects, Event};
use incast_net::describe::Simulation;
use incast_net::describe::network::{NodeId, PortId};
use incast_net::packet::{IntRecords, NO_INT, Packet};
use incast_net::record::{Division, FlowRecord, LimitRecord, OwnPacket};
use incast_net::routing::forwarding::Table;
use incast_units::Time;

use super::explain::{Explained, explained};
use crate::facts::flows::{FlowFacts, Way};
use crate::facts::work::WorkFacts;
use crate::host::nic::{Nic, Source};
use crate::host::program::Step;
use crate::host::work::Work;
use crate::node::FlowView;
use crate::relative::State;

/// The interface of a transport to a host and its network cards.
///
/// A transport makes a source ready with [`Nic::push`], once until it is served; then
/// [`poll_send`](Self::poll_send) is called, and [`sent`](Self::sent) if it returned a packet. After a packet of
/// the source has left, if that event was requested ([`Nic::request_departure`]), [`departed`](Self::departed) is
/// called.
pub(crate) trait Transport {
    /// State that the transports of all hosts share.
    type Shared: core::fmt::Debug;

    /// Its own packets, by [`Packet::op`].
    const OWN: &'static [OwnPacket] = &[];

    /// Computes what the transports of all hosts share.
    ///
    /// # Errors
    /// When a setting is impossible, or a flow is one that the transport cannot send.
    fn prepare(simulation: &Simulation, facts: &FlowFacts) -> Result<Self::Shared, String>;

    /// The transport of one host, without flows.
    fn new(shared: &Self::Shared, facts: &FlowFacts) -> Self;

    /// Registers a flow to this host; returns the index by which its packets refer to it.
    fn add_incoming(&mut self, flow: u32, peer: u32) -> u32;

    /// The flow `step`, with index `index` here, starts.
    fn start<E: Effects>(&mut self, now: u64, index: u32, step: Step, cx: &mut Context<'_, E>);

    /// The flow stops sending new data. Does nothing in a transport whose flows have no stop time.
    fn stop<E: Effects>(&mut self, _now: u64, _index: u32, _cx: &mut Context<'_, E>) {}

    /// A source is served: its next packet, if it may send one.
    fn poll_send<E: Effects>(
        &mut self,
        _now: u64,
        _source: Source,
        _cx: &mut Context<'_, E>,
    ) -> Option<Packet> {
        None
    }

    /// Transmission of that packet has begun; it ends at `done`.
    fn sent<E: Effects>(&mut self, _source: Source, _done: u64, _cx: &mut Context<'_, E>) {}

    /// A source is served at a free port: sends its next packet with [`Context::send`], if it may send one. Returns whether
    /// it has. A transport that implements this needs neither [`poll_send`](Self::poll_send) nor [`sent`](Self::sent).
    #[inline(always)]
    fn serve<E: Effects>(&mut self, now: u64, port: usize, source: Source, cx: &mut Context<'_, E>) -> bool {
        let Some(mut packet) = self.poll_send(now, source, cx) else { return false };
        let done = cx.send(now, port, source, &mut packet);
        self.sent(source, done, cx);
        true
    }

    /// The last bit of a packet of this source has left.
    fn departed<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>);

    /// Does what [`departed`](Self::departed) does, or at once what follows from it: sends the next packet of the source, if
    /// nothing else waits in its host, which has one card. Returns whether it has sent one.
    #[inline(always)]
    fn follow<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>) -> bool {
        self.departed(now, source, cx);
        false
    }

    /// A packet's last bit has arrived.
    fn on_packet<E: Effects>(&mut self, now: u64, packet: &Packet, int: &IntRecords, cx: &mut Context<'_, E>);

    /// In a host with several ports: the result of [`Context::nic_for`] has changed. Flows stay on their card unless
    /// a transport moves them.
    fn rerouted<E: Effects>(&mut self, _now: u64, _cx: &mut Context<'_, E>) {}

    /// A timer that it scheduled has expired.
    fn on_timer<E: Effects>(&mut self, _event: Event, _cx: &mut Context<'_, E>) {}

    /// Passes on what counts of it while every flow that has started is done, and for each connection of flows from here
    /// the number of messages that are left. By default it cannot be compared.
    fn relate(&self, _facts: &FlowFacts, state: &mut State, _left: &mut BTreeMap<u32, u32>) {
        state.unless(true, "the transport");
    }

    /// Passes each open flow from this host to `see`.
    fn each_flow(&self, nics: &[Nic], facts: &FlowFacts, see: &mut dyn FnMut(&dyn FlowView));

    /// Explains a packet captured at `now`; `None` for a frame of flow control. Bodies that are not laid out as
    /// [`explained`] expects need an explanation of their own.
    fn explain(packet: &Packet, now: u64) -> Option<Explained> {
        explained(packet, now, Self::OWN)
    }
}

/// A host as its transport sees it. One structure, so that a [`Context`] is made with few words: one is made for each
/// event.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) node: NodeId,
    /// Table that chooses among several ports; a host with one port has none.
    pub(crate) table: Option<Box<Table>>,
    /// The network cards.
    pub(crate) nics: Vec<Nic>,
    /// The operations, if there are any.
    pub(crate) work: Option<Box<Work>>,
}

/// The environment of a call to a transport.
pub(crate) struct Context<'a, E> {
    pub(crate) facts: &'a FlowFacts<'a>,
    /// The facts of the operations of its host.
    pub(crate) operations: &'a WorkFacts<'a>,
    /// Its host.
    pub(crate) home: &'a mut Home,
    pub(crate) effects: &'a mut E,
}

impl<E: Effects> Context<'_, E> {
    /// Begins to send a packet of a source at a free port. Returns the time at which its last bit will have left. (ps)
    #[inline(always)]
    pub(crate) fn send(&mut self, now: u64, port: usize, source: Source, packet: &mut Packet) -> u64 {
        self.effects.tally().counts.sent += 1;
        self.home.nics[port].send(now, source, packet, &NO_INT, self.effects)
    }

    /// A flow from this host is done, whose time is divided so.
    pub(crate) fn finished(&mut self, now: u64, record: FlowRecord, division: Division) {
        let FlowRecord { flow, start, .. } = record;
        let counted = self.facts.flows[flow as usize].counted;
        let tally = self.effects.tally();
        tally.counts.finished += 1;
        tally.counts.counted += u64::from(counted);
        tally.counts.last_finish = tally.counts.last_finish.max(now);
        tally.records.flows.push(record);
        tally.records.limits.push(LimitRecord { flow, start, end: Time::from_ps(now), division });
        if let Some(work) = &mut self.home.work {
            work.sent(now, flow, self.operations, self.effects);
        }
    }

    /// The last byte of a flow to this host that was missing has arrived.
    pub(crate) fn arrived(&mut self, now: u64, flow: u32) {
        let counts = &mut self.effects.tally().counts;
        let described = &self.facts.flows[flow as usize];
        if self.facts.ending.is_distant(described) {
            counts.distant_arrived += 1;
        } else {
            counts.near_arrived += u64::from(described.counted);
        }
        if let Some(work) = &mut self.home.work {
            work.received(now, flow, self.operations, self.effects);
        }
    }

    /// The next flow that an operation of the host starts now.
    pub(crate) fn next_flow(&mut self, now: u64) -> Option<u32> {
        self.home.work.as_mut()?.advance(now, self.operations, self.effects)
    }
}

impl<E> Context<'_, E> {
    /// The network card of its host for packets of a flow with this hash.
    #[inline(always)]
    pub(crate) fn nic_for(&self, flow: u32, way: Way, hash: impl FnOnce() -> u32) -> PortId {
        match &self.home.table {
            None => 0,
            Some(table) => self.facts.nic_for(flow, way, table, hash()),
        }
    }
}
