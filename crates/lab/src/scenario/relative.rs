//! Amounts of bytes of `[switch]` as shares of the bandwidth-delay product: `"0.2 BDP"`.
//!
//! They become bytes before any section is read, so that a scenario that was read has bytes only.

use incast_sim::describe::transport::Transport;
use incast_units::{Bytes, Rate, Time};

use super::catalogue;
use crate::grammar::reading::Reading;
use crate::grammar::section::defaults;
use crate::grammar::setting::Setting;
use crate::grammar::tree::{Node, Place, Sources, Table, Value};
use crate::problem::{Problem, fault};
use crate::topology::{Fabric, Topology};

const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// Most digits of a share.
const DIGITS: usize = 9;

/// The bandwidth-delay product of a network, and the rate in it.
#[derive(Clone, Copy, Debug)]
struct Product {
    rate: Rate,
    base_rtt: Time,
}

/// Writes the shares of the bandwidth-delay product under `switch` as bytes, and the rate to which thresholds of
/// marking that are written in this way apply. Returns the problems.
pub(super) fn resolve(root: &mut Table, sources: &Sources, reading: &Reading) -> Vec<(Place, Problem)> {
    let Some(Node { value: Value::Table(switch), .. }) = root.get("switch") else { return Vec::new() };
    if !mentions(switch) {
        return Vec::new();
    }
    let product = product(root, sources, reading);
    let mut problems = Vec::new();
    let Some(Node { value: Value::Table(switch), .. }) = root.get_mut("switch") else { return problems };
    let scales = match switch.get("ecn") {
        Some(Node { value: Value::Table(ecn), place }) => {
            (mentions(ecn) && ecn.get("reference").is_none()).then_some(*place)
        }
        _ => None,
    };
    in_table(switch, "switch", product, &mut problems);
    if let (Some(place), Some(Product { rate, .. })) = (scales, product)
        && let Some(Node { value: Value::Table(ecn), .. }) = switch.get_mut("ecn")
    {
        ecn.set("reference", place, Node { place, value: Value::Text(rate.to_string()) });
    }
    problems
}

/// Whether a text is meant as a share of the bandwidth-delay product.
fn is_share(text: &str) -> bool {
    text.trim().to_ascii_lowercase().ends_with("bdp")
}

fn mentions(table: &Table) -> bool {
    table.0.iter().any(|(_, _, node)| mentioned(node))
}

fn mentioned(node: &Node) -> bool {
    match &node.value {
        Value::Text(text) => is_share(text),
        Value::List(items) => items.iter().any(mentioned),
        Value::Table(table) => mentions(table),
        _ => false,
    }
}

fn in_table(table: &mut Table, path: &str, product: Option<Product>, problems: &mut Vec<(Place, Problem)>) {
    for (key, _, node) in &mut table.0 {
        in_node(node, &format!("{path}.{key}"), product, problems);
    }
}

fn in_node(node: &mut Node, path: &str, product: Option<Product>, problems: &mut Vec<(Place, Problem)>) {
    match &mut node.value {
        Value::Text(text) if is_share(text) => {
            let bytes = match read(text) {
                None => {
                    Err(format!("{text:?}: write a share of the bandwidth-delay product like \"0.2 BDP\""))
                }
                // Only the cause is reported: what is wrong with the network.
                Some(_) if product.is_none() => Ok(Bytes::new(1_000_000)),
                Some(share) => product
                    .and_then(|product| product.times(share))
                    .ok_or_else(|| format!("{text:?} is more than 2^63 bytes")),
            };
            *text = match bytes {
                Ok(bytes) => format!("{}B", bytes.get()),
                Err(message) => {
                    problems.push((node.place, fault(path, message)));
                    "1MB".to_owned()
                }
            };
        }
        Value::List(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                in_node(item, &format!("{path}.{i}"), product, problems);
            }
        }
        Value::Table(table) => in_table(table, path, product, problems),
        _ => {}
    }
}

/// Reads a share: its digits as a whole number, and the number of those behind the point.
fn read(text: &str) -> Option<(u128, u32)> {
    let number = text.strip_suffix(" BDP")?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = [whole, part].concat();
    let sound = !whole.is_empty()
        && (part.is_empty() != number.contains('.'))
        && digits.len() <= DIGITS
        && digits.bytes().all(|digit| digit.is_ascii_digit());
    sound.then(|| digits.parse().ok()).flatten().map(|digits| (digits, part.len() as u32))
}

impl Product {
    /// Returns so much of it, rounded down; `None` from 2^63 bytes on.
    fn times(self, (digits, behind): (u128, u32)) -> Option<Bytes> {
        let bits = u128::from(self.rate.bps()) * u128::from(self.base_rtt.ps());
        let bytes = bits / (8 * PS_PER_SECOND);
        let share = bytes.checked_mul(digits)? / 10_u128.pow(behind);
        i64::try_from(share).ok().map(|share| Bytes::new(share as u64))
    }
}

/// Returns the bandwidth-delay product of the scenario's network, for packets to which no algorithm adds anything;
/// `None` if the network or the transport has problems.
fn product(root: &Table, sources: &Sources, reading: &Reading) -> Option<Product> {
    let mut aside = Reading::new(sources.clone(), reading.folder.clone(), catalogue::owner);
    let topology = Topology::read(root.get("topology")?, "topology", &mut aside)?;
    let transport = match root.get("transport") {
        Some(node) => Transport::read(node, "transport", &mut aside)?,
        None => defaults()?,
    };
    if !aside.is_sound() {
        return None;
    }
    let fabric = topology.build().ok()?;
    Some(Product {
        rate: highest(&fabric)?,
        base_rtt: incast_sim::network_round_trip(&fabric.network, &transport).ok()?,
    })
}

/// Returns the highest rate of a host's port.
fn highest(fabric: &Fabric) -> Option<Rate> {
    (0..fabric.network.hosts).flat_map(|host| fabric.ports(host)).map(|port| port.1).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    /// A star with these lines.
    fn star(lines: &str) -> Result<Scenario, String> {
        let text = format!(
            "topology = {{ kind = \"star\", hosts = 3, rate = \"100Gbps\", delay = \"3us\" }}\n\
             cc = \"swift\"\n{lines}\n[[traffic]]\nkind = \"incast\"\nto = \"h2\"\nsize = \"1MB\"\n"
        );
        Scenario::from_toml(&text, "s.toml", &[]).map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_share_is_bytes_of_the_network_s_largest_product() {
        // A packet of 1054 B takes 84.32 ns to be sent at 100 Gbps, an acknowledgement of 64 B 5.12 ns; each crosses two
        // links. 4 × 3 us + 2 × 84.32 ns + 2 × 5.12 ns = 12178.88 ns, times 12.5 B/ns is 152236 B.
        let text = star(
            "switch = { buffer = \"1 BDP\", ecn = { kmin = \"0.2 BDP\", kmax = \"0.8 BDP\", pmax = 1.0 } }",
        )
        .unwrap()
        .effective_toml();
        assert!(text.contains("buffer = \"152.236KB\""), "{text}");
        // 0.2 × 152236 = 30447.2 and 0.8 × 152236 = 121788.8, rounded down; marks scale with a port's rate.
        assert!(text.contains("kmin = \"30.447KB\""), "{text}");
        assert!(text.contains("kmax = \"121.788KB\""), "{text}");
        assert!(text.contains("reference = \"100Gbps\""), "{text}");
        let again = Scenario::from_toml(&text, "s.toml", &[]).unwrap();
        assert_eq!(again.effective_toml(), text);
        // What is given in bytes has no rate of its own, and a rate that is written stays.
        let bytes = star("switch.ecn = { kmin = \"30KB\", kmax = \"121KB\", pmax = 1.0 }").unwrap();
        assert!(!bytes.effective_toml().contains("reference"));
        let own =
            "switch.ecn = { kmin = \"0.2 BDP\", kmax = \"0.8 BDP\", pmax = 1.0, reference = \"25Gbps\" }";
        assert!(star(own).unwrap().effective_toml().contains("reference = \"25Gbps\""));
    }

    #[test]
    fn no_algorithm_changes_it() {
        // HPCC adds bytes to packets, which change its base RTT; with 1500 B of payload a packet has 1554 B:
        // 12000 + 2 × 124.32 + 2 × 5.12 = 12258.88 ns, and 153236 B.
        for cc in ["hpcc", "oscar"] {
            let lines = "switch = { buffer = \"1 BDP\" }\ntransport = { payload = \"1500B\" }";
            let text = star(lines).unwrap().with_algorithm(cc, &[]).unwrap().effective_toml();
            assert!(text.contains("buffer = \"153.236KB\""), "{text}");
        }
    }

    #[test]
    fn what_is_written_in_another_way_is_refused() {
        for text in
            ["0.2 bdp", "0.2BDP", "BDP", "-1 BDP", "1. BDP", ".5 BDP", "1e3 BDP", "1.000000000 BDP", " 1 BDP"]
        {
            let problems = star(&format!("switch = {{ buffer = \"{text}\" }}")).unwrap_err();
            let expected = "switch.buffer: ";
            let advice = "write a share of the bandwidth-delay product like \"0.2 BDP\"";
            assert!(problems.contains(expected) && problems.contains(advice), "{text}: {problems}");
        }
        // Of a network at 100 Tbps and 1 s the largest share does not fit.
        assert!(star("switch = { buffer = \"12345.6789 BDP\" }").is_ok());
        let far = Product { rate: Rate::from_bps(100_000_000_000_000), base_rtt: Time::from_ms(1_000) };
        assert_eq!(far.times((999_999_999, 0)), None);
        assert_eq!(far.times((1, 0)), Some(Bytes::new(12_500_000_000_000)));
    }

    #[test]
    fn of_a_network_with_a_problem_only_the_problem_is_reported() {
        let text = "topology = { kind = \"star\", hosts = 3, rate = \"100\", delay = \"3us\" }\ncc = \"dctcp\"\n\
                    switch = { buffer = \"1 BDP\" }\n[[traffic]]\nkind = \"incast\"\nto = \"h2\"\nsize = \"1MB\"\n";
        let problems = Scenario::from_toml(text, "s.toml", &[]).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems}");
        assert!(problems.to_string().contains("topology.rate"), "{problems}");
    }
}
