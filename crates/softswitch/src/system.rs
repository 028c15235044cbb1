//! The system calls that the standard library does not have.

#![expect(unsafe_code, reason = "raw sockets, many frames at a time, and the kernel's clock")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use incast_units::Time;

/// Frames read or written at a time.
pub(crate) const BATCH: usize = 64;
/// Longest frame: the largest packet of a testbed and its header.
const LONGEST: usize = 9216;

/// The kernel's monotonic clock.
pub(crate) fn now() -> Time {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes into the place that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Time::from_s(u64::try_from(time.tv_sec).unwrap_or(0))
        + Time::from_ns(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// Lets this thread run before others of this machine where that is allowed, and be woken to the microsecond.
pub(crate) fn prefer() {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: both calls change this thread only, and read what they are given.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority);
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64);
    }
}

/// Waits until one of the sockets has something, or for a time. Afterwards `ready` says which.
pub(crate) fn wait(sockets: &[OwnedFd], longest: Time, ready: &mut Vec<bool>) -> io::Result<()> {
    let mut polled: Vec<libc::pollfd> = sockets
        .iter()
        .map(|socket| libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    let ns = longest.ns();
    let timeout =
        libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as libc::c_long };
    // SAFETY: the array and the time live during the call, and the length is that of the array.
    let found = unsafe {
        libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, &raw const timeout, std::ptr::null())
    };
    ready.clear();
    ready.extend(polled.iter().map(|of| found > 0 && of.revents != 0));
    check(found).map(drop)
}

/// Places for frames.
pub(crate) struct Frames {
    bytes: Vec<u8>,
}

impl Frames {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; BATCH * LONGEST] }
    }

    /// Reads the frames that a socket has, at most [`BATCH`]. Returns how many.
    pub(crate) fn read(&mut self, socket: &OwnedFd, each: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let mut parts: Vec<libc::iovec> = self
            .bytes
            .chunks_mut(LONGEST)
            .map(|place| libc::iovec { iov_base: place.as_mut_ptr().cast(), iov_len: LONGEST })
            .collect();
        let mut messages: Vec<libc::mmsghdr> = parts.iter_mut().map(message).collect();
        let count = messages.len() as libc::c_uint;
        // SAFETY: the messages point to the parts and these to the bytes, which all live during the call.
        let found = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                messages.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let found = match check(found) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            other => other?,
        };
        for (place, message) in self.bytes.chunks(LONGEST).zip(&messages).take(found) {
            each(&place[..(message.msg_len as usize).min(LONGEST)]);
        }
        Ok(found)
    }
}

/// Writes frames to a socket. Returns how many it took.
pub(crate) fn write(socket: &OwnedFd, frames: &mut [Vec<u8>]) -> io::Result<usize> {
    let mut parts: Vec<libc::iovec> = frames
        .iter_mut()
        .map(|frame| libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() })
        .collect();
    let mut messages: Vec<libc::mmsghdr> = parts.iter_mut().map(message).collect();
    let count = messages.len() as libc::c_uint;
    // SAFETY: the messages point to the parts and these to the frames, which all live during the call.
    let sent =
        unsafe { libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
    check(sent)
}

/// Takes over a file descriptor.
///
/// # Errors
/// When it is not open.
pub(crate) fn duplicate(descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: it is borrowed for this call only; one that is not open makes the call fail.
    unsafe { std::os::fd::BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned()
}

fn message(part: &mut libc::iovec) -> libc::mmsghdr {
    // SAFETY: all fields are numbers or pointers, for which zero means none.
    let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
    message.msg_hdr.msg_iov = part;
    message.msg_hdr.msg_iovlen = 1;
    message
}

fn check(result: libc::c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
