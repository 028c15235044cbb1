//! File requests: a host asks another rack for a file, of which several hosts there send a part each.

use std::collections::BTreeMap;

use incast_sim::describe::network::NodeId;
use incast_units::{Bytes, Time};

use super::hosts::{End, Hosts};
use super::process::{Keys, Span};
use super::stream::Stream;
use super::work::Made;
use super::{Draft, Faults, MAX_GAP, Offered, Reach, Setting, both};
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::limits::MAX_FLOWS;
use crate::problem::fault;

section! {
    /// File requests: every host of `to` asks at random times for a file, of which hosts of a random other rack send
    /// equal parts at once.
    ///
    /// The times of each host are a Poisson process. Requests count that start in the measured window, from the end of the
    /// `warmup` on, for `duration`: each of them is a job. Others still arrive after it until those are done. The
    /// process ends after `requests`, if that is earlier, or with the run.
    pub(crate) struct FileRequests {
        /// Hosts, or network cards, that can send.
        from: Hosts = Hosts::all(),
        /// Hosts, or network cards, that ask.
        to: Hosts = Hosts::all(),
        /// Payload per request, not per sender: each of the responders sends an equal part.
        size: Bytes; Bound::Positive,
        /// Number of hosts that send a part of a file.
        responders: u32 = 5; Bound::Count(1, 65_535) => "PowerTCP artifact",
        /// Mean time between two requests of a host.
        interval: Time; Bound::Positive,
        /// Number of requests of each host.
        requests: Option<u64> = None; Bound::Count(1, 65_535),
        /// Start of the requests.
        start: Time = Time::ZERO,
        /// Time from the start of the requests until they count.
        warmup: Time = Time::ZERO,
        /// Duration of the measured window, after the warm-up.
        duration: Option<Time> = None; Bound::Positive,
        /// Whether requests still arrive after `duration`, without counting, until the flows that count are done.
        tail: bool = true,
    }
}

/// The pattern with its hosts resolved.
struct Plan {
    to: Vec<End>,
    /// The members of `from` by their switch.
    racks: BTreeMap<NodeId, Vec<End>>,
    /// Mean gap between two requests of a host in 2^-32 ps.
    gap: u128,
    span: Span,
}

/// A request: its time, the host or card that asks and those that send.
type Request = (Time, End, Vec<End>);

/// The requests of one host.
struct Asking {
    asks: End,
    /// The members of `from` that can send to it, by their switch.
    racks: Vec<Vec<End>>,
    stream: Stream,
    /// Time of the next request.
    next: Time,
    /// Number of requests before it.
    made: u64,
}

impl Asking {
    /// Draws the requests before `end`, at most `most` of all. Returns whether there is room for them in `requests`.
    fn until(
        &mut self,
        end: Time,
        most: u64,
        plan: &Plan,
        of: &FileRequests,
        requests: &mut Vec<Request>,
    ) -> bool {
        while self.next < end && self.made < most {
            let rack = &self.racks[self.stream.below(self.racks.len() as u64) as usize];
            let senders = self.stream.sample(rack.len() as u64, u64::from(of.responders));
            let senders = senders.into_iter().map(|nth| rack[nth as usize]).collect();
            requests.push((self.next, self.asks, senders));
            if requests.len() as u64 * u64::from(of.responders) > MAX_FLOWS {
                return false;
            }
            self.made += 1;
            self.next += self.stream.exponential(plan.gap);
        }
        true
    }
}

impl FileRequests {
    fn plan(&self, setting: &Setting<'_>) -> Result<Plan, Faults> {
        let world = setting.world;
        let (from, to) = both(world, &self.from, &self.to)?;
        let mut racks: BTreeMap<NodeId, Vec<End>> = BTreeMap::new();
        for end in from {
            racks.entry(end.switch(world.fabric)).or_default().push(end);
        }
        racks.retain(|_, ends| ends.len() >= self.responders as usize);
        let mut faults = Vec::new();
        if let Some(end) = to.iter().find(|end| self.racks(&racks, setting, **end).is_empty()) {
            let name = world.name(*end);
            let message =
                format!("no rack other than the one of {name} has {} of the hosts in from", self.responders);
            faults.push(fault("responders", message));
        }
        if self.size.get() < u64::from(self.responders) {
            let message = format!("{} cannot be divided into {} parts", self.size, self.responders);
            faults.push(fault("size", message));
        }
        let Self { start, warmup, duration, tail, requests, .. } = *self;
        let keys =
            Keys { start, warmup, duration, tail, count: ("requests", requests), run_until: setting.until };
        let span = keys.span(&mut faults);
        let gap = (u128::from(self.interval.ps()) << 32).min(MAX_GAP);
        if faults.is_empty() { Ok(Plan { to, racks, gap, span }) } else { Err(faults) }
    }

    /// The members of each rack that can answer this one: of another switch, and of other hosts.
    fn racks(&self, racks: &BTreeMap<NodeId, Vec<End>>, setting: &Setting<'_>, asks: End) -> Vec<Vec<End>> {
        let own = asks.switch(setting.world.fabric);
        let elsewhere =
            |ends: &Vec<End>| ends.iter().copied().filter(|end| end.host != asks.host).collect::<Vec<_>>();
        let others = racks.iter().filter(|(rack, _)| **rack != own).map(|(_, ends)| elsewhere(ends));
        others.filter(|ends| ends.len() >= self.responders as usize).collect()
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        let plan = self.plan(setting)?;
        Ok(Reach::Any(plan.racks.into_values().flatten().collect(), plan.to))
    }

    pub(super) fn offered(&self, setting: &Setting<'_>) -> Option<Offered> {
        let plan = self.plan(setting).ok()?;
        let from: Vec<End> = plan.racks.into_values().flatten().collect();
        let all = 8e12 * self.size.get() as f64 * plan.to.len() as f64 / self.interval.ps() as f64;
        let each = all / from.len() as f64;
        Some(Offered { from: from.into_iter().map(|end| (end, each)).collect(), to: plan.to })
    }

    pub(super) fn make(&self, setting: &Setting<'_>, seed: u64, name: &str) -> Result<Made, Faults> {
        let plan = self.plan(setting)?;
        let (mut requests, most) = (Vec::new(), self.requests.unwrap_or(MAX_FLOWS));
        let mut asking: Vec<Asking> = Vec::new();
        for (place, &asks) in (0_u64..).zip(&plan.to) {
            let racks = self.racks(&plan.racks, setting, asks);
            let mut stream = Stream::new(seed, name, place);
            let next = self.start + stream.exponential(plan.gap);
            asking.push(Asking { asks, racks, stream, next, made: 0 });
        }
        let mut draw = |end: Time, requests: &mut Vec<Request>| {
            let fits = asking.iter_mut().all(|one| one.until(end, most, &plan, self, requests));
            let message = || format!("makes more than {MAX_FLOWS} flows, as many as are possible");
            if fits { Ok(()) } else { Err(vec![fault("interval", message())]) }
        };
        draw(plan.span.until, &mut requests)?;
        let drafts: Vec<Draft> = requests.iter().flat_map(|request| self.parts(request)).collect();
        let last = plan.span.last(&drafts, setting);
        draw(last, &mut requests)?;
        requests.sort_by_key(|(time, asks, _)| (*time, *asks));
        let mut made = Made::default();
        for request in &requests {
            if !plan.span.counts(request.0) {
                made.flows.extend(self.parts(request));
                continue;
            }
            if made.jobs.len() == usize::from(u16::MAX) {
                let message =
                    format!("makes more than {} requests that count, as many as are possible", u16::MAX);
                return Err(vec![fault("interval", message)]);
            }
            let job = made.job(format!("request{}", made.jobs.len()));
            for draft in self.parts(request) {
                made.transfer(job, draft.ends(), draft.size, draft.start);
            }
        }
        (0..).zip(&mut made.flows).for_each(|(index, flow)| flow.index = index);
        let all = plan.span.made(std::mem::take(&mut made.flows), last, None)?;
        Ok(Made { flows: all.flows, counted: all.counted, ..made })
    }

    /// The flows of a request.
    fn parts(&self, (time, asks, senders): &Request) -> Vec<Draft> {
        let parts = u64::from(self.responders);
        let draft = |(part, sender): (u64, &End)| {
            let bytes = self.size.get() / parts + u64::from(part < self.size.get() % parts);
            Draft::new(0, [*sender, *asks], Bytes::new(bytes), *time)
        };
        (0..parts).zip(senders).map(draft).collect()
    }
}
