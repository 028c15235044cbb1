//! Rings, chains, and messages from each rank to each other one.

use super::algorithm::{Algorithm, Operation};
use super::schedule::{Part, Schedule, Shape};

/// The ranks of a ring with the blocks that belong to each place of it.
struct Ring {
    ranks: Vec<u32>,
    parts: Vec<Part>,
}

/// Returns the rings within inner groups. The part at a place has the blocks of the ranks of that place in all groups.
fn inner_rings(shape: Shape) -> Vec<Ring> {
    let (inner, groups) = (shape.inner, u64::from(shape.ranks / shape.inner));
    let part = |place: u32| Part { first: place.into(), stride: inner.into(), count: groups };
    let ring = |group: u32| Ring {
        ranks: (group * inner..(group + 1) * inner).collect(),
        parts: (0..inner).map(part).collect(),
    };
    (0..shape.ranks / inner).map(ring).collect()
}

/// Returns the rings of the ranks of equal place, one for each place.
fn outer_rings(shape: Shape) -> Vec<Ring> {
    let of_place = |place| (place..shape.ranks).step_by(shape.inner as usize);
    let ring = |place| Ring {
        ranks: of_place(place).collect(),
        parts: of_place(place).map(|rank| Part::block(rank.into())).collect(),
    };
    (0..shape.inner).map(ring).collect()
}

/// All-reduce, reduce-scatter and all-gather by rings, within inner groups and among the ranks of equal place; with inner
/// groups of one rank it is one ring.
pub(super) fn rings(made: &mut Schedule, operation: Operation, shape: Shape) {
    let (inner, outer) = (inner_rings(shape), outer_rings(shape));
    if operation != Operation::AllGather {
        reduce_scatter(made, &inner);
        reduce_scatter(made, &outer);
    }
    if operation != Operation::ReduceScatter {
        all_gather(made, &outer);
        all_gather(made, &inner);
    }
}

/// Reduce-scatter by rings of equal length: the part of a place passes all other places, and ends at its own.
fn reduce_scatter(made: &mut Schedule, rings: &[Ring]) {
    let places = rings[0].ranks.len();
    let own = made.held.clone();
    for step in 0..places - 1 {
        for ring in rings {
            let mut received = Vec::with_capacity(places);
            for (place, &rank) in ring.ranks.iter().enumerate() {
                let (next, part) = ((place + 1) % places, (place + 2 * places - step - 1) % places);
                // What it adds is its own sum of the steps before this ring.
                let mut after = own[rank as usize].clone();
                if step > 0 {
                    after.extend(made.held[rank as usize].last());
                }
                received.push((next, made.send([rank, ring.ranks[next]], ring.parts[part], true, after)));
            }
            for (place, message) in received {
                let rank = ring.ranks[place] as usize;
                made.held[rank].clone_from(&own[rank]);
                made.held[rank].push(message);
            }
        }
    }
}

/// All-gather by rings of equal length: each rank begins with the part of its place and passes on what it receives.
fn all_gather(made: &mut Schedule, rings: &[Ring]) {
    let places = rings[0].ranks.len();
    // What each rank sends in a step is what it must have had.
    let mut ready = made.held.clone();
    for step in 0..places - 1 {
        for ring in rings {
            let mut received = Vec::with_capacity(places);
            for (place, &rank) in ring.ranks.iter().enumerate() {
                let (next, part) = ((place + 1) % places, (place + places - step) % places);
                let after = ready[rank as usize].clone();
                received.push((next, made.send([rank, ring.ranks[next]], ring.parts[part], false, after)));
            }
            for (place, message) in received {
                let rank = ring.ranks[place] as usize;
                ready[rank] = vec![message];
                made.held[rank].push(message);
            }
        }
    }
}

/// Every rank sends to every other one at once, in the order of the distance.
pub(super) fn direct(made: &mut Schedule, operation: Operation, shape: Shape) {
    let n = shape.ranks;
    let others = |rank: u32| (1..n).map(move |distance| (rank + distance) % n);
    if operation.has_root() {
        for other in others(shape.root) {
            let (ends, block) = match operation {
                Operation::Gather => ([other, shape.root], other),
                Operation::Scatter => ([shape.root, other], other),
                _ => ([shape.root, other], 0),
            };
            made.send(ends, Part::block(block.into()), false, Vec::new());
        }
        return;
    }
    if operation == Operation::AllToAll {
        for from in 0..n {
            for to in others(from) {
                let block = u64::from(from) * u64::from(n) + u64::from(to);
                made.send([from, to], Part::block(block), false, Vec::new());
            }
        }
        return;
    }
    if operation != Operation::AllGather {
        for from in 0..n {
            for to in others(from) {
                let message = made.send([from, to], Part::block(to.into()), true, Vec::new());
                made.held[to as usize].push(message);
            }
        }
    }
    if operation != Operation::ReduceScatter {
        for from in 0..n {
            for to in others(from) {
                let after = made.held[from as usize].clone();
                made.send([from, to], Part::block(from.into()), false, after);
            }
        }
    }
}

/// All-to-all in two steps: within an inner group data move to the rank of the receiver's place, which then sends the
/// data of its whole group.
pub(super) fn by_rails(made: &mut Schedule, shape: Shape) {
    let (inner, groups) = (shape.inner, shape.ranks / shape.inner);
    let ranks = u64::from(shape.ranks);
    for from in 0..shape.ranks {
        let (group, place) = (from / inner, from % inner);
        for distance in 1..inner {
            let to_place = (place + distance) % inner;
            let part = Part {
                first: u64::from(from) * ranks + u64::from(to_place),
                stride: inner.into(),
                count: groups.into(),
            };
            let to = group * inner + to_place;
            let message = made.send([from, to], part, false, Vec::new());
            made.held[to as usize].push(message);
        }
    }
    for from in 0..shape.ranks {
        let (group, place) = (from / inner, from % inner);
        for distance in 1..groups {
            let to = (group + distance) % groups * inner + place;
            let part = Part {
                first: u64::from(group * inner) * ranks + u64::from(to),
                stride: ranks,
                count: inner.into(),
            };
            let after = made.held[from as usize].clone();
            made.send([from, to], part, false, after);
        }
    }
}

/// Broadcast by chains in pieces: from the root through all ranks, or through the ranks of its place and from each of these
/// through its inner group.
pub(super) fn broadcast(made: &mut Schedule, shape: Shape, algorithm: Algorithm) {
    let (n, root) = (shape.ranks, shape.root);
    let inner = if algorithm == Algorithm::Ring { 1 } else { shape.inner };
    let mut hops = Vec::new();
    let mut chain = |ranks: Vec<u32>| hops.extend(ranks.windows(2).map(|pair| [pair[0], pair[1]]));
    chain((0..n / inner).map(|group| (root + group * inner) % n).collect());
    for group in 0..n / inner {
        let first = group * inner;
        chain((0..inner).map(|place| first + (root + place) % inner).collect());
    }
    for piece in 0..shape.pieces {
        // The message by which each rank has received this piece.
        let mut got = vec![None; n as usize];
        for &[from, to] in &hops {
            let after = got[from as usize].into_iter().collect();
            got[to as usize] = Some(made.send([from, to], Part::block(piece.into()), false, after));
        }
    }
}
