//! Operations of workloads with dependencies.

use incast_units::Time;

use super::channel::{Digest, Record};
use super::view::View;

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
    type Pending = Self;
    type Key = (Time, u32);

    fn key(pending: &Self) -> Self::Key {
        (pending.end, pending.operation)
    }

    fn time(pending: &Self) -> Time {
        pending.end
    }

    fn publish(pending: Self, _: &impl View) -> Self {
        pending
    }

    fn digest(&self, digest: &mut Digest) {
        let Self { operation, start, end } = self;
        digest.add(&[u64::from(*operation), start.ps(), end.ps()]);
    }
}
