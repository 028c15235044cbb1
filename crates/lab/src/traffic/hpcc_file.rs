//! The flows of a `flow.txt`.

use std::collections::BTreeMap;

use incast_units::Time;

use super::{Draft, Faults, Reach, Setting};
use crate::formats::hpcc_flows::{Extra, HpccFlow, HpccFlows};
use crate::grammar::foreign::Foreign;
use crate::grammar::section::section;
use crate::problem::{Problem, fault};

/// Most flows whose hosts do not exist that are named one by one.
const MOST_NAMED: usize = 5;

section! {
    /// Flows listed in a `flow.txt`, as the simulators of HPCC and its descendants read it.
    ///
    /// Host 7 of the file is the host called `h7`.
    pub(crate) struct HpccFile {
        /// The file.
        file: Foreign<HpccFlows>,
        /// Only flows of this priority group.
        pg: Option<u16> = None,
        /// Only flows to this UDP port.
        dport: Option<u16> = None,
        /// Start of the first flow of the file; all others are shifted by the same time. By default flows
        /// start as given in the file.
        first: Option<Time> = None,
        /// Whether lines beyond the number of flows in the first line are left out, as ns-3's simulators do. If
        /// false, such a file is refused.
        ignore_extra: bool = false,
    }
}

impl HpccFile {
    fn selected(&self) -> impl Iterator<Item = (u64, &HpccFlow)> {
        let wanted = |flow: &HpccFlow| {
            self.pg.is_none_or(|pg| pg == flow.pg) && self.dport.is_none_or(|port| flow.dport == Some(port))
        };
        (0_u64..).zip(self.file.content().flows()).filter(move |(_, flow)| wanted(flow))
    }

    /// Returns the start of a flow; `None` if it is beyond all time.
    fn start(&self, flow: &HpccFlow) -> Option<Time> {
        match self.first {
            Some(first) => first.checked_add(flow.start.checked_sub(self.file.content().first_start())?),
            None => Some(flow.start),
        }
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        let path = self.file.path();
        let mut faults = Vec::new();
        let mut hosts: BTreeMap<u32, Result<u32, Problem>> = BTreeMap::new();
        let mut host =
            |id: u32| hosts.entry(id).or_insert_with(|| setting.world.host(&format!("h{id}"))).clone();
        let mut pairs = std::collections::BTreeSet::new();
        let mut earliest = None;
        let mut number = 0_usize;
        match self.file.content().extra() {
            Some(Extra { line, lines }) if !self.ignore_extra => {
                let message = format!(
                    "the first line says that there are {} flows, but {} more; correct the number, or write \
                     ignore_extra = true to leave these out, as ns-3's simulators do",
                    self.file.content().flows().len(),
                    if lines == 1 {
                        "there is 1 line".to_owned()
                    } else {
                        format!("there are {lines} lines")
                    },
                );
                faults.push(fault("file", message).in_file(path).on_line(line));
            }
            None if self.ignore_extra => {
                faults.push(fault(
                    "ignore_extra",
                    "has no effect: the file has as many lines as its first line says",
                ));
            }
            _ => {}
        }
        for (_, flow) in self.selected() {
            number += 1;
            match (host(flow.source), host(flow.destination)) {
                (Ok(source), Ok(destination)) => {
                    pairs.insert((source, destination));
                }
                (source, destination) => {
                    let ends = [("src", source.err()), ("dst", destination.err())];
                    for (name, message) in ends.into_iter().filter_map(|(name, end)| Some((name, end?))) {
                        faults.push(
                            fault("file", format!("{name}: {message}")).in_file(path).on_line(flow.line),
                        );
                    }
                    if faults.len() >= MOST_NAMED {
                        return Err(faults);
                    }
                }
            }
            match self.start(flow) {
                Some(start) => earliest = Some(earliest.map_or(start, |other: Time| other.min(start))),
                None => {
                    let message = "the flow would start later than any time that can be counted";
                    faults.push(fault("first", message).in_file(path).on_line(flow.line));
                    return Err(faults);
                }
            }
        }
        if number == 0 {
            let (key, what) =
                if self.dport.is_some() { ("dport", "UDP port") } else { ("pg", "priority group") };
            faults.push(fault(key, format!("{path} has no flow of this {what}")));
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

    pub(super) fn make(&self, setting: &Setting<'_>) -> Result<Vec<Draft>, Faults> {
        let at = |name: &str| setting.world.host(name);
        let mut drafts = Vec::new();
        for (index, flow) in self.selected() {
            let ends = (at(&format!("h{}", flow.source)), at(&format!("h{}", flow.destination)));
            let (Ok(source), Ok(destination), Some(start)) = (ends.0, ends.1, self.start(flow)) else {
                // The check names the flow.
                return self.check(setting).map(|_| Vec::new());
            };
            drafts.push(Draft { index, source, destination, size: flow.size, start, stop: Time::NEVER });
        }
        Ok(drafts)
    }
}
