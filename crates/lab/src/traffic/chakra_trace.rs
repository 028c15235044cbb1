//! The work of Chakra execution traces.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use incast_cc::Fixed;

use super::hosts::Hosts;
use super::placed::Placed;
use super::{Faults, Setting};
use crate::files;
use crate::formats::chakra::ChakraRank;
use crate::formats::chakra_workload::ChakraTrace as Trace;
use crate::grammar::foreign::Pinned;
use crate::grammar::reading::Reading;
use crate::grammar::section::section;
use crate::grammar::setting::{Bound, Setting as Value, Shape, wrong_type};
use crate::grammar::tree;
use crate::grammar::write::Out;
use crate::hash::Digest;
use crate::problem::{Problem, Problems, fault};

section! {
    /// The messages, collectives and computations of Chakra execution traces (MLCommons), as ASTRA-sim reads
    /// them.
    ///
    /// Rank i is host i, or the host i of `hosts`.
    pub(crate) struct ChakraTrace {
        /// The files, one of each rank: `*` stands for the rank.
        file: Ranks,
        /// The host of each rank, as many as there are ranks; by default the first hosts of the network.
        hosts: Option<Hosts> = None,
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
        if self.compute_factor != Fixed::ONE && !work.computes() {
            return Err(vec![fault("compute_factor", "has no effect: the traces have no computation")]);
        }
        Placed::new(work.scaled(self.size_factor, self.compute_factor), self.hosts.as_ref(), setting)
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

/// The files of a pattern, by rank.
fn files_of(pattern: &Path) -> Result<Vec<PathBuf>, Problem> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some((before, after)) = name.split_once('*').filter(|(_, after)| !after.contains('*')) else {
        return Err("names the file of each rank with one * for its number, like \"trace.*.et\"".into());
    };
    let folder = pattern.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cannot = |error: std::io::Error| Problem::new(format!("cannot read {}: {error}", folder.display()));
    let mut ranks = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let name = entry.map_err(cannot)?.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        // As it would be written: `01` is another file than `1`.
        ranks.extend(number.and_then(|text| text.parse::<usize>().ok().filter(|n| n.to_string() == text)));
    }
    ranks.sort_unstable();
    let file = |rank: usize| folder.join(format!("{before}{rank}{after}"));
    if ranks.is_empty() {
        return Err(format!("there is no file {}", file(0).display()).into());
    }
    match ranks.iter().enumerate().find(|(i, rank)| i != *rank) {
        Some((i, rank)) => {
            Err(format!("there is no file {}, but one of rank {rank}", file(i).display()).into())
        }
        None => Ok(ranks.into_iter().map(file).collect()),
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
        let paths = match files_of(&pattern) {
            Ok(paths) => paths,
            Err(problem) => {
                reading.wrong(node.place, key, problem);
                return None;
            }
        };
        let mut digest = Digest::default();
        let mut ranks = Vec::new();
        let mut wrong = Problems::default();
        for path in &paths {
            let bytes = match files::read(path, files::MAX_LIST) {
                Ok(bytes) => bytes,
                Err(error) => {
                    reading.wrong(node.place, key, format!("cannot read {}: {error}", path.display()));
                    return None;
                }
            };
            digest.update(&bytes);
            match ChakraRank::parse(&bytes, &path.display().to_string()) {
                Ok(rank) => ranks.push(rank),
                Err(problems) => wrong.0.extend(problems.0),
            }
        }
        let fingerprint = digest.finish();
        if pinned.fingerprint.is_some_and(|wanted| wanted != fingerprint) {
            let message = format!("{} has changed since this scenario was made", pattern.display());
            reading.wrong(node.place, key, message);
            return None;
        }
        if !wrong.is_empty() {
            wrong.0.into_iter().for_each(|problem| reading.report(node.place, problem));
            return None;
        }
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        reading.files.extend(paths.into_iter().map(absolute));
        let path = absolute(pattern).display().to_string();
        Some(Self { path, fingerprint, trace: Arc::new(Trace { ranks }) })
    }

    fn write(&self) -> Option<Out> {
        Pinned { path: self.path.clone(), fingerprint: Some(self.fingerprint.clone()) }.write()
    }
}
