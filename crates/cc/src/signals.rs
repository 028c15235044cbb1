//! The signals that an algorithm can need from the network.

/// The set of signals that an algorithm needs from the network beyond send and receive times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Signals(u32);

/// Declares the signals: each a constant, its bit, its name in lists and messages, and its words in the documentation.
macro_rules! signals {
    ($($(#[$doc:meta])* $constant:ident = $bit:literal, $name:literal, $words:literal;)+) => {
        impl Signals {
            $($(#[$doc])* pub const $constant: Self = Self($bit);)+

            /// Every signal with its name and its words, in the order of the bits.
            pub const ALL: &'static [(Self, &'static str, &'static str)] =
                &[$((Self::$constant, $name, $words),)+];
        }
    };
}

signals! {
    /// ECN marks.
    ECN = 1, "ecn", "ECN marks";
    /// In-band telemetry, one [`IntHop`](crate::IntHop) per switch port.
    INT = 2, "int", "in-band telemetry";
    /// Congestion notification packets from the receiver ([`CongestionControl::on_cnp`](crate::CongestionControl::on_cnp)).
    CNP = 4, "cnp", "congestion notifications";
    /// The largest per-hop queueing delay.
    HOP_DELAY = 8, "hop_delay", "largest delay of a hop";
    /// Clocks of sender and receiver that agree, for one-way delay.
    ONE_WAY_DELAY = 16, "one_way_delay", "one-way delay";
    /// The number of flows at the receiver.
    RECEIVER_FLOWS = 32, "receiver_flows", "flows at the receiver";
    /// A word of the algorithm, stored with each packet ([`CongestionControl::tag`](crate::CongestionControl::tag)).
    PACKET_TAG = 64, "packet_tag", "a word kept with each packet";
    /// Whether there is, or soon will be, a circuit to the receiver's rack.
    CIRCUIT = 128, "circuit", "circuit notifications";
    /// The longest run of delayed packets, from selective acknowledgements.
    DELAYED_RUN = 256, "delayed_run", "runs of delayed packets";
}

impl Signals {
    /// Nothing beyond times and counts.
    pub const NONE: Self = Self(0);

    /// The set as bits, one for each signal: the constants above, outside of Rust.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns the set of these bits; `None` if one of them is not the bit of a signal.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Option<Self> {
        if bits >> Self::ALL.len() == 0 { Some(Self(bits)) } else { None }
    }

    /// The names of the signals in this set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.members().map(|(_, name, _)| *name)
    }

    /// The signals in this set, in words.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        self.members().map(|(.., words)| *words)
    }

    fn members(self) -> impl Iterator<Item = &'static (Self, &'static str, &'static str)> {
        Self::ALL.iter().filter(move |(signal, ..)| self.contains(*signal))
    }

    /// Both sets together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every signal of `other` is in this set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
