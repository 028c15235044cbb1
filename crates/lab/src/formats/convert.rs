//! A scenario from the files of other programs.

use std::path::{Path, PathBuf};

use incast_units::Time;

use super::chakra_files;
use super::chakra_workload::ChakraTrace;
use super::describe::{Format, is_trace};
use super::fields::counted;
use super::flow_table::FlowTable;
use super::goal::Goal;
use super::hpcc_flows::HpccFlows;
use super::hpcc_topology::{HpccTopology, Speed};
use super::htsim_connections::HtsimConnections;
use super::htsim_topology::HtsimTopology;
use super::simai::SimAi;
use crate::files;
use crate::grammar::write::Out;
use crate::problem::{Problem, Problems};
use crate::workload::{Workload, endless};

/// If there are more kinds of flows than this, they become one traffic block.
const MOST_BLOCKS: usize = 16;

/// A file's path as the scenario names it, and its content.
#[derive(Clone, Debug)]
pub struct Named<T> {
    /// The path, from the scenario's folder.
    pub path: String,
    /// Content of the file.
    pub content: T,
}

/// A file that describes a network.
#[derive(Clone, Debug)]
pub enum Topology {
    /// A `topology.txt`.
    Hpcc(HpccTopology),
    /// A `.topo`.
    Htsim(HtsimTopology),
}

/// A file that describes what hosts send.
#[derive(Clone, Debug)]
pub enum Work {
    /// A `flow.txt`.
    Hpcc(HpccFlows),
    /// A table of flows.
    Table(FlowTable),
    /// A GOAL schedule.
    Goal(Goal),
    /// A connection matrix.
    Htsim(HtsimConnections),
    /// The traces of all ranks; its path has `*` for the rank.
    Chakra(ChakraTrace),
    /// A workload of SimAI.
    SimAi(SimAi),
}

/// A file that a scenario can name.
#[derive(Clone, Debug)]
pub enum Content {
    /// A network.
    Topology(Topology),
    /// Work of hosts.
    Work(Work),
}

/// Reads a file, of Chakra traces the pattern of all files.
///
/// # Errors
/// When it has none of the formats that a scenario names, and all that is wrong with it.
pub fn read(path: &Path) -> Result<Content, Problems> {
    let file = path.display().to_string();
    if is_trace(path) {
        let trace = chakra_files::read(path)?.trace?;
        // What cannot be expressed is told with record and field, before a scenario is made.
        trace.workload(false)?;
        return Ok(Content::Work(Work::Chakra(trace)));
    }
    let bytes = files::read_bytes(path, files::MAX_LIST)?;
    let wrong = |message: &str| Problem::new(message).in_file(&file);
    let binary = Format::of_binary(&bytes);
    if binary == Some(Format::Goal) {
        return Ok(Content::Work(Work::Goal(Goal::read(bytes, &file)?)));
    }
    if binary == Some(Format::FlowTable) {
        return Ok(Content::Work(Work::Table(FlowTable::read(bytes, &file)?)));
    }
    let text = files::text_of(bytes, &file)?;
    Ok(match Format::of(&text) {
        Some(Format::Topology) => Content::Topology(Topology::Hpcc(HpccTopology::parse(&text, &file)?)),
        Some(Format::HtsimTopology) => {
            Content::Topology(Topology::Htsim(HtsimTopology::parse(&text, &file)?))
        }
        Some(Format::SimAi) => Content::Work(Work::SimAi(SimAi::parse(&text, &file)?)),
        Some(Format::Flows) => Content::Work(Work::Hpcc(HpccFlows::parse(&text, &file)?)),
        Some(Format::Goal) => Content::Work(Work::Goal(Goal::parse(&text, &file)?)),
        Some(Format::HtsimConnections) => Content::Work(Work::Htsim(HtsimConnections::parse(&text, &file)?)),
        Some(Format::Sizes) => {
            let message = "this file is a distribution of flow sizes, of which no scenario is made";
            let hint = "name it in a scenario: sizes = \"FILE\" in a [[traffic]] of the kind \"poisson\"";
            return Err(wrong(message).with_hint(hint).into());
        }
        Some(Format::FlowTable) => Content::Work(Work::Table(FlowTable::parse(&text, &file)?)),
        None => {
            let hint = "`incast validate FILE` says how each format begins";
            return Err(wrong("its first line matches no known format").with_hint(hint).into());
        }
    })
}

/// The files of a scenario, in any order: what hosts send, and perhaps a topology. Each has the name that the
/// scenario gives it.
///
/// # Errors
/// When one cannot be read, or there is not exactly one of the first and at most one of the second.
pub fn read_all(files: &[(PathBuf, String)]) -> Result<(Option<Named<Topology>>, Named<Work>), Problems> {
    let (mut topology, mut work) = (None, None);
    for (path, name) in files {
        let second = |what: &str| {
            let message = format!("this file is a second {what}; a scenario is made from one");
            Problem::new(message).in_file(path.display().to_string())
        };
        let found = read(path)?;
        let path = name.clone();
        match found {
            Content::Topology(_) if topology.is_some() => return Err(second("topology").into()),
            Content::Work(_) if work.is_some() => return Err(second("traffic file").into()),
            Content::Topology(content) => topology = Some(Named { path, content }),
            Content::Work(content) => work = Some(Named { path, content }),
        }
    }
    let work = work.ok_or_else(|| {
        Problem::new("a topology alone is not a scenario").with_hint(
            "also name a file with the traffic: a flow.txt, a GOAL schedule, a connection matrix of htsim \
             (.cm), a workload of SimAI, Chakra traces (.et), a table of flows (CSV, Parquet)",
        )
    })?;
    Ok((topology, work))
}

impl Topology {
    /// Returns notes on what is not taken over.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        match self {
            Self::Hpcc(topology) => topology.notes(),
            Self::Htsim(topology) => topology.notes().to_vec(),
        }
    }
}

impl Work {
    /// Returns notes on what is not taken over.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        match self {
            Self::Hpcc(flows) => flows.notes(),
            Self::Table(table) => table.notes(),
            Self::Goal(goal) => goal.workload.notes.clone(),
            Self::Htsim(matrix) => matrix.notes().to_vec(),
            // It has been read, and so can be expressed.
            Self::Chakra(trace) => trace.workload(false).map(|work| work.notes).unwrap_or_default(),
            Self::SimAi(workload) => workload.notes.clone(),
        }
    }

    /// Whether a flow is so large that it never ends.
    fn is_endless(&self) -> bool {
        let of = |work: &Workload| endless(work.flows.iter().map(|flow| flow.size)).is_some();
        match self {
            Self::Hpcc(flows) => endless(flows.flows().iter().map(|flow| flow.size)).is_some(),
            Self::Table(table) => endless(table.flows().iter().map(|flow| flow.size)).is_some(),
            Self::Goal(goal) => of(&goal.workload),
            Self::Htsim(matrix) => of(&matrix.workload(Time::ZERO)),
            Self::Chakra(trace) => trace.workload(false).is_ok_and(|work| of(&work)),
            Self::SimAi(workload) => endless(workload.exchanges().map(|exchange| exchange.size)).is_some(),
        }
    }

    /// Returns the number of its ranks or nodes; `None` for flows between the hosts of a topology.
    fn ranks(&self) -> Option<usize> {
        match self {
            Self::Hpcc(_) => None,
            Self::Table(table) => table.numbered(),
            Self::Goal(goal) => Some(goal.workload.ranks as usize),
            Self::Htsim(matrix) => Some(matrix.nodes() as usize),
            Self::Chakra(trace) => Some(trace.ranks.len()),
            Self::SimAi(workload) => Some(workload.gpus as usize),
        }
    }
}

/// Settings of a scenario that its files do not give.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choices<'a> {
    /// The algorithm: `name` or `name:preset`.
    pub cc: &'a str,
    /// Unit of the start times of a connection matrix.
    pub start_unit: Option<Time>,
}

/// The text of a scenario that names the files. Where flows of a `flow.txt` differ in priority group or port, each kind gets a block. Without a topology each rank has a host
/// at one switch.
///
/// # Errors
/// When the file needs a topology and there is none, or a choice has no effect.
pub fn scenario(
    topology: Option<&Named<Topology>>,
    work: &Named<Work>,
    Choices { cc, start_unit }: Choices<'_>,
) -> Result<String, Problem> {
    if start_unit.is_some() && !matches!(&work.content, Work::Htsim(matrix) if matrix.has_starts()) {
        let message =
            "--start-unit has no effect: it is the unit of start times of a connection matrix of htsim (.cm)";
        return Err(Problem::new(message).in_file(&work.path));
    }
    let mut text =
        Text("# Made by `incast convert`. The scenario refers to the original files.\n".to_owned());
    match topology {
        Some(Named { path, content: Topology::Hpcc(topology) }) => text.hpcc_topology(path, topology),
        Some(Named { path, content: Topology::Htsim(_) }) => {
            text.line("\n[topology]\nkind = \"htsim-file\"");
            text.file(path);
        }
        None => {
            let Some(ranks) = work.content.ranks() else {
                let message = match &work.content {
                    Work::Table(_) => {
                        "not all hosts are called h0, h1, … or numbered: name the topology that they are in, too"
                    }
                    _ => "a flow.txt names hosts of a topology: name its topology.txt, too",
                };
                return Err(Problem::new(message).in_file(&work.path));
            };
            text.line("\n# The file describes no network: its ranks are hosts at one switch.");
            text.line(&format!("[topology]\nkind = \"star\"\nhosts = {}", ranks.max(2)));
            text.line("rate = \"100Gbps\"\ndelay = \"1us\"");
        }
    }
    let (name, preset) = cc.split_once(':').unwrap_or((cc, ""));
    text.line(&format!("\n[cc]\nalgorithm = {}", quoted(name)));
    if !preset.is_empty() {
        text.line(&format!("preset = {}", quoted(preset)));
    }
    let path = &work.path;
    if work.content.is_endless() {
        text.line("\n# Some flows are so large that they never end; give the run an end.");
        text.line("# [run]\n# until = \"10ms\"");
    }
    match &work.content {
        Work::Hpcc(flows) => text.hpcc_flows(path, flows),
        Work::Table(_) => text.block("flow-table", path),
        Work::Goal(_) => text.block("goal-file", path),
        Work::SimAi(_) => text.block("simai-file", path),
        Work::Htsim(matrix) => text.htsim_connections(path, matrix, start_unit),
        Work::Chakra(trace) => {
            text.block("chakra-trace", path);
            if trace.has_ctrl_deps() {
                text.line(
                    "# ctrl_deps = true also waits for the traces' ctrl_deps, and not for data_deps alone.",
                );
            }
        }
    }
    Ok(text.0)
}

/// The text of a scenario, written line by line.
struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn file(&mut self, path: &str) {
        self.line(&format!("file = {}", quoted(path)));
    }

    fn block(&mut self, kind: &str, path: &str) {
        self.line(&format!("\n[[traffic]]\nkind = \"{kind}\""));
        self.file(path);
    }

    fn hpcc_topology(&mut self, path: &str, topology: &HpccTopology) {
        self.line("\n[topology]\nkind = \"hpcc-file\"");
        self.file(path);
        if topology.lossy().is_some() {
            self.line("# The file has links that lose packets; with ignore_loss = true they lose none.");
        }
        let mut types: Vec<&str> = Vec::new();
        for link in &topology.links {
            if let Speed::Type(name) = &link.speed
                && !types.contains(&name.as_str())
            {
                types.push(name);
            }
        }
        if !types.is_empty() {
            self.line("# The file does not give the rate and delay of these types: fill them in.");
            self.line("types = [");
            for name in types {
                self.line(&format!(
                    "    {{ name = {}, rate = \"100Gbps\", delay = \"1us\" }},",
                    quoted(name)
                ));
            }
            self.line("]");
        }
        self.line(
            "\n# HPCC's switches are lossless by PFC; their parameters are in config.txt, which is not read.",
        );
        self.line("[switch]\npfc = true");
    }

    fn htsim_connections(&mut self, path: &str, matrix: &HtsimConnections, start_unit: Option<Time>) {
        self.block("htsim-connections", path);
        if let Some(unit) = start_unit {
            self.line(&format!("start_unit = {}", quoted(&unit.to_string())));
        }
        if matrix.moved().is_some() {
            self.line("# Some connections start at one end of another when that completes at its other end; here they");
            self.line("# start when it completes at this end.");
            self.line("nearest_end = true");
        }
    }

    fn hpcc_flows(&mut self, path: &str, flows: &HpccFlows) {
        let kinds = flows.kinds();
        let apart = kinds.len() > 1 && kinds.len() <= MOST_BLOCKS;
        let start = flows.first_start();
        if start != Time::ZERO {
            self.line(&format!(
                "\n# The file's first flow starts at {start}; first = \"0s\" moves all flows to the beginning."
            ));
        }
        for (&(pg, dport), &number) in
            if apart { kinds.iter().collect() } else { kinds.iter().take(1).collect::<Vec<_>>() }
        {
            let number = if apart { number } else { flows.flows().len() };
            let port = dport.map(|port| format!("-port{port}")).unwrap_or_default();
            let block = if apart { format!("pg{pg}{port}") } else { "flows".to_owned() };
            self.line(&format!("\n# {}", counted(number, "flow")));
            self.line(&format!("[[traffic]]\nname = \"{block}\"\nkind = \"hpcc-file\""));
            self.file(path);
            if apart || kinds.len() == 1 {
                self.line(&format!("pg = {pg}"));
                if let Some(port) = dport {
                    self.line(&format!("dport = {port}"));
                }
            }
            if start != Time::ZERO {
                self.line("first = \"0s\"");
            }
            if flows.extra().is_some() {
                self.line("ignore_extra = true");
            }
        }
    }
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    Out::text(&text).inline()
}
