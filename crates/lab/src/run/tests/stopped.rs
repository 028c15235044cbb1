//! Runs that end before their time: killed, stopped on request, or by a full disk.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::*;

/// An engine that writes `parts` parts, slowly.
fn slow(parts: u64) -> impl Fn(&Simulation, &mut dyn Sink) -> Result<Outcome, Invalid> {
    move |_, sink| {
        for i in 0..parts {
            let from = i * GROUP_ROWS as u64;
            sink.port_samples(&samples(from..from + GROUP_ROWS as u64));
            if sink.progress(&Progress::default()).is_break() {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(finished(parts))
    }
}

/// Tell the child of a test where to write and how many parts.
const CHILD: [&str; 2] = ["INCAST_TEST_CHILD_OUT", "INCAST_TEST_CHILD_PARTS"];

/// Not a test of its own: the child process of those below, which call it by name.
#[test]
#[ignore = "the child process of other tests"]
fn child_that_writes_slowly() {
    let [Ok(out), Ok(parts)] = CHILD.map(std::env::var) else { return };
    if let Err(error) = run_here(&slow(parts.parse().unwrap()), Some(Path::new(&out)), false) {
        eprintln!("{error}");
        std::process::exit(3);
    }
}

/// More parts than a child gets to write before it is stopped; it ends by itself if it is not.
const MANY: u64 = 2_000;

/// The child that writes this many parts, after these commands of the shell.
fn child(out: &Path, parts: u64, prefix: &str) -> Command {
    let test = "run::tests::stopped::child_that_writes_slowly";
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{prefix} exec \"$0\" --ignored --exact --nocapture {test}"));
    shell.arg(std::env::current_exe().unwrap()).stdout(Stdio::null());
    shell.env(CHILD[0], out).env(CHILD[1], parts.to_string());
    shell
}

/// Checks that the port samples are the first ones, whole, and says how many parts they fill.
fn parts_on_disk(folder: &ResultFolder) -> u64 {
    let table = folder.table(TableName::PortSeries).unwrap();
    let rows = table.rows() as u64;
    assert_eq!(rows % GROUP_ROWS as u64, 0);
    let simulation = simulation();
    if rows > 0 {
        assert_eq!(
            whole(&table),
            PortSeries::batch(&samples(0..rows), &Labels::new(&simulation, &[], &[], &[]))
        );
    }
    rows / GROUP_ROWS as u64
}

#[test]
#[cfg(unix)]
fn a_killed_run_reads_back_to_its_last_part_and_can_be_run_again() {
    let scratch = Scratch::new("kill");
    let out = scratch.0.join("out");
    let mut process = child(&out, MANY, "").spawn().unwrap();
    let has_part = |number: &str| {
        let folder = out.join("port_series");
        folder.exists() && names(&folder).iter().any(|name| name.starts_with(number))
    };
    while !has_part("part-00003.") {
        assert!(process.try_wait().unwrap().is_none(), "the child ended by itself");
        thread::sleep(Duration::from_millis(2));
    }
    // While it runs: readable, and nobody else may write there.
    let folder = ResultFolder::open(&out).unwrap();
    assert_eq!(folder.state(), State::Running);
    assert!(parts_on_disk(&folder) >= 4);
    let error = run_here(&incast_sim::run, Some(&out), true).unwrap_err();
    assert!(matches!(error, RunError::Result(ResultError::Running(_))), "{error}");

    process.kill().unwrap(); // SIGKILL
    process.wait().unwrap();
    let folder = ResultFolder::open(&out).unwrap();
    assert_eq!(folder.state(), State::Incomplete);
    assert!(parts_on_disk(&folder) >= 4);
    assert_eq!((folder.info().seed, folder.info().outcome.is_some()), (7, false));
    assert_eq!(folder.scenario().unwrap(), SCENARIO);
    assert_eq!(folder.table(TableName::Flows).unwrap().rows(), 0);

    // What a kill in the middle of a part and of a merge leaves behind.
    fs::write(out.join("port_series/.part-00099.parquet.tmp"), "half").unwrap();
    fs::write(out.join(".flows.parquet.tmp"), "half").unwrap();
    let again = run_here(&incast_sim::run, Some(&out), false).unwrap();
    assert!(again.notices[0].contains("removed an incomplete result"), "{:?}", again.notices);
    let folder = ResultFolder::open(&out).unwrap();
    assert_eq!(folder.state(), State::Complete);
    assert_eq!(
        whole(&folder.table(TableName::PortSeries).unwrap()),
        whole(&again.table(TableName::PortSeries).unwrap())
    );
    assert_eq!(names(&out).len(), 7);
}

/// A file of the child may not grow beyond `blocks` of 512 B: a write then fails as on a full disk.
#[cfg(unix)]
fn stopped_by_size_limit(out: &Path, parts: u64, blocks: u64) -> (String, ResultFolder) {
    let limit = format!("trap '' XFSZ; ulimit -f {blocks};");
    let output = child(out, parts, &limit).stderr(Stdio::piped()).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(!message.contains("panicked"), "{message}");
    (message, ResultFolder::open(out).unwrap())
}

#[test]
#[cfg(unix)]
fn a_disk_that_takes_no_more_stops_the_run_with_an_error() {
    let scratch = Scratch::new("full");
    let out = scratch.0.join("out");
    let (message, folder) = stopped_by_size_limit(&out, MANY, 32);
    assert!(message.contains("cannot write") && message.contains("part-00000.parquet: "), "{message}");
    assert_eq!((folder.state(), parts_on_disk(&folder)), (State::Incomplete, 0));
    assert_eq!(names(&out.join("port_series")), Vec::<String>::new(), "half a part was left");
}

#[test]
#[cfg(unix)]
fn a_disk_too_full_to_merge_keeps_the_parts() {
    let scratch = Scratch::new("full-merge");
    let out = scratch.0.join("out");
    // How large a part is tells a limit that one part keeps and eight together do not.
    run_here(&slow(1), Some(&out), false).unwrap();
    let part = fs::metadata(out.join("port_series.parquet")).unwrap().len();
    fs::remove_dir_all(&out).unwrap();
    let (message, folder) = stopped_by_size_limit(&out, 8, part * 2 / 512);
    assert!(message.contains("cannot write") && message.contains("port_series.parquet: "), "{message}");
    assert_eq!((folder.state(), parts_on_disk(&folder)), (State::Incomplete, 8));
    assert!(!names(&out).iter().any(|name| name.starts_with('.') || name == "port_series.parquet"));
}

#[test]
#[ignore = "needs root to mount a small tmpfs"]
fn a_full_disk_stops_the_run_with_an_error() {
    let scratch = Scratch::new("tmpfs");
    let mount = |program: &str, arguments: &[&str]| {
        assert!(Command::new(program).args(arguments).arg(&scratch.0).status().unwrap().success());
    };
    mount("mount", &["-t", "tmpfs", "-o", "size=1m", "tmpfs"]);
    let output = child(&scratch.0.join("out"), MANY, "").stderr(Stdio::piped()).output().unwrap();
    let folder = ResultFolder::open(scratch.0.join("out")).unwrap();
    let parts = parts_on_disk(&folder);
    let state = folder.state();
    mount("umount", &[]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("No space left on device") && message.contains("free some space"), "{message}");
    assert!(state == State::Incomplete && parts > 0, "{state:?}, {parts} parts");
}

#[test]
fn a_stop_on_request_is_a_complete_result() {
    let scratch = Scratch::new("stop");
    let simulation = simulation();
    let names = labels();
    let job = job(&simulation, &names);
    let options = RunOptions { out: Some(scratch.0.clone()), ..RunOptions::default() };
    let engine = |_: &Simulation, sink: &mut dyn Sink| {
        sink.port_samples(&samples(0..10));
        assert!(sink.progress(&Progress::default()).is_break());
        Ok(Outcome { end: End::Interrupted, ..finished(5) })
    };
    run_on(&engine, &job, &options, &mut |_| ControlFlow::Break(())).unwrap();
    let folder = ResultFolder::open(&scratch.0).unwrap();
    let outcome = folder.info().outcome.as_ref().unwrap();
    assert_eq!((folder.state(), outcome.end.as_str()), (State::Complete, "interrupted"));
    assert_eq!(folder.table(TableName::PortSeries).unwrap().rows(), 10);
}

#[test]
fn what_is_there_is_on_disk_after_two_seconds() {
    let scratch = Scratch::new("flush");
    let rows_on_disk =
        || ResultFolder::open(&scratch.0).unwrap().table(TableName::PortSeries).unwrap().rows();
    let engine = |_: &Simulation, sink: &mut dyn Sink| {
        sink.port_samples(&samples(0..10));
        assert!(sink.progress(&Progress::default()).is_continue());
        assert_eq!(rows_on_disk(), 0);
        thread::sleep(FLUSH_EVERY);
        assert!(sink.progress(&Progress::default()).is_continue());
        assert_eq!(rows_on_disk(), 10);
        Ok(finished(1))
    };
    run_here(&engine, Some(&scratch.0), false).unwrap();
}
