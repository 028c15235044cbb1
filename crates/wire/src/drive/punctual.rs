//! Timers that are not late on purpose.
#![expect(unsafe_code, reason = "the standard library does not know of it")]

/// Wakes up this thread as soon as the time has come, while it lives: by default the kernel is up to 50 us late.
pub(super) struct Punctual;

impl Punctual {
    pub(super) fn new() -> Self {
        // SAFETY: it concerns nothing but the timers of this thread. Where it is refused, they stay late.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
        Self
    }
}

impl Drop for Punctual {
    fn drop(&mut self) {
        // SAFETY: as above; zero is the default.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 0_u64) };
    }
}
