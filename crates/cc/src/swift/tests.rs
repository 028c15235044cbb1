use super::*;
use crate::testing::{self, PATH, float as f};

/// The acknowledgement of one packet at `now_us`, after `rtt_us`, with a full window in flight.
fn ack(now_us: u64, rtt_us: u64) -> Ack {
    let ack = testing::ack(Time::from_us(now_us), Time::from_us(rtt_us), 0, 0);
    Ack { inflight_now: Bytes::new(1_000_000), ..ack }
}

fn with_window(params: &SwiftParams, bytes: u64) -> Swift {
    Swift { cwnd: Fixed::whole(bytes), ..Swift::new(&Setup::new(*params, PATH), Time::ZERO) }
}

fn lose(flow: &mut Swift, params: &SwiftParams, kind: LossKind, now_us: u64) {
    let loss = Loss { now: Time::from_us(now_us), kind, ..Loss::BLANK };
    flow.on_loss(&Setup::new(*params, PATH), &loss);
}

#[test]
fn state_is_as_large_as_documented() {
    assert_eq!(size_of::<Swift>(), 32);
}

#[test]
fn starts_with_one_base_bdp_at_line_rate() {
    for params in [SwiftParams::paper(), SwiftParams::oscar()] {
        let allowance =
            Swift::new(&Setup::new(params, PATH), Time::ZERO).allowance(&Setup::new(params, PATH));
        assert_eq!(allowance, Allowance { window: Bytes::new(150_000), rate: PATH.line_rate });
    }
}

#[test]
fn target_delay_worked_by_hand() {
    // Section 3.5 with fs_min 0.1, fs_max 100: α = 1/(1/√0.1 − 1/√100) = 1/(3.162278 − 0.1) =
    // 0.3265543, β = −0.0326554. Base 20 + 2 hops · 3.05 = 26.1 µs.
    let params = SwiftParams::paper();
    let target =
        |bytes| with_window(&params, bytes).target_delay(&Setup::new(params, PATH)).ps() as f64 / 1e6;
    // 100 packets and more: nothing.
    assert_eq!(target(100_000), 26.1);
    assert_eq!(target(1_000_000), 26.1);
    // One packet: 0.3265543 − 0.0326554 = 0.2938989 of 100 µs.
    assert!((target(1000) - (26.1 + 29.38989)).abs() < 1e-4, "{}", target(1000));
    // Four packets: 0.3265543/2 − 0.0326554 = 0.1306217.
    assert!((target(4000) - (26.1 + 13.06217)).abs() < 1e-4);
    // A tenth of a packet and less: all 100 µs.
    assert!((target(100) - 126.1).abs() < 1e-4);
    assert_eq!(target(10), 126.1);
    // Without a span between fs_min and fs_max there is no scaling.
    let flat = SwiftParams { fs_min: Fixed::whole(10), fs_max: Fixed::whole(10), ..params };
    for bytes in [100, 10_000, 100_000] {
        let flow = with_window(&flat, bytes);
        assert_eq!(flow.target_delay(&Setup::new(flat, PATH)), Time::from_ns(26_100), "{bytes}");
    }
}

#[test]
fn target_delay_of_the_oscar_preset() {
    // r = cwnd/BDP; g = 1/(1/√0.1 − 1) = 0.462475; 25 + 12 + 100 · g(1/√r − 1) µs.
    let params = SwiftParams::oscar();
    let target =
        |bytes| with_window(&params, bytes).target_delay(&Setup::new(params, PATH)).ps() as f64 / 1e6;
    assert!((target(150_000) - 37.0).abs() < 1e-4);
    // r = 1/4: 37 + 46.2475.
    assert!((target(37_500) - 83.2475).abs() < 1e-3, "{}", target(37_500));
    assert!((target(15_000) - 137.0).abs() < 1e-3);
    assert_eq!(target(1500), 137.0);
}

#[test]
fn additive_increase() {
    // cwnd ≥ 1: cwnd + ai/cwnd · num_acked = 10 000 + 1000 · 1000/10 000 = 10 100 B.
    let params = SwiftParams::paper();
    let mut flow = with_window(&params, 10_000);
    flow.on_ack(&Setup::new(params, PATH), &ack(100, 20), &IntStack::EMPTY);
    assert!((f(flow.cwnd) - 10_100.0).abs() < 1e-3);
    // cwnd < 1: cwnd + ai · num_acked = 500 + 1000 B.
    let mut flow = with_window(&params, 500);
    flow.on_ack(&Setup::new(params, PATH), &ack(100, 20), &IntStack::EMPTY);
    assert_eq!(flow.cwnd, Fixed::whole(1500));
    // A window that is not used does not grow: 7999 B in flight and this packet are less than
    // 10 000 B, with room for another. 8000 B fill it.
    let params = SwiftParams::paper();
    for (inflight, grown) in [(7999, 10_000.0), (8000, 10_100.0)] {
        let mut flow = with_window(&params, 10_000);
        let ack = Ack { inflight_now: Bytes::new(inflight), ..ack(100, 20) };
        flow.on_ack(&Setup::new(params, PATH), &ack, &IntStack::EMPTY);
        assert!((f(flow.cwnd) - grown).abs() < 1e-3, "{}", flow.cwnd);
        // csg-htsim does not ask.
        let params = SwiftParams::htsim();
        let mut flow = with_window(&params, 10_000);
        flow.on_ack(&Setup::new(params, PATH), &ack, &IntStack::EMPTY);
        assert!((f(flow.cwnd) - 10_100.0).abs() < 1e-3);
    }
    // The oscar preset: 0.001 · 150 KB · 1000/30 000 = 5 B.
    let params = SwiftParams::oscar();
    let mut flow = with_window(&params, 30_000);
    flow.on_ack(&Setup::new(params, PATH), &ack(100, 20), &IntStack::EMPTY);
    assert!((f(flow.cwnd) - 30_005.0).abs() < 1e-3, "{}", flow.cwnd);
    // Below one packet it is 0.001 BDP over the window in packets all the same: 150/0.25 = 600 B,
    // where the paper's rule gives 150.
    for (params, grown) in [(params, 850.0), (SwiftParams { ai_below_packet: false, ..params }, 400.0)] {
        let mut flow = with_window(&params, 250);
        flow.on_ack(&Setup::new(params, PATH), &ack(100, 20), &IntStack::EMPTY);
        assert!((f(flow.cwnd) - grown).abs() < 1e-3, "{}", flow.cwnd);
    }
}

#[test]
fn the_first_decrease_waits_for_one_round_trip_of_the_flow() {
    // A flow that starts at 1000 µs; its first delay of 30 µs asks for a factor of 0.896. The last
    // decrease counts as made at its start: at 1029 µs it waits, at 1030 µs it happens.
    let params = SwiftParams::paper();
    let setup = Setup::new(params, PATH);
    let start = Swift { cwnd: Fixed::whole(200_000), ..Swift::new(&setup, Time::from_us(1000)) };
    let mut flow = start;
    flow.on_ack(&setup, &ack(1029, 30), &IntStack::EMPTY);
    assert_eq!(flow.cwnd, Fixed::whole(200_000));
    let mut flow = start;
    flow.on_ack(&setup, &ack(1030, 30), &IntStack::EMPTY);
    assert!((f(flow.cwnd) - 179_200.0).abs() < 1e-3, "{}", flow.cwnd);
    // A start cut to the largest window is no decrease of a window that was ever used.
    let small = SwiftParams { max_cwnd: Fixed::whole(100), ..params };
    let flow = Swift::new(&Setup::new(small, PATH), Time::from_us(1000));
    assert_eq!((flow.cwnd, flow.last_decrease), (Fixed::whole(100_000), Time::from_us(1000)));
}

#[test]
fn a_smoothed_rtt_may_guard_decreases_and_pace() {
    // RTTs of 40 and 120 µs: 40 · 7/8 + 120/8 = 50 µs. The first decrease is at 100 µs; at 149 µs
    // it is too soon for the second, at 150 µs it is not (nor by the latest RTT, which is 120).
    let params = SwiftParams { smoothed_rtt: true, ..SwiftParams::paper() };
    let setup = Setup::new(params, PATH);
    let mut first = with_window(&params, 200_000);
    first.on_ack(&setup, &ack(100, 40), &IntStack::EMPTY);
    assert_eq!((first.rtt, first.last_decrease), (Time::from_us(40), Time::from_us(100)));
    for (now, decreases) in [(149, false), (150, true)] {
        let mut flow = first;
        flow.on_ack(&setup, &ack(now, 120), &IntStack::EMPTY);
        assert_eq!(flow.rtt, Time::from_us(50));
        assert_eq!(flow.cwnd < first.cwnd, decreases, "{now}");
    }
    let mut flow = first;
    flow.on_ack(&Setup::new(SwiftParams::paper(), PATH), &ack(219, 120), &IntStack::EMPTY);
    assert_eq!(flow.cwnd, first.cwnd);
    // Half a packet per 50 µs: 500 B / 50 µs = 80 Mbps.
    let mut flow = Swift { cwnd: Fixed::whole(500), last_decrease: Time::from_us(1000), ..first };
    flow.on_ack(&setup, &ack(1001, 120), &IntStack::EMPTY);
    assert_eq!(flow.allowance(&setup).rate, Rate::from_mbps(80));
}

#[test]
fn flow_scaling_may_count_whole_packets() {
    // 1.9 packets are one, 0.9 none: with none the target is the largest.
    let params = SwiftParams { whole_packets: true, hop: Time::ZERO, ..SwiftParams::paper() };
    let target =
        |bytes| with_window(&params, bytes).target_delay(&Setup::new(params, PATH)).ps() as f64 / 1e6;
    assert_eq!(target(1900), target(1000));
    assert!((target(1000) - (20.0 + 29.38989)).abs() < 1e-4, "{}", target(1000));
    assert_eq!(target(900), 120.0);
    // In base BDPs of 150 packets: 24.9 packets are 24, 0.16 BDP; 1/√0.16 = 2.5, g = 0.4624753 as
    // above: 25 + 12 + 100 · g(2.5 − 1) µs.
    let params = SwiftParams { whole_packets: true, ..SwiftParams::oscar() };
    let scaled = with_window(&params, 24_900).target_delay(&Setup::new(params, PATH)).ps() as f64 / 1e6;
    assert!((scaled - 106.371_294).abs() < 1e-3, "{scaled}");
}

#[test]
fn a_delay_of_just_the_least_target_is_below_that_of_a_small_window() {
    // One packet: flow scaling adds 29.4 µs to 20. A delay of 20 µs lies below: + 1000 B.
    let params = SwiftParams { hop: Time::ZERO, ..SwiftParams::paper() };
    let mut flow = with_window(&params, 1000);
    flow.on_ack(&Setup::new(params, PATH), &ack(100, 20), &IntStack::EMPTY);
    assert_eq!(flow.cwnd, Fixed::whole(2000));
    // 200 packets are beyond flow scaling: the delay is at the target, not below it, and none above.
    let mut flow = with_window(&params, 200_000);
    flow.on_ack(&Setup::new(params, PATH), &ack(100, 20), &IntStack::EMPTY);
    assert_eq!(flow.cwnd, Fixed::whole(200_000));
}

#[test]
fn decrease_in_proportion_once_per_round_trip() {
    // 200 packets: target 26.1 µs. Delay 30 µs: 1 − 0.8 · 3.9/30 = 0.896.
    let params = SwiftParams::paper();
    let mut flow = with_window(&params, 200_000);
    flow.on_ack(&Setup::new(params, PATH), &ack(100, 30), &IntStack::EMPTY);
    assert!((f(flow.cwnd) - 179_200.0).abs() < 1e-3, "{}", flow.cwnd);
    // 29 µs later, a round trip of 30 µs is not over.
    flow.on_ack(&Setup::new(params, PATH), &ack(129, 30), &IntStack::EMPTY);
    assert!((f(flow.cwnd) - 179_200.0).abs() < 1e-3);
    // At 130 µs it is. Delay 130 µs would take 0.8 · 103.9/130 = 0.64: limited to max_mdf 0.5.
    flow.on_ack(&Setup::new(params, PATH), &ack(130, 30), &IntStack::EMPTY);
    assert!((f(flow.cwnd) - 179_200.0 * 0.896).abs() < 1e-3);
    flow.on_ack(&Setup::new(params, PATH), &ack(260, 130), &IntStack::EMPTY);
    assert!((f(flow.cwnd) - 179_200.0 * 0.896 * 0.5).abs() < 1e-3);
}

#[test]
fn holes_halve_once_per_round_trip() {
    let params = SwiftParams::paper();
    let mut flow = with_window(&params, 100_000);
    lose(&mut flow, &params, LossKind::Hole, 50);
    assert_eq!(flow.cwnd, Fixed::whole(50_000));
    // RTT is 12 µs as long as none was measured.
    lose(&mut flow, &params, LossKind::Hole, 61);
    assert_eq!(flow.cwnd, Fixed::whole(50_000));
    lose(&mut flow, &params, LossKind::Hole, 62);
    assert_eq!(flow.cwnd, Fixed::whole(25_000));
}

#[test]
fn five_timeouts_in_a_row_lead_to_the_smallest_window() {
    let params = SwiftParams::paper();
    let mut flow = with_window(&params, 160_000);
    for (i, expected) in [80_000, 40_000, 20_000, 10_000].into_iter().enumerate() {
        lose(&mut flow, &params, LossKind::Timeout, 1000 * (i as u64 + 1));
        assert_eq!(flow.cwnd, Fixed::whole(expected));
    }
    lose(&mut flow, &params, LossKind::Timeout, 5000);
    // 0.01 packets of 1000 B.
    assert_eq!(flow.allowance(&Setup::new(params, PATH)).window.get().max(10), 10);
    assert!((f(flow.cwnd) - 10.0).abs() < 1e-5);
    // A repaired hole between them starts the count again: 160 000/2^6.
    let mut flow = with_window(&params, 160_000);
    for i in 1..=4 {
        lose(&mut flow, &params, LossKind::Timeout, 1000 * i);
    }
    lose(&mut flow, &params, LossKind::Hole, 5000);
    lose(&mut flow, &params, LossKind::Timeout, 6000);
    assert_eq!(flow.cwnd, Fixed::whole(2500));
    // Three more and it is not yet the smallest: 160 000/2^9. The next is the fifth.
    for i in 7..=9 {
        lose(&mut flow, &params, LossKind::Timeout, 1000 * i);
    }
    assert_eq!(flow.cwnd, Fixed::ratio(625, 2));
    lose(&mut flow, &params, LossKind::Timeout, 10_000);
    assert!((f(flow.cwnd) - 10.0).abs() < 1e-5);
    // So does an acknowledgement.
    let mut flow = with_window(&params, 160_000);
    for i in 1..=4 {
        lose(&mut flow, &params, LossKind::Timeout, 1000 * i);
    }
    flow.on_ack(&Setup::new(params, PATH), &ack(4500, 12), &IntStack::EMPTY);
    let before = f(flow.cwnd);
    for i in 5..=8 {
        lose(&mut flow, &params, LossKind::Timeout, 1000 * i);
    }
    assert!((f(flow.cwnd) - before / 16.0).abs() < 1e-3);
}

#[test]
fn a_window_below_one_packet_is_paced() {
    // A tenth of a packet, measured RTT 40 µs (above the target): 100 B per 40 µs = 20 Mbps, one
    // packet in 400 µs.
    let params = SwiftParams { ai: Fixed::ZERO, ..SwiftParams::paper() };
    let mut flow = with_window(&params, 100);
    flow.on_ack(&Setup::new(params, PATH), &ack(100, 40), &IntStack::EMPTY);
    let allowance = flow.allowance(&Setup::new(params, PATH));
    assert_eq!(allowance, Allowance { window: Bytes::new(100), rate: Rate::from_mbps(20) });
    let flow = with_window(&params, 1000);
    assert_eq!(flow.allowance(&Setup::new(params, PATH)).rate, PATH.line_rate);
    // The smallest window is a byte, the smallest rate 1 bps (here 8 bit in 100 s).
    let params = SwiftParams { min_cwnd: Fixed::ratio(1, 1_000_000), ..params };
    let setup = Setup::new(params, PATH);
    let flow = Swift { cwnd: setup.derived.min_cwnd, rtt: Time::from_s(100), ..flow };
    let least = Allowance { window: Bytes::new(1), rate: Rate::from_bps(1) };
    assert_eq!(flow.allowance(&setup), least);
}

#[test]
fn window_stays_within_its_limits() {
    // The paper's, 1000 packets, as csg-htsim, however long it grows.
    for params in [SwiftParams::paper(), SwiftParams::htsim()] {
        let mut flow = with_window(&params, 999_000);
        for i in 1..2000 {
            flow.on_ack(&Setup::new(params, PATH), &ack(100 + i, 12), &IntStack::EMPTY);
        }
        assert_eq!(flow.cwnd, Fixed::whole(1_000_000));
    }
    // The oscar preset never exceeds one base BDP.
    let params = SwiftParams::oscar();
    let mut flow = Swift::new(&Setup::new(params, PATH), Time::ZERO);
    for i in 1..1000 {
        flow.on_ack(&Setup::new(params, PATH), &ack(100 + i, 12), &IntStack::EMPTY);
    }
    assert_eq!(flow.cwnd, Fixed::whole(150_000));
}
