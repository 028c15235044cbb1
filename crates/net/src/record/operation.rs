//! Operations of workloads with dependencies.

use incast_units::Time;

use super::channel::{Digest, Record, kept_as_received};

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
    kept_as_received!((Time, u32), |record| (record.end, record.operation));

    fn digest(&self, digest: &mut Digest) {
        let Self { operation, start, end } = self;
        digest.add(&[u64::from(*operation), start.ps(), end.ps()]);
    }
}
