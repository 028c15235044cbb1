//! Behind the functions of C every algorithm is what it is in Rust.

use std::collections::BTreeSet;

use incast_capi::status::incast_status::{INCAST_NO_SUCH_PLACE, INCAST_NO_VALUE, INCAST_OK};
use incast_capi::types::incast_value;
use incast_cc::any::{CATALOGUE, Visitor};
use incast_cc::contract::MAX_INT_HOPS;
use incast_cc::params::{Kind, Value};
use incast_cc::{
    Ack, AnyParams, CongestionControl, IntStack, Loss, LossKind, Path, Sent, Setup, Signals,
    for_each_ack_field,
};
use incast_units::{Bytes, Rate, Time};

use crate::flow::{Flow, Params};

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A number of any length up to this many bits.
    fn sized(&mut self, bits: u64) -> u64 {
        let length = self.below(bits + 1);
        self.next().checked_shr(64 - length as u32).unwrap_or(0)
    }

    fn time(&mut self, bits: u64) -> Time {
        Time::from_ps(self.sized(bits))
    }

    fn bytes(&mut self, bits: u64) -> Bytes {
        Bytes::new(self.sized(bits))
    }

    fn path(&mut self) -> Path {
        let base_rtt = Time::from_ns(1_000 + self.below(100_000));
        let payload = 256 + self.below(8192);
        Path {
            base_rtt,
            base_owd: base_rtt.times_ratio(self.below(101), 100),
            line_rate: Rate::from_gbps([10, 25, 100, 400][self.below(4) as usize]),
            packet: Bytes::new(payload + self.below(100)),
            payload: Bytes::new(payload),
            hops: 1 + self.below(5) as u32,
        }
    }
}

/// Random values of signals, by type alone; less of each while there is no congestion.
trait Drawn {
    fn drawn(random: &mut Random, calm: bool) -> Self;
}

impl Drawn for Time {
    fn drawn(random: &mut Random, calm: bool) -> Self {
        random.time(if calm { 10 } else { 26 })
    }
}

impl Drawn for Bytes {
    fn drawn(random: &mut Random, _: bool) -> Self {
        random.bytes(24)
    }
}

impl Drawn for u64 {
    fn drawn(random: &mut Random, _: bool) -> Self {
        random.sized(24)
    }
}

impl Drawn for u32 {
    fn drawn(random: &mut Random, calm: bool) -> Self {
        if calm { 0 } else { random.below(8) as Self }
    }
}

impl Drawn for bool {
    fn drawn(random: &mut Random, _: bool) -> Self {
        random.below(4) == 0
    }
}

macro_rules! drawn_ack {
    ($($field:ident)+) => {
        /// An acknowledgement with a random value of every signal, of new ones too, which depends on no other.
        fn any_ack(random: &mut Random, calm: bool) -> Ack {
            Ack { $($field: Drawn::drawn(random, calm)),+ }
        }
    };
}
for_each_ack_field!(drawn_ack);

/// Two flows that get the same calls: one in Rust and one behind C.
struct Twin<'a> {
    name: &'a str,
    c: Flow,
    path: Path,
    start: Time,
    calls: u32,
    /// No congestion now: windows and rates come back, from which they fall in the next storm.
    calm: bool,
    random: &'a mut Random,
}

impl Visitor for Twin<'_> {
    /// Number of different answers: allowances and internals together.
    type Output = usize;

    fn visit<C: CongestionControl>(mut self, params: &C::Params) -> usize {
        let setup = Setup::new(params.clone(), self.path);
        let mut flow = C::new(&setup, self.start);
        let (mut now, mut sequence, mut calls) = (self.start, 0_u64, 0);
        let mut ports = IntStack::EMPTY;
        let mut seen = BTreeSet::new();
        seen.insert(self.compare(&flow, &setup, now));
        while calls < self.calls {
            self.calm = calls / 200 % 2 == 0;
            // Mostly less than a base RTT, at times up to 35 s.
            let bits = if self.random.below(50) == 0 { 45 } else { 23 };
            let until = now + self.random.time(bits);
            for _ in 0..20 {
                if flow.deadline() > until {
                    break;
                }
                now = now.max(flow.deadline());
                flow.on_timer(&setup, now);
                self.c.on_timer(now);
                calls += 1;
                seen.insert(self.compare(&flow, &setup, now));
            }
            now = until;
            match self.random.below(if self.calm { 100 } else { 8 }) {
                0 => {
                    flow.on_cnp(&setup, now);
                    self.c.on_cnp(now);
                }
                1 => {
                    let loss = self.loss(now, sequence);
                    flow.on_loss(&setup, &loss);
                    self.c.on_loss(&loss);
                }
                2 => {
                    let sent = Sent { now, bytes: self.random.bytes(14), inflight: self.random.bytes(24) };
                    flow.on_sent(&setup, &sent);
                    self.c.on_sent(&sent);
                }
                _ => {
                    self.telemetry(&mut ports);
                    let tag = flow.tag(&setup);
                    let ack = self.ack(now, sequence, tag);
                    sequence = ack.sequence;
                    let telemetry = (self.random.below(8) > 0).then_some(&ports);
                    flow.on_ack(&setup, &ack, telemetry.unwrap_or(&IntStack::EMPTY));
                    self.c.on_ack(&ack, telemetry);
                }
            }
            calls += 1;
            seen.insert(self.compare(&flow, &setup, now));
        }
        seen.len()
    }
}

impl Twin<'_> {
    fn ack(&mut self, now: Time, sequence: u64, tag: u32) -> Ack {
        let (random, calm) = (&mut *self.random, self.calm);
        let beyond = match random.below(10) {
            _ if calm => random.time(18),
            0 => random.time(50),
            _ => Time::from_ps(random.below(2 * self.path.base_rtt.ps())),
        };
        let packets = 1 + random.below(20) as u32;
        let acked = if random.below(10) == 0 { 0 } else { self.path.payload.get() * u64::from(packets) };
        let sent = now - self.path.base_rtt - beyond;
        let sequence = sequence + acked;
        let other = any_ack(random, calm);
        Ack {
            now,
            sent,
            received: sent + self.path.base_owd + beyond.times_ratio(random.below(101), 100),
            held: if random.below(4) == 0 { random.time(22) } else { Time::ZERO },
            acked: Bytes::new(acked),
            packet: sequence.saturating_sub(random.below(2) * self.path.payload.get()),
            sequence,
            next_sequence: sequence + random.sized(24),
            packets,
            marked: if calm { 0 } else { random.below(u64::from(packets) + 1) as u32 },
            receiver_flows: random.below(100) as u32,
            tag,
            hole: other.hole && !calm,
            ..other
        }
    }

    fn loss(&mut self, now: Time, sequence: u64) -> Loss {
        let random = &mut *self.random;
        Loss {
            now,
            kind: [LossKind::Hole, LossKind::Timeout, LossKind::Trim][random.below(3) as usize],
            bytes: random.bytes(24),
            sent: now - random.time(27),
            sequence,
            next_sequence: sequence + random.sized(24),
        }
    }

    /// The ports send on; at times there is another path.
    fn telemetry(&mut self, ports: &mut IntStack) {
        let random = &mut *self.random;
        if ports.count == 0 || random.below(100) == 0 {
            ports.count = random.below(MAX_INT_HOPS as u64 + 1) as u32;
        }
        for hop in &mut ports.hops {
            if random.below(200) == 0 {
                (hop.at, hop.transmitted) = (random.time(64), random.bytes(64));
            }
            hop.at += random.time(24);
            hop.queue = random.bytes(if self.calm { 8 } else { 22 });
            hop.transmitted += random.bytes(20);
            hop.rate = self.path.line_rate.times(1 + random.below(2));
        }
    }

    /// Everything that a flow shows is the same on both sides. Returns it, but for the times.
    fn compare<C: CongestionControl>(&self, flow: &C, setup: &Setup<C::Params>, now: Time) -> Vec<u64> {
        let allowance = flow.allowance(setup);
        assert_eq!(self.c.allowance(), allowance, "{} at {now}", self.name);
        assert_eq!(self.c.deadline(), flow.deadline(), "{} at {now}", self.name);
        assert_eq!(self.c.tag(), flow.tag(setup), "{} at {now}", self.name);
        let mut shown = vec![allowance.window.get(), allowance.rate.bps()];
        for (place, internal) in C::INTERNALS.iter().enumerate() {
            let probe = flow.probe(setup, place).map(plain).ok_or(INCAST_NO_VALUE);
            assert_eq!(self.c.probe(place), probe, "{}, {} at {now}", self.name, internal.name);
            shown.extend(probe.map(|value| value.number));
        }
        assert_eq!(self.c.probe(C::INTERNALS.len()), Err(INCAST_NO_SUCH_PLACE), "{}", self.name);
        shown
    }
}

/// A value as C has it: kinds in the order of the header.
fn plain(value: Value) -> incast_value {
    let (kind, number) = match value {
        Value::Time(time) => (0, time.ps()),
        Value::Bytes(bytes) => (1, bytes.get()),
        Value::Rate(rate) => (2, rate.bps()),
        Value::Ratio(ratio) => (3, ratio.bits() as u64),
        Value::Count(count) => (4, count),
        Value::Flag(flag) => (5, u64::from(flag)),
        Value::Choice(place) => (6, place as u64),
    };
    incast_value { kind, number }
}

/// Every algorithm in every preset: its name, the preset's, the parameters.
fn everyone() -> Vec<(&'static str, &'static str, AnyParams)> {
    let mut all = Vec::new();
    for info in CATALOGUE {
        AnyParams::named(info.name, None).unwrap().presets(|preset, _| {
            all.push((info.name, preset, AnyParams::named(info.name, Some(preset)).unwrap()));
        });
    }
    assert!(all.len() > CATALOGUE.len());
    all
}

#[test]
fn every_algorithm_gives_the_same_in_c_and_in_rust() {
    let mut random = Random(1);
    let mut last = "";
    for (algorithm, preset, params) in everyone() {
        // The default preset is the first.
        let (named, calls) = if algorithm == last { (Some(preset), 4_000) } else { (None, 20_000) };
        last = algorithm;
        let c = Params::named(algorithm, named).unwrap();
        assert_eq!(c.signals(), params.signals().bits(), "{algorithm} {preset}");
        let overhead = (c.overhead().data, c.overhead().ack);
        assert_eq!(overhead, (params.overhead().data, params.overhead().ack), "{algorithm} {preset}");
        let (path, start) = (random.path(), Time::from_ps(1 << 51));
        let c = Flow::start(&c, &path, start);
        let name = format!("{algorithm} {preset}");
        let twin = Twin { name: &name, c, path, start, calls, calm: true, random: &mut random };
        let different = params.visit(twin);
        assert!(algorithm == "constant" || different > 10, "{name}: only {different} answers");
    }
}

/// Returns the texts of both ends of a range with their values; for words, all texts with their values.
fn ends(kind: Kind, range: &str) -> Vec<(String, Value)> {
    let values = match kind {
        Kind::Time(low, high) => vec![Value::Time(low), Value::Time(high)],
        Kind::Bytes(low, high) => vec![Value::Bytes(low), Value::Bytes(high)],
        Kind::Rate(low, high) => vec![Value::Rate(low), Value::Rate(high)],
        Kind::Ratio(low, high) => vec![Value::Ratio(low), Value::Ratio(high)],
        Kind::Count(low, high) => vec![Value::Count(low), Value::Count(high)],
        Kind::Flag => vec![Value::Flag(true), Value::Flag(false)],
        Kind::Choice(words) => (0..words.len()).map(Value::Choice).collect(),
    };
    let separator = match kind {
        Kind::Flag => " or ",
        Kind::Choice(_) => ", ",
        _ => " to ",
    };
    let endless = match kind {
        Kind::Time(..) => "never".to_owned(),
        Kind::Bytes(..) | Kind::Rate(..) => "unlimited".to_owned(),
        // 2^31 − 2^−32 in ten digits.
        Kind::Ratio(..) => "2147483647.9999999998".to_owned(),
        _ => u64::MAX.to_string(),
    };
    let texts: Vec<_> = range.split(separator).collect();
    assert_eq!(texts.len(), values.len(), "{range}");
    let texts =
        texts.into_iter().map(|text| if text == "no limit" { endless.clone() } else { text.to_owned() });
    texts.zip(values).collect()
}

#[test]
fn parameters_set_as_text_are_those_set_in_rust() {
    let mut random = Random(2);
    for (algorithm, preset, params) in everyone() {
        let c = Params::named(algorithm, Some(preset)).unwrap();
        let mut parameters = Vec::new();
        params.params(|info, value| parameters.push((info, value)));
        for (info, value) in parameters {
            // The value that it has reads back as the same.
            let mut same = c;
            assert_eq!(same.set(info.name, &c.get(info.name)), INCAST_OK, "{algorithm} {}", info.name);
            assert_eq!(same.get(info.name), c.get(info.name), "{algorithm} {}: {value:?}", info.name);
            for (text, value) in ends(info.kind, &c.range(info.name)) {
                let (mut changed, mut other) = (params, c);
                assert!(changed.set(info.name, value));
                assert_eq!(other.set(info.name, &text), INCAST_OK, "{algorithm} {} = {text}", info.name);
                assert_eq!(other.get(info.name), text, "{algorithm} {}", info.name);
                assert_eq!(other.signals(), changed.signals().bits(), "{algorithm} {} = {text}", info.name);
                let (path, start) = (random.path(), Time::from_ps(1 << 51));
                let name = format!("{algorithm} {preset}, {} = {text}", info.name);
                let flow = Flow::start(&other, &path, start);
                changed.visit(Twin {
                    name: &name,
                    c: flow,
                    path,
                    start,
                    calls: 40,
                    calm: true,
                    random: &mut random,
                });
            }
        }
    }
}

#[test]
fn a_copy_of_a_flow_and_its_setup_lives_by_itself() {
    let mut random = Random(3);
    let path = random.path();
    let start = Time::from_us(100);
    let params = AnyParams::named("hpcc", None).unwrap();
    assert!(params.signals().contains(Signals::INT));
    let c = Flow::start(&Params::named("hpcc", None).unwrap(), &path, start);
    // Both see the same calls: those of a generator that starts anew.
    for c in [c.clone(), c] {
        let mut random = Random(4);
        assert!(
            params.visit(Twin {
                name: "a copy",
                c,
                path,
                start,
                calls: 500,
                calm: true,
                random: &mut random
            }) > 10
        );
    }
}
