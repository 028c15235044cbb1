//! Whole messages through real sockets of this machine, some through a relay that loses, copies and reorders.
#![cfg(target_os = "linux")]

use std::net::{SocketAddr, UdpSocket};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use incast_cc::AnyParams;
use incast_units::{Bytes, Rate, Time};
use incast_wire::udp::{receive, send};
use incast_wire::{Error, Failure, ReceiveJob, Received, ReceiverConfig, Receiving, SendJob, Sending};

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn job(to: SocketAddr, algorithm: &str, length: u64) -> SendJob {
    SendJob {
        to,
        params: AnyParams::named(algorithm, None).unwrap(),
        base_rtt: Time::from_ms(1),
        base_owd: Time::from_us(500),
        line_rate: Rate::from_mbps(100),
        packet: Bytes::new(1538),
        hops: 1,
        length,
        patience: Time::from_s(20),
    }
}

type Outcome = (Result<Received, Error>, Vec<u8>);

/// A receiver in a thread of its own, and where it waits.
fn receiver(at: &str) -> (SocketAddr, JoinHandle<Outcome>) {
    let (tell, told) = mpsc::channel();
    let job = ReceiveJob {
        at: at.parse().unwrap(),
        config: ReceiverConfig { patience: Time::from_s(20), ..ReceiverConfig::default() },
        wait: Time::from_s(20),
    };
    let thread = thread::spawn(move || {
        let mut sink = Vec::new();
        let mut report = |now: &Receiving| {
            let _ = tell.send(now.at);
            ControlFlow::Continue(())
        };
        (receive(&job, &mut sink, &mut report), sink)
    });
    (told.recv().unwrap(), thread)
}

fn sent(job: &SendJob, message: &[u8]) -> Result<Sending, Error> {
    send(job, &mut { message }, &mut |_| ControlFlow::Continue(()))
}

fn message(length: usize) -> Vec<u8> {
    let mut state = length as u64;
    (0..length).map(|_| random(&mut state) as u8).collect()
}

/// Passes packets on between whoever wrote first and `to`; ends when it is dropped.
struct Relay {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    lost: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    fn new(to: SocketAddr, loss: u64, copies: u64, late: u64) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
        let address = socket.local_addr().unwrap();
        let (over, lost) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stop, count) = (Arc::clone(&over), Arc::clone(&lost));
        let thread = thread::spawn(move || {
            let (mut state, mut bytes, mut from) = (7, vec![0; 9000], None);
            // A packet that waits until others have passed.
            let mut held: Vec<(u64, Vec<u8>, SocketAddr)> = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                if let Ok((size, writer)) = socket.recv_from(&mut bytes) {
                    let other = if writer == to {
                        from
                    } else {
                        from = Some(writer);
                        Some(to)
                    };
                    let (Some(other), dice) = (other, random(&mut state) % 100) else { continue };
                    if dice < loss {
                        count.fetch_add(1, Ordering::Relaxed);
                    } else if dice < loss + late {
                        held.push((1 + random(&mut state) % 20, bytes[..size].to_vec(), other));
                    } else {
                        socket.send_to(&bytes[..size], other).unwrap();
                        if dice < loss + late + copies {
                            socket.send_to(&bytes[..size], other).unwrap();
                        }
                    }
                    held.iter_mut().for_each(|(packets, ..)| *packets -= 1);
                } else {
                    held.iter_mut().for_each(|(packets, ..)| *packets = 0);
                }
                for (_, packet, other) in held.extract_if(.., |(packets, ..)| *packets == 0) {
                    socket.send_to(&packet, other).unwrap();
                }
            }
        });
        Self { address, over, lost, thread: Some(thread) }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

#[test]
fn a_message_arrives() {
    for (at, length, algorithm) in
        [("127.0.0.1:0", 1_000_000, "swift"), ("127.0.0.1:0", 0, "oscar"), ("[::1]:0", 300_000, "dctcp")]
    {
        if at.starts_with('[') && UdpSocket::bind(at).is_err() {
            continue;
        }
        let (to, thread) = receiver(at);
        let message = message(length);
        let done = sent(&job(to, algorithm, length as u64), &message).unwrap();
        let (received, arrived) = thread.join().unwrap();
        let received = received.unwrap();
        assert!(arrived == message);
        assert_eq!((received.length, done.state.acknowledged), (length as u64, length as u64));
        assert!(received.packets >= length.div_ceil(1436) as u64);
        assert_eq!(done.state.rtt.ns() > 0, length > 1436);
    }
}

#[test]
fn the_answer_leaves_from_the_address_that_was_asked() {
    // A sender hears only the address to which it sends: where all addresses are listened to, the kernel would answer
    // a packet to 127.0.0.2 from 127.0.0.1.
    for (at, to) in
        [("0.0.0.0:0", "127.0.0.2"), ("[::]:0", "127.0.0.3"), ("[::]:0", "::1"), ("127.0.0.2:0", "127.0.0.2")]
    {
        if at.starts_with('[') && UdpSocket::bind(at).is_err() {
            continue;
        }
        let (waiting, thread) = receiver(at);
        let to = SocketAddr::new(to.parse().unwrap(), waiting.port());
        let message = message(200_000);
        let job = SendJob { patience: Time::from_s(3), ..job(to, "swift", message.len() as u64) };
        let done = sent(&job, &message).map_err(|error| error.to_string());
        assert_eq!(done.map(|done| done.state.acknowledged), Ok(message.len() as u64), "{at} {to}");
        let (received, arrived) = thread.join().unwrap();
        received.unwrap();
        assert!(arrived == message);
    }
}

#[test]
fn nothing_is_lost_with_a_relay_that_loses_and_reorders() {
    for (algorithm, copies) in [("oscar", 0), ("swift", 5), ("dcqcn", 0)] {
        let (to, thread) = receiver("127.0.0.1:0");
        let relay = Relay::new(to, 5, copies, 10);
        let message = message(1_500_000);
        let done = sent(&job(relay.address, algorithm, message.len() as u64), &message).unwrap();
        let (received, arrived) = thread.join().unwrap();
        received.unwrap();
        assert!(arrived == message, "{algorithm}");
        // Of a thousand packets each way.
        assert!(relay.lost.load(Ordering::Relaxed) > 40);
        assert!(done.state.resent > 20, "{:?}", done.state);
    }
}

#[test]
fn a_second_sender_is_told_that_the_receiver_is_busy() {
    let (to, thread) = receiver("127.0.0.1:0");
    let message = message(3_000_000);
    let slow = SendJob { line_rate: Rate::from_mbps(20), ..job(to, "constant", 3_000_000) };
    let (tell, told) = mpsc::channel();
    let first = {
        let message = message.clone();
        thread::spawn(move || {
            send(&slow, &mut message.as_slice(), &mut |now| {
                if now.state.acknowledged > 0 {
                    let _ = tell.send(());
                }
                ControlFlow::Continue(())
            })
        })
    };
    told.recv().unwrap();
    let second = sent(&SendJob { length: 5, ..slow }, b"hello").unwrap_err().to_string();
    assert!(second.starts_with("the other side is receiving another message"), "{second}");
    first.join().unwrap().unwrap();
    let (received, arrived) = thread.join().unwrap();
    received.unwrap();
    assert!(arrived == message);
}

#[test]
fn either_side_is_told_when_the_other_is_stopped() {
    let (to, thread) = receiver("127.0.0.1:0");
    let message = message(5_000_000);
    let slow = SendJob { line_rate: Rate::from_mbps(20), ..job(to, "constant", 5_000_000) };
    let mut reports = 0;
    let stopped = send(&slow, &mut message.as_slice(), &mut |now| {
        reports += 1;
        if now.state.acknowledged > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(stopped, Err(Error::Failed(Failure::Stopped, _))) && reports > 1);
    let told = thread.join().unwrap().0.unwrap_err();
    assert!(told.to_string().starts_with("the other side was stopped"), "{told}");
}

#[test]
fn nobody_listens() {
    let to = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let quick = SendJob { patience: Time::from_ms(500), ..job(to, "swift", 5) };
    let error = sent(&quick, b"hello").unwrap_err().to_string();
    assert_eq!(error, format!("no answer within 500ms: nothing listens at {to}"));
    // Somebody who does not answer.
    let mute = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = mute.local_addr().unwrap();
    let error = sent(&SendJob { to, ..quick }, b"hello").unwrap_err().to_string();
    assert_eq!(error, format!("no answer within 500ms (of {to})"));
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_sent() {
    let to = "127.0.0.1:9".parse().unwrap();
    for (algorithm, word) in
        [("hpcc", "int"), ("powertcp", "int"), ("sqcc", "receiver_flows"), ("retcp", "circuit")]
    {
        let error = sent(&job(to, algorithm, 5), b"hello").unwrap_err().to_string();
        assert!(error.contains(&format!("{algorithm} needs the signal {word}: ")), "{error}");
    }
    for packet in [102, 9100] {
        let packet = Bytes::new(packet);
        let error = sent(&SendJob { packet, ..job(to, "swift", 5) }, b"hello").unwrap_err().to_string();
        assert!(error.contains("103B to 9038B"), "{error}");
    }
    let (at, thread) = receiver("127.0.0.1:0");
    let taken = ReceiveJob { at, config: ReceiverConfig::default(), wait: Time::from_ms(100) };
    let error = receive(&taken, &mut Vec::new(), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(error.to_string().contains("Address already in use"), "{error}");
    sent(&job(at, "swift", 5), b"hello").unwrap();
    thread.join().unwrap().0.unwrap();
    let free = ReceiveJob { at: "127.0.0.1:0".parse().unwrap(), ..taken };
    let error = receive(&free, &mut Vec::new(), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(
        error.to_string().starts_with("no answer within 100ms: no sender began at 127.0.0.1:"),
        "{error}"
    );
}
