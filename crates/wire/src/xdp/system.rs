//! The system calls that the standard library does not have: BPF, netlink, waiting for many sockets, the clock of the
//! kernel's programs.
#![expect(unsafe_code, reason = "the standard library has none of these calls")]

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{from_mut, null};
use std::time::Duration;

use libc::{c_int, c_long, c_void};

use super::program::Instruction;

/// Commands of `bpf`, and kinds of its objects (linux/bpf.h).
const MAP_CREATE: c_int = 0;
const MAP_UPDATE: c_int = 2;
const PROGRAM_LOAD: c_int = 5;
const LINK_CREATE: c_int = 28;
const XSKMAP: u32 = 17;
const PROGRAM_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// In the kernel's general part, not in the driver of a network card (linux/if_link.h).
const XDP_FLAGS_SKB_MODE: u32 = 2;

/// Licence of the program for the kernel; it matters only for functions that are reserved for the GPL, and
/// the program uses none.
const LICENCE: &[u8] = b"MIT or Apache-2.0\0";

/// A result of a system call.
pub(super) fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A new descriptor.
pub(super) fn owned(result: c_int) -> io::Result<OwnedFd> {
    let fd = check(result)?;
    // SAFETY: the kernel has just made it, for this caller.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A command of `bpf`.
///
/// # Safety
///
/// The attributes belong to the command, and what they point to lives during the call and is as large as they
/// say.
unsafe fn bpf<T>(command: c_int, attributes: &mut T) -> io::Result<c_int> {
    let size = size_of::<T>() as c_long;
    // SAFETY: the attributes live during the call, and their size is right; the rest is the caller's promise.
    let result = unsafe { libc::syscall(libc::SYS_bpf, c_long::from(command), from_mut(attributes), size) };
    check(result as c_int)
}

/// A map from queues to AF_XDP sockets.
pub(super) fn socket_map(queues: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        key_size: u32,
        value_size: u32,
        entries: u32,
        flags: u32,
    }
    let mut attributes = Attributes { kind: XSKMAP, key_size: 4, value_size: 4, entries: queues, flags: 0 };
    // SAFETY: they are those of the command, without pointers.
    owned(unsafe { bpf(MAP_CREATE, &mut attributes) }?)
}

/// Puts the socket of a queue into a map.
pub(super) fn put(map: &OwnedFd, queue: u32, socket: &OwnedFd) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        map: c_int,
        padding: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    let value = socket.as_raw_fd();
    let mut attributes = Attributes {
        map: map.as_raw_fd(),
        padding: 0,
        key: (&raw const queue).expose_provenance() as u64,
        value: (&raw const value).expose_provenance() as u64,
        flags: 0,
    };
    // SAFETY: they are those of the command; key and value live during the call and have the four bytes of the map.
    unsafe { bpf(MAP_UPDATE, &mut attributes) }.map(drop)
}

/// Loads a program for packets that arrive.
pub(super) fn load(instructions: &[Instruction]) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        count: u32,
        instructions: u64,
        licence: u64,
        log_level: u32,
        log_size: u32,
        log: u64,
        kernel: u32,
        flags: u32,
        name: [u8; 16],
    }
    let mut attributes = Attributes {
        kind: PROGRAM_XDP,
        count: instructions.len() as u32,
        instructions: instructions.as_ptr().expose_provenance() as u64,
        licence: LICENCE.as_ptr().expose_provenance() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel: 0,
        flags: 0,
        name: *b"incast_wire\0\0\0\0\0",
    };
    // SAFETY: they are those of the command; the instructions live during the call and are as many, and the text of the
    // licence ends with a zero.
    owned(unsafe { bpf(PROGRAM_LOAD, &mut attributes) }?)
}

/// Puts a program before the packets of an interface, for as long as what is returned is open: not longer than this
/// process lives.
pub(super) fn attach(program: &OwnedFd, interface: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        program: c_int,
        interface: u32,
        kind: u32,
        flags: u32,
    }
    let mut attributes =
        Attributes { program: program.as_raw_fd(), interface, kind: ATTACH_XDP, flags: XDP_FLAGS_SKB_MODE };
    // SAFETY: they are those of the command, without pointers.
    owned(unsafe { bpf(LINK_CREATE, &mut attributes) }?)
}

/// A socket to the part of the kernel that knows networks.
pub(super) fn netlink() -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    owned(unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) })
}

/// Bytes of the largest IP packet on the way where a socket of IPv4 is connected to.
pub(super) fn path_mtu(socket: &impl AsRawFd) -> io::Result<u32> {
    let (mut mtu, mut size): (c_int, _) = (0, size_of::<c_int>() as libc::socklen_t);
    // SAFETY: value and size live during the call, and the size is right.
    check(unsafe {
        let value = (&raw mut mtu).cast::<c_void>();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_MTU, value, &raw mut size)
    })?;
    u32::try_from(mtu).map_err(io::Error::other)
}

/// Sets an option of a socket.
///
/// # Safety
///
/// What the kernel does by this option with memory to which the value points is sound, now and later.
pub(super) unsafe fn set<T>(socket: &impl AsRawFd, level: c_int, name: c_int, value: &T) -> io::Result<()> {
    // SAFETY: the value lives during the call, and its size is right; the rest is the caller's promise.
    check(unsafe {
        let value = (&raw const *value).cast::<c_void>();
        libc::setsockopt(socket.as_raw_fd(), level, name, value, size_of::<T>() as libc::socklen_t)
    })
    .map(drop)
}

/// Lets a socket have none of the packets that come to it, only errors.
pub(super) fn deaf(socket: &impl AsRawFd) -> io::Result<()> {
    // A program of one instruction: of each packet, keep zero bytes.
    let mut keep_nothing =
        libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 };
    let filter = libc::sock_fprog { len: 1, filter: &raw mut keep_nothing };
    // SAFETY: the kernel reads the instruction during the call, and no memory later.
    unsafe { set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter) }
}

/// Waits until packets arrive at one of the sockets, or there is an error, or so long.
pub(super) fn wait(sockets: &mut [libc::pollfd], longest: Duration) {
    let time = libc::timespec {
        tv_sec: longest.as_secs().min(3600) as libc::time_t,
        tv_nsec: c_long::from(longest.subsec_nanos() as i32),
    };
    // SAFETY: the array and the time live during the call, and the length is the array's. A signal ends it early, which
    // does no harm.
    unsafe { libc::ppoll(sockets.as_mut_ptr(), sockets.len() as libc::nfds_t, &raw const time, null()) };
}

/// Returns the entry of a socket in the list that [`wait`] polls.
pub(super) const fn awaited(socket: RawFd, events: i16) -> libc::pollfd {
    libc::pollfd { fd: socket, events, revents: 0 }
}

/// The clock `CLOCK_MONOTONIC`, which programs in the kernel read.
pub(super) fn monotonic() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes into the place that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

/// Runs a program on a packet. Returns its result, and the packet with what is before it afterwards.
#[cfg(test)]
pub(super) fn run(program: &OwnedFd, packet: &[u8]) -> io::Result<(u32, Vec<u8>)> {
    #[repr(C)]
    struct Attributes {
        program: c_int,
        result: u32,
        size: u32,
        size_out: u32,
        data: u64,
        data_out: u64,
        repeat: u32,
        duration: u32,
    }
    let mut out = vec![0; packet.len() + 64];
    let mut attributes = Attributes {
        program: program.as_raw_fd(),
        result: 0,
        size: packet.len() as u32,
        size_out: out.len() as u32,
        data: packet.as_ptr().expose_provenance() as u64,
        data_out: out.as_mut_ptr().expose_provenance() as u64,
        repeat: 1,
        duration: 0,
    };
    const RUN: c_int = 10;
    // SAFETY: they are those of the command, and both places live during the call and are as large as they say.
    unsafe { bpf(RUN, &mut attributes) }?;
    out.truncate(attributes.size_out as usize);
    Ok((attributes.result, out))
}
