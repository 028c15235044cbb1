//! HPCC (Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019), Algorithm 1.
//!
//! Every acknowledgement brings the telemetry of each switch port on the way. Two successive ones
//! give the utilisation of each port; the largest drives a multiplicative step toward the target
//! utilisation η, taken from a reference that is renewed once per round trip.
//!
//! Windows are kept as a ratio to the base BDP, which is also the ratio of the rate to the line
//! rate (the paper's R = W/T): one number allows both.
//!
//! The first acknowledgement only stores its telemetry, as in the authors' public code. So does one
//! that brings another number of hops than the one before: it came on another path.

use incast_units::{Bytes, Rate, Time};

use crate::Fixed;
use crate::contract::{Ack, Allowance, CongestionControl, IntHop, IntStack, Overhead, Path, Sent, Signals};
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
/// MeasureInflight). `None` when the second is not later than the first: it says nothing.
fn utilisation(before: &IntHop, now: &IntHop, base_rtt: Time) -> Option<(Fixed, Time)> {
    let elapsed = now.at - before.at;
    if elapsed == Time::ZERO {
        return None;
    }
    let sent = Rate::of(now.transmitted - before.transmitted, elapsed);
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
                && u > busiest.map_or(Fixed::ZERO, |(largest, _)| largest)
            {
                busiest = Some((u, elapsed));
            }
        }
        let Some((u, elapsed)) = busiest else { return false };
        self.utilisation = if params.smoothing {
            let weight = Fixed::ratio(elapsed.min(path.base_rtt).ps(), path.base_rtt.ps())
                .clamp_to(Fixed::ZERO, Fixed::ONE);
            (Fixed::ONE - weight) * self.utilisation + weight * u
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

    fn new(_params: &HpccParams, path: &Path, _now: Time) -> Self {
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

    fn on_ack(&mut self, params: &HpccParams, path: &Path, ack: &Ack, int: &IntStack) {
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

    fn on_sent(&mut self, params: &HpccParams, _path: &Path, sent: &Sent) {
        if params.reference == Reference::Synchronised {
            self.history.record(sent.now, self.rtt, self.ratio);
        }
    }

    fn allowance(&self, _params: &HpccParams, path: &Path) -> Allowance {
        Allowance {
            window: Bytes::new(self.ratio.scale(path.bdp().get())).max(Bytes::new(1)),
            rate: Rate::from_bps(self.ratio.scale(path.line_rate.bps())).max(Rate::from_bps(1)),
        }
    }
}
