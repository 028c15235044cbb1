//! New Reno against an f64 twin, with losses and timeouts.

mod bottleneck;
mod floats;

use bottleneck::{Script, Twin, agree, every_option_matters, script};
use floats::real;
use incast_cc::newreno::{NewReno, NewRenoParams};
use incast_cc::params::Value;
use incast_cc::{Ack, CongestionControl, Fixed, IntStack, Loss, LossKind, Path, Setup};
use incast_units::{Bytes, Rate, Time};

/// RFC 5681's congestion avoidance and slow start, and one reduction in a recovery (RFC 6582); in packets.
struct NewRenoTwin {
    p: NewRenoParams,
    path: Path,
    cwnd: f64,
    ssthresh: f64,
    /// Until what is acknowledged a recovery lasts.
    recover: Option<u64>,
    timed_out: Option<u64>,
}

impl NewRenoTwin {
    fn new(p: NewRenoParams, path: Path) -> Self {
        let bdp = path.bdp().get() as f64 / path.packet.get() as f64;
        let (cwnd, ssthresh) =
            if p.slow_start { (p.initial_window as f64, f64::INFINITY) } else { (bdp.max(1.0), 0.0) };
        Self { p, path, cwnd, ssthresh, recover: None, timed_out: None }
    }
}

impl Twin for NewRenoTwin {
    fn ack(&mut self, ack: &Ack, _int: &IntStack) {
        if self.recover.is_some_and(|until| ack.sequence >= until) {
            self.recover = None;
        }
        let packet = self.path.packet.get() as f64;
        let newly = ack.acked.get() as f64 / packet;
        // Whether a window is used turns on less than a byte; both sides count bytes alike.
        let used = ack.inflight_now.get() as f64 / packet + newly + 1.0 + 1e-9 >= self.cwnd;
        if self.recover.is_some() || !used {
            return;
        }
        let increase = real(self.p.increase);
        self.cwnd += if self.cwnd < self.ssthresh { newly } else { increase * newly / self.cwnd };
    }

    fn loss(&mut self, loss: &Loss) {
        if loss.kind == LossKind::Timeout {
            if self.timed_out.replace(loss.sequence) != Some(loss.sequence) {
                let (packet, payload) = (self.path.packet.get(), self.path.payload.get());
                let flight = (loss.next_sequence - loss.sequence) * packet / payload;
                self.ssthresh = (flight as f64 / packet as f64 / 2.0).max(2.0);
            }
            (self.cwnd, self.recover) = (1.0, None);
        } else if self.recover.is_none_or(|until| loss.sequence >= until) {
            self.cwnd = (self.cwnd / 2.0).max(2.0);
            self.ssthresh = self.cwnd;
            self.recover = Some(loss.next_sequence);
        }
    }

    fn allowance(&self) -> (f64, f64) {
        (self.cwnd * self.path.packet.get() as f64, self.path.line_rate.bps() as f64)
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
        assert!((twin.cwnd - packets).abs() < 1e-6, "{}", twin.cwnd);
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
    assert_eq!((twin.ssthresh, flow.probe(&setup, 0)), (4.0, Some(Value::Bytes(Bytes::new(4000)))));
}
