//! Workloads with dependencies: times worked by hand, graphs that are refused, and random graphs against a plain
//! model of their rules.
//!
//! All links have 100 Gbps (80 ps a byte) and 1 us. A flow of 1000 B is a packet of 1054 B: it takes 84,320 ps on
//! each of two links and arrives 2,168,640 ps after its start; its acknowledgement of 64 B takes 5,120 ps on each
//! link, so that the flow is done 4,178,880 ps after its start.

mod common;

use common::{Kept, flow, gbps, run_everywhere, simulation, star, us, window};
use incast_sim::describe::network::{Change, LinkChange};
use incast_sim::describe::transport::Kind;
use incast_sim::describe::work::{Operation, What};
use incast_sim::describe::{Named, Simulation};
use incast_sim::random::draw;
use incast_sim::record::{End, FlowRecord, OperationRecord};
use incast_units::{Bytes, Time};

const ARRIVES: u64 = 2_168_640;
const DONE: u64 = 4_178_880;

fn operation(host: u32, what: What, after: &[u32]) -> Operation {
    Operation {
        host,
        what,
        after: after.to_vec(),
        after_start: Vec::new(),
        start_before: Time::NEVER,
        earliest: Time::ZERO,
        job: 0,
    }
}

fn send(host: u32, flow: u32, after: &[u32]) -> Operation {
    operation(host, What::Send { flow }, after)
}

fn receive(host: u32, flow: u32, after: &[u32]) -> Operation {
    operation(host, What::Receive { flow }, after)
}

fn compute(host: u32, time: Time, processor: u16, after: &[u32]) -> Operation {
    operation(host, What::Compute { time, processor }, after)
}

/// A star of hosts with flows of these sizes, which keep their order, and operations.
fn described(hosts: u32, ends: &[(u32, u32, u64)], operations: Vec<Operation>) -> Simulation {
    let mut sim = simulation(star(hosts, gbps(100), us(1)), vec![window(1_000_000)], Vec::new());
    sim.flows = ends.iter().map(|(from, to, size)| flow(*from, *to, *size, Time::ZERO)).collect();
    for (flow, key) in sim.flows.iter_mut().zip(1..) {
        flow.key = key;
    }
    sim.operations = operations;
    sim
}

/// Start and end of each operation, by index; all have ended.
fn times(sim: &Simulation) -> Vec<(u64, u64)> {
    let (outcome, kept) = run_everywhere(sim);
    assert_eq!(outcome.end, End::Finished);
    assert_eq!(outcome.operations_ended, sim.operations.len() as u64);
    assert!(kept.operations.is_sorted_by_key(|r| (r.end, r.operation)));
    let mut records = kept.operations;
    records.sort_by_key(|record| record.operation);
    records.iter().map(|record| (record.start.ps(), record.end.ps())).collect()
}

/// Host 0 computes for 3 us and sends; host 1 computes for 5 us when it has received, and answers.
fn chain() -> Simulation {
    described(
        2,
        &[(0, 1, 1000), (1, 0, 1000)],
        vec![
            compute(0, us(3), 0, &[]),
            send(0, 0, &[0]),
            receive(1, 0, &[]),
            compute(1, us(5), 0, &[2]),
            send(1, 1, &[3]),
            receive(0, 1, &[]),
        ],
    )
}

#[test]
fn a_chain_over_two_hosts() {
    let sim = chain();
    let there = 3_000_000 + ARRIVES;
    let back = there + 5_000_000;
    let expected = [
        (0, 3_000_000),
        (3_000_000, 3_000_000 + DONE),
        (0, there),
        (there, back),
        (back, back + DONE),
        (0, back + ARRIVES),
    ];
    assert_eq!(times(&sim), expected);
    let (outcome, kept) = run_everywhere(&sim);
    assert_eq!(outcome.now, Time::from_ps(14_347_520));
    // The record of a flow has the time at which it started.
    let starts: Vec<_> = kept.flows.iter().map(|record| (record.flow, record.start.ps())).collect();
    assert_eq!(starts, [(0, 3_000_000), (1, 10_168_640)]);
    assert_eq!(kept.flows[1].finish - kept.flows[1].start, kept.flows[1].ideal);
}

#[test]
fn two_steps_around_a_ring_of_four() {
    // Each host sends a piece to the next one, waits for that of the one before it, adds for 1 us and passes
    // the sum on: 3 operations for the first step, 2 for the second.
    let mut sim = described(4, &[0, 1, 2, 3, 0, 1, 2, 3].map(|i| (i, (i + 1) % 4, 1000)), Vec::new());
    for host in 0..4 {
        let first = sim.operations.len() as u32;
        let before = (host + 3) % 4;
        sim.operations.extend([
            send(host, host, &[]),
            receive(host, before, &[]),
            compute(host, us(1), 0, &[first + 1]),
            send(host, 4 + host, &[first, first + 2]),
            receive(host, 4 + before, &[first + 2]),
        ]);
    }
    // The second step starts when the first piece is acknowledged, which takes longer than the sum.
    let second = DONE;
    let sum = (ARRIVES, ARRIVES + 1_000_000);
    let each = [(0, DONE), (0, sum.0), sum, (second, second + DONE), (sum.1, second + ARRIVES)];
    assert_eq!(times(&sim), each.repeat(4));
}

#[test]
fn a_processor_serves_in_the_order_of_readiness() {
    let sim = described(
        2,
        &[],
        vec![
            compute(0, us(5), 0, &[]),
            compute(0, us(1), 1, &[]),
            // Ready at 1 us, behind operation 3, which is ready at 0.
            compute(0, us(3), 0, &[1]),
            compute(0, us(2), 0, &[]),
            // Ready together: by index.
            compute(0, us(4), 7, &[1]),
            compute(0, us(1), 7, &[1]),
            // Other processors, and those of other hosts, do not wait.
            compute(1, us(2), 0, &[]),
        ],
    );
    let us = |times: [(u64, u64); 7]| times.map(|(from, to)| (from * 1_000_000, to * 1_000_000));
    assert_eq!(times(&sim), us([(0, 5), (0, 1), (7, 10), (5, 7), (1, 5), (5, 6), (0, 2)]));
}

#[test]
fn computations_without_duration_end_before_the_next_one_starts() {
    let zero = Time::ZERO;
    let sim = described(
        1,
        &[],
        vec![
            compute(0, zero, 0, &[]),
            // Ready at 0, by the end of operation 0, before operation 2 has its turn.
            compute(0, us(4), 1, &[0]),
            compute(0, us(1), 1, &[]),
            compute(0, us(2), 2, &[4]),
            // Starts before operation 5, and its end makes 3 ready, which then comes before 5 too.
            compute(0, zero, 0, &[]),
            compute(0, us(3), 2, &[]),
        ],
    );
    let us = |times: [(u64, u64); 6]| times.map(|(from, to)| (from * 1_000_000, to * 1_000_000));
    assert_eq!(times(&sim), us([(0, 0), (0, 4), (4, 5), (0, 2), (0, 0), (2, 5)]));
}

#[test]
fn some_need_only_the_start_of_another() {
    let mut sim = described(
        2,
        &[(0, 1, 1000)],
        vec![
            compute(0, us(5), 0, &[]),
            compute(0, us(1), 1, &[]),
            // Waits for processor 0 until 5 us.
            compute(0, us(1), 0, &[]),
            compute(0, us(2), 1, &[]),
            send(0, 0, &[]),
            compute(0, us(1), 3, &[]),
        ],
    );
    sim.operations[1].after_start = vec![0];
    sim.operations[3].after_start = vec![2];
    sim.operations[4].after_start = vec![3];
    // The start of a send is not its end.
    sim.operations[5].after_start = vec![4];
    let all = times(&sim);
    let us = |from: u64, to: u64| (from * 1_000_000, to * 1_000_000);
    assert_eq!(all, [us(0, 5), us(0, 1), us(5, 6), us(5, 7), (5_000_000, 5_000_000 + DONE), us(5, 6)]);
}

#[test]
fn a_flow_may_have_an_earliest_start_and_arrive_before_it_is_waited_for() {
    let mut sim = described(
        2,
        &[(0, 1, 1000), (0, 1, 1000)],
        vec![
            send(0, 0, &[]),
            send(0, 1, &[2]),
            compute(0, us(1), 0, &[]),
            compute(1, us(30), 0, &[]),
            receive(1, 0, &[3]),
            receive(1, 1, &[]),
        ],
    );
    sim.flows[1].start = us(9);
    let mut expected = vec![(0, DONE), (9_000_000, 9_000_000 + DONE), (0, 1_000_000), (0, 30_000_000)];
    expected.extend([(30_000_000, 30_000_000), (0, 9_000_000 + ARRIVES)]);
    assert_eq!(times(&sim), expected);
    // The run ends with the last operation, long after the last flow.
    assert_eq!(run_everywhere(&sim).0.now, us(30));
}

#[test]
fn flows_without_operations_go_on_beside_them() {
    // Flow 1 of host 0 starts by itself, between two that operations send.
    let mut sim = described(
        2,
        &[(0, 1, 1000), (0, 1, 1000), (0, 1, 1000)],
        vec![send(0, 0, &[]), send(0, 2, &[0]), receive(1, 1, &[])],
    );
    sim.flows[1].start = us(10);
    sim.flows[2].start = us(10);
    // Flow 2 was ready long before, but its earliest start is that of flow 1, whose event comes first.
    let gap = 84_320;
    let expected = [(0, DONE), (10_000_000, 10_000_000 + DONE + gap), (0, 10_000_000 + ARRIVES)];
    assert_eq!(times(&sim), expected);
}

#[test]
fn paths_are_those_at_the_actual_start() {
    // The link of host 1 takes 3 us instead of 1 us from 2 us on; the flow could start at 0 and starts at 4 us.
    let mut sim = described(2, &[(0, 1, 1000)], vec![compute(0, us(4), 0, &[]), send(0, 0, &[0])]);
    sim.network.changes.push(Change { time: us(2), link: 1, what: LinkChange::Delay(us(3)) });
    assert_eq!(times(&sim)[1], (4_000_000, 8_000_000 + DONE));
    let (_, kept) = run_everywhere(&sim);
    assert_eq!(kept.flows[0].ideal, Time::from_ps(4_000_000 + DONE));
    assert_eq!(kept.flows[0].base_rtt, Time::from_ps(4_000_000 + DONE));
}

#[test]
fn every_transport_ends_operations() {
    for (kind, name, _) in Kind::ALL {
        let mut sim = described(
            2,
            &[(0, 1, 5000), (1, 0, 1)],
            vec![send(0, 0, &[]), receive(1, 0, &[]), send(1, 1, &[1])],
        );
        sim.transport.kind = *kind;
        // As many as Homa needs.
        sim.switch.queues = 3;
        let (outcome, kept) = run_everywhere(&sim);
        assert_eq!((outcome.end, outcome.operations_ended), (End::Finished, 3), "{name}");
        let at = |operation| *kept.operations.iter().find(|r| r.operation == operation).unwrap();
        let there = kept.flows.iter().find(|record| record.flow == 0).unwrap();
        assert_eq!(
            (at(0).start, at(0).end, at(1).end),
            (Time::ZERO, there.finish, there.delivered),
            "{name}"
        );
        assert_eq!(at(2).start, there.delivered, "{name}");
    }
}

#[test]
fn what_has_not_ended_is_told() {
    // Host 1 is unreachable from 1 us on.
    let mut sim = described(
        2,
        &[(0, 1, 1000), (1, 0, 1000)],
        vec![
            compute(0, us(2), 0, &[]),
            send(0, 0, &[0]),
            receive(1, 0, &[]),
            send(1, 1, &[2]),
            receive(0, 1, &[1]),
        ],
    );
    sim.network.changes.push(Change { time: us(1), link: 1, what: LinkChange::Down });
    sim.stall_after = Time::from_ms(1);
    let (outcome, kept) = run_everywhere(&sim);
    assert_eq!(outcome.operations_ended, 1);
    assert_eq!(kept.operations, [OperationRecord { operation: 0, start: Time::ZERO, end: us(2) }]);
    let open = |operation, start| OperationRecord { operation, start, end: Time::NEVER };
    assert_eq!(outcome.unfinished_operations, [open(1, us(2)), open(2, Time::ZERO)]);
    let End::Stalled(stall) = outcome.end else { panic!("{:?}", outcome.end) };
    let waits = [(1, "waits for the end of its flow 0"), (2, "waits for the last byte of flow 0")];
    assert_eq!(stall.operations, waits.map(|(operation, text)| (operation, text.to_owned())));
    // A run that ends by its time limit before that has not finished.
    sim.stall_after = Time::from_s(1);
    sim.until = us(500);
    assert_eq!(run_everywhere(&sim).0.end, End::TimeLimit);
    // Nor has one in which all flows have finished and a computation has not.
    let mut sim = described(2, &[(0, 1, 1000)], vec![compute(0, us(20), 0, &[]), send(0, 0, &[])]);
    sim.until = us(10);
    assert_eq!(run_everywhere(&sim).0.end, End::TimeLimit);
}

#[test]
fn impossible_graphs_are_refused() {
    let flows = [(0, 1, 1000), (1, 0, 1000)];
    let refused = |operations: Vec<Operation>, change: fn(&mut Simulation)| {
        let mut sim = described(2, &flows, operations);
        change(&mut sim);
        incast_sim::run(&sim, &mut Kept::default()).unwrap_err().to_string()
    };
    let same = |_: &mut Simulation| {};
    let messages = [
        refused(vec![compute(2, us(1), 0, &[])], same),
        refused(vec![compute(0, us(1), 0, &[1])], same),
        refused(vec![compute(0, us(1), 0, &[]), compute(1, us(1), 0, &[0])], same),
        refused(vec![send(0, 2, &[])], same),
        refused(vec![send(0, 1, &[])], same),
        refused(vec![receive(0, 0, &[])], same),
        refused(vec![send(0, 0, &[]), send(0, 0, &[])], same),
        refused(vec![receive(1, 0, &[]), receive(1, 0, &[])], same),
        refused(vec![send(0, 0, &[])], |sim| sim.flows[0].stop = us(3)),
        refused(vec![receive(1, 0, &[])], |sim| sim.flows[0].size = Bytes::UNLIMITED),
        refused(vec![compute(0, us(1), 0, &[0])], same),
        refused(vec![compute(0, us(1), 0, &[]), compute(0, us(1), 0, &[])], |sim| {
            sim.operations[0].after_start = vec![1];
            sim.operations[1].after = vec![0];
        }),
        // Each host waits for the other's flow before it sends its own.
        refused(vec![receive(0, 1, &[]), send(0, 0, &[0]), receive(1, 0, &[]), send(1, 1, &[2])], same),
    ];
    let expected = [
        "operation 0 is at node 2, which is no host",
        "operation 0 depends on operation 1, of 1",
        "operation 1 of host 1 depends on operation 0 of host 0; only flows connect hosts",
        "operation 0 sends flow 2, of 2",
        "operation 0 of host 0 sends flow 1, which goes from host 1 to 0",
        "operation 0 of host 0 receives flow 0, which goes from host 0 to 1",
        "operation 1 sends flow 0, as operation 0 does",
        "operation 1 receives flow 0, as operation 0 does",
        "operation 0 of host 0 sends flow 0, which has no last byte that is known in advance: it has a stop, or no size",
        "operation 0 of host 1 receives flow 0, which has no last byte that is known in advance: it has a stop, or no size",
        "operation 0 waits for itself",
        "operations 0, 1 wait for each other in a circle",
        "operations 0, 3, 2, 1 wait for each other in a circle",
    ];
    assert_eq!(messages, expected.map(str::to_owned));
    // That a flow is received before it is sent is no circle.
    let fine = vec![receive(0, 1, &[]), send(0, 0, &[0]), send(1, 1, &[]), receive(1, 0, &[])];
    assert_eq!(run_everywhere(&described(2, &flows, fine)).0.end, End::Finished);
}

/// Computes start and end of the operations by the rules alone, when every flow takes as long as it took in a
/// run: all operations are looked at again and again, instant by instant.
fn plain_model(sim: &Simulation, flows: &[FlowRecord]) -> Vec<(u64, u64)> {
    let all = &sim.operations;
    let of = |flow: u32| *flows.iter().find(|record| record.flow == flow).unwrap();
    let sent_at = |start: &[Option<u64>], flow: u32| {
        let sender = all.iter().position(|o| o.what == What::Send { flow });
        sender.map_or(Some(sim.flows[flow as usize].start.ps()), |sender| start[sender])
    };
    let (mut ready, mut start, mut end) =
        (vec![None; all.len()], vec![None; all.len()], vec![None; all.len()]);
    let mut now = 0;
    loop {
        // Ends first, and what becomes ready by them.
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (i, operation) in all.iter().enumerate() {
                let ends = start[i].and_then(|begin: u64| match operation.what {
                    What::Compute { time, .. } => Some(begin + time.ps()),
                    What::Send { flow } => Some(begin + (of(flow).finish - of(flow).start).ps()),
                    What::Receive { flow } => sent_at(&start, flow)
                        .map(|at| begin.max(at + (of(flow).delivered - of(flow).start).ps())),
                });
                if end[i].is_none() && ends.is_some_and(|ends| ends <= now) {
                    (end[i], changed) = (Some(now), true);
                }
                let met = operation.after.iter().all(|other| end[*other as usize].is_some())
                    && operation.after_start.iter().all(|other| start[*other as usize].is_some())
                    && match operation.what {
                        What::Send { flow } => sim.flows[flow as usize].start.ps() <= now,
                        _ => true,
                    };
                if ready[i].is_none() && met {
                    (ready[i], changed) = (Some(now), true);
                }
            }
            // A free processor takes the operation that was ready before this instant first.
            for i in 0..all.len() {
                changed |= begin(i, now, all, &ready, &mut start, &end, |at| at < now);
            }
        }
        // Then one operation that is ready starts.
        if (0..all.len()).any(|i| begin(i, now, all, &ready, &mut start, &end, |_| true)) {
            continue;
        }
        if end.iter().all(Option::is_some) {
            return (0..all.len()).map(|i| (start[i].unwrap(), end[i].unwrap())).collect();
        }
        let computed = (0..all.len()).filter_map(|i| match all[i].what {
            What::Compute { time, .. } => Some(start[i]? + time.ps()),
            What::Send { flow } => Some(start[i]? + (of(flow).finish - of(flow).start).ps()),
            What::Receive { flow } => {
                Some(sent_at(&start, flow)? + (of(flow).delivered - of(flow).start).ps())
            }
        });
        let starts = sim.flows.iter().map(|flow| flow.start.ps());
        now = computed.chain(starts).filter(|at| *at > now).min().unwrap();
    }
}

/// Starts operation `i` if it is its turn.
fn begin(
    i: usize,
    now: u64,
    all: &[Operation],
    ready: &[Option<u64>],
    start: &mut [Option<u64>],
    end: &[Option<u64>],
    which: impl Fn(u64) -> bool,
) -> bool {
    if start[i].is_some() || !ready[i].is_some_and(&which) {
        return false;
    }
    if let What::Compute { processor, .. } = all[i].what {
        let rivals = (0..all.len()).filter(|j| {
            let same = matches!(all[*j].what, What::Compute { processor: other, .. } if other == processor);
            same && all[*j].host == all[i].host && *j != i
        });
        for j in rivals {
            let runs = start[j].is_some() && end[j].is_none();
            let earlier = start[j].is_none() && ready[j].is_some_and(|at| (at, j) < (ready[i].unwrap(), i));
            if runs || earlier {
                return false;
            }
        }
    }
    start[i] = Some(now);
    true
}

/// A random graph: dependencies lead to lower indices, and a flow is sent at a lower index than it is received.
fn random_graph(seed: u64) -> Simulation {
    let mut count = 0;
    let mut random = |below: u64| {
        count += 1;
        draw(seed, count) % below
    };
    let hosts = 2 + random(5) as u32;
    let (mut ends, mut operations) = (Vec::new(), Vec::new());
    let mut to_receive: Vec<(u32, u32)> = Vec::new();
    for _ in 0..3 + random(60) {
        let (host, what) = match random(3) {
            0 => {
                let host = random(u64::from(hosts)) as u32;
                let other = (host + 1 + random(u64::from(hosts) - 1) as u32) % hosts;
                let flow = ends.len() as u32;
                ends.push((host, other, 1 + random(3) * 700));
                to_receive.push((other, flow));
                (host, What::Send { flow })
            }
            1 if !to_receive.is_empty() => {
                let (host, flow) = to_receive.swap_remove(random(to_receive.len() as u64) as usize);
                (host, What::Receive { flow })
            }
            _ => {
                let time = Time::from_ns([0, 0, 500, 1000, 1000, 2500][random(6) as usize]);
                (random(u64::from(hosts)) as u32, What::Compute { time, processor: random(2) as u16 })
            }
        };
        let mut dependent = operation(host, what, &[]);
        for (earlier, index) in operations.iter().zip(0_u32..) {
            let earlier: &Operation = earlier;
            if earlier.host == host {
                match random(8) {
                    0 => dependent.after.push(index),
                    1 => dependent.after_start.push(index),
                    _ => {}
                }
            }
        }
        operations.push(dependent);
    }
    let mut sim = described(hosts, &ends, operations);
    let mut earliest: Vec<u64> = sim.flows.iter().map(|_| [0, 0, 0, 3_000][random(4) as usize]).collect();
    earliest.sort_unstable();
    for (flow, start) in sim.flows.iter_mut().zip(earliest) {
        flow.start = Time::from_ns(start);
    }
    sim
}

#[test]
fn random_graphs_follow_the_plain_model() {
    let (mut waited, mut queued) = (0, 0);
    for seed in 0..150 {
        let sim = random_graph(seed);
        let (outcome, kept) = run_everywhere(&sim);
        assert_eq!(outcome.end, End::Finished, "seed {seed}");
        let mut records = kept.operations.clone();
        records.sort_by_key(|record| record.operation);
        let told: Vec<_> = records.iter().map(|record| (record.start.ps(), record.end.ps())).collect();
        assert_eq!(told, plain_model(&sim, &kept.flows), "seed {seed}");
        waited += told.iter().filter(|(start, _)| *start > 0).count();
        let duration = |o: &Operation| match o.what {
            What::Compute { time, .. } => time.ps(),
            _ => 0,
        };
        queued += sim.operations.iter().filter(|o| duration(o) > 0).count();
    }
    assert!(waited > 1000 && queued > 500, "{waited} {queued}");
}

#[test]
fn bounds_of_jobs_count_chains_and_host_links() {
    let job = |job: u16, operation: Operation| Operation { job, ..operation };
    // Ten hosts send to host 0: its link is busy with ten packets of 1054 B. The first one reaches it 1,084,320 ps
    // after the start; the last one arrives 1 us after the link is done and is acknowledged 2,010,240 ps later.
    let mut incast = described(11, &[0; 10].map(|to| (0, to, 1000)), Vec::new());
    for (flow, host) in incast.flows.iter_mut().zip(1..) {
        (flow.source, flow.destination) = (host, 0);
    }
    incast.operations = (0..10).map(|flow| send(flow + 1, flow, &[])).collect();
    let bound = 1_084_320 + 10 * 84_320 + 1_000_000 + 2_010_240;
    assert_eq!(incast_sim::job_bounds(&incast).unwrap(), [Some(Time::from_ps(bound))]);
    // The run reaches it: the acknowledgements are not in the way of the data.
    assert_eq!(run_everywhere(&incast).0.now, Time::from_ps(bound));
    // A chain there and back, beside a job that depends on another, and one that only receives.
    let sim = described(
        2,
        &[(0, 1, 1000), (1, 0, 2500), (0, 1, 1000)],
        vec![
            send(0, 0, &[]),
            receive(1, 0, &[]),
            send(1, 1, &[1]),
            receive(0, 1, &[]),
            job(1, send(0, 2, &[3])),
            job(2, receive(1, 2, &[])),
        ],
    );
    let (_, kept) = run_everywhere(&sim);
    let back = kept.flows.iter().find(|record| record.flow == 1).unwrap().ideal;
    let bounds = [Some(Time::from_ps(ARRIVES) + back), Some(Time::from_ps(DONE)), None];
    assert_eq!(incast_sim::job_bounds(&sim).unwrap(), bounds);
}

#[test]
fn bounds_of_jobs_count_computations() {
    let bound = |sim: &Simulation| incast_sim::job_bounds(sim).unwrap()[0].unwrap().ps();
    // Host 0 computes for 3 us and sends, host 1 computes for 5 us when it has received and answers: nothing waits.
    let mut sim = chain();
    assert_eq!(bound(&sim), 3_000_000 + ARRIVES + 5_000_000 + DONE);
    assert_eq!(run_everywhere(&sim).0.now, Time::from_ps(bound(&sim)));
    // A computation beside this counts where it is longer, and where its processor has others to do.
    sim.operations.push(compute(1, us(11), 0, &[]));
    assert_eq!(bound(&sim), 5_000_000 + 11_000_000);
    sim.operations[6] = compute(1, us(11), 1, &[]);
    assert_eq!(bound(&sim), 3_000_000 + ARRIVES + 5_000_000 + DONE);
    sim.operations[6] = compute(1, us(15), 1, &[]);
    assert_eq!(bound(&sim), 15_000_000);
    // One that waits for a start does not wait for the end: the send starts after 3 us.
    sim.operations[6] = compute(0, us(12), 1, &[]);
    sim.operations[6].after_start = vec![1];
    assert_eq!(bound(&sim), 3_000_000 + 12_000_000);
    assert_eq!(run_everywhere(&sim).0.now, Time::from_ps(15_000_000));
}

#[test]
fn no_random_graph_is_faster_than_its_bounds() {
    let (mut reached, mut later) = (0, 0);
    for seed in 0..150 {
        let mut sim = random_graph(seed);
        for (operation, index) in sim.operations.iter_mut().zip(0..) {
            operation.job = (draw(seed ^ 0x0b, index) % 3) as u16;
        }
        let bounds = incast_sim::job_bounds(&sim).unwrap();
        let (_, kept) = run_everywhere(&sim);
        for (job, bound) in (0..).zip(bounds) {
            let of_job = |record: &&OperationRecord| sim.operations[record.operation as usize].job == job;
            let records: Vec<_> = kept.operations.iter().filter(of_job).collect();
            let active = |record: &&&OperationRecord| {
                !matches!(sim.operations[record.operation as usize].what, What::Receive { .. })
            };
            let first = records.iter().filter(active).map(|record| record.start).min();
            let last = records.iter().map(|record| record.end).max();
            let (Some(first), Some(last), Some(bound)) = (first, last, bound) else { continue };
            assert!(last - first >= bound, "seed {seed}, job {job}: {:?} < {bound:?}", last - first);
            *(if last - first == bound { &mut reached } else { &mut later }) += 1;
        }
    }
    assert!(reached > 20 && later > 20, "{reached} {later}");
}

#[test]
fn the_bound_of_one_flow_is_its_ideal_time() {
    // 8 MB in packets of 4000 B over six links of 800 Gbps and 0.5 us: 2000 packets of 4054 B take 81.08 us, five
    // more links 40.54 ns each, the way 3 us, the acknowledgement of 64 B 3 us and six times 0.64 ns.
    let mut sim =
        simulation(common::fat_tree(4, gbps(800), Time::from_ns(500)), vec![window(10_000_000)], vec![]);
    sim.flows = vec![flow(0, 15, 8_000_000, Time::ZERO)];
    sim.transport.payload = Bytes::new(4000);
    sim.operations = vec![send(0, 0, &[])];
    let bound = 2000 * 40_540 + 5 * 40_540 + 3_000_000 + 3_000_000 + 6 * 640;
    assert_eq!(incast_sim::job_bounds(&sim).unwrap(), [Some(Time::from_ps(bound))]);
    assert_eq!(bound, 87_286_540);
    assert_eq!(run_everywhere(&sim).0.now, Time::from_ps(bound));
}

/// By hand: a flow of one packet takes [`DONE`] until its sender has the acknowledgement.
#[test]
fn what_could_start_too_late_is_left_out_with_what_depends_on_it() {
    let ends = [(0, 1, 1_000), (0, 1, 1_000), (0, 1, 1_000), (0, 1, 1_000)];
    let before =
        |time: u64, operation: Operation| Operation { start_before: Time::from_ps(time), ..operation };
    // The second could start when the first is done, the third when the second is, the fourth at any time.
    let chain = |limit| {
        let limited = |operation| before(limit, operation);
        let operations = vec![send(0, 0, &[]), limited(send(0, 1, &[0])), send(0, 2, &[1]), send(0, 3, &[])];
        described(2, &ends, operations)
    };
    let ended = |sim: &Simulation| {
        let (outcome, kept) = run_everywhere(sim);
        assert_eq!(outcome.end, End::Finished);
        assert_eq!(outcome.operations_ended, outcome.flows_finished);
        let mut ended: Vec<u32> = kept.operations.iter().map(|record| record.operation).collect();
        ended.sort_unstable();
        (ended, outcome.now)
    };
    // The first two flows leave one after the other, so that of the last operation is done a packet later.
    let packet = 84_320;
    assert_eq!(ended(&chain(DONE + 1)).0, [0, 1, 2, 3]);
    assert_eq!(ended(&chain(DONE)), (vec![0, 3], Time::from_ps(DONE + packet)));
    // A limit that is reached at the start, and one of a computation.
    assert_eq!(ended(&chain(0)).0, [0, 3]);
    let work = vec![compute(0, us(5), 0, &[]), before(5_000_000, compute(0, us(1), 0, &[0]))];
    let sim = described(2, &[], work);
    let (outcome, _) = run_everywhere(&sim);
    assert_eq!((outcome.end, outcome.operations_ended, outcome.now), (End::Finished, 1, us(5)));
}

#[test]
fn what_may_be_left_out_is_received_by_no_operation() {
    let limited = Operation { start_before: us(5), ..compute(0, us(1), 0, &[]) };
    let sim = described(2, &[(0, 1, 1_000)], vec![limited, send(0, 0, &[0]), receive(1, 0, &[])]);
    let problem = incast_sim::run(&sim, &mut Kept::default()).unwrap_err().to_string();
    assert!(
        problem.contains("operation 1 may be left out (start_before), and operation 2 receives"),
        "{problem}"
    );
}
