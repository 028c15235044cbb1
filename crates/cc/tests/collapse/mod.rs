//! One flow that is sprayed over n paths, of which one is slower: the set-up of the throughput-collapse theorems of
//! "Congestion Control for Spraying with Congested Paths" (Gerstein, Silberstein, Keslassy, 2026; section II-B,
//! Appendix A).
//!
//! Packet i takes path i mod n, or a random one; path 0 has the round trip T_l, the others T_s. There is no queue, and
//! nothing is lost. The receiver keeps every packet and acknowledges each; a packet that has not arrived while three
//! later ones have is sent again at once, on a short path, and reported to the algorithm as a hole; with lazy repair
//! it is not sent again before a smoothed round trip is over, and not reported before either.
//!
//! The closed forms hold under [`Scene::check`], and for a window that does not stall (the appendix says so): with
//! [`Sending::Rate`] the sender spreads a window of packets over T_s, whatever is in flight. A window that is enforced
//! besides stops the sender after a cut until half of the packets in flight are acknowledged, which costs half a round
//! trip for each cut; without pacing packets gather in bursts, and windows round up to whole packets.
#![allow(dead_code, reason = "each test uses its part")]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use incast_cc::{Ack, CongestionControl, IntStack, Loss, LossKind, Path, Sent, Setup, Signals};
use incast_units::{Bytes, Rate, Time};

/// The paths of the flow, and how it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene {
    /// Paths (n); the share q of congested ones is 1/n.
    pub(crate) paths: u64,
    /// Round trip of the others (T_s) and of path 0 (T_l).
    pub(crate) short: Time,
    pub(crate) long: Time,
    /// Whether path 0 marks.
    pub(crate) marks: bool,
    /// Way in which packets are sent.
    pub(crate) sending: Sending,
    /// Whether repair waits for a smoothed round trip.
    pub(crate) lazy: bool,
    /// Whether paths are random instead of in rotation.
    pub(crate) random: bool,
    /// Whether an acknowledgement wrongly carries the sample of the last packet in order.
    pub(crate) cumulative: bool,
    /// Packets of the run; the first fifth does not count.
    pub(crate) packets: u64,
}

/// Way in which packets are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// A window of packets in T_s, whatever is in flight.
    Rate,
    /// While the packets in flight are fewer than the window, at the rate of the line.
    Window,
    /// Both.
    PacedWindow,
}

/// T_s 10 us and T_l 19 us, in rotation, a window in T_s, repaired at once, 400 packets for each path
/// and 60,000 at least.
pub(crate) fn scene(paths: u64) -> Scene {
    Scene {
        paths,
        short: Time::from_us(10),
        long: Time::from_us(19),
        marks: false,
        sending: Sending::Rate,
        lazy: false,
        random: false,
        cumulative: false,
        packets: (400 * paths).max(60_000),
    }
}

/// Wire size of a packet, of which 1000 B are payload.
pub(crate) const PACKET: u64 = 1000;

/// Packets in the base BDP, far more than any window here, so that the line's rate plays no part. The flow starts with
/// as many.
pub(crate) const BDP: u64 = 2000;

impl Scene {
    /// Checks the assumptions of the closed forms of algorithms that react to holes, for a window that
    /// shrinks to no less than `least` packets: three later packets arrive within the extra delay, 3·T_s/W <
    /// T_l − T_s, and the late one before its repair; and several increases between two decreases.
    pub(crate) fn check(&self, least: f64) -> Result<(), &'static str> {
        let (short, long) = (self.short.ps() as f64, self.long.ps() as f64);
        if long >= 2.0 * short {
            return Err("T_l must be below 2 T_s");
        }
        if (long - short) * least < 3.0 * short {
            return Err("three later packets do not fit into the extra delay");
        }
        if (self.paths as f64) < 4.0 * least {
            return Err("there are too few paths for several increases between decreases");
        }
        Ok(())
    }

    /// Returns the path as the algorithm sees it.
    pub(crate) fn path(&self) -> Path {
        let line_rate = Rate::of(Bytes::new(BDP * PACKET), self.short);
        Path {
            base_rtt: self.short,
            base_owd: self.short.times_ratio(1, 2),
            line_rate,
            packet: Bytes::new(PACKET),
            payload: Bytes::new(PACKET),
            hops: 4,
        }
    }
}

/// Outcome of a run, without its first fifth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// Packets acknowledged for the first time in a round trip T_s.
    pub(crate) throughput: f64,
    /// Smallest and largest window, in packets.
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// Packets sent again, of all.
    pub(crate) again: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    First,
    Again,
    Lost,
    Arrived,
}

#[derive(Clone, Copy)]
struct Packet {
    state: State,
    /// Time at which three later ones had arrived.
    delayed: Option<Time>,
    sent: Time,
}

/// The arrival of an acknowledgement: when, of the how manyth transmission, of which packet, sent when, marked.
type Arrival = (Time, u64, u64, Time, bool);

struct Flow<'a, C: CongestionControl> {
    scene: &'a Scene,
    setup: Setup<C::Params>,
    state: C,
    now: Time,
    /// Those from `first` on.
    packets: VecDeque<Packet>,
    first: u64,
    inflight: u64,
    next_at: Time,
    acks: BinaryHeap<Reverse<Arrival>>,
    transmissions: u64,
    again: u64,
    srtt: Time,
    /// Time at which the last packet in order was sent.
    last_in_order: Time,
    x: u64,
}

/// Runs the algorithm `C`.
pub(crate) fn run<C: CongestionControl>(params: C::Params, scene: &Scene) -> Outcome {
    let setup = Setup::new(params, scene.path());
    let mut flow = Flow::<C> {
        state: C::new(&setup, Time::ZERO),
        setup,
        scene,
        now: Time::ZERO,
        packets: VecDeque::new(),
        first: 0,
        inflight: 0,
        next_at: Time::ZERO,
        acks: BinaryHeap::new(),
        transmissions: 0,
        again: 0,
        srtt: scene.short,
        last_in_order: Time::ZERO,
        x: 1,
    };
    let (mut start, mut arrived) = (None, 0_u64);
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    while arrived < scene.packets {
        let arrival = flow.acks.peek().map_or(Time::NEVER, |ack| ack.0.0);
        let timer = flow.state.deadline();
        let send = if flow.may_send() { flow.next_at.max(flow.now) } else { Time::NEVER };
        assert!(arrival.min(send) != Time::NEVER, "the flow has stalled");
        if timer <= arrival.min(send) {
            flow.now = flow.now.max(timer);
            flow.state.on_timer(&flow.setup, flow.now);
        } else if send < arrival {
            flow.now = send;
            flow.send();
        } else {
            arrived += flow.acknowledge();
            if arrived >= scene.packets / 5 {
                start.get_or_insert((flow.now, arrived));
                let window = flow.window() / PACKET as f64;
                (least, most) = (least.min(window), most.max(window));
            }
        }
    }
    let (since, before) = start.expect("four fifths of a run");
    let round_trips = (flow.now - since).ps() as f64 / scene.short.ps() as f64;
    Outcome { throughput: (arrived - before) as f64 / round_trips, least, most, again: flow.again }
}

impl<C: CongestionControl> Flow<'_, C> {
    fn window(&self) -> f64 {
        self.state.allowance(&self.setup).window.get() as f64
    }

    fn may_send(&self) -> bool {
        let window = self.state.allowance(&self.setup).window.get();
        self.scene.sending == Sending::Rate || self.inflight == 0 || self.inflight < window
    }

    /// Sends the first lost packet again, or a new one.
    fn send(&mut self) {
        let lost = self.packets.iter().position(|packet| packet.state == State::Lost);
        let number = self.first + lost.unwrap_or(self.packets.len()) as u64;
        let packet = Packet { state: State::First, delayed: None, sent: self.now };
        let mut slow = false;
        if let Some(place) = lost {
            self.packets[place] = Packet { state: State::Again, ..packet };
            self.again += 1;
        } else {
            self.packets.push_back(packet);
            let path = if self.scene.random { self.draw() } else { number };
            slow = path % self.scene.paths == 0;
        }
        let rtt = if slow { self.scene.long } else { self.scene.short };
        self.acks.push(Reverse((
            self.now + rtt,
            self.transmissions,
            number,
            self.now,
            slow && self.scene.marks,
        )));
        self.transmissions += 1;
        self.inflight += PACKET;
        let allowance = self.state.allowance(&self.setup);
        let mut gap = allowance.rate.time_for(Bytes::new(PACKET));
        if self.scene.sending != Sending::Window {
            gap = gap.max(self.scene.short.times_ratio(PACKET, allowance.window.get().max(PACKET)));
        }
        self.next_at = self.now + gap;
        let sent = Sent { now: self.now, bytes: Bytes::new(PACKET), inflight: Bytes::new(self.inflight) };
        self.state.on_sent(&self.setup, &sent);
    }

    /// The next acknowledgement arrives. Returns how many packets it newly acknowledges.
    fn acknowledge(&mut self) -> u64 {
        let Reverse((now, _, number, sent, marked)) = self.acks.pop().expect("an acknowledgement");
        self.now = now;
        self.srtt = self.srtt.times_ratio(7, 8) + (now - sent).times_ratio(1, 8);
        let mut newly = 0;
        if let Some(place) = number.checked_sub(self.first) {
            let packet = &mut self.packets[place as usize];
            newly = u64::from(packet.state != State::Arrived);
            if matches!(packet.state, State::First | State::Again) {
                self.inflight -= PACKET;
            }
            packet.state = State::Arrived;
        }
        while self.packets.front().is_some_and(|packet| packet.state == State::Arrived) {
            self.last_in_order = self.packets.pop_front().map_or(self.last_in_order, |packet| packet.sent);
            self.first += 1;
        }
        let (delayed_run, lost) = self.judge();
        let next_sequence = (self.first + self.packets.len() as u64) * PACKET;
        let sequence = self.first * PACKET;
        // The last packet in order may have been acknowledged long ago.
        let sent = if self.scene.cumulative { self.last_in_order } else { sent };
        let asks = C::signals(&self.setup.params).contains(Signals::DELAYED_RUN);
        let ack = Ack {
            now,
            sent,
            received: sent + (now - sent).times_ratio(1, 2),
            acked: Bytes::new(newly * PACKET),
            packet: number * PACKET,
            sequence,
            next_sequence,
            inflight: Bytes::new(self.inflight),
            inflight_now: Bytes::new(self.inflight),
            marked: u32::from(marked),
            receiver_flows: 1,
            delayed_run: if asks { delayed_run } else { 0 },
            hole: !self.packets.is_empty() && self.packets.iter().any(|p| p.state == State::Arrived),
            ..Ack::BLANK
        };
        self.state.on_ack(&self.setup, &ack, &IntStack::EMPTY);
        if let Some(first) = lost {
            let bytes = Bytes::new(first.0 * PACKET);
            let loss = Loss { now, kind: LossKind::Hole, bytes, sent: first.1, sequence, next_sequence };
            self.state.on_loss(&self.setup, &loss);
        }
        newly
    }

    /// The longest run of delayed packets; how many are lost from now on, and when the first of them was sent.
    fn judge(&mut self) -> (u32, Option<(u64, Time)>) {
        let wait = if self.scene.lazy { self.srtt } else { Time::ZERO };
        let (mut run, mut longest) = (0, 0);
        let mut lost: Option<(u64, Time)> = None;
        let mut later = self.packets.iter().filter(|packet| packet.state == State::Arrived).count();
        for packet in &mut self.packets {
            if packet.state == State::Arrived {
                later -= 1;
            }
            let delayed = packet.state != State::Arrived && later >= 3;
            run = if delayed { run + 1 } else { 0 };
            longest = longest.max(run);
            if delayed && packet.state == State::First {
                let since = *packet.delayed.get_or_insert(self.now);
                if self.now >= since + wait {
                    packet.state = State::Lost;
                    self.inflight -= PACKET;
                    lost = Some(lost.map_or((1, packet.sent), |(packets, sent)| (packets + 1, sent)));
                }
            }
        }
        (longest, lost)
    }

    fn draw(&mut self) -> u64 {
        self.x = self.x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.x >> 33
    }
}

/// The exponent of a power law through these points, by least squares of the logarithms.
pub(crate) fn exponent(points: &[(u64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(n, y)| ((*n as f64).ln(), y.ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / logs.len() as f64;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let (mut xy, mut xx) = (0.0, 0.0);
    for p in &logs {
        xy += (p.0 - x) * (p.1 - y);
        xx += (p.0 - x) * (p.0 - x);
    }
    xy / xx
}
