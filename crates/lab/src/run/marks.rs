//! Marks that never came: the verdict on runs in which queues grew long and stayed below the thresholds of marks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use incast_cc::Signals;
use incast_sim::Simulation;
use incast_sim::describe::algorithm::Algorithm;
use incast_sim::describe::network::{Network, NodeId, PortId};
use incast_sim::describe::switch::{Ecn, Switch};
use incast_sim::record::{FlowRecord, PortTotals};
use incast_sim::rules::Marking;
use incast_units::{Bytes, Rate, Time};

use crate::problem::Problem;

/// The key of the length up to which nothing is marked.
pub(super) const KMIN: &str = "switch.ecn.kmin";

/// The flows whose algorithms declare marks and no other signal of a queue.
#[derive(Debug, Default)]
pub(super) struct Readers {
    /// For every algorithm, whether it is such a one.
    reads: Vec<bool>,
    /// For every host, the rate of all its links together.
    rates: Vec<Rate>,
    /// For every receiver and algorithm, the longest time that the payload of a flow takes on the links of its host, less
    /// the base RTT of its path.
    steered: BTreeMap<(NodeId, u16), Time>,
    /// The largest base RTT of their paths.
    base_rtt: Time,
}

impl Readers {
    pub(super) fn new(simulation: &Simulation) -> Self {
        let Simulation { network, transport, algorithms, .. } = simulation;
        let reads =
            |algorithm: &Algorithm| transport.kind.is_controlled() && needs_marks(algorithm.signals());
        let mut rates = vec![0_u64; network.hosts as usize];
        for link in &network.links {
            for (node, _) in [link.a, link.b] {
                if let Some(bps) = rates.get_mut(node as usize) {
                    *bps = bps.saturating_add(link.rate.bps());
                }
            }
        }
        Self {
            reads: algorithms.iter().map(reads).collect(),
            rates: rates.into_iter().map(Rate::from_bps).collect(),
            steered: BTreeMap::new(),
            base_rtt: Time::ZERO,
        }
    }

    /// Takes note of flows that have ended, or are open at the end.
    pub(super) fn flows(&mut self, records: &[FlowRecord], simulation: &Simulation) {
        for record in records {
            let Some(flow) = simulation.flows.get(record.flow as usize) else { continue };
            let reads = self.reads.get(usize::from(flow.algorithm)).copied().unwrap_or_default();
            let Some(rate) =
                self.rates.get(flow.source as usize).filter(|_| reads && record.bytes > Bytes::ZERO)
            else {
                continue;
            };
            let after = rate.time_for(record.bytes).checked_sub(record.base_rtt).unwrap_or_default();
            let longest = self.steered.entry((flow.destination, flow.algorithm)).or_default();
            *longest = after.max(*longest);
            self.base_rtt = self.base_rtt.max(record.base_rtt);
        }
    }

    /// Returns the algorithms whose flows could have felt a mark of this queue: a flow may come by it, and had something
    /// left to send after two base RTTs. Then a mark of a packet that waited for one base RTT is back.
    fn of(&self, queue: &Queue<'_>, network: &Network) -> BTreeSet<u16> {
        let comes_by = |receiver: NodeId| !network.is_host(queue.leads_to) || receiver == queue.leads_to;
        let felt = self.steered.iter().filter(|((to, _), after)| comes_by(*to) && **after > self.base_rtt);
        felt.map(|((_, algorithm), _)| *algorithm).collect()
    }
}

/// Whether marks are the only sign of congestion among these signals. Delays and losses, which everybody has, are no
/// signals: an algorithm that reads them besides has asked for marks because it needs both.
fn needs_marks(signals: Signals) -> bool {
    let marks = Signals::ECN.and(Signals::CNP);
    let apart = marks.and(Signals::PACKET_TAG).and(Signals::CIRCUIT);
    apart.contains(signals) && [Signals::ECN, Signals::CNP].into_iter().any(|mark| signals.contains(mark))
}

/// The longest queue of a port of a switch.
struct Queue<'a> {
    port: &'a PortTotals,
    rate: Rate,
    /// The node at the far end of the link.
    leads_to: NodeId,
    /// The time in which the port sends it, if nothing stops it.
    drain: Time,
}

/// Returns the queues of switches, but those before links that change: they grow without congestion.
fn queues<'a>(network: &Network, ports: &'a [PortTotals]) -> Vec<Queue<'a>> {
    let changing: BTreeSet<u32> = network.changes.iter().map(|change| change.link).collect();
    let mut links: BTreeMap<(NodeId, PortId), (Rate, NodeId)> = BTreeMap::new();
    for (_, link) in (0..).zip(&network.links).filter(|(number, _)| !changing.contains(number)) {
        links.insert(link.a, (link.rate, link.b.0));
        links.insert(link.b, (link.rate, link.a.0));
    }
    let queue = |port: &'a PortTotals| {
        let &(rate, leads_to) = links.get(&(port.node, port.port))?;
        Some(Queue { port, rate, leads_to, drain: rate.time_for(port.peak_queue) })
    };
    ports.iter().filter(|port| !network.is_host(port.node)).filter_map(queue).collect()
}

/// A queue that was longer than a port sends in one base RTT, in a run without marks, and the algorithms that could have
/// felt one.
pub(super) struct Missing<'a> {
    queue: Queue<'a>,
    algorithms: BTreeSet<u16>,
    ecn: Ecn,
    base_rtt: Time,
}

impl<'a> Missing<'a> {
    /// Returns the longest such queue of a run, measured in time.
    ///
    /// There is none where such a queue is no sign of congestion: packets that wait for circuits, the many queues of BFC.
    /// Nor is there one where packets were trimmed, since their headers report a queue as marks do.
    pub(super) fn of(simulation: &Simulation, ports: &'a [PortTotals], readers: &Readers) -> Option<Self> {
        let Simulation { network, switch, .. } = simulation;
        let ecn = switch.ecn?;
        let is_other = network.circuits.is_some() || switch.bfc.is_some();
        if is_other || ports.iter().any(|port| port.marked + port.trimmed > 0) {
            return None;
        }
        let long = queues(network, ports).into_iter().filter(|queue| queue.drain > readers.base_rtt);
        let felt = long.map(|queue| Self {
            algorithms: readers.of(&queue, network),
            queue,
            ecn,
            base_rtt: readers.base_rtt,
        });
        felt.filter(|missing| !missing.algorithms.is_empty())
            .max_by_key(|Self { queue, .. }| (queue.drain, Reverse((queue.port.node, queue.port.port))))
    }

    /// Returns the warning about it.
    pub(super) fn problem(&self, simulation: &Simulation) -> Problem {
        let Simulation { network, switch, transport, algorithms, .. } = simulation;
        let Self { queue, algorithms: found, ecn, base_rtt } = self;
        let names: Vec<&str> = found.iter().map(|&of| algorithms[usize::from(of)].name()).collect();
        let place = format!("{} port {}", network.nodes[queue.port.node as usize], queue.port.port);
        let tenths = queue.drain.ps() * 10 / base_rtt.ps().max(1);
        let (peak, rtts) = (queue.port.peak_queue, format!("{}.{}", tenths / 10, tenths % 10));
        let packet = Bytes::new(transport.payload.get() + transport.header.get());
        let Cause { key, value, hint } = Cause::of(ecn, switch, queue, packet, *base_rtt);
        let problem = format!(
            "is {value}, and no packet was marked: the queue at {place} grew to {peak}, which takes {rtts} base RTTs to drain, \
             and no mark reported that to {}",
            names.join(", ")
        );
        Problem::new(problem).about(key).with_hint(hint)
    }
}

/// The setting for which a queue was not marked.
struct Cause {
    key: &'static str,
    value: String,
    hint: String,
}

impl Cause {
    /// `packet` is the size of a data packet: the length that decides does not count the packet itself.
    fn of(ecn: &Ecn, switch: &Switch, queue: &Queue<'_>, packet: Bytes, base_rtt: Time) -> Self {
        let marking = Marking::new(ecn, queue.rate);
        let (kmin, kmax) = (marking.kmin(), marking.kmax());
        let value = match ecn.reference {
            Some(_) => format!("{kmin} at {}", queue.rate),
            None => kmin.to_string(),
        };
        let length = queue.port.peak_queue.checked_sub(packet).unwrap_or_default();
        let sent = format!("in one base RTT the port sends {}", queue.rate.bytes_in(base_rtt));
        let is_one = switch.queues == 1 && switch.trimming.is_none();
        if is_one && length > kmin {
            let hint = format!(
                "between kmin, {kmin}, and kmax, {kmax}, the probability of a mark rises to pmax: a lower kmax or a \
                 higher pmax marks a queue of {length}"
            );
            return Self { key: "switch.ecn.pmax", value: ecn.pmax.to_string(), hint };
        }
        let hint = if is_one {
            format!("a kmin below {length}, the queue less a packet, marks such a queue; {sent}")
        } else {
            format!("kmin holds for each queue of the port by itself; {sent}")
        };
        Self { key: KMIN, value, hint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_with_another_signal_of_congestion_do_not_need_marks() {
        let marks = Signals::ECN.and(Signals::CNP);
        for alone in [Signals::ECN, Signals::CNP, marks, Signals::ECN.and(Signals::PACKET_TAG)] {
            assert!(needs_marks(alone), "{alone:?}");
        }
        for other in [Signals::INT, Signals::HOP_DELAY, Signals::ONE_WAY_DELAY, Signals::DELAYED_RUN] {
            assert!(!needs_marks(marks.and(other)) && !needs_marks(other), "{other:?}");
        }
        assert!(!needs_marks(Signals::NONE) && !needs_marks(Signals::PACKET_TAG));
    }
}
