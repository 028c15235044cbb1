//! The receiver's half of congestion control: what is counted, paced and echoed where packets arrive.
//!
//! It does not depend on the algorithm of the sender. [`Receiver`] decides when an acknowledgement and a
//! congestion notification packet (CNP) leave and what they say; [`OpenFlows`] counts the flows of a host,
//! for algorithms with [`crate::Signals::RECEIVER_FLOWS`].

use incast_units::{Bytes, Time};

use crate::relative::{Relate, relate};

/// The amount that one acknowledgement covers before it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, u8)]
pub enum AckEvery {
    /// This many data packets, 1 to [`MOST_COVERED`](Self::MOST_COVERED).
    Packets(u32),
    /// This much payload or more; never more than [`MOST_COVERED`](Self::MOST_COVERED) packets.
    Bytes(Bytes),
}

impl AckEvery {
    /// The largest number of data packets that one acknowledgement covers.
    pub const MOST_COVERED: u32 = 255;

    /// Whether each packet has an acknowledgement of its own.
    #[inline]
    #[must_use]
    pub const fn is_each(self) -> bool {
        matches!(self, Self::Packets(0 | 1))
    }

    /// Whether one covers no more than these packets, with this payload together.
    #[inline]
    const fn is_reached(self, packets: u32, payload: Bytes) -> bool {
        match self {
            Self::Packets(most) => packets >= most,
            Self::Bytes(most) => payload.get() >= most.get() || packets >= Self::MOST_COVERED,
        }
    }
}

/// The acknowledgements that an algorithm expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledging {
    /// The amount that one covers.
    pub every: AckEvery,
    /// Whether a marked packet is acknowledged at once.
    pub on_mark: bool,
    /// Longest time for which one is held; `None`: the receiver's own.
    pub delay: Option<Time>,
}

impl Acknowledging {
    /// One for each packet.
    pub const EACH: Self = Self { every: AckEvery::Packets(1), on_mark: false, delay: None };

    /// As receivers of Ultra Ethernet do in uet-htsim (`-sack_threshold` 16384): one for 16,384 B of payload,
    /// and at once for a mark. That simulator has no timer; 50 us is longer than what a window of it takes to fill.
    pub const UEC: Self =
        Self { every: AckEvery::Bytes(Bytes::new(16_384)), on_mark: true, delay: Some(Time::from_us(50)) };
}

/// Rules of a receiver's answers, the same for all flows of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ReceiverRules {
    /// The amount that one acknowledgement covers.
    pub ack_every: AckEvery,
    /// Whether the acknowledgement of a marked packet may not wait.
    pub ack_on_mark: bool,
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
    /// Its payload.
    pub payload: Bytes,
    /// Whether it carries an ECN congestion mark.
    pub marked: bool,
    /// Whether marks are reported to the sender's algorithm by CNPs ([`crate::Signals::CNP`]).
    pub notify: bool,
    /// Whether its acknowledgement may not wait, for reasons that the transport knows: the last of its flow,
    /// a duplicate.
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

/// The receiver's state of one flow. Size: 48 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Receiver {
    /// No CNP before this.
    notify_after: Time,
    /// Sum over the packets of the held acknowledgement.
    inflight: Bytes,
    /// Payload of these packets.
    payload: Bytes,
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
        payload: Bytes::ZERO,
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

    /// Whether a data packet that is to be acknowledged, and that may be `urgent` or `marked` ([`Arrival`]), has an
    /// acknowledgement at once that covers nothing else. Then [`on_data`](Self::on_data) says just that, and changes nothing
    /// but what [`notify`](Self::notify) does.
    #[inline(always)]
    #[must_use]
    pub const fn answers_at_once(&self, rules: &ReceiverRules, urgent: bool, marked: bool) -> bool {
        self.packets == 0 && (urgent || marked && rules.ack_on_mark || rules.ack_every.is_each())
    }

    /// A data packet that is to be acknowledged has arrived.
    #[inline]
    pub fn on_data(&mut self, rules: &ReceiverRules, arrival: &Arrival) -> Response {
        let notify = self.notify(rules, arrival);
        let urgent = arrival.urgent || arrival.marked && rules.ack_on_mark;
        if self.answers_at_once(rules, arrival.urgent, arrival.marked) {
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
        self.payload += arrival.payload;
        self.latest = arrival.now;
        let due = urgent || rules.ack_every.is_reached(self.packets, self.payload);
        let ack = if due { self.release(arrival.now) } else { None };
        Response { notify, ack }
    }

    /// Whether an acknowledgement is held.
    #[inline]
    #[must_use]
    pub const fn is_holding(&self) -> bool {
        self.packets > 0
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

    /// The held acknowledgement leaves now: its content, if one is held.
    pub fn release(&mut self, now: Time) -> Option<Echo> {
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

impl Relate for Receiver {
    relate! {
        // Compared with the times at which later packets arrive.
        past(): [notify_after],
        value(): [inflight, payload, packets, marked],
        instant(): [deadline],
        // Of a held acknowledgement, of which `deadline` says whether there is one.
        past(): [latest],
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

    const RULES: ReceiverRules = ReceiverRules {
        ack_every: AckEvery::Packets(4),
        ack_on_mark: false,
        ack_delay: Time::from_us(50),
        cnp_interval: Time::from_us(50),
    };

    fn arrival(now_us: u64, inflight: u64) -> Arrival {
        Arrival {
            now: Time::from_us(now_us),
            inflight: Bytes::new(inflight),
            payload: Bytes::new(1000),
            marked: false,
            notify: false,
            urgent: false,
        }
    }

    #[test]
    fn sizes() {
        assert_eq!((size_of::<Receiver>(), size_of::<OpenFlows>()), (48, 4));
    }

    #[test]
    fn every_packet_is_acknowledged_at_once_without_coalescing() {
        let rules = ReceiverRules { ack_every: AckEvery::Packets(1), ..RULES };
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
    fn a_mark_releases_what_is_held_where_it_is_to() {
        let rules = ReceiverRules { ack_on_mark: true, ..RULES };
        let mut receiver = Receiver::NEW;
        assert_eq!(receiver.on_data(&rules, &arrival(0, 1000)).ack, None);
        assert!(receiver.is_holding());
        let marked = Arrival { marked: true, ..arrival(1, 3000) };
        let both = Echo { packets: 2, marked: 1, inflight: Bytes::new(2000), held: Time::ZERO };
        assert_eq!(receiver.on_data(&rules, &marked).ack, Some(both));
        let alone = Echo { packets: 1, marked: 1, inflight: Bytes::new(3000), held: Time::ZERO };
        assert_eq!(receiver.on_data(&rules, &marked).ack, Some(alone));
        assert!(!receiver.is_holding());
    }

    #[test]
    fn bytes_of_payload_count_where_they_are_to() {
        // Of 1000 B each, the third reaches 2500 B; of UEC's 16,384 B each 4096 B are a quarter.
        let rules = ReceiverRules { ack_every: AckEvery::Bytes(Bytes::new(2500)), ..RULES };
        let mut receiver = Receiver::NEW;
        let mut covered = [0, 1, 2, 3, 4, 5]
            .map(|n| receiver.on_data(&rules, &arrival(n, 0)).ack.map_or(0, |echo| echo.packets));
        assert_eq!(covered, [0, 0, 3, 0, 0, 3]);
        let rules = ReceiverRules { ack_every: Acknowledging::UEC.every, ..RULES };
        let full = |n| Arrival { payload: Bytes::new(4096), ..arrival(n, 0) };
        covered =
            [0, 1, 2, 3, 4, 5].map(|n| receiver.on_data(&rules, &full(n)).ack.map_or(0, |echo| echo.packets));
        assert_eq!(covered, [0, 0, 0, 4, 0, 0]);
        // An acknowledgement has 8 bits for the number of packets.
        let rules = ReceiverRules { ack_every: AckEvery::Bytes(Bytes::UNLIMITED), ..RULES };
        let mut receiver = Receiver::NEW;
        let first = (1..=256).find(|_| receiver.on_data(&rules, &arrival(0, 0)).ack.is_some());
        assert_eq!(first, Some(255));
    }

    #[test]
    fn notifications_are_an_interval_apart() {
        let mut receiver = Receiver::NEW;
        let rules = ReceiverRules { ack_every: AckEvery::Packets(1), ..RULES };
        let mut notified = |now, notify| {
            let arrival = Arrival { marked: true, notify, ..arrival(now, 0) };
            receiver.on_data(&rules, &arrival).notify
        };
        assert!(!notified(10, false));
        assert!(notified(10, true));
        assert!(!notified(59, true));
        assert!(notified(60, true));
        // An acknowledgement that leaves in between does not begin another interval.
        let rules = ReceiverRules { ack_every: AckEvery::Packets(2), ..RULES };
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
