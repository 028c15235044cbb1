//! The program before the packets of an interface: datagrams for us go to our sockets, with their time of arrival, and
//! everything else goes where it would go without.
//!
//! It is so short that it is written here instruction by instruction: no compiler of BPF is needed to build this crate
//! or to run it. The kernel's verifier reads it each time.

use std::net::{Ipv4Addr, SocketAddrV4};

use super::frame::{ETHERNET, FRAGMENT, HEADERS, IPV4, PLAIN, UDP_PROTOCOL};

/// Bytes before a packet in which the program leaves its time of arrival, of the clock `CLOCK_MONOTONIC`. (ns)
pub(super) const STAMP: usize = 8;

/// Filter for the datagrams of this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ours {
    /// One of these addresses, and this port.
    pub(super) to: Vec<Ipv4Addr>,
    pub(super) port: u16,
    /// Only from there.
    pub(super) from: Option<SocketAddrV4>,
}

impl Ours {
    /// Whether a datagram is one of them: what the program decides by the bytes of the packet.
    pub(super) fn has(&self, from: SocketAddrV4, to: SocketAddrV4) -> bool {
        to.port() == self.port && self.to.contains(to.ip()) && self.from.is_none_or(|of| of == from)
    }
}

/// Operations (linux/bpf.h and bpf_common.h; Documentation/bpf/standardization/instruction-set.rst).
const LOAD_BYTE: u8 = 0x71;
const LOAD_HALF: u8 = 0x69;
const LOAD_WORD: u8 = 0x61;
const STORE_DOUBLE: u8 = 0x7b;
/// Of 64 bits: register to register, number to register.
const COPY: u8 = 0xbf;
const SET: u8 = 0xb7;
const ADD: u8 = 0x07;
const AND: u8 = 0x57;
const JUMP: u8 = 0x05;
const JUMP_IF_MORE: u8 = 0x2d;
/// Of 32 bits, so that a number is not taken for a negative one of 64.
const JUMP_IF_EQUAL: u8 = 0x16;
const JUMP_UNLESS_EQUAL: u8 = 0x56;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
/// Loads a number of 64 bits, or a map by its descriptor, in two instructions.
const SET_DOUBLE: u8 = 0x18;
const MAP: u8 = 1;

/// Functions of the kernel.
const KTIME_GET_NS: i32 = 5;
const REDIRECT_MAP: i32 = 51;
const ADJUST_META: i32 = 54;
/// Return value of a program that lets a packet pass.
pub(super) const XDP_PASS: i32 = 2;

/// Offsets of the fields of a program's argument (`struct xdp_md`).
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const DATA_META: i16 = 8;
const QUEUE: i16 = 16;

/// Offsets of fields of the headers.
const ETHER_TYPE: i16 = 12;
const IP: i16 = ETHERNET as i16;
const FLAGS: i16 = IP + 6;
const PROTOCOL: i16 = IP + 9;
const SOURCE: i16 = IP + 12;
const DESTINATION: i16 = IP + 16;
const SOURCE_PORT: i16 = IP + 20;
const DESTINATION_PORT: i16 = IP + 22;

/// An instruction: operation, registers (destination in the low half), offset, number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    number: i32,
}

const fn instruction(code: u8, to: u8, from: u8, offset: i16, number: i32) -> Instruction {
    Instruction { code, registers: to | from << 4, offset, number }
}

/// Target of a jump that is not yet written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The packet is none of ours.
    Pass,
    /// It is for one of our addresses.
    Addressed,
    /// It goes to our socket.
    Redirect,
}

#[derive(Default)]
struct Assembly {
    instructions: Vec<Instruction>,
    jumps: Vec<(usize, Place)>,
}

impl Assembly {
    fn put(&mut self, code: u8, to: u8, from: u8, offset: i16, number: i32) {
        self.instructions.push(instruction(code, to, from, offset, number));
    }

    fn jump(&mut self, code: u8, to: u8, from: u8, number: i32, place: Place) {
        self.jumps.push((self.instructions.len(), place));
        self.put(code, to, from, 0, number);
    }

    /// The place is here.
    fn here(&mut self, place: Place) {
        let here = self.instructions.len();
        self.jumps.retain(|(at, of)| {
            if *of == place {
                self.instructions[*at].offset = (here - at - 1) as i16;
            }
            *of != place
        });
    }

    /// Loads a field of the packet into register 5 and lets the packet pass unless it is that.
    fn require(&mut self, load: u8, at: i16, value: i32) {
        self.put(load, 5, 2, at, 0);
        self.jump(JUMP_UNLESS_EQUAL, 5, 0, value, Place::Pass);
    }
}

/// Numbers as they are in a packet, read in the order of this machine.
const fn half(value: u16) -> i32 {
    u16::from_ne_bytes(value.to_be_bytes()) as i32
}

const fn word(address: Ipv4Addr) -> i32 {
    i32::from_ne_bytes(address.octets())
}

/// Returns the program that redirects packets that match `ours` to the socket of the queue at which they
/// came, from the map with this descriptor.
pub(super) fn program(ours: &Ours, map: i32) -> Vec<Instruction> {
    let mut p = Assembly::default();
    p.put(COPY, 6, 1, 0, 0);
    p.put(LOAD_WORD, 2, 6, DATA, 0);
    p.put(LOAD_WORD, 3, 6, DATA_END, 0);
    p.put(COPY, 4, 2, 0, 0);
    p.put(ADD, 4, 0, 0, HEADERS as i32);
    p.jump(JUMP_IF_MORE, 4, 3, 0, Place::Pass);
    p.require(LOAD_HALF, ETHER_TYPE, half(IPV4));
    p.require(LOAD_BYTE, IP, i32::from(PLAIN));
    p.put(LOAD_HALF, 5, 2, FLAGS, 0);
    p.put(AND, 5, 0, 0, half(FRAGMENT));
    p.jump(JUMP_UNLESS_EQUAL, 5, 0, 0, Place::Pass);
    p.require(LOAD_BYTE, PROTOCOL, i32::from(UDP_PROTOCOL));
    p.require(LOAD_HALF, DESTINATION_PORT, half(ours.port));
    if let Some(from) = ours.from {
        p.require(LOAD_WORD, SOURCE, word(*from.ip()));
        p.require(LOAD_HALF, SOURCE_PORT, half(from.port()));
    }
    p.put(LOAD_WORD, 5, 2, DESTINATION, 0);
    for to in &ours.to {
        p.jump(JUMP_IF_EQUAL, 5, 0, word(*to), Place::Addressed);
    }
    p.jump(JUMP, 0, 0, 0, Place::Pass);
    p.here(Place::Addressed);
    // Where there is no space before the packet, it goes without its time.
    p.put(COPY, 1, 6, 0, 0);
    p.put(SET, 2, 0, 0, -(STAMP as i32));
    p.put(CALL, 0, 0, 0, ADJUST_META);
    p.jump(JUMP_UNLESS_EQUAL, 0, 0, 0, Place::Redirect);
    p.put(CALL, 0, 0, 0, KTIME_GET_NS);
    p.put(LOAD_WORD, 2, 6, DATA_META, 0);
    p.put(LOAD_WORD, 3, 6, DATA, 0);
    p.put(COPY, 4, 2, 0, 0);
    p.put(ADD, 4, 0, 0, STAMP as i32);
    p.jump(JUMP_IF_MORE, 4, 3, 0, Place::Redirect);
    p.put(STORE_DOUBLE, 2, 0, 0, 0);
    p.here(Place::Redirect);
    p.put(SET_DOUBLE, 1, MAP, 0, map);
    p.put(0, 0, 0, 0, 0);
    p.put(LOAD_WORD, 2, 6, QUEUE, 0);
    // For a queue without a socket.
    p.put(SET, 3, 0, 0, XDP_PASS);
    p.put(CALL, 0, 0, 0, REDIRECT_MAP);
    p.put(EXIT, 0, 0, 0, 0);
    p.here(Place::Pass);
    p.put(SET, 0, 0, 0, XDP_PASS);
    p.put(EXIT, 0, 0, 0, 0);
    p.instructions
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;
    use crate::xdp::frame::{self, Way};
    use crate::xdp::ring::XdpSocket;
    use crate::xdp::system;
    use crate::xdp::tests::random;

    /// The kernel's result for a packet that it redirects to a socket.
    const XDP_REDIRECT: u32 = 4;

    /// Whether a packet is ours, by its bytes: field by field as in RFC 791 and RFC 768.
    fn is_ours(ours: &Ours, packet: &[u8]) -> bool {
        packet.len() >= 42
            && packet[12..15] == [8, 0, 0x45]
            && (packet[20] & 0x3f, packet[21]) == (0, 0)
            && packet[23] == 17
            && packet[36..38] == ours.port.to_be_bytes()
            && ours.to.iter().any(|to| packet[30..34] == to.octets())
            && ours.from.is_none_or(|from| {
                packet[26..30] == from.ip().octets() && packet[34..36] == from.port().to_be_bytes()
            })
    }

    #[test]
    fn the_kernel_sends_to_the_socket_what_is_ours_and_lets_all_else_pass() {
        let (map, socket) = match system::socket_map(1).and_then(|map| Ok((map, XdpSocket::new(2048)?))) {
            Ok(both) => both,
            Err(error) => {
                println!("left out: this machine makes no AF_XDP socket: {error}");
                return;
            }
        };
        system::put(&map, 0, socket.fd()).unwrap();
        let mut state = 3;
        for (to, from) in [
            (vec!["10.0.0.2"], None),
            (vec!["10.0.0.2", "192.0.2.1", "255.255.255.254"], None),
            (vec!["200.1.2.3"], Some("10.0.0.1:1000")),
        ] {
            let to = to.iter().map(|ip| ip.parse().unwrap()).collect();
            let ours = Ours { to, port: 0xfedc, from: from.map(|from| from.parse().unwrap()) };
            let loaded = system::load(&program(&ours, map.as_raw_fd())).unwrap();
            let (mut redirected, mut passed) = (0, 0);
            for _ in 0..3000 {
                let to = ours.to[random(&mut state) as usize % ours.to.len()];
                let from = ours.from.unwrap_or_else(|| "203.0.113.7:65535".parse().unwrap());
                let way = Way {
                    from_mac: [2, 0, 0, 0, 0, 1],
                    to_mac: [2, 0, 0, 0, 0, 2],
                    from,
                    to: SocketAddrV4::new(to, ours.port),
                    markable: false,
                };
                let mut packet = vec![0; 60];
                let size = frame::write(&way, &[7; 10], &mut packet).unwrap();
                packet.truncate(size);
                // Ours, or with one to three changed bits, or cut.
                for _ in 0..random(&mut state) % 4 {
                    let at = random(&mut state) as usize % HEADERS;
                    packet[at] ^= 1 << (random(&mut state) % 8);
                }
                if random(&mut state).is_multiple_of(8) {
                    packet.truncate(14 + random(&mut state) as usize % 38);
                }
                let before = system::monotonic();
                let (result, out) = system::run(&loaded, &packet).unwrap();
                let expected = is_ours(&ours, &packet);
                assert_eq!(
                    result,
                    if expected { XDP_REDIRECT } else { XDP_PASS as u32 },
                    "{ours:?} {packet:?}"
                );
                if expected {
                    redirected += 1;
                    let (stamp, rest) = out.split_first_chunk::<STAMP>().unwrap();
                    let stamp = std::time::Duration::from_nanos(u64::from_ne_bytes(*stamp));
                    assert!((before..=system::monotonic()).contains(&stamp));
                    assert_eq!(rest, packet);
                } else {
                    passed += 1;
                    assert_eq!(out, packet);
                }
            }
            assert!(redirected > 500 && passed > 500, "{redirected} {passed}");
        }
    }
}
