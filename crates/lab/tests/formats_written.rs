//! Files that a run writes for other programs, read back by decoders that share nothing with the writers.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use common::Scratch;
use incast_lab::Scenario;
use incast_lab::formats::{FORMATS, export};
use incast_lab::results::{ResultFolder, Table, TableName};
use incast_lab::run::{RunOptions, RunResult};

/// Three hosts send to a fourth through a switch that must pause them, and marks; then the receiver
/// sends back.
const SCENARIO: &str = r#"
name = "pauses"
topology = { kind = "star", hosts = 4, rate = "100Gbps", delay = "1us" }
switch = { pfc = { xoff = "50KB" }, ecn = { kmin = "20KB", kmax = "60KB", pmax = 0.5 } }
cc = { algorithm = "dcqcn" }

[[traffic]]
kind = "incast"
to = "h3"
size = "100KB"

[[traffic]]
kind = "flows"
from = "h3"
to = "h0"
size = "2500B"
start = "1ms"

[probe]
ports = ["to h3"]
captures = ["to h3", "s0->h0", "h3"]
pauses = true
interval = "2us"
"#;

fn go(text: &str, out: Option<&Path>) -> RunResult {
    let scenario = Scenario::from_toml(text, "pauses.toml", &[]).unwrap();
    let options = RunOptions { out: out.map(Path::to_owned), ..RunOptions::default() };
    common::go(scenario.name(), &scenario.effective_toml(), &scenario.build().unwrap(), &options)
}

fn total(table: &Table, column: &str) -> i64 {
    let values = |batch: &arrow_array::RecordBatch| {
        let array = batch.column_by_name(column).unwrap().as_primitive::<Int64Type>();
        array.iter().flatten().sum::<i64>()
    };
    table.batches.iter().map(values).sum()
}

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn big(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

#[derive(Debug)]
struct Packet {
    interface: usize,
    nanoseconds: u64,
    size: u64,
    bytes: Vec<u8>,
}

/// Names of the interfaces, and the packets.
fn read_pcapng(bytes: &[u8]) -> (Vec<String>, Vec<Packet>) {
    let (mut names, mut packets) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < bytes.len() {
        let length = little(&bytes[at + 4..at + 8]) as usize;
        assert!(length >= 12 && length.is_multiple_of(4));
        assert_eq!(little(&bytes[at + length - 4..at + length]) as usize, length);
        let body = &bytes[at + 8..at + length - 4];
        match little(&bytes[at..at + 4]) {
            0x0a0d_0d0a => {
                assert_eq!(at, 0);
                assert_eq!(little(&body[..8]), 0x0000_0001_1a2b_3c4d);
            }
            1 => {
                assert_eq!(little(&body[..2]), 1, "Ethernet");
                let mut options = BTreeMap::new();
                let mut rest = &body[8..];
                loop {
                    let (kind, size) = (little(&rest[..2]), little(&rest[2..4]) as usize);
                    if kind == 0 {
                        break;
                    }
                    options.insert(kind, rest[4..4 + size].to_vec());
                    rest = &rest[4 + size.next_multiple_of(4)..];
                }
                assert_eq!(options[&9], [9], "nanoseconds");
                assert_eq!(little(&options[&8]), 100_000_000_000, "bit/s");
                names.push(String::from_utf8(options[&2].clone()).unwrap());
            }
            6 => {
                let stored = little(&body[12..16]) as usize;
                packets.push(Packet {
                    interface: little(&body[..4]) as usize,
                    nanoseconds: little(&body[4..8]) << 32 | little(&body[8..12]),
                    size: little(&body[16..20]),
                    bytes: body[20..20 + stored].to_vec(),
                });
            }
            other => panic!("block {other:x}"),
        }
        at += length;
    }
    assert_eq!(at, bytes.len());
    (names, packets)
}

#[test]
fn captured_packets_are_what_the_port_sent() {
    let scratch = Scratch::new("written-capture");
    let result = go(SCENARIO, Some(&scratch.0));
    let (names, packets) = read_pcapng(&fs::read(scratch.0.join("capture.pcapng")).unwrap());
    assert_eq!(names, ["h3:0->s0", "s0:0->h0", "s0:3->h3"]);
    assert!(packets.is_sorted_by_key(|packet| packet.nanoseconds));

    // Every packet and byte that the totals know of, on each port.
    let totals = &result.outcome.ports;
    for (interface, (node, port)) in [(3, 0), (4, 0), (4, 3)].into_iter().enumerate() {
        let total = totals.iter().find(|total| (total.node, total.port) == (node, port)).unwrap();
        let here: Vec<&Packet> = packets.iter().filter(|packet| packet.interface == interface).collect();
        assert_eq!(here.len() as u64, total.packets, "{}", names[interface]);
        assert_eq!(here.iter().map(|packet| packet.size).sum::<u64>(), total.transmitted.get());
    }

    let mut kinds: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    let mut data = BTreeSet::new();
    let mut marked = 0;
    for packet in &packets {
        let bytes = &packet.bytes;
        assert!(bytes.len() as u64 <= packet.size);
        if big(&bytes[12..14]) == 0x8808 {
            assert_eq!(bytes[..6], [0x01, 0x80, 0xc2, 0, 0, 1]);
            assert_eq!((big(&bytes[14..16]), big(&bytes[16..18]), packet.size), (0x0101, 1, 64));
            let kind = if big(&bytes[18..20]) == 0xffff { "pause" } else { "resume" };
            assert!(bytes[20..].iter().all(|&byte| byte == 0));
            *kinds.entry((packet.interface, kind)).or_default() += 1;
            continue;
        }
        let ip = &bytes[14..];
        let sum: u64 = ip[..20].chunks(2).map(big).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "the header's checksum");
        let length = big(&ip[2..4]);
        assert_eq!(big(&ip[24..26]), length - 20, "UDP's length");
        assert_eq!(big(&ip[22..24]), 4791);
        let transport = &ip[28..];
        let kind = match transport[0] {
            0x00 | 0x01 | 0x02 | 0x04 => "data",
            0x11 if transport[12] == 0x60 => "nack",
            0x11 => "ack",
            0x81 => "cnp",
            other => panic!("operation {other:x}"),
        };
        *kinds.entry((packet.interface, kind)).or_default() += 1;
        let number = big(&transport[9..12]);
        if kind == "data" {
            assert_eq!(length, packet.size - 14);
            marked += usize::from(ip[1] & 3 == 3);
            assert!(ip[1] & 3 >= 2);
        }
        if kind == "data" && names[packet.interface] == "s0:3->h3" {
            assert_eq!(ip[16..20], [11, 0, 3, 1]);
            data.insert((ip[13..15].to_vec(), number, transport[0]));
        }
    }
    assert!(kinds[&(1, "pause")] > 0 && kinds[&(1, "resume")] > 0 && kinds[&(0, "cnp")] > 0, "{kinds:?}");
    assert!(marked > 0);
    // 100 packets of 1000 B from each of three hosts, first, middle and last; nothing was lost.
    assert_eq!((data.len(), kinds[&(2, "data")]), (300, 300));
    for source in 0..3_u8 {
        let of = |operation| {
            let chosen = data.iter().filter(|(host, _, kind)| host == &[0, source] && *kind == operation);
            chosen.map(|(_, number, _)| *number).collect::<Vec<_>>()
        };
        assert_eq!((of(0), of(2), of(1)), (vec![0], vec![99], (1..99).collect::<Vec<_>>()));
    }
    // The way back: 2500 B are three packets, the last of 500 B.
    let back: Vec<u64> = packets
        .iter()
        .filter(|packet| {
            packet.interface == 0
                && packet.bytes.get(42).is_some_and(|&kind| kind <= 4)
                && packet.bytes[12] == 8
        })
        .map(|packet| packet.size)
        .collect();
    assert_eq!(back, [1054, 1054, 554]);
}

#[test]
fn a_capture_can_be_a_part_of_the_run() {
    let [whole, part] = [Scratch::new("written-whole"), Scratch::new("written-part")];
    go(SCENARIO, Some(&whole.0));
    go(&SCENARIO.replace("[probe]", "[probe]\nfrom = \"4us\"\nuntil = \"6us\""), Some(&part.0));
    let packets = |scratch: &Scratch| {
        let (_, packets) = read_pcapng(&fs::read(scratch.0.join("capture.pcapng")).unwrap());
        packets
            .into_iter()
            .map(|packet| (packet.interface, packet.nanoseconds, packet.bytes))
            .collect::<Vec<_>>()
    };
    let mut expected = packets(&whole);
    expected.retain(|packet| (4000..6000).contains(&packet.1));
    assert!(!expected.is_empty());
    assert_eq!(packets(&part), expected);
}

#[test]
fn a_run_without_folder_says_that_packets_are_not_kept() {
    let scratch = Scratch::new("written-kept");
    let said = |result: &RunResult| {
        let warnings = result.info.warnings.iter();
        warnings.filter(|warning| warning.problem.contains("captured packets are not kept")).count()
    };
    assert_eq!([said(&go(SCENARIO, None)), said(&go(SCENARIO, Some(&scratch.0)))], [1, 0]);
}

#[test]
fn a_capture_counts_as_part_of_its_result() {
    let scratch = Scratch::new("written-again");
    go(SCENARIO, Some(&scratch.0));
    let first = fs::read(scratch.0.join("capture.pcapng")).unwrap();
    // As a killed run of an earlier version, which had no digest until the end, leaves it: the next run takes
    // the folder, with all that is in it.
    let info = scratch.0.join("result.json");
    let mut running: serde_json::Value = serde_json::from_slice(&fs::read(&info).unwrap()).unwrap();
    running["state"] = "running".into();
    running["format_version"] = 2.into();
    running.as_object_mut().unwrap().remove("digest");
    fs::write(&info, running.to_string()).unwrap();
    go(SCENARIO, Some(&scratch.0));
    assert_eq!(fs::read(scratch.0.join("capture.pcapng")).unwrap(), first, "the same run, the same bytes");
}

/// Fields of a protocol buffer message: number, and a number or bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return value;
            }
        }
        unreachable!()
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let (number, content) = match key & 7 {
            0 => (varint(&mut bytes), &bytes[..0]),
            1 => {
                let (content, rest) = bytes.split_at(8);
                bytes = rest;
                (0, content)
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (content, rest) = bytes.split_at(length);
                bytes = rest;
                (0, content)
            }
            other => panic!("wire type {other}"),
        };
        fields.push((key >> 3, number, content));
    }
    fields
}

fn number(message: &[u8], field: u64) -> Option<u64> {
    fields(message).into_iter().find(|f| f.0 == field).map(|f| f.1)
}

fn text(message: &[u8], field: u64) -> Option<String> {
    fields(message).into_iter().find(|f| f.0 == field).map(|f| String::from_utf8(f.2.to_vec()).unwrap())
}

#[test]
fn a_trace_holds_flows_pauses_and_counters() {
    let scratch = Scratch::new("written-trace");
    let result = go(SCENARIO, Some(&scratch.0));
    let folder = ResultFolder::open(&scratch.0).unwrap();
    let file = scratch.0.with_extension("pftrace");
    let written = export::to_file(FORMATS, &folder, &file, true).unwrap();
    assert!(
        export::to_file(FORMATS, &folder, &file, false)
            .unwrap_err()
            .to_string()
            .contains("the file already exists")
    );
    let bytes = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();

    let mut tracks: BTreeMap<u64, (String, Option<u64>)> = BTreeMap::new();
    let mut open: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    let mut slices: Vec<(String, String, u64, u64)> = Vec::new();
    let mut counters: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
    for (kind, _, packet) in fields(&bytes) {
        assert_eq!(kind, 1);
        let all = fields(packet);
        if let Some((_, _, track)) = all.iter().find(|f| f.0 == 60) {
            let uuid = number(track, 1).unwrap();
            let parent = number(track, 5);
            assert!(parent.is_none_or(|parent| tracks.contains_key(&parent)), "parents come first");
            assert!(tracks.insert(uuid, (text(track, 2).unwrap(), parent)).is_none());
            continue;
        }
        let at = number(packet, 8).unwrap();
        let event = all.iter().find(|f| f.0 == 11).unwrap().2;
        let track = number(event, 11).unwrap();
        match number(event, 9).unwrap() {
            1 => {
                assert!(
                    open.insert(track, (at, text(event, 23).unwrap())).is_none(),
                    "slices do not overlap"
                );
            }
            2 => {
                let (from, name) = open.remove(&track).unwrap();
                assert!(from <= at);
                slices.push((text(event, 22).unwrap_or_default(), name, from, at));
            }
            4 => counters.entry(tracks[&track].0.clone()).or_default().push((at, number(event, 30).unwrap())),
            other => panic!("event of type {other}"),
        }
    }
    assert!(open.is_empty());
    let (flows, pauses): (Vec<_>, Vec<_>) = slices.iter().partition(|slice| slice.1.starts_with("flow "));
    assert_eq!((flows.len(), pauses.len()), (written.counts[0].0, written.counts[1].0));
    assert_eq!(flows.len(), 4);
    assert!(flows.iter().any(|slice| slice.1 == "flow 3 to h0 (2.5KB)" && slice.2 == 1_000_000));
    let length: u64 = flows.iter().map(|slice| slice.3 - slice.2).sum();
    assert!(length.abs_diff(total(&result.table(TableName::Flows).unwrap(), "fct_ps") as u64 / 1000) <= 4);
    // Pauses together last as long as the totals say, to the nanosecond that each end is rounded.
    assert!(!pauses.is_empty() && result.table(TableName::Pauses).unwrap().rows() == 2 * pauses.len());
    let paused: u64 = pauses.iter().map(|slice| slice.3 - slice.2).sum();
    assert!(
        paused.abs_diff(total(&result.table(TableName::Ports).unwrap(), "paused_ps") as u64 / 1000)
            <= pauses.len() as u64
    );
    // The counters: every row of the queue, and the bytes under the throughput, which holds until the next one.
    assert_eq!(counters["queue"].len(), result.table(TableName::PortSeries).unwrap().rows());
    let sum: u64 = counters["queue"].iter().map(|sample| sample.1).sum();
    assert_eq!(sum as i64, total(&result.table(TableName::PortSeries).unwrap(), "queue_bytes"));
    let ends = counters["queue"].iter().skip(1).map(|sample| sample.0);
    let rates = counters["throughput"].iter().zip(ends);
    let carried: u64 = rates.map(|(&(from, rate), to)| rate * (to - from) / 8 / 1_000_000_000).sum();
    let samples = result.table(TableName::PortSeries).unwrap().batches;
    let transmitted = samples.last().unwrap().column_by_name("transmitted_bytes").unwrap().clone();
    let last = transmitted.as_primitive::<Int64Type>().iter().flatten().max().unwrap() as u64;
    assert!(carried.abs_diff(last) < 2000, "{carried} {last}");
}

#[test]
fn pauses_are_in_a_result_only_when_asked_for() {
    let scratch = Scratch::new("written-asked");
    let without =
        SCENARIO.replace("pauses = true\n", "").replace("captures = [\"to h3\", \"s0->h0\", \"h3\"]\n", "");
    go(&without, Some(&scratch.0));
    assert!(!scratch.0.join("pauses.parquet").exists() && !scratch.0.join("capture.pcapng").exists());
    let opened = ResultFolder::open(&scratch.0).unwrap();
    assert_eq!(opened.table(TableName::Pauses).unwrap().rows(), 0);
    // Asked for, but none came: a table without rows.
    let calm = Scratch::new("written-calm");
    go(
        &SCENARIO.replace("to = \"h3\"\nsize = \"100KB\"", "to = \"h3\"\nfrom = \"h0\"\nsize = \"1KB\""),
        Some(&calm.0),
    );
    assert!(calm.0.join("pauses.parquet").exists());
}
