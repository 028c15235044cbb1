//! Hosts that take packets slowly, by hand to the picosecond.
//!
//! A full data packet has 1054 B: 84,320 ps at 100 Gbps, 168,640 ps at 50 Gbps; an acknowledgement and a PFC frame 64 B:
//! 5,120 ps at 100 Gbps. With u = 84,320 ps, packet k of a host that sends without a gap over a switch and two links of 1 us
//! has arrived at 2 us + (k + 2) u.

mod common;

use common::*;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::impairments::Receiver;
use incast_sim::describe::network::{Change, LinkChange};
use incast_sim::describe::switch::Pfc;
use incast_sim::describe::transport::AckEvery;
use incast_sim::record::{End, Outcome, PortTotals};
use incast_sim::{Network, Simulation};
use incast_units::{Bytes, Rate, Time};

/// Time of a full packet at 100 Gbps.
const U: u64 = 84_320;

/// Host 0 sends packets to host 1, which takes them at this rate from a buffer of this size.
fn slow(packets: u64, rate: Rate, buffer: u64) -> Simulation {
    let flows = vec![flow(0, 1, packets * 1000, Time::ZERO)];
    let mut sim = simulation(star(2, gbps(100), us(1)), vec![window(u64::MAX)], flows);
    sim.impairments.receivers = vec![Receiver { host: 1, rate, buffer: Bytes::new(buffer) }];
    sim
}

/// The totals of the port of a node.
fn port(outcome: &Outcome, node: u32, port: u16) -> PortTotals {
    *outcome.ports.iter().find(|totals| (totals.node, totals.port) == (node, port)).unwrap()
}

#[test]
fn packets_are_taken_one_after_the_other() {
    // The first packet has arrived at 2 us + 2u and is taken 2u later, each other one 2u after the one before: the third at
    // 2 us + 8u. Its acknowledgement takes 2 us and twice 5,120 ps. Nothing of this is a queue of the network.
    let (outcome, kept) = run_everywhere(&slow(3, gbps(50), 100_000));
    let flow = kept.flows[0];
    let delivered = Time::from_ps(2_000_000 + 8 * U);
    let finish = delivered + Time::from_ps(2_010_240);
    assert_eq!((flow.delivered, flow.finish, flow.ideal), (delivered, finish, finish));
    // One packet: 2 us + 4u, and back.
    assert_eq!(flow.base_rtt, Time::from_ps(4_010_240 + 4 * U));
    assert_eq!((outcome.dropped, port(&outcome, 1, 0).receiver_drops), (0, 0));
}

#[test]
fn acknowledgements_are_taken_slowly_too() {
    // At 1 Gbps 64 B take 512 ns.
    let mut sim = slow(1, gbps(1), 100_000);
    sim.impairments.receivers[0].host = 0;
    let (_, kept) = run_everywhere(&sim);
    let finish = Time::from_ps(4_000_000 + 2 * U + 10_240 + 512_000);
    assert_eq!((kept.flows[0].finish, kept.flows[0].base_rtt), (finish, finish));
}

#[test]
fn what_finds_the_buffer_full_is_dropped() {
    // Eight packets arrive at 2, 3, … 9 (in u, after 2 us), and one that has been taken leaves its place to one that comes at
    // that instant. With room for three: 0 at 2, 1 at 3; at 4 packet 0 is taken, 2 comes; 3 at 5; at 6 packet 1 is taken, 4
    // comes; 5 at 7 finds 2, 3 and 4; at 8 packet 2 is taken, 6 comes; 7 at 9 finds 3, 4 and 6. With a byte less there is
    // room for two, and 3, 5 and 7 find none.
    for (buffer, drops) in [(3 * 1054, 2), (3 * 1054 - 1, 3)] {
        let mut sim = slow(8, gbps(50), buffer);
        // Before anything is sent again.
        sim.until = us(4);
        let (outcome, _) = run_everywhere(&sim);
        let card = port(&outcome, 1, 0);
        assert_eq!((outcome.dropped, card.receiver_drops, card.drops), (drops, drops, drops));
        assert_eq!(card.dropped, Bytes::new(drops * 1054));
        // In the end all of it arrives.
        sim.until = Time::from_s(10);
        let (outcome, kept) = run_everywhere(&sim);
        assert_eq!((outcome.end, kept.flows[0].bytes), (End::Finished, Bytes::new(8000)));
    }
}

/// 100 packets to a host that takes them at 50 Gbps from a buffer of three packets and the headroom, and acknowledges them
/// in the end.
fn paused() -> Simulation {
    let headroom = Pfc::headroom_for(gbps(100), us(1), Bytes::new(1054), 1);
    assert_eq!(headroom, Bytes::new(28_226));
    let mut sim = slow(100, gbps(50), headroom.get() + 3 * 1054);
    sim.transport.ack_every = AckEvery::Packets(255);
    sim.transport.ack_delay = Some(Time::from_s(1));
    sim.switch = shared(1_000_000);
    sim.switch.pfc = Some(Pfc { xon_offset: Bytes::new(1054), ..Pfc::default() });
    sim.probes.pauses = true;
    sim
}

#[test]
fn a_slow_receiver_pauses_its_switch() {
    // In u after 2 us: at 5 there are three packets in the buffer (1, 2 and 3), at 6 one is taken and one comes, at 7 the
    // fourth crosses the threshold. The frame takes 5,120 ps and 1 us.
    let pause = 2_000_000 + 7 * U + 1_005_120;
    // The switch begins packet k at 1 us + (k + 1)u: number 29 at 3,529,600 ps is the last before the pause at 3,595,360. It
    // has arrived at 31. Until then 14 packets are taken, at 4, 6, … 30, so that 16 are left, three in the first part of the
    // buffer and 13 in the headroom. The 14th of these is taken at 32 + 26: the headroom is empty, and the rest one packet
    // below the threshold.
    let resume = 2_000_000 + 58 * U + 1_005_120;
    let sim = Simulation { until: Time::from_ps(resume + 10), ..paused() };
    let (outcome, kept) = run_everywhere(&sim);
    let pauses: Vec<_> = kept.pauses.iter().map(|p| (p.node, p.port, p.paused, p.time.ps())).collect();
    assert_eq!(pauses, [(2, 1, true, pause), (2, 1, false, resume)]);
    assert_eq!(port(&outcome, 2, 1).paused, Time::from_ps(resume - pause));
    assert_eq!(port(&outcome, 1, 0).pauses_sent, 1);
    // Packet 30 leaves the switch as it is resumed, and arrives 1 us + u later. The card has taken all others by 62, and takes
    // 70 packets from then on, each for 2u.
    let (outcome, kept) = run_everywhere(&paused());
    assert_eq!((outcome.dropped, outcome.end), (0, End::Finished));
    // There are more pauses after that, and none lets the card run dry but the first one.
    assert!(kept.flows[0].delivered >= Time::from_ps(resume + 1_000_000 + U + 70 * 2 * U));
}

#[test]
fn a_pause_that_an_outage_has_ended_is_asked_for_again() {
    // The link of host 1 fails at 4 us, in the pause, and returns at 5 us: what the switch has of the pause is forgotten at
    // 4 us, and the card's frame is at the switch 1,005,120 ps after the return.
    let mut sim = paused();
    let change = |time, what| Change { time: us(time), link: 1, what };
    sim.network.changes = vec![change(4, LinkChange::Down), change(5, LinkChange::Up)];
    sim.transport.rto = us(100);
    sim.until = Time::from_ps(6_005_121);
    let (_, kept) = run_everywhere(&sim);
    let pauses: Vec<_> = kept.pauses.iter().map(|p| (p.node, p.paused, p.time.ps())).collect();
    let pause = 2_000_000 + 7 * U + 1_005_120;
    assert_eq!(pauses, [(2, true, pause), (2, false, 4_000_000), (2, true, 6_005_120)]);
}

#[test]
fn one_byte_less_of_headroom_would_drop() {
    // Packets of 1000 B take 80 ns at 100 Gbps, a PFC frame 5.12 ns, the links of hosts 1 and 2 397.44 ns. Host 1 sends to
    // host 2 without a gap, which takes the first packet for 8 us. The first fills the threshold of 1000 B; the second
    // crosses it at t = 3 · 80 + 2 · 397.44 ns. At this very instant host 2 begins the second packet to host 0: the pause
    // waits for it and arrives at t + 80 + 5.12 + 397.44 = 1517.44 ns, as the switch begins packet 13 (from 0), at 477.44
    // + 13 · 80. Packets 1 to 13 are in the headroom: 13,000 B.
    let delay = Time::from_ps(397_440);
    let mut network = Network::with_hosts(3);
    let switch = network.add_switch("s0");
    (0..3).for_each(|host| network.add_link(host, switch, gbps(100), delay));
    let own = flow(2, 0, 2 * 946, Time::from_ps(240_000 + 794_880 - 80_000));
    let mut sim = simulation(network, vec![window(u64::MAX)], vec![flow(1, 2, 40 * 946, Time::ZERO), own]);
    sim.transport.payload = Bytes::new(946);
    sim.transport.ack_every = AckEvery::Packets(255);
    sim.switch = shared(1_000_000);
    sim.until = us(3);
    let mut drops = |headroom: u64| {
        let receiver = Receiver { host: 2, rate: gbps(1), buffer: Bytes::new(1000 + headroom) };
        sim.impairments.receivers = vec![receiver];
        let headroom = Some(Bytes::new(headroom));
        sim.switch.pfc = Some(Pfc { xon_offset: Bytes::ZERO, headroom, ..Pfc::default() });
        let (outcome, _) = run_everywhere(&sim);
        port(&outcome, 2, 0).receiver_drops
    };
    assert_eq!(Pfc::headroom_for(gbps(100), delay, Bytes::new(1000), 1), Bytes::new(13_000));
    assert_eq!([13_000, 12_999].map(&mut drops), [0, 1]);
}

#[test]
fn a_lossy_queue_is_dropped_beside_a_lossless_one() {
    // Both queues of a port share the buffer. The lossless one has 28,226 B of headroom; 1054 B are for all.
    let mut sim = paused();
    sim.impairments.receivers[0].buffer = Bytes::new(28_226 + 1054);
    sim.switch.queues = 2;
    sim.switch.pfc.as_mut().unwrap().queues = Some([0].into_iter().collect());
    sim.network = star(3, gbps(100), us(1));
    sim.flows.push(Flow { queue: 1, ..flow(2, 1, 100_000, Time::ZERO) });
    sim.transport.rto = Time::from_ms(1);
    sim.until = us(20);
    let (outcome, _) = run_everywhere(&sim);
    let card = port(&outcome, 1, 0);
    assert!(card.receiver_drops > 10 && card.receiver_drops == outcome.dropped && card.pauses_sent > 0);
}

#[test]
fn a_receiver_that_cannot_be_is_refused() {
    let problem = |change: &dyn Fn(&mut Simulation)| {
        let mut sim = paused();
        change(&mut sim);
        incast_sim::run(&sim, &mut Kept::default()).unwrap_err().to_string()
    };
    let buffer =
        |bytes: u64| move |sim: &mut Simulation| sim.impairments.receivers[0].buffer = Bytes::new(bytes);
    for (said, expected) in [
        (problem(&buffer(1053)), "h1: a receive buffer of 1.053KB cannot hold a packet of 1.054KB"),
        (
            problem(&buffer(28_226)),
            "h1: a buffer of 28.226KB cannot hold 28.226KB of PFC headroom and 0B of reserves",
        ),
        (problem(&|sim| sim.impairments.receivers[0].host = 2), "node 2 takes packets at 50Gbps"),
        (problem(&|sim| sim.impairments.receivers[0].rate = Rate::ZERO), "node 1 takes packets at 0bps"),
        (
            problem(&|sim| sim.impairments.receivers.extend_from_within(..)),
            "host 1 takes packets in two ways",
        ),
    ] {
        assert!(said.contains(expected), "{said}");
    }
}
