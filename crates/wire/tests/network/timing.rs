use incast_cc::AnyParams;
use incast_cc::params::Value;
use incast_units::{Bytes, Rate, Time};
use incast_wire::{Failure, ReceiverConfig};

use super::network::{BELOW, Case, Faults, path, run};

fn constant(window: u64, rate: Rate) -> AnyParams {
    let mut params = AnyParams::named("constant", None).unwrap();
    assert!(params.set("window", Value::Bytes(Bytes::new(window))));
    assert!(params.set("rate", Value::Rate(rate)));
    params
}

fn case(params: AnyParams, length: u64) -> Case {
    Case {
        params,
        path: path(1400),
        length,
        receiver: ReceiverConfig::default(),
        faults: Faults::NONE,
        rate: Rate::from_gbps(100),
        mark_above: u64::MAX,
        delays: [5_000_000, 5_000_000],
        ahead: 0,
        seed: 1,
    }
}

const PACKET: u64 = 1400 + 36 + BELOW;

#[test]
fn a_window_gives_one_window_in_a_round_trip() {
    // 10 packets in each 10 ms: 100 packets take 10 round trips, after that of the opening and before the
    // half one of the end.
    let fast = incast_cc::Path { line_rate: Rate::from_gbps(100), ..path(1400) };
    let done = run(&Case { path: fast, ..case(constant(10 * PACKET, Rate::from_gbps(100)), 100 * 1400) });
    let state = done.sender.state();
    assert_eq!((state.packets, state.resent), (100, 0));
    assert_eq!(state.window, Bytes::new(10 * PACKET));
    let trips = done.complete as f64 / 1e7;
    assert!((11.5..11.6).contains(&trips), "{trips}");
    // Each packet alone takes 0.12 us on the link; a burst of ten, 1.2 us.
    assert!((10_000_000..10_002_000).contains(&state.rtt.ns()), "{}", state.rtt);
}

#[test]
fn a_rate_takes_its_time() {
    // 1000 packets of 1502 B at 100 Mbps: 120 ms, and one and a half round trips. Bursts of 50 us are half a packet.
    let done = run(&case(constant(1 << 30, Rate::from_mbps(100)), 1000 * 1400));
    let ms = (done.complete as f64 - 25e6) / 1e6;
    let expected = 1000.0 * PACKET as f64 * 8.0 / 1e8 * 1e3;
    assert!((ms / expected - 1.0).abs() < 0.01, "{ms} {expected}");
    assert_eq!(done.sender.state().rate, Rate::from_mbps(100));
}

#[test]
fn a_delay_based_algorithm_keeps_the_queue_short() {
    // The link is ten times slower than the sender's. A window of one base BDP of the sender's link would be ten
    // times that of the link; OSCAR and Swift keep less than half of what a large constant window leaves there.
    let slow = |params| {
        let link = path(1400);
        let one = Case {
            path: incast_cc::Path { line_rate: Rate::from_gbps(1), ..link },
            rate: Rate::from_mbps(100),
            delays: [200_000, 200_000],
            ..case(params, 3_000_000)
        };
        let done = run(&one);
        assert!(done.arrived == done.sent);
        done.longest_wait
    };
    let full = slow(constant(500_000, Rate::from_gbps(1)));
    for name in ["oscar", "swift", "theta-powertcp"] {
        let wait = slow(AnyParams::named(name, None).unwrap());
        assert!(wait < full / 2, "{name}: {wait} ns, {full} ns");
    }
}

#[test]
fn one_way_delays_need_clocks_that_agree() {
    let oscar = AnyParams::named("oscar", Some("owd")).unwrap();
    let agree = run(&case(oscar, 100_000));
    assert!(matches!(agree.sender.outcome(), Some(Ok(()))));
    let differ = run(&Case { ahead: 60_000_000_000, ..case(oscar, 100_000) });
    assert!(matches!(differ.sender.outcome(), Some(Err(Failure::Clocks))));
    assert!(matches!(differ.receiver.outcome(), Some(Err(Failure::Told(_)))));
    // Without one-way delays it does not matter, not even to the picosecond.
    let rtt = AnyParams::named("oscar", Some("rtt")).or(AnyParams::named("oscar", None)).unwrap();
    let same = [0, 60_000_000_000].map(|ahead| run(&Case { ahead, ..case(rtt, 100_000) }).sender.state());
    assert_eq!(same[0], same[1]);
}

#[test]
fn nobody_there() {
    let faults = Faults { loss: 100, ..Faults::NONE };
    let mut silent = case(constant(10 * PACKET, Rate::from_gbps(1)), 1000);
    silent.faults = faults;
    let mut sender = incast_wire::Sender::new(
        0,
        incast_wire::SenderConfig {
            params: silent.params,
            path: silent.path,
            connection: 1,
            length: 1000,
            patience: Time::from_s(5),
        },
    )
    .unwrap();
    let (mut opens, mut now, mut out) = (0, 0, Vec::new());
    while sender.outcome().is_none() {
        while sender.poll_transmit(now, &mut [0; 1000].as_slice(), &mut out) {
            opens += 1;
        }
        now = sender.next_deadline();
    }
    let Some(Err(failure)) = sender.outcome() else { panic!() };
    assert_eq!(failure.to_string(), "no answer within 5s");
    // One every 200 ms.
    assert_eq!(opens, 25);
}
