//! Chakra traces.

use super::*;

/// Encodes Chakra traces, by the rules of Protocol Buffers.
pub(super) mod encode {
    pub(crate) fn varint(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value > 0x7f {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    pub(crate) fn number(field: u64, value: u64) -> Vec<u8> {
        [varint(field << 3), varint(value)].concat()
    }

    pub(crate) fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
        [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
    }

    pub(crate) fn packed(field: u64, values: &[u64]) -> Vec<u8> {
        bytes(field, &values.iter().flat_map(|&value| varint(value)).collect::<Vec<_>>())
    }

    /// An attribute with a value of the given field.
    pub(crate) fn attribute(name: &str, value: Vec<u8>) -> Vec<u8> {
        bytes(10, &[bytes(1, name.as_bytes()), value].concat())
    }

    /// An attribute of type int64.
    pub(crate) fn int(name: &str, value: i64) -> Vec<u8> {
        attribute(name, number(9, value as u64))
    }

    /// An attribute of type string.
    pub(crate) fn text(name: &str, value: &str) -> Vec<u8> {
        attribute(name, bytes(29, value.as_bytes()))
    }

    /// A node of a type; then its other fields.
    pub(crate) fn node(id: u64, kind: u64, rest: &[Vec<u8>]) -> Vec<u8> {
        [number(1, id), bytes(2, b"a name"), number(3, kind), rest.concat()].concat()
    }

    /// A file: the metadata and the nodes, each with its length.
    pub(crate) fn file(nodes: &[Vec<u8>]) -> Vec<u8> {
        let metadata = bytes(1, b"0.0.4");
        let records = [&metadata].into_iter().chain(nodes);
        records.flat_map(|record| [varint(record.len() as u64), record.clone()].concat()).collect()
    }
}

use encode::{attribute, int, node, number, packed, text};

const COMP: u64 = 4;
const SEND: u64 = 5;
const RECV: u64 = 6;
const COLL: u64 = 7;

/// The workload of traces, each the nodes of one rank.
pub(super) fn chakra(ranks: &[&[Vec<u8>]]) -> Result<Workload, Problems> {
    chakra_with(ranks, false)
}

pub(super) fn chakra_with(ranks: &[&[Vec<u8>]], ctrl_deps: bool) -> Result<Workload, Problems> {
    let rank =
        |(i, nodes): (usize, &&[Vec<u8>])| ChakraRank::parse(&encode::file(nodes), &format!("t.{i}.et"));
    let ranks = ranks.iter().enumerate().map(rank).collect::<Result<_, _>>()?;
    ChakraTrace { ranks }.workload(ctrl_deps)
}

#[test]
fn a_pipeline_of_two_ranks_is_read() {
    let first = [
        node(10, COMP, &[number(7, 25), attribute("is_cpu_op", number(27, 0))]),
        // Unpacked dependencies, and attributes as other integers.
        node(
            11,
            SEND,
            &[
                number(5, 10),
                int("comm_size", 4096),
                attribute("comm_dst", number(7, 1)),
                attribute("comm_tag", number(15, 6)),
            ],
        ),
        // A field that is not known, a type of attribute that does not matter, a recorded start.
        node(
            12,
            COMP,
            &[
                packed(5, &[10]),
                packed(4, &[11]),
                number(7, 2),
                number(6, 99),
                encode::bytes(77, b"x"),
                attribute("is_cpu_op", number(27, 1)),
            ],
        ),
    ];
    let second = [
        node(1, COMP, &[packed(5, &[3, 2]), number(7, 1)]),
        node(2, RECV, &[int("comm_src", 0), int("comm_tag", 3), attribute("tensor_size", number(13, 4096))]),
        node(3, 2, &[number(7, 4)]),
        node(4, 1, &[]),
    ];
    let work = chakra(&[&first, &second]).unwrap();
    assert_eq!(flows(&work), [(0, 1, 4096, Time::ZERO)]);
    // GPU 0, CPU 1, memory 2, what takes no time 3.
    let us = Time::from_us;
    let mut expected = [
        operation(0, compute(us(25), 0), &[], &[]),
        operation(0, What::Send { flow: 0 }, &[0], &[]),
        operation(0, compute(us(2), 1), &[0], &[]),
        operation(1, compute(us(1), 0), &[4, 5], &[]),
        operation(1, What::Receive { flow: 0 }, &[], &[]),
        operation(1, compute(us(4), 2), &[], &[]),
        operation(1, compute(Time::ZERO, 3), &[], &[]),
    ];
    assert_eq!(work.operations, expected);
    let notes = [
        "nodes of memory (1): each takes its recorded duration; memory is not simulated",
        "nodes with ctrl_deps (1): not waited for, unless a traffic block asks for it",
    ];
    assert_eq!(work.notes, notes);
    // Those to nodes that are not there matter only if they are waited for.
    let lost = [node(1, COMP, &[number(4, 2)])];
    assert!(chakra(&[&lost]).is_ok());
    let problems = chakra_with(&[&lost], true).unwrap_err().to_string();
    assert_eq!(problems, "t.0.et: record 2 (byte 8), node 1: ctrl_deps: there is no node 2");
    // With `ctrl_deps` the last node of rank 0 waits for the send too.
    expected[2].after = vec![0, 1];
    assert_eq!(chakra_with(&[&first, &second], true).unwrap().operations, expected);
}

/// An all-reduce between computations, on each of these ranks.
pub(super) fn all_reduce(kind: i64, size: i64) -> [Vec<u8>; 3] {
    [
        node(0, COMP, &[number(7, 5)]),
        node(1, COLL, &[packed(5, &[0]), int("comm_type", kind), int("comm_size", size)]),
        node(2, COMP, &[packed(5, &[1]), number(7, 5)]),
    ]
}

#[test]
fn an_all_reduce_goes_around_a_ring() {
    let own = all_reduce(0, 1000);
    let work = chakra(&[&own, &own, &own]).unwrap();
    // 2 (n - 1) = 4 steps; pieces of 333, 333 and 334 B. Rank i sends piece (i - step) mod 3 to the next.
    assert_eq!(work.flows.len(), 3 * 4);
    let size = [333, 333, 334];
    for (i, flow) in work.flows.iter().enumerate() {
        let (step, rank) = (i / 3, i % 3);
        let expected = (rank as u32, (rank as u32 + 1) % 3, size[(rank + 12 - step) % 3]);
        assert_eq!((flow.source, flow.destination, flow.size.get()), expected);
    }
    // In all, each rank sends 4/3 of the size but for rounding: 2 (n - 1) / n.
    let sent: u64 = work.flows.iter().filter(|flow| flow.source == 0).map(|flow| flow.size.get()).sum();
    assert_eq!(sent, 333 + 334 + 333 + 333);
    let find =
        |what: What| work.operations.iter().position(|operation| operation.what == what).unwrap() as u32;
    for rank in 0..3_u32 {
        for step in 0..4_u32 {
            let send = find(What::Send { flow: 3 * step + rank });
            let receive = find(What::Receive { flow: 3 * step + (rank + 2) % 3 });
            for operation in [send, receive].map(|index| &work.operations[index as usize]) {
                assert_eq!(operation.host, rank);
                // The first step after the computation, each other one after the receive before.
                let before = match step {
                    0 => 2 * rank,
                    _ => find(What::Receive { flow: 3 * (step - 1) + (rank + 2) % 3 }),
                };
                assert_eq!(operation.after, [before]);
            }
        }
        // The computation behind waits for an operation that waits for all of the collective.
        let last = &work.operations[2 * rank as usize + 1];
        assert_eq!((last.host, last.what), (rank, compute(Time::from_us(5), 0)));
        let end = &work.operations[last.after[0] as usize];
        assert_eq!((end.what, end.after.len()), (compute(Time::ZERO, 3), 8));
        assert!(end.after.iter().all(|&other| work.operations[other as usize].host == rank));
    }
    assert!(work.cycle().is_none());
}

#[test]
fn other_collectives_are_made_of_messages() {
    let sizes = |kind: i64, size: i64, n: usize| -> Vec<(u32, u32, u64)> {
        let own = all_reduce(kind, size);
        let work = chakra(&vec![&own[..]; n]).unwrap();
        flows(&work).into_iter().map(|(a, b, size, _)| (a, b, size)).collect()
    };
    // All-gather: what each has, n - 1 times around. Reduce-scatter: pieces of the whole.
    assert_eq!(sizes(2, 90, 3), [(0, 1, 90), (1, 2, 90), (2, 0, 90), (0, 1, 90), (1, 2, 90), (2, 0, 90)]);
    assert_eq!(sizes(7, 90, 3), [(0, 1, 30), (1, 2, 30), (2, 0, 30), (0, 1, 30), (1, 2, 30), (2, 0, 30)]);
    // All-to-all: pieces to all others.
    assert_eq!(sizes(6, 90, 3), [(0, 1, 30), (1, 2, 30), (2, 0, 30), (0, 2, 30), (1, 0, 30), (2, 1, 30)]);
    // Barrier: to the next, then to the second next, then to the fourth next (5 ranks).
    let barrier = sizes(9, 0, 5);
    assert_eq!(barrier.len(), 15);
    assert!((0..15).all(|i| barrier[i] == (i as u32 % 5, (i as u32 % 5 + [1, 2, 4][i / 5]) % 5, 1)));
    // A group of one rank has nothing to send.
    assert_eq!(sizes(0, 90, 1), []);
    // The root of a broadcast is not in the trace: it takes as long as it did.
    let rest = [int("comm_type", 5), int("comm_size", 90), number(7, 11)];
    let work = chakra(&[&[node(0, COLL, &rest)], &[node(0, COLL, &rest)]]).unwrap();
    let expected = [0, 1].map(|rank| operation(rank, compute(Time::from_us(11), 4), &[], &[]));
    assert_eq!((flows(&work), work.operations.as_slice()), (vec![], &expected[..]));
    assert!(work.notes[0].starts_with("collectives with a root (1): "));
    // What launches a communication and does not describe it is work of the CPU.
    let launch = node(0, COLL, &[number(7, 3), attribute("is_cpu_op", number(27, 1))]);
    assert_eq!(
        chakra(&[&[launch]]).unwrap().operations,
        [operation(0, compute(Time::from_us(3), 1), &[], &[])]
    );
}

#[test]
fn a_communication_with_is_cpu_op_is_left_out_only_if_another_node_is_it() {
    let cpu = attribute("is_cpu_op", number(27, 1));
    let coll = |id: u64, size: i64, rest: &[Vec<u8>]| {
        node(id, COLL, &[int("comm_type", 0), int("comm_size", size), rest.concat()])
    };
    let bytes = |nodes: &[Vec<u8>]| {
        let work = chakra(&[nodes; 4]).unwrap();
        let sent: u64 = work.flows.iter().map(|flow| flow.size.get()).sum();
        (work.flows.len(), sent, work.notes)
    };
    // By hand: an all-reduce of S among 4 ranks is 2 · 3 · 4 = 24 messages, together 2 (n - 1) S = 6 S.
    let (mut first, second) = (coll(0, 1_000_000, &[]), coll(1, 64_000_000, std::slice::from_ref(&cpu)));
    let (flows, sent, notes) = bytes(&[first.clone(), second.clone()]);
    assert_eq!((flows, sent), (48, 390_000_000));
    assert!(!notes.iter().any(|note| note.contains("is_cpu_op")), "{notes:?}");
    // One that another waits for is no launch of it if their sizes differ.
    first = coll(0, 1_000_000, &[packed(5, &[1])]);
    assert_eq!(bytes(&[first, second.clone()]).1, 390_000_000);
    // In a chain of the CPU each is a communication.
    let third = coll(2, 64_000_000, &[cpu.clone(), packed(5, &[1])]);
    assert_eq!(bytes(&[second.clone(), third]).1, 768_000_000);
    // A node that depends on it, by either kind of dependency, is the communication that it launches.
    for field in [4, 5] {
        let kernel = coll(3, 64_000_000, &[packed(field, &[1])]);
        let (flows, sent, notes) = bytes(&[second.clone(), kernel]);
        assert_eq!((flows, sent), (24, 384_000_000));
        assert!(
            notes.iter().any(|n| n.starts_with("launches of communications (is_cpu_op) (4): ")),
            "{notes:?}"
        );
    }
    // Sends and receives likewise.
    let send = node(0, SEND, &[int("comm_dst", 1), int("comm_size", 8), cpu.clone()]);
    let recv = node(0, RECV, &[int("comm_src", 0), int("comm_size", 8), cpu.clone()]);
    assert_eq!(flows_of(&chakra(&[&[send], &[recv]]).unwrap()), [(0, 1, 8)]);
    // A barrier has no size.
    let barrier = [node(0, COLL, &[int("comm_type", 9), cpu])];
    assert_eq!(chakra(&[&barrier, &barrier]).unwrap().flows.len(), 2);
}

/// Source, destination and size of each message.
fn flows_of(work: &Workload) -> Vec<(u32, u32, u64)> {
    flows(work).into_iter().map(|(source, destination, size, _)| (source, destination, size)).collect()
}

#[test]
fn groups_are_the_ranks_that_name_them() {
    let coll = |id: u64, group: &str, size: i64| {
        node(id, COLL, &[int("comm_type", 0), int("comm_size", size), text("pg_name", group)])
    };
    let (a, b) = ([coll(0, "even", 8), coll(1, "even", 16)], [coll(0, "odd", 4)]);
    let work = chakra(&[&a, &b, &a, &b]).unwrap();
    let expected = [
        (0, 2, 4),
        (2, 0, 4),
        (0, 2, 4),
        (2, 0, 4),
        (0, 2, 8),
        (2, 0, 8),
        (0, 2, 8),
        (2, 0, 8),
        (1, 3, 2),
        (3, 1, 2),
        (1, 3, 2),
        (3, 1, 2),
    ];
    assert_eq!(flows(&work).iter().map(|flow| (flow.0, flow.1, flow.2)).collect::<Vec<_>>(), expected);
}

#[test]
fn what_traces_can_get_wrong() {
    let send = |rest: &[Vec<u8>]| node(1, SEND, rest);
    let sized = |name: &str, rank: i64| [int(name, rank), int("comm_size", 8)].concat();
    let recv = node(1, RECV, &[sized("comm_src", 0)]);
    let coll = |kind: i64, size: i64| [node(1, COLL, &[int("comm_type", kind), int("comm_size", size)])];
    let cases: Vec<(&str, Vec<Vec<Vec<u8>>>)> = vec![
        ("a node twice", vec![vec![node(1, 1, &[]), node(1, 1, &[])]]),
        ("a dependency that is not there", vec![vec![node(1, 1, &[packed(5, &[2])])]]),
        ("a cycle", vec![vec![node(1, 1, &[number(5, 2)]), node(2, 1, &[number(5, 1)])]]),
        ("an unknown type", vec![vec![node(1, 8, &[])]]),
        ("a type that is no number", vec![vec![encode::bytes(3, b"COMP")]]),
        ("a text as size", vec![vec![send(&[text("comm_size", "8")])]]),
        ("a duration beyond all", vec![vec![node(1, COMP, &[number(7, u64::MAX)])]]),
        ("no receiver", vec![vec![send(&[int("comm_size", 8)])], vec![]]),
        ("no size", vec![vec![send(&[int("comm_dst", 1)])], vec![]]),
        ("a size below zero", vec![vec![send(&[int("comm_dst", 1), int("comm_size", -8)])], vec![]]),
        ("to itself", vec![vec![send(&[sized("comm_dst", 0)])], vec![]]),
        ("to a rank without a trace", vec![vec![send(&[sized("comm_dst", 2)])], vec![]]),
        ("of another rank", vec![vec![send(&[sized("comm_dst", 1), int("comm_src", 1)])], vec![]]),
        ("not received", vec![vec![send(&[sized("comm_dst", 1)])], vec![]]),
        ("not sent", vec![vec![], vec![recv.clone()]]),
        ("another size", vec![vec![send(&[int("comm_dst", 1), int("comm_size", 9)])], vec![recv.clone()]]),
        ("another tag", vec![vec![send(&[sized("comm_dst", 1), int("comm_tag", 5)])], vec![recv]]),
        ("no collective type", vec![vec![node(1, COLL, &[int("comm_size", 8)])]]),
        ("a broadcast without a recorded duration", vec![coll(5, 8).to_vec(), coll(5, 8).to_vec()]),
        ("an unknown collective", vec![coll(77, 8).to_vec()]),
        ("different collectives", vec![coll(0, 8).to_vec(), coll(6, 8).to_vec()]),
        ("different sizes", vec![coll(0, 8).to_vec(), coll(0, 9).to_vec()]),
        ("a collective without a rank", vec![coll(0, 8).to_vec(), vec![]]),
        (
            "part of a topology",
            vec![vec![node(
                1,
                COLL,
                &[sized("comm_type", 0), attribute("involved_dim", encode::bytes(28, &packed(1, &[1, 0])))],
            )]],
        ),
    ];
    let mut seen = Vec::new();
    for (what, ranks) in cases {
        let ranks: Vec<&[Vec<u8>]> = ranks.iter().map(Vec::as_slice).collect();
        let problems = chakra(&ranks).err().unwrap_or_else(|| panic!("accepted: {what}"));
        seen.push(format!("{what}\n{problems}"));
    }
    for (what, bytes) in [
        ("empty", vec![]),
        ("compressed", vec![0x1f, 0x8b, 8, 0]),
        ("a text", b"num_ranks 2\n".to_vec()),
        ("no metadata", [vec![2], number(1, 5)].concat()),
        ("more than there is", [encode::file(&[]), vec![9, 8]].concat()),
        ("a node cut off inside", [encode::file(&[]), vec![2, 0x1a, 9]].concat()),
    ] {
        seen.push(format!("{what}\n{}", ChakraRank::parse(&bytes, "t.0.et").unwrap_err()));
    }
    insta::assert_snapshot!(seen.join("\n\n"));
}
