//! The files of Chakra traces: one of each rank.

use std::fs;
use std::path::{Path, PathBuf};

use super::chakra::ChakraRank;
use super::chakra_workload::ChakraTrace;
use incast_units::Bytes;

use crate::files;
use crate::hash::Digest;
use crate::problem::{Problem, Problems};

/// The files of all ranks.
pub(crate) struct ChakraFiles {
    /// Their paths, by rank.
    pub(crate) paths: Vec<PathBuf>,
    /// A hash of all files.
    pub(crate) fingerprint: String,
    /// Their content, or their problems, each with its file.
    pub(crate) trace: Result<ChakraTrace, Problems>,
}

/// Reads the files of a pattern, in which `*` is the rank.
///
/// # Errors
/// When the pattern names no files, or one cannot be read.
pub(crate) fn read(pattern: &Path) -> Result<ChakraFiles, Problem> {
    let paths = paths(pattern)?;
    let mut digest = Digest::default();
    let mut ranks = Vec::new();
    let mut wrong = Problems::default();
    // The limit is for all files together.
    let mut left = files::MAX_LIST;
    for path in &paths {
        let bytes = files::read(path, left)
            .map_err(|error| Problem::new(format!("cannot read {}: {error}", path.display())))?;
        left = Bytes::new(left.get() - bytes.len() as u64);
        digest.update(&bytes);
        match ChakraRank::read(&bytes, &path.display().to_string()) {
            Ok(rank) => ranks.push(rank),
            Err(problems) => wrong.0.extend(problems.0),
        }
    }
    let trace = if wrong.is_empty() { Ok(ChakraTrace { ranks }) } else { Err(wrong) };
    Ok(ChakraFiles { paths, fingerprint: digest.finish(), trace })
}

/// The files of a pattern, by rank.
fn paths(pattern: &Path) -> Result<Vec<PathBuf>, Problem> {
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
