//! `[[change]]`: changes of links during the run.

use std::collections::BTreeMap;

use incast_cc::Fixed;
use incast_sim::describe::network::{self, LinkChange, Network, NodeId};
use incast_sim::random::draw;
use incast_units::{Rate, Time};

use super::scope::{Effect, Scope};
use super::switch::no_shared_pool;
use crate::grammar::reading::Reading;
use crate::grammar::section::{choice, section};
use crate::grammar::setting::Bound;
use crate::hash::key;
use crate::problem::{Problem, fault};
use crate::topology::{Fabric, graph::expand};

/// Whether a link works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Down,
    Up,
}

choice! {
    State {
        "down" => Down: "packets on the link are lost, packets queued for it stay queued, and routes avoid it",
        "up" => Up: "it works",
    }
}

section! {
    /// A change of one or several links at a given time; any number of such blocks. Initially every link is
    /// up and as in the topology.
    pub(crate) struct Change {
        /// Time of the change.
        at: Time,
        /// The two ends of the link, like `["s0", "h3"]`; one of them may be a range, like `"h0-h3"`. If both are,
        /// every link between them is meant.
        between: Vec<String>,
        /// Each of these links changes with this probability, drawn by the scenario's seed; by default all do.
        probability: Option<Fixed> = None; Bound::Ratio(Fixed::ZERO, Fixed::ONE),
        /// Number of one of several links between the same two nodes, from 0 in the order of the topology; by
        /// default all of them.
        number: Option<u16> = None; Bound::Count(0, 65_535),
        /// Rate in each direction, for packets whose transmission begins after the change.
        rate: Option<Rate> = None; Bound::Positive,
        /// One-way delay, for packets whose transmission begins after the change.
        delay: Option<Time> = None; Bound::Positive,
        /// Whether the link is up.
        state: Option<State> = None,
        /// Time at which the change ends and the link is as in the topology again; by default it lasts
        /// until the end of the run.
        until: Option<Time> = None; Bound::Positive,
    }
}

impl Effect for Vec<Change> {
    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        if let Some(fabric) = scope.fabric {
            let changes = resolve(self, scope, fabric, reading);
            headroom(&changes, scope, fabric, reading);
        }
    }
}

/// Returns the network with the changes of its links.
pub(crate) fn network(
    changes: &[Change],
    scope: &Scope<'_>,
    fabric: &Fabric,
    reading: &mut Reading,
) -> Network {
    let mut network = fabric.network.clone();
    network.changes = resolve(changes, scope, fabric, reading);
    network
}

/// The links of a network by their ends, the lower node first.
pub(super) type Links = BTreeMap<(NodeId, NodeId), Vec<u32>>;

/// Returns the links of a network by their ends.
pub(super) fn by_ends(fabric: &Fabric) -> Links {
    let mut links = Links::new();
    for (index, link) in (0..).zip(&fabric.network.links) {
        let (a, b) = (link.a.0, link.b.0);
        links.entry((a.min(b), a.max(b))).or_default().push(index);
    }
    links
}

/// The highest rate and the shortest delay that a link is changed to.
pub(crate) fn quickest(changes: &[Change]) -> (Rate, Time) {
    let rate = changes.iter().filter_map(|change| change.rate).max().unwrap_or(Rate::ZERO);
    (rate, changes.iter().filter_map(|change| change.delay).min().unwrap_or(Time::NEVER))
}

/// Returns the changes in the order of time, and reports what is wrong with them.
fn resolve(
    changes: &[Change],
    scope: &Scope<'_>,
    fabric: &Fabric,
    reading: &mut Reading,
) -> Vec<network::Change> {
    if changes.is_empty() {
        return Vec::new();
    }
    let links = by_ends(fabric);
    // Each with whether it undoes another one, and with its block.
    let mut resolved: Vec<(network::Change, bool, usize)> = Vec::new();
    for (block, change) in changes.iter().enumerate() {
        let Change { at, between, probability, number, rate, delay, state, until } = change;
        change.faults(scope).into_iter().for_each(|fault| reading.fault(&format!("change.{block}"), fault));
        let links = match named(between, *number, fabric, &links) {
            Ok(links) => drawn(links, *probability, scope.sections.seed, block),
            Err(fault) => {
                reading.fault(&format!("change.{block}"), fault);
                continue;
            }
        };
        for link in links {
            let of_topology = &fabric.network.links[link as usize];
            let both = [
                rate.map(|rate| (LinkChange::Rate(rate), LinkChange::Rate(of_topology.rate))),
                delay.map(|delay| (LinkChange::Delay(delay), LinkChange::Delay(of_topology.delay))),
                state.map(|state| match state {
                    State::Down => (LinkChange::Down, LinkChange::Up),
                    State::Up => (LinkChange::Up, LinkChange::Up),
                }),
            ];
            for (what, back) in both.into_iter().flatten() {
                let change = |time, what| network::Change { time, link, what };
                resolved.push((change(*at, what), false, block));
                resolved.extend(until.map(|until| (change(until, back), true, block)));
            }
        }
    }
    // Where one block ends as another begins, the one that begins holds.
    resolved.sort_by_key(|(change, undoes, _)| (change.time, !undoes));
    states(&resolved, fabric, reading);
    resolved.into_iter().map(|(change, ..)| change).collect()
}

/// Reports links that become so fast or so long that the PFC headroom for them fills the buffer of a switch.
/// Headroom is made for the fastest and longest that each link ever is.
fn headroom(changes: &[network::Change], scope: &Scope<'_>, fabric: &Fabric, reading: &mut Reading) {
    let mut largest: Vec<(Rate, Time)> =
        fabric.network.links.iter().map(|link| (link.rate, link.delay)).collect();
    for change in changes {
        let (rate, delay) = &mut largest[change.link as usize];
        match change.what {
            LinkChange::Rate(new) => *rate = new.max(*rate),
            LinkChange::Delay(new) => *delay = new.max(*delay),
            LinkChange::Down | LinkChange::Up => {}
        }
    }
    let mut ports: BTreeMap<NodeId, Vec<(Rate, Time)>> = BTreeMap::new();
    for (link, largest) in fabric.network.links.iter().zip(&largest) {
        for node in [link.a.0, link.b.0] {
            ports.entry(node).or_default().push(*largest);
        }
    }
    let switch = scope.sections.switch;
    let of_topology = |node| fabric.ports(node).iter().map(|&(_, rate, delay)| (rate, delay)).collect();
    let of_changes = |node| ports.get(&node).cloned().unwrap_or_default();
    // What holds without changes is said about the buffer.
    if no_shared_pool(switch, scope, fabric, of_topology).is_none()
        && let Some(message) = no_shared_pool(switch, scope, fabric, of_changes)
    {
        reading
            .wrong_key("change", format!("{message}, with each link at its highest rate and longest delay"));
    }
}

/// Reports blocks that fail links that do not work, or return links that do.
fn states(resolved: &[(network::Change, bool, usize)], fabric: &Fabric, reading: &mut Reading) {
    let mut works: BTreeMap<u32, bool> = BTreeMap::new();
    let mut said = None;
    for (change, undoes, block) in resolved {
        let up = match change.what {
            LinkChange::Up => true,
            LinkChange::Down => false,
            LinkChange::Rate(_) | LinkChange::Delay(_) => continue,
        };
        let before = works.insert(change.link, up).unwrap_or(true);
        if before == up && !undoes && said.replace(block) != Some(block) {
            let link = &fabric.network.links[change.link as usize];
            let [a, b] = [link.a.0, link.b.0].map(|node| &fabric.network.nodes[node as usize]);
            let word = if up { "up" } else { "down" };
            let message =
                format!("has no effect: the link between {a} and {b} is already {word} at {}", change.time);
            reading.wrong_key(&format!("change.{block}.state"), message);
        }
    }
}

impl Change {
    /// Returns its problems, apart from its links.
    fn faults(&self, scope: &Scope<'_>) -> Vec<Problem> {
        let mut faults = Vec::new();
        if self.rate.is_none() && self.delay.is_none() && self.state.is_none() {
            faults.push(Problem::new("changes nothing; give it a rate, a delay or a state"));
        }
        if let Some(until) = self.until
            && until <= self.at
        {
            faults.push(fault("until", format!("ends at {until}, not after it begins at {}", self.at)));
        }
        if self.until.is_some() && (self.rate, self.delay, self.state) == (None, None, Some(State::Up)) {
            faults
                .push(fault("until", "has no effect with state = \"up\": in the topology every link is up"));
        }
        if let Some(end) = scope.sections.until {
            for (key, time) in [("at", Some(self.at)), ("until", self.until)] {
                if let Some(time) = time.filter(|time| *time >= end) {
                    faults.push(fault(key, format!("is at {time}, not before the end of the run ({end})")));
                }
            }
        }
        faults
    }
}

/// Maximum number of pairs of nodes of one block.
const MAX_PAIRS: u64 = 1 << 26;

/// Returns the links between two ends, or the ones with a number.
///
/// # Errors
/// When there is none of them.
pub(super) fn named(
    ends: &[String],
    number: Option<u16>,
    fabric: &Fabric,
    links: &Links,
) -> Result<Vec<u32>, Problem> {
    let wrong = |message| fault("between", message);
    let [a, b] = ends else {
        let n = ends.len();
        return Err(wrong(format!("{n} given; a link has two ends, like [\"s0\", \"h3\"]")));
    };
    let (left, right) = (expand(a).map_err(wrong)?, expand(b).map_err(wrong)?);
    let ranges = left.len() > 1 && right.len() > 1;
    let pairs = left.len() * right.len();
    if pairs > MAX_PAIRS {
        return Err(wrong(format!("{a} and {b} are {pairs} pairs of nodes; at most {MAX_PAIRS} are tried")));
    }
    let mut found = Vec::new();
    for (a, b) in left.iter().flat_map(|a| right.iter().map(move |b| (a.clone(), b))) {
        let node = |name: &str| fabric.node(name).map_err(|problem| problem.about("between"));
        let (x, y) = (node(&a)?, node(&b)?);
        let between = links.get(&(x.min(y), x.max(y))).map_or(&[][..], Vec::as_slice);
        match number {
            _ if ranges && between.is_empty() => {}
            None if between.is_empty() => {
                return Err(wrong(format!("there is no link between {a} and {b}")));
            }
            None => found.extend(between),
            Some(number) => found.push(*between.get(usize::from(number)).ok_or_else(|| {
                let message = match between.len() {
                    0 => format!("there is no link between {a} and {b}"),
                    1 => format!("there is only one link between {a} and {b}, number 0"),
                    n => format!("there are {n} links between {a} and {b}, numbers 0 to {}", n - 1),
                };
                fault("number", message)
            })?),
        }
    }
    if found.is_empty() {
        return Err(wrong(format!("there is no link between any of {a} and any of {b}")));
    }
    Ok(found)
}

/// Returns the links that change, of these. A draw depends on the seed, the block's number and the link.
fn drawn(mut links: Vec<u32>, probability: Option<Fixed>, seed: u64, block: usize) -> Vec<u32> {
    let Some(probability) = probability else { return links };
    let stream = key(seed, "change", block as u64);
    let share = u64::try_from(probability.bits()).unwrap_or(0);
    links.retain(|link| draw(stream, u64::from(*link)) >> 32 < share);
    links
}
