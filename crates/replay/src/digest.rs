//! One number for everything that a replay has seen so far.
//!
//! Two lanes of 32 bits, so that every target computes it without 64-bit products. For each word both lanes go
//! through a bijection, so two replays that differ in one word differ from there on, unless later differences cancel
//! out in both lanes.

/// The digest of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    first: u32,
    second: u32,
}

impl Digest {
    /// That of a replay which has not begun.
    pub const START: Self = Self { first: 0x696e_6361, second: 0x7374_5431 };

    /// Takes in a word.
    #[inline]
    pub fn word(&mut self, word: u32) {
        self.first = (self.first.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b1);
        self.second = self.second.wrapping_add(word).wrapping_mul(0x85eb_ca6b).rotate_left(13);
    }

    /// Takes in two words, the lower one first.
    #[inline]
    pub fn pair(&mut self, words: u64) {
        self.word(words as u32);
        self.word((words >> 32) as u32);
    }

    /// Both lanes.
    #[must_use]
    pub fn value(self) -> u64 {
        u64::from(self.second) << 32 | u64::from(self.first)
    }
}
