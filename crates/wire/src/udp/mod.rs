//! The driver for UDP sockets: packets in batches, times of arrival from the kernel, marks from the IP header.

mod socket;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::{Duration, SystemTime};

use self::socket::{Inbox, Origin, Socket};
use crate::drive::{self, Arrival, Error, ReceiveJob, Received, Receiving, SendJob, Sending, any};
use crate::format::LARGEST;
use crate::{Sink, Source};

/// Sends a message, and tells `report` ten times a second where it is; that can stop it.
///
/// # Errors
///
/// When it cannot be sent. Once this returns without, the receiver has the message.
pub fn send(
    job: &SendJob,
    source: &mut impl Source,
    report: &mut dyn FnMut(&Sending) -> ControlFlow<()>,
) -> Result<Sending, Error> {
    drive::send(job, |marks| to_send(job, marks).map_err(Error::sending(job.to)), source, report)
}

/// Opens a sender's socket.
fn to_send(job: &SendJob, marks: bool) -> io::Result<Driver> {
    let socket = Socket::bind(any(&job.to))?;
    socket.connect(job.to)?;
    if marks {
        socket.mark_capable()?;
    }
    Ok(Driver { socket, inbox: Inbox::new() })
}

/// Receives one message, and tells `report` ten times a second where it is; that can stop it. The first report comes
/// when it begins to wait.
///
/// # Errors
///
/// When it cannot be received.
pub fn receive(
    job: &ReceiveJob,
    sink: &mut impl Sink,
    report: &mut dyn FnMut(&Receiving) -> ControlFlow<()>,
) -> Result<Received, Error> {
    let socket = Socket::bind(job.at).map_err(Error::receiving(job.at))?;
    drive::receive(job, Driver { socket, inbox: Inbox::new() }, sink, report)
}

struct Driver {
    socket: Socket,
    inbox: Inbox,
}

impl drive::Socket for Driver {
    type Peer = Origin;

    fn address(&self) -> io::Result<SocketAddr> {
        self.socket.address()
    }

    fn largest(&self) -> usize {
        LARGEST
    }

    fn wait(&mut self, longest: Duration, to_send: bool) {
        self.socket.wait(longest, to_send);
    }

    fn send(&mut self, packets: &[Vec<u8>], to: Option<&Origin>) -> io::Result<usize> {
        self.socket.send(packets, to)
    }

    fn receive(&mut self, take: &mut dyn FnMut(&Arrival<'_, Origin>)) -> io::Result<bool> {
        self.socket.receive(&mut self.inbox)?;
        for packet in self.inbox.arrivals() {
            // Neither IPv4 nor IPv6: none of ours.
            let Some(from) = packet.from else { continue };
            let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
            let age = packet.stamp.and_then(|stamp| now.checked_sub(stamp)).unwrap_or_default();
            take(&Arrival { from, bytes: packet.bytes, age, marked: packet.marked });
        }
        Ok(self.inbox.is_full())
    }
}
