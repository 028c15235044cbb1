//! Flows that a file lists.

use std::collections::{BTreeMap, BTreeSet};

use incast_units::{Bytes, Time};

use super::hosts::End;
use super::{Draft, Faults, Reach, Setting};
use crate::problem::{Problem, fault};

/// Most flows whose hosts do not exist that are named one by one.
const MOST_NAMED: usize = 5;

/// A flow of a file.
pub(super) struct Listed {
    /// Its number in the file.
    pub(super) index: u64,
    /// Its hosts, as the file names or numbers them.
    pub(super) ends: [u32; 2],
    pub(super) size: Bytes,
    pub(super) start: Time,
    /// Its line in the file, from 1.
    pub(super) line: u32,
}

/// The flows of a file, of which some may be left out.
pub(super) struct List<'a, F, H> {
    /// The file.
    pub(super) path: &'a str,
    /// The names of the fields with the hosts.
    pub(super) ends: [&'static str; 2],
    /// Returns the host or network card that a flow names so.
    pub(super) host: H,
    /// The flows.
    pub(super) flows: F,
    /// Adds the place of a flow, given its line, to a fault.
    pub(super) on: fn(Problem, u32) -> Problem,
    /// The start of the first flow of the file, and where the scenario moves it.
    pub(super) first: (Time, Option<Time>),
}

impl<F, H> List<'_, F, H>
where
    F: Iterator<Item = Listed> + Clone,
    H: Fn(u32) -> Result<End, Problem>,
{
    /// Returns when a flow starts; `None` if it is beyond all time.
    fn start(&self, start: Time) -> Option<Time> {
        match self.first {
            (earliest, Some(first)) => first.checked_add(start.checked_sub(earliest)?),
            (_, None) => Some(start),
        }
    }

    /// Checks the flows. `nothing` is the fault of a file without a flow.
    pub(super) fn check(
        &self,
        setting: &Setting<'_>,
        mut faults: Faults,
        nothing: impl FnOnce() -> Problem,
    ) -> Result<Reach, Faults> {
        let mut hosts: BTreeMap<u32, Result<End, Problem>> = BTreeMap::new();
        let mut host = |id: u32| hosts.entry(id).or_insert_with(|| (self.host)(id)).clone();
        let mut pairs = BTreeSet::new();
        let mut earliest: Option<Time> = None;
        for flow in self.flows.clone() {
            match flow.ends.map(&mut host) {
                [Ok(source), Ok(destination)] => {
                    let ends = [source, destination];
                    let problem = if source.host == destination.host {
                        let host = setting.world.name(source.host.into());
                        Some(format!("{}: {host} would send to itself", self.ends[1]))
                    } else if pairs.insert(ends) {
                        setting.world.apart(ends)
                    } else {
                        None
                    };
                    if let Some(problem) = problem {
                        faults.push(fault("file", problem).in_file(self.path).on_line(flow.line));
                        if faults.len() >= MOST_NAMED {
                            return Err(faults);
                        }
                    }
                }
                ends => {
                    for (name, end) in self.ends.iter().zip(ends) {
                        let Err(message) = end else { continue };
                        let problem = fault("file", format!("{name}: {message}")).in_file(self.path);
                        faults.push((self.on)(problem, flow.line));
                    }
                    if faults.len() >= MOST_NAMED {
                        return Err(faults);
                    }
                }
            }
            let Some(start) = self.start(flow.start) else {
                let message = "the flow would start later than any time that can be counted";
                faults.push((self.on)(fault("first", message).in_file(self.path), flow.line));
                return Err(faults);
            };
            earliest = Some(earliest.map_or(start, |other| other.min(start)));
        }
        if earliest.is_none() {
            faults.push(nothing());
        }
        if let (Some(until), Some(earliest)) = (setting.until, earliest)
            && earliest >= until
        {
            let message = format!(
                "the first flow starts at {earliest}, not before the end of the run (run.until is {until}); first = \
                 \"0s\" moves the flows to the beginning"
            );
            faults.push(fault("first", message));
        }
        if faults.is_empty() { Ok(Reach::Pairs(pairs.into_iter().collect())) } else { Err(faults) }
    }

    /// Makes the flows; `None` if one of them has a fault.
    pub(super) fn make(&self) -> Option<Vec<Draft>> {
        let draft = |flow: Listed| {
            let [source, destination] = flow.ends.map(|end| (self.host)(end).ok());
            Some(Draft::new(flow.index, [source?, destination?], flow.size, self.start(flow.start)?))
        };
        self.flows.clone().map(draft).collect()
    }
}
