//! Selective repeat: the receiver keeps packets that arrive in any order, and the sender sends again only
//! those that it considers lost.
//!
//! An acknowledgement tells the packet that the receiver expects next, the packet that caused it, and which
//! of 64 packets have arrived. A packet is lost by the rule of [`Repair`], or when the retransmission timer
//! expires: then every packet in flight is. The rule judges the first copy of a packet only. If a copy that
//! was sent again is lost as well, the timer finds it, as with TCP's selective acknowledgements (RFC 6675).

use crate::{
    Acknowledged, Cut, Log, Lost, Recovery, Repair, Report, See, SentPacket, Settings, Verdict,
    first_of_bitmap,
};

/// Distance that the sender may be ahead of the first packet that is not acknowledged, and the number of
/// packets from the expected one on that a receiver keeps.
pub const WINDOW: u64 = 1 << 14;

/// A packet that has been sent.
#[derive(Clone, Copy, Debug, Default)]
struct Packet {
    record: SentPacket,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// In flight for the first time.
    #[default]
    First,
    /// In flight, sent again.
    Again,
    /// To be sent again.
    Lost,
    Acknowledged,
}

/// The sender's half.
#[derive(Debug)]
pub struct Selective {
    cut: Cut,
    repair: Repair,
    threshold: u64,
    /// With [`Repair::Lazy`]: a packet is lost when one that was sent so much later has arrived. (ps)
    delay: u64,
    /// Whether runs of delayed packets are counted.
    counts_delayed: bool,
    /// First packet not acknowledged.
    unacknowledged: u64,
    /// Next new packet to send.
    next: u64,
    /// Bytes in flight.
    inflight: u64,
    log: Log<Packet>,
    /// Number of packets to send again, and the first of them.
    lost: u64,
    first_lost: u64,
    /// The rule has judged every packet before this one.
    judged: u64,
    /// One past the `threshold`-th highest acknowledged packet (0: there are fewer), and the number of
    /// acknowledged packets from there on.
    edge: u64,
    above: u64,
    /// Latest time of sending among the packets that have arrived. (ps)
    latest: u64,
    /// Packets that the current acknowledgement shows to be lost.
    found: Lost,
    /// Packets of the bitmap of the last acknowledgement and of those before, which are acknowledged, and the first packet of
    /// that bitmap: what is known need not be looked up once more.
    seen: u64,
    seen_from: u64,
}

impl Selective {
    #[inline]
    fn state(&self, number: u64) -> State {
        let sent = || self.log.read(number).map_or(State::First, |packet| packet.state);
        if number < self.unacknowledged { State::Acknowledged } else { sent() }
    }

    /// The packet, from `unacknowledged` up to `next`, has arrived. Returns its bytes if that is new.
    #[inline]
    fn acknowledge(&mut self, number: u64) -> u64 {
        let Some(packet) = self.log.entry(number) else { return 0 };
        let before = std::mem::replace(&mut packet.state, State::Acknowledged);
        let bytes = self.cut.bytes_of(number);
        match before {
            State::Acknowledged => return 0,
            State::Lost => self.one_less_lost(number),
            State::First | State::Again => self.inflight -= bytes,
        }
        if number >= self.edge {
            self.above += 1;
            if self.above == self.threshold {
                let highest = (self.edge..=number).find(|n| self.state(*n) == State::Acknowledged);
                self.edge = highest.unwrap_or(number) + 1;
                self.above -= 1;
            }
        }
        bytes
    }

    /// Returns which of 64 packets from `first` on the last bitmaps have shown, as far as it is remembered.
    #[inline(always)]
    fn seen_of(&self, first: u64) -> u64 {
        match first.wrapping_sub(self.seen_from) {
            ahead @ 0..64 => self.seen >> ahead,
            _ => 0,
        }
    }

    /// A packet that was lost has been sent again or has arrived, which its state says.
    #[inline]
    fn one_less_lost(&mut self, number: u64) {
        self.lost -= 1;
        if self.lost > 0 && number == self.first_lost {
            let found = (number + 1..self.next).find(|n| self.state(*n) == State::Lost);
            self.first_lost = found.unwrap_or(self.next);
        }
    }

    /// A packet in flight is lost.
    fn lose(&mut self, number: u64, lost: &mut Lost) {
        let bytes = self.cut.bytes_of(number);
        let Some(packet) = self.log.entry(number) else { return };
        packet.state = State::Lost;
        if lost.bytes == 0 {
            lost.sent = packet.record.sent;
        }
        lost.bytes += bytes;
        self.inflight -= bytes;
        self.first_lost = if self.lost == 0 { number } else { self.first_lost.min(number) };
        self.lost += 1;
    }

    /// The record of a packet while it is in flight.
    #[inline]
    fn in_flight(&self, number: u64) -> Option<SentPacket> {
        let packet = self.log.read(number)?;
        matches!(packet.state, State::First | State::Again).then_some(packet.record)
    }

    /// Returns the time at which the oldest of the packets in flight was sent. (ps)
    pub fn oldest(&self) -> Option<u64> {
        let sent = self.unacknowledged..self.next;
        sent.filter_map(|number| self.in_flight(number)).map(|record| record.sent).min()
    }

    /// Packets in flight that were sent at `until` (ps) or before are lost.
    pub fn expire(&mut self, until: u64) -> Lost {
        let mut lost = Lost { bytes: 0, sent: 0 };
        for number in self.unacknowledged..self.next {
            if self.in_flight(number).is_some_and(|record| record.sent <= until) {
                self.lose(number, &mut lost);
            }
        }
        lost
    }

    /// Returns the number of packets that are to be sent again.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the number of packets that could be sent, again or for the first time.
    #[inline]
    pub fn to_send(&self) -> u64 {
        self.lost + (self.unacknowledged + WINDOW).min(self.cut.packets).saturating_sub(self.next)
    }

    /// Whether the rule finds a packet lost that is in flight for the first time.
    #[inline]
    fn is_overdue(&self, number: u64) -> bool {
        match self.repair {
            Repair::Threshold => number + 1 < self.edge,
            Repair::Lazy => {
                let sent = self.log.read(number).map_or(u64::MAX, |packet| packet.record.sent);
                sent.saturating_add(self.delay) <= self.latest
            }
            Repair::Never => false,
        }
    }

    /// Judges the packets in the order of their numbers, which is the order of their first transmissions.
    #[inline]
    fn judge(&mut self) -> Lost {
        let mut lost = Lost { bytes: 0, sent: 0 };
        self.judged = self.judged.max(self.unacknowledged);
        while self.judged < self.next {
            if self.state(self.judged) == State::First {
                if !self.is_overdue(self.judged) {
                    break;
                }
                self.lose(self.judged, &mut lost);
            }
            self.judged += 1;
        }
        lost
    }
}

impl Recovery for Selective {
    const KEEPS: bool = true;

    fn new(cut: Cut, settings: &Settings) -> Self {
        Self {
            cut,
            repair: settings.repair,
            threshold: u64::from(settings.repair_threshold),
            delay: settings.repair_delay.ps(),
            counts_delayed: settings.delayed_run,
            unacknowledged: 0,
            next: 0,
            inflight: 0,
            log: Log::default(),
            lost: 0,
            first_lost: 0,
            judged: 0,
            edge: 0,
            above: 0,
            latest: 0,
            found: Lost { bytes: 0, sent: 0 },
            seen: 0,
            seen_from: 0,
        }
    }

    fn relate(&self, see: See<'_>) {
        let Self {
            cut,
            // Settings.
            repair: _,
            threshold: _,
            delay: _,
            counts_delayed: _,
            unacknowledged,
            next,
            inflight,
            // Of packets that are acknowledged.
            log: _,
            lost,
            // There is none.
            first_lost: _,
            judged,
            edge,
            above,
            // Before all that is sent from now on.
            latest: _,
            // Of the last acknowledgement.
            found: _,
            seen: _,
            seen_from: _,
        } = self;
        cut.relate(*next, see);
        see("packets in flight", Some(next - unacknowledged));
        see("bytes in flight", Some(*inflight));
        see("lost packets", Some(*lost));
        see("judged packets", Some(judged.saturating_sub(*unacknowledged)));
        see("edge", Some(next.wrapping_sub(*edge)));
        see("packets above the edge", Some(*above));
    }

    #[inline]
    fn next(&self) -> Option<u64> {
        if self.lost > 0 {
            return Some(self.first_lost);
        }
        let open = self.next < self.cut.packets && self.next - self.unacknowledged < WINDOW;
        open.then_some(self.next)
    }

    #[inline]
    fn on_sent(&mut self, record: SentPacket) -> bool {
        let again = self.lost > 0;
        let number = if again { self.first_lost } else { self.next };
        let state = if again { State::Again } else { State::First };
        self.log.write(self.unacknowledged, number, Packet { record, state });
        self.inflight += self.cut.bytes_of(number);
        if again {
            self.one_less_lost(number);
        } else {
            self.next += 1;
        }
        again
    }

    #[inline(never)]
    fn on_ack(&mut self, report: &Report, _nack: bool) -> Acknowledged {
        // Numbers travel modulo 2^32; an old acknowledgement lies behind.
        let before = self.unacknowledged;
        let ahead = report.expected.wrapping_sub(before as u32) as i32;
        let expected = before.saturating_add_signed(i64::from(ahead));
        let packet = expected.saturating_add_signed(i64::from(report.offset));
        let sent = before..self.next;
        let of_packet = if sent.contains(&packet) { self.log.read(packet) } else { None };
        // A packet that was sent twice has the record of its second copy.
        let record = of_packet.map(|packet| packet.record).filter(|record| record.sent == report.sent);
        let mut bytes = 0;
        for number in before..expected.min(self.next) {
            bytes += self.acknowledge(number);
        }
        let first = first_of_bitmap(expected, packet);
        let seen = self.seen_of(first);
        let mut bits = report.bitmap & !seen;
        if report.bitmap != 0 {
            // What was never sent is no packet, whoever says that it has arrived.
            let sent = self.next.saturating_sub(first).min(64) as u32;
            let known = u64::MAX.checked_shr(64 - sent).unwrap_or(0);
            (self.seen, self.seen_from) = (seen | report.bitmap & known, first);
        }
        while bits != 0 {
            let number = first + u64::from(bits.trailing_zeros());
            bits &= bits - 1;
            if sent.contains(&number) {
                bytes += self.acknowledge(number);
            }
        }
        self.unacknowledged = before.max(expected);
        self.latest = self.latest.max(report.sent);
        self.found = self.judge();
        Acknowledged {
            bytes,
            advanced: expected > before,
            hole: self.found.bytes > 0,
            packet,
            record,
            inflight: record.map_or(self.inflight, |record| u64::from(record.inflight)),
        }
    }

    #[inline]
    fn delayed_run(&self) -> u32 {
        if !self.counts_delayed {
            return 0;
        }
        let (mut run, mut longest) = (0, 0);
        for number in self.unacknowledged..self.edge.saturating_sub(1) {
            run = if self.state(number) == State::Acknowledged { 0 } else { run + 1 };
            longest = longest.max(run);
        }
        longest
    }

    fn on_hole(&mut self) -> Lost {
        self.found
    }

    fn on_trim(&mut self, number: u32, sent: u64) -> Option<Lost> {
        let ahead = number.wrapping_sub(self.unacknowledged as u32) as i32;
        let number = self.unacknowledged.checked_add_signed(i64::from(ahead))?;
        let known = (self.unacknowledged..self.next).contains(&number);
        self.in_flight(number).filter(|record| known && record.sent == sent)?;
        let mut lost = Lost { bytes: 0, sent: 0 };
        self.lose(number, &mut lost);
        Some(lost)
    }

    fn on_timeout(&mut self) -> Lost {
        let lost = self.expire(u64::MAX);
        self.judged = self.next;
        lost
    }

    fn stop(&mut self) {
        self.cut.end_at(self.next);
    }

    fn extend(&mut self, packets: u64, last: u64) {
        self.cut.extend(packets, last, self.unacknowledged);
    }

    #[inline]
    fn inflight(&self) -> u64 {
        self.inflight
    }

    #[inline]
    fn acknowledged(&self) -> u64 {
        self.unacknowledged
    }

    #[inline]
    fn position(&self) -> u64 {
        self.next
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.unacknowledged >= self.cut.packets
    }
}

/// The receiver's half: packets in any order.
#[derive(Debug)]
pub struct AnyOrder {
    /// The packet expected next.
    pub expected: u64,
    /// Bitmap of the later packets that have arrived, a bit for each by its number modulo [`WINDOW`]; no
    /// words before the first packet out of order.
    kept: Vec<u64>,
    /// Number of them.
    count: u64,
}

impl AnyOrder {
    /// The state before the first packet.
    pub const NEW: Self = Self { expected: 0, kept: Vec::new(), count: 0 };

    /// Passes to `see` what can influence the future of a receiver of all that was sent.
    pub fn relate(&self, see: See<'_>) {
        // Without packets out of order the bitmap is empty.
        let Self { expected: _, kept: _, count } = self;
        see("packets out of order", Some(*count));
    }

    const fn place(number: u64) -> (usize, u64) {
        ((number % WINDOW / 64) as usize, 1 << (number % 64))
    }

    #[inline]
    fn has(&self, number: u64) -> bool {
        let (word, bit) = Self::place(number);
        self.kept.get(word).is_some_and(|kept| kept & bit != 0)
    }

    /// Packet `number` (modulo 2^32) has arrived, which is not the next one. Returns the [bitmap](Self::bitmap) with it if
    /// [`Verdict::Kept`] holds of it; if not, it is to be taken.
    #[inline]
    pub fn keep(&mut self, number: u32) -> Option<u64> {
        let ahead = number.wrapping_sub(self.expected as u32) as i32;
        let packet = self.expected.wrapping_add_signed(i64::from(ahead));
        if ahead <= 0 || self.has(packet) {
            return None;
        }
        self.note(packet);
        Some(self.bitmap(number))
    }

    /// Packet `number` (modulo 2^32) has arrived. Returns whether [`Verdict::Next`] holds of it; if not, it is to be taken.
    /// The bitmap is empty afterwards.
    #[inline(always)]
    pub fn take_next(&mut self, number: u32) -> bool {
        let is_next = number == self.expected as u32 && self.count == 0;
        self.expected += u64::from(is_next);
        is_next
    }

    /// Packet `number` (modulo 2^32) has arrived.
    #[inline]
    pub fn take(&mut self, number: u32) -> Verdict {
        let ahead = number.wrapping_sub(self.expected as u32) as i32;
        if ahead == 0 {
            self.expected += 1;
            if self.count == 0 {
                return Verdict::Next;
            }
            while self.has(self.expected) {
                let (word, bit) = Self::place(self.expected);
                self.kept[word] &= !bit;
                self.count -= 1;
                self.expected += 1;
            }
            return Verdict::Fills;
        }
        let packet = self.expected.wrapping_add_signed(i64::from(ahead));
        if ahead < 0 || self.has(packet) {
            return Verdict::Duplicate;
        }
        self.note(packet);
        Verdict::Kept
    }

    /// A later packet than the expected one has arrived.
    #[inline]
    fn note(&mut self, packet: u64) {
        debug_assert!(packet - self.expected < WINDOW, "the sender is ahead of the receiver's window");
        if self.kept.is_empty() {
            self.kept = vec![0; (WINDOW / 64) as usize];
        }
        let (word, bit) = Self::place(packet);
        self.kept[word] |= bit;
        self.count += 1;
    }

    /// Whether packets after the expected one have arrived.
    #[must_use]
    pub const fn has_kept(&self) -> bool {
        self.count > 0
    }

    /// Whether packet `number` (modulo 2^32) has arrived.
    pub fn contains(&self, number: u32) -> bool {
        let ahead = number.wrapping_sub(self.expected as u32) as i32;
        ahead < 0 || ahead > 0 && self.has(self.expected + u64::from(ahead.unsigned_abs()))
    }

    /// The bitmap of an acknowledgement that packet `number` (modulo 2^32) causes.
    #[inline]
    pub fn bitmap(&self, number: u32) -> u64 {
        if self.kept.is_empty() {
            return 0;
        }
        let ahead = number.wrapping_sub(self.expected as u32) as i32;
        let first = first_of_bitmap(self.expected, self.expected.saturating_add_signed(i64::from(ahead)));
        // The last of the 64 is the packet itself or near the expected one, and so within the window.
        let (words, shift) = (self.kept.len(), first % 64);
        let word = Self::place(first).0;
        let (low, high) = (self.kept[word] >> shift, self.kept[(word + 1) % words]);
        if shift == 0 { low } else { low | high << (64 - shift) }
    }
}

#[cfg(test)]
mod tests {
    use incast_units::Time;

    use super::*;
    use crate::testing::draw;

    /// Ten packets: nine of 1054 B and one of 554 B.
    const CUT: Cut = Cut::new(10, 1054, 554);

    fn flow(repair: Repair, cut: Cut) -> Selective {
        let settings = Settings { repair, repair_delay: Time::from_ps(50), ..Settings::default() };
        Selective::new(cut, &settings)
    }

    /// Sends the next packet; says its number.
    fn send(flow: &mut Selective, at: u64) -> u64 {
        let number = flow.next().unwrap();
        flow.on_sent(SentPacket { sent: at, tag: at as u32, inflight: at as u32 });
        number
    }

    /// The receiver, and the acknowledgement that it makes of a packet sent at `sent`.
    fn arrive(receiver: &mut AnyOrder, number: u64, sent: u64) -> Report {
        receiver.take(number as u32);
        Report {
            sent,
            inflight: 0,
            expected: receiver.expected as u32,
            offset: (number as i64 - receiver.expected as i64) as i16,
            bitmap: receiver.bitmap(number as u32),
        }
    }

    #[test]
    fn a_packet_is_lost_when_three_later_ones_have_arrived() {
        let (mut flow, mut receiver) = (flow(Repair::Threshold, CUT), AnyOrder::NEW);
        for at in 0..6 {
            assert_eq!(send(&mut flow, 100 + at), at);
        }
        assert_eq!(flow.inflight(), 6 * 1054);
        // Packet 1 does not arrive.
        let first = flow.on_ack(&arrive(&mut receiver, 0, 100), false);
        assert_eq!((first.bytes, first.advanced, first.packet, first.hole), (1054, true, 0, false));
        for number in [2, 3] {
            let ack = flow.on_ack(&arrive(&mut receiver, number, 100 + number), false);
            assert_eq!((ack.bytes, ack.advanced, ack.packet, ack.hole), (1054, false, number, false));
            assert_eq!((ack.record.unwrap().sent, ack.inflight), (100 + number, 100 + number));
        }
        assert_eq!((flow.next(), flow.inflight()), (Some(6), 3 * 1054));
        let third = flow.on_ack(&arrive(&mut receiver, 4, 104), false);
        assert!(third.hole);
        assert_eq!(flow.on_hole(), Lost { bytes: 1054, sent: 101 });
        // It is sent again before new data, once.
        assert_eq!((flow.inflight(), send(&mut flow, 200), send(&mut flow, 201)), (1054, 1, 6));
        let ack = flow.on_ack(&arrive(&mut receiver, 5, 105), false);
        assert_eq!((ack.hole, flow.next(), flow.inflight()), (false, Some(7), 2 * 1054));
        // Its second copy closes the hole, and its record is that of the second copy.
        let closed = flow.on_ack(&arrive(&mut receiver, 1, 200), false);
        assert_eq!((closed.bytes, closed.advanced, closed.packet), (1054, true, 1));
        assert_eq!((closed.record.unwrap().sent, flow.acknowledged(), flow.inflight()), (200, 6, 1054));
    }

    #[test]
    fn the_first_copy_that_arrives_late_has_no_record() {
        let (mut flow, mut receiver) = (flow(Repair::Threshold, CUT), AnyOrder::NEW);
        (0..4).for_each(|at| _ = send(&mut flow, at));
        let acks = [1, 2, 3].map(|number| arrive(&mut receiver, number, number));
        assert!(acks.map(|ack| flow.on_ack(&ack, false).hole)[2]);
        assert_eq!(send(&mut flow, 90), 0);
        let late = flow.on_ack(&arrive(&mut receiver, 0, 0), false);
        assert_eq!((late.bytes, late.packet, late.record, flow.acknowledged()), (1054, 0, None, 4));
        // The second copy is a duplicate.
        assert_eq!(receiver.take(0), Verdict::Duplicate);
        assert_eq!((flow.inflight(), flow.next()), (0, Some(4)));
    }

    #[test]
    fn a_packet_that_arrives_after_all_is_not_sent_again() {
        let (mut flow, mut receiver) = (flow(Repair::Threshold, CUT), AnyOrder::NEW);
        (0..7).for_each(|at| _ = send(&mut flow, at));
        for number in [4, 5, 6] {
            flow.on_ack(&arrive(&mut receiver, number, number), false);
        }
        assert_eq!((flow.on_hole().bytes, flow.inflight(), flow.next()), (4 * 1054, 0, Some(0)));
        let ack = flow.on_ack(&arrive(&mut receiver, 2, 2), false);
        assert_eq!((ack.bytes, ack.advanced, flow.inflight()), (1054, false, 0));
        assert_eq!([send(&mut flow, 50), send(&mut flow, 51), send(&mut flow, 52)], [0, 1, 3]);
        assert_eq!(flow.next(), Some(7));
    }

    #[test]
    fn lazily_a_packet_is_lost_when_one_sent_much_later_has_arrived() {
        let (mut flow, mut receiver) = (flow(Repair::Lazy, CUT), AnyOrder::NEW);
        for at in [0, 10, 20, 30, 40, 59, 60] {
            send(&mut flow, at);
        }
        for (number, sent) in [(2, 20), (3, 30), (4, 40), (5, 59)] {
            let ack = flow.on_ack(&arrive(&mut receiver, number, sent), false);
            // 59 - 0 is enough, 59 - 10 is not.
            assert_eq!(ack.hole, number == 5);
        }
        assert_eq!((flow.on_hole(), send(&mut flow, 70)), (Lost { bytes: 1054, sent: 0 }, 0));
        assert!(flow.on_ack(&arrive(&mut receiver, 6, 60), false).hole);
        assert_eq!((flow.on_hole(), send(&mut flow, 80)), (Lost { bytes: 1054, sent: 10 }, 1));
    }

    #[test]
    fn the_longest_run_of_delayed_packets_by_hand() {
        let (mut flow, mut receiver) = (flow(Repair::Lazy, Cut::new(20, 1054, 554)), AnyOrder::NEW);
        flow.counts_delayed = true;
        (0..16).for_each(|at| _ = send(&mut flow, at));
        let mut run = |number| {
            flow.on_ack(&arrive(&mut receiver, number, number), false);
            flow.delayed_run()
        };
        // Packets 1 to 4 wait for three later ones: with 5, 6 and 9 they are delayed, a run of four; of 7 and 8
        // only one later one has arrived.
        assert_eq!([0, 5, 6, 9].map(&mut run), [0, 0, 0, 4]);
        // 3 arrives: 1 and 2, and 4 alone.
        assert_eq!(run(3), 2);
        // With 10 and 11 three are beyond 7 and 8 too; when 2 arrives their run of two is the longest.
        assert_eq!([10, 11, 2].map(&mut run), [2, 2, 2]);
        // 12 and 14 have fewer than three beyond them. When 7 arrives, 1, 4 and 8 are left, none beside another.
        assert_eq!([15, 13, 7, 1, 4, 8].map(&mut run), [2, 2, 1, 1, 1, 0]);
        // 12 has 13, 15 and then 14 beyond it.
        assert_eq!([14, 12].map(&mut run), [1, 0]);
        // A copy sent again does not end it; who has not asked is told nothing.
        let (mut flow, mut receiver) = (self::flow(Repair::Threshold, CUT), AnyOrder::NEW);
        (0..8).for_each(|at| _ = send(&mut flow, at));
        for number in [3, 4, 5] {
            flow.on_ack(&arrive(&mut receiver, number, number), false);
        }
        assert_eq!(flow.delayed_run(), 0);
        flow.counts_delayed = true;
        assert_eq!(flow.delayed_run(), 3);
        assert_eq!((send(&mut flow, 20), flow.delayed_run()), (0, 3));
        flow.on_ack(&arrive(&mut receiver, 0, 20), false);
        assert_eq!(flow.delayed_run(), 2);
    }

    #[test]
    fn a_timeout_loses_all_that_is_in_flight() {
        for repair in [Repair::Threshold, Repair::Lazy, Repair::Never] {
            let (mut flow, mut receiver) = (flow(repair, CUT), AnyOrder::NEW);
            (0..8).for_each(|at| _ = send(&mut flow, at));
            flow.on_ack(&arrive(&mut receiver, 0, 0), false);
            flow.on_ack(&arrive(&mut receiver, 3, 3), false);
            assert_eq!(flow.on_timeout(), Lost { bytes: 6 * 1054, sent: 1 });
            assert_eq!((flow.inflight(), flow.position()), (0, 8));
            let again: Vec<u64> = (0..7).map(|at| send(&mut flow, 1000 + at)).collect();
            assert_eq!(again, [1, 2, 4, 5, 6, 7, 8]);
            // Copies are not judged by the rule.
            for (number, sent) in [(4, 1002), (5, 1003), (6, 1004), (8, 1900)] {
                assert!(!flow.on_ack(&arrive(&mut receiver, number, sent), false).hole);
            }
            assert_eq!(flow.on_timeout().bytes, 3 * 1054);
        }
    }

    #[test]
    fn a_flow_that_stops_ends_with_what_it_has_sent() {
        let (mut flow, mut receiver) = (flow(Repair::Never, CUT), AnyOrder::NEW);
        (0..2).for_each(|at| _ = send(&mut flow, at));
        flow.stop();
        assert_eq!(flow.next(), None);
        flow.on_ack(&arrive(&mut receiver, 1, 1), false);
        flow.on_timeout();
        assert_eq!(send(&mut flow, 9), 0);
        assert_eq!(flow.on_ack(&arrive(&mut receiver, 0, 9), false).bytes, 1054);
        assert!(flow.is_done());
    }

    #[test]
    fn the_sender_stays_within_the_receivers_window() {
        let cut = Cut::new(u64::MAX, 1000, 1000);
        let start = (1 << 32) - 5;
        let mut flow =
            Selective { unacknowledged: start, next: start, judged: start, ..flow(Repair::Never, cut) };
        let mut receiver = AnyOrder { expected: start, ..AnyOrder::NEW };
        (0..WINDOW).for_each(|at| _ = send(&mut flow, at));
        assert_eq!(flow.next(), None);
        // Numbers pass 2^32 on the way.
        for number in (1..WINDOW).rev() {
            flow.on_ack(&arrive(&mut receiver, start + number, number), false);
        }
        assert_eq!((flow.next(), flow.inflight()), (None, 1000));
        let ack = flow.on_ack(&arrive(&mut receiver, start, 0), false);
        assert_eq!(
            (ack.advanced, flow.acknowledged(), flow.next()),
            (true, start + WINDOW, Some(start + WINDOW))
        );
    }

    #[test]
    fn a_trimmed_copy_is_lost_and_no_other() {
        let mut flow = flow(Repair::Threshold, Cut::new(10, 1000, 500));
        (0..5).for_each(|at| _ = send(&mut flow, 100 + at));
        // Packets 3 and 1, in this order; the lower one is sent first, both before new ones.
        assert_eq!(flow.on_trim(3, 103), Some(Lost { bytes: 1000, sent: 103 }));
        assert_eq!(flow.on_trim(1, 101), Some(Lost { bytes: 1000, sent: 101 }));
        assert_eq!((flow.inflight(), flow.lost), (3000, 2));
        // Reported twice, never sent, or a copy that is not the last.
        assert_eq!([flow.on_trim(3, 103), flow.on_trim(7, 0), flow.on_trim(2, 999)], [None; 3]);
        assert_eq!([send(&mut flow, 200), send(&mut flow, 201), send(&mut flow, 202)], [1, 3, 5]);
        assert_eq!((flow.on_trim(1, 101), flow.inflight()), (None, 6000));
        assert_eq!(flow.on_trim(1, 200), Some(Lost { bytes: 1000, sent: 200 }));
        // One that has arrived meanwhile is not lost.
        let mut receiver = AnyOrder::NEW;
        flow.on_ack(&arrive(&mut receiver, 0, 100), false);
        assert_eq!((flow.on_trim(0, 100), flow.next()), (None, Some(1)));
    }

    /// The bitmap against a list of the packets that have arrived, and the sender's view against the
    /// receiver's, in random orders with losses; acknowledgements are lost and overtake others, too.
    #[test]
    fn the_sender_knows_what_the_acknowledgements_that_arrive_say() {
        for seed in 0..200 {
            let mut random = (0..).map(|item| draw(seed, item));
            let mut next = |below: u64| random.next().unwrap() % below;
            let packets = 1 + next(300);
            let repair = [Repair::Threshold, Repair::Lazy, Repair::Never][next(3) as usize];
            let mut flow = flow(repair, Cut::new(packets, 10, 7));
            let (mut receiver, mut arrived, mut known) = (AnyOrder::NEW, vec![false; 300], vec![false; 300]);
            let (mut wire, mut acks, mut now) = (Vec::new(), Vec::new(), 0);
            while !flow.is_done() {
                now += 1;
                match next(10) {
                    0..5 if flow.next().is_some() => wire.push((send(&mut flow, now), now)),
                    0..9 if !wire.is_empty() => {
                        let (number, sent) = wire.swap_remove(next(wire.len() as u64) as usize);
                        if next(10) == 0 {
                            continue;
                        }
                        let ack = arrive(&mut receiver, number, sent);
                        arrived[number as usize] = true;
                        let expected = arrived.iter().position(|is| !is).unwrap_or(300) as u64;
                        assert_eq!(receiver.expected, expected);
                        let first = first_of_bitmap(expected, number);
                        for bit in 0..64 {
                            let has = arrived.get((first + bit) as usize).copied().unwrap_or(false);
                            assert_eq!(ack.bitmap >> bit & 1 != 0, has, "packet {}", first + bit);
                        }
                        if next(10) > 0 {
                            acks.push((ack, expected, first));
                            let late = next(3) == 0;
                            let place = if late { next(acks.len() as u64) as usize } else { acks.len() - 1 };
                            let (ack, expected, first) = acks.remove(place);
                            let told = |n: u64| {
                                n < expected
                                    || n.checked_sub(first)
                                        .is_some_and(|b| b < 64 && ack.bitmap >> b & 1 != 0)
                            };
                            (0..packets).filter(|n| told(*n)).for_each(|n| known[n as usize] = true);
                            flow.on_ack(&ack, false);
                        }
                    }
                    _ if wire.is_empty() && flow.next().is_none() => _ = flow.on_timeout(),
                    _ => {}
                }
                for n in flow.acknowledged()..flow.position() {
                    assert_eq!(flow.state(n) == State::Acknowledged, known[n as usize]);
                }
                // What is in flight is what was sent, is not known to have arrived and is not to be sent again.
                let sent = flow.acknowledged()..flow.position();
                let in_flight =
                    sent.clone().filter(|n| matches!(flow.state(*n), State::First | State::Again));
                assert_eq!(flow.inflight(), in_flight.map(|n| flow.cut.bytes(n, n + 1)).sum::<u64>());
                let lost: Vec<u64> = sent.filter(|n| flow.state(*n) == State::Lost).collect();
                assert_eq!(
                    (flow.lost, lost.first()),
                    (lost.len() as u64, lost.first().map(|_| &flow.first_lost))
                );
            }
        }
    }
}
