//! Failures in networks, and the report of a run about them.

mod common;

use std::ops::ControlFlow;

use common::*;
use incast_sim::describe::network::{Change, LinkChange, NodeKind};
use incast_sim::describe::switch::{Buffer, OwnBuffer, Pfc, Trimming};
use incast_sim::describe::transport::{AckEvery, Kind, Recovery};
use incast_sim::record::{End, FlowRecord, FlowSample, PortSample, Progress};
use incast_sim::{Network, Simulation, Sink};
use incast_units::{Bytes, Rate, Time};

#[test]
fn pfc_never_drops_with_the_computed_headroom_and_does_with_too_little() {
    for (rate, delay) in [(gbps(100), us(1)), (gbps(25), us(5)), (gbps(400), us(2))] {
        // Uncontrolled senders, 8 to 1.
        let flows: Vec<_> = (0..8).map(|i| flow(i, 8, 2_000_000, Time::from_ns(u64::from(i)))).collect();
        let mut sim = simulation(star(9, rate, delay), vec![window(u64::MAX)], flows);
        sim.switch = shared(8_000_000);
        sim.switch.pfc = Some(Pfc { xon_offset: Bytes::new(3000), ..Pfc::default() });
        let (outcome, _) = run_to_end(&sim);
        assert_eq!(outcome.dropped, 0);
        assert!(outcome.ports.iter().map(|p| p.pauses_sent).sum::<u64>() > 0, "nobody was paused");
        assert!(outcome.ports.iter().any(|p| p.paused > Time::ZERO));
        // Room for one packet only: what is on its way when the pause goes out is lost.
        sim.switch.pfc =
            Some(Pfc { xon_offset: Bytes::new(3000), headroom: Some(Bytes::new(1100)), ..Pfc::default() });
        let mut kept = Kept::default();
        let outcome = incast_sim::run(&sim, &mut kept).unwrap();
        assert!(outcome.dropped > 0);
        // The headroom was asked for, so that what it loses is a result and not a fault of the simulator.
        assert_eq!(outcome.violations, Vec::<String>::new());
        // The flows finish all the same.
        assert_eq!(outcome.end, End::Finished);
        assert!(kept.flows.iter().all(|f| f.bytes == Bytes::new(2_000_000)));
    }
}

#[test]
fn timeouts_double_up_to_64_times() {
    // Nothing arrives: timeouts after 1, 3, 7, 15, 31 and 63 times 100 us, and then each 6.4 ms.
    let flows = vec![flow(0, 1, 1000, Time::from_ns(1))];
    let mut sim = simulation(star(2, gbps(100), us(1)), vec![window(1)], flows);
    sim.network.changes.push(Change { time: Time::ZERO, link: 1, what: LinkChange::Down });
    sim.transport.rto = us(100);
    sim.stall_after = Time::from_s(1);
    for recovery in [Recovery::GoBackN, Recovery::Selective] {
        sim.transport.recovery = recovery;
        for (until, timeouts) in
            [(299, 1), (301, 2), (6_301, 6), (12_699, 6), (12_701, 7), (19_099, 7), (32_000, 10)]
        {
            sim.until = us(until);
            let (outcome, _) = run_everywhere(&sim);
            // Every timeout has sent the one packet again.
            assert_eq!(outcome.sent, timeouts + 1, "{recovery:?} until {}", sim.until);
        }
    }
}

#[test]
fn no_loss_pattern_hangs_a_flow() {
    // Buffers of three packets: first, middle and last packets are lost, and acknowledgements too.
    for name in ["constant", "dctcp", "swift", "oscar", "dcqcn", "timely", "theta-powertcp", "ccc"] {
        let mut flows: Vec<_> =
            (0..8).map(|i| flow(i, 8, 50_000 + u64::from(i), Time::from_ns(u64::from(i)))).collect();
        flows.extend((0..8).map(|i| flow(8, i, 30_000, us(1))));
        let mut sim = simulation(star(9, gbps(100), us(1)), vec![algorithm(name, &[])], flows);
        sim.switch.buffer = Buffer::PerPort(Bytes::new(3 * 1100));
        sim.transport.rto = us(300);
        let (outcome, kept) = run_to_end(&sim);
        assert!(outcome.dropped > 0, "{name}: nothing was lost");
        assert_eq!(kept.flows.len(), 16, "{name}");
        assert!(kept.flows.iter().all(|f| f.bytes >= Bytes::new(30_000)), "{name}");
    }
}

/// Five switches in a ring, each of whose hosts sends `size` two switches clockwise, with a static PFC threshold.
fn deadlocking(size: u64) -> Simulation {
    let flows = (0..5).map(|i| flow(i, (i + 2) % 5, size, Time::ZERO)).collect();
    let mut sim = simulation(ring(5), vec![window(u64::MAX)], flows);
    sim.switch = shared(1_000_000);
    sim.switch.pfc = Some(Pfc {
        xoff: Some(Bytes::new(20_000)),
        xon_offset: Bytes::new(3000),
        headroom: Some(Bytes::new(60_000)),
        ..Pfc::default()
    });
    sim
}

#[test]
fn a_pfc_deadlock_is_found_and_its_cycle_named() {
    let mut sim = deadlocking(20_000_000);
    sim.stall_after = Time::from_ms(50);
    let (outcome, _) = run(&sim);
    let End::Stalled(stall) = &outcome.end else { panic!("{:?}", outcome.end) };
    assert_eq!(outcome.deadlock.len(), 5, "{outcome:?}");
    // Each port of the cycle belongs to another switch: the whole ring waits.
    let mut nodes: Vec<_> = outcome.deadlock.iter().map(|(node, _)| *node).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, [5, 6, 7, 8, 9]);
    assert_eq!(stall.unfinished, 5);
    assert!(stall.flows[0].1.contains("paused"), "{stall:?}");
    assert_eq!(outcome.unfinished.len(), 5);
    // The same on the plain engine.
    let plain = incast_sim::run_reference(&sim, &mut Kept::default()).unwrap();
    assert_eq!(plain, outcome);
}

/// Adds two more hosts at a switch of their own behind the first one's, which exchange data to the end.
fn deadlocking_in_a_corner() -> Simulation {
    let mut sim = deadlocking(20_000_000);
    let mut network = Network::with_hosts(7);
    let nodes: Vec<_> = (0..6).map(|i| network.add_switch(format!("s{i}"))).collect();
    for host in 0..7_u32 {
        network.add_link(host, nodes[host.min(5) as usize], gbps(100), us(1));
    }
    for i in 0..5 {
        network.add_link(nodes[i], nodes[(i + 1) % 5], gbps(100), us(1));
    }
    network.add_link(nodes[0], nodes[5], gbps(100), us(1));
    sim.network = network;
    sim.flows.push(flow(5, 6, u64::MAX, Time::ZERO));
    sim.until = Time::from_ms(12);
    sim
}

#[test]
fn a_pfc_deadlock_in_a_corner_is_found_while_other_flows_progress() {
    let mut sim = deadlocking_in_a_corner();
    sim.stall_after = Time::from_ms(5);
    let (outcome, _) = run_everywhere(&sim);
    let End::Stalled(stall) = &outcome.end else { panic!("{:?}", outcome.end) };
    // The first look, at 5 ms, finds no pause that has lasted so long; the second one does.
    assert_eq!(outcome.now.ps() / Time::from_ms(1).ps(), 10, "{}", outcome.now);
    let mut nodes: Vec<_> = outcome.deadlock.iter().map(|(node, _)| *node).collect();
    // Each port is paused by the next one's node: clockwise around the ring.
    let ring = |node: u32| (node - 7 + 1) % 5 + 7;
    assert!(nodes.windows(2).all(|pair| pair[1] == ring(pair[0])), "{nodes:?}");
    nodes.sort_unstable();
    assert_eq!(nodes, [7, 8, 9, 10, 11]);
    assert_eq!(stall.unfinished, 6);
    // The sixth flow was not slowed.
    let sixth = outcome.unfinished.iter().find(|f| f.flow == 5).unwrap();
    assert!(sixth.bytes.get() > 118_000_000, "{}", sixth.bytes);
}

#[test]
fn a_pfc_deadlock_is_named_at_the_time_limit_too() {
    let sim = deadlocking_in_a_corner();
    let (outcome, _) = run_everywhere(&sim);
    assert_eq!((&outcome.end, outcome.now), (&End::TimeLimit, sim.until));
    assert_eq!(outcome.deadlock.len(), 5);
    // Nothing of it can be said a microsecond after the first pause.
    let early = Simulation { until: us(8), ..sim };
    assert!(run_everywhere(&early).0.deadlock.is_empty());
}

/// Rings whose pauses depend on each other in a circle for a while, with flows that may or may not end: looking for
/// deadlocks every 25 us finds one exactly in those that come to a standstill.
#[test]
fn what_is_found_early_is_a_deadlock() {
    let (mut found, mut ended) = (0, 0);
    for case in 0..60_u64 {
        let draw = |what: u64| incast_sim::random::draw(case, what);
        let mut sim = deadlocking(1);
        sim.flows = (0..5)
            .flat_map(|i| (0..1 + draw(i) % 3).map(move |j| (u64::from(i as u32), j)))
            .map(|(i, j)| {
                let size = 1000 + draw(100 + 10 * i + j) % (30_000 << (case % 6));
                let to = (i + 2 - u64::from(draw(200 + 10 * i + j).is_multiple_of(6))) % 5;
                flow(i as u32, to as u32, size, Time::ZERO)
            })
            .collect();
        sim.stall_after = Time::from_ms(20);
        let (late, _) = run(&sim);
        sim.stall_after = us(25);
        let (early, _) = run_everywhere(&sim);
        let stuck = matches!(late.end, End::Stalled(_));
        assert_eq!(stuck, !late.deadlock.is_empty(), "case {case}: {:?}", late.end);
        assert_eq!(early.end == End::Finished, !stuck, "case {case}: {:?}, {:?}", early.end, late.end);
        assert_eq!(early.deadlock, late.deadlock, "case {case}");
        *(if stuck { &mut found } else { &mut ended }) += 1;
    }
    assert!(found > 5 && ended > 5, "{found} deadlocks, {ended} without");
}

#[test]
fn a_flow_that_cannot_get_through_is_named_with_what_it_waits_for() {
    // The buffer holds no packet at all.
    let mut sim =
        simulation(star(2, gbps(100), us(1)), vec![window(u64::MAX)], vec![flow(0, 1, 5000, us(0))]);
    sim.switch.buffer = Buffer::PerPort(Bytes::new(1000));
    sim.stall_after = Time::from_ms(30);
    let (outcome, _) = run(&sim);
    let End::Stalled(stall) = &outcome.end else { panic!("{:?}", outcome.end) };
    assert!(outcome.deadlock.is_empty());
    assert_eq!(stall.unfinished, 1);
    let reason = &stall.flows[0].1;
    assert!(
        reason.contains("acknowledgements of its last packets") && reason.contains("timeouts"),
        "{reason}"
    );
}

#[test]
fn the_time_limit_keeps_what_is_there() {
    let flows = vec![flow(0, 1, 100_000, us(0)), flow(1, 0, 100_000_000, us(0))];
    let mut sim = simulation(star(2, gbps(100), us(1)), vec![window(u64::MAX)], flows);
    sim.until = us(500);
    let (outcome, kept) = run(&sim);
    assert_eq!((outcome.end, outcome.now), (End::TimeLimit, us(500)));
    assert_eq!(kept.flows.len(), 1);
    assert_eq!(outcome.unfinished.len(), 1);
    assert_eq!(outcome.unfinished[0].finish, Time::NEVER);
    // Nothing arrives in the first 4.2 us; then 1000 B each 84.32 ns.
    let bytes = outcome.unfinished[0].bytes.get();
    assert!((5_800_000..5_900_000).contains(&bytes), "{bytes}");
    assert_eq!(outcome.sent, outcome.delivered + outcome.dropped + outcome.in_flight);
    assert!(outcome.in_flight > 0);
}

#[test]
fn a_flow_without_an_end_lasts_as_long_as_the_run() {
    let mut open = flow(0, 1, 1, us(0));
    open.size = Bytes::UNLIMITED;
    let mut sim =
        simulation(star(3, gbps(100), us(1)), vec![window(100_000)], vec![open, flow(2, 1, 5000, us(9))]);
    sim.until = us(100);
    let (outcome, kept) = run_to_end(&sim);
    assert_eq!((outcome.now, kept.flows.len(), outcome.unfinished.len()), (us(100), 1, 1));
    // A flow with an end that did not come to it is another matter.
    sim.until = us(10);
    assert_eq!(run(&sim).0.end, End::TimeLimit);
}

#[test]
fn a_sink_can_stop_a_run() {
    struct Stop(u32);
    impl Sink for Stop {
        fn flows(&mut self, _: &[FlowRecord]) {}
        fn port_samples(&mut self, _: &[PortSample]) {}
        fn flow_samples(&mut self, _: &[FlowSample]) {}
        fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
            assert!(progress.hops > 0 && progress.flows == 2);
            self.0 += 1;
            ControlFlow::Break(())
        }
    }
    for threads in [1, 2] {
        let flows = vec![flow(0, 1, 1 << 40, us(0)), flow(1, 0, 1 << 40, us(0))];
        let mut sim = simulation(star(2, gbps(100), us(1)), vec![window(u64::MAX)], flows);
        sim.threads = threads;
        let mut stop = Stop(0);
        let outcome = incast_sim::run(&sim, &mut stop).unwrap();
        assert_eq!(outcome.end, End::Interrupted);
        assert_eq!(outcome.violations, Vec::<String>::new());
        assert!(stop.0 >= 1);
    }
}

#[test]
fn descriptions_that_contradict_themselves_do_not_run() {
    let good = simulation(star(3, gbps(100), us(1)), vec![window(u64::MAX)], vec![flow(0, 1, 5000, us(0))]);
    let refuse = |change: &dyn Fn(&mut Simulation)| {
        let mut bad = good.clone();
        change(&mut bad);
        incast_sim::run(&bad, &mut Kept::default()).unwrap_err().to_string()
    };
    assert_eq!(refuse(&|s| s.flows[0].destination = 0), "flow 0 goes from host 0 to 0");
    assert_eq!(refuse(&|s| s.flows[0].destination = 3), "flow 0 goes from host 0 to 3");
    assert_eq!(refuse(&|s| s.flows[0].size = Bytes::ZERO), "flow 0 has nothing to send");
    assert_eq!(refuse(&|s| s.flows[0].queue = 1), "flow 0 names queue 1");
    assert_eq!(refuse(&|s| s.flows[0].algorithm = 1), "flow 0 names algorithm 1");
    let endless = |s: &mut Simulation| {
        s.flows[0].size = Bytes::UNLIMITED;
        s.until = Time::NEVER;
    };
    assert_eq!(refuse(&endless), "flow 0 would never end: it has neither a size nor a stop, nor the run");
    assert_eq!(
        refuse(&|s| s.transport.ack_every = AckEvery::Packets(256)),
        "an acknowledgement covers 1 to 255 packets, not 256"
    );
    assert_eq!(refuse(&|s| s.switch.queues = 129), "a port has 1 to 128 queues, not 129");
    assert_eq!(refuse(&|s| s.switch.quanta = vec![Bytes::new(1); 2]), "2 quanta are given for 1 queues");
    let own = |s: &mut Simulation| {
        s.switch.buffers = vec![OwnBuffer { switches: vec![2], buffer: Buffer::Unlimited }];
    };
    assert_eq!(refuse(&own), "a buffer is given for node 2, which is no switch");
    let none = refuse(&|s| s.switch.quanta = vec![Bytes::ZERO]);
    assert_eq!(none, "the quantum of queue 0 is zero: it would never be served");
    assert_eq!(refuse(&|s| s.network.links.truncate(2)), "host h2 has no link");
    let host = |s: &mut Simulation| _ = s.network.add_node("h9", NodeKind::Host);
    assert_eq!(refuse(&host), "h9 was added as a host: hosts come first, by Network::with_hosts");
    let never = refuse(&|s| s.probes.flow_interval = Time::ZERO);
    assert_eq!(never, "the time between two samples must be above zero");
}

#[test]
fn a_gap_costs_one_record_however_fine_the_interval() {
    // The one packet of a flow begins to leave the switch 84_320 ps + 1 us after its flow's start, and the
    // flow ends 2 * (84_320 ps + 1 us + 5_120 ps + 1 us) = 4_178_880 ps after it.
    let (leaves, ends) = (1_084_320, 4_178_880);
    let second = 1_000_000_000_000_u64;
    let run_with = |interval: u64, until: Time, threads: usize| {
        let flows = vec![flow(0, 1, 1000, Time::ZERO), flow(0, 1, 1000, Time::from_ps(second))];
        let mut sim = simulation(star(2, gbps(100), us(1)), vec![window(u64::MAX)], flows);
        sim.probes.ports = vec![(2, 1)];
        sim.probes.port_interval = Time::from_ps(interval);
        sim.until = until;
        sim.threads = threads;
        let (outcome, kept) = run(&sim);
        let mut plain = Kept::default();
        assert_eq!(incast_sim::run_reference(&sim, &mut plain).unwrap(), outcome);
        assert_eq!(plain, kept);
        let told = |s: &PortSample| (s.time.ps(), s.transmitted.get(), s.samples);
        (outcome.end, kept.ports.iter().map(told).collect::<Vec<_>>())
    };
    for threads in [1, 2, 3, 4, 7] {
        for interval in [1, 1000, 84_321] {
            // The last sample before an instant, and the first one from it on.
            let before = |time: u64| (time - 1) / interval * interval;
            let from = |time: u64| time.div_ceil(interval) * interval;
            let last = (second + ends) / interval * interval;
            let count = |from: u64, to: u64| (to - from) / interval;
            let (end, records) = run_with(interval, Time::NEVER, threads);
            assert_eq!(end, End::Finished);
            let expected = [
                (0, 0, 1),
                (before(leaves), 0, count(0, before(leaves))),
                (from(leaves), 1054, 1),
                (before(second + leaves), 1054, count(from(leaves), before(second + leaves))),
                (from(second + leaves), 2108, 1),
                (last, 2108, count(from(second + leaves), last)),
            ];
            assert_eq!(records, expected, "{interval} ps on {threads} threads");
            // The same with the end in the gap.
            let until = 2_000_000_000;
            let (end, records) = run_with(interval, Time::from_ps(until), threads);
            assert_eq!(end, End::TimeLimit);
            let last = until / interval * interval;
            assert_eq!(records[..3], expected[..3]);
            assert_eq!(records[3..], [(last, 1054, count(from(leaves), last))]);
        }
    }
}

#[test]
fn samples_stay_in_order_when_they_are_told_in_pieces() {
    // Eight flows with a packet each 84.32 ns at different phases, sampled each 50 ns: 600,000 records, more
    // than are kept at once. When some are told, others of the same instant may still be to come.
    let flows = (0..8).map(|i| flow(i, (i + 1) % 8, 45_000_000, Time::from_ns(u64::from(i) * 11))).collect();
    let mut sim = simulation(star(8, gbps(100), us(1)), vec![window(u64::MAX)], flows);
    sim.probes.ports = (0..8).map(|port| (8, port)).collect();
    sim.probes.port_interval = Time::from_ns(50);
    sim.probes.flows = vec![0, 3];
    sim.probes.flow_interval = Time::from_ns(70);
    let mut plain = Kept::default();
    let expected = incast_sim::run_reference(&sim, &mut plain).unwrap();
    assert!(plain.ports.len() > 500_000 && plain.ports.is_sorted_by_key(|s| (s.time, s.node, s.port)));
    for threads in [1, 3] {
        sim.threads = threads;
        let (outcome, kept) = run(&sim);
        assert_eq!(outcome, expected, "{threads} threads");
        assert!(kept == plain, "other records on {threads} threads");
    }
}

/// 2^63 ps are 9,223,372 s. At 1 bps 1,153,000 B take 9,224,000 s, and 1,152,000 B 9,216,000 s; a packet of 1,054 B takes
/// 8,432 s.
#[test]
fn what_ends_beyond_all_time_is_refused() {
    let slow = |size: u64, until: Time| {
        let mut sim = simulation(
            star(2, Rate::from_bps(1), us(1)),
            vec![window(u64::MAX)],
            vec![flow(0, 1, size, Time::ZERO)],
        );
        (sim.until, sim.stall_after, sim.transport.rto) =
            (until, Time::from_s(100_000), Time::from_s(100_000));
        sim
    };
    let refused = |sim: &Simulation| incast_sim::run(sim, &mut Kept::default()).unwrap_err().to_string();
    let late = refused(&slow(1_153_000, Time::NEVER));
    assert!(late.contains("2^63 ps (106 days)") && late.contains("flow 0 has 1.153MB"), "{late}");
    assert!(refused(&slow(1000, Time::from_s(9_223_373))).contains("the run would end at"));
    // With an end it can be run.
    let (outcome, _) = run(&slow(1_153_000, Time::from_s(20_000)));
    assert_eq!((outcome.end, outcome.sent), (End::TimeLimit, 3));
    let mut sim = slow(1000, Time::NEVER);
    sim.network.links[0].delay = Time::from_ps(1 << 62);
    assert!(refused(&sim).contains("a packet of"), "{}", refused(&sim));
}

/// Two hosts at two switches, whose link fails for a while: what is sent then is lost. (100 Gbps, 1 us each)
fn interrupted(until: Time) -> Simulation {
    let mut network = Network::with_hosts(2);
    let switches = ["s0", "s1"].map(|name| network.add_switch(name));
    for (host, switch) in (0..).zip(switches) {
        network.add_link(host, switch, gbps(100), us(1));
    }
    network.add_link(switches[0], switches[1], gbps(100), us(1));
    for (time, what) in [(Time::ZERO, LinkChange::Down), (until, LinkChange::Up)] {
        network.changes.push(Change { time, link: 2, what });
    }
    simulation(network, vec![window(u64::MAX)], vec![flow(0, 1, 1000, Time::from_ns(1))])
}

#[test]
fn a_run_goes_on_while_a_timer_is_to_expire() {
    // From the start of a packet of 1054 B to the arrival of its acknowledgement of 64 B: six links of 1 us.
    let answered = Time::from_ps(6_000_000 + 3 * (84_320 + 5_120));
    // The packet of the first nanosecond is lost. It is sent again after 1.5 s, three times the time after which a run
    // counts as stalled.
    let mut sim = interrupted(us(2));
    sim.transport.rto = Time::from_ms(1500);
    assert!(sim.stall_after < sim.transport.rto);
    for recovery in [Recovery::GoBackN, Recovery::Selective] {
        sim.transport.recovery = recovery;
        let (outcome, kept) = run_everywhere(&sim);
        assert_eq!((outcome.end, outcome.lost), (End::Finished, 1));
        assert_eq!(kept.flows[0].finish - kept.flows[0].start, Time::from_ms(1500) + answered);
    }
    // Seven are lost in 1.5 s: the timer expires after 1, 3, 7, 15, 31, 63 and 127 times 15.6 ms.
    let mut sim = interrupted(Time::from_ms(1500));
    sim.transport.rto = us(15_600);
    let (outcome, kept) = run_everywhere(&sim);
    assert_eq!((outcome.end, outcome.lost), (End::Finished, 7));
    assert_eq!(kept.flows[0].finish - kept.flows[0].start, us(127 * 15_600) + answered);
    // A link that never returns: the next expiry would be after 191 times 15.6 ms, when all doublings are over.
    sim.network.changes.pop();
    let (outcome, _) = run_everywhere(&sim);
    assert!(matches!(outcome.end, End::Stalled(_)), "{:?}", outcome.end);
}

#[test]
fn transports_with_their_own_timers_are_waited_for_too() {
    let mut ndp = interrupted(us(2));
    ndp.transport.kind = Kind::Ndp;
    ndp.switch.trimming = Some(Trimming::default());
    ndp.transport.ndp.rto = Time::from_ms(1500);
    let mut homa = interrupted(us(2));
    homa.transport.kind = Kind::Homa;
    homa.transport.homa.resend_timeout = Time::from_ms(750);
    homa.switch.queues = 8;
    // A sender of Homa waits for twice its timeout.
    for mut sim in [ndp, homa] {
        sim.algorithms.clear();
        let (outcome, kept) = run_everywhere(&sim);
        assert_eq!((outcome.end, outcome.lost), (End::Finished, 1));
        let late = kept.flows[0].finish - kept.flows[0].start - Time::from_ms(1500);
        assert_eq!(late, Time::from_ps(6_000_000 + 3 * (84_320 + 5_120)));
    }
}
