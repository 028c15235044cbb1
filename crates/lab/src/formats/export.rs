//! A saved result in the formats of other programs.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use incast_units::Time;

use super::{hpcc_fct, perfetto};
use crate::problem::Problem;
use crate::results::{ResultError, ResultFolder, Table, TableName};

fn table(result: &ResultFolder, name: TableName) -> Result<Table, Problem> {
    result.table(name).map_err(problem)
}

fn problem(error: ResultError) -> Problem {
    Problem::new(error.to_string())
}

/// Writes the finished flows of a result as an `fct.txt`. See [`hpcc_fct`].
///
/// # Errors
/// When the result cannot be read, the file exists and must not be replaced, or it cannot be written.
pub fn fct(result: &ResultFolder, path: &Path, replace: bool) -> Result<hpcc_fct::Written, Problem> {
    let flows = table(result, TableName::Flows)?;
    let ports = hpcc_fct::ports(&result.scenario().map_err(problem)?);
    let port = |group: &str| ports.get(group).copied().unwrap_or(hpcc_fct::PORT_NORMAL);
    write_whole(path, replace, |out| hpcc_fct::write(&flows, &port, out))
}

/// Writes a result as a trace for the Perfetto viewer. See [`perfetto`].
///
/// # Errors
/// As [`fct`].
pub fn trace(result: &ResultFolder, path: &Path, replace: bool) -> Result<perfetto::Written, Problem> {
    let flows = table(result, TableName::Flows)?;
    let port_series = table(result, TableName::PortSeries)?;
    let pauses = table(result, TableName::Pauses)?;
    let ports = table(result, TableName::Ports)?;
    let info = result.info();
    // A run that was killed does not say how far it came; what it wrote does.
    let end = info.outcome.as_ref().map(|outcome| Time::from_ps(outcome.now_ps));
    let end = end.unwrap_or_else(|| perfetto::latest(&[&flows, &port_series, &pauses]));
    let source = perfetto::Source {
        name: &info.name,
        end,
        flows: &flows,
        port_series: &port_series,
        pauses: &pauses,
        ports: &ports,
    };
    write_whole(path, replace, |out| perfetto::write(&source, out))
}

/// Writes a file atomically: it appears under its name only when it is complete.
fn write_whole<T>(
    path: &Path,
    replace: bool,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>,
) -> Result<T, Problem> {
    let file = path.display().to_string();
    if !replace && path.exists() {
        return Err(Problem::new("the file already exists").in_file(file).with_hint("--force replaces it"));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.tmp"));
    let written = || {
        let mut out = BufWriter::with_capacity(1 << 18, File::create(&temporary)?);
        let written = write(&mut out)?;
        out.flush()?;
        out.get_ref().sync_all()?;
        fs::rename(&temporary, path)?;
        Ok(written)
    };
    written().map_err(|error: io::Error| {
        let _ = fs::remove_file(&temporary);
        Problem::new(format!("cannot be written: {error}")).in_file(file)
    })
}
