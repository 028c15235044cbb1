//! The schedule of each operation by each of its algorithms, and its dimensions.

use super::algorithm::{Algorithm, Operation};
use super::schedule::{Schedule, Shape};
use super::{halving, rings, trees};

/// Makes the schedule of an operation by an algorithm that exists for it.
pub(super) fn schedule(operation: Operation, algorithm: Algorithm, shape: Shape) -> Schedule {
    if operation == Operation::Reduce {
        return schedule(Operation::Broadcast, algorithm, shape).reversed();
    }
    let mut made = Schedule::of(shape.ranks);
    match algorithm {
        Algorithm::Ring | Algorithm::Hierarchical if operation == Operation::Broadcast => {
            rings::broadcast(&mut made, shape, algorithm);
        }
        Algorithm::Hierarchical if operation == Operation::AllToAll => rings::by_rails(&mut made, shape),
        Algorithm::Ring => rings::rings(&mut made, operation, Shape { inner: 1, ..shape }),
        Algorithm::Hierarchical => rings::rings(&mut made, operation, shape),
        Algorithm::Direct => rings::direct(&mut made, operation, shape),
        Algorithm::HalvingDoubling => halving::halving_doubling(&mut made, operation, shape),
        Algorithm::Tree => trees::double_tree(&mut made, operation, shape),
    }
    made
}

/// Returns the number of blocks into which the data of an operation are divided.
pub(super) fn blocks(operation: Operation, algorithm: Algorithm, shape: Shape) -> u64 {
    let ranks = u64::from(shape.ranks);
    match (operation, algorithm) {
        (Operation::AllToAll, _) => ranks * ranks,
        (_, Algorithm::Tree) => 2 * u64::from(shape.pieces),
        (Operation::Broadcast | Operation::Reduce, Algorithm::Direct) => 1,
        (Operation::Broadcast | Operation::Reduce, Algorithm::Ring | Algorithm::Hierarchical) => {
            u64::from(shape.pieces)
        }
        (Operation::AllReduce | Operation::Broadcast | Operation::Reduce, Algorithm::HalvingDoubling) => {
            halving::power(ranks)
        }
        (
            Operation::AllReduce
            | Operation::AllGather
            | Operation::ReduceScatter
            | Operation::Gather
            | Operation::Scatter,
            _,
        ) => ranks,
    }
}

/// Returns the number of messages of a pass of a channel, or a little more.
pub(super) fn most_messages(operation: Operation, algorithm: Algorithm, shape: Shape) -> u64 {
    let [n, inner, pieces] = [shape.ranks, shape.inner, shape.pieces].map(u64::from);
    let phases = if operation == Operation::AllReduce { 2 } else { 1 };
    match algorithm {
        Algorithm::Ring | Algorithm::Hierarchical | Algorithm::Tree if algorithm.is_pipelined(operation) => {
            let trees = if algorithm == Algorithm::Tree { 2 } else { 1 };
            trees * phases * pieces.saturating_mul(n - 1)
        }
        Algorithm::Hierarchical => phases * n * (n / inner + inner - 2),
        Algorithm::HalvingDoubling if operation == Operation::Broadcast => n * u64::from(n.ilog2()) + 2 * n,
        Algorithm::HalvingDoubling => n * (phases * u64::from(n.ilog2()) + 2),
        Algorithm::Direct if operation.has_root() => n - 1,
        _ => phases * n * (n - 1),
    }
}
