//! `topology.txt`: the network of HPCC's simulator, its descendants, OSCAR's artifact and SimAI.

use std::collections::{BTreeMap, BTreeSet};

use incast_sim::Network;
use incast_sim::describe::impairments::{ErrorRate, LinkErrors, Share};
use incast_sim::describe::network::NodeId;
use incast_units::{Rate, Time};

use super::fields::{Field, Found, Lines, counted, decimal};
use crate::grammar::foreign::Format;
use crate::limits::{MAX_HOSTS, MAX_PORTS, MAX_SWITCHES};
use crate::problem::{Problem, Problems};

/// Program whose header a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// `nodes switches links`: HPCC, and OSCAR's artifact.
    Hpcc,
    /// `nodes switches tors links`, perhaps with two rates: ns3-datacenter.
    Datacenter,
    /// `nodes gpus_per_server nvswitches switches links gpu_type`, perhaps with another number: SimAI.
    Simai,
}

impl Header {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hpcc => "HPCC",
            Self::Datacenter => "ns3-datacenter",
            Self::Simai => "SimAI",
        }
    }
}

/// Rate and delay of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Speed {
    /// Rate, one-way delay, and the share of the packets that it loses at random in each direction.
    Given(Rate, Time, Share),
    /// A type that is defined elsewhere (OSCAR's artifact).
    Type(String),
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HpccLink {
    /// Its ends, by their numbers in the file.
    pub ends: [u32; 2],
    /// Its rate and delay.
    pub speed: Speed,
    /// Its line in the file, from 1.
    pub line: u32,
}

/// The network of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HpccTopology {
    /// Program whose header it has.
    pub header: Header,
    /// Numbers of the hosts, ascending.
    pub hosts: Vec<u32>,
    /// Numbers of the switches, ascending.
    pub switches: Vec<u32>,
    /// Numbers of the switches inside servers (NVSwitch), ascending; they are not simulated.
    pub nvswitches: Vec<u32>,
    /// The links in the order of the file, without links of NVSwitches.
    pub links: Vec<HpccLink>,
    /// Links to NVSwitches or between two hosts of a server; they are not simulated.
    pub server_links: usize,
    /// Number of lines after the last link.
    pub lines_behind: usize,
}

/// The contents of the first line.
struct Counts {
    header: Header,
    nodes: u64,
    nvswitches: u64,
    switches: u64,
    links: u64,
}

const HEADERS: &str = "the first line is `nodes switches links` (HPCC), `nodes switches tors links` \
                       (ns3-datacenter) or `nodes gpus_per_server nvswitches switches links gpu_type` (SimAI)";
const FORM: &str = "a link is written `src dst rate delay error_rate`, like `0 16 100Gbps 1us 0`";
const MAX_NODES: u64 = MAX_HOSTS + MAX_SWITCHES;
const MAX_LINKS: u64 = 16_000_000;

fn counts(fields: &[Field<'_>]) -> Result<Counts, Problem> {
    let is_type = |field: &Field<'_>| field.text.starts_with(|c: char| c.is_ascii_alphabetic());
    // No other header has seven fields. With six, numbers alone are those of ns3-datacenter.
    let simai = fields.len() == 7 || fields.len() == 6 && is_type(&fields[5]);
    let (header, columns): (_, &[(&str, usize)]) = match fields.len() {
        6 | 7 if simai => {
            let columns =
                &[("nodes", 0), ("nvswitches", 2), ("switches", 3), ("links", 4), ("gpus_per_server", 1)];
            (Header::Simai, columns)
        }
        3 => (Header::Hpcc, &[("nodes", 0), ("switches", 1), ("links", 2)]),
        4 | 6 => (Header::Datacenter, &[("nodes", 0), ("switches", 1), ("links", 3), ("tors", 2)]),
        5 => return Err(five(fields)),
        0 => return Err(Problem::new("the file is empty").with_hint(HEADERS)),
        n => {
            let message = format!("{} on the first line", counted(n, "field"));
            return Err(Problem::new(message).on_line(fields[0].line).with_hint(HEADERS));
        }
    };
    let mut counts = Counts { header, nodes: 0, nvswitches: 0, switches: 0, links: 0 };
    for &(name, column) in columns {
        let most = if name == "links" { MAX_LINKS } else { MAX_NODES };
        let number = fields[column].whole(name, most).map_err(|problem| problem.with_hint(HEADERS))?;
        match name {
            "nodes" => counts.nodes = number,
            "nvswitches" => counts.nvswitches = number,
            "switches" => counts.switches = number,
            "links" => counts.links = number,
            _ => {}
        }
    }
    let switches = counts.switches + counts.nvswitches;
    if switches > counts.nodes {
        let message = format!("{switches} of {} nodes cannot be switches", counts.nodes);
        return Err(Problem::new(message).on_line(fields[0].line).with_hint(HEADERS));
    }
    Ok(counts)
}

/// The problem of a first line of five fields, which no simulator writes: two forms have one field more or less.
fn five(fields: &[Field<'_>]) -> Problem {
    let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|i| fields.get(i).map_or("", |field| field.text));
    let message = "5 fields on the first line, which may mean two things";
    let hint = format!(
        "if these are SimAI's nodes {a}, gpus_per_server {b}, nvswitches {c}, switches {d}, links {e}, write the type of \
         the GPUs behind them, like H100; if they are ns3-datacenter's nodes {a}, switches {b}, tors {c}, links {d}, \
         leave out the last field"
    );
    Problem::new(message).on_line(fields.first().map_or(1, |field| field.line)).with_hint(hint)
}

impl HpccTopology {
    /// Reads the text of a file. `file` is for messages.
    ///
    /// # Errors
    /// All that is wrong, up to twenty problems, each with its line and field.
    pub fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        let mut found = Found::new(file);
        let mut lines = Lines::new(text);
        let counts = counts(lines.next_line());
        let Some(counts) = found.check(counts) else { return Err(found.into_result(()).unwrap_err()) };
        let mut last = 1;
        let mut ids = Vec::new();
        let wanted = (counts.nvswitches + counts.switches) as usize;
        while ids.len() < wanted && !found.is_full() {
            let fields = lines.next_line();
            let Some(first) = fields.first() else { break };
            last = first.line;
            if fields.len() > wanted - ids.len() {
                let message = format!(
                    "{} too many: the first line says that there are {}",
                    counted(fields.len() - (wanted - ids.len()), "field"),
                    counted(wanted, "switch").replace("switchs", "switches")
                );
                found.add(
                    Problem::new(message)
                        .on_line(last)
                        .with_hint("this line lists the numbers of the switches"),
                );
                break;
            }
            for field in fields {
                let id =
                    field.whole("switch", MAX_NODES).and_then(|id| within(field, "switch", id, counts.nodes));
                ids.push(found.check(id).unwrap_or_default());
            }
        }
        if found.is_empty() && ids.len() < wanted {
            let message = format!("the file ends after the numbers of {} of {wanted} switches", ids.len());
            found.add(Problem::new(message).on_line(last).with_hint("is the file truncated?"));
        }
        let mut seen = BTreeSet::new();
        if let (true, Some(twice)) = (found.is_empty(), ids.iter().find(|&&id| !seen.insert(id))) {
            found.add(Problem::new(format!("switch {twice} is listed twice")).on_line(last));
        }
        if !found.is_empty() {
            return Err(found.into_result(()).unwrap_err());
        }
        let switches = ids.split_off(counts.nvswitches as usize);
        let mut topology = Self {
            header: counts.header,
            hosts: (0..counts.nodes as u32).filter(|id| !seen.contains(id)).collect(),
            switches,
            nvswitches: ids,
            links: Vec::new(),
            server_links: 0,
            lines_behind: 0,
        };
        topology.switches.sort_unstable();
        topology.nvswitches.sort_unstable();
        topology.read_links(&counts, &mut lines, last, &mut found);
        if found.is_empty() {
            topology.check_shape(&mut found);
        }
        found.into_result(topology)
    }

    fn read_links(&mut self, counts: &Counts, lines: &mut Lines<'_>, mut last: u32, found: &mut Found<'_>) {
        let mut read = 0;
        while read < counts.links && !found.is_full() {
            let fields = lines.next_line();
            let Some(first) = fields.first() else {
                let message = format!(
                    "the first line says that there are {} links, but the file ends after {read}",
                    counts.links
                );
                found.add(Problem::new(message).on_line(last).with_hint("is the file truncated?"));
                return;
            };
            last = first.line;
            read += 1;
            match link(fields, counts.nodes) {
                Ok(link) if self.is_of_server(&link) => self.server_links += 1,
                Ok(link) => self.links.push(link),
                Err(problem) => {
                    found.add(problem);
                }
            }
        }
        // Files carry comments here; a link would be lost in silence.
        while !found.is_full() {
            let fields = lines.next_line();
            let Some(first) = fields.first() else { break };
            if link(fields, counts.nodes).is_ok() {
                let message = format!(
                    "the first line says that there are {} links, but there is another one",
                    counts.links
                );
                let help = "correct the number or remove the line";
                found.add(Problem::new(message).on_line(first.line).with_hint(help));
                break;
            }
            self.lines_behind += 1;
        }
    }

    /// Whether a link is inside a server.
    fn is_of_server(&self, link: &HpccLink) -> bool {
        let is = |ids: &[u32]| link.ends.map(|end| ids.binary_search(&end).is_ok());
        is(&self.nvswitches) != [false, false]
            || self.header == Header::Simai && is(&self.hosts) == [true, true]
    }

    /// Checks the connections, which do not depend on the rates of links.
    fn check_shape(&self, found: &mut Found<'_>) {
        let hosts: BTreeSet<u32> = self.hosts.iter().copied().collect();
        if hosts.len() < 2 {
            found.add(
                Problem::new(format!("there must be at least two hosts, not {}", hosts.len())).on_line(1),
            );
        }
        if hosts.len() as u64 > MAX_HOSTS || self.switches.len() as u64 > MAX_SWITCHES {
            let message = format!("at most {MAX_HOSTS} hosts and {MAX_SWITCHES} switches are possible");
            found.add(Problem::new(message).on_line(1));
        }
        let mut linked: BTreeSet<u32> = BTreeSet::new();
        let mut ports: BTreeMap<u32, u64> = BTreeMap::new();
        for link in &self.links {
            let [a, b] = link.ends;
            let wrong = if a == b {
                Some(Problem::new(format!("connects node {a} to itself")))
            } else if hosts.contains(&a) && hosts.contains(&b) {
                Some(Problem::new(format!("connects two hosts, {a} and {b}; hosts connect only to switches")))
            } else {
                linked.extend(link.ends);
                None
            };
            if let Some(problem) = wrong {
                found.add(problem.on_line(link.line));
            }
            for end in link.ends {
                let ports = ports.entry(end).or_default();
                *ports += 1;
                if *ports == MAX_PORTS + 1 {
                    let message = format!("gives node {end} more than {} ports", MAX_PORTS);
                    found.add(Problem::new(message).on_line(link.line));
                }
            }
            if found.is_full() {
                return;
            }
        }
        if let (true, Some(lost)) = (found.is_empty(), self.hosts.iter().find(|host| !linked.contains(host)))
        {
            let message = if self.nvswitches.is_empty() {
                format!("host {lost} has no link")
            } else {
                format!("host {lost} has links only inside its server, which are not simulated")
            };
            found.add(Problem::new(message));
        }
    }

    /// Returns the first link that loses packets at random, if one does.
    #[must_use]
    pub fn lossy(&self) -> Option<&HpccLink> {
        let first = self.errors().next()?.link;
        self.links.get(first as usize)
    }

    /// Returns the errors of the links that lose packets at random, by their numbers in the network.
    pub fn errors(&self) -> impl Iterator<Item = LinkErrors> {
        let errors = |(link, of): (u32, &HpccLink)| match of.speed {
            Speed::Given(.., share) if share != Share::ZERO => {
                Some(LinkErrors { link, rate: ErrorRate::Packet(share), burst: None })
            }
            _ => None,
        };
        (0..).zip(&self.links).filter_map(errors)
    }

    /// The network, with hosts named `h` and switches named `s` and their numbers. `types` gives rate
    /// and delay of a type of links.
    ///
    /// # Errors
    /// The line of a link whose type is not known, and what is wrong.
    pub(crate) fn network(
        &self,
        types: &dyn Fn(&str) -> Option<(Rate, Time)>,
    ) -> Result<Network, (u32, String)> {
        let mut network = Network::with_hosts(self.hosts.len() as u32);
        let mut nodes: BTreeMap<u32, NodeId> = (0..).zip(&self.hosts).map(|(node, &id)| (id, node)).collect();
        for (name, id) in network.nodes.iter_mut().zip(&self.hosts) {
            *name = format!("h{id}");
        }
        for &id in &self.switches {
            nodes.insert(id, network.add_switch(format!("s{id}")));
        }
        for link in &self.links {
            let (rate, delay) = match &link.speed {
                Speed::Given(rate, delay, _) => (*rate, *delay),
                Speed::Type(name) => types(name).ok_or_else(|| {
                    (
                        link.line,
                        format!("links of type {name:?} have no rate and delay; give them in `types`"),
                    )
                })?,
            };
            let [Some(&a), Some(&b)] = link.ends.map(|end| nodes.get(&end)) else {
                return Err((link.line, "connects a node that is neither host nor switch".to_owned()));
            };
            network.add_link(a, b, rate, delay);
        }
        Ok(network)
    }

    /// Returns notes on what Incast does not take over from the file.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.header == Header::Simai {
            notes.push("gpus_per_server, gpu_type and a field behind it: not simulated".to_owned());
        }
        if self.header == Header::Datacenter {
            notes.push("tors: not needed".to_owned());
        }
        if !self.nvswitches.is_empty() || self.server_links > 0 {
            notes.push(format!(
                "{} and {} inside servers: not simulated; traffic between the hosts of a server uses the \
                 network",
                counted(self.nvswitches.len(), "NVSwitch").replace("NVSwitchs", "NVSwitches"),
                counted(self.server_links, "link")
            ));
        }
        if self.lines_behind > 0 {
            notes.push(format!("{} after the last link", counted(self.lines_behind, "line")));
        }
        notes
    }
}

impl Format for HpccTopology {
    const NOUN: &'static str = "a file like \"topology.txt\"";

    fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        Self::parse(text, file)
    }
}

/// A node's number, if there is such a node.
fn within(field: &Field<'_>, name: &str, id: u64, nodes: u64) -> Result<u32, Problem> {
    if id < nodes {
        return Ok(id as u32);
    }
    let message = match nodes {
        0 => "there are no nodes".to_owned(),
        _ => format!("there is no such node; {nodes} nodes are numbered 0 to {}", nodes - 1),
    };
    Err(field.wrong(name, message))
}

fn link(fields: &[Field<'_>], nodes: u64) -> Result<HpccLink, Problem> {
    let Some(first) = fields.first() else { return Err(Problem::new("not a link")) };
    let end = |field: &Field<'_>, name: &str| {
        field.whole(name, u64::from(u32::MAX)).and_then(|id| within(field, name, id, nodes))
    };
    let (ends, speed) = match fields {
        [a, b, rate, delay, error] => {
            let ends = [end(a, "src")?, end(b, "dst")?];
            (ends, Speed::Given(self::rate(rate)?, self::delay(delay)?, error_rate(error)?))
        }
        [a, b, kind] => ([end(a, "src")?, end(b, "dst")?], Speed::Type(kind.text.to_owned())),
        _ => {
            let message = format!("{} instead of 5", counted(fields.len(), "field"));
            return Err(Problem::new(message).on_line(first.line).with_hint(FORM));
        }
    };
    Ok(HpccLink { ends, speed, line: first.line })
}

/// A share of packets, to the nearest of its 18 decimals.
fn error_rate(field: &Field<'_>) -> Result<Share, Problem> {
    let wrong = |problem: Problem| problem.with_hint(FORM);
    let share = Share::of_attos(field.decimal("error_rate", 18).map_err(wrong)? as i64);
    if share > Share::ONE {
        return Err(wrong(field.wrong("error_rate", "is a share of the packets, at most 1")));
    }
    Ok(share)
}

/// A number and a unit, as the units of ns-3 are written.
fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()))
}

/// A rate as ns-3 reads it; a bare number is bit/s.
fn rate(field: &Field<'_>) -> Result<Rate, Problem> {
    const HELP: &str = "a rate is written like `100Gbps`; a bare number is bit/s";
    let bare = field.text.bytes().all(|b| b.is_ascii_digit() || b".eE+".contains(&b));
    let (number, unit) = if bare { (field.text, "bps") } else { split(field.text) };
    let (prefix, per) = unit
        .strip_suffix("bps")
        .or_else(|| unit.strip_suffix("b/s"))
        .map(|prefix| (prefix, 1))
        .or_else(|| unit.strip_suffix("Bps").or_else(|| unit.strip_suffix("B/s")).map(|prefix| (prefix, 8)))
        .ok_or_else(|| field.wrong("rate", "unknown unit of a rate").with_hint(HELP))?;
    let (decimals, binary) = match prefix {
        "" => (0, 1),
        "k" | "K" => (3, 1),
        "M" => (6, 1),
        "G" => (9, 1),
        "T" => (12, 1),
        "Ki" => (0, 1 << 10),
        "Mi" => (0, 1 << 20),
        "Gi" => (0, 1 << 30),
        _ => return Err(field.wrong("rate", "unknown unit of a rate").with_hint(HELP)),
    };
    let number = decimal(number, decimals).map_err(|m| field.wrong("rate", m).with_hint(HELP))?;
    let bps = number.checked_mul(per * binary);
    match bps.filter(|&bps| bps > 0 && bps <= u64::MAX / 2) {
        Some(bps) => Ok(Rate::from_bps(bps)),
        None if number == 0 => Err(field.wrong("rate", "must be more than zero").with_hint(HELP)),
        None => Err(field.wrong("rate", "too large").with_hint(HELP)),
    }
}

/// A delay as ns-3 reads it, to the nearest picosecond. A bare number, which ns-3 takes for seconds, is
/// refused.
fn delay(field: &Field<'_>) -> Result<Time, Problem> {
    const HELP: &str = "a delay is written like `1us`, `1000ns` or `0.001ms`";
    let (number, unit) = split(field.text);
    let decimals = match unit {
        "s" => 12,
        "ms" => 9,
        "us" => 6,
        "ns" => 3,
        "ps" => 0,
        "" => return Err(field.wrong("delay", "has no unit").with_hint(HELP)),
        _ => return Err(field.wrong("delay", "unknown unit of a time").with_hint(HELP)),
    };
    match decimal(number, decimals) {
        Ok(0) => Err(field.wrong("delay", "must be more than zero").with_hint(HELP)),
        Ok(ps) => Ok(Time::from_ps(ps)),
        Err(message) => Err(field.wrong("delay", message).with_hint(HELP)),
    }
}
