//! The clock of both ends: nanoseconds since 1970, so that the clocks of two machines can agree, and without steps.

use std::time::{Duration, Instant, SystemTime};

/// A clock that shows the time of day when it is made and goes on without steps.
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

    /// When a packet arrived, by its age. Now, if that cannot be: a step of the time of day lies between, by which the
    /// kernel may have said it.
    pub(super) fn arrival(&self, age: Duration) -> u64 {
        let age = if age < Duration::from_secs(1) { age } else { Duration::ZERO };
        self.now().saturating_sub(age.as_nanos() as u64)
    }
}
