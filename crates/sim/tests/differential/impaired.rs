//! Impairments of a random case.

use incast_sim::Simulation;
use incast_sim::describe::Named;
use incast_sim::describe::impairments::{ErrorRate, Impairments, LinkErrors, NoiseKind, Receiver, Share};
use incast_sim::describe::network::{Detection, Link};
use incast_units::{Bytes, Rate, Time};
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
    /// Slow receivers: the host, tenths of Gbps, and the bytes of its buffer beside the headroom.
    receivers: Vec<(u32, u64, u64)>,
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
        let packet = Bytes::new(9_000);
        let mut receivers: Vec<Receiver> = Vec::new();
        for (host, rate, buffer) in &self.receivers {
            let host = host % sim.network.hosts;
            let links = sim.network.links.iter().filter(|link| [link.a.0, link.b.0].contains(&host));
            let queues = u64::from(sim.switch.lossless().len());
            // Links may become faster and longer.
            let headroom = |link: &Link| {
                sim.switch.headroom(link.rate.times_ratio(4, 1), link.delay.times(4), packet).get() * queues
            };
            let buffer = Bytes::new(links.map(headroom).max().unwrap_or(0) + 9_000 + buffer);
            if receivers.iter().all(|other| other.host != host) {
                receivers.push(Receiver { host, rate: Rate::from_mbps(rate * 100), buffer });
            }
        }
        sim.impairments = Impairments {
            receivers,
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
        let receivers = vec((0..256_u32, 20..1_500_u64, 0..200_000_u64), 0..3);
        let clocks = (0..5_000_u64, 0..1_000_i64, -50..50_i64);
        (vec(errors, 0..4), 0..2_000_u64, kind, clocks, detection, receivers).prop_map(
            |(errors, noise_ns, kind, (offset_ns, drift_ppm, percent), detection_ns, receivers)| Self {
                errors,
                noise_ns,
                kind,
                offset_ns,
                drift_ppm,
                percent,
                detection_ns,
                receivers,
            },
        )
    }
}
