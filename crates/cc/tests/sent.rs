//! Algorithms that need not hear of packets that are sent do nothing when they do.

use std::fmt::Debug;

use incast_cc::hpcc::{Hpcc, HpccParams, Reference};
use incast_cc::{Ack, CongestionControl, IntHop, IntStack, Path, Sent, Setup, Signals, for_each_algorithm};
use incast_units::{Bytes, Rate, Time};

const PATH: Path = Path {
    base_rtt: Time::from_us(12),
    base_owd: Time::from_us(6),
    line_rate: Rate::from_gbps(100),
    packet: Bytes::new(1000),
    payload: Bytes::new(900),
    hops: 2,
};

/// Passes 400 acknowledgements to a flow, with a tag or without, and the times of packets between them. Returns its states,
/// and whether a packet that is sent changes any.
fn states<C: CongestionControl<Params: Default> + Copy + Debug>(tagged: bool) -> (Vec<String>, bool) {
    let setup = Setup::new(C::Params::default(), PATH);
    let mut flow = C::new(&setup, Time::ZERO);
    let mut hears = false;
    let states = (1..400).map(|n| {
        let now = Time::from_us(20 + 3 * n);
        let rtt = Time::from_us(12 + n * n % 31);
        let mut int = IntStack { count: 1, ..IntStack::EMPTY };
        int.hops[0] = IntHop {
            at: now,
            queue: Bytes::new(n * n % 90_000),
            transmitted: Bytes::new(30_000 * n),
            rate: Rate::from_gbps(100),
        };
        let ack = Ack {
            now,
            sent: now - rtt,
            acked: Bytes::new(1000),
            sequence: 900 * n,
            next_sequence: 900 * n + 135_000,
            inflight: Bytes::new(150_000),
            marked: u32::from(n % 7 == 0),
            tag: if tagged { 1 + (n * 7_919_993 % (1 << 30)) as u32 } else { 0 },
            ..Ack::BLANK
        };
        flow.on_ack(&setup, &ack, &int);
        let before = format!("{flow:?}");
        flow.on_sent(&setup, &Sent { now, bytes: Bytes::new(1000), inflight: Bytes::new(50_000 + 100 * n) });
        hears |= format!("{flow:?}") != before;
        before
    });
    (states.collect(), hears)
}

#[test]
fn who_does_not_hear_of_packets_that_are_sent_need_not() {
    let mut listeners = 0;
    macro_rules! check {
        ($($module:ident: $flow:ident;)+) => {
            $({
                type Flow = incast_cc::$module::$flow;
                let (states, hears) = states::<Flow>(false);
                assert!(Flow::HEARS_SENT || !hears, "{} changes with a packet that is sent", stringify!($flow));
                listeners += u32::from(hears);
                let reads = Flow::signals(&Default::default()).contains(Signals::PACKET_TAG);
                let is_blind = states == self::states::<Flow>(true).0;
                assert!(reads || is_blind, "{} reads tags without the signal", stringify!($flow));
            })+
        };
    }
    for_each_algorithm!(check);
    assert!(listeners > 0, "none of the algorithms listens, which cannot be");
}

#[test]
fn who_has_the_signal_reads_tags() {
    let params = HpccParams { reference: Reference::Synchronised, ..HpccParams::default() };
    assert!(Hpcc::signals(&params).contains(Signals::PACKET_TAG));
    assert!(!Hpcc::signals(&HpccParams::default()).contains(Signals::PACKET_TAG));
}
