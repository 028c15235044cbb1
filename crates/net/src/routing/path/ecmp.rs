//! ECMP: all packets of a flow take the same path, chosen by a hash.
//!
//! A flow's 32-bit hash is the upper half of [`mix`] of its key; its packets carry it,
//! acknowledgements the hash of the reversed flow. At a switch with `n` equal-cost ports the packet leaves
//! by number `(fmix32(hash xor salt) · n) >> 32`, where `fmix32` is the finaliser of MurmurHash3 and `salt`
//! the upper half of `mix(node + 1)`, so that the choices of successive switches are independent. Neither
//! the seed of the run nor any other flow matters, only the flow's key.

use super::hash::PathHash;
use super::paths::Paths;
use crate::describe::network::{NodeId, PortId};
use crate::describe::switch::NextHops;
use crate::random::mix;

/// The hash of one switch.
#[derive(Debug)]
pub struct Ecmp {
    salt: u32,
    next_hops: NextHops,
}

impl PathHash for Ecmp {
    fn new(node: NodeId, paths: &Paths) -> Self {
        Self { salt: (mix(u64::from(node) + 1) >> 32) as u32, next_hops: paths.next_hops }
    }

    #[inline]
    fn pick(&self, hash: u32, group: &[PortId]) -> PortId {
        let choice = (u64::from(fmix32(hash ^ self.salt)) * group.len() as u64) >> 32;
        self.next_hops.pick(group, choice as usize)
    }
}

/// Returns the hashes of a flow's data packets and of its acknowledgements.
pub(crate) fn hashes(key: u64) -> (u32, u32) {
    ((mix(key) >> 32) as u32, (mix(!key) >> 32) as u32)
}

/// The finaliser of MurmurHash3: every input bit reaches every output bit.
#[inline]
pub(super) const fn fmix32(mut h: u32) -> u32 {
    h ^= h >> 16;
    h = h.wrapping_mul(0x85eb_ca6b);
    h ^= h >> 13;
    h = h.wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}
