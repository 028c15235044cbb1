//! Sending a message.

use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use incast_cc::{AnyParams, Path, Signals};
use incast_units::{Bytes, Rate, Time};

use super::clock::Clock;
use super::outbox::{Outbox, is_size, passes};
use super::punctual::Punctual;
use super::{Error, REPORT_EVERY, Socket};
use crate::format::{DATA_HEADER, LARGEST};
use crate::{Failure, Sender, SenderConfig, Source, State, supported};

/// Ethernet with preamble, checksum and gap; and UDP.
pub(crate) const ETHERNET: u64 = 38;
const UDP: u64 = 8;
/// Longest time for the last packets to leave.
const LEAVE_AFTER: Duration = Duration::from_secs(1);

/// Description of a message to send.
#[derive(Clone, Copy, Debug)]
pub struct SendJob {
    /// The receiver.
    pub to: SocketAddr,
    /// The algorithm.
    pub params: AnyParams,
    /// Round-trip time without queues, and the part of it on the forward path.
    pub base_rtt: Time,
    /// See `base_rtt`.
    pub base_owd: Time,
    /// Rate of the sender's own link.
    pub line_rate: Rate,
    /// A full packet on the wire, with all headers of Ethernet, IP and UDP.
    pub packet: Bytes,
    /// Links on the way.
    pub hops: u32,
    /// Bytes of the message.
    pub length: u64,
    /// Longest time to wait for the other side.
    pub patience: Time,
}

impl SendJob {
    /// Returns the path as the algorithm sees it.
    fn path(&self) -> Result<Path, Error> {
        let ip = if self.to.is_ipv4() { 20 } else { 40 };
        let below = ETHERNET + ip + UDP;
        let (least, most) = (below + DATA_HEADER as u64 + 1, below + LARGEST as u64);
        if !(least..=most).contains(&self.packet.get()) {
            let why = format!("a packet on the wire has {least}B to {most}B here, not {}", self.packet);
            return Err(Error::Impossible(why));
        }
        Ok(Path {
            base_rtt: self.base_rtt,
            base_owd: self.base_owd,
            line_rate: self.line_rate,
            packet: self.packet,
            payload: Bytes::new(self.packet.get() - below - DATA_HEADER as u64),
            hops: self.hops,
        })
    }
}

/// Progress of sending.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// State of the sender.
    pub state: State,
    /// Bytes of the message.
    pub length: u64,
    /// Since the first packet.
    pub elapsed: Duration,
}

/// Sends a message through the socket that `open` makes; its argument is whether switches may mark packets in
/// place of dropping them.
pub(crate) fn send<S: Socket>(
    job: &SendJob,
    open: impl FnOnce(bool) -> Result<S, Error>,
    source: &mut impl Source,
    report: &mut dyn FnMut(&Sending) -> ControlFlow<()>,
) -> Result<Sending, Error> {
    let path = job.path()?;
    supported(&job.params).map_err(Error::Unsupported)?;
    let needed = job.params.signals();
    let mut socket = open(needed.contains(Signals::ECN) || needed.contains(Signals::CNP))?;
    let failed = Error::sending(job.to);
    let (clock, began) = (Clock::new(), Instant::now());
    let config = SenderConfig {
        params: job.params,
        path,
        connection: connection(&clock),
        length: job.length,
        patience: job.patience,
    };
    let mut sender = Sender::new(clock.now(), config).map_err(Error::Unsupported)?;
    let _punctual = Punctual::new();
    let patience = Duration::from_nanos(job.patience.ns());
    let mut outbox = Outbox::default();
    let mut next_report = began;
    // Since when there was no room.
    let mut full: Option<Instant> = None;
    // When a router first said that packets are too large, and the bytes acknowledged then.
    let mut too_large: Option<(Instant, u64)> = None;
    let mut over: Option<Instant> = None;
    let mut broken: Option<Error> = None;
    let unfit = || {
        Error::Impossible(format!(
            "packets of {} on the wire do not fit the path to {}: choose smaller packets",
            job.packet, job.to
        ))
    };
    let now_at =
        |sender: &Sender| Sending { state: sender.state(), length: job.length, elapsed: began.elapsed() };
    loop {
        outbox.fill(|packet| sender.poll_transmit(clock.now(), source, packet));
        if sender.outcome().is_some() {
            outbox.settle();
        }
        match outbox.send(&mut socket, None) {
            Ok(true) => full = None,
            // For so long that it is like silence: the sender must see the time.
            Ok(false) if full.get_or_insert_with(Instant::now).elapsed() >= patience => outbox.clear(),
            Ok(false) => {}
            Err(error) => {
                outbox.clear();
                broken.get_or_insert_with(|| if is_size(&error) { unfit() } else { failed(error) });
                sender.abort();
            }
        }
        if sender.outcome().is_some()
            && (outbox.is_empty() || over.get_or_insert_with(Instant::now).elapsed() >= LEAVE_AFTER)
        {
            break;
        }
        let now = clock.now();
        let mut due = Duration::from_nanos(sender.next_deadline().saturating_sub(now));
        let blocked = !outbox.is_empty();
        if blocked {
            due = REPORT_EVERY;
        }
        let until_report = next_report.saturating_duration_since(Instant::now());
        let longest = due.min(until_report);
        if !longest.is_zero() {
            socket.wait(longest, blocked);
        }
        loop {
            let mut heard = false;
            let more = socket.receive(&mut |arrival| {
                heard = true;
                sender.on_packet(clock.arrival(arrival.age), arrival.bytes);
            });
            if heard {
                outbox.forget();
            }
            match more {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if passes(&error) => {
                    outbox.note(error);
                    break;
                }
                Err(error) => {
                    broken.get_or_insert_with(|| failed(error));
                    sender.abort();
                    break;
                }
            }
        }
        // Anybody can send such a report. It is right if nothing arrives from then on.
        let acknowledged = sender.state().acknowledged;
        too_large = too_large.filter(|(_, before)| *before == acknowledged);
        if outbox.last().is_some_and(is_size) {
            too_large = too_large.or_else(|| Some((Instant::now(), acknowledged)));
        }
        if too_large.is_some_and(|(since, _)| since.elapsed() >= patience / 4) && broken.is_none() {
            broken = Some(unfit());
            sender.abort();
        }
        if Instant::now() >= next_report {
            next_report = Instant::now() + REPORT_EVERY;
            if report(&now_at(&sender)).is_break() {
                sender.stop();
            }
        }
    }
    let last = now_at(&sender);
    match (sender.into_outcome(), broken) {
        (Some(Err(_)), Some(broken)) => Err(broken),
        (Some(Err(failure)), None) => {
            let lost = matches!(failure, Failure::Silence { heard: true, .. })
                && last.state.packets > 0
                && last.state.acknowledged == 0;
            Err(Error::Failed(failure, about(job, outbox.last(), lost)))
        }
        _ => Ok(last),
    }
}

/// Describes a side that does not answer: the last error, and whether all packets with data were `lost`.
fn about(job: &SendJob, last: Option<&io::Error>, lost: bool) -> String {
    let to = &job.to;
    match last {
        Some(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            format!(": nothing listens at {to}")
        }
        Some(error) => format!(" (of {to}; the last error: {error})"),
        None if lost => format!(
            " (of {to}): it answered, and no packet with data arrived: if packets of {} on the wire do not fit the path, \
             choose smaller packets",
            job.packet
        ),
        None => format!(" (of {to})"),
    }
}

/// A number that no other sender has.
fn connection(clock: &Clock) -> u64 {
    // Two senders of one machine have different process ids or begin at different nanoseconds, and two machines
    // hardly both.
    let mix = |x: u64| {
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    let place = 0_u8;
    mix(clock.now() ^ mix(u64::from(std::process::id())) ^ (&raw const place).addr() as u64)
}
