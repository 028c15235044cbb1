//! The part that all drivers share: both ends of a message over sockets that give packets in batches.

mod clock;
mod outbox;
mod punctual;
mod receive;
mod send;

pub(crate) use receive::receive;
pub use receive::{ReceiveJob, Received, Receiving};
pub(crate) use send::{ETHERNET, send};
pub use send::{SendJob, Sending};

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use crate::{Failure, Unsupported};

/// Packets of one call.
pub(crate) const BATCH: usize = 32;
/// Time between two reports of progress.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// A socket for the packets of a message. Only [`wait`](Self::wait) blocks.
pub(crate) trait Socket {
    /// Address to which answers to a packet go.
    type Peer: Peer;

    /// Its own address.
    fn address(&self) -> io::Result<SocketAddr>;

    /// Bytes of the largest datagram that it can receive.
    fn largest(&self) -> usize;

    /// Waits until packets arrive, or, if `to_send`, until some can be sent, or so long.
    fn wait(&mut self, longest: Duration, to_send: bool);

    /// Sends packets, to `to` or where the socket is connected to. Returns how many were sent: all up to [`BATCH`], or
    /// fewer when there is no room.
    fn send(&mut self, packets: &[Vec<u8>], to: Option<&Self::Peer>) -> io::Result<usize>;

    /// Hands over packets that have arrived, at most [`BATCH`]. Returns whether there may be more.
    fn receive(&mut self, take: &mut dyn FnMut(&Arrival<'_, Self::Peer>)) -> io::Result<bool>;
}

/// The other side, as a driver knows it.
pub(crate) trait Peer: Copy {
    /// Its address: two of the same address are the same side.
    fn address(&self) -> SocketAddr;
}

/// A packet that has arrived.
pub(crate) struct Arrival<'a, P> {
    pub(crate) from: P,
    pub(crate) bytes: &'a [u8],
    /// Time since its arrival as the kernel reports it; zero if it does not.
    pub(crate) age: Duration,
    /// Whether it met congestion.
    pub(crate) marked: bool,
}

/// Any free port of any address of this kind.
pub(crate) const fn any(of: &SocketAddr) -> SocketAddr {
    let ip = if of.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    SocketAddr::new(ip, 0)
}

/// Reason for which a message could not be sent or received.
#[derive(Debug)]
pub enum Error {
    /// The algorithm cannot run here.
    Unsupported(Unsupported),
    /// Something about a socket; what was to be done.
    Socket(String, io::Error),
    /// The request is impossible, with the reason.
    Impossible(String),
    /// The exchange failed; and a word about the other side.
    Failed(Failure, String),
}

impl Error {
    /// Nothing can be sent there.
    pub(crate) fn sending(to: SocketAddr) -> impl Fn(io::Error) -> Self + Copy {
        move |error| Self::Socket(format!("no packets can be sent to {to}"), error)
    }

    /// Nothing can be received there.
    pub(crate) fn receiving(at: SocketAddr) -> impl Fn(io::Error) -> Self + Copy {
        move |error| Self::Socket(format!("nothing can be received at {at}"), error)
    }
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
