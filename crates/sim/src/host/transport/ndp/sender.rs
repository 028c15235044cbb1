//! The sending side of one flow: what it may send, and what it knows of its packets.

use incast_engine::event::{Effects, Event};
use incast_net::describe::network::PortId;
use incast_net::describe::transport::LARGEST_BACKOFF;
use incast_net::describe::transport::Repair;
use incast_net::packet::{Data, Kind, Origin, Packet};
use incast_net::record::{FlowRecord, FlowSample, Limit};
use incast_units::{Bytes, Time};

use crate::balancing;
use crate::balancing::policy::{Entropies, Feedback};
use crate::facts::flows::{FlowFacts, Way};
use crate::host::nic::Nic;
use crate::host::program::Step;
use crate::host::transport::account::Account;
use crate::host::transport::context::Context;
use crate::rank;
use crate::recovery::{self, Cut, Recovery, Report, Selective, SentPacket, Settings};

/// Reason for which a flow waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Being served by its network card.
    Ready,
    /// The end of its current transmission; afterwards the same as waiting.
    Leaving,
    /// A pull.
    Waiting,
    /// Nothing: it is done.
    Done,
}

/// A time that is never reached.
const NEVER: u64 = u64::MAX;
/// The sending side of one flow.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) state: State,
    pub(super) queue: u8,
    backoff: u8,
    pub(super) port: PortId,
    pub(super) account: Account,
    pub(super) flow: u32,
    /// Index among the host's flows.
    pub(super) index: u32,
    /// The receiver's index of the flow.
    peer: u32,
    destination: u32,
    hash: u32,
    /// Bits of its packets' flags about load balancing.
    policy_flags: u8,
    origin: Origin,
    /// The choice of entropies; `None`: its packets have none.
    entropies: Option<Box<dyn Entropies>>,
    packets_known: Selective,
    /// Payload to send.
    size: u64,
    /// Packets that it may send.
    credit: u64,
    /// The largest number of a pull that has arrived.
    pulled: u32,
    /// Acknowledgements and NACKs that have arrived, each of which is worth a pull, less the pulls.
    expected: i64,
    /// Packets whose headers were returned, for which nothing was sent: its window is so much smaller than the first.
    returned: u64,
    /// Time at which the timeout last doubled, while it is not the shortest. (ps)
    doubled: u64,
    /// Time at which it last sent a packet or received one. (ps)
    active: u64,
    /// Time of the valid pending [`rank::RETRANSMIT`].
    timer_event: u64,
    start: u64,
    last_rtt: u64,
    packets: u64,
    resent: u64,
    marked: u64,
    timeouts: u32,
}

impl Sender {
    /// A flow that starts.
    pub(super) fn new<E>(now: u64, index: u32, step: Step, first_window: u32, cx: &Context<'_, E>) -> Self {
        let facts = cx.facts;
        let flow = &facts.flows[step.flow as usize];
        let hash = facts.hashes(step.flow).0;
        let sizes = facts.sizes(flow.algorithm);
        let (size, packets) = (flow.size.get(), facts.packets(step.flow));
        let full = sizes.data(sizes.payload);
        let last = match size % sizes.payload {
            _ if packets == u64::MAX => full,
            0 => full,
            rest => sizes.data(rest),
        };
        // A packet is lost when its header or the timer says so.
        let settings =
            Settings { repair: Repair::Never, ..recovery::settings(&facts.transport, Time::default) };
        Self {
            state: State::Waiting,
            queue: flow.queue,
            backoff: 0,
            port: cx.nic_for(step.flow, Way::Forth, || hash),
            account: Account::new(now),
            flow: step.flow,
            index,
            peer: step.peer,
            destination: facts.address(step.flow, Way::Forth),
            hash,
            policy_flags: Packet::policy_flags(balancing::policy_id(flow.balancing)),
            origin: Origin::new(facts.address(step.flow, Way::Back), index),
            entropies: balancing::start(flow.balancing, &facts.balancing, facts.seed, flow.key),
            packets_known: Selective::new(Cut::new(packets, full, last), &settings),
            size,
            credit: u64::from(first_window).min(packets),
            pulled: 0,
            expected: 0,
            returned: 0,
            doubled: 0,
            active: now,
            timer_event: NEVER,
            start: now,
            last_rtt: 0,
            packets: 0,
            resent: 0,
            marked: 0,
            timeouts: 0,
        }
    }

    /// The network card of its packets, by the current routes.
    pub(super) fn nic_for<E>(&self, cx: &Context<'_, E>) -> PortId {
        cx.nic_for(self.flow, Way::Forth, || self.hash)
    }

    /// The event at which it stops sending new data, if it has a stop time.
    pub(super) fn stop_event(&self, facts: &FlowFacts) -> Option<Event> {
        let stop = facts.flows[self.flow as usize].stop;
        (stop != Time::NEVER).then(|| Event::new(stop.ps(), rank::STOP, self.index))
    }

    /// Stops sending new data. Returns whether the flow is done with that.
    pub(super) fn stop_offering(&mut self) -> bool {
        self.packets_known.stop();
        self.packets_known.is_done()
    }

    /// Whether it may send a packet and has one.
    pub(super) fn may_send(&self) -> bool {
        self.credit > 0 && self.packets_known.next().is_some()
    }

    /// Names what keeps its next packet back from now on.
    pub(super) fn turn(&mut self, now: u64, place: u32, nic: &Nic) {
        let limit = match self.packets_known.next() {
            None => self.account.nothing_to_send(),
            Some(_) if self.credit == 0 => Limit::Credit,
            Some(_) => Limit::Card,
        };
        self.account.turn(now, limit, || 0, || nic.paused_for(self.queue, place, now));
    }

    /// Creates the next packet: the lowest-numbered one that is to be sent again, or a new one.
    pub(super) fn next_packet<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        facts: &FlowFacts,
        effects: &mut E,
    ) -> Option<Packet> {
        let number = self.packets_known.next().filter(|_| self.credit > 0)?;
        let flow = &facts.flows[self.flow as usize];
        let sizes = facts.sizes(flow.algorithm);
        let sequence = number * sizes.payload;
        let payload = sizes.payload.min(self.size - sequence);
        let size = sizes.data(payload);
        let inflight = u32::try_from(self.packets_known.inflight() + size).unwrap_or(u32::MAX);
        let again = self.packets_known.on_sent(SentPacket { sent: now, tag: 0, inflight });
        self.account.packet(again);
        self.resent += u64::from(again);
        self.credit -= 1;
        self.packets += 1;
        self.active = now;
        if self.timer_event == NEVER {
            self.set_timer(now.saturating_add(self.timeout(facts)), place, effects);
        }
        let data = Data {
            sequence,
            sent: now,
            slot: self.peer,
            inflight,
            number: number as u32,
            payload: payload as u16,
        };
        let entropy = self.entropies.as_mut().map_or(0, |entropies| entropies.choose(now));
        Some(Packet {
            destination: self.destination,
            hash: self.hash ^ u32::from(entropy),
            size: size as u16,
            queue: self.queue,
            flags: self.policy_flags,
            body: data.body().from(self.origin),
            ..Packet::blank(Kind::Data)
        })
    }

    /// An acknowledgement, a NACK or a pull has arrived. Returns whether the flow is done.
    pub(super) fn answered<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        packet: &Packet,
        facts: &FlowFacts,
        effects: &mut E,
    ) -> bool {
        let body = packet.ack(now);
        let shortened = self.heard(now);
        // An acknowledgement covers its own packet and all before the expected one, a NACK and a pull only those.
        let own = packet.kind == Kind::Ack && body.offset > 0;
        let bitmap = if own { 1 << (body.offset - 1).min(63) } else { 0 };
        self.packets_known.on_ack(&Report { bitmap, ..body.report() }, false);
        if packet.kind != Kind::Own {
            self.expected += 1;
            let good = packet.kind == Kind::Ack && body.marked == 0;
            let feedback = if good { Feedback::Good } else { Feedback::Bad };
            self.feedback(now, packet.hash ^ facts.hashes(self.flow).1, feedback);
        }
        match packet.kind {
            Kind::Ack => {
                self.marked += u64::from(body.marked);
                self.last_rtt = now - body.sent;
            }
            Kind::Nack => {
                let number = body.expected.wrapping_add_signed(i32::from(body.offset));
                self.packets_known.on_trim(number, body.sent);
            }
            _ => {}
        }
        // Their numbers are cumulative, modulo 2^32.
        let pulls = i64::from(body.inflight.wrapping_sub(self.pulled) as i32);
        if pulls > 0 {
            self.pulled = body.inflight;
            self.expected -= pulls;
            // The pull did not wait for any other: the receiver's link has room for what was returned.
            let again = u64::from(packet.kind == Kind::Ack && self.returned > 0);
            self.returned -= again;
            self.credit = (self.credit + pulls.unsigned_abs() + again).min(self.packets_known.to_send());
        }
        let done = self.packets_known.is_done();
        if shortened && !done {
            self.restart_timer(now, place, facts, effects);
        }
        done
    }

    /// A header has been returned. Its packet waits for a pull, unless none can come: nothing else is in flight and
    /// no pull is expected.
    pub(super) fn returned<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        packet: &Packet,
        facts: &FlowFacts,
        effects: &mut E,
    ) {
        let shortened = self.heard(now);
        self.feedback(now, packet.hash ^ facts.hashes(self.flow).0, Feedback::Bad);
        let data = Data::of(&packet.body);
        let lost = self.packets_known.on_trim(data.number, data.sent);
        if lost.is_some() && self.packets_known.inflight() == 0 && self.expected <= 0 && self.credit == 0 {
            self.credit = 1;
        } else {
            self.returned += u64::from(lost.is_some());
        }
        if shortened {
            self.restart_timer(now, place, facts, effects);
        }
    }

    /// Something has arrived. Returns whether the timeout is shorter now.
    fn heard(&mut self, now: u64) -> bool {
        self.active = now;
        std::mem::take(&mut self.backoff) > 0
    }

    fn feedback(&mut self, now: u64, entropy: u32, feedback: Feedback) {
        if let Some(entropies) = &mut self.entropies {
            entropies.feedback(now, entropy as u16, feedback);
        }
    }

    /// Handles the event of the timer. Returns whether anything may be sent that could not be sent before.
    pub(super) fn timer<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        facts: &FlowFacts,
        effects: &mut E,
    ) -> bool {
        if self.timer_event != now || self.state == State::Done {
            return false;
        }
        let oldest = self.packets_known.oldest();
        let due = self.due(now, oldest, facts);
        if due > now {
            self.set_timer(due, place, effects);
            return false;
        }
        self.account.expired(now, now.saturating_sub(self.timeout(facts)));
        // Packets of one burst that are lost time out one after the other, and only the first doubles the timeout.
        if oldest.is_none_or(|sent| self.backoff == 0 || sent >= self.doubled) {
            self.timeouts += 1;
            if let Some(entropies) = &mut self.entropies {
                entropies.timeout(now);
            }
            self.expire(now, facts);
            if self.backoff < LARGEST_BACKOFF {
                self.backoff += 1;
                self.doubled = now;
            }
        } else {
            self.expire(now, facts);
        }
        let due =
            self.packets_known.oldest().map_or(now + self.timeout(facts), |sent| self.expiry(sent, facts));
        self.set_timer(due, place, effects);
        true
    }

    /// Packets that were not answered within their timeout are lost and sent again at once. If none was in flight, the pulls
    /// that the flow waits for were lost: one packet probes.
    fn expire(&mut self, now: u64, facts: &FlowFacts) {
        let before = self.packets_known.lost();
        if self.backoff > 0
            && let Some(until) = now.checked_sub(self.timeout(facts) / 2)
        {
            self.packets_known.expire(until.min(self.doubled - 1));
        }
        if let Some(until) = now.checked_sub(self.timeout(facts)) {
            self.packets_known.expire(until);
        }
        self.credit += (self.packets_known.lost() - before).max(1);
    }

    /// Time at which the timer is due, as things are.
    fn due(&self, now: u64, oldest: Option<u64>, facts: &FlowFacts) -> u64 {
        // Without a packet in flight the flow waits for its network card, or for a pull.
        let since = if self.credit > 0 { now } else { self.active };
        oldest.map_or(since.saturating_add(self.timeout(facts)), |sent| self.expiry(sent, facts))
    }

    /// Time at which a packet in flight that was sent then is lost. One that left before the timeout last doubled has the
    /// one of before.
    fn expiry(&self, sent: u64, facts: &FlowFacts) -> u64 {
        let before = self.backoff > 0 && sent < self.doubled;
        sent.saturating_add(self.timeout(facts) >> u8::from(before))
    }

    /// Sets the timer again, with the timeout of now.
    fn restart_timer<E: Effects>(&mut self, now: u64, place: u32, facts: &FlowFacts, effects: &mut E) {
        let due = self.due(now, self.packets_known.oldest(), facts);
        self.set_timer(due.max(now), place, effects);
    }

    fn timeout(&self, facts: &FlowFacts) -> u64 {
        facts.transport.ndp.rto.ps().saturating_mul(1 << self.backoff)
    }

    fn set_timer<E: Effects>(&mut self, time: u64, place: u32, effects: &mut E) {
        self.timer_event = time;
        effects.schedule(Event::new(time, rank::RETRANSMIT, place));
    }

    /// The record of the flow at its end, or so far.
    pub(super) fn record(&self, finish: Time, delivered: Time, facts: &FlowFacts) -> FlowRecord {
        let (start, bytes) = (Time::from_ps(self.start), self.acknowledged(facts));
        FlowRecord {
            delivered,
            packets: self.packets,
            resent: self.resent,
            marked: self.marked,
            timeouts: self.timeouts,
            ..facts.record(self.flow, start, finish, bytes)
        }
    }

    /// Its window is what it has in flight and what it may send.
    pub(super) fn sample(&self, time: Time, facts: &FlowFacts) -> FlowSample {
        let flow = &facts.flows[self.flow as usize];
        let sizes = facts.sizes(flow.algorithm);
        let inflight = self.packets_known.inflight();
        FlowSample {
            time,
            flow: self.flow,
            window: Bytes::new(inflight + self.credit * sizes.data(sizes.payload)),
            rate: facts.fabric.routes.ports[flow.source as usize][usize::from(self.port)].rate,
            rtt: Time::from_ps(self.last_rtt),
            inflight: Bytes::new(inflight),
            acked: Bytes::new(self.acknowledged(facts)),
            samples: 1,
        }
    }

    /// Describes the event for which the flow waits.
    pub(super) fn waits_for(&self, paused: bool, facts: &FlowFacts) -> String {
        let (acknowledged, known) = (Bytes::new(self.acknowledged(facts)), &self.packets_known);
        let reason = match self.state {
            State::Ready if paused => "its host's link is paused",
            State::Ready => "its turn on its host's link",
            _ if known.next().is_none() => "acknowledgements of its last packets",
            _ => "a pull",
        };
        let inflight = Bytes::new(known.inflight());
        format!(
            "waits for {reason} ({acknowledged} acknowledged, {inflight} in flight, {} timeouts)",
            self.timeouts
        )
    }

    /// Payload acknowledged.
    fn acknowledged(&self, facts: &FlowFacts) -> u64 {
        let payload = facts.sizes(facts.flows[self.flow as usize].algorithm).payload;
        self.packets_known.acknowledged().saturating_mul(payload).min(self.size)
    }
}
