//! The scenario of Figure 1 of the median paper (arXiv 2509.07907): one flow sprays its packets over n paths in
//! turn, one of which is slow and marks. No queue, no loss; the network card takes no time at the line's rate.
//! Algorithms that heed marks are held against the closed forms.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use incast_cc::dctcp::{Dctcp, DctcpParams};
use incast_cc::median::{Filtered, Median, MedianOf, MedianParams};
use incast_cc::mnscc::{Mnscc, MnsccParams};
use incast_cc::nscc::Nscc;
use incast_cc::params::Described;
use incast_cc::poseidon::{Poseidon, PoseidonParams};
use incast_cc::smartt::{Smartt, SmarttParams};
use incast_cc::{Ack, CongestionControl, Fixed, IntStack, Path, Sent, Setup};
use incast_units::{Bytes, Rate, Time};

/// One path of `of` is slow.
#[derive(Clone, Copy)]
struct Paths {
    of: u64,
    /// Round-trip time of the others (T_s), and of the slow one (T_l).
    short: Time,
    long: Time,
    /// Whether the slow one marks.
    marks: bool,
}

/// 1000 B packets, a base RTT of 10 us, and the rate at which a BDP is this many packets.
fn path(bdp: u64) -> Path {
    Path {
        base_rtt: Time::from_us(10),
        base_owd: Time::from_us(5),
        line_rate: Rate::from_mbps(800 * bdp),
        packet: Bytes::new(1000),
        payload: Bytes::new(936),
        hops: 6,
    }
}

/// Packets acknowledged per T_s over a run of this many acknowledgements, the first fifth of which is not counted.
/// With `paced` a window is sent evenly over T_s.
fn throughput<C: CongestionControl>(
    params: &C::Params,
    path: Path,
    paths: Paths,
    paced: bool,
    acks: u64,
) -> f64 {
    let setup = Setup::new(params.clone(), path);
    let mut flow = C::new(&setup, Time::ZERO);
    // Acknowledgements on their way: when they come, of which packet, sent when.
    let mut coming: BinaryHeap<Reverse<(Time, u64, Time)>> = BinaryHeap::new();
    let (mut now, mut free, mut sent, mut acked) = (Time::ZERO, Time::ZERO, 0_u64, 0_u64);
    // Packets that have overtaken the first missing one.
    let (mut early, mut missing) = (BTreeSet::new(), 0_u64);
    let mut begin = Time::ZERO;
    while acked < acks {
        let allowance = flow.allowance(&setup);
        let window = allowance.window;
        let inflight = path.packet.times(sent - acked);
        let arrival = coming.peek().map_or(Time::NEVER, |next| next.0.0);
        let open = inflight == Bytes::ZERO || inflight < window;
        if open && free.max(now) <= arrival {
            now = free.max(now);
            let rtt = if sent % paths.of == 0 { paths.long } else { paths.short };
            coming.push(Reverse((now + rtt, sent, now)));
            sent += 1;
            if paced {
                free = now + paths.short.times_ratio(path.packet.get(), window.get());
            } else if allowance.rate < path.line_rate {
                free = now + allowance.rate.time_for(path.packet);
            }
            let inflight = inflight + path.packet;
            flow.on_sent(&setup, &Sent { now, bytes: path.packet, inflight });
            continue;
        }
        let Reverse((at, packet, left)) = coming.pop().expect("a packet is in flight");
        now = at;
        acked += 1;
        let slow = packet % paths.of == 0;
        early.insert(packet);
        while early.remove(&missing) {
            missing += 1;
        }
        let ack = Ack {
            now,
            sent: left,
            received: now - path.base_owd,
            acked: path.packet,
            packet: packet * path.payload.get(),
            sequence: missing * path.payload.get(),
            next_sequence: sent * path.payload.get(),
            inflight,
            inflight_now: inflight - path.packet,
            marked: u32::from(slow && paths.marks),
            hop_delay: if slow { paths.long - paths.short } else { Time::ZERO },
            hole: packet + 1 < acked,
            ..Ack::BLANK
        };
        flow.on_ack(&setup, &ack, &IntStack::EMPTY);
        if acked == acks / 5 {
            begin = now;
        }
    }
    let counted = (acks - acks / 5) as f64;
    counted * paths.short.ps() as f64 / (now - begin).ps() as f64
}

fn preset<P: Described>(name: &str) -> P {
    P::preset(name).expect("a preset")
}

/// Theorem 4 with alpha = T_s/base RTT = 1.25: packets per T_avg.
fn closed_form_of_smartt(n: f64, bdp: f64) -> f64 {
    let alpha = 1.25;
    let (a, gamma, q) = ((12.0 - 7.0 * alpha) / (4.0 * alpha), 1.0 - 0.8 / bdp, 1.0 / n);
    let square = gamma * gamma;
    let w = (-square + (square * (1.0 - 2.0 * a / q) + 2.0 * a / q).sqrt()) / (1.0 - square);
    a / (q * (gamma + (1.0 - gamma) * w))
}

#[test]
fn the_closed_form_of_smartt_by_hand() {
    for (bdp, n, packets) in [
        (156.0, 8.0, 5.0804),
        (156.0, 32.0, 18.9940),
        (156.0, 128.0, 62.9731),
        (156.0, 256.0, 107.3864),
        (10.0, 8.0, 4.0205),
        (10.0, 32.0, 11.0626),
        (10.0, 128.0, 26.3664),
        (10.0, 256.0, 39.3040),
    ] {
        let form = closed_form_of_smartt(n, bdp);
        assert!((form - packets).abs() < 1e-4, "{n} paths, {bdp}: {form}");
    }
}

/// Within 10 %: the largest difference is 7.5 %, where the window is of five packets.
#[test]
fn smartt_collapses_as_its_closed_form_says() {
    // The theorem neglects limits of the window.
    let params = SmarttParams { max_cwnd: Fixed::whole(100), ..SmarttParams::default() };
    for bdp in [156, 10] {
        for n in [8, 16, 32, 64, 128, 256] {
            // T_l is twice the target RTT of 15 us.
            let (short, long) = (Time::from_ns(12_500), Time::from_us(30));
            let paths = Paths { of: n, short, long, marks: true };
            let average = ((n - 1) as f64 * 12.5 + 30.0) / n as f64;
            let form = closed_form_of_smartt(n as f64, bdp as f64) * 12.5 / average;
            for paced in [false, true] {
                let packets = throughput::<Smartt>(&params, path(bdp), paths, paced, 2000 * n.max(50));
                println!("BDP {bdp}, {n} paths, paced {paced}: {packets:.3}, closed form {form:.3}");
                assert!((packets / form - 1.0).abs() < 0.1, "BDP {bdp}, {n} paths: {packets}, not {form}");
            }
        }
    }
}

/// Waiting for a quarter of marks, it sees none of this: q is smaller from five paths on.
#[test]
fn smartt_that_waits_does_not_collapse() {
    let (short, long) = (Time::from_ns(12_500), Time::from_us(30));
    for n in [8, 64] {
        let paths = Paths { of: n, short, long, marks: true };
        let packets = throughput::<Smartt>(&preset("fastflow"), path(156), paths, true, 100_000);
        // The largest window, 1.25 · 156 packets, each of 12.5 us but for the slow ones.
        let form = 195.0 / (1.0 + 1.4 / n as f64);
        assert!((packets / form - 1.0).abs() < 0.02, "{n} paths: {packets}, not {form}");
    }
}

/// Theorem 6: W_c/(T_s + q(T_l − T_s)), with the largest window W_c of 60 packets, within 1 %. NSCC's average delay
/// is q · 9 us, above its target of 1 us up to eight paths, so that it collapses there and not from sixteen on.
/// The theorem is for paced packets: at four paths MNSCC collapses without pacing.
#[test]
fn mnscc_does_not_collapse_where_nscc_does() {
    for n in [4, 5, 6, 8, 16, 32] {
        let paths = Paths { of: n, short: Time::from_us(10), long: Time::from_us(19), marks: true };
        let form = 60.0 / (1.0 + 0.9 / n as f64);
        for paced in [true, false] {
            let mnscc = throughput::<Mnscc>(&preset("median"), path(40), paths, paced, 100_000);
            let nscc = throughput::<Nscc>(&preset("median"), path(40), paths, paced, 100_000);
            println!("{n} paths, paced {paced}: MNSCC {mnscc:.3}, NSCC {nscc:.3}, formula {form:.3}");
            if n == 4 && !paced {
                assert!(mnscc < form / 4.0, "not paced: {mnscc} of {form}");
            } else {
                assert!((mnscc / form - 1.0).abs() < 0.01, "{n} paths: {mnscc}, not {form}");
            }
            if n <= 8 {
                assert!(nscc < form / 10.0, "{n} paths: {nscc} of {form}");
            } else {
                assert!((nscc / form - 1.0).abs() < 0.01, "{n} paths: {nscc}, not {form}");
            }
        }
    }
}

/// One slow path in two is too many for a median, and for a history of one MNSCC is NSCC.
#[test]
fn mnscc_collapses_with_one_slow_path_in_two() {
    let paths = |of| Paths { of, short: Time::from_us(10), long: Time::from_us(19), marks: true };
    let with = |history, of| {
        let mut params: MnsccParams = preset("median");
        params.filter.history = history;
        throughput::<Mnscc>(&params, path(40), paths(of), true, 100_000)
    };
    for history in [1, 2, 3, 4] {
        let packets = with(history, 2);
        assert!(packets < 5.0, "of {history}: {packets}");
    }
    let nscc = throughput::<Nscc>(&preset("median"), path(40), paths(4), true, 100_000);
    assert_eq!(with(1, 4), nscc);
}

/// Without marks a slow path is no reason to slow down: the window reaches its limit.
#[test]
fn without_marks_nothing_collapses() {
    for n in [1, 2, 4] {
        let paths = Paths { of: n, short: Time::from_us(10), long: Time::from_us(19), marks: false };
        let form = 60.0 / (1.0 + 0.9 / n as f64);
        let nscc = throughput::<Nscc>(&preset("median"), path(40), paths, true, 100_000);
        let mnscc = throughput::<Mnscc>(&preset("median"), path(40), paths, true, 100_000);
        for packets in [nscc, mnscc] {
            assert!((packets / form - 1.0).abs() < 0.02, "{n} paths: {packets}, not {form}");
        }
    }
}

/// The throughput of `A` behind a median, as it paces itself.
fn through_median<A>(params: A::Params, median: MedianParams, bdp: u64, paths: Paths) -> f64
where
    A: Filtered,
    A::Params: Copy,
{
    throughput::<Median<A>>(&MedianOf { params, median }, path(bdp), paths, false, 100_000)
}

/// Theorem 6 where MNSCC collapses for want of pacing: at four paths NSCC by the median of four delays keeps its window
/// of 60 packets when it paces them itself, W_c in the smoothed RTT of 12.25 us. That is the formula, 60/(1 + 0.9/4).
#[test]
fn the_median_with_its_own_pacing_does_not_collapse_at_four_paths() {
    let paths = Paths { of: 4, short: Time::from_us(10), long: Time::from_us(19), marks: true };
    let median = MedianParams { median: 4, share: Fixed::ratio(1, 2), ..MedianParams::OFF };
    let form = 60.0 / (1.0 + 0.9 / 4.0);
    let bursts = through_median::<Nscc>(preset("median"), median, 40, paths);
    // Times are whole microseconds and not steps of 64 ps: base RTT and delays are, up to 64 ps.
    let mnscc = throughput::<Mnscc>(&preset("median"), path(40), paths, false, 100_000);
    assert!((bursts / mnscc - 1.0).abs() < 1e-3 && bursts < form / 4.0, "{bursts} {mnscc}");
    let paced = MedianParams { pacing: Fixed::ONE, ..median };
    let packets = through_median::<Nscc>(preset("median"), paced, 40, paths);
    println!("in bursts {bursts:.3}, paced {packets:.3}, formula {form:.3}");
    assert!((packets / form - 1.0).abs() < 0.03, "{packets}, not {form}");
}

/// Theorem 6 for other signals, by the median of three with the pacing of the option: marks of DCTCP, the busiest hop of
/// Poseidon, delay and marks of SMaRTT. Windows stay at their largest, W_c, and the throughput is within 3 % of W_c/(T_s +
/// q(T_l − T_s)). Without the median, although paced, it falls. DCTCP has no largest window and starts with 1000 packets. It
/// sends nine tenths of its window in a round trip, so that the line does not take the first window at once, and does
/// not grow a window that it does not use: 900 packets in place of W_c.
#[test]
fn any_signal_through_a_median_of_three_does_not_collapse() {
    let three = MedianParams { median: 3, marks: true, pacing: Fixed::ONE, ..MedianParams::OFF };
    let params = DctcpParams { hole_cut: Fixed::ZERO, ..DctcpParams::default() };
    for n in [4, 5, 8, 16] {
        let paths = Paths { of: n, short: Time::from_us(10), long: Time::from_us(19), marks: true };
        let form = 40.0 / (1.0 + 0.9 / n as f64);
        let poseidon =
            PoseidonParams { p: Time::from_us(10), k: Time::from_us(1), ..PoseidonParams::default() };
        let plain = throughput::<Poseidon>(&poseidon, path(40), paths, true, 100_000);
        let median = through_median::<Poseidon>(poseidon, three, 40, paths);
        println!("{n} paths: Poseidon {plain:.3}, by the median {median:.3}, formula {form:.3}");
        assert!((median / form - 1.0).abs() < 0.03 && plain < 0.9 * form, "{n} paths: {median} {plain}");

        let form = 900.0 / (1.0 + 0.9 / n as f64);
        let plain = throughput::<Dctcp>(&params, path(1000), paths, true, 100_000);
        let nine_tenths = MedianParams { pacing: Fixed::ratio(9, 10), ..three };
        let median = through_median::<Dctcp>(params, nine_tenths, 1000, paths);
        println!("{n} paths: DCTCP {plain:.3}, by the median {median:.3}, formula {form:.3}");
        assert!((median / form - 1.0).abs() < 0.03 && plain < 0.5 * form, "{n} paths: {median} {plain}");

        let paths = Paths { of: n, short: Time::from_ns(12_500), long: Time::from_us(30), marks: true };
        let form = 50.0 / (1.0 + 1.4 / n as f64);
        let plain = throughput::<Smartt>(&SmarttParams::default(), path(40), paths, true, 100_000);
        let median = through_median::<Smartt>(SmarttParams::default(), three, 40, paths);
        println!("{n} paths: SMaRTT {plain:.3}, by the median {median:.3}, formula {form:.3}");
        assert!((median / form - 1.0).abs() < 0.03 && plain < 0.5 * form, "{n} paths: {median} {plain}");
    }
    // One in two is too many.
    let paths = Paths { of: 2, short: Time::from_us(10), long: Time::from_us(19), marks: true };
    assert!(through_median::<Dctcp>(params, three, 1000, paths) < 500.0);
}
