//! The connections of an htsim connection matrix.

use incast_cc::Fixed;
use incast_units::{PS_PER_SECOND, Time};

use super::hosts::{End, Hosts};
use super::placed::Placed;
use super::{Faults, Setting};
use crate::formats::fields::{shown_seconds, shown_share};
use crate::formats::htsim_connections::HtsimConnections as Matrix;
use crate::grammar::foreign::Foreign;
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::problem::{Problem, fault};

section! {
    /// The connections of an htsim connection matrix (`.cm`), with its triggers.
    ///
    /// Node i is host i, or the host i of `hosts`.
    pub(crate) struct HtsimConnections {
        /// The file.
        file: Foreign<Matrix>,
        /// The host, or the network card, of each node, as many as there are nodes; by default the first hosts of the
        /// network.
        hosts: Option<Hosts> = None,
        /// Unit of the file's start times, which the file does not say: 1us for htsim_uec, and for
        /// htsim_eqds, htsim_roce and htsim_dcqcn of uet-htsim; 1ps for htsim_ndp. It must be given where a
        /// connection does not start at 0.
        start_unit: Option<Time> = None; Bound::Positive,
        /// Whether a connection that starts at one end of another, which has completed at its other end,
        /// starts when that connection completes at its own end. If false, such a file is refused.
        nearest_end: bool = false,
        /// Factor of all sizes; each connection keeps at least one byte.
        size_factor: Fixed = Fixed::ONE; Bound::Positive,
    }
}

/// The units of start times that programs take, and some of these.
const UNITS: [(Time, &str); 3] = [
    (Time::from_us(1), " (htsim_uec, and htsim_eqds, htsim_roce, htsim_dcqcn of uet-htsim)"),
    (Time::from_ns(1), ""),
    (Time::from_ps(1), " (htsim_ndp)"),
];

impl HtsimConnections {
    /// Returns the end of the starts and the load until then, by each unit.
    fn units(&self, setting: &Setting<'_>) -> String {
        let matrix = self.file.content();
        let ends = self.hosts.as_ref().and_then(|hosts| hosts.ends(setting.world).ok());
        let first = || (0..setting.world.fabric.network.hosts.min(matrix.nodes())).map(End::from).collect();
        let capacity = setting.world.capacity(&ends.unwrap_or_else(first)) as f64;
        let unit = |(unit, users): &(Time, &str)| {
            let seconds = matrix.last_start() * unit.ps() as f64 / PS_PER_SECOND as f64;
            let load = matrix.bytes() as f64 * 8.0 / seconds / capacity;
            format!(
                "\"{unit}\"{users}: the last connection starts at {}, and the payload is {} of what the hosts' links carry until then",
                shown_seconds(seconds),
                shown_share(load)
            )
        };
        let units: Vec<String> = UNITS.iter().map(unit).collect();
        format!("write start_unit, or give it to `incast convert` as --start-unit: {}", units.join("; "))
    }

    pub(super) fn placed(&self, setting: &Setting<'_>) -> Result<Placed, Faults> {
        let (matrix, path) = (self.file.content(), self.file.path());
        let mut faults = Vec::new();
        match self.start_unit {
            None if matrix.has_starts() => {
                let message = "is missing: the file has start times, and does not say their unit";
                let problem = Problem::new(message).with_hint(self.units(setting));
                faults.push(fault("start_unit", problem));
            }
            Some(_) if !matrix.has_starts() => {
                faults.push(fault(
                    "start_unit",
                    "has no effect: no connection of the file starts later than 0",
                ));
            }
            _ => {}
        }
        match matrix.moved() {
            Some(line) if !self.nearest_end => {
                let message = "the connection starts at one end of another when that completes at its other end, which is \
                               known here only after a delay; nearest_end = true starts it when the other completes \
                               at this end";
                faults.push(fault("file", message).in_file(path).on_line(line));
            }
            None if self.nearest_end => {
                let message = "has no effect: each trigger of the file acts where the completion is known";
                faults.push(fault("nearest_end", message));
            }
            _ => {}
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let work = matrix.workload(self.start_unit.unwrap_or(Time::from_us(1)));
        Placed::new(work.scaled(self.size_factor, Fixed::ONE), self.hosts.as_ref(), setting)
    }
}
