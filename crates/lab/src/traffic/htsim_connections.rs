//! The connections of an htsim connection matrix.

use incast_cc::Fixed;
use incast_units::Time;

use super::hosts::Hosts;
use super::placed::Placed;
use super::{Faults, Setting};
use crate::formats::htsim_connections::HtsimConnections as Matrix;
use crate::grammar::foreign::Foreign;
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::problem::fault;

section! {
    /// The connections of an htsim connection matrix (`.cm`), with its triggers.
    ///
    /// Node i is host i, or the host i of `hosts`.
    pub(crate) struct HtsimConnections {
        /// The file.
        file: Foreign<Matrix>,
        /// The host of each node, as many as there are nodes; by default the first hosts of the network.
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

impl HtsimConnections {
    pub(super) fn placed(&self, setting: &Setting<'_>) -> Result<Placed, Faults> {
        let (matrix, path) = (self.file.content(), self.file.path());
        let mut faults = Vec::new();
        match self.start_unit {
            None if matrix.has_starts() => {
                let message = "is missing: the file has start times without a unit; write \"1us\" for a file of \
                               htsim_uec, \"1ps\" for one of htsim_ndp";
                faults.push(fault("start_unit", message));
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
