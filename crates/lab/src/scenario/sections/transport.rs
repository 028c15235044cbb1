//! `[transport]`: packet sizes, acknowledgements, loss recovery.

use incast_cc::Fixed;
use incast_sim::describe::Named;
use incast_sim::describe::transport::{
    AckEvery, AfterIdle, BaseRtt, Counting, FirstWindow, Homa, Kind, LARGEST_FIRST_WINDOW, Ndp, Pacing,
    Recovery, Repair, Sample, Transport,
};
use incast_units::{Bytes, Time};

use super::scope::{Effect, Idle, Scope, Sections};
use crate::cc::Cc;
use crate::grammar::reading::Reading;
use crate::grammar::section::{choice, section};
use crate::grammar::setting::{Bound, Setting, Shape};
use crate::grammar::tree::{Node, Value};
use crate::grammar::write::Out;
use crate::problem::fault;
use crate::traffic::{Block, connections::Connections};

choice!(AfterIdle);
choice!(Kind);
choice!(Recovery);
choice!(Repair);
choice!(Counting);
choice!(Pacing);
choice!(Sample);

impl Setting for BaseRtt {
    fn shape() -> Shape {
        let words = Shape::Choice(vec![
            ("path", "the base RTT of the flow's own path"),
            ("network", "the largest of the network, for every flow"),
        ]);
        Shape::Either(vec![words, Time::shape()])
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text == "path" => Some(Self::Path),
            Value::Text(text) if text == "network" => Some(Self::Network),
            _ => Time::read(node, key, reading).map(Self::Value),
        }
    }

    fn write(&self) -> Option<Out> {
        match self {
            Self::Path => Some(Out::text(&"path")),
            Self::Network => Some(Out::text(&"network")),
            Self::Value(time) => time.write(),
        }
    }

    fn within(&self, bound: Bound) -> bool {
        match self {
            Self::Path | Self::Network => true,
            Self::Value(time) => time.within(bound),
        }
    }
}

impl Setting for AckEvery {
    fn shape() -> Shape {
        Shape::Either(vec![u32::shape(), Bytes::shape()])
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        match &node.value {
            Value::Text(text) => match text.parse() {
                Ok(Bytes::ZERO) => {
                    reading.wrong(node.place, key, format!("{text:?}: expected more than 0 B"));
                    None
                }
                Ok(payload) => Some(Self::Bytes(payload)),
                Err(_) => {
                    let message = format!(
                        "{text:?}: expected a number of packets, like 4, or an amount of payload, like \"16384B\""
                    );
                    reading.wrong(node.place, key, message);
                    None
                }
            },
            _ => u32::read(node, key, reading).map(Self::Packets),
        }
    }

    fn write(&self) -> Option<Out> {
        match self {
            Self::Packets(packets) => packets.write(),
            Self::Bytes(payload) => payload.write(),
        }
    }

    fn within(&self, bound: Bound) -> bool {
        match self {
            Self::Packets(packets) => packets.within(bound),
            Self::Bytes(payload) => payload.within(Bound::Positive),
        }
    }
}

impl Setting for FirstWindow {
    fn shape() -> Shape {
        let word = ("bdp", "the bandwidth-delay product of the flow's path, in whole packets");
        Shape::Either(vec![u32::shape(), Shape::Choice(vec![word])])
    }

    fn read(node: &Node, key: &str, reading: &mut Reading) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text == "bdp" => Some(Self::Bdp),
            Value::Text(text) => {
                reading.wrong(node.place, key, format!("{text:?}: expected a number of packets or \"bdp\""));
                None
            }
            _ => u32::read(node, key, reading).map(Self::Packets),
        }
    }

    fn write(&self) -> Option<Out> {
        match self {
            Self::Bdp => Some(Out::text(&"bdp")),
            Self::Packets(packets) => packets.write(),
        }
    }

    fn within(&self, bound: Bound) -> bool {
        match self {
            Self::Bdp => true,
            Self::Packets(packets) => packets.within(bound),
        }
    }
}

section! {
    /// Behaviour of every host: packet sizes, acknowledgements, loss recovery.
    for Transport with its defaults {
        /// The transport protocol.
        kind: Kind,
        /// The loss recovery; where packets are spread over paths and it is not written, it is "selective".
        recovery: Recovery,
        /// Under selective repeat: when a packet is lost before the retransmission timer expires; "lazy" where packets
        /// are spread over paths and neither this nor recovery is written.
        repair: Repair => "chosen here; the usual rule of TCP (RFC 6675)",
        /// Number of packets with higher numbers that must have arrived, with repair = "threshold".
        repair_threshold: u32; Bound::Count(1, 16_384) => "RFC 6675, DupThresh",
        /// With repair = "lazy": a packet is lost when one that was sent this much later has arrived; by
        /// default the base RTT of the flow's path.
        repair_delay: Option<Time>; Bound::Positive,
        /// The base RTT that algorithms are given: each flow's own, the network's largest, or a value.
        base_rtt: BaseRtt; Bound::Positive => "chosen here; HPCC and PowerTCP are evaluated with the network's",
        /// Bytes of a packet that count against a window.
        counting: Counting => "OSCAR's public artifact; HPCC's counts payload",
        /// The time from which the next packet of a flow with a rate is due.
        pacing: Pacing => "public artifacts of HPCC, PowerTCP and OSCAR",
        /// The packet whose send time, and other values on record at the sender, an acknowledgement is a sample of.
        sample: Sample => "chosen here, as OSCAR's header has it; its public artifact takes the cumulative number's",
        /// Payload of a full data packet.
        payload: Bytes; Bound::Positive => "public artifacts of HPCC and OSCAR",
        /// Header of every packet before what the algorithm adds: Ethernet 14, IPv4 20, UDP 8, BTH 12.
        header: Bytes => "OSCAR's public artifact",
        /// Additional bytes of an acknowledgement.
        ack_extra: Bytes => "OSCAR's public artifact",
        /// Size of an acknowledgement before what the algorithm adds; by default header and ack_extra.
        ack_size: Option<Bytes>; Bound::Positive,
        /// Smallest packet on the wire.
        smallest: Bytes; Bound::Positive => "Ethernet",
        /// Number of data packets per acknowledgement, or the payload that one covers; under selective repeat with an
        /// algorithm's preset for Ultra Ethernet, "16384B".
        ack_every: AckEvery; Bound::Count(1, 255) => "public artifacts of HPCC and OSCAR",
        /// Whether a marked packet is acknowledged at once, with what is held; under selective repeat with such a preset, true.
        ack_on_mark: bool,
        /// Longest time for which an acknowledgement is held; by default an eighth of the base RTT of the flow's path, and
        /// "50us" with such a preset.
        ack_delay: Option<Time>; Bound::Positive,
        /// Queue of acknowledgements; by default their flow's queue.
        ack_queue: Option<u8>,
        /// Queue of congestion notification packets.
        cnp_queue: u8,
        /// Shortest time between two congestion notifications of one flow.
        cnp_interval: Time; Bound::Positive => "DCQCN, section 3.1",
        /// Shortest time between two NACKs for the same missing packet.
        nack_interval: Time; Bound::Positive => "HPCC's public artifact",
        /// Retransmission timeout, from the last advance of the cumulative acknowledgement; doubles with each consecutive expiry, up to 64 times this.
        rto: Time; Bound::Positive => "OSCAR's public artifact",
        /// The congestion state of a connection (traffic.connections) that has nothing to send and nothing in flight.
        idle: AfterIdle => "chosen here: network cards keep it with the queue pair; restart: RFC 5681, section 4.1",
        /// With idle = "restart": a message that starts longer than this after the connection's last packet finds the
        /// state of a new flow; by default rto.
        idle_after: Option<Time>; Bound::Positive => "RFC 5681, section 4.1: the retransmission timeout",
        /// Settings of kind = "ndp".
        ndp: Ndp,
        /// Settings of kind = "homa".
        homa: Homa,
    }
}

section! {
    /// NDP: a first window at line rate, then packets that receivers pull.
    for Ndp with its defaults {
        /// Packets that a flow sends without being pulled.
        first_window: FirstWindow; Bound::Count(1, LARGEST_FIRST_WINDOW as u64) => "chosen here; the authors' runs have 23, their code 15",
        /// Rate of a receiver's pulls in full packets: this part of the rate of its first link.
        pull_rate: Fixed; Bound::Ratio(Fixed::ratio(1, 100), Fixed::ONE) => "the authors' simulator",
        /// A packet that was not answered for this long is sent again; doubles with each consecutive expiry, up to 64 times this.
        rto: Time; Bound::Positive => "the authors' runs of short flows",
    }
}

/// Keys of the window transport alone.
const OF_WINDOWS: [&str; 17] = [
    "recovery",
    "repair",
    "repair_threshold",
    "repair_delay",
    "base_rtt",
    "counting",
    "pacing",
    "sample",
    "ack_every",
    "ack_on_mark",
    "ack_delay",
    "cnp_queue",
    "cnp_interval",
    "nack_interval",
    "rto",
    "idle",
    "idle_after",
];

/// Gives receivers that keep what arrives out of order the acknowledgements with which the presets of all algorithms are
/// used, where these agree and the scenario writes nothing about them.
pub(super) fn imply_acknowledging<'a>(
    transport: &mut Transport,
    mut used: impl Iterator<Item = &'a Cc>,
    reading: &Reading,
) {
    let written = ["transport.ack_every", "transport.ack_on_mark"].iter().any(|key| reading.written(key));
    if transport.kind != Kind::Window || transport.recovery != Recovery::Selective || written {
        return;
    }
    let Some(first) = used.next().map(Cc::acknowledging) else { return };
    if used.all(|cc| cc.acknowledging() == first) {
        (transport.ack_every, transport.ack_on_mark) = (first.every, first.on_mark);
        transport.ack_delay = transport.ack_delay.or(first.delay);
    }
}

/// The name of a transport.
pub(crate) fn name_of(kind: Kind) -> &'static str {
    Kind::ALL.iter().find(|(named, ..)| *named == kind).map_or("", |(_, name, _)| name)
}

impl Effect for Transport {
    fn idle(&self, sections: &Sections<'_>, idle: &mut Idle) {
        if self.kind != Kind::Homa {
            idle.add("transport.homa", "has no effect: transport.kind is not \"homa\"");
        }
        if self.kind != Kind::Ndp {
            idle.add("transport.ndp", "has no effect: transport.kind is not \"ndp\"");
        }
        if self.kind == Kind::Homa {
            idle.add("transport.ack_queue", "has no effect: transport.kind is \"homa\"");
            if self.homa.oldest_share == Fixed::ZERO {
                idle.add("transport.homa.oldest_step", "has no effect: transport.homa.oldest_share is 0");
            }
        }
        if self.kind != Kind::Window {
            let reason = format!("has no effect: transport.kind is \"{}\"", name_of(self.kind));
            OF_WINDOWS.iter().for_each(|key| idle.add(&format!("transport.{key}"), &reason));
            return;
        }
        let connects = |block: &Block| block.connections(self.kind) == Connections::Pair;
        if !sections.traffic.iter().any(connects) {
            let reason = "has no effect: no traffic block has connections = \"pair\"";
            ["transport.idle", "transport.idle_after"].iter().for_each(|key| idle.add(key, reason));
        } else if self.idle != AfterIdle::Restart {
            idle.add("transport.idle_after", "has no effect: transport.idle is not \"restart\"");
        }
        if self.ack_every.is_each() {
            idle.add(
                "transport.ack_on_mark",
                "has no effect: every packet is acknowledged (transport.ack_every is 1)",
            );
        }
        if self.recovery != Recovery::Selective {
            let reason = "has no effect: transport.recovery is not \"selective\"";
            for key in ["transport.repair", "transport.repair_threshold", "transport.repair_delay"] {
                idle.add(key, reason);
            }
            return;
        }
        idle.add("transport.nack_interval", "has no effect: selective repeat reports no holes");
        if self.repair != Repair::Threshold {
            idle.add("transport.repair_threshold", "has no effect: transport.repair is not \"threshold\"");
        }
        if self.repair != Repair::Lazy {
            idle.add("transport.repair_delay", "has no effect: transport.repair is not \"lazy\"");
        }
    }

    fn check(&self, scope: &Scope<'_>, reading: &mut Reading) {
        let trims = scope.sections.switch.trimming.is_some();
        if trims && self.kind == Kind::Window && self.recovery != Recovery::Selective {
            let message = "must be \"selective\" with switch.trimming: the others discard what arrives after a \
                           trimmed packet";
            reading.wrong_key("transport.recovery", message);
        }
        if !trims && self.kind == Kind::Ndp {
            let message =
                "is \"ndp\", which learns of losses from trimmed packets, and the switches drop packets";
            let hint = "add a section [switch.trimming]";
            reading.warn("transport", fault("kind", message).with_hint(hint));
        }
        if self.kind == Kind::Homa {
            self.homa.check(scope, reading);
        }
        scope.check_queue("transport.cnp_queue", self.cnp_queue, reading);
        if let Some(queue) = self.ack_queue {
            scope.check_queue("transport.ack_queue", queue, reading);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    /// A scenario with these lines before its traffic, or its problems.
    fn read(lines: &str) -> Result<Scenario, String> {
        let text = format!(
            "topology = {{ kind = \"leaf-spine\", leaves = 2, spines = 2, hosts = 1, rate = \"100Gbps\", delay = \"1us\" }}\n\
             switch = {{ ecn = {{ kmin = \"40KB\", kmax = \"160KB\", pmax = 1.0 }} }}\n\
             {lines}\n[[traffic]]\nkind = \"incast\"\nto = \"h1\"\nsize = \"1MB\"\n"
        );
        Scenario::from_toml(&text, "s.toml", &[]).map_err(|problems| problems.to_string())
    }

    #[test]
    fn presets_for_ultra_ethernet_bring_its_acknowledgements_to_selective_repeat() {
        let acknowledging = |lines: &str| {
            let scenario = read(lines).unwrap();
            let again = Scenario::from_toml(&scenario.effective_toml(), "s.toml", &[]).unwrap();
            assert!(again == scenario, "{lines}");
            let text = scenario.effective_toml();
            let own = text.lines().filter_map(|line| line.trim().strip_prefix("ack_"));
            own.filter(|line| line.starts_with("every") || line.starts_with("on_mark"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let (uec, each) = ("every = \"16KiB\", on_mark = true", "every = 1");
        let selective = "transport = { recovery = \"selective\" }\n";
        let reps = "balancing = { policy = \"reps\" }\n";
        for (lines, expected) in [
            (format!("cc = \"nscc\"\n{selective}"), uec),
            (format!("cc = \"nscc:trimming\"\n{reps}"), uec),
            (format!("cc = \"nscc:uec\"\n{reps}"), uec),
            (format!("cc = \"mnscc\"\n{reps}"), uec),
            (format!("cc = \"mnscc:uec\"\n{reps}"), uec),
            // The median paper says nothing of it; go-back-N keeps no packets out of order.
            (format!("cc = \"nscc:median\"\n{reps}"), each),
            (format!("cc = \"mnscc:median\"\n{reps}"), each),
            (format!("cc = \"swift\"\n{reps}"), each),
            ("cc = \"nscc\"\n".to_owned(), each),
            // What is written stays, and nothing is added to it.
            (format!("cc = \"nscc\"\ntransport = {{ ack_every = 1 }}\n{reps}"), each),
            (format!("cc = \"nscc\"\ntransport = {{ ack_every = 4 }}\n{reps}"), "every = 4, on_mark = false"),
            // Two algorithms, of which one is for Ultra Ethernet.
            (
                format!(
                    "cc = \"nscc\"\n{reps}[[traffic]]\nname = \"b\"\nkind = \"incast\"\nto = \"h0\"\nsize = \"1MB\"\n\
                     cc = \"swift\"\n"
                ),
                each,
            ),
        ] {
            assert_eq!(acknowledging(&lines), expected, "{lines}");
        }
    }

    #[test]
    fn what_one_acknowledgement_covers_is_a_number_of_packets_or_an_amount() {
        let problems = |value: &str| {
            read(&format!("cc = \"swift\"\ntransport = {{ recovery = \"selective\", {value} }}\n"))
                .unwrap_err()
        };
        for (value, part) in [
            ("ack_every = \"many\"", "expected a number of packets, like 4, or an amount of payload"),
            ("ack_every = \"4us\"", "expected a number of packets, like 4, or an amount of payload"),
            ("ack_every = 256", "1 to 255"),
            ("ack_every = 0", "1 to 255"),
            ("ack_every = \"0B\"", "more than 0 B"),
            ("ack_on_mark = true", "transport.ack_every is 1"),
        ] {
            let problem = problems(value);
            assert!(problem.contains(part), "{value}: {problem}");
        }
    }
}
