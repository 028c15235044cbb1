//! A testbed: namespaces of one machine as hosts, TCP connections as flows, and a switch of the kernel or one in user
//! space. The keys of a scenario that it honours, and the numbers by which its switches go.

use std::collections::BTreeSet;

use incast_cc::{AnyParams, Fixed, Path, Signals};
use incast_sim::Simulation;
use incast_sim::describe::Named;
use incast_sim::describe::balancing::Balancing;
use incast_sim::describe::network::{Link, NodeId, PortId};
use incast_sim::describe::switch::{Buffer, MarkingPoint, Switch};
use incast_sim::describe::transport::{Kind, Recovery};
use incast_sim::rules::{Marking, Pausing};
use incast_units::{Bytes, Rate, Time};

use super::{Backend, Refusals};
use crate::cc::Cc;
use crate::formats::fields::grouped;
use crate::grammar::write::Out;
use crate::scenario::{Built, Scenario};
use crate::topology::Topology;
use crate::traffic::connections::Connections;

/// The fastest link that one machine carries beside everything else.
const FASTEST: Rate = Rate::from_mbps(200);
/// The slowest link. Slower ones make packets of many milliseconds, which say nothing about congestion control.
const SLOWEST: Rate = Rate::from_mbps(1);
/// The largest number of hosts: each is a network namespace.
const MOST_HOSTS: u32 = 64;
/// The largest number of switches: every further hop shares the same processors.
const MOST_SWITCHES: usize = 2;
/// Letters in the name of a node: a device is called `to-NAME`, and has at most 15.
const LONGEST_NAME: usize = 12;
/// The largest number of flows: each is two sockets, open from the beginning.
const MOST_FLOWS: usize = 1000;
/// The longest run: a testbed runs in real time.
const LONGEST: Time = Time::from_s(600);
/// The shortest time between two samples of the kernel, which take up to 65 us.
const SHORTEST_SAMPLE: Time = Time::from_ms(1);
/// The shortest time between two samples of the switch in user space.
const SHORTEST_SAMPLE_OF_SWITCH: Time = Time::from_us(100);
/// Delay of a link up to which the kernel forwards by itself, because that takes about as long.
const DIRECT: Time = Time::from_us(10);
/// Ethernet, IPv4 and TCP without options.
const HEADER: Bytes = Bytes::new(54);
/// The smallest payload of a full packet.
const SMALLEST_PAYLOAD: Bytes = Bytes::new(500);
/// The largest payload: a packet then has 9000 bytes, which the bucket lets pass.
const LARGEST_PAYLOAD: Bytes = Bytes::new(8946);

/// Bytes that the kernel's tbf lets pass at once: its clock is as late as other work keeps it.
pub const BUCKET: Bytes = Bytes::new(20_000);

/// Algorithms that Linux has itself, with their names there.
const OFFERED: [(&str, &str); 1] = [("newreno", "reno")];

/// The part of a testbed that forwards packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarder {
    /// The kernel, which cannot delay packets.
    Kernel,
    /// A program, which can.
    User,
}

/// A testbed with this forwarder; without one, it is chosen by the links' delays.
#[derive(Clone, Copy, Debug, Default)]
pub struct Testbed(pub Option<Forwarder>);

/// A direction of a link as a testbed makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// The node that sends on it.
    pub node: NodeId,
    /// Its port there.
    pub port: PortId,
    /// The node at its end.
    pub peer: NodeId,
    /// Its rate.
    pub rate: Rate,
    /// Its delay.
    pub delay: Time,
    /// The longest queue by the buffer, where one queue alone fills it; none without a limit, and at hosts.
    pub limit: Option<Bytes>,
    /// The marks of a switch.
    pub marks: Option<Marking>,
    /// The rule by which the switch at its end pauses it.
    pub pausing: Option<Pausing>,
}

/// An algorithm of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Its name.
    pub name: &'static str,
    /// Its name with its preset: `oscar:paper`.
    pub label: String,
    /// All of its parameters: `eta=0.95`.
    pub parameters: Vec<String>,
    /// Its name in Linux, of one that Linux has itself.
    pub offered: Option<&'static str>,
    /// The first parameter that is set away from its default.
    pub changed: Option<&'static str>,
}

impl Backend for Testbed {
    const NAME: &'static str = "a testbed";

    const HONOURS: &'static [&'static str] = &[
        "name",
        "seed",
        "topology.star.hosts",
        "topology.star.rate",
        "topology.star.delay",
        "topology.dumbbell.left",
        "topology.dumbbell.right",
        "topology.dumbbell.rate",
        "topology.dumbbell.delay",
        "topology.dumbbell.bottleneck_rate",
        "topology.dumbbell.bottleneck_delay",
        "topology.graph.hosts",
        "topology.graph.switches",
        "topology.graph.rate",
        "topology.graph.delay",
        "topology.graph.links.between",
        "topology.graph.links.parallel",
        "topology.graph.links.rate",
        "topology.graph.links.delay",
        "switch.buffer",
        "switch.reserve",
        "switch.ingress_alpha",
        "switch.egress_alpha",
        "switch.ingress_alpha_rate",
        "switch.pfc.xoff",
        "switch.pfc.xon_offset",
        "switch.pfc.headroom",
        "switch.pfc.headroom_factor",
        "switch.ecn.kmin",
        "switch.ecn.kmax",
        "switch.ecn.pmax",
        "switch.ecn.reference",
        "switch.ecn.at",
        "transport.kind",
        "transport.recovery",
        "transport.base_rtt",
        "transport.payload",
        "transport.rto",
        "balancing.policy",
        "cc",
        // Flows and operations are made of these, and a testbed runs every kind of them.
        "traffic.*.*",
        "traffic.name",
        "traffic.balancing",
        "traffic.connections",
        "traffic.cc",
        "probe.ports",
        "probe.flows",
        "probe.interval",
        "probe.flow_interval",
        "probe.internals",
        "probe.captures",
        "probe.from",
        "probe.until",
        "run.until",
        "run.stall_after",
    ];

    fn reason(&self, key: &str) -> Option<&'static str> {
        Some(match key {
            "topology.kind" => {
                "a testbed is a star, a dumbbell or a graph: all hops share the processors of one machine"
            }
            "change" => "links of a testbed do not change",
            "impairments" => "clocks, links and paths of a testbed are what they are",
            "switch.bfc" => {
                "the switch of a testbed has one queue for each port, and pauses links, not flows"
            }
            "switch.trimming" => "TCP does not understand packets without their payload",
            "switch.buffers" => "every switch of a testbed has the same buffer",
            "switch.packed_telemetry" => "the record that TCP carries on a testbed is not packed",
            "switch.egress_limit" => "ports of a testbed drop nothing with PFC, or share the buffer without",
            "switch.pfc.watchdog" => "links of a testbed are paused for as long as its switches ask",
            "switch.queues" | "switch.pfc.queues" => "a port of a testbed has one queue",
            "switch.scheduler" | "switch.quanta" | "switch.weights" | "switch.strict" => {
                "a port of a testbed has one queue, which it serves in order"
            }
            "switch.path" | "switch.next_hops" => "there is one path between two hosts of a testbed",
            "transport.header" => "TCP over IPv4 on Ethernet has 54B without options",
            "transport.ack_extra" | "transport.ack_size" => {
                "acknowledgements of a testbed are TCP segments without payload"
            }
            "transport.smallest" => "packets of a testbed are as large as TCP makes them",
            "transport.ack_every" | "transport.ack_on_mark" => {
                "receivers of a testbed acknowledge each packet"
            }
            "transport.ack_delay" => "receivers of a testbed acknowledge at once",
            "transport.ack_queue" | "transport.cnp_queue" | "traffic.queue" => {
                "a port of a testbed has one queue, 0"
            }
            "transport.cnp_interval" => "TCP has no congestion notification packets",
            "transport.idle" | "transport.idle_after" => {
                "each flow of a testbed is a TCP connection of its own, which is never idle before its end"
            }
            "transport.nack_interval" => "TCP has no negative acknowledgements",
            "transport.counting" => "the kernel's algorithms count packets with their headers",
            "transport.pacing" => "the kernel paces connections by its own schedule",
            "transport.sample" => "TCP takes its samples from the packet that was acknowledged",
            "transport.repair" | "transport.repair_threshold" | "transport.repair_delay" => {
                "TCP decides by itself which packets are lost (RACK, RFC 8985)"
            }
            "run.clock" => "the machine of a testbed has the clock that it has",
            "probe.pauses" => "pauses are counted for each port on a testbed, but not recorded one by one",
            "probe.limits" => "a testbed does not say what keeps packets back",
            "probe.load_interval" => "a testbed does not say what is acknowledged of open flows",
            _ => return None,
        })
    }

    fn check(&self, scenario: &Scenario, built: &Built, refusals: &mut Refusals) {
        let root = scenario.root();
        if root.transport.kind != Kind::Window {
            let name = crate::scenario::transport_name(root.transport.kind);
            let message = format!("flows of a testbed are TCP connections; there is no {name}");
            return refusals.add("transport.kind", message);
        }
        if !matches!(root.topology, Topology::Star(_) | Topology::Dumbbell(_) | Topology::Graph(_)) {
            return;
        }
        for block in root.traffic.iter().filter(|block| block.common.connections == Some(Connections::Pair)) {
            let message = "each flow of a testbed is a TCP connection of its own";
            refusals.add(&format!("traffic.{}.connections", block.name()), message);
        }
        check_rates(&root.topology, refusals);
        check_network(&root.topology, &built.simulation, refusals);
        check_flows(scenario, built, refusals);
        self.check_switch(scenario, &built.simulation, refusals);
        for &port in &built.simulation.probes.captures {
            let network = &built.simulation.network;
            let far = ports_of(&network.links).find(|(_, node, ..)| *node == port);
            let Some((_, (node, _), (peer, _))) = far else { continue };
            if node.min(peer) >= network.hosts {
                let [node_name, peer_name] = [node, peer].map(|node| &network.nodes[node as usize]);
                let message = format!(
                    "packets of a testbed are captured by hosts, and there is none at either end of \
                     {node_name}:{}->{peer_name}",
                    port.1
                );
                refusals.add("probe.captures", message);
            }
        }
    }

    fn deviations(&self, built: &Built) -> Vec<String> {
        let simulation = &built.simulation;
        let (switch, probes) = (&simulation.switch, &simulation.probes);
        let by_kernel = self.forwarder(simulation) == Forwarder::Kernel;
        let mut found = Vec::new();
        let mut note = |applies: bool, text: &str| {
            if applies {
                found.push(text.to_owned());
            }
        };
        let at_dequeue = switch.ecn.is_some_and(|ecn| ecn.at == MarkingPoint::Dequeue);
        let late = "packets are marked when they come to a queue, and not when they leave it";
        note(by_kernel && at_dequeue, late);
        let waits = "what a paused host has sent waits in the switch, as in a network card, unknown to TCP";
        note(switch.pfc.is_some(), waits);
        if by_kernel {
            let bucket = BUCKET.get() / 1000;
            let alone =
                format!("links are buckets of {bucket} KB: a packet alone is not slowed down to the rate");
            note(true, &alone);
            let shallow = shallow(simulation);
            note(shallow.is_some(), shallow.as_deref().unwrap_or_default());
            note(true, "delays of links are those of the kernel, and not those of the scenario");
            note(true, "the peak of a queue is that of its samples");
            let shared = matches!(switch.buffer, Buffer::Shared(_));
            let alone = "ports do not share the buffer: each has the most that one alone could take of it";
            note(shared, alone);
        }
        let by_hosts =
            "packets are captured by the kernels of hosts: packets to a host are stamped on arrival";
        note(!probes.captures.is_empty(), by_hosts);
        let rare = by_kernel && !probes.ports.is_empty() && probes.port_interval < SHORTEST_SAMPLE;
        note(rare, "ports are sampled every millisecond");
        let rare = !probes.flows.is_empty() && probes.flow_interval < SHORTEST_SAMPLE;
        note(rare, "flows are sampled every millisecond");
        let apart = "each message of a pair of hosts has a TCP connection of its own";
        note(simulation.flows.iter().any(|flow| flow.connection.is_some()), apart);
        let by_tcp = "losses are repaired by TCP (selective acknowledgements), and not by go-back-n";
        note(simulation.transport.recovery == Recovery::GoBackN, by_tcp);
        found
    }
}

impl Testbed {
    /// Returns the forwarder: the kernel where that is not chosen, unless packets must be delayed or links paused.
    #[must_use]
    pub fn forwarder(&self, simulation: &Simulation) -> Forwarder {
        self.0.unwrap_or_else(|| {
            let far = simulation.network.links.iter().any(|link| link.delay > DIRECT);
            if far || simulation.switch.pfc.is_some() { Forwarder::User } else { Forwarder::Kernel }
        })
    }

    /// Returns the time between two samples of a port.
    #[must_use]
    pub fn port_interval(&self, simulation: &Simulation) -> Time {
        simulation.probes.port_interval.max(match self.forwarder(simulation) {
            Forwarder::Kernel => SHORTEST_SAMPLE,
            Forwarder::User => SHORTEST_SAMPLE_OF_SWITCH,
        })
    }

    /// Returns the time between two samples of a flow.
    #[must_use]
    pub fn flow_interval(&self, simulation: &Simulation) -> Time {
        simulation.probes.flow_interval.max(SHORTEST_SAMPLE)
    }

    /// Refuses what the forwarder cannot do.
    fn check_switch(&self, scenario: &Scenario, simulation: &Simulation, refusals: &mut Refusals) {
        if self.forwarder(simulation) == Forwarder::User {
            return;
        }
        if simulation.switch.ecn.is_some_and(|ecn| ecn.kmin != ecn.kmax) {
            let message =
                "the kernel marks at one threshold: give kmin and kmax the same value, or --switch user";
            refusals.add("switch.ecn.kmax", message);
        }
        if simulation.network.links.iter().any(|link| link.delay > DIRECT) {
            let by_link =
                matches!(&scenario.root().topology, Topology::Graph(graph) if graph.delay.is_none());
            let key = if by_link { "topology.links" } else { "topology.delay" };
            refusals.add(key, "the kernel cannot delay packets here (no netem): --switch user can");
        }
        if simulation.switch.pfc.is_some() {
            refusals.add("switch.pfc", "the kernel switch does not support PFC: --switch user does");
        }
    }
}

/// Refuses links that are too fast or too slow.
fn check_rates(topology: &Topology, refusals: &mut Refusals) {
    let mut check = |key: &str, rate: Rate| {
        if !(SLOWEST..=FASTEST).contains(&rate) {
            let why = "a testbed has links of 1Mbps to 200Mbps; one machine forwards no faster without gaps";
            refusals.add(key, format!("{rate}: {why}"));
        }
    };
    match topology {
        Topology::Star(star) => check("topology.rate", star.rate),
        Topology::Dumbbell(dumbbell) => {
            check("topology.rate", dumbbell.rate);
            check("topology.bottleneck_rate", dumbbell.bottleneck_rate);
        }
        Topology::Graph(graph) => {
            graph.rate.iter().for_each(|rate| check("topology.rate", *rate));
            for (i, link) in graph.links.iter().enumerate() {
                link.rate.iter().for_each(|rate| check(&format!("topology.links.{i}.rate"), *rate));
            }
        }
        _ => {}
    }
}

/// Refuses networks that one machine cannot make.
fn check_network(topology: &Topology, simulation: &Simulation, refusals: &mut Refusals) {
    let network = &simulation.network;
    if network.hosts > MOST_HOSTS {
        let key = match topology {
            Topology::Dumbbell(sides) if sides.left >= sides.right => "topology.left",
            Topology::Dumbbell(_) => "topology.right",
            _ => "topology.hosts",
        };
        refusals.add(key, format!("makes {}: a testbed has at most {MOST_HOSTS} hosts", network.hosts));
    }
    let (hosts, switches) = network.nodes.split_at(network.hosts as usize);
    if switches.len() > MOST_SWITCHES {
        let message = format!(
            "makes {}: a testbed has at most {MOST_SWITCHES}; all hops share the processors of one machine",
            switches.len()
        );
        refusals.add("topology.switches", message);
    }
    for (key, names) in [("topology.hosts", hosts), ("topology.switches", switches)] {
        for name in names.iter().filter(|name| name.chars().count() > LONGEST_NAME) {
            let why =
                format!("nodes of a testbed have names of at most {LONGEST_NAME} letters, for their devices");
            refusals.add(key, format!("{name}: {why}"));
        }
    }
    let links =
        |host: NodeId| network.links.iter().filter(|link| [link.a.0, link.b.0].contains(&host)).count();
    for (name, _) in hosts.iter().zip(0..).filter(|(_, host)| links(*host) > 1) {
        let message =
            format!("{name} has several: a host of a testbed has one link, over which its connections go");
        refusals.add("topology.links", message);
    }
    let trunks = network.links.iter().filter(|link| link.a.0.min(link.b.0) >= network.hosts).count();
    if switches.len() <= MOST_SWITCHES && trunks > 1 {
        let message = "two switches of a testbed have one link, and no other path between them";
        refusals.add("topology.links", message);
    }
}

/// Refuses flows that a testbed cannot send or sample.
fn check_flows(scenario: &Scenario, built: &Built, refusals: &mut Refusals) {
    let (root, simulation) = (scenario.root(), &built.simulation);
    let payload = root.transport.payload;
    if !(SMALLEST_PAYLOAD..=LARGEST_PAYLOAD).contains(&payload) {
        let range = format!("{}B to {}B", SMALLEST_PAYLOAD.get(), LARGEST_PAYLOAD.get());
        refusals.add("transport.payload", format!("{payload}: a testbed has packets with {range}"));
    }
    let mut policies = Vec::new();
    if root.traffic.iter().any(|block| block.common.balancing.is_none()) {
        policies.push(("balancing.policy".to_owned(), root.balancing.policy));
    }
    policies.extend(
        root.traffic.iter().filter_map(|block| {
            Some((format!("traffic.{}.balancing", block.name()), block.common.balancing?))
        }),
    );
    for (key, policy) in policies.into_iter().filter(|(_, policy)| *policy != Balancing::Ecmp) {
        let name = Balancing::ALL.iter().find(|(known, ..)| *known == policy).map_or("", |(_, name, _)| name);
        let why = "there is one path in a testbed, over which nothing can be spread";
        refusals.add(&key, format!("{name}: {why}"));
    }
    let flows = simulation.flows.len();
    if flows > MOST_FLOWS {
        let [flows, most] = [flows, MOST_FLOWS].map(grouped);
        refusals.add("traffic", format!("makes {flows} flows; a testbed has at most {most}"));
    }
    let until = Some(simulation.until).filter(|until| *until != Time::NEVER);
    let last = simulation.flows.iter().map(|flow| flow.start).chain(until).max().unwrap_or_default();
    let longest_job = || {
        let bounds = incast_sim::job_bounds(simulation).unwrap_or_default();
        bounds.into_iter().flatten().max().unwrap_or_default()
    };
    if last > LONGEST {
        refusals.add("run.until", "a testbed runs in real time, and at most for ten minutes");
    } else if until.is_none() && longest_job() > LONGEST {
        let takes = grouped((longest_job().ps() / Time::from_s(1).ps()) as usize);
        refusals.add("traffic", format!("takes {takes} s at least; a testbed runs for ten minutes at most"));
    }
    if simulation.probes.internals {
        let algorithms = algorithms(scenario);
        let probed = simulation.probes.flows.iter();
        let used: BTreeSet<u16> = probed.map(|flow| simulation.flows[*flow as usize].algorithm).collect();
        for algorithm in used.iter().filter_map(|number| algorithms.get(usize::from(*number))) {
            if let Some(offered) = algorithm.offered {
                let why = "which has none of Incast's internal quantities";
                let message = format!("{} is the {offered} of Linux, {why}", algorithm.label);
                refusals.add("probe.internals", message);
            }
        }
    }
}

/// Returns the deviation of telemetry where a link's bucket is much of a base RTT.
fn shallow(simulation: &Simulation) -> Option<String> {
    let telemetry = simulation.flows.iter().any(|flow| {
        let algorithm = simulation.algorithms.get(usize::from(flow.algorithm));
        algorithm.is_some_and(|algorithm| algorithm.signals().contains(Signals::INT))
    });
    if !telemetry {
        return None;
    }
    let paths = incast_sim::path_infos(simulation).ok()?;
    let (rtt, rate) = paths.iter().map(|path| (path.base_rtt, path.line_rate)).min()?;
    // What passes at once, over what the link sends in a base RTT.
    let bdp = rate.bps() as f64 * rtt.ps() as f64;
    let share = (BUCKET.get() * 8) as f64 * 1e12 / bdp;
    (share > 1.0).then(|| {
        format!(
            "{} KB that pass at once are {share:.1} base BDP: in telemetry links send faster than their rate, and \
             senders hold back; --switch user, or a longer transport.base_rtt",
            BUCKET.get() / 1000
        )
    })
}

/// Returns both directions of every link, in the order of the links, with the port that sends and the far one.
fn ports_of(links: &[Link]) -> impl Iterator<Item = (&Link, (NodeId, PortId), (NodeId, PortId))> {
    links.iter().flat_map(|link| [(link, link.a, link.b), (link, link.b, link.a)])
}

/// Returns both directions of every link as a testbed makes them.
#[must_use]
pub fn ports(simulation: &Simulation) -> Vec<Port> {
    let hosts = simulation.network.hosts;
    let switch = &simulation.switch;
    let limit = longest_queue(switch);
    let marking = |rate| switch.ecn.as_ref().map(|ecn| Marking::new(ecn, rate));
    let pausing =
        |peer, link: &Link| Pausing::new(switch, peer, link.rate, link.delay, largest_packet(simulation));
    let of = |(link, (node, port), (peer, _)): (&Link, _, (NodeId, _))| {
        let sends = node >= hosts;
        Port {
            node,
            port,
            peer,
            rate: link.rate,
            delay: link.delay,
            limit: limit.filter(|_| sends),
            marks: marking(link.rate).filter(|_| sends),
            pausing: pausing(peer, link).filter(|_| peer >= hosts),
        }
    };
    ports_of(&simulation.network.links).map(of).collect()
}

/// Returns the longest queue of a port that alone fills a buffer.
fn longest_queue(switch: &Switch) -> Option<Bytes> {
    match switch.buffer {
        Buffer::Unlimited => None,
        Buffer::PerPort(limit) => Some(limit),
        Buffer::Shared(size) => {
            // One queue alone grows to where it is alpha times what is free: Choudhury and Hahne (1998).
            let alpha = fraction(switch.egress_alpha);
            Some(Bytes::new((size.get() as f64 * alpha / (1.0 + alpha)) as u64))
        }
    }
}

/// Returns the largest packet, for which the headroom of paused links suffices.
#[must_use]
pub fn largest_packet(simulation: &Simulation) -> Bytes {
    let transport = &simulation.transport;
    (transport.payload + transport.header).max(transport.smallest)
}

/// Returns the path that each flow's algorithm is given. Telemetry is in a TCP option, which takes its room from the
/// payload: packets do not grow by it.
///
/// # Errors
/// When the simulation contradicts itself.
pub fn paths(simulation: &Simulation) -> Result<Vec<Path>, incast_sim::Invalid> {
    let mut paths = incast_sim::path_infos(simulation)?;
    for path in &mut paths {
        path.packet = path.packet.min(path.payload + HEADER);
    }
    Ok(paths)
}

/// Returns the size of a full packet on the wire.
#[must_use]
pub fn packet(simulation: &Simulation) -> Bytes {
    simulation.transport.payload + HEADER
}

/// Returns the algorithms in use; a flow's `algorithm` is an index into them.
#[must_use]
pub fn algorithms(scenario: &Scenario) -> Vec<Algorithm> {
    let of = |cc: &Cc| {
        let name = cc.name();
        let offered = OFFERED.iter().find(|(known, _)| *known == name).map(|(_, offered)| *offered);
        let changed = cc.parameters().and_then(changed);
        Algorithm { name, label: cc.label(), parameters: parameters(cc), offered, changed }
    };
    scenario.controls().iter().map(of).collect()
}

/// Returns the parameters of an algorithm as they are written: `eta=0.95`.
fn parameters(cc: &Cc) -> Vec<String> {
    let values = cc.written().into_iter().filter(|(key, _)| key != "algorithm" && key != "preset");
    let shown = |value: Out| match value {
        Out::Text(text) => text,
        other => other.inline(),
    };
    values.map(|(key, value)| format!("{key}={}", shown(value))).collect()
}

/// Returns the first parameter that has not the default of its algorithm's first preset.
fn changed(params: AnyParams) -> Option<&'static str> {
    let usual = AnyParams::named(params.info().name, None)?;
    let mut defaults = Vec::new();
    usual.params(|_, value| defaults.push(value));
    let mut defaults = defaults.into_iter();
    let mut found = None;
    params.params(|info, value| {
        if defaults.next() != Some(value) && found.is_none() {
            found = Some(info.name);
        }
    });
    found
}

/// Returns the key of the algorithm of each traffic block: its own, or the scenario's.
#[must_use]
pub fn keys_of_algorithms(scenario: &Scenario) -> Vec<String> {
    let blocks = scenario.root().traffic.iter();
    let key = |block: &crate::traffic::Block| match block.common.cc {
        Some(_) => format!("traffic.{}.cc", block.name()),
        None => "cc".to_owned(),
    };
    blocks.map(key).collect()
}

/// Returns a number without unit in floating point.
#[must_use]
pub fn fraction(value: Fixed) -> f64 {
    value.bits() as f64 / Fixed::ONE.bits() as f64
}
