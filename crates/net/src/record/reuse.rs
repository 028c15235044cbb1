//! The account of a run about what it did not simulate, since it repeats itself.

use incast_units::Time;

/// Findings about repetition in a run that was to reuse what repeats itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reused {
    /// Number of instants at which the network was quiet and its state was compared with earlier states.
    pub instants: u64,
    /// The repetition that was reused.
    pub repetition: Option<Repetition>,
    /// Reason for which nothing was reused: the first part of the state that differed, or that cannot be compared.
    pub reason: Option<String>,
    /// Packet-hops that were simulated, again and again what was simulated more than once.
    pub simulated_hops: u64,
}

/// A part of a run that was written from an earlier part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}
