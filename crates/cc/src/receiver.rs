//! The receiver's half of congestion control: what is counted, paced and echoed where packets arrive.
//!
//! It does not depend on the algorithm of the sender. [`Receiver`] decides when an acknowledgement and a
//! congestion notification packet (CNP) leave and what they say; [`OpenFlows`] counts the flows of a host,
//! for algorithms with [`crate::Signals::RECEIVER_FLOWS`].

use incast_units::{Bytes, Time};

/// Rules of a receiver's answers, the same for all flows of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ReceiverRules {
    /// Largest number of data packets that one acknowledgement covers, at least 1.
    pub ack_every: u32,
    /// Longest time for which an acknowledgement waits for more packets.
    pub ack_delay: Time,
    /// Shortest time between two CNPs to one flow (DCQCN, SIGCOMM 2015, section 3.1: 50 us).
    pub cnp_interval: Time,
}

/// A data packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Arrival {
    /// Time at which its last bit arrived.
    pub now: Time,
    /// Bytes in flight when it was sent, itself included, as the sender wrote.
    pub inflight: Bytes,
    /// Whether it carries an ECN congestion mark.
    pub marked: bool,
    /// Whether marks are reported to the sender's algorithm by CNPs ([`crate::Signals::CNP`]).
    pub notify: bool,
    /// Whether its acknowledgement may not wait: it is the last of its flow, a duplicate, or it
    /// arrived before an earlier one.
    pub urgent: bool,
}

/// Content of an acknowledgement about the packets that it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Echo {
    /// Number of packets, at least 1.
    pub packets: u32,
    /// Number of them that were marked.
    pub marked: u32,
    /// Mean of the bytes in flight when each was sent.
    pub inflight: Bytes,
    /// Time for which the acknowledgement was held back after the last of them had arrived.
    pub held: Time,
}

/// Packets that the receiver sends in response to a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Response {
    /// Send a CNP.
    pub notify: bool,
    /// Send an acknowledgement that says this.
    pub ack: Option<Echo>,
}

/// The receiver's state of one flow. Size: 40 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Receiver {
    /// No CNP before this.
    notify_after: Time,
    /// Sum over the packets of the held acknowledgement.
    inflight: Bytes,
    /// Time at which the last of them arrived.
    latest: Time,
    /// Latest time at which the held acknowledgement leaves; [`Time::NEVER`] if none is held.
    deadline: Time,
    packets: u32,
    marked: u32,
}

impl Default for Receiver {
    fn default() -> Self {
        Self::NEW
    }
}

impl Receiver {
    /// The state before the first packet.
    pub const NEW: Self = Self {
        notify_after: Time::ZERO,
        inflight: Bytes::ZERO,
        latest: Time::ZERO,
        deadline: Time::NEVER,
        packets: 0,
        marked: 0,
    };

    /// Whether a data packet that has arrived makes the receiver send a CNP. For a packet that is not
    /// acknowledged; [`on_data`](Self::on_data) says it of the others.
    #[inline]
    pub fn notify(&mut self, rules: &ReceiverRules, arrival: &Arrival) -> bool {
        let notify = arrival.notify && arrival.marked && arrival.now >= self.notify_after;
        if notify {
            self.notify_after = arrival.now + rules.cnp_interval;
        }
        notify
    }

    /// A data packet that is to be acknowledged has arrived.
    #[inline]
    pub fn on_data(&mut self, rules: &ReceiverRules, arrival: &Arrival) -> Response {
        let notify = self.notify(rules, arrival);
        if self.packets == 0 && (arrival.urgent || rules.ack_every <= 1) {
            let marked = u32::from(arrival.marked);
            let echo = Echo { packets: 1, marked, inflight: arrival.inflight, held: Time::ZERO };
            return Response { notify, ack: Some(echo) };
        }
        if self.packets == 0 {
            self.deadline = arrival.now + rules.ack_delay;
        }
        self.packets = self.packets.saturating_add(1);
        self.marked = self.marked.saturating_add(u32::from(arrival.marked));
        self.inflight += arrival.inflight;
        self.latest = arrival.now;
        let ack =
            if arrival.urgent || self.packets >= rules.ack_every { self.release(arrival.now) } else { None };
        Response { notify, ack }
    }

    /// Returns the time at which the held acknowledgement is due; [`Time::NEVER`] if none is held.
    #[must_use]
    pub const fn deadline(&self) -> Time {
        self.deadline
    }

    /// The time of [`deadline`](Self::deadline) has come: the acknowledgement that is due, if one is.
    pub fn on_timer(&mut self, now: Time) -> Option<Echo> {
        if now < self.deadline { None } else { self.release(now) }
    }

    fn release(&mut self, now: Time) -> Option<Echo> {
        let packets = u64::from(self.packets);
        let mean = self.inflight.get().checked_div(packets)?;
        let echo = Echo {
            packets: self.packets,
            marked: self.marked,
            inflight: Bytes::new(mean),
            held: now - self.latest,
        };
        *self = Self { notify_after: self.notify_after, ..Self::NEW };
        Some(echo)
    }
}

/// The number of flows that a host is receiving. Size: 4 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct OpenFlows(u32);

impl OpenFlows {
    /// The first packet of a flow has arrived.
    pub fn open(&mut self) {
        self.0 = self.0.saturating_add(1);
    }

    /// A flow has ended: its last packet has arrived, or its sender gave up offering data.
    pub fn close(&mut self) {
        self.0 = self.0.saturating_sub(1);
    }

    /// Returns the number of open flows.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: ReceiverRules =
        ReceiverRules { ack_every: 4, ack_delay: Time::from_us(50), cnp_interval: Time::from_us(50) };

    fn arrival(now_us: u64, inflight: u64) -> Arrival {
        Arrival {
            now: Time::from_us(now_us),
            inflight: Bytes::new(inflight),
            marked: false,
            notify: false,
            urgent: false,
        }
    }

    #[test]
    fn sizes() {
        assert_eq!((size_of::<Receiver>(), size_of::<OpenFlows>()), (40, 4));
    }

    #[test]
    fn every_packet_is_acknowledged_at_once_without_coalescing() {
        let rules = ReceiverRules { ack_every: 1, ..RULES };
        let mut receiver = Receiver::NEW;
        for n in 0..3 {
            let echo = Echo { packets: 1, marked: 0, inflight: Bytes::new(n), held: Time::ZERO };
            let response = receiver.on_data(&rules, &arrival(n, n));
            assert_eq!(response, Response { notify: false, ack: Some(echo) });
            assert_eq!(receiver.deadline(), Time::NEVER);
        }
    }

    #[test]
    fn the_fourth_packet_releases_the_mean_and_the_marks() {
        let mut receiver = Receiver::NEW;
        for (n, marked) in [(0, true), (1, false), (2, true)] {
            let arrival = Arrival { marked, ..arrival(n, 1000 * (n + 1)) };
            assert_eq!(receiver.on_data(&RULES, &arrival).ack, None);
            assert_eq!(receiver.deadline(), Time::from_us(50));
        }
        // (1000 + 2000 + 3000 + 5999) / 4, rounded down.
        let echo = Echo { packets: 4, marked: 2, inflight: Bytes::new(2999), held: Time::ZERO };
        assert_eq!(receiver.on_data(&RULES, &arrival(9, 5999)).ack, Some(echo));
        assert_eq!(receiver.deadline(), Time::NEVER);
        assert_eq!(receiver.on_timer(Time::from_us(50)), None);
    }

    #[test]
    fn the_timer_says_how_long_the_last_packet_waited() {
        let mut receiver = Receiver::NEW;
        assert_eq!(receiver.on_data(&RULES, &arrival(10, 1000)).ack, None);
        assert_eq!(receiver.on_data(&RULES, &arrival(25, 2000)).ack, None);
        assert_eq!(receiver.on_timer(Time::from_us(59)), None);
        // Due 50 us after the first, 35 us after the last.
        let echo = Echo { packets: 2, marked: 0, inflight: Bytes::new(1500), held: Time::from_us(35) };
        assert_eq!(receiver.on_timer(Time::from_us(60)), Some(echo));
        assert_eq!(receiver.on_timer(Time::from_us(61)), None);
    }

    #[test]
    fn what_cannot_wait_takes_the_held_packets_and_their_marks_along() {
        let mut receiver = Receiver::NEW;
        assert_eq!(receiver.on_data(&RULES, &Arrival { marked: true, ..arrival(0, 1000) }).ack, None);
        let urgent = Arrival { urgent: true, ..arrival(1, 3000) };
        let echo = Echo { packets: 2, marked: 1, inflight: Bytes::new(2000), held: Time::ZERO };
        assert_eq!(receiver.on_data(&RULES, &urgent).ack, Some(echo));
    }

    #[test]
    fn notifications_are_an_interval_apart() {
        let mut receiver = Receiver::NEW;
        let rules = ReceiverRules { ack_every: 1, ..RULES };
        let mut notified = |now, notify| {
            let arrival = Arrival { marked: true, notify, ..arrival(now, 0) };
            receiver.on_data(&rules, &arrival).notify
        };
        assert!(!notified(10, false));
        assert!(notified(10, true));
        assert!(!notified(59, true));
        assert!(notified(60, true));
        // An acknowledgement that leaves in between does not begin another interval.
        let rules = ReceiverRules { ack_every: 2, ..RULES };
        let mut receiver = Receiver::NEW;
        for (now, notify, acked) in
            [(10, true, false), (11, false, true), (59, false, false), (60, true, true)]
        {
            let arrival = Arrival { marked: true, notify: true, ..arrival(now, 0) };
            let response = receiver.on_data(&rules, &arrival);
            assert_eq!((response.notify, response.ack.is_some()), (notify, acked), "{now}");
        }
    }

    #[test]
    fn open_flows_count_and_never_wrap() {
        let mut open = OpenFlows::default();
        open.close();
        assert_eq!(open.count(), 0);
        open.open();
        open.open();
        open.close();
        assert_eq!(open.count(), 1);
    }
}
