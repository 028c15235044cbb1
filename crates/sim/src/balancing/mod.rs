//! Load balancing: which of several equal paths each packet of a flow takes.
//!
//! A sender chooses the entropy of each packet ([`Entropies`]), which enters the hash of every switch; or it
//! leaves the choice to the switches, hop by hop ([`PerHop`]); or neither, and all packets of the flow take one
//! path. To add a policy, write its file here and a line in `balancings!` below.

pub(crate) mod adaptive;
mod ops;
pub(crate) mod random;
mod reps;

use core::fmt::Debug;

use adaptive::Adaptive;
use incast_units::{Bytes, Time};
use ops::{Rounds, Uniform};
use random::Random;
use reps::Reps;

use crate::describe::named;
use crate::describe::network::{NodeId, PortId};
use crate::packet::Packet;
use crate::random::mix;
use crate::switch::Egress;
use crate::switch::path::PathPolicy;

/// The settings of all policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Number of entropies, at most 2^16, among which REPS and OPS in rounds choose.
    pub paths: u32,
    /// With REPS: how long a sender keeps to the entropies that it has stored after a timeout; `None`: it
    /// does not.
    pub freeze: Option<Time>,
    /// Whether acknowledgements are balanced as the data packets that cause them; if not, they take the one
    /// path of their flow.
    pub acknowledgements: bool,
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
            acknowledgements: true,
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

/// Report of an acknowledgement about the path of its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feedback {
    /// Nothing against it.
    Good,
    /// The packet was marked (ECN), or the receiver reports a hole before it (NACK).
    Bad,
}

/// A sender's choice of the entropy of each packet.
pub(crate) trait Entropies: Debug + Send {
    /// The entropy of the packet that is sent now. (ps)
    fn choose(&mut self, now: u64) -> u16;

    /// An acknowledgement brings back the entropy of the packet that caused it.
    fn feedback(&mut self, _now: u64, _entropy: u16, _feedback: Feedback) {}

    /// The retransmission timer has expired.
    fn timeout(&mut self, _now: u64) {}
}

/// A switch's choice of the port of each packet.
pub(crate) trait PerHop: Debug + Send {
    /// The port for a packet that arrives now (ps), one of `group`: the ports of equal cost, at least two, by
    /// number. `ports` are all ports of the switch, by number, with their queues. `None`: by the packet's hash.
    fn choose(&mut self, now: u64, packet: &Packet, group: &[PortId], ports: &[Egress]) -> Option<PortId>;
}

/// The state of a new flow's policy, from the settings and the flow's stream of random draws.
type NewEntropies = fn(&Settings, u64) -> Box<dyn Entropies>;
/// The state of a switch's policy, from the settings and the switch's stream of random draws.
type NewPerHop = fn(&Settings, u64) -> Box<dyn PerHop>;

macro_rules! balancings {
    ($($name:literal => $variant:ident($entropies:expr, $per_hop:expr): $meaning:literal;)+) => {
        named! {
            /// Policy by which the packets of a flow are spread over equal paths.
            pub enum Balancing {
                $($name => $variant: $meaning,)+
            }
        }

        impl Balancing {
            /// Returns the sender's half of the policy, if it has one.
            const fn entropies(self) -> Option<NewEntropies> {
                match self { $(Self::$variant => $entropies,)+ }
            }

            /// Returns the switches' half of the policy, if it has one.
            const fn per_hop(self) -> Option<NewPerHop> {
                match self { $(Self::$variant => $per_hop,)+ }
            }
        }

        /// Every policy, in the order of the numbers by which packets name theirs.
        const ALL: &[Balancing] = &[$(Balancing::$variant),+];
    };
}

balancings! {
    "ecmp" => Ecmp(None, None): "all packets of a flow take one path, by the hash of the flow";
    "ops" => Ops(Some(|_, stream| Box::new(Uniform::new(stream))), None):
        "oblivious packet spraying: each packet has a random entropy";
    "ops-rounds" => OpsRounds(Some(|settings, stream| Box::new(Rounds::new(settings, stream))), None):
        "oblivious packet spraying that takes all entropies once in a random order, then again";
    "reps" => Reps(Some(|settings, stream| Box::new(Reps::new(settings, stream))), None):
        "entropies of acknowledged packets without marks are used again (REPS)";
    "random" => Random(None, Some(|_, stream| Box::new(Random::new(stream)))):
        "each switch chooses a random port for each packet";
    "adaptive" => Adaptive(None, Some(|settings, stream| Box::new(Adaptive::new(settings, stream)))):
        "each switch chooses a random one of the ports with the shortest queues, in four classes";
}

impl Balancing {
    /// Whether the packets of a flow can take different paths.
    #[inline]
    #[must_use]
    pub fn spreads(self) -> bool {
        self != Self::Ecmp
    }

    /// Whether the sender chooses entropies.
    #[must_use]
    pub fn has_entropies(self) -> bool {
        self.entropies().is_some()
    }

    /// The state of a new flow, if its packets have entropies.
    pub(crate) fn start(self, settings: &Settings, seed: u64, key: u64) -> Option<Box<dyn Entropies>> {
        self.entropies().map(|new| new(settings, mix(seed ^ mix(key ^ STREAM))))
    }
}

/// Distinguishes the random draws of this module from others about the same flow or switch.
const STREAM: u64 = 0x6261_6c61_6e63_6521;

/// Number in three bits of a packet by which switches handle it: 0 by its hash, or the number of a policy.
pub(crate) type Handling = u8;

/// The handling of a packet that has an entropy which switches ignore.
pub(crate) const ONE_PATH: Handling = 7;

const _: () = assert!(ALL.len() <= ONE_PATH as usize);

/// Returns the number that packets of flows with this policy carry.
pub(crate) fn handling(balancing: Balancing) -> Handling {
    let place = ALL.iter().position(|policy| *policy == balancing).unwrap_or(0);
    if balancing.per_hop().is_some() { place as Handling } else { 0 }
}

/// The policies of one switch that choose ports, each from its first packet on.
#[derive(Debug)]
pub(crate) struct Hops {
    settings: Settings,
    stream: u64,
    policies: Vec<Option<Box<dyn PerHop>>>,
}

impl Hops {
    pub(crate) fn new(settings: Settings, seed: u64, node: NodeId) -> Self {
        Self { settings, stream: mix(seed ^ mix(u64::from(node) ^ STREAM)), policies: Vec::new() }
    }

    /// The port for a packet whose handling is not 0; `None`: by its hash.
    pub(crate) fn choose(
        &mut self,
        now: u64,
        handling: Handling,
        packet: &Packet,
        group: &[PortId],
        ports: &[Egress],
    ) -> Option<PortId> {
        if group.len() < 2 {
            return None;
        }
        let place = usize::from(handling);
        let new = ALL.get(place)?.per_hop()?;
        if self.policies.len() <= place {
            self.policies.resize_with(place + 1, || None);
        }
        let policy = self.policies[place].get_or_insert_with(|| new(&self.settings, self.stream));
        policy.choose(now, packet, group, ports)
    }
}
