//! The times of a process of arrivals: a warm-up, a measured window, and arrivals after it.

use incast_units::Time;

use super::work::Made;
use super::{Draft, Faults, Setting};
use crate::load::Window;
use crate::problem::fault;

/// Arrivals continue after the window for this many times the time that its largest flow takes alone, and for a tenth of
/// the time until then.
const TAIL: u64 = 20;

/// The keys of a process that say when its flows arrive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub(super) start: Time,
    pub(super) warmup: Time,
    pub(super) duration: Option<Time>,
    pub(super) tail: bool,
    /// Number of arrivals, with the name of its key.
    pub(super) count: (&'static str, Option<u64>),
    /// The end of the run, where it is given.
    pub(super) run_until: Option<Time>,
}

/// The times of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    start: Time,
    /// The window, whose end is no part of it.
    pub(super) from: Time,
    pub(super) until: Time,
    /// Flows that start from here on do not count.
    counted_until: Time,
    /// The end of the run if arrivals continue after the window.
    tail: Option<Time>,
}

impl Keys {
    /// Returns the times, and adds faults in the keys.
    pub(super) fn span(&self, faults: &mut Faults) -> Span {
        let (start, from) = (self.start, self.start + self.warmup);
        let counted_until = self.duration.map_or(Time::NEVER, |duration| from + duration);
        let run_until = self.run_until.unwrap_or(Time::NEVER);
        let until = counted_until.min(run_until);
        let (key, count) = self.count;
        if until == Time::NEVER && count.is_none() {
            let message = format!("is missing; without {key}, duration and run.until the traffic never ends");
            faults.push(fault("duration", message));
        }
        if !self.tail && self.duration.is_none() {
            faults.push(fault("tail", "has no effect without duration".to_owned()));
        }
        if until <= start {
            faults
                .push(fault("start", format!("starts at {start}, not before the end of the run ({until})")));
        } else if until <= from {
            let message = format!("lasts until {from}, not less than the run ({until})");
            faults.push(fault("warmup", message));
        }
        let goes_on = self.tail && self.duration.is_some() && count.is_none();
        Span { start, from, until, counted_until, tail: goes_on.then_some(run_until) }
    }
}

impl Span {
    /// Returns the end of the arrivals, where `flows` are those that start in the window or before it.
    pub(super) fn last(&self, flows: &[Draft], setting: &Setting<'_>) -> Time {
        let largest = flows.iter().filter(|flow| flow.start >= self.from).max_by_key(|flow| flow.size);
        let alone = |flow: &Draft| setting.shortest(flow.ends(), flow.size);
        let longest = largest.map_or(Time::ZERO, alone);
        let more = longest.times(TAIL) + (self.until - self.start).times_ratio(1, 10);
        self.tail.map_or(self.until, |end| end.min(self.until + more).max(self.until))
    }

    /// Whether a flow that starts then counts.
    pub(super) fn counts(&self, start: Time) -> bool {
        (self.from..self.counted_until).contains(&start)
    }

    /// Makes what a block makes of `flows`, which arrived until `last`. `load` is its load as a share of a capacity, with
    /// the latter in bit/s, if it has one.
    ///
    /// # Errors
    /// When none of the flows counts.
    pub(super) fn made(
        &self,
        flows: Vec<Draft>,
        last: Time,
        load: Option<(f64, f64)>,
    ) -> Result<Made, Faults> {
        let (from, until) = (self.from, self.until.min(last));
        let counted = from..self.counted_until;
        if !flows.is_empty() && !flows.iter().any(|flow| counted.contains(&flow.start)) {
            let key = if from > self.start { "warmup" } else { "duration" };
            let message = format!("no flow starts in the measured window, from {from} to {until}");
            return Err(vec![fault(key, message)]);
        }
        let window = |(load, capacity_bps)| Window {
            group: 0,
            from,
            until,
            arrivals_end: last,
            load,
            capacity_bps,
            every: None,
        };
        Ok(Made { flows, counted: Some(counted), window: load.map(window), ..Made::default() })
    }
}
