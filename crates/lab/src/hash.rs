//! The hash for identities (of flows, of random streams, of files that a scenario names), and the digest by
//! which a damaged file is detected.

use incast_sim::random::mix;

/// A hash of a seed, a name and an index: the identity of a flow or of a stream of random draws.
#[must_use]
pub(crate) fn key(seed: u64, name: &str, index: u64) -> u64 {
    of_bytes(seed, name.as_bytes(), index)
}

/// Returns the hash that [`key`] gives a name with these bytes.
#[must_use]
pub(crate) fn of_bytes(seed: u64, name: &[u8], index: u64) -> u64 {
    let mut hash = mix(seed);
    for chunk in name.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = mix(hash ^ u64::from_le_bytes(word));
    }
    // The length keeps apart names that differ by trailing zero bytes.
    mix(mix(hash ^ name.len() as u64) ^ index)
}

/// A digest of bytes that come one after the other.
///
/// Each step maps the 64-bit state by a bijection, for a given word of input: a change within one word of
/// eight bytes is always detected, and any other change except with probability 2^-64. It does not protect
/// against intentional changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digest {
    state: u64,
    word: [u8; 8],
    /// Bytes in `word`.
    filled: usize,
    length: u64,
}

impl Digest {
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.filled > 0 {
            let take = bytes.len().min(8 - self.filled);
            self.word[self.filled..self.filled + take].copy_from_slice(&bytes[..take]);
            self.filled += take;
            bytes = &bytes[take..];
            if self.filled < 8 {
                return;
            }
            self.add(self.word);
        }
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.add(*word));
        self.word[..rest.len()].copy_from_slice(rest);
        self.filled = rest.len();
    }

    fn add(&mut self, word: [u8; 8]) {
        self.state = mix(self.state ^ u64::from_le_bytes(word));
        self.filled = 0;
    }

    /// The digest of all bytes, as sixteen hexadecimal digits.
    pub(crate) fn finish(mut self) -> String {
        self.word[self.filled..].fill(0);
        self.add(self.word);
        format!("{:016x}", mix(self.state ^ self.length))
    }

    /// The digest of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> String {
        let mut digest = Self::default();
        digest.update(bytes);
        digest.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_depends_on_every_bit_and_not_on_the_pieces() {
        let bytes: Vec<u8> = (0..61_u8).collect();
        let whole = Digest::of(&bytes);
        for size in 1..=20 {
            let mut digest = Digest::default();
            bytes.chunks(size).for_each(|piece| digest.update(piece));
            assert_eq!(digest.finish(), whole);
        }
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(Digest::of(&other), whole, "bit {bit}");
        }
        assert_ne!(Digest::of(b""), Digest::of(b"\0"));
    }
}
