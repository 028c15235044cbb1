//! Flows that are messages of a connection: their packets follow one another, and so do their congestion states.

mod common;

use common::*;
use incast_sim::Simulation;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::network::{Change, LinkChange};
use incast_sim::describe::transport::{AfterIdle, Recovery};
use incast_sim::record::FlowRecord;
use incast_units::{Bytes, Time};

/// Messages of these sizes that start at these times, from host 0 to host 1.
fn messages(of: &[(u64, Time)]) -> Vec<Flow> {
    let message =
        |(size, start): &(u64, Time)| Flow { key: 7, connection: Some(0), ..flow(0, 1, *size, *start) };
    of.iter().map(message).collect()
}

/// The records in the order of the flows.
fn by_flow(kept: &Kept) -> Vec<FlowRecord> {
    let mut records = kept.flows.clone();
    records.sort_by_key(|record| record.flow);
    records
}

/// Bytes at 100 Gbps.
fn wire(bytes: u64) -> Time {
    Time::from_ps(80 * bytes)
}

#[test]
fn the_packets_of_a_message_follow_those_of_the_one_before() {
    // Packets of 1054, 1054, 554 and then of 1054, 554 B: the switch has sent the third when the fourth has arrived,
    // after 3 · 1054 + 554 B. The last one leaves it after 4 · 1054 + 2 · 554 B. Each of 2 links takes 1 us each way,
    // and an acknowledgement has 64 B.
    let star = star(2, gbps(100), us(1));
    let sim = simulation(star, vec![window(1_000_000)], messages(&[(2_500, us(0)), (1_500, us(0))]));
    let (_, kept) = run_everywhere(&sim);
    let ends: Vec<Time> = by_flow(&kept).iter().map(|record| record.finish).collect();
    let back = us(4) + wire(2 * 64);
    assert_eq!(ends, [wire(3 * 1054 + 554) + back, wire(4 * 1054 + 2 * 554) + back]);
    // Without a connection the card takes their packets in turn: of 1054, 1054, 1054, 554, 554 B.
    let mut apart = sim.clone();
    apart.flows.iter_mut().for_each(|flow| flow.connection = None);
    let (_, kept) = run_everywhere(&apart);
    let ends: Vec<Time> = by_flow(&kept).iter().map(|record| record.finish).collect();
    assert_eq!(ends, [wire(4 * 1054 + 2 * 554) + back, wire(4 * 1054 + 554) + back]);
}

#[test]
fn the_bytes_of_short_packets_count_as_they_are() {
    // A window of 1200 B: while fewer are in flight a packet may leave. Messages of 100, 100 and 2000 B are packets of
    // 154, 154, 1054 and 1054 B: with 308 B in flight the third may leave, with 1362 B the fourth may not; it leaves
    // when the first acknowledgement is there and 1208 B are in flight: no. With the second, 1054 B: yes.
    let of = [(100, us(0)), (100, us(0)), (2_000, us(0))];
    let sim = simulation(star(2, gbps(100), us(1)), vec![window(1_200)], messages(&of));
    let (_, kept) = run_everywhere(&sim);
    let records = by_flow(&kept);
    let back = us(4) + wire(2 * 64);
    assert_eq!(records[0].finish, wire(2 * 154) + back);
    assert_eq!(records[1].finish, wire(3 * 154) + back);
    assert_eq!(records[2].finish, records[1].finish + wire(2 * 1054) + back);
    assert_eq!(records.iter().map(|record| record.packets).collect::<Vec<_>>(), [1, 1, 2]);
}

/// The windows of the second message when it starts and when the first one ends, with New Reno in slow start. The
/// first has 8 packets and the second starts `pause` after the last of them has left.
fn windows(pause: Time, set: impl Fn(&mut Simulation)) -> [u64; 2] {
    let start = wire(7 * 1054) + pause;
    let of = [(8_000, us(0)), (8_000, start)];
    let mut sim = simulation(star(2, gbps(100), us(1)), vec![algorithm("newreno", &[])], messages(&of));
    sim.probes.flows = vec![0, 1];
    sim.probes.flow_interval = Time::from_ns(100);
    set(&mut sim);
    let (_, kept) = run_everywhere(&sim);
    let samples = every_sample(&kept.samples, sim.probes.flow_interval);
    let window = |flow| samples.iter().find(|sample| sample.flow == flow).unwrap().window.get();
    [window(1), window(0)]
}

#[test]
fn a_message_begins_with_the_window_that_the_one_before_has_left() {
    // Slow start from one packet of 1054 B: an acknowledgement adds its bytes if what was in flight before it and one
    // packet more fill the window. The first four find 1, 2, 3 and 4 packets in flight before them and make the window
    // 2, 3, 4 and 5; then the last of the 8 packets leaves. The fifth finds 4 and makes it 6; the sixth finds 3, and
    // nothing is added any more.
    let sim = |first: u64| {
        let count = incast_cc::params::Value::Count(first);
        algorithm("newreno", &[("initial_window", count)])
    };
    let one = |sim_: &mut Simulation| sim_.algorithms = vec![sim(1).into()];
    assert_eq!(windows(us(60), one), [6 * 1054, 1054]);
    // A flow of its own begins with the first window.
    let apart = |sim_: &mut Simulation| {
        one(sim_);
        sim_.flows.iter_mut().for_each(|flow| flow.connection = None);
    };
    assert_eq!(windows(us(60), apart), [1054, 1054]);
}

#[test]
fn a_connection_that_was_idle_for_longer_than_the_limit_starts_again() {
    // As above there is one packet in the first round trip, 2 in the second, 4 in the third and the last one in the
    // fourth. A round trip takes 4 us and 2 · (1054 + 64) · 80 ps.
    let round = us(4) + wire(2 * (1054 + 64));
    let last_sent = Time::from_ps(3 * round.ps());
    let of = |pause: Time, limit: Option<Time>| {
        let flows = messages(&[(8_000, us(0)), (8_000, last_sent + pause)]);
        let count = incast_cc::params::Value::Count(1);
        let algorithms = vec![algorithm("newreno", &[("initial_window", count)])];
        let mut sim = simulation(star(2, gbps(100), us(1)), algorithms, flows);
        sim.transport.idle = AfterIdle::Restart;
        sim.transport.idle_after = limit;
        let (_, kept) = run_everywhere(&sim);
        let second = by_flow(&kept)[1];
        second.finish - second.start
    };
    // With the window of 6 packets the last 2 leave with the first acknowledgement, in the second round trip, one after
    // the other; from the first window on it takes four round trips, as the first message did.
    let at_six = Time::from_ps(2 * round.ps()) + wire(1054);
    let slowly = Time::from_ps(4 * round.ps());
    assert_eq!(of(us(50), Some(us(50))), at_six);
    assert_eq!(of(us(50) + Time::from_ps(1), Some(us(50))), slowly);
    // Without a limit it is the retransmission timeout, 10 ms.
    assert_eq!(of(Time::from_ms(10), None), at_six);
    assert_eq!(of(Time::from_ms(10) + Time::from_ps(1), None), slowly);
}

#[test]
fn a_message_never_arrives_before_the_one_before_it_whatever_is_lost() {
    // The link of the receiver is down for a while: the packets of several messages are lost.
    for recovery in [Recovery::GoBackN, Recovery::Selective] {
        let of: Vec<(u64, Time)> = (0..40).map(|i| (1 + i * 977 % 5_000, Time::from_ns(i * 150))).collect();
        let mut sim = simulation(star(2, gbps(100), us(1)), vec![algorithm("dctcp", &[])], messages(&of));
        let change = |time: u64, what| Change { time: Time::from_ns(time), link: 1, what };
        sim.network.changes = vec![change(4_000, LinkChange::Down), change(7_000, LinkChange::Up)];
        sim.transport.recovery = recovery;
        sim.transport.rto = us(30);
        let (outcome, kept) = run_everywhere(&sim);
        assert!(outcome.lost > 10, "{recovery:?}: {}", outcome.lost);
        let records = by_flow(&kept);
        assert!(records.is_sorted_by_key(|record| record.finish));
        assert!(records.is_sorted_by_key(|record| record.delivered));
        for (record, (size, _)) in records.iter().zip(&of) {
            assert_eq!(record.bytes, Bytes::new(*size));
            assert!(record.finish - record.start >= record.ideal, "{record:?}");
            // All packets of a message that were sent again are its own.
            assert_eq!(record.packets - record.resent, size.div_ceil(1000), "{record:?}");
        }
        assert!(records.iter().map(|record| record.resent).sum::<u64>() >= outcome.lost);
    }
}

#[test]
fn packets_that_come_after_all_messages_have_arrived_are_answered() {
    // Two messages of a packet each. The link of the sender fails at 3.5 us, with their acknowledgements on it: they have left
    // the switch at 3.17 and 3.26 us. The receiver keeps nothing of the connection any more. The timer expires at 30 us; the first packet that is sent again
    // is answered with the number of all, which ends both messages.
    for recovery in [Recovery::GoBackN, Recovery::Selective] {
        let of = [(1_000, us(0)), (1_000, us(0))];
        let mut sim = simulation(star(2, gbps(100), us(1)), vec![window(1_000_000)], messages(&of));
        let change = |time: u64, what| Change { time: Time::from_ns(time), link: 0, what };
        sim.network.changes = vec![change(3_500, LinkChange::Down), change(6_000, LinkChange::Up)];
        sim.transport.recovery = recovery;
        sim.transport.rto = us(30);
        let (outcome, kept) = run_everywhere(&sim);
        assert_eq!(outcome.lost, 0);
        let ends: Vec<Time> = by_flow(&kept).iter().map(|record| record.finish).collect();
        assert_eq!(ends, [us(34) + wire(2 * 1054 + 2 * 64); 2], "{recovery:?}");
        assert_eq!(by_flow(&kept).iter().map(|record| record.packets).sum::<u64>(), 4);
    }
}

#[test]
fn flows_that_cannot_be_one_connection_are_refused() {
    let two =
        || simulation(star(3, gbps(100), us(1)), vec![window(9_000)], messages(&[(1, us(0)), (1, us(1))]));
    let refused = |sim: &Simulation| incast_sim::run(sim, &mut Kept::default()).unwrap_err().to_string();
    let mut sim = two();
    sim.flows[1].destination = 2;
    assert_eq!(refused(&sim), "flow 1 has another destination than others of connection 0");
    let mut sim = two();
    sim.flows[1].key = 8;
    assert_eq!(refused(&sim), "flow 1 has another key than others of connection 0");
    let mut sim = two();
    sim.flows[0].stop = us(3);
    assert_eq!(refused(&sim), "flow 0 has a connection, and so needs a size and no stop time");
    let mut sim = two();
    sim.flows[1].connection = Some(2);
    assert_eq!(refused(&sim), "flow 1 names connection 2, more than there are flows");
    let mut sim = two();
    sim.transport.kind = incast_sim::describe::transport::Kind::Ndp;
    assert_eq!(refused(&sim), "flow 0 has a connection, which only the window transport has");
}
