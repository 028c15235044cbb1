//! The account of a run about what it did not simulate, since it repeats itself.

use core::ops::Range;

use incast_units::Time;

/// Findings about repetition in a run that was to reuse what repeats itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reused {
    /// Number of instants at which the network was quiet and its state was compared with earlier states.
    pub instants: u64,
    /// The repetitions that were reused, by time.
    pub repetitions: Vec<Repetition>,
    /// Reason for which nothing was reused: the first part of the state that differed, or that cannot be compared.
    pub reason: Option<String>,
    /// Packet-hops that were simulated, again and again what was simulated more than once.
    pub simulated_hops: u64,
}

/// A part of a run that was written from an earlier part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repetition {
    /// Begin of the part that repeats itself.
    pub from: Time,
    /// Its length.
    pub period: Time,
    /// Number of its copies, which follow it.
    pub copies: u32,
    /// Number of flows in it.
    pub flows: u64,
    /// Packet-hops in it.
    pub hops: u64,
    /// Whether the sink keeps the records of copies: those between [`Sink::copies`](super::Sink::copies) and the end of that.
    pub are_written: bool,
    /// The numbers of flows of each job.
    pub shifted: Vec<Shifted>,
}

/// The flows of a job, and what is added to their numbers from one copy to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shifted {
    /// Their numbers, of the whole job.
    pub flows: Range<u32>,
    /// Number of those in one copy.
    pub by: u32,
}
