//! Numbers of open flows by what keeps their next packets back.

use incast_units::Time;

use super::channel::{Digest, Record, kept_as_received};
use super::limits::Limit;
use crate::describe::network::NodeId;

/// The number of open flows of one group at one host whose next packets a limit keeps back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitSample {
    /// Time of the sample.
    pub time: Time,
    /// The sending host.
    pub node: NodeId,
    /// The group of the flows.
    pub group: u16,
    /// The limit.
    pub limit: Limit,
    /// Their number, at least one.
    pub flows: u32,
}

impl Record for LimitSample {
    kept_as_received!((Time, NodeId, u16, u8), |record| (
        record.time,
        record.node,
        record.group,
        record.limit as u8
    ));

    /// Adds nothing: limits follow from events that are hashed already.
    fn digest(&self, _: &mut Digest) {}
}
