//! CCC by hand, on the path of the paper's simulations: 25 Gbps, RTT_min 20 µs, packets of 1000 B
//! (M/RTT_min = 400 Mbps).

extern crate std;

use std::vec::Vec;

use super::*;
use crate::contract::Path;
use crate::testing::{ack, close, float};

const PATH: Path = Path {
    base_rtt: Time::from_us(20),
    base_owd: Time::from_us(10),
    line_rate: Rate::from_gbps(25),
    packet: Bytes::new(1000),
    payload: Bytes::new(900),
    hops: 2,
};

fn us(us: f64) -> Time {
    Time::from_ps((us * 1e6).round() as u64)
}

fn fixed(value: f64) -> Fixed {
    Fixed::from_bits((value * 4_294_967_296.0).round() as i64)
}

fn with(change: impl FnOnce(&mut CccParams)) -> Setup<CccParams> {
    let mut params = CccParams::headroom();
    change(&mut params);
    Setup::new(params, PATH)
}

/// A flow at `gbps` that has measured a queueing delay of `q` µs and an average change of `q_v`.
fn at(setup: &Setup<CccParams>, q: f64, q_v: f64, gbps: u64, s: u64) -> Ccc {
    Ccc {
        reference_rtt: PATH.base_rtt + us(q),
        reference_at: us(1000.0),
        rate: Fixed::whole(1000 * gbps),
        basis: Fixed::whole(1000 * s),
        gradient: fixed(q_v),
        previous_rtt: PATH.base_rtt + us(q),
        previous_at: us(1000.0),
        ..Ccc::new(setup, Time::ZERO)
    }
}

/// Region and step in bit/s of a flow at that state, `itv` µs after the acknowledgement before, on a link that
/// has been under-utilised for `doublings` round trips.
fn step(q: f64, q_v: f64, itv: f64, gbps: u64, s: u64, doublings: u64) -> (Region, f64) {
    let setup = with(|_| ());
    let mut flow = at(&setup, q, q_v, gbps, s);
    if doublings > 0 {
        flow.idle_since = flow.previous_at - PATH.base_rtt.times(doublings);
    }
    let state = flow.state(&setup);
    let region = state.region(&setup.params, setup.derived.q_b);
    (region, float(flow.step(&setup, region, &state, us(itv))) * 1e6)
}

/// Lets `flow` see an acknowledgement `itv` µs after the one before, with a queueing delay of `q` µs.
fn acked(flow: &mut Ccc, setup: &Setup<CccParams>, itv: f64, q: f64) {
    let now = if flow.previous_at == Time::NEVER { us(1000.0) } else { flow.previous_at + us(itv) };
    flow.on_ack(setup, &ack(now, PATH.base_rtt + us(q), 0, 0), &IntStack::EMPTY);
}

fn rate(flow: &Ccc, setup: &Setup<CccParams>) -> f64 {
    flow.allowance(setup).rate.bps() as f64 / 1e9
}

#[test]
fn criterion_by_hand() {
    let setup = with(|_| ());
    // ½·log2(5/q) − q_v.
    for (q, q_v, delta) in [
        (1.25, 0.0, 1.0),
        (2.5, 0.5, 0.0),
        (7.0, -0.1, -0.142_713_413),
        (10.0, -0.6, 0.1),
        (10.0, -0.4, -0.1),
        (20.0, -1.0, 0.0),
        (30.0, -0.5, -0.792_481_250),
        (80.0, 0.2, -2.2),
        // q counts 20 µs/4096: ½·log2(1024) = 5.
        (0.0, 0.0, 5.0),
        // Draining by more than the link carries is not possible: counts as −1, ½·log2(½) + 1.
        (10.0, -7.0, 0.5),
    ] {
        close(at(&setup, q, q_v, 5, 5).state(&setup).delta, delta);
    }
    // On δ = 0 in the point where numbers are binary fractions: exactly.
    assert_eq!(at(&setup, 20.0, -1.0, 5, 5).state(&setup).delta, Fixed::ZERO);
    assert_eq!(at(&setup, 5.0, 0.0, 5, 5).state(&setup).delta, Fixed::ZERO);
}

#[test]
fn piecewise_criterion_by_hand() {
    // Equation 10 as printed, with the exact logarithm of 5000 ns: at the destination it is not zero.
    let printed = |q: f64, q_v: f64| HALF * (ns(us(5.0)).log2() - ns(us(q)).log2_piecewise()) - fixed(q_v);
    for (q, q_v, delta) in [
        (5.0, 0.0, 0.033_504_627),
        (10.0, -0.6, 0.133_504_627),
        (7.0, -0.1, -0.110_636_0),
        (30.0, -0.5, -0.771_671_2),
    ] {
        assert!((float(printed(q, q_v)) - delta).abs() < 1e-7, "{q}: {}", printed(q, q_v));
    }
    // Its zero: 12.287712 = 12 + (q − 4096)/4096, q = 5274.5 ns = 1.0549·q_B.
    assert!(printed(5.2744, 0.0) > Fixed::ZERO && printed(5.2746, 0.0) < Fixed::ZERO);
    // `equation-10` is that.
    let whole = with(|p| p.log = Logarithm::Printed);
    for (q, q_v) in [(5.0, 0.0), (10.0, -0.6), (30.0, -0.5)] {
        assert_eq!(at(&whole, q, q_v, 5, 5).state(&whole).delta, printed(q, q_v));
    }
    // With q_B through the same function: exactly zero at q_B, and within half of 0.0861 of δ.
    let (exact, lines) = (with(|_| ()), with(|p| p.log = Logarithm::Piecewise));
    assert_eq!(at(&lines, 5.0, 0.0, 5, 5).state(&lines).delta, Fixed::ZERO);
    let mut worst = 0.0_f64;
    for q in (5..200_000).step_by(7) {
        let delta = |setup| float(at(setup, f64::from(q) / 1000.0, -0.3, 5, 5).state(setup).delta);
        worst = worst.max((delta(&lines) - delta(&exact)).abs());
    }
    assert!((0.03..0.0431).contains(&worst), "{worst}");
}

#[test]
fn regions_are_those_of_the_map() {
    use Region::{
        AnalyticalDecrease as Ad, AnalyticalIncrease as Ai, DecreaseGrowing as H1d, DecreaseLong as H2d,
        IncreaseFast as H1i, IncreaseSlow as H2i,
    };
    for log in [Logarithm::Exact, Logarithm::Piecewise] {
        let setup = with(|p| p.log = log);
        let band = with(|p| (p.log, p.epsilon) = (log, Fixed::ratio(1, 20)));
        for (q, q_v, region, with_band) in [
            (2.0, -0.1, H1i, H1i),
            (2.0, -0.04, H1i, H2i),
            (2.0, 0.0, H2i, H2i),
            // An idle link.
            (0.0, 0.0, H2i, H2i),
            (0.0, -3.0, H1i, H1i),
            (1.25, 0.9, H2i, H2i),
            (1.25, 1.1, H1d, H1d),
            (6.0, 0.1, H1d, H1d),
            (50.0, 0.1, H1d, H1d),
            (5.0, 0.0, Ad, Ad),
            (10.0, -0.3, Ad, Ad),
            (10.0, -0.7, Ai, Ai),
            (20.0, -0.9, Ad, Ad),
            (20.001, -0.9, H2d, H2d),
            (80.0, -1.0, H2d, H2d),
        ] {
            let there = |setup| at(setup, q, q_v, 5, 5).state(setup).region(&setup.params, setup.derived.q_b);
            assert_eq!((there(&setup), there(&band)), (region, with_band), "{q} {q_v} {log:?}");
        }
    }
}

#[test]
fn steps_by_hand() {
    use Region::{
        AnalyticalDecrease as Ad, AnalyticalIncrease as Ai, DecreaseLong as H2d, IncreaseFast as H1i,
        IncreaseSlow as H2i,
    };
    for (region, q, q_v, itv, r, s, doublings, by_hand) in [
        // (½·log2(5/(q + Itv·q_v)) − q_v)·400 Mbps. With the bracket of Algorithm 1, line 7, which halves q_v as
        // well, the first two would be +21.3 and −25.7 Mbps.
        (Ai, 8.0, -0.6, 1.6, 5, 5, 0, 141_270_533.0),
        (Ai, 10.0, -0.7, 1.6, 5, 5, 0, 114_273_684.0),
        (Ai, 6.0, -0.3, 0.32, 5, 5, 0, 72_047_075.0),
        // −r·¼·min(|q − 5|/5, 1)·Itv/20: 5 G · ¼ · 3/5 · 0.08, 25 G · ¼ · 0.016, 5 G · ¼ · 1/10 · 0.08.
        (Ad, 8.0, -0.2, 1.6, 5, 5, 0, -60_000_000.0),
        (H2d, 40.0, -0.2, 0.32, 25, 25, 0, -100_000_000.0),
        (Ad, 5.5, 0.0, 1.6, 5, 5, 0, -10_000_000.0),
        // S · ½ · 15/25 · (1 − 2 · 5/25) · 0.08 = 5 G · 0.0144.
        (H1i, 2.0, -0.5, 1.6, 5, 5, 0, 72_000_000.0),
        // S · 0.1 · 22.5/25 · 4 · 0.08 = 5 G · 0.0288.
        (H2i, 0.5, 0.0, 1.6, 5, 5, 2, 144_000_000.0),
        // Above half the line rate H1i waits for others, and H2i goes on: 5 G · 0.1 · 4 · 0.016.
        (H1i, 0.0, -0.5, 1.6, 13, 5, 2, 0.0),
        (H2i, 0.0, 0.0, 0.32, 13, 5, 2, 32_000_000.0),
        // Irr = 2.5 G is below r: the flow may not grow, and δ > 0 forbids to shrink. At Irr = r neither.
        (H2i, 4.5, 0.0, 1.6, 5, 5, 0, 0.0),
        (H2i, 0.0, 0.0, 1.6, 25, 5, 2, 0.0),
        // Itv counts at most RTT_min: 25 G · ¼.
        (H2d, 40.0, -0.2, 1000.0, 25, 25, 0, -6_250_000_000.0),
    ] {
        let (found, u) = step(q, q_v, itv, r, s, doublings);
        assert_eq!(found, region, "{q} {q_v}");
        assert!((u - by_hand).abs() <= 1e-7 * by_hand.abs(), "{region:?} at {q} {q_v}: {u}, not {by_hand}");
    }
    // Itv counts at most RTT_min in Ai too: 19 µs of queue that drains by 1 per 1 is empty 20 µs later,
    // 20 µs/4096: (½·log2(1024) + 1)·400 Mbps.
    let (region, u) = step(19.0, -1.0, 1000.0, 5, 5, 0);
    assert_eq!((region, u.round()), (Ai, 2_400_000_000.0));
}

#[test]
fn an_idle_link_is_grown_into_and_doubles_the_step_each_rtt() {
    // Alone after a phase of five flows: r = S = 5 Gbps, steps of 0.5 Gbps · 2^i in RTT i, which the last of its
    // n acknowledgements takes twice, because a whole RTT more has passed: 5 + 0.5 · (2^(i+1) − 1) · (1 + 1/n). At
    // q = q_v = 0 H1i would stop it at half the line rate.
    let setup = with(|_| ());
    for n in [1, 10, 1000] {
        let mut flow = at(&setup, 0.0, 0.0, 5, 5);
        flow.idle_since = flow.previous_at;
        for (i, gbps) in [5.5, 6.5, 8.5, 12.5, 20.5, 36.5].into_iter().enumerate() {
            for k in 1..=n {
                acked(&mut flow, &setup, 20.0 / f64::from(n), 0.0);
                let doublings = if k == n { i + 1 } else { i };
                assert_eq!(flow.probe(&setup, 5), Some(Value::Count(1 << doublings)));
            }
            let by_hand = (gbps + (gbps - 5.0) / f64::from(n)).min(25.0);
            assert!((rate(&flow, &setup) / by_hand - 1.0).abs() < 1e-6, "{by_hand}: {}", rate(&flow, &setup));
        }
        assert_eq!(flow.region, Some(Region::IncreaseSlow));
    }
}

#[test]
fn acceleration_is_limited_and_ends_with_a_queue() {
    let setup = with(|p| p.floor = Fixed::ONE);
    let mut flow = at(&setup, 0.0, 0.0, 25, 25);
    let mut seen = Vec::new();
    for _ in 0..5_000 {
        acked(&mut flow, &setup, 20.0, 0.999);
        seen.push(flow.acceleration(&setup));
    }
    // The clock starts with the first acknowledgement of a queueing delay below 1 µs.
    assert_eq!(seen[..13], [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024]);
    assert_eq!(seen.last(), Some(&1024));
    // 5 % of RTT_min are a queue.
    acked(&mut flow, &setup, 20.0, 1.0);
    assert_eq!((flow.acceleration(&setup), flow.idle_since), (1, Time::NEVER));
    acked(&mut flow, &setup, 20.0, 0.0);
    acked(&mut flow, &setup, 19.999, 0.0);
    assert_eq!(flow.acceleration(&setup), 1);
    acked(&mut flow, &setup, 0.001, 0.0);
    assert_eq!(flow.acceleration(&setup), 2);
}

#[test]
fn change_of_the_queueing_delay_is_averaged_and_ends_at_zero() {
    let setup = with(|_| ());
    let mut flow = at(&setup, 10.0, 0.0, 5, 5);
    // 0.8 · 0.32/1.6 = 0.16, then 0.2 · 0.16.
    acked(&mut flow, &setup, 1.6, 10.32);
    close(flow.state(&setup).q_v, 0.16);
    acked(&mut flow, &setup, 1.6, 10.32);
    close(flow.state(&setup).q_v, 0.032);
    // 0.032 · 0.2^n is below 2^-20 = 9.5e-7 from n = 7 on; it is averaged on all the same.
    for n in 1..7 {
        acked(&mut flow, &setup, 1.6, 10.32);
        assert!(flow.state(&setup).q_v > Fixed::ZERO, "{n}");
    }
    acked(&mut flow, &setup, 1.6, 10.32);
    assert_eq!(flow.state(&setup).q_v, Fixed::ZERO);
    assert!(flow.gradient > Fixed::ZERO);
    // −8/1 counts as −1 when it is used; the average keeps 0.8 · (−8), then 0.2 of it: −1.28, −0.256.
    acked(&mut flow, &setup, 1.0, 2.32);
    assert_eq!(flow.state(&setup).q_v, -Fixed::ONE);
    acked(&mut flow, &setup, 1.0, 2.32);
    assert_eq!(flow.state(&setup).q_v, -Fixed::ONE);
    acked(&mut flow, &setup, 1.0, 2.32);
    assert!((float(flow.state(&setup).q_v) + 0.256).abs() < 1e-6);
}

#[test]
fn one_rtt_of_a_long_queue_takes_off_a_fifth() {
    // 12.5 acknowledgements 1.6 µs apart, each times 1 − ¼ · 0.08: 0.98^12.5 = 0.7768299, two round trips its square.
    // One of 25, 0.8 µs apart: 0.99^25 = 0.777821. In Ad from 2 q_B on as well.
    let setup = with(|_| ());
    for (q, itv, by_hand) in [(40.0, 0.8, 0.777_821), (10.0, 0.8, 0.777_821), (10.0, 1.6, 0.603_465)] {
        let mut flow = at(&setup, q, 0.0, 25, 25);
        for _ in 0..25 {
            acked(&mut flow, &setup, itv, q);
        }
        assert!((rate(&flow, &setup) / 25.0 - by_hand).abs() < 1e-6);
        let region = if q > 20.0 { Region::DecreaseLong } else { Region::AnalyticalDecrease };
        assert_eq!(flow.region, Some(region));
    }
}

#[test]
fn the_first_ack_and_one_at_the_same_instant_only_record() {
    let setup = with(|_| ());
    let mut flow = Ccc::new(&setup, Time::ZERO);
    assert_eq!((0..4).map(|i| flow.probe(&setup, i)).collect::<Vec<_>>(), [None; 4]);
    acked(&mut flow, &setup, 0.0, 40.0);
    assert_eq!((rate(&flow, &setup), flow.region, flow.gradient), (25.0, None, Fixed::ZERO));
    assert_eq!(flow.probe(&setup, 0), Some(Value::Time(us(40.0))));
    acked(&mut flow, &setup, 0.0, 36.0);
    assert_eq!((rate(&flow, &setup), flow.region, flow.gradient), (25.0, None, Fixed::ZERO));
    // The next is measured against the newer one: 0.8 · (37 − 36)/2.
    acked(&mut flow, &setup, 2.0, 37.0);
    close(flow.gradient, 0.4);
    assert_eq!(flow.region, Some(Region::DecreaseGrowing));
}

#[test]
fn basis_is_the_mean_of_calm_rates_when_the_analytical_regions_are_left() {
    let setup = with(|_| ());
    let mut flow = at(&setup, 7.0, 0.0, 8, 25);
    // Ad: r · (1 − ¼ · 2/5 · 0.08) = r · 0.992 each; recorded before it moves, the last five are
    // 8 Gbps · 0.992^(2…6), mean 8 · 0.9683744.
    for _ in 0..7 {
        acked(&mut flow, &setup, 1.6, 7.0);
        assert_eq!((flow.region, flow.basis), (Some(Region::AnalyticalDecrease), Fixed::whole(25_000)));
    }
    // Ai keeps it: −0.56 µs in 1.6 µs, 0.8 of it, is no calm queue, δ = ½·log2(5/6.44) + 0.28 = 0.097.
    acked(&mut flow, &setup, 1.6, 6.44);
    assert_eq!((flow.region, flow.basis), (Some(Region::AnalyticalIncrease), Fixed::whole(25_000)));
    // H1i takes it over.
    acked(&mut flow, &setup, 1.6, 4.5);
    assert_eq!(flow.region, Some(Region::IncreaseFast));
    let mean = (2..=6).map(|n| 0.992_f64.powi(n)).sum::<f64>() / 5.0;
    assert!((float(flow.basis) - 8000.0 * mean).abs() < 1e-5, "{}", flow.basis);
    // From one H region to another nothing is taken over.
    let before = flow.basis;
    for _ in 0..9 {
        acked(&mut flow, &setup, 1.6, 4.5);
    }
    assert_eq!((flow.region, flow.basis), (Some(Region::IncreaseSlow), before));
    // Without a record S stays, and with one it is that one.
    let mut flow = at(&setup, 8.0, -0.3, 8, 25);
    flow.region = Some(Region::AnalyticalDecrease);
    acked(&mut flow, &setup, 1.6, 4.5);
    assert_eq!((flow.region, flow.count, flow.basis), (Some(Region::IncreaseFast), 0, Fixed::whole(25_000)));
    let mut flow = at(&setup, 6.0, 0.0, 8, 25);
    acked(&mut flow, &setup, 1.6, 6.0);
    acked(&mut flow, &setup, 1.6, 4.0);
    assert_eq!((flow.count, flow.basis), (1, Fixed::whole(8000)));
}

#[test]
fn the_paper_renews_s_only_when_it_leaves_for_an_increase() {
    // From Ad at 7 us with one record of 8 Gbps: a queue that grows leads to H1d, one below q_B to H1i.
    for (renewal, grown) in [(Renewal::Increase, 25_000), (Renewal::Any, 8000)] {
        let setup = with(|p| p.renewal = renewal);
        for (q, region, basis) in [(9.0, Region::DecreaseGrowing, grown), (4.0, Region::IncreaseFast, 8000)] {
            let mut flow = at(&setup, 7.0, 0.0, 8, 25);
            (flow.region, flow.recorded[0], flow.count) = (Some(Region::AnalyticalDecrease), flow.rate, 1);
            flow.next = 1;
            acked(&mut flow, &setup, 1.6, q);
            assert_eq!((flow.region, flow.basis), (Some(region), Fixed::whole(basis)), "{renewal:?}");
        }
    }
    assert_eq!(CccParams::paper().renewal, Renewal::Increase);
}

#[test]
fn a_flow_that_stands_still_moves_to_its_reference_rate() {
    // At q = 4.5 us and q_v = 0 δ is positive, and Irr = 2.5 Gbps: the paper's flow of 5 Gbps may not grow, and does not
    // shrink. Here it loses 0.05 · 5/25 of the 2.5 Gbps in an RTT: 0.08 of an RTT takes 2 Mbps.
    let setup = with(|p| p.w_fair = Fixed::ratio(1, 20));
    let still = with(|_| ());
    for (q, q_v, gbps, mbps) in [
        (4.5, 0.0, 5, -2.0),
        // 0.05 · 10/25 · (15 − 10) · 0.08: below Irr in H1d, at 2 us and q_v = 0.8 (δ = −0.139).
        (2.0, 0.8, 10, 8.0),
        // On δ = 0, at q_B: Irr = 0, 0.05 · 5/25 · −5 · 0.08.
        (5.0, 0.0, 5, -4.0),
    ] {
        let step = |setup| {
            let flow = at(setup, q, q_v, gbps, 5);
            let state = flow.state(setup);
            float(flow.step(setup, state.region(&setup.params, setup.derived.q_b), &state, us(1.6)))
        };
        assert_eq!(step(&still), 0.0);
        assert!((step(&setup) - mbps).abs() < 1e-5, "{}, not {mbps}", step(&setup));
    }
    // Where δ and Irr agree the step is the paper's.
    let flow = at(&setup, 0.5, 0.0, 5, 5);
    let state = flow.state(&setup);
    let step = float(flow.step(&setup, Region::IncreaseSlow, &state, us(1.6)));
    assert!((step - 36.0).abs() < 1e-6, "{step}");
}

#[test]
fn change_is_measured_over_the_span() {
    // A quarter of 20 us. RTTs of +0.3 and −0.3 us of noise every 1.25 us: the fifth acknowledgement is 5 us after the
    // first, with +1 us: 0.8 · 1/5. The four between change nothing.
    let setup = with(|p| p.span = Fixed::ratio(1, 4));
    let mut flow = at(&setup, 10.0, 0.0, 5, 5);
    for q in [10.3, 9.7, 10.3] {
        acked(&mut flow, &setup, 1.25, q);
        assert_eq!(flow.gradient, Fixed::ZERO);
    }
    acked(&mut flow, &setup, 1.25, 11.0);
    close(flow.gradient, 0.16);
    // One that comes late is measured over all of its time: 0.2 · 0.16 + 0.8 · (−2/8).
    acked(&mut flow, &setup, 8.0, 9.0);
    close(flow.gradient, -0.168);
}

#[test]
fn destination_is_a_share_of_the_rtt_where_no_time_is_given() {
    let share = Setup::new(CccParams::fair(), PATH);
    assert_eq!(share.derived.q_b, us(5.0));
    let short = Setup::new(CccParams::fair(), Path { base_rtt: Time::from_us(12), ..PATH });
    assert_eq!((short.derived.q_b, short.derived.span), (us(3.0), us(3.0)));
    let given = CccParams { q_b: us(2.0), ..CccParams::fair() };
    assert_eq!(Setup::new(given, PATH).derived.q_b, us(2.0));
}

#[test]
fn the_time_stamp_takes_its_bytes_both_ways() {
    assert_eq!(Ccc::overhead(&CccParams::paper()), Overhead { data: 4, ack: 4 });
    assert_eq!(Ccc::overhead(&CccParams::headroom()), Overhead::default());
}

#[test]
fn starts_as_the_options_say() {
    let start = |change: fn(&mut CccParams)| {
        let setup = with(change);
        let flow = Ccc::new(&setup, Time::ZERO);
        (float(flow.rate), float(flow.basis).round())
    };
    assert_eq!(start(|_| ()), (25_000.0, 25_000.0));
    let tenth = |p: &mut CccParams| p.initial_rate = Fixed::ratio(1, 10);
    assert!((start(tenth).0 - 2500.0).abs() < 1e-4 && start(tenth).1 == 2500.0);
    assert_eq!(start(|p| p.s_initial = Fixed::ratio(1, 5)), (25_000.0, 5000.0));
}

#[test]
fn window_has_room_for_the_queue_that_is_aimed_at() {
    // 5 Gbps: 625 B per µs, 25 µs or 20. The smallest rate, 25 Mbps, is 78 B in 25 µs: one packet.
    let unlimited = u64::MAX;
    for (window, bytes, least) in [
        (Window::Headroom, 15_625, 1000),
        (Window::Letter, 12_500, 1000),
        (Window::None, unlimited, unlimited),
    ] {
        let setup = with(|p| p.window = window);
        let mut flow = at(&setup, 0.0, 0.0, 5, 5);
        assert_eq!(flow.allowance(&setup).window, Bytes::new(bytes));
        flow.rate = setup.derived.floor;
        assert_eq!(flow.allowance(&setup).window, Bytes::new(least));
    }
}

#[test]
fn rates_stay_between_floor_and_line() {
    let setup = with(|_| ());
    let mut flow = at(&setup, 4000.0, 0.0, 25, 25);
    for _ in 0..100 {
        acked(&mut flow, &setup, 20.0, 4000.0);
    }
    // 0.001 · 25 Gbps.
    assert!((rate(&flow, &setup) - 0.025).abs() < 1e-8, "{}", rate(&flow, &setup));
    for _ in 0..100 {
        acked(&mut flow, &setup, 20.0, 0.0);
    }
    assert_eq!(flow.allowance(&setup).rate, PATH.line_rate);
}

#[test]
fn a_destination_below_the_least_logarithm_is_still_reached_from_an_idle_link() {
    // q_B 10 ns on a path of 100 µs, of which 1/4096 are 24 ns: q counts 2.5 ns, δ = ½·log2(4) = 1.
    let setup = Setup::new(
        CccParams { q_b: Time::from_ns(10), ..CccParams::headroom() },
        Path { base_rtt: Time::from_us(100), ..PATH },
    );
    let flow = Ccc { previous_rtt: Time::from_us(100), ..Ccc::new(&setup, Time::ZERO) };
    let state = flow.state(&setup);
    assert_eq!(
        (state.delta, state.region(&setup.params, setup.derived.q_b)),
        (Fixed::ONE, Region::IncreaseSlow)
    );
}

#[test]
fn state_is_small() {
    assert_eq!(size_of::<Ccc>(), 112);
}
