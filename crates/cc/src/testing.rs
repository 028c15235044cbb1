//! Shared parts of the algorithms' unit tests: a path with round numbers, and signals on it.

use incast_units::{Bytes, Rate, Time};

use crate::{Ack, CongestionControl, Fixed, IntHop, IntStack, Loss, LossKind, Path, Setup};

/// 100 Gbps and 12 us: a base BDP of 150 KB.
pub(crate) const PATH: Path = Path {
    base_rtt: Time::from_us(12),
    base_owd: Time::from_us(6),
    line_rate: Rate::from_gbps(100),
    packet: Bytes::new(1000),
    payload: Bytes::new(900),
    hops: 2,
};

/// 10 Gbps and 5 us, as in the papers of patched TIMELY and SQCC.
pub(crate) const PATH_10G: Path = Path {
    base_rtt: Time::from_us(5),
    base_owd: Time::from_us(3),
    line_rate: Rate::from_gbps(10),
    packet: Bytes::new(1000),
    payload: Bytes::new(946),
    hops: 2,
};

/// Microseconds.
pub(crate) fn us(us: u64) -> Time {
    Time::from_us(us)
}

/// A flow on [`PATH`] that starts at time zero.
pub(crate) fn flow<C: CongestionControl<Params: Copy>>(params: &C::Params) -> C {
    C::new(&Setup::new(*params, PATH), Time::ZERO)
}

/// A flow after its first acknowledgement at 12 us, with this telemetry; 150 KB were sent.
pub(crate) fn started<C: CongestionControl<Params: Copy>>(params: &C::Params, int: &IntStack) -> C {
    let mut flow = flow::<C>(params);
    flow.on_ack(&Setup::new(*params, PATH), &ack(us(12), us(12), 1000, 150_000), int);
    flow
}

/// Reports a loss at `sequence` to a flow at 100 us, when 300 KB were sent.
pub(crate) fn lost<C: CongestionControl<Params: Copy>>(
    flow: &mut C,
    params: &C::Params,
    kind: LossKind,
    sequence: u64,
) {
    let loss = Loss { now: us(100), kind, sequence, next_sequence: 300_000, ..Loss::BLANK };
    flow.on_loss(&Setup::new(*params, PATH), &loss);
}

/// An acknowledgement at `now` of a packet that took `rtt`; everything up to `sequence` has arrived,
/// everything up to `next_sequence` was sent.
pub(crate) fn ack(now: Time, rtt: Time, sequence: u64, next_sequence: u64) -> Ack {
    Ack {
        now,
        sent: now - rtt,
        received: now - rtt.times_ratio(1, 2),
        acked: PATH.packet,
        sequence,
        next_sequence,
        inflight: PATH.bdp(),
        inflight_now: PATH.bdp(),
        ..Ack::BLANK
    }
}

/// Telemetry of one 100 Gbps port.
pub(crate) fn port(at: Time, queue: u64, transmitted: u64) -> IntStack {
    let hop =
        IntHop { at, queue: Bytes::new(queue), transmitted: Bytes::new(transmitted), rate: PATH.line_rate };
    IntStack {
        count: 1,
        hops: [hop, IntHop::default(), IntHop::default(), IntHop::default(), IntHop::default()],
    }
}

/// Telemetry of two ports, in the order of the path.
pub(crate) fn then(mut first: IntStack, second: &IntStack) -> IntStack {
    first.count = 2;
    first.hops[1] = second.hops[0];
    first
}

/// The number as a float.
pub(crate) fn float(value: Fixed) -> f64 {
    value.bits() as f64 / 4_294_967_296.0
}

/// Asserts that a number is what was worked out by hand, to the digits that were kept.
#[track_caller]
pub(crate) fn close(value: Fixed, by_hand: f64) {
    assert!((float(value) - by_hand).abs() < 1e-8, "{value} is not {by_hand}");
}
