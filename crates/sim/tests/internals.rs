//! The records of internal quantities hold what the algorithm's own probe says at that time.

mod common;

use std::ops::ControlFlow;
use std::sync::Mutex;

use common::*;
use incast_cc::any::Visitor;
use incast_cc::params::{Described, Value};
use incast_cc::{
    Ack, Allowance, AnyParams, CongestionControl, IntStack, Internal, Loss, Overhead, Sent, Setup, Signals,
};
use incast_sim::describe::algorithm::Algorithm;
use incast_sim::describe::switch::{Ecn, MarkingPoint};
use incast_sim::record::{InternalSample, Progress};
use incast_sim::{Simulation, Sink};
use incast_units::{Bytes, Time};

/// Values from the probe of the one flow that is logged, after each call, with the time of the call.
static LOG: Mutex<Vec<(Time, Vec<Option<Value>>)>> = Mutex::new(Vec::new());

/// An algorithm that logs its probe after each call.
#[derive(Clone, Copy, Debug)]
struct Logged<C>(C);

impl<C: CongestionControl> Logged<C> {
    fn log(&self, setup: &Setup<C::Params>, now: Time) {
        let values = (0..C::INTERNALS.len()).map(|place| self.0.probe(setup, place));
        LOG.lock().unwrap().push((now, values.collect()));
    }
}

impl<C: CongestionControl> CongestionControl for Logged<C> {
    type Params = C::Params;

    const INTERNALS: &'static [Internal] = C::INTERNALS;

    fn signals(params: &C::Params) -> Signals {
        C::signals(params)
    }

    fn overhead(params: &C::Params) -> Overhead {
        C::overhead(params)
    }

    fn new(setup: &Setup<C::Params>, now: Time) -> Self {
        let flow = Self(C::new(setup, now));
        flow.log(setup, now);
        flow
    }

    fn on_ack(&mut self, setup: &Setup<C::Params>, ack: &Ack, int: &IntStack) {
        self.0.on_ack(setup, ack, int);
        self.log(setup, ack.now);
    }

    fn on_cnp(&mut self, setup: &Setup<C::Params>, now: Time) {
        self.0.on_cnp(setup, now);
        self.log(setup, now);
    }

    fn on_loss(&mut self, setup: &Setup<C::Params>, loss: &Loss) {
        self.0.on_loss(setup, loss);
        self.log(setup, loss.now);
    }

    fn on_sent(&mut self, setup: &Setup<C::Params>, sent: &Sent) {
        self.0.on_sent(setup, sent);
        self.log(setup, sent.now);
    }

    fn tag(&self, setup: &Setup<C::Params>) -> u32 {
        self.0.tag(setup)
    }

    fn on_timer(&mut self, setup: &Setup<C::Params>, now: Time) {
        self.0.on_timer(setup, now);
        self.log(setup, now);
    }

    fn deadline(&self) -> Time {
        self.0.deadline()
    }

    fn allowance(&self, setup: &Setup<C::Params>) -> Allowance {
        self.0.allowance(setup)
    }

    fn probe(&self, setup: &Setup<C::Params>, place: usize) -> Option<Value> {
        self.0.probe(setup, place)
    }
}

/// Makes the algorithm that logs.
struct Logging;

impl Visitor for Logging {
    type Output = Algorithm;

    fn visit<C>(self, params: &C::Params) -> Algorithm
    where
        C: CongestionControl + Copy + core::fmt::Debug,
        C::Params: Described + Copy,
    {
        Algorithm::new::<Logged<C>>(C::Params::ABOUT.name, *params)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Internals {
    kept: Kept,
    samples: Vec<InternalSample>,
}

impl Sink for Internals {
    fn flows(&mut self, records: &[incast_sim::record::FlowRecord]) {
        self.kept.flows(records);
    }
    fn flow_samples(&mut self, samples: &[incast_sim::record::FlowSample]) {
        self.kept.flow_samples(samples);
    }
    fn internals(&mut self, samples: &[InternalSample]) {
        self.samples.extend_from_slice(samples);
    }
    fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The algorithm of this name, so that it reacts in this network.
fn params(name: &str) -> AnyParams {
    match name {
        // No round trip here reaches TIMELY's published thresholds.
        "timely" => letter(name, &[("t_low", Value::Time(us(10))), ("t_high", Value::Time(us(60)))]),
        _ => algorithm(name, &[]),
    }
}

/// Four flows onto one host over a switch that marks.
fn incast(name: &str) -> Simulation {
    let flows = (0..4).map(|i| flow(i, 4, 400_000, Time::from_ns(700 * u64::from(i)))).collect();
    let mut sim = simulation(star(5, gbps(100), us(1)), vec![params(name)], flows);
    sim.switch.ecn = Some(Ecn {
        kmin: Bytes::new(5_000),
        kmax: Bytes::new(100_000),
        pmax: incast_cc::Fixed::ratio(1, 5),
        reference: None,
        at: MarkingPoint::Dequeue,
    });
    sim.probes.flows = vec![0, 2];
    sim.probes.flow_interval = Time::from_ns(130);
    sim.probes.internals = true;
    sim
}

fn told(sim: &Simulation) -> (incast_sim::Outcome, Internals) {
    let mut internals = Internals::default();
    let outcome = incast_sim::run(sim, &mut internals).unwrap();
    (outcome, internals)
}

#[test]
fn samples_are_what_the_algorithms_own_probe_says() {
    for info in incast_cc::any::CATALOGUE {
        let (plain, without) = told(&incast(info.name));
        // Only the first flow is of the algorithm that logs.
        let mut logging = incast(info.name);
        logging.algorithms.insert(0, params(info.name).visit(Logging));
        for flow in &mut logging.flows[1..] {
            flow.algorithm = 1;
        }
        LOG.lock().unwrap().clear();
        let (outcome, with) = told(&logging);
        let log = core::mem::take(&mut *LOG.lock().unwrap());
        assert_eq!((outcome.fingerprint, &with), (plain.fingerprint, &without), "{}", info.name);
        let mut expected = Vec::new();
        let interval = logging.probes.flow_interval;
        let of_flow = every_sample(&with.kept.samples, interval);
        for sample in of_flow.iter().filter(|sample| sample.flow == 0) {
            // A sample holds the state after everything that happened up to and at its time.
            let until = log.partition_point(|(now, _)| *now <= sample.time);
            let values = log[until - 1].1.iter().enumerate();
            expected.extend(values.filter_map(|(internal, value)| {
                Some(InternalSample {
                    time: sample.time,
                    flow: 0,
                    internal: internal as u16,
                    value: (*value)?,
                    samples: 1,
                })
            }));
        }
        let of_flow: Vec<_> = with.samples.iter().filter(|sample| sample.flow == 0).copied().collect();
        let samples = every_sample(&of_flow, interval);
        assert_eq!(samples, expected, "{}", info.name);
        assert_eq!(samples.is_empty(), info.internals.is_empty(), "{}", info.name);
    }
}

#[test]
fn samples_do_not_depend_on_threads_or_engine_and_change_nothing_else() {
    for info in incast_cc::any::CATALOGUE {
        let mut sim = incast(info.name);
        let first = told(&sim);
        for threads in [2, 4] {
            sim.threads = threads;
            assert_eq!(told(&sim), first, "{} on {threads} threads", info.name);
        }
        let mut plain = Internals::default();
        let outcome = incast_sim::run_reference(&sim, &mut plain).unwrap();
        assert_eq!((outcome, plain), first, "{} on the reference engine", info.name);

        // Without them, everything else is the same; with them, the fingerprint covers them.
        sim.probes.internals = false;
        let (outcome, without) = told(&sim);
        assert_eq!(without, Internals { samples: Vec::new(), ..first.1 }, "{}", info.name);
        assert_eq!(outcome.fingerprint == first.0.fingerprint, info.internals.is_empty(), "{}", info.name);
        assert_eq!(incast_sim::Outcome { fingerprint: first.0.fingerprint, ..outcome }, first.0);
    }
}
