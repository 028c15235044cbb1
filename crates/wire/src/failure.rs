//! Reasons for which a message did not arrive.

use std::fmt;
use std::io;

use incast_units::{Bytes, Time};

use crate::format::{End, VERSION};

/// Reason for which a message did not arrive.
#[derive(Debug)]
pub enum Failure {
    /// The other side says so.
    Told(End),
    /// The other side speaks another version of the format.
    Version(u8),
    /// Nothing was heard for this long; whether anything had been heard before.
    Silence {
        /// Time waited.
        after: Time,
        /// Whether the other side had answered before.
        heard: bool,
    },
    /// The message cannot be read, written or sent.
    Io(io::Error),
    /// The checksum of the received bytes differs from the sender's.
    Damaged,
    /// The clocks of the two sides do not agree, and the algorithm needs one-way delays.
    Clocks,
    /// The sender's packets are larger than those that can arrive here.
    Large {
        /// Bytes of the message in one of them.
        payload: Bytes,
        /// The most that can be.
        largest: Bytes,
    },
    /// It was stopped on this side.
    Stopped,
}

impl Failure {
    /// Returns the end to report to the other side; `None` if no one is there to receive it.
    pub(crate) const fn end(&self) -> Option<End> {
        match self {
            Self::Told(_) | Self::Version(_) | Self::Silence { heard: false, .. } => None,
            Self::Silence { heard: true, .. } => Some(End::Silence),
            Self::Io(_) | Self::Clocks | Self::Large { .. } => Some(End::Failed),
            Self::Damaged => Some(End::Damaged),
            Self::Stopped => Some(End::Stopped),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Told(End::Busy) => f.write_str("the other side is receiving another message"),
            Self::Told(End::Stopped) => f.write_str("the other side was stopped"),
            Self::Told(End::Failed) => f.write_str("the other side failed; its own message says why"),
            Self::Told(End::Silence) => f.write_str("the other side heard nothing for too long"),
            Self::Told(End::Damaged) | Self::Damaged => f.write_str(
                "the received data differs from the sent data: the checksums of the message differ \
                 (did the file change during the transfer?)",
            ),
            Self::Told(End::Done) => f.write_str("the other side ended the message before it was complete"),
            Self::Told(End::Version) => write!(f, "the other side does not speak version {VERSION} of the format"),
            Self::Version(other) => write!(
                f,
                "the other side speaks version {other} of the format, this one version {VERSION}: \
                 use the same version of Incast on both sides"
            ),
            Self::Silence { after, heard: false } => write!(f, "no answer within {after}"),
            Self::Silence { after, heard: true } => write!(f, "nothing was heard from the other side for {after}"),
            Self::Io(error) => error.fmt(f),
            Self::Clocks => f.write_str(
                "the clocks of the two sides differ by more than a round trip, and this algorithm needs one-way delays: \
                 synchronise them, or take a preset with round-trip times",
            ),
            Self::Large { payload, largest } => write!(
                f,
                "packets of the sender carry {payload} of the message, and here at most {largest} can arrive in one: \
                 choose smaller packets there"
            ),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for Failure {}
