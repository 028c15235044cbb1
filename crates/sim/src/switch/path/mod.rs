//! The choice among equal-cost ports.
//!
//! To add a policy: write its module, and add one line to the `policies!` list below. Its name can then be
//! used in scenario files.

pub(crate) mod ecmp;
mod five_tuple;

use std::sync::Arc;

use super::Egress;
use crate::describe::flow::Flow;
use crate::describe::network::{NodeId, PortId};
use crate::describe::switch::{NextHops, Switch as Description};
use crate::packet::Packet;

/// A path policy at one switch.
pub(crate) trait Policy {
    /// Its state at switch `node` before the first packet.
    fn new(node: NodeId, paths: &Paths) -> Self;

    /// The port for a packet, one of `group`: the equal-cost ports, at least two, by number. `ports` are
    /// all ports of the switch, by number, with their queues.
    fn choose(&mut self, packet: &Packet, group: &[PortId], ports: &[Egress]) -> PortId;

    /// The port of packets with this hash on a flow's nominal path, which determines its base RTT and its
    /// ideal completion time.
    fn usual(&self, hash: u32, group: &[PortId]) -> PortId;
}

macro_rules! policies {
    ($($variant:ident = $name:literal, $state:ty, $meaning:literal;)+) => {
        /// Hash by which a switch chooses among equal-cost ports.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum PathPolicy {
            $(#[doc = $meaning] $variant,)+
        }

        impl PathPolicy {
            /// Each with its name in scenario files and its description.
            pub const ALL: &[(Self, &'static str, &'static str)] =
                &[$((Self::$variant, $name, $meaning)),+];
        }

        /// The state of one switch's policy.
        #[derive(Debug)]
        pub(crate) enum State {
            $($variant($state)),+
        }

        impl State {
            pub(crate) fn new(node: NodeId, paths: &Paths) -> Self {
                match paths.policy {
                    $(PathPolicy::$variant => Self::$variant(Policy::new(node, paths))),+
                }
            }

            /// The port for a packet.
            #[inline]
            pub(crate) fn choose(
                &mut self,
                packet: &Packet,
                group: &[PortId],
                ports: &[Egress],
            ) -> Option<PortId> {
                if group.len() < 2 {
                    return group.first().copied();
                }
                match self {
                    $(Self::$variant(policy) => Some(policy.choose(packet, group, ports))),+
                }
            }

            fn usual(&self, hash: u32, group: &[PortId]) -> PortId {
                match self {
                    $(Self::$variant(policy) => policy.usual(hash, group)),+
                }
            }
        }
    };
}

policies! {
    Ecmp = "ecmp", ecmp::Ecmp,
        "by a hash of the flow and the switch";
    FiveTuple = "five-tuple", five_tuple::FiveTuple,
        "by the hash of addresses and ports that HPCC's ns-3 simulator uses";
}

/// The data shared by the policies of all switches.
#[derive(Debug)]
pub(crate) struct Paths {
    policy: PathPolicy,
    next_hops: NextHops,
    /// The tuples that [`five_tuple`] hashes, two for each flow; empty with other policies.
    tuples: Arc<[five_tuple::Tuple]>,
}

impl Paths {
    pub(crate) fn new(description: &Description, flows: &[Flow]) -> Self {
        let policy = description.path;
        let tuples = if policy == PathPolicy::FiveTuple { five_tuple::tuples(flows) } else { Arc::default() };
        Self { policy, next_hops: description.next_hops, tuples }
    }

    /// Returns the hashes that a flow's data packets and its acknowledgements carry.
    pub(crate) fn hashes(&self, index: u32, flow: &Flow) -> (u32, u32) {
        if self.policy == PathPolicy::FiveTuple { five_tuple::names(index) } else { ecmp::hashes(flow.key) }
    }

    /// The port of switch `node` for packets with this hash on a flow's nominal path.
    pub(crate) fn usual(&self, node: NodeId, hash: u32, group: &[PortId]) -> Option<PortId> {
        if group.len() < 2 {
            return group.first().copied();
        }
        Some(State::new(node, self).usual(hash, group))
    }
}

impl NextHops {
    /// Number `choice` of a group of ports in this order.
    #[inline]
    fn pick(self, group: &[PortId], choice: usize) -> PortId {
        match self {
            Self::Ascending => group[choice],
            Self::Descending => group[group.len() - 1 - choice],
        }
    }
}
