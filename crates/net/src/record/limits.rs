//! The division of a flow's time by what kept its next packet back.

use incast_units::Time;

use super::channel::{Digest, Record, kept_as_received};

/// Something that keeps the next packet of a flow back.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A packet of it leaves its network card for the first time.
    Sending,
    /// It has nothing to send and waits for acknowledgements.
    Answer,
    /// It has data, and as many bytes in flight as its window allows.
    Window,
    /// Its rate makes the next packet wait.
    Pacing,
    /// It has data, and no pull or grant of its receiver to send it.
    Credit,
    /// Its network card sends other packets, or its link is down.
    Card,
    /// Its queue is paused, or the flow itself.
    Paused,
    /// A packet leaves again, or it waits for a loss to be repaired.
    Repair,
    /// Messages before it on its connection have yet to be sent.
    Connection,
}

impl Limit {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Sending,
        Self::Answer,
        Self::Window,
        Self::Pacing,
        Self::Credit,
        Self::Card,
        Self::Paused,
        Self::Repair,
        Self::Connection,
    ];

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sending => "sending",
            Self::Answer => "answer",
            Self::Window => "window",
            Self::Pacing => "pacing",
            Self::Credit => "credit",
            Self::Card => "card",
            Self::Paused => "paused",
            Self::Repair => "repair",
            Self::Connection => "connection",
        }
    }
}

/// Time by limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    times: [Time; 9],
    /// The queued parts of windows and answers.
    queued: [Time; 2],
}

impl Division {
    /// No time.
    pub const ZERO: Self = Self { times: [Time::ZERO; 9], queued: [Time::ZERO; 2] };

    /// Returns the time of a limit.
    #[must_use]
    pub const fn of(&self, limit: Limit) -> Time {
        self.times[limit as usize]
    }

    /// Returns the part of a limit's time by which queues delayed the acknowledgements that ended its waits. Only
    /// [`Limit::Window`] and [`Limit::Answer`] have one.
    #[must_use]
    pub const fn queued(&self, limit: Limit) -> Time {
        match limit {
            Limit::Window => self.queued[0],
            Limit::Answer => self.queued[1],
            _ => Time::ZERO,
        }
    }

    /// Adds to the queued parts of [`Limit::Window`] and [`Limit::Answer`].
    pub fn add_queued(&mut self, window: Time, answer: Time) {
        self.queued[0] += window;
        self.queued[1] += answer;
    }

    /// Adds time to a limit.
    pub fn add(&mut self, limit: Limit, time: Time) {
        self.times[limit as usize] += time;
    }

    /// Returns the sum over all limits; queued parts are in it already.
    #[must_use]
    pub fn total(&self) -> Time {
        self.times.iter().fold(Time::ZERO, |sum, time| sum + *time)
    }
}

/// The divided time of a flow that is done (or was unfinished at the end of the run).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitRecord {
    /// Index into the simulation's flows.
    pub flow: u32,
    /// Time of its start.
    pub start: Time,
    /// Time at which it was done, or the end of the run.
    pub end: Time,
    /// The time between the two.
    pub division: Division,
}

impl Record for LimitRecord {
    kept_as_received!((Time, u32), |record| (record.end, record.flow));

    /// Adds nothing: a division follows from events that are hashed already.
    fn digest(&self, _: &mut Digest) {}
}
