//! Groups of hosts that work together.

use super::hosts::Hosts;
use super::{Faults, Setting};
use crate::grammar::section::choice;
use crate::problem::{Problem, fault};

/// Division of hosts into groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grouping {
    /// One group.
    One,
    /// Hosts that follow each other in the list.
    Consecutive,
    /// The first host of every switch, the second of every switch, and so on.
    OnePerSwitch,
}

choice! {
    Grouping {
        "one" => One: "all hosts together",
        "consecutive" => Consecutive: "as many as group_size that follow each other in the list",
        "one-per-switch" => OnePerSwitch: "the j-th host of every switch, for each j (OSCAR artifact)",
    }
}

/// The groups of hosts that the keys `hosts`, `groups` and `group_size` describe, each of two hosts or more.
pub(super) fn groups(
    setting: &Setting<'_>,
    hosts: &Hosts,
    grouping: Grouping,
    size: Option<u32>,
) -> Result<Vec<Vec<u32>>, Faults> {
    let hosts = hosts.resolve(setting.world).map_err(|message| vec![fault("hosts", message)])?;
    let wrong = |key: &str, message: String| Err::<_, Vec<Problem>>(vec![fault(key, message)]);
    if let (Some(_), Grouping::One | Grouping::OnePerSwitch) = (size, grouping) {
        let message = "has no effect; write groups = \"consecutive\" with it";
        return wrong("group_size", message.to_owned());
    }
    let groups = match (grouping, size) {
        (Grouping::One, _) => vec![hosts],
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
