//! Facts of flows: sizes, algorithms and paths.

use incast_cc::{Overhead, Path, Signals};
use incast_net::describe::Simulation;
use incast_net::describe::algorithm::Algorithm;
use incast_net::describe::balancing;
use incast_net::describe::flow::Flow;
use incast_net::describe::network::Out;
use incast_net::describe::transport::{BaseRtt, Counting, Transport};
use incast_net::packet::flag;
use incast_net::record::FlowRecord;
use incast_net::routing::route::{Sizes, describe_path, ideal_time};
use incast_units::{Bytes, Time};

use super::ending::Ending;
use super::fabric::Fabric;

/// The flows on their network as transports see them, constant over the run.
#[derive(Debug)]
pub(crate) struct FlowFacts<'a> {
    pub(crate) flows: &'a [Flow],
    pub(crate) algorithms: &'a [Algorithm],
    pub(crate) transport: Transport,
    pub(crate) balancing: balancing::Settings,
    pub(crate) seed: u64,
    pub(crate) fabric: Fabric,
    /// Set before a run begins.
    pub(crate) ending: Ending,
    sizes: Vec<Sizes>,
    /// Base RTT of the path that each algorithm sees; `None`: the flow's own.
    base_rtts: Vec<Option<Time>>,
    /// Sizes of packets to which no algorithm adds anything.
    plain: Sizes,
    flags: Vec<u8>,
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
                bit(Signals::INT, flag::INT) | bit(Signals::CNP, flag::CNP)
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
            algorithms,
            transport,
            balancing: simulation.balancing,
            seed: simulation.seed,
            fabric,
            ending: Ending::default(),
            sizes,
            base_rtts,
            plain,
            flags,
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

    /// The signals that an algorithm needs.
    pub(crate) fn signals(&self, algorithm: u16) -> Signals {
        self.algorithms.get(usize::from(algorithm)).map_or(Signals::NONE, Algorithm::signals)
    }

    /// The path of a flow that starts at `start`.
    pub(crate) fn path(&self, flow: u32, start: Time) -> Path {
        let (forward, back) = self.links(flow, start);
        let flow = &self.flows[flow as usize];
        describe_path(&forward, &back, self.sizes(flow.algorithm))
    }

    /// Returns the path as the algorithm of a flow sees it.
    pub(crate) fn path_info(&self, flow: u32, start: Time) -> Path {
        let path = self.path(flow, start);
        let base_rtt = self.base_rtts[usize::from(self.flows[flow as usize].algorithm)];
        Path { base_rtt: base_rtt.unwrap_or(path.base_rtt), ..path }
    }

    /// Returns the hashes of a flow's data packets and of its acknowledgements.
    pub(crate) fn hashes(&self, flow: u32) -> (u32, u32) {
        self.fabric.paths.hashes(flow, &self.flows[flow as usize])
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

    /// The links that a flow takes at its start, there and back.
    pub(crate) fn links(&self, flow: u32, start: Time) -> (Vec<Out>, Vec<Out>) {
        let (hash, back) = self.hashes(flow);
        let Flow { source, destination, .. } = self.flows[flow as usize];
        let forward = self.fabric.routes.path(&self.fabric.paths, (source, destination), hash, start);
        (forward, self.fabric.routes.path(&self.fabric.paths, (destination, source), back, start))
    }

    /// Returns the record of a flow that has only started: nothing sent, no completion time.
    pub(crate) fn open_record(&self, flow: u32, start: Time) -> FlowRecord {
        FlowRecord { flow, start, base_rtt: self.path(flow, start).base_rtt, ..FlowRecord::BLANK }
    }

    /// Returns the record of a flow of which these payload bytes are acknowledged.
    pub(crate) fn record(&self, flow: u32, start: Time, bytes: u64) -> FlowRecord {
        FlowRecord {
            bytes: Bytes::new(bytes),
            ideal: self.ideal_time(flow, start, bytes),
            ideal_plain: self.plain_ideal_time(flow, start, bytes),
            ..self.open_record(flow, start)
        }
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
