//! Signals of the network to the senders: telemetry, marks, notifications, and whose turn it is.

mod common;

use std::fmt;
use std::sync::{Arc, Mutex};

use common::*;
use incast_cc::{
    Ack, Allowance, CongestionControl, Fixed, IntStack, Loss, LossKind, Overhead, Parameters, Path, Setup,
    Signals,
};
use incast_sim::Simulation;
use incast_sim::describe::algorithm::Algorithm;
use incast_sim::describe::switch::{Buffer, Ecn, MarkingPoint, Scheduler};
use incast_sim::describe::transport::AckEvery;
use incast_units::{Bytes, Rate, Time};

/// Everything that a flow of [`Listener`] heard.
#[derive(Default)]
struct Heard {
    acks: Vec<(Ack, IntStack)>,
    cnps: Vec<Time>,
    losses: Vec<Loss>,
    paths: Vec<Path>,
}

/// An algorithm that controls nothing and writes down what it hears.
#[derive(Clone)]
struct Listener {
    signals: Signals,
    window: Bytes,
    rate: Rate,
    heard: Arc<Mutex<Heard>>,
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

impl Parameters for Listener {
    type Derived = ();

    fn derive(&self, _: &Path) {}
}

impl CongestionControl for Listener {
    type Params = Self;

    fn signals(params: &Self) -> Signals {
        params.signals
    }
    fn overhead(_: &Self) -> Overhead {
        Overhead { data: 42, ack: 42 }
    }
    fn new(setup: &Setup<Self>, _: Time) -> Self {
        setup.params.heard.lock().unwrap().paths.push(setup.path);
        setup.params.clone()
    }
    fn on_ack(&mut self, _: &Setup<Self>, ack: &Ack, int: &IntStack) {
        self.heard.lock().unwrap().acks.push((*ack, *int));
    }
    fn on_cnp(&mut self, _: &Setup<Self>, now: Time) {
        self.heard.lock().unwrap().cnps.push(now);
    }
    fn on_loss(&mut self, _: &Setup<Self>, loss: &Loss) {
        self.heard.lock().unwrap().losses.push(*loss);
    }
    fn allowance(&self, _: &Setup<Self>) -> Allowance {
        Allowance { window: self.window, rate: self.rate }
    }
}

fn listener(signals: Signals, window: u64, rate: Rate) -> (Algorithm, Arc<Mutex<Heard>>) {
    let heard = Arc::new(Mutex::new(Heard::default()));
    let listener = Listener { signals, window: Bytes::new(window), rate, heard: Arc::clone(&heard) };
    (Algorithm::new::<Listener>("listener", listener), heard)
}

/// Two flows of these sizes in bytes that start at once, to a third host at one switch of 100 Gbps.
fn two_to_one(algorithm: Algorithm, first: u64, second: u64) -> Simulation {
    let flows = vec![flow(0, 2, first, us(0)), flow(1, 2, second, us(0))];
    let mut sim = simulation(star(3, gbps(100), us(1)), vec![window(1)], flows);
    sim.algorithms = vec![algorithm];
    sim
}

#[test]
fn telemetry_is_what_the_port_knew_when_it_began_to_send() {
    // Two uncontrolled senders at 100 Gbps into 100 Gbps: packets of 1000 + 54 + 42 B, 87.68 ns each.
    let (algorithm, heard) = listener(Signals::INT, u64::MAX, gbps(100));
    let sim = two_to_one(algorithm, 50_000, 50_000);
    run_to_end(&sim);
    let heard = heard.lock().unwrap();
    let mut acks = heard.acks.clone();
    acks.sort_by_key(|(_, int)| int.hops[0].at);
    assert!(acks.iter().all(|(_, int)| int.count == 1 && int.hops[0].rate == gbps(100)));
    let step = Time::from_ps(1096 * 80);
    for (n, (ack, int)) in acks.iter().enumerate() {
        let hop = int.hops[0];
        // The port sends without a gap from 1 us + 87.68 ns on; before packet n it has sent n of them.
        assert_eq!(hop.at, us(1) + step + step.times(n as u64));
        assert_eq!(hop.transmitted, Bytes::new(1096 * n as u64));
        // The first is sent as it arrives, before its pair; after that a departure comes before the two
        // arrivals of the same instant: 2 n of the 100 have come, n + 1 are gone.
        let queued = if n == 0 { 0 } else { (2 * n).min(100) - (n + 1) };
        assert_eq!(hop.queue, Bytes::new(1096 * queued as u64), "packet {n}");
        // The delay at the hop is what the round trip is longer than the base.
        let waited = ack.rtt() - heard.paths[0].base_rtt;
        assert!(ack.hop_delay <= waited && waited - ack.hop_delay < Time::from_ns(1), "{ack:?}");
    }
}

#[test]
fn circuits_are_announced_and_telemetry_tells_which_port_it_was() {
    // 200 packets of 1096 B at 25 Gbps (350.72 ns each; at 100 Gbps 87.68 ns) from rack 0 to rack 1, from 200 us on:
    // packet n is in the ToR at 201 us + (n + 1) · 350.72 ns, and the day ends at 225 us.
    let (algorithm, heard) = listener(Signals::INT, u64::MAX, gbps(25));
    let mut sim = simulation(rotor(3, 1), vec![window(1)], vec![flow(0, 1, 200_000, us(200))]);
    sim.algorithms = vec![algorithm];
    run_to_end(&sim);
    let acks = &heard.lock().unwrap().acks;
    let in_tor = |n: u64| us(201) + Time::from_ps((n + 1) * 350_720);
    // The last one that fits: 201 us + 68 · 350.72 ns + 87.68 ns <= 225 us.
    let by_circuit = (0..200).take_while(|n| in_tor(*n) + Time::from_ps(87_680) <= us(225)).count();
    assert_eq!(by_circuit, 68);
    // The last acknowledgement ends the flow and is not told.
    assert_eq!(acks.len(), 199);
    for (n, (ack, int)) in (0..).zip(acks) {
        let rates: Vec<_> = int.iter().map(|(_, hop)| hop.rate).collect();
        let first = int.hops[0];
        if n < 68 {
            assert!(ack.circuit && rates == [gbps(100), gbps(25)], "{n}: {ack:?} {rates:?}");
            assert_eq!((first.at, first.transmitted), (in_tor(n), Bytes::new(1096 * n)));
        } else {
            // The others leave one after another by the uplink, which counts its own bytes.
            assert!(!ack.circuit && rates == [gbps(25); 3], "{n}: {ack:?} {rates:?}");
            assert_eq!(first.at, us(225).max(in_tor(n)));
            assert_eq!(first.transmitted, Bytes::new(1096 * (n - 68)));
        }
        assert_eq!(first.queue, Bytes::ZERO);
    }
}

#[test]
fn queues_are_served_by_priority_or_in_turn() {
    // Three flows of equal size at line rate, in queues 0, 1 and 2 of one port.
    let finish = |scheduler, quanta: &[u64]| {
        let flows: Vec<_> = (0..3).map(|i| flow(i, 3, 1_000_000, us(0))).collect();
        let mut sim = simulation(star(4, gbps(100), us(1)), vec![window(u64::MAX)], flows);
        for flow in &mut sim.flows {
            flow.queue = flow.source as u8;
        }
        sim.switch.queues = 3;
        sim.switch.scheduler = scheduler;
        sim.switch.quanta = quanta.iter().map(|q| Bytes::new(*q)).collect();
        let (_, kept) = run_to_end(&sim);
        let by_queue = |q: u32| kept.flows.iter().find(|f| sim.flows[f.flow as usize].source == q).unwrap();
        [by_queue(0).delivered.ps(), by_queue(1).delivered.ps(), by_queue(2).delivered.ps()]
    };
    // 1 MB in packets of 1054 B takes 84.32 us of the port; everything has arrived after 85.
    let one = 84_320_000_u64;
    let near = |time: u64, expected: u64| time.abs_diff(expected) < 3_000_000;
    let strict = finish(Scheduler::StrictPriority, &[]);
    assert!(near(strict[0], one) && near(strict[1], 2 * one) && near(strict[2], 3 * one), "{strict:?}");
    let fair = finish(Scheduler::RoundRobin, &[]);
    assert!(fair.iter().all(|f| near(*f, 3 * one)), "{fair:?}");
    // Deficit round robin shares by quanta: half of the port for queue 0 until it is done, after twice the
    // time; the rest for the other two alike. Quanta far below a packet change nothing.
    for quanta in [[20_000, 10_000, 10_000], [2, 1, 1]] {
        let drr = finish(Scheduler::Drr, &quanta);
        assert!(near(drr[0], 2 * one) && near(drr[1], 3 * one) && near(drr[2], 3 * one), "{drr:?}");
    }
}

#[test]
fn congestion_notifications_keep_their_distance() {
    let (algorithm, heard) = listener(Signals::CNP.and(Signals::ECN), u64::MAX, gbps(100));
    let mut sim = two_to_one(algorithm, 5_000_000, 5_000_000);
    sim.switch.ecn = Some(Ecn {
        kmin: Bytes::new(2000),
        kmax: Bytes::new(3000),
        pmax: Fixed::ONE,
        reference: None,
        at: MarkingPoint::Dequeue,
    });
    run_to_end(&sim);
    let heard = heard.lock().unwrap();
    // Every packet but the first few is marked, for 877 us: one notification each 50 us to each flow.
    let mut cnps = heard.cnps.clone();
    cnps.sort_unstable();
    assert!((34..=36).contains(&cnps.len()), "{}", cnps.len());
    assert!(cnps.windows(3).all(|w| w[2] - w[0] > us(49)), "{cnps:?}");
    assert!(heard.acks.iter().filter(|(a, _)| a.marked > 0).count() > 9_900);
}

#[test]
fn a_hole_is_reported_once_and_then_at_its_interval() {
    // While both send, the full port has room for the first one's packets only; once that is done the
    // second one's come through again, behind a hole.
    let (algorithm, heard) = listener(Signals::NONE, u64::MAX, gbps(100));
    let mut sim = two_to_one(algorithm, 150_000, 300_000);
    sim.switch.buffer = Buffer::PerPort(Bytes::new(50_000));
    run_to_end(&sim);
    let heard = heard.lock().unwrap();
    let holes: Vec<_> = heard.losses.iter().filter(|l| l.kind == LossKind::Hole).collect();
    assert!(!holes.is_empty());
    // No two reports of the same hole within the NACK interval of 500 us.
    for (i, a) in holes.iter().enumerate() {
        for b in &holes[i + 1..] {
            let same = a.sequence == b.sequence && a.next_sequence == b.next_sequence;
            assert!(!same || b.now - a.now >= us(499), "{a:?} {b:?}");
        }
    }
}

#[test]
fn one_acknowledgement_may_stand_for_several_packets() {
    let (algorithm, heard) = listener(Signals::NONE, 20_000, gbps(100));
    let mut sim = simulation(star(2, gbps(100), us(1)), vec![window(1)], vec![flow(0, 1, 1_002_500, us(0))]);
    sim.algorithms = vec![algorithm];
    (sim.transport.ack_every, sim.transport.ack_delay) = (AckEvery::Packets(8), Some(us(50)));
    let (outcome, kept) = run_to_end(&sim);
    let heard = heard.lock().unwrap();
    assert_eq!(kept.flows[0].bytes, Bytes::new(1_002_500));
    let packets: u32 = heard.acks.iter().map(|(a, _)| a.packets).sum();
    // The flow's end is not told to the algorithm: its last acknowledgement stands for 3 of 1003.
    assert_eq!(packets, 1000);
    assert!(heard.acks.iter().all(|(a, _)| a.packets == 8 && a.acked == Bytes::new(8 * 1096)));
    let replies = outcome.ports.iter().find(|p| p.node == 1).unwrap();
    assert_eq!(replies.packets, 126);
}

#[test]
fn full_windows_that_a_held_acknowledgement_keeps_waiting_are_counted() {
    // A window of 2108 B admits two packets. Four would be acknowledged at once; two wait, from the arrival of the first,
    // until `ack_delay` has passed. That happens to the first 98 of 100 packets: the last one of all is answered at once.
    // The second packet and the acknowledgement need 4.17888 us: four links of 1 us, twice 84.32 ns and twice 5.12 ns. It
    // arrives 84.32 ns after the first one, and is held for as much less than `ack_delay`.
    let counted = |every: u32, delay: Time| {
        let flows = vec![flow(0, 1, 100_000, us(0))];
        let mut sim = simulation(star(2, gbps(100), us(1)), vec![window(2_108)], flows);
        (sim.transport.ack_every, sim.transport.ack_delay) = (AckEvery::Packets(every), Some(delay));
        run_everywhere(&sim).0.held_up
    };
    assert_eq!(counted(4, us(50)), 98);
    assert_eq!(counted(4, Time::from_ns(4_400)), 98);
    // Held, but for less than the rest of the round trip.
    assert_eq!(counted(4, Time::from_ns(4_200)), 0);
    assert_eq!(counted(2, us(50)), 0);
    assert_eq!(counted(1, us(50)), 0);
}

#[test]
fn marks_at_enqueue_go_to_packets_that_find_a_queue_and_at_dequeue_to_those_that_leave_one() {
    // Four packets of 1054 B come to a port at once: the first leaves, and the others are queued. They find 0,
    // 1054 and 2108 B before them, and leave 2108, 1054 and 0 B behind.
    let flows: Vec<_> = (0..4).map(|host| flow(host, 4, 1000, Time::ZERO)).collect();
    for (at, marked) in [(MarkingPoint::Dequeue, [0, 1, 0, 0]), (MarkingPoint::Enqueue, [0, 0, 0, 1])] {
        let mut simulation = simulation(star(5, gbps(100), us(1)), vec![window(10_000)], flows.clone());
        let threshold = Bytes::new(2000);
        simulation.switch.ecn =
            Some(Ecn { kmin: threshold, kmax: threshold, pmax: Fixed::ONE, reference: None, at });
        let (_, mut kept) = run_everywhere(&simulation);
        kept.flows.sort_by_key(|flow| simulation.flows[flow.flow as usize].source);
        assert_eq!(kept.flows.iter().map(|flow| flow.marked).collect::<Vec<_>>(), marked);
    }
}
