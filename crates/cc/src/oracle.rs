//! The oracle of OSCAR (Zhang et al., NSDI 2026, section 3.2, Figure 3): every flow knows how many flows there are,
//! a fixed time late, and takes its share of what the path should hold in one step.
//!
//! It is no congestion control for a network: it exists to see what signals show while nothing but the number
//! of flows changes. The number is the receiver's count of open flows, so it is right where the receiver's
//! link is the only bottleneck and flows use no other receiver there.
//!
//! * With N flows each has a window of `inflight`/N base BDPs, at most `window_cap`, and paces window/RTT_base,
//!   at most the line.
//! * A change of N takes effect `delay` after it happened: a flow that begins counts from when its first packet left
//!   (one base one-way delay before it arrives) or from when it arrived (`begins`), one that ends from when the
//!   receiver knows. The sender hears of both with the next acknowledgement of its own; what it hears later than
//!   `delay` takes effect at once.
//! * Up to eight changes can be pending. One more takes the place of the latest: it is late, never early.

use incast_units::{Bytes, Rate, Time};

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Overhead, Parameters, Path, Setup, Signals,
};
use crate::params::{About, Described, Family, Param, Value, choice, param, presets};
use crate::relative::{Relate, relate};

choice! {
    /// From when a flow that begins is counted.
    Begins {
        /// The time at which its first packet leaves, one base one-way delay before it arrives.
        Sent = "sent",
        /// The time at which its first packet arrives.
        Received = "received",
    }
}

/// Parameters of [`Oracle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct OracleParams {
    /// Delay after which the number of flows is known.
    pub delay: Time,
    /// From when a flow that begins is counted.
    pub begins: Begins,
    /// Bytes in flight of all flows together, in base BDPs.
    pub inflight: Fixed,
    /// Largest window of a flow, in base BDPs.
    pub window_cap: Fixed,
}

presets! {
    impl OracleParams {
        "oscar": "OSCAR, NSDI'26, section 3.2 and Figure 3: 50us late, one base BDP in flight and one queued",
        fn oscar() -> Self {
            Self {
                delay: Time::from_us(50),
                begins: Begins::Sent,
                inflight: Fixed::whole(2),
                window_cap: Fixed::ONE,
            }
        }
    }
}

impl Parameters for OracleParams {
    type Derived = ();

    fn derive(&self, _path: &Path) {}
}

impl Described for OracleParams {
    const ABOUT: About = About {
        name: "oracle",
        title: "Oracle",
        summary: "an equal share by the number of flows at the receiver, known a fixed time late",
        family: Family::Oracle,
        needs: "what no network tells: the number of flows at the bottleneck (simulator only)",
    };
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Time "delay",
            delay,
            Time::ZERO,
            Time::from_ms(100),
            "how long after a change of the number of flows it takes effect",
            Printed,
            "OSCAR section 3.2: 50us"
        ),
        param!(
            choice "begins",
            begins,
            Begins,
            "from when a flow that begins is counted: when its first packet leaves, or when it arrives",
            Artifact,
            "OSCAR does not say; chosen here, as Figure 3 in its public artifact, whose windows change 50us after the flows begin: sent"
        ),
        param!(
            Ratio "inflight",
            inflight,
            Fixed::ratio(1, 1000),
            Fixed::whole(1000),
            "bytes in flight of all flows together, in base BDPs; above 1, the excess is the queue",
            Derived,
            "OSCAR section 3.2, a target of one base BDP of queue: 2"
        ),
        param!(
            Ratio "window_cap",
            window_cap,
            Fixed::ratio(1, 1000),
            Fixed::whole(1000),
            "largest window of a flow in base BDPs, also before it knows the number of flows",
            Artifact,
            "Figure 3 in OSCAR's public artifact: 1"
        ),
    ];
}

/// A number of flows, and when it takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct Change {
    due: Time,
    flows: u32,
}

const NONE: Change = Change { due: Time::NEVER, flows: 0 };

/// The state of one flow. Size: 136 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Oracle {
    /// Pending changes, in the order in which they take effect, then [`NONE`].
    changes: [Change; 8],
    /// The number in effect; zero before the first.
    flows: u32,
    /// The last number heard.
    heard: u32,
}

impl Oracle {
    /// Changes that are due take effect.
    fn pass(&mut self, now: Time) {
        for _ in 0..self.changes.len() {
            let [first, ..] = self.changes;
            if first.due > now || first == NONE {
                return;
            }
            self.flows = first.flows;
            let mut later = NONE;
            for change in self.changes.iter_mut().rev() {
                core::mem::swap(change, &mut later);
            }
        }
    }

    /// A change is heard of that takes effect at `due`, but not before those heard of before.
    #[inline(never)] // so that the kernel's verifier sees the changes come from memory, and not each way they came there
    fn hear(&mut self, due: Time, flows: u32) {
        let (mut after, mut placed) = (Time::ZERO, false);
        for change in &mut self.changes {
            if *change == NONE && !placed {
                *change = Change { due: due.max(after), flows };
                placed = true;
            }
            after = after.max(change.due);
        }
        if !placed {
            let [.., last] = &mut self.changes;
            *last = Change { due: due.max(last.due), flows };
        }
    }

    fn share(&self, params: &OracleParams) -> Fixed {
        match self.flows {
            0 => params.window_cap,
            flows => (params.inflight / Fixed::whole(u64::from(flows))).min(params.window_cap),
        }
    }
}

impl Relate for Change {
    relate! {
        instant(): [due],
        value(): [flows],
    }
}

impl CongestionControl for Oracle {
    type Params = OracleParams;

    const HEARS_SENT: bool = false;

    fn signals(_params: &OracleParams) -> Signals {
        Signals::RECEIVER_FLOWS.and(Signals::ONE_WAY_DELAY)
    }

    fn overhead(_params: &OracleParams) -> Overhead {
        Overhead::default()
    }

    fn new(_setup: &Setup<OracleParams>, _now: Time) -> Self {
        Self { changes: [NONE; 8], flows: 0, heard: 0 }
    }

    relate! { |setup|
        each(): [changes],
        value(): [flows, heard],
    }

    fn on_ack(&mut self, setup: &Setup<OracleParams>, ack: &Ack, _int: &IntStack) {
        self.pass(ack.now);
        if ack.receiver_flows == 0 || ack.receiver_flows == self.heard {
            return;
        }
        let counted = ack.received.min(ack.now);
        let begun = ack.receiver_flows > self.heard && setup.params.begins == Begins::Sent;
        let since = if begun { counted - setup.path.base_owd } else { counted };
        self.heard = ack.receiver_flows;
        self.hear(since + setup.params.delay, ack.receiver_flows);
        self.pass(ack.now);
    }

    fn on_timer(&mut self, _setup: &Setup<OracleParams>, now: Time) {
        self.pass(now);
    }

    fn deadline(&self) -> Time {
        let [first, ..] = self.changes;
        first.due
    }

    fn allowance(&self, setup: &Setup<OracleParams>) -> Allowance {
        let Setup { params, path, bdp, .. } = setup;
        let share = self.share(params);
        Allowance {
            window: Bytes::new(share.scale(bdp.get())).max(Bytes::new(1)),
            rate: Rate::from_bps(share.min(Fixed::ONE).scale(path.line_rate.bps())).max(Rate::from_bps(1)),
        }
    }

    const INTERNALS: &'static [Internal] =
        &[Internal { name: "flows", meaning: "number of flows that is in effect (N)" }];

    fn probe(&self, _setup: &Setup<OracleParams>, place: usize) -> Option<Value> {
        (place == 0 && self.flows > 0).then_some(Value::Count(u64::from(self.flows)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PATH, ack, us};

    /// An acknowledgement of a packet that arrived at `received` us and is here 6 us later.
    fn hears(flow: &mut Oracle, setup: &Setup<OracleParams>, received: u64, flows: u32) {
        let ack =
            Ack { received: us(received), receiver_flows: flows, ..ack(us(received + 6), us(12), 0, 0) };
        flow.on_ack(setup, &ack, &IntStack::EMPTY);
    }

    fn allows(window: u64, gbps: u64) -> Allowance {
        Allowance { window: Bytes::new(window), rate: Rate::from_gbps(gbps) }
    }

    #[test]
    fn ten_flows_have_a_fifth_of_a_bdp_each_fifty_microseconds_after_the_tenth_began() {
        let setup = Setup::new(OracleParams::oscar(), PATH);
        let mut flow = Oracle::new(&setup, Time::ZERO);
        assert_eq!(size_of::<Oracle>(), 136);
        assert_eq!(flow.allowance(&setup), allows(150_000, 100));
        // One flow alone: not two BDP but one, since the rate is the line's anyway.
        hears(&mut flow, &setup, 6, 1);
        flow.on_timer(&setup, us(50));
        assert_eq!(
            (flow.allowance(&setup), flow.probe(&setup, 0)),
            (allows(150_000, 100), Some(Value::Count(1)))
        );
        // Nine begin at 500 us; their first packets arrive 6 us later.
        hears(&mut flow, &setup, 506, 10);
        assert_eq!((flow.deadline(), flow.allowance(&setup)), (us(550), allows(150_000, 100)));
        hears(&mut flow, &setup, 520, 10);
        flow.on_timer(&setup, us(550));
        // 0.2 is cut to 2^-32.
        let fifth = Allowance { window: Bytes::new(29_999), rate: Rate::from_bps(19_999_999_995) };
        assert_eq!((flow.deadline(), flow.allowance(&setup)), (Time::NEVER, fifth));
        // Counted from their arrival: 6 us later.
        let received = Setup::new(OracleParams { begins: Begins::Received, ..OracleParams::oscar() }, PATH);
        let mut later = Oracle::new(&received, Time::ZERO);
        hears(&mut later, &received, 506, 10);
        assert_eq!(later.deadline(), us(556));
        // They end at 1500 us, which the receiver knows.
        hears(&mut flow, &setup, 1500, 1);
        assert_eq!(flow.deadline(), us(1550));
        hears(&mut flow, &setup, 1545, 1);
        assert_eq!(flow.allowance(&setup), allows(150_000, 100));
    }

    #[test]
    fn changes_take_effect_in_their_order_and_never_early() {
        let setup = Setup::new(OracleParams::oscar(), PATH);
        let mut flow = Oracle::new(&setup, Time::ZERO);
        // Heard at 10, 12, … 28 us: due at 54, 56, … The ninth and the tenth take the place of the eighth.
        for n in 0..10 {
            hears(&mut flow, &setup, 10 + 2 * n, n as u32 + 2);
        }
        for (at, flows) in [(54, 2), (55, 2), (56, 3), (66, 8), (68, 8), (71, 8), (72, 11)] {
            flow.on_timer(&setup, us(at));
            assert_eq!(flow.flows, flows, "at {at} us");
        }
        assert_eq!(flow, Oracle { heard: 11, flows: 11, ..Oracle::new(&setup, Time::ZERO) });
        // An end counts from its arrival, a beginning from before it: the earlier report takes effect first.
        hears(&mut flow, &setup, 100, 10);
        hears(&mut flow, &setup, 101, 12);
        assert_eq!(flow.deadline(), us(150));
        flow.on_timer(&setup, us(150));
        assert_eq!(flow.flows, 12);
        // Two at once count both, and one heard too late at once.
        flow.on_timer(&setup, us(500));
        let late = Ack { received: us(400), receiver_flows: 5, ..ack(us(600), us(300), 0, 0) };
        flow.on_ack(&setup, &late, &IntStack::EMPTY);
        assert_eq!((flow.flows, flow.deadline()), (5, Time::NEVER));
        // An acknowledgement that says nothing changes nothing.
        hears(&mut flow, &setup, 700, 0);
        assert_eq!((flow.flows, flow.deadline()), (5, Time::NEVER));
    }

    #[test]
    fn a_window_holds_at_least_a_byte() {
        let setup = Setup::new(OracleParams { delay: Time::ZERO, ..OracleParams::oscar() }, PATH);
        let mut flow = Oracle::new(&setup, Time::ZERO);
        hears(&mut flow, &setup, 10, u32::MAX);
        let least = flow.allowance(&setup);
        assert_eq!((least.window, least.rate.bps() > 0), (Bytes::new(1), true));
    }
}
