//! The format and contents of a file of another program.

use std::path::Path;

use incast_sim::describe::work::What;
use incast_units::{Bytes, Time};

use super::chakra::ChakraRank;
use super::fields::{Lines, counted};
use super::flow_table::FlowTable;
use super::goal::Goal;
use super::hpcc_flows::HpccFlows;
use super::hpcc_topology::{HpccTopology, Speed};
use super::htsim_connections::HtsimConnections;
use super::htsim_topology::HtsimTopology;
use super::simai::{Group, SimAi};
use crate::files;
use crate::problem::{Problem, Problems};
use crate::sizes::{Scale, SizeDistribution};
use crate::workload::Workload;

/// A format, which is recognised by the first line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A network: [`HpccTopology`].
    Topology,
    /// A list of flows: [`HpccFlows`].
    Flows,
    /// A table of flows: [`FlowTable`].
    FlowTable,
    /// A distribution of flow sizes: [`SizeDistribution`].
    Sizes,
    /// A schedule: [`Goal`].
    Goal,
    /// A connection matrix of htsim: [`HtsimConnections`].
    HtsimConnections,
    /// A topology of htsim: [`HtsimTopology`].
    HtsimTopology,
    /// A workload of SimAI: [`SimAi`].
    SimAi,
}

impl Format {
    /// Its name with an article.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Topology => "a topology of HPCC's simulator",
            Self::Flows => "a flow.txt of HPCC's simulator",
            Self::FlowTable => "a table of flows",
            Self::Sizes => "a distribution of flow sizes",
            Self::Goal => "a GOAL schedule",
            Self::HtsimConnections => "a connection matrix of htsim",
            Self::HtsimTopology => "a topology of htsim",
            Self::SimAi => "a workload of SimAI",
        }
    }

    /// Recognises the format of a file that is no text by its first bytes.
    #[must_use]
    pub fn of_binary(bytes: &[u8]) -> Option<Self> {
        match bytes {
            bytes if Goal::is_binary(bytes) => Some(Self::Goal),
            bytes if FlowTable::is_parquet(bytes) => Some(Self::FlowTable),
            _ => None,
        }
    }

    /// Recognises the format by the first line. A word begins a schedule or a file of htsim, whose next words
    /// differ. For numbers, their count decides: one begins a list of flows, a pair a distribution, three or
    /// more a network.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let mut lines = Lines::new(text);
        loop {
            let fields = lines.next_line();
            let first = fields.first()?;
            if SimAi::begins(first.text) {
                return Some(Self::SimAi);
            }
            match first.text.to_ascii_lowercase().as_str() {
                // Either file of htsim begins with it.
                "nodes" => continue,
                "connections" | "triggers" | "failures" => return Some(Self::HtsimConnections),
                "tiers" | "podsize" | "tier" => return Some(Self::HtsimTopology),
                "num_ranks" => return Some(Self::Goal),
                word if word.starts_with("//") || word.starts_with("/*") => return Some(Self::Goal),
                word if word.starts_with('#') => continue,
                _ => {}
            }
            let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
            if FlowTable::begins(fields) {
                return Some(Self::FlowTable);
            }
            let is_pair = |text: &str| text.split(',').filter(|part| number(part)).count() == 2;
            return match fields.len() {
                _ if !number(first.text) => None,
                1 if is_pair(first.text) => Some(Self::Sizes),
                1 => Some(Self::Flows),
                2 => Some(Self::Sizes),
                3..=7 => Some(Self::Topology),
                _ => None,
            };
        }
    }
}

/// A summary of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Its format: `HPCC topology`.
    pub format: String,
    /// Its contents: names and texts.
    pub rows: Vec<(String, String)>,
    /// Notes on what Incast does not take over or treats differently.
    pub notes: Vec<String>,
}

/// Whether the name of a file is one of a Chakra trace, binary or JSON.
pub(super) fn is_trace(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "et" || extension == "json")
}

/// Checks a file and returns a summary of its contents.
///
/// # Errors
/// When it is none of the known formats, and all that is wrong with it.
pub fn describe(path: &Path) -> Result<Description, Problems> {
    let file = path.display().to_string();
    if is_trace(path) {
        let bytes = files::read(path, files::MAX_LIST)
            .map_err(|error| Problem::new(format!("cannot be read: {error}")).in_file(&file))?;
        return ChakraRank::read(&bytes, &file).map(|rank| of_rank(&rank));
    }
    let bytes = files::read_bytes(path, files::MAX_LIST)?;
    match Format::of_binary(&bytes) {
        Some(Format::Goal) => {
            let goal = Goal::read(bytes, &file)?;
            return Ok(of_workload("GOAL schedule, binary", &goal.workload));
        }
        Some(_) => return FlowTable::read(bytes, &file).map(|table| of_table(&table)),
        None => {}
    }
    let text = files::text_of(bytes, &file)?;
    match Format::of(&text) {
        Some(Format::Topology) => HpccTopology::parse(&text, &file).map(|topology| of_topology(&topology)),
        Some(Format::Flows) => HpccFlows::parse(&text, &file).map(|flows| of_flows(&flows)),
        Some(Format::FlowTable) => FlowTable::parse(&text, &file).map(|table| of_table(&table)),
        Some(Format::Goal) => Goal::parse(&text, &file).map(|goal| of_workload("GOAL schedule", &goal.workload)),
        Some(Format::HtsimConnections) => HtsimConnections::parse(&text, &file).map(|matrix| of_connections(&matrix)),
        Some(Format::HtsimTopology) => HtsimTopology::parse(&text, &file).map(|topology| of_htsim(&topology)),
        Some(Format::SimAi) => SimAi::parse(&text, &file).map(|workload| of_simai(&workload)),
        Some(Format::Sizes) => Ok(of_sizes(&SizeDistribution::from_text(&text, &file)?)),
        None => Err(Problem::new("its first line matches no known format")
            .in_file(file)
            .on_line(1)
            .with_hint(
                "a topology.txt begins with three numbers or more, a flow.txt with the number of flows, a table of \
                 flows with the names of its columns (source, destination, size, start), a distribution of sizes with a size and a share, a GOAL schedule with num_ranks, a file of htsim with \
                 Nodes, a workload of SimAI with HYBRID_TRANSFORMER_FWD_IN_BCKWD; the name of a Chakra trace ends in .et or .json, the name of a scenario in .toml",
            )
            .into()),
    }
}

fn row(name: &str, text: String) -> (String, String) {
    (name.to_owned(), text)
}

fn of_topology(topology: &HpccTopology) -> Description {
    let mut speeds: Vec<(String, usize)> = Vec::new();
    for link in &topology.links {
        let speed = match &link.speed {
            Speed::Given(rate, delay, _) => format!("{rate} {delay}"),
            Speed::Type(name) => format!("type {name}"),
        };
        match speeds.iter_mut().find(|(known, _)| *known == speed) {
            Some((_, number)) => *number += 1,
            None => speeds.push((speed, 1)),
        }
    }
    let speeds: Vec<String> =
        speeds.into_iter().map(|(speed, number)| format!("{number} × {speed}")).collect();
    let mut notes = topology.notes();
    if let Some(link) = topology.lossy() {
        notes.push(format!(
            "links that lose packets at random (the first on line {}); with ignore_loss = true they lose none",
            link.line
        ));
    }
    Description {
        format: format!("{} topology", topology.header.name()),
        rows: vec![
            row("hosts", topology.hosts.len().to_string()),
            row("switches", topology.switches.len().to_string()),
            row("links", speeds.join(", ")),
        ],
        notes,
    }
}

fn of_flows(flows: &HpccFlows) -> Description {
    let bytes = flows.flows().iter().map(|flow| flow.size.get()).fold(0, u64::saturating_add);
    let last = flows.flows().iter().map(|flow| flow.start).max().unwrap_or(Time::ZERO);
    let kinds = flows.kinds();
    let kinds = kinds.iter().map(|((pg, dport), number)| match dport {
        Some(port) => format!("{number} of pg {pg}, dport {port}"),
        None => format!("{number} of pg {pg}"),
    });
    let kinds: Vec<String> = kinds.collect();
    let shown = if kinds.len() > 8 { counted(kinds.len(), "kind") } else { kinds.join("; ") };
    Description {
        format: "HPCC flows".to_owned(),
        rows: vec![
            row("flows", flows.flows().len().to_string()),
            row("payload", Bytes::new(bytes).to_string()),
            row("starts", format!("{} to {last}", flows.first_start())),
            row("kinds", shown),
        ],
        notes: flows.notes(),
    }
}

fn of_table(table: &FlowTable) -> Description {
    let flows = table.flows();
    let bytes = flows.iter().map(|flow| flow.size.get()).fold(0, u64::saturating_add);
    let starts = flows.iter().map(|flow| flow.start);
    let (first, last) = (starts.clone().min().unwrap_or(Time::ZERO), starts.max().unwrap_or(Time::ZERO));
    Description {
        format: table.form().to_owned(),
        rows: vec![
            row("flows", flows.len().to_string()),
            row("hosts", table.hosts().to_string()),
            row("payload", Bytes::new(bytes).to_string()),
            row("starts", format!("{first} to {last}")),
        ],
        notes: table.notes(),
    }
}

fn of_sizes(sizes: &SizeDistribution) -> Description {
    let scale = match sizes.scale() {
        Scale::Fraction => "fractions (the last is 1)",
        Scale::Percent => "percentages (the last is 100)",
    };
    let doubt = sizes.doubt();
    let points: Vec<(Bytes, f64)> = sizes.points().collect();
    let end = |point: Option<&(Bytes, f64)>| point.map_or(Bytes::ZERO, |point| point.0);
    Description {
        format: "distribution of flow sizes".to_owned(),
        rows: vec![
            row("shares", scale.to_owned()),
            row("points", points.len().to_string()),
            row("sizes", format!("{} to {}", end(points.first()), end(points.last()))),
            row("mean", format!("{:.0} B", sizes.mean())),
        ],
        notes: doubt.into_iter().flat_map(|doubt| [Some(doubt.problem), doubt.hint]).flatten().collect(),
    }
}

fn of_workload(format: &str, work: &Workload) -> Description {
    let bytes = work.flows.iter().map(|flow| flow.size.get()).fold(0, u64::saturating_add);
    let count =
        |wanted: fn(&What) -> bool| work.operations.iter().filter(|o| wanted(&o.what)).count().to_string();
    Description {
        format: format.to_owned(),
        rows: vec![
            row("ranks", work.ranks.to_string()),
            row("messages", work.flows.len().to_string()),
            row("payload", Bytes::new(bytes).to_string()),
            row("sends", count(|what| matches!(what, What::Send { .. }))),
            row("receives", count(|what| matches!(what, What::Receive { .. }))),
            row("computes", count(|what| matches!(what, What::Compute { .. }))),
        ],
        notes: work.notes.clone(),
    }
}

fn of_connections(matrix: &HtsimConnections) -> Description {
    // The unit, which the file does not give, only matters for the starts.
    let work = matrix.workload(Time::from_us(1));
    let bytes = work.flows.iter().map(|flow| flow.size.get()).fold(0, u64::saturating_add);
    let waiting = work.operations.iter().filter(|operation| !operation.after.is_empty()).count();
    let mut notes = work.notes;
    if matrix.has_starts() {
        let last = matrix.last_start();
        notes.push(format!(
            "start: the last is {last}, and the file does not say its unit; a scenario must (start_unit), and \
             `incast convert` needs --start-unit"
        ));
    }
    if let Some(line) = matrix.moved() {
        notes.push(format!(
            "connections that start at one end of another when that completes at its other end (the first on line \
             {line}): a scenario must say nearest_end = true"
        ));
    }
    Description {
        format: "htsim connections".to_owned(),
        rows: vec![
            row("nodes", matrix.nodes().to_string()),
            row("flows", matrix.len().to_string()),
            row("triggered", waiting.to_string()),
            row("payload", Bytes::new(bytes).to_string()),
        ],
        notes,
    }
}

fn of_simai(workload: &SimAi) -> Description {
    let groups = Group::ALL.map(|group| format!("{} {}", group.name(), workload.size_of(group)));
    let counts = workload.counts();
    let counts = counts.iter().map(|(word, (number, bytes))| {
        let bytes = Bytes::new(u64::try_from(*bytes).unwrap_or(u64::MAX));
        format!("{number} {word} ({bytes})")
    });
    Description {
        format: "SimAI workload".to_owned(),
        rows: vec![
            row("GPUs", workload.gpus.to_string()),
            row("groups", format!("of GPUs: {}", groups.join(", "))),
            row("layers", workload.layers.len().to_string()),
            row("collectives", counts.collect::<Vec<_>>().join("; ")),
            row("computation", format!("{} of each GPU in a pass", workload.computes())),
        ],
        notes: workload.notes.clone(),
    }
}

fn of_htsim(topology: &HtsimTopology) -> Description {
    let tiers = topology.tiers.iter().map(|tier| {
        let each = format!("{} with {} × {} down, {}", tier.switches, tier.down, tier.rate, tier.delay);
        if tier.latency > Time::ZERO { format!("{each}, latency {}", tier.latency) } else { each }
    });
    Description {
        format: "htsim topology".to_owned(),
        rows: vec![
            row("hosts", topology.hosts.to_string()),
            row("pods", topology.pods.to_string()),
            row("tiers", tiers.collect::<Vec<_>>().join("; ")),
        ],
        notes: topology.notes().to_vec(),
    }
}

fn of_rank(rank: &ChakraRank) -> Description {
    let kinds = rank.kinds();
    let mut nodes: Vec<String> =
        kinds.iter().map(|(kind, number)| format!("{number} {}", kind.name())).collect();
    if rank.launches() > 0 {
        nodes.push(format!("{} of these only launch a communication (is_cpu_op)", rank.launches()));
    }
    Description {
        format: "Chakra trace of one rank".to_owned(),
        rows: vec![row("version", rank.version().to_owned()), row("nodes", nodes.join(", "))],
        notes: vec![
            "names, inputs, outputs, start times and most attributes: not taken over".to_owned(),
            "its messages and collectives are checked against the traces of the other ranks when a scenario names \
             all of them"
                .to_owned(),
        ],
    }
}
