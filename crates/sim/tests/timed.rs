//! The times of a run's parts: they change nothing of it, and they add up.

mod common;

use std::time::Duration;

use common::*;
use incast_sim::{Visits, run_timed};

#[test]
fn clocks_change_no_result() {
    let flows = (0..12).map(|host| flow(host, 15, 200_000, us(u64::from(host)))).collect();
    let mut sim = simulation(fat_tree(4, gbps(100), us(1)), vec![algorithm("hpcc", &[])], flows);
    sim.probes.ports = vec![(16, 0)];
    for threads in [1, 2] {
        sim.threads = threads;
        let (mut seen, mut timed) = (Kept::default(), Kept::default());
        let outcome = incast_sim::run(&sim, &mut seen).unwrap();
        let (same, times) = run_timed(&sim, &mut timed).unwrap();
        assert_eq!((outcome, seen), (same, timed));
        assert_eq!(times.threads, threads);
        for Visits { number, timed, took } in [times.hosts, times.switches] {
            // One of 32 is timed, and the time of a visit is not nothing.
            assert!(number > 1_000, "{times:?}");
            assert!((number / 64..=number / 16).contains(&timed), "{times:?}");
            assert!(took > Duration::ZERO, "{times:?}");
        }
        // Not even on a busy machine do visits take longer than all of the engine's threads.
        assert!(times.hosts.took + times.switches.took < times.engine * 2, "{times:?}");
        assert!(times.records <= times.engine, "{times:?}");
    }
}

#[test]
fn more_threads_than_nodes_are_not_counted() {
    let mut sim =
        simulation(star(2, gbps(100), us(1)), vec![window(100_000)], vec![flow(0, 1, 50_000, us(0))]);
    sim.threads = 64;
    let (_, times) = run_timed(&sim, &mut Kept::default()).unwrap();
    assert_eq!(times.threads, 3);
}

#[test]
fn all_visits_take_as_long_as_those_that_were_timed() {
    let visits = Visits { number: 1_000, timed: 10, took: Duration::from_micros(7) };
    assert_eq!(visits.total(), Duration::from_micros(700));
    assert_eq!(Visits { number: 5, ..Visits::default() }.total(), Duration::ZERO);
}
