//! Both engines give the same bits on random descriptions: topology, traffic, algorithms, buffer, PFC,
//! BFC, ECN, coalesced acknowledgements, load balancing, loss recovery, trimming, NDP, Homa, operations with
//! dependencies, second links of hosts, circuits, links that change and fail, impairments, probes and threads are drawn at random.
//!
//! A case is drawn from a seed, and a failure names it. By default seeds 0 to 199 run; others by hand:
//!
//! ```text
//! DIFFERENTIAL_SEEDS=0..100000 cargo test --release -p incast-sim --test differential
//! ```

mod common;
#[path = "differential/impaired.rs"]
mod impaired;
#[path = "differential/shapes.rs"]
mod shapes;
#[path = "differential/special.rs"]
mod special;

use std::ops::Range;

use common::{Kept, algorithm, every_sample, flow, letter, simulation};
use impaired::Impaired;
use incast_cc::Fixed;
use incast_cc::params::Value;
use incast_sim::describe::Named;
use incast_sim::describe::balancing::{self, Acknowledgements, Balancing};
use incast_sim::describe::flow::Flow;
use incast_sim::describe::network::{Change, LinkChange};
use incast_sim::describe::switch::{Buffer, Ecn, MarkingPoint, Pfc, Scheduler};
use incast_sim::describe::transport::{AckEvery, AfterIdle, Kind, Recovery, Repair, Sample};
use incast_sim::describe::work::{BESIDE, Operation, What};
use incast_sim::random::{draw, mix};
use incast_sim::{Network, Simulation};
use incast_units::{Bytes, Rate, Time};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use shapes::{Shape, shapes};
use special::{Rotor, Special, special};

/// A flow; hosts, algorithm and queue are taken modulo what there is.
#[derive(Clone, Debug)]
struct Traffic {
    source: u32,
    other: u32,
    size: u64,
    start_ns: u64,
    /// It stops offering data this long after its start, whatever its size.
    stop_ns: Option<u64>,
    algorithm: usize,
    queue: u8,
}

#[derive(Clone, Debug)]
struct Case {
    shape: Shape,
    /// Rates in Mbps and delays in nanoseconds of the links, taken in turn.
    rates: Vec<u64>,
    delays: Vec<u64>,
    algorithms: Vec<(&'static str, bool)>,
    traffic: Vec<Traffic>,
    /// Everybody also sends to host 0 at the start.
    incast: bool,
    buffer: Buffer,
    /// Of a shared buffer: the parts of what is free for an ingress and for an egress.
    alphas: [Fixed; 2],
    pfc: Option<Pfc>,
    ecn: Option<Ecn>,
    queues: u8,
    round_robin: bool,
    payload: u64,
    ack_every: u32,
    ack_delay_ns: u64,
    rto_ns: u64,
    nack_interval_ns: u64,
    own_ack_queue: bool,
    probes: Watched,
    until_us: u64,
    threads: usize,
    /// Second links of hosts: the host, and how many switches further on the link leads than the first one.
    second_links: Vec<(u32, u32)>,
    changes: Vec<Changed>,
    /// Policies of load balancing, taken by the flows in turn.
    balancing: Vec<Balancing>,
    balanced: balancing::Settings,
    /// With several queues another scheduler than strict priority and round robin, with quanta and weights; how many
    /// queues are strict; marks at enqueue.
    scheduler: (Option<Scheduler>, Vec<u64>, u8, bool),
    /// Selective repeat, with its rule, its threshold and its delay.
    selective: Option<(Repair, u32, Option<u64>)>,
    sample: Sample,
    special: Special,
    /// A seed from which operations are made for about half of the flows; `None`: there are no operations.
    operations: Option<u64>,
    impaired: Option<Impaired>,
    /// Racks with circuits in place of `shape`, and then neither PFC nor second links nor changes.
    rotor: Option<Rotor>,
}

/// Change of a link: its time, the link, and one of four things with one of some values.
#[derive(Clone, Debug)]
struct Changed {
    at_ns: u64,
    link: u32,
    what: u8,
    value: usize,
}

/// Settings of samples, captures and records.
#[derive(Clone, Debug)]
struct Watched {
    ports: Vec<(u32, u16)>,
    flows: Vec<u32>,
    captures: Vec<(u32, u16)>,
    pauses: bool,
    interval_ns: u64,
    from_ns: u64,
}

impl Case {
    fn simulation(&self) -> Simulation {
        let mut network = self.rotor.as_ref().map_or_else(|| self.shape.network(), Rotor::network);
        let has_circuits = network.circuits.is_some();
        let (rate, delay) = (Rate::from_gbps(100), Time::from_us(1));
        // Switches at which hosts are.
        let leaves: Vec<u32> =
            (network.hosts..network.nodes.len() as u32).filter(|node| is_leaf(&network, *node)).collect();
        for (host, further) in self.second_links.iter().filter(|_| !has_circuits) {
            let host = host % network.hosts;
            let first = network.links.iter().find(|link| link.a.0 == host).map_or(0, |link| link.b.0);
            let first = leaves.iter().position(|leaf| *leaf == first).unwrap_or(0);
            network.add_link(host, leaves[(first + *further as usize) % leaves.len()], rate, delay);
        }
        let links = network.links.len() as u32;
        let change = |changed: &Changed| {
            let what = match changed.what {
                0 => {
                    LinkChange::Rate(Rate::from_bps(self.rates[changed.value % self.rates.len()] * 1_000_000))
                }
                1 => LinkChange::Delay(Time::from_ns(self.delays[changed.value % self.delays.len()])),
                2 => LinkChange::Down,
                _ => LinkChange::Up,
            };
            Change { time: Time::from_ns(changed.at_ns), link: changed.link % links, what }
        };
        let changes = self.changes.iter().filter(|_| !has_circuits);
        network.changes = changes.map(change).collect();
        network.changes.sort_by_key(|change| change.time);
        for (i, link) in network.links.iter_mut().enumerate() {
            link.rate = Rate::from_bps(self.rates[i % self.rates.len()] * 1_000_000);
            link.delay = Time::from_ns(self.delays[i % self.delays.len()]);
        }
        if has_circuits {
            // The last link leads to the optical switch, and all that do are alike.
            let last = network.links[links as usize - 1];
            let optical = network.links.iter_mut().filter(|link| link.b.0 == last.b.0);
            optical.for_each(|link| (link.rate, link.delay) = (last.rate, last.delay));
        }
        let hosts = network.hosts;
        let mut flows: Vec<_> = self
            .traffic
            .iter()
            .zip(0..)
            .map(|(traffic, i)| {
                let source = traffic.source % hosts;
                let destination = (source + 1 + traffic.other % (hosts - 1)) % hosts;
                let start = Time::from_ns(traffic.start_ns);
                let mut flow = flow(source, destination, traffic.size, start);
                flow.key = mix(i);
                if let Some(after) = traffic.stop_ns {
                    flow.stop = start + Time::from_ns(after);
                }
                flow.algorithm = (traffic.algorithm % self.algorithms.len()) as u16;
                flow.queue = traffic.queue % self.queues;
                flow.balancing = self.balancing[i as usize % self.balancing.len()];
                flow
            })
            .collect();
        if self.incast {
            flows.extend((1..hosts).map(|host| flow(host, 0, 20_000, Time::ZERO)));
        }
        let algorithms = self.algorithms.iter().map(|(name, low)| chosen(name, *low)).collect();
        let mut sim = simulation(network, algorithms, flows);
        self.connect(&mut sim);
        sim.switch.buffer = self.buffer;
        sim.switch.reserve = Bytes::new(2_000);
        [sim.switch.ingress_alpha, sim.switch.egress_alpha] = self.alphas;
        sim.switch.pfc = self.pfc.filter(|_| !has_circuits);
        sim.switch.ecn = self.ecn;
        sim.switch.queues = self.queues;
        if self.round_robin {
            sim.switch.scheduler = Scheduler::RoundRobin;
        }
        let (scheduler, sizes, strict, enqueue) = &self.scheduler;
        if let Some(scheduler) = *scheduler {
            sim.switch.scheduler = scheduler;
            let sizes = &sizes[..sizes.len().min(usize::from(self.queues))];
            sim.switch.quanta = sizes.iter().map(|size| Bytes::new(*size)).collect();
            sim.switch.weights = sizes.iter().map(|size| (size % 5 + 1) as u32).collect();
        }
        sim.switch.strict = strict % (self.queues + 1);
        special::choose_lossless(&mut sim.switch, mix(self.until_us ^ self.payload << 32 ^ 1 << 63));
        if let Some(ecn) = &mut sim.switch.ecn
            && *enqueue
        {
            ecn.at = MarkingPoint::Enqueue;
        }
        sim.balancing = self.balanced;
        sim.operations = self.operations.map(|seed| operations(&sim.flows, seed)).unwrap_or_default();
        if let Some((repair, threshold, delay)) = self.selective {
            sim.transport.recovery = Recovery::Selective;
            sim.transport.repair = repair;
            sim.transport.repair_threshold = threshold;
            sim.transport.repair_delay = delay.map(Time::from_ns);
        }
        sim.transport.sample = self.sample;
        self.special.apply(&mut sim);
        if sim.transport.kind != Kind::Window {
            sim.flows.iter_mut().for_each(|flow| flow.connection = None);
        }
        sim.transport.payload = Bytes::new(self.payload);
        sim.transport.ack_every = AckEvery::Packets(self.ack_every);
        sim.transport.ack_delay = Some(Time::from_ns(self.ack_delay_ns));
        sim.transport.rto = Time::from_ns(self.rto_ns);
        sim.transport.nack_interval = Time::from_ns(self.nack_interval_ns);
        sim.transport.ack_queue = self.own_ack_queue.then_some(sim.switch.queues - 1);
        let port = |network: &Network, (node, port): (u32, u16)| {
            let node = node % network.nodes.len() as u32;
            (node, port % network.ports(node))
        };
        sim.probes.ports = self.probes.ports.iter().map(|one| port(&sim.network, *one)).collect();
        sim.probes.captures = self.probes.captures.iter().map(|one| port(&sim.network, *one)).collect();
        sim.probes.flows = self.probes.flows.iter().map(|flow| flow % sim.flows.len() as u32).collect();
        for list in [&mut sim.probes.ports, &mut sim.probes.captures] {
            list.sort_unstable();
            list.dedup();
        }
        sim.probes.flows.sort_unstable();
        sim.probes.flows.dedup();
        sim.probes.pauses = self.probes.pauses;
        sim.probes.internals = self.probes.pauses;
        sim.probes.port_interval = Time::from_ns(self.probes.interval_ns);
        sim.probes.flow_interval = Time::from_ns(self.probes.interval_ns * 3 / 2);
        sim.probes.from = Time::from_ns(self.probes.from_ns);
        if let Some(impaired) = &self.impaired {
            impaired.apply(&mut sim);
        }
        sim.until = Time::from_us(self.until_us);
        sim.stall_after = Time::from_us(2_000);
        sim.threads = self.threads;
        sim
    }

    /// In every second case, makes flows the messages of one to four connections, each with the ends and the treatment
    /// of its first flow.
    fn connect(&self, sim: &mut Simulation) {
        let seed = mix(self.until_us ^ self.payload << 32);
        if draw(seed, 0).is_multiple_of(2) {
            return;
        }
        let mut first: [Option<Flow>; 4] = [None; 4];
        for (flow, item) in sim.flows.iter_mut().zip(1..).filter(|(flow, _)| flow.has_known_end()) {
            let number = draw(seed, item) % 6;
            if let Some(first) = first.get_mut(number as usize) {
                let Flow { size, start, .. } = *flow;
                let connection = Some(number as u32);
                *flow = Flow { connection, size, start, ..*first.get_or_insert(*flow) };
            }
        }
        if draw(seed, 1 << 32).is_multiple_of(2) {
            sim.transport.idle = AfterIdle::Restart;
            sim.transport.idle_after = Some(Time::from_ns(draw(seed, 1 << 33) % 20_000));
        }
    }
}

/// Operations that send and receive about half of the flows, with computations between; each depends on some of the
/// same host before it.
fn operations(flows: &[Flow], seed: u64) -> Vec<Operation> {
    let mut made: Vec<Operation> = Vec::new();
    for (flow, index) in flows.iter().zip(0_u32..) {
        let mut rest = draw(seed, u64::from(index));
        let mut random = |below: u64| {
            let value = rest % below;
            rest /= below;
            value
        };
        if !flow.has_known_end() || random(2) == 0 {
            continue;
        }
        let time = Time::from_ns([0, 700, 3_000][random(3) as usize]);
        let compute = What::Compute { time, processor: [0, 1, BESIDE][random(3) as usize] };
        let steps = [
            (flow.source, What::Send { flow: index }, true),
            (flow.destination, What::Receive { flow: index }, random(4) > 0),
            (flow.destination, compute, random(4) > 0),
        ];
        for (host, what, _) in steps.into_iter().filter(|(_, _, made)| *made) {
            let own = made.iter().zip(0..).filter(|(other, _)| other.host == host).map(|(_, other)| other);
            let own: Vec<u32> = own.collect();
            let (mut after, mut after_start) = (Vec::new(), Vec::new());
            for other in own.iter().rev().take(3) {
                match random(4) {
                    0 => after.push(*other),
                    1 => after_start.push(*other),
                    _ => {}
                }
            }
            let start_before = Time::NEVER;
            let earliest = Time::from_ns([0, 0, 0, 0, 2_000][random(5) as usize]);
            made.push(Operation { host, what, after, after_start, start_before, earliest, job: 0 });
        }
    }
    limit_starts(&mut made, seed);
    made
}

/// Some operations are left out if they could start too late: of those on which no flow depends that is received.
fn limit_starts(operations: &mut [Operation], seed: u64) {
    let receives = |operation: &Operation| match operation.what {
        What::Receive { flow } => Some(flow),
        _ => None,
    };
    let received: Vec<u32> = operations.iter().filter_map(receives).collect();
    let mut needed = vec![false; operations.len()];
    for index in (0..operations.len()).rev() {
        let operation = &mut operations[index];
        needed[index] |= matches!(operation.what, What::Send { flow } if received.contains(&flow));
        if needed[index] {
            for other in operation.after.iter().chain(&operation.after_start) {
                needed[*other as usize] = true;
            }
            continue;
        }
        let random = draw(!seed, index as u64);
        if random.is_multiple_of(3) {
            operation.start_before = Time::from_ns((random >> 8) % 40_000);
        }
    }
}

/// Whether a host is linked to a switch.
fn is_leaf(network: &Network, switch: u32) -> bool {
    network.links.iter().any(|link| network.is_host(link.a.0) && link.b.0 == switch)
}

/// An algorithm, or where `low` is true one that reacts at the short queues of these networks.
fn chosen(name: &str, low: bool) -> incast_cc::AnyParams {
    match (name, low) {
        ("timely", true) => {
            let (low, high) = (Value::Time(Time::from_us(5)), Value::Time(Time::from_us(60)));
            letter(name, &[("t_low", low), ("t_high", high)])
        }
        ("constant", true) => algorithm(name, &[("window", Value::Bytes(Bytes::new(9_000)))]),
        _ => algorithm(name, &[]),
    }
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let size = prop_oneof![1..2_000_u64, 1..150_000_u64, Just(1_000), Just(64_000)];
    let start = prop_oneof![Just(0), 0..50_000_u64];
    let stop = option::weighted(0.1, 0..80_000_u64);
    (0..64_u32, 0..64_u32, size, start, stop, 0..8_usize, 0..8_u8).prop_map(
        |(source, other, size, start_ns, stop_ns, algorithm, queue)| Traffic {
            source,
            other,
            size,
            start_ns,
            stop_ns,
            algorithm,
            queue,
        },
    )
}

/// A buffer with its alphas, and PFC only where it goes with the buffer.
fn buffers() -> impl Strategy<Value = ((Buffer, [Fixed; 2]), Option<Pfc>)> {
    let offset = select(vec![0_u64, 1_500, 3_072]);
    let fixed = (2_000..40_000_u64, offset.clone()).prop_map(|(xoff, offset)| Pfc {
        xoff: Some(Bytes::new(xoff + offset)),
        xon_offset: Bytes::new(offset),
        ..Pfc::default()
    });
    let dynamic = offset.prop_map(|offset| Pfc { xon_offset: Bytes::new(offset), ..Pfc::default() });
    let alone = |buffer| (buffer, [Fixed::ONE; 2]);
    let shared = |size: u64, ingress: u64, egress: u64| {
        (Buffer::Shared(Bytes::new(size)), [Fixed::ratio(1, ingress), Fixed::ratio(egress, 2)])
    };
    let pfc = prop_oneof![fixed.clone(), dynamic];
    prop_oneof![
        2 => Just((alone(Buffer::Unlimited), None)),
        2 => (3_000..60_000_u64).prop_map(move |limit| (alone(Buffer::PerPort(Bytes::new(limit))), None)),
        2 => (5_000..200_000_u64, 1..9_u64, 1..9_u64)
            .prop_map(move |(size, i, e)| (shared(size, i, e), None)),
        1 => fixed.prop_map(move |pfc| (alone(Buffer::Unlimited), Some(pfc))),
        3 => (1_000_000..8_000_000_u64, 1..65_u64, pfc)
            .prop_map(move |(size, i, pfc)| (shared(size, i, 2), Some(pfc))),
    ]
}

fn marks() -> impl Strategy<Value = Option<Ecn>> {
    let curve = (0..20_000_u64, 1..60_000_u64, 0..5_u64, any::<bool>());
    option::of(curve.prop_map(|(kmin, more, pmax, scaled)| Ecn {
        kmin: Bytes::new(kmin),
        kmax: Bytes::new(kmin + more),
        pmax: Fixed::ratio(pmax, 4),
        reference: scaled.then(|| Rate::from_gbps(100)),
        at: MarkingPoint::Dequeue,
    }))
}

fn watched() -> impl Strategy<Value = Watched> {
    let ports = || vec((0..64_u32, 0..16_u16), 0..4);
    (ports(), vec(0..64_u32, 0..4), ports(), any::<bool>(), 300..20_000_u64, 0..30_000_u64).prop_map(
        |(ports, flows, captures, pauses, interval_ns, from_ns)| Watched {
            ports,
            flows,
            captures,
            pauses,
            interval_ns,
            from_ns,
        },
    )
}

/// Policies of load balancing, and their settings.
fn spread() -> impl Strategy<Value = (Vec<Balancing>, balancing::Settings)> {
    let policies = Balancing::ALL.iter().map(|(policy, ..)| *policy).collect::<Vec<_>>();
    let policies = prop_oneof![1 => Just(vec![Balancing::Ecmp]), 2 => vec(select(policies), 1..4)];
    let thresholds = [1..5_000_u64, 1..20_000_u64, 1..40_000_u64];
    let settings = (0..9_u32, option::of(1..100_000_u64), any::<bool>(), thresholds, 0..2_000_u64);
    #[allow(
        clippy::needless_update,
        reason = "the key of a further policy has its default until it is drawn here"
    )]
    let settings =
        settings.prop_map(|(paths, freeze, balanced, [low, more, most], interval)| balancing::Settings {
            paths: 1 << paths,
            freeze: freeze.map(Time::from_ns),
            acknowledgements: if balanced { Acknowledgements::Balanced } else { Acknowledgements::OnePath },
            thresholds: [low, low + more, low + more + most].map(Bytes::new),
            interval: Time::from_ns(interval),
            ..balancing::Settings::default()
        });
    (policies, settings)
}

fn selective() -> impl Strategy<Value = Option<(Repair, u32, Option<u64>)>> {
    let repair = select(Repair::ALL.iter().map(|(repair, ..)| *repair).collect::<Vec<_>>());
    option::of((repair, 1..9_u32, option::of(100..50_000_u64)))
}

fn cases() -> impl Strategy<Value = Case> {
    let names: Vec<_> = incast_cc::any::CATALOGUE.iter().map(|info| info.name).collect();
    let rates = vec(select(vec![10_000_u64, 25_000, 40_000, 100_000, 400_000, 33_333]), 1..8);
    let delays = vec(select(vec![1_000_u64, 2_000, 500, 600, 37, 10]), 1..8);
    let network = (shapes(), rates, delays);
    let load = (vec((select(names), any::<bool>()), 1..4), vec(traffic(), 1..30), any::<bool>());
    let switch = (buffers(), marks(), 1..5_u8, any::<bool>());
    let every = prop_oneof![Just(1_u32), 2..17_u32];
    let threads = prop_oneof![4 => Just(1_usize), 1 => 2..5_usize];
    let payload = select(vec![1_000_u64, 1_000, 4_000, 256, 777]);
    let transport = (payload, every, 500..60_000_u64, 15_000..400_000_u64, 2_000..500_000_u64, any::<bool>());
    let until = prop_oneof![50..300_u64, Just(20_000)];
    // What is drawn last leaves the rest of a seed's case as it is.
    let second_links = prop_oneof![2 => Just(Vec::new()), 1 => vec((0..64_u32, 0..4_u32), 1..12)];
    let changed = (0..100_000_u64, 0..256_u32, 0..4_u8, 0..8_usize)
        .prop_map(|(at_ns, link, what, value)| Changed { at_ns, link, what, value });
    let changes = prop_oneof![2 => Just(Vec::new()), 1 => vec(changed, 1..8)];
    let all = Scheduler::ALL.iter().map(|(scheduler, ..)| *scheduler).collect::<Vec<_>>();
    let service = (option::of(select(all)), vec(50..9_000_u64, 0..5), 0..6_u8, any::<bool>());
    let operations = option::weighted(0.3, any::<u64>());
    let rotor = option::weighted(0.2, Rotor::draw());
    let sample = prop_oneof![2 => Just(Sample::Packet), 1 => Just(Sample::Cumulative)];
    let last = (operations, rotor, sample, option::weighted(0.3, Impaired::draw()));
    let wiring = (second_links, changes, spread(), selective(), service, special(), last);
    (network, load, switch, transport, watched(), until, threads, wiring).prop_map(
        |(network, load, switch, transport, probes, until_us, threads, wiring)| Case {
            shape: network.0,
            rates: network.1,
            delays: network.2,
            algorithms: load.0,
            traffic: load.1,
            incast: load.2,
            buffer: switch.0.0.0,
            alphas: switch.0.0.1,
            pfc: switch.0.1.filter(|_| !wiring.5.trims()),
            ecn: switch.1,
            // Where switches trim, a port has one queue for data.
            queues: if wiring.5.trims() { 1 } else { switch.2 },
            round_robin: switch.3,
            payload: transport.0,
            ack_every: transport.1,
            ack_delay_ns: transport.2,
            rto_ns: transport.3,
            nack_interval_ns: transport.4,
            own_ack_queue: transport.5,
            probes,
            until_us,
            threads,
            second_links: wiring.0,
            changes: wiring.1,
            balancing: wiring.2.0,
            balanced: wiring.2.1,
            selective: wiring.3,
            sample: wiring.6.2,
            scheduler: wiring.4,
            rotor: wiring.6.1.filter(|_| !wiring.5.trims() && !matches!(wiring.5, Special::Bfc(..))),
            special: wiring.5,
            operations: wiring.6.0,
            impaired: wiring.6.3,
        },
    )
}

/// Events that the cases of a test have reached between them.
#[derive(Debug, Default)]
struct Reached {
    ran: u64,
    refused: u64,
    drops: u64,
    marks: u64,
    timeouts: u64,
    pauses: u64,
    backpressure: u64,
    storms: u64,
    stalls: u64,
    captured: u64,
    internals: u64,
    violations: u64,
    lost: u64,
    corrupted: u64,
    trimmed: u64,
    several_cards: u64,
    operations: u64,
    unfinished_operations: u64,
    /// Packets that an optical switch passed on.
    by_circuit: u64,
    samples: u64,
    sample_records: u64,
    messages: u64,
    messages_again: u64,
}

fn check(case: &Case, reached: &mut Reached) -> Result<(), TestCaseError> {
    let sim = case.simulation();
    let (mut kept, mut plain) = (Kept::default(), Kept::default());
    let windows = incast_sim::run(&sim, &mut kept).map_err(|error| error.to_string());
    let reference = incast_sim::run_reference(&sim, &mut plain).map_err(|error| error.to_string());
    prop_assert_eq!(&windows, &reference);
    prop_assert_eq!(&kept, &plain);
    // Whoever processes what: other threads, and other numbers of them, after every few windows.
    let (mut kept_again, mut sim) = (Kept::default(), sim);
    sim.threads += 2;
    let again = incast_sim::run_restless(&sim, &mut kept_again).map_err(|error| error.to_string());
    prop_assert_eq!(&again, &reference);
    prop_assert_eq!(&kept_again, &plain);
    match windows {
        Err(_) => reached.refused += 1,
        Ok(outcome) => {
            reached.ran += 1;
            reached.drops += outcome.dropped;
            reached.marks += outcome.ports.iter().map(|port| port.marked).sum::<u64>();
            reached.timeouts += kept.flows.iter().map(|flow| u64::from(flow.timeouts)).sum::<u64>();
            let pauses = outcome.ports.iter().map(|port| port.pauses_sent).sum::<u64>();
            let paused = if matches!(case.special, Special::Bfc(..)) {
                &mut reached.backpressure
            } else {
                &mut reached.pauses
            };
            *paused += pauses;
            reached.stalls += u64::from(matches!(outcome.end, incast_sim::record::End::Stalled(_)));
            reached.storms += outcome.ports.iter().map(|port| port.storms).sum::<u64>();
            reached.captured += kept.packets.len() as u64;
            reached.lost += outcome.lost;
            reached.corrupted += outcome.corrupted;
            reached.trimmed += outcome.trimmed;
            reached.operations += outcome.operations_ended;
            reached.unfinished_operations += outcome.unfinished_operations.len() as u64;
            let second = outcome.ports.iter().filter(|p| sim.network.is_host(p.node) && p.port > 0);
            reached.several_cards += u64::from(second.map(|port| port.packets).sum::<u64>() > 0);
            let last = sim.network.nodes.len() as u32 - 1;
            let circuits = outcome.ports.iter().filter(|p| p.node == last && sim.network.circuits.is_some());
            reached.by_circuit += circuits.map(|port| port.packets).sum::<u64>();
            reached.internals += kept.internals.len() as u64;
            if sim.network.circuits.is_some() {
                // No packet came to the optical switch in the dark, among others.
                prop_assert_eq!(&outcome.violations, &Vec::<String>::new());
            }
            // Nothing is lost track of and no buffer holds more than fits; lossless switches may drop, where the
            // headroom that a case draws does not fit into the buffer.
            for violation in &outcome.violations {
                prop_assert!(violation.contains("although PFC is on"), "{}", violation);
            }
            reached.violations += outcome.violations.len() as u64;
            if matches!(case.special, Special::Homa(_)) {
                reached.messages += kept.flows.len() as u64;
                reached.messages_again += kept.flows.iter().map(|flow| flow.resent).sum::<u64>();
            }
        }
    }
    Ok(())
}

/// Adds two switches that no host reaches and a cable between them: another median of all delays, shorter windows, or
/// nodes that are processed together. Nothing may change.
fn check_idle(case: &Case, reached: &mut Reached) -> Result<(), TestCaseError> {
    let mut sim = case.simulation();
    let mut kept = Kept::default();
    let Ok(outcome) = incast_sim::run(&sim, &mut kept) else { return Ok(()) };
    reached.ran += 1;
    reached.stalls += u64::from(matches!(outcome.end, incast_sim::record::End::Stalled(_)));
    let idle = ["first", "second"].map(|name| sim.network.add_switch(name));
    let delay = Time::from_ns([1, 30, 400, 20_000][case.until_us as usize % 4]);
    sim.network.add_link(idle[0], idle[1], Rate::from_gbps(100), delay);
    let mut beside = Kept::default();
    let mut other =
        incast_sim::run(&sim, &mut beside).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let (added, rest): (Vec<_>, Vec<_>) =
        other.ports.iter().copied().partition(|port| idle.contains(&port.node));
    prop_assert!(added.iter().map(|port| port.packets).eq([0, 0]));
    (other.ports, other.fingerprint) = (rest, outcome.fingerprint);
    prop_assert_eq!(other, outcome);
    prop_assert_eq!(beside, kept);
    Ok(())
}

#[test]
fn an_idle_part_of_the_network_changes_nothing() {
    let mut reached = Reached::default();
    for_each_case(0..300, &mut reached, check_idle);
    assert!(reached.ran > 240 && reached.stalls > 3, "{reached:?}");
}

/// Returns the seeds to run: `DIFFERENTIAL_SEEDS`, written like `0..100000`, or the first 250.
fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("DIFFERENTIAL_SEEDS") else { return 0..250 };
    let ends = text.split_once("..").and_then(|(a, b)| Some(a.parse().ok()?..b.parse().ok()?));
    ends.unwrap_or_else(|| panic!("DIFFERENTIAL_SEEDS is {text:?}; write it like 0..100000"))
}

/// Draws a case from each seed and checks it.
fn for_each_case(
    seeds: Range<u64>,
    reached: &mut Reached,
    check: impl Fn(&Case, &mut Reached) -> Result<(), TestCaseError>,
) {
    let cases = cases();
    for seed in seeds {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let config = Config { failure_persistence: None, ..Config::with_cases(1) };
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let reached = std::cell::RefCell::new(&mut *reached);
        let result = runner.run(&cases, |case| check(&case, &mut reached.borrow_mut()));
        assert!(result.is_ok(), "seed {seed}: {}", result.unwrap_err());
    }
}

#[test]
fn both_engines_give_the_same_bits() {
    let mut reached = Reached::default();
    for_each_case(seeds(), &mut reached, check);
    println!("{reached:?}");
    // The cases reach what they are made for; of a few hundred nearly all can run.
    if seeds().count() >= 200 {
        assert!(reached.refused * 10 < reached.ran, "{reached:?}");
        assert!(reached.several_cards > 20 && reached.storms > 20, "{reached:?}");
        let Reached { lost, trimmed, drops, marks, timeouts, pauses, captured, internals, .. } = reached;
        let Reached { messages, messages_again, operations, backpressure, by_circuit, corrupted, .. } =
            reached;
        let parts = [corrupted, trimmed, messages, messages_again, operations, backpressure, by_circuit];
        for one in [lost, drops, marks, timeouts, pauses, captured, internals].into_iter().chain(parts) {
            assert!(one > 100, "{reached:?}");
        }
    }
}

/// Returns the records of a run that takes a single sample of everything, at this time: a plain sampler's
/// samples then.
fn sampled_at(time: Time, sim: &Simulation) -> Kept {
    let mut sim = sim.clone();
    (sim.probes.from, sim.probes.until, sim.threads) = (time, time, 1);
    let mut told = Kept::default();
    incast_sim::run(&sim, &mut told).unwrap();
    told
}

fn check_samples(case: &Case, reached: &mut Reached) -> Result<(), TestCaseError> {
    let mut sim = case.simulation();
    // Finer, so that several samples fall between two events.
    for interval in [&mut sim.probes.port_interval, &mut sim.probes.flow_interval] {
        *interval = Time::from_ps(interval.ps() / 20);
    }
    let (mut kept, probes) = (Kept::default(), &sim.probes);
    let Ok(outcome) = incast_sim::run(&sim, &mut kept) else { return Ok(()) };
    let ports = every_sample(&kept.ports, probes.port_interval);
    let flows = every_sample(&kept.samples, probes.flow_interval);
    let internals = every_sample(&kept.internals, probes.flow_interval);
    reached.samples += (ports.len() + flows.len() + internals.len()) as u64;
    reached.sample_records += (kept.ports.len() + kept.samples.len() + kept.internals.len()) as u64;
    // A sample of every port at every instant up to the end, and none besides.
    let instants = |interval: Time| {
        let span = outcome.now.ps().checked_sub(probes.from.ps());
        span.map_or(0, |span| span / interval.ps() + 1)
    };
    let times = (0..instants(probes.port_interval))
        .map(|i| probes.from + Time::from_ps(i * probes.port_interval.ps()));
    let expected: Vec<_> =
        times.flat_map(|time| probes.ports.iter().map(move |port| (time, *port))).collect();
    prop_assert_eq!(ports.iter().map(|s| (s.time, (s.node, s.port))).collect::<Vec<_>>(), expected);
    // At the last instant and at some others, the values are those of a sampler that knows no record before.
    for draw in 0..6 {
        let chosen = |interval: Time| {
            let last = instants(interval).checked_sub(1)?;
            let place = if draw == 0 { last } else { mix(draw) % (last + 1) };
            Some(probes.from + Time::from_ps(place * interval.ps()))
        };
        if let Some(time) = chosen(probes.port_interval) {
            let then = ports.iter().filter(|sample| sample.time == time).copied().collect::<Vec<_>>();
            prop_assert_eq!(then, sampled_at(time, &sim).ports);
        }
        if let Some(time) = chosen(probes.flow_interval) {
            let plain = sampled_at(time, &sim);
            let then = flows.iter().filter(|sample| sample.time == time).copied().collect::<Vec<_>>();
            prop_assert_eq!(then, plain.samples);
            let then = internals.iter().filter(|sample| sample.time == time).copied().collect::<Vec<_>>();
            prop_assert_eq!(then, plain.internals);
        }
    }
    Ok(())
}

#[test]
fn records_stand_for_the_samples_of_a_plain_sampler() {
    let mut reached = Reached::default();
    for_each_case(0..150, &mut reached, check_samples);
    println!("{reached:?}");
    // Most samples of these cases have no record.
    assert!(reached.samples > 2 * reached.sample_records, "{reached:?}");
    assert!(reached.sample_records > 10_000, "{reached:?}");
}
