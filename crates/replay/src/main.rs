//! `incast-replay --costs [--record] [ALGORITHM…]` prints what an acknowledgement costs in WebAssembly and in the kernel,
//! and adds it to `benches/targets.csv`.
//! `incast-replay --recordings FILE…` replays recordings of real connections through every target, and compares with what
//! the kernel computed.
//! `incast-replay [ALGORITHM…] [--calls N]` replays traces of the algorithms (of all, without names) through every
//! target that this machine can build, and compares. It ends with 1 at a difference.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use incast_cc::AnyParams;
use incast_cc::any::CATALOGUE;
use incast_replay::agree::{agree, agree_with_kernel};
use incast_replay::record::{Pool, acknowledged};
use incast_replay::recording::Recording;
use incast_replay::targets::{self, Target};
use incast_replay::{native, trace};

/// Least number of calls replayed for each algorithm.
const CALLS: u64 = 1_000_000;
/// Random events that the traces are made of.
const EVENTS: usize = 1 << 17;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match compare(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: &[String]) -> Result<(), String> {
    let (mut names, mut calls, mut rest) = (Vec::new(), CALLS, arguments.iter());
    let (mut costs, mut record) = (false, false);
    if let [first, files @ ..] = arguments
        && first == "--recordings"
    {
        return recordings(files);
    }
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--costs" => costs = true,
            "--record" => record = true,
            "--calls" => {
                let number = rest.next().ok_or("--calls needs a number")?;
                calls = number.parse().map_err(|error| format!("--calls {number}: {error}"))?;
            }
            name if CATALOGUE.iter().any(|info| info.name == name) => names.push(name),
            other => {
                return Err(format!(
                    "{other:?} is no algorithm\nusage: incast-replay [ALGORITHM…] [--calls N | --costs [--record]], or incast-replay --recordings FILE…"
                ));
            }
        }
    }
    if names.is_empty() {
        names = CATALOGUE.iter().map(|info| info.name).collect();
    }
    let (targets, folder) = found(&names)?;
    if costs {
        return print_costs(&names, &targets, &folder, record);
    }
    let pool = Pool::new(EVENTS)?;
    println!("algorithm        simulated    random  state (padding)  equal in");
    for name in names {
        let began = Instant::now();
        let found = agree(name, calls, &pool, &targets, &folder, None)?;
        println!(
            "{name:<16} {:>9} {:>9}  {:>5} ({:>2}) bytes  native {} ({:.1} s)",
            found.simulated,
            found.random,
            found.state,
            found.padding,
            equal(name, &targets),
            began.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

/// The targets that there are, and their folder; the others are named.
fn found(names: &[&str]) -> Result<(Vec<Target>, PathBuf), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/replay");
    let (targets, lacking) = targets::all(&folder, names)?;
    lacking.iter().for_each(|reason| println!("left out: {reason}"));
    for target in &targets {
        for (name, reason) in &target.lacking {
            println!("left out: {name} in {}: {reason}", target.name);
        }
    }
    Ok((targets, folder))
}

fn equal(name: &str, targets: &[Target]) -> String {
    let equal = targets.iter().filter(|target| target.has(name)).map(|target| target.name);
    equal.collect::<Vec<_>>().join(" ")
}

fn recordings(files: &[String]) -> Result<(), String> {
    let read = |file: &String| {
        let bytes = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
        Recording::read(&bytes).map_err(|reason| format!("{file}: {reason}"))
    };
    let all = files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<&str> = all.iter().map(|recording| recording.algorithm.as_str()).collect();
    let (targets, folder) = found(&names)?;
    println!("algorithm        connections   steps  changes  equal in");
    for recording in &all {
        let (name, steps) = (recording.algorithm.as_str(), recording.steps());
        let found = agree_with_kernel(recording, &targets, &folder)?;
        let (connections, changes) = (recording.connections, found.changes);
        println!(
            "{name:<16} {connections:>11} {steps:>7}  {changes:>7}  kernel native {}",
            equal(name, &targets)
        );
    }
    Ok(())
}

/// Acknowledgements that are measured, and how often each.
const MEASURED: usize = 16_384;
const RUNS: u32 = 30;

/// Prints nanoseconds of an acknowledgement, of every preset.
fn print_costs(names: &[&str], targets: &[Target], folder: &Path, record: bool) -> Result<(), String> {
    let mut lines = Vec::new();
    println!("{COLUMNS}");
    for name in names {
        let mut presets = Vec::new();
        let params = AnyParams::named(name, None).ok_or_else(|| format!("no algorithm {name}"))?;
        params.presets(|preset, _| presets.push(preset));
        for preset in presets {
            let records = acknowledged(name, preset, MEASURED)?;
            let file = folder.join(format!("{name}.trace"));
            let mask = native::mask(records.bytes())?;
            let setups = native::setups(records.bytes())?;
            for (path, bytes) in
                [(&file, trace::whole(&mask, &records)), (&file.with_extension("setups"), setups)]
            {
                fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
            }
            let cost = |wanted| {
                let Some(target) = targets.iter().find(|target| target.name == wanted && target.has(name))
                else {
                    return Ok(String::new());
                };
                target.cost(&file, RUNS).map(|ns| format!("{:.1}", ns / MEASURED as f64))
            };
            lines.push(format!("{name},{preset},{},{}", cost("wasm")?, cost("bpf")?));
            println!("{}", lines[lines.len() - 1]);
        }
    }
    if record { keep(&lines) } else { Ok(()) }
}

const COLUMNS: &str = "algorithm,preset,wasm_ns,bpf_ns";

/// Appends lines to the history, each with date, commit and machine before it.
fn keep(lines: &[String]) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/targets.csv");
    let mut text = fs::read_to_string(&path).unwrap_or_else(|_| format!("date,commit,machine,{COLUMNS}\n"));
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        output.map_or("-".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let (date, commit) =
        (said("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"]), said("git", &["rev-parse", "--short", "HEAD"]));
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("-");
    let machine = model.trim_start_matches([':', ' ', '\t']).replace(',', " ");
    lines.iter().for_each(|line| text.push_str(&format!("{date},{commit},{machine},{line}\n")));
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}
