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
        Self { began: Instant::now(), offset: since_1970().as_nanos() as u64 }
    }

    /// Now. (ns)
    pub(super) fn now(&self) -> u64 {
        self.offset.saturating_add(self.began.elapsed().as_nanos() as u64)
    }

    /// When the kernel received a packet, of which it says the time of day. Now, if it does not say or if that cannot
    /// be: a step of the time of day lies between.
    pub(super) fn arrival(&self, stamp: Option<Duration>) -> u64 {
        let age = stamp.and_then(|stamp| since_1970().checked_sub(stamp));
        let age = age.filter(|age| *age < Duration::from_secs(1)).unwrap_or_default();
        self.now().saturating_sub(age.as_nanos() as u64)
    }
}

fn since_1970() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}
