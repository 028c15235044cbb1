//! Clocks of nodes: exact ones lock flows to the order of ports where packets are dropped, own ones do not.

mod common;

use common::*;
use incast_sim::describe::network::Clock;
use incast_sim::describe::switch::Buffer;
use incast_sim::describe::transport::Recovery;
use incast_sim::record::End;
use incast_sim::{Network, Simulation};
use incast_units::{Bytes, Rate, Time};

/// Eight flows of New Reno over one link, all links 10 Gbps and 5 us, with 150 KB at each port.
fn dumbbell(clock: Clock, seed: u64) -> Simulation {
    let mut network = Network::with_hosts(16);
    let switches = [network.add_switch("left"), network.add_switch("right")];
    for host in 0..16 {
        network.add_link(host, switches[host as usize / 8], gbps(10), us(5));
    }
    network.add_link(switches[0], switches[1], gbps(10), us(5));
    network.clock = clock;
    let flows = (0..8).map(|i| long(i, i + 8, us(0), Time::from_ms(100))).collect();
    let mut sim = simulation(network, vec![algorithm("newreno", &[])], flows);
    sim.switch.buffer = Buffer::PerPort(Bytes::new(150_000));
    sim.transport.recovery = Recovery::Selective;
    sim.transport.payload = Bytes::new(1_460);
    sim.transport.rto = Time::from_ms(5);
    (sim.until, sim.seed) = (Time::from_ms(100), seed);
    sim
}

/// Jain's index of the bytes of all flows, and the shares of drops that ties decided.
fn fairness(sim: &Simulation) -> (f64, f64) {
    let (outcome, kept) = run(sim);
    let all = kept.flows.iter().chain(&outcome.unfinished);
    let bytes: Vec<f64> = all.map(|flow| flow.bytes.get() as f64).collect();
    assert_eq!(bytes.len(), 8);
    let (sum, squares) = (bytes.iter().sum::<f64>(), bytes.iter().map(|b| b * b).sum::<f64>());
    let drops: u64 = outcome.ports.iter().map(|port| port.drops).sum();
    assert!(drops > 200, "{drops}");
    (sum * sum / (8.0 * squares), outcome.tied as f64 / drops as f64)
}

#[test]
fn own_clocks_unlock_the_phases_of_flows_that_drop() {
    // Floyd and Jacobson, On Traffic Phase Effects in Packet-Switched Gateways, 1992: with exact times one flow has
    // nearly everything, and a random time about a packet, or any clock of its own, makes flows alike. A run in which
    // one of eight has all of it has an index of 1/8.
    let (jain, ties) = fairness(&dumbbell(Clock::Exact, 1));
    assert!(jain < 0.4 && ties > 0.9, "{jain} {ties}");
    for seed in 1..=5 {
        let (jain, ties) = fairness(&dumbbell(Clock::Free, seed));
        assert!(jain > 0.9 && ties < 0.05, "seed {seed}: {jain} {ties}");
    }
}

#[test]
fn a_clock_of_its_own_is_up_to_200_ppm_slow_and_a_packet_waits_up_to_a_nanosecond() {
    // A flow of 10 MB between two hosts of a star is sent in 10,000 packets of 1,054 B, 84.32 ns each at 100 Gbps: at
    // least 843.2 us on the first link, and 4 links of 1 us, one more packet and two acknowledgements of 5.12 ns.
    let exact = 10_000 * 84_320 + 4_000_000 + 84_320 + 2 * 5_120;
    let mut times = Vec::new();
    for seed in 0..40 {
        let mut sim = simulation(
            star(2, gbps(100), us(1)),
            vec![window(u64::MAX)],
            vec![flow(0, 1, 10_000_000, us(0))],
        );
        (sim.network.clock, sim.seed) = (Clock::Free, seed);
        let (outcome, _) = run_everywhere(&sim);
        assert_eq!(outcome.end, End::Finished);
        // The slowest of the two nodes on the way of the data decides: 200 ppm are 168.6 ns. Four nodes wait.
        let late = outcome.now.ps() - exact;
        assert!(late <= 168_700 + 4_000, "seed {seed}: {late} ps");
        times.push(late);
    }
    // The larger of two uniform draws has a mean of two thirds of 168.6 ns, 112.4 +- 6.3 ns (40 seeds), beside 2 ns.
    let mean = mean(&times, |late| *late as f64) / 1000.0;
    assert!((114.4 - 19.0..114.4 + 19.0).contains(&mean), "{mean} ns");
}

#[test]
fn clocks_are_exact_unless_asked_for_and_where_bounds_are_exact() {
    assert_eq!(star(2, gbps(100), us(1)).clock, Clock::Exact);
    let mut sim =
        simulation(star(2, Rate::from_gbps(100), us(1)), vec![window(9_000)], vec![flow(0, 1, 5_000, us(0))]);
    sim.network.clock = Clock::Free;
    sim.switch = lossless_switch();
    let problem = incast_sim::run(&sim, &mut Kept::default()).unwrap_err().to_string();
    assert!(problem.contains("without PFC"), "{problem}");
}

#[test]
fn ties_are_counted_by_hand() {
    // Three hosts send a packet each to the fourth at once: one leaves at once, one waits in a buffer of one packet (and
    // has arrived at this very instant), and the third has no room. A picosecond later it would be no tie.
    for (later, tied) in [(0, 1), (1, 0)] {
        let mut flows: Vec<_> = (0..3).map(|host| flow(host, 3, 1_000, us(1))).collect();
        flows[2].start = us(1) + Time::from_ps(later);
        let mut sim = simulation(star(4, gbps(100), us(1)), vec![window(u64::MAX)], flows);
        sim.switch.buffer = Buffer::PerPort(Bytes::new(1_100));
        sim.until = us(20);
        let (outcome, _) = run_everywhere(&sim);
        assert_eq!((outcome.dropped, outcome.tied), (1, tied), "{later}");
    }
}
