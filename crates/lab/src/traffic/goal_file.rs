//! The schedule of a GOAL file.

use incast_cc::Fixed;

use super::hosts::Hosts;
use super::placed::Placed;
use super::ranks::Ranks;
use super::{Faults, Setting};
use crate::formats::goal::Goal;
use crate::grammar::foreign::Foreign;
use crate::grammar::section::section;
use crate::grammar::setting::Bound;
use crate::problem::fault;

section! {
    /// The messages and computations of a GOAL schedule, as LogGOPSim and ATLAHS read it.
    ///
    /// Rank i is host i, or the host i of `hosts`; where hosts have several network cards it can be a card of theirs.
    pub(crate) struct GoalFile {
        /// The file, as text or in the binary form of LogGOPSim's `txt2bin`.
        file: Foreign<Goal>,
        /// The host of each rank, as many as there are ranks, or its network card, as `"h0.3"`; by default the first hosts
        /// of the network. With ranks = "cards" the hosts whose cards they are.
        hosts: Option<Hosts> = None,
        /// Places of ranks: hosts, or all network cards of the hosts, host by host; messages within a host then take no
        /// time. By default hosts if these have one card each, and cards if these are as many as ranks.
        ranks: Option<Ranks> = None,
        /// Factor of all sizes of messages; each keeps at least one byte.
        size_factor: Fixed = Fixed::ONE; Bound::Positive,
        /// Factor of all times of computation; the file's unit is the nanosecond.
        compute_factor: Fixed = Fixed::ONE; Bound::Positive,
    }
}

impl GoalFile {
    pub(super) fn placed(&self, setting: &Setting<'_>) -> Result<Placed, Faults> {
        let work = &self.file.content().workload;
        if self.compute_factor != Fixed::ONE && !work.computes() {
            return Err(vec![fault("compute_factor", "has no effect: the file has no computation")]);
        }
        let work = work.clone().scaled(self.size_factor, self.compute_factor);
        Placed::ranked(work, self.hosts.as_ref(), self.ranks, setting)
    }
}
