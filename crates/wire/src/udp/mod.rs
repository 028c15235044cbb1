//! Both ends with UDP sockets: packets in batches, times of arrival from the kernel, marks from the IP header.

mod clock;
mod receive;
mod send;
mod socket;

pub use receive::{ReceiveJob, Received, Receiving, receive};
pub use send::{SendJob, Sending, send};

use std::fmt;
use std::io;
use std::time::Duration;

use crate::{Failure, Unsupported};

/// Time between two reports of progress.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// Why a message could not be sent or received.
#[derive(Debug)]
pub enum Error {
    /// The algorithm cannot run here.
    Unsupported(Unsupported),
    /// Something about a socket; what was to be done.
    Socket(String, io::Error),
    /// What is asked for cannot be; why.
    Impossible(String),
    /// The exchange failed; and a word about the other side.
    Failed(Failure, String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(unsupported) => unsupported.fmt(f),
            Self::Socket(what, error) => write!(f, "{what}: {error}"),
            Self::Impossible(why) => f.write_str(why),
            Self::Failed(failure, about) => write!(f, "{failure}{about}"),
        }
    }
}

impl std::error::Error for Error {}
