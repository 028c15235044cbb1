//! The samples that a node takes, and which of them become records.
//!
//! A node changes at its events only, so all samples between two of them are equal. A sample is recorded if
//! it differs from the one before it or from the one after it: a stretch of equal samples has two records,
//! its first and its last, however long it is. The first sample of a series and the last one, at the end of
//! the run, of the probe or of the flow, are always recorded. Each record carries the number of samples that
//! it covers: itself and the equal ones before it that have no record.

use std::collections::{BTreeMap, VecDeque};

use incast_net::describe::network::{NodeId, PortId};
use incast_net::describe::probe::Probes;
use incast_net::record::sample::Sample;
use incast_net::record::tally::Tally;
use incast_net::record::{FlowSample, InternalSample, Limit, LimitSample, LoadSample, PortSample, Records};
use incast_units::{Bytes, Time};

use crate::facts::Facts;
use crate::node::Inspect;

/// The samples of one port, flow or internal quantity.
#[derive(Debug)]
struct Series<S> {
    /// The last record.
    record: Option<S>,
    /// Time of the last sample equal to it. (ps)
    seen: u64,
}

impl<S> Default for Series<S> {
    fn default() -> Self {
        Self { record: None, seen: 0 }
    }
}

impl<S: Sample> Series<S> {
    /// Equal samples were taken from the time of `sample` to `last`.
    fn add(&mut self, sample: S, last: u64, interval: u64, records: &mut Vec<S>) {
        if self.record.is_none_or(|record| record.at(sample.time(), 1) != sample) {
            self.end(interval, records);
            records.push(sample);
            self.record = Some(sample);
        }
        self.seen = last;
    }

    /// No sample follows: records the last one, if it is not.
    fn end(&mut self, interval: u64, records: &mut Vec<S>) {
        if let Some(record) = self.record.take() {
            let without_record = (self.seen - record.time().ps()) / interval;
            if without_record > 0 {
                records.push(record.at(Time::from_ps(self.seen), without_record));
            }
        }
    }
}

/// Times at which samples are taken.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// The next sample. (ps)
    next: u64,
    /// (ps)
    interval: u64,
    /// None is taken after this. (ps)
    until: u64,
}

impl Clock {
    const NEVER: Self = Self { next: u64::MAX, interval: 1, until: 0 };

    fn new(probes: &Probes, interval: Time) -> Self {
        Self { next: probes.from.ps(), interval: interval.ps(), until: probes.until.ps() }
    }

    /// The first and the last sample due before an instant, if there is any. The next one is after them.
    fn take(&mut self, before: u64) -> Option<[u64; 2]> {
        let first = self.next;
        let rest = before.checked_sub(1)?.min(self.until).checked_sub(first)?;
        let last = first + rest / self.interval * self.interval;
        self.next = last.saturating_add(self.interval);
        Some([first, last])
    }

    fn is_over(&self) -> bool {
        self.next > self.until
    }
}

/// The series of one kind at a node.
#[derive(Debug)]
struct AllSeries<S: Sample> {
    series: BTreeMap<S::Name, Series<S>>,
    /// The samples just taken.
    fresh: Vec<S>,
}

impl<S: Sample> AllSeries<S> {
    const fn new() -> Self {
        Self { series: BTreeMap::new(), fresh: Vec::new() }
    }

    /// Adds the samples just taken, which are equal up to `last`. A series that has none of them has ended.
    fn add(&mut self, last: u64, interval: u64, records: &mut Vec<S>) {
        for sample in self.fresh.drain(..) {
            self.series.entry(sample.name()).or_default().add(sample, last, interval, records);
        }
        self.series.retain(|_, series| {
            let goes_on = series.seen == last;
            if !goes_on {
                series.end(interval, records);
            }
            goes_on
        });
    }

    /// No sample follows.
    fn end(&mut self, interval: u64, records: &mut Vec<S>) {
        self.series.values_mut().for_each(|series| series.end(interval, records));
    }
}

/// The samples of a node.
#[derive(Debug)]
pub(super) struct Sampler {
    /// The earliest sample due. (ps)
    next: u64,
    port_clock: Clock,
    ports: Vec<PortId>,
    port_series: AllSeries<PortSample>,
    flow_clock: Clock,
    flow_series: AllSeries<FlowSample>,
    /// Of internal quantities of congestion controls, taken with the samples of flows.
    internals: AllSeries<InternalSample>,
    /// Counts of open flows by limit.
    limit_clock: Clock,
    /// Instants at which loads are summed up, each with its groups.
    loads: VecDeque<(u64, Vec<u16>)>,
}

impl Sampler {
    pub(super) const fn none() -> Self {
        Self {
            next: u64::MAX,
            port_clock: Clock::NEVER,
            ports: Vec::new(),
            port_series: AllSeries::new(),
            flow_clock: Clock::NEVER,
            flow_series: AllSeries::new(),
            internals: AllSeries::new(),
            limit_clock: Clock::NEVER,
            loads: VecDeque::new(),
        }
    }

    pub(super) fn new(probes: &Probes, id: NodeId, node: &dyn Inspect) -> Self {
        let mut ports: Vec<PortId> =
            probes.ports.iter().filter(|(at, _)| *at == id).map(|(_, port)| *port).collect();
        ports.sort_unstable();
        ports.dedup();
        let clock = |any, interval: Option<Time>| {
            interval.filter(|_| any).map_or(Clock::NEVER, |interval| Clock::new(probes, interval))
        };
        let mut sampler = Self {
            port_clock: clock(!ports.is_empty(), Some(probes.port_interval)),
            ports,
            flow_clock: clock(node.has_samples(), Some(probes.flow_interval)),
            limit_clock: clock(node.has_flows(), probes.limits),
            loads: loads(probes, node),
            ..Self::none()
        };
        sampler.set_next();
        sampler
    }

    /// Returns the time of the next sample. (ps)
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    fn set_next(&mut self) {
        let clocks = [self.port_clock, self.flow_clock, self.limit_clock].into_iter();
        let clocks = clocks.filter(|c| !c.is_over()).map(|c| c.next);
        self.next = clocks.chain(self.loads.front().map(|(time, _)| *time)).min().unwrap_or(u64::MAX);
    }

    /// Takes all samples due before `before`.
    pub(super) fn run(
        &mut self,
        id: NodeId,
        node: &dyn Inspect,
        before: u64,
        facts: &Facts,
        tally: &mut Tally,
    ) {
        let records = &mut tally.records;
        if let Some([first, last]) = self.port_clock.take(before) {
            let sample = |port| Some(node.egress(port)?.sample(first, id, port, node.queued(port)));
            self.port_series.fresh.extend(self.ports.iter().filter_map(|port| sample(*port)));
            self.port_series.add(last, self.port_clock.interval, &mut records.port_samples);
            if self.port_clock.is_over() {
                self.end_ports(records);
            }
        }
        if let Some([first, last]) = self.flow_clock.take(before) {
            let (time, interval) = (Time::from_ps(first), self.flow_clock.interval);
            let (samples, internals) = (&mut self.flow_series.fresh, &mut self.internals.fresh);
            node.each_flow(facts.flows(), &mut |view| {
                let flow = view.flow();
                if !node.is_sampled(flow) {
                    return;
                }
                samples.push(view.sample(time));
                if facts.probes.internals {
                    let of_flow = view.internals().into_iter();
                    internals.extend(of_flow.map(|(internal, value)| InternalSample {
                        time,
                        flow,
                        internal,
                        value,
                        samples: 1,
                    }));
                }
            });
            self.flow_series.add(last, interval, &mut records.flow_samples);
            if facts.probes.internals {
                self.internals.add(last, interval, &mut records.internals);
            }
            if self.flow_clock.is_over() {
                self.end_flows(records);
            }
        }
        if let Some([first, last]) = self.limit_clock.take(before) {
            let interval = self.limit_clock.interval;
            for count in 0..=(last - first) / interval {
                // Flows start and end only at events.
                if !count_limits(id, node, first + count * interval, facts, &mut records.limit_samples) {
                    break;
                }
            }
        }
        while let Some((time, groups)) = self.loads.front().filter(|(time, _)| *time < before) {
            sum_up(id, node, Time::from_ps(*time), groups, facts, &mut records.loads);
            self.loads.pop_front();
        }
        self.set_next();
    }

    /// No sample follows: records the last ones.
    pub(super) fn end(&mut self, tally: &mut Tally) {
        self.end_ports(&mut tally.records);
        self.end_flows(&mut tally.records);
    }

    fn end_ports(&mut self, records: &mut Records) {
        self.port_series.end(self.port_clock.interval, &mut records.port_samples);
    }

    fn end_flows(&mut self, records: &mut Records) {
        let interval = self.flow_clock.interval;
        self.flow_series.end(interval, &mut records.flow_samples);
        self.internals.end(interval, &mut records.internals);
    }
}

/// The instants at which loads are summed up at a node, in order, each with its groups.
fn loads(probes: &Probes, node: &dyn Inspect) -> VecDeque<(u64, Vec<u16>)> {
    let mut groups: BTreeMap<u64, Vec<u16>> = BTreeMap::new();
    for load in probes.loads.iter().filter(|_| node.has_flows()) {
        for time in &load.times {
            groups.entry(time.ps()).or_default().push(load.group);
        }
    }
    groups.into_iter().collect()
}

/// Sums up what is acknowledged of the open flows of some groups at a host.
fn sum_up(
    node: NodeId,
    host: &dyn Inspect,
    time: Time,
    groups: &[u16],
    facts: &Facts,
    records: &mut Vec<LoadSample>,
) {
    let mut sums = vec![Bytes::ZERO; groups.len()];
    host.each_flow(facts.flows(), &mut |view| {
        let of = facts.flows().flows[view.flow() as usize].group;
        if let Some(place) = groups.iter().position(|group| *group == of) {
            sums[place] += view.sample(time).acked;
        }
    });
    let sums = groups.iter().zip(sums).filter(|(_, acked)| *acked > Bytes::ZERO);
    records.extend(sums.map(|(&group, acked)| LoadSample { time, node, group, acked }));
}

/// Counts the open flows of a host by group and limit. Returns whether there are any.
fn count_limits(
    node: NodeId,
    host: &dyn Inspect,
    now: u64,
    facts: &Facts,
    records: &mut Vec<LimitSample>,
) -> bool {
    let mut counts: BTreeMap<(u16, u8), u32> = BTreeMap::new();
    host.each_flow(facts.flows(), &mut |view| {
        let group = facts.flows().flows[view.flow() as usize].group;
        *counts.entry((group, view.limit(now) as u8)).or_default() += 1;
    });
    let time = Time::from_ps(now);
    records.extend(counts.iter().map(|(&(group, limit), &flows)| {
        let limit = Limit::ALL[usize::from(limit)];
        LimitSample { time, node, group, limit, flows }
    }));
    !counts.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_units::Bytes;

    fn sample(time: u64, acked: u64, samples: u64) -> FlowSample {
        FlowSample { samples, ..FlowSample::of_progress(Time::from_ps(time), 0, Bytes::new(acked)) }
    }

    #[test]
    fn of_equal_samples_the_first_and_the_last_are_recorded() {
        // Every 10 ps from 5 on: the value is 1 up to 25, 2 at 35 alone, 3 from 45 to 55, then 2 up to 95.
        let (mut series, mut records) = (Series::default(), Vec::new());
        for (from, to, value) in [(5, 15, 1), (25, 25, 1), (35, 35, 2), (45, 55, 3), (65, 65, 2), (75, 95, 2)]
        {
            series.add(sample(from, value, 1), to, 10, &mut records);
        }
        series.end(10, &mut records);
        series.end(10, &mut records);
        let expected = [(5, 1, 1), (25, 1, 2), (35, 2, 1), (45, 3, 1), (55, 3, 1), (65, 2, 1), (95, 2, 3)];
        assert_eq!(records, expected.map(|(time, value, samples)| sample(time, value, samples)));
    }

    #[test]
    fn a_clock_ends_with_the_last_sample_that_is_not_after_its_end() {
        let mut clock = Clock { next: 5, interval: 10, until: 45 };
        assert_eq!(clock.take(5), None);
        assert_eq!(clock.take(26), Some([5, 25]));
        assert_eq!(clock.take(35), None);
        assert!(!clock.is_over());
        assert_eq!(clock.take(100), Some([35, 45]));
        assert!(clock.is_over());
        assert_eq!(clock.take(200), None);
    }
}
