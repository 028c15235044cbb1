//! Messages of a connection at its sender, in the order in which they started.
//!
//! A flow without a connection is the only message of its sender. The messages of a connection follow one another in
//! one sequence of packets: the first packet of a message has the number after the last one of the message before,
//! so that losses, windows and pacing know no borders between them. In positions in bytes every packet counts as full.

use std::collections::VecDeque;

use incast_net::packet::Origin;
use incast_net::record::{Division, Limit};
use incast_units::Time;

use crate::host::transport::account::{Times, division};
use crate::relative::State;

/// A time that is not known yet.
const NEVER: u64 = u64::MAX;

/// One flow at its sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) flow: u32,
    /// Index among the host's flows.
    pub(super) index: u32,
    /// The receiver's index of it.
    pub(super) peer: u32,
    pub(super) origin: Origin,
    /// One past its last packet; [`u64::MAX`] for an open-ended flow.
    pub(super) end: u64,
    /// Position of its first byte, and one past its last.
    pub(super) begin: u64,
    pub(super) limit: u64,
    /// (ps)
    pub(super) start: u64,
    pub(super) packets: u64,
    pub(super) resent: u64,
    pub(super) marked: u64,
    pub(super) timeouts: u32,
}

impl Message {
    /// Returns its acknowledged payload, when everything before `position` is acknowledged.
    pub(super) fn acknowledged(&self, position: u64) -> u64 {
        position.min(self.limit).saturating_sub(self.begin)
    }
}

/// The messages of a connection besides the one that its sender has.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) number: u32,
    /// Messages that have started, behind the first one that is not done.
    later: VecDeque<Message>,
    /// Whether the message of the sender is done, and none has started after it.
    pub(super) is_idle: bool,
    /// Number of messages that are not done, whether started or not.
    left: u32,
    /// Indices of the messages that have started.
    started: Vec<u32>,
    /// Of each message that has started and is not done, in order.
    turns: VecDeque<Turn>,
    /// Whether the packet that is taken is the first copy of the last packet of a message.
    closes: bool,
}

/// The time in which the packets of a message are sent for the first time: between two instants at which the account of
/// the sender is noted.
#[derive(Debug)]
struct Turn {
    /// One past its last packet.
    end: u64,
    /// Time at which the messages before it had been sent. (ps)
    at: u64,
    before: Times,
    /// Time at which it had been sent. (ps)
    closed: u64,
    after: Times,
    /// Time after that at which a packet of it was sent again, the first time. (ps)
    again: u64,
}

impl Turn {
    fn new(end: u64) -> Self {
        Self {
            end,
            at: NEVER,
            before: Times::default(),
            closed: NEVER,
            after: Times::default(),
            again: NEVER,
        }
    }

    fn open(&mut self, (at, times): (u64, Times)) {
        (self.at, self.before) = (at, times);
    }

    fn close(&mut self, (at, times): (u64, Times)) {
        (self.closed, self.after) = (at, times);
    }
}

impl Connection {
    /// A connection with this number of messages, the first of which starts.
    pub(super) fn new(number: u32, messages: u32, first: &Message) -> Box<Self> {
        let mut turn = Turn::new(first.end);
        turn.open((first.start, Times::default()));
        Box::new(Self {
            number,
            later: VecDeque::new(),
            is_idle: false,
            left: messages,
            started: vec![first.index],
            turns: VecDeque::from([turn]),
            closes: false,
        })
    }

    /// Passes on what counts of it while all messages that have started are done. How many are left is a matter of the
    /// workload.
    pub(super) fn relate(&self, state: &mut State) {
        let Self { number: _, later, is_idle, left: _, started: _, turns, closes } = self;
        state.word("started messages", later.len() as u64);
        state.word("sent messages", turns.len() as u64);
        state.word("idle", *is_idle);
        state.word("closes a message", *closes);
    }

    /// The number of messages that are not done, whether started or not.
    pub(super) fn left(&self) -> u32 {
        self.left
    }

    /// Whether all messages that have started have been sent.
    pub(super) fn is_closed(&self) -> bool {
        self.turns.iter().all(|turn| turn.closed != NEVER)
    }

    /// Another message starts, when the account of its sender has this time and division; returns the one that the
    /// sender has from now on if it had none.
    pub(super) fn add(&mut self, message: Message, divided: (u64, Times)) -> Option<Message> {
        let mut turn = Turn::new(message.end);
        if self.is_closed() {
            turn.open(divided);
        }
        self.turns.push_back(turn);
        self.started.push(message.index);
        if std::mem::take(&mut self.is_idle) {
            return Some(message);
        }
        self.later.push_back(message);
        None
    }

    /// The message of the sender is done; returns the next one.
    pub(super) fn advance(&mut self) -> Option<Message> {
        self.turns.pop_front();
        self.left -= 1;
        let next = self.later.pop_front();
        self.is_idle = next.is_none();
        next
    }

    /// Packet `number` is taken, for the first time or `again`; it may be the `last` of its message.
    #[inline(never)]
    pub(super) fn on_sent(&mut self, now: u64, number: u64, again: bool, last: bool) {
        self.closes = last && !again;
        let place = self.turns.partition_point(|turn| turn.end <= number);
        if again
            && let Some(turn) = self.turns.get_mut(place)
            && turn.closed != NEVER
            && turn.again == NEVER
        {
            turn.again = now;
        }
    }

    /// Transmission of that packet has begun; the account of the sender has this time and division.
    #[inline(never)]
    pub(super) fn sent(&mut self, divided: (u64, Times)) {
        if !std::mem::take(&mut self.closes) {
            return;
        }
        let mut open = self.turns.iter_mut().filter(|turn| turn.closed == NEVER);
        if let Some(turn) = open.next() {
            turn.close(divided);
        }
        if let Some(turn) = open.next() {
            turn.open(divided);
        }
    }

    /// Moves instants that were noted in advance to `now`, with this division.
    pub(super) fn cut(&mut self, now: u64, times: Times) {
        let later = |time| time != NEVER && time > now;
        for turn in &mut self.turns {
            if later(turn.at) {
                turn.open((now, times));
            }
            if later(turn.closed) {
                turn.close((now, times));
            }
        }
    }

    /// Returns the division of the time of a message up to `now`, when the account of the sender is `times`, and the
    /// acknowledgement that is handled is so `late` (ps).
    pub(super) fn division(
        &self,
        message: &Message,
        now: u64,
        late: u64,
        times: impl FnOnce() -> Times,
    ) -> Division {
        let mut of = Division::ZERO;
        let Some(turn) = self.turns.iter().find(|turn| turn.end == message.end) else { return of };
        of.add(Limit::Connection, Time::from_ps(turn.at.min(now).saturating_sub(message.start)));
        if turn.at >= now {
            return of;
        }
        let is_closed = turn.closed <= now;
        let until = if is_closed { turn.after } else { times() };
        let mut between = until;
        between.iter_mut().zip(turn.before).for_each(|(time, before)| *time -= before);
        let mut sum = division(&between);
        sum.add(Limit::Connection, of.of(Limit::Connection));
        if is_closed {
            let again = turn.again.clamp(turn.closed, now);
            sum.add(Limit::Answer, Time::from_ps(again - turn.closed));
            sum.add(Limit::Repair, Time::from_ps(now - again));
            if again == now {
                sum.add_queued(Time::ZERO, Time::from_ps(late.min(now - turn.closed)));
            }
        }
        sum
    }

    /// Whether all of its messages are done.
    pub(super) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Indices of the messages that have started.
    pub(super) fn started(&self) -> &[u32] {
        &self.started
    }

    /// The messages behind the one of the sender.
    pub(super) fn later(&self) -> impl Iterator<Item = &Message> {
        self.later.iter()
    }

    /// The one of them that packet `number` is of.
    pub(super) fn with_packet(&mut self, number: u64) -> Option<&mut Message> {
        let place = self.later.partition_point(|message| message.end <= number);
        self.later.get_mut(place)
    }

    /// The one of them with this index.
    pub(super) fn with_index(&mut self, index: u32) -> Option<&mut Message> {
        self.later.iter_mut().find(|message| message.index == index)
    }
}
