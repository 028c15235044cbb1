//! Long seeded sequences of acknowledgements, as a flow through one queue with others would see
//! them, for tests that compare an algorithm with its twin.
//!
//! They do not depend on the algorithm (open loop), so both sides see the same inputs whatever they
//! answer.
#![allow(dead_code, reason = "each test uses its part")]

use incast_cc::{Ack, Path};
use incast_units::{Bytes, Rate, Time};

/// A linear congruential generator: the same signals everywhere.
pub(crate) struct Random(u64);

impl Random {
    /// A generator of its own sequence.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number from 0 to `n − 1`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A path of four links at this rate, with a base RTT of 20 us.
pub(crate) fn path(gbps: u64) -> Path {
    Path {
        base_rtt: Time::from_us(20),
        base_owd: Time::from_us(11),
        line_rate: Rate::from_gbps(gbps),
        packet: Bytes::new(1054),
        payload: Bytes::new(1000),
        hops: 4,
    }
}

/// `count` acknowledgements of a flow on `path`, of a queue of up to `deepest`.
///
/// Own rate and the others' change at random; the queue integrates their sum. Some packets follow an idle
/// time, some acknowledgements cover several packets, the way back has small queues too. Acknowledgements
/// arrive in the order of their packets.
pub(crate) fn acks(seed: u64, path: &Path, deepest: Time, count: usize) -> Vec<Ack> {
    let mut random = Random::new(seed);
    let (line_ps, deepest) = (path.line_rate.time_for(path.packet).ps(), deepest.ps());
    let (mut sent, mut queue, mut now) = (Time::from_us(50), 0_u64, Time::ZERO);
    let (mut gap, mut others) = (line_ps, 0);
    let mut sequence = 0;
    let mut acks = Vec::with_capacity(count);
    for _ in 0..count {
        if random.below(200) == 0 {
            // Between line rate and 1/50 of it.
            gap = line_ps * (100 + random.below(5_000)) / 100;
        }
        if random.below(100) == 0 {
            // The others take from none to ten times the line.
            others = random.below(3) * random.below(500);
        }
        let idle = random.below(2_000) == 0;
        let wait =
            if idle { path.base_rtt.ps() * (1 + random.below(8)) } else { gap + random.below(gap) / 8 };
        sent += Time::from_ps(wait);
        queue = (queue + line_ps + wait * others / 100).saturating_sub(wait).min(deepest);
        let noise = random.below(20_000);
        let owd = path.base_owd + Time::from_ps(queue + noise);
        let received = sent + owd;
        let back = (path.base_rtt - path.base_owd) + Time::from_ps(random.below(200_000));
        now = now.max(received + back);
        let packets = if random.below(10) == 0 { 1 + random.below(4) } else { 1 };
        sequence += packets * path.payload.get();
        let rtt = now - sent;
        let flying = path.packet.get() * (1 + rtt.ps() / gap);
        acks.push(Ack {
            now,
            sent,
            received,
            acked: path.packet.times(packets),
            sequence,
            next_sequence: sequence + flying,
            inflight: Bytes::new(flying - random.below(path.packet.get())),
            inflight_now: Bytes::new(flying),
            packets: packets as u32,
            hop_delay: Time::from_ps(queue),
            ..Ack::BLANK
        });
    }
    acks
}
