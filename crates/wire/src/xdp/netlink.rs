//! The kernel's view of interfaces, ways and neighbours (rtnetlink, RFC 3549).

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use libc::{c_int, c_ushort};

use super::frame::Mac;
use super::system;

/// Attributes and other numbers that `libc` does not have everywhere (linux/if_link.h, if_addr.h, rtnetlink.h).
const IFLA_ADDRESS: c_ushort = 1;
const IFLA_IFNAME: c_ushort = 3;
const IFLA_MTU: c_ushort = 4;
const IFA_LOCAL: c_ushort = 2;
const ARPHRD_ETHER: u16 = 1;
/// A neighbour whose address is known: reachable, stale, delay, probe, noarp, permanent.
const KNOWN: u16 = libc::NUD_REACHABLE
    | libc::NUD_STALE
    | libc::NUD_DELAY
    | libc::NUD_PROBE
    | libc::NUD_NOARP
    | libc::NUD_PERMANENT;
/// Longest time for the kernel to find a neighbour: it asks three times, a second apart.
const ASKING: Duration = Duration::from_millis(3500);

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) index: u32,
    /// `None` if it is none of Ethernet.
    pub(super) mac: Option<Mac>,
    /// Bytes of the largest IP packet.
    pub(super) mtu: u32,
    pub(super) up: bool,
    pub(super) loopback: bool,
}

/// The way to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Route {
    /// Index of the interface.
    pub(super) interface: u32,
    /// The router; `None` if the address is a neighbour.
    pub(super) gateway: Option<Ipv4Addr>,
    /// Whether the address is of this machine.
    pub(super) local: bool,
}

/// A connection to the kernel.
pub(super) struct Netlink(File);

impl Netlink {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(system::netlink()?.into()))
    }

    /// The interface of this name.
    pub(super) fn interface(&mut self, name: &str) -> io::Result<Interface> {
        let mut request = Message::new(libc::RTM_GETLINK, 0, &[0; 16]);
        request.attribute(IFLA_IFNAME, &[name.as_bytes(), &[0]].concat());
        self.link(&request)
    }

    /// The interface of this index.
    pub(super) fn interface_of(&mut self, index: u32) -> io::Result<Interface> {
        let mut about = [0; 16];
        about[4..8].copy_from_slice(&index.to_ne_bytes());
        self.link(&Message::new(libc::RTM_GETLINK, 0, &about))
    }

    fn link(&mut self, request: &Message) -> io::Result<Interface> {
        let answers = self.ask(request)?;
        let answer = answers.first().ok_or_else(nothing)?;
        let link = answer.header::<16>()?;
        let flags = u32::from_ne_bytes([link[8], link[9], link[10], link[11]]);
        let is = |flag: c_int| flags & flag as u32 != 0;
        let ethernet = u16::from_ne_bytes([link[2], link[3]]) == ARPHRD_ETHER;
        let mac = answer.attribute(16, IFLA_ADDRESS).and_then(|mac| mac.try_into().ok());
        let name = answer.attribute(16, IFLA_IFNAME).ok_or_else(nothing)?;
        Ok(Interface {
            name: String::from_utf8_lossy(name.strip_suffix(&[0]).unwrap_or(name)).into_owned(),
            index: u32::from_ne_bytes([link[4], link[5], link[6], link[7]]),
            mac: mac.filter(|_| ethernet),
            mtu: answer.attribute(16, IFLA_MTU).and_then(number).ok_or_else(nothing)?,
            up: is(libc::IFF_UP),
            loopback: is(libc::IFF_LOOPBACK),
        })
    }

    /// The IPv4 addresses of an interface.
    pub(super) fn addresses(&mut self, interface: u32) -> io::Result<Vec<Ipv4Addr>> {
        let request =
            Message::new(libc::RTM_GETADDR, libc::NLM_F_DUMP, &[libc::AF_INET as u8, 0, 0, 0, 0, 0, 0, 0]);
        let mut found = Vec::new();
        for answer in self.ask(&request)? {
            let of = answer.header::<8>()?;
            if u32::from_ne_bytes([of[4], of[5], of[6], of[7]]) == interface {
                found.extend(answer.attribute(8, IFA_LOCAL).and_then(address));
            }
        }
        Ok(found)
    }

    /// The way that a packet takes.
    pub(super) fn route(&mut self, from: Ipv4Addr, to: Ipv4Addr) -> io::Result<Route> {
        let mut request =
            Message::new(libc::RTM_GETROUTE, 0, &[libc::AF_INET as u8, 32, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        request.attribute(libc::RTA_DST, &to.octets());
        request.attribute(libc::RTA_SRC, &from.octets());
        let answers = self.ask(&request)?;
        let answer = answers.first().ok_or_else(nothing)?;
        Ok(Route {
            interface: answer.attribute(12, libc::RTA_OIF).and_then(number).ok_or_else(nothing)?,
            gateway: answer.attribute(12, libc::RTA_GATEWAY).and_then(address),
            local: answer.header::<12>()?[7] == libc::RTN_LOCAL,
        })
    }

    /// The Ethernet address of a neighbour; the kernel asks for it if it does not know. `None`: nobody answers.
    pub(super) fn neighbour(&mut self, interface: u32, ip: Ipv4Addr) -> io::Result<Option<Mac>> {
        let until = Instant::now() + ASKING;
        let mut asked = false;
        loop {
            if let Some(mac) = self.known(interface, ip)? {
                return Ok(Some(mac));
            }
            if !asked {
                // As if a packet were to be sent there.
                let mut request = Message::new(
                    libc::RTM_NEWNEIGH,
                    libc::NLM_F_CREATE,
                    &of_neighbour(interface, libc::NTF_USE),
                );
                request.attribute(libc::NDA_DST, &ip.octets());
                self.ask(&request)?;
                asked = true;
            } else if Instant::now() >= until {
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn known(&mut self, interface: u32, ip: Ipv4Addr) -> io::Result<Option<Mac>> {
        let request = Message::new(libc::RTM_GETNEIGH, libc::NLM_F_DUMP, &of_neighbour(interface, 0));
        for answer in self.ask(&request)? {
            let of = answer.header::<12>()?;
            let (index, state) =
                (u32::from_ne_bytes([of[4], of[5], of[6], of[7]]), u16::from_ne_bytes([of[8], of[9]]));
            let found = answer.attribute(12, libc::NDA_DST).and_then(address);
            if index == interface && found == Some(ip) && state & KNOWN != 0 {
                return Ok(answer.attribute(12, libc::NDA_LLADDR).and_then(|mac| mac.try_into().ok()));
            }
        }
        Ok(None)
    }

    /// Sends a request and reads what answers it, up to the acknowledgement or the end of a list.
    fn ask(&mut self, request: &Message) -> io::Result<Vec<Answer>> {
        self.0.write_all(&request.0)?;
        let mut answers = Vec::new();
        let mut bytes = vec![0; 1 << 16];
        loop {
            let size = self.0.read(&mut bytes)?;
            let mut rest = &bytes[..size];
            while let Some((header, _)) = rest.split_first_chunk::<16>() {
                let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
                let kind = u16::from_ne_bytes([header[4], header[5]]);
                let payload = rest.get(16..length).ok_or_else(nothing)?;
                match c_int::from(kind) {
                    libc::NLMSG_DONE => return Ok(answers),
                    libc::NLMSG_ERROR => {
                        let error = payload.first_chunk::<4>().ok_or_else(nothing)?;
                        return match i32::from_ne_bytes(*error) {
                            0 => Ok(answers),
                            error => Err(io::Error::from_raw_os_error(error.saturating_neg())),
                        };
                    }
                    _ => answers.push(Answer(payload.to_vec())),
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }
}

/// The header of a message about a neighbour.
fn of_neighbour(interface: u32, flags: u8) -> [u8; 12] {
    let [a, b, c, d] = interface.to_ne_bytes();
    [libc::AF_INET as u8, 0, 0, 0, a, b, c, d, 0, 0, flags, 0]
}

fn nothing() -> io::Error {
    io::Error::other("the kernel's answer about the network is incomplete")
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_ne_bytes)
}

fn address(bytes: &[u8]) -> Option<Ipv4Addr> {
    <[u8; 4]>::try_from(bytes).ok().map(Ipv4Addr::from)
}

/// A request: a header of the protocol, one of the subject, attributes.
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, flags: c_int, subject: &[u8]) -> Self {
        let mut message = Self(vec![0; 16]);
        message.0[4..6].copy_from_slice(&kind.to_ne_bytes());
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        message.0[6..8].copy_from_slice(&flags.to_ne_bytes());
        message.append(subject);
        message
    }

    fn attribute(&mut self, kind: c_ushort, value: &[u8]) {
        let size = 4 + value.len() as u16;
        let bytes = [&size.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat();
        self.append(&bytes);
    }

    fn append(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        let length = self.0.len() as u32;
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
    }
}

/// An answer: a header of the subject, attributes.
struct Answer(Vec<u8>);

impl Answer {
    fn header<const N: usize>(&self) -> io::Result<&[u8; N]> {
        self.0.first_chunk().ok_or_else(nothing)
    }

    /// Returns the value of an attribute among those that follow a header of `after` bytes.
    fn attribute(&self, after: usize, kind: c_ushort) -> Option<&[u8]> {
        let mut rest = self.0.get(after..)?;
        loop {
            let header = rest.first_chunk::<4>()?;
            let size = usize::from(u16::from_ne_bytes([header[0], header[1]]));
            if u16::from_ne_bytes([header[2], header[3]]) == kind {
                return rest.get(4..size);
            }
            rest = rest.get(size.max(4).next_multiple_of(4)..)?;
        }
    }
}
