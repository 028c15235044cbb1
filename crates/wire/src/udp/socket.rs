//! A UDP socket: packets in batches (`sendmmsg`, `recvmmsg`), with what the kernel says of each that arrives.
#![expect(unsafe_code, reason = "the standard library has neither batches nor ancillary data")]

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;
use std::ptr::{from_mut, null, null_mut};
use std::time::Duration;

use libc::{c_int, c_void, cmsghdr, iovec, mmsghdr, msghdr, sockaddr_storage, socklen_t, timespec};

use crate::drive::{BATCH, Peer};
use crate::format::LARGEST;

/// Bytes asked for in the kernel's queue of packets that have arrived.
const QUEUE: c_int = 4 << 20;
/// The mark of ECN-capable packets, ECT(0), and the mark of packets that have met congestion (RFC 3168,
/// section 5).
const ECT_0: c_int = 2;
const CONGESTION_EXPERIENCED: u8 = 3;

/// A socket that never waits but in [`wait`](Self::wait).
#[derive(Debug)]
pub(super) struct Socket(UdpSocket);

impl Socket {
    pub(super) fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = Self(UdpSocket::bind(address)?);
        socket.0.set_nonblocking(true)?;
        // Larger than the system's limit only with the right to it; smaller is no error.
        let _ = socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, QUEUE);
        let _ = socket.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, QUEUE);
        let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
        // Without the kernel's times, those of the clock are taken.
        let _ = socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as c_int);
        // A socket for IPv6 can receive IPv4 too; one for IPv4 has no options of IPv6.
        socket.set(libc::IPPROTO_IP, libc::IP_RECVTOS, 1)?;
        socket.set(libc::IPPROTO_IP, libc::IP_PKTINFO, 1)?;
        // Never in fragments, and whatever routers report of sizes: anybody can send such a report.
        socket.set(libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)?;
        if socket.is_v6()? {
            socket.set(libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)?;
            socket.set(libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?;
            socket.set(libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE)?;
        }
        Ok(socket)
    }

    /// From now on to this address and from it only.
    pub(super) fn connect(&self, address: SocketAddr) -> io::Result<()> {
        self.0.connect(address)
    }

    /// From now on switches may mark packets in place of dropping them.
    pub(super) fn mark_capable(&self) -> io::Result<()> {
        self.set(libc::IPPROTO_IP, libc::IP_TOS, ECT_0)?;
        if self.is_v6()? {
            self.set(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, ECT_0)?;
        }
        Ok(())
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    fn is_v6(&self) -> io::Result<bool> {
        Ok(self.0.local_addr()?.is_ipv6())
    }

    fn set(&self, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
        let size = size_of::<c_int>() as socklen_t;
        // SAFETY: the value lives during the call, and its size is right.
        let done = unsafe {
            libc::setsockopt(self.0.as_raw_fd(), level, name, (&raw const value).cast::<c_void>(), size)
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Waits until packets arrive, or, if `to_send`, until some can be sent, or so long.
    pub(super) fn wait(&self, longest: Duration, to_send: bool) {
        let events = libc::POLLIN | if to_send { libc::POLLOUT } else { 0 };
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events, revents: 0 };
        let time = timespec {
            tv_sec: longest.as_secs().min(3600) as libc::time_t,
            tv_nsec: libc::c_long::from(longest.subsec_nanos() as i32),
        };
        // SAFETY: both structures live during the call. A signal ends it early, which does no harm.
        unsafe { libc::ppoll(&raw mut poll, 1, &raw const time, null()) };
    }

    /// Sends packets, to `to` or where the socket is connected to. Returns how many were sent: all, or fewer when the
    /// kernel's queue is full.
    pub(super) fn send(&self, packets: &[Vec<u8>], to: Option<&Origin>) -> io::Result<usize> {
        let mut name = to.map(|to| raw_address(to.from));
        let mut control = [0_u64; SOURCE / size_of::<u64>()];
        let control_size = to.and_then(|to| to.at).map_or(0, |at| write_source(at, &mut control));
        let count = packets.len().min(BATCH);
        // SAFETY: all zeros is a valid value of these structures, which are pointers and numbers.
        let (mut parts, mut messages): ([iovec; BATCH], [mmsghdr; BATCH]) = unsafe { (zeroed(), zeroed()) };
        for ((packet, part), message) in packets[..count].iter().zip(&mut parts).zip(&mut messages) {
            // `sendmmsg` only reads what it is given.
            *part = iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() };
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
            if let Some((name, size)) = &mut name {
                message.msg_hdr.msg_name = from_mut(name).cast();
                message.msg_hdr.msg_namelen = *size;
            }
            if control_size > 0 {
                message.msg_hdr.msg_control = control.as_mut_ptr().cast();
                message.msg_hdr.msg_controllen = control_size as _;
            }
        }
        // SAFETY: every message points to a part, a packet, an address and ancillary data that live during the call.
        let sent = unsafe { libc::sendmmsg(self.0.as_raw_fd(), messages.as_mut_ptr(), count as u32, 0) };
        match usize::try_from(sent) {
            Ok(sent) => Ok(sent),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
                error => Err(error),
            },
        }
    }

    /// Receives packets that have arrived.
    pub(super) fn receive(&self, inbox: &mut Inbox) -> io::Result<()> {
        inbox.count = 0;
        // SAFETY: all zeros is a valid value of these structures, which are pointers and numbers.
        let (mut parts, mut messages): ([iovec; BATCH], [mmsghdr; BATCH]) = unsafe { (zeroed(), zeroed()) };
        for (((slot, part), message), bytes) in
            inbox.slots.iter_mut().zip(&mut parts).zip(&mut messages).zip(inbox.bytes.chunks_mut(LARGEST))
        {
            *part = iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_name = (&raw mut slot.name).cast();
            message.msg_hdr.msg_namelen = size_of::<sockaddr_storage>() as socklen_t;
            message.msg_hdr.msg_control = slot.control.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = size_of_val(&slot.control) as _;
        }
        // SAFETY: every message points to a part, bytes, an address and ancillary space that live during the call, with
        // their sizes.
        let count = unsafe {
            let fd = self.0.as_raw_fd();
            libc::recvmmsg(fd, messages.as_mut_ptr(), BATCH as u32, libc::MSG_DONTWAIT as _, null_mut())
        };
        let Ok(count) = usize::try_from(count) else {
            return match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
                error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
                error => Err(error),
            };
        };
        for (slot, message) in inbox.slots.iter_mut().zip(&messages[..count]) {
            // A packet that is too long is none of ours: it is cut, and its sum is wrong.
            slot.size = (message.msg_len as usize).min(LARGEST);
            slot.said = ancillary(&message.msg_hdr);
        }
        inbox.count = count;
        Ok(())
    }
}

/// Space for packets that arrive.
pub(super) struct Inbox {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    count: usize,
}

struct Slot {
    name: sockaddr_storage,
    /// Ancillary data; in words, because it must be aligned.
    control: [u64; 32],
    size: usize,
    said: Said,
}

/// Statements of the kernel about a packet that has arrived.
#[derive(Clone, Copy, Default)]
struct Said {
    /// Time of arrival since 1970.
    stamp: Option<Duration>,
    /// Whether it met congestion.
    marked: bool,
    /// Our address to which it came.
    at: Option<Local>,
}

/// An address of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Local {
    ip: IpAddr,
    /// Index of the interface of a link-local address, which is unique only there; zero for any other address.
    interface: u32,
}

/// Origin of a packet, to which its answer goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    from: SocketAddr,
    /// Our address to which it came, from which the answer leaves: a sender takes packets of no other one. Without it
    /// the kernel chooses one.
    at: Option<Local>,
}

impl Peer for Origin {
    fn address(&self) -> SocketAddr {
        self.from
    }
}

/// A packet that has arrived.
pub(super) struct Arrival<'a> {
    /// `None` for an address that is neither of IPv4 nor of IPv6.
    pub(super) from: Option<Origin>,
    pub(super) bytes: &'a [u8],
    /// Time of arrival since 1970, by the kernel.
    pub(super) stamp: Option<Duration>,
    /// Whether it met congestion.
    pub(super) marked: bool,
}

impl Inbox {
    pub(super) fn new() -> Self {
        let slot = || Slot {
            // SAFETY: all zeros is a valid address, of no family.
            name: unsafe { zeroed() },
            control: [0; 32],
            size: 0,
            said: Said::default(),
        };
        let slots = std::iter::repeat_with(slot).take(BATCH).collect();
        Self { bytes: vec![0; BATCH * LARGEST], slots, count: 0 }
    }

    /// The packets of the last call.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = Arrival<'_>> {
        let packets = self.slots.iter().zip(self.bytes.chunks(LARGEST)).take(self.count);
        packets.map(|(slot, bytes)| Arrival {
            from: address_of(&slot.name).map(|from| Origin { from, at: slot.said.at }),
            bytes: &bytes[..slot.size],
            stamp: slot.said.stamp,
            marked: slot.said.marked,
        })
    }

    /// Whether there may be more than those.
    pub(super) const fn is_full(&self) -> bool {
        self.count == BATCH
    }
}

/// Reads the ancillary data of a packet.
fn ancillary(header: &msghdr) -> Said {
    let mut said = Said::default();
    // SAFETY: the kernel has written the ancillary data and its size into this header; these functions stay within it,
    // and values are read only where the length says that they are there.
    unsafe {
        let mut next: *const cmsghdr = libc::CMSG_FIRSTHDR(header);
        while !next.is_null() {
            let data = libc::CMSG_DATA(next);
            let size = ((*next).cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize);
            match ((*next).cmsg_level, (*next).cmsg_type) {
                // The first of three times is the kernel's own.
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) if size >= size_of::<timespec>() => {
                    let time = data.cast::<timespec>().read_unaligned();
                    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
                    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
                    said.stamp = Some(Duration::new(seconds, nanoseconds)).filter(|stamp| !stamp.is_zero());
                }
                (libc::IPPROTO_IP, libc::IP_TOS) | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) if size >= 1 => {
                    // One byte, or a number of four of which the others are zero.
                    let last = if cfg!(target_endian = "big") { size - 1 } else { 0 };
                    said.marked = data.add(last).read() & 3 == CONGESTION_EXPERIENCED;
                }
                // Of IPv4 also where the socket is one of IPv6, which says the same as an IPv6 address.
                (libc::IPPROTO_IP, libc::IP_PKTINFO) if size >= size_of::<libc::in_pktinfo>() => {
                    let info = data.cast::<libc::in_pktinfo>().read_unaligned();
                    // For a packet to many, the address of the machine and not the group's.
                    let ip = Ipv4Addr::from(u32::from_be(info.ipi_spec_dst.s_addr));
                    said.at = (!ip.is_unspecified()).then_some(Local { ip: ip.into(), interface: 0 });
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) if size >= size_of::<libc::in6_pktinfo>() => {
                    let info = data.cast::<libc::in6_pktinfo>().read_unaligned();
                    let ip = Ipv6Addr::from(info.ipi6_addr.s6_addr);
                    if ip.to_ipv4_mapped().is_none() && !ip.is_multicast() {
                        let interface = if ip.is_unicast_link_local() { info.ipi6_ifindex as u32 } else { 0 };
                        said.at = Some(Local { ip: ip.into(), interface });
                    }
                }
                _ => {}
            }
            next = libc::CMSG_NXTHDR(header, next);
        }
    }
    said
}

/// Space for the address from which a packet leaves, in ancillary data.
const SOURCE: usize = {
    // SAFETY: it computes a size.
    let size = unsafe { libc::CMSG_SPACE(size_of::<libc::in6_pktinfo>() as u32) };
    (size as usize).next_multiple_of(size_of::<u64>())
};

/// Writes the address from which a packet is to leave as ancillary data. Returns the size of that.
fn write_source(at: Local, control: &mut [u64; SOURCE / size_of::<u64>()]) -> usize {
    let mut write = |level: c_int, kind: c_int, info: *const u8, size: usize| {
        let header: *mut cmsghdr = control.as_mut_ptr().cast();
        // SAFETY: the space is aligned and large enough for the header and the larger of both structures, `info` points
        // to `size` bytes, and the data of a header follow it.
        unsafe {
            (*header).cmsg_level = level;
            (*header).cmsg_type = kind;
            (*header).cmsg_len = libc::CMSG_LEN(size as u32) as _;
            info.copy_to_nonoverlapping(libc::CMSG_DATA(header), size);
            libc::CMSG_SPACE(size as u32) as usize
        }
    };
    match at.ip {
        IpAddr::V4(ip) => {
            let info = libc::in_pktinfo {
                // The route decides.
                ipi_ifindex: 0,
                ipi_spec_dst: libc::in_addr { s_addr: u32::from(ip).to_be() },
                ipi_addr: libc::in_addr { s_addr: 0 },
            };
            write(libc::IPPROTO_IP, libc::IP_PKTINFO, (&raw const info).cast(), size_of_val(&info))
        }
        IpAddr::V6(ip) => {
            let info = libc::in6_pktinfo {
                ipi6_addr: libc::in6_addr { s6_addr: ip.octets() },
                ipi6_ifindex: at.interface as _,
            };
            write(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, (&raw const info).cast(), size_of_val(&info))
        }
    }
}

/// An address as the kernel has it, and its size.
fn raw_address(address: SocketAddr) -> (sockaddr_storage, socklen_t) {
    // SAFETY: all zeros is a valid address, of no family.
    let mut name: sockaddr_storage = unsafe { zeroed() };
    let size = match address {
        SocketAddr::V4(v4) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*v4.ip()).to_be() },
                sin_zero: [0; 8],
            };
            // SAFETY: the storage is larger than any address and aligned for it.
            unsafe { (&raw mut name).cast::<libc::sockaddr_in>().write(raw) };
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe { (&raw mut name).cast::<libc::sockaddr_in6>().write(raw) };
            size_of::<libc::sockaddr_in6>()
        }
    };
    (name, size as socklen_t)
}

/// The address that the kernel wrote.
fn address_of(name: &sockaddr_storage) -> Option<SocketAddr> {
    let name: *const sockaddr_storage = name;
    match c_int::from(
        // SAFETY: it is a reference.
        unsafe { (*name).ss_family },
    ) {
        libc::AF_INET => {
            // SAFETY: the family says what it is, and the storage is large enough for any.
            let raw = unsafe { name.cast::<libc::sockaddr_in>().read() };
            let ip = Ipv4Addr::from(u32::from_be(raw.sin_addr.s_addr));
            Some(SocketAddrV4::new(ip, u16::from_be(raw.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let raw = unsafe { name.cast::<libc::sockaddr_in6>().read() };
            let ip = Ipv6Addr::from(raw.sin6_addr.s6_addr);
            let port = u16::from_be(raw.sin6_port);
            Some(SocketAddrV6::new(ip, port, raw.sin6_flowinfo, raw.sin6_scope_id).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::any;

    /// Returns the packets that a receiver gets, among them the packets of the sender that `set_up` prepares.
    fn exchange(at: &str, to: &str, set_up: impl FnOnce(&Socket)) -> Vec<(Vec<u8>, bool)> {
        let receiver = Socket::bind(at.parse().unwrap()).unwrap();
        let port = receiver.address().unwrap().port();
        let to: SocketAddr = format!("{to}:{port}").parse().unwrap();
        let sender = Socket::bind(any(&to)).unwrap();
        set_up(&sender);
        let to = &Origin { from: to, at: None };
        let packets: Vec<Vec<u8>> = (0..BATCH + 8).map(|n| vec![n as u8; 1 + 30 * n]).collect();
        let before = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
        assert_eq!(sender.send(&packets, Some(to)).unwrap(), BATCH);
        assert_eq!(sender.send(&packets[BATCH..], Some(to)).unwrap(), 8);
        let (mut inbox, mut arrived) = (Inbox::new(), Vec::new());
        for _ in 0..50 {
            receiver.wait(Duration::from_millis(100), false);
            receiver.receive(&mut inbox).unwrap();
            let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
            for arrival in inbox.arrivals() {
                let from = arrival.from.unwrap().address();
                assert_eq!(from.port(), sender.address().unwrap().port());
                // The kernel begins to take times a moment after the first socket of the machine asks for them.
                let stamp = arrival.stamp.unwrap_or(now);
                assert!((before..=now).contains(&stamp), "{before:?} {stamp:?}");
                arrived.push((arrival.bytes.to_vec(), arrival.marked));
            }
            if arrived.len() == packets.len() {
                break;
            }
        }
        assert!(arrived.iter().map(|(bytes, _)| bytes).eq(&packets));
        // Nothing more, and no waiting for it.
        receiver.receive(&mut inbox).unwrap();
        assert_eq!(inbox.arrivals().count(), 0);
        arrived
    }

    fn has_v6() -> bool {
        UdpSocket::bind("[::1]:0").is_ok()
    }

    #[test]
    fn packets_their_times_and_their_marks() {
        let marks = |arrived: Vec<(Vec<u8>, bool)>| arrived.iter().filter(|(_, marked)| *marked).count();
        let marked = |socket: &Socket| {
            socket.set(libc::IPPROTO_IP, libc::IP_TOS, 3).unwrap();
            if socket.is_v6().unwrap() {
                socket.set(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, 3).unwrap();
            }
        };
        assert_eq!(marks(exchange("127.0.0.1:0", "127.0.0.1", |_| {})), 0);
        assert_eq!(marks(exchange("127.0.0.1:0", "127.0.0.1", |s| s.mark_capable().unwrap())), 0);
        assert_eq!(marks(exchange("127.0.0.1:0", "127.0.0.1", marked)), BATCH + 8);
        if has_v6() {
            assert_eq!(marks(exchange("[::1]:0", "[::1]", |s| s.mark_capable().unwrap())), 0);
            assert_eq!(marks(exchange("[::1]:0", "[::1]", marked)), BATCH + 8);
            // A socket for both gets IPv4 too, with its marks.
            assert_eq!(marks(exchange("[::]:0", "127.0.0.1", marked)), BATCH + 8);
        }
    }

    #[test]
    fn the_kernel_says_when_a_packet_arrived() {
        let receiver = Socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let sender = Socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let flags = (libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE) as c_int;
        if let Err(error) = receiver.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags) {
            println!("left out: this kernel says no times: {error}");
            return;
        }
        let mut inbox = Inbox::new();
        let stamped = (0..2000).any(|_| {
            sender.connect(receiver.address().unwrap()).unwrap();
            sender.send(&[vec![1]], None).unwrap();
            receiver.wait(Duration::from_millis(10), false);
            receiver.receive(&mut inbox).unwrap();
            // The kernel begins in a thread of its own, which may have to wait for a processor.
            let stamped = inbox.arrivals().any(|arrival| arrival.stamp.is_some());
            std::thread::sleep(Duration::from_millis(if stamped { 0 } else { 10 }));
            stamped
        });
        assert!(stamped);
    }

    #[test]
    fn addresses_there_and_back() {
        for text in ["127.0.0.1:7077", "[::1]:1", "[fe80::1%3]:65535"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(address_of(&raw_address(address).0), Some(address));
        }
        // SAFETY: all zeros is a valid address, of no family.
        assert_eq!(address_of(&unsafe { zeroed() }), None);
    }
}
