//! Links over time: the state of each port's link and its changes.

use std::collections::BTreeMap;

use incast_units::{Rate, Time};

use crate::describe::network::{LinkChange, Network, NodeId, Out, PortId};

/// The state of a link, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// The rate in each direction.
    pub rate: Rate,
    /// The one-way propagation delay.
    pub delay: Time,
    /// Whether it carries packets.
    pub up: bool,
}

/// The states of a link, each with its beginning. At the beginning of the run the link is up and as in the
/// network.
#[derive(Debug, Default)]
pub struct LinkTimeline(Vec<(u64, LinkState)>);

impl LinkTimeline {
    /// The states, each with when it begins. (ps)
    pub fn states(&self) -> impl Iterator<Item = (u64, LinkState)> {
        self.0.iter().copied()
    }

    /// The state from `time` on, if it differs from that at the beginning.
    fn at(&self, time: u64) -> Option<LinkState> {
        let before = self.0.partition_point(|(begin, _)| *begin <= time);
        before.checked_sub(1).map(|i| self.0[i].1)
    }

    /// Returns the first time after `time` at which the link fails; [`u64::MAX`] if it does not. (ps)
    pub fn next_failure(&self, time: u64) -> u64 {
        self.0.iter().find(|(begin, state)| *begin > time && !state.up).map_or(u64::MAX, |s| s.0)
    }
}

/// The timelines of all links.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The timelines of the links that change.
    links: BTreeMap<u32, LinkTimeline>,
    /// The link of each end of those.
    ends: BTreeMap<(NodeId, PortId), u32>,
    /// Times at which links fail or return, and so routes change. (ps)
    pub routes_change: Vec<u64>,
}

impl Timeline {
    /// The timeline of a network.
    ///
    /// # Errors
    /// When changes are not sorted by time, name no link, or leave a link without rate or delay.
    pub fn new(network: &Network) -> Result<Self, String> {
        let mut timeline = Self::default();
        if !network.changes.is_sorted_by_key(|c| c.time) {
            return Err("changes of links must be sorted by time".into());
        }
        for change in &network.changes {
            let Some(link) = network.links.get(change.link as usize) else {
                return Err(format!("a change names link {}, of {}", change.link, network.links.len()));
            };
            timeline.ends.insert(link.a, change.link);
            timeline.ends.insert(link.b, change.link);
            let LinkTimeline(states) = timeline.links.entry(change.link).or_default();
            let begin = change.time.ps();
            let initial = LinkState { rate: link.rate, delay: link.delay, up: true };
            let mut state = states.last().map_or(initial, |s| s.1);
            match change.what {
                LinkChange::Rate(rate) => state.rate = rate,
                LinkChange::Delay(delay) => state.delay = delay,
                LinkChange::Down => state.up = false,
                LinkChange::Up => state.up = true,
            }
            if state.rate == Rate::ZERO || state.delay == Time::ZERO {
                return Err("every link needs a rate and a delay above zero, at all times".into());
            }
            if matches!(change.what, LinkChange::Down | LinkChange::Up)
                && timeline.routes_change.last() != Some(&begin)
            {
                timeline.routes_change.push(begin);
            }
            match states.last_mut() {
                Some(last) if last.0 == begin => last.1 = state,
                _ => states.push((begin, state)),
            }
        }
        Ok(timeline)
    }

    /// The timeline of a port's link, if it changes.
    pub fn of(&self, node: NodeId, port: PortId) -> Option<&LinkTimeline> {
        self.links.get(self.ends.get(&(node, port))?)
    }

    /// The ports of a node whose links change.
    pub fn ports_of(&self, node: NodeId) -> impl Iterator<Item = (PortId, &LinkTimeline)> {
        let range = self.ends.range((node, 0)..=(node, PortId::MAX));
        range.filter_map(|((_, port), link)| Some((*port, self.links.get(link)?)))
    }

    /// Whether no link ever changes.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Whether a link ever fails.
    pub fn has_failures(&self) -> bool {
        !self.routes_change.is_empty()
    }

    /// Whether the link of a port is up at `time`. (ps)
    pub fn is_up(&self, node: NodeId, port: PortId, time: u64) -> bool {
        self.of(node, port).and_then(|link| link.at(time)).is_none_or(|state| state.up)
    }

    /// A port as it is at `time`. (ps)
    pub fn out_at(&self, node: NodeId, port: PortId, out: Out, time: u64) -> Out {
        match self.of(node, port).and_then(|link| link.at(time)) {
            Some(LinkState { rate, delay, .. }) => Out { rate, delay, ..out },
            None => out,
        }
    }

    /// Returns the smallest delay that a port's link ever has.
    pub fn shortest_delay(&self, node: NodeId, port: PortId, out: &Out) -> Time {
        let changed = self.of(node, port).into_iter().flat_map(LinkTimeline::states);
        changed.map(|(_, state)| state.delay).fold(out.delay, Time::min)
    }

    /// A port with the largest rate and the largest delay that its link ever has.
    pub fn largest(&self, node: NodeId, port: PortId, out: Out) -> Out {
        let changed = self.of(node, port).into_iter().flat_map(LinkTimeline::states);
        changed.fold(out, |out, (_, state)| Out {
            rate: out.rate.max(state.rate),
            delay: out.delay.max(state.delay),
            ..out
        })
    }

    /// All rates that links change to.
    pub fn rates(&self) -> impl Iterator<Item = Rate> {
        self.links.values().flat_map(LinkTimeline::states).map(|(_, state)| state.rate)
    }
}
