//! The numbers of a comparison table, computed exactly from the records of a run.
//!
//! **Percentiles** are nearest ranks: of n sorted values the p-th percentile is the smallest with at
//! least p % of the values at or below it, the ⌈n·p/100⌉-th, counted from one (type 1 of Hyndman and
//! Fan, *Sample Quantiles in Statistical Packages*, 1996: the inverse of the empirical distribution). It
//! is always a value that occurred. **Slowdown** is a flow's completion time divided by its completion time
//! alone on the idle path, which the simulator computes to the picosecond; it is not clamped.
//!
//! Of a **sampled port** every sample counts the same, as samples are equally spaced; a row counts once for
//! each sample that it covers. The *steady* queue of an interval is the mean over its last quarter.

pub(crate) mod samples;

use std::collections::BTreeMap;

use incast_units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

use crate::load::Load;

/// A class of flows by size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClass {
    /// Its name in tables.
    pub name: String,
    /// Flows larger than this in bytes, if set.
    pub above_bytes: Option<u64>,
    /// Flows no larger than this in bytes, if set.
    pub up_to_bytes: Option<u64>,
}

impl SizeClass {
    /// The class of flows larger than `above` and no larger than `up_to`.
    #[must_use]
    pub fn new(name: impl Into<String>, above: Option<Bytes>, up_to: Option<Bytes>) -> Self {
        Self { name: name.into(), above_bytes: above.map(Bytes::get), up_to_bytes: up_to.map(Bytes::get) }
    }

    /// Small (up to 150 KB, the bandwidth-delay product of 100 Gbps and 12 µs), large (the rest), all.
    #[must_use]
    pub fn defaults() -> Vec<Self> {
        let limit = Some(Bytes::new(150_000));
        vec![Self::new("small", None, limit), Self::new("large", limit, None), Self::new("all", None, None)]
    }

    /// Whether a flow of this size is in the class.
    #[must_use]
    pub fn contains(&self, size: Bytes) -> bool {
        self.above_bytes.is_none_or(|above| size.get() > above)
            && self.up_to_bytes.is_none_or(|up_to| size.get() <= up_to)
    }
}

/// The fields of a flow that a summary needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowFacts<'a> {
    /// Name of its traffic block.
    pub group: &'a str,
    /// Payload to transfer; `None` for a flow that ends when it is stopped.
    pub size: Option<Bytes>,
    /// Its slowdown, if its whole size was transferred.
    pub slowdown: Option<f64>,
    /// Number of flows that it counts for: itself, and its copies that were not written.
    pub count: u64,
}

/// Mean, percentiles and maximum of some values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Largest value.
    pub max: f64,
}

impl Distribution {
    /// Of these values, in any order; `None` when there are none.
    #[must_use]
    pub fn of(values: Vec<f64>) -> Option<Self> {
        Self::of_counted(values.into_iter().map(|value| (value, 1)).collect())
    }

    /// Of these values, each as often as is said with it: the same, to the last bit, as if it were there so often.
    pub(crate) fn of_counted(mut values: Vec<(f64, u64)>) -> Option<Self> {
        values.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let total: u64 = values.iter().map(|(_, count)| count).sum();
        let at = |percent| {
            let mut left = rank(total, percent)?;
            let reached = |(_, count): &&(f64, u64)| match left.checked_sub(*count) {
                Some(rest) => {
                    left = rest;
                    false
                }
                None => true,
            };
            values.iter().find(reached).map(|(value, _)| *value)
        };
        let repeated = |(value, count): &(f64, u64)| {
            (0..*count).map({
                let value = *value;
                move |_| value
            })
        };
        Some(Self {
            mean: mean(values.iter().flat_map(repeated))?,
            p50: at(50.0)?,
            p95: at(95.0)?,
            p99: at(99.0)?,
            p999: at(99.9)?,
            max: values.last()?.0,
        })
    }
}

/// The slowdowns of one class of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slowdowns {
    /// Name of the class.
    pub class: String,
    /// Name of the traffic block; `None` for all blocks together.
    pub group: Option<String>,
    /// Flows of the class whose whole size was transferred.
    pub flows: u64,
    /// Flows of the class whose whole size was not transferred. They are not included in the slowdown,
    /// which is too good if there are many.
    pub unfinished: u64,
    /// Their slowdown; `None` when no flow finished.
    pub slowdown: Option<Distribution>,
}

/// Returns what a table has rows of: all groups together and, where there are several, each group in the order of its
/// first flow.
fn selections<'a>(of_flows: impl Iterator<Item = &'a str>) -> Vec<Option<&'a str>> {
    let mut groups: Vec<&str> = Vec::new();
    for group in of_flows {
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    let several = groups.len() > 1;
    core::iter::once(None).chain(groups.into_iter().filter(|_| several).map(Some)).collect()
}

/// The slowdowns of each class, over all groups and, where there are several, for each group in the
/// order of its first flow. Flows without a size are in no class.
#[must_use]
pub fn slowdowns(flows: &[FlowFacts<'_>], classes: &[SizeClass]) -> Vec<Slowdowns> {
    let selections = selections(flows.iter().map(|flow| flow.group));
    let one = |group: Option<&str>, class: &SizeClass| {
        let of_group = |f: &&FlowFacts<'_>| group.is_none_or(|g| g == f.group);
        let of_class = |f: &&FlowFacts<'_>| f.size.is_some_and(|size| class.contains(size));
        let members: Vec<_> = flows.iter().filter(of_group).filter(of_class).collect();
        let finished: Vec<_> = members.iter().filter_map(|f| Some((f.slowdown?, f.count))).collect();
        Slowdowns {
            class: class.name.clone(),
            group: group.map(str::to_owned),
            flows: finished.iter().map(|(_, count)| count).sum(),
            unfinished: members.iter().filter(|f| f.slowdown.is_none()).map(|f| f.count).sum(),
            slowdown: Distribution::of_counted(finished),
        }
    };
    selections.into_iter().flat_map(|group| classes.iter().map(move |class| one(group, class))).collect()
}

/// The fields of a flow's divided time that a summary needs.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitFacts<'a> {
    /// Name of its traffic block.
    pub group: &'a str,
    /// Payload to transfer; `None` for a flow that ends when it is stopped.
    pub size: Option<Bytes>,
    /// Its time in picoseconds.
    pub time_ps: u64,
    /// Its time by limit, in the order of the table.
    pub limits_ps: Vec<u64>,
    /// Number of flows that it counts for: itself, and its copies that were not written.
    pub count: u64,
}

/// The divided times of one class of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Divided {
    /// Name of the class.
    pub class: String,
    /// Name of the traffic block; `None` for all blocks together.
    pub group: Option<String>,
    /// Flows of the class that have started.
    pub flows: u64,
    /// The sum of their times in picoseconds.
    pub time_ps: u64,
    /// That by what kept their next packets back.
    pub limits_ps: BTreeMap<String, u64>,
}

/// The divided times of each class and group, as [`slowdowns`] has them. `names` are the names of the limits, in the
/// order of the table.
#[must_use]
pub fn divided(flows: &[LimitFacts<'_>], classes: &[SizeClass], names: &[&str]) -> Vec<Divided> {
    let selections = selections(flows.iter().map(|flow| flow.group));
    let one = |group: Option<&str>, class: &SizeClass| {
        let is_member = |flow: &&LimitFacts<'_>| {
            group.is_none_or(|group| group == flow.group)
                && flow.size.is_some_and(|size| class.contains(size))
        };
        let members: Vec<_> = flows.iter().filter(is_member).collect();
        let sum = |place: usize| members.iter().map(|flow| flow.count * flow.limits_ps[place]).sum();
        Divided {
            class: class.name.clone(),
            group: group.map(str::to_owned),
            flows: members.iter().map(|flow| flow.count).sum(),
            time_ps: members.iter().map(|flow| flow.count * flow.time_ps).sum(),
            limits_ps: names
                .iter()
                .enumerate()
                .map(|(place, name)| ((*name).to_owned(), sum(place)))
                .collect(),
        }
    };
    selections.into_iter().flat_map(|group| classes.iter().map(move |class| one(group, class))).collect()
}

/// The `percent`-th percentile of `sorted` values, as the [module](self) defines it; `None` when there
/// are none. `percent` is taken to be between 0 and 100.
#[must_use]
pub fn percentile(sorted: &[f64], percent: f64) -> Option<f64> {
    sorted.get(usize::try_from(rank(sorted.len() as u64, percent)?).ok()?).copied()
}

/// The place of the `percent`-th percentile among `count` sorted values, from zero; `None` when there are none.
fn rank(count: u64, percent: f64) -> Option<u64> {
    let last = count.checked_sub(1)?;
    // In thousandths of a percent, so that 99.9 % of 1000 values is 999 exactly and not a little more.
    let share = (percent.clamp(0.0, 100.0) * 1000.0).round() as u128;
    let rank = (u128::from(count) * share).div_ceil(100_000) as u64;
    Some(rank.saturating_sub(1).min(last))
}

/// Returns Jain's fairness index of the shares that each of several flows got: 1 when all are equal, 1/n when
/// only one is not zero (Jain, Chiu and Hawe, DEC-TR-301, 1984). `None` without shares or when all are zero.
#[must_use]
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// An interval of simulated time, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// First instant.
    pub from: Time,
    /// Last instant.
    pub until: Time,
}

impl Interval {
    /// From `from` to `until`.
    #[must_use]
    pub fn new(from: Time, until: Time) -> Self {
        Self { from, until }
    }

    /// Returns the time at which its last quarter begins.
    #[must_use]
    pub fn last_quarter(self) -> Time {
        self.from + (self.until - self.from).times_ratio(3, 4)
    }
}

/// The fields of a row with samples of a port that a summary needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortPoint {
    /// Time of the sample.
    pub time: Time,
    /// Bytes in its queues.
    pub queue: Bytes,
    /// Bytes transmitted since the start of the run.
    pub transmitted: Bytes,
    /// Number of samples that the row covers: this one and the equal ones directly before it without a row.
    pub samples: u64,
}

/// The samples within an interval, of rows sorted by time: rows again, of which the first is the first
/// sample and the last is the last one.
fn within(rows: &[PortPoint], interval: Interval) -> Vec<PortPoint> {
    let first = rows.partition_point(|row| row.time < interval.from);
    let mut found = Vec::new();
    for (place, row) in rows.iter().enumerate().skip(first) {
        let before = place.checked_sub(1).map(|before| rows[before].time);
        if let Some(part) = samples::within(before, row.time, row.samples, interval) {
            let mut left = part.samples;
            if found.is_empty() && left > 1 {
                found.push(PortPoint { time: part.first, samples: 1, ..*row });
                left -= 1;
            }
            found.push(PortPoint { time: part.last, samples: left, ..*row });
        }
        if row.time >= interval.until {
            break;
        }
    }
    found
}

/// Returns the number of samples in an interval.
#[must_use]
pub fn count(samples: &[PortPoint], interval: Interval) -> u64 {
    within(samples, interval).iter().map(|row| row.samples).sum()
}

/// A queue over an interval of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// Mean of the samples.
    pub mean_bytes: f64,
    /// Smallest sample.
    pub min_bytes: u64,
    /// Largest sample.
    pub max_bytes: u64,
}

/// The samples of a queue, added one after the other.
#[derive(Clone, Copy, Debug, Default)]
struct QueueSums {
    sum: f64,
    count: u64,
    min: u64,
    max: u64,
}

impl QueueSums {
    fn add(&mut self, queue: Bytes, samples: u64) {
        let queue = queue.get();
        self.min = if self.count == 0 { queue } else { self.min.min(queue) };
        self.max = self.max.max(queue);
        self.sum += queue as f64 * samples as f64;
        self.count += samples;
    }

    /// `None` without samples.
    fn queue(&self) -> Option<Queue> {
        let mean_bytes = (self.count > 0).then(|| self.sum / self.count as f64)?;
        Some(Queue { mean_bytes, min_bytes: self.min, max_bytes: self.max })
    }
}

/// The queue over the whole interval: mean, smallest and largest sample. The maximum between two samples is
/// not included; the table `ports` has the exact peak of the whole run. `None` without samples.
#[must_use]
pub fn queue(samples: &[PortPoint], interval: Interval) -> Option<Queue> {
    let mut sums = QueueSums::default();
    within(samples, interval).iter().for_each(|s| sums.add(s.queue, s.samples));
    sums.queue()
}

/// The steady queue of an interval: the queue over its last quarter. `None` without samples there.
#[must_use]
pub fn steady_queue(samples: &[PortPoint], interval: Interval) -> Option<Queue> {
    queue(samples, Interval::new(interval.last_quarter(), interval.until))
}

/// Distance from its steady value at which a queue counts as settled: `share` of that value or `bytes`,
/// whichever is more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Share of the steady value, like 0.1.
    pub share: f64,
    /// Distance that is always allowed; a few packets, as a queue moves by whole packets.
    pub bytes: Bytes,
}

/// 10 % or 10 KB.
impl Default for Tolerance {
    fn default() -> Self {
        Self { share: 0.1, bytes: Bytes::new(10_000) }
    }
}

/// Returns the time from the interval's begin until the queue settles: to the first sample from which on
/// every sample of the interval is within `tolerance` of the steady value. `None` when there is no such
/// sample before the last quarter, which defines the steady value and so cannot also show that the queue has
/// reached it.
#[must_use]
pub fn settling_time(samples: &[PortPoint], interval: Interval, tolerance: Tolerance) -> Option<Time> {
    let steady = steady_queue(samples, interval)?.mean_bytes;
    let allowed = (tolerance.share * steady).max(tolerance.bytes.get() as f64);
    let samples = within(samples, interval);
    let outside = |s: &PortPoint| (s.queue.get() as f64 - steady).abs() > allowed;
    let settled = samples.iter().rposition(outside).map_or(0, |last_outside| last_outside + 1);
    let first = samples.get(settled)?.time;
    (first < interval.last_quarter()).then(|| first - interval.from)
}

/// Bytes that a port sent in an interval, compared with the capacity of its link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Utilisation {
    /// Bytes that the link could have carried.
    pub capacity_bytes: u64,
    /// Bytes that it did not carry.
    pub lost_bytes: u64,
    /// Their share of the capacity.
    pub lost_share: f64,
}

/// The lost utilisation of a port of this rate, from the first to the last sample within the interval.
/// A packet counts fully when its transmission begins, so each end is exact to one packet; a loss below
/// zero, which that can give, is zero. `None` with fewer than two samples.
#[must_use]
pub fn lost_utilisation(samples: &[PortPoint], rate: Rate, interval: Interval) -> Option<Utilisation> {
    let samples = within(samples, interval);
    let [first, .., last] = samples.as_slice() else { return None };
    lost_between(first, last, rate)
}

fn lost_between(first: &PortPoint, last: &PortPoint, rate: Rate) -> Option<Utilisation> {
    let capacity = rate.bytes_in(last.time - first.time);
    let lost = capacity - (last.transmitted - first.transmitted);
    let lost_share = lost.get() as f64 / capacity.get() as f64;
    (capacity > Bytes::ZERO).then_some(Utilisation {
        capacity_bytes: capacity.get(),
        lost_bytes: lost.get(),
        lost_share,
    })
}

/// The share of samples within the interval at which the queue is not empty. `None` without samples.
#[must_use]
pub fn busy_share(samples: &[PortPoint], interval: Interval) -> Option<f64> {
    let mut sums = PortSums::default();
    within(samples, interval).iter().for_each(|s| sums.add(s));
    sums.busy_share()
}

/// Statistics of a sampled port, from its first to its last sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortSummary {
    /// Name of its node.
    pub node: String,
    /// Its number at its node.
    pub port: u16,
    /// The queue over all samples.
    pub queue: Queue,
    /// The queue over the last quarter.
    pub steady_queue: Queue,
    /// Share of samples with a queue that is not empty.
    pub busy_share: f64,
    /// Bytes that the link carried and did not carry; `None` with a single sample.
    pub utilisation: Option<Utilisation>,
}

/// The summary of a run in every result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Slowdowns by class of size and by group.
    pub slowdowns: Vec<Slowdowns>,
    /// The sampled ports.
    pub ports: Vec<PortSummary>,
    /// The divided times of flows, by class of size and by group; none of a testbed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub limits: Vec<Divided>,
    /// The jobs of each traffic block that has any.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub jobs: Vec<JobSummary>,
    /// The measured load of each traffic block that has one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub loads: Vec<Load>,
}

/// The fields of a job that a summary needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobFacts<'a> {
    /// Its name: the name of its traffic block, or that and a part after a slash.
    pub name: &'a str,
    /// Its completion time in picoseconds, if it was completed.
    pub jct_ps: Option<u64>,
    /// That divided by its lower bound, if it has one.
    pub bound_ratio: Option<f64>,
    /// Its algorithm bandwidth and its bus bandwidth in bit/s, if it is a collective that was completed.
    pub bandwidths: [Option<u64>; 2],
    /// The host of its straggler, the operation that ended last.
    pub straggler_host: Option<&'a str>,
}

/// The jobs of one traffic block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSummary {
    /// Name of the traffic block.
    pub group: String,
    /// Jobs that were completed.
    pub jobs: u64,
    /// Jobs that were not.
    pub unfinished: u64,
    /// Their completion times in picoseconds; `None` when none was completed.
    pub jct_ps: Option<Distribution>,
    /// Completion times divided by their lower bounds with empty queues; `None` when no job has one.
    pub bound_ratio: Option<Distribution>,
    /// Algorithm bandwidths in bit/s; `None` when no completed job is a collective.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub algbw_bps: Option<Distribution>,
    /// Bus bandwidths in bit/s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busbw_bps: Option<Distribution>,
    /// The job that took longest.
    pub slowest: Option<String>,
    /// The host of its straggler, the operation that ended last.
    pub straggler_host: Option<String>,
}

/// The jobs of each traffic block, in the order of its first job.
#[must_use]
pub fn jobs(facts: &[JobFacts<'_>]) -> Vec<JobSummary> {
    let group = |fact: &JobFacts<'_>| fact.name.split('/').next().unwrap_or_default().to_owned();
    let mut groups: Vec<String> = Vec::new();
    for fact in facts {
        let group = group(fact);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    let of_group = |name: String| {
        let members: Vec<_> = facts.iter().filter(|fact| group(fact) == name).collect();
        let times: Vec<f64> = members.iter().filter_map(|fact| Some(fact.jct_ps? as f64)).collect();
        let bandwidths = |which: usize| {
            let of = members.iter().filter_map(|fact| Some(fact.bandwidths[which]? as f64));
            Distribution::of(of.collect())
        };
        let slowest =
            members.iter().rev().max_by_key(|fact| fact.jct_ps).filter(|fact| fact.jct_ps.is_some());
        JobSummary {
            group: name,
            jobs: times.len() as u64,
            unfinished: (members.len() - times.len()) as u64,
            jct_ps: Distribution::of(times),
            bound_ratio: Distribution::of(members.iter().filter_map(|fact| fact.bound_ratio).collect()),
            algbw_bps: bandwidths(0),
            busbw_bps: bandwidths(1),
            slowest: slowest.map(|fact| fact.name.to_owned()),
            straggler_host: slowest.and_then(|fact| fact.straggler_host).map(str::to_owned),
        }
    };
    groups.into_iter().map(of_group).collect()
}

/// Sums for the summary of a port over its rows, which pass by one after the other, sorted by time. They pass
/// twice: only the last row tells when the last quarter begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PortSums {
    ends: Option<[PortPoint; 2]>,
    queue: QueueSums,
    busy: u64,
    steady: QueueSums,
    /// The row that passed last for the second time.
    before: Option<Time>,
}

impl PortSums {
    /// A row passes.
    pub(crate) fn add(&mut self, point: &PortPoint) {
        self.ends.get_or_insert([*point; 2])[1] = *point;
        self.queue.add(point.queue, point.samples);
        self.busy += if point.queue > Bytes::ZERO { point.samples } else { 0 };
    }

    /// A row passes for the second time.
    pub(crate) fn add_again(&mut self, point: &PortPoint) {
        let Some([first, last]) = self.ends else { return };
        let begin = Interval::new(first.time, last.time).last_quarter();
        let last_quarter = Interval::new(begin, last.time);
        let before = self.before.replace(point.time);
        if let Some(part) = samples::within(before, point.time, point.samples, last_quarter) {
            self.steady.add(point.queue, part.samples);
        }
    }

    fn busy_share(&self) -> Option<f64> {
        (self.queue.count > 0).then(|| self.busy as f64 / self.queue.count as f64)
    }
}

impl PortSummary {
    /// Of a port with these samples; `None` without samples.
    pub(crate) fn of(node: &str, port: u16, rate: Option<Rate>, sums: &PortSums) -> Option<Self> {
        let [first, last] = sums.ends?;
        let lost = |rate| lost_between(&first, &last, rate);
        Some(Self {
            node: node.to_owned(),
            port,
            queue: sums.queue.queue()?,
            steady_queue: sums.steady.queue()?,
            busy_share: sums.busy_share()?,
            utilisation: rate.filter(|_| sums.queue.count > 1).and_then(lost),
        })
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u64), |(sum, count), v| (sum + v, count + 1));
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests;
