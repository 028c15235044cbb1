//! Workloads with dependencies, in terms of ranks: what the readers of such files return.

use std::collections::VecDeque;

use incast_cc::Fixed;
use incast_sim::describe::work::{Operation, What};
use incast_units::{Bytes, Time};

/// Size from which a flow is taken for one that never ends: 80 s at 100 Gbps.
const ENDLESS: Bytes = Bytes::new(1_000_000_000_000);

/// Returns a note on the flows that never end, if there are any.
pub(crate) fn endless(sizes: impl Iterator<Item = Bytes>) -> Option<String> {
    let number = sizes.filter(|&size| size >= ENDLESS).count();
    let flows = if number == 1 { "flow" } else { "flows" };
    (number > 0).then(|| {
        format!(
            "{number} {flows} of {ENDLESS} or more, which is how some files say that a flow never ends: set run.until"
        )
    })
}

/// A message from a rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The sending rank.
    pub source: u32,
    /// The receiving rank, another one.
    pub destination: u32,
    /// Its payload, at least one byte.
    pub size: Bytes,
    /// Time of its start; if an operation sends it, the earliest time at which it may.
    pub start: Time,
}

/// Sends, receives and computations of ranks, with their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Number of ranks.
    pub ranks: u32,
    /// The messages; an operation names them by index.
    pub flows: Vec<Message>,
    /// The operations, which name each other by index. The host of each is a rank.
    pub operations: Vec<Operation>,
    /// Notes on what is not taken over, or differs.
    pub notes: Vec<String>,
}

/// A point in time of the graph of operations: the start of operation `i` is `2 * i`, its end the next.
type Point = usize;

impl Workload {
    /// Adds an operation of a rank, and returns its index.
    pub(crate) fn add(&mut self, rank: u32, what: What, after: Vec<u32>) -> u32 {
        self.operations.push(Operation {
            host: rank,
            what,
            after,
            after_start: Vec::new(),
            start_before: Time::NEVER,
            earliest: Time::ZERO,
            job: 0,
        });
        (self.operations.len() - 1) as u32
    }

    /// Adds a note on a number of things, if there are any.
    pub(crate) fn note(&mut self, number: usize, what: &str, text: &str) {
        if number > 0 {
            self.notes.push(format!("{what} ({number}): {text}"));
        }
    }

    /// Adds a note on the messages that never end, if there are any.
    pub(crate) fn note_endless(&mut self) {
        self.notes.extend(endless(self.flows.iter().map(|flow| flow.size)));
    }

    /// Operations that wait for each other and never start, in the order in which each waits for the next.
    #[must_use]
    pub fn cycle(&self) -> Option<Vec<u32>> {
        let before = self.before();
        let mut waits: Vec<usize> = before.iter().map(Vec::len).collect();
        let mut behind: Vec<Vec<Point>> = vec![Vec::new(); before.len()];
        for (point, points) in before.iter().enumerate() {
            points.iter().for_each(|&earlier| behind[earlier].push(point));
        }
        let mut ready: VecDeque<Point> = (0..waits.len()).filter(|&point| waits[point] == 0).collect();
        while let Some(point) = ready.pop_front() {
            for &later in &behind[point] {
                waits[later] -= 1;
                if waits[later] == 0 {
                    ready.push_back(later);
                }
            }
        }
        // Each that still waits does so for another: going back from one, they repeat.
        let mut point = waits.iter().position(|&waits| waits > 0)?;
        let mut visit = vec![usize::MAX; waits.len()];
        let mut path = Vec::new();
        while visit[point] == usize::MAX {
            visit[point] = path.len();
            path.push(point);
            point = before[point].iter().copied().find(|&earlier| waits[earlier] > 0)?;
        }
        let mut operations: Vec<u32> = path[visit[point]..].iter().map(|point| (point / 2) as u32).collect();
        operations.dedup();
        if operations.len() > 1 && operations.first() == operations.last() {
            operations.pop();
        }
        Some(operations)
    }

    /// For each point those that come before it.
    fn before(&self) -> Vec<Vec<Point>> {
        let mut sent_by = vec![None; self.flows.len()];
        for (i, operation) in self.operations.iter().enumerate() {
            if let What::Send { flow } = operation.what {
                sent_by[flow as usize] = Some(2 * i);
            }
        }
        let mut before = Vec::with_capacity(2 * self.operations.len());
        for (i, operation) in self.operations.iter().enumerate() {
            let ends = operation.after.iter().map(|&other| 2 * other as usize + 1);
            let starts = operation.after_start.iter().map(|&other| 2 * other as usize);
            before.push(ends.chain(starts).collect());
            let sent = match operation.what {
                What::Receive { flow } => sent_by[flow as usize],
                What::Send { .. } | What::Compute { .. } => None,
            };
            before.push([2 * i].into_iter().chain(sent).collect());
        }
        before
    }

    /// Whether any operation computes for some time.
    #[must_use]
    pub fn computes(&self) -> bool {
        self.operations
            .iter()
            .any(|operation| matches!(operation.what, What::Compute { time, .. } if time > Time::ZERO))
    }

    /// Multiplies all sizes and all times of computation, rounded down; a message keeps at least one byte.
    #[must_use]
    pub fn scaled(mut self, size: Fixed, compute: Fixed) -> Self {
        if size != Fixed::ONE {
            for flow in &mut self.flows {
                flow.size = Bytes::new(size.scale(flow.size.get()).clamp(1, Bytes::UNLIMITED.get() - 1));
            }
        }
        if compute != Fixed::ONE {
            for operation in &mut self.operations {
                if let What::Compute { time, .. } = &mut operation.what {
                    *time = Time::from_ps(compute.scale(time.ps()));
                }
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPUTE: What = What::Compute { time: Time::from_ns(3), processor: 0 };

    /// Two ranks that each send to the other when they have received.
    fn exchange() -> Workload {
        let message =
            |source| Message { source, destination: 1 - source, size: Bytes::new(5), start: Time::ZERO };
        let mut work = Workload { ranks: 2, flows: vec![message(0), message(1)], ..Workload::default() };
        for rank in [0, 1] {
            let send = 2 * rank + 1;
            work.add(rank, What::Receive { flow: 1 - rank }, vec![]);
            assert_eq!(work.add(rank, What::Send { flow: rank }, vec![send - 1]), send);
        }
        work
    }

    #[test]
    fn operations_that_wait_for_each_other_are_found() {
        let mut work = exchange();
        // Each receive ends after the send of the other rank has started, which waits for that rank's receive.
        let mut cycle = work.cycle().unwrap();
        cycle.sort_unstable();
        assert_eq!(cycle, [0, 1, 2, 3]);
        work.operations[1].after.clear();
        assert_eq!(work.cycle(), None);
        // An operation that waits for itself; what waits for it is no part of the cycle.
        let own = work.add(0, COMPUTE, vec![4]);
        work.add(0, COMPUTE, vec![own]);
        assert_eq!(work.cycle(), Some(vec![4]));
        // Two that wait for each other's start.
        work.operations[4].after.clear();
        work.operations[4].after_start.push(5);
        work.operations[5].after = vec![];
        work.operations[5].after_start.push(4);
        assert_eq!(work.cycle().map(|cycle| cycle.len()), Some(2));
        // A start may wait for a start that waits for an end.
        work.operations[5].after_start.clear();
        work.operations[5].after.push(1);
        assert_eq!(work.cycle(), None);
    }

    #[test]
    fn sizes_and_times_are_scaled() {
        let mut work = exchange();
        work.add(0, COMPUTE, vec![]);
        assert!(work.computes());
        let work = work.scaled(Fixed::ratio(1, 10), Fixed::ratio(3, 2));
        // 5 B / 10 is no byte, and a message has at least one; 3 ns times 1.5 is 4.5 ns.
        assert_eq!(work.flows[0].size, Bytes::new(1));
        assert_eq!(work.operations[4].what, What::Compute { time: Time::from_ps(4500), processor: 0 });
    }
}
