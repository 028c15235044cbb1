//! Panics while damaged Parquet is read: the library's are not printed, all others are.

use std::cell::Cell;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use incast_lab::formats::flow_table::FlowTable;
use parquet::arrow::ArrowWriter;

/// A file with a flow.
fn table() -> Vec<u8> {
    let text = |value: &str| Arc::new(StringArray::from(vec![value])) as ArrayRef;
    let columns = [("source", "h0"), ("destination", "h1"), ("size", "1KB"), ("start", "0us")];
    let batch = RecordBatch::try_from_iter(columns.map(|(name, value)| (name, text(value)))).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

thread_local! {
    static PRINTED: Cell<usize> = const { Cell::new(0) };
}

#[test]
fn a_damaged_file_prints_no_panic() {
    // In place of the standard hook, which prints.
    static ELSEWHERE: AtomicUsize = AtomicUsize::new(0);
    panic::set_hook(Box::new(|_| {
        PRINTED.set(PRINTED.get() + 1);
        ELSEWHERE.fetch_add(1, Ordering::Relaxed);
    }));
    let file = table();
    assert_eq!(FlowTable::read(file.clone(), "f").unwrap().flows().len(), 1);
    let mut contradictory = 0;
    for at in 0..file.len() {
        for value in [0, 0xff, file[at] ^ 1, file[at] ^ 0x80] {
            let mut bytes = file.clone();
            bytes[at] = value;
            if let Err(problems) = FlowTable::read(bytes, "f") {
                contradictory +=
                    usize::from(problems.to_string().contains("its parts contradict each other"));
            }
        }
    }
    // Some of them fail an assertion of the library.
    assert!(contradictory > 0);
    assert_eq!(PRINTED.get(), 0);
    // A panic of another part is printed, on this thread and on others.
    assert!(panic::catch_unwind(|| panic!("ours")).is_err());
    assert_eq!(PRINTED.get(), 1);
    assert!(std::thread::spawn(|| panic!("elsewhere")).join().is_err());
    assert_eq!(ELSEWHERE.load(Ordering::Relaxed), 2);
}
