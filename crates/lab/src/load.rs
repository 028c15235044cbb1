//! The load that a process of arrivals offers and that the network carries, and whether both are in a steady state.
//!
//! The rule and its reasons are in `docs/guide/loads.md`; here are its numbers.

use core::fmt;

use incast_units::{Bytes, PS_PER_SECOND, Time};
use serde::{Deserialize, Serialize};

/// Parts of the window.
pub(crate) const PARTS: usize = 10;
/// The quantile 0.975 of Student's distribution with `PARTS - 1` degrees of freedom.
const STUDENT: f64 = 2.262_157;
/// Largest change of the backlog over the window, as a share of the bytes offered.
pub const MAX_GROWTH: f64 = 0.05;
/// Largest half-width of the interval of that change.
pub const MAX_ERROR: f64 = 0.1;
/// Largest deviation of the offered load from the load of the block, as a share of the latter.
pub const MAX_DEVIATION: f64 = 0.1;
/// Largest share of the counted flows that are unfinished when the arrivals end.
pub const MAX_OPEN: f64 = 0.01;

/// A process of arrivals with a load, and the window in which it is measured: `from` included, `until` not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The group of its flows.
    pub group: u16,
    /// Begin of the window.
    pub from: Time,
    /// End of the window.
    pub until: Time,
    /// End of the arrivals, in the window or after it.
    pub arrivals_end: Time,
    /// The load of the block, as a share of the capacity.
    pub load: f64,
    /// The capacity to which the load is relative, in bit/s.
    pub capacity_bps: f64,
    /// Time between two instants of its series; `None`: it has no series.
    pub every: Option<Time>,
}

impl Window {
    /// Whether a flow that starts at `start` counts.
    #[must_use]
    pub fn contains(&self, start: Time) -> bool {
        self.from <= start && start < self.until
    }

    /// Returns the ends of its parts.
    fn ends(&self) -> [Time; PARTS + 1] {
        let length = self.until - self.from;
        core::array::from_fn(|part| self.from + length.times_ratio(part as u64, PARTS as u64))
    }

    /// Returns the instants at which to sum up what is acknowledged: the last before each end of a part.
    #[must_use]
    pub fn instants(&self) -> Vec<Time> {
        self.ends().map(|end| end - Time::from_ps(1)).into()
    }

    /// Returns the instants of its series: the multiples of the time between them, up to the end of the arrivals.
    pub fn multiples(&self) -> impl Iterator<Item = Time> + use<> {
        let every = self.every.unwrap_or(Time::NEVER);
        (1..=self.arrivals_end.ps() / every.ps()).map(move |count| every.times(count))
    }
}

/// A flow of a process of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) start: Time,
    pub(crate) size: Bytes,
    /// [`Time::NEVER`] if it is unfinished.
    pub(crate) finish: Time,
}

/// The bytes that a traffic block has offered up to an instant, and how many of them are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) time: Time,
    /// The group of its flows.
    pub(crate) group: u16,
    /// Size of the flows that have started.
    pub(crate) started: Bytes,
    /// Payload of these that is acknowledged.
    pub(crate) acked: Bytes,
}

/// Returns the series of a block from all of its flows that started, at instants in rising order. `open` says what was
/// acknowledged of flows that were open then.
pub(crate) fn series(
    group: u16,
    flows: &[Arrival],
    times: impl Iterator<Item = Time>,
    open: impl Fn(Time) -> u64,
) -> Vec<Progress> {
    let sorted = |of: fn(&Arrival) -> Time| {
        let mut all: Vec<(Time, Bytes)> = flows.iter().map(|flow| (of(flow), flow.size)).collect();
        all.sort_unstable();
        all
    };
    let (starts, finishes) = (sorted(|flow| flow.start), sorted(|flow| flow.finish));
    let (mut starts, mut finishes) = (Sum::new(&starts), Sum::new(&finishes));
    let one = |time| {
        let acked = finishes.until(time) + Bytes::new(open(time));
        Progress { time, group, started: starts.until(time), acked }
    };
    times.map(one).collect()
}

/// A sum of sizes that grows with time.
struct Sum<'a> {
    left: &'a [(Time, Bytes)],
    sum: Bytes,
}

impl<'a> Sum<'a> {
    const fn new(sorted: &'a [(Time, Bytes)]) -> Self {
        Self { left: sorted, sum: Bytes::ZERO }
    }

    /// Returns the sum up to an instant, which is not before the last one asked for.
    fn until(&mut self, time: Time) -> Bytes {
        let count = self.left.partition_point(|(at, _)| *at <= time);
        let (due, left) = self.left.split_at(count);
        self.left = left;
        self.sum += due.iter().map(|(_, size)| *size).sum();
        self.sum
    }
}

/// The load of a traffic block, as measured in its window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Name of the traffic block.
    pub group: String,
    /// Begin of the window.
    pub from_ps: u64,
    /// End of the window.
    pub until_ps: u64,
    /// Number of its flows that count: they start in the window.
    pub flows: u64,
    /// Number of its flows that started before or after the window.
    pub uncounted: u64,
    /// Whether flows arrive after the window.
    pub tail: bool,
    /// The load for which the block asks, as a share of the capacity to which it is relative.
    pub load: f64,
    /// Load of the flows that start in the window.
    pub offered: f64,
    /// Load that is acknowledged in the window; `None` if the run ended in it or does not say.
    pub carried: Option<f64>,
    /// Bytes that have started and are not acknowledged at the begin of the window.
    pub backlog_begin_bytes: Option<u64>,
    /// Bytes that have started and are not acknowledged at the end of the window.
    pub backlog_end_bytes: Option<u64>,
    /// Growth of the backlog over the window, as a share of the bytes offered in it.
    pub growth: Option<f64>,
    /// Half the width of its 95 % interval.
    pub growth_error: Option<f64>,
    /// Whether it is steady.
    pub steady: bool,
    /// The reasons if it is not.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub because: Vec<String>,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.steady {
            true => write!(f, "steady"),
            false => write!(f, "not steady because {}", self.because.join("; ")),
        }
    }
}

/// Measures the load of a group from all of its flows that started, and from what was acknowledged of its open flows at the
/// [instants](Window::instants) of its window, if that is known. `ended` is the end of the run.
pub(crate) fn measure(
    window: &Window,
    group: &str,
    flows: &[Arrival],
    acked: Option<&[u64]>,
    ended: Time,
) -> Load {
    let counted = || flows.iter().filter(|flow| window.contains(flow.start));
    let bytes: u64 = counted().map(|flow| flow.size.get()).sum();
    let seconds = (window.until - window.from).ps() as f64 / PS_PER_SECOND as f64;
    let share = |bytes: f64| bytes * 8.0 / (seconds * window.capacity_bps);
    let mut load = Load {
        group: group.to_owned(),
        from_ps: window.from.ps(),
        until_ps: window.until.ps(),
        flows: counted().count() as u64,
        uncounted: flows.len() as u64 - counted().count() as u64,
        tail: window.arrivals_end > window.until,
        load: window.load,
        offered: share(bytes as f64),
        carried: None,
        backlog_begin_bytes: None,
        backlog_end_bytes: None,
        growth: None,
        growth_error: None,
        steady: false,
        because: Vec::new(),
    };
    let open_at = window.arrivals_end.min(ended);
    let open = counted().filter(|flow| flow.finish > open_at).count() as u64;
    if let Some(acked) = acked.filter(|_| bytes > 0) {
        let backlog = |(at, acked): (Time, &u64)| {
            let at = at.min(ended);
            let open = flows.iter().filter(|flow| flow.start <= at && at < flow.finish);
            open.map(|flow| flow.size.get()).sum::<u64>().saturating_sub(*acked)
        };
        let backlog: Vec<u64> = window.instants().into_iter().zip(acked).map(backlog).collect();
        let growths: Vec<f64> = backlog.windows(2).map(|pair| pair[1] as f64 - pair[0] as f64).collect();
        let (growth, error) = interval(&growths);
        load.carried = Some(share(bytes as f64 - growth));
        (load.backlog_begin_bytes, load.backlog_end_bytes) =
            (backlog.first().copied(), backlog.last().copied());
        (load.growth, load.growth_error) = (Some(growth / bytes as f64), Some(error / bytes as f64));
    }
    load.because = reasons(&load, open, open_at);
    load.steady = load.because.is_empty();
    load
}

/// Returns the sum of some numbers, and half the width of its 95 % interval if they are independent.
fn interval(parts: &[f64]) -> (f64, f64) {
    let count = parts.len() as f64;
    let sum: f64 = parts.iter().sum();
    let squares: f64 = parts.iter().map(|part| (part - sum / count).powi(2)).sum();
    (sum, STUDENT * (squares / (count - 1.0) * count).sqrt())
}

/// Returns why a load is not steady, where `open` of its counted flows were unfinished at the end of the arrivals.
fn reasons(load: &Load, open: u64, open_at: Time) -> Vec<String> {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    if load.flows == 0 {
        return vec!["no flow starts in its window".to_owned()];
    }
    let mut reasons = Vec::new();
    match (load.growth, load.growth_error, load.carried) {
        (Some(growth), Some(error), Some(carried)) => {
            if growth.abs() > MAX_GROWTH {
                let changes = if growth > 0.0 { "grows" } else { "falls" };
                reasons.push(format!(
                    "its backlog {changes} by {} of what is offered: {} are offered and {} carried",
                    percent(growth.abs()),
                    percent(load.offered),
                    percent(carried)
                ));
            }
            if error > MAX_ERROR {
                reasons.push(format!(
                    "its window of {} with {} flows is too short to tell: the growth of the backlog is uncertain by ±{} of what is offered",
                    Time::from_ps(load.until_ps - load.from_ps),
                    load.flows,
                    percent(error)
                ));
            }
        }
        _ => reasons.push("what is carried was not measured up to the end of its window".to_owned()),
    }
    if (load.offered / load.load - 1.0).abs() > MAX_DEVIATION {
        let (offered, asked) = (percent(load.offered), percent(load.load));
        reasons.push(format!("its {} flows offer {offered}, not {asked}", load.flows));
    }
    if open as f64 > MAX_OPEN * load.flows as f64 {
        let share = percent(open as f64 / load.flows as f64);
        reasons.push(format!("its arrivals end at {open_at} with {share} of the counted flows unfinished"));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window from 100 to 200 us on a capacity of 8 Gbps, a byte in a nanosecond.
    const WINDOW: Window = Window {
        group: 0,
        from: Time::from_us(100),
        until: Time::from_us(200),
        arrivals_end: Time::from_us(300),
        load: 0.5,
        capacity_bps: 8e9,
        every: None,
    };

    #[test]
    fn a_series_has_what_has_started_and_what_is_acknowledged() {
        let window = Window { every: Some(Time::from_us(12)), arrivals_end: Time::from_us(36), ..WINDOW };
        let times: Vec<Time> = window.multiples().collect();
        assert_eq!(times, [12, 24, 36].map(Time::from_us));
        assert_eq!(WINDOW.multiples().count(), 0);
        // At 12 us two of them have started and one is done; of the one that is open 2 KB are acknowledged. At 24 us
        // it is the third that is open; at 36 us none is: the fourth finished at 35 us.
        let open = |time: Time| if time == Time::from_us(36) { 0 } else { 2_000 };
        let all = series(7, &even(), times.into_iter(), open);
        let of = |time, started, acked| Progress {
            time: Time::from_us(time),
            group: 7,
            started: Bytes::new(started),
            acked: Bytes::new(acked),
        };
        assert_eq!(all, [of(12, 10_000, 7_000), of(24, 15_000, 12_000), of(36, 20_000, 20_000)]);
    }

    #[test]
    fn a_flow_is_in_the_series_from_its_start_to_its_finish_both_included() {
        let flow = Arrival { start: Time::from_us(2), size: Bytes::new(9), finish: Time::from_us(4) };
        let open = Arrival { finish: Time::NEVER, ..flow };
        let all = series(0, &[flow, open], (1..=4).map(Time::from_us), |_| 0);
        let found = all.iter().map(|point| (point.started.get(), point.acked.get()));
        assert_eq!(found.collect::<Vec<_>>(), [(0, 0), (18, 0), (18, 0), (18, 9)]);
    }

    /// A flow of 5 KB that starts every 10 us and takes 4 us.
    fn even() -> Vec<Arrival> {
        let at = |number: u64| Time::from_us(10 * number + 1);
        let flow = |number| Arrival {
            start: at(number),
            size: Bytes::new(5_000),
            finish: at(number) + Time::from_us(4),
        };
        (0..30).map(flow).collect()
    }

    fn reasons_of(flows: &[Arrival], acked: &[u64; PARTS + 1], ended: Time) -> Vec<String> {
        measure(&WINDOW, "web", flows, Some(acked), ended).because
    }

    #[test]
    fn an_even_load_is_steady() {
        let load = measure(&WINDOW, "web", &even(), Some(&[0; PARTS + 1]), Time::from_us(300));
        // Ten flows of 5 KB in 100 us are half of 8 Gbps; no flow is open at the end of a part.
        assert_eq!((load.flows, load.uncounted), (10, 20));
        assert!((load.offered - 0.5).abs() < 1e-12 && load.carried == Some(load.offered), "{load:?}");
        assert_eq!((load.backlog_begin_bytes, load.backlog_end_bytes), (Some(0), Some(0)));
        assert_eq!((load.growth, load.growth_error, load.steady), (Some(0.0), Some(0.0), true));
        assert_eq!(load.to_string(), "steady");
    }

    #[test]
    fn a_backlog_is_what_has_started_and_is_not_acknowledged() {
        // The last two flows of the window and the one before it are open at its end; of 15 KB, 3 KB are acknowledged.
        let mut flows = even();
        flows[17..20].iter_mut().for_each(|flow| flow.finish = Time::from_us(250));
        let mut acked = [0; PARTS + 1];
        (acked[8], acked[9], acked[10]) = (1_000, 2_000, 3_000);
        let load = measure(&WINDOW, "web", &flows, Some(&acked), Time::from_us(300));
        assert_eq!((load.backlog_begin_bytes, load.backlog_end_bytes), (Some(0), Some(12_000)));
        assert_eq!(load.growth, Some(0.24));
        // Of 50 KB 38 are carried, at 8 Gbps in 100 us.
        assert!((load.carried.unwrap() - 0.38).abs() < 1e-12);
        // Parts grow by 4, 4, 4 KB and seven times by nothing: the mean is 1.2, the sum of squares 3 * 2.8^2 + 7 * 1.2^2
        // = 33.6, the deviation sqrt(33.6 / 9) = 1.9322, and 2.262157 * 1.9322 * sqrt(10) = 13.822 KB.
        assert!((load.growth_error.unwrap() - 13.822 / 50.0).abs() < 1e-4, "{load:?}");
        assert_eq!(
            load.because,
            [
                "its backlog grows by 24.0 % of what is offered: 50.0 % are offered and 38.0 % carried",
                "its window of 100us with 10 flows is too short to tell: the growth of the backlog is uncertain by ±27.6 % of what is offered"
            ]
        );
    }

    #[test]
    fn each_reason_has_its_bound() {
        let none = [0; PARTS + 1];
        let end = Time::from_us(300);
        assert_eq!(reasons_of(&even(), &none, end), [""; 0]);
        // A falling backlog: a flow from before the window ends in it.
        let mut flows = even();
        flows[5].finish = Time::from_us(150);
        let falls = "its backlog falls by 10.0 % of what is offered: 50.0 % are offered and 55.0 % carried";
        assert_eq!(reasons_of(&flows, &none, end)[0], falls);
        // 4 KB more are 8 % more than 50 KB, within the bound; 6 KB more are 12 %.
        let more = |bytes| {
            let again = Arrival { size: Bytes::new(bytes), ..even()[10] };
            reasons_of(&even().into_iter().chain([again]).collect::<Vec<_>>(), &none, end)
        };
        assert_eq!(more(4_000), [""; 0]);
        assert_eq!(more(6_000), ["its 11 flows offer 56.0 %, not 50.0 %"]);
        // One of ten is unfinished at the end of the arrivals, or of the run.
        let mut flows = even();
        flows[19].finish = Time::NEVER;
        let open = reasons_of(&flows, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5_000], end);
        assert_eq!(open, ["its arrivals end at 300us with 10.0 % of the counted flows unfinished"]);
        let open = reasons_of(&flows, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5_000], Time::from_us(250));
        assert_eq!(open, ["its arrivals end at 250us with 10.0 % of the counted flows unfinished"]);
        // Nothing known of open flows; no flow.
        let load = measure(&WINDOW, "web", &even(), None, end);
        assert_eq!(load.because, ["what is carried was not measured up to the end of its window"]);
        let load = measure(&WINDOW, "web", &even()[..3], Some(&none), end);
        assert_eq!(load.to_string(), "not steady because no flow starts in its window");
    }
}
