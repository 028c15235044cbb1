//! The operations of a description: checked, by host, and by the flows that they send and receive.

use incast_net::describe::Simulation;
use incast_net::describe::flow::Flow;
use incast_net::describe::network::NodeId;
use incast_net::describe::work::{Operation, What};
use incast_units::Time;

use super::edges::Edges;

/// No operation.
const NONE: u32 = u32::MAX;

/// Maximum number of operations of a cycle that a message names.
const NAMED: usize = 8;

/// Operations at each host and for each flow.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// For each flow the operation that sends it and the one that receives it; empty without operations.
    ends: Vec<[u32; 2]>,
    /// The operations of each host, in order; empty without operations.
    by_host: Vec<Vec<u32>>,
    /// Position of each operation among the operations of its host.
    places: Vec<u32>,
    /// Whether each operation may be left out.
    optional: Vec<bool>,
}

impl Graph {
    /// The graph of a description.
    ///
    /// # Errors
    /// When an operation names something that does not exist or is another's, or when operations wait for
    /// each other.
    pub(crate) fn new(simulation: &Simulation) -> Result<Self, String> {
        let Simulation { operations, flows, network, .. } = simulation;
        if operations.is_empty() {
            return Ok(Self::default());
        }
        let mut graph = Self {
            ends: vec![[NONE; 2]; flows.len()],
            by_host: vec![Vec::new(); network.hosts as usize],
            places: Vec::with_capacity(operations.len()),
            optional: vec![false; operations.len()],
        };
        for (operation, index) in operations.iter().zip(0_u32..) {
            let fail = |problem: String| Err(format!("operation {index} {problem}"));
            let Some(of_host) = graph.by_host.get_mut(operation.host as usize) else {
                return fail(format!("is at node {}, which is no host", operation.host));
            };
            graph.places.push(of_host.len() as u32);
            of_host.push(index);
            for other in operation.after.iter().chain(&operation.after_start) {
                match operations.get(*other as usize) {
                    None => return fail(format!("depends on operation {other}, of {}", operations.len())),
                    Some(before) if before.host != operation.host => {
                        return fail(format!(
                            "of host {} depends on operation {other} of host {}; only flows connect hosts",
                            operation.host, before.host
                        ));
                    }
                    Some(_) => {}
                }
            }
            let (flow, side, verb) = match operation.what {
                What::Send { flow } => (flow, 0, "sends"),
                What::Receive { flow } => (flow, 1, "receives"),
                What::Compute { .. } => continue,
            };
            let Some(described) = flows.get(flow as usize) else {
                return fail(format!("{verb} flow {flow}, of {}", flows.len()));
            };
            if let Some(problem) = misfit(described, side, operation.host) {
                return fail(format!("of host {} {verb} flow {flow}, which {problem}", operation.host));
            }
            let before = std::mem::replace(&mut graph.ends[flow as usize][side], index);
            if before != NONE {
                return fail(format!("{verb} flow {flow}, as operation {before} does"));
            }
        }
        let order = graph.order(operations).map_err(|cycle| said(&cycle))?;
        graph.find_optional(operations, &order)?;
        Ok(graph)
    }

    /// Finds the operations that may be left out. Refuses one if another host, which does not learn of it, waits for
    /// it.
    fn find_optional(&mut self, operations: &[Operation], order: &[u32]) -> Result<(), String> {
        for index in order.iter().filter(|event| **event % 2 == 0).map(|event| event / 2) {
            let operation = &operations[index as usize];
            let mut others = operation.after.iter().chain(&operation.after_start);
            let left_out =
                operation.start_before != Time::NEVER || others.any(|other| self.optional[*other as usize]);
            self.optional[index as usize] = left_out;
            if let (true, What::Send { flow }) = (left_out, operation.what)
                && let Some(receiver) = self.receiver(flow)
            {
                return Err(format!(
                    "operation {index} may be left out (start_before), and operation {receiver} receives its flow"
                ));
            }
        }
        Ok(())
    }

    /// Returns for each operation whether it may be left out.
    pub(crate) fn optional(&self) -> &[bool] {
        &self.optional
    }

    /// The operation that sends a flow.
    #[inline]
    pub(crate) fn sender(&self, flow: u32) -> Option<u32> {
        self.end(flow, 0)
    }

    /// The operation that receives a flow.
    #[inline]
    pub(crate) fn receiver(&self, flow: u32) -> Option<u32> {
        self.end(flow, 1)
    }

    fn end(&self, flow: u32, side: usize) -> Option<u32> {
        self.ends.get(flow as usize).map(|ends| ends[side]).filter(|operation| *operation != NONE)
    }

    /// The operations of a host, in order.
    pub(crate) fn of(&self, host: NodeId) -> &[u32] {
        self.by_host.get(host as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns the position of an operation among the operations of its host.
    pub(crate) fn place(&self, operation: u32) -> u32 {
        self.places[operation as usize]
    }

    /// Returns the events that must happen before an event: event 2i is the start of operation i, and 2i + 1
    /// its end.
    pub(crate) fn before(&self, event: u32, operations: &[Operation]) -> impl Iterator<Item = u32> {
        let operation = &operations[event as usize / 2];
        let is_end = event % 2 == 1;
        let (after, after_start): (&[u32], &[u32]) =
            if is_end { (&[], &[]) } else { (&operation.after, &operation.after_start) };
        let sender = match operation.what {
            What::Receive { flow } if is_end => self.sender(flow).map(|sender| 2 * sender),
            _ => None,
        };
        let ends = after.iter().map(|other| 2 * other + 1);
        let own_start = is_end.then(|| event - 1);
        ends.chain(after_start.iter().map(|other| 2 * other)).chain(own_start).chain(sender)
    }

    /// The events of all operations, each after what must happen before it.
    ///
    /// # Errors
    /// With operations that wait for each other, at one host or by flows.
    pub(crate) fn order(&self, operations: &[Operation]) -> Result<Vec<u32>, Vec<u32>> {
        let events = 2 * operations.len() as u32;
        let mut unmet: Vec<usize> = (0..events).map(|event| self.before(event, operations).count()).collect();
        let next = Edges::new(events as usize, || {
            let before = |event| self.before(event, operations).map(move |earlier| (earlier, event));
            (0..events).flat_map(before)
        });
        let mut order: Vec<u32> = (0..events).filter(|event| unmet[*event as usize] == 0).collect();
        let mut done = 0;
        while let Some(event) = order.get(done).copied() {
            done += 1;
            for later in next.of(event) {
                unmet[*later as usize] -= 1;
                if unmet[*later as usize] == 0 {
                    order.push(*later);
                }
            }
        }
        match (0..events).find(|event| unmet[*event as usize] > 0) {
            None => Ok(order),
            Some(left) => Err(self.cycle(left, &unmet, operations)),
        }
    }

    /// The operations of a circle, from an event that is left: there is always another before it that is left.
    fn cycle(&self, left: u32, unmet: &[usize], operations: &[Operation]) -> Vec<u32> {
        let mut steps = vec![NONE; unmet.len()];
        let (mut at, mut way) = (left, Vec::new());
        while steps[at as usize] == NONE {
            steps[at as usize] = way.len() as u32;
            way.push(at);
            let mut before = self.before(at, operations);
            at = before.find(|event| unmet[*event as usize] > 0).unwrap_or(at);
        }
        let mut cycle: Vec<u32> = way[steps[at as usize] as usize..].iter().map(|event| event / 2).collect();
        cycle.dedup();
        if cycle.len() > 1 && cycle.first() == cycle.last() {
            cycle.pop();
        }
        cycle
    }
}

/// Returns why a host cannot send (0) or receive (1) a flow by an operation.
fn misfit(flow: &Flow, side: usize, host: NodeId) -> Option<String> {
    if [flow.source, flow.destination][side] != host {
        return Some(format!("goes from host {} to {}", flow.source, flow.destination));
    }
    (!flow.has_known_end())
        .then(|| "has no last byte that is known in advance: it has a stop, or no size".into())
}

fn said(cycle: &[u32]) -> String {
    let names: Vec<String> = cycle.iter().take(NAMED).map(u32::to_string).collect();
    let more = if cycle.len() > NAMED { ", ..." } else { "" };
    match names.as_slice() {
        [one] => format!("operation {one} waits for itself"),
        _ => format!("operations {}{more} wait for each other in a circle", names.join(", ")),
    }
}
