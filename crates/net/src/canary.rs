//! Deliberate faults, by which the tests of `incast audit` see that it finds faults.
//!
//! The test build has them (feature `examples`), one at a time, named by the environment variable `INCAST_CANARY`. In
//! every other build [`strikes`] and [`is_on`] are constant, and nothing of them is left.

/// A deliberate fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Canary {
    /// One packet has a wrong mark.
    Mark,
    /// One packet leaves its queue ahead of another.
    Order,
    /// The limit of a port or a queue admits one byte more.
    Threshold,
    /// One pause comes a packet late.
    Pause,
    /// A counter of packets runs on.
    Counter,
    /// One ideal time is a picosecond longer.
    Ideal,
}

impl Canary {
    /// Every fault, with its name and the call of [`strikes`] at which it strikes.
    #[cfg(feature = "examples")]
    const ALL: [(Self, &'static str, u64); 6] = [
        (Self::Mark, "mark", 20),
        (Self::Order, "order", 20),
        (Self::Threshold, "threshold", 1),
        (Self::Pause, "pause", 1),
        (Self::Counter, "counter", 50),
        (Self::Ideal, "ideal", 2),
    ];
}

/// The names of the faults that this build has.
#[cfg(feature = "examples")]
#[must_use]
pub fn names() -> Vec<&'static str> {
    Canary::ALL.iter().map(|(_, name, _)| *name).collect()
}

/// The names of the faults that this build has: none.
#[cfg(not(feature = "examples"))]
#[must_use]
pub const fn names() -> Vec<&'static str> {
    Vec::new()
}

/// Whether a fault is chosen.
#[cfg(feature = "examples")]
#[inline]
#[must_use]
pub fn is_on(canary: Canary) -> bool {
    chosen().is_some_and(|(chosen, _)| chosen == canary)
}

/// Whether a fault is chosen: never.
#[cfg(not(feature = "examples"))]
#[inline(always)]
#[must_use]
pub const fn is_on(_: Canary) -> bool {
    false
}

/// Whether a fault strikes at this call, which is one of all calls.
#[cfg(feature = "examples")]
#[must_use]
pub fn strikes(canary: Canary) -> bool {
    use std::sync::atomic::{AtomicU64, Ordering};
    static CALLS: AtomicU64 = AtomicU64::new(0);
    chosen().is_some_and(|(chosen, at)| chosen == canary && CALLS.fetch_add(1, Ordering::Relaxed) + 1 == at)
}

/// Whether a fault strikes at this call: never.
#[cfg(not(feature = "examples"))]
#[inline(always)]
#[must_use]
pub const fn strikes(_: Canary) -> bool {
    false
}

/// The chosen fault, and the call at which it strikes.
#[cfg(feature = "examples")]
fn chosen() -> Option<(Canary, u64)> {
    static CHOSEN: std::sync::OnceLock<Option<(Canary, u64)>> = std::sync::OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let written = std::env::var("INCAST_CANARY").ok()?;
        Canary::ALL.iter().find(|(_, name, _)| *name == written).map(|(canary, _, at)| (*canary, *at))
    })
}
