//! The sending side of one flow: window, pacing, go-back-N, and its congestion control.

use incast_cc::{Ack, IntStack, Loss, LossKind, Path, Sent};
use incast_units::{Bytes, Rate, Time};

use crate::describe::algorithm::Control;
use crate::engine::event::{Effects, Event, Kind as EventKind};
use crate::engine::world::World;
use crate::packet::{Kind, Packet, flag};
use crate::record::{FlowRecord, FlowSample};
use crate::route::Sizes;

/// What a flow waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Its turn on the wire.
    Ready,
    /// The time of its next packet.
    Paced,
    /// Window, or nothing to send.
    Blocked,
    /// Nothing: it is done.
    Done,
}

/// A moment that never comes.
const NEVER: u64 = u64::MAX;

/// Most doublings of the retransmission timer.
const LARGEST_BACKOFF: u8 = 6;

/// The sending side of one flow.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) state: State,
    pub(crate) queue: u8,
    backoff: u8,
    algorithm: u16,
    flow: u32,
    /// Index among the host's outgoing flows.
    pub(crate) index: u32,
    /// The receiver's index of the flow.
    peer: u32,
    destination: u32,
    hash: u32,
    timeouts: u32,
    /// Payload to send; shrinks to what was sent when the flow stops.
    size: u64,
    /// First payload byte not acknowledged.
    pub(crate) unacknowledged: u64,
    /// Next payload byte to send.
    next: u64,
    /// One past the last payload byte ever sent.
    highest: u64,
    /// Bytes on the wire between `unacknowledged` and `next`.
    pub(crate) inflight: u64,
    window: u64,
    rate: Rate,
    /// Time between two full packets at `rate`. (ps)
    gap: u64,
    /// When the next packet may leave. (ps)
    pub(crate) next_at: u64,
    last_start: u64,
    last_size: u64,
    /// Time of the pending [`EventKind::Paced`] that counts.
    paced_at: u64,
    /// When the retransmission timer runs out, and when its pending event comes.
    retransmit_at: u64,
    retransmit_event: u64,
    /// Time of the pending [`EventKind::Control`] that counts.
    control_event: u64,
    start: Time,
    last_rtt: Time,
    packets: u64,
    resent: u64,
    marked: u64,
    path: Path,
    controller: Control,
}

impl Sender {
    pub(crate) fn new(now: u64, flow: u32, index: u32, peer: u32, world: &World) -> Self {
        let spec = &world.flows[flow as usize];
        let (path, hash) = world.path(flow);
        let controller = world.algorithms[usize::from(spec.algorithm)].start(&path, Time::from_ps(now));
        let mut sender = Self {
            state: State::Blocked,
            queue: spec.queue,
            backoff: 0,
            algorithm: spec.algorithm,
            flow,
            index,
            peer,
            destination: spec.destination,
            hash,
            timeouts: 0,
            size: spec.size.get(),
            unacknowledged: 0,
            next: 0,
            highest: 0,
            inflight: 0,
            window: 0,
            rate: Rate::ZERO,
            gap: 0,
            next_at: now,
            last_start: now,
            last_size: 0,
            paced_at: NEVER,
            retransmit_at: NEVER,
            retransmit_event: NEVER,
            control_event: NEVER,
            start: Time::from_ps(now),
            last_rtt: Time::ZERO,
            packets: 0,
            resent: 0,
            marked: 0,
            path,
            controller,
        };
        sender.take_allowance(world);
        sender
    }

    /// The event at which it stops offering data, if it has a set time for that.
    pub(crate) fn stop_event(&self, index: u32, world: &World) -> Option<Event> {
        let stop = world.flows[self.flow as usize].stop;
        (stop != Time::NEVER).then(|| Event::new(stop.ps(), EventKind::Stop, index))
    }

    /// Whether it has something to send and room in its window. One packet may always be in flight.
    #[inline]
    pub(crate) fn may_send(&self) -> bool {
        self.next < self.size && (self.inflight == 0 || self.inflight < self.window)
    }

    /// The next packet, taken off the flow's data.
    #[inline]
    pub(crate) fn next_packet(&mut self, now: u64, world: &World) -> Packet {
        let sizes = world.sizes(self.algorithm);
        let payload = sizes.payload.min(self.size - self.next);
        let size = sizes.data(payload);
        let mut flags = world.flags(self.algorithm);
        if self.next + payload == self.size {
            flags |= flag::LAST;
        }
        self.inflight += size;
        let packet = Packet {
            sent: now,
            sequence: self.next,
            destination: self.destination,
            slot: self.peer,
            hash: self.hash,
            inflight: u32::try_from(self.inflight).unwrap_or(u32::MAX),
            size: size as u16,
            payload: payload as u16,
            queue: self.queue,
            flags,
            ..Packet::blank(Kind::Data)
        };
        self.resent += u64::from(self.next < self.highest);
        self.packets += 1;
        self.next += payload;
        self.highest = self.highest.max(self.next);
        packet
    }

    /// Its packet of `size` bytes has begun to leave.
    #[inline]
    pub(crate) fn sent(&mut self, now: u64, slot: u32, size: u64, world: &World, effects: &mut impl Effects) {
        self.last_start = now;
        self.last_size = size;
        let sent =
            Sent { now: Time::from_ps(now), bytes: Bytes::new(size), inflight: Bytes::new(self.inflight) };
        self.controller.on_sent(&world.algorithms[usize::from(self.algorithm)], &self.path, &sent);
        self.take_allowance(world);
        self.next_at = now.saturating_add(self.gap_for(size));
        self.arm_control(now, slot, effects);
        if self.retransmit_at == NEVER {
            self.restart_retransmit(now, slot, world, effects);
        }
    }

    /// An acknowledgement or a NACK came. Says whether the flow is done.
    pub(crate) fn acknowledged(
        &mut self,
        now: u64,
        slot: u32,
        packet: &Packet,
        int: &IntStack,
        world: &World,
        effects: &mut impl Effects,
    ) -> bool {
        let sizes = world.sizes(self.algorithm);
        let mut acked = 0;
        if packet.sequence > self.unacknowledged {
            acked = wire_bytes(sizes, self.unacknowledged, packet.sequence);
            self.unacknowledged = packet.sequence;
            if self.next <= self.unacknowledged {
                self.next = self.unacknowledged;
                self.inflight = 0;
            } else {
                self.inflight = self.inflight.saturating_sub(acked);
            }
            self.backoff = 0;
            self.restart_retransmit(now, slot, world, effects);
        }
        let missing = packet.kind == Kind::Nack;
        self.marked += u64::from(packet.marked);
        let ack = Ack {
            now: Time::from_ps(now),
            sent: Time::from_ps(packet.sent),
            received: Time::from_ps(packet.received),
            acked: Bytes::new(acked),
            sequence: self.unacknowledged,
            next_sequence: self.next,
            inflight: Bytes::new(u64::from(packet.inflight)),
            inflight_now: Bytes::new(self.inflight),
            packets: u32::from(packet.packets),
            marked: u32::from(packet.marked),
            hop_delay: packet.hop_delay(),
            receiver_flows: u32::from(packet.payload),
            hole: missing,
        };
        self.last_rtt = ack.rtt();
        if self.unacknowledged >= self.size {
            return true;
        }
        let params = &world.algorithms[usize::from(self.algorithm)];
        self.controller.on_ack(params, &self.path, &ack, int);
        if missing && packet.sequence == self.unacknowledged && self.next > self.unacknowledged {
            self.go_back(now, LossKind::Hole, world);
        }
        self.take_allowance(world);
        self.arm_control(now, slot, effects);
        false
    }

    /// The receiver reports congestion.
    pub(crate) fn congestion_notified(
        &mut self,
        now: u64,
        slot: u32,
        world: &World,
        effects: &mut impl Effects,
    ) {
        let params = &world.algorithms[usize::from(self.algorithm)];
        self.controller.on_cnp(params, &self.path, Time::from_ps(now));
        self.take_allowance(world);
        self.arm_control(now, slot, effects);
    }

    /// The retransmission timer's event has come. Says whether anything is to be sent again.
    pub(crate) fn retransmit_timer(
        &mut self,
        now: u64,
        slot: u32,
        world: &World,
        effects: &mut impl Effects,
    ) -> bool {
        if self.retransmit_event != now || self.state == State::Done {
            return false;
        }
        self.retransmit_event = NEVER;
        if self.retransmit_at > now {
            self.arm_retransmit(slot, effects);
            return false;
        }
        self.retransmit_at = NEVER;
        if self.inflight == 0 {
            return false;
        }
        self.timeouts += 1;
        self.backoff = (self.backoff + 1).min(LARGEST_BACKOFF);
        self.go_back(now, LossKind::Timeout, world);
        self.take_allowance(world);
        self.arm_control(now, slot, effects);
        true
    }

    /// The congestion control's timer event has come. Says whether it did anything.
    pub(crate) fn control_timer(
        &mut self,
        now: u64,
        slot: u32,
        world: &World,
        effects: &mut impl Effects,
    ) -> bool {
        if self.control_event != now || self.state == State::Done {
            return false;
        }
        self.control_event = NEVER;
        let due = self.controller.deadline().ps() <= now;
        if due {
            let params = &world.algorithms[usize::from(self.algorithm)];
            self.controller.on_timer(params, &self.path, Time::from_ps(now));
            self.take_allowance(world);
        }
        self.arm_control(now, slot, effects);
        due
    }

    /// Schedules the congestion control's next timer if it is earlier than the pending one. A deadline
    /// that has passed comes at the next instant, so that no algorithm can hold the time still.
    #[inline]
    pub(crate) fn arm_control(&mut self, now: u64, slot: u32, effects: &mut impl Effects) {
        let deadline = self.controller.deadline().ps().max(now.saturating_add(1));
        if deadline < self.control_event {
            self.control_event = deadline;
            effects.schedule(Event::new(deadline, EventKind::Control, slot));
        }
    }

    /// Waits for the time of the next packet.
    pub(crate) fn pace(&mut self, slot: u32, effects: &mut impl Effects) {
        self.state = State::Paced;
        if self.next_at < self.paced_at {
            self.paced_at = self.next_at;
            effects.schedule(Event::new(self.next_at, EventKind::Paced, slot));
        }
    }

    /// A pacing event has come. Says whether it is the flow's turn now.
    pub(crate) fn paced_until_now(&mut self, now: u64) -> bool {
        if self.paced_at != now {
            return false;
        }
        self.paced_at = NEVER;
        let turn = self.state == State::Paced;
        if turn {
            // Should the rate have fallen meanwhile, the turn finds that it is too early.
            self.state = State::Ready;
        }
        turn
    }

    /// Stops offering data. Says whether that makes the flow done.
    pub(crate) fn stop_offering(&mut self) -> bool {
        self.size = self.size.min(self.highest);
        self.state != State::Done && self.unacknowledged >= self.size
    }

    /// The record of the flow at its end.
    pub(crate) fn record(&self, finish: Time, delivered: Time, world: &World) -> FlowRecord {
        FlowRecord {
            flow: self.flow,
            start: self.start,
            finish,
            delivered,
            bytes: Bytes::new(self.unacknowledged),
            packets: self.packets,
            resent: self.resent,
            marked: self.marked,
            timeouts: self.timeouts,
            base_rtt: self.path.base_rtt,
            ideal: world.ideal_time(self.flow, self.unacknowledged),
        }
    }

    pub(crate) fn sample(&self, time: Time) -> FlowSample {
        FlowSample {
            time,
            flow: self.flow,
            window: Bytes::new(self.window),
            rate: self.rate,
            rtt: self.last_rtt,
            inflight: Bytes::new(self.inflight),
            acked: Bytes::new(self.unacknowledged),
        }
    }

    /// What the flow waits for, in words.
    pub(crate) fn waits_for(&self, paused: bool) -> String {
        let sent = format!(
            "{} acknowledged, {} in flight",
            Bytes::new(self.unacknowledged),
            Bytes::new(self.inflight)
        );
        let reason = match self.state {
            State::Ready | State::Paced if paused => "its host's link is paused",
            State::Ready => "its turn on its host's link",
            State::Paced => "the time of its next packet at its rate",
            State::Blocked if self.next >= self.size => "acknowledgements of its last packets",
            State::Blocked => "room in its window",
            State::Done => "nothing",
        };
        format!("waits for {reason} ({sent}, {} timeouts)", self.timeouts)
    }

    fn gap_for(&self, size: u64) -> u64 {
        if size == self.path.packet.get() { self.gap } else { self.rate.time_for(Bytes::new(size)).ps() }
    }

    /// Asks the congestion control what is allowed now.
    #[inline]
    fn take_allowance(&mut self, world: &World) {
        let params = &world.algorithms[usize::from(self.algorithm)];
        let allowance = self.controller.allowance(params, &self.path);
        self.window = allowance.window.get();
        if allowance.rate != self.rate {
            self.rate = allowance.rate.max(Rate::from_bps(1));
            self.gap = self.rate.time_for(self.path.packet).ps();
            if self.last_size > 0 {
                self.next_at = self.last_start.saturating_add(self.gap_for(self.last_size));
            }
        }
    }

    /// Go-back-N: everything not acknowledged is to be sent again.
    fn go_back(&mut self, now: u64, kind: LossKind, world: &World) {
        let loss =
            Loss { now: Time::from_ps(now), kind, sequence: self.unacknowledged, next_sequence: self.next };
        self.next = self.unacknowledged;
        self.inflight = 0;
        let params = &world.algorithms[usize::from(self.algorithm)];
        self.controller.on_loss(params, &self.path, &loss);
    }

    fn restart_retransmit(&mut self, now: u64, slot: u32, world: &World, effects: &mut impl Effects) {
        if self.inflight == 0 {
            self.retransmit_at = NEVER;
            return;
        }
        let timeout = world.transport.rto.ps() << self.backoff;
        self.retransmit_at = now.saturating_add(timeout);
        self.arm_retransmit(slot, effects);
    }

    /// One event is pending at a time; when it comes early it is set again.
    fn arm_retransmit(&mut self, slot: u32, effects: &mut impl Effects) {
        if self.retransmit_event == NEVER && self.retransmit_at != NEVER {
            self.retransmit_event = self.retransmit_at;
            effects.schedule(Event::new(self.retransmit_at, EventKind::Retransmit, slot));
        }
    }
}

/// Bytes on the wire of the packets that carry the payload from `from` to `to`, both of them at the
/// boundary of a packet.
#[inline]
fn wire_bytes(sizes: &Sizes, from: u64, to: u64) -> u64 {
    let payload = to - from;
    if payload <= sizes.payload {
        return sizes.data(payload);
    }
    let whole = payload / sizes.payload * sizes.data(sizes.payload);
    match payload % sizes.payload {
        0 => whole,
        rest => whole + sizes.data(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_bytes_by_hand() {
        let sizes = Sizes { payload: 1000, header: 54, ack: 64, smallest: 64 };
        assert_eq!(wire_bytes(&sizes, 0, 1000), 1054);
        assert_eq!(wire_bytes(&sizes, 1000, 1005), 64);
        assert_eq!(wire_bytes(&sizes, 0, 3000), 3 * 1054);
        assert_eq!(wire_bytes(&sizes, 2000, 4500), 2 * 1054 + 554);
    }
}
