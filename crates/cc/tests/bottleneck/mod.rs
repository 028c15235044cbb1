//! A small packet-level world for the twin tests: senders that share two ports in a row, the second
//! of them the bottleneck. It exists to make realistic, mutually consistent signals (RTT, telemetry,
//! marks, notifications), in a closed loop with the algorithm under test.
#![allow(dead_code, reason = "each test uses its part")]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use incast_cc::params::{Described, Value};
use incast_cc::{
    Ack, Allowance, CongestionControl, IntHop, IntStack, Loss, LossKind, Path, Sent, Setup, Signals,
};
use incast_units::{Bytes, Rate, Time};

/// The host under test: one algorithm for every flow.
pub(crate) trait Host {
    fn ack(&mut self, flow: usize, ack: &Ack, int: &IntStack);
    fn cnp(&mut self, flow: usize, now: Time);
    fn loss(&mut self, flow: usize, loss: &Loss);
    fn sent(&mut self, flow: usize, sent: &Sent);
    fn tag(&self, flow: usize) -> u32;
    fn timer(&mut self, flow: usize, now: Time);
    fn deadline(&self, flow: usize) -> Time;
    fn allowance(&self, flow: usize) -> Allowance;
}

/// Events of a world, apart from the algorithm.
#[derive(Clone)]
pub(crate) struct Script {
    pub(crate) seed: u64,
    pub(crate) until: Time,
    /// Spans (from, to) in which each flow sends.
    pub(crate) active: Vec<Vec<(Time, Time)>>,
    /// Marks begin at this queue and are certain at four times of it.
    pub(crate) mark_from: Bytes,
    /// The receiver notifies a flow of marks at most this often.
    pub(crate) cnp_interval: Time,
    /// Number of acknowledgements per report of a loss; zero for none.
    pub(crate) loss_every: u64,
    /// A circuit is announced to packets sent in every second span of this length; zero for never.
    pub(crate) circuit_every: Time,
}

/// `flows` flows, the first always active, the others on and off at random.
pub(crate) fn script(seed: u64, flows: usize, until: Time) -> Script {
    let mut random = Random(seed);
    let mut active = vec![vec![(Time::ZERO, until)]];
    for _ in 1..flows {
        let (mut spans, mut t) = (Vec::new(), Time::ZERO);
        while t < until {
            let from = t + Time::from_ns(random.below(300_000));
            t = from + Time::from_ns(5_000 + random.below(300_000));
            spans.push((from, t));
        }
        active.push(spans);
    }
    Script {
        seed,
        until,
        active,
        mark_from: Bytes::new(40_000),
        cnp_interval: Time::from_us(50),
        loss_every: 0,
        circuit_every: Time::ZERO,
    }
}

/// A linear congruential generator: the same signals everywhere.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

pub(crate) const LINE: Rate = Rate::from_gbps(100);
const PORTS: [Rate; 2] = [Rate::from_gbps(400), LINE];
const DELAY: Time = Time::from_us(2);
pub(crate) const PAYLOAD: u64 = 1000;

/// The path of every flow, for a packet with `overhead` bytes beyond payload and 54 B of headers.
pub(crate) fn path(overhead: u16) -> Path {
    let packet = Bytes::new(PAYLOAD + 54 + u64::from(overhead));
    let owd = DELAY.times(3) + LINE.time_for(packet) + PORTS.map(|r| r.time_for(packet)).into_iter().sum();
    let base_rtt = owd + DELAY.times(3);
    Path { base_rtt, base_owd: owd, line_rate: LINE, packet, payload: Bytes::new(PAYLOAD), hops: 3 }
}

#[derive(Clone, Copy)]
struct Packet {
    flow: usize,
    sent: Time,
    end: u64,
    inflight: Bytes,
    marked: bool,
    tag: u32,
    int: IntStack,
}

enum Event {
    Send(usize),
    Arrive(usize, Packet),
    Free(usize),
    Acked(Packet, Time),
    Notify(usize),
    Timer(usize),
}

struct Scheduled(Time, u64, Event);

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for Scheduled {}
impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

#[derive(Default)]
struct Port {
    queue: VecDeque<Packet>,
    transmitted: Bytes,
    busy: bool,
}

#[derive(Clone, Default)]
struct Flow {
    next_send: Time,
    send_pending: bool,
    timer_at: Time,
    sent: u64,
    acked: u64,
    inflight: Bytes,
    last_cnp: Option<Time>,
}

/// Outcome of a run.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) acks: u64,
    pub(crate) marks: u64,
    pub(crate) notifications: u64,
    pub(crate) losses: u64,
    /// Bytes left in the bottleneck's queue at each acknowledgement's dequeue, with the time.
    pub(crate) queue: Vec<(Time, u64)>,
    /// Each flow's allowed rate after each of its acknowledgements.
    pub(crate) rates: Vec<Vec<(Time, u64)>>,
    /// Hash of every allowance in order.
    pub(crate) fingerprint: u64,
}

struct World<'a, H> {
    host: &'a mut H,
    script: &'a Script,
    path: Path,
    now: Time,
    count: u64,
    events: BinaryHeap<Reverse<Scheduled>>,
    ports: [Port; 2],
    flows: Vec<Flow>,
    random: Random,
    outcome: Outcome,
}

/// Runs `script` over `host`.
pub(crate) fn run(host: &mut impl Host, path: Path, script: &Script) -> Outcome {
    let flows = script.active.len();
    let mut world = World {
        host,
        script,
        path,
        now: Time::ZERO,
        count: 0,
        events: BinaryHeap::new(),
        ports: Default::default(),
        flows: vec![Flow { timer_at: Time::NEVER, ..Flow::default() }; flows],
        random: Random(script.seed ^ 0x5eed),
        outcome: Outcome { rates: vec![Vec::new(); flows], ..Outcome::default() },
    };
    for (flow, spans) in script.active.iter().enumerate() {
        for &(from, _) in spans {
            world.at(from, Event::Send(flow));
        }
    }
    while let Some(Reverse(Scheduled(time, _, event))) = world.events.pop() {
        if time > script.until {
            break;
        }
        world.now = time;
        world.handle(event);
    }
    world.outcome
}

impl<H: Host> World<'_, H> {
    fn at(&mut self, time: Time, event: Event) {
        self.count += 1;
        self.events.push(Reverse(Scheduled(time, self.count, event)));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Send(flow) => {
                self.flows[flow].send_pending = false;
                self.send(flow);
            }
            Event::Arrive(port, packet) => {
                self.ports[port].queue.push_back(packet);
                self.serve(port);
            }
            Event::Free(port) => {
                self.ports[port].busy = false;
                self.serve(port);
            }
            Event::Acked(packet, received) => self.acked(&packet, received),
            Event::Notify(flow) => {
                self.outcome.notifications += 1;
                self.host.cnp(flow, self.now);
                self.after(flow);
            }
            Event::Timer(flow) => {
                self.flows[flow].timer_at = Time::NEVER;
                if self.host.deadline(flow) <= self.now {
                    self.host.timer(flow, self.now);
                }
                self.after(flow);
            }
        }
    }

    /// Looks at the deadline and the allowance of a flow again.
    fn after(&mut self, flow: usize) {
        let deadline = self.host.deadline(flow);
        if deadline != Time::NEVER && deadline < self.flows[flow].timer_at {
            self.flows[flow].timer_at = deadline;
            self.at(deadline.max(self.now), Event::Timer(flow));
        }
        let allowance = self.host.allowance(flow);
        let mix = |hash: u64, value: u64| (hash ^ value).wrapping_mul(0x100_0000_01b3);
        self.outcome.fingerprint =
            mix(mix(self.outcome.fingerprint, allowance.window.get()), allowance.rate.bps());
        self.outcome.rates[flow].push((self.now, allowance.rate.bps()));
        self.send(flow);
    }

    fn send(&mut self, flow: usize) {
        let now = self.now;
        let active = self.script.active[flow].iter().any(|&(from, to)| from <= now && now < to);
        let allowance = self.host.allowance(flow);
        let state = &mut self.flows[flow];
        if !active || (state.inflight >= allowance.window && state.inflight > Bytes::ZERO) {
            return;
        }
        if now < state.next_send {
            if !state.send_pending {
                state.send_pending = true;
                let next = state.next_send;
                self.at(next, Event::Send(flow));
            }
            return;
        }
        let size = self.path.packet;
        state.inflight += size;
        state.sent += PAYLOAD;
        state.next_send = now + allowance.rate.min(LINE).time_for(size);
        state.send_pending = true;
        let packet = Packet {
            flow,
            sent: now,
            end: state.sent,
            inflight: state.inflight,
            marked: false,
            tag: self.host.tag(flow),
            int: IntStack::EMPTY,
        };
        let (next, inflight) = (state.next_send, state.inflight);
        self.at(next, Event::Send(flow));
        self.at(now + LINE.time_for(size) + DELAY, Event::Arrive(0, packet));
        self.host.sent(flow, &Sent { now, bytes: size, inflight });
    }

    fn serve(&mut self, port: usize) {
        if self.ports[port].busy {
            return;
        }
        let Some(mut packet) = self.ports[port].queue.pop_front() else { return };
        let size = self.path.packet;
        let left = size.times(self.ports[port].queue.len() as u64);
        packet.int.hops[port] = IntHop {
            at: self.now,
            queue: left,
            transmitted: self.ports[port].transmitted,
            rate: PORTS[port],
        };
        packet.int.count += 1;
        self.ports[port].transmitted += size;
        self.ports[port].busy = true;
        let from = self.script.mark_from.get();
        if left.get() > from && left.get() - from > self.random.below(3 * from) {
            packet.marked = true;
        }
        let done = self.now + PORTS[port].time_for(size);
        self.at(done, Event::Free(port));
        if port == 0 {
            self.at(done + DELAY, Event::Arrive(1, packet));
            return;
        }
        self.outcome.queue.push((self.now, left.get()));
        let received = done + DELAY;
        let back = received + DELAY.times(3);
        self.at(back, Event::Acked(packet, received));
        let state = &mut self.flows[packet.flow];
        if packet.marked && state.last_cnp.is_none_or(|last| last + self.script.cnp_interval <= received) {
            state.last_cnp = Some(received);
            self.at(back, Event::Notify(packet.flow));
        }
    }

    fn acked(&mut self, packet: &Packet, received: Time) {
        let state = &mut self.flows[packet.flow];
        state.inflight -= self.path.packet;
        state.acked = packet.end;
        let (sequence, next_sequence) = (state.acked, state.sent);
        let ack = Ack {
            now: self.now,
            sent: packet.sent,
            received,
            acked: self.path.packet,
            sequence,
            next_sequence,
            inflight: packet.inflight,
            inflight_now: state.inflight,
            marked: u32::from(packet.marked),
            tag: packet.tag,
            circuit: packet.sent.ps().checked_div(self.script.circuit_every.ps()).unwrap_or(0) % 2 == 1,
            ..Ack::BLANK
        };
        self.outcome.acks += 1;
        self.outcome.marks += u64::from(packet.marked);
        self.host.ack(packet.flow, &ack, &packet.int);
        if self.script.loss_every > 0 && self.random.below(self.script.loss_every) == 0 {
            let kind = if self.random.below(8) == 0 { LossKind::Timeout } else { LossKind::Hole };
            self.outcome.losses += 1;
            self.host
                .loss(packet.flow, &Loss { now: self.now, kind, sequence, next_sequence, ..Loss::BLANK });
        }
        self.after(packet.flow);
    }
}

/// The algorithm alone.
pub(crate) struct Alone<C: CongestionControl> {
    pub(crate) setup: Setup<C::Params>,
    pub(crate) flows: Vec<C>,
}

impl<C: CongestionControl> Alone<C> {
    pub(crate) fn new(params: C::Params, path: Path, flows: usize) -> Self {
        let setup = Setup::new(params, path);
        let flows = (0..flows).map(|_| C::new(&setup, Time::ZERO)).collect();
        Self { setup, flows }
    }
}

impl<C: CongestionControl> Host for Alone<C> {
    fn ack(&mut self, flow: usize, ack: &Ack, int: &IntStack) {
        let none = IntStack::EMPTY;
        let int = if C::signals(&self.setup.params).contains(Signals::INT) { int } else { &none };
        self.flows[flow].on_ack(&self.setup, ack, int);
    }
    fn cnp(&mut self, flow: usize, now: Time) {
        self.flows[flow].on_cnp(&self.setup, now);
    }
    fn loss(&mut self, flow: usize, loss: &Loss) {
        self.flows[flow].on_loss(&self.setup, loss);
    }
    fn sent(&mut self, flow: usize, sent: &Sent) {
        self.flows[flow].on_sent(&self.setup, sent);
    }
    fn tag(&self, flow: usize) -> u32 {
        let tagged = C::signals(&self.setup.params).contains(Signals::PACKET_TAG);
        if tagged { self.flows[flow].tag(&self.setup) } else { 0 }
    }
    fn timer(&mut self, flow: usize, now: Time) {
        self.flows[flow].on_timer(&self.setup, now);
    }
    fn deadline(&self, flow: usize) -> Time {
        self.flows[flow].deadline()
    }
    fn allowance(&self, flow: usize) -> Allowance {
        self.flows[flow].allowance(&self.setup)
    }
}

/// The algorithm written a second time, in f64, straight from the paper. Times are seconds, rates bit/s.
pub(crate) trait Twin {
    fn ack(&mut self, _ack: &Ack, _int: &IntStack) {}
    fn cnp(&mut self, _now: Time) {}
    fn loss(&mut self, _loss: &Loss) {}
    fn sent(&mut self, _sent: &Sent) {}
    fn timer(&mut self, _now: Time) {}
    /// Window in bytes (infinite for none) and rate in bit/s.
    fn allowance(&self) -> (f64, f64);
}

pub(crate) fn seconds(time: Time) -> f64 {
    time.ps() as f64 * 1e-12
}

/// The algorithm with its twin beside it: both see every signal, only the algorithm is obeyed.
pub(crate) struct Both<C: CongestionControl, T> {
    pub(crate) real: Alone<C>,
    pub(crate) twins: Vec<T>,
    /// Largest relative deviation seen, of windows and of rates.
    pub(crate) worst: (f64, f64),
}

impl<C: CongestionControl, T: Twin> Both<C, T> {
    pub(crate) fn new(params: C::Params, path: Path, flows: usize, twin: impl Fn() -> T) -> Self {
        let twins = (0..flows).map(|_| twin()).collect();
        Self { real: Alone::new(params, path, flows), twins, worst: (0.0, 0.0) }
    }

    fn compare(&mut self, flow: usize) {
        let (allowance, (window, rate)) = (self.real.allowance(flow), self.twins[flow].allowance());
        let off = |ours: f64, theirs: f64, unit: f64| {
            // An allowance is whole bytes and bit/s, rounded down: one unit is no deviation.
            ((ours - theirs).abs() - unit).max(0.0) / theirs
        };
        if allowance.window == Bytes::UNLIMITED {
            assert!(window.is_infinite());
        } else {
            self.worst.0 = self.worst.0.max(off(allowance.window.get() as f64, window, 1.0));
        }
        self.worst.1 = self.worst.1.max(off(allowance.rate.bps() as f64, rate, 1.0));
        assert!(!self.worst.0.is_nan() && !self.worst.1.is_nan());
    }
}

impl<C: CongestionControl, T: Twin> Host for Both<C, T> {
    fn ack(&mut self, flow: usize, ack: &Ack, int: &IntStack) {
        self.real.ack(flow, ack, int);
        self.twins[flow].ack(ack, int);
        self.compare(flow);
    }
    fn cnp(&mut self, flow: usize, now: Time) {
        self.real.cnp(flow, now);
        self.twins[flow].cnp(now);
        self.compare(flow);
    }
    fn loss(&mut self, flow: usize, loss: &Loss) {
        self.real.loss(flow, loss);
        self.twins[flow].loss(loss);
        self.compare(flow);
    }
    fn sent(&mut self, flow: usize, sent: &Sent) {
        self.real.sent(flow, sent);
        self.twins[flow].sent(sent);
        self.compare(flow);
    }
    fn tag(&self, flow: usize) -> u32 {
        self.real.tag(flow)
    }
    fn timer(&mut self, flow: usize, now: Time) {
        self.real.timer(flow, now);
        self.twins[flow].timer(now);
        self.compare(flow);
    }
    fn deadline(&self, flow: usize) -> Time {
        self.real.deadline(flow)
    }
    fn allowance(&self, flow: usize) -> Allowance {
        self.real.allowance(flow)
    }
}

/// Runs an algorithm beside its twin, and asserts that no allowance of the two is further apart than 1e-6.
pub(crate) fn check_twin<C, T>(
    name: &str,
    params: C::Params,
    path: Path,
    script: &Script,
    twin: impl Fn() -> T,
) -> (Outcome, Vec<T>)
where
    C: CongestionControl,
    T: Twin,
{
    let mut host = Both::<C, _>::new(params, path, script.active.len(), twin);
    let outcome = run(&mut host, path, script);
    println!(
        "{name}, seed {}: {:?} in {} acks, {} marks, {} notifications, {} losses",
        script.seed, host.worst, outcome.acks, outcome.marks, outcome.notifications, outcome.losses
    );
    assert!(host.worst.0 < 1e-6 && host.worst.1 < 1e-6, "{name}, seed {}: {:?}", script.seed, host.worst);
    (outcome, host.twins)
}

/// Runs an algorithm beside its twin on the [`path`] of its packets; see [`check_twin`].
pub(crate) fn agree<C, T>(
    name: &str,
    params: C::Params,
    script: &Script,
    twin: impl Fn(C::Params, Path) -> T,
) -> Outcome
where
    C: CongestionControl<Params: Copy>,
    T: Twin,
{
    let path = path(C::overhead(&params).data);
    check_twin::<C, _>(name, params, path, script, || twin(params, path)).0
}

/// Asserts that every parameter of the algorithm changes what happens: `changes` must name each of
/// them, with the parameters it starts from and another value.
pub(crate) fn every_option_matters<C>(script: &Script, changes: &[(C::Params, &str, Value)])
where
    C: CongestionControl,
    C::Params: Described + Clone,
{
    check_options::<C>(changes, |params| {
        let path = longer(path(C::overhead(params).data));
        run(&mut Alone::<C>::new(params.clone(), path, script.active.len()), path, script).fingerprint
    });
}

/// Returns a path configured for a longer one, as where all flows are given the largest of a network.
pub(crate) fn longer(path: Path) -> Path {
    Path { base_rtt: path.base_rtt.times_ratio(5, 4), ..path }
}

/// Asserts that `changes` names every parameter of the algorithm, and that each of them changes the outcome.
pub(crate) fn check_options<C>(changes: &[(C::Params, &str, Value)], outcome: impl Fn(&C::Params) -> u64)
where
    C: CongestionControl,
    C::Params: Described + Clone,
{
    for param in C::Params::PARAMS {
        assert!(changes.iter().any(|c| c.1 == param.name), "no case for {}", param.name);
    }
    for (start, name, value) in changes {
        let param = C::Params::PARAMS.iter().find(|p| p.name == *name).expect("a parameter");
        assert!(param.kind.admits(*value), "{name} does not admit {value:?}");
        assert_ne!((param.get)(start), *value, "{name} is not changed");
        let mut changed = start.clone();
        (param.set)(&mut changed, *value);
        assert_eq!((param.get)(&changed), *value, "{name} does not keep its value");
        assert_ne!(outcome(start), outcome(&changed), "{name} changes nothing");
    }
}
