//! The hash that identities rest on: of flows, of random streams, of files that a scenario names.

use incast_sim::random::mix;

/// A hash of a seed, a name and an index: the identity of a flow or of a stream of random draws.
#[must_use]
pub(crate) fn key(seed: u64, name: &str, index: u64) -> u64 {
    let mut hash = mix(seed);
    for chunk in name.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = mix(hash ^ u64::from_le_bytes(word));
    }
    // The length keeps apart names that differ by trailing zero bytes.
    mix(mix(hash ^ name.len() as u64) ^ index)
}
