use super::*;
use crate::contract::IntStack;

/// 100 Gbps, base RTT 12 µs of which 7 µs forward, 1000 B packets: base BDP 150 KB.
const PATH: Path = Path {
    base_rtt: Time::from_us(12),
    base_owd: Time::from_us(7),
    line_rate: Rate::from_gbps(100),
    packet: Bytes::new(1000),
    payload: Bytes::new(940),
    hops: 2,
};

fn ack(sent: Time, rtt: Time, inflight: u64) -> Ack {
    Ack {
        now: sent + rtt,
        sent,
        received: sent + rtt - Time::from_us(5),
        acked: Bytes::new(1000),
        inflight: Bytes::new(inflight),
        inflight_now: Bytes::new(inflight),
        ..Ack::BLANK
    }
}

/// Sends packets `gap_ns` apart from time zero until a batch closes, with a delay of `rtt_ns` at
/// time zero that changes by `slope` in 1000 and a constant inflight.
fn batch(params: &OscarParams, gap_ns: u64, rtt_ns: u64, slope: i64, inflight: u64) -> Oscar {
    let mut flow = Oscar::new(&Setup::new(*params, PATH), Time::ZERO);
    let mut sent = 0;
    while sent * 1000 < params.period(&PATH).ps() {
        sent += gap_ns;
        let rtt = rtt_ns.wrapping_add_signed(sent as i64 * slope / 1000);
        let ack = ack(Time::from_ns(sent), Time::from_ns(rtt), inflight);
        flow.on_ack(&Setup::new(*params, PATH), &ack, &IntStack::EMPTY);
    }
    flow
}

fn is_near(u: Fixed, expected: f64) -> bool {
    (u.bits() as f64 / 4_294_967_296.0 - expected).abs() < 1e-4 * expected
}

#[test]
fn state_is_as_large_as_documented() {
    assert_eq!(size_of::<Oscar>(), 104);
}

#[test]
fn starts_at_line_rate_with_one_base_bdp() {
    let params = OscarParams::paper();
    let allowance = Oscar::new(&Setup::new(params, PATH), Time::ZERO).allowance(&Setup::new(params, PATH));
    // Line 12 with the minimum: min(1 · 18 µs · 100 Gbps = 225 KB, 150 KB).
    assert_eq!(allowance, Allowance { window: Bytes::new(150_000), rate: PATH.line_rate });
}

#[test]
fn window_loop_decelerates() {
    // Delay 36 µs, constant: above the target of 18 µs, so the smaller step. 150 KB are 12 µs of
    // the line: u_w = 12/36 = 1/3. Packets of 80 ns every 100 ns: u_r = 0.8/(1 + 0) = 0.8.
    // Line 10: min = 1/3; line 11: + 0.001.
    let params = OscarParams::paper();
    let flow = batch(&params, 100, 36_000, 0, 150_000);
    assert!(is_near(flow.u, 1.0 / 3.0 + 0.001), "{}", flow.u);
    // Lines 12, 13: w = 0.334333 · 225 KB = 75 225 B, r = 33.4333 Gbps.
    let allowance = flow.allowance(&Setup::new(params, PATH));
    assert!(allowance.window.get().abs_diff(75_225) < 10, "{allowance:?}");
    assert!(allowance.rate.bps().abs_diff(33_433_333_333) < 4_000_000, "{allowance:?}");
}

#[test]
fn rate_loop_decelerates_faster_while_the_queue_grows() {
    // Ten flows at line rate: the delay grows 9 in 1. Packets every 80 ns, u_r = 1/(1 + 9) = 0.1.
    // 75 packets make the 6 µs batch, their mean send time is 38 · 80 ns = 3.04 µs, their mean
    // delay 18 + 9 · 3.04 = 45.36 µs: u_w = 12/45.36 = 0.26455. min = 0.1, + 0.001.
    let flow = batch(&OscarParams::paper(), 80, 18_000, 9000, 150_000);
    assert!(is_near(flow.u, 0.101), "{}", flow.u);
}

#[test]
fn takes_the_larger_step_below_the_target() {
    // Delay falls from 17 µs by 0.5 in 1, sent at 8 ns of line time every 40 ns (1000 B in
    // 400 ns): 15 packets, mean send time 8 · 400 ns = 3.2 µs, mean delay 15.4 µs. Between
    // empty (12.96) and target (18). u_w = (30 KB: 2.4)/15.4 = 0.15584; u_r = 0.2/0.5 = 0.4.
    // Line 9: max = 0.4, + 0.001.
    let flow = batch(&OscarParams::paper(), 400, 17_000, -500, 30_000);
    assert!(is_near(flow.u, 0.401), "{}", flow.u);
}

#[test]
fn the_steepest_fall_that_counts_is_an_option() {
    // Falling 0.95 in 1 from 20 µs, 1000 B in 2 µs: 3 packets, mean send time 4 µs, mean delay
    // 16.2 µs, u_w = (1000 B: 0.08)/16.2 = 0.005; u_r = 0.04/(1 − 0.95) = 0.8, + 0.001. Limited to
    // −0.9, as in the artifact: 0.04/(1 − 0.9) = 0.4.
    let paper = OscarParams::paper();
    let flow = batch(&paper, 2000, 20_000, -950, 1000);
    assert!(is_near(flow.u, 0.801), "{}", flow.u);
    let limited = OscarParams { steepest_fall: OscarParams::artifact().steepest_fall, ..paper };
    let flow = batch(&limited, 2000, 20_000, -950, 1000);
    assert!(is_near(flow.u, 0.401), "{}", flow.u);
    // Falling faster than time passes: nothing arrived at the bottleneck, the largest step.
    let flow = batch(&paper, 2000, 20_000, -1050, 1000);
    assert_eq!(flow.u, Fixed::ONE);
}

#[test]
fn hyper_increase_on_an_empty_queue() {
    // 12.9 µs is within 12 · 1.08 = 12.96 µs: u + 0.01, without line 11's term.
    let params = OscarParams::paper();
    let mut flow = batch(&params, 100, 36_000, 0, 150_000);
    let before = flow.u;
    for i in 1..=60 {
        let ack = ack(Time::from_ns(6_000 + 100 * i), Time::from_ns(12_900), 50_000);
        flow.on_ack(&Setup::new(params, PATH), &ack, &IntStack::EMPTY);
    }
    assert_eq!(flow.u, before + params.u_hai);
    // Line 4 of the paper with equality, at ε = 0.
    let exact = OscarParams { epsilon: Fixed::ZERO, ..params };
    let flow = batch(&exact, 100, 12_000, 0, 50_000);
    assert_eq!(flow.u, Fixed::ONE); // capped
}

/// Three packets, the first sent at `first_us` and the others as far apart, with the given delays.
fn three(params: &OscarParams, first_us: u64, delays_ns: [u64; 3]) -> Oscar {
    let mut flow = Oscar::new(&Setup::new(*params, PATH), Time::ZERO);
    for (i, rtt) in (1..).zip(delays_ns) {
        let ack = ack(Time::from_us(first_us * i), Time::from_ns(rtt), 150_000);
        flow.on_ack(&Setup::new(*params, PATH), &ack, &IntStack::EMPTY);
    }
    flow
}

#[test]
fn a_wide_batch_may_move_by_the_window_loop_alone() {
    // Three packets 7 µs apart span 21 µs > 3 · 6 µs. Above the target the smaller step counts.
    // Delay 36 µs: u_w = 12/36; the rate of three packets in 21 µs is u_r = 0.24/21 = 0.0114.
    // The listing has no exception for it, the artifact has.
    let paper = OscarParams::paper();
    let flow = three(&paper, 7, [36_000; 3]);
    assert!(is_near(flow.u, 0.24 / 21.0 + 0.001), "{}", flow.u);
    let guarded = OscarParams { wide_batch: Fixed::whole(3), ..paper };
    let flow = three(&guarded, 7, [36_000; 3]);
    assert!(is_near(flow.u, 1.0 / 3.0 + 0.001), "{}", flow.u);
    // Delay falling by 0.2 in 1 to a mean of 16 µs, below the target, where the larger counts:
    // u_w = 12/16 = 0.75, with and without.
    for params in [paper, guarded] {
        let flow = three(&params, 7, [17_400, 16_000, 14_600]);
        assert!(is_near(flow.u, 0.751), "{}", flow.u);
    }
    // So does a batch that spans more than one period, where one is the limit.
    let narrow = OscarParams { wide_batch: Fixed::ONE, ..paper };
    let flow = three(&narrow, 7, [36_000; 3]);
    assert!(is_near(flow.u, 1.0 / 3.0 + 0.001), "{}", flow.u);
    // Six µs apart they span three periods, not more: no exception.
    let flow = three(&guarded, 6, [36_000; 3]);
    assert!(is_near(flow.u, 0.24 / 18.0 + 0.001), "{}", flow.u);
}

#[test]
fn the_gradient_of_a_wide_batch_is_right() {
    // Three packets 100 µs apart (80 ns of line each), delays rising by 0.1 in 1 to 40, 50 and
    // 60 µs: u_r = (0.24/300)/1.1 = 0.000727, u_w = 12/50. In ticks of 16 ps the last packet lies
    // 18.75 million from the start, fifty periods.
    let flow = three(&OscarParams::paper(), 100, [40_000, 50_000, 60_000]);
    assert!(is_near(flow.u, 0.24 / 300.0 / 1.1 + 0.001), "{}", flow.u);
}

#[test]
fn ratio_stays_between_floor_and_one() {
    // 1 s of delay: u_w = 8.48e-8, floor 0.001.
    let floor = OscarParams::artifact().floor;
    let params = OscarParams { u_ai: Fixed::ZERO, floor, ..OscarParams::paper() };
    let flow = batch(&params, 1000, 1_000_000_000, 0, 1060);
    assert_eq!(flow.u, floor);
    let allowance = flow.allowance(&Setup::new(params, PATH));
    // 0.001 · 225 KB = 225 B (the floor is rounded to 2^-32, so a byte less), 100 Mbps.
    assert!(allowance.window.get().abs_diff(225) <= 1);
    assert!(allowance.rate.bps().abs_diff(100_000_000) < 100);
    // Without a floor, as in the paper, what is left is U_AI, and something may always be sent.
    let flow = batch(&OscarParams::paper(), 1000, 1_000_000_000, 0, 1060);
    assert!(is_near(flow.u, 0.001_000_085), "{}", flow.u);
    let none = OscarParams { floor: Fixed::ZERO, ..params };
    let flow = batch(&none, 1000, 4_000_000_000_000, 0, 1);
    assert_eq!(flow.u, Fixed::ZERO);
    let least = Allowance { window: Bytes::new(1), rate: Rate::from_bps(1) };
    assert_eq!(flow.allowance(&Setup::new(none, PATH)), least);
    // 1.5 MB in flight at 13 µs: u_w = 120/13, capped.
    assert_eq!(batch(&params, 1000, 13_000, 0, 1_500_000).u, Fixed::ONE);
}

#[test]
fn artifact_target_is_a_queue() {
    // Base RTT + 75 KB / 100 Gbps = 12 + 6 µs, whatever the RTT; τ = 5 µs.
    let params = OscarParams::artifact();
    assert_eq!(params.target_delay(&PATH), Time::from_us(18));
    assert_eq!(params.period(&PATH), Time::from_us(5));
    let near = Path { base_rtt: Time::from_us(4), ..PATH };
    assert_eq!(params.target_delay(&near), Time::from_us(10));
    assert_eq!(params.period(&near), Time::from_us(5));
}

#[test]
fn fair_target_is_a_time_above_the_base_rtt() {
    // Base RTT + 7 µs, whatever the RTT and the rate; half a base RTT of batch, as in the paper.
    let params = OscarParams::default();
    assert_eq!(params, OscarParams::fair());
    for (base, rate) in [(12, 100), (4, 25), (20, 800)] {
        let path = Path { base_rtt: Time::from_us(base), line_rate: Rate::from_gbps(rate), ..PATH };
        assert_eq!(params.target_delay(&path), Time::from_us(base + 7));
        assert_eq!(params.target_queue(&path), Some((Time::from_us(7), "target")));
        assert_eq!(params.period(&path), Time::from_us(base / 2));
        // In the paper half a base RTT.
        assert_eq!(OscarParams::paper().target_queue(&path).unwrap().0, Time::from_us(base / 2));
    }
}

#[test]
fn the_hyper_increase_of_the_artifacts_class_takes_four_batches() {
    // Three packets at the base RTT, sent over 6 us, three times: u from 0.1 to 0.1 + 3 · 0.25, then to 1; with
    // the files' 0.01 to 0.14.
    for (params, ends) in [
        (OscarParams::artifact_hai(), [0.35, 0.6, 0.85, 1.0]),
        (OscarParams::artifact(), [0.11, 0.12, 0.13, 0.14]),
    ] {
        let setup = Setup::new(params, PATH);
        let mut flow = Oscar { u: Fixed::ratio(1, 10), ..Oscar::new(&setup, Time::ZERO) };
        for (batch, end) in (0..).zip(ends) {
            for packet in 0..3 {
                let sent = Time::from_us(100 + 9 * batch + 3 * packet);
                flow.on_ack(&setup, &ack(sent, PATH.base_rtt, 1000), &IntStack::EMPTY);
            }
            assert!(is_near(flow.u, end), "batch {batch}: {}", flow.u);
        }
    }
}

#[test]
fn dead_band_ends_the_accelerating_branch_early() {
    // Delay 17.7 µs lies within 0.5 µs of the target of 18 µs: the paper takes the larger step,
    // u_r = 0.8, the dead band the smaller, u_w = (75 KB: 6)/17.7 = 0.33898.
    let paper = OscarParams::paper();
    assert!(is_near(batch(&paper, 100, 17_700, 0, 75_000).u, 0.801));
    let band = OscarParams { dead_band: Time::from_ns(500), ..paper };
    assert!(is_near(batch(&band, 100, 17_700, 0, 75_000).u, 6.0 / 17.7 + 0.001));
    // A delay at the target is not below it (line 9): the smaller step, 6/18. So is one that the
    // dead band just reaches.
    assert!(is_near(batch(&paper, 100, 18_000, 0, 75_000).u, 6.0 / 18.0 + 0.001));
    assert!(is_near(batch(&band, 100, 17_500, 0, 75_000).u, 6.0 / 17.5 + 0.001));
}

#[test]
fn both_parts_of_the_tolerance_count_as_an_empty_queue() {
    // ε = 12 µs/16 + 0.5 µs: a delay of 13.25 µs is an empty queue, u = 1/3 + 0.001 grows by
    // U_HAI; one of 13.26 µs is none: u_w = (75 KB: 6)/13.26, u_r = 0.8, the larger, + U_AI.
    let params = OscarParams {
        epsilon: Fixed::ratio(1, 16),
        epsilon_time: Time::from_ns(500),
        ..OscarParams::paper()
    };
    for (delay, next) in [(13_250, 1.0 / 3.0 + 0.011), (13_260, 0.801)] {
        let mut flow = batch(&params, 100, 36_000, 0, 150_000);
        for i in 1..=60 {
            let ack = ack(Time::from_ns(6_000 + 100 * i), Time::from_ns(delay), 75_000);
            flow.on_ack(&Setup::new(params, PATH), &ack, &IntStack::EMPTY);
        }
        assert!(is_near(flow.u, next), "{delay}: {}", flow.u);
    }
}

#[test]
fn one_way_delay_ignores_the_way_back() {
    // The way back takes 5 µs without queues (12 − 7) and 15 µs now. RTT 46, one-way delay 31 µs:
    // u_w = 12/(31 + 5) instead of 12/46.
    let owd = OscarParams::owd();
    for (params, delay) in [(owd, 36.0), (OscarParams::paper(), 46.0)] {
        let mut flow = Oscar::new(&Setup::new(params, PATH), Time::ZERO);
        for i in 1..=60 {
            let ack = Ack {
                received: Time::from_ns(100 * i) + Time::from_us(31),
                ..ack(Time::from_ns(100 * i), Time::from_us(46), 150_000)
            };
            flow.on_ack(&Setup::new(params, PATH), &ack, &IntStack::EMPTY);
        }
        assert!(is_near(flow.u, 12.0 / delay + 0.001), "{}", flow.u);
    }
    assert_eq!(Oscar::signals(&owd), Signals::ONE_WAY_DELAY);
    assert_eq!(Oscar::overhead(&owd), Overhead { data: 6, ack: 10 });
    assert_eq!(Oscar::overhead(&OscarParams::paper()), Overhead { data: 6, ack: 6 });
}

#[test]
fn coalesced_acknowledgements_count_for_all_their_packets() {
    // Six acknowledgements, 1 µs apart, each for 10 packets of 1000 B: u_r = 60 · 80 ns / 6 µs =
    // 0.8; u_w = (75 KB: 6)/16 = 0.375. Below the target: 0.8 + 0.001.
    let params = OscarParams::ackc();
    let mut flow = Oscar::new(&Setup::new(params, PATH), Time::ZERO);
    for i in 1..=6 {
        let ack = Ack { packets: 10, ..ack(Time::from_us(i), Time::from_us(16), 75_000) };
        flow.on_ack(&Setup::new(params, PATH), &ack, &IntStack::EMPTY);
    }
    assert!(is_near(flow.u, 0.801), "{}", flow.u);
}

#[test]
fn unbatched_updates_with_every_acknowledgement() {
    // The second packet, 100 ns later, met 20 ns more: gradient 0.2, u_r = 0.8/1.2 = 2/3.
    // Delay 36 µs: u_w = 12/36.02 = 0.33315 is the smaller.
    let params = OscarParams::unbatched();
    let mut flow = Oscar::new(&Setup::new(params, PATH), Time::ZERO);
    flow.on_ack(
        &Setup::new(params, PATH),
        &ack(Time::from_ns(100), Time::from_ns(36_000), 150_000),
        &IntStack::EMPTY,
    );
    assert_eq!(flow.u, Fixed::ONE);
    flow.on_ack(
        &Setup::new(params, PATH),
        &ack(Time::from_ns(200), Time::from_ns(36_020), 150_000),
        &IntStack::EMPTY,
    );
    assert!(is_near(flow.u, 12.0 / 36.02 + 0.001), "{}", flow.u);
    // 100 ns later again, 16 µs (below the target), 20 ns less than its predecessor at 16.02.
    flow.on_ack(
        &Setup::new(params, PATH),
        &ack(Time::from_ns(300), Time::from_ns(16_020), 30_000),
        &IntStack::EMPTY,
    );
    flow.on_ack(
        &Setup::new(params, PATH),
        &ack(Time::from_ns(400), Time::from_ns(16_000), 30_000),
        &IntStack::EMPTY,
    );
    // u_w = 2.4/16 = 0.15, u_r = 0.8/0.8 = 1: the larger, capped at 1.
    assert_eq!(flow.u, Fixed::ONE);
    // Sent at the same time: there is no rate, and the window loop alone counts.
    flow.on_ack(
        &Setup::new(params, PATH),
        &ack(Time::from_ns(400), Time::from_ns(16_000), 30_000),
        &IntStack::EMPTY,
    );
    assert!(is_near(flow.u, 0.151), "{}", flow.u);
}
