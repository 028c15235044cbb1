//! Impairments of a random case.

use incast_sim::Simulation;
use incast_sim::describe::Named;
use incast_sim::describe::impairments::{ErrorRate, Impairments, LinkErrors, NoiseKind, Share};
use incast_sim::describe::network::Detection;
use incast_units::Time;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// Impairments, drawn at random.
#[derive(Clone, Debug)]
pub(crate) struct Impaired {
    /// Links with errors: the link, thousandths of the packets or millionths of the bits, and the mean length of bursts.
    errors: Vec<(u32, bool, i64, Option<u64>)>,
    noise_ns: u64,
    kind: NoiseKind,
    offset_ns: u64,
    drift_ppm: i64,
    percent: i64,
    detection_ns: (u64, u64),
}

impl Impaired {
    pub(crate) fn apply(&self, sim: &mut Simulation) {
        let links = sim.network.links.len() as u32;
        let mut errors: Vec<LinkErrors> = Vec::new();
        for (link, by_bits, rate, burst) in &self.errors {
            let rate = match by_bits {
                true => ErrorRate::Bit(Share::of_attos(rate * 1_000_000_000_000)),
                false => ErrorRate::Packet(Share::of_attos(rate * 1_000_000_000_000_000)),
            };
            errors.push(LinkErrors { link: link % links, rate, burst: burst.map(|burst| burst << 32) });
        }
        sim.impairments = Impairments {
            timestamp_noise: Time::from_ns(self.noise_ns),
            timestamp_noise_kind: self.kind,
            clock_offset: Time::from_ns(self.offset_ns),
            clock_drift: Share::of_attos(self.drift_ppm * 1_000_000_000_000),
            base_rtt_error: Share::of_attos(self.percent * 10_000_000_000_000_000),
            errors,
        };
        let (switches, hosts) = self.detection_ns;
        sim.network.detection = Detection { switches: Time::from_ns(switches), hosts: Time::from_ns(hosts) };
    }

    pub(crate) fn draw() -> impl Strategy<Value = Self> {
        let errors = (0..256_u32, any::<bool>(), 0..40_i64, option::of(1..6_u64));
        let kind = select(NoiseKind::ALL.iter().map(|(kind, ..)| *kind).collect::<Vec<_>>());
        let detection = prop_oneof![Just((0, 0)), (0..30_000_u64, 0..30_000_u64)];
        (vec(errors, 0..4), 0..2_000_u64, kind, 0..5_000_u64, 0..1_000_i64, -50..50_i64, detection).prop_map(
            |(errors, noise_ns, kind, offset_ns, drift_ppm, percent, detection_ns)| Self {
                errors,
                noise_ns,
                kind,
                offset_ns,
                drift_ppm,
                percent,
                detection_ns,
            },
        )
    }
}
