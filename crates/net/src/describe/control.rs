//! Congestion control without an algorithm at the sender: by receivers or by the network.

/// Controller of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// The receivers, who ask for packets.
    Receivers,
    /// The switches.
    Network,
}

impl Controller {
    /// Both, in the order of lists.
    pub const ALL: [Self; 2] = [Self::Receivers, Self::Network];

    /// Its name in lists.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receivers => "receiver-driven",
            Self::Network => "in-network",
        }
    }

    /// Returns its kind and the signals it decides by, in a few words.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Receivers => "receivers ask for packets; no algorithm at the sender",
            Self::Network => "switches pause senders; beside any algorithm at the sender",
        }
    }
}

/// A transport or a network that controls congestion without an algorithm at the sender, as lists describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnControl {
    /// Its name in text and pictures.
    pub title: &'static str,
    /// Controller of congestion.
    pub controller: Controller,
    /// One line: what it needs from hosts and switches, and since when equipment has it.
    pub needs: &'static str,
}
