use super::*;
use crate::testing::{self, PATH, ack, close, port, then, us};

const RTT: Time = Time::from_us(12);

/// A flow after its first acknowledgement at `us(12)`, from a port with `queue` bytes.
fn started(params: &PowerTcpParams, queue: u64) -> PowerTcp {
    testing::started(params, &port(us(12), queue, 0))
}

#[test]
fn starts_at_line_rate_and_the_first_ack_only_records() {
    let params = PowerTcpParams::paper();
    let flow = started(&params, 99_000);
    close(flow.power, 1.0);
    let line = Allowance { window: Bytes::new(150_000), rate: Rate::from_gbps(100) };
    assert_eq!(flow.allowance(&Setup::new(params, PATH)), line);
    assert_eq!(PowerTcp::signals(&params), Signals::INT);
    assert_eq!(PowerTcp::overhead(&params), Overhead { data: 42, ack: 42 });
    assert_eq!(size_of::<PowerTcp>(), 232);
}

#[test]
fn a_growing_queue_by_hand() {
    // In 1 us the port sent 12.5 KB (µ = B) and its queue grew from 0 to 12.5 KB (q̇ = B):
    // λ = 2B (lines 12 to 14). v = 12.5 KB + 150 KB = 13/12 BDP (line 16).
    // Γ_norm = 2 · 13/12 = 13/6 (line 19). Γ_smooth = 1 + (13/6 − 1)/12 = 79/72 (line 24).
    // cwnd = 0.9 · (72/79 + 0.006) + 0.1 = 0.925653165 (line 27).
    let params = PowerTcpParams::paper();
    let mut flow = started(&params, 0);
    flow.on_ack(&Setup::new(params, PATH), &ack(us(13), RTT, 2000, 160_000), &port(us(13), 12_500, 12_500));
    close(flow.power, 79.0 / 72.0);
    close(flow.window, 0.925_653_165);
    // rate = cwnd/τ (line 6).
    assert_eq!(flow.allowance(&Setup::new(params, PATH)).rate.bps() / 1000, 92_565_316);
}

#[test]
fn a_draining_queue_is_less_power_than_its_length() {
    // The queue fell from 150 KB to 137.5 KB while 12.5 KB left: nothing arrived, λ = 0.
    // Taken: Γ_smooth = 11/12; cwnd = 0.9 · (12/11 + 0.006) + 0.1 = 1.087218182.
    let params = PowerTcpParams {
        idle_sample: IdleSample::Taken,
        window_cap: Fixed::whole(2),
        ..PowerTcpParams::paper()
    };
    let mut flow = started(&params, 150_000);
    flow.on_ack(&Setup::new(params, PATH), &ack(us(13), RTT, 2000, 160_000), &port(us(13), 137_500, 12_500));
    close(flow.power, 11.0 / 12.0);
    close(flow.window, 1.087_218_182);
    // A rate is never above the line's, a window above one BDP may be, where that is asked for.
    let allowance = flow.allowance(&Setup::new(params, PATH));
    assert_eq!((allowance.window.get(), allowance.rate), (163_082, Rate::from_gbps(100)));
    for params in [PowerTcpParams::paper(), PowerTcpParams::artifact(), PowerTcpParams::oscar()] {
        let mut flow = started(&params, 150_000);
        flow.on_ack(&Setup::new(params, PATH), &ack(us(24), RTT, 2000, 160_000), &port(us(24), 0, 0));
        close(flow.window, 1.0);
    }
    // With the arrival floor of the public artifact, λ = B/2 and v = 1 + 137.5/150:
    // Γ_norm = 23/24, Γ_smooth = 287/288; /0.95; cwnd = 0.9 · (0.95 · 288/287 + 0.006) + 0.1 =
    // 0.963379094.
    let params = PowerTcpParams::artifact();
    let mut flow = started(&params, 150_000);
    flow.on_ack(&Setup::new(params, PATH), &ack(us(13), RTT, 2000, 160_000), &port(us(13), 137_500, 12_500));
    close(flow.power, 287.0 / 288.0);
    close(flow.window, 0.963_379_094);
}

#[test]
fn a_sample_in_which_nothing_arrived_is_none() {
    // As above, but λ = 0 is not above Γ_norm = 0 (lines 9, 20): Γ_smooth stays 1, and the window is
    // computed from it: 0.9 · (1 + 0.006) + 0.1 = 1.0054.
    let params = PowerTcpParams { window_cap: Fixed::whole(2), ..PowerTcpParams::paper() };
    let setup = Setup::new(params, PATH);
    let mut flow = started(&params, 150_000);
    flow.on_ack(&setup, &ack(us(13), RTT, 2000, 160_000), &port(us(13), 137_500, 12_500));
    close(flow.power, 1.0);
    close(flow.window, 1.0054);
    // It is the record that the next one is compared with: in 1 us 12.5 KB leave and 12.5 KB arrive, v =
    // 1 + 137.5/150, Γ_smooth = 1 + (23/12 − 1)/12.
    flow.on_ack(&setup, &ack(us(14), RTT, 3000, 160_000), &port(us(14), 137_500, 25_000));
    close(flow.power, 1.0 + 11.0 / 144.0);
    // Of two ports the one at which something arrived counts.
    let mut flow = PowerTcp::new(&setup, Time::ZERO);
    let first = then(port(us(10), 150_000, 0), &port(us(12), 0, 0));
    flow.on_ack(&setup, &ack(us(18), RTT, 1000, 2000), &first);
    let second = then(port(us(11), 137_500, 12_500), &port(us(15), 0, 18_750));
    flow.on_ack(&setup, &ack(us(21), RTT, 2000, 3000), &second);
    // Half of the rate in 3 us: 1 + (0.5 − 1)/4.
    close(flow.power, 0.875);
}

#[test]
fn the_old_window_may_be_that_of_the_acknowledged_packet() {
    // A window of 1 BDP is 2^31 in the tag where it is the largest, 2^30 where two BDPs are.
    let params = PowerTcpParams { old_window: OldWindow::PerPacket, ..PowerTcpParams::paper() };
    assert_eq!(PowerTcp::signals(&params), Signals::INT.and(Signals::PACKET_TAG));
    let mut flow = started(&params, 0);
    assert_eq!(flow.tag(&Setup::new(params, PATH)), 1 << 31);
    let twice = PowerTcpParams { window_cap: Fixed::whole(2), ..params };
    assert_eq!(started(&twice, 0).tag(&Setup::new(twice, PATH)), 1 << 30);
    // Γ = 1. From a packet that left at half a BDP: 0.9 · (0.5 + 0.006) + 0.1 · 1; without a record of it from
    // cwnd_old = 1: 1.0054, at most 1.
    let full = port(us(13), 0, 12_500);
    let tagged = Ack { tag: 1 << 30, ..ack(us(13), RTT, 2000, 160_000) };
    let mut other = flow;
    flow.on_ack(&Setup::new(params, PATH), &tagged, &full);
    close(flow.window, 0.5554);
    other.on_ack(&Setup::new(params, PATH), &Ack { tag: 0, ..tagged }, &full);
    close(other.window, 1.0);
}

#[test]
fn the_window_may_move_once_per_round_trip() {
    // Γ_norm = 2 in 12 us, as below. The first ack is not beyond what had been sent at the start: power moves,
    // the window does not. The second is: 0.9 · 0.5 + 0.1.
    let params = PowerTcpParams { update: Update::Rtt, flows: Fixed::MAX, ..PowerTcpParams::paper() };
    let setup = Setup::new(params, PATH);
    let mut flow = started(&params, 150_000);
    for (n, sequence, window) in [(1, 150_000, 1.0), (2, 150_001, 0.55), (3, 151_000, 0.55)] {
        let int = port(us(12 + 12 * n), 150_000, 150_000 * n);
        flow.on_ack(&setup, &ack(us(12 + 12 * n), RTT, sequence, 200_000), &int);
        close(flow.power, 2.0);
        close(flow.window, window);
    }
}

#[test]
fn the_smallest_rtt_may_serve_as_base() {
    // The first RTT is 6 us: a base BDP of 75 KB at the line's rate.
    let params = PowerTcpParams { track_base_rtt: true, ..PowerTcpParams::paper() };
    let setup = Setup::new(params, PATH);
    let mut flow = PowerTcp::new(&setup, Time::ZERO);
    flow.on_ack(&setup, &ack(us(12), us(6), 1000, 150_000), &port(us(12), 75_000, 0));
    let allowance = flow.allowance(&setup);
    assert_eq!((allowance.window.get(), allowance.rate), (75_000, Rate::from_gbps(100)));
    assert_eq!(flow.probe(&setup, 2), Some(Value::Time(us(6))));
    // λ = B, a queue of one such BDP: Γ_norm = 2, weight 1/6: Γ = 7/6. cwnd = 0.9 · (6/7 + 0.006) + 0.1.
    flow.on_ack(&setup, &ack(us(13), us(12), 2000, 160_000), &port(us(13), 75_000, 12_500));
    close(flow.power, 7.0 / 6.0);
    close(flow.window, 0.876_828_571);
    assert_eq!(flow.allowance(&setup).window.get(), 65_762);
}

#[test]
fn the_old_window_is_that_of_one_round_trip_ago() {
    // Γ_norm = 2 with every ack: µ = B and a standing queue of one BDP. Δt of 12 us: no average.
    // From cwnd_old = 1: 0.9 · 0.5 + 0.1 · 1 = 0.55, then 0.9 · 0.5 + 0.1 · 0.55 = 0.505.
    let params = PowerTcpParams { flows: Fixed::MAX, ..PowerTcpParams::paper() };
    let mut flow = started(&params, 150_000);
    for (n, sequence, window, old) in [
        // It reaches what had been sent at the first ack, and is not beyond it.
        (1, 150_000, 0.55, 1.0),
        // This one acknowledges what was sent after the first: it renews cwnd_old.
        (2, 150_001, 0.505, 0.505),
        // 0.9 · 0.2525 + 0.1 · 0.505
        (3, 151_000, 0.277_75, 0.505),
    ] {
        let int = port(us(12 + 12 * n), 150_000, 150_000 * n);
        flow.on_ack(&Setup::new(params, PATH), &ack(us(12 + 12 * n), RTT, sequence, 200_000), &int);
        close(flow.power, 2.0);
        close(flow.window, window);
        close(flow.old, old);
        let setup = Setup::new(params, PATH);
        assert_eq!(flow.probe(&setup, 0), Some(Value::Ratio(flow.power)));
        let old = Bytes::new((old * 150_000.0) as u64);
        let shown = flow.probe(&setup, 1);
        assert!(matches!(shown, Some(Value::Bytes(b)) if b.get().abs_diff(old.get()) <= 1), "{shown:?}");
    }
    // With last_term = old the second would have been 0.9 · 0.5 + 0.1 · 1 again.
    let params = PowerTcpParams { last_term: LastTerm::Old, ..params };
    let mut flow = started(&params, 150_000);
    for n in 1..3 {
        let int = port(us(12 + 12 * n), 150_000, 150_000 * n);
        flow.on_ack(&Setup::new(params, PATH), &ack(us(12 + 12 * n), RTT, 2000, 200_000), &int);
        close(flow.window, 0.55);
    }
}

#[test]
fn a_long_silence_counts_as_one_round_trip() {
    // Δt = 120 us > τ: the average is the new value, not nine times beyond it.
    let params = PowerTcpParams::paper();
    let mut flow = started(&params, 0);
    flow.on_ack(&Setup::new(params, PATH), &ack(us(132), RTT, 2000, 160_000), &port(us(132), 0, 750_000));
    close(flow.power, 0.5);
    // OSCAR's artifact does go beyond: 1 + 10 · (0.5 − 1) = −4, and the window,
    // 0.9 · (1/(−4/0.95) + 0.006) + 0.1 = −0.10835, becomes the largest. In one and a half round
    // trips, 18 us, 180 KB arrive (0.8 of the line) and 30 KB of them stay (v = 1.2): Γ_norm = 0.96,
    // Γ_smooth = 1 + 1.5 · (0.96 − 1) = 0.94, cwnd = 0.9 · (0.95/0.94 + 0.006) + 0.1.
    let params = PowerTcpParams { window_cap: Fixed::whole(2), ..PowerTcpParams::oscar() };
    let mut flow = started(&params, 0);
    flow.on_ack(&Setup::new(params, PATH), &ack(us(132), RTT, 2000, 160_000), &port(us(132), 0, 750_000));
    close(flow.power, -4.0);
    close(flow.window, 2.0);
    let mut flow = started(&params, 0);
    flow.on_ack(&Setup::new(params, PATH), &ack(us(30), RTT, 2000, 160_000), &port(us(30), 30_000, 150_000));
    close(flow.power, 0.94);
    close(flow.window, 0.9 * (0.95 / 0.94 + 0.006) + 0.1);
}

#[test]
fn an_ack_without_telemetry_says_nothing() {
    // The next one with telemetry is compared with the one before, over both.
    let params = PowerTcpParams::paper();
    let mut flow = started(&params, 0);
    let before = flow;
    flow.on_ack(&Setup::new(params, PATH), &ack(us(13), RTT, 2000, 150_000), &IntStack::EMPTY);
    assert_eq!(flow, before);
    flow.on_ack(&Setup::new(params, PATH), &ack(us(18), RTT, 3000, 150_000), &port(us(18), 0, 37_500));
    // 37.5 KB in 6 us, half the line: 1 + (0.5 − 1)/2.
    close(flow.power, 0.75);
}

#[test]
fn the_most_powerful_port_counts() {
    let params = PowerTcpParams::paper();
    let mut flow = PowerTcp::new(&Setup::new(params, PATH), Time::ZERO);
    let first = then(port(us(10), 0, 0), &port(us(12), 0, 0));
    flow.on_ack(&Setup::new(params, PATH), &ack(us(18), RTT, 1000, 2000), &first);
    // 0.25 and 0.75 of the rate in 12 us.
    let second = then(port(us(22), 0, 37_500), &port(us(24), 0, 112_500));
    flow.on_ack(&Setup::new(params, PATH), &ack(us(30), RTT, 2000, 3000), &second);
    close(flow.power, 0.75);
    // Of two with the same power the first counts, with its time (line 20 asks for more): both send
    // half of their rate, the first for 1 us, the second for 3 us: 0.75 + (0.5 − 0.75)/12.
    let third = then(port(us(23), 0, 43_750), &port(us(27), 0, 131_250));
    flow.on_ack(&Setup::new(params, PATH), &ack(us(33), RTT, 3000, 4000), &third);
    close(flow.power, 0.75 - 0.25 / 12.0);
}

#[test]
fn records_that_say_nothing_change_nothing() {
    let params = PowerTcpParams::paper();
    let mut flow = started(&params, 0);
    flow.on_ack(&Setup::new(params, PATH), &ack(us(13), RTT, 2000, 150_000), &port(us(13), 150_000, 12_500));
    for int in [port(us(13), 900_000, 99_999), port(us(9), 900_000, 0), port(us(20), 900_000, 3)] {
        let mut later = flow;
        later.on_ack(&Setup::new(params, PATH), &ack(us(20), RTT, 3000, 150_000), &int);
        assert_eq!((later.window, later.power), (flow.window, flow.power));
    }
    let mut later = flow;
    let int = then(port(us(20), 900_000, 20_000), &port(us(21), 900_000, 20_000));
    later.on_ack(&Setup::new(params, PATH), &ack(us(27), RTT, 3000, 150_000), &int);
    assert_eq!((later.window, later.previous.count), (flow.window, 2));
}

#[test]
fn pacing_and_limits() {
    // Window only: line rate while a packet (1000 B of 150 KB) fits, cwnd/τ below.
    let two = Pacing::Line.allowance(Fixed::ratio(2, 150), &PATH, PATH.bdp());
    assert_eq!((two.window.get(), two.rate), (1999, Rate::from_gbps(100)));
    let half = Pacing::Line.allowance(Fixed::ratio(1, 300), &PATH, PATH.bdp());
    assert_eq!(half, Pacing::Window.allowance(Fixed::ratio(1, 300), &PATH, PATH.bdp()));
    assert_eq!(half.rate.bps() / 100_000, 3333);
    let least = Allowance { window: Bytes::new(1), rate: Rate::from_bps(1) };
    assert_eq!(Pacing::Window.allowance(Fixed::ZERO, &PATH, PATH.bdp()), least);
    // Enormous power: the floor. None at all, where that counts: the cap.
    let params = PowerTcpParams { idle_sample: IdleSample::Taken, ..PowerTcpParams::paper() };
    let mut flow = started(&params, 0);
    flow.on_ack(
        &Setup::new(params, PATH),
        &ack(us(24), RTT, 2000, 3000),
        &port(us(24), u64::MAX / 2, u64::MAX),
    );
    close(flow.power, 2_147_483_647.999_999_9);
    assert!(flow.window <= Fixed::ratio(107, 1000));
    let mut flow = started(&params, 150_000);
    flow.on_ack(&Setup::new(params, PATH), &ack(us(24), RTT, 2000, 3000), &port(us(24), 0, 0));
    close(flow.window, 1.0);
    // 100 Mbps of 25 Gbps are 0.004, of 100 Gbps 0.001.
    let params = PowerTcpParams { gamma: Fixed::ONE, flows: Fixed::MAX, ..PowerTcpParams::artifact() };
    for (path, share) in [(PATH, 0.001), (Path { line_rate: Rate::from_gbps(25), ..PATH }, 0.004)] {
        let mut flow = PowerTcp::new(&Setup::new(params, path), Time::ZERO);
        for n in 1..3 {
            let int = port(us(24 * n), u64::MAX / 2, 1 << (40 + n));
            flow.on_ack(&Setup::new(params, path), &ack(us(24 * n), RTT, 2000, 3000), &int);
        }
        close(flow.window, share);
    }
}
