//! The driver for AF_XDP sockets: the same datagrams as with UDP sockets, written and read as Ethernet frames of one
//! interface, past the kernel's network stack.
//!
//! A program before the packets of the interface gives those for us to our sockets, each with its time of arrival; all
//! others pass. It is attached as a link, which the kernel removes with this process, however that ends. Sockets copy
//! packets (`XDP_COPY`), and the program runs in the kernel's general part, so that no network card has to know of it.
//! A UDP socket keeps the port from others, and hears errors that routers and the other side report.

mod frame;
mod netlink;
mod program;
mod ring;
mod system;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::ops::ControlFlow;
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use incast_units::Bytes;

use self::frame::{ETHERNET, HEADERS, Mac, Way};
use self::netlink::{Interface, Netlink};
use self::program::{Ours, program};
use self::ring::XdpSocket;
use crate::drive::{
    self, Arrival, BATCH, Error, Peer, ReceiveJob, Received, Receiving, SendJob, Sending, any,
};
use crate::format::LARGEST;
use crate::{Sink, Source};

/// Queues of an interface, at most.
const MOST_QUEUES: u32 = 64;
/// Longest time after the end of another process until its resources are free.
const FREE_AFTER: Duration = Duration::from_secs(2);
/// Time to wait before trying again after the kernel had no room: it does not report when it has.
const TRY_AGAIN: Duration = Duration::from_micros(50);

/// Sends a message through an interface, and tells `report` ten times a second where it is; that can stop it. The
/// receiver may have AF_XDP or UDP sockets.
///
/// # Errors
///
/// When it cannot be sent. Once this returns without, the receiver has the message.
pub fn send(
    job: &SendJob,
    interface: &str,
    source: &mut impl Source,
    report: &mut dyn FnMut(&Sending) -> ControlFlow<()>,
) -> Result<Sending, Error> {
    drive::send(job, |marks| Driver::to_send(job, interface, marks), source, report)
}

/// Receives one message through an interface, and tells `report` ten times a second where it is; that can stop it. The
/// first report comes when it begins to wait. The sender may have AF_XDP or UDP sockets.
///
/// # Errors
///
/// When it cannot be received.
pub fn receive(
    job: &ReceiveJob,
    interface: &str,
    sink: &mut impl Sink,
    report: &mut dyn FnMut(&Receiving) -> ControlFlow<()>,
) -> Result<Received, Error> {
    drive::receive(job, Driver::to_receive(job, interface)?, sink, report)
}

/// Origin of a packet, to which its answer goes.
#[derive(Clone, Copy, Debug)]
struct Origin {
    from: SocketAddrV4,
    /// Our address to which it came.
    to: SocketAddrV4,
    /// Address of the frame's sender.
    mac: Mac,
}

impl Peer for Origin {
    fn address(&self) -> SocketAddr {
        self.from.into()
    }
}

struct Driver {
    /// One for each queue of the interface; packets leave by the first.
    sockets: Vec<XdpSocket>,
    /// All of them, and the UDP socket.
    polled: Vec<libc::pollfd>,
    /// Index of the queue to read first.
    first: usize,
    udp: UdpSocket,
    ours: Ours,
    mac: Mac,
    /// Way to the peer that it is connected to.
    way: Option<Way>,
    /// Bytes of the largest datagram.
    largest: usize,
    /// Error about frames that the kernel was given and did not send, to be reported.
    unsent: Option<io::Error>,
    /// Keeps the program attached.
    _attached: OwnedFd,
}

impl Driver {
    /// For a sender.
    fn to_send(job: &SendJob, interface: &str, markable: bool) -> Result<Self, Error> {
        let failed = Error::sending(job.to);
        let to = v4(job.to)?;
        let mut netlink = Netlink::new().map_err(failed)?;
        let (interface, mac) = usable(&mut netlink, interface)?;
        let map = map(&interface)?;
        let udp = UdpSocket::bind(any(&job.to)).map_err(failed)?;
        udp.connect(job.to).map_err(failed)?;
        let from = v4(udp.local_addr().map_err(failed)?)?;
        let route = netlink.route(*from.ip(), *to.ip()).map_err(failed)?;
        if route.local {
            return Err(Error::Impossible(format!(
                "{} is an address of this machine: packets to it pass through no interface; do not use AF_XDP",
                to.ip()
            )));
        }
        if route.interface != interface.index {
            let other = netlink.interface_of(route.interface).map_err(failed)?;
            let why = format!(
                "packets to {} leave through {}, not through {}",
                to.ip(),
                other.name,
                interface.name
            );
            return Err(Error::Impossible(why));
        }
        let frame = frame_size(&interface);
        let path = u64::from(system::path_mtu(&udp).map_err(failed)?.min(interface.mtu));
        let held = u64::from(XdpSocket::largest(frame)) - ETHERNET as u64;
        let packet = job.packet.get();
        if packet - drive::ETHERNET > path {
            return Err(Error::Impossible(format!(
                "packets of {} on the wire do not fit the path to {}: choose smaller packets",
                job.packet, job.to
            )));
        }
        if packet - drive::ETHERNET > held {
            let most = Bytes::new(held + drive::ETHERNET);
            let why = format!(
                "a frame of AF_XDP holds packets of at most {most} on the wire, not {}: choose smaller ones",
                job.packet
            );
            return Err(Error::Impossible(why));
        }
        let next = route.gateway.unwrap_or(*to.ip());
        let found = netlink.neighbour(interface.index, next);
        let found =
            found.map_err(|error| refused("the next hop cannot be looked up", &interface.name, error));
        let to_mac = found?.ok_or_else(|| {
            Error::Impossible(format!(
                "no machine at {} answers for {next}, the next hop to {}",
                interface.name, job.to
            ))
        })?;
        let way = Way { from_mac: mac, to_mac, from, to, markable };
        let ours = Ours { to: vec![*from.ip()], port: from.port(), from: Some(to) };
        Self::open(&interface, map, udp, ours, mac, Some(way))
    }

    /// For a receiver.
    fn to_receive(job: &ReceiveJob, interface: &str) -> Result<Self, Error> {
        let failed = Error::receiving(job.at);
        let at = v4(job.at)?;
        let mut netlink = Netlink::new().map_err(failed)?;
        let (interface, mac) = usable(&mut netlink, interface)?;
        let map = map(&interface)?;
        let mut to = netlink.addresses(interface.index).map_err(failed)?;
        if to.is_empty() {
            return Err(Error::Impossible(format!("{} has no IPv4 address", interface.name)));
        }
        if !at.ip().is_unspecified() {
            if !to.contains(at.ip()) {
                let why =
                    format!("{} is no address of {}, which has {}", at.ip(), interface.name, listed(&to));
                return Err(Error::Impossible(why));
            }
            to = vec![*at.ip()];
        }
        let udp = UdpSocket::bind(at).map_err(failed)?;
        let port = udp.local_addr().map_err(failed)?.port();
        Self::open(&interface, map, udp, Ours { to, port, from: None }, mac, None)
    }

    /// Sockets at all queues of an interface, and the program.
    fn open(
        interface: &Interface,
        map: OwnedFd,
        udp: UdpSocket,
        ours: Ours,
        mac: Mac,
        way: Option<Way>,
    ) -> Result<Self, Error> {
        let refused = |what: &'static str| move |error| refused(what, &interface.name, error);
        system::deaf(&udp).map_err(refused("the port cannot be reserved"))?;
        let frame = frame_size(interface);
        let mut sockets = Vec::new();
        for queue in 0.. {
            let socket = XdpSocket::new(frame).map_err(refused("no AF_XDP socket can be made"))?;
            match patiently(|| socket.bind(interface.index, queue)) {
                // There is no such queue.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) && queue > 0 => break,
                bound => bound.map_err(refused("the AF_XDP socket cannot be bound"))?,
            }
            if queue == MOST_QUEUES {
                let name = &interface.name;
                let why = format!(
                    "{name} has more than {MOST_QUEUES} queues: `ethtool -L {name} combined {MOST_QUEUES}`"
                );
                return Err(Error::Impossible(why));
            }
            system::put(&map, queue, socket.fd())
                .map_err(refused("the AF_XDP socket cannot be passed to the program"))?;
            sockets.push(socket);
        }
        let loaded = system::load(&program(&ours, map.as_raw_fd()))
            .map_err(refused("the XDP program cannot be loaded"))?;
        let attached = patiently(|| system::attach(&loaded, interface.index))
            .map_err(refused("the XDP program cannot be attached"))?;
        let mut polled: Vec<libc::pollfd> =
            sockets.iter().map(|socket| system::awaited(socket.as_raw_fd(), libc::POLLIN)).collect();
        polled.push(system::awaited(udp.as_raw_fd(), 0));
        let packet = XdpSocket::largest(frame).min(interface.mtu.saturating_add(ETHERNET as u32)) as usize;
        let largest = packet.saturating_sub(HEADERS).min(LARGEST);
        Ok(Self {
            sockets,
            polled,
            first: 0,
            udp,
            ours,
            mac,
            way,
            largest,
            unsent: None,
            _attached: attached,
        })
    }

    /// Returns the error that routers or the other side report for packets that were sent.
    fn error(&self) -> io::Result<()> {
        self.udp.take_error()?.map_or(Ok(()), Err)
    }
}

impl drive::Socket for Driver {
    type Peer = Origin;

    fn address(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    fn largest(&self) -> usize {
        self.largest
    }

    fn wait(&mut self, longest: Duration, to_send: bool) {
        let longest = if self.sockets[0].is_behind() || to_send { longest.min(TRY_AGAIN) } else { longest };
        system::wait(&mut self.polled, longest);
    }

    fn send(&mut self, packets: &[Vec<u8>], to: Option<&Origin>) -> io::Result<usize> {
        self.error()?;
        let way = match to {
            Some(peer) => {
                Way { from_mac: self.mac, to_mac: peer.mac, from: peer.to, to: peer.from, markable: false }
            }
            None => self.way.ok_or(io::ErrorKind::NotConnected)?,
        };
        let socket = &mut self.sockets[0];
        let mut sent = 0;
        for packet in &packets[..packets.len().min(BATCH)] {
            if packet.len() > self.largest {
                return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
            }
            if !socket.put(|frame| frame::write(&way, packet, frame)) {
                break;
            }
            sent += 1;
        }
        match socket.flush() {
            Err(error) if sent == 0 => return Err(error),
            // They stay in the ring, from which the kernel may take them later: they must not be put there again.
            Err(error) => self.unsent = Some(error),
            Ok(()) => {}
        }
        Ok(sent)
    }

    fn receive(&mut self, take: &mut dyn FnMut(&Arrival<'_, Origin>)) -> io::Result<bool> {
        let flushed = if self.sockets[0].is_behind() { self.sockets[0].flush() } else { Ok(()) };
        let mut count = 0;
        // Not always the same first, so that none waits for another one for ever.
        self.first = (self.first + 1) % self.sockets.len();
        let (late, early) = self.sockets.split_at_mut(self.first);
        for socket in early.iter_mut().chain(late) {
            count += socket.receive(BATCH - count, &mut |frame, stamp| {
                let Some(found) = frame::read(frame) else { return };
                if !self.ours.has(found.from, found.to) {
                    return;
                }
                let age = stamp.and_then(|stamp| system::monotonic().checked_sub(stamp)).unwrap_or_default();
                let from = Origin { from: found.from, to: found.to, mac: found.from_mac };
                take(&Arrival { from, bytes: found.bytes, age, marked: found.marked });
            });
        }
        self.unsent.take().map_or(flushed, Err)?;
        self.error()?;
        if count == 0 {
            self.sockets[0].error()?;
        }
        Ok(count == BATCH)
    }
}

/// The address, if it is one of IPv4.
fn v4(address: SocketAddr) -> Result<SocketAddrV4, Error> {
    match address {
        SocketAddr::V4(address) => Ok(address),
        SocketAddr::V6(_) => {
            let why = format!("AF_XDP is for IPv4 here, and {} is an address of IPv6", address.ip());
            Err(Error::Impossible(why))
        }
    }
}

/// An interface that AF_XDP can use here, and its Ethernet address.
fn usable(netlink: &mut Netlink, name: &str) -> Result<(Interface, Mac), Error> {
    let found = netlink.interface(name).map_err(|error| match error.raw_os_error() {
        Some(libc::ENODEV | libc::EINVAL | libc::ERANGE) => {
            Error::Impossible(format!("there is no network interface named {name:?}: `ip link` lists them"))
        }
        _ => Error::Socket(format!("nothing is known of the interface {name}"), error),
    })?;
    if found.loopback {
        let why = format!("{name} is this machine's loopback, where AF_XDP gains nothing: do not use it");
        return Err(Error::Impossible(why));
    }
    let Some(mac) = found.mac else {
        return Err(Error::Impossible(format!("{name} is no Ethernet interface, and AF_XDP needs one here")));
    };
    if !found.up {
        return Err(Error::Impossible(format!("{name} is down: `ip link set {name} up`")));
    }
    Ok((found, mac))
}

/// The map for the program's sockets: made first, because who may not make it may do nothing of the rest.
fn map(interface: &Interface) -> Result<OwnedFd, Error> {
    system::socket_map(MOST_QUEUES).map_err(|error| refused("no BPF map can be made", &interface.name, error))
}

/// Bytes of the frames for an interface's packets. Larger packets than they hold can come where its MTU is large.
fn frame_size(interface: &Interface) -> u32 {
    XdpSocket::frame_for(interface.mtu.saturating_add(ETHERNET as u32)).unwrap_or(XdpSocket::LARGEST_FRAME)
}

fn listed(addresses: &[Ipv4Addr]) -> String {
    addresses.iter().map(Ipv4Addr::to_string).collect::<Vec<_>>().join(", ")
}

/// Does what fails for a moment after another process had what is wanted.
fn patiently<T>(mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let until = Instant::now() + FREE_AFTER;
    loop {
        match act() {
            Err(error) if is_taken(&error) && Instant::now() < until => {
                thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

/// Whether something cannot be had because somebody else has it.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EEXIST))
}

/// Makes the error for a refusal of the kernel: what it refused, and at which interface.
fn refused(what: &str, name: &str, error: io::Error) -> Error {
    let why = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "AF_XDP needs root, or CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF, and a container that allows it"
                .to_owned()
        }
        Some(libc::EAFNOSUPPORT | libc::ENOSYS | libc::ENOPROTOOPT) => {
            "this kernel has no AF_XDP: Linux 5.9 or newer with CONFIG_XDP_SOCKETS is needed".to_owned()
        }
        Some(libc::EINVAL) => "does this kernel have it? Linux 5.9 or newer is needed".to_owned(),
        Some(libc::EOPNOTSUPP) => format!("{name} does not support it"),
        Some(libc::ENOBUFS | libc::ENOMEM) => {
            "there is too little memory, or the limit of locked memory is too low (`ulimit -l`)".to_owned()
        }
        _ if is_taken(&error) => {
            format!("another program uses XDP at {name}, and only one can (`ip link show {name}`)")
        }
        _ => return Error::Socket(format!("{what} at {name}"), error),
    };
    Error::Impossible(format!("{what} at {name}: {error}: {why}"))
}

#[cfg(test)]
mod tests {
    /// The next of a series of random numbers (SplitMix64).
    pub(super) fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}
