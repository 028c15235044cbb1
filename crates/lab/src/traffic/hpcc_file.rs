//! The flows of a `flow.txt`.

use incast_units::Time;

use super::hosts::End;
use super::listed::{List, Listed};
use super::{Draft, Faults, Reach, Setting};
use crate::formats::hpcc_flows::{Extra, HpccFlow, HpccFlows};
use crate::grammar::foreign::Foreign;
use crate::grammar::section::section;
use crate::problem::{Problem, fault};

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
    fn selected(&self) -> impl Iterator<Item = Listed> + Clone {
        let wanted = |flow: &HpccFlow| {
            self.pg.is_none_or(|pg| pg == flow.pg) && self.dport.is_none_or(|port| flow.dport == Some(port))
        };
        let listed = |(index, flow): (u64, &HpccFlow)| {
            let &HpccFlow { source, destination, pg: _, dport: _, size, start, line } = flow;
            Listed { index, ends: [source, destination], size, start, line }
        };
        (0_u64..).zip(self.file.content().flows()).filter(move |(_, flow)| wanted(flow)).map(listed)
    }

    fn list<'a>(
        &'a self,
        setting: &'a Setting<'_>,
    ) -> List<'a, impl Iterator<Item = Listed> + Clone + 'a, impl Fn(u32) -> Result<End, Problem> + 'a> {
        List {
            path: self.file.path(),
            ends: ["src", "dst"],
            host: |id| setting.world.host(&format!("h{id}")).map(End::from),
            flows: self.selected(),
            on: Problem::on_line,
            first: (self.file.content().first_start(), self.first),
        }
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        let path = self.file.path();
        let mut faults = Vec::new();
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
        let (key, what) = if self.dport.is_some() { ("dport", "UDP port") } else { ("pg", "priority group") };
        let nothing = || fault(key, format!("{path} has no flow of this {what}"));
        self.list(setting).check(setting, faults, nothing)
    }

    pub(super) fn make(&self, setting: &Setting<'_>) -> Result<Vec<Draft>, Faults> {
        match self.list(setting).make() {
            Some(drafts) => Ok(drafts),
            // The check names the flow.
            None => self.check(setting).map(|_| Vec::new()),
        }
    }
}
