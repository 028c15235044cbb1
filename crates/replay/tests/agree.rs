//! Every algorithm does the same in every form in which it is built. A build with optimisation replays 250 thousand
//! calls of each (`make test-release`), one without a few thousand; `make replay` a million.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use incast_capi::list::{incast_cc_count, incast_cc_describe};
use incast_capi::status::incast_status;
use incast_capi::types::incast_info;
use incast_cc::AnyParams;
use incast_cc::any::CATALOGUE;
use incast_replay::agree::{Flip, agree};
use incast_replay::record::{Pool, record};
use incast_replay::targets::{self, Target};
use incast_replay::trace::MEDIAN;
use incast_replay::trace::{Call, Reader, Record};

const CALLS: u64 = if cfg!(debug_assertions) { 10_000 } else { 250_000 };
/// Random events that the traces are made of.
const EVENTS: usize = if cfg!(debug_assertions) { 10_000 } else { 1 << 17 };

fn folder(test: &str) -> PathBuf {
    // Beside that of `incast-replay`: both have the same objects and the same module.
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name(format!("replay-{test}"))
}

/// The targets that there are; the others are named.
fn targets(folder: &Path, algorithms: &[&str]) -> Vec<Target> {
    // Building and verifying for the kernel takes 30 seconds of CPU time: once is enough.
    let kernel = if cfg!(debug_assertions) { &[] } else { algorithms };
    let (targets, lacking) = targets::all(folder, kernel).unwrap();
    lacking.iter().for_each(|reason| println!("left out: {reason}"));
    // A target that there is has every algorithm.
    for Target { name, lacking, .. } in &targets {
        assert!(lacking.is_empty(), "{name} lacks {lacking:?}");
    }
    targets
}

/// Every algorithm that the C interface lists.
fn names() -> Vec<String> {
    let describe = |place| {
        let mut info = std::mem::MaybeUninit::<incast_info>::uninit();
        #[expect(unsafe_code, reason = "it is a function of C")]
        // SAFETY: a place for what it writes, which it has written when all is well.
        let name = unsafe {
            assert_eq!(incast_cc_describe(place, info.as_mut_ptr()), incast_status::INCAST_OK);
            let name = info.assume_init().name;
            std::slice::from_raw_parts(name.text.cast::<u8>(), name.length)
        };
        String::from_utf8(name.to_vec()).unwrap()
    };
    (0..incast_cc_count()).map(describe).collect()
}

#[test]
fn every_algorithm_does_the_same_in_every_target() {
    let folder = folder("all");
    let (names, pool) = (names(), Pool::new(EVENTS).unwrap());
    let known: Vec<_> = CATALOGUE.iter().map(|info| info.name).collect();
    assert_eq!(names, known, "the C interface has other algorithms than the catalogue");
    let filtered = |name: &&String| AnyParams::named(name, None).unwrap().filtered().is_some();
    let behind: Vec<_> = names.iter().filter(filtered).map(|name| format!("{MEDIAN}{name}")).collect();
    assert_eq!(behind.len(), 6);
    let names = [names, behind].concat();
    let targets = targets(&folder, &known);
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            // A median's state is of some kilobytes, all of which is compared after each call.
            let calls = if name.starts_with(MEDIAN) { CALLS / 20 } else { CALLS };
            let found =
                agree(name, calls, &pool, &targets, &folder, None).unwrap_or_else(|told| panic!("{told}"));
            assert!(found.simulated >= calls / 8 && found.random >= calls / 2, "{name}: {found:?}");
            assert!(found.simulated + found.random >= calls, "{name}: {found:?}");
            // The traces bring the algorithms to change their minds, and little of a state is padding.
            assert!(name == "constant" || found.changes > calls / 50, "{name}: {found:?}");
            assert!(found.padding <= found.state / 3, "{name}: {found:?}");
        }
    };
    thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn a_bit_that_a_target_reads_wrong_is_found_and_named() {
    let folder = folder("flip");
    let (targets, pool) = (targets(&folder, &["swift"]), Pool::new(4_000).unwrap());
    // The first acknowledgement after a while: the packet has left 2^21 ps earlier or later.
    let records = record("swift", 5_000, &pool).unwrap();
    let steps = Reader::new(records.writer.bytes()).filter(|record| !matches!(record, Record::Parameters(_)));
    let is_ack =
        |(step, record): &(usize, Record)| *step > 3_000 && matches!(record, Record::Call(Call::Ack(..)));
    let (step, _) = steps.enumerate().find(is_ack).unwrap();
    for target in &targets {
        let flip = Flip { target: target.name, step: step as u64, bit: 64 + 21 };
        let told = agree("swift", 5_000, &pool, &targets, &folder, Some(flip)).unwrap_err();
        let first = format!("swift: native and {} differ after step {step}\n", target.name);
        assert!(told.starts_with(&first), "{told}");
        assert!(told.contains(" (rtt): 0x"), "{told}");
        assert!(told.contains("\n  told: Ack { now: "), "{told}");
        assert!(told.contains("\n  by a flow of swift:paper, Path {"), "{told}");
    }
}
