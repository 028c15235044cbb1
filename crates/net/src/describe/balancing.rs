//! Load balancing: how the packets of a flow are spread over equal paths.

use incast_units::{Bytes, Time};

use super::named::named;
use super::switch::PathPolicy;

named! {
    /// Policy by which the packets of a flow are spread over equal paths.
    pub enum Balancing {
        "ecmp" => Ecmp: "all packets of a flow take one path, by the hash of the flow",
        "ops" => Ops: "oblivious packet spraying: each packet has a random entropy",
        "ops-rounds" => OpsRounds:
            "oblivious packet spraying that takes all entropies once in a random order, then again",
        "reps" => Reps: "entropies of acknowledged packets without marks are used again (REPS)",
        "random" => Random: "each switch chooses a random port for each packet",
        "adaptive" => Adaptive:
            "each switch chooses a random one of the ports with the shortest queues, in four classes",
    }
}

impl Balancing {
    /// Whether the packets of a flow can take different paths.
    #[inline]
    #[must_use]
    pub fn spreads(self) -> bool {
        self != Self::Ecmp
    }

    /// Whether the sender chooses an entropy for each packet.
    #[must_use]
    pub const fn has_entropies(self) -> bool {
        match self {
            Self::Ops | Self::OpsRounds | Self::Reps => true,
            Self::Ecmp | Self::Random | Self::Adaptive => false,
        }
    }
}

named! {
    /// The path of acknowledgements.
    pub enum Acknowledgements {
        "balanced" => Balanced: "each by the entropy of the packet that causes it, or as the switches choose",
        "one-path" => OnePath: "one path for all acknowledgements of a flow",
    }
}

/// The settings of all policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Number of entropies, at most 2^16, among which REPS and OPS in rounds choose.
    pub paths: u32,
    /// With REPS: how long a sender keeps to the entropies that it has stored after a timeout; `None`: it
    /// does not.
    pub freeze: Option<Time>,
    /// Path of the acknowledgements of flows that are spread.
    pub acknowledgements: Acknowledgements,
    /// With adaptive routing: the queue lengths at which a port falls into the next worse class.
    pub thresholds: [Bytes; 3],
    /// With adaptive routing: shortest time between two looks of a switch at the queue of a port.
    pub interval: Time,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            paths: 64,
            freeze: None,
            acknowledgements: Acknowledgements::Balanced,
            thresholds: [40_000, 80_000, 160_000].map(Bytes::new),
            interval: Time::from_ns(100),
        }
    }
}

impl Settings {
    /// Returns why flows cannot have this policy, if they cannot.
    #[must_use]
    pub fn problem(&self, balancing: Balancing, path: PathPolicy) -> Option<String> {
        if balancing.has_entropies() && path == PathPolicy::FiveTuple {
            return Some("entropies have no place in the tuples that \"five-tuple\" hashes".into());
        }
        if !(1..=1 << 16).contains(&self.paths) {
            return Some(format!("there are 1 to 65536 paths, not {}", self.paths));
        }
        if balancing == Balancing::OpsRounds && !self.paths.is_power_of_two() {
            return Some(format!("rounds need a power of two of paths, not {}", self.paths));
        }
        None
    }
}
