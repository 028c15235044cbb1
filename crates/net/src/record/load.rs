//! Progress of the flows of a group.

use incast_units::{Bytes, Time};

use super::channel::{Digest, Record};
use super::view::View;
use crate::describe::network::NodeId;

/// Payload acknowledged of the flows of one group that are open at one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadSample {
    /// Time of the sample.
    pub time: Time,
    /// The sending host.
    pub node: NodeId,
    /// The group of the flows.
    pub group: u16,
    /// Payload acknowledged since their starts.
    pub acked: Bytes,
}

impl Record for LoadSample {
    type Pending = Self;
    type Key = (Time, NodeId, u16);

    fn key(pending: &Self) -> Self::Key {
        (pending.time, pending.node, pending.group)
    }

    fn time(pending: &Self) -> Time {
        pending.time
    }

    fn publish(pending: Self, _: &impl View) -> Self {
        pending
    }

    /// Adds nothing: to measure a load changes no fingerprint.
    fn digest(&self, _: &mut Digest) {}
}
