//! Swift in fixed point against a twin in f64, in packets and µs as in the paper's listing, and both against numbers
//! worked out by hand.

mod floats;
mod signals;
mod swift_law;

use floats::{real, us};
use incast_cc::params::Presets;
use incast_cc::swift::{Swift, SwiftParams};
use incast_cc::{Ack, CongestionControl, Fixed, IntStack, LossKind, Path, Setup};
use incast_units::{Bytes, Rate, Time};
use swift_law::{Twin, difference, fabric, loss};

/// Both sides agree to 1e-6 of the window, over a run of 60 000 acknowledgements and its losses.
/// Each step rounds to 2^-32, the roots and quotients of the target to some 1e-9 of it; a decrease
/// passes on what the steps before it had gathered, and halves it.
#[test]
fn agrees_with_its_twin() {
    for preset in SwiftParams::PRESETS {
        for (seed, gbps) in [(1, 10), (2, 100), (3, 400)] {
            let params = (preset.params)();
            let path = fabric(gbps);
            let (mut flow, mut twin) =
                (Swift::new(&Setup::new(params, path), Time::ZERO), Twin::new(params, &path));
            let mut random = signals::Random::new(seed);
            let mut worst = 0.0_f64;
            for ack in signals::acks(seed, &path, Time::from_us(200), 60_000) {
                flow.on_ack(&Setup::new(params, path), &ack, &IntStack::EMPTY);
                twin.ack(&ack, us(ack.rtt()));
                if random.below(500) == 0 {
                    let kind = if random.below(2) == 0 { LossKind::Hole } else { LossKind::Timeout };
                    let times = if random.below(4) == 0 { 6 } else { 1 };
                    for _ in 0..times {
                        let loss = loss(ack.now, kind, 1);
                        flow.on_loss(&Setup::new(params, path), &loss);
                        if kind == LossKind::Timeout {
                            twin.time_out(ack.now);
                        } else {
                            twin.repaired();
                            twin.lose(ack.now);
                        }
                    }
                }
                let allowance = flow.allowance(&Setup::new(params, path));
                let bytes = twin.cwnd * path.packet.get() as f64;
                worst = worst.max(difference(flow.window(), &twin));
                assert_eq!(allowance.window.get(), real(flow.window()).floor() as u64);
                // Below one packet the rate is the window over the RTT, in 2^-16 of a byte.
                let rate = if twin.cwnd < 1.0 { bytes / twin.rtt * 8e6 } else { f64::INFINITY };
                let rate = rate.min(path.line_rate.bps() as f64);
                assert!((allowance.rate.bps() as f64 - rate).abs() <= 1.0 + 1e-4 * rate);
            }
            println!("{} at {}: {worst:.1e} {:?}", preset.name, path.line_rate, twin.met);
            assert!(worst < 1e-6, "{} at {}: {worst}", preset.name, path.line_rate);
            let unused = usize::from(!params.grow_unused);
            assert!(
                twin.met[..4 + unused].iter().all(|n| *n > 10),
                "the signals leave something out: {:?}",
                twin.met
            );
        }
    }
}

/// Returns a path whose base BDP, with which a flow starts, is `thousandths` thousandths of a packet of 1000
/// B.
fn starting_with(thousandths: u64) -> Path {
    let base_rtt = Time::from_us(8);
    let line_rate = Rate::of(Bytes::new(thousandths), base_rtt);
    Path {
        base_rtt,
        base_owd: Time::from_us(4),
        line_rate,
        packet: Bytes::new(1000),
        payload: Bytes::new(1000),
        hops: 4,
    }
}

/// Flow scaling of section 3.5: clamp(α/√cwnd + β, 0, range) with α = range/(1/√fs_min − 1/√fs_max), β = −α/√fs_max.
#[test]
fn targets_worked_by_hand() {
    let scaling = |range, fs_max| SwiftParams {
        base_target: Time::ZERO,
        hop: Time::ZERO,
        fs_range: Time::from_us(range),
        fs_max: Fixed::whole(fs_max),
        ..SwiftParams::default()
    };
    // Range 100 µs, 0.1 to 100 packets: α 32.655432, β −3.265543. Range 5: α 1.632772. To 256: α 32.260378, β −2.016274.
    let usual: &[_] = &[
        (100, 100.0),
        (250, 62.0453),
        (1000, 29.3899),
        (4000, 13.0622),
        (16_000, 4.8983),
        (50_000, 1.3526),
        (100_000, 0.0),
        (300_000, 0.0),
    ];
    let narrow: &[_] = &[(100, 5.0), (1000, 1.4695), (16_000, 0.2449), (50_000, 0.0676)];
    let bolt: &[_] = &[
        (1000, 30.2441),
        (4000, 14.1139),
        (16_000, 6.0488),
        (50_000, 2.5460),
        (100_000, 1.2098),
        (256_000, 0.0),
        (300_000, 0.0),
    ];
    for (params, targets) in
        [(scaling(100, 100), usual), (scaling(5, 100), narrow), (scaling(100, 256), bolt)]
    {
        for &(thousandths, by_hand) in targets {
            let setup = Setup::new(params, starting_with(thousandths));
            let flow = Swift::new(&setup, Time::ZERO);
            let twin = Twin::new(params, &setup.path);
            let ours = us(flow.target_delay(&setup));
            assert!(
                (ours - by_hand).abs() < 1e-4 && (twin.target() - by_hand).abs() < 1e-4,
                "{thousandths}: {ours}"
            );
            assert!(
                (ours - twin.target()).abs() < 1e-5 * (1.0 + by_hand),
                "{thousandths}: {ours} {}",
                twin.target()
            );
        }
    }
}

/// Targets of the presets for other public code at a window of 16 packets on four links.
#[test]
fn targets_of_the_presets_worked_by_hand() {
    let preset = |name| SwiftParams::preset(name).expect("a preset");
    // bolt: 25 + 4 · 1 + 6.0488 µs. median: 8 + 1 + 0.2449 µs. paper: 20 + 4 · 3.05 + 4.8983 µs.
    for (name, by_hand) in [("bolt", 35.0488), ("median", 9.2449), ("paper", 37.0983)] {
        let setup = Setup::new(preset(name), starting_with(16_000));
        let target = us(Swift::new(&setup, Time::ZERO).target_delay(&setup));
        assert!((target - by_hand).abs() < 1e-4, "{name}: {target}");
    }
}

/// A decrease is max(1 − β(delay − target)/delay, 1 − max_mdf), ten increases from ten packets lead to 10.958648.
#[test]
fn steps_worked_by_hand() {
    let params = SwiftParams {
        base_target: Time::from_us(25),
        hop: Time::ZERO,
        fs_range: Time::ZERO,
        ..SwiftParams::default()
    };
    let setup = Setup::new(params, starting_with(10_000));
    let ack = |rtt_us: u64| Ack {
        sent: Time::from_us(1000 - rtt_us),
        received: Time::from_us(1000),
        now: Time::from_us(1000),
        acked: Bytes::new(1000),
        inflight_now: Bytes::new(20_000),
        packets: 1,
        ..signals::acks(1, &setup.path, Time::ZERO, 1)[0]
    };
    for (rtt, factor) in [(25, 1.0), (26, 0.969_231), (30, 0.866_667), (60, 0.533_333), (250, 0.5)] {
        let (mut flow, mut twin) = (Swift::new(&setup, Time::ZERO), Twin::new(params, &setup.path));
        flow.on_ack(&setup, &ack(rtt), &IntStack::EMPTY);
        twin.ack(&ack(rtt), rtt as f64);
        assert!((real(flow.window()) / 10_000.0 - factor).abs() < 1e-6, "{rtt}: {}", flow.window());
        assert!(difference(flow.window(), &twin) < 1e-6);
    }
    let (mut flow, mut twin) = (Swift::new(&setup, Time::ZERO), Twin::new(params, &setup.path));
    for _ in 0..10 {
        flow.on_ack(&setup, &ack(10), &IntStack::EMPTY);
        twin.ack(&ack(10), 10.0);
    }
    assert!((real(flow.window()) / 1000.0 - 10.958_648).abs() < 1e-6, "{}", flow.window());
    assert!(difference(flow.window(), &twin) < 1e-6);
}
