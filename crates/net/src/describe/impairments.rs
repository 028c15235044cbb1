//! Impairments: clocks that are not exact, links that corrupt packets, failures that are noticed late, and a base RTT
//! that is not the path's.

use core::fmt;

use incast_units::{Bytes, Rate, Time};

use super::named::named;
use super::network::NodeId;

/// A part of a whole, as an exact decimal number: in units of 10^-18, from -9.2 to 9.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(i64);

impl Share {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The whole.
    pub const ONE: Self = Self(1_000_000_000_000_000_000);

    /// Returns a share of this number of parts of 10^18.
    #[must_use]
    pub const fn of_attos(attos: i64) -> Self {
        Self(attos)
    }

    /// Returns its parts of 10^18.
    #[must_use]
    pub const fn attos(self) -> i64 {
        self.0
    }

    /// Returns this share of a signed number, rounded toward zero.
    #[must_use]
    pub const fn times(self, number: i64) -> i64 {
        (number as i128 * self.0 as i128 / Self::ONE.0 as i128) as i64
    }

    /// Returns a time that is longer by this share, or shorter by a negative one; at least nothing.
    #[must_use]
    pub fn added_to(self, time: Time) -> Time {
        let change = i128::from(time.ps()) * i128::from(self.0) / i128::from(Self::ONE.0);
        Time::from_ps((i128::from(time.ps()) + change).clamp(0, i128::from(u64::MAX)) as u64)
    }
}

/// The shortest text: a percentage where it has at most three decimals, or a number with an exponent.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PERMILLE_OF_PERCENT: i64 = 10_000_000_000_000;
        let sign = if self.0 < 0 { "-" } else { "" };
        let mut digits = self.0.unsigned_abs();
        if self.0 % PERMILLE_OF_PERCENT == 0 {
            let percent = format!("{:03}", digits / PERMILLE_OF_PERCENT as u64);
            let (whole, part) = percent.split_at(percent.len().saturating_sub(3));
            let (whole, part) = (if whole.is_empty() { "0" } else { whole }, part.trim_end_matches('0'));
            let point = if part.is_empty() { "" } else { "." };
            return write!(f, "{sign}{whole}{point}{part}%");
        }
        let mut exponent = -18;
        while digits.is_multiple_of(10) {
            digits /= 10;
            exponent += 1;
        }
        write!(f, "{sign}{digits}e{exponent}")
    }
}

named! {
    /// Distribution of the errors of time stamps.
    pub enum NoiseKind {
        "exponential" => Exponential: "exponential, never below zero; the amount is its mean",
        "uniform" => Uniform: "uniform from zero to twice the amount, which is its mean",
        "normal" => Normal: "normal around zero; the amount is its standard deviation",
    }
}

/// Probability of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorRate {
    /// Of each bit of a packet.
    Bit(Share),
    /// Of each packet, whatever its size.
    Packet(Share),
}

impl ErrorRate {
    /// Returns the probability that a packet of `size` bytes is corrupted, in units of 2^-64.
    #[must_use]
    pub fn of_packet(self, size: u64) -> u64 {
        match self {
            Self::Packet(share) => probability(share),
            Self::Bit(share) => any_of(probability(share), 8 * size),
        }
    }

    /// Returns the least mean length of bursts, in units of 2^-32 packets, with which packets of `size` bytes are corrupted
    /// as often as this says: p / (1 - p), with which every good packet is followed by a burst. `None`: there is none.
    #[must_use]
    pub fn least_burst(self, size: u64) -> Option<u64> {
        let p = self.of_packet(size);
        u64::try_from((u128::from(p) << 32) / u128::from(p.wrapping_neg()).max(1)).ok()
    }
}

/// Returns a probability in units of 2^-64, to the nearest; at most 1 - 2^-64.
pub(crate) fn probability(share: Share) -> u64 {
    let (attos, whole) = (share.attos().max(0) as u128, Share::ONE.attos() as u128);
    u64::try_from(((attos << 64) + whole / 2) / whole).unwrap_or(u64::MAX)
}

/// Returns 1 - (1 - p)^bits, with p and the result in units of 2^-64, to 2 units for each bit.
pub(crate) fn any_of(p: u64, mut bits: u64) -> u64 {
    if p == 0 || bits == 0 {
        return 0;
    }
    // The power of a number below 1, by squaring; each product is rounded down.
    let times = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    let mut square = p.wrapping_neg();
    let mut power: Option<u64> = None;
    while bits > 0 {
        if bits & 1 == 1 {
            power = Some(power.map_or(square, |power| times(power, square)));
        }
        square = times(square, square);
        bits >>= 1;
    }
    // 2^-64 less than the whole at most.
    (!power.unwrap_or(0)).saturating_add(1)
}

/// The errors of a link, in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkErrors {
    /// The link, an index into [`Network::links`](super::network::Network::links).
    pub link: u32,
    /// Their probability.
    pub rate: ErrorRate,
    /// Mean number of packets that are corrupted one after another, in units of 2^-32; `None`: errors are independent.
    pub burst: Option<u64>,
}

/// A host that takes packets slower than its links bring them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// The host.
    pub host: NodeId,
    /// Rate at which each of its network cards hands packets on, one after the other.
    pub rate: Rate,
    /// Buffer of each card for packets that have arrived and are not handed on.
    pub buffer: Bytes,
}

/// The departures of a simulation from the ideal; by default none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impairments {
    /// Amount of the errors of the time stamps of data packets: each is stamped this much, at random, before its first
    /// bit leaves.
    pub timestamp_noise: Time,
    /// Their distribution.
    pub timestamp_noise_kind: NoiseKind,
    /// The clock of each host is wrong by a time from minus this to this.
    pub clock_offset: Time,
    /// The clock of each host is fast by a share from minus this to this.
    pub clock_drift: Share,
    /// The base RTT that algorithms are given is longer than the true one by this share.
    pub base_rtt_error: Share,
    /// Links that corrupt packets, at most one entry for each.
    pub errors: Vec<LinkErrors>,
    /// Hosts that take packets slowly, at most one entry for each.
    pub receivers: Vec<Receiver>,
}

impl Impairments {
    /// Whether time stamps of hosts differ from the true times.
    #[must_use]
    pub fn has_inexact_stamps(&self) -> bool {
        let Self { timestamp_noise, clock_offset, clock_drift, .. } = self;
        (*timestamp_noise, *clock_offset, *clock_drift) != (Time::ZERO, Time::ZERO, Share::ZERO)
    }

    /// Returns the way in which a host takes packets, if that is slow.
    #[must_use]
    pub fn receiver(&self, host: NodeId) -> Option<&Receiver> {
        self.receivers.iter().find(|receiver| receiver.host == host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact() {
        // By hand: a fifth less than 12.17888 us is 9.743104 us; 100 ppm more than 12 us is 12.0012 us.
        let less = Share::of_attos(-200_000_000_000_000_000);
        assert_eq!(less.added_to(Time::from_ps(12_178_880)), Time::from_ps(9_743_104));
        let ppm = Share::of_attos(100_000_000_000_000);
        assert_eq!(ppm.added_to(Time::from_us(12)), Time::from_ps(12_001_200));
        assert_eq!(Share::of_attos(-2 * Share::ONE.attos()).added_to(Time::from_us(1)), Time::ZERO);
        assert_eq!(less.times(-10), 2);
    }

    #[test]
    fn shares_are_written_as_short_as_possible() {
        let text = |attos| Share::of_attos(attos).to_string();
        assert_eq!(text(-200_000_000_000_000_000), "-20%");
        assert_eq!(text(100_000_000_000_000), "0.01%");
        assert_eq!(text(12_340_000_000_000_000), "1.234%");
        assert_eq!(text(1_000_000_000), "1e-9");
        assert_eq!(text(-25), "-25e-18");
        assert_eq!(text(0), "0%");
    }
}
