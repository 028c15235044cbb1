//! Limits that several algorithms share: the window beside a rate, and the smallest share of the line.

use incast_units::{Bytes, Rate};

use crate::Fixed;
use crate::contract::Path;
use crate::params::choice;

choice! {
    /// How an algorithm that controls a rate limits the bytes in flight.
    RateWindow {
        /// Not at all, as published.
        None = "none",
        /// To one base BDP.
        Bdp = "bdp",
        /// To the base BDP in proportion to the rate: BDP · rate / line rate (HPCC's public artifact,
        /// VAR_WIN).
        Rate = "rate",
    }
}

impl RateWindow {
    /// The window at a rate of `share` of the line's, with a base BDP of `bdp`.
    pub(crate) fn window(self, bdp: Bytes, share: Fixed) -> Bytes {
        match self {
            Self::None => Bytes::UNLIMITED,
            Self::Bdp => bdp.max(Bytes::new(1)),
            Self::Rate => Bytes::new(share.scale(bdp.get())).max(Bytes::new(1)),
        }
    }
}

/// The smallest share of the line that two parameters admit, one of them a share and one a rate: their
/// sum, at most the line.
pub(crate) fn least_share(share: Fixed, rate: Rate, path: &Path) -> Fixed {
    (share + Fixed::ratio(rate.bps(), path.line_rate.bps())).min(Fixed::ONE)
}
