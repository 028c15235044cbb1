//! The loads of traffic blocks, from the records of a run.

use std::collections::BTreeMap;

use incast_sim::describe::flow::Flow;
use incast_sim::record::{End, FlowRecord, LoadSample, Outcome};
use incast_units::Time;

use crate::load::{Arrival, Load, Window, measure};

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
            let open = outcome.unfinished.iter();
            let open = open
                .filter(|record| flows.get(record.flow as usize).is_some_and(|f| f.group == window.group));
            let at_end: u64 = open.map(|record| record.bytes.get()).sum();
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
}
