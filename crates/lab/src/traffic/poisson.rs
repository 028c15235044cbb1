//! Flows of random sizes between random hosts, at random times.

use incast_cc::Fixed;
use incast_units::{PS_PER_SECOND, Time};

use super::gaps::{Gaps, MAX_SIGMA};
use super::hosts::{End, Hosts, World};
use super::process::{Keys, Span};
use super::sizes::Sizes;
use super::stream::Stream;
use super::work::Made;
use super::{Draft, Faults, Offered, Reach, Setting, both, mean_gap, only_host};
use crate::grammar::section::{choice, section};
use crate::grammar::setting::Bound;
use crate::limits::MAX_FLOWS;
use crate::problem::fault;

/// The capacity to which a load is relative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadOf {
    /// The senders' links.
    Senders,
    /// The receivers' links.
    Receivers,
    /// The links from the senders' switches to other switches.
    Uplinks,
}

choice! {
    LoadOf {
        "senders" => Senders: "of the senders' links (OSCAR and HPCC artifacts)",
        "receivers" => Receivers: "of the receivers' links",
        "uplinks" => Uplinks: "of the links that leave the senders' switches for other switches (PowerTCP, section 4.1)",
    }
}

section! {
    /// Flows that arrive as a Poisson process, or with other random gaps, each from a random sender to a random
    /// other receiver.
    ///
    /// Flows count that start in the measured window: from the end of the `warmup` on, for `duration`. Others still arrive
    /// after it, so that the load is the same until those are done. The process ends after `flows` flows, if that is
    /// earlier, or with the run.
    pub(crate) struct Poisson {
        /// Payload per flow: a distribution, a file, or one size.
        sizes: Sizes,
        /// Offered payload as a share of capacity.
        load: Fixed; Bound::Between(Fixed::ZERO, Fixed::ONE),
        /// The capacity to which `load` is relative.
        load_of: LoadOf = LoadOf::Senders,
        /// Distribution of the times between flows.
        gaps: Gaps = Gaps::Exponential,
        /// Standard deviation of the natural logarithm of log-normal gaps; by default 2, as in the BFC artifact.
        sigma: Option<Fixed> = None; Bound::Ratio(Fixed::ZERO, MAX_SIGMA),
        /// Senders, hosts or network cards; each is drawn in proportion to its capacity.
        from: Hosts = Hosts::all(),
        /// Receivers, hosts or network cards; each at another host than the sender's is equally likely.
        to: Hosts = Hosts::all(),
        /// Start of the process.
        start: Time = Time::ZERO,
        /// Time from the start until flows count.
        warmup: Time = Time::ZERO,
        /// Duration of the measured window, after the warm-up.
        duration: Option<Time> = None; Bound::Positive,
        /// Whether flows still arrive after `duration`, without counting, until those that count are done.
        tail: bool = true,
        /// Number of flows, counted or not.
        flows: Option<u64> = None; Bound::Count(1, MAX_FLOWS),
    }
}

/// The pattern with its hosts resolved.
struct Plan {
    from: Vec<End>,
    to: Vec<End>,
    /// Places of each host among the receivers, ascending.
    places: Vec<Vec<u32>>,
    /// Weights of the senders, summed up.
    weights: Vec<u128>,
    /// Offered payload in bit/s.
    offered: f64,
    /// The capacity to which the load is relative, in bit/s.
    capacity: f64,
    /// Mean gap between two flows, in 2^-32 ps.
    gap: u128,
    span: Span,
}

impl Plan {
    /// A random receiver at another host than the sender's.
    fn receiver(&self, sender: End, stream: &mut Stream) -> End {
        let own = &self.places[sender.host as usize];
        let mut draw = stream.below((self.to.len() - own.len()) as u64);
        for place in own {
            draw += u64::from(draw >= u64::from(*place));
        }
        self.to[draw as usize]
    }
}

impl Poisson {
    fn plan(&self, setting: &Setting<'_>) -> Result<Plan, Faults> {
        let world = setting.world;
        let (mut from, to) = both(world, &self.from, &self.to)?;
        let mut faults = Vec::from_iter(self.gaps.fault(self.sigma));
        if let Some(only) = only_host(&to) {
            from.retain(|end| end.host != only);
            if from.is_empty() {
                return Err(vec![fault("to", format!("{} would send to itself", world.name(only.into())))]);
            }
        }
        let mut total = 0_u128;
        let weights: Vec<u128> = from
            .iter()
            .map(|&end| {
                total += self.weight(world, end);
                total
            })
            .collect();
        if total == 0 {
            let message =
                "no link leads from the senders' switches to other switches; take load_of = \"senders\"";
            faults.push(fault("load_of", message.to_owned()));
            return Err(faults);
        }
        let received = world.capacity(&to);
        let capacity = if self.load_of == LoadOf::Receivers { received } else { total };
        // Offered payload in 2^-32 bit/s.
        let offered = capacity * u128::from(self.load.bits().unsigned_abs());
        if offered >= received << 32 {
            let percent = offered * 100 / (received << 32);
            let message = format!(
                "offers {percent} % of the rate of the receivers' links; it must be below 100 % (load_of = \"receivers\" makes the load relative to them)"
            );
            faults.push(fault("load", message));
        }
        let bits = u128::from(self.sizes.mean()) * 8 * u128::from(PS_PER_SECOND);
        let gap = mean_gap(bits, offered);
        let Self { start, warmup, duration, tail, flows, .. } = *self;
        let keys = Keys { start, warmup, duration, tail, count: ("flows", flows), run_until: setting.until };
        let span = keys.span(&mut faults);
        let expected = (u128::from((span.until - start).ps()) << 32) / gap;
        if flows.is_none() && span.until != Time::NEVER && expected > u128::from(MAX_FLOWS) {
            let message = format!("makes about {expected} flows; at most {MAX_FLOWS} are possible");
            faults.push(fault("load", message));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut places = vec![Vec::new(); world.fabric.network.hosts as usize];
        for (place, end) in (0..).zip(&to) {
            places[end.host as usize].push(place);
        }
        let (offered, capacity) = (offered as f64 / 2_f64.powi(32), capacity as f64);
        Ok(Plan { from, to, places, weights, offered, capacity, gap, span })
    }

    fn weight(&self, world: &World<'_>, end: End) -> u128 {
        match self.load_of {
            LoadOf::Senders | LoadOf::Receivers => world.rate(end),
            LoadOf::Uplinks => world.uplink_share(end),
        }
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        self.plan(setting).map(|plan| Reach::Any(plan.from, plan.to))
    }

    pub(super) fn offered(&self, setting: &Setting<'_>) -> Option<Offered> {
        let plan = self.plan(setting).ok()?;
        let total = *plan.weights.last()? as f64;
        let mut before = 0;
        let share = |(&end, &sum): (&End, &u128)| {
            let weight = sum - core::mem::replace(&mut before, sum);
            (end, plan.offered * weight as f64 / total)
        };
        Some(Offered { from: plan.from.iter().zip(&plan.weights).map(share).collect(), to: plan.to })
    }

    pub(super) fn make(&self, setting: &Setting<'_>, seed: u64, name: &str) -> Result<Made, Faults> {
        let plan = self.plan(setting)?;
        let total = plan.weights.last().copied().unwrap_or(0);
        let most = self.flows.unwrap_or(MAX_FLOWS);
        let mut flows = Vec::new();
        let mut start = self.start;
        let (mut last, mut is_after) = (plan.span.until, false);
        for index in 0..most {
            let mut stream = Stream::new(seed, name, index);
            start += self.gaps.draw(plan.gap, self.sigma, &mut stream);
            if start >= last && !is_after {
                (last, is_after) = (plan.span.last(&flows, setting), true);
            }
            if start >= last {
                break;
            }
            // The upper 32 bits decide: weights are bit rates, whose product with a u64 could run over.
            let point = (total * u128::from(stream.next() >> 32)) >> 32;
            let source = plan.from[plan.weights.partition_point(|&sum| sum <= point)];
            let destination = plan.receiver(source, &mut stream);
            let size = self.sizes.draw(stream.next());
            flows.push(Draft::new(index, [source, destination], size, start));
        }
        if flows.len() as u64 == most {
            last = last.min(start + Time::from_ps(1));
        }
        let share = plan.offered / plan.capacity;
        plan.span.made(flows, last, Some((share, plan.capacity)))
    }
}
