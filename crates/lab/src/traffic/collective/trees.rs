//! Two binary trees, after Sanders, Speck and Träff: no node has children in both, so that each sends and receives about as
//! much as every other one.

use core::ops::RangeInclusive;

use super::algorithm::Operation;
use super::schedule::{Part, Schedule, Shape};

/// A binary tree of nodes 0 to n − 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) root: u32,
    /// Each edge as a parent and a child, those nearer to the root first.
    pub(super) edges: Vec<[u32; 2]>,
}

impl Tree {
    /// Returns the two trees of n nodes.
    ///
    /// In the first one the nodes are in order, and those at odd positions, counted from 1, are leaves: the root of any
    /// run of positions is the one that the highest power of two divides. The second one is its mirror image if n is
    /// even, and the same shifted by one position if n is odd; in both cases the leaves are those at even positions,
    /// and the first one.
    pub(super) fn two(n: u32) -> [Self; 2] {
        let mut first = Self { root: middle(&(1..=n)) - 1, edges: Vec::new() };
        first.grow(1..=n);
        first.edges.sort_by_key(|[parent, child]| {
            let height = |node: u32| (node + 1).trailing_zeros();
            core::cmp::Reverse((height(*parent), height(*child)))
        });
        let moved = |node: u32| if n.is_multiple_of(2) { n - 1 - node } else { (node + 1) % n };
        let second =
            Self { root: moved(first.root), edges: first.edges.iter().map(|edge| edge.map(moved)).collect() };
        [first, second]
    }

    /// Adds the edges below the root of a run of positions.
    fn grow(&mut self, run: RangeInclusive<u32>) {
        let root = middle(&run);
        for side in [*run.start()..=root - 1, root + 1..=*run.end()] {
            if !side.is_empty() {
                self.edges.push([root - 1, middle(&side) - 1]);
                self.grow(side);
            }
        }
    }
}

/// Returns the position in a run that the highest power of two divides.
fn middle(run: &RangeInclusive<u32>) -> u32 {
    let (start, end) = (*run.start(), *run.end());
    // The bits that all positions share, and the highest one in which the last differs from that before the first.
    let highest = ((start - 1) ^ end).ilog2();
    end >> highest << highest
}

/// All-reduce and broadcast over two trees of hosts: the pieces of even number over the first one. At each host one rank is
/// in the trees, and exchanges data with the others.
pub(super) fn double_tree(made: &mut Schedule, operation: Operation, shape: Shape) {
    let (inner, hosts) = (shape.inner, shape.ranks / shape.inner);
    let reduces = operation == Operation::AllReduce;
    let root_host = shape.root / inner;
    // The rank of each host that is in the trees: the root, where it is there.
    let leader = |host: u32| if !reduces && host == root_host { shape.root } else { host * inner };
    // Broadcast trees have all hosts but that of the root, in the order of the ring behind it.
    let trees = Tree::two(if reduces { hosts } else { hosts - 1 });
    let host_of = |node: u32| if reduces { node } else { (root_host + 1 + node) % hosts };
    let others = |host: u32| {
        let leader = leader(host);
        (host * inner..(host + 1) * inner).filter(move |rank| *rank != leader)
    };
    for piece in 0..2 * shape.pieces {
        let tree = &trees[piece as usize % 2];
        let part = Part::block(piece.into());
        // What the leader of each host must have received before it sends on.
        let mut got: Vec<Vec<u32>> = vec![Vec::new(); hosts as usize];
        if reduces {
            for host in 0..hosts {
                got[host as usize] = others(host)
                    .map(|rank| made.send([rank, leader(host)], part, true, Vec::new()))
                    .collect();
            }
            for &[parent, child] in tree.edges.iter().rev() {
                let after = got[child as usize].clone();
                let message = made.send([leader(child), leader(parent)], part, true, after);
                got[parent as usize].push(message);
            }
        } else {
            let top = host_of(tree.root);
            got[top as usize] = vec![made.send([shape.root, leader(top)], part, false, Vec::new())];
        }
        for &[parent, child] in &tree.edges {
            let [parent, child] = [parent, child].map(host_of);
            let after = got[parent as usize].clone();
            got[child as usize] = vec![made.send([leader(parent), leader(child)], part, false, after)];
        }
        for host in 0..hosts {
            for rank in others(host) {
                let after = got[host as usize].clone();
                made.send([leader(host), rank], part, false, after);
            }
        }
    }
}
