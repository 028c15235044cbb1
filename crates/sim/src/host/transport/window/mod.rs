//! The window transport: bytes in flight are limited by a window and packets are paced by a rate, both set
//! by congestion control at the sender; the receiver acknowledges.

mod connection;
mod history;
mod receiver;
mod sender;

use std::collections::BTreeMap;

use incast_cc::IntStack;
use incast_cc::params::Value;
use incast_engine::event::{Effects, Event};
use incast_net::describe::Simulation;
use incast_net::describe::algorithm::Controllers;
use incast_net::packet::{Ack, IntRecords, Kind, Packet, flag, unpack_int};
use incast_net::record::{Division, FlowRecord, FlowSample};
use incast_units::Time;

use connection::Message;
use receiver::Receivers;
use sender::{Prospect, Sender, State};

use super::context::{Context, Transport};
use super::spare::push_sparely;
use crate::facts::flows::FlowFacts;
use crate::host::nic::{Nic, Source};
use crate::host::program::Step;
use crate::node::FlowView;
use crate::rank;
use crate::relative::State as Relative;

/// The flows from and to one host. A source is the index of a sender.
#[derive(Debug)]
pub(crate) struct Window {
    /// Active flows.
    senders: Vec<Sender>,
    free: Vec<u32>,
    /// Position of each flow among the senders while it is active, by its index.
    places: Vec<u32>,
    /// Position of the sender of each connection that has begun and has messages left, by its number.
    connections: BTreeMap<u32, u32>,
    /// The congestion control of the flows of each algorithm, made when the first of them starts.
    controllers: Vec<Option<Box<dyn Controllers>>>,
    receivers: Receivers,
    /// Scratch for the telemetry of the current acknowledgement.
    stack: IntStack,
}

/// Marks a flow that is not active.
const NOT_UNDER_WAY: u32 = u32::MAX;

impl Window {
    /// The position of the flow with this index while it is active.
    fn place(&self, index: u32) -> Option<u32> {
        self.places.get(index as usize).copied().filter(|place| *place != NOT_UNDER_WAY)
    }

    /// The active flows, with their positions.
    fn under_way(&self) -> impl Iterator<Item = (&Sender, u32)> {
        self.senders.iter().zip(0..).filter(|(sender, _)| sender.state != State::Done)
    }

    /// The state of a flow has changed: makes it ready or sets its pacing timer if it may send.
    fn wake<E: Effects>(&mut self, now: u64, place: u32, cx: &mut Context<'_, E>) {
        self.wake_by(now, false, place, cx);
    }

    /// The state of a flow has changed, perhaps by an acknowledgement.
    #[inline(never)]
    fn wake_by<E: Effects>(&mut self, now: u64, answered: bool, place: u32, cx: &mut Context<'_, E>) {
        let sender = &mut self.senders[place as usize];
        sender.wake(sender.prospect(), now, now, answered, place, &mut self.controllers, cx);
    }

    /// A flow is done, or the first messages of a connection are, perhaps by an acknowledgement: records them. Frees the
    /// position after the last one.
    fn finish<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        delivered: Time,
        answered: bool,
        cx: &mut Context<'_, E>,
    ) {
        let sender = &mut self.senders[place as usize];
        if sender.connection.is_some() {
            return self.finish_messages(now, place, delivered, answered, cx);
        }
        self.places[sender.message.index as usize] = NOT_UNDER_WAY;
        let record = sender.record(&sender.message, Time::from_ps(now), delivered, cx.facts);
        let division = sender.division(now, answered, place, &cx.home.nics[usize::from(sender.port)]);
        self.release(place, cx);
        cx.finished(now, record, division);
    }

    /// The first messages of a connection are done.
    #[inline(never)]
    fn finish_messages<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        delivered: Time,
        answered: bool,
        cx: &mut Context<'_, E>,
    ) {
        let sender = &mut self.senders[place as usize];
        let more = loop {
            let record = sender.record(&sender.message, Time::from_ps(now), delivered, cx.facts);
            let division = sender.division(now, answered, place, &cx.home.nics[usize::from(sender.port)]);
            cx.finished(now, record, division);
            match sender.advance() {
                Some(true) => {}
                Some(false) => break true,
                None => break false,
            }
        };
        if more {
            // Without this its turn or its time would come for nothing.
            if sender.is_idle() {
                sender.pause(place, cx);
            }
            return self.wake_by(now, answered, place, cx);
        }
        if let Some(connection) = &sender.connection {
            self.connections.remove(&connection.number);
            for index in connection.started() {
                self.places[*index as usize] = NOT_UNDER_WAY;
            }
        }
        self.release(place, cx);
    }

    /// A sender has nothing left to do: frees its position.
    fn release<E: Effects>(&mut self, place: u32, cx: &mut Context<'_, E>) {
        let sender = &mut self.senders[place as usize];
        sender.pause(place, cx);
        sender.state = State::Done;
        if let Some(controllers) = &mut self.controllers[usize::from(sender.algorithm)] {
            controllers.end(sender.controller);
        }
        self.free.push(place);
    }

    /// Another message of a connection starts, whose sender is at `place`.
    fn continue_connection<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        index: u32,
        step: Step,
        cx: &mut Context<'_, E>,
    ) {
        let facts = cx.facts;
        let sender = &mut self.senders[place as usize];
        let idle = sender.add(now, place, index, step, cx);
        self.note_place(index, place);
        let sender = &mut self.senders[place as usize];
        let limit = facts.transport.idle_limit().ps();
        if idle.is_some_and(|idle| idle > limit)
            && let Some(controllers) = &mut self.controllers[usize::from(sender.algorithm)]
        {
            controllers.end(sender.controller);
            let start = Time::from_ps(now);
            let controller = controllers.start(&facts.path_info(step.flow, start), start);
            sender.begin(now, place, controller, cx.effects);
        }
        self.wake(now, place, cx);
    }

    /// Notes the position of the sender of the flow with this index.
    fn note_place(&mut self, index: u32, place: u32) {
        if self.places.len() <= index as usize {
            self.places.resize(index as usize + 1, NOT_UNDER_WAY);
        }
        self.places[index as usize] = place;
    }

    #[inline(always)]
    fn acknowledged<E: Effects>(
        &mut self,
        now: u64,
        packet: &Packet,
        int: &IntRecords,
        cx: &mut Context<'_, E>,
    ) {
        let body = packet.ack(now);
        let Some(&place) = self.places.get(body.slot as usize) else { return };
        // A flow that is not under way has a place that no sender has.
        let Some(sender) = self.senders.get(place as usize) else { return };
        if packet.is(flag::INT) {
            unpack_int(int, packet.hops, &cx.facts.fabric.rates, &mut self.stack);
        } else {
            self.stack.count = 0;
        }
        if E::DEPARTURES_WAIT && sender.is_answered_plainly {
            self.acknowledged_by::<true, E>(now, place, packet, body, cx);
        } else {
            self.acknowledged_specially(now, place, packet, cx);
        }
    }

    /// Like [`Self::acknowledged_by`], apart from the acknowledgements of most flows, which need less.
    #[inline(never)]
    fn acknowledged_specially<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        packet: &Packet,
        cx: &mut Context<'_, E>,
    ) {
        // Read once more: what is passed by its address is in no register of the caller.
        self.acknowledged_by::<false, E>(now, place, packet, packet.ack(now), cx);
    }

    /// An acknowledgement or a NACK of the flow of the sender at `place` has arrived, which says `body`; its telemetry is in
    /// `stack`. `PLAIN` says that the sender [is answered plainly](Sender::is_answered_plainly).
    #[inline(always)]
    fn acknowledged_by<const PLAIN: bool, E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        packet: &Packet,
        body: Ack,
        cx: &mut Context<'_, E>,
    ) {
        let sender = &mut self.senders[place as usize];
        let Some(controllers) = &mut self.controllers[usize::from(sender.algorithm)] else { return };
        let controllers = controllers.as_mut();
        match sender.acknowledged::<PLAIN, E>(now, place, packet, body, &self.stack, controllers, cx) {
            Some(prospect) => sender.wake(prospect, now, now, true, place, &mut self.controllers, cx),
            None => self.finish(now, place, Time::from_ps(body.received), true, cx),
        }
    }

    /// A packet of the flow with this index has lost its payload: its receiver, or the header itself, says so.
    fn trimmed<E: Effects>(&mut self, now: u64, index: u32, packet: &Packet, cx: &mut Context<'_, E>) {
        let Some(place) = self.place(index) else { return };
        let sender = &mut self.senders[place as usize];
        let Some(controllers) = &mut self.controllers[usize::from(sender.algorithm)] else { return };
        let trim = sender.trim_of(now, packet, cx.facts);
        sender.trimmed(now, place, trim, controllers.as_mut(), cx.facts, cx.effects);
        self.wake(now, place, cx);
    }
}

impl Sender {
    /// Its state has changed, perhaps by an acknowledgement; it could have sent since `since`. Makes it ready or sets its
    /// pacing timer if it may send. If nothing else waits in its host, it is served at once.
    #[allow(clippy::too_many_arguments, reason = "a change, and what sends a packet")]
    #[inline(always)]
    fn wake<E: Effects>(
        &mut self,
        prospect: Prospect,
        now: u64,
        since: u64,
        answered: bool,
        place: u32,
        controllers: &mut [Option<Box<dyn Controllers>>],
        cx: &mut Context<'_, E>,
    ) {
        let has_one_card = cx.home.nics.len() == 1;
        let nic = &mut cx.home.nics[usize::from(self.port)];
        let may_send = prospect.may_send();
        if may_send && self.state == State::Leaving && nic.is_leaving(now, place) {
            // Its limit after that is named when the packet has left.
            return nic.request_departure(cx.effects);
        }
        self.turn_of(prospect, now, answered, place, nic);
        match self.state {
            State::Leaving | State::Blocked if !may_send => return,
            State::Ready | State::Done => return,
            // A new rate may have brought the next packet of a paced flow forward.
            State::Leaving | State::Blocked | State::Paced => {}
        }
        if self.next_at <= now {
            // Time in which it had nothing to send or no window is not made up.
            self.next_at = self.next_at.max(since);
            if E::DEPARTURES_WAIT && may_send && has_one_card && nic.is_free_for(now, self.queue, place) {
                return self.send_apart(now, place, controllers, cx);
            }
            self.state = State::Ready;
            nic.push(self.queue, place);
        } else {
            self.pace(now, place, cx.facts, cx.effects);
        }
    }

    /// Its turn has come at its card, which is free: sends packet `number`, which is the next one.
    #[allow(clippy::too_many_arguments, reason = "a packet, and what it is made with")]
    #[inline(always)]
    fn send<E: Effects>(
        &mut self,
        now: u64,
        port: usize,
        place: u32,
        number: u64,
        controllers: &mut [Option<Box<dyn Controllers>>],
        cx: &mut Context<'_, E>,
    ) {
        let mut packet = self.template;
        self.next_packet(now, place, number, &mut packet, controllers, cx.facts, cx.effects);
        let done = cx.send(now, port, place, &mut packet);
        match self.sent(done) {
            Some(true) => cx.home.nics[port].request_departure(cx.effects),
            Some(false) => self.pace(done, place, cx.facts, cx.effects),
            None => {}
        }
    }

    /// Sends its next packet, apart from what has made it ready.
    #[inline(never)]
    fn send_apart<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        controllers: &mut [Option<Box<dyn Controllers>>],
        cx: &mut Context<'_, E>,
    ) {
        let Some(number) = self.sendable() else { return };
        let (queue, port) = (self.queue, usize::from(self.port));
        let nic = &cx.home.nics[port];
        self.account.settle(now, || nic.paused_for(queue, place, now));
        self.send(now, port, place, number, controllers, cx);
    }
}

impl Transport for Window {
    type Shared = ();

    fn prepare(_: &Simulation, _: &FlowFacts) -> Result<(), String> {
        Ok(())
    }

    fn new((): &(), facts: &FlowFacts) -> Self {
        Self {
            senders: Vec::new(),
            free: Vec::new(),
            places: Vec::new(),
            connections: BTreeMap::new(),
            controllers: Vec::new(),
            receivers: Receivers::new(facts),
            stack: IntStack::EMPTY,
        }
    }

    fn add_incoming(&mut self, flow: u32, peer: u32) -> u32 {
        self.receivers.add(flow, peer)
    }

    fn start<E: Effects>(&mut self, now: u64, index: u32, step: Step, cx: &mut Context<'_, E>) {
        let connection = cx.facts.connection(step.flow).map(|(number, _)| number);
        if let Some(place) = connection.and_then(|number| self.connections.get(&number)) {
            return self.continue_connection(now, *place, index, step, cx);
        }
        let start = Time::from_ps(now);
        let path = cx.facts.path(step.flow, start);
        let place = self.free.pop().unwrap_or(self.senders.len() as u32);
        let algorithm = usize::from(cx.facts.flows[step.flow as usize].algorithm);
        if self.controllers.len() <= algorithm {
            self.controllers.resize_with(algorithm + 1, || None);
        }
        let controllers =
            self.controllers[algorithm].get_or_insert_with(|| cx.facts.algorithms[algorithm].controllers());
        let mut sender = Sender::new(now, index, step, path.base_rtt, controllers.hears_sent(), cx);
        let controller = controllers.start(&cx.facts.seen(step.flow, path), start);
        sender.begin(now, place, controller, cx.effects);
        if let Some(stop) = sender.stop_event(cx.facts) {
            cx.effects.schedule(stop);
        }
        if let Some(free) = self.senders.get_mut(place as usize) {
            *free = sender;
        } else {
            push_sparely(&mut self.senders, sender);
        }
        self.note_place(index, place);
        if let Some(number) = connection {
            self.connections.insert(number, place);
        }
        self.wake(now, place, cx);
    }

    fn stop<E: Effects>(&mut self, now: u64, index: u32, cx: &mut Context<'_, E>) {
        if let Some(place) = self.place(index)
            && self.senders[place as usize].stop_offering()
        {
            self.finish(now, place, Time::from_ps(now), false, cx);
        }
    }

    #[inline(always)]
    fn serve<E: Effects>(&mut self, now: u64, port: usize, source: Source, cx: &mut Context<'_, E>) -> bool {
        let sender = &mut self.senders[source as usize];
        if sender.state != State::Ready {
            return false;
        }
        let Some(number) = sender.sendable().filter(|_| sender.next_at <= now) else {
            sender.miss_turn(now, source, &cx.home.nics[port], cx.facts, cx.effects);
            return false;
        };
        let (queue, nics) = (sender.queue, &*cx.home.nics);
        sender.account.settle(now, || nics[port].paused_for(queue, source, now));
        sender.send(now, port, source, number, &mut self.controllers, cx);
        true
    }

    #[inline(never)]
    fn departed<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>) {
        let sender = &mut self.senders[source as usize];
        match sender.state {
            State::Leaving => {
                sender.wake(sender.prospect(), now, 0, false, source, &mut self.controllers, cx);
            }
            // A higher rate made it ready while its packet left: it waits for the card from now on.
            State::Ready => {
                sender.turn(now, false, source, &cx.home.nics[usize::from(sender.port)]);
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn follow<E: Effects>(&mut self, now: u64, source: Source, cx: &mut Context<'_, E>) -> bool {
        let sender = &mut self.senders[source as usize];
        if E::DEPARTURES_WAIT
            && sender.state == State::Leaving
            && sender.next_at <= now
            && let Some(number) = sender.sendable()
            && let [nic] = &cx.home.nics[..]
            && nic.is_free_for(now, sender.queue, source)
            && sender.account.is_divided(now)
        {
            sender.account.follow(nic.paused_for(sender.queue, source, now));
            sender.send(now, 0, source, number, &mut self.controllers, cx);
            return true;
        }
        self.departed(now, source, cx);
        false
    }

    #[inline(always)]
    fn on_packet<E: Effects>(
        &mut self,
        now: u64,
        packet: &Packet,
        int: &IntRecords,
        cx: &mut Context<'_, E>,
    ) {
        match packet.kind {
            Kind::Data => self.receivers.on_data(now, packet, int, cx),
            Kind::Nack if packet.is(flag::BITMAP) => self.trimmed(now, packet.ack(now).slot, packet, cx),
            Kind::Ack | Kind::Nack => self.acknowledged(now, packet, int, cx),
            Kind::Cnp => {
                let Some(place) = self.place(packet.ack(now).slot) else { return };
                let sender = &mut self.senders[place as usize];
                let Some(controllers) = &mut self.controllers[usize::from(sender.algorithm)] else { return };
                sender.congestion_notified(now, place, controllers.as_mut(), cx.effects);
                self.wake(now, place, cx);
            }
            Kind::Header => self.receivers.on_header(now, packet, cx),
            Kind::Returned => self.trimmed(now, packet.origin().index(), packet, cx),
            // The network card reads pauses; this transport has no own packets.
            Kind::Pause | Kind::Resume | Kind::PauseMap | Kind::Own => {}
        }
    }

    fn rerouted<E: Effects>(&mut self, now: u64, cx: &mut Context<'_, E>) {
        for place in 0..self.senders.len() as u32 {
            let sender = &mut self.senders[place as usize];
            let port = sender.nic_for(cx);
            if sender.state == State::Done || port == sender.port {
                continue;
            }
            let before = std::mem::replace(&mut sender.port, port);
            sender.change_card(now, place, &cx.home.nics[usize::from(before)]);
            if sender.state == State::Ready {
                cx.home.nics[usize::from(before)].remove(sender.queue, place);
                cx.home.nics[usize::from(port)].push(sender.queue, place);
                sender.turn(now, false, place, &cx.home.nics[usize::from(port)]);
            } else {
                // Its packet that is leaving by the other card holds it up no longer.
                self.wake(now, place, cx);
            }
        }
    }

    fn on_timer<E: Effects>(&mut self, event: Event, cx: &mut Context<'_, E>) {
        let (now, entity) = (event.time(), event.entity());
        if event.rank() == rank::RECEIVER {
            return self.receivers.on_timer(now, entity, cx);
        }
        let Some(sender) = self.senders.get_mut(entity as usize) else { return };
        let Some(controllers) = &mut self.controllers[usize::from(sender.algorithm)] else { return };
        let controllers = controllers.as_mut();
        let changed = match event.rank() {
            rank::PACED => {
                if sender.paced_until(now) {
                    sender.wake(sender.prospect(), now, now, false, entity, &mut self.controllers, cx);
                }
                return;
            }
            rank::RETRANSMIT => sender.retransmit_timer(now, entity, controllers, cx.facts, cx.effects),
            rank::CONTROL => sender.control_timer(now, entity, controllers, cx.effects),
            _ => false,
        };
        if changed {
            self.wake(now, entity, cx);
        }
    }

    fn relate(&self, facts: &FlowFacts, state: &mut Relative, left: &mut BTreeMap<u32, u32>) {
        // The positions of flows, and scratch.
        let Self { senders, free, places: _, connections, controllers, receivers, stack: _ } = self;
        state.word("sending places", senders.len() as u64);
        free.iter().for_each(|place| state.word("free sending place", *place));
        for (number, place) in connections {
            let Some(sender) = senders.get(*place as usize) else { continue };
            let to = facts.flows[sender.message.flow as usize].destination;
            state.part(|host| format!("connection {number} from {host} to host {to}"));
            state.word("sending place", *place);
            let of = controllers.get(usize::from(sender.algorithm)).and_then(Option::as_deref);
            sender.relate(of, facts, state);
            left.extend(sender.connection.as_ref().map(|connection| (*number, connection.left())));
        }
        let idle = senders.iter().filter(|sender| sender.state != State::Done).count();
        state.unless(idle != connections.len(), "a flow that is not done");
        receivers.relate(state);
    }

    fn each_flow(&self, nics: &[Nic], facts: &FlowFacts, see: &mut dyn FnMut(&dyn FlowView)) {
        for (sender, place) in self.under_way() {
            let controllers = self.controllers[usize::from(sender.algorithm)].as_deref();
            let nic = &nics[usize::from(sender.port)];
            for message in sender.messages() {
                see(&View { sender, message, place, controllers, nic, facts });
            }
        }
    }
}

/// The view of one flow.
struct View<'a> {
    sender: &'a Sender,
    message: &'a Message,
    place: u32,
    controllers: Option<&'a dyn Controllers>,
    nic: &'a Nic,
    facts: &'a FlowFacts<'a>,
}

impl FlowView for View<'_> {
    fn flow(&self) -> u32 {
        self.message.flow
    }

    fn record(&self) -> FlowRecord {
        self.sender.record(self.message, Time::NEVER, Time::NEVER, self.facts)
    }

    fn division(&self, now: u64) -> Division {
        self.sender.division_of(self.message, now, false, self.place, self.nic)
    }

    fn sample(&self, time: Time) -> FlowSample {
        self.sender.sample(self.message, time, self.facts)
    }

    fn internals(&self) -> Vec<(u16, Value)> {
        self.controllers.map(|controllers| controllers.internals(self.sender.controller)).unwrap_or_default()
    }

    fn waits_for(&self) -> String {
        let is_paused = self.nic.is_paused(self.sender.queue, self.place);
        self.sender.waits_for(self.message, is_paused, self.facts)
    }
}
