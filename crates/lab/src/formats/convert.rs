//! A scenario from the files of another simulator.

use incast_units::Time;

use super::fields::counted;
use super::hpcc_flows::HpccFlows;
use super::hpcc_topology::{HpccTopology, Speed};
use crate::grammar::write::Out;

/// If there are more kinds of flows than this, they become one traffic block.
const MOST_BLOCKS: usize = 16;

/// A file's path as the scenario names it, and its content.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a, T> {
    /// The path, from the scenario's folder.
    pub path: &'a str,
    /// What is in the file.
    pub content: &'a T,
}

/// The text of a scenario that names a `topology.txt` and a `flow.txt`, with the algorithm `cc`
/// (`name` or `name:preset`). Where flows differ in priority group or port, each kind gets a block.
#[must_use]
pub fn scenario(topology: Named<'_, HpccTopology>, flows: Named<'_, HpccFlows>, cc: &str) -> String {
    let mut text = String::from("# Made by `incast convert`. The scenario refers to the original files.\n");
    let mut line = |content: String| text.push_str(&(content + "\n"));
    line("\n[topology]\nkind = \"hpcc-file\"".to_owned());
    line(format!("file = {}", quoted(topology.path)));
    if topology.content.lossy().is_some() {
        line("# The file has links that lose packets; Incast treats them as lossless.".to_owned());
        line("ignore_loss = true".to_owned());
    }
    let mut types: Vec<&str> = Vec::new();
    for link in &topology.content.links {
        if let Speed::Type(name) = &link.speed
            && !types.contains(&name.as_str())
        {
            types.push(name);
        }
    }
    if !types.is_empty() {
        line("# The file does not give the rate and delay of these types: fill them in.".to_owned());
        line("types = [".to_owned());
        for name in types {
            line(format!("    {{ name = {}, rate = \"100Gbps\", delay = \"1us\" }},", quoted(name)));
        }
        line("]".to_owned());
    }
    line(
        "\n# HPCC's switches are lossless by PFC; their parameters are in config.txt, which is not read."
            .to_owned(),
    );
    line("[switch]\npfc = true".to_owned());
    let (name, preset) = cc.split_once(':').unwrap_or((cc, ""));
    line(format!("\n[cc]\nalgorithm = {}", quoted(name)));
    if !preset.is_empty() {
        line(format!("preset = {}", quoted(preset)));
    }
    let kinds = flows.content.kinds();
    let apart = kinds.len() > 1 && kinds.len() <= MOST_BLOCKS;
    let start = flows.content.first_start();
    if start != Time::ZERO {
        line(format!(
            "\n# The file's first flow starts at {start}; first = \"0s\" moves all flows to the beginning."
        ));
    }
    for (&(pg, dport), &number) in
        if apart { kinds.iter().collect() } else { kinds.iter().take(1).collect::<Vec<_>>() }
    {
        let number = if apart { number } else { flows.content.flows().len() };
        let port = dport.map(|port| format!("-port{port}")).unwrap_or_default();
        let block = if apart { format!("pg{pg}{port}") } else { "flows".to_owned() };
        line(format!("\n# {}", counted(number, "flow")));
        line(format!("[[traffic]]\nname = \"{block}\"\nkind = \"hpcc-file\""));
        line(format!("file = {}", quoted(flows.path)));
        if apart || kinds.len() == 1 {
            line(format!("pg = {pg}"));
            if let Some(port) = dport {
                line(format!("dport = {port}"));
            }
        }
        if start != Time::ZERO {
            line("first = \"0s\"".to_owned());
        }
    }
    text
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    Out::text(&text).inline()
}
