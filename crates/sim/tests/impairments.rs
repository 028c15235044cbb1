//! Impairments in closed loop: what algorithms are given, by hand and by closed forms, on both engines and any number of
//! threads.
//!
//! A full data packet has 1054 B: 84,320 ps at 100 Gbps; an acknowledgement 64 B: 5,120 ps.

mod common;

use std::fmt;
use std::sync::{Arc, Mutex};

use common::*;
use incast_cc::{Ack, Allowance, CongestionControl, IntStack, Overhead, Parameters, Path, Setup, Signals};
use incast_sim::Simulation;
use incast_sim::describe::algorithm::Algorithm;
use incast_sim::describe::impairments::{ErrorRate, LinkErrors, NoiseKind, Share};
use incast_sim::describe::switch::Pfc;
use incast_sim::record::End;
use incast_units::{Bytes, Rate, Time};

/// The paths and the acknowledgements that algorithms were given.
#[derive(Default)]
struct Given {
    paths: Vec<Path>,
    acks: Vec<Ack>,
}

/// An algorithm without control that writes down what it is given.
#[derive(Clone)]
struct Recorder(Arc<Mutex<Given>>);

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

impl Parameters for Recorder {
    type Derived = ();

    fn derive(&self, _: &Path) {}
}

impl CongestionControl for Recorder {
    type Params = Self;

    fn signals(_: &Self) -> Signals {
        Signals::ONE_WAY_DELAY
    }
    fn overhead(_: &Self) -> Overhead {
        Overhead::default()
    }
    fn new(setup: &Setup<Self>, _: Time) -> Self {
        setup.params.0.lock().unwrap().paths.push(setup.path);
        setup.params.clone()
    }
    fn on_ack(&mut self, _: &Setup<Self>, ack: &Ack, _: &IntStack) {
        self.0.lock().unwrap().acks.push(*ack);
    }
    fn allowance(&self, _: &Setup<Self>) -> Allowance {
        Allowance { window: Bytes::UNLIMITED, rate: Rate::from_gbps(10) }
    }
}

/// Two hosts at a switch of 100 Gbps with links of 1 us; host 0 sends `packets` full packets to host 1 at 10 Gbps from
/// 1 ms on: none waits for another.
fn spaced(packets: u64) -> (Simulation, Arc<Mutex<Given>>) {
    let given = Arc::new(Mutex::new(Given::default()));
    let flows = vec![flow(0, 1, packets * 1000, Time::from_ms(1))];
    let mut sim = simulation(star(2, gbps(100), us(1)), vec![window(1)], flows);
    sim.algorithms = vec![Algorithm::new::<Recorder>("recorder", Recorder(Arc::clone(&given)))];
    (sim, given)
}

/// The base RTT of that network: 4 us, a packet on two links and its acknowledgement on two.
const BASE_RTT: u64 = 4_000_000 + 2 * 84_320 + 2 * 5_120;
/// The part of the data packet.
const BASE_OWD: u64 = 2_000_000 + 2 * 84_320;

#[test]
fn algorithms_are_given_a_base_rtt_that_is_wrong_by_a_share() {
    for (error, rtt, owd) in [
        (0, BASE_RTT, BASE_OWD),
        // By hand: 4.17888 us less a fifth are 3.343104 us, 2.16864 us less a fifth 1.734912 us.
        (-200_000_000_000_000_000, 3_343_104, 1_734_912),
        (500_000_000_000_000_000, 6_268_320, 3_252_960),
    ] {
        let (mut sim, given) = spaced(3);
        sim.impairments.base_rtt_error = Share::of_attos(error);
        let (_, kept) = run_everywhere(&sim);
        let path = given.lock().unwrap().paths[0];
        assert_eq!((path.base_rtt.ps(), path.base_owd.ps()), (rtt, owd));
        // What the network takes is the same, and so is the record of it.
        assert_eq!(kept.flows[0].base_rtt.ps(), BASE_RTT);
        assert!(given.lock().unwrap().acks.iter().all(|ack| ack.rtt().ps() == BASE_RTT));
    }
}

#[test]
fn round_trips_are_measured_by_one_clock_and_one_way_delays_by_two() {
    let (mut sim, given) = spaced(200);
    sim.impairments.clock_offset = us(5);
    sim.impairments.clock_drift = Share::of_attos(10_000_000_000_000_000);
    run(&sim);
    let given = given.lock().unwrap();
    let [first, .., last] = &given.acks[..] else { panic!("acknowledgements") };
    // All RTTs are wrong by the same share, at most 1 %, to the picosecond of rounding.
    let [a, b] = [first, last].map(|ack| ack.rtt().ps() as i64 - BASE_RTT as i64);
    assert!(a != 0 && a.unsigned_abs() <= BASE_RTT / 100 && a.abs_diff(b) <= 1, "{a} {b}");
    // One-way delays have the difference of the clocks: two offsets of at most 5 us and, after 1 ms, two drifts of at
    // most 10 us. It grows steadily: 198 packets, 843.2 ns apart, later by their drift in relation to each other.
    let error = |ack: &Ack| ack.received.ps() as i64 - ack.sent.ps() as i64 - BASE_OWD as i64;
    let seen: Vec<i64> = given.acks.iter().map(error).collect();
    assert!(seen.iter().all(|error| error.abs() < 35_000_000), "{seen:?}");
    let steps: Vec<i64> = seen.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(steps[0] != 0 && steps.iter().all(|step| step.abs_diff(steps[0]) <= 2), "{steps:?}");
    assert!(steps[0].unsigned_abs() <= 2 * 843_200 / 100, "{steps:?}");
}

#[test]
fn errors_of_stamps_lengthen_round_trips_and_nothing_else() {
    let exact = {
        let (sim, _) = spaced(20_000);
        run_everywhere(&sim).1
    };
    for (kind, mean, deviation) in [
        (NoiseKind::Exponential, 300_000.0, 300_000.0),
        (NoiseKind::Uniform, 300_000.0, 173_205.0),
        (NoiseKind::Normal, 0.0, 300_000.0),
    ] {
        let (mut sim, given) = spaced(20_000);
        sim.impairments.timestamp_noise = Time::from_ns(300);
        sim.impairments.timestamp_noise_kind = kind;
        // An algorithm without control sends as before: every record is that of exact stamps.
        assert_eq!(run(&sim).1.flows, exact.flows);
        let given = given.lock().unwrap();
        let errors: Vec<f64> = given.acks.iter().map(|ack| ack.rtt().ps() as f64 - BASE_RTT as f64).collect();
        // The one-way delay has the same error.
        let one_way = |ack: &Ack| ack.owd().ps() as f64 - BASE_OWD as f64;
        assert!(given.acks.iter().zip(&errors).all(|(ack, error)| one_way(ack) == *error));
        let n = errors.len() as f64;
        let found = errors.iter().sum::<f64>() / n;
        // Within five standard errors.
        assert!((found - mean).abs() < 5.0 * deviation / n.sqrt(), "{kind:?}: {found}");
        let spread = (errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / n).sqrt();
        assert!((spread / deviation - 1.0).abs() < 0.03, "{kind:?}: {spread}");
    }
}

#[test]
fn noise_and_clocks_are_the_same_on_both_engines_and_any_number_of_threads() {
    // Eight flows of three algorithms that measure delays, with everything at once.
    let flows = (0..8).map(|i| {
        let mut flow = flow(i, 8, 200_000, us(u64::from(i)));
        flow.algorithm = (i % 3) as u16;
        flow
    });
    let algorithms = ["oscar", "ccc", "mswift"].map(|name| incast_cc::AnyParams::named(name, None).unwrap());
    let mut sim = simulation(star(9, gbps(100), us(3)), algorithms.to_vec(), flows.collect());
    let exact = run_everywhere(&sim).0.fingerprint;
    sim.impairments.timestamp_noise = us(1);
    sim.impairments.clock_offset = us(1);
    sim.impairments.clock_drift = Share::of_attos(100_000_000_000_000);
    let first = run_everywhere(&sim).0.fingerprint;
    assert_ne!(first, exact);
    sim.seed += 1;
    assert_ne!(run_everywhere(&sim).0.fingerprint, first);
}

/// Errors of a link: of thousandths of the packets.
fn packet_errors(link: u32, permille: i64, burst: Option<u64>) -> LinkErrors {
    let rate = ErrorRate::Packet(Share::of_attos(permille * 1_000_000_000_000_000));
    LinkErrors { link, rate, burst }
}

#[test]
fn corrupted_packets_are_lost_as_often_as_the_closed_form_says() {
    // The link of host 0 corrupts 1 % of the packets, the link of host 1 one bit in 10^6: 0.84 % of the data packets, and
    // 0.05 % of the acknowledgements (512 bits).
    let (mut sim, _) = spaced(20_000);
    sim.transport.rto = us(100);
    let bits = ErrorRate::Bit(Share::of_attos(1_000_000_000_000));
    sim.impairments.errors =
        vec![packet_errors(0, 10, None), LinkErrors { link: 1, rate: bits, burst: None }];
    let (outcome, kept) = run_to_end(&sim);
    let port = |node, port| outcome.ports.iter().find(|p| (p.node, p.port) == (node, port)).unwrap();
    let of_bits = |bits: f64| -f64::exp_m1(bits * f64::ln_1p(-1e-6));
    // From and to host 0, then to and from host 1.
    let expected = [(0, 0, 0.01), (2, 0, 0.01), (2, 1, of_bits(8432.0)), (1, 0, of_bits(512.0))];
    for (node, index, p) in expected {
        let totals = port(node, index);
        let (n, found) = (totals.packets as f64, totals.corrupted as f64);
        assert!((found - n * p).abs() < 5.0 * (n * p * (1.0 - p)).sqrt(), "{node}:{index}: {found} of {n}");
    }
    // Data packets go from host 0 and to host 1; each that was lost was corrupted, and sent again.
    assert_eq!(outcome.lost, port(0, 0).corrupted + port(2, 1).corrupted);
    assert_eq!((outcome.corrupted, outcome.dropped), (outcome.lost, 0));
    assert_eq!(kept.flows[0].bytes, Bytes::new(20_000_000));
    assert!(kept.flows[0].resent >= outcome.lost);
    // No packet through a port without errors is lost.
    sim.impairments.errors.truncate(1);
    let (outcome, _) = run_to_end(&sim);
    assert_eq!(outcome.ports.iter().filter(|port| port.corrupted > 0).count(), 2);
}

#[test]
fn a_lossless_fabric_may_corrupt_data_and_no_frame() {
    // Eight to one with pauses, and links that corrupt 1 % of the packets, in bursts of 3 on average.
    let flows = (0..8).map(|i| flow(i, 8, 500_000, Time::ZERO)).collect();
    let mut sim = simulation(star(9, gbps(100), us(1)), vec![window(u64::MAX)], flows);
    sim.switch = shared(300_000);
    sim.switch.pfc = Some(Pfc { xoff: Some(Bytes::new(10_000)), ..Pfc::default() });
    sim.transport.rto = us(200);
    sim.probes.pauses = true;
    sim.impairments.errors = (0..9).map(|link| packet_errors(link, 10, Some(3 << 32))).collect();
    let (outcome, kept) = run_everywhere(&sim);
    assert_eq!((&outcome.end, outcome.dropped), (&End::Finished, 0));
    assert!(outcome.corrupted > 50 && outcome.lost == outcome.corrupted, "{}", outcome.corrupted);
    // Pauses and resumes alternate at each host: no frame is missing.
    let mut seen = 0;
    for host in 0..8 {
        let states: Vec<bool> = kept.pauses.iter().filter(|p| p.node == host).map(|p| p.paused).collect();
        seen += states.len();
        assert!(states.iter().zip(0..).all(|(paused, i)| *paused == (i % 2 == 0)), "{host}: {states:?}");
    }
    assert!(seen > 100, "{seen} pauses and resumes");
}

#[test]
fn errors_name_links_that_exist() {
    let (mut sim, _) = spaced(1);
    sim.impairments.errors = vec![packet_errors(2, 10, None)];
    let refused = incast_sim::run(&sim, &mut Kept::default()).unwrap_err().to_string();
    assert_eq!(refused, "link 2 has errors, of 2 links");
}
