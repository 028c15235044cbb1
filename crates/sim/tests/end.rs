//! The end of a run: which events are part of it. Neither windows of the engine nor threads nor idle parts of the
//! network have a say in that.

mod common;

use common::*;
use incast_cc::params::Value;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::network::{Change, LinkChange};
use incast_sim::describe::switch::Buffer;
use incast_sim::record::End;
use incast_sim::{Network, Simulation};
use incast_units::{Bytes, Rate, Time};

/// Cables of an idle third host; none, and several that make windows shorter.
const CABLES: [Option<Time>; 4] =
    [None, Some(Time::from_us(50)), Some(Time::from_us(5)), Some(Time::from_us(1))];

/// Two hosts at a switch, 60 us away, and an idle one with this cable.
fn beside_idle(cable: Option<Time>, flows: Vec<Flow>) -> Simulation {
    let mut network = Network::with_hosts(2 + u32::from(cable.is_some()));
    let switch = network.add_switch("s0");
    for host in 0..2 {
        network.add_link(host, switch, gbps(100), us(60));
    }
    if let Some(delay) = cable {
        network.add_link(2, switch, gbps(100), delay);
    }
    simulation(network, vec![window(u64::MAX)], flows)
}

#[test]
fn totals_stop_with_the_last_flow_whatever_else_is_there() {
    // 20 packets of 1,054 B at 100 Gbps, 84.32 ns each, over two links of 60 us; acknowledgements of 64 B take 5.12 ns.
    // The last packet arrives at 120 us + 21 x 84.32 ns, and its acknowledgement at
    // 240 us + 21 x 84.32 ns + 2 x 5.12 ns = 241.780 96 us.
    let end = Time::from_ps(240_000_000 + 21 * 84_320 + 2 * 5_120);
    // The timer begins with the first packet, and nothing is acknowledged before it expires. With 100 us all 20 packets
    // leave again from 100 us on, are forwarded from 160.1 us on, and acknowledged by the receiver from 220.2 us on: 60
    // hops beside the 40 of data and the 40 of acknowledgements. The switch would forward these after 280 us. With
    // 125 us the receiver would answer from 245.2 us on: that is after the end.
    for (rto, hops) in [(100, 140), (125, 120)] {
        for cable in CABLES {
            let mut sim = beside_idle(cable, vec![flow(0, 1, 20_000, us(0))]);
            sim.transport.rto = us(rto);
            let (outcome, _) = run_everywhere(&sim);
            assert_eq!((outcome.end, outcome.now), (End::Finished, end));
            assert_eq!((outcome.hops, outcome.sent), (hops, 40), "rto {rto} us, {cable:?}");
            let mut sent: Vec<_> = outcome.ports.iter().filter(|p| p.node < 2).map(|p| p.packets).collect();
            assert_eq!((sent.remove(0), sent[0]), (40, hops - 100));
        }
    }
}

#[test]
fn every_event_of_the_last_instant_counts_and_none_a_picosecond_later() {
    // One packet, 4 hops there and back, is acknowledged after 240 us + 2 x 84.32 ns + 2 x 5.12 ns. It is sent again when
    // its timer expires, `rto` after the start; one link later, 60 us + 84.32 ns, the switch forwards it. With an rto of
    // 180 us + 84.32 ns + 2 x 5.12 ns that is the instant at which the run ends.
    let end = Time::from_ps(240_000_000 + 2 * 84_320 + 2 * 5_120);
    let rto = 180_000_000 + 84_320 + 2 * 5_120;
    for (rto, hops) in [(rto - 1, 6), (rto, 6), (rto + 1, 5)] {
        for cable in CABLES {
            let mut sim = beside_idle(cable, vec![flow(0, 1, 1_000, us(0))]);
            sim.transport.rto = Time::from_ps(rto);
            let (outcome, _) = run_everywhere(&sim);
            assert_eq!((outcome.now, outcome.hops), (end, hops), "rto {rto} ps, {cable:?}");
        }
    }
}

#[test]
fn a_run_that_is_given_up_ends_then() {
    // No packet fits into the buffer, so that nothing ever arrives: given up 191 ms after the start of the flow, at 7 us.
    // The timer has expired after 1, 3, 7, 15, 31, 63 and 127 ms, and, no longer doubled, after 191 ms: at the picosecond
    // at which the run ends, which is not part of it.
    for cable in CABLES {
        let mut sim = beside_idle(cable, vec![flow(0, 1, 1_000, us(7))]);
        sim.switch.buffer = Buffer::PerPort(Bytes::new(1000));
        sim.transport.rto = Time::from_ms(1);
        sim.stall_after = Time::from_ms(191);
        let (outcome, _) = run_everywhere(&sim);
        assert!(matches!(outcome.end, End::Stalled(_)), "{:?}", outcome.end);
        assert_eq!((outcome.now, outcome.sent, outcome.dropped), (us(191_007), 8, 8), "{cable:?}");
    }
}

#[test]
fn a_slow_flow_has_not_stalled_between_its_packets() {
    // A packet of 1054 B at 4 kbps every 2.108 s, more than twice as long as a run waits for progress. The last of three
    // leaves after 4.216 s, and is answered after four links of 1 us, twice 84.32 ns and twice 5.12 ns.
    let mut sim = simulation(star(2, gbps(100), us(1)), vec![], vec![flow(0, 1, 3_000, us(0))]);
    sim.algorithms = vec![algorithm("constant", &[("rate", Value::Rate(Rate::from_bps(4_000)))]).into()];
    (sim.stall_after, sim.transport.rto) = (Time::from_s(1), us(500));
    let (outcome, kept) = run_everywhere(&sim);
    assert_eq!(outcome.end, End::Finished);
    assert_eq!(kept.flows[0].finish, Time::from_ms(4_216) + Time::from_ps(4_178_880));
    // Nothing fits into the buffer: after the timeout the flow waits for a repair, which has a second from when its rate
    // permits it.
    sim.switch.buffer = Buffer::PerPort(Bytes::new(1000));
    let (outcome, _) = run_everywhere(&sim);
    assert!(matches!(outcome.end, End::Stalled(_)), "{:?}", outcome.end);
    assert_eq!(outcome.now, Time::from_ms(3_108));
}

#[test]
fn a_slow_link_has_not_stalled_before_its_packet_has_arrived() {
    // A packet of 1054 B takes 8.432 s at 1 kbps, eight times as long as a run waits for progress, and an acknowledgement
    // of 64 B 512 ms. The second packet follows the first one: three times a packet and twice an acknowledgement, and four
    // links of 1 us.
    let slow = Rate::from_bps(1_000);
    let mut sim = simulation(star(2, slow, us(1)), vec![window(u64::MAX)], vec![flow(0, 1, 2_000, us(0))]);
    (sim.stall_after, sim.transport.rto, sim.until) = (Time::from_s(1), Time::from_s(60), Time::NEVER);
    let end = Time::from_ms(3 * 8_432 + 2 * 512) + us(4);
    let (outcome, _) = run_everywhere(&sim);
    assert_eq!((outcome.end, outcome.now), (End::Finished, end));
    // A link of 100 Gbps that becomes as slow as that before the packet reaches it: at the sender 84.32 ns, once more from
    // there, and a second packet behind it; the acknowledgements come back by it and leave at once.
    let mut sim =
        simulation(star(2, gbps(100), us(1)), vec![window(u64::MAX)], vec![flow(0, 1, 2_000, us(0))]);
    (sim.stall_after, sim.transport.rto, sim.until) = (Time::from_s(1), Time::from_s(60), Time::NEVER);
    sim.network.changes.push(Change { time: Time::from_ns(10), link: 1, what: LinkChange::Rate(slow) });
    let end = Time::from_ms(2 * 8_432 + 512) + us(4) + Time::from_ps(84_320 + 5_120);
    let (outcome, _) = run_everywhere(&sim);
    assert_eq!((outcome.end, outcome.now), (End::Finished, end));
    // A delay of 3 s on each link.
    let mut sim = simulation(
        star(2, gbps(100), Time::from_s(3)),
        vec![window(u64::MAX)],
        vec![flow(0, 1, 1_000, us(0))],
    );
    (sim.stall_after, sim.transport.rto, sim.until) = (Time::from_s(1), Time::from_s(60), Time::NEVER);
    let (outcome, _) = run_everywhere(&sim);
    assert_eq!((outcome.end, outcome.now), (End::Finished, Time::from_s(12) + Time::from_ps(2 * 89_440)));
}

#[test]
fn a_time_limit_cuts_before_it() {
    // As above with an rto of 100 us: up to 100 us the 20 packets of 84.32 ns take two links, and the receiver has not
    // answered: it would from 120 us + 2 x 84.32 ns on. The first packet leaves again at 100 us.
    for (until, hops) in [(Time::from_us(100), 40), (Time::from_ps(100_000_001), 41)] {
        for cable in CABLES {
            let mut sim = beside_idle(cable, vec![flow(0, 1, 20_000, us(0))]);
            (sim.transport.rto, sim.until) = (us(100), until);
            let (outcome, _) = run_everywhere(&sim);
            assert_eq!((outcome.end, outcome.now, outcome.hops), (End::TimeLimit, until, hops), "{cable:?}");
        }
    }
}
