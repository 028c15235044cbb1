use super::*;

fn flow(group: &'static str, size: u64, slowdown: f64) -> FlowFacts<'static> {
    FlowFacts { group, size: Some(Bytes::new(size)), slowdown: Some(slowdown), count: 1 }
}

/// Samples one microsecond apart from 0, with these queues, of a port that sends 12 500 B/us
/// (100 Gbps) whenever the queue is not empty.
fn port(queues: &[u64]) -> Vec<PortPoint> {
    let mut transmitted = 0;
    let point = |(i, &queue): (usize, &u64)| {
        let point = PortPoint {
            time: Time::from_us(i as u64),
            queue: Bytes::new(queue),
            transmitted: Bytes::new(transmitted),
            samples: 1,
        };
        transmitted += if queue > 0 { 12_500 } else { 0 };
        point
    };
    queues.iter().enumerate().map(point).collect()
}

fn us(from: u64, until: u64) -> Interval {
    Interval::new(Time::from_us(from), Time::from_us(until))
}

#[test]
fn percentiles_are_nearest_ranks() {
    // Of five values the ranks are the next whole number from 5·p/100: 0 (then the first), 1, 1.05, 2.5,
    // 4, 4.05, 4.75, 4.95, 5.
    let values = [1.0, 2.0, 4.0, 8.0, 16.0];
    for (percent, expected) in [
        (0.0, 1.0),
        (20.0, 1.0),
        (21.0, 2.0),
        (50.0, 4.0),
        (80.0, 8.0),
        (81.0, 16.0),
        (95.0, 16.0),
        (100.0, 16.0),
    ] {
        let ours = percentile(&values, percent).unwrap();
        assert_eq!(ours, expected, "{percent}");
    }
    assert_eq!(percentile(&[], 50.0), None);
    assert_eq!(percentile(&[7.0], 99.9), Some(7.0));
    // Values 1 … 1000: 999 of them, 99.9 %, are at or below 999; half of them at or below 500.
    let d = Distribution::of((1..=1000).rev().map(f64::from).collect()).unwrap();
    assert!(
        d.p999 == 999.0
            && d.p99 == 990.0
            && d.p95 == 950.0
            && d.p50 == 500.0
            && d.mean == 500.5
            && d.max == 1000.0
    );
    assert_eq!(Distribution::of(Vec::new()), None);
    // Of values that count several times, as if they were there so often.
    let counted = [(0.1, 7), (2.3, 1), (0.7, 990), (5.9, 2)];
    let repeated = counted.iter().flat_map(|(value, count)| vec![*value; *count as usize]).collect();
    assert_eq!(Distribution::of_counted(counted.to_vec()), Distribution::of(repeated));
    assert_eq!(Distribution::of_counted(counted.to_vec()).unwrap().p999, 5.9);
}

#[test]
fn slowdowns_by_class_and_group() {
    let flows = [
        flow("web", 1_000, 1.0),
        flow("web", 150_000, 3.0), // the limit belongs to the small ones
        flow("web", 150_001, 5.0),
        flow("incast", 450_000, 9.0),
        FlowFacts { group: "incast", size: Some(Bytes::new(10)), slowdown: None, count: 1 },
        FlowFacts { group: "long", size: None, slowdown: None, count: 1 },
    ];
    let table = slowdowns(&flows, &SizeClass::defaults());
    let row = |class: &str, group: Option<&str>| {
        let found = table.iter().find(|r| r.class == class && r.group.as_deref() == group).unwrap();
        (found.flows, found.unfinished, found.slowdown.map(|s| (s.mean, s.p50, s.max)))
    };
    assert_eq!(table.len(), 4 * 3);
    assert_eq!(row("small", None), (2, 1, Some((2.0, 1.0, 3.0))));
    assert_eq!(row("large", None), (2, 0, Some((7.0, 5.0, 9.0))));
    assert_eq!(row("all", None), (4, 1, Some((4.5, 3.0, 9.0))));
    assert_eq!(row("small", Some("web")), (2, 0, Some((2.0, 1.0, 3.0))));
    assert_eq!(row("small", Some("incast")), (0, 1, None));
    assert_eq!(row("large", Some("incast")), (1, 0, Some((9.0, 9.0, 9.0))));
    assert_eq!(row("all", Some("long")), (0, 0, None));
    // With one group there is nothing to tell apart.
    assert_eq!(slowdowns(&flows[..3], &SizeClass::defaults()).len(), 3);
}

#[test]
fn a_queue_that_fills_and_settles() {
    // 0 to 12 us: up to 100 KB, then to 40 KB ± 2 KB from 5 us on.
    let queues: Vec<u64> = [0, 50, 100, 80, 60, 42, 38, 41, 39, 41, 40, 39, 40].map(|kb| kb * 1000).into();
    let samples = port(&queues);
    let all = us(0, 12);
    let whole = queue(&samples, all).unwrap();
    assert_eq!((whole.min_bytes, whole.max_bytes), (0, 100_000));
    assert!((whole.mean_bytes - 610_000.0 / 13.0).abs() < 1e-9);
    // The last quarter is 9 to 12 us: 41, 40, 39, 40.
    let steady = steady_queue(&samples, all).unwrap();
    assert_eq!(steady, Queue { mean_bytes: 40_000.0, min_bytes: 39_000, max_bytes: 41_000 });
    // Within 10 % of 40 KB from 5 us on; within 25 KB from 4 us on; within 500 B never in time.
    let tolerance = |share, bytes| Tolerance { share, bytes: Bytes::new(bytes) };
    assert_eq!(settling_time(&samples, all, tolerance(0.1, 0)), Some(Time::from_us(5)));
    assert_eq!(settling_time(&samples, all, tolerance(0.1, 25_000)), Some(Time::from_us(4)));
    assert_eq!(settling_time(&samples, all, tolerance(0.0, 500)), None);
    // Counted from the interval's begin, and settled at once where it was settled before.
    assert_eq!(settling_time(&samples, us(3, 12), tolerance(0.1, 0)), Some(Time::from_us(2)));
    assert_eq!(settling_time(&samples, us(6, 12), tolerance(0.1, 0)), Some(Time::ZERO));
    assert_eq!(settling_time(&samples, us(20, 30), Tolerance::default()), None);
}

#[test]
fn a_queue_that_swings_does_not_settle() {
    let queues: Vec<u64> = (0..40).map(|i| if i % 2 == 0 { 0 } else { 100_000 }).collect();
    assert_eq!(settling_time(&port(&queues), us(0, 39), Tolerance::default()), None);
}

#[test]
fn lost_utilisation_and_busy_share() {
    // Not sending from 2 to 5 us: three of ten microseconds.
    let samples = port(&[9, 9, 0, 0, 0, 9, 9, 9, 9, 9, 9]);
    let rate = Rate::from_gbps(100);
    let all = lost_utilisation(&samples, rate, us(0, 10)).unwrap();
    assert_eq!((all.capacity_bytes, all.lost_bytes, all.lost_share), (125_000, 37_500, 0.3));
    // The interval counts from its first to its last sample, here 3 to 6 us.
    let inside = Interval::new(Time::from_ns(2_500), Time::from_ns(6_900));
    let part = lost_utilisation(&samples, rate, inside).unwrap();
    assert_eq!((part.capacity_bytes, part.lost_bytes), (37_500, 25_000));
    assert_eq!(lost_utilisation(&samples, rate, us(3, 3)), None);
    assert_eq!(lost_utilisation(&samples, Rate::ZERO, us(0, 10)), None);
    assert_eq!(busy_share(&samples, us(0, 10)), Some(8.0 / 11.0));
    assert_eq!(busy_share(&samples, us(2, 5)), Some(0.25));
    assert_eq!(busy_share(&samples, us(11, 12)), None);
}

/// Drops all equal samples but the first and the last of each stretch.
fn thinned(samples: &[PortPoint]) -> Vec<PortPoint> {
    let same = |a: &PortPoint, b: Option<&PortPoint>| {
        b.is_some_and(|b| (a.queue, a.transmitted) == (b.queue, b.transmitted))
    };
    let mut left_out = 0;
    let mut rows = Vec::new();
    for (i, sample) in samples.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|i| samples.get(i));
        if same(sample, before) && same(sample, samples.get(i + 1)) {
            left_out += 1;
        } else {
            rows.push(PortPoint { samples: 1 + left_out, ..*sample });
            left_out = 0;
        }
    }
    rows
}

#[test]
fn rows_that_stand_for_several_samples_count_as_often() {
    let queues = [0, 0, 0, 0, 9, 8, 8, 8, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 3, 3, 3, 3, 3].map(|kb| kb * 10_000);
    let mut all = port(&queues);
    // Where the queue stands still nothing is sent: the samples are equal.
    for i in 1..all.len() {
        if all[i].queue == all[i - 1].queue {
            all[i].transmitted = all[i - 1].transmitted;
        }
    }
    let rows = thinned(&all);
    assert_eq!((all.len(), rows.len()), (23, 12));
    assert_eq!(rows.iter().map(|row| row.samples).sum::<u64>(), 23);
    let last = all.len() as u64 - 1;
    for (from, until) in (0..=last).flat_map(|from| (from..=last + 2).map(move |until| (from, until))) {
        // On the instants of samples, and between them.
        for shift in [0, 300] {
            let shift = Time::from_ns(shift);
            let interval = Interval::new(Time::from_us(from) + shift, Time::from_us(until) + shift);
            assert_eq!(queue(&rows, interval), queue(&all, interval), "{interval:?}");
            assert_eq!(steady_queue(&rows, interval), steady_queue(&all, interval), "{interval:?}");
            assert_eq!(busy_share(&rows, interval), busy_share(&all, interval), "{interval:?}");
            let tolerance = Tolerance { share: 0.1, bytes: Bytes::new(15_000) };
            let settled = |samples| settling_time(samples, interval, tolerance);
            assert_eq!(settled(&rows), settled(&all), "{interval:?}");
            let lost = |samples| lost_utilisation(samples, Rate::from_gbps(100), interval);
            assert_eq!(lost(&rows), lost(&all), "{interval:?}");
        }
    }
    // What passes by row by row is the same as all at once.
    let mut sums = PortSums::default();
    rows.iter().for_each(|row| sums.add(row));
    rows.iter().for_each(|row| sums.add_again(row));
    let summary = PortSummary::of("s0", 1, Some(Rate::from_gbps(100)), &sums).unwrap();
    let whole = us(0, last);
    assert_eq!(Some(summary.queue), queue(&all, whole));
    assert_eq!(Some(summary.steady_queue), steady_queue(&all, whole));
    assert_eq!(Some(summary.busy_share), busy_share(&all, whole));
    assert_eq!(summary.utilisation, lost_utilisation(&all, Rate::from_gbps(100), whole));
}

#[test]
fn fairness() {
    assert_eq!(jain(&[5.0, 5.0, 5.0, 5.0]), Some(1.0));
    assert_eq!(jain(&[8.0, 0.0, 0.0, 0.0]), Some(0.25));
    assert_eq!(jain(&[1.0, 2.0, 3.0]), Some(36.0 / 42.0));
    assert_eq!((jain(&[]), jain(&[0.0, 0.0])), (None, None));
}
