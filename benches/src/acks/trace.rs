//! A long, varied sequence of acknowledgements for a flow across five switch ports, the same in every run.
//!
//! It does not depend on the algorithm, so that all see the same signals. Each port serves a load that changes
//! at random; its queue integrates the difference, and the delay is the sum of the queues that the packet met.

use incast_cc::{Ack, IntHop, IntStack, Path};
use incast_units::{Bytes, Rate, Time};

/// A path of OSCAR's fat-tree: hosts at 100 Gbps, switches at 400 Gbps, six links.
pub(crate) const PATH: Path = Path {
    base_rtt: Time::from_us(12),
    base_owd: Time::from_us(6),
    line_rate: Rate::from_gbps(100),
    packet: Bytes::new(1000),
    payload: Bytes::new(900),
    hops: 6,
};

/// The rates of the five switch ports.
const PORTS: [Rate; 5] = [
    Rate::from_gbps(400),
    Rate::from_gbps(400),
    Rate::from_gbps(400),
    Rate::from_gbps(400),
    Rate::from_gbps(100),
];
/// From one port to the next, and from the last to the receiver.
const LINK: Time = Time::from_us(1);
/// The largest queue of a port, and the one from which packets are marked.
const DEEPEST: Bytes = Bytes::new(600_000);
const MARKED: Bytes = Bytes::new(100_000);

/// Signal that arrives at the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal {
    pub(crate) ack: Ack,
    pub(crate) int: IntStack,
}

/// A linear congruential generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A port as the flow's packets find it.
#[derive(Clone, Copy)]
struct Port {
    /// Arriving traffic, in percent of its rate.
    load: u64,
    /// Record that it wrote into the last packet.
    last: IntHop,
}

impl Port {
    /// A packet reaches the port; returns when its first bit leaves.
    fn pass(&mut self, at: Time, packet: Bytes) -> Time {
        let IntHop { at: before, queue, transmitted, rate } = self.last;
        let leaves = (at + rate.time_for(queue)).max(before + rate.time_for(packet));
        let capacity = rate.bytes_in(leaves - before);
        let offered = queue + capacity.times_ratio(self.load, 100) + packet;
        let served = offered.min(capacity);
        let queue = (offered - served).min(DEEPEST);
        self.last = IntHop { at: leaves, queue, transmitted: transmitted + served, rate };
        leaves
    }
}

/// `count` acknowledgements in the order of their packets.
pub(crate) fn signals(count: usize) -> Vec<Signal> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut ports = PORTS.map(|rate| Port { load: 30, last: IntHop { rate, ..IntHop::default() } });
    let line_ps = PATH.line_rate.time_for(PATH.packet).ps();
    let (mut sent, mut now, mut gap, mut sequence) = (Time::from_us(50), Time::ZERO, line_ps, 0);
    let (mut circuit, mut receiver_flows) = (false, 1);
    let mut signals = Vec::with_capacity(count);
    for _ in 0..count {
        if random.below(300) == 0 {
            // Between the line rate and an eighth of it.
            gap = line_ps * (100 + random.below(700)) / 100;
        }
        if random.below(60) == 0 {
            // Every second time at the last port, where flows meet: between three fifths and a third too much.
            let place = random.below(8).min(4) as usize;
            ports[place].load = if place == 4 { 60 + random.below(75) } else { 20 + random.below(110) };
            receiver_flows = 1 + random.below(16) as u32;
        }
        circuit ^= random.below(1000) == 0;
        let idle = random.below(3000) == 0;
        sent += Time::from_ps(if idle { PATH.base_rtt.ps() * 3 } else { gap + random.below(gap / 8) });

        let (mut at, mut longest, mut hop_delay) = (sent + LINK, Bytes::ZERO, Time::ZERO);
        for port in &mut ports {
            let leaves = port.pass(at, PATH.packet);
            hop_delay = hop_delay.max(leaves - at);
            longest = longest.max(port.last.queue);
            at = leaves + LINK;
        }
        let received = at;
        let back = (PATH.base_rtt - PATH.base_owd) + Time::from_ps(random.below(150_000));
        now = now.max(received + back);

        let duplicate = random.below(500) == 0;
        let packets = if random.below(12) == 0 { 1 + random.below(4) } else { 1 };
        sequence += if duplicate { 0 } else { packets * PATH.payload.get() };
        let flying = PATH.packet.get() * (1 + (now - sent).ps() / gap);
        let marked = longest > MARKED && longest.get() > random.below(DEEPEST.get());
        let ack = Ack {
            now,
            sent,
            received,
            acked: if duplicate { Bytes::ZERO } else { PATH.packet.times(packets) },
            packet: sequence,
            sequence,
            next_sequence: sequence + flying,
            inflight: Bytes::new(flying - random.below(PATH.packet.get())),
            inflight_now: Bytes::new(flying),
            packets: packets as u32,
            marked: u32::from(marked),
            hop_delay,
            receiver_flows,
            hole: duplicate,
            circuit,
            ..Ack::BLANK
        };
        signals.push(Signal { ack, int: IntStack { count: 5, hops: ports.map(|p| p.last) } });
    }
    signals
}
