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
//! another number of hops than the one before: it came on another path. Telemetry here carries no
//! path identity, so that a change between paths of equal length goes unnoticed unless a clock or a
//! counter runs backwards; with packet spraying the measured utilisations are meaningless
//! (OSCAR, Appendix A.3).

use incast_units::{Bytes, Rate, Time};

use crate::Fixed;
use crate::contract::{
    Ack, Allowance, CongestionControl, IntHop, IntStack, Overhead, Parameters, Path, Sent, Setup, Signals,
};
use crate::params::{Described, Param, Preset, choice, param};

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
    /// What a step starts from.
    pub reference: Reference,
    /// Whether the utilisation is smoothed over a base RTT (the end of MeasureInflight).
    pub smoothing: bool,
    /// Smallest window and rate, as a fraction of base BDP and line rate.
    pub floor: Fixed,
}

impl HpccParams {
    fn paper() -> Self {
        Self {
            eta: Fixed::ratio(95, 100),
            max_stage: 5,
            w_ai: Fixed::ratio(5, 10_000),
            reference: Reference::Original,
            smoothing: true,
            floor: Fixed::ratio(1, 1000),
        }
    }

    fn star() -> Self {
        Self { eta: Fixed::ratio(3, 2), ..Self::paper() }
    }

    fn artifact() -> Self {
        Self { max_stage: 0, w_ai: Fixed::ratio(4, 10_000), floor: Fixed::ratio(1, 100), ..Self::paper() }
    }
}

impl Default for HpccParams {
    fn default() -> Self {
        Self::paper()
    }
}

impl Parameters for HpccParams {
    type Derived = ();

    fn derive(&self, _path: &Path) {}
}

impl Described for HpccParams {
    const NAME: &'static str = "hpcc";
    const TITLE: &'static str = "HPCC";
    const SUMMARY: &'static str = "steps to a target utilisation measured by in-band telemetry";
    const PRESETS: &'static [Preset<Self>] = &[
        Preset {
            name: "paper",
            meaning: "HPCC, SIGCOMM 2019: target 0.95, 5 additive stages",
            params: Self::paper,
        },
        Preset {
            name: "star",
            meaning: "HPCC* of OSCAR, NSDI'26, section 6.1: target 1.5, a queue of half a base BDP",
            params: Self::star,
        },
        Preset {
            name: "artifact",
            meaning: "the run script of HPCC's public artifact at 100Gbps: every step multiplicative",
            params: Self::artifact,
        },
    ];
    const PARAMS: &'static [Param<Self>] = &[
        param!(
            Ratio "eta",
            eta,
            Fixed::ratio(1, 10),
            Fixed::whole(10),
            "target utilisation of the busiest port; above 1, a standing queue of the excess in base BDP",
            "HPCC section 3.3: 0.95; HPCC* of OSCAR section 6.1: 1.5"
        ),
        param!(
            Count "max_stage",
            max_stage,
            0,
            1000,
            "round trips of additive increase below the target before a multiplicative one",
            "HPCC section 3.3: 5; its public artifact's run script and OSCAR Figure 8: 0"
        ),
        param!(
            Ratio "w_ai",
            w_ai,
            Fixed::ZERO,
            Fixed::ONE,
            "additive increase of an update as a fraction of the base BDP",
            "HPCC section 3.3: (1 - eta)/N, here N = 100; OSCAR's public artifact: 0.0005; HPCC's: 0.0004"
        ),
        param!(
            choice "reference",
            reference,
            Reference,
            "what a step starts from: the window of one commit per RTT, or that when the packet was sent",
            "HPCC Algorithm 1; OSCAR section 4.1.2 and Figure 8"
        ),
        param!(
            Flag "smoothing",
            smoothing,
            "whether the utilisation is averaged over a base RTT",
            "HPCC Algorithm 1, MeasureInflight; OSCAR Figure 8 switches it off"
        ),
        param!(
            Ratio "floor",
            floor,
            Fixed::ratio(1, 10_000),
            Fixed::ONE,
            "smallest window and rate as a fraction of base BDP and line rate",
            "OSCAR's public artifact: 0.001; HPCC's: 1Gbps, 0.01 at 100Gbps"
        ),
    ];
}

/// Snapshots of the window that the synchronised reference looks back into.
const SNAPSHOTS: usize = 32;
/// Snapshots taken in one round trip.
const SNAPSHOTS_PER_RTT: u64 = 8;

/// The window in force when some packet was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
struct Snapshot {
    /// When, in ticks of 2^10 ps, modulo 2^32 (4.4 s).
    at: u32,
    /// The window in units of 2^-31 base BDP; zero in a place not yet used.
    ratio: u32,
}

fn ticks(time: Time) -> u32 {
    (time.ps() >> 10) as u32
}

/// What the window was when a packet was sent, for the synchronised reference.
///
/// The public artifact of OSCAR keeps a record for every packet in flight. In a state of fixed size
/// this keeps a ring of them, taken as packets leave and at least an eighth of a round trip apart:
/// a slow flow has every packet recorded, a fast one finds the latest record not after its packet.
/// The round trip that spaces them is the larger of base and last measured one. As a round trip
/// cannot grow faster than time passes, n of them hold 8·(1 + ln(RTT/base RTT)) records, so the ring
/// reaches back a whole round trip until that is 20 times its base; beyond, the oldest record serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct History {
    ring: [Snapshot; SNAPSHOTS],
    /// Place of the next snapshot.
    next: u32,
    /// When the latest was taken, in ticks.
    latest: u32,
}

impl History {
    const EMPTY: Self = Self { ring: [Snapshot { at: 0, ratio: 0 }; SNAPSHOTS], next: 0, latest: 0 };

    fn record(&mut self, now: Time, rtt: Time, ratio: Fixed) {
        let (at, spacing) = (ticks(now), ticks(rtt.times_ratio(1, SNAPSHOTS_PER_RTT)));
        let empty = self.next == 0 && self.ring.first().is_some_and(|s| s.ratio == 0);
        if !empty && at.wrapping_sub(self.latest) < spacing {
            return;
        }
        if let Some(place) = self.ring.get_mut(self.next as usize) {
            *place = Snapshot { at, ratio: (ratio.bits() >> 1) as u32 };
        }
        self.next = (self.next + 1) & (SNAPSHOTS as u32 - 1);
        self.latest = at;
    }

    /// The window when a packet that left at `sent` was sent; `otherwise` when there is no record.
    fn find(&self, sent: Time, otherwise: Fixed) -> Fixed {
        let sent = ticks(sent);
        let (mut before, mut after) = ((u32::MAX, 0), (u32::MAX, 0));
        for snapshot in self.ring.iter().filter(|s| s.ratio != 0) {
            let age = sent.wrapping_sub(snapshot.at);
            if age < 1 << 31 {
                before = before.min((age, snapshot.ratio));
            } else {
                after = after.min((age.wrapping_neg(), snapshot.ratio));
            }
        }
        match (before, after) {
            ((_, 0), (_, 0)) => otherwise,
            ((_, 0), (_, ratio)) | ((_, ratio), _) => Fixed::from_bits(i64::from(ratio) << 1),
        }
    }
}

/// The state of one flow under HPCC: 480 bytes, of which 168 are the telemetry of the last
/// acknowledgement and 264 the look-back of the synchronised reference.
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
    /// Last measured round trip, but at least the base; spaces the look-back.
    rtt: Time,
    /// Additive steps since the last multiplicative one (incStage).
    stage: u32,
    history: History,
}

/// Utilisation of one port between two records of it, and the time between them (the loop of
/// MeasureInflight). `None` when the second is not later than the first, or of another port because its
/// counter runs backwards: then it says nothing.
fn utilisation(before: &IntHop, now: &IntHop, base_rtt: Time) -> Option<(Fixed, Time)> {
    let elapsed = now.at - before.at;
    if elapsed == Time::ZERO {
        return None;
    }
    let sent = Rate::of(now.transmitted.checked_sub(before.transmitted)?, elapsed);
    let queue = now.queue.min(before.queue);
    let u = Fixed::ratio(queue.get(), now.rate.bytes_in(base_rtt).get())
        + Fixed::ratio(sent.bps(), now.rate.bps());
    Some((u, elapsed))
}

impl Hpcc {
    /// MeasureInflight of Algorithm 1. Says whether there was anything to measure.
    fn measure(&mut self, params: &HpccParams, path: &Path, int: &IntStack) -> bool {
        let mut busiest: Option<(Fixed, Time)> = None;
        for ((_, before), (_, now)) in self.previous.iter().zip(int.iter()) {
            if let Some((u, elapsed)) = utilisation(before, now, path.base_rtt)
                && busiest.is_none_or(|(largest, _)| u > largest)
            {
                busiest = Some((u, elapsed));
            }
        }
        let Some((u, elapsed)) = busiest else { return false };
        self.utilisation = if params.smoothing {
            let weight = Fixed::ratio(elapsed.min(path.base_rtt).ps(), path.base_rtt.ps())
                .clamp_to(Fixed::ZERO, Fixed::ONE);
            self.utilisation + weight * (u - self.utilisation)
        } else {
            u
        };
        true
    }

    /// ComputeWind of Algorithm 1.
    fn compute(&mut self, params: &HpccParams, from: Fixed, commit: bool) {
        let multiplicative = self.utilisation >= params.eta || u64::from(self.stage) >= params.max_stage;
        let scaled = if multiplicative { from / (self.utilisation / params.eta) } else { from };
        self.ratio = (scaled + params.w_ai).clamp_to(params.floor, Fixed::ONE);
        if commit {
            self.stage = if multiplicative { 0 } else { self.stage.saturating_add(1) };
            self.reference = self.ratio;
        }
    }
}

impl CongestionControl for Hpcc {
    type Params = HpccParams;

    fn signals(_params: &HpccParams) -> Signals {
        Signals::INT
    }

    fn overhead(_params: &HpccParams) -> Overhead {
        Overhead { data: 42, ack: 42 }
    }

    fn new(setup: &Setup<HpccParams>, _now: Time) -> Self {
        let Setup { path, .. } = setup;
        Self {
            previous: IntStack::EMPTY,
            utilisation: Fixed::ONE,
            reference: Fixed::ONE,
            ratio: Fixed::ONE,
            last_update: 0,
            rtt: path.base_rtt,
            stage: 0,
            history: History::EMPTY,
        }
    }

    fn on_ack(&mut self, setup: &Setup<HpccParams>, ack: &Ack, int: &IntStack) {
        let Setup { params, path, .. } = setup;
        self.rtt = ack.rtt().max(path.base_rtt);
        let (first, measured) = (self.previous.count != int.count, self.measure(params, path, int));
        self.previous = *int;
        if first {
            self.last_update = ack.next_sequence;
        }
        if first || !measured {
            return;
        }
        let commit = ack.sequence > self.last_update;
        let from = match params.reference {
            Reference::Original => self.reference,
            Reference::Synchronised => self.history.find(ack.sent, self.reference),
        };
        self.compute(params, from, commit);
        if commit {
            self.last_update = ack.next_sequence;
        }
    }

    fn on_sent(&mut self, setup: &Setup<HpccParams>, sent: &Sent) {
        let Setup { params, .. } = setup;
        if params.reference == Reference::Synchronised {
            self.history.record(sent.now, self.rtt, self.ratio);
        }
    }

    fn allowance(&self, setup: &Setup<HpccParams>) -> Allowance {
        let Setup { path, .. } = setup;
        Allowance {
            window: Bytes::new(self.ratio.scale(setup.bdp.get())).max(Bytes::new(1)),
            rate: Rate::from_bps(self.ratio.scale(path.line_rate.bps())).max(Rate::from_bps(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PATH, ack, close, port, then};

    const RTT: Time = Time::from_us(12);

    fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    /// A flow that has seen its first acknowledgement at `us(12)`, with an empty idle port.
    fn started(params: &HpccParams) -> Hpcc {
        let mut hpcc = Hpcc::new(&Setup::new(*params, PATH), Time::ZERO);
        hpcc.on_ack(&Setup::new(*params, PATH), &ack(us(12), RTT, 1000, 150_000), &port(us(12), 0, 0));
        hpcc
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
        assert_eq!(size_of::<Hpcc>(), 480);
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
        for n in 2..4 {
            hpcc.on_ack(&Setup::new(params, PATH), &ack(us(12 + n), RTT, 1000 * n, 160_000), &busy(n));
            close(hpcc.ratio, 0.5);
            close(hpcc.reference, 1.0);
        }
        // An ack beyond what had been sent at the first one commits; the next starts from 0.5.
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(16), RTT, 150_001, 200_000), &busy(4));
        close(hpcc.reference, 0.5);
        assert_eq!(hpcc.last_update, 200_000);
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
            let mut hpcc = Hpcc::new(&Setup::new(params, PATH), Time::ZERO);
            for n in 0..12 {
                let sent = Sent { now: us(n), bytes: PATH.packet, inflight: PATH.packet };
                hpcc.on_sent(&Setup::new(params, PATH), &sent);
            }
            for n in 0..12 {
                let now = us(12 + n);
                let commit = if n == 5 { 150_001 } else { 1000 * n };
                let int = port(now, 150_000, 12_500 * n);
                hpcc.on_ack(&Setup::new(params, PATH), &ack(now, RTT, commit, 150_000), &int);
                let sent = Sent { now, bytes: PATH.packet, inflight: PATH.packet };
                hpcc.on_sent(&Setup::new(params, PATH), &sent);
            }
            hpcc.ratio
        };
        close(run(Reference::Original), 0.25);
        close(run(Reference::Synchronised), 0.5);
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
    fn records_that_say_nothing_change_nothing() {
        let params = HpccParams::default();
        let mut hpcc = started(&params);
        hpcc.on_ack(
            &Setup::new(params, PATH),
            &ack(us(13), RTT, 2000, 150_000),
            &port(us(13), 150_000, 12_500),
        );
        let before = hpcc;
        // The same instant again; an earlier one; a counter that runs backwards; no telemetry at all.
        for int in [port(us(13), 900_000, 99_999), port(us(9), 900_000, 0), port(us(20), 900_000, 3)] {
            let mut hpcc = before;
            hpcc.on_ack(&Setup::new(params, PATH), &ack(us(20), RTT, 3000, 150_000), &int);
            assert_eq!((hpcc.ratio, hpcc.utilisation), (before.ratio, before.utilisation));
        }
        let mut hpcc = Hpcc::new(&Setup::new(params, PATH), Time::ZERO);
        for n in 0..3 {
            hpcc.on_ack(&Setup::new(params, PATH), &ack(us(20 + n), RTT, 3000 * n, 3000), &IntStack::EMPTY);
        }
        close(hpcc.ratio, 1.0);
        // Another number of hops is another path: stored, not compared.
        let mut hpcc = before;
        let int = then(port(us(20), 900_000, 20_000), &port(us(21), 900_000, 20_000));
        hpcc.on_ack(&Setup::new(params, PATH), &ack(us(27), RTT, 3000, 150_000), &int);
        assert_eq!((hpcc.ratio, hpcc.previous.count), (before.ratio, 2));
    }

    #[test]
    fn history_finds_the_latest_record_not_after_the_packet() {
        let half = Fixed::ratio(1, 2);
        let mut history = History::EMPTY;
        assert_eq!(history.find(us(1), half), half);
        // A spacing of 8 us / 8 = 1 us; one record per packet sent 1.5 us apart, 100 of them, across
        // the wrap of the 32-bit ticks at 2^42 ps.
        let start = Time::from_ps((1 << 42) - 75_000_000);
        let at = |n: u64| start + Time::from_ns(1500 * n);
        for n in 0..100 {
            history.record(at(n), us(8), Fixed::ratio(n + 1, 256));
            // Too soon after: not recorded.
            history.record(at(n) + Time::from_ns(500), us(8), Fixed::ONE);
        }
        for n in 68..100 {
            assert_eq!(history.find(at(n), half), Fixed::ratio(n + 1, 256), "{n}");
            assert_eq!(history.find(at(n) + Time::from_ns(1400), half), Fixed::ratio(n + 1, 256), "{n}");
        }
        // What has been overwritten: the oldest left.
        assert_eq!(history.find(at(10), half), Fixed::ratio(69, 256));
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
    }
}
