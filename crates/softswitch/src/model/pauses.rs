//! Priority flow control: which links into a switch it pauses, and when it resumes them.
//!
//! Thresholds, headroom and the order in which they are used are the same as in the simulator's switches, as
//! the page on priority flow control describes them, for one priority.

/// Rule by which a switch pauses the far end of a link into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pausing {
    /// Bytes in the switch above which the far end is paused; if `None`, `alpha` decides.
    pub xoff: Option<u64>,
    /// The part of what is free in the pool that they may take, out of 2^32.
    pub alpha: u64,
    /// It is resumed so far below that.
    pub xon_offset: u64,
    /// Bytes for what arrives after a pause.
    pub headroom: u64,
    /// Bytes that nobody else may take.
    pub reserve: u64,
}

/// The part of a switch's buffer that all links share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pool {
    /// Its size; none without a limit.
    size: Option<u64>,
    used: u64,
}

/// Bytes that came over one link and have not left the switch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    held: u64,
    reserved: u64,
    headroom: u64,
    paused: bool,
}

/// Decision about a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Stay,
    /// It stays, and the far end must be paused.
    StayAndPause,
    Drop,
}

impl Pool {
    /// The pool of a buffer with these links: what headroom and reserves leave.
    pub(super) fn of(buffer: Option<u64>, links: impl Iterator<Item = Pausing>) -> Self {
        let kept: u64 = links.map(|link| link.headroom + link.reserve).sum();
        Self { size: buffer.map(|size| size.saturating_sub(kept)), used: 0 }
    }
}

impl Pausing {
    fn threshold(&self, pool: &Pool) -> u64 {
        match (self.xoff, pool.size) {
            (Some(xoff), _) => xoff,
            (None, Some(size)) => {
                let part = (u128::from(self.alpha) * u128::from(size - pool.used)) >> 32;
                u64::try_from(part).unwrap_or(u64::MAX)
            }
            (None, None) => u64::MAX,
        }
    }
}

impl Account {
    /// Bytes in the pool.
    const fn pooled(&self) -> u64 {
        self.held - self.reserved - self.headroom
    }

    /// A packet has come.
    pub(super) fn admit(&mut self, rule: &Pausing, pool: &mut Pool, size: u64) -> Admission {
        let threshold = rule.threshold(pool);
        let fits = match pool.size {
            None => self.held + size <= threshold,
            Some(_) if self.reserved + size <= rule.reserve => {
                self.reserved += size;
                true
            }
            Some(all) => {
                let fits = self.headroom == 0
                    && self.held - self.reserved + size <= threshold
                    && pool.used + size <= all;
                if fits {
                    pool.used += size;
                } else if self.headroom + size <= rule.headroom {
                    self.headroom += size;
                } else {
                    return Admission::Drop;
                }
                fits
            }
        };
        self.held += size;
        if fits || self.paused {
            return Admission::Stay;
        }
        self.paused = true;
        Admission::StayAndPause
    }

    /// A packet has left. Returns whether the far end must be resumed.
    pub(super) fn release(&mut self, rule: &Pausing, pool: &mut Pool, size: u64) -> bool {
        // Of the headroom first, then of the pool, then of the reserve.
        let of_headroom = size.min(self.headroom);
        let of_pool = if pool.size.is_some() { (size - of_headroom).min(self.pooled()) } else { 0 };
        self.headroom -= of_headroom;
        if pool.size.is_some() {
            self.reserved -= size - of_headroom - of_pool;
        }
        pool.used -= of_pool;
        self.held -= size;
        let left = self.pooled();
        let resumed = self.paused
            && self.headroom == 0
            && (left == 0 || left.saturating_add(rule.xon_offset) <= rule.threshold(pool));
        self.paused &= !resumed;
        resumed
    }
}
