//! A network in which nothing is wrong: one flow alone on its path.
#![allow(dead_code, reason = "each user takes its part")]

use std::collections::VecDeque;

use incast_cc::params::Value;
use incast_cc::{Ack, Allowance, AnyParams, CongestionControl, IntHop, IntStack, Path, Sent, Setup, Signals};
use incast_units::{Bytes, Rate, Time};

/// Packets that travel together.
struct Packets {
    sent: Time,
    together: u64,
    /// Bytes in flight with them.
    inflight: Bytes,
    tag: u32,
}

/// Whether window and rate allow at least half of what the path carries.
pub(crate) fn is_back(allowance: Allowance, path: &Path) -> bool {
    let half = |x: u64| x.div_ceil(2);
    allowance.rate.bps() >= half(path.line_rate.bps()) && allowance.window.get() >= half(path.bdp().get())
}

/// In how many packets (or timers) a flow on an empty path must be back at half its line, from
/// wherever it is. Generous: the number that follows from the algorithm's rule, doubled.
pub(crate) fn bound(params: &AnyParams, path: &Path) -> u64 {
    let bdp = path.bdp().get() / path.packet.get() + 1;
    // Packets that a time of this length takes at line rate.
    let during = |time: Time| path.line_rate.bytes_in(time).get() / path.packet.get();
    let rate = |name: &str| match value(params, name) {
        Some(Value::Rate(rate)) => rate,
        Some(Value::Ratio(share)) => Rate::from_bps(share.scale(path.line_rate.bps())),
        _ => Rate::ZERO,
    };
    let single = match params.info().name {
        "constant" => 1,
        // Hyper increase of 0.01 a batch, 50 times; a batch is 3 packets or a period, at most two BDP
        // (5 us at a base RTT of 3 us).
        "oscar" => 50 * (3 + 2 * bdp),
        // Five additive RTTs, then a multiplicative step; the average of the utilisation and the
        // reference take a few rounds more.
        "hpcc" => 20 * (3 + bdp),
        // Power below 1 multiplies; it is smoothed over a base RTT.
        "powertcp" => 200 * (3 + bdp),
        // Without multiplicative increase: beta is 0.006 BDP, weighed with gamma >= 0.7, once per RTT.
        "theta-powertcp" => 150 * (3 + bdp),
        // A step of R_AI, 0.001 of the line or less, per rate timer, both halving the way to the
        // target: 0.5/0.0002 at most, 300 us each.
        "dcqcn" => during(Time::from_ms(750)),
        // A packet per RTT, from one packet.
        "dctcp" | "retcp" | "newreno" => (3 + bdp) * (3 + bdp),
        // ai per RTT: a packet, or 0.001 BDP.
        "swift" | "lswift" | "mswift" => (3 + bdp.max(500)) * (3 + bdp),
        // A quarter of a per acknowledged byte, with a = BDP/150 KB: at least as much per RTT as for a window of a
        // packet, after a window of delays near zero.
        "nscc" | "mnscc" => (300_000 / path.packet.get() + 20) * (3 + bdp),
        // Four packets per acknowledgement after such a window; before it a BDP may be ignored.
        "smartt" => 4 * (3 + bdp),
        // delta per 64 KB, or per RTT; increases below T_low need not be hyper.
        "timely" | "patched-timely" | "sqcc" => {
            let step = match (params.info().name, rate("delta")) {
                ("timely", delta) => delta + rate("delta_share"),
                (_, Rate::ZERO) => rate("delta_share"),
                (_, delta) => delta,
            };
            let step = step.bps();
            path.line_rate.bps() / 2 / step.max(1) * (70 + bdp)
        }
        // S is 0.001 of the line at least, so that H2i adds 0.0001 of it in the first RTT and twice as much in each
        // that follows: half of it after 13, and a tenth in an RTT from the tenth doubling on.
        "ccc" => 20 * (3 + bdp),
        // One acknowledgement, and 50 us.
        "oracle" => 3 + during(Time::from_us(50)),
        // At no delay ln(r_max/r) shrinks to 3/4 in a round trip: from ln 1000 to ln 2 in 8 of them, in a few more
        // where 2.5 is the limit; with the flow's own α less and less, some 50.
        "poseidon" => 60 * (3 + bdp),
        other => panic!("write down in how many packets {other} recovers"),
    };
    100 + 2 * single
}

/// The value of a parameter, if the algorithm has one of that name.
pub(crate) fn value(params: &AnyParams, name: &str) -> Option<Value> {
    let mut found = None;
    params.params(|info, value| {
        if info.name == name {
            found = Some(value);
        }
    });
    found
}

/// Runs the flow alone on its path from `start` and position `sequence` on until `done` of its allowance, the packets (or
/// timers) and the time. Returns these two.
///
/// It sends as its allowance says, also between two packets: a new rate counts from the last one on. Every packet is
/// acknowledged a base RTT later, unmarked; at a large window several packets travel and are acknowledged together.
/// Its telemetry is from one port at the line's rate that this flow alone uses.
pub(crate) fn calm<C: CongestionControl>(
    flow: &mut C,
    setup: &Setup<C::Params>,
    start: Time,
    mut sequence: u64,
    done: impl Fn(Allowance, u64, Time) -> bool,
) -> (u64, Time) {
    let path = &setup.path;
    let stamps = C::signals(&setup.params).contains(Signals::INT);
    let tags = C::signals(&setup.params).contains(Signals::PACKET_TAG);
    // Packets under way.
    let mut under_way: VecDeque<Packets> = VecDeque::new();
    let (mut now, mut inflight, mut next) = (start, Bytes::ZERO, sequence);
    let mut last: Option<(Time, Bytes)> = None;
    let (mut packets, mut transmitted, mut timers) = (0, Bytes::ZERO, 0);
    loop {
        let allowance = flow.allowance(setup);
        if done(allowance, packets.max(timers), now - start) {
            return (packets.max(timers), now - start);
        }
        let open = inflight == Bytes::ZERO || inflight < allowance.window;
        let free_at = last.map_or(start, |(sent, bytes)| sent + allowance.rate.time_for(bytes));
        let send = if open { free_at.max(now) } else { Time::NEVER };
        let arrival = under_way.front().map_or(Time::NEVER, |p| p.sent + path.base_rtt);
        let timer = flow.deadline();
        if timer <= send.min(arrival) {
            timers += 1;
            now = now.max(timer);
            flow.on_timer(setup, now);
        } else if send <= arrival {
            now = send;
            let window = allowance.window.min(allowance.rate.bytes_in(path.base_rtt));
            let together = (window.get() / path.packet.get() / 16).clamp(1, 32);
            let bytes = path.packet.times(together);
            inflight += bytes;
            next += path.payload.times(together).get();
            last = Some((now, bytes));
            let tag = if tags { flow.tag(setup) } else { 0 };
            under_way.push_back(Packets { sent: now, together, inflight, tag });
            flow.on_sent(setup, &Sent { now, bytes, inflight });
        } else if let Some(of) = under_way.pop_front() {
            now = arrival;
            let bytes = path.packet.times(of.together);
            inflight -= bytes;
            sequence += path.payload.times(of.together).get();
            let received = of.sent + path.base_owd;
            let hop = IntHop { at: received, queue: Bytes::ZERO, transmitted, rate: path.line_rate };
            transmitted += bytes;
            let mut int = IntStack::EMPTY;
            if stamps {
                int.count = 1;
                int.hops[0] = hop;
            }
            let ack = Ack {
                now,
                sent: of.sent,
                received,
                acked: bytes,
                sequence,
                next_sequence: next,
                inflight: of.inflight,
                inflight_now: inflight,
                packets: of.together as u32,
                receiver_flows: 1,
                tag: of.tag,
                ..Ack::BLANK
            };
            flow.on_ack(setup, &ack, &int);
            packets += of.together;
        }
    }
}
