//! A result's folder after the run, also after a run that was killed.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::info::Written;
use super::writer::{check_part, merged_name, names, part, read_info};
use super::{ResultError, ResultInfo, SCENARIO_FILE, Table, TableName, parquet_io};
use crate::hash::Digest;

/// Whether a result is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The run ended cleanly; the result is complete.
    Complete,
    /// The run is in progress; what was written so far can be read.
    Running,
    /// The run was killed or could not write; what it had written can be read.
    Incomplete,
}

/// A result on disk.
#[derive(Clone, Debug)]
pub struct ResultFolder {
    root: PathBuf,
    info: ResultInfo,
    state: State,
}

impl ResultFolder {
    /// Opens the result in the folder `root`.
    ///
    /// # Errors
    /// When there is none or its `result.json` is damaged.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, ResultError> {
        let root = root.into();
        let info = read_info(&root)?.ok_or_else(|| ResultError::NoResult(root.clone()))?;
        let state = match info.state {
            Written::Complete => State::Complete,
            Written::Running if is_locked(&root.join(SCENARIO_FILE)) => State::Running,
            Written::Running => State::Incomplete,
        };
        Ok(Self { root, info, state })
    }

    /// The result that was just completed in the folder `root`.
    pub(super) fn complete(root: PathBuf, info: ResultInfo) -> Self {
        Self { root, info, state: State::Complete }
    }

    /// Checks that every file of a complete result is the one that was written. Tables are checked again
    /// when they are read.
    ///
    /// # Errors
    /// When a file is missing, cannot be read, or has changed.
    pub fn verify(&self) -> Result<(), ResultError> {
        if self.state != State::Complete {
            return Ok(());
        }
        let required = TableName::ALL.into_iter().filter(|table| !table.is_optional()).map(merged_name);
        let named = self.info.files.keys().cloned();
        for name in required.chain(named).collect::<BTreeSet<_>>() {
            self.check_digest(&name, &digest_of(&self.root.join(&name))?)?;
        }
        Ok(())
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Whether it was complete when it was opened.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Its origin, how the run ended, totals and summary.
    #[must_use]
    pub fn info(&self) -> &ResultInfo {
        &self.info
    }

    /// The effective scenario.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn scenario(&self) -> Result<String, ResultError> {
        let path = self.root.join(SCENARIO_FILE);
        let text = fs::read_to_string(&path).map_err(ResultError::io("read", &path))?;
        self.check_digest(SCENARIO_FILE, &Digest::of(text.as_bytes()))?;
        Ok(text)
    }

    /// A table, as far as it was written: from its merged file, or else from its parts. Totals per port
    /// exist only after a clean end; before it that table is empty.
    ///
    /// # Errors
    /// When a file cannot be read, or is missing from a complete result.
    pub fn table(&self, table: TableName) -> Result<Table, ResultError> {
        let merged = self.root.join(merged_name(table));
        if self.state == State::Complete && !table.is_optional() || self.is_merged(&merged) {
            if self.info.has_digests() || self.info.files.contains_key(&merged_name(table)) {
                self.check_digest(&merged_name(table), &digest_of(&merged)?)?;
            }
            let (schema, batches) = parquet_io::read(&merged)?;
            return Ok(Table { schema, batches }.completed(table));
        }
        let mut rows = Table::empty(table);
        let folder = self.root.join(table.as_str());
        // Numbers without a gap: a later part without the earlier ones would be rows out of nowhere.
        for (_, part) in (0..).zip(parts(&folder)?).take_while(|(count, (number, _))| count == number) {
            check_part(&part.1)?;
            let (schema, batches) = parquet_io::read(&part.1)?;
            rows.schema = schema;
            rows.batches.extend(batches);
        }
        Ok(rows.completed(table))
    }

    /// Whether there is a table's merged file. Where the result is not complete, one that is still being written, or
    /// at which a kill ended that, counts as none.
    fn is_merged(&self, merged: &Path) -> bool {
        merged.exists() && (self.state == State::Complete || !is_cut(merged).unwrap_or(false))
    }

    /// Whether a file of the result is the one that was written.
    fn check_digest(&self, name: &str, digest: &str) -> Result<(), ResultError> {
        let sound = match self.info.files.get(name) {
            Some(written) => written == digest,
            None => !self.info.has_digests(),
        };
        if sound {
            return Ok(());
        }
        // A result that is kept open for long may have been replaced by another one.
        match read_info(&self.root) {
            Ok(Some(now)) if now.digest != self.info.digest => Err(ResultError::Replaced(self.root.clone())),
            _ => Err(damaged_content(&self.root.join(name))),
        }
    }

    /// The origin of a table as recorded in its file, as keys and values: `version`, `name`, `seed`,
    /// `scenario_digest` and, after a clean end, `fingerprint`. The digest is what `result.json` has for
    /// `scenario.toml`.
    ///
    /// # Errors
    /// When there is no such file or it cannot be read.
    pub fn origin(&self, table: TableName) -> Result<Vec<(String, String)>, ResultError> {
        let merged = self.root.join(merged_name(table));
        if self.is_merged(&merged) {
            return parquet_io::origin(&merged);
        }
        let folder = self.root.join(table.as_str());
        let first = parts(&folder)?.into_iter().next();
        parquet_io::origin(&first.map_or(merged, |(_, path)| path))
    }
}

/// The parts of a table in its folder, with their numbers, in order.
fn parts(folder: &Path) -> Result<Vec<(usize, PathBuf)>, ResultError> {
    let names = if folder.exists() { names(folder)? } else { Vec::new() };
    let number = |name: &String| Some((part(name)?.0, folder.join(name)));
    let mut parts: Vec<_> = names.iter().filter_map(number).collect();
    parts.sort();
    Ok(parts)
}

/// Whether a Parquet file has no end: the last that is written of it.
fn is_cut(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    if length < SMALLEST {
        return Ok(true);
    }
    let mut end = [0; MARK.len()];
    file.seek(SeekFrom::End(-(MARK.len() as i64)))?;
    file.read_exact(&mut end)?;
    Ok(end != MARK)
}

/// The bytes with which every Parquet file begins and ends.
const MARK: [u8; 4] = *b"PAR1";

/// Length of the shortest Parquet file: both marks, and the length of what is before the last.
const SMALLEST: u64 = 12;

/// The error of a file that has changed since it was written.
pub(super) fn damaged_content(path: &Path) -> ResultError {
    ResultError::damaged(path, "its content does not match its digest")
}

/// The digest of a file.
pub(super) fn digest_of(path: &Path) -> Result<String, ResultError> {
    let mut file = File::open(path).map_err(ResultError::io("read", path))?;
    let mut digest = Digest::default();
    let mut piece = vec![0; 1 << 18];
    loop {
        match file.read(&mut piece).map_err(ResultError::io("read", path))? {
            0 => return Ok(digest.finish()),
            read => digest.update(&piece[..read]),
        }
    }
}

/// Whether a process is writing the result.
fn is_locked(scenario: &Path) -> bool {
    File::open(scenario)
        .is_ok_and(|f| matches!(retry_while_locked(|| f.try_lock_shared()), Err(TryLockError::WouldBlock)))
}

/// Number of attempts to take a lock, and the time between them.
const LOCK_RETRIES: (u32, Duration) = (40, Duration::from_millis(5));

/// Tries for a lock for a fifth of a second before it counts as held: a reader holds one for an
/// instant, and a process that forks shares its open files, and with them their locks, with the child
/// until that begins its own program.
pub(super) fn retry_while_locked(attempt: impl Fn() -> Result<(), TryLockError>) -> Result<(), TryLockError> {
    for _ in 0..LOCK_RETRIES.0 {
        match attempt() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRIES.1),
            other => return other,
        }
    }
    attempt()
}
