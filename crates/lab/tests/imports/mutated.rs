//! Files changed at random, and written and read back.

use super::*;
use proptest::prelude::*;

fn read_all(bytes: &[u8]) {
    let limit = bytes.iter().filter(|&&byte| byte == b'\n').count() as u32 + 1;
    let check = |problems: Option<Problems>| {
        let Some(problems) = problems else { return };
        assert!(!problems.is_empty() && problems.len() <= 21);
        assert!(problems.iter().all(|problem| problem.line.is_none_or(|line| line <= limit)), "{problems}");
    };
    check(match ChakraRank::parse(bytes, "t") {
        Ok(rank) => ChakraTrace { ranks: vec![rank.clone(), rank] }.workload(true).err(),
        Err(problems) => Some(problems),
    });
    check(ChakraRank::read(bytes, "t.json").err());
    check(Goal::read(bytes.to_vec(), "t").err());
    let text = String::from_utf8_lossy(bytes);
    check(goal(&text).err());
    check(connections(&text).map(|matrix| matrix.workload(Time::from_us(1))).err());
    check(simai::parse(&text).err());
    check(HtsimTopology::parse(&text, "t").map(|topology| topology.network()).err());
    let _ = describe_format(&text);
}

fn describe_format(text: &str) -> Option<incast_lab::formats::describe::Format> {
    incast_lab::formats::describe::Format::of(text)
}

fn samples() -> [Vec<u8>; 7] {
    // The first ranks of the schedule are enough.
    let goal: String =
        GOAL.replace("num_ranks 8", "num_ranks 2").split("rank 2 {").next().unwrap().to_owned();
    [
        goal.into_bytes(),
        CONNECTIONS.into(),
        TOPOLOGY.into(),
        chakra::encode::file(&chakra::all_reduce(6, 1000)),
        goal_binary::binary(&goal_binary::sample()),
        chakra_json::FIRST.into(),
        simai::SAMPLE.into(),
    ]
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        Just(b"\n".to_vec()),
        Just(b" 99999999999999999999999 ".to_vec()),
        Just(b"0".to_vec()),
        Just(b"1->2 id 1 start 1e9 size 3 send_done_trigger 1\n".to_vec()),
        Just(b"requires l1\n/*".to_vec()),
        "[0-9a-z:{}\\- \n]{0,8}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..6),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn files_never_panic(
        which in 0_usize..7,
        changes in prop::collection::vec((any::<usize>(), 0_usize..8, pieces()), 1..4),
    ) {
        let mut bytes = samples()[which].clone();
        for (at, length, with) in changes {
            let at = at % (bytes.len() + 1);
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, with);
        }
        read_all(&bytes);
    }

    #[test]
    fn anything_at_all_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_all(&bytes);
    }

    /// A schedule that is written reads back as the same schedule.
    #[test]
    fn schedules_read_back(
        messages in prop::collection::vec((0_u32..5, 1_u32..5, 1_u64..1 << 40, 0_u32..3), 1..20),
        times in prop::collection::vec((0_u64..1 << 40, 0_u16..4), 5),
    ) {
        use std::fmt::Write as _;
        let mut blocks = vec![String::new(); 5];
        let mut expected = Vec::new();
        for (i, (source, hop, size, tag)) in messages.iter().enumerate() {
            let destination = (source + hop) % 5;
            writeln!(blocks[*source as usize], "m{i}: send {size}b to {destination} tag {tag}").unwrap();
            writeln!(blocks[destination as usize], "m{i}: recv {size}b from {source} tag {tag}").unwrap();
            expected.push((*source, destination, *size, *tag));
        }
        let mut text = "num_ranks 5\n".to_owned();
        for (rank, (block, (time, cpu))) in blocks.iter().zip(&times).enumerate() {
            writeln!(text, "rank {rank} {{\n{block}last: calc {time} cpu {cpu}\n}}").unwrap();
        }
        let work = goal(&text).unwrap();
        // By sender, in the order of the list.
        expected.sort_by_key(|message| message.0);
        let read = flows(&work).into_iter().map(|flow| (flow.0, flow.1, flow.2));
        prop_assert!(read.eq(expected.iter().map(|message| (message.0, message.1, message.2))));
        for (rank, (time, cpu)) in (0_u32..).zip(&times) {
            let last = work.operations.iter().rev().find(|operation| operation.host == rank).unwrap();
            prop_assert_eq!(last.what, compute(Time::from_ns(*time), *cpu));
        }
        // Each message is received once, at its destination, and the sizes of receives fit.
        let mut received = vec![0; messages.len()];
        for operation in &work.operations {
            if let What::Receive { flow } = operation.what {
                received[flow as usize] += 1;
                prop_assert_eq!(work.flows[flow as usize].destination, operation.host);
            }
        }
        prop_assert!(received.iter().all(|&times| times == 1));
    }
}
