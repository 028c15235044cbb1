//! Facts of the end of a run: which flows keep it from ending soon.
//!
//! A run is complete when each flow that counts is done or left out and each operation has ended or is left out. A flow is
//! done when the acknowledgement of its last byte is back. While a byte of a flow that counts is missing at its
//! destination, the run lasts at least until an acknowledgement could have come back from there; and not before each
//! flow without a size has stopped. Flows that do not count are left aside.

use incast_net::describe::flow::Flow;
use incast_net::describe::work::What;
use incast_net::record::tally::Counts;
use incast_units::{Bytes, Time};

use super::work::WorkFacts;

/// Facts of the end of a run.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// Number of the unit in which the engine processes each host.
    units: Vec<u32>,
    /// Number of distant flows, and of those among them that may be left out.
    distant: [u64; 2],
    /// Number of near flows without a stop time that will not be left out.
    near: u64,
    /// Least time from the arrival of the last byte of a near flow until it is done. (ps)
    near_answer: u64,
    /// Time at which the last flow without a size stops. (ps)
    last_stop: u64,
}

impl Ending {
    /// The facts of these flows. `units` are those of all nodes, `shortest` is the delay of the shortest link of a host.
    pub(crate) fn new(flows: &[Flow], work: &WorkFacts, units: Vec<u32>, shortest: Time) -> Self {
        let mut ending = Self { units, near_answer: shortest.times(2).ps(), ..Self::default() };
        let optional = optional(flows, work);
        for (flow, optional) in flows.iter().zip(optional).filter(|(flow, _)| flow.counted) {
            if ending.is_distant(flow) {
                ending.distant[0] += 1;
                ending.distant[1] += u64::from(optional);
            } else if !optional && flow.stop == Time::NEVER {
                ending.near += 1;
            } else if !optional && flow.size == Bytes::UNLIMITED {
                ending.last_stop = ending.last_stop.max(flow.stop.ps());
            }
        }
        ending
    }

    /// Whether a flow counts and is done no earlier than one window after its last byte has arrived: it has no stop
    /// time, and its ends are in two units.
    pub(crate) fn is_distant(&self, flow: &Flow) -> bool {
        let unit = |host: u32| self.units.get(host as usize);
        flow.counted && flow.stop == Time::NEVER && unit(flow.source) != unit(flow.destination)
    }

    /// Returns a time before which the run will not be complete, given the counts of everything before `now`.
    pub(crate) fn earliest(&self, counts: &Counts, now: u64) -> u64 {
        let [distant, optional] = self.distant;
        if counts.distant_arrived < counts.distant_started || counts.distant_started + optional < distant {
            u64::MAX
        } else if counts.near_arrived < self.near {
            now.saturating_add(self.near_answer).max(self.last_stop)
        } else {
            now.max(self.last_stop)
        }
    }
}

/// Returns for each flow whether it may be left out.
fn optional(flows: &[Flow], work: &WorkFacts) -> Vec<bool> {
    let mut optional = vec![false; flows.len()];
    for (operation, may) in work.operations.iter().zip(work.graph.optional()) {
        if let What::Send { flow } = operation.what {
            optional[flow as usize] = *may;
        }
    }
    optional
}
