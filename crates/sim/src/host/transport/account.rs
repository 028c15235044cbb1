//! The division of a sender's time by what kept its next packet back, the same in all transports.
//!
//! After each event of a sender one limit holds until the next; [`Account::turn`] names it. A packet is credited in
//! full when its first bit leaves.

use incast_net::record::{Division, Limit};
use incast_units::Time;

use crate::relative::State;

/// The number of limits that a sender itself can have: all but [`Limit::Connection`], which is the last.
const LIMITS: usize = Limit::Connection as usize;
/// Behind the limits: the queued parts of windows and of answers.
const WINDOW_QUEUED: usize = LIMITS;
const ANSWER_QUEUED: usize = LIMITS + 1;

/// Times by limit, and the queued parts. (ps)
pub(crate) type Times = [u64; LIMITS + 2];

/// The divided time of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    times: Times,
    /// All time before this is divided, and `limit` holds from then on. While a packet of the sender leaves, it is in
    /// the future. (ps)
    since: u64,
    limit: Limit,
    /// [`Limit::Sending`] or [`Limit::Repair`], of the packet sent last.
    leaving: Limit,
    /// Paused time when [`Limit::Card`] began. (ps)
    paused: u64,
}

impl Account {
    /// The account of a sender that starts.
    pub(crate) const fn new(now: u64) -> Self {
        let (limit, leaving) = (Limit::Answer, Limit::Sending);
        Self { times: [0; LIMITS + 2], since: now, limit, leaving, paused: 0 }
    }

    /// Passes on what counts of it while its sender has nothing to send.
    pub(crate) fn relate(&self, state: &mut State) {
        // Of the times only differences count, and of the paused time one since the card was waited for.
        let Self { times: _, since, limit, leaving, paused: _ } = self;
        state.instant("divided time", *since);
        state.word("limit", *limit as u64);
        state.word("limit while it sends", *leaving as u64);
        state.unless(*limit == Limit::Card, "a wait for the card");
    }

    /// Whether its sender waits for its card.
    #[inline(always)]
    pub(crate) fn waits_for_card(&self) -> bool {
        self.limit == Limit::Card
    }

    /// The limit of a sender that has nothing to send.
    #[inline]
    pub(crate) fn nothing_to_send(&self) -> Limit {
        if self.leaving == Limit::Repair { Limit::Repair } else { Limit::Answer }
    }

    /// The current wait ends, by something else than an acknowledgement. `paused` is the paused time so far of what the
    /// sender waits with at its card.
    #[inline(always)]
    pub(crate) fn settle(&mut self, now: u64, paused: impl Fn() -> u64) {
        self.end(now, || 0, paused);
    }

    /// The current wait ends, by an acknowledgement that queues have delayed by `late` (ps; 0 without one): without them it
    /// would have ended so much earlier.
    #[inline(always)]
    fn end(&mut self, now: u64, late: impl FnOnce() -> u64, paused: impl FnOnce() -> u64) {
        if now <= self.since {
            return;
        }
        let mut wait = now - self.since;
        self.since = now;
        match self.limit {
            Limit::Card => {
                let part = (paused() - self.paused).min(wait);
                self.times[Limit::Paused as usize] += part;
                wait -= part;
            }
            Limit::Window => self.times[WINDOW_QUEUED] += wait.min(late()),
            Limit::Answer => self.times[ANSWER_QUEUED] += wait.min(late()),
            _ => {}
        }
        self.times[self.limit as usize] += wait;
    }

    /// From now on, or from the end of the packet that leaves, this limit holds. A wait is one piece while its limit
    /// stays; `late` is as in [`end`](Self::end).
    #[inline(always)]
    pub(crate) fn turn(
        &mut self,
        now: u64,
        limit: Limit,
        late: impl FnOnce() -> u64,
        paused: impl FnOnce() -> u64,
    ) {
        let changes = limit != self.limit;
        if !changes && (limit != Limit::Card || now != self.since) {
            return;
        }
        // It is asked in one place, so that it is no call.
        let paused = if limit == Limit::Card || self.limit == Limit::Card { paused() } else { 0 };
        if changes {
            self.end(now, late, || paused);
            self.limit = limit;
        }
        // A packet has left, or another wait is over, and its sender waits for its card.
        if limit == Limit::Card {
            self.paused = paused;
        }
    }

    /// Whether all time before `now` is divided, and none after it.
    #[inline(always)]
    pub(crate) fn is_divided(&self, now: u64) -> bool {
        self.since == now
    }

    /// Its sender gets its turn at its card at once, now that its packet has left, [up to which](Self::is_divided) its time is
    /// divided. `paused` is the paused time so far of what it waits with at its card.
    #[inline(always)]
    pub(crate) fn follow(&mut self, paused: u64) {
        (self.limit, self.paused) = (Limit::Card, paused);
    }

    /// A packet is taken, for the first time or `again`.
    #[inline]
    pub(crate) fn packet(&mut self, again: bool) {
        self.leaving = if again { Limit::Repair } else { Limit::Sending };
    }

    /// Transmission of that packet has begun; it ends at `done`.
    #[inline(always)]
    pub(crate) fn sent(&mut self, done: u64) {
        self.times[self.leaving as usize] += done - self.since;
        self.since = done;
    }

    /// From the end of that packet on this limit holds, which is not [`Limit::Card`]: [`turn`](Self::turn) names that one when
    /// the packet has left.
    #[inline(always)]
    pub(crate) fn afterwards(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// A timer that was set at `set_at` makes the sender send something again: its wait was for that.
    pub(crate) fn expired(&mut self, now: u64, set_at: u64) {
        if matches!(self.limit, Limit::Window | Limit::Answer | Limit::Credit) && now > self.since {
            let from = set_at.clamp(self.since, now);
            self.times[self.limit as usize] += from - self.since;
            self.times[Limit::Repair as usize] += now - from;
            self.since = now;
        }
    }

    /// Its packets leave by another card from now on: a wait for the card before is over. `paused` is as in
    /// [`settle`](Self::settle).
    pub(crate) fn change_card(&mut self, now: u64, paused: impl Fn() -> u64) {
        if self.limit == Limit::Card {
            self.settle(now, paused);
        }
        self.cut(now);
    }

    /// Takes back what is not over of a packet that leaves.
    pub(crate) fn cut(&mut self, now: u64) {
        if self.since > now {
            self.times[self.leaving as usize] -= self.since - now;
            self.since = now;
        }
    }

    /// Returns the time up to which all is divided, and its division. (ps)
    pub(crate) const fn divided(&self) -> (u64, Times) {
        (self.since, self.times)
    }

    /// Returns the division up to `now`, when an acknowledgement has arrived so `late` (ps; 0 without one).
    pub(crate) fn until(&self, now: u64, late: u64, paused: impl Fn() -> u64) -> Times {
        let mut account = *self;
        account.cut(now);
        account.end(now, || late, paused);
        account.times
    }

    /// Returns the division up to `now` in the same way, for a record.
    pub(crate) fn division(&self, now: u64, late: u64, paused: impl Fn() -> u64) -> Division {
        division(&self.until(now, late, paused))
    }
}

/// Converts times by limit to a division.
pub(crate) fn division(times: &Times) -> Division {
    let mut division = Division::ZERO;
    for (limit, time) in Limit::ALL.iter().zip(&times[..LIMITS]) {
        division.add(*limit, Time::from_ps(*time));
    }
    division.add_queued(Time::from_ps(times[WINDOW_QUEUED]), Time::from_ps(times[ANSWER_QUEUED]));
    division
}
