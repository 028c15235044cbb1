//! The signals that an algorithm can need from the network.

/// The set of signals that an algorithm needs from the network beyond send and receive times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Signals(u32);

/// Declares the signals: each a constant, its bit, and its name in lists and messages.
macro_rules! signals {
    ($($(#[$doc:meta])* $constant:ident = $bit:literal, $name:literal;)+) => {
        impl Signals {
            $($(#[$doc])* pub const $constant: Self = Self($bit);)+

            /// Every signal with its name, in the order of the bits.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$constant, $name),)+];
        }
    };
}

signals! {
    /// ECN marks.
    ECN = 1, "ecn";
    /// In-band telemetry, one [`IntHop`](crate::IntHop) per switch port.
    INT = 2, "int";
    /// Congestion notification packets from the receiver ([`CongestionControl::on_cnp`](crate::CongestionControl::on_cnp)).
    CNP = 4, "cnp";
    /// The largest per-hop queueing delay.
    HOP_DELAY = 8, "hop_delay";
    /// Clocks of sender and receiver that agree, for one-way delay.
    ONE_WAY_DELAY = 16, "one_way_delay";
    /// The number of flows at the receiver.
    RECEIVER_FLOWS = 32, "receiver_flows";
    /// A word of the algorithm, stored with each packet ([`CongestionControl::tag`](crate::CongestionControl::tag)).
    PACKET_TAG = 64, "packet_tag";
    /// Whether there is, or soon will be, a circuit to the receiver's rack.
    CIRCUIT = 128, "circuit";
    /// The longest run of delayed packets, from selective acknowledgements.
    DELAYED_RUN = 256, "delayed_run";
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
        Self::ALL.iter().filter(move |(signal, _)| self.contains(*signal)).map(|(_, name)| *name)
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
