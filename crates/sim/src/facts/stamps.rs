//! Time stamps that are not exact: errors of each stamp, and clocks of hosts with an offset and a drift.
//!
//! The clock of a host at time t shows t + offset + drift · t. Algorithms are given times as the sender's clock has
//! them, less what that clock is wrong by now: so `now` is exact, and times of the sender differ from it by what its
//! clock measures.

use incast_net::describe::Simulation;
use incast_net::describe::impairments::{Impairments, NoiseKind, Share};
use incast_net::describe::network::NodeId;
use incast_net::random::{draw, minus_ln, mix, normal};
use incast_units::Time;

/// Number in the streams of errors of stamps.
const OF_STAMPS: u64 = 0x7374_616d_7065_7272;
/// Number in the streams of clocks of hosts.
const OF_CLOCKS: u64 = 0x686f_7374_636c_6f63;

/// The times of an acknowledgement. (ps)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) held: u64,
}

/// The clock of a host.
#[derive(Clone, Copy, Debug, Default)]
struct HostClock {
    /// Wrong by this at the beginning. (ps)
    offset: i64,
    /// Fast by this.
    drift: Share,
}

impl HostClock {
    fn new(seed: u64, host: NodeId, offset: Time, drift: Share) -> Self {
        let stream = mix(mix(seed) ^ mix(u64::from(host) ^ OF_CLOCKS));
        // Uniform from -1 to 1, in units of 2^-63.
        let part =
            |item, most: i64| ((i128::from(draw(stream, item) as i64) * i128::from(most)) >> 63) as i64;
        let offset = part(0, i64::try_from(offset.ps()).unwrap_or(i64::MAX));
        Self { offset, drift: Share::of_attos(part(1, drift.attos())) }
    }

    /// Returns by how much it is fast at `time`. (ps)
    fn error(&self, time: u64) -> i64 {
        self.offset.saturating_add(self.drift.times(time as i64))
    }
}

/// The clocks of the hosts and the errors of their stamps.
#[derive(Debug)]
pub(crate) struct Stamps {
    noise: u64,
    kind: NoiseKind,
    seed: u64,
    clocks: Vec<HostClock>,
}

impl Stamps {
    /// Returns the stamps of a description; `None` if all are exact.
    pub(super) fn new(simulation: &Simulation) -> Option<Box<Self>> {
        let Impairments { timestamp_noise, timestamp_noise_kind: kind, clock_offset, clock_drift, .. } =
            simulation.impairments;
        let seed = simulation.seed;
        let clock = |host| HostClock::new(seed, host, clock_offset, clock_drift);
        simulation.impairments.has_inexact_stamps().then(|| {
            let clocks = (0..simulation.network.hosts).map(clock).collect();
            Box::new(Self { noise: timestamp_noise.ps(), kind, seed, clocks })
        })
    }

    /// Returns how long before the packet that a flow sent at `sent` its stamp was made. (ps)
    fn error(&self, key: u64, sent: u64) -> i64 {
        if self.noise == 0 {
            return 0;
        }
        let stream = mix(mix(self.seed) ^ mix(key ^ OF_STAMPS));
        let first = draw(stream, sent);
        let (noise, first_u) = (u128::from(self.noise), u128::from(first));
        match self.kind {
            NoiseKind::Exponential => ((noise * u128::from(minus_ln(first.max(1)))) >> 40) as i64,
            NoiseKind::Uniform => ((2 * noise * first_u) >> 64) as i64,
            NoiseKind::Normal => {
                let mut state = first;
                let z = normal(|| {
                    state = mix(state);
                    state
                });
                ((i128::from(z) * noise as i128) >> 32) as i64
            }
        }
    }

    /// Returns the times of an acknowledgement that arrives at `now` as the hosts measure them, in terms of the
    /// sender's clock, which is right at `now`. The flow has this key and goes from one host to another. (ps)
    #[cold]
    #[inline(never)]
    pub(crate) fn measured(&self, now: u64, key: u64, ends: (NodeId, NodeId), exact: Times) -> Times {
        let [sender, receiver] = [ends.0, ends.1].map(|host| self.clocks[host as usize]);
        let stamped = sender.error(exact.sent) - self.error(key, exact.sent);
        let (here, there) = (sender.error(now), receiver.error(exact.received));
        Times {
            sent: exact.sent.saturating_add_signed(stamped - here).min(now),
            received: exact.received.saturating_add_signed(there - here),
            held: exact.held.saturating_add_signed(receiver.drift.times(exact.held as i64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: Times = Times { sent: 1_000_000_000, received: 1_006_000_000, held: 500_000 };
    const NOW: u64 = 1_012_500_000;

    fn stamps(noise: u64, kind: NoiseKind, clocks: [HostClock; 2]) -> Stamps {
        Stamps { noise, kind, seed: 1, clocks: clocks.to_vec() }
    }

    fn ppm(ppm: i64) -> Share {
        Share::of_attos(ppm * 1_000_000_000_000)
    }

    #[test]
    fn clocks_by_hand() {
        // The sender's clock is 2 us fast at first and gains 100 ppm, the receiver's 3 us slow and loses 50 ppm. The
        // round trip of 12.5 us seems 1250 ps longer. The sender's clock at 1012.5 us is 2 us and 101,250 ps fast, the
        // receiver's at 1006 us 3 us and 50,300 ps slow: the arrival seems 5 us and 151,550 ps earlier. The receiver
        // measures 500 ns as 499,975 ps.
        let fast = HostClock { offset: 2_000_000, drift: ppm(100) };
        let slow = HostClock { offset: -3_000_000, drift: ppm(-50) };
        let stamps = stamps(0, NoiseKind::Exponential, [fast, slow]);
        let expected =
            Times { sent: 1_000_000_000 - 1250, received: 1_006_000_000 - 5_151_550, held: 499_975 };
        assert_eq!(stamps.measured(NOW, 7, (0, 1), EXACT), expected);
        // A clock alone cannot be wrong in a round trip without drift.
        let still = |offset| HostClock { offset, drift: Share::ZERO };
        let both = Stamps { clocks: vec![still(2_000_000), still(-3_000_000)], ..stamps };
        let expected = Times { received: EXACT.received - 5_000_000, ..EXACT };
        assert_eq!(both.measured(NOW, 7, (0, 1), EXACT), expected);
    }

    #[test]
    fn clocks_are_uniform_within_their_bounds() {
        // The mean of 4000 uniform numbers from -1 to 1 has a standard deviation of 1 / sqrt(12000) = 0.0091, their
        // mean square 1/3 one of sqrt(4 / 45 / 4000) = 0.0047; five of them.
        let clock = |host| HostClock::new(3, host, Time::from_us(5), ppm(100));
        let clocks: Vec<HostClock> = (0..4000).map(clock).collect();
        let offsets = clocks.iter().map(|clock| clock.offset as f64 / 5e6);
        let drifts = clocks.iter().map(|clock| clock.drift.attos() as f64 / 1e14);
        for values in [offsets.collect::<Vec<_>>(), drifts.collect()] {
            assert!(values.iter().all(|value| value.abs() <= 1.0));
            let mean = values.iter().sum::<f64>() / 4000.0;
            let squares = values.iter().map(|value| value * value).sum::<f64>() / 4000.0;
            assert!(mean.abs() < 0.046 && (squares - 1.0 / 3.0).abs() < 0.024, "{mean} {squares}");
        }
    }

    #[test]
    fn errors_of_stamps_have_their_distributions() {
        let n = 100_000;
        // Mean and standard deviation in units of the amount.
        for (kind, mean, deviation) in [
            (NoiseKind::Exponential, 1.0, 1.0),
            (NoiseKind::Uniform, 1.0, (1.0_f64 / 3.0).sqrt()),
            (NoiseKind::Normal, 0.0, 1.0),
        ] {
            let stamps = stamps(300_000, kind, [HostClock::default(); 2]);
            let error = |i: u64| {
                let at = 1_000_000_000 + i * 84_320;
                let times = Times { sent: at, ..EXACT };
                let measured = stamps.measured(at + 12_000_000, 9, (0, 1), times).sent;
                (at as f64 - measured as f64) / 300_000.0
            };
            let errors: Vec<f64> = (0..n).map(error).collect();
            let found = errors.iter().sum::<f64>() / n as f64;
            // Five standard errors.
            assert!((found - mean).abs() < 5.0 * deviation / (n as f64).sqrt(), "{kind:?}: {found}");
            let squares = errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / n as f64;
            assert!((squares / (deviation * deviation) - 1.0).abs() < 0.05, "{kind:?}: {squares}");
            if kind != NoiseKind::Normal {
                assert!(errors.iter().all(|error| *error >= 0.0));
            }
            // Each packet has its own stamp, whatever is asked how often.
            assert_ne!(error(1), error(2));
            assert_eq!(error(1), error(1));
        }
    }
}
