//! New Reno against an f64 twin, with losses and timeouts.

mod bottleneck;
mod floats;
mod reno;

use bottleneck::{Script, Twin, agree, every_option_matters, script};
use incast_cc::newreno::{NewReno, NewRenoParams};
use incast_cc::params::Value;
use incast_cc::{Ack, CongestionControl, Fixed, IntStack, Loss, LossKind, Path, Setup};
use incast_units::{Bytes, Rate, Time};
use reno::Reno;

struct NewRenoTwin(Reno);

impl NewRenoTwin {
    fn new(p: NewRenoParams, path: Path) -> Self {
        Self(Reno::new(&p, path))
    }
}

impl Twin for NewRenoTwin {
    fn ack(&mut self, ack: &Ack, _int: &IntStack) {
        if !self.0.recovers(ack) {
            self.0.grow(ack);
        }
    }

    fn loss(&mut self, loss: &Loss) {
        self.0.loss(loss);
    }

    fn allowance(&self) -> (f64, f64) {
        self.0.allowance()
    }
}

fn lossy(seed: u64, flows: usize, loss_every: u64) -> Script {
    Script { loss_every, ..script(seed, flows, Time::from_ms(4)) }
}

/// The bound is the whole byte to which an allowance is cut, and 1e-6: a step is resolved to 2^-32 of a packet.
#[test]
fn agrees_with_its_twin() {
    let (rfc, avoidance) =
        (NewRenoParams::default(), NewRenoParams { slow_start: false, ..NewRenoParams::default() });
    for (name, params, script) in [
        ("slow start", rfc, lossy(1, 12, 700)),
        ("avoidance", avoidance, lossy(2, 12, 700)),
        ("few losses", avoidance, lossy(3, 3, 20_000)),
        ("many losses", rfc, lossy(4, 30, 150)),
    ] {
        let outcome = agree::<NewReno, _>(name, params, &script, NewRenoTwin::new);
        assert!(outcome.acks > 20_000, "{name}: {}", outcome.acks);
    }
}

#[test]
fn every_option_changes_something() {
    let rfc = NewRenoParams::default();
    let cases = [
        (rfc, "increase", Value::Ratio(Fixed::whole(3))),
        (rfc, "slow_start", Value::Flag(false)),
        (rfc, "initial_window", Value::Count(2)),
    ];
    every_option_matters::<NewReno>(&lossy(1, 12, 700), &cases);
}

/// Ten acknowledgements from ten packets lead to 10.958648, a hole then to half of it, a second hole of the same flight
/// to nothing else, and a timeout to one packet and half of the flight.
#[test]
fn steps_worked_by_hand() {
    let params = NewRenoParams { slow_start: false, ..NewRenoParams::default() };
    let packet = Bytes::new(1000);
    let base_rtt = Time::from_us(8);
    let path = Path {
        base_rtt,
        base_owd: Time::from_us(4),
        line_rate: Rate::of(packet.times(10), base_rtt),
        packet,
        payload: packet,
        hops: 4,
    };
    let setup = Setup::new(params, path);
    let (mut flow, mut twin) = (NewReno::new(&setup, Time::ZERO), NewRenoTwin::new(params, path));
    let near = |flow: &NewReno, twin: &NewRenoTwin, packets: f64| {
        // An allowance is cut to a whole byte.
        let window = flow.allowance(&setup).window.get();
        assert_eq!(window, (packets * 1000.0).floor() as u64);
        assert!((twin.0.cwnd - packets).abs() < 1e-6, "{}", twin.0.cwnd);
    };
    near(&flow, &twin, 10.0);
    for n in 1..=10 {
        let now = Time::from_us(10 * n);
        let ack = Ack {
            now,
            sent: now - base_rtt,
            received: now - Time::from_us(4),
            acked: packet,
            packet: (n - 1) * 1000,
            sequence: n * 1000,
            next_sequence: 20_000,
            inflight: packet.times(10),
            inflight_now: packet.times(10),
            receiver_flows: 1,
            ..Ack::BLANK
        };
        flow.on_ack(&setup, &ack, &IntStack::EMPTY);
        twin.ack(&ack, &IntStack::EMPTY);
    }
    near(&flow, &twin, 10.958_648);
    let mut lose = |kind, sequence, packets| {
        let loss = Loss {
            now: Time::from_us(200),
            kind,
            bytes: packet,
            sequence,
            next_sequence: 20_000,
            ..Loss::BLANK
        };
        flow.on_loss(&setup, &loss);
        twin.loss(&loss);
        near(&flow, &twin, packets);
    };
    lose(LossKind::Hole, 10_000, 5.479_324);
    lose(LossKind::Hole, 12_000, 5.479_324);
    lose(LossKind::Timeout, 12_000, 1.0);
    // Eight packets were in flight.
    assert_eq!((twin.0.ssthresh, flow.probe(&setup, 0)), (4.0, Some(Value::Bytes(Bytes::new(4000)))));
}
