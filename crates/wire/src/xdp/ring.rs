//! An AF_XDP socket of one queue of an interface: memory that is shared with the kernel, and four rings that say which
//! part of it is whose (Documentation/networking/af_xdp.rst).
#![expect(unsafe_code, reason = "memory that is shared with the kernel, and the calls for it")]

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr::{NonNull, null, null_mut};
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use libc::{c_int, xdp_desc, xdp_mmap_offsets, xdp_ring_offset, xdp_umem_reg};

use super::program::STAMP;
use super::system::{check, owned, set};

/// Not in `libc` for every C library.
const AF_XDP: c_int = 44;
/// Frames for packets that arrive, and for those to be sent: a power of two, the size of the rings.
const ARRIVING: u32 = 2048;
const LEAVING: u32 = 1024;
/// Bytes that the kernel leaves free before a packet that arrives.
const HEADROOM: u32 = 256;
/// Bytes of packets on their way that are still in this machine, at most.
const QUEUE: c_int = 8 << 20;
/// The kernel takes 32 packets a call; it may be asked so often again.
const CALLS: u32 = 16;

/// Memory that the kernel gave.
struct Memory {
    start: NonNull<u8>,
    size: usize,
}

impl Memory {
    /// Memory of this process; or, with a descriptor, what the kernel has at that offset of it.
    fn new(size: usize, of: Option<(&OwnedFd, u64)>) -> io::Result<Self> {
        let (flags, fd, offset) = match of {
            // Shared also between processes: in one that forks, the kernel must not be left with a page of the child.
            None => (libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0),
            Some((fd, offset)) => (libc::MAP_SHARED | libc::MAP_POPULATE, fd.as_raw_fd(), offset),
        };
        let (access, offset) = (libc::PROT_READ | libc::PROT_WRITE, offset as libc::off64_t);
        // SAFETY: a new mapping, where the kernel likes.
        let start = unsafe { libc::mmap64(null_mut(), size, access, flags, fd, offset) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { start, size }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it is mapped with this size, and nothing that refers to it outlives it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}

/// A ring of which one side is ours and the other one the kernel's. The entries from `own` on are ours.
struct Ring<T> {
    memory: Memory,
    size: u32,
    offsets: xdp_ring_offset,
    /// Entries that this side has written or read; those that the other side knows of are in the shared memory.
    own: u32,
    entry: std::marker::PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    /// Makes a ring of `size` entries, a power of two, and maps it.
    fn new(
        fd: &OwnedFd,
        size: u32,
        name: c_int,
        offset: u64,
        find: impl Fn(&xdp_mmap_offsets) -> xdp_ring_offset,
    ) -> io::Result<Self> {
        // SAFETY: a number.
        unsafe { set(fd, libc::SOL_XDP, name, &size) }?;
        let offsets = find(&offsets(fd)?);
        let bytes = offsets.desc as usize + size as usize * size_of::<T>();
        Ok(Self {
            memory: Memory::new(bytes, Some((fd, offset)))?,
            size,
            offsets,
            own: 0,
            entry: std::marker::PhantomData,
        })
    }

    fn counter(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: the kernel says where it is in this memory, aligned; both sides access it as a whole.
        unsafe { AtomicU32::from_ptr(self.memory.start.as_ptr().add(offset as usize).cast()) }
    }

    fn producer(&self) -> &AtomicU32 {
        self.counter(self.offsets.producer)
    }

    fn consumer(&self) -> &AtomicU32 {
        self.counter(self.offsets.consumer)
    }

    fn entry(&self, number: u32) -> *mut T {
        let at = self.offsets.desc as usize + (number & (self.size - 1)) as usize * size_of::<T>();
        // SAFETY: the memory has `size` entries from there on.
        unsafe { self.memory.start.as_ptr().add(at).cast() }
    }

    /// As the producer: whether there is room for one more.
    fn has_room(&self) -> bool {
        self.own.wrapping_sub(self.consumer().load(Ordering::Acquire)) < self.size
    }

    /// As the producer, with room: one more, which the kernel sees after [`publish`](Self::publish).
    fn write(&mut self, value: T) {
        debug_assert!(self.has_room());
        // SAFETY: the entry is ours until the counter says otherwise.
        unsafe { self.entry(self.own).write(value) };
        self.own = self.own.wrapping_add(1);
    }

    fn publish(&self) {
        self.producer().store(self.own, Ordering::Release);
    }

    /// As the producer: how many the kernel has not yet taken.
    fn waiting(&self) -> u32 {
        self.own.wrapping_sub(self.consumer().load(Ordering::Acquire))
    }

    /// As the consumer: the next one, which the kernel may overwrite after [`release`](Self::release).
    fn read(&mut self) -> Option<T> {
        if self.producer().load(Ordering::Acquire) == self.own {
            return None;
        }
        // SAFETY: the kernel has written it, and leaves it alone until the counter says otherwise.
        let value = unsafe { self.entry(self.own).read() };
        self.own = self.own.wrapping_add(1);
        Some(value)
    }

    fn release(&self) {
        self.consumer().store(self.own, Ordering::Release);
    }
}

/// Returns the offsets of the parts of rings in their memory.
fn offsets(fd: &OwnedFd) -> io::Result<xdp_mmap_offsets> {
    let none = xdp_ring_offset { producer: 0, consumer: 0, desc: 0, flags: 0 };
    let mut offsets = xdp_mmap_offsets { rx: none, tx: none, fr: none, cr: none };
    let mut size = size_of::<xdp_mmap_offsets>() as libc::socklen_t;
    // SAFETY: value and size live during the call, and the size is right.
    check(unsafe {
        let value = (&raw mut offsets).cast();
        libc::getsockopt(fd.as_raw_fd(), libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, value, &raw mut size)
    })?;
    Ok(offsets)
}

/// An AF_XDP socket. Packets are copied between it and the kernel's.
pub(super) struct XdpSocket {
    fd: OwnedFd,
    frames: Memory,
    /// Bytes of a frame.
    frame: u32,
    /// Frames that the kernel may fill, and those that it has filled.
    fill: Ring<u64>,
    arrived: Ring<xdp_desc>,
    /// Frames that the kernel is to send, those that it has sent, and those that are free.
    leaving: Ring<xdp_desc>,
    sent: Ring<u64>,
    free: Vec<u64>,
}

impl XdpSocket {
    /// Bytes of the largest frame: the kernel wants a page at most.
    pub(super) const LARGEST_FRAME: u32 = 4096;

    /// Bytes of frames that hold packets of this size, with their Ethernet header. `None`: they are too large.
    pub(super) fn frame_for(packet: u32) -> Option<u32> {
        [2048, Self::LARGEST_FRAME].into_iter().find(|frame| packet <= Self::largest(*frame))
    }

    /// The largest packet, with its Ethernet header, that frames of this size hold.
    pub(super) const fn largest(frame: u32) -> u32 {
        frame - HEADROOM
    }

    /// A socket with frames of this size, not yet bound.
    pub(super) fn new(frame: u32) -> io::Result<Self> {
        // SAFETY: no pointers.
        let fd = owned(unsafe { libc::socket(AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
        let size = frame as usize * (ARRIVING + LEAVING) as usize;
        let frames = Memory::new(size, None)?;
        let region = xdp_umem_reg {
            addr: frames.start.as_ptr().expose_provenance() as u64,
            len: size as u64,
            chunk_size: frame,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        // SAFETY: the kernel keeps the pages of this memory itself for as long as it uses them. Of what is in them,
        // it writes only where a frame is in the ring `fill`, and this side reads and writes only others.
        unsafe { set(&fd, libc::SOL_XDP, libc::XDP_UMEM_REG, &region) }?;
        // Without the right to it, it stays smaller.
        // SAFETY: a number.
        let _ = unsafe { set(&fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &QUEUE) };
        let fill = (libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_PGOFF_FILL_RING);
        let sent = (libc::XDP_UMEM_COMPLETION_RING, libc::XDP_UMEM_PGOFF_COMPLETION_RING);
        let mut socket = Self {
            frames,
            frame,
            fill: Ring::new(&fd, ARRIVING, fill.0, fill.1, |of| of.fr)?,
            arrived: Ring::new(&fd, ARRIVING, libc::XDP_RX_RING, libc::XDP_PGOFF_RX_RING as u64, |of| of.rx)?,
            leaving: Ring::new(&fd, LEAVING, libc::XDP_TX_RING, libc::XDP_PGOFF_TX_RING as u64, |of| of.tx)?,
            sent: Ring::new(&fd, LEAVING, sent.0, sent.1, |of| of.cr)?,
            free: (ARRIVING..ARRIVING + LEAVING).map(|number| u64::from(number * frame)).collect(),
            fd,
        };
        for number in 0..ARRIVING {
            socket.fill.write(u64::from(number * frame));
        }
        socket.fill.publish();
        Ok(socket)
    }

    /// Binds it to a queue of an interface.
    pub(super) fn bind(&self, interface: u32, queue: u32) -> io::Result<()> {
        let address = libc::sockaddr_xdp {
            sxdp_family: AF_XDP as u16,
            sxdp_flags: libc::XDP_COPY,
            sxdp_ifindex: interface,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        // SAFETY: the address lives during the call, and its size is right.
        check(unsafe {
            let size = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
            libc::bind(self.fd.as_raw_fd(), (&raw const address).cast(), size)
        })
        .map(drop)
    }

    pub(super) const fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Gives a packet to the kernel, if there is room; `write` writes it into the frame and returns its size, or `None`
    /// if there is none. Returns whether there was room. The packet leaves with the next [`flush`](Self::flush).
    pub(super) fn put(&mut self, write: impl FnOnce(&mut [u8]) -> Option<usize>) -> bool {
        while let Some(address) = self.sent.read() {
            self.free.push(address);
        }
        self.sent.release();
        if !self.leaving.has_room() {
            return false;
        }
        let Some(address) = self.free.pop() else { return false };
        // SAFETY: the frame is free, so the kernel does not access it, and it lies within this memory.
        let frame = unsafe {
            slice::from_raw_parts_mut(self.frames.start.as_ptr().add(address as usize), self.frame as usize)
        };
        match write(frame) {
            Some(size) => self.leaving.write(xdp_desc { addr: address, len: size as u32, options: 0 }),
            None => self.free.push(address),
        }
        true
    }

    /// Lets the kernel send what it was given. What it cannot send now stays for the next call.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.leaving.publish();
        let mut waiting = self.leaving.waiting();
        for _ in 0..CALLS {
            if waiting == 0 {
                break;
            }
            // SAFETY: no memory is handed over.
            let done = unsafe { libc::sendto(self.fd.as_raw_fd(), null(), 0, libc::MSG_DONTWAIT, null(), 0) };
            let before = std::mem::replace(&mut waiting, self.leaving.waiting());
            if done < 0 {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    // It was as much as goes at a time, or a queue is full.
                    Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR) if waiting < before => {}
                    Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR) => break,
                    _ => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Returns the error of an interface that went away.
    pub(super) fn error(&self) -> io::Result<()> {
        let (mut error, mut size): (c_int, _) = (0, size_of::<c_int>() as libc::socklen_t);
        // SAFETY: value and size live during the call, and the size is right.
        check(unsafe {
            let value = (&raw mut error).cast();
            libc::getsockopt(self.fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, value, &raw mut size)
        })?;
        match error {
            0 => Ok(()),
            // A link that is down for a while has this error only where something is sent.
            libc::ENETDOWN => Err(io::Error::other("the network interface has gone away")),
            other => Err(io::Error::from_raw_os_error(other)),
        }
    }

    /// Whether the kernel has not yet taken all that it was given.
    pub(super) fn is_behind(&self) -> bool {
        self.leaving.waiting() > 0
    }

    /// Passes on frames that have arrived, at most `most`, each with the time that the program wrote before
    /// it. Returns their number.
    pub(super) fn receive(&mut self, most: usize, take: &mut dyn FnMut(&[u8], Option<Duration>)) -> usize {
        let mut count = 0;
        while count < most
            && let Some(found) = self.arrived.read()
        {
            count += 1;
            let (at, size) = (found.addr as usize, found.len as usize);
            if at < STAMP || size > self.frames.size || at > self.frames.size - size {
                // No kernel says that a packet lies outside of the memory.
                continue;
            }
            // SAFETY: the frame is ours until it is put into the ring `fill`, and lies within this memory, as does what
            // is before the packet: the kernel left at least its headroom there.
            let (stamp, packet) = unsafe {
                let packet = self.frames.start.as_ptr().add(at);
                let stamp = packet.sub(STAMP).cast::<u64>();
                // So that a packet without a time does not have that of one before.
                let found = stamp.read_unaligned();
                stamp.write_unaligned(0);
                (found, slice::from_raw_parts(packet, size))
            };
            take(packet, (stamp != 0).then(|| Duration::from_nanos(stamp)));
            let frame = found.addr - found.addr % u64::from(self.frame);
            self.fill.write(frame);
        }
        self.arrived.release();
        self.fill.publish();
        count
    }
}

impl AsRawFd for XdpSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}
