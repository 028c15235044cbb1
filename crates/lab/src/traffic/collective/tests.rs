//! Schedules followed symbolically: which contributions each rank has of each block, by what it surely has received.

use std::collections::BTreeSet;

use super::algorithm::{Algorithm, Operation};
use super::halving;
use super::schedule::{Message, Part, Schedule, Shape, Sizes};
use super::steps::{blocks, most_messages, schedule};
use super::trees::Tree;

/// The ranks whose data a block has, as bits; `None`: the rank does not have the block.
type Block = Option<u64>;

fn shape(ranks: u32, inner: u32) -> Shape {
    Shape { ranks, inner, root: 0, pieces: 1 }
}

/// Returns the data that each rank has before the operation.
fn begin(operation: Operation, blocks: u64, Shape { ranks, root, .. }: Shape) -> Vec<Vec<Block>> {
    let has = |rank: u32, block: u64| match operation {
        Operation::AllReduce | Operation::ReduceScatter | Operation::Reduce => true,
        Operation::AllGather | Operation::Gather => block == u64::from(rank),
        Operation::Broadcast | Operation::Scatter => rank == root,
        Operation::AllToAll => block / u64::from(ranks) == u64::from(rank),
    };
    let of = |rank: u32| (0..blocks).map(|block| has(rank, block).then_some(1 << rank)).collect();
    (0..ranks).map(of).collect()
}

/// Returns the contributions that a rank must have of a block after it; `None`: anything.
fn promised(operation: Operation, rank: u32, block: u64, Shape { ranks, root, .. }: Shape) -> Block {
    let all = (1 << ranks) - 1;
    let n = u64::from(ranks);
    match operation {
        Operation::AllReduce => Some(all),
        Operation::ReduceScatter => (block == u64::from(rank)).then_some(all),
        Operation::AllGather => Some(1 << block),
        Operation::Broadcast => Some(1 << root),
        Operation::Reduce => (rank == root).then_some(all),
        Operation::Gather => (rank == root).then_some(1 << block),
        Operation::Scatter => (block == u64::from(rank)).then_some(1 << root),
        Operation::AllToAll => (block % n == u64::from(rank)).then_some(1 << (block / n)),
    }
}

/// Takes a message into what its receiver has.
fn receive(has: &mut [Block], message: &Message, carried: &[(u64, u64)]) -> Result<(), String> {
    for &(block, value) in carried {
        let own = &mut has[block as usize];
        *own = match *own {
            Some(before) if message.reduces && before & value != 0 => {
                return Err(format!("{message:?} adds what is there already"));
            }
            Some(before) if message.reduces => Some(before | value),
            None if message.reduces => return Err(format!("{message:?} is added to nothing")),
            _ => Some(value),
        };
    }
    Ok(())
}

/// Follows a schedule. A message carries what its sender has of itself and of the messages that it must have received
/// before: those that it waits for, and those that came before these could be sent.
fn follow(schedule: &Schedule, operation: Operation, blocks: u64, shape: Shape) -> Result<(), String> {
    let start = begin(operation, blocks, shape);
    let mut carried: Vec<Vec<(u64, u64)>> = Vec::new();
    let mut past: Vec<BTreeSet<usize>> = Vec::new();
    for (number, message) in schedule.messages.iter().enumerate() {
        if message.from == message.to || message.part.count == 0 {
            return Err(format!("{message:?} is none"));
        }
        let mut before = BTreeSet::new();
        for &other in &message.after {
            let other = other as usize;
            if other >= number || schedule.messages[other].to != message.from {
                return Err(format!("{message:?} waits for what its sender does not receive before"));
            }
            before.insert(other);
            before.extend(&past[other]);
        }
        let mut has = start[message.from as usize].clone();
        for &other in before.iter().filter(|other| schedule.messages[**other].to == message.from) {
            receive(&mut has, &schedule.messages[other], &carried[other])?;
        }
        let parts = message.part.blocks(blocks).map(|block| {
            has[block as usize].map(|value| (block, value)).ok_or(format!("{message:?} lacks block {block}"))
        });
        carried.push(parts.collect::<Result<_, _>>()?);
        past.push(before);
    }
    for rank in 0..shape.ranks {
        let mut has = start[rank as usize].clone();
        for (message, carried) in
            schedule.messages.iter().zip(&carried).filter(|(message, _)| message.to == rank)
        {
            receive(&mut has, message, carried)?;
        }
        for block in 0..blocks {
            let promised = promised(operation, rank, block, shape);
            if promised.is_some() && has[block as usize] != promised {
                return Err(format!("rank {rank} has {:?} of block {block}", has[block as usize]));
            }
        }
    }
    Ok(())
}

const OPERATIONS: [Operation; 8] = [
    Operation::AllReduce,
    Operation::AllGather,
    Operation::ReduceScatter,
    Operation::Broadcast,
    Operation::Reduce,
    Operation::Gather,
    Operation::Scatter,
    Operation::AllToAll,
];

/// Every combination that exists, of some numbers of ranks.
fn all() -> Vec<(Operation, Algorithm, Shape)> {
    let mut all = Vec::new();
    for operation in OPERATIONS {
        for &algorithm in operation.algorithms() {
            for ranks in 2..=17 {
                for inner in 1..=ranks / 2 {
                    let is_used = matches!(algorithm, Algorithm::Hierarchical | Algorithm::Tree);
                    if ranks % inner != 0 || !is_used && inner > 1 {
                        continue;
                    }
                    let roots = if operation.has_root() { ranks } else { 1 };
                    for root in 0..roots {
                        let pieces = if algorithm.is_pipelined(operation) { 1 + ranks % 3 } else { 1 };
                        all.push((operation, algorithm, Shape { ranks, inner, root, pieces }));
                    }
                }
            }
        }
    }
    all
}

#[test]
fn every_rank_ends_with_what_the_operation_promises() {
    for (operation, algorithm, shape) in all() {
        let schedule = schedule(operation, algorithm, shape);
        let blocks = blocks(operation, algorithm, shape);
        if let Err(wrong) = follow(&schedule, operation, blocks, shape) {
            panic!("{operation:?} {algorithm:?} {shape:?}: {wrong}");
        }
        let most = most_messages(operation, algorithm, shape);
        assert!(schedule.messages.len() as u64 <= most, "{operation:?} {algorithm:?} {shape:?}: {most}");
        assert!(
            most <= 2 * schedule.messages.len() as u64 + 8,
            "{operation:?} {algorithm:?} {shape:?}: {most}"
        );
    }
}

/// Without any of its dependencies a message carries too little, or nothing at all.
#[test]
fn every_dependency_is_needed() {
    for (operation, algorithm, shape) in all().into_iter().filter(|(.., shape)| shape.ranks <= 9) {
        let schedule = schedule(operation, algorithm, shape);
        let blocks = blocks(operation, algorithm, shape);
        for number in 0..schedule.messages.len() {
            if !schedule.messages[number].after.is_empty() {
                let mut without = schedule.clone();
                without.messages[number].after.clear();
                let what = || format!("{operation:?} {algorithm:?} {shape:?} {number}");
                assert!(follow(&without, operation, blocks, shape).is_err(), "{}", what());
            }
        }
    }
}

/// Bytes that each rank sends and receives, of 840 B (divisible by 2 to 8) as the operation counts them.
fn loads(operation: Operation, algorithm: Algorithm, shape: Shape) -> (Vec<u64>, Vec<u64>) {
    let schedule = schedule(operation, algorithm, shape);
    let sizes = match operation {
        Operation::AllToAll => Sizes::Rows { bytes: 840, ranks: shape.ranks.into() },
        _ => Sizes::Even { bytes: 840, blocks: blocks(operation, algorithm, shape) },
    };
    let mut loads = (vec![0; shape.ranks as usize], vec![0; shape.ranks as usize]);
    for message in &schedule.messages {
        loads.0[message.from as usize] += sizes.of(message.part);
        loads.1[message.to as usize] += sizes.of(message.part);
    }
    loads
}

/// They move the fewest bytes possible: each rank sends and receives S (n − 1) / n of S in each half of an all-reduce.
#[test]
fn rings_and_direct_algorithms_move_no_byte_too_many() {
    for ranks in [2, 3, 4, 5, 8] {
        let part = 840 / u64::from(ranks) * u64::from(ranks - 1);
        for algorithm in [Algorithm::Ring, Algorithm::Direct] {
            for (operation, factor) in
                [(Operation::AllReduce, 2), (Operation::AllGather, 1), (Operation::ReduceScatter, 1)]
            {
                let (sent, received) = loads(operation, algorithm, shape(ranks, 1));
                assert!(sent.iter().chain(&received).all(|bytes| *bytes == factor * part), "{sent:?}");
            }
        }
        let (sent, received) = loads(Operation::AllToAll, Algorithm::Direct, shape(ranks, 1));
        assert!(sent.iter().chain(&received).all(|bytes| *bytes == part), "{sent:?}");
    }
    // Two levels with four ranks in two groups: half of the data within, a quarter of them outside.
    let (sent, _) = loads(Operation::AllReduce, Algorithm::Hierarchical, shape(4, 2));
    assert_eq!(sent, [2 * (420 + 210); 4]);
}

/// By hand: of 840 B, with three ranks 0 gives all to 1, which shares 420 B with 2 each way and gives all back.
#[test]
fn halving_and_doubling_of_a_few_ranks() {
    let of = |operation, ranks| loads(operation, Algorithm::HalvingDoubling, shape(ranks, 1));
    for ranks in [2, 4, 8] {
        let part = 840 - 840 / u64::from(ranks);
        assert_eq!(
            of(Operation::AllReduce, ranks),
            (vec![2 * part; ranks as usize], vec![2 * part; ranks as usize])
        );
        assert_eq!(of(Operation::AllGather, ranks).0, vec![part; ranks as usize]);
        assert_eq!(of(Operation::ReduceScatter, ranks).0, vec![part; ranks as usize]);
    }
    assert_eq!(of(Operation::AllReduce, 3).0, [840, 420 + 420 + 840, 420 + 420]);
    // Rank 1 acts for 0 and itself: it sends block 2 to rank 2, has blocks 0 and 1 from it, and gives block 0 away.
    assert_eq!(of(Operation::ReduceScatter, 3).0, [840, 280 + 280, 560]);
    // Rank 0 gives its block to 1, which sends two to 2, has one, and gives 0 the two of the others.
    assert_eq!(of(Operation::AllGather, 3).0, [280, 560 + 560, 280]);
    // Five: 0 and 1 are a pair, four ranks halve 840 to 420 and 210.
    assert_eq!(of(Operation::AllReduce, 5).0, [840, 2 * 630 + 840, 1260, 1260, 1260]);
    // Messages: a step of 2^k ranks has as many. 8: 3 + 3 steps; 5: 2 + 2 steps of four, and two of the pair.
    let count =
        |operation, ranks| schedule(operation, Algorithm::HalvingDoubling, shape(ranks, 1)).messages.len();
    assert_eq!([2, 3, 4, 5, 8].map(|ranks| count(Operation::AllReduce, ranks)), [4, 6, 16, 18, 48]);
    // Scatter over four ranks: 420, 210 and 210 B; then two steps of doubling.
    assert_eq!(of(Operation::Broadcast, 4).0, [420 + 210 + 630, 630, 210 + 630, 630]);
    assert_eq!(halving::power(7), 4);
}

/// The first sends of an all-reduce go to the nearest ranks and carry half of the data, the last ones a part of 2^k.
#[test]
fn halving_begins_next_door() {
    let schedule = schedule(Operation::AllReduce, Algorithm::HalvingDoubling, shape(8, 1));
    let first: Vec<_> = schedule.messages[..3].iter().map(|m| (m.from, m.to, m.part)).collect();
    let halves = [Part::range(4, 8), Part::range(0, 4)];
    assert_eq!(first, [(0, 1, halves[0]), (1, 0, halves[1]), (2, 3, halves[0])]);
    let third = &schedule.messages[16];
    assert_eq!((third.from, third.to, third.part), (0, 4, Part::block(1)));
}

#[test]
fn steps_of_a_ring_by_hand() {
    // Three ranks: block b of the sum ends at rank b, two steps behind the rank after it.
    let schedule = schedule(Operation::AllReduce, Algorithm::Ring, shape(3, 1));
    let told: Vec<_> =
        schedule.messages.iter().map(|m| (m.from, m.to, m.part.first, m.reduces, m.after.clone())).collect();
    let none = Vec::new;
    assert_eq!(told[..3], [(0, 1, 2, true, none()), (1, 2, 0, true, none()), (2, 0, 1, true, none())]);
    assert_eq!(told[3..6], [(0, 1, 1, true, vec![2]), (1, 2, 2, true, vec![0]), (2, 0, 0, true, vec![1])]);
    assert_eq!(told[6..9], [(0, 1, 0, false, vec![5]), (1, 2, 1, false, vec![3]), (2, 0, 2, false, vec![4])]);
    assert_eq!(told[9..], [(0, 1, 2, false, vec![8]), (1, 2, 0, false, vec![6]), (2, 0, 1, false, vec![7])]);
}

/// By hand: the chain of a broadcast from rank 1 of three in two pieces is 1, 2, 0. Of a reduction to rank 1 it is 0, 2, 1:
/// rank 2 waits for the piece of 0 and adds its own.
#[test]
fn a_reduction_is_a_broadcast_backwards() {
    let shape = Shape { ranks: 3, inner: 1, root: 1, pieces: 2 };
    let chain = schedule(Operation::Reduce, Algorithm::Ring, shape);
    let sent: Vec<_> =
        chain.messages.iter().map(|m| (m.from, m.to, m.part.first, m.reduces, m.after.clone())).collect();
    assert_eq!(sent[..2], [(0, 2, 0, true, vec![]), (2, 1, 0, true, vec![0])]);
    assert_eq!(sent[2..], [(0, 2, 1, true, vec![]), (2, 1, 1, true, vec![2])]);
    // Of 840 B each rank but the root sends all, and the root receives all, from one rank by a chain and from both directly.
    let of = |operation, algorithm| loads(operation, algorithm, shape);
    assert_eq!(of(Operation::Reduce, Algorithm::Ring), (vec![840, 0, 840], vec![0, 840, 840]));
    assert_eq!(of(Operation::Reduce, Algorithm::Direct), (vec![840, 0, 840], vec![0, 1680, 0]));
    // Of 840 B in three blocks the root keeps its own.
    assert_eq!(of(Operation::Gather, Algorithm::Direct), (vec![280, 0, 280], vec![0, 560, 0]));
    assert_eq!(of(Operation::Scatter, Algorithm::Direct), (vec![0, 560, 0], vec![280, 0, 280]));
}

/// Sanders, Speck and Träff: no node is an inner one of both trees, the height is logarithmic.
#[test]
fn two_trees_share_no_inner_node() {
    // By hand: of seven nodes 3 is the root of 1 and 5, whose children are the even ones; shifted by one.
    let [first, second] = Tree::two(7);
    assert_eq!((first.root, second.root), (3, 4));
    assert_eq!(first.edges, [[3, 1], [3, 5], [1, 0], [1, 2], [5, 4], [5, 6]]);
    assert_eq!(second.edges, [[4, 2], [4, 6], [2, 1], [2, 3], [6, 5], [6, 0]]);
    // Mirrored: of four nodes 3 is the root of 1, which has 0 and 2.
    let [first, second] = Tree::two(4);
    assert_eq!((first.root, first.edges), (3, vec![[3, 1], [1, 0], [1, 2]]));
    assert_eq!((second.root, second.edges), (0, vec![[0, 2], [2, 3], [2, 1]]));
    for n in 1..200_u32 {
        let trees = Tree::two(n);
        let inner = |tree: &Tree| tree.edges.iter().map(|[parent, _]| *parent).collect::<BTreeSet<_>>();
        assert!(inner(&trees[0]).is_disjoint(&inner(&trees[1])), "{n}");
        for tree in &trees {
            let mut depth = vec![None; n as usize];
            depth[tree.root as usize] = Some(0_u32);
            for &[parent, child] in &tree.edges {
                let of_parent = depth[parent as usize].expect("parents come first");
                assert_eq!(depth[child as usize].replace(of_parent + 1), None);
                assert!(tree.edges.iter().filter(|[other, _]| *other == parent).count() <= 2);
            }
            assert!(depth.iter().all(|depth| depth.is_some_and(|depth| depth <= n.ilog2())), "{n} {depth:?}");
        }
    }
}

/// Each rank sends and receives at most twice the data, and all together no more than 2 (n − 1) times.
#[test]
fn trees_share_the_load() {
    for ranks in [2, 3, 4, 5, 8, 16] {
        let (sent, received) = loads(Operation::AllReduce, Algorithm::Tree, shape(ranks, 1));
        assert!(sent.iter().chain(&received).all(|bytes| *bytes <= 1680), "{sent:?} {received:?}");
        assert_eq!(sent.iter().sum::<u64>(), 1680 * u64::from(ranks - 1));
        let (sent, received) = loads(Operation::Broadcast, Algorithm::Tree, shape(ranks, 1));
        assert!(sent.iter().all(|bytes| *bytes <= 840), "{sent:?}");
        assert_eq!(received, [vec![0], vec![840; ranks as usize - 1]].concat());
    }
}

#[test]
fn sizes_of_parts() {
    // 10 B in four blocks of 3, 3, 2 and 2 B.
    let even = Sizes::Even { bytes: 10, blocks: 4 };
    assert_eq!([0, 1, 2, 3].map(|block| even.of(Part::block(block))), [3, 3, 2, 2]);
    assert_eq!(even.of(Part { first: 1, stride: 2, count: 2 }), 5);
    assert_eq!(even.of(Part { first: 3, stride: 1, count: 3 }), 8);
    // 8 B for three ranks: 3, 3 and 2 B from each.
    let rows = Sizes::Rows { bytes: 8, ranks: 3 };
    assert_eq!([1, 2, 3, 5].map(|block| rows.of(Part::block(block))), [3, 2, 3, 2]);
    assert_eq!(Sizes::Each(vec![4, 0, 7]).of(Part::range(1, 3)), 7);
}
