//! Small networks, simulations and a sink that keeps everything, for the tests.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test file uses its part")]

use std::ops::ControlFlow;

use incast_cc::params::Value;
use incast_cc::{AnyParams, Fixed};
use incast_sim::describe::circuits::Circuits;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::network::NodeKind;
use incast_sim::describe::probe::Probes;
use incast_sim::describe::switch::{Buffer, Ecn, MarkingPoint, Pfc, Switch};
use incast_sim::describe::transport::Transport;
use incast_sim::random::mix;
use incast_sim::record::{
    End, FlowRecord, FlowSample, InternalSample, LimitRecord, LimitSample, LoadSample, OperationRecord,
    Outcome, PacketRecord, PauseRecord, PortSample, Progress,
};
use incast_sim::{Network, Simulation, Sink};
use incast_units::{Bytes, Rate, Time};

/// Declares the sink that keeps everything: for each of its methods, the table and what a row of it is.
macro_rules! kept {
    ($($method:ident: $table:ident of $row:ty,)+) => {
        /// Sink that keeps everything.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Kept {
            $(pub $table: Vec<$row>,)+
        }

        impl Sink for Kept {
            $(fn $method(&mut self, rows: &[$row]) {
                self.$table.extend_from_slice(rows);
            })+
            fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
                ControlFlow::Continue(())
            }
        }
    };
}

kept! {
    flows: flows of FlowRecord,
    port_samples: ports of PortSample,
    flow_samples: samples of FlowSample,
    packets: packets of PacketRecord,
    pauses: pauses of PauseRecord,
    internals: internals of InternalSample,
    operations: operations of OperationRecord,
    loads: loads of LoadSample,
    limits: limits of LimitRecord,
    limit_samples: counts of LimitSample,
}

/// A record of samples.
pub trait Samples: Copy {
    /// Borrows the time at which it was taken, and the number of samples that it covers.
    fn parts(&mut self) -> (&mut Time, &mut u64);
    /// Series of equal time, in order.
    fn series(&self) -> (u32, u16);
}

macro_rules! samples {
    ($($record:ty: $series:expr,)+) => {$(
        impl Samples for $record {
            fn parts(&mut self) -> (&mut Time, &mut u64) {
                (&mut self.time, &mut self.samples)
            }
            fn series(&self) -> (u32, u16) {
                let series: fn(&Self) -> (u32, u16) = $series;
                series(self)
            }
        }
    )+};
}

samples! {
    PortSample: |s| (s.node, s.port),
    FlowSample: |s| (s.flow, 0),
    InternalSample: |s| (s.flow, s.internal),
}

/// Returns the samples that records cover, one each interval.
pub fn every_sample<S: Samples>(records: &[S], interval: Time) -> Vec<S> {
    let mut samples = Vec::new();
    for record in records {
        let mut record = *record;
        let (last, count) = record.parts();
        let (last, count) = (*last, core::mem::replace(count, 1));
        for before in 0..count {
            *record.parts().0 = last - Time::from_ps(before * interval.ps());
            samples.push(record);
        }
    }
    samples.sort_by_key(|sample| (*{ *sample }.parts().0, sample.series()));
    samples
}

pub fn gbps(rate: u64) -> Rate {
    Rate::from_gbps(rate)
}

pub fn us(time: u64) -> Time {
    Time::from_us(time)
}

/// One switch with `hosts` hosts.
pub fn star(hosts: u32, rate: Rate, delay: Time) -> Network {
    let mut network = Network::with_hosts(hosts);
    let switch = network.add_switch("s0");
    for host in 0..hosts {
        network.add_link(host, switch, rate, delay);
    }
    network
}

/// Switches in a ring at 100 Gbps and 1 us, each with a host.
pub fn ring(switches: u32) -> Network {
    let mut network = Network::with_hosts(switches);
    let nodes: Vec<_> = (0..switches).map(|i| network.add_switch(format!("s{i}"))).collect();
    for host in 0..switches {
        network.add_link(host, nodes[host as usize], gbps(100), us(1));
    }
    for i in 0..switches as usize {
        network.add_link(nodes[i], nodes[(i + 1) % nodes.len()], gbps(100), us(1));
    }
    network
}

/// A fat-tree of switches with `k` ports.
pub fn fat_tree(k: u32, rate: Rate, delay: Time) -> Network {
    let half = k / 2;
    let mut network = Network::with_hosts(k * half * half);
    let edges: Vec<_> = (0..k * half).map(|i| network.add_switch(format!("edge{i}"))).collect();
    let aggs: Vec<_> = (0..k * half).map(|i| network.add_switch(format!("agg{i}"))).collect();
    let cores: Vec<_> = (0..half * half).map(|i| network.add_switch(format!("core{i}"))).collect();
    for host in 0..network.hosts {
        network.add_link(host, edges[(host / half) as usize], rate, delay);
    }
    for pod in 0..k {
        for i in 0..half {
            let agg = aggs[(pod * half + i) as usize];
            for j in 0..half {
                network.add_link(edges[(pod * half + j) as usize], agg, rate, delay);
            }
        }
        for i in 0..half {
            for j in 0..half {
                network.add_link(
                    aggs[(pod * half + i) as usize],
                    cores[(i * half + j) as usize],
                    rate,
                    delay,
                );
            }
        }
    }
    network
}

/// Racks of `hosts` hosts at 25 Gbps, an optical switch at 100 Gbps, a packet network of one switch at 25 Gbps: the
/// nodes are hosts, ToRs, `packet`, `optical`, and the last two ports of a ToR its uplink and its circuit. Days of
/// 225 us, nights of 20 us. The largest base RTT is 24 us.
pub fn rotor(racks: u32, hosts: u32) -> Network {
    let mut network = Network::with_hosts(racks * hosts);
    let tors: Vec<_> = (0..racks).map(|rack| network.add_node(format!("tor{rack}"), NodeKind::Tor)).collect();
    let packet = network.add_switch("packet");
    let optical = network.add_node("optical", NodeKind::OpticalSwitch);
    for host in 0..racks * hosts {
        network.add_link(host, tors[(host / hosts) as usize], gbps(25), us(1));
    }
    for tor in tors {
        network.add_link(tor, packet, gbps(25), Time::from_ns(4_642) + Time::from_ps(240));
        network.add_link(tor, optical, gbps(100), Time::from_ns(4_642) + Time::from_ps(240));
    }
    network.circuits = Some(Circuits { day: us(225), night: us(20), prebuffer: Time::ZERO, voq: None });
    network
}

/// An algorithm with some of its parameters set.
pub fn algorithm(name: &str, settings: &[(&str, Value)]) -> AnyParams {
    of_preset(name, None, settings)
}

/// The algorithm of a paper's letter.
pub fn letter(name: &str, settings: &[(&str, Value)]) -> AnyParams {
    of_preset(name, Some("paper"), settings)
}

fn of_preset(name: &str, preset: Option<&str>, settings: &[(&str, Value)]) -> AnyParams {
    let mut params = AnyParams::named(name, preset).unwrap_or_else(|| panic!("no algorithm {name}"));
    for (key, value) in settings {
        assert!(params.set(key, *value), "{name} has no {key} that takes {value:?}");
    }
    params
}

/// No control, with this window.
pub fn window(bytes: u64) -> AnyParams {
    algorithm("constant", &[("window", Value::Bytes(Bytes::new(bytes)))])
}

/// No control, with this rate.
pub fn paced(rate: Rate) -> AnyParams {
    algorithm("constant", &[("rate", Value::Rate(rate))])
}

/// A flow of `size` payload bytes.
pub fn flow(source: u32, destination: u32, size: u64, start: Time) -> Flow {
    let key = mix(u64::from(source) << 32 | u64::from(destination)) ^ start.ps();
    Flow { key, ..Flow::of_size(source, destination, Bytes::new(size), start) }
}

/// A flow that sends until `stop`.
pub fn long(source: u32, destination: u32, start: Time, stop: Time) -> Flow {
    Flow { size: Bytes::UNLIMITED, stop, ..flow(source, destination, 1, start) }
}

/// Unlimited buffers, no marks, no pauses.
pub fn plain_switch() -> Switch {
    Switch::default()
}

/// A shared buffer without reserves, of which an ingress may take an eighth.
pub fn shared(size: u64) -> Switch {
    Switch {
        buffer: Buffer::Shared(Bytes::new(size)),
        reserve: Bytes::ZERO,
        ingress_alpha: Fixed::ratio(1, 8),
        egress_alpha: Fixed::ONE,
        ..Switch::default()
    }
}

/// 32 MB shared with dynamic thresholds, PFC with computed headroom, ECN 400/1600 KB at 100 Gbps.
pub fn lossless_switch() -> Switch {
    Switch {
        buffer: Buffer::Shared(Bytes::new(32_000_000)),
        reserve: Bytes::new(4096),
        ingress_alpha: Fixed::ratio(1, 4),
        egress_alpha: Fixed::ONE,
        pfc: Some(Pfc::default()),
        ecn: Some(Ecn {
            kmin: Bytes::new(400_000),
            kmax: Bytes::new(1_600_000),
            pmax: Fixed::ratio(1, 5),
            reference: Some(gbps(100)),
            at: MarkingPoint::Dequeue,
        }),
        ..Switch::default()
    }
}

/// A simulation with the usual rest.
pub fn simulation(network: Network, algorithms: Vec<AnyParams>, mut flows: Vec<Flow>) -> Simulation {
    flows.sort_by_key(|f| (f.start, f.key));
    Simulation {
        network,
        switch: plain_switch(),
        transport: Transport::default(),
        balancing: Default::default(),
        algorithms: algorithms.into_iter().map(Into::into).collect(),
        flows,
        order: Vec::new(),
        operations: Vec::new(),
        probes: Probes::default(),
        impairments: Default::default(),
        seed: 1,
        until: Time::from_s(10),
        stall_after: Time::from_ms(500),
        reuse: Default::default(),
        draws: Default::default(),
        threads: 1,
    }
}

/// Runs it and expects a sound run.
pub fn run(simulation: &Simulation) -> (Outcome, Kept) {
    let mut kept = Kept::default();
    let outcome = incast_sim::run(simulation, &mut kept).expect("a valid description");
    assert_eq!(outcome.violations, Vec::<String>::new());
    (outcome, kept)
}

/// Runs it, expects a sound run in which every flow finishes.
pub fn run_to_end(simulation: &Simulation) -> (Outcome, Kept) {
    let (outcome, kept) = run(simulation);
    assert_eq!(outcome.end, End::Finished);
    (outcome, kept)
}

/// Runs it on one to eight threads and on the plain engine, which must agree; no invariant is violated.
pub fn run_everywhere(simulation: &Simulation) -> (Outcome, Kept) {
    let mut simulation = simulation.clone();
    let first = run(&simulation);
    for threads in 2..=8 {
        simulation.threads = threads;
        assert_eq!(run(&simulation), first, "on {threads} threads");
    }
    let mut plain = Kept::default();
    let outcome = incast_sim::run_reference(&simulation, &mut plain).unwrap();
    assert_eq!((outcome, plain), first, "on the plain engine");
    first
}

/// Runs flows everywhere over links that fail and return, in small buffers with marks and a short
/// retransmission timeout. All of them must finish. Says how many packets were lost on links.
pub fn lost_in_outages(network: Network, flows: Vec<Flow>, seed: u64) -> u64 {
    let name = ["dctcp", "hpcc", "swift"][seed as usize % 3];
    let mut sim = simulation(network, vec![algorithm(name, &[])], flows);
    sim.switch.buffer = Buffer::PerPort(Bytes::new(200_000));
    sim.switch.ecn = lossless_switch().ecn;
    sim.transport.rto = us(200);
    let (outcome, _) = run_everywhere(&sim);
    assert_eq!(outcome.end, End::Finished, "seed {seed}");
    outcome.lost
}

/// Mean of `f` over `items`.
pub fn mean<T>(items: &[T], f: impl Fn(&T) -> f64) -> f64 {
    items.iter().map(f).sum::<f64>() / items.len() as f64
}
