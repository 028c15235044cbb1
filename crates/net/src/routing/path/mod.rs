//! The choice among equal-cost ports.
//!
//! To add a policy: write its file here, its name in [`crate::describe::switch::PathPolicy`], and one line in the
//! `policies!` list below.

pub(crate) mod ecmp;
mod five_tuple;
mod hash;
mod paths;

use std::sync::Arc;

use hash::PathHash;

use crate::describe::flow::Flow;
use crate::describe::network::{NodeId, PortId};
use crate::describe::switch::{PathPolicy, Switch as Description};

pub use paths::Paths;

macro_rules! policies {
    ($($variant:ident($state:ty);)+) => {
        /// The policy of one node, of any kind.
        #[derive(Debug)]
        pub enum State {
            $(#[doc = concat!("The policy ", stringify!($variant), ".")] $variant($state)),+
        }

        impl State {
            /// Returns the policy of a node.
            pub fn new(node: NodeId, paths: &Paths) -> Self {
                match paths.policy {
                    $(PathPolicy::$variant => Self::$variant(PathHash::new(node, paths))),+
                }
            }

            /// The port for packets with this hash; `None` if there is none.
            #[inline]
            pub fn pick(&self, hash: u32, group: &[PortId]) -> Option<PortId> {
                if group.len() < 2 {
                    return group.first().copied();
                }
                match self {
                    $(Self::$variant(policy) => Some(policy.pick(hash, group))),+
                }
            }
        }
    };
}

policies! {
    Ecmp(ecmp::Ecmp);
    FiveTuple(five_tuple::FiveTuple);
}

impl Paths {
    /// Prepares the policy of a description for these flows.
    pub fn new(description: &Description, flows: &[Flow]) -> Self {
        let policy = description.path;
        let tuples = if policy == PathPolicy::FiveTuple { five_tuple::tuples(flows) } else { Arc::default() };
        Self { policy, next_hops: description.next_hops, tuples }
    }

    /// The hash that a flow's data packets carry and that of its acknowledgements.
    pub fn hashes(&self, index: u32, flow: &Flow) -> (u32, u32) {
        if self.policy == PathPolicy::FiveTuple { five_tuple::names(index) } else { ecmp::hashes(flow.key) }
    }

    /// The port of switch `node` for packets with this hash on a flow's nominal path.
    pub fn pick(&self, node: NodeId, hash: u32, group: &[PortId]) -> Option<PortId> {
        State::new(node, self).pick(hash, group)
    }
}
