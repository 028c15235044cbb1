//! Algorithms that need not hear of packets that are sent do nothing when they do.

use std::fmt::Debug;

use incast_cc::{Ack, CongestionControl, IntStack, Path, Sent, Setup, for_each_algorithm};
use incast_units::{Bytes, Rate, Time};

const PATH: Path = Path {
    base_rtt: Time::from_us(12),
    base_owd: Time::from_us(6),
    line_rate: Rate::from_gbps(100),
    packet: Bytes::new(1000),
    payload: Bytes::new(900),
    hops: 2,
};

/// Whether packets that are sent change the state of a flow, or have a tag, among acknowledgements.
fn hears_sent<C: CongestionControl<Params: Default> + Copy + Debug>() -> bool {
    let setup = Setup::new(C::Params::default(), PATH);
    let mut flow = C::new(&setup, Time::ZERO);
    (1..400).any(|n| {
        let now = Time::from_us(20 + 3 * n);
        let rtt = Time::from_us(12 + n * n % 31);
        let ack = Ack {
            now,
            sent: now - rtt,
            acked: Bytes::new(1000),
            sequence: 900 * n,
            next_sequence: 900 * n + 135_000,
            inflight: Bytes::new(150_000),
            marked: u32::from(n % 7 == 0),
            ..Ack::BLANK
        };
        flow.on_ack(&setup, &ack, &IntStack::EMPTY);
        let before = format!("{flow:?}");
        flow.on_sent(&setup, &Sent { now, bytes: Bytes::new(1000), inflight: Bytes::new(50_000 + 100 * n) });
        format!("{flow:?}") != before || flow.tag(&setup) != 0
    })
}

#[test]
fn who_does_not_hear_of_packets_that_are_sent_need_not() {
    let mut listeners = 0;
    macro_rules! check {
        ($($module:ident: $flow:ident;)+) => {
            $({
                type Flow = incast_cc::$module::$flow;
                let hears = hears_sent::<Flow>();
                assert!(Flow::HEARS_SENT || !hears, "{} changes with a packet that is sent", stringify!($flow));
                listeners += u32::from(hears);
            })+
        };
    }
    for_each_algorithm!(check);
    assert!(listeners > 0, "none of the algorithms listens, which cannot be");
}
