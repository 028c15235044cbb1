//! The place of a record in one word.

use crate::describe::network::{NodeId, PortId};

/// Returns a node and its port in one word.
pub(super) fn at(node: NodeId, port: PortId) -> u64 {
    u64::from(node) << 16 | u64::from(port)
}
