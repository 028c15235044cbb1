use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Reason for which a result could not be written or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ResultError {
    /// An error of the operating system.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Action that failed: "write", "create".
        tried: &'static str,
        /// The error.
        error: io::Error,
    },
    /// The folder contains something that is not part of a result.
    Foreign {
        /// The folder.
        path: PathBuf,
        /// The name of a file in it that is not part of a result.
        name: String,
    },
    /// The folder contains a complete result, and replacing it was not requested.
    Exists(PathBuf),
    /// Another run is writing into the folder.
    Running(PathBuf),
    /// There is no result here.
    NoResult(PathBuf),
    /// The folder contains a different result from the one that was opened.
    Replaced(PathBuf),
    /// The result was written in a later format than this program knows.
    Later {
        /// The folder.
        path: PathBuf,
        /// Version of Incast that wrote it.
        version: String,
    },
    /// A file of the result is damaged or has an unknown format.
    Damaged {
        /// The file.
        path: PathBuf,
        /// Reason of the failure.
        reason: String,
    },
}

impl ResultError {
    /// Makes an error of what the operating system said about `path`.
    pub(super) fn io(tried: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { path: path.to_owned(), tried, error }
    }

    pub(super) fn damaged(path: &Path, reason: impl fmt::Display) -> Self {
        Self::Damaged { path: path.to_owned(), reason: reason.to_string() }
    }
}

impl fmt::Display for ResultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, tried, error } => {
                write!(f, "cannot {tried} {}: {error}", path.display())?;
                if error.kind() == io::ErrorKind::StorageFull {
                    f.write_str("\n    help: free some space, or probe fewer ports and flows or less often")?;
                }
                Ok(())
            }
            Self::Foreign { path, name } => write!(
                f,
                "{} holds \"{name}\", which is not part of a result\n    help: name a new or empty folder",
                path.display()
            ),
            Self::Exists(path) => write!(
                f,
                "{} already holds a complete result\n    help: name another folder, or ask for it to be replaced",
                path.display()
            ),
            Self::Running(path) => write!(f, "another run is writing into {}", path.display()),
            Self::NoResult(path) => write!(f, "{} holds no result (no result.json)", path.display()),
            Self::Replaced(path) => write!(
                f,
                "{} was replaced by another result since it was opened\n    help: open it again",
                path.display()
            ),
            Self::Later { path, version } => write!(
                f,
                "{} was written by Incast {version}, in a later format of results than this version ({}) reads\n    \
                 help: update Incast, or run its scenario.toml again",
                path.display(),
                env!("CARGO_PKG_VERSION")
            ),
            Self::Damaged { path, reason } => write!(f, "{} is damaged: {reason}", path.display()),
        }
    }
}

impl core::error::Error for ResultError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}
