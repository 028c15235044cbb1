//! Links over time: the state of each port's link and its changes.

use std::collections::BTreeMap;

use incast_units::{Rate, Time};

use crate::describe::network::{Detection, LinkChange, Network, NodeId, Out, PortId};

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
#[derive(Clone, Debug, Default)]
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

    /// Returns when a node that needs so long to notice a change notices that the link has failed or returned. A state
    /// that does not last so long is not noticed. (ps)
    pub fn noticed(&self, delay: u64) -> Vec<(u64, bool)> {
        let mut turns: Vec<(u64, bool)> = Vec::new();
        for &(begin, LinkState { up, .. }) in &self.0 {
            if turns.last().is_none_or(|turn| turn.1) != up {
                turns.push((begin, up));
            }
        }
        let ends = turns.iter().skip(1).map(|turn| turn.0).chain([u64::MAX]);
        let mut noticed: Vec<(u64, bool)> = Vec::new();
        for ((begin, up), end) in turns.iter().copied().zip(ends) {
            let at = begin.saturating_add(delay);
            if at < end && noticed.last().is_none_or(|known| known.1) != up {
                noticed.push((at, up));
            }
        }
        noticed
    }

    /// Returns the timeline as a node sees it that needs so long to notice whether the link works. (ps)
    fn seen_after(&self, delay: u64) -> Self {
        let noticed = self.noticed(delay);
        let mut times: Vec<u64> = self.0.iter().map(|s| s.0).chain(noticed.iter().map(|n| n.0)).collect();
        times.sort_unstable();
        times.dedup();
        let up = |time| {
            let before = noticed.partition_point(|(begin, _)| *begin <= time);
            before.checked_sub(1).is_none_or(|i| noticed[i].1)
        };
        // Before the first change of the link nothing of it is noticed.
        let state = |time| Some((time, LinkState { up: up(time), ..self.at(time)? }));
        Self(times.into_iter().filter_map(state).collect())
    }

    /// Returns the first time after `time` at which the link fails; [`u64::MAX`] if it does not. (ps)
    pub fn next_failure(&self, time: u64) -> u64 {
        self.0.iter().find(|(begin, state)| *begin > time && !state.up).map_or(u64::MAX, |s| s.0)
    }
}

/// A time in which a node knows that the link of one of its ports is down, and holds back what is to leave by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The node.
    pub node: NodeId,
    /// Its port.
    pub port: PortId,
    /// Time at which the node notices that the link has failed.
    pub from: Time,
    /// Time at which it notices that the link has returned; `None`: never.
    pub until: Option<Time>,
}

/// Returns the outages of a network as its nodes notice them: of each port in turn, by time.
///
/// # Errors
/// As for [`Timeline::new`].
pub fn outages(network: &Network) -> Result<Vec<Outage>, String> {
    let timeline = Timeline::new(network)?;
    let mut found = Vec::new();
    for (&(node, port), link) in &timeline.ends {
        let Detection { switches, hosts } = network.detection;
        let delay = if network.is_host(node) { hosts } else { switches };
        let noticed = timeline.links[link].noticed(delay.ps());
        for (place, (begin, _)) in noticed.iter().enumerate().filter(|(_, (_, up))| !up) {
            let until = noticed.get(place + 1).map(|(end, _)| Time::from_ps(*end));
            found.push(Outage { node, port, from: Time::from_ps(*begin), until });
        }
    }
    Ok(found)
}

/// The timelines of all links.
#[derive(Clone, Debug, Default)]
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

    /// Returns the timelines as nodes see them that need so long to notice whether a link works.
    pub fn seen_after(&self, delay: Time) -> Self {
        if delay == Time::ZERO {
            return self.clone();
        }
        let links: BTreeMap<u32, LinkTimeline> =
            self.links.iter().map(|(link, timeline)| (*link, timeline.seen_after(delay.ps()))).collect();
        let noticed = self.links.values().flat_map(|timeline| timeline.noticed(delay.ps()));
        let mut routes_change: Vec<u64> = noticed.map(|(time, _)| time).collect();
        routes_change.sort_unstable();
        routes_change.dedup();
        Self { links, ends: self.ends.clone(), routes_change }
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

    /// A port with the smallest rate and the largest delay that its link ever has.
    pub fn slowest(&self, node: NodeId, port: PortId, out: Out) -> Out {
        let changed = self.of(node, port).into_iter().flat_map(LinkTimeline::states);
        changed.fold(out, |out, (_, state)| Out {
            rate: out.rate.min(state.rate),
            delay: out.delay.max(state.delay),
            ..out
        })
    }

    /// All rates that links change to.
    pub fn rates(&self) -> impl Iterator<Item = Rate> {
        self.links.values().flat_map(LinkTimeline::states).map(|(_, state)| state.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::network::Change;

    #[test]
    fn a_state_that_lasts_is_noticed_later_and_a_short_one_never() {
        // Down at 10, up at 14, down at 20, up at 40 us; a rate that changes at 22 us.
        let mut network = Network::with_hosts(1);
        let switch = network.add_switch("s0");
        network.add_link(0, switch, Rate::from_gbps(100), Time::from_us(1));
        let change = |us, what| Change { time: Time::from_us(us), link: 0, what };
        let half = LinkChange::Rate(Rate::from_gbps(50));
        network.changes = [
            (10, LinkChange::Down),
            (14, LinkChange::Up),
            (20, LinkChange::Down),
            (22, half),
            (40, LinkChange::Up),
        ]
        .map(|(us, what)| change(us, what))
        .to_vec();
        let timeline = Timeline::new(&network).unwrap();
        let noticed = |us: u64| {
            let link = timeline.of(0, 0).unwrap();
            link.noticed(us * 1_000_000).into_iter().map(|(at, up)| (at / 1_000_000, up)).collect::<Vec<_>>()
        };
        assert_eq!(noticed(0), [(10, false), (14, true), (20, false), (40, true)]);
        assert_eq!(noticed(3), [(13, false), (17, true), (23, false), (43, true)]);
        // At 14 us it works again: four microseconds without it are not noticed, nor is it that it works.
        assert_eq!(noticed(4), [(24, false), (44, true)]);
        // The six in which it works again are not noticed either after that.
        assert_eq!(noticed(19), [(39, false), (59, true)]);
        assert_eq!(noticed(20), []);
        // What is seen late is whether it works, and not its rate.
        let seen = timeline.seen_after(Time::from_us(4));
        assert_eq!(seen.routes_change, [24_000_000, 44_000_000]);
        let at = |us: u64| {
            let out = Out { node: switch, port: 0, rate: Rate::from_gbps(100), delay: Time::from_us(1) };
            (seen.is_up(0, 0, us * 1_000_000), seen.out_at(0, 0, out, us * 1_000_000).rate)
        };
        assert_eq!(at(23), (true, Rate::from_gbps(50)));
        assert_eq!(at(24), (false, Rate::from_gbps(50)));
        assert_eq!(at(43), (false, Rate::from_gbps(50)));
        assert_eq!(at(44), (true, Rate::from_gbps(50)));
        // The host notices at once, and the switch after 15 us: nothing of the first failure.
        let mut late = network.clone();
        late.changes.truncate(4);
        late.detection.switches = Time::from_us(15);
        let times = |network: &Network| {
            let us = |time: Time| time.ps() / 1_000_000;
            let of = |one: Outage| ((one.node, one.port), us(one.from), one.until.map(us));
            outages(network).unwrap().into_iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(times(&late), [((0, 0), 10, Some(14)), ((0, 0), 20, None), ((switch, 0), 35, None)]);
        late.changes = network.changes.clone();
        assert_eq!(
            times(&late),
            [((0, 0), 10, Some(14)), ((0, 0), 20, Some(40)), ((switch, 0), 35, Some(55))]
        );
    }
}
