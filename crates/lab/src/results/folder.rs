//! A result's folder after the run, also of a run that was killed.

use std::fs::{self, File, TryLockError};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::info::Written;
use super::writer::{merged_name, names, part_name, read_info};
use super::{ResultError, ResultInfo, SCENARIO_FILE, Table, TableName, parquet_io};
use crate::hash::Digest;

/// Whether a result is all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The run ended cleanly; everything is there.
    Complete,
    /// The run goes on at this moment; what is there so far can be read.
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
    /// When there is none or its `result.json` cannot be understood.
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

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Whether it was all there when it was opened.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// What made it, how the run ended, totals and summary.
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

    /// A table, as far as it was written: from its merged file, else from its parts. Totals per port
    /// exist only after a clean end; before it that table is empty.
    ///
    /// # Errors
    /// When a file cannot be read, or is missing from a complete result.
    pub fn table(&self, table: TableName) -> Result<Table, ResultError> {
        let merged = self.root.join(merged_name(table));
        if self.state == State::Complete && !table.is_optional() || merged.exists() {
            if self.info.has_digests() {
                self.check_digest(&merged_name(table), &digest_of(&merged)?)?;
            }
            let (schema, batches) = parquet_io::read(&merged)?;
            return Ok(Table { schema, batches });
        }
        let mut rows = Table::empty(table);
        let folder = self.root.join(table.as_str());
        if !folder.exists() {
            return Ok(rows);
        }
        let there = names(&folder)?;
        // Numbers without a gap: a later part without the earlier ones would be rows out of nowhere.
        for name in (0..).map(part_name).take_while(|name| there.contains(name)) {
            let (schema, batches) = parquet_io::read(&folder.join(name))?;
            rows.schema = schema;
            rows.batches.extend(batches);
        }
        Ok(rows)
    }

    /// Whether a file of a complete result is the one that was written.
    fn check_digest(&self, name: &str, digest: &str) -> Result<(), ResultError> {
        if !self.info.has_digests() || self.info.files.get(name).is_some_and(|written| written == digest) {
            return Ok(());
        }
        Err(ResultError::damaged(&self.root.join(name), "its content does not match its digest"))
    }

    /// What a table's file says of its origin, as keys and values: `version`, `name`, `seed`,
    /// `scenario` and, after a clean end, `fingerprint`.
    ///
    /// # Errors
    /// When there is no such file or it cannot be read.
    pub fn origin(&self, table: TableName) -> Result<Vec<(String, String)>, ResultError> {
        let merged = self.root.join(merged_name(table));
        let first_part = self.root.join(table.as_str()).join(part_name(0));
        parquet_io::origin(if merged.exists() { &merged } else { &first_part })
    }
}

/// The digest of a file.
fn digest_of(path: &Path) -> Result<String, ResultError> {
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

/// Whether somebody writes the result at this moment.
fn is_locked(scenario: &Path) -> bool {
    File::open(scenario)
        .is_ok_and(|f| matches!(retry_while_locked(|| f.try_lock_shared()), Err(TryLockError::WouldBlock)))
}

/// How often a lock is tried for, and how long is waited in between.
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
