//! HPCC (Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019), Algorithm 1.
//!
//! Every acknowledgement brings the telemetry of each switch port on the way. Two successive ones
//! give the utilisation of each port; the largest drives a multiplicative step toward the target
//! utilisation η, taken from a reference that is renewed once per round trip.
//!
//! Windows are kept as a ratio to the base BDP, which is also the ratio of the rate to the line
//! rate (the paper's R = W/T): one number allows both.
//!
//! The first acknowledgement only stores its telemetry, and the reference is not renewed before one
//! of a packet sent after it, as in the authors' public artifact. The same holds for one that brings
//! another number of hops than the one before: it came on another path. One without telemetry says
//! nothing and leaves the record as it is. Telemetry here carries no path identity, so that a change
//! between paths of equal length goes unnoticed unless a clock or a counter runs backwards; with packet
//! spraying the measured utilisations are meaningless (OSCAR, Appendix A.3).

use incast_units::{Bytes, Rate, Time};

use crate::contract::{
    Ack, Allowance, CongestionControl, IntStack, Internal, Overhead, Setup, Signals, derived,
};
use crate::limits::{Update, floor_param, least_share};
use crate::params::{About, Described, Family, Kernel, Param, Value, choice, param, presets};
use crate::ports::{Largest, Port, Ports};
use crate::relative::relate;
use crate::{Divisor, Fixed};

choice! {
    /// The window that a multiplicative step starts from.
    Reference {
        /// The window committed once per round trip (HPCC, Algorithm 1: W_c).
        Original = "original",
        /// The window in force when the acknowledged packet was sent (OSCAR, NSDI'26, section 4.1.2
        /// and Figure 8b).
        Synchronised = "synchronised",
    }
}

/// Parameters of [`Hpcc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct HpccParams {
    /// Target utilisation η; above 1 it asks for a standing queue of η − 1 base BDP.
    pub eta: Fixed,
    /// Additive steps below the target before a multiplicative one (maxStage).
    pub max_stage: u64,
    /// Additive increase W_AI of an update, as a fraction of the base BDP.
    pub w_ai: Fixed,
    /// Window from which a step starts.
    pub reference: Reference,
    /// Time at which the window moves.
    pub update: Update,
    /// Whether the utilisation is smoothed over a base RTT (the end of MeasureInflight).
    pub smoothing: bool,
    /// The part of the smallest window and rate that is a fraction of base BDP and line rate.
    pub floor: Fixed,
    /// The part of the smallest rate that is absolute.
    pub floor_rate: Rate,
}

presets! {
    impl HpccParams {
        "paper": "HPCC, SIGCOMM 2019: target 0.95, 5 additive stages",
        fn paper() -> Self {
            Self {
                eta: Fixed::ratio(95, 100),
                max_stage: 5,
                w_ai: Fixed::ratio(5, 10_000),
                reference: Reference::Original,
                update: Update::Ack,
                smoothing: true,
                floor: Fixed::ratio(1, 1000),
                floor_rate: Rate::ZERO,
            }
        }

        "star": "HPCC* of OSCAR, NSDI'26, section 6.1: target 1.5, a queue of half a base BDP",
        fn star() -> Self {
            Self { eta: Fixed::ratio(3, 2), ..Self::paper() }
        }

        "artifact": "the run script of HPCC's public artifact: every step multiplicative, rates from 1Gbps on",
        fn artifact() -> Self {
            Self {
                max_stage: 0,
                w_ai: Fixed::ratio(4, 10_000),
                floor: Fixed::ZERO,
                floor_rate: Rate::from_gbps(1),
                ..Self::paper()
            }
        }

        "unsmoothed": "Figure 8a of OSCAR, NSDI'26: without smoothing of the utilisation, every step multiplicative",
        fn unsmoothed() -> Self {
            Self { max_stage: 0, smoothing: false, ..Self::paper() }
        }

        "synchronised": "Figure 8b of OSCAR, NSDI'26: unsmoothed, with OSCAR's reference, the window at the packet's sending",
        fn synchronised() -> Self {
            Self { reference: Reference::Synchronised, ..Self::unsmoothed() }
        }
    }
}

derived! {
    /// Quantities that HPCC derives once from its parameters and a path.
    pub struct HpccDerived of HpccParams, |params, path| {
        /// Smallest window and rate, as a share of base BDP and line rate.
        pub floor: Fixed = least_share(params.floor, params.floor_rate, path),
        /// Division by rates, BDPs and the base RTT,
        pub ports: Ports = Ports::new(path),
        /// and by η.
        pub eta: Divisor = Divisor::of(params.eta),
    }
}

impl Described for HpccParams {
    const ABOUT: About = About {
        name: "hpcc",
        title: "HPCC",
        summary: "steps to a target utilisation measured by in-band telemetry",
        family: Family::Telemetry,
        needs: "switches that write telemetry into packets (programmable switches: 2017); network cards that read it (FPGA: 2019)",
    };
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Ratio "eta",
            eta,
            Fixed::ratio(1, 10),
            Fixed::whole(10),
            "target utilisation of the busiest port; above 1, a standing queue of the excess in base BDP",
            Printed,
            "HPCC section 3.3: 0.95; HPCC* of OSCAR section 6.1: 1.5"
        ),
        param!(
            Count "max_stage",
            max_stage,
            0,
            1000,
            "round trips of additive increase below the target before a multiplicative one",
            Printed,
            "HPCC section 3.3: 5; its public artifact's run script and OSCAR Figure 8: 0"
        ),
        param!(
            Ratio "w_ai",
            w_ai,
            Fixed::ZERO,
            Fixed::ONE,
            "additive increase of an update as a fraction of the base BDP",
            Artifact,
            "HPCC section 3.3: (1 - eta)/N, here N = 100; OSCAR's public artifact: 0.0005; HPCC's: 0.0004"
        ),
        param!(
            choice "reference",
            reference,
            Reference,
            "what a step starts from: the window of one commit per RTT, or that when the packet was sent",
            Printed,
            "HPCC Algorithm 1; OSCAR section 4.1.2 and Figure 8"
        ),
        param!(
            choice "update",
            update,
            Update,
            "the window moves with every ack from a reference renewed once per RTT, or once per RTT",
            Printed,
            "HPCC Algorithm 1: ack; PowerTCP section 5 (Figure 8): rtt"
        ),
        param!(
            Flag "smoothing",
            smoothing,
            "whether the utilisation is averaged over a base RTT",
            Printed,
            "HPCC Algorithm 1, MeasureInflight; OSCAR Figure 8 switches it off"
        ),
        floor_param!(floor, Artifact, "HPCC states none; OSCAR's public artifact: 0.001"),
        floor_param!(
            floor_rate,
            Artifact,
            "OSCAR's public artifact: none; HPCC's: 1Gbps in its run script, 100Mbps in its sample configuration"
        ),
    ];
    const KERNEL: Option<Kernel> = Some(Kernel::new("incast_hpcc", Signals::INT));
}

/// The state of one flow under HPCC: 208 bytes, of which 168 are the telemetry of the last
/// acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Hpcc {
    /// Telemetry of the last acknowledgement (L).
    previous: IntStack,
    /// Smoothed utilisation of the busiest port (U).
    utilisation: Fixed,
    /// Reference window (W_c), as a ratio to the base BDP.
    reference: Fixed,
    /// Window (W), as a ratio to the base BDP.
    ratio: Fixed,
    /// The reference is renewed by an acknowledgement beyond this position (lastUpdateSeq).
    last_update: u64,
    /// Additive steps since the last multiplicative one (incStage).
    stage: u32,
    /// Place of the port that was the busiest in the last acknowledgement.
    busiest: u32,
}

impl Hpcc {
    /// MeasureInflight of Algorithm 1. Says whether there was anything to measure.
    fn measure(&mut self, setup: &Setup<HpccParams>, int: &IntStack) -> bool {
        let Setup { params, derived, .. } = setup;
        let ports = &derived.ports;
        let queue = |port: &Port<'_>| port.now.queue.min(port.before.queue);
        let busiest = ports.largest(
            &self.previous,
            int,
            self.busiest,
            |port, limit| Ports::sum_is_below(port, queue(port), port.sent, limit),
            |port| ports.sum(port, queue(port), port.sent),
        );
        let Some(Largest { value: u, elapsed, place }) = busiest else { return false };
        self.busiest = place;
        self.utilisation = if params.smoothing {
            let weight = derived.ports.round_trips(elapsed).min(Fixed::ONE);
            self.utilisation + weight * (u - self.utilisation)
        } else {
            u
        };
        true
    }

    /// ComputeWind of Algorithm 1.
    fn compute(&mut self, setup: &Setup<HpccParams>, from: Fixed, commit: bool) {
        let Setup { params, derived, .. } = setup;
        let multiplicative = self.utilisation >= params.eta || u64::from(self.stage) >= params.max_stage;
        let scaled = if multiplicative { from / derived.eta.divide(self.utilisation) } else { from };
        self.ratio = (scaled + params.w_ai).clamp_to(derived.floor, Fixed::ONE);
        if commit {
            self.stage = if multiplicative { 0 } else { self.stage.saturating_add(1) };
            self.reference = self.ratio;
        }
    }
}

impl CongestionControl for Hpcc {
    type Params = HpccParams;

    const HEARS_SENT: bool = false;

    fn signals(params: &HpccParams) -> Signals {
        match params.reference {
            Reference::Original => Signals::INT,
            Reference::Synchronised => Signals::INT.and(Signals::PACKET_TAG),
        }
    }

    fn overhead(_params: &HpccParams) -> Overhead {
        Overhead { data: 42, ack: 42 }
    }

    fn new(_setup: &Setup<HpccParams>, _now: Time) -> Self {
        Self {
            previous: IntStack::EMPTY,
            utilisation: Fixed::ONE,
            reference: Fixed::ONE,
            ratio: Fixed::ONE,
            last_update: 0,
            stage: 0,
            busiest: 0,
        }
    }

    relate! { |setup|
        telemetry(): [previous],
        value(): [utilisation, reference, ratio, stage],
        ahead(): [last_update],
        unread(): [busiest],
    }

    fn on_ack(&mut self, setup: &Setup<HpccParams>, ack: &Ack, int: &IntStack) {
        let Setup { params, .. } = setup;
        if int.count == 0 {
            return;
        }
        let (first, measured) = (self.previous.count != int.count, self.measure(setup, int));
        self.previous.copy(int);
        if first {
            self.last_update = ack.next_sequence;
        }
        if first || !measured {
            return;
        }
        let commit = ack.sequence > self.last_update;
        if params.update == Update::Rtt && !commit {
            return;
        }
        let from = match params.reference {
            Reference::Original => self.reference,
            // A packet of which no record is left brings no tag.
            Reference::Synchronised if ack.tag == 0 => self.reference,
            Reference::Synchronised => Fixed::from_bits(i64::from(ack.tag) << 1),
        };
        self.compute(setup, from, commit);
        if commit {
            self.last_update = ack.next_sequence;
        }
    }

    /// The window in force, in units of 2^-31 base BDP; it is at most one BDP.
    fn tag(&self, _setup: &Setup<HpccParams>) -> u32 {
        ((self.ratio.bits() >> 1) as u32).max(1)
    }

    fn allowance(&self, setup: &Setup<HpccParams>) -> Allowance {
        let Setup { path, .. } = setup;
        Allowance {
            window: Bytes::new(self.ratio.scale(setup.bdp.get())).max(Bytes::new(1)),
            rate: Rate::from_bps(self.ratio.scale(path.line_rate.bps())).max(Rate::from_bps(1)),
        }
    }

    const INTERNALS: &'static [Internal] = &[
        Internal { name: "u", meaning: "smoothed utilisation of the busiest port (U)" },
        Internal { name: "reference_window", meaning: "reference window (W_c)" },
        Internal { name: "stage", meaning: "additive steps since the last multiplicative one (incStage)" },
    ];

    fn probe(&self, setup: &Setup<HpccParams>, place: usize) -> Option<Value> {
        match place {
            0 => Some(Value::Ratio(self.utilisation)),
            1 => Some(Value::Bytes(Bytes::new(self.reference.scale(setup.bdp.get())))),
            2 => Some(Value::Count(u64::from(self.stage))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Path;
    use crate::testing::{self, PATH, ack, close, float, port, then, us};

    const RTT: Time = Time::from_us(12);

    /// A flow that has seen its first acknowledgement at `us(12)`, with an empty idle port.
    fn started(params: &HpccParams) -> Hpcc {
        testing::started(params, &port(us(12), 0, 0))
    }

    #[test]
    fn starts_at_line_rate_and_the_first_ack_only_stores() {
        let params = HpccParams::default();
        let hpcc = started(&params);
        let line = Allowance { window: Bytes::new(150_000), rate: Rate::from_gbps(100) };
        assert_eq!(hpcc.allowance(&Setup::new(params, PATH)), line);
        assert_eq!((hpcc.utilisation, hpcc.last_update), (Fixed::ONE, 150_000));
        assert_eq!(hpcc.previous, port(us(12), 0, 0));
        assert_eq!(Hpcc::signals(&params), Signals::INT);
        assert_eq!(Hpcc::overhead(&params), Overhead { data: 42, ack: 42 });
        assert_eq!(size_of::<Hpcc>(), 208);
    }

    #[test]
    fn utilisation_by_hand() {
        // In 1 us the port sent 12.5 KB, which is its rate: 1. Its queue went from 300 KB to 150 KB,
        // one BDP: 1. u = 2. Smoothed over tau/T = 1/12: U = 11/12 · 1 + 1/12 · 2 = 13/12.
        // W = 1/(13/12 / 0.95) + 0.0005 = 0.876923077 + 0.0005.
        let params = HpccParams::default();
        let mut hpcc = Hpcc::new(&Setup::new(params, PATH), Time::ZERO);
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(12), RTT, 1000, 150_000), &port(us(12), 300_000, 0));
        hpcc.on_ack(
            &Setup::new(params, PATH),
            &ack(us(13), RTT, 2000, 160_000),
            &port(us(13), 150_000, 12_500),
        );
        close(hpcc.utilisation, 13.0 / 12.0);
        close(hpcc.ratio, 0.877_423_077);
        let allowance = hpcc.allowance(&Setup::new(params, PATH));
        assert_eq!(allowance.window, Bytes::new(131_613)); // 0.877423077 · 150,000 = 131,613.46
        assert_eq!(allowance.rate.bps() / 1000, 87_742_307); // 0.877423077 · 100 Gbps, in Kbps
    }

    #[test]
    fn ten_full_rate_flows_are_cut_tenfold_at_once() {
        // OSCAR section 3.1 and Figure 2: U = 9.5. A queue of 8.5 BDP (1.275 MB) at full output gives
        // 8.5 + 1 = 9.5; W = 1/(9.5/0.95) + 0.0005 = 0.1005.
        let params = HpccParams::default();
        let mut hpcc = Hpcc::new(&Setup::new(params, PATH), Time::ZERO);
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(12), RTT, 1000, 150_000), &port(us(12), 1_275_000, 0));
        hpcc.on_ack(
            &Setup::new(params, PATH),
            &ack(us(24), RTT, 2000, 150_000),
            &port(us(24), 1_275_000, 150_000),
        );
        close(hpcc.utilisation, 9.5);
        close(hpcc.ratio, 0.1005);
    }

    #[test]
    fn after_the_burst_five_additive_steps_then_tenfold() {
        // OSCAR section 3.1: with one of ten flows left U = 0.095; "after 5 RTTs" W grows tenfold.
        // Each round trip the port sends 0.095 · 150 KB = 14,250 B.
        let params = HpccParams::default();
        let mut hpcc = started(&params);
        hpcc.reference = Fixed::ratio(1, 10);
        let mut sequence = 150_001;
        for round in 1..=5_u64 {
            let int = port(us(12 + 12 * round), 0, 14_250 * round);
            hpcc.on_ack(&Setup::new(params, PATH), &ack(us(12 + 12 * round), RTT, sequence, sequence), &int);
            close(hpcc.ratio, 0.1 + 0.0005 * round as f64);
            assert_eq!(u64::from(hpcc.stage), round);
            sequence += 15_000;
        }
        // 0.1025/(0.095/0.95) + 0.0005 is above 1 and stops there.
        let int = port(us(84), 0, 14_250 * 6);
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(84), RTT, sequence, sequence), &int);
        close(hpcc.utilisation, 0.095);
        close(hpcc.ratio, 1.0);
        assert_eq!(hpcc.stage, 0);
    }

    #[test]
    fn the_reference_is_renewed_once_per_round_trip() {
        // Two acks of one round trip with U = 1.9 both start from W_c = 1: 1/(1.9/0.95) = 0.5.
        let params = HpccParams { w_ai: Fixed::ZERO, smoothing: false, ..HpccParams::default() };
        let mut hpcc = started(&params);
        let busy = |n: u64| port(us(12 + n), 135_000, 12_500 * n); // 0.9 + 1
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(13), RTT, 2000, 160_000), &busy(1));
        close(hpcc.ratio, 0.95); // the smaller of two queues, 0, counts: 1/(1/0.95)
        // The second of them reaches what had been sent at the first ack, and is not beyond it.
        for (n, sequence) in [(2, 2000), (3, 150_000)] {
            hpcc.on_ack(&Setup::new(params, PATH), &ack(us(12 + n), RTT, sequence, 160_000), &busy(n));
            close(hpcc.ratio, 0.5);
            close(hpcc.reference, 1.0);
        }
        // An ack beyond what had been sent at the first one commits; the next starts from 0.5.
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(16), RTT, 150_001, 200_000), &busy(4));
        close(hpcc.reference, 0.5);
        assert_eq!(hpcc.last_update, 200_000);
        let window = hpcc.probe(&Setup::new(params, PATH), 1);
        assert!(matches!(window, Some(Value::Bytes(b)) if b.get().abs_diff(75_000) <= 1), "{window:?}");
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(17), RTT, 151_000, 200_000), &busy(5));
        close(hpcc.ratio, 0.25);
    }

    #[test]
    fn a_synchronised_reference_does_not_overreact() {
        // OSCAR Figure 5: one RTT of congestion with U = 2. The original reference cuts to 1/2 at its
        // first ack and to 1/4 after the commit; the synchronised one, which knows that all these
        // packets left with a window of 1, stays at 1/2.
        let run = |reference| {
            let params = HpccParams {
                reference,
                w_ai: Fixed::ZERO,
                eta: Fixed::ONE,
                smoothing: false,
                ..HpccParams::default()
            };
            let setup = Setup::new(params, PATH);
            let mut hpcc = Hpcc::new(&setup, Time::ZERO);
            // Twelve packets leave before the first comes back, and one with each acknowledgement.
            let mut tags = [hpcc.tag(&setup); 24];
            for n in 0..12 {
                let now = us(12 + n);
                let commit = if n == 5 { 150_001 } else { 1000 * n };
                let int = port(now, 150_000, 12_500 * n);
                let ack = Ack { tag: tags[n as usize], ..ack(now, RTT, commit, 150_000) };
                hpcc.on_ack(&setup, &ack, &int);
                tags[12 + n as usize] = hpcc.tag(&setup);
            }
            // The next come back with tags of their own: from the half that was in force then.
            assert_eq!(tags[0], 1 << 31);
            assert_eq!(tags[23], (hpcc.ratio.bits() >> 1) as u32);
            hpcc.ratio
        };
        close(run(Reference::Original), 0.25);
        close(run(Reference::Synchronised), 0.5);
    }

    #[test]
    fn a_tag_is_the_window_of_its_packet() {
        // U = 2 and eta = 1: half of 0.75, the window when the packet left, whatever the reference is;
        // without a record (a tag of zero) half of the reference.
        let params = HpccParams {
            reference: Reference::Synchronised,
            w_ai: Fixed::ZERO,
            eta: Fixed::ONE,
            smoothing: false,
            ..HpccParams::default()
        };
        let setup = Setup::new(params, PATH);
        assert_eq!(Hpcc::signals(&params), Signals::INT.and(Signals::PACKET_TAG));
        let mut hpcc = started(&params);
        hpcc.ratio = Fixed::ratio(3, 4);
        let tag = hpcc.tag(&setup);
        assert_eq!(tag, 3 << 29);
        hpcc.on_ack(&setup, &ack(us(13), RTT, 2000, 150_000), &port(us(13), 150_000, 12_500));
        hpcc.reference = Fixed::ratio(1, 8);
        for (tag, window) in [(tag, 0.375), (0, 0.0625)] {
            let mut hpcc = hpcc;
            let ack = Ack { tag, ..ack(us(14), RTT, 3000, 150_000) };
            hpcc.on_ack(&setup, &ack, &port(us(14), 150_000, 25_000));
            close(hpcc.ratio, window);
        }
        // The smallest window has a tag too.
        hpcc.ratio = Fixed::from_bits(1);
        assert_eq!(hpcc.tag(&setup), 1);
        // Without any window a byte may be in flight, and a bit leaves each second.
        hpcc.ratio = Fixed::ZERO;
        let least = Allowance { window: Bytes::new(1), rate: Rate::from_bps(1) };
        assert_eq!(hpcc.allowance(&setup), least);
    }

    #[test]
    fn the_busiest_port_counts() {
        let params = HpccParams { smoothing: false, ..HpccParams::default() };
        let mut hpcc = Hpcc::new(&Setup::new(params, PATH), Time::ZERO);
        let both = |a: IntStack, b: IntStack| then(a, &b);
        let first = both(port(us(10), 0, 0), port(us(12), 75_000, 0));
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(18), RTT, 1000, 2000), &first);
        // Port 1: 0.5. Port 2: 0.5 of output and half a BDP of queue: 1.
        let second = both(port(us(11), 0, 6_250), port(us(13), 75_000, 6_250));
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(19), RTT, 2000, 3000), &second);
        close(hpcc.utilisation, 1.0);
    }

    #[test]
    fn of_two_equally_busy_ports_the_first_counts() {
        // Both at half of their line, the first within 1 us, the second within 3 us. MeasureInflight
        // takes a port and its time only if it is busier than those before: U = 11/12 + 1/12 · 0.5.
        let params = HpccParams::default();
        let mut hpcc = Hpcc::new(&Setup::new(params, PATH), Time::ZERO);
        let before = then(port(us(10), 0, 0), &port(us(12), 0, 0));
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(18), RTT, 1000, 2000), &before);
        let now = then(port(us(11), 0, 6_250), &port(us(15), 0, 18_750));
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(21), RTT, 2000, 3000), &now);
        close(hpcc.utilisation, 23.0 / 24.0);
    }

    #[test]
    fn records_that_say_nothing_change_nothing() {
        let params = HpccParams::default();
        let mut hpcc = started(&params);
        hpcc.on_ack(
            &Setup::new(params, PATH),
            &ack(us(13), RTT, 2000, 150_000),
            &port(us(13), 150_000, 12_500),
        );
        let before = hpcc;
        // The same instant again; an earlier one; a counter that runs backwards; no telemetry at all. An
        // acknowledgement of what was sent since the last commit commits nothing then either.
        for int in [port(us(13), 900_000, 99_999), port(us(9), 900_000, 0), port(us(20), 900_000, 3)] {
            for (smoothing, sequence) in [(true, 3000), (false, 3000), (true, 150_001)] {
                let params = HpccParams { smoothing, ..params };
                let mut hpcc = before;
                hpcc.on_ack(&Setup::new(params, PATH), &ack(us(20), RTT, sequence, 200_000), &int);
                assert_eq!(hpcc, Hpcc { previous: int, ..before });
            }
        }
        let mut hpcc = Hpcc::new(&Setup::new(params, PATH), Time::ZERO);
        for n in 0..3 {
            hpcc.on_ack(&Setup::new(params, PATH), &ack(us(20 + n), RTT, 3000 * n, 3000), &IntStack::EMPTY);
        }
        close(hpcc.ratio, 1.0);
        // No telemetry in between leaves the record: the next is compared over both. 0.5 of the line
        // in 6 us with no queue: U = 0.5 · 0.5 + 0.5 · U.
        let mut hpcc = before;
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(16), RTT, 2500, 150_000), &IntStack::EMPTY);
        assert_eq!((hpcc.previous, hpcc.ratio), (before.previous, before.ratio));
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(19), RTT, 3000, 150_000), &port(us(19), 0, 50_000));
        close(hpcc.utilisation, 0.5 * 0.5 + 0.5 * float(before.utilisation));
        // Another number of hops is another path: stored, not compared.
        let mut hpcc = before;
        let int = then(port(us(20), 900_000, 20_000), &port(us(21), 900_000, 20_000));
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(27), RTT, 3000, 150_000), &int);
        assert_eq!((hpcc.ratio, hpcc.previous.count), (before.ratio, 2));
    }

    #[test]
    fn never_below_the_floor() {
        let params = HpccParams::default();
        let mut hpcc = started(&params);
        let int = port(us(24), u64::MAX, u64::MAX);
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(24), RTT, 150_001, 150_002), &int);
        hpcc.on_ack(
            &Setup::new(params, PATH),
            &ack(us(25), RTT, 150_002, 150_002),
            &port(us(36), u64::MAX, u64::MAX),
        );
        close(hpcc.ratio, 0.001);
        assert_eq!(hpcc.allowance(&Setup::new(params, PATH)).window, Bytes::new(149)); // 150 B less 2^-32
        // The artifact's 1 Gbps is 0.01 of this line and 0.04 of one of 25 Gbps.
        let params = HpccParams { w_ai: Fixed::ZERO, ..HpccParams::artifact() };
        for (path, share) in [(PATH, 0.01), (Path { line_rate: Rate::from_gbps(25), ..PATH }, 0.04)] {
            let mut hpcc = Hpcc::new(&Setup::new(params, path), Time::ZERO);
            for n in 1..3 {
                let int = port(us(24 * n), u64::MAX / 2, n << 40);
                hpcc.on_ack(&Setup::new(params, path), &ack(us(24 * n), RTT, 2000, 3000), &int);
            }
            close(hpcc.ratio, share);
        }
    }

    #[test]
    fn the_queue_term_is_that_of_the_ports_own_rate() {
        // A port of 400 Gbps with 300 KB of queue: a BDP of 400 Gbps · 12 us = 600 KB, half of it; its
        // output of 25 KB in 1 us is 200 of 400 Gbps. u = 0.5 + 0.5. (With 100 Gbps: 2 + 2.)
        let params = HpccParams { smoothing: false, ..HpccParams::default() };
        let mut hpcc = Hpcc::new(&Setup::new(params, PATH), Time::ZERO);
        let fast = |at: Time, queue: u64, transmitted: u64| {
            let mut stack = port(at, queue, transmitted);
            stack.hops[0].rate = Rate::from_gbps(400);
            stack
        };
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(12), RTT, 1000, 150_000), &fast(us(12), 300_000, 0));
        hpcc.on_ack(
            &Setup::new(params, PATH),
            &ack(us(13), RTT, 2000, 150_000),
            &fast(us(13), 300_000, 25_000),
        );
        close(hpcc.utilisation, 1.0);
        // The smaller of both queues counts, whichever it is: now 150 KB of 600, and 0.5 of output.
        hpcc.on_ack(
            &Setup::new(params, PATH),
            &ack(us(14), RTT, 3000, 150_000),
            &fast(us(14), 150_000, 50_000),
        );
        close(hpcc.utilisation, 0.75);
        hpcc.on_ack(
            &Setup::new(params, PATH),
            &ack(us(15), RTT, 4000, 150_000),
            &fast(us(15), 300_000, 75_000),
        );
        close(hpcc.utilisation, 0.75);
    }

    #[test]
    fn a_counter_that_runs_backwards_is_another_port() {
        // Two ports; the first one's counter runs backwards, which at face value would be a rate of
        // nearly 2^64 B or one of zero: it is left out, and the second, 0.25 of its line, counts.
        let params = HpccParams { smoothing: false, ..HpccParams::default() };
        let mut hpcc = Hpcc::new(&Setup::new(params, PATH), Time::ZERO);
        let before = then(port(us(10), 600_000, 50_000), &port(us(12), 0, 50_000));
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(18), RTT, 1000, 2000), &before);
        let now = then(port(us(11), 600_000, 49_999), &port(us(13), 0, 53_125));
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(19), RTT, 2000, 3000), &now);
        close(hpcc.utilisation, 0.25);
        // It is stored all the same: the next record is compared with it.
        let next = then(port(us(12), 0, 62_499), &port(us(14), 0, 53_125));
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(20), RTT, 3000, 4000), &next);
        close(hpcc.utilisation, 1.0);
    }
}
