//! The oracle against a twin that keeps every change it heard of.

mod floats;
mod signals;

use floats::us;
use incast_cc::oracle::{Begins, Oracle, OracleParams};
use incast_cc::params::{Described, Value};
use incast_cc::{Ack, CongestionControl, Fixed, IntStack, Path, Setup};
use incast_units::{Bytes, Rate, Time};

const PATH: Path = Path {
    base_rtt: Time::from_us(12),
    base_owd: Time::from_us(7),
    line_rate: Rate::from_gbps(100),
    packet: Bytes::new(1054),
    payload: Bytes::new(1000),
    hops: 2,
};

/// Acknowledgements with a number of flows that changes now and then, seldom nine times within 50 us.
fn acks(seed: u64) -> Vec<Ack> {
    let mut random = signals::Random::new(seed);
    let mut flows = 1;
    let mut acks = signals::acks(seed, &PATH, Time::from_us(100), 40_000);
    for ack in &mut acks {
        if random.below(60) == 0 {
            flows = 1 + random.below(40) as u32;
        }
        ack.receiver_flows = if random.below(10) == 0 { 0 } else { flows };
    }
    acks
}

/// The flow after each acknowledgement; timers fire in between.
fn run(params: &OracleParams, acks: &[Ack], mut each: impl FnMut(&Ack, f64, f64)) {
    let setup = Setup::new(*params, PATH);
    let mut flow = Oracle::new(&setup, Time::ZERO);
    for ack in acks {
        while flow.deadline() <= ack.now {
            let due = flow.deadline();
            flow.on_timer(&setup, due);
        }
        flow.on_ack(&setup, ack, &IntStack::EMPTY);
        let allowance = flow.allowance(&setup);
        each(ack, allowance.window.get() as f64, allowance.rate.bps() as f64);
    }
}

/// The number in effect is the one of all that were heard whose time is the last to have come.
#[test]
fn agrees_with_its_twin() {
    for (seed, inflight, cap, late, begins) in [
        (1, 2.0, 1.0, 50.0, Begins::Sent),
        (2, 1.5, 4.0, 50.0, Begins::Sent),
        (3, 2.0, 1.0, 5.0, Begins::Sent),
        (4, 2.0, 1.0, 50.0, Begins::Received),
    ] {
        let params = OracleParams {
            delay: Time::from_us(late as u64),
            begins,
            inflight: Fixed::ratio((inflight * 2.0) as u64, 2),
            window_cap: Fixed::whole(cap as u64),
        };
        let mut heard: Vec<(f64, f64)> = Vec::new();
        let (mut changes, mut most) = (0, 0);
        run(&params, &acks(seed), |ack, window, rate| {
            let (now, flows) = (us(ack.now), f64::from(ack.receiver_flows));
            let latest = heard.last().map_or(0.0, |h| h.1);
            if flows > 0.0 && flows != latest {
                let on_the_way =
                    if flows > latest && begins == Begins::Sent { us(PATH.base_owd) } else { 0.0 };
                let due = us(ack.received) - on_the_way + late;
                heard.push((heard.last().map_or(due, |h| due.max(h.0)), flows));
                changes += 1;
            }
            most = most.max(heard.iter().filter(|h| h.0 > now).count());
            let n = heard.iter().rev().find(|h| h.0 <= now + 1e-9).map(|h| h.1);
            let share = n.map_or(cap, |n| (inflight / n).min(cap));
            let bdp = PATH.bdp().get() as f64;
            assert!((window - share * bdp).abs() < 1.001, "{window} at {now}: {n:?}");
            assert!((rate / 1e11 - share.min(1.0)).abs() < 1e-8, "{rate} at {now}: {n:?}");
        });
        // What is known after 5 us is heard of later, and takes effect at once.
        let under_way = if late > 20.0 { 2..=8 } else { 0..=0 };
        assert!(changes > 300 && under_way.contains(&most), "{changes}, {most} under way");
    }
}

#[test]
fn every_option_changes_something() {
    let windows = |params: &OracleParams| {
        let mut windows = Vec::new();
        run(params, &acks(5), |_, window, _| windows.push(window as u64));
        windows
    };
    let changes = [
        ("delay", Value::Time(Time::from_us(20))),
        ("begins", Value::Choice(1)),
        ("inflight", Value::Ratio(Fixed::whole(3))),
        ("window_cap", Value::Ratio(Fixed::ratio(1, 2))),
    ];
    let usual = OracleParams::default();
    for param in OracleParams::PARAMS {
        let (_, value) = changes.iter().find(|c| c.0 == param.name).expect("a case for each");
        let mut changed = usual;
        (param.set)(&mut changed, *value);
        assert_ne!(windows(&usual), windows(&changed), "{} changes nothing", param.name);
    }
}
