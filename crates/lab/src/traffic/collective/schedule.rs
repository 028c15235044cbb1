//! Schedules of collectives: which rank sends which blocks of the data to which other one, and after what.
//!
//! A schedule knows ranks and blocks, not hosts and bytes: the same one serves every channel and every pass.

/// Some blocks of the data: `count` of them from `first` on, each `stride` after the one before, modulo the number of
/// all blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) first: u64,
    pub(super) stride: u64,
    pub(super) count: u64,
}

impl Part {
    /// Returns a single block.
    pub(super) const fn block(first: u64) -> Self {
        Self { first, stride: 1, count: 1 }
    }

    /// Returns the blocks from one up to another one, which is not part of it.
    pub(super) const fn range(first: u64, end: u64) -> Self {
        Self { first, stride: 1, count: end - first }
    }

    /// Iterates over the numbers of its blocks, of `all` blocks.
    pub(super) fn blocks(self, all: u64) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |i| (self.first + i * self.stride) % all)
    }
}

/// A message from a rank to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) from: u32,
    pub(super) to: u32,
    /// The blocks that it carries.
    pub(super) part: Part,
    /// Whether the receiver adds them to what it has; if not, they replace it.
    pub(super) reduces: bool,
    /// The messages that the sender must have received before, by their positions in the schedule.
    pub(super) after: Vec<u32>,
}

/// Dimensions of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Number of ranks, two or more.
    pub(super) ranks: u32,
    /// Number of ranks that follow each other which are close to each other: the GPUs of a host, or an inner group. It
    /// divides the number of ranks.
    pub(super) inner: u32,
    /// The root of an operation that has one.
    pub(super) root: u32,
    /// Number of pieces that trees and chains pass on one after the other, for each tree.
    pub(super) pieces: u32,
}

/// The messages of a pass in an order in which each comes behind those that it waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) messages: Vec<Message>,
    /// For each rank the messages after which it has the result of the steps so far.
    pub(super) held: Vec<Vec<u32>>,
}

impl Schedule {
    /// Makes one without messages.
    pub(super) fn of(ranks: u32) -> Self {
        Self { messages: Vec::new(), held: vec![Vec::new(); ranks as usize] }
    }

    /// Returns the schedule of a reduction whose messages go the other way, each part in the reverse order: what
    /// a rank passes on of a broadcast waits for the message that brings it; what it sends towards the root waits for all
    /// that is added to it.
    pub(super) fn reversed(self) -> Self {
        let ranks = self.held.len() as u32;
        let mut order: Vec<u32> = Vec::with_capacity(self.messages.len());
        for run in self.messages.chunk_by(|a, b| a.part == b.part) {
            let first = order.len() as u32;
            order.extend((first..first + run.len() as u32).rev());
        }
        let mut places = vec![0; order.len()];
        (0_u32..).zip(&order).for_each(|(place, old)| places[*old as usize] = place);
        let mut after = vec![Vec::new(); order.len()];
        for (place, message) in places.iter().zip(&self.messages) {
            message.after.iter().for_each(|before| after[places[*before as usize] as usize].push(*place));
        }
        let mut made = Self::of(ranks);
        for (old, mut after) in order.into_iter().zip(after) {
            let Message { from, to, part, .. } = self.messages[old as usize];
            after.sort_unstable();
            made.send([to, from], part, true, after);
        }
        made
    }

    /// Adds a message, and returns its position.
    pub(super) fn send(&mut self, [from, to]: [u32; 2], part: Part, reduces: bool, after: Vec<u32>) -> u32 {
        self.messages.push(Message { from, to, part, reduces, after });
        self.messages.len() as u32 - 1
    }
}

/// Sizes of the blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sizes {
    /// The bytes are divided evenly among as many blocks; the first ones have one byte more if there is a rest.
    Even { bytes: u64, blocks: u64 },
    /// Block s · n + d is what rank s has for rank d: an n-th of the bytes.
    Rows { bytes: u64, ranks: u64 },
    /// Each block has its own.
    Each(Vec<u64>),
}

impl Sizes {
    /// Returns the bytes of a part.
    pub(super) fn of(&self, part: Part) -> u64 {
        let even = |bytes: u64, blocks: u64, block: u64| bytes / blocks + u64::from(block < bytes % blocks);
        match self {
            Self::Even { bytes, blocks } => {
                part.blocks(*blocks).map(|block| even(*bytes, *blocks, block)).sum()
            }
            Self::Rows { bytes, ranks } => {
                part.blocks(ranks * ranks).map(|block| even(*bytes, *ranks, block % ranks)).sum()
            }
            Self::Each(sizes) => part.blocks(sizes.len() as u64).map(|block| sizes[block as usize]).sum(),
        }
    }
}
