//! Algorithms from outside the catalogue, captured packets and recorded pauses.

mod common;

use common::*;
use incast_cc::{Ack, Allowance, CongestionControl, IntStack, Overhead, Parameters, Path, Setup, Signals};
use incast_sim::describe::algorithm::Algorithm;
use incast_sim::describe::switch::Pfc;
use incast_sim::record::PacketKind;
use incast_units::{Bytes, Time};

/// Halves its window when the round trip is over twice the base, else adds a packet per window.
struct Halver {
    window: Bytes,
}

/// Number of base RTTs that are too many.
#[derive(Clone, Debug)]
struct Limit(u64);

impl Parameters for Limit {
    /// The longest round trip that is not too long.
    type Derived = Time;

    fn derive(&self, path: &Path) -> Time {
        path.base_rtt.times(self.0)
    }
}

impl CongestionControl for Halver {
    type Params = Limit;

    fn signals(_: &Limit) -> Signals {
        Signals::NONE
    }
    fn overhead(_: &Limit) -> Overhead {
        Overhead { data: 10, ack: 0 }
    }
    fn new(setup: &Setup<Limit>, _: Time) -> Self {
        Self { window: setup.bdp }
    }
    fn on_ack(&mut self, setup: &Setup<Limit>, ack: &Ack, _: &IntStack) {
        if ack.rtt() > setup.derived {
            self.window = self.window.times_ratio(1, 2).max(setup.path.packet);
        } else {
            self.window += setup.path.packet.times_ratio(setup.path.packet.get(), self.window.get());
        }
    }
    fn allowance(&self, setup: &Setup<Limit>) -> Allowance {
        Allowance { window: self.window, rate: setup.path.line_rate }
    }
}

#[test]
fn an_algorithm_from_outside_runs_like_one_of_ours() {
    let flows = (0..4).map(|i| flow(i, 4, 1_000_000, us(0))).collect();
    let mut sim = simulation(star(5, gbps(100), us(1)), vec![window(u64::MAX)], flows);
    let (free, _) = run_to_end(&sim);
    sim.algorithms = vec![Algorithm::new::<Halver>("halver", Limit(2))];
    assert_eq!(sim.algorithms[0].name(), "halver");
    let (held, kept) = run_to_end(&sim);
    let peak = |o: &incast_sim::Outcome| o.ports.iter().map(|p| p.peak_queue).max();
    assert!(peak(&held) < peak(&free), "it held nothing back");
    // Its ten header bytes are on the wire: 1000 packets of 1064 B per flow, and acknowledgements.
    let to_receiver = held.ports.iter().find(|p| p.node == 5 && p.port == 4).unwrap();
    assert_eq!(to_receiver.transmitted, Bytes::new(4 * 1000 * 1064));
    // The same on two threads and on the plain engine.
    sim.threads = 2;
    assert_eq!(run_to_end(&sim), (held.clone(), kept));
    assert_eq!(incast_sim::run_reference(&sim, &mut Kept::default()).unwrap(), held);
}

#[test]
fn captured_packets_name_their_flow_and_ends() {
    let flows = vec![flow(0, 2, 3500, us(0)), flow(1, 2, 2000, us(1))];
    let mut sim = simulation(star(3, gbps(100), us(1)), vec![window(u64::MAX)], flows);
    // The port to the receiver, and the receiver's own.
    sim.probes.captures = vec![(3, 2), (2, 0)];
    let mut recorder = Kept::default();
    let with = incast_sim::run(&sim, &mut recorder).unwrap();
    let data: Vec<_> = recorder.packets.iter().filter(|p| p.kind == PacketKind::Data).collect();
    let acks: Vec<_> = recorder.packets.iter().filter(|p| p.kind == PacketKind::Ack).collect();
    assert_eq!((data.len(), acks.len()), (6, 6));
    assert!(recorder.packets.is_sorted_by_key(|p| p.time));
    for packet in data {
        let flow = sim.flows[packet.flow.unwrap() as usize];
        assert_eq!((packet.source, packet.destination), (flow.source, flow.destination));
        assert_eq!(packet.size, packet.payload + Bytes::new(54));
    }
    // First packet of flow 0: sent at 0, 84.32 ns long, 1 us on the way.
    let first = recorder.packets[0];
    assert_eq!((first.time, first.sequence, first.node), (Time::from_ps(1_084_320), 0, 3));
    for packet in acks {
        assert_eq!(packet.source, 2);
        assert_eq!(packet.destination, sim.flows[packet.flow.unwrap() as usize].source);
    }
    // Capturing changes nothing else, but the fingerprint knows of it.
    sim.probes.captures.clear();
    let without = incast_sim::run(&sim, &mut Kept::default()).unwrap();
    assert_ne!(without.fingerprint, with.fingerprint);
    assert_eq!(without, incast_sim::Outcome { fingerprint: without.fingerprint, ..with });
}

#[test]
fn pauses_are_recorded_in_pairs() {
    let flows = (0..4).map(|i| flow(i, 4, 500_000, us(0))).collect();
    let mut sim = simulation(star(5, gbps(100), us(1)), vec![window(u64::MAX)], flows);
    sim.switch = lossless_switch();
    sim.switch.pfc =
        Some(Pfc { xoff: Some(Bytes::new(50_000)), xon_offset: Bytes::new(5_000), ..Pfc::default() });
    sim.probes.pauses = true;
    let mut recorder = Kept::default();
    let outcome = incast_sim::run(&sim, &mut recorder).unwrap();
    assert!(recorder.pauses.len() > 8);
    for host in 0..4 {
        let own: Vec<_> = recorder.pauses.iter().filter(|p| p.node == host).collect();
        assert!(own.iter().enumerate().all(|(i, p)| p.paused == (i % 2 == 0)), "{own:?}");
        // Their lengths add up to the port's total.
        let total: u64 = own.chunks(2).filter(|c| c.len() == 2).map(|c| (c[1].time - c[0].time).ps()).sum();
        let port = outcome.ports.iter().find(|p| p.node == host).unwrap();
        assert_eq!(Time::from_ps(total), port.paused);
    }
}
