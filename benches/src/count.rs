//! Instructions per packet-hop, under callgrind.
//!
//! Times vary with the machine and its neighbours; instructions of one build do not. So they decide whether a
//! change costs or saves, and `--count --check` stands in the pipeline.

use std::collections::BTreeMap;

use incast_sim::Outcome;
use incast_sim::Simulation;

use crate::{Silence, folder, measure, workload};

/// A workload as it is counted: its name, the override that makes it small enough for callgrind and large enough
/// that queues, marks and pauses occur as in the workload itself, and the override that leaves almost nothing but
/// building the network, or fewer hops. The difference of both is what the other hops cost.
type Counted = (&'static str, &'static str, &'static str);

const SIZES: [Counted; 10] = [
    ("permutation-128", "traffic.0.size=250KB", NOTHING),
    ("permutation-1024", "traffic.0.size=60KB", NOTHING),
    ("websearch-320", "traffic.0.flows=60", "traffic.0.flows=1"),
    ("incast-1000", "traffic.0.size=100KB", NOTHING),
    ("allreduce-64-spray", "traffic.0.passes=1", NOTHING),
    ("homa-256", "traffic.0.flows=60", "traffic.0.flows=1"),
    ("bfc-320", "traffic.0.flows=60", "traffic.0.flows=1"),
    ("lone-star-16", "traffic.0.size=4MB", NOTHING),
    ("lone-star-60000", "traffic.0.size=4MB", SHORTER),
    ("lone-edge-8192", "traffic.0.size=4MB", SHORTER),
];

/// Ends a run before the first packet has crossed a link.
const NOTHING: &str = "run.until=1ps";

/// A flow of a quarter. In a large network the allocator moves growing vectors at other times if the scenario's text has
/// another length, and that is more than what the hops cost.
const SHORTER: &str = "traffic.0.size=1MB";

/// Largest difference from the record that `--check` accepts, as a share.
const TOLERANCE: f64 = 0.01;

/// The log of the engine, in this crate's folder.
const LOG: &str = "engine-log.md";

/// Prints each workload that is counted, with the override that makes it small.
pub(crate) fn print_sizes() {
    SIZES.iter().for_each(|(name, small, _)| println!("{name} {small}"));
}

/// Runs a workload in this process and prints its hops. Callgrind counts inside [`counted`] only.
pub(crate) fn run_small(name: &str, overrides: &[&str]) -> Result<(), String> {
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    println!("{}", counted(&workload(name, &overrides)?)?.hops);
    Ok(())
}

/// The run that is counted. Never inlined: callgrind finds it by its name.
#[inline(never)]
fn counted(simulation: &Simulation) -> Result<Outcome, String> {
    incast_sim::run(simulation, &mut Silence).map_err(|e| e.to_string())
}

/// Prints the instructions per packet-hop of `names` (of all workloads, if there are none), and compares them
/// with `base`, or with the record in `engine-log.md` if `check`.
pub(crate) fn print(names: &[&str], base: Option<&str>, check: bool) -> Result<(), String> {
    let program = crate::this()?;
    let record = if check { Some(Record::read()?) } else { None };
    let mut off = Vec::new();
    println!(
        "instructions per packet-hop  {}",
        if base.is_some() || check { "before     now" } else { "now" }
    );
    for counted in chosen(names)? {
        let name = counted.0;
        let now = per_hop(&program, counted)?;
        let before = match (base, &record) {
            (Some(base), _) => per_hop(base, counted)?,
            (None, Some(record)) => record.of(name)?,
            (None, None) => {
                println!("{name:<28} {now:>7.1}");
                continue;
            }
        };
        let change = now / before - 1.0;
        println!("{name:<28} {before:>7.1} {now:>7.1}  {:+.2} %", change * 100.0);
        if change.abs() > TOLERANCE {
            off.push(format!("{name} takes {now:.1} instructions, and {before:.1} are recorded"));
        }
    }
    match record {
        Some(record) if !off.is_empty() => Err(record.complaint(&off)),
        _ => Ok(()),
    }
}

/// The recorded counts: the table at the top of the log of the engine, where each change of a count has an entry.
struct Record {
    counts: BTreeMap<String, f64>,
    /// The compiler with which they were counted, as it names itself.
    compiler: String,
}

impl Record {
    /// Before the name of the compiler, which ends at the next back-quote.
    const COMPILER: &str = "Counted with `";

    /// The column of a row of the table that has the count: after an empty one, the name and the count long ago.
    const COLUMN: usize = 3;

    fn read() -> Result<Self, String> {
        let path = folder().join(LOG);
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let compiler = text.split_once(Self::COMPILER).and_then(|(_, rest)| rest.split_once('`'));
        let (compiler, _) = compiler.ok_or_else(|| format!("{LOG} does not say: {}…`", Self::COMPILER))?;
        let row = |line: &str| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let name = cells.get(1)?.strip_prefix('`')?.strip_suffix('`')?;
            Some((name.to_owned(), cells.get(Self::COLUMN)?.parse().ok()?))
        };
        Ok(Self { counts: text.lines().filter_map(row).collect(), compiler: compiler.to_owned() })
    }

    fn of(&self, name: &str) -> Result<f64, String> {
        self.counts.get(name).copied().ok_or_else(|| format!("{name} has no row in the table of {LOG}"))
    }

    /// The message about workloads whose counts are off.
    fn complaint(&self, off: &[String]) -> String {
        let mut text = format!(
            "{}: more than {} % apart. Where this is meant, {LOG} needs an entry, and its table the new count.",
            off.join("; "),
            TOLERANCE * 100.0,
        );
        let compiler = measure::first_line("rustc", &["--version"]);
        if compiler != self.compiler {
            text += &format!(" It was counted with `{}`; this is `{compiler}`.", self.compiler);
        }
        text
    }
}

/// Counts every workload: its name and the number, for the history. Empty without valgrind.
pub(crate) fn all() -> Result<BTreeMap<&'static str, f64>, String> {
    if measure::first_line("valgrind", &["--version"]) == "-" {
        println!("\ninstructions per packet-hop: valgrind is not installed");
        return Ok(BTreeMap::new());
    }
    println!();
    let program = crate::this()?;
    let mut found = BTreeMap::new();
    for counted in SIZES {
        let (name, count) = (counted.0, per_hop(&program, counted)?);
        println!("{name}: {count:.1} instructions per packet-hop");
        found.insert(name, count);
    }
    Ok(found)
}

fn chosen(names: &[&str]) -> Result<Vec<Counted>, String> {
    if names.is_empty() {
        return Ok(SIZES.to_vec());
    }
    let find = |name: &&str| SIZES.iter().find(|(known, ..)| known == name).copied();
    names.iter().map(|name| find(name).ok_or_else(|| format!("{name} is not counted"))).collect()
}

/// Instructions per packet-hop of one workload.
fn per_hop(program: &str, (name, small, nothing): Counted) -> Result<f64, String> {
    let count = |change: &str| -> Result<(f64, f64), String> {
        let (hops, instructions) = measure::instructions(
            program,
            &["--toggle-collect=*count*counted*"],
            &["--small", name, change],
        )?;
        let hops: f64 = hops.trim().parse().map_err(|e| format!("{name}: {e}"))?;
        match instructions {
            0 => Err(format!("{name}: callgrind counted nothing; the build has no function `counted`")),
            _ => Ok((hops, instructions as f64)),
        }
    };
    let ((hops, whole), (none, building)) = (count(small)?, count(nothing)?);
    Ok((whole - building) / (hops - none))
}
