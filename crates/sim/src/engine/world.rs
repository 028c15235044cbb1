//! A description made ready to run: what all nodes share, and the nodes.

use incast_cc::{Fixed, Overhead, Path, Signals};
use incast_units::{Bytes, Rate, Time};

use super::event::{self, Effects, Event, Tally};
use super::node::{Behaviour, Node};
use super::sampler::Sampler;
use crate::Invalid;
use crate::circuits::Circuits;
use crate::describe::Simulation;
use crate::describe::algorithm::Algorithm;
use crate::describe::balancing;
use crate::describe::flow::Flow;
use crate::describe::network::{NodeId, NodeKind, PortId};
use crate::describe::probe::Probes;
use crate::describe::transport::{BaseRtt, Counting, Kind as TransportKind, Transport};
use crate::describe::work::Operation;
use crate::forwarding::Table;
use crate::host::transport::Priorities;
use crate::host::work::Graph;
use crate::packet::{Data, IntRecords, Kind, LARGEST_ORIGIN, LARGEST_SLOT, Packet, flag};
use crate::route::{Out, Routes, Sizes, describe_path, ideal_time};
use crate::switch::path::Paths;
use crate::timeline::LinkState;

/// Facts that all nodes share, constant over the run.
#[derive(Debug)]
pub(crate) struct World<'a> {
    pub(crate) flows: &'a [Flow],
    pub(crate) operations: &'a [Operation],
    pub(crate) graph: Graph,
    pub(crate) algorithms: &'a [Algorithm],
    pub(crate) transport: Transport,
    pub(crate) balancing: balancing::Settings,
    pub(crate) seed: u64,
    pub(crate) probes: &'a Probes,
    pub(crate) routes: Routes,
    /// In a network with an optical switch.
    pub(crate) circuits: Option<Circuits>,
    pub(crate) paths: Paths,
    /// The different rates of links; INT records name one by index.
    pub(crate) rates: Vec<Rate>,
    sizes: Vec<Sizes>,
    /// With [`Kind::Homa`](crate::describe::transport::Kind::Homa): its limits and priorities.
    pub(crate) homa: Option<Priorities>,
    /// Base RTT of the path that each algorithm sees; `None`: the flow's own.
    base_rtts: Vec<Option<Time>>,
    /// Sizes of packets to which no algorithm adds anything.
    plain: Sizes,
    flags: Vec<u8>,
    /// For every host, the flows from it and to it in the order of its indices; kept only when
    /// packets are captured, to name their flows.
    by_host: Vec<[Vec<u32>; 2]>,
}

impl<'a> World<'a> {
    /// Checks a description and prepares it.
    pub(crate) fn new(simulation: &'a Simulation) -> Result<Self, Invalid> {
        let transport = simulation.transport.clone();
        let algorithms = if transport.kind.is_controlled() { simulation.algorithms.as_slice() } else { &[] };
        let routes = Routes::new(&simulation.network).map_err(Invalid)?;
        let circuits = Circuits::new(&simulation.network, &routes.ports).map_err(Invalid)?;
        let links = simulation.network.links.iter().map(|l| l.rate);
        let mut rates: Vec<Rate> = links.chain(routes.timeline.rates()).collect();
        rates.sort_unstable();
        rates.dedup();
        let plain = sizes_with(&transport, Overhead::default());
        let sizes: Vec<Sizes> =
            algorithms.iter().map(|algorithm| sizes_with(&transport, algorithm.overhead())).collect();
        let flags = algorithms
            .iter()
            .map(|algorithm| {
                let signals = algorithm.signals();
                let bit = |signal, bit| if signals.contains(signal) { bit } else { 0 };
                bit(Signals::INT, flag::INT) | bit(Signals::CNP, flag::CNP)
            })
            .collect();
        let base_rtts = sizes
            .iter()
            .map(|sizes: &Sizes| match transport.base_rtt {
                BaseRtt::Path => None,
                BaseRtt::Value(value) => Some(value),
                BaseRtt::Network => Some(routes.largest_round_trip(sizes.data(sizes.payload), sizes.ack)),
            })
            .collect();
        let homa = match transport.kind {
            TransportKind::Homa => Some(Priorities::new(simulation, &routes, &plain).map_err(Invalid)?),
            _ => None,
        };
        let world = Self {
            homa,
            base_rtts,
            flows: &simulation.flows,
            operations: &simulation.operations,
            graph: Graph::new(simulation).map_err(Invalid)?,
            algorithms,
            transport,
            balancing: simulation.balancing,
            seed: simulation.seed,
            probes: &simulation.probes,
            routes,
            circuits,
            paths: Paths::new(&simulation.switch, &simulation.flows),
            rates,
            sizes,
            plain,
            flags,
            by_host: flows_by_host(simulation),
        };
        world.check(simulation)?;
        Ok(world)
    }

    fn check(&self, simulation: &Simulation) -> Result<(), Invalid> {
        let fail = |text: String| Err(Invalid(text));
        let network = &simulation.network;
        if simulation.transport.payload == Bytes::ZERO {
            return fail("the payload of a packet must be above zero".into());
        }
        if self.largest_packet() > Bytes::new(u64::from(u16::MAX)) {
            return fail(format!("a packet of {} is larger than 65535 B", self.largest_packet()));
        }
        if !(1..=255).contains(&simulation.transport.ack_every) {
            return fail(format!(
                "an acknowledgement covers 1 to 255 packets, not {}",
                simulation.transport.ack_every
            ));
        }
        if simulation.transport.recovery.keeps() && simulation.flows.len() > LARGEST_SLOT as usize {
            return fail(format!("selective repeat is possible with at most {LARGEST_SLOT} flows"));
        }
        let ndp = &simulation.transport.ndp;
        if ndp.first_window == 0 || ndp.pull_rate <= Fixed::ZERO || ndp.rto == Time::ZERO {
            return fail("the first window, the pull rate and the timeout of NDP must be above zero".into());
        }
        if simulation.transport.repair_threshold == 0 {
            return fail("a packet is lost after 1 or more later ones have arrived, not 0".into());
        }
        if let Some(problem) = simulation.switch.problem() {
            return fail(problem);
        }
        if simulation.switch.trimming.is_some() {
            if simulation.transport.kind == TransportKind::Window && !simulation.transport.recovery.keeps() {
                return fail(
                    "trimming needs selective repeat: go-back-N discards what arrives after a hole".into(),
                );
            }
            if simulation.flows.len().max(network.hosts as usize) > LARGEST_ORIGIN as usize {
                return fail(format!("trimming is possible with at most {LARGEST_ORIGIN} hosts and flows"));
            }
        }
        if simulation.switch.pfc.is_some() && self.routes.timeline.has_failures() {
            return fail("links can fail only without PFC, since an outage would lose PFC frames".into());
        }
        if simulation.switch.bfc.is_some() && self.routes.timeline.has_failures() {
            return fail("links can fail only without BFC, since an outage would lose its frames".into());
        }
        let switch = &simulation.switch;
        if self.circuits.is_some()
            && (switch.pfc.is_some() || switch.bfc.is_some() || switch.trimming.is_some())
        {
            return fail(
                "circuits are possible only without PFC and BFC, whose frames an optical switch does not read, and \
                 without trimming".into(),
            );
        }
        let own = simulation.switch.buffers.iter().flat_map(|(nodes, _)| nodes);
        let is_switch = |node: NodeId| matches!(network.kind(node), NodeKind::Switch | NodeKind::Tor);
        if let Some(node) = own.copied().find(|n| *n as usize >= network.nodes.len() || !is_switch(*n)) {
            return fail(format!("a buffer is given for node {node}, which is no switch"));
        }
        if !simulation.flows.is_sorted_by_key(|f| f.start) {
            return fail("flows must be sorted by their start".into());
        }
        if simulation.transport.ack_size == Some(Bytes::ZERO) {
            return fail("the size of an acknowledgement must be above zero".into());
        }
        if simulation.probes.port_interval.min(simulation.probes.flow_interval) == Time::ZERO {
            return fail("the time between two samples must be above zero".into());
        }
        if simulation.transport.base_rtt == BaseRtt::Value(Time::ZERO) {
            return fail("the base RTT given to algorithms must be above zero".into());
        }
        for (i, flow) in simulation.flows.iter().enumerate() {
            let hosts = simulation.network.hosts;
            if flow.source >= hosts || flow.destination >= hosts || flow.source == flow.destination {
                return fail(format!("flow {i} goes from host {} to {}", flow.source, flow.destination));
            }
            if self.transport.kind.is_controlled() && usize::from(flow.algorithm) >= self.algorithms.len() {
                return fail(format!("flow {i} names algorithm {}", flow.algorithm));
            }
            if let Some(problem) = simulation.balancing.problem(flow.balancing, simulation.switch.path) {
                return fail(format!("flow {i}: {problem}"));
            }
            if flow.queue >= simulation.switch.queues {
                return fail(format!("flow {i} names queue {}", flow.queue));
            }
            if flow.size == Bytes::ZERO {
                return fail(format!("flow {i} has nothing to send"));
            }
            if flow.is_open_ended() && simulation.until == Time::NEVER {
                return fail(format!(
                    "flow {i} would never end: it has neither a size nor a stop, nor the run"
                ));
            }
        }
        Ok(())
    }

    /// The place of a rate in the table of rates.
    pub(crate) fn rate_index(&self, rate: Rate) -> u32 {
        self.rates.binary_search(&rate).unwrap_or(0) as u32
    }

    /// The sizes of packets of an algorithm, or without congestion control.
    pub(crate) fn sizes(&self, algorithm: u16) -> &Sizes {
        self.sizes.get(usize::from(algorithm)).unwrap_or(&self.plain)
    }

    /// The flags of an algorithm's data packets.
    pub(crate) fn flags(&self, algorithm: u16) -> u8 {
        self.flags[usize::from(algorithm)]
    }

    /// The signals that an algorithm needs.
    pub(crate) fn signals(&self, algorithm: u16) -> Signals {
        self.algorithms.get(usize::from(algorithm)).map_or(Signals::NONE, Algorithm::signals)
    }

    /// The largest packet on any wire.
    pub(crate) fn largest_packet(&self) -> Bytes {
        let sizes = self.sizes.iter().chain([&self.plain]);
        Bytes::new(sizes.map(|s| s.data(s.payload).max(s.ack)).max().unwrap_or(0))
    }

    /// The path of a flow that starts at `start`.
    pub(crate) fn path(&self, flow: u32, start: Time) -> Path {
        let (forward, back) = self.links(flow, start);
        let flow = &self.flows[flow as usize];
        describe_path(&forward, &back, self.sizes(flow.algorithm))
    }

    /// Returns the path as the algorithm of a flow sees it.
    pub(crate) fn told_path(&self, flow: u32, start: Time) -> Path {
        let path = self.path(flow, start);
        let base_rtt = self.base_rtts[usize::from(self.flows[flow as usize].algorithm)];
        Path { base_rtt: base_rtt.unwrap_or(path.base_rtt), ..path }
    }

    /// Returns the hashes of a flow's data packets and of its acknowledgements.
    pub(crate) fn hashes(&self, flow: u32) -> (u32, u32) {
        self.paths.hashes(flow, &self.flows[flow as usize])
    }

    /// Returns the number of packets of a flow; [`u64::MAX`] if it has no end.
    pub(crate) fn packets(&self, flow: u32) -> u64 {
        let flow = &self.flows[flow as usize];
        if flow.size == Bytes::UNLIMITED {
            return u64::MAX;
        }
        flow.size.get().div_ceil(self.sizes(flow.algorithm).payload)
    }

    /// Position in a flow of the first payload byte of packet `number` (modulo 2^32).
    pub(crate) fn position(&self, flow: u32, number: u32) -> u64 {
        let flow = &self.flows[flow as usize];
        (u64::from(number) * self.sizes(flow.algorithm).payload).min(flow.size.get())
    }

    /// The port of a host with several ports and this table by which packets with this hash leave for
    /// another host.
    pub(crate) fn card(&self, host: NodeId, table: &Table, destination: u32, hash: u32) -> PortId {
        let (place, _) = self.routes.attachment[destination as usize];
        self.paths.usual(host, hash, table.group(place, destination)).unwrap_or(0)
    }

    /// The links that a flow takes at its start, there and back.
    pub(crate) fn links(&self, flow: u32, start: Time) -> (Vec<Out>, Vec<Out>) {
        let (hash, back) = self.hashes(flow);
        let Flow { source, destination, .. } = self.flows[flow as usize];
        let forward = self.routes.path(&self.paths, (source, destination), hash, start);
        (forward, self.routes.path(&self.paths, (destination, source), back, start))
    }

    /// Completion time of `size` payload bytes of a flow on its idle path, as it is at `start`.
    pub(crate) fn ideal_time(&self, flow: u32, start: Time, size: u64) -> Time {
        self.ideal_time_with(flow, start, self.sizes(self.flows[flow as usize].algorithm), size)
    }

    /// Returns the ideal time of a flow whose packets have no header bytes added by its algorithm.
    pub(crate) fn plain_ideal_time(&self, flow: u32, start: Time, size: u64) -> Time {
        self.ideal_time_with(flow, start, &self.plain, size)
    }

    fn ideal_time_with(&self, flow: u32, start: Time, sizes: &Sizes, size: u64) -> Time {
        let (forward, back) = self.links(flow, start);
        ideal_time(&forward, &back, sizes, size)
    }

    /// The flow of a packet.
    pub(crate) fn flow_of(&self, packet: &Packet) -> Option<u32> {
        let [from, to] = self.by_host.get(packet.destination as usize)?;
        let (list, slot) = match packet.kind {
            Kind::Data | Kind::Header => (to, Data::of(&packet.body).slot),
            Kind::Returned => (from, packet.origin().index()),
            Kind::Ack | Kind::Nack | Kind::Cnp | Kind::Pull | Kind::Grant | Kind::Resend => {
                (from, packet.ack(packet.time).slot)
            }
            Kind::Pause | Kind::Resume | Kind::PauseMap => return None,
        };
        list.get(slot as usize).copied()
    }

    /// Returns the changes at a node in the order of time: its links, then its routes.
    fn changes(&self, node: NodeId) -> Vec<(u64, Change)> {
        let timeline = &self.routes.timeline;
        let links = timeline.ports_of(node).flat_map(|(port, link)| {
            link.states().map(move |(time, state)| (time, Change::Link(port, state)))
        });
        let mut changes: Vec<(u64, Change)> = links.collect();
        if let Some(mut before) = self.routes.tables.of(node) {
            let later = self.routes.epochs.iter();
            for (time, table) in later.filter_map(|(time, tables)| Some((time, tables.of(node)?))) {
                if table != before {
                    before = table;
                    changes.push((*time, Change::Routes(table.clone())));
                }
            }
        }
        changes.sort_by_key(|(time, change)| (*time, matches!(change, Change::Routes(_))));
        changes
    }

    /// The nodes at the beginning, with their first events.
    pub(crate) fn nodes(&self, simulation: &Simulation) -> Result<Vec<Slot>, Invalid> {
        let network = &simulation.network;
        let mut slots = Vec::with_capacity(network.nodes.len());
        for id in 0..network.nodes.len() as NodeId {
            let body = Node::new(id, self, simulation)
                .map_err(|problem| Invalid(format!("{}: {problem}", network.nodes[id as usize])))?;
            slots.push(Slot { id, node: body, sampler: Sampler::none(), changes: self.changes(id) });
        }
        let sampled: std::collections::BTreeSet<u32> = simulation.probes.flows.iter().copied().collect();
        for (index, flow) in simulation.flows.iter().enumerate() {
            let index = index as u32;
            let ends = two(&mut slots, flow.source, flow.destination).map(Node::host);
            let [Some(source), Some(destination)] = ends else {
                return Err(Invalid(format!("flow {index} does not join two hosts")));
            };
            let from = source.next_outgoing();
            let to = destination.add_incoming(index, from);
            source.add_outgoing(index, to, sampled.contains(&index));
        }
        for slot in &mut slots {
            for (port, timeline) in self.routes.timeline.ports_of(slot.id) {
                if let Some(wire) = slot.node.wire_mut(port) {
                    wire.expect(timeline);
                }
            }
        }
        let probes = &simulation.probes;
        for &(node, port) in &probes.captures {
            if let Some(wire) = slots.get_mut(node as usize).and_then(|s| s.node.wire_mut(port)) {
                wire.captured = Some(node);
            }
        }
        for slot in slots.iter_mut().filter(|_| probes.pauses) {
            for port in 0..self.routes.ports[slot.id as usize].len() {
                let node = slot.id;
                if let Some(wire) = slot.node.wire_mut(port as PortId) {
                    wire.pauses_recorded = Some(node);
                }
            }
        }
        for slot in &mut slots {
            slot.sampler = Sampler::new(&simulation.probes, slot.id, &slot.node);
        }
        Ok(slots)
    }
}

/// Sizes of packets whose headers grow by this much.
fn sizes_with(transport: &Transport, overhead: Overhead) -> Sizes {
    let header = transport.header.get();
    let ack = transport.ack_size.unwrap_or(transport.header + transport.ack_extra);
    let ack = ack.get() + u64::from(overhead.ack);
    Sizes {
        payload: transport.payload.get(),
        header: header + u64::from(overhead.data),
        counts_payload: transport.counting == Counting::Payload,
        ack: ack.max(transport.smallest.get()),
        smallest: transport.smallest.get(),
    }
}

fn flows_by_host(simulation: &Simulation) -> Vec<[Vec<u32>; 2]> {
    if simulation.probes.captures.is_empty() {
        return Vec::new();
    }
    let mut by_host = vec![[Vec::new(), Vec::new()]; simulation.network.hosts as usize];
    for (index, flow) in simulation.flows.iter().enumerate() {
        for (host, side) in [(flow.source, 0), (flow.destination, 1)] {
            if let Some(lists) = by_host.get_mut(host as usize) {
                lists[side].push(index as u32);
            }
        }
    }
    by_host
}

/// The bodies of two different nodes.
fn two(slots: &mut [Slot], a: NodeId, b: NodeId) -> [&mut Node; 2] {
    let (low, high) = (a.min(b) as usize, a.max(b) as usize);
    let (first, second) = slots.split_at_mut(high);
    let (low, high) = (&mut first[low].node, &mut second[0].node);
    if a < b { [low, high] } else { [high, low] }
}

/// A node with its sampler.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) id: NodeId,
    pub(crate) node: Node,
    sampler: Sampler,
    /// Changes here, each with its time. (ps)
    changes: Vec<(u64, Change)>,
}

/// Change at a node.
#[derive(Debug)]
enum Change {
    /// The link of a port.
    Link(PortId, LinkState),
    /// The forwarding table.
    Routes(Table),
}

impl Slot {
    /// The events that get the node going.
    pub(crate) fn first_events(&self, world: &World) -> Vec<Event> {
        self.change_event(0).into_iter().chain(self.node.first_events(world)).collect()
    }

    fn change_event(&self, index: u32) -> Option<Event> {
        let (time, _) = self.changes.get(index as usize)?;
        Some(Event::new(*time, event::Kind::Change, index))
    }

    /// A link or the routes change.
    fn change(&mut self, now: u64, index: u32, world: &World, effects: &mut impl Effects) {
        if let Some(next) = self.change_event(index + 1) {
            effects.schedule(next);
        }
        match &self.changes[index as usize].1 {
            &Change::Link(port, state) => {
                let timeline = world.routes.timeline.of(self.id, port);
                if let (Some(wire), Some(timeline)) = (self.node.wire_mut(port), timeline) {
                    wire.change(now, port, &state, timeline, effects);
                }
                self.node.rate_changed(port, state.rate, world.rate_index(state.rate));
            }
            Change::Routes(table) => self.node.reroute(now, table.clone(), world, effects),
        }
    }

    /// A packet's last bit has arrived.
    #[inline(always)]
    pub(crate) fn arrive(
        &mut self,
        now: u64,
        port: PortId,
        packet: &mut Packet,
        int: &IntRecords,
        world: &World,
        effects: &mut impl Effects,
    ) {
        self.catch_up(now, world, effects.tally());
        self.node.arrive(now, port, packet, int, world, effects);
    }

    /// Another event than an arrival.
    #[inline(always)]
    pub(crate) fn handle(&mut self, event: Event, world: &World, effects: &mut impl Effects) {
        self.catch_up(event.time(), world, effects.tally());
        if event.kind() == event::Kind::Change {
            return self.change(event.time(), event.entity(), world, effects);
        }
        self.node.handle(event, world, effects);
    }

    /// Whether samples are taken here.
    pub(crate) fn takes_samples(&self) -> bool {
        self.sampler.next() != u64::MAX
    }

    /// Takes all samples due before `time`. The node has not changed since its last event, so they
    /// may be taken late.
    #[inline]
    pub(crate) fn catch_up(&mut self, time: u64, world: &World, tally: &mut Tally) {
        if self.sampler.next() < time {
            self.sampler.run(self.id, &self.node, time, world, tally);
        }
    }

    /// Takes the last samples of a run that has ended at `now`.
    pub(crate) fn end_samples(&mut self, now: u64, world: &World, tally: &mut Tally) {
        self.catch_up(now.saturating_add(1), world, tally);
        self.sampler.end(tally);
    }
}
