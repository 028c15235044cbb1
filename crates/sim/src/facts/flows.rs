//! Facts of flows: sizes, algorithms and paths.

use std::borrow::Cow;
use std::collections::BTreeMap;

use incast_cc::{Overhead, Path, Signals};
use incast_net::canary::{self, Canary};
use incast_net::describe::Simulation;
use incast_net::describe::algorithm::Algorithm;
use incast_net::describe::balancing::{self, Acknowledgements};
use incast_net::describe::flow::Flow;
use incast_net::describe::impairments::Share;
use incast_net::describe::network::{NodeId, Out, PortId};
use incast_net::describe::reuse::Draws;
use incast_net::describe::transport::{BaseRtt, Counting, Kind, Transport};
use incast_net::packet::{flag, without_entropy};
use incast_net::record::FlowRecord;
use incast_net::routing::forwarding::Table;
use incast_net::routing::route::{Address, Ends, Sizes, describe_path, ideal_arrival, one_way};
use incast_net::routing::spread::{Spread, Ways};
use incast_units::{Bytes, Rate, Time};

use super::ending::Ending;
use super::fabric::Fabric;
use super::stamps::Stamps;

/// Direction of the packets of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the source to the destination: data.
    Forth,
    /// From the destination to the source: acknowledgements and other replies.
    Back,
}

/// The links that packets may take.
#[derive(Debug)]
enum Links<'a> {
    /// All take this path.
    One(Vec<Out>),
    /// Each takes one of these paths.
    Any(Cow<'a, Spread>),
}

/// The links that the packets of a flow may take, and the sizes of these packets, without any other traffic.
#[derive(Debug)]
pub(crate) struct Alone<'a> {
    forward: Links<'a>,
    /// Those of acknowledgements, which may leave by several cards.
    back: Vec<Links<'a>>,
    pub(crate) sizes: Sizes,
}

impl Alone<'_> {
    /// Returns the least time until the last bit of `size` payload bytes has arrived.
    pub(crate) fn arrival(&self, size: u64) -> Time {
        match &self.forward {
            Links::One(path) => ideal_arrival(path, &self.sizes, size),
            Links::Any(spread) => spread.arrival(&self.sizes, size),
        }
    }

    /// Returns the least time that an acknowledgement takes.
    pub(crate) fn acknowledgement(&self) -> Time {
        let takes = |links: &Links<'_>| match links {
            Links::One(path) => one_way(path, self.sizes.ack),
            Links::Any(spread) => spread.one_way(self.sizes.ack),
        };
        self.back.iter().map(takes).min().unwrap_or(Time::ZERO)
    }

    /// Returns the least time from the end of the last of `size` payload bytes on the first link to its arrival.
    pub(crate) fn after_leaving(&self, size: u64) -> Time {
        match &self.forward {
            Links::One(path) => path[0].delay + one_way(&path[1..], self.sizes.last(size)),
            Links::Any(spread) => spread.after_leaving(&self.sizes, size),
        }
    }

    /// Returns the least time until the first packet has reached the last link, and the least delay of that link.
    pub(crate) fn around_arriving(&self, size: u64) -> [Time; 2] {
        match &self.forward {
            Links::One(path) => {
                let (last, before) =
                    path.split_last().map_or((Time::ZERO, path.as_slice()), |(l, b)| (l.delay, b));
                [one_way(before, self.sizes.data(size.min(self.sizes.payload))), last]
            }
            Links::Any(spread) => spread.around_arriving(&self.sizes, size),
        }
    }
}

/// The flows on their network as transports see them, constant over the run.
#[derive(Debug)]
pub(crate) struct FlowFacts<'a> {
    pub(crate) flows: &'a [Flow],
    /// Number of flows that count.
    pub(crate) counted: u64,
    pub(crate) algorithms: &'a [Algorithm],
    pub(crate) transport: Transport,
    pub(crate) balancing: balancing::Settings,
    pub(crate) seed: u64,
    /// Whether the draws about packets of a connection begin again after a pause.
    pub(crate) draws_again: bool,
    /// A sender that waits longer than this for the time of its next packet at its rate has not stalled. (ps)
    pub(crate) long_wait: u64,
    pub(crate) fabric: Fabric,
    /// Hosts that take packets slowly, with the rate of each of their cards.
    receivers: BTreeMap<NodeId, Rate>,
    /// Clocks and stamps of hosts; `None` if they are exact.
    pub(crate) stamps: Option<Box<Stamps>>,
    /// Set before a run begins.
    pub(crate) ending: Ending,
    /// The paths of flows that are spread, if they never change.
    spreads: BTreeMap<Ways, Spread>,
    sizes: Vec<Sizes>,
    /// Number of flows of each connection.
    connections: Vec<u32>,
    /// Base RTT of the path that each algorithm sees; `None`: the flow's own.
    base_rtts: Vec<Option<Time>>,
    /// Error of the base RTT that algorithms are given.
    base_rtt_error: Share,
    /// Sizes of packets to which no algorithm adds anything.
    plain: Sizes,
    flags: Vec<u8>,
    /// Whether marks are reported to each algorithm by CNPs.
    notified: Vec<bool>,
}

impl<'a> FlowFacts<'a> {
    /// The flows of a description.
    ///
    /// # Errors
    /// When the network contradicts itself: what to say.
    pub(super) fn new(simulation: &'a Simulation) -> Result<Self, String> {
        let transport = simulation.transport.clone();
        let algorithms = if transport.kind.is_controlled() { simulation.algorithms.as_slice() } else { &[] };
        let plain = sizes_with(&transport, Overhead::default());
        let sizes: Vec<Sizes> =
            algorithms.iter().map(|algorithm| sizes_with(&transport, algorithm.overhead())).collect();
        let all = sizes.iter().chain([&plain]);
        let largest = all.map(|sizes| sizes.data(sizes.payload).max(sizes.ack)).max().unwrap_or(0);
        let fabric = Fabric::new(simulation, Bytes::new(largest))?;
        let flags = algorithms
            .iter()
            .map(|algorithm| {
                let signals = algorithm.signals();
                let bit = |signal, bit| if signals.contains(signal) { bit } else { 0 };
                bit(Signals::INT, flag::INT)
            })
            .collect();
        let base_rtts = sizes
            .iter()
            .map(|sizes: &Sizes| match transport.base_rtt {
                BaseRtt::Path => None,
                BaseRtt::Value(value) => Some(value),
                BaseRtt::Network => {
                    Some(fabric.routes.largest_round_trip(sizes.data(sizes.payload), sizes.ack))
                }
            })
            .collect();
        Ok(Self {
            flows: &simulation.flows,
            counted: simulation.flows.iter().filter(|flow| flow.counted).count() as u64,
            algorithms,
            balancing: simulation.balancing,
            seed: simulation.seed,
            draws_again: simulation.draws == Draws::PerPass,
            // Packets of a shorter distance arrive often enough by themselves.
            long_wait: simulation.stall_after.ps() / 2,
            fabric,
            receivers: simulation.impairments.receivers.iter().map(|slow| (slow.host, slow.rate)).collect(),
            stamps: Stamps::new(simulation),
            ending: Ending::default(),
            spreads: BTreeMap::new(),
            sizes,
            connections: connections(&simulation.flows, transport.kind)?,
            transport,
            base_rtts,
            base_rtt_error: simulation.impairments.base_rtt_error,
            plain,
            flags,
            notified: algorithms.iter().map(|algorithm| algorithm.signals().contains(Signals::CNP)).collect(),
        })
    }

    /// The sizes of packets of an algorithm, or without congestion control.
    pub(crate) fn sizes(&self, algorithm: u16) -> &Sizes {
        self.sizes.get(usize::from(algorithm)).unwrap_or(&self.plain)
    }

    /// The sizes of packets to which no algorithm adds anything.
    pub(crate) fn plain_sizes(&self) -> &Sizes {
        &self.plain
    }

    /// The flags of an algorithm's data packets.
    pub(crate) fn flags(&self, algorithm: u16) -> u8 {
        self.flags[usize::from(algorithm)]
    }

    /// Whether marks are reported to the algorithm of a flow by CNPs.
    pub(crate) fn notifies(&self, flow: u32) -> bool {
        self.notified.get(usize::from(self.flows[flow as usize].algorithm)).copied().unwrap_or_default()
    }

    /// The signals that an algorithm needs.
    pub(crate) fn signals(&self, algorithm: u16) -> Signals {
        self.algorithms.get(usize::from(algorithm)).map_or(Signals::NONE, Algorithm::signals)
    }

    /// The path of a flow that starts at `start`.
    pub(crate) fn path(&self, flow: u32, start: Time) -> Path {
        let (forward, back) = self.links(flow, start);
        let flow = &self.flows[flow as usize];
        let path = describe_path(&forward, &back, self.sizes(flow.algorithm));
        // A card that hands packets on is no hop.
        let cards = u32::from(self.receivers.contains_key(&flow.destination));
        Path { hops: path.hops - cards, ..path }
    }

    /// Returns the ports of switches that the packets of a flow take at `time` which has one path; `None`: it has several.
    pub(crate) fn switch_ports(&self, flow: u32, time: Time) -> Option<Vec<(NodeId, PortId)>> {
        if self.flows[flow as usize].balancing.spreads() {
            return None;
        }
        let (paths, hash) = (&self.fabric.paths, self.hashes(flow).0);
        let links = self.fabric.routes.path(paths, self.ends(flow, Way::Forth), hash, time);
        // The near end of a link is the far end of the way back.
        let near = |link: &Out| {
            let back = &self.fabric.routes.ports[link.node as usize][usize::from(link.port)];
            (back.node, back.port)
        };
        Some(links.iter().skip(1).map(near).collect())
    }

    /// Returns the rate at which each card of a host takes packets, if that is slow.
    pub(crate) fn receive_rate(&self, host: NodeId) -> Option<Rate> {
        self.receivers.get(&host).copied()
    }

    /// Adds the way from a host's card to the host, if the host is slow: as another link, without delay.
    fn and_taken(&self, mut path: Vec<Out>, host: NodeId) -> Vec<Out> {
        if let (Some(rate), Some(last)) = (self.receive_rate(host), path.last()) {
            path.push(Out { rate, delay: Time::ZERO, ..*last });
        }
        path
    }

    /// Returns the path as the algorithm of a flow sees it.
    pub(crate) fn path_info(&self, flow: u32, start: Time) -> Path {
        self.seen(flow, self.path(flow, start))
    }

    /// Returns what the algorithm of a flow sees of this path.
    pub(crate) fn seen(&self, flow: u32, path: Path) -> Path {
        let base_rtt = self.base_rtts[usize::from(self.flows[flow as usize].algorithm)];
        let error = self.base_rtt_error;
        let base_rtt = error.added_to(base_rtt.unwrap_or(path.base_rtt));
        Path { base_rtt, base_owd: error.added_to(path.base_owd), ..path }
    }

    /// Returns the hashes of a flow's data packets and of its acknowledgements.
    pub(crate) fn hashes(&self, flow: u32) -> (u32, u32) {
        self.fabric.paths.hashes(flow, &self.flows[flow as usize])
    }

    /// Returns the connection of a flow and its number of messages; `None` if the flow is alone in it, which changes
    /// nothing, or has none.
    pub(crate) fn connection(&self, flow: u32) -> Option<(u32, u32)> {
        let number = self.flows[flow as usize].connection?;
        let messages = self.connections.get(number as usize).copied()?;
        (messages > 1).then_some((number, messages))
    }

    /// Returns the destination of a flow's packets.
    #[inline]
    pub(crate) fn address(&self, flow: u32, way: Way) -> Address {
        let Flow { source, destination, cards: [source_card, destination_card], .. } =
            self.flows[flow as usize];
        match way {
            Way::Forth => self.fabric.routes.address(destination, destination_card),
            Way::Back => self.fabric.routes.address(source, source_card),
        }
    }

    /// Returns the ends of a flow's packets.
    pub(crate) fn ends(&self, flow: u32, way: Way) -> Ends {
        let Flow { source, destination, cards: [source_card, destination_card], .. } =
            self.flows[flow as usize];
        let (from, by) = match way {
            Way::Forth => (source, source_card),
            Way::Back => (destination, destination_card),
        };
        Ends { from, by, to: self.address(flow, way) }
    }

    /// Returns the port by which a flow's packets with this hash leave a host with several ports and this table.
    pub(crate) fn nic_for(&self, flow: u32, way: Way, table: &Table, hash: u32) -> PortId {
        let Ends { from, by, to } = self.ends(flow, way);
        by.unwrap_or_else(|| self.fabric.nic_for(from, table, to, hash))
    }

    /// Returns the number of packets of a flow; [`u64::MAX`] if it has no end.
    pub(crate) fn packets(&self, flow: u32) -> u64 {
        let flow = &self.flows[flow as usize];
        if flow.size == Bytes::UNLIMITED {
            return u64::MAX;
        }
        flow.size.get().div_ceil(self.sizes(flow.algorithm).payload)
    }

    /// Position in a flow, or in its connection, of the first payload byte of packet `number` (modulo 2^32).
    pub(crate) fn position(&self, flow: u32, number: u32) -> u64 {
        let Flow { algorithm, size, .. } = self.flows[flow as usize];
        let position = u64::from(number) * self.sizes(algorithm).payload;
        if self.connection(flow).is_some() { position } else { position.min(size.get()) }
    }

    /// The links that a flow takes at its start, there and back.
    pub(crate) fn links(&self, flow: u32, start: Time) -> (Vec<Out>, Vec<Out>) {
        let (hash, back) = self.hashes(flow);
        let Fabric { routes, paths, .. } = &self.fabric;
        let forward = routes.path(paths, self.ends(flow, Way::Forth), hash, start);
        let back = routes.path(paths, self.ends(flow, Way::Back), back, start);
        let Flow { source, destination, .. } = self.flows[flow as usize];
        (self.and_taken(forward, destination), self.and_taken(back, source))
    }

    /// Returns the record of a flow that has only started: nothing sent, no completion time.
    pub(crate) fn open_record(&self, flow: u32, start: Time) -> FlowRecord {
        FlowRecord { flow, start, base_rtt: self.path(flow, start).base_rtt, ..FlowRecord::BLANK }
    }

    /// Returns the record of a flow of which these payload bytes are acknowledged; `finish` is [`Time::NEVER`] while it
    /// is not done.
    pub(crate) fn record(&self, flow: u32, start: Time, finish: Time, bytes: u64) -> FlowRecord {
        let alone = self.alone(flow, start);
        let wrong = Time::from_ps(u64::from(canary::strikes(Canary::Ideal)));
        let size = self.flows[flow as usize].size;
        let is_open = finish == Time::NEVER && size != Bytes::UNLIMITED;
        let whole = if is_open { size.get() } else { bytes };
        let ideal = alone.arrival(whole) + alone.acknowledgement() + wrong;
        let cards = self.cards_taken(flow, start, &alone);
        let plain = Alone { sizes: self.plain, ..alone };
        FlowRecord {
            cards,
            finish,
            bytes: Bytes::new(bytes),
            ideal,
            ideal_plain: plain.arrival(whole) + plain.acknowledgement(),
            ..self.open_record(flow, start)
        }
    }

    /// Returns the network cards by which the data of a flow leaves its source and reaches its destination.
    fn cards_taken(&self, flow: u32, start: Time, alone: &Alone<'_>) -> [Option<PortId>; 2] {
        let Flow { destination, cards: [_, named], .. } = self.flows[flow as usize];
        let [(_, leaves_by), _] = self.cards(flow, start);
        let reaches_by = named.or_else(|| match &alone.forward {
            Links::One(path) => path.last().map(|out| out.port),
            Links::Any(_) => (self.fabric.routes.cards_of(destination) == 1).then_some(0),
        });
        [leaves_by.first().copied(), reaches_by]
    }

    /// A flow that starts at `start`, with the paths as they are then and all headers of its algorithm.
    pub(crate) fn alone(&self, flow: u32, start: Time) -> Alone<'_> {
        let described = &self.flows[flow as usize];
        let sizes = *self.sizes(described.algorithm);
        let (forward, back) = self.links(flow, start);
        if !described.balancing.spreads() {
            return Alone { forward: Links::One(forward), back: vec![Links::One(back)], sizes };
        }
        let [(ends, card), (ends_back, cards_back)] = self.cards(flow, start);
        let spread = card.first().map(|card| self.spread(&ends, *card, start));
        let forward = match spread.filter(|spread| !spread.is_one_path()) {
            Some(spread) => Links::Any(spread),
            None => Links::One(forward),
        };
        let back = match self.balancing.acknowledgements {
            _ if !self.transport.kind.spreads_answers() => vec![Links::One(back)],
            Acknowledgements::OnePath if described.balancing.has_entropies() => {
                let hash = without_entropy(self.hashes(flow).1);
                let path = self.fabric.routes.path(&self.fabric.paths, ends_back, hash, start);
                vec![Links::One(self.and_taken(path, described.source))]
            }
            Acknowledgements::OnePath => vec![Links::One(back)],
            Acknowledgements::Balanced => {
                cards_back.iter().map(|card| Links::Any(self.spread(&ends_back, *card, start))).collect()
            }
        };
        Alone { forward, back, sizes }
    }

    /// Returns the ends of a flow that is spread and the ports by which its data may leave, and these of its
    /// acknowledgements.
    fn cards(&self, flow: u32, start: Time) -> [(Ends, Vec<PortId>); 2] {
        let Fabric { routes, paths, .. } = &self.fabric;
        let (hash, hash_back) = self.hashes(flow);
        let one = |ends: Ends, hash| {
            let card = paths.pick(ends.from, hash, routes.first_ports(&ends, start));
            (ends, card.into_iter().collect())
        };
        let back = self.ends(flow, Way::Back);
        // All data leaves by one card.
        [
            one(self.ends(flow, Way::Forth), hash),
            match self.flows[flow as usize].balancing.has_entropies() {
                true => (back, routes.first_ports(&back, start).to_vec()),
                false => one(back, hash_back),
            },
        ]
    }

    /// Returns the paths that begin with a port.
    fn spread(&self, ends: &Ends, port: PortId, start: Time) -> Cow<'_, Spread> {
        let ends = (ends.from, ends.to);
        let known = self.fabric.routes.ways(ends, port).and_then(|ways| self.spreads.get(&ways));
        known.map_or_else(|| Cow::Owned(self.fabric.routes.spread(ends, port, start)), Cow::Borrowed)
    }

    /// Finds the paths of all flows that are spread, if they never change.
    pub(super) fn find_paths(&mut self) {
        let routes = &self.fabric.routes;
        let mut spreads = BTreeMap::new();
        for flow in
            (0_u32..).zip(self.flows).filter(|(_, flow)| flow.balancing.spreads()).map(|(flow, _)| flow)
        {
            for (ends, cards) in self.cards(flow, Time::ZERO) {
                for card in cards {
                    let ends = (ends.from, ends.to);
                    let Some(ways) = routes.ways(ends, card) else { return };
                    spreads.entry(ways).or_insert_with(|| routes.spread(ends, card, Time::ZERO));
                }
            }
        }
        self.spreads = spreads;
    }
}

/// Returns the number of flows of each connection.
///
/// # Errors
/// When flows cannot be messages of one connection: what to say.
fn connections(flows: &[Flow], kind: Kind) -> Result<Vec<u32>, String> {
    let mut messages = Vec::new();
    let mut first: Vec<Option<&Flow>> = Vec::new();
    for (index, flow) in flows.iter().enumerate() {
        let Some(number) = flow.connection.map(|number| number as usize) else { continue };
        if number >= flows.len() {
            return Err(format!("flow {index} names connection {number}, more than there are flows"));
        }
        if kind != Kind::Window {
            return Err(format!("flow {index} has a connection, which only the window transport has"));
        }
        if !flow.has_known_end() {
            return Err(format!("flow {index} has a connection, and so needs a size and no stop time"));
        }
        if messages.len() <= number {
            messages.resize(number + 1, 0);
            first.resize(number + 1, None);
        }
        if let Some(difference) = first[number].get_or_insert(flow).differs_from(flow) {
            return Err(format!("flow {index} has another {difference} than others of connection {number}"));
        }
        messages[number] += 1;
    }
    Ok(messages)
}

/// Sizes of packets whose headers grow by this much.
pub(crate) fn sizes_with(transport: &Transport, overhead: Overhead) -> Sizes {
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
