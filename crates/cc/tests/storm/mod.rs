//! Random signals, paths and parameters of every size that the types admit, and a flow that meets them: for the
//! properties that every algorithm has (`model.rs`), and for the traces of `crates/replay`.
#![allow(dead_code, reason = "each user takes its part")]

use incast_cc::any::CATALOGUE;
use incast_cc::contract::MAX_INT_HOPS;
use incast_cc::params::{Kind, Value};
use incast_cc::{
    Ack, AnyParams, CongestionControl, Fixed, IntHop, IntStack, Loss, LossKind, Path, Sent, Setup,
};
use incast_units::{Bytes, Rate, Time};
use proptest::prelude::*;

/// Every algorithm in every preset, with its name for messages.
pub(crate) fn everyone() -> Vec<(String, AnyParams)> {
    let mut all = Vec::new();
    for info in CATALOGUE {
        let default = AnyParams::named(info.name, None).unwrap();
        default.presets(|preset, _| {
            let params = AnyParams::named(info.name, Some(preset)).unwrap();
            all.push((format!("{} {preset}", info.name), params));
        });
    }
    assert!(all.len() > CATALOGUE.len());
    all
}

/// Next event of a flow.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Ack(Box<(Ack, IntStack)>),
    Cnp,
    Loss(Loss),
    Sent(Sent),
}

/// Numbers of every length of bits, up to `bits`.
pub(crate) fn any_size(bits: u32) -> impl Strategy<Value = u64> {
    (0..=bits, any::<u64>()).prop_map(|(length, x)| if length == 0 { 0 } else { x >> (64 - length) })
}

pub(crate) fn time(bits: u32) -> impl Strategy<Value = Time> {
    any_size(bits).prop_map(Time::from_ps)
}

pub(crate) fn bytes(bits: u32) -> impl Strategy<Value = Bytes> {
    any_size(bits).prop_map(Bytes::new)
}

pub(crate) fn int_stack() -> impl Strategy<Value = IntStack> {
    let hop = (time(64), bytes(64), bytes(64), any_size(64)).prop_map(|(at, queue, transmitted, rate)| {
        IntHop { at, queue, transmitted, rate: Rate::from_bps(rate) }
    });
    (0..=MAX_INT_HOPS as u32, proptest::array::uniform5(hop))
        .prop_map(|(count, hops)| IntStack { count, hops })
}

/// An acknowledgement whose `now` and `sent` hold spans: time since the last event, and RTT.
pub(crate) fn ack() -> impl Strategy<Value = Ack> {
    (
        (time(45), time(50), time(64)),
        (bytes(40), any_size(30), any_size(30)),
        (bytes(64), bytes(64), 1..200_u32, 0..200_u32),
        (time(64), any::<u32>(), any::<bool>()),
    )
        .prop_map(|((wait, rtt, received), (acked, sequence, ahead), flight, rest)| Ack {
            now: wait,
            sent: rtt,
            received,
            acked,
            sequence,
            next_sequence: ahead,
            inflight: flight.0,
            inflight_now: flight.1,
            packets: flight.2,
            marked: flight.3.min(flight.2),
            hop_delay: rest.0,
            receiver_flows: rest.1,
            delayed_run: rest.1 % 8,
            hole: rest.2,
            circuit: rest.1 % 2 == 1,
            ..Ack::BLANK
        })
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (ack(), int_stack()).prop_map(|both| Event::Ack(Box::new(both))),
        2 => Just(Event::Cnp),
        2 => (any::<bool>(), any_size(40)).prop_map(|(hole, sequence)| Event::Loss(Loss {
            kind: if hole { LossKind::Hole } else { LossKind::Timeout },
            sequence,
            next_sequence: sequence,
            ..Loss::BLANK
        })),
        2 => (bytes(20), bytes(64)).prop_map(|(bytes, inflight)| Event::Sent(Sent {
            now: Time::ZERO,
            bytes,
            inflight,
        })),
    ]
}

pub(crate) fn path() -> impl Strategy<Value = Path> {
    let gbps = prop_oneof![Just(1_u64), Just(10), Just(25), Just(100), Just(400), Just(1600)];
    (gbps, 1_000_000..10_000_000_000_u64, 0..=100_u64, 64..9000_u64, 1..10_u32).prop_map(
        |(gbps, rtt, forward, packet, hops)| Path {
            base_rtt: Time::from_ps(rtt),
            base_owd: Time::from_ps(rtt * forward / 100),
            line_rate: Rate::from_gbps(gbps),
            packet: Bytes::new(packet),
            payload: Bytes::new(packet - 60),
            hops,
        },
    )
}

/// A flow with its clock, its position, and the checks that hold after every call.
pub(crate) struct Flow<'a, C: CongestionControl> {
    pub(crate) name: &'a str,
    pub(crate) setup: Setup<C::Params>,
    pub(crate) controller: C,
    pub(crate) now: Time,
    /// Acknowledged up to here, sent up to there.
    pub(crate) sequence: u64,
    pub(crate) next: u64,
    /// Largest number of timers that fire at their deadlines while a time passes; later ones are late.
    pub(crate) most_timers: u32,
}

impl<'a, C: CongestionControl> Flow<'a, C> {
    pub(crate) fn new(name: &'a str, setup: Setup<C::Params>) -> Self {
        // A while after time zero, so that every round trip of the storm has begun after it.
        let now = Time::from_ps(1 << 51);
        let controller = C::new(&setup, now);
        let flow = Self { name, setup, controller, now, sequence: 0, next: 0, most_timers: 1000 };
        flow.check();
        flow
    }

    pub(crate) fn check(&self) {
        let allowance = self.controller.allowance(&self.setup);
        assert!(allowance.window >= Bytes::new(1), "{}: window {}", self.name, allowance.window);
        assert!(allowance.rate > Rate::ZERO, "{}: no rate", self.name);
        assert!(
            allowance.rate <= self.setup.path.line_rate,
            "{}: above the line: {}",
            self.name,
            allowance.rate
        );
    }

    /// Lets time pass; timers fire at their deadlines, up to `most` of them, the rest late.
    pub(crate) fn pass(&mut self, wait: Time, most: u32) {
        let until = self.now + wait;
        for _ in 0..most {
            let deadline = self.controller.deadline();
            if deadline > until {
                break;
            }
            self.now = self.now.max(deadline);
            self.controller.on_timer(&self.setup, self.now);
            self.check();
            let next = self.controller.deadline();
            assert!(next > self.now, "{}: a timer that does not advance: {next}", self.name);
        }
        self.now = until;
    }

    /// Acknowledges `more` bytes; at least `ahead` are then in flight.
    pub(crate) fn acknowledge(&mut self, more: u64, ahead: u64) {
        self.sequence += more;
        self.next = self.next.max(self.sequence + ahead);
    }

    /// With `shortest` the least RTT of an acknowledgement.
    pub(crate) fn happen(&mut self, event: &Event, shortest: Time) {
        match event {
            Event::Ack(both) => {
                let (ack, int) = both.as_ref();
                self.pass(ack.now, self.most_timers);
                self.acknowledge(ack.sequence, ack.next_sequence);
                let ack = Ack {
                    now: self.now,
                    sent: self.now - ack.sent.max(shortest),
                    sequence: self.sequence,
                    next_sequence: self.next,
                    ..*ack
                };
                self.controller.on_ack(&self.setup, &ack, int);
            }
            Event::Cnp => self.controller.on_cnp(&self.setup, self.now),
            Event::Loss(loss) => {
                let sequence = loss.sequence.min(self.sequence);
                let loss = Loss {
                    now: self.now,
                    bytes: Bytes::ZERO,
                    sent: Time::ZERO,
                    sequence,
                    next_sequence: self.next,
                    ..*loss
                };
                self.controller.on_loss(&self.setup, &loss);
            }
            Event::Sent(sent) => {
                let sent = Sent { now: self.now, ..*sent };
                self.controller.on_sent(&self.setup, &sent);
            }
        }
        self.check();
    }
}

/// A value that a parameter of this kind admits, chosen by `x`: often one of the ends.
pub(crate) fn admitted(kind: Kind, x: u64) -> Value {
    let between = |low: u64, high: u64| match x % 4 {
        0 => low,
        1 => high,
        // Powers of two are as likely in every range.
        2 => low + (high - low) / (1 << ((x >> 2) % 40)),
        _ => low + ((x >> 2) % (high - low).max(1)),
    };
    match kind {
        Kind::Time(low, high) => Value::Time(Time::from_ps(between(low.ps(), high.ps()))),
        Kind::Bytes(low, high) => Value::Bytes(Bytes::new(between(low.get(), high.get()))),
        Kind::Rate(low, high) => Value::Rate(Rate::from_bps(between(low.bps(), high.bps()))),
        Kind::Ratio(low, high) => {
            let span = (high.bits() - low.bits()) as u64;
            Value::Ratio(Fixed::from_bits(low.bits() + between(0, span) as i64))
        }
        Kind::Count(low, high) => Value::Count(between(low, high)),
        Kind::Flag => Value::Flag(x % 2 == 1),
        Kind::Choice(words) => Value::Choice(x as usize % words.len()),
    }
}

pub(crate) fn parameters(params: &AnyParams) -> Vec<(&'static str, Kind, Value)> {
    let mut all = Vec::new();
    params.params(|info, value| all.push((info.name, info.kind, value)));
    all
}
