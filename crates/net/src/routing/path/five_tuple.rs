//! ECMP as HPCC's public ns-3 simulator computes it, to repeat its runs path by path.
//!
//! MurmurHash3 (32 bits) of source address, destination address and both ports, with the switch's
//! number as seed; the next hop is its remainder modulo the number of equal-cost ports. Node `i` has the
//! address 11.(i / 256).(i mod 256).1. Data packets go to port 100 and come from port 10 000 for the first
//! flow between two hosts, 10 001 for the second, and so on in the order of their numbers; acknowledgements
//! have addresses and ports exchanged. All flows of a connection have the ports of the first one.
//!
//! Nodes have the numbers that they have here, hosts first: the same as in topology files that number
//! the hosts first. The order of next hops there cannot be repeated: it follows from a breadth-first search
//! over a map that is sorted by addresses in memory. It is the ascending order if later nodes and links are
//! at higher addresses.

use std::collections::HashMap;
use std::sync::Arc;

use super::ecmp::fmix32;
use super::hash::PathHash;
use super::paths::{Paths, Tuple};
use crate::describe::flow::Flow;
use crate::describe::network::{NodeId, PortId};
use crate::describe::switch::NextHops;

const DESTINATION_PORT: u32 = 100;
const FIRST_SOURCE_PORT: u32 = 10_000;

/// The hash of one switch.
#[derive(Debug)]
pub struct FiveTuple {
    node: NodeId,
    next_hops: NextHops,
    tuples: Arc<[Tuple]>,
}

impl PathHash for FiveTuple {
    fn new(node: NodeId, paths: &Paths) -> Self {
        Self { node, next_hops: paths.next_hops, tuples: Arc::clone(&paths.tuples) }
    }

    fn pick(&self, hash: u32, group: &[PortId]) -> PortId {
        let tuple = self.tuples.get(hash as usize).copied().unwrap_or_default();
        let choice = murmur3(self.node, tuple) % group.len() as u32;
        self.next_hops.pick(group, choice as usize)
    }
}

/// The hashes carried by the packets of flow `index`: the indices of the tuples of data and of
/// acknowledgements.
pub(super) fn names(index: u32) -> (u32, u32) {
    (2 * index, 2 * index + 1)
}

/// The tuples of all flows, two for each. `flows` are in the order of their numbers.
pub(super) fn tuples(flows: &[Flow]) -> Arc<[Tuple]> {
    let mut between: HashMap<(u32, u32), u32> = HashMap::new();
    let mut ports: HashMap<u32, u32> = HashMap::new();
    let mut next = |flow: &Flow| {
        let count = between.entry((flow.source, flow.destination)).or_default();
        let port = (FIRST_SOURCE_PORT + *count) & 0xffff;
        *count += 1;
        port
    };
    let both = flows.iter().flat_map(|flow| {
        let port = match flow.connection {
            Some(connection) => *ports.entry(connection).or_insert_with(|| next(flow)),
            None => next(flow),
        };
        let (source, destination) = (address(flow.source), address(flow.destination));
        [
            [source, destination, port | DESTINATION_PORT << 16],
            [destination, source, DESTINATION_PORT | port << 16],
        ]
    });
    both.collect()
}

/// 11.(i / 256).(i mod 256).1
fn address(node: NodeId) -> u32 {
    0x0b00_0001 + (node / 256) * 0x1_0000 + (node % 256) * 0x100
}

/// MurmurHash3 for 32 bits (Appleby) of twelve bytes, the words in little-endian order.
fn murmur3(seed: u32, words: Tuple) -> u32 {
    let mut h = seed;
    for word in words {
        let k = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        h = (h ^ k).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    fmix32(h ^ 12)
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_units::{Bytes, Time};

    #[test]
    fn the_hash_is_murmur3() {
        // "Hello, facts" with the seeds 0 and 1234, from a plain implementation checked against the
        // published vectors of the algorithm.
        let words = [*b"Hell", *b"o, w", *b"orld"].map(u32::from_le_bytes);
        assert_eq!([0, 1234].map(|seed| murmur3(seed, words)), [0x6a72_8c54, 0x584d_5953]);
    }

    #[test]
    fn addresses_and_ports_are_numbered_as_there() {
        assert_eq!(address(13), 0x0b00_0d01);
        assert_eq!(address(300), 0x0b01_2c01);
        let flow = |source, destination| Flow::of_size(source, destination, Bytes::new(1), Time::ZERO);
        let tuples = tuples(&[flow(1, 2), flow(2, 1), flow(1, 2)]);
        assert_eq!(tuples[0], [0x0b00_0101, 0x0b00_0201, 10_000 | 100 << 16]);
        assert_eq!(tuples[1], [0x0b00_0201, 0x0b00_0101, 100 | 10_000 << 16]);
        assert_eq!(tuples[2][2], 10_000 | 100 << 16);
        assert_eq!(tuples[4], [0x0b00_0101, 0x0b00_0201, 10_001 | 100 << 16]);
        assert_eq!(names(2), (4, 5));
        // The second and the fourth flow are messages of one connection; the third comes from the port after it.
        let of = |connection| Flow { connection, ..flow(1, 2) };
        let tuples = super::tuples(&[of(None), of(Some(7)), of(None), of(Some(7))]);
        let ports: Vec<u32> = tuples.iter().step_by(2).map(|tuple| tuple[2] & 0xffff).collect();
        assert_eq!(ports, [10_000, 10_001, 10_002, 10_001]);
    }
}
