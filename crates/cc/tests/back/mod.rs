//! Time until a flow is back after signals that were wrong: the undisturbed allowance, disturbances, and the
//! time until nine tenths of that allowance are back to stay.

pub(crate) mod own;

use std::cell::Cell;

use incast_cc::any::Visitor;
use incast_cc::{
    Ack, Allowance, AnyParams, CongestionControl, IntHop, IntStack, Loss, LossKind, Path, Setup,
};
use incast_units::{Bytes, Rate, Time};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::ideal;
use crate::storm::{Event, Flow, event};

/// Base RTTs for which a flow must have its nine tenths, so that it is back.
pub(crate) const STAYS: u64 = 100;

/// A path of this line rate and base RTT.
pub(crate) fn path(gbps: u64, rtt_us: u64) -> Path {
    Path {
        base_rtt: Time::from_us(rtt_us),
        base_owd: Time::from_us(rtt_us / 2),
        line_rate: Rate::from_gbps(gbps),
        packet: Bytes::new(1060),
        payload: Bytes::new(1000),
        hops: 4,
    }
}

/// Right samples around one of a hundredth of the base RTT, as a clock that steps back makes it.
pub(crate) fn wrong_sample(path: &Path) -> Vec<Event> {
    let ack = |share| {
        let rtt = path.base_rtt.times_ratio(share, 100);
        // `now` and `sent` are the time since the last event and the RTT.
        let ack = Ack { now: Time::from_us(1), sent: rtt, acked: path.packet, ..Ack::BLANK };
        Event::Ack(Box::new((Ack { sequence: 1000, next_sequence: 50_000, ..ack }, IntStack::EMPTY)))
    };
    vec![ack(100), ack(100), ack(1), ack(100)]
}

/// Congestion by every signal, two thousand times: 64 KB are acknowledged with an RTT of 1 ms, marks, full queues on the
/// path, a notification and a loss. Between two passes a base RTT, or a millisecond in one of ten, in which timers fire.
pub(crate) fn congestion(path: &Path) -> Vec<Event> {
    let queue = path.bdp().times(10);
    let (mut at, mut transmitted) = (Time::from_ps(1 << 51), Bytes::ZERO);
    let mut events = Vec::new();
    for number in 0..2000 {
        let wait = if number % 10 == 0 { Time::from_ms(1) } else { path.base_rtt };
        at += wait;
        transmitted += path.line_rate.bytes_in(wait);
        let mut int = IntStack::EMPTY;
        int.count = 1;
        int.hops[0] = IntHop { at, queue, transmitted, rate: path.line_rate };
        let ack = Ack {
            now: wait,
            sent: Time::from_ms(1),
            received: at,
            acked: path.packet.times(61),
            sequence: 61_000,
            next_sequence: 1,
            packets: 61,
            marked: 61,
            hop_delay: Time::from_us(900),
            receiver_flows: 1,
            ..Ack::BLANK
        };
        events.push(Event::Ack(Box::new((ack, int))));
        events.push(Event::Cnp);
        events.push(Event::Loss(Loss { kind: LossKind::Hole, ..Loss::BLANK }));
    }
    events
}

/// Random storms, always the same ones.
pub(crate) fn storms(number: usize) -> Vec<Vec<Event>> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let storm = prop::collection::vec(event(), 1..60);
    (0..number).map(|_| storm.new_tree(&mut runner).unwrap().current()).collect()
}

/// Returns the allowance of a flow that was never disturbed, after this many base RTTs.
pub(crate) fn undisturbed(params: &AnyParams, path: Path, rtts: u64) -> Allowance {
    params.visit(Undisturbed(path, rtts))
}

struct Undisturbed(Path, u64);

impl Visitor for Undisturbed {
    type Output = Allowance;

    fn visit<C: CongestionControl>(self, params: &C::Params) -> Allowance {
        let setup = Setup::new(params.clone(), self.0);
        let start = Time::from_ms(1);
        let mut flow = C::new(&setup, start);
        ideal::calm(&mut flow, &setup, start, 0, |_, _, time| time > self.0.base_rtt.times(self.1));
        flow.allowance(&setup)
    }
}

/// Whether a flow with one allowance has nine tenths of another.
fn has_enough(now: Allowance, before: Allowance, path: &Path) -> bool {
    let enough = |now: u64, before: u64| u128::from(now) * 10 >= u128::from(before) * 9;
    let window = |of: Allowance| of.window.min(path.bdp()).get();
    enough(now.rate.bps(), before.rate.bps()) && enough(window(now), window(before))
}

/// Returns the flow after these events.
fn disturbed<'a, C: CongestionControl>(
    name: &'a str,
    params: &C::Params,
    path: Path,
    events: &[Event],
) -> Flow<'a, C> {
    let mut flow = Flow::<C>::new(name, Setup::new(params.clone(), path));
    for event in events {
        flow.happen(event, Time::ZERO);
    }
    flow
}

/// Events, then calm. The result is the number of base RTTs, rounded up, after which nine tenths of the undisturbed
/// allowance are back and stay; nothing if that takes more than `most`.
pub(crate) struct Back<'a> {
    pub(crate) name: &'a str,
    pub(crate) path: Path,
    pub(crate) events: &'a [Event],
    pub(crate) undisturbed: Allowance,
    pub(crate) most: u64,
}

impl Visitor for Back<'_> {
    type Output = Option<u64>;

    fn visit<C: CongestionControl>(self, params: &C::Params) -> Option<u64> {
        let mut flow = disturbed::<C>(self.name, params, self.path, self.events);
        let (path, base) = (&self.path, self.path.base_rtt);
        // The last time at which it had less.
        let less = Cell::new(None);
        let done = |now: Allowance, _, time: Time| {
            if !has_enough(now, self.undisturbed, path) {
                less.set(Some(time));
                time > base.times(self.most)
            } else {
                time > less.get().unwrap_or(Time::ZERO) + base.times(STAYS)
            }
        };
        ideal::calm(&mut flow.controller, &flow.setup, flow.now, flow.next, done);
        let took = less.get().map_or(0, |time| time.ps().div_ceil(base.ps()));
        (took <= self.most).then_some(took)
    }
}

/// Events, then calm. The result is the number of packets until nine tenths are back, at most one more than `most`.
pub(crate) struct Packets<'a> {
    pub(crate) name: &'a str,
    pub(crate) path: Path,
    pub(crate) events: &'a [Event],
    pub(crate) undisturbed: Allowance,
    pub(crate) most: u64,
}

impl Visitor for Packets<'_> {
    type Output = u64;

    fn visit<C: CongestionControl>(self, params: &C::Params) -> u64 {
        let mut flow = disturbed::<C>(self.name, params, self.path, self.events);
        let done = |now, packets, _| packets > self.most || has_enough(now, self.undisturbed, &self.path);
        ideal::calm(&mut flow.controller, &flow.setup, flow.now, flow.next, done).0
    }
}
