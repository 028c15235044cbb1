//! Converts a result's tables to the arguments of the functions of [`summary`](crate::summary).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt16Type, UInt32Type};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch};
use incast_sim::record::{Limit, Repetition};
use incast_units::{Bytes, Rate, Time};

use super::{EachBatch, ResultError, Table};
use crate::summary::{
    FlowFacts, Interval, JobFacts, LimitFacts, PortPoint, PortSummary, PortSums, SizeClass, Summary, divided,
    jobs, samples, slowdowns,
};

/// A port of a result: name of its node, and its number there.
pub type PortKey = (String, u16);

/// The repetitions of a run, some of which may have copies without rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeated<'a>(pub(crate) &'a [Repetition]);

impl Repeated<'_> {
    /// The repetitions whose copies have no rows, each with its number.
    pub(crate) fn unwritten(&self) -> impl Iterator<Item = (usize, &Repetition)> {
        self.0.iter().enumerate().filter(|(_, of)| !of.are_written)
    }

    /// Returns the repetition of whose copies a flow that ended then is the first.
    pub(crate) fn of(&self, finish_ps: i64) -> Option<(usize, &Repetition)> {
        let finish = Time::from_ps(unsigned(finish_ps));
        self.unwritten().find(|(_, of)| (of.from..of.from + of.period).contains(&finish))
    }

    /// Returns the number of flows that the row of a flow counts for which ended then.
    fn count(&self, finish_ps: Option<i64>) -> u64 {
        finish_ps.and_then(|time| self.of(time)).map_or(1, |(_, of)| u64::from(of.copies) + 1)
    }
}

/// The flows of the table `flows` that count.
///
/// # Errors
/// With the name of a column that is missing or of another type.
fn flows<'a>(table: &'a Table, repeated: &Repeated<'_>) -> Result<Vec<FlowFacts<'a>>, String> {
    let mut flows = Vec::with_capacity(table.rows());
    for batch in &table.batches {
        let group = texts(batch, "group")?;
        let size = numbers::<Int64Type>(batch, "size_bytes")?;
        let slowdown = numbers::<Float64Type>(batch, "slowdown")?;
        let counted = flags(batch, "counted")?;
        let finish = numbers::<Int64Type>(batch, "finish_ps")?;
        let rows = group.zip(size).zip(slowdown.zip(finish)).zip(counted).filter(|(_, counted)| *counted);
        flows.extend(rows.map(|(((group, size), (slowdown, finish)), _)| FlowFacts {
            group,
            size: size.map(|s| Bytes::new(unsigned(s))),
            slowdown,
            count: repeated.count(finish),
        }));
    }
    Ok(flows)
}

/// The divided times of the flows that count and have started, from the tables `flows` and `limits`.
///
/// # Errors
/// With the name of a column that is missing or of another type.
fn limit_facts<'a>(
    flows: &'a Table,
    limits: &Table,
    repeated: &Repeated<'_>,
) -> Result<Vec<LimitFacts<'a>>, String> {
    let mut known = BTreeMap::new();
    for batch in &flows.batches {
        let group = texts(batch, "group")?;
        let size = numbers::<Int64Type>(batch, "size_bytes")?;
        let number = numbers::<UInt32Type>(batch, "flow")?;
        let chosen = flags(batch, "counted")?.zip(flags(batch, "started")?);
        let finish = numbers::<Int64Type>(batch, "finish_ps")?;
        let of = group.zip(size).zip(finish);
        let rows = number.zip(of).zip(chosen).filter(|(_, (counted, started))| *counted && *started);
        known.extend(rows.filter_map(|((number, of), _)| Some((number?, of))));
    }
    let mut facts = Vec::with_capacity(known.len());
    for batch in &limits.batches {
        let flow = numbers::<UInt32Type>(batch, "flow")?;
        let time = numbers::<Int64Type>(batch, "time_ps")?;
        let of = Limit::ALL.map(|limit| format!("{}_ps", limit.name()));
        let mut of: Vec<_> =
            of.iter().map(|name| numbers::<Int64Type>(batch, name)).collect::<Result<_, _>>()?;
        for (flow, time) in flow.zip(time) {
            let value = |number: Option<i64>| unsigned(number.unwrap_or_default());
            let limits_ps = of.iter_mut().map(|column| value(column.next().flatten())).collect();
            if let Some(((group, size), finish)) = flow.and_then(|flow| known.get(&flow)) {
                let size = size.map(|size| Bytes::new(unsigned(size)));
                let count = repeated.count(*finish);
                facts.push(LimitFacts { group, size, time_ps: value(time), limits_ps, count });
            }
        }
    }
    Ok(facts)
}

/// The jobs of the table `jobs`.
///
/// # Errors
/// With the name of a column that is missing or of another type.
pub fn job_facts(table: &Table) -> Result<Vec<JobFacts<'_>>, String> {
    let mut facts = Vec::with_capacity(table.rows());
    for batch in &table.batches {
        let jct = numbers::<Int64Type>(batch, "jct_ps")?;
        let ratio = numbers::<Float64Type>(batch, "bound_ratio")?;
        let algbw = numbers::<Int64Type>(batch, "algbw_bps")?;
        let busbw = numbers::<Int64Type>(batch, "busbw_bps")?;
        let rows = texts(batch, "job")?.zip(texts(batch, "straggler_host")?).zip(jct).zip(ratio);
        let rows = rows.zip(algbw.zip(busbw));
        facts.extend(rows.map(|((((name, host), jct), bound_ratio), (algbw, busbw))| JobFacts {
            name,
            jct_ps: jct.map(unsigned),
            bound_ratio,
            bandwidths: [algbw, busbw].map(|rate| rate.map(unsigned)),
            straggler_host: Some(host).filter(|host| !host.is_empty()),
        }));
    }
    Ok(facts)
}

/// Returns the ports in the table `port_series`, in the order of their first samples.
///
/// # Errors
/// With the name of a column that is missing or of another type.
pub fn sampled_ports(table: &Table) -> Result<Vec<PortKey>, String> {
    let mut seen: BTreeSet<(&str, u16)> = BTreeSet::new();
    let mut ports = Vec::new();
    for batch in &table.batches {
        let port = numbers::<UInt16Type>(batch, "port")?;
        for (node, port) in texts(batch, "node")?.zip(port.map(Option::unwrap_or_default)) {
            if seen.insert((node, port)) {
                ports.push((node.to_owned(), port));
            }
        }
    }
    Ok(ports)
}

/// Returns the time from which on all flows of the table `flows` are active, and the earliest one at which what the first of
/// them to end then sent last was sent: a base RTT before it was delivered. `None` where none ends after that.
///
/// # Errors
/// With the name of a column that is missing or of another type.
pub fn all_active(table: &Table) -> Result<(i64, Option<i64>), String> {
    let mut start = 0;
    for batch in &table.batches {
        start = numbers::<Int64Type>(batch, "start_ps")?.flatten().fold(start, i64::max);
    }
    let mut end: Option<i64> = None;
    for batch in &table.batches {
        let base = numbers::<Int64Type>(batch, "base_rtt_ps")?;
        for (delivered, base) in numbers::<Int64Type>(batch, "delivered_ps")?.zip(base) {
            if let (Some(delivered), Some(base)) = (delivered, base)
                && delivered > start
            {
                end = Some(end.unwrap_or(i64::MAX).min(delivered - base));
            }
        }
    }
    Ok((start, end))
}

/// The rows of each port in the table `port_series`, by name of node and number.
///
/// # Errors
/// With the name of a column that is missing or of another type.
pub fn port_points(table: &Table) -> Result<BTreeMap<PortKey, Vec<PortPoint>>, String> {
    let mut ports: BTreeMap<PortKey, Vec<PortPoint>> = BTreeMap::new();
    for batch in &table.batches {
        for ((node, port), points) in points_by_port(batch)? {
            ports.entry((node.to_owned(), port)).or_default().extend(points);
        }
    }
    Ok(ports)
}

/// The rows of each port in a batch of the table `port_series`. They are keyed by text only once per
/// port and batch for whoever collects them, not per row.
fn points_by_port(batch: &RecordBatch) -> Result<BTreeMap<(&str, u16), Vec<PortPoint>>, String> {
    let mut here: BTreeMap<(&str, u16), Vec<PortPoint>> = BTreeMap::new();
    let node = texts(batch, "node")?;
    let port = numbers::<UInt16Type>(batch, "port")?;
    let time = numbers::<Int64Type>(batch, "time_ps")?;
    let queue = numbers::<Int64Type>(batch, "queue_bytes")?;
    let transmitted = numbers::<Int64Type>(batch, "transmitted_bytes")?;
    let samples = numbers::<Int64Type>(batch, "samples")?;
    let rows = node.zip(port).zip(time).zip(queue).zip(transmitted).zip(samples);
    for (((((node, port), time), queue), transmitted), samples) in rows {
        here.entry((node, port.unwrap_or_default())).or_default().push(PortPoint {
            time: Time::from_ps(unsigned(time.unwrap_or_default())),
            queue: Bytes::new(unsigned(queue.unwrap_or_default())),
            transmitted: Bytes::new(unsigned(transmitted.unwrap_or_default())),
            samples: unsigned(samples.unwrap_or_default()),
        });
    }
    Ok(here)
}

/// The rate of each port's link in the table `ports`, by name of node and number.
///
/// # Errors
/// With the name of a column that is missing or of another type.
pub fn port_rates(table: &Table) -> Result<BTreeMap<PortKey, Rate>, String> {
    let mut rates = BTreeMap::new();
    for batch in &table.batches {
        let node = texts(batch, "node")?;
        let port = numbers::<UInt16Type>(batch, "port")?;
        let rate = numbers::<Int64Type>(batch, "rate_bps")?;
        for ((node, port), rate) in node.zip(port).zip(rate) {
            if let (Some(port), Some(rate)) = (port, rate) {
                rates.insert((node.to_owned(), port), Rate::from_bps(unsigned(rate)));
            }
        }
    }
    Ok(rates)
}

/// The goodput of each sampled flow between its first and its last sample within the interval, from
/// the table `flow_series`; flows with fewer than two samples there are left out.
///
/// # Errors
/// With the name of a column that is missing or of another type.
pub fn goodputs(table: &Table, interval: Interval) -> Result<BTreeMap<u32, Rate>, String> {
    let mut ends: BTreeMap<u32, [(Time, Bytes); 2]> = BTreeMap::new();
    let mut before: BTreeMap<u32, Time> = BTreeMap::new();
    for batch in &table.batches {
        let flow = numbers::<UInt32Type>(batch, "flow")?;
        let time = numbers::<Int64Type>(batch, "time_ps")?;
        let acked = numbers::<Int64Type>(batch, "acked_bytes")?;
        let samples = numbers::<Int64Type>(batch, "samples")?;
        for (((flow, time), acked), samples) in flow.zip(time).zip(acked).zip(samples) {
            let flow = flow.unwrap_or_default();
            let time = Time::from_ps(unsigned(time.unwrap_or_default()));
            let acked = Bytes::new(unsigned(acked.unwrap_or_default()));
            let samples = unsigned(samples.unwrap_or_default());
            if let Some(part) = samples::within(before.insert(flow, time), time, samples, interval) {
                ends.entry(flow).or_insert([(part.first, acked); 2])[1] = (part.last, acked);
            }
        }
    }
    let goodput = |[(from, before), (until, after)]: [(Time, Bytes); 2]| {
        (until > from).then(|| Rate::of(after - before, until - from))
    };
    Ok(ends.into_iter().filter_map(|(flow, ends)| Some((flow, goodput(ends)?))).collect())
}

/// Iterates over the batches of a table, in order; may be called again.
pub(crate) type Batches<'a> = dyn Fn(&mut EachBatch<'_>) -> Result<(), ResultError> + 'a;

impl Summary {
    /// The summary of a run with these tables, with these classes of size, and without loads. A row counts for the copies without
    /// rows, too. Samples of ports, which may not fit into memory, are read twice.
    ///
    /// # Errors
    /// When a table cannot be read, or a column is missing or of another type.
    pub(crate) fn of(
        flows_table: &Table,
        ports: &Table,
        jobs_table: &Table,
        limits: &Table,
        port_series: &Batches<'_>,
        classes: &[SizeClass],
        repeated: Repeated<'_>,
    ) -> Result<Self, ResultError> {
        let in_memory = |reason: String| ResultError::damaged(Path::new("a table in memory"), reason);
        let rates = port_rates(ports).map_err(in_memory)?;
        let mut sums: BTreeMap<PortKey, PortSums> = BTreeMap::new();
        port_series(&mut |batch| {
            for ((node, port), points) in points_by_port(batch)? {
                let sums = sums.entry((node.to_owned(), port)).or_default();
                points.iter().for_each(|point| sums.add(point));
            }
            Ok(())
        })?;
        port_series(&mut |batch| {
            for ((node, port), points) in points_by_port(batch)? {
                let sums = sums.entry((node.to_owned(), port)).or_default();
                points.iter().for_each(|point| sums.add_again(point));
            }
            Ok(())
        })?;
        let facts = limit_facts(flows_table, limits, &repeated).map_err(in_memory)?;
        let has_limits = limits.rows() > 0;
        let of_limits =
            if has_limits { divided(&facts, classes, &Limit::ALL.map(Limit::name)) } else { Vec::new() };
        let summary = |(key, sums): (&PortKey, &PortSums)| {
            PortSummary::of(&key.0, key.1, rates.get(key).copied(), sums)
        };
        Ok(Self {
            slowdowns: slowdowns(&flows(flows_table, &repeated).map_err(in_memory)?, classes),
            limits: of_limits,
            ports: sums.iter().filter_map(summary).collect(),
            jobs: jobs(&job_facts(jobs_table).map_err(in_memory)?),
            loads: Vec::new(),
        })
    }
}

/// Quantities in tables are never negative.
fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or_default()
}

pub(crate) fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a dyn Array, String> {
    batch.column_by_name(name).map(AsRef::as_ref).ok_or_else(|| format!("the table has no column \"{name}\""))
}

pub(crate) fn numbers<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<impl Iterator<Item = Option<T::Native>> + 'a, String> {
    let array = column(batch, name)?.as_primitive_opt::<T>();
    let array = array.ok_or_else(|| format!("column \"{name}\" should be of type {}", T::DATA_TYPE))?;
    Ok(array.iter())
}

pub(crate) fn flags<'a>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<impl Iterator<Item = bool> + 'a, String> {
    let array = column(batch, name)?.as_boolean_opt();
    let array = array.ok_or_else(|| format!("column \"{name}\" should be of flags"))?;
    Ok(array.iter().map(Option::unwrap_or_default))
}

pub(crate) fn texts<'a>(batch: &'a RecordBatch, name: &str) -> Result<impl Iterator<Item = &'a str>, String> {
    let array = column(batch, name)?.as_string_opt::<i32>();
    let array = array.ok_or_else(|| format!("column \"{name}\" should be text"))?;
    Ok(array.iter().map(Option::unwrap_or_default))
}
