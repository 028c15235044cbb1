//! Operations of workloads with dependencies.

use incast_units::Time;

use crate::engine::channel::{Digest, Record};
use crate::engine::world::World;

/// An operation that has ended (or had not at the end of the run).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationRecord {
    /// Index into the simulation's operations.
    pub operation: u32,
    /// Time of its start.
    pub start: Time,
    /// Time of its end; [`Time::NEVER`] if it never ended.
    pub end: Time,
}

impl Record for OperationRecord {
    type Kept = Self;
    type Key = (Time, u32);

    fn key(kept: &Self) -> Self::Key {
        (kept.end, kept.operation)
    }

    fn time(kept: &Self) -> Time {
        kept.end
    }

    fn told(kept: Self, _: &World) -> Self {
        kept
    }

    fn digest(&self, digest: &mut Digest) {
        digest.add(&[u64::from(self.operation), self.start.ps(), self.end.ps()]);
    }
}
