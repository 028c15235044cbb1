//! Operations of collectives, and the algorithms that exist for each.

use incast_sim::describe::Named;

use crate::grammar::section::choice;

/// Operation of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// All-reduce.
    AllReduce,
    /// All-gather.
    AllGather,
    /// Reduce-scatter.
    ReduceScatter,
    /// Broadcast.
    Broadcast,
    /// Reduce.
    Reduce,
    /// Gather.
    Gather,
    /// Scatter.
    Scatter,
    /// All-to-all.
    AllToAll,
}

impl Named for Operation {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::AllReduce, "all-reduce", "every rank has the sum of the data of all"),
        (Self::AllGather, "all-gather", "every rank has the blocks of all, put together"),
        (Self::ReduceScatter, "reduce-scatter", "every rank has its block of the sum of the data of all"),
        (Self::Broadcast, "broadcast", "every rank has the data of the root"),
        (Self::Reduce, "reduce", "the root has the sum of the data of all"),
        (Self::Gather, "gather", "the root has the blocks of all, put together"),
        (Self::Scatter, "scatter", "every rank has its block of the data of the root"),
        (Self::AllToAll, "all-to-all", "every rank has a block of its own from each other rank"),
    ];
}

choice!(Operation);

/// Algorithm of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// A ring.
    Ring,
    /// Two binary trees.
    Tree,
    /// Recursive halving and doubling.
    HalvingDoubling,
    /// A message from each to each.
    Direct,
    /// Two levels.
    Hierarchical,
}

impl Named for Algorithm {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Ring, "ring", "each rank sends to the next one only"),
        (Self::Tree, "tree", "two binary trees, each with half of the data (Sanders, Speck, Traeff 2009)"),
        (
            Self::HalvingDoubling,
            "halving-doubling",
            "exchanges of halves at distances that double (Thakur, Rabenseifner, Gropp 2005)",
        ),
        (Self::Direct, "direct", "each rank sends to each other one at once"),
        (
            Self::Hierarchical,
            "hierarchical",
            "within inner groups, and among the ranks of equal place in these",
        ),
    ];
}

choice!(Algorithm);

impl Operation {
    /// Returns the algorithms that exist for it, the default first.
    pub(super) const fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm::{Direct, HalvingDoubling, Hierarchical, Ring, Tree};
        match self {
            Self::AllReduce | Self::Broadcast => &[Ring, Tree, HalvingDoubling, Direct, Hierarchical],
            Self::AllGather | Self::ReduceScatter => &[Ring, HalvingDoubling, Direct, Hierarchical],
            Self::Reduce => &[Ring, Tree, Direct, Hierarchical],
            Self::AllToAll => &[Direct, Hierarchical],
            Self::Gather | Self::Scatter => &[Direct],
        }
    }

    /// Whether it has a root.
    pub(super) const fn has_root(self) -> bool {
        matches!(self, Self::Broadcast | Self::Reduce | Self::Gather | Self::Scatter)
    }

    /// Returns the bytes that each of n ranks, or the root, sends or receives at least, for data of this size: what the bus
    /// bandwidth counts.
    pub(super) fn moved(self, size: u128, ranks: u128) -> u128 {
        match self {
            Self::AllReduce => 2 * size * (ranks - 1) / ranks,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll | Self::Gather | Self::Scatter => {
                size * (ranks - 1) / ranks
            }
            Self::Broadcast | Self::Reduce => size,
        }
    }
}

impl Algorithm {
    /// Whether a channel has the card by which it enters and leaves each host; if not, each rank has its own.
    pub(super) const fn has_channel_cards(self) -> bool {
        matches!(self, Self::Ring | Self::Tree)
    }

    /// Whether data pass through ranks in pieces.
    pub(super) const fn is_pipelined(self, operation: Operation) -> bool {
        match self {
            Self::Tree => true,
            Self::Ring | Self::Hierarchical => matches!(operation, Operation::Broadcast | Operation::Reduce),
            Self::HalvingDoubling | Self::Direct => false,
        }
    }
}

/// Returns the word for a value in scenario files.
pub(super) fn word<T: Named>(value: T) -> &'static str {
    T::ALL.iter().find(|(known, ..)| *known == value).map_or("", |(_, word, _)| *word)
}
