//! Go-back-N: the receiver accepts packets only in order, and after a loss the sender retransmits
//! everything from the lost packet on (as RoCEv2 network cards do; DCQCN, SIGCOMM 2015, section 2.2).

use crate::{Acknowledged, Cut, Log, Lost, Recovery, Report, See, SentPacket, Settings, Verdict};

/// The sender's half.
#[derive(Debug)]
pub struct GoBackN {
    cut: Cut,
    /// First packet not acknowledged.
    unacknowledged: u64,
    /// Next packet to send.
    next: u64,
    /// One past the last packet ever sent.
    highest: u64,
    /// Bytes of the packets from `unacknowledged` up to `next`.
    inflight: u64,
    /// Whether the records of packets are asked for.
    records: bool,
    log: Log,
}

impl GoBackN {
    /// The record of the packet that has caused an acknowledgement, so far from the expected one, while it is kept.
    #[inline]
    fn record(&self, packet: u64, offset: i16) -> Option<SentPacket> {
        let known = offset != i16::MIN && offset != i16::MAX;
        let in_flight = known && packet >= self.unacknowledged && packet < self.highest;
        if in_flight { self.log.read(packet) } else { None }
    }

    /// Retransmits everything not acknowledged.
    fn go_back(&mut self) -> Lost {
        let sent = self.log.read(self.unacknowledged).unwrap_or_default().sent;
        let lost = Lost { bytes: self.inflight, sent };
        self.next = self.unacknowledged;
        self.inflight = 0;
        lost
    }
}

impl Recovery for GoBackN {
    fn new(cut: Cut, settings: &Settings) -> Self {
        let (records, log) = (settings.records, Log::default());
        Self { cut, unacknowledged: 0, next: 0, highest: 0, inflight: 0, records, log }
    }

    fn relate(&self, see: See<'_>) {
        // A setting; and the records are of packets that are acknowledged.
        let Self { cut, unacknowledged, next, highest, inflight, records: _, log: _ } = self;
        cut.relate(*next, see);
        see("packets in flight", Some(next - unacknowledged));
        see("highest packet", Some(highest - next));
        see("bytes in flight", Some(*inflight));
    }

    #[inline(always)]
    fn next(&self) -> Option<u64> {
        (self.next < self.cut.packets).then_some(self.next)
    }

    #[inline(always)]
    fn on_sent(&mut self, record: SentPacket) -> bool {
        let again = self.next < self.highest;
        self.log.write(self.unacknowledged, self.next, record);
        self.inflight += self.cut.bytes_of(self.next);
        self.next += 1;
        self.highest = self.highest.max(self.next);
        again
    }

    #[inline(always)]
    fn on_ack(&mut self, report: &Report, nack: bool) -> Acknowledged {
        // Numbers travel modulo 2^32; an old acknowledgement lies behind.
        let ahead = report.expected.wrapping_sub(self.unacknowledged as u32) as i32;
        let expected = self.unacknowledged.wrapping_add_signed(i64::from(ahead));
        // (Numbers are far from 2^63.)
        let packet = (expected as i64).wrapping_add(i64::from(report.offset)).max(0) as u64;
        let record = if self.records { self.record(packet, report.offset) } else { None };
        let advanced = ahead > 0;
        let mut bytes = 0;
        if advanced {
            bytes = self.cut.bytes(self.unacknowledged, expected);
            self.unacknowledged = expected;
            if self.next <= expected {
                self.next = expected;
                self.inflight = 0;
            } else {
                self.inflight = self.inflight.saturating_sub(bytes);
            }
        }
        let hole = nack && ahead >= 0 && self.next > self.unacknowledged;
        Acknowledged { bytes, advanced, hole, packet, record, inflight: u64::from(report.inflight) }
    }

    fn on_hole(&mut self) -> Lost {
        self.go_back()
    }

    fn on_timeout(&mut self) -> Lost {
        self.go_back()
    }

    fn stop(&mut self) {
        self.cut.end_at(self.highest);
    }

    fn extend(&mut self, packets: u64, last: u64) {
        self.cut.extend(packets, last, self.unacknowledged);
    }

    #[inline(always)]
    fn inflight(&self) -> u64 {
        self.inflight
    }

    #[inline(always)]
    fn acknowledged(&self) -> u64 {
        self.unacknowledged
    }

    #[inline(always)]
    fn position(&self) -> u64 {
        self.next
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.unacknowledged >= self.cut.packets
    }
}

/// The receiver's half.
#[derive(Debug)]
pub struct InOrder {
    /// The packet expected next.
    pub expected: u64,
    /// The hole that was reported last, and the earliest time to report it again. (ps)
    reported: u64,
    report_after: u64,
}

impl InOrder {
    /// The state before the first packet.
    pub const NEW: Self = Self { expected: 0, reported: u64::MAX, report_after: 0 };

    /// Passes to `see` what can influence the future from `now` (ps) on of a receiver of all that was sent.
    pub fn relate(&self, now: u64, see: See<'_>) {
        let Self { expected, reported, report_after } = self;
        // A hole that has closed is reported no more.
        let is_open = reported == expected;
        see("reported hole", Some(u64::from(is_open)));
        see("next report", Some(if is_open { report_after.saturating_sub(now) } else { 0 }));
    }

    /// Packet `number` (modulo 2^32) has arrived. Returns whether [`Verdict::Next`] holds of it; if not, it is to be taken.
    #[inline(always)]
    pub fn take_next(&mut self, number: u32) -> bool {
        let is_next = number == self.expected as u32;
        self.expected += u64::from(is_next);
        is_next
    }

    /// Packet `number` (modulo 2^32) has arrived. A hole is reported again after `interval`.
    #[inline(always)]
    pub fn take(&mut self, now: u64, number: u32, interval: u64) -> Verdict {
        match number.wrapping_sub(self.expected as u32) as i32 {
            0 => {
                self.expected += 1;
                Verdict::Next
            }
            ahead if ahead > 0 => {
                let report = self.reported != self.expected || now >= self.report_after;
                if report {
                    self.reported = self.expected;
                    self.report_after = now.saturating_add(interval);
                }
                Verdict::Early { report }
            }
            _ => Verdict::Duplicate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten packets: nine of 1054 B and one of 554 B.
    const CUT: Cut = Cut::new(10, 1054, 554);

    fn ack(expected: u64, offset: i16) -> Report {
        Report { sent: 0, expected: expected as u32, offset, inflight: 0, bitmap: 0 }
    }

    fn sent(flow: &mut GoBackN, at: u64) -> bool {
        flow.on_sent(SentPacket { sent: at, tag: at as u32, inflight: 0 })
    }

    #[test]
    fn bytes_by_hand() {
        assert_eq!(CUT.bytes(0, 1), 1054);
        assert_eq!(CUT.bytes(0, 10), 9 * 1054 + 554);
        assert_eq!(CUT.bytes(9, 10), 554);
        assert_eq!(CUT.bytes(10, 10), 0);
        assert_eq!(CUT.bytes(3, 9), 6 * 1054);
    }

    #[test]
    fn messages_that_follow_keep_the_sizes_of_the_ones_before() {
        // Packets 0 and 1 of 1054 and 554 B, then 2 of 100 B, then 3 and 4 of 1054 B, then 5 of 70 B.
        let mut flow = GoBackN::new(Cut::new(2, 1054, 554), &Settings::default());
        flow.extend(1, 100);
        flow.extend(2, 1054);
        flow.extend(1, 70);
        let sizes = [1054, 554, 100, 1054, 1054, 70];
        for (from, to) in (0..=6).flat_map(|from| (from..=6).map(move |to| (from, to))) {
            let by_hand: u64 = sizes[from..to].iter().sum();
            assert_eq!(flow.cut.bytes(from as u64, to as u64), by_hand, "{from}..{to}");
        }
        for at in 0..6 {
            sent(&mut flow, at);
        }
        assert_eq!((flow.next(), flow.inflight()), (None, 1054 + 554 + 100 + 2 * 1054 + 70));
        assert_eq!(flow.on_ack(&ack(3, -1), false).bytes, 1054 + 554 + 100);
        // What is acknowledged is forgotten.
        flow.extend(1, 30);
        assert_eq!(flow.cut.bytes(3, 7), 2 * 1054 + 70 + 30);
        sent(&mut flow, 6);
        assert_eq!(flow.on_ack(&ack(7, -1), false).bytes, 2 * 1054 + 70 + 30);
        assert!(flow.is_done());
    }

    #[test]
    fn a_nack_sends_everything_again_from_the_hole() {
        let mut flow = GoBackN::new(CUT, &Settings::default());
        for at in 0..10 {
            assert_eq!(flow.next(), Some(at));
            assert!(!sent(&mut flow, 100 + at));
        }
        assert_eq!((flow.next(), flow.inflight()), (None, 9 * 1054 + 554));
        // Packets 0 and 1 arrived, 2 was lost, 3 caused the report: expected 2, one ahead.
        let nack = flow.on_ack(&ack(2, 1), true);
        assert_eq!((nack.bytes, nack.advanced, nack.hole, nack.packet), (2 * 1054, true, true, 3));
        assert_eq!(nack.record.map(|r| r.tag), Some(103));
        assert_eq!(flow.on_hole(), Lost { bytes: 7 * 1054 + 554, sent: 102 });
        assert_eq!((flow.next(), flow.inflight()), (Some(2), 0));
        assert!(sent(&mut flow, 200));
        // An acknowledgement of packets that were still under way overtakes what is sent again.
        let late = flow.on_ack(&ack(6, -1), false);
        assert_eq!((late.bytes, late.hole, flow.next(), flow.inflight()), (4 * 1054, false, Some(6), 0));
        // An older one changes nothing.
        let old = flow.on_ack(&ack(5, -1), false);
        assert_eq!((old.bytes, old.advanced, old.packet, old.record), (0, false, 4, None));
        assert!(!flow.is_done());
        assert!(flow.on_ack(&ack(10, -1), false).advanced);
        assert!(flow.is_done());
    }

    #[test]
    fn a_flow_that_stops_ends_with_what_it_has_sent() {
        let mut flow = GoBackN::new(CUT, &Settings::default());
        sent(&mut flow, 0);
        sent(&mut flow, 1);
        flow.stop();
        assert_eq!(flow.next(), None);
        flow.on_timeout();
        assert_eq!(flow.next(), Some(0));
        assert_eq!(flow.on_ack(&ack(2, -1), false).bytes, 2 * 1054);
        assert!(flow.is_done());
    }

    #[test]
    fn numbers_pass_two_to_the_thirty_two() {
        let start = (1 << 32) - 2;
        let cut = Cut::new(u64::MAX, 1000, 1000);
        let mut flow = GoBackN {
            unacknowledged: start,
            next: start,
            highest: start,
            ..GoBackN::new(cut, &Settings::default())
        };
        for at in 0..4 {
            sent(&mut flow, at);
        }
        let passed = flow.on_ack(&ack(start + 3, -1), false);
        assert_eq!((passed.bytes, passed.packet, flow.inflight()), (3000, start + 2, 1000));
        let mut receiver = InOrder { expected: start, ..InOrder::NEW };
        for number in [start, start + 1, start + 2] {
            assert_eq!(receiver.take(0, number as u32, 10), Verdict::Next);
        }
        assert_eq!(receiver.take(0, (start + 1) as u32, 10), Verdict::Duplicate);
    }

    #[test]
    fn a_hole_is_reported_once_an_interval() {
        let mut receiver = InOrder::NEW;
        assert_eq!(receiver.take(0, 0, 500), Verdict::Next);
        assert_eq!(receiver.take(10, 2, 500), Verdict::Early { report: true });
        assert_eq!(receiver.take(20, 3, 500), Verdict::Early { report: false });
        assert_eq!(receiver.take(510, 4, 500), Verdict::Early { report: true });
        assert_eq!(receiver.take(520, 1, 500), Verdict::Next);
        // The next hole is another one.
        assert_eq!(receiver.take(530, 3, 500), Verdict::Early { report: true });
    }
}
