//! Groups of hosts, or of network cards, that work together.

use super::hosts::{End, Hosts};
use super::ranks::{Layout, Ranks};
use super::{Faults, Setting};
use crate::grammar::section::choice;
use crate::problem::{Problem, fault};

/// Division of hosts, or of their network cards, into groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grouping {
    /// One group.
    One,
    /// Hosts that follow each other in the list.
    Consecutive,
    /// The first host of every switch, the second of every switch, and so on.
    OnePerSwitch,
    /// The first card of every host, the second of every host, and so on.
    OnePerRail,
}

choice! {
    Grouping {
        "one" => One: "all hosts together",
        "consecutive" => Consecutive: "as many as group_size that follow each other in the list",
        "one-per-switch" => OnePerSwitch: "the j-th host of every switch, for each j (OSCAR artifact)",
        "one-per-rail" => OnePerRail: "card r of every host, for each r: as many groups as a host has cards",
    }
}

/// Hosts that work together, and their ranks.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) hosts: Vec<u32>,
    pub(super) layout: Layout,
}

impl Group {
    /// Number of ranks.
    pub(super) fn ranks(&self) -> usize {
        self.hosts.len() * self.layout.per_host()
    }

    /// The ranks, host by host, as ends of flows.
    pub(super) fn members(&self) -> Vec<End> {
        self.layout.members(&self.hosts)
    }
}

/// The groups that the keys `hosts`, `groups`, `group_size` and `ranks` describe, each of two hosts or more; one group at
/// least.
pub(super) fn groups(
    setting: &Setting<'_>,
    hosts: &Hosts,
    grouping: Grouping,
    size: Option<u32>,
    ranks: Option<Ranks>,
) -> Result<Vec<Group>, Faults> {
    let of_hosts = divided(setting, hosts, grouping, size)?;
    let layout = Layout::of(setting, &of_hosts.concat(), ranks)?;
    if grouping != Grouping::OnePerRail {
        return Ok(of_hosts.into_iter().map(|hosts| Group { hosts, layout }).collect());
    }
    if ranks == Some(Ranks::Hosts) {
        let message = "= \"hosts\" does not go with groups = \"one-per-rail\", whose members are cards";
        return Err(vec![fault("ranks", message.to_owned())]);
    }
    let Some(cards) = layout.cards.filter(|cards| *cards > 1) else {
        let message = "= \"one-per-rail\" needs hosts with equally many network cards, two or more";
        return Err(vec![fault("groups", message.to_owned())]);
    };
    let of_card = |card| of_hosts.iter().map(move |hosts| (hosts.clone(), card));
    let of_cards = (0..cards).flat_map(of_card);
    Ok(of_cards.map(|(hosts, card)| Group { hosts, layout: layout.on_rail(card) }).collect())
}

/// The hosts of each group; with groups of cards all of them.
fn divided(
    setting: &Setting<'_>,
    hosts: &Hosts,
    grouping: Grouping,
    size: Option<u32>,
) -> Result<Vec<Vec<u32>>, Faults> {
    let hosts = hosts.resolve(setting.world).map_err(|message| vec![fault("hosts", message)])?;
    let wrong = |key: &str, message: String| Err::<_, Vec<Problem>>(vec![fault(key, message)]);
    if let (Some(_), Grouping::One | Grouping::OnePerSwitch | Grouping::OnePerRail) = (size, grouping) {
        let message = "has no effect; write groups = \"consecutive\" with it";
        return wrong("group_size", message.to_owned());
    }
    let groups = match (grouping, size) {
        (Grouping::One | Grouping::OnePerRail, _) => vec![hosts],
        (Grouping::Consecutive, None) => {
            return wrong("group_size", "is missing; groups = \"consecutive\" needs it".to_owned());
        }
        (Grouping::Consecutive, Some(size)) if !hosts.len().is_multiple_of(size as usize) => {
            return wrong(
                "group_size",
                format!("{} hosts cannot be divided into groups of {size}", hosts.len()),
            );
        }
        (Grouping::Consecutive, Some(size)) => hosts.chunks(size as usize).map(<[u32]>::to_vec).collect(),
        (Grouping::OnePerSwitch, _) => {
            let mut groups: Vec<Vec<u32>> = Vec::new();
            let mut taken = std::collections::BTreeMap::new();
            for host in hosts {
                let nth = taken.entry(setting.world.fabric.switch_of(host)).or_insert(0);
                if groups.len() == *nth {
                    groups.push(Vec::new());
                }
                groups[*nth].push(host);
                *nth += 1;
            }
            groups
        }
    };
    match groups.iter().find(|group| group.len() < 2) {
        Some(_) => wrong("groups", "makes a group of a single host; each needs two or more".to_owned()),
        None => Ok(groups),
    }
}

/// The name of a group's job: its number, or nothing if there is only one group.
pub(super) fn job_name(groups: usize, group: usize) -> String {
    if groups == 1 { String::new() } else { format!("group{group}") }
}
