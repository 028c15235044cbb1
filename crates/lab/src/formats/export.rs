//! A saved result in the formats of other programs. [`FORMATS`](super::FORMATS) lists them.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::fields::grouped;
use crate::problem::Problem;
use crate::results::{ResultError, ResultFolder};

/// A format of other programs in which a result can be written.
pub trait Export {
    /// Extensions of its files, with their points, as `.txt`. No two formats share one.
    const EXTENSIONS: &'static [&'static str];
    /// Name of a file, for the help text.
    const EXAMPLE: &'static str;
    /// Content of a file in a few words, for the help text.
    const SUMMARY: &'static str;

    /// Writes a result.
    ///
    /// # Errors
    /// When the result cannot be read, or the file cannot be written.
    fn write(result: &ResultFolder, out: &mut dyn Write) -> Result<Written, Failure>;
}

/// An [`Export`] as a value.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Extensions of its files.
    pub extensions: &'static [&'static str],
    /// Name of a file.
    pub example: &'static str,
    /// Content of a file in a few words.
    pub summary: &'static str,
    write: fn(&ResultFolder, &mut dyn Write) -> Result<Written, Failure>,
}

impl Format {
    /// Returns the format `T`.
    #[must_use]
    pub const fn of<T: Export>() -> Self {
        Self { extensions: T::EXTENSIONS, example: T::EXAMPLE, summary: T::SUMMARY, write: T::write }
    }
}

/// Contents of a file that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Numbers of the things in it.
    pub counts: Vec<Count>,
    /// Remarks on what it does not have.
    pub notes: Vec<String>,
}

/// A number and the noun of what it counts. Prints as `1 flow` or `2,000 flows`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub usize, pub &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, noun) = *self;
        // Of `sample of ports` the first word takes the plural.
        let (first, rest) = noun.split_at(noun.find(' ').unwrap_or(noun.len()));
        let plural = if number == 1 { "" } else { "s" };
        write!(f, "{} {first}{plural}{rest}", grouped(number))
    }
}

/// Reason for which a result could not be exported.
#[derive(Debug)]
pub enum Failure {
    /// The result cannot be read.
    Read(ResultError),
    /// A table has not the columns of a result.
    Table(String),
    /// The file cannot be written.
    Write(io::Error),
}

impl From<ResultError> for Failure {
    fn from(error: ResultError) -> Self {
        Self::Read(error)
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Table(message)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

impl Failure {
    fn of_file(self, file: String) -> Problem {
        match self {
            Self::Read(error) => Problem::new(error.to_string()),
            Self::Table(message) => Problem::new(format!("cannot be written: {message}")).in_file(file),
            Self::Write(error) => Problem::new(format!("cannot be written: {error}")).in_file(file),
        }
    }
}

/// Writes a result in that one of `formats` whose extension `path` has. The file appears under its name only when it is
/// complete.
///
/// # Errors
/// When no format has the extension, the file exists and must not be replaced, the result cannot be read, or the file
/// cannot be written.
pub fn to_file(
    formats: &[Format],
    result: &ResultFolder,
    path: &Path,
    replace: bool,
) -> Result<Written, Problem> {
    let file = path.display().to_string();
    let extension = path.extension().map(|extension| format!(".{}", extension.to_string_lossy()));
    let has = |format: &&Format| extension.as_deref().is_some_and(|e| format.extensions.contains(&e));
    let Some(format) = formats.iter().find(has) else {
        return Err(Problem::new("no format has this extension").in_file(file));
    };
    if !replace && path.exists() {
        return Err(Problem::new("the file already exists").in_file(file).with_hint("--force replaces it"));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.tmp"));
    let written = || {
        let mut out = BufWriter::with_capacity(1 << 18, File::create(&temporary)?);
        let written = (format.write)(result, &mut out)?;
        out.flush()?;
        out.get_ref().sync_all()?;
        fs::rename(&temporary, path)?;
        Ok(written)
    };
    written().map_err(|failure: Failure| {
        let _ = fs::remove_file(&temporary);
        failure.of_file(file)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_commas_and_plurals() {
        assert_eq!(Count(1, "flow").to_string(), "1 flow");
        assert_eq!(Count(0, "pause").to_string(), "0 pauses");
        assert_eq!(Count(1_234_567, "sample of ports").to_string(), "1,234,567 samples of ports");
    }
}
