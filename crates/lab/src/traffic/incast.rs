//! Many hosts send to one at the same time.

use std::collections::BTreeMap;

use incast_cc::Fixed;
use incast_sim::describe::network::NodeId;
use incast_units::{Bytes, PS_PER_SECOND, Time};

use super::gaps::{Gaps, MAX_SIGMA};
use super::hosts::{End, Hosts};
use super::process::{Keys, Span};
use super::stream::Stream;
use super::work::Made;
use super::{Draft, Faults, MAX_GAP, Offered, Reach, Setting, both, mean_gap};
use crate::grammar::section::{choice, section};
use crate::grammar::setting::Bound;
use crate::limits::MAX_FLOWS;
use crate::problem::fault;

/// Placement of the senders of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Anywhere.
    Anywhere,
    /// All on one switch, which is not the receiver's.
    OneOtherRack,
}

choice! {
    Spread {
        "anywhere" => Anywhere: "any hosts but the receiver",
        "one-other-rack" => OneOtherRack: "hosts on one switch that is not the receiver's (PowerTCP artifact)",
    }
}

section! {
    /// Requests: for each, one random receiver, and `fan_in` distinct random senders that send it `size`
    /// each.
    ///
    /// One request at `start`, or with `load` or `interval` a Poisson process of them (`gaps` makes it another one): flows
    /// count that start in the measured window, from the end of the `warmup` on, for `duration`. Others still arrive after
    /// it until those are done. The process ends after `requests`, if that is earlier, or with the run.
    pub(crate) struct Incast {
        /// Number of senders of each request; by default all hosts of `from` except the receiver.
        fan_in: Option<u32> = None; Bound::Count(1, 65_535),
        /// Payload per sender and request, not per request: the receiver gets fan_in times as much.
        size: Bytes; Bound::Positive,
        /// Possible senders, hosts or network cards; none is of the receiver's host.
        from: Hosts = Hosts::all(),
        /// Possible receivers, hosts or network cards.
        to: Hosts = Hosts::all(),
        /// Placement of the senders of one request.
        spread: Spread = Spread::Anywhere,
        /// Time of the single request, or start of the process.
        start: Time = Time::ZERO,
        /// Requested payload as a share of the capacity of the links of all hosts of `from`.
        load: Option<Fixed> = None; Bound::Between(Fixed::ZERO, Fixed::ONE),
        /// Mean time between two requests.
        interval: Option<Time> = None; Bound::Positive,
        /// Distribution of the times between requests; by default exponential.
        gaps: Option<Gaps> = None,
        /// Standard deviation of the natural logarithm of log-normal gaps; by default 2, as in the BFC artifact.
        sigma: Option<Fixed> = None; Bound::Ratio(Fixed::ZERO, MAX_SIGMA),
        /// Number of requests.
        requests: Option<u64> = None; Bound::Count(1, MAX_FLOWS),
        /// Time from the start of a process until flows count.
        warmup: Time = Time::ZERO,
        /// Duration of the measured window of a process, after the warm-up.
        duration: Option<Time> = None; Bound::Positive,
        /// Whether requests still arrive after `duration`, without counting, until the flows that count are done.
        tail: bool = true,
        /// Time between the starts of successive senders of a request.
        stagger: Time = Time::ZERO,
        /// Each sender is delayed by a random time, uniform from zero to this.
        jitter: Time = Time::ZERO,
    }
}

/// The pattern with its hosts resolved.
struct Plan {
    from: Vec<End>,
    to: Vec<End>,
    /// The members of `from` by their switch.
    racks: BTreeMap<NodeId, Vec<End>>,
    /// Mean gap between requests in 2^-32 ps; `None` for a single request.
    gap: Option<u128>,
    span: Span,
    /// Requested payload as a share of a capacity, with the latter in bit/s; `None` without a load.
    load: Option<(f64, f64)>,
}

/// Flows of one request are numbered from the request's number times this.
const STRIDE: u64 = 1 << 17;

impl Incast {
    fn plan(&self, setting: &Setting<'_>) -> Result<Plan, Faults> {
        let world = setting.world;
        let (from, to) = both(world, &self.from, &self.to)?;
        let mut racks: BTreeMap<NodeId, Vec<End>> = BTreeMap::new();
        let mut of_host: BTreeMap<u32, usize> = BTreeMap::new();
        for &end in &from {
            racks.entry(end.switch(world.fabric)).or_default().push(end);
            *of_host.entry(end.host).or_default() += 1;
        }
        let gaps = self.gaps.unwrap_or(Gaps::Exponential);
        let mut faults = Vec::from_iter(gaps.fault(self.sigma));
        let possible = |receiver: End| match self.spread {
            Spread::Anywhere => from.len() - of_host.get(&receiver.host).copied().unwrap_or(0),
            Spread::OneOtherRack => {
                let own = receiver.switch(world.fabric);
                let others = racks.iter().filter(|(rack, _)| **rack != own);
                others.map(|(_, ends)| elsewhere(ends, receiver).count()).max().unwrap_or(0)
            }
        };
        let need = self.fan_in.unwrap_or(1) as usize;
        if let Some(&receiver) = to.iter().find(|&&receiver| possible(receiver) < need) {
            let message = match possible(receiver) {
                0 => format!("{} has nobody to receive from", world.name(receiver)),
                n => format!("needs {need} senders, but for {} there are only {n}", world.name(receiver)),
            };
            faults.push(fault("fan_in", message));
        }
        if self.fan_in.is_none() && self.spread == Spread::OneOtherRack {
            faults.push(fault("fan_in", "is missing; spread = \"one-other-rack\" needs it".to_owned()));
        }
        let requested = u128::from(self.size.get()) * u128::from(self.fan_in.unwrap_or(from.len() as u32));
        let gap = match (self.load, self.interval) {
            (Some(_), Some(_)) => {
                faults.push(fault(
                    "interval",
                    "is already determined by load; leave out one of the two".to_owned(),
                ));
                None
            }
            (Some(load), None) => {
                let offered = world.capacity(&from) * u128::from(load.bits().unsigned_abs());
                if offered >= world.capacity(&to) << 32 {
                    let percent = offered * 100 / (world.capacity(&to) << 32).max(1);
                    faults.push(fault(
                        "load",
                        format!("offers {percent} % of the rate of the receivers' links"),
                    ));
                }
                Some(mean_gap(requested.saturating_mul(8 * u128::from(PS_PER_SECOND)), offered))
            }
            (None, Some(interval)) => Some((u128::from(interval.ps()) << 32).min(MAX_GAP)),
            (None, None) => {
                let needs = "needs load or interval; without them there is one request";
                if self.requests.is_some_and(|requests| requests != 1) {
                    faults.push(fault("requests", needs.to_owned()));
                }
                if self.gaps.is_some() {
                    faults.push(fault("gaps", needs.to_owned()));
                }
                if self.duration.is_some() {
                    faults.push(fault("duration", needs.to_owned()));
                }
                if self.warmup > Time::ZERO {
                    faults.push(fault("warmup", needs.to_owned()));
                }
                None
            }
        };
        let Self { start, warmup, duration, tail, requests, .. } = *self;
        // A single request.
        let count = requests.or(gap.is_none().then_some(1));
        let keys =
            Keys { start, warmup, duration, tail, count: ("requests", count), run_until: setting.until };
        let span = keys.span(&mut faults);
        if let Some(gap) = gap {
            let end = span.until;
            let expected = (u128::from((end - start).ps()) << 32) / gap;
            let expected = self.requests.map_or(expected, |r| expected.min(u128::from(r)));
            let flows = expected * u128::from(self.fan_in.unwrap_or(from.len() as u32));
            if flows > u128::from(MAX_FLOWS) && (end != Time::NEVER || self.requests.is_some()) {
                faults.push(fault(
                    "fan_in",
                    format!("makes about {flows} flows; at most {MAX_FLOWS} are possible"),
                ));
            }
        }
        let capacity = world.capacity(&from) as f64;
        let load = self.load.map(|load| (load.bits() as f64 / 2_f64.powi(32), capacity));
        if faults.is_empty() { Ok(Plan { from, to, racks, gap, span, load }) } else { Err(faults) }
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        self.plan(setting).map(|plan| Reach::Any(plan.from, plan.to))
    }

    pub(super) fn at_once(&self, reach: &Reach) -> u64 {
        self.fan_in.map_or_else(|| reach.senders(), u64::from)
    }

    pub(super) fn has_load(&self) -> bool {
        self.load.is_some()
    }

    pub(super) fn offered(&self, setting: &Setting<'_>) -> Option<Offered> {
        let plan = self.plan(setting).ok()?;
        let senders = self.fan_in.map_or(plan.from.len() as f64, f64::from);
        let bits = senders * 8.0 * self.size.get() as f64;
        let per_second = PS_PER_SECOND as f64 * 2_f64.powi(32) / plan.gap? as f64;
        // Every sender is equally likely.
        let each = bits * per_second / plan.from.len() as f64;
        Some(Offered { from: plan.from.iter().map(|&end| (end, each)).collect(), to: plan.to })
    }

    pub(super) fn make(&self, setting: &Setting<'_>, seed: u64, name: &str) -> Result<Made, Faults> {
        let plan = self.plan(setting)?;
        let requests = match (self.requests, plan.gap) {
            (Some(requests), _) => requests,
            (None, Some(_)) => MAX_FLOWS,
            (None, None) => 1,
        };
        let mut flows = Vec::new();
        let mut time = self.start;
        let (mut last, mut is_after, mut made) = (plan.span.until, false, 0);
        for request in 0..requests {
            let mut stream = Stream::new(seed, name, request * STRIDE);
            if let Some(gap) = plan.gap {
                time += self.gaps.unwrap_or(Gaps::Exponential).draw(gap, self.sigma, &mut stream);
            }
            if time >= last && !is_after {
                (last, is_after) = (plan.span.last(&flows, setting), true);
            }
            if time >= last {
                break;
            }
            made += 1;
            let receiver = plan.to[stream.below(plan.to.len() as u64) as usize];
            let candidates = self.candidates(&plan, setting, receiver, &mut stream);
            let count = self.fan_in.map_or(candidates.len() as u64, u64::from);
            let mut jitter = Stream::new(seed, name, request * STRIDE + 1);
            let senders = stream.sample(candidates.len() as u64, count);
            // A flow's draws and its delay are by the order in which senders are drawn, its number by the scenario's.
            let mut drawn: Vec<(u64, u64)> = senders.into_iter().zip(0..).collect();
            let late: Vec<Time> = (0..count)
                .map(|i| self.stagger.times(i) + Time::from_ps(jitter.below(self.jitter.ps())))
                .collect();
            drawn.sort_unstable();
            for (sender, i) in drawn {
                let ends = [candidates[sender as usize], receiver];
                flows.push(Draft::new(request * STRIDE + i, ends, self.size, time + late[i as usize]));
            }
            if flows.len() as u64 > MAX_FLOWS {
                return Err(vec![fault("fan_in", format!("makes more than {MAX_FLOWS} flows"))]);
            }
        }
        if made == requests {
            let start = flows.iter().map(|flow| flow.start).max().unwrap_or(time);
            last = last.min(start + Time::from_ps(1));
        }
        plan.span.made(flows, last, plan.load)
    }

    fn candidates(&self, plan: &Plan, setting: &Setting<'_>, receiver: End, stream: &mut Stream) -> Vec<End> {
        match self.spread {
            Spread::Anywhere => elsewhere(&plan.from, receiver).collect(),
            Spread::OneOtherRack => {
                let own = receiver.switch(setting.world.fabric);
                let others = plan.racks.iter().filter(|(rack, _)| **rack != own);
                let racks: Vec<Vec<End>> = others
                    .map(|(_, ends)| elsewhere(ends, receiver).collect::<Vec<_>>())
                    .filter(|ends| ends.len() >= self.fan_in.unwrap_or(1) as usize)
                    .collect();
                racks.get(stream.below(racks.len() as u64) as usize).cloned().unwrap_or_default()
            }
        }
    }
}

/// The ends that are not at the receiver's host.
fn elsewhere(ends: &[End], receiver: End) -> impl Iterator<Item = End> {
    ends.iter().copied().filter(move |end| end.host != receiver.host)
}
