//! Flows that make load and do not count, and sums of what is acknowledged.

mod common;

use common::*;
use incast_sim::Simulation;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::probe::Load;
use incast_sim::describe::work::{Operation, What};
use incast_sim::record::{End, LoadSample};
use incast_units::{Bytes, Time};

/// A flow of a hundred packets that counts, beside one of ten thousand and one that starts late, which do not.
fn beside() -> Simulation {
    let load = |source, size, start| Flow { counted: false, group: 1, ..flow(source, 3, size, start) };
    let flows =
        vec![flow(0, 1, 100_000, us(1)), load(2, 10_000_000, Time::ZERO), load(2, 1_000, Time::from_ms(2))];
    simulation(star(4, gbps(100), us(1)), vec![algorithm("constant", &[])], flows)
}

#[test]
fn a_run_ends_with_the_flows_that_count() {
    let (outcome, kept) = run_everywhere(&beside());
    assert_eq!((outcome.end, outcome.flows_finished), (End::Finished, 1));
    // A hundred packets of 84,320 ps, the last of them once more at the switch, four delays, two acknowledgements.
    assert_eq!(outcome.now, Time::from_ps(1_000_000 + 101 * 84_320 + 4_000_000 + 2 * 5_120));
    assert_eq!(kept.flows.len(), 1);
    // Of the others one has begun.
    let [open] = outcome.unfinished.as_slice() else { panic!("{:?}", outcome.unfinished) };
    assert_eq!((open.flow, open.start, open.finish), (0, Time::ZERO, Time::NEVER));
    assert!(open.bytes > Bytes::new(50_000) && open.bytes < Bytes::new(200_000), "{}", open.bytes);
}

#[test]
fn a_time_limit_after_the_flows_that_count_is_no_reason() {
    // The run ends before the flow that counts does.
    let mut simulation = Simulation { until: us(10), ..beside() };
    assert_eq!(run_everywhere(&simulation).0.end, End::TimeLimit);
    // A flow without an end counts, and lasts as long as the run: then all that count are done.
    let endless = Flow { destination: 3, ..long(1, 3, us(5), Time::NEVER) };
    simulation.flows.push(endless);
    simulation.flows.sort_by_key(|flow| flow.start);
    simulation.until = us(20);
    let (outcome, _) = run_everywhere(&simulation);
    assert_eq!((outcome.end, outcome.now, outcome.flows_finished), (End::Finished, us(20), 1));
}

#[test]
fn what_is_acknowledged_is_summed_up_by_host_and_group() {
    let mut simulation = beside();
    let times = vec![us(5), us(10), us(50)];
    simulation.probes.loads = [0, 1].map(|group| Load { group, times: times.clone() }).to_vec();
    let (_, kept) = run_everywhere(&simulation);
    // Packet k is acknowledged k times 84,320 ps and 4,094,560 ps after the start: 10 and 70 packets from 0 us on, none
    // and 58 from 1 us on. The run ends before 50 us.
    let sample = |at, node, group, acked| LoadSample { time: us(at), node, group, acked: Bytes::new(acked) };
    assert_eq!(kept.loads, [sample(5, 2, 1, 10_000), sample(10, 0, 0, 58_000), sample(10, 2, 1, 70_000)]);
}

#[test]
fn operations_send_flows_that_count() {
    let mut simulation = beside();
    simulation.operations.push(Operation {
        host: 2,
        what: What::Send { flow: 0 },
        after: Vec::new(),
        after_start: Vec::new(),
        start_before: Time::NEVER,
        earliest: Time::ZERO,
        job: 0,
    });
    let refused = incast_sim::run(&simulation, &mut Kept::default()).unwrap_err().to_string();
    assert!(refused.contains("operation 0 sends flow 0, for which the run does not wait"), "{refused}");
}
