//! The loads of traffic blocks, from the records of a run.

use std::collections::BTreeMap;

use incast_sim::describe::flow::Flow;
use incast_sim::record::{End, FlowRecord, LoadSample, Outcome};
use incast_units::Time;

use crate::load::{Arrival, Load, Progress, Window, measure, series};

/// The records that concern blocks with a load.
#[derive(Debug)]
pub(super) struct Loads<'a> {
    windows: &'a [Window],
    /// Flows that started, by the window of their block.
    flows: Vec<Vec<Arrival>>,
    /// Payload acknowledged of open flows, by their group and the instant.
    acked: BTreeMap<(u16, Time), u64>,
}

impl<'a> Loads<'a> {
    pub(super) fn new(windows: &'a [Window]) -> Self {
        Self { windows, flows: vec![Vec::new(); windows.len()], acked: BTreeMap::new() }
    }

    fn place(&self, group: u16) -> Option<usize> {
        self.windows.iter().position(|window| window.group == group)
    }

    /// Adds records of flows. One that has not started has no ideal time.
    pub(super) fn flows(&mut self, records: &[FlowRecord], flows: &[Flow]) {
        if self.windows.is_empty() {
            return;
        }
        for record in records.iter().filter(|record| record.ideal != Time::NEVER) {
            let Some(flow) = flows.get(record.flow as usize) else { continue };
            if let Some(place) = self.place(flow.group) {
                let (start, finish) = (record.start, record.finish);
                self.flows[place].push(Arrival { start, size: flow.size, finish });
            }
        }
    }

    /// Adds sums of acknowledged payload.
    pub(super) fn samples(&mut self, samples: &[LoadSample]) {
        for sample in samples {
            *self.acked.entry((sample.group, sample.time)).or_default() += sample.acked.get();
        }
    }

    /// Measures the loads of a run with this outcome. On a testbed, nothing is known of open flows.
    pub(super) fn finish(
        &self,
        outcome: &Outcome,
        flows: &[Flow],
        groups: &[String],
        is_testbed: bool,
    ) -> Vec<Load> {
        let one = |(window, arrivals): (&Window, &Vec<Arrival>)| {
            let at_end = acked_at_end(window.group, outcome, flows);
            let acked = |at: Time| {
                if at <= outcome.now {
                    Some(self.acked.get(&(window.group, at)).copied().unwrap_or(0))
                } else {
                    // Nothing that counts is left: hardly anything changes until the end of the window.
                    (outcome.end == End::Finished).then_some(at_end)
                }
            };
            let acked: Option<Vec<u64>> = window.instants().into_iter().map(acked).collect();
            let group = groups.get(usize::from(window.group)).map_or("", String::as_str);
            measure(window, group, arrivals, acked.filter(|_| !is_testbed).as_deref(), outcome.now)
        };
        self.windows.iter().zip(&self.flows).map(one).collect()
    }

    /// Returns the series of the loads that have one, by time.
    pub(super) fn series(&self, outcome: &Outcome, flows: &[Flow]) -> Vec<Progress> {
        let one = |(window, arrivals): (&Window, &Vec<Arrival>)| {
            let (end, group) = (outcome.now, window.group);
            let at_end = acked_at_end(group, outcome, flows);
            let times = window.multiples().take_while(|time| *time < end).chain([end]);
            let open =
                |at| if at == end { at_end } else { self.acked.get(&(group, at)).copied().unwrap_or(0) };
            series(group, arrivals, times, open)
        };
        let windows = self.windows.iter().zip(&self.flows).filter(|(window, _)| window.every.is_some());
        let mut all: Vec<Progress> = windows.flat_map(one).collect();
        all.sort_by_key(|point| (point.time, point.group));
        all
    }
}

/// Returns what is acknowledged at the end of a run of the open flows of a group.
fn acked_at_end(group: u16, outcome: &Outcome, flows: &[Flow]) -> u64 {
    let is_in = |record: &&FlowRecord| flows.get(record.flow as usize).is_some_and(|f| f.group == group);
    outcome.unfinished.iter().filter(is_in).map(|record| record.bytes.get()).sum()
}
