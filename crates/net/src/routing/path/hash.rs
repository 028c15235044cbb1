//! What a path policy is.

use super::paths::Paths;
use crate::describe::network::{NodeId, PortId};

/// A path policy at one node: a pure function of the packet's hash.
pub(crate) trait PathHash {
    /// Returns the policy of a node.
    fn new(node: NodeId, paths: &Paths) -> Self;

    /// Returns the port for packets with this hash, one of `group`: the equal-cost ports, at least two, by number.
    fn pick(&self, hash: u32, group: &[PortId]) -> PortId;
}
