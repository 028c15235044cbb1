//! The oracle in packets: OSCAR's Figure 3.

mod common;

use common::*;
use incast_cc::params::Value;
use incast_sim::describe::probe::Probes;
use incast_units::Time;

/// A long flow from 0 to 2.5 ms, nine short ones from 500 to 1500 us, to one host of a star of 100 Gbps and 3 us.
fn burst(settings: &[(&str, Value)]) -> Kept {
    let mut flows = vec![long(0, 10, us(0), us(2500))];
    flows.extend((1..10).map(|host| long(host, 10, us(500), us(1500))));
    let mut sim = simulation(star(11, gbps(100), us(3)), vec![algorithm("oracle", settings)], flows);
    sim.probes = Probes {
        flows: (0..10).collect(),
        flow_interval: Time::from_ns(500),
        from: us(450),
        until: us(1700),
        ..Probes::default()
    };
    run_to_end(&sim).1
}

/// Base RTT of 12 us of delay, and two data packets of 1054 B and two acknowledgements of 64 B at 100 Gbps.
const RTT_US: f64 = 12.0 + 2.0 * (1054.0 + 64.0) * 8e-5;
const BDP: f64 = RTT_US * 12_500.0;

#[track_caller]
fn within(what: &str, values: impl Iterator<Item = f64>, low: f64, high: f64) {
    let mut count = 0;
    for value in values {
        assert!(low - 1e-9 <= value && value <= high + 1e-9, "{what}: {value} is not from {low} to {high}");
        count += 1;
    }
    assert!(count > 0, "{what}: nothing to look at");
}

#[test]
fn figure_3_of_oscar() {
    let kept = burst(&[]);
    let samples = every_sample(&kept.samples, Time::from_ns(500));
    let between = |from, to| samples.iter().filter(move |s| us(from) <= s.time && s.time <= us(to));
    // Of all flows together, in base BDPs.
    let inflight = |time| between(time, time).map(|s| s.inflight.get() as f64).sum::<f64>() / BDP;
    let rtts = |from, to| between(from, to).map(|s| s.rtt.ps() as f64 / 1e6 / RTT_US);
    // A packet of 1054 B is 0.007 BDP. A window lets one more out: of ten flows 0.07. A flow alone is held by its
    // rate, and has a packet more or less in flight.
    within("alone", (450..=499).map(inflight), 0.99, 1.01);
    within("in flight", (514..=549).map(inflight), 10.0, 10.07);
    // Their packets take ten base RTTs, and are acknowledged as many later (121.8 us and more).
    within("RTT", rtts(514 + 122, 549 + 120), 10.0, 10.07);
    // From 550 us on nobody sends until 8 BDP have drained, which takes 8 · 12.18 = 97.4 us (96 of 12 us each): what
    // is in flight falls by the line's 12.5 KB/us and stops at two BDP.
    for time in 551..=645 {
        let drained = (time as f64 - 550.0) * 12_500.0 / BDP;
        assert!((inflight(550) - drained - inflight(time)).abs() < 0.03, "at {time} us: {}", inflight(time));
    }
    assert!(inflight(646) > 2.07);
    within("in flight at the share", (649..=1499).map(inflight), 2.0, 2.07);
    within("RTT at the share", rtts(800, 1499), 2.0, 2.07);
    // From 1500 us on only the long flow sends, a fifth of a BDP per RTT; from 1550 on one BDP.
    within("in flight at the end", (1530..=1549).map(inflight), 0.13, 0.21);
    within("in flight afterwards", (1563..=1690).map(inflight), 0.99, 1.01);
    let long = between(1530, 1690).filter(|s| s.flow == 0);
    within("RTT at the end", long.map(|s| s.rtt.ps() as f64 / 1e6 / RTT_US), 1.0, 1.0);
}

#[test]
fn a_flow_that_counts_from_its_arrival_is_known_a_one_way_delay_later() {
    // 6 us of delay and two times 84.32 ns of a data packet: the first arrives at 506.17 us, the last of the nine
    // 0.67 us later, and the next of each flow another 0.84 us later tells the number. 50 us after that, from
    // 556.17 to 557.8 us, flows stop to send (or from 550 to 551.6 us, if they count from their start), and the line
    // takes out 0.082 BDP per us of the ten and up to ten packets (0.07): by 3 us 0.098 to 0.246.
    for (begins, until) in [(0, 550), (1, 556)] {
        let kept = burst(&[("begins", Value::Choice(begins))]);
        let samples = every_sample(&kept.samples, Time::from_ns(500));
        let inflight = |time| {
            let at = samples.iter().filter(|s| s.time == us(time));
            at.map(|s| s.inflight.get() as f64).sum::<f64>() / BDP
        };
        within("in flight", (514..until).map(inflight), 10.0, 10.07);
        within("3 us later", [inflight(until + 3)].into_iter(), 10.0 - 0.246, 10.07 - 0.098);
    }
}
