//! Runs the algorithm beside OSCAR in a microburst: one long flow has a link to itself, two flows of
//! 600 KB join it (OSCAR, NSDI'26, Figure 9).

use std::ops::ControlFlow;

use custom_algorithm::{Target, TargetParams};
use incast_cc::AnyParams;
use incast_sim::describe::algorithm::Algorithm;
use incast_sim::describe::flow::Flow;
use incast_sim::describe::probe::Probes;
use incast_sim::describe::switch::{Buffer, Scheduler, Switch};
use incast_sim::describe::transport::Transport;
use incast_sim::record::{FlowRecord, FlowSample, PortSample, Progress};
use incast_sim::{Network, Simulation, Sink};
use incast_units::{Bytes, Rate, Time};

/// Keeps the completion times of flows.
#[derive(Default)]
struct Completions(Vec<FlowRecord>);

impl Sink for Completions {
    fn flows(&mut self, records: &[FlowRecord]) {
        self.0.extend_from_slice(records);
    }
    fn port_samples(&mut self, _: &[PortSample]) {}
    fn flow_samples(&mut self, _: &[FlowSample]) {}
    fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn microburst(algorithm: Algorithm) -> Simulation {
    let mut network = Network::with_hosts(4);
    let switch = network.add_switch("s0");
    for host in 0..4 {
        network.add_link(host, switch, Rate::from_gbps(100), Time::from_us(3));
    }
    let flow = |source: u32, size: Bytes, start: Time, stop: Time| Flow {
        key: u64::from(source),
        stop,
        ..Flow::of_size(source, 3, size, start)
    };
    let end = Time::from_ms(1);
    let burst = |source| flow(source, Bytes::new(600_000), Time::from_us(50), Time::NEVER);
    Simulation {
        network,
        switch: Switch {
            buffer: Buffer::Unlimited,
            pfc: None,
            ecn: None,
            queues: 1,
            scheduler: Scheduler::StrictPriority,
            ..Switch::default()
        },
        transport: Transport::default(),
        balancing: Default::default(),
        impairments: Default::default(),
        algorithms: vec![algorithm],
        flows: vec![flow(0, Bytes::UNLIMITED, Time::ZERO, end), burst(1), burst(2)],
        order: Vec::new(),
        operations: Vec::new(),
        probes: Probes::default(),
        seed: 1,
        until: end,
        stall_after: Time::from_s(1),
        threads: 1,
        reuse: Default::default(),
        draws: Default::default(),
    }
}

fn main() {
    let oscar = AnyParams::named("oscar", None).expect("OSCAR is in the catalogue");
    let target = Algorithm::new::<Target>("target", TargetParams::default());
    for algorithm in [Algorithm::from(oscar), target] {
        let simulation = microburst(algorithm);
        let mut completions = Completions::default();
        let outcome = incast_sim::run(&simulation, &mut completions).expect("the description is sound");
        let queue = outcome.ports.iter().map(|port| port.peak_queue).max().unwrap_or_default();
        let burst =
            completions.0.iter().filter(|flow| simulation.flows[flow.flow as usize].size != Bytes::UNLIMITED);
        let last = burst.map(|flow| flow.finish).max().unwrap_or_default();
        println!(
            "{:<8} longest queue {queue}, burst done at {last}, fingerprint {:016x}",
            simulation.algorithms[0].name(),
            outcome.fingerprint
        );
    }
}
