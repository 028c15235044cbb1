//! The clock of both ends: nanoseconds since 1970, so that the clocks of two machines can agree, and without steps.

use std::time::{Duration, Instant, SystemTime};

/// A clock that is set to the time of day once and then runs without steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    began: Instant,
    offset: u64,
}

impl Clock {
    pub(super) fn new() -> Self {
        let offset = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64;
        Self { began: Instant::now(), offset }
    }

    /// Now. (ns)
    pub(super) fn now(&self) -> u64 {
        self.offset.saturating_add(self.began.elapsed().as_nanos() as u64)
    }

    /// Returns the time of a packet's arrival from its age, or now if that time is impossible because the
    /// time of day by which the kernel measures made a step.
    pub(super) fn arrival(&self, age: Duration) -> u64 {
        let age = if age < Duration::from_secs(1) { age } else { Duration::ZERO };
        self.now().saturating_sub(age.as_nanos() as u64)
    }
}
