//! GOAL schedules.

use super::*;

/// Schedules for LogGOPSim's htsim port end each rank with a message to a rank that does not exist.
#[test]
fn a_mistake_on_many_lines_is_said_once() {
    let ranks: String =
        (0..30).map(|rank| format!("rank {rank} {{\ncalc 5\nsend 0b to 9999999\n}}\n")).collect();
    let problems = goal(&format!("num_ranks 30\n{ranks}")).unwrap_err();
    assert_eq!(
        problems.to_string(),
        "a.goal:4:12: to: \"9999999\": there is no such rank; num_ranks 30 numbers them 0 to 29 (and so on 29 lines \
         below)\n    help: schedules for LogGOPSim's htsim port end with such lines, which send nothing; remove them"
    );
}

#[test]
fn a_goal_schedule_is_read() {
    // Everything that a schedule can say, in both layouts.
    let text = "// made by hand\n/* of two\n ranks */ num_ranks 2\nrank 0 { l1: calc 1500 cpu 2\n\
                l2: send 10b to 1 tag 7 cpu 1 nic 1\nl3 : send 0 b to 1\nl2 requires l1\nl3 irequires l2\n}\n\
                rank 1 {\nrecv 0b from 0 tag 0\nlast: calc 0\nr: recv 16b from 0 tag -1 nic 0 // any\nlast requires r }\n";
    let work = goal(text).unwrap();
    assert_eq!(work.ranks, 2);
    // A message without payload has one byte.
    assert_eq!(flows(&work), [(0, 1, 10, Time::ZERO), (0, 1, 1, Time::ZERO)]);
    let expected = [
        operation(0, compute(Time::from_ns(1500), 2), &[], &[]),
        operation(0, What::Send { flow: 0 }, &[0], &[]),
        operation(0, What::Send { flow: 1 }, &[], &[1]),
        // By its tag the second message, and by any tag the first that is left.
        operation(1, What::Receive { flow: 1 }, &[], &[]),
        operation(1, compute(Time::ZERO, 0), &[5], &[]),
        operation(1, What::Receive { flow: 0 }, &[], &[]),
    ];
    assert_eq!(work.operations, expected);
    let notes = [
        "messages without payload (1): sent with 1 B",
        "receives for more than their message has (1): the size of the message counts",
        "receives with any tag (1): each takes the first message of its sender that no receive above it in the file takes",
        "operations with nic above 0 (1): nic is not taken over; flows choose among a host's links",
        "computations with cpu above 0 (1): these run beside those of the other processors of their host",
    ];
    assert_eq!(work.notes, notes);
}

#[test]
fn messages_of_one_tag_are_matched_in_the_order_of_the_file() {
    let text = "num_ranks 3\nrank 0 {\nsend 1b to 2 tag 1\nsend 2b to 2 tag 1\nsend 3b to 2 tag 2\nsend 4b to 2 tag 1\n}\n\
                rank 1 {\nsend 5b to 2 tag 1\n}\n\
                rank 2 {\nrecv 9b from 0 tag 2\nrecv 9b from 0 tag -1\nrecv 9b from 1 tag 1\nrecv 9b from 0 tag 1\nrecv 9b from 0 tag 1\n}";
    let work = goal(text).unwrap();
    let received: Vec<u64> = work
        .operations
        .iter()
        .filter_map(|operation| match operation.what {
            What::Receive { flow } => Some(work.flows[flow as usize].size.get()),
            _ => None,
        })
        .collect();
    assert_eq!(received, [3, 1, 5, 2, 4]);
}

#[test]
fn the_ring_of_eight_ranks_is_read() {
    let work = goal(GOAL).unwrap();
    // 14 messages of 128 KiB from each rank to the next; two computations, 14 sends and 14 receives on each.
    assert_eq!((work.ranks, work.flows.len(), work.operations.len()), (8, 8 * 14, 8 * 30));
    for (i, flow) in work.flows.iter().enumerate() {
        let rank = i as u32 / 14;
        assert_eq!((flow.source, flow.destination, flow.size), (rank, (rank + 1) % 8, Bytes::new(131_072)));
    }
    for rank in 0..8_u32 {
        let own = &work.operations[30 * rank as usize..][..30];
        let base = 30 * rank;
        assert_eq!(own[0], operation(rank, compute(Time::from_us(20), 0), &[], &[]));
        for step in 0..14_u32 {
            let (send, receive) = (base + 1 + 2 * step, base + 2 + 2 * step);
            // Step s sends what step s - 1 has received from the rank before.
            let after = if step == 0 { base } else { receive - 2 };
            let started: &[u32] = if step == 0 { &[] } else { &[send - 2] };
            assert_eq!(
                own[1 + 2 * step as usize],
                operation(rank, What::Send { flow: 14 * rank + step }, &[after], &[])
            );
            let flow = 14 * ((rank + 7) % 8) + step;
            assert_eq!(own[2 + 2 * step as usize], operation(rank, What::Receive { flow }, &[], started));
        }
        assert_eq!(own[29], operation(rank, compute(Time::ZERO, 1), &[base + 28], &[]));
    }
    assert!(work.computes() && work.cycle().is_none());
}

#[test]
fn what_a_goal_schedule_can_get_wrong() {
    let good = "num_ranks 2\nrank 0 {\nl1: send 10b to 1 tag 3\nl2: recv 20b from 1 tag 4\nl2 requires l1\nl3: calc 5\n}\n\
                rank 1 {\nl1: recv 10b from 0 tag 3\nl2: send 20b to 0 tag 4\nl2 requires l1\n}\n";
    assert!(goal(good).is_ok());
    let cases = [
        ("num_ranks 2\n", ""),
        ("num_ranks 2", "num_ranks two"),
        ("num_ranks 2", "num_ranks 0"),
        ("num_ranks 2", "num_ranks 3"),
        ("num_ranks 2", "num_ranks 99999999"),
        ("num_ranks 2", "num_ranks 2\nnum_ranks 2"),
        ("rank 1 {", "rank 0 {"),
        ("rank 1 {", "rank 2 {"),
        ("rank 1 {", "rank 1"),
        ("}\nrank 1", "rank 1"),
        ("l1: send", "l1 send"),
        ("l1: send", "l1: sned"),
        ("l1: send", "4: send"),
        ("send 10b", "send ten b"),
        ("send 10b", "send 10"),
        ("send 10b to 1", "send 10b from 1"),
        ("send 10b to 1", "send 10b to 0"),
        ("send 10b to 1", "send 10b to 7"),
        ("send 10b to 1 tag 3", "send 10b to 1 tag -1"),
        ("send 10b to 1 tag 3", "send 10b to 1 tag 3 later"),
        ("send 10b to 1 tag 3", "send 11b to 1 tag 3"),
        ("send 10b to 1 tag 3", "send 10b to 1 tag 5"),
        ("from 1 tag 4", "from -1 tag 4"),
        ("l1: recv 10b from 0 tag 3", "l1: calc 1"),
        ("l2: recv 20b", "l1: recv 20b"),
        ("l2 requires l1", "l2 requires l9"),
        ("l2 requires l1", "l2 requires"),
        ("l2 requires l1", "l2 after l1"),
        ("l2 requires l1", "l1 requires l2"),
        ("l3: calc 5", "l3: calc 5\nl3 requires l3"),
        ("l3: calc 5", "l3: calc 99999999999999999999"),
        ("l3: calc 5\n}", "/* l3: calc 5\n}"),
    ];
    insta::assert_snapshot!(spoilt(good, &cases, |text| goal(text).err()));
}
