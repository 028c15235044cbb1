//! Load that the traffic offers to each link, on average and before anything runs.
//!
//! Counted are blocks that are processes with a rate (Poisson traffic, repeated requests). What a block
//! offers is spread evenly over its receivers and over all shortest paths, as ECMP does on average; so it is
//! over the links of a host with several.

use std::collections::BTreeMap;

use incast_sim::describe::network::{NodeId, PortId};
use incast_units::Rate;

use super::scope::Scope;
use crate::grammar::reading::Reading;
use crate::problem::Problem;
use crate::topology::Fabric;
use crate::traffic::hosts::{End, World};
use crate::traffic::{Offered, Setting};

/// The fabric's links are left out where there are more steps than this to be made.
const MOST_STEPS: usize = 500_000_000;

/// Load in bit/s of every port of every node.
type Loads = Vec<Vec<f64>>;

/// Warns of links that the traffic overloads as long as it lasts: of the worst host link and of the
/// worst link between switches.
pub(super) fn warn(scope: &Scope<'_>, fabric: &Fabric, reading: &mut Reading) {
    let world = World::new(fabric);
    let sections = &scope.sections;
    let setting =
        Setting { world: &world, until: sections.until, quickest: sections.quickest, local: sections.local };
    let transport = sections.transport;
    let mut offers = Vec::new();
    for (block, algorithm) in sections.traffic.iter().zip(scope.uses) {
        let Some(mut offered) = block.pattern.offered(&setting) else { continue };
        let added = scope.algorithms.get(usize::from(*algorithm)).map_or(0, |cc| cc.overhead().data);
        // Loads are given in payload; links carry headers too.
        let headers = transport.header.get() + u64::from(added);
        let factor = 1.0 + headers as f64 / transport.payload.get() as f64;
        offered.from.iter_mut().for_each(|(_, rate)| *rate *= factor);
        offers.push((block.name(), offered));
    }
    let loads = loads(fabric, offers.iter().map(|(_, offered)| offered));
    let key = match offers.as_slice() {
        [(name, _)] => format!("traffic.{name}"),
        _ => "traffic".to_owned(),
    };
    let hosts = fabric.network.hosts;
    let is_host_link = |node: NodeId, far: NodeId| node < hosts || far < hosts;
    for of_hosts in [true, false] {
        let worst = worst(fabric, &loads, |node, far| is_host_link(node, far) == of_hosts);
        let Some((node, port, load, rate)) = worst.filter(|(_, _, load, rate)| *load > 1.000_001 * rate)
        else {
            continue;
        };
        let percent = 100.0 * load / rate;
        let rates = [load, rate].map(|bps| Rate::from_mbps((bps / 1e6).round() as u64));
        let message = format!(
            "offers {percent:.0} % of the rate of the link {} ({} of {}, headers included): its queue \
             grows while the traffic lasts",
            fabric.port_name(node, port),
            rates[0],
            rates[1]
        );
        let hint = format!("at most {:.2} times as much traffic fits", rate / load);
        reading.warn(&key, Problem::new(message).with_hint(hint));
    }
}

/// The port with the largest load for its rate, of links that are chosen by their ends.
fn worst(
    fabric: &Fabric,
    loads: &Loads,
    chosen: impl Fn(NodeId, NodeId) -> bool,
) -> Option<(NodeId, PortId, f64, f64)> {
    let mut worst: Option<(NodeId, PortId, f64, f64)> = None;
    for (node, loads) in (0..).zip(loads) {
        for (port, (&(far, rate, _), &load)) in (0..).zip(fabric.ports(node).iter().zip(loads)) {
            let rate = rate.bps() as f64;
            if chosen(node, far) && worst.is_none_or(|(_, _, most, of)| load * of > most * rate) {
                worst = Some((node, port, load, rate));
            }
        }
    }
    worst
}

/// Place where hosts are attached: the switches at the far ends of their links, sorted.
type Place = Vec<NodeId>;

/// An offer by the places of hosts.
struct Spread {
    /// Rate that the hosts of a place send to each of the receivers.
    sent: BTreeMap<Place, f64>,
    /// Receivers at each place.
    received: BTreeMap<Place, f64>,
}

/// Computes the load of each port.
fn loads<'a>(fabric: &Fabric, offers: impl Iterator<Item = &'a Offered>) -> Loads {
    let nodes = fabric.network.nodes.len();
    let mut loads: Loads = (0..nodes).map(|node| vec![0.0; fabric.ports(node as NodeId).len()]).collect();
    let mut spread = Vec::new();
    // What hosts send and receive, in all: how much of it by which link is found below.
    let (mut up, mut down) = (BTreeMap::<End, f64>::new(), BTreeMap::<End, f64>::new());
    for offered in offers {
        let mut receives = vec![0; fabric.network.hosts as usize];
        offered.to.iter().for_each(|end| receives[end.host as usize] += 1);
        let others = |host: u32| (offered.to.len() - receives[host as usize]).max(1) as f64;
        let mut of_places = Spread { sent: BTreeMap::new(), received: BTreeMap::new() };
        let mut own: BTreeMap<u32, f64> = BTreeMap::new();
        let mut all = 0.0;
        for &(end, rate) in &offered.from {
            *up.entry(end).or_default() += rate;
            let each = rate / others(end.host);
            all += each;
            *of_places.sent.entry(end.switches(fabric)).or_default() += each;
            if receives[end.host as usize] > 0 {
                *own.entry(end.host).or_default() += each;
            }
        }
        for &end in &offered.to {
            *of_places.received.entry(end.switches(fabric)).or_default() += 1.0;
            // A host sends nothing to itself.
            *down.entry(end).or_default() += all - own.get(&end.host).copied().unwrap_or(0.0);
        }
        spread.push(of_places);
    }
    let mut goals: Vec<&Place> = spread.iter().flat_map(|spread| spread.received.keys()).collect();
    goals.sort_unstable();
    goals.dedup();
    // How much of what leaves or reaches a place takes each of its switches.
    let (mut leaves, mut reaches) = (BTreeMap::<(&Place, NodeId), f64>::new(), BTreeMap::new());
    let skipped = goals.len().saturating_mul(nodes + 2 * fabric.network.links.len()) > MOST_STEPS;
    for goal in goals.into_iter().filter(|_| !skipped) {
        let mut inflow = vec![0.0; nodes];
        let distances = fabric.distances_from(goal);
        for Spread { sent, received } in &spread {
            let Some(receivers) = received.get(goal) else { continue };
            for (place, each) in sent {
                let nearest = place.iter().map(|switch| distances[*switch as usize]).min();
                let near = |switch: &&NodeId| Some(distances[**switch as usize]) == nearest;
                let share = each * receivers / place.iter().filter(near).count().max(1) as f64;
                for switch in place.iter().filter(near) {
                    inflow[*switch as usize] += share;
                    *leaves.entry((place, *switch)).or_default() += share;
                }
            }
        }
        flow_to(fabric, &distances, &mut inflow, &mut loads);
        for &switch in goal {
            reaches.insert((goal, switch), inflow[switch as usize]);
        }
    }
    for (ends, by_switch, outward) in [(&up, &leaves, true), (&down, &reaches, false)] {
        for (&end, &load) in ends {
            let (host, place) = (end.host, end.switches(fabric));
            let parts = |switch: NodeId| by_switch.get(&(&place, switch)).copied().unwrap_or(0.0);
            let sum: f64 = end.links(fabric).iter().map(|port| parts(port.0) / links(&place, port.0)).sum();
            let ports = fabric.ports(host).iter().enumerate();
            for (port, &(switch, ..)) in
                ports.filter(|(port, _)| end.card.is_none_or(|card| usize::from(card) == *port))
            {
                let even = 1.0 / place.len() as f64;
                let part = if sum > 0.0 { parts(switch) / links(&place, switch) / sum } else { even };
                if outward {
                    loads[host as usize][port] += load * part;
                } else {
                    let nth = fabric.ports(host)[..port].iter().filter(|before| before.0 == switch).count();
                    let back = (0..).zip(fabric.ports(switch)).filter(|(_, far)| far.0 == host).nth(nth);
                    if let Some((back, _)) = back {
                        loads[switch as usize][back] += load * part;
                    }
                }
            }
        }
    }
    loads
}

/// Returns the number of links from a host at a place to a switch.
fn links(place: &Place, switch: NodeId) -> f64 {
    place.iter().filter(|other| **other == switch).count().max(1) as f64
}

/// Adds what switches send to the nearest of some, given how far each is from them, over all shortest paths.
fn flow_to(fabric: &Fabric, distances: &[u32], inflow: &mut [f64], loads: &mut Loads) {
    let hosts = fabric.network.hosts;
    let mut order: Vec<NodeId> = (hosts..fabric.network.nodes.len() as NodeId)
        .filter(|&node| !matches!(distances[node as usize], 0 | u32::MAX))
        .collect();
    order.sort_by_key(|&node| core::cmp::Reverse(distances[node as usize]));
    for node in order {
        let amount = inflow[node as usize];
        if amount == 0.0 {
            continue;
        }
        let nearer = |far: NodeId| far >= hosts && distances[far as usize] < distances[node as usize];
        let ports = fabric.ports(node);
        let share = amount / ports.iter().filter(|port| nearer(port.0)).count().max(1) as f64;
        for (port, &(far, _, _)) in ports.iter().enumerate().filter(|(_, port)| nearer(port.0)) {
            loads[node as usize][port] += share;
            inflow[far as usize] += share;
        }
    }
}
