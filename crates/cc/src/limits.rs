//! Limits that several algorithms share: the window beside a rate, the time of its moves, the smallest share of the
//! line, and TCP's ssthresh after a timeout.

use incast_units::{Bytes, Rate};

use crate::Fixed;
use crate::contract::{Loss, Path};
use crate::params::choice;

choice! {
    /// Limit of the bytes in flight in an algorithm that controls a rate.
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

choice! {
    /// Time at which the window moves.
    Update {
        /// Once per round trip.
        Rtt = "rtt",
        /// With every acknowledgement, from a reference that is renewed once per round trip.
        Ack = "ack",
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

/// The parameters of [`least_share`] for an algorithm with a window and a rate, each with the class and the source of
/// its default.
macro_rules! floor_param {
    (floor, $evidence:ident, $source:expr) => {
        $crate::params::param!(
            Ratio "floor",
            floor,
            $crate::Fixed::ZERO,
            $crate::Fixed::ONE,
            "smallest window and rate as a fraction of base BDP and line rate, to which floor_rate is added",
            $evidence,
            $source
        )
    };
    (floor_rate, $evidence:ident, $source:expr) => {
        $crate::params::param!(
            Rate "floor_rate",
            floor_rate,
            incast_units::Rate::ZERO,
            incast_units::Rate::from_gbps(100),
            "added to the smallest rate, and its share of the line rate to the smallest window",
            $evidence,
            $source
        )
    };
}
pub(crate) use floor_param;

/// ssthresh after a timeout: half of what is in flight, at least two packets (RFC 5681, Equation 4). In bytes on the
/// wire, as windows are.
pub(crate) fn ssthresh_after_timeout(loss: &Loss, path: &Path) -> Fixed {
    let flight = Bytes::new(loss.next_sequence.saturating_sub(loss.sequence));
    let flight = flight.times_ratio(path.packet.get(), path.payload.get());
    (Fixed::whole(flight.get()) * Fixed::ratio(1, 2)).max(Fixed::whole(path.packet.get()) * Fixed::whole(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PATH, close};

    #[test]
    fn a_window_beside_a_rate_holds_at_least_a_byte() {
        let quarter = Fixed::ratio(1, 4);
        for (rule, bdp, window) in [
            (RateWindow::None, 150_000, u64::MAX),
            (RateWindow::Bdp, 150_000, 150_000),
            (RateWindow::Bdp, 0, 1),
            (RateWindow::Rate, 150_000, 37_500),
            (RateWindow::Rate, 3, 1),
        ] {
            assert_eq!(rule.window(Bytes::new(bdp), quarter), Bytes::new(window), "{rule:?} {bdp}");
        }
    }

    #[test]
    fn the_least_share_is_the_sum_of_both_parts_and_at_most_the_line() {
        // 0.001 of the line and 500 Mbps of its 100 Gbps.
        close(least_share(Fixed::ratio(1, 1000), Rate::from_mbps(500), &PATH), 0.006);
        assert_eq!(least_share(Fixed::ratio(1, 2), Rate::from_gbps(51), &PATH), Fixed::ONE);
    }
}
