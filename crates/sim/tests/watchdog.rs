//! The watchdog of PFC: times of storms by hand, and rings whose deadlocks it breaks.
//!
//! A full data packet has 1054 B: 84,320 ps at 100 Gbps, 8,432,000 ps at 1 Gbps; a PFC frame 64 B: 5,120 ps.

mod common;

use common::*;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::switch::{Pfc, Storm, Watchdog};
use incast_sim::describe::transport::AckEvery;
use incast_sim::record::{End, Outcome, PortTotals};
use incast_sim::{Network, Simulation};
use incast_units::{Bytes, Time};

fn ps(time: u64) -> Time {
    Time::from_ps(time)
}

const DETECT: u64 = 50_000_000;
const RESTORE: u64 = 30_000_000;

/// Host 0 sends over two switches to host 1, whose link has 1 Gbps: the second switch pauses the first one for as long as
/// about 25 packets take. Host 2, at the first switch, has a flow to host 1, too, if it starts one.
fn behind_a_slow_link(packets: u64, watchdog: Option<(u64, Storm)>, until: u64) -> Simulation {
    let mut network = Network::with_hosts(3);
    let [first, second] = ["s0", "s1"].map(|name| network.add_switch(name));
    network.add_link(0, first, gbps(100), us(1));
    network.add_link(first, second, gbps(100), us(1));
    network.add_link(second, 1, gbps(1), us(1));
    network.add_link(2, first, gbps(100), us(1));
    let flows = vec![flow(0, 1, packets * 1000, Time::ZERO)];
    let mut sim = simulation(network, vec![window(u64::MAX)], flows);
    // Nothing but the first acknowledgement comes back.
    sim.transport.ack_every = AckEvery::Packets(255);
    sim.transport.ack_delay = Some(Time::from_s(1));
    sim.transport.rto = Time::from_s(1);
    sim.switch = shared(1_000_000);
    let watchdog = watchdog.map(|(detect, action)| {
        let restore = Some(ps(RESTORE));
        Watchdog { detect: ps(detect), restore, action }
    });
    sim.switch.pfc = Some(Pfc { xoff: Some(Bytes::new(10_000)), watchdog, ..Pfc::default() });
    sim.probes.pauses = true;
    sim.probes.ports = vec![(3, 1)];
    sim.probes.port_interval = us(1);
    sim.until = ps(until);
    sim
}

/// The port from the first switch to the second.
fn port(outcome: &Outcome) -> PortTotals {
    *outcome.ports.iter().find(|p| (p.node, p.port) == (3, 1)).unwrap()
}

/// Returns when that port is first paused and resumed without a watchdog, and the bytes of its queue `after` the pause.
fn first_pause(packets: u64, after: u64) -> (u64, u64, u64) {
    let (_, kept) = run(&behind_a_slow_link(packets, None, 400_000_000));
    let mut pauses = kept.pauses.iter().filter(|p| (p.node, p.port) == (3, 1));
    let [paused, resumed] = [(); 2].map(|()| pauses.next().unwrap());
    assert!(paused.paused && !resumed.paused);
    let samples = every_sample(&kept.ports, us(1));
    let at = samples.iter().find(|sample| sample.time >= paused.time + ps(after)).unwrap();
    (paused.time.ps(), resumed.time.ps(), at.queue.get())
}

/// Returns when the first packet of host 0 from `time` on has arrived at the first switch: packet k has after k times 84,320 ps
/// and 1 us. Those before have passed through without waiting, since they come as fast as they leave.
fn next_arrival(time: u64) -> u64 {
    1_000_000 + (time - 1_000_000).div_ceil(84_320) * 84_320
}

#[test]
fn a_storm_begins_after_the_time_to_detect_and_ends_after_the_time_to_restore() {
    let (paused, resumed, queue) = first_pause(10_000, DETECT - 2_000_000);
    assert!(resumed > paused + DETECT + 20_000_000, "{paused} to {resumed}");
    assert!(queue > 10_000 && queue.is_multiple_of(1054));
    let until = |time| {
        let (outcome, _) = run_everywhere(&behind_a_slow_link(10_000, Some((DETECT, Storm::Drop)), time));
        let port = port(&outcome);
        (port.storms, port.storm_drops, port.drops, outcome.dropped)
    };
    // The first packet that waits comes after the pause.
    let begins = next_arrival(paused) + DETECT;
    assert_eq!(until(begins - 1), (0, 0, 0, 0));
    // Everything that waits is dropped at that instant.
    let waited = queue / 1054;
    assert_eq!(until(begins + 1), (1, waited, waited, waited));
    // That resumes host 0 too: the frame is there after 1,005,120 ps, and of the packets that are sent from then on the first
    // has arrived after 1,084,320 ps. All are dropped, one each 84,320 ps, until the second switch has resumed the port and
    // the time to restore has passed.
    let comes = begins + 1_005_120 + 1_084_320;
    let ends = resumed + RESTORE;
    let all = waited + (ends - comes) / 84_320 + 1;
    assert_eq!(until(ends + 50_000), (1, all, all, all));
    // The next one is not: it is sent, and the others after it.
    assert_eq!(until(ends + 1_000_000), (1, all, all, all));
}

#[test]
fn a_pause_shorter_than_the_time_to_detect_is_none() {
    let (paused, resumed, _) = first_pause(10_000, DETECT);
    let with = |detect| {
        let (outcome, _) = run(&behind_a_slow_link(10_000, Some((detect, Storm::Drop)), resumed + 1_000_000));
        port(&outcome).storms
    };
    let held = resumed - next_arrival(paused);
    assert_eq!([held - 1, held + 1].map(with), [1, 0]);
}

#[test]
fn a_queue_without_a_packet_is_in_no_storm() {
    // All 30 packets have left the first switch when the second one pauses it.
    let (paused, resumed, queue) = first_pause(30, 1_000_000);
    assert_eq!(queue, 0);
    let with = |late: Option<u64>, until| {
        let mut sim = behind_a_slow_link(30, Some((DETECT, Storm::Drop)), until);
        sim.flows.extend(late.map(|start| flow(2, 1, 1000, ps(start))));
        let (outcome, _) = run_everywhere(&sim);
        (port(&outcome).storms, port(&outcome).storm_drops)
    };
    assert!(resumed > paused + 2 * DETECT, "{paused} to {resumed}");
    assert_eq!(with(None, resumed), (0, 0));
    // A packet that comes 20 us later has waited for that time 20 us later.
    let start = paused + 20_000_000;
    let begins = start + 1_084_320 + DETECT;
    assert_eq!(with(Some(start), begins - 1), (0, 0));
    assert_eq!(with(Some(start), begins + 1), (1, 1));
}

#[test]
fn a_watchdog_that_forwards_ignores_the_pause_and_fills_the_next_switch() {
    let (paused, resumed, _) = first_pause(10_000, DETECT);
    let begins = next_arrival(paused) + DETECT;
    let until = |time| {
        let mut sim = behind_a_slow_link(10_000, Some((DETECT, Storm::Forward)), time);
        sim.probes.captures = vec![(3, 1)];
        run_everywhere(&sim)
    };
    let (outcome, kept) = until(resumed);
    assert_eq!((port(&outcome).storms, port(&outcome).storm_drops), (1, 0));
    let sent: Vec<u64> = kept.packets.iter().map(|packet| packet.time.ps()).collect();
    assert_eq!(sent.iter().find(|time| **time > paused + 100_000), Some(&begins));
    // The headroom of the next switch is made for what comes until the pause is there: it drops, which is no violation.
    let next = outcome.ports.iter().find(|p| (p.node, p.port) == (4, 1)).unwrap();
    assert!(next.drops > 0 && outcome.violations.is_empty(), "{:?}", outcome.violations);
}

/// Five switches in a ring, each of whose hosts sends `size` two switches clockwise, with a static PFC threshold.
fn deadlocking(size: u64) -> Simulation {
    let flows = (0..5).map(|i| flow(i, (i + 2) % 5, size, Time::ZERO)).collect();
    let mut sim = simulation(ring(5), vec![window(u64::MAX)], flows);
    sim.switch = shared(1_000_000);
    sim.switch.pfc = Some(Pfc { xoff: Some(Bytes::new(20_000)), ..Pfc::default() });
    sim
}

#[test]
fn it_acts_where_the_diagnosis_finds_a_deadlock_and_breaks_it() {
    for action in [Storm::Drop, Storm::Forward] {
        let mut sim = deadlocking(2_000_000);
        sim.stall_after = Time::from_ms(1);
        let (stuck, _) = run_everywhere(&sim);
        assert!(matches!(stuck.end, End::Stalled(_)) && stuck.deadlock.len() == 5, "{:?}", stuck.end);
        let watchdog = Watchdog { detect: us(200), restore: None, action };
        sim.switch.pfc.as_mut().unwrap().watchdog = Some(watchdog);
        sim.transport.rto = us(100);
        // The first storms are those of the ports that wait on each other.
        sim.until = us(300);
        let (outcome, _) = run_everywhere(&sim);
        let storms = outcome.ports.iter().filter(|port| port.storms > 0 && port.node >= 5);
        let mut cycle = stuck.deadlock.clone();
        cycle.sort_unstable();
        assert_eq!(storms.map(|port| (port.node, port.port)).collect::<Vec<_>>(), cycle);
        sim.until = Time::from_ms(500);
        let (outcome, _) = run_everywhere(&sim);
        assert_eq!((&outcome.end, outcome.deadlock.len()), (&End::Finished, 0), "{action:?}");
        assert_eq!(outcome.violations, Vec::<String>::new());
        // Where it forwards all of the ring moves, and nothing is dropped.
        assert_eq!(outcome.dropped > 0, action == Storm::Drop);
    }
}

#[test]
fn only_the_queue_that_is_paused_is_in_a_storm() {
    // Host 2 sends to host 1 in another queue, which is lossy: it fills no headroom and is not paused.
    let (_, resumed, _) = first_pause(10_000, DETECT);
    let mut sim = behind_a_slow_link(10_000, Some((DETECT, Storm::Drop)), resumed);
    sim.switch.queues = 2;
    sim.switch.pfc.as_mut().unwrap().queues = Some([0].into_iter().collect());
    sim.flows.push(Flow { queue: 1, ..flow(2, 1, 20_000, us(60)) });
    let (outcome, kept) = run_everywhere(&sim);
    assert_eq!(port(&outcome).storms, 1);
    let record = kept.flows.iter().find(|record| record.flow == 1);
    let record = record.or_else(|| outcome.unfinished.iter().find(|record| record.flow == 1)).unwrap();
    assert_eq!((record.resent, record.timeouts), (0, 0));
}
