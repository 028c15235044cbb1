//! Flows.

use incast_units::{Bytes, Time};

/// One transfer from a host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Identity of the flow for every random draw about it, made from the names of what created it
    /// and not from its place in the list, so that adding a flow leaves the others' draws alone.
    pub key: u64,
    /// Sending host.
    pub source: u32,
    /// Receiving host.
    pub destination: u32,
    /// Payload to transfer; [`Bytes::UNLIMITED`] for a flow that ends by `stop`, or with the run.
    pub size: Bytes,
    /// When it starts.
    pub start: Time,
    /// When it stops offering new data ([`Time::NEVER`]: when `size` has been sent).
    pub stop: Time,
    /// Its queue (priority) in the switches.
    pub queue: u8,
    /// Its algorithm, an index into [`super::Simulation::algorithms`].
    pub algorithm: u16,
    /// A label of the caller's: which traffic block it came from.
    pub group: u16,
}

impl Flow {
    /// Whether it lasts as long as the run: it has neither a size nor a stop.
    #[must_use]
    pub fn is_open_ended(&self) -> bool {
        self.size == Bytes::UNLIMITED && self.stop == Time::NEVER
    }
}
