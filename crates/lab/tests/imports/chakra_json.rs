//! Chakra traces as JSON.

use super::chakra::encode::{attribute, bytes, file, int, node, number, packed, text};
use super::*;

/// Rank 0 as `MessageToJson` of Protocol Buffers writes it: fields with their defaults are absent, numbers of 64 bits are
/// texts, objects follow each other without a comma.
pub(super) const FIRST: &str = r#"{
  "version": "0.0.4"
}{
  "name": "a name",
  "type": "COMP_NODE",
  "durationMicros": "25",
  "attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "num_ops", "doubleVal": 1.5}]
}{
  "id": "11",
  "name": "a name",
  "type": "COMM_SEND_NODE",
  "dataDeps": ["0"],
  "startTimeMicros": "77",
  "attr": [
    {"name": "comm_size", "int64Val": "4096"},
    {"name": "comm_dst", "docString": "to", "int32Val": 1},
    {"name": "comm_tag", "sint32Val": -6}
  ]
}{
  "id": "12",
  "type": "COMM_COLL_NODE",
  "ctrlDeps": ["11"],
  "dataDeps": ["0", "11"],
  "inputs": {"values": "[]", "shapes": "[]"},
  "attr": [
    {"name": "comm_type", "int64Val": "0"},
    {"name": "comm_size", "uint64Val": "1000"},
    {"name": "pg_name", "stringVal": "7"},
    {"name": "involved_dim", "boolList": {"values": [true, true]}}
  ]
}"#;

/// Rank 1 in the form of other writers: names of the schema, numbers that are numbers, an object on each line.
const SECOND: &str = r#"{"version": "0.0.4", "attr": []}
{"id": 1, "name": "a name", "type": 6, "attr": [{"name": "comm_src", "int64_val": 0}, {"name": "comm_tag", "int64_val": -6}, {"name": "tensor_size", "uint32_val": 4096}]}
{"id": 2, "type": "COMM_COLL_NODE", "data_deps": [1], "attr": [{"name": "comm_type", "int64_val": 0}, {"name": "comm_size", "int64_val": 1000}, {"name": "pg_name", "int32_val": 7}]}
{"id": 3, "type": "MEM_LOAD_NODE", "data_deps": [2], "duration_micros": 4}
"#;

/// The nodes of both ranks in the binary form.
fn nodes() -> [Vec<Vec<u8>>; 2] {
    const COMP: u64 = 4;
    const COLL: u64 = 7;
    let dims = bytes(28, &packed(1, &[1, 1]));
    [
        vec![
            node(0, COMP, &[number(7, 25), attribute("is_cpu_op", number(27, 0))]),
            // In zigzag -6 is 11.
            node(
                11,
                5,
                &[
                    packed(5, &[0]),
                    int("comm_size", 4096),
                    attribute("comm_dst", number(7, 1)),
                    attribute("comm_tag", number(15, 11)),
                ],
            ),
            node(
                12,
                COLL,
                &[
                    packed(4, &[11]),
                    packed(5, &[0, 11]),
                    int("comm_type", 0),
                    int("comm_size", 1000),
                    text("pg_name", "7"),
                    attribute("involved_dim", dims),
                ],
            ),
        ],
        vec![
            node(1, 6, &[int("comm_src", 0), int("comm_tag", -6), int("tensor_size", 4096)]),
            node(
                2,
                COLL,
                &[packed(5, &[1]), int("comm_type", 0), int("comm_size", 1000), text("pg_name", "7")],
            ),
            node(3, 2, &[packed(5, &[2]), number(7, 4)]),
        ],
    ]
}

fn read(text: &str) -> Result<ChakraRank, Problems> {
    ChakraRank::read(text.as_bytes(), "t.0.json")
}

#[test]
fn both_forms_are_one_trace() {
    let json = [FIRST, SECOND].map(|text| read(text).unwrap());
    let binary = nodes().map(|nodes| ChakraRank::read(&file(&nodes), "t.0.et").unwrap());
    for (json, binary) in json.iter().zip(&binary) {
        assert_eq!((json.version(), json.kinds()), (binary.version(), binary.kinds()));
    }
    for ctrl_deps in [false, true] {
        let [json, binary] =
            [&json, &binary].map(|ranks| ChakraTrace { ranks: ranks.to_vec() }.workload(ctrl_deps).unwrap());
        assert_eq!(json, binary);
        // A message, and an all-reduce of two ranks: two steps with a message each way.
        assert_eq!(json.flows.len(), 1 + 2 * 2);
    }
}

#[test]
fn both_forms_run_alike() {
    let scratch = Scratch::new("imports-chakra-json");
    for (rank, (nodes, json)) in nodes().iter().zip([FIRST, SECOND]).enumerate() {
        scratch.write(&format!("t.{rank}.et"), file(nodes));
        scratch.write(&format!("t.{rank}.json"), json);
    }
    let run = |file: &str| {
        let text = format!("{}kind = \"chakra-trace\"\nfile = \"{file}\"\n", runs::STAR);
        let scenario = scratch.scenario(&text).unwrap();
        let again = Scenario::from_toml(&scenario.effective_toml(), "x.toml", &[]).unwrap();
        assert_eq!(again, scenario);
        (
            format!("{:?}", scenario.build().unwrap().simulation.flows),
            runs::go(&scenario, 1).outcome.fingerprint,
        )
    };
    assert_eq!(run("t.*.et"), run("t.*.json"));
}

/// A part of a trace that ends with an object is a trace, too; any other is refused.
#[test]
fn a_file_that_is_cut_off_says_where() {
    for kept in 0..FIRST.len() {
        let is_whole = kept > 0 && FIRST[..kept].ends_with('}') && FIRST[kept..].starts_with('{');
        match read(&FIRST[..kept]) {
            Ok(_) => assert!(is_whole, "{kept}"),
            Err(problems) => {
                assert!(!is_whole && problems.to_string().contains("(byte "), "{kept}: {problems}");
            }
        }
    }
}

#[test]
fn what_a_trace_as_json_can_get_wrong() {
    let cases = [
        ("\"version\"", "\"schema\""),
        ("{\n  \"version\": \"0.0.4\"\n}", ""),
        ("\"0.0.4\"", "4"),
        ("COMP_NODE", "COMPUTE_NODE"),
        ("\"COMP_NODE\"", "8"),
        ("\"25\"", "\"2.5\""),
        ("\"25\"", "-25"),
        ("\"durationMicros\"", "\"durationMillis\""),
        ("[\"0\"]", "\"0\""),
        ("[\"0\"]", "[\"9\"]"),
        ("\"id\": \"12\"", "\"id\": \"11\""),
        ("\"4096\"", "\"4 KiB\""),
        ("\"int32Val\": 1", "\"int32Val\": 1.5"),
        ("\"int32Val\": 1", "\"number\": 1"),
        ("\"int32Val\": 1", "\"doubleVal\": 1"),
        ("\"boolVal\": false", "\"boolVal\": 0"),
        ("[true, true]", "[true, 2]"),
        ("\"attr\": [\n", "\"attr\": [5,\n"),
        ("}{", "},{"),
        ("}{", "}}{"),
    ];
    insta::assert_snapshot!(spoilt(FIRST, &cases, |text| read(text).err()));
    assert!(read("").unwrap_err().to_string().contains("the file is empty"));
    assert!(read("[]").is_err() && read("{\"workload_graph\": []}").is_err());
}
