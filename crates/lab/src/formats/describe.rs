//! The format and contents of a file of another program.

use std::path::Path;

use incast_units::{Bytes, Time};

use super::fields::{Lines, counted};
use super::hpcc_flows::HpccFlows;
use super::hpcc_topology::{HpccTopology, Speed};
use crate::grammar::foreign::read_text;
use crate::problem::{Problem, Problems};
use crate::sizes::{Scale, SizeDistribution};

/// A format, which is recognised by the first line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A network: [`HpccTopology`].
    Topology,
    /// A list of flows: [`HpccFlows`].
    Flows,
    /// A distribution of flow sizes: [`SizeDistribution`].
    Sizes,
}

impl Format {
    /// Tells the format by the number of fields on the first line: one number begins a list of flows,
    /// a pair a distribution, three or more a network.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let mut lines = Lines::new(text);
        loop {
            let fields = lines.next_line();
            let first = fields.first()?;
            if first.text.starts_with('#') {
                continue;
            }
            let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
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
    /// What Incast does not take over or treats differently.
    pub notes: Vec<String>,
}

/// Checks a file and returns a summary of its contents.
///
/// # Errors
/// When it is none of the known formats, and all that is wrong with it.
pub fn describe(path: &Path) -> Result<Description, Problems> {
    let file = path.display().to_string();
    let text = read_text(path)?;
    match Format::of(&text) {
        Some(Format::Topology) => HpccTopology::parse(&text, &file).map(|topology| of_topology(&topology)),
        Some(Format::Flows) => HpccFlows::parse(&text, &file).map(|flows| of_flows(&flows)),
        Some(Format::Sizes) => Ok(of_sizes(&SizeDistribution::from_text(&text, &file)?)),
        None => Err(Problem::new("its first line matches no known format")
            .in_file(file)
            .on_line(1)
            .with_hint(
                "a topology.txt begins with three numbers or more, a flow.txt with the number of flows, a \
                 distribution of sizes with a size and a share; a scenario's name ends in .toml",
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
            "links that lose packets at random (the first on line {}): a scenario must say ignore_loss = true",
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

fn of_sizes(sizes: &SizeDistribution) -> Description {
    let scale = match sizes.scale() {
        Scale::Fraction => "fractions (the last is 1)",
        Scale::Percent => "percentages (the last is 100)",
    };
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
        notes: Vec::new(),
    }
}
