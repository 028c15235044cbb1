//! The receiver of a message.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use incast_cc::receiver::{AckEvery, Arrival, Echo, Receiver as Rules, ReceiverRules};
use incast_recovery::{AnyOrder, Verdict, WINDOW};
use incast_units::{Bytes, Time};

use crate::failure::Failure;
use crate::format::{self, Accept, Ack, Data, End, Finish, Open, Packet, Unreadable};
use crate::sum::Crc64;

/// A time that is never reached.
const NEVER: u64 = u64::MAX;
/// The clock of [`Rules`] begins so long before the first packet. (ns)
const BEFORE: u64 = 1_000_000_000;
/// Answers that wait to be sent, at most: a driver that does not ask for them loses the oldest.
const MOST_ANSWERS: usize = 256;

/// Destination of the bytes of a message.
pub trait Sink {
    /// The next bytes: each once, in order.
    ///
    /// # Errors
    ///
    /// When they cannot be stored; then the message fails.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Finishes the message, which is complete and has the sender's checksum. Once this returns, the sender
    /// gets a report of that.
    ///
    /// # Errors
    ///
    /// When it cannot be stored; then the message fails.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Vec<u8> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// Settings of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Rules for the times of acknowledgements and reports of congestion.
    pub rules: ReceiverRules,
    /// Longest time to wait for the other side, once it has begun.
    pub patience: Time,
    /// Time to stay for a sender that has not heard that the message is complete.
    pub linger: Time,
    /// The largest payload of a packet that can arrive here: a message with larger ones is refused.
    pub largest: Bytes,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            rules: ReceiverRules {
                ack_every: AckEvery::Packets(1),
                ack_on_mark: false,
                ack_delay: Time::from_us(50),
                cnp_interval: Time::from_us(50),
            },
            patience: Time::from_s(10),
            linger: Time::from_s(3),
            largest: Bytes::new((format::LARGEST - format::DATA_HEADER) as u64),
        }
    }
}

#[derive(Debug)]
enum Phase {
    /// No message has begun.
    Waiting,
    Receiving,
    /// The message is complete; stays until this time (ns) for a sender that does not know.
    Complete(u64),
    Ending(Failure),
    Over(Result<(), Failure>),
}

/// An answer, and when the packet arrived that it answers. (ns)
#[derive(Clone, Copy, Debug)]
enum Answer {
    Accept { sent: u64, received: u64 },
    Ack(Ack),
    Notify,
    Finished,
}

/// The receiver of a message.
#[derive(Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    phase: Phase,
    connection: u64,
    open: Open,
    packets: u64,
    base: u64,
    now: u64,
    heard: u64,
    order: AnyOrder,
    rules: Rules,
    /// The acknowledgement that waits for more packets.
    held: Option<Ack>,
    serial: u32,
    /// Packets after a hole.
    kept: BTreeMap<u64, Box<[u8]>>,
    sum: Crc64,
    received: u64,
    arrived: u64,
    duplicates: u64,
    marked: u64,
    answers: VecDeque<Answer>,
}

impl Receiver {
    /// A receiver that waits for any sender.
    #[must_use]
    pub fn new(now: u64, config: ReceiverConfig) -> Self {
        Self {
            config,
            phase: Phase::Waiting,
            connection: 0,
            open: Open { length: 0, sent: 0, payload: 1, notify: false },
            packets: 0,
            base: now.saturating_sub(BEFORE),
            now,
            heard: now,
            order: AnyOrder::NEW,
            rules: Rules::NEW,
            held: None,
            serial: 0,
            kept: BTreeMap::new(),
            sum: Crc64::default(),
            received: 0,
            arrived: 0,
            duplicates: 0,
            marked: 0,
            answers: VecDeque::new(),
        }
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

    /// Whether a sender has begun.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        !matches!(self.phase, Phase::Waiting)
    }

    /// Whether the message is complete and stored, also while it stays for the sender.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        matches!(self.phase, Phase::Complete(_) | Phase::Over(Ok(())))
    }

    /// Bytes received in order, and bytes of the message.
    #[must_use]
    pub const fn progress(&self) -> (u64, u64) {
        (self.received, self.open.length)
    }

    /// Returns the numbers of data packets that arrived, of those that had arrived before, and of those with
    /// a mark.
    #[must_use]
    pub const fn counts(&self) -> (u64, u64, u64) {
        (self.arrived, self.duplicates, self.marked)
    }

    /// Stops. The next packet to send tells the other side.
    pub fn stop(&mut self) {
        self.fail(Failure::Stopped);
    }

    /// Ends because its packets can no longer be sent or received. The next packet to send tells the other side.
    pub fn abort(&mut self) {
        self.fail(Failure::Io(io::Error::other("the socket failed")));
    }

    /// A packet to send at `now`, written into `out`; whether there is one.
    pub fn poll_transmit(&mut self, now: u64, out: &mut Vec<u8>) -> bool {
        let now = self.passes(now);
        match self.phase {
            Phase::Receiving => {
                let patience = self.config.patience;
                if now >= self.heard.saturating_add(patience.ns()) {
                    self.fail(Failure::Silence { after: patience, heard: true });
                }
            }
            Phase::Complete(until) if now >= until => self.phase = Phase::Over(Ok(())),
            _ => {}
        }
        if let Phase::Ending(_) = self.phase
            && let Phase::Ending(failure) = std::mem::replace(&mut self.phase, Phase::Waiting)
        {
            let end = failure.end();
            self.phase = Phase::Over(Err(failure));
            if let Some(end) = end {
                format::write(self.connection, &Packet::End(end), out);
                return true;
            }
        }
        if matches!(self.phase, Phase::Waiting | Phase::Over(_)) {
            return false;
        }
        if let Some(echo) = self.rules.on_timer(self.time(now))
            && let Some(ack) = self.held.take()
        {
            self.answer(Answer::Ack(covering(ack, &echo)));
        }
        let Some(answer) = self.answers.pop_front() else { return false };
        let packet = match answer {
            Answer::Accept { sent, received } => {
                Packet::Accept(Accept { sent, received, held: now.saturating_sub(received) })
            }
            Answer::Ack(ack) => {
                self.serial = self.serial.wrapping_add(1);
                let held = now.saturating_sub(ack.received);
                Packet::Ack(Ack { serial: self.serial, held, ..ack })
            }
            Answer::Notify => Packet::Notify,
            Answer::Finished => Packet::Finished,
        };
        format::write(self.connection, &packet, out);
        true
    }

    /// Returns the latest time of the next call of [`poll_transmit`](Self::poll_transmit); [`u64::MAX`]:
    /// nothing is due. (ns)
    #[must_use]
    pub fn next_deadline(&self) -> u64 {
        match self.phase {
            Phase::Waiting | Phase::Over(_) => NEVER,
            Phase::Ending(_) => self.now,
            _ if !self.answers.is_empty() => self.now,
            Phase::Receiving | Phase::Complete(_) => {
                let ack = match self.rules.deadline() {
                    Time::NEVER => NEVER,
                    due => self.base.saturating_add(due.ps().div_ceil(1000)),
                };
                let end = match self.phase {
                    Phase::Complete(until) => until,
                    _ => self.heard.saturating_add(self.config.patience.ns()),
                };
                ack.min(end).max(self.now)
            }
        }
    }

    /// Bytes arrived at `at`, with the mark *congestion experienced* or without; they may be anything. What is new of
    /// the message goes to `sink`.
    pub fn on_packet(&mut self, at: u64, marked: bool, bytes: &[u8], sink: &mut impl Sink) {
        let now = self.passes(at);
        let Ok((connection, packet)) = format::read(bytes) else { return };
        if let (Phase::Waiting, Packet::Open(open)) = (&self.phase, packet) {
            self.connection = connection;
            self.open = open;
            self.packets = open.length.div_ceil(u64::from(open.payload));
            self.phase = Phase::Receiving;
            let payload = Bytes::new(u64::from(open.payload));
            if payload > self.config.largest {
                self.fail(Failure::Large { payload, largest: self.config.largest });
            }
        }
        if connection != self.connection {
            return;
        }
        match (&self.phase, packet) {
            (Phase::Receiving, Packet::Open(open)) if Open { sent: self.open.sent, ..open } == self.open => {
                self.answer(Answer::Accept { sent: open.sent, received: at });
            }
            (Phase::Receiving | Phase::Complete(_), Packet::Data(data)) => {
                self.data(at, now, marked, &data, sink);
            }
            (Phase::Receiving, Packet::Finish(finish)) => self.finish(now, &finish, sink),
            (Phase::Complete(_), Packet::Finish(_)) => {
                self.phase = Phase::Complete(now.saturating_add(self.config.linger.ns()));
                self.answer(Answer::Finished);
            }
            (Phase::Complete(_), Packet::End(_)) => self.phase = Phase::Over(Ok(())),
            (Phase::Receiving, Packet::End(end)) => self.phase = Phase::Over(Err(Failure::Told(end))),
            _ => return,
        }
        self.heard = now;
    }

    fn time(&self, ns: u64) -> Time {
        Time::from_ns(ns.saturating_sub(self.base))
    }

    fn passes(&mut self, now: u64) -> u64 {
        self.now = self.now.max(now);
        self.now
    }

    fn fail(&mut self, failure: Failure) {
        match self.phase {
            Phase::Receiving => self.phase = Phase::Ending(failure),
            // Nobody is there to be told, or the message is complete.
            Phase::Waiting => self.phase = Phase::Over(Err(failure)),
            Phase::Complete(_) => self.phase = Phase::Over(Ok(())),
            Phase::Ending(_) | Phase::Over(_) => {}
        }
    }

    fn answer(&mut self, answer: Answer) {
        if self.answers.len() == MOST_ANSWERS {
            self.answers.pop_front();
        }
        self.answers.push_back(answer);
    }

    fn data(&mut self, at: u64, now: u64, marked: bool, data: &Data<'_>, sink: &mut impl Sink) {
        // What no sender of this message can have sent would break the records.
        let ahead = data.number.wrapping_sub(self.order.expected as u32) as i32;
        let Some(number) = self.order.expected.checked_add_signed(i64::from(ahead)) else { return };
        let (full, length) = (u64::from(self.open.payload), self.open.length);
        if ahead >= WINDOW as i32
            || number >= self.packets
            || data.payload.len() as u64 != full.min(length - number * full)
        {
            return;
        }
        self.arrived += 1;
        self.marked += u64::from(marked);
        let verdict = self.order.take(data.number);
        let stored = match verdict {
            Verdict::Next | Verdict::Fills => self.deliver(number, data.payload, sink),
            Verdict::Kept => {
                self.kept.insert(number, data.payload.into());
                Ok(())
            }
            Verdict::Duplicate | Verdict::Early { .. } => {
                self.duplicates += 1;
                Ok(())
            }
        };
        if let Err(error) = stored {
            return self.fail(Failure::Io(error));
        }
        let expected = self.order.expected;
        let arrival = Arrival {
            now: self.time(now),
            inflight: Bytes::new(u64::from(data.inflight)),
            payload: Bytes::new(data.payload.len() as u64),
            marked,
            notify: self.open.notify,
            urgent: expected == self.packets || verdict != Verdict::Next,
        };
        let response = self.rules.on_data(&self.config.rules, &arrival);
        if response.notify {
            self.answer(Answer::Notify);
        }
        let offset = data.number.wrapping_sub(expected as u32) as i32;
        let ack = Ack {
            serial: 0,
            expected: expected as u32,
            bitmap: self.order.bitmap(data.number),
            sent: data.sent,
            received: at,
            held: 0,
            inflight: data.inflight,
            offset: offset.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16,
            packets: 1,
            marked: 0,
        };
        match response.ack {
            Some(echo) => {
                self.held = None;
                self.answer(Answer::Ack(covering(ack, &echo)));
            }
            None => self.held = Some(ack),
        }
    }

    /// The packet that was expected, and those after it that are kept.
    fn deliver(&mut self, number: u64, payload: &[u8], sink: &mut impl Sink) -> io::Result<()> {
        self.take(payload, sink)?;
        for next in number + 1..self.order.expected {
            let kept = self.kept.remove(&next).unwrap_or_default();
            self.take(&kept, sink)?;
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8], sink: &mut impl Sink) -> io::Result<()> {
        self.sum.update(bytes);
        self.received += bytes.len() as u64;
        sink.write(bytes)
    }

    fn finish(&mut self, now: u64, finish: &Finish, sink: &mut impl Sink) {
        if self.order.expected < self.packets {
            return;
        }
        if *finish != (Finish { length: self.received, sum: self.sum.value() }) {
            return self.fail(Failure::Damaged);
        }
        if let Err(error) = sink.finish() {
            return self.fail(Failure::Io(error));
        }
        self.phase = Phase::Complete(now.saturating_add(self.config.linger.ns()));
        self.answer(Answer::Finished);
    }
}

/// An acknowledgement that covers these packets.
fn covering(ack: Ack, echo: &Echo) -> Ack {
    Ack {
        inflight: u32::try_from(echo.inflight.get()).unwrap_or(u32::MAX),
        packets: u16::try_from(echo.packets).unwrap_or(u16::MAX),
        marked: u16::try_from(echo.marked).unwrap_or(u16::MAX),
        ..ack
    }
}

/// Writes the answer to bytes that do not belong to the message being received; returns whether there is one.
pub fn answer_stranger(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let end = match format::read(bytes) {
        Ok((_, Packet::Open(_))) => End::Busy,
        Err(Unreadable::Version(_)) => End::Version,
        _ => return false,
    };
    let Some(connection) = format::connection_of(bytes) else { return false };
    format::write(connection, &Packet::End(end), out);
    true
}
