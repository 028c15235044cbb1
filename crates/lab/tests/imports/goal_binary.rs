//! GOAL schedules in their binary form.

use std::fmt::Write as _;

use super::*;

/// An operation as both forms have it.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// 1: send, 2: receive, 3: compute.
    pub(super) kind: u8,
    pub(super) peer: u32,
    pub(super) size: u64,
    pub(super) tag: u32,
    pub(super) cpu: u8,
    pub(super) nic: u8,
    /// The operations of its rank for whose end it waits.
    pub(super) after: Vec<u32>,
    /// The operations for whose start it waits.
    pub(super) after_start: Vec<u32>,
}

fn step(kind: u8, peer: u32, size: u64, tag: u32) -> Step {
    Step { kind, peer, size, tag, cpu: 0, nic: 0, after: vec![], after_start: vec![] }
}

/// The text of a schedule.
pub(super) fn text(ranks: &[Vec<Step>]) -> String {
    let mut text = format!("num_ranks {}\n", ranks.len());
    for (rank, steps) in ranks.iter().enumerate() {
        writeln!(text, "rank {rank} {{").unwrap();
        for (i, step) in steps.iter().enumerate() {
            let Step { kind, peer, size, cpu, nic, .. } = step;
            let tag = if step.tag == u32::MAX { "-1".to_owned() } else { step.tag.to_string() };
            match kind {
                1 => writeln!(text, "l{i}: send {size}b to {peer} tag {tag} cpu {cpu} nic {nic}"),
                2 => writeln!(text, "l{i}: recv {size}b from {peer} tag {tag} cpu {cpu} nic {nic}"),
                _ => writeln!(text, "l{i}: calc {size} cpu {cpu}"),
            }
            .unwrap();
        }
        for (i, step) in steps.iter().enumerate() {
            step.after.iter().for_each(|other| writeln!(text, "l{i} requires l{other}").unwrap());
            step.after_start.iter().for_each(|other| writeln!(text, "l{i} irequires l{other}").unwrap());
        }
        text.push_str("}\n");
    }
    text
}

/// The binary form of a schedule.
pub(super) fn binary(ranks: &[Vec<Step>]) -> Vec<u8> {
    let most = |of: fn(&Step) -> u8| ranks.iter().flatten().map(of).max().unwrap_or(0);
    let mut blocks = Vec::new();
    for steps in ranks {
        let waits = |step: &Step| (step.after.len() + step.after_start.len()) as u32;
        let first: Vec<u32> =
            (0_u32..).zip(steps).filter(|(_, step)| waits(step) == 0).map(|(i, _)| i).collect();
        let mut block = Vec::new();
        let mut list: Vec<u32> = Vec::new();
        block.extend((steps.len() as u32).to_le_bytes());
        block.extend((first.len() as u32).to_le_bytes());
        first.iter().for_each(|number| block.extend(number.to_le_bytes()));
        for (i, step) in (0_u32..).zip(steps) {
            block.extend(waits(step).to_le_bytes());
            block.push(step.kind);
            block.extend(step.peer.to_le_bytes());
            block.extend(step.size.to_le_bytes());
            block.extend(step.tag.to_le_bytes());
            block.extend([step.cpu, step.nic]);
            let of: [fn(&Step) -> &[u32]; 2] = [|step| &step.after, |step| &step.after_start];
            for of in of {
                let start = list.len() as u32;
                for (other, later) in (0_u32..).zip(steps) {
                    list.extend(of(later).iter().filter(|number| **number == i).map(|_| other));
                }
                block.extend((list.len() as u32 - start).to_le_bytes());
                block.extend(start.to_le_bytes());
            }
        }
        list.iter().for_each(|number| block.extend(number.to_le_bytes()));
        blocks.push(block);
    }
    let mut file = 4223_u64.to_le_bytes().to_vec();
    file.extend((ranks.len() as u32).to_le_bytes());
    file.extend([most(|step| step.cpu), most(|step| step.nic)]);
    let mut place = 6 + 16 * ranks.len() as u64;
    for block in &blocks {
        file.extend(place.to_le_bytes());
        place += block.len() as u64;
        file.extend(place.to_le_bytes());
    }
    [file, blocks.concat()].concat()
}

/// Two ranks: all that a schedule can say.
pub(super) fn sample() -> Vec<Vec<Step>> {
    let any = u32::MAX;
    vec![
        vec![
            Step { cpu: 2, ..step(3, 0, 1500, 0) },
            Step { after: vec![0], cpu: 1, nic: 1, ..step(1, 1, 10, 7) },
            Step { after_start: vec![1], after: vec![0, 0], ..step(1, 1, 0, 0) },
            Step { after: vec![1, 2], ..step(2, 1, 1 << 40, 3) },
        ],
        vec![
            step(2, 0, 0, 0),
            Step { after: vec![2], ..step(3, 0, 0, 0) },
            step(2, 0, 16, any),
            Step { after: vec![2], after_start: vec![0], ..step(1, 0, 1 << 40, 3) },
        ],
    ]
}

fn read(bytes: &[u8]) -> Result<Workload, Problems> {
    Goal::read(bytes.to_vec(), "a.bin").map(|goal| goal.workload)
}

/// Rank 0 computes for 5 ns and then sends 258 B to rank 1 with the tag 4; written by hand.
const BY_HAND: &str = "
    7f10000000000000 02000000 00 00
    2600000000000000 8400000000000000 8400000000000000 b700000000000000
    02000000 01000000 00000000
      00000000 03 00000000 0500000000000000 00000000 00 00 01000000 00000000 00000000 01000000
      01000000 01 01000000 0201000000000000 04000000 00 00 00000000 01000000 00000000 01000000
    01000000
    01000000 01000000 00000000
      00000000 02 00000000 0201000000000000 04000000 00 00 00000000 e7030000 00000000 ffffffff";

fn by_hand() -> Vec<u8> {
    let digits: Vec<u8> = BY_HAND.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

#[test]
fn a_file_written_by_hand_is_read() {
    let work = read(&by_hand()).unwrap();
    assert_eq!(flows(&work), [(0, 1, 258, Time::ZERO)]);
    let expected = [
        operation(0, compute(Time::from_ns(5), 0), &[], &[]),
        operation(0, What::Send { flow: 0 }, &[0], &[]),
        operation(1, What::Receive { flow: 0 }, &[], &[]),
    ];
    assert_eq!((work.ranks, work.operations.as_slice()), (2, expected.as_slice()));
    assert!(work.notes.is_empty());
    // As this test's encoder writes it, but for the two places that have no meaning.
    let steps =
        [vec![step(3, 0, 5, 0), Step { after: vec![0], ..step(1, 1, 258, 4) }], vec![step(2, 0, 258, 4)]];
    let mut written = binary(&steps);
    let end = written.len();
    written[end - 12..end - 8].copy_from_slice(&999_u32.to_le_bytes());
    written[end - 4..].fill(0xff);
    assert_eq!(written, by_hand());
}

#[test]
fn both_forms_are_one_schedule() {
    let ranks = sample();
    let work = read(&binary(&ranks)).unwrap();
    assert_eq!(work, goal(&text(&ranks)).unwrap());
    assert_eq!(work.notes.len(), 6, "{:?}", work.notes);
}

/// The scenario of either form has the same flows, and its run the same events.
#[test]
fn both_forms_run_alike() {
    let scratch = Scratch::new("imports-goal-binary");
    scratch.write("a.goal", text(&sample()).replace(&(1_u64 << 40).to_string(), "100000"));
    let mut ranks = sample();
    ranks.iter_mut().flatten().filter(|step| step.size > 1 << 30).for_each(|step| step.size = 100_000);
    scratch.write("a.bin", binary(&ranks));
    let run = |file: &str| {
        let text = format!("{}kind = \"goal-file\"\nfile = \"{file}\"\n", runs::STAR);
        let scenario = scratch.scenario(&text).unwrap();
        let again = Scenario::from_toml(&scenario.effective_toml(), "x.toml", &[]).unwrap();
        assert_eq!(again, scenario);
        let built = scenario.build().unwrap();
        let outcome = runs::go(&scenario, 1).outcome;
        assert_eq!(outcome.flows_finished, 3);
        (format!("{:?}", built.simulation.flows), outcome.fingerprint)
    };
    assert_eq!(run("a.goal"), run("a.bin"));
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_refused() {
    let file = binary(&sample());
    for kept in 0..file.len() {
        let problems = read(&file[..kept]).unwrap_err().to_string();
        assert!(kept < 4 || problems.contains(" bytes"), "{kept}: {problems}");
    }
    assert!(read(&[file, vec![0]].concat()).is_err());
}

/// A change of any bit changes the schedule or is refused, but for those that have no meaning here.
#[test]
#[expect(clippy::single_range_in_vec_init, reason = "each range is one field")]
fn every_bit_has_its_meaning() {
    let ranks = sample();
    let file = binary(&ranks);
    let good = read(&file).unwrap();
    // Higher numbers of processors and cards than any operation has.
    let mut meaningless = vec![12..14];
    let mut at = 8 + 6 + 16 * ranks.len();
    for steps in &ranks {
        let first = |step: &&Step| step.after.is_empty() && step.after_start.is_empty();
        at += 8 + 4 * steps.iter().filter(first).count();
        for step in steps {
            // The peer, tag and card of a computation; a send's processor, and its tag if any is received; how much longer
            // than its message a receive is.
            meaningless.extend(match step.kind {
                1 if step.tag == 7 => vec![at + 17..at + 22],
                1 => vec![at + 21..at + 22],
                2 => vec![at + 9..at + 17, at + 21..at + 22],
                _ => vec![at + 5..at + 9, at + 17..at + 21, at + 22..at + 23],
            });
            // Places of empty parts.
            let empty = |part: usize| file[part..part + 4] == [0; 4];
            meaningless.extend(
                [at + 23, at + 31].into_iter().filter(|&part| empty(part)).map(|part| part + 4..part + 8),
            );
            at += 39;
        }
        at += 4 * steps.iter().map(|step| step.after.len() + step.after_start.len()).sum::<usize>();
    }
    assert_eq!(at, file.len());
    for at in 0..file.len() {
        for bit in 0..8 {
            let mut bytes = file.clone();
            bytes[at] ^= 1 << bit;
            let noticed = read(&bytes).map_or(true, |work| work != good);
            assert!(noticed || meaningless.iter().any(|range| range.contains(&at)), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn what_a_binary_schedule_can_get_wrong() {
    let file = binary(&sample());
    let with = |at: usize, bytes: &[u8]| {
        let mut file = file.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    // The block of rank 0 begins behind the table of two ranks, its records behind one operation without dependencies.
    let block = 8 + 6 + 2 * 16;
    let record = |number: usize| block + 8 + 4 + 39 * number;
    let list = record(4);
    let sentinel =
        vec![vec![step(1, 9_999_999, 0, 0), step(1, 9_999_999, 0, 0)], vec![step(1, 9_999_999, 0, 0)]];
    let wide = {
        // A record of LogGOPSim2 has 65 bytes more.
        let mut file = binary(&[vec![step(3, 0, 5, 0)]]);
        file.extend([0; 65]);
        file[22..30].copy_from_slice(&(22_u64 + 12 + 104).to_le_bytes());
        file
    };
    let circle =
        [vec![Step { after: vec![1], ..step(3, 0, 1, 0) }, Step { after: vec![0], ..step(3, 0, 2, 0) }]];
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("used up", with(0, &2342_u64.to_le_bytes())),
        ("another magic number", with(0, &4224_u64.to_le_bytes())),
        ("no rank", with(8, &[0; 4])),
        ("too many ranks", with(8, &[0xff; 4])),
        ("a rank more", with(8, &[3])),
        ("max_cpu", with(12, &[1])),
        ("max_nic", with(13, &[0])),
        ("start of rank 0", with(14, &[0])),
        ("end of rank 0", with(22, &[0xff; 8])),
        ("end of rank 1", with(38, &[0xff, 0xff])),
        ("number of operations", with(block, &[5])),
        ("roots", with(block + 4, &[0xff, 0xff])),
        ("first root", with(block + 8, &[1])),
        ("count of dependencies", with(record(1), &[2])),
        ("type", with(record(1) + 4, &[4])),
        ("peer", with(record(1) + 5, &[7])),
        ("to itself", with(record(1) + 5, &[0])),
        ("any sender", with(record(3) + 5, &[0xff; 4])),
        ("size", with(record(1) + 9, &[0xff; 8])),
        ("calc", with(record(0) + 9, &[0xff; 8])),
        ("a larger message", with(record(1) + 9, &[17])),
        ("any tag of a send", with(record(1) + 17, &[0xff; 4])),
        ("another tag", with(record(3) + 17, &[8])),
        ("number of dependants", with(record(1) + 23, &[9])),
        ("fewer dependants", with(record(0) + 23, &[1])),
        ("place of dependants", with(record(1) + 27, &[0xff; 4])),
        ("dependant", with(list, &[9])),
        ("itself", with(list, &[0])),
        ("circle", binary(&circle)),
        ("sentinels", binary(&sentinel)),
        ("LogGOPSim2", wide),
        ("bytes behind", [file.clone(), vec![0; 3]].concat()),
    ];
    let seen = cases.iter().map(|(name, bytes)| {
        let problems = read(bytes).err().unwrap_or_else(|| panic!("accepted: {name}"));
        format!("{name}\n{problems}")
    });
    insta::assert_snapshot!(seen.collect::<Vec<_>>().join("\n\n"));
}
