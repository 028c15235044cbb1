//! Homa (Montazeri et al., SIGCOMM 2018): a flow is a message. Its first bytes are sent at once, the others
//! when the receiver grants them; receivers grant, and senders send, the messages with the fewest bytes left;
//! switches serve packets by priority levels. There is no congestion control at the sender.

mod line;
mod priorities;
mod ranges;
mod receiver;
mod sender;
mod wire;

use incast_engine::event::{Effects, Event};
use incast_net::describe::Simulation;
use incast_net::packet::{IntRecords, Kind, Packet};
use incast_net::record::OwnPacket;

use priorities::Priorities;
use receiver::Receivers;
use sender::Senders;

use super::context::{Context, Transport};
use crate::facts::flows::FlowFacts;
use crate::host::nic::{Nic, Source};
use crate::host::program::Step;
use crate::node::FlowView;
use crate::rank;

/// The messages from and to one host.
#[derive(Debug)]
pub(crate) struct Homa {
    priorities: Priorities,
    senders: Senders,
    receivers: Receivers,
}

impl Transport for Homa {
    type Shared = Priorities;

    const OWN: &'static [OwnPacket] = &wire::OWN;

    fn prepare(simulation: &Simulation, facts: &FlowFacts) -> Result<Priorities, String> {
        Priorities::new(simulation, &facts.fabric.routes, facts.plain_sizes())
    }

    fn new(shared: &Priorities, _: &FlowFacts) -> Self {
        Self { priorities: shared.clone(), senders: Senders::default(), receivers: Receivers::default() }
    }

    fn add_incoming(&mut self, flow: u32, peer: u32) -> u32 {
        self.receivers.add(flow, peer)
    }

    fn start<E: Effects>(&mut self, now: u64, index: u32, step: Step, cx: &mut Context<'_, E>) {
        self.senders.start(now, index, step, &self.priorities, cx);
    }

    #[inline(never)]
    fn poll_send<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>) -> Option<Packet> {
        self.senders.poll_send(now, source, &self.priorities, cx)
    }

    /// Other packets that wait became ready when this one was taken.
    #[inline(never)]
    fn sent<E: Effects>(&mut self, source: Source, done: u64, _cx: &mut Context<'_, E>) {
        self.senders.sent(source, done);
    }

    #[inline(never)]
    fn departed<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>) {
        self.senders.departed(now, source, cx);
    }

    #[inline(never)]
    fn on_packet<E: Effects>(&mut self, now: u64, packet: &Packet, _: &IntRecords, cx: &mut Context<'_, E>) {
        match packet.kind {
            Kind::Data => self.receivers.on_data(now, packet, &self.priorities, cx),
            Kind::Own => self.senders.on_control(now, packet, &self.priorities, cx),
            Kind::Ack => self.senders.on_ack(now, packet, &self.priorities, cx),
            // The network card reads pauses; no receiver sends the others.
            Kind::Nack
            | Kind::Cnp
            | Kind::Header
            | Kind::Returned
            | Kind::Pause
            | Kind::Resume
            | Kind::PauseMap => {}
        }
    }

    fn rerouted<E: Effects>(&mut self, now: u64, cx: &mut Context<'_, E>) {
        self.senders.rerouted(now, &self.priorities, cx);
    }

    fn on_timer<E: Effects>(&mut self, event: Event, cx: &mut Context<'_, E>) {
        let (now, entity) = (event.time(), event.entity());
        match event.rank() {
            rank::RECEIVER => self.receivers.on_timer(now, entity, &self.priorities, cx),
            _ => self.senders.on_timer(now, entity, &self.priorities, cx),
        }
    }

    fn each_flow(&self, nics: &[Nic], facts: &FlowFacts, see: &mut dyn FnMut(&dyn FlowView)) {
        self.senders.each_flow(nics, facts, see);
    }
}
