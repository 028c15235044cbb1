//! Traces: inputs of an algorithm, from the simulator and from the random signals of the property tests.

use std::cell::RefCell;
use std::fmt::Debug;
use std::ptr;

use incast_capi::params::incast_value_text;
use incast_capi::status::incast_status;
use incast_capi::types::incast_value;
use incast_cc::any::Visitor;
use incast_cc::params::{Described, Kind, Value};
use incast_cc::{
    Ack, Allowance, AnyParams, CongestionControl, Fixed, IntStack, Internal, Loss, Overhead, Path, Sent,
    Setup, Signals,
};
use incast_sim::Simulation;
use incast_sim::describe::algorithm::Algorithm;
use incast_sim::describe::balancing::Balancing;
use incast_sim::describe::flow::Flow as SimulatedFlow;
use incast_sim::describe::switch::Buffer;
use incast_sim::describe::transport::{AckEvery, Recovery};
use incast_sim::random::{draw, mix};
use incast_units::{Bytes, Time};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::trace::{Call, MEDIAN, Parameters, Writer, plain};

#[path = "../../../benches/src/acks/trace.rs"]
mod acknowledgements;
#[path = "../../sim/tests/common/mod.rs"]
mod common;
#[path = "../../cc/tests/storm/mod.rs"]
mod storm;

use common::{fat_tree, gbps, lossless_switch, rotor, simulation, us};
use storm::{Event, admitted, event, parameters, path};

thread_local! {
    /// Inputs of the flows of the recorded algorithm on this thread, each flow since its start.
    static TAPES: RefCell<Vec<Writer>> = const { RefCell::new(Vec::new()) };
}

/// An algorithm that records its inputs.
struct Recording<C> {
    flow: C,
    tape: usize,
}

/// Its parameters.
#[derive(Clone, Debug)]
struct Recorded<P>(P);

impl<P: incast_cc::Parameters> incast_cc::Parameters for Recorded<P> {
    type Derived = Setup<P>;

    fn derive(&self, path: &Path) -> Setup<P> {
        Setup::new(self.0.clone(), *path)
    }
}

impl<C> Recording<C> {
    fn write(&self, call: &Call) {
        TAPES.with_borrow_mut(|tapes| tapes[self.tape].call(call));
    }
}

impl<C: CongestionControl> CongestionControl for Recording<C> {
    type Params = Recorded<C::Params>;
    const INTERNALS: &'static [Internal] = C::INTERNALS;

    fn signals(params: &Self::Params) -> Signals {
        C::signals(&params.0)
    }

    fn overhead(params: &Self::Params) -> Overhead {
        C::overhead(&params.0)
    }

    fn new(setup: &Setup<Self::Params>, now: Time) -> Self {
        let tape = TAPES.with_borrow_mut(|tapes| {
            let mut tape = Writer::default();
            tape.start(&setup.path, now);
            tapes.push(tape);
            tapes.len() - 1
        });
        Self { flow: C::new(&setup.derived, now), tape }
    }

    fn on_ack(&mut self, setup: &Setup<Self::Params>, ack: &Ack, int: &IntStack) {
        // Telemetry is for those that ask for it.
        let int = if Self::signals(&setup.params).contains(Signals::INT) { int } else { &IntStack::EMPTY };
        self.write(&Call::Ack(*ack, *int));
        self.flow.on_ack(&setup.derived, ack, int);
    }

    fn on_cnp(&mut self, setup: &Setup<Self::Params>, now: Time) {
        self.write(&Call::Cnp(now));
        self.flow.on_cnp(&setup.derived, now);
    }

    fn on_loss(&mut self, setup: &Setup<Self::Params>, loss: &Loss) {
        self.write(&Call::Loss(*loss));
        self.flow.on_loss(&setup.derived, loss);
    }

    fn on_sent(&mut self, setup: &Setup<Self::Params>, sent: &Sent) {
        self.write(&Call::Sent(*sent));
        self.flow.on_sent(&setup.derived, sent);
    }

    fn tag(&self, setup: &Setup<Self::Params>) -> u32 {
        self.flow.tag(&setup.derived)
    }

    fn on_timer(&mut self, setup: &Setup<Self::Params>, now: Time) {
        self.write(&Call::Timer(now));
        self.flow.on_timer(&setup.derived, now);
    }

    fn deadline(&self) -> Time {
        self.flow.deadline()
    }

    fn allowance(&self, setup: &Setup<Self::Params>) -> Allowance {
        self.flow.allowance(&setup.derived)
    }

    fn probe(&self, setup: &Setup<Self::Params>, place: usize) -> Option<Value> {
        self.flow.probe(&setup.derived, place)
    }
}

/// Returns the inputs since the last call, one flow after the other, with the number of calls.
fn tapes() -> Writer {
    let mut all = Writer::default();
    TAPES.take().iter().for_each(|tape| all.append(tape));
    all
}

/// Records of an algorithm and what they came from.
#[derive(Debug, Default)]
pub struct Records {
    /// The records.
    pub writer: Writer,
    /// Calls from the simulator, and random ones.
    pub simulated: u64,
    /// Random calls.
    pub random: u64,
}

/// The options of the median in traces; the others are drawn.
const OPTIONS: [(&str, Value); 4] = [
    ("median", Value::Count(15)),
    ("median_share", Value::Ratio(Fixed::ratio(1, 2))),
    ("median_age", Value::Ratio(Fixed::whole(2))),
    ("median_pacing", Value::Ratio(Fixed::ratio(6, 5))),
];

/// Records at least `calls` calls of an algorithm, which may be behind a [`MEDIAN`]: an eighth from the simulator, three
/// quarters random.
///
/// # Errors
/// When there is no such algorithm, or when a simulation does not end well.
pub fn record(algorithm: &str, calls: u64, pool: &Pool) -> Result<Records, String> {
    let mut records = Records::default();
    let of = algorithm.strip_prefix(MEDIAN).unwrap_or(algorithm);
    let preset = |name: &str| {
        let none = || format!("no algorithm {algorithm} {name}");
        let mut params = AnyParams::named(of, Some(name)).ok_or_else(none)?;
        if of != algorithm && !OPTIONS.iter().all(|(name, value)| params.set(name, *value)) {
            return Err(none());
        }
        Ok(params)
    };
    let mut presets = Vec::new();
    AnyParams::named(of, None)
        .ok_or_else(|| format!("no algorithm {algorithm}"))?
        .presets(|name, _| presets.push(name));
    for round in 0.. {
        if records.simulated >= calls / 8 {
            break;
        }
        let name = presets[round as usize % presets.len()];
        let params = preset(name)?;
        describe(&params, name, &mut records.writer);
        // Some thousand calls a flow.
        let flows = (calls / 8_000).clamp(12, 120);
        params.visit(Simulated { name: algorithm, round, flows })?;
        records.simulated += keep(&mut records.writer);
    }
    let mut runner = TestRunner::deterministic();
    for round in 0.. {
        if records.random >= calls * 3 / 4 && records.simulated + records.random >= calls {
            break;
        }
        let name = presets[round as usize % presets.len()];
        let mut params = preset(name)?;
        // One time in three with parameters of any size.
        if round % 3 == 2 {
            // Whether there is a median is the trace's.
            let drawn = parameters(&params).into_iter().filter(|(parameter, ..)| *parameter != "median");
            for (place, (parameter, kind, _)) in drawn.enumerate() {
                params.set(parameter, admitted(kind, draw(round, place as u64)));
            }
        }
        let path = path().new_tree(&mut runner).map_err(|reason| reason.to_string())?.current();
        describe(&params, name, &mut records.writer);
        params.visit(Random { name: algorithm, path, round, pool });
        records.random += keep(&mut records.writer);
    }
    Ok(records)
}

/// Records the workload of `incast-bench --acks` for a preset: a flow across five switch ports with `events`
/// acknowledgements, each after the timer if it is due; for an algorithm that needs CNPs, CNPs and timers.
/// Packets that are sent are left out.
///
/// # Errors
/// When there is no such algorithm or preset.
pub fn acknowledged(algorithm: &str, preset: &str, events: usize) -> Result<Writer, String> {
    struct Run(usize);
    impl Visitor for Run {
        type Output = ();
        fn visit<C>(self, params: &C::Params)
        where
            C: CongestionControl + Copy + Debug,
            C::Params: Described + Copy,
        {
            let setup = Setup::new(Recorded(*params), acknowledgements::PATH);
            let mut clock = Time::from_us(50);
            let mut flow = Recording::<C>::new(&setup, clock);
            let notified = C::signals(params).contains(Signals::CNP);
            for acknowledgements::Signal { mut ack, int } in acknowledgements::signals(self.0) {
                ack.tag = flow.tag(&setup);
                let due = flow.deadline();
                if !notified {
                    if ack.now >= due {
                        flow.on_timer(&setup, ack.now);
                    }
                    flow.on_ack(&setup, &ack, &int);
                } else if ack.marked > 0 || due == Time::NEVER {
                    clock = (clock + us(50)).min(due);
                    flow.on_cnp(&setup, clock);
                } else {
                    clock = due;
                    flow.on_timer(&setup, clock);
                }
            }
        }
    }
    let params =
        AnyParams::named(algorithm, Some(preset)).ok_or_else(|| format!("no {algorithm} {preset}"))?;
    let mut records = Writer::default();
    describe(&params, preset, &mut records);
    params.visit(Run(events));
    records.append(&tapes());
    Ok(records)
}

/// Moves the tapes to the records; says how many calls they have.
fn keep(writer: &mut Writer) -> u64 {
    let tapes = tapes();
    writer.append(&tapes);
    let calls = crate::trace::Reader::new(tapes.bytes());
    calls.filter(|record| matches!(record, crate::trace::Record::Call(_))).count() as u64
}

/// Writes the parameters: those that differ from the preset.
pub(crate) fn describe(params: &AnyParams, preset: &str, writer: &mut Writer) {
    let algorithm = params.info().name;
    let mut before = Vec::new();
    if let Some(params) = AnyParams::named(algorithm, Some(preset)) {
        params.params(|_, value| before.push(value));
    }
    let (mut set, mut place) = (Vec::new(), 0);
    params.params(|info, value| {
        if before.get(place) != Some(&value) {
            set.push((info.name.to_owned(), value, text(info.kind, value)));
        }
        place += 1;
    });
    writer.parameters(&Parameters { algorithm: algorithm.to_owned(), preset: preset.to_owned(), set });
}

/// A value as the C interface reads it.
fn text(kind: Kind, value: Value) -> String {
    if let (Kind::Choice(words), Value::Choice(place)) = (kind, value) {
        return words[place].to_owned();
    }
    let (kind, number) = plain(value);
    let mut buffer = [0_u8; 64];
    let mut length = 0;
    let value = incast_value { kind, number };
    #[expect(unsafe_code, reason = "it is a function of C")]
    // SAFETY: a value, and a buffer with its size.
    let status = unsafe {
        incast_value_text(ptr::from_ref(&value), buffer.as_mut_ptr().cast(), buffer.len(), &mut length)
    };
    assert_eq!(status, incast_status::INCAST_OK);
    String::from_utf8_lossy(&buffer[..length]).into_owned()
}

/// Flows in the simulator, in networks that change from round to round.
struct Simulated<'a> {
    name: &'a str,
    round: u64,
    flows: u64,
}

impl Visitor for Simulated<'_> {
    type Output = Result<(), String>;

    fn visit<C: CongestionControl>(self, params: &C::Params) -> Result<(), String> {
        let mut sim = self.network();
        let recorded = Recorded(params.clone());
        sim.algorithms = vec![Algorithm::new::<Recording<C>>(self.name, recorded).on_one_thread()];
        let outcome =
            incast_sim::run(&sim, &mut common::Kept::default()).map_err(|error| error.to_string())?;
        if !outcome.violations.is_empty() {
            return Err(format!("{}: {:?}", self.name, outcome.violations));
        }
        Ok(())
    }
}

impl Simulated<'_> {
    fn network(&self) -> Simulation {
        let round = self.round;
        if self.name == "retcp" && round.is_multiple_of(2) {
            // Racks with an optical circuit in turn.
            let mut network = rotor(4, 2);
            network.circuits.iter_mut().for_each(|circuits| circuits.prebuffer = us(50));
            let flows = flows(8, self.flows / 3, 600_000, us(400), round);
            return simulation(network, Vec::new(), flows);
        }
        let mut sim = simulation(
            fat_tree(4, gbps(100), us(1)),
            Vec::new(),
            flows(16, self.flows, 1_000_000, us(300), round),
        );
        sim.switch = lossless_switch();
        sim.transport.rto = us(300);
        sim.until = Time::from_ms(5);
        sim.stall_after = Time::from_ms(5);
        if let Some(ecn) = &mut sim.switch.ecn {
            (ecn.kmin, ecn.kmax) = (Bytes::new(5_000), Bytes::new(100_000));
        }
        // Packets are lost, on one path or on many.
        if !round.is_multiple_of(3) {
            sim.switch.pfc = None;
            sim.switch.buffer = Buffer::PerPort(Bytes::new(60_000));
        }
        if round % 3 == 2 {
            sim.transport.recovery = Recovery::Selective;
            sim.flows.iter_mut().for_each(|flow| flow.balancing = Balancing::Random);
        }
        // Acknowledgements that stand for several packets.
        if round % 2 == 1 {
            (sim.transport.ack_every, sim.transport.ack_delay) = (AckEvery::Packets(4), Some(us(5)));
        }
        sim
    }
}

/// Random flows between hosts.
fn flows(hosts: u32, count: u64, largest: u64, span: Time, seed: u64) -> Vec<SimulatedFlow> {
    let draw = |stream: u64, i: u64| draw(mix(seed << 8 | stream), i);
    let flow = |i| {
        // Every third one to the first host.
        let source = (draw(1, i) % u64::from(hosts)) as u32;
        let other = if i % 3 == 0 { 0 } else { (draw(2, i) % u64::from(hosts)) as u32 };
        let destination = if other == source { (source + 1) % hosts } else { other };
        let size = 1 + draw(3, i) % largest;
        let start = Time::from_ps(draw(4, i) % span.ps());
        SimulatedFlow { key: mix(seed << 32 | i), ..common::flow(source, destination, size, start) }
    };
    (0..count).map(flow).collect()
}

/// Random events, made once and met by every algorithm.
#[derive(Debug)]
pub struct Pool(Vec<Event>);

impl Pool {
    /// Makes `events` of them.
    ///
    /// # Errors
    /// Never, with the distributions as they are.
    pub fn new(events: usize) -> Result<Self, String> {
        let (mut runner, strategy) = (TestRunner::deterministic(), event());
        let mut one = |i: u64| {
            let mut event = strategy.new_tree(&mut runner).map_err(|reason| reason.to_string())?.current();
            if let Event::Ack(both) = &mut event {
                // What the properties do not vary.
                let (ack, _) = both.as_mut();
                (ack.tag, ack.packet) = (draw(5, i) as u32, draw(6, i) >> (draw(7, i) % 64));
                ack.held = Time::from_ps(if draw(8, i).is_multiple_of(4) { draw(9, i) >> 42 } else { 0 });
            }
            Ok(event)
        };
        (0..events as u64).map(&mut one).collect::<Result<_, String>>().map(Self)
    }
}

/// Number of events of a flow.
const EVENTS: usize = 1500;

/// A flow that meets random events: any, or in every second round such as a network could bring.
struct Random<'a> {
    name: &'a str,
    path: Path,
    round: u64,
    pool: &'a Pool,
}

impl Visitor for Random<'_> {
    type Output = ();

    fn visit<C>(self, params: &C::Params)
    where
        C: CongestionControl + Copy + Debug,
        C::Params: Described + Copy,
    {
        let setup = Setup::new(Recorded(*params), self.path);
        let mut flow = storm::Flow::<Recording<C>>::new(self.name, setup);
        flow.most_timers = 3;
        let first = draw(10, self.round) as usize % (self.pool.0.len() - EVENTS);
        let events = &self.pool.0[first..first + EVENTS];
        if self.round.is_multiple_of(2) {
            events.iter().for_each(|event| flow.happen(event, Time::ZERO));
            return;
        }
        let mut ports = IntStack::EMPTY;
        for (i, event) in events.iter().enumerate() {
            match event {
                Event::Ack(both) => mild(&mut flow, &both.0, &both.1, &mut ports),
                Event::Sent(_) => flow.happen(event, Time::ZERO),
                _ if i % 16 == 0 => flow.happen(event, Time::ZERO),
                _ => {}
            }
        }
    }
}

/// The numbers of an acknowledgement of any size as one that follows the last within 8 us, of a packet that took
/// the base RTT or little more; the ports of the telemetry send on.
fn mild<C: CongestionControl>(
    flow: &mut storm::Flow<'_, Recording<C>>,
    any: &Ack,
    int: &IntStack,
    ports: &mut IntStack,
) {
    let path = flow.setup.path;
    let less = |time: Time, bits: u32| Time::from_ps(time.ps() >> bits);
    flow.pass(less(any.now, 22), flow.most_timers);
    let acked = path.payload.times(u64::from(any.packets % 4));
    flow.acknowledge(acked.get(), any.next_sequence >> 8);
    let queued = less(any.sent, 26);
    let sent = flow.now - path.base_rtt - queued;
    if ports.count == 0 || any.receiver_flows.is_multiple_of(64) {
        ports.count = int.count;
    }
    for (port, hop) in ports.hops.iter_mut().zip(&int.hops) {
        port.at += less(hop.at, 40);
        port.queue = Bytes::new(hop.queue.get() >> 42);
        port.transmitted += Bytes::new(hop.transmitted.get() >> 44);
        port.rate = path.line_rate.times(1 + hop.rate.bps() % 2);
    }
    let ack = Ack {
        now: flow.now,
        sent,
        received: sent + path.base_owd + queued.times_ratio(u64::from(any.receiver_flows % 101), 100),
        held: less(any.held, 4),
        acked,
        packet: flow.sequence.saturating_sub(path.payload.get()),
        sequence: flow.sequence,
        next_sequence: flow.next,
        inflight: Bytes::new(any.inflight.get() >> 40),
        inflight_now: Bytes::new(any.inflight_now.get() >> 40),
        packets: 1 + any.packets % 4,
        marked: any.marked % 2,
        hop_delay: less(any.hop_delay, 40),
        receiver_flows: any.receiver_flows % 100,
        tag: flow.controller.tag(&flow.setup),
        hole: any.hole && any.tag.is_multiple_of(8),
        ..*any
    };
    flow.controller.on_ack(&flow.setup, &ack, ports);
    flow.check();
}
