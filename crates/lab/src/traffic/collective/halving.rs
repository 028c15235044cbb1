//! Recursive halving and doubling, after Thakur, Rabenseifner and Gropp.
//!
//! If n is no power of two, the 2r first ranks, r = n − 2^⌊log₂ n⌋, are pairs: the even one of each gives its data to the
//! odd one before, and has its result from that one after.

use super::algorithm::Operation;
use super::schedule::{Part, Schedule, Shape};

/// Returns the largest power of two that is not larger.
pub(super) const fn power(ranks: u64) -> u64 {
    1 << ranks.ilog2()
}

/// The ranks that exchange data with each other: a power of two.
struct Cube {
    /// Their numbers.
    ranks: Vec<u32>,
    /// The pairs of a rank that does not take part, and the one that acts for it.
    pairs: Vec<[u32; 2]>,
    /// The first block of each, and behind them the number of blocks.
    starts: Vec<u64>,
}

impl Cube {
    /// Returns the cube of n ranks. Each has as many blocks as ranks for which it acts, or one.
    fn new(n: u32, has_blocks_of_pairs: bool) -> Self {
        let size = power(n.into()) as u32;
        let rest = n - size;
        let ranks = (0..size).map(|v| if v < rest { 2 * v + 1 } else { v + rest }).collect();
        let start = |v: u32| if has_blocks_of_pairs { v + v.min(rest) } else { v };
        Self {
            ranks,
            pairs: (0..rest).map(|v| [2 * v, 2 * v + 1]).collect(),
            starts: (0..=size).map(|v| start(v).into()).collect(),
        }
    }

    fn size(&self) -> u32 {
        self.ranks.len() as u32
    }

    fn all(&self) -> Part {
        self.part(0, self.size())
    }

    /// Returns the blocks of the ranks of the cube from one up to another one.
    fn part(&self, from: u32, end: u32) -> Part {
        Part::range(self.starts[from as usize], self.starts[end as usize])
    }
}

/// All operations but all-to-all.
pub(super) fn halving_doubling(made: &mut Schedule, operation: Operation, shape: Shape) {
    let n = shape.ranks;
    let of_ranks = matches!(operation, Operation::ReduceScatter | Operation::AllGather);
    let mut cube = Cube::new(n, of_ranks);
    if operation == Operation::Broadcast {
        // The root is the first of the cube, which is the second of a pair if there is one.
        let shift = n + shape.root - u32::from(!cube.pairs.is_empty());
        let moved = |rank: &mut u32| *rank = (*rank + shift) % n;
        cube.ranks.iter_mut().chain(cube.pairs.iter_mut().flatten()).for_each(moved);
    }
    if operation != Operation::Broadcast {
        for pair in &cube.pairs {
            let (part, reduces) = match operation {
                Operation::AllGather => (Part::block(pair[0].into()), false),
                _ => (cube.all(), true),
            };
            let message = made.send(*pair, part, reduces, Vec::new());
            made.held[pair[1] as usize].push(message);
        }
    }
    match operation {
        // The largest parts go to the nearest ranks.
        Operation::AllReduce => {
            let steps: Vec<u32> = (0..cube.size().ilog2()).map(|bit| 1 << bit).collect();
            let ranges = halve(made, &cube, &steps);
            double(made, &cube, &steps, ranges);
        }
        Operation::ReduceScatter => {
            halve(made, &cube, &in_order(&cube));
        }
        Operation::AllGather => double(made, &cube, &in_order(&cube), own(&cube)),
        _ => {
            scatter(made, &cube);
            double(made, &cube, &in_order(&cube), own(&cube));
        }
    }
    for &[of, acting] in &cube.pairs {
        let part = match operation {
            Operation::ReduceScatter => Part::block(of.into()),
            // All but its own block.
            Operation::AllGather => Part { first: u64::from(of) + 1, stride: 1, count: u64::from(n) - 1 },
            _ => cube.all(),
        };
        let after = made.held[acting as usize].clone();
        made.send([acting, of], part, false, after);
    }
    if operation == Operation::Broadcast {
        // The root has all that it sends.
        made.messages
            .iter_mut()
            .filter(|message| message.from == shape.root)
            .for_each(|message| message.after.clear());
    }
}

/// Distances that halve, after which the places have their blocks in order.
fn in_order(cube: &Cube) -> Vec<u32> {
    (0..cube.size().ilog2()).rev().map(|bit| 1 << bit).collect()
}

/// Each place with its own blocks, as a range of places.
fn own(cube: &Cube) -> Vec<[u32; 2]> {
    (0..cube.size()).map(|v| [v, v + 1]).collect()
}

/// Halving: at each of these distances places exchange the halves of what they still have; the one with the bit keeps the
/// upper half. Returns what each has at the end.
fn halve(made: &mut Schedule, cube: &Cube, distances: &[u32]) -> Vec<[u32; 2]> {
    let mut ranges = vec![[0, cube.size()]; cube.ranks.len()];
    for &distance in distances {
        let mut received = Vec::with_capacity(ranges.len());
        for v in 0..cube.size() {
            let [low, high] = ranges[v as usize];
            let middle = (low + high) / 2;
            let (kept, sent) = if v & distance == 0 {
                ([low, middle], [middle, high])
            } else {
                ([middle, high], [low, middle])
            };
            ranges[v as usize] = kept;
            received.push(exchange(made, cube, [v, v ^ distance], sent, true));
        }
        hold(made, received);
    }
    ranges
}

/// Doubling: the distances of [`halve`] backwards, at each of which places exchange all that they have.
fn double(made: &mut Schedule, cube: &Cube, distances: &[u32], mut ranges: Vec<[u32; 2]>) {
    for &distance in distances.iter().rev() {
        let before = ranges.clone();
        let mut received = Vec::with_capacity(ranges.len());
        for v in 0..cube.size() {
            let (own, other) = (before[v as usize], before[(v ^ distance) as usize]);
            received.push(exchange(made, cube, [v, v ^ distance], own, false));
            ranges[v as usize] = [own[0].min(other[0]), own[1].max(other[1])];
        }
        hold(made, received);
    }
}

/// Scatter by a binomial tree: the first place sends half of the data half way, and so on.
fn scatter(made: &mut Schedule, cube: &Cube) {
    for distance in in_order(cube) {
        let mut received = Vec::new();
        for v in (0..cube.size()).step_by(2 * distance as usize) {
            received.push(exchange(made, cube, [v, v + distance], [v + distance, v + 2 * distance], false));
        }
        hold(made, received);
    }
}

/// Sends the blocks of some places from one place to another; returns the receiver and the message.
fn exchange(
    made: &mut Schedule,
    cube: &Cube,
    [from, to]: [u32; 2],
    [low, high]: [u32; 2],
    reduces: bool,
) -> (u32, u32) {
    let [from, to] = [from, to].map(|v| cube.ranks[v as usize]);
    let after = made.held[from as usize].clone();
    (to, made.send([from, to], cube.part(low, high), reduces, after))
}

/// The messages of a step arrive.
fn hold(made: &mut Schedule, received: Vec<(u32, u32)>) {
    for (rank, message) in received {
        made.held[rank as usize].push(message);
    }
}
