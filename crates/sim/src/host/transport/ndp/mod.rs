//! NDP (SIGCOMM 2017): a flow sends its first window at line rate; every packet that arrives, with or without
//! its payload, makes the receiver pull another one, at the pace of its link. For switches that trim packets.
//!
//! What its authors' simulator does beyond the paper, and what differs here, is said in docs/network/ndp.md.

mod receiver;
mod sender;

use std::collections::BTreeMap;
use std::sync::Arc;

use incast_engine::event::{Effects, Event};
use incast_net::describe::Simulation;
use incast_net::describe::transport::{FirstWindow, LARGEST_FIRST_WINDOW};
use incast_net::packet::{IntRecords, Kind, Packet};
use incast_net::record::{Division, FlowRecord, FlowSample, OwnPacket};
use incast_units::Time;

use receiver::Receivers;
use sender::{Sender, State};

use super::context::{Context, Transport};
use crate::facts::flows::FlowFacts;
use crate::host::nic::{Nic, Source};
use crate::host::program::Step;
use crate::node::FlowView;
use crate::rank;

/// The flows from and to one host. A source is the index of a sender.
#[derive(Debug)]
pub(crate) struct Ndp {
    /// Active flows.
    senders: Vec<Sender>,
    free: Vec<u32>,
    /// Position of each flow among the senders while it is active, by its index.
    places: Vec<u32>,
    receivers: Receivers,
    windows: Windows,
}

/// The packets that each flow sends without being pulled.
#[derive(Clone, Debug)]
pub(crate) enum Windows {
    All(u32),
    Each(Arc<[u32]>),
}

impl Default for Windows {
    fn default() -> Self {
        Self::All(1)
    }
}

impl Windows {
    /// Returns the first windows under these settings.
    fn new(simulation: &Simulation, facts: &FlowFacts) -> Self {
        if let FirstWindow::Packets(packets) = simulation.transport.ndp.first_window {
            return Self::All(packets);
        }
        let sizes = facts.plain_sizes();
        let mut known = BTreeMap::new();
        let each = simulation.flows.iter().map(|flow| {
            let pair = (flow.source, flow.destination, flow.cards);
            *known.entry(pair).or_insert_with(|| {
                let bytes = facts.fabric.routes.pair_bytes(flow, sizes).get();
                let packets = bytes.div_ceil(sizes.data(sizes.payload)).max(1);
                packets.min(u64::from(LARGEST_FIRST_WINDOW)) as u32
            })
        });
        Self::Each(each.collect())
    }

    /// The first window of a flow.
    fn of(&self, flow: u32) -> u32 {
        match self {
            Self::All(packets) => *packets,
            Self::Each(packets) => packets[flow as usize],
        }
    }
}

/// Marks a flow that is not active.
const NOT_UNDER_WAY: u32 = u32::MAX;

impl Ndp {
    /// The position of the flow with this index while it is active.
    fn place(&self, index: u32) -> Option<u32> {
        self.places.get(index as usize).copied().filter(|place| *place != NOT_UNDER_WAY)
    }

    /// The active flows, with their positions.
    fn under_way(&self) -> impl Iterator<Item = (&Sender, u32)> {
        self.senders.iter().zip(0..).filter(|(sender, _)| sender.state != State::Done)
    }

    /// The state of a flow has changed: makes it ready if it may send.
    fn wake<E: Effects>(&mut self, now: u64, place: u32, cx: &mut Context<'_, E>) {
        let sender = &mut self.senders[place as usize];
        sender.turn(now, place, &cx.home.nics[usize::from(sender.port)]);
        if !sender.may_send() || matches!(sender.state, State::Ready | State::Done) {
            return;
        }
        let nic = &mut cx.home.nics[usize::from(sender.port)];
        if sender.state == State::Leaving && nic.is_leaving(now, place) {
            nic.request_departure(cx.effects);
        } else {
            sender.state = State::Ready;
            nic.push(sender.queue, place);
        }
    }

    /// A flow is done, perhaps by the acknowledgement of a packet that left at `sent`: records it and frees its
    /// position.
    fn finish<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        delivered: u64,
        sent: Option<u64>,
        cx: &mut Context<'_, E>,
    ) {
        let sender = &mut self.senders[place as usize];
        let nic = &mut cx.home.nics[usize::from(sender.port)];
        let record = sender.record(Time::from_ps(now), Time::from_ps(delivered), cx.facts);
        let late = sent.map_or(0, |sent| (now - sent).saturating_sub(record.base_rtt.ps()));
        let division = sender.account.division(now, late, || nic.paused_for(sender.queue, place, now));
        if sender.state == State::Ready {
            nic.remove(sender.queue, place);
        }
        sender.state = State::Done;
        self.places[sender.index as usize] = NOT_UNDER_WAY;
        self.free.push(place);
        cx.finished(now, record, division);
    }
}

impl Transport for Ndp {
    type Shared = Windows;

    const OWN: &'static [OwnPacket] = &[OwnPacket { name: "pull", code: 8, cumulative: true }];

    fn prepare(simulation: &Simulation, facts: &FlowFacts) -> Result<Windows, String> {
        Ok(Windows::new(simulation, facts))
    }

    fn new(windows: &Windows, _: &FlowFacts) -> Self {
        Self {
            senders: Vec::new(),
            free: Vec::new(),
            places: Vec::new(),
            receivers: Receivers::default(),
            windows: windows.clone(),
        }
    }

    fn add_incoming(&mut self, flow: u32, peer: u32) -> u32 {
        self.receivers.add(flow, peer)
    }

    fn start<E: Effects>(&mut self, now: u64, index: u32, step: Step, cx: &mut Context<'_, E>) {
        let sender = Sender::new(now, index, step, self.windows.of(step.flow), cx);
        if let Some(stop) = sender.stop_event(cx.facts) {
            cx.effects.schedule(stop);
        }
        let place = self.free.pop().unwrap_or(self.senders.len() as u32);
        if let Some(free) = self.senders.get_mut(place as usize) {
            *free = sender;
        } else {
            self.senders.push(sender);
        }
        if self.places.len() <= index as usize {
            self.places.resize(index as usize + 1, NOT_UNDER_WAY);
        }
        self.places[index as usize] = place;
        self.wake(now, place, cx);
    }

    fn stop<E: Effects>(&mut self, now: u64, index: u32, cx: &mut Context<'_, E>) {
        if let Some(place) = self.place(index)
            && self.senders[place as usize].stop_offering()
        {
            self.finish(now, place, now, None, cx);
        }
    }

    #[inline(never)]
    fn poll_send<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>) -> Option<Packet> {
        let sender = &mut self.senders[source as usize];
        if sender.state != State::Ready {
            return None;
        }
        sender.state = State::Waiting;
        if !sender.may_send() {
            // An answer has taken what it had to send; its wait for answers lasts.
            return None;
        }
        let nic = &cx.home.nics[usize::from(sender.port)];
        sender.account.settle(now, || nic.paused_for(sender.queue, source, now));
        sender.next_packet(now, source, cx.facts, cx.effects)
    }

    #[inline(never)]
    fn sent<E: Effects>(&mut self, source: Source, done: u64, cx: &mut Context<'_, E>) {
        let sender = &mut self.senders[source as usize];
        sender.state = State::Leaving;
        sender.account.sent(done);
        sender.turn(done, source, &cx.home.nics[usize::from(sender.port)]);
        if sender.may_send() {
            cx.home.nics[usize::from(sender.port)].request_departure(cx.effects);
        }
    }

    #[inline(never)]
    fn departed<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>) {
        if self.senders[source as usize].state == State::Leaving {
            self.wake(now, source, cx);
        }
    }

    #[inline(never)]
    fn on_packet<E: Effects>(&mut self, now: u64, packet: &Packet, _: &IntRecords, cx: &mut Context<'_, E>) {
        let index = match packet.kind {
            Kind::Data | Kind::Header => return self.receivers.on_data(now, packet, cx),
            Kind::Ack | Kind::Nack | Kind::Own => packet.ack(now).slot,
            Kind::Returned => packet.origin().index(),
            Kind::Cnp | Kind::Pause | Kind::Resume | Kind::PauseMap => return,
        };
        let Some(place) = self.place(index) else { return };
        let sender = &mut self.senders[place as usize];
        if packet.kind == Kind::Returned {
            sender.returned(now, place, packet, cx.facts, cx.effects);
        } else if sender.answered(now, place, packet, cx.facts, cx.effects) {
            let ack = packet.ack(now);
            let sent = (packet.kind == Kind::Ack).then_some(ack.sent);
            return self.finish(now, place, ack.received, sent, cx);
        }
        self.wake(now, place, cx);
    }

    fn rerouted<E: Effects>(&mut self, now: u64, cx: &mut Context<'_, E>) {
        for place in 0..self.senders.len() as u32 {
            let sender = &mut self.senders[place as usize];
            let port = sender.nic_for(cx);
            if sender.state == State::Done || port == sender.port {
                continue;
            }
            let before = std::mem::replace(&mut sender.port, port);
            let card = &cx.home.nics[usize::from(before)];
            sender.account.change_card(now, || card.paused_for(sender.queue, place, now));
            if sender.state == State::Ready {
                cx.home.nics[usize::from(before)].remove(sender.queue, place);
                cx.home.nics[usize::from(port)].push(sender.queue, place);
                sender.turn(now, place, &cx.home.nics[usize::from(port)]);
            } else {
                // Its packet that is leaving by the other card holds it up no longer.
                self.wake(now, place, cx);
            }
        }
    }

    fn on_timer<E: Effects>(&mut self, event: Event, cx: &mut Context<'_, E>) {
        let (now, entity) = (event.time(), event.entity());
        if event.rank() == rank::RECEIVER {
            return self.receivers.on_timer(now, cx);
        }
        if let Some(sender) = self.senders.get_mut(entity as usize)
            && event.rank() == rank::RETRANSMIT
            && sender.timer(now, entity, cx.facts, cx.effects)
        {
            self.wake(now, entity, cx);
        }
    }

    fn each_flow(&self, nics: &[Nic], facts: &FlowFacts, see: &mut dyn FnMut(&dyn FlowView)) {
        for (sender, place) in self.under_way() {
            see(&View { sender, place, nic: &nics[usize::from(sender.port)], facts });
        }
    }
}

/// The view of one flow.
struct View<'a> {
    sender: &'a Sender,
    place: u32,
    nic: &'a Nic,
    facts: &'a FlowFacts<'a>,
}

impl FlowView for View<'_> {
    fn flow(&self) -> u32 {
        self.sender.flow
    }

    fn record(&self) -> FlowRecord {
        self.sender.record(Time::NEVER, Time::NEVER, self.facts)
    }

    fn division(&self, now: u64) -> Division {
        let queue = self.sender.queue;
        self.sender.account.division(now, 0, || self.nic.paused_for(queue, self.place, now))
    }

    fn sample(&self, time: Time) -> FlowSample {
        self.sender.sample(time, self.facts)
    }

    fn waits_for(&self) -> String {
        self.sender.waits_for(self.nic.wire.is_paused(self.sender.queue), self.facts)
    }
}
