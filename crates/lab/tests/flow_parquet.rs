//! Tables of flows as Parquet: the flows of the same table as CSV.

use std::panic::catch_unwind;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, DurationNanosecondArray, Float32Array, Float64Array, Int32Array, Int64Array,
    LargeStringArray, RecordBatch, StringArray, StringViewArray, TimestampNanosecondArray, UInt16Array,
};
use incast_lab::Scenario;
use incast_lab::formats::flow_table::FlowTable;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use common::Scratch;

mod common;

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// A Parquet file of these columns.
fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    );
    let batch = batch.unwrap();
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

const CSV: &str =
    "source,destination,size [KB],start [us],note\nh0,h1,1.5,0,a\nh2,h1,30,2.5,b\n3,h0,1e3,2.5,c\n";

/// The table of [`CSV`], with a column that is not read before the others and one between them.
fn table() -> Vec<u8> {
    parquet(vec![
        ("note", texts(&["a", "b", "c"])),
        ("start [us]", Arc::new(Float64Array::from(vec![0.0, 2.5, 2.5]))),
        ("source", texts(&["h0", "h2", "3"])),
        ("size [KB]", Arc::new(Float32Array::from(vec![1.5, 30.0, 1e3]))),
        ("rank", Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]))),
        ("destination", texts(&["h1", "h1", "h0"])),
    ])
}

/// Source, destination, bytes and picoseconds of each flow.
fn flows(table: &FlowTable) -> Vec<(String, String, u64, u64)> {
    let name = |end| table.name(end).to_owned();
    let one = |flow: &incast_lab::formats::flow_table::TableFlow| {
        (name(flow.ends[0]), name(flow.ends[1]), flow.size.get(), flow.start.ps())
    };
    table.flows().iter().map(one).collect()
}

#[test]
fn parquet_has_the_flows_of_csv() {
    let csv = FlowTable::read(CSV.into(), "f").unwrap();
    let table = FlowTable::read(table(), "f").unwrap();
    assert_eq!(flows(&table), flows(&csv));
    assert_eq!(table.others(), ["note", "rank"]);
    let [a, b, c] = ["h0", "h2", "3"].map(str::to_owned);
    let expected = [
        (a.clone(), "h1".to_owned(), 1_500, 0),
        (b, "h1".to_owned(), 30_000, 2_500_000),
        (c, a, 1_000_000, 2_500_000),
    ];
    assert_eq!(flows(&table), expected);
}

/// 1,500 B from h0 to h1 at 2,000 ns, in every type that a column may have.
#[test]
fn columns_of_every_type() {
    let dictionary: DictionaryArray<Int32Type> = ["h0"].into_iter().collect();
    let sources: [ArrayRef; 5] = [
        texts(&["h0"]),
        Arc::new(LargeStringArray::from(vec!["h0"])),
        Arc::new(StringViewArray::from(vec!["h0"])),
        Arc::new(dictionary),
        Arc::new(Int64Array::from(vec![0])),
    ];
    let sizes: [(&str, ArrayRef); 4] = [
        ("size_bytes", Arc::new(UInt16Array::from(vec![1_500]))),
        ("bytes", Arc::new(Float64Array::from(vec![1_500.0]))),
        ("size (KB)", Arc::new(Float64Array::from(vec![1.5]))),
        ("size", texts(&["1.5KB"])),
    ];
    let starts: [(&str, ArrayRef); 4] = [
        ("start", Arc::new(DurationNanosecondArray::from(vec![2_000]))),
        ("start_s", Arc::new(Float64Array::from(vec![2e-6]))),
        ("start_ps", Arc::new(Int64Array::from(vec![2_000_000]))),
        ("time", texts(&["2us"])),
    ];
    for source in &sources {
        for (size_name, size) in &sizes {
            for (start_name, start) in &starts {
                let bytes = parquet(vec![
                    ("source", Arc::clone(source)),
                    ("destination", texts(&["h1"])),
                    (*size_name, Arc::clone(size)),
                    (*start_name, Arc::clone(start)),
                ]);
                let table = FlowTable::read(bytes, "f").unwrap();
                let [flow] = table.flows() else { panic!("{:?}", table.flows()) };
                assert_eq!(
                    (flow.size.get(), flow.start.ps()),
                    (1_500, 2_000_000),
                    "{size_name}, {start_name}"
                );
            }
        }
    }
}

#[test]
fn errors_name_row_column_and_remedy() {
    let with = |name: &'static str, other: &'static str, array: ArrayRef| {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("source", texts(&["h0", "h2"])),
            ("destination", texts(&["h1", "h1"])),
            ("size [B]", Arc::new(Int64Array::from(vec![1, 2]))),
            ("start [us]", Arc::new(Float64Array::from(vec![0.0, 1.0]))),
        ];
        let replaced = |(own, value)| if own == name { (other, Arc::clone(&array)) } else { (own, value) };
        parquet(columns.into_iter().map(replaced).collect())
    };
    let floats = |values: Vec<f64>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
    let cases: [(Vec<u8>, &str); 14] = [
        (b"PAR1".to_vec(), "cannot be read as Parquet"),
        (with("source", "sender", texts(&["a", "b"])), "there is no column for: source"),
        (with("source", "source", floats(vec![0.0, 2.0])), "expected texts or whole numbers"),
        (
            with("source", "source", Arc::new(StringArray::from(vec![Some("h0"), None]))),
            "row 2: source: column \"source\": the cell is empty",
        ),
        (
            with("source", "source", texts(&["h1", "h2"])),
            "row 1: destination: \"h1\": the flow would go from this host to itself",
        ),
        (with("size [B]", "size", floats(vec![1.0, 2.0])), "row 1: size: a number of bytes needs its unit"),
        (with("size [B]", "size [B]", floats(vec![1.0, f64::NAN])), "row 2: size: "),
        (
            with("size [B]", "size [B]", floats(vec![0.0, 2.0])),
            "row 1: size: \"0\": a flow has at least one byte",
        ),
        (with("size [B]", "size [B]", floats(vec![5.0, -2.0])), "row 2: size: "),
        (with("size [B]", "bytes [B]", Arc::new(Int64Array::from(vec![0, 0]))), "(and so on 1 row below)"),
        (with("start [us]", "start [h]", floats(vec![5.0, 2.0])), "unknown unit for a time"),
        (
            with("start [us]", "start [us]", Arc::new(DurationNanosecondArray::from(vec![1, 2]))),
            "its name gives the unit us, and its type ns",
        ),
        (
            with("start [us]", "start", Arc::new(TimestampNanosecondArray::from(vec![1, 2]))),
            "expected numbers or texts, or durations for the start",
        ),
        (with("source", "source", texts(&["h0", "h0"])), ""),
    ];
    for (i, (bytes, words)) in cases.iter().enumerate() {
        match FlowTable::read(bytes.clone(), "flows.parquet") {
            Ok(_) => assert_eq!(*words, "", "{i}"),
            Err(problems) => {
                let text = problems.to_string();
                assert!(
                    text.starts_with("flows.parquet: ") && !words.is_empty() && text.contains(words),
                    "{i}: {text}"
                );
            }
        }
    }
}

/// A file that is cut off or damaged is refused or has other flows, and nothing panics.
#[test]
fn damaged_files_never_panic() {
    let file = table();
    for kept in 0..file.len() {
        assert!(FlowTable::read(file[..kept].to_vec(), "f").is_err(), "{kept} bytes");
    }
    for at in 0..file.len() {
        for value in [0, 0xff, file[at] ^ 1, file[at] ^ 0x80] {
            let mut bytes = file.clone();
            bytes[at] = value;
            let read = catch_unwind(|| FlowTable::read(bytes, "f").map(|table| flows(&table).len()));
            assert!(read.is_ok(), "byte {at} as {value}");
        }
    }
}

#[test]
fn a_scenario_takes_either_form() {
    let scratch = Scratch::new("flow-parquet");
    scratch.write("flows.csv", CSV);
    scratch.write("flows.parquet", table());
    let scenario = |file: &str| {
        let text = format!(
            "topology = {{ kind = \"star\", hosts = 4, rate = \"100Gbps\", delay = \"1us\" }}\ncc.algorithm = \
             \"constant\"\n[[traffic]]\nkind = \"flow-table\"\nfile = \"{file}\"\n"
        );
        let name = scratch.0.join("s.toml").display().to_string();
        Scenario::from_toml(&text, &name, &[])
    };
    let [csv, table] = ["flows.csv", "flows.parquet"].map(|file| {
        let scenario = scenario(file).unwrap();
        assert_eq!(Scenario::from_toml(&scenario.effective_toml(), "x.toml", &[]).unwrap(), scenario);
        format!("{:?}", scenario.build().unwrap().simulation.flows)
    });
    assert_eq!(csv, table);
    let one = vec![
        ("source", texts(&["h0", "h9"])),
        ("destination", texts(&["h1", "h1"])),
        ("size", texts(&["1B", "1B"])),
        ("start", texts(&["0s", "0s"])),
    ];
    scratch.write("lost.parquet", parquet(one));
    let text = scenario("lost.parquet").unwrap_err().to_string();
    assert!(text.contains("row 2: source: there is no host \"h9\""), "{text}");
}
