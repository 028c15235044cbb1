//! A flow as its receiver knows it.

/// No position.
pub(super) const NOWHERE: u32 = u32::MAX;
/// A time that is never reached.
const NEVER: u64 = u64::MAX;

/// A flow to a host, before, while and after it arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming {
    pub(super) flow: u32,
    /// The sender's index of it.
    pub(super) peer: u32,
    /// Position of its state while it arrives, or from then on of its connection; [`NOWHERE`] before and after.
    pub(super) place: u32,
    /// Time at which the last byte arrived; [`u64::MAX`] before, and for a message of a connection. (ps)
    pub(super) completed: u64,
}

impl Incoming {
    /// A flow of which nothing has arrived.
    pub(super) const fn new(flow: u32, peer: u32) -> Self {
        Self { flow, peer, place: NOWHERE, completed: NEVER }
    }

    /// Whether all of it has arrived.
    pub(super) const fn is_complete(&self) -> bool {
        self.completed != NEVER
    }
}
