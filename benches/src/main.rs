//! Speed of Incast on named workloads. `make bench` calls this; see `README.md` beside it.
//!
//! Usage: `incast-bench` runs everything and prints tables; `--record` appends to the history;
//! `--only NAME…` runs these workloads alone, also those that take long; `--acks [ALGORITHM]` measures
//! acknowledgements alone, `--acks --record` adds them to their history; `--order` counts the instructions of the
//! order statistic that MSwift uses, and of a sort; `--against PROGRAM` compares with another build of this
//! program, the two in turns.
//!
//! `--count [NAME…]` counts instructions per packet-hop (all workloads, or these), `--count --check [NAME…]` fails
//! when they differ from the record in `engine-log.md`, `--count --against PROGRAM [NAME…]` compares with another build.
//!
//! `--sizes` prints the override that each workload is counted with, for `flame.py`.
//!
//! `--scaling NAME [KEY=VALUE…]` computes the speed of a workload on 2 to 32 threads from a run on one;
//! `--alone NAME THREADS [KEY=VALUE…]` runs it on one thread in the parts that THREADS threads would share, and says how
//! many hops it had: for counting what the parts cost.
//!
//! `--one NAME THREADS [SIZE]` measures one workload in this process, with flows of SIZE (the tables call this, so
//! that peak memory is that of one workload); `--small NAME KEY=VALUE…` runs a workload with overrides, for
//! counting instructions; `--idle FLOWS K` builds idle flows on a fat-tree and says what they weigh;
//! `--acks-of ALGORITHM PRESET TIMES` and `--batches-of KIND EVENTS TIMES` perform acknowledgements and `--order-of
//! METHOD DELAYS SIZE TIMES` takes samples, for counting instructions.

mod acks;
mod count;
mod measure;
mod order;
mod scaling;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use incast_lab::Scenario;
use incast_sim::record::{End, FlowRecord, FlowSample, PortSample, Progress};
use incast_sim::{Simulation, Sink};

/// The workloads, each with the numbers of threads that it is measured on.
const WORKLOADS: [(&str, &[usize]); 7] = [
    ("permutation-128", &[1]),
    ("websearch-320", &[1, 2]),
    ("incast-1000", &[1]),
    ("permutation-1024", &[1, 2]),
    ("allreduce-64-spray", &[1]),
    ("homa-256", &[1]),
    ("bfc-320", &[1]),
];

/// Workloads that run only on request.
const ON_REQUEST: [(&str, &[usize]); 1] = [("e5", &[1, 2])];

/// One flow in networks of different size: what a hop costs where nothing else happens.
const LONE: [&str; 5] = ["lone-star-16", "lone-star-60000", "lone-edge-8192", "lone-1024", "lone-8192"];

/// Runs per figure; the table shows the median.
const RUNS: usize = 3;

/// Hears nothing.
struct Silence;

impl Sink for Silence {
    fn flows(&mut self, _: &[FlowRecord]) {}
    fn port_samples(&mut self, _: &[PortSample]) {}
    fn flow_samples(&mut self, _: &[FlowSample]) {}
    fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        [] => all(false),
        ["--record"] => all(true),
        ["--only", ref names @ ..] => only(names),
        ["--acks"] => acks::all(None, false),
        ["--acks", "--record"] => acks::all(None, true),
        ["--acks", algorithm] => acks::all(Some(algorithm), false),
        ["--batches-of", kind, events, times] => acks::batches::perform(kind, events, times),
        ["--acks-of", algorithm, preset, times] => acks::perform(algorithm, preset, times),
        ["--order"] => order::all(),
        ["--order-of", method, delays, size, times] => order::perform(method, delays, size, times),
        ["--against", program] => against(program),
        ["--one", name, threads] => one(name, threads, None),
        ["--one", name, threads, size] => one(name, threads, Some(size)),
        ["--count", "--check", ref names @ ..] => count::print(names, None, true),
        ["--count", "--against", program, ref names @ ..] => count::print(names, Some(program), false),
        ["--count", ref names @ ..] => count::print(names, None, false),
        ["--sizes"] => {
            count::print_sizes();
            Ok(())
        }
        ["--small", name, ref overrides @ ..] => count::run_small(name, overrides),
        ["--scaling", name, ref overrides @ ..] => scaling::print(name, overrides),
        ["--alone", name, threads, ref overrides @ ..] => scaling::alone(name, threads, overrides),
        ["--idle", flows, k] => idle(flows, k),
        _ => Err(
            "usage: incast-bench [--record | --only NAME... | --acks [ALGORITHM | --record] | --order | --against PROGRAM \
                 | --count [--check | --against PROGRAM] [NAME...] | --sizes \
                 | --one NAME THREADS [SIZE] | --small NAME KEY=VALUE... | --scaling NAME [KEY=VALUE...] \
                 | --alone NAME THREADS [KEY=VALUE...] | --idle FLOWS K \
                 | --acks-of ALGORITHM PRESET TIMES | --batches-of KIND EVENTS TIMES | --order-of METHOD DELAYS SIZE TIMES]"
                .into(),
        ),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn simulation(path: &Path, overrides: &[String]) -> Result<Simulation, String> {
    let scenario = Scenario::load(path, overrides).map_err(|e| e.to_string())?;
    Ok(scenario.build().map_err(|e| e.to_string())?.simulation)
}

fn workload(name: &str, overrides: &[String]) -> Result<Simulation, String> {
    simulation(&folder().join("workloads").join(format!("{name}.toml")), overrides)
}

/// One run of one workload, in words that [`Figures::read`] reads.
fn one(name: &str, threads: &str, size: Option<&str>) -> Result<(), String> {
    let overrides: Vec<String> = size.map(|s| format!("traffic.0.size={s}")).into_iter().collect();
    let mut simulation = workload(name, &overrides)?;
    simulation.threads = threads.parse().map_err(|e| format!("{threads}: {e}"))?;
    let (cpu, wall) = (measure::cpu_time(), Instant::now());
    let outcome = incast_sim::run(&simulation, &mut Silence).map_err(|e| e.to_string())?;
    let (wall, cpu) = (wall.elapsed(), measure::cpu_time() - cpu);
    if outcome.end != End::Finished || !outcome.violations.is_empty() {
        return Err(format!("{name}: {:?}, {:?}", outcome.end, outcome.violations));
    }
    println!(
        "{} {} {} {} {:016x}",
        outcome.hops,
        wall.as_nanos(),
        cpu.as_nanos(),
        measure::peak_memory(),
        outcome.fingerprint
    );
    Ok(())
}

/// Prints the memory of idle flows and hosts: resident memory with them, less without.
fn idle(flows: &str, k: &str) -> Result<(), String> {
    let before = measure::memory();
    let overrides = [format!("traffic.0.count={flows}"), format!("topology.k={k}")];
    let simulation = simulation(&folder().join("workloads/idle.toml"), &overrides)?;
    let outcome = incast_sim::run(&simulation, &mut Silence).map_err(|e| e.to_string())?;
    println!("{} {}", measure::peak_memory() - before, outcome.unfinished.len());
    Ok(())
}

/// Measurements of one run.
#[derive(Clone, Debug)]
struct Figures {
    hops: u64,
    wall_ns: u64,
    cpu_ns: u64,
    peak: u64,
    fingerprint: String,
}

impl Figures {
    fn read(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [hops, wall, cpu, peak, fingerprint] = words[..] else { return None };
        Some(Self {
            hops: hops.parse().ok()?,
            wall_ns: wall.parse().ok()?,
            cpu_ns: cpu.parse().ok()?,
            peak: peak.parse().ok()?,
            fingerprint: fingerprint.to_owned(),
        })
    }

    fn per_second(&self) -> f64 {
        self.hops as f64 / self.wall_ns as f64 * 1e9
    }
}

/// This program.
fn this() -> Result<String, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    Ok(program.to_string_lossy().into_owned())
}

/// One run of one workload by a build of this program.
fn figures(program: &str, arguments: &[&str]) -> Result<Figures, String> {
    let text = measure::call(program, &[], &[&["--one"], arguments].concat())?;
    Figures::read(&text).ok_or_else(|| format!("{arguments:?}: no figures in {text:?}"))
}

fn all(record: bool) -> Result<(), String> {
    println!(
        "{}, {} threads\n",
        measure::processor(),
        std::thread::available_parallelism().map_or(1, usize::from)
    );
    let lines = table(&WORKLOADS)?;
    println!("\none flow alone    ns of CPU/hop");
    for name in LONE {
        println!("{name:<17} {:>13.1}", lone(&this()?)(name)?);
    }
    let instructions = count::all()?;
    memory()?;
    if record {
        keep(&lines, &instructions)?;
    }
    acks::all(None, record)
}

/// Runs workloads and prints a line for each; says the lines for the history.
fn table(workloads: &[(&str, &[usize])]) -> Result<Vec<String>, String> {
    println!("workload          threads  M hops/s  ns/hop  CPU/wall  peak MB  x 1 thread");
    let mut lines = Vec::new();
    for (name, threads) in workloads {
        let mut alone = None;
        for &count in *threads {
            let figures = median(name, count)?;
            let speed = figures.per_second();
            let gain = speed / *alone.get_or_insert(speed);
            println!(
                "{name:<17} {count:>7}  {:>8.2}  {:>6.1}  {:>8.2}  {:>7.1}  {gain:>10.2}",
                speed / 1e6,
                figures.wall_ns as f64 / figures.hops as f64,
                figures.cpu_ns as f64 / figures.wall_ns as f64,
                figures.peak as f64 / 1e6,
            );
            let Figures { hops, wall_ns, cpu_ns, peak, fingerprint } = figures;
            lines.push(format!("{name},{count},{hops},{wall_ns},{cpu_ns},{peak},{fingerprint}"));
        }
    }
    Ok(lines)
}

/// Runs some workloads alone.
fn only(names: &[&str]) -> Result<(), String> {
    let known = || WORKLOADS.iter().chain(&ON_REQUEST).copied();
    for name in names {
        if LONE.contains(name) {
            println!("{name:<17} {:.1} ns of CPU/hop", lone(&this()?)(name)?);
            continue;
        }
        let chosen: Vec<_> = known().filter(|(known, _)| known == name).collect();
        if chosen.is_empty() {
            let all: Vec<&str> = known().map(|(name, _)| name).chain(LONE).collect();
            return Err(format!("no workload {name}; there are {}", all.join(", ")));
        }
        table(&chosen)?;
    }
    Ok(())
}

/// CPU time of a hop of one flow alone: the difference of two sizes, so that building the network does
/// not count. (ns)
fn lone(program: &str) -> impl Fn(&str) -> Result<f64, String> {
    move |name| {
        let short = figures(program, &[name, "1", "100MB"])?;
        let long = figures(program, &[name, "1", "600MB"])?;
        Ok(long.cpu_ns.saturating_sub(short.cpu_ns) as f64 / (long.hops - short.hops) as f64)
    }
}

/// Compares this build with another one: both in turns, so that a busy or a slow machine troubles both
/// alike.
fn against(base: &str) -> Result<(), String> {
    let this = this()?;
    println!("CPU time of this build over that of the other, medians of {RUNS} runs each, in turns\n");
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[RUNS / 2]
    };
    for (name, _) in WORKLOADS {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            old.push(figures(base, &[name, "1"])?.cpu_ns as f64);
            new.push(figures(&this, &[name, "1"])?.cpu_ns as f64);
        }
        println!("{name:<17} {:>6.2}", median(new) / median(old));
    }
    println!();
    count::print(&[], Some(base), false)
}

/// The median run by wall time.
fn median(name: &str, threads: usize) -> Result<Figures, String> {
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        runs.push(figures(&this()?, &[name, &threads.to_string()])?);
    }
    runs.sort_by_key(|f| f.wall_ns);
    Ok(runs.swap_remove(RUNS / 2))
}

fn memory() -> Result<(), String> {
    let weigh = |flows: u64, k: u64| -> Result<(u64, u64), String> {
        let text = measure::call(&this()?, &[], &["--idle", &flows.to_string(), &k.to_string()])?;
        let mut words = text.split_whitespace().filter_map(|w| w.parse::<u64>().ok());
        Ok((words.next().unwrap_or(0), words.next().unwrap_or(0)))
    };
    let (few, _) = weigh(1_000, 4)?;
    let (many, _) = weigh(501_000, 4)?;
    println!("\n{} B per idle flow", many.saturating_sub(few) / 500_000);
    let (large, _) = weigh(1_000, 16)?;
    // k^3/4 hosts: 16 with k = 4, 1024 with k = 16, with their share of switches.
    println!("{} B per host, its share of the switches included", large.saturating_sub(few) / (1024 - 16));
    Ok(())
}

/// Appends what was measured to the history.
fn keep(lines: &[String], instructions: &BTreeMap<&str, f64>) -> Result<(), String> {
    let counted = |line: &String| {
        let name = line.split(',').next().unwrap_or_default();
        let count = instructions.get(name).map(|count| format!("{count:.1}")).unwrap_or_default();
        format!("{line},{count}")
    };
    append(
        "history.csv",
        "workload,threads,hops,wall_ns,cpu_ns,peak_bytes,fingerprint,instructions_per_hop",
        &lines.iter().map(counted).collect::<Vec<_>>(),
    )
}

/// Appends lines to a history in this folder, each with date, commit and machine before it.
fn append(file: &str, columns: &str, lines: &[String]) -> Result<(), String> {
    let path = folder().join(file);
    let mut text =
        std::fs::read_to_string(&path).unwrap_or_else(|_| format!("date,commit,machine,{columns}\n"));
    let date = measure::first_line("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"]);
    let commit = measure::first_line("git", &["rev-parse", "--short", "HEAD"]);
    let machine = measure::processor().replace(',', " ");
    for line in lines {
        text.push_str(&format!("{date},{commit},{machine},{line}\n"));
    }
    std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("\nadded to {}", path.display());
    Ok(())
}
