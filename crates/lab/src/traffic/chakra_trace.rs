//! The work of Chakra execution traces.

use std::path::PathBuf;
use std::sync::Arc;

use incast_cc::Fixed;

use super::hosts::Hosts;
use super::placed::Placed;
use super::ranks::Ranks as RankPlaces;
use super::{Faults, Setting};
use crate::formats::chakra::ChakraRank;
use crate::formats::chakra_files::{self, ChakraFiles};
use crate::formats::chakra_workload::ChakraTrace as Trace;
use crate::grammar::foreign::Pinned;
use crate::grammar::reading::Reading;
use crate::grammar::section::section;
use crate::grammar::setting::{Bound, Setting as Value, Shape, wrong_type};
use crate::grammar::tree;
use crate::grammar::write::Out;
use crate::problem::fault;

section! {
    /// The messages, collectives and computations of Chakra execution traces (MLCommons), as ASTRA-sim reads
    /// them.
    ///
    /// Rank i is host i, or the host i of `hosts`; where hosts have several network cards it can be a card of theirs.
    pub(crate) struct ChakraTrace {
        /// The files, one of each rank: `*` is the rank. A name that ends in `.json` is a trace as JSON.
        file: Ranks,
        /// The host of each rank, as many as there are ranks, or its network card, as `"h0.3"`; by default the first hosts
        /// of the network. With ranks = "cards" the hosts whose cards they are.
        hosts: Option<Hosts> = None,
        /// Places of ranks: hosts, or all network cards of the hosts, host by host; messages within a host then take no
        /// time. By default hosts if these have one card each, and cards if these are as many as ranks.
        ranks: Option<RankPlaces> = None,
        /// Wait for `ctrl_deps` too, and not for `data_deps` alone.
        ctrl_deps: bool = false,
        /// Factor of all sizes of messages; each keeps at least one byte.
        size_factor: Fixed = Fixed::ONE; Bound::Positive,
        /// Factor of all times of computation.
        compute_factor: Fixed = Fixed::ONE; Bound::Positive,
    }
}

impl ChakraTrace {
    pub(super) fn placed(&self, setting: &Setting<'_>) -> Result<Placed, Faults> {
        let trace = &self.file.trace;
        if self.ctrl_deps && !trace.has_ctrl_deps() {
            return Err(vec![fault("ctrl_deps", "has no effect: no node of the traces has any")]);
        }
        let work = trace.workload(self.ctrl_deps).map_err(|problems| -> Faults {
            problems.0.into_iter().map(|problem| fault("file", problem)).collect()
        })?;
        let launches: usize = trace.ranks.iter().map(ChakraRank::launches).sum();
        if work.flows.is_empty() && launches > 0 {
            let message = format!(
                "the traces send nothing: all {launches} nodes of communication have is_cpu_op and are launches \
                 without the attributes of a communication (comm_type and comm_size, or comm_dst and comm_src)"
            );
            return Err(vec![fault("file", message)]);
        }
        if self.compute_factor != Fixed::ONE && !work.computes() {
            return Err(vec![fault("compute_factor", "has no effect: the traces have no computation")]);
        }
        let work = work.scaled(self.size_factor, self.compute_factor);
        Placed::ranked(work, self.hosts.as_ref(), self.ranks, setting)
    }
}

/// The files of all ranks. Two are equal when their contents are.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    /// As an absolute path, with `*` for the rank.
    path: String,
    /// A hash of all files.
    fingerprint: String,
    trace: Arc<Trace>,
}

impl PartialEq for Ranks {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl Value for Ranks {
    fn shape() -> Shape {
        Shape::Either(vec![Shape::Text("files like \"trace.*.et\""), Pinned::shape()])
    }

    fn read(node: &tree::Node, key: &str, reading: &mut Reading) -> Option<Self> {
        let pinned = match &node.value {
            tree::Value::Text(path) => Pinned { path: path.clone(), fingerprint: None },
            tree::Value::Table(_) => Pinned::read(node, key, reading)?,
            _ => return wrong_type(node, key, reading),
        };
        let pattern = reading.folder.join(&pinned.path);
        let ChakraFiles { paths, fingerprint, trace } = match chakra_files::read(&pattern) {
            Ok(files) => files,
            Err(problem) => {
                reading.wrong(node.place, key, problem);
                return None;
            }
        };
        if pinned.fingerprint.is_some_and(|wanted| wanted != fingerprint) {
            let message = format!("{} has changed since this scenario was made", pattern.display());
            reading.wrong(node.place, key, message);
            return None;
        }
        let trace = match trace {
            Ok(trace) => Arc::new(trace),
            Err(problems) => {
                problems.0.into_iter().for_each(|problem| reading.report(node.place, problem));
                return None;
            }
        };
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        reading.files.extend(paths.into_iter().map(absolute));
        let path = absolute(pattern).display().to_string();
        Some(Self { path, fingerprint, trace })
    }

    fn write(&self) -> Option<Out> {
        Pinned { path: self.path.clone(), fingerprint: Some(self.fingerprint.clone()) }.write()
    }
}
