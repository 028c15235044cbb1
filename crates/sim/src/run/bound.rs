//! Lower bounds on the time of a job: no packet of it ever waits in a queue.

use std::collections::BTreeMap;

use incast_net::Invalid;
use incast_net::describe::Simulation;
use incast_net::describe::network::PortId;
use incast_net::describe::work::{BESIDE, What};
use incast_units::{Bytes, Rate, Time};

use crate::facts::Facts;
use crate::facts::flows::FlowFacts;

/// A flow alone on the idle paths that its packets may take at its earliest start.
struct Idle {
    /// Times at which its last bit arrives, and at which it is acknowledged.
    delivered: Time,
    finished: Time,
    /// Size of all its packets.
    bytes: Bytes,
    /// From the end of its last packet on the first link until it is acknowledged.
    after_leaving: Time,
    /// From its start until the last link is busy with its first packet, and from the end of its last packet
    /// there until it is acknowledged.
    around_arriving: [Time; 2],
}

/// A host, 0 for its links as a sender or 1 as a receiver, and one of its cards or all of them.
type Links = (u32, usize, Option<PortId>);

/// Least work of links of one host, in one direction, for a job.
struct Busy {
    /// Bytes of all flows.
    bytes: Bytes,
    /// Sum of the times that the bytes of each flow take at the rate of all links together.
    sum: Time,
    before: Time,
    after: Time,
}

/// For each job how long it takes at least from its first send or computation to its last end: the largest of
/// - the longest chain of its operations, if each flow is alone on the idle paths that its packets may take at its
///   earliest start, and each computation has its processor for itself;
/// - for each processor of a host, the sum of the job's computations on it;
/// - for each host and direction, the time for which the host's links are busy with the bytes of the job's flows,
///   plus what the first packet needs before and the last packet and its acknowledgement after; and likewise for each
///   of its cards with the flows that name it.
///
/// Queues and links between switches are not counted, nor are earliest starts of flows, nor dependencies on other
/// jobs. For one flow it is the ideal completion time ([`ideal`](incast_net::record::FlowRecord::ideal)).
/// `None` for a job that neither sends nor computes.
///
/// # Errors
/// When the description contradicts itself.
pub fn job_bounds(simulation: &Simulation) -> Result<Vec<Option<Time>>, Invalid> {
    Ok(bounds(simulation, &Facts::new(simulation)?))
}

/// Returns the bound of each job, given the facts of the simulation.
pub(super) fn bounds(simulation: &Simulation, facts: &Facts) -> Vec<Option<Time>> {
    let work = &facts.hosts.work;
    let operations = work.operations;
    let jobs = operations.iter().map(|operation| usize::from(operation.job) + 1).max().unwrap_or(0);
    let mut rates = vec![Rate::ZERO; simulation.network.nodes.len()];
    for link in &simulation.network.links {
        for (node, _) in [link.a, link.b] {
            rates[node as usize] = [rates[node as usize], link.rate].into_iter().sum();
        }
    }
    let mut computing: Vec<BTreeMap<(u32, u16), Time>> = vec![BTreeMap::new(); jobs];
    let mut idle: BTreeMap<u32, Idle> = BTreeMap::new();
    let mut busy: Vec<BTreeMap<Links, Busy>> = (0..jobs).map(|_| BTreeMap::new()).collect();
    // The rate of all links of a host, or of the link of one of its cards; on side 1 that at which a slow host takes packets
    // from them.
    let rate = |(host, side, card): Links| {
        let ports = &facts.fabric().routes.ports[host as usize];
        match (facts.flows().receive_rate(host).filter(|_| side == 1), card) {
            (Some(rate), None) => rate.times_ratio(ports.len() as u64, 1),
            (Some(rate), Some(_)) => rate,
            (None, None) => rates[host as usize],
            (None, Some(card)) => ports[usize::from(card)].rate,
        }
    };
    for operation in operations {
        match operation.what {
            What::Compute { processor: BESIDE, .. } => {}
            What::Compute { time, processor } => {
                let sums = computing[usize::from(operation.job)].entry((operation.host, processor));
                *sums.or_insert(Time::ZERO) += time;
            }
            What::Receive { .. } => {}
            What::Send { flow } => {
                let alone = alone(flow, facts.flows());
                let described = &facts.flows().flows[flow as usize];
                let ends = [described.source, described.destination];
                let rest = [[Time::ZERO, alone.after_leaving], alone.around_arriving];
                for (side, host) in ends.into_iter().enumerate() {
                    let [before, after] = rest[side];
                    // The bytes count for the card that the flow names, and for all cards together.
                    let card = described.cards[side].map(|card| (host, side, Some(card)));
                    for links in [Some((host, side, None)), card].into_iter().flatten() {
                        let sums = busy[usize::from(operation.job)].entry(links);
                        let sums =
                            sums.or_insert(Busy { bytes: Bytes::ZERO, sum: Time::ZERO, before, after });
                        sums.bytes += alone.bytes;
                        sums.sum += rate(links).time_for(alone.bytes);
                        (sums.before, sums.after) = (sums.before.min(before), sums.after.min(after));
                    }
                }
                idle.insert(flow, alone);
            }
        }
    }
    let mut longest: Vec<Time> = busy
        .iter()
        .zip(&computing)
        .map(|(links, processors)| {
            let links = links.iter().map(|(&of, busy)| {
                let (host, _, card) = of;
                // One link takes one packet after the other, each for a whole number of picoseconds.
                let one_link = card.is_some() || facts.fabric().routes.ports[host as usize].len() == 1;
                let takes = if one_link { busy.sum } else { rate(of).time_for(busy.bytes) };
                busy.before + takes + busy.after
            });
            links.chain(processors.values().copied()).max().unwrap_or(Time::ZERO)
        })
        .collect();
    let order = work.graph.order(operations).unwrap_or_default();
    let mut times = vec![Time::ZERO; 2 * operations.len()];
    for event in order {
        let operation = &operations[event as usize / 2];
        let job = operation.job;
        for before in work.graph.before(event, operations) {
            let other = &operations[before as usize / 2];
            if other.job != job {
                continue;
            }
            let takes = match (operation.what, other.what) {
                _ if event % 2 == 0 => Time::ZERO,
                (What::Receive { flow }, What::Send { .. }) => {
                    idle.get(&flow).map_or(Time::ZERO, |f| f.delivered)
                }
                (What::Send { flow }, _) => idle.get(&flow).map_or(Time::ZERO, |f| f.finished),
                (What::Compute { time, .. }, _) => time,
                (What::Receive { .. }, _) => Time::ZERO,
            };
            let at = times[before as usize] + takes;
            times[event as usize] = times[event as usize].max(at);
        }
        let longest = &mut longest[usize::from(job)];
        *longest = times[event as usize].max(*longest);
    }
    // A job without a duration only receives, or computes for no time.
    longest.into_iter().map(|bound| (bound > Time::ZERO).then_some(bound)).collect()
}

/// Computes a flow alone.
fn alone(flow: u32, facts: &FlowFacts) -> Idle {
    let described = &facts.flows[flow as usize];
    let alone = facts.alone(flow, described.start);
    let (sizes, size) = (&alone.sizes, described.size.get());
    let bytes = (sizes.packets(size) - 1) * sizes.data(sizes.payload) + sizes.last(size);
    let delivered = alone.arrival(size);
    let acknowledged = alone.acknowledgement();
    let [before_last, last_delay] = alone.around_arriving(size);
    Idle {
        delivered,
        finished: delivered + acknowledged,
        bytes: Bytes::new(bytes),
        after_leaving: alone.after_leaving(size) + acknowledged,
        around_arriving: [before_last, last_delay + acknowledged],
    }
}
