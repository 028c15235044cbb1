//! Reuse of what repeats itself: results are the same, bit by bit, whether it is simulated again or not.

mod common;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use common::*;
use incast_cc::Fixed;
use incast_cc::params::Value;
use incast_cc::receiver::AckEvery;
use incast_sim::describe::Named;
use incast_sim::describe::balancing::Balancing;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::network::{Change, Detection, LinkChange, Network};
use incast_sim::describe::reuse::{Draws, Reuse};
use incast_sim::describe::switch::{Buffer, Ecn, MarkingPoint, Switch};
use incast_sim::describe::transport::Recovery;
use incast_sim::describe::work::{Operation, What};
use incast_sim::random::draw;
use incast_sim::record::{FlowRecord, OperationRecord, Outcome, Progress, Repetition, Reused};
use incast_sim::{Simulation, Sink};
use incast_units::{Bytes, Time};

/// A job under construction: its operations follow all of the jobs before.
struct Job {
    number: u16,
    hosts: Vec<u32>,
    /// For each host, what the next send waits for.
    before: Vec<Vec<u32>>,
}

/// A workload under construction.
#[derive(Default)]
struct Work {
    flows: Vec<Flow>,
    operations: Vec<Operation>,
    connections: BTreeMap<(u16, u32, u32), u32>,
}

impl Work {
    fn add(&mut self, job: u16, host: u32, what: What, after: &[u32]) -> u32 {
        self.operations.push(Operation {
            host,
            what,
            after: after.to_vec(),
            after_start: Vec::new(),
            start_before: Time::NEVER,
            earliest: Time::ZERO,
            job,
        });
        self.operations.len() as u32 - 1
    }

    /// Sends a message; returns its send and its receive.
    fn send(&mut self, job: u16, [from, to]: [u32; 2], size: u64, after: &[u32]) -> [u32; 2] {
        let next = self.connections.len() as u32;
        let connection = *self.connections.entry((job, from, to)).or_insert(next);
        let index = self.flows.len() as u32;
        let key = draw(99, u64::from(connection));
        self.flows.push(Flow { key, connection: Some(connection), ..flow(from, to, size, Time::ZERO) });
        let send = self.add(job, from, What::Send { flow: index }, after);
        [send, self.add(job, to, What::Receive { flow: index }, &[])]
    }

    /// A pass: each host of the job sends to those at these distances, and computes when it is done with all.
    fn pass(&mut self, job: &mut Job, distances: &[usize], size: u64, compute: Time) {
        let done = self.exchange(job, distances, size);
        self.compute(job, &done, compute);
    }

    /// A pass with a barrier: a host computes when all are done, which the first one says, as in an all-to-all of a
    /// scenario with `barrier`.
    fn pass_with_barrier(&mut self, job: &mut Job, distances: &[usize], size: u64, compute: Time) {
        let mut done = self.exchange(job, distances, size);
        let hosts = job.hosts.clone();
        for (place, host) in hosts.iter().enumerate().skip(1) {
            let [send, receive] = self.send(job.number, [*host, hosts[0]], 1, &done[place].clone());
            done[place] = vec![send];
            done[0].push(receive);
        }
        let all = done[0].clone();
        for (place, host) in hosts.iter().enumerate().skip(1) {
            let [send, receive] = self.send(job.number, [hosts[0], *host], 1, &all);
            done[0].push(send);
            done[place].push(receive);
        }
        self.compute(job, &done, compute);
    }

    /// Each host of the job sends to those at these distances; returns what each of them waits for.
    fn exchange(&mut self, job: &Job, distances: &[usize], size: u64) -> Vec<Vec<u32>> {
        let count = job.hosts.len();
        let mut done = vec![Vec::new(); count];
        for (place, host) in job.hosts.clone().into_iter().enumerate() {
            for distance in distances {
                let other = (place + distance) % count;
                let ends = [host, job.hosts[other]];
                let [send, receive] = self.send(job.number, ends, size, &job.before[place].clone());
                done[place].push(send);
                done[other].push(receive);
            }
        }
        done
    }

    fn compute(&mut self, job: &mut Job, done: &[Vec<u32>], time: Time) {
        for (place, done) in done.iter().enumerate() {
            let what = What::Compute { time, processor: 0 };
            let host = job.hosts[place];
            job.before[place] = vec![self.add(job.number, host, what, done)];
        }
    }

    fn job(&self, number: u16, hosts: Vec<u32>) -> Job {
        Job { number, before: vec![Vec::new(); hosts.len()], hosts }
    }

    fn on(self, network: Network, algorithm: &str) -> Simulation {
        let mut sim = simulation(network, vec![common::algorithm(algorithm, &[])], Vec::new());
        (sim.flows, sim.operations) = (self.flows, self.operations);
        sim
    }
}

/// Compares runs with and without reuse, on both engines; returns the outcome with it.
fn compare(sim: &Simulation) -> Outcome {
    let (all, kept) = run(sim);
    let (reused, others) = run(&Simulation { reuse: Reuse::Exact, ..sim.clone() });
    assert_eq!(kept.flows, others.flows);
    assert_eq!(kept.operations, others.operations);
    assert_eq!(kept.limits, others.limits);
    assert_eq!(Outcome { reuse: None, ..reused.clone() }, all);
    reused
}

fn reuse(outcome: &Outcome) -> &Reused {
    outcome.reuse.as_ref().expect("reuse was asked for")
}

/// The repetitions that were reused.
fn found(outcome: &Outcome) -> &[Repetition] {
    &reuse(outcome).repetitions
}

/// Passes of a ring of hosts on a star, with a computation between them.
fn ring_of(hosts: u32, passes: u32, algorithm: &str, compute: Time) -> Simulation {
    let mut work = Work::default();
    let mut job = work.job(0, (0..hosts).collect());
    for _ in 0..passes {
        work.pass(&mut job, &[1], 10_000, compute);
    }
    work.on(star(hosts, gbps(100), us(1)), algorithm)
}

#[test]
fn a_thousand_passes_cost_less_than_five() {
    let one = run(&ring_of(64, 1, "constant", us(30))).0.hops;
    let outcome = compare(&ring_of(64, 1000, "constant", us(30)));
    let Reused { simulated_hops, .. } = reuse(&outcome);
    let [repetition] = found(&outcome) else { panic!("{:?}", reuse(&outcome)) };
    assert_eq!((outcome.hops, repetition.hops, repetition.flows), (1000 * one, one, 64));
    assert!(*simulated_hops <= 5 * one, "{simulated_hops} of {one} a pass");
}

#[test]
fn what_differs_is_said() {
    // The second half of the passes sends more: only the first half repeats itself.
    let mut work = Work::default();
    let mut job = work.job(0, (0..4).collect());
    for pass in 0..40 {
        work.pass(&mut job, &[1], if pass < 30 { 50_000 } else { 70_000 }, us(30));
    }
    let outcome = compare(&work.on(star(4, gbps(100), us(1)), "constant"));
    assert!((25..30).contains(&found(&outcome)[0].copies));
    // Samples are of times that do not shift.
    let mut sim = ring_of(4, 9, "constant", us(30));
    sim.probes.ports = vec![(0, 0)];
    let outcome = run(&Simulation { reuse: Reuse::Exact, ..sim }).0;
    assert_eq!(reuse(&outcome).reason.as_deref(), Some("samples are taken, at times that do not shift"));
}

#[test]
fn a_run_may_repeat_itself_several_times() {
    // Messages of one size, then of another one, then of the first again.
    let mut work = Work::default();
    let mut job = work.job(0, (0..4).collect());
    for pass in 0..90 {
        work.pass(&mut job, &[1], if (30..60).contains(&pass) { 70_000 } else { 50_000 }, us(30));
    }
    let outcome = compare(&work.on(star(4, gbps(100), us(1)), "constant"));
    let copies: Vec<u32> = found(&outcome).iter().map(|repetition| repetition.copies).collect();
    assert!(copies.len() == 3 && copies.iter().all(|copies| *copies >= 25), "{:?}", reuse(&outcome));
    // They do not overlap, and the later ones are told at their times in the whole run.
    let ends = found(&outcome).iter().map(|of| of.from + of.period.times(u64::from(of.copies) + 1));
    let begins = found(&outcome).iter().skip(1).map(|of| of.from);
    assert!(ends.zip(begins).all(|(end, begin)| end <= begin));
    assert!(reuse(&outcome).simulated_hops < outcome.hops / 2, "{:?}", reuse(&outcome));
}

#[test]
fn a_timer_of_acknowledgements_is_waited_for_while_the_network_is_quiet() {
    // The first packet of four sets it; it expires while the hosts compute, or not.
    let told = |delay| {
        let mut sim = ring_of(4, 30, "constant", us(200));
        (sim.transport.ack_every, sim.transport.ack_delay) = (AckEvery::Packets(4), Some(us(delay)));
        let outcome = compare(&sim);
        (found(&outcome).len(), reuse(&outcome).reason.clone().unwrap_or_default())
    };
    let (count, reason) = told(100_000);
    assert_eq!(count, 0);
    assert!(reason.contains("a timer of acknowledgements that has not expired"), "{reason}");
    assert_eq!(told(100), (1, String::new()));
}

#[test]
fn what_an_algorithm_does_not_read_does_not_count() {
    // Each has a counter that grows for ever, for a part that is switched off.
    let off = |key, value| move |algorithm: &str| common::algorithm(algorithm, &[(key, value)]);
    let without = off("quick_adapt", Value::Flag(false));
    let unlimited = off("byte_counter", Value::Bytes(Bytes::UNLIMITED));
    for params in [without("nscc"), without("smartt"), unlimited("dcqcn")] {
        let mut sim = all_to_all("constant");
        (sim.algorithms, sim.reuse) = (vec![params.into()], Reuse::Off);
        let outcome = compare(&sim);
        assert_eq!(found(&outcome).len(), 1, "{params:?} {:?}", reuse(&outcome));
    }
}

#[test]
fn a_link_that_changes_ends_the_copies() {
    let at = |time, link, what| Change { time: us(time), link, what };
    let half = LinkChange::Rate(gbps(50));
    // A pass takes some 35 us.
    let changes = [
        vec![at(3_000, 0, half)],
        vec![at(3_000, 0, LinkChange::Down), at(3_400, 0, LinkChange::Up)],
        vec![at(3_000, 0, half), at(6_000, 0, LinkChange::Delay(us(2)))],
    ];
    for (changes, count) in changes.into_iter().zip([2, 2, 3]) {
        let mut sim = ring_of(4, 400, "constant", us(30));
        sim.transport.rto = us(300);
        sim.network.changes = changes;
        let outcome = compare(&sim);
        let reused = reuse(&outcome);
        assert_eq!(found(&outcome).len(), count, "{reused:?}");
        // No copy lasts until a change.
        for Change { time, .. } in &sim.network.changes {
            let holds = |of: &Repetition| {
                of.from < *time && *time <= of.from + of.period.times(u64::from(of.copies) + 1)
            };
            assert!(!found(&outcome).iter().any(holds), "{time} {reused:?}");
        }
        assert!(reused.simulated_hops < outcome.hops, "{reused:?}");
    }
}

#[test]
fn another_job_that_begins_ends_the_copies() {
    let mut work = Work::default();
    let mut first = work.job(0, (0..4).collect());
    for _ in 0..60 {
        work.pass(&mut first, &[1], 50_000, us(30));
    }
    let mut second = work.job(1, (2..6).collect());
    for _ in 0..30 {
        work.pass(&mut second, &[1], 50_000, us(30));
    }
    let mut sim = work.on(star(8, gbps(100), us(1)), "constant");
    let sends = |of: &&mut Operation| matches!(of.what, What::Send { .. });
    for operation in sim.operations.iter_mut().filter(|of| of.job == 1 && of.after.is_empty()).filter(sends) {
        operation.earliest = us(1_000);
    }
    let outcome = compare(&sim);
    let first = &found(&outcome)[0];
    assert!(first.copies > 10, "{:?}", reuse(&outcome));
    assert!(
        first.from + first.period.times(u64::from(first.copies) + 1) < us(1_000),
        "{:?}",
        reuse(&outcome)
    );
}

#[test]
fn times_that_lie_behind_the_copies_stay_where_they_are() {
    // The last operation waits for all passes, and starts at a time of its own or is left out.
    for (earliest, start_before) in [(us(5_000), Time::NEVER), (us(100), Time::NEVER), (us(100), us(400))] {
        let mut work = Work::default();
        let mut job = work.job(0, (0..4).collect());
        for _ in 0..40 {
            work.pass(&mut job, &[1], 50_000, us(30));
        }
        let last = work.add(0, 0, What::Compute { time: us(7), processor: 0 }, &job.before[0]);
        let operation = &mut work.operations[last as usize];
        (operation.earliest, operation.start_before) = (earliest, start_before);
        let outcome = compare(&work.on(star(4, gbps(100), us(1)), "constant"));
        assert!(found(&outcome)[0].copies > 30, "{:?}", reuse(&outcome));
    }
}

/// The records that a sink is to keep, and those that it is to count.
#[derive(Default)]
struct Counted {
    kept: Vec<u32>,
    copies: Vec<u32>,
    operations: [u64; 2],
    are_copies: bool,
}

impl Sink for Counted {
    fn flows(&mut self, records: &[FlowRecord]) {
        let to = if self.are_copies { &mut self.copies } else { &mut self.kept };
        to.extend(records.iter().map(|record| record.flow));
    }

    fn operations(&mut self, records: &[OperationRecord]) {
        self.operations[usize::from(self.are_copies)] += records.len() as u64;
    }

    fn copies(&mut self, are_only_counted: bool) {
        self.are_copies = are_only_counted;
    }

    fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[test]
fn a_summary_tells_copies_apart_and_has_the_same_totals() {
    let sim = ring_of(4, 100, "constant", us(30));
    let all = run(&sim).0;
    let mut sink = Counted::default();
    let outcome = incast_sim::run(&Simulation { reuse: Reuse::Summary, ..sim.clone() }, &mut sink).unwrap();
    assert_eq!(Outcome { reuse: None, ..outcome.clone() }, all);
    let [of] = found(&outcome) else { panic!("{:?}", reuse(&outcome)) };
    assert!(!of.are_written && of.copies > 90);
    assert_eq!(sink.copies.len() as u64, of.flows * u64::from(of.copies));
    assert_eq!(sink.operations.iter().sum::<u64>(), all.operations_ended);
    // A copy has the numbers of the flows of the period, shifted.
    let [shifted] = &of.shifted[..] else { panic!("{of:?}") };
    assert_eq!((shifted.flows.clone(), shifted.by), (0..400, 4));
    let mut numbers = [sink.kept, sink.copies].concat();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..400).collect::<Vec<u32>>());
}

/// Returns a random periodic workload, by number.
fn random(seed: u64, algorithm: &str, balancing: Balancing) -> Simulation {
    let pick = |item: u64, from: u64, to: u64| from + draw(seed, item) % (to - from + 1);
    let mut work = Work::default();
    let network = match pick(0, 0, 1) {
        0 => star(8, gbps(100), us(1)),
        _ => fat_tree(4, gbps(100), us(1)),
    };
    let jobs = pick(1, 1, 2) as u16;
    let size = pick(2, 1, 120_000);
    // Jobs of one length stay together, others do not.
    let computes = [us(pick(3, 5, 200)), us(pick(4, 5, 200))];
    for number in 0..jobs {
        let hosts = (0..4).map(|host| host + 4 * u32::from(number)).collect();
        let mut job = work.job(number, hosts);
        let compute = computes[usize::from(number) * (pick(5, 0, 1) as usize)];
        let distances: &[usize] = [&[1][..], &[1, 2, 3], &[1, 3]][pick(6, 0, 2) as usize];
        for pass in 0..pick(7, 3, 32) {
            // Some have a period of two passes.
            let more = if pass % 2 == 1 { pick(8, 0, 1) * 20_000 } else { 0 };
            work.pass(&mut job, distances, size + more, compute);
        }
    }
    let mut sim = work.on(network, algorithm);
    sim.flows.iter_mut().for_each(|flow| flow.balancing = balancing);
    // From one length on, or by draws.
    let ecn = |kmax| {
        let (pmax, reference, at) = (Fixed::ONE, None, MarkingPoint::Dequeue);
        Ecn { kmin: Bytes::new(20_000), kmax: Bytes::new(kmax), pmax, reference, at }
    };
    sim.switch.ecn = [Some(ecn(20_000)), Some(ecn(80_000)), None][pick(9, 0, 2) as usize];
    if pick(10, 0, 1) == 0 {
        sim.transport.recovery = Recovery::Selective;
    }
    if pick(13, 0, 1) == 0 {
        sim.draws = Draws::PerPass;
    }
    if pick(14, 0, 3) == 0 {
        sim.switch.buffer = Buffer::PerPort(Bytes::new(60_000));
        sim.transport.rto = us(300);
    }
    if pick(15, 0, 3) == 0 {
        sim.switch = Switch { ecn: sim.switch.ecn, ..lossless_switch() };
    }
    if pick(16, 0, 5) == 0 {
        sim.transport.ack_every = AckEvery::Packets(4);
        sim.transport.ack_delay = Some(us(pick(17, 2, 60)));
    }
    if pick(11, 0, 3) == 0 {
        // In the middle of some copy.
        sim.until = us(pick(12, 100, 2_000));
    }
    if pick(18, 0, 2) == 0 {
        // A link fails for a while, or gets another rate or delay.
        let link = pick(19, 0, sim.network.links.len() as u64 - 1) as u32;
        let (time, lasts) = (us(pick(20, 0, 1_500)), us(pick(21, 1, 500)));
        let (rate, delay) = (LinkChange::Rate(gbps(25)), LinkChange::Delay(us(3)));
        let usual = [LinkChange::Up, LinkChange::Rate(gbps(100)), LinkChange::Delay(us(1))];
        let kind = pick(22, 0, 2) as usize;
        let change = |time, what| Change { time, link, what };
        sim.network.changes = vec![change(time, [LinkChange::Down, rate, delay][kind])];
        if pick(23, 0, 3) > 0 {
            sim.network.changes.push(change(time + lasts, usual[kind]));
        }
        sim.network.detection = Detection { switches: us(pick(24, 0, 20)), hosts: us(pick(25, 0, 20)) };
        sim.transport.rto = us(300);
    }
    if pick(26, 0, 2) == 0 {
        // The last job begins later.
        let last = jobs - 1;
        let begin = us(pick(27, 1, 1_000));
        for operation in sim.operations.iter_mut().filter(|of| of.job == last && of.after.is_empty()) {
            if !matches!(operation.what, What::Receive { .. }) {
                operation.earliest = begin;
            }
        }
    }
    sim
}

#[test]
fn random_workloads_have_the_same_results() {
    let seeds = std::env::var("REUSE_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(3);
    let mut counts = BTreeMap::new();
    // Runs that repeat themselves while links change.
    let mut failures = 0;
    for info in incast_cc::any::CATALOGUE {
        for (balancing, name, _) in Balancing::ALL {
            for seed in 0..seeds {
                let sim = random(seed, info.name, *balancing);
                let reused = compare(&sim).reuse.expect("reuse was asked for");
                let found = !reused.repetitions.is_empty();
                println!("{} {name} {seed}: {reused:?}", info.name);
                failures += u32::from(found && !sim.network.changes.is_empty());
                let count: &mut [u32; 2] = counts.entry((info.name, *name)).or_default();
                count[0] += u32::from(found);
                count[1] += 1;
            }
        }
    }
    println!("{counts:?}");
    assert!(counts[&("constant", "ecmp")][0] > 0);
    assert!(failures > 0);
}

/// 200 passes of a job on a network, made by `pass`.
fn repeated(network: Network, algorithm: &str, pass: impl Fn(&mut Work, &mut Job)) -> Simulation {
    let mut work = Work::default();
    let mut job = work.job(0, (0..network.hosts).collect());
    for _ in 0..200 {
        pass(&mut work, &mut job);
    }
    let mut sim = work.on(network, algorithm);
    let (kmin, kmax, pmax) = (Bytes::new(40_000), Bytes::new(160_000), Fixed::ratio(1, 5));
    sim.switch.ecn = Some(Ecn { kmin, kmax, pmax, reference: None, at: MarkingPoint::Dequeue });
    sim.transport.recovery = Recovery::Selective;
    Simulation { reuse: Reuse::Exact, draws: Draws::PerPass, ..sim }
}

/// Returns the first pass from which on a run repeats itself and the number of passes of a period, or what differs.
fn told(sim: &Simulation) -> String {
    let (outcome, kept) = run(sim);
    let Reused { repetitions, reason, .. } = reuse(&outcome);
    let per_pass = sim.flows.len() as u64 / 200;
    match repetitions.first() {
        Some(Repetition { from, flows, .. }) => {
            let before = kept.flows.iter().filter(|record| record.finish < *from).count() as u64;
            format!("from pass {} on, every {}", before / per_pass, flows / per_pass)
        }
        None => {
            let reason = reason.clone().unwrap_or_default();
            let parts: Vec<&str> = reason.split(" by the ").collect();
            let part = parts.last().map_or("", |part| part.split(" of connection").next().unwrap_or(part));
            format!("no: {}", part.split(", which").next().unwrap_or(part))
        }
    }
}

/// Passes in which each of 8 hosts at one switch sends to each other one.
fn all_to_all(algorithm: &str) -> Simulation {
    let others = &[1, 2, 3, 4, 5, 6, 7];
    repeated(star(8, gbps(100), us(1)), algorithm, |work, job| work.pass(job, others, 20_000, us(100)))
}

/// Passes in a fat-tree.
fn in_a_tree(algorithm: &str, balancing: Balancing, barrier: bool) -> Simulation {
    let mut sim = repeated(fat_tree(4, gbps(100), us(1)), algorithm, |work, job| {
        let pass = if barrier { Work::pass_with_barrier } else { Work::pass };
        pass(work, job, &[1, 5], 100_000, us(100));
    });
    sim.flows.iter_mut().for_each(|flow| flow.balancing = balancing);
    sim
}

/// Returns the row of an algorithm in the table of `docs/network/reuse.md`.
fn row(algorithm: &str) -> String {
    let neighbours =
        repeated(star(8, gbps(100), us(1)), algorithm, |work, job| work.pass(job, &[1], 100_000, us(100)));
    let mut cells = vec![told(&neighbours), told(&all_to_all(algorithm))];
    for balancing in [Balancing::Ecmp, Balancing::Ops] {
        cells.extend([false, true].map(|barrier| told(&in_a_tree(algorithm, balancing, barrier))));
    }
    format!("| {algorithm} | {} |", cells.join(" | "))
}

/// Prints the table of `docs/network/reuse.md`.
#[test]
#[ignore = "prints a table"]
fn how_rare_repetition_is() {
    println!("| algorithm | neighbours | all to all | tree | tree, barrier | sprayed | sprayed, barrier |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for info in incast_cc::any::CATALOGUE {
        println!("{}", row(info.name));
    }
}

#[test]
fn the_page_has_rows_of_the_table_as_they_are_computed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/network/reuse.md");
    let page = std::fs::read_to_string(path).unwrap();
    for algorithm in ["constant", "swift", "hpcc"] {
        let row = row(algorithm);
        assert!(page.lines().any(|line| line == row), "not in {path}:\n{row}");
    }
}

#[test]
fn passes_with_a_barrier_have_the_same_results() {
    for balancing in [Balancing::Ecmp, Balancing::Ops] {
        let sim = in_a_tree("swift", balancing, true);
        let outcome = compare(&Simulation { reuse: Reuse::Off, ..sim });
        assert!(!found(&outcome).is_empty(), "{:?}", reuse(&outcome));
    }
}
