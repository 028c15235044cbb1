//! Homa (Montazeri et al., SIGCOMM 2018): a flow is a message. Its first bytes are sent at once, the others
//! when the receiver grants them; receivers grant, and senders send, the messages with the fewest bytes left;
//! switches serve packets by priority levels. There is no congestion control at the sender.

mod priorities;
mod ranges;
mod receiver;
mod sender;
mod wire;

use incast_units::Time;

pub(crate) use priorities::Priorities;

use super::{Context, Transport};
use crate::describe::control::{Controller, OwnControl};
use crate::engine::event::{Effects, Event, Kind as EventKind};
use crate::engine::world::World;
use crate::host::nic::{Nic, Source};
use crate::host::program::Step;
use crate::packet::{IntRecords, Kind, Packet};
use crate::record::{FlowRecord, FlowSample};
use receiver::Receivers;
use sender::Senders;

/// The messages from and to one host.
#[derive(Debug)]
pub(crate) struct Homa {
    priorities: Priorities,
    senders: Senders,
    receivers: Receivers,
}

impl Transport for Homa {
    const OWN_CONTROL: Option<OwnControl> = Some(OwnControl {
        title: "Homa",
        controller: Controller::Receivers,
        needs: "switches with eight priorities; hosts that know sizes of messages (Linux kernel module: 2021)",
    });

    fn new(world: &World) -> Self {
        Self {
            priorities: world.homa.clone().unwrap_or_default(),
            senders: Senders::default(),
            receivers: Receivers::default(),
        }
    }

    fn add_incoming(&mut self, flow: u32, peer: u32) -> u32 {
        self.receivers.add(flow, peer)
    }

    fn start<E: Effects>(&mut self, now: u64, index: u32, step: Step, cx: &mut Context<'_, E>) {
        self.senders.start(now, index, step, &self.priorities, cx);
    }

    /// A message has no stop time.
    fn stop<E: Effects>(&mut self, _now: u64, _index: u32, _cx: &mut Context<'_, E>) {}

    #[inline(never)]
    fn poll_send<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>) -> Option<Packet> {
        self.senders.poll_send(now, source, &self.priorities, cx)
    }

    /// Does nothing: other packets that wait became ready when this one was taken.
    #[inline(never)]
    fn sent<E: Effects>(&mut self, _source: Source, _done: u64, _cx: &mut Context<'_, E>) {}

    #[inline(never)]
    fn departed<E: Effects>(&mut self, _now: u64, _source: Source, _cx: &mut Context<'_, E>) {}

    #[inline(never)]
    fn on_packet<E: Effects>(&mut self, now: u64, packet: &Packet, _: &IntRecords, cx: &mut Context<'_, E>) {
        match packet.kind {
            Kind::Data => self.receivers.on_data(now, packet, &self.priorities, cx),
            Kind::Grant | Kind::Resend => self.senders.on_control(now, packet, &self.priorities, cx),
            Kind::Ack => self.senders.on_ack(now, packet, &self.priorities, cx),
            // The network card reads pauses; no receiver sends the others.
            Kind::Nack
            | Kind::Cnp
            | Kind::Header
            | Kind::Returned
            | Kind::Pull
            | Kind::Pause
            | Kind::Resume
            | Kind::PauseMap => {}
        }
    }

    fn rerouted<E: Effects>(&mut self, _now: u64, cx: &mut Context<'_, E>) {
        self.senders.rerouted(&self.priorities, cx);
    }

    fn on_timer<E: Effects>(&mut self, event: Event, cx: &mut Context<'_, E>) {
        let (now, entity) = (event.time(), event.entity());
        match event.kind() {
            EventKind::Receiver => self.receivers.on_timer(now, entity, &self.priorities, cx),
            _ => self.senders.on_timer(now, entity, &self.priorities, cx),
        }
    }

    fn sample(&self, time: Time, index: u32, _world: &World) -> Option<FlowSample> {
        self.senders.sample(time, index)
    }

    fn unfinished(&self, world: &World) -> Vec<FlowRecord> {
        self.senders.unfinished(world)
    }

    fn waits(&self, nics: &[Nic], _world: &World) -> Vec<(u32, String)> {
        self.senders.waits(nics)
    }
}
