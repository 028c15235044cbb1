//! The receiving side: which messages to one host are granted, and what is requested again.

use incast_engine::event::{Effects, Event};
use incast_net::packet::{Ack, Kind, NO_INT, Packet};
use incast_units::{Bytes, Rate};

use super::line::Line;
use super::priorities::{Priorities, TOP};
use super::ranges::Ranges;
use super::wire::{Control, Data, GRANT, RESEND};
use crate::facts::flows::{FlowFacts, Way};
use crate::host::transport::context::Context;
use crate::host::transport::incoming::{Incoming, NOWHERE};
use crate::rank;

/// A time that is never reached.
const NEVER: u64 = u64::MAX;

/// The messages to one host.
#[derive(Debug, Default)]
pub(super) struct Receivers {
    incoming: Vec<Incoming>,
    /// State of the messages that have begun to arrive and have not yet arrived completely.
    messages: Vec<Message>,
    free: Vec<u32>,
    /// Those of them that need grants and are not given up, in the order in which they are granted.
    scheduled: Line<Key>,
    /// Packets on the way of messages that needed grants and have been granted completely, and the number of these
    /// messages. They have no place any longer; what they have on the way takes room.
    full: u64,
    full_messages: usize,
    /// Packets that may be sent, granted or unscheduled, and have not arrived, of messages that are not given
    /// up.
    outstanding: u64,
    /// Packets granted to active messages since the oldest one was last granted its share.
    since_oldest: u64,
    /// Time that data packets have taken on the links to this host. (ps)
    busy: u64,
    /// Time at which a message last arrived completely. (ps)
    last_complete: u64,
    /// Scratch: the active messages, in order.
    active: Vec<u32>,
}

/// The order of grants: bytes that are not granted, size, index; and the position of the message.
type Key = (u64, u64, u32, u32);

/// The receiving side of one message while it arrives.
#[derive(Debug)]
struct Message {
    slot: u32,
    /// The sending host.
    source: u32,
    size: u64,
    /// Payload of a full packet.
    payload: u64,
    packets: u32,
    /// RTTbytes in packets.
    rtt_packets: u32,
    arrived: Ranges,
    /// Number of packets that have arrived, and their payload.
    count: u32,
    bytes: u64,
    /// Packets below this number may be sent.
    limit: u32,
    /// Time at which its first packet arrived. (ps)
    began: u64,
    /// The level in its last grant.
    level: u8,
    /// Time at which a new packet of it last arrived. (ps)
    heard: u64,
    /// Time at which a new packet of it last arrived or it was last granted or requested again, and what
    /// [`Receivers::busy`] was then. (ps)
    touched: u64,
    busy: u64,
    /// Time of the valid pending [`rank::RECEIVER`].
    timer: u64,
    /// Requests since a new packet last arrived.
    tries: u32,
    given_up: bool,
    /// The packets that it sends back, without what is their own.
    reply: Packet,
}

impl Message {
    /// Packets that may be sent and have not arrived.
    fn outstanding(&self) -> u64 {
        u64::from(self.limit - self.count)
    }

    /// Whether it needed grants and has all of them.
    fn is_full(&self) -> bool {
        self.packets > self.rtt_packets && self.limit == self.packets
    }

    /// Its place in the order of the messages that need grants, if it does.
    fn key(&self, place: u32) -> Option<Key> {
        let granted = u64::from(self.limit) * self.payload;
        let key = (self.size.saturating_sub(granted), self.size, self.slot, place);
        (self.limit < self.packets).then_some(key)
    }

    /// Returns its place in the order of the messages of which the least is missing.
    fn rest(&self) -> (u64, u32) {
        (self.size - self.bytes, self.slot)
    }

    /// Restarts its timeout.
    fn touch(&mut self, now: u64, busy: u64) {
        (self.touched, self.busy) = (now, busy);
    }

    /// Ensures that an event is pending no later than the end of its timeout, if packets are outstanding.
    fn arm<E: Effects>(&mut self, priorities: &Priorities, effects: &mut E) {
        self.arm_at(self.touched.saturating_add(priorities.resend_timeout), effects);
    }

    /// Ensures that an event is pending no later than `due`, if packets are outstanding.
    fn arm_at<E: Effects>(&mut self, due: u64, effects: &mut E) {
        if self.outstanding() > 0 && !self.given_up && due < self.timer {
            self.timer = due;
            effects.schedule(Event::new(due, rank::RECEIVER, self.slot));
        }
    }

    /// Sends one of Homa's own packets to its sender.
    fn send<E: Effects>(&self, now: u64, op: u8, control: &Control, flow: u32, cx: &mut Context<'_, E>) {
        send(now, Packet { kind: Kind::Own, hops: op, body: control.body(), ..self.reply }, flow, cx);
    }

    /// Returns the content of a grant or a request for it.
    fn control(&self, now: u64, peer: u32) -> Control {
        Control { sent: now, slot: peer, limit: self.limit, first: 0, arrived: self.count, level: self.level }
    }
}

impl Receivers {
    pub(super) fn add(&mut self, flow: u32, peer: u32) -> u32 {
        self.incoming.push(Incoming::new(flow, peer));
        self.incoming.len() as u32 - 1
    }

    /// A data packet has arrived.
    pub(super) fn on_data<E: Effects>(
        &mut self,
        now: u64,
        packet: &Packet,
        priorities: &Priorities,
        cx: &mut Context<'_, E>,
    ) {
        cx.effects.tally().counts.delivered += 1;
        let data = Data::of(&packet.body);
        let incoming = self.incoming[data.slot as usize];
        let payload = cx.facts.sizes(cx.facts.flows[incoming.flow as usize].algorithm).payload;
        let number = (data.sequence / payload) as u32;
        self.busy += link_time(packet.size, cx);
        if incoming.is_complete() {
            if number == 0 {
                acknowledge(now, incoming.completed, incoming.completed, &incoming, cx);
            }
            return;
        }
        let place = match incoming.place {
            NOWHERE => self.begin(now, &data, payload, priorities, cx.facts),
            place => place,
        };
        if self.messages[place as usize].given_up {
            self.resume(now, place, priorities, cx);
        }
        let message = &mut self.messages[place as usize];
        if message.arrived.add(number, number + 1) == 0 {
            // Its sender does not know whether anything of it has arrived.
            if number == 0 {
                message.send(now, GRANT, &message.control(now, incoming.peer), incoming.flow, cx);
            }
            return;
        }
        let tally = cx.effects.tally();
        tally.counts.progress = tally.counts.progress.max(now);
        message.count += 1;
        message.bytes += u64::from(data.payload);
        (message.heard, message.tries) = (now, 0);
        message.touch(now, self.busy);
        self.outstanding -= 1;
        self.full -= u64::from(message.is_full());
        if message.count == message.packets {
            self.full_messages -= usize::from(message.is_full());
            self.last_complete = now;
            let incoming = &mut self.incoming[data.slot as usize];
            (incoming.completed, incoming.place) = (now, NOWHERE);
            self.free.push(place);
            let incoming = *incoming;
            acknowledge(now, data.sent, now, &incoming, cx);
            cx.arrived(now, incoming.flow);
            self.grant(now, priorities, cx);
            return;
        }
        self.grant(now, priorities, cx);
        let message = &mut self.messages[place as usize];
        message.arm(priorities, cx.effects);
        if message.count == message.rtt_packets && message.limit == message.count {
            // It waits for its turn. Its sender need not find out whether anything has arrived.
            message.send(now, GRANT, &message.control(now, incoming.peer), incoming.flow, cx);
        }
    }

    /// A packet of a message that was given up has arrived.
    fn resume<E: Effects>(&mut self, now: u64, place: u32, priorities: &Priorities, cx: &mut Context<'_, E>) {
        let message = &mut self.messages[place as usize];
        (message.given_up, message.tries) = (false, 0);
        message.touch(now, self.busy);
        message.arm(priorities, cx.effects);
        self.outstanding += message.outstanding();
        self.enlist(place);
    }

    /// A message that is not given up competes for grants, or takes room for what it has on the way.
    fn enlist(&mut self, place: u32) {
        let message = &self.messages[place as usize];
        if message.is_full() {
            self.full += message.outstanding();
            self.full_messages += 1;
        }
        self.scheduled.replace(None, message.key(place));
    }

    /// It does so no longer.
    fn delist(&mut self, place: u32) {
        let message = &self.messages[place as usize];
        if message.is_full() {
            self.full -= message.outstanding();
            self.full_messages -= 1;
        }
        self.scheduled.replace(message.key(place), None);
    }

    /// The first packet of a message has arrived.
    fn begin(
        &mut self,
        now: u64,
        data: &Data,
        payload: u64,
        priorities: &Priorities,
        facts: &FlowFacts,
    ) -> u32 {
        let packets = data.size.div_ceil(payload) as u32;
        let incoming = &mut self.incoming[data.slot as usize];
        let rtt_packets = priorities.rtt_packets(incoming.flow);
        let message = Message {
            slot: data.slot,
            source: facts.flows[incoming.flow as usize].source,
            size: data.size,
            payload,
            packets,
            rtt_packets,
            arrived: Ranges::default(),
            count: 0,
            bytes: 0,
            limit: packets.min(rtt_packets),
            began: now,
            level: priorities.levels - 1,
            heard: now,
            touched: now,
            busy: self.busy,
            timer: NEVER,
            tries: 0,
            given_up: false,
            reply: blank_reply(incoming.flow, facts),
        };
        self.outstanding += message.outstanding();
        let place = self.free.pop().unwrap_or(self.messages.len() as u32);
        if let Some(free) = self.messages.get_mut(place as usize) {
            *free = message;
        } else {
            self.messages.push(message);
        }
        incoming.place = place;
        self.enlist(place);
        place
    }

    /// Chooses the active messages and grants what they lack, the one with the fewest bytes to be granted first;
    /// then the oldest one its share, if it is time for that. Each has a place for RTTbytes, of which there are as many
    /// as the overcommitment. Messages that were granted completely fill the last places with what they have on the way.
    fn grant<E: Effects>(&mut self, now: u64, priorities: &Priorities, cx: &mut Context<'_, E>) {
        let mut active = std::mem::take(&mut self.active);
        active.clear();
        for &(.., place) in self.scheduled.iter() {
            let source = self.messages[place as usize].source;
            if active.iter().all(|other| self.messages[*other as usize].source != source) {
                active.push(place);
                if active.len() == priorities.overcommitment {
                    break;
                }
            }
        }
        let (full, before) = (self.full, self.full_messages);
        for (rank, &place) in active.iter().enumerate() {
            let message = &self.messages[place as usize];
            let (places, each) = ((priorities.overcommitment - rank) as u64, u64::from(message.rtt_packets));
            let room = (places * each).saturating_sub(full).min(each) as u32;
            let wanted = message.count.saturating_add(room).min(message.packets);
            let more = u64::from(wanted.saturating_sub(message.limit));
            // Those before it keep their levels until they have arrived: what they have on the way would wait for it.
            let level = priorities.scheduled_level(before + rank, before + active.len());
            self.since_oldest += self.raise(now, place, more, level, priorities, cx);
        }
        self.active = active;
        if self.since_oldest >= priorities.oldest_every {
            self.since_oldest -= priorities.oldest_every;
            self.grant_oldest(now, priorities, cx);
        }
    }

    /// Grants a step to the message that began to arrive first, at the highest scheduled level; not to one that
    /// has more than RTTbytes on the way, as after the last step.
    fn grant_oldest<E: Effects>(&mut self, now: u64, priorities: &Priorities, cx: &mut Context<'_, E>) {
        let may = |message: &Message| {
            message.limit < message.packets && message.outstanding() <= u64::from(message.rtt_packets)
        };
        let waiting =
            self.scheduled.iter().map(|&(.., slot, place)| (slot, place, &self.messages[place as usize]));
        let oldest = waiting.filter(|(.., message)| may(message)).min_by_key(|(slot, _, m)| (m.began, *slot));
        if let Some((_, place, message)) = oldest {
            let more = u64::from(message.packets - message.limit).min(priorities.oldest_step);
            self.raise(now, place, more, priorities.unscheduled, priorities, cx);
        }
    }

    /// Grants a message up to `more` packets more at a level, as the cap permits. Returns the number
    /// granted.
    fn raise<E: Effects>(
        &mut self,
        now: u64,
        place: u32,
        more: u64,
        level: u8,
        priorities: &Priorities,
        cx: &mut Context<'_, E>,
    ) -> u64 {
        let more = more.min(priorities.cap.saturating_sub(self.outstanding));
        if more == 0 {
            return 0;
        }
        // It is in the order of those that need grants, as it needs more.
        let message = &mut self.messages[place as usize];
        let before = message.key(place);
        message.limit += more as u32;
        self.scheduled.replace(before, message.key(place));
        if message.is_full() {
            self.full += message.outstanding();
            self.full_messages += 1;
        }
        self.outstanding += more;
        message.level = level;
        message.touch(now, self.busy);
        let Incoming { flow, peer, .. } = self.incoming[message.slot as usize];
        message.send(now, GRANT, &message.control(now, peer), flow, cx);
        message.arm(priorities, cx.effects);
        more
    }

    /// Returns the end of the timeout of a message, if nothing more arrives.
    ///
    /// A message is not taken for lost while its packets may wait for messages that go before it: until the
    /// timeout has passed since one of these last arrived, or until the links to this host were idle for as long.
    fn deadline(&self, now: u64, message: &Message, priorities: &Priorities) -> u64 {
        let timeout = priorities.resend_timeout;
        let before = self.messages.iter().filter(|other| other.rest() < message.rest());
        let before = before.map(|other| other.heard).fold(self.last_complete, u64::max);
        let used = (now - message.touched).saturating_sub(self.busy - message.busy);
        let idle = now.saturating_add(timeout.saturating_sub(used));
        message.touched.max(before).saturating_add(timeout).min(idle)
    }

    /// The timer of a message: if nothing new has arrived for the timeout, what is missing is requested again.
    pub(super) fn on_timer<E: Effects>(
        &mut self,
        now: u64,
        slot: u32,
        priorities: &Priorities,
        cx: &mut Context<'_, E>,
    ) {
        let Incoming { flow, peer, place, .. } = self.incoming[slot as usize];
        let Some(message) = self.messages.get(place as usize).filter(|message| message.timer == now) else {
            return;
        };
        let due = self.deadline(now, message, priorities);
        let message = &mut self.messages[place as usize];
        message.timer = NEVER;
        if message.outstanding() == 0 {
            return;
        }
        if due > now {
            message.arm_at(due, cx.effects);
        } else if message.tries < priorities.resend_tries {
            message.tries += 1;
            message.touch(now, self.busy);
            let control = message.control(now, peer);
            for (first, limit) in message.arrived.gaps(message.limit) {
                message.send(now, RESEND, &Control { first, limit, ..control }, flow, cx);
            }
            message.arm(priorities, cx.effects);
        } else {
            message.given_up = true;
            self.outstanding -= message.outstanding();
            self.delist(place);
            self.grant(now, priorities, cx);
        }
    }
}

/// Returns the time that a packet takes on the links to the host together. (ps)
fn link_time<E>(size: u16, cx: &Context<'_, E>) -> u64 {
    let links = &cx.facts.fabric.routes.ports[cx.home.node as usize];
    let rate = links.iter().map(|link| link.rate.bps()).fold(0, u64::saturating_add);
    Rate::from_bps(rate).time_for(Bytes::new(u64::from(size))).ps()
}

/// Sends the acknowledgement of a message whose last packet left at `sent` and arrived at `completed`.
fn acknowledge<E: Effects>(
    now: u64,
    sent: u64,
    completed: u64,
    incoming: &Incoming,
    cx: &mut Context<'_, E>,
) {
    let mut packet = blank_reply(incoming.flow, cx.facts);
    packet.set_ack(&Ack {
        sent,
        received: completed,
        held: 0,
        slot: incoming.peer,
        inflight: 0,
        expected: cx.facts.packets(incoming.flow) as u32,
        offset: 0,
        flows: 0,
        packets: 1,
        marked: 0,
        bitmap: 0,
    });
    send(now, packet, incoming.flow, cx);
}

/// Returns a packet to the sender of a message, without what is its own.
fn blank_reply(flow: u32, facts: &FlowFacts) -> Packet {
    Packet {
        destination: facts.address(flow, Way::Back),
        hash: facts.hashes(flow).1,
        size: facts.sizes(facts.flows[flow as usize].algorithm).ack as u16,
        queue: TOP,
        ..Packet::blank(Kind::Ack)
    }
}

/// Sends a packet to the sender of a message.
fn send<E: Effects>(now: u64, mut packet: Packet, flow: u32, cx: &mut Context<'_, E>) {
    let card = cx.nic_for(flow, Way::Back, || packet.hash);
    cx.home.nics[usize::from(card)].reply(now, &mut packet, &NO_INT, cx.effects);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::transport::tests::star;
    use crate::facts::Facts;
    use crate::host::nic::Nic;
    use crate::host::transport::context::Home;
    use incast_net::describe::network::PortId;
    use incast_net::describe::transport::{Kind as Transport, RttBytes};
    use incast_net::describe::{Simulation, flow};
    use incast_net::packet::IntRecords;
    use incast_net::record::tally::Tally;
    use incast_units::Time;

    /// Keeps the packets that are sent.
    #[derive(Default)]
    struct Sent {
        packets: Vec<Packet>,
        tally: Tally,
    }

    impl Effects for Sent {
        const DEPARTURES_WAIT: bool = false;

        fn transmit(&mut self, _: PortId, packet: &Packet, _: &IntRecords) {
            self.packets.push(*packet);
        }
        fn schedule(&mut self, _: Event) {}
        fn tally(&mut self) -> &mut Tally {
            &mut self.tally
        }
    }

    /// Messages of these sizes from hosts of their own to the last host; RTTbytes 10 KB, packets of 1 KB.
    fn messages(sizes: &[u64], overcommitment: u32) -> Simulation {
        let mut simulation = star(1);
        let flow = simulation.flows[0];
        let mut network = incast_net::describe::network::Network::with_hosts(sizes.len() as u32 + 1);
        let switch = network.add_switch("s0");
        for host in 0..=sizes.len() as u32 {
            network.add_link(host, switch, Rate::from_gbps(100), Time::from_us(1));
        }
        simulation.network = network;
        let of = |(source, size): (usize, &u64)| flow::Flow {
            source: source as u32,
            destination: sizes.len() as u32,
            size: Bytes::new(*size),
            ..flow
        };
        simulation.flows = sizes.iter().enumerate().map(of).collect();
        simulation.switch.queues = 8;
        simulation.transport.kind = Transport::Homa;
        simulation.transport.homa.rtt_bytes = RttBytes::Value(Bytes::new(10_000));
        simulation.transport.homa.overcommitment = Some(overcommitment);
        simulation
    }

    /// A receiver that has the first 10 KB of each message, and then gets the next packet of some of them:
    /// how far each is granted, in packets, after each step.
    fn granted(sizes: &[u64], overcommitment: u32, next: &[u32]) -> Vec<Vec<u32>> {
        steps_of(&messages(sizes, overcommitment), next)
    }

    fn steps_of(simulation: &Simulation, next: &[u32]) -> Vec<Vec<u32>> {
        let sizes: Vec<u64> = simulation.flows.iter().map(|flow| flow.size.get()).collect();
        let all = Facts::new(simulation).unwrap();
        let (facts, operations) = (all.flows(), &all.hosts.work);
        let priorities = Priorities::new(simulation, &facts.fabric.routes, facts.plain_sizes()).unwrap();
        let mut receivers = Receivers::default();
        let host = sizes.len() as u32;
        let out = facts.fabric.routes.ports[host as usize][0];
        let nics = vec![Nic::new(0, &out, 8, false)];
        let (mut home, mut effects) = (Home { node: host, table: None, nics, work: None }, Sent::default());
        let mut cx = Context { facts, operations, home: &mut home, effects: &mut effects };
        let data = |slot: u32, number: u64| Data {
            sequence: number * 1000,
            sent: 0,
            slot,
            size: sizes[slot as usize],
            payload: 1000,
        };
        for slot in 0..host {
            receivers.add(slot, slot);
            let place = receivers.begin(0, &data(slot, 0), 1000, &priorities, facts);
            let message = &mut receivers.messages[place as usize];
            (message.count, message.bytes) = (message.arrived.add(0, 10), 10_000);
            receivers.outstanding -= 10;
            assert!(!receivers.messages[place as usize].is_full());
        }
        receivers.grant(1, &priorities, &mut cx);
        let limits = |receivers: &Receivers| receivers.messages.iter().map(|m| m.limit).collect();
        let mut steps: Vec<Vec<u32>> = vec![limits(&receivers)];
        for slot in next {
            let number = receivers.messages[*slot as usize].count;
            let body = data(*slot, u64::from(number)).body();
            let packet = Packet { body, ..Packet::blank(Kind::Data) };
            receivers.on_data(1, &packet, &priorities, &mut cx);
            steps.push(limits(&receivers));
        }
        assert_eq!(receivers.outstanding, receivers.messages.iter().map(Message::outstanding).sum());
        let full = receivers.messages.iter().filter(|message| message.is_full());
        assert_eq!(receivers.full, full.clone().map(Message::outstanding).sum());
        // Those that have arrived completely are not counted.
        assert_eq!(receivers.full_messages, full.filter(|message| message.outstanding() > 0).count());
        steps
    }

    #[test]
    fn grants_by_hand() {
        // Of the messages 40, 20 and 10 KB remain, and two are active. The third is granted all of
        // it, the second up to 20 KB, the first nothing. The third has no place any longer, and 9 packets on the way
        // when its next one has arrived: the first is granted one packet in its stead. The second gets 21 KB when
        // its own data arrive. So 20 packets are on the way in each case.
        let steps = granted(&[50_000, 30_000, 20_000], 2, &[2, 1, 2]);
        assert_eq!(steps, [[10, 20, 20], [11, 20, 20], [11, 21, 20], [12, 21, 20]]);
        // With one place the second is granted one packet for each of the last ten of the third.
        let steps = granted(&[50_000, 30_000, 20_000], 1, &[2, 2, 1]);
        assert_eq!(steps, [[10, 10, 20], [10, 11, 20], [10, 12, 20], [10, 13, 20]]);
        // Of equal messages the one with the lower index comes first.
        assert_eq!(granted(&[20_000, 20_000], 1, &[]), [[20, 10]]);
        // With three all are granted; one that overtakes another changes its place, not what is granted.
        assert_eq!(granted(&[50_000, 30_000, 20_000], 3, &[0]), [[20, 20, 20], [21, 20, 20]]);
    }

    #[test]
    fn the_oldest_message_gets_its_share_by_hand() {
        // A fifth in steps of 4 packets: after 16 others. At first the third message is granted its last 10, and then
        // the second one for each of these that arrives. With the sixth the first, the oldest by its index, gets 4.
        let mut simulation = messages(&[50_000, 30_000, 20_000], 1);
        simulation.transport.homa.oldest_share = incast_cc::Fixed::ratio(1, 5);
        simulation.transport.homa.oldest_step = Bytes::new(4_999);
        let steps = steps_of(&simulation, &[[2; 10].as_slice(), &[1; 4]].concat());
        let (first, last) = (&steps[5..7], &steps[10..]);
        assert_eq!(first, [[10, 15, 20], [14, 16, 20]]);
        // Of the 20, 4 count for the next time: the second message has 12 more packets to come.
        assert_eq!(last, [[14, 20, 20], [14, 21, 20], [14, 22, 20], [14, 23, 20], [14, 24, 20]]);
        // Were the second of 40 KB, 12 more of it would be granted, and then the next 4 of the first.
        let mut longer = simulation.clone();
        longer.flows[1].size = Bytes::new(40_000);
        let steps = steps_of(&longer, &[[2; 10].as_slice(), &[1; 12]].concat());
        assert_eq!(steps[21..], [[14, 31, 20], [18, 32, 20]]);
        // Half in steps of 12: the first has 12 packets on the way, more than RTTbytes, when the time of the next
        // step comes, which goes to the second.
        longer.transport.homa.oldest_step = Bytes::new(12_000);
        longer.transport.homa.oldest_share = incast_cc::Fixed::ratio(1, 2);
        let steps = steps_of(&longer, &[[2; 10].as_slice(), &[1; 4]].concat());
        assert_eq!(steps[10], [22, 20, 20]);
        assert_eq!(steps[13..], [[22, 23, 20], [22, 36, 20]]);
    }

    #[test]
    fn one_message_of_each_sender_is_active() {
        let mut simulation = messages(&[20_000, 30_000, 40_000], 2);
        simulation.flows[1].source = 0;
        let all = Facts::new(&simulation).unwrap();
        let (facts, operations) = (all.flows(), &all.hosts.work);
        let priorities = Priorities::new(&simulation, &facts.fabric.routes, facts.plain_sizes()).unwrap();
        let mut receivers = Receivers::default();
        let out = facts.fabric.routes.ports[3][0];
        let nics = vec![Nic::new(0, &out, 8, false)];
        let (mut home, mut effects) = (Home { node: 3, table: None, nics, work: None }, Sent::default());
        let mut cx = Context { facts, operations, home: &mut home, effects: &mut effects };
        for (slot, size) in [(0, 20_000), (1, 30_000), (2, 40_000)] {
            receivers.add(slot, slot);
            let data = Data { sequence: 0, sent: 0, slot, size, payload: 1000 };
            let packet = Packet { body: data.body(), ..Packet::blank(Kind::Data) };
            receivers.on_data(1, &packet, &priorities, &mut cx);
        }
        // The second is from the same sender as the first, so the third has the second place.
        let limits: Vec<_> = receivers.messages.iter().map(|message| message.limit).collect();
        assert_eq!(limits, [11, 10, 11]);
        // When the first got its grant it was the only one, at the lowest level; the third is the second of two.
        let levels: Vec<_> = receivers.messages.iter().map(|message| message.level).collect();
        assert_eq!(levels, [7, 7, 7]);
        // The grants go out in the highest queue, at once while the port is idle.
        assert_eq!(effects.packets.len(), 1);
        assert_eq!((effects.packets[0].op(), effects.packets[0].queue), (Some(GRANT), 0));
        assert_eq!(home.nics[0].waiting_replies().count(), 1);
    }

    #[test]
    fn a_message_that_was_given_up_goes_on_with_its_next_packet() {
        let simulation = messages(&[20_000], 1);
        let all = Facts::new(&simulation).unwrap();
        let (facts, operations) = (all.flows(), &all.hosts.work);
        let priorities = Priorities::new(&simulation, &facts.fabric.routes, facts.plain_sizes()).unwrap();
        let mut receivers = Receivers::default();
        receivers.add(0, 0);
        let out = facts.fabric.routes.ports[1][0];
        let nics = vec![Nic::new(0, &out, 8, false)];
        let (mut home, mut effects) = (Home { node: 1, table: None, nics, work: None }, Sent::default());
        let mut cx = Context { facts, operations, home: &mut home, effects: &mut effects };
        let data = Data { sequence: 0, sent: 0, slot: 0, size: 20_000, payload: 1000 };
        let packet = Packet { body: data.body(), ..Packet::blank(Kind::Data) };
        receivers.on_data(0, &packet, &priorities, &mut cx);
        let ms = 1_000_000_000;
        let mut requests = 0;
        for i in 1..=7 {
            assert_eq!(receivers.messages[0].given_up, i == 7);
            assert_eq!(receivers.outstanding, if i == 7 { 0 } else { 10 });
            let before = cx.effects.packets.len();
            receivers.on_timer(i * ms, 0, &priorities, &mut cx);
            requests += cx.effects.packets.len() - before;
        }
        // Five times packets 1 to 10.
        assert_eq!(requests, 5);
        assert_eq!(receivers.scheduled.iter().count(), 0);
        // Its first packet once more: it is requested again a millisecond later.
        receivers.on_data(10 * ms, &packet, &priorities, &mut cx);
        assert_eq!((receivers.messages[0].given_up, receivers.outstanding), (false, 10));
        assert_eq!(receivers.scheduled.iter().count(), 1);
        assert_eq!(receivers.messages[0].timer, 11 * ms);
        receivers.on_timer(11 * ms, 0, &priorities, &mut cx);
        let sent = effects.packets.iter().map(|packet| (packet.op(), Control::of(&packet.body)));
        let sent: Vec<_> = sent.map(|(op, c)| (op, c.first, c.limit, c.arrived)).collect();
        assert_eq!(sent[6..], [(Some(GRANT), 0, 11, 1), (Some(RESEND), 1, 11, 1)]);
    }
}
