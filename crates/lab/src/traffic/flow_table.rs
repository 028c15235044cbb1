//! The flows of a table.

use incast_units::Time;

use super::hosts::End;
use super::listed::{List, Listed};
use super::{Draft, Faults, Reach, Setting};
use crate::formats::flow_table::{FlowTable as Table, TableFlow, is_number};
use crate::grammar::foreign::Foreign;
use crate::grammar::section::section;
use crate::problem::{Problem, fault};

section! {
    /// Flows listed in a table: CSV or Parquet with the columns `source`, `destination`, `size` and `start`, and any others, which
    /// are not read.
    ///
    /// The unit of a column stands behind its name, as `size [KB]` or `start_us`, or in each cell. A host is given by
    /// its name, or a network card of it, as `h0.3`; a number n is the host called `hn`.
    pub(crate) struct FlowTable {
        /// The file.
        file: Foreign<Table>,
        /// Start of the first flow of the file; all others are shifted by the same time. By default flows
        /// start as given in the file.
        first: Option<Time> = None,
    }
}

fn listed((index, flow): (u64, &TableFlow)) -> Listed {
    Listed { index, ends: flow.ends, size: flow.size, start: flow.start, line: flow.line }
}

/// Returns the host or the network card with this name, or the host with this number.
fn end(setting: &Setting<'_>, name: &str) -> Result<End, Problem> {
    match setting.world.end(name) {
        Err(_) if is_number(name) => setting.world.end(&format!("h{name}")),
        found => found,
    }
}

impl FlowTable {
    fn list<'a>(
        &'a self,
        setting: &'a Setting<'_>,
    ) -> List<'a, impl Iterator<Item = Listed> + Clone + 'a, impl Fn(u32) -> Result<End, Problem> + 'a> {
        let table = self.file.content();
        let earliest = table.flows().iter().map(|flow| flow.start).min().unwrap_or(Time::ZERO);
        List {
            path: self.file.path(),
            ends: ["source", "destination"],
            host: move |id| end(setting, table.name(id)),
            flows: (0_u64..).zip(table.flows()).map(listed),
            on: table.on(),
            first: (earliest, self.first),
        }
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        self.list(setting).check(setting, Vec::new(), || fault("file", "there is no flow in this file"))
    }

    pub(super) fn make(&self, setting: &Setting<'_>) -> Result<Vec<Draft>, Faults> {
        match self.list(setting).make() {
            Some(drafts) => Ok(drafts),
            // The check names the flow.
            None => self.check(setting).map(|_| Vec::new()),
        }
    }
}
