//! `[impairments]`: clocks that are not exact, a base RTT that is not the path's, links that corrupt packets, hosts that
//! take packets slowly, and failures that are noticed late.

use std::collections::BTreeMap;

use incast_cc::{Fixed, Signals};
use incast_sim::describe::impairments::{
    self as described, ErrorRate, LinkErrors, NoiseKind, Receiver, Share,
};
use incast_sim::describe::network::{Detection, NodeId};
use incast_units::{Bytes, Rate, Time};

use super::change::{by_ends, named};
use super::scope::{Effect, Idle, Scope, Sections};
use super::transport::name_of;
use crate::grammar::reading::Reading;
use crate::grammar::section::{choice, section};
use crate::grammar::setting::{Bound, Setting, Shape, write_decimal, wrong_type};
use crate::grammar::tree::{Node, Value};
use crate::grammar::write::Out;
use crate::problem::{Problem, fault};
use crate::topology::{Fabric, graph::expand};

choice!(NoiseKind);

/// Units of a share, with their powers of ten.
const UNITS: [(&str, i32); 2] = [("%", -2), ("ppm", -6)];

/// Reads a share exactly.
fn read_share(text: &str) -> Option<Share> {
    let unit = UNITS.iter().find_map(|(unit, power)| Some((text.strip_suffix(unit)?.trim_end(), *power)));
    let (number, unit) = unit.unwrap_or((text, 0));
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i64 = format!("{whole}{fraction}").parse().ok()?;
    let power = exponent.parse::<i32>().ok()?.checked_add(unit)? - i32::try_from(fraction.len()).ok()? + 18;
    let factor = 10_i64.checked_pow(power.unsigned_abs());
    if power >= 0 {
        return Some(Share::of_attos(digits.checked_mul(factor?)?));
    }
    // A share with more digits than there are is no share that can be written back.
    factor.filter(|factor| digits % factor == 0).map(|factor| Share::of_attos(digits / factor))
}

impl Setting for Share {
    fn shape() -> Shape {
        Shape::Either(vec![Shape::Text("a share like \"-20%\" or \"100ppm\""), Shape::Ratio])
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        let text = match &node.value {
            Value::Integer(number) => number.to_string(),
            Value::Decimal(text) | Value::Text(text) => text.clone(),
            _ => return wrong_type(node, key, reading),
        };
        let share = read_share(text.trim());
        if share.is_none() {
            let message = format!(
                "{text:?} is no share; write a number, or a text like \"-20%\" or \"100ppm\", from -9 to 9 with at \
                 most 18 decimals"
            );
            reading.wrong(node.place, key, message);
        }
        share
    }

    fn write(&self) -> Option<Out> {
        Some(Out::text(self))
    }

    fn within(&self, bound: Bound) -> bool {
        // As a number would be read.
        let bits = (i128::from(self.attos()) << 32) / i128::from(Self::ONE.attos());
        let number = Fixed::from_bits(bits as i64);
        match bound {
            Bound::Positive => self.attos() > 0,
            Bound::Ratio(low, high) => low <= number && number <= high,
            Bound::Between(low, high) => low < number && number < high,
            Bound::Any | Bound::Count(..) => true,
        }
    }
}

section! {
    /// Departures from the ideal: clocks that are not exact, a base RTT that is not the path's, links that corrupt
    /// packets, hosts that take packets slowly, failures that are noticed late.
    pub(crate) struct Impairments {
        /// Amount of the errors of time stamps: the stamp of a data packet is made this long before it leaves, at
        /// random, so that every RTT and one-way delay seems longer.
        timestamp_noise: Time = Time::ZERO,
        /// Distribution of these errors.
        timestamp_noise_kind: NoiseKind = NoiseKind::Exponential,
        /// The clock of each host is wrong by a time from minus this to this, drawn by the seed. It shows in one-way
        /// delays alone.
        clock_offset: Time = Time::ZERO,
        /// The clock of each host is fast by a share from minus this to this, drawn by the seed. RTTs and one-way
        /// delays are measured by these clocks.
        clock_drift: Share = Share::ZERO; Bound::Ratio(Fixed::ZERO, Fixed::ratio(1, 100)),
        /// The base RTT that algorithms are given is longer than the true one by this share, or shorter.
        base_rtt_error: Share = Share::ZERO; Bound::Ratio(-Fixed::ratio(99, 100), Fixed::whole(8)),
        /// Links that corrupt packets: each entry has a `bit_error_rate` or a `packet_error_rate`, the ends of the links in
        /// `between` (by default every link) with `number`, and the mean length of a `burst`. Of several entries that
        /// name a link the last one holds, before what the topology says.
        errors: Vec<Errors> = Vec::new(),
        /// Hosts that take packets slower than their links bring them: each entry has the `hosts`, the `rate` at which each
        /// network card hands packets on, and its `buffer`. With PFC it pauses its switch before the buffer is full;
        /// without, it drops. Of several entries that name a host the last one holds.
        receivers: Vec<Receivers> = Vec::new(),
        /// Time until switches notice that a link has failed or returned. Until then they send into a dead link, and
        /// their routes are those from before.
        switch_detection: Time = Time::ZERO,
        /// Time until hosts notice it: for their own links, and for their choice among several.
        host_detection: Time = Time::ZERO,
    }
}

section! {
    /// Links that corrupt packets, in each direction: a corrupted packet is lost. PFC and BFC frames are never corrupted.
    pub(crate) struct Errors {
        /// The two ends of the links, like `["s0", "h3"]`; each may be a range, like `"h0-h3"`. By default every link.
        between: Vec<String> = Vec::new(),
        /// Number of one of several links between the same two nodes, from 0 in the order of the topology; by default all
        /// of them.
        number: Option<u16> = None; Bound::Count(0, 65_535),
        /// Probability of an error in each bit: a packet of n bytes is corrupted with 1 - (1 - this)^8n.
        bit_error_rate: Option<Share> = None; Bound::Ratio(Fixed::ZERO, Fixed::ONE),
        /// Probability that a packet is corrupted, whatever its size.
        packet_error_rate: Option<Share> = None; Bound::Ratio(Fixed::ZERO, Fixed::ONE),
        /// Mean number of packets that are corrupted one after another; by default errors are independent of each other.
        burst: Option<Fixed> = None; Bound::Ratio(Fixed::ONE, Fixed::whole(1_000_000)),
    }
}

section! {
    /// Hosts that take packets slower than their links bring them.
    pub(crate) struct Receivers {
        /// The hosts, like `["h8", "h10-h12"]`.
        hosts: Vec<String>,
        /// Rate at which each network card of such a host hands packets on, of any kind, one after the other.
        rate: Rate; Bound::Positive,
        /// Buffer of each card for packets that have arrived and are not handed on, with PFC including the headroom.
        buffer: Bytes; Bound::Positive,
    }
}

impl Receivers {
    /// Returns the hosts that it names.
    ///
    /// # Errors
    /// If the network has no host of such a name.
    fn hosts(&self, fabric: &Fabric) -> Result<Vec<NodeId>, Problem> {
        let mut hosts = Vec::new();
        for (i, text) in self.hosts.iter().enumerate() {
            let key = format!("hosts.{i}");
            for name in expand(text).map_err(|message| fault(&key, message))?.iter() {
                let node = fabric.node(&name).map_err(|problem| fault(&key, problem))?;
                if !fabric.network.is_host(node) {
                    return Err(fault(&key, format!("{name} is a switch; only hosts receive")));
                }
                hosts.push(node);
            }
        }
        Ok(hosts)
    }

    /// Returns an error if the buffer of a host is too small.
    fn too_small(&self, host: NodeId, scope: &Scope<'_>, fabric: &Fabric) -> Option<Problem> {
        let packet = scope.largest_packet();
        if self.buffer < packet {
            let message = format!("{} is less than the largest packet, {packet}", self.buffer);
            return Some(fault("buffer", message));
        }
        let switch = scope.sections.switch;
        let queues = u64::from(switch.lossless().len());
        let headroom = |&(_, rate, delay): &_| switch.headroom(rate, delay, packet).get() * queues;
        let headroom = Bytes::new(fabric.ports(host).iter().map(headroom).max().unwrap_or(0));
        (self.buffer <= headroom).then(|| {
            let name = &fabric.network.nodes[host as usize];
            let message =
                format!("{} leaves nothing beside the PFC headroom of {name}, {headroom}", self.buffer);
            fault("buffer", message)
                .with_hint("a card pauses its switch when this much is left of its buffer")
        })
    }
}

/// Returns the hosts that take packets slowly, one entry for each, and reports what is wrong with them.
fn receivers(
    blocks: &[Receivers],
    scope: &Scope<'_>,
    fabric: &Fabric,
    reading: &mut Reading,
) -> Vec<Receiver> {
    let mut found: BTreeMap<NodeId, Receiver> = BTreeMap::new();
    for (block, receivers) in blocks.iter().enumerate() {
        let Receivers { rate, buffer, .. } = *receivers;
        let hosts = receivers.hosts(fabric).and_then(|hosts| {
            match hosts.iter().find_map(|host| receivers.too_small(*host, scope, fabric)) {
                Some(problem) => Err(problem),
                None => Ok(hosts),
            }
        });
        match hosts {
            Ok(hosts) => found.extend(hosts.into_iter().map(|host| (host, Receiver { host, rate, buffer }))),
            Err(fault) => reading.fault(&format!("impairments.receivers.{block}"), fault),
        }
    }
    found.into_values().collect()
}

impl Errors {
    /// Returns the rate of the errors.
    ///
    /// # Errors
    /// When there is not one of the two.
    fn rate(&self) -> Result<ErrorRate, Problem> {
        match (self.bit_error_rate, self.packet_error_rate) {
            (Some(bit), None) => Ok(ErrorRate::Bit(bit)),
            (None, Some(packet)) => Ok(ErrorRate::Packet(packet)),
            (None, None) => {
                Err(Problem::new("has no errors; give it a bit_error_rate or a packet_error_rate"))
            }
            (Some(_), Some(_)) => {
                let message = "is a rate of the same errors as bit_error_rate";
                Err(fault("packet_error_rate", message).with_hint("leave one of them out"))
            }
        }
    }

    /// Returns an error if bursts of this length cannot be so frequent that packets of this size have the rate.
    fn too_frequent(&self, rate: ErrorRate, packet: Bytes) -> Option<Problem> {
        let burst = self.burst?;
        let least = rate.least_burst(packet.get());
        if least.is_some_and(|least| least <= burst.bits().unsigned_abs()) {
            return None;
        }
        let permille = |p: u64| (u128::from(p) * 1000) >> 64;
        let (p, lasts) = (permille(rate.of_packet(packet.get())), write_decimal(burst));
        let message = format!(
            "{lasts}: bursts of {lasts} packets with a good one between any two corrupt less than the {}.{} % of packets of \
             {packet} that the rate asks for",
            p / 10,
            p % 10,
        );
        let hint = match least.filter(|least| *least < 1_000_000 << 32) {
            Some(least) => {
                let tenths = (u128::from(least) * 10 + (1 << 31)) >> 32;
                format!("burst = {}.{} or more, or a lower rate", tenths / 10, tenths % 10)
            }
            None => "without a burst every packet is corrupted".to_owned(),
        };
        Some(fault("burst", message).with_hint(hint))
    }

    /// Returns the links that it names.
    ///
    /// # Errors
    /// When there is none of them.
    fn links(&self, fabric: &Fabric) -> Result<Vec<u32>, Problem> {
        if !self.between.is_empty() {
            return named(&self.between, self.number, fabric, &by_ends(fabric));
        }
        match self.number {
            None => Ok((0..).zip(&fabric.network.links).map(|(index, _)| index).collect()),
            Some(_) => {
                let message = "has no effect: between does not say between which nodes";
                Err(fault("number", message))
            }
        }
    }
}

/// Returns the errors of links, one entry for each link that has any, and reports what is wrong with them. The
/// topology's own come first, and `packet` is the largest one.
fn errors(
    own: Vec<LinkErrors>,
    blocks: &[Errors],
    packet: Bytes,
    fabric: &Fabric,
    reading: &mut Reading,
) -> Vec<LinkErrors> {
    let mut found: BTreeMap<u32, LinkErrors> = own.into_iter().map(|errors| (errors.link, errors)).collect();
    for (block, errors) in blocks.iter().enumerate() {
        let rate = errors.rate().and_then(|rate| match errors.too_frequent(rate, packet) {
            Some(problem) => Err(problem),
            None => Ok(rate),
        });
        match (rate, errors.links(fabric)) {
            (Ok(rate), Ok(links)) => {
                let burst = errors.burst.map(|burst| burst.bits().unsigned_abs());
                found.extend(links.into_iter().map(|link| (link, LinkErrors { link, rate, burst })));
            }
            (rate, links) => {
                let faults = [rate.err(), links.err()].into_iter().flatten();
                faults.for_each(|fault| reading.fault(&format!("impairments.errors.{block}"), fault));
            }
        }
    }
    found.into_values().collect()
}

impl Effect for Impairments {
    fn idle(&self, sections: &Sections<'_>, idle: &mut Idle) {
        if self.timestamp_noise == Time::ZERO {
            idle.add("impairments.timestamp_noise_kind", "has no effect: impairments.timestamp_noise is 0");
        }
        if !sections.has_outages {
            for key in ["impairments.switch_detection", "impairments.host_detection"] {
                idle.add(key, "has no effect: no [[change]] has a state, so no link fails");
            }
        }
        let kind = sections.transport.kind;
        if !kind.is_controlled() {
            let reason = format!(
                "has no effect: transport.kind = \"{}\" has no congestion control that measures delays",
                name_of(kind)
            );
            for key in
                ["timestamp_noise", "timestamp_noise_kind", "clock_offset", "clock_drift", "base_rtt_error"]
            {
                idle.add(&format!("impairments.{key}"), &reason);
            }
        }
    }

    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        if let Some(fabric) = scope.fabric {
            errors(Vec::new(), &self.errors, scope.largest_packet(), fabric, reading);
            receivers(&self.receivers, scope, fabric, reading);
        }
        let reads_one_way = scope.algorithms.iter().any(|cc| cc.signals().contains(Signals::ONE_WAY_DELAY));
        if self.clock_offset > Time::ZERO && !reads_one_way && !scope.algorithms.is_empty() {
            let message = "has no effect on RTTs, which one clock measures, and no algorithm here is declared to read \
                           one-way delays";
            let hint = "cc.one_way_delay = true makes OSCAR read them; leave the offset out for the others";
            reading.warn("impairments", fault("clock_offset", message).with_hint(hint));
        }
    }
}

/// Returns what is not ideal in the simulation, and the delay until failures are noticed.
pub(crate) fn settings(
    scope: &Scope<'_>,
    section: Option<&Impairments>,
    fabric: &Fabric,
    reading: &mut Reading,
) -> (described::Impairments, Detection) {
    let own = scope.sections.topology.errors();
    let Some(section) = section else {
        return (described::Impairments { errors: own, ..Default::default() }, Detection::default());
    };
    let Impairments {
        timestamp_noise,
        timestamp_noise_kind,
        clock_offset,
        clock_drift,
        base_rtt_error,
        errors: blocks,
        receivers: slow,
        switch_detection,
        host_detection,
    } = section;
    let impairments = described::Impairments {
        timestamp_noise: *timestamp_noise,
        timestamp_noise_kind: *timestamp_noise_kind,
        clock_offset: *clock_offset,
        clock_drift: *clock_drift,
        base_rtt_error: *base_rtt_error,
        errors: errors(own, blocks, scope.largest_packet(), fabric, reading),
        receivers: receivers(slow, scope, fabric, reading),
    };
    (impairments, Detection { switches: *switch_detection, hosts: *host_detection })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_exactly_and_back() {
        for (text, attos) in [
            ("-20%", -200_000_000_000_000_000),
            ("100ppm", 100_000_000_000_000),
            ("100 ppm", 100_000_000_000_000),
            ("1e-9", 1_000_000_000),
            ("0.0001", 100_000_000_000_000),
            ("1.5e-12", 1_500_000),
            ("1e-18", 1),
            ("9", 9_000_000_000_000_000_000),
            ("-0.5", -500_000_000_000_000_000),
        ] {
            let share = Share::of_attos(attos);
            assert_eq!(read_share(text), Some(share), "{text}");
            assert_eq!(read_share(&share.to_string()), Some(share), "{share}");
        }
        for text in
            ["", "%", "10", "1e-19", "1us", "ppm", "1e99999999999", "nan", "1.2.3", "--1", "1e-2147483647%"]
        {
            assert_eq!(read_share(text), None, "{text}");
        }
    }

    /// Four hosts at a switch, two links between two of the switches, with these impairments.
    fn problems(impairments: &str) -> String {
        let text = format!(
            "impairments = {{ {impairments} }}\ncc = {{ algorithm = \"oscar\" }}\n[topology]\nkind = \"graph\"\n\
             hosts = [\"h0-h3\"]\nswitches = [\"s0\", \"s1\"]\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
             links = [{{ between = [\"h0-h1\", \"s0\"] }}, {{ between = [\"h2-h3\", \"s1\"] }}, \
             {{ between = [\"s0\", \"s1\"], parallel = 2 }}]\n[[traffic]]\nkind = \"permutation\"\nsize = \"1KB\"\n"
        );
        match crate::Scenario::from_toml(&text, "impaired.toml", &[]) {
            Ok(scenario) => {
                let back = crate::Scenario::from_toml(&scenario.effective_toml(), "back.toml", &[]).unwrap();
                assert_eq!(back, scenario);
                let built = scenario.build().unwrap().simulation.impairments;
                let warnings = scenario.warnings().iter().map(ToString::to_string).collect::<String>();
                format!("{:?}{warnings}", built.errors.iter().map(|e| (e.link, e.rate)).collect::<Vec<_>>())
            }
            Err(problems) => problems.to_string(),
        }
    }

    #[test]
    fn links_with_errors_are_named_as_links_that_change_and_the_last_entry_holds() {
        // Links 0 to 3 lead to hosts, 4 and 5 join the switches.
        let all = "{ packet_error_rate = \"1%\" }";
        let second = "{ between = [\"s0\", \"s1\"], number = 1, bit_error_rate = 1e-9, burst = 2.5 }";
        let percent = Share::of_attos(10_000_000_000_000_000);
        let mut expected: Vec<_> = (0..5).map(|link| (link, ErrorRate::Packet(percent))).collect();
        expected.push((5, ErrorRate::Bit(Share::of_attos(1_000_000_000))));
        assert_eq!(problems(&format!("errors = [{all}, {second}]")), format!("{expected:?}"));
        let none: Vec<(u32, ErrorRate)> = Vec::new();
        assert_eq!(problems("base_rtt_error = \"-20%\", clock_drift = 0.01"), format!("{none:?}"));
        // The shortest bursts that can be so frequent: 0.9 / 0.1 = 9, and any without errors.
        assert!(problems("errors = [{ packet_error_rate = 0.9, burst = 9 }]").starts_with("[("));
        assert!(problems("errors = [{ packet_error_rate = 0, burst = 1 }]").starts_with("[("));
    }

    #[test]
    fn the_last_receiver_that_names_a_host_holds_and_headroom_must_fit() {
        let text = |buffer: &str| {
            format!(
                "impairments = {{ receivers = [{{ hosts = [\"h0-h2\"], rate = \"1Gbps\", buffer = \"{buffer}\" }}, \
                 {{ hosts = [\"h1\"], rate = \"2Gbps\", buffer = \"1MB\" }}] }}\n\
                 cc = {{ algorithm = \"constant\" }}\ntopology = {{ kind = \"star\", hosts = 4, rate = \"100Gbps\", \
                 delay = \"1us\" }}\nswitch = {{ pfc = {{}} }}\n[[traffic]]\nkind = \"permutation\"\nsize = \"1KB\"\n"
            )
        };
        let scenario = |buffer: &str| crate::Scenario::from_toml(&text(buffer), "slow.toml", &[]);
        let built = scenario("28227B").unwrap().build().unwrap().simulation.impairments.receivers;
        let found: Vec<_> = built.iter().map(|slow| (slow.host, slow.rate, slow.buffer.get())).collect();
        let [one, two] = [1, 2].map(Rate::from_gbps);
        assert_eq!(found, [(0, one, 28_227), (1, two, 1_000_000), (2, one, 28_227)]);
        // At 100 Gbps, 1 us and 1054 B the headroom is 28,226 B.
        let said = scenario("28226B").unwrap_err().to_string();
        let expected = "receivers.0.buffer: 28.226KB leaves nothing beside the PFC headroom of h0, 28.226KB";
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn what_impairments_can_get_wrong() {
        for (text, expected) in [
            ("errors = [{}]", "errors.0: has no errors; give it a bit_error_rate or a packet_error_rate"),
            ("errors = [{ number = 1, packet_error_rate = 0.1 }]", "errors.0.number: has no effect"),
            ("errors = [{ between = [\"h0\", \"s1\"], bit_error_rate = 1e-9 }]", "no link between h0 and s1"),
            (
                "errors = [{ bit_error_rate = 1e-9, packet_error_rate = 0.1 }]",
                "errors.0.packet_error_rate: is a rate",
            ),
            ("errors = [{ bit_error_rate = \"101%\" }]", "is out of range"),
            ("errors = [{ bit_error_rate = 1e-9, burst = 0.5 }]", "is out of range"),
            // 0.9 / 0.1 = 9.
            (
                "errors = [{ packet_error_rate = 0.9, burst = 1.5 }]",
                "errors.0.burst: 1.5: bursts of 1.5 packets with a good one between any two corrupt less than the",
            ),
            ("errors = [{ packet_error_rate = 0.9, burst = 8.9 }]", "burst = 9.0 or more, or a lower rate"),
            (
                "errors = [{ packet_error_rate = \"100%\", burst = 1000 }]",
                "without a burst every packet is corrupted",
            ),
            // A packet of 1060 B: p = 1 - 0.999^8480 = 0.99979; p / (1 - p) = 4836.9.
            ("errors = [{ bit_error_rate = 0.001, burst = 100 }]", "burst = 4836.9 or more"),
            (
                "receivers = [{ hosts = [\"h0\", \"s1\"], rate = \"1Gbps\", buffer = \"1MB\" }]",
                "receivers.0.hosts.1: s1 is a switch; only hosts receive",
            ),
            (
                "receivers = [{ hosts = [\"h0-h9\"], rate = \"1Gbps\", buffer = \"1MB\" }]",
                "there is no node \"h4\"",
            ),
            (
                "receivers = [{ hosts = [\"h1\"], rate = \"1Gbps\", buffer = \"1KB\" }]",
                "receivers.0.buffer: 1KB is less than the largest packet, 1.06KB",
            ),
            (
                "receivers = [{ hosts = [\"h1\"], rate = \"1Gbps\" }]",
                "receivers.0.buffer: is missing; write a number of bytes",
            ),
            ("base_rtt_error = \"twenty\"", "is no share; write a number, or a text like"),
            ("base_rtt_error = \"-100%\"", "is out of range"),
            ("clock_drift = \"2%\"", "is out of range"),
            ("timestamp_noise = 3", "a time needs its unit"),
            ("timestamp_noise_kind = \"normal\"", "has no effect: impairments.timestamp_noise is 0"),
            ("host_detection = \"1ms\"", "has no effect: no [[change]] has a state"),
            ("clock_offset = \"5us\"", "no algorithm here is declared to read one-way delays"),
        ] {
            let said = problems(text);
            assert!(said.contains(expected), "{text}: {said}");
        }
    }
}
