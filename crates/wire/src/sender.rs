//! The sender of a message.

use std::io;

use incast_cc::{Ack, AnyParams, Loss, LossKind, Path, Sent, Signals};
use incast_recovery::{Cut, Lost, Recovery, Report, Selective, SentPacket, Settings};
use incast_units::{Bytes, Rate, Time};

use crate::control::{self, Control, Unsupported, supported};
use crate::failure::Failure;
use crate::format::{self, DATA_HEADER, Data, End, Finish, LARGEST, Open, Packet, Unreadable};
use crate::pace::Pace;
use crate::rto::Rto;
use crate::sum::Crc64;

/// A time that is never reached.
const NEVER: u64 = u64::MAX;
/// The algorithm's clock begins so long before the message, so that a receiver's clock may be behind. (ns)
const BEFORE: u64 = 1_000_000_000;

/// The first and the last packet are sent again at least so often. (ns) A receiver stays longer than that for a
/// sender that has not heard that all is complete.
const AGAIN: u64 = 200_000_000;
/// Copies of the packet that ends the exchange, because none of them is acknowledged.
const ENDS: u8 = 3;
/// A call that is later than its deadline by more than this says nothing about the network: acknowledgements
/// that have arrived are processed first. (ns)
const LATE: u64 = 1_000_000;

/// Source of the bytes of a message.
pub trait Source {
    /// Fills `into` with the bytes from position `at` on; all of them are within the message. Called again for bytes
    /// that are sent again.
    ///
    /// # Errors
    ///
    /// When they cannot be read; then the message fails.
    fn read(&mut self, at: u64, into: &mut [u8]) -> io::Result<()>;
}

impl Source for &[u8] {
    fn read(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let from =
            usize::try_from(at).ok().and_then(|at| self.get(at..)).and_then(|rest| rest.get(..into.len()));
        into.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// Settings of a sender.
#[derive(Clone, Copy, Debug)]
pub struct SenderConfig {
    /// The algorithm.
    pub params: AnyParams,
    /// The path, as the algorithm sees it. Its `packet` counts every header, also the headers below UDP.
    pub path: Path,
    /// Any number that no other sender to the same receiver has.
    pub connection: u64,
    /// Bytes of the message.
    pub length: u64,
    /// Longest time to wait for the other side.
    pub patience: Time,
}

/// Progress of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Bytes of the message that are acknowledged.
    pub acknowledged: u64,
    /// The algorithm's window; [`Bytes::UNLIMITED`] if there is no algorithm.
    pub window: Bytes,
    /// The algorithm's rate.
    pub rate: Rate,
    /// Bytes in flight.
    pub inflight: Bytes,
    /// The last round trip; zero before the first.
    pub rtt: Time,
    /// The smoothed round trip; zero before the first.
    pub smoothed_rtt: Time,
    /// Data packets sent, again or for the first time.
    pub packets: u64,
    /// Those that were sent again.
    pub resent: u64,
    /// Data packets that arrived with a mark.
    pub marked: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
}

#[derive(Debug)]
enum Phase {
    /// Waits for the receiver's answer.
    Opening,
    Sending,
    /// Everything is acknowledged; waits until the receiver has checked it.
    Finishing,
    /// Reports to the other side why it ends, for the given number of times.
    Ending(End, u8, Result<(), Failure>),
    Over(Result<(), Failure>),
}

/// The sender of a message.
pub struct Sender {
    config: SenderConfig,
    phase: Phase,
    /// Time at which the algorithm's clock is zero. (ns)
    base: u64,
    /// The latest time it was told. (ns)
    now: u64,
    /// Time at which the other side was last heard. (ns)
    heard: u64,
    answered: bool,
    /// Time to send the next [`Open`] or [`Finish`]. (ns)
    again_at: u64,
    control: Option<Box<dyn Control>>,
    recovery: Selective,
    window: u64,
    pace: Pace,
    rto: Rto,
    /// Earliest expiry of the retransmission timer. (ns)
    rto_at: u64,
    /// Whether the last call came too late to judge.
    was_late: bool,
    serials: Serials,
    /// Of what was sent for the first time.
    sum: Crc64,
    scratch: Vec<u8>,
    rtt: Time,
    packets: u64,
    resent: u64,
    marked: u64,
    timeouts: u64,
}

impl Sender {
    /// A sender at time `now`.
    ///
    /// # Errors
    ///
    /// When the algorithm needs a signal that there is not.
    ///
    /// # Panics
    ///
    /// When the path's payload is zero, or not less than its packet with the header of a data packet, or more than
    /// a packet can carry.
    pub fn new(now: u64, config: SenderConfig) -> Result<Self, Unsupported> {
        supported(&config.params)?;
        let (payload, packet) = (config.path.payload.get(), config.path.packet.get());
        assert!(payload > 0 && payload <= (LARGEST - DATA_HEADER) as u64, "payload of {payload} B");
        assert!(
            payload + DATA_HEADER as u64 <= packet,
            "a packet of {packet} B with a payload of {payload} B"
        );
        let packets = config.length.div_ceil(payload);
        let last = match config.length % payload {
            0 => packet,
            rest => packet - payload + rest,
        };
        let delayed_run = config.params.signals().contains(Signals::DELAYED_RUN);
        let settings = Settings { delayed_run, ..Settings::default() };
        Ok(Self {
            config,
            phase: Phase::Opening,
            base: now.saturating_sub(BEFORE),
            now,
            heard: now,
            answered: false,
            again_at: now,
            control: None,
            recovery: Selective::new(Cut::new(packets, packet, last), &settings),
            window: 0,
            pace: Pace::new(0, Rate::ZERO),
            rto: Rto::default(),
            rto_at: NEVER,
            was_late: false,
            serials: Serials::default(),
            sum: Crc64::default(),
            scratch: vec![0; payload as usize],
            rtt: Time::ZERO,
            packets: 0,
            resent: 0,
            marked: 0,
            timeouts: 0,
        })
    }

    /// Whether it is over, and how.
    #[must_use]
    pub const fn outcome(&self) -> Option<&Result<(), Failure>> {
        match &self.phase {
            Phase::Over(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Returns the outcome, once it has ended.
    #[must_use]
    pub fn into_outcome(self) -> Option<Result<(), Failure>> {
        match self.phase {
            Phase::Over(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Returns its progress.
    #[must_use]
    pub fn state(&self) -> State {
        let acknowledged = self.recovery.acknowledged().saturating_mul(self.payload());
        State {
            acknowledged: acknowledged.min(self.config.length),
            window: Bytes::new(self.window),
            rate: self.pace.rate(),
            inflight: Bytes::new(self.recovery.inflight()),
            rtt: self.rtt,
            smoothed_rtt: Time::from_ns(self.rto.smoothed()),
            packets: self.packets,
            resent: self.resent,
            marked: self.marked,
            timeouts: self.timeouts,
        }
    }

    /// Stops. The next packet to send tells the other side.
    pub fn stop(&mut self) {
        self.fail(Failure::Stopped);
    }

    /// Ends because its packets can no longer be sent or received. The next packet to send tells the other side.
    pub fn abort(&mut self) {
        self.fail(Failure::Io(io::Error::other("the socket failed")));
    }

    /// A packet to send at `now`, written into `out`; whether there is one. To be asked again until there is none:
    /// after each packet that arrived, and at [`next_deadline`](Self::next_deadline).
    pub fn poll_transmit(&mut self, now: u64, source: &mut impl Source, out: &mut Vec<u8>) -> bool {
        let now = self.passes(now);
        if matches!(self.phase, Phase::Opening | Phase::Finishing) {
            self.despair(now);
            if now < self.again_at {
                return false;
            }
        }
        if matches!(self.phase, Phase::Sending) && !self.expire(now) {
            return false;
        }
        let packet = match &mut self.phase {
            Phase::Opening => Packet::Open(Open {
                length: self.config.length,
                sent: now,
                payload: self.payload() as u16,
                notify: self.config.params.signals().contains(Signals::CNP),
            }),
            Phase::Sending => return self.data(now, source, out),
            Phase::Finishing => Packet::Finish(Finish { length: self.config.length, sum: self.sum.value() }),
            Phase::Ending(end, copies, outcome) => {
                let (end, outcome) = (*end, std::mem::replace(outcome, Ok(())));
                self.phase = match *copies {
                    0 | 1 => Phase::Over(outcome),
                    more => Phase::Ending(end, more - 1, outcome),
                };
                Packet::End(end)
            }
            Phase::Over(_) => return false,
        };
        self.again_at = now + self.rto.timeout().min(AGAIN);
        self.rto.expired();
        format::write(self.config.connection, &packet, out);
        true
    }

    /// Returns the latest time of the next call of [`poll_transmit`](Self::poll_transmit); [`u64::MAX`]:
    /// nothing is due. (ns)
    #[must_use]
    pub fn next_deadline(&self) -> u64 {
        let patience = self.heard.saturating_add(self.config.patience.ns());
        match &self.phase {
            Phase::Opening | Phase::Finishing => self.again_at.min(patience),
            Phase::Sending => {
                let timer = self.control.as_ref().map_or(Time::NEVER, |control| control.deadline());
                let next = if self.has_room() { self.pace.due() } else { NEVER };
                let due = timer.ps().min(next);
                // Rounded up: at that time it is due.
                let due = if due == NEVER { NEVER } else { self.base.saturating_add(due.div_ceil(1000)) };
                due.min(self.rto_at).min(patience).max(self.now)
            }
            Phase::Ending(..) => self.now,
            Phase::Over(_) => NEVER,
        }
    }

    /// Bytes arrived at `at`; they may be anything.
    pub fn on_packet(&mut self, at: u64, bytes: &[u8]) {
        let now = self.passes(at);
        let packet = match format::read(bytes) {
            Ok((connection, packet)) if connection == self.config.connection => packet,
            Err(Unreadable::Version(version)) if !self.answered => {
                if format::connection_of(bytes) == Some(self.config.connection) {
                    self.fail(Failure::Version(version));
                }
                return;
            }
            _ => return,
        };
        match (&self.phase, packet) {
            (Phase::Opening, Packet::Accept(accept)) if accept.sent <= at => {
                self.rto = Rto::default();
                self.rto.sample(at - accept.sent);
                let agree = (accept.sent..=at).contains(&accept.received);
                if !agree && self.config.params.signals().contains(Signals::ONE_WAY_DELAY) {
                    self.answered = true;
                    return self.fail(Failure::Clocks);
                }
                let time = self.time(now);
                self.pace = Pace::new(time.ps(), Rate::ZERO);
                self.control = Some(control::start(&self.config.params, self.config.path, time));
                self.apply_directive(now);
                self.phase = if self.recovery.is_done() { Phase::Finishing } else { Phase::Sending };
                self.again_at = now;
            }
            (Phase::Sending, Packet::Ack(ack)) => self.acknowledged(at, now, &ack),
            (Phase::Sending, Packet::Notify) => {
                let time = self.time(now);
                if let Some(control) = &mut self.control {
                    control.on_cnp(time);
                }
                self.apply_directive(now);
            }
            (Phase::Finishing, Packet::Finished) => self.phase = Phase::Ending(End::Done, ENDS, Ok(())),
            (Phase::Opening | Phase::Sending | Phase::Finishing, Packet::End(end)) => {
                self.phase = Phase::Over(Err(Failure::Told(end)));
            }
            _ => {}
        }
        self.heard = now;
        self.answered = true;
    }

    fn payload(&self) -> u64 {
        self.config.path.payload.get()
    }

    /// The algorithm's time.
    fn time(&self, ns: u64) -> Time {
        Time::from_ns(ns.saturating_sub(self.base))
    }

    /// The time passes; it never goes back.
    fn passes(&mut self, now: u64) -> u64 {
        self.now = self.now.max(now);
        self.now
    }

    fn fail(&mut self, failure: Failure) {
        if !matches!(self.phase, Phase::Over(_) | Phase::Ending(..)) {
            self.phase = match failure.end() {
                Some(end) => Phase::Ending(end, ENDS, Err(failure)),
                None => Phase::Over(Err(failure)),
            };
        }
    }

    /// Gives up after too long a silence.
    fn despair(&mut self, now: u64) {
        if now >= self.heard.saturating_add(self.config.patience.ns()) {
            self.fail(Failure::Silence { after: self.config.patience, heard: self.answered });
        }
    }

    /// Expires the timers of a sender that sends data. Returns false if arrived packets must be processed
    /// first.
    fn expire(&mut self, now: u64) -> bool {
        self.despair(now);
        let time = self.time(now);
        if let Some(control) = &mut self.control
            && control.deadline() <= time
        {
            control.on_timer(time);
            self.apply_directive(now);
        }
        if now < self.rto_at {
            return true;
        }
        if now - self.rto_at > LATE && !self.was_late {
            self.was_late = true;
            return false;
        }
        self.was_late = false;
        let (timeout, Some(oldest)) = (self.rto.timeout(), self.recovery.oldest()) else {
            self.rto_at = NEVER;
            return true;
        };
        let due = self.base.saturating_add(oldest / 1000).saturating_add(timeout);
        if due > now {
            self.rto_at = due;
            return true;
        }
        let position = self.recovery.position();
        let lost = self.recovery.expire(self.time(now - timeout).ps());
        self.timeouts += 1;
        self.rto.expired();
        self.rto_at = now + self.rto.timeout();
        self.lost(now, LossKind::Timeout, lost, position);
        self.apply_directive(now);
        true
    }

    /// Whether the window has room for a packet that is to be sent.
    fn has_room(&self) -> bool {
        let inflight = self.recovery.inflight();
        (inflight == 0 || inflight < self.window) && self.recovery.next().is_some()
    }

    fn data(&mut self, now: u64, source: &mut impl Source, out: &mut Vec<u8>) -> bool {
        let time = self.time(now);
        if !self.has_room() || !self.pace.is_ready(time.ps()) {
            return false;
        }
        let (Some(number), Some(control)) = (self.recovery.next(), &mut self.control) else { return false };
        let payload = self.config.path.payload.get();
        let at = number * payload;
        let size = payload.min(self.config.length - at);
        let bytes = &mut self.scratch[..size as usize];
        if let Err(error) = source.read(at, bytes) {
            self.fail(Failure::Io(error));
            return self.poll_transmit(now, source, out);
        }
        if number == self.recovery.position() {
            self.sum.update(bytes);
        }
        let counted = self.config.path.packet.get() - payload + size;
        let inflight = self.recovery.inflight() + counted;
        let narrow = u32::try_from(inflight).unwrap_or(u32::MAX);
        let sent = Sent { now: time, bytes: Bytes::new(counted), inflight: Bytes::new(inflight) };
        let tag = control.on_sent(&sent);
        self.resent +=
            u64::from(self.recovery.on_sent(SentPacket { sent: time.ps(), tag, inflight: narrow }));
        self.packets += 1;
        self.pace.on_sent(counted);
        if self.rto_at == NEVER {
            self.rto_at = now + self.rto.timeout();
        }
        let data = Data { number: number as u32, inflight: narrow, sent: now, payload: bytes };
        format::write(self.config.connection, &Packet::Data(data), out);
        self.apply_directive(now);
        true
    }

    /// An acknowledgement arrived at `at`, after which `now` may already have been told.
    fn acknowledged(&mut self, at: u64, now: u64, ack: &format::Ack) {
        // What can be in none of this receiver's is of no use: it would break the records.
        let before = self.recovery.acknowledged();
        let ahead = ack.expected.wrapping_sub(before as u32) as i32;
        let expected = before.checked_add_signed(i64::from(ahead));
        if expected.is_none_or(|expected| expected > self.recovery.position())
            || ack.sent > at
            || !self.serials.is_new(ack.serial)
        {
            return;
        }
        let sent = self.time(ack.sent);
        let report = Report {
            sent: sent.ps(),
            expected: ack.expected,
            offset: ack.offset,
            inflight: ack.inflight,
            bitmap: ack.bitmap,
        };
        let acknowledged = self.recovery.on_ack(&report, false);
        if acknowledged.record.is_some() {
            // Until now, not until it arrived: the timer asks how long it takes to know.
            self.rto.sample(now - ack.sent);
        }
        if acknowledged.advanced {
            self.rto.progress();
            self.rto_at = self.rto_at.min(now + self.rto.timeout());
        }
        self.marked += u64::from(ack.marked);
        if self.recovery.is_done() {
            self.phase = Phase::Finishing;
            self.again_at = now;
            return;
        }
        let payload = self.payload();
        let position = self.recovery.position();
        let ack = Ack {
            now: self.time(now),
            sent,
            received: self.time(ack.received),
            // The algorithm's time cannot go back to when the kernel received this.
            held: Time::from_ns(ack.held.saturating_add(now - at)),
            acked: Bytes::new(acknowledged.bytes),
            packet: acknowledged.packet.saturating_mul(payload),
            sequence: self.recovery.acknowledged() * payload,
            next_sequence: (position * payload).min(self.config.length),
            inflight: Bytes::new(acknowledged.inflight),
            inflight_now: Bytes::new(self.recovery.inflight()),
            packets: u32::from(ack.packets),
            marked: u32::from(ack.marked),
            tag: acknowledged.record.map_or(0, |record| record.tag),
            delayed_run: self.recovery.delayed_run(),
            hole: ack.offset > 0 || ack.bitmap != 0,
            // Other signals come from switches and receivers of the simulator.
            ..Ack::BLANK
        };
        self.rtt = ack.rtt();
        if let Some(control) = &mut self.control {
            control.on_ack(&ack);
        }
        if acknowledged.hole {
            let lost = self.recovery.on_hole();
            self.lost(now, LossKind::Hole, lost, position);
        }
        self.apply_directive(now);
    }

    /// Reports a loss to the algorithm; `position` is the number of the next new packet before it.
    fn lost(&mut self, now: u64, kind: LossKind, lost: Lost, position: u64) {
        let payload = self.payload();
        let loss = Loss {
            now: self.time(now),
            kind,
            bytes: Bytes::new(lost.bytes),
            sent: Time::from_ps(lost.sent),
            sequence: self.recovery.acknowledged() * payload,
            next_sequence: (position * payload).min(self.config.length),
        };
        if let Some(control) = &mut self.control {
            control.on_loss(&loss);
        }
    }

    /// Applies the algorithm's allowance.
    fn apply_directive(&mut self, now: u64) {
        let time = self.time(now).ps();
        if let Some(control) = &self.control {
            let allowance = control.allowance();
            self.window = allowance.window.get();
            self.pace.set(time, allowance.rate);
        }
    }
}

/// Serial numbers of the acknowledgements that have arrived: a copy made by the network is not another
/// signal.
#[derive(Clone, Copy, Debug, Default)]
struct Serials {
    /// The highest, and the 64 up to it, which is the lowest bit.
    highest: u32,
    seen: u64,
}

impl Serials {
    fn is_new(&mut self, serial: u32) -> bool {
        let ahead = serial.wrapping_sub(self.highest) as i32;
        if ahead > 0 || self.seen == 0 {
            self.seen = self.seen.checked_shl(ahead.unsigned_abs()).unwrap_or(0) | 1;
            self.highest = serial;
            return true;
        }
        let bit = 1_u64.checked_shl(ahead.unsigned_abs()).unwrap_or(0);
        let new = bit != 0 && self.seen & bit == 0;
        self.seen |= bit;
        new
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use incast_cc::Allowance;

    use super::*;

    #[test]
    fn a_serial_is_new_once() {
        let mut serials = Serials::default();
        let start = u32::MAX - 70;
        let new: Vec<bool> = [0, 0, 3, 1, 1, 3, 2, 100, 36, 37, 36, 37]
            .map(|n: u32| serials.is_new(start.wrapping_add(n)))
            .to_vec();
        // 36 lies 64 behind 100: too far to say, so not new.
        assert_eq!(new, [true, false, true, true, false, false, true, true, false, true, false, false]);
    }

    /// Inputs of an algorithm.
    #[derive(Clone, Debug, Default)]
    struct Told {
        acks: Vec<Ack>,
        losses: Vec<Loss>,
        sent: Vec<Sent>,
        cnps: Vec<Time>,
    }

    /// An algorithm that only listens.
    struct Spy(Arc<Mutex<Told>>);

    impl Control for Spy {
        fn on_ack(&mut self, ack: &Ack) {
            self.0.lock().unwrap().acks.push(*ack);
        }

        fn on_cnp(&mut self, now: Time) {
            self.0.lock().unwrap().cnps.push(now);
        }

        fn on_loss(&mut self, loss: &Loss) {
            self.0.lock().unwrap().losses.push(*loss);
        }

        fn on_sent(&mut self, sent: &Sent) -> u32 {
            let told = &mut self.0.lock().unwrap().sent;
            told.push(*sent);
            40 + told.len() as u32
        }

        fn on_timer(&mut self, _: Time) {}

        fn deadline(&self) -> Time {
            Time::NEVER
        }

        fn allowance(&self) -> Allowance {
            Allowance { window: Bytes::new(6000), rate: Rate::from_gbps(100) }
        }
    }

    /// One second, with which clocks begin.
    const S: u64 = 1_000_000_000;

    /// Nanoseconds after the start, in the algorithm's time.
    fn after(ns: u64) -> Time {
        Time::from_ns(BEFORE + ns)
    }

    #[test]
    fn the_algorithm_is_told_what_happened() {
        // Packets of 1538 B with 1400 B of payload: four, and one of 700 B.
        let path = Path {
            base_rtt: Time::from_us(100),
            base_owd: Time::from_us(50),
            line_rate: Rate::from_gbps(1),
            packet: Bytes::new(1538),
            payload: Bytes::new(1400),
            hops: 2,
        };
        let config = SenderConfig {
            params: AnyParams::named("constant", None).unwrap(),
            path,
            connection: 5,
            length: 4 * 1400 + 700,
            patience: Time::from_s(5),
        };
        let message = vec![1; 6300];
        let mut sender = Sender::new(5 * S, config).unwrap();
        let mut out = Vec::new();
        let mut poll = |sender: &mut Sender, ns: u64| {
            sender.poll_transmit(5 * S + ns, &mut message.as_slice(), &mut out).then(|| {
                match format::read(&out) {
                    Ok((5, Packet::Data(data))) => (data.number, data.inflight, data.payload.len()),
                    other => panic!("{other:?}"),
                }
            })
        };
        let mut bytes = Vec::new();
        let mut tell = |sender: &mut Sender, ns: u64, packet: Packet<'_>| {
            format::write(5, &packet, &mut bytes);
            sender.on_packet(5 * S + ns, &bytes);
        };
        assert!(sender.poll_transmit(5 * S, &mut [].as_slice(), &mut Vec::new()));
        let accept = format::Accept { sent: 5 * S, received: 5 * S + 40, held: 5 };
        tell(&mut sender, 100, Packet::Accept(accept));
        let told = Arc::new(Mutex::new(Told::default()));
        sender.control = Some(Box::new(Spy(Arc::clone(&told))));
        sender.apply_directive(5 * S);
        // The window of 6000 B has room as long as fewer are in flight: for four packets.
        let sent: Vec<_> = std::iter::from_fn(|| poll(&mut sender, 1000)).collect();
        assert_eq!(sent, [(0, 1538, 1400), (1, 3076, 1400), (2, 4614, 1400), (3, 6152, 1400)]);
        // Packet 0 and 1 arrive 500 ns later, marked the second; the answer for both, 30 ns after that, arrives at
        // 2000 ns and is read at 2100 ns, when another packet could already have been sent.
        let ack = format::Ack {
            serial: 1,
            expected: 2,
            bitmap: 0,
            sent: 5 * S + 1000,
            received: 5 * S + 1500,
            held: 30,
            inflight: 2307,
            offset: -1,
            packets: 2,
            marked: 1,
        };
        assert_eq!(poll(&mut sender, 2100), None);
        tell(&mut sender, 2000, Packet::Ack(ack));
        // The same once more, copied by the network: nothing.
        tell(&mut sender, 2200, Packet::Ack(ack));
        let first = told.lock().unwrap().acks.clone();
        let expected = Ack {
            now: after(2100),
            sent: after(1000),
            received: after(1500),
            held: Time::from_ns(130),
            acked: Bytes::new(2 * 1538),
            packet: 1400,
            sequence: 2800,
            next_sequence: 5600,
            inflight: Bytes::new(3076),
            inflight_now: Bytes::new(2 * 1538),
            packets: 2,
            marked: 1,
            tag: 42,
            ..Ack::BLANK
        };
        assert_eq!(first, [expected]);
        assert_eq!((first[0].rtt(), first[0].owd()), (Time::from_ns(970), Time::from_ns(500)));
        assert_eq!(poll(&mut sender, 2300), Some((4, 2 * 1538 + 838, 700)));
        tell(&mut sender, 2400, Packet::Notify);
        assert_eq!(told.lock().unwrap().cnps, [after(2400)]);
        // Packet 3 and then 4 arrive, 2 does not; two later ones are too few for the rule, so the timer finds it:
        // 50 ms, the shortest, after packet 2 was sent.
        let hole = format::Ack { serial: 2, bitmap: 1, offset: 1, packets: 1, marked: 0, ..ack };
        tell(&mut sender, 3000, Packet::Ack(hole));
        let both = format::Ack { serial: 3, bitmap: 3, offset: 2, sent: 5 * S + 2300, ..hole };
        tell(&mut sender, 3100, Packet::Ack(both));
        let acks = told.lock().unwrap().acks.clone();
        assert_eq!((acks.len(), acks[2].hole, acks[2].packet, acks[2].tag), (3, true, 5600, 45));
        assert_eq!((acks[2].acked, acks[2].inflight_now), (Bytes::new(838), Bytes::new(1538)));
        assert_eq!(poll(&mut sender, 50_000_999), None);
        assert!(told.lock().unwrap().losses.is_empty());
        assert_eq!(poll(&mut sender, 50_001_000), Some((2, 1538, 1400)));
        let loss = Loss {
            now: after(50_001_000),
            kind: LossKind::Timeout,
            bytes: Bytes::new(1538),
            sent: after(1000),
            sequence: 2800,
            next_sequence: 6300,
        };
        assert_eq!(told.lock().unwrap().losses, [loss]);
        let sent = told.lock().unwrap().sent.clone();
        assert_eq!(sent.len(), 6);
        assert_eq!(sent[4], Sent { now: after(2300), bytes: Bytes::new(838), inflight: Bytes::new(3914) });
        assert_eq!((sender.state().resent, sender.state().timeouts, sender.state().marked), (1, 1, 1));
        assert_eq!(sender.state().acknowledged, 2800);
        // The next expiry, after the doubled time, comes to be judged far too late: first what has arrived meanwhile
        // is asked for, at once, and there is nothing.
        assert_eq!((sender.next_deadline(), poll(&mut sender, 300_000_000)), (5 * S + 150_001_000, None));
        assert_eq!((sender.next_deadline(), sender.state().timeouts), (5 * S + 300_000_000, 1));
        assert_eq!((poll(&mut sender, 300_000_001), sender.state().timeouts), (Some((2, 1538, 1400)), 2));
    }
}
