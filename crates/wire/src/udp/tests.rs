//! Messages over sockets whose calls fail as a kernel's do.

use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use incast_cc::AnyParams;
use incast_units::{Bytes, Rate, Time};

use super::socket::Origin;
use super::{Driver, receive, to_send};
use crate::ReceiverConfig;
use crate::drive::{self, Arrival, Error, ReceiveJob, Received, SendJob, Sending, Socket};

/// The kind of a packet that ends the exchange, at its byte 3.
const END: u8 = 8;

/// A socket with the errors that `fault` returns for a call: its number, the time since the first answer (0 before
/// it: a busy machine may answer late), and the packet that would leave first (none for a call that receives).
/// No error: packets above `most` bytes vanish.
struct Faulty<F> {
    inner: Driver,
    heard: Option<Instant>,
    calls: u64,
    most: usize,
    fault: F,
}

impl<F: FnMut(u64, Duration, Option<&[u8]>) -> Option<i32>> Faulty<F> {
    fn check(&mut self, packet: Option<&[u8]>) -> io::Result<()> {
        self.calls += 1;
        let time = self.heard.map_or(Duration::ZERO, |heard| heard.elapsed());
        (self.fault)(self.calls, time, packet)
            .map_or(Ok(()), |error| Err(io::Error::from_raw_os_error(error)))
    }
}

impl<F: FnMut(u64, Duration, Option<&[u8]>) -> Option<i32>> Socket for Faulty<F> {
    type Peer = Origin;

    fn address(&self) -> io::Result<SocketAddr> {
        self.inner.address()
    }

    fn largest(&self) -> usize {
        self.inner.largest()
    }

    fn wait(&mut self, longest: Duration, to_send: bool) {
        self.inner.wait(longest, to_send);
    }

    fn send(&mut self, packets: &[Vec<u8>], to: Option<&Origin>) -> io::Result<usize> {
        if let Some(first) = packets.first() {
            self.check(Some(first))?;
            if first.len() > self.most {
                return Ok(1);
            }
        }
        self.inner.send(&packets[..packets.len().min(1)], to)
    }

    fn receive(&mut self, take: &mut dyn FnMut(&Arrival<'_, Origin>)) -> io::Result<bool> {
        self.check(None)?;
        let heard = &mut self.heard;
        self.inner.receive(&mut |arrival| {
            heard.get_or_insert_with(Instant::now);
            take(arrival);
        })
    }
}

/// Sends half a megabyte through such a socket; returns what both sides say, and whether it arrived.
fn sent(
    patience: Time,
    most: usize,
    fault: impl FnMut(u64, Duration, Option<&[u8]>) -> Option<i32>,
) -> (Result<Sending, Error>, Result<Received, Error>, bool) {
    let (tell, told) = mpsc::channel();
    let job = ReceiveJob {
        at: "127.0.0.1:0".parse().unwrap(),
        config: ReceiverConfig { patience: Time::from_s(20), ..ReceiverConfig::default() },
        wait: Time::from_s(20),
    };
    let waiting: JoinHandle<(Result<Received, Error>, Vec<u8>)> = thread::spawn(move || {
        let mut sink = Vec::new();
        let received = receive(&job, &mut sink, &mut |now| {
            let _ = tell.send(now.at);
            ControlFlow::Continue(())
        });
        (received, sink)
    });
    let message: Vec<u8> = (0..500_000_u32).map(|n| (n ^ (n >> 8)) as u8).collect();
    let job = SendJob {
        to: told.recv().unwrap(),
        params: AnyParams::named("swift", None).unwrap(),
        base_rtt: Time::from_ms(1),
        base_owd: Time::from_us(500),
        line_rate: Rate::from_mbps(100),
        packet: Bytes::new(1538),
        hops: 1,
        length: message.len() as u64,
        patience,
    };
    let open = |marks| {
        let inner = to_send(&job, marks).map_err(Error::sending(job.to))?;
        Ok(Faulty { inner, heard: None, calls: 0, most, fault })
    };
    let done = drive::send(&job, open, &mut message.as_slice(), &mut |_| ControlFlow::Continue(()));
    let (received, arrived) = waiting.join().unwrap();
    (done, received, arrived == message)
}

#[test]
fn errors_that_pass_are_losses() {
    let mut errors = 0;
    let (done, received, arrived) = sent(Time::from_s(10), usize::MAX, |call, time, packet| {
        // A route that is away for 0.3 s, a filter, and reports of routers, forged or not.
        let error = match packet {
            Some(_) if (10..310).contains(&time.as_millis()) => Some(libc::ENETUNREACH),
            Some(_) if call % 97 == 0 => Some(libc::EPERM),
            Some(_) if call % 31 == 0 => Some(libc::EMSGSIZE),
            None if call % 13 == 0 => Some(libc::EHOSTUNREACH),
            _ => None,
        };
        errors += u64::from(error.is_some());
        error
    });
    let state = done.unwrap().state;
    received.unwrap();
    assert!(arrived);
    assert!(errors > 20 && state.resent > 0, "{errors} {state:?}");
}

#[test]
fn an_error_that_stays_is_named_after_a_while() {
    let (done, received, _) = sent(Time::from_s(2), usize::MAX, |_, time, packet| {
        // Only the packet that ends the exchange passes.
        let ends = packet.is_none_or(|packet| packet[3] == END);
        (!ends && time.as_millis() > 10).then_some(libc::ENETDOWN)
    });
    let error = done.unwrap_err().to_string();
    assert!(error.starts_with("nothing was heard from the other side for 2s (of 127.0.0.1:"), "{error}");
    assert!(error.contains("; the last error: Network is down"), "{error}");
    let told = received.unwrap_err().to_string();
    assert!(told.starts_with("the other side heard nothing for too long"), "{told}");
}

#[test]
fn an_error_after_the_end_did_not_cause_it() {
    // The receiver has left when the packet that ends the exchange is sent again: nothing listens there.
    let mut over = false;
    let (done, _, _) = sent(Time::from_s(2), usize::MAX, |_, time, packet| {
        let after = over;
        over |= packet.is_some_and(|packet| packet[3] == END);
        match packet {
            _ if after => Some(libc::ECONNREFUSED),
            Some(packet) if packet[3] != END && time.as_millis() > 10 => Some(libc::ENETDOWN),
            _ => None,
        }
    });
    let error = done.unwrap_err().to_string();
    assert!(error.contains("; the last error: Network is down"), "{error}");
}

#[test]
fn packets_that_do_not_fit_end_it_and_the_receiver_is_told() {
    let unfit = "packets of 1.538KB on the wire do not fit the path to 127.0.0.1:";
    // The interface is too small; or some way behind it, with a report of a router.
    for most in [usize::MAX, 1000] {
        let mut reports = 0;
        let (done, received, _) = sent(Time::from_s(2), most, |_, _, packet| {
            let large = packet.is_some_and(|packet| packet.len() > 1000);
            reports += u32::from(large);
            (large && (most == usize::MAX || reports == 5)).then_some(libc::EMSGSIZE)
        });
        let error = done.unwrap_err().to_string();
        assert!(error.starts_with(unfit), "{error}");
        let told = received.unwrap_err().to_string();
        assert!(told.starts_with("the other side failed"), "{told}");
    }
    // Without a report. The patience leaves a busy machine time for the first answer.
    let (done, received, _) = sent(Time::from_s(4), 1000, |_, _, _| None);
    let error = done.unwrap_err().to_string();
    assert!(error.ends_with("do not fit the path, choose smaller packets"), "{error}");
    assert!(received.is_err());
}
