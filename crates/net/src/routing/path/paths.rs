//! What the policies of all switches share.

use std::sync::Arc;

use crate::describe::switch::{NextHops, PathPolicy};

/// The source address, the destination address, and the source port with the destination port above it.
pub(super) type Tuple = [u32; 3];

/// The data shared by the policies of all switches.
#[derive(Debug)]
pub struct Paths {
    pub(super) policy: PathPolicy,
    pub(super) next_hops: NextHops,
    /// The tuples that [`five_tuple`](super::five_tuple) hashes, two for each flow; empty with other policies.
    pub(super) tuples: Arc<[Tuple]>,
}
