//! The folder of a result during the run.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;

use super::folder::{damaged_content, digest_of, retry_while_locked};
use super::info::{FORMAT, FORMAT_VERSION, Written};
use super::parquet_io::{self, EachBatch, Origin, Part};
use super::tables::TABLES;
use super::{
    CAPTURE_FILE, INFO_FILE, ResultError, ResultFolder, ResultInfo, SCENARIO_FILE, Table, TableName,
};
use crate::hash::Digest;

/// Writes a result's folder. Dropped before [`finish`](Self::finish), it leaves an incomplete result
/// that can be read up to its last part.
#[derive(Debug)]
pub struct ResultWriter {
    root: PathBuf,
    origin: Origin,
    /// The parts of each table, in order: files first, then rows in memory.
    parts: [Vec<Part>; TABLES],
    /// The digest of the effective scenario.
    scenario: String,
    /// The digest of the captured packets, once they are all written.
    capture: Option<String>,
    /// Whether to wait until the whole result is on disk.
    waits: bool,
    /// `scenario.toml`, locked: the operating system releases the lock however the process ends.
    _lock: File,
}

impl ResultWriter {
    /// Claims the folder `root`, which is created if necessary, for a new result. Returns what it removed,
    /// if anything: an incomplete result or, with `replace`, a complete one.
    ///
    /// # Errors
    /// When the folder contains anything else, contains a complete result and `replace` is not set, belongs
    /// to a run in progress, or cannot be written.
    pub fn create(
        root: &Path,
        info: &ResultInfo,
        scenario: &str,
        replace: bool,
    ) -> Result<(Self, Option<String>), ResultError> {
        look(root)?;
        Self::create_after_look(root, info, scenario, replace)
    }

    /// The rest of [`create`](Self::create). Other runs may have come and gone since the look.
    fn create_after_look(
        root: &Path,
        info: &ResultInfo,
        scenario: &str,
        replace: bool,
    ) -> Result<(Self, Option<String>), ResultError> {
        let path = root.join(SCENARIO_FILE);
        let mut lock = lock(root, &path)?;
        // From here on no other process changes the folder.
        let old = occupant(root)?;
        if old == Some(Written::Complete) && !replace {
            return Err(ResultError::Exists(root.to_owned()));
        }
        let digest = Digest::of(scenario.as_bytes());
        let origin = vec![
            ("version", info.incast_version.clone()),
            ("name", info.name.clone()),
            ("seed", info.seed.to_string()),
            ("scenario_digest", digest.clone()),
        ];
        // From here on the folder does not look complete any more, whatever happens.
        let mut begun = info.clone();
        begun.files.insert(SCENARIO_FILE.to_owned(), digest.clone());
        write_info(root, begun, Sync::Later)?;
        clear(root)?;
        let written = lock.set_len(0).and_then(|()| lock.write_all(scenario.as_bytes()));
        written.map_err(ResultError::io("write", &path))?;
        let cleared = old.map(|old| {
            let what = if old == Written::Complete { "a complete" } else { "an incomplete" };
            format!("removed {what} result of an earlier run from {}", root.display())
        });
        Ok((
            Self {
                root: root.to_owned(),
                origin,
                parts: Default::default(),
                scenario: digest,
                capture: None,
                waits: true,
                _lock: lock,
            },
            cleared,
        ))
    }

    /// Does not wait at the end until the result is on disk, unless it has parts: the caller does that for several
    /// results at once. A kill of the process loses nothing by that, a crash of the machine may.
    pub fn leave_to_caller(&mut self) {
        self.waits = false;
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Creates the file for captured packets, which grows during the run.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn capture(&self) -> Result<Digested, ResultError> {
        let path = self.root.join(CAPTURE_FILE);
        let file = File::create(&path).map_err(ResultError::io("create", &path))?;
        Ok(Digested::new(file))
    }

    /// All captured packets are written.
    ///
    /// # Errors
    /// When they do not reach the disk.
    pub(crate) fn captured(&mut self, file: Digested) -> io::Result<()> {
        self.capture = Some(file.finish(self.sync())?);
        Ok(())
    }

    /// Iterates over the rows of a table that were written so far, in order.
    ///
    /// # Errors When a part cannot be read, or `each` refuses its columns.
    pub(crate) fn each(&self, table: TableName, each: &mut EachBatch<'_>) -> Result<(), ResultError> {
        for part in &self.parts[table as usize] {
            match part {
                Part::File(path) => check_part(path).and_then(|()| parquet_io::read_each(path, each))?,
                // Of a file without rows there is no batch.
                Part::Rows(rows) if rows.num_rows() == 0 => {}
                Part::Rows(rows) => {
                    each(rows)
                        .map_err(|error| ResultError::damaged(&self.root.join(merged_name(table)), error))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the moment at which its files reach the disk. A result without any part took no longer than the time that
    /// a crash of the machine may cost anyway: its digests say whether the files arrived.
    fn sync(&self) -> Sync {
        let is_file = |part: &Part| matches!(part, Part::File(_));
        if self.parts.iter().flatten().any(is_file) { Sync::Now } else { Sync::Later }
    }

    /// Returns the moment at which the last file, `result.json`, reaches the disk.
    fn last_sync(&self) -> Sync {
        if self.waits { Sync::Now } else { self.sync() }
    }

    /// Makes an error of a failure to write captured packets.
    pub(crate) fn capture_error(&self, error: io::Error) -> ResultError {
        ResultError::io("write", &self.root.join(CAPTURE_FILE))(error)
    }

    /// Adds rows to a table that [`finish`](Self::finish) writes, unless they fill half a row group, which is a
    /// part. Until then a kill loses them.
    ///
    /// # Errors
    /// When the rows are a part, and it cannot be written.
    pub fn keep(&mut self, table: TableName, batch: &RecordBatch) -> Result<(), ResultError> {
        if parquet_io::is_copied(batch.num_rows()) {
            return self.part(table, batch);
        }
        self.parts[table as usize].push(Part::Rows(batch.clone()));
        Ok(())
    }

    /// Adds a part to a table, which a kill does not lose.
    ///
    /// # Errors
    /// When it cannot be written; the earlier parts stay.
    pub fn part(&mut self, table: TableName, batch: &RecordBatch) -> Result<(), ResultError> {
        // A part must not be on disk without the rows before it.
        let parts = &mut self.parts[table as usize];
        let files = parts.iter().take_while(|part| matches!(part, Part::File(_))).count();
        for part in parts.split_off(files) {
            if let Part::Rows(rows) = part {
                self.write_part(table, &rows)?;
            }
        }
        self.write_part(table, batch)
    }

    fn write_part(&mut self, table: TableName, batch: &RecordBatch) -> Result<(), ResultError> {
        let folder = self.root.join(table.as_str());
        let parts = &mut self.parts[table as usize];
        if parts.is_empty() {
            fs::create_dir_all(&folder).map_err(ResultError::io("create", &folder))?;
        }
        let name = part_name(parts.len());
        let mut part = folder.join(&name);
        write_named(
            &folder.join(&name),
            Sync::Now,
            |out| parquet_io::write(out, table.schema(), core::slice::from_ref(batch), &self.origin),
            |digest| {
                part.set_file_name(with_digest(&name, digest));
                part.clone()
            },
        )?;
        parts.push(Part::File(part));
        Ok(())
    }

    /// Gives the folder up before there is anything in it, and removes it if it is empty then.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn abandon(self) -> Result<(), ResultError> {
        remove(&self.root.join(INFO_FILE))?;
        remove(&self.root.join(SCENARIO_FILE))?;
        remove(&self.root.join(CAPTURE_FILE))?;
        // The folder may be the user's own and hold something by now.
        let _ = fs::remove_dir(&self.root);
        Ok(())
    }

    /// Merges the parts and completes the result with what is known at the end.
    ///
    /// # Errors
    /// When something cannot be written; the result is incomplete then, and its parts can be read.
    pub fn finish(mut self, info: &ResultInfo, fingerprint: u64) -> Result<ResultFolder, ResultError> {
        let mut info = info.clone();
        info.files.insert(SCENARIO_FILE.to_owned(), self.scenario.clone());
        self.origin.push(("fingerprint", format!("{fingerprint:016x}")));
        let (sync, last) = (self.sync(), self.last_sync());
        for table in TableName::ALL {
            if table.is_optional() && self.parts[table as usize].is_empty() {
                continue;
            }
            let parts = &self.parts[table as usize];
            for part in parts {
                if let Part::File(path) = part {
                    check_part(path)?;
                }
            }
            let mut damaged = Ok(());
            // Without parts a kill loses all rows anyway, so that the file needs no other name until it is complete:
            // what was cut has no end, and `result.json` does not name it.
            let has_files = parts.iter().any(|part| matches!(part, Part::File(_)));
            let path = self.root.join(merged_name(table));
            let write = |out: &mut Digested| {
                damaged = match table.sorted_by() {
                    Some(column) => write_sorted(out, table, column, parts, &self.origin)?,
                    None => parquet_io::merge(out, table.schema(), parts, &self.origin)?,
                };
                // An error keeps the merged file from getting its name.
                if damaged.is_ok() { Ok(()) } else { Err(io::Error::other("a part cannot be read")) }
            };
            let digest =
                if has_files { write_whole(&path, sync, write) } else { write_at_once(&path, sync, write) }
                    .or_else(|error| damaged.and(Err(error)))?;
            info.files.insert(merged_name(table), digest);
            if has_files {
                remove_parts(&self.root, table)?;
            }
        }
        if let Some(capture) = self.capture {
            info.files.insert(CAPTURE_FILE.to_owned(), capture);
        }
        let info = write_info(&self.root, info, last)?;
        Ok(ResultFolder::complete(self.root, info))
    }
}

/// The moment at which the content of a file is on disk, and not only in the memory of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sync {
    /// As soon as it is written.
    Now,
    /// At a time of the system's choice: a kill of the process loses nothing of it, a crash of the machine may.
    Later,
}

/// Removes everything that a result has beside its scenario and `result.json`.
fn clear(root: &Path) -> Result<(), ResultError> {
    for name in names(root)? {
        if let Some(table) = TableName::ALL.into_iter().find(|table| table.as_str() == name) {
            remove_parts(root, table)?;
        } else if is_temporary(&name) || is_file(&name) && ![INFO_FILE, SCENARIO_FILE].contains(&&*name) {
            remove(&root.join(name))?;
        }
    }
    Ok(())
}

/// Makes the folder, and refuses one that holds something else before anything is written into it.
fn look(root: &Path) -> Result<(), ResultError> {
    fs::create_dir_all(root).map_err(ResultError::io("create", root))?;
    occupant(root).map(drop)
}

/// Takes the lock of a result's folder.
fn lock(root: &Path, path: &Path) -> Result<File, ResultError> {
    loop {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(ResultError::io("write", path))?;
        match retry_while_locked(|| file.try_lock()) {
            Err(TryLockError::WouldBlock) => return Err(ResultError::Running(root.to_owned())),
            // Some file systems have no locks; then two runs into one folder cannot be told apart.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        // A run that gave up may have removed the file after it was opened here: then the lock is on
        // nothing, and the next run would get one as well.
        if path.exists() {
            return Ok(file);
        }
    }
}

/// Name of a table's file once its parts are merged.
pub(super) fn merged_name(table: TableName) -> String {
    format!("{}.parquet", table.as_str())
}

/// Name of a table's part in the table's folder, without its digest.
fn part_name(number: usize) -> String {
    format!("part-{number:05}.parquet")
}

/// Adds the digest to a file name: `part-00000.0123456789abcdef.parquet`.
fn with_digest(name: &str, digest: &str) -> String {
    let stem = name.strip_suffix(".parquet").unwrap_or(name);
    format!("{stem}.{digest}.parquet")
}

/// The number of a part and the digest in its name; `None` for another file. Earlier versions wrote parts
/// without digests.
pub(super) fn part(name: &str) -> Option<(usize, Option<&str>)> {
    let name = name.strip_prefix("part-")?.strip_suffix(".parquet")?;
    let (number, digest) =
        name.split_once('.').map_or((name, None), |(number, digest)| (number, Some(digest)));
    let digits = number.len() >= 5 && number.bytes().all(|b| b.is_ascii_digit());
    let sound = digest.is_none_or(|d| d.len() == 16 && d.bytes().all(|b| b.is_ascii_hexdigit()));
    (digits && sound).then(|| number.parse().ok()).flatten().map(|number| (number, digest))
}

/// Checks that a part is the one that was written.
pub(super) fn check_part(path: &Path) -> Result<(), ResultError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match part(&name).and_then(|(_, digest)| digest) {
        Some(digest) if digest != digest_of(path)? => Err(damaged_content(path)),
        _ => Ok(()),
    }
}

/// Name of a file while it is being written.
fn temporary_name(name: &str) -> String {
    format!(".{name}.tmp")
}

/// Returns the result that the folder holds; `None` if it is empty.
fn occupant(root: &Path) -> Result<Option<Written>, ResultError> {
    let foreign = |name: String| ResultError::Foreign { path: root.to_owned(), name };
    let mut names = names(root)?;
    // Left by a run that was killed between making and filling it.
    let blank = |name: &str| fs::metadata(root.join(name)).is_ok_and(|m| m.is_file() && m.len() == 0);
    names.retain(|name| !(is_temporary(name) || name == SCENARIO_FILE && blank(name)));
    let Some(first) = names.first() else { return Ok(None) };
    // A crash of the machine left it without content.
    let state = if blank(INFO_FILE) {
        Written::Running
    } else {
        read_info(root)?.ok_or_else(|| foreign(first.clone()))?.state
    };
    for name in names {
        let table = TableName::ALL.into_iter().find(|t| t.as_str() == name);
        if let Some(table) = table {
            let inside = self::names(&root.join(table.as_str()))?;
            if let Some(other) = inside.into_iter().find(|n| !is_part(n) && !is_temporary(n)) {
                return Err(foreign(format!("{name}/{other}")));
            }
        } else if !is_file(&name) {
            return Err(foreign(name));
        }
    }
    Ok(Some(state))
}

/// Reads `result.json`; `None` if the folder has none of ours.
pub(super) fn read_info(root: &Path) -> Result<Option<ResultInfo>, ResultError> {
    let path = root.join(INFO_FILE);
    let text = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(ResultError::io("read", &path))?,
    };
    let value: serde_json::Value =
        serde_json::from_slice(&text).map_err(|e| ResultError::damaged(&path, e))?;
    if value.get("format").and_then(|f| f.as_str()) != Some(FORMAT) {
        return Ok(None);
    }
    let of = |key| value.get(key).cloned().unwrap_or_default();
    if of("format_version").as_u64().is_some_and(|version| version > u64::from(FORMAT_VERSION)) {
        let version = of("incast_version").as_str().unwrap_or("of a later version").to_owned();
        return Err(ResultError::Later { path: root.to_owned(), version });
    }
    let info: ResultInfo = serde_json::from_value(value).map_err(|e| ResultError::damaged(&path, e))?;
    let text = info.text().map_err(|e| ResultError::damaged(&path, e))?;
    let sound = match &info.digest {
        Some(digest) => *digest == Digest::of(&text),
        None => !info.has_own_digest(),
    };
    if sound { Ok(Some(info)) } else { Err(damaged_content(&path)) }
}

/// Writes `result.json` with its own digest; gives back what it says.
fn write_info(root: &Path, mut info: ResultInfo, sync: Sync) -> Result<ResultInfo, ResultError> {
    let path = root.join(INFO_FILE);
    let mut text = info.text().map_err(|error| ResultError::io("write", &path)(error.into()))?;
    let digest = Digest::of(&text);
    add_digest(&mut text, &digest);
    info.digest = Some(digest);
    write_whole(&path, sync, |out| out.write_all(&text))?;
    Ok(info)
}

/// Makes of the content of `result.json` the whole file: its digest is the last key.
fn add_digest(text: &mut Vec<u8>, digest: &str) {
    const END: &[u8] = b"\n}";
    debug_assert!(text.ends_with(END), "an object on several lines");
    text.truncate(text.len() - END.len());
    text.extend_from_slice(format!(",\n  \"digest\": \"{digest}\"\n}}\n").as_bytes());
}

/// Writes a table that is no part of a result, like the one of a sweep, as a Parquet file. It appears under
/// its name only when it is complete.
///
/// # Errors
/// When it cannot be written.
pub fn write_sheet(path: &Path, batch: &RecordBatch) -> Result<(), ResultError> {
    write_whole(path, Sync::Now, |out| {
        parquet_io::write(out, batch.schema(), core::slice::from_ref(batch), &Origin::new())
    })
    .map(drop)
}

/// Bytes that a file gathers before they are written. Large tables come in pieces of more than that anyway; for
/// allocations of 64 KiB and more the C library tidies up its memory, which took a tenth of a short run.
const BUFFER: usize = 32 << 10;

/// A file with the digest of what was written to it.
#[derive(Debug)]
pub struct Digested {
    out: BufWriter<File>,
    digest: Digest,
}

impl Digested {
    fn new(file: File) -> Self {
        Self { out: BufWriter::with_capacity(BUFFER, file), digest: Digest::default() }
    }

    /// Writes what is left; returns the digest.
    fn finish(mut self, sync: Sync) -> io::Result<String> {
        self.out.flush()?;
        if sync == Sync::Now {
            self.out.get_ref().sync_all()?;
        }
        Ok(self.digest.finish())
    }
}

impl Write for Digested {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.digest.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes a file that appears under its name only when it is complete; returns its digest.
fn write_whole(
    path: &Path,
    sync: Sync,
    write: impl FnOnce(&mut Digested) -> io::Result<()>,
) -> Result<String, ResultError> {
    write_named(path, sync, write, |_| path.to_owned())
}

/// Writes a file under its name; returns its digest. What a kill leaves of it has not its end, by which `is_cut` in
/// `folder.rs` knows it.
fn write_at_once(
    path: &Path,
    sync: Sync,
    write: impl FnOnce(&mut Digested) -> io::Result<()>,
) -> Result<String, ResultError> {
    let try_write = || {
        let mut out = Digested::new(File::create(path)?);
        write(&mut out)?;
        out.finish(sync)
    };
    try_write().map_err(|error| {
        let _ = fs::remove_file(path);
        ResultError::io("write", path)(error)
    })
}

/// Writes a file whose name is made from the digest; `path` is its name in messages.
fn write_named(
    path: &Path,
    sync: Sync,
    write: impl FnOnce(&mut Digested) -> io::Result<()>,
    name_it: impl FnOnce(&str) -> PathBuf,
) -> Result<String, ResultError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(temporary_name(&name));
    let try_write = || {
        let mut out = Digested::new(File::create(&temporary)?);
        write(&mut out)?;
        let digest = out.finish(sync)?;
        fs::rename(&temporary, name_it(&digest))?;
        Ok(digest)
    };
    try_write().map_err(|error| {
        // What cannot be removed is not taken for a result either.
        let _ = fs::remove_file(&temporary);
        ResultError::io("write", path)(error)
    })
}

/// Whether this is the temporary name of one of our files, left by a run that was killed.
fn is_temporary(name: &str) -> bool {
    name.strip_prefix('.').and_then(|n| n.strip_suffix(".tmp")).is_some_and(|n| is_file(n) || is_part(n))
}

/// Whether a result's folder has a file of this name.
fn is_file(name: &str) -> bool {
    let others = [INFO_FILE, SCENARIO_FILE, CAPTURE_FILE];
    others.contains(&name) || TableName::ALL.into_iter().any(|t| merged_name(t) == name)
}

/// Whether a table's folder has a file of this name.
fn is_part(name: &str) -> bool {
    part(name).is_some()
}

/// The names in a folder, sorted.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, ResultError> {
    let entries = fs::read_dir(folder).map_err(ResultError::io("read", folder))?;
    let name = |e: io::Result<fs::DirEntry>| e.map(|e| e.file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> =
        entries.map(name).collect::<Result<_, _>>().map_err(ResultError::io("read", folder))?;
    names.sort();
    Ok(names)
}

/// Removes a table's folder with its parts, and nothing else that may be in there.
fn remove_parts(root: &Path, table: TableName) -> Result<(), ResultError> {
    let folder = root.join(table.as_str());
    if !folder.exists() {
        return Ok(());
    }
    for name in names(&folder)? {
        if is_part(&name) || is_temporary(&name) {
            remove(&folder.join(name))?;
        }
    }
    fs::remove_dir(&folder).map_err(ResultError::io("remove", &folder))
}

fn remove(path: &Path) -> Result<(), ResultError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ResultError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Writes the parts of a table as one file with the rows sorted by a column.
///
/// # Errors
/// As [`parquet_io::merge`].
fn write_sorted(
    out: impl Write + Send,
    name: TableName,
    column: &str,
    parts: &[Part],
    origin: &Origin,
) -> io::Result<Result<(), ResultError>> {
    let mut table = Table::empty(name);
    for part in parts {
        match part {
            Part::Rows(rows) => table.batches.push(rows.clone()),
            Part::File(path) => match parquet_io::read(path) {
                Ok((_, batches)) => table.batches.extend(batches),
                Err(error) => return Ok(Err(error)),
            },
        }
    }
    match table.groups_by(column) {
        Ok(groups) => parquet_io::write_each(out, table.schema.clone(), groups, origin),
        Err(error) => Ok(Err(error)),
    }
}

#[cfg(test)]
mod tests {
    use incast_sim::Simulation;
    use incast_sim::describe::network::Network;
    use incast_sim::describe::probe::Probes;
    use incast_sim::describe::switch::Switch;
    use incast_units::Time;

    use super::super::State;
    use super::*;

    fn info() -> ResultInfo {
        let simulation = Simulation {
            network: Network::with_hosts(2),
            switch: Switch::default(),
            transport: Default::default(),
            balancing: Default::default(),
            algorithms: Vec::new(),
            flows: Vec::new(),
            order: Vec::new(),
            operations: Vec::new(),
            probes: Probes::default(),
            impairments: Default::default(),
            seed: 1,
            until: Time::NEVER,
            stall_after: Time::NEVER,
            reuse: Default::default(),
            draws: Default::default(),
            threads: 1,
        };
        ResultInfo::begin("two writers", &simulation, &[])
    }

    /// The digest is added to the text that it is of: the file is as serde would write it with its digest.
    #[test]
    fn the_file_with_its_digest_is_the_info_as_json() {
        let mut text = info().text().unwrap();
        let digest = Digest::of(&text);
        add_digest(&mut text, &digest);
        let with = ResultInfo { digest: Some(digest), ..info() };
        let with = ResultInfo {
            started_unix_s: serde_json::from_slice::<ResultInfo>(&text).unwrap().started_unix_s,
            ..with
        };
        let mut whole = serde_json::to_vec_pretty(&with).unwrap();
        whole.push(b'\n');
        assert_eq!(String::from_utf8(text).unwrap(), String::from_utf8(whole).unwrap());
    }

    /// A small result is synced once, with its `result.json`; one with parts file by file, before these are removed.
    #[test]
    fn files_are_synced_one_by_one_where_there_are_parts() {
        let root = std::env::temp_dir().join(format!("incast-lab-synced-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let (mut writer, _) = ResultWriter::create(&root, &info(), "one", false).unwrap();
        let batch = RecordBatch::new_empty(TableName::Pauses.schema());
        writer.keep(TableName::Pauses, &batch).unwrap();
        assert_eq!(writer.sync(), Sync::Later);
        writer.part(TableName::Pauses, &batch).unwrap();
        assert_eq!(writer.sync(), Sync::Now);
        fs::remove_dir_all(&root).unwrap();
    }

    /// One of many results is synced by its caller, unless it has parts, which are removed.
    #[test]
    fn one_of_many_results_is_left_to_its_caller() {
        let root = std::env::temp_dir().join(format!("incast-lab-left-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let (mut writer, _) = ResultWriter::create(&root, &info(), "one", false).unwrap();
        writer.leave_to_caller();
        assert_eq!(writer.last_sync(), Sync::Later);
        writer.part(TableName::Pauses, &RecordBatch::new_empty(TableName::Pauses.schema())).unwrap();
        assert_eq!(writer.last_sync(), Sync::Now);
        drop(writer);
        let (writer, _) = ResultWriter::create(&root, &info(), "one", false).unwrap();
        assert_eq!(writer.last_sync(), Sync::Now);
        drop(writer);
        fs::remove_dir_all(&root).unwrap();
    }

    /// A crash of the machine may leave files empty that had not reached the disk.
    #[test]
    fn a_result_of_which_a_crash_left_empty_files_is_incomplete() {
        let root = std::env::temp_dir().join(format!("incast-lab-emptied-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let complete = ResultInfo { state: Written::Complete, ..info() };
        let (writer, _) = ResultWriter::create(&root, &info(), "one", false).unwrap();
        writer.finish(&complete, 7).unwrap();
        for emptied in [&[INFO_FILE][..], &[INFO_FILE, SCENARIO_FILE], &[INFO_FILE, "flows.parquet"]] {
            for name in emptied {
                File::create(root.join(name)).unwrap();
            }
            assert!(ResultFolder::open(&root).is_err());
            let (writer, cleared) = ResultWriter::create(&root, &info(), "two", false).unwrap();
            assert!(cleared.unwrap().contains("an incomplete result"));
            writer.finish(&complete, 8).unwrap();
            assert_eq!(ResultFolder::open(&root).unwrap().state(), State::Complete);
        }
        // What is not ours stays.
        File::create(root.join(INFO_FILE)).unwrap();
        fs::write(root.join("notes.txt"), "mine").unwrap();
        let refused = ResultWriter::create(&root, &info(), "three", true);
        assert!(matches!(refused, Err(ResultError::Foreign { name, .. }) if name == "notes.txt"));
        fs::remove_dir_all(&root).unwrap();
    }

    /// A table without parts is written under its own name: what a kill left of it is none, and the next run removes it.
    #[test]
    fn a_table_that_a_kill_cut_counts_as_none() {
        let root = std::env::temp_dir().join(format!("incast-lab-cut-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let complete = ResultInfo { state: Written::Complete, ..info() };
        let (writer, _) = ResultWriter::create(&root, &info(), "one", false).unwrap();
        writer.finish(&complete, 7).unwrap();
        let path = root.join(merged_name(TableName::Flows));
        let whole = fs::read(&path).unwrap();
        drop(ResultWriter::create(&root, &info(), "two", true).unwrap());
        assert!(!path.exists());
        for length in [0, 4, 11, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            let folder = ResultFolder::open(&root).unwrap();
            assert_eq!(folder.state(), State::Incomplete);
            assert_eq!(folder.table(TableName::Flows).unwrap().rows(), 0, "{length}");
            assert!(folder.origin(TableName::Flows).is_err());
        }
        fs::write(&path, &whole).unwrap();
        assert!(ResultFolder::open(&root).unwrap().origin(TableName::Flows).is_ok());
        // In a complete result, one that was cut is an error.
        let (writer, _) = ResultWriter::create(&root, &info(), "three", false).unwrap();
        writer.finish(&complete, 8).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert!(ResultFolder::open(&root).unwrap().table(TableName::Flows).is_err());
        fs::remove_dir_all(&root).unwrap();
    }

    /// The first writer looks at an empty folder; before it takes the lock, a second one writes a whole
    /// result. The first must find it, and neither destroy it nor say that there was none.
    #[test]
    fn a_result_that_appears_between_look_and_lock_is_not_destroyed() {
        let root = std::env::temp_dir().join(format!("incast-lab-two-writers-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        look(&root).unwrap();
        let (second, _) = ResultWriter::create(&root, &info(), "second", false).unwrap();
        // While the second writes, the first is told so.
        let running = ResultWriter::create_after_look(&root, &info(), "first", false);
        assert!(matches!(running, Err(ResultError::Running(_))));
        let complete = ResultInfo { state: Written::Complete, ..info() };
        second.finish(&complete, 7).unwrap();
        let exists = ResultWriter::create_after_look(&root, &info(), "first", false);
        assert!(matches!(exists, Err(ResultError::Exists(_))));
        let kept = ResultFolder::open(&root).unwrap();
        assert_eq!((kept.state(), kept.scenario().unwrap().as_str()), (State::Complete, "second"));
        // When asked to replace it, it says what it removed.
        let (first, cleared) = ResultWriter::create_after_look(&root, &info(), "first", true).unwrap();
        assert!(cleared.unwrap().contains("a complete result"));
        drop(first);
        fs::remove_dir_all(&root).unwrap();
    }
}
