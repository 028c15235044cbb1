//! The network: a link each way with a rate, a delay, a queue and faults, and both ends driven by their deadlines.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use incast_cc::{AnyParams, Path};
use incast_units::{Bytes, Rate, Time};
use incast_wire::{Receiver, ReceiverConfig, Sender, SenderConfig};

/// Ethernet, IPv4 and UDP, with which the rate of the link is counted.
pub(crate) const BELOW: u64 = 66;

/// Random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Faults of the network. Shares are in percent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Faults {
    pub(crate) loss: u64,
    pub(crate) copies: u64,
    /// Packets that wait for up to `longest` (ns), and are overtaken.
    pub(crate) late: u64,
    pub(crate) longest: u64,
    /// Packets of which some bits change, or the end is missing.
    pub(crate) damage: u64,
    /// Packets after which some bytes arrive that nobody sent.
    pub(crate) noise: u64,
}

impl Faults {
    pub(crate) const NONE: Self = Self { loss: 0, copies: 0, late: 0, longest: 1, damage: 0, noise: 0 };
}

/// A message to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) params: AnyParams,
    pub(crate) path: Path,
    pub(crate) length: u64,
    pub(crate) receiver: ReceiverConfig,
    pub(crate) faults: Faults,
    /// Rate of the slow link on the forward path.
    pub(crate) rate: Rate,
    /// Packets that find more bytes before it are marked.
    pub(crate) mark_above: u64,
    /// Delay of each way. (ns)
    pub(crate) delays: [u64; 2],
    /// Time by which the receiver's clock is ahead. (ns)
    pub(crate) ahead: u64,
    pub(crate) seed: u64,
}

/// A path of 100 Mbps with this payload.
pub(crate) fn path(payload: u64) -> Path {
    Path {
        base_rtt: Time::from_us(400),
        base_owd: Time::from_us(200),
        line_rate: Rate::from_mbps(100),
        packet: Bytes::new(payload + 36 + BELOW),
        payload: Bytes::new(payload),
        hops: 2,
    }
}

/// Outcome of a run.
pub(crate) struct Done {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) sent: Vec<u8>,
    pub(crate) arrived: Vec<u8>,
    /// Times at which the receiver had everything, and at which both sides were done. (ns)
    pub(crate) complete: u64,
    pub(crate) over: u64,
    /// Longest time that a packet waited before the slow link. (ns)
    pub(crate) longest_wait: u64,
}

/// A packet in the network, with its time and a number that keeps packets of the same time in order.
type InFlight = Reverse<(u64, u64, usize, bool, Vec<u8>)>;

const START: u64 = 1_700_000_000_000_000_000;
/// Twenty minutes: 284 packets take ten at Swift's least window, one packet in 2 s, which is where it stays when the
/// receiver holds acknowledgements for longer than its target delay.
const LIMIT: u64 = 1_200_000_000_000;

/// Sends a message. Each side is called when a packet arrives and at its own deadline, and at no other time.
pub(crate) fn run(case: &Case) -> Done {
    let mut random = Random(case.seed);
    let sent: Vec<u8> = (0..case.length).map(|_| random.next() as u8).collect();
    let mut source = sent.as_slice();
    let mut arrived = Vec::new();
    let config = SenderConfig {
        params: case.params,
        path: case.path,
        connection: random.next(),
        length: case.length,
        patience: Time::from_s(100),
    };
    let mut sender = Sender::new(START, config).unwrap();
    let mut receiver = Receiver::new(START + case.ahead, case.receiver);
    let mut flight: BinaryHeap<InFlight> = BinaryHeap::new();
    let (mut now, mut order, mut free, mut longest_wait, mut complete) = (START, 0_u64, START, 0, 0);
    let mut out = Vec::new();
    loop {
        for side in 0..2 {
            loop {
                let any = match side {
                    0 => sender.poll_transmit(now, &mut source, &mut out),
                    _ => receiver.poll_transmit(now + case.ahead, &mut out),
                };
                if !any {
                    break;
                }
                let mut marked = false;
                let mut at = now + case.delays[side];
                if side == 0 {
                    // A queue without limit before the slow link.
                    let wait = free.saturating_sub(now);
                    marked = case.rate.bytes_in(Time::from_ns(wait)).get() > case.mark_above;
                    longest_wait = longest_wait.max(wait);
                    let takes = case.rate.time_for(Bytes::new(out.len() as u64 + BELOW)).ns();
                    free = now.max(free) + takes;
                    at += free - now;
                }
                let faults = &case.faults;
                let copies = 1 + usize::from(random.chance(faults.copies));
                for _ in 0..copies {
                    let mut bytes = out.clone();
                    if random.chance(faults.loss) {
                        continue;
                    }
                    if random.chance(faults.damage) {
                        damage(&mut bytes, &mut random);
                    }
                    let late = if random.chance(faults.late) { random.below(faults.longest) } else { 0 };
                    flight.push(Reverse((at + late, order, 1 - side, marked, bytes)));
                    order += 1;
                }
                if random.chance(faults.noise) {
                    let bytes = (0..random.below(80)).map(|_| random.next() as u8).collect();
                    flight.push(Reverse((at, order, 1 - side, marked, bytes)));
                    order += 1;
                }
            }
        }
        if complete == 0 && receiver.is_complete() {
            complete = now - START;
        }
        if sender.outcome().is_some() && receiver.outcome().is_some() {
            let over = now - START;
            return Done { sender, receiver, sent, arrived, complete, over, longest_wait };
        }
        let next = flight.peek().map_or(u64::MAX, |Reverse((at, ..))| *at);
        let due = sender.next_deadline().min(receiver.next_deadline().saturating_sub(case.ahead));
        now = now.max(next.min(due));
        assert!(now < START + LIMIT, "no end: {:?}, {receiver:?}", sender.state());
        if next <= due
            && let Some(Reverse((at, _, side, marked, bytes))) = flight.pop()
        {
            match side {
                0 => sender.on_packet(at, &bytes),
                _ => receiver.on_packet(at + case.ahead, marked, &bytes, &mut arrived),
            }
        }
    }
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    if random.chance(30) {
        bytes.truncate(random.below(bytes.len() as u64) as usize);
        return;
    }
    for _ in 0..=random.below(4) {
        let place = random.below(bytes.len() as u64) as usize;
        bytes[place] ^= 1 << random.below(8);
    }
}
