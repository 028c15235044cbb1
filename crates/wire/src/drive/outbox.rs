//! Packets that are to leave, and errors that pass: a packet that the kernel refuses for a while is a lost one.

use std::io;

use super::{BATCH, Socket};

/// Calls for one packet until an error about the network counts. The kernel reports once what an ICMP message says,
/// which anybody can have sent, in place of sending; if it is so, it says it again.
const TRIES: u32 = 2;
/// As [`TRIES`], until a packet is too large: that ends the exchange.
const TRIES_TOO_LARGE: u32 = 8;

/// Whether an error may pass, or is about other packets: a link that is down, a route that is away, a filter, memory,
/// reports of routers and of the other side.
pub(super) fn passes(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ENETUNREACH
                | libc::EHOSTUNREACH
                | libc::ENETDOWN
                | libc::EHOSTDOWN
                | libc::ENONET
                | libc::ECONNREFUSED
                | libc::ENOPROTOOPT
                | libc::EPROTO
                | libc::EOPNOTSUPP
                | libc::EMSGSIZE
                | libc::EADDRNOTAVAIL
                | libc::EPERM
                | libc::EACCES
                // Of a route that is a black hole.
                | libc::EINVAL
                | libc::ENOBUFS
                | libc::ENOMEM
                | libc::EINTR
        )
    )
}

/// Whether an error is about the size of a packet.
pub(super) fn is_size(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}

/// Whether an error is about the packet that was to leave, and about no earlier one.
fn is_of_this_packet(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EPERM | libc::ENOBUFS | libc::ENOMEM | libc::ENETDOWN | libc::EADDRNOTAVAIL)
    )
}

/// Packets that are to leave.
#[derive(Default)]
pub(super) struct Outbox {
    packets: Vec<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    /// The last error that passes, since the other side was heard.
    last: Option<io::Error>,
    /// Whether that error is kept: the exchange is over.
    settled: bool,
}

impl Outbox {
    /// Takes packets from `next`, which writes one and returns whether there was one.
    pub(super) fn fill(&mut self, mut next: impl FnMut(&mut Vec<u8>) -> bool) {
        while self.packets.len() < BATCH {
            let mut packet = self.spare.pop().unwrap_or_default();
            if !next(&mut packet) {
                self.spare.push(packet);
                break;
            }
            self.packets.push(packet);
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Loses all packets.
    pub(super) fn clear(&mut self) {
        self.spare.append(&mut self.packets);
    }

    /// Sends the packets; those that are refused for a while are lost. Returns whether there was room for all.
    ///
    /// # Errors
    ///
    /// When it will not pass.
    pub(super) fn send<S: Socket>(&mut self, socket: &mut S, to: Option<&S::Peer>) -> io::Result<bool> {
        let mut tries = 0;
        while !self.packets.is_empty() {
            match socket.send(&self.packets, to) {
                Ok(0) => return Ok(false),
                Ok(sent) => {
                    tries = 0;
                    self.spare.extend(self.packets.drain(..sent));
                }
                Err(error) if passes(&error) => {
                    tries += 1;
                    if is_size(&error) {
                        if tries >= TRIES_TOO_LARGE {
                            return Err(error);
                        }
                    } else if tries >= TRIES || is_of_this_packet(&error) {
                        tries = 0;
                        self.spare.push(self.packets.remove(0));
                    }
                    self.note(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Notes an error that passes.
    pub(super) fn note(&mut self, error: io::Error) {
        if !self.settled {
            self.last = Some(error);
        }
    }

    /// Forgets errors: the other side was heard.
    pub(super) fn forget(&mut self) {
        if !self.settled {
            self.last = None;
        }
    }

    /// Keeps the last error from now on: what happens after the end did not cause it. The other side may have left.
    pub(super) const fn settle(&mut self) {
        self.settled = true;
    }

    /// Returns the last error since the other side was heard.
    pub(super) const fn last(&self) -> Option<&io::Error> {
        self.last.as_ref()
    }
}
