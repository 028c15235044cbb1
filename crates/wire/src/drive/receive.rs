//! Receiving a message.

use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use incast_units::{Bytes, Time};

use super::clock::Clock;
use super::outbox::{Outbox, passes};
use super::punctual::Punctual;
use super::{Error, Peer, REPORT_EVERY, Socket};
use crate::format::DATA_HEADER;
use crate::{Failure, Receiver, ReceiverConfig, Sink, answer_stranger};

/// Description of a message to receive.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveJob {
    /// Address at which to wait for a sender. Port 0: any free port.
    pub at: SocketAddr,
    /// Rules of the receiver's answers, and how long it waits for a sender that has begun.
    pub config: ReceiverConfig,
    /// Longest time to wait for a sender to begin; [`Time::NEVER`]: until it is stopped.
    pub wait: Time,
}

/// Progress of receiving.
#[derive(Clone, Copy, Debug)]
pub struct Receiving {
    /// The address where it waits.
    pub at: SocketAddr,
    /// The sender, once one has begun.
    pub from: Option<SocketAddr>,
    /// Bytes of the message that have arrived in order.
    pub received: u64,
    /// Bytes of the message.
    pub length: u64,
    /// Whether it is complete.
    pub complete: bool,
    /// Since the sender began.
    pub elapsed: Duration,
}

/// A message that was received.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// The sender.
    pub from: SocketAddr,
    /// Bytes of the message.
    pub length: u64,
    /// From its beginning until it was complete.
    pub elapsed: Duration,
    /// Numbers of data packets that arrived, of those that had arrived before, and of those with a mark.
    pub packets: u64,
    /// See `packets`.
    pub duplicates: u64,
    /// See `packets`.
    pub marked: u64,
}

/// Receives one message through a socket.
pub(crate) fn receive<S: Socket>(
    job: &ReceiveJob,
    mut socket: S,
    sink: &mut impl Sink,
    report: &mut dyn FnMut(&Receiving) -> ControlFlow<()>,
) -> Result<Received, Error> {
    let failed = Error::receiving(job.at);
    let at = socket.address().map_err(failed)?;
    let clock = Clock::new();
    let largest = socket.largest().saturating_sub(DATA_HEADER) as u64;
    let config = ReceiverConfig { largest: job.config.largest.min(Bytes::new(largest)), ..job.config };
    let mut receiver = Receiver::new(clock.now(), config);
    let _punctual = Punctual::new();
    let (waiting, patience) = (Instant::now(), Duration::from_nanos(job.wait.ns()));
    let mut next_report = waiting;
    let mut outbox = Outbox::default();
    let mut broken: Option<Error> = None;
    let mut strangers: Vec<(Vec<u8>, S::Peer)> = Vec::new();
    let mut peer: Option<(S::Peer, Instant)> = None;
    let mut complete: Option<Duration> = None;
    loop {
        if Instant::now() >= next_report {
            next_report = Instant::now() + REPORT_EVERY;
            let (received, length) = receiver.progress();
            let now = Receiving {
                at,
                from: peer.map(|(from, _)| from.address()),
                received,
                length,
                complete: complete.is_some(),
                elapsed: complete
                    .unwrap_or_else(|| peer.map_or(Duration::ZERO, |(_, began)| began.elapsed())),
            };
            if report(&now).is_break() {
                receiver.stop();
            }
        }
        outbox.fill(|packet| receiver.poll_transmit(clock.now(), packet));
        if let (Some((to, began)), false) = (peer, outbox.is_empty()) {
            // An answer that cannot be sent is like one that is lost: the sender comes back.
            let _ = outbox.send(&mut socket, Some(&to));
            outbox.clear();
            if receiver.is_complete() && complete.is_none() {
                complete = Some(began.elapsed());
            }
        }
        if receiver.outcome().is_some() {
            break;
        }
        if peer.is_none() && waiting.elapsed() >= patience {
            let failure = Failure::Silence { after: job.wait, heard: false };
            return Err(Error::Failed(failure, format!(": no sender began at {at}{}", word(outbox.last()))));
        }
        let due = Duration::from_nanos(receiver.next_deadline().saturating_sub(clock.now()));
        let longest = due.min(next_report.saturating_duration_since(Instant::now()));
        if !longest.is_zero() {
            socket.wait(longest, false);
        }
        let mut heard = false;
        let received = socket.receive(&mut |arrival| {
            heard = true;
            let from = arrival.from;
            let known = peer.as_ref().map(|(peer, _)| peer.address() == from.address());
            if known != Some(false) {
                receiver.on_packet(clock.arrival(arrival.age), arrival.marked, arrival.bytes, sink);
                if receiver.has_begun() {
                    // The way back is that of the last packet.
                    peer = Some((from, peer.map_or_else(Instant::now, |(_, began)| began)));
                    return;
                }
            }
            let mut answer = Vec::new();
            if answer_stranger(arrival.bytes, &mut answer) {
                strangers.push((answer, from));
            }
        });
        if heard {
            outbox.forget();
        }
        match received {
            Ok(_) => {}
            Err(error) if passes(&error) => outbox.note(error),
            Err(error) => {
                broken.get_or_insert_with(|| failed(error));
                receiver.abort();
            }
        }
        for (answer, to) in strangers.drain(..) {
            // As above.
            let _ = socket.send(&[answer], Some(&to));
        }
    }
    let (packets, duplicates, marked) = receiver.counts();
    let (_, length) = receiver.progress();
    let outcome = receiver.into_outcome();
    if let (Some(Err(_)), Some(broken)) = (&outcome, broken) {
        return Err(broken);
    }
    match (outcome, peer) {
        (Some(Err(failure)), Some((from, _))) => {
            Err(Error::Failed(failure, format!(" (from {}{})", from.address(), word(outbox.last()))))
        }
        (Some(Err(failure)), None) => Err(Error::Failed(failure, String::new())),
        (_, Some((from, began))) => {
            let elapsed = complete.unwrap_or_else(|| began.elapsed());
            Ok(Received { from: from.address(), length, elapsed, packets, duplicates, marked })
        }
        (_, None) => Err(Error::Failed(Failure::Stopped, String::new())),
    }
}

/// The last error, as a part of a sentence.
fn word(last: Option<&io::Error>) -> String {
    last.map_or_else(String::new, |error| format!("; the last error: {error}"))
}
