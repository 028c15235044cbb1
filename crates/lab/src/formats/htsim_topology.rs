//! `.topo`: the fat-trees of htsim, of two or three tiers.

use incast_sim::Network;
use incast_units::{Rate, Time};

use super::fields::{Field, Found, Lines};
use crate::grammar::foreign::Format;
use crate::grammar::suggest::unknown;
use crate::limits::{MAX_HOSTS, MAX_PORTS, MAX_SWITCHES};
use crate::problem::{Problem, Problems};

/// The keys of a tier, as the file has them in lower case, and their largest values.
const KEYS: [(&str, u64); 9] = [
    ("downlink_speed_gbps", 1_000_000),
    ("radix_down", MAX_PORTS),
    ("radix_up", MAX_PORTS),
    ("downlink_latency_ns", 1_000_000_000),
    ("switch_latency_ns", 1_000_000_000),
    ("oversubscribed", MAX_PORTS),
    ("bundle", MAX_PORTS),
    ("queue_down", i64::MAX as u64),
    ("queue_up", i64::MAX as u64),
];
const SPEED: usize = 0;
const DOWN: usize = 1;
const UP: usize = 2;
const LATENCY: usize = 3;
const SWITCH_LATENCY: usize = 4;
const OVERSUBSCRIBED: usize = 5;
const BUNDLE: usize = 6;
const QUEUES: [usize; 2] = [7, 8];

/// The keys of the header.
const HEADER: [(&str, u64); 3] = [("nodes", MAX_HOSTS), ("tiers", 3), ("podsize", MAX_HOSTS)];

/// Names of the switches of each tier.
const NAMES: [&str; 3] = ["tor", "agg", "core"];

/// A tier of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// Number of its switches.
    pub switches: u32,
    /// Ports of each to the tier below, hosts being the lowest.
    pub down: u32,
    /// Rate of each link to the tier below.
    pub rate: Rate,
    /// One-way delay of each link to the tier below, without the latency of switches.
    pub delay: Time,
    /// Time that a packet takes through one of its switches.
    pub latency: Time,
    /// Parallel links to each switch of the tier below.
    pub bundle: u32,
}

/// The network of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HtsimTopology {
    /// Number of hosts.
    pub hosts: u32,
    /// Number of pods; one in a tree of two tiers.
    pub pods: u32,
    /// The tiers of switches, from the hosts up.
    pub tiers: Vec<Tier>,
    notes: Vec<String>,
}

/// The keys of a tier with the lines on which they are.
#[derive(Clone, Copy, Default)]
struct Section {
    line: u32,
    values: [Option<(u64, u32)>; KEYS.len()],
}

impl Section {
    fn value(&self, key: usize) -> u64 {
        let absent = u64::from(key == OVERSUBSCRIBED || key == BUNDLE);
        self.values[key].map_or(absent, |(value, _)| value)
    }

    fn line(&self, key: usize) -> u32 {
        self.values[key].map_or(self.line, |(_, line)| line)
    }
}

#[derive(Default)]
struct Reader {
    header: [Option<(u64, u32)>; HEADER.len()],
    tiers: [Option<Section>; 3],
    /// The tier that is being read; `None` within it after a number that is none.
    current: Option<Option<usize>>,
    last: u32,
}

impl HtsimTopology {
    /// Reads the text of a file; `file` is for messages.
    ///
    /// # Errors
    /// All that is wrong, up to twenty problems, each with its line and key.
    pub fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        let mut found = Found::new(file);
        let mut reader = Reader::default();
        let mut lines = Lines::new(text);
        while !found.is_full() {
            let fields = lines.next_line();
            let Some(first) = fields.first() else { break };
            reader.last = first.line;
            if !first.text.starts_with('#')
                && let Err(problem) = reader.line(fields)
            {
                found.add(problem);
            }
        }
        if found.is_empty() {
            reader.complete(&mut found);
        }
        if found.is_empty() {
            reader.check_pods(&mut found);
        }
        if !found.is_empty() {
            return Err(found.into_result(()).unwrap_err());
        }
        let read = reader.shape(&mut found);
        found.into_result(read)
    }

    /// The network: hosts `h`, switches `tor`, `agg` and `core` with their numbers.
    ///
    /// The latency of a switch is put on its links, half on each: every path through a switch takes two of
    /// them.
    #[must_use]
    pub fn network(&self) -> Network {
        let mut network = Network::with_hosts(self.hosts);
        let mut below: Vec<u32> = (0..self.hosts).collect();
        let mut latency_below = Time::ZERO;
        // How many nodes below a group of this tier connects to: a switch, a pod, the whole.
        for (i, (tier, name)) in self.tiers.iter().zip(NAMES).enumerate() {
            let switches: Vec<u32> =
                (0..tier.switches).map(|number| network.add_switch(format!("{name}{number}"))).collect();
            let halves = tier.latency + latency_below;
            let delay = tier.delay + Time::from_ps(halves.ps() / 2);
            for (number, &node) in (0_u32..).zip(&below) {
                // The position of a switch in its pod decides which of the cores it is connected to.
                let per_pod = (below.len() as u32 / self.pods).max(1);
                let above: Vec<u32> = match i {
                    0 => vec![number / tier.down],
                    1 => {
                        let aggs = tier.switches / self.pods;
                        let pod = number / per_pod;
                        (pod * aggs..(pod + 1) * aggs).collect()
                    }
                    _ => (number % per_pod..tier.switches).step_by(per_pod as usize).collect(),
                };
                for above in above {
                    for _ in 0..tier.bundle {
                        network.add_link(node, switches[above as usize], tier.rate, delay);
                    }
                }
            }
            (below, latency_below) = (switches, tier.latency);
        }
        network
    }

    /// Returns notes on what Incast does not take over from the file.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Format for HtsimTopology {
    const NOUN: &'static str = "a file like \"fat_tree_128.topo\"";

    fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        Self::parse(text, file)
    }
}

impl Reader {
    fn line(&mut self, fields: &[Field<'_>]) -> Result<(), Problem> {
        let Some((first, rest)) = fields.split_first() else { return Ok(()) };
        let word = first.text.to_ascii_lowercase();
        let [value] = rest else {
            let message = "a line is a key and its number, like `Radix_Down 8`";
            return Err(first.wrong("key", message));
        };
        let twice =
            |(_, line): (u64, u32)| Err(first.wrong(&word, format_args!("is on line {line} already")));
        if let Some(i) = HEADER.iter().position(|(name, _)| *name == word) {
            if self.current.is_some() {
                return Err(first.wrong(&word, "must stand before the tiers"));
            }
            let number = value.whole(&word, HEADER[i].1)?;
            return self.header[i].replace((number, first.line)).map_or(Ok(()), twice);
        }
        if word == "tier" {
            let tier = value.whole("tier", 2).map(|tier| tier as usize);
            self.current = Some(tier.as_ref().ok().copied());
            let tier = tier?;
            let section = Section { line: first.line, ..Section::default() };
            return match self.tiers[tier].replace(section) {
                Some(before) => twice((0, before.line)),
                None => Ok(()),
            };
        }
        let Some(key) = KEYS.iter().position(|(name, _)| *name == word) else {
            let known = || HEADER.iter().chain(&KEYS).map(|(name, _)| *name).chain(["tier"]);
            let message =
                format!("{:?} is not one of: {}", first.text, known().collect::<Vec<_>>().join(", "));
            return Err(Problem { line: Some(first.line), ..unknown(message, &word, known()) });
        };
        let number = value.whole(&word, KEYS[key].1)?;
        let Some(tier) = self.current else {
            return Err(first.wrong(&word, "belongs to a tier; write `Tier 0` above it"));
        };
        match tier.and_then(|tier| self.tiers[tier].as_mut()) {
            Some(section) => section.values[key].replace((number, first.line)).map_or(Ok(()), twice),
            None => Ok(()),
        }
    }

    fn tier_count(&self) -> usize {
        self.header[1].map_or(0, |(tiers, _)| tiers as usize)
    }

    /// Checks that everything needed is there.
    fn complete(&self, found: &mut Found<'_>) {
        for ((name, _), value) in HEADER.iter().zip(self.header) {
            let problem = match value {
                None => Problem::new(format!("the file has no {name}")).on_line(self.last),
                Some((0, line)) => Problem::new("must be more than zero").on_line(line),
                Some((1, line)) if *name == "tiers" => {
                    Problem::new("1: a tree has 2 or 3 tiers").on_line(line)
                }
                Some(_) => continue,
            };
            found.add(problem.about(*name));
        }
        let tiers = self.tier_count();
        for (i, section) in self.tiers.iter().enumerate() {
            let Some(section) = section else {
                if i < tiers {
                    let problem = Problem::new(format!("there is no section `Tier {i}`")).about("tier");
                    found.add(problem.on_line(self.last).with_hint("is the file truncated?"));
                }
                continue;
            };
            if tiers > 0 && i >= tiers {
                let problem =
                    Problem::new(format!("`Tier {i}` is one too many: the header says Tiers {tiers}"));
                found.add(problem.about("tier").on_line(section.line));
                continue;
            }
            for key in [SPEED, DOWN, LATENCY, UP, BUNDLE, OVERSUBSCRIBED] {
                let (name, top) = (KEYS[key].0, i + 1 == tiers);
                let message = match section.values[key] {
                    None if key == BUNDLE || key == OVERSUBSCRIBED || key == UP && top => continue,
                    None => format!("tier {i} has no {name}"),
                    Some(_) if key == UP && top => "the highest tier has no links up".to_owned(),
                    Some((0, _)) => "must be more than zero".to_owned(),
                    Some(_) => continue,
                };
                found.add(Problem::new(message).about(name).on_line(section.line(key)));
            }
        }
    }

    /// Checks that the hosts fill pods, and these switches.
    fn check_pods(&self, found: &mut Found<'_>) {
        let [Some((hosts, _)), Some((tiers, _)), Some((pod, line))] = self.header else { return };
        let down = self.tiers[0].map_or(1, |tier| tier.value(DOWN));
        let message = if hosts < 2 {
            "there must be at least two nodes".to_owned()
        } else if hosts % pod != 0 {
            format!("{hosts} nodes are no whole number of pods of {pod}")
        } else if tiers == 2 && hosts != pod {
            format!("in a tree of two tiers all nodes are one pod: write Podsize {hosts}")
        } else if pod % down != 0 {
            format!(
                "a pod of {pod} nodes is no whole number of switches with {down} each (Radix_Down of tier 0)"
            )
        } else {
            return;
        };
        found.add(Problem::new(message).about("podsize").on_line(line));
    }

    /// The numbers of switches, which follow from the numbers of ports; these must agree.
    fn shape(&self, found: &mut Found<'_>) -> HtsimTopology {
        let tiers: Vec<Section> = self.tiers.iter().flatten().take(self.tier_count()).copied().collect();
        let [hosts, _, pod] = self.header.map(|value| value.map_or(1, |(value, _)| value));
        let get = |tier: usize, key: usize| tiers[tier].value(key);
        let mut wrong = |tier: usize, key: usize, message: String| {
            found.add(Problem::new(message).about(KEYS[key].0).on_line(tiers[tier].line(key)));
        };
        let pods = hosts / pod;
        if get(0, BUNDLE) != 1 {
            wrong(0, BUNDLE, format!("{}: a host has one link", get(0, BUNDLE)));
        }
        // Switches of a pod in each tier below the cores, and what they need above.
        let tors = pod / get(0, DOWN);
        let aggs = (get(0, UP) / get(1, BUNDLE)).max(1);
        for tier in 0..tiers.len() - 1 {
            let (up, bundle) = (get(tier, UP), get(tier + 1, BUNDLE));
            if up % bundle != 0 {
                wrong(tier, UP, format!("{up} links up are no whole number of bundles of {bundle}"));
            }
        }
        let check_down = |tier: usize, below: u64, wrong: &mut dyn FnMut(usize, usize, String)| {
            let (down, bundle) = (get(tier, DOWN), get(tier, BUNDLE));
            if down != below * bundle {
                let message = format!(
                    "{down} ports down, but each switch of tier {tier} is connected to {below} below, by {bundle} each: write {}",
                    below * bundle
                );
                wrong(tier, DOWN, message);
            }
        };
        check_down(1, tors, &mut wrong);
        let mut numbers = vec![tors * pods, aggs * pods];
        if tiers.len() == 3 {
            check_down(2, pods, &mut wrong);
            numbers.push(aggs * (get(1, UP) / get(2, BUNDLE)).max(1));
        }
        for tier in 0..tiers.len() - 1 {
            let down = u128::from(get(tier, DOWN)) * u128::from(get(tier, SPEED));
            let up = u128::from(get(tier, UP)) * u128::from(get(tier + 1, SPEED));
            let says = get(tier, OVERSUBSCRIBED);
            if down != up * u128::from(says) {
                let message = format!(
                    "says {says}, but a switch of tier {tier} has {down} Gbps down and {up} Gbps up{}",
                    if down % up == 0 {
                        format!(": write Oversubscribed {}", down / up)
                    } else {
                        String::new()
                    }
                );
                wrong(tier, OVERSUBSCRIBED, message);
            }
        }
        if numbers.iter().sum::<u64>() > MAX_SWITCHES {
            wrong(
                0,
                DOWN,
                format!(
                    "makes {} switches; at most {MAX_SWITCHES} are possible",
                    numbers.iter().sum::<u64>()
                ),
            );
        }
        let mut notes = Vec::new();
        if tiers.iter().any(|tier| QUEUES.iter().any(|&queue| tier.values[queue].is_some())) {
            notes.push("queue_down, queue_up: not taken over; [switch] sets the buffer".to_owned());
        }
        if tiers.iter().any(|tier| tier.value(SWITCH_LATENCY) > 0) {
            notes.push(
                "switch_latency_ns: half of it is added to the delay of each link of the switch, so that paths take as long"
                    .to_owned(),
            );
        }
        let tiers = tiers.iter().zip(numbers).map(|(tier, switches)| Tier {
            switches: switches as u32,
            down: tier.value(DOWN) as u32,
            rate: Rate::from_gbps(tier.value(SPEED)),
            delay: Time::from_ns(tier.value(LATENCY)),
            latency: Time::from_ns(tier.value(SWITCH_LATENCY)),
            bundle: tier.value(BUNDLE) as u32,
        });
        HtsimTopology { hosts: hosts as u32, pods: pods as u32, tiers: tiers.collect(), notes }
    }
}
