//! The times between random arrivals.

use incast_cc::Fixed;
use incast_units::Time;

use super::stream::Stream;
use crate::grammar::section::choice;
use crate::problem::{Problem, fault};

/// The distribution of the gaps between arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gaps {
    /// A Poisson process.
    Exponential,
    /// The logarithm of a gap is normally distributed.
    Lognormal,
    /// All are equal to the mean.
    Constant,
}

choice! {
    Gaps {
        "exponential" => Exponential: "a Poisson process",
        "lognormal" => Lognormal: "the logarithm of a gap has a normal distribution: arrivals come in bursts (BFC artifact)",
        "constant" => Constant: "all gaps are equal to the mean",
    }
}

/// The `sigma` of log-normal gaps where it is not written, from BFC's public artifact.
const SIGMA: Fixed = Fixed::whole(2);

/// Largest `sigma`: the gaps' standard deviation is 3000 times their mean then.
pub(super) const MAX_SIGMA: Fixed = Fixed::whole(4);

impl Gaps {
    /// A `sigma` that nothing reads.
    pub(super) fn fault(self, sigma: Option<Fixed>) -> Option<Problem> {
        (self != Self::Lognormal && sigma.is_some())
            .then(|| fault("sigma", "has no effect without gaps = \"lognormal\"".to_owned()))
    }

    /// A gap with this mean, in 2^-32 ps; result in whole ps.
    pub(super) fn draw(self, mean: u128, sigma: Option<Fixed>, stream: &mut Stream) -> Time {
        match self {
            Self::Exponential => stream.exponential(mean),
            Self::Lognormal => stream.lognormal(mean, sigma.unwrap_or(SIGMA)),
            Self::Constant => Time::from_ps(u64::try_from(mean >> 32).unwrap_or(u64::MAX)),
        }
    }
}
