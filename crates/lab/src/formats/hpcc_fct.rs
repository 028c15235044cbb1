//! `fct.txt`: completed flows as HPCC's simulator lists them, for scripts that read such lists.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use arrow_array::types::{Int64Type, UInt32Type};

use super::address;
use super::export::{Count, Export, Failure, Written};
use crate::results::extract::{flags, numbers, texts};
use crate::results::{ResultFolder, Table, TableName};

/// UDP port by which HPCC's scripts recognise flows that are not incast.
pub const PORT_NORMAL: u16 = 100;
/// UDP port of incast flows.
pub const PORT_INCAST: u16 = 200;
/// HPCC numbers the senders' ports of a pair of hosts from here.
const FIRST_SOURCE_PORT: u32 = 10_000;

/// The format.
#[derive(Debug)]
pub struct FctList;

impl Export for FctList {
    const EXTENSIONS: &'static [&'static str] = &[".txt", ".fct"];
    const EXAMPLE: &'static str = "fct.txt";
    const SUMMARY: &'static str = "finished flows, as HPCC lists them";

    fn write(result: &ResultFolder, out: &mut dyn Write) -> Result<Written, Failure> {
        let table = result.table(TableName::Flows)?;
        let ports = ports(&result.scenario()?);
        let port = |group: &str| ports.get(group).copied().unwrap_or(PORT_NORMAL);
        let Counts { flows, left_out, uncounted } = write(&table, &port, out)?;
        let reasons = [
            (left_out, "that did not transfer all of their size"),
            (uncounted, "that started outside the measured window"),
        ];
        let notes = reasons.into_iter().filter(|(flows, _)| *flows > 0);
        Ok(Written {
            counts: vec![Count(flows, "flow")],
            notes: notes.map(|(flows, why)| format!("left out: {} {why}", Count(flows, "flow"))).collect(),
        })
    }
}

/// Numbers of flows written and left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Flows in the file.
    pub flows: usize,
    /// Flows that did not transfer their whole size, which the format cannot represent.
    pub left_out: usize,
    /// Flows that do not count.
    pub uncounted: usize,
}

/// Writes the finished flows of the table `flows`, in its order, one per line: `sip dip sport dport size
/// start fct ideal`, addresses as eight hexadecimal digits, size in bytes, times in nanoseconds. `port`
/// gives the receiver's UDP port of the flows of a group.
///
/// # Errors
/// When the file cannot be written, or the table has not the columns of a result.
pub fn write(table: &Table, port: &dyn Fn(&str) -> u16, out: &mut dyn Write) -> Result<Counts, Failure> {
    let mut flows = Vec::new();
    let mut written = Counts::default();
    for batch in &table.batches {
        let mut names = [texts(batch, "source"), texts(batch, "destination"), texts(batch, "group")]
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?;
        let mut ids = ["flow", "source_id", "destination_id"]
            .into_iter()
            .map(|name| numbers::<UInt32Type>(batch, name))
            .collect::<Result<Vec<_>, _>>()?;
        let mut quantities = ["size_bytes", "acked_bytes", "start_ps", "fct_ps", "ideal_fct_ps"]
            .into_iter()
            .map(|name| numbers::<Int64Type>(batch, name))
            .collect::<Result<Vec<_>, _>>()?;
        let mut counted = flags(batch, "counted")?;
        for _ in 0..batch.num_rows() {
            let [source, destination, group] = [0, 1, 2].map(|i| names[i].next().unwrap_or_default());
            let [flow, source_id, destination_id] =
                [0, 1, 2].map(|i| ids[i].next().flatten().unwrap_or_default());
            let values = [0, 1, 2, 3, 4].map(|i| quantities[i].next().flatten());
            if !counted.next().unwrap_or_default() {
                written.uncounted += 1;
                continue;
            }
            let [Some(size), Some(acked), Some(start), Some(fct), Some(ideal)] = values else {
                written.left_out += 1;
                continue;
            };
            if acked != size {
                written.left_out += 1;
                continue;
            }
            let pair =
                [(source, source_id), (destination, destination_id)].map(|(name, id)| number(name, id));
            flows.push((flow, pair, port(group), size, start, fct, ideal));
        }
    }
    // HPCC gives out the senders' ports when flows start; they are numbered by their start.
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_unstable_by_key(|&i| flows[i].0);
    let mut next: HashMap<[u32; 2], u32> = HashMap::new();
    let mut ports: BTreeMap<u32, u32> = BTreeMap::new();
    for i in order {
        let next = next.entry(flows[i].1).or_insert(FIRST_SOURCE_PORT);
        ports.insert(flows[i].0, *next % (1 << 16));
        *next += 1;
    }
    for (flow, [source, destination], port, size, start, fct, ideal) in &flows {
        let (source, destination) = (address(*source), address(*destination));
        let source_port = ports.get(flow).copied().unwrap_or_default();
        let [start, fct, ideal] = [start / 1000, (fct + 500) / 1000, (ideal + 500) / 1000];
        writeln!(out, "{source:08x} {destination:08x} {source_port} {port} {size} {start} {fct} {ideal}")?;
    }
    written.flows = flows.len();
    Ok(written)
}

/// Returns the receiver's UDP port of each traffic block of a scenario: the block's own (`dport`), else the
/// port of incast flows for incasts, else the normal one.
#[must_use]
pub fn ports(scenario: &str) -> BTreeMap<String, u16> {
    let (root, _) = toml::de::DeTable::parse_recoverable(scenario);
    let blocks = root.get_ref().get("traffic").and_then(|blocks| blocks.get_ref().as_array());
    let port = |block: &toml::Spanned<toml::de::DeValue<'_>>| {
        let block = block.get_ref().as_table()?;
        let text = |key: &str| block.get(key).and_then(|value| value.get_ref().as_str());
        let kind = text("kind")?;
        let written = block.get("dport").and_then(|value| value.get_ref().as_integer());
        let written = written.and_then(|port| u16::from_str_radix(port.as_str(), port.radix()).ok());
        let usual = if kind == "incast" { PORT_INCAST } else { PORT_NORMAL };
        Some((text("name").unwrap_or(kind).to_owned(), written.unwrap_or(usual)))
    };
    blocks.into_iter().flat_map(|blocks| blocks.iter()).filter_map(port).collect()
}

/// A host's number in its name, as in HPCC's files; else its number in the network.
fn number(name: &str, id: u32) -> u32 {
    name.strip_prefix('h').and_then(|digits| digits.parse().ok()).unwrap_or(id)
}
