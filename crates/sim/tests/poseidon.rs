//! Poseidon in packets: the queue that a number of flows holds, and who gets how much.

mod common;

use common::*;
use incast_cc::params::Value;
use incast_cc::{AnyParams, Fixed};
use incast_sim::Simulation;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::probe::Probes;
use incast_units::Time;

/// Flows of hosts 0, 1, … to the last one, all from 0 to `until`, in a star of 100 Gbps and 3 us; the port to the
/// receiver is sampled each microsecond from `from` on.
fn together(params: AnyParams, flows: u32, from: Time, until: Time) -> Simulation {
    let network = star(flows + 1, gbps(100), us(3));
    let long = (0..flows).map(|host| long(host, flows, us(0), until)).collect();
    let mut sim = simulation(network, vec![params], long);
    sim.probes = Probes {
        ports: vec![(flows + 1, flows as u16)],
        flows: (0..flows).collect(),
        from,
        until,
        ..Probes::default()
    };
    sim
}

/// Mean queueing delay of the second millisecond in us, what each flow got of 2 ms as a multiple of its share, and
/// all of them together as a share of the link.
fn steady(preset: &str, flows: u32) -> (f64, Vec<f64>, f64) {
    let params = AnyParams::named("poseidon", Some(preset)).unwrap();
    let (_, kept) = run_to_end(&together(params, flows, us(1000), us(2000)));
    let queue = mean(&every_sample(&kept.ports, us(1)), |sample| sample.queue.get() as f64);
    let bytes: Vec<f64> = kept.flows.iter().map(|record| record.bytes.get() as f64).collect();
    let all = bytes.iter().sum::<f64>();
    let shares = bytes.iter().map(|bytes| bytes / all * f64::from(flows)).collect();
    (queue * 8e-5, shares, all / 25e6)
}

#[test]
fn flows_hold_the_queue_that_their_fair_rate_aims_at() {
    // Equation 3 at the line's N-th part: p/α · ln N + k, with p/α = 40 us/ln 1000 or 42 us/ln 100. Above it lie up
    // to a packet (0.084 us) in the sample that nobody waits for, 16 ns (of OSCAR's artifact a microsecond) by which
    // the delay is rounded down, and what a packet more in flight than the window says makes of the rate. The flows
    // fill the link with packets of 1000 + 54 + 2 B from 3.1 us on; what is in the queue at the end arrives later.
    for (preset, flows, scale, header, unit) in [
        ("oscar", 2, 5.790_593, 2.0, 0.016),
        ("oscar", 10, 5.790_593, 2.0, 0.016),
        ("author", 2, 9.120_228, 2.0, 0.016),
        ("author", 10, 9.120_228, 2.0, 0.016),
        ("artifact", 2, 5.790_593, 12.0, 1.0),
    ] {
        let expected = scale * f64::from(flows).ln() + 2.0;
        let packet = 1054.0 + header;
        let window = (12.0 + expected) * 12_500.0 / f64::from(flows) / packet;
        let (queue, shares, filled) = steady(preset, flows);
        println!("{preset} {flows}: {queue:.3} us of {expected:.3}, {filled:.4} of the link, {shares:.3?}");
        let off = queue - expected;
        assert!(
            off > -0.02 && off < 0.084 + unit + scale / window,
            "{preset} {flows}: {queue}, not {expected}"
        );
        assert!(shares.iter().all(|share| (share - 1.0).abs() < 0.01), "{preset} {flows}: {shares:?}");
        assert!((filled * packet / 1000.0 - 1.0).abs() < 0.015, "{preset} {flows}: {filled}");
    }
}

#[test]
fn two_windows_approach_each_other_as_the_equations_say() {
    // Both flows meet the same delay, so that r* is common and ln(r_1/r_2) shrinks by the factor 1 - m = 0.75 per
    // round trip (Equation 4), whatever the queue does. What grows, or shrinks with every acknowledgement, is
    // multiplied by exp(U - 1) in place of U. Windows of 0.8 and 0.4 BDP leave 0.2 BDP of queue, 2.4 us, which
    // suits 0.93 of the line (author: 0.95): ln U is 0.25 · ln(0.93/0.33) = 0.26 at most, so that the share of the
    // way is from 0.25 · 0.88 to 0.25 · 1.14: factors of 0.75 to 0.803. The delays of both differ by up to a packet,
    // 0.084 us or 0.0036 of a factor, in four round trips 0.0145 of a ratio that is then 0.2: 2 % of each factor.
    for preset in ["oscar", "author"] {
        let [one, other] = [8, 4].map(|tenths| {
            let mut params = AnyParams::named("poseidon", Some(preset)).unwrap();
            assert!(params.set("start", Value::Ratio(Fixed::ratio(tenths, 10))));
            params
        });
        let flows = vec![long(0, 2, us(0), us(200)), Flow { algorithm: 1, ..long(1, 2, us(0), us(200)) }];
        let mut sim = simulation(star(3, gbps(100), us(3)), vec![one, other], flows);
        sim.probes = Probes { flows: vec![0, 1], flow_interval: us(1), ..Probes::default() };
        let (from, until) = (us(20), us(80));
        let kept = run_to_end(&sim).1;
        let samples = every_sample(&kept.samples, us(1));
        let large = sim.flows.iter().position(|f| f.source == 0).unwrap() as u32;
        let (one, other): (Vec<_>, Vec<_>) =
            samples.into_iter().filter(|s| from <= s.time && s.time <= until).partition(|s| s.flow == large);
        let apart: Vec<f64> = one
            .iter()
            .zip(&other)
            .map(|(a, b)| (a.window.get() as f64 / b.window.get() as f64).ln())
            .collect();
        let rtts: f64 = other[1..].iter().map(|s| 1e6 / s.rtt.ps() as f64).sum();
        let factor = (apart[60] / apart[0]).powf(1.0 / rtts);
        println!("{preset}: {factor:.4} in each of {rtts:.2} round trips, from {:.3}", apart[0]);
        assert!(apart[0] > 0.4 && rtts > 3.0, "{preset}: {} and {rtts}", apart[0]);
        assert!((0.735..0.82).contains(&factor), "{preset}: {factor}");
    }
}
