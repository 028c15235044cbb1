//! The bytes of packets, by hand; and that no bytes whatever do harm.

use incast_cc::receiver::{AckEvery, ReceiverRules};
use incast_cc::{AnyParams, Path};
use incast_units::{Bytes, Rate, Time};
use incast_wire::format::{
    Accept, Ack, DATA_HEADER, Data, End, Finish, HEADER, LARGEST, Open, Packet, Unreadable, VERSION,
    connection_of, read, write,
};
use incast_wire::sum::Crc32c;
use incast_wire::{Receiver, ReceiverConfig, Sender, SenderConfig, answer_stranger};

/// Random numbers (SplitMix64), small ones and extremes as often as others.
struct Random(u64);

impl Random {
    fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn next(&mut self) -> u64 {
        match self.any() % 4 {
            0 => self.any() % 5,
            1 => u64::MAX - self.any() % 5,
            2 => self.any() >> (self.any() % 64),
            _ => self.any(),
        }
    }
}

fn random_packet<'a>(random: &mut Random, payload: &'a mut Vec<u8>) -> Packet<'a> {
    match random.any() % 8 {
        0 => Packet::Open(Open {
            length: random.next(),
            sent: random.next(),
            payload: 1 + (random.any() % 8936) as u16,
            notify: random.any().is_multiple_of(2),
        }),
        1 => Packet::Accept(Accept { sent: random.next(), received: random.next(), held: random.next() }),
        2 => {
            let size = [1, 100, (random.any() % 1500 + 1) as usize][(random.any() % 3) as usize];
            *payload = (0..size).map(|_| random.any() as u8).collect();
            let (number, inflight) = (random.next() as u32, random.next() as u32);
            Packet::Data(Data { number, inflight, sent: random.next(), payload })
        }
        3 => {
            let packets = (random.next() as u16).max(1);
            Packet::Ack(Ack {
                serial: random.next() as u32,
                expected: random.next() as u32,
                bitmap: random.next(),
                sent: random.next(),
                received: random.next(),
                held: random.next(),
                inflight: random.next() as u32,
                offset: random.next() as i16,
                packets,
                marked: random.next() as u16 % (packets / 2 + 1),
            })
        }
        4 => Packet::Notify,
        5 => Packet::Finish(Finish { length: random.next(), sum: random.next() }),
        6 => Packet::Finished,
        _ => {
            const ENDS: [End; 7] =
                [End::Done, End::Busy, End::Stopped, End::Failed, End::Silence, End::Damaged, End::Version];
            Packet::End(ENDS[(random.any() % 7) as usize])
        }
    }
}

/// The sum of a packet, bit by bit, written into it.
fn with_sum(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() >= 8 {
        let mut sum = u32::MAX;
        for byte in bytes[..4].iter().chain(&bytes[8..]) {
            sum ^= u32::from(*byte);
            (0..8).for_each(|_| sum = sum >> 1 ^ if sum & 1 != 0 { 0x82f6_3b78 } else { 0 });
        }
        bytes[4..8].copy_from_slice(&(!sum).to_be_bytes());
    }
    bytes
}

#[test]
fn every_kind_byte_by_byte() {
    const ID: u64 = 0x0102_0304_0506_0708;
    let ack = Ack {
        serial: 0x11,
        expected: 0x2233_4455,
        bitmap: 0xf0,
        sent: 1,
        received: 2,
        held: 3,
        inflight: 4,
        offset: -2,
        packets: 5,
        marked: 6 - 1,
    };
    let open = Open { length: 0x1000, sent: 0x99, payload: 1400, notify: true };
    let cases: [(Packet<'_>, u8, &str); 8] = [
        (Packet::Open(open), 1, "0000000000001000 0000000000000099 0578 0001"),
        (
            Packet::Accept(Accept { sent: 1, received: 2, held: 3 }),
            2,
            "0000000000000001 0000000000000002 0000000000000003",
        ),
        (
            Packet::Data(Data { number: 7, inflight: 8, sent: 9, payload: b"abc" }),
            3,
            "00000007 00000008 0000000000000009 00000000 616263",
        ),
        (
            Packet::Ack(ack),
            4,
            "00000011 22334455 00000000000000f0 0000000000000001 0000000000000002 0000000000000003 \
             00000004 fffe 0005 0005 0000",
        ),
        (Packet::Notify, 5, ""),
        (Packet::Finish(Finish { length: 3, sum: 0xabcd }), 6, "0000000000000003 000000000000abcd"),
        (Packet::Finished, 7, ""),
        (Packet::End(End::Damaged), 8, "00000005"),
    ];
    for (packet, kind, body) in cases {
        let digits: Vec<u8> = body.bytes().filter(u8::is_ascii_hexdigit).collect();
        let body =
            digits.chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap());
        let mut expected = vec![0x1c, 0xa5, VERSION, kind, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        expected.extend(body);
        let mut out = vec![9; 100];
        write(ID, &packet, &mut out);
        assert_eq!(out, with_sum(expected), "{packet:?}");
        assert_eq!(read(&out), Ok((ID, packet)));
        assert_eq!(connection_of(&out), Some(ID));
    }
    assert_eq!((HEADER, DATA_HEADER), (16, 36));
}

#[test]
fn what_is_written_is_read_and_what_is_damaged_is_not() {
    let (mut random, mut payload, mut out) = (Random(1), Vec::new(), Vec::new());
    for _ in 0..2000 {
        let packet = random_packet(&mut random, &mut payload);
        let connection = random.next();
        write(connection, &packet, &mut out);
        assert!(out.len() <= LARGEST);
        assert_eq!(read(&out), Ok((connection, packet)));
        for _ in 0..20 {
            let mut damaged = out.clone();
            match random.any() % 3 {
                0 => damaged.truncate((random.any() % out.len() as u64) as usize),
                1 => damaged.push(random.any() as u8),
                // Up to 32 bits in a row: every such damage is found.
                _ => {
                    let at = random.any() as usize % (8 * out.len());
                    let bits = (random.any() as u32) | 1;
                    for bit in (0..32).filter(|bit| bits >> bit & 1 != 0 && at + bit < 8 * out.len()) {
                        damaged[(at + bit) / 8] ^= 1 << ((at + bit) % 8);
                    }
                }
            }
            assert!(read(&damaged).is_err(), "{packet:?} {damaged:02x?}");
        }
    }
}

#[test]
fn any_bytes_are_refused_or_are_what_would_be_written() {
    let (mut random, mut again, mut read_some) = (Random(2), Vec::new(), 0);
    for _ in 0..100_000 {
        // The sizes of the kinds, as often as others.
        let sizes = [16, 20, 32, 36, 40, 68, 37, random.any() % 120];
        let size = sizes[(random.any() % 8) as usize];
        let mut bytes: Vec<u8> =
            (0..size).map(|_| if random.any().is_multiple_of(3) { 0 } else { random.next() as u8 }).collect();
        let start = [0x1c, 0xa5, VERSION, 1 + (random.any() % 9) as u8];
        let fixed = (random.any() % 6) as usize;
        let fixed = fixed.min(start.len()).min(bytes.len());
        bytes[..fixed].copy_from_slice(&start[..fixed]);
        let bytes = if random.any().is_multiple_of(4) { bytes } else { with_sum(bytes) };
        match read(&bytes) {
            Ok((connection, packet)) => {
                read_some += 1;
                write(connection, &packet, &mut again);
                assert_eq!(again, bytes);
            }
            Err(Unreadable::Version(version)) => assert!(version == bytes[2] && version != VERSION),
            Err(Unreadable::Malformed) => {}
        }
        answer_stranger(&bytes, &mut again);
    }
    assert!(read_some > 1000, "{read_some}");
}

const PATH: Path = Path {
    base_rtt: Time::from_us(100),
    base_owd: Time::from_us(50),
    line_rate: Rate::from_gbps(1),
    packet: Bytes::new(1538),
    payload: Bytes::new(1400),
    hops: 2,
};

/// Checks that a sender and a receiver neither panic nor stop time, whatever the packets of their connection
/// say.
#[test]
fn packets_that_lie_do_no_harm() {
    for seed in 0..400 {
        let (mut random, mut payload, mut bytes, mut out) =
            (Random(seed), Vec::new(), Vec::new(), Vec::new());
        let now = 5_000_000_000;
        let config = SenderConfig {
            params: AnyParams::named(["oscar", "swift", "dctcp", "dcqcn"][seed as usize % 4], None).unwrap(),
            path: PATH,
            connection: 1,
            length: 100_000,
            patience: Time::from_s(1),
        };
        let mut sender = Sender::new(now, config).unwrap();
        let rules = ReceiverRules {
            ack_every: AckEvery::Packets(1 + (seed % 3) as u32),
            ack_on_mark: false,
            ack_delay: Time::from_us(50),
            cnp_interval: Time::from_us(50),
        };
        let mut receiver = Receiver::new(now, ReceiverConfig { rules, ..ReceiverConfig::default() });
        let (message, mut sink) = (vec![7; 100_000], Vec::new());
        let mut at = now;
        for step in 0..300 {
            at += random.any() % 1_000_000;
            for _ in 0..200 {
                if !sender.poll_transmit(at, &mut message.as_slice(), &mut out) {
                    break;
                }
                receiver.on_packet(at, false, &out, &mut sink);
            }
            for _ in 0..200 {
                if !receiver.poll_transmit(at, &mut out) {
                    break;
                }
                // Mostly honest, so that all states are reached.
                if step % 3 != 0 {
                    sender.on_packet(at, &out);
                }
            }
            let mut packet = random_packet(&mut random, &mut payload);
            if let Packet::Ack(ack) = &mut packet {
                ack.sent = ack.sent.min(at);
                ack.expected %= 90;
            }
            if matches!(packet, Packet::End(_) | Packet::Finish(_)) && step < 250 {
                continue;
            }
            write(1, &packet, &mut bytes);
            sender.on_packet(at, &bytes);
            receiver.on_packet(at, random.any().is_multiple_of(2), &bytes, &mut sink);
            assert!(sender.next_deadline() >= at && receiver.next_deadline() >= at);
        }
    }
}

#[test]
fn another_version_is_named_on_both_sides() {
    let mut sender = Sender::new(
        0,
        SenderConfig {
            params: AnyParams::named("swift", None).unwrap(),
            path: PATH,
            connection: 77,
            length: 10,
            patience: Time::from_s(1),
        },
    )
    .unwrap();
    let (mut open, mut answer) = (Vec::new(), Vec::new());
    assert!(sender.poll_transmit(0, &mut [0; 10].as_slice(), &mut open));
    // A receiver of version 9 reads nothing of it but magic, version and connection, and answers in its version.
    let mut newer = open.clone();
    newer[2] = 9;
    assert!(answer_stranger(&newer, &mut answer));
    assert_eq!(read(&answer), Ok((77, Packet::End(End::Version))));
    answer[2] = 9;
    sender.on_packet(1, &answer);
    let Some(Err(failure)) = sender.outcome() else { panic!() };
    assert!(failure.to_string().contains("the other side speaks version 9"), "{failure}");
    // Another message is told that the receiver is busy; damage gets no answer.
    assert!(answer_stranger(&open, &mut answer));
    assert_eq!(read(&answer), Ok((77, Packet::End(End::Busy))));
    open[20] ^= 1;
    assert!(!answer_stranger(&open, &mut answer));
}

#[test]
fn a_message_of_another_sum_is_not_complete() {
    let mut receiver = Receiver::new(0, ReceiverConfig::default());
    let (mut sink, mut bytes, mut out) = (Vec::new(), Vec::new(), Vec::new());
    let mut tell = |receiver: &mut Receiver, packet: &Packet<'_>| {
        write(1, packet, &mut bytes);
        receiver.on_packet(10, false, &bytes, &mut sink);
    };
    tell(&mut receiver, &Packet::Open(Open { length: 3, sent: 0, payload: 1400, notify: false }));
    tell(&mut receiver, &Packet::Data(Data { number: 0, inflight: 3, sent: 0, payload: b"abc" }));
    let mut sum = Crc32c::default();
    sum.update(b"abc");
    tell(&mut receiver, &Packet::Finish(Finish { length: 3, sum: u64::from(sum.value()) }));
    while receiver.poll_transmit(20, &mut out) {}
    assert_eq!(read(&out), Ok((1, Packet::End(End::Damaged))));
    let Some(Err(failure)) = receiver.outcome() else { panic!() };
    assert!(failure.to_string().contains("sums of the message differ"));
}

#[test]
fn packets_larger_than_what_can_arrive_are_refused() {
    for (payload, is_refused) in [(1400, false), (1401, true)] {
        let config = ReceiverConfig { largest: Bytes::new(1400), ..ReceiverConfig::default() };
        let mut receiver = Receiver::new(0, config);
        let (mut bytes, mut out) = (Vec::new(), Vec::new());
        write(1, &Packet::Open(Open { length: 3, sent: 5, payload, notify: false }), &mut bytes);
        receiver.on_packet(10, false, &bytes, &mut Vec::new());
        assert!(receiver.poll_transmit(20, &mut out));
        let accept = Accept { sent: 5, received: 10, held: 10 };
        let answer = if is_refused { Packet::End(End::Failed) } else { Packet::Accept(accept) };
        assert_eq!(read(&out), Ok((1, answer)));
        let said = receiver.outcome().map(|outcome| outcome.as_ref().unwrap_err().to_string());
        let expected =
            "packets of the sender carry 1.401KB of the message, and here at most 1.4KB can arrive in one";
        assert_eq!(said.map(|said| said.starts_with(expected)), is_refused.then_some(true));
    }
}
