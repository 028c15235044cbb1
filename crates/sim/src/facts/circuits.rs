//! Circuits between racks: the schedule of the optical switch, as a function of time, and the racks.

use incast_net::describe::circuits::{Circuits as Description, VoqLimits};
use incast_net::describe::network::{Network, NodeId, NodeKind, Out, PortId};
use incast_net::queue_set::MAX_MEMBERS;
use incast_units::Time;

/// The number of a rack: that of the port of the optical switch which leads to it.
pub(crate) type Rack = u8;

/// The longest week; sums of a few of them do not overflow.
const LONGEST_WEEK: Time = Time::from_s(1_000_000);

/// The schedule and the racks, the same for all nodes. All times are by the ToRs' clocks. (ps)
#[derive(Debug)]
pub(crate) struct Circuits {
    day: u64,
    /// A day and a night.
    slot: u64,
    prebuffer: u64,
    voq: Option<VoqLimits>,
    /// The ToR of each rack.
    tors: Vec<NodeId>,
    /// The rack of each host.
    racks: Vec<Rack>,
}

/// A day: which matching holds, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Day {
    matching: u64,
    /// (ps)
    pub(crate) end: u64,
}

impl Circuits {
    /// The circuits of a network, if it has any.
    ///
    /// # Errors
    /// When its nodes and links do not fit them.
    pub(crate) fn new(network: &Network, ports: &[Vec<Out>]) -> Result<Option<Self>, String> {
        let of_kind = |kind: NodeKind| {
            (network.hosts..network.nodes.len() as NodeId).filter(move |node| network.kind(*node) == kind)
        };
        let name = |node: NodeId| &network.nodes[node as usize];
        let mut optical = of_kind(NodeKind::OpticalSwitch);
        let (optical, another) = (optical.next(), optical.next());
        let Some(description) = &network.circuits else {
            let without = optical.or_else(|| of_kind(NodeKind::Tor).next());
            return without
                .map_or(Ok(None), |node| Err(format!("{} needs a schedule of circuits", name(node))));
        };
        let Some(optical) = optical else { return Err("there are circuits, but no optical switch".into()) };
        if let Some(another) = another {
            return Err(format!(
                "{} and {} are optical switches: only one is possible",
                name(optical),
                name(another)
            ));
        }
        let links = &ports[optical as usize];
        let tors: Vec<NodeId> = links.iter().map(|out| out.node).collect();
        if !(2..=MAX_MEMBERS).contains(&tors.len()) {
            return Err(format!("{} connects 2 to {MAX_MEMBERS} racks, not {}", name(optical), tors.len()));
        }
        let differs = |out: &&Out| (out.rate, out.delay) != (links[0].rate, links[0].delay);
        if let Some(other) = links.iter().find(differs) {
            return Err(format!(
                "the links of {} have one rate and one delay, but not that of {}",
                name(optical),
                name(other.node)
            ));
        }
        for tor in of_kind(NodeKind::Tor).chain(tors.iter().copied()) {
            if network.kind(tor) != NodeKind::Tor {
                return Err(format!("{} is at {}, but is no ToR", name(tor), name(optical)));
            }
            let circuits = ports[tor as usize].iter().filter(|out| out.node == optical).count();
            let uplinks =
                ports[tor as usize].iter().filter(|out| out.node != optical && !network.is_host(out.node));
            let uplinks = uplinks.count();
            if (circuits, uplinks) != (1, 1) {
                return Err(format!(
                    "{} has {circuits} links to the optical switch and {uplinks} to other switches, not one of each",
                    name(tor)
                ));
            }
        }
        let rack_of = |outs: &Vec<Out>| match outs.as_slice() {
            [out] => tors.iter().position(|tor| *tor == out.node),
            _ => None,
        };
        let mut racks = Vec::with_capacity(network.hosts as usize);
        for (host, outs) in ports.iter().enumerate().take(network.hosts as usize) {
            let rack =
                rack_of(outs).ok_or_else(|| format!("{} needs one link, to a ToR", network.nodes[host]))?;
            racks.push(rack as Rack);
        }
        if !network.changes.is_empty() {
            return Err("links of a network with circuits cannot change".into());
        }
        let Description { day, night, prebuffer, voq } = *description;
        if day == Time::ZERO || night == Time::ZERO {
            return Err("days and nights must be longer than zero".into());
        }
        let slot = (day + night).ps();
        let week = slot.saturating_mul(tors.len() as u64 - 1);
        if week > LONGEST_WEEK.ps() {
            return Err(format!(
                "a week of days and nights takes {}, over {LONGEST_WEEK}",
                Time::from_ps(week)
            ));
        }
        let this = Self { day: day.ps(), slot, prebuffer: prebuffer.ps(), voq, tors, racks };
        if this.week() < this.prebuffer.saturating_add(this.day) {
            return Err(format!("{prebuffer} before a day, the last day of the same pair is not over"));
        }
        if let Some(VoqLimits { small, large }) = voq.filter(|voq| voq.large < voq.small) {
            return Err(format!("the large limit of a queue ({large}) is below the small one ({small})"));
        }
        Ok(Some(this))
    }

    /// Number of racks.
    pub(crate) fn count(&self) -> usize {
        self.tors.len()
    }

    /// The rack of a ToR.
    pub(crate) fn rack(&self, tor: NodeId) -> Option<Rack> {
        self.tors.iter().position(|node| *node == tor).map(|rack| rack as Rack)
    }

    /// The rack of a host.
    #[inline]
    pub(crate) fn rack_of(&self, host: u32) -> Rack {
        self.racks[host as usize]
    }

    /// From a day to the next one of the same matching.
    fn week(&self) -> u64 {
        self.slot * (self.count() as u64 - 1)
    }

    /// The day at `time`; `None` at night.
    pub(crate) fn day(&self, time: u64) -> Option<Day> {
        let (number, into) = (time / self.slot, time % self.slot);
        let matching = number % (self.count() as u64 - 1) + 1;
        (into < self.day).then(|| Day { matching, end: time - into + self.day })
    }

    /// Returns the first time after `time` at which a day begins or ends.
    pub(crate) fn next_change(&self, time: u64) -> u64 {
        let into = time % self.slot;
        time - into + if into < self.day { self.day } else { self.slot }
    }

    /// The rack to which this one sends in a matching.
    pub(crate) fn peer(&self, rack: Rack, day: Day) -> Rack {
        ((u64::from(rack) + day.matching) % self.count() as u64) as Rack
    }

    /// Whether at `time` the ToR of one rack announces a circuit to another: in their day, and for some time before.
    #[inline]
    pub(crate) fn is_announced(&self, time: u64, from: Rack, to: Rack) -> bool {
        let count = self.count() as u64;
        let matching = (u64::from(to) + count - u64::from(from)) % count;
        let Some(before) = matching.checked_sub(1) else { return false };
        let begin = before * self.slot;
        (time + self.prebuffer + self.week() - begin) % self.week() < self.prebuffer + self.day
    }

    /// Returns the number of bytes that the queue from one rack to another may hold at `time`.
    #[inline]
    pub(crate) fn voq_limit(&self, time: u64, from: Rack, to: Rack) -> u64 {
        match self.voq {
            None => u64::MAX,
            Some(voq) if self.is_announced(time, from, to) => voq.large.get(),
            Some(voq) => voq.small.get(),
        }
    }

    /// The port of the optical switch by which a packet leaves whose first and last bit left the ToR at `port` at
    /// these times; `None` if it is dark meanwhile.
    pub(crate) fn passage(&self, port: PortId, first: u64, last: u64) -> Option<PortId> {
        let day = self.day(first).filter(|day| last <= day.end)?;
        Some(PortId::from(self.peer(port as Rack, day)))
    }
}

#[cfg(test)]
mod tests {
    use incast_units::Bytes;

    use super::*;

    const US: u64 = 1_000_000;

    /// The network of PowerTCP, section 5: 25 racks, days of 225 us, nights of 20 us.
    fn powertcp(prebuffer: u64) -> Circuits {
        Circuits {
            day: 225 * US,
            slot: 245 * US,
            prebuffer: prebuffer * US,
            voq: Some(VoqLimits { small: Bytes::new(1), large: Bytes::new(2) }),
            tors: (0..25).collect(),
            racks: Vec::new(),
        }
    }

    #[test]
    fn the_schedule_by_hand() {
        let circuits = powertcp(0);
        // 24 days and nights; a pair has one of them: 225/5880 = 3.8265 %.
        assert_eq!(circuits.week(), 5_880 * US);
        assert_eq!(225 * 1_000_000 / 5_880, 38_265);
        for week in [0, 1, 2, 1000] {
            for m in 1..=24 {
                let begin = (week * 5_880 + (m - 1) * 245) * US;
                let end = begin + 225 * US;
                let day = Day { matching: m, end };
                assert_eq!([begin, end - 1].map(|time| circuits.day(time)), [Some(day); 2]);
                assert_eq!([end, end + 20 * US - 1].map(|time| circuits.day(time)), [None; 2]);
                assert_eq!([begin, end - 1].map(|time| circuits.next_change(time)), [end; 2]);
                assert_eq!(circuits.next_change(end), end + 20 * US);
                assert_eq!((circuits.peer(0, day), circuits.peer(24, day)), (m as u8, m as u8 - 1));
                // From rack 24 to rack m - 1: announced in that day alone, in which the queue may be long.
                let to = m as u8 - 1;
                for (time, is) in
                    [(begin, true), (end - 1, true), (end, false), (begin + 5_880 * US - 1, false)]
                {
                    assert_eq!(circuits.is_announced(time, 24, to), is, "{m} at {time}");
                    assert_eq!(circuits.voq_limit(time, 24, to), 1 + u64::from(is));
                }
            }
        }
    }

    #[test]
    fn a_day_is_announced_before_it_begins() {
        // 600 us before day 4 at 735 us; day 1 of week 1 at 5880 us; nothing before time zero.
        let circuits = powertcp(600);
        let at = |time: u64, to| circuits.is_announced(time * US, 0, to);
        assert_eq!([134, 135, 735, 959, 960].map(|time| at(time, 4)), [false, true, true, true, false]);
        assert_eq!([0, 224, 225, 5_279, 5_280].map(|time| at(time, 1)), [true, true, false, false, true]);
        // Day 24, at 5635 us, is announced from 5035 us on, not at the beginning.
        assert_eq!([0, 5_034, 5_035].map(|time| at(time, 24)), [false, false, true]);
    }

    #[test]
    fn nothing_passes_partly_in_the_dark() {
        let circuits = powertcp(0);
        let (begin, end) = (245 * US, 470 * US);
        assert_eq!(circuits.passage(24, begin, begin + 100), Some(1));
        assert_eq!(circuits.passage(24, begin - 1, begin + 99), None);
        assert_eq!(circuits.passage(24, end - 100, end), Some(1));
        assert_eq!(circuits.passage(24, end - 99, end + 1), None);
        assert_eq!(circuits.passage(24, end, end + 100), None);
    }
}
